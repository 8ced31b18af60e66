//! The interface that a channel needs of a connection: bytes in and out without blocking, and one
//! way to wait.

use std::io::IoSliceMut;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::Fault;

/// Outcome of a read or write that does not block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Io {
    /// This many bytes moved; never 0.
    Moved(usize),
    /// Nothing can move now.
    Blocked,
    /// The peer is gone: end of stream, reset, broken pipe.
    Gone,
}

/// The directions that [`Link::wait`] waits for; with neither it only sleeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Interest {
    pub(crate) read: bool,
    pub(crate) write: bool,
}

/// A two-way byte stream that never blocks except in `wait` and `finish`.
pub(crate) trait Link: Send {
    /// Writes a prefix of the two parts, one after the other; at least one of them is not empty.
    fn write(&mut self, first: &[u8], second: &[u8]) -> Result<Io, Fault>;

    /// Fills a prefix of the parts, in order; at least one of them is not empty.
    fn read(&mut self, parts: &mut [IoSliceMut<'_>]) -> Result<Io, Fault>;

    /// Pushes out bytes that the link itself holds back; `Moved` when none are left.
    fn flush(&mut self) -> Result<Io, Fault> {
        Ok(Io::Moved(1))
    }

    /// Returns when something of interest may have happened, the waker was called, or time is up.
    fn wait(&mut self, interest: Interest, limit: Duration) -> Result<(), Fault>;

    /// A handle that ends a `wait` on another thread.
    fn waker(&self) -> Waker;

    /// Ends the outgoing stream so that the peer receives all that was written, waiting no longer
    /// than `limit` for the peer to end its own.
    fn finish(&mut self, limit: Duration);
}

/// Ends a wait of a link, from any thread.
pub(crate) type Waker = Arc<dyn Fn() + Send + Sync>;

/// Cancels a channel, and the data channels beside it, from another thread: for Ctrl-C and for a service
/// that ends a job.
///
/// The blocked call of each, or its next one, returns `Transport("cancelled")` soon. The owner of a channel can
/// still abort or close it.
#[derive(Clone)]
pub struct Canceller(pub(crate) Arc<Cancellation>);

impl Canceller {
    /// Cancels the channels. Does not block; may be called more than once.
    pub fn cancel(&self) {
        self.0.cancelled.store(true, Ordering::SeqCst);
        self.0.wakers().iter().for_each(|wake| wake());
    }
}

impl std::fmt::Debug for Canceller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Canceller")
            .field("cancelled", &self.0.is_cancelled())
            .finish_non_exhaustive()
    }
}

/// Whether the channels to a peer are cancelled, and how to wake whoever waits on one of them.
#[derive(Default)]
pub(crate) struct Cancellation {
    cancelled: AtomicBool,
    wakers: Mutex<Vec<Waker>>,
}

impl Cancellation {
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    pub(crate) fn wakes(&self, waker: Waker) {
        self.wakers().push(waker);
    }

    fn wakers(&self) -> MutexGuard<'_, Vec<Waker>> {
        self.wakers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Fills the parts in order with a plain `read`, for links that cannot scatter.
pub(crate) fn read_each(
    parts: &mut [IoSliceMut<'_>],
    mut read: impl FnMut(&mut [u8]) -> Result<Io, Fault>,
) -> Result<Io, Fault> {
    let mut moved = 0;
    for part in parts {
        let mut filled = 0;
        while filled < part.len() {
            match read(&mut part[filled..])? {
                Io::Moved(n) => filled += n,
                stop if moved + filled == 0 => return Ok(stop),
                // An end of stream is reported by the next call.
                _ => return Ok(Io::Moved(moved + filled)),
            }
        }
        moved += filled;
    }
    Ok(Io::Moved(moved))
}
