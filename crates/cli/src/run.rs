//! `cenote run`: both parties on this machine, as two processes over the loopback address.

use std::sync::atomic::AtomicU64;

use cenote_engine::{Role, SessionConfig};
use cenote_net::Channels;
use cenote_prim::bits::{get, pack};
use serde_json::{Value, json};

use crate::args::{RunArgs, sound};
use crate::computation::Computation;
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::output::{Format, Reply};
use crate::party::{Work, cost};
use crate::workers::{Both, LineSpec, Report, RunSpec, Spec, Task, run_pair};
use crate::{evidence, progress, values};

pub(crate) fn command(args: RunArgs, format: Format) -> Result<Reply, Failure> {
    let computation = Computation::read(&args.file)?;
    let config = args.security.chosen()?;
    let ports = computation.ports();
    let inputs = values::from_files(&ports, &args.inputs)?;
    let given = values::in_order(&ports, &inputs, "the program")?;
    let named: Vec<Option<Role>> = given.iter().map(|input| input.owner).collect();
    let signature = values::with_owners(computation.signature(), &named)?;
    let owners = signature.owners();
    // Whatever is wrong is found here, before anything starts. The two processes get packed bits, and the program as it was read.
    let bits: Result<Vec<Vec<bool>>, Failure> =
        ports.iter().zip(given).map(|(port, given)| values::bits(port, given)).collect();
    let values = bits?;
    let own = |role: Role| -> Vec<Vec<u8>> {
        let owned = values.iter().zip(&owners).filter(|(_, owner)| **owner == role);
        owned.map(|(bits, _)| pack(bits.iter().copied())).collect()
    };
    evidence::check(args.evidence.as_deref(), config.backend)?;
    let limits = args.limits.chosen()?;
    sound(config, computation.ands())?;
    let to = values::receivers(&signature, args.reveal_to)?;
    let spec = |role| Spec {
        role,
        connect: None,
        core: None,
        line: LineSpec::default(),
        task: Task::Run(RunSpec {
            computation: Some(computation.clone()),
            owners: owners.clone(),
            own: own(role),
            to,
            config,
            threads: args.threads.threads,
            limits: Some(limits),
            evidence: args.evidence.clone(),
        }),
    };
    let interrupt = Interrupt::install(format)?;
    let bar = progress::spinner("running");
    let both = run_pair(spec, &interrupt)?;
    bar.finish_and_clear();
    reply(&computation, config, &both)
}

/// The work of one of the two processes.
pub(crate) fn party(channels: Channels, role: Role, spec: RunSpec) -> Result<Report, Failure> {
    let computation =
        spec.computation.ok_or_else(|| Failure::internal("no program was handed over"))?;
    let named: Vec<Option<Role>> = spec.owners.iter().copied().map(Some).collect();
    let signature = values::with_owners(computation.signature(), &named)?;
    let owned = signature.inputs.iter().filter(|port| port.owner == Some(role)).zip(&spec.own);
    let fits = |bits: usize, bytes: &[u8]| bytes.len() == bits.div_ceil(8);
    let own = owned.map(|(port, bytes)| match fits(port.bits, bytes) {
        true => Ok((0..port.bits).map(|i| get(bytes, i)).collect()),
        false => Err(Failure::internal("a value is not as wide as its port")),
    });
    let own = own.collect::<Result<Vec<Vec<bool>>, Failure>>()?;
    let work = Work::new(computation, signature, own, spec.to, spec.config)?;
    let work = work.on(spec.threads).keeping(spec.evidence).within(spec.limits, role)?;
    work.run(channels, role, &AtomicU64::new(0), None)
}

fn reply(computation: &Computation, config: SessionConfig, both: &Both) -> Result<Reply, Failure> {
    let (garbler, evaluator) = (&both.garbler, &both.evaluator);
    let mut outputs = Vec::with_capacity(garbler.outputs.len());
    for (one, two) in garbler.outputs.iter().zip(&evaluator.outputs) {
        if one.is_some() && two.is_some() && one != two {
            return Err(Failure::internal("the two parties obtained different outputs"));
        }
        outputs.push(one.clone().or_else(|| two.clone()));
    }
    let mut json = json!({
        "outputs": outputs,
        "backend": config.backend.name(),
        "configuration": config,
        "ands": computation.ands(),
        "adversary": garbler.adversary,
        "peer": garbler.peer,
        "kappa": garbler.kappa,
        "epsilon_log2": garbler.epsilon_log2,
        "evidence": evaluator.evidence.as_ref().or(garbler.evidence.as_ref()),
        "wall_s": garbler.wall_s.max(evaluator.wall_s),
        "parties": { "garbler": cost(garbler), "evaluator": cost(evaluator) },
    });
    if let Some(typed) = computation.typed(&outputs) {
        json["values"] = Value::Object(typed);
    }
    Ok(Reply::new(json, computation.outputs_text(&outputs)))
}
