//! The plan of a session of `yao` (docs/protocols/yao.md, "Costs").

use cenote_net::Role;
use cenote_ot::Params as OtParams;

use super::flow::{Flow, packed};
use super::{Demand, Plan};
use crate::backends::yao::{FRAME, PIECE};

/// Bytes of a live bit: its label, and a copy for the operation that reads it.
const LIVE: u64 = 32;
/// Tables of a frame and buffers of the connection.
const FIXED: u64 = 2 << 20;

pub(super) fn plan(demand: &Demand) -> Plan {
    let ot = OtParams::default();
    // The points cross, then come the trees.
    let setup = Flow::default().ot_setup(ot, Role::Garbler).sends(Role::Garbler, 16, 1).waits(1, 2);
    let mut online = Flow::default();
    for &(owner, bits) in &demand.inputs {
        online = match owner {
            Role::Garbler => {
                let pieces = bits.div_ceil(PIECE as u64);
                online.sends(owner, bits.saturating_mul(16), pieces)
            }
            Role::Evaluator => {
                online.cots(ot, owner, bits).sends(owner, packed(bits), 1).waits(1, 1)
            }
        };
    }
    let ands = demand.stats.ands;
    let tables = ands / FRAME as u64 + ands.min(1 + demand.stats.reveals);
    online = online.sends(Role::Garbler, ands.saturating_mul(32), tables);
    for (to, times, bits) in demand.openings() {
        for (from, to_it) in [(Role::Garbler, Role::Evaluator), (Role::Evaluator, Role::Garbler)] {
            if to.include(to_it) {
                let received = if to_it == Role::Garbler { times } else { 0 };
                online = online.sends(from, packed(bits), times).waits(received, times);
            }
        }
    }
    let memory = demand.stats.live_bits.saturating_mul(LIVE).saturating_add(FIXED);
    Plan { setup, online, evaluated: ands as f64, memory: [memory; 2], ..Plan::default() }
}
