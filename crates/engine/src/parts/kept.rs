//! Wires that outlive their request: what a backend holds of them, by the name that the job gave.
//!
//! A job that goes on with kept wires computes what one longer request would have computed, with a reveal at
//! the seam: keeping comes after every check that was deferred, and all counts and keys that a wire rests on
//! run on through the session.

use std::collections::BTreeMap;

use cenote_net::Fault;

use crate::party::{MAX_KEPT_WIRES, MAX_RESTING_WIRES};

/// The wires that a session keeps: by name their number and their data, which wipe themselves when dropped.
pub(crate) struct Kept<T> {
    by_name: BTreeMap<String, (usize, T)>,
    /// Wires that there may be.
    most: usize,
}

impl<T> Default for Kept<T> {
    fn default() -> Kept<T> {
        Kept { by_name: BTreeMap::new(), most: MAX_KEPT_WIRES }
    }
}

impl<T> Kept<T> {
    /// For wires that are packed.
    pub(crate) fn resting() -> Kept<T> {
        Kept { most: MAX_RESTING_WIRES, ..Kept::default() }
    }

    /// Keeps so many `wires` in place of those that had this name; none of them: forgets those.
    ///
    /// # Errors
    /// `Exhausted` if there were more than there may be then.
    pub(crate) fn keep(&mut self, name: &str, wires: usize, data: T) -> Result<(), Fault> {
        self.room(name, wires)?;
        if wires == 0 {
            self.by_name.remove(name);
        } else {
            self.by_name.insert(name.to_owned(), (wires, data));
        }
        Ok(())
    }

    /// Forgets those of all names that `are_gone`.
    pub(crate) fn forget(&mut self, are_gone: impl Fn(&str) -> bool) {
        self.by_name.retain(|name, _| !are_gone(name));
    }

    /// Whether so many `wires` can be kept under this name, before any work is done for them.
    ///
    /// # Errors
    /// As [`keep`](Self::keep).
    pub(crate) fn room(&self, name: &str, wires: usize) -> Result<(), Fault> {
        let others = self.by_name.iter().filter(|(other, _)| *other != name);
        let all = others.map(|(_, (wires, _))| wires).sum::<usize>() + wires;
        if all > self.most {
            return Err(Fault::Exhausted(format!("a session keeps {} wires", self.most)));
        }
        Ok(())
    }

    /// All of them, by name.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        self.by_name.iter().map(|(name, (_, data))| (name.as_str(), data))
    }

    /// The wires of this name: how many, and their data.
    ///
    /// # Errors
    /// `Misuse` if there are none.
    pub(crate) fn of(&self, name: &str) -> Result<&(usize, T), Fault> {
        let wires = self.by_name.get(name);
        wires.ok_or_else(|| Fault::Misuse(format!("no wires are kept as `{name}`")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_keeps_so_many_wires_and_no_more() {
        let mut kept = Kept::default();
        kept.keep("a", MAX_KEPT_WIRES - 1, 'a').expect("room");
        kept.keep("b", 1, 'b').expect("room for one");
        assert!(matches!(kept.keep("c", 1, 'c'), Err(Fault::Exhausted(_))));
        assert!(matches!(kept.keep("b", 2, 'c'), Err(Fault::Exhausted(_))));
        assert_eq!(kept.of("b"), Ok(&(1, 'b')), "what was there stays");
        kept.keep("a", 2, 'd').expect("in place of more");
        kept.keep("c", MAX_KEPT_WIRES - 3, 'c').expect("room again");
        kept.keep("c", 0, 'e').expect("forgets");
        assert!(matches!(kept.of("c"), Err(Fault::Misuse(_))));
        assert_eq!(kept.of("a"), Ok(&(2, 'd')));
        kept.keep("c", MAX_KEPT_WIRES - 3, 'c').expect("room");
        kept.forget(|name| name == "c");
        assert_eq!(kept.iter().map(|(name, _)| name).collect::<Vec<_>>(), ["a", "b"]);
        kept.keep("d", MAX_KEPT_WIRES - 3, 'd').expect("what is forgotten makes room");
    }
}
