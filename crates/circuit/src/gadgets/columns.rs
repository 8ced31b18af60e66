//! Sums that are put together bit by bit: columns of bits of equal weight.

use super::Bits;
use super::arith::majority;
use super::logic::not_bits;
use crate::gates::Gates;

/// A sum modulo 2^columns: bits in the column of their weight, and a public number.
pub(super) struct Columns<W> {
    bits: Vec<W>,
    /// The column of each bit.
    places: Vec<u32>,
    /// The constant that is added besides, column by column; any sign, any size.
    constant: Vec<i64>,
}

impl<W: Clone> Columns<W> {
    /// An empty sum modulo 2^`width`.
    pub(super) fn new(width: usize) -> Self {
        Self { bits: Vec::new(), places: Vec::new(), constant: vec![0; width] }
    }

    /// The number of columns.
    pub(super) fn width(&self) -> usize {
        self.constant.len()
    }

    /// Makes room for `bits` more bits.
    pub(super) fn reserve(&mut self, bits: usize) {
        self.bits.reserve(bits);
        self.places.reserve(bits);
    }

    /// Adds `bits` times 2^`from`.
    pub(super) fn add(&mut self, bits: &[W], from: usize) {
        let count = self.width().saturating_sub(from).min(bits.len());
        self.bits.extend_from_slice(&bits[..count]);
        self.places.extend((from..from + count).map(|place| place as u32));
    }

    /// Adds one bit times 2^`at`.
    pub(super) fn add_bit(&mut self, bit: &W, at: usize) {
        self.add(std::slice::from_ref(bit), at);
    }

    /// Adds bits that all have the weight 2^`at`.
    pub(super) fn add_column(&mut self, bits: &[W], at: usize) {
        if at < self.width() {
            self.bits.extend_from_slice(bits);
            self.places.resize(self.bits.len(), at as u32);
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
        let width = self.width();
        let mut carry = 0;
        let mut odd_top = false;
        for i in 0..width {
            let value = self.constant[i] + carry;
            carry = value.div_euclid(2);
            if value.rem_euclid(2) == 1 {
                odd_top = i + 1 == width;
                if !odd_top {
                    self.add_bit(&g.constant(true)?, i);
                }
            }
        }
        let mut total = compress(g, self.sorted())?;
        if odd_top && let Some(top) = total.pop() {
            total.push(g.not(&top)?);
        }
        Ok(total)
    }

    /// The bits, column by column, each in the order in which they came.
    fn sorted(self) -> Layer<W> {
        // Where the bits of each column go; in the end, where they end.
        let mut ends = vec![0; self.width() + 1];
        for place in &self.places {
            ends[*place as usize + 1] += 1;
        }
        for i in 1..ends.len() {
            ends[i] += ends[i - 1];
        }
        if self.places.is_sorted() {
            ends.remove(0);
            return Layer { bits: self.bits, ends };
        }
        let mut order = vec![0; self.bits.len()];
        for (at, place) in self.places.iter().enumerate() {
            let next = &mut ends[*place as usize];
            order[*next] = at as u32;
            *next += 1;
        }
        ends.pop();
        let bits = order.iter().map(|at| self.bits[*at as usize].clone()).collect();
        Layer { bits, ends }
    }
}

/// Bits of columns, one column after the other.
struct Layer<W> {
    bits: Vec<W>,
    /// Where the bits of each column end.
    ends: Vec<usize>,
}

impl<W> Layer<W> {
    fn columns(&self) -> impl Iterator<Item = &[W]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.bits[start..*end])
    }
}

/// Adds columns of bits of equal weight (column i weighs 2^i) modulo 2^columns.
///
/// Full adders run in layers while any column holds three bits; half adders come only in the final
/// ripple, because they cost an AND without removing a bit. Counting n bits this way takes
/// n - (ones of n in binary) ANDs, which is the least possible.
fn compress<G: Gates>(g: &mut G, mut layer: Layer<G::Wire>) -> Result<Bits<G>, G::Error> {
    while layer.columns().any(|column| column.len() > 2) {
        layer = full_adder_layer(g, &layer)?;
    }
    let width = layer.ends.len();
    let mut out = Vec::with_capacity(width);
    let mut carry: Option<G::Wire> = None;
    for (i, column) in layer.columns().enumerate() {
        let mut bits = column.iter().cloned().chain(carry.take());
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
fn full_adder_layer<G: Gates>(
    g: &mut G,
    layer: &Layer<G::Wire>,
) -> Result<Layer<G::Wire>, G::Error> {
    let width = layer.ends.len();
    let room = || Vec::with_capacity(layer.bits.len().min(ALONE * width) / 3);
    let (mut a, mut b, mut c) = (room(), room(), room());
    let mut carrying = 0;
    // Sums and carries of the columns that are added in place.
    let mut alone = vec![];
    for (i, column) in layer.columns().enumerate() {
        let triples = column.len() / 3;
        if triples < ALONE {
            for triple in column.chunks_exact(3) {
                a.push(triple[0].clone());
                b.push(triple[1].clone());
                c.push(triple[2].clone());
            }
            carrying = if i + 1 < width { a.len() } else { carrying };
            continue;
        }
        let (a, rest) = column.split_at(triples);
        let (b, c) = rest.split_at(triples);
        let carrying = if i + 1 < width { triples } else { 0 };
        alone.push(full_adders(g, a, b, &c[..triples], carrying)?);
    }
    let together = full_adders(g, &a, &b, &c, carrying)?;
    Ok(next_layer(layer, alone, together))
}

/// Builds the layer that full adders leave of one: of each column the sums, what is left over, and
/// the carries from below.
fn next_layer<W: Clone>(layer: &Layer<W>, alone: Vec<Added<W>>, together: Added<W>) -> Layer<W> {
    let mut bits = Vec::with_capacity(layer.bits.len() * 2 / 3 + layer.ends.len());
    let mut ends = Vec::with_capacity(layer.ends.len());
    let [mut sums, mut carries] = [together.0, together.1].map(Vec::into_iter);
    let mut alone = alone.into_iter();
    let mut below: (usize, Vec<W>) = Default::default();
    for column in layer.columns() {
        let (triples, rest) = (column.len() / 3, &column[column.len() / 3 * 3..]);
        bits.append(&mut below.1);
        let mut carried = (triples, Vec::new());
        if triples < ALONE {
            bits.extend_from_slice(rest);
            bits.extend(sums.by_ref().take(triples));
        } else if let Some((mut sums, carries)) = alone.next() {
            bits.append(&mut sums);
            bits.extend_from_slice(rest);
            carried = (0, carries);
        }
        bits.extend(carries.by_ref().take(below.0));
        ends.push(bits.len());
        below = carried;
    }
    Layer { bits, ends }
}

/// Full adders of one column that need no others to fill a batch.
const ALONE: usize = 512;

/// Sums and carries.
type Added<W> = (Vec<W>, Vec<W>);

/// The sums of triples, and the carries of the first `carrying` of them.
fn full_adders<G: Gates>(
    g: &mut G,
    a: &[G::Wire],
    b: &[G::Wire],
    c: &[G::Wire],
    carrying: usize,
) -> Result<Added<G::Wire>, G::Error> {
    let b_c = g.xor_many(b, c)?;
    let sums = g.xor_many(a, &b_c)?;
    let a_c = g.xor_many(&a[..carrying], &c[..carrying])?;
    let carries = g.and_many(&a_c, &b_c[..carrying])?;
    Ok((sums, g.xor_many(&carries, &c[..carrying])?))
}
