//! The machine: its clock, processor and disk.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::process::{Command, Stdio};

use cenote_prim::simd::{self, Level};
use cenote_service::expiry;
use serde_json::{Value, json};

use super::super::shown::when;
use super::{Place, Report};

/// 2026-01-01: this program is not older, so no clock that is right stands before it.
const YOUNGEST: i64 = 1_767_225_600;
/// Seconds by which a line of the audit log may lie ahead.
const AHEAD: i64 = 60;
/// Longest line of an audit log, of which the last is looked for.
const LAST: u64 = 1 << 20;
/// Bytes that should be free, and without which nothing works for long.
const ROOM: u64 = 1_000_000_000;
const NO_ROOM: u64 = 50_000_000;

/// File systems, by their magic numbers (statfs(2)), on which a service should not lie, and why.
const UNSUITABLE: [(u64, &str, &str); 6] = [
    (0x0102_1994, "tmpfs", "all is lost at a restart of the machine"),
    (0x8584_58f6, "ramfs", "all is lost at a restart of the machine"),
    (0x794c_7630, "overlayfs", "all is lost with the container"),
    (0x6969, "NFS", "stores that were put back are not told apart by such a file system"),
    (0xff53_4d42, "CIFS", "stores that were put back are not told apart by such a file system"),
    (0xfe53_4d42, "SMB", "stores that were put back are not told apart by such a file system"),
];

pub(super) fn check(place: &Place<'_>, report: &mut Report) {
    clock(place, report);
    processor(report);
    disk(place.dir, report);
}

fn clock(place: &Place<'_>, report: &mut Report) {
    let (name, now) = ("clock", expiry::now());
    let text = |seconds: i64| when(&json!(seconds * 1000)).as_str().unwrap_or_default().to_owned();
    let shown = text(now);
    let remedy = "set it, by NTP for good: periods and ends of approvals go by it";
    if now < YOUNGEST || place.not_before.is_some_and(|begins| now < begins) {
        let found = format!("it says {shown}, before this program or the own certificate was made");
        return report.bad(name, found, remedy);
    }
    // As `when` has it, in which later is also later as text.
    let last = last_time(&place.dir.join("audit.log"));
    if let Some(last) = last.filter(|last| *last > text(now + AHEAD)) {
        let found = format!("it says {shown}, but the last line of audit.log is of {last}");
        return report.bad(name, found, remedy);
    }
    match is_synchronised() {
        Some(false) => {
            let found = format!("it says {shown}, and follows no other (timedatectl)");
            report.warning(name, found, "let it follow NTP: `timedatectl set-ntp true`");
        }
        Some(true) => report.ok(name, format!("{shown}, by NTP")),
        None => report.ok(name, format!("{shown}; whether NTP keeps it is not known")),
    }
}

/// The time of the last line of an audit log, as [`when`] writes times.
fn last_time(log: &Path) -> Option<String> {
    let mut file = File::open(log).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(LAST))).ok()?;
    let mut bytes = Vec::new();
    file.take(LAST).read_to_end(&mut bytes).ok()?;
    let lines = bytes.split(|byte| *byte == b'\n').rev();
    let line = lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok()).next()?;
    let (date, clock) = line["time"].as_str()?.split_once('T')?;
    Some(format!("{date} {}Z", clock.get(..8)?))
}

/// Whether the clock follows others, as systemd knows it; none where there is no systemd.
fn is_synchronised() -> Option<bool> {
    let mut command = Command::new("timedatectl");
    command.args(["show", "--property=NTPSynchronized", "--value"]).stdin(Stdio::null());
    let output = command.output().ok().filter(|output| output.status.success())?;
    match String::from_utf8_lossy(&output.stdout).trim() {
        "yes" => Some(true),
        "no" => Some(false),
        _ => None,
    }
}

fn processor(report: &mut Report) {
    match simd::level() {
        Level::Vaes512 => {
            report.ok("processor", "VAES, VPCLMULQDQ, GFNI and AVX-512: the fastest code is used");
        }
        Level::Aesni => report.ok(
            "processor",
            "AES-NI, PCLMULQDQ and AVX2 are used; with VAES, GFNI and AVX-512 it would be faster",
        ),
        Level::Portable => report.warning(
            "processor",
            "AES-NI, PCLMULQDQ and AVX2 are not all there: portable code is used, with the same results, many times slower",
            "take an x86-64 machine of 2013 or later; of a virtual machine, pass the processor through (cpu=host)",
        ),
    }
}

fn disk(dir: &Path, report: &mut Report) {
    let failed = |error: rustix::io::Errno| format!("{}: {error}", dir.display());
    let remedy = "look at the file system";
    match rustix::fs::statvfs(dir) {
        Ok(found) => {
            let free = found.f_bavail.saturating_mul(found.f_frsize);
            let shown = format!("{:.1} GB free", free as f64 / 1e9);
            let remedy = "make room: what is saved of pools is written beside the old, and a service that cannot write runs no job";
            match free {
                ROOM.. => report.ok("disk", shown),
                NO_ROOM.. => report.warning("disk", shown, remedy),
                _ => report.bad("disk", shown, remedy),
            }
        }
        Err(error) => report.warning("disk", failed(error), remedy),
    }
    match rustix::fs::statfs(dir) {
        Ok(found) => file_system(found.f_type as u64 & 0xffff_ffff, report),
        Err(error) => report.warning("file system", failed(error), remedy),
    }
}

fn file_system(magic: u64, report: &mut Report) {
    match UNSUITABLE.iter().find(|(known, ..)| *known == magic) {
        Some((_, name, why)) => {
            let remedy = "put the directory on a local disk, in a container on a volume";
            report.warning("file system", format!("{name}: {why}"), remedy);
        }
        None => report.ok("file system", "none that forgets"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;

    #[test]
    fn what_forgets_is_said() {
        for (magic, state) in [(0x0102_1994, State::Warning), (0xef53, State::Ok)] {
            let mut report = Report::default();
            file_system(magic, &mut report);
            assert_eq!(report.0[0].state, state, "{magic:x}");
        }
    }

    #[test]
    fn the_last_whole_line_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("audit.log");
        assert_eq!(last_time(&log), None);
        let text = "{\"time\":\"2026-01-02T03:04:05.678Z\"}\n{\"time\":\"2027-01-02T03:04:05.678Z\"}\n{\"ti";
        std::fs::write(&log, text).unwrap();
        assert_eq!(last_time(&log).as_deref(), Some("2027-01-02 03:04:05Z"));
    }
}
