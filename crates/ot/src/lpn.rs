//! What an extension of silent OT gives: leaves of a forest plus a sparse public code on a short secret,
//! written down a tree at a time when somebody takes it.
//!
//! Output p is leaf p plus the sum of ten blocks of the secret, one from each tenth of it, so that no two of
//! them cancel. A place in its tenth is a 32-bit word of a public stream times the length of a tenth, shifted
//! down: uniform but for 2^-18 of a place's share. The stream is AES-128 in counter mode under a key that
//! depends on the set-up, from a counter of its own for each extension.

use std::collections::VecDeque;

use cenote_prim::aes::Aes128;
use cenote_prim::places::{add_rows, spread};
use cenote_prim::{Block, Secret, prefer_large_pages};

use crate::half_tree::Forest;
use crate::noise::{Params, WEIGHT};

/// Outputs whose places are drawn at a time.
const BATCH: usize = 128;

/// Places of a batch.
const PLACES: usize = WEIGHT * BATCH;

/// The code of one extension.
pub(crate) struct Code {
    stream: Aes128,
    first: u128,
    length: usize,
    /// Where the parts of the secret begin that the words of a batch are for.
    starts: [u32; PLACES],
}

impl Code {
    /// The code of extension `number`; `seed` is that of the set-up, `length` a multiple of ten.
    pub(crate) fn new(seed: Block, number: u64, length: usize) -> Code {
        let starts = std::array::from_fn(|i| (i % WEIGHT * (length / WEIGHT)) as u32);
        Code { stream: Aes128::new(seed), first: u128::from(number) << 64, length, starts }
    }

    /// Adds to outputs from `position` on, a multiple of 4, what the code makes of `secret`.
    fn add(&self, secret: &[Block], position: usize, outputs: &mut [Block]) {
        let secret = &secret[..self.length];
        let mut places = [Block::ZERO; PLACES / 4];
        for (i, outputs) in outputs.chunks_mut(BATCH).enumerate() {
            let blocks = &mut places[..(WEIGHT * outputs.len()).div_ceil(4)];
            let rows = self.places(position + i * BATCH, blocks);
            add_rows(secret, rows, outputs);
        }
    }

    /// The places of outputs from `position` on, a multiple of 4, up to a batch: place i of an output is in
    /// tenth i.
    fn places<'a>(&self, position: usize, blocks: &'a mut [Block]) -> &'a [[u32; WEIGHT]] {
        self.stream.counter_stream(self.first + (WEIGHT * position / 4) as u128, blocks);
        let words: &mut [u32] = bytemuck::cast_slice_mut(blocks);
        spread(words, (self.length / WEIGHT) as u32, &self.starts);
        words.as_chunks().0
    }
}

/// What one extension gives.
pub(crate) struct Outputs<F> {
    params: Params,
    code: Code,
    forest: F,
    secret: Secret<Vec<Block>>,
}

impl<F: Forest> Outputs<F> {
    pub(crate) fn new(params: Params, code: Code, forest: F, secret: Secret<Vec<Block>>) -> Self {
        Outputs { params, code, forest, secret }
    }

    /// The trees.
    pub(crate) const fn forest(&self) -> &F {
        &self.forest
    }

    /// The first outputs, which the next extension starts from and nobody is given.
    pub(crate) fn reserve(&self) -> Secret<Vec<Block>> {
        let (reserve, leaves) = (self.params.reserve(), self.params.leaves());
        let mut kept = Secret::with_capacity(reserve.next_multiple_of(leaves));
        prefer_large_pages(&kept);
        kept.resize(reserve.next_multiple_of(leaves), Block::ZERO);
        for (tree, out) in kept.chunks_mut(leaves).enumerate() {
            self.tree(tree, out);
        }
        kept.truncate(reserve);
        kept
    }

    /// Writes the outputs of one tree.
    fn tree(&self, tree: usize, out: &mut [Block]) {
        self.forest.leaves(tree, out);
        self.code.add(&self.secret, tree * self.params.leaves(), out);
    }
}

/// Outputs of extensions, in order; each is given once.
pub(crate) struct Stream<F> {
    params: Params,
    queue: VecDeque<Outputs<F>>,
    /// The next tree of the first extension in the queue.
    tree: usize,
    /// Outputs of the tree before it, given up to `given`.
    open: Secret<Vec<Block>>,
    given: usize,
    /// Outputs that are still to be given.
    left: u64,
}

impl<F: Forest> Stream<F> {
    pub(crate) fn new(params: Params) -> Stream<F> {
        let open = Secret::new(vec![Block::ZERO; params.leaves()]);
        let given = open.len();
        Stream { params, queue: VecDeque::new(), tree: 0, open, given, left: 0 }
    }

    /// Outputs that are left.
    pub(crate) const fn left(&self) -> u64 {
        self.left
    }

    /// Appends an extension, of which those outputs are given that are not its reserve.
    pub(crate) fn append(&mut self, outputs: Outputs<F>) {
        self.left += self.params.output();
        self.queue.push_back(outputs);
        if self.queue.len() == 1 {
            self.start();
        }
    }

    /// Goes to the first output of the first extension that is not reserved.
    fn start(&mut self) {
        let leaves = self.params.leaves();
        self.tree = self.params.reserve() / leaves;
        self.given = leaves;
        if !self.params.reserve().is_multiple_of(leaves) {
            self.open();
            self.given = self.params.reserve() % leaves;
        }
    }

    /// Writes down the next tree.
    fn open(&mut self) {
        if let Some(outputs) = self.queue.front() {
            outputs.tree(self.tree, &mut self.open);
            (self.tree, self.given) = (self.tree + 1, 0);
        }
    }

    /// Gives the next outputs, of which there are as many.
    pub(crate) fn give(&mut self, mut out: &mut [Block]) {
        let leaves = self.params.leaves();
        while !out.is_empty() {
            if self.given == leaves && self.tree == self.params.trees {
                self.queue.pop_front();
                self.start();
            } else if self.given < leaves {
                let n = out.len().min(leaves - self.given);
                let (now, later) = out.split_at_mut(n);
                now.copy_from_slice(&self.open[self.given..self.given + n]);
                (self.given, self.left, out) = (self.given + n, self.left - n as u64, later);
            } else if out.len() >= leaves {
                let (now, later) = out.split_at_mut(leaves);
                self.queue[0].tree(self.tree, now);
                (self.tree, self.left, out) = (self.tree + 1, self.left - leaves as u64, later);
            } else {
                self.open();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cenote_prim::Prg;

    fn outputs(code: &Code, secret: &[Block], position: usize, n: usize) -> Vec<Block> {
        let mut outputs = vec![Block::ZERO; n];
        code.add(secret, position, &mut outputs);
        outputs
    }

    /// One place from each tenth of the secret, so that none cancels another, and every one of them at times.
    #[test]
    fn a_row_has_a_place_in_each_tenth() {
        for length in [60, 700, Params::default().secret] {
            let code = Code::new(Block::new(2), 3, length);
            let mut places = vec![false; length];
            for batch in 0..512 {
                let mut blocks = [Block::ZERO; PLACES / 4];
                for row in code.places(batch * BATCH, &mut blocks) {
                    let parts = row.map(|place| place as usize / (length / WEIGHT));
                    assert_eq!(parts, std::array::from_fn(|part| part));
                    row.iter().for_each(|place| places[*place as usize] = true);
                }
            }
            // 65536 rows leave e^-4.4 of the longest secret out, which is 1797 +- 6 sigma (sigma 42).
            assert!(places.iter().filter(|hit| !**hit).count() < 2050);
        }
    }

    /// Places as the stream has them, ten for each output, however the outputs are cut.
    #[test]
    fn an_output_has_ten_places_of_its_own() {
        const LENGTH: usize = 700;
        let mut secret = vec![Block::ZERO; LENGTH];
        Prg::new(Block::new(1)).fill(&mut secret);
        let code = Code::new(Block::new(2), 3, LENGTH);
        let all = outputs(&code, &secret, 0, 1000);
        assert_eq!(outputs(&code, &secret, 300, 700), all[300..]);
        let mut stream = vec![Block::ZERO; 2500];
        Aes128::new(Block::new(2)).counter_stream(3 << 64, &mut stream);
        let words: &[u32] = bytemuck::cast_slice(&stream);
        let mut hits = vec![0u32; LENGTH];
        for (output, words) in all.iter().zip(words.chunks(WEIGHT)) {
            let tenths = words.iter().zip((0..LENGTH).step_by(LENGTH / WEIGHT));
            let places = tenths.map(|(word, at)| at + ((*word as usize * LENGTH / WEIGHT) >> 32));
            let sum = places.inspect(|place| hits[*place] += 1);
            assert_eq!(*output, sum.fold(Block::ZERO, |sum, place| sum ^ secret[place]));
        }
        // 10000 in 700 places: 14.3 +- 6 sigma (sigma 3.8).
        assert!(hits.iter().all(|n| *n <= 37));
    }

    #[test]
    fn codes_of_other_seeds_and_extensions_differ() {
        let mut secret = vec![Block::ZERO; 260];
        Prg::new(Block::new(1)).fill(&mut secret);
        let codes = [(2, 0), (3, 0), (2, 1)].map(|(seed, number)| {
            outputs(&Code::new(Block::new(seed), number, 260), &secret, 0, 64)
        });
        for (i, a) in codes.iter().enumerate() {
            assert!(codes[i + 1..].iter().all(|b| a.iter().zip(b).all(|(a, b)| a != b)));
        }
    }
}
