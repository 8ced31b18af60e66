//! Handles on wires whose data a backend keeps in flat arrays.

use std::cell::RefCell;
use std::rc::Rc;

/// A handle on the data of one wire. Clones share the data; the last one dropped frees the slot.
pub struct Wire {
    slot: u32,
    arena: Rc<Arena>,
}

/// Counts the handles of each slot and reuses free slots, so that memory follows the number of
/// live wires and not the length of the program.
#[derive(Default)]
pub(crate) struct Arena {
    slots: RefCell<Slots>,
}

#[derive(Default)]
struct Slots {
    handles: Vec<u32>,
    free: Vec<u32>,
}

impl Slots {
    /// A slot with one handle.
    #[inline(always)]
    fn alloc(&mut self) -> u32 {
        match self.free.pop() {
            Some(slot) => {
                self.handles[slot as usize] = 1;
                slot
            }
            None => {
                self.handles.push(1);
                (self.handles.len() - 1) as u32
            }
        }
    }
}

impl Arena {
    /// A handle on a slot that no live handle has.
    #[inline]
    pub(crate) fn alloc(self: &Rc<Arena>) -> Wire {
        let slot = self.slots.borrow_mut().alloc();
        Wire { slot, arena: Rc::clone(self) }
    }

    /// [`Self::alloc`] for each of `items`. `each` must neither clone nor drop a wire of this arena, whose slots are borrowed.
    #[inline]
    pub(crate) fn alloc_each<T>(
        self: &Rc<Arena>,
        items: impl Iterator<Item = T>,
        mut each: impl FnMut(T, Wire),
    ) {
        let mut slots = self.slots.borrow_mut();
        for item in items {
            let slot = slots.alloc();
            each(item, Wire { slot, arena: Rc::clone(self) });
        }
    }

    /// So many slots in a row, of nobody's wires; they are never free again.
    pub(crate) fn row(&self, slots: usize) -> u32 {
        let handles = &mut self.slots.borrow_mut().handles;
        let first = handles.len();
        handles.resize(first + slots, 1);
        first as u32
    }

    /// A slot that no live handle has, for the handle that [`Self::handle`] makes.
    pub(crate) fn slot(&self) -> u32 {
        self.slots.borrow_mut().alloc()
    }

    /// The first handle on a slot of [`Self::slot`].
    pub(crate) fn handle(self: &Rc<Arena>, slot: u32) -> Wire {
        Wire { slot, arena: Rc::clone(self) }
    }

    /// Whether no other handle has the slot of `wire`.
    #[inline]
    pub(crate) fn is_sole(&self, wire: &Wire) -> bool {
        self.slots.borrow().handles[wire.slot()] == 1
    }

    /// Slots ever used: the length the backend's arrays need.
    pub(crate) fn len(&self) -> usize {
        self.slots.borrow().handles.len()
    }
}

impl Wire {
    #[inline(always)]
    pub(crate) fn slot(&self) -> usize {
        self.slot as usize
    }

    /// Whether this handle belongs to `arena`: a wire of another request must not be used.
    #[inline(always)]
    pub(crate) fn is_of(&self, arena: &Rc<Arena>) -> bool {
        Rc::ptr_eq(&self.arena, arena)
    }
}

impl Clone for Wire {
    #[inline]
    fn clone(&self) -> Wire {
        self.arena.slots.borrow_mut().handles[self.slot as usize] += 1;
        Wire { slot: self.slot, arena: Rc::clone(&self.arena) }
    }
}

impl Drop for Wire {
    #[inline]
    fn drop(&mut self) {
        let mut slots = self.arena.slots.borrow_mut();
        let handles = &mut slots.handles[self.slot as usize];
        *handles -= 1;
        if *handles == 0 {
            slots.free.push(self.slot);
        }
    }
}

impl std::fmt::Debug for Wire {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Wire({})", self.slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_reused_after_the_last_handle() {
        let arena = Rc::new(Arena::default());
        let a = arena.alloc();
        let b = arena.alloc();
        let c = a.clone();
        let slot = a.slot();
        drop(a);
        assert_ne!(arena.alloc().slot(), slot, "c still holds it");
        drop(c);
        // The slot freed last is used first.
        assert_eq!(arena.alloc().slot(), slot);
        assert_ne!(b.slot(), slot);
        assert!(arena.len() <= 3);
    }
}
