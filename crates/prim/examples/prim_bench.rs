//! Nanoseconds per operation of the local cryptography, at every level of the processor.
//!
//! `prim_bench` runs all levels, each in a process of its own; `prim_bench portable|aesni|vaes512` one.

use std::hint::black_box;
use std::process::Command;
use std::time::Instant;

use cenote_prim::aes::Aes128;
use cenote_prim::gf128::{self, LinearHash};
use cenote_prim::mitccrh::Mitccrh;
use cenote_prim::simd::{self, Level};
use cenote_prim::{Block, Prg, hash, transpose};

const LEVELS: [(&str, Level); 3] =
    [("portable", Level::Portable), ("aesni", Level::Aesni), ("vaes512", Level::Vaes512)];

fn main() -> std::io::Result<()> {
    let argument = std::env::args().nth(1);
    let Some(name) = argument else {
        for (name, level) in LEVELS {
            if simd::limit(level) == level {
                Command::new(std::env::current_exe()?).arg(name).status()?;
            }
        }
        return Ok(());
    };
    let wanted = LEVELS.iter().find(|(known, _)| *known == name).map(|(_, level)| *level);
    if wanted.is_none_or(|level| simd::limit(level) != level) {
        eprintln!("{name}: not a level of this processor");
        std::process::exit(2);
    }
    println!("{name}");
    ciphers();
    garbling();
    fields_and_matrices();
    Ok(())
}

/// Prints the least of many short runs, the one least disturbed by other processes, in ns per
/// unit; `work` does `units`.
fn measure(what: &str, units: usize, mut work: impl FnMut()) {
    let mut calls = 1u32;
    let mut time = |calls: u32| {
        let start = Instant::now();
        (0..calls).for_each(|_| work());
        start.elapsed().as_secs_f64()
    };
    while time(calls) < 0.001 {
        calls *= 2;
    }
    let least = (0..60).map(|_| time(calls)).fold(f64::INFINITY, f64::min);
    println!("  {what:<44} {:9.2} ns", least * 1e9 / (f64::from(calls) * units as f64));
}

fn ciphers() {
    let mut blocks = vec![Block::ONE; 1024];
    let n = blocks.len();
    let aes = Aes128::new(Block::new(7));
    let mut prg = Prg::new(Block::new(7));
    measure("Aes128::new and drop, per key", 1, || {
        drop(black_box(Aes128::new(black_box(blocks[0]))))
    });
    let mut one = Block::ONE;
    measure("Aes128::encrypt_one, chained", 1, || one = aes.encrypt_one(one));
    measure("Aes128::encrypt, 1024 blocks, per block", n, || aes.encrypt(&mut blocks));
    measure("Prg::fill, 1024 blocks, per block", n, || prg.fill(&mut blocks));
    measure("Prg::new and fill, 64 blocks, per block", 64, || {
        Prg::new(black_box(Block::ONE)).fill(&mut blocks[..64]);
    });
    measure("Prg::new and fill, 2 blocks, per key", 1, || {
        let seed = blocks[1];
        Prg::new(seed).fill(&mut blocks[..2]);
    });
    let seeds: Vec<Block> = blocks[..512].to_vec();
    measure("Prg::first_pairs, 512 seeds, per seed", seeds.len(), || {
        Prg::first_pairs(&seeds, &mut blocks);
    });
    measure("hash::cr, 1024 blocks, per block", n, || hash::cr(&mut blocks));
    measure("hash::ccr, 1024 blocks, per block", n, || hash::ccr(&mut blocks));
    measure("hash::tccr, 1024 blocks, per block", n, || hash::tccr(5, &mut blocks));
}

fn garbling() {
    let mut blocks = vec![Block::ONE; 4096];
    let n = blocks.len();
    let mut hash = Mitccrh::new(Block::new(7));
    measure("Mitccrh::pairs, 4096 blocks, per AND (4)", n / 4, || hash.pairs(&mut blocks));
    measure("Mitccrh::singles, 4096 blocks, per AND (2)", n / 2, || hash.singles(&mut blocks));
    let (mut a, mut b, delta) = (Block::new(1), Block::new(2), Block::new(u128::MAX / 3));
    measure("Mitccrh::pairs, 4 blocks, chained", 1, || {
        let mut x = [a, a ^ delta, b, b ^ delta];
        hash.pairs(&mut x);
        (a, b) = (x[0] ^ x[2], x[1] ^ x[3]);
    });
    measure("Mitccrh::singles, 2 blocks, chained", 1, || {
        let mut x = [a, b];
        hash.singles(&mut x);
        (a, b) = (x[0] ^ x[1], x[1]);
    });
}

fn fields_and_matrices() {
    let (mut a, mut b) = (vec![Block::ONE; 1024], vec![Block::ONE; 1024]);
    Prg::new(Block::new(1)).fill(&mut a);
    Prg::new(Block::new(2)).fill(&mut b);
    let n = a.len();
    let mut one = a[0];
    measure("gf128::mul, chained", 1, || one = gf128::mul(one, a[1]));
    measure("gf128::inner_product, 1024, per block", n, || {
        black_box(gf128::inner_product(&a, &b));
    });
    let mut linear = LinearHash::new(Block::new(3));
    measure("LinearHash::absorb, 1024, per block", n, || linear.absorb(&a));
    black_box((linear.finish(), one));
    for squares in [8, 1024] {
        let mut from = vec![Block::ZERO; 128 * squares];
        Prg::new(Block::new(4)).fill(&mut from);
        let mut to = from.clone();
        let what = format!("columns_to_rows, 128 x {}, per row", from.len());
        measure(&what, from.len(), || transpose::columns_to_rows(&from, &mut to));
        let what = format!("rows_to_columns, {} x 128, per row", from.len());
        measure(&what, from.len(), || transpose::rows_to_columns(&from, &mut to));
    }
}
