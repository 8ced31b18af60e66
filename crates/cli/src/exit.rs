//! Why a command ended, and the exit code that says so.

use cenote_engine::Fault;

/// The kinds of failure. Codes are a contract: `docs/cli.md` lists them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    /// A defect of this program.
    Internal,
    /// Arguments, files or values that cannot be used; nothing was started.
    BadInput,
    /// The parties do not agree, or one does not accept the other's certificate.
    Refused,
    /// The peer sent what no honest peer sends.
    PeerMisbehaved,
    /// The connection failed, ended early or fell silent.
    Connection,
    /// The peer aborted; its own log says why.
    PeerAborted,
    /// A stock or a limit ran out.
    Exhausted,
    /// The stash of a memory had no room left: as rare as what the session promises.
    Overflowed,
    /// What is kept between sessions could not be read or written.
    Storage,
    /// Ctrl-C or a termination signal.
    Interrupted,
}

impl Kind {
    pub(crate) const fn code(self) -> u8 {
        match self {
            Kind::Internal => 1,
            Kind::BadInput => 2,
            Kind::Refused => 3,
            Kind::PeerMisbehaved => 4,
            Kind::Connection => 5,
            Kind::PeerAborted => 6,
            Kind::Exhausted | Kind::Overflowed => 7,
            Kind::Storage => 8,
            Kind::Interrupted => 130,
        }
    }
}

/// A command that failed: what happened and what to do, for people, and the kind, for programs.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Failure {
    pub(crate) kind: Kind,
    pub(crate) message: String,
}

impl Failure {
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Failure {
        Failure { kind, message: message.into() }
    }

    pub(crate) fn bad_input(message: impl Into<String>) -> Failure {
        Failure::new(Kind::BadInput, message)
    }

    /// A fault found before anything started: the request cannot be used, whatever kind it would be
    /// between two parties.
    pub(crate) fn unusable(fault: Fault) -> Failure {
        match fault {
            Fault::Policy(message) | Fault::Misuse(message) | Fault::Exhausted(message) => {
                Failure::bad_input(message)
            }
            other => other.into(),
        }
    }

    pub(crate) fn internal(message: impl Into<String>) -> Failure {
        Failure::new(Kind::Internal, message)
    }

    pub(crate) fn interrupted() -> Failure {
        Failure::new(Kind::Interrupted, "interrupted")
    }

    /// The failure with words before its message that say where it happened.
    pub(crate) fn at(self, place: &str) -> Failure {
        Failure { message: format!("{place}: {}", self.message), ..self }
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Failure {
        let kind = match &fault {
            Fault::Misbehaved(_) => Kind::PeerMisbehaved,
            Fault::PeerAborted => Kind::PeerAborted,
            Fault::Transport(_) => Kind::Connection,
            Fault::Misuse(_) => Kind::BadInput,
            Fault::Exhausted(_) => Kind::Exhausted,
            Fault::Overflowed(_) => Kind::Overflowed,
            Fault::Policy(_) => Kind::Refused,
            Fault::Storage(_) => Kind::Storage,
            Fault::Internal(_) => Kind::Internal,
        };
        let message = match fault {
            // The words of these name the file or value and the remedy themselves.
            Fault::Misuse(message) => message,
            Fault::PeerAborted => {
                "the peer aborted the session; its own message says why".to_owned()
            }
            other => other.to_string(),
        };
        Failure { kind, message }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program that asks for it learns whether another limit or another try helps.
    #[test]
    fn an_overflow_is_told_from_what_ran_out() {
        let [overflowed, spent] = [Fault::Overflowed("x"), Fault::Exhausted("x".into())]
            .map(Failure::from)
            .map(|failure| (serde_json::to_value(&failure).unwrap(), failure.kind.code()));
        assert_eq!((&overflowed.0["kind"], overflowed.1), (&"overflowed".into(), 7));
        assert_eq!((&spent.0["kind"], spent.1), (&"exhausted".into(), 7));
    }
}
