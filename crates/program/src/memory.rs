//! Memories in which tables live while a module runs, and the steps on them.

use std::cell::RefCell;
use std::rc::Rc;

use cenote_circuit::{Access, LevelShape, Plan, Ram, Reactive, Start};

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

/// Bits of a memory that there come to be at once in a run, at most.
#[derive(Clone, Copy)]
pub(crate) struct Held {
    pub(crate) all: u64,
    /// Those of them that do not rest, with a backend that packs wires at rest.
    pub(crate) awake: u64,
    /// How often some of them wake.
    pub(crate) wakes: u64,
}

impl Held {
    /// A memory with so many accesses in this run.
    pub(crate) fn of(plan: &Plan, accesses: u64, start: Start) -> Held {
        let kept = match start {
            Start::Found => plan.resting_wires(),
            Start::Zeros | Start::Rows => plan.awake_wires(accesses, start, false),
        };
        let awake = plan.awake_wires(accesses, start, true);
        // Twice the control bits of a network, of which there are two at once; while it exchanges rows, differences and changes of
        // half of them each, old and new ones.
        let bits = |shape: &LevelShape| 4 * (shape.blocks * shape.index()) as u64;
        let row = |shape: &LevelShape| (shape.blocks * (shape.width + shape.index())) as u64;
        let exchanged = plan.levels.iter().map(row).max().unwrap_or(0).saturating_mul(2);
        let networks = plan.levels.iter().map(bits).fold(exchanged, u64::saturating_add);
        // While rows are put in, those of a tree have positions that are in no further one yet.
        let positions = plan.trees.iter().map(|tree| (tree.blocks * (1 + tree.depth)) as u64);
        let positions = if start == Start::Rows { positions.max().unwrap_or(0) } else { 0 };
        let besides = networks.saturating_add(positions);
        Held {
            all: kept.saturating_add(besides),
            awake: awake.saturating_add(besides),
            wakes: plan.wakes(accesses, start),
        }
    }
}
