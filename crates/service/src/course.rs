//! The course of a job: offered, taken or declined, started, begun, ended. What a job begins with is on disk before anything follows from it; what
//! a crash may take back, the end of a job that nobody was told of among it, waits for the disk with whatever comes next.
//!
//! **Nothing of the own data before a use is spent.** Whether a job is taken depends on approvals alone; its record is looked for once it has begun,
//! a use is spent and its parameters are in the audit log. So a peer that asks for records learns of each at the price of a use, and leaves a line.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cenote_engine::{Fault, memory_uses_at};
use cenote_job::json;
use serde_json::{Value, json};

use crate::audit::Head;
use crate::db::now;
use crate::error::{ErrorKind, ServiceError};
use crate::inner::{Inner, facts, lock};
use crate::jobs::{self, Arrival, Offer, Stage, Stored};
use crate::model::{JobCost, JobState, NewJob, Origin, Sides, Source, Terms};
use crate::peer::lane::Lane;
use crate::peer::messages::{Declined, MOST_RUN, Refusal, Verdict};
use crate::permit::{self, Denied};
use crate::quota::{self, Who};
use crate::registry::{self, Registered, hex};
use crate::sources;

/// A job that runs, written down; it begins when that is on the disk.
pub(crate) struct Started {
    pub(crate) id: String,
    program: Arc<Registered>,
    terms: Terms,
    stored: Stored,
}

/// A job that has begun: its program and the bits of the own inputs, port by port.
pub(crate) struct Begun {
    pub(crate) id: String,
    pub(crate) program: Arc<Registered>,
    pub(crate) own: Vec<Vec<bool>>,
    approval: i64,
    origin: Origin,
    submitter: String,
    /// The own verdict says nothing of the own data.
    says_nothing: bool,
    select: BTreeMap<String, String>,
}

impl Drop for Begun {
    fn drop(&mut self) {
        for bits in &mut self.own {
            zeroize::Zeroize::zeroize(bits.as_mut_slice());
        }
    }
}

/// What is asked and given: names, terms and values.
impl Inner {
    /// Whether all that was given belongs to the program.
    pub(crate) fn check_names(
        &self,
        program: &Registered,
        job: &NewJob,
    ) -> Result<(), ServiceError> {
        let own = registry::own_inputs(&program.module, self.config.peer.role);
        match job.inputs.keys().find(|name| !own.contains_key(name.as_str())) {
            None => Ok(()),
            Some(name) => {
                let names: Vec<&str> = own.into_keys().collect();
                let what =
                    format!("`{name}` is no input of this side; these are: {}", names.join(", "));
                Err(ServiceError::invalid(what))
            }
        }
    }

    /// Whether terms can be kept. What they leave open that the program or a data set says is written into them.
    pub(crate) fn check_terms(
        &self,
        program: &Registered,
        terms: &mut Terms,
    ) -> Result<(), ServiceError> {
        let own = registry::own_inputs(&program.module, self.config.peer.role);
        if let Some(name) = terms.inputs.keys().find(|name| !own.contains_key(name.as_str())) {
            return Err(ServiceError::invalid(format!("`{name}` is no input of this side")));
        }
        if let Some(input) = &program.smallest_group
            && !permit::is_least(terms.inputs.get(input))
        {
            let what = format!(
                "`{}` has a smallest group: say how small it may be, by `{input}` from a public parameter and its least number",
                program.name
            );
            return Err(ServiceError::invalid(what));
        }
        let receivers = registry::receiving(&program.module, self.config.peer.role);
        if let Some(why) = permit::shows_others(terms, receivers) {
            let what = format!(
                "the approval of `{}` {why}: if they may have them, approve it with those receivers; otherwise agree on another program",
                program.name
            );
            return Err(ServiceError::invalid(what));
        }
        terms.receivers = terms.receivers.or(receivers);
        for (name, ports) in &own {
            match terms.inputs.get_mut(*name) {
                None | Some(Source::Submitter) if terms.submitters != Sides::Own => {
                    let what = format!(
                        "jobs of the peer's need a data set for `{name}`: nobody else gives it then"
                    );
                    return Err(ServiceError::invalid(what));
                }
                None | Some(Source::Submitter) => {}
                Some(source) => {
                    let dataset = |name: &str| self.registry.dataset(&self.db, name);
                    sources::settle(source, name, ports, dataset)?;
                }
            }
        }
        Ok(())
    }

    /// Whether a job of the peer's has what its sources ask for, as far as that depends on no cell of them.
    fn check_sources(
        &self,
        program: &Registered,
        terms: &Terms,
        select: &BTreeMap<String, String>,
    ) -> Result<(), ServiceError> {
        for name in registry::own_inputs(&program.module, self.config.peer.role).keys() {
            let (dataset, parameter) = match terms.inputs.get(*name) {
                Some(Source::Table { dataset, .. }) => (dataset, None),
                Some(Source::Record { dataset, parameter, .. }) => (dataset, Some(parameter)),
                // The approval has been asked.
                Some(Source::Public { .. }) => continue,
                None | Some(Source::Submitter) => {
                    return Err(ServiceError::invalid(format!("nobody gives `{name}`")));
                }
            };
            drop(self.registry.dataset(&self.db, dataset)?);
            if let Some(parameter) = parameter.filter(|name| !select.contains_key(*name)) {
                let what = format!("the public parameter `{parameter}` is missing");
                return Err(ServiceError::invalid(what));
            }
        }
        Ok(())
    }

    /// The bits of the own inputs, port by port.
    pub(crate) fn own_bits(
        &self,
        program: &Registered,
        terms: &Terms,
        job: &NewJob,
    ) -> Result<Vec<Vec<bool>>, ServiceError> {
        let role = self.config.peer.role;
        let dataset = |name: &str| self.registry.dataset(&self.db, name);
        let mut bits: BTreeMap<&str, Vec<bool>> = BTreeMap::new();
        for (name, ports) in registry::own_inputs(&program.module, role) {
            let value = sources::input(terms.inputs.get(name), name, &ports, job, dataset)?;
            let words = json::from_value(name, &ports, &value).map_err(ServiceError::invalid)?;
            for (port, words) in ports.iter().zip(words) {
                let parsed = port
                    .parse(&words.join(","))
                    .map_err(|e| ServiceError::invalid(e.to_string()))?;
                bits.insert(&port.name, parsed);
            }
        }
        let ports = program.module.inputs().iter().filter(|port| port.owner == role);
        Ok(ports.filter_map(|port| bits.remove(port.name.as_str())).collect())
    }
}

/// Before it begins.
impl Inner {
    /// A job that the peer's owner wants: put down, if the own owner permits it.
    pub(crate) fn offered(&self, offer: &Offer) -> Result<(), Refusal> {
        // After a lost answer it is offered again.
        let known = self.db.with(|db| Ok(jobs::stored(db, &offer.id))).and_then(|found| found);
        let none = |why: &str| Err((Refusal::Unavailable, why.to_owned()));
        let taken = match known {
            _ if self.is_stopping() => none("the service stops"),
            _ if self.is_held() => none("the peer is held"),
            Ok(None) => self.take(offer),
            Ok(Some(known)) => {
                let same = known.origin == Origin::Peer
                    && known.offer.program == offer.program
                    && known.offer.select == offer.select;
                match same && !known.state.is_end() {
                    true => Ok(()),
                    false => Err((Refusal::Over, "there was another job of this id".to_owned())),
                }
            }
            Err(error) => Err((Refusal::Unavailable, error.to_string())),
        };
        taken.map_err(|(refusal, why)| {
            tracing::info!(job = offer.id, program = offer.program, why, "declined");
            refusal
        })
    }

    /// Puts a job of the peer's down; or why not, for it and for the own log.
    fn take(&self, offer: &Offer) -> Result<(), (Refusal, String)> {
        let because = |refusal: Refusal| move |error: ServiceError| (refusal, error.to_string());
        let program = self.registry.of_digest(&self.db, &offer.program);
        let program = program.map_err(because(Refusal::UnknownProgram))?;
        let permit = self.permit(&program, Origin::Peer, &offer.select);
        let permit = permit.map_err(because(Refusal::Unavailable))?;
        let permit = permit.map_err(|denied| {
            let refusal = match denied {
                Denied::NotApproved | Denied::Term(_) => Refusal::NotApproved,
                Denied::Quota => Refusal::Quota,
            };
            (refusal, denied.why(&program.name))
        })?;
        let sources = self.check_sources(&program, &permit.terms, &offer.select);
        sources.map_err(because(Refusal::NoData))?;
        let who = Who { origin: Origin::Peer, submitter: "" };
        let quota = self.quota(who);
        let most = quota.most_waiting.unwrap_or(u64::MAX).min(self.config.jobs.most_waiting);
        let unbegun = self.db.with(|db| Ok(jobs::unbegun_of_peer(db))).and_then(|all| all);
        if unbegun.map_err(because(Refusal::Unavailable))? >= most {
            return Err((Refusal::Busy, "too many jobs of the peer's wait".to_owned()));
        }
        let used = self.db.with(|db| Ok(quota::may_come(db, who, &quota, program.ands, now())));
        if let Some(used) = used.and_then(|used| used).map_err(because(Refusal::Unavailable))? {
            return Err((Refusal::Quota, used.error(who, &quota).to_string()));
        }
        let arrival = Arrival {
            offer,
            origin: Origin::Peer,
            state: JobState::Queued,
            approval: permit.id,
            small: self.is_small(&program),
            submitter: "",
            ands: program.ands,
            inputs: &BTreeMap::new(),
            idempotency_key: None,
            asked: None,
            keep_s: self.config.jobs.keep_results_s,
        };
        // After a crash the peer offers it again.
        self.db.change_soon(|db| jobs::put(db, &arrival)).map_err(because(Refusal::Unavailable))?;
        self.changed();
        Ok(())
    }

    /// The peer's answer to an offer.
    pub(crate) fn answered(&self, id: &str, verdict: Verdict) -> Result<(), ServiceError> {
        match verdict {
            Verdict::Accepted => {
                // After a crash it is offered again.
                self.db.change_soon(|db| jobs::agreed(db, id))?;
                self.changed();
            }
            Verdict::Refused(why) => self.refused(id, Stage::Unanswered, why.reason()),
        }
        Ok(())
    }

    /// The peer does not know an own job any more that it had agreed to.
    pub(crate) fn forgotten_by_peer(&self, id: &str) -> Result<(), ServiceError> {
        if self.db.change_soon(|db| jobs::offer_again(db, id))? {
            self.changed();
        }
        Ok(())
    }

    /// The peer will not run an own job that it had agreed to; its answer to the offer, on another connection, may still be under way.
    pub(crate) fn declined_by_peer(&self, id: &str, why: Refusal) -> Result<(), ServiceError> {
        if self.origin_of(id)? == Some(Origin::Own) {
            self.refused(id, Stage::Waiting, why.reason());
        }
        Ok(())
    }

    pub(crate) fn origin_of(&self, id: &str) -> Result<Option<Origin>, ServiceError> {
        let stored = self.db.with(|db| Ok(jobs::stored(db, id)))??;
        Ok(stored.map(|stored| stored.origin))
    }

    /// Has the peer hear that a job does not run here.
    pub(crate) fn tell_of(&self, id: &str, origin: Origin, why: Refusal) {
        match origin {
            Origin::Own => lock(&self.cancelled).push(id.to_owned()),
            Origin::Peer => lock(&self.declined).push(Declined { id: id.to_owned(), why }),
        }
    }

    /// Whether an order is one that [`Inner::next_jobs`] of the leader gives: one job, or several of the small lane's with the ANDs of one.
    pub(crate) fn go_together(&self, ids: &[[u8; 16]], lane: &Lane) -> bool {
        let ands = |id: &[u8; 16]| {
            let job = self.db.with(|db| Ok(jobs::stored(db, &hex(id)))).ok()?.ok()??;
            Some(self.registry.of_digest(&self.db, &job.offer.program).ok()?.ands)
        };
        let all = ids.iter().filter_map(ands).fold(0_u64, u64::saturating_add);
        ids.len() == 1 || (lane.small && all <= self.config.jobs.small_ands)
    }

    /// The next jobs of a lane, which go together: as many small ones as make one of the largest of them, or one large one.
    pub(crate) fn next_jobs(&self, lane: &Lane) -> Vec<String> {
        let most = if lane.small { MOST_RUN } else { 1 };
        let waiting = jobs::next(&self.db, lane.small, most).unwrap_or_else(|error| {
            tracing::error!(%error, "the queue cannot be read");
            Vec::new()
        });
        let mut room = self.config.jobs.small_ands;
        let mut next = Vec::new();
        for [id, program] in waiting {
            // Whatever is wrong with the program is found when the job starts.
            let ands = self.registry.of_digest(&self.db, &program).map_or(0, |found| found.ands);
            if !next.is_empty() && ands > room {
                break;
            }
            room = room.saturating_sub(ands);
            next.push(id);
        }
        next
    }
}

/// From its beginning to its end.
impl Inner {
    /// A job starts on this side, if it still may: written down, a use of its approval spent, noted in the audit log.
    /// [`Inner::begin`] follows when that is on the disk.
    pub(crate) fn start_job(&self, id: &str, lane: &Lane) -> Result<Started, Refusal> {
        if self.is_stopping() || self.is_held() {
            return Err(Refusal::Unavailable);
        }
        let stored = self.db.with(|db| Ok(jobs::stored(db, id))).and_then(|found| found);
        let stored = stored.map_err(|_| Refusal::Unavailable)?.ok_or(Refusal::Over)?;
        let waits = matches!(stored.state, JobState::Queued | JobState::Submitted);
        if !waits || stored.small != lane.small {
            return Err(Refusal::Over);
        }
        if let Err(fault) = self.finds_memories(&stored, lane) {
            let why = Refusal::NoMemory;
            self.ended(id, Stage::Waiting, JobState::Refused, &fault.to_string(), why.reason());
            self.tell_of(id, stored.origin, why);
            return Err(why);
        }
        let spent = self.spend(id, &stored).map_err(|error| match error.kind {
            ErrorKind::Conflict => Refusal::Over,
            kind => {
                let why = match kind {
                    ErrorKind::Forbidden => Refusal::NotApproved,
                    ErrorKind::Quota => Refusal::Quota,
                    _ => Refusal::Unavailable,
                };
                // What a token may take is not for the peer's owner, who may read the audit log.
                let said = error.to_string();
                let logged = if kind == ErrorKind::Quota { why.reason() } else { &said };
                self.ended(id, Stage::Waiting, JobState::Refused, &said, logged);
                self.tell_of(id, stored.origin, why);
                why
            }
        });
        let (program, terms) = spent?;
        if let Err(error) = self.note_begun(id, &stored, &terms) {
            self.gave_up(id, stored.origin, &error, Refusal::Unavailable);
            return Err(Refusal::Unavailable);
        }
        Ok(Started { id: id.to_owned(), program, terms, stored })
    }

    /// Whether the session holds what a job goes on with, and nothing that it begins. The peer's holds the same.
    fn finds_memories(&self, stored: &Stored, lane: &Lane) -> Result<(), Fault> {
        let program = self.registry.of_digest(&self.db, &stored.offer.program);
        // A program that cannot be had is found missing when a use is to be spent.
        let config = &self.config.pool.backend;
        let (most, rho) = (config.backend.most_kept_wires(), config.rho());
        let fits = |uses: &[_]| lane.memories().fit(uses, most);
        program.map_or(Ok(()), |program| fits(&memory_uses_at(&program.module, rho)))
    }

    /// Jobs begin: what was written down of them is on the disk, and only then the own data are looked at.
    pub(crate) fn begin(
        &self,
        started: Vec<Result<Started, Refusal>>,
    ) -> Result<Vec<Result<Begun, Refusal>>, Fault> {
        self.settle().map_err(|error| Fault::Storage(error.to_string()))?;
        Ok(started.into_iter().map(|job| job.and_then(|job| self.look(job))).collect())
    }

    fn look(&self, job: Started) -> Result<Begun, Refusal> {
        let Started { id, program, terms, stored } = job;
        match self.own_bits(&program, &terms, &stored.new_job()) {
            Ok(own) => {
                let Stored { approval, origin, offer, .. } = stored;
                let is_record = |source: &Source| matches!(source, Source::Record { .. });
                let says_nothing = !terms.inputs.values().any(is_record);
                let select = offer.select;
                let submitter = stored.submitter;
                Ok(Begun { id, program, own, approval, origin, submitter, says_nothing, select })
            }
            Err(error) => {
                self.gave_up(&id, stored.origin, &error, Refusal::NoData);
                Err(Refusal::NoData)
            }
        }
    }

    /// A job that had started does not begin. The audit log, which owners show each other, has the word that the peer hears as well.
    fn gave_up(&self, id: &str, origin: Origin, error: &ServiceError, why: Refusal) {
        let state = JobState::Failed;
        self.ended(id, Stage::Running, state, &error.to_string(), why.reason());
        self.tell_of(id, origin, why);
    }

    /// One transaction: a use is spent and the job runs.
    fn spend(&self, id: &str, stored: &Stored) -> Result<(Arc<Registered>, Terms), ServiceError> {
        let program = self.registry.of_digest(&self.db, &stored.offer.program)?;
        let peer = self.peer_name();
        let wanted = self.wanted(&program, &peer, stored.origin, &stored.offer.select);
        let who = Who { origin: stored.origin, submitter: &stored.submitter };
        let quota = self.quota(who);
        let terms = self.db.change_soon(|db| {
            let terms = permit::spend(db, &self.public, stored.approval, &wanted)?;
            if let Some(used) = quota::begin(db, who, &quota, program.ands, now())? {
                return Err(used.error(who, &quota));
            }
            jobs::note_logged(db, self.audit.head().sequence)?;
            match jobs::running(db, id)? {
                true => Ok(terms),
                false => Err(ServiceError::new(ErrorKind::Conflict, "the job is over")),
            }
        })?;
        self.changed();
        Ok((program, terms))
    }

    /// What is to be known of a job even if the peer takes its outputs and goes.
    fn note_begun(&self, id: &str, stored: &Stored, terms: &Terms) -> Result<(), ServiceError> {
        let names: BTreeSet<&str> = terms.inputs.values().filter_map(sources::dataset).collect();
        let digest = |name: &str| self.registry.data_digest(&self.db, name);
        let data: Result<BTreeMap<&str, Option<String>>, _> =
            names.into_iter().map(|name| Ok((name, digest(name)?))).collect();
        let heard = *lock(&self.peer_head);
        let own = facts(&[
            ("program", json!(stored.offer.program)),
            ("select", json!(stored.offer.select)),
            ("origin", json!(stored.origin)),
            ("approval", json!(stored.approval)),
            ("data", json!(data?)),
            ("peer_head", json!(heard.map(|head| head.to_string()))),
        ]);
        self.log_soon("job.begun", Some(id), None, own)
    }

    /// The peer does not go on with a job that has begun here.
    pub(crate) fn refused_by_peer(&self, job: &Begun, why: Refusal) {
        // It may have asked to learn that there is such a record; of the own owner's jobs it learns nothing, and nothing was opened.
        if job.origin == Origin::Own && job.says_nothing {
            let who = Who { origin: job.origin, submitter: &job.submitter };
            let back = self.db.change(|db| {
                permit::give_back(db, job.approval)?;
                quota::give_back(db, who, job.program.ands, now())
            });
            if let Err(error) = back {
                tracing::error!(%error, job = job.id, "a use is not given back");
            }
        }
        if !self.ended_by_peer(&job.id) {
            self.refused(&job.id, Stage::Running, why.reason());
        }
    }

    /// What runs in a lane has failed: its session ended. The peer's abort says as little as it may; the own log has the check.
    pub(crate) fn fail_left(&self, lane: &Lane, fault: &Fault) {
        let fault_text = fault.to_string();
        // This side has cut it.
        let is_cut = self.is_stopping() && matches!(fault, Fault::Transport(_));
        let why = if is_cut { jobs::STOPPED } else { told(&fault_text) };
        match jobs::running_in(&self.db, lane.small) {
            Ok(left) => {
                for id in left.iter().filter(|id| !self.ended_by_peer(id)) {
                    self.ended(id, Stage::Running, JobState::Failed, why, why);
                }
            }
            Err(error) => tracing::error!(%error, "jobs that ran are not written down"),
        }
    }

    fn refused(&self, id: &str, from: Stage, why: &str) {
        self.ended(id, from, JobState::Refused, why, why);
    }

    /// A job ended for a reason, of which the audit log says as much as the peer's owner may read.
    fn ended(&self, id: &str, from: Stage, state: JobState, why: &str, logged: &str) {
        let ended = self.db.change(|db| jobs::end(db, id, from, state, why));
        let kind = if state == JobState::Failed { "job.failed" } else { "job.refused" };
        let logged = match ended {
            Ok(true) => {
                match state {
                    JobState::Failed => tracing::info!(job = id, why = logged, "a job failed"),
                    _ => tracing::info!(job = id, why = logged, "a job was refused"),
                }
                self.log(kind, Some(id), None, facts(&[("reason", json!(logged))]))
            }
            Ok(false) => Ok(()),
            Err(error) => Err(error),
        };
        if let Err(error) = logged {
            tracing::error!(%error, job = id, "the end of a job is not written down");
        }
        self.watch.ended(id);
        self.changed();
    }

    /// A job ended well, which found its memories as `held` says.
    pub(crate) fn done(
        &self,
        job: &Begun,
        result: Option<Value>,
        cost: &JobCost,
        head: Head,
        held: &BTreeMap<String, String>,
    ) {
        let mut shared = facts(&[
            ("program", json!(job.program.digest)),
            ("select", json!(job.select)),
            ("outcome", json!("done")),
        ]);
        if !held.is_empty() {
            shared.insert("memories".to_owned(), json!(held));
        }
        let mut own = facts(&[
            ("origin", json!(job.origin)),
            ("approval", json!(job.approval)),
            ("peer_head", json!(head.to_string())),
        ]);
        // Whoever is told of it waits for the disk; the next job does not.
        let id = job.id.as_str();
        lock(&self.taken_by_peer).remove(id);
        let ended = self.db.change_soon(|db| match jobs::done(db, id, result.as_ref(), cost)? {
            None if !jobs::is(db, id, JobState::Cancelled)? => {
                Err(ServiceError::new(ErrorKind::Internal, "the job had ended already"))
            }
            ended => Ok(ended),
        });
        let written = ended.and_then(|ended| {
            // What ran to its end is in both logs, whether its owner still wanted it or not.
            match ended {
                Some(ended) => self.lane(ended.small).took(ended.seconds),
                None => drop(own.insert("discarded".to_owned(), json!(true))),
            }
            self.log_soon("job.done", Some(id), Some(shared), own)
        });
        if let Err(error) = written {
            tracing::error!(%error, job = id, "the end of a job is not written down");
        }
        self.watch.ended(id);
    }
}

/// A reason for the audit log, which owners show each other, and for whoever may look at jobs: not the name of a check.
pub(crate) fn told(why: &str) -> &str {
    why.split_once(MISBEHAVED).map_or(why, |_| MISBEHAVED)
}

/// How a fault begins whose rest is the name of a check.
const MISBEHAVED: &str = "the peer misbehaved";

#[cfg(test)]
mod tests;
