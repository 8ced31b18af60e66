//! Which items left a lane's stocks, and when: a line for each reservation, before anything depends on it.
//!
//! Nothing rests on this file: what may not leave twice is kept by the store (docs/protocols/epoch.md). It is what a checker reads
//! after kills of both services ([`check`]): no number of an epoch twice, on either side.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cenote_net::Fault;
use cenote_pool::{Journal, Refused};

use crate::peer::watched::Seen;
use crate::registry::hex;

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
            let epoch = self.seen.ledger().epoch.map(|name| hex(&name[..8])).unwrap_or_default();
            let line = format!("{epoch} {store} {} {}\n", items.start, items.end);
            self.file.write_all(line.as_bytes()).map_err(|error| refused(error.to_string()))?;
        }
        self.consumed.insert(store.to_owned(), items.end);
        Ok(())
    }

    fn consumed(&self, store: &str) -> u64 {
        self.consumed.get(store).copied().unwrap_or(0)
    }
}

/// Reads a journal and says how many items left, or which left twice.
///
/// # Errors
/// The line on which an item leaves that had left, or that cannot be read.
pub fn check(path: &Path) -> Result<u64, String> {
    let failed = |what: String| format!("{}: {what}", path.display());
    let file = File::open(path).map_err(|error| failed(error.to_string()))?;
    let mut left: BTreeMap<String, u64> = BTreeMap::new();
    let mut items = 0;
    for (number, line) in BufReader::new(file).split(b'\n').enumerate() {
        let line = line.map_err(|error| failed(error.to_string()))?;
        let text = String::from_utf8_lossy(&line);
        let words: Vec<&str> = text.split(' ').collect();
        let [epoch, store, from, to] = words[..] else {
            return Err(failed(format!("line {}: not a line of a journal", number + 1)));
        };
        let (Ok(from), Ok(to)) = (from.parse::<u64>(), to.parse::<u64>()) else {
            return Err(failed(format!("line {}: no numbers", number + 1)));
        };
        let next = left.entry(format!("{epoch} {store}")).or_default();
        if from < *next || to < from {
            return Err(failed(format!("line {}: item {from} of {store} left before", number + 1)));
        }
        *next = to;
        items += to - from;
    }
    Ok(items)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_that_leaves_twice_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("small.log");
        let live = Arc::new(AtomicBool::new(true));
        let open =
            || LaneJournal::open(dir.path(), "small", Seen::default(), Arc::clone(&live)).unwrap();
        let mut journal = open();
        journal.reserve("triples", 0..10).unwrap();
        journal.reserve("triples", 10..20).unwrap();
        assert!(journal.reserve("triples", 10..20).is_err());
        assert_eq!(check(&path), Ok(20));
        live.store(false, Ordering::SeqCst);
        let mut again = open();
        again.reserve("triples", 0..19).unwrap();
        live.store(true, Ordering::SeqCst);
        again.reserve("triples", 19..31).unwrap();
        assert!(check(&path).unwrap_err().contains("line 3: item 19 of triples left before"));
    }
}
