//! The standing service from a shell: started, told what to permit, asked for jobs.
//!
//! | question | file |
//! |---|---|
//! | what `init` and `token` write | `setup.rs` |
//! | how it runs and ends | `serve.rs` |
//! | how commands reach its API | `client.rs` |
//! | jobs | `job.rs` |
//! | programs, data sets, approvals, the peer | `owner.rs` |
//! | audit logs | `audit.rs` |
//! | whether a directory and its machine are as they should be | `doctor/` |
//! | how answers look | `shown.rs` |

pub(crate) mod audit;
pub(crate) mod client;
pub(crate) mod doctor;
pub(crate) mod job;
pub(crate) mod owner;
pub(crate) mod running;
pub(crate) mod serve;
pub(crate) mod setup;
mod shown;
