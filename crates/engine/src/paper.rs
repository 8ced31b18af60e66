//! The interface of the POOL paper (figure 3) under its names, over the [`Party`](crate::Party) of
//! any backend.

use cenote_circuit::{Needs, Plan, Program};
use cenote_net::Fault;
use cenote_prim::{Prg, Receivers, Role};

use crate::memory::Memory;
use crate::party;

/// The class `Party` of POOL, figure 3. Both sides make the same calls in the same order; `garblerIn`
/// with bits and without them is one method here, whose bits the owner alone passes.
pub struct Party<'p, P: party::Party>(pub &'p mut P);

impl<P: party::Party> Party<'_, P> {
    /// `garblerIn`: `len` input bits of the garbler, who passes them.
    ///
    /// # Errors
    /// Those of [`crate::Party::input`].
    pub fn garbler_in(&mut self, b: Option<&[bool]>, len: usize) -> Result<Vec<P::Wire>, Fault> {
        self.0.input(Role::Garbler, len, b)
    }

    /// `evaluatorIn`: `len` input bits of the evaluator, who passes them.
    ///
    /// # Errors
    /// Those of [`crate::Party::input`].
    pub fn evaluator_in(&mut self, b: Option<&[bool]>, len: usize) -> Result<Vec<P::Wire>, Fault> {
        self.0.input(Role::Evaluator, len, b)
    }

    /// `garblerOut`, for any number of wires: their bits to the garbler, `None` to the evaluator.
    ///
    /// # Errors
    /// Those of [`crate::Party::reveal`].
    pub fn garbler_out(&mut self, w: &[P::Wire]) -> Result<Option<Vec<bool>>, Fault> {
        self.0.reveal(Receivers::Garbler, w)
    }

    /// `evaluatorOut`, for any number of wires: their bits to the evaluator, `None` to the garbler.
    ///
    /// # Errors
    /// Those of [`crate::Party::reveal`].
    pub fn evaluator_out(&mut self, w: &[P::Wire]) -> Result<Option<Vec<bool>>, Fault> {
        self.0.reveal(Receivers::Evaluator, w)
    }

    /// `and`.
    ///
    /// # Errors
    /// Faults of the protocol.
    pub fn and(&mut self, l: &P::Wire, r: &P::Wire) -> Result<P::Wire, Fault> {
        self.0.and(l, r)
    }

    /// `xor`.
    ///
    /// # Errors
    /// Faults of the protocol.
    pub fn xor(&mut self, l: &P::Wire, r: &P::Wire) -> Result<P::Wire, Fault> {
        self.0.xor(l, r)
    }

    /// `initRAM`: a memory of `n_blk` blocks with `sz` bits each, all zero, for 2^20 accesses and kept in the way that takes fewest ANDs.
    ///
    /// # Errors
    /// `Misuse` for no blocks or too many; those of [`crate::Party::init_ram`].
    pub fn init_ram(&mut self, n_blk: usize, sz: usize) -> Result<Memory<P::Wire>, Fault> {
        let plan = Plan::cheapest(Needs::new(n_blk, sz, 1 << 20));
        let plan = plan.ok_or_else(|| Fault::Misuse(format!("no memory has {n_blk} blocks")))?;
        self.0.init_ram(plan, None, Prg::from_os())
    }

    /// `accessRAM`: the block at the unsigned secret `index`, before `data` takes its place where the
    /// secret bit `write` is set. Beyond the end zeros are read and nothing is written.
    ///
    /// # Errors
    /// `Misuse` when `data` is not as wide as a block; those of [`crate::Party::update_ram`].
    pub fn access_ram(
        &mut self,
        mem: &mut Memory<P::Wire>,
        write: &P::Wire,
        index: &[P::Wire],
        data: &[P::Wire],
    ) -> Result<Vec<P::Wire>, Fault> {
        mem.expect_word(data)?;
        self.0.update_ram(mem, index, |party, block| party.mux_many(write, data, block))
    }

    /// `exec` of a function on wires.
    ///
    /// # Errors
    /// Those of the function.
    pub fn exec(
        &mut self,
        f: impl FnOnce(&mut P, &[P::Wire]) -> Result<Vec<P::Wire>, Fault>,
        ws: &[P::Wire],
    ) -> Result<Vec<P::Wire>, Fault> {
        f(self.0, ws)
    }

    /// `exec` of a circuit file, read by [`cenote_circuit::read_circuit`], or of any other program:
    /// `ws` are the wires of its inputs one after the other, as the result is of its outputs.
    ///
    /// # Errors
    /// `Misuse` if the program has another number of input bits; faults of the protocol.
    pub fn exec_file(&mut self, f: &impl Program, ws: &[P::Wire]) -> Result<Vec<P::Wire>, Fault> {
        let signature = f.signature();
        let (given, expected) = (ws.len(), signature.input_bits());
        if given != expected {
            return Err(Fault::Misuse(format!(
                "the program takes {expected} input bits, {given} were given"
            )));
        }
        let mut rest = ws.iter().cloned();
        let inputs = signature.inputs.iter().map(|port| rest.by_ref().take(port.bits).collect());
        let inputs: Vec<Vec<P::Wire>> = inputs.collect();
        Ok(self.0.exec(f, &inputs)?.concat())
    }
}
