use std::fmt;
use std::ops::{Deref, DerefMut};

use zeroize::Zeroize;

use crate::prefer_large_pages;

/// A value that is wiped when dropped and never printed.
pub struct Secret<T: Zeroize>(T);

impl<T: Zeroize> Secret<T> {
    /// Wraps `value`.
    pub const fn new(value: T) -> Secret<T> {
        Secret(value)
    }
}

impl<T: Zeroize> Secret<Vec<T>> {
    /// Room for `n` items: as long as there are no more, none of them is left behind elsewhere.
    #[must_use]
    pub fn with_capacity(n: usize) -> Secret<Vec<T>> {
        Secret(Vec::with_capacity(n))
    }
}

/// Makes room for `n` items, in large pages if there are many; what is there is gone if that moves it, so that no copy is left behind.
pub fn zeroize_to_fit<T: Zeroize>(items: &mut Vec<T>, n: usize) {
    if n > items.capacity() {
        items.zeroize();
        items.reserve_exact(n);
        prefer_large_pages(items);
    }
}

impl<T: Zeroize + Clone> Secret<Vec<T>> {
    /// As [`Vec::resize`], but items that move to a larger allocation leave no copy behind.
    pub fn resize(&mut self, len: usize, value: T) {
        if len > self.0.capacity() {
            let mut moved = Vec::with_capacity(len.max(2 * self.0.capacity()));
            moved.extend_from_slice(&self.0);
            self.0.zeroize();
            self.0 = moved;
        }
        self.0.resize(len, value);
    }
}

impl<T: Zeroize + Default> Default for Secret<T> {
    fn default() -> Self {
        Secret(T::default())
    }
}

impl<T: Zeroize> FromIterator<T> for Secret<Vec<T>> {
    /// Items that move to a larger allocation on the way, where the iterator does not know its length, leave no copy behind.
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let items = items.into_iter();
        let (least, most) = items.size_hint();
        if most == Some(least) {
            return Secret(items.collect());
        }
        let mut all = Secret::with_capacity(least);
        for item in items {
            if all.len() == all.capacity() {
                let mut moved = Secret::with_capacity((2 * all.len()).max(FEW));
                moved.append(&mut all);
                // What was there is wiped, the capacity with it.
                all = moved;
            }
            all.push(item);
        }
        all
    }
}

/// Items that a collection of unknown length begins with.
const FEW: usize = 16;

impl<T: Zeroize> Deref for Secret<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Zeroize> DerefMut for Secret<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T: Zeroize + Clone> Clone for Secret<T> {
    fn clone(&self) -> Self {
        Secret(self.0.clone())
    }
}

impl<T: Zeroize> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

impl<T: Zeroize> Drop for Secret<T> {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

/// Bytes of stack that [`wipe_stack`] overwrites: more than the frames of any protocol.
const STACK: usize = 256 << 10;

/// Overwrites the stack below its caller, where functions that returned left copies of secrets: moved
/// values, vectors of a kernel, spilled registers. Needs 256 KiB of stack.
#[inline(never)]
pub fn wipe_stack() {
    std::hint::black_box(&mut [0u8; STACK]);
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// An item that counts how often any is wiped.
    #[derive(Clone)]
    struct Counting(#[expect(dead_code, reason = "it has a size")] u8);

    static WIPED: AtomicUsize = AtomicUsize::new(0);

    impl Zeroize for Counting {
        fn zeroize(&mut self) {
            WIPED.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn items_that_move_are_wiped_where_they_were() {
        let mut items = Secret::<Vec<Counting>>::with_capacity(3);
        items.resize(3, Counting(1));
        assert_eq!(WIPED.load(Ordering::Relaxed), 0);
        items.resize(4, Counting(1));
        assert_eq!(WIPED.load(Ordering::Relaxed), 3);
    }

    #[test]
    fn items_that_are_collected_are_all_there() {
        for count in [0, 1, 15, 16, 17, 1000] {
            let unknown = (0..2 * count).filter(|n| n % 2 == 0);
            let all: Secret<Vec<u64>> = unknown.collect();
            assert!(all.iter().copied().eq((0..count).map(|n| 2 * n)), "{count}");
            let known: Secret<Vec<u64>> = (0..count).collect();
            assert_eq!((all.len(), known.len()), (count as usize, count as usize));
        }
    }

    #[test]
    fn items_stay_when_they_become_more() {
        let mut secret = Secret::new(vec![1u8, 2]);
        for len in 3..100 {
            secret.resize(len, 7);
        }
        assert_eq!((secret.len(), &secret[..3]), (99, &[1, 2, 7][..]));
        secret.resize(1, 0);
        assert_eq!(*secret, [1]);
    }

    #[test]
    fn debug_shows_nothing() {
        assert_eq!(format!("{:?}", Secret::new(vec![1u8, 2])), "Secret(..)");
    }
}
