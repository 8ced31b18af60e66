//! The bytes of the file `ledger` (docs/formats/pool.md): a header in the clear, then one sealed record.
//!
//! The header says how the key is made and is the associated data of the record. Lengths are checked before they are used, although
//! nothing is decoded that was not authenticated before.

use cenote_prim::os_bytes;

use super::files::Mark;
use super::key::{Recipe, StoreKey};
use super::sealed::{Key, RECORD};
use crate::store::{Ledger, Name, PoolError};

/// Kind of file, then the version of everything in the directory.
const MAGIC: &[u8; 7] = b"cenoteL";
/// The version of all files of a store; each kind has it in its magic.
const VERSION: u8 = 2;
/// Magic, version, identity, cost, salt.
const CLEAR: usize = 8 + 32 + 12 + 16;
/// With the empty record that tells the right key from a wrong one.
const HEADER: usize = CLEAR + RECORD;

/// What is in the clear: constant while the store is there.
pub(super) struct Header([u8; HEADER]);

/// Why the bytes are no ledger.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unreadable {
    /// It is none, or not as it was written.
    Damaged,
    /// It is of this version.
    Version(u8),
    /// The key is another one, or the header is not as it was written.
    WrongKey,
}

impl Header {
    /// The header of a new store, and its key.
    pub(super) fn new(key: &StoreKey) -> Option<(Header, Key)> {
        let mut id = [0; 32];
        os_bytes(&mut id);
        let recipe = key.recipe();
        let cost = recipe.cost.map(u32::to_le_bytes).concat();
        let clear = [&MAGIC[..], &[VERSION], &id, &cost, &recipe.salt].concat();
        let key = key.prepare(&recipe)?;
        let header = [&clear[..], &key.seal(&clear, &[])].concat();
        Some((Header(header.try_into().ok()?), key))
    }

    /// The header of a ledger, its key, and what follows.
    pub(super) fn read<'b>(
        bytes: &'b [u8],
        key: &StoreKey,
    ) -> Result<(Header, Key, &'b [u8]), Unreadable> {
        match bytes.strip_prefix(MAGIC) {
            None | Some([]) => return Err(Unreadable::Damaged),
            Some([VERSION, ..]) => {}
            Some([version, ..]) => return Err(Unreadable::Version(*version)),
        }
        let (header, record) = bytes.split_first_chunk().ok_or(Unreadable::Damaged)?;
        let header = Header(*header);
        let (clear, check) = header.0.split_at(CLEAR);
        let key = key.prepare(&header.recipe()).ok_or(Unreadable::WrongKey)?;
        key.open(clear, check).ok_or(Unreadable::WrongKey)?;
        Ok((header, key, record))
    }

    /// Which store it is, for what is sealed under its key; no two are alike.
    pub(super) fn id(&self) -> &[u8] {
        &self.0[8..40]
    }

    fn recipe(&self) -> Recipe {
        let word = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|i| self.0[at + i]));
        let salt = std::array::from_fn(|i| self.0[52 + i]);
        Recipe { cost: [40, 44, 48].map(word), salt }
    }
}

/// What the record holds.
#[derive(Debug, PartialEq)]
pub(super) struct Record {
    /// What the protocol sees; `held` as far as the ledger knows.
    pub(super) ledger: Ledger,
    /// Which witness was there when this was written, and its mark.
    pub(super) witness: (bool, Mark),
    /// Of the key of the epoch, once it had been written; if there is an epoch.
    pub(super) key: Option<Mark>,
    /// Whether the file `unheld` was there.
    pub(super) complete: bool,
}

impl Record {
    /// The whole file.
    pub(super) fn seal(&self, header: &Header, key: &Key) -> Vec<u8> {
        [&header.0[..], &key.seal(&header.0, &self.encode())].concat()
    }

    /// What [`Record::seal`] put behind the header.
    pub(super) fn open(header: &Header, key: &Key, sealed: &[u8]) -> Option<Record> {
        Record::decode(&key.open(&header.0, sealed)?)
    }

    fn encode(&self) -> Vec<u8> {
        let ledger = &self.ledger;
        let mut out = vec![u8::from(self.complete), u8::from(ledger.held)];
        put_number(&mut out, ledger.epochs);
        put_number(&mut out, ledger.pools);
        put_number(&mut out, ledger.error.at_once.to_bits());
        put_number(&mut out, ledger.error.adaptive.to_bits());
        out.push(self.witness.0.into());
        put_mark(&mut out, &self.witness.1);
        let epoch = ledger.epoch.zip(self.key);
        out.push(epoch.is_some().into());
        if let Some((epoch, key)) = epoch {
            out.extend_from_slice(&epoch);
            put_mark(&mut out, &key);
        }
        put_number(&mut out, ledger.spent.len() as u64);
        for (stock, below) in &ledger.spent {
            put_text(&mut out, stock);
            put_number(&mut out, *below);
        }
        put_number(&mut out, ledger.snapshots.len() as u64);
        for (snapshot, parts) in &ledger.snapshots {
            out.extend_from_slice(snapshot);
            put_number(&mut out, parts.len() as u64);
            parts.iter().for_each(|part| put_text(&mut out, part));
        }
        out
    }

    fn decode(bytes: &[u8]) -> Option<Record> {
        let mut from = Bytes(bytes);
        let (complete, held) = (from.flag()?, from.flag()?);
        let (epochs, pools) = (from.number()?, from.number()?);
        let error = PoolError { at_once: from.probability()?, adaptive: from.probability()? };
        let mut ledger = Ledger { held, epochs, pools, error, ..Ledger::default() };
        let witness = (from.flag()?, from.mark()?);
        let mut key = None;
        if from.flag()? {
            ledger.epoch = Some(from.name()?);
            key = Some(from.mark()?);
        }
        for _ in 0..from.number()? {
            ledger.spent.insert(from.text()?, from.number()?);
        }
        for _ in 0..from.number()? {
            let (snapshot, mut parts) = (from.name()?, Vec::new());
            for _ in 0..from.number()? {
                parts.push(from.text()?);
            }
            ledger.snapshots.push((snapshot, parts));
        }
        from.0.is_empty().then_some(Record { ledger, witness, key, complete })
    }
}

fn put_number(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(&number.to_le_bytes());
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    put_number(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

fn put_mark(out: &mut Vec<u8>, mark: &Mark) {
    put_number(out, mark.inode);
    out.extend_from_slice(&mark.born.to_le_bytes());
    out.extend_from_slice(&mark.changed.to_le_bytes());
}

/// What is left to decode.
struct Bytes<'b>(&'b [u8]);

impl Bytes<'_> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (array, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*array)
    }

    fn flag(&mut self) -> Option<bool> {
        match self.array()? {
            [0] => Some(false),
            [1] => Some(true),
            _ => None,
        }
    }

    fn number(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn probability(&mut self) -> Option<f64> {
        self.number().map(f64::from_bits).filter(|error| *error >= 0.0)
    }

    fn name(&mut self) -> Option<Name> {
        self.array()
    }

    fn text(&mut self) -> Option<String> {
        let len = self.number()?.try_into().ok()?;
        let (text, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        String::from_utf8(text.to_vec()).ok()
    }

    fn mark(&mut self) -> Option<Mark> {
        let inode = self.number()?;
        let [born, changed] = [self.array()?, self.array()?].map(i64::from_le_bytes);
        Some(Mark { inode, born, changed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> Record {
        let mark = |n: u64| Mark { inode: n << 40, born: -1, changed: i64::MAX };
        let ledger = Ledger {
            epoch: Some([7; 32]),
            epochs: 3,
            pools: 1 << 33,
            error: PoolError { at_once: 1e-12, adaptive: 1.5e-12 },
            held: false,
            spent: [("ready".to_owned(), 65_536), ("pool".to_owned(), 0)].into(),
            snapshots: vec![([1; 32], vec!["pool.0".to_owned()]), ([2; 32], Vec::new())],
        };
        Record { ledger, witness: (true, mark(1)), key: Some(mark(2)), complete: true }
    }

    #[test]
    fn records_are_read_as_they_were_written() {
        let plain = Record {
            ledger: Ledger { held: true, ..Ledger::default() },
            key: None,
            complete: false,
            ..record()
        };
        for record in [record(), plain] {
            assert_eq!(Record::decode(&record.encode()), Some(record));
        }
    }

    #[test]
    fn a_record_of_another_length_or_with_other_flags_is_none() {
        let bytes = record().encode();
        for len in 0..bytes.len() {
            assert_eq!(Record::decode(&bytes[..len]), None, "{len} bytes");
        }
        assert_eq!(Record::decode(&[&bytes[..], &[0]].concat()), None);
        for flag in [0, 1] {
            let mut bytes = bytes.clone();
            bytes[flag] = 2;
            assert_eq!(Record::decode(&bytes), None, "flag {flag}");
        }
    }

    #[test]
    fn every_bit_of_a_ledger_counts() {
        let owner = StoreKey::known(1);
        let (header, key) = Header::new(&owner).expect("a header");
        let bytes = record().seal(&header, &key);
        let read = |bytes: &[u8]| {
            let (header, key, sealed) = Header::read(bytes, &owner)?;
            Record::open(&header, &key, sealed).ok_or(Unreadable::Damaged)
        };
        assert_eq!(read(&bytes), Ok(record()));
        for bit in 0..8 * bytes.len() {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(read(&changed).is_err(), "bit {bit}");
        }
        for len in 0..bytes.len() {
            assert!(read(&bytes[..len]).is_err(), "{len} bytes");
        }
    }

    #[test]
    fn the_header_tells_versions_and_keys_apart() {
        let owner = StoreKey::known(1);
        let (header, key) = Header::new(&owner).expect("a header");
        let mut bytes = record().seal(&header, &key);
        let unreadable = |bytes: &[u8], key: &StoreKey| Header::read(bytes, key).err();
        assert_eq!(unreadable(&bytes, &StoreKey::known(2)), Some(Unreadable::WrongKey));
        let passphrase = StoreKey::passphrase("correct horse").expect("a key");
        assert_eq!(unreadable(&bytes, &passphrase), Some(Unreadable::WrongKey));
        bytes[7] = 1;
        assert_eq!(unreadable(&bytes, &owner), Some(Unreadable::Version(1)));
        bytes[0] ^= 1;
        assert_eq!(unreadable(&bytes, &owner), Some(Unreadable::Damaged));
    }
}
