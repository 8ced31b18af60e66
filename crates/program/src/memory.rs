//! Memories in which tables live while a module runs, and the steps on them.

use std::cell::RefCell;
use std::rc::Rc;

use cenote_circuit::{Access, LevelShape, Plan, Ram, Reactive, TreeShape};

use crate::infer::bits_for;

/// A memory, which all its versions name: one of them is alive at a time.
pub(crate) type Shared<W> = Rc<RefCell<Ram<W>>>;

/// A machine that opens and tosses bits, whose wires and errors have these types.
pub(crate) type DynReactive<'m, W, E> = dyn Reactive<Wire = W, Error = E> + 'm;

/// An access to a memory, or half of one: what is taken is put back by the next step.
pub(crate) enum Step<'s, W> {
    Read(&'s [W]),
    Write(&'s [W], &'s [W], &'s W),
    Take(&'s [W]),
    Put(&'s [W], &'s W),
}

impl<W: Clone> Step<'_, W> {
    pub(crate) fn run<G: Reactive<Wire = W>>(
        self,
        g: &mut G,
        ram: &mut Ram<W>,
    ) -> Result<Vec<W>, G::Error> {
        match self {
            Step::Read(place) => ram.access(g, place, Access::Read),
            Step::Write(place, word, enable) => {
                ram.access(g, place, Access::Write { word, enable })
            }
            Step::Take(place) => ram.take(g, place),
            Step::Put(word, enable) => ram.put(g, word, enable).map(|()| Vec::new()),
        }
    }
}

/// Bits of all slots and positions of a memory that there come to be, at most.
pub(crate) fn held(plan: &Plan) -> u64 {
    let tree = |shape: &TreeShape| {
        let index = bits_for(shape.blocks as u32 - 1) as usize;
        let slot = 1 + index + shape.width + shape.depth;
        let started = if plan.needs.is_given { shape.blocks as u64 } else { 0 };
        let paths = plan.needs.accesses.saturating_add(started).saturating_mul(3);
        let nodes = paths.saturating_mul(shape.depth as u64 + 1).min(2 << shape.depth);
        (nodes * shape.bucket as u64 + shape.stash as u64).saturating_mul(slot as u64)
    };
    // Blocks with their index, in their place or a stash, and twice the control bits of a network, of which there are two at once.
    let level = |shape: &LevelShape| {
        let all = shape.blocks as u64 * (shape.width + shape.index()) as u64;
        all.saturating_add(4 * (shape.blocks * shape.index()) as u64)
    };
    let positions = plan.trees.last().map_or(0, |last| last.blocks * (1 + last.depth));
    let trees = plan.trees.iter().map(tree).fold(positions as u64, u64::saturating_add);
    // While a network exchanges rows: differences and changes of half of them each, old and new ones.
    let row = |shape: &LevelShape| shape.blocks as u64 * (shape.width + shape.index()) as u64;
    let exchanged = plan.levels.iter().map(row).max().unwrap_or(0).saturating_mul(2);
    plan.levels.iter().map(level).fold(trees.saturating_add(exchanged), u64::saturating_add)
}
