//! Wires that outlive their request: what a backend holds of them, by the name that the job gave.
//!
//! A job that goes on with kept wires computes what one longer request would have computed, with a reveal at
//! the seam: keeping comes after every check that was deferred, nothing is sent for it, and all counts and keys
//! that a wire rests on run on through the session.

use std::collections::BTreeMap;

use cenote_net::Fault;
use cenote_prim::Secret;
use zeroize::Zeroize;

use crate::party::MAX_KEPT_WIRES;

/// The wires that a session keeps, each with its `T`.
pub(crate) struct Kept<T: Zeroize> {
    by_name: BTreeMap<String, Secret<Vec<T>>>,
}

impl<T: Zeroize> Default for Kept<T> {
    fn default() -> Kept<T> {
        Kept { by_name: BTreeMap::new() }
    }
}

impl<T: Zeroize> Kept<T> {
    /// Keeps `wires` in place of those that had this name; none of them: forgets those.
    ///
    /// # Errors
    /// `Exhausted` if there were more than [`MAX_KEPT_WIRES`] then.
    pub(crate) fn keep(&mut self, name: &str, wires: Secret<Vec<T>>) -> Result<(), Fault> {
        let others = self.by_name.iter().filter(|(other, _)| *other != name);
        let all = others.map(|(_, wires)| wires.len()).sum::<usize>() + wires.len();
        if all > MAX_KEPT_WIRES {
            return Err(Fault::Exhausted(format!("a session keeps {MAX_KEPT_WIRES} wires")));
        }
        if wires.is_empty() {
            self.by_name.remove(name);
        } else {
            self.by_name.insert(name.to_owned(), wires);
        }
        Ok(())
    }

    /// The wires of this name, in the order in which they were kept.
    ///
    /// # Errors
    /// `Misuse` if there are none.
    pub(crate) fn of(&self, name: &str) -> Result<&[T], Fault> {
        let wires = self.by_name.get(name).map(|wires| &wires[..]);
        wires.ok_or_else(|| Fault::Misuse(format!("no wires are kept as `{name}`")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wires(n: usize) -> Secret<Vec<u8>> {
        Secret::new(vec![1; n])
    }

    #[test]
    fn a_session_keeps_so_many_wires_and_no_more() {
        let mut kept = Kept::default();
        kept.keep("a", wires(MAX_KEPT_WIRES - 1)).expect("room");
        kept.keep("b", wires(1)).expect("room for one");
        assert!(matches!(kept.keep("c", wires(1)), Err(Fault::Exhausted(_))));
        assert!(matches!(kept.keep("b", wires(2)), Err(Fault::Exhausted(_))));
        assert_eq!(kept.of("b"), Ok(&[1][..]), "what was there stays");
        kept.keep("a", wires(2)).expect("in place of more");
        kept.keep("c", wires(MAX_KEPT_WIRES - 3)).expect("room again");
        kept.keep("c", wires(0)).expect("forgets");
        assert!(matches!(kept.of("c"), Err(Fault::Misuse(_))));
        assert_eq!(kept.of("a").map(<[u8]>::len), Ok(2));
    }
}
