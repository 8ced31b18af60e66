//! What is computed: builder, gadgets, circuit files, statistics, clear evaluation.

mod gates;

pub use gates::Gates;
