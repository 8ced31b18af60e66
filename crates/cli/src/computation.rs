//! The computation in a file: a circuit, or a structured program in its text or binary form. The
//! content tells, not the name.

use std::fs::File;
use std::io::Read;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

use cenote_circuit::{Program, hex_from_bits, value_from_hex};
use cenote_job as job;
use cenote_job::json;
use cenote_program::limits::MAX_FILE_BYTES;
use cenote_program::{MAGIC, Module, Output, Stats};
use serde_json::{Map, Value};

use crate::circuit;
use crate::exit::Failure;
use crate::values::Port;

/// A computation that was read from a file.
#[derive(Clone)]
pub(crate) struct Computation(pub(crate) Arc<job::Computation>);

impl Deref for Computation {
    type Target = job::Computation;

    fn deref(&self) -> &job::Computation {
        &self.0
    }
}

/// The two forms of a structured program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    Text,
    Binary,
}

impl Computation {
    pub(crate) fn of(computation: job::Computation) -> Computation {
        Computation(Arc::new(computation))
    }

    /// Reads a file; what is wrong with it is bad input, named with its place and the remedy.
    pub(crate) fn read(file: &Path) -> Result<Computation, Failure> {
        match form(file)? {
            None => circuit::read(file)
                .map(|circuit| Computation::of(job::Computation::Circuit(circuit))),
            Some(form) => {
                let module = parse(file, form)?;
                let stats = stats(file, &module)?;
                Ok(Computation::of(job::Computation::Module { module: Arc::new(module), stats }))
            }
        }
    }

    /// The input ports as values are read for them.
    pub(crate) fn ports(&self) -> Vec<Port> {
        match &**self {
            job::Computation::Circuit(circuit) => circuit
                .signature()
                .inputs
                .into_iter()
                .map(|port| Port { typed: None, name: port.name, bits: port.bits })
                .collect(),
            job::Computation::Module { module, .. } => module
                .inputs()
                .iter()
                .map(|port| Port {
                    name: port.name.clone(),
                    bits: port.shape.bits(),
                    typed: Some(port.clone()),
                })
                .collect(),
        }
    }

    /// The value of each output port as its kind reads, where ports have kinds; of `hex`, one for each.
    fn values(&self, hex: &[Option<String>]) -> Option<Vec<(&Output, Value)>> {
        let job::Computation::Module { module, .. } = &**self else { return None };
        let value = |(port, hex)| {
            let hex: &Option<String> = hex;
            let port: &Output = port;
            let bits = hex.as_deref().map(|hex| value_from_hex(&port.name, port.shape.bits(), hex));
            let value = match bits {
                Some(Ok(bits)) => json::typed_value(port, &bits),
                _ => Value::Null,
            };
            (port, value)
        };
        Some(module.outputs().iter().zip(hex).map(value).collect())
    }

    /// Outputs by name, as [`Self::values`] has them: records are objects, tuples lists.
    pub(crate) fn typed(&self, hex: &[Option<String>]) -> Option<Map<String, Value>> {
        let parts = self.values(hex)?;
        Some(json::by_name(
            parts.into_iter().map(|(port, value)| (port.path.steps(), value)).collect(),
        ))
    }

    /// One line for each output port.
    pub(crate) fn outputs_text(&self, hex: &[Option<String>]) -> String {
        let values = self.values(hex);
        let lines = self.signature().outputs.into_iter().zip(hex).enumerate();
        let lines = lines.map(|(i, (port, hex))| {
            let text = match (&values, hex) {
                (_, None) => "(not received)".to_owned(),
                (Some(values), _) => shown(&values[i].1),
                (None, Some(hex)) => hex.clone(),
            };
            format!("{}  {text}\n", port.name)
        });
        lines.collect()
    }
}

/// How the names of Garble programs end.
pub(crate) const GARBLE: &str = ".garble.rs";

/// The form of a structured program, or `None` for anything else, which may be a circuit.
pub(crate) fn form(file: &Path) -> Result<Option<Form>, Failure> {
    let unread = |error: std::io::Error| Failure::bad_input(format!("{}: {error}", file.display()));
    let kind = std::fs::metadata(file).map_err(unread)?;
    if kind.is_dir() {
        let what = format!("{}: this is a directory; name a file in it", file.display());
        return Err(Failure::bad_input(what));
    }
    // A pipe can be read once only; circuits may come through one.
    if !kind.is_file() {
        return Ok(None);
    }
    if file.to_string_lossy().ends_with(GARBLE) {
        let file = file.display();
        return Err(Failure::bad_input(format!(
            "{file}: this is a Garble program by its name; compile it first: cenote program build {file} -o OUT"
        )));
    }
    let mut start = Vec::new();
    let opened = File::open(file).map_err(unread)?;
    opened.take(1 << 16).read_to_end(&mut start).map_err(unread)?;
    // The version follows, which the reader explains.
    if start.starts_with(MAGIC) {
        return Ok(Some(Form::Binary));
    }
    let start = String::from_utf8_lossy(&start);
    let mut lines = start.lines().map(|line| line.split('#').next().unwrap_or_default());
    let first = lines.find(|line| !line.trim().is_empty()).unwrap_or_default();
    let word = first.split_whitespace().next();
    Ok((word == Some("cenote")).then_some(Form::Text))
}

/// Reads a structured program, whatever its form.
pub(crate) fn read_module(file: &Path) -> Result<(Module, Form), Failure> {
    let form = form(file)?.ok_or_else(|| {
        let file = file.display();
        Failure::bad_input(format!(
            "{file}:1:1: this is no structured program: a text begins with `cenote 2`; for a circuit \
             file, use `cenote circuit` or `cenote program from-circuit`"
        ))
    })?;
    parse(file, form).map(|module| (module, form))
}

/// Counts a program.
pub(crate) fn stats(file: &Path, module: &Module) -> Result<Stats, Failure> {
    module.stats().map_err(|error| Failure::bad_input(format!("{}: {error}", file.display())))
}

fn parse(file: &Path, form: Form) -> Result<Module, Failure> {
    let name = file.display();
    let unread = |what: String| Failure::bad_input(format!("{name}: {what}"));
    let mut bytes = Vec::new();
    let opened = File::open(file).map_err(|error| unread(error.to_string()))?;
    let mut opened = opened.take(MAX_FILE_BYTES as u64 + 1);
    opened.read_to_end(&mut bytes).map_err(|error| unread(error.to_string()))?;
    match form {
        Form::Binary => Module::from_bytes(&bytes).map_err(|error| unread(error.to_string())),
        Form::Text => {
            let text = String::from_utf8(bytes).map_err(|error| {
                let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
                let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
                Failure::bad_input(format!("{name}:{line}:1: the text is not UTF-8"))
            })?;
            let parsed = Module::parse_text(&text);
            parsed.map_err(|error| Failure::bad_input(format!("{name}:{error}")))
        }
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(shown).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

/// Bits of each port in hexadecimal.
pub(crate) fn hex_outputs(outputs: &[Vec<bool>]) -> Vec<Option<String>> {
    outputs.iter().map(|bits| Some(hex_from_bits(bits))).collect()
}
