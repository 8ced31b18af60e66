//! The output for people: lines as things happen. With `--json` nothing but the reply at the end.

use std::io::{self, Write};
use std::time::Duration;

use cenote_pool::params::shown_log2;
use indicatif::ProgressBar;

use super::jobs::{Answer, Group};
use super::scenario::{CheatOutcome, Issuer, Outcome, PoolOutcome, SessionOutcome, Step};
use crate::output::Format;

/// Width of the left answer.
const COLUMN: usize = 46;

/// Prints, or does not.
pub(crate) struct Screen {
    format: Format,
    quarters: Vec<String>,
    headed: bool,
}

impl Screen {
    /// A screen that names the quarters so.
    pub(crate) fn new(format: Format, quarters: &[String]) -> Screen {
        Screen { format, quarters: quarters.to_vec(), headed: false }
    }

    fn say(&self, text: &str) {
        if self.format == Format::Human {
            // When the reader went away there is nobody to tell.
            let _ = writeln!(io::stdout().lock(), "{text}");
        }
    }

    pub(crate) fn issuers(&self, issuers: &[Issuer]) {
        self.say("Two card issuers, two servers, each with its own table\n");
        for Issuer { name, rows, process, fingerprint } in issuers {
            let rows = grouped(*rows as u64);
            let short: String = fingerprint.chars().take(23).collect();
            self.say(&format!(
                "  {name}   {rows} customers   process {process}   certificate {short}..."
            ));
        }
    }

    pub(crate) fn session(&self, session: &SessionOutcome) {
        let promise = &session.promise;
        let id: String = session.id.chars().take(8).collect();
        self.say(&format!(
            "  paired, mutual TLS 1.3 on loopback; session {id} open in {}, {}",
            seconds(session.setup_s),
            bytes(session.setup_bytes),
        ));
        self.say(&format!(
            "  backend {}: {} security with abort, peer: {}, kappa {}, epsilon {}, {}audited",
            promise.backend,
            promise.adversary,
            promise.peer,
            promise.kappa,
            bound(promise.epsilon_log2.unwrap_or(0.0)),
            if promise.audited { "" } else { "not " },
        ));
    }

    pub(crate) fn pool(&self, pool: &PoolOutcome) {
        self.say(&format!(
            "  pool: {} leaky ANDs in {}; {} triples ready in {}; {}",
            grouped(pool.capacity),
            seconds(pool.fill_s),
            grouped(pool.triples_ready),
            seconds(pool.ready_s),
            bytes(pool.bytes),
        ));
    }

    /// A spinner until an answer is there.
    pub(crate) fn waiting(&self, title: &str) -> ProgressBar {
        if self.format == Format::Json {
            return ProgressBar::hidden();
        }
        let spinner = ProgressBar::new_spinner().with_message(title.to_owned());
        spinner.enable_steady_tick(Duration::from_millis(100));
        spinner
    }

    pub(crate) fn act(&mut self, number: usize, act: &Step) {
        if !self.headed {
            self.headed = true;
            self.say(&row(
                "\n #",
                "request",
                ["to", "ANDs", "bytes", "latency", "pool", "epsilon"],
            ));
        }
        self.say(&row(
            &format!("{number:2}"),
            act.title,
            [
                act.receivers,
                &grouped(act.ands),
                &bytes(act.bytes),
                &seconds(act.latency_s),
                &grouped(act.pool_level),
                &bound(act.epsilon_log2),
            ],
        ));
        let nothing = || vec!["nothing".to_owned()];
        let secure = act.result.as_ref().map_or_else(nothing, |answer| self.lines(answer));
        let clear = self.lines(&act.oracle);
        for i in 0..secure.len().max(clear.len()) {
            let line = |lines: &[String]| lines.get(i).cloned().unwrap_or_default();
            let (secure, clear) = (line(&secure), line(&clear));
            self.say(&format!("     secure  {secure:COLUMN$}  clear  {clear}"));
        }
        let verdict = if act.equal { "equal" } else { "DIFFERENT" };
        let refill = match act.refill_s {
            refill if refill > 0.0005 => format!("; {} of it waited for the pool", seconds(refill)),
            _ => String::new(),
        };
        self.say(&format!("     {verdict}; {} rounds{refill}\n", grouped(act.rounds)));
    }

    fn lines(&self, answer: &Answer) -> Vec<String> {
        match answer {
            Answer::Total(group) => vec![shown(group)],
            Answer::Quarters(groups) => {
                let lines = groups.iter().zip(&self.quarters).map(|(group, quarter)| {
                    let group = group.as_ref().map_or_else(|| "< 10 customers".into(), shown);
                    format!("{quarter}: {group}")
                });
                lines.collect()
            }
            Answer::Ranks(ranks) => {
                // Fewer shared customers than ranks: the rest is 0.
                let some: Vec<String> =
                    ranks.iter().filter(|rank| **rank != 0).map(u32::to_string).collect();
                match some.is_empty() {
                    true => vec!["no shared customer".to_owned()],
                    false => some.chunks(5).map(|five| five.join(" > ")).collect(),
                }
            }
            Answer::Block(hex) => vec![hex.clone()],
            Answer::Cents(cents) => vec![dollars(*cents)],
        }
    }

    pub(crate) fn cheat(&self, cheat: &CheatOutcome) {
        self.say(&format!("A session in which issuer B cheats: {}", cheat.what));
        self.say(&format!("     A's log: {}", cheat.a_says));
        self.say(&format!("     B's log: {}", cheat.b_says));
        self.say(if cheat.caught {
            "     caught; nobody obtained a result, and both servers go on"
        } else {
            "     NOT CAUGHT"
        });
        let answer = cheat.after.result.as_ref().map(|answer| self.lines(answer).join(" "));
        self.say(&format!(
            "     the next session, same processes: {} {}\n",
            answer.unwrap_or_default(),
            if cheat.after.equal { "(equal)" } else { "(DIFFERENT)" },
        ));
    }

    /// The last words.
    pub(crate) fn summary(&self, outcome: &Outcome) -> String {
        let sum = |of: fn(&Step) -> u64| outcome.requests.iter().map(of).sum::<u64>();
        format!(
            "{} requests over one session and one pool: {} ANDs, {}, {} in all.\n\
             Every result equals the clear oracle; the bound {} holds for all of them together.",
            outcome.requests.len(),
            grouped(sum(|act| act.ands)),
            bytes(sum(|act| act.bytes)),
            seconds(outcome.wall_s),
            bound(outcome.session.promise.epsilon_log2.unwrap_or(0.0)),
        )
    }
}

/// A bound on errors, which is never shown better than it is.
fn bound(log2: f64) -> String {
    format!("2^{}", shown_log2(log2, 1))
}

fn row(number: &str, title: &str, columns: [&str; 6]) -> String {
    let [to, ands, bytes, latency, pool, epsilon] = columns;
    format!("{number} {title:52} {to:>6} {ands:>10} {bytes:>9} {latency:>8} {pool:>8} {epsilon:>7}")
}

fn shown(group: &Group) -> String {
    format!("{} customers, {}", grouped(group.customers), dollars(group.cents))
}

fn dollars(cents: u64) -> String {
    format!("${}.{:02}", grouped(cents / 100), cents % 100)
}

/// A number with a comma before each three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn seconds(seconds: f64) -> String {
    match seconds {
        s if s < 0.01 => format!("{:.1} ms", s * 1e3),
        s if s < 1.0 => format!("{:.0} ms", s * 1e3),
        s => format!("{s:.2} s"),
    }
}

fn bytes(bytes: u64) -> String {
    match bytes {
        b if b < 1_000_000 => format!("{:.1} kB", b as f64 / 1e3),
        b if b < 1_000_000_000 => format!("{:.1} MB", b as f64 / 1e6),
        b => format!("{:.2} GB", b as f64 / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_000), "1,000");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(dollars(100_005), "$1,000.05");
        assert_eq!(seconds(0.0042), "4.2 ms");
        assert_eq!(seconds(2.5), "2.50 s");
        assert_eq!(bytes(1_500), "1.5 kB");
    }
}
