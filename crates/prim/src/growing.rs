//! Arrays of secrets that only become longer.

use std::alloc::{Layout, handle_alloc_error};
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::slice;

use bytemuck::Zeroable;
use zeroize::Zeroize;

#[cfg(target_os = "linux")]
use linux::Room;
#[cfg(not(target_os = "linux"))]
use portable::Room;

/// Least room, in bytes.
const LEAST: usize = 16 << 10;

/// Items that are wiped when dropped and never printed, and only ever become more. They leave no copy behind, however many they become, and
/// where the system can move pages they are not copied at all: an array of gigabytes grows without a second one beside it.
pub struct Growing<T: Zeroize> {
    room: Room,
    len: usize,
    items: PhantomData<T>,
}

impl<T: Copy + Zeroable + Zeroize> Growing<T> {
    /// Zeros are added until there are `len` items. Their pages come when they are first used.
    pub fn grow(&mut self, len: usize) {
        let bytes = len.saturating_mul(size_of::<T>());
        if bytes > self.room.bytes() {
            self.room.grow(bytes.max(2 * self.room.bytes()).max(LEAST));
        }
        self.len = self.len.max(len);
    }
}

impl<T: Zeroize> Default for Growing<T> {
    fn default() -> Self {
        // No slice of items is aligned to more, not even an empty one.
        const { assert!(align_of::<T>() <= align_of::<u128>(), "room is aligned to blocks") }
        Growing { room: Room::default(), len: 0, items: PhantomData }
    }
}

#[allow(unsafe_code)]
impl<T: Zeroize> Deref for Growing<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        // SAFETY: `grow` alone makes `len` other than 0, for items whose bytes may all be zero and whose alignment the room has; so many fit into the
        // room, which is theirs, began as zeros and is written as items alone.
        unsafe { slice::from_raw_parts(self.room.start().cast::<T>(), self.len) }
    }
}

#[allow(unsafe_code)]
impl<T: Zeroize> DerefMut for Growing<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and borrowed by the caller alone.
        unsafe { slice::from_raw_parts_mut(self.room.start_mut().cast::<T>(), self.len) }
    }
}

impl<T: Zeroize> fmt::Debug for Growing<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Growing(..)")
    }
}

impl<T: Zeroize> Drop for Growing<T> {
    fn drop(&mut self) {
        self.iter_mut().zeroize();
    }
}

/// As the allocator does when there is no more memory.
fn no_memory(bytes: usize) -> ! {
    handle_alloc_error(
        Layout::from_size_align(bytes, align_of::<u128>()).unwrap_or(Layout::new::<u128>()),
    )
}

#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
mod linux {
    use std::ptr::{self, NonNull};

    use rustix::mm::{MapFlags, MremapFlags, ProtFlags, mmap_anonymous, mremap, munmap};

    use super::no_memory;

    /// Pages of its own, which begin as zeros and are moved, not copied, when there is no place to grow.
    pub(super) struct Room {
        start: NonNull<u128>,
        bytes: usize,
    }

    // SAFETY: the pages belong to the room alone, and are reached through it alone.
    unsafe impl Send for Room {}
    // SAFETY: a shared room gives out its start and size, and changes nothing.
    unsafe impl Sync for Room {}

    impl Default for Room {
        fn default() -> Room {
            Room { start: NonNull::dangling(), bytes: 0 }
        }
    }

    impl Room {
        pub(super) fn start(&self) -> *const u128 {
            self.start.as_ptr()
        }

        pub(super) fn start_mut(&mut self) -> *mut u128 {
            self.start.as_ptr()
        }

        pub(super) fn bytes(&self) -> usize {
            self.bytes
        }

        /// Makes it `bytes` long, which are more than it has.
        pub(super) fn grow(&mut self, bytes: usize) {
            let old = self.start.as_ptr().cast();
            let moved = if self.bytes == 0 {
                // SAFETY: a new mapping, at a place that the system chooses.
                unsafe {
                    mmap_anonymous(
                        ptr::null_mut(),
                        bytes,
                        ProtFlags::READ | ProtFlags::WRITE,
                        MapFlags::PRIVATE,
                    )
                }
            } else {
                // SAFETY: all of the mapping of this room, which nobody borrows; it is reached by what is returned from here on. It is one mapping
                // for the system too, since no part of it is ever advised or protected apart.
                unsafe { mremap(old, self.bytes, bytes, MremapFlags::MAYMOVE) }
            };
            match moved.ok().and_then(|start| NonNull::new(start.cast())) {
                Some(start) => (self.start, self.bytes) = (start, bytes),
                None => no_memory(bytes),
            }
        }
    }

    impl Drop for Room {
        fn drop(&mut self) {
            if self.bytes > 0 {
                // SAFETY: all of the mapping of this room, which ends.
                let _ = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
            }
        }
    }
}

/// What other systems have, and these tests.
#[cfg(any(test, not(target_os = "linux")))]
mod portable {
    use std::mem::MaybeUninit;

    use zeroize::Zeroize;

    /// An array that is copied to a longer one, and wiped where it was. Items may leave bytes between their fields unset.
    #[derive(Default)]
    pub(super) struct Room(Vec<MaybeUninit<u128>>);

    impl Room {
        pub(super) fn start(&self) -> *const u128 {
            self.0.as_ptr().cast()
        }

        pub(super) fn start_mut(&mut self) -> *mut u128 {
            self.0.as_mut_ptr().cast()
        }

        pub(super) fn bytes(&self) -> usize {
            size_of_val(&self.0[..])
        }

        pub(super) fn grow(&mut self, bytes: usize) {
            let mut longer = vec![MaybeUninit::new(0); bytes.div_ceil(size_of::<u128>())];
            longer[..self.0.len()].copy_from_slice(&self.0);
            self.0.zeroize();
            self.0 = longer;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::Block;

    #[test]
    fn items_stay_when_they_become_more() {
        let mut items = Growing::default();
        assert!(items.is_empty());
        let mut len = 1;
        while len < 3_000_000 {
            let before = items.len();
            items.grow(len);
            assert!(items[before..].iter().all(|block| *block == Block::ZERO));
            for i in before..len {
                items[i] = Block::new(i as u128);
            }
            len += len / 3 + 1;
        }
        assert!((0..).zip(items.iter()).all(|(i, block)| *block == Block::new(i)));
        let len = items.len();
        items.grow(1);
        assert_eq!(items.len(), len, "never fewer");
    }

    /// An item that counts how often any is wiped.
    #[derive(Clone, Copy, Zeroable)]
    struct Counting(u8);

    static WIPED: AtomicUsize = AtomicUsize::new(0);

    impl Zeroize for Counting {
        fn zeroize(&mut self) {
            self.0.zeroize();
            WIPED.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn items_are_wiped_when_dropped_and_not_before() {
        let mut items = Growing::<Counting>::default();
        for len in [3, 30_000] {
            items.grow(len);
            assert_eq!(WIPED.load(Ordering::Relaxed), 0);
        }
        drop(items);
        assert_eq!(WIPED.load(Ordering::Relaxed), 30_000);
    }

    #[test]
    fn a_room_that_is_copied_keeps_what_it_has() {
        let mut room = portable::Room::default();
        room.grow(32);
        room.grow(100);
        assert_eq!(room.bytes(), 112);
        assert!(room.start() == room.start_mut().cast_const());
    }

    #[test]
    fn debug_shows_nothing() {
        assert_eq!(format!("{:?}", Growing::<u8>::default()), "Growing(..)");
    }
}
