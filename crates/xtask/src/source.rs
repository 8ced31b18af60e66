//! House rules about source files that no compiler lint covers.
//!
//! The scanner knows just enough Rust to leave comments and string literals aside; it relies on
//! `cargo fmt` for the place of closing braces.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Longest source file, in lines, its test module aside.
const MAX_FILE: usize = 800;
/// Longest test file, in lines.
const MAX_TEST_FILE: usize = 1_500;
/// Longest function, in lines, without a reason; a comment `// Long: why` above it allows twice as
/// many.
const MAX_FUNCTION: usize = 60;

/// Crates whose business includes `unsafe` (SIMD).
const UNSAFE_CRATES: &[&str] = &["prim"];
/// Crates that may open a session with randomness of the caller's: a seed used twice gives Delta away.
/// `xtask` opens none, but has the text of a backend.
const SEEDING_CRATES: &[&str] = &["engine", "testkit", "xtask"];
/// Opens one with fresh randomness, again and again, to compare what one thread and what several take.
const PLAYED: &str = "crates/cli/src/bench/threads.rs";
/// Opens such a session of any backend; [`sessions`] are those of each.
const SEEDED: &str = "open_seeded";
/// The list of backends.
const BACKENDS: &str = "crates/engine/src/backends/mod.rs";
/// Crates that are programs and print.
const PROGRAMS: &[&str] = &["cli", "xtask"];
const PRINTS: &[&str] = &["println!", "eprintln!", "print!", "eprint!", "dbg!"];

/// Breaches in the Rust files of [`files`].
pub(crate) fn check(files: &[(String, String)]) -> Vec<String> {
    let list = files.iter().find(|(path, _)| path == BACKENDS);
    let mut seeded = list.map(|(_, text)| sessions(text)).unwrap_or_default();
    seeded.push(SEEDED);
    files.iter().flat_map(|(path, text)| check_file(path, text, &seeded)).collect()
}

/// The sessions in the list of backends: its lines are `Name = folder::Session,`.
fn sessions(list: &str) -> Vec<&str> {
    let lines = list.lines().filter_map(|line| line.strip_suffix(',')?.split_once(" = "));
    let paths = lines.filter_map(|(_, path)| path.split_once("::"));
    paths.map(|(_, session)| session).filter(|session| session.ends_with("Session")).collect()
}

/// All Rust files under `crates`, by their paths in the repository.
///
/// # Errors
/// Fails if something cannot be read.
pub(crate) fn files(root: &Path) -> io::Result<Vec<(String, String)>> {
    let mut paths = Vec::new();
    collect(&root.join("crates"), &mut paths);
    paths.sort();
    let named = |path: PathBuf| {
        let shown = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
        match fs::read_to_string(&path) {
            Ok(text) => Ok((shown, text)),
            Err(error) => Err(io::Error::new(error.kind(), format!("{shown}: {error}"))),
        }
    };
    paths.into_iter().map(named).collect()
}

/// Rust files at or below `path`.
pub(crate) fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    if path.is_file() && path.extension().is_some_and(|e| e == "rs") {
        files.push(path.to_owned());
    }
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        collect(&entry.path(), files);
    }
}

/// Breaches in one file; `path` is relative to the repository and starts with `crates/NAME/`.
fn check_file(path: &str, text: &str, seeded: &[&str]) -> Vec<String> {
    let krate = path.split('/').nth(1).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    let is_test = !path.contains("/src/") || path.ends_with("tests.rs") || path.contains("/tests/");
    let own = if is_test { lines.len() } else { lines_without_tests(&lines) };
    let limit = if is_test { MAX_TEST_FILE } else { MAX_FILE };
    let mut found = Vec::new();
    if own > limit {
        found.push(format!("{path}: {own} lines, at most {limit}"));
    }
    let code = strip(&lines);
    for (number, line) in code.iter().enumerate() {
        let place = format!("{path}:{}", number + 1);
        if has_word(line, "unsafe") {
            found.extend(check_unsafe(krate, &place, &lines, number));
        }
        if !SEEDING_CRATES.contains(&krate)
            && path != PLAYED
            && seeded.iter().any(|word| has_word(line, word))
        {
            found.push(format!("{place}: a session without fresh randomness: use Session::open"));
        }
        if let Some(other) = foreign_backend(path, line) {
            found
                .push(format!("{place}: names the backend {other}: what several need is in parts"));
        }
        if is_test || number >= own {
            continue;
        }
        if !PROGRAMS.contains(&krate) && PRINTS.iter().any(|print| has_call(line, print)) {
            found.push(format!("{place}: a library prints"));
        }
        if line.contains(".unwrap()") {
            found.push(format!(
                "{place}: unwrap: return an error, or expect() with the reason why it cannot fail"
            ));
        }
    }
    found.extend(check_functions(path, &lines[..own], &code[..own]));
    found
}

/// The backend that a line names where it may not: backends do not see each other, and what they share
/// sees none.
fn foreign_backend<'l>(path: &str, line: &'l str) -> Option<&'l str> {
    let inside = path.strip_prefix("crates/engine/src/")?;
    let (folder, rest) = inside.split_once('/')?;
    let own = match folder {
        "backends" => rest.split(['/', '.']).next(),
        "parts" | "cost" => None,
        _ => return None,
    };
    let named = line.split("backends::").nth(1)?;
    let end = named.find(|c: char| !(c.is_ascii_lowercase() || c == '_')).unwrap_or(named.len());
    let name = &named[..end];
    (!name.is_empty() && own != Some(name)).then_some(name)
}

fn check_unsafe(krate: &str, place: &str, lines: &[&str], number: usize) -> Option<String> {
    if !UNSAFE_CRATES.contains(&krate) {
        return Some(format!("{place}: unsafe outside {UNSAFE_CRATES:?}"));
    }
    let opens_block = lines[number].contains("unsafe {") || lines[number].contains("unsafe impl");
    let said = lines[..=number].iter().rev().take(6).any(|line| line.contains("SAFETY:"));
    (opens_block && !said).then(|| format!("{place}: unsafe without a SAFETY: line above"))
}

/// The text before the trailing test module.
pub(crate) fn without_tests(text: &str) -> &str {
    let lines: Vec<&str> = text.lines().collect();
    let tests = lines[..lines_without_tests(&lines)].iter().map(|line| line.len() + 1).sum();
    text.get(..tests).unwrap_or(text)
}

/// Number of lines before the trailing test module.
fn lines_without_tests(lines: &[&str]) -> usize {
    let starts_tests = |pair: &[&str]| {
        pair[0] == "#[cfg(test)]" && pair[1].starts_with("mod ") && pair[1].ends_with('{')
    };
    lines.windows(2).position(starts_tests).unwrap_or(lines.len())
}

fn check_functions(path: &str, lines: &[&str], code: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    for (start, line) in code.iter().enumerate() {
        let indent = line.len() - line.trim_start().len();
        if !starts_function(line.trim_start()) {
            continue;
        }
        let closing = format!("{}}}", &line[..indent]);
        let Some(length) = code[start..].iter().position(|l| *l == closing).map(|end| end + 1)
        else {
            continue;
        };
        // A declaration or a one-line body ends before any closing brace of its own.
        let header_end = code[start..]
            .iter()
            .position(|l| l.ends_with('{') || l.ends_with(';') || l.ends_with('}'));
        if header_end.is_none_or(|end| !code[start + end].ends_with('{')) {
            continue;
        }
        let above = lines[..start].iter().rev().take_while(|l| is_attached(l.trim_start()));
        let limit = if above.clone().any(|l| l.contains("Long:")) {
            2 * MAX_FUNCTION
        } else {
            MAX_FUNCTION
        };
        if length > limit {
            found.push(format!(
                "{path}:{}: a function of {length} lines, at most {limit}",
                start + 1
            ));
        }
    }
    found
}

/// Whether a line above an item belongs to it: comment or attribute.
fn is_attached(line: &str) -> bool {
    line.starts_with("//") || line.starts_with("#[") || line.starts_with(")]")
}

fn starts_function(line: &str) -> bool {
    let mut words = line.split_whitespace();
    words.by_ref().find(|w| !is_qualifier(w)) == Some("fn")
}

fn is_qualifier(word: &str) -> bool {
    word.starts_with("pub") || matches!(word, "const" | "unsafe" | "extern" | "\"\"" | "async")
}

fn has_word(line: &str, word: &str) -> bool {
    line.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|w| w == word)
}

fn has_call(line: &str, call: &str) -> bool {
    line.match_indices(call)
        .any(|(at, _)| !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_'))
}

/// The lines with comments removed and the insides of string literals emptied.
pub(crate) fn strip(lines: &[&str]) -> Vec<String> {
    let mut state = State::Code;
    lines.iter().map(|line| strip_line(line, &mut state)).collect()
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Code,
    Text,
    RawText(usize),
    Comment,
}

fn strip_line(line: &str, state: &mut State) -> String {
    let (mut kept, mut rest) = (String::new(), line);
    while let Some(first) = rest.chars().next() {
        let mut step = first.len_utf8();
        match *state {
            State::Code => match first {
                '/' if rest.starts_with("//") => return kept.trim_end().to_owned(),
                '/' if rest.starts_with("/*") => (*state, step) = (State::Comment, 2),
                '\'' => step = character(rest).inspect(|_| kept.push_str("' '")).unwrap_or(1),
                'r' if raw_text(rest).is_some()
                    && !kept.ends_with(|c: char| c.is_alphanumeric()) =>
                {
                    let hashes = raw_text(rest).unwrap_or(0);
                    kept.push('"');
                    (*state, step) = (State::RawText(hashes), hashes + 2);
                }
                '"' => {
                    kept.push('"');
                    *state = State::Text;
                }
                other => kept.push(other),
            },
            State::Text if first == '\\' => {
                step += rest[1..].chars().next().map_or(0, char::len_utf8)
            }
            State::Text if first == '"' => {
                kept.push('"');
                *state = State::Code;
            }
            State::RawText(hashes)
                if first == '"' && rest[1..].starts_with(&"#".repeat(hashes)) =>
            {
                kept.push('"');
                (*state, step) = (State::Code, 1 + hashes);
            }
            State::Comment if rest.starts_with("*/") => (*state, step) = (State::Code, 2),
            State::Text | State::RawText(_) | State::Comment => {}
        }
        rest = &rest[step..];
    }
    kept.trim_end().to_owned()
}

/// Length of the character literal that `rest` starts with; `None` for a lifetime.
fn character(rest: &str) -> Option<usize> {
    let inside = rest[1..].chars().next()?;
    if inside == '\\' {
        return rest[2..].char_indices().skip(1).find(|(_, c)| *c == '\'').map(|(at, _)| at + 3);
    }
    let end = 1 + inside.len_utf8();
    rest[end..].starts_with('\'').then_some(end + 1)
}

/// Number of hashes of the raw string literal that `rest` starts with.
fn raw_text(rest: &str) -> Option<usize> {
    let hashes = rest[1..].chars().take_while(|c| *c == '#').count();
    rest[1 + hashes..].starts_with('"').then_some(hashes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn breaches(path: &str, text: &str) -> usize {
        check_file(path, text, &[SEEDED, "WrkSession"]).len()
    }

    #[test]
    fn comments_and_literals_are_left_aside() {
        let stripped = |line: &str| strip_line(line, &mut State::Code);
        assert_eq!(stripped("let a = \"// unsafe \\\" x\"; // unsafe"), "let a = \"\";");
        assert_eq!(stripped("let a = r#\"dbg!(\"x\")\"#;"), "let a = \"\";");
        assert_eq!(
            stripped("let q = '\"'; let n = '\\''; let l: &'static str;"),
            "let q = ' '; let n = ' '; let l: &static str;"
        );
        let text = ["a /* unsafe", "unsafe", "*/ b", "\"dbg!", "unsafe\" c"];
        assert_eq!(strip(&text), ["a", "", " b", "\"", "\" c"]);
    }

    #[test]
    fn unsafe_is_for_prim_and_explained() {
        let bare = "fn f() {\n    unsafe { g() }\n}\n";
        let said = "fn f() {\n    // SAFETY: g is fine\n    unsafe { g() }\n}\n";
        assert_eq!(breaches("crates/prim/src/a.rs", said), 0);
        assert_eq!(breaches("crates/prim/src/a.rs", bare), 1);
        assert_eq!(breaches("crates/net/src/a.rs", said), 1);
        assert_eq!(breaches("crates/net/src/a.rs", "// unsafe\n#![forbid(unsafe_code)]\n"), 0);
    }

    #[test]
    fn libraries_do_not_print() {
        assert_eq!(breaches("crates/net/src/a.rs", "fn f() {\n    eprintln!(\"x\");\n}\n"), 1);
        assert_eq!(breaches("crates/cli/src/a.rs", "fn f() {\n    eprintln!(\"x\");\n}\n"), 0);
        assert_eq!(breaches("crates/net/tests/a.rs", "fn f() {\n    eprintln!(\"x\");\n}\n"), 0);
        let in_tests =
            "fn f() {}\n\n#[cfg(test)]\nmod tests {\n    fn g() {\n        println!();\n    }\n}\n";
        assert_eq!(breaches("crates/net/src/a.rs", in_tests), 0);
        assert_eq!(breaches("crates/net/src/a.rs", "fn f() {\n    x().unwrap();\n}\n"), 1);
    }

    #[test]
    fn sessions_of_programs_have_fresh_randomness() {
        let seeded = "fn f() {\n    Session::open_seeded(channel, role, &config, prg);\n}\n";
        assert_eq!(breaches("crates/cli/src/bench/a.rs", seeded), 1);
        assert_eq!(breaches("crates/py/src/a.rs", "use engine::backends::wrk::WrkSession;\n"), 1);
        assert_eq!(breaches("crates/cli/tests/a.rs", seeded), 1);
        assert_eq!(breaches("crates/testkit/src/a.rs", seeded), 0);
        assert_eq!(breaches(PLAYED, seeded), 0);
        assert_eq!(breaches("crates/cli/src/a.rs", "fn f() {\n    Session::open(c, r);\n}\n"), 0);
        let list = fs::read_to_string(crate::repository_root().join(BACKENDS)).unwrap();
        assert_eq!(sessions(&list)[..2], ["PlainSession", "YaoSession"]);
        assert!(sessions(&list).len() >= 4);
    }

    #[test]
    fn long_functions_need_a_reason() {
        let function = |lines: usize, above: &str| {
            format!("{above}pub(crate) fn f(a: u8)\nwhere\n{{\n{}}}\n", "    a;\n".repeat(lines))
        };
        assert_eq!(breaches("crates/net/src/a.rs", &function(50, "")), 0);
        assert_eq!(breaches("crates/net/src/a.rs", &function(60, "")), 1);
        assert_eq!(
            breaches("crates/net/src/a.rs", &function(60, "// Long: one table.\n#[inline]\n")),
            0
        );
        assert_eq!(breaches("crates/net/src/a.rs", &function(120, "// Long: one table.\n")), 1);
        let declaration = format!("trait T {{\n    fn f();\n{}}}\n", "    fn g() {}\n".repeat(70));
        assert_eq!(breaches("crates/net/src/a.rs", &declaration), 0);
    }

    #[test]
    fn long_files_are_refused_their_tests_aside() {
        let body = "const A: u8 = 1;\n".repeat(800);
        assert_eq!(breaches("crates/net/src/a.rs", &body), 0);
        assert_eq!(breaches("crates/net/src/a.rs", &format!("{body}const B: u8 = 1;\n")), 1);
        let tests = format!("{body}#[cfg(test)]\nmod tests {{\n{body}}}\n");
        assert_eq!(breaches("crates/net/src/a.rs", &tests), 0);
    }

    #[test]
    fn backends_see_each_other_nowhere() {
        let line = "use crate::backends::wrk::share::Share;";
        let found = |path: &str| foreign_backend(&format!("crates/engine/src/{path}"), line);
        for own in
            ["backends/wrk/supply.rs", "backends/wrk/mod.rs", "session.rs", "session/tests.rs"]
        {
            assert_eq!(found(own), None, "{own}");
        }
        for other in ["backends/jimu/party.rs", "backends/plain.rs", "parts/coin.rs", "cost/mod.rs"]
        {
            assert_eq!(found(other), Some("wrk"), "{other}");
        }
        let shared = "use crate::backends::{Live, Protocol};";
        assert_eq!(foreign_backend("crates/engine/src/backends/jimu/mod.rs", shared), None);
    }
}
