//! Recovery: two valid labels of one wire give the evaluator Delta, with it the garbler's
//! inputs, and with those the right outputs. The garbler must not notice.
//!
//! The garbled run goes on as if nothing had happened, so that every message has its place and its
//! length. Beside it, on a thread of its own, the job runs again in the clear, once, from its start
//! to its end ([`Replay`]): what it gives at a reveal is output, and reported to the garbler, instead
//! of the garbled values (docs/protocols/jimu.md, "Two valid labels").
//!
//! The two runs meet in a log, which the garbled run writes whether or not there will be a replay: the
//! inputs of both sides, the garbler's as they were received, and wires that an earlier request kept; and
//! once the replay runs, each reveal and what is kept, where the garbled run waits for the values. So a replay is never further than the next reveal, and
//! a job that does not run alike twice is found out instead of waited for.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use cenote_circuit::Gates;
use cenote_net::{Channel, Fault, Role};
use cenote_prim::{Block, Secret};
use zeroize::Zeroizing;

use super::escrow::Escrow;
use super::stored::TAG;
use crate::backends::jimu::depot::Stated;
use crate::backends::jimu::ihash::{Label, ReedSolomonEscrow, Statement, Tag};
use crate::party::{Checked, Party, Receivers, expect_input};

/// How often a run that waits for the other looks whether its session was cancelled.
const LOOK: Duration = Duration::from_millis(20);

/// Values of wires in the clear, or permutation bits.
pub(in crate::backends::jimu) type Values = Zeroizing<Vec<bool>>;

/// A message of the garbled run to the replay.
enum Event {
    /// The next inputs of the evaluator: a job may draw them, and would draw others when it runs again.
    Own(Values),
    /// The next inputs of the garbler.
    Input(Input),
    /// The next wires that an earlier request kept.
    Kept(Arc<KeptValues>),
    /// The next reveal, or wires that are kept: waits for their values, and for the permutation bits of wires in escrow that the garbler's outputs are bound to.
    Reveal(Escrows),
}

/// Inputs of the garbler, as its messages give them: masked, on wires in escrow.
pub(super) struct Input {
    pub(super) wires: Escrows,
    pub(super) masked: Zeroizing<Vec<bool>>,
}

/// The values of kept wires, for a replay of a later request.
pub(super) struct KeptValues {
    /// From the replay of the request that kept them, if there was one: the garbled ones may be wrong.
    pub(super) clear: Option<Values>,
    /// Masked, like inputs of the garbler. Kept in any case, so that wiping them tells nothing.
    pub(super) escrowed: Input,
}

/// The data that one request keeps for a recovery, and its end of the log.
pub(in crate::backends::jimu) struct Recovery {
    log: Sender<Event>,
    /// The other end, until a replay takes it.
    unread: Option<Receiver<Event>>,
    /// Reveals before there was a replay.
    reveals: usize,
    /// Values of reveals and the bits that were asked for with them, from a replay.
    answers: Option<Receiver<[Values; 2]>>,
    /// Tells the replay that nobody waits for it any more.
    over: Arc<AtomicBool>,
}

impl Default for Recovery {
    fn default() -> Recovery {
        let (log, unread) = mpsc::channel();
        Recovery { log, unread: Some(unread), reveals: 0, answers: None, over: Arc::default() }
    }
}

impl Drop for Recovery {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

impl Recovery {
    /// Inputs of the garbler entered, `masked`, on wires in escrow.
    pub(super) fn input(&mut self, wires: Escrows, masked: Zeroizing<Vec<bool>>) {
        // A replay that has ended is noticed at the next reveal.
        let _ = self.log.send(Event::Input(Input { wires, masked }));
    }

    /// Inputs of the evaluator entered.
    pub(super) fn own_input(&mut self, bits: &[bool]) {
        let _ = self.log.send(Event::Own(Zeroizing::new(bits.to_vec())));
    }

    /// Wires of an earlier request came back.
    pub(super) fn restored(&mut self, values: Arc<KeptValues>) {
        let _ = self.log.send(Event::Kept(values));
    }

    /// The run in the clear, to be started now; `None` if it was given out before.
    pub(in crate::backends::jimu) fn replay(
        &mut self,
        delta: &Label,
        escrow: &Arc<Escrow>,
    ) -> Option<Replay> {
        let log = self.unread.take()?;
        let (answers, receiver) = mpsc::channel();
        self.answers = Some(receiver);
        let (passed, over) = (self.reveals, Arc::clone(&self.over));
        let (delta, escrow) = (Secret::new(*delta), Arc::clone(escrow));
        Some(Replay { log, answers, passed, delta, escrow, opened: None, over })
    }

    /// The values of the coming reveal, or of what is kept, of `wires` wires, and the permutation bits of `bonds`, if there is a replay: waits until it
    /// has come so far.
    pub(in crate::backends::jimu) fn reveal(
        &mut self,
        channel: &mut Channel,
        wires: usize,
        bonds: Escrows,
    ) -> Result<Option<[Values; 2]>, Fault> {
        // With or without a replay, so that what leaves together does not tell.
        channel.flush()?;
        let Some(answers) = &self.answers else {
            self.reveals += 1;
            return Ok(None);
        };
        let bound = bonds.tags().count();
        // A replay that has ended gives no answer.
        let _ = self.log.send(Event::Reveal(bonds));
        loop {
            match answers.recv_timeout(LOOK) {
                Ok(answer) if answer[0].len() == wires && answer[1].len() == bound => {
                    return Ok(Some(answer));
                }
                // A session that was cancelled ends.
                Err(RecvTimeoutError::Timeout) => channel.flush()?,
                // The garbled values may be wrong: better none.
                Ok(_) | Err(RecvTimeoutError::Disconnected) => return Err(not_alike()),
            }
        }
    }
}

fn not_alike() -> Fault {
    Fault::Internal("the job does not run alike twice".into())
}

/// Wires in escrow as they left the stock: one copy of them is all that there is until a request ends.
#[derive(Default)]
pub(in crate::backends::jimu) struct Escrows {
    blocks: Secret<Vec<Block>>,
    /// Blocks of a wire.
    stride: usize,
    /// Their numbers.
    items: Range<u64>,
    /// What is stated of them.
    stated: Vec<Stated>,
}

impl Escrows {
    /// The wires of a part of a stock, `stride` blocks each, with these numbers, and what is stated of all of them.
    pub(super) fn new(
        blocks: Secret<Vec<Block>>,
        stride: usize,
        items: Range<u64>,
        stated: Vec<Stated>,
    ) -> Escrows {
        Escrows { blocks, stride, items, stated }
    }

    pub(in crate::backends::jimu) fn tags(&self) -> impl Iterator<Item = Tag> {
        let items = self.blocks.chunks_exact(self.stride.max(1));
        items.map(|item| Tag { label: item[0], perm: item[1] })
    }

    /// The permutation bits, read by `opened`. Where no place of a batch is clean, which the bound allows for, zeros.
    ///
    /// # Errors
    /// `Internal` for wires of which nothing is stated.
    pub(in crate::backends::jimu) fn bits(&self, opened: &mut Opened) -> Result<Values, Fault> {
        let mut bits = Values::default();
        for (items, statement) in &self.stated {
            let (from, to) = (items.start.max(self.items.start), items.end.min(self.items.end));
            let wires = to.saturating_sub(from) as usize;
            let blocks = &self.blocks[(from - self.items.start) as usize * self.stride..];
            let blocks = &blocks[..wires * self.stride];
            let corrections = (blocks.get(TAG..).unwrap_or_default(), self.stride);
            let first = statement.first + (from - items.start);
            bits.extend_from_slice(&opened.bits(statement, first, wires, corrections));
        }
        let all = bits.len() as u64 == self.items.end - self.items.start;
        if all { Ok(bits) } else { Err(Fault::Internal("a batch without a statement".into())) }
    }
}

/// What reads permutation bits, and the clean place of the batch that was read last.
pub(in crate::backends::jimu) struct Opened {
    escrow: ReedSolomonEscrow,
    clean: Option<(Arc<Statement>, Secret<Vec<bool>>)>,
}

impl Opened {
    pub(in crate::backends::jimu) fn new(escrow: ReedSolomonEscrow) -> Opened {
        Opened { escrow, clean: None }
    }

    fn bits(
        &mut self,
        statement: &Arc<Statement>,
        first: u64,
        wires: usize,
        corrections: (&[Block], usize),
    ) -> Values {
        let Opened { escrow, clean } = self;
        let known = clean.take().filter(|(of, _)| Arc::ptr_eq(of, statement));
        let (_, places) =
            clean.insert(known.unwrap_or_else(|| (Arc::clone(statement), escrow.clean(statement))));
        escrow.bits(first, wires, corrections, places)
    }
}

/// The evaluator's side of a job in the clear.
pub(in crate::backends::jimu) struct Replay {
    log: Receiver<Event>,
    answers: Sender<[Values; 2]>,
    /// Reveals that were served without this and are still to pass.
    passed: usize,
    delta: Secret<Label>,
    escrow: Arc<Escrow>,
    /// What that opens, once it was needed.
    opened: Option<Opened>,
    over: Arc<AtomicBool>,
}

impl Replay {
    /// `bit`, as long as somebody waits for the end.
    #[inline]
    fn go_on(&self, bit: bool) -> Result<bool, Fault> {
        if self.over.load(Ordering::Relaxed) { Err(over()) } else { Ok(bit) }
    }

    /// Permutation bits of wires in escrow.
    fn bits(&mut self, wires: &Escrows) -> Result<Values, Fault> {
        let open = || Opened::new(self.escrow.open(&self.delta));
        wires.bits(self.opened.get_or_insert_with(open))
    }

    /// Values of inputs of the garbler.
    fn values(&mut self, Input { wires, masked }: &Input) -> Result<Values, Fault> {
        let bits = self.bits(wires)?;
        Ok(Zeroizing::new(masked.iter().zip(&*bits).map(|(masked, bit)| masked ^ bit).collect()))
    }

    /// Gives the garbled run the values that it waits for.
    fn answer(&mut self, wires: &[bool]) -> Result<(), Fault> {
        if self.passed > 0 {
            self.passed -= 1;
            return Ok(());
        }
        let Event::Reveal(bonds) = self.next()? else { return Err(not_alike()) };
        let bits = self.bits(&bonds)?;
        self.answers.send([Zeroizing::new(wires.to_vec()), bits]).map_err(|_| over())
    }

    /// Receives the next event of the garbled run.
    fn next(&self) -> Result<Event, Fault> {
        self.log.recv().map_err(|_| over())
    }
}

fn over() -> Fault {
    Fault::Internal("the request is over".into())
}

impl Gates for Replay {
    type Wire = bool;
    type Error = Fault;

    fn constant(&mut self, bit: bool) -> Result<bool, Fault> {
        self.go_on(bit)
    }
    fn xor(&mut self, a: &bool, b: &bool) -> Result<bool, Fault> {
        self.go_on(a ^ b)
    }
    fn not(&mut self, a: &bool) -> Result<bool, Fault> {
        self.go_on(!a)
    }
    fn and(&mut self, a: &bool, b: &bool) -> Result<bool, Fault> {
        self.go_on(a & b)
    }
}

impl Party for Replay {
    type Checked<'p> = &'p mut Self;

    fn role(&self) -> Role {
        Role::Evaluator
    }

    fn input(
        &mut self,
        owner: Role,
        len: usize,
        bits: Option<&[bool]>,
    ) -> Result<Vec<bool>, Fault> {
        expect_input(Role::Evaluator, owner, len, bits)?;
        let mut values = Vec::with_capacity(len);
        while values.len() < len {
            match (owner, self.next()?) {
                (Role::Evaluator, Event::Own(own)) => values.extend_from_slice(&own),
                (Role::Garbler, Event::Input(input)) => {
                    values.extend_from_slice(&self.values(&input)?)
                }
                _ => return Err(not_alike()),
            }
        }
        if values.len() == len { Ok(values) } else { Err(not_alike()) }
    }

    fn check(&mut self) -> Result<&mut Self, Fault> {
        Ok(self)
    }

    fn keep(&mut self, _name: &str, wires: &[bool]) -> Result<(), Fault> {
        self.answer(wires)
    }

    fn kept_all(&mut self, names: &[&str]) -> Result<Vec<Vec<bool>>, Fault> {
        names.iter().map(|_| self.kept_values()).collect()
    }
}

impl Replay {
    /// The values of the wires that the request took up next.
    fn kept_values(&mut self) -> Result<Vec<bool>, Fault> {
        let Event::Kept(kept) = self.next()? else { return Err(not_alike()) };
        let mut values = Vec::new();
        match &kept.clear {
            Some(clear) => values.extend_from_slice(clear),
            None => values.extend_from_slice(&self.values(&kept.escrowed)?),
        }
        Ok(values)
    }
}

impl Checked<bool> for &mut Replay {
    fn open(self, to: Receivers, wires: &[bool]) -> Result<Option<Vec<bool>>, Fault> {
        self.answer(wires)?;
        Ok(to.include(Role::Evaluator).then(|| wires.to_vec()))
    }
}
