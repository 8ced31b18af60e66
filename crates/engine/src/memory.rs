//! Random access memory of a party: scans, square-root ORAM or Circuit ORAM over any backend (docs/protocols/ram.md).
//!
//! **Construction.** `cenote_circuit::Ram`, a circuit that now and then opens a leaf, on a [`Party`]: Circuit ORAM of Wang, Chan and Shi (CCS
//! 2015), as in POOL, section 5 and figure 3; or square-root ORAM of Zahur et al. (S&P 2016), which opens places, and at each shuffle a uniform order of the rows. Functionality: an array that both parties share and nobody sees.
//!
//! **Adversary, model.** Those of the backend: everything is a gate, an input or an opening to both of its reactive functionality, and
//! what is wrong with one of these is found by its checks. Nothing here adds a check of its own but the flag of overflow, and `ram.place`: that a place
//! is opened once, which matters with backends that do not cover cheating.
//!
//! **Leaves.** Both parties enter random bits, and a leaf is their XOR. Inputs are independent: a backend
//! lets nobody choose its input by the other's, so that the sum is uniform if one of the two is, and nobody knows it before it is opened. A party that enters
//! zeros, or anything else, learns and biases nothing; one that aborts does so before it knows the leaf, or after an opening
//! that shows a uniform leaf whatever is accessed.
//!
//! **Permutations.** Each party enters the control bits of a network for a permutation that it draws. Any bits give some permutation, so that one who cheats chooses its
//! own alone; the composition is uniform if one of the two is.
//!
//! **Leakage.** Places of square-root ORAM: uniform among those not opened in the same period. The leaves: uniform, and independent of all accesses. The flag that is opened with them: whether a stash overflowed, which has a
//! probability below 2^-epsilon in the life of the memory, so that all that is opened is within that distance of what anyone could
//! toss alone. Number and kind of accesses, which are the program's.
//!
//! **Parameters.** `cenote_circuit::Plan`, from the needs alone: both sides must come to the same one.
//!
//! **Private values.** Leaves before they are opened: masked by either side's input, itself hidden by the backend. Control bits of permutations: inputs, hidden by the backend, wiped once entered.
//!
//! **Costs.** `Plan::access`, `Plan::upkeep`, `Plan::start`: ANDs, openings, and bits that each party enters. Bits are tossed [`TOSSED`] at a
//! time, so that few accesses wait for inputs.
//!
//! **Differences from the paper.** In docs/protocols/ram.md.

use cenote_circuit::{Access, Broken, Draw, Gates, Plan, PutAway, Ram, Reactive, Resting, Rows};
use cenote_net::{Fault, Role};
use cenote_prim::Prg;
use zeroize::Zeroizing;

use crate::party::{Party, open_to_both, unlike};

/// A random access memory: [`Party::init_ram`].
pub struct Memory<W> {
    ram: Ram<W>,
    coins: Coins<W>,
    /// It met a fault: what it holds may be wrong, and whether it is accessed again would tell.
    is_closed: bool,
}

/// Tossed bits, ahead of their use.
pub(crate) struct Coins<W> {
    prg: Prg,
    spare: Vec<W>,
}

impl<W> Coins<W> {
    /// `prg` is this side's part of what is tossed.
    pub(crate) const fn new(prg: Prg) -> Coins<W> {
        Coins { prg, spare: Vec::new() }
    }
}

/// Bits that are tossed together, at least.
pub(crate) const TOSSED: usize = 1 << 10;

impl<W: Clone> Memory<W> {
    pub(crate) fn new<P: Party<Wire = W>>(
        party: &mut P,
        plan: Plan,
        rows: Option<Vec<Vec<W>>>,
        prg: Prg,
    ) -> Result<Memory<W>, Fault> {
        if plan.needs.is_given != rows.is_some() {
            return Err(Fault::Misuse("a plan for another beginning of the memory".into()));
        }
        let mut coins = Coins::new(prg);
        let mut machine = Machine { party, coins: &mut coins };
        let ram = match rows {
            None => Ram::empty(&mut machine, plan)?,
            Some(rows) => {
                let rows = Rows::new(rows)
                    .filter(|rows| rows.shape() == (plan.needs.blocks, plan.needs.width));
                let unlike = || Fault::Misuse("the rows are not those of the plan".into());
                Ram::of(&mut machine, plan, rows.ok_or_else(unlike)?)?
            }
        };
        Ok(Memory { ram, coins, is_closed: false })
    }

    pub(crate) fn kept<P: Party<Wire = W>>(
        party: &mut P,
        name: &str,
        plan: Plan,
        state: Vec<u8>,
        prg: Prg,
    ) -> Result<Memory<W>, Fault> {
        let mut coins = Coins::new(prg);
        let ram = Machine { party, coins: &mut coins }.kept(name, plan, state)?;
        Ok(Memory { ram, coins, is_closed: false })
    }

    pub(crate) fn keep<P: Party<Wire = W>>(
        self,
        party: &mut P,
        name: &str,
    ) -> Result<Vec<u8>, Fault> {
        let Memory { ram, mut coins, is_closed } = self;
        if is_closed {
            return Err(closed());
        }
        Machine { party, coins: &mut coins }.keep(name, ram)
    }

    /// How it is kept.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        self.ram.plan()
    }

    pub(crate) fn access<P: Party<Wire = W>>(
        &mut self,
        party: &mut P,
        index: &[W],
        access: Access<'_, W>,
    ) -> Result<Vec<W>, Fault> {
        if let Access::Write { word, .. } = access {
            self.expect_word(word)?;
        }
        self.guarded(party, |ram, machine| ram.access(machine, index, access))
    }

    pub(crate) fn update<P: Party<Wire = W>>(
        &mut self,
        party: &mut P,
        index: &[W],
        change: impl FnOnce(&mut P, &[W]) -> Result<Vec<W>, Fault>,
    ) -> Result<Vec<W>, Fault> {
        let width = self.plan().needs.width;
        self.guarded(party, |ram, machine| {
            ram.update(machine, index, |machine, row| {
                let word = change(machine.party, row)?;
                expect_width(&word, width).map(|()| word)
            })
        })
    }

    pub(crate) fn row<P: Party<Wire = W>>(
        &mut self,
        party: &mut P,
        index: usize,
    ) -> Result<Vec<W>, Fault> {
        let rows = self.plan().needs.blocks;
        if index >= rows {
            return Err(Fault::Misuse(format!("the memory has {rows} rows, none at {index}")));
        }
        self.guarded(party, |ram, machine| ram.row(machine, index))
    }

    /// Whether a word is as wide as a row.
    pub(crate) fn expect_word(&self, word: &[W]) -> Result<(), Fault> {
        expect_width(word, self.plan().needs.width)
    }

    /// Runs one step; there is none after a fault.
    fn guarded<P: Party<Wire = W>, T>(
        &mut self,
        party: &mut P,
        step: impl FnOnce(&mut Ram<W>, &mut Machine<'_, P>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        if self.is_closed {
            return Err(closed());
        }
        self.is_closed = true;
        let result = step(&mut self.ram, &mut Machine { party, coins: &mut self.coins });
        self.is_closed = result.is_err();
        result
    }
}

fn closed() -> Fault {
    Fault::Misuse("the memory met a fault and is closed".into())
}

fn expect_width<W>(word: &[W], width: usize) -> Result<(), Fault> {
    let given = word.len();
    if given == width {
        return Ok(());
    }
    Err(Fault::Misuse(format!("a row of the memory has {width} bits, the word {given}")))
}

/// A party that tosses bits as well.
pub(crate) struct Machine<'m, P: Party> {
    pub(crate) party: &'m mut P,
    pub(crate) coins: &'m mut Coins<P::Wire>,
}

impl<P: Party> Machine<'_, P> {
    /// Keeps a memory under this name; gives its state.
    pub(crate) fn keep(&mut self, name: &str, ram: Ram<P::Wire>) -> Result<Vec<u8>, Fault> {
        let PutAway { state, cells } = ram.put_away(self)?;
        self.party.keep_cells(name, cells)?;
        Ok(state)
    }

    /// The memory that is kept under this name.
    pub(crate) fn kept(
        &mut self,
        name: &str,
        plan: Plan,
        state: Vec<u8>,
    ) -> Result<Ram<P::Wire>, Fault> {
        let lengths = plan.cells(&state).ok_or_else(unlike)?;
        let cells = self.party.kept_cells(name, &lengths)?;
        Ram::found(self, plan, PutAway { state, cells })
    }
}

impl<P: Party> Gates for Machine<'_, P> {
    type Wire = P::Wire;
    type Error = Fault;
    cenote_circuit::delegate!(self => self.party);
}

impl<P: Party> Reactive for Machine<'_, P> {
    fn open(&mut self, wires: &[P::Wire]) -> Result<Vec<bool>, Fault> {
        open_to_both(self.party, wires)
    }

    fn toss(&mut self, bits: usize) -> Result<Vec<P::Wire>, Fault> {
        if self.coins.spare.len() < bits {
            let count = TOSSED.max(bits);
            let mut bytes = Zeroizing::new(vec![0; count]);
            self.coins.prg.fill_bytes(&mut bytes);
            let own: Zeroizing<Vec<bool>> =
                Zeroizing::new(bytes.iter().map(|byte| byte & 1 == 1).collect());
            let role = self.party.role();
            let mut of = |owner: Role| {
                let bits = (owner == role).then_some(own.as_slice());
                self.party.input(owner, count, bits)
            };
            let (garbler, evaluator) = (of(Role::Garbler)?, of(Role::Evaluator)?);
            self.coins.spare.extend(self.party.xor_many(&garbler, &evaluator)?);
        }
        let left = self.coins.spare.len() - bits;
        Ok(self.coins.spare.split_off(left))
    }

    fn own_inputs(
        &mut self,
        owner: Role,
        bits: usize,
        draw: &Draw<'_>,
    ) -> Result<Vec<P::Wire>, Fault> {
        if owner != self.party.role() {
            return self.party.input(owner, bits, None);
        }
        let prg = &mut self.coins.prg;
        let own = draw(&mut || prg.block().to_u128() as u64);
        self.party.input(owner, bits, Some(&own))
    }

    fn packs(&self) -> bool {
        self.party.packs()
    }

    fn rest(&mut self, wires: Vec<P::Wire>) -> Result<Resting<P::Wire>, Fault> {
        self.party.rest(wires)
    }

    fn wake(&mut self, cells: Vec<Resting<P::Wire>>) -> Result<Vec<Vec<P::Wire>>, Fault> {
        self.party.wake(cells)
    }

    fn broken(&mut self, why: Broken) -> Fault {
        match why {
            Broken::Unlike => unlike(),
            Broken::Misplaced => Fault::Misbehaved("ram.place"),
            Broken::Overflow => Fault::Overflowed(
                "the stash of a memory; what that held is lost, run the job again",
            ),
            Broken::Spent => {
                Fault::Exhausted("a memory had all the accesses that it was planned for".into())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use cenote_net::mem_pair;
    use cenote_prim::Block;

    use super::*;
    use crate::{Job, Session, SessionConfig};

    /// Opens 64 tossed bits.
    struct Toss(u128);

    impl Job for Toss {
        type Output = Vec<bool>;

        fn terms(&self) -> Vec<(&'static str, String)> {
            vec![("program", "toss".into())]
        }

        fn run<P: Party>(&self, party: &mut P) -> Result<Vec<bool>, Fault> {
            let mut coins = Coins { prg: Prg::new(Block::new(self.0)), spare: Vec::new() };
            let mut machine = Machine { party, coins: &mut coins };
            let wires = machine.toss(64)?;
            machine.open(&wires)
        }
    }

    fn tossed(seeds: [u128; 2]) -> Vec<bool> {
        let config: SessionConfig = "plain".parse().expect("a backend");
        let party = |channel, role: Role, seed: u128| {
            let mut session = Session::open(channel, role, &config)?;
            session.run(&Toss(seed)).map(|outcome| outcome.output)
        };
        let (garbler, evaluator) = mem_pair();
        let ends = std::thread::scope(|scope| {
            let other = scope.spawn(|| party(evaluator, Role::Evaluator, seeds[1]));
            (party(garbler, Role::Garbler, seeds[0]), other.join().expect("no panic"))
        });
        assert_eq!(ends.0, ends.1);
        ends.0.expect("honest")
    }

    /// One party's bits, whatever they are, do not make the sum: it is as random as the other's.
    #[test]
    fn leaves_hang_on_the_bits_of_both() {
        let [a, b, c, d] = [[1, 2], [1, 3], [4, 2], [4, 3]].map(tossed);
        let xor = |a: &[bool], b: &[bool]| a.iter().zip(b).map(|(a, b)| a ^ b).collect::<Vec<_>>();
        // Of 64 random bits, 12 to 52 are set but with a probability below 2^-20.
        for difference in [xor(&a, &b), xor(&a, &c)] {
            assert!((12..=52).contains(&difference.iter().filter(|bit| **bit).count()));
        }
        assert_eq!(xor(&a, &b), xor(&c, &d), "either party's bits enter as they are");
    }
}
