//! The Party API and the protocol backends `plain`, `yao`, `wrk` and `jimu`.

pub mod backends;
mod chunk;
mod claims;
pub mod cost;
pub mod ihash;
mod metered;
mod module_job;
mod params;
mod party;
mod program_job;
pub mod protocols;
mod session;
pub mod supply;
pub mod tags;
mod toss;
mod wires;

pub use backends::jimu::{JimuParams, JimuSwitches};
pub use cenote_net::{Fault, Role};
pub use claims::{Adversary, Claims, Evidence, PeerIs};
pub use metered::Metered;
pub use module_job::ModuleJob;
pub use params::{PoolChoice, Rho, WrkParams};
pub use party::{Party, Receivers};
pub use program_job::{ProgramJob, role_of};
pub use session::{Backend, Job, Outcome, Session, SessionConfig};
pub use wires::Wire;
