//! The Party API and the protocol backends `plain`, `yao` and `wrk`.

pub mod protocols;

pub use cenote_net::{Fault, Role};
