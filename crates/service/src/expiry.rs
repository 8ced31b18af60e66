//! When the certificates of both sides are meant to end: said in the log in time, and shown in the figures.
//!
//! A session opens whatever the dates say, for certificates are pinned (`cenote_net`): an owner who gave a certificate an end is told,
//! nothing stops by itself. Certificates that `cenote init` makes end in the year 4096.

use std::time::{Duration, UNIX_EPOCH};

use cenote_net::{PeerCertificate, Validity};

/// How long before its end a certificate is spoken of.
pub const WARNS: Duration = Duration::from_secs(30 * DAY);
/// Seconds between two words of it in the log.
const DAY: u64 = 86_400;

/// The ends of both certificates; none of one that does not say it in a known form.
#[derive(Clone, Copy, Debug)]
pub struct Expiry {
    own: Option<Validity>,
    peer: Option<Validity>,
}

impl Expiry {
    /// Of these two.
    pub(crate) fn of(own: &PeerCertificate, peer: &PeerCertificate) -> Expiry {
        let read = |whose, certificate: &PeerCertificate| {
            let read = certificate.validity();
            read.inspect_err(|fault| tracing::warn!(whose, %fault, "no validity")).ok()
        };
        Expiry { own: read("own", own), peer: read("peer", peer) }
    }

    /// Seconds from now to the end of each, below zero after it; with whose it is, `own` or `peer`.
    #[must_use]
    pub fn left(&self) -> Vec<(&'static str, i64)> {
        self.left_at(now())
    }

    fn left_at(&self, now: i64) -> Vec<(&'static str, i64)> {
        let both = [("own", self.own), ("peer", self.peer)];
        let left = |(whose, validity): (_, Option<Validity>)| {
            validity.map(|validity| (whose, validity.not_after.saturating_sub(now)))
        };
        both.into_iter().filter_map(left).collect()
    }
}

/// Seconds since 1970; 0 on a clock that stands before that.
#[must_use]
pub fn now() -> i64 {
    let since = crate::clock::wall().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

/// Whether so few seconds are left that it is spoken of.
#[must_use]
pub fn is_near(left: i64) -> bool {
    left < i64::try_from(WARNS.as_secs()).unwrap_or(i64::MAX)
}

/// Speaks of certificates that end soon: at once, then once a day.
pub(crate) struct Reminder {
    expiry: Expiry,
    next: i64,
}

impl Reminder {
    pub(crate) const fn new(expiry: Expiry) -> Reminder {
        Reminder { expiry, next: i64::MIN }
    }

    /// Warns if it is time to.
    pub(crate) fn look(&mut self) {
        for (whose, left) in self.due(now()) {
            let days = left.div_euclid(DAY as i64);
            if left > 0 {
                tracing::warn!(
                    whose,
                    days,
                    "a certificate ends soon: make another identity, and pair again"
                );
            } else {
                tracing::warn!(
                    whose,
                    days,
                    "a certificate has ended; sessions open all the same: make another identity, and pair again"
                );
            }
        }
    }

    /// What is to be spoken of at this time.
    fn due(&mut self, now: i64) -> Vec<(&'static str, i64)> {
        if now < self.next {
            return Vec::new();
        }
        self.next = now.saturating_add(DAY as i64);
        let mut all = self.expiry.left_at(now);
        all.retain(|(_, left)| is_near(*left));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_spoken_of_once_a_day_from_30_days_before() {
        let day = DAY as i64;
        let ends = |not_after| Some(Validity { not_before: 0, not_after });
        let mut reminder = Reminder::new(Expiry { own: ends(100 * day), peer: ends(i64::MAX) });
        assert_eq!(reminder.due(70 * day), []);
        // It looked at that time, so not again before a day has gone.
        assert_eq!(reminder.due(70 * day + 1), []);
        assert_eq!(reminder.due(71 * day), [("own", 29 * day)]);
        assert_eq!(reminder.due(71 * day + 1), []);
        assert_eq!(reminder.due(101 * day), [("own", -day)]);
        let none = Expiry { own: None, peer: ends(7) };
        assert_eq!(none.left_at(10), [("peer", -3)]);
    }
}
