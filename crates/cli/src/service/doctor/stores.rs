//! The stores of the pools: whether they open, and how many pools were begun.

use std::path::Path;

use cenote_engine::MOST_POOLS;
use cenote_pool::{DiskStore, Store as _, StoreFailure, StoreKey};
use cenote_service::config::Config;

use super::{Place, Report};
use crate::service::running::Running;

/// Both lanes have one.
const LANES: [&str; 2] = ["small", "large"];
/// Where systemd has the credentials of services.
const CREDENTIALS: &str = "/run/credentials";

pub(super) fn check(place: &Place<'_>, report: &mut Report) {
    let Some(config) = &place.config else { return };
    // None once the store of a lane is there and was not read.
    let mut begun = Some(0u64);
    for lane in LANES {
        let name = format!("store {lane}");
        let (dir, key) = config.store_files(lane);
        if config.keys_beside_stores() && !dir.exists() && !key.exists() {
            report.ok(&name, "is begun with the first session");
            continue;
        }
        match config.store_key(lane) {
            Ok(_) if !dir.exists() => report.ok(&name, "is begun with the first session"),
            Ok(key) => {
                let here = open(place, &name, &dir, &key, report);
                begun = begun.zip(here).map(|(sum, here)| sum.saturating_add(here));
            }
            Err(failure) => {
                unopened(config, &key, &name, &failure, report);
                begun = None;
            }
        }
    }
    if let Some(begun) = begun {
        pools(begun, MOST_POOLS, report);
    }
}

/// What is to open it cannot be read.
fn unopened(config: &Config, key: &Path, name: &str, failure: &StoreFailure, report: &mut Report) {
    let named = config.stores.key_file.as_ref().or(config.stores.passphrase_file.as_ref());
    if let Some(file) = named.filter(|file| file.starts_with(CREDENTIALS) && !file.exists()) {
        let found = format!("{} is not there", file.display());
        let remedy = "systemd has it there while the service runs; if it does, run this as the user of the service";
        return report.warning(name, found, remedy);
    }
    let lost = "without its key a store is lost: stop both services, remove stores/ on both sides, start them; pools are filled again";
    let is_lost = config.keys_beside_stores() && !key.exists();
    report.bad(name, &*failure.what, if is_lost { lost } else { &*failure.remedy });
}

/// Opens a store; gives the pools that were begun in it.
fn open(
    place: &Place<'_>,
    name: &str,
    dir: &Path,
    key: &StoreKey,
    report: &mut Report,
) -> Option<u64> {
    // One process has a store open, and its files belong to one user.
    if place.running == Running::Yes {
        report.ok(name, "in use by the service; its key is for its user alone");
        return None;
    }
    if place.running == Running::Unknown || !place.own {
        report.ok(name, "is there; not opened, for it is another user's");
        return None;
    }
    let store = match DiskStore::open(dir, key) {
        Ok(store) => store,
        Err(failure) => {
            damaged(name, &failure, report);
            return None;
        }
    };
    let ledger = store.ledger();
    if ledger.held {
        let remedy = "no job runs. Find out what happened, with the peer's owner, start the service, then `cenote peer lift` (docs/operate.md)";
        let found = "a check failed: the peer, or somebody in its place, cheated";
        report.bad(name, found, remedy);
    } else if store.restored() {
        let remedy = "nothing is to be done, the pool is filled again; keep stores/ out of backups, and do not change or move its files";
        report.warning(
            name,
            "its files were copied, changed or put back, so what was ready is destroyed",
            remedy,
        );
    } else {
        report.ok(name, "opens");
    }
    Some(ledger.pools)
}

fn damaged(name: &str, failure: &StoreFailure, report: &mut Report) {
    let otherwise =
        "stop both services, remove stores/ on both sides, start them; pools are filled again";
    report.failed(name, &failure.to_string(), otherwise);
}

/// Pools that were begun, each of which weakens the bound a little.
pub(super) fn pools(begun: u64, most: u64, report: &mut Report) {
    let found = format!("{begun} of {most} pools begun with this peer");
    let remedy = "both owners remove stores/ while the services stand: a new relation, whose bound does not count the tries of the old one; find out first why so many sessions ended out of order";
    if begun >= most {
        report.bad("pools", format!("{found}: no further one begins"), remedy);
    } else if begun >= most / 4 * 3 {
        report.warning("pools", found, remedy);
    } else {
        report.ok("pools", found);
    }
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;

    #[test]
    fn many_pools_are_said_before_there_are_too_many() {
        for (begun, state) in
            [(0, State::Ok), (767, State::Ok), (768, State::Warning), (1024, State::Bad)]
        {
            let mut report = Report::default();
            pools(begun, MOST_POOLS, &mut report);
            assert_eq!(report.0[0].state, state, "{begun}");
        }
    }
}
