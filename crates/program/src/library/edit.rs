//! Levenshtein's edit distance, in differences of neighbours in its table.
//!
//! Neighbours differ by -1, 0 or 1, and a cell exceeds its upper left neighbour by 0 or 1 (Ukkonen
//! 1985, Myers 1999), so a cell takes the differences along its left and upper sides to those along
//! its right and lower ones with four ANDs and no numbers. A difference is two bits: whether it is -1,
//! and whether it is not 0.
//!
//! A strip of rows is worked on at once, one lane to a row, each lane one column behind the lane of
//! the row above. A lane that reaches the end of its row begins its row of the next strip, so lanes
//! idle only before the first strip and after the last.

use cenote_circuit::{Receivers, Role, bits_of};

use super::{bits, bits_for, word};
use crate::builder::Builder;
use crate::error::BuildError;
use crate::module::Module;
use crate::op::{Affine, LoopVar, ValueId, WordOp};
use crate::shape::{Kind, Shape};

/// The edit distance of `rows` symbols of the garbler and `columns` symbols of the evaluator, for both.
///
/// Inputs `x` and `y`, one lane a symbol of `symbol_bits` bits; output `distance`, a number.
/// 4 ANDs a cell and `symbol_bits` - 1 to compare, on at most 2 % more cells than the table has.
///
/// # Errors
/// No symbols, or more than a module takes.
pub fn edit_distance(rows: u32, columns: u32, symbol_bits: u32) -> Result<Module, BuildError> {
    if rows == 0 || columns == 0 {
        return Err(BuildError::new("an edit distance is between strings of at least one symbol"));
    }
    of_layout(rows, Layout::new(rows, columns), symbol_bits)
}

fn of_layout(rows: u32, layout: Layout, symbol_bits: u32) -> Result<Module, BuildError> {
    let mut b = Builder::new("edit-distance", "Levenshtein distance of two strings")?;
    let x = b.input("x", Role::Garbler, Kind::Bits, Shape::vector(rows, symbol_bits))?;
    let y =
        b.input("y", Role::Evaluator, Kind::Bits, Shape::vector(layout.columns, symbol_bits))?;
    let table = Table::new(&mut b, layout, x, y)?;
    let (state, symbols) = table.start(&mut b)?;
    let carried = [&state.values()[..], &[symbols]].concat();
    let (strip, carried) = b.begin_for(layout.strips, &carried)?;
    let (state, symbols) = table.strip(&mut b, strip, State::of(&carried)?, carried[4])?;
    let end = b.end_for(&[&state.values()[..], &[symbols]].concat())?;
    let bottom = table.bottom(&mut b, State::of(&end)?, end[4])?;
    let distance = total(&mut b, layout, rows, bottom)?;
    b.output("distance", Receivers::Both, Kind::UInt, distance)?;
    b.finish()
}

/// How the table is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layout {
    columns: u32,
    /// Rows of a strip.
    height: u32,
    strips: u32,
    /// Rows above the table that fill the first strip.
    spare: u32,
}

impl Layout {
    /// The highest strips that waste no more than 2 % of the table.
    fn new(rows: u32, columns: u32) -> Layout {
        let cells = u64::from(rows) * u64::from(columns);
        let cut = |height: u32| {
            let strips = rows.div_ceil(height);
            // `rows` is at least 1, so there is less than a strip to spare.
            let spare = (u64::from(strips) * u64::from(height) - u64::from(rows)) as u32;
            Layout { columns, height, strips, spare }
        };
        let highest = MAX_HEIGHT.min(rows).min(columns.div_ceil(2));
        let fits = |layout: &Layout| layout.waste() <= cells / 50;
        (1..=highest).rev().map(cut).find(fits).unwrap_or_else(|| cut(1))
    }

    /// Cells that are computed and do not belong to the table.
    fn waste(&self) -> u64 {
        let height = u64::from(self.height);
        u64::from(self.spare) * u64::from(self.columns) + height * (height - 1)
    }
}

/// Enough lanes to make little of what a statement costs, few enough for the caches.
const MAX_HEIGHT: u32 = 256;

/// Differences: whether each is -1, and whether it is 1 or -1.
#[derive(Clone, Copy)]
struct Deltas {
    minus: ValueId,
    some: ValueId,
}

/// The state that goes from step to step.
#[derive(Clone, Copy)]
struct State {
    /// Left of the cells at work, one lane a row.
    left: Deltas,
    /// Above cells, by column: a ring in which each lane leaves what the lane below it takes next.
    upper: Deltas,
}

impl State {
    fn values(self) -> [ValueId; 4] {
        [self.left.minus, self.left.some, self.upper.minus, self.upper.some]
    }

    /// Takes the state off the results of a loop that carries [`Self::values`], and perhaps more
    /// behind them.
    fn of(values: &[ValueId]) -> Result<State, BuildError> {
        let [left_minus, left_some, upper_minus, upper_some, ..] = *values else {
            return Err(BuildError::new("a step carries four values"));
        };
        let left = Deltas { minus: left_minus, some: left_some };
        let upper = Deltas { minus: upper_minus, some: upper_some };
        Ok(State { left, upper })
    }
}

/// The table that all steps read. Row `height - 1 - i` of a strip is lane i, so that lanes of `y`
/// and of the ring run forwards.
struct Table {
    layout: Layout,
    /// Symbols of the rows, the spare ones first.
    x: ValueId,
    /// Symbols of the columns as a ring that is cut open: the last `height - 1` of them, then all.
    y: ValueId,
    /// Whether the difference at the left end of a row is -1, as only the spare ones have it.
    left_minus: ValueId,
    one: ValueId,
}

impl Table {
    fn new(b: &mut Builder, layout: Layout, x: ValueId, y: ValueId) -> Result<Table, BuildError> {
        let Layout { columns, height, strips, spare } = layout;
        let rows = match spare {
            0 => x,
            _ => {
                let symbol = b.lanes(x, Affine::at(0), 1, 1)?;
                let none = word(b, WordOp::Tile, &[spare], &[symbol])?;
                word(b, WordOp::Join, &[], &[none, x])?
            }
        };
        let ring = match height {
            1 => y,
            _ => {
                let tail =
                    b.lanes(y, Affine::at(i64::from(columns - height + 1)), height - 1, 1)?;
                word(b, WordOp::Join, &[], &[tail, y])?
            }
        };
        let left: Vec<bool> = (0..strips * height).map(|row| row < spare).collect();
        let left_minus = b.constant(Shape::vector(strips * height, 1), &left)?;
        Ok(Table { layout, x: rows, y: ring, left_minus, one: bits(b, 1, true)? })
    }

    /// Before the first strip. Lanes that have not begun hold cells above the table, where symbols do
    /// not matter: a left difference of -1 and an upper one of 1 reproduce themselves.
    fn start(&self, b: &mut Builder) -> Result<(State, ValueId), BuildError> {
        let Layout { columns, height, .. } = self.layout;
        let lanes = bits(b, height, true)?;
        let left = Deltas { minus: lanes, some: lanes };
        let upper = Deltas { minus: bits(b, columns, false)?, some: bits(b, columns, true)? };
        Ok((State { left, upper }, b.lanes(self.x, Affine::at(0), height, 1)?))
    }

    /// One strip: its lanes begin one after the other while those of the strip before end, then all
    /// of them run to the end of their uppermost row.
    fn strip(
        &self,
        b: &mut Builder,
        strip: LoopVar,
        state: State,
        symbols: ValueId,
    ) -> Result<(State, ValueId), BuildError> {
        let Layout { columns, height, .. } = self.layout;
        let (mut state, symbols) = self.begin_rows(b, strip, state, symbols)?;
        let (from, rest) = (i64::from(height), columns - height);
        if rest > 0 {
            let Deltas { minus, some } = state.upper;
            state.upper = Deltas { minus: self.lap(b, minus)?, some: self.lap(b, some)? };
            state = self.steps(b, rest, from, state, symbols)?;
            let Deltas { minus, some } = state.upper;
            state.upper = Deltas { minus: self.unlap(b, minus)?, some: self.unlap(b, some)? };
        }
        Ok((state, symbols))
    }

    /// The steps in which the rows of a strip begin, the uppermost first.
    fn begin_rows(
        &self,
        b: &mut Builder,
        strip: LoopVar,
        state: State,
        symbols: ValueId,
    ) -> Result<(State, ValueId), BuildError> {
        let height = i64::from(self.layout.height);
        let carried = [&state.values()[..], &[symbols]].concat();
        let (step, carried) = b.begin_for(self.layout.height, &carried)?;
        let mut state = State::of(&carried)?;
        let row = Affine::at(0).plus(strip, height).plus(step, 1);
        let lane = Affine::at(height - 1).plus(step, -1);
        let symbol = b.lanes(self.x, row.clone(), 1, 1)?;
        let symbols = b.put(carried[4], lane.clone(), symbol)?;
        let minus = b.lanes(self.left_minus, row, 1, 1)?;
        state.left.minus = b.put(state.left.minus, lane.clone(), minus)?;
        state.left.some = b.put(state.left.some, lane, self.one)?;
        let state = self.step(b, Affine::at(0).plus(step, 1), state, symbols)?;
        let after = b.end_for(&[&state.values()[..], &[symbols]].concat())?;
        Ok((State::of(&after)?, after[4]))
    }

    /// Steps in which no row begins.
    fn steps(
        &self,
        b: &mut Builder,
        count: u32,
        from: i64,
        state: State,
        symbols: ValueId,
    ) -> Result<State, BuildError> {
        let (step, carried) = b.begin_for(count, &state.values())?;
        let at = Affine::at(from).plus(step, 1);
        let state = self.step(b, at, State::of(&carried)?, symbols)?;
        State::of(&b.end_for(&state.values())?)
    }

    /// One cell in every lane; the last lane is in column `at`.
    fn step(
        &self,
        b: &mut Builder,
        at: Affine,
        state: State,
        symbols: ValueId,
    ) -> Result<State, BuildError> {
        let height = self.layout.height;
        let columns = b.lanes(self.y, at.clone(), height, 1)?;
        let differ = differ(b, symbols, columns)?;
        let mut window = |ring| b.lanes(ring, at.clone(), height, 1);
        let upper = Deltas { minus: window(state.upper.minus)?, some: window(state.upper.some)? };
        let (right, lower) = cells(b, differ, state.left, upper)?;
        let minus = b.put(state.upper.minus, at.clone(), lower.minus)?;
        let some = b.put(state.upper.some, at, lower.some)?;
        Ok(State { left: right, upper: Deltas { minus, some } })
    }

    /// The ring with its first `height - 1` lanes once more behind its last.
    fn lap(&self, b: &mut Builder, ring: ValueId) -> Result<ValueId, BuildError> {
        let Layout { height, .. } = self.layout;
        if height == 1 {
            return Ok(ring);
        }
        let first = b.lanes(ring, Affine::at(0), height - 1, 1)?;
        word(b, WordOp::Join, &[], &[ring, first])
    }

    /// The ring again, its first lanes taken from behind its last.
    fn unlap(&self, b: &mut Builder, ring: ValueId) -> Result<ValueId, BuildError> {
        let Layout { columns, height, .. } = self.layout;
        if height == 1 {
            return Ok(ring);
        }
        let ring_alone = b.lanes(ring, Affine::at(0), columns, 1)?;
        let first = b.lanes(ring, Affine::at(i64::from(columns)), height - 1, 1)?;
        b.put(ring_alone, Affine::at(0), first)
    }

    /// The differences along the lower side of the table, in no particular order.
    fn bottom(
        &self,
        b: &mut Builder,
        state: State,
        symbols: ValueId,
    ) -> Result<Deltas, BuildError> {
        let Layout { columns, height, .. } = self.layout;
        if height == 1 {
            return Ok(state.upper);
        }
        // All rows but the uppermost of the last strip are still to end.
        let ended = self.steps(b, height - 1, 0, state, symbols)?;
        let mut join = |early: ValueId, late: ValueId| {
            let early =
                b.lanes(early, Affine::at(i64::from(height) - 1), columns - height + 1, 1)?;
            let late = b.lanes(late, Affine::at(0), height - 1, 1)?;
            word(b, WordOp::Join, &[], &[early, late])
        };
        let minus = join(state.upper.minus, ended.upper.minus)?;
        Ok(Deltas { minus, some: join(state.upper.some, ended.upper.some)? })
    }
}

/// Whether symbols differ.
fn differ(b: &mut Builder, x: ValueId, y: ValueId) -> Result<ValueId, BuildError> {
    if b.shape(x)?.width == 1 {
        return word(b, WordOp::Xor, &[], &[x, y]);
    }
    let same = word(b, WordOp::Eq, &[], &[x, y])?;
    word(b, WordOp::Not, &[], &[same])
}

/// The differences to the right of cells and below them, from those on the left and above.
fn cells(
    b: &mut Builder,
    differ: ValueId,
    left: Deltas,
    upper: Deltas,
) -> Result<(Deltas, Deltas), BuildError> {
    let mut op = |op, args: &[ValueId]| word(b, op, &[], args);
    let (left_rises, upper_rises) =
        (op(WordOp::Not, &[left.minus])?, op(WordOp::Not, &[upper.minus])?);
    let rises = op(WordOp::And, &[left_rises, upper_rises])?;
    // The difference along the diagonal; it is that of two sides in a row, so less one it is the other.
    let diagonal = op(WordOp::And, &[differ, rises])?;
    let level = op(WordOp::Not, &[diagonal])?;
    let mut less = |side: Deltas| {
        let plus = op(WordOp::Xor, &[side.minus, side.some])?;
        let minus = op(WordOp::And, &[plus, level])?;
        Ok(Deltas { minus, some: op(WordOp::Xor, &[side.some, diagonal])? })
    };
    let right = less(upper)?;
    Ok((right, less(left)?))
}

/// The lower right entry of the table: down its left side, then along its lower side.
fn total(
    b: &mut Builder,
    layout: Layout,
    rows: u32,
    bottom: Deltas,
) -> Result<ValueId, BuildError> {
    let width = bits_for(u64::from(rows) + u64::from(layout.columns));
    let left = b.constant(Shape::word(width), &bits_of(u128::from(rows), width as usize))?;
    let plus = word(b, WordOp::Xor, &[], &[bottom.minus, bottom.some])?;
    let rises = word(b, WordOp::Sum, &[width, 1], &[plus])?;
    let falls = word(b, WordOp::Sum, &[width, 1], &[bottom.minus])?;
    let highest = word(b, WordOp::Add, &[], &[left, rises])?;
    word(b, WordOp::Sub, &[], &[highest, falls])
}

#[cfg(test)]
mod tests {
    use cenote_circuit::{Counter, value_of};

    use super::*;

    fn levenshtein(a: &[&[bool]], b: &[&[bool]]) -> u128 {
        let mut row: Vec<u128> = (0..=b.len() as u128).collect();
        for (i, x) in a.iter().enumerate() {
            let mut diagonal = std::mem::replace(&mut row[0], i as u128 + 1);
            for (j, y) in b.iter().enumerate() {
                let best = (diagonal + u128::from(x != y)).min(row[j] + 1).min(row[j + 1] + 1);
                diagonal = std::mem::replace(&mut row[j + 1], best);
            }
        }
        row[b.len()]
    }

    /// Bits that look random, the same for the same seed.
    fn random_bits(seed: u64, count: usize) -> Vec<bool> {
        let mut state = seed;
        let step = |_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            state >> 63 == 1
        };
        (0..count).map(step).collect()
    }

    #[test]
    fn distances_are_right_however_the_table_is_cut() {
        let cut = |columns, height, strips, spare| Layout { columns, height, strips, spare };
        let layouts = [
            (1, cut(1, 1, 1, 0)),
            (1, cut(7, 1, 1, 0)),
            (9, cut(1, 1, 9, 0)),
            (4, cut(3, 2, 2, 0)),
            (7, cut(9, 4, 2, 1)),
            (10, cut(23, 4, 3, 2)),
            (6, cut(11, 6, 1, 0)),
        ];
        for (rows, layout) in layouts {
            for symbol_bits in [1, 2, 3] {
                let module = of_layout(rows, layout, symbol_bits).unwrap();
                for seed in 0..20 {
                    let word = |seed, symbols| random_bits(seed, (symbols * symbol_bits) as usize);
                    let (x, y) = (word(2 * seed, rows), word(2 * seed + 1, layout.columns));
                    let width = symbol_bits as usize;
                    let (a, b): (Vec<_>, Vec<_>) =
                        (x.chunks(width).collect(), y.chunks(width).collect());
                    let expected = levenshtein(&a, &b);
                    let got = module.evaluate(&[x.clone(), y.clone()]);
                    assert_eq!(value_of(&got[0]), expected, "{layout:?} {symbol_bits} {seed}");
                }
            }
        }
    }

    #[test]
    fn strips_are_wide_and_waste_little() {
        for (rows, columns, height) in
            [(255, 255, 32), (1024, 1024, 128), (4095, 4095, 256), (1, 9, 1)]
        {
            let layout = Layout::new(rows, columns);
            assert_eq!(layout.height, height);
            let module = edit_distance(rows, columns, 2).unwrap();
            let stats = module.stats().unwrap();
            let cells = u64::from(rows) * u64::from(columns) + layout.waste();
            let sums = 4 * u64::from(columns);
            assert!((5 * cells..5 * cells + sums).contains(&stats.ands), "{}", stats.ands);
            assert!(50 * layout.waste() <= u64::from(rows) * u64::from(columns));
            assert!(module.to_bytes().len() < 3000, "{}", module.to_bytes().len());
        }
    }

    #[test]
    fn counts_are_those_of_the_stream() {
        let module = edit_distance(40, 30, 2).unwrap();
        let stats = module.stats().unwrap();
        let counts = Counter::count(&module.stream().unwrap());
        assert_eq!((stats.ands, stats.xors, stats.nots), (counts.and, counts.xor, counts.not));
        assert_eq!(stats.batches, counts.and_batches);
    }

    #[test]
    fn strings_without_symbols_are_refused() {
        assert!(edit_distance(0, 3, 1).is_err());
        assert!(edit_distance(3, 0, 1).is_err());
    }
}
