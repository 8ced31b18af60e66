//! A store of items whose ledger can be looked at while a session uses it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cenote_pool::{DiskStore, Ledger, Name, PoolError, Store, StoreFailure};
use cenote_prim::Secret;

/// What was last in the ledger of a lane's store, and what has left it.
#[derive(Clone, Default)]
pub(crate) struct Seen(Arc<Mutex<Known>>);

#[derive(Default)]
struct Known {
    ledger: Ledger,
    /// The epoch that is open, or that was last.
    last: Option<Name>,
    /// Items that have left each stock or pool since this process began.
    used: BTreeMap<String, u64>,
}

impl Seen {
    /// The ledger as it is on disk.
    pub(crate) fn ledger(&self) -> Ledger {
        self.lock().ledger.clone()
    }

    /// The epoch that is open, or the last one that was since this process began.
    pub(crate) fn last_epoch(&self) -> Option<Name> {
        self.lock().last
    }

    /// Items of a stock or pool leave it.
    pub(crate) fn uses(&self, store: &str, items: u64) {
        let mut known = self.lock();
        let used = known.used.entry(store.to_owned()).or_default();
        *used = used.saturating_add(items);
    }

    /// Items that have left each stock or pool since this process began.
    pub(crate) fn used(&self) -> BTreeMap<String, u64> {
        self.lock().used.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A store that shows its ledger.
pub(crate) struct Watched {
    store: DiskStore,
    seen: Seen,
}

impl Watched {
    pub(crate) fn new(store: DiskStore, seen: Seen) -> Watched {
        let watched = Watched { store, seen };
        watched.look();
        watched
    }

    fn look(&self) {
        let ledger = self.store.ledger().clone();
        let mut known = self.seen.lock();
        known.last = ledger.epoch.or(known.last);
        known.ledger = ledger;
    }

    fn then<T>(
        &mut self,
        change: impl FnOnce(&mut DiskStore) -> Result<T, StoreFailure>,
    ) -> Result<T, StoreFailure> {
        let result = change(&mut self.store);
        self.look();
        result
    }
}

impl Store for Watched {
    fn ledger(&self) -> &Ledger {
        self.store.ledger()
    }

    fn begin(&mut self, epoch: Name, secrets: &[u8]) -> Result<(), StoreFailure> {
        self.then(|store| store.begin(epoch, secrets))
    }

    fn secrets(&self) -> Result<Secret<Vec<u8>>, StoreFailure> {
        self.store.secrets()
    }

    fn amend(&mut self, secrets: &[u8]) -> Result<(), StoreFailure> {
        self.then(|store| store.amend(secrets))
    }

    fn end(&mut self, hold: bool) -> Result<(), StoreFailure> {
        self.then(|store| store.end(hold))
    }

    fn stride(&self) -> u64 {
        self.store.stride()
    }

    fn spend(&mut self, stock: &str, below: u64) -> Result<(), StoreFailure> {
        self.then(|store| store.spend(stock, below))
    }

    fn leave(&mut self, spent: &[(&str, u64)]) -> Result<(), StoreFailure> {
        self.then(|store| store.leave(spent))
    }

    fn count_pool(&mut self, error: PoolError) -> Result<(), StoreFailure> {
        self.then(|store| store.count_pool(error))
    }

    fn save(&mut self, snapshot: Name, parts: &[(&str, &[u8])]) -> Result<(), StoreFailure> {
        self.then(|store| store.save(snapshot, parts))
    }

    fn settle(&mut self, snapshot: Option<Name>) -> Result<(), StoreFailure> {
        self.then(|store| store.settle(snapshot))
    }

    fn load(&self, snapshot: &Name, part: &str) -> Result<Secret<Vec<u8>>, StoreFailure> {
        self.store.load(snapshot, part)
    }

    fn burn(&mut self, part: &str) -> Result<(), StoreFailure> {
        self.then(|store| store.burn(part))
    }
}
