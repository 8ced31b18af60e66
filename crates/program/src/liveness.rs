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
        owner: vec![0; shapes.len()],
        needed: vec![false; shapes.len()],
        blocks: 0,
        inside: functions.iter().map(|function| function.peak_bits()).collect(),
    };
    pass.block(&mut block);
    let peak_bits = Alive { shapes: &shapes, memories: None, inside: &pass.inside }.block(&block);
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
    /// The block that defines each value, counted from 1.
    owner: Vec<u32>,
    /// Whether a later statement of its block reads the value.
    needed: Vec<bool>,
    blocks: u32,
    /// Bits that are alive at most in each function.
    inside: Vec<u64>,
}

impl Pass<'_> {
    fn block(&mut self, block: &mut Block) {
        self.blocks += 1;
        let own = self.blocks;
        for id in block.params().chain(block.statements.iter().flat_map(|s| s.results())) {
            self.owner[id.index()] = own;
        }
        let mut captured = BTreeSet::new();
        for id in block.results.clone() {
            self.touch(id, own, &mut captured);
        }
        for statement in block.statements.iter_mut().rev() {
            let mut dead: Vec<ValueId> = Vec::new();
            dead.extend(statement.results().filter(|id| !self.needed[id.index()]));
            let used = self.nested(&mut statement.op);
            for id in statement.args.iter().copied().chain(used) {
                if self.touch(id, own, &mut captured) {
                    dead.push(id);
                }
            }
            dead.sort_unstable();
            statement.dead = dead;
        }
        block.captured = captured.into_iter().collect();
    }

    /// Notes that a value is read; true if it is of block `own` and nothing after reads it.
    fn touch(&mut self, id: ValueId, own: u32, captured: &mut BTreeSet<ValueId>) -> bool {
        if self.owner[id.index()] != own {
            captured.insert(id);
            return false;
        }
        !std::mem::replace(&mut self.needed[id.index()], true)
    }

    /// What the blocks of an operation capture.
    fn nested(&mut self, op: &mut Op) -> Vec<ValueId> {
        match op {
            Op::For { body, .. } => {
                self.block(body);
                body.captured.clone()
            }
            Op::Map { body, .. } => {
                self.block(body);
                let alive = Alive { shapes: self.shapes, memories: None, inside: &self.inside };
                let captured = alive.bits(body.captured.iter().copied());
                body.lane_bits = alive.block(body).saturating_add(captured);
                body.captured.clone()
            }
            Op::If { then, otherwise } => {
                self.block(then);
                self.block(otherwise);
                let mut used = then.captured.clone();
                used.extend(&otherwise.captured);
                used
            }
            _ => Vec::new(),
        }
    }
}

/// Bits of values that are alive at once in a run, at most, but for those of tables that live in memories.
pub(crate) fn alive_bits(main: &Body, functions: &[Function]) -> u64 {
    let mut inside = Vec::with_capacity(functions.len());
    for function in functions {
        inside.push(match &function.code {
            Code::Body(body) => Alive::outside_memories(body, &inside),
            Code::Gates(_) => function.peak_bits(),
        });
    }
    Alive::outside_memories(main, &inside)
}

/// Counts bits that are alive in a body whose last uses are known.
struct Alive<'p> {
    shapes: &'p [Shape],
    /// The tables of which no value takes any.
    memories: Option<&'p Memories>,
    /// Bits that are alive at most in each function.
    inside: &'p [u64],
}

impl Alive<'_> {
    fn outside_memories(body: &Body, inside: &[u64]) -> u64 {
        let Body { shapes, block, memories, .. } = body;
        Alive { shapes, memories: Some(memories), inside }.block(block)
    }

    fn bits(&self, ids: impl IntoIterator<Item = ValueId>) -> u64 {
        // What one begins with is a value until it has begun.
        let stays = |id: ValueId| {
            self.memories.is_some_and(|memories| memories.keep(id) && memories.start(id).is_none())
        };
        let values = ids.into_iter().filter(|id| !stays(*id));
        values.map(|id| self.shapes[id.index()].bits() as u64).sum()
    }

    /// Those of a block, its parameters included.
    fn block(&self, block: &Block) -> u64 {
        let mut now = self.bits(block.params());
        let mut peak = now;
        for statement in &block.statements {
            now = now.saturating_add(self.bits(statement.results()));
            peak = peak.max(now.saturating_add(self.within(&statement.op)));
            now = now.saturating_sub(self.bits(statement.dead.iter().copied()));
        }
        peak
    }

    /// Those of the blocks of an operation.
    fn within(&self, op: &Op) -> u64 {
        match op {
            Op::For { body, .. } => self.block(body),
            Op::Map { trips, body } => {
                let together = map_group(*trips, body.lane_bits);
                body.lane_bits.saturating_mul(u64::from(together))
            }
            Op::If { then, otherwise } => self.block(then).max(self.block(otherwise)),
            Op::Call(function) => self.inside[function.0 as usize],
            _ => 0,
        }
    }
}
