//! `.latch`: the state and its clock.

use super::Model;
use crate::formats::ParseError;
use crate::formats::error::shown;
use crate::formats::netlist::Driver;

/// The clock that all latches share.
#[derive(Default)]
pub(super) struct Clock<'a> {
    /// Type and control of the first latch that names them.
    used: Option<(&'a str, &'a str)>,
    /// Names after `.clock`.
    pub(super) declared: Vec<&'a str>,
}

impl<'a> Clock<'a> {
    /// The wires that carry no data.
    pub(super) fn names(&self) -> Vec<&'a str> {
        let used = self.used.map(|(_, control)| control).filter(|control| *control != "NIL");
        self.declared.iter().copied().chain(used).collect()
    }
}

impl<'a> Model<'a> {
    /// `.latch INPUT OUTPUT [TYPE CONTROL] [INIT]`.
    pub(super) fn latch(&mut self, command: &str, operands: &[&'a str]) -> Result<(), ParseError> {
        let (input, output, timing, init) = match *operands {
            [input, output] => (input, output, None, None),
            [input, output, init] => (input, output, None, Some(init)),
            [input, output, kind, control] => (input, output, Some((kind, control)), None),
            [input, output, kind, control, init] => {
                (input, output, Some((kind, control)), Some(init))
            }
            _ => {
                let message = format!(".latch has {} operands", operands.len());
                let remedy = "write .latch INPUT OUTPUT [TYPE CONTROL] [INIT]";
                return self.error(command, message, remedy);
            }
        };
        if let Some(timing) = timing {
            self.same_clock(timing)?;
        }
        let initial = match init {
            // 2 is any value, 3 an unknown one: 0 is as good as the other.
            None | Some("0" | "2" | "3") => false,
            Some("1") => true,
            Some(word) => {
                let message = format!("a latch cannot start as `{}`", shown(word));
                return self.error(word, message, "write 0, 1, 2 (any) or 3 (unknown)");
            }
        };
        let (next, net) = (self.net(input), self.net(output));
        self.netlist.drive(net, output, Driver::Latch(self.initial.len() as u32))?;
        self.initial.push(initial);
        self.next.push(next);
        Ok(())
    }

    /// One clock, and one of its edges, makes cycles.
    fn same_clock(&mut self, (kind, control): (&'a str, &'a str)) -> Result<(), ParseError> {
        if !matches!(kind, "re" | "fe") {
            let message = format!("a latch of type `{}` is not known", shown(kind));
            let remedy = "use the type re or fe: latches change at an edge of one clock";
            return self.error(kind, message, remedy);
        }
        let (first, clock) = *self.clock.used.get_or_insert((kind, control));
        if (first, clock) != (kind, control) {
            let message = format!(
                "this latch follows {kind} of `{}`, an earlier one {first} of `{}`",
                shown(control),
                shown(clock)
            );
            return self.error(kind, message, "use one edge of one clock for all latches");
        }
        Ok(())
    }
}
