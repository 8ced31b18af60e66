//! The same by quarter: how many customers bought from both issuers within a quarter, and what they
//! spent in it at both together, unless they are too few.
//!
//! **Inputs.** Each side: customer, for each quarter whether it bought and its spend, ascending by
//! customer. **Revealed.** To both: the number and the sum of each quarter with at least
//! [`SMALLEST_GROUP`] customers, and of each other quarter only that it has fewer; that both lists
//! were strictly ascending. The circuit decides: a hidden number is never opened.

use cenote_circuit::{Gates, bits_of, gadgets};
use cenote_engine::{Fault, Job, Party, Receivers, Role};

use super::join::{merge, select, select_rows, total};
use super::total::{SUM_BITS, both_ascending};
use super::{Group, Row, Side, number, reveal_if};
use crate::demo::table::{ID_BITS, QUARTER_BITS, QUARTERS, Table};

/// Groups of fewer customers are not shown.
pub(crate) const SMALLEST_GROUP: u64 = 10;

/// The job; the receivers are both.
pub(crate) struct Quarters<'t>(pub(crate) Side<'t>);

impl Job for Quarters<'_> {
    type Output = Option<Vec<Option<Group>>>;

    fn terms(&self) -> Vec<(&'static str, String)> {
        let mut terms = self.0.terms("shared-by-quarter");
        terms.push(("smallest group", SMALLEST_GROUP.to_string()));
        terms
    }

    fn run<P: Party>(&self, party: &mut P) -> Result<Self::Output, Fault> {
        let mut keys = Vec::with_capacity(2);
        let mut spend = Vec::new();
        for owner in [Role::Garbler, Role::Evaluator] {
            keys.push(self.0.rows(party, owner, ID_BITS + QUARTERS, key_and_activity)?);
            spend.extend(self.0.rows(party, owner, QUARTERS * QUARTER_BITS, cents)?);
        }
        let (first, second) = (&keys[0], &keys[1]);
        let merged = merge(party, first, second, ID_BITS)?;
        let pairs = merged.matches(party)?;
        let mut outputs = Vec::new();
        for quarter in 0..QUARTERS {
            let active = merged.column(ID_BITS + quarter);
            let both = party.and_many(&active[..pairs.len()], &active[1..])?;
            let both = party.and_many(&both, &pairs)?;
            let (marks, other) = merged.home(party, &both)?;
            let count = gadgets::popcount(party, &marks)?;
            let bits = quarter * QUARTER_BITS..(quarter + 1) * QUARTER_BITS;
            let spend: Vec<Vec<P::Wire>> =
                spend.iter().map(|row| row[bits.clone()].to_vec()).collect();
            let spend = select_rows(party, &[marks, other].concat(), &spend)?;
            let sum = total(party, &spend, SUM_BITS)?;
            outputs.push(group_or_zero(party, count, sum)?);
        }
        let width = outputs.first().map_or(1, Vec::len);
        let (first, second) = (keys_of(first), keys_of(second));
        let sound = both_ascending(party, &first, &second)?;
        let shown = reveal_if(party, Receivers::Both, &sound, &outputs.concat())?;
        Ok(shown.map(|bits| bits.chunks(width).map(group).collect()))
    }
}

fn key_and_activity(row: &Row) -> Vec<bool> {
    let mut bits = bits_of(u128::from(row.customer), ID_BITS);
    bits.extend(row.cents.iter().map(|cents| *cents > 0));
    bits
}

fn cents(row: &Row) -> Vec<bool> {
    row.cents.iter().flat_map(|cents| bits_of(u128::from(*cents), QUARTER_BITS)).collect()
}

fn keys_of<W: Clone>(rows: &[Vec<W>]) -> Vec<Vec<W>> {
    rows.iter().map(|row| row[..ID_BITS].to_vec()).collect()
}

/// Whether the group is large enough, then its sum and its number, zeros if it is not.
fn group_or_zero<G: Gates>(
    g: &mut G,
    mut count: Vec<G::Wire>,
    sum: Vec<G::Wire>,
) -> Result<Vec<G::Wire>, G::Error> {
    // Room for the bound, however small the tables.
    while count.len() < 4 {
        count.push(g.constant(false)?);
    }
    let bound = bits_of(u128::from(SMALLEST_GROUP), count.len());
    let bound = gadgets::constant_bits(g, &bound)?;
    let large = gadgets::le(g, &bound, &count)?;
    let mut shown = sum;
    shown.extend(count);
    let mut shown = select(g, &large, &shown)?;
    shown.insert(0, large);
    Ok(shown)
}

fn group(bits: &[bool]) -> Option<Group> {
    let (large, rest) = bits.split_first()?;
    let (cents, customers) = rest.split_at_checked(SUM_BITS)?;
    large.then(|| Group { customers: number(customers), cents: number(cents) })
}

/// The same in the clear.
pub(crate) fn reference(a: &Table, b: &Table) -> Vec<Option<Group>> {
    let mut groups = [Group::default(); QUARTERS];
    for (x, y) in a.shared(b) {
        for ((group, x), y) in groups.iter_mut().zip(x.cents).zip(y.cents) {
            if x > 0 && y > 0 {
                group.customers += 1;
                group.cents += x + y;
            }
        }
    }
    groups.into_iter().map(|group| (group.customers >= SMALLEST_GROUP).then_some(group)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{cases, disorder, refuses_disorder, run_tables};
    use super::*;

    #[test]
    fn small_groups_are_hidden_and_others_right() {
        let (mut shown, mut hidden) = (0, 0);
        for (a, b) in cases() {
            let expected = reference(&a, &b);
            shown += expected.iter().flatten().count();
            hidden += expected.iter().filter(|group| group.is_none()).count();
            assert_eq!(run_tables(&a, &b, Quarters), (Some(expected.clone()), Some(expected)));
        }
        assert!(shown > 5 && hidden > 5, "the cases have both kinds");
    }

    #[test]
    fn the_bound_is_exact() {
        for shared in [9, 10] {
            let row = |customer| Row { customer, cents: [7, 0, 0, 0, 0, 0] };
            let a = Table::of((1..=shared).map(row).collect());
            let b = Table::of((1..=40).map(row).collect());
            let (result, _) = run_tables(&a, &b, Quarters);
            let group = (shared == 10).then_some(Group { customers: 10, cents: 140 });
            assert_eq!(result, Some(vec![group, None, None, None, None, None]));
        }
    }

    #[test]
    fn a_table_out_of_order_is_refused() {
        refuses_disorder(Quarters, &disorder());
    }
}
