//! How deep the wires of a tape are, without what is on them.

use super::{Deck, DeckCell, Op, Operand, Starts, Step, Tape};

impl Tape {
    /// Plays depths: what a linear step gives is as deep as the deepest it reads, what an AND gives is `deeper` than that. Shows `each` the steps of every
    /// run and how deep its ANDs are, appends to each of `out` its word of one lane after the other. Lanes whose inputs are as deep are as deep
    /// everywhere, so that one stands for all of them.
    ///
    /// # Errors
    /// Those of `each`, at once.
    ///
    /// # Panics
    /// When the operands do not have the wires that the tape reads.
    pub fn depths<D: DeckCell + Ord, E>(
        &self,
        lanes: usize,
        operands: &[Operand<'_, D>],
        out: &mut [Vec<D>],
        deeper: impl Fn(D) -> D,
        mut each: impl FnMut([&[Step]; 2], D) -> Result<(), E>,
    ) -> Result<(), E> {
        let (of_lane, starts) = kinds(lanes, operands);
        let operands = operands.iter().zip(&starts);
        let operands: Vec<_> = operands
            .map(|(operand, starts)| Operand { starts: Starts::Listed(starts), ..*operand })
            .collect();
        let count = of_lane.iter().max().map_or(0, |kind| kind + 1);
        let mut deck = Deck::default();
        deck.load(self, &operands, [0, count], D::default());
        for (linear, ands) in self.runs() {
            for step in linear {
                match step.reads() {
                    0 => deck.row_mut(step.out()).fill(D::default()),
                    _ => deck.zip(step.slots(), Ord::max),
                }
            }
            let mut deepest = D::default();
            for step in ands.iter().filter(|step| step.op() == Op::And) {
                deck.zip(step.slots(), |a, b| deeper(a.max(b)));
                deepest = deck.row(step.out()).iter().fold(deepest, |a, b| a.max(*b));
            }
            each([linear, ands], deepest)?;
        }
        let mut words = vec![Vec::new(); out.len()];
        deck.store(self, &mut words);
        for (out, words) in out.iter_mut().zip(&words) {
            let bits = words.len().checked_div(count).unwrap_or(0);
            of_lane.iter().for_each(|kind| out.extend_from_slice(&words[kind * bits..][..bits]));
        }
        Ok(())
    }
}

/// Most kinds of lanes that are told apart.
const MOST_KINDS: usize = 8;

/// The kind of each lane, and for each operand where the wires of the first lane of each kind begin. Lanes of one kind have the same inputs; so may those of
/// different kinds, when there are many.
fn kinds<D: Copy + Eq>(lanes: usize, operands: &[Operand<'_, D>]) -> (Vec<usize>, Vec<Vec<u32>>) {
    let (mut first, mut of_lane) = (Vec::new(), Vec::with_capacity(lanes));
    for lane in 0..lanes {
        let is_like = |first: &usize| {
            operands.iter().all(|operand| operand.lane(lane) == operand.lane(*first))
        };
        let known = first.iter().take(MOST_KINDS).position(is_like);
        of_lane.push(known.unwrap_or(first.len()));
        if known.is_none() {
            first.push(lane);
        }
    }
    let starts =
        |operand: &Operand<'_, D>| first.iter().map(|lane| operand.start(*lane) as u32).collect();
    (of_lane, operands.iter().map(starts).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gates::Gates;
    use crate::tape::{Order, TapeRecorder};

    /// Few kinds of lanes, and more than are told apart.
    #[test]
    fn every_lane_has_the_depths_of_its_own_inputs() {
        let (mut g, wires) = TapeRecorder::new(2);
        let product = g.and(&wires[0], &wires[1]).unwrap();
        let sum = g.xor(&product, &wires[0]).unwrap();
        let tape = g.finish(&[vec![sum, wires[1]], vec![product]], Order::Recorded);
        for (lanes, kinds) in [(0, 1), (1, 1), (40, 1), (40, 3), (40, 40)] {
            let depths: Vec<[u64; 2]> =
                (0..lanes).map(|lane| [lane % kinds, (lane * lane) % kinds]).collect();
            let operands = [Operand::words(depths.as_flattened(), 2)];
            let mut out = vec![Vec::new(); 2];
            let mut deepest = 0;
            let Ok(()) = tape.depths(
                lanes as usize,
                &operands,
                &mut out,
                |depth| depth + 1,
                |_, depth| {
                    deepest = depth.max(deepest);
                    Ok::<_, std::convert::Infallible>(())
                },
            );
            let below: Vec<u64> = depths.iter().map(|[a, b]| *a.max(b)).collect();
            let sums: Vec<u64> =
                depths.iter().zip(&below).flat_map(|([_, b], deep)| [deep + 1, *b]).collect();
            assert_eq!(out[0], sums);
            assert_eq!(out[1], below.iter().map(|deep| deep + 1).collect::<Vec<_>>());
            assert_eq!(deepest, below.iter().max().map_or(0, |deep| deep + 1));
        }
    }
}
