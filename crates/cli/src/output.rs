//! All that the command prints: the reply on standard output, everything else on standard error.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::error::ErrorKind;
use serde_json::{Value, json};

use crate::exit::{Failure, Kind};

/// How the reply is printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Format {
    /// One JSON object.
    Json,
    /// Lines for people.
    Human,
}

/// The result of a command: one object, and how people read it.
pub(crate) struct Reply {
    json: Value,
    text: String,
    code: u8,
}

impl Reply {
    /// A reply with its own words for people.
    pub(crate) fn new(json: Value, text: impl Into<String>) -> Reply {
        Reply { json, text: text.into(), code: 0 }
    }

    /// A reply that people read as a table of the object's fields.
    pub(crate) fn table(json: Value) -> Reply {
        let mut text = String::new();
        table(&mut text, &json, 0);
        Reply { json, text, code: 0 }
    }

    /// The same with one field more.
    pub(crate) fn with(mut self, name: &str, value: Value) -> Reply {
        self.json[name] = value;
        self
    }

    /// The same with more words behind.
    pub(crate) fn and_text(mut self, text: &str) -> Reply {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        self.text.push_str(text);
        self
    }

    /// The same for a command that ends with this code: it did what was asked, and what it found is not good.
    pub(crate) fn ending(self, kind: Kind) -> Reply {
        Reply { code: kind.code(), ..self }
    }

    /// The same words for another object.
    pub(crate) fn with_json(self, json: Value) -> Reply {
        Reply { json, ..self }
    }

    /// No reply: the command has printed what there was.
    pub(crate) fn silent() -> Reply {
        Reply::new(Value::Null, "")
    }
}

pub(crate) fn reply(reply: &Reply, format: Format) -> ExitCode {
    let text = match format {
        _ if reply.json.is_null() => String::new(),
        Format::Json => format!("{}\n", reply.json),
        Format::Human if reply.text.is_empty() || reply.text.ends_with('\n') => reply.text.clone(),
        Format::Human => format!("{}\n", reply.text),
    };
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => ExitCode::from(reply.code),
        Err(error) => unwritten(&error),
    }
}

fn unwritten(error: &io::Error) -> ExitCode {
    note(&format!("error: cannot write the result: {error}"));
    ExitCode::from(Kind::Internal.code())
}

pub(crate) fn failure(failure: &Failure, format: Format) -> ExitCode {
    let code = failure.kind.code();
    if format == Format::Json {
        let object = json!({
            "error": failure.message,
            "kind": failure.kind,
            "exit_code": code,
        });
        // Nothing better than the exit code is left when printing fails.
        let _ = writeln!(io::stdout().lock(), "{object}");
    }
    note(&format!("error: {}", failure.message));
    ExitCode::from(code)
}

/// Help and version go to standard output; wrong usage is bad input.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    let wrong = error.use_stderr();
    if wrong && std::env::args().any(|argument| argument == "--json") {
        let object = json!({
            "error": usage_message(error),
            "kind": Kind::BadInput,
            "exit_code": Kind::BadInput.code(),
        });
        let _ = writeln!(io::stdout().lock(), "{object}");
    }
    let printed = error.print();
    match printed {
        _ if wrong => ExitCode::from(Kind::BadInput.code()),
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => unwritten(&error),
    }
}

/// Puts what clap says in one line: its message, the names or values it lists and its tips.
fn usage_message(error: &clap::Error) -> String {
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return "a command is missing; --help lists them".to_owned();
    }
    let rendered = error.render().to_string();
    let lines = rendered.lines().map(str::trim).filter(|line| !line.is_empty());
    let told = lines.take_while(|line| {
        !line.starts_with("Usage:") && !line.starts_with("For more information")
    });
    let mut message = String::new();
    for line in told {
        let between = match message.as_str() {
            "" => "",
            before if before.ends_with(':') => " ",
            _ => "; ",
        };
        message.push_str(between);
        message.push_str(line.strip_prefix("error: ").unwrap_or(line));
    }
    message
}

/// Bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A line for people while a command runs.
pub(crate) fn note(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// A line for the process that started this one.
pub(crate) fn line(value: &Value) {
    let mut out = io::stdout().lock();
    let _ = writeln!(out, "{value}").and_then(|()| out.flush());
}

fn table(text: &mut String, value: &Value, depth: usize) {
    let Value::Object(fields) = value else { return };
    let scalar = |value: &Value| !matches!(value, Value::Object(_));
    let widest = fields.iter().filter(|(_, v)| scalar(v)).map(|(k, _)| k.len()).max();
    let (indent, widest) = ("  ".repeat(depth), widest.unwrap_or_default());
    for (name, value) in fields {
        // Writing to a string cannot fail.
        let _ = match value {
            Value::Object(_) => writeln!(text, "{indent}{name}"),
            _ => writeln!(text, "{indent}{name:widest$}  {}", show(value)),
        };
        table(text, value, depth + 1);
    }
}

fn show(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "-".to_owned(),
        Value::Array(items) => items.iter().map(show).collect::<Vec<_>>().join(" "),
        Value::Number(number) if number.is_f64() => number.as_f64().map_or_else(
            || number.to_string(),
            |x| {
                if x.abs() >= 1000.0 {
                    format!("{x:.0}")
                } else if x == 0.0 || x.abs() >= 0.01 {
                    format!("{x:.3}")
                } else {
                    format!("{x:.3e}")
                }
            },
        ),
        other => other.to_string(),
    }
}
