//! The identity of a program: a hash of its gate stream.

use std::convert::Infallible;

use crate::gates::{Gates, runs};
use crate::program::{Program, Receivers, Role, Signature};

/// Hashes gates instead of executing them.
///
/// A wire is its number: inputs first, then every gate output in order. Two streams have the same
/// digest only if they are equal gate for gate, batch boundaries of ANDs included, because
/// a backend frames its messages by them.
pub struct DigestGates {
    hasher: blake3::Hasher,
    buffer: Vec<u8>,
    next: u64,
}

impl DigestGates {
    /// A fresh hash; the first `inputs` numbers belong to the inputs, see [`Self::inputs`].
    pub fn new() -> Self {
        Self {
            hasher: blake3::Hasher::new_derive_key(CONTEXT),
            buffer: Vec::with_capacity(FLUSH + 64),
            next: 0,
        }
    }

    /// The wires of the ports of `signature`, which is hashed with names, owners and receivers.
    pub fn inputs(&mut self, signature: &Signature) -> Vec<Vec<u64>> {
        self.number(signature.inputs.len() as u64);
        for port in &signature.inputs {
            self.text(&port.name);
            self.number(port.bits as u64);
            self.number(match port.owner {
                None => 0,
                Some(Role::Garbler) => 1,
                Some(Role::Evaluator) => 2,
            });
        }
        self.number(signature.outputs.len() as u64);
        for port in &signature.outputs {
            self.text(&port.name);
            self.number(port.bits as u64);
            self.number(match port.receiver {
                None => 0,
                Some(Receivers::Garbler) => 1,
                Some(Receivers::Evaluator) => 2,
                Some(Receivers::Both) => 3,
            });
        }
        signature.inputs.iter().map(|port| (0..port.bits).map(|_| self.fresh()).collect()).collect()
    }

    /// The digest once the output wires are known.
    pub fn finish(mut self, outputs: &[Vec<u64>]) -> [u8; 32] {
        self.tag(OUTPUTS);
        self.number(outputs.len() as u64);
        for port in outputs {
            self.number(port.len() as u64);
            for wire in port {
                self.number(*wire);
            }
        }
        self.hasher.update(&self.buffer);
        self.hasher.finalize().into()
    }

    /// Adds a name (or any other text) to what is hashed.
    pub fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.hasher.update(&self.buffer);
        self.buffer.clear();
        self.hasher.update(text.as_bytes());
    }

    fn fresh(&mut self) -> u64 {
        let wire = self.next;
        self.next += 1;
        wire
    }

    fn tag(&mut self, tag: u8) {
        if self.buffer.len() >= FLUSH {
            self.hasher.update(&self.buffer);
            self.buffer.clear();
        }
        self.buffer.push(tag);
    }

    fn number(&mut self, number: u64) {
        self.buffer.extend_from_slice(&number.to_le_bytes());
        if self.buffer.len() >= FLUSH {
            self.hasher.update(&self.buffer);
            self.buffer.clear();
        }
    }

    fn gate(&mut self, tag: u8, a: u64, b: u64) -> u64 {
        let out = self.fresh();
        self.tag(tag);
        self.buffer.extend_from_slice(&a.to_le_bytes());
        self.buffer.extend_from_slice(&b.to_le_bytes());
        out
    }
}

impl Default for DigestGates {
    fn default() -> Self {
        Self::new()
    }
}

impl Gates for DigestGates {
    type Wire = u64;
    type Error = Infallible;

    fn constant(&mut self, bit: bool) -> Result<u64, Infallible> {
        self.tag(if bit { ONE } else { ZERO });
        Ok(self.fresh())
    }

    fn xor(&mut self, a: &u64, b: &u64) -> Result<u64, Infallible> {
        Ok(self.gate(XOR, *a, *b))
    }

    fn not(&mut self, a: &u64) -> Result<u64, Infallible> {
        Ok(self.gate(NOT, *a, *a))
    }

    fn and(&mut self, a: &u64, b: &u64) -> Result<u64, Infallible> {
        Ok(self.gate(AND, *a, *b))
    }

    fn and_many(&mut self, a: &[u64], b: &[u64]) -> Result<Vec<u64>, Infallible> {
        self.tag(AND_BATCH);
        self.number(a.len().min(b.len()) as u64);
        Ok(a.iter().zip(b).map(|(a, b)| self.gate(AND, *a, *b)).collect())
    }

    fn and_groups(&mut self, selects: &[u64], bits: &[u64]) -> Result<Vec<u64>, Infallible> {
        self.tag(AND_GROUPS);
        self.number(selects.len() as u64);
        self.number(bits.len() as u64);
        let mut out = Vec::with_capacity(bits.len());
        for (select, run) in runs(selects, bits) {
            out.extend(run.iter().map(|bit| self.gate(AND, *select, *bit)));
        }
        Ok(out)
    }

    fn mux_many(
        &mut self,
        select: &u64,
        on_true: &[u64],
        on_false: &[u64],
    ) -> Result<Vec<u64>, Infallible> {
        self.tag(MUX_BATCH);
        self.number(*select);
        self.number(on_true.len().min(on_false.len()) as u64);
        Ok(on_true.iter().zip(on_false).map(|(a, b)| self.gate(MUX, *a, *b)).collect())
    }
}

/// The digest of `program` under the label `name`.
pub(crate) fn program_digest<P: Program + ?Sized>(name: &str, program: &P) -> [u8; 32] {
    let mut gates = DigestGates::new();
    gates.text(name);
    let inputs = gates.inputs(&program.signature());
    match program.run(&mut gates, &inputs) {
        Ok(outputs) => gates.finish(&outputs),
        Err(never) => match never {},
    }
}

const CONTEXT: &str = "cenote 2025 program gate stream v1";
const FLUSH: usize = 1 << 16;
const ZERO: u8 = 0;
const ONE: u8 = 1;
const XOR: u8 = 2;
const NOT: u8 = 3;
const AND: u8 = 4;
const AND_BATCH: u8 = 5;
const MUX: u8 = 6;
const MUX_BATCH: u8 = 7;
const OUTPUTS: u8 = 8;
const AND_GROUPS: u8 = 9;

#[cfg(test)]
mod tests {
    use std::slice::from_ref;

    use super::*;

    struct Toy {
        name: &'static str,
        port: &'static str,
        owner: Option<Role>,
        kind: u8,
    }

    const TOY: Toy = Toy { name: "toy", port: "x", owner: None, kind: 0 };

    impl Program for Toy {
        fn name(&self) -> String {
            self.name.into()
        }

        fn signature(&self) -> Signature {
            Signature::new().input(self.port, 2, self.owner).output("z", 1, None)
        }

        fn run<G: Gates>(
            &self,
            g: &mut G,
            inputs: &[Vec<G::Wire>],
        ) -> Result<Vec<Vec<G::Wire>>, G::Error> {
            let (a, b) = (&inputs[0][0], &inputs[0][1]);
            let out = match self.kind {
                0 => g.and(a, b)?,
                1 => g.and(b, a)?,
                2 => g.xor(a, b)?,
                3 => g.and_many(from_ref(a), from_ref(b))?.remove(0),
                4 => g.mux_many(a, from_ref(a), from_ref(b))?.remove(0),
                5 => g.constant(false)?,
                6 => g.constant(true)?,
                7 => g.and_groups(from_ref(a), from_ref(b))?.remove(0),
                _ => a.clone(),
            };
            Ok(vec![vec![out]])
        }
    }

    #[test]
    fn everything_that_differs_changes_the_digest() {
        let mut digests: Vec<_> = (0..9).map(|kind| Toy { kind, ..TOY }.digest()).collect();
        digests.push(Toy { name: "other", ..TOY }.digest());
        digests.push(Toy { port: "y", ..TOY }.digest());
        digests.push(Toy { owner: Some(Role::Evaluator), ..TOY }.digest());
        let count = digests.len();
        digests.sort_unstable();
        digests.dedup();
        assert_eq!(digests.len(), count);
    }

    #[test]
    fn a_program_replays() {
        assert_eq!(TOY.digest(), TOY.digest());
    }
}
