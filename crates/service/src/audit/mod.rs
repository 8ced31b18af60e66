//! The audit log of a service: what it did, one line each, that cannot be changed afterwards without being noticed.
//!
//! `audit.log` is JSON Lines (docs/formats/audit.md has the bytes). Each line has a number, the hash of the line before
//! it, its own hash, and a signature under the key of the owner ([`OwnerKey`]).
//!
//! | task | item |
//! |---|---|
//! | write | [`AuditLog`], [`Entry`] |
//! | check a whole log, also of the peer | [`verify`], [`verify_lying`] |
//! | whether a log still is what it was when somebody noted its [`Head`] | [`contains`] |
//! | whether two organisations noted the same of their jobs | [`diff`], [`diff_between`] |
//!
//! *Adversary.* Who can write to the file, but does not have the key, can change no line, take none out, add none and
//! swap none: [`verify`] names the first. Lines that are missing at the end are seen against a head that was noted elsewhere.
//! The owner has the key, and can write a whole log anew; it does not have the heads that its peer noted, which then lie on no chain, nor
//! the peer's log, which says what both knew. *Not here:* that an owner notes what happened, in a job that the peer knows nothing of.

mod chain;
mod diff;
mod error;
mod key;
mod line;
mod log;

use std::fmt;
use std::str::FromStr;

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use chain::{contains, verify, verify_lying};
pub use diff::{Difference, Gap, Place, Side, diff, diff_between};
pub use error::AuditError;
pub use key::{OwnerKey, PublicKey};
pub use log::AuditLog;

/// What is noted in one line.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct Entry {
    /// What happened: `job.done`, `approval.given`. 1 to 64 of `a-z`, `0-9`, `.` and `-`; the log itself
    /// notes `log.cut` and `log.clock`, so nobody else has kinds that begin with `log.`.
    pub kind: String,
    /// With which other organisation, if with one.
    pub peer: Option<String>,
    /// Of which job, if of one: the name that both organisations have for it.
    pub job: Option<String>,
    /// Facts that both organisations know of this job and must agree on: digest of the program, receivers, public parameters, outcome.
    pub shared: Option<Map<String, Value>>,
    /// Facts of this side only.
    pub own: Map<String, Value>,
}

/// How far a log goes: what a peer keeps of it, and finds again in it later. `NUMBER:HASH` as text.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Head {
    /// Lines up to here; the number of the last one.
    pub sequence: u64,
    /// Hash of the last line, and so of all; zeros if there is none.
    pub hash: [u8; 32],
}

impl Head {
    /// Of a log without lines.
    pub const START: Head = Head { sequence: 0, hash: [0; 32] };
}

impl Default for Head {
    fn default() -> Head {
        Head::START
    }
}

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.sequence, HEXLOWER.encode(&self.hash))
    }
}

impl fmt::Debug for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Head {
    type Err = AuditError;

    /// # Errors
    /// [`AuditError::Text`] if it is no head.
    fn from_str(text: &str) -> Result<Head, AuditError> {
        let read = || {
            let (sequence, hash) = text.split_once(':')?;
            let digits = sequence.bytes().all(|byte| byte.is_ascii_digit());
            let sequence = sequence.parse().ok().filter(|_| digits)?;
            Some(Head { sequence, hash: from_hex(hash)? })
        };
        read().ok_or(AuditError::Text {
            what: "head of an audit log",
            form: "NUMBER:HASH, the hash 64 digits of 0-9a-f",
        })
    }
}

/// The bytes that `text` has in hexadecimal, lower case, if it has as many.
fn from_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    HEXLOWER.decode(text.as_bytes()).ok()?.try_into().ok()
}
