//! Predicted traffic beside that of real sessions, for programs of many kinds on every backend.

use cenote_engine::cost::{Demand, Plan};
use cenote_engine::{Backend, Fault, ModuleJob, PoolChoice, Role, Session, SessionConfig};
use cenote_net::{BOUND_LEN, Traffic};
use cenote_program::{Module, library};
use cenote_testkit::run::{patient_pair, prg_of, with_pool};
use cenote_testkit::run_pair_over;

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
    ]
}

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

/// A session with one job: its traffic seen from the garbler.
fn session(config: &SessionConfig, module: &Module) -> Traffic {
    let ends = run_pair_over(patient_pair(), |channel, role| {
        let mut session = Session::open_seeded(channel, role, config, prg_of(role, 7))?;
        let own = module.inputs().iter().filter(|port| port.owner == role);
        let own = own.map(|port| vec![true; port.shape.bits()]).collect();
        session.run(&ModuleJob::new(module, role, own)?)?;
        let traffic = session.counters().total();
        session.close();
        Ok::<_, Fault>(traffic)
    });
    ends.1.expect("honest");
    ends.0.expect("honest")
}

/// The share by which a prediction is off; a few bytes, as names have, do not count.
fn off(predicted: u64, counted: u64) -> f64 {
    let difference = predicted.abs_diff(counted).saturating_sub(40);
    difference as f64 / counted as f64
}

fn compare(backend: Backend, pool: PoolChoice, name: &str, module: &Module) {
    let demand = Demand::new(module.stats().expect("small"), &module.signature());
    let config = with_pool(backend, pool);
    let plan = Plan::new(&config, &demand).expect("sound");
    let predicted = plan.total();
    let counted = session(&config, module);
    let what = format!("{name} on {}, {pool:?}: {predicted:?}, {counted:?}", backend.name());
    // The price is that over TLS, where both hellos are bound to the connection.
    let bound = 2 * BOUND_LEN as u64;
    let bytes = [counted.bytes_sent + bound, counted.bytes_received + bound];
    for role in [Role::Garbler, Role::Evaluator] {
        let place = role as usize;
        assert!(off(predicted.bytes[place], bytes[place]) < 0.1, "bytes from the {role}: {what}");
    }
    assert_eq!(predicted.rounds, counted.rounds, "rounds: {what}");
}

fn compare_all(backend: Backend, pools: &[Option<u64>]) {
    for (name, module) in &programs() {
        let ands = module.stats().expect("small").ands;
        for pool in pools {
            let pool = pool.map_or(PoolChoice::OneShot(ands), PoolChoice::Kept);
            compare(backend, pool, name, module);
        }
    }
}

#[test]
fn traffic_of_plain_sessions_is_predicted() {
    compare_all(Backend::Plain, &[None]);
}

#[test]
fn traffic_of_yao_is_predicted() {
    compare_all(Backend::Yao, &[None]);
}

#[test]
fn traffic_of_wrk_is_predicted() {
    compare_all(Backend::Wrk, &[None, Some(20_000)]);
}

#[test]
fn traffic_of_jimu_is_predicted() {
    compare_all(Backend::Jimu, &[Some(1500)]);
}
