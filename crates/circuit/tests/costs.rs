//! The costs of all gadgets: `docs/gadgets.md` against reality.

use cenote_circuit::gadgets::*;
use cenote_circuit::{Counter, Depth, bits_of};

type W = Vec<Depth>;

fn n(bits: usize) -> W {
    vec![Depth(0); bits]
}

fn list(rows: usize, bits: usize) -> Vec<W> {
    vec![n(bits); rows]
}

fn deltas(cells: usize) -> Deltas<Depth> {
    Deltas { plus: n(cells), minus: n(cells) }
}

/// A row of the table: the gadget, its size, ANDs, depth, batches.
fn row<T>(
    name: &str,
    size: &str,
    run: impl FnOnce(&mut Counter) -> Result<T, std::convert::Infallible>,
) -> String {
    let mut counter = Counter::new();
    let Ok(_) = run(&mut counter);
    let counts = counter.counts();
    let (and, depth, batches) = (counts.and, counts.and_depth, counts.and_batches);
    format!("| `{name}` | {size} | {and} | {depth} | {batches} |")
}

fn integers() -> Vec<String> {
    let x = &n(64);
    let c = &n(1)[0];
    let ones = &bits_of(u128::MAX, 64);
    vec![
        row("add", "64 bits", |g| add(g, x, x)),
        row("add_carry", "64 bits", |g| add_carry(g, x, x, Some(c))),
        row("add_constant", "64 bits, all ones", |g| add_constant(g, x, ones)),
        row("sum", "4 numbers of 64 bits", |g| sum(g, &[x, x, x, x], 64)),
        row("sum_signed", "4 numbers of 64 bits, all 66 of the sum", |g| {
            sum_signed(g, &[x, x, x, x], 66)
        }),
        row("sub", "64 bits", |g| sub(g, x, x)),
        row("sub_borrow", "64 bits", |g| sub_borrow(g, x, x)),
        row("negate", "64 bits", |g| negate(g, x)),
        row("negate_if", "64 bits", |g| negate_if(g, c, x)),
        row("abs", "64 bits", |g| abs(g, x)),
        row("mul", "16 bits", |g| mul(g, &x[..16], &x[..16])),
        row("mul", "32 bits", |g| mul(g, &x[..32], &x[..32])),
        row("mul", "64 bits", |g| mul(g, x, x)),
        row("mul_full", "16 bits", |g| mul_full(g, &x[..16], &x[..16])),
        row("mul_full", "32 bits", |g| mul_full(g, &x[..32], &x[..32])),
        row("mul_full", "64 bits", |g| mul_full(g, x, x)),
        row("mul_full", "256 bits", |g| mul_full(g, &n(256), &n(256))),
        row("mul_signed_full", "16 bits", |g| mul_signed_full(g, &x[..16], &x[..16])),
        row("mul_signed_full", "64 bits", |g| mul_signed_full(g, x, x)),
        row("mul_constant", "64 bits by 0xaaaa...", |g| {
            mul_constant(g, x, &bits_of(u128::MAX / 3 * 2, 64), 64)
        }),
        row("square", "64 bits", |g| square(g, x)),
        row("square_full", "16 bits", |g| square_full(g, &x[..16])),
        row("square_full", "64 bits", |g| square_full(g, x)),
        row("square_full", "256 bits", |g| square_full(g, &n(256))),
        row("square_signed_full", "64 bits", |g| square_signed_full(g, x)),
        row("divide", "64 bits", |g| divide(g, x, x)),
        row("divide", "64 bits by 16", |g| divide(g, x, &x[..16])),
        row("divide_signed", "64 bits", |g| divide_signed(g, x, x)),
        row("divide_signed", "64 bits by 16", |g| divide_signed(g, x, &x[..16])),
        row("isqrt", "64 bits", |g| isqrt(g, x)),
    ]
}

fn overflows() -> Vec<String> {
    let x = &n(64);
    vec![
        row("add_signed_overflow", "64 bits", |g| add_signed_overflow(g, x, x)),
        row("sub_signed_overflow", "64 bits", |g| sub_signed_overflow(g, x, x)),
        row("mul_overflow", "64 bits", |g| mul_overflow(g, x, x)),
        row("mul_signed_overflow", "64 bits", |g| mul_signed_overflow(g, x, x)),
        row("add_saturating", "64 bits", |g| add_saturating(g, x, x)),
        row("sub_saturating", "64 bits", |g| sub_saturating(g, x, x)),
        row("mul_saturating", "64 bits", |g| mul_saturating(g, x, x)),
        row("add_signed_saturating", "64 bits", |g| add_signed_saturating(g, x, x)),
        row("sub_signed_saturating", "64 bits", |g| sub_signed_saturating(g, x, x)),
        row("mul_signed_saturating", "64 bits", |g| mul_signed_saturating(g, x, x)),
        row("dot", "8 products of 16 bits, modulo 2^16", |g| {
            dot(g, &list(8, 16), &list(8, 16), 16)
        }),
        row("dot", "8 products of 16 bits, 35 bits", |g| dot(g, &list(8, 16), &list(8, 16), 35)),
        row("matrix_product", "8 x 8 by 8 x 8 of 32 bits, modulo 2^32", |g| {
            matrix_product(g, &vec![list(8, 32); 8], &vec![list(8, 32); 8], 32)
        }),
    ]
}

fn modular() -> Vec<String> {
    let (x, y) = (&n(64), &n(256));
    let context = |x: &W| MontgomeryContext {
        modulus: x.clone(),
        inverse: x.clone(),
        one: x.clone(),
        square: x.clone(),
    };
    let (narrow, wide) = (&context(x), &context(y));
    vec![
        row("MontgomeryContext::new", "64 bits", |g| MontgomeryContext::new(g, x)),
        row("MontgomeryContext::new", "256 bits", |g| MontgomeryContext::new(g, y)),
        row("mont_mul", "64 bits", |g| mont_mul(g, narrow, x, x)),
        row("mont_mul", "256 bits", |g| mont_mul(g, wide, y, y)),
        row("mont_square", "64 bits", |g| mont_square(g, narrow, x)),
        row("mont_square", "256 bits", |g| mont_square(g, wide, y)),
        row("mod_exp_step", "256 bits, window of 4", |g| {
            mod_exp_step(g, wide, &list(16, 256), y, &y[..4])
        }),
        row("mod_exp", "64 bits, exponent of 64", |g| mod_exp(g, x, x, x)),
    ]
}

fn bits_and_choices() -> Vec<String> {
    let x = &n(64);
    let c = &n(1)[0];
    let by = &n(6);
    vec![
        row("and_bits", "64 bits", |g| and_bits(g, x, x)),
        row("or_bits", "64 bits", |g| or_bits(g, x, x)),
        row("xor_bits", "64 bits", |g| xor_bits(g, x, x)),
        row("not_bits", "64 bits", |g| not_bits(g, x)),
        row("all_set", "64 bits", |g| all_set(g, x)),
        row("any_set", "64 bits", |g| any_set(g, x)),
        row("shift_left", "64 bits", |g| shift_left(g, x, 5)),
        row("shift_right", "64 bits", |g| shift_right(g, x, 5)),
        row("shift_right_signed", "64 bits", |_| Ok(shift_right_signed(x, 5))),
        row("rotate_left", "64 bits", |_| Ok(rotate_left(x, 5))),
        row("shift_left_by", "64 bits by 6", |g| shift_left_by(g, x, by)),
        row("shift_right_by", "64 bits by 6", |g| shift_right_by(g, x, by)),
        row("shift_right_by", "64 bits by 64", |g| shift_right_by(g, x, x)),
        row("shift_right_signed_by", "64 bits by 6", |g| shift_right_signed_by(g, x, by)),
        row("rotate_left_by", "64 bits by 6", |g| rotate_left_by(g, x, by)),
        row("eq", "64 bits", |g| eq(g, x, x)),
        row("is_zero", "64 bits", |g| is_zero(g, x)),
        row("nonzero", "64 bits", |g| nonzero(g, x)),
        row("lt", "64 bits", |g| lt(g, x, x)),
        row("le", "64 bits", |g| le(g, x, x)),
        row("lt_signed", "64 bits", |g| lt_signed(g, x, x)),
        row("le_signed", "64 bits", |g| le_signed(g, x, x)),
        row("prefix_or", "64 bits", |g| prefix_or(g, x)),
        row("prefix_and", "64 bits", |g| prefix_and(g, x)),
        row("leading_zeros", "64 bits", |g| leading_zeros(g, x)),
        row("trailing_zeros", "64 bits", |g| trailing_zeros(g, x)),
        row("decode", "16 rows", |g| decode(g, &n(4), c, 16)),
        row("store", "16 rows of 64 bits", |g| store(g, &list(16, 64), &n(4), x, c)),
        row("lookup", "16 rows of 64 bits", |g| lookup(g, &list(16, 64), &n(4))),
        row("mux", "64 bits", |g| mux(g, c, x, x)),
        row("swap_if", "64 bits", |g| swap_if(g, c, x, x)),
        row("min", "64 bits", |g| min(g, x, x)),
        row("max", "64 bits", |g| max(g, x, x)),
        row("min_signed", "64 bits", |g| min_signed(g, x, x)),
        row("max_signed", "64 bits", |g| max_signed(g, x, x)),
        row("popcount", "64 bits", |g| popcount(g, x)),
        row("popcount", "1000 bits", |g| popcount(g, &n(1000))),
        row("hamming", "64 bits", |g| hamming(g, x, x)),
    ]
}

fn lists_and_ciphers() -> Vec<String> {
    let rows = &list(1024, 48);
    let up = Order::Ascending;
    let bitonic = NetworkKind::Bitonic;
    let (a, b) = rows.split_at(512);
    let values = &list(1000, 32);
    vec![
        row("sort", "1024 rows, key 32, payload 16", |g| sort(g, rows, 32, up)),
        row("sort", "1000 rows, key 32, payload 16", |g| sort(g, &rows[..1000], 32, up)),
        row("sort_with(Bitonic)", "1024 rows, key 32, payload 16", |g| {
            sort_with(g, bitonic, rows, 32, up)
        }),
        row("merge", "512 + 512 rows, key 32, payload 16", |g| merge(g, a, b, 32, up)),
        row("merge_with(Bitonic)", "512 + 512 rows, key 32, payload 16", |g| {
            merge_with(g, bitonic, a, b, 32, up)
        }),
        row("top_k", "10 of 1024 rows, key 32, payload 16", |g| top_k(g, rows, 32, 10, up)),
        row("arg_min", "1000 numbers of 32 bits", |g| arg_min(g, values)),
        row("arg_max", "1000 numbers of 32 bits", |g| arg_max(g, values)),
        row("edit_cells", "one cell", |g| edit_cells(g, &n(1), &deltas(1), &deltas(1))),
        row("edit_cells", "100 cells", |g| edit_cells(g, &n(100), &deltas(100), &deltas(100))),
        row("aes128", "one block with key schedule", |g| aes128(g, &n(128), &n(128))),
        row("aes128_many", "32 blocks with key schedule", |g| {
            aes128_many(g, &n(128), &list(32, 128))
        }),
        row("Aes128Key::expand", "key schedule", |g| Aes128Key::expand(g, &n(128))),
        row("sha256_compress", "one block", |g| sha256_compress(g, &n(512), &n(256))),
    ]
}

fn lanes() -> Vec<String> {
    let (x, y) = (&list(100, 32), &list(100, 32));
    let selects = &n(100);
    let lists = &vec![list(16, 32); 100];
    vec![
        row("add_many", "100 x 32 bits", |g| add_many(g, x, y)),
        row("sub_many", "100 x 32 bits", |g| sub_many(g, x, y)),
        row("negate_many", "100 x 32 bits", |g| negate_many(g, x)),
        row("mul_many", "100 x 32 bits", |g| mul_many(g, x, y)),
        row("mul_full_many", "100 x 32 bits", |g| mul_full_many(g, x, y)),
        row("divide_many", "100 x 32 bits", |g| divide_many(g, x, y)),
        row("divide_signed_many", "100 x 32 bits", |g| divide_signed_many(g, x, y)),
        row("lt_many", "100 x 32 bits", |g| lt_many(g, x, y)),
        row("lt_signed_many", "100 x 32 bits", |g| lt_signed_many(g, x, y)),
        row("eq_many", "100 x 32 bits", |g| eq_many(g, x, y)),
        row("mux_each", "100 x 32 bits", |g| mux_each(g, selects, x, y)),
        row("min_many", "100 x 32 bits", |g| min_many(g, x, y)),
        row("max_many", "100 x 32 bits", |g| max_many(g, x, y)),
        row("popcount_many", "100 x 32 bits", |g| popcount_many(g, x)),
        row("hamming_many", "100 x 32 bits", |g| hamming_many(g, x, y)),
        row("sort_many", "100 x 16 rows, key 32", |g| sort_many(g, lists, 32, Order::Ascending)),
        row("sha256_compress_many", "100 blocks", |g| {
            sha256_compress_many(g, &list(100, 512), &list(100, 256))
        }),
    ]
}

#[test]
fn the_table_in_the_documentation_is_true() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/gadgets.md");
    let text = std::fs::read_to_string(path).unwrap();
    let documented: Vec<&str> = text.lines().filter(|line| line.starts_with("| `")).collect();
    let real =
        [integers(), overflows(), modular(), bits_and_choices(), lists_and_ciphers(), lanes()]
            .concat();
    assert!(
        documented == real,
        "docs/gadgets.md differs; a higher cost needs a reason. The costs are\n{}",
        real.join("\n")
    );
}

#[test]
fn limits_that_were_promised() {
    let mut g = Counter::new();
    let Ok(_) = aes128(&mut g, &n(128), &n(128));
    assert!(g.counts().and <= 6_800);
    let mut g = Counter::new();
    let Ok(_) = sha256_compress(&mut g, &n(512), &n(256));
    assert!(g.counts().and <= 22_573);
}

#[test]
fn formulas_in_the_documentation() {
    for bits in 2..70u64 {
        let x = n(bits as usize);
        let count = |run: &dyn Fn(&mut Counter)| {
            let mut counter = Counter::new();
            run(&mut counter);
            counter.counts().and
        };
        assert_eq!(count(&|g| drop(add(g, &x, &x))), bits - 1);
        assert_eq!(count(&|g| drop(add_carry(g, &x, &x, None))), bits);
        assert_eq!(count(&|g| drop(sub(g, &x, &x))), bits - 1);
        assert_eq!(count(&|g| drop(sub_borrow(g, &x, &x))), bits);
        assert_eq!(count(&|g| drop(negate(g, &x))), bits - 2);
        assert_eq!(count(&|g| drop(abs(g, &x))), bits - 1);
        assert_eq!(count(&|g| assert!(lt(g, &x, &x).is_ok())), bits);
        assert_eq!(count(&|g| assert!(eq(g, &x, &x).is_ok())), bits - 1);
        assert_eq!(count(&|g| drop(max(g, &x, &x))), 2 * bits);
        assert_eq!(count(&|g| drop(divide(g, &x, &x))), bits * (bits + 9) / 2 - 4);
        assert_eq!(count(&|g| drop(divide_signed(g, &x, &x))), bits * (bits + 17) / 2 - 6);
        for narrow in 2..bits {
            let (y, rest) = (&x[..narrow as usize], bits - narrow);
            let ands = rest * (narrow + 1) + narrow * (narrow + 9) / 2 - 3;
            assert_eq!(count(&|g| drop(divide(g, &x, y))), ands, "{bits} by {narrow}");
            let signed = ands + 3 * bits + narrow - 3;
            assert_eq!(count(&|g| drop(divide_signed(g, &x, y))), signed, "{bits} by {narrow}");
        }
        let half = bits.div_ceil(2);
        assert_eq!(count(&|g| drop(isqrt(g, &x))), half * (half + 1) / 2);
        assert_eq!(count(&|g| drop(popcount(g, &x))), bits - u64::from(bits.count_ones()));
        if bits > 4 {
            assert_eq!(count(&|g| drop(mul(g, &x, &x))), bits * (bits + 3) / 2 - 1);
        }
        if (3..28).contains(&bits) {
            assert_eq!(count(&|g| drop(mul_full(g, &x, &x))), bits * bits + 2 * bits - 1);
        }
        if (4..46).contains(&bits) {
            assert_eq!(count(&|g| drop(square_full(g, &x))), bits * (bits + 3) / 2 - 3);
            assert_eq!(count(&|g| drop(square(g, &x))), (bits * (bits + 2)).div_ceil(4) - 3);
        }
    }
}
