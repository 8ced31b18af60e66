//! `cenote bench service` and `kills`: two services as processes, through their APIs.

mod flat;
mod kills;
mod load;
mod pair;

use crate::bench::args::{BenchKillsArgs, BenchServiceArgs};
use crate::exit::Failure;
use crate::output::Reply;

pub(super) fn load(args: &BenchServiceArgs) -> Result<Reply, Failure> {
    load::command(args)
}

pub(super) fn kills(args: &BenchKillsArgs) -> Result<Reply, Failure> {
    kills::command(args)
}
