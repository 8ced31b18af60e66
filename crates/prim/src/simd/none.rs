//! Architectures without kernels of their own: the portable code does the work.

use std::convert::Infallible;

use super::{Kernel, Level};

/// A vector unit: there is none.
#[derive(Clone, Copy)]
pub(crate) struct Cpu(Infallible);

impl Cpu {
    pub(crate) fn current() -> Option<Cpu> {
        None
    }

    pub(super) fn limit(_: Level) -> Option<Cpu> {
        None
    }

    pub(super) fn best(_: Level) -> Option<Cpu> {
        None
    }

    pub(super) fn prefetch<T>(_: &T) {}

    pub(super) fn narrow(self) -> Cpu {
        self
    }

    pub(super) fn level(self) -> Level {
        match self.0 {}
    }

    pub(crate) fn run<K: Kernel>(self, _: K) -> K::Output {
        match self.0 {}
    }
}
