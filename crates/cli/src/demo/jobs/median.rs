//! The median spend of all accounts of both issuers: a reactive job.
//!
//! **Inputs.** Each side: the total spend of each row, once. **Revealed.** To both: the lower median, bit by bit
//! from the highest. Each bit steers what comes next: the rows that the rest of the search looks at are
//! chosen by it without a gate, and the rank is adjusted only when it has to be. What the steps show
//! is the answer and no more.

use cenote_circuit::{Gates, bits_of, gadgets};
use cenote_engine::{Fault, Job, Party, Receivers, Role};

use super::{Row, Side};
use crate::demo::table::{SPEND_BITS, Table};

/// The job; the receivers are both.
pub(crate) struct Median<'t>(pub(crate) Side<'t>);

impl Job for Median<'_> {
    type Output = Option<u64>;

    fn terms(&self) -> Vec<(&'static str, String)> {
        self.0.terms("median-spend")
    }

    fn run<P: Party>(&self, party: &mut P) -> Result<Self::Output, Fault> {
        let bits = |row: &Row| bits_of(u128::from(row.total()), SPEND_BITS);
        let mut rows = self.0.rows(party, Role::Garbler, SPEND_BITS, bits)?;
        rows.extend(self.0.rows(party, Role::Evaluator, SPEND_BITS, bits)?);
        let mut search = Search::new(party, rows)?;
        let mut median = 0;
        for bit in (0..SPEND_BITS).rev() {
            let (is_one, zeros, count) = search.next_bit(party, bit)?;
            let Some(revealed) = party.reveal(Receivers::Both, &[is_one])? else {
                return Err(Fault::Internal("a reveal to both gave nothing".into()));
            };
            let one = revealed == [true];
            median = 2 * median + u64::from(one);
            search.follow(party, one, zeros, &count)?;
        }
        Ok(Some(median))
    }
}

/// A search for the number of a secret rank among those that share a known prefix.
struct Search<W> {
    rows: Vec<Vec<W>>,
    /// Which rows have the prefix so far.
    alive: Vec<W>,
    /// How many alive rows are smaller than the one looked for.
    rank: Vec<W>,
}

impl<W: Clone> Search<W> {
    fn new<G: Gates<Wire = W>>(g: &mut G, rows: Vec<Vec<W>>) -> Result<Search<W>, G::Error> {
        let alive = gadgets::constant_bits(g, &vec![true; rows.len()])?;
        let width = rows.len().max(1).ilog2() as usize + 1;
        let rank = bits_of(lower_median(rows.len()) as u128, width);
        let rank = gadgets::constant_bits(g, &rank)?;
        Ok(Search { rows, alive, rank })
    }

    /// Whether bit `bit` of the number looked for is set, the alive rows where it is not, and how
    /// many these are: two ANDs a row.
    fn next_bit<G: Gates<Wire = W>>(
        &self,
        g: &mut G,
        bit: usize,
    ) -> Result<(W, Vec<W>, Vec<W>), G::Error> {
        let column: Vec<W> = self.rows.iter().map(|row| row[bit].clone()).collect();
        let column = gadgets::not_bits(g, &column)?;
        let zeros = g.and_many(&self.alive, &column)?;
        let count = gadgets::popcount(g, &zeros)?;
        let is_one = gadgets::le(g, &count, &self.rank)?;
        Ok((is_one, zeros, count))
    }

    /// Goes on with the rows that have the revealed bit.
    fn follow<G: Gates<Wire = W>>(
        &mut self,
        g: &mut G,
        one: bool,
        zeros: Vec<W>,
        count: &[W],
    ) -> Result<(), G::Error> {
        if one {
            self.alive = g.xor_many(&self.alive, &zeros)?;
            self.rank = gadgets::sub(g, &self.rank, count)?;
        } else {
            self.alive = zeros;
        }
        Ok(())
    }
}

/// How many rows precede the lower median.
const fn lower_median(rows: usize) -> usize {
    rows.saturating_sub(1) / 2
}

/// The same in the clear.
pub(crate) fn reference(a: &Table, b: &Table) -> u64 {
    let mut spend: Vec<u64> = a.rows().iter().chain(b.rows()).map(Row::total).collect();
    spend.sort_unstable();
    spend.get(lower_median(spend.len())).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{cases, run_tables};
    use super::*;

    #[test]
    fn both_learn_the_median() {
        for (a, b) in cases() {
            let expected = Some(reference(&a, &b));
            assert_eq!(run_tables(&a, &b, Median), (expected, expected));
        }
    }
}
