//! Which items left a lane's stocks, and when: a line for each reservation, before anything depends on it.
//!
//! Nothing rests on this file: what may not leave twice is kept by the store (docs/protocols/epoch.md). It is what a checker reads
//! after kills of both services ([`check`]): no number of an epoch twice, on either side. Items of a pool have no numbers for life: what leaves is
//! counted anew in each connection, and that a pool comes back as it was put away or not at all is the keeper's. So the epoch of
//! their lines is one of the epoch and the connection.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cenote_engine::CONNECTIONS;
use cenote_net::Fault;
use cenote_pool::{Journal, Refused};

use crate::peer::watched::Seen;
use crate::registry::hex;

/// What the names of pools begin with.
const POOLS: &str = "pool.";
/// Bytes after which a new file begins, in place of the one before the last.
const MOST_BYTES: u64 = 64 << 20;

/// The journal of one session of a lane.
pub(crate) struct LaneJournal {
    file: File,
    seen: Seen,
    /// Until then it is told what earlier sessions have used.
    live: Arc<AtomicBool>,
    consumed: BTreeMap<String, u64>,
}

impl LaneJournal {
    /// The journal of a lane, which writes from the time when `live` is set.
    pub(crate) fn open(
        dir: &Path,
        lane: &str,
        seen: Seen,
        live: Arc<AtomicBool>,
    ) -> Result<LaneJournal, Fault> {
        let failed = |error: std::io::Error| Fault::Storage(format!("{}: {error}", dir.display()));
        std::fs::create_dir_all(dir).map_err(failed)?;
        let path = dir.join(format!("{lane}.log"));
        if path.metadata().is_ok_and(|known| known.len() > MOST_BYTES) {
            std::fs::rename(&path, dir.join(format!("{lane}.log.1"))).map_err(failed)?;
        }
        let file = OpenOptions::new().create(true).append(true).open(&path).map_err(failed)?;
        Ok(LaneJournal { file, seen, live, consumed: BTreeMap::new() })
    }
}

impl Journal for LaneJournal {
    fn reserve(&mut self, store: &str, items: Range<u64>) -> Result<(), Refused> {
        let refused = |reason: String| Refused { store: store.into(), reason };
        let next = self.consumed(store);
        if items.start != next || items.end < next {
            return Err(refused(format!(
                "items {items:?} do not follow the {next} that have left"
            )));
        }
        if self.live.load(Ordering::SeqCst) {
            let ledger = self.seen.ledger();
            let mut epoch = ledger.epoch.map(|name| hex(&name[..8])).unwrap_or_default();
            if store.starts_with(POOLS) {
                let connection = ledger.spent.get(CONNECTIONS).copied().unwrap_or(0);
                epoch = format!("{epoch}.{connection}");
            }
            let line = format!("{epoch} {store} {} {}\n", items.start, items.end);
            self.file.write_all(line.as_bytes()).map_err(|error| refused(error.to_string()))?;
            self.seen.uses(store, items.end - items.start);
        }
        self.consumed.insert(store.to_owned(), items.end);
        Ok(())
    }

    fn consumed(&self, store: &str) -> u64 {
        self.consumed.get(store).copied().unwrap_or(0)
    }
}

/// Why a journal does not show that each item left once.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JournalError {
    /// It cannot be read, with the place.
    #[error("{0}")]
    Unreadable(String),
    /// An item left twice, with the line of the second time.
    #[error("{0}")]
    Twice(String),
}

/// Reads the journal of a lane, such as `journal/small.log`, and says how many items left; the file before it, `small.log.1`, is
/// read first if there is one.
///
/// # Errors
/// The line on which an item leaves that had left, or that cannot be read.
pub fn check(path: &Path) -> Result<u64, JournalError> {
    let mut left = Left::default();
    let before = path.with_extension("log.1");
    if before.exists() {
        left.read(&before)?;
    }
    left.read(path)?;
    Ok(left.items)
}

/// What has left, by epoch and store, and how many items these are.
#[derive(Default)]
struct Left {
    next: BTreeMap<String, u64>,
    items: u64,
}

impl Left {
    fn read(&mut self, path: &Path) -> Result<(), JournalError> {
        let unreadable = |error: std::io::Error| {
            JournalError::Unreadable(format!("{}: {error}", path.display()))
        };
        let file = File::open(path).map_err(unreadable)?;
        for (number, line) in BufReader::new(file).split(b'\n').enumerate() {
            let line = line.map_err(unreadable)?;
            let place = format!("{}: line {}", path.display(), number + 1);
            self.line(&String::from_utf8_lossy(&line), &place)?;
        }
        Ok(())
    }

    fn line(&mut self, text: &str, place: &str) -> Result<(), JournalError> {
        let unreadable = || JournalError::Unreadable(format!("{place}: not a line of a journal"));
        let words: Vec<&str> = text.split(' ').collect();
        let [epoch, store, from, to] = words[..] else { return Err(unreadable()) };
        let (Ok(from), Ok(to)) = (from.parse::<u64>(), to.parse::<u64>()) else {
            return Err(unreadable());
        };
        if to < from {
            return Err(unreadable());
        }
        let next = self.next.entry(format!("{epoch} {store}")).or_default();
        if from < *next {
            return Err(JournalError::Twice(format!(
                "{place}: item {from} of {store} left before"
            )));
        }
        *next = to;
        self.items += to - from;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use cenote_pool::{DiskStore, Store as _, StoreKey};

    use super::*;
    use crate::peer::watched::Watched;

    #[test]
    fn an_item_that_leaves_twice_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("small.log");
        let (live, seen) = (Arc::new(AtomicBool::new(true)), Seen::default());
        let open =
            || LaneJournal::open(dir.path(), "small", seen.clone(), Arc::clone(&live)).unwrap();
        let mut journal = open();
        journal.reserve("triples", 0..10).unwrap();
        journal.reserve("triples", 10..20).unwrap();
        assert!(journal.reserve("triples", 10..20).is_err());
        assert_eq!(check(&path), Ok(20));
        assert_eq!(seen.used(), [("triples".to_owned(), 20)].into());
        live.store(false, Ordering::SeqCst);
        let mut again = open();
        again.reserve("triples", 0..19).unwrap();
        live.store(true, Ordering::SeqCst);
        again.reserve("triples", 19..31).unwrap();
        // What it was told of earlier sessions left before.
        assert_eq!(seen.used(), [("triples".to_owned(), 32)].into());
        let twice = check(&path).unwrap_err();
        assert!(matches!(twice, JournalError::Twice(_)), "{twice:?}");
        assert!(twice.to_string().contains("line 3: item 19 of triples left before"));
    }

    #[test]
    fn a_pool_is_counted_anew_in_each_connection_and_a_stock_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let key = StoreKey::create(&dir.path().join("key")).unwrap();
        let store = DiskStore::open(&dir.path().join("store"), &key).unwrap();
        let seen = Seen::default();
        let mut store = Watched::new(store, seen.clone());
        store.begin([7; 32], b"secrets").unwrap();
        for (connection, stock, good) in [(1, 0..4, true), (2, 4..8, true), (3, 7..9, false)] {
            store.spend(CONNECTIONS, connection).unwrap();
            let live = Arc::new(AtomicBool::new(false));
            let mut journal =
                LaneJournal::open(dir.path(), "small", seen.clone(), Arc::clone(&live)).unwrap();
            journal.reserve("stock.triple", 0..stock.start).unwrap();
            live.store(true, Ordering::SeqCst);
            journal.reserve("pool.leaky-and", 0..100).unwrap();
            journal.reserve("stock.triple", stock).unwrap();
            assert_eq!(check(&dir.path().join("small.log")).is_ok(), good, "{connection}");
        }
    }

    #[test]
    fn the_file_before_counts() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("large.log");
        let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
        write("large.log.1", "aa triples 0 10\naa shares 0 4\n");
        write("large.log", "aa triples 10 11\nbb triples 0 3\n");
        assert_eq!(check(&path), Ok(18));
        write("large.log", "aa shares 3 4\n");
        assert!(matches!(check(&path), Err(JournalError::Twice(_))));
        for text in ["aa shares 4\n", "aa shares 4 x\n", "aa shares 6 5\n"] {
            write("large.log", text);
            assert!(matches!(check(&path), Err(JournalError::Unreadable(_))), "{text}");
        }
    }
}
