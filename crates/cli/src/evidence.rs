//! Evidence that the peer has cheated: told to the own user alone, kept in a file where one was named.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use cenote_engine::{Backend, Evidence};
use cenote_job::evidence::keep;
use serde::{Deserialize, Serialize};

use crate::args::meaningless;
use crate::exit::Failure;
use crate::output;

/// The part of evidence that results show. Not the labels: their sum opens all wires of the
/// session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Found {
    /// The session, in hexadecimal.
    session: String,
    /// The wire of which this side was given both labels.
    wire: u64,
    /// Where the whole evidence is, if it was written.
    file: Option<PathBuf>,
}

/// Whether evidence of `backend` could be kept in `file`; nothing is written over.
pub(crate) fn check(file: Option<&Path>, backend: Backend) -> Result<(), Failure> {
    let Some(file) = file else { return Ok(()) };
    if !backend.gives_evidence() {
        return Err(meaningless("--evidence", Backend::gives_evidence));
    }
    let place = match file.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    let wrong = match (file.symlink_metadata().is_ok(), place.is_dir()) {
        (true, _) => "exists; name a file that does not",
        (false, false) => "there is no such directory; make it first",
        (false, true) => return writable(file),
    };
    Err(Failure::bad_input(format!("--evidence {}: {wrong}", file.display())))
}

/// Whether `file` can be made: at the end of a job it would be too late to hear that it cannot.
fn writable(file: &Path) -> Result<(), Failure> {
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file);
    made.and_then(|_| std::fs::remove_file(file)).map_err(|error| {
        let file = file.display();
        Failure::bad_input(format!("--evidence {file}: cannot be written ({error}); name another"))
    })
}

/// Tells the user, and keeps the evidence in `file`.
pub(crate) fn report(evidence: &Evidence, file: Option<&Path>) -> Found {
    let session = output::hex(&evidence.session);
    let written = file.map(|file| (file, keep(evidence, file)));
    let kept = match &written {
        Some((file, Ok(()))) => format!("The evidence is in {}; keep it secret.", file.display()),
        Some((file, Err(error))) => format!("The evidence is lost: {}: {error}.", file.display()),
        None => "Without --evidence FILE, the evidence is in the store of this epoch alone, and gone where there is none.".to_owned(),
    };
    output::note(&format!(
        "WARNING: the peer has cheated in session {session}. Both labels of wire {} were output, which \
         only a gate that the peer made wrong does. What came out is right, and the peer does not \
         know that it was found out. End the relation with it. {kept}",
        evidence.wire,
    ));
    let file = written.and_then(|(file, result)| result.is_ok().then(|| file.to_owned()));
    Found { session, wire: evidence.wire, file }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use tempfile::TempDir;

    use super::*;

    fn evidence() -> Evidence {
        Evidence { session: [0xab; 32], wire: 77, labels: [[0x01; 48], [0xfe; 48]] }
    }

    #[test]
    fn labels_are_written_where_asked_for_and_nowhere_else() {
        let dir = TempDir::new().expect("a directory");
        let file = dir.path().join("proof");
        let label = "fe".repeat(48);
        for file in [None, Some(file.as_path())] {
            let found = report(&evidence(), file);
            assert_eq!(
                found,
                Found { session: "ab".repeat(32), wire: 77, file: file.map(Path::to_owned) }
            );
            assert!(!serde_json::to_string(&found).expect("an object").contains(&label));
            assert!(!format!("{found:?}").contains(&label));
        }
        let text = fs::read_to_string(&file).expect("it was written");
        let json: serde_json::Value = serde_json::from_str(&text).expect("an object");
        assert_eq!((&json["version"], &json["wire"]), (&1.into(), &77.into()));
        assert_eq!(json["session"], "ab".repeat(32));
        assert_eq!(
            (&json["labels"][0], &json["labels"][1]),
            (&"01".repeat(48).into(), &label.into())
        );
        let mode = fs::metadata(&file).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn nothing_is_written_over() {
        let dir = TempDir::new().expect("a directory");
        let file = dir.path().join("proof");
        assert!(check(Some(&file), Backend::Jimu).is_ok() && check(None, Backend::Wrk).is_ok());
        assert!(check(Some(&file), Backend::Wrk).is_err());
        assert!(check(Some(&dir.path().join("none").join("proof")), Backend::Jimu).is_err());
        fs::write(&file, "old").expect("writable");
        assert!(check(Some(&file), Backend::Jimu).is_err());
        assert_eq!(report(&evidence(), Some(&file)).file, None);
        assert_eq!(fs::read_to_string(&file).expect("it is there"), "old");
    }
}
