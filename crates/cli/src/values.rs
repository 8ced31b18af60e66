//! Values given on the command line: numbers by the name of their port, hexadecimal ones by its place,
//! their owners, and files that hold them.

use std::fs;
use std::io::Read;

use cenote_circuit::{HexError, Signature, value_from_hex};
use cenote_engine::{Receivers, Role};
use cenote_job::json::{from_json, is_json};
use cenote_program::{Column, CsvFile, Input, Shape};

use crate::exit::Failure;

/// Most bytes of a file with one hexadecimal value: as many digits as the largest port takes, and a
/// line end.
const MAX_VALUE_FILE: u64 = 4 << 20;
/// Bytes of a row of a file, beside its digits.
const ROW: u64 = 64;
/// How many ports a message names.
const SHOWN: usize = 20;

/// A value and, where they were named, its owner and its port. Values are secrets: `Debug` does not
/// show them.
#[derive(Clone)]
pub(crate) struct Given {
    pub(crate) owner: Option<Role>,
    pub(crate) name: Option<String>,
    pub(crate) text: String,
}

impl Given {
    /// `NAME=VALUE`, `garbler=HEX`, `evaluator=HEX` or `HEX`.
    pub(crate) fn parse(text: &str) -> Result<Given, String> {
        let given = |owner, name: Option<&str>, text: &str| {
            Ok(Given { owner, name: name.map(str::to_owned), text: text.to_owned() })
        };
        // A file's name may have any characters.
        let split = if text.starts_with('@') { None } else { text.split_once('=') };
        match split {
            None => given(None, None, text),
            Some(("garbler", value)) => given(Some(Role::Garbler), None, value),
            Some(("evaluator", value)) => given(Some(Role::Evaluator), None, value),
            Some(("", _)) => Err("write NAME=VALUE, garbler=HEX, evaluator=HEX or HEX".to_owned()),
            Some((name, value)) => given(None, Some(name), value),
        }
    }
}

impl std::fmt::Debug for Given {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Given { owner, name, .. } = self;
        f.debug_struct("Given").field("owner", owner).field("name", name).finish_non_exhaustive()
    }
}

/// An input port as values are read for it.
pub(crate) struct Port {
    pub(crate) name: String,
    pub(crate) bits: usize,
    /// Its kind and shape, where it has any.
    pub(crate) typed: Option<Input>,
}

/// The value itself, or what is in the file that `@FILE` names.
fn content(text: &str, most: u64, holds: &str) -> Result<String, Failure> {
    let Some(name) = text.strip_prefix('@') else { return Ok(text.to_owned()) };
    let failed =
        |what: String| Failure::bad_input(format!("{name}: {what}; give a file with {holds}"));
    let file = fs::File::open(name).map_err(|error| failed(error.to_string()))?;
    let mut content = String::new();
    let read = file.take(most + 1).read_to_string(&mut content);
    match read {
        Ok(n) if n as u64 > most => Err(failed("the file is too long".to_owned())),
        Ok(_) => Ok(content),
        Err(error) => Err(failed(error.to_string())),
    }
}

/// The bits of a hexadecimal value for one port.
fn hex_bits(port: &Port, text: &str) -> Result<Vec<bool>, Failure> {
    let content = content(text, MAX_VALUE_FILE, "one hexadecimal number")?;
    let file = text.strip_prefix('@');
    let digits = if file.is_some() { content.trim() } else { &content };
    value_from_hex(&port.name, port.bits, digits).map_err(|error| {
        let HexError::Digit { position, .. } = &error else {
            let place = file.map_or(String::new(), |file| format!("{file}: "));
            return Failure::bad_input(format!("{place}--input: {error}"));
        };
        let name = &port.name;
        let remedy = match port.typed {
            None => "it is one number of the digits 0 to 9 and a to f".to_owned(),
            Some(_) => format!(
                "a value without a name is one hexadecimal number: write --input {name}=VALUE for its kind"
            ),
        };
        let Some(file) = file else {
            return Failure::bad_input(format!("--input: {error}; {remedy}"));
        };
        let (line, column) = place(&content, digits, *position);
        Failure::bad_input(format!(
            "{file}:{line}:{column}: --input: the value for `{name}` has no hexadecimal digit here; {remedy}"
        ))
    })
}

/// Line and column of byte `position` of `part`, counted from 1, which begins after the blanks of `text`.
fn place(text: &str, part: &str, position: usize) -> (usize, usize) {
    let blanks = text.len() - text.trim_start().len();
    let before = &text.as_bytes()[..(blanks + position.min(part.len() + 1)).saturating_sub(1)];
    let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    (line, String::from_utf8_lossy(&before[start..]).chars().count() + 1)
}

/// The bits of a value that was given by the port's name: numbers of its kind, or hexadecimal where it
/// has none.
fn named_bits(port: &Port, text: &str) -> Result<Vec<bool>, Failure> {
    let Some(typed) = &port.typed else { return hex_bits(port, text) };
    typed.parse(text).map_err(|error| Failure::bad_input(format!("--input {error}")))
}

/// The values, with numbers in place of `NAME=@FILE` and `NAME=JSON`: a file is a column of the port
/// `NAME`, a table with a column for each port `NAME.COLUMN`, or JSON.
pub(crate) fn from_files(ports: &[Port], given: &[Given]) -> Result<Vec<Given>, Failure> {
    let mut values = Vec::new();
    for value in given {
        let file = value.text.strip_prefix('@');
        let name = value.name.as_deref().unwrap_or_default();
        let columns = if name.is_empty() { Vec::new() } else { columns_of(ports, name) };
        match file {
            Some(file) if !columns.is_empty() => values.extend(from_file(name, file, &columns)?),
            None if !columns.is_empty() && is_json(&value.text) => {
                let read = json_values(name, &columns, &value.text);
                values.extend(read.map_err(|what| Failure::bad_input(format!("--input {what}")))?);
            }
            _ => values.push(value.clone()),
        }
    }
    Ok(values)
}

/// The ports with a kind that a name means, each with the name of its column.
fn columns_of<'p>(ports: &'p [Port], name: &str) -> Vec<(&'p Input, &'p str)> {
    let column = |port: &'p Input| match port.name.strip_prefix(name)? {
        "" => Some((port, port.name.as_str())),
        rest => Some((port, rest.strip_prefix('.')?)),
    };
    ports.iter().filter_map(|port| column(port.typed.as_ref()?)).collect()
}

/// The value of one port.
fn given(port: &Input, text: String) -> Given {
    Given { owner: None, name: Some(port.name.clone()), text }
}

/// The values of ports from JSON for the input or record `name`.
fn json_values(name: &str, columns: &[(&Input, &str)], text: &str) -> Result<Vec<Given>, String> {
    let ports: Vec<&Input> = columns.iter().map(|(port, _)| *port).collect();
    let words = from_json(name, &ports, text)?;
    Ok(ports.into_iter().zip(words).map(|(port, words)| given(port, words.join(","))).collect())
}

/// The values of ports from a file for `name`.
fn from_file(name: &str, file: &str, columns: &[(&Input, &str)]) -> Result<Vec<Given>, Failure> {
    let cell = |port: &Input| u64::from(port.shape.width) + ROW;
    let most = columns.iter().map(|(port, _)| cell(port) * (u64::from(port.shape.lanes) + 1)).sum();
    let text = content(&format!("@{file}"), most, "one value a line, or CSV")?;
    if is_json(&text) {
        let read = json_values(name, columns, &text);
        return read.map_err(|what| Failure::bad_input(format!("{file}: --input {what}")));
    }
    if let [(port, _)] = columns
        && port.shape.lanes > 1
        && !text.trim().contains('\n')
    {
        // No column, but a value as it would stand in the arguments.
        return Ok(vec![given(port, text.trim().to_owned())]);
    }
    let wanted = columns.iter().map(|(port, name)| Column {
        name: (*name).to_owned(),
        kind: port.kind,
        width: port.shape.width,
    });
    let read = CsvFile::read(text.as_bytes())
        .and_then(|csv| Ok((csv.columns(&wanted.collect::<Vec<_>>())?, csv.lines().len())));
    let (found, rows) = read.map_err(|error| Failure::bad_input(format!("{file}:{error}")))?;
    let value = |((port, _), bits): (&(&Input, &str), Vec<bool>)| {
        let Shape { lanes, width } = port.shape;
        if rows != lanes as usize {
            let what = format!("{file}: `{}` takes {lanes} rows, the file has {rows}", port.name);
            return Err(Failure::bad_input(what));
        }
        let words = bits.chunks(width as usize).map(|word| port.kind.show_word(word));
        Ok(given(port, words.collect::<Vec<_>>().join(",")))
    };
    columns.iter().zip(found).map(value).collect()
}

/// The value that was given for each of `ports`, by their names or, for the rest, in order.
pub(crate) fn in_order<'g>(
    ports: &[Port],
    given: &'g [Given],
    who: &str,
) -> Result<Vec<&'g Given>, Failure> {
    let mut found: Vec<Option<&Given>> = vec![None; ports.len()];
    for value in given {
        let Some(name) = &value.name else { continue };
        let place = ports.iter().position(|port| port.name == *name).ok_or_else(|| {
            let known: Vec<&str> =
                ports.iter().take(SHOWN).map(|port| port.name.as_str()).collect();
            Failure::bad_input(format!(
                "--input {name}=..: {who} has no input `{name}` to give; inputs: {}",
                known.join(", ")
            ))
        })?;
        if found[place].replace(value).is_some() {
            return Err(Failure::bad_input(format!(
                "--input {name}=..: given twice; give it once"
            )));
        }
    }
    let mut rest = given.iter().filter(|value| value.name.is_none());
    for place in &mut found {
        *place = place.or_else(|| rest.next());
    }
    let missing: Vec<String> = ports
        .iter()
        .zip(&found)
        .filter(|(_, value)| value.is_none())
        .take(SHOWN)
        .map(|(port, _)| format!("--input {}=..", port.name))
        .collect();
    if missing.is_empty() && rest.next().is_none() {
        return Ok(found.into_iter().flatten().collect());
    }
    let (takes, given) = (ports.len(), given.len());
    let remedy = match missing.is_empty() {
        true => "leave the last ones out".to_owned(),
        false => format!("add {}", missing.join(" ")),
    };
    Err(Failure::bad_input(format!("{who} takes {takes} values, {given} were given; {remedy}")))
}

/// The bits of a value for its port.
pub(crate) fn bits(port: &Port, given: &Given) -> Result<Vec<bool>, Failure> {
    match given.name {
        Some(_) => named_bits(port, &given.text),
        None => hex_bits(port, &given.text),
    }
}

/// The bits of one value for each of `ports`.
pub(crate) fn all_bits(
    ports: &[Port],
    given: &[Given],
    who: &str,
) -> Result<Vec<Vec<bool>>, Failure> {
    let given = from_files(ports, given)?;
    let placed = in_order(ports, &given, who)?;
    ports.iter().zip(placed).map(|(port, value)| bits(port, value)).collect()
}

/// The signature with the owners that the request names; those of the file stand.
pub(crate) fn with_owners(
    mut signature: Signature,
    owners: &[Option<Role>],
) -> Result<Signature, Failure> {
    if owners.len() != signature.inputs.len() {
        let (ports, given) = (signature.inputs.len(), owners.len());
        return Err(Failure::bad_input(format!(
            "the circuit has {ports} input ports and {given} were given; give one for each, in port order"
        )));
    }
    for (port, owner) in signature.inputs.iter_mut().zip(owners) {
        if port.owner.is_some() && owner.is_some() && port.owner != *owner {
            return Err(Failure::bad_input(format!(
                "the file gives `{}` to the other party; correct the file or the owner",
                port.name
            )));
        }
        port.owner = port.owner.or(*owner);
    }
    // Ports that are still free take turns; from here on everybody sees the same owners.
    let owners = signature.owners();
    for (port, owner) in signature.inputs.iter_mut().zip(owners) {
        port.owner = Some(owner);
    }
    Ok(signature)
}

/// Who receives outputs whose port names nobody. A request that contradicts the ports file is bad
/// input: who learns what must not be a surprise.
pub(crate) fn receivers(
    signature: &Signature,
    asked: Option<Receivers>,
) -> Result<Receivers, Failure> {
    let mut free = false;
    for port in &signature.outputs {
        match (port.receiver, asked) {
            (None, _) => free = true,
            (Some(named), Some(asked)) if named != asked => {
                return Err(Failure::bad_input(format!(
                    "--reveal-to {}: the file gives `{}` to {}; correct the file or the option",
                    asked.name(),
                    port.name,
                    named.name(),
                )));
            }
            _ => {}
        }
    }
    // Where every port names its receiver, both sides say the same whether or not they repeat it.
    Ok(asked.filter(|_| free).unwrap_or(Receivers::Both))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signature() -> Signature {
        Signature::new().input("a", 1, None).input("b", 1, None).input("c", 1, None)
    }

    #[test]
    fn named_owners_stand_and_the_rest_takes_turns() {
        let named = [None, Some(Role::Garbler), None];
        let owners = with_owners(signature(), &named).map(|s| s.owners()).expect("three ports");
        assert_eq!(owners, [Role::Garbler, Role::Garbler, Role::Evaluator]);
        assert!(with_owners(signature(), &named[..2]).is_err());
    }

    #[test]
    fn a_ports_file_wins_or_the_request_is_refused() {
        let fixed = Signature::new().input("a", 1, Some(Role::Evaluator));
        let same = with_owners(fixed.clone(), &[Some(Role::Evaluator)]).expect("the same owner");
        assert_eq!(same, fixed);
        assert!(with_owners(fixed, &[Some(Role::Garbler)]).is_err());
    }

    #[test]
    fn values_are_not_shown() {
        for text in ["evaluator=c0ffee", "x=c0ffee", "c0ffee"] {
            let value = Given::parse(text).expect("well formed");
            assert_eq!(value.text, "c0ffee");
            assert!(!format!("{value:?}").contains("c0ffee"));
        }
        assert!(Given::parse("=1").is_err());
    }

    #[test]
    fn files_are_named_with_line_and_column() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("value");
        let text = format!("@{}", file.display());
        let port = Port { name: "x".to_owned(), bits: 16, typed: None };
        for (content, said) in [
            ("\n  12g4\n", ":2:5: --input: the value for `x` has no hexadecimal digit here"),
            ("12\n34\n", ":1:3: --input: the value for `x` has no hexadecimal digit here"),
            ("12\r\n", ""),
            (" 0x1é", ":1:5: --input: the value for `x` has no hexadecimal digit here"),
            ("\n", ": --input: the value for `x` is empty; write 0 for zero"),
            ("12345", ": --input: the value for `x` needs 17 bits, the port has 16"),
        ] {
            fs::write(&file, content).expect("writable");
            match hex_bits(&port, &text) {
                Ok(bits) => assert_eq!((bits.len(), said), (16, "")),
                Err(failure) => {
                    let expected = format!("{}{said}", file.display());
                    assert!(!said.is_empty(), "{}", failure.message);
                    assert!(failure.message.starts_with(&expected), "{}", failure.message);
                }
            }
        }
    }

    #[test]
    fn values_go_to_the_ports_they_name_and_the_rest_in_order() {
        let port = |name: &str| Port { name: name.to_owned(), bits: 4, typed: None };
        let ports = [port("a"), port("b"), port("c")];
        let given = |texts: [&str; 3]| texts.map(|text| Given::parse(text).expect("well formed"));
        let bits = |texts| all_bits(&ports, &given(texts), "the program").map_err(|f| f.message);
        assert_eq!(bits(["b=2", "1", "3"]), bits(["1", "2", "3"]));
        assert_eq!(bits(["c=3", "b=2", "a=1"]), bits(["1", "2", "3"]));
        assert!(bits(["d=2", "1", "3"]).is_err_and(|said| said.contains("no input `d`")));
        assert!(bits(["a=2", "a=1", "3"]).is_err_and(|said| said.contains("twice")));
        assert!(all_bits(&ports, &given(["1", "2", "3"])[..2], "it").is_err());
    }
}
