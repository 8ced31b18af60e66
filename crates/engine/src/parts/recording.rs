//! A party that records gates and has them done a chunk at a time: all that such backends have in common.
//! What a chunk, an input and an opening mean over slots is the backend's, its [`Executor`].

use cenote_circuit::{Gates, Op, Operand, Resting, Step, Tape, lane_groups, runs};
use cenote_net::{Fault, Role};
use cenote_prim::Secret;

use crate::parts::chunk::{Chunk, Kind, Recorder};
use crate::parts::playing::{Playing, Room};
use crate::parts::wires::Wire;
use crate::party::{Checked, Party, Receivers, cut, expect_input, unlike};

/// How many wires there are, and what an executor has of them.
pub(crate) type PackedWires = (usize, Secret<Vec<u8>>);

/// An input in pieces of at most `most` bits: slots and, for the owner, their bits.
pub(crate) fn pieces<'i>(
    slots: &'i [usize],
    bits: &'i [bool],
    most: usize,
) -> impl Iterator<Item = (&'i [usize], &'i [bool])> {
    let bits = bits.chunks(most).chain(std::iter::repeat(&[][..]));
    slots.chunks(most).zip(bits)
}

/// A backend's part of one request: it keeps the data of wires by slot.
pub trait Executor {
    /// Whether it takes rows of ANDs as one gate; otherwise each is a gate of its own.
    const ROWS_OF_ANDS: bool = false;

    /// This side's role.
    fn role(&self) -> Role;

    /// Ends the session for the peer as well; returns the fault to report.
    fn fail(&mut self, fault: Fault) -> Fault;

    /// Numbers of ANDs with one operand in common for which there is a better way than one by one: a core. The widest
    /// first.
    fn core_widths(&self) -> Vec<usize> {
        Vec::new()
    }

    /// Makes room for `slots` slots. What they hold stays.
    fn resize(&mut self, slots: usize);

    /// Does a chunk; its checks may be deferred.
    fn chunk(&mut self, chunk: Chunk) -> Result<(), Fault>;

    /// Brings every slot up to date, inputs too, with every deferred check.
    fn settle(&mut self) -> Result<(), Fault>;

    /// Brings inputs of `owner` into `slots`, by the next chunk or when all is settled; the owner has `bits`. Gates may be in flight that
    /// write what was in them.
    fn input(&mut self, owner: Role, slots: &[usize], bits: &[bool]) -> Result<(), Fault>;

    /// Opens `slots`, all settled.
    fn open(&mut self, to: Receivers, slots: &[usize]) -> Result<Option<Vec<bool>>, Fault>;

    /// Keeps what it has of `slots`, all settled, under `name`.
    fn keep(&mut self, name: &str, slots: &[usize]) -> Result<(), Fault>;

    /// How many wires are kept under `name`.
    fn kept(&self, name: &str) -> Result<usize, Fault>;

    /// Whether wires at rest are packed: otherwise none of what follows is called.
    const PACKS: bool = false;

    /// What it has of `slots`, all settled, in fewer bytes.
    ///
    /// # Panics
    /// If it does not pack.
    fn pack(&self, _slots: &[usize]) -> Secret<Vec<u8>> {
        unreachable!("it packs nothing")
    }

    /// Puts what was packed into the slots beside it; nothing is in flight.
    fn unpack(&mut self, _cells: &[(Secret<Vec<u8>>, Vec<usize>)]) -> Result<(), Fault> {
        Err(unlike())
    }

    /// Keeps so many packed wires under `name`, as [`Self::keep`] does.
    fn keep_packed(
        &mut self,
        _name: &str,
        _wires: usize,
        _cells: Vec<Secret<Vec<u8>>>,
    ) -> Result<(), Fault> {
        Err(unlike())
    }

    /// What is kept under `name`, packed, cell by cell.
    fn kept_packed(&self, _name: &str) -> Result<Vec<PackedWires>, Fault> {
        Err(unlike())
    }

    /// Puts what it keeps under each name into the slots beside it, one for each wire kept; nothing is in flight.
    fn restore(&mut self, kept: &[(&str, Vec<usize>)]) -> Result<(), Fault>;
}

/// One party of one request.
pub struct Recording<E> {
    pub(crate) executor: E,
    recorder: Recorder,
    room: Room,
    /// A call failed: nothing may follow.
    faulted: bool,
}

impl<E: Executor> Recording<E> {
    /// A party that refuses everything if it has `faulted` before it begins.
    pub(crate) fn new(executor: E, faulted: bool) -> Recording<E> {
        Recording {
            executor,
            recorder: Recorder::new(E::ROWS_OF_ANDS),
            room: Room::default(),
            faulted,
        }
    }

    /// Runs one step; a fault ends the session for the peer as well.
    fn guarded<T>(&mut self, step: impl FnOnce(&mut Self) -> Result<T, Fault>) -> Result<T, Fault> {
        if self.faulted {
            return Err(session_failed());
        }
        step(self).map_err(|fault| {
            self.faulted = true;
            self.executor.fail(fault)
        })
    }

    #[inline]
    fn gate(&mut self, kind: Kind, a: &Wire, b: &Wire) -> Result<Wire, Fault> {
        self.make_room()?;
        match self.recorder.push(kind, a, b) {
            Some(wire) => Ok(wire),
            None => self.guarded(|_| Err(foreign_wire())),
        }
    }

    /// Gates of one kind, on one pair after the other.
    fn gates<'w>(
        &mut self,
        kind: Kind,
        mut pairs: impl ExactSizeIterator<Item = (&'w Wire, &'w Wire)>,
        out: &mut Vec<Wire>,
    ) -> Result<(), Fault> {
        while pairs.len() > 0 {
            self.make_room()?;
            if self.recorder.push_many(kind, &mut pairs, out).is_none() {
                return self.guarded(|_| Err(foreign_wire()));
            }
        }
        Ok(())
    }

    /// Begins a tape on `count` lanes from lane `first` on.
    fn begin<'t>(
        &mut self,
        tape: &'t Tape,
        operands: &[Operand<'_, Wire>],
        (first, count): (usize, usize),
    ) -> Result<Playing<'t>, Fault> {
        let Recording { recorder, room, .. } = self;
        let playing = Playing::new(recorder, room, tape, operands, first, count);
        playing.map_or_else(|| self.guarded(|_| Err(foreign_wire())), Ok)
    }

    /// All steps of its tape.
    fn play_all(&mut self, playing: &mut Playing<'_>, widths: &[usize]) -> Result<(), Fault> {
        for (linear, mut ands) in playing.tape().runs() {
            for step in linear {
                self.play_step(playing, step)?;
            }
            while let Some((step, others)) = ands.split_first() {
                ands = others;
                if step.op() == Op::Group {
                    let (group, others) = others.split_at(step.b() as usize);
                    self.play_group(playing, group, widths)?;
                    ands = others;
                } else {
                    self.play_step(playing, step)?;
                }
            }
        }
        Ok(())
    }

    /// A step of a tape on all of its lanes.
    fn play_step(&mut self, playing: &mut Playing<'_>, step: &Step) -> Result<(), Fault> {
        let mut lane = 0;
        while lane < playing.lanes() {
            self.make_room()?;
            lane = playing.step(&mut self.recorder, step, lane);
        }
        Ok(())
    }

    /// ANDs that share an operand on all lanes, by cores where there are any.
    fn play_group(
        &mut self,
        playing: &mut Playing<'_>,
        ands: &[Step],
        widths: &[usize],
    ) -> Result<(), Fault> {
        for lane in 0..playing.lanes() {
            let mut rest = ands;
            for &width in widths {
                while let Some((core, others)) = rest.split_at_checked(width) {
                    self.make_room()?;
                    playing.core(&mut self.recorder, core, lane);
                    rest = others;
                }
            }
            for step in rest {
                self.make_room()?;
                playing.and(&mut self.recorder, step, lane);
            }
        }
        playing.end_group(ands);
        Ok(())
    }

    /// Flushes a full chunk: a gate is about to be recorded.
    #[inline]
    fn make_room(&mut self) -> Result<(), Fault> {
        if self.faulted {
            return Err(session_failed());
        }
        if self.recorder.is_full() { self.guarded(Self::flush) } else { Ok(()) }
    }

    /// Has done what is recorded, if anything is.
    fn flush(&mut self) -> Result<(), Fault> {
        if self.recorder.is_empty() {
            return Ok(());
        }
        let chunk = self.recorder.take();
        self.executor.resize(self.recorder.slots_used());
        self.executor.chunk(chunk)
    }

    /// Brings every wire up to date, all checks done.
    fn drain(&mut self) -> Result<(), Fault> {
        self.flush()?;
        self.executor.settle()
    }

    /// These wires, packed; all is settled.
    fn packed(&self, wires: &[Wire]) -> Result<Resting<Wire>, Fault> {
        let slots = self.recorder.slots(wires).ok_or_else(foreign_wire)?;
        Ok(Resting::Packed { wires: wires.len(), bytes: self.executor.pack(&slots) })
    }

    /// Wires whose data the executor is to put into their slots.
    fn fresh(&mut self, n: usize) -> (Vec<Wire>, Vec<usize>) {
        let wires = self.recorder.wires(n);
        self.executor.resize(self.recorder.slots_used());
        let slots = wires.iter().map(Wire::slot).collect();
        (wires, slots)
    }
}

fn foreign_wire() -> Fault {
    Fault::Misuse("a wire of another request".into())
}

fn session_failed() -> Fault {
    Fault::Misuse("the session has failed".into())
}

impl<E: Executor> Gates for Recording<E> {
    type Wire = Wire;
    type Error = Fault;

    fn constant(&mut self, bit: bool) -> Result<Wire, Fault> {
        self.make_room()?;
        Ok(self.recorder.constant(bit))
    }

    #[inline]
    fn xor(&mut self, a: &Wire, b: &Wire) -> Result<Wire, Fault> {
        self.gate(Kind::Xor, a, b)
    }

    #[inline]
    fn not(&mut self, a: &Wire) -> Result<Wire, Fault> {
        self.gate(Kind::Not, a, a)
    }

    #[inline]
    fn and(&mut self, a: &Wire, b: &Wire) -> Result<Wire, Fault> {
        self.gate(Kind::And, a, b)
    }

    fn xor_many(&mut self, a: &[Wire], b: &[Wire]) -> Result<Vec<Wire>, Fault> {
        let mut out = Vec::with_capacity(a.len());
        self.gates(Kind::Xor, a.iter().zip(b), &mut out)?;
        Ok(out)
    }

    fn and_many(&mut self, a: &[Wire], b: &[Wire]) -> Result<Vec<Wire>, Fault> {
        let mut out = Vec::with_capacity(a.len());
        self.gates(Kind::And, a.iter().zip(b), &mut out)?;
        Ok(out)
    }

    fn and_groups(&mut self, selects: &[Wire], bits: &[Wire]) -> Result<Vec<Wire>, Fault> {
        let widths = self.executor.core_widths();
        let mut out = Vec::with_capacity(bits.len());
        for (select, mut rest) in runs(selects, bits) {
            for &width in &widths {
                while let Some((lanes, others)) = rest.split_at_checked(width) {
                    self.make_room()?;
                    let wires = self.recorder.push_core(select, lanes);
                    out.extend(wires.map_or_else(|| self.guarded(|_| Err(foreign_wire())), Ok)?);
                    rest = others;
                }
            }
            self.gates(Kind::And, rest.iter().map(|lane| (select, lane)), &mut out)?;
        }
        Ok(out)
    }

    fn play(
        &mut self,
        tape: &Tape,
        lanes: usize,
        operands: &[Operand<'_, Wire>],
        out: &mut [Vec<Wire>],
    ) -> Result<(), Fault> {
        let widths = self.executor.core_widths();
        for (first, count) in lane_groups(lanes, tape.lanes_together()) {
            let mut playing = self.begin(tape, operands, (first, count))?;
            self.play_all(&mut playing, &widths)?;
            playing.finish(&self.recorder, &mut self.room, operands, first, out);
        }
        Ok(())
    }

    fn play_in_place(
        &mut self,
        tape: &Tape,
        wires: &mut [Wire],
        starts: &[&[u32]],
    ) -> Result<(), Fault> {
        // A slot that is taken over may not be another lane's.
        debug_assert!(tape.are_apart(starts), "words that overlap");
        let (widths, replaces) = (self.executor.core_widths(), tape.replaces_input());
        let lanes = starts.first().map_or(0, |starts| starts.len());
        for (first, count) in lane_groups(lanes, tape.lanes_together()) {
            let operands = tape.operands_in_place(wires, starts);
            let mut playing = self.begin(tape, &operands, (first, count))?;
            let inputs = (&operands[..], &replaces[..]);
            playing.take_over(&self.recorder, &mut self.room, inputs, first);
            self.play_all(&mut playing, &widths)?;
            playing.finish_in_place(&self.recorder, &mut self.room, wires, starts, first);
        }
        Ok(())
    }
}

impl<E: Executor> Party for Recording<E> {
    type Checked<'p>
        = Settled<'p, E>
    where
        Self: 'p;

    fn role(&self) -> Role {
        self.executor.role()
    }

    fn input(
        &mut self,
        owner: Role,
        len: usize,
        bits: Option<&[bool]>,
    ) -> Result<Vec<Wire>, Fault> {
        let own = expect_input(self.role(), owner, len, bits)?;
        self.guarded(|party| {
            party.flush()?;
            let (wires, slots) = party.fresh(len);
            party.executor.input(owner, &slots, own)?;
            Ok(wires)
        })
    }

    fn check(&mut self) -> Result<Settled<'_, E>, Fault> {
        self.guarded(Self::drain)?;
        Ok(Settled(self))
    }

    fn keep(&mut self, name: &str, wires: &[Wire]) -> Result<(), Fault> {
        self.check()?.0.guarded(|party| {
            let slots = party.recorder.slots(wires).ok_or_else(foreign_wire)?;
            party.executor.keep(name, &slots)
        })
    }

    fn packs(&self) -> bool {
        E::PACKS
    }

    fn rest(&mut self, wires: Vec<Wire>) -> Result<Resting<Wire>, Fault> {
        if !E::PACKS {
            return Ok(Resting::Wires(wires));
        }
        // Sends nothing where nothing was recorded since the last checks.
        self.check()?.0.guarded(|party| party.packed(&wires))
    }

    fn wake(&mut self, cells: Vec<Resting<Wire>>) -> Result<Vec<Vec<Wire>>, Fault> {
        if cells.iter().all(|cell| matches!(cell, Resting::Wires(_))) {
            return Ok(cells.into_iter().filter_map(Resting::into_wires).collect());
        }
        // A slot may be free and still be written by a gate in flight.
        self.check()?.0.guarded(|party| {
            let (mut awake, mut packed) = (Vec::with_capacity(cells.len()), Vec::new());
            for cell in cells {
                awake.push(match cell {
                    Resting::Wires(wires) => wires,
                    Resting::Packed { wires, bytes } => {
                        let (wires, slots) = party.fresh(wires);
                        packed.push((bytes, slots));
                        wires
                    }
                });
            }
            party.executor.unpack(&packed).map(|()| awake)
        })
    }

    fn keep_cells(&mut self, name: &str, cells: Vec<Resting<Wire>>) -> Result<(), Fault> {
        if !E::PACKS {
            let wires: Vec<Vec<Wire>> = self.wake(cells)?;
            return self.keep(name, &wires.concat());
        }
        self.check()?.0.guarded(|party| {
            let wires = cells.iter().map(Resting::wires).sum();
            let mut packed = Vec::with_capacity(cells.len());
            for cell in cells {
                let cell = match cell {
                    Resting::Wires(wires) => party.packed(&wires)?,
                    cell @ Resting::Packed { .. } => cell,
                };
                packed.extend(match cell {
                    Resting::Packed { bytes, .. } => Some(bytes),
                    Resting::Wires(_) => None,
                });
            }
            party.executor.keep_packed(name, wires, packed)
        })
    }

    fn kept_cells(&mut self, name: &str, lengths: &[usize]) -> Result<Vec<Resting<Wire>>, Fault> {
        if !E::PACKS {
            return cut(&self.kept(name)?, lengths);
        }
        self.guarded(|party| {
            let cells = party.executor.kept_packed(name)?;
            if !cells.iter().map(|(wires, _)| wires).eq(lengths) {
                return Err(unlike());
            }
            let cells = cells.into_iter();
            Ok(cells.map(|(wires, bytes)| Resting::Packed { wires, bytes }).collect())
        })
    }

    fn kept_all(&mut self, names: &[&str]) -> Result<Vec<Vec<Wire>>, Fault> {
        // A slot may be free and still be written by a gate in flight.
        self.check()?.0.guarded(|party| {
            let (mut all, mut kept) = (Vec::new(), Vec::new());
            for name in names {
                let (wires, slots) = party.fresh(party.executor.kept(name)?);
                all.push(wires);
                kept.push((*name, slots));
            }
            party.executor.restore(&kept).map(|()| all)
        })
    }
}

/// A party whose deferred checks all ran, with nothing recorded since.
pub struct Settled<'p, E>(&'p mut Recording<E>);

impl<E: Executor> Checked<Wire> for Settled<'_, E> {
    fn open(self, to: Receivers, wires: &[Wire]) -> Result<Option<Vec<bool>>, Fault> {
        self.0.guarded(|party| {
            let slots = party.recorder.slots(wires).ok_or_else(foreign_wire)?;
            party.executor.open(to, &slots)
        })
    }
}

#[cfg(test)]
mod tests {
    use cenote_circuit::{Order, TapeRecorder, TapeWire};
    use cenote_prim::{Block, Prg};

    use super::*;
    use crate::parts::chunk::tests::Clear;
    use crate::parts::chunk::walk;

    /// Computes in the clear, by slot, in the batches of a backend.
    #[derive(Default)]
    struct InClear(Clear);

    impl Executor for InClear {
        const ROWS_OF_ANDS: bool = true;

        fn role(&self) -> Role {
            Role::Garbler
        }
        fn fail(&mut self, fault: Fault) -> Fault {
            fault
        }
        fn core_widths(&self) -> Vec<usize> {
            vec![8]
        }
        fn resize(&mut self, slots: usize) {
            self.0.values.resize(slots, false);
        }
        fn chunk(&mut self, chunk: Chunk) -> Result<(), Fault> {
            let mut pending = vec![false; self.0.values.len()];
            walk(&chunk.gates, 8, &mut pending, &mut self.0);
            Ok(())
        }
        fn settle(&mut self) -> Result<(), Fault> {
            Ok(())
        }
        fn input(&mut self, _: Role, slots: &[usize], bits: &[bool]) -> Result<(), Fault> {
            slots.iter().zip(bits).for_each(|(slot, bit)| self.0.values[*slot] = *bit);
            Ok(())
        }
        fn open(&mut self, _: Receivers, slots: &[usize]) -> Result<Option<Vec<bool>>, Fault> {
            Ok(Some(slots.iter().map(|slot| self.0.values[*slot]).collect()))
        }
        fn keep(&mut self, _: &str, _: &[usize]) -> Result<(), Fault> {
            Err(unlike())
        }
        fn kept(&self, _: &str) -> Result<usize, Fault> {
            Err(unlike())
        }
        fn restore(&mut self, _: &[(&str, Vec<usize>)]) -> Result<(), Fault> {
            Err(unlike())
        }
    }

    /// Inputs of a tape that is played in place, in words of 3 and of 2.
    const INPUTS: usize = 5;

    /// Random gates, and outputs of which some are inputs and some are several times there.
    fn random_tape(prg: &mut Prg, order: Order) -> Tape {
        let (mut g, mut wires) = TapeRecorder::new(INPUTS);
        for _ in 0..prg.block().to_bytes()[0] % 24 {
            let [kind, a, b, ..] = prg.block().to_bytes().map(usize::from);
            let [a, b] = [a, b].map(|i| wires[i % wires.len()]);
            let made: Vec<TapeWire> = match kind % 4 {
                0 => g.not(&a).map(|wire| vec![wire]),
                1 => g.xor(&a, &b).map(|wire| vec![wire]),
                2 => g.and(&a, &b).map(|wire| vec![wire]),
                _ => g.and_groups(
                    &[a],
                    &std::array::from_fn::<_, 8, _>(|i| wires[i * i % wires.len()]),
                ),
            }
            .expect("short");
            wires.extend(made);
        }
        let last = wires.len() - wires.len().min(8);
        let outputs = prg
            .block()
            .to_bytes()
            .map(|byte| wires[last + usize::from(byte) % (wires.len() - last)]);
        g.finish(&[outputs[..3].to_vec(), outputs[3..INPUTS].to_vec()], order)
    }

    /// Whatever a tape is, and whoever else has a handle on its inputs.
    #[test]
    fn words_are_replaced_where_they_are() {
        let mut prg = Prg::new(Block::new(5));
        for case in 0..400 {
            let order = if case % 2 == 0 { Order::Recorded } else { Order::LAYERS };
            let tapes = [0; 2].map(|_| random_tape(&mut prg, order));
            let lanes = case % 5;
            let starts =
                [0, 3].map(|offset| (0..lanes as u32).rev().map(move |lane| 6 * lane + offset));
            let starts = starts.map(Vec::from_iter);
            let starts = [&starts[0][..], &starts[1][..]];
            let bits: Vec<bool> = (0..6 * lanes).map(|_| prg.block().colour()).collect();
            let mut expected = bits.clone();
            for tape in &tapes {
                let Ok(()) = cenote_circuit::Clear.play_in_place(tape, &mut expected, &starts);
            }

            let mut party = Recording::new(InClear::default(), false);
            let mut wires = party.input(Role::Garbler, bits.len(), Some(&bits)).expect("own");
            let shared: Vec<usize> = (0..wires.len()).filter(|i| (i + case) % 3 == 0).collect();
            let others: Vec<Wire> = shared.iter().map(|i| wires[*i].clone()).collect();
            for tape in &tapes {
                party.play_in_place(tape, &mut wires, &starts).expect("own wires");
            }
            // Slots that were given free too early would be written again.
            let more = party.xor_many(&wires, &wires).expect("own wires");
            let opened = |party: &mut Recording<InClear>, wires: &[Wire]| {
                let all = party.check().expect("nothing to check").open(Receivers::Both, wires);
                all.expect("own wires").expect("a receiver")
            };
            assert_eq!(opened(&mut party, &wires), expected, "{case}: {tapes:?}");
            let old: Vec<bool> = shared.iter().map(|i| bits[*i]).collect();
            assert_eq!(opened(&mut party, &others), old, "{case}: others keep what they had");
            assert!(opened(&mut party, &more).iter().all(|bit| !bit));
        }
    }

    /// Rows that change places in a sort stay in their slots, however often.
    #[test]
    fn outputs_take_the_slots_of_inputs() {
        let (mut g, wires) = TapeRecorder::new(2);
        let both = g.and(&wires[0], &wires[1]).expect("short");
        let either = g.xor(&wires[0], &both).expect("short");
        let tape = g.finish(&[vec![both], vec![either]], Order::Recorded);
        assert_eq!(tape.replaces_input(), [false, true], "the first is read after the AND");
        let swapped = {
            let (mut g, wires) = TapeRecorder::new(2);
            let sum = g.xor(&wires[0], &wires[1]).expect("short");
            let moved = g.and(&sum, &wires[0]).expect("short");
            let [low, high] = [0, 1].map(|i| g.xor(&wires[i], &moved).expect("short"));
            g.finish(&[vec![low], vec![high]], Order::Recorded)
        };
        assert_eq!(swapped.replaces_input(), [true, true]);
        // More lanes than are played together, and chunks that end within a step.
        let (low, high): (Vec<u32>, Vec<u32>) =
            (0..3000).map(|lane| (2 * lane, 2 * lane + 1)).unzip();
        let starts = [&low[..], &high[..]];
        let mut prg = Prg::new(Block::new(6));
        let mut bits: Vec<bool> = (0..6000).map(|_| prg.block().colour()).collect();
        let mut party = Recording::new(InClear::default(), false);
        let mut wires = party.input(Role::Garbler, bits.len(), Some(&bits)).expect("own");
        let slots = |wires: &[Wire]| wires.iter().map(Wire::slot).collect::<Vec<_>>();
        let before = slots(&wires);
        for _ in 0..5 {
            let Ok(()) = cenote_circuit::Clear.play_in_place(&swapped, &mut bits, &starts);
            party.play_in_place(&swapped, &mut wires, &starts).expect("own wires");
        }
        assert_eq!(slots(&wires), before);
        let opened = party.check().expect("no check").open(Receivers::Both, &wires);
        assert_eq!(opened.expect("own wires"), Some(bits));
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "words that overlap")]
    fn words_that_overlap_are_refused() {
        let (g, wires) = TapeRecorder::new(2);
        let tape = g.finish(&[wires[..1].to_vec(), wires[1..].to_vec()], Order::Recorded);
        let mut party = Recording::new(InClear::default(), false);
        let mut wires = party.input(Role::Garbler, 3, Some(&[true; 3])).expect("own");
        drop(party.play_in_place(&tape, &mut wires, &[&[0, 1], &[1, 2]]));
    }
}
