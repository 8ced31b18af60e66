//! Modules in layers: those of a crate, or of a folder, import each other in no circle.
//!
//! A module uses another if it names something of it by a path, in a `use` or in its code, tests aside. `mod`
//! and `pub use` alone are no use: a folder may show what its files have. A name that a module shows counts as
//! one of the module that it comes from, also where the one that shows it says it. So the files of a folder may
//! use what its `mod.rs` defines as long as that uses none of them.

use std::collections::{BTreeMap, BTreeSet};

use crate::source;

/// Where it holds: all modules at or below these places.
const LAYERED: &[&str] = &[
    "crates/frontend/src",
    "crates/ot/src",
    "crates/pool/src",
    "crates/program/src",
    "crates/testkit/src/cheater/jimu",
];

/// The names on the way to a module from the root of its crate.
type Path = Vec<String>;

/// Breaches in these [`files`](source::files).
pub(crate) fn check(files: &[(String, String)]) -> Vec<String> {
    let circle = |place: &&str| {
        let krate = place.split_inclusive('/').take(3).collect::<String>();
        let modules = Modules::read(&krate, files);
        let circle = modules.circle(&place_of(&krate, place))?;
        let names: Vec<String> = circle.iter().map(|path| path.join("::")).collect();
        Some(format!("{place}: modules import each other in a circle: {}", names.join(" -> ")))
    };
    LAYERED.iter().filter_map(circle).collect()
}

/// The path of the module in a file or a folder, given the `src` of its crate.
fn place_of(krate: &str, file: &str) -> Path {
    let inside = file.strip_prefix(krate).unwrap_or_default().trim_matches('/');
    let names = inside.trim_end_matches(".rs").split('/').filter(|name| !name.is_empty());
    let mut path: Path = names.map(str::to_owned).collect();
    if path.last().is_some_and(|name| ["mod", "lib", "main"].contains(&name.as_str())) {
        path.pop();
    }
    path
}

/// The modules of a crate.
struct Modules(BTreeMap<Path, Module>);

#[derive(Default)]
struct Module {
    /// Paths that it names.
    uses: BTreeSet<Path>,
    /// Names that it shows, and where they come from.
    shows: BTreeMap<String, Path>,
}

impl Modules {
    fn read(krate: &str, files: &[(String, String)]) -> Modules {
        let own = files.iter().filter(|(path, _)| path.starts_with(krate));
        let texts: BTreeMap<Path, Vec<String>> = own
            .map(|(path, text)| (place_of(krate, path), tokens(source::without_tests(text))))
            .collect();
        let is_test = |path: &Path| path.iter().any(|name| name.starts_with("test"));
        let known: BTreeSet<&Path> = texts.keys().filter(|path| !is_test(path)).collect();
        let module = |path: &&Path| ((*path).clone(), Module::read(path, &texts[*path], &known));
        Modules(known.iter().map(module).collect())
    }

    /// The module that something comes from.
    fn home(&self, path: &Path) -> Option<&Path> {
        let mut path = path.clone();
        // A name goes through the hands of a few modules at most.
        for _ in 0..8 {
            let prefixes = (0..=path.len()).rev().map(|end| &path[..end]);
            let (home, module) = prefixes.filter_map(|p| self.0.get_key_value(p)).next()?;
            match path.get(home.len()).and_then(|name| module.shows.get(name)) {
                Some(from) => path = from.iter().chain(&path[home.len() + 1..]).cloned().collect(),
                None => return Some(home),
            }
        }
        None
    }

    /// A circle of modules below `place`, if there is one; the first is the last as well.
    fn circle(&self, place: &Path) -> Option<Vec<&Path>> {
        let mut done = BTreeSet::new();
        let mut way = Vec::new();
        let mut inside = self.0.keys().filter(|path| path.starts_with(place));
        inside.find_map(|from| self.walk(from, place, &mut way, &mut done))
    }

    fn walk<'m>(
        &'m self,
        at: &'m Path,
        place: &Path,
        way: &mut Vec<&'m Path>,
        done: &mut BTreeSet<&'m Path>,
    ) -> Option<Vec<&'m Path>> {
        if let Some(start) = way.iter().position(|path| *path == at) {
            return Some(way[start..].iter().copied().chain([at]).collect());
        }
        if !at.starts_with(place) || !done.insert(at) {
            return None;
        }
        way.push(at);
        let homes: BTreeSet<&Path> =
            self.0[at].uses.iter().filter_map(|path| self.home(path)).collect();
        let others = homes.into_iter().filter(|home| *home != at);
        let found = others.into_iter().find_map(|home| self.walk(home, place, way, done));
        way.pop();
        found
    }
}

impl Module {
    fn read(path: &Path, tokens: &[String], known: &BTreeSet<&Path>) -> Module {
        let mut module = Module::default();
        let mut shown: BTreeMap<String, Path> = BTreeMap::new();
        let mut said = BTreeSet::new();
        let mut at = 0;
        while at < tokens.len() {
            let is_start = at == 0 || tokens[at - 1] != "::";
            if tokens[at] == "use" {
                let is_public = at > 0 && ["pub", ")"].contains(&tokens[at - 1].as_str());
                let mut names = Vec::new();
                at = tree(tokens, at + 1, &Vec::new(), &mut names);
                for (name, full) in names {
                    let Some(full) = absolute(path, &full, known) else { continue };
                    if is_public {
                        shown.insert(name, full);
                    } else {
                        module.uses.insert(full);
                    }
                }
            } else if is_start && tokens.get(at + 1).is_some_and(|next| next == "::") {
                let end = (at..).step_by(2).find(|i| tokens.get(i + 1).is_none_or(|t| t != "::"));
                let names = tokens[at..].iter().take(end.unwrap_or(at) - at + 1).step_by(2);
                module.uses.extend(absolute(path, &names.cloned().collect(), known));
            }
            // A declaration is no use, and a module may have the name of what it shows.
            if is_start && tokens[at.saturating_sub(1)] != "mod" {
                said.extend(tokens.get(at).cloned());
            }
            at += 1;
        }
        let own = shown.iter().filter(|(name, _)| said.contains(*name));
        module.uses.extend(own.map(|(_, from)| from.clone()));
        module.shows = shown;
        module
    }
}

/// Reads the tree of a `use` from `at` on: each name with its path. Returns where it ends.
fn tree(tokens: &[String], mut at: usize, before: &Path, out: &mut Vec<(String, Path)>) -> usize {
    let mut path = before.clone();
    while let Some(token) = tokens.get(at).map(String::as_str) {
        match token {
            "{" => loop {
                at = tree(tokens, at + 1, &path, out);
                if tokens.get(at).is_none_or(|token| token != ",") {
                    break;
                }
            },
            "as" => {
                out.extend(tokens.get(at + 1).map(|name| (name.clone(), path.clone())));
                path.clear();
                at += 1;
            }
            "," | "}" | ";" => {
                let is_leaf = path.len() > before.len();
                let name = path.last().filter(|_| is_leaf && tokens[at - 1] != "}").cloned();
                out.extend(name.map(|name| (name, path)));
                // The brace that closes a tree belongs to the tree around it.
                return at;
            }
            "::" => {}
            name => path.push(name.to_owned()),
        }
        at += 1;
    }
    at
}

/// A path from the root of the crate; `None` if it starts elsewhere.
fn absolute(module: &Path, path: &Path, known: &BTreeSet<&Path>) -> Option<Path> {
    let below = |base: &[String], rest: &[String]| [base, rest].concat();
    let ups = path.iter().take_while(|name| *name == "super").count();
    match path.first()?.as_str() {
        "crate" => Some(path[1..].to_vec()),
        "self" => Some(below(module, &path[1..])),
        "super" => Some(below(&module[..module.len().checked_sub(ups)?], &path[ups..])),
        child => {
            let child = below(module, &[child.to_owned()]);
            known.contains(&child).then(|| below(module, path))
        }
    }
}

/// Names, `::` and punctuation.
fn tokens(text: &str) -> Vec<String> {
    let code = source::strip(&text.lines().collect::<Vec<_>>()).join("\n");
    let mut tokens = Vec::new();
    let mut rest = code.trim_start();
    while let Some(first) = rest.chars().next() {
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let end = match first {
            _ if is_name(first) => rest.find(|c| !is_name(c)).unwrap_or(rest.len()),
            _ if rest.starts_with("::") => 2,
            _ => first.len_utf8(),
        };
        tokens.push(rest[..end].to_owned());
        rest = rest[end..].trim_start();
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circle(files: &[(&str, &str)]) -> Option<String> {
        let files: Vec<(String, String)> = files
            .iter()
            .map(|(path, text)| (format!("crates/x/src/{path}"), (*text).to_owned()))
            .collect();
        let modules = Modules::read("crates/x/src/", &files);
        let circle = modules.circle(&Vec::new())?;
        Some(circle.iter().map(|path| path.join("::")).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn modules_that_use_each_other_are_a_circle() {
        let (a, b) = ("use crate::b::{C, D};\n", "fn f() {\n    crate::a::g();\n}\n");
        assert_eq!(circle(&[("a.rs", a), ("b.rs", b)]).as_deref(), Some("a b a"));
        assert_eq!(circle(&[("a.rs", a), ("b.rs", "// crate::a\n")]), None);
        let tested = "\n#[cfg(test)]\nmod tests {\n    use crate::a::G;\n}\n";
        assert_eq!(circle(&[("a.rs", a), ("b.rs", tested)]), None);
        let long = [("a.rs", a), ("b.rs", "use {super::c::{self, E as F}};\n"), ("c.rs", b)];
        assert_eq!(circle(&long).as_deref(), Some("a b c a"));
    }

    #[test]
    fn a_folder_may_show_its_files_or_serve_them() {
        let child = ("a/b.rs", "use super::{Top, c::Other};\n");
        let other = ("a/c.rs", "");
        let shows = "mod b;\npub use b::{Thing, b};\npub(crate) struct Top;\n";
        assert_eq!(circle(&[("a/mod.rs", shows), child, other]), None);
        for uses in ["fn f(thing: Thing) {}\n", "fn f() {\n    b::g();\n}\n", "use self::b::G;\n"] {
            let text = format!("{shows}{uses}");
            assert_eq!(
                circle(&[("a.rs", &text), child, other]).as_deref(),
                Some("a a::b a"),
                "{uses}"
            );
        }
    }

    #[test]
    fn a_name_counts_where_it_comes_from() {
        let root = ("lib.rs", "mod a;\nmod b;\npub use a::A;\npub use b::{B, C as D};\n");
        let a = ("a.rs", "use crate::D;\n");
        assert_eq!(circle(&[root, a, ("b.rs", "")]), None);
        assert_eq!(circle(&[root, a, ("b.rs", "use crate::A;\n")]).as_deref(), Some("a b a"));
    }

    #[test]
    fn places_are_modules() {
        let place = |file: &str| place_of("crates/x/src/", file).join("::");
        assert_eq!(place("crates/x/src"), "");
        assert_eq!(place("crates/x/src/lib.rs"), "");
        assert_eq!(place("crates/x/src/a/mod.rs"), "a");
        assert_eq!(place("crates/x/src/a/b.rs"), "a::b");
    }
}
