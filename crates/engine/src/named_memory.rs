//! Memories that outlive a job: secret values that a session holds by name, for later jobs.
//!
//! What a job leaves in a memory are wires that the session keeps ([`Party::keep`](crate::Party::keep)), with all that authenticates them;
//! here is what both sides know of it. It is part of the agreement on every job that names the memory: a side that holds another one, or none,
//! is refused before the job begins. A fault of a job ends the session and all its memories with it, so that no memory is
//! ever resumed at a version before one of which something was opened. A backend that can puts them into the store of the session, and the next
//! one goes on with them (docs/protocols/epoch.md).

use std::collections::BTreeMap;

use cenote_net::Fault;
use serde::{Deserialize, Serialize};

/// What a job does with a memory that outlives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryUse {
    /// Its name in the session.
    pub name: String,
    /// Its parts with their places, kinds and widths: those of all jobs that share the memory are the same.
    pub layout: String,
    /// Bits of all parts.
    pub bits: usize,
    /// Whether the job begins it, with zeros.
    pub is_new: bool,
    /// Whether it leaves something in it; otherwise the memory ends.
    pub is_kept: bool,
    /// Of each part that is a random access memory, what it takes of its life.
    pub lives: Vec<RamLife>,
}

/// The life of a random access memory that outlives a job, and what the job takes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RamLife {
    /// Accesses that it was planned for.
    pub accesses: u64,
    /// Accesses of the job, at most: so many are gone when it ends, whether there were as many or not, so that both sides know without it.
    pub spends: u64,
}

/// What both sides know of each random access memory that was put away, by the name of the part: public, and the same on both.
pub type RamStates = BTreeMap<String, Vec<u8>>;

/// What both sides know of a memory that a session holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldMemory {
    /// Its name.
    pub name: String,
    /// As [`MemoryUse::layout`].
    pub layout: String,
    /// Bits of all parts; of a random access memory, at most.
    pub bits: usize,
    /// Accesses that there may still be, of each part that is a random access memory.
    pub left: Vec<u64>,
    /// How each of these was put away.
    pub states: RamStates,
    /// Jobs that have left something in it, the one that began it included.
    pub version: u64,
    /// The last of these.
    pub job_id: [u8; 32],
}

impl HeldMemory {
    /// What both sides must agree on: what it holds.
    fn term(&self) -> String {
        let id = blake3::Hash::from_bytes(self.job_id).to_hex();
        format!("{} version {} of job {id}; ", self.name, self.version)
    }

    /// Whether a job takes no more accesses than there are. Its stashes were made for those of its life: with more they overflow more often,
    /// and the flag that is opened tells of it.
    fn has_accesses_for(&self, one: &MemoryUse) -> Result<(), Fault> {
        let name = &self.name;
        for (left, RamLife { spends, .. }) in self.left.iter().zip(&one.lives) {
            if spends > left {
                return Err(Fault::Policy(format!(
                    "memory `{name}` has {left} accesses left in its life, the program takes up to {spends}: end it, and begin one with more"
                )));
            }
        }
        Ok(())
    }
}

/// The memories of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedMemories(BTreeMap<String, HeldMemory>);

impl NamedMemories {
    /// All of them, by name.
    pub fn list(&self) -> impl Iterator<Item = &HeldMemory> {
        self.0.values()
    }

    /// How all their parts that are random access memories were put away.
    pub(crate) fn states(&self) -> RamStates {
        self.0.values().flat_map(|memory| memory.states.clone()).collect()
    }

    /// Whether the wires that are kept under this name are a part of one of them.
    pub(crate) fn have(&self, kept: &str) -> bool {
        kept.strip_prefix(KEPT).is_some_and(|part| self.0.contains_key(whole_of(part)))
    }

    /// Whether a job finds what it names, and nothing where it begins something, in a session that holds at `most` so many bits
    /// ([`Backend::most_kept_wires`](crate::Backend::most_kept_wires)).
    ///
    /// # Errors
    /// `Policy`, with what to do about it; `Exhausted` when the session had to hold too much.
    pub fn fit(&self, uses: &[MemoryUse], most: usize) -> Result<(), Fault> {
        for (place, one) in uses.iter().enumerate() {
            let name = &one.name;
            if uses[..place].iter().any(|other| other.name == *name) {
                return Err(Fault::Policy(format!("jobs that run together share memory `{name}`")));
            }
            match self.0.get(name) {
                Some(_) if one.is_new => {
                    return Err(Fault::Policy(format!(
                        "memory `{name}` is there already: go on with it, or end it"
                    )));
                }
                Some(memory) if memory.layout != one.layout => {
                    let [holds, wants] = [&memory.layout, &one.layout].map(|layout| short(layout));
                    return Err(Fault::Policy(format!("memory `{name}` is {holds}, not {wants}")));
                }
                None if !one.is_new => {
                    return Err(no_memory(name));
                }
                Some(memory) => memory.has_accesses_for(one)?,
                None => {}
            }
        }
        let others = self.0.values().filter(|m| uses.iter().all(|one| one.name != m.name));
        let kept = uses.iter().filter(|one| one.is_kept).map(|one| one.bits);
        let bits = others.map(|m| m.bits).chain(kept).fold(0, usize::saturating_add);
        if bits > most {
            return Err(Fault::Exhausted(format!(
                "memories of {bits} bits, where a session on this backend holds {most}: end some, keep fewer rows or a shorter life; of all backends `wrk` holds most"
            )));
        }
        Ok(())
    }

    /// The term that both sides must agree on: what each memory holds before the job.
    pub(crate) fn term(&self, uses: &[MemoryUse]) -> Option<String> {
        let before = |one: &MemoryUse| match self.0.get(&one.name) {
            None => format!("{} new; ", one.name),
            Some(memory) => memory.term(),
        };
        let term: String = uses.iter().map(before).collect();
        let is_long = term.len() > MAX_TERM;
        let hash = || blake3::Hasher::new_derive_key(MANY).update(term.as_bytes()).finalize();
        let shown = if is_long { hash().to_hex().to_string() } else { term.clone() };
        (!uses.is_empty()).then_some(shown)
    }

    /// A memory that is to end, and the term that both sides must agree on before it does.
    ///
    /// # Errors
    /// `Policy` if there is none.
    pub(crate) fn ending(&self, name: &str) -> Result<(HeldMemory, String), Fault> {
        let held = self.0.get(name).ok_or_else(|| no_memory(name))?;
        Ok((held.clone(), held.term()))
    }

    /// Takes note that a memory has ended.
    pub(crate) fn end(&mut self, name: &str) {
        self.0.remove(name);
    }

    /// Takes note of a job that ended well.
    pub(crate) fn left(&mut self, uses: Vec<MemoryUse>, mut states: RamStates, job_id: [u8; 32]) {
        for MemoryUse { name, layout, bits, is_kept, lives, .. } in uses {
            let before = self.0.get(&name);
            let version = before.map_or(0, |memory| memory.version) + 1;
            if is_kept {
                let had = |(part, life): (usize, &RamLife)| match before {
                    Some(memory) => memory.left.get(part).copied().unwrap_or(0),
                    None => life.accesses,
                };
                let parts = lives.iter().enumerate();
                let left = parts.map(|part| had(part).saturating_sub(part.1.spends)).collect();
                let own;
                (own, states) = states.into_iter().partition(|(part, _)| whole_of(part) == name);
                let held = HeldMemory {
                    name: name.clone(),
                    layout,
                    bits,
                    left,
                    states: own,
                    version,
                    job_id,
                };
                self.0.insert(name, held);
            } else {
                self.0.remove(&name);
            }
        }
    }
}

fn no_memory(name: &str) -> Fault {
    Fault::Policy(format!(
        "there is no memory `{name}`: it has ended, or was never begun; run a program that begins it"
    ))
}

/// Whether what is kept under a name is a part of a memory.
pub(crate) fn is_part(kept: &str, memory: &str) -> bool {
    kept.strip_prefix(KEPT).is_some_and(|part| whole_of(part) == memory)
}

/// The name of the memory that has a part of this name.
fn whole_of(part: &str) -> &str {
    part.split('.').next().unwrap_or_default()
}

/// How names begin under which the wires of memories are kept.
const KEPT: &str = "memory ";

/// The name under which a session keeps the wires of a part of a memory: its own name, with those of records a dot and the part behind it.
#[must_use]
pub fn kept_name(part: &str) -> String {
    format!("{KEPT}{part}")
}

/// What a longer term is hashed for: a field of a handshake is short.
const MANY: &str = "cenote 2026 engine memories of a job v1";
const MAX_TERM: usize = 512;

/// The beginning of a layout, for messages.
fn short(layout: &str) -> String {
    let shown: String = layout.chars().take(MAX_SHOWN).collect();
    if shown.len() < layout.len() { shown + ".." } else { shown }
}

const MAX_SHOWN: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::party::MAX_KEPT_WIRES;

    fn fits(memories: &NamedMemories, uses: &[MemoryUse]) -> Result<(), Fault> {
        memories.fit(uses, MAX_KEPT_WIRES)
    }

    fn uses(name: &str, layout: &str, is_new: bool, is_kept: bool) -> MemoryUse {
        let (name, layout) = (name.to_owned(), layout.to_owned());
        MemoryUse { name, layout, bits: 8, is_new, is_kept, lives: Vec::new() }
    }

    #[test]
    fn a_memory_begins_goes_on_and_ends() {
        let mut memories = NamedMemories::default();
        let (begin, go_on) = (uses("m", "b8", true, true), uses("m", "b8", false, true));
        assert!(matches!(fits(&memories, std::slice::from_ref(&go_on)), Err(Fault::Policy(_))));
        assert_eq!(fits(&memories, std::slice::from_ref(&begin)), Ok(()));
        assert_eq!(memories.term(std::slice::from_ref(&begin)).as_deref(), Some("m new; "));
        memories.left(vec![begin.clone()], RamStates::new(), [1; 32]);
        assert!(matches!(fits(&memories, &[begin]), Err(Fault::Policy(_))));
        assert!(matches!(fits(&memories, &[uses("m", "b9", false, true)]), Err(Fault::Policy(_))));
        assert!(matches!(fits(&memories, &[go_on.clone(), go_on.clone()]), Err(Fault::Policy(_))));
        let before = memories.term(std::slice::from_ref(&go_on));
        memories.left(vec![go_on.clone()], RamStates::new(), [2; 32]);
        assert_ne!(memories.term(std::slice::from_ref(&go_on)), before);
        let held: Vec<_> = memories.list().map(|m| (m.name.as_str(), m.version, m.bits)).collect();
        assert_eq!(held, [("m", 2, 8)]);
        memories.left(vec![uses("m", "b8", false, false)], RamStates::new(), [3; 32]);
        assert_eq!(memories.list().count(), 0);
        assert!(matches!(fits(&memories, &[go_on]), Err(Fault::Policy(_))));
        assert_eq!(memories.term(&[]), None, "jobs without memories have the terms they had");
    }

    /// Each job takes what it may take, whatever it did; a new memory of the name has a new life.
    #[test]
    fn a_memory_has_the_accesses_of_its_life() {
        let mut memories = NamedMemories::default();
        let with = |spends, is_new, is_kept| {
            let lives = vec![RamLife { accesses: 10, spends }, RamLife { accesses: 5, spends: 0 }];
            MemoryUse { lives, ..uses("m", "ram", is_new, is_kept) }
        };
        memories.left(vec![with(3, true, true)], RamStates::new(), [1; 32]);
        assert_eq!(memories.list().next().map(|m| m.left.clone()), Some(vec![7, 5]));
        assert_eq!(fits(&memories, &[with(7, false, true)]), Ok(()));
        let refused = fits(&memories, &[with(8, false, true)]);
        assert!(matches!(&refused, Err(Fault::Policy(why)) if why.contains("7 accesses left")));
        memories.left(vec![with(7, false, true)], RamStates::new(), [2; 32]);
        assert!(fits(&memories, &[with(1, false, false)]).is_err());
        assert_eq!(fits(&memories, &[with(0, false, false)]), Ok(()), "it can always end");
        memories.left(vec![with(0, false, false)], RamStates::new(), [3; 32]);
        memories.left(vec![with(10, true, true)], RamStates::new(), [4; 32]);
        assert_eq!(memories.list().next().map(|m| m.left.clone()), Some(vec![0, 5]));
    }

    #[test]
    fn a_session_holds_so_many_bits() {
        let mut memories = NamedMemories::default();
        let large = MemoryUse { bits: MAX_KEPT_WIRES - 8, ..uses("large", "x", true, true) };
        memories.left(vec![large.clone()], RamStates::new(), [1; 32]);
        assert_eq!(fits(&memories, &[uses("m", "b8", true, true)]), Ok(()));
        let more = MemoryUse { bits: 9, ..uses("m", "b9", true, true) };
        assert!(matches!(fits(&memories, &[more]), Err(Fault::Exhausted(_))));
        let ends = MemoryUse { is_new: false, is_kept: false, ..large };
        let more = MemoryUse { bits: MAX_KEPT_WIRES, ..uses("m", "b9", true, true) };
        assert_eq!(fits(&memories, &[ends, more]), Ok(()), "what ends makes room");
    }
}
