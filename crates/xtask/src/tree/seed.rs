//! The files that cargo built of the repository, taken over for its copy.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::Path;

/// The extensions of the files that are needed of the crates that others are built on; tests and
/// programs are not.
const LIBRARIES: &[&str] = &["rlib", "rmeta", "so", "dylib", "d"];

/// Copies the libraries of the build in `from` to `to`, dates included: cargo compares them with
/// those of the sources, which must have kept theirs.
pub(super) fn seed(from: &Path, to: &Path) -> io::Result<()> {
    let (from, to) = (from.join("debug"), to.join("debug"));
    if !from.is_dir() {
        return Ok(());
    }
    // Cargo writes a fingerprint last: what has one is whole.
    for folder in [".fingerprint", "build"] {
        copy_all(&from.join(folder), &to.join(folder), &|_| true)?;
    }
    let library = |path: &Path| {
        path.extension().and_then(OsStr::to_str).is_some_and(|e| LIBRARIES.contains(&e))
    };
    copy_all(&from.join("deps"), &to.join("deps"), &library)
}

fn copy_all(from: &Path, to: &Path, wanted: &dyn Fn(&Path) -> bool) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let place = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            copy_all(&path, &place, wanted)?;
        } else if wanted(&path) {
            copy(&path, &place)?;
        }
    }
    Ok(())
}

/// Copies a file, its date included.
pub(super) fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::copy(from, to)?;
    File::options().append(true).open(to)?.set_modified(fs::metadata(from)?.modified()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, SystemTime};

    #[test]
    fn libraries_keep_their_dates_and_tests_stay_behind() {
        let root = tempfile::tempdir().unwrap();
        let (from, to) = (root.path().join("from"), root.path().join("to"));
        let old = SystemTime::now() - Duration::from_secs(1000);
        for name in [
            "debug/.fingerprint/a/lib-a",
            "debug/build/b/out/x",
            "debug/deps/a.rlib",
            "debug/deps/test",
        ] {
            let path = from.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, name).unwrap();
            File::options().append(true).open(&path).unwrap().set_modified(old).unwrap();
        }
        seed(&from, &to).unwrap();
        for name in ["debug/.fingerprint/a/lib-a", "debug/build/b/out/x", "debug/deps/a.rlib"] {
            assert_eq!(fs::read_to_string(to.join(name)).unwrap(), name);
            assert_eq!(fs::metadata(to.join(name)).unwrap().modified().unwrap(), old);
        }
        assert!(!to.join("debug/deps/test").exists());
        assert!(seed(&root.path().join("nothing"), &to).is_ok());
    }
}
