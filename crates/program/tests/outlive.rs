//! Memories that outlive a run: both forms, what is refused, and what a machine is asked for.

use std::collections::BTreeMap;
use std::convert::Infallible;

use cenote_circuit::{
    Broken, Draw, Gates, Plan, PutAway, Ram, Reactive, Role, Start, bits_of, value_of,
};
use cenote_program::{
    Builder, Host, Kind, Module, NamedMemory, PortPath, Remembering, Shape, Version,
};

/// A total that each run adds to.
const ADDS: &str = r#"cenote 3
program adds "adds to a total"
input x: a uint b8
memory total: found uint b8
memory seen[2].at: found uint b4
memory seen[2].flag[3]: found bool b1
{
  %4 = add %1, %0
}
keep total: %4
keep seen.at: %2
keep seen.flag: %3
output z: both uint %4
"#;

fn read(text: &str) -> Module {
    Module::parse_text(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn refusal(text: &str) -> String {
    Module::parse_text(text).unwrap_err().to_string()
}

#[test]
fn both_forms_have_the_memories() {
    let module = read(ADDS);
    assert_eq!((module.version(), module.to_text().as_str()), (Version::Three, ADDS));
    assert_eq!(Module::from_bytes(&module.to_bytes()).as_ref(), Ok(&module));
    let shapes: Vec<_> = module.memories().iter().map(|m| (m.name.as_str(), m.shape)).collect();
    let expected = [
        ("total", Shape::word(8)),
        ("seen.at", Shape::vector(2, 4)),
        ("seen.flag", Shape::vector(6, 1)),
    ];
    assert_eq!(shapes, expected);
    // No ports: neither side provides or receives them.
    assert_eq!((module.signature().inputs.len(), module.signature().outputs.len()), (1, 1));
    assert!(module.stream().is_none(), "gates alone cannot find what was left");
    let smaller = module.optimised(&cenote_circuit::optimise::Options::default()).0;
    assert_eq!((smaller.memories(), smaller.version()), (module.memories(), Version::Three));
    for (old, new) in [("found uint b8", "new uint b8"), ("keep total: %4", "keep total: %1")] {
        assert_ne!(read(&ADDS.replace(old, new)).digest(), module.digest(), "{new}");
    }
}

#[test]
fn a_run_finds_what_the_last_one_left() {
    let begins = read(
        "cenote 3\nprogram p \"\"\nmemory total: new uint b8\n{\n %1 = const b8 0x07\n %2 = add %0, %1\n}\nkeep total: %2\n",
    );
    // The sum of zeros and a constant is known when the program is counted.
    assert_eq!(begins.stats().unwrap().ands, 0);
    let adds = read(
        "cenote 3\nprogram q \"\"\ninput x: a uint b8\nmemory total: found uint b8\n{\n %2 = add %1, %0\n}\nkeep total: %2\noutput z: both uint %2\n",
    );
    assert_eq!(adds.stats().unwrap().ands, 7, "what was left is secret");
    let ends = read(
        "cenote 3\nprogram r \"\"\nmemory total: found uint b8\n{\n}\noutput z: both uint %0\n",
    );
    let mut host = Remembering::default();
    let mut run = |module: &Module, inputs: &[u128]| {
        let inputs = inputs.iter().map(|x| bits_of(*x, 8)).collect();
        let Ok(outputs) = module.run_on(&mut host, inputs);
        (outputs.iter().map(|bits| value_of(bits)).collect::<Vec<_>>(), host.0.len())
    };
    assert_eq!(run(&begins, &[]), (vec![], 1));
    assert_eq!(run(&adds, &[5]), (vec![12], 1));
    assert_eq!(run(&adds, &[250]), (vec![6], 1));
    assert_eq!(run(&ends, &[]), (vec![6], 0), "nothing was left in it");
    // A machine on which nothing outlives a run finds zeros.
    assert_eq!(adds.evaluate(&[bits_of(5, 8)]), [bits_of(5, 8)]);
}

#[test]
fn what_is_no_memory_is_refused() {
    let cases = [
        (ADDS.replace("cenote 3", "cenote 2"), "expected `function`, `circuit`, `input`, or `{`"),
        (ADDS.replace("keep seen.flag: %3\n", ""), "nothing is left in a part of it"),
        (ADDS.replace("keep total: %4", "keep totals: %4"), "no memory `totals`"),
        (ADDS.replace("keep total: %4", "keep total: %2"), "is b8, not 2xb4"),
        (ADDS.replace("keep total: %4", "keep total: %4\nkeep total: %4"), "left in it already"),
        (ADDS.replace("at: found", "at: new"), "all parts of a memory begin, or none"),
        (ADDS.replace("total: found", "total: old"), "expected new or found"),
        (ADDS.replace("memory total", "memory seen"), "does not go with"),
        ("cenote 3\nprogram p \"\"\n{\n}\n".into(), "a program of version 3 has a memory"),
    ];
    for (text, expected) in cases {
        let refused = refusal(&text);
        assert!(refused.contains(expected), "{refused}\n{text}");
    }
}

#[test]
fn memories_come_between_inputs_and_statements() {
    let mut b = Builder::new("p", "").unwrap();
    let x = b.input("x", cenote_circuit::Role::Garbler, Kind::UInt, Shape::word(8)).unwrap();
    let memory =
        |b: &mut Builder, name: &str| b.memory_at(PortPath::flat(name, 1), true, Kind::UInt, 8);
    memory(&mut b, "m").unwrap();
    assert!(b.input("y", cenote_circuit::Role::Garbler, Kind::UInt, Shape::word(8)).is_err());
    b.word(cenote_program::WordOp::Not, &[], &[x]).unwrap();
    let late = memory(&mut b, "n").unwrap_err().to_string();
    assert!(late.contains("comes after a statement"), "{late}");
}

/// Updates sixteen rows of a memory, and shows what they were.
fn updates(rows: u32, accesses: u32, begins: &str) -> Module {
    read(&format!(
        "cenote 4\nprogram u \"\"\ninput at[16]: a uint b14\ninput put[16]: b uint b16\nmemory m[{rows}]: {begins} ram {accesses} uint b16\n{{\n\
        %none = const 16xb16 all 0x0\n%on = const b1 0x1\n\
        %end, %read = for 16 (%2, %none) {{ |%t, %r|\n\
        %i = lanes{{at=0+1*i0, count=1, stride=1}} %0\n%x = lanes{{at=0+1*i0, count=1, stride=1}} %1\n\
        %old = lookup %t, %i\n%new = add %old, %x\n%s = store %t, %i, %new, %on\n\
        %q = put{{at=0+1*i0}} %r, %old\nyield %s, %q }}\n}}\nkeep m: %end\noutput read[16]: both uint %read\n"
    ))
}

/// The clear, where random access memories outlive a run as they are.
#[derive(Default)]
struct Keeping {
    kept: BTreeMap<String, PutAway<bool>>,
    rows: Remembering,
    ands: u64,
    opens: u64,
    coins: u64,
}

impl Gates for Keeping {
    type Wire = bool;
    type Error = Infallible;

    fn constant(&mut self, bit: bool) -> Result<bool, Infallible> {
        Ok(bit)
    }
    fn xor(&mut self, a: &bool, b: &bool) -> Result<bool, Infallible> {
        Ok(a ^ b)
    }
    fn not(&mut self, a: &bool) -> Result<bool, Infallible> {
        Ok(!a)
    }
    fn and(&mut self, a: &bool, b: &bool) -> Result<bool, Infallible> {
        self.ands += 1;
        Ok(a & b)
    }
}

impl Reactive for Keeping {
    fn open(&mut self, bits: &[bool]) -> Result<Vec<bool>, Infallible> {
        self.opens += 1;
        Ok(bits.to_vec())
    }
    fn toss(&mut self, bits: usize) -> Result<Vec<bool>, Infallible> {
        Ok((0..bits).map(|_| self.coin() >> 63 == 1).collect())
    }
    fn own_inputs(&mut self, _: Role, _: usize, draw: &Draw<'_>) -> Result<Vec<bool>, Infallible> {
        Ok(draw(&mut || self.coin()).to_vec())
    }
    fn broken(&mut self, why: Broken) -> Infallible {
        panic!("{why:?}")
    }
}

impl Keeping {
    fn coin(&mut self) -> u64 {
        self.coins = self.coins.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.coins ^ self.coins >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }
}

impl Host for Keeping {
    fn reveal(&mut self, bits: &[bool]) -> Result<Vec<bool>, Infallible> {
        self.open(bits)
    }
    fn found(&mut self, memory: &NamedMemory) -> Result<Vec<bool>, Infallible> {
        self.rows.found(memory)
    }
    fn leave(&mut self, memory: &NamedMemory, wires: &[bool]) -> Result<(), Infallible> {
        self.kept.remove(&memory.name);
        self.rows.leave(memory, wires)
    }
    fn found_ram(&mut self, memory: &NamedMemory, plan: &Plan) -> Result<Ram<bool>, Infallible> {
        let away = self.kept.remove(&memory.name).expect("it was left");
        Ram::found(self, plan.clone(), away)
    }
    fn leave_ram(&mut self, memory: &NamedMemory, ram: Ram<bool>) -> Result<(), Infallible> {
        let away = ram.put_away(self)?;
        self.kept.insert(memory.name.clone(), away);
        Ok(())
    }
    fn memories(&mut self) -> Option<&mut (dyn Reactive<Wire = bool, Error = Infallible> + '_)> {
        Some(self)
    }
}

/// A thousand updates of the rows of a memory over many runs, of zeros and of given rows, against an array; the price of each run is not below what it takes.
#[test]
fn a_random_access_memory_goes_from_run_to_run() {
    for (rows, accesses, in_trees) in
        [(3000, 2000, false), (4096, 1 << 20, true), (20, 2000, false)]
    {
        let begins = updates(rows, accesses, "new");
        let goes_on = updates(rows, accesses, "found");
        let plan = goes_on.memories()[0].plan();
        assert_eq!(plan.is_some(), rows > 20, "few rows are scanned");
        assert_eq!(plan.is_some_and(|plan| !plan.trees.is_empty()), in_trees);
        assert_eq!(plan, begins.memories()[0].plan());
        let mut array = vec![0u128; rows as usize];
        let mut host = Keeping::default();
        let runs = if in_trees { 12 } else { 64 };
        let mut totals = [0, 0];
        for run in 0..runs {
            let module = if run == 0 { &begins } else { &goes_on };
            // Some places come again, some are beyond the end.
            let places = (0..16).map(|i: u64| {
                u128::from(host.coin() % [5, 50, u64::from(rows) + 3][i as usize % 3])
            });
            let places: Vec<u128> = places.collect();
            let words: Vec<u128> = (0..16).map(|_| u128::from(host.coin() % (1 << 16))).collect();
            let mut expected = Vec::new();
            for (place, word) in places.iter().zip(&words) {
                let here = array.get_mut(*place as usize);
                expected.push(here.as_ref().map_or(0, |row| **row));
                here.into_iter().for_each(|row| *row = (*row + word) % (1 << 16));
            }
            let bits = |words: &[u128], width: usize| {
                words.iter().flat_map(|w| bits_of(*w, width)).collect()
            };
            let before = (host.ands, host.opens);
            let Ok(outputs) = module.run_on(&mut host, vec![bits(&places, 14), bits(&words, 16)]);
            let read: Vec<u128> = outputs[0].chunks(16).map(value_of).collect();
            assert_eq!(read, expected, "run {run} of {rows} rows");
            let stats = module.stats().unwrap();
            let (ands, opens) = (host.ands - before.0, host.opens - before.1);
            assert!(ands <= stats.ands && opens <= stats.reveals, "{ands} {opens} {stats:?}");
            totals[0] += ands;
            totals[1] += stats.ands;
        }
        // A run is priced for a shuffle if one may come in it: about one run in ten has one.
        let most = if in_trees { totals[0] } else { 10 * totals[0] };
        assert!(totals[1] <= most, "{rows} rows: {totals:?}");
    }
}

/// A memory may begin with rows that the run makes; then a program reads them, and ends it.
#[test]
fn a_random_access_memory_begins_with_rows() {
    let begins = read(
        "cenote 4\nprogram b \"\"\ninput t[3000]: a uint b16\nmemory m[3000]: new ram 900 uint b16\n{\n}\nkeep m: %0\n",
    );
    let ends = read(
        "cenote 4\nprogram e \"\"\ninput i: b uint b12\nmemory m[3000]: found ram 900 uint b16\n{\n %x = lookup %1, %0\n}\noutput x: both uint %x\n",
    );
    assert!(ends.memories()[0].plan().is_some());
    let spends = |module: &Module| module.memories()[0].ram.as_ref().map(|ram| ram.spends);
    assert_eq!((spends(&begins), spends(&ends)), (Some(0), Some(1)));
    let mut host = Keeping::default();
    let rows = (0..3000).flat_map(|row: u128| bits_of(row * 21, 16)).collect();
    let Ok(_) = begins.run_on(&mut host, vec![rows]);
    assert_eq!(host.ands, begins.stats().unwrap().ands);
    assert_eq!(host.kept.len(), 1);
    let Ok(outputs) = ends.run_on(&mut host, vec![bits_of(2999, 12)]);
    assert_eq!(value_of(&outputs[0]), 2999 * 21);
    assert!(host.kept.is_empty(), "nothing was left in it");
    // Where nothing is kept so, it is rows.
    let mut clear = Remembering::default();
    let Ok(_) =
        updates(3000, 900, "new").run_on(&mut clear, vec![vec![false; 16 * 14], vec![true; 256]]);
    assert_eq!(clear.0["m"].len(), 3000 * 16);
}

#[test]
fn both_forms_have_random_access_memories() {
    let module = updates(1000, 2000, "found");
    let text = module.to_text();
    assert!(
        text.starts_with("cenote 4\n") && text.contains("memory m[1000]: found ram 2000 uint b16")
    );
    assert_eq!(read(&text), module);
    assert_eq!(Module::from_bytes(&module.to_bytes()).as_ref(), Ok(&module));
    assert_ne!(module.digest(), updates(1000, 2001, "found").digest());
    let smaller = module.optimised(&cenote_circuit::optimise::Options::default()).0;
    assert_eq!(smaller.memories()[0].ram, module.memories()[0].ram);
    // Another bound, another stash, and nothing else.
    let plan = |module: &Module| module.memories()[0].plan().cloned().expect("trees");
    let (module, mut rarer) = (updates(4096, 1 << 20, "found"), updates(4096, 1 << 20, "found"));
    rarer.share_bound(80);
    assert_eq!(plan(&rarer).needs.epsilon, 80);
    assert!(plan(&rarer).trees[0].stash > plan(&module).trees[0].stash);
    assert_eq!((rarer.digest(), plan(&rarer).layout), (module.digest(), plan(&module).layout));
}

#[test]
fn what_is_no_random_access_memory_is_refused() {
    let good = updates(1000, 2000, "found").to_text();
    let cases = [
        (good.replace("cenote 4", "cenote 3"), "bits, bool, uint"),
        (good.replace("ram 2000", "ram 0"), "no accesses in its life"),
        (good.replace("ram 2000", "ram 15"), "has 15 accesses in its life, this program takes 16"),
        (good.replace("ram 2000", "ram"), "the accesses of its life"),
        (good.replace("ram 2000 ", ""), "a program of version 4 has a memory `ram`"),
        (good.replace("keep m: %", "output m[1000]: both uint %"), "lookup and store alone"),
        (
            "cenote 4\nprogram p \"\"\nmemory m[9]: found ram 9 uint b8\n{\n %1 = not %0\n}\nkeep m: %1\n".into(),
            "lookup and store alone",
        ),
        (
            "cenote 4\nprogram p \"\"\nmemory m[9]: found ram 9 uint b8\nmemory n[9]: new uint b8\n{\n}\nkeep m: %0\nkeep n: %0\n".into(),
            "lookup and store alone",
        ),
        (
            "cenote 4\nprogram p \"\"\nmemory m[33554432]: new ram 9 bool b1\n{\n}\n".into(),
            "too many rows",
        ),
    ];
    for (text, expected) in cases {
        let refused = refusal(&text);
        assert!(refused.contains(expected), "{refused}\n{text}");
    }
}

/// What a run finds and what it leaves is counted, besides its gates.
#[test]
fn bits_that_are_found_and_left_are_counted() {
    let text = |memory: &str| {
        format!("cenote 3\nprogram p \"\"\nmemory m[100]: {memory} uint b8\n{{\n}}\nkeep m: %0\n")
    };
    for (memory, counts) in [("new", (0, 800)), ("found", (800, 800))] {
        let stats = Module::parse_text(&text(memory)).unwrap().stats().unwrap();
        assert_eq!((stats.found_bits, stats.left_bits), counts, "{memory}");
    }
    let ends = text("found").replace("keep m: %0\n", "");
    let stats = Module::parse_text(&ends).unwrap().stats().unwrap();
    assert_eq!((stats.found_bits, stats.left_bits), (800, 0));
    let stats = updates(3000, 2000, "found").stats().unwrap();
    let plan = updates(3000, 2000, "found").memories()[0].plan().unwrap().clone();
    let counts = (plan.woken_wires(16), plan.resting_wires());
    assert_eq!((stats.found_bits, stats.left_bits), counts, "what its accesses come to, and all");
    assert_eq!(
        stats.wakes,
        1 + 16 * plan.trees.len() as u64,
        "at first, and each access in each tree"
    );
}

/// Rows of a memory are no values beside it, and most of a tree rests.
#[test]
fn what_rests_in_a_memory_is_counted_apart() {
    let [found, new] = ["found", "new"].map(|begins| updates(8192, 1 << 20, begins));
    let plan = found.memories()[0].plan().unwrap().clone();
    assert!(!plan.trees.is_empty());
    let [found, new] = [found, new].map(|module| module.stats().unwrap());
    let held = plan.resting_wires();
    assert!((held..held + 2000).contains(&found.live_bits), "{found:?}");
    let awake = plan.awake_wires(16, Start::Found, true);
    assert!((awake..awake + 2000).contains(&found.awake_bits), "{found:?}");
    assert!(3 * awake < held, "{awake} of {held}");
    assert!(new.live_bits < held / 2, "what no access came to is not there yet");
}

/// A shuffle may come in each run, and does so once in a period.
#[test]
fn what_runs_take_on_average_is_counted() {
    let stats = updates(3000, 2000, "found").stats().unwrap();
    let kept = &stats.memories[0];
    assert!(kept.levels > 0 && kept.trees == 0, "square-root ORAM: {kept:?}");
    let plan = updates(3000, 2000, "found").memories()[0].plan().unwrap().clone();
    assert_eq!(kept.spare_ands, plan.upkeep_spare(16));
    // All runs of a long life, one after the other, take what they do on average.
    let each = plan.access(14, cenote_circuit::Kind::Update).ands;
    let (all, runs) = (1_000_000, 1_000_000 / 16);
    let exact = plan.upkeep(all).ands + all * each;
    let said = runs * (plan.upkeep_later(16).ands - kept.spare_ands + 16 * each);
    assert!(said.abs_diff(exact) < exact / 1000, "{said} for {exact}");
}
