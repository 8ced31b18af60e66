//! When each value is read for the last time (the usage count of KSS12, section 4.5).

use std::collections::BTreeSet;

use crate::error::BuildError;
use crate::limits::MAX_LIVE_BITS;
use crate::module::{Body, Code, Function};
use crate::op::{Block, Op, ValueId};
use crate::run::map_group;
use crate::shape::Shape;
use crate::tables::Memories;

/// Completes a body: captured values, last uses, and the bits that are alive at most.
pub(crate) fn finish(
    shapes: Vec<Shape>,
    mut block: Block,
    functions: &[Function],
) -> Result<Body, BuildError> {
    let mut pass = Pass {
        shapes: &shapes,
        functions,
        owner: vec![0; shapes.len()],
        needed: vec![false; shapes.len()],
        blocks: 0,
    };
    let peak_bits = pass.block(&mut block);
    if peak_bits > MAX_LIVE_BITS {
        return Err(BuildError::new(format!(
            "{peak_bits} bits are alive at once, more than {MAX_LIVE_BITS}; map over fewer lanes, or loop"
        )));
    }
    let memories = Memories::of(&shapes, &block);
    Ok(Body { shapes, block, peak_bits, memories })
}

struct Pass<'p> {
    shapes: &'p [Shape],
    functions: &'p [Function],
    /// The block that defines each value, counted from 1.
    owner: Vec<u32>,
    /// Whether a later statement of its block reads the value.
    needed: Vec<bool>,
    blocks: u32,
}

impl Pass<'_> {
    fn bits(&self, ids: impl IntoIterator<Item = ValueId>) -> u64 {
        ids.into_iter().map(|id| self.shapes[id.index()].bits() as u64).sum()
    }

    /// Gives the bits that are alive at most, those of its parameters included.
    fn block(&mut self, block: &mut Block) -> u64 {
        self.blocks += 1;
        let own = self.blocks;
        for id in block.params().chain(block.statements.iter().flat_map(|s| s.results())) {
            self.owner[id.index()] = own;
        }
        let mut captured = BTreeSet::new();
        let mut inside = vec![0; block.statements.len()];
        for id in block.results.clone() {
            self.touch(id, own, &mut captured);
        }
        for (statement, inside) in block.statements.iter_mut().zip(&mut inside).rev() {
            let mut dead: Vec<ValueId> = Vec::new();
            dead.extend(statement.results().filter(|id| !self.needed[id.index()]));
            let (used, peak) = self.nested(&mut statement.op);
            *inside = peak;
            for id in statement.args.iter().copied().chain(used) {
                if self.touch(id, own, &mut captured) {
                    dead.push(id);
                }
            }
            dead.sort_unstable();
            statement.dead = dead;
        }
        block.captured = captured.into_iter().collect();
        self.peak(block, &inside)
    }

    /// Notes that a value is read; true if it is of block `own` and nothing after reads it.
    fn touch(&mut self, id: ValueId, own: u32, captured: &mut BTreeSet<ValueId>) -> bool {
        if self.owner[id.index()] != own {
            captured.insert(id);
            return false;
        }
        !std::mem::replace(&mut self.needed[id.index()], true)
    }

    /// Returns what the blocks of an operation capture, and the bits that are alive in them at
    /// most.
    fn nested(&mut self, op: &mut Op) -> (Vec<ValueId>, u64) {
        match op {
            Op::For { body, .. } => {
                let peak = self.block(body);
                (body.captured.clone(), peak)
            }
            Op::Map { trips, body } => {
                let own = self.block(body);
                let peak = own.saturating_add(self.bits(body.captured.iter().copied()));
                body.lane_bits = peak;
                let together = map_group(*trips, peak);
                (body.captured.clone(), peak.saturating_mul(u64::from(together)))
            }
            Op::If { then, otherwise } => {
                let peak = self.block(then).max(self.block(otherwise));
                let mut used = then.captured.clone();
                used.extend(&otherwise.captured);
                (used, peak)
            }
            Op::Call(function) => match &self.functions[function.0 as usize].code {
                Code::Body(body) => (Vec::new(), body.peak_bits),
                Code::Gates(circuit) => (Vec::new(), circuit.wires() as u64),
            },
            _ => (Vec::new(), 0),
        }
    }

    fn peak(&self, block: &Block, inside: &[u64]) -> u64 {
        let mut now = self.bits(block.params());
        let mut peak = now;
        for (statement, inside) in block.statements.iter().zip(inside) {
            now = now.saturating_add(self.bits(statement.results()));
            peak = peak.max(now.saturating_add(*inside));
            now = now.saturating_sub(self.bits(statement.dead.iter().copied()));
        }
        peak
    }
}
