//! The passes in their order.

use super::ands::ands;
use super::balance::balance;
use super::constants::constants;
use super::dead::dead;
use super::identities::identities;
use super::inverters::inverters;
use super::net::Net;
use super::redundant::redundant;
use super::report::Report;

type Pass = (&'static str, fn(&Net) -> Net);

/// Inverters first, because what they hide is constant, repeated or an identity without them.
const CLEANING: [Pass; 5] = [
    ("inverters", inverters),
    ("constants", constants),
    ("identities", identities),
    ("redundant", redundant),
    ("dead", dead),
];

/// Rounds of AND reduction at most.
const ROUNDS: usize = 4;
/// Another round follows if the last one removed one AND of so many.
const WORTH: u64 = 200;

/// Runs all passes on a net and adds what each leaves to the report.
pub(crate) fn run(mut net: Net, depth: bool, report: &mut Report) -> Net {
    for (name, pass) in CLEANING {
        net = pass(&net);
        report.add(name, net.size());
    }
    for _ in 0..ROUNDS {
        let before = net.ands();
        net = dead(&ands(&net));
        let saved = before - net.ands();
        if saved == 0 || saved * WORTH < before {
            break;
        }
    }
    report.add("ands", net.size());
    if depth {
        net = dead(&balance(&net));
        report.add("depth", net.size());
    }
    net
}
