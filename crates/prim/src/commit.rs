//! Commitments in the random-oracle model: hash of value and 32 random bytes.

use subtle::ConstantTimeEq;

use crate::{RandomOracle, SessionId};

/// The commitment that its receiver holds: binding by collision resistance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Commitment(pub [u8; 32]);

/// The random bytes that hide a committed value until it is opened.
pub type Nonce = [u8; 32];

/// Commits to `value` under `label`, which names the message inside the session.
pub fn commit(session: &SessionId, label: &str, value: &[u8], nonce: &Nonce) -> Commitment {
    let oracle = RandomOracle::new("cenote 2026 prim commitment v1", session);
    Commitment(oracle.bytes(label.as_bytes()).bytes(nonce).bytes(value).digest())
}

/// Whether `value` and `nonce` open `commitment`.
#[must_use]
pub fn opens(
    commitment: &Commitment,
    session: &SessionId,
    label: &str,
    value: &[u8],
    nonce: &Nonce,
) -> bool {
    commit(session, label, value, nonce).0.ct_eq(&commitment.0).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_opening_opens() {
        let (s, t) = (SessionId([0; 32]), SessionId([1; 32]));
        let c = commit(&s, "coin", b"value", &[7; 32]);
        assert!(opens(&c, &s, "coin", b"value", &[7; 32]));
        assert!(!opens(&c, &t, "coin", b"value", &[7; 32]));
        assert!(!opens(&c, &s, "other", b"value", &[7; 32]));
        assert!(!opens(&c, &s, "coin", b"Value", &[7; 32]));
        assert!(!opens(&c, &s, "coin", b"value", &[8; 32]));
    }
}
