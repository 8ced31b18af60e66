//! Many pseudorandom streams of bytes, read side by side or at scattered places.

use std::fmt;
use std::ops::Range;

use zeroize::Zeroizing;

use crate::Block;
use crate::aes::Aes128;
use crate::planes::VECTOR;
use crate::simd::Cpu;
use crate::simd::seeds::Bank;

/// Bytes of a block.
const BYTES: u64 = size_of::<Block>() as u64;

/// AES-128 in counter mode under many seeds: byte `j` of stream `i` is byte `j % 16` of the
/// encryption of the integer `j / 16` under seed `i`. Wiped when dropped.
pub struct SeedBank(Form);

enum Form {
    Portable(Vec<Aes128>),
    Vector(Cpu, Bank),
}

impl SeedBank {
    /// The streams under these seeds.
    pub fn new(seeds: &[Block]) -> SeedBank {
        SeedBank::on(Cpu::current(), seeds)
    }

    /// The streams for use on `cpu`.
    fn on(cpu: Option<Cpu>, seeds: &[Block]) -> SeedBank {
        SeedBank(match cpu {
            None => Form::Portable(seeds.iter().map(|seed| Aes128::on(None, *seed)).collect()),
            Some(cpu) => Form::Vector(cpu, Bank::new(cpu, seeds)),
        })
    }

    /// The number of streams.
    pub fn len(&self) -> usize {
        match &self.0 {
            Form::Portable(streams) => streams.len(),
            Form::Vector(_, bank) => bank.len(),
        }
    }

    /// Whether there is no stream.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes a plane of `lanes` bytes for each of the streams: those from byte `first` on, and
    /// with `mask`.
    ///
    /// # Panics
    /// If there are not so many streams, `first` is not a multiple of 16 or `lanes` not one of 64,
    /// or `out` has not as many planes as there are streams.
    pub fn fill(&self, streams: Range<usize>, first: u64, lanes: usize, mask: u8, out: &mut [u8]) {
        assert!(lanes.is_multiple_of(VECTOR) && first.is_multiple_of(BYTES));
        assert!(streams.end <= self.len() && out.len() == streams.len() * lanes);
        if lanes == 0 {
            return;
        }
        let all = match &self.0 {
            Form::Portable(all) => &all[streams],
            Form::Vector(cpu, bank) => {
                return bank.fill(*cpu, streams, first / BYTES, mask, (out, lanes));
            }
        };
        for (stream, row) in all.iter().zip(out.chunks_exact_mut(lanes)) {
            read_portable(stream, first, mask, row);
        }
    }

    /// Writes a plane of `lanes` bytes for each of the streams: for each start s, in order, the
    /// `width` bytes from s on, and with `mask`; then zeros. The starts are public.
    ///
    /// # Panics
    /// If there are not so many streams, `lanes` is not a multiple of 64 or below
    /// `starts.len() * width`, or `out` has not as many planes as there are streams.
    pub fn gather(
        &self,
        streams: Range<usize>,
        starts: &[u64],
        width: usize,
        mask: u8,
        lanes: usize,
        out: &mut [u8],
    ) {
        assert!(lanes.is_multiple_of(VECTOR) && starts.len() * width <= lanes);
        assert!(streams.end <= self.len() && out.len() == streams.len() * lanes);
        if lanes == 0 {
            return;
        }
        let all = match &self.0 {
            Form::Portable(all) => &all[streams],
            Form::Vector(cpu, bank) => {
                return bank.gather(*cpu, streams, (starts, width), mask, (out, lanes));
            }
        };
        for (stream, row) in all.iter().zip(out.chunks_exact_mut(lanes)) {
            row.fill(0);
            for (i, start) in starts.iter().enumerate() {
                read_portable(stream, *start, mask, &mut row[i * width..(i + 1) * width]);
            }
        }
    }
}

/// Writes the bytes of a stream from `start` on, with `mask`.
fn read_portable(stream: &Aes128, start: u64, mask: u8, out: &mut [u8]) {
    let skip = (start % BYTES) as usize;
    let mut blocks = Zeroizing::new(vec![Block::ZERO; (skip + out.len()).div_ceil(16)]);
    stream.counter_stream((start / BYTES).into(), &mut blocks);
    let bytes = &Block::as_bytes(&blocks)[skip..skip + out.len()];
    out.iter_mut().zip(bytes).for_each(|(out, byte)| *out = byte & mask);
}

impl fmt::Debug for SeedBank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SeedBank({})", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Prg;

    fn seeds(count: usize) -> Vec<Block> {
        let mut seeds = vec![Block::ZERO; count];
        Prg::new(Block::new(6)).fill(&mut seeds);
        seeds
    }

    fn byte(seed: Block, j: u64) -> u8 {
        let block = Aes128::on(None, seed).encrypt_one(Block::new((j / 16).into()));
        block.to_bytes()[(j % 16) as usize]
    }

    #[test]
    fn fill_writes_runs_of_the_streams_at_every_level() {
        let seeds = seeds(9);
        for cpu in Cpu::all() {
            let bank = SeedBank::on(cpu, &seeds);
            assert!(bank.len() == 9 && !bank.is_empty());
            let firsts = [0, 16, 160, 16 * u64::from(u32::MAX), u64::MAX - 15];
            for (first, lanes) in firsts.into_iter().zip([64, 704, 0, 256, 128]) {
                for (streams, mask) in [(0..9, 0xff), (2..5, 0x3f), (4..4, 1)] {
                    let mut out = vec![0xee; streams.len() * lanes + 1];
                    bank.fill(streams.clone(), first, lanes, mask, &mut out[1..]);
                    for (i, out) in out[1..].iter().enumerate() {
                        let (row, j) = (i / lanes, (i % lanes) as u64);
                        let block = u128::from(first / 16) + u128::from(j / 16);
                        let aes = Aes128::on(None, seeds[streams.start + row]);
                        let bytes = aes.encrypt_one(Block::new(block)).to_bytes();
                        assert_eq!(*out, bytes[(j % 16) as usize] & mask);
                    }
                }
            }
        }
    }

    #[test]
    fn gather_writes_scattered_pieces_at_every_level() {
        let seeds = seeds(7);
        let scattered = (0..60).map(|i| i * i * 12345 + i);
        // One block again and again, into every vector of the output.
        let starts: Vec<u64> = scattered.chain([40; 10]).chain([14, 15, 13, 0]).collect();
        for cpu in Cpu::all() {
            let bank = SeedBank::on(cpu, &seeds);
            let shapes = [(74, 3, 256), (74, 1, 128), (5, 3, 64), (21, 3, 64), (3, 129, 448)];
            for (count, width, lanes) in
                shapes.into_iter().chain([(64, 2, 128), (9, 0, 64), (0, 3, 0)])
            {
                let starts = &starts[starts.len() - count..];
                for (streams, mask) in [(0..7, 0xff), (3..5, 0x3f)] {
                    let mut out = vec![0xee; streams.len() * lanes + 1];
                    bank.gather(streams.clone(), starts, width, mask, lanes, &mut out[1..]);
                    for (i, out) in out[1..].iter().enumerate() {
                        let (row, at) = (i / lanes, i % lanes);
                        let wanted = match at < count * width {
                            true => byte(
                                seeds[streams.start + row],
                                starts[at / width] + (at % width) as u64,
                            ),
                            false => 0,
                        };
                        assert_eq!(*out, wanted & mask);
                    }
                }
            }
        }
    }

    #[test]
    fn streams_that_do_not_exist_are_refused() {
        for cpu in Cpu::all() {
            let bank = SeedBank::on(cpu, &seeds(5));
            let fill = || bank.fill(4..6, 0, 64, 0xff, &mut [0; 128]);
            assert!(std::panic::catch_unwind(fill).is_err());
            let gather = || bank.gather(5..6, &[0], 3, 0xff, 64, &mut [0; 64]);
            assert!(std::panic::catch_unwind(gather).is_err());
        }
    }

    #[test]
    fn debug_shows_the_number_alone() {
        assert_eq!(format!("{:?}", SeedBank::new(&[Block::ONE])), "SeedBank(1)");
    }
}
