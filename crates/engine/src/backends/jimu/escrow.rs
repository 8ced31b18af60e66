//! Escrow of permutation bits: an evaluator that was given both labels of a wire learns the value.
//!
//! **Functionality.** Before anything is evaluated, the garbler A leaves with the evaluator B the
//! permutation message P of certain wires, locked by Delta. If A cheats so that B meets
//! both labels of a wire, B knows Delta, opens P, and computes the result that an honest run has.
//! **Gadget.** One hashed wire of number w, whose label Delta_g is a difference of its own and whose
//! permutation message is P_g; sealed as E_g = AES_{k(Delta_g)}(w, 0), .. + P_g, as many blocks as
//! the message has.
//! **Use.** A checked gadget is opened completely. The others are drawn into buckets, one for each
//! wire; for each gadget A opens Delta_g + Delta and P_g + P. With Delta, B opens E_g of each
//! gadget and takes a P that the tag of the wire binds A to.
//! **Adversary.** Malicious garbler. **Checks.** [`check`] finds every bad gadget that it is shown;
//! [`expected_tags`]: what is opened for a bucket is what the tags bind A to. The caller names the
//! faults.
//! **Private values.** P: without Delta, every E_g is sealed by a block cipher in counter mode, under
//! a key that differs from all others of the session by known constants and with counters of its
//! own; P_g + P is masked by P_g.
//! **Costs.** A gadget: one hashed wire, one key, a block for each of the message; in a bucket, one
//! solder.
//! **Difference from the papers.** JIMU leaves open what to do with both labels; this is ours.

use cenote_prim::{Block, Secret, keyed};
use zeroize::Zeroize;

use crate::backends::jimu::ihash::{Label, Message, Perm, PermTags, Recogniser, Tag};

/// Gadgets that are sealed at a time.
const BATCH: usize = 256;

/// Most blocks of a permutation message.
const MAX_BLOCKS: usize = 2;

/// Blocks of the record of a gadget in a bucket, for permutation messages of `blocks` blocks: the
/// key of Delta_g + Delta, the number of the gadget, and E_g + P_g + P.
#[must_use]
pub const fn record_blocks(blocks: usize) -> usize {
    2 + blocks
}

/// Seals gadgets: `numbers` and `wires` are those of their wires; E_g of each, `blocks` blocks,
/// replaces the content of `sealed`.
///
/// # Panics
/// If the slices do not describe the same number of gadgets, or a message has not `blocks` blocks.
pub fn seal(blocks: usize, numbers: &[u64], wires: &[Message], sealed: &mut [Block]) {
    assert!((1..=MAX_BLOCKS).contains(&blocks));
    assert!(numbers.len() == wires.len() && sealed.len() == blocks * wires.len());
    let mut keys = Vec::with_capacity(BATCH);
    for ((numbers, wires), sealed) in
        numbers.chunks(BATCH).zip(wires.chunks(BATCH)).zip(sealed.chunks_mut(BATCH * blocks))
    {
        let tweaks: Vec<Block> = numbers.iter().map(|number| tweak(*number)).collect();
        keys.clear();
        keys.extend(wires.iter().map(|wire| wire.label.key()));
        keyed::expand(&keys, &tweaks, blocks, sealed);
        for (sealed, wire) in sealed.chunks_mut(blocks).zip(wires) {
            add(sealed, &wire.perm);
        }
    }
    keys.zeroize();
}

/// The wire number of a gadget as a tweak.
fn tweak(number: u64) -> Block {
    Block::new(u128::from(number) << 64)
}

/// Adds as much of a permutation message as there are blocks.
fn add(blocks: &mut [Block], perm: &Perm) {
    for (block, perm) in blocks.iter_mut().zip(perm.0) {
        *block ^= perm;
    }
}

/// Whether checked gadgets are good: `opened` are the messages that `tags` bind the garbler to, and
/// `sealed` is what they seal to.
///
/// # Panics
/// If the slices do not describe the same number of gadgets.
pub fn check(
    blocks: usize,
    hash: &impl Recogniser,
    numbers: &[u64],
    sealed: &[Block],
    tags: &[Tag],
    opened: &[Message],
) -> bool {
    let mut expected = vec![Block::ZERO; blocks * opened.len()];
    seal(blocks, numbers, opened, &mut expected);
    assert_eq!(sealed.len(), expected.len());
    hash.agree(opened, tags) & (sealed == expected)
}

/// Opens what binds buckets of `bucket` gadgets to wires: for each wire, each gadget, in order,
/// appended to `out`.
///
/// # Panics
/// If there is not a bucket for each wire.
pub fn solders(
    bucket: usize,
    delta: &Label,
    gadgets: &[Message],
    wires: &[Message],
    out: &mut Vec<Message>,
) {
    assert_eq!(gadgets.len(), bucket * wires.len());
    let members = gadgets.chunks(bucket.max(1)).zip(wires);
    out.extend(members.flat_map(|(gadgets, wire)| {
        gadgets
            .iter()
            .map(|gadget| Message { label: gadget.label ^ *delta, perm: gadget.perm ^ wire.perm })
    }));
}

/// The tags that such solders must agree with, appended to `out`, from those of the gadgets and the
/// wires.
///
/// # Panics
/// If there is not a bucket for each wire.
pub fn expected_tags(
    bucket: usize,
    delta_tag: Block,
    gadgets: &[Tag],
    wires: &[Tag],
    out: &mut Vec<Tag>,
) {
    assert_eq!(gadgets.len(), bucket * wires.len());
    let members = gadgets.chunks(bucket.max(1)).zip(wires);
    out.extend(members.flat_map(|(gadgets, wire)| {
        gadgets.iter().map(move |gadget| Tag {
            label: gadget.label ^ delta_tag,
            perm: gadget.perm ^ wire.perm,
        })
    }));
}

/// Appends the records of gadgets to `out`, [`record_blocks`] each, from their solders, which must
/// have been found to agree with [`expected_tags`].
///
/// # Panics
/// If the slices do not describe the same number of gadgets.
pub fn fold(
    blocks: usize,
    numbers: &[u64],
    sealed: &[Block],
    solders: &[Message],
    out: &mut Vec<Block>,
) {
    assert!((1..=MAX_BLOCKS).contains(&blocks));
    assert!(numbers.len() == solders.len() && sealed.len() == blocks * solders.len());
    out.reserve(numbers.len() * record_blocks(blocks));
    for ((number, sealed), solder) in numbers.iter().zip(sealed.chunks(blocks)).zip(solders) {
        out.extend([solder.label.key(), Block::new(u128::from(*number))]);
        out.extend(sealed.iter().zip(solder.perm.0).map(|(sealed, perm)| *sealed ^ perm));
    }
}

/// The permutation message of a wire with tag `tag`, from the `records` of its bucket and the key
/// of Delta: of those that agree with the tag, the one that most gadgets give. `None` if none
/// agrees. Whatever it finds, it does the same work.
///
/// # Panics
/// If `records` are not whole records.
pub fn recover(
    tags: &dyn PermTags,
    delta_key: Block,
    records: &[Block],
    tag: Block,
) -> Option<Perm> {
    let blocks = tags.blocks();
    assert!((1..=MAX_BLOCKS).contains(&blocks));
    assert!(records.len().is_multiple_of(record_blocks(blocks)));
    let records = records.chunks(record_blocks(blocks));
    let given: Secret<Vec<Perm>> =
        records.map(|record| unseal(blocks, delta_key, record)).collect();
    let (mut elected, mut most) = (Perm::ZERO, 0);
    for perm in &*given {
        let agreeing = given.iter().map(|other| usize::from(same(perm, other)));
        let votes = usize::from(tags.agrees(perm, tag)) * agreeing.sum::<usize>();
        // The first among equals.
        let pick = votes > most;
        elected ^= (elected ^ *perm).times(pick);
        most = votes.max(most);
    }
    (most > 0).then_some(elected)
}

/// Returns the permutation message that a record gives under the key of Delta.
fn unseal(blocks: usize, delta_key: Block, record: &[Block]) -> Perm {
    #[cfg(test)]
    super::tally::step();
    let mut perm = Perm::ZERO;
    let tweak = tweak(record[1].to_u128() as u64);
    keyed::expand(&[delta_key ^ record[0]], &[tweak], blocks, &mut perm.0[..blocks]);
    for (block, sealed) in perm.0.iter_mut().zip(&record[2..]) {
        *block ^= *sealed;
    }
    perm
}

/// Whether two messages are the same.
fn same(a: &Perm, b: &Perm) -> bool {
    a.0.iter().zip(&b.0).fold(true, |same, (a, b)| same & a.ct_eq(*b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rho;
    use crate::backends::jimu::garbled_core::dealer::Dealer;

    /// Sealed gadgets.
    struct Gadgets {
        blocks: usize,
        numbers: Vec<u64>,
        wires: Vec<Message>,
        tags: Vec<Tag>,
        sealed: Vec<Block>,
    }

    impl Gadgets {
        fn new(d: &mut Dealer, count: usize) -> Gadgets {
            let blocks = d.receiver.perm_blocks();
            let (first, wires, tags) = d.wires(count);
            let numbers: Vec<u64> = (first..first + count as u64).collect();
            let mut sealed = vec![Block::ZERO; count * blocks];
            seal(blocks, &numbers, &wires, &mut sealed);
            Gadgets { blocks, numbers, wires, tags, sealed }
        }

        /// The records of buckets for `wires`.
        fn records(
            &self,
            d: &Dealer,
            bucket: usize,
            wires: &[Message],
            tags: &[Tag],
        ) -> Vec<Block> {
            let (mut opened, mut expected, mut records) = (Vec::new(), Vec::new(), Vec::new());
            solders(bucket, &d.delta, &self.wires, wires, &mut opened);
            expected_tags(bucket, d.delta_tag, &self.tags, tags, &mut expected);
            assert!(d.receiver.agree(&opened, &expected));
            fold(self.blocks, &self.numbers, &self.sealed, &opened, &mut records);
            assert_eq!(records.len(), self.numbers.len() * record_blocks(self.blocks));
            records
        }

        fn check(&self, d: &Dealer, opened: &[Message]) -> bool {
            check(self.blocks, &d.receiver, &self.numbers, &self.sealed, &self.tags, opened)
        }
    }

    /// Returns the permutation message that is recovered of each wire.
    fn recovered(
        d: &Dealer,
        blocks: usize,
        bucket: usize,
        records: &[Block],
        tags: &[Tag],
    ) -> Vec<Option<Perm>> {
        let (hash, key) = (d.receiver.perm_tags(), d.delta.key());
        assert_eq!(hash.blocks(), blocks);
        records
            .chunks(bucket * record_blocks(blocks))
            .zip(tags)
            .map(|(records, tag)| recover(&*hash, key, records, tag.perm))
            .collect()
    }

    fn same(found: &[Option<Perm>], wires: &[Message]) -> bool {
        found.len() == wires.len()
            && found.iter().zip(wires).all(|(p, w)| p.is_some_and(|p| p.0 == w.perm.0))
    }

    #[test]
    fn one_good_gadget_of_a_bucket_gives_the_message() {
        for (rho, blocks) in [(Rho::Bits40, 1), (Rho::Bits64, 2), (Rho::Bits80, 2)] {
            let (mut d, bucket, count) = (Dealer::new(rho, 20), 4, 100);
            let (_, wires, tags) = d.wires(count);
            for good in 0..bucket {
                let mut gadgets = Gadgets::new(&mut d, bucket * count);
                assert_eq!(gadgets.blocks, blocks);
                let records = gadgets.records(&d, bucket, &wires, &tags);
                assert!(same(&recovered(&d, blocks, bucket, &records, &tags), &wires));
                for (g, sealed) in gadgets.sealed.chunks_mut(blocks).enumerate() {
                    if g % bucket != good {
                        d.prg.fill(sealed);
                    }
                }
                let records = gadgets.records(&d, bucket, &wires, &tags);
                assert!(same(&recovered(&d, blocks, bucket, &records, &tags), &wires));
            }
        }
    }

    #[test]
    fn bad_gadgets_alone_give_nothing() {
        let (mut d, bucket, count) = (Dealer::new(Rho::Bits40, 21), 3, 200);
        let (_, wires, tags) = d.wires(count);
        let mut gadgets = Gadgets::new(&mut d, bucket * count);
        d.prg.fill(&mut gadgets.sealed);
        let records = gadgets.records(&d, bucket, &wires, &tags);
        let found = recovered(&d, 1, bucket, &records, &tags);
        assert_eq!(found.len(), count);
        assert!(found.iter().all(Option::is_none));
        // Another permutation message, or the same with bits that no message has.
        for flip in [Block::ONE, Block::new(1 << 127)] {
            let mut gadgets = Gadgets::new(&mut d, bucket * count);
            gadgets.sealed.iter_mut().for_each(|sealed| *sealed ^= flip);
            let records = gadgets.records(&d, bucket, &wires, &tags);
            let found = recovered(&d, 1, bucket, &records, &tags);
            assert!(found.iter().all(Option::is_none));
        }
    }

    #[test]
    fn without_the_delta_nothing_opens() {
        let (mut d, count) = (Dealer::new(Rho::Bits64, 22), 50);
        let (_, wires, tags) = d.wires(count);
        let records = Gadgets::new(&mut d, count).records(&d, 1, &wires, &tags);
        let wrong = d.delta.key() ^ Block::ONE;
        for (record, tag) in records.chunks(record_blocks(2)).zip(&tags) {
            assert!(recover(&*d.receiver.perm_tags(), wrong, record, tag.perm).is_none());
        }
    }

    /// One query of the cipher tells about one gadget: who guesses the key of one does not test it against
    /// all others with the same query.
    #[test]
    fn a_gadget_opens_under_its_own_number_alone() {
        for rho in [Rho::Bits40, Rho::Bits64] {
            let (mut d, count) = (Dealer::new(rho, 25), 12);
            let (_, wires, tags) = d.wires(count);
            let gadgets = Gadgets::new(&mut d, count);
            let records = gadgets.records(&d, 1, &wires, &tags);
            let (hash, stride) = (d.receiver.perm_tags(), record_blocks(gadgets.blocks));
            for (i, own) in records.chunks(stride).enumerate() {
                for (j, number) in gadgets.numbers.iter().enumerate() {
                    let mut record = own.to_vec();
                    record[1] = Block::new(u128::from(*number));
                    let key = d.delta.key();
                    let found = recover(&*hash, key, &record, tags[i].perm);
                    assert_eq!(found.is_some(), i == j, "gadget {i} under the number of {j}");
                }
            }
        }
    }

    #[test]
    fn a_checked_gadget_shows_every_fault() {
        for rho in [Rho::Bits40, Rho::Bits80] {
            let mut d = Dealer::new(rho, 23);
            let mut gadgets = Gadgets::new(&mut d, 600);
            let opened = gadgets.wires.clone();
            assert!(gadgets.check(&d, &opened));
            for place in (0..600).step_by(29) {
                let mut forged = opened.clone();
                forged[place].label.0[place % 3] ^= Block::new(1 << (place % 128));
                assert!(!gadgets.check(&d, &forged));
                let mut forged = opened.clone();
                forged[place].perm.0[0] ^= Block::new(1 << (place % 120));
                assert!(!gadgets.check(&d, &forged));
                let bit = Block::new(1 << (place % 128));
                gadgets.sealed[place] ^= bit;
                assert!(!gadgets.check(&d, &opened));
                gadgets.sealed[place] ^= bit;
            }
            assert!(gadgets.check(&d, &opened));
        }
    }

    #[test]
    fn wrong_solders_are_caught() {
        let (mut d, bucket, count) = (Dealer::new(Rho::Bits40, 24), 3, 4);
        let (_, wires, tags) = d.wires(count);
        let gadgets = Gadgets::new(&mut d, bucket * count);
        let (mut opened, mut expected) = (Vec::new(), Vec::new());
        solders(bucket, &d.delta, &gadgets.wires, &wires, &mut opened);
        expected_tags(bucket, d.delta_tag, &gadgets.tags, &tags, &mut expected);
        assert!(d.receiver.agree(&opened, &expected));
        for place in 0..opened.len() {
            for forge in 0..3 {
                let mut forged = opened.clone();
                match forge {
                    0 => forged[place].label ^= d.delta,
                    1 => forged[place].perm.0[0] ^= Block::ONE,
                    _ => forged.swap(place, (place + 1) % opened.len()),
                }
                assert!(!d.receiver.agree(&forged, &expected));
            }
        }
    }
}
