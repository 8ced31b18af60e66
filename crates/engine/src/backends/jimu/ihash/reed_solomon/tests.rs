use cenote_pool::params::{Code as Lengths, HashCodes, hash_codes};
use cenote_prim::Prg;
use cenote_prim::field::{Field, Matrix};

use super::code::{Coefficients, points};
use super::*;
use crate::Rho;
use crate::backends::jimu::ihash::{
    HashReceiver, HashSender, LANES, Label, Message, Perm, Recogniser, Tag, decode, encode,
    encoded_len, pair,
};

/// Seeds of one code, and what the receiver has of them.
pub(super) struct List {
    pub(super) seeds: Vec<Block>,
    pub(super) positions: Vec<u8>,
    known: Vec<Block>,
}

impl List {
    fn draw(lengths: &Lengths, prg: &mut Prg) -> List {
        let mut seeds = vec![Block::ZERO; lengths.n as usize];
        prg.fill(&mut seeds);
        let positions = subset(lengths, prg);
        List::of(seeds, positions)
    }

    fn of(seeds: Vec<Block>, positions: Vec<u8>) -> List {
        let known = positions.iter().map(|place| seeds[usize::from(*place)]).collect();
        List { seeds, positions, known }
    }

    pub(super) fn watch(&self) -> Watch<'_> {
        Watch { positions: &self.positions, seeds: &self.known }
    }
}

/// Random places to watch.
fn subset(lengths: &Lengths, prg: &mut Prg) -> Vec<u8> {
    let mut order: Vec<(u128, u8)> =
        (0..lengths.n as u8).map(|place| (prg.block().to_u128(), place)).collect();
    order.sort_unstable();
    let mut chosen: Vec<u8> = order.iter().take(lengths.w as usize).map(|pair| pair.1).collect();
    chosen.sort_unstable();
    chosen
}

/// Both ends, and who watches what.
pub(super) struct Setup {
    pub(super) lists: [List; 2],
    pub(super) sender: ReedSolomonSender,
    pub(super) receiver: ReedSolomonReceiver,
}

impl Setup {
    fn new(codes: &HashCodes, seed: Block) -> Setup {
        let mut prg = Prg::new(seed);
        let session = SessionId(prg.bytes32());
        let lists = [&codes.labels, &codes.perms].map(|lengths| List::draw(lengths, &mut prg));
        Setup::of(codes, session, lists, &mut prg)
    }

    fn of(codes: &HashCodes, session: SessionId, lists: [List; 2], prg: &mut Prg) -> Setup {
        let [labels, perms] = &lists;
        let sender = ReedSolomonSender::new(codes, session, &labels.seeds, &perms.seeds);
        let (labels, perms) = (labels.watch(), perms.watch());
        let receiver = ReedSolomonReceiver::new(codes, session, labels, perms, prg);
        Setup { lists, sender, receiver }
    }

    pub(super) fn with(rho: Rho, seed: u128) -> Setup {
        Setup::new(&codes(rho), Block::new(seed))
    }

    fn hash(&mut self, lanes: usize) -> (Vec<Message>, Vec<Tag>) {
        hash(&mut self.sender, &mut self.receiver, lanes)
    }

    /// Messages, corrections and tags, with corrections altered on their way.
    fn hash_altered(
        &mut self,
        lanes: usize,
        alter: impl Fn(&mut [u8]),
    ) -> (Vec<Message>, Result<Vec<Tag>, Fault>) {
        let (mut messages, mut corrections, mut tags) = (Vec::new(), Vec::new(), Vec::new());
        self.sender.hash(lanes, &mut messages, &mut corrections);
        alter(&mut corrections);
        let done = self.receiver.hash(lanes, &corrections, &mut tags);
        (messages, done.map(|_| tags))
    }

    fn close(&mut self) {
        let mut corrections = Vec::new();
        self.sender.close(&mut corrections);
        self.receiver.close(&corrections).expect("honest");
    }

    fn finish(&mut self, coin: u128) -> Result<(), Fault> {
        self.close();
        let answer = self.sender.answer(Block::new(coin));
        assert_eq!(answer.len(), self.receiver.answer_len());
        let held = self.receiver.held(Block::new(coin));
        self.receiver.check(&held, &answer)
    }

    fn codes(&self) -> [Code; 2] {
        [self.receiver.labels.code, self.receiver.perms.code]
    }
}

/// Both ends with these codes and watch sets drawn here.
pub(super) fn pair_of(codes: &HashCodes, seed: Block) -> (ReedSolomonSender, ReedSolomonReceiver) {
    let setup = Setup::new(codes, seed);
    (setup.sender, setup.receiver)
}

pub(super) fn codes(rho: Rho) -> HashCodes {
    hash_codes(-rho.epsilon_log2() as u32).expect("in range")
}

fn hash(
    sender: &mut ReedSolomonSender,
    receiver: &mut ReedSolomonReceiver,
    lanes: usize,
) -> (Vec<Message>, Vec<Tag>) {
    let (mut messages, mut corrections, mut tags) = (Vec::new(), vec![7], Vec::new());
    let first = sender.hash(lanes, &mut messages, &mut corrections);
    assert_eq!(corrections.len(), 1 + receiver.corrections_len(lanes));
    assert_eq!(receiver.hash(lanes, &corrections[1..], &mut tags), Ok(first));
    (messages, tags)
}

pub(super) const RHOS: [Rho; 3] = [Rho::Bits40, Rho::Bits64, Rho::Bits80];

#[test]
fn honest_parties_agree_in_every_batch() {
    for rho in RHOS {
        let (mut sender, mut receiver) = pair(rho, Block::new(1));
        for batch in 0..3 {
            for lanes in [64, 1088, 512, 128] {
                let (messages, tags) = hash(&mut sender, &mut receiver, lanes);
                assert!(receiver.agree(&messages, &tags));
                let mut wrong = messages.clone();
                wrong.swap(0, lanes - 1);
                assert!(!receiver.agree(&wrong, &tags));
            }
            let mut corrections = Vec::new();
            sender.close(&mut corrections);
            receiver.close(&corrections).expect("honest");
            assert_eq!(corrections.len(), receiver.corrections_len(receiver.sacrificed()));
            let coin = Block::new(batch);
            let held = receiver.held(coin);
            assert_eq!(receiver.check(&held, &sender.answer(coin)), Ok(()));
        }
    }
}

#[test]
fn codes_of_any_length_work() {
    // From words that are all message, over the longest in the smaller field, to the longest.
    for rho in [1, 20, 53, 54, 92] {
        let mut setup = Setup::new(&hash_codes(rho).expect("in range"), Block::new(20));
        let (mut messages, tags) = setup.hash(128);
        assert!(setup.receiver.agree(&messages, &tags));
        let other = messages[126].perm;
        messages[127].perm ^= other;
        assert!(!setup.receiver.agree(&messages, &tags));
        assert_eq!(setup.finish(1), Ok(()));
    }
}

#[test]
fn a_batch_may_be_empty_and_a_call_as_well() {
    let mut setup = Setup::with(Rho::Bits40, 2);
    assert_eq!(setup.finish(1), Ok(()));
    assert!(setup.hash(0).0.is_empty());
    assert!(setup.receiver.agree(&[], &[]));
    assert_eq!(setup.finish(2), Ok(()));
}

#[test]
fn messages_are_the_same_again() {
    for rho in RHOS {
        let mut setup = Setup::with(rho, 3);
        let mut all = setup.hash(1600).0;
        all.extend(setup.hash(1472).0);
        let mut prg = Prg::new(Block::new(4));
        let mut below = |bound: usize| (prg.block().to_u128() % bound as u128) as usize;
        let mut found = Vec::new();
        for width in [0, 1, 2, 3, 9, 63, 64, 65, 500, 512, 513, 1100] {
            for count in [0, 1, 5, 9, 64, 130] {
                let starts: Vec<u64> =
                    (0..count).map(|_| below(all.len() - width + 1) as u64).collect();
                setup.sender.again(&starts, width, &mut found);
                assert_eq!(found.len(), count * width);
                for (i, message) in found.iter().enumerate() {
                    let expected = &all[starts[i / width] as usize + i % width];
                    assert_eq!(bytemuck::bytes_of(message), bytemuck::bytes_of(expected));
                }
            }
        }
    }
}

#[test]
fn tags_are_linear_and_solders_agree() {
    for rho in RHOS {
        let mut setup = Setup::with(rho, 5);
        let (messages, tags) = setup.hash(256);
        let delta = messages[0].label;
        for (i, shift) in (1..200).zip([false, true].into_iter().cycle()) {
            let (a, b) = (&messages[i], &messages[i + 50]);
            let sum = tags[i] ^ tags[i + 50];
            assert!(setup.receiver.agree(&[*a ^ *b], &[sum]));
            let solder = a.solder(b, shift, &delta);
            let differ = solder.perm.bit() ^ shift;
            let label = sum.label ^ tags[0].label.times(differ);
            assert!(setup.receiver.agree(&[solder], &[Tag { label, perm: sum.perm }]));
            let other = sum.label ^ tags[0].label.times(!differ);
            assert!(!setup.receiver.agree(&[solder], &[Tag { label: other, perm: sum.perm }]));
        }
    }
}

#[test]
fn tags_of_labels_are_those_that_agree() {
    let mut setup = Setup::with(Rho::Bits40, 6);
    let (messages, tags) = setup.hash(128);
    let labels: Vec<Label> = messages.iter().map(|message| message.label).collect();
    let mut found = vec![Block::ZERO; 128];
    setup.receiver.tags_of_labels(&labels, &mut found);
    for (i, tag) in tags.iter().enumerate() {
        assert_eq!(found[i], tag.label);
        assert!(setup.receiver.labels_agree(&labels[i], tag.label));
        assert!(!setup.receiver.labels_agree(&labels[i], tags[(i + 1) % 128].label));
    }
}

#[test]
fn secrets_are_independent_of_whatever_is_watched() {
    let mut prg = Prg::new(Block::new(7));
    for rho in RHOS {
        let codes = codes(rho);
        for (code, lengths) in
            [(Code::labels(&codes), &codes.labels), (Code::perms(&codes), &codes.perms)]
        {
            for trial in 0..8 {
                // The first places are those whose symbols are the streams themselves.
                let watched = match trial {
                    0 => points(0..code.w),
                    1 => points(code.n - code.w..code.n),
                    _ => subset(lengths, &mut prg),
                };
                let seen = [watched, code.extra_points()].concat();
                let matrix = Matrix::interpolation(code.field, &points(0..code.k), &seen);
                assert!(matrix.inverse().is_some());
            }
        }
    }
}

/// The form of the word of `code` with these values at these points.
fn word(code: &Code, from: &[u8], values: &[u8]) -> Vec<Block> {
    let to_form = Matrix::interpolation(code.field, from, &code.form_points());
    let column = Matrix::new(code.field, code.k, 1, values.to_vec());
    let form = to_form.mul(&column);
    let mut blocks = vec![Block::ZERO; code.form_blocks()];
    match code.field {
        Field::Gf64 => {
            let packed = form.entries().iter().rev();
            let sum = packed.fold(0, |sum, symbol| sum << 6 | u128::from(*symbol));
            blocks[0] = Block::new(sum);
        }
        Field::Gf256 => Block::as_bytes_mut(&mut blocks).copy_from_slice(form.entries()),
    }
    blocks
}

/// A message that is this word of one of the codes.
fn message(part: usize, form: &[Block]) -> Message {
    let mut message = Message::ZERO;
    let at = [0, code::LABEL_BLOCKS][part];
    let blocks: &mut [Block] = bytemuck::cast_slice_mut(std::slice::from_mut(&mut message));
    blocks[at..at + form.len()].copy_from_slice(form);
    message
}

#[test]
fn a_tag_knows_the_watched_symbols_all_of_them_and_nothing_else() {
    let mut prg = Prg::new(Block::new(8));
    for rho in RHOS {
        let mut setup = Setup::with(rho, 9);
        let (messages, tags) = setup.hash(64);
        for (part, code) in setup.codes().iter().enumerate() {
            let from = [&setup.lists[part].positions[..], &code.extra_points()].concat();
            for place in 0..code.k {
                let mut values = vec![0; code.k];
                values[place] = 1 + prg.block().to_bytes()[0] % code.field.mask();
                let wrong = messages[5] ^ message(part, &word(code, &from, &values));
                let unseen = place >= code.w;
                assert_eq!(setup.receiver.agree(&[wrong], &tags[5..6]), unseen, "{place}");
            }
        }
    }
}

#[test]
fn every_byte_of_a_message_counts() {
    for rho in RHOS {
        let mut setup = Setup::with(rho, 10);
        let (mut messages, tags) = setup.hash(64);
        for byte in 0..size_of::<Message>() {
            for bit in 0..8 {
                bytemuck::bytes_of_mut(&mut messages[63])[byte] ^= 1 << bit;
                // Padding included: both bits and the block that one-block messages have too many.
                assert!(!setup.receiver.agree(&messages, &tags), "byte {byte} bit {bit}");
                bytemuck::bytes_of_mut(&mut messages[63])[byte] ^= 1 << bit;
            }
        }
        assert!(setup.receiver.agree(&messages, &tags));
    }
}

/// Changes symbol `row` of the corrections of one lane.
fn alter(code: &Code, rows: &mut [u8], lanes: usize, lane: usize, row: usize, by: u8) {
    match code.field {
        Field::Gf256 => rows[row * lanes + lane] ^= by,
        Field::Gf64 => {
            let (byte, bit) = (6 * row / 8, 6 * row % 8);
            let shifted = (u16::from(by) << bit).to_le_bytes();
            for (i, by) in shifted.into_iter().enumerate().filter(|(_, by)| *by != 0) {
                rows[(byte + i) * lanes + lane] ^= by;
            }
        }
    }
}

#[test]
fn a_wrong_correction_is_noticed_exactly_if_it_is_watched() {
    for rho in [Rho::Bits40, Rho::Bits64] {
        let codes = codes(rho);
        for part in 0..2 {
            let parity = [codes.labels, codes.perms][part].parity() as usize;
            for row in 0..parity {
                let (lanes, lane) = (640, 639 - 3 * row);
                let mut setup = Setup::with(rho, 100 + row as u128);
                setup.hash(64);
                let code = setup.codes()[part];
                let skip = part * setup.codes()[0].correction_planes() * lanes;
                let (messages, tags) = setup.hash_altered(lanes, |corrections| {
                    alter(&code, &mut corrections[skip..], lanes, lane, row, 33);
                });
                let tags = tags.expect("well formed");
                let watched = setup.lists[part].positions.contains(&((code.k + row) as u8));
                assert_eq!(setup.receiver.agree(&messages, &tags), !watched);
                assert!(setup.receiver.agree(&messages[..lane], &tags[..lane]));
                assert!(setup.receiver.agree(&messages[lane + 1..], &tags[lane + 1..]));
                let found = setup.finish(1);
                assert_eq!(found, if watched { Err(CODEWORD) } else { Ok(()) }, "{row}");
            }
        }
    }
}

/// Codes so short that cheating pays.
fn short() -> HashCodes {
    HashCodes {
        labels: Lengths { field_bits: 8, n: 52, k: 48, w: 32 },
        perms: Lengths { field_bits: 6, n: 24, k: 21, w: 20 },
        label_combinations: 5,
        perm_combinations: 7,
    }
}

/// Within five standard deviations of what is expected.
fn is_binomial(hits: u32, trials: u32, p: f64) -> bool {
    let (mean, trials) = (f64::from(trials) * p, f64::from(trials));
    (f64::from(hits) - mean).abs() <= 5.0 * (trials * p * (1.0 - p)).sqrt()
}

/// The share of watch sets that miss `places` given ones, given that they miss `before` others.
fn missed(lengths: &Lengths, places: u32, before: u32) -> f64 {
    let left = f64::from(lengths.n - before);
    (0..places).map(f64::from).map(|i| (left - f64::from(lengths.w) - i) / (left - i)).product()
}

/// Hashes a word that differs at two places from one word of the code and at the n - k - 1 others
/// where words must differ from another. Returns whether it opens as the one, whether it passes the
/// check, and whether it opens as the other.
fn half_way(codes: &HashCodes, seed: Block, part: usize) -> (bool, bool, bool) {
    let mut setup = Setup::new(codes, seed);
    let code = setup.codes()[part];
    let known = points(0..code.k);
    let mut values = vec![0; code.k];
    values[code.k - 1] = 1;
    let difference = Matrix::new(code.field, code.k, 1, values.clone());
    let parity = Matrix::interpolation(code.field, &known, &points(code.k..code.n));
    let parity = parity.mul(&difference);
    let skip = part * setup.codes()[0].correction_planes() * LANES;
    let (messages, tags) = setup.hash_altered(LANES, |corrections| {
        for row in 0..2 {
            alter(&code, &mut corrections[skip..], LANES, 9, row, parity.at(row, 0));
        }
    });
    let tag = &tags.expect("well formed")[9..10];
    let one = messages[9];
    let other = one ^ message(part, &word(&code, &known, &values));
    let opens = [one, other].map(|message| setup.receiver.agree(&[message], tag));
    (opens[0], setup.finish(3).is_ok(), opens[1])
}

#[test]
fn words_half_way_between_two_pass_and_open_as_often_as_the_odds_say() {
    const TRIALS: u32 = 1000;
    let codes = short();
    let mut prg = Prg::new(Block::new(11));
    for (part, lengths) in [codes.labels, codes.perms].iter().enumerate() {
        let (mut passed, mut opened) = (0, 0);
        for _ in 0..TRIALS {
            let (one, passes, other) = half_way(&codes, prg.block(), part);
            assert_eq!(passes, one, "it is caught wherever it does not open as it should");
            passed += u32::from(passes);
            opened += u32::from(passes & other);
        }
        let rest = lengths.parity() + 1 - 2;
        assert!(is_binomial(passed, TRIALS, missed(lengths, 2, 0)), "{passed}");
        assert!(is_binomial(opened, passed, missed(lengths, rest, 2)), "{opened} of {passed}");
    }
}

/// The coefficients of the vectors of a batch that are not sacrificed, one row for each combination.
fn coefficients(code: &Code, seed: Block, vectors: usize, sacrificed: usize) -> Vec<Vec<u8>> {
    let all = Coefficients::expand(code, seed, vectors, sacrificed);
    let all = all.of_strip(0, vectors * LANES);
    // Bits outside the field count for nothing.
    let fresh =
        |row: &[u8]| row[..vectors - sacrificed].iter().map(|c| c & code.field.mask()).collect();
    all.chunks_exact(vectors).map(fresh).collect()
}

/// How many rows are no sums of multiples of others.
fn rank(field: Field, mut rows: Vec<Vec<u8>>) -> usize {
    let mut rank = 0;
    for column in 0..rows[0].len() {
        let Some(found) = (rank..rows.len()).find(|row| rows[*row][column] != 0) else { continue };
        rows.swap(rank, found);
        let (pivots, rest) = rows.split_at_mut(rank + 1);
        let pivot = &pivots[rank];
        for row in rest {
            let factor = field.mul(row[column], field.inv(pivot[column]));
            row.iter_mut().zip(pivot).for_each(|(own, other)| *own ^= field.mul(factor, *other));
        }
        rank += 1;
    }
    rank
}

/// A batch that is no code passes with |F|^-t only if each of the t combinations has coefficients of its
/// own, and these take all values.
#[test]
fn combinations_are_as_many_and_as_independent_as_the_bound_says() {
    let mut prg = Prg::new(Block::new(22));
    for rho in RHOS {
        let codes = codes(rho);
        let counts = [codes.label_combinations, codes.perm_combinations];
        let sacrificed = counts[0].max(counts[1]) as usize;
        for (code, count) in [Code::labels(&codes), Code::perms(&codes)].iter().zip(counts) {
            let rows = coefficients(code, prg.block(), 200 + sacrificed, sacrificed);
            assert_eq!(rank(code.field, rows.clone()), count as usize, "{rho:?}");
            // No value is more frequent than by chance: 5 standard deviations of a Poisson number.
            let mut values = vec![0u32; usize::from(code.field.mask()) + 1];
            rows.iter().flatten().for_each(|value| values[usize::from(*value)] += 1);
            let mean = 200.0 * f64::from(count) / values.len() as f64;
            let most = mean + 5.0 * mean.sqrt() + 5.0;
            assert!(values.iter().all(|count| f64::from(*count) < most), "{rho:?}: {values:?}");
        }
    }
}

/// Whether a batch of one vector with one wrong correction, where the receiver looks, passes with this coin.
fn passes_with_an_error(codes: &HashCodes, part: usize, coin: u128) -> bool {
    let (session, code) = (SessionId([5; 32]), [Code::labels(codes), Code::perms(codes)][part]);
    let mut prg = Prg::new(Block::new(23));
    let mut draw = || [&codes.labels, &codes.perms].map(|lengths| List::draw(lengths, &mut prg));
    let looks = |lists: &[List; 2]| lists[part].positions.contains(&(code.k as u8));
    let lists = std::iter::repeat_with(&mut draw).find(looks).expect("it looks there at times");
    let mut setup = Setup::of(codes, session, lists, &mut prg);
    let skip = part * setup.codes()[0].correction_planes() * LANES;
    let (_, tags) = setup.hash_altered(LANES, |corrections| {
        alter(&code, &mut corrections[skip..], LANES, 7, 0, 1);
    });
    tags.expect("well formed");
    setup.finish(coin).is_ok()
}

/// Which combinations have a part of the first vector of such a batch.
fn met(codes: &HashCodes, part: usize, coin: u128) -> Vec<bool> {
    let code = [Code::labels(codes), Code::perms(codes)][part];
    let seed = check_seeds(&SessionId([5; 32]), &code, 0, Block::new(coin));
    let sacrificed = codes.label_combinations.max(codes.perm_combinations) as usize;
    let rows = coefficients(&code, seed, 1 + sacrificed, sacrificed);
    rows.iter().map(|row| row[0] != 0).collect()
}

/// A cheater that waits for a coin under which its error is in one combination alone is caught by that
/// one. If it is in none, the cheater passes: so often, the fewer combinations there are.
#[test]
fn every_combination_catches_what_is_in_no_other() {
    for (part, count) in [(0, 2), (1, 3)] {
        let few = |count| match part {
            0 => HashCodes { label_combinations: count, perm_combinations: 1, ..short() },
            _ => HashCodes { label_combinations: 1, perm_combinations: count, ..short() },
        };
        let codes = few(count);
        for alone in 0..count as usize {
            let only = |met: &[bool]| met.iter().enumerate().all(|(c, met)| *met == (c == alone));
            let coin = (0..100_000).find(|coin| only(&met(&codes, part, *coin)));
            let coin = coin.unwrap_or_else(|| panic!("combination {alone} sees nothing alone"));
            assert!(!passes_with_an_error(&codes, part, coin), "combination {alone}");
        }
        let blind = (0..10_000).find(|coin| !met(&few(1), part, *coin)[0]).expect("one in |F|");
        assert!(passes_with_an_error(&few(1), part, blind));
    }
}

#[test]
fn every_byte_of_the_answer_counts() {
    // The step of the second meets every byte of a form, every combination and every lane.
    for (rho, step) in [(Rho::Bits40, 1), (Rho::Bits64, 37)] {
        let mut setup = Setup::with(rho, 12);
        setup.hash(64);
        setup.close();
        let coin = Block::new(5);
        let mut answer = setup.sender.answer(coin);
        let held = setup.receiver.held(coin);
        for byte in (0..answer.len()).step_by(step) {
            answer[byte] ^= 0x80 >> (byte % 8);
            assert!(!setup.receiver.answer_agrees(&held, &answer), "byte {byte}");
            answer[byte] ^= 0x80 >> (byte % 8);
        }
        let other = setup.receiver.held(Block::new(6));
        assert!(!setup.receiver.answer_agrees(&other, &answer));
        assert!(setup.receiver.answer_agrees(&held, &answer));
    }
}

#[test]
fn the_answer_is_masked_by_wires_used_nowhere_else() {
    let mut setup = Setup::with(Rho::Bits40, 13);
    setup.hash(64);
    setup.close();
    let mut masks = Vec::new();
    let lanes = setup.receiver.sacrificed();
    setup.sender.again(&[64], lanes, &mut masks);
    let (labels, perms) = (&setup.sender.labels, &setup.sender.perms);
    let [of_labels, of_perms] = [labels, perms].map(|encoder| encoder.code.combinations);
    assert_eq!(lanes, of_labels.max(of_perms) * LANES);
    let answer = setup.sender.answer(Block::new(1));
    let (first, second) = answer.split_at(48 * LANES * of_labels);
    // One vector was hashed: what is left without the mask is its multiple, and the factor of all
    // lanes in a combination is the same.
    let mut messages = Vec::new();
    setup.sender.again(&[0], LANES, &mut messages);
    for (i, shown) in first.chunks_exact(48).enumerate() {
        let mask = bytemuck::bytes_of(&masks[i].label);
        let word = bytemuck::bytes_of(&messages[i % LANES].label);
        let factor = Field::Gf256.mul(shown[0] ^ mask[0], Field::Gf256.inv(word[0]));
        let expected = word.iter().zip(mask).map(|(w, m)| Field::Gf256.mul(*w, factor) ^ m);
        assert!(word[0] == 0 || expected.eq(shown.iter().copied()));
    }
    for (i, shown) in second.chunks_exact(16).enumerate() {
        let mask = bytemuck::bytes_of(&masks[i].perm);
        let word = messages[i % LANES].perm;
        let rest = Perm([Block::from_bytes(shown.try_into().unwrap()), Block::ZERO])
            ^ Perm(bytemuck::pod_read_unaligned(mask));
        let symbol = |perm: &Perm, i: usize| (perm.0[0].to_u128() >> (6 * i)) as u8 & 63;
        let factor = Field::Gf64.mul(symbol(&rest, 0), Field::Gf64.inv(symbol(&word, 0)));
        let scaled = (0..21).all(|i| symbol(&rest, i) == Field::Gf64.mul(symbol(&word, i), factor));
        assert!(symbol(&word, 0) == 0 || scaled);
    }
}

#[test]
fn lengths_and_padding_are_checked_and_end_it() {
    for rho in [Rho::Bits40, Rho::Bits64] {
        let mut tags = Vec::new();
        let len = Setup::with(rho, 14).receiver.corrections_len(64);
        for wrong in [0, 1, len - 1, len + 1, 2 * len] {
            let mut setup = Setup::with(rho, 14);
            let bytes = vec![0; wrong];
            assert_eq!(setup.receiver.hash(64, &bytes, &mut tags), Err(FORMAT));
            assert_eq!(setup.receiver.close(&bytes), Err(FORMAT));
            setup.hash(64);
            assert_eq!(setup.finish(1), Err(CODEWORD), "a failure lasts");
        }
        for wrong in [-1, 1] {
            let mut setup = Setup::with(rho, 15);
            setup.close();
            let mut answer = setup.sender.answer(Block::new(1));
            let honest = answer.clone();
            answer.resize((answer.len() as isize + wrong) as usize, 0);
            let held = setup.receiver.held(Block::new(1));
            assert_eq!(setup.receiver.check(&held, &answer), Err(CODEWORD));
            assert_eq!(setup.receiver.check(&held, &honest), Err(CODEWORD));
        }
    }
    // 23 symbols of 6 bits: 6 bits of the last of 18 planes are padding.
    for bit in 2..8 {
        let mut setup = Setup::with(Rho::Bits40, 16);
        let (_, tags) = setup.hash_altered(576, |corrections| {
            *corrections.last_mut().expect("not empty") ^= 1 << bit;
        });
        assert_eq!(tags.err(), Some(FORMAT));
        assert_eq!(setup.finish(1), Err(CODEWORD));
    }
}

#[test]
fn input_labels_are_completed_from_their_keys() {
    for rho in RHOS {
        let shifts = [Label::ZERO, Label::of_key(Block::new(7 << 60)), Label([Block::new(5); 3])];
        for shift in shifts {
            let mut setup = Setup::with(rho, 17);
            setup.hash(64);
            setup.receiver.keep_watched();
            let (mut messages, _) = setup.hash(640);
            messages.extend(setup.hash(64).0);
            let delta = messages[5].label ^ shift;
            let tag = setup.receiver.set_delta(64 + 5, &shift);
            assert!(setup.receiver.labels_agree(&delta, tag));
            let bits: Vec<bool> = (0..700).map(|i| i % 3 == 0).collect();
            let labels: Vec<Label> = messages[3..]
                .iter()
                .zip(&bits)
                .map(|(message, bit)| message.label ^ delta.times(*bit))
                .collect();
            let keys: Vec<Block> = labels.iter().map(Label::key).collect();
            let same = |receiver: &ReedSolomonReceiver| {
                let found = receiver.complete(67, &keys, &bits);
                assert!(found.iter().zip(&labels).all(|(a, b)| a.0 == b.0));
            };
            same(&setup.receiver);
            assert_eq!(setup.finish(1), Ok(()));
            same(&setup.receiver);
            // Delta stays; the wires of later batches are kept when that is asked for again.
            setup.hash(64);
            setup.receiver.keep_watched();
            let (messages, _) = setup.hash(64);
            let first = (64 + 640 + 64 + setup.receiver.sacrificed() + 64) as u64;
            let label = messages[1].label ^ delta;
            let found = setup.receiver.complete(first + 1, &[label.key()], &[true]);
            assert_eq!(found[0].0, label.0);
        }
    }
}

#[test]
#[should_panic(expected = "wires that were kept")]
fn inputs_of_earlier_batches_are_forgotten() {
    let mut setup = Setup::with(Rho::Bits40, 19);
    setup.receiver.keep_watched();
    setup.hash(64);
    assert_eq!(setup.finish(1), Ok(()));
    setup.receiver.keep_watched();
    setup.hash(64);
    setup.receiver.complete(0, &[Block::ZERO], &[false]);
}

#[test]
fn messages_arrive_as_they_were_sent() {
    for rho in RHOS {
        let mut setup = Setup::with(rho, 18);
        let (messages, tags) = setup.hash(64);
        let perm_blocks = setup.sender.perm_blocks();
        assert_eq!(perm_blocks, setup.receiver.perm_blocks());
        let mut bytes = Vec::new();
        encode(&messages, perm_blocks, &mut bytes);
        assert_eq!(bytes.len(), encoded_len(64, perm_blocks));
        let mut found = vec![messages[0]; 64];
        assert!(decode(&bytes, perm_blocks, &mut found));
        assert!(setup.receiver.agree(&found, &tags));
        for wrong in [0, 1, bytes.len() - 1] {
            assert!(!decode(&bytes[..wrong], perm_blocks, &mut found));
        }
        assert!(!decode(&bytes, perm_blocks, &mut found[1..]));
        assert!(decode(&[], perm_blocks, &mut []));
    }
}
