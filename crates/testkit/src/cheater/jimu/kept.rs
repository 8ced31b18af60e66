//! Wires that a cheater keeps, in names that one request after the other takes up.

use std::collections::BTreeMap;

use super::cheat::{AtRest, Cheat};

/// Wires by name: those that are kept, and those before them.
pub(super) struct Kept<W>(BTreeMap<String, [Vec<W>; 2]>);

impl<W> Default for Kept<W> {
    fn default() -> Kept<W> {
        Kept(BTreeMap::new())
    }
}

impl<W: Clone> Kept<W> {
    pub(super) fn keep(&mut self, name: &str, wires: &[W]) {
        let [kept, older] = self.0.entry(name.into()).or_default();
        *older = std::mem::replace(kept, wires.to_vec());
    }

    /// The wires of a name as the cheater takes them: each through `change`, but for the cheats that are the same at both sides.
    pub(super) fn of(&self, name: &str, cheat: Cheat, change: impl Fn(AtRest, &W) -> W) -> Vec<W> {
        let [kept, older] = &self.0[name];
        let mut wires = kept.clone();
        match cheat {
            Cheat::Kept(AtRest::Swapped) => wires.rotate_left(1),
            Cheat::Kept(AtRest::Older) if older.len() == kept.len() => wires.clone_from(older),
            Cheat::Kept(AtRest::Older) => {}
            Cheat::Kept(how) => wires = wires.iter().map(|wire| change(how, wire)).collect(),
            _ => {}
        }
        wires
    }
}
