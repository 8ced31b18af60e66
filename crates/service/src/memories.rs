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

/// Memories that are to end.
#[derive(Default)]
pub(crate) struct Ending {
    /// Those that the own owner wants to end, until they have; and whether the leader has heard of it on this connection.
    own: BTreeMap<String, bool>,
    /// Those that the peer's does, where this side leads: [`MOST_ENDS`] at most.
    peers: BTreeSet<String>,
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
                    "memory `{name}` has not ended yet: another job runs in its lane, or the peer is away; it ends after that, unless this service starts again before, and `status` no longer lists it then"
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
        let ending = lock(&self.ending);
        let untold = ending.own.iter().filter(|(_, told)| !**told);
        untold.map(|(name, _)| name.clone()).take(MOST_ENDS).collect()
    }

    /// The leader may be another process than the one that was told.
    pub(crate) fn tell_ends_again(&self) {
        lock(&self.ending).own.values_mut().for_each(|told| *told = false);
    }

    /// The leader has heard of these.
    pub(crate) fn told_ends(&self, told: &[String]) {
        let mut ending = lock(&self.ending);
        for name in told {
            ending.own.entry(name.clone()).and_modify(|told| *told = true);
        }
    }

    /// The peer's owner wants these to end. Between two sessions this side holds nothing that it could compare them with.
    pub(crate) fn peer_ends(&self, names: &[String]) {
        let mut ending = lock(&self.ending);
        for name in names {
            if ending.peers.len() < MOST_ENDS {
                ending.peers.insert(name.clone());
            }
        }
        drop(ending);
        if !names.is_empty() {
            self.changed();
        }
    }

    /// The next memory that is to end of those that the session of this lane holds, which runs nothing. Of others nothing is left to do: a memory
    /// that begins later is another one.
    pub(crate) fn next_ending(&self, lane: &Lane, held: &NamedMemories) -> Option<String> {
        if lane.small {
            return None;
        }
        let is_held = |name: &String| held.list().any(|memory| memory.name == *name);
        let mut ending = lock(&self.ending);
        ending.own.retain(|name, _| is_held(name));
        ending.peers.retain(is_held);
        ending.own.keys().chain(&ending.peers).next().cloned()
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
