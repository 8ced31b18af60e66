//! What an owner permits. Deny by default: a job runs on this side only under an approval of its owner, whoever asked for it.
//!
//! An approval is signed with the owner's key when it is given; signature and terms are checked whenever it is used, so whoever writes to the
//! database without the key permits nothing new. That it was withdrawn, and how often it was used, the database alone says: who can write to it,
//! or puts an old one back, revives what was given once. A use is spent, on disk, before the first byte that its outputs depend on.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, params};

use crate::audit::{OwnerKey, PublicKey};
use crate::db::{Db, failed, now};
use crate::error::{ErrorKind, ServiceError};
use crate::model::{ApprovalView, Millis, Origin, Sides, Source, Terms};

/// The kind of message that the owner signs.
const APPROVAL: &str = "approval";
const COLUMNS: &str = "id, terms, signature, given_at, withdrawn_at, spent";

/// An approval that stands.
pub(crate) struct Permit {
    pub(crate) id: i64,
    pub(crate) terms: Terms,
}

/// Why nothing is permitted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Denied {
    NotApproved,
    Quota,
    /// A term is against it, of a group or of receivers: what an approval says of it, for the own owner.
    Term(String),
}

impl Denied {
    /// Why, for the own owner.
    pub(crate) fn why(&self, program: &str) -> String {
        match self {
            Denied::NotApproved => format!(
                "no approval of the owner permits `{program}` with this peer; `cenote approve` gives one"
            ),
            Denied::Quota => format!("the approval of `{program}` has no uses left"),
            Denied::Term(why) => format!("the approval of `{program}` {why}"),
        }
    }
}

/// What an approval is to be used for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Use<'a> {
    /// Digest of the program.
    pub(crate) program: &'a str,
    /// Fingerprint of the peer.
    pub(crate) peer: &'a str,
    /// Who asked.
    pub(crate) origin: Origin,
    /// Public parameters.
    pub(crate) select: &'a BTreeMap<String, String>,
    /// The own input that is the program's smallest group, if it has one.
    pub(crate) group: Option<&'a str>,
    /// Which sides receive the program's outputs, if it has any.
    pub(crate) receivers: Option<Sides>,
}

impl Use<'_> {
    /// Whether the terms are for this, whatever the time and the number of uses.
    fn is_meant(&self, terms: &Terms) -> bool {
        terms.program == self.program
            && terms.peer == self.peer
            && terms.submitters.include(self.origin.into())
    }

    /// Why terms do not permit these receivers or these public numbers; none if they do.
    fn refused_by(&self, terms: &Terms) -> Option<String> {
        shows_others(terms, self.receivers).or_else(|| self.too_small(terms))
    }

    /// Why terms do not permit these public numbers; none if they do. A program that has a smallest group runs under no approval that leaves it open.
    fn too_small(&self, terms: &Terms) -> Option<String> {
        let is_bound = |input: &str| is_least(terms.inputs.get(input));
        if let Some(input) = self.group.filter(|input| !is_bound(input)) {
            return Some(format!("does not say how small the group `{input}` may be"));
        }
        terms.inputs.values().find_map(|source| {
            let Source::Public { parameter, least } = source else { return None };
            let small = || format!("permits `{parameter}` from {least} on");
            match number(self.select, parameter) {
                Ok(given) => (given < *least).then(small),
                Err(why) => Some(format!("{}: {why}", small())),
            }
        })
    }
}

/// Why terms do not permit outputs for these sides; none if they do. The program is what it was when it was approved, but it says garbler and
/// evaluator, and terms say own and peer: which is which is in the configuration, which may have been changed since.
pub(crate) fn shows_others(terms: &Terms, receivers: Option<Sides>) -> Option<String> {
    let (may, receive) = (terms.receivers?, receivers?);
    let (permitted, shown) = (may.name(), receive.name());
    (!may.include(receive)).then(|| {
        format!("permits receivers `{permitted}`, the program's outputs are for `{shown}`")
    })
}

/// Whether a source is a public number of which a smallest one is said.
pub(crate) const fn is_least(source: Option<&Source>) -> bool {
    matches!(source, Some(Source::Public { least: 1.., .. }))
}

/// A public parameter of a job.
pub(crate) fn given<'a>(
    select: &'a BTreeMap<String, String>,
    name: &str,
) -> Result<&'a String, String> {
    select.get(name).ok_or_else(|| {
        format!("the public parameter `{name}` is missing: whoever asks for the job gives it (`select`, --select {name}=..)")
    })
}

/// A public parameter that is a whole number, in its only form.
pub(crate) fn number(select: &BTreeMap<String, String>, name: &str) -> Result<u64, String> {
    let text = given(select, name)?;
    let number = text.parse::<u64>().ok().filter(|number| number.to_string() == *text);
    number.ok_or_else(|| format!("the public parameter `{name}` is no whole number"))
}

/// Gives an approval.
pub(crate) fn approve(
    db: &Db,
    key: &OwnerKey,
    terms: &Terms,
) -> Result<ApprovalView, ServiceError> {
    if terms.uses.is_none() && terms.period_s.is_some() {
        return Err(ServiceError::invalid("`period_s` means nothing without `uses`"));
    }
    if terms.uses == Some(0) {
        return Err(ServiceError::invalid("an approval without a use permits nothing"));
    }
    if terms.period_s == Some(0) {
        return Err(ServiceError::invalid("a period has a second at least"));
    }
    let text = written(terms)?;
    let signature = key.sign(APPROVAL, text.as_bytes());
    let put = "INSERT INTO approval (program, terms, signature, given_at) VALUES (?1, ?2, ?3, ?4)";
    let id = db.change(|db| {
        db.execute(put, params![terms.program, text, signature.as_slice(), now()])
            .map_err(failed)?;
        Ok(db.last_insert_rowid())
    })?;
    find(db, id)
}

/// Withdraws an approval. Jobs under it that wait are refused when their turn comes.
pub(crate) fn withdraw(db: &Db, id: i64) -> Result<ApprovalView, ServiceError> {
    let put = "UPDATE approval SET withdrawn_at = ?2 WHERE id = ?1 AND withdrawn_at IS NULL";
    db.with(|db| db.execute(put, params![id, now()]))?;
    find(db, id)
}

/// All approvals, oldest first.
pub(crate) fn all(db: &Db) -> Result<Vec<ApprovalView>, ServiceError> {
    let rows = db.with(|db| {
        let mut all = db.prepare_cached(&format!("SELECT {COLUMNS} FROM approval ORDER BY id"))?;
        let rows = all.query_map([], row)?;
        rows.collect::<rusqlite::Result<Vec<_>>>()
    })?;
    rows.into_iter().map(view).collect()
}

/// One approval.
pub(crate) fn find(db: &Db, id: i64) -> Result<ApprovalView, ServiceError> {
    let one = format!("SELECT {COLUMNS} FROM approval WHERE id = ?1");
    let found = db.with(|db| db.query_row(&one, [id], row).optional())?;
    view(found.ok_or_else(|| ServiceError::not_found(format!("there is no approval {id}")))?)
}

/// An approval under which a job of `origin` with this program may run now, counting those that wait under it; the newest that stands.
pub(crate) fn permit(
    db: &Db,
    key: &PublicKey,
    wanted: &Use<'_>,
) -> Result<Result<Permit, Denied>, ServiceError> {
    let rows = db.with(|db| {
        let one = format!("SELECT {COLUMNS} FROM approval WHERE program = ?1 AND withdrawn_at IS NULL ORDER BY id DESC");
        let mut all = db.prepare_cached(&one)?;
        let rows = all.query_map([wanted.program], row)?;
        rows.collect::<rusqlite::Result<Vec<_>>>()
    })?;
    let mut denied = Denied::NotApproved;
    for given in rows {
        if !key.verify(APPROVAL, given.terms.as_bytes(), &signature(&given)?) {
            let what = format!(
                "approval {} does not bear the owner's signature: somebody else wrote it; withdraw it and look at the database",
                given.id
            );
            return Err(ServiceError::new(ErrorKind::Forbidden, what));
        }
        let terms = read(&given.terms)?;
        if !wanted.is_meant(&terms) || terms.expires_at.is_some_and(|end| now() >= end) {
            continue;
        }
        if let Some(why) = wanted.refused_by(&terms) {
            denied = Denied::Term(why);
            continue;
        }
        if uses_left(db, &given, &terms)? {
            return Ok(Ok(Permit { id: given.id, terms }));
        }
        denied = Denied::Quota;
    }
    Ok(Err(denied))
}

fn uses_left(db: &Db, given: &Given, terms: &Terms) -> Result<bool, ServiceError> {
    let Some(uses) = terms.uses else { return Ok(true) };
    let used = db.with(|db| count_uses(db, given, terms))?;
    // Those that wait under it are going to take theirs.
    let waiting =
        "SELECT COUNT(*) FROM job WHERE state IN ('submitted', 'queued') AND approval = ?1";
    let waiting: i64 = db.with(|db| db.query_row(waiting, [given.id], |row| row.get(0)))?;
    Ok(used.saturating_add(waiting.unsigned_abs()) < uses)
}

/// Uses that count: those in the last period, or all.
fn count_uses(db: &Connection, given: &Given, terms: &Terms) -> rusqlite::Result<u64> {
    let Some(period) = terms.period_s else { return Ok(given.spent) };
    let ms = i64::try_from(period).unwrap_or(i64::MAX).saturating_mul(1000);
    let since = now().saturating_sub(ms);
    let count = "SELECT COUNT(*) FROM used WHERE approval = ?1 AND at > ?2";
    let used: i64 =
        db.prepare_cached(count)?.query_row(params![given.id, since], |row| row.get(0))?;
    Ok(used.unsigned_abs())
}

/// Spends a use of an approval that still stands and is for this; within the transaction in which its job begins. The terms that stand.
pub(crate) fn spend(
    db: &Connection,
    key: &PublicKey,
    id: i64,
    wanted: &Use<'_>,
) -> Result<Terms, ServiceError> {
    let one = format!("SELECT {COLUMNS} FROM approval WHERE id = ?1");
    let given = db.prepare_cached(&one).and_then(|mut one| one.query_row([id], row));
    let given = given.map_err(failed)?;
    let denied =
        |what: &str| Err(ServiceError::new(ErrorKind::Forbidden, format!("approval {id} {what}")));
    if !key.verify(APPROVAL, given.terms.as_bytes(), &signature(&given)?) {
        return denied("does not bear the owner's signature");
    }
    let terms = read(&given.terms)?;
    if !wanted.is_meant(&terms) {
        return denied("is for another program, peer or submitter");
    }
    if let Some(why) = wanted.refused_by(&terms) {
        return denied(&why);
    }
    if given.withdrawn_at.is_some() {
        return denied("was withdrawn");
    }
    if terms.expires_at.is_some_and(|end| now() >= end) {
        return denied("has expired");
    }
    if let Some(uses) = terms.uses
        && count_uses(db, &given, &terms).map_err(failed)? >= uses
    {
        return denied("has no uses left");
    }
    let count = "UPDATE approval SET spent = spent + 1 WHERE id = ?1";
    db.prepare_cached(count).and_then(|mut count| count.execute([id])).map_err(failed)?;
    if terms.period_s.is_some() {
        let put = "INSERT INTO used (approval, at) VALUES (?1, ?2)";
        db.prepare_cached(put)
            .and_then(|mut put| put.execute(params![id, now()]))
            .map_err(failed)?;
    }
    Ok(terms)
}

/// Gives the last use back: the peer would not run the job, so no output can have been opened.
pub(crate) fn give_back(db: &Connection, id: i64) -> Result<(), ServiceError> {
    let steps = [
        "UPDATE approval SET spent = spent - 1 WHERE id = ?1 AND spent > 0",
        "DELETE FROM used WHERE rowid = (SELECT MAX(rowid) FROM used WHERE approval = ?1)",
    ];
    for step in steps {
        db.prepare_cached(step).and_then(|mut step| step.execute([id])).map_err(failed)?;
    }
    Ok(())
}

struct Given {
    id: i64,
    terms: String,
    signature: Vec<u8>,
    given_at: Millis,
    withdrawn_at: Option<Millis>,
    spent: u64,
}

fn row(row: &rusqlite::Row<'_>) -> rusqlite::Result<Given> {
    Ok(Given {
        id: row.get(0)?,
        terms: row.get(1)?,
        signature: row.get(2)?,
        given_at: row.get(3)?,
        withdrawn_at: row.get(4)?,
        spent: row.get::<_, i64>(5)?.unsigned_abs(),
    })
}

fn signature(given: &Given) -> Result<[u8; 64], ServiceError> {
    given.signature.as_slice().try_into().map_err(|_| {
        ServiceError::new(ErrorKind::Forbidden, format!("approval {} has no signature", given.id))
    })
}

fn view(given: Given) -> Result<ApprovalView, ServiceError> {
    Ok(ApprovalView {
        id: given.id,
        terms: read(&given.terms)?,
        given_at: given.given_at,
        withdrawn_at: given.withdrawn_at,
        spent: given.spent,
        signature: crate::registry::hex(&given.signature),
        // Programs say that.
        receivers: BTreeMap::new(),
        memories: Vec::new(),
    })
}

fn written(terms: &Terms) -> Result<String, ServiceError> {
    serde_json::to_string(terms).map_err(|error| ServiceError::invalid(error.to_string()))
}

fn read(text: &str) -> Result<Terms, ServiceError> {
    let read = serde_json::from_str(text);
    read.map_err(|error| {
        ServiceError::new(ErrorKind::Internal, format!("terms of an approval: {error}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A database and a key, in a directory that is gone with the first.
    fn opened() -> (tempfile::TempDir, Db, OwnerKey) {
        let dir = tempfile::tempdir().unwrap();
        let db = Db::open(&dir.path().join("service.db")).unwrap();
        let key = OwnerKey::load_or_create(&dir.path().join("owner.key")).unwrap();
        (dir, db, key)
    }

    /// For jobs of the peer's, bob, with a program, as often as it likes.
    fn terms() -> Terms {
        Terms {
            program: "less".into(),
            peer: "bob".into(),
            inputs: [].into(),
            submitters: Sides::Peer,
            receivers: None,
            uses: None,
            period_s: None,
            expires_at: None,
        }
    }

    #[test]
    fn a_use_is_of_the_program_peer_and_submitter_that_were_approved() {
        let (_dir, db, key) = opened();
        let terms = Terms { uses: Some(1), ..terms() };
        let id = approve(&db, &key, &terms).unwrap().id;
        let spend = |wanted: &Use<'_>| db.change(|db| spend(db, &key.public(), id, wanted));
        let select = BTreeMap::new();
        let meant = Use {
            program: "less",
            peer: "bob",
            origin: Origin::Peer,
            select: &select,
            group: None,
            receivers: Some(Sides::Both),
        };
        let others = [
            Use { program: "sort", ..meant },
            Use { peer: "carol", ..meant },
            Use { origin: Origin::Own, ..meant },
        ];
        for other in &others {
            assert!(spend(other).unwrap_err().what.contains("another program, peer or submitter"));
        }
        assert_eq!(find(&db, id).unwrap().spent, 0);
        assert!(spend(&meant).is_ok());
        assert!(spend(&meant).unwrap_err().what.contains("no uses left"));
        db.change(|db| give_back(db, id)).unwrap();
        assert!(spend(&meant).is_ok());
    }

    #[test]
    fn terms_that_mean_nothing_are_refused() {
        let (_dir, db, key) = opened();
        for (uses, period_s) in [(Some(0), None), (Some(1), Some(0)), (None, Some(60))] {
            let terms = Terms { uses, period_s, ..terms() };
            let refused = approve(&db, &key, &terms).unwrap_err();
            assert_eq!(refused.kind, ErrorKind::Invalid, "{uses:?} {period_s:?}");
        }
        assert!(all(&db).unwrap().is_empty());
    }

    #[test]
    fn a_group_is_as_large_as_an_approval_says_whoever_names_it() {
        let terms = |least| Terms {
            inputs: [("k".to_owned(), Source::Public { parameter: "n".into(), least })].into(),
            submitters: Sides::Both,
            ..terms()
        };
        let (_dir, db, key) = opened();
        let open = Terms { inputs: [].into(), ..terms(0) };
        let [ten, five, none, left_open] = [terms(10), terms(5), terms(0), open]
            .map(|terms| approve(&db, &key, &terms).unwrap().id);
        let all = |id: i64, number: Option<&str>, group: Option<&str>| {
            let select = number.map(|text| ("n".to_owned(), text.to_owned())).into_iter().collect();
            let origin = Origin::Peer;
            let (program, peer, receivers) = ("less", "bob", Some(Sides::Both));
            let wanted = Use { program, peer, origin, select: &select, group, receivers };
            let spent = db.change(|db| spend(db, &key.public(), id, &wanted));
            let found = permit(&db, &key.public(), &wanted).unwrap();
            (spent.map(drop).map_err(|error| error.what), found.map(|permit| permit.id))
        };
        let k = Some("k");
        for text in ["10", "11", "18446744073709551615"] {
            assert_eq!(all(ten, Some(text), k).0, Ok(()), "{text}");
        }
        for text in
            ["9", "0", "010", "+10", "10.0", "1e9", "ten", "", " 10", "18446744073709551616"]
        {
            let refused = all(ten, Some(text), k).0.unwrap_err();
            assert!(refused.contains("permits `n` from 10 on"), "{text}: {refused}");
        }
        assert!(all(ten, None, k).0.is_err());
        // Where the program has a smallest group, an approval that leaves it open permits nothing.
        for id in [none, left_open] {
            let refused = all(id, Some("100"), k).0.unwrap_err();
            assert!(refused.contains("does not say how small the group `k` may be"), "{refused}");
            assert_eq!(all(id, Some("100"), None).0, Ok(()));
        }
        // The newest that permits it is found, whatever came later.
        assert_eq!(all(ten, Some("7"), k).1, Ok(five));
        assert_eq!(all(ten, Some("12"), k).1, Ok(five));
        let denied = all(ten, Some("4"), k).1.unwrap_err();
        assert_eq!(denied, Denied::Term("permits `n` from 10 on".into()));
    }

    #[test]
    fn outputs_are_for_the_sides_that_an_approval_names() {
        let (_dir, db, key) = opened();
        let (peer, origin, select) = ("bob", Origin::Peer, BTreeMap::new());
        let all = |program: &str, id: i64, receivers: Option<Sides>| {
            let wanted = Use { program, peer, origin, select: &select, group: None, receivers };
            let spent = db.change(|db| spend(db, &key.public(), id, &wanted));
            let found = permit(&db, &key.public(), &wanted).unwrap();
            (spent.map(drop).map_err(|error| error.what), found.map(drop))
        };
        let sides = [Sides::Own, Sides::Peer, Sides::Both];
        for may in sides {
            let terms = Terms {
                program: may.name().into(),
                peer: peer.into(),
                receivers: Some(may),
                ..terms()
            };
            let id = approve(&db, &key, &terms).unwrap().id;
            for receive in sides {
                let expected = if may == Sides::Both || may == receive {
                    (Ok(()), Ok(()))
                } else {
                    let (may, receive) = (may.name(), receive.name());
                    let why = format!(
                        "permits receivers `{may}`, the program's outputs are for `{receive}`"
                    );
                    (Err(format!("approval {id} {why}")), Err(Denied::Term(why)))
                };
                assert_eq!(all(may.name(), id, Some(receive)), expected);
            }
            assert_eq!(all(may.name(), id, None), (Ok(()), Ok(())));
        }
        // As one was signed before there was this term: it leaves receivers to the program.
        let old = r#"{"program":"old","peer":"bob","inputs":{},"submitters":"peer","uses":null,"period_s":null,"expires_at":null}"#;
        let signature = key.sign(APPROVAL, old.as_bytes());
        let put =
            "INSERT INTO approval (program, terms, signature, given_at) VALUES ('old', ?1, ?2, 0)";
        db.with(|db| db.execute(put, params![old, signature.as_slice()])).unwrap();
        let id = super::all(&db).unwrap().last().unwrap().id;
        for receive in sides {
            assert_eq!(all("old", id, Some(receive)), (Ok(()), Ok(())));
        }
    }
}
