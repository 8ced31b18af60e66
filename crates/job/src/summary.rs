//! What a session did and promises.

use cenote_engine::cost::OnTheLine;
use cenote_engine::{Claims, Evidence, Session};
use cenote_net::Counters;
use cenote_pool::Level;

/// A session, looked at from one side.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Traffic and time by phase.
    pub counters: Counters,
    /// What it promises.
    pub claims: Claims,
    /// What it took by its line.
    pub on_the_line: Option<OnTheLine>,
    /// Pools and stocks.
    pub stores: Vec<Level>,
    /// Proof that the peer has cheated, once there is any.
    pub evidence: Option<Evidence>,
}

impl Summary {
    /// The session as it is now.
    pub fn of(session: &mut Session) -> Summary {
        Summary {
            counters: session.counters(),
            claims: session.claims(),
            on_the_line: session.on_the_line(),
            stores: session.occupancy().map(|all| all.stores).unwrap_or_default(),
            evidence: session.evidence(),
        }
    }
}
