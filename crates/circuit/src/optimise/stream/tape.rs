//! Gates in a temporary file that is written forwards and read backwards.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use super::super::net::Op;

/// One gate: two operands and a result, whose meaning is that of the tape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) a: u32,
    pub(super) b: u32,
    pub(super) out: u32,
}

impl Record {
    /// A result that starts with the operation.
    pub(super) fn out(op: Op, rest: u32) -> u32 {
        rest << 1 | u32::from(op == Op::Xor)
    }

    pub(super) fn op(self) -> Op {
        if self.out & 1 == 1 { Op::Xor } else { Op::And }
    }
}

const BYTES: usize = 12;
/// Bytes that are written and read at once.
const BLOCK: usize = BYTES << 16;

/// A tape that is written. It has no name on disk and vanishes with the value.
pub(super) struct Tape {
    file: File,
    block: Vec<u8>,
    written: u64,
}

impl Tape {
    /// An empty tape in a file in `directory`.
    pub(super) fn new(directory: &Path) -> io::Result<Self> {
        let file = tempfile::tempfile_in(directory)?;
        Ok(Self { file, block: Vec::with_capacity(BLOCK), written: 0 })
    }

    pub(super) fn push(&mut self, record: Record) -> io::Result<()> {
        for word in [record.a, record.b, record.out] {
            self.block.extend_from_slice(&word.to_le_bytes());
        }
        if self.block.len() >= BLOCK {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.write_all(&self.block)?;
        self.written += self.block.len() as u64;
        self.block.clear();
        Ok(())
    }

    /// The tape, to be read from its end.
    pub(super) fn backwards(mut self) -> io::Result<Backwards> {
        self.flush()?;
        Ok(Backwards { file: self.file, block: self.block, left: self.written })
    }
}

/// A tape that is read from its end; what was read is cut off, so that two tapes that are read and
/// written in turn take the space of one.
pub(super) struct Backwards {
    file: File,
    block: Vec<u8>,
    /// Bytes before the block.
    left: u64,
}

impl Backwards {
    /// The record before the one that was returned last.
    pub(super) fn next(&mut self) -> io::Result<Option<Record>> {
        if self.block.is_empty() && !self.fill()? {
            return Ok(None);
        }
        let Some((rest, record)) = self.block.split_last_chunk::<BYTES>() else { return Ok(None) };
        let word = |i: usize| u32::from_le_bytes([0, 1, 2, 3].map(|j| record[4 * i + j]));
        let record = Record { a: word(0), b: word(1), out: word(2) };
        self.block.truncate(rest.len());
        Ok(Some(record))
    }

    /// Reads the block before; false if there is none.
    fn fill(&mut self) -> io::Result<bool> {
        let bytes = self.left.min(BLOCK as u64);
        self.left -= bytes;
        self.block.resize(bytes as usize, 0);
        self.file.seek(SeekFrom::Start(self.left))?;
        self.file.read_exact(&mut self.block)?;
        self.file.set_len(self.left)?;
        Ok(bytes > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_comes_back_in_reverse() {
        let dir = tempfile::tempdir().expect("a directory");
        for count in [0u32, 1, 2, (BLOCK / BYTES) as u32, 3 * (BLOCK / BYTES) as u32 + 7] {
            let mut tape = Tape::new(dir.path()).expect("a tape");
            let record = |i: u32| Record { a: i, b: !i, out: i.wrapping_mul(77) };
            (0..count).for_each(|i| tape.push(record(i)).expect("written"));
            let mut back = tape.backwards().expect("written");
            for i in (0..count).rev() {
                assert_eq!(back.next().expect("read"), Some(record(i)));
            }
            assert_eq!(back.next().expect("read"), None);
            assert_eq!(back.file.metadata().expect("its size").len(), 0);
        }
    }
}
