//! Stretches of a program between values that it opens.

/// Where a part of a program opens values, and where it has ANDs: before the first value that is
/// opened, between two, after the last.
#[derive(Clone, Copy, Default)]
pub(super) struct Course {
    pub(super) opens: bool,
    pub(super) first: bool,
    pub(super) between: u64,
    pub(super) last: bool,
}

impl Course {
    pub(super) fn and_depth(&mut self) {
        *if self.opens { &mut self.last } else { &mut self.first } = true;
    }

    pub(super) fn reveal(&mut self) {
        *self = self.then(Course { opens: true, ..Course::default() });
    }

    pub(super) fn then(self, next: Course) -> Course {
        let joined = |one: bool| one | next.first;
        match (self.opens, next.opens) {
            (false, false) => Course { first: joined(self.first), ..self },
            (true, false) => Course { last: joined(self.last), ..self },
            (false, true) => Course { first: joined(self.first), ..next },
            (true, true) => {
                let met = u64::from(joined(self.last));
                let between = self.between.saturating_add(next.between).saturating_add(met);
                Course { between, last: next.last, ..self }
            }
        }
    }

    pub(super) fn times(self, count: u64) -> Course {
        let met = u64::from(self.opens & (self.last | self.first));
        let again = self.between.saturating_add(met).saturating_mul(count.saturating_sub(1));
        Course { between: self.between.saturating_add(again), ..self }
    }

    /// At least either of two ways.
    pub(super) fn or(self, other: Course) -> Course {
        Course {
            opens: self.opens | other.opens,
            first: self.first | other.first,
            between: self.between.max(other.between),
            last: self.last | other.last,
        }
    }

    pub(super) fn stretches(self) -> u64 {
        self.between.saturating_add(u64::from(self.first) + u64::from(self.last))
    }
}
