//! The two parties.

/// Which of the two parties this side is. Roles are fixed for a session and complementary.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Role {
    /// The party that garbles (the sender, in protocols without garbling).
    Garbler,
    /// The party that evaluates (the receiver, in protocols without garbling).
    Evaluator,
}

impl Role {
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
