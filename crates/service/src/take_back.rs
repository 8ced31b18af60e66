//! Jobs that their owner takes back, waiting or running.
//!
//! **A job that runs ends at once for its owner**: it is `cancelled`, its use stays spent, and whatever its run gives is not kept. What becomes of the run:
//!
//! * A large job is alone in its run. The other side is told, and then the session is cut, which ends the run there as well; another session opens. What
//!   was not saved of the pool is lost with it, and the next one is counted towards what a cheater gains by hanging up (docs/protocols/epoch.md), so
//!   an owner's jobs cut so many sessions a day and no more (`jobs.cuts_a_day`).
//! * A small job shares its run with others, which have done nothing, and ends in a moment; a large one beyond that number shares a pool with those
//!   that come. Their runs go on to the end, and the other side keeps what it is given: it has agreed to that.
//!
//! Nothing of this is a check: neither side takes the other for a cheat, and a peer that says that it takes a job back and goes on with it computes
//! what it could have computed without saying so, and so does this side: it keeps what that run gives it.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::error::{ErrorKind, ServiceError};
use crate::inner::{Inner, facts, lock};
use crate::jobs::{self, Stored};
use crate::model::{JobState, Origin};
use crate::peer::messages::Refusal;

/// How long the other side has to hear of it before the session is cut.
pub(crate) const HEARS: Duration = Duration::from_secs(3);
/// What its owner reads of a job whose session is cut.
const CUT: &str = "the own owner took it back while it ran";
/// What the other owner reads of it.
const THEIRS: &str = "the peer's owner took it back while it ran";
/// What its own owner reads of one whose run goes on.
const DISCARDED: &str =
    "the own owner took it back while it ran: the run goes on to its end, the result is not kept";

/// What becomes of a job that was taken back.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Taken {
    Waited,
    Cut,
    Discarded,
}

impl Inner {
    /// The own owner takes a job back, or whoever has the token `by`: of those that run, its own alone, as they have spent uses and ended sessions of others.
    pub(crate) fn take_back(&self, id: &str, by: Option<&str>) -> Result<(), ServiceError> {
        let job = self.db.with(|db| Ok(jobs::stored(db, id)))??;
        let job = job.ok_or_else(|| ServiceError::not_found(format!("there is no job {id}")))?;
        let taken = self.db.change(|db| {
            if jobs::cancel(db, id, "the own owner took it back")? {
                return Ok(Taken::Waited);
            }
            self.take_running(db, id, &job, by)
        })?;
        let noted = match taken {
            Taken::Waited => Ok(()),
            Taken::Cut => self.note_taken(id, CUT),
            Taken::Discarded => self.note_taken(id, DISCARDED),
        };
        match taken {
            Taken::Discarded => {}
            Taken::Waited => self.tell_of(id, job.origin, Refusal::Over),
            Taken::Cut => {
                lock(&self.cuts).push((id.to_owned(), Instant::now()));
                self.tell_of(id, job.origin, Refusal::Over);
            }
        }
        self.watch.ended(id);
        self.changed();
        noted
    }

    fn take_running(
        &self,
        db: &rusqlite::Connection,
        id: &str,
        job: &Stored,
        by: Option<&str>,
    ) -> Result<Taken, ServiceError> {
        let conflict = |what: &str| {
            let what = format!("job {id} {what} and cannot be taken back");
            Err(ServiceError::new(ErrorKind::Conflict, what))
        };
        if !jobs::is(db, id, JobState::Running)? {
            return conflict("has ended");
        }
        if job.origin == Origin::Peer {
            return conflict("is the peer's, runs,");
        }
        if by.is_some_and(|by| by != job.submitter) {
            let what =
                format!("job {id} runs: whoever asked for it, or an operator, takes it back");
            return Err(ServiceError::new(ErrorKind::Forbidden, what));
        }
        let cut = !job.small && jobs::may_cut(db, self.config.jobs.cuts_a_day)?;
        let (taken, why) = if cut { (Taken::Cut, CUT) } else { (Taken::Discarded, DISCARDED) };
        jobs::interrupt(db, id, why)?;
        Ok(taken)
    }

    /// The peer does not want a job of its owner's any more. Where it runs the session is the peer's to cut. Until that happens the job runs here, and a run
    /// that goes on to its end gives this side what it gives: a peer must not be able to have outputs that this side drops.
    pub(crate) fn cancelled_by_peer(&self, id: &str) -> Result<(), ServiceError> {
        if self.origin_of(id)? != Some(Origin::Peer) {
            return Ok(());
        }
        let runs = self.db.change(|db| {
            let waited = jobs::cancel(db, id, "the peer's owner took it back")?;
            Ok(!waited && jobs::is(db, id, JobState::Running)?)
        })?;
        if runs {
            lock(&self.taken_by_peer).insert(id.to_owned());
        }
        self.watch.ended(id);
        self.changed();
        Ok(())
    }

    /// Ends a job that ran without an output as one that the peer took back, if it did.
    pub(crate) fn ended_by_peer(&self, id: &str) -> bool {
        if !lock(&self.taken_by_peer).remove(id) {
            return false;
        }
        let ended = self.db.change(|db| jobs::interrupt(db, id, THEIRS));
        let noted =
            ended.and_then(|ended| if ended { self.note_taken(id, THEIRS) } else { Ok(()) });
        if let Err(error) = noted {
            tracing::error!(%error, job = id, "the end of a job is not written down");
        }
        self.watch.ended(id);
        true
    }

    fn note_taken(&self, id: &str, why: &str) -> Result<(), ServiceError> {
        self.log("job.cancelled", Some(id), None, facts(&[("reason", json!(why))]))
    }

    /// The peer has heard that these are not wanted: sessions in which they run are cut now.
    pub(crate) fn told_cancelled(&self, told: &[String]) {
        self.cut_those(|id, _| told.iter().any(|one| one == id));
    }

    /// Cuts sessions for jobs of which the peer has not heard within so long.
    pub(crate) fn cut_overdue(&self, hears: Duration) {
        self.cut_those(|_, since| since.elapsed() >= hears);
    }

    fn cut_those(&self, which: impl Fn(&str, Instant) -> bool) {
        let mut all = lock(&self.cuts);
        let now: Vec<_> = all.extract_if(.., |(id, since)| which(id, *since)).collect();
        drop(all);
        for (id, _) in now {
            for lane in &self.lanes {
                lane.cut(&id, || self.way.cut(&lane.purpose()));
            }
        }
    }

    /// Whether a job that begins was taken back meanwhile.
    pub(crate) fn is_taken_back(&self, id: &str) -> bool {
        if self.ended_by_peer(id) {
            return true;
        }
        let taken = self.db.with(|db| Ok(jobs::is(db, id, JobState::Cancelled)));
        taken.and_then(|taken| taken).unwrap_or(false)
    }
}
