//! A channel to nobody: what it receives is known beforehand. For measuring one party alone.

use std::io::IoSliceMut;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::link::{Interest, Io, Link, Waker, read_each};
use crate::{Channel, Fault};

/// A channel that receives `received`, as fast as it reads, and then nothing more; what it sends is counted and dropped.
#[must_use]
pub fn replay(received: Arc<Vec<u8>>) -> Channel {
    Channel::over(Box::new(ReplayLink { received, done: 0, woken: Arc::default() }))
}

struct ReplayLink {
    received: Arc<Vec<u8>>,
    done: usize,
    woken: Arc<Woken>,
}

#[derive(Default)]
struct Woken {
    is: Mutex<bool>,
    changed: Condvar,
}

impl Woken {
    fn lock(&self) -> MutexGuard<'_, bool> {
        self.is.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Link for ReplayLink {
    fn write(&mut self, first: &[u8], second: &[u8]) -> Result<Io, Fault> {
        Ok(Io::Moved(first.len() + second.len()))
    }

    fn read(&mut self, parts: &mut [IoSliceMut<'_>]) -> Result<Io, Fault> {
        let ReplayLink { received, done, .. } = self;
        read_each(parts, |out| {
            let left = &received[*done..];
            let n = left.len().min(out.len());
            out[..n].copy_from_slice(&left[..n]);
            *done += n;
            Ok(if n > 0 { Io::Moved(n) } else { Io::Blocked })
        })
    }

    fn wait(&mut self, interest: Interest, limit: Duration) -> Result<(), Fault> {
        if interest.write || interest.read && self.done < self.received.len() {
            return Ok(());
        }
        let waited = self.woken.changed.wait_timeout_while(self.woken.lock(), limit, |is| !*is);
        *waited.unwrap_or_else(PoisonError::into_inner).0 = false;
        Ok(())
    }

    fn waker(&self) -> Waker {
        let woken = Arc::clone(&self.woken);
        Arc::new(move || {
            *woken.lock() = true;
            woken.changed.notify_all();
        })
    }

    fn finish(&mut self, _: Duration) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Direction, Tag, mem_pair};

    const TAG: Tag = Tag::new(77, "test.replay");

    #[test]
    fn what_was_recorded_comes_again_and_then_nothing() {
        let (mut a, mut b) = mem_pair();
        let recording = b.record();
        for payload in [&b"one"[..], b"", b"three"] {
            a.send(TAG, payload).expect("sends");
        }
        a.flush().expect("sends");
        for len in [3, 0, 5] {
            b.recv(TAG, len).expect("receives");
        }
        let mut again = replay(Arc::new(recording.wire_bytes(Direction::Received)));
        again.send(TAG, &vec![0; 1 << 24]).expect("is dropped");
        let received = [3, 0, 5].map(|len| again.recv(TAG, len).expect("receives"));
        assert_eq!(received, [&b"one"[..], b"", b"three"]);
        let canceller = again.canceller();
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(20));
            canceller.cancel();
        });
        assert_eq!(again.recv(TAG, 1), Err(Fault::Transport("cancelled".into())));
    }
}
