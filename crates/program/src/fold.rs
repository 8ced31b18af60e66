//! Constants are folded while a program runs: no backend spends a gate on a public bit.

pub(crate) use cenote_circuit::Folded;
use cenote_circuit::{Folding, Gates};

/// Gates of a machine whose wires and errors have these types.
pub(crate) type DynGates<'g, W, E> = dyn Gates<Wire = W, Error = E> + 'g;

/// A machine that folds constants and hands the rest to another one. Word operations are compiled for it
/// once for all machines below with the same wires.
pub(crate) type Fold<'m, 'g, W, E> = Folding<'m, DynGates<'g, W, E>>;
