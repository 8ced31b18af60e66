//! The limits of what this side is willing to spend on a computation, decided before any of it
//! runs.

use cenote_program::Stats;
use serde::{Deserialize, Serialize};

/// The most that a computation may be predicted to take. The defaults let through whatever a machine
/// with 16 GiB computes in a day, and nothing that would only exhaust it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// ANDs.
    pub ands: u64,
    /// Bytes of both directions.
    pub bytes: u64,
    /// Seconds.
    pub seconds: f64,
    /// Bytes of memory of this side.
    pub memory: u64,
    /// Bits of values that are alive at once.
    pub live_bits: u64,
    /// Statements that are executed.
    pub statements: u64,
    /// Bits that all statements together give.
    pub moved_bits: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            ands: 100_000_000_000,
            bytes: 10_000_000_000_000,
            seconds: 86_400.0,
            memory: 12 << 30,
            live_bits: 1 << 27,
            statements: 10_000_000_000,
            moved_bits: 10_000_000_000_000,
        }
    }
}

/// A computation above a limit.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{figure}, more than the limit of {limit} ({option}) on this side")]
pub struct Excess {
    /// The predicted figure, in words. The peer may hear it: it follows from the program.
    pub figure: String,
    /// The figure that is allowed. It concerns this side alone.
    pub limit: String,
    /// The name of the limit.
    pub option: &'static str,
}

impl Limits {
    /// The first limit that a computation breaks; `bytes` of both directions, `seconds` and this side's
    /// `memory` as predicted.
    ///
    /// # Errors
    /// The figure and the limit.
    pub fn check(
        &self,
        stats: &Stats,
        bytes: u64,
        seconds: f64,
        memory: u64,
    ) -> Result<(), Excess> {
        let counts = [
            ("ands", "ANDs", stats.ands, self.ands),
            ("bytes", "bytes on the wire", bytes, self.bytes),
            ("memory", "bytes of memory", memory, self.memory),
            ("live_bits", "bits alive at once", stats.live_bits, self.live_bits),
            ("statements", "statements", stats.statements, self.statements),
            ("moved_bits", "bits moved", stats.moved_bits, self.moved_bits),
        ];
        for (option, what, predicted, most) in counts {
            if predicted > most {
                return Err(Excess {
                    figure: format!("{predicted} {what} predicted"),
                    limit: most.to_string(),
                    option,
                });
            }
        }
        // A figure that is no number is no reason to run.
        if seconds <= self.seconds {
            return Ok(());
        }
        let digits = if seconds < 1.0 { 4 } else { 1 };
        Err(Excess {
            figure: format!("{seconds:.digits$} seconds predicted"),
            limit: format!("{}", self.seconds),
            option: "seconds",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_stops_what_is_above_it_and_nothing_else() {
        let one = Limits {
            ands: 1,
            bytes: 1,
            seconds: 1.0,
            memory: 1,
            live_bits: 1,
            statements: 1,
            moved_bits: 1,
        };
        let stats =
            Stats { ands: 1, live_bits: 1, statements: 1, moved_bits: 1, ..Stats::default() };
        assert_eq!(one.check(&stats, 1, 1.0, 1), Ok(()));
        let above = |change: fn(&mut Stats)| {
            let mut stats = stats.clone();
            change(&mut stats);
            one.check(&stats, 1, 1.0, 1).expect_err("above").option
        };
        assert_eq!(above(|stats| stats.ands = 2), "ands");
        assert_eq!(above(|stats| stats.live_bits = 2), "live_bits");
        assert_eq!(above(|stats| stats.statements = 2), "statements");
        assert_eq!(above(|stats| stats.moved_bits = 2), "moved_bits");
        let option = |bytes, seconds, memory| {
            one.check(&stats, bytes, seconds, memory).expect_err("above").option
        };
        assert_eq!(option(2, 1.0, 1), "bytes");
        assert_eq!(option(1, 1.1, 1), "seconds");
        assert_eq!(option(1, f64::NAN, 1), "seconds");
        assert_eq!(option(1, 1.0, 2), "memory");
    }
}
