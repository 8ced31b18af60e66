//! Tables at secret places: which live in one memory, and what it takes where they do.

use std::convert::Infallible;

use cenote_circuit::optimise::Options;
use cenote_circuit::{Broken, Clear, Draw, Gates, Kind, Layout, Reactive, Role, bits_of, value_of};
use cenote_program::{Accesses, Host, Life, Module, Stats, memory_from};

fn module(body: &str, output: &str) -> Module {
    let text = format!(
        "cenote 1\nprogram tables \"\"\n\
         function two (%t: 5xb8, %i: b3, %x: b8, %e: b1) {{\n\
         %s = store %t, %i, %x, %e\n%u = store %s, %i, %x, %e\n%v = lookup %u, %i\nyield %v\n}}\n\
         input t: garbler uint 5xb8\ninput i: evaluator uint b3\ninput x: evaluator uint b8\n\
         input e: garbler uint b1\n{{\n{body}\n}}\noutput z: both uint {output}\n"
    );
    Module::parse_text(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Versions and life of each table of the main block.
fn lives(body: &str, output: &str) -> Vec<(usize, [u64; 4])> {
    let tables = module(body, output).tables().into_iter();
    let main = tables.filter(|table| table.function.is_none());
    let numbers = |life: Life| [life.reads, life.writes, life.updates, life.public];
    main.map(|table| (table.versions.len(), numbers(table.life))).collect()
}

#[test]
fn a_table_that_is_used_linearly_is_in_one_memory() {
    // Of the three versions the last is an output: it is rows.
    let line = "%a = store %0, %1, %2, %3\n%b = lookup %a, %1\n%c = store %a, %1, %b, %3";
    assert_eq!(lives(line, "%c"), [(2, [0, 1, 1, 0])]);
    assert_eq!(lives(line, "%b"), [(3, [0, 1, 1, 0])]);
    let carried = "%a = for 9 (%0) { |%t| %b = lookup %t, %1\n%s = store %t, %1, %b, %3\nyield %s }\n\
                   %c = lookup %a, %1";
    assert_eq!(lives(carried, "%c"), [(4, [1, 0, 9, 0])]);
    let inner = "%a = for 9 (%0) { |%t| %b = for 2 (%t) { |%u| %s = store %u, %1, %2, %3\nyield %s }\nyield %b }\n\
                 %i = join %1, %1\n%c = lookup %a, %i";
    assert_eq!(lives(inner, "%c"), [(6, [2, 18, 0, 0])]);
    // Lookups alone, from a loop and from a branch.
    let reads = "%k = const b1 0x1\n%a = for 9 (%2) { |%x| %b = lookup %0, %1\nyield %b }\n\
                 %c = if %k { %b = lookup %0, %1\nyield %b } else { yield %2 }";
    assert_eq!(lives(reads, "%c"), [(1, [10, 0, 0, 0])]);
    let called = module("%a = call two (%0, %1, %2, %3)", "%a").tables();
    assert_eq!(called.len(), 1);
    assert_eq!((called[0].versions.len(), called[0].life.writes), (3, 2));
}

#[test]
fn a_table_with_two_versions_alive_is_none() {
    // The old version is read after the store, is an output, or is yielded.
    let late = "%a = store %0, %1, %2, %3\n%b = lookup %0, %1\n%c = store %a, %1, %b, %3\n%d = lookup %c, %1";
    assert_eq!(lives(late, "%d"), [(2, [1, 1, 0, 0])]);
    assert_eq!(lives("%a = store %0, %1, %2, %3", "%0"), []);
    let old = "%a = for 9 (%0) { |%t| %s = store %t, %1, %2, %3\nyield %t }";
    assert_eq!(lives(old, "%a"), []);
    // A block does not use up what is around it.
    let around = "%a = for 9 (%2) { |%x| %s = store %0, %1, %x, %3\n%b = lookup %s, %1\nyield %b }";
    assert_eq!(lives(around, "%a"), [(1, [1, 0, 0, 0])]);
    let branch =
        "%k = const b1 0x1\n%a = if %k { %s = store %0, %1, %2, %3\nyield %s } else { yield %0 }";
    assert_eq!(lives(branch, "%a"), []);
    // Two tables change places from one iteration to the next.
    let swap = "%a, %b = for 9 (%0, %0) { |%t, %u| %s = store %t, %1, %2, %3\nyield %u, %s }";
    assert_eq!(lives(swap, "%a"), [(1, [0, 1, 0, 0])]);
    // The table is the value as well.
    let text =
        "%w = lanes{at=0, count=1, stride=1} %0\n%a = store %w, %1, %w, %3\n%b = lookup %a, %1";
    assert_eq!(lives(text, "%b"), [(1, [1, 0, 0, 0])]);
}

#[test]
fn what_runs_side_by_side_shares_no_memory() {
    let map = "%a = map 5 (%0) { |%t| %b = lookup %0, %1\nyield %b }";
    assert_eq!(lives(map, "%a"), []);
}

#[test]
fn places_that_are_public_cost_scans_nothing() {
    let body = "%k = const b3 0x2\n%r = reveal %1\n%l = add %k, %r\n%a = lookup %0, %k\n%b = lookup %0, %l\n\
                %c = lookup %0, %1\n%d = xor %a, %b\n%e = xor %c, %d";
    assert_eq!(lives(body, "%e"), [(1, [1, 0, 0, 2])]);
}

#[test]
fn memories_are_kept_from_a_number_of_accesses_on() {
    assert_eq!(memory_from(128, 32, false), None);
    assert_eq!(memory_from(1 << 16, 32, false), Some(1));
    // For 2^40 accesses the stash would be too large.
    assert_eq!(memory_from(256, 256, false), Some(1));
    let given = memory_from(1 << 16, 32, true).unwrap();
    assert!((20..200).contains(&given), "{given}");
    // As square-root ORAM, whose positions take something even of zeros.
    let zeros = memory_from(1024, 64, false).unwrap();
    assert!((1..100).contains(&zeros), "{zeros}");
}

/// Clear bits, tossed by a counter; counts ANDs and what is opened.
#[derive(Default)]
struct Counting {
    keeps_memories: bool,
    ands: u64,
    opens: u64,
    opened: u64,
    tossed: u64,
}

impl Gates for Counting {
    type Wire = bool;
    type Error = Infallible;

    fn constant(&mut self, bit: bool) -> Result<bool, Infallible> {
        Clear.constant(bit)
    }

    fn xor(&mut self, a: &bool, b: &bool) -> Result<bool, Infallible> {
        Clear.xor(a, b)
    }

    fn not(&mut self, a: &bool) -> Result<bool, Infallible> {
        Clear.not(a)
    }

    fn and(&mut self, a: &bool, b: &bool) -> Result<bool, Infallible> {
        self.ands += 1;
        Clear.and(a, b)
    }
}

impl Reactive for Counting {
    fn open(&mut self, bits: &[bool]) -> Result<Vec<bool>, Infallible> {
        self.opens += 1;
        self.opened += bits.len() as u64;
        Ok(bits.to_vec())
    }

    fn toss(&mut self, bits: usize) -> Result<Vec<bool>, Infallible> {
        let random = |i: u64| {
            let mixed = (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            mixed >> 63 == 1
        };
        let tossed = (self.tossed..).take(bits).map(random).collect();
        self.tossed += bits as u64;
        Ok(tossed)
    }

    fn own_inputs(
        &mut self,
        owner: Role,
        bits: usize,
        draw: &Draw<'_>,
    ) -> Result<Vec<bool>, Infallible> {
        if owner == Role::Garbler {
            self.tossed += bits as u64;
        }
        let mut seed = self.tossed;
        let drawn = draw(&mut || {
            seed = (seed ^ seed >> 29).wrapping_add(7).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            seed
        });
        assert_eq!(drawn.len(), bits);
        Ok(drawn.to_vec())
    }

    fn broken(&mut self, why: Broken) -> Infallible {
        panic!("{why:?}")
    }
}

impl Host for Counting {
    fn reveal(&mut self, bits: &[bool]) -> Result<Vec<bool>, Infallible> {
        self.open(bits)
    }

    fn memories(&mut self) -> Option<&mut (dyn Reactive<Wire = bool, Error = Infallible> + '_)> {
        if self.keeps_memories { Some(self) } else { None }
    }
}

/// Runs a module with memories and without, compares the results with `expected`, and what was counted with the statistics, which it returns.
fn run(module: &Module, inputs: &[Vec<bool>], expected: &[u128]) -> Stats {
    let stats = module.stats().unwrap();
    for keeps_memories in [true, false] {
        let mut host = Counting { keeps_memories, ..Counting::default() };
        let Ok(outputs) = module.run_on(&mut host, inputs.to_vec());
        let words: Vec<u128> =
            outputs.iter().flat_map(|bits| bits.chunks(16).map(value_of)).collect();
        assert_eq!(words, expected, "{keeps_memories}");
        if keeps_memories {
            assert_eq!(host.ands, stats.ands);
            assert_eq!((host.opens, host.tossed), (stats.reveals, stats.tossed_bits));
            // A flag comes with every leaf but the first.
            assert!(stats.revealed_bits.abs_diff(host.opened) <= stats.reveals);
        } else {
            assert_eq!((host.opens, host.tossed), (0, 0));
        }
    }
    stats
}

fn words(values: impl IntoIterator<Item = u128>, width: usize) -> Vec<bool> {
    values.into_iter().flat_map(|value| bits_of(value, width)).collect()
}

/// 8192 zeros are written at the given places in turn and read at later ones: what a dictionary gives, also beyond the end.
#[test]
fn a_memory_of_zeros_is_kept_in_trees() {
    let text = "cenote 2\nprogram m \"\"\n\
        input at[40]: a uint b14\ninput put[40]: b uint b16\ninput on[40]: b bool b1\n{\n\
        %zero = const 8192xb16 all 0x0\n%none = const 40xb16 all 0x0\n\
        %end, %read = for 40 (%zero, %none) { |%t, %r|\n\
        %i = lanes{at=0+1*i0, count=1, stride=1} %0\n%x = lanes{at=0+1*i0, count=1, stride=1} %1\n\
        %e = lanes{at=0+1*i0, count=1, stride=1} %2\n\
        %old = lookup %t, %i\n%new = add %old, %x\n%s = store %t, %i, %new, %e\n\
        %q = put{at=0+1*i0} %r, %old\nyield %s, %q }\n\
        %k = const b14 0x7\n%last = lookup %end, %k\n}\n\
        output read[40]: both uint %read\noutput last: both uint %last\n";
    let module = Module::parse_text(text).unwrap();
    let places: Vec<u128> =
        (0..40).map(|i| [7, 8191, 8192, 16000, 7, 300 + i / 9][i as usize % 6]).collect();
    let mut memory = vec![0u128; 8192];
    let mut expected = Vec::new();
    for (i, place) in places.iter().enumerate() {
        let old = memory.get(*place as usize).copied();
        expected.push(old.unwrap_or(0));
        if let Some(row) = memory.get_mut(*place as usize).filter(|_| i % 5 != 2) {
            *row += 1000 + i as u128;
        }
    }
    expected.push(memory[7]);
    let on = words((0..40).map(|i| u128::from(i % 5 != 2)), 1);
    let inputs = [words(places, 14), words((0..40).map(|i| 1000 + i), 16), on];
    let stats = run(&module, &inputs, &expected);
    let [accesses] = stats.memories[..] else { panic!("{:?}", stats.memories) };
    assert_eq!((accesses.rows, accesses.bits, accesses.reads, accesses.updates), (8192, 16, 1, 40));
    assert!(accesses.trees > 0 && accesses.opens == 41 * u64::from(accesses.trees));
    assert_eq!((accesses.start_ands, stats.access_ands()), (0, accesses.ands));
    let plan = module.tables()[0].plan.clone().unwrap();
    assert!(!plan.needs.is_given && plan.needs.accesses == 41, "{plan:?}");
    assert_ne!(plan.layout, Layout::Scan);
    let [write, read] = [Kind::Write, Kind::Read].map(|kind| plan.access(14, kind).ands);
    assert_eq!(accesses.ands, 40 * write + read);
}

/// Two tables that begin alike are two memories, also where the optimiser has been.
#[test]
fn an_optimised_program_keeps_its_memories() {
    let text = "cenote 2\nprogram m \"\"\ninput at: a uint b14\ninput put: b uint b16\ninput on: b bool b1\n{\n\
        %x = const 8192xb16 all 0x0\n%y = const 8192xb16 all 0x0\n\
        %s = store %x, %at, %1, %2\n%t = store %y, %1, %1, %2\n\
        %p = lookup %s, %at\n%q = lookup %t, %at\n%r = xor %p, %q\n%twice = xor %p, %q\n\
        %sum = add %r, %twice\n}\noutput sum: both uint %sum\n";
    let module = Module::parse_text(&text.replace("%at", "%0")).unwrap();
    let kept =
        |module: &Module| module.tables().iter().filter(|table| table.plan.is_some()).count();
    let (optimised, _) = module.optimised(&Options::default());
    assert_ne!(optimised.digest(), module.digest());
    assert_eq!((kept(&module), kept(&optimised)), (2, 2));
}

/// Rows are permuted at first and now and then, and taken out where the last version is an output.
#[test]
fn given_rows_are_shuffled_and_taken_out() {
    let text = "cenote 2\nprogram m \"\"\n\
        input t[256]: a uint b16\ninput at: b uint b9\n{\n\
        %wide = zext{width=1024} %0\n%on = const b1 0x1\n%step = const b9 0x3b\n\
        %end, %last = for 260 (%wide, %1) { |%t, %i|\n\
        %x = lookup %t, %i\n%y = zext{width=1024} %i\n%n = add %x, %y\n\
        %s = store %t, %i, %n, %on\n%j = add %i, %step\nyield %s, %j }\n\
        %low = slice{lo=0, width=16} %end\n}\n\
        output t[256]: both uint %low\n";
    let module = Module::parse_text(text).unwrap();
    let mut memory: Vec<u128> = (0..256).map(|i| i * 77 % 65536).collect();
    let inputs = [words(memory.clone(), 16), bits_of(100, 9)];
    let mut at = 100u128;
    for _ in 0..260 {
        if let Some(row) = memory.get_mut(at as usize) {
            *row = (*row + at) % 65536;
        }
        at = (at + 59) % 512;
    }
    let stats = run(&module, &inputs, &memory);
    let kept: Vec<&Accesses> = stats.memories.iter().filter(|kept| kept.levels > 0).collect();
    let [accesses] = kept[..] else { panic!("{:?}", stats.memories) };
    assert_eq!((accesses.reads, accesses.updates), (256, 260));
    // A place in each access, and some shuffles.
    assert!((517..550).contains(&accesses.opens), "{}", accesses.opens);
    assert!(accesses.start_ands > 0 && stats.access_ands() == accesses.ands + accesses.start_ands);
}

/// While many rows are put in, flags of overflow are opened, which count as all that a program opens.
#[test]
fn openings_while_rows_are_put_in_are_counted() {
    let text = "cenote 2\nprogram m \"\"\ninput t[20000]: a uint b32\ninput at: b uint b15\n{\n\
        %on = const b1 0x1\n\
        %end, %i = for 30000 (%0, %1) { |%s, %j|\n%x = lookup %s, %j\n%y = slice{lo=0, width=15} %x\n\
        %k = xor %j, %y\n%n = add %x, %x\n%u = store %s, %j, %n, %on\nyield %u, %k }\n}\n\
        output i: both uint %i\n";
    let module = Module::parse_text(text).unwrap();
    let plan = module.tables().into_iter().find_map(|table| table.plan.clone()).unwrap();
    let (stats, trees) = (module.stats().unwrap(), plan.trees.len() as u64);
    let [accesses] = stats.memories[..] else { panic!("{:?}", stats.memories) };
    let begun = plan.start().opens;
    assert!(plan.needs.is_given && trees > 0 && begun > 10, "{plan:?}");
    assert_eq!(accesses.opens, begun + 30_000 * trees);
    assert_eq!(stats.reveals, accesses.opens);
    assert_eq!(accesses.start_ands, plan.start().ands);
}

/// All memories of a run fail with the bound of one, those of loops, branches and calls counted.
#[test]
fn memories_of_a_run_share_the_bound() {
    let module = |trips: u32| {
        // The row at `place` of a memory in which `word` was written there.
        let begins = |place: &str, word: &str, row: &str| {
            format!(
                "%z{row} = const 8192xb16 all 0x0\n%on{row} = const b1 0x1\n\
                 %s{row} = store %z{row}, {place}, {word}, %on{row}\n%{row} = lookup %s{row}, {place}\n"
            )
        };
        let text = format!(
            "cenote 2\nprogram m \"\"\nfunction two (%i: b14, %x: b16) {{\n{}\
             %k = const b1 0x0\n%y = if %k {{ yield %r }} else {{ {} yield %q }}\nyield %y\n}}\n\
             input i: a uint b14\ninput x: b uint b16\n{{\n\
             %last = for {trips} (%1) {{ |%x| {} %y = call two (%0, %r)\nyield %y }}\n}}\n\
             output last: both uint %last\n",
            begins("%i", "%x", "r"),
            begins("%i", "%r", "q"),
            begins("%0", "%x", "r"),
        );
        Module::parse_text(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
    };
    for (trips, epsilon) in [(1, 42), (3, 44), (1 << 20, 62)] {
        let module = module(trips);
        let plans: Vec<_> =
            module.tables().into_iter().map(|table| table.plan.expect("trees")).collect();
        assert_eq!(plans.len(), 3);
        assert!(plans.iter().all(|plan| plan.needs.epsilon == epsilon), "{trips}: {plans:?}");
    }
    let inputs = [bits_of(8191, 14), bits_of(77, 16)];
    let usual = run(&module(3), &inputs, &[77]);
    // More may be asked for; what is counted is what runs then.
    for (epsilon, each) in [(80, 84), (127, 128)] {
        let mut more = module(3);
        more.share_bound(epsilon);
        assert_eq!(more.digest(), module(3).digest());
        let plans = more.tables().into_iter().map(|table| table.plan.expect("trees"));
        assert!(plans.map(|plan| plan.needs.epsilon).all(|epsilon| epsilon == each));
        assert!(run(&more, &inputs, &[77]).ands > usual.ands);
    }
}
