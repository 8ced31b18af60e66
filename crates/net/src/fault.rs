//! The one fault type of the whole system.

/// Why a session ended. A fault consumes the session: after one, the channel only aborts or closes.
///
/// Which check failed is for the local log alone. The peer sees the same abort frame for every
/// fault, because a peer that learns *which* check failed can choose its cheating by it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The peer sent something that no honest peer sends. Carries the check's id or the reason.
    #[error("the peer misbehaved: {0}")]
    Misbehaved(&'static str),
    /// The peer ended the session with an abort frame and gave, as it must, no reason.
    #[error("the peer aborted the session")]
    PeerAborted,
    /// The connection failed, ended, stayed silent for too long, or was cancelled.
    #[error("connection: {0}")]
    Transport(String),
    /// The local caller broke the contract of an interface.
    #[error("misuse: {0}")]
    Misuse(String),
    /// A stock or a limit ran out.
    #[error("exhausted: {0}")]
    Exhausted(String),
    /// Something had no room left that was made so large that this hardly ever happens: no stock ran out and no limit is too low.
    #[error("overflowed: {0}")]
    Overflowed(&'static str),
    /// The two parties, or the owner's policy, do not agree to this run.
    #[error("refused: {0}")]
    Policy(String),
    /// What this side keeps between sessions could not be read or written.
    #[error("storage: {0}")]
    Storage(String),
    /// A defect of this program.
    #[error("internal error: {0}")]
    Internal(String),
}
