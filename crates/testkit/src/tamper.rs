//! Sessions in which one side's frames are changed on their way out.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use cenote_circuit::Clear;
use cenote_engine::{Backend, Fault, Receivers, Role, Session, SessionConfig};
use cenote_net::{Channel, Channels, Deviation, Recording, Tag, Witness};

use crate::pair::run_pair_over;
use crate::programs::{Kind, TestProgram};
use crate::run::{
    Outputs, expected, extendable_pair, pair_with_limit, prg_of, run_program, smallest,
};

/// Requests of a session, so that the first frame of most tags has a successor.
pub const REQUESTS: usize = RECEIVERS.len();

/// Who receives the outputs of each request. The first and the last have more frames after every
/// message of the one in between.
const RECEIVERS: [Receivers; 3] = [Receivers::Both, Receivers::Garbler, Receivers::Both];

/// How the honest side of a session ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ending {
    /// Requests that gave the right output.
    pub right: usize,
    /// Requests that gave a wrong one.
    pub wrong: usize,
    /// The fault that ended the session, if it did not reach its end.
    pub fault: Option<Fault>,
    /// Whether the deviation found its frame.
    pub happened: bool,
}

/// The function that sets up a rule for [`Channel::tamper`] or [`Channel::deviate`].
pub type SetUp<'a> = &'a (dyn Fn(&mut Channel) -> Witness + Sync);

/// Runs a session in which `from` sends the frame with this tag and `index` others before it
/// changed; tells how it ended for the other side. Both give up on a peer that is silent for longer
/// than `timeout`.
#[must_use]
pub fn deviate(
    config: &SessionConfig,
    (tag, from, index): (Tag, Role, usize),
    deviation: Deviation,
    timeout: Duration,
    seed: u128,
) -> Ending {
    cheat(config, from, &|channel| channel.deviate(tag, index, deviation.clone()), timeout, seed)
}

/// [`deviate`] with a frame of the first data channel.
#[must_use]
pub fn deviate_beside(
    config: &SessionConfig,
    (tag, from, index): (Tag, Role, usize),
    deviation: Deviation,
    timeout: Duration,
    seed: u128,
) -> Ending {
    let witness = Arc::new(Mutex::new(Witness::default()));
    let found = Arc::clone(&witness);
    let channels = extendable_pair(timeout, move |role, data| {
        if role == from {
            *found.lock().expect("no panic") = data.deviate(tag, index, deviation.clone());
        }
    });
    let (g, e) = run_pair_over(channels, |channels, role| serve(config, channels, role, seed));
    let served = if from == Role::Garbler { e } else { g };
    let (right, wrong, fault) = judge(served, from.peer(), seed);
    let happened = witness.lock().expect("no panic").happened();
    Ending { right, wrong, fault, happened }
}

/// Runs a session in which `from` cheats by `set_up`; tells how it ended for the other side.
#[must_use]
pub fn cheat(
    config: &SessionConfig,
    from: Role,
    set_up: SetUp<'_>,
    timeout: Duration,
    seed: u128,
) -> Ending {
    let (mut garbler, mut evaluator) = pair_with_limit(timeout);
    let cheater = if from == Role::Garbler { &mut garbler } else { &mut evaluator };
    let witness = set_up(cheater);
    let channels = (garbler, evaluator);
    let (g, e) = run_pair_over(channels, |channel, role| serve(config, channel, role, seed));
    let served = if from == Role::Garbler { e } else { g };
    let (right, wrong, fault) = judge(served, from.peer(), seed);
    Ending { right, wrong, fault, happened: witness.happened() }
}

/// Serves the requests as `role` over `channel`, whatever is at its other end: right outputs, wrong
/// outputs, the fault that ended the session.
#[must_use]
pub fn against(
    backend: Backend,
    channel: Channel,
    role: Role,
    seed: u128,
) -> (usize, usize, Option<Fault>) {
    judge(serve(&smallest(backend), channel, role, seed), role, seed)
}

fn judge(
    (outputs, fault): (Vec<Outputs>, Option<Fault>),
    role: Role,
    seed: u128,
) -> (usize, usize, Option<Fault>) {
    let right = (0..).zip(&outputs).filter(|(request, output)| {
        let (program, inputs, to) = request_of(seed, *request);
        **output == expected(&Clear::eval(&program, &inputs), to, role)
    });
    let right = right.count();
    (right, outputs.len() - right, fault)
}

/// The program, inputs and receivers of a request.
fn request_of(seed: u128, request: usize) -> (TestProgram, Vec<Vec<bool>>, Receivers) {
    let program = TestProgram(Kind::Small);
    let inputs = program.inputs(seed << 8 | request as u128);
    (program, inputs, RECEIVERS[request])
}

/// One side: the outputs that it obtained and the fault that stopped it.
fn serve(
    config: &SessionConfig,
    channels: impl Into<Channels>,
    role: Role,
    seed: u128,
) -> (Vec<Outputs>, Option<Fault>) {
    let mut outputs = Vec::new();
    let channels = channels.into();
    let kept = usize::from(channels.can_open());
    let opened = Session::open_seeded(channels, role, config, prg_of(role, seed));
    let opened = opened.and_then(|mut session| session.keep(kept, kept).map(|()| session));
    let mut session = match opened {
        Ok(session) => session,
        Err(fault) => return (outputs, Some(fault)),
    };
    for request in 0..REQUESTS {
        let (program, inputs, to) = request_of(seed, request);
        match run_program(&mut session, &program, &inputs, to) {
            Ok(output) => outputs.push(output),
            Err(fault) => return (outputs, Some(fault)),
        }
    }
    session.close();
    (outputs, None)
}

/// All frames of an honest session of the smallest kind, recorded at the garbler.
///
/// # Panics
/// When the session fails.
#[must_use]
pub fn record(backend: Backend, seed: u128) -> Recording {
    record_of(&smallest(backend), seed)
}

/// All frames of an honest session, recorded at the garbler.
///
/// # Panics
/// When the session fails.
#[must_use]
pub fn record_of(config: &SessionConfig, seed: u128) -> Recording {
    let (mut garbler, evaluator) = crate::run::patient_pair();
    let recording = garbler.record();
    let (g, e) =
        run_pair_over((garbler, evaluator), |channel, role| serve(config, channel, role, seed));
    assert_eq!((g.1, e.1), (None, None), "an honest session");
    recording
}

/// All frames of the first data channel of an honest session, if there is one, recorded at the garbler.
///
/// # Panics
/// When the session fails.
#[must_use]
pub fn record_beside(config: &SessionConfig, seed: u128) -> Recording {
    let recording = Arc::new(Mutex::new(Recording::default()));
    let kept = Arc::clone(&recording);
    let channels = extendable_pair(Duration::from_secs(30), move |role, data| {
        if role == Role::Garbler {
            *kept.lock().expect("no panic") = data.record();
        }
    });
    let (g, e) = run_pair_over(channels, |channels, role| serve(config, channels, role, seed));
    assert_eq!((g.1, e.1), (None, None), "an honest session");
    Arc::into_inner(recording).expect("the hooks are gone").into_inner().expect("no panic")
}
