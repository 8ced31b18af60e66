//! The common job: one program, inputs from their owners, outputs to their receivers.

use cenote_circuit::{Program, Signature};
use cenote_net::{Fault, Role};

use crate::party::{Party, Receivers};
use crate::session::Job;

/// Runs a program once.
pub struct ProgramJob<'p, P: Program> {
    program: &'p P,
    signature: Signature,
    digest: [u8; 32],
    owners: Vec<Role>,
    inputs: Vec<Option<Vec<bool>>>,
    receivers: Receivers,
    ands: u64,
}

impl<'p, P: Program> ProgramJob<'p, P> {
    /// A run of `program` in which this side, `role`, provides `own`: one value for each port it owns,
    /// in port order, least significant bit first. Outputs go to `receivers`, unless their port
    /// names others. Computes the program's digest, which takes one pass over its gates.
    ///
    /// # Errors
    /// `Misuse` when the number of values or the width of one is not that of the ports.
    pub fn new(
        program: &'p P,
        role: Role,
        own: Vec<Vec<bool>>,
        receivers: Receivers,
    ) -> Result<ProgramJob<'p, P>, Fault> {
        let signature = program.signature();
        let owners = signature.owners();
        let inputs = assign_inputs(&signature, &owners, role, own)?;
        let digest = program.digest();
        Ok(ProgramJob { program, signature, digest, owners, inputs, receivers, ands: 0 })
    }

    fn receivers_of(&self, port: usize) -> Receivers {
        self.signature.outputs[port].receiver.unwrap_or(self.receivers)
    }

    /// The same run, which is known to take as many ANDs.
    #[must_use]
    pub fn of_ands(self, ands: u64) -> Self {
        Self { ands, ..self }
    }
}

impl<P: Program> Job for ProgramJob<'_, P> {
    /// One entry for each output port; `None` where the other party alone receives.
    type Output = Vec<Option<Vec<bool>>>;

    fn terms(&self) -> Vec<(&'static str, String)> {
        let digest: String = self.digest.iter().map(|b| format!("{b:02x}")).collect();
        let owners: Vec<&str> = self.owners.iter().map(|owner| owner.name()).collect();
        vec![
            ("program", self.program.name()),
            ("digest", digest),
            ("owners", short_list(&owners)),
            ("receivers", self.receivers.name().into()),
        ]
    }

    fn ands(&self) -> u64 {
        self.ands
    }

    fn run<Q: Party>(&self, party: &mut Q) -> Result<Self::Output, Fault> {
        let wires = bring_in(party, &self.signature, &self.owners, &self.inputs)?;
        let outputs = party.exec(self.program, &wires)?;
        drop(wires);
        let receivers: Vec<Receivers> =
            (0..outputs.len()).map(|port| self.receivers_of(port)).collect();
        open_outputs(party, &outputs, &receivers)
    }
}

/// The values of this side's ports at their places; `None` for the other's.
pub(crate) fn assign_inputs(
    signature: &Signature,
    owners: &[Role],
    role: Role,
    own: Vec<Vec<bool>>,
) -> Result<Vec<Option<Vec<bool>>>, Fault> {
    let count = owners.iter().filter(|&&owner| owner == role).count();
    if own.len() != count {
        let given = own.len();
        let what = format!("the {role} owns {count} inputs, {given} were given");
        return Err(Fault::Misuse(what));
    }
    let mut own = own.into_iter();
    let mut inputs = Vec::with_capacity(owners.len());
    for (port, &owner) in signature.inputs.iter().zip(owners) {
        let bits = if owner == role { own.next() } else { None };
        if let Some(given) = bits.as_ref().map(Vec::len).filter(|given| *given != port.bits) {
            let (name, expected) = (&port.name, port.bits);
            let what = format!("input `{name}` takes {expected} bits, {given} were given");
            return Err(Fault::Misuse(what));
        }
        inputs.push(bits);
    }
    Ok(inputs)
}

/// Brings the inputs of all ports in, in order.
pub(crate) fn bring_in<Q: Party>(
    party: &mut Q,
    signature: &Signature,
    owners: &[Role],
    inputs: &[Option<Vec<bool>>],
) -> Result<Vec<Vec<Q::Wire>>, Fault> {
    let ports = signature.inputs.iter().zip(owners).zip(inputs);
    ports.map(|((port, &owner), bits)| party.input(owner, port.bits, bits.as_deref())).collect()
}

/// Opens each output port to its receivers: one reveal for each set of receivers, so that the number
/// of rounds does not grow with the number of ports.
pub(crate) fn open_outputs<Q: Party>(
    party: &mut Q,
    outputs: &[Vec<Q::Wire>],
    receivers: &[Receivers],
) -> Result<Vec<Option<Vec<bool>>>, Fault> {
    let mut results: Vec<Option<Vec<bool>>> = vec![None; outputs.len()];
    for to in [Receivers::Evaluator, Receivers::Garbler, Receivers::Both] {
        let ports: Vec<usize> = (0..outputs.len()).filter(|&port| receivers[port] == to).collect();
        if ports.is_empty() {
            continue;
        }
        let wires: Vec<Q::Wire> =
            ports.iter().flat_map(|&port| outputs[port].iter().cloned()).collect();
        let Some(bits) = party.reveal(to, &wires)? else { continue };
        let mut rest = bits.as_slice();
        for port in ports {
            let (own, others) = rest
                .split_at_checked(outputs[port].len())
                .ok_or_else(|| Fault::Internal("a reveal gave too few bits".into()))?;
            results[port] = Some(own.to_vec());
            rest = others;
        }
    }
    Ok(results)
}

/// A list that fits a handshake field: the digest of a long one stands for it.
fn short_list(items: &[&str]) -> String {
    let text = items.join(",");
    if text.len() <= 512 { text } else { format!("blake3 {}", blake3::hash(text.as_bytes())) }
}
