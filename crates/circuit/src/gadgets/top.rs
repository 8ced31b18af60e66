//! The smallest, the largest, and the first few.

use super::Bits;
use super::compare::lt;
use super::network::{Network, NetworkKind};
use super::select::mux;
use super::sort::{Order, run, run_many};
use crate::gates::Gates;
use crate::lanes::zip_lanes;

/// The extreme element of a list and where it stands.
#[derive(Clone, Debug)]
pub struct Extreme<W> {
    /// Its position, counted from 0, in ceil(log2 rows) bits.
    pub index: Vec<W>,
    /// Its value.
    pub value: Vec<W>,
}

/// The smallest of some unsigned numbers and its position; the first of equal ones.
///
/// A tournament: 2n ANDs for each of rows - 1 matches, and about `rows` more for the position.
///
/// # Panics
///
/// When `values` is empty or its numbers differ in width.
pub fn arg_min<G: Gates>(g: &mut G, values: &[Bits<G>]) -> Result<Extreme<G::Wire>, G::Error> {
    tournament(g, values, Order::Ascending)
}

/// The largest of some unsigned numbers and its position; the first of equal ones. See [`arg_min`].
///
/// # Panics
///
/// As [`arg_min`].
pub fn arg_max<G: Gates>(g: &mut G, values: &[Bits<G>]) -> Result<Extreme<G::Wire>, G::Error> {
    tournament(g, values, Order::Descending)
}

/// The first `k` rows in `order` of their keys (all rows if there are fewer), sorted; keys and
/// payloads as in [`super::sort`]: `Descending` gives the `k` largest keys, the largest first.
///
/// # Panics
///
/// When rows differ in width or are narrower than `key_bits`.
pub fn top_k<G: Gates>(
    g: &mut G,
    rows: &[Bits<G>],
    key_bits: usize,
    k: usize,
    order: Order,
) -> Result<Vec<Bits<G>>, G::Error> {
    if k == 0 {
        return Ok(Vec::new());
    }
    let kind = NetworkKind::OddEven;
    // Blocks of k rows are sorted, then merged in pairs, of which only the first k rows live on.
    let (blocks, rest) = rows.split_at(rows.len() / k * k);
    let mut lists: Vec<Vec<Bits<G>>> = blocks.chunks(k).map(<[_]>::to_vec).collect();
    lists = run_many(g, Network::sort(kind, k), &lists, key_bits, order, k)?;
    while lists.len() > 1 {
        let bye = if lists.len() % 2 == 1 { lists.pop() } else { None };
        let pairs: Vec<Vec<Bits<G>>> = lists.chunks(2).map(<[_]>::concat).collect();
        lists = run_many(g, Network::merge(kind, k, k), &pairs, key_bits, order, k)?;
        lists.extend(bye);
    }
    let best = lists.pop().unwrap_or_default();
    let rest = run(g, Network::sort(kind, rest.len()), rest, key_bits, order, k)?;
    let network = Network::merge(kind, best.len(), rest.len());
    run(g, network, &[best, rest].concat(), key_bits, order, k)
}

/// Winners carry their value and the bits of their position that are known so far.
fn tournament<G: Gates>(
    g: &mut G,
    values: &[Bits<G>],
    order: Order,
) -> Result<Extreme<G::Wire>, G::Error> {
    let width = values.first().map(Vec::len);
    let Some(width) = width else { panic!("the extreme of an empty list") };
    let mut round = values.to_vec();
    while round.len() > 1 {
        let bye = if round.len() % 2 == 1 { round.pop() } else { None };
        let (left, right): (Vec<_>, Vec<_>) =
            round.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).unzip();
        round = zip_lanes(g, &left, &right, |g, left, right| {
            let (a, b) = (&left[..width], &right[..width]);
            let take_right = match order {
                Order::Ascending => lt(g, b, a)?,
                Order::Descending => lt(g, a, b)?,
            };
            let mut winner = mux(g, &take_right, right, left)?;
            winner.push(take_right);
            Ok(winner)
        })?;
        if let Some(mut bye) = bye {
            // It stood at an even place of this round.
            bye.push(g.constant(false)?);
            round.push(bye);
        }
    }
    let mut value = round.swap_remove(0);
    let index = value.split_off(width);
    Ok(Extreme { index, value })
}
