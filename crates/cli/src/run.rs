//! `cenote run`: both parties on this machine, as two processes over the loopback address.

use std::sync::atomic::AtomicU64;

use cenote_circuit::{Program, Receiver, Signature};
use cenote_engine::{Receivers, Role, role_of};
use cenote_net::Channel;
use serde_json::json;

use crate::args::RunArgs;
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::output::{Format, Reply};
use crate::party::{Work, cost};
use crate::workers::{Both, LineSpec, Report, RunSpec, Security, Spec, Task, owner, run_pair};
use crate::{circuit, evidence, progress, values};

pub(crate) fn command(args: RunArgs, format: Format) -> Result<Reply, Failure> {
    let circuit = circuit::read(&args.file)?;
    let security = args.security.chosen()?;
    let named: Vec<Option<Role>> = args.inputs.iter().map(|input| input.owner).collect();
    let signature = values::with_owners(circuit.signature(), &named)?;
    let owners = signature.owners();
    let own = |role: Role| -> Vec<String> {
        let owned = args.inputs.iter().zip(&owners).filter(|(_, owner)| role_of(**owner) == role);
        owned.map(|(input, _)| input.text.clone()).collect()
    };
    // Whatever is wrong is found here, before anything starts.
    evidence::check(args.evidence.as_deref(), security.backend())?;
    let work = |role| Work::check(&circuit, &signature, role, &own(role), security);
    work(Role::Garbler)?;
    let ands = work(Role::Evaluator)?;
    let to = match values::receivers(&signature, args.reveal_to)? {
        Receivers::Garbler => Receiver::Garbler,
        Receivers::Evaluator => Receiver::Evaluator,
        Receivers::Both => Receiver::Both,
    };
    let spec = |role| Spec {
        role: owner(role),
        connect: None,
        core: None,
        line: LineSpec::default(),
        task: Task::Run(RunSpec {
            file: args.file.clone(),
            owners: owners.clone(),
            own: own(role),
            to,
            security,
            evidence: args.evidence.clone(),
        }),
    };
    let interrupt = Interrupt::install(format)?;
    let bar = progress::spinner("running");
    let both = run_pair(spec, &interrupt)?;
    bar.finish_and_clear();
    reply(&signature, security, ands, &both)
}

/// The work of one of the two processes.
pub(crate) fn party(channel: Channel, role: Role, spec: &RunSpec) -> Result<Report, Failure> {
    let circuit = circuit::read(&spec.file)?;
    let named: Vec<Option<Role>> = spec.owners.iter().map(|owner| Some(role_of(*owner))).collect();
    let signature = values::with_owners(circuit.signature(), &named)?;
    let work = Work::new(circuit, signature, role, &spec.own, spec.to.into(), spec.security)?;
    work.keeping(spec.evidence.clone()).run(channel, role, &AtomicU64::new(0))
}

fn reply(
    signature: &Signature,
    security: Security,
    ands: u64,
    both: &Both,
) -> Result<Reply, Failure> {
    let (garbler, evaluator) = (&both.garbler, &both.evaluator);
    let mut outputs = Vec::with_capacity(garbler.outputs.len());
    for (one, two) in garbler.outputs.iter().zip(&evaluator.outputs) {
        if one.is_some() && two.is_some() && one != two {
            return Err(Failure::internal("the two parties obtained different outputs"));
        }
        outputs.push(one.clone().or_else(|| two.clone()));
    }
    let json = json!({
        "outputs": outputs,
        "backend": security.backend().name(),
        "ands": ands,
        "adversary": garbler.adversary,
        "kappa": garbler.kappa,
        "epsilon_log2": garbler.epsilon_log2,
        "evidence": evaluator.evidence.as_ref().or(garbler.evidence.as_ref()),
        "wall_s": garbler.wall_s.max(evaluator.wall_s),
        "parties": { "garbler": cost(garbler), "evaluator": cost(evaluator) },
    });
    Ok(Reply::new(json, circuit::outputs_text(signature, &outputs)))
}
