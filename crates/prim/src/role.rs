//! The two parties: sides of a protocol, owners of inputs, receivers of outputs.

use serde::{Deserialize, Serialize};

/// One of the two parties. Roles are fixed for a session and complementary; a program calls its
/// owners `a`, who garbles, and `b`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The party that garbles (the sender, in protocols without garbling).
    Garbler,
    /// The party that evaluates (the receiver, in protocols without garbling).
    Evaluator,
}

impl Role {
    /// Both, the garbler first.
    pub const ALL: [Role; 2] = [Role::Garbler, Role::Evaluator];

    /// The role of the other party.
    #[must_use]
    pub const fn peer(self) -> Role {
        match self {
            Role::Garbler => Role::Evaluator,
            Role::Evaluator => Role::Garbler,
        }
    }

    /// The role's name in commands, logs and results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Role::Garbler => "garbler",
            Role::Evaluator => "evaluator",
        }
    }
}

impl std::fmt::Display for Role {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Who learns an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Receivers {
    /// The garbler alone.
    Garbler,
    /// The evaluator alone.
    Evaluator,
    /// Both; the evaluator learns it first.
    Both,
}

impl Receivers {
    /// All that an output may have.
    pub const ALL: [Receivers; 3] = [Receivers::Garbler, Receivers::Evaluator, Receivers::Both];

    /// Whether `role` receives.
    #[must_use]
    pub const fn include(self, role: Role) -> bool {
        match self {
            Receivers::Garbler => matches!(role, Role::Garbler),
            Receivers::Evaluator => matches!(role, Role::Evaluator),
            Receivers::Both => true,
        }
    }

    /// The name in commands, handshakes and results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Receivers::Garbler => Role::Garbler.name(),
            Receivers::Evaluator => Role::Evaluator.name(),
            Receivers::Both => "both",
        }
    }
}

impl From<Role> for Receivers {
    fn from(role: Role) -> Receivers {
        match role {
            Role::Garbler => Receivers::Garbler,
            Role::Evaluator => Receivers::Evaluator,
        }
    }
}
