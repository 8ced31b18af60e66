//! The tie between a run and the connection it is made over.
//!
//! Two owners that both deal with P could otherwise be joined by P: it would pass messages on between a
//! connection to each, and either would compute with somebody it never authenticated.

use zeroize::Zeroizing;

use crate::Role;
use crate::identity::Fingerprint;

/// The values that the two ends of a connection over TLS have in common, and no other connection
/// has.
pub(crate) struct Binding {
    /// Keying material exported from the connection.
    pub(crate) exported: Zeroizing<[u8; 32]>,
    /// This side's certificate.
    pub(crate) own: Fingerprint,
    /// The certificate that the peer proved to have.
    pub(crate) peer: Fingerprint,
}

impl Binding {
    /// The binding of a run in which this side has `role`, known to the two ends alone.
    pub(crate) fn of_run(&self, role: Role) -> [u8; 32] {
        let (garbler, evaluator) = match role {
            Role::Garbler => (self.own, self.peer),
            Role::Evaluator => (self.peer, self.own),
        };
        // What TLS 1.3 exports does not depend on the client's certificate: both are hashed.
        let mut hasher = blake3::Hasher::new_derive_key("cenote 2026 net channel binding v1");
        hasher.update(&*self.exported).update(&garbler.0).update(&evaluator.0);
        *hasher.finalize().as_bytes()
    }
}

/// Derives what a hello shows of the binding of its run.
pub(crate) fn shown(binding: &[u8; 32]) -> [u8; 32] {
    blake3::derive_key("cenote 2026 net channel binding shown v1", binding)
}
