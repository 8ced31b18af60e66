//! The Party API, sessions, and the protocol backends, a folder each in [`backends`].

pub mod backends;
mod claims;
pub mod cost;
mod metered;
mod module_job;
pub mod paper;
mod params;
pub mod parts;
mod party;
mod program_job;
mod session;
pub mod tags;

pub use backends::Backend;
pub use backends::jimu::{JimuParams, JimuSwitches};
pub use backends::wrk::WrkParams;
pub use cenote_net::{Fault, Role};
pub use claims::{Adversary, Claims, Evidence, PeerIs, Promise};
pub use metered::Metered;
pub use module_job::ModuleJob;
pub use params::{PoolChoice, Rho};
pub use parts::wires::Wire;
pub use party::{Party, Receivers};
pub use program_job::ProgramJob;
pub use session::{Job, Outcome, Session, SessionConfig};
