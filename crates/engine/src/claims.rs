//! The promises of a backend, as data: policy compares them, results carry them, documents print
//! them.

use cenote_net::Channel;

/// The conduct of the peer that leaves the promise unbroken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Adversary {
    /// Nothing is hidden from the peer.
    None,
    /// Follows the protocol and looks at everything it sees.
    SemiHonest,
    /// Does anything; is caught with the stated probability.
    Malicious,
}

impl Adversary {
    /// The name in results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Adversary::None => "none",
            Adversary::SemiHonest => "semi-honest",
            Adversary::Malicious => "malicious",
        }
    }
}

/// How the session knows who its peer is. A promise to an owner is worth as much as this.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PeerIs {
    /// The owner of the certificate that this side was given, at the other end of this very connection.
    Pinned,
    /// Whoever is at the other end: nothing but the connection itself says who that is.
    NotAuthenticated,
}

impl PeerIs {
    /// The peer of a channel.
    pub(crate) fn of(channel: &Channel) -> PeerIs {
        match channel.peer() {
            Some(_) => PeerIs::Pinned,
            None => PeerIs::NotAuthenticated,
        }
    }

    /// The name in results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            PeerIs::Pinned => "pinned certificate",
            PeerIs::NotAuthenticated => "not authenticated",
        }
    }
}

/// The promise of a backend under its parameters.
#[derive(Clone, PartialEq, Debug)]
pub struct Promise {
    /// The conduct that the peer is allowed.
    pub adversary: Adversary,
    /// Computational security in bits; 0 where nothing is hidden.
    pub kappa: u32,
    /// Base-2 logarithm of the probability, over the whole life of the session and its pool, that a
    /// cheating peer is not caught; `None` where cheating is not covered.
    pub epsilon_log2: Option<f64>,
    /// The same against a cheater that adapts during the session, where that differs.
    pub adaptive_epsilon_log2: Option<f64>,
    /// Assumptions the proof stands on.
    pub assumptions: &'static [&'static str],
    /// The information that the peer learns beyond its output.
    pub leakage: &'static str,
    /// Who obtains an output for both first (no fairness).
    pub first_output: &'static str,
    /// Whether running time and memory accesses are independent of secrets, by construction.
    pub constant_time: bool,
    /// Whether somebody outside the project has audited it.
    pub audited: bool,
}

/// The promise of a session, and its findings.
#[derive(Clone, PartialEq, Debug)]
pub struct Claims {
    /// Name of the backend.
    pub backend: &'static str,
    /// How the peer is known.
    pub peer: PeerIs,
    /// The promise of the backend.
    pub promise: Promise,
    /// Proof, for this side's owner, that the peer has cheated in this session; the peer does not know
    /// that it was found out.
    pub evidence: Option<Evidence>,
}

/// Two labels of one wire, both of which the peer had bound itself to. A garbler shows one; who has
/// both was given them by a gate that the garbler made wrong.
#[derive(Clone, PartialEq)]
pub struct Evidence {
    /// The session in which it happened.
    pub session: [u8; 32],
    /// The number of the wire among all that were hashed.
    pub wire: u64,
    /// The labels of masked value 0 and 1. Secret: their sum opens all wires of the session.
    pub labels: [[u8; 48]; 2],
}

impl Drop for Evidence {
    fn drop(&mut self) {
        zeroize::Zeroize::zeroize(&mut self.labels);
    }
}

impl std::fmt::Debug for Evidence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Evidence(two labels of wire {})", self.wire)
    }
}
