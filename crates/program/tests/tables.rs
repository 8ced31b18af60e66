//! Tables at secret places: through the hook of the machine, and which could live in one memory.

use std::convert::Infallible;

use cenote_circuit::{Access, Clear, Gates, Rows, bits_of, value_of};
use cenote_program::{Accesses, Host, Module, WordOp};

fn module(body: &str, output: &str) -> Module {
    let text = format!(
        "cenote 1\nprogram tables \"\"\n\
         function two (%t: 5xb8, %i: b3, %x: b8, %e: b1) {{\n\
         %s = store %t, %i, %x, %e\n%u = store %s, %i, %x, %e\nyield %u\n}}\n\
         input t: garbler uint 5xb8\ninput i: evaluator uint b3\ninput x: evaluator uint b8\n\
         input e: garbler uint b1\n{{\n{body}\n}}\noutput z: both uint {output}\n"
    );
    Module::parse_text(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Whether each `lookup` and `store` of the main block has the only version that is alive.
fn soles(body: &str, output: &str) -> Vec<bool> {
    let uses = module(body, output).tables();
    uses.iter().filter(|table| table.function.is_none()).map(|table| table.sole).collect()
}

#[test]
fn a_table_that_is_used_linearly_is_in_one_memory() {
    let line = "%a = store %0, %1, %2, %3\n%b = lookup %a, %1\n%c = store %a, %1, %b, %3";
    assert_eq!(soles(line, "%c"), [true; 3]);
    let carried =
        "%a = for 9 (%0) { |%t| %b = lookup %t, %1\n%s = store %t, %1, %b, %3\nyield %s }";
    assert_eq!(soles(carried, "%a"), [true; 2]);
    let inner = "%a = for 9 (%0) { |%t| %b = for 2 (%t) { |%u| %s = store %u, %1, %2, %3\nyield %s }\nyield %b }";
    assert_eq!(soles(inner, "%a"), [true]);
}

#[test]
fn a_table_with_two_versions_alive_is_copied() {
    // The old version is read after the store, is an output, or is yielded.
    let late = "%a = store %0, %1, %2, %3\n%b = lookup %0, %1\n%c = store %a, %1, %b, %3";
    assert_eq!(soles(late, "%c"), [false, true, true]);
    assert_eq!(soles("%a = store %0, %1, %2, %3", "%0"), [false]);
    let old = "%a = for 9 (%0) { |%t| %s = store %t, %1, %2, %3\nyield %t }";
    assert_eq!(soles(old, "%a"), [false]);
    // A block does not use up what is around it.
    let around = "%a = for 9 (%2) { |%x| %s = store %0, %1, %x, %3\n%b = lookup %s, %1\nyield %b }";
    assert_eq!(soles(around, "%a"), [false, true]);
    let branch =
        "%k = const b1 0x1\n%a = if %k { %s = store %0, %1, %2, %3\nyield %s } else { yield %0 }";
    assert_eq!(soles(branch, "%a"), [false]);
    // The table is the value as well.
    let text = "%w = lanes{at=0, count=1, stride=1} %0\n%a = store %w, %1, %w, %3";
    assert_eq!(soles(text, "%a"), [false]);
}

#[test]
fn what_runs_side_by_side_shares_no_memory() {
    let map = "%a = map 5 (%0) { |%t| %s = store %t, %1, %2, %3\n%b = lookup %s, %1\nyield %b }";
    assert_eq!(soles(map, "%a"), [false; 2]);
    let called = |body: &str, output: &str| {
        let uses = module(body, output).tables();
        assert!(uses.iter().all(|table| table.op == WordOp::Store && table.function.is_some()));
        uses.iter().map(|table| table.sole).collect::<Vec<bool>>()
    };
    assert_eq!(called("%a = call two (%0, %1, %2, %3)", "%a"), [true; 2]);
    let map = "%a = map 2 (%2, %2) { |%x, %y| %b = call two (%0, %1, %2, %3)\nyield %b }";
    let map = map.replace("(%2, %2) { |%x, %y|", "() { ||");
    assert_eq!(called(&map, "%a"), [false; 2]);
}

/// Clear bits; counts ANDs, memories and accesses.
#[derive(Default)]
struct Counting {
    ands: u64,
    memories: u64,
    reads: u64,
    writes: u64,
    access_ands: u64,
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

impl Host for Counting {
    fn reveal(&mut self, bits: &[bool]) -> Result<Vec<bool>, Infallible> {
        Ok(bits.to_vec())
    }

    fn lookup(
        &mut self,
        mut table: Rows<bool>,
        places: &[&[bool]],
    ) -> Result<Vec<bool>, Infallible> {
        self.memories += 1;
        let mut words = Vec::new();
        for place in places {
            words.extend(self.access(&mut table, place, Access::Read)?);
            self.reads += 1;
        }
        Ok(words)
    }

    fn store(
        &mut self,
        mut table: Rows<bool>,
        place: &[bool],
        word: &[bool],
        enable: &bool,
    ) -> Result<Vec<bool>, Infallible> {
        (self.memories, self.writes) = (self.memories + 1, self.writes + 1);
        self.access(&mut table, place, Access::Write { word, enable })?;
        Ok(table.into_inner().concat())
    }
}

impl Counting {
    fn access(
        &mut self,
        table: &mut Rows<bool>,
        place: &[bool],
        access: Access<'_, bool>,
    ) -> Result<Vec<bool>, Infallible> {
        let before = self.ands;
        let word = table.access(self, place, access)?;
        self.access_ands += self.ands - before;
        Ok(word)
    }
}

#[test]
fn lookups_and_stores_go_through_the_machine() {
    let body = "%a = for 3 (%0) { |%t| %s = store %t, %1, %2, %3\nyield %s }\n\
                %i = join %1, %1\n%b = lookup %a, %i\n%k = const b3 0x2\n%c = lookup %a, %k\n%z = join %b, %c";
    let module = module(body, "%z");
    let table: Vec<bool> = [9u128, 8, 7, 6, 5].iter().flat_map(|word| bits_of(*word, 8)).collect();
    for (index, enable, expected) in
        [(2u128, 1u128, [77, 77, 77]), (3, 0, [6, 6, 7]), (7, 1, [0, 0, 7])]
    {
        let inputs = [table.clone(), bits_of(index, 3), bits_of(77, 8), bits_of(enable, 1)];
        let mut host = Counting::default();
        let Ok(outputs) = module.run_on(&mut host, inputs.to_vec());
        let words: Vec<u128> = outputs[0].chunks(8).map(value_of).collect();
        assert_eq!(words, expected);
        assert_eq!(outputs, module.evaluate(&inputs));
        // What is public is folded before it comes to a memory.
        assert_eq!((host.memories, host.reads, host.writes), (4, 2, 3));
        let stats = module.stats().unwrap();
        assert_eq!(host.ands, stats.ands);
        let accesses = Accesses { reads: host.reads, writes: host.writes, ands: host.access_ands };
        assert_eq!(stats.memories[&5], [(8, accesses)].into());
        assert_eq!((stats.memories.len(), stats.access_ands()), (1, host.access_ands));
    }
}

/// In a map every iteration looks at its own table: gates, and no access to a memory.
#[test]
fn tables_in_maps_are_no_memories() {
    let body = "%a = map 3 () { ||\n%b = lookup %0, %1\nyield %b }\n%s = store %0, %1, %2, %3";
    let module = module(body, "%a");
    let inputs = [vec![true; 40], bits_of(4, 3), bits_of(77, 8), vec![true]];
    let mut host = Counting::default();
    let Ok(_) = module.run_on(&mut host, inputs.to_vec());
    let stats = module.stats().unwrap();
    assert_eq!((host.reads, host.writes, host.ands), (0, 1, stats.ands));
    assert_eq!(stats.memories[&5][&8].reads, 0);
    assert_eq!((stats.memories[&5][&8].writes, stats.access_ands()), (1, host.access_ands));
}
