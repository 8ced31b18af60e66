//! A tape that is played goes into chunks gate by gate, without a handle on any wire but the outputs.

use cenote_circuit::{Op, Operand, Source, Step, Tape};

use crate::parts::chunk::{CHUNK_ANDS, CHUNK_GATES, CORE_WIDTHS, Gate, Kind, Recorder};
use crate::parts::wires::Wire;

/// A tape on some lanes, while it is recorded.
pub(crate) struct Playing<'t> {
    tape: &'t Tape,
    lanes: usize,
    /// The first of the slots for what stays inside: cell after cell, `[slot][lane]`.
    room: u32,
    /// Where the cells are that are not in the room: inputs and outputs, one by one.
    places: Vec<u32>,
    /// Which slots of the tape have all their cells in the room.
    inside: Vec<bool>,
    /// The slot of the backend that the cell of an output takes over, or [`NONE`]; empty if none does.
    targets: Vec<u32>,
}

/// No target: the output gets a slot of its own.
const NONE: u32 = u32::MAX;

/// Slots that tapes are played in, one after the other, and room for [`Playing`].
#[derive(Default)]
pub(crate) struct Room {
    first: u32,
    slots: usize,
    places: Vec<u32>,
    inside: Vec<bool>,
    targets: Vec<u32>,
}

impl<'t> Playing<'t> {
    /// Begins on `lanes` lanes from lane `first` on. `None` if an input is of another request.
    pub(crate) fn new(
        recorder: &Recorder,
        room: &mut Room,
        tape: &'t Tape,
        operands: &[Operand<'_, Wire>],
        first: usize,
        lanes: usize,
    ) -> Option<Playing<'t>> {
        let cells = tape.slots() * lanes;
        if room.slots < cells {
            // Twice as many, so that all rooms together are not much more than the last.
            let slots = cells.max(2 * room.slots);
            let first = recorder.arena.row(slots);
            *room = Room { first, slots, ..Room::default() };
        }
        let mut places = std::mem::take(&mut room.places);
        places.resize(cells, 0);
        let mut inside = std::mem::take(&mut room.inside);
        inside.clear();
        inside.resize(tape.slots(), false);
        let mut own = true;
        tape.load(operands, first, lanes, |cell, wire| {
            own &= wire.is_of(&recorder.arena);
            if let Some(cell) = cell {
                places[cell] = wire.slot() as u32;
            }
        });
        let targets = Vec::new();
        own.then_some(Playing { tape, lanes, room: room.first, places, inside, targets })
    }

    /// Its outputs go where the operands are: where nobody else has a handle on an input, the output of its number takes over its slot, if
    /// `replaces` says that it may. [`Self::finish_in_place`] ends it then.
    pub(crate) fn take_over(
        &mut self,
        recorder: &Recorder,
        room: &mut Room,
        (operands, replaces): (&[Operand<'_, Wire>], &[bool]),
        first: usize,
    ) {
        self.targets = std::mem::take(&mut room.targets);
        self.targets.resize(self.places.len(), NONE);
        let mut outputs = self.tape.output_slots().iter().zip(replaces);
        for operand in operands {
            for (bit, (slot, replaces)) in outputs.by_ref().take(operand.bits).enumerate() {
                for lane in 0..self.lanes {
                    let wire = &operand.lane(first + lane)[bit];
                    let goes_there = *replaces && recorder.arena.is_sole(wire);
                    let cell = self.cell(*slot, lane);
                    self.targets[cell] = if goes_there { wire.slot() as u32 } else { NONE };
                }
            }
        }
    }

    pub(crate) fn tape(&self) -> &'t Tape {
        self.tape
    }

    pub(crate) fn lanes(&self) -> usize {
        self.lanes
    }

    fn cell(&self, slot: u32, lane: usize) -> usize {
        slot as usize * self.lanes + lane
    }

    /// The slot of the backend where the cell of a slot and a lane is.
    fn place(&self, slot: u32, lane: usize) -> u32 {
        let cell = self.cell(slot, lane);
        if self.inside[slot as usize] { self.room + cell as u32 } else { self.places[cell] }
    }

    /// The slot of the backend for what a step gives on a lane. All lanes of a step take theirs before anything else is read there.
    fn take(&mut self, recorder: &Recorder, step: &Step, lane: usize) -> u32 {
        let cell = self.cell(step.out(), lane);
        if !step.kept() {
            return self.room + cell as u32;
        }
        self.places[cell] = match self.targets.get(cell) {
            None | Some(&NONE) => recorder.arena.slot(),
            Some(target) => *target,
        };
        self.places[cell]
    }

    /// Records a step on lanes from `lane` on, as many as the chunk has room for; returns the next lane.
    pub(crate) fn step(&mut self, recorder: &mut Recorder, step: &Step, lane: usize) -> usize {
        let kind = match step.op() {
            Op::Zero => Kind::Zero,
            Op::One => Kind::One,
            Op::Not => Kind::Not,
            Op::Xor => Kind::Xor,
            Op::And => Kind::And,
            Op::Group => return self.lanes,
        };
        let mut count = (self.lanes - lane).min(CHUNK_GATES.saturating_sub(recorder.chunk.len));
        if kind == Kind::And {
            count = count.min(CHUNK_ANDS.saturating_sub(recorder.chunk.ands));
        }
        let (a, b) = match step.op() {
            Op::Zero | Op::One => (step.out(), step.out()),
            Op::Not => (step.a(), step.a()),
            _ => (step.a(), step.b()),
        };
        let in_rows = kind != Kind::And || recorder.rows_of_ands;
        let is_row = in_rows && !step.kept() && lane + count <= usize::from(u16::MAX);
        let are_inside = step.reads() == 0 || (self.inside[a as usize] && self.inside[b as usize]);
        if is_row && are_inside {
            let [a, b, out] =
                [a, b, step.out()].map(|slot| self.room + self.cell(slot, lane) as u32);
            recorder.chunk.push(Gate { kind, n: count as u16, a, b, out });
        } else {
            for lane in lane..lane + count {
                let (a, b) = match step.reads() {
                    0 => (0, 0),
                    _ => (self.place(a, lane), self.place(b, lane)),
                };
                let out = self.take(recorder, step, lane);
                recorder.chunk.push(Gate::one(kind, a, b, out));
            }
        }
        if lane + count == self.lanes {
            self.inside[step.out() as usize] = !step.kept();
        }
        lane + count
    }

    /// Records ANDs of a group on one lane as a core; their number is one of [`CORE_WIDTHS`].
    pub(crate) fn core(&mut self, recorder: &mut Recorder, ands: &[Step], lane: usize) {
        let a = self.place(ands[0].a(), lane);
        let width = CORE_WIDTHS.iter().position(|&width| width == ands.len());
        recorder.chunk.push(Gate::one(Kind::Core, a, ands.len() as u32, a));
        recorder.chunk.cores[width.unwrap_or_else(|| unreachable!("a width of cores"))] += 1;
        for step in ands {
            self.and(recorder, step, lane);
        }
    }

    /// Records one AND on one lane.
    pub(crate) fn and(&mut self, recorder: &mut Recorder, step: &Step, lane: usize) {
        let (a, b) = (self.place(step.a(), lane), self.place(step.b(), lane));
        let out = self.take(recorder, step, lane);
        recorder.chunk.push(Gate::one(Kind::And, a, b, out));
    }

    /// All lanes of a group are recorded.
    pub(crate) fn end_group(&mut self, ands: &[Step]) {
        ands.iter().for_each(|step| self.inside[step.out() as usize] = !step.kept());
    }

    /// The words, one lane after the other; gives the room back.
    pub(crate) fn finish(
        self,
        recorder: &Recorder,
        room: &mut Room,
        operands: &[Operand<'_, Wire>],
        first: usize,
        out: &mut [Vec<Wire>],
    ) {
        let input = |number: u32, lane: usize| {
            let mut number = number as usize;
            for operand in operands {
                match number.checked_sub(operand.bits) {
                    None => return operand.lane(first + lane)[number].clone(),
                    Some(further) => number = further,
                }
            }
            unreachable!("the operands have all inputs of the tape")
        };
        // Of each output, its word and where its wires begin there.
        let mut places: Vec<(usize, usize, usize)> = Vec::with_capacity(self.tape.outputs());
        for (word, slots) in self.tape.words().enumerate() {
            let begin = out[word].len();
            places.extend((0..slots.len()).map(|bit| (word, begin + bit, slots.len())));
        }
        let mut sources = self.tape.sources();
        for (word, slots) in self.tape.words().enumerate() {
            let (own, others) = sources.split_at(slots.len());
            sources = others;
            for lane in 0..self.lanes {
                for (slot, source) in slots.iter().zip(own) {
                    let wire = match *source {
                        Source::Input(number) => input(number, lane),
                        Source::Output(before) => {
                            let (word, begin, bits) = places[before as usize];
                            out[word][begin + lane * bits].clone()
                        }
                        Source::Step => recorder.arena.handle(self.place(*slot, lane)),
                    };
                    out[word].push(wire);
                }
            }
        }
        (room.places, room.inside) = (self.places, self.inside);
    }

    /// After [`Self::take_over`]: puts the words where those of the operands were, which begin at `starts` in `wires`; gives the room back.
    pub(crate) fn finish_in_place(
        self,
        recorder: &Recorder,
        room: &mut Room,
        wires: &mut [Wire],
        starts: &[&[u32]],
        first: usize,
    ) {
        // Of each input and output, its operand and which of its bits it is.
        let words = self.tape.words().enumerate();
        let bits: Vec<(usize, usize)> =
            words.flat_map(|(word, slots)| (0..slots.len()).map(move |bit| (word, bit))).collect();
        let sources = self.tape.sources().iter().zip(self.tape.output_slots());
        for lane in 0..self.lanes {
            let at = |number: usize| {
                let (word, bit) = bits[number];
                starts[word][first + lane] as usize + bit
            };
            // Before any of them is replaced.
            let inputs = sources.clone().filter_map(|(source, _)| match *source {
                Source::Input(number) => Some(wires[at(number as usize)].clone()),
                _ => None,
            });
            let mut inputs = inputs.collect::<Vec<Wire>>().into_iter();
            for (number, (source, slot)) in sources.clone().enumerate() {
                let new = match *source {
                    Source::Input(_) => inputs.next(),
                    Source::Output(before) => Some(wires[at(before as usize)].clone()),
                    Source::Step if self.targets[self.cell(*slot, lane)] != NONE => None,
                    Source::Step => Some(recorder.arena.handle(self.place(*slot, lane))),
                };
                if let Some(new) = new {
                    wires[at(number)] = new;
                }
            }
        }
        (room.places, room.inside, room.targets) = (self.places, self.inside, self.targets);
    }
}
