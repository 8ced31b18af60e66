//! A disk in memory for sessions that keep items: it can be cut off before any of its changes, copied and put back.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cenote_pool::{FailureKind, Ledger, MOST_STRIDE, Name, PoolError, Store, StoreFailure};
use cenote_prim::Secret;

/// What one side has on disk. Clones are the same disk.
#[derive(Clone, Default)]
pub struct Disk(Arc<Mutex<Content>>);

/// All that is on a disk.
#[derive(Clone, Default)]
pub struct Content {
    ledger: Ledger,
    secrets: Vec<u8>,
    parts: BTreeMap<(Name, String), Vec<u8>>,
    /// Changes until power is lost.
    left: Option<usize>,
    changes: usize,
    at_end: Option<Arc<dyn Fn() + Send + Sync>>,
    delay: Duration,
    stride: Option<u64>,
}

impl Disk {
    /// A store on this disk. There may be one at a time.
    #[must_use]
    pub fn store(&self) -> Box<dyn Store> {
        Box::new(OnDisk { ledger: self.lock().ledger.clone(), disk: self.clone() })
    }

    /// Loses power after so many more changes.
    pub fn cut_after(&self, changes: usize) {
        self.lock().left = Some(changes);
    }

    /// Has power again.
    pub fn restart(&self) {
        self.lock().left = None;
    }

    /// Changes so far.
    #[must_use]
    pub fn changes(&self) -> usize {
        self.lock().changes
    }

    /// Calls `hook` just before an epoch ends.
    pub fn at_end(&self, hook: impl Fn() + Send + Sync + 'static) {
        self.lock().at_end = Some(Arc::new(hook));
    }

    /// Each change takes so long from now on.
    pub fn slow(&self, delay: Duration) {
        self.lock().delay = delay;
    }

    /// Has so many items noted ahead at a time.
    pub fn set_stride(&self, stride: u64) {
        self.lock().stride = Some(stride);
    }

    /// What is known without reading items.
    #[must_use]
    pub fn ledger(&self) -> Ledger {
        self.lock().ledger.clone()
    }

    /// A copy of everything.
    #[must_use]
    pub fn backup(&self) -> Content {
        self.lock().clone()
    }

    /// Puts a copy back.
    pub fn put_back(&self, content: Content) {
        *self.lock() = content;
    }

    /// Changes what lies in this part of each snapshot.
    pub fn change_part(&self, part: &str, change: impl Fn(&mut Vec<u8>)) {
        let mut content = self.lock();
        let parts = content.parts.iter_mut().filter(|((_, name), _)| name == part);
        parts.for_each(|(_, bytes)| change(bytes));
    }

    fn lock(&self) -> MutexGuard<'_, Content> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct OnDisk {
    disk: Disk,
    ledger: Ledger,
}

impl OnDisk {
    fn change(&mut self, change: impl FnOnce(&mut Content)) -> Result<(), StoreFailure> {
        let delay = self.disk.lock().delay;
        std::thread::sleep(delay);
        let mut content = self.disk.lock();
        match &mut content.left {
            Some(0) => return Err(failure("power was lost")),
            Some(left) => *left -= 1,
            None => {}
        }
        content.changes += 1;
        change(&mut content);
        self.ledger = content.ledger.clone();
        Ok(())
    }
}

fn failure(what: &str) -> StoreFailure {
    StoreFailure::new(FailureKind::Io, what, "start again")
}

fn forget(content: &mut Content) {
    content.secrets.clear();
    content.parts.clear();
    content.ledger.snapshots.clear();
    content.ledger.spent.clear();
    content.ledger.epoch = None;
}

impl Store for OnDisk {
    fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    fn stride(&self) -> u64 {
        self.disk.lock().stride.unwrap_or(MOST_STRIDE)
    }

    fn begin(&mut self, epoch: Name, secrets: &[u8]) -> Result<(), StoreFailure> {
        let secrets = secrets.to_vec();
        self.change(|content| {
            forget(content);
            content.ledger.epochs += 1;
            (content.ledger.epoch, content.secrets) = (Some(epoch), secrets);
        })
    }

    fn secrets(&self) -> Result<Secret<Vec<u8>>, StoreFailure> {
        let content = self.disk.lock();
        match content.ledger.epoch {
            Some(_) => Ok(Secret::new(content.secrets.clone())),
            None => Err(failure("no epoch")),
        }
    }

    fn amend(&mut self, secrets: &[u8]) -> Result<(), StoreFailure> {
        if self.ledger.epoch.is_none() {
            return Err(failure("no epoch"));
        }
        let secrets = secrets.to_vec();
        self.change(|content| content.secrets = secrets)
    }

    fn end(&mut self, hold: bool) -> Result<(), StoreFailure> {
        let hook = self.disk.lock().at_end.clone();
        hook.iter().for_each(|hook| hook());
        self.change(|content| {
            forget(content);
            content.ledger.held |= hold;
        })
    }

    fn spend(&mut self, stock: &str, below: u64) -> Result<(), StoreFailure> {
        self.change(|content| {
            let spent = content.ledger.spent.entry(stock.to_owned()).or_default();
            *spent = below.max(*spent);
        })
    }

    fn leave(&mut self, spent: &[(&str, u64)]) -> Result<(), StoreFailure> {
        self.change(|content| {
            for (stock, below) in spent {
                if let Some(noted) = content.ledger.spent.get_mut(*stock) {
                    *noted = *below.min(noted);
                }
            }
        })
    }

    fn count_pool(&mut self, error: PoolError) -> Result<(), StoreFailure> {
        self.change(|content| {
            content.ledger.pools += 1;
            content.ledger.error = content.ledger.error.plus(error);
        })
    }

    fn save(&mut self, snapshot: Name, parts: &[(&str, &[u8])]) -> Result<(), StoreFailure> {
        if self.ledger.epoch.is_none()
            || self.ledger.snapshots.iter().any(|(name, _)| *name == snapshot)
        {
            return Err(failure("no epoch, or a name twice"));
        }
        self.change(|content| {
            let names = parts.iter().map(|(name, _)| (*name).to_owned()).collect();
            content.ledger.snapshots.push((snapshot, names));
            for (name, bytes) in parts {
                content.parts.insert((snapshot, (*name).to_owned()), bytes.to_vec());
            }
        })
    }

    fn settle(&mut self, snapshot: Option<Name>) -> Result<(), StoreFailure> {
        self.change(|content| {
            content.ledger.snapshots.retain(|(name, _)| Some(*name) == snapshot);
            content.parts.retain(|(name, _), _| Some(*name) == snapshot);
        })
    }

    fn load(&self, snapshot: &Name, part: &str) -> Result<Secret<Vec<u8>>, StoreFailure> {
        let content = self.disk.lock();
        let bytes = content.parts.get(&(*snapshot, part.to_owned()));
        bytes.map(|bytes| Secret::new(bytes.clone())).ok_or_else(|| failure("no such part"))
    }

    fn burn(&mut self, part: &str) -> Result<(), StoreFailure> {
        self.change(|content| {
            content.parts.retain(|(_, name), _| name != part);
            for (_, parts) in &mut content.ledger.snapshots {
                parts.retain(|name| name != part);
            }
        })
    }
}
