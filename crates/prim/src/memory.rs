//! Advice to the operating system about memory.

/// Asks for large pages under the storage of `items`, up to its capacity; best before it is first
/// written. An array with random accesses then needs few address translations. Does nothing where
/// the system has no such pages, and is never needed for correctness.
pub fn prefer_large_pages<T>(items: &Vec<T>) {
    #[cfg(target_os = "linux")]
    linux::advise(items.as_ptr().cast(), items.capacity().saturating_mul(size_of::<T>()));
    #[cfg(not(target_os = "linux"))]
    let _ = items;
}

/// Lets the allocator keep what is freed, up to some hundred megabytes, instead of giving it back to
/// the system, and gives it room in large pages: arrays of megabytes come and go with every operation on large values, and fetching their
/// pages anew, one by one, takes longer than using them. All threads share the room.
///
/// For processes of which this is the work, before they start threads; it cannot be undone. Does nothing where the allocator has no such
/// settings. Room that is not used takes no memory.
pub fn keep_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    glibc::keep();
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[allow(unsafe_code)]
mod glibc {
    use std::hint::black_box;

    use libc::{M_ARENA_MAX, M_MMAP_THRESHOLD, M_TOP_PAD, M_TRIM_THRESHOLD, mallopt, sbrk};

    /// Larger arrays come from the system one by one: the most that the allocator takes.
    const ALONE: i32 = 32 << 20;
    /// Free memory that is kept.
    const KEPT: i32 = 256 << 20;
    /// Room in large pages.
    const ROOM: i32 = 64 << 20;
    /// Room that is fetched at a time beyond that.
    const MORE: i32 = 1 << 20;

    pub(super) fn keep() {
        for (setting, bytes) in [(M_MMAP_THRESHOLD, ALONE), (M_TRIM_THRESHOLD, KEPT)] {
            set(setting, bytes);
        }
        set(M_ARENA_MAX, 1);
        let before = end();
        set(M_TOP_PAD, ROOM);
        // More than there is room for: the allocator fetches the rest with it.
        drop(black_box(Vec::<u8>::with_capacity(MORE as usize)));
        set(M_TOP_PAD, MORE);
        super::linux::advise(before, end().addr().saturating_sub(before.addr()));
    }

    fn set(setting: i32, value: i32) {
        // SAFETY: takes two numbers and changes nothing but how memory is fetched from the system. A
        // refusal leaves everything as it was.
        let _ = unsafe { mallopt(setting, value) };
    }

    /// The end of the heap.
    fn end() -> *const u8 {
        // SAFETY: an increment of 0 moves nothing.
        unsafe { sbrk(0) }.cast()
    }
}

#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
mod linux {
    use rustix::mm::{Advice, madvise};

    /// Size of the pages that advice applies to.
    const PAGE: usize = 4096;
    /// Smaller arrays do not fill a large page.
    const LARGE_PAGE: usize = 2 << 20;

    pub(super) fn advise(start: *const u8, len: usize) {
        let skip = start.addr().next_multiple_of(PAGE) - start.addr();
        let len = len.saturating_sub(skip) / PAGE * PAGE;
        if len < LARGE_PAGE {
            return;
        }
        let first = start.wrapping_add(skip).cast_mut().cast();
        // SAFETY: the range lies within one allocation that the caller borrows, or in the heap, and this advice
        // changes no contents and no access rights. A refusal is as good as none.
        let _ = unsafe { madvise(first, len, Advice::LinuxHugepage) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_freed_can_be_had_again() {
        keep_freed_memory();
        for len in [1usize, 1 << 20, 40 << 20] {
            assert!(vec![7u8; len].iter().all(|&item| item == 7));
        }
    }

    #[test]
    fn contents_stay_as_they_are() {
        for len in [0usize, 1, 5000, 5 << 20] {
            let mut items = vec![7u8; len];
            prefer_large_pages(&items);
            items.push(8);
            prefer_large_pages(&items);
            assert!(items[..len].iter().all(|&item| item == 7) && items[len] == 8);
        }
    }
}
