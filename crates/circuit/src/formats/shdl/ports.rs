//! The ports of an SHDL circuit: from its `.fmt` file, or from comments.

use std::collections::HashMap;

use super::fmt::{self, FmtPort};
use super::{File, Io};
use crate::formats::ParseError;
use crate::formats::error::Source;
use crate::formats::names::{Group, unnamed};
use crate::program::{Receivers, Role};

/// Ports from comments like `output$input.alice$3`: bit 3 of Alice's `input.alice`. One port of all
/// bits, called `name`, unless every comment is like this.
pub(super) fn of_comments<P: From<Role>>(bits: &[Io<'_>], name: &str) -> Vec<Group<P>> {
    named(bits).unwrap_or_else(|| unnamed(name, bits.len()))
}

fn named<P: From<Role>>(ios: &[Io<'_>]) -> Option<Vec<Group<P>>> {
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut ports: Vec<(&str, Vec<(usize, u32)>)> = Vec::new();
    for (at, io) in ios.iter().enumerate() {
        let variable = io.comment.strip_prefix("output$").unwrap_or(io.comment);
        let (base, bit) = variable.rsplit_once('$')?;
        let place = *places.entry(base).or_insert_with(|| {
            ports.push((base, Vec::new()));
            ports.len() - 1
        });
        ports[place].1.push((bit.parse().ok()?, at as u32));
    }
    let groups = ports.into_iter().map(|(base, mut bits)| {
        bits.sort_unstable();
        let whole = bits.iter().enumerate().all(|(i, (bit, _))| i == *bit);
        let bits = bits.into_iter().map(|(_, at)| at).collect();
        whole.then(|| Group { name: base.to_owned(), bits, party: party(base).map(P::from) })
    });
    groups.collect()
}

/// Whose a variable is: the one that is named after `input.` or `output.`.
fn party(variable: &str) -> Option<Role> {
    let field = variable.strip_prefix("input.").or_else(|| variable.strip_prefix("output."))?;
    match field.split(|c: char| !c.is_ascii_alphanumeric()).next()? {
        "alice" => Some(Role::Garbler),
        "bob" => Some(Role::Evaluator),
        _ => None,
    }
}

/// Inputs, outputs, and the wires of the outputs.
type Ports = (Vec<Group<Role>>, Vec<Group<Receivers>>, Vec<u32>);

/// The ports that a `.fmt` file lists.
pub(super) fn of_fmt(source: Source<'_>, file: &File<'_>) -> Result<Ports, ParseError> {
    let listed = fmt::read(source)?;
    let mut numbers: HashMap<usize, u32> = HashMap::new();
    for (number, io) in file.inputs.iter().enumerate() {
        numbers.insert(io.wire as usize, number as u32);
    }
    let mut inputs = Vec::new();
    for port in listed.iter().filter(|port| !port.output) {
        let mut bits = Vec::with_capacity(port.wires.len());
        for (wire, word) in &port.wires {
            // Taken out: an input is listed once.
            let Some(number) = numbers.remove(wire) else {
                let message = format!("wire {wire} is no input, or listed twice");
                return Err(source.error(word, message, "list every input of the circuit once"));
            };
            bits.push(number);
        }
        let name = name(port, &listed, &format!("in{}", inputs.len()));
        inputs.push(Group { name, bits, party: Some(port.owner) });
    }
    if let Some(wire) = numbers.keys().min() {
        let message = format!("input {wire} belongs to nobody");
        return Err(source.error(source.end(), message, "list every input of the circuit once"));
    }
    let (outputs, wires) = outputs(source, file, &listed)?;
    Ok((inputs, outputs, wires))
}

fn outputs(
    source: Source<'_>,
    file: &File<'_>,
    listed: &[FmtPort<'_>],
) -> Result<(Vec<Group<Receivers>>, Vec<u32>), ParseError> {
    let (mut outputs, mut wires): (Vec<Group<Receivers>>, Vec<u32>) = (Vec::new(), Vec::new());
    for (at, port) in listed.iter().enumerate().filter(|(_, port)| port.output) {
        let same = |other: &&FmtPort<'_>| other.owner != port.owner && twins(other, port);
        if listed[..at].iter().any(|other| same(&other)) {
            continue;
        }
        let start = wires.len() as u32;
        for (wire, word) in &port.wires {
            let known = file.netlist.nets.get(*wire).is_some_and(|net| !net.word.is_empty());
            if !known {
                let message = format!("wire {wire} is not in the circuit");
                return Err(source.error(word, message, "list wires of the circuit"));
            }
            wires.push(*wire as u32);
        }
        let both = listed[at..].iter().any(|other| same(&other));
        let party = if both { Receivers::Both } else { Receivers::from(port.owner) };
        let name = name(port, listed, &format!("out{}", outputs.len()));
        let bits = (start..wires.len() as u32).collect();
        outputs.push(Group { name, bits, party: Some(party) });
    }
    Ok((outputs, wires))
}

/// Whether two outputs are one that both parties receive.
fn twins(a: &FmtPort<'_>, b: &FmtPort<'_>) -> bool {
    let wires = || a.wires.iter().map(|(wire, _)| wire).eq(b.wires.iter().map(|(wire, _)| wire));
    a.output && b.output && a.name == b.name && wires()
}

/// The name of a port, with its party where another one has the same.
fn name(port: &FmtPort<'_>, listed: &[FmtPort<'_>], otherwise: &str) -> String {
    let others = listed.iter().filter(|other| {
        other.output == port.output && other.name == port.name && other.owner != port.owner
    });
    let shared = others.filter(|other| !twins(other, port)).count() > 0;
    match (port.name, shared, port.owner) {
        ("", _, _) => otherwise.to_owned(),
        (name, false, _) => name.to_owned(),
        (name, true, Role::Garbler) => format!("{name} (Alice)"),
        (name, true, Role::Evaluator) => format!("{name} (Bob)"),
    }
}
