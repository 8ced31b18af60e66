//! Bytes that arrived before anybody asked for them.

/// A byte queue whose memory is always initialised, so that reads can go straight into its tail.
#[derive(Default)]
pub(crate) struct Inbox {
    buf: Vec<u8>,
    head: usize,
    tail: usize,
}

/// Memory kept when the queue is empty.
const KEEP: usize = 1 << 20;
/// Room added beyond what is asked for, at most.
const MOST_SPARE: usize = 16 << 20;

impl Inbox {
    pub(crate) fn len(&self) -> usize {
        self.tail - self.head
    }

    /// The queued bytes, oldest first.
    pub(crate) fn data(&self) -> &[u8] {
        &self.buf[self.head..self.tail]
    }

    /// Moves up to `out.len()` bytes into `out`; returns how many.
    pub(crate) fn take(&mut self, out: &mut [u8]) -> usize {
        let n = out.len().min(self.len());
        out[..n].copy_from_slice(&self.buf[self.head..self.head + n]);
        self.skip(n);
        n
    }

    /// Drops the `n` oldest bytes; there must be as many.
    pub(crate) fn skip(&mut self, n: usize) {
        self.head += n;
        debug_assert!(self.head <= self.tail);
        if self.head == self.tail {
            self.head = 0;
            self.tail = 0;
            if self.buf.len() > KEEP {
                self.buf = Vec::new();
            }
        }
    }

    /// At least `min` bytes of room after the queued ones; [`commit`](Self::commit) what was filled.
    pub(crate) fn room(&mut self, min: usize) -> &mut [u8] {
        if self.buf.len() - self.tail < min && self.head >= self.len() {
            // Moves no more bytes than were taken out since the last move.
            self.buf.copy_within(self.head..self.tail, 0);
            self.tail -= self.head;
            self.head = 0;
        }
        let need = self.tail + min;
        if self.buf.len() < need {
            self.buf.resize(need.max(self.tail + self.tail.min(MOST_SPARE)), 0);
        }
        &mut self.buf[self.tail..]
    }

    /// Queues the first `n` bytes of the last `room`.
    pub(crate) fn commit(&mut self, n: usize) {
        self.tail += n;
        debug_assert!(self.tail <= self.buf.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_out_in_order_through_growth_and_compaction() {
        let mut inbox = Inbox::default();
        let (mut next_in, mut next_out) = (0u32, 0u32);
        for step in 0..2000usize {
            let n = (step * 37) % 300;
            for byte in &mut inbox.room(n)[..n] {
                *byte = next_in as u8;
                next_in += 1;
            }
            inbox.commit(n);
            let mut out = vec![0; (step * 31) % 280];
            let taken = inbox.take(&mut out);
            for byte in &out[..taken] {
                assert_eq!(*byte, next_out as u8);
                next_out += 1;
            }
        }
        assert_eq!((next_in - next_out) as usize, inbox.len());
        assert!(next_out > 200_000);
    }
}
