//! One module for each protocol backend. Backends do not see each other.

pub mod jimu;
pub mod plain;
pub mod wrk;
pub mod yao;
