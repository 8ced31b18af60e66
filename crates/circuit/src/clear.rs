//! Clear evaluation: the oracle every backend is compared with.

use std::convert::Infallible;

use crate::gates::Gates;
use crate::program::Program;
use crate::tape::{Deck, Operand, Tape};

/// Executes gates on plain bits. Nothing is hidden and nothing can fail.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clear;

impl Clear {
    /// The outputs of `program` on `inputs` (one vector of bits per input port, least significant
    /// bit first).
    ///
    /// # Panics
    ///
    /// When `inputs` do not fit the signature; see [`crate::Signature::check_inputs`].
    pub fn eval<P: Program>(program: &P, inputs: &[Vec<bool>]) -> Vec<Vec<bool>> {
        match program.run(&mut Self, inputs) {
            Ok(outputs) => outputs,
            Err(never) => match never {},
        }
    }
}

impl Gates for Clear {
    type Wire = bool;
    type Error = Infallible;

    fn constant(&mut self, bit: bool) -> Result<bool, Infallible> {
        Ok(bit)
    }

    fn xor(&mut self, a: &bool, b: &bool) -> Result<bool, Infallible> {
        Ok(a ^ b)
    }

    fn not(&mut self, a: &bool) -> Result<bool, Infallible> {
        Ok(!a)
    }

    fn and(&mut self, a: &bool, b: &bool) -> Result<bool, Infallible> {
        Ok(a & b)
    }

    // Written out because collecting plain values vectorises and collecting results does not.
    fn xor_many(&mut self, a: &[bool], b: &[bool]) -> Result<Vec<bool>, Infallible> {
        Ok(a.iter().zip(b).map(|(a, b)| a ^ b).collect())
    }

    fn and_many(&mut self, a: &[bool], b: &[bool]) -> Result<Vec<bool>, Infallible> {
        Ok(a.iter().zip(b).map(|(a, b)| a & b).collect())
    }

    fn play(
        &mut self,
        tape: &Tape,
        lanes: usize,
        operands: &[Operand<'_, bool>],
        out: &mut [Vec<bool>],
    ) -> Result<(), Infallible> {
        Deck::default().play(tape, lanes, operands, out);
        Ok(())
    }
}
