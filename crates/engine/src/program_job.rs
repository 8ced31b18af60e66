//! The common job: one program, inputs from their owners, outputs to their receivers.

use cenote_circuit::{Owner, Program, Signature};
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
        let owners: Vec<Role> = signature.owners().into_iter().map(role_of).collect();
        let given = own.len();
        let mut own = own.into_iter();
        let mut inputs = Vec::with_capacity(owners.len());
        for (port, &owner) in signature.inputs.iter().zip(&owners) {
            if owner != role {
                inputs.push(None);
                continue;
            }
            let count = owners.iter().filter(|&&owner| owner == role).count();
            let bits = own.next().ok_or_else(|| {
                Fault::Misuse(format!("the {role} owns {count} inputs, {given} were given"))
            })?;
            if bits.len() != port.bits {
                let (name, expected) = (&port.name, port.bits);
                return Err(Fault::Misuse(format!(
                    "input `{name}` takes {expected} bits, {} were given",
                    bits.len()
                )));
            }
            inputs.push(Some(bits));
        }
        if own.next().is_some() {
            return Err(Fault::Misuse(format!(
                "{given} inputs were given, more than the {role} owns"
            )));
        }
        let digest = program.digest();
        Ok(ProgramJob { program, signature, digest, owners, inputs, receivers })
    }

    fn receivers_of(&self, port: usize) -> Receivers {
        self.signature.outputs[port].receiver.map_or(self.receivers, Receivers::from)
    }
}

/// The role that a port's owner has.
#[must_use]
pub const fn role_of(owner: Owner) -> Role {
    match owner {
        Owner::Garbler => Role::Garbler,
        Owner::Evaluator => Role::Evaluator,
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

    fn run<Q: Party>(&self, party: &mut Q) -> Result<Self::Output, Fault> {
        let mut wires = Vec::with_capacity(self.inputs.len());
        for ((port, &owner), bits) in
            self.signature.inputs.iter().zip(&self.owners).zip(&self.inputs)
        {
            wires.push(party.input(owner, port.bits, bits.as_deref())?);
        }
        let outputs = party.exec(self.program, &wires)?;
        drop(wires);
        self.reveal(party, &outputs)
    }
}

impl<P: Program> ProgramJob<'_, P> {
    /// One reveal for each set of receivers, so that the number of rounds does not grow with the
    /// number of ports.
    fn reveal<Q: Party>(
        &self,
        party: &mut Q,
        outputs: &[Vec<Q::Wire>],
    ) -> Result<Vec<Option<Vec<bool>>>, Fault> {
        let mut results: Vec<Option<Vec<bool>>> = vec![None; outputs.len()];
        for to in [Receivers::Evaluator, Receivers::Garbler, Receivers::Both] {
            let ports: Vec<usize> =
                (0..outputs.len()).filter(|&port| self.receivers_of(port) == to).collect();
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
}

/// A list that fits a handshake field: the digest of a long one stands for it.
fn short_list(items: &[&str]) -> String {
    let text = items.join(",");
    if text.len() <= 512 { text } else { format!("blake3 {}", blake3::hash(text.as_bytes())) }
}
