//! Playing a tape on a machine that has no arrays: batch by batch, through handles.

use super::{Op, Operand, Step, Tape, lane_groups};
use crate::gates::Gates;

impl Tape {
    /// Gives `g` the gates of all lanes, in batches over `together` of them; appends to each of `out` its word of one lane after the other. A wire is
    /// dropped at its last use.
    ///
    /// # Errors
    /// Those of the machine.
    pub fn by_gates<G: Gates + ?Sized>(
        &self,
        g: &mut G,
        [lanes, together]: [usize; 2],
        operands: &[Operand<'_, G::Wire>],
        out: &mut [Vec<G::Wire>],
    ) -> Result<(), G::Error> {
        for (first, count) in lane_groups(lanes, together) {
            let mut store = Store::new(self, first, count, operands);
            for (linear, ands) in self.runs() {
                for step in linear {
                    store.linear(g, step)?;
                }
                for ands in alike(ands) {
                    match ands[0].op() {
                        Op::Group => store.groups(g, ands)?,
                        _ => store.ands(g, ands)?,
                    }
                }
            }
            for (slots, out) in self.words().zip(&mut *out) {
                for lane in 0..count {
                    out.extend(slots.iter().map(|slot| store.wire(*slot, lane).clone()));
                }
            }
        }
        Ok(())
    }
}

/// The ANDs of a batch that are handed over together: those of no group, or groups of one length.
fn alike(mut ands: &[Step]) -> impl Iterator<Item = &[Step]> {
    std::iter::from_fn(move || {
        let first = ands.first()?;
        let together = match first.op() {
            Op::Group => {
                let groups = ands.chunks(first.b() as usize + 1);
                let of_one_length =
                    |group: &&[Step]| (group[0].op(), group[0].b()) == (Op::Group, first.b());
                groups.take_while(of_one_length).map(<[_]>::len).sum()
            }
            _ => ands.iter().take_while(|step| step.op() != Op::Group).count(),
        };
        let (now, later) = ands.split_at(together);
        ands = later;
        Some(now)
    })
}

/// The wires of some lanes, `[slot][lane]`, and room for the operands of a batch.
struct Store<W> {
    cells: Vec<Option<W>>,
    lanes: usize,
    left: Vec<W>,
    right: Vec<W>,
}

impl<W: Clone> Store<W> {
    fn new(tape: &Tape, first: usize, lanes: usize, operands: &[Operand<'_, W>]) -> Store<W> {
        let mut cells = vec![None; tape.slots * lanes];
        tape.load(operands, first, lanes, |cell, wire| {
            if let Some(cell) = cell {
                cells[cell] = Some(wire.clone());
            }
        });
        Store { cells, lanes, left: Vec::new(), right: Vec::new() }
    }

    fn wire(&self, slot: u32, lane: usize) -> &W {
        match &self.cells[slot as usize * self.lanes + lane] {
            Some(wire) => wire,
            None => unreachable!("the plan reads a slot between its write and its last use"),
        }
    }

    /// The wires of one slot, moved out at their last use.
    fn read(&mut self, slot: u32, is_last: bool, to: &mut Vec<W>) {
        for lane in 0..self.lanes {
            let cell = &mut self.cells[slot as usize * self.lanes + lane];
            let wire = if is_last { cell.take() } else { cell.clone() };
            to.extend(wire);
        }
    }

    fn put(&mut self, slot: u32, wires: impl IntoIterator<Item = W>) {
        let start = slot as usize * self.lanes;
        for (cell, wire) in self.cells[start..start + self.lanes].iter_mut().zip(wires) {
            *cell = Some(wire);
        }
    }

    fn linear<G: Gates<Wire = W> + ?Sized>(
        &mut self,
        g: &mut G,
        step: &Step,
    ) -> Result<(), G::Error> {
        let (mut left, mut right) =
            (std::mem::take(&mut self.left), std::mem::take(&mut self.right));
        if step.reads() > 1 {
            self.read(step.b(), step.last_b(), &mut right);
        }
        if step.reads() > 0 {
            self.read(step.a(), step.last_a(), &mut left);
        }
        match step.op() {
            Op::Zero | Op::One => {
                let wire = g.constant(step.op() == Op::One)?;
                self.put(step.out(), std::iter::repeat_n(wire, self.lanes));
            }
            Op::Xor if self.lanes == 1 => self.put(step.out(), [g.xor(&left[0], &right[0])?]),
            Op::Xor => self.put(step.out(), g.xor_many(&left, &right)?),
            Op::Not => {
                for wire in &mut left {
                    *wire = g.not(wire)?;
                }
                self.put(step.out(), left.drain(..));
            }
            Op::And | Op::Group => unreachable!("an AND is in no run of linear steps"),
        }
        left.clear();
        right.clear();
        (self.left, self.right) = (left, right);
        Ok(())
    }

    fn ands<G: Gates<Wire = W> + ?Sized>(
        &mut self,
        g: &mut G,
        steps: &[Step],
    ) -> Result<(), G::Error> {
        let (mut left, mut right) =
            (std::mem::take(&mut self.left), std::mem::take(&mut self.right));
        for step in steps {
            self.read(step.b(), step.last_b(), &mut right);
            self.read(step.a(), step.last_a(), &mut left);
        }
        let products = match (&left[..], &right[..]) {
            ([a], [b]) => vec![g.and(a, b)?],
            (a, b) => g.and_many(a, b)?,
        };
        let mut products = products.into_iter();
        for step in steps {
            self.put(step.out(), products.by_ref().take(self.lanes));
        }
        left.clear();
        right.clear();
        (self.left, self.right) = (left, right);
        Ok(())
    }

    /// Groups of equally many ANDs: each lane of each group is one below.
    fn groups<G: Gates<Wire = W> + ?Sized>(
        &mut self,
        g: &mut G,
        steps: &[Step],
    ) -> Result<(), G::Error> {
        let width = steps[0].b() as usize;
        let (mut selects, mut bits) = (Vec::new(), Vec::new());
        for group in steps.chunks(width + 1) {
            for lane in 0..self.lanes {
                selects.push(self.wire(group[0].a(), lane).clone());
                bits.extend(group[1..].iter().map(|step| self.wire(step.b(), lane).clone()));
            }
            self.drop_read(&group[1..]);
        }
        let products = g.and_groups(&selects, &bits)?;
        let mut products = products.chunks(width * self.lanes);
        for group in steps.chunks(width + 1) {
            let products = products.next().unwrap_or_default();
            for (bit, step) in group[1..].iter().enumerate() {
                self.put(step.out(), products.iter().skip(bit).step_by(width).cloned());
            }
        }
        Ok(())
    }

    /// Drops the operands that these steps were the last to read.
    fn drop_read(&mut self, steps: &[Step]) {
        for step in steps {
            for (slot, is_last) in [(step.a(), step.last_a()), (step.b(), step.last_b())] {
                if is_last {
                    let start = slot as usize * self.lanes;
                    self.cells[start..start + self.lanes].fill(None);
                }
            }
        }
    }
}
