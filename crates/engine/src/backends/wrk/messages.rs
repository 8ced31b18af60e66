//! The two bulk messages of a chunk.

use cenote_net::Fault;
use cenote_prim::gf128::LinearHash;
use cenote_prim::{Block, RandomOracle, SessionId, bits};

/// Garbler to evaluator: two blocks a gate, then the packed colour bits of the output labels,
/// padded to whole blocks.
pub(super) struct TableMessage {
    blocks: Vec<Block>,
    gates: usize,
}

impl TableMessage {
    pub(super) fn with_gates(gates: usize) -> TableMessage {
        let colours = bits::packed_len(gates).div_ceil(16);
        TableMessage { blocks: vec![Block::ZERO; 2 * gates + colours], gates }
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &Block::as_bytes(&self.blocks)[..self.len()]
    }

    pub(super) fn as_bytes_mut(&mut self) -> &mut [u8] {
        let len = self.len();
        &mut Block::as_bytes_mut(&mut self.blocks)[..len]
    }

    /// Refuses stray bits after the last colour bit.
    pub(super) fn validate(&self) -> Result<(), Fault> {
        match bits::is_canonical(self.colours(), self.gates) {
            true => Ok(()),
            false => Err(Fault::Misbehaved("wrk.tables.format")),
        }
    }

    pub(super) fn gates(&self, first: usize, n: usize) -> &[Block] {
        &self.blocks[2 * first..2 * (first + n)]
    }

    pub(super) fn gates_mut(&mut self, first: usize, n: usize) -> &mut [Block] {
        &mut self.blocks[2 * first..2 * (first + n)]
    }

    pub(super) fn colours(&self) -> &[u8] {
        &self.as_bytes()[32 * self.gates..]
    }

    pub(super) fn set_colours(&mut self, colours: impl Iterator<Item = bool>) {
        let packed = bits::pack(colours);
        let from = 32 * self.gates;
        self.as_bytes_mut()[from..].copy_from_slice(&packed);
    }

    fn len(&self) -> usize {
        32 * self.gates + bits::packed_len(self.gates)
    }
}

/// Evaluator to garbler: the masked values of all AND outputs of a chunk, the hash of its labels, and
/// the seed of the garbler's answer.
pub(super) struct Report<'a> {
    masked: &'a [u8],
    label_hash: Block,
    seed: Block,
}

/// A report that passed `wrk.labels`. Only [`Report::verify`] makes one, and nothing else tells
/// the garbler the seed of D_M: an answer before the check does not compile.
#[must_use = "a verified report is answered"]
pub(super) struct VerifiedReport<'a> {
    masked: &'a [u8],
    seed: Block,
}

impl<'a> Report<'a> {
    pub(super) const fn len(gates: usize) -> usize {
        bits::packed_len(gates) + 32
    }

    /// The report on `labels`, the active labels of a chunk, whose packed masked values are `masked`.
    pub(super) fn new(
        session: &SessionId,
        chunk: u64,
        masked: &'a [u8],
        labels: &[Block],
        seed: Block,
    ) -> Report<'a> {
        Report { masked, label_hash: label_hash(session, chunk, masked, labels), seed }
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        [self.masked, &self.label_hash.to_bytes(), &self.seed.to_bytes()].concat()
    }

    pub(super) fn decode(message: &'a [u8], gates: usize) -> Result<Report<'a>, Fault> {
        const BAD: Fault = Fault::Misbehaved("wrk.report.format");
        let (masked, rest) = message.split_at_checked(bits::packed_len(gates)).ok_or(BAD)?;
        let (hash, seed) = rest.split_first_chunk::<16>().ok_or(BAD)?;
        let seed: [u8; 16] = seed.try_into().map_err(|_| BAD)?;
        if !bits::is_canonical(masked, gates) {
            return Err(BAD);
        }
        let (label_hash, seed) = (Block::from_bytes(*hash), Block::from_bytes(seed));
        Ok(Report { masked, label_hash, seed })
    }

    /// `wrk.labels`: the evaluator has the labels of the values it reports. `labels` are L_{c,0} of the
    /// chunk and become those.
    pub(super) fn verify(
        self,
        session: &SessionId,
        chunk: u64,
        delta: Block,
        labels: &mut [Block],
    ) -> Result<VerifiedReport<'a>, Fault> {
        for (i, label) in labels.iter_mut().enumerate() {
            *label ^= delta.times(bits::get(self.masked, i));
        }
        if !label_hash(session, chunk, self.masked, labels).ct_eq(self.label_hash) {
            return Err(Fault::Misbehaved("wrk.labels"));
        }
        Ok(VerifiedReport { masked: self.masked, seed: self.seed })
    }
}

impl<'a> VerifiedReport<'a> {
    /// The packed masked values, of which each is that of a label the evaluator has.
    pub(super) fn masked(&self) -> &'a [u8] {
        self.masked
    }

    /// D_M: the hash of the MAC terms of all ANDs.
    pub(super) fn answer(self, terms: &[Block]) -> Block {
        mac_hash(self.seed, terms)
    }
}

/// D_L. Its coefficients are fixed by the reported values, so that a false report needs a label that
/// the evaluator does not have.
fn label_hash(session: &SessionId, chunk: u64, masked: &[u8], labels: &[Block]) -> Block {
    let oracle = RandomOracle::new("cenote 2026 engine wrk labels v1", session);
    let mut hash = LinearHash::new(oracle.number(chunk).bytes(masked).block());
    hash.absorb(labels);
    hash.finish()
}

/// D_M under the evaluator's seed, which the garbler learns when its tables are sent.
pub(super) fn mac_hash(seed: Block, terms: &[Block]) -> Block {
    let mut hash = LinearHash::new(seed);
    hash.absorb(terms);
    hash.finish()
}

#[cfg(test)]
mod tests {
    use std::marker::PhantomData;

    use super::*;

    /// Whether a type is [`Clone`]: the inherent constant shadows that of the trait.
    struct IsClone<T>(PhantomData<T>);

    trait Otherwise {
        const ANSWER: bool = false;
    }

    impl<T> Otherwise for IsClone<T> {}

    impl<T: Clone> IsClone<T> {
        const ANSWER: bool = true;
    }

    #[test]
    fn one_verified_report_makes_one_answer() {
        let found = [IsClone::<Block>::ANSWER, IsClone::<VerifiedReport<'_>>::ANSWER];
        assert_eq!(found, [true, false]);
    }

    #[test]
    fn only_the_labels_of_the_reported_values_in_their_chunk_pass() {
        let (session, delta) = (SessionId([3; 32]), Block::new(7 << 90 | 3));
        let zero: Vec<Block> = (1..=11).map(|i| Block::new(i << 40)).collect();
        let masked = bits::pack((0..11).map(|i| i % 3 == 0));
        let active: Vec<Block> =
            (0..11).map(|i| zero[i] ^ delta.times(bits::get(&masked, i))).collect();
        let verdict = |sent: &[u8], chunk| {
            let report = Report::decode(sent, 11).expect("format");
            report.verify(&session, chunk, delta, &mut zero.clone()).map(|report| report.seed)
        };
        let seed = Block::new(5);
        let sent = Report::new(&session, 6, &masked, &active, seed).encode();
        assert_eq!(verdict(&sent, 6), Ok(seed));
        assert_eq!(verdict(&sent, 7), Err(Fault::Misbehaved("wrk.labels")));
        for bit in (0..11).chain(16..16 + 128) {
            let mut lie = sent.clone();
            lie[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(verdict(&lie, 6), Err(Fault::Misbehaved("wrk.labels")), "bit {bit}");
        }
    }

    #[test]
    fn tables_are_the_blocks_of_gates_and_then_their_colours() {
        let blocks: Vec<Block> = (1..=22).map(Block::new).collect();
        let colours = || (0..11).map(|i| i % 3 == 0);
        let mut message = TableMessage::with_gates(11);
        message.gates_mut(0, 4).copy_from_slice(&blocks[..8]);
        message.gates_mut(4, 7).copy_from_slice(&blocks[8..]);
        message.set_colours(colours());
        let bytes = [Block::as_bytes(&blocks), &bits::pack(colours())].concat();
        assert_eq!(message.as_bytes(), bytes);
        let mut read = TableMessage::with_gates(11);
        read.as_bytes_mut().copy_from_slice(&bytes);
        assert_eq!(read.validate(), Ok(()));
        assert_eq!((read.gates(0, 11), read.gates(4, 2)), (&blocks[..], &blocks[8..12]));
        assert_eq!(read.colours(), bits::pack(colours()));
        read.as_bytes_mut()[bytes.len() - 1] |= 0x80;
        assert_eq!(read.validate(), Err(Fault::Misbehaved("wrk.tables.format")));
    }

    #[test]
    fn a_report_has_one_length_and_no_stray_bits() {
        let session = SessionId([3; 32]);
        let masked = bits::pack((0..11).map(|i| i == 10));
        let sent = Report::new(&session, 1, &masked, &[Block::ONE; 11], Block::new(9)).encode();
        assert_eq!((sent.len(), Report::len(11)), (34, 34));
        let refused = |bytes: &[u8]| {
            assert_eq!(
                Report::decode(bytes, 11).err(),
                Some(Fault::Misbehaved("wrk.report.format"))
            );
        };
        (0..34).for_each(|len| refused(&sent[..len]));
        refused(&[&sent[..], &[0]].concat());
        let mut stray = sent;
        stray[1] |= 0x80;
        refused(&stray);
    }

    #[test]
    fn an_answer_is_under_the_seed_of_the_report() {
        let masked = [5];
        let answer = |seed, terms: &[Block]| {
            let report = VerifiedReport { masked: &masked, seed: Block::new(seed) };
            assert_eq!(report.masked(), masked);
            report.answer(terms)
        };
        let terms = [Block::new(7), Block::new(8)];
        let own = answer(1, &terms);
        assert_eq!(own, mac_hash(Block::ONE, &terms));
        assert!(own != answer(2, &terms) && own != answer(1, &terms[..1]) && own != Block::ZERO);
    }
}
