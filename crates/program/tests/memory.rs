//! The memory of a run follows what is alive, not what is computed: counted, not timed.

use std::convert::Infallible;

use cenote_circuit::{Clear, Gates, Live, LiveWire};
use cenote_program::{Host, Module, library};

/// Clear bits whose handles are counted.
struct Watched(Live<Clear>);

impl Gates for Watched {
    type Wire = LiveWire<bool>;
    type Error = Infallible;

    fn constant(&mut self, bit: bool) -> Result<Self::Wire, Infallible> {
        self.0.constant(bit)
    }

    fn xor(&mut self, a: &Self::Wire, b: &Self::Wire) -> Result<Self::Wire, Infallible> {
        self.0.xor(a, b)
    }

    fn not(&mut self, a: &Self::Wire) -> Result<Self::Wire, Infallible> {
        self.0.not(a)
    }

    fn and(&mut self, a: &Self::Wire, b: &Self::Wire) -> Result<Self::Wire, Infallible> {
        self.0.and(a, b)
    }
}

impl Host for Watched {
    fn reveal(&mut self, _: &[Self::Wire]) -> Result<Vec<bool>, Infallible> {
        unreachable!("programs of the library reveal nothing before their end")
    }
}

/// Wires that are alive at once while a module runs, and ANDs that it takes.
fn run(module: &Module) -> (usize, u64) {
    let mut host = Watched(Live::new(Clear));
    let ports = module.inputs().iter();
    let inputs =
        ports.map(|port| (0..port.shape.bits()).map(|i| host.0.adopt(i % 3 == 0)).collect());
    let inputs: Vec<Vec<LiveWire<bool>>> = inputs.collect();
    drop(module.run_on(&mut host, inputs));
    (host.0.peak(), module.stats().unwrap().ands)
}

#[test]
fn an_edit_distance_keeps_a_row_not_the_table() {
    let edit = |n: u32| library::edit_distance(n, n, 1).unwrap();
    let (small, small_ands) = run(&edit(100));
    let (large, large_ands) = run(&edit(400));
    assert!(large_ands > 15 * small_ands, "the table grows by 16");
    assert!(large <= 5 * small, "{small} wires for 100 symbols, {large} for 400");
    // Inputs, two rings of columns, and what a step holds of a strip.
    assert!(large < 400 * 10, "{large}");
}

#[test]
fn counting_keeps_its_inputs_and_one_piece() {
    let (small, _) = run(&library::hamming(20_000).unwrap());
    let (large, _) = run(&library::hamming(80_000).unwrap());
    let more = large - small;
    assert!((120_000..121_000).contains(&more), "{more} wires for 120000 more bits of input");
}

#[test]
fn what_is_alive_is_known_before_a_run() {
    let bits = |n: u32| library::edit_distance(n, n, 1).unwrap().stats().unwrap().live_bits;
    let (small, large) = (bits(1000), bits(4000));
    assert!(large <= 5 * small, "{small} bits for 1000 symbols, {large} for 4000");
    let module = library::edit_distance(100, 100, 1).unwrap();
    let (wires, _) = run(&module);
    let bound = module.stats().unwrap().live_bits as usize;
    assert!(wires <= 2 * bound, "{wires} wires, {bound} bits");
}
