//! What a module is executed on.

use std::collections::BTreeMap;
use std::convert::Infallible;

use cenote_circuit::{Clear, Gates, Plan, Ram};

use crate::memory::DynReactive;
use crate::module::NamedMemory;

/// A machine that executes modules: gates, and opening to both parties.
pub trait Host: Gates {
    /// Opens wires to both parties.
    ///
    /// # Errors
    /// Those of the machine.
    fn reveal(&mut self, wires: &[Self::Wire]) -> Result<Vec<bool>, Self::Error>;

    /// What an earlier run has left in a memory, which this run does not begin: zeros on a machine where nothing outlives a run.
    ///
    /// # Errors
    /// Those of the machine.
    fn found(&mut self, memory: &NamedMemory) -> Result<Vec<Self::Wire>, Self::Error> {
        Ok(vec![self.constant(false)?; memory.shape.bits()])
    }

    /// Leaves wires in a memory for the next run; none of them: the memory ends.
    ///
    /// # Errors
    /// Those of the machine.
    fn leave(&mut self, memory: &NamedMemory, wires: &[Self::Wire]) -> Result<(), Self::Error> {
        let _ = (memory, wires);
        Ok(())
    }

    /// A random access memory that an earlier run has left, of a machine that has [`Self::memories`], with this plan: one of zeros where nothing
    /// outlives a run.
    ///
    /// # Errors
    /// Those of the machine.
    fn found_ram(
        &mut self,
        memory: &NamedMemory,
        plan: &Plan,
    ) -> Result<Ram<Self::Wire>, Self::Error> {
        let _ = memory;
        Ram::empty(&mut keeper(self.memories()), plan.clone())
    }

    /// Leaves a random access memory for the next run; [`Self::leave`] with no wires ends one.
    ///
    /// # Errors
    /// Those of the machine.
    fn leave_ram(&mut self, memory: &NamedMemory, ram: Ram<Self::Wire>) -> Result<(), Self::Error> {
        let _ = (memory, ram);
        Ok(())
    }

    /// The machine that keeps tables in memories, if this is one: it opens and tosses bits. Both parties
    /// have one, or neither.
    fn memories(&mut self) -> Option<&mut DynReactive<'_, Self::Wire, Self::Error>> {
        None
    }
}

/// The machine of a memory that there is.
pub(crate) fn keeper<'g, 'd, W, E>(
    machine: Option<&'g mut DynReactive<'d, W, E>>,
) -> &'g mut DynReactive<'d, W, E> {
    machine.unwrap_or_else(|| unreachable!("a machine that has a memory keeps it"))
}

impl Host for Clear {
    fn reveal(&mut self, wires: &[bool]) -> Result<Vec<bool>, Self::Error> {
        Ok(wires.to_vec())
    }
}

/// The clear, where memories outlive a run: what is in each part, by its name.
#[derive(Default)]
pub struct Remembering(pub BTreeMap<String, Vec<bool>>);

impl Gates for Remembering {
    type Wire = bool;
    type Error = Infallible;
    cenote_circuit::delegate!(self => Clear);
}

impl Host for Remembering {
    fn reveal(&mut self, wires: &[bool]) -> Result<Vec<bool>, Infallible> {
        Ok(wires.to_vec())
    }

    /// Zeros where nothing is.
    fn found(&mut self, memory: &NamedMemory) -> Result<Vec<bool>, Infallible> {
        let found = self.0.get(&memory.name).cloned();
        Ok(found.unwrap_or_else(|| vec![false; memory.shape.bits()]))
    }

    fn leave(&mut self, memory: &NamedMemory, wires: &[bool]) -> Result<(), Infallible> {
        match wires {
            [] => self.0.remove(&memory.name),
            _ => self.0.insert(memory.name.clone(), wires.to_vec()),
        };
        Ok(())
    }
}
