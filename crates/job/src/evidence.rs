//! Evidence that the peer has cheated, in a file for the own owner: docs/formats/evidence.md.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

use cenote_engine::Evidence;
use cenote_prim::Secret;
use tempfile::NamedTempFile;

/// Writes evidence to a file that is not there yet, for this user alone; on disk and whole when this returns.
///
/// # Errors
/// Those of the file system; `AlreadyExists`, with the file untouched.
pub fn keep(evidence: &Evidence, file: &Path) -> io::Result<()> {
    let [zero, one] = evidence.labels.each_ref().map(|label| Secret::new(hex(label)));
    // Large enough from the start: growing would leave copies of the labels behind.
    let mut text = String::with_capacity(1 << 10);
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "{{\"version\": 1, \"session\": \"{}\", \"wire\": {}, \"labels\": [\"{}\", \"{}\"]}}",
        hex(&evidence.session),
        evidence.wire,
        *zero,
        *one,
    );
    let text = Secret::new(text);
    let dir = file.parent().filter(|dir| *dir != Path::new("")).unwrap_or(Path::new("."));
    let mut new = NamedTempFile::new_in(dir)?;
    new.write_all(text.as_bytes())?;
    new.as_file().sync_all()?;
    new.persist_noclobber(file).map_err(|error| error.error)?;
    File::open(dir)?.sync_all()
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}
