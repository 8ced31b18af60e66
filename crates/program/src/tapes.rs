//! Tapes of word operations and of rounds of loops, each recorded once in a run.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use cenote_circuit::{Order, Tape, TapeRecorder, TapeWire, TooLong};

use crate::fold::{Fold, Folded};
use crate::op::{Affine, Block, ValueId, WordOp};

/// What is known of each bit of an operand, in all lanes alike.
pub(crate) type Pattern = Vec<Folded<()>>;

/// An operation on words of which so much is known, as a tape of its other bits.
pub(crate) struct Gadget {
    pub(crate) tape: Tape,
    /// Of each result, what is known and which bits the tape gives, in their order.
    pub(crate) results: Vec<Pattern>,
}

impl Gadget {
    /// Records what `body` does with operands of these patterns; constants are folded.
    pub(crate) fn record(
        order: Order,
        operands: &[Pattern],
        body: impl FnOnce(
            &mut Fold<'_, '_, TapeWire, TooLong>,
            &[Vec<Folded<TapeWire>>],
        ) -> Result<Vec<Vec<Folded<TapeWire>>>, TooLong>,
    ) -> Result<Gadget, TooLong> {
        let wire = |bit: &&Folded<()>| matches!(bit, Folded::Wire(()));
        let (mut recorder, inputs) =
            TapeRecorder::new(operands.iter().flatten().filter(wire).count());
        let mut inputs = inputs.into_iter();
        let mut bit = |bit: &Folded<()>| match bit {
            Folded::Known(bit) => Folded::Known(*bit),
            Folded::Wire(()) => inputs.next().map_or(Folded::Known(false), Folded::Wire),
        };
        let operands: Vec<Vec<_>> =
            operands.iter().map(|operand| operand.iter().map(&mut bit).collect()).collect();
        let results = body(&mut Fold::new(&mut recorder), &operands)?;
        let wires = |bits: &Vec<Folded<TapeWire>>| bits.iter().filter_map(Folded::wire).collect();
        let outputs: Vec<Vec<TapeWire>> = results.iter().map(wires).collect();
        let pattern = |bit: &Folded<TapeWire>| match bit {
            Folded::Known(bit) => Folded::Known(*bit),
            Folded::Wire(_) => Folded::Wire(()),
        };
        let results = results.iter().map(|bits| bits.iter().map(pattern).collect()).collect();
        Ok(Gadget { tape: recorder.finish(&outputs, order), results })
    }
}

/// The rounds of a loop as a tape.
pub(crate) struct Rounds {
    pub(crate) tape: Tape,
    pub(crate) lanes: usize,
    pub(crate) reads: Vec<Input>,
    /// The words that it writes: into which value, and where.
    pub(crate) writes: Vec<(usize, Option<Place>)>,
}

/// Words that it reads: of which value, where, how many wires of each lane, and how far apart those of two lanes are.
pub(crate) struct Input {
    pub(crate) of: Source,
    pub(crate) place: Place,
    pub(crate) bits: usize,
    pub(crate) stride: usize,
}

/// Where a round reads.
#[derive(Clone, Copy)]
pub(crate) enum Source {
    /// A value that goes on from round to round.
    Carried(usize),
    /// A value of the blocks around, wires alone.
    Around(ValueId),
    /// What is in its place where something of that is known.
    Known(usize),
}

/// The first bit of words of so many bits.
pub(crate) struct Place(pub(crate) Affine, pub(crate) usize);

impl Place {
    pub(crate) fn bit(&self, counters: &[u32]) -> usize {
        self.0.position(counters) * self.1
    }
}

/// What a gadget is recorded of.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    op: WordOp,
    order: Order,
    operands: Vec<Pattern>,
}

/// What a run remembers of a gadget.
enum Known {
    /// It was run once, gate by gate.
    Once,
    /// It is too long for a tape.
    TooLong,
    Gadget(Rc<Gadget>),
}

/// The gadgets of a run, and the rounds of its loops.
#[derive(Default)]
pub(crate) struct Tapes(RefCell<Remembered>);

#[derive(Default)]
struct Remembered {
    gadgets: HashMap<Key, Known>,
    /// By where their bodies are, which stay there as long as a module runs; none of those that are no tape.
    rounds: HashMap<*const Block, Option<Rc<Rounds>>>,
    /// What all of them count, and bits of what they are recorded of.
    steps: usize,
}

/// Steps of all that a run remembers, 32 MB: more than programs have, and not what a hostile one makes of them.
const REMEMBERED: usize = 1 << 21;

/// What a tape counts: an input or output takes about as much as a step.
fn room(tape: &Tape) -> usize {
    1 + tape.steps().len() + tape.inputs() + tape.outputs()
}

impl Tapes {
    /// The gadget of `op` on operands of these patterns. It is recorded when it is asked for `at_once` or the second time; until
    /// then there is none, nor if it is too long for a tape.
    pub(crate) fn of(
        &self,
        op: WordOp,
        order: Order,
        operands: Vec<Pattern>,
        at_once: bool,
        record: impl FnOnce(&[Pattern]) -> Result<Gadget, TooLong>,
    ) -> Option<Rc<Gadget>> {
        let mut tapes = self.0.borrow_mut();
        let key = Key { op, order, operands };
        match tapes.gadgets.get(&key) {
            Some(Known::Gadget(gadget)) => return Some(Rc::clone(gadget)),
            Some(Known::TooLong) => return None,
            None if !at_once => {
                tapes.remember(key, Known::Once, 1);
                return None;
            }
            Some(Known::Once) | None => {}
        }
        let gadget = record(&key.operands).ok().map(Rc::new);
        let steps = gadget.as_ref().map_or(1, |gadget| room(&gadget.tape));
        tapes.remember(key, gadget.clone().map_or(Known::TooLong, Known::Gadget), steps);
        gadget
    }
}

impl Tapes {
    /// What is remembered of the rounds of a loop.
    pub(crate) fn rounds(&self, body: &Block) -> Option<Option<Rc<Rounds>>> {
        self.0.borrow().rounds.get(&std::ptr::from_ref(body)).cloned()
    }

    pub(crate) fn remember_rounds(&self, body: &Block, rounds: Option<&Rc<Rounds>>) {
        let steps = rounds.map_or(1, |rounds| room(&rounds.tape));
        let mut tapes = self.0.borrow_mut();
        if tapes.has_room(steps) {
            tapes.rounds.insert(body, rounds.cloned());
        }
    }
}

impl Remembered {
    /// Takes note of so many steps; forgets what there is if they are too many with it.
    fn has_room(&mut self, steps: usize) -> bool {
        if self.steps + steps > REMEMBERED {
            *self = Remembered::default();
        }
        let has_room = steps <= REMEMBERED;
        self.steps += if has_room { steps } else { 0 };
        has_room
    }

    fn remember(&mut self, key: Key, known: Known, steps: usize) {
        let steps = steps + key.operands.iter().map(Vec::len).sum::<usize>();
        if self.has_room(steps) {
            self.gadgets.insert(key, known);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A round may give its input many times over: what that takes is bounded as well.
    #[test]
    fn rounds_without_steps_count_what_they_give() {
        let (recorder, wires) = TapeRecorder::new(1);
        let rounds = |outputs| {
            let tape = recorder.finish(&[vec![wires[0]; outputs]], Order::Recorded);
            assert!(tape.steps().is_empty());
            Rc::new(Rounds { tape, lanes: 1, reads: Vec::new(), writes: Vec::new() })
        };
        let (tapes, bodies) = (Tapes::default(), [Block::default(), Block::default()]);
        let known = |body: usize| tapes.rounds(&bodies[body]).is_some();
        tapes.remember_rounds(&bodies[0], Some(&rounds(REMEMBERED)));
        assert!(!known(0), "more than all that is remembered");
        let half = rounds(REMEMBERED / 2);
        tapes.remember_rounds(&bodies[0], Some(&half));
        assert!(known(0));
        tapes.remember_rounds(&bodies[1], Some(&half));
        assert!(known(1) && !known(0), "one beside the other is too many");
    }
}
