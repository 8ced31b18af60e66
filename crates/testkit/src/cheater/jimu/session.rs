//! Sessions of a cheater with an honest party.

use cenote_engine::backends::jimu::{JimuParams, JimuSession};
use cenote_engine::backends::{Live, Protocol};
use cenote_engine::{Backend, Evidence, Fault, Job, Party, Role};
use cenote_net::{Channel, RecordedFrame};
use cenote_prim::SessionId;

use super::cheat::{Cheat, Flaw, Plan, Which};
use super::evaluator::Evaluator;
use super::garbler::Garbler;
use super::items::History;
use super::talk::Talk;
use crate::pair::run_pair_over;
use crate::run::{Outputs, patient_pair, prg_of, sessions, with_pool};

/// How a session of a cheater with an honest party went.
#[derive(Debug)]
pub struct Outcome {
    /// The outputs that the honest side obtained of each job, and the fault that stopped it.
    pub honest: (Vec<Outputs>, Option<Fault>),
    /// The same for the cheater.
    pub cheater: (Vec<Outputs>, Option<Fault>),
    /// The history that a garbling cheater saw.
    pub history: History,
    /// The evidence that the honest side has at its end, if it came to one and has any.
    pub evidence: Option<Evidence>,
    /// The frames, as the garbler sent and received them.
    pub frames: Vec<RecordedFrame>,
}

type Served = (Vec<Outputs>, Option<Fault>);

/// One side's end of a session.
struct End {
    served: Served,
    history: History,
    evidence: Option<Evidence>,
}

/// Runs a session of some jobs, as the honest side runs them, against a cheater in the other role.
#[must_use]
pub fn run_session(
    params: &JimuParams,
    plan: &Plan,
    talks: &[Talk],
    role: Role,
    seed: u128,
) -> Outcome {
    let (mut garbler, evaluator) = patient_pair();
    let recording = garbler.record();
    let session = SessionId([seed as u8; 32]);
    let ends = run_pair_over((garbler, evaluator), |channel, own| {
        let prg = prg_of(own, seed);
        let peers: Vec<Talk> = talks.iter().map(Talk::peer).collect();
        let (params, plan) = (params.clone(), plan.clone());
        match own {
            own if own == role => {
                let session = JimuSession::open(channel.into(), session, own, params, || prg, None);
                session.map_or_else(failed, |session| serve(session, talks))
            }
            Role::Garbler => {
                let cheater = Garbler::set_up(channel, session, params, plan, prg);
                cheater.map_or_else(failed, |mut cheater| {
                    let served = run_all(&mut cheater, &peers);
                    close(&mut cheater.channel, &served);
                    End { served, history: cheater.history, evidence: None }
                })
            }
            Role::Evaluator => {
                let cheater = Evaluator::set_up(channel, session, params, &plan, prg);
                cheater.map_or_else(failed, |mut cheater| {
                    let served = run_all(&mut cheater, &peers);
                    close(&mut cheater.channel, &served);
                    End { served, history: History::default(), evidence: None }
                })
            }
        }
    });
    let (honest, cheater) = if role == Role::Garbler { ends } else { (ends.1, ends.0) };
    Outcome {
        honest: honest.served,
        cheater: cheater.served,
        history: cheater.history,
        evidence: honest.evidence,
        frames: recording.frames(),
    }
}

fn failed(fault: Fault) -> End {
    End { served: (Vec::new(), Some(fault)), history: History::default(), evidence: None }
}

/// A cheater that was found out leaves as it is; one that was not ends the session in order.
fn close(channel: &mut Channel, served: &Served) {
    if served.1.is_none() {
        channel.close();
    }
}

fn run_all<P: Party>(party: &mut P, talks: &[Talk]) -> Served {
    let mut outputs = Vec::new();
    for talk in talks {
        match talk.run(party) {
            Ok(output) => outputs.push(output),
            Err(fault) => return (outputs, Some(fault)),
        }
    }
    (outputs, None)
}

/// The honest side: one request for each job.
fn serve(mut session: JimuSession, talks: &[Talk]) -> End {
    let mut served = (Vec::new(), None);
    for talk in talks {
        let output = session.run(talk);
        match output.and_then(|output| session.channel().flush().map(|()| output)) {
            Ok(output) => served.0.push(output),
            Err(fault) => {
                served.1 = Some(fault);
                break;
            }
        }
    }
    let evidence = session.evidence().filter(|_| served.1.is_none());
    close(session.channel(), &served);
    End { served, history: History::default(), evidence }
}

/// Returns the outputs that `role` must obtain of `talks`, by clear evaluation.
///
/// # Panics
/// When clear evaluation fails.
#[must_use]
pub fn expected(talks: &[Talk], role: Role) -> Vec<Outputs> {
    let config = with_pool(Backend::Plain, cenote_engine::PoolChoice::OneShot(1));
    let (garbler, evaluator) = sessions(&config, 0, |session, own| {
        let run = |talk: &Talk| {
            let talk = if talk.role() == own { talk.clone() } else { talk.peer() };
            session.run(&talk).map(|outcome| outcome.output)
        };
        talks.iter().map(run).collect::<Result<Vec<Outputs>, Fault>>()
    });
    let outputs = if role == Role::Garbler { garbler } else { evaluator };
    outputs.expect("no party cheats")
}

/// Runs the session with a cheater that garbles and does not cheat, for its history.
///
/// # Panics
/// When the session fails.
#[must_use]
pub fn rehearse(params: &JimuParams, talks: &[Talk], seed: u128) -> History {
    let outcome = run_session(params, &Plan::of(Cheat::None), talks, Role::Evaluator, seed);
    assert_eq!((outcome.honest.1, outcome.cheater.1), (None, None), "an honest session");
    outcome.history
}

/// The plan of a cheat, with a rehearsal where one is needed.
#[must_use]
pub fn plan_of(cheat: Cheat, params: &JimuParams, talks: &[Talk], seed: u128) -> Plan {
    let mut plan = Plan::of(cheat);
    if matches!(cheat.which(), Some(Which::Checked | Which::Used(_))) {
        let history = rehearse(params, talks, seed);
        match cheat {
            Cheat::Gate(flaw, which) => plan.gates.push((history.gates.find(which), flaw)),
            Cheat::Hidden(_) => plan.gates.push((history.gates.find(Which::Checked), Flaw::Nand)),

            _ => {}
        }
    }
    plan
}
