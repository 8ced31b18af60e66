//! Many independent copies of one computation, side by side.

use std::rc::Rc;

use crate::gates::{Gates, runs};

/// A machine whose wires are bundles of `width` wires of another machine, one per lane.
///
/// Whatever runs on it runs on all lanes at once, and every batch it hands down holds the gates of
/// all lanes: this is how each gadget gets its vector form without being written twice.
pub struct Lanes<'g, G: Gates> {
    inner: &'g mut G,
    width: usize,
}

/// The wire of [`Lanes`]: one wire per lane. Cloning shares the bundle.
pub type Bundle<W> = Rc<Vec<W>>;

impl<'g, G: Gates> Lanes<'g, G> {
    /// `width` lanes on `inner`.
    pub fn new(inner: &'g mut G, width: usize) -> Self {
        Self { inner, width }
    }

    /// The number of lanes.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The machine below.
    pub fn inner(&mut self) -> &mut G {
        self.inner
    }
}

impl<G: Gates> Gates for Lanes<'_, G> {
    type Wire = Bundle<G::Wire>;
    type Error = G::Error;

    fn constant(&mut self, bit: bool) -> Result<Self::Wire, G::Error> {
        let wire = self.inner.constant(bit)?;
        Ok(Rc::new(vec![wire; self.width]))
    }

    fn xor(&mut self, a: &Self::Wire, b: &Self::Wire) -> Result<Self::Wire, G::Error> {
        self.inner.xor_many(a, b).map(Rc::new)
    }

    fn not(&mut self, a: &Self::Wire) -> Result<Self::Wire, G::Error> {
        let wires: Result<Vec<_>, _> = a.iter().map(|wire| self.inner.not(wire)).collect();
        wires.map(Rc::new)
    }

    fn and(&mut self, a: &Self::Wire, b: &Self::Wire) -> Result<Self::Wire, G::Error> {
        self.inner.and_many(a, b).map(Rc::new)
    }

    fn and_many(
        &mut self,
        a: &[Self::Wire],
        b: &[Self::Wire],
    ) -> Result<Vec<Self::Wire>, G::Error> {
        let count = a.len().min(b.len());
        if count == 1 {
            return Ok(vec![self.and(&a[0], &b[0])?]);
        }
        let wires = self.inner.and_many(&concat(&a[..count]), &concat(&b[..count]))?;
        let mut wires = wires.into_iter();
        Ok((0..count).map(|_| Rc::new(wires.by_ref().take(self.width).collect())).collect())
    }

    fn and_groups(
        &mut self,
        selects: &[Self::Wire],
        bits: &[Self::Wire],
    ) -> Result<Vec<Self::Wire>, G::Error> {
        // Each lane of each group becomes a group below.
        let below: Vec<G::Wire> =
            runs(selects, bits).flat_map(|(_, run)| unpack(run, self.width)).flatten().collect();
        let wires = self.inner.and_groups(&concat(selects), &below)?;
        let length = bits.len().checked_div(selects.len()).unwrap_or(0);
        let lanes: Vec<Vec<G::Wire>> = wires.chunks(length.max(1)).map(<[_]>::to_vec).collect();
        Ok(lanes.chunks(self.width.max(1)).flat_map(pack).collect())
    }
}

fn concat<W: Clone>(bundles: &[Bundle<W>]) -> Vec<W> {
    let mut all = Vec::with_capacity(bundles.iter().map(|bundle| bundle.len()).sum());
    for bundle in bundles {
        all.extend_from_slice(bundle);
    }
    all
}

/// `wires`, `times` times over.
pub(crate) fn repeat<W: Clone>(wires: &[W], times: usize) -> Vec<W> {
    let mut all = Vec::with_capacity(wires.len() * times);
    for _ in 0..times {
        all.extend_from_slice(wires);
    }
    all
}

/// One bundle per bit from one vector of bits per lane.
///
/// # Panics
///
/// When the lanes have different widths.
pub fn pack<W: Clone>(lanes: &[Vec<W>]) -> Vec<Bundle<W>> {
    let bits = lanes.first().map_or(0, Vec::len);
    assert!(lanes.iter().all(|lane| lane.len() == bits), "lanes of different widths");
    (0..bits).map(|bit| Rc::new(lanes.iter().map(|lane| lane[bit].clone()).collect())).collect()
}

/// One vector of bits per lane from one bundle per bit; `width` is the number of lanes.
pub fn unpack<W: Clone>(bundles: &[Bundle<W>], width: usize) -> Vec<Vec<W>> {
    (0..width).map(|lane| bundles.iter().map(|bundle| bundle[lane].clone()).collect()).collect()
}

/// Runs `body` once on all lanes of one operand; not at all if there is no lane.
pub fn map_lanes<G: Gates>(
    g: &mut G,
    a: &[Vec<G::Wire>],
    body: impl FnOnce(&mut Lanes<'_, G>, &[Bundle<G::Wire>]) -> Result<Vec<Bundle<G::Wire>>, G::Error>,
) -> Result<Vec<Vec<G::Wire>>, G::Error> {
    if a.is_empty() {
        return Ok(Vec::new());
    }
    let packed = pack(a);
    let out = body(&mut Lanes::new(g, a.len()), &packed)?;
    Ok(unpack(&out, a.len()))
}

/// Runs `body` once on all lanes of two operands; not at all if there is no lane.
///
/// # Panics
///
/// When the operands have different numbers of lanes.
pub fn zip_lanes<G: Gates>(
    g: &mut G,
    a: &[Vec<G::Wire>],
    b: &[Vec<G::Wire>],
    body: impl FnOnce(
        &mut Lanes<'_, G>,
        &[Bundle<G::Wire>],
        &[Bundle<G::Wire>],
    ) -> Result<Vec<Bundle<G::Wire>>, G::Error>,
) -> Result<Vec<Vec<G::Wire>>, G::Error> {
    assert_eq!(a.len(), b.len(), "different numbers of lanes");
    if a.is_empty() {
        return Ok(Vec::new());
    }
    let (packed_a, packed_b) = (pack(a), pack(b));
    let out = body(&mut Lanes::new(g, a.len()), &packed_a, &packed_b)?;
    Ok(unpack(&out, a.len()))
}
