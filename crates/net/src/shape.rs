//! A slower line: latency and limited bandwidth over any channel between two parties on one machine.
//!
//! The sender stamps what it sends with the time at which the line would deliver it, and the receiver
//! does not see it before. Nobody sleeps in a send, so data is in flight while both sides compute. The
//! stamps are readings of the machine's monotonic clock, hence the one machine.

use std::io::IoSliceMut;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::inbox::Inbox;
use crate::limit::Limit;
use crate::link::{Interest, Io, Link, Waker, read_each};
use crate::{Channel, Fault};

/// Bytes that are delivered at once.
const SEGMENT: usize = 16 << 10;
/// Arrival time, u64 in nanoseconds, and length, u32, both little-endian.
const SEGMENT_HEADER: usize = 12;
/// Bytes that one write takes at most.
const BATCH: usize = 16 * SEGMENT;
/// Bytes that are read of the line at once.
const READ: usize = 64 << 10;

/// A line's latency and bandwidth.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Shape {
    /// Round-trip time; each direction takes half of it.
    pub rtt: Duration,
    /// Bandwidth of each direction in Mbit/s (10^6 bits), at least 1; unlimited when absent. Frame
    /// headers count, TLS and TCP overhead does not.
    pub mbit_per_s: Option<f64>,
}

/// A shaped line, shared by the channels of one side that run on it.
#[derive(Clone)]
pub(crate) struct Line {
    shape: Shape,
    /// When the line has carried all that was sent, in nanoseconds of the clock.
    free: Arc<Mutex<u64>>,
}

impl Line {
    /// When a segment of so many bytes arrives that is sent now.
    fn carry(&self, bytes: usize) -> u64 {
        let ns_per_byte = self.shape.mbit_per_s.map_or(0.0, |rate| 8000.0 / rate);
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        *free = (*free).max(now()) + (bytes as f64 * ns_per_byte) as u64;
        *free + self.shape.rtt.as_nanos() as u64 / 2
    }
}

impl Channel {
    /// Shapes the line from here on. Both sides must do so, with the same figures, before the first
    /// frame, and run on the same machine. TLS has then been set up at full speed.
    ///
    /// # Errors
    /// `Misuse` when frames have been exchanged already or the figures make no line.
    pub fn shape(&mut self, shape: Shape) -> Result<(), Fault> {
        if shape.mbit_per_s.is_some_and(|rate| !(1.0..=1e9).contains(&rate)) {
            return Err(Fault::Misuse(
                "a shaped line needs a bandwidth of at least 1 Mbit/s".into(),
            ));
        }
        if shape.rtt > Duration::from_secs(10) {
            return Err(Fault::Misuse("a shaped line needs a round trip of at most 10 s".into()));
        }
        self.shape_as(Line { shape, free: Arc::default() })
    }

    /// Runs on a line, perhaps beside other channels.
    pub(crate) fn shape_as(&mut self, line: Line) -> Result<(), Fault> {
        let traffic = self.counters().total();
        if traffic.messages_sent + traffic.messages_received > 0 {
            return Err(Fault::Misuse("a line is shaped before its first frame".into()));
        }
        self.line = Some(line.clone());
        self.wrap_link(|inner| Box::new(ShapedLink::new(inner, line)));
        Ok(())
    }
}

struct ShapedLink {
    inner: Box<dyn Link>,
    line: Line,
    /// Stamped segments on their way out, and how many of their bytes have left.
    outgoing: Vec<u8>,
    out_done: usize,
    incoming: Inbox,
    /// When the segment at the head of `incoming` arrives, and how many bytes of it are left.
    arrives: u64,
    left: usize,
}

impl ShapedLink {
    fn new(inner: Box<dyn Link>, line: Line) -> ShapedLink {
        ShapedLink {
            inner,
            line,
            outgoing: Vec::new(),
            out_done: 0,
            incoming: Inbox::default(),
            arrives: 0,
            left: 0,
        }
    }

    fn stamp(&mut self, bytes: &[u8]) {
        for segment in bytes.chunks(SEGMENT) {
            let arrives = self.line.carry(segment.len());
            self.outgoing.extend_from_slice(&arrives.to_le_bytes());
            self.outgoing.extend_from_slice(&(segment.len() as u32).to_le_bytes());
            self.outgoing.extend_from_slice(segment);
        }
    }

    /// Writes stamped segments; `Moved` when none are left.
    fn push(&mut self) -> Result<Io, Fault> {
        while self.out_done < self.outgoing.len() {
            match self.inner.write(&self.outgoing[self.out_done..], &[])? {
                Io::Moved(n) => self.out_done += n,
                stop => return Ok(stop),
            }
        }
        self.outgoing.clear();
        self.out_done = 0;
        self.inner.flush()
    }

    /// Reads more of the line.
    fn pull(&mut self) -> Result<Io, Fault> {
        let room = &mut self.incoming.room(READ)[..READ];
        let io = self.inner.read(&mut [IoSliceMut::new(room)])?;
        if let Io::Moved(n) = io {
            self.incoming.commit(n);
        }
        Ok(io)
    }

    fn read_arrived(&mut self, out: &mut [u8]) -> Result<Io, Fault> {
        loop {
            let need = if self.left == 0 { SEGMENT_HEADER } else { 1 };
            if self.incoming.len() < need {
                match self.pull()? {
                    Io::Moved(_) => continue,
                    stop => return Ok(stop),
                }
            }
            if self.left > 0 {
                if self.arrives > now() {
                    return Ok(Io::Blocked);
                }
                let n = out.len().min(self.left);
                let n = self.incoming.take(&mut out[..n]);
                self.left -= n;
                return Ok(Io::Moved(n));
            }
            let (mut arrives, mut len) = ([0; 8], [0; 4]);
            self.incoming.take(&mut arrives);
            self.incoming.take(&mut len);
            self.arrives = u64::from_le_bytes(arrives);
            self.left = u32::from_le_bytes(len) as usize;
            if self.left == 0 || self.left > SEGMENT {
                return Err(Fault::Misbehaved("shape: not a shaped line on the other side"));
            }
        }
    }
}

impl Link for ShapedLink {
    fn write(&mut self, first: &[u8], second: &[u8]) -> Result<Io, Fault> {
        match self.push()? {
            Io::Moved(_) => {}
            stop => return Ok(stop),
        }
        let first = &first[..first.len().min(BATCH)];
        let second = &second[..second.len().min(BATCH - first.len())];
        self.stamp(first);
        self.stamp(second);
        self.push()?;
        Ok(Io::Moved(first.len() + second.len()))
    }

    fn read(&mut self, parts: &mut [IoSliceMut<'_>]) -> Result<Io, Fault> {
        read_each(parts, |out| self.read_arrived(out))
    }

    fn flush(&mut self) -> Result<Io, Fault> {
        self.push()
    }

    fn wait(&mut self, interest: Interest, limit: Duration) -> Result<(), Fault> {
        if !interest.read || self.left == 0 {
            return self.inner.wait(interest, limit);
        }
        let in_flight = self.arrives.saturating_sub(now());
        if in_flight == 0 {
            // It arrived since the read that found nothing: the inner link may have no more to say.
            return Ok(());
        }
        // What else is on the line comes later still, so its being readable is no reason to wake up.
        let interest = Interest { read: false, ..interest };
        self.inner.wait(interest, limit.min(Duration::from_nanos(in_flight)))
    }

    fn waker(&self) -> Waker {
        self.inner.waker()
    }

    fn finish(&mut self, limit: Duration) {
        let limit = Limit::of(limit);
        while let Ok(Io::Blocked) = self.push() {
            let interest = Interest { read: false, write: true };
            if limit.is_over() || self.inner.wait(interest, limit.left()).is_err() {
                break;
            }
        }
        self.inner.finish(limit.left());
    }
}

/// The machine's monotonic clock in nanoseconds, the same in all its processes.
fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line on which nothing more comes.
    struct Silent;

    impl Link for Silent {
        fn write(&mut self, first: &[u8], second: &[u8]) -> Result<Io, Fault> {
            Ok(Io::Moved(first.len() + second.len()))
        }

        fn read(&mut self, _: &mut [IoSliceMut<'_>]) -> Result<Io, Fault> {
            Ok(Io::Blocked)
        }

        fn flush(&mut self) -> Result<Io, Fault> {
            Ok(Io::Moved(0))
        }

        fn wait(&mut self, _: Interest, _: Duration) -> Result<(), Fault> {
            Err(Fault::Transport("waited for a silent line".into()))
        }

        fn waker(&self) -> Waker {
            Arc::new(|| ())
        }

        fn finish(&mut self, _: Duration) {}
    }

    #[test]
    fn what_arrives_between_a_read_and_the_wait_wakes_the_reader() {
        let shape = Shape { rtt: Duration::from_millis(10), mbit_per_s: None };
        let line = Line { shape, free: Arc::default() };
        let mut link = ShapedLink::new(Box::new(Silent), line);
        link.stamp(b"abort");
        let stamped = std::mem::take(&mut link.outgoing);
        link.incoming.room(stamped.len())[..stamped.len()].copy_from_slice(&stamped);
        link.incoming.commit(stamped.len());
        let mut out = [0; 5];
        assert!(matches!(link.read_arrived(&mut out), Ok(Io::Blocked)));
        std::thread::sleep(Duration::from_millis(10));
        let read = Interest { read: true, write: false };
        assert_eq!(link.wait(read, Duration::from_secs(60)), Ok(()));
        assert!(matches!(link.read_arrived(&mut out), Ok(Io::Moved(5))));
        assert_eq!(&out, b"abort");
    }
}
