//! Memories that their owner ends: freed on both sides, in the session that holds them, without a program that leaves nothing in them.
//!
//! Either owner may, as either side can end a memory by a job that it breaks off (docs/protocols/service.md). The leader of the lane orders it between two jobs;
//! the follower asks the leader for it, in its news. Then both agree on what they hold, forget it, and save the others anew.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use cenote_engine::{HeldMemory, NamedMemories, Role};
use serde_json::json;

use crate::error::{ErrorKind, ServiceError};
use crate::inner::{Inner, facts, lock};
use crate::jobs;
use crate::model::memory_views;
use crate::peer::lane::Lane;
use crate::peer::messages::MOST_ENDS;
use crate::registry::hex;

/// How long an owner waits for the end of a memory.
const ENDS: Duration = Duration::from_secs(20);
/// Between two looks of whoever waits.
const LOOK: Duration = Duration::from_secs(1);

/// Names that the peer's owner may want to end at once.
const MOST_WISHES: usize = 16 * MOST_ENDS;

/// Memories that are to end.
#[derive(Default)]
pub(crate) struct Ending {
    /// Those that the own owner wants to end, until they have; and whether the leader has heard of it on this connection.
    own: BTreeMap<String, bool>,
    /// Those that the peer's does, where this side leads.
    peers: BTreeSet<String>,
}

impl Ending {
    /// What the leader has not heard of yet.
    fn to_tell(&self) -> Vec<String> {
        let untold = self.own.iter().filter(|(_, told)| !**told);
        untold.map(|(name, _)| name.clone()).take(MOST_ENDS).collect()
    }

    /// The leader has heard of these.
    fn told(&mut self, names: &[String]) {
        for name in names {
            self.own.entry(name.clone()).and_modify(|told| *told = true);
        }
    }

    /// The leader may be another process than the one that was told.
    fn tell_again(&mut self) {
        self.own.values_mut().for_each(|told| *told = false);
    }

    /// The peer's owner wants these to end.
    fn wished(&mut self, names: impl Iterator<Item = String>) {
        for name in names {
            if self.peers.len() < MOST_WISHES {
                self.peers.insert(name);
            }
        }
    }

    /// A session that runs nothing holds these memories. Of others nothing is left to do: one that begins later is another one.
    fn keep(&mut self, is_held: impl Fn(&str) -> bool) {
        self.own.retain(|name, _| is_held(name));
        self.peers.retain(|name| is_held(name));
    }
}

impl Inner {
    /// The lane in which all jobs run that share memories.
    fn holds(&self) -> &Lane {
        self.lane(false)
    }

    /// Ends a memory for the own owner, on both sides; waits until it has ended.
    pub(crate) fn end_memory(&self, name: &str) -> Result<(), ServiceError> {
        self.open()?;
        let conflict = |what: String| Err(ServiceError::new(ErrorKind::Conflict, what));
        if !self.holds().is_ready() {
            return conflict(format!(
                "memory `{name}` ends in a session of the lane of large jobs, and none is open: try again when `status` says `ready`"
            ));
        }
        if self.holds().held(name).is_none() {
            let what = format!("there is no memory `{name}`; `status` lists those that there are");
            return Err(ServiceError::not_found(what));
        }
        if let Some(job) = self.user_of(name)? {
            return conflict(format!(
                "memory `{name}` is in use by job {job}, which runs: end it when that has ended, or take the job back, which ends it as well"
            ));
        }
        lock(&self.ending).own.insert(name.to_owned(), false);
        self.changed();
        let (end, mut seen) = (Instant::now() + ENDS, 0);
        while lock(&self.ending).own.contains_key(name) {
            // It may end with its session, or by a job.
            if self.holds().is_ready() && self.holds().held(name).is_none() {
                self.has_ended(name);
            } else if Instant::now() >= end {
                let what = format!(
                    "memory `{name}` has not ended yet: another job runs in its lane, or the peer is away; it ends after that, unless a service starts again before, and `status` no longer lists it then"
                );
                return Err(ServiceError::new(ErrorKind::Unavailable, what));
            }
            seen = self.wait_change(seen, LOOK);
        }
        Ok(())
    }

    /// The job that runs and has this memory.
    fn user_of(&self, name: &str) -> Result<Option<String>, ServiceError> {
        for id in jobs::running_in(&self.db, false)? {
            let Some(job) = self.db.with(|db| Ok(jobs::stored(db, &id)))?? else { continue };
            let program = self.registry.of_digest(&self.db, &job.offer.program)?;
            if memory_views(&program.module).iter().any(|memory| memory.name == name) {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    /// What the leader has not heard of yet; nothing where this side leads.
    pub(crate) fn ends_to_tell(&self) -> Vec<String> {
        if self.config.peer.role == Role::Garbler {
            return Vec::new();
        }
        lock(&self.ending).to_tell()
    }

    /// A connection to the peer begins.
    pub(crate) fn tell_ends_again(&self) {
        lock(&self.ending).tell_again();
    }

    /// The leader has heard of these.
    pub(crate) fn told_ends(&self, told: &[String]) {
        lock(&self.ending).told(told);
    }

    /// The peer's owner wants these to end. What the session does not hold has ended; without one, the next will say.
    pub(crate) fn peer_ends(&self, names: &[String]) {
        let lane = self.holds();
        let there = names.iter().filter(|name| !lane.is_ready() || lane.held(name).is_some());
        let there: Vec<String> = there.cloned().collect();
        if !there.is_empty() {
            lock(&self.ending).wished(there.into_iter());
            self.changed();
        }
    }

    /// The session of this lane holds these memories, and runs nothing.
    pub(crate) fn forget_ended(&self, lane: &Lane, held: &NamedMemories) {
        if !lane.small {
            lock(&self.ending).keep(|name| held.list().any(|memory| memory.name == name));
        }
    }

    /// The next memory to end in this lane, which this side leads.
    pub(crate) fn next_ending(&self, lane: &Lane, held: &NamedMemories) -> Option<String> {
        self.forget_ended(lane, held);
        let ending = lock(&self.ending);
        let mut names = ending.own.keys().chain(&ending.peers);
        // The peer may have wished another one in between.
        names.find(|name| !lane.small && held.list().any(|memory| memory.name == **name)).cloned()
    }

    /// A memory has ended on this side: for both logs.
    pub(crate) fn note_end(&self, memory: &HeldMemory) -> Result<(), ServiceError> {
        let is_own = lock(&self.ending).own.contains_key(&memory.name);
        let by = if is_own { "own" } else { "peer" };
        let found = format!("version {} of {}", memory.version, hex(&memory.job_id));
        tracing::info!(memory = memory.name, jobs = memory.version, by, "a memory was ended");
        let own = [("memory", json!(memory.name)), ("held", json!(found)), ("by", json!(by))];
        self.log("memory.ended", None, None, facts(&own))
    }

    /// Whoever waits for the end of this memory goes on.
    pub(crate) fn has_ended(&self, name: &str) {
        let mut ending = lock(&self.ending);
        ending.own.remove(name);
        ending.peers.remove(name);
        drop(ending);
        self.changed();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_leader_is_told_once_on_each_connection_until_the_memory_is_gone() {
        let mut ending = Ending::default();
        ending.own.extend([("a".to_owned(), false), ("b".to_owned(), false)]);
        assert_eq!(ending.to_tell(), names(&["a", "b"]));
        ending.told(&names(&["a", "unknown"]));
        assert_eq!(ending.to_tell(), names(&["b"]));
        ending.told(&names(&["b"]));
        assert!(ending.to_tell().is_empty());
        ending.tell_again();
        assert_eq!(ending.to_tell(), names(&["a", "b"]));
        ending.keep(|name| name == "b");
        assert_eq!(ending.to_tell(), names(&["b"]));
    }

    #[test]
    fn what_a_peer_wishes_is_bounded_and_goes_with_the_memory() {
        let mut ending = Ending::default();
        ending.wished(["a", "b", "b"].map(str::to_owned).into_iter());
        ending.keep(|name| name != "a");
        assert!(ending.peers.iter().eq(["b"]));
        ending.wished((0..2 * MOST_WISHES).map(|number| number.to_string()));
        assert_eq!(ending.peers.len(), MOST_WISHES);
        assert!(ending.own.is_empty(), "no wish of the own owner's");
    }
}
