//! Random access memory: rows of one width, read and written at secret places.

use crate::count::{Counter, Depth};
use crate::gadgets;
use crate::gates::Gates;

/// A memory. Every access goes over all of its rows; how a machine keeps it is a matter of this type
/// alone, since nobody sees the rows between [`Self::new`] and [`Self::into_rows`].
#[derive(Clone, Debug)]
pub struct Memory<W> {
    rows: Vec<Vec<W>>,
}

/// An access to a secret place of a [`Memory`]; the kind of access is public.
#[derive(Debug)]
pub enum Access<'w, W> {
    /// Gives the row; beyond the end, zeros.
    Read,
    /// Replaces the row where a secret bit is set; beyond the end, none. Gives nothing.
    Write {
        /// The new row, as wide as the old one.
        word: &'w [W],
        /// Whether it is written.
        enable: &'w W,
    },
}

// Whatever the wires are: these are references.
impl<W> Clone for Access<'_, W> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<W> Copy for Access<'_, W> {}

impl<W: Clone> Memory<W> {
    /// A memory that holds `rows`; `None` if there are none or they differ in width.
    #[must_use]
    pub fn new(rows: Vec<Vec<W>>) -> Option<Memory<W>> {
        let width = rows.first()?.len();
        rows.iter().all(|row| row.len() == width).then_some(Memory { rows })
    }

    /// Bits of a row.
    #[must_use]
    pub fn width(&self) -> usize {
        self.rows[0].len()
    }

    /// How many rows it has.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    /// Returns the rows that it holds in the end.
    #[must_use]
    pub fn into_rows(self) -> Vec<Vec<W>> {
        self.rows
    }

    /// Reads or writes the row at the unsigned secret `index` by looking at all rows: the costs are those
    /// of [`gadgets::lookup`] and [`gadgets::store`] on the rows that the index has bits to reach.
    ///
    /// # Panics
    ///
    /// When a word is not as wide as a row.
    pub fn scan<G: Gates<Wire = W>>(
        &mut self,
        g: &mut G,
        index: &[W],
        access: Access<'_, W>,
    ) -> Result<Vec<W>, G::Error> {
        match access {
            Access::Read => gadgets::lookup(g, &self.rows, index),
            Access::Write { word, enable } => {
                let all = self.rows.len();
                let reached = 1usize.checked_shl(index.len() as u32).map_or(all, |to| to.min(all));
                let written = gadgets::store(g, &self.rows[..reached], index, word, enable)?;
                self.rows.splice(..reached, written);
                Ok(Vec::new())
            }
        }
    }

    /// ANDs of [`Self::scan`] with an index of so many bits.
    #[must_use]
    pub fn scan_ands(&self, index: usize, access: Access<'_, W>) -> u64 {
        let word = vec![Depth::default(); self.width()];
        let (mut memory, index) =
            (Memory { rows: vec![word.clone(); self.rows.len()] }, vec![Depth::default(); index]);
        let access = match access {
            Access::Read => Access::Read,
            Access::Write { .. } => Access::Write { word: &word, enable: &Depth(0) },
        };
        let mut counter = Counter::new();
        match memory.scan(&mut counter, &index, access) {
            Ok(_) => counter.counts().and,
            Err(never) => match never {},
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Clear, bits_of, value_of};

    /// Against an array, with indices that reach beyond the end, or not all rows.
    #[test]
    fn a_memory_is_an_array() {
        for (rows, index_bits) in [(1, 1), (2, 1), (5, 3), (5, 2), (6, 5), (8, 3)] {
            let mut array: Vec<u128> = (0..rows).map(|i| i * 7 % 16).collect();
            let rows = array.iter().map(|row| bits_of(*row, 4)).collect();
            let mut memory = Memory::new(rows).unwrap();
            for step in 0..4u128 << index_bits {
                let (place, enable) = (step % (1 << index_bits), step % 3 != 0);
                let (index, word) = (bits_of(place, index_bits), bits_of(step * 5 % 16, 4));
                let write = Access::Write { word: &word, enable: &enable };
                assert_eq!(memory.scan(&mut Clear, &index, write), Ok(vec![]));
                if let Some(row) = array.get_mut(place as usize).filter(|_| enable) {
                    *row = step * 5 % 16;
                }
                let Ok(read) = memory.scan(&mut Clear, &index, Access::Read);
                assert_eq!(value_of(&read), array.get(place as usize).copied().unwrap_or(0));
            }
            let left: Vec<u128> = memory.into_rows().iter().map(|row| value_of(row)).collect();
            assert_eq!(left, array);
        }
    }

    #[test]
    fn costs_are_those_of_the_gadgets() {
        let memory = Memory::new(vec![vec![false; 32]; 128]).unwrap();
        let write = Access::Write { word: &[false; 32], enable: &true };
        assert_eq!(memory.scan_ands(7, Access::Read), 127 * 32);
        // Beyond the end of 100 rows: four ANDs tell, 32 make zeros.
        let short = Memory::new(vec![vec![false; 32]; 100]).unwrap();
        assert_eq!(short.scan_ands(7, Access::Read), 99 * 32 + 4 + 32);
        assert_eq!(memory.scan_ands(9, Access::Read), 127 * 32 + 1 + 32);
        // Ways to 2, 4, .. 128 rows, the rows, and no more for rows out of reach.
        assert_eq!(memory.scan_ands(7, write), 127 + 128 * 32);
        assert_eq!(memory.scan_ands(3, write), 7 + 8 * 32);
    }

    #[test]
    fn rows_have_one_width() {
        assert!(Memory::<bool>::new(vec![]).is_none());
        assert!(Memory::new(vec![vec![true], vec![]]).is_none());
    }
}
