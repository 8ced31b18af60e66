//! A job of several rounds: inputs, reveals of every kind, and steps that follow what was revealed.

use cenote_circuit::{Layout, Needs, Plan};
use cenote_engine::{Fault, Job, Party, Receivers, Role};
use cenote_prim::{Block, Prg};

use super::params::WIDTH;
use crate::programs::{Kind, TestProgram};
use crate::run::{Outputs, prg_of};

/// The job, as one side runs it.
#[derive(Clone, Debug)]
pub struct Talk {
    role: Role,
    /// Inputs of both sides, in the order in which they enter.
    inputs: [Vec<bool>; 2],
    /// How often the last reveal shows each of its wires.
    times: usize,
    /// Whether it has a multiplexer.
    muxes: bool,
    /// Whether only the evaluator has inputs and outputs.
    alone: bool,
    /// The memory that it reads and writes.
    remembers: Option<Layout>,
    /// Whether the buckets of its tree rest between any two accesses, where the backend packs.
    rests: bool,
    /// Whether the memory is kept and found again, as between jobs.
    is_kept: bool,
}

/// Input bits of each side: five at first, then three.
const INPUTS: [usize; 2] = [5, 3];

impl Talk {
    /// The side `role` with inputs of the garbler and of the evaluator, eight bits each.
    ///
    /// # Panics
    /// For another number of bits.
    #[must_use]
    pub fn new(role: Role, inputs: [Vec<bool>; 2]) -> Talk {
        assert!(inputs.iter().all(|bits| bits.len() == INPUTS[0] + INPUTS[1]));
        Talk {
            role,
            inputs,
            times: 1,
            muxes: false,
            alone: false,
            remembers: None,
            rests: false,
            is_kept: false,
        }
    }

    /// With random inputs.
    #[must_use]
    pub fn random(role: Role, seed: u128) -> Talk {
        let random = Prg::new(Block::new(seed)).block().to_u128();
        let bit = |owner: usize| (0..8).map(move |i| random >> (8 * owner + i) & 1 == 1).collect();
        Talk::new(role, [bit(0), bit(1)])
    }

    /// With each wire of the last reveal so many times over.
    #[must_use]
    pub fn wide(self, times: usize) -> Talk {
        Talk { times, ..self }
    }

    /// With a multiplexer of [`WIDTH`] lanes.
    #[must_use]
    pub fn muxed(self) -> Talk {
        Talk { muxes: true, ..self }
    }

    /// Another job: four products of the evaluator's bits, for the evaluator alone. Nothing of it needs a
    /// wire in escrow.
    #[must_use]
    pub fn alone(self) -> Talk {
        Talk { alone: true, ..self }
    }

    /// Another job: accesses to a memory of three rows in a tree, at places of the evaluator's, one beyond the end among them. It
    /// opens a leaf in each of [`ACCESSES`](Talk::ACCESSES), then to both what was read. The garbler's first inputs are bits that are tossed.
    #[must_use]
    pub fn remembering(self) -> Talk {
        Talk { remembers: Some(Layout::Trees { trees: 1, factor: 1 }), ..self }
    }

    /// The same with a tree whose buckets rest between any two accesses. So some wake in each of the last [`WAKES`](Talk::WAKES) accesses.
    #[must_use]
    pub fn resting(self) -> Talk {
        Talk { rests: true, ..self.remembering() }
    }

    /// Accesses to which buckets wake: those whose evictions go where others went that rested since.
    pub const WAKES: u64 = Talk::ACCESSES - 2;

    /// With a memory that is kept after every other access and found again, as jobs do that share it: its wires are as many each time.
    #[must_use]
    pub fn keeping(self) -> Talk {
        Talk { is_kept: true, ..self }
    }

    /// The same with square-root ORAM, which opens a place in each access and shuffles before every other one. Both sides enter permutations first.
    #[must_use]
    pub fn shuffling(self) -> Talk {
        Talk { remembers: Some(Layout::SquareRoot { levels: 1, factor: 1, period: 2 }), ..self }
    }

    /// Values that such a job opens before its last.
    pub const OPENED_WITH_SHUFFLES: u64 = Talk::ACCESSES + 2;

    /// Accesses of such a job.
    pub const ACCESSES: u64 = 5;

    /// Who runs it.
    #[must_use]
    pub const fn role(&self) -> Role {
        self.role
    }

    /// The same job as the other side runs it.
    #[must_use]
    pub fn peer(&self) -> Talk {
        Talk { role: self.role.peer(), ..self.clone() }
    }

    /// The XOR of what a multiplexer chooses: every lane has a say.
    fn multiplex<P: Party>(
        &self,
        party: &mut P,
        select: &P::Wire,
        wires: &[P::Wire],
    ) -> Result<P::Wire, Fault> {
        let lanes = |step: usize| (0..WIDTH).map(move |lane| wires[step * lane % 7].clone());
        let (one, other): (Vec<_>, Vec<_>) = (lanes(1).collect(), lanes(2).collect());
        let chosen = party.mux_many(select, &one, &other)?;
        let mut sum = chosen[0].clone();
        for wire in &chosen[1..] {
            sum = party.xor(&sum, wire)?;
        }
        Ok(sum)
    }

    fn products<P: Party>(&self, party: &mut P) -> Result<Outputs, Fault> {
        let own = (self.role == Role::Evaluator).then_some(&self.inputs[1][..]);
        let y = party.input(Role::Evaluator, self.inputs[1].len(), own)?;
        let products = party.and_many(&y[..4], &y[4..])?;
        Ok(vec![party.reveal(Receivers::Evaluator, &products)?])
    }

    fn accesses<P: Party>(&self, party: &mut P, layout: Layout) -> Result<Outputs, Fault> {
        // A stash for all rows.
        let mut needs = Needs { epsilon: 8, ..Needs::new(3, 2, Talk::ACCESSES) };
        if self.rests {
            needs.most_awake = 0;
        }
        let plan = Plan::new(needs, layout);
        let input = |party: &mut P, owner: Role| {
            let bits = &self.inputs[owner as usize];
            party.input(owner, bits.len(), (owner == self.role).then_some(bits))
        };
        let places = input(party, Role::Evaluator)?;
        let plan = plan.expect("rows for a tree");
        let mut memory = party.init_ram(plan.clone(), None, prg_of(self.role, 3))?;
        let mut read = party.ram_row(&mut memory, 0)?;
        let words = input(party, Role::Garbler)?;
        for (access, (place, word)) in (2..).zip(places.chunks(2).zip(words.chunks(2))) {
            let change = |party: &mut P, row: &[P::Wire]| party.xor_many(row, word);
            read.extend(party.update_ram(&mut memory, place, change)?);
            if self.is_kept && access % 2 == 0 {
                let state = party.keep_ram("rows", memory)?;
                memory =
                    party.kept_ram("rows", plan.clone(), state, prg_of(self.role, 3 + access))?;
            }
        }
        Ok(vec![party.reveal(Receivers::Both, &read)?])
    }

    /// Both inputs number `round`.
    fn enter<P: Party>(&self, party: &mut P, round: usize) -> Result<[Vec<P::Wire>; 2], Fault> {
        let first: usize = INPUTS[..round].iter().sum();
        let mut input = |owner: Role| {
            let bits = &self.inputs[owner as usize][first..first + INPUTS[round]];
            party.input(owner, INPUTS[round], (owner == self.role).then_some(bits))
        };
        Ok([input(Role::Garbler)?, input(Role::Evaluator)?])
    }
}

impl Job for Talk {
    /// The values that each reveal gave.
    type Output = Outputs;

    fn terms(&self) -> Vec<(&'static str, String)> {
        vec![("program", "talk".into())]
    }

    fn run<P: Party>(&self, party: &mut P) -> Result<Outputs, Fault> {
        if self.alone {
            return self.products(party);
        }
        if let Some(layout) = self.remembers {
            return self.accesses(party, layout);
        }
        let small = TestProgram(Kind::Small);
        let first = self.enter(party, 0)?;
        let ands = party.exec(&small, &first)?.concat();
        let mut shown = vec![party.reveal(Receivers::Both, &ands[..5])?];
        // What both know steers what comes next.
        let known = shown[0].as_deref().unwrap_or_default();
        let turn = known.iter().fold(false, |sum, bit| sum ^ bit);
        let rest = &ands[5 + usize::from(turn)..];
        let [x, y] = self.enter(party, 1)?;
        let masked = party.xor_many(&x, &rest[..3])?;
        let mut products = party.and_many(&masked, &y)?;
        if self.muxes {
            let sum = self.multiplex(party, &ands[1], &[&first[0], &x[..]].concat())?;
            products[0] = party.xor(&products[0], &sum)?;
        }
        shown.push(party.reveal(Receivers::Garbler, &products)?);
        let negated = party.not(&products[0])?;
        let last = party.and(&negated, &rest[3])?;
        let own = party.xor(&last, &y[0])?;
        shown.push(party.reveal(Receivers::Evaluator, &[last, own.clone(), x[1].clone()])?);
        let end = party.and(&own, &products[1])?;
        let one = party.constant(true)?;
        let last = vec![[end, one, products[2].clone()]; self.times].concat();
        shown.push(party.reveal(Receivers::Both, &last)?);
        Ok(shown)
    }
}
