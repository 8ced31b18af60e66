//! The store against a model of it, on a disk that loses power at every call, runs full, and is tampered with; then on real files.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::store::FailureKind::{Busy, Damaged, Full, Io, Misuse, WrongKey};

/// What can be asked of a store.
#[derive(Clone, Debug)]
enum Op {
    Begin(u8),
    Amend(u8),
    End(bool),
    Spend(&'static str, u64),
    CountPool(PoolError),
    Save(u8, Vec<(&'static str, Vec<u8>)>),
    Settle(Option<u8>),
    Burn(&'static str),
    Release,
}

/// All that a store shows.
#[derive(Clone, Debug, Default, PartialEq)]
struct Shown {
    ledger: Ledger,
    secrets: Vec<u8>,
    parts: BTreeMap<(Name, String), Vec<u8>>,
}

impl Shown {
    fn of(store: &DiskStore) -> Shown {
        let ledger = store.ledger().clone();
        let secrets = match ledger.epoch {
            Some(_) => store.secrets().expect("secrets").to_vec(),
            None => Vec::new(),
        };
        let mut parts = BTreeMap::new();
        for (snapshot, names) in &ledger.snapshots {
            for name in names {
                let bytes = store.load(snapshot, name).expect("a part").to_vec();
                parts.insert((*snapshot, name.clone()), bytes);
            }
        }
        Shown { ledger, secrets, parts }
    }

    fn forget_epoch(&mut self) {
        let Ledger { epochs, pools, error, held, .. } = self.ledger;
        *self = Shown {
            ledger: Ledger { epochs, pools, error, held, ..Ledger::default() },
            ..Shown::default()
        };
    }

    /// What the trait says of a call; whether it is one at its turn.
    fn apply(&mut self, op: &Op) -> bool {
        let ledger = &mut self.ledger;
        let open = ledger.epoch.is_some();
        match op {
            Op::Begin(_) if ledger.held => return false,
            Op::Amend(_) | Op::Spend(..) | Op::Save(..) if !open => return false,
            Op::Amend(other) => self.secrets = secrets(*other),
            Op::Begin(epoch) => {
                self.forget_epoch();
                self.ledger.epoch = Some([*epoch; 32]);
                self.ledger.epochs += 1;
                self.secrets = secrets(*epoch);
            }
            Op::End(hold) => {
                ledger.held |= hold;
                self.forget_epoch();
            }
            Op::Spend(stock, below) => {
                let noted = ledger.spent.entry((*stock).to_owned()).or_insert(*below);
                *noted = (*noted).max(*below);
            }
            Op::CountPool(error) => {
                ledger.pools += 1;
                ledger.error = ledger.error.plus(*error);
            }
            Op::Save(name, parts) => {
                if ledger.snapshots.iter().any(|(other, _)| *other == [*name; 32]) {
                    return false;
                }
                let names = parts.iter().map(|(part, _)| (*part).to_owned()).collect();
                ledger.snapshots.push(([*name; 32], names));
                for (part, bytes) in parts {
                    self.parts.insert(([*name; 32], (*part).to_owned()), bytes.clone());
                }
            }
            Op::Settle(kept) => {
                let kept = kept.map(|kept| [kept; 32]);
                if kept.is_some_and(|kept| ledger.snapshots.iter().all(|(name, _)| *name != kept)) {
                    return false;
                }
                ledger.snapshots.retain(|(name, _)| Some(*name) == kept);
                self.parts.retain(|(name, _), _| Some(*name) == kept);
            }
            Op::Burn(part) => {
                ledger.snapshots.iter_mut().for_each(|(_, names)| names.retain(|n| n != part));
                self.parts.retain(|(_, name), _| name != part);
            }
            Op::Release => ledger.held = false,
        }
        true
    }

    /// Files that are there, and no others.
    fn names(&self) -> Vec<String> {
        let mut names = vec![LEDGER.to_owned()];
        if self.ledger.epoch.is_some() {
            names.extend([KEY, SECRETS].map(str::to_owned));
        }
        names.extend(self.parts.keys().map(|(snapshot, part)| file_of(snapshot, part)));
        names
    }
}

fn secrets(epoch: u8) -> Vec<u8> {
    vec![epoch; 100]
}

fn run(store: &mut DiskStore, op: &Op) -> Result<()> {
    match op {
        Op::Begin(epoch) => store.begin([*epoch; 32], &secrets(*epoch)),
        Op::Amend(other) => store.amend(&secrets(*other)),
        Op::End(hold) => store.end(*hold),
        Op::Spend(stock, below) => store.spend(stock, *below),
        Op::CountPool(error) => store.count_pool(*error),
        Op::Save(name, parts) => {
            let parts: Vec<_> = parts.iter().map(|(part, bytes)| (*part, &bytes[..])).collect();
            store.save([*name; 32], &parts)
        }
        Op::Settle(kept) => store.settle(kept.map(|kept| [kept; 32])),
        Op::Burn(part) => store.burn(part),
        Op::Release => store.release(),
    }
}

fn key() -> StoreKey {
    StoreKey::known(7)
}

fn open(disk: &SimulatedDisk) -> Result<DiskStore> {
    DiskStore::open_on(disk.clone(), &key())
}

fn kind<T>(result: Result<T>) -> Option<FailureKind> {
    result.err().map(|failure| failure.kind)
}

/// Every call, most of them in more than one state.
fn script() -> Vec<Op> {
    let long = (0..CHUNKY).map(|byte| byte as u8).collect::<Vec<_>>();
    vec![
        Op::CountPool(ONCE),
        Op::Begin(1),
        Op::Amend(8),
        Op::Spend("ready", 64),
        Op::Spend("ready", 32),
        Op::Save(1, vec![("pool.a", long), ("stock", vec![1; 50])]),
        Op::Spend("inputs", 8),
        Op::Save(2, vec![("pool.a", vec![2; 70]), ("stock", Vec::new())]),
        Op::Burn("stock"),
        Op::Settle(Some(2)),
        Op::Save(3, vec![("pool.a", vec![3; 70])]),
        Op::Settle(None),
        Op::Save(4, vec![("core", vec![4; 9])]),
        Op::Amend(9),
        Op::End(false),
        Op::Amend(7),
        Op::Begin(2),
        Op::CountPool(PoolError { adaptive: 0.25, ..ONCE }),
        Op::Begin(3),
        Op::Save(5, vec![("core", vec![5; 9])]),
        Op::End(true),
        Op::Begin(4),
        Op::Release,
        Op::Begin(5),
    ]
}

const ONCE: PoolError = PoolError { at_once: 1e-12, adaptive: 1.5e-12 };

/// Three chunks.
const CHUNKY: usize = 2 * sealed::CHUNK + 100;

/// Runs until a call fails for want of power; the states that may be found then, the likely one last.
fn run_until_dark(disk: &SimulatedDisk, ops: &[Op]) -> Vec<Shown> {
    let mut shown = Shown::default();
    let Ok(mut store) = open(disk) else { return vec![shown] };
    for op in ops {
        let before = shown.clone();
        let fits = shown.apply(op);
        match run(&mut store, op) {
            Ok(()) => assert!(fits, "{op:?} out of its turn"),
            Err(failure) if failure.kind == Misuse => assert!(!fits, "{op:?}: {failure}"),
            Err(failure) => {
                assert_eq!(failure.kind, Io);
                let mut ended = before.clone();
                // What there was is destroyed first.
                if matches!(op, Op::Begin(_)) {
                    ended.forget_epoch();
                }
                return vec![ended, before, shown];
            }
        }
    }
    // Nothing was cut off.
    vec![shown]
}

/// The files, but for the witness, of which there is one.
fn named(disk: &SimulatedDisk) -> Vec<String> {
    let (witness, names): (Vec<String>, _) =
        disk.names().into_iter().partition(|name| WITNESSES.contains(&&**name));
    assert_eq!(witness.len(), 1);
    names
}

/// After each loss of power, also while what the last one left is tidied up, the state is one before or after.
fn survives(ops: &[Op], stop: u64, luck: u64) {
    let disk = SimulatedDisk::default();
    disk.stop_after(stop);
    let allowed = run_until_dark(&disk, ops);
    disk.reboot(luck);
    disk.stop_after(luck % 12);
    drop(open(&disk));
    disk.reboot(luck ^ 0x5555);
    let store = open(&disk).unwrap_or_else(|failure| panic!("power gone at {stop}: {failure}"));
    let found = Shown::of(&store);
    assert!(
        allowed.contains(&found),
        "power gone at {stop}, luck {luck}: {found:#?}, not {allowed:#?}"
    );
    let mut names = named(&disk);
    names.retain(|name| name != UNHELD);
    names.sort();
    let mut expected = found.names();
    expected.sort();
    assert_eq!(names, expected, "power gone at {stop}, luck {luck}");
}

fn steps(ops: &[Op]) -> u64 {
    let disk = SimulatedDisk::default();
    assert_eq!(run_until_dark(&disk, ops).len(), 1);
    disk.steps()
}

#[test]
fn a_call_does_what_the_trait_says() {
    let disk = SimulatedDisk::default();
    let mut shown = Shown::default();
    let mut store = open(&disk).expect("a store");
    for op in script() {
        let fits = shown.apply(&op);
        assert_eq!(kind(run(&mut store, &op)), (!fits).then_some(Misuse), "{op:?}");
        assert_eq!(Shown::of(&store), shown, "{op:?}");
        drop(store);
        store = open(&disk).expect("a store");
        assert_eq!(Shown::of(&store), shown, "reopened after {op:?}");
        assert!(!store.restored());
    }
}

#[test]
fn power_may_go_at_any_call() {
    let ops = script();
    for stop in 0..=steps(&ops) {
        for luck in 0..12 {
            survives(&ops, stop, luck);
        }
    }
}

fn any_op() -> impl Strategy<Value = Op> {
    let stock = prop::sample::select(vec!["ready", "inputs"]);
    let part = prop::sample::select(vec!["pool", "a.b-1"]);
    let bytes = prop::collection::vec(any::<u8>(), 0..40);
    let parts = prop::collection::btree_map(part.clone(), bytes, 0..3);
    prop_oneof![
        3 => any::<u8>().prop_map(Op::Begin),
        2 => any::<u8>().prop_map(Op::Amend),
        1 => any::<bool>().prop_map(Op::End),
        2 => (stock, 0..100u64).prop_map(|(stock, below)| Op::Spend(stock, below)),
        1 => Just(Op::CountPool(ONCE)),
        4 => (0..4u8, parts).prop_map(|(name, parts)| Op::Save(name, parts.into_iter().collect())),
        2 => prop::option::of(0..4u8).prop_map(Op::Settle),
        2 => part.prop_map(Op::Burn),
        1 => Just(Op::Release),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(24) })]
    #[test]
    fn power_may_go_at_any_call_of_any_sequence(
        ops in prop::collection::vec(any_op(), 1..16),
        luck in any::<u64>(),
    ) {
        for stop in 0..=steps(&ops) {
            survives(&ops, stop, luck.wrapping_add(stop));
        }
    }
}

#[test]
fn whatever_fails_for_want_of_space_the_end_is_kept() {
    let ops = &script()[..12];
    let whole = SimulatedDisk::default();
    run_until_dark(&whole, ops);
    let mut failures = 0;
    for room in 0.. {
        let disk = SimulatedDisk::default();
        disk.full_after(Some(room));
        let Ok(mut store) = open(&disk).map_err(|failure| assert_eq!(failure.kind, Full)) else {
            continue;
        };
        let mut shown = Shown::default();
        let failed = ops.iter().any(|op| {
            shown.apply(op);
            let result = run(&mut store, op);
            assert!(matches!(kind(result.clone()), None | Some(Full)), "{op:?}: {result:?}");
            result.is_err()
        });
        disk.full_after(Some(0));
        assert_eq!(kind(store.end(true)), Some(Full));
        assert!(store.ledger().held && store.ledger().epoch.is_none());
        assert_eq!(kind(store.secrets()), Some(Misuse));
        drop(store);
        disk.reboot(room);
        let mut store = open(&disk).expect("opening needs no space");
        assert!(store.ledger().held && store.ledger().epoch.is_none(), "room for {room}");
        assert_eq!(kind(store.begin([9; 32], b"secrets")), Some(Misuse));
        // The owner makes room and goes on.
        disk.full_after(None);
        store.release().expect("released");
        store.begin([9; 32], b"secrets").expect("begun");
        drop(store);
        let store = open(&disk).expect("a store");
        assert!(store.ledger().epoch == Some([9; 32]) && !store.ledger().held && !store.restored());
        failures += usize::from(failed);
        if !failed {
            break;
        }
    }
    assert!(failures > 20, "{failures} calls failed");
}

#[test]
fn a_full_disk_ends_an_epoch_without_hold_too() {
    let disk = SimulatedDisk::default();
    let mut store = open(&disk).expect("a store");
    store.begin([1; 32], b"secrets").expect("begun");
    disk.full_after(Some(0));
    assert_eq!(kind(store.end(false)), Some(Full));
    assert_eq!(kind(store.count_pool(ONCE)), Some(Misuse), "the store has failed");
    drop(store);
    let store = open(&disk).expect("a store");
    let expected = Ledger { epochs: 1, ..Ledger::default() };
    assert_eq!((store.ledger(), store.restored()), (&expected, false));
    assert_eq!(named(&disk), [LEDGER, UNHELD]);
}

#[test]
fn nothing_that_opens_is_left_of_what_was_destroyed() {
    let disk = SimulatedDisk::default();
    let mut store = open(&disk).expect("a store");
    for op in script() {
        let _ = run(&mut store, &op);
    }
    store.end(false).expect("ended");
    let remains = disk.remains();
    let heads = remains.iter().filter(|bytes| !bytes.starts_with(b"cenoteL"));
    let blank = |bytes: &&Vec<u8>| bytes.iter().take(sealed::FILE_HEAD).all(|byte| *byte == 0);
    assert!(heads.clone().count() > 10);
    // The heads of secrets that were amended are under the key of their epoch, whose own head is gone.
    let amended = 2;
    assert_eq!(heads.clone().filter(|bytes| !blank(bytes)).count(), amended);
    assert!(!heads.clone().any(|bytes| bytes.starts_with(KEY_MAGIC)));
}

/// A disk with an open epoch and two snapshots, one of them of several chunks.
fn furnished(epoch: u8) -> SimulatedDisk {
    let disk = SimulatedDisk::default();
    let mut store = open(&disk).expect("a store");
    store.begin([epoch; 32], &secrets(1)).expect("begun");
    let long: Vec<u8> = (0..CHUNKY).map(|byte| (byte / 3) as u8).collect();
    store.save([1; 32], &[("long", &long), ("short", &[1; 30])]).expect("saved");
    store.save([2; 32], &[("long", &long), ("short", &[2; 30])]).expect("saved");
    drop(store);
    disk
}

/// Whether nothing of a file is believed.
fn refused(disk: &SimulatedDisk, name: &str) -> bool {
    let store = match open(disk) {
        Ok(store) => store,
        Err(failure) => return matches!(failure.kind, Damaged | WrongKey),
    };
    match name.split_once('.') {
        _ if name == KEY => store.ledger().epoch.is_none(),
        _ if name == SECRETS => kind(store.secrets()) == Some(Damaged),
        Some((snapshot, part)) => {
            let snapshot = [u8::from_str_radix(&snapshot[..2], 16).expect("hex"); 32];
            kind(store.load(&snapshot, part)) == Some(Damaged)
        }
        None => false,
    }
}

fn with(disk: &SimulatedDisk, name: &str, change: impl FnOnce(&mut Vec<u8>)) -> SimulatedDisk {
    let other = disk.forked();
    other.corrupt(name, change);
    other
}

fn long(snapshot: u8) -> String {
    file_of(&[snapshot; 32], "long")
}

fn short(snapshot: u8) -> String {
    file_of(&[snapshot; 32], "short")
}

#[test]
fn every_changed_bit_and_every_cut_is_refused() {
    let disk = furnished(1);
    for name in [LEDGER.to_owned(), KEY.to_owned(), SECRETS.to_owned(), short(1), long(1)] {
        assert!(!refused(&with(&disk, &name, |_| ()), &name), "{name} as it is");
        let len = disk.bytes(&name).len();
        let places = (0..len).filter(|at| *at < 200 || len - at < 50 || at % 4_099 == 0);
        for at in places {
            let bit = 1 << (at % 8);
            assert!(refused(&with(&disk, &name, |bytes| bytes[at] ^= bit), &name), "{name}, {at}");
            assert!(
                refused(&with(&disk, &name, |bytes| bytes.truncate(at)), &name),
                "{name}, {at}"
            );
        }
        assert!(refused(&with(&disk, &name, |bytes| bytes.push(0)), &name), "longer {name}");
        assert!(refused(&with(&disk, &name, |bytes| bytes.fill(0)), &name), "blank {name}");
    }
}

#[test]
fn chunks_stay_at_their_places() {
    let disk = furnished(1);
    let sealed_chunk = sealed::CHUNK + 16;
    let head = sealed::FILE_HEAD;
    let swapped = with(&disk, &long(1), |bytes| {
        let (one, two) = bytes[head..].split_at_mut(sealed_chunk);
        one.swap_with_slice(&mut two[..sealed_chunk]);
    });
    assert!(refused(&swapped, &long(1)));
    for chunks in 1..3 {
        let cut = with(&disk, &long(1), |bytes| {
            bytes.truncate(head + chunks * sealed_chunk);
            bytes[8..16].copy_from_slice(&((chunks * sealed::CHUNK) as u64).to_le_bytes());
        });
        assert!(refused(&cut, &long(1)), "cut to {chunks} chunks, with its length");
    }
    let mixed = with(&disk, &long(1), |bytes| {
        bytes[head..].copy_from_slice(&disk.bytes(&long(2))[head..]);
    });
    assert!(refused(&mixed, &long(1)), "chunks of another file");
}

#[test]
fn files_stay_at_their_places() {
    let disk = furnished(1);
    let names = [SECRETS.to_owned(), short(1), short(2), long(1), long(2)];
    for name in &names {
        for other in names.iter().filter(|other| *other != name) {
            let moved = with(&disk, name, |bytes| *bytes = disk.bytes(other));
            assert!(refused(&moved, name), "{other} as {name}");
        }
    }
    let mut store = open(&disk).expect("a store");
    let of_old: Vec<_> = names.iter().map(|name| disk.bytes(name)).collect();
    let old_key = disk.bytes(KEY);
    store.begin([2; 32], &secrets(1)).expect("begun");
    for snapshot in [1, 2] {
        let parts: [(&str, &[u8]); 2] = [("long", &[1; 9]), ("short", &[1; 9])];
        store.save([snapshot; 32], &parts).expect("saved");
    }
    for (name, old) in names.iter().zip(of_old) {
        assert!(refused(&with(&disk, name, |bytes| *bytes = old), name), "{name} of another epoch");
    }
    assert!(refused(&with(&disk, KEY, |bytes| *bytes = old_key), KEY));
    let foreign = furnished(2);
    for name in [LEDGER, KEY] {
        let mixed = with(&disk, name, |bytes| *bytes = foreign.bytes(name));
        let gone = open(&mixed).map_or(true, |store| store.ledger().epoch.is_none());
        assert!(gone, "{name} of another store");
    }
}

#[test]
fn a_copy_has_no_epoch() {
    let disk = furnished(1);
    let copy = disk.copied();
    let store = open(&copy).expect("a store");
    let expected = Ledger { epochs: 1, ..Ledger::default() };
    assert_eq!((store.ledger(), store.restored()), (&expected, true));
    assert_eq!(named(&copy), [LEDGER, UNHELD]);
    let mut store = store;
    store.begin([2; 32], b"secrets").expect("begun");
    drop(store);
    assert!(!open(&copy).expect("a store").restored(), "the owner was told");
}

#[test]
fn a_key_that_was_put_back_opens_nothing() {
    let disk = furnished(1);
    let key = disk.bytes(KEY);
    disk.put(KEY, &key);
    let store = open(&disk).expect("a store");
    assert!(store.restored() && store.ledger().epoch.is_none());
    assert_eq!(named(&disk), [LEDGER, UNHELD]);
}

#[test]
fn a_ledger_that_was_put_back_ends_the_epoch() {
    let disk = furnished(1);
    let old = disk.bytes(LEDGER);
    let mut store = open(&disk).expect("a store");
    store.spend("ready", 65_536).expect("spent");
    drop(store);
    disk.put(LEDGER, &old);
    let store = open(&disk).expect("a store");
    assert!(store.restored() && store.ledger().epoch.is_none());
}

#[test]
fn a_missing_file_is_never_taken_for_a_fresh_store() {
    let disk = furnished(1);
    let mut files = SimulatedDisk::default();
    for name in disk.names().iter().filter(|name| *name != LEDGER) {
        files.put(name, &disk.bytes(name));
    }
    assert_eq!(kind(open(&files)), Some(Damaged));
    files = SimulatedDisk::default();
    files.put("notes.txt", b"of somebody else");
    assert_eq!(kind(open(&files)), Some(Damaged));
    let mut disk = disk;
    disk.remove(&short(1)).expect("removed");
    let store = open(&disk).expect("a store");
    assert_eq!(kind(store.load(&[1; 32], "short")), Some(Damaged));
    assert_eq!(store.load(&[2; 32], "short").expect("a part")[..], [2; 30]);
    drop(store);
    disk.remove(KEY).expect("removed");
    let store = open(&disk).expect("a store");
    assert!(store.ledger().epoch.is_none() && !store.restored());
}

#[test]
fn files_of_others_stay() {
    let disk = furnished(1);
    let stray = [file_of(&[9; 32], "pool"), NEW_LEDGER.to_owned()];
    for name in [&stray[0], &stray[1], "notes.txt", "ABC.pool"] {
        disk.put(name, b"stray");
    }
    let store = open(&disk).expect("a store");
    assert!(!store.restored() && store.ledger().epoch.is_some());
    let names = disk.names();
    assert!(stray.iter().all(|name| !names.contains(name)));
    assert!(["notes.txt", "ABC.pool"].iter().all(|name| names.contains(&(*name).to_owned())));
}

#[test]
fn names_that_are_none_of_files_are_refused() {
    let disk = furnished(1);
    let mut store = open(&disk).expect("a store");
    let long = "x".repeat(65);
    for name in ["", "../pool", "A", "a/b", "a b", "\u{e9}", &long] {
        assert_eq!(kind(store.save([3; 32], &[(name, b"bytes")])), Some(Misuse), "{name}");
    }
    assert_eq!(kind(store.save([3; 32], &[("a", b""), ("a", b"")])), Some(Misuse));
    assert_eq!(kind(store.spend(&long, 1)), Some(Misuse));
    assert_eq!(kind(store.load(&[3; 32], "a")), Some(Misuse));
    store.save([3; 32], &[("0.a-z", b"bytes")]).expect("misuse changes nothing");
}

#[test]
fn nothing_secret_is_shown() {
    let disk = furnished(1);
    let store = open(&disk).expect("a store");
    let shown = format!("{store:?} {:?} {:?}", key(), StoreKey::passphrase("hunter2"));
    assert!(!shown.contains("hunter2") && !shown.contains("7, 7, 7"), "{shown}");
    assert!(shown.contains("epochs: 1") && shown.contains("StoreKey(..)"));
}

fn real() -> (TempDir, StoreKey) {
    let dir = TempDir::new().expect("a directory");
    let key = StoreKey::create(&dir.path().join("key")).expect("a key");
    (dir, key)
}

/// A real store with an open epoch; a tick of the clock later.
fn furnish(path: &Path, key: &StoreKey) {
    let mut store = DiskStore::open(path, key).expect("a store");
    store.begin([1; 32], &secrets(1)).expect("begun");
    store.save([1; 32], &[("pool", &[1; CHUNKY]), ("stock", b"")]).expect("saved");
    drop(store);
    std::thread::sleep(Duration::from_millis(30));
}

fn copy_files(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).expect("a directory") {
        let entry = entry.expect("an entry");
        fs::copy(entry.path(), to.join(entry.file_name())).expect("copied");
    }
}

#[test]
fn real_files_are_for_their_owner_alone() {
    let (dir, key) = real();
    let path = dir.path().join("store");
    furnish(&path, &key);
    let mode = |path: &Path| fs::metadata(path).expect("a file").permissions().mode() & 0o7777;
    assert_eq!((mode(&path), mode(&dir.path().join("key"))), (0o700, 0o600));
    let modes: Vec<_> = fs::read_dir(&path)
        .expect("files")
        .map(|entry| mode(&entry.expect("one").path()))
        .collect();
    assert_eq!(modes, [0o600; 8]);
    let store = DiskStore::open(&path, &key).expect("a store");
    assert!(!store.restored());
    assert_eq!(store.load(&[1; 32], "pool").expect("a part")[..], [1; CHUNKY]);
    assert_eq!(kind(DiskStore::open(&path, &key)), Some(Busy));
    drop(store);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o770)).expect("changed");
    assert_eq!(kind(DiskStore::open(&path, &key)), Some(Io));
}

#[test]
fn a_copied_directory_has_no_epoch_and_the_original_has() {
    let (dir, key) = real();
    let (path, copy) = (dir.path().join("store"), dir.path().join("copy"));
    furnish(&path, &key);
    fs::create_dir(&copy).expect("a directory");
    copy_files(&path, &copy);
    for (path, restored) in [(&copy, true), (&path, false)] {
        let store = DiskStore::open(path, &key).expect("a store");
        assert_eq!((store.restored(), store.ledger().epoch.is_none()), (restored, restored));
    }
    let moved = dir.path().join("moved");
    fs::rename(&path, &moved).expect("moved");
    assert!(!DiskStore::open(&moved, &key).expect("a store").restored());
}

#[test]
fn a_real_file_that_is_put_back_in_place_ends_the_epoch() {
    for name in [KEY, LEDGER] {
        let (dir, key) = real();
        let (path, saved) = (dir.path().join("store"), dir.path().join("saved"));
        furnish(&path, &key);
        fs::copy(path.join(name), &saved).expect("copied");
        let mut store = DiskStore::open(&path, &key).expect("a store");
        store.spend("ready", 65_536).expect("spent");
        drop(store);
        assert!(!DiskStore::open(&path, &key).expect("a store").restored());
        fs::copy(&saved, path.join(name)).expect("put back");
        let store = DiskStore::open(&path, &key).expect("a store");
        assert!(store.restored() && store.ledger().epoch.is_none(), "{name}");
        assert!(!path.join(KEY).exists());
    }
}

/// Whoever may write there keeps an old ledger by a link, and its witness, and moves them back.
#[test]
fn linked_files_that_are_moved_back_end_the_epoch() {
    for with_witness in [false, true] {
        let (dir, key) = real();
        let path = dir.path().join("store");
        furnish(&path, &key);
        let there = |name: &str| path.join(name).exists();
        let old = WITNESSES.into_iter().find(|name| there(name)).expect("a witness");
        fs::hard_link(path.join(LEDGER), path.join("old-ledger")).expect("linked");
        if with_witness {
            fs::hard_link(path.join(old), path.join("old-witness")).expect("linked");
        } else {
            let mut store = DiskStore::open(&path, &key).expect("a store");
            assert!(!store.restored(), "a link of the ledger alone is no harm yet");
            store.spend("ready", 65_536).expect("spent");
        }
        fs::rename(path.join("old-ledger"), path.join(LEDGER)).expect("moved");
        if with_witness {
            fs::rename(path.join("old-witness"), path.join(old)).expect("moved");
        }
        let store = DiskStore::open(&path, &key).expect("a store");
        assert!(store.restored() && store.ledger().epoch.is_none(), "{with_witness}");
    }
}

#[test]
fn keys_open_what_they_made() {
    let (dir, key) = real();
    let path = dir.path().join("store");
    furnish(&path, &key);
    let file = dir.path().join("key");
    let loaded = StoreKey::load(&file).expect("a key");
    assert!(DiskStore::open(&path, &loaded).expect("a store").ledger().epoch.is_some());
    let other = StoreKey::create(&dir.path().join("other")).expect("a key");
    assert_eq!(kind(DiskStore::open(&path, &other)), Some(WrongKey));
    assert!(DiskStore::open(&path, &key).expect("a store").ledger().epoch.is_some());
    let before = fs::read(&file).expect("a file");
    assert_eq!(kind(StoreKey::create(&file)), Some(Misuse));
    assert_eq!(fs::read(&file).expect("a file"), before);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).expect("changed");
    assert_eq!(kind(StoreKey::load(&file)), Some(Io));
    for len in [31, 33] {
        let odd = dir.path().join(format!("odd{len}"));
        fs::write(&odd, vec![0; len]).expect("written");
        fs::set_permissions(&odd, fs::Permissions::from_mode(0o600)).expect("changed");
        assert_eq!(kind(StoreKey::load(&odd)), Some(Damaged));
    }
}

#[test]
fn a_passphrase_opens_what_it_made() {
    let disk = SimulatedDisk::default();
    let phrase = |text| StoreKey::passphrase(text).expect("a key");
    let mut store = DiskStore::open_on(disk.clone(), &phrase("correct horse")).expect("a store");
    store.begin([1; 32], b"secrets").expect("begun");
    drop(store);
    let other = DiskStore::open_on(disk.clone(), &phrase("correct house"));
    assert_eq!(kind(other), Some(WrongKey));
    assert_eq!(kind(open(&disk)), Some(WrongKey));
    let store = DiskStore::open_on(disk, &phrase("correct horse")).expect("a store");
    assert_eq!(store.secrets().expect("secrets")[..], *b"secrets");
    assert_eq!(kind(StoreKey::passphrase("")), Some(Misuse));
}

#[test]
fn a_passphrase_in_a_file_is_its_line() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("secret");
    let load = |bytes: &[u8], mode: u32| {
        let _ = fs::remove_file(&file);
        fs::write(&file, bytes).expect("written");
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).expect("changed");
        StoreKey::load_passphrase(&file)
    };
    let disk = SimulatedDisk::default();
    let key = StoreKey::passphrase("correct horse").expect("a key");
    drop(DiskStore::open_on(disk.clone(), &key).expect("a store"));
    for same in ["correct horse", "correct horse\n", "correct horse\r\n"] {
        let key = load(same.as_bytes(), 0o400).expect("a key");
        assert_eq!(kind(DiskStore::open_on(disk.clone(), &key)), None, "{same:?}");
    }
    for other in ["correct horse ", "correct horse\n\n"] {
        let key = load(other.as_bytes(), 0o400).expect("a key");
        assert_eq!(kind(DiskStore::open_on(disk.clone(), &key)), Some(WrongKey), "{other:?}");
    }
    assert_eq!(kind(load(&[7; 1024], 0o600)), None);
    for odd in [&[][..], b"\n", &[7; 1025], &[7; 4096]] {
        assert_eq!(kind(load(odd, 0o600)), Some(Misuse), "{}", odd.len());
    }
    for open in [0o640, 0o604, 0o444] {
        assert_eq!(kind(load(b"x", open)), Some(Io), "{open:o}");
    }
    // So systemd hands them out, in a place of its own alone.
    assert_eq!(kind(load(b"x", 0o440)), Some(Io));
    let about = (0, 0, 0o440);
    assert!(key::is_credential(Path::new("/run/credentials/cenote@alice.service/store"), about));
    for (path, about) in [
        ("/run/credentials-of-mine/store", about),
        ("/run/credentials/store", (0, 0, 0o444)),
        ("/run/credentials/store", (1000, 0, 0o440)),
    ] {
        assert!(!key::is_credential(Path::new(path), about));
    }
}
