//! The Party API and the protocol backends `plain`, `yao` and `wrk`.

pub mod backends;
mod claims;
mod params;
mod party;
pub mod protocols;
pub mod supply;
pub mod tags;
mod wires;

pub use cenote_net::{Fault, Role};
pub use claims::{Adversary, Claims};
pub use params::{PoolChoice, Rho, WrkParams};
pub use party::{Party, Receivers};
pub use wires::Wire;
