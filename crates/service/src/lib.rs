//! What an organisation leaves running: a service that answers jobs of its own owner and of the peer's, from a pool that outlives
//! the process.
//!
//! | question | file |
//! |---|---|
//! | what owners and the API speak of | [`model`] |
//! | what a service is told | [`config`] |
//! | which programs, data sets and approvals there are; what is permitted | `registry.rs`, `permit.rs` |
//! | where own inputs come from | `sources.rs` |
//! | whether a question is asked again, by its idempotency key | `again.rs` |
//! | what happens to a job, from its offer to its end | `course.rs` |
//! | what the threads share, how it starts, what holds the peer | `inner.rs` |
//! | what is taken back, and what becomes of its run | `take_back.rs` |
//! | which memories of programs an owner ends | `memories.rs` |
//! | what whoever asks may take | `quota.rs` |
//! | where a job stands, and what may change that | `jobs.rs`, in the database of `db.rs` |
//! | how connections to the peer are made and told apart | `peer/connect.rs` |
//! | how a certificate changes while both run | `peer/rotation.rs` |
//! | what the two services tell each other of jobs | `peer/link.rs`, `peer/messages.rs` |
//! | how jobs run, in which order, on what | `peer/lane.rs` |
//! | how long jobs take | `histogram.rs` |
//! | what is kept of a peer that cheated | `evidence.rs` |
//! | what time it is | `clock.rs` |
//! | when certificates end | [`expiry`] |
//! | what it wrote down, signed | [`audit`] |
//! | how owners and their programs reach it over HTTP, and who may do what | [`api`], with TLS by `tls.rs` |
//! | whether a file has changed | `stamp.rs` |
//!
//! docs/protocols/service.md says what the peers tell each other and what that gives away.

mod again;
pub mod api;
pub mod audit;
#[doc(hidden)]
pub mod clock;
pub mod config;
mod course;
mod db;
mod error;
mod evidence;
pub mod expiry;
mod histogram;
mod inner;
mod jobs;
mod journal;
mod memories;
pub mod model;
mod peer;
mod permit;
mod quota;
mod registry;
mod service;
mod sources;
mod stamp;
mod take_back;
mod tls;
mod watch;

pub use db::look as look_at_database;
pub use error::{ErrorKind, ServiceError};
pub use inner::is_database_lost;
pub use journal::{JournalError, check as check_journal};
pub use peer::rotation::{next_peer_file, prepare as prepare_identity, want as want_identity};
pub use service::Service;
