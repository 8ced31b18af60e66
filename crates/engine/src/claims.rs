//! The promises of a backend, as data: policy compares them, results carry them, documents print
//! them.

use std::fmt;

use cenote_net::{Channel, Role};
use serde::{Serialize, Serializer};

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

impl fmt::Display for Adversary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
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

impl fmt::Display for PeerIs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An assumption that a proof stands on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Assumption {
    /// BLAKE3 is a random oracle.
    RandomOracle,
    /// AES-128 is an ideal cipher where it is used for this.
    IdealCipher(&'static str),
    /// Gap computational Diffie-Hellman in ristretto255, for base OT.
    GapDiffieHellman,
    /// The same for two points at once.
    SimultaneousDiffieHellman,
    /// Learning parity with regular noise over a sparse code, for silent OT.
    ParityWithNoise,
}

impl fmt::Display for Assumption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Assumption::RandomOracle => f.write_str("BLAKE3 is a random oracle"),
            Assumption::IdealCipher(uses) => write!(f, "AES-128 is an ideal cipher ({uses})"),
            Assumption::SimultaneousDiffieHellman => {
                f.write_str("simultaneous gap Diffie-Hellman in ristretto255 (test of equality)")
            }
            Assumption::ParityWithNoise => f.write_str(
                "learning parity with regular noise (silent OT, if the session uses it)",
            ),
            Assumption::GapDiffieHellman => {
                f.write_str("gap computational Diffie-Hellman in ristretto255 (base OT)")
            }
        }
    }
}

/// Information that the peer learns beside its own input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Leak {
    /// All inputs.
    Everything,
    /// The outputs of which it is a receiver.
    Outputs,
    /// Whether the session aborted.
    Abort,
    /// Sizes and timing of messages.
    Traffic,
    /// A garbler who cheated, by timing: after which chunk of gates it had been found out.
    ChunkFoundOut,
    /// So many bits for each request, of its own choice, about the other side's input.
    Bits(u32),
}

impl fmt::Display for Leak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Leak::Everything => f.write_str("everything"),
            Leak::Outputs => f.write_str("the outputs of its receivers"),
            Leak::Abort => f.write_str("that the session aborted"),
            Leak::Traffic => f.write_str("sizes and timing of messages"),
            Leak::ChunkFoundOut => f.write_str(
                "by timing, after which chunk of gates a garbler who cheated had been found out, if at all",
            ),
            Leak::Bits(1) => f.write_str("a bit of its choice about the input, for each request"),
            Leak::Bits(bits) => {
                write!(f, "{bits} bits of its choice about the input, for each request")
            }
        }
    }
}

/// All that the peer learns beside its own input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Leakage(pub &'static [Leak]);

impl fmt::Display for Leakage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, leak) in self.0.iter().enumerate() {
            let before = if i > 0 { "; " } else { "" };
            write!(f, "{before}{leak}")?;
        }
        Ok(())
    }
}

/// Who obtains an output for both first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FirstOutput {
    /// Neither: both have all it takes at the same time.
    BothAtOnce,
    /// This party, which may keep it from the other one.
    Party(Role),
}

impl fmt::Display for FirstOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FirstOutput::BothAtOnce => "both at once",
            FirstOutput::Party(role) => role.name(),
        })
    }
}

/// The work that the error bounds of a promise cover, taken together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Covers {
    /// The whole life of the session and its pool.
    Session,
    /// Every so many requests anew.
    Requests(u64),
}

impl fmt::Display for Covers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Covers::Session => f.write_str("session"),
            Covers::Requests(1) => f.write_str("request"),
            Covers::Requests(requests) => write!(f, "{requests} requests"),
        }
    }
}

/// In results, each is the text that people read.
macro_rules! serialized_as_text {
    ($($name:ident),*) => {$(
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
    )*};
}

serialized_as_text!(Adversary, PeerIs, Assumption, Leakage, FirstOutput, Covers);

/// The promise of a backend under its parameters.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Promise {
    /// The conduct that the peer is allowed.
    pub adversary: Adversary,
    /// Computational security in bits; 0 where nothing is hidden.
    pub kappa: u32,
    /// The work of which the next two are bounds.
    pub covers: Covers,
    /// Base-2 logarithm of the probability, over all that is covered, that a cheating peer is not
    /// caught; `None` where cheating is not covered.
    pub epsilon_log2: Option<f64>,
    /// The same against a cheater that adapts during the session, where that differs.
    pub adaptive_epsilon_log2: Option<f64>,
    /// Assumptions the proof stands on.
    pub assumptions: &'static [Assumption],
    /// The information that the peer learns beyond its output.
    pub leakage: Leakage,
    /// Who obtains an output for both first (no fairness).
    pub first_output: FirstOutput,
    /// Whether running time and memory accesses are independent of secrets, by construction.
    pub constant_time: bool,
    /// Whether somebody outside the project has audited it.
    pub audited: bool,
}

/// The promise of a session.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Claims {
    /// Name of the backend.
    pub backend: &'static str,
    /// How the peer is known.
    pub peer: PeerIs,
    /// The promise of the backend.
    pub promise: Promise,
}

/// Proof, for this side's owner, that the peer has cheated in a session; the peer does not know that it
/// was found out.
///
/// It is two labels of one wire, both of which the peer had bound itself to. A garbler shows
/// one; who has both was given them by a gate that the garbler made wrong.
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

impl fmt::Debug for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Evidence(two labels of wire {})", self.wire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backends::Protocol;
    use crate::backends::wrk::{WrkParams, WrkSession};
    use crate::options::{PoolChoice, Rho};

    #[test]
    fn claims_are_read_by_programs_as_people_read_them() {
        let params = WrkParams::derive(PoolChoice::OneShot(1000), Rho::Bits40).expect("sound");
        let promise = WrkSession::promises(&params);
        assert!(promise.leakage.0.contains(&Leak::Abort));
        let claims = Claims { backend: "wrk", peer: PeerIs::Pinned, promise };
        let expected = serde_json::json!({
            "backend": "wrk",
            "peer": "pinned certificate",
            "promise": {
                "adversary": "malicious",
                "kappa": 120,
                "covers": "session",
                "epsilon_log2": -40.0,
                "adaptive_epsilon_log2": -40.0,
                "assumptions": [
                    "BLAKE3 is a random oracle",
                    "AES-128 is an ideal cipher (re-keyed hash, PRG)",
                    "gap computational Diffie-Hellman in ristretto255 (base OT)",
                    "simultaneous gap Diffie-Hellman in ristretto255 (test of equality)",
                    "learning parity with regular noise (silent OT, if the session uses it)",
                ],
                "leakage": "the outputs of its receivers; that the session aborted; sizes and timing \
                            of messages",
                "first_output": "evaluator",
                "constant_time": true,
                "audited": false,
            },
        });
        assert_eq!(serde_json::to_value(&claims).ok(), Some(expected));
    }

    #[test]
    fn a_leaked_bit_and_a_batch_of_requests_can_be_told() {
        let leakage = Leakage(&[Leak::Outputs, Leak::Bits(1), Leak::Bits(3)]);
        let told = "the outputs of its receivers; a bit of its choice about the input, for each request; \
                    3 bits of its choice about the input, for each request";
        assert_eq!(leakage.to_string(), told);
        let covered = [Covers::Session, Covers::Requests(1), Covers::Requests(64)];
        assert_eq!(covered.map(|all| all.to_string()), ["session", "request", "64 requests"]);
        assert_eq!(FirstOutput::BothAtOnce.to_string(), "both at once");
    }
}
