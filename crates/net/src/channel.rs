//! The channel: typed frames over a link, with limits, counters and one way to fail.

use std::io::IoSliceMut;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::frame::{HEADER_LEN, MAX_FRAME, decode_frame_header, encode_header};
use crate::inbox::Inbox;
use crate::link::{Canceller, Interest, Io, Link, Waker};
use crate::tap::{Direction, Tap};
use crate::{Counters, Fault, Phase, Tag};

/// Payloads from this length on are written from where they lie instead of being copied first.
const DIRECT: usize = 32 << 10;
/// Buffered frames leave when this many bytes have gathered.
const OUTBOX: usize = 64 << 10;
/// A receive reads up to this much of the frames that follow.
const READ_AHEAD: usize = 64 << 10;
/// What is read at once while a write waits for the peer.
const ABSORB: usize = 256 << 10;
/// Most bytes kept of what a peer sends before it is asked for.
const INBOX_LIMIT: usize = 128 << 20;
/// Time limit of an abort frame's way out.
const ABORT_LIMIT: Duration = Duration::from_secs(2);
/// How long an ended channel waits for the peer to end as well.
const LINGER: Duration = Duration::from_secs(1);
/// Slowest transfer that counts as one: a peer that trickles is as good as silent.
const SLOWEST_BYTES_PER_S: u64 = 16 << 10;

/// How long a receive asks again before it sleeps: waking a thread on another core costs more.
const SPIN: Duration = Duration::from_micros(50);

/// How long a peer may stay silent unless [`Channel::set_idle_limit`] says otherwise.
pub const DEFAULT_IDLE_LIMIT: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Open,
    /// A call failed: only abort and close are left.
    Faulted,
    Closed,
}

/// A blocking, ordered, typed connection to the peer.
///
/// Sending is buffered and every receive flushes first. Both sides may send at the same time without
/// reading: a send that has to wait reads what the peer sent meanwhile into a bounded buffer.
/// The first fault ends the channel; then only [`abort`](Self::abort) and [`close`](Self::close) are left.
pub struct Channel {
    link: Box<dyn Link>,
    state: State,
    inbox: Inbox,
    /// Whole frames, except that the last may be a header whose payload `write_out` was given.
    outbox: Vec<u8>,
    /// Bytes of `outbox` that have left.
    out_done: usize,
    /// A frame's payload left in part, so nothing may follow it.
    torn: bool,
    cancelled: Arc<AtomicBool>,
    idle_limit: Duration,
    phase: Phase,
    /// When the running phase was entered or last read.
    phase_since: Instant,
    counters: Counters,
    sent_since_receive: bool,
    peer_closed: bool,
    /// Layers for tests; boxed so that their absence is one comparison.
    pub(crate) tap: Option<Box<Tap>>,
}

impl std::fmt::Debug for Channel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Channel")
            .field("state", &self.state)
            .field("phase", &self.phase)
            .finish_non_exhaustive()
    }
}

impl Channel {
    pub(crate) fn over(link: Box<dyn Link>) -> Channel {
        Channel {
            link,
            state: State::Open,
            inbox: Inbox::default(),
            outbox: Vec::new(),
            out_done: 0,
            torn: false,
            cancelled: Arc::default(),
            idle_limit: DEFAULT_IDLE_LIMIT,
            phase: Phase::Setup,
            phase_since: Instant::now(),
            counters: Counters::default(),
            sent_since_receive: false,
            peer_closed: false,
            tap: None,
        }
    }

    /// Puts a layer between this channel and its link.
    pub(crate) fn wrap_link(&mut self, layer: impl FnOnce(Box<dyn Link>) -> Box<dyn Link>) {
        let inner = std::mem::replace(&mut self.link, Box::new(NoLink));
        self.link = layer(inner);
    }

    /// Sends one frame. Small frames are buffered until a flush, a receive or a full buffer.
    ///
    /// # Errors
    /// `Misuse` for a reserved tag or a payload over [`MAX_FRAME`]; `Transport` when the connection
    /// fails or the peer takes nothing for the idle limit; `PeerAborted`.
    pub fn send(&mut self, tag: Tag, payload: &[u8]) -> Result<(), Fault> {
        let result = check_tag(tag).and_then(|()| self.send_frame(tag, payload));
        self.settle(result)
    }

    /// Receives one frame of exactly `len` payload bytes.
    ///
    /// # Errors
    /// `Misbehaved` for any other tag or length; `PeerAborted`; `Transport` when the connection fails
    /// or the peer is silent for the idle limit.
    pub fn recv(&mut self, tag: Tag, len: usize) -> Result<Vec<u8>, Fault> {
        if len > MAX_FRAME {
            return self.settle(Err(too_long(tag, len)));
        }
        let mut payload = vec![0; len];
        self.recv_into(tag, &mut payload)?;
        Ok(payload)
    }

    /// Receives one frame of exactly `out.len()` payload bytes into `out`, which is unspecified
    /// after a fault.
    ///
    /// # Errors
    /// As [`recv`](Self::recv).
    pub fn recv_into(&mut self, tag: Tag, out: &mut [u8]) -> Result<(), Fault> {
        let result = check_tag(tag).and_then(|()| self.recv_frame_into(tag, out));
        self.settle(result)
    }

    /// Receives one frame of at most `max` payload bytes; memory is allocated after the check.
    ///
    /// # Errors
    /// As [`recv`](Self::recv).
    pub fn recv_bounded(&mut self, tag: Tag, max: usize) -> Result<Vec<u8>, Fault> {
        let result = check_tag(tag).and_then(|()| self.recv_frame_bounded(tag, max));
        self.settle(result)
    }

    /// Hands all buffered frames to the connection. Every receive does so by itself.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn flush(&mut self) -> Result<(), Fault> {
        let result = self.usable().and_then(|()| self.write_out(&[]));
        self.settle(result)
    }

    /// Books traffic and time from here on to `phase`.
    pub fn set_phase(&mut self, phase: Phase) {
        let now = Instant::now();
        self.counters.at(self.phase).time += now - self.phase_since;
        self.phase_since = now;
        self.phase = phase;
    }

    /// Traffic and time so far. Buffered frames count as sent.
    #[must_use]
    pub fn counters(&self) -> Counters {
        let mut counters = self.counters;
        counters.at(self.phase).time += self.phase_since.elapsed();
        counters
    }

    /// How long the peer may stay silent, or take nothing, before a blocked call fails. A frame of
    /// n bytes may take a further second for each 16 KiB.
    pub fn set_idle_limit(&mut self, limit: Duration) {
        self.idle_limit = limit;
    }

    /// A handle that cancels this channel from another thread.
    #[must_use]
    pub fn canceller(&self) -> Canceller {
        let waker: Waker = self.link.waker();
        Canceller { flag: self.cancelled.clone(), waker }
    }

    /// Whether the peer ended the session in order, as opposed to a cut connection.
    #[must_use]
    pub fn peer_closed(&self) -> bool {
        self.peer_closed
    }

    /// Tells the peer that the session is over, whatever the reason, and closes the channel. Best
    /// effort: takes a few seconds at most when the peer does not read. Does nothing on a closed channel.
    pub fn abort(&mut self) {
        self.end(Tag::ABORT);
    }

    /// Sends what is buffered, tells the peer that this is the end, and closes the channel. After a
    /// fault it only cuts the connection. Does nothing on a closed channel.
    pub fn close(&mut self) {
        if self.state == State::Faulted {
            self.state = State::Closed;
            self.link = Box::new(NoLink);
        }
        self.end(Tag::BYE);
    }

    fn end(&mut self, tag: Tag) {
        if self.state == State::Closed {
            return;
        }
        self.state = State::Closed;
        if !self.torn {
            self.outbox.extend_from_slice(&encode_header(tag.id, 0));
            self.count_sent(0);
            // Whether it arrives is not ours to know; the session is over either way.
            let _ = self.write_out(&[]);
        }
        self.link.finish(LINGER);
        self.link = Box::new(NoLink);
        self.inbox = Inbox::default();
        self.outbox = Vec::new();
    }

    pub(crate) fn send_frame(&mut self, tag: Tag, payload: &[u8]) -> Result<(), Fault> {
        self.usable()?;
        if payload.len() > MAX_FRAME {
            return Err(too_long(tag, payload.len()));
        }
        self.put(tag.id, payload)
    }

    /// The layers for tests, made when first asked for.
    pub(crate) fn tap(&mut self) -> &mut Tap {
        self.tap.get_or_insert_default()
    }

    fn put(&mut self, id: u8, payload: &[u8]) -> Result<(), Fault> {
        if let Some(tap) = &mut self.tap {
            if let Some(bytes) = tap.tampered(id, payload) {
                self.count_sent(payload.len());
                return self.write_out(&bytes);
            }
            tap.note(Direction::Sent, id, payload);
        }
        self.count_sent(payload.len());
        self.outbox.extend_from_slice(&encode_header(id, payload.len()));
        if payload.len() >= DIRECT {
            return self.write_out(payload);
        }
        self.outbox.extend_from_slice(payload);
        if self.outbox.len() >= OUTBOX { self.write_out(&[]) } else { Ok(()) }
    }

    pub(crate) fn recv_frame_into(&mut self, tag: Tag, out: &mut [u8]) -> Result<(), Fault> {
        self.start_receive()?;
        let len = out.len();
        let mut closed = false;
        let result = self.fill(&mut [0; HEADER_LEN], out, &mut |head| {
            closed = head[0] == Tag::BYE.id;
            if check_header(head, tag)? == len { Ok(()) } else { Err(WRONG_LENGTH) }
        });
        self.peer_closed |= closed;
        result?;
        self.received(tag, out);
        Ok(())
    }

    pub(crate) fn recv_frame_bounded(&mut self, tag: Tag, max: usize) -> Result<Vec<u8>, Fault> {
        self.start_receive()?;
        let mut len = 0;
        let mut closed = false;
        let first = self.counters.total().messages_received == 0;
        let result = self.fill(&mut [0; HEADER_LEN], &mut [], &mut |head| {
            closed = head[0] == Tag::BYE.id;
            if first && tag == Tag::HELLO && !STARTS.contains(&head[0]) {
                return Err(Fault::Transport(OTHER_PROTOCOL.into()));
            }
            len = check_header(head, tag)?;
            if len <= max { Ok(()) } else { Err(WRONG_LENGTH) }
        });
        self.peer_closed |= closed;
        result?;
        let mut payload = vec![0; len];
        self.fill(&mut [0; 0], &mut payload, &mut |_| Ok(()))?;
        self.received(tag, &payload);
        Ok(payload)
    }

    fn start_receive(&mut self) -> Result<(), Fault> {
        self.usable()?;
        if self.sent_since_receive {
            self.sent_since_receive = false;
            self.counters.at(self.phase).rounds += 1;
        }
        if self.outbox.is_empty() { Ok(()) } else { self.write_out(&[]) }
    }

    /// Writes the outbox and then `payload`, reading whatever the peer sends while a write waits.
    fn write_out(&mut self, payload: &[u8]) -> Result<(), Fault> {
        let mut patience = self.patience(self.outbox.len() + payload.len());
        let mut done = 0;
        self.torn = !payload.is_empty();
        loop {
            self.check_cancelled()?;
            let (first, second) = (&self.outbox[self.out_done..], &payload[done..]);
            let left = first.len() + second.len();
            let io = if left > 0 { self.link.write(first, second)? } else { self.link.flush()? };
            match io {
                Io::Moved(_) if left == 0 => break,
                Io::Moved(n) => {
                    let of_first = n.min(first.len());
                    self.out_done += of_first;
                    done += n - of_first;
                    patience.progress();
                }
                Io::Blocked => {
                    let read = self.absorb(&mut patience)?;
                    self.link.wait(Interest { read, write: true }, patience.left()?)?;
                }
                Io::Gone => return Err(self.gone()),
            }
        }
        self.torn = false;
        self.outbox.clear();
        self.out_done = 0;
        Ok(())
    }

    /// Reads what has arrived, within limits; returns whether there is room for more.
    fn absorb(&mut self, patience: &mut Patience) -> Result<bool, Fault> {
        // A peer that sends as fast as this reads must not keep the write from going on.
        for _ in 0..16 {
            if self.inbox.len() + ABSORB > INBOX_LIMIT {
                return Ok(false);
            }
            let room = &mut self.inbox.room(ABSORB)[..ABSORB];
            match self.link.read(&mut [IoSliceMut::new(room)])? {
                Io::Moved(n) => {
                    self.inbox.commit(n);
                    patience.progress();
                }
                Io::Blocked => break,
                Io::Gone => return Err(self.gone()),
            }
        }
        Ok(true)
    }

    /// The fault of a write to a peer that is gone: it may have said goodbye before.
    fn gone(&mut self) -> Fault {
        while self.inbox.len() + ABSORB <= INBOX_LIMIT {
            let room = &mut self.inbox.room(ABSORB)[..ABSORB];
            match self.link.read(&mut [IoSliceMut::new(room)]) {
                Ok(Io::Moved(n)) => self.inbox.commit(n),
                _ => break,
            }
        }
        let mut rest = self.inbox.data();
        while let Some((head, tail)) = rest.split_first_chunk::<HEADER_LEN>() {
            match decode_frame_header(head) {
                Ok(header) if header.tag == Tag::ABORT.id => return Fault::PeerAborted,
                Ok(header) => rest = tail.get(header.len..).unwrap_or_default(),
                Err(fault) => return fault,
            }
        }
        Fault::Transport("the peer closed the connection".into())
    }

    /// Receives `head` and then `body`. `check` sees the head as soon as it is complete, so a bad one
    /// is refused without waiting for a body that may never come.
    fn fill(
        &mut self,
        head: &mut [u8],
        body: &mut [u8],
        check: &mut dyn FnMut(&[u8]) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let (head_len, total) = (head.len(), head.len() + body.len());
        let mut done = self.inbox.take(head);
        let mut checked = done == head_len;
        if checked {
            check(head)?;
            done += self.inbox.take(body);
        }
        let mut patience = self.patience(total);
        while done < total {
            self.check_cancelled()?;
            let room = &mut self.inbox.room(READ_AHEAD)[..READ_AHEAD];
            let io = self.link.read(&mut [
                IoSliceMut::new(&mut head[done.min(head_len)..]),
                IoSliceMut::new(&mut body[done.saturating_sub(head_len)..]),
                IoSliceMut::new(room),
            ])?;
            match io {
                Io::Moved(n) => {
                    let used = n.min(total - done);
                    done += used;
                    self.inbox.commit(n - used);
                    patience.progress();
                }
                Io::Blocked => {
                    let left = patience.left()?;
                    if patience.spins() {
                        std::thread::yield_now();
                    } else {
                        self.link.wait(Interest { read: true, write: false }, left)?;
                    }
                }
                Io::Gone => return Err(Fault::Transport("the peer closed the connection".into())),
            }
            if !checked && done >= head_len {
                check(head)?;
                checked = true;
            }
        }
        Ok(())
    }

    fn usable(&self) -> Result<(), Fault> {
        match self.state {
            State::Open => self.check_cancelled(),
            State::Faulted => Err(Fault::Misuse("the channel was used after a fault".into())),
            State::Closed => Err(Fault::Transport("the channel is closed".into())),
        }
    }

    fn check_cancelled(&self) -> Result<(), Fault> {
        // The abort and bye frames of a cancelled channel still go out.
        if self.state == State::Open && self.cancelled.load(Ordering::Relaxed) {
            return Err(Fault::Transport("cancelled".into()));
        }
        Ok(())
    }

    pub(crate) fn settle<T>(&mut self, result: Result<T, Fault>) -> Result<T, Fault> {
        if result.is_err() && self.state == State::Open {
            self.state = State::Faulted;
        }
        result
    }

    fn patience(&self, bytes: usize) -> Patience {
        match self.state {
            State::Open => Patience::new(self.idle_limit, bytes),
            State::Faulted | State::Closed => Patience::new(ABORT_LIMIT.min(self.idle_limit), 0),
        }
    }

    fn count_sent(&mut self, len: usize) {
        self.sent_since_receive = true;
        let traffic = self.counters.at(self.phase);
        traffic.messages_sent += 1;
        traffic.bytes_sent += (HEADER_LEN + len) as u64;
    }

    fn received(&mut self, tag: Tag, payload: &[u8]) {
        let traffic = self.counters.at(self.phase);
        traffic.messages_received += 1;
        traffic.bytes_received += (HEADER_LEN + payload.len()) as u64;
        if let Some(tap) = &mut self.tap {
            tap.note(Direction::Received, tag.id, payload);
        }
    }
}

/// Tags that a peer's first frame may have.
const STARTS: [u8; 3] = [Tag::HELLO.id, Tag::ABORT.id, Tag::BYE.id];
/// A set-up that is wrong, such as TLS on one side alone, and no attack.
const OTHER_PROTOCOL: &str =
    "the peer does not speak Cenote's protocol; does one side use TLS and the other not?";
const WRONG_LENGTH: Fault = Fault::Misbehaved("frame: wrong length");

fn too_long(tag: Tag, len: usize) -> Fault {
    Fault::Misuse(format!("frame {}: {len} bytes are over the limit of {MAX_FRAME}", tag.name))
}

fn check_tag(tag: Tag) -> Result<(), Fault> {
    if tag.id < Tag::FIRST_FREE {
        return Err(Fault::Misuse(format!("tag {} is reserved", tag.name)));
    }
    Ok(())
}

/// The payload length of a frame that must have this tag.
fn check_header(head: &[u8], tag: Tag) -> Result<usize, Fault> {
    let head = head.try_into().map_err(|_| Fault::Internal("frame header length".into()))?;
    let header = decode_frame_header(head)?;
    if header.tag == tag.id {
        return Ok(header.len);
    }
    Err(match header.tag {
        id if id == Tag::ABORT.id => Fault::PeerAborted,
        id if id == Tag::BYE.id => Fault::Transport("the peer ended the session".into()),
        _ => Fault::Misbehaved("frame: wrong tag"),
    })
}

/// The time limits of one blocked call. Reads the clock only when the call has to wait.
struct Patience {
    idle_limit: Duration,
    /// Limit of the whole call, against a peer that trickles.
    total_limit: Duration,
    started: Option<Instant>,
    last: Option<Instant>,
    waited: Duration,
}

impl Patience {
    fn new(idle_limit: Duration, bytes: usize) -> Patience {
        let transfer = Duration::from_secs(bytes as u64 / SLOWEST_BYTES_PER_S);
        Patience {
            idle_limit,
            total_limit: idle_limit.saturating_add(transfer),
            started: None,
            last: None,
            waited: Duration::ZERO,
        }
    }

    /// Bytes moved: the idle limit starts anew.
    fn progress(&mut self) {
        self.last = None;
    }

    /// Whether the wait, at the last [`left`](Self::left), was still too short to sleep.
    fn spins(&self) -> bool {
        self.waited < SPIN
    }

    /// How long the call may still wait for the next bytes.
    fn left(&mut self) -> Result<Duration, Fault> {
        let now = Instant::now();
        let started = *self.started.get_or_insert(now);
        let last = *self.last.get_or_insert(now);
        self.waited = now.duration_since(last);
        let idle = self.idle_limit.saturating_sub(self.waited);
        let total = self.total_limit.saturating_sub(now.duration_since(started));
        let left = idle.min(total);
        if left.is_zero() {
            let limit = self.idle_limit.as_secs_f32();
            return Err(Fault::Transport(format!("the peer was silent for {limit} s")));
        }
        Ok(left)
    }
}

/// What a closed channel holds.
struct NoLink;

impl Link for NoLink {
    fn write(&mut self, _: &[u8], _: &[u8]) -> Result<Io, Fault> {
        Ok(Io::Gone)
    }

    fn read(&mut self, _: &mut [IoSliceMut<'_>]) -> Result<Io, Fault> {
        Ok(Io::Gone)
    }

    fn wait(&mut self, _: Interest, _: Duration) -> Result<(), Fault> {
        Err(Fault::Transport("the channel is closed".into()))
    }

    fn waker(&self) -> Waker {
        Arc::new(|| ())
    }

    fn finish(&mut self, _: Duration) {}
}
