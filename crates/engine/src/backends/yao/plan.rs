//! The plan of a session of `yao` (docs/protocols/yao.md, "Costs").

use cenote_net::{Phase, Role};
use cenote_ot::rot;

use crate::backends::yao::{FRAME, PIECE, YaoParams};
use crate::cost::{Demand, Flow, Plan, packed};

/// Bytes of a live bit: its label, and a copy for the operation that reads it.
const LIVE: u64 = 32;
/// Correlated OTs with chosen bits that are made at a time.
const BATCH: u64 = rot::BATCH as u64;
/// Tables of a frame and buffers of the connection.
const FIXED: u64 = 2 << 20;

pub(super) fn plan(plan: &mut Plan, params: &YaoParams, demand: &Demand) {
    let ot = params.ot;
    plan.ot = ot;
    let setup = Flow::default().ot_setup(ot, Role::Garbler).sends(Role::Garbler, 16, 1).waits(2);
    plan.then(Phase::Setup, setup);
    plan.job(demand);
    for &(owner, bits) in &demand.inputs {
        let flow = match owner {
            Role::Garbler => {
                let pieces = bits.div_ceil(PIECE as u64);
                Flow::default().sends(owner, bits.saturating_mul(16), pieces)
            }
            Role::Evaluator => {
                let batches = bits.div_ceil(BATCH);
                let full = Flow::default().cots(ot, owner, BATCH).times(bits / BATCH);
                let made = full.cots(ot, owner, bits % BATCH);
                made.sends(owner, packed(bits), batches).waits(1)
            }
        };
        plan.then(Phase::Online, flow);
    }
    let ands = demand.stats.ands;
    let frames = ands / FRAME as u64 + ands.min(1 + demand.stats.reveals);
    let tables = Flow::default().sends(Role::Garbler, ands.saturating_mul(32), frames);
    plan.compute(demand, tables, 0);
    plan.evaluated = ands as f64;
    plan.memory = [demand.stats.live_bits.saturating_mul(LIVE).saturating_add(FIXED); 2];
}
