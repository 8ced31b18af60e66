//! Every gadget against its clear reference.

use cenote_circuit::gadgets::*;
use cenote_circuit::{Clear, bits_of, value_of};
use proptest::prelude::*;

type Wires = Vec<bool>;

fn ok<T>(result: Result<T, std::convert::Infallible>) -> T {
    match result {
        Ok(value) => value,
        Err(never) => match never {},
    }
}

fn low(value: u128, width: usize) -> u128 {
    if width >= 128 { value } else { value & ((1 << width) - 1) }
}

fn signed(value: u128, width: usize) -> i128 {
    if width == 0 || width >= 128 {
        return value as i128;
    }
    ((value << (128 - width)) as i128) >> (128 - width)
}

/// A width with two numbers of that width; small and extreme values are likely.
fn pair(max_width: usize) -> impl Strategy<Value = (usize, u128, u128)> {
    let value =
        || prop_oneof![any::<u128>(), 0..4u128, (0..128u32).prop_map(|i| 1 << i), Just(u128::MAX)];
    (0..=max_width, value(), value())
        .prop_map(|(width, a, b)| (width, low(a, width), low(b, width)))
}

fn num(bits: &[bool]) -> u128 {
    value_of(bits)
}

/// Divides `a` of `n` bits by `b` of `m` bits, both ways.
fn check_divisions(n: usize, a: u128, m: usize, b: u128) {
    let (x, y) = (bits_of(a, n), bits_of(b, m));
    let found = ok(divide(&mut Clear, &x, &y));
    let expected = match a.checked_div(b) {
        Some(quotient) => (quotient, a % b),
        None => (low(u128::MAX, n), a),
    };
    assert_eq!((num(&found.0), num(&found.1)), expected, "{a} of {n} bits by {b} of {m}");
    assert_eq!((found.0.len(), found.1.len()), (n, n));
    let (i, j) = (signed(a, n), signed(b, m));
    let found = ok(divide_signed(&mut Clear, &x, &y));
    let expected = match i.checked_div(j) {
        Some(quotient) => (low(quotient as u128, n), low((i % j) as u128, n)),
        None => (low(u128::MAX, n), a),
    };
    assert_eq!((num(&found.0), num(&found.1)), expected, "{i} of {n} bits by {j} of {m}");
    assert_eq!((found.0.len(), found.1.len()), (n, n));
}

#[test]
fn divisions_of_all_small_numbers() {
    for (n, m) in (0..7).flat_map(|n| (0..7).map(move |m| (n, m))) {
        for (a, b) in (0..1 << n).flat_map(|a| (0..1 << m).map(move |b| (a, b))) {
            check_divisions(n, a, m, b);
        }
    }
}

/// Levenshtein's distance by the textbook.
fn levenshtein(a: &[u8], b: &[u8]) -> i32 {
    let mut row: Vec<i32> = (0..=b.len() as i32).collect();
    for (i, x) in a.iter().enumerate() {
        let mut corner = row[0];
        row[0] = i as i32 + 1;
        for (j, y) in b.iter().enumerate() {
            let change = corner + i32::from(x != y);
            corner = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(corner + 1);
        }
    }
    row[b.len()]
}

/// The same by anti-diagonals of cells.
fn by_cells(a: &[u8], b: &[u8]) -> i32 {
    let rises = |n| Deltas { plus: vec![true; n], minus: vec![false; n] };
    let (mut left, mut upper) = (rises(a.len()), rises(b.len()));
    for diagonal in 0..(a.len() + b.len()).saturating_sub(1) {
        let rows: Vec<usize> =
            (0..a.len()).filter(|i| (0..b.len()).contains(&diagonal.wrapping_sub(*i))).collect();
        let columns: Vec<usize> = rows.iter().map(|i| diagonal - i).collect();
        let pick = |from: &Deltas<bool>, at: &[usize]| Deltas {
            plus: at.iter().map(|i| from.plus[*i]).collect(),
            minus: at.iter().map(|i| from.minus[*i]).collect(),
        };
        let unequal: Wires = rows.iter().zip(&columns).map(|(i, j)| a[*i] != b[*j]).collect();
        let (l, u) = (pick(&left, &rows), pick(&upper, &columns));
        let (right, lower) = ok(edit_cells(&mut Clear, &unequal, &l, &u));
        for k in 0..rows.len() {
            (left.plus[rows[k]], left.minus[rows[k]]) = (right.plus[k], right.minus[k]);
            (upper.plus[columns[k]], upper.minus[columns[k]]) = (lower.plus[k], lower.minus[k]);
        }
    }
    let count = |bits: &[bool]| bits.iter().filter(|bit| **bit).count() as i32;
    a.len() as i32 + count(&upper.plus) - count(&upper.minus)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn addition_and_subtraction((w, a, b) in pair(100), carry in any::<bool>()) {
        let (x, y) = (bits_of(a, w), bits_of(b, w));
        let g = &mut Clear;
        prop_assert_eq!(num(&ok(add(g, &x, &y))), low(a + b, w));
        let (sum, out) = ok(add_carry(g, &x, &y, Some(&carry)));
        prop_assert_eq!(num(&sum) + (u128::from(out) << w), a + b + u128::from(carry));
        let (sum, out) = ok(add_carry(g, &x, &y, None));
        prop_assert_eq!(num(&sum) + (u128::from(out) << w), a + b);
        prop_assert_eq!(num(&ok(add_constant(g, &x, &y))), low(a + b, w));
        prop_assert_eq!(num(&ok(sub(g, &x, &y))), low(a.wrapping_sub(b), w));
        let (difference, borrow) = ok(sub_borrow(g, &x, &y));
        prop_assert_eq!((num(&difference), borrow), (low(a.wrapping_sub(b), w), a < b));
        prop_assert_eq!(num(&ok(negate(g, &x))), low(a.wrapping_neg(), w));
        let expected = if carry { low(a.wrapping_neg(), w) } else { a };
        prop_assert_eq!(num(&ok(negate_if(g, &carry, &x))), expected);
    }

    #[test]
    fn sums(values in prop::collection::vec((0..40usize, any::<u128>()), 0..12), width in 0..50usize) {
        let operands: Vec<Wires> = values.iter().map(|(w, v)| bits_of(*v, *w)).collect();
        let slices: Vec<&[bool]> = operands.iter().map(Vec::as_slice).collect();
        let expected: u128 = values.iter().map(|(w, v)| low(*v, *w)).sum();
        prop_assert_eq!(num(&ok(sum(&mut Clear, &slices, width))), low(expected, width));
        let expected: i128 = values.iter().map(|(w, v)| signed(low(*v, *w), *w)).sum();
        let total = num(&ok(sum_signed(&mut Clear, &slices, width)));
        prop_assert_eq!(total, low(expected.cast_unsigned(), width));
    }

    #[test]
    fn comparisons((w, a, b) in pair(100)) {
        let (x, y) = (bits_of(a, w), bits_of(b, w));
        let (i, j) = (signed(a, w), signed(b, w));
        let g = &mut Clear;
        prop_assert_eq!(ok(lt(g, &x, &y)), a < b);
        prop_assert_eq!(ok(le(g, &x, &y)), a <= b);
        prop_assert_eq!(ok(lt_signed(g, &x, &y)), i < j);
        prop_assert_eq!(ok(le_signed(g, &x, &y)), i <= j);
        prop_assert_eq!(ok(eq(g, &x, &y)), a == b);
        prop_assert!(ok(eq(g, &x, &x)));
        prop_assert!(!ok(lt(g, &x, &x)) && ok(le(g, &x, &x)));
        prop_assert_eq!(ok(is_zero(g, &x)), a == 0);
        prop_assert_eq!(ok(nonzero(g, &x)), a != 0);
        prop_assert_eq!(ok(any_set(g, &x)), a != 0);
        prop_assert_eq!(ok(all_set(g, &x)), a == low(u128::MAX, w));
    }

    #[test]
    fn choices((w, a, b) in pair(100), s in any::<bool>()) {
        let (x, y) = (bits_of(a, w), bits_of(b, w));
        let (i, j) = (signed(a, w), signed(b, w));
        let g = &mut Clear;
        prop_assert_eq!(num(&ok(mux(g, &s, &x, &y))), if s { a } else { b });
        let (p, q) = ok(swap_if(g, &s, &x, &y));
        prop_assert_eq!((num(&p), num(&q)), if s { (b, a) } else { (a, b) });
        prop_assert_eq!(num(&ok(min(g, &x, &y))), a.min(b));
        prop_assert_eq!(num(&ok(max(g, &x, &y))), a.max(b));
        prop_assert_eq!(signed(num(&ok(min_signed(g, &x, &y))), w), i.min(j));
        prop_assert_eq!(signed(num(&ok(max_signed(g, &x, &y))), w), i.max(j));
        prop_assert_eq!(num(&ok(abs(g, &x))), low(i.unsigned_abs(), w));
        prop_assert_eq!(num(&ok(and_bits(g, &x, &y))), a & b);
        prop_assert_eq!(num(&ok(or_bits(g, &x, &y))), a | b);
        prop_assert_eq!(num(&ok(xor_bits(g, &x, &y))), a ^ b);
        prop_assert_eq!(num(&ok(not_bits(g, &x))), low(!a, w));
        prop_assert_eq!(ok(or(g, &s, &(a > b))), s | (a > b));
        prop_assert_eq!(num(&ok(constant_bits(g, &x))), a);
    }

    #[test]
    fn products((w, a, b) in pair(64), (v, c, _) in pair(60)) {
        let (x, y, z) = (bits_of(a, w), bits_of(b, w), bits_of(c, v));
        let g = &mut Clear;
        prop_assert_eq!(num(&ok(mul(g, &x, &y))), low(a * b, w));
        prop_assert_eq!(num(&ok(mul_full(g, &x, &y))), a * b);
        prop_assert_eq!(num(&ok(mul_full(g, &x, &z))), a * c);
        let product = ok(mul_signed_full(g, &x, &y));
        prop_assert_eq!(product.len(), 2 * w);
        prop_assert_eq!(signed(num(&product), 2 * w), signed(a, w) * signed(b, w));
        prop_assert_eq!(num(&ok(square(g, &x))), low(a * a, w));
        prop_assert_eq!(num(&ok(mul_constant(g, &x, &y, w))), low(a * b, w));
        prop_assert_eq!(num(&ok(mul_constant(g, &x, &z, w + v))), a * c);
        let product = ok(square_full(g, &x));
        prop_assert_eq!((product.len(), num(&product)), (2 * w, a * a));
        prop_assert_eq!(num(&ok(square_signed_full(g, &x))), signed(a, w).unsigned_abs().pow(2));
    }

    #[test]
    fn roots((w, a, _) in pair(120)) {
        let root = ok(isqrt(&mut Clear, &bits_of(a, w)));
        prop_assert_eq!((root.len(), num(&root)), (w.div_ceil(2), a.isqrt()));
        for small in 0..1u128 << w.min(9) {
            prop_assert_eq!(num(&ok(isqrt(&mut Clear, &bits_of(small, w)))), small.isqrt());
        }
    }

    #[test]
    fn overflows((w, a, b) in pair(60)) {
        let (x, y) = (bits_of(a, w), bits_of(b, w));
        let g = &mut Clear;
        let top = low(u128::MAX, w);
        let (i, j) = (signed(a, w), signed(b, w));
        let (least, most) = if w == 0 { (0, 0) } else { (-(1 << (w - 1)), (1 << (w - 1)) - 1) };
        macro_rules! check {
            ($($overflow:ident $saturating:ident $true:expr;)*) => {$(
                let (result, overflow) = ok($overflow(g, &x, &y));
                prop_assert_eq!(num(&result), low($true as u128, w));
                prop_assert_eq!(overflow, !(least..=most).contains(&$true));
                let result = ok($saturating(g, &x, &y));
                prop_assert_eq!(signed(num(&result), w), $true.clamp(least, most));
            )*};
        }
        check!(
            add_signed_overflow add_signed_saturating i + j;
            sub_signed_overflow sub_signed_saturating i - j;
            mul_signed_overflow mul_signed_saturating i * j;
        );
        let (product, overflow) = ok(mul_overflow(g, &x, &y));
        prop_assert_eq!((num(&product), overflow), (low(a * b, w), a * b > top));
        prop_assert_eq!(num(&ok(mul_saturating(g, &x, &y))), (a * b).min(top));
        prop_assert_eq!(num(&ok(add_saturating(g, &x, &y))), (a + b).min(top));
        prop_assert_eq!(num(&ok(sub_saturating(g, &x, &y))), a.saturating_sub(b));
    }

    #[test]
    fn runs_of_bits((w, a, _) in pair(100)) {
        let x = bits_of(a, w);
        let g = &mut Clear;
        let any: Wires = (0..w).map(|i| x[..=i].contains(&true)).collect();
        prop_assert_eq!(ok(prefix_or(g, &x)), any);
        let all: Wires = (0..w).map(|i| !x[..=i].contains(&false)).collect();
        prop_assert_eq!(ok(prefix_and(g, &x)), all);
        let below = x.iter().position(|bit| *bit).unwrap_or(w) as u128;
        let above = x.iter().rev().position(|bit| *bit).unwrap_or(w) as u128;
        let (trailing, leading) = (ok(trailing_zeros(g, &x)), ok(leading_zeros(g, &x)));
        prop_assert_eq!((num(&trailing), num(&leading)), (below, above));
        let bits = w.checked_ilog2().map_or(0, |log| log as usize + 1);
        prop_assert_eq!((trailing.len(), leading.len()), (bits, bits));
    }

    #[test]
    fn tables(
        values in prop::collection::vec(0..32u128, 1..20),
        value in 0..32u128,
        enable in any::<bool>(),
        more in -3..3i32,
        width in 0..6usize,
    ) {
        let rows: Vec<Wires> = values.iter().map(|value| bits_of(*value, width)).collect();
        let bits = rows.len().next_power_of_two().trailing_zeros().saturating_add_signed(more) as usize;
        let value = bits_of(value, width);
        for index in 0..1usize << bits {
            let place = bits_of(index as u128, bits);
            let mut expected = rows.clone();
            if let Some(row) = expected.get_mut(index) {
                let found = ok(lookup(&mut Clear, &rows, &place));
                prop_assert_eq!(&found, &*row);
                if enable {
                    row.clone_from(&value);
                }
            } else {
                prop_assert_eq!(ok(lookup(&mut Clear, &rows, &place)), vec![false; width]);
            }
            prop_assert_eq!(ok(store(&mut Clear, &rows, &place, &value, &enable)), expected);
            let marks: Wires = (0..rows.len()).map(|row| enable && row == index).collect();
            prop_assert_eq!(ok(decode(&mut Clear, &place, &enable, rows.len())), marks);
        }
    }

    #[test]
    fn sums_of_products(
        w in 0..40usize,
        width in 0..90usize,
        [m, k, n] in [0..4usize, 0..5usize, 0..4usize],
        values in prop::collection::vec(any::<u64>(), 40),
    ) {
        let value = |i: usize| low(values[i].into(), w);
        let a: Vec<Vec<u128>> = (0..m).map(|i| (0..k).map(|j| value(i * k + j)).collect()).collect();
        let b: Vec<Vec<u128>> =
            (0..k).map(|i| (0..n).map(|j| value(20 + i * n + j)).collect()).collect();
        let wires = |matrix: &[Vec<u128>]| -> Vec<Vec<Wires>> {
            matrix.iter().map(|row| row.iter().map(|x| bits_of(*x, w)).collect()).collect()
        };
        let product = ok(matrix_product(&mut Clear, &wires(&a), &wires(&b), width));
        prop_assert_eq!(product.len(), m);
        for (row, a) in product.iter().zip(&a) {
            let sums = |j: usize| (0..k).map(|i| a[i] * b[i][j]).sum::<u128>();
            let columns = if k == 0 { 0 } else { n };
            let expected: Vec<u128> = (0..columns).map(|j| low(sums(j), width)).collect();
            let found: Vec<u128> = row.iter().map(|bits| num(bits)).collect();
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn divisions((w, a, _) in pair(80), (narrow, b, _) in pair(80)) {
        check_divisions(w, a, narrow, b);
        check_divisions(w, a, w, low(b, w));
    }

    #[test]
    fn shifts((w, a, _) in pair(100), by in 0..140usize, amount_bits in 0..9usize) {
        let x = bits_of(a, w);
        let g = &mut Clear;
        let check = |by: usize, left: Wires, right: Wires, arith: Wires, rot: Wires| {
            let (sign, len) = (signed(a, w), w as u32);
            prop_assert_eq!(num(&left), if by < w { low(a << by, w) } else { 0 });
            prop_assert_eq!(num(&right), if by < w { a >> by } else { 0 });
            prop_assert_eq!(num(&arith), low((sign >> by.min(127)) as u128, w));
            let r = by as u32 % len.max(1);
            let rotated = if r == 0 { a } else { low(a << r, w) | (a >> (len - r)) };
            prop_assert_eq!(num(&rot), rotated);
            prop_assert!([left, right, arith, rot].iter().all(|bits| bits.len() == w));
            Ok(())
        };
        check(
            by,
            ok(shift_left(g, &x, by)),
            ok(shift_right(g, &x, by)),
            shift_right_signed(&x, by),
            rotate_left(&x, by),
        )?;
        let by = low(by as u128, amount_bits);
        let amount = bits_of(by, amount_bits);
        check(
            by as usize,
            ok(shift_left_by(g, &x, &amount)),
            ok(shift_right_by(g, &x, &amount)),
            ok(shift_right_signed_by(g, &x, &amount)),
            ok(rotate_left_by(g, &x, &amount)),
        )?;
    }

    #[test]
    fn counting(x in prop::collection::vec(any::<bool>(), 0..300), seed in any::<u64>()) {
        let ones = x.iter().filter(|bit| **bit).count() as u128;
        let y: Wires = x.iter().enumerate().map(|(i, b)| b ^ (seed >> (i % 64) & 1 == 1)).collect();
        let distance = x.iter().zip(&y).filter(|(a, b)| a != b).count() as u128;
        let count = ok(popcount(&mut Clear, &x));
        prop_assert_eq!(count.len() as u32, x.len().checked_ilog2().map_or(0, |log| log + 1));
        prop_assert_eq!(num(&count), ones);
        prop_assert_eq!(num(&ok(hamming(&mut Clear, &x, &y))), distance);
    }

    #[test]
    fn sorting(
        keys in prop::collection::vec(0..40u128, 0..70),
        cut in 0..70usize,
        keep in 0..70usize,
        descending in any::<bool>(),
        odd_even in any::<bool>(),
    ) {
        let order = if descending { Order::Descending } else { Order::Ascending };
        let kind = if odd_even { NetworkKind::OddEven } else { NetworkKind::Bitonic };
        let row = |i: usize, key: u128| [bits_of(key, 6), bits_of(i as u128, 7)].concat();
        let rows: Vec<Wires> = keys.iter().enumerate().map(|(i, key)| row(i, *key)).collect();
        let mut expected = keys.clone();
        expected.sort_unstable();
        if descending {
            expected.reverse();
        }
        let g = &mut Clear;
        let check = |sorted: Vec<Wires>, keep: usize| {
            let found: Vec<u128> = sorted.iter().map(|row| num(&row[..6])).collect();
            prop_assert_eq!(&found, &expected[..keep]);
            // The payload went with its key, and no row was lost or doubled.
            let mut origin: Vec<usize> = sorted.iter().map(|row| num(&row[6..]) as usize).collect();
            for (row, origin) in sorted.iter().zip(&origin) {
                prop_assert_eq!(num(&row[..6]), keys[*origin]);
            }
            origin.sort_unstable();
            origin.dedup();
            prop_assert_eq!(origin.len(), keep);
            Ok(())
        };
        check(ok(sort_with(g, kind, &rows, 6, order)), rows.len())?;
        let keep = keep.min(rows.len());
        check(ok(top_k(g, &rows, 6, keep, order)), keep)?;
        let (first, second) = rows.split_at(cut.min(rows.len()));
        let first = ok(sort(g, first, 6, order));
        let second = ok(sort(g, second, 6, order));
        check(ok(merge_with(g, kind, &first, &second, 6, order)), rows.len())?;
        let lists = [rows.clone(), rows.iter().rev().cloned().collect()];
        for sorted in ok(sort_many(g, &lists, 6, order)) {
            check(sorted, rows.len())?;
        }
    }

    #[test]
    fn edit_distances(
        a in prop::collection::vec(0..3u8, 0..24),
        b in prop::collection::vec(0..3u8, 0..24),
    ) {
        prop_assert_eq!(by_cells(&a, &b), levenshtein(&a, &b));
    }

    #[test]
    fn extremes(values in prop::collection::vec(0..20u128, 1..40)) {
        let rows: Vec<Wires> = values.iter().map(|value| bits_of(*value, 5)).collect();
        let first = |wanted: u128| values.iter().position(|value| *value == wanted).unwrap() as u128;
        let least = *values.iter().min().unwrap();
        let most = *values.iter().max().unwrap();
        let found = ok(arg_min(&mut Clear, &rows));
        prop_assert_eq!((num(&found.value), num(&found.index)), (least, first(least)));
        let found = ok(arg_max(&mut Clear, &rows));
        prop_assert_eq!((num(&found.value), num(&found.index)), (most, first(most)));
        let bits = values.len().next_power_of_two().trailing_zeros() as usize;
        prop_assert_eq!(found.index.len(), bits);
    }

    #[test]
    fn vector_forms_are_the_gadget_on_every_lane(
        w in 1..20usize,
        values in prop::collection::vec((any::<u128>(), any::<u128>()), 0..9),
    ) {
        let a: Vec<Wires> = values.iter().map(|(a, _)| bits_of(*a, w)).collect();
        let b: Vec<Wires> = values.iter().map(|(_, b)| bits_of(*b, w)).collect();
        macro_rules! check {
            ($($many:ident $one:ident),*) => {$(
                let one: Vec<_> = a.iter().zip(&b).map(|(a, b)| ok($one(&mut Clear, a, b))).collect();
                prop_assert_eq!(ok($many(&mut Clear, &a, &b)), one);
            )*};
        }
        check!(
            add_many add, sub_many sub, mul_many mul, mul_full_many mul_full, min_many min,
            max_many max, lt_many lt, lt_signed_many lt_signed, eq_many eq, hamming_many hamming
        );
        let one: Vec<_> = a.iter().map(|a| ok(negate(&mut Clear, a))).collect();
        prop_assert_eq!(ok(negate_many(&mut Clear, &a)), one);
        let one: Vec<_> = a.iter().map(|a| ok(popcount(&mut Clear, a))).collect();
        prop_assert_eq!(ok(popcount_many(&mut Clear, &a)), one);
        let one: (Vec<_>, Vec<_>) =
            a.iter().zip(&b).map(|(a, b)| ok(divide(&mut Clear, a, b))).unzip();
        prop_assert_eq!(ok(divide_many(&mut Clear, &a, &b)), one);
        let one: (Vec<_>, Vec<_>) =
            a.iter().zip(&b).map(|(a, b)| ok(divide_signed(&mut Clear, a, b))).unzip();
        prop_assert_eq!(ok(divide_signed_many(&mut Clear, &a, &b)), one);
        let selects: Wires = values.iter().map(|(a, b)| a < b).collect();
        let chosen = ok(mux_each(&mut Clear, &selects, &a, &b));
        for (lane, chosen) in chosen.iter().enumerate() {
            prop_assert_eq!(chosen, if selects[lane] { &a[lane] } else { &b[lane] });
        }
    }
}
