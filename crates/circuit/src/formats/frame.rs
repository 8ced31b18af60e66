//! From a file's single bits to the ports and the state of a circuit.

use std::collections::HashSet;

use super::names::Group;
use super::parts::Parts;
use super::ports::can_be_named;
use super::{MAX_PORT_BITS, MAX_PORTS};
use crate::program::{InputPort, OutputPort, Receivers, Role, Signature};
use crate::record::{Literal, RecordError, Recorder};

/// Ports and state of a file.
pub(super) struct Frame {
    pub(super) inputs: Vec<Group<Role>>,
    pub(super) outputs: Vec<Group<Receivers>>,
    /// The state before the first cycle.
    pub(super) initial: Vec<bool>,
}

/// The literals that a file may read without computing them.
pub(super) struct Leaves {
    /// By the file's number of the input.
    pub(super) inputs: Vec<Literal>,
    /// By the file's number of the latch.
    pub(super) state: Vec<Literal>,
}

/// Why ports cannot be as a file has them: message and remedy.
pub(super) type PortsError = (String, String);

/// Whether a file may have so many bits of one kind (`inputs`, `outputs` or `latches`).
pub(super) fn check_bits(bits: usize, kind: &str) -> Result<(), PortsError> {
    if bits <= MAX_PORT_BITS {
        return Ok(());
    }
    let message = format!("there are {bits} {kind}");
    Err((message, format!("split the computation: a file has at most {MAX_PORT_BITS}")))
}

impl Frame {
    /// Whether the ports can be those of a program.
    pub(super) fn check(&self) -> Result<(), PortsError> {
        check_groups(&self.inputs, "input")?;
        check_groups(&self.outputs, "output")?;
        check_bits(self.initial.len(), "latches")
    }

    fn signature(&self) -> Signature {
        let inputs = self.inputs.iter().map(|group| InputPort {
            name: group.name.clone(),
            bits: group.bits.len(),
            owner: group.party,
        });
        let outputs = self.outputs.iter().map(|group| OutputPort {
            name: group.name.clone(),
            bits: group.bits.len(),
            receiver: group.party,
        });
        Signature { inputs: inputs.collect(), outputs: outputs.collect() }
    }

    /// A recorder and what the file may read.
    pub(super) fn open(&self) -> Result<(Recorder, Leaves), RecordError> {
        let signature = self.signature().input("state", self.initial.len(), None);
        let (mut recorder, mut ports) = Recorder::new(&signature)?;
        let state = ports.pop().unwrap_or_default();
        let bits = self.inputs.iter().flat_map(|group| &group.bits);
        let last = bits.clone().max().map_or(0, |last| *last as usize + 1);
        let zero = crate::gates::Gates::constant(&mut recorder, false)?;
        let mut inputs = vec![zero; last];
        for (bit, literal) in bits.zip(ports.into_iter().flatten()) {
            inputs[*bit as usize] = literal;
        }
        Ok((recorder, Leaves { inputs, state }))
    }

    /// The file, given its outputs by their number and the next state.
    pub(super) fn close(
        self,
        recorder: Recorder,
        outputs: &[Literal],
        next: Vec<Literal>,
    ) -> Result<Parts, RecordError> {
        let signature = self.signature();
        let state = self.initial.len();
        let whole = signature.clone().input("state", state, None).output("state", state, None);
        let ports = self.outputs.iter();
        let mut wires: Vec<Vec<Literal>> = ports
            .map(|group| group.bits.iter().map(|bit| outputs[*bit as usize]).collect())
            .collect();
        wires.push(next);
        let (gates, outputs) = recorder.finish("", whole, &wires)?.into_parts();
        Ok(Parts { signature, gates, outputs, initial: self.initial })
    }
}

fn check_groups<P>(groups: &[Group<P>], kind: &str) -> Result<(), PortsError> {
    let bits = groups.iter().map(|group| group.bits.len()).sum();
    check_bits(bits, &format!("{kind}s"))?;
    if groups.len() > MAX_PORTS {
        let message = format!("the {kind}s make {} ports", groups.len());
        let remedy =
            format!("name the bits of one port a[0], a[1], ...: at most {MAX_PORTS} ports");
        return Err((message, remedy));
    }
    let mut names = HashSet::new();
    for group in groups {
        let shown = super::error::shown(&group.name);
        if !can_be_named(&group.name) {
            let remedy = "use up to 64 printable characters".to_owned();
            return Err((format!("a port cannot be named `{shown}`"), remedy));
        }
        if !names.insert(&group.name) {
            let remedy = "give each a name of its own".to_owned();
            return Err((format!("two {kind}s are named `{shown}`"), remedy));
        }
    }
    Ok(())
}
