//! Tapes: gates over numbered slots, planned once and played on any number of lanes at once.
//!
//! A gadget of one shape, the body of a map or a circuit file becomes a tape: its gates in the order in which they are done, the slot of
//! every wire, and at which read a slot is free again. A machine that keeps its wires in flat arrays plays a tape over
//! `[slot][lane]` ([`Deck`]): an XOR is a loop over contiguous memory, the ANDs of a batch are all there is between two of them, and nothing is
//! allocated while it plays. Every other machine is given the same gates in the same batches ([`Tape::by_gates`]).

mod by_gates;
mod deck;
mod depths;
mod plan;
mod recorder;
mod step;

pub use deck::{BATCH, Deck, DeckCell, zip_rows};
pub use recorder::{MAX_TAPE, TapeRecorder, TapeWire, TooLong};
pub use step::{Op, Step};

use crate::gates::Gates;

/// In which order the gates of a tape are done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// As recorded, in the recorded batches: many lanes fill them, and few wires are alive.
    Recorded,
    /// All ANDs of one depth together, within windows of so many gates, which bound how many more wires are alive: for few lanes.
    Layers {
        /// Gates that are reordered together.
        window: usize,
    },
}

impl Order {
    /// For few lanes.
    pub const LAYERS: Order = Order::Layers { window: 1 << 16 };

    /// The one for so many lanes: eight fill every batch.
    #[must_use]
    pub const fn of_lanes(lanes: usize) -> Order {
        if lanes < 8 { Order::LAYERS } else { Order::Recorded }
    }
}

/// Gates over numbered slots, planned once and played on any number of lanes at once.
#[derive(Clone, Debug)]
pub struct Tape {
    /// The slot of each input, if it is read.
    inputs: Vec<Option<u32>>,
    steps: Vec<Step>,
    /// Ends of runs in `steps`: linear steps and batches of independent ANDs in turn, linear first.
    runs: Vec<u32>,
    outputs: Vec<u32>,
    /// How many outputs are in each word: all of them, in their order.
    words: Vec<usize>,
    sources: Vec<Source>,
    slots: usize,
    ands: usize,
    /// Whether ANDs stand in groups.
    has_groups: bool,
}

/// What an output is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The input of this number.
    Input(u32),
    /// What a step gives, and no output before it is.
    Step,
    /// The output of this number, which comes before it.
    Output(u32),
}

/// What a tape reads as some of its inputs: `bits` wires in a row for each lane.
#[derive(Debug)]
pub struct Operand<'w, W> {
    /// Where they are.
    pub wires: &'w [W],
    /// Wires of each lane.
    pub bits: usize,
    /// Where those of each lane begin.
    pub starts: Starts<'w>,
}

impl<W> Clone for Operand<'_, W> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<W> Copy for Operand<'_, W> {}

/// Where the wires of each lane begin.
#[derive(Clone, Copy, Debug)]
pub enum Starts<'w> {
    /// Those of the first lane, and how much further those of the next: 0 if all lanes read the same.
    Every {
        /// Of lane 0.
        first: usize,
        /// From one lane to the next.
        stride: usize,
    },
    /// One by one.
    Listed(&'w [u32]),
}

impl<'w, W> Operand<'w, W> {
    /// Words of `bits` wires one after the other, one for each lane.
    #[must_use]
    pub fn words(wires: &'w [W], bits: usize) -> Self {
        Operand { wires, bits, starts: Starts::Every { first: 0, stride: bits } }
    }

    /// The same wires for all lanes.
    #[must_use]
    pub fn same(wires: &'w [W]) -> Self {
        Operand { wires, bits: wires.len(), starts: Starts::Every { first: 0, stride: 0 } }
    }

    /// The wires of one lane.
    #[must_use]
    #[inline]
    pub fn lane(&self, lane: usize) -> &'w [W] {
        &self.wires[self.start(lane)..][..self.bits]
    }

    /// Where the wires of a lane begin.
    #[inline]
    fn start(&self, lane: usize) -> usize {
        match self.starts {
            Starts::Every { first, stride } => first + lane * stride,
            Starts::Listed(starts) => starts[lane] as usize,
        }
    }

    /// The wires of so many lanes from lane `first` on, if they are single bits one behind the other.
    fn row(&self, first: usize, lanes: usize) -> Option<&'w [W]> {
        match self.starts {
            Starts::Every { first: start, stride: 1 } if self.bits == 1 => {
                Some(&self.wires[start + first..][..lanes])
            }
            _ => None,
        }
    }
}

/// Slots times lanes that are played together: what is alive of them stays in a second-level cache, for the most part in the first.
const TOGETHER: usize = 1 << 14;

impl Tape {
    /// Inputs of one lane.
    #[must_use]
    pub fn inputs(&self) -> usize {
        self.inputs.len()
    }

    /// Outputs of one lane.
    #[must_use]
    pub fn outputs(&self) -> usize {
        self.outputs.len()
    }

    /// Slots of one lane: the most wires that are alive at once, and one for what nobody reads.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// ANDs of one lane.
    #[must_use]
    pub fn ands(&self) -> usize {
        self.ands
    }

    /// Lanes that a machine plays at a time. All machines that talk to each other cut alike.
    #[must_use]
    pub fn lanes_together(&self) -> usize {
        match TOGETHER / self.slots.max(1) {
            // Batches are filled as long as that does not take much more room.
            0..16 => (8 * TOGETHER / self.slots).clamp(1, 16),
            lanes => (lanes / 16 * 16).min(1024),
        }
    }

    /// The linear steps and the ANDs that follow them, in turn.
    pub fn runs(&self) -> impl Iterator<Item = (&[Step], &[Step])> {
        let mut start = 0;
        self.runs.chunks_exact(2).map(move |ends| {
            let (linear, ands) = (ends[0] as usize, ends[1] as usize);
            let run = (&self.steps[start..linear], &self.steps[linear..ands]);
            start = ands;
            run
        })
    }

    /// All steps.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Shows `each` every wire that the operands have for `lanes` lanes from lane `first` on, and its cell in `[slot][lane]`, if it is read.
    ///
    /// # Panics
    /// When the operands do not have the wires that the tape reads.
    #[inline]
    pub fn load<W>(
        &self,
        operands: &[Operand<'_, W>],
        first: usize,
        lanes: usize,
        mut each: impl FnMut(Option<usize>, &W),
    ) {
        for (slots, operand) in self.operands(operands) {
            for lane in 0..lanes {
                for (slot, wire) in slots.iter().zip(operand.lane(first + lane)) {
                    each(slot.map(|slot| slot as usize * lanes + lane), wire);
                }
            }
        }
    }

    /// The operands, and the slots of their wires of a lane, as far as these are read.
    fn operands<'o, W>(
        &self,
        operands: &'o [Operand<'o, W>],
    ) -> impl Iterator<Item = (&[Option<u32>], &'o Operand<'o, W>)> {
        let mut inputs = self.inputs.as_slice();
        operands.iter().map(move |operand| {
            let (slots, others) = inputs.split_at(operand.bits);
            inputs = others;
            (slots, operand)
        })
    }

    /// The slot of each input, if it is read.
    #[must_use]
    pub fn input_slots(&self) -> &[Option<u32>] {
        &self.inputs
    }

    /// The slot of each output.
    #[must_use]
    pub fn output_slots(&self) -> &[u32] {
        &self.outputs
    }

    /// The slots of each word of outputs.
    pub fn words(&self) -> impl ExactSizeIterator<Item = &[u32]> {
        let mut slots = self.outputs.as_slice();
        self.words.iter().map(move |bits| {
            let (word, others) = slots.split_at(*bits);
            slots = others;
            word
        })
    }

    /// Whether no two of the words that begin at `starts` overlap, as those of a tape that is played in place may not.
    #[must_use]
    pub fn are_apart(&self, starts: &[&[u32]]) -> bool {
        let words = starts.iter().zip(&self.words);
        let mut ranges: Vec<(usize, usize)> = words
            .flat_map(|(starts, bits)| starts.iter().map(|start| (*start as usize, *bits)))
            .filter(|(_, bits)| *bits > 0)
            .collect();
        ranges.sort_unstable();
        ranges.windows(2).all(|two| two[0].0 + two[0].1 <= two[1].0)
    }

    /// The operands of a tape that is played in place.
    ///
    /// # Panics
    /// When inputs and outputs differ in number, or operands in lanes.
    pub fn operands_in_place<'w, W>(
        &self,
        wires: &'w [W],
        starts: &[&'w [u32]],
    ) -> Vec<Operand<'w, W>> {
        assert!(starts.len() == self.words.len() && self.outputs() == self.inputs(), "in place");
        assert!(starts.windows(2).all(|two| two[0].len() == two[1].len()), "lanes of operands");
        let operand = |(starts, bits): (&&'w [u32], &usize)| Operand {
            wires,
            bits: *bits,
            starts: Starts::Listed(starts),
        };
        starts.iter().zip(&self.words).map(operand).collect()
    }

    /// Of each output, whether it may be put where the input of its number was: a step gives it, and no later one reads that
    /// input, nor is that input an output.
    #[must_use]
    pub fn replaces_input(&self) -> Vec<bool> {
        let mut input_of = vec![None; self.slots + 1];
        let mut last_read: Vec<usize> = Vec::with_capacity(self.inputs());
        for (number, slot) in self.inputs.iter().enumerate() {
            slot.iter().for_each(|slot| input_of[*slot as usize] = Some(number));
            last_read.push(if slot.is_some() { usize::MAX } else { 0 });
        }
        let mut given = vec![0; self.slots + 1];
        for (position, step) in self.steps.iter().enumerate() {
            let reads = [(step.a(), step.last_a()), (step.b(), step.last_b())];
            for (slot, _) in reads.into_iter().take(step.reads()).filter(|(_, is_last)| *is_last) {
                if let Some(input) = input_of[slot as usize].take() {
                    last_read[input] = position;
                }
            }
            if step.kept() {
                given[step.out() as usize] = position;
            }
        }
        let outputs = self.outputs.iter().zip(&self.sources).zip(last_read);
        let replaces = outputs.map(|((slot, source), last_read)| {
            *source == Source::Step && last_read <= given[*slot as usize]
        });
        replaces.collect()
    }

    /// What each output is.
    #[must_use]
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// Plays it on `lanes` lanes of `g`: of each word of outputs, that of one lane after the other.
    ///
    /// # Errors
    /// Those of the machine.
    ///
    /// # Panics
    /// When the operands do not have the wires that it reads.
    pub fn play<G: Gates + ?Sized>(
        &self,
        g: &mut G,
        lanes: usize,
        operands: &[Operand<'_, G::Wire>],
    ) -> Result<Vec<Vec<G::Wire>>, G::Error> {
        let given: usize = operands.iter().map(|operand| operand.bits).sum();
        assert_eq!(given, self.inputs(), "the inputs of a tape");
        let mut out: Vec<_> =
            self.words.iter().map(|bits| Vec::with_capacity(lanes * bits)).collect();
        g.play(self, lanes, operands, &mut out)?;
        Ok(out)
    }
}

/// Groups of at most `together` of so many lanes: where each begins, and how many it has.
pub fn lane_groups(lanes: usize, together: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..lanes).step_by(together).map(move |first| (first, together.min(lanes - first)))
}
