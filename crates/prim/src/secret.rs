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
        make_room(&mut self.0, len);
        self.0.resize(len, value);
    }
}

/// Moves items that are more than there is room for, and wipes where they were.
fn make_room<T: Zeroize + Clone>(items: &mut Vec<T>, len: usize) {
    if len > items.capacity() {
        let mut moved = Vec::with_capacity(len.max(2 * items.capacity()));
        moved.extend_from_slice(items);
        items.zeroize();
        *items = moved;
    }
}

/// Items that are wiped when dropped and never printed, and only ever become more: what is dropped is wiped as far as they came, and no further.
pub struct Growing<T: Zeroize>(Vec<T>);

impl<T: Zeroize + Clone> Growing<T> {
    /// Fills up to `len` items with `value`. Items that move leave no copy behind.
    pub fn grow(&mut self, len: usize, value: T) {
        make_room(&mut self.0, len);
        self.0.resize(len.max(self.0.len()), value);
    }
}

impl<T: Zeroize> Default for Growing<T> {
    fn default() -> Self {
        Growing(Vec::new())
    }
}

impl<T: Zeroize> Deref for Growing<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T: Zeroize> DerefMut for Growing<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

impl<T: Zeroize> fmt::Debug for Growing<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Growing(..)")
    }
}

impl<T: Zeroize> Drop for Growing<T> {
    fn drop(&mut self) {
        self.0.iter_mut().zeroize();
    }
}

impl<T: Zeroize + Default> Default for Secret<T> {
    fn default() -> Self {
        Secret(T::default())
    }
}

impl<T: Zeroize> FromIterator<T> for Secret<Vec<T>> {
    /// Collects without growing on the way if the iterator knows its length.
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Secret(items.into_iter().collect())
    }
}

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
    use super::*;

    #[test]
    fn items_stay_when_they_become_more() {
        let mut items = Growing::default();
        items.grow(2, 1u8);
        for len in 3..100 {
            items.grow(len, 7);
        }
        assert_eq!((items.len(), &items[..3]), (99, &[1, 1, 7][..]));
        items.grow(1, 0);
        assert_eq!(items.len(), 99, "never fewer");
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
        assert_eq!(format!("{:?}", Growing::<u8>::default()), "Growing(..)");
    }
}
