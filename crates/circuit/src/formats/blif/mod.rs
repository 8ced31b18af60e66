//! BLIF, the Berkeley Logic Interchange Format: one flat model with covers and latches;
//! `docs/formats/blif.md` describes what is read.

mod cover;
mod latch;
mod lines;
mod write;

pub use write::write_blif;

use std::collections::HashMap;

use super::ParseError;
use super::error::{Source, shown};
use super::frame::{Frame, check_bits};
use super::names::group;
use super::netlist::{Driver, Net, Netlist};
use super::parts::Parts;
use cover::Cover;
use latch::Clock;
use lines::Lines;

/// Reads a file.
pub(super) fn read(source: Source<'_>) -> Result<Parts, ParseError> {
    let mut model = Model::new(source);
    let mut lines = Lines::new(source.text);
    let mut words = Vec::new();
    while lines.next(&mut words) {
        if model.line(&words)? {
            break;
        }
    }
    while lines.next(&mut words) {
        if words.first() == Some(&".model") {
            let message = "a second model starts here";
            return Err(source.error(words[0], message, FLATTEN));
        }
    }
    model.finish()
}

const FLATTEN: &str =
    "flatten the design into one model, e.g. `synth -flatten` or `flatten` in yosys";

/// The model, as far as it is known.
struct Model<'a> {
    netlist: Netlist<'a>,
    names: HashMap<&'a str, u32>,
    named: bool,
    inputs: Vec<&'a str>,
    outputs: Vec<&'a str>,
    clock: Clock<'a>,
    initial: Vec<bool>,
    next: Vec<u32>,
    cover: Option<Cover<'a>>,
}

impl<'a> Model<'a> {
    fn new(source: Source<'a>) -> Self {
        Self {
            netlist: Netlist::new(source),
            names: HashMap::new(),
            named: false,
            inputs: Vec::new(),
            outputs: Vec::new(),
            clock: Clock::default(),
            initial: Vec::new(),
            next: Vec::new(),
            cover: None,
        }
    }

    fn error<T>(&self, word: &str, message: String, remedy: &str) -> Result<T, ParseError> {
        Err(self.netlist.source.error(word, message, remedy))
    }

    /// One line, which has a word; whether it is the model's last.
    fn line(&mut self, words: &[&'a str]) -> Result<bool, ParseError> {
        let (Some(command), operands) = (words.first(), words.get(1..).unwrap_or_default()) else {
            return Ok(false);
        };
        if !command.starts_with('.') {
            let Some(cover) = &mut self.cover else {
                let message = format!("`{}` is no command", shown(command));
                return self.error(command, message, "start the line with a command like .names");
            };
            cover.row(&self.netlist.source, words)?;
            return Ok(false);
        }
        self.close_cover()?;
        match *command {
            ".model" if self.named => {
                return self.error(command, "a second model starts here".into(), FLATTEN);
            }
            ".model" => self.named = true,
            ".inputs" => self.inputs.extend(operands),
            ".outputs" => self.outputs.extend(operands),
            ".clock" => self.clock.declared.extend(operands),
            ".names" => self.cover = Some(Cover::new(&self.netlist.source, command, operands)?),
            ".latch" => self.latch(command, operands)?,
            ".end" | ".exdc" => return Ok(true),
            ".subckt" | ".gate" | ".mlatch" | ".search" => {
                let message = format!("{command} calls another model or a library");
                return self.error(command, message, FLATTEN);
            }
            other if IGNORED.contains(&other) => {}
            other => {
                let message = format!("`{}` is not known", shown(other));
                let known = "use .model, .inputs, .outputs, .clock, .names, .latch and .end";
                return self.error(command, message, known);
            }
        }
        Ok(false)
    }

    /// The number of a wire.
    fn net(&mut self, word: &'a str) -> u32 {
        let nets = &mut self.netlist.nets;
        *self.names.entry(word).or_insert_with(|| {
            nets.push(Net { word, ..Net::EMPTY });
            nets.len() as u32 - 1
        })
    }

    /// The last `.names` is over.
    fn close_cover(&mut self) -> Result<(), ParseError> {
        let Some(cover) = self.cover.take() else { return Ok(()) };
        let operands: Vec<u32> = cover.inputs.iter().map(|word| self.net(word)).collect();
        let out = self.net(cover.output);
        let operands = self.netlist.operands(&operands);
        let rows = self.netlist.rows(&cover.rows);
        let driver = Driver::Cover { operands, rows, on: cover.on };
        self.netlist.drive(out, cover.output, driver)
    }

    fn finish(mut self) -> Result<Parts, ParseError> {
        self.close_cover()?;
        let clocks = self.clock.names();
        let mut inputs = std::mem::take(&mut self.inputs);
        inputs.retain(|input| !clocks.contains(input));
        for word in &clocks {
            if let Some(net) = self.names.get(word) {
                let word = self.netlist.nets[*net as usize].word;
                let message = format!("the clock `{}` is read or driven as data", shown(word));
                return self.error(word, message, "use it for latches only");
            }
        }
        for (bits, kind) in [(&inputs, "inputs"), (&self.outputs, "outputs")] {
            if let Err((message, remedy)) = check_bits(bits.len(), kind) {
                return self.error(bits[0], message, &remedy);
            }
        }
        for (number, word) in inputs.iter().enumerate() {
            let net = self.net(word);
            self.netlist.drive(net, word, Driver::Input(number as u32))?;
        }
        let listed = std::mem::take(&mut self.outputs);
        let outputs: Vec<u32> = listed.iter().map(|word| self.net(word)).collect();
        let frame =
            Frame { inputs: group(&inputs), outputs: group(&listed), initial: self.initial };
        self.netlist.finish(frame, &outputs, &self.next)
    }
}

/// Timing, areas and attributes, which no function depends on.
const IGNORED: [&str; 20] = [
    ".area",
    ".attr",
    ".clock_event",
    ".cname",
    ".cycle",
    ".default_input_arrival",
    ".default_input_drive",
    ".default_max_input_load",
    ".default_output_load",
    ".default_output_required",
    ".delay",
    ".input_arrival",
    ".input_drive",
    ".latch_order",
    ".max_input_load",
    ".output_load",
    ".output_required",
    ".param",
    ".wire",
    ".wire_load_slope",
];
