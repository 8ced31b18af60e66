//! Which ten shared customers spend most at both issuers together, by rank.
//!
//! **Inputs.** Each side: customer and total spend of each row, ascending by customer.
//! **Revealed.** To A alone: the numbers of the ten shared customers with the largest combined spend, the
//! first first; of equal spends the larger customer number counts as more. Not the spends, not how far
//! the ranks are apart, no other customer. If fewer are shared, 0 fills the list. B learns nothing.

use cenote_circuit::{Gates, bits_of, gadgets};
use cenote_engine::{Fault, Job, Party, Receivers, Role};

use super::join::{Merged, merge};
use super::total::both_ascending;
use super::{Row, Side, number, reveal_if};
use crate::demo::table::{ID_BITS, SPEND_BITS, Table};

/// Ranks that are revealed.
pub(crate) const RANKS: usize = 10;

/// Combined spend, above it nothing: room for the carry.
const COMBINED_BITS: usize = SPEND_BITS + 1;

/// The job; the receiver is A.
pub(crate) struct Top<'t>(pub(crate) Side<'t>);

impl Job for Top<'_> {
    type Output = Option<Vec<u32>>;

    fn terms(&self) -> Vec<(&'static str, String)> {
        let mut terms = self.0.terms("top-shared");
        terms.push(("ranks", RANKS.to_string()));
        terms
    }

    fn run<P: Party>(&self, party: &mut P) -> Result<Self::Output, Fault> {
        let bits = |row: &Row| {
            let mut bits = bits_of(u128::from(row.customer), ID_BITS);
            bits.extend(bits_of(u128::from(row.total()), SPEND_BITS));
            bits
        };
        let first = self.0.rows(party, Role::Garbler, ID_BITS + SPEND_BITS, bits)?;
        let second = self.0.rows(party, Role::Evaluator, ID_BITS + SPEND_BITS, bits)?;
        let sound = {
            let keys = |rows: &[Vec<P::Wire>]| -> Vec<Vec<P::Wire>> {
                rows.iter().map(|row| row[..ID_BITS].to_vec()).collect()
            };
            both_ascending(party, &keys(&first), &keys(&second))?
        };
        let merged = merge(party, &first, &second, ID_BITS)?;
        let candidates = candidates(party, &merged)?;
        drop(merged);
        let key_bits = ID_BITS + COMBINED_BITS;
        let order = gadgets::Order::Descending;
        let top = gadgets::top_k(party, &candidates, key_bits, RANKS, order)?;
        let ids: Vec<P::Wire> = top.iter().flat_map(|row| &row[..ID_BITS]).cloned().collect();
        let shown = reveal_if(party, Receivers::Garbler, &sound, &ids)?;
        Ok(shown.map(|bits| {
            let mut ranks: Vec<u32> = bits.chunks(ID_BITS).map(|id| number(id) as u32).collect();
            ranks.resize(RANKS, 0);
            ranks
        }))
    }
}

/// Customer and combined spend of each shared customer, among rows of zeros; half as many rows as
/// were merged.
fn candidates<G: Gates>(
    g: &mut G,
    merged: &Merged<G::Wire>,
) -> Result<Vec<Vec<G::Wire>>, G::Error> {
    let pairs = merged.matches(g)?;
    // Of two neighbouring pairs at most one matches, so that one row serves both.
    let mut select = |column: &[G::Wire]| -> Result<Vec<G::Wire>, G::Error> {
        let marked = g.and_many(&pairs, column)?;
        let (even, odd): (Vec<_>, Vec<_>) =
            marked.chunks(2).map(|two| (two[0].clone(), two.get(1).cloned())).unzip();
        let mut rows = Vec::with_capacity(even.len());
        for (even, odd) in even.into_iter().zip(odd) {
            rows.push(match odd {
                Some(odd) => g.xor(&even, &odd)?,
                None => even,
            });
        }
        Ok(rows)
    };
    let mut ids = Vec::with_capacity(ID_BITS);
    for bit in 0..ID_BITS {
        ids.push(select(merged.column(bit))?);
    }
    let (mut low, mut high) = (Vec::new(), Vec::new());
    for bit in ID_BITS..ID_BITS + SPEND_BITS {
        low.push(select(merged.column(bit))?);
        high.push(select(&merged.column(bit)[1..])?);
    }
    let none = g.constant(false)?;
    let row = |columns: &[Vec<G::Wire>], row: usize, room: usize| -> Vec<G::Wire> {
        let bits = columns.iter().map(|column| column[row].clone());
        bits.chain(std::iter::repeat_n(none.clone(), room)).collect()
    };
    let rows = pairs.len().div_ceil(2);
    let low: Vec<_> = (0..rows).map(|at| row(&low, at, 1)).collect();
    let high: Vec<_> = (0..rows).map(|at| row(&high, at, 1)).collect();
    let combined = gadgets::add_many(g, &low, &high)?;
    let with_id = |(at, spend)| [row(&ids, at, 0), spend].concat();
    Ok(combined.into_iter().enumerate().map(with_id).collect())
}

/// The same in the clear.
pub(crate) fn reference(a: &Table, b: &Table) -> Vec<u32> {
    let mut shared: Vec<(u64, u32)> =
        a.shared(b).map(|(x, y)| (x.total() + y.total(), x.customer)).collect();
    shared.sort_unstable_by(|x, y| y.cmp(x));
    let mut ranks: Vec<u32> =
        shared.into_iter().map(|(_, customer)| customer).take(RANKS).collect();
    ranks.resize(RANKS, 0);
    ranks
}

#[cfg(test)]
mod tests {
    use super::super::tests::{cases, disorder, refuses_disorder, run_tables};
    use super::*;

    #[test]
    fn only_a_learns_the_ranks() {
        let mut full = 0;
        for (a, b) in cases() {
            let expected = reference(&a, &b);
            full += usize::from(!expected.contains(&0));
            assert_eq!(run_tables(&a, &b, Top), (Some(expected), None));
        }
        assert!(full > 3, "some cases share ten customers");
    }

    #[test]
    fn a_table_out_of_order_is_refused() {
        refuses_disorder(Top, &disorder());
    }
}
