//! Whether two organisations noted the same of the jobs that they ran with each other.
//!
//! Each noted its own view, in its own log, under its own key; `shared` has what both know. Of a job, the first entry with shared facts of one log is compared
//! with the first of the other, the second with the second, and so on. Jobs may come in any order. Kinds and times may differ: a fact that must not belongs in `shared`.
//!
//! *Where one log begins later,* entries of the other from before that, by its own clock, may have no counterpart; they are counted. *Where one ends earlier*, what
//! comes after is missing there, and is reported so: the copy may be old, or lines may have been taken off its end.
//!
//! Memory grows with the number of entries that have shared facts, by about a hundred bytes each, not with what is in them.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::path::Path;

use serde_json::{Map, Value};

use super::chain::{Chain, line_at};
use super::{AuditError, PublicKey};

/// Most characters of a value that are shown to people.
const SHOWN: usize = 200;

/// One of two logs.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// The log.
    pub log: &'a Path,
    /// Its owner.
    pub key: &'a PublicKey,
    /// What its owner calls the other one: entries with another peer are left aside. Without it, all count.
    pub peer: Option<&'a str>,
}

/// What two logs differ in. As text, for people.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Jobs in which they agree.
    pub agreed: u64,
    /// Jobs that only one log has, all of it from before the other began: nothing is known of these.
    pub before: u64,
    /// When the later log begins; none if one has no line.
    pub since: Option<String>,
    /// The first line of `a` that has no counterpart in `b`, or another.
    pub a: Option<Place>,
    /// The first line of `b` that has no counterpart in `a`, or another.
    pub b: Option<Place>,
}

/// A line of one log on which the other differs.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// Its number.
    pub line: u64,
    /// When it was written, by its owner's clock.
    pub time: String,
    /// Of which job.
    pub job: String,
    /// What the other log has.
    pub there: Gap,
}

/// What the other log has in place of a line.
#[derive(Clone, Debug, PartialEq)]
pub enum Gap {
    /// Nothing.
    Missing {
        /// Whether the other log ends before that time, by its own clock: it may be an old copy, or one that was cut short.
        ended: bool,
    },
    /// Other facts.
    Other {
        /// The number of the line there.
        line: u64,
        /// Facts that differ: name, value here, value there; none where there is no such fact.
        facts: Vec<(String, Option<Value>, Option<Value>)>,
    },
}

impl Difference {
    /// Whether there is no difference.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.a.is_none() && self.b.is_none()
    }
}

/// Checks two logs as [`verify`](super::verify) does, then compares the shared facts of all jobs. For two organisations that run jobs with nobody else; [`diff_between`] is for others.
///
/// # Errors
/// As [`verify`](super::verify), of either log.
pub fn diff(
    a: &Path,
    a_key: &PublicKey,
    b: &Path,
    b_key: &PublicKey,
) -> Result<Difference, AuditError> {
    diff_between(&Side { log: a, key: a_key, peer: None }, &Side { log: b, key: b_key, peer: None })
}

/// As [`diff`], of the jobs that the two sides ran with each other.
///
/// # Errors
/// As [`verify`](super::verify), of either log.
pub fn diff_between(a: &Side<'_>, b: &Side<'_>) -> Result<Difference, AuditError> {
    let (in_a, in_b) = (Noted::read(a)?, Noted::read(b)?);
    let compared = compare(&in_a, &in_b);
    let place = |of: &Side<'_>, other: &Side<'_>, ended: &Noted, at: Option<Differs>| {
        at.map(|at| at.look(of, other, ended)).transpose()
    };
    let since = in_a.first.as_ref().zip(in_b.first.as_ref()).map(|(a, b)| a.max(b).clone());
    Ok(Difference {
        agreed: compared.agreed,
        before: compared.before,
        since,
        a: place(a, b, &in_b, compared.a)?,
        b: place(b, a, &in_a, compared.b)?,
    })
}

/// What a log says of jobs.
#[derive(Default)]
struct Noted {
    first: Option<String>,
    last: Option<String>,
    jobs: BTreeMap<String, Vec<Fact>>,
}

/// An entry with shared facts.
struct Fact {
    line: u64,
    /// Where in the file.
    at: u64,
    digest: [u8; 32],
    time: Box<str>,
}

/// A line that differs, and what is in its place.
#[derive(Clone, Copy)]
struct Differs {
    line: u64,
    at: u64,
    there: Option<u64>,
}

#[derive(Default)]
struct Compared {
    agreed: u64,
    before: u64,
    a: Option<Differs>,
    b: Option<Differs>,
}

impl Noted {
    /// Checks a log and reads it.
    fn read(side: &Side<'_>) -> Result<Noted, AuditError> {
        let mut chain = Chain::open(side.log, Some(*side.key))?;
        let mut noted = Noted::default();
        while let Some((line, at)) = chain.next()? {
            let body = line.body;
            noted.first.get_or_insert_with(|| body.time.clone());
            noted.last = Some(body.time.clone());
            if side.peer.is_some() && side.peer != body.peer.as_deref() {
                continue;
            }
            if let (Some(shared), Some(job)) = (&body.shared, body.job) {
                let (digest, time) = (digest(shared), body.time.into());
                let fact = Fact { line: body.sequence, at, digest, time };
                noted.jobs.entry(job).or_default().push(fact);
            }
        }
        Ok(noted)
    }

    fn of(&self, job: &str) -> &[Fact] {
        self.jobs.get(job).map_or(&[], Vec::as_slice)
    }
}

fn digest(shared: &Map<String, Value>) -> [u8; 32] {
    // Lines that were read have their names in order.
    let text = Value::Object(shared.clone()).to_string();
    blake3::derive_key("cenote 2026 service audit facts v1", text.as_bytes())
}

fn compare(a: &Noted, b: &Noted) -> Compared {
    let mut compared = Compared::default();
    let jobs = a.jobs.keys().chain(b.jobs.keys().filter(|job| !a.jobs.contains_key(*job)));
    for job in jobs {
        let (in_a, in_b) = (a.of(job), b.of(job));
        let (without_a, without_b) = (before(in_a, in_b, b), before(in_b, in_a, a));
        let (in_a, in_b) = (&in_a[without_a..], &in_b[without_b..]);
        if in_a.is_empty() && in_b.is_empty() {
            compared.before += 1;
            continue;
        }
        let same = in_a.iter().zip(in_b).take_while(|(a, b)| a.digest == b.digest).count();
        if same == in_a.len().max(in_b.len()) {
            compared.agreed += 1;
        }
        earlier(&mut compared.a, in_a.get(same), in_b.get(same));
        earlier(&mut compared.b, in_b.get(same), in_a.get(same));
    }
    compared
}

/// How many of the first entries of a job need no counterpart in the `other` log, as that begins after them. Where both have as many, none: clocks differ.
fn before(here: &[Fact], there: &[Fact], other: &Noted) -> usize {
    let more = here.len().saturating_sub(there.len());
    let early = |fact: &&Fact| other.first.as_deref().is_some_and(|first| *fact.time < *first);
    here.iter().take(more).take_while(early).count()
}

/// Keeps the earlier of `first` and this entry.
fn earlier(first: &mut Option<Differs>, here: Option<&Fact>, there: Option<&Fact>) {
    if let Some(here) = here
        && first.is_none_or(|first| here.line < first.line)
    {
        let there = there.map(|there| there.at);
        *first = Some(Differs { line: here.line, at: here.at, there });
    }
}

impl Differs {
    /// Reads the lines again: what is in them was not kept.
    fn look(&self, of: &Side<'_>, other: &Side<'_>, noted: &Noted) -> Result<Place, AuditError> {
        let here = line_at(of.log, self.at)?.body;
        let there = match self.there {
            None => {
                Gap::Missing { ended: noted.last.as_ref().is_none_or(|last| *last < here.time) }
            }
            Some(at) => {
                let there = line_at(other.log, at)?.body;
                let facts =
                    facts(here.shared.unwrap_or_default(), there.shared.unwrap_or_default());
                Gap::Other { line: there.sequence, facts }
            }
        };
        Ok(Place { line: self.line, time: here.time, job: here.job.unwrap_or_default(), there })
    }
}

type Facts = Vec<(String, Option<Value>, Option<Value>)>;

fn facts(mut here: Map<String, Value>, mut there: Map<String, Value>) -> Facts {
    let names: Vec<String> = here.keys().chain(there.keys()).cloned().collect();
    let taken = names.into_iter().map(|name| {
        let (here, there) = (here.remove(&name), there.remove(&name));
        (name, here, there)
    });
    taken.filter(|(_, here, there)| here != there).collect()
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let jobs = |n: u64| format!("{n} job{}", if n == 1 { "" } else { "s" });
        if self.is_none() {
            write!(f, "both logs say the same of {}", jobs(self.agreed))?;
        } else {
            write!(f, "the logs differ; they say the same of {}", jobs(self.agreed))?;
        }
        if self.before > 0 {
            let since = self.since.as_deref().unwrap_or_default();
            write!(
                f,
                "; {} ended before {since}, when the later log begins, and are in one only",
                jobs(self.before)
            )?;
        }
        for (name, other, place) in [("a", "b", &self.a), ("b", "a", &self.b)] {
            if let Some(place) = place {
                write!(
                    f,
                    "\nfirst in {name}: line {}, {}, job {}: ",
                    place.line,
                    place.time,
                    shown(&place.job)
                )?;
                place.there.describe(f, name, other)?;
            }
        }
        Ok(())
    }
}

impl Gap {
    fn describe(&self, f: &mut fmt::Formatter<'_>, name: &str, other: &str) -> fmt::Result {
        match self {
            Gap::Missing { ended: false } => write!(f, "missing in {other}"),
            Gap::Missing { ended: true } => {
                write!(
                    f,
                    "missing in {other}, which ends before that: take a new copy of it, and ask if it is still missing"
                )
            }
            Gap::Other { line, facts } => {
                write!(f, "other facts in line {line} of {other}")?;
                for (fact, here, there) in facts {
                    let (here, there) = (value(here.as_ref()), value(there.as_ref()));
                    write!(f, "\n  {}: {here} in {name}, {there} in {other}", shown(fact))?;
                }
                Ok(())
            }
        }
    }
}

fn value(value: Option<&Value>) -> String {
    value.map_or_else(|| "nothing".into(), |value| shown(&value.to_string()))
}

/// Text of another organisation, so that it does nothing to a terminal, and not all of a long one.
fn shown(text: &str) -> String {
    let mut out = String::new();
    for (i, c) in text.chars().enumerate() {
        // Writing to a string cannot fail.
        let _ = match c {
            _ if i == SHOWN => return out + "...",
            '"' | '\'' | '\\' => write!(out, "{c}"),
            _ => write!(out, "{}", c.escape_debug()),
        };
    }
    out
}
