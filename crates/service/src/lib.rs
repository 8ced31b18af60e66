//! The standing service.

pub mod audit;
