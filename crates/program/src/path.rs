//! Names of ports, which say of what array or record a port is a part.
//!
//! A port is one value: a word, or an array of words. A record is several ports whose names begin alike,
//! `person.age` and `person.name[16]`; a table is one whose record has sizes, `rows[100].age`.

use std::collections::HashSet;
use std::fmt::{self, Write as _};

use cenote_circuit::{Receivers, Role};

use crate::error::{BuildError, check_name, ensure};
use crate::limits::{MAX_SIZES, MAX_STEPS};
use crate::shape::Shape;

/// The version of the format that a module has, which its digest covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// Ports are words or vectors, whatever their names; owners are the garbler and the evaluator.
    One = 1,
    /// Names of ports are paths through records and arrays; owners are `a` and `b`.
    Two = 2,
    /// As version 2, with memories that outlive a run.
    Three = 3,
    /// As version 3, with memories that outlive a run as random access memories.
    Four = 4,
}

impl Version {
    /// All versions that are read.
    pub(crate) const ALL: [Version; 4] =
        [Version::One, Version::Two, Version::Three, Version::Four];
    /// The version of new modules without memories that outlive a run.
    pub(crate) const NEW: Version = Version::Two;

    /// The version of this number, if it is read.
    pub(crate) fn numbered(number: u32) -> Option<Version> {
        Version::ALL.into_iter().find(|version| version.number() == number)
    }

    /// The numbers of all that are read, for messages.
    pub(crate) fn known() -> String {
        let [first @ .., last] = Version::ALL.map(|version| version.number().to_string());
        format!("{} or {last}", first.join(", "))
    }

    /// Whether it has memories that outlive a run.
    pub(crate) const fn has_memories(self) -> bool {
        matches!(self, Version::Three | Version::Four)
    }

    /// Its number.
    #[must_use]
    pub const fn number(self) -> u32 {
        self as u32
    }

    /// Returns the name of an owner. Which of the two garbles is the session's business, though
    /// version 1 named them by that.
    #[must_use]
    pub const fn owner(self, owner: Role) -> &'static str {
        match (self, owner) {
            (Version::One, owner) => owner.name(),
            (_, Role::Garbler) => "a",
            (_, Role::Evaluator) => "b",
        }
    }

    /// Returns the name of a receiver.
    #[must_use]
    pub const fn receiver(self, receiver: Receivers) -> &'static str {
        match receiver {
            Receivers::Garbler => self.owner(Role::Garbler),
            Receivers::Evaluator => self.owner(Role::Evaluator),
            Receivers::Both => "both",
        }
    }
}

/// A name within the record before it, and the sizes of the array of what follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathStep {
    /// A field, or the input or output itself; parts of a tuple are `0`, `1`, and so on.
    pub name: String,
    /// Sizes of the array, the outermost first; none where it is no array.
    pub sizes: Vec<u32>,
}

impl PathStep {
    /// A step that is no array.
    #[must_use]
    pub fn word(name: &str) -> PathStep {
        PathStep { name: name.to_owned(), sizes: Vec::new() }
    }
}

/// Where a port stands in an input or output: `rows[100].name[16]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortPath(Vec<PathStep>);

impl PortPath {
    /// The path of these steps; [`crate::Builder`] tells whether a port may have it.
    #[must_use]
    pub fn new(steps: Vec<PathStep>) -> PortPath {
        PortPath(steps)
    }

    /// The path of a word or a vector with this name, whose steps are between dots.
    #[must_use]
    pub fn flat(name: &str, lanes: u32) -> PortPath {
        PortPath(name.split('.').map(PathStep::word).collect()).of(lanes)
    }

    /// The same of version 1, where dots mean nothing.
    pub(crate) fn plain(name: &str, lanes: u32) -> PortPath {
        PortPath(vec![PathStep::word(name)]).of(lanes)
    }

    fn of(mut self, lanes: u32) -> PortPath {
        if let Some(last) = self.0.last_mut().filter(|_| lanes != 1) {
            last.sizes.push(lanes);
        }
        self
    }

    /// Its steps, from the input or output itself to the port.
    #[must_use]
    pub fn steps(&self) -> &[PathStep] {
        &self.0
    }

    /// The names of its steps between dots, which is the name of the port.
    #[must_use]
    pub fn name(&self) -> String {
        dotted(&self.0)
    }

    /// All sizes, which are those of the port's array.
    pub fn sizes(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().flat_map(|step| step.sizes.iter().copied())
    }

    /// The shape of words of `width` bits in all places.
    pub(crate) fn shape(&self, width: u32) -> Result<Shape, BuildError> {
        let lanes = self.sizes().try_fold(1u32, u32::checked_mul);
        let lanes = lanes.ok_or_else(|| BuildError::new(format!("`{self}` has too many items")))?;
        Ok(Shape { lanes, width })
    }

    /// Refuses what is no path of a port.
    pub(crate) fn check(&self, version: Version) -> Result<(), BuildError> {
        let name = self.name();
        check_name(&name)?;
        let whole = |step: &PathStep| !step.name.is_empty() && !step.name.contains('.');
        ensure(version == Version::One || self.0.iter().all(whole), || {
            format!("`{name}` is no name of a port: each dot stands between two names")
        })?;
        let (steps, sizes) = (self.0.len(), self.sizes().count());
        ensure(steps <= MAX_STEPS && sizes <= MAX_SIZES, || {
            format!("`{name}` goes through at most {MAX_STEPS} names and {MAX_SIZES} sizes")
        })?;
        ensure(self.sizes().all(|size| size > 0), || format!("`{self}` is empty"))
    }
}

fn dotted(steps: &[PathStep]) -> String {
    steps.iter().map(|step| step.name.as_str()).collect::<Vec<_>>().join(".")
}

/// `rows[100].name[16]`, `matrix[3, 4]`.
impl fmt::Display for PortPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, step) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_char('.')?;
            }
            f.write_str(&step.name)?;
            if !step.sizes.is_empty() {
                let sizes: Vec<String> = step.sizes.iter().map(u32::to_string).collect();
                write!(f, "[{}]", sizes.join(", "))?;
            }
        }
        Ok(())
    }
}

/// The names of the inputs, or of the outputs, that a module has so far.
#[derive(Default)]
pub(crate) struct Names {
    /// Ports, and records that they are parts of.
    taken: HashSet<String>,
    last: Vec<PathStep>,
}

impl Names {
    /// Adds a port. The parts of a record follow one another, so that the ports are the leaves of a tree
    /// in its order.
    pub(crate) fn add(&mut self, what: &str, path: &PortPath) -> Result<(), BuildError> {
        let steps = path.steps();
        let name = path.name();
        ensure(!self.taken.contains(&name), || format!("there are two {what}s `{name}`"))?;
        let shared = steps.iter().zip(&self.last).take_while(|(new, last)| new == last).count();
        // A port has no parts; other records that were left have all of theirs.
        let inside = shared > 0 && shared == self.last.len();
        let clash = (shared + usize::from(!inside)..steps.len())
            .map(|length| dotted(&steps[..length]))
            .find(|record| self.taken.contains(record));
        if let Some(record) = clash {
            return Err(BuildError::new(format!(
                "{what} `{path}` does not go with the `{record}` before it: the parts of a record follow one another, \
                 all with its sizes"
            )));
        }
        self.taken.extend((shared + 1..=steps.len()).map(|length| dotted(&steps[..length])));
        self.last = steps.to_vec();
        Ok(())
    }

    /// Whether a port is a part of the same input or output as the one before it.
    pub(crate) fn continues(&self, path: &PortPath) -> bool {
        let first = self.last.first().zip(path.steps().first());
        first.is_some_and(|(last, new)| last.name == new.name)
    }
}
