//! Secure two-party computation between sessions of two parties: the Party API, the protocols behind it, and
//! what a computation will cost.
//!
//! The command, the Python package and the tests open a [`Session`] over a channel and run [`Job`]s in it: a
//! [`ModuleJob`] for a program as people write them, a [`ProgramJob`] for a stream of gates, or one of their own.
//! A job sees a [`Party`]: gates, inputs, memory, checks, openings, whatever the [`Backend`].
//!
//! | task | item |
//! |---|---|
//! | run a program with the other party | [`Session`], [`ModuleJob`] |
//! | compute something else, step by step | [`Job`], [`Party`] |
//! | know before what it takes | [`cost`] |
//! | know what was promised and found | [`Claims`] |
//! | add a protocol | [`backends`], docs/contribute/backend.md |
//! | the boxes that protocols share | [`parts`] |
//!
//! Both parties of a sum in one process, over a connection in memory:
//!
//! ```
//! use cenote_engine::{ModuleJob, Role, Session, SessionConfig};
//! use cenote_program::Module;
//!
//! let text = "cenote 1
//! program sum \"x + y\"
//! input x: garbler uint b8
//! input y: evaluator uint b8
//! {
//!   %2 = add %0, %1
//! }
//! output z: both uint %2
//! ";
//! let module = Module::parse_text(text)?;
//! let config: SessionConfig = "yao".parse()?;
//! let party = |channel, role, own: u8| {
//!     let mut session = Session::open(channel, role, &config)?;
//!     let bits = (0..8).map(|bit| own >> bit & 1 == 1).collect();
//!     let outcome = session.run(&ModuleJob::new(&module, role, vec![bits])?)?;
//!     session.close();
//!     Ok::<_, cenote_net::Fault>(outcome.output)
//! };
//! let (garbler, evaluator) = cenote_net::mem_pair();
//! let outputs = std::thread::scope(|scope| {
//!     let other = scope.spawn(|| party(evaluator, Role::Evaluator, 5));
//!     party(garbler, Role::Garbler, 37).and_then(|own| Ok((own, other.join().expect("no panic")?)))
//! })?;
//! let sum = (0..8).map(|bit| 42u8 >> bit & 1 == 1).collect::<Vec<bool>>();
//! assert_eq!(outputs, (vec![Some(sum.clone())], vec![Some(sum)]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod backends;
mod claims;
pub mod cost;
mod memory;
mod metered;
mod module_job;
mod named_memory;
pub mod options;
pub mod paper;
pub mod parts;
mod party;
mod program_job;
mod session;
pub mod tags;

pub use backends::Backend;
pub use backends::jimu::{JimuParams, JimuSwitches};
pub use backends::wrk::WrkParams;
pub use cenote_net::{Fault, Role};
pub use claims::{
    Adversary, Assumption, Claims, Covers, Evidence, FirstOutput, Leak, Leakage, PeerIs, Promise,
};
pub use memory::Memory;
pub use metered::Metered;
pub use module_job::{ModuleJob, ModuleJobs, memory_uses, memory_uses_at};
pub use named_memory::{HeldMemory, MemoryUse, NamedMemories, RamLife, RamStates, kept_name};
pub use options::{PoolChoice, Rho, SessionConfig};
pub use parts::keeper::{CONNECTIONS, MOST_POOLS, has_bound_left, kept_items};
pub use parts::wires::Wire;
pub use party::{Checked, MAX_KEPT_WIRES, MAX_RESTING_WIRES, Party, Receivers};
pub use program_job::ProgramJob;
pub use session::{Job, Outcome, Session};
