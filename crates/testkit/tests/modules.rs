//! Structured programs on every backend: random ones, and those of the library.

#[path = "../../program/tests/random/mod.rs"]
mod random;

use cenote_circuit::bits_of;
use cenote_circuit::optimise::Options;
use cenote_engine::{Backend, Fault, ModuleJob, ModuleJobs, Role, Session};
use cenote_program::{Module, library};
use cenote_testkit::programs::PERMUTED;
use cenote_testkit::run::{Outputs, roomy, sessions};

use random::{Limits, Random, Sample};

const SMALL: Limits = Limits { statements: 24, width: 5, reveals: true };

/// A run of a module with the inputs of all ports.
fn job<'m>(module: &'m Module, inputs: &[Vec<bool>], role: Role) -> Result<ModuleJob<'m>, Fault> {
    let own = module.inputs().iter().zip(inputs).filter(|(port, _)| port.owner == role);
    ModuleJob::new(module, role, own.map(|(_, bits)| bits.clone()).collect())
}

fn run(session: &mut Session, module: &Module, inputs: &[Vec<bool>]) -> Result<Outputs, Fault> {
    let job = job(module, inputs, session.role())?;
    session.run(&job).map(|outcome| outcome.output)
}

/// Returns the outputs that `role` gets, if `clear` are the outputs.
fn expected(module: &Module, clear: &[Vec<bool>], role: Role) -> Outputs {
    let ports = module.outputs().iter().zip(clear);
    ports.map(|(port, bits)| port.receiver.include(role).then(|| bits.clone())).collect()
}

/// All modules one after the other on one session: as in the clear, at both parties.
fn agree(backend: Backend, modules: &[(Module, Vec<Vec<bool>>)]) {
    let (garbler, evaluator) = sessions(&roomy(backend), 11, |session, _| {
        modules.iter().map(|(module, inputs)| run(session, module, inputs)).collect()
    });
    let results: [Result<Vec<Outputs>, Fault>; 2] = [garbler, evaluator];
    for (role, outputs) in [Role::Garbler, Role::Evaluator].into_iter().zip(results) {
        let outputs = outputs.unwrap_or_else(|fault| panic!("{backend:?}: {fault}"));
        for ((module, inputs), output) in modules.iter().zip(outputs) {
            let clear = module.evaluate(inputs);
            let expected = expected(module, &clear, role);
            assert_eq!(output, expected, "{backend:?}, {role}:\n{}", module.to_text());
        }
    }
}

/// Samples whose ANDs a session does within a moment, with the outputs that the reference gives.
fn samples(count: usize, ands: u64) -> Vec<(Module, Vec<Vec<bool>>)> {
    let cheap = |sample: &Sample| (1..=ands).contains(&sample.module.stats().unwrap().ands);
    let all = (0..).map(|seed| (seed, Sample::new(seed, SMALL)));
    let cheap = all.filter(|(_, sample)| cheap(sample)).filter_map(|(seed, sample)| {
        let inputs = sample.input_bits(seed);
        let reference = sample.reference(&inputs).ok()?;
        assert_eq!(sample.module.evaluate(&inputs), reference);
        Some((sample.module, inputs))
    });
    cheap.take(count).collect()
}

/// Returns the modules that the optimiser makes of samples, as far as it replaced functions in
/// them: the same inputs and outputs.
fn optimised(samples: Vec<(Module, Vec<Vec<bool>>)>) -> Vec<(Module, Vec<Vec<bool>>)> {
    let all = samples.len();
    let replaced = samples.into_iter().filter_map(|(module, inputs)| {
        let (optimised, report) = module.optimised(&Options::default());
        assert_eq!(optimised.evaluate(&inputs), module.evaluate(&inputs));
        (!report.functions.is_empty()).then_some((optimised, inputs))
    });
    let replaced: Vec<_> = replaced.collect();
    assert!(
        replaced.len() * 4 > all,
        "the optimiser replaced something in {} only",
        replaced.len()
    );
    replaced
}

#[test]
fn optimised_modules_by_yao() {
    agree(Backend::Yao, &optimised(samples(60, 3000)));
}

#[test]
fn optimised_modules_by_wrk() {
    agree(Backend::Wrk, &optimised(samples(30, 1500)));
}

#[test]
fn random_modules_in_the_open() {
    agree(Backend::Plain, &samples(150, 5000));
}

#[test]
fn random_modules_by_yao() {
    agree(Backend::Yao, &samples(100, 3000));
}

#[test]
fn random_modules_by_wrk() {
    agree(Backend::Wrk, &samples(50, 1500));
}

#[test]
fn random_modules_by_jimu() {
    agree(Backend::Jimu, &samples(8, 500));
}

/// The library at small sizes, with inputs of a seed.
fn small_library() -> Vec<(Module, Vec<Vec<bool>>)> {
    let modules = [
        library::edit_distance(6, 9, 2),
        library::edit_distance(1, 5, 1),
        library::hamming(77),
        library::sort(6, 5),
        library::mod_exp(8),
    ];
    let mut random = Random(5);
    modules
        .into_iter()
        .map(|module| {
            let module = module.unwrap();
            assert!(module.inputs().iter().any(|port| port.owner == Role::Garbler));
            let bits = |port: &cenote_program::Input| random.bits(port.shape.bits());
            let inputs = module.inputs().iter().map(bits).collect();
            (module, inputs)
        })
        .collect()
}

#[test]
fn the_library_on_every_backend() {
    let modules = small_library();
    for backend in [Backend::Plain, Backend::Yao, Backend::Wrk] {
        agree(backend, &modules);
    }
    agree(Backend::Jimu, &modules[1..4]);
}

/// A memory behind a permutation of both: what scans give in the clear.
#[test]
fn a_permuted_memory_on_every_backend() {
    let module = Module::parse_text(PERMUTED).unwrap();
    let [kept] = module.stats().unwrap().memories[..] else { panic!("one memory") };
    assert_eq!((kept.trees, kept.levels, kept.opens), (0, 1, 5));
    let words = |values: [u128; 4], width| {
        values.into_iter().flat_map(|word| bits_of(word, width)).collect()
    };
    let inputs = vec![words([3, 200, 3, 300], 9), words([71, 5, 9, 1], 64)];
    let clear = [words([0, 0, 71, 0], 64), bits_of(80, 64)];
    assert_eq!(module.evaluate(&inputs), clear);
    for backend in Backend::ALL {
        agree(backend, &[(module.clone(), inputs.clone()), (module.clone(), inputs.clone())]);
    }
}

/// All modules in one run, as in the clear; and that it takes the rounds of the one that takes most alone, if all `open` alike.
fn agree_at_once(backend: Backend, modules: &[(Module, Vec<Vec<bool>>)], open: bool) {
    let (garbler, evaluator) = sessions(&roomy(backend), 12, |session, _| {
        let role = session.role();
        let mut alone = 0;
        for (module, inputs) in modules {
            let one = ModuleJobs::new(vec![job(module, inputs, role)?]);
            alone = alone.max(session.run(&one)?.cost.total().rounds);
        }
        let all = modules.iter().map(|(module, inputs)| job(module, inputs, role));
        let outcome = session.run(&ModuleJobs::new(all.collect::<Result<_, Fault>>()?))?;
        Ok((outcome.output, outcome.cost.total().rounds, alone))
    });
    let results: [Result<_, Fault>; 2] = [garbler, evaluator];
    for (role, result) in [Role::Garbler, Role::Evaluator].into_iter().zip(results) {
        let (outputs, rounds, alone) =
            result.unwrap_or_else(|fault| panic!("{backend:?}: {fault}"));
        assert_eq!(outputs.len(), modules.len());
        for ((module, inputs), output) in modules.iter().zip(outputs) {
            let expected = expected(module, &module.evaluate(inputs), role);
            assert_eq!(output, expected, "{backend:?}, {role}:\n{}", module.to_text());
        }
        assert!(!open || rounds <= alone, "{backend:?}, {role}: {rounds} rounds, {alone} alone");
    }
}

#[test]
fn several_modules_in_one_run() {
    let (random, library) = (samples(12, 800), small_library());
    for backend in [Backend::Plain, Backend::Yao, Backend::Wrk] {
        agree_at_once(backend, &random, false);
        agree_at_once(backend, &library[1..4], backend == Backend::Wrk);
    }
    agree_at_once(Backend::Jimu, &random[..3], false);
}

/// Both sides must mean the same modules in the same order.
#[test]
fn several_modules_in_another_order() {
    let modules = samples(2, 500);
    let (garbler, evaluator) = sessions(&roomy(Backend::Wrk), 13, |session, _| {
        let role = session.role();
        let jobs = modules.iter().map(|(module, inputs)| job(module, inputs, role));
        let mut jobs = jobs.collect::<Result<Vec<_>, Fault>>()?;
        if role == Role::Evaluator {
            jobs.reverse();
        }
        session.run(&ModuleJobs::new(jobs)).map(drop)
    });
    for result in [garbler, evaluator] {
        assert!(matches!(result, Err(Fault::Policy(_))), "{result:?}");
    }
}
