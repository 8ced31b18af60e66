//! The requests of the demonstration, each with its clear reference.
//!
//! Party A is the garbler, party B the evaluator. The number of rows of each table is public; so is
//! which request runs. Nothing else leaves but what the head of each file names.

pub(crate) mod aes;
mod join;
pub(crate) mod maximum;
pub(crate) mod median;
pub(crate) mod quarters;
pub(crate) mod top;
pub(crate) mod total;

use cenote_circuit::{Gates, value_of};
use cenote_engine::{Fault, Party, Receivers, Role};
use serde::{Deserialize, Serialize};

use super::table::{Row, Table};

/// Customers and what they spent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Group {
    /// How many.
    pub(crate) customers: u64,
    /// Their spend at both issuers.
    pub(crate) cents: u64,
}

/// The answer that a request gives its receivers.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Answer {
    /// One group.
    Total(Group),
    /// A group for each quarter; `None` where it is too small to be shown.
    Quarters(Vec<Option<Group>>),
    /// Customers by rank, the first first.
    Ranks(Vec<u32>),
    /// 128 bits in hexadecimal.
    Block(String),
    /// An amount.
    Cents(u64),
}

/// Rows of both tables, A's first: public.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Sizes {
    /// Rows of A.
    pub(crate) a: usize,
    /// Rows of B.
    pub(crate) b: usize,
}

/// This side's table, and the size of both.
#[derive(Clone, Copy)]
pub(crate) struct Side<'t> {
    /// The table of this side.
    pub(crate) own: &'t Table,
    /// The public sizes.
    pub(crate) sizes: Sizes,
}

/// Wires of one number for each row.
type Rows<P> = Vec<Vec<<P as Gates>::Wire>>;

impl Side<'_> {
    /// Returns the terms that both sides agree on for a job on the tables.
    fn terms(&self, program: &str) -> Vec<(&'static str, String)> {
        let Sizes { a, b } = self.sizes;
        vec![
            ("program", format!("demo {program} v1")),
            ("rows", format!("{a} + {b}")),
            ("periods", self.own.quarters().join(", ")),
        ]
    }

    /// Brings `width` bits of each of `owner`'s rows in.
    fn rows<P: Party>(
        &self,
        party: &mut P,
        owner: Role,
        width: usize,
        bits: impl Fn(&Row) -> Vec<bool>,
    ) -> Result<Rows<P>, Fault> {
        let rows = match owner {
            Role::Garbler => self.sizes.a,
            Role::Evaluator => self.sizes.b,
        };
        let own = (party.role() == owner)
            .then(|| self.own.rows().iter().flat_map(bits).collect::<Vec<bool>>());
        let wires = party.input(owner, rows * width, own.as_deref())?;
        Ok(wires.chunks(width).map(<[_]>::to_vec).collect())
    }
}

/// Reveals `outputs` if `sound` is set, and zeros otherwise: a peer whose table is not strictly
/// ascending obtains nothing by it.
fn reveal_if<P: Party>(
    party: &mut P,
    to: Receivers,
    sound: &P::Wire,
    outputs: &[P::Wire],
) -> Result<Option<Vec<bool>>, Fault> {
    let mut shown = join::select(party, sound, outputs)?;
    shown.push(sound.clone());
    let Some(mut bits) = party.reveal(to, &shown)? else { return Ok(None) };
    match bits.pop() {
        Some(true) => Ok(Some(bits)),
        _ => Err(Fault::Misbehaved("demo.order")),
    }
}

fn number(bits: &[bool]) -> u64 {
    value_of(bits) as u64
}

#[cfg(test)]
pub(crate) mod tests {
    //! Both sides of a job on the plain backend, against its clear reference.

    use cenote_engine::{Backend, Job, Session, SessionConfig};
    use cenote_net::{Role, mem_pair};
    use cenote_prim::{Block, Prg};

    use super::super::table::{QUARTERS, Row, Table};
    use super::*;

    /// Outputs of A and B.
    pub(crate) fn run_both<J: Job>(job: impl Fn(Role) -> J + Sync) -> (J::Output, J::Output)
    where
        J::Output: Send,
    {
        let (a, b) = try_both(job);
        (a.expect("A's run"), b.expect("B's run"))
    }

    type Tried<J> = Result<<J as Job>::Output, Fault>;

    fn try_both<J: Job>(job: impl Fn(Role) -> J + Sync) -> (Tried<J>, Tried<J>)
    where
        J::Output: Send,
    {
        let config = SessionConfig::new(Backend::Plain);
        let party = |channel, role: Role| {
            let mut session = Session::open(channel, role, &config).expect("opens");
            session.run(&job(role)).map(|outcome| outcome.output)
        };
        let (garbler, evaluator) = mem_pair();
        std::thread::scope(|scope| {
            let other = scope.spawn(|| party(evaluator, Role::Evaluator));
            (party(garbler, Role::Garbler), other.join().expect("evaluator"))
        })
    }

    /// As [`run_both`] on two tables.
    pub(crate) fn run_tables<'t, J: Job>(
        a: &'t Table,
        b: &'t Table,
        job: impl Fn(Side<'t>) -> J + Sync,
    ) -> (J::Output, J::Output)
    where
        J::Output: Send,
    {
        let sizes = Sizes { a: a.rows().len(), b: b.rows().len() };
        run_both(|role| job(Side { own: if role == Role::Garbler { a } else { b }, sizes }))
    }

    /// A table out of order makes `job` fail at A, which is honest.
    pub(crate) fn refuses_disorder<'t, J: Job>(
        job: impl Fn(Side<'t>) -> J + Sync,
        tables: &'t (Table, Table),
    ) where
        J::Output: Send,
    {
        let (a, b) = tables;
        let sizes = Sizes { a: a.rows().len(), b: b.rows().len() };
        let (of_a, _) =
            try_both(|role| job(Side { own: if role == Role::Garbler { a } else { b }, sizes }));
        assert_eq!(of_a.err(), Some(Fault::Misbehaved("demo.order")));
    }

    /// Tables of which B's is out of order.
    pub(crate) fn disorder() -> (Table, Table) {
        (random(5, 20, 30, 0), random(6, 20, 30, 0).reversed())
    }

    /// Random tables, of sizes that are and are not powers of two, with many, few and no shared
    /// customers.
    pub(crate) fn cases() -> Vec<(Table, Table)> {
        let mut cases = Vec::new();
        let mut seed = 1;
        for (a, b) in [(1, 1), (1, 9), (16, 16), (40, 33), (64, 64), (100, 120)] {
            for ids in [a.max(b) as u32, 3 * (a + b) as u32, 60_000] {
                cases.push((random(seed, a, ids, 0), random(seed + 1, b, ids, 0)));
                seed += 2;
            }
        }
        // No overlap: odd customers against even ones.
        cases.push((random(seed, 30, 30, 1), random(seed + 1, 31, 31, 2)));
        let same = random(seed + 2, 50, 50, 0);
        cases.push((same.clone(), same));
        cases
    }

    /// `rows` rows with customers from 1 to `ids`; only odd ones for `parity` 1, even ones for 2.
    fn random(seed: u128, rows: usize, ids: u32, parity: u32) -> Table {
        let mut prg = Prg::new(Block::new(seed << 8));
        let mut word = || prg.block().to_u128();
        let mut customers: Vec<u32> = Vec::new();
        while customers.len() < rows {
            let draw = (word() % u128::from(ids)) as u32;
            let customer = if parity == 0 { draw + 1 } else { 2 * draw + parity };
            if !customers.contains(&customer) {
                customers.push(customer);
            }
        }
        customers.sort_unstable();
        let row = |customer| {
            let mut cents = [0; QUARTERS];
            for cents in &mut cents {
                let draw = word();
                // Half the quarters are empty; few distinct amounts, so that spends tie.
                *cents = if draw & 1 == 0 { 0 } else { (draw >> 8) as u64 % 5 * 1000 };
            }
            Row { customer, cents }
        };
        Table::of(customers.into_iter().map(row).collect())
    }
}
