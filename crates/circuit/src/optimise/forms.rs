//! Every function of four variables with as few ANDs as possible.
//!
//! XORs and negations are free, so what counts is the multiplicative complexity. A function
//! of four variables needs none (affine), one (a product of two affine forms, plus an affine one),
//! two, or, if it has degree four, three: up to free gates on both sides those are the products
//! (p + c)(q + d) of two products p and q of affine forms. The table is found by listing, in this
//! order, all that so many ANDs can compute, and keeping the form with the fewest XORs.

use std::sync::OnceLock;

/// Sums of terms as masks: bit 0 the constant true, bits 1 to 4 the variables, bits 5 to 7 the ANDs.
pub(crate) type Sum = u8;

/// A way to compute a function: up to three ANDs of two sums each, and the sum that is the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Form {
    factors: [[Sum; 2]; 3],
    pub(crate) out: Sum,
    ands: u8,
}

impl Form {
    /// The factors of its ANDs. Those of AND i contain no AND from i on.
    pub(crate) fn ands(&self) -> &[[Sum; 2]] {
        &self.factors[..usize::from(self.ands)]
    }

    /// XORs that its sums take.
    pub(crate) fn xors(&self) -> u32 {
        self.ands().iter().flatten().chain([&self.out]).map(|sum| xors(*sum)).sum()
    }
}

fn xors(sum: Sum) -> u32 {
    (sum >> 1).count_ones().saturating_sub(1)
}

/// Truth tables of the variables: bit i of a table is the value for the assignment i.
pub(crate) const VARIABLES: [u16; 4] = [0xaaaa, 0xcccc, 0xf0f0, 0xff00];
/// Terms without ANDs: the constant and the variables.
const AFFINE: Sum = 1 << 5;

/// The best form of the function with this truth table.
pub(crate) fn form(truth: u16) -> &'static Form {
    static FORMS: OnceLock<Vec<Form>> = OnceLock::new();
    &FORMS.get_or_init(search)[usize::from(truth)]
}

/// The state of the search while the table is made.
struct Search {
    forms: Vec<Form>,
    /// ANDs, then XORs, of the form so far.
    costs: Vec<u16>,
}

fn search() -> Vec<Form> {
    let empty = Form { factors: [[0; 2]; 3], out: 0, ands: 0 };
    let mut search = Search { forms: vec![empty; 1 << 16], costs: vec![u16::MAX; 1 << 16] };
    let affine = tables(&[]);
    search.offer_sums(&affine, empty);
    let products = products(&affine);
    for (factors, product) in &products {
        let one = Form { factors: [*factors, [0; 2], [0; 2]], out: 0, ands: 1 };
        search.offer_sums(&tables(&[*product]), one);
    }
    for (factors, product) in &products {
        search.two(*factors, *product);
    }
    for (i, (left, p)) in products.iter().enumerate() {
        for (right, q) in &products[..i] {
            search.three([*left, *right], [*p, *q], &affine);
        }
    }
    search.forms
}

/// Truth tables of all sums of the affine terms and of `ands`.
fn tables(ands: &[u16]) -> Vec<u16> {
    let terms = [&[u16::MAX], &VARIABLES[..], ands].concat();
    let bit = |sum: usize, i: usize| if sum >> i & 1 == 1 { terms[i] } else { 0 };
    (0..1 << terms.len()).map(|sum| (0..terms.len()).fold(0, |t, i| t ^ bit(sum, i))).collect()
}

/// All products of two affine forms that are not affine themselves.
fn products(affine: &[u16]) -> Vec<([Sum; 2], u16)> {
    let pairs = (2..AFFINE).flat_map(|a| (2..a).map(move |b| [a, b]));
    pairs
        .filter(|[a, b]| a ^ b > 1)
        .map(|[a, b]| ([a, b], affine[usize::from(a)] & affine[usize::from(b)]))
        .collect()
}

impl Search {
    /// Forms with the ANDs of `form`, for all sums.
    fn offer_sums(&mut self, tables: &[u16], form: Form) {
        for (out, table) in (0u8..=u8::MAX).zip(tables) {
            self.offer(*table, Form { out, ..form });
        }
    }

    fn offer(&mut self, table: u16, form: Form) {
        let cost = u16::from(form.ands) << 8 | form.xors() as u16;
        let place = usize::from(table);
        if cost < self.costs[place] {
            self.costs[place] = cost;
            self.forms[place] = form;
        }
    }

    /// Forms with the given first AND and any second one.
    fn two(&mut self, first: [Sum; 2], product: u16) {
        let tables = tables(&[product]);
        for a in 2..2 * AFFINE {
            for b in (2..a).filter(|b| a ^ b > 1) {
                let second = tables[usize::from(a)] & tables[usize::from(b)];
                let fixed = xors(first[0]) + xors(first[1]) + xors(a) + xors(b);
                let form = Form { factors: [first, [a, b], [0; 2]], out: 0, ands: 2 };
                for (sum, table) in (0u8..).zip(&tables) {
                    let out = sum | (2 * AFFINE);
                    let place = usize::from(table ^ second);
                    let cost = 2 << 8 | (fixed + xors(out)) as u16;
                    if cost < self.costs[place] {
                        self.costs[place] = cost;
                        self.forms[place] = Form { out, ..form };
                    }
                }
            }
        }
    }

    /// Forms with the two given ANDs and their product as the third.
    fn three(&mut self, factors: [[Sum; 2]; 2], products: [u16; 2], affine: &[u16]) {
        let signs = (0..4u8).map(|sign| (sign & 1, sign >> 1));
        for (c, d) in signs {
            let negated = |table: u16, bit: u8| if bit == 1 { !table } else { table };
            let third = negated(products[0], c) & negated(products[1], d);
            let last = [AFFINE | c, (2 * AFFINE) | d];
            let form = Form { factors: [factors[0], factors[1], last], out: 0, ands: 3 };
            for (sum, table) in (0u8..).zip(affine) {
                self.offer(third ^ table, Form { out: sum | (4 * AFFINE), ..form });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn eval(form: &Form) -> u16 {
        let mut terms = vec![u16::MAX];
        terms.extend(VARIABLES);
        let sum = |terms: &[u16], sum: Sum| {
            assert!(u32::from(sum) < 1 << terms.len(), "an AND that is not known yet");
            terms
                .iter()
                .enumerate()
                .fold(0, |t, (i, term)| t ^ if sum >> i & 1 == 1 { *term } else { 0 })
        };
        for [a, b] in form.ands() {
            let product = sum(&terms, *a) & sum(&terms, *b);
            terms.push(product);
        }
        sum(&terms, form.out)
    }

    /// Degree of the algebraic normal form.
    fn degree(truth: u16) -> u32 {
        let mut normal = truth;
        for (i, variable) in VARIABLES.iter().enumerate() {
            normal ^= (normal & !variable) << (1 << i);
        }
        (0..16u32).filter(|m| normal >> m & 1 == 1).map(u32::count_ones).max().unwrap_or(0)
    }

    #[test]
    fn every_function_has_a_form_that_computes_it() {
        for truth in 0..=u16::MAX {
            assert_eq!(eval(form(truth)), truth, "{truth:04x}");
        }
    }

    #[test]
    fn the_numbers_of_ands_are_those_of_the_eight_affine_classes() {
        // Functions by the ANDs that they need (Boyar, Peralta and Pochuev 2000): the affine ones; the
        // class of x1 x2, 35 * 32 functions; all others of degree 2 or 3; and those of degree 4.
        let mut found = [0; 4];
        for truth in 0..=u16::MAX {
            let ands = form(truth).ands().len();
            found[ands] += 1;
            assert_eq!(ands == 3, degree(truth) == 4, "{truth:04x}");
            assert_eq!(ands == 0, degree(truth) < 2, "{truth:04x}");
        }
        assert_eq!(found, [32, 1120, 32768 - 32 - 1120, 32768]);
    }

    #[test]
    fn the_usual_gates_take_one_and() {
        let [a, b, c, d] = VARIABLES;
        let or = form(a | b);
        assert_eq!((or.ands().len(), or.xors()), (1, 0));
        let majority = form(a & b | a & c | b & c);
        assert_eq!((majority.ands().len(), majority.xors()), (1, 3));
        let multiplexer = form(a & b | !a & c);
        assert_eq!((multiplexer.ands().len(), multiplexer.xors()), (1, 2));
        assert_eq!(form(a & b ^ a & c ^ d).ands().len(), 1);
        assert_eq!(form(a & b ^ c & d).ands().len(), 2);
        assert_eq!(form(a & b & c & d).ands().len(), 3);
    }
}
