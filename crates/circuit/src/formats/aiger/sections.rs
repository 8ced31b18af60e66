//! Inputs, latches, outputs and ANDs.

use super::graph::{Graph, Node};
use super::header::Header;
use super::reader::Reader;
use crate::formats::ParseError;

/// Reads everything between the header and the symbols.
pub(super) fn read(
    reader: &mut Reader<'_>,
    header: &Header,
    graph: &mut Graph,
) -> Result<(), ParseError> {
    let mut section = Section { reader, graph, numbers: Vec::new() };
    for number in 0..header.inputs {
        section.input(number)?;
    }
    for number in 0..header.latches {
        section.latch(number, header.inputs + 1 + number)?;
    }
    for _ in 0..header.outputs {
        section.output()?;
    }
    let first = header.inputs + header.latches + 1;
    for number in 0..header.ands {
        if section.reader.binary {
            section.binary_and(first + number)?;
        } else {
            section.text_and()?;
        }
    }
    Ok(())
}

const DIFFERENCES: &str = "write ANDs after what they read, differences as AIGER 1.0 says";

struct Section<'r, 'a> {
    reader: &'r mut Reader<'a>,
    graph: &'r mut Graph,
    numbers: Vec<(u32, usize)>,
}

impl Section<'_, '_> {
    fn input(&mut self, number: u32) -> Result<(), ParseError> {
        if self.reader.binary {
            return self.define((2 * (number + 1), 0), Node::Input(number));
        }
        let shape = "the even literal of an input";
        let at = self.reader.numbers("an input", shape, &mut self.numbers)?;
        match self.numbers[..] {
            [literal] => self.define(literal, Node::Input(number)),
            _ => Err(self.reader.error(at, "this is no input", format!("write {shape}"))),
        }
    }

    fn latch(&mut self, number: u32, variable: u32) -> Result<(), ParseError> {
        let shape = match self.reader.binary {
            true => "NEXT [INIT] for a latch",
            false => "LATCH NEXT [INIT]",
        };
        let at = self.reader.numbers("a latch", shape, &mut self.numbers)?;
        if self.reader.binary {
            self.numbers.insert(0, (2 * variable, at));
        }
        let (own, next, init) = match self.numbers[..] {
            [own, next] => (own, next, None),
            [own, next, init] => (own, next, Some(init)),
            _ => return Err(self.reader.error(at, "this is no latch", format!("write {shape}"))),
        };
        self.define(own, Node::Latch(number))?;
        let initial = match init {
            None | Some((0, _)) => false,
            Some((1, _)) => true,
            // Not initialised: any value will do.
            Some((literal, _)) if literal == own.0 => false,
            Some((literal, at)) => {
                let message = format!("a latch cannot start as {literal}");
                let remedy = "write 0, 1, or the latch itself if it may start as either";
                return Err(self.reader.error(at, message, remedy));
            }
        };
        let next = self.literal(next)?;
        self.graph.latch(initial, next);
        Ok(())
    }

    fn output(&mut self) -> Result<(), ParseError> {
        let shape = "the literal of an output";
        let at = self.reader.numbers("an output", shape, &mut self.numbers)?;
        let [literal] = self.numbers[..] else {
            return Err(self.reader.error(at, "this is no output", format!("write {shape}")));
        };
        let literal = self.literal(literal)?;
        self.graph.output(literal);
        Ok(())
    }

    fn text_and(&mut self) -> Result<(), ParseError> {
        let shape = "AND INPUT INPUT";
        let at = self.reader.numbers("an AND", shape, &mut self.numbers)?;
        let [own, a, b] = self.numbers[..] else {
            return Err(self.reader.error(at, "this is no AND", format!("write {shape}")));
        };
        let inputs = [self.literal(a)?.0, self.literal(b)?.0];
        self.define(own, Node::And { inputs, at: own.1 })
    }

    /// Two differences: own literal to larger input, larger to smaller input.
    fn binary_and(&mut self, variable: u32) -> Result<(), ParseError> {
        let at = self.reader.at;
        let own = 2 * variable;
        let first = self.difference()?;
        let second_at = self.reader.at;
        let second = self.difference()?;
        let error = |at, message: String| Err(self.reader.error(at, message, DIFFERENCES));
        let Some(a) = own.checked_sub(first).filter(|_| first > 0) else {
            return error(at, format!("AND {own} cannot read literal {own} - {first}"));
        };
        let Some(b) = a.checked_sub(second) else {
            return error(second_at, format!("AND {own} cannot read literal {a} - {second}"));
        };
        self.define((own, at), Node::And { inputs: [a, b], at })
    }

    /// A number in groups of seven bits, the last one without the eighth.
    fn difference(&mut self) -> Result<u32, ParseError> {
        let start = self.reader.at;
        let mut number = 0u64;
        for group in 0..5 {
            let Some(byte) = self.reader.byte() else {
                let message = "the file ends within the ANDs";
                return Err(self.reader.error(self.reader.at, message, "fetch the whole file"));
            };
            number |= u64::from(byte & 0x7f) << (7 * group);
            if byte & 0x80 == 0 {
                break;
            }
        }
        u32::try_from(number)
            .ok()
            .filter(|number| *number < 1 << 31)
            .ok_or_else(|| self.reader.error(start, "a difference is too large", DIFFERENCES))
    }

    /// A literal that is read.
    fn literal(&self, (literal, at): (u32, usize)) -> Result<(u32, usize), ParseError> {
        if literal / 2 <= self.graph.most() {
            return Ok((literal, at));
        }
        let message = format!("literal {literal} is beyond {}", 2 * self.graph.most() + 1);
        Err(self.reader.error(at, message, "correct it, or M in the header"))
    }

    /// A literal that is written.
    fn define(&mut self, (literal, at): (u32, usize), node: Node) -> Result<(), ParseError> {
        self.literal((literal, at))?;
        if literal < 2 || literal % 2 == 1 {
            let message = format!("literal {literal} cannot be defined");
            return Err(self.reader.error(at, message, "define even literals from 2 on"));
        }
        if !self.graph.define(literal / 2, node) {
            let message = format!("literal {literal} is defined twice");
            return Err(self.reader.error(at, message, "give every variable one definition"));
        }
        Ok(())
    }
}
