//! A party that records gates and has them done a chunk at a time: all that such backends have in common.
//! What a chunk, an input and an opening mean over slots is the backend's, its [`Executor`].

use cenote_circuit::{Gates, runs};
use cenote_net::{Fault, Role};

use crate::parts::chunk::{Chunk, Kind, Recorder};
use crate::parts::wires::Wire;
use crate::party::{Checked, Party, Receivers, expect_input};

/// A backend's part of one request: it keeps the data of wires by slot.
pub trait Executor {
    /// Most bits of one input.
    const PIECE: usize;

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

    /// Puts what it keeps under each name into the slots beside it, one for each wire kept; nothing is in flight.
    fn restore(&mut self, kept: &[(&str, Vec<usize>)]) -> Result<(), Fault>;
}

/// One party of one request.
pub struct Recording<E> {
    pub(crate) executor: E,
    recorder: Recorder,
    /// A call failed: nothing may follow.
    faulted: bool,
}

impl<E: Executor> Recording<E> {
    /// A party that refuses everything if it has `faulted` before it begins.
    pub(crate) fn new(executor: E, faulted: bool) -> Recording<E> {
        Recording { executor, recorder: Recorder::new(), faulted }
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
            for lane in rest {
                out.push(self.and(select, lane)?);
            }
        }
        Ok(out)
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
            let mut all = Vec::with_capacity(len);
            for first in (0..len).step_by(E::PIECE) {
                let piece = E::PIECE.min(len - first);
                let bits = own.get(first..first + piece).unwrap_or_default();
                let (wires, slots) = party.fresh(piece);
                party.executor.input(owner, &slots, bits)?;
                all.extend(wires);
            }
            Ok(all)
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
