//! When the certificates of both sides are meant to end: said in the log in time, and shown in the figures.
//!
//! A session opens whatever the dates say, for certificates are pinned (`cenote_net`): an owner who gave a certificate an end is told,
//! nothing stops by itself. Certificates that `cenote init` makes for that end in the year 4096. Clients of the API do heed the end of
//! its certificate, which may be replaced at any time, so that its file is read whenever somebody asks.

use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

use cenote_net::{PeerCertificate, Validity};

use crate::config::Config;
use crate::tls::Certificate;

/// How long before its end a certificate is spoken of.
pub const WARNS: Duration = Duration::from_secs(30 * DAY);
/// Seconds between two words of it in the log.
const DAY: u64 = 86_400;

/// The ends of both certificates and the API's; none of one that does not say it in a known form.
#[derive(Clone, Debug)]
pub struct Expiry {
    own: Option<Validity>,
    peer: Option<Validity>,
    /// The API's, where it has TLS.
    api: Option<PathBuf>,
}

impl Expiry {
    /// Of these two, and of the one that the configuration names.
    pub(crate) fn of(own: &PeerCertificate, peer: &PeerCertificate, config: &Config) -> Expiry {
        let read = |whose, certificate: &PeerCertificate| {
            let read = certificate.validity();
            read.inspect_err(|fault| tracing::warn!(whose, %fault, "no validity")).ok()
        };
        let api = config.api_files().map(|(certificate, _)| certificate);
        Expiry { own: read("own", own), peer: read("peer", peer), api }
    }

    /// Seconds from now to the end of each, below zero after it; with whose it is: `own`, `peer` or `api`.
    #[must_use]
    pub fn left(&self) -> Vec<(&'static str, i64)> {
        self.left_at(now())
    }

    fn left_at(&self, now: i64) -> Vec<(&'static str, i64)> {
        let not_after = |validity: Option<Validity>| validity.map(|validity| validity.not_after);
        let api = self.api.as_deref().map(Certificate::ends).and_then(|read| {
            read.inspect_err(|error| tracing::warn!(whose = "api", %error, "no validity")).ok()
        });
        let all = [("own", not_after(self.own)), ("peer", not_after(self.peer)), ("api", api)];
        let left = |(whose, end): (_, Option<i64>)| Some((whose, end?.saturating_sub(now)));
        all.into_iter().filter_map(left).collect()
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
    next: i64,
}

impl Reminder {
    pub(crate) const fn new() -> Reminder {
        Reminder { next: i64::MIN }
    }

    /// Warns if it is time to; the certificates may be others by then.
    pub(crate) fn look(&mut self, expiry: impl Fn() -> Expiry) {
        for (whose, left) in self.due(now(), expiry) {
            let days = left.div_euclid(DAY as i64);
            if whose == "api" {
                tracing::warn!(
                    whose,
                    days,
                    "the certificate of the API ends soon or has ended, and clients refuse it then: put another in its place, or make one by `cenote certificate`"
                );
            } else if left > 0 {
                tracing::warn!(
                    whose,
                    days,
                    "a certificate ends soon: `cenote rotate` makes another"
                );
            } else {
                tracing::warn!(
                    whose,
                    days,
                    "a certificate has ended; sessions open all the same: `cenote rotate` makes another"
                );
            }
        }
    }

    /// What is to be spoken of at this time.
    fn due(&mut self, now: i64, expiry: impl Fn() -> Expiry) -> Vec<(&'static str, i64)> {
        if now < self.next {
            return Vec::new();
        }
        self.next = now.saturating_add(DAY as i64);
        let mut all = expiry().left_at(now);
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
        let expiry = || Expiry { own: ends(100 * day), peer: ends(i64::MAX), api: None };
        let mut reminder = Reminder::new();
        assert_eq!(reminder.due(70 * day, expiry), []);
        // It looked at that time, so not again before a day has gone.
        assert_eq!(reminder.due(70 * day + 1, expiry), []);
        assert_eq!(reminder.due(71 * day, expiry), [("own", 29 * day)]);
        assert_eq!(reminder.due(71 * day + 1, expiry), []);
        assert_eq!(reminder.due(101 * day, expiry), [("own", -day)]);
        let none = Expiry { own: None, peer: ends(7), api: None };
        assert_eq!(none.left_at(10), [("peer", -3)]);
    }
}
