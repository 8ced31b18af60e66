//! The stores of the pools: whether they open, and how many pools were begun.

use std::path::Path;

use cenote_engine::MOST_POOLS;
use cenote_pool::{DiskStore, Store as _, StoreFailure, StoreKey};

use super::{Place, Report, Running};

/// Both lanes have one.
const LANES: [&str; 2] = ["small", "large"];

pub(super) fn check(place: &Place<'_>, report: &mut Report) {
    for lane in LANES {
        let name = format!("store {lane}");
        let dir = place.dir.join("stores").join(lane);
        let key = place.dir.join("stores").join(format!("{lane}.key"));
        if !dir.exists() && !key.exists() {
            report.ok(&name, "is begun with the first session");
            continue;
        }
        match StoreKey::load(&key) {
            Ok(key) => open(place, &name, &dir, &key, report),
            Err(failure) => {
                let remedy = "without its key a store is lost: stop both services, remove stores/ on both sides, start them; pools are filled again";
                let remedy =
                    if key.exists() { "let the service's user alone read it" } else { remedy };
                report.bad(&name, failure.to_string(), remedy);
            }
        }
    }
}

fn open(place: &Place<'_>, name: &str, dir: &Path, key: &StoreKey, report: &mut Report) {
    // One process has a store open, and its files belong to one user.
    if place.running == Running::Yes {
        return report.ok(name, "in use by the service; its key is for its user alone");
    }
    if place.running == Running::Unknown || !place.own {
        return report.ok(name, "is there; not opened, for it is another user's");
    }
    let store = match DiskStore::open(dir, key) {
        Ok(store) => store,
        Err(failure) => return damaged(name, &failure, report),
    };
    let ledger = store.ledger();
    if ledger.held {
        let remedy = "no job runs. Find out what happened, with the peer's owner, start the service, then `cenote peer lift` (docs/operate.md)";
        return report.bad(
            name,
            "a check failed: the peer, or somebody in its place, cheated",
            remedy,
        );
    }
    if store.restored() {
        let remedy = "nothing is to be done, the pool is filled again; keep stores/ out of backups, and do not change or move its files";
        report.warning(
            name,
            "its files were copied, changed or put back, so what was ready is destroyed",
            remedy,
        );
    }
    pools(name, ledger.pools, MOST_POOLS, report);
}

fn damaged(name: &str, failure: &StoreFailure, report: &mut Report) {
    let otherwise =
        "stop both services, remove stores/ on both sides, start them; pools are filled again";
    report.failed(name, &failure.to_string(), otherwise);
}

/// Pools that were begun, each of which weakens the bound a little.
pub(super) fn pools(name: &str, begun: u64, most: u64, report: &mut Report) {
    let found = format!("{begun} of {most} pools begun with this peer");
    let remedy = "both owners remove stores/ while the services stand: a new relation, whose bound does not count the tries of the old one; find out first why so many sessions ended out of order";
    if begun >= most {
        report.bad(name, format!("{found}: no further one begins"), remedy);
    } else if begun >= most / 4 * 3 {
        report.warning(name, found, remedy);
    } else {
        report.ok(name, found);
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
            pools("p", begun, MOST_POOLS, &mut report);
            assert_eq!(report.0[0].state, state, "{begun}");
        }
    }
}
