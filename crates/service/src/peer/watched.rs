//! A store of items whose ledger can be looked at while a session uses it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cenote_engine::MOST_POOLS;
use cenote_pool::{DiskStore, FailureKind, Ledger, Name, PoolError, Store, StoreFailure};
use cenote_prim::Secret;

/// What was last in the ledger of a lane's store, and what has left it.
#[derive(Clone, Default)]
pub(crate) struct Seen(Arc<Mutex<Known>>);

#[derive(Default)]
struct Known {
    /// None before anybody has looked.
    ledger: Option<Ledger>,
    /// The epoch that is open, or that was last.
    last: Option<Name>,
    /// Items that have left each stock or pool since this process began.
    used: BTreeMap<String, u64>,
}

impl Seen {
    /// The ledger as it is on disk; an empty one before anybody has looked.
    pub(crate) fn ledger(&self) -> Ledger {
        self.lock().ledger.clone().unwrap_or_default()
    }

    /// Whether somebody has looked.
    pub(crate) fn is_known(&self) -> bool {
        self.lock().ledger.is_some()
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
    /// Other stores of the same relation, whose pools count with those of this one.
    others: Vec<Seen>,
}

impl Watched {
    pub(crate) fn new(store: DiskStore, seen: Seen) -> Watched {
        let watched = Watched { store, seen, others: Vec::new() };
        watched.look();
        watched
    }

    /// The same store, in which no pool is begun after as many as the bound allows in all of these.
    pub(crate) fn beside(self, others: Vec<Seen>) -> Watched {
        Watched { others, ..self }
    }

    fn look(&self) {
        let ledger = self.store.ledger().clone();
        let mut known = self.seen.lock();
        known.last = ledger.epoch.or(known.last);
        known.ledger = Some(ledger);
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
        let others = self.others.iter().map(|seen| seen.ledger().pools);
        let begun = others.fold(self.store.ledger().pools, u64::saturating_add);
        if begun >= MOST_POOLS {
            let what = format!(
                "{MOST_POOLS} pools were begun with this peer in both lanes, all that the bound allows"
            );
            return Err(StoreFailure::new(
                FailureKind::Misuse,
                what,
                "agree with it on new stores",
            ));
        }
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

#[cfg(test)]
mod tests {
    use cenote_pool::StoreKey;

    use super::*;

    #[test]
    fn no_pool_is_begun_beyond_the_bound_of_all_stores() {
        let temp = tempfile::tempdir().unwrap();
        let open = |name: &str| {
            let key = StoreKey::create(&temp.path().join(format!("{name}.key"))).unwrap();
            DiskStore::open(&temp.path().join(name), &key).unwrap()
        };
        let (other, own) = (Seen::default(), Seen::default());
        assert!(!other.is_known());
        let mut first = Watched::new(open("first"), other.clone());
        let mut second = Watched::new(open("second"), own.clone()).beside(vec![other.clone()]);
        let one = PoolError { at_once: 0.0, adaptive: 1e-12 };
        (0..MOST_POOLS - 1).for_each(|_| first.count_pool(one).unwrap());
        second.count_pool(one).unwrap();
        assert!(second.count_pool(one).unwrap_err().what.contains("1024 pools"));
        assert_eq!((other.ledger().pools, own.ledger().pools), (MOST_POOLS - 1, 1));
    }
}
