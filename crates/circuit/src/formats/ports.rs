//! `NAME.ports.toml`: names, owners and bit orders of the ports of a circuit file.

use std::fmt::Write as _;

use serde::Deserialize;
use toml::Spanned;

use super::{MAX_PORT_BITS, MAX_PORTS, ParseError, Place};
use crate::circuit::{Circuit, Gate};
use crate::program::{InputPort, OutputPort, Program, Receivers, Role, Signature};

/// In which order the wires of a port in a file carry the bits of its number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BitOrder {
    /// Least significant bit first: the default, and the order of everything in memory.
    #[default]
    Lsb,
    /// Most significant bit first.
    Msb,
    /// The most significant byte first, and of each byte the least significant bit first.
    BytesLsb,
    /// The least significant byte first, and of each byte the most significant bit first.
    BytesMsb,
}

impl BitOrder {
    /// The wire, counted from the start of the port, that carries bit `bit` of a `bits`-bit number.
    ///
    /// For the byte orders `bits` has to be a multiple of 8.
    pub fn wire(self, bit: usize, bits: usize) -> usize {
        match self {
            Self::Lsb => bit,
            Self::Msb => bits - 1 - bit,
            Self::BytesLsb => (bits / 8 - 1 - bit / 8) * 8 + bit % 8,
            Self::BytesMsb => bit / 8 * 8 + 7 - bit % 8,
        }
    }
}

/// Which of the inputs of an SHDL gate counts the places of its table in ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TableOrder {
    /// The first: the order of Fairplay, and the default.
    #[default]
    FirstLeast,
    /// The last, as in a truth table on paper.
    FirstMost,
}

/// One port as a ports file describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortSpec<P> {
    /// Its name.
    pub name: String,
    /// Its width; `None` takes that of the circuit file.
    pub bits: Option<usize>,
    /// Owner of an input, receiver of an output.
    pub party: Option<P>,
    /// Its bit order in the circuit file.
    pub order: BitOrder,
    /// Where the ports file names it.
    pub place: Place,
}

/// The ports of a circuit file, in the order of its wires.
///
/// A list that is empty leaves the ports of the circuit file as they are. Otherwise it describes all
/// of them, and may cut the wires into other ports than the circuit file does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ports {
    /// The name of the ports file, for errors.
    pub file: String,
    /// The order of the tables of an SHDL circuit, if the file names one, and where.
    pub tables: Option<(TableOrder, Place)>,
    /// The input ports.
    pub inputs: Vec<PortSpec<Role>>,
    /// The output ports.
    pub outputs: Vec<PortSpec<Receivers>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    version: Spanned<u32>,
    tables: Option<Spanned<TableOrder>>,
    #[serde(default)]
    input: Vec<InputEntry>,
    #[serde(default)]
    output: Vec<OutputEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct InputEntry {
    name: Spanned<String>,
    bits: Option<usize>,
    owner: Option<Role>,
    #[serde(default)]
    order: BitOrder,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OutputEntry {
    name: Spanned<String>,
    bits: Option<usize>,
    receiver: Option<Receivers>,
    #[serde(default)]
    order: BitOrder,
}

/// Most bytes of a port's name.
const MAX_NAME: usize = 64;

/// Whether a port can have this name.
pub(super) fn can_be_named(name: &str) -> bool {
    !name.is_empty() && name.len() <= MAX_NAME && !name.chars().any(char::is_control)
}

/// The start of a name that is refused, for the error.
fn shortened(name: &str) -> String {
    name.chars().take(32).collect()
}

impl Ports {
    /// Reads a ports file; `file` is its name in errors.
    pub fn parse(file: &str, bytes: &[u8]) -> Result<Self, ParseError> {
        let ends: Vec<usize> = (0..bytes.len()).filter(|offset| bytes[*offset] == b'\n').collect();
        let place_at = |offset: usize| {
            let line = ends.partition_point(|end| *end < offset);
            let start = line.checked_sub(1).map_or(0, |before| ends[before] + 1);
            // Bytes that continue a character are not counted.
            let before = bytes.get(start..offset).unwrap_or_default();
            let column = 1 + before.iter().filter(|byte| *byte & 0xc0 != 0x80).count();
            Place::Text { line: line + 1, column }
        };
        let error = |place: Place, message: String, remedy: &str| ParseError {
            file: file.to_owned(),
            place,
            message,
            remedy: remedy.to_owned(),
        };
        let text = std::str::from_utf8(bytes).map_err(|utf8| {
            error(place_at(utf8.valid_up_to()), "this is not text".into(), "write TOML")
        })?;
        let parsed: File = toml::from_str(text).map_err(|toml| {
            let place = place_at(toml.span().map_or(0, |span| span.start));
            let message = toml.message().replace('\n', " ");
            error(place, message, "see docs/formats/ports.md for the fields")
        })?;
        if *parsed.version.get_ref() != 1 {
            let place = place_at(parsed.version.span().start);
            let message = format!("version {} is not known", parsed.version.get_ref());
            return Err(error(place, message, "write version = 1"));
        }
        let inputs = parsed.input.into_iter().map(|entry| PortSpec {
            place: place_at(entry.name.span().start),
            name: entry.name.into_inner(),
            bits: entry.bits,
            party: entry.owner,
            order: entry.order,
        });
        let outputs = parsed.output.into_iter().map(|entry| PortSpec {
            place: place_at(entry.name.span().start),
            name: entry.name.into_inner(),
            bits: entry.bits,
            party: entry.receiver,
            order: entry.order,
        });
        let (inputs, outputs) = (inputs.collect(), outputs.collect());
        let tables = parsed.tables.map(|order| (*order.get_ref(), place_at(order.span().start)));
        let ports = Self { file: file.to_owned(), tables, inputs, outputs };
        let names = (ports.inputs.iter().map(|spec| (spec.place, &spec.name)))
            .chain(ports.outputs.iter().map(|spec| (spec.place, &spec.name)));
        for (place, name) in names {
            if !can_be_named(name) {
                let message = format!("a port cannot be named {:?}", shortened(name));
                return Err(error(place, message, "use up to 64 printable characters"));
            }
        }
        Ok(ports)
    }

    /// Refuses an order of tables beside a format without any.
    pub(super) fn without_tables(&self) -> Result<(), ParseError> {
        self.tables.map_or(Ok(()), |(_, place)| {
            Err(ParseError {
                file: self.file.clone(),
                place,
                message: "only SHDL circuits have tables".to_owned(),
                remedy: "leave out `tables`".to_owned(),
            })
        })
    }

    /// Names the ports of a circuit and brings their wires into least-significant-first order. Inputs
    /// and outputs after those of the ports, which carry a state, keep their places.
    pub(super) fn apply(
        &self,
        signature: &Signature,
        gates: &mut [Gate],
        outputs: &mut Vec<u32>,
    ) -> Result<Signature, ParseError> {
        let mut named = signature.clone();
        if !self.inputs.is_empty() {
            let given: Vec<usize> = signature.inputs.iter().map(|port| port.bits).collect();
            let widths = self.widths("input", &self.inputs, &given)?;
            named.inputs = ports(&self.inputs, &widths, |spec, bits| InputPort {
                name: spec.name.clone(),
                bits,
                owner: spec.party,
            });
            if self.inputs.iter().any(|spec| spec.order != BitOrder::Lsb) {
                // Number `bit` of the port is what the file calls `wire`.
                let mut renamed = vec![0u32; widths.iter().sum()];
                for (bit, wire) in wire_order(&self.inputs, &widths).into_iter().enumerate() {
                    renamed[wire] = bit as u32;
                }
                let rename = |wire: u32| *renamed.get(wire as usize).unwrap_or(&wire);
                gates.iter_mut().for_each(|gate| *gate = gate.map(rename));
                outputs.iter_mut().for_each(|wire| *wire = rename(*wire));
            }
        }
        if !self.outputs.is_empty() {
            let given: Vec<usize> = signature.outputs.iter().map(|port| port.bits).collect();
            let widths = self.widths("output", &self.outputs, &given)?;
            named.outputs = ports(&self.outputs, &widths, |spec, bits| OutputPort {
                name: spec.name.clone(),
                bits,
                receiver: spec.party,
            });
            let order = wire_order(&self.outputs, &widths);
            let rest = outputs.split_off(order.len());
            *outputs = order.into_iter().map(|wire| outputs[wire]).chain(rest).collect();
        }
        Ok(named)
    }

    /// The widths of all ports, checked against those of the circuit file.
    fn widths<P>(
        &self,
        kind: &str,
        specs: &[PortSpec<P>],
        given: &[usize],
    ) -> Result<Vec<usize>, ParseError> {
        let error = |place: Place, message: String, remedy: &str| ParseError {
            file: self.file.clone(),
            place,
            message,
            remedy: remedy.to_owned(),
        };
        let mut widths = Vec::with_capacity(specs.len().min(MAX_PORTS));
        let mut total = 0usize;
        for (i, spec) in specs.iter().enumerate() {
            let same_ports = specs.len() == given.len();
            let Some(bits) = spec.bits.or(given.get(i).copied().filter(|_| same_ports)) else {
                let message = format!("{kind} `{}` has no width", spec.name);
                return Err(error(spec.place, message, "add `bits`, or list the file's own ports"));
            };
            if matches!(spec.order, BitOrder::BytesLsb | BitOrder::BytesMsb) && bits % 8 != 0 {
                let message = format!("{kind} `{}` has {bits} bits, not whole bytes", spec.name);
                return Err(error(spec.place, message, "order its bits by `lsb` or `msb`"));
            }
            if specs[..i].iter().any(|other| other.name == spec.name) {
                let message = format!("two {kind}s are named `{}`", spec.name);
                return Err(error(spec.place, message, "give each a name of its own"));
            }
            total = total.saturating_add(bits);
            if total > MAX_PORT_BITS || widths.len() == MAX_PORTS {
                let message = format!("the {kind}s up to `{}` are too many or wide", spec.name);
                return Err(error(spec.place, message, "describe the ports of the circuit file"));
            }
            widths.push(bits);
        }
        let expected: usize = given.iter().sum();
        if total != expected {
            let start = Place::Text { line: 1, column: 1 };
            let place = specs.last().map_or(start, |spec| spec.place);
            let message = format!("the {kind}s have {total} bits, the circuit has {expected}");
            return Err(error(place, message, "describe every wire of the circuit file once"));
        }
        Ok(widths)
    }
}

impl Circuit {
    /// A ports file that keeps what circuit files do not: names, owners and receivers.
    pub fn ports_toml(&self) -> String {
        self.signature().ports_toml()
    }
}

impl Signature {
    /// A ports file with these ports.
    pub fn ports_toml(&self) -> String {
        let mut text = String::from("version = 1\n");
        let mut port = |kind: &str, name: &str, bits: usize, party: Option<(&str, &str)>| {
            let name = toml::Value::String(name.to_owned());
            // Writing to a string cannot fail.
            let _ = write!(text, "\n[[{kind}]]\nname = {name}\nbits = {bits}\n");
            if let Some((field, party)) = party {
                let _ = writeln!(text, "{field} = \"{party}\"");
            }
        };
        for input in &self.inputs {
            let owner = input.owner.map(|owner| ("owner", owner.name()));
            port("input", &input.name, input.bits, owner);
        }
        for output in &self.outputs {
            let receiver = output.receiver.map(|receiver| ("receiver", receiver.name()));
            port("output", &output.name, output.bits, receiver);
        }
        text
    }
}

fn ports<S, T>(specs: &[S], widths: &[usize], port: impl Fn(&S, usize) -> T) -> Vec<T> {
    specs.iter().zip(widths).map(|(spec, bits)| port(spec, *bits)).collect()
}

/// For every bit of every port, the wire of the file that carries it.
fn wire_order<P>(specs: &[PortSpec<P>], widths: &[usize]) -> Vec<usize> {
    let mut order = Vec::with_capacity(widths.iter().sum());
    for (spec, bits) in specs.iter().zip(widths) {
        let start = order.len();
        order.extend((0..*bits).map(|bit| start + spec.order.wire(bit, *bits)));
    }
    order
}
