//! Why a call of the service is refused.

/// Why a call is refused, for the own owner: with cause and remedy, without secrets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct ServiceError {
    /// What kind.
    pub kind: ErrorKind,
    /// Cause and remedy.
    pub what: String,
}

/// Kinds of refusals, each with its status in the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// What was given cannot be used (400).
    Invalid,
    /// No approval permits it (403).
    Forbidden,
    /// There is no such thing (404).
    NotFound,
    /// It is there already, or in a state that does not allow this (409).
    Conflict,
    /// A limit of open jobs is reached (429).
    Busy,
    /// The quota of whoever asks is used up (429).
    Quota,
    /// The service is stopping, or cannot write (503).
    Unavailable,
    /// A defect (500).
    Internal,
}

impl ServiceError {
    /// A refusal of this kind.
    pub fn new(kind: ErrorKind, what: impl Into<String>) -> ServiceError {
        ServiceError { kind, what: what.into() }
    }

    pub(crate) fn invalid(what: impl Into<String>) -> ServiceError {
        ServiceError::new(ErrorKind::Invalid, what)
    }

    pub(crate) fn not_found(what: impl Into<String>) -> ServiceError {
        ServiceError::new(ErrorKind::NotFound, what)
    }
}
