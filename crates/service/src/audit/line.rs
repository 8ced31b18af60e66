//! One line of a log: a JSON object, written in one way only, whose last two members are hash and signature.

use std::fmt::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use time::{Date, Month, OffsetDateTime, Time};

use super::{AuditError, Entry, Head, OwnerKey, PublicKey, from_hex};

/// Most bytes of a line.
pub(super) const MAX_LINE: usize = 1 << 20;
/// With which kinds of the log's own begin.
const OWN_KINDS: &str = "log.";
const MAX_KIND: usize = 64;

const VERSION: u32 = 1;
const START: &str = "{\"version\":";
const HASH: &str = ",\"hash\":\"";
const SIGNATURE: &str = "\",\"signature\":\"";
const END: &str = "\"}";
/// Bytes of hash and signature, which end every line.
const TAIL: usize = HASH.len() + 64 + SIGNATURE.len() + 128 + END.len();
/// What an owner signs here ([`OwnerKey::sign`]).
const SIGNED: &str = "audit line";

/// A line without hash and signature, in the order in which it is written.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Body {
    version: u32,
    pub(super) sequence: u64,
    pub(super) time: String,
    pub(super) kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) peer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) job: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) shared: Option<Map<String, Value>>,
    own: Map<String, Value>,
    previous: String,
}

/// A line that was read: well formed, and its hash is the right one.
pub(super) struct Line {
    pub(super) body: Body,
    pub(super) hash: [u8; 32],
    signature: [u8; 64],
}

impl Body {
    /// The line after `head`.
    pub(super) fn after(head: &Head, time: &str, entry: &Entry) -> Body {
        Body {
            version: VERSION,
            sequence: head.sequence + 1,
            time: time.to_owned(),
            kind: entry.kind.clone(),
            peer: entry.peer.clone(),
            job: entry.job.clone(),
            shared: entry.shared.as_ref().map(sorted),
            own: sorted(&entry.own),
            previous: HEXLOWER.encode(&head.hash),
        }
    }

    /// Whether it says that it follows a line with this hash.
    pub(super) fn follows(&self, hash: &[u8; 32]) -> bool {
        self.previous == HEXLOWER.encode(hash)
    }

    /// The one way in which it is written.
    fn text(&self) -> Result<String, String> {
        serde_json::to_string(self).map_err(|error| error.to_string())
    }

    /// What does not fit together.
    fn check(&self) -> Result<(), String> {
        check_kind(&self.kind)?;
        if self.shared.is_some() && self.job.is_none() {
            return Err("it has shared facts, but of no job".into());
        }
        if !is_time(&self.time) {
            return Err("its time is none".into());
        }
        Ok(())
    }
}

impl Line {
    /// Whether the owner of `key` wrote it.
    pub(super) fn is_signed_by(&self, key: &PublicKey) -> bool {
        key.verify(SIGNED, &self.hash, &self.signature)
    }

    /// Reads a line, without what ends it.
    pub(super) fn read(raw: &[u8]) -> Result<Line, String> {
        check_version(raw)?;
        let tail = "it does not end in hash and signature";
        let at = raw.len().checked_sub(TAIL).ok_or(tail)?;
        let (body, end) = raw.split_at(at);
        let (hash, signature) = read_tail(end).ok_or(tail)?;
        let mut text = body.to_vec();
        text.push(b'}');
        if hash_of(&text) != hash {
            return Err("its hash is not that of what it says".into());
        }
        let body: Body = serde_json::from_slice(&text)
            .map_err(|error| format!("it is no line of a log: {error}"))?;
        body.check()?;
        // One way to write each line, so that nobody reads another thing in it: names twice, say.
        let again =
            Body { shared: body.shared.as_ref().map(sorted), own: sorted(&body.own), ..body };
        if again.text()?.as_bytes() != text {
            return Err("it is not written as lines are".into());
        }
        Ok(Line { body: again, hash, signature })
    }
}

/// Appends the line of `body` to `out`, with its end; the head that it makes.
///
/// # Errors
/// [`AuditError::Entry`] if it could not be read again.
pub(super) fn write(body: &Body, key: &OwnerKey, out: &mut Vec<u8>) -> Result<Head, AuditError> {
    let mut text = body.text().map_err(AuditError::entry)?;
    let hash = hash_of(text.as_bytes());
    let signature = HEXLOWER.encode(&key.sign(SIGNED, &hash));
    text.pop();
    let hex = HEXLOWER.encode(&hash);
    // Writing to a string cannot fail.
    let _ = write!(text, "{HASH}{hex}{SIGNATURE}{signature}{END}");
    if text.len() >= MAX_LINE {
        let what =
            format!("its line has {} bytes, {MAX_LINE} are too many: note a digest", text.len());
        return Err(AuditError::Entry { what });
    }
    // A line that cannot be read would be the end of the log.
    Line::read(text.as_bytes()).map_err(AuditError::entry)?;
    out.extend_from_slice(text.as_bytes());
    out.push(b'\n');
    Ok(Head { sequence: body.sequence, hash })
}

/// What is wrong with an entry of somebody else than the log.
pub(super) fn check_entry(entry: &Entry) -> Result<(), AuditError> {
    check_kind(&entry.kind).map_err(AuditError::entry)?;
    if entry.kind.starts_with(OWN_KINDS) {
        return Err(AuditError::entry("kinds that begin with \"log.\" are the log's own"));
    }
    if entry.shared.is_some() && entry.job.is_none() {
        return Err(AuditError::entry("it has shared facts, but of no job: name the job"));
    }
    Ok(())
}

fn check_kind(kind: &str) -> Result<(), String> {
    let allowed =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-".contains(&byte);
    if kind.is_empty() || kind.len() > MAX_KIND || !kind.bytes().all(allowed) {
        return Err(format!("its kind is not 1 to {MAX_KIND} of a-z, 0-9, dot and hyphen"));
    }
    Ok(())
}

fn check_version(raw: &[u8]) -> Result<(), String> {
    let rest = raw.strip_prefix(START.as_bytes()).ok_or("it is no line of a log")?;
    let digits: Vec<u8> = rest.iter().copied().take_while(u8::is_ascii_digit).take(9).collect();
    match String::from_utf8_lossy(&digits).parse::<u32>() {
        Ok(VERSION) => Ok(()),
        Ok(other) => {
            Err(format!("it has version {other} of the format, this program knows {VERSION}"))
        }
        Err(_) => Err("it is no line of a log".into()),
    }
}

fn read_tail(end: &[u8]) -> Option<([u8; 32], [u8; 64])> {
    let text = std::str::from_utf8(end).ok()?;
    let (hash, signature) = text.strip_prefix(HASH)?.strip_suffix(END)?.split_once(SIGNATURE)?;
    Some((from_hex(hash)?, from_hex(signature)?))
}

fn hash_of(text: &[u8]) -> [u8; 32] {
    blake3::derive_key("cenote 2026 service audit line v1", text)
}

/// With names in order, at any depth. Whether a map is without this depends on how `serde_json` was built.
pub(super) fn sorted(map: &Map<String, Value>) -> Map<String, Value> {
    let mut members: Vec<_> = map.iter().collect();
    members.sort_unstable_by_key(|(name, _)| *name);
    members.into_iter().map(|(name, value)| (name.clone(), sorted_value(value))).collect()
}

fn sorted_value(value: &Value) -> Value {
    match value {
        Value::Object(map) => Value::Object(sorted(map)),
        Value::Array(values) => values.iter().map(sorted_value).collect(),
        other => other.clone(),
    }
}

/// A time as it is written: RFC 3339, UTC, milliseconds. In this form, later is also later as text.
pub(super) fn time_text(time: SystemTime) -> Result<String, AuditError> {
    let nanoseconds = match time.duration_since(UNIX_EPOCH) {
        Ok(since) => i128::try_from(since.as_nanos()),
        Err(before) => i128::try_from(before.duration().as_nanos()).map(|n| -n),
    };
    let nanoseconds = nanoseconds.map_err(|_| AuditError::Clock)?;
    let time =
        OffsetDateTime::from_unix_timestamp_nanos(nanoseconds).map_err(|_| AuditError::Clock)?;
    match time.year() {
        0..=9999 => Ok(shown(time)),
        _ => Err(AuditError::Clock),
    }
}

fn shown(at: OffsetDateTime) -> String {
    let (year, month, day) = (at.year(), u8::from(at.month()), at.day());
    let (hour, minute, second, ms) = at.time().as_hms_milli();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z")
}

/// Whether `text` is a time as [`time_text`] writes it.
fn is_time(text: &str) -> bool {
    let number = |from: usize, to: usize| text.get(from..to)?.parse::<u16>().ok();
    let small = |from: usize, to: usize| u8::try_from(number(from, to)?).ok();
    let read = || {
        let month = Month::try_from(small(5, 7)?).ok()?;
        let date = Date::from_calendar_date(number(0, 4)?.into(), month, small(8, 10)?).ok()?;
        let (hour, minute, second) = (small(11, 13)?, small(14, 16)?, small(17, 19)?);
        let time = Time::from_hms_milli(hour, minute, second, number(20, 23)?).ok()?;
        Some(OffsetDateTime::new_utc(date, time))
    };
    read().is_some_and(|time| shown(time) == text)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn times_are_written_with_all_digits() {
        let at = |ms| time_text(UNIX_EPOCH + Duration::from_millis(ms)).unwrap();
        assert_eq!(at(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(at(1_709_210_096_007), "2024-02-29T12:34:56.007Z");
        assert_eq!(at(253_402_300_799_999), "9999-12-31T23:59:59.999Z");
        let before = time_text(UNIX_EPOCH - Duration::from_millis(1)).unwrap();
        assert_eq!(before, "1969-12-31T23:59:59.999Z");
        let far = UNIX_EPOCH + Duration::from_secs(253_402_300_800);
        assert!(matches!(time_text(far), Err(AuditError::Clock)));
        let ancient = UNIX_EPOCH - Duration::from_secs(70_000_000_000);
        assert!(matches!(time_text(ancient), Err(AuditError::Clock)));
    }

    #[test]
    fn other_forms_of_times_are_none() {
        for text in [
            "",
            "2024-02-30T12:34:56.007Z",
            "2024-02-29T12:34:56.07Z",
            "2024-02-29T12:34:56.007+00:00",
            "2024-02-29 12:34:56.007Z",
            "2024-02-29T12:34:60.007Z",
            "+024-02-29T12:34:56.007Z",
            "2024-02-29T12:34:56.007Z ",
            "2024-02-29T12:34:56.00é",
        ] {
            assert!(!is_time(text), "{text}");
        }
        assert!(is_time("2024-02-29T12:34:56.007Z"));
    }

    proptest! {
        #[test]
        fn every_time_is_read_again_and_later_is_later(a in 0u64..250_000_000_000_000, b in 0u64..250_000_000_000_000) {
            let text = |ms| time_text(UNIX_EPOCH + Duration::from_millis(ms)).unwrap();
            prop_assert!(is_time(&text(a)));
            prop_assert_eq!(a.cmp(&b), text(a).cmp(&text(b)));
        }
    }
}
