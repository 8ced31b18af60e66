//! Many generators that are read side by side, of which only sums are wanted.

use zeroize::Zeroizing;

use crate::Block;
use crate::aes::Aes128;
use crate::simd::Cpu;
use crate::simd::aes::Schedule;
use crate::simd::streams;

/// The streams of [`Prg`](crate::Prg)s with 2^k seeds, all at the same place; wiped when dropped.
pub struct Streams {
    form: Form,
    counter: u128,
}

enum Form {
    Portable(Vec<Aes128>),
    Vector(Cpu, Vec<Schedule>),
}

impl Streams {
    /// The streams with these seeds.
    ///
    /// # Panics
    /// If their number is no power of 2 or below 2.
    pub fn new(seeds: &[Block]) -> Streams {
        Streams::on(Cpu::current(), seeds)
    }

    fn on(cpu: Option<Cpu>, seeds: &[Block]) -> Streams {
        assert!(seeds.len().is_power_of_two() && seeds.len() > 1);
        let form = match cpu {
            Some(cpu) => {
                Form::Vector(cpu, seeds.iter().map(|seed| Schedule::new(cpu, *seed)).collect())
            }
            None => Form::Portable(seeds.iter().map(|seed| Aes128::on(None, *seed)).collect()),
        };
        Streams { form, counter: 0 }
    }

    /// Takes the next `sum.len()` blocks of every stream. Sets `sum` to their sum, and the beginning of
    /// `by_bit[b]` to the sum of those streams whose number has bit `b`.
    ///
    /// # Panics
    /// If there are not k rows in `by_bit`, or they are shorter than `sum`.
    pub fn fold<const N: usize>(&mut self, sum: &mut [Block], by_bit: &mut [[Block; N]]) {
        let first = self.counter;
        self.counter = first.wrapping_add(sum.len() as u128);
        match &self.form {
            Form::Vector(cpu, schedules) => {
                assert_eq!(schedules.len(), 1 << by_bit.len());
                streams::fold(*cpu, schedules, first, sum, by_bit);
            }
            Form::Portable(streams) => {
                assert_eq!(streams.len(), 1 << by_bit.len());
                by_bit.iter_mut().for_each(|row| row[..sum.len()].fill(Block::ZERO));
                sum.fill(Block::ZERO);
                let mut row = Zeroizing::new(vec![Block::ZERO; sum.len()]);
                for (i, stream) in streams.iter().enumerate() {
                    stream.counter_stream(first, &mut row);
                    add(sum, &row);
                    let bits = by_bit.iter_mut().enumerate().filter(|(b, _)| i >> b & 1 == 1);
                    bits.for_each(|(_, sum)| add(sum, &row));
                }
            }
        }
    }
}

fn add(sum: &mut [Block], row: &[Block]) {
    sum.iter_mut().zip(row).for_each(|(sum, block)| *sum ^= *block);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Prg;

    #[test]
    fn sums_are_those_of_the_generators_at_every_level_number_and_length() {
        for k in [1, 2, 4, 5, 8] {
            let mut seeds = vec![Block::ZERO; 1 << k];
            Prg::new(Block::new(k as u128)).fill(&mut seeds);
            for cpu in Cpu::all() {
                let mut prgs: Vec<Prg> = seeds.iter().map(|seed| Prg::new(*seed)).collect();
                let mut streams = Streams::on(cpu, &seeds);
                for len in [40, 1, 3, 4, 0, 8, 9, 17, 64] {
                    let (mut sum, mut by_bit) = (vec![Block::ONE; len], vec![[Block::ONE; 64]; k]);
                    streams.fold(&mut sum, &mut by_bit);
                    let mut expected = vec![vec![Block::ZERO; len]; k + 1];
                    for (i, prg) in prgs.iter_mut().enumerate() {
                        let mut row = vec![Block::ZERO; len];
                        prg.fill(&mut row);
                        add(&mut expected[k], &row);
                        (0..k)
                            .filter(|b| i >> b & 1 == 1)
                            .for_each(|b| add(&mut expected[b], &row));
                    }
                    assert!(sum == expected[k]);
                    for (row, expected) in by_bit.iter().zip(expected) {
                        assert!(
                            row[..len] == expected && row[len..].iter().all(|x| *x == Block::ONE)
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn seeds_are_wiped_when_dropped() {
        assert!(std::mem::needs_drop::<Schedule>());
        assert!(std::mem::needs_drop::<Aes128>());
    }
}
