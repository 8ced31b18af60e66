//! How deep the wires of a tape are, without what is on them.

use zeroize::Zeroize;

use super::{Deck, Op, Operand, Step, Tape};

impl Tape {
    /// Plays depths: what a linear step gives is as deep as the deepest it reads, what an AND gives is `deeper` than that. Shows `each` the steps of every
    /// run and how deep its ANDs are, appends to each of `out` its word of one lane after the other. Lanes whose inputs are as deep are as deep
    /// everywhere, so that one stands for all.
    ///
    /// # Errors
    /// Those of `each`, at once.
    ///
    /// # Panics
    /// When the operands do not have the wires that the tape reads.
    pub fn depths<D: Copy + Default + Ord + Zeroize, E>(
        &self,
        lanes: usize,
        operands: &[Operand<'_, D>],
        out: &mut [Vec<D>],
        deeper: impl Fn(D) -> D,
        mut each: impl FnMut([&[Step]; 2], D) -> Result<(), E>,
    ) -> Result<(), E> {
        let alike =
            |operand: &Operand<'_, D>| (1..lanes).all(|lane| operand.lane(lane) == operand.lane(0));
        let copies = if operands.iter().all(alike) { lanes } else { 1 };
        let mut deck = Deck::default();
        deck.load(self, operands, 0, lanes.checked_div(copies).unwrap_or(0));
        for (linear, ands) in self.runs() {
            for step in linear {
                match step.reads() {
                    0 => deck.row_mut(step.out).fill(D::default()),
                    1 => deck.zip(&Step { b: step.a, ..*step }, |a, _| a),
                    _ => deck.zip(step, Ord::max),
                }
            }
            let mut deepest = D::default();
            for step in ands.iter().filter(|step| step.op == Op::And) {
                deck.zip(step, |a, b| deeper(a.max(b)));
                deepest = deck.row(step.out).iter().fold(deepest, |a, b| a.max(*b));
            }
            each([linear, ands], deepest)?;
        }
        let mut words = vec![Vec::new(); out.len()];
        deck.store(self, &mut words);
        for (out, word) in out.iter_mut().zip(&words) {
            (0..copies).for_each(|_| out.extend_from_slice(word));
        }
        Ok(())
    }
}
