//! Sums that are put together bit by bit: columns of bits of equal weight.

use super::Bits;
use super::arith::majority;
use super::logic::not_bits;
use crate::gates::Gates;

/// A sum modulo 2^columns: bits in the column of their weight, and a public number.
pub(super) struct Columns<W> {
    bits: Vec<Vec<W>>,
    /// What is added besides, column by column; any sign, any size.
    constant: Vec<i64>,
}

impl<W: Clone> Columns<W> {
    /// An empty sum modulo 2^`width`.
    pub(super) fn new(width: usize) -> Self {
        Self { bits: vec![Vec::new(); width], constant: vec![0; width] }
    }

    /// The number of columns.
    pub(super) fn width(&self) -> usize {
        self.bits.len()
    }

    /// Adds `bits` times 2^`from`.
    pub(super) fn add(&mut self, bits: &[W], from: usize) {
        for (column, bit) in self.bits.iter_mut().skip(from).zip(bits) {
            column.push(bit.clone());
        }
    }

    /// Adds one bit times 2^`at`.
    pub(super) fn add_bit(&mut self, bit: &W, at: usize) {
        self.add(std::slice::from_ref(bit), at);
    }

    /// Adds bits that all have the weight 2^`at`.
    pub(super) fn add_column(&mut self, bits: &[W], at: usize) {
        if let Some(column) = self.bits.get_mut(at) {
            column.extend_from_slice(bits);
        }
    }

    /// Adds `times` times 2^`at`.
    pub(super) fn add_constant(&mut self, times: i64, at: usize) {
        if let Some(constant) = self.constant.get_mut(at) {
            *constant += times;
        }
    }

    /// Subtracts `bits` times 2^`from`. No AND.
    pub(super) fn subtract<G: Gates<Wire = W>>(
        &mut self,
        g: &mut G,
        bits: &[W],
        from: usize,
    ) -> Result<(), G::Error> {
        // -b is the complement of b, plus one, minus 2^width of b.
        self.add(&not_bits(g, bits)?, from);
        self.add_constant(1, from);
        self.add_constant(-1, from + bits.len());
        Ok(())
    }

    /// The sum: half an AND for each bit of each column, its carries in included, rounded down. A set
    /// bit of the public number counts as a bit, except in the last column, which costs nothing.
    pub(super) fn total<G: Gates<Wire = W>>(mut self, g: &mut G) -> Result<Bits<G>, G::Error> {
        let width = self.bits.len();
        let mut carry = 0;
        let mut odd_top = false;
        for (i, constant) in self.constant.iter().enumerate() {
            let value = constant + carry;
            carry = value.div_euclid(2);
            if value.rem_euclid(2) == 1 {
                odd_top = i + 1 == width && !self.bits[i].is_empty();
                if !odd_top {
                    self.bits[i].push(g.constant(true)?);
                }
            }
        }
        let mut total = compress(g, self.bits)?;
        if odd_top && let Some(top) = total.pop() {
            total.push(g.not(&top)?);
        }
        Ok(total)
    }
}

/// Adds columns of bits of equal weight (column i weighs 2^i) modulo 2^columns.
///
/// Full adders run in layers while any column holds three bits; half adders come only in the final
/// ripple, because they cost an AND without removing a bit. Counting n bits this way takes
/// n - (ones of n in binary) ANDs, which is the least possible.
fn compress<G: Gates>(g: &mut G, mut columns: Vec<Bits<G>>) -> Result<Bits<G>, G::Error> {
    while columns.iter().any(|column| column.len() > 2) {
        columns = full_adder_layer(g, columns)?;
    }
    let width = columns.len();
    let mut out = Vec::with_capacity(width);
    let mut carry: Option<G::Wire> = None;
    for (i, column) in columns.into_iter().enumerate() {
        let mut bits = column.into_iter().chain(carry.take());
        let last = i + 1 == width;
        let bit = match (bits.next(), bits.next(), bits.next()) {
            (None, ..) => g.constant(false)?,
            (Some(a), None, _) => a,
            (Some(a), Some(b), None) => {
                carry = if last { None } else { Some(g.and(&a, &b)?) };
                g.xor(&a, &b)?
            }
            (Some(a), Some(b), Some(c)) => {
                let b_c = g.xor(&b, &c)?;
                carry = if last { None } else { Some(majority(g, &a, &b_c, &c)?) };
                g.xor(&a, &b_c)?
            }
        };
        out.push(bit);
    }
    Ok(out)
}

/// One layer of full adders on every triple of every column; nothing carries out of the last.
///
/// A column that fills batches by itself is added in place, the others together in one batch.
fn full_adder_layer<G: Gates>(g: &mut G, columns: Vec<Bits<G>>) -> Result<Vec<Bits<G>>, G::Error> {
    let width = columns.len();
    let (mut a, mut b, mut c, mut place) = (vec![], vec![], vec![], vec![]);
    // Sums, what is left over, and the carries from below.
    let room = |i: usize| {
        let below = i.checked_sub(1).map_or(0, |below| columns[below].len() / 3);
        Vec::with_capacity(columns[i].len() / 3 + columns[i].len() % 3 + below)
    };
    let mut next: Vec<Bits<G>> = (0..width).map(room).collect();
    for (i, column) in columns.into_iter().enumerate() {
        let triples = column.len() / 3;
        if triples < ALONE {
            let mut bits = column.into_iter();
            while bits.len() > 2 {
                a.extend(bits.next());
                b.extend(bits.next());
                c.extend(bits.next());
                place.push(i);
            }
            next[i].extend(bits);
            continue;
        }
        let (a, rest) = column.split_at(triples);
        let (b, rest) = rest.split_at(triples);
        let (c, rest) = rest.split_at(triples);
        let carrying = if i + 1 < width { triples } else { 0 };
        let (sums, carries) = full_adders(g, a, b, c, carrying)?;
        next[i].extend(sums);
        next[i].extend_from_slice(rest);
        if let Some(above) = next.get_mut(i + 1) {
            above.extend(carries);
        }
    }
    let carrying = place.iter().take_while(|place| **place + 1 < width).count();
    let (sums, carries) = full_adders(g, &a, &b, &c, carrying)?;
    for (sum, place) in sums.into_iter().zip(&place) {
        next[*place].push(sum);
    }
    for (carry, place) in carries.into_iter().zip(&place) {
        next[*place + 1].push(carry);
    }
    Ok(next)
}

/// Full adders of one column that need no others to fill a batch.
const ALONE: usize = 512;

/// The sums of triples, and the carries of the first `carrying` of them.
fn full_adders<G: Gates>(
    g: &mut G,
    a: &[G::Wire],
    b: &[G::Wire],
    c: &[G::Wire],
    carrying: usize,
) -> Result<(Bits<G>, Bits<G>), G::Error> {
    let b_c = g.xor_many(b, c)?;
    let sums = g.xor_many(a, &b_c)?;
    let a_c = g.xor_many(&a[..carrying], &c[..carrying])?;
    let carries = g.and_many(&a_c, &b_c[..carrying])?;
    Ok((sums, g.xor_many(&carries, &c[..carrying])?))
}
