//! Copies of the sources in which something is changed: mutants, a toy backend.

mod seed;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

/// Folders that are no sources where git cannot say so.
const NO_SOURCES: &[&str] = &["target", ".git", ".venv"];

/// One replaced text; it occurs once in its file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Edit {
    pub(crate) file: PathBuf,
    pub(crate) find: String,
    pub(crate) replace: String,
}

/// Files that a copy has with another text than the sources, or beyond them.
pub(crate) type Changes = BTreeMap<PathBuf, String>;

/// A copy of the sources of a repository.
pub(crate) struct Tree {
    place: PathBuf,
    _alone: Option<File>,
}

impl Tree {
    /// The copy `tree` in `folder`, which no other run uses as long as it lives. Beside it is `build` for
    /// what cargo builds of it: with a new copy, the libraries of the repository as far as they go, since
    /// most crates are the same.
    pub(crate) fn scratch(root: &Path, folder: &Path, changes: &Changes) -> Result<Tree, String> {
        let shown = |error| format!("{}: {error}", folder.display());
        let alone = lock(folder).map_err(shown)?;
        let (copy, build) = (folder.join("tree"), folder.join("build"));
        if !copy.exists() {
            renew(&root.join("target"), &build).map_err(shown)?;
        }
        Ok(Tree { _alone: Some(alone), ..Tree::of(root, &copy, changes)? })
    }

    /// Makes the copy at `place`, or brings it up to date. What is the same stays untouched, so
    /// that it need not be built again; in a new copy, files have the dates of the sources.
    pub(crate) fn of(root: &Path, place: &Path, changes: &Changes) -> Result<Tree, String> {
        let (mut files, new) = (sources(root), !place.exists());
        // Below the sources cargo reads their configuration as well, and with flags given twice would build all packages again.
        files.retain(|file| !(place.starts_with(root) && file.starts_with(".cargo")));
        files.extend(changes.keys().cloned());
        let copied = copy_sources(root, place, &files, changes, new)
            .and_then(|()| clear(place, place, &files));
        copied.map_err(|error| format!("{}: {error}", place.display()))?;
        Ok(Tree { place: place.to_owned(), _alone: None })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.place
    }

    /// Runs `step` while `edits` are made.
    pub(crate) fn with<T>(&self, edits: &[Edit], step: impl FnOnce() -> T) -> Result<T, String> {
        let mut before = Vec::new();
        let made = edits.iter().try_for_each(|edit| {
            let path = self.place.join(&edit.file);
            let text = fs::read_to_string(&path).map_err(|error| error.to_string())?;
            let changed = apply(edit, &text)?;
            before.push((path.clone(), text));
            fs::write(&path, changed).map_err(|error| error.to_string())
        });
        let result = made.map(|()| step());
        // In reverse: two edits may be of one file. Writing it anew also tells cargo by its date.
        for (path, text) in before.iter().rev() {
            fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        result
    }
}

/// Waits until no other run uses the folder.
fn lock(folder: &Path) -> io::Result<File> {
    fs::create_dir_all(folder)?;
    let file = File::create(folder.join("lock"))?;
    file.lock()?;
    Ok(file)
}

fn renew(target: &Path, build: &Path) -> io::Result<()> {
    if build.exists() {
        fs::remove_dir_all(build)?;
    }
    seed::seed(target, build)
}

/// The text with the edit made.
pub(crate) fn apply(edit: &Edit, text: &str) -> Result<String, String> {
    let Edit { file, find, replace } = edit;
    match text.matches(find).count() {
        _ if find == replace => Err(format!("{}: replaces a text by itself", file.display())),
        1 => Ok(text.replacen(find, replace, 1)),
        times => Err(format!("{}: {times} times, not once: {find}", file.display())),
    }
}

/// Paths of the sources: what git tracks or would, else all that is there.
fn sources(root: &Path) -> BTreeSet<PathBuf> {
    let list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let output = Command::new("git").args(list).current_dir(root).output();
    let names = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let mut found: BTreeSet<PathBuf> = names
        .iter()
        .flat_map(|names| names.split_terminator('\0'))
        .map(PathBuf::from)
        .filter(|path| root.join(path).is_file())
        .collect();
    // A copy without a repository of its own may lie in another one.
    if !found.contains(Path::new("Cargo.toml")) {
        found.clear();
        walk(root, root, &mut found);
    }
    found
}

fn walk(root: &Path, folder: &Path, found: &mut BTreeSet<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let skipped = NO_SOURCES.iter().any(|name| entry.file_name() == *name);
        if path.is_dir() && !skipped {
            walk(root, &path, found);
        } else if path.is_file() {
            found.extend(path.strip_prefix(root).map(Path::to_path_buf));
        }
    }
}

fn copy_sources(
    root: &Path,
    place: &Path,
    files: &BTreeSet<PathBuf>,
    changes: &Changes,
    new: bool,
) -> io::Result<()> {
    for path in files {
        let (from, to) = (root.join(path), place.join(path));
        fs::create_dir_all(to.parent().unwrap_or(place))?;
        let changed = changes.get(path).map(|text| text.clone().into_bytes());
        let as_it_is = changed.is_none();
        let content = changed.map_or_else(|| fs::read(&from), Ok)?;
        if new && as_it_is {
            seed::copy(&from, &to)?;
        } else if fs::read(&to).ok().is_none_or(|old| old != content) {
            // Dated now: what was built of the copy may be newer than the source.
            fs::write(to, content)?;
        }
    }
    Ok(())
}

/// Removes what is no source any more.
fn clear(place: &Path, folder: &Path, sources: &BTreeSet<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            clear(place, &path, sources)?;
        } else if path.strip_prefix(place).is_ok_and(|path| !sources.contains(path)) {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(find: &str, replace: &str) -> Edit {
        Edit { file: "crates/a.rs".into(), find: find.into(), replace: replace.into() }
    }

    #[test]
    fn an_edit_fits_once_and_changes_something() {
        assert_eq!(apply(&edit("b", "x"), "abc").unwrap(), "axc");
        assert!(apply(&edit("b", "x"), "abcb").unwrap_err().contains("2 times"));
        assert!(apply(&edit("b", "x"), "ac").unwrap_err().contains("0 times"));
        assert!(apply(&edit("b", "b"), "abc").is_err());
    }

    #[test]
    fn the_copy_follows_and_edits_are_undone() {
        let root = tempfile::tempdir().unwrap();
        let source = root.path().join("source");
        let write = |name: &str, text: &str| {
            let path = source.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("Cargo.toml", "");
        write("crates/a.rs", "abc");
        write("crates/old.rs", "");
        write("target/big", "");
        write(".cargo/config.toml", "");
        let place = root.path().join("copy");
        Tree::of(&source, &place, &BTreeMap::new()).unwrap();
        fs::remove_file(source.join("crates/old.rs")).unwrap();
        // As an interrupted run leaves it.
        fs::write(place.join("crates/a.rs"), "xbc").unwrap();
        let tree = Tree::of(&source, &place, &BTreeMap::new()).unwrap();
        let now = || fs::read_to_string(place.join("crates/a.rs")).unwrap();
        assert_eq!(now(), "abc");
        assert!(!place.join("crates/old.rs").exists() && !place.join("target").exists());

        assert_eq!(tree.with(&[edit("a", "x"), edit("xb", "y")], now), Ok("yc".into()));
        assert_eq!(now(), "abc");
        assert!(tree.with(&[edit("a", "x"), edit("z", "y")], now).is_err());
        assert_eq!(now(), "abc");
        assert_eq!(fs::read_to_string(source.join("crates/a.rs")).unwrap(), "abc");

        let changes = [("crates/a.rs", "z"), ("crates/new/b.rs", "b")];
        let changes = changes.map(|(path, text)| (PathBuf::from(path), text.to_owned())).into();
        let added = place.join("crates/new/b.rs");
        for place in [&place, &root.path().join("another copy")] {
            Tree::of(&source, place, &changes).unwrap();
            assert_eq!(fs::read_to_string(place.join("crates/a.rs")).unwrap(), "z");
            assert_eq!(fs::read_to_string(place.join("crates/new/b.rs")).unwrap(), "b");
        }
        let below = source.join("target/copy");
        Tree::of(&source, &below, &BTreeMap::new()).unwrap();
        let is_there = [&place, &below].map(|place| place.join(".cargo/config.toml").exists());
        assert_eq!(is_there, [true, false]);

        let dated = |path: &Path| fs::metadata(path).unwrap().modified().unwrap();
        let made = dated(&added);
        Tree::of(&source, &place, &changes).unwrap();
        assert_eq!(dated(&added), made);
        Tree::of(&source, &place, &BTreeMap::new()).unwrap();
        assert!(now() == "abc" && !added.exists());
    }
}
