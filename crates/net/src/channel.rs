//! The channel: typed frames over a link, with limits, counters and one way to fail.

use std::io::IoSliceMut;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::alive::AliveLink;
use crate::binding::Binding;
use crate::frame::{HEADER_LEN, MAX_FRAME, decode_frame_header, encode_header};
use crate::inbox::Inbox;
use crate::link::{Cancellation, Canceller, Interest, Io, Link};
use crate::shape::Line;
use crate::tap::{Direction, Tap};
use crate::{Counters, Fault, Fingerprint, Phase, Tag};

/// Payloads from this length on are written from where they lie instead of being copied first.
const DIRECT: usize = 32 << 10;
/// Buffered frames leave when this many bytes have gathered.
const OUTBOX: usize = 64 << 10;
/// A receive reads up to this much of the frames that follow.
const READ_AHEAD: usize = 64 << 10;
/// Bytes that are read at once while a write waits for the peer.
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
/// How long a peer may say no more than that it is there unless [`Channel::set_work_limit`] says
/// otherwise: longer than any computation between two messages should take.
pub const DEFAULT_WORK_LIMIT: Duration = Duration::from_secs(24 * 60 * 60);
/// Most keep-alives before a frame. An honest side sends one a second, or four in each of its idle
/// limits: with a very short one, and very long work, it may come to as many.
const MOST_KEEP_ALIVES: u32 = 1 << 20;

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
    link: AliveLink,
    state: State,
    inbox: Inbox,
    /// Whole frames, except that the last may be a header whose payload `write_out` was given.
    outbox: Vec<u8>,
    /// Bytes of `outbox` that have left.
    out_done: usize,
    /// A frame's payload left in part, so nothing may follow it.
    torn: bool,
    cancellation: Arc<Cancellation>,
    idle_limit: Duration,
    work_limit: Duration,
    phase: Phase,
    /// When the running phase was entered or last read.
    phase_since: Instant,
    counters: Counters,
    sent_since_receive: bool,
    peer_closed: bool,
    /// The binding of handshakes over this channel; none where nobody authenticated the peer.
    pub(crate) binding: Option<Binding>,
    /// The line that this channel was shaped to.
    pub(crate) line: Option<Line>,
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
        let cancellation = Arc::new(Cancellation::default());
        cancellation.wakes(link.waker());
        Channel {
            link: AliveLink::new(link, DEFAULT_IDLE_LIMIT),
            state: State::Open,
            inbox: Inbox::default(),
            outbox: Vec::new(),
            out_done: 0,
            torn: false,
            cancellation,
            idle_limit: DEFAULT_IDLE_LIMIT,
            work_limit: DEFAULT_WORK_LIMIT,
            phase: Phase::Setup,
            phase_since: Instant::now(),
            counters: Counters::default(),
            sent_since_receive: false,
            peer_closed: false,
            binding: None,
            line: None,
            tap: None,
        }
    }

    /// Makes `data` a channel beside this one: it has the same limits, runs on the same line if that is shaped,
    /// and is cancelled with it.
    pub(crate) fn adopt(&mut self, data: &mut Channel) -> Result<(), Fault> {
        data.set_idle_limit(self.idle_limit);
        data.set_work_limit(self.work_limit);
        if let Some(line) = &self.line {
            data.shape_as(line.clone())?;
        }
        self.cancellation.wakes(data.link.waker());
        data.cancellation = Arc::clone(&self.cancellation);
        Ok(())
    }

    /// Puts a layer between this channel and its link.
    pub(crate) fn wrap_link(&mut self, layer: impl FnOnce(Box<dyn Link>) -> Box<dyn Link>) {
        self.link.wrap(layer);
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

    /// Receives one frame of at most `out.len()` payload bytes into the beginning of `out`, which is unspecified after a fault;
    /// returns how many there are.
    ///
    /// # Errors
    /// As [`recv`](Self::recv).
    pub fn recv_at_most(&mut self, tag: Tag, out: &mut [u8]) -> Result<usize, Fault> {
        let result = check_tag(tag).and_then(|()| self.recv_frame_at_most(tag, out));
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

    /// Reads what the peer has sent, within limits, while this side waits for something else: a peer that has much
    /// to send could not go on otherwise. Does not block.
    ///
    /// # Errors
    /// `PeerAborted` or `Transport` when the peer is gone.
    pub fn attend(&mut self) -> Result<(), Fault> {
        let result = self.usable().and_then(|()| match self.absorb(&mut self.timeout(0)) {
            // What came before is still to be received.
            Err(_) if self.said_goodbye() => Ok(()),
            absorbed => absorbed.map(drop),
        });
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

    /// How long the peer may stay silent, or take nothing, before a blocked call fails: its machine or
    /// the line is dead. A frame of n bytes may take a further second for each 16 KiB. This side, while
    /// it sends nothing else, says every quarter of this limit, and every second at least, that it is
    /// there.
    pub fn set_idle_limit(&mut self, limit: Duration) {
        self.idle_limit = limit;
        self.link.set_idle_limit(limit);
    }

    /// How long the peer may do no more than say that it is there before a blocked call fails; for ever with
    /// [`Duration::MAX`].
    pub fn set_work_limit(&mut self, limit: Duration) {
        self.work_limit = limit;
    }

    /// The limit that [`set_work_limit`](Self::set_work_limit) has set.
    #[must_use]
    pub const fn work_limit(&self) -> Duration {
        self.work_limit
    }

    /// A handle that cancels this channel from another thread.
    #[must_use]
    pub fn canceller(&self) -> Canceller {
        Canceller(Arc::clone(&self.cancellation))
    }

    /// The certificate that the peer proved to have; none over anything but TLS.
    #[must_use]
    pub fn peer(&self) -> Option<Fingerprint> {
        self.binding.as_ref().map(|binding| binding.peer)
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
            self.link.cut();
        }
        self.end(Tag::BYE);
    }

    fn end(&mut self, tag: Tag) {
        if self.state == State::Closed {
            return;
        }
        self.state = State::Closed;
        self.link.hush();
        if !self.torn {
            self.outbox.extend_from_slice(&encode_header(tag.id, 0));
            self.count_sent(0);
            // Whether it arrives is not ours to know; the session is over either way.
            let _ = self.write_out(&[]);
        }
        self.link.finish(LINGER);
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
        if self.next_frame(tag)? != out.len() {
            return Err(WRONG_LENGTH);
        }
        self.payload(tag, out)
    }

    pub(crate) fn recv_frame_bounded(&mut self, tag: Tag, max: usize) -> Result<Vec<u8>, Fault> {
        let len = self.next_frame(tag)?;
        if len > max {
            return Err(WRONG_LENGTH);
        }
        let mut payload = vec![0; len];
        self.payload(tag, &mut payload)?;
        Ok(payload)
    }

    fn recv_frame_at_most(&mut self, tag: Tag, out: &mut [u8]) -> Result<usize, Fault> {
        let len = self.next_frame(tag)?;
        self.payload(tag, out.get_mut(..len).ok_or(WRONG_LENGTH)?)?;
        Ok(len)
    }

    /// What follows the header of a frame.
    fn payload(&mut self, tag: Tag, out: &mut [u8]) -> Result<(), Fault> {
        self.fill(out, &mut self.timeout(out.len()))?;
        self.received(tag, out);
        Ok(())
    }

    /// The payload length of the next frame that is no keep-alive; it must have this tag.
    fn next_frame(&mut self, tag: Tag) -> Result<usize, Fault> {
        self.start_receive()?;
        let first = tag == Tag::HELLO && self.unheard();
        let mut timeout = self.timeout(HEADER_LEN);
        let mut head = [0; HEADER_LEN];
        loop {
            self.fill(&mut head, &mut timeout)?;
            if first && !STARTS.contains(&head[0]) {
                return Err(other_protocol());
            }
            let header = decode_frame_header(&head)?;
            self.peer_closed |= header.tag == Tag::BYE.id;
            match header.tag {
                id if id == tag.id => return Ok(header.len),
                // Who said nothing yet is not kept waiting for: it may be anybody.
                id if id == Tag::ALIVE.id && self.unheard() => return Err(other_protocol()),
                id if id == Tag::ALIVE.id => timeout.keep_alive()?,
                id if id == Tag::ABORT.id => return Err(Fault::PeerAborted),
                id if id == Tag::BYE.id => {
                    return Err(Fault::Transport("the peer ended the session".into()));
                }
                _ => return Err(Fault::Misbehaved("frame: wrong tag")),
            }
        }
    }

    /// Whether the peer sent no frame yet.
    fn unheard(&self) -> bool {
        self.counters.total().messages_received == 0
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
        let mut timeout = self.timeout(self.outbox.len() + payload.len());
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
                    timeout.progress();
                }
                Io::Blocked => {
                    let read = self.absorb(&mut timeout)?;
                    self.link.wait(Interest { read, write: true }, timeout.left()?)?;
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
    fn absorb(&mut self, timeout: &mut Timeout) -> Result<bool, Fault> {
        // A peer that sends as fast as this reads must not keep the write from going on.
        for _ in 0..16 {
            if self.inbox.len() + ABSORB > INBOX_LIMIT {
                return Ok(false);
            }
            let room = &mut self.inbox.room(ABSORB)[..ABSORB];
            match self.link.read(&mut [IoSliceMut::new(room)])? {
                Io::Moved(n) => {
                    self.inbox.commit(n);
                    // Perhaps keep-alives, of a peer that computes and takes nothing.
                    timeout.alive();
                }
                Io::Blocked => break,
                Io::Gone => return Err(self.gone()),
            }
        }
        Ok(true)
    }

    /// Whether the last frame that came is the peer's goodbye.
    fn said_goodbye(&self) -> bool {
        let (mut rest, mut last) = (self.inbox.data(), None);
        while let Some((head, tail)) = rest.split_first_chunk::<HEADER_LEN>() {
            let Ok(header) = decode_frame_header(head) else { return false };
            let Some(next) = tail.get(header.len..) else { return false };
            (rest, last) = (next, Some(header.tag));
        }
        rest.is_empty() && last == Some(Tag::BYE.id)
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

    /// Fills `out` with what comes next, and reads ahead.
    fn fill(&mut self, out: &mut [u8], timeout: &mut Timeout) -> Result<(), Fault> {
        let mut done = self.inbox.take(out);
        while done < out.len() {
            self.check_cancelled()?;
            let room = &mut self.inbox.room(READ_AHEAD)[..READ_AHEAD];
            let rest = &mut out[done..];
            let wanted = rest.len();
            match self.link.read(&mut [IoSliceMut::new(rest), IoSliceMut::new(room)])? {
                Io::Moved(n) => {
                    let used = n.min(wanted);
                    done += used;
                    self.inbox.commit(n - used);
                    timeout.progress();
                }
                Io::Blocked => {
                    let left = timeout.left()?;
                    if timeout.spins() {
                        std::thread::yield_now();
                    } else {
                        self.link.wait(Interest { read: true, write: false }, left)?;
                    }
                }
                Io::Gone => return Err(Fault::Transport("the peer closed the connection".into())),
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
        if self.state == State::Open && self.cancellation.is_cancelled() {
            return Err(Fault::Transport("cancelled".into()));
        }
        Ok(())
    }

    pub(crate) fn settle<T>(&mut self, result: Result<T, Fault>) -> Result<T, Fault> {
        if result.is_err() && self.state == State::Open {
            self.state = State::Faulted;
            self.link.hush();
        }
        result
    }

    fn timeout(&self, bytes: usize) -> Timeout {
        match self.state {
            State::Open => Timeout::new(self.idle_limit, self.work_limit, bytes),
            State::Faulted | State::Closed => {
                Timeout::new(ABORT_LIMIT.min(self.idle_limit), ABORT_LIMIT, 0)
            }
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
const WRONG_LENGTH: Fault = Fault::Misbehaved("frame: wrong length");

/// A set-up that is wrong, such as TLS on one side alone, and no attack.
fn other_protocol() -> Fault {
    Fault::Transport(
        "the peer does not speak Cenote's protocol; does one side use TLS and the other not?"
            .into(),
    )
}

fn too_long(tag: Tag, len: usize) -> Fault {
    Fault::Misuse(format!("frame {}: {len} bytes are over the limit of {MAX_FRAME}", tag.name))
}

fn check_tag(tag: Tag) -> Result<(), Fault> {
    if tag.id < Tag::FIRST_FREE {
        return Err(Fault::Misuse(format!("tag {} is reserved", tag.name)));
    }
    Ok(())
}

/// The time limits of one blocked call. Reads the clock only when the call has to wait.
struct Timeout {
    idle_limit: Duration,
    /// Limit from one sign of life to the next, against a peer that trickles.
    frame_limit: Duration,
    /// Limit of the whole call, against a peer that is there and does nothing.
    work_limit: Duration,
    began: Option<Instant>,
    /// The last sign of life.
    heard: Option<Instant>,
    /// When bytes moved.
    last: Option<Instant>,
    waited: Duration,
    keep_alives: u32,
}

impl Timeout {
    fn new(idle_limit: Duration, work_limit: Duration, bytes: usize) -> Timeout {
        let transfer = Duration::from_secs(bytes as u64 / SLOWEST_BYTES_PER_S);
        Timeout {
            idle_limit,
            frame_limit: idle_limit.saturating_add(transfer),
            work_limit: work_limit.saturating_add(transfer),
            began: None,
            heard: None,
            last: None,
            waited: Duration::ZERO,
            keep_alives: 0,
        }
    }

    /// Bytes moved: the idle limit starts anew.
    fn progress(&mut self) {
        self.last = None;
    }

    /// The peer is there: all limits but that of the whole call start anew.
    fn alive(&mut self) {
        (self.last, self.heard) = (None, None);
    }

    /// A keep-alive came.
    fn keep_alive(&mut self) -> Result<(), Fault> {
        self.alive();
        self.keep_alives += 1;
        if self.keep_alives > MOST_KEEP_ALIVES && self.work_limit < Duration::MAX {
            return Err(Fault::Transport("the peer sent keep-alives without end".into()));
        }
        Ok(())
    }

    /// Whether the wait, at the last [`left`](Self::left), was still too short to sleep.
    fn spins(&self) -> bool {
        self.waited < SPIN
    }

    /// How long the call may still wait for the next bytes.
    fn left(&mut self) -> Result<Duration, Fault> {
        let now = Instant::now();
        let since = |time: &mut Option<Instant>| now.duration_since(*time.get_or_insert(now));
        self.waited = since(&mut self.last);
        let idle = self.idle_limit.saturating_sub(self.waited);
        let frame = self.frame_limit.saturating_sub(since(&mut self.heard));
        let work = self.work_limit.saturating_sub(since(&mut self.began));
        let left = idle.min(frame).min(work);
        if left.is_zero() {
            let (what, limit) = if work.is_zero() && !idle.min(frame).is_zero() {
                ("did not go on", self.work_limit)
            } else {
                ("was silent", self.idle_limit)
            };
            let limit = limit.as_secs_f32();
            return Err(Fault::Transport(format!("the peer {what} for {limit} s")));
        }
        Ok(left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::Waker;

    const IDLE: Duration = Duration::from_millis(200);
    const PAUSE: Duration = Duration::from_millis(10);

    /// A line to a peer that takes a byte now and then, and sends nothing.
    struct Trickle(Instant);

    impl Link for Trickle {
        fn write(&mut self, _: &[u8], _: &[u8]) -> Result<Io, Fault> {
            if self.0.elapsed() < PAUSE {
                return Ok(Io::Blocked);
            }
            self.0 = Instant::now();
            Ok(Io::Moved(1))
        }

        fn read(&mut self, _: &mut [IoSliceMut<'_>]) -> Result<Io, Fault> {
            Ok(Io::Blocked)
        }

        fn wait(&mut self, _: Interest, limit: Duration) -> Result<(), Fault> {
            std::thread::sleep(limit.min(PAUSE));
            Ok(())
        }

        fn waker(&self) -> Waker {
            Arc::new(|| ())
        }

        fn finish(&mut self, _: Duration) {}
    }

    /// A line that takes everything, and holds it back for some waits.
    struct Held {
        sent: Arc<std::sync::Mutex<Vec<u8>>>,
        waits: u32,
    }

    impl Link for Held {
        fn write(&mut self, first: &[u8], second: &[u8]) -> Result<Io, Fault> {
            self.sent.lock().unwrap().extend_from_slice(&[first, second].concat());
            Ok(Io::Moved(first.len() + second.len()))
        }

        fn read(&mut self, _: &mut [IoSliceMut<'_>]) -> Result<Io, Fault> {
            Ok(Io::Blocked)
        }

        fn flush(&mut self) -> Result<Io, Fault> {
            Ok(if self.waits == 0 { Io::Moved(1) } else { Io::Blocked })
        }

        fn wait(&mut self, _: Interest, limit: Duration) -> Result<(), Fault> {
            std::thread::sleep(limit);
            self.waits -= 1;
            Ok(())
        }

        fn waker(&self) -> Waker {
            Arc::new(|| ())
        }

        fn finish(&mut self, _: Duration) {}
    }

    #[test]
    fn no_keep_alive_follows_the_last_frame() {
        for tag in [Tag::BYE, Tag::ABORT] {
            let sent = Arc::default();
            let mut channel = Channel::over(Box::new(Held { sent: Arc::clone(&sent), waits: 2 }));
            channel.set_idle_limit(IDLE);
            channel.end(tag);
            assert_eq!(*sent.lock().unwrap(), encode_header(tag.id, 0));
        }
    }

    #[test]
    fn a_peer_that_takes_a_byte_now_and_then_is_as_good_as_silent() {
        let mut channel = Channel::over(Box::new(Trickle(Instant::now())));
        channel.set_idle_limit(IDLE);
        let sent = channel.send(Tag::new(100, "data"), &[0; 100]).and_then(|()| channel.flush());
        assert_eq!(sent, Err(Fault::Transport("the peer was silent for 0.2 s".into())));
    }
}
