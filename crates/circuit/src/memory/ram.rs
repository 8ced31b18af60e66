//! The one interface of memories.

use super::nest::Nest;
use super::plan::{Layout, Needs, Plan, bits};
use super::resting::{Resting, wake};
use super::root::Root;
use super::rows::{Access, Rows};
use super::state::State;
use super::{Broken, Reactive};
use crate::bits::bits_of;
use crate::gadgets::constant_bits;

/// A random access memory, kept as its [`Plan`] says.
pub struct Ram<W> {
    plan: Plan,
    form: Form<W>,
}

enum Form<W> {
    /// As it was found: no access came to it.
    Found(State, Vec<Resting<W>>),
    Scan(Rows<W>),
    Nest(Box<Nest<W>>),
    Root(Box<Root<W>>),
}

/// A memory between two machines: all that [`Ram::found`] needs beside its plan.
pub struct PutAway<W> {
    /// What both sides know: docs/formats/memory.md.
    pub state: Vec<u8>,
    /// What it holds, in an order that the state gives.
    pub cells: Vec<Resting<W>>,
}

impl Plan {
    /// Wires of each cell of a memory of this plan that was put away in a state; `None` if it is no state of it.
    #[must_use]
    pub fn cells(&self, state: &[u8]) -> Option<Vec<usize>> {
        State::read(self, state).map(|state| state.cells(self))
    }
}

impl<W: Clone> Ram<W> {
    /// A memory of zeros.
    ///
    /// # Errors
    /// Those of the machine.
    pub fn empty<G: Reactive<Wire = W>>(g: &mut G, plan: Plan) -> Result<Ram<W>, G::Error> {
        let form = match plan.layout {
            Layout::Scan => {
                let zero = g.constant(false)?;
                Form::Scan(Rows::of(vec![vec![zero; plan.needs.width]; plan.needs.blocks]))
            }
            Layout::Trees { .. } => Form::Nest(Box::new(Nest::empty(g, plan.clone())?)),
            Layout::SquareRoot { .. } => Form::Root(Box::new(Root::new(g, plan.clone(), None)?)),
        };
        Ok(Ram { plan, form })
    }

    /// A memory for a machine that counts and does not compute: it begins for nothing, and each access takes what [`Plan::access`] says.
    ///
    /// # Errors
    /// Those of the machine.
    pub fn sample<G: Reactive<Wire = W>>(g: &mut G, plan: Plan) -> Result<Ram<W>, G::Error> {
        match plan.layout {
            Layout::SquareRoot { .. } => {
                let form = Form::Root(Box::new(Root::sample(g, plan.clone())?));
                Ok(Ram { plan, form })
            }
            _ => Ram::empty(g, plan),
        }
    }

    /// A memory of given rows, which the plan must know of.
    ///
    /// # Errors
    /// Those of the machine.
    ///
    /// # Panics
    /// When the rows are not those that were planned for.
    pub fn of<G: Reactive<Wire = W>>(
        g: &mut G,
        plan: Plan,
        rows: Rows<W>,
    ) -> Result<Ram<W>, G::Error> {
        assert!(plan.needs.is_given, "a memory that was to begin with zeros");
        assert_eq!(rows.shape(), (plan.needs.blocks, plan.needs.width), "rows of another memory");
        let form = match plan.layout {
            Layout::Scan => Form::Scan(rows),
            Layout::Trees { .. } => {
                Form::Nest(Box::new(Nest::of(g, plan.clone(), rows.into_inner())?))
            }
            Layout::SquareRoot { .. } => {
                Form::Root(Box::new(Root::new(g, plan.clone(), Some(rows.into_inner()))?))
            }
        };
        Ok(Ram { plan, form })
    }

    /// Puts it away. Nothing is opened: whether a stash overflowed is told by the next access that opens anything.
    ///
    /// # Errors
    /// Those of the machine.
    ///
    /// # Panics
    /// When a row was taken and is not put back.
    pub fn put_away<G: Reactive<Wire = W>>(self, g: &mut G) -> Result<PutAway<W>, G::Error> {
        let (state, cells) = match self.form {
            Form::Found(state, cells) => (state, cells),
            Form::Scan(rows) => (State::Scan, vec![Resting::Wires(rows.into_inner().concat())]),
            Form::Nest(nest) => nest.put_away(g)?,
            Form::Root(root) => root.put_away(),
        };
        Ok(PutAway { state: state.to_bytes(), cells })
    }

    /// A memory that was put away, as it was. It rests until the first access; then buckets of trees rest on until one comes to them, all else wakes.
    ///
    /// # Errors
    /// [`Broken::Unlike`] if it is none of the plan.
    pub fn found<G: Reactive<Wire = W>>(
        g: &mut G,
        plan: Plan,
        away: PutAway<W>,
    ) -> Result<Ram<W>, G::Error> {
        let PutAway { state, cells } = away;
        let state = State::read(&plan, &state);
        let lengths = cells.iter().map(Resting::wires);
        match state.filter(|state| state.cells(&plan).into_iter().eq(lengths)) {
            Some(state) => Ok(Ram { plan, form: Form::Found(state, cells) }),
            None => Err(g.broken(Broken::Unlike)),
        }
    }

    /// What is accessed now.
    fn awake<G: Reactive<Wire = W>>(&mut self, g: &mut G) -> Result<&mut Form<W>, G::Error> {
        if let Form::Found(state, cells) = &mut self.form {
            let (plan, cells) = (&self.plan, std::mem::take(cells));
            self.form = match std::mem::replace(state, State::Scan) {
                State::Scan => {
                    let wires = wake(g, cells)?.concat();
                    let row = |row: usize| &wires[row * plan.needs.width..][..plan.needs.width];
                    let rows = (0..plan.needs.blocks).map(|at| row(at).to_vec());
                    Form::Scan(Rows::of(rows.collect()))
                }
                State::Trees(state) => {
                    Form::Nest(Box::new(Nest::found(g, plan.clone(), state, cells)?))
                }
                State::Root(state) => {
                    Form::Root(Box::new(Root::found(g, plan.clone(), state, cells)?))
                }
            };
        }
        Ok(&mut self.form)
    }

    /// How it is kept.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Reads or writes the row at the unsigned secret `index`; gives the row that is read. Beyond the end zeros are read and nothing is
    /// written.
    ///
    /// # Errors
    /// Those of the machine; [`Broken`](super::Broken), and then the memory is of no use any more.
    ///
    /// # Panics
    /// When a word is not as wide as a row.
    pub fn access<G: Reactive<Wire = W>>(
        &mut self,
        g: &mut G,
        index: &[W],
        access: Access<'_, W>,
    ) -> Result<Vec<W>, G::Error> {
        match (self.awake(g)?, access) {
            (Form::Scan(rows), access) => rows.access(g, index, access),
            (Form::Nest(nest), Access::Read) => nest.access(g, index, |_, row| Ok(row.to_vec())),
            (Form::Root(root), Access::Read) => root.access(g, index, |_, row| Ok(row.to_vec())),
            (_, Access::Read) => asleep(),
            (_, Access::Write { word, enable }) => {
                self.take(g, index)?;
                self.put(g, word, enable)?;
                Ok(Vec::new())
            }
        }
    }

    /// Puts `change` of the row at the unsigned secret `index` in its place, and gives the row as it was. Beyond the end `change` gets
    /// zeros, and nothing is written.
    ///
    /// # Errors
    /// As [`Self::access`].
    pub fn update<G: Reactive<Wire = W>>(
        &mut self,
        g: &mut G,
        index: &[W],
        change: impl FnOnce(&mut G, &[W]) -> Result<Vec<W>, G::Error>,
    ) -> Result<Vec<W>, G::Error> {
        let rows = match self.awake(g)? {
            Form::Nest(nest) => return nest.access(g, index, change),
            Form::Root(root) => return root.access(g, index, change),
            Form::Scan(rows) => rows,
            Form::Found(..) => asleep(),
        };
        let old = rows.access(g, index, Access::Read)?;
        let (word, enable) = (change(g, &old)?, g.constant(true)?);
        rows.access(g, index, Access::Write { word: &word, enable: &enable })?;
        Ok(old)
    }

    /// The first half of an update of a memory that is not scanned: the row at the unsigned secret `index`, zeros beyond the end. Nothing but
    /// [`Self::put`] may come next: any other access panics.
    ///
    /// # Errors
    /// As [`Self::access`].
    ///
    /// # Panics
    /// When the rows are scanned, or one is in hand already.
    pub fn take<G: Reactive<Wire = W>>(
        &mut self,
        g: &mut G,
        index: &[W],
    ) -> Result<Vec<W>, G::Error> {
        match self.awake(g)? {
            Form::Nest(nest) => nest.take(g, index),
            Form::Root(root) => root.take(g, index),
            Form::Scan(_) => scanned(),
            Form::Found(..) => asleep(),
        }
    }

    /// The second half: the row that was taken is replaced where a secret bit is set, and not beyond the end. Both take what a write does.
    ///
    /// # Errors
    /// As [`Self::access`].
    ///
    /// # Panics
    /// When no row was taken, or the word is not as wide as a row.
    pub fn put<G: Reactive<Wire = W>>(
        &mut self,
        g: &mut G,
        word: &[W],
        enable: &W,
    ) -> Result<(), G::Error> {
        let change = |g: &mut G, row: &[W]| g.mux_many(enable, word, row);
        match &mut self.form {
            Form::Nest(nest) => nest.put(g, change),
            Form::Root(root) => root.put(g, change),
            Form::Scan(_) => scanned(),
            Form::Found(..) => panic!("no row was taken"),
        }
    }

    /// Whether a row was taken and is not put back.
    #[must_use]
    pub fn is_in_hand(&self) -> bool {
        match &self.form {
            Form::Nest(nest) => nest.is_in_hand(),
            Form::Root(root) => root.is_in_hand(),
            Form::Scan(_) | Form::Found(..) => false,
        }
    }

    /// The row at a public index; beyond the end zeros, for nothing.
    ///
    /// # Errors
    /// As [`Self::access`].
    pub fn row<G: Reactive<Wire = W>>(
        &mut self,
        g: &mut G,
        index: usize,
    ) -> Result<Vec<W>, G::Error> {
        let Needs { blocks, width, .. } = self.plan.needs;
        if index >= blocks {
            return Ok(vec![g.constant(false)?; width]);
        }
        match self.awake(g)? {
            Form::Scan(rows) => Ok(rows.row(index)),
            _ => {
                let width = bits(blocks - 1);
                let index = constant_bits(g, &bits_of(index as u128, width))?;
                self.access(g, &index, Access::Read)
            }
        }
    }
}

fn asleep() -> ! {
    unreachable!("a memory wakes before it is accessed")
}

fn scanned() -> ! {
    panic!("rows that are scanned are read and written whole")
}
