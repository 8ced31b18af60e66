//! The larger of two numbers: one comparison, the smallest job of all.
//!
//! **Inputs.** Each side: the spend of its best customer, in cents. **Revealed.** To both: the larger one.

use cenote_circuit::{bits_of, gadgets};
use cenote_engine::{Fault, Job, Party, Receivers, Role};

use super::number;
use crate::demo::table::Table;

/// Bits of the numbers.
const BITS: usize = 32;

/// The job; the receivers are both.
pub(crate) struct Maximum {
    /// This side's number.
    pub(crate) own: u32,
}

impl Job for Maximum {
    type Output = Option<u64>;

    fn terms(&self) -> Vec<(&'static str, String)> {
        vec![("program", "demo maximum v1".into())]
    }

    fn run<P: Party>(&self, party: &mut P) -> Result<Self::Output, Fault> {
        let own = bits_of(u128::from(self.own), BITS);
        let role = party.role();
        let of = |owner: Role| (role == owner).then_some(own.as_slice());
        let a = party.input(Role::Garbler, BITS, of(Role::Garbler))?;
        let b = party.input(Role::Evaluator, BITS, of(Role::Evaluator))?;
        let larger = gadgets::max(party, &a, &b)?;
        Ok(party.reveal(Receivers::Both, &larger)?.map(|bits| number(&bits)))
    }
}

/// The spend of a table's best customer.
pub(crate) fn best(table: &Table) -> u32 {
    table.rows().iter().map(|row| row.total() as u32).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::super::tests::run_both;
    use super::*;

    #[test]
    fn the_larger_wins() {
        for (a, b) in [(0, 0), (1, 0), (7, 8), (u32::MAX, 1), (5, u32::MAX)] {
            let outputs =
                run_both(|role| Maximum { own: if role == Role::Garbler { a } else { b } });
            let larger = Some(u64::from(a.max(b)));
            assert_eq!(outputs, (larger, larger));
        }
    }
}
