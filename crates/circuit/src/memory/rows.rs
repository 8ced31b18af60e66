//! Rows that every access goes over.

use crate::gadgets;
use crate::gates::Gates;

/// The rows of a memory as they are: every access goes over all of them.
#[derive(Clone, Debug)]
pub struct Rows<W>(Vec<Vec<W>>);

/// An access to a secret place of [`Rows`]; the kind of access is public.
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

impl<W: Clone> Rows<W> {
    /// `None` if there are none or they differ in width.
    #[must_use]
    pub fn new(rows: Vec<Vec<W>>) -> Option<Rows<W>> {
        let width = rows.first()?.len();
        rows.iter().all(|row| row.len() == width).then_some(Rows(rows))
    }

    /// Rows of one width, of which there are some.
    pub(super) fn of(rows: Vec<Vec<W>>) -> Rows<W> {
        debug_assert!(rows.iter().all(|row| row.len() == rows[0].len()), "rows of one width");
        Rows(rows)
    }

    /// The row at a public place.
    pub(super) fn row(&self, index: usize) -> Vec<W> {
        self.0[index].clone()
    }

    /// The rows in order.
    #[must_use]
    pub fn into_inner(self) -> Vec<Vec<W>> {
        self.0
    }
}

impl<W: Clone> Rows<W> {
    /// How many rows there are, and the bits of each.
    #[must_use]
    pub fn shape(&self) -> (usize, usize) {
        (self.0.len(), self.0[0].len())
    }

    /// Reads or writes the row at the unsigned secret `index`; gives the row that is read. The costs are those of
    /// [`gadgets::lookup`] and [`gadgets::store`] on the rows that the index has bits to reach.
    ///
    /// # Errors
    /// Those of the machine.
    ///
    /// # Panics
    /// When a word is not as wide as a row.
    pub fn access<G: Gates<Wire = W>>(
        &mut self,
        g: &mut G,
        index: &[W],
        access: Access<'_, W>,
    ) -> Result<Vec<W>, G::Error> {
        match access {
            Access::Read => gadgets::lookup(g, &self.0, index),
            Access::Write { word, enable } => {
                let reached = reached(self.0.len(), index.len());
                let written = gadgets::store(g, &self.0[..reached], index, word, enable)?;
                self.0.splice(..reached, written);
                Ok(Vec::new())
            }
        }
    }

    /// ANDs of an access with an index of so many bits.
    #[must_use]
    pub fn ands(&self, index: usize, is_write: bool) -> u64 {
        let (rows, width) = self.shape();
        let ands = if is_write { store_ands } else { lookup_ands };
        ands(rows, width, index)
    }
}

/// The rows that an index of so many bits can name.
fn reached(rows: usize, index: usize) -> usize {
    1usize.checked_shl(index as u32).map_or(rows, |to| to.min(rows))
}

/// ANDs of [`gadgets::lookup`].
pub(super) fn lookup_ands(rows: usize, width: usize, index: usize) -> u64 {
    if width == 0 {
        return 0;
    }
    let inside = inside_ands(rows, index).map_or(0, |ands| ands + width as u64);
    ((reached(rows, index) - 1) * width) as u64 + inside
}

/// ANDs of [`gadgets::store`] on the rows that the index reaches.
pub(super) fn store_ands(rows: usize, width: usize, index: usize) -> u64 {
    let rows = reached(rows, index);
    let ways = |bit: usize| (rows - 1).checked_shr(bit as u32 + 1).unwrap_or(0) + 1;
    ((0..index).map(ways).sum::<usize>() + rows * width) as u64
}

/// ANDs of the test whether an index is one of so many rows, if it has bits to reach further.
pub(super) fn inside_ands(rows: usize, index: usize) -> Option<u64> {
    let digits = (usize::BITS - rows.leading_zeros()) as usize;
    (index >= digits).then(|| (index - rows.trailing_zeros() as usize - 1) as u64)
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
            let mut memory = Rows::new(rows).unwrap();
            for step in 0..4u128 << index_bits {
                let (place, enable) = (step % (1 << index_bits), step % 3 != 0);
                let (index, word) = (bits_of(place, index_bits), bits_of(step * 5 % 16, 4));
                let write = Access::Write { word: &word, enable: &enable };
                assert_eq!(memory.access(&mut Clear, &index, write), Ok(vec![]));
                if let Some(row) = array.get_mut(place as usize).filter(|_| enable) {
                    *row = step * 5 % 16;
                }
                let Ok(read) = memory.access(&mut Clear, &index, Access::Read);
                assert_eq!(value_of(&read), array.get(place as usize).copied().unwrap_or(0));
            }
            let left: Vec<u128> = memory.into_inner().iter().map(|row| value_of(row)).collect();
            assert_eq!(left, array);
        }
    }

    #[test]
    fn costs_are_those_of_the_gadgets() {
        let ands = |rows: usize, index: usize, is_write: bool| {
            let rows = Rows::new(vec![vec![false; 32]; rows]).unwrap();
            rows.ands(index, is_write)
        };
        assert_eq!(ands(128, 7, false), 127 * 32);
        // Beyond the end of 100 rows: four ANDs tell, 32 make zeros.
        assert_eq!(ands(100, 7, false), 99 * 32 + 4 + 32);
        assert_eq!(ands(128, 9, false), 127 * 32 + 1 + 32);
        // Ways to 2, 4, .. 128 rows, the rows, and no more for rows out of reach.
        assert_eq!(ands(128, 7, true), 127 + 128 * 32);
        assert_eq!(ands(128, 3, true), 7 + 8 * 32);
    }

    #[test]
    fn rows_have_one_width() {
        assert!(Rows::<bool>::new(vec![]).is_none());
        assert!(Rows::new(vec![vec![true], vec![]]).is_none());
    }
}
