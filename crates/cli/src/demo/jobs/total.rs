//! How many customers both issuers have, and what these spent at both together.
//!
//! **Inputs.** Each side: customer and total spend of each row, ascending by customer.
//! **Revealed.** To both: the number of shared customers and the sum of their spend; that both lists
//! were strictly ascending.

use cenote_circuit::{Gates, bits_of, gadgets};
use cenote_engine::{Fault, Job, Party, Receivers, Role};

use super::join::{ascending, merge, select_rows, total};
use super::{Group, Side, number, reveal_if};
use crate::demo::table::{ID_BITS, SPEND_BITS, Table};

/// Bits of a sum over all rows of both tables.
pub(super) const SUM_BITS: usize = 40;

/// The job; the receivers are both.
pub(crate) struct Total<'t>(pub(crate) Side<'t>);

impl Job for Total<'_> {
    type Output = Option<Group>;

    fn terms(&self) -> Vec<(&'static str, String)> {
        self.0.terms("shared-total")
    }

    fn run<P: Party>(&self, party: &mut P) -> Result<Option<Group>, Fault> {
        let mut keys = Vec::with_capacity(2);
        let mut spend = Vec::new();
        for owner in [Role::Garbler, Role::Evaluator] {
            let key = |row: &super::Row| bits_of(u128::from(row.customer), ID_BITS);
            keys.push(self.0.rows(party, owner, ID_BITS, key)?);
            let cents = |row: &super::Row| bits_of(u128::from(row.total()), SPEND_BITS);
            spend.extend(self.0.rows(party, owner, SPEND_BITS, cents)?);
        }
        let (first, second) = (&keys[0], &keys[1]);
        let merged = merge(party, first, second, ID_BITS)?;
        let pairs = merged.matches(party)?;
        let (marks, other) = merged.home(party, &pairs)?;
        drop(merged);
        let mut outputs = gadgets::popcount(party, &marks)?;
        let count_bits = outputs.len();
        let marks = [marks, other].concat();
        let spend = select_rows(party, &marks, &spend)?;
        outputs.extend(total(party, &spend, SUM_BITS)?);
        let sound = both_ascending(party, first, second)?;
        let shown = reveal_if(party, Receivers::Both, &sound, &outputs)?;
        Ok(shown.map(|bits| {
            let (customers, cents) = bits.split_at(count_bits);
            Group { customers: number(customers), cents: number(cents) }
        }))
    }
}

/// Whether both lists of keys are strictly ascending.
pub(super) fn both_ascending<G: Gates>(
    g: &mut G,
    first: &[Vec<G::Wire>],
    second: &[Vec<G::Wire>],
) -> Result<G::Wire, G::Error> {
    let first = ascending(g, first)?;
    let second = ascending(g, second)?;
    g.and(&first, &second)
}

/// The same in the clear.
pub(crate) fn reference(a: &Table, b: &Table) -> Group {
    let mut group = Group::default();
    for (x, y) in a.shared(b) {
        group.customers += 1;
        group.cents += x.total() + y.total();
    }
    group
}

#[cfg(test)]
mod tests {
    use super::super::tests::{cases, disorder, refuses_disorder, run_tables};
    use super::*;

    #[test]
    fn both_learn_what_the_reference_says() {
        let mut largest = 0;
        for (a, b) in cases() {
            let expected = reference(&a, &b);
            largest = largest.max(expected.customers);
            assert_eq!(run_tables(&a, &b, Total), (Some(expected), Some(expected)));
        }
        assert!(largest >= 50, "the cases share customers");
    }

    #[test]
    fn a_table_out_of_order_is_refused() {
        refuses_disorder(Total, &disorder());
    }
}
