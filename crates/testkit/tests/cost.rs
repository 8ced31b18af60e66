//! Predicted traffic beside that of real sessions, for programs of many kinds on every backend.

use std::sync::atomic::AtomicU64;

use cenote_circuit::Rows;
use cenote_engine::backends::Protocol;
use cenote_engine::backends::wrk::WrkSession;
use cenote_engine::backends::yao::{YaoParams, YaoSession};
use cenote_engine::cost::{Demand, Flow, Link, Machine, Plan};
use cenote_engine::{
    Backend, Fault, Metered, ModuleJob, PoolChoice, Rho, Role, Session, SessionConfig, WrkParams,
};
use cenote_net::{BOUND_LEN, Phase, Traffic};
use cenote_ot::Choice;
use cenote_prim::SessionId;
use cenote_program::{Module, library};
use cenote_testkit::adversary::entries;
use cenote_testkit::programs::PERMUTED;
use cenote_testkit::run::{config, patient_pair, prg_of, with_pool};
use cenote_testkit::run_pair_over;
use cenote_testkit::stats::in_parallel;

/// Programs with chains, wide batches, multiplexers of many widths, maps, reveals, receivers of each
/// kind, and more inputs than gates.
fn programs() -> Vec<(&'static str, Module)> {
    let parsed =
        |text: &str| Module::parse_text(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    vec![
        ("edit distance", library::edit_distance(24, 24, 2).expect("small")),
        ("sort", library::sort(40, 24).expect("small")),
        ("hamming", library::hamming(3000).expect("small")),
        ("multiplexers", parsed(MULTIPLEXERS)),
        ("reactive", parsed(REACTIVE)),
        ("products", parsed(PRODUCTS)),
        ("one AND", parsed(ONE)),
        ("no AND", parsed(&ONE.replace("and %0", "xor %0"))),
        ("to the garbler", parsed(&ONE.replace("z: both", "z: garbler"))),
        ("no AND, to the garbler", parsed(NONE)),
        ("to the evaluator", parsed(&ONE.replace("z: both", "z: evaluator"))),
        ("many inputs", parsed(INPUTS)),
        ("reveals without ANDs", parsed(REVEALS)),
        ("several chunks", parsed(CHUNKS)),
        ("memory", parsed(MEMORY)),
    ]
}

/// Reads and writes a table in a loop, at places that depend on what is read.
const MEMORY: &str = "cenote 1
program memory \"walks through a table\"
input t: garbler uint 20xb5
input i: evaluator uint b5
{
  %2, %3 = for 6 (%0, %1) { |%4, %5|
    %6 = lookup %4, %5
    %7 = slice{lo=0, width=1} %6
    %8 = store %4, %6, %5, %7
    yield %8, %6
  }
}
output u: both uint %2
output z: evaluator uint %3
";

const MULTIPLEXERS: &str = "cenote 1\nprogram mux \"chooses\"
input s: garbler bits 40xb1
input x: garbler bits 40xb100
input y: evaluator bits 40xb100
{
  %3 = map 40 (%0, %1, %2) { |%4, %5, %6|
    %7 = mux %4, %5, %6
    yield %7
  }
  %8 = rxor{groups=1} %3
  %9 = lanes{at=0, count=1, stride=1} %0
  %10 = mux %9, %1, %2
  %11 = rxor{groups=1} %10
  %12 = xor %8, %11
}
output z: evaluator bits %12
";

const REACTIVE: &str = "cenote 1\nprogram reactive \"opens on the way\"
input x: garbler uint b16
input y: evaluator uint b16
{
  %2 = for 5 (%0) { |%3|
    %4 = mul %3, %1
    %5 = slice{lo=0, width=1} %4
    %6 = reveal %5
    %7 = if %6 { %8 = add %4, %1 yield %8 } else { %9 = add %4, %0 yield %9 }
    yield %7
  }
}
output z: garbler uint %2
";

const PRODUCTS: &str = "cenote 1\nprogram products \"multiplies\"
input x: garbler uint 20xb32
input y: evaluator uint 20xb32
{
  %2 = mulfull %0, %1
  %3 = sum{width=64, groups=1} %2
}
output g: garbler uint %3
output e: evaluator uint %3
";

const ONE: &str = "cenote 1\nprogram one \"one AND\"
input x: garbler bits b1
input y: evaluator bits b1
{
  %2 = and %0, %1
}
output z: both bits %2
";

const NONE: &str = "cenote 1
program none \"the evaluator's input, to the garbler\"
input x: evaluator bits b8
input y: evaluator bits b8
{
  %2 = xor %0, %1
}
output z: garbler bits %2
";

const INPUTS: &str = "cenote 1
program inputs \"inputs of both, in turns\"
input a: garbler bits b8
input b: garbler bits b8
input c: evaluator bits b8
input d: evaluator bits 9xb1000
input e: garbler bits 9xb1000
input f: evaluator bits b8
{
  %6 = and %0, %2
  %7 = xor %6, %5
}
output y: garbler bits %7
output z: evaluator bits %3
";

/// Opens a value three times in a row, in a loop after a loop, with ANDs in some places only.
const REVEALS: &str = "cenote 1
program reveals \"opens more than it computes\"
input x: garbler uint b8
input y: evaluator uint b8
{
  %2 = reveal %0
  %3 = reveal %1
  %4 = for 3 (%0) { |%5|
    %6 = reveal %5
    %7 = xor %5, %1
    yield %7
  }
  %8 = for 4 (%4) { |%9|
    %10 = mul %9, %1
    %11 = reveal %10
    %12 = reveal %1
    yield %10
  }
  %13 = and %8, %1
}
output z: both uint %13
";

const CHUNKS: &str = "cenote 1
program chunks \"ANDs alone, for three chunks\"
input x: garbler bits 1000xb40
input y: evaluator bits 1000xb40
{
  %2 = and %0, %1
}
output z: both bits %2
";

/// The inputs of `role`, all bits set.
fn ones(module: &Module, role: Role) -> Vec<Vec<bool>> {
    let own = module.inputs().iter().filter(|port| port.owner == role);
    own.map(|port| vec![true; port.shape.bits()]).collect()
}

/// A session with one job: its traffic seen from the garbler, and its ANDs.
fn session(config: &SessionConfig, module: &Module) -> (Traffic, u64) {
    let ends = run_pair_over(patient_pair(), |channel, role| {
        let mut session = Session::open_seeded(channel, role, config, prg_of(role, 7))?;
        let job = ModuleJob::new(module, role, ones(module, role))?;
        let done = AtomicU64::new(0);
        session.run(&Metered { job, done: &done })?;
        let traffic = session.counters().total();
        session.close();
        Ok::<_, Fault>((traffic, done.into_inner()))
    });
    ends.1.expect("honest");
    ends.0.expect("honest")
}

/// The evaluator of `wrk` opens f and g before it waits for what the garbler sends for inputs.
#[test]
fn labels_of_inputs_hold_up_no_opening() {
    let module = Module::parse_text(ONE).expect("well-formed");
    let ends = run_pair_over(patient_pair(), |channel, role| {
        let mut session = Session::open_seeded(channel, role, &config("wrk"), prg_of(role, 7))?;
        session.stock(1)?;
        let before = session.counters();
        session.run(&ModuleJob::new(&module, role, ones(&module, role))?)?;
        let online = session.counters().since(&before).phase(Phase::Online).rounds;
        session.close();
        Ok::<_, Fault>(online)
    });
    // Hellos, masks, masked values, f and g, the report, the output; hellos, masks, labels with tables, the answer.
    assert_eq!(ends, (Ok(6), Ok(4)));
}

/// The share by which a prediction is off; a few bytes, as names have, do not count.
fn off(predicted: u64, counted: u64) -> f64 {
    let difference = predicted.abs_diff(counted).saturating_sub(40);
    difference as f64 / counted as f64
}

fn compare(config: &SessionConfig, name: &str, module: &Module) {
    let demand = Demand::new(module.stats().expect("small"), &module.signature());
    let plan = Plan::new(config, &demand).expect("sound");
    let predicted = plan.total();
    let (counted, ands) = session(config, module);
    let what = format!("{name} on {config}: {predicted:?}, {counted:?}");
    // The price is that over TLS, where both hellos are bound to the connection.
    let bound = 2 * BOUND_LEN as u64;
    let bytes = [counted.bytes_sent + bound, counted.bytes_received + bound];
    for role in [Role::Garbler, Role::Evaluator] {
        let place = role as usize;
        assert!(off(predicted.bytes[place], bytes[place]) < 0.1, "bytes from the {role}: {what}");
    }
    // Of some hundred refills of a pool the coins may make one more or fewer than the average.
    let off = predicted.rounds.abs_diff(counted.rounds);
    assert!(off <= predicted.rounds / 256, "rounds: {what}");
    assert_eq!(demand.stats.ands, ands, "ANDs: {what}");
}

#[test]
fn traffic_is_predicted() {
    let programs = programs();
    let mut cases = Vec::new();
    for entry in entries() {
        assert!(!entry.plans.is_empty(), "a plan of {}", entry.backend.name());
        for text in entry.plans {
            cases.extend(programs.iter().map(|program| (config(text), program)));
        }
    }
    in_parallel(&cases, |_, (config, (name, module))| {
        let ands = module.stats().expect("small").ands;
        compare(&config.for_ands(ands), name, module);
    });
}

/// Places are opened and control bits entered on the way, so rounds are those but for the chunks of wrk and the checks of jimu.
#[test]
fn memories_behind_permutations_are_priced() {
    let module = Module::parse_text(PERMUTED).expect("well-formed");
    let cases: Vec<SessionConfig> =
        entries().flat_map(|entry| entry.plans).map(|text| config(text)).collect();
    in_parallel(&cases, |_, config| {
        let demand = Demand::new(module.stats().expect("small"), &module.signature());
        let config = config.for_ands(demand.stats.ands);
        let predicted = Plan::new(&config, &demand).expect("sound").total();
        let (counted, ands) = session(&config, &module);
        let what = format!("{config}: {predicted:?}, {counted:?}");
        assert_eq!(demand.stats.ands, ands, "ANDs: {what}");
        // Exchanges of rows are priced as single ANDs, of which wide cores do several at once.
        if config.backend == Backend::Jimu {
            let [least, most] = [1.0, 1.3].map(|times| times * counted.bytes_sent as f64);
            assert!((least..most).contains(&(predicted.bytes[0] as f64)), "{what}");
            return;
        }
        assert!(off(predicted.bytes[0], counted.bytes_sent) < 0.1, "{what}");
        assert!(off(predicted.bytes[1], counted.bytes_received) < 0.1, "{what}");
        assert!(predicted.rounds.abs_diff(counted.rounds) * 10 <= counted.rounds, "{what}");
    });
}

/// Six reads and six writes of 20 rows of five bits: all rows are looked at.
#[test]
fn accesses_to_memories_are_priced_as_scans() {
    let module = Module::parse_text(MEMORY).expect("well-formed");
    let stats = module.stats().expect("small");
    let [accesses] = stats.memories[..] else { panic!("{:?}", stats.memories) };
    let shape = (accesses.rows, accesses.bits, accesses.trees);
    assert_eq!((shape, accesses.reads, accesses.writes), ((20, 5, 0), 6, 6));
    let rows = Rows::new(vec![vec![false; 5]; 20]).expect("of one width");
    let each = [false, true].map(|is_write| rows.ands(5, is_write));
    assert_eq!(accesses.ands, 6 * each.iter().sum::<u64>());
    let demand = Demand::new(stats, &module.signature());
    let plan = Plan::new(&with_pool(Backend::Yao, PoolChoice::OneShot(1)), &demand).expect("sound");
    assert_eq!((plan.access_ands, demand.stats.ands), (accesses.ands, accesses.ands));
}

fn planned<P: Protocol>(params: &P::Params, demand: &Demand) -> Plan {
    let mut plan = Plan::default();
    P::plan(params, demand, &mut plan);
    plan
}

/// A session without handshakes, with one job: its outputs on both sides, and its traffic seen from
/// the garbler.
fn bare<P: Protocol>(params: &P::Params, module: &Module) -> ([String; 2], Traffic)
where
    P::Params: Copy + Sync,
{
    let ends = run_pair_over(patient_pair(), |channel, role| {
        let mut session =
            P::open(channel.into(), SessionId([4; 32]), role, *params, || prg_of(role, 7), None)?;
        let output = session.run(&ModuleJob::new(module, role, ones(module, role))?)?;
        session.channel().flush()?;
        let traffic = session.channel().counters().total();
        session.channel().close();
        Ok::<_, Fault>((format!("{output:?}"), traffic))
    });
    let (garbler, evaluator) = (ends.0.expect("honest"), ends.1.expect("honest"));
    ([garbler.0, evaluator.0], garbler.1)
}

/// What wide digits save is planned to the byte, and what is computed stays.
fn compare_digits<P: Protocol>(params: impl Fn(Choice, u64) -> P::Params)
where
    P::Params: Copy + Sync,
{
    let wide = Choice::softspoken(8).expect("allowed");
    for (name, module) in &programs() {
        let demand = Demand::new(module.stats().expect("small"), &module.signature());
        let [(before, usual), (after, run)] = [Choice::default(), wide].map(|ot| {
            let params = params(ot, demand.stats.ands);
            (planned::<P>(&params, &demand).total(), bare::<P>(&params, module))
        });
        assert_eq!(usual.0, run.0, "{name}");
        let planned = |flow: Flow, role: Role| flow.bytes[role as usize];
        let counted = |t: Traffic| [t.bytes_sent, t.bytes_received];
        for role in [Role::Garbler, Role::Evaluator] {
            let saved = planned(before, role) - planned(after, role);
            let [usual, run] = [usual.1, run.1].map(|traffic| counted(traffic)[role as usize]);
            assert_eq!(usual - run, saved, "{name}, from the {role}");
        }
        assert!(after.bytes[1] < before.bytes[1], "{name}: the evaluator's OTs cost fewer bytes");
    }
}

#[test]
fn wide_digits_of_yao_save_what_is_planned() {
    compare_digits::<YaoSession>(|ot, _| YaoParams { ot });
}

#[test]
fn wide_digits_of_wrk_save_what_is_planned() {
    compare_digits::<WrkSession>(|ot, ands| {
        let derived = WrkParams::derive(PoolChoice::OneShot(ands), Rho::Bits40).expect("sound");
        WrkParams { ot, ..derived }
    });
}

#[test]
fn other_oblivious_transfer_is_worth_its_work_on_slow_lines_alone() {
    let module = library::edit_distance(64, 64, 4).expect("small");
    let demand = Demand::new(module.stats().expect("small"), &module.signature());
    let machine = Machine::typical();
    let fastest = |text: &str, link| {
        let config = config(text).for_ands(demand.stats.ands);
        Plan::fastest_ot(config, &machine, &demand, link).expect("sound").to_string()
    };
    for link in [Link::LOOPBACK, Link::LAN] {
        assert_eq!(fastest("wrk", link), "wrk");
    }
    assert_eq!(fastest("wrk:rho=64", Link::WAN), "wrk:rho=64,ot=softspoken8");
    assert_eq!(fastest("wrk:pool=2000000", Link::WAN), "wrk:pool=2000000,ot=silent");
    // What the owner chose stays.
    assert_eq!(fastest("wrk:ot=softspoken4", Link::WAN), "wrk:ot=softspoken4");
    // The bytes of yao are tables, from the other side.
    assert_eq!(fastest("yao", Link::WAN), "yao");
    assert_eq!(fastest("plain", Link::WAN), "plain");
}
