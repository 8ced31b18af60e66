//! Two channels joined in memory, for tests and for both parties in one process.

use std::collections::{HashMap, VecDeque};
use std::io::{IoSliceMut, Read};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::link::{Interest, Io, Link, Waker, read_each};
use crate::{Channel, Channels, Fault};

/// Bytes that one direction holds before a send waits for the peer.
const CAPACITY: usize = 8 << 20;

/// Two connected channels.
///
/// They behave as channels over a socket do. One direction holds 8 MiB; beyond that a send waits for
/// the other side, which therefore has to run on another thread.
#[must_use]
pub fn mem_pair() -> (Channel, Channel) {
    let shared = Arc::new(Shared::default());
    let side = |me| Channel::over(Box::new(MemLink { shared: Arc::clone(&shared), me }));
    (side(0), side(1))
}

/// Two sides of [`Channels`] in memory, whose data channels are [`mem_pair`]s.
#[must_use]
pub fn mem_channels() -> (Channels, Channels) {
    let (a, b) = mem_pair();
    let hub = Arc::new(Mutex::new(HashMap::new()));
    let side = |control| {
        let hub = Arc::clone(&hub);
        Channels::new(control, move |number| Ok(meet(&hub, number)))
    };
    (side(a), side(b))
}

/// One end of data channel `number`: whoever comes first leaves the other end there.
fn meet(hub: &Mutex<HashMap<u32, Channel>>, number: u32) -> Channel {
    let mut hub = hub.lock().unwrap_or_else(PoisonError::into_inner);
    hub.remove(&number).unwrap_or_else(|| {
        let (own, other) = mem_pair();
        hub.insert(number, other);
        own
    })
}

#[derive(Default)]
struct Shared {
    state: Mutex<Both>,
    changed: Condvar,
}

#[derive(Default)]
struct Both {
    /// `queues[i]` holds what side i sent.
    queues: [VecDeque<u8>; 2],
    /// Side i sends no more.
    ended: [bool; 2],
    /// Somebody cancelled side i.
    woken: [bool; 2],
}

struct MemLink {
    shared: Arc<Shared>,
    me: usize,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Both> {
        // The state is plain bytes and flags: a panic elsewhere leaves it usable.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MemLink {
    fn end(&self) {
        self.shared.lock().ended[self.me] = true;
        self.shared.changed.notify_all();
    }
}

impl Link for MemLink {
    fn write(&mut self, first: &[u8], second: &[u8]) -> Result<Io, Fault> {
        let mut both = self.shared.lock();
        if both.ended[1 - self.me] {
            return Ok(Io::Gone);
        }
        let queue = &mut both.queues[self.me];
        let room = CAPACITY.saturating_sub(queue.len());
        let of_first = first.len().min(room);
        let of_second = second.len().min(room - of_first);
        queue.extend(&first[..of_first]);
        queue.extend(&second[..of_second]);
        drop(both);
        if of_first + of_second == 0 {
            return Ok(Io::Blocked);
        }
        self.shared.changed.notify_all();
        Ok(Io::Moved(of_first + of_second))
    }

    fn read(&mut self, parts: &mut [IoSliceMut<'_>]) -> Result<Io, Fault> {
        let mut both = self.shared.lock();
        let ended = both.ended[1 - self.me];
        let queue = &mut both.queues[1 - self.me];
        let io = read_each(parts, |out| match queue.read(out) {
            Ok(0) if ended => Ok(Io::Gone),
            Ok(0) => Ok(Io::Blocked),
            Ok(n) => Ok(Io::Moved(n)),
            Err(error) => Err(Fault::Internal(error.to_string())),
        });
        drop(both);
        self.shared.changed.notify_all();
        io
    }

    fn wait(&mut self, interest: Interest, limit: Duration) -> Result<(), Fault> {
        let (me, peer) = (self.me, 1 - self.me);
        let nothing_yet = |both: &mut Both| {
            let readable = !both.queues[peer].is_empty() || both.ended[peer];
            let writable = both.queues[me].len() < CAPACITY || both.ended[peer];
            !(interest.read && readable || interest.write && writable || both.woken[me])
        };
        let both = self.shared.lock();
        let waited = self.shared.changed.wait_timeout_while(both, limit, nothing_yet);
        let (mut both, _) = waited.unwrap_or_else(PoisonError::into_inner);
        both.woken[me] = false;
        Ok(())
    }

    fn waker(&self) -> Waker {
        let (shared, me) = (Arc::clone(&self.shared), self.me);
        Arc::new(move || {
            shared.lock().woken[me] = true;
            shared.changed.notify_all();
        })
    }

    fn finish(&mut self, _: Duration) {
        self.end();
    }
}

impl Drop for MemLink {
    fn drop(&mut self) {
        self.end();
    }
}
