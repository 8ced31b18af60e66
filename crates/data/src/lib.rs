//! Data sets.
