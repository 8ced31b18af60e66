//! Permutation bits of hashed wires, for a receiver that has got the seeds that it did not watch.
//!
//! **Why one more symbol is enough.** The watched symbols of a permutation message lack one to determine it. With the seeds of the
//! other places and what was kept of the wire's corrections, each of these places gives that symbol.
//! **Why not any of them.** Corrections there were never looked at: the sender may have chosen them for other symbols. So the receiver keeps
//! a [`Statement`] of each batch: what the answer to its consistency check says about the stream of each place, hashed to a block,
//!
//!   T_i = H(Y_c(x_i) - sum over vectors v of chi_{c,v} times the corrections of place i, c-th mask included, for all c).
//!
//! A place is *clean* for the batch if its stream has these sums. The answer is right wherever the receiver looks; so two clean places and the
//! watched ones, w + 2 > k in number, have right sums of symbols. If these symbols were not all of words of the code, their sums would be with
//! probability |F|^-t, whatever the answer: C(n - w, 2) |F|^-t <= 2^-87 a batch at rho = 40. Hence all clean places give the same bits. If none
//! is clean, the sender has guessed all places that are watched, 1 / C(n, w), which it must to open another message as well.
//! **Work.** The same whichever places are clean: all streams are summed, all symbols decoded, one of them selected.
//! **Costs.** A statement: n + 2 blocks a batch. A wire: 18 bytes of corrections at rho = 40, in two blocks.

use cenote_pool::params::HashCodes;
use cenote_prim::field::{Field, Matrix};
use cenote_prim::planes::{PlaneMap, combine, from_blocks, unpack6, xor_into};
use cenote_prim::seeds::SeedBank;
use cenote_prim::{Block, RandomOracle, Secret, SessionId};
use zeroize::Zeroizing;

use super::Watch;
use super::code::{Code, Coefficients, STRIP, points, secret_points, strips};
use super::planes::Planes;
use crate::backends::jimu::ihash::{LANES, Statement};

/// What a receiver with all seeds decodes by.
pub struct ReedSolomonEscrow {
    code: Code,
    /// Watched streams, then the others.
    bank: SeedBank,
    /// The places of the others.
    others: Secret<Vec<u8>>,
    /// From all streams, in the order of the bank, and all corrections to the hidden symbols by each of the other places.
    hidden: PlaneMap,
}

impl ReedSolomonEscrow {
    /// From what is watched of the code of permutation messages, and what is not. Secret.
    ///
    /// # Panics
    /// If both together are not all places.
    #[must_use]
    pub fn new(codes: &HashCodes, watched: Watch<'_>, others: Watch<'_>) -> ReedSolomonEscrow {
        let code = Code::perms(codes);
        let all = secret_points(&[watched.positions, others.positions]);
        assert_eq!((all.len(), watched.positions.len()), (code.n, code.w));
        let mut hidden = Matrix::zero(code.field, others.positions.len(), code.n);
        for (row, place) in others.positions.iter().enumerate() {
            let from = secret_points(&[watched.positions, &[*place]]);
            let weights = code.interpolation(&from, &code.extra_points());
            (0..code.w).for_each(|i| hidden.set(row, i, weights.at(0, i)));
            hidden.set(row, code.w + row, weights.at(0, code.w));
        }
        let seeds: Secret<Vec<Block>> = watched.seeds.iter().chain(others.seeds).copied().collect();
        ReedSolomonEscrow {
            bank: SeedBank::new(&seeds),
            others: others.positions.iter().copied().collect(),
            hidden: PlaneMap::new(&hidden.mul(&code.selection(&all))),
            code,
        }
    }

    /// Blocks of the corrections that are kept of a wire.
    #[must_use]
    pub fn correction_blocks(codes: &HashCodes) -> usize {
        Code::perms(codes).correction_planes().div_ceil(size_of::<Block>())
    }

    /// Which of the other places is the first clean one of a batch: at most one.
    #[must_use]
    pub fn clean(&self, statement: &Statement) -> Secret<Vec<bool>> {
        let Code { field, w, n, .. } = self.code;
        let (count, lanes) = (n - w, statement.vectors as usize * LANES);
        let sacrificed = statement.sacrificed as usize;
        let factors = Coefficients::expand(
            &self.code,
            statement.seed,
            statement.vectors as usize,
            sacrificed,
        );
        let (mut streams, mut sums) = (Planes::default(), Planes::default());
        let sums = sums.get(factors.combinations() * count, LANES);
        for (at, width) in strips(lanes) {
            let streams = streams.get(count, width);
            self.bank.fill(w..n, statement.first + at as u64, width, field.mask(), streams);
            let part = factors.of_strip(at, width);
            combine(field, &part, factors.combinations(), streams, count, width, sums);
        }
        let hashes: Secret<Vec<Block>> =
            (0..count).map(|row| hash(statement.seed, &self.others, row, sums, count)).collect();
        let mut found = false;
        let first = hashes.iter().zip(self.others.iter()).map(|(hash, place)| {
            let clean = hash.ct_eq(at(&statement.sums, *place));
            let first = clean & !found;
            found |= clean;
            first
        });
        first.collect()
    }

    /// The permutation bits of `wires` wires from number `first` on, whose corrections are every `stride` blocks of `corrections`, by the place
    /// that `clean` says; zeros if it says none.
    #[must_use]
    pub fn bits(
        &self,
        first: u64,
        wires: usize,
        (corrections, stride): (&[Block], usize),
        clean: &[bool],
    ) -> Zeroizing<Vec<bool>> {
        let Code { field, n, .. } = self.code;
        let (parity, packed) = (self.code.parity(), self.code.correction_planes());
        let (mut input, mut room, mut hidden) =
            (Planes::default(), Planes::default(), Planes::default());
        let mut bits = Zeroizing::new(Vec::with_capacity(wires));
        let mut blocks = Zeroizing::new(vec![Block::ZERO; STRIP]);
        for at in (0..wires).step_by(STRIP) {
            let count = STRIP.min(wires - at);
            let lanes = count.next_multiple_of(LANES);
            let input = input.get(n + parity, lanes);
            let (streams, symbols) = input.split_at_mut(n * lanes);
            self.bank.gather(0..n, &[first + at as u64], count, field.mask(), lanes, streams);
            let planes = room.get(packed, lanes);
            for (part, planes) in planes.chunks_mut(size_of::<Block>() * lanes).enumerate() {
                for (lane, block) in blocks[..lanes].iter_mut().enumerate() {
                    let place = (at + lane) * stride + part;
                    *block = corrections.get(place).copied().unwrap_or_default();
                }
                from_blocks(&blocks, 1, 0, planes, lanes);
            }
            match field {
                // Its padding was found to be zero when it came.
                Field::Gf64 => _ = unpack6(planes, lanes, symbols),
                Field::Gf256 => symbols.copy_from_slice(planes),
            }
            let hidden = hidden.get(self.hidden.rows(), lanes);
            self.hidden.apply(input, hidden, lanes);
            bits.extend((0..count).map(|lane| {
                let planes = hidden.chunks_exact(lanes).zip(clean);
                planes.fold(false, |bit, (plane, clean)| bit ^ ((plane[lane] & 1 == 1) & *clean))
            }));
        }
        bits
    }
}

/// The statement about a batch: the answer of its check, `answer`, which passed, and the sums of the corrections of the places behind k.
pub(super) fn state(
    code: &Code,
    (first, vectors, sacrificed): (u64, usize, usize),
    seed: Block,
    answer: &[u8],
    corrections: &[u8],
) -> Statement {
    let Code { n, k, field, combinations, .. } = *code;
    let to_all = PlaneMap::new(&code.interpolation(&code.form_points(), &points(0..n)));
    let (blocks, parity) = (code.form_blocks(), code.parity());
    let mut forms = vec![Block::ZERO; LANES * blocks];
    let mut sums = Planes::default();
    let sums = sums.get(combinations * n, LANES);
    let (mut form, mut packed) = (Planes::default(), Planes::default());
    let parts = answer.chunks_exact(size_of::<Block>() * forms.len());
    let of_corrections = corrections.chunks_exact(parity * LANES);
    for ((part, corrections), sums) in
        parts.zip(of_corrections).zip(sums.chunks_exact_mut(n * LANES))
    {
        Block::as_bytes_mut(&mut forms).copy_from_slice(part);
        let form = form.get(k, LANES);
        match field {
            Field::Gf64 => {
                let packed = packed.get(cenote_prim::planes::packed6(k), LANES);
                packed.fill(0);
                from_blocks(&forms, 1, 0, &mut packed[..size_of::<Block>() * LANES], LANES);
                // The answer has the tags of words, which have nothing behind the last symbol.
                let _ = unpack6(packed, LANES, form);
            }
            Field::Gf256 => {
                for (block, planes) in form.chunks_exact_mut(size_of::<Block>() * LANES).enumerate()
                {
                    from_blocks(&forms, blocks, block, planes, LANES);
                }
            }
        }
        to_all.apply(form, sums, LANES);
        xor_into(&mut sums[k * LANES..], corrections);
    }
    let places = points(0..n);
    Statement {
        first,
        vectors: vectors as u64,
        sacrificed: sacrificed as u64,
        seed,
        sums: (0..n).map(|row| hash(seed, &places, row, sums, n)).collect(),
    }
}

/// The hash of the sums in row `row` of `count`, that of place number `places[row]`.
fn hash(seed: Block, places: &[u8], row: usize, sums: &[u8], count: usize) -> Block {
    // Coefficients have their seed from the session, the batch and its coin.
    let oracle = RandomOracle::new("cenote 2026 engine jimu statement v1", &SessionId([0; 32]));
    let oracle = oracle.blocks(&[seed]).number(places[row].into());
    let own = sums.chunks_exact(count * LANES).map(|sums| &sums[row * LANES..][..LANES]);
    oracle.bytes(&Zeroizing::new(own.collect::<Vec<_>>().concat())).block()
}

/// The block at a secret place.
fn at(blocks: &[Block], place: u8) -> Block {
    let pick = |(own, block): (u8, &Block)| {
        block.times(Block::new(own.into()).ct_eq(Block::new(place.into())))
    };
    (0..=u8::MAX).zip(blocks).map(pick).fold(Block::ZERO, |sum, block| sum ^ block)
}
