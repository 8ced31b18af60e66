//! Predicted traffic beside that of real sessions, for programs of many kinds on every backend.

use cenote_engine::cost::{Demand, Plan};
use cenote_engine::{Backend, Fault, ModuleJob, PoolChoice, Role, Session, SessionConfig, role_of};
use cenote_net::Traffic;
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
        ("one conjunction", parsed(ONE)),
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

const ONE: &str = "cenote 1\nprogram one \"one conjunction\"
input x: garbler bits b1
input y: evaluator bits b1
{
  %2 = and %0, %1
}
output z: both bits %2
";

/// A session with one job: its traffic seen from the garbler.
fn session(config: &SessionConfig, module: &Module) -> Traffic {
    let ends = run_pair_over(patient_pair(), |channel, role| {
        let mut session = Session::open_seeded(channel, role, config, prg_of(role, 7))?;
        let own = module.inputs().iter().filter(|port| role_of(port.owner) == role);
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
    let bytes = [counted.bytes_sent, counted.bytes_received];
    for role in [Role::Garbler, Role::Evaluator] {
        let place = role as usize;
        assert!(off(predicted.bytes[place], bytes[place]) < 0.1, "bytes from the {role}: {what}");
    }
    let rounds = predicted.rounds.abs_diff(counted.rounds);
    assert!(rounds <= 3 + counted.rounds / 10, "rounds: {what}");
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
