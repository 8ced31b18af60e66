//! A computation on its way to another process of the same owner: read, detected and counted once.
//!
//! A line of JSON, [`Head`], is followed by the binary form of a module, or by a circuit: nine bytes for each gate,
//! its kind and two numbers of wires, and four for each output wire, its number, little endian. A pipe takes a circuit
//! of any size, of which neither side has a second copy.

use std::io::{self, BufRead, BufWriter, Read, Write};
use std::sync::Arc;

use cenote_circuit::{Circuit, Gate, Program, Signature};
use cenote_program::{Module, Stats};
use serde::{Deserialize, Serialize};

use crate::Computation;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Head {
    Circuit { name: String, signature: Signature, gates: usize, outputs: usize },
    Module { bytes: usize, stats: Stats },
}

/// Numbers for which there is room before any is read.
const ROOM: usize = 1 << 16;

impl Computation {
    /// Writes it for [`Computation::taken_over`].
    ///
    /// # Errors
    /// Those of the writer.
    pub fn hand_over(&self, to: impl Write) -> io::Result<()> {
        let mut to = BufWriter::with_capacity(ROOM, to);
        match self {
            Computation::Circuit(circuit) => {
                let (gates, wires) = (circuit.gates(), circuit.output_wires());
                let (name, signature) = (circuit.name(), circuit.signature());
                let (gates_len, outputs) = (gates.len(), wires.len());
                head(&mut to, &Head::Circuit { name, signature, gates: gates_len, outputs })?;
                gates.iter().try_for_each(|gate| to.write_all(&encoded(*gate)))?;
                wires.iter().try_for_each(|wire| to.write_all(&wire.to_le_bytes()))?;
            }
            Computation::Module { module, stats } => {
                let bytes = module.to_bytes();
                head(&mut to, &Head::Module { bytes: bytes.len(), stats: stats.clone() })?;
                to.write_all(&bytes)?;
            }
        }
        to.flush()
    }

    /// Reads what [`Computation::hand_over`] wrote, up to its end. The program is checked like one from a file;
    /// its counts are taken as they are.
    ///
    /// # Errors
    /// Those of the reader; `InvalidData` for anything else.
    pub fn taken_over(mut from: impl BufRead) -> io::Result<Computation> {
        let mut line = Vec::new();
        from.read_until(b'\n', &mut line)?;
        Ok(match serde_json::from_slice(&line)? {
            Head::Circuit { name, signature, gates, outputs } => {
                let gates = all(gates, || decoded(array(&mut from)?))?;
                let outputs = all(outputs, || array(&mut from).map(u32::from_le_bytes))?;
                let circuit = Circuit::new(&name, signature, gates, outputs);
                Computation::Circuit(circuit.map_err(invalid)?)
            }
            Head::Module { bytes: len, stats } => {
                let mut bytes = Vec::new();
                from.take(len as u64).read_to_end(&mut bytes)?;
                let module = Arc::new(Module::from_bytes(&bytes).map_err(invalid)?);
                Computation::Module { module, stats }
            }
        })
    }
}

fn head(to: &mut impl Write, head: &Head) -> io::Result<()> {
    serde_json::to_writer(&mut *to, head)?;
    to.write_all(b"\n")
}

fn encoded(gate: Gate) -> [u8; 9] {
    let (kind, a, b) = match gate {
        Gate::Xor(a, b) => (0, a, b),
        Gate::And(a, b) => (1, a, b),
        Gate::Inv(a) => (2, a, 0),
        Gate::Eqw(a) => (3, a, 0),
        Gate::Eq(bit) => (4, bit.into(), 0),
    };
    let mut bytes = [kind; 9];
    bytes[1..5].copy_from_slice(&a.to_le_bytes());
    bytes[5..].copy_from_slice(&b.to_le_bytes());
    bytes
}

fn decoded([kind, a, b, c, d, rest @ ..]: [u8; 9]) -> io::Result<Gate> {
    let (a, b) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes(rest));
    Ok(match (kind, a, b) {
        (0, ..) => Gate::Xor(a, b),
        (1, ..) => Gate::And(a, b),
        (2, _, 0) => Gate::Inv(a),
        (3, _, 0) => Gate::Eqw(a),
        (4, 0 | 1, 0) => Gate::Eq(a == 1),
        _ => return Err(invalid("no gate")),
    })
}

fn array<const N: usize>(from: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    from.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn all<T>(count: usize, mut next: impl FnMut() -> io::Result<T>) -> io::Result<Vec<T>> {
    let mut all = Vec::with_capacity(count.min(ROOM));
    for _ in 0..count {
        all.push(next()?);
    }
    Ok(all)
}

fn invalid(what: impl ToString) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_string())
}

#[cfg(test)]
mod tests {
    use cenote_circuit::{InputPort, OutputPort, Role};

    use super::*;

    fn circuit() -> Circuit {
        let port = |name: &str, owner| InputPort { name: name.into(), bits: 2, owner };
        let inputs = vec![port("a", Some(Role::Evaluator)), port("b", None)];
        let outputs = vec![OutputPort { name: "z".into(), bits: 3, receiver: None }];
        let gates = vec![
            Gate::Xor(0, 3),
            Gate::And(1, 4),
            Gate::Inv(5),
            Gate::Eqw(2),
            Gate::Eq(true),
            Gate::Eq(false),
        ];
        Circuit::new("toy", Signature { inputs, outputs }, gates, vec![6, 9, 8]).expect("in order")
    }

    fn module() -> Computation {
        let circuit = circuit();
        let module = Module::from_circuit("toy", circuit.clone(), &circuit.signature());
        Computation::of_module(Arc::new(module.expect("a module"))).expect("small")
    }

    fn handed(computation: &Computation) -> Vec<u8> {
        let mut bytes = Vec::new();
        computation.hand_over(&mut bytes).expect("memory");
        bytes
    }

    #[test]
    fn what_arrives_is_what_was_handed_over() {
        for computation in [Computation::Circuit(circuit()), module()] {
            let mut bytes = handed(&computation);
            bytes.extend_from_slice(b"what follows");
            let mut rest = &bytes[..];
            let taken = Computation::taken_over(&mut rest).expect("the same");
            assert_eq!(rest, b"what follows");
            assert_eq!(taken.digest(), computation.digest());
            let signature = computation.signature();
            assert_eq!(taken.signature(), signature);
            assert_eq!(taken.demand(&signature).stats, computation.demand(&signature).stats);
        }
    }

    /// Counting took place where the program was read, and nowhere else.
    #[test]
    fn counts_come_with_the_program() {
        let Computation::Module { module, stats } = module() else { panic!("a module") };
        let stats = Stats { ands: 77, ..stats };
        let taken = Computation::taken_over(&handed(&Computation::Module { module, stats })[..]);
        assert_eq!(taken.expect("a module").ands(), 77);
    }

    #[test]
    fn what_ends_early_or_is_no_gate_is_refused() {
        let bytes = handed(&Computation::Circuit(circuit()));
        for len in 0..bytes.len() {
            assert!(Computation::taken_over(&bytes[..len]).is_err(), "{len}");
        }
        let first = bytes.iter().position(|byte| *byte == b'\n').expect("a line") + 1;
        for (place, byte) in
            [(first, 5), (first + 2 * 9 + 5, 1), (first + 4 * 9 + 1, 2), (first + 1, 9)]
        {
            let mut bytes = bytes.clone();
            bytes[place] = byte;
            assert!(Computation::taken_over(&bytes[..]).is_err(), "{place}");
        }
    }
}
