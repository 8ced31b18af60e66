//! The Party API: what an application or a backend author sees (POOL, figure 3).

use cenote_circuit::{Access, Gates, Plan, Program, Resting};
use cenote_net::Fault;
pub use cenote_prim::Receivers;
use cenote_prim::{Prg, Role};

use crate::memory::Memory;

/// One party of a secure computation: gates, inputs and reveals.
///
/// Both parties run the same program text against their own instance; every call happens on both
/// sides in the same order. A fault ends the session: nothing may be called after one.
pub trait Party: Gates<Error = Fault> + Sized {
    /// This party, borrowed after its checks. Only [`Party::check`] makes one.
    type Checked<'p>: Checked<Self::Wire>
    where
        Self: 'p;

    /// This side's role.
    fn role(&self) -> Role;

    /// Brings `len` input bits of `owner` in. The owner passes the bits, the other side `None`.
    ///
    /// # Errors
    /// `Misuse` if the owner passes none or another number of bits, or the other side passes some;
    /// faults of the protocol.
    fn input(
        &mut self,
        owner: Role,
        len: usize,
        bits: Option<&[bool]>,
    ) -> Result<Vec<Self::Wire>, Fault>;

    /// Runs every deferred check. The party stays borrowed until the result opens wires or is dropped,
    /// so that whatever is opened was there when the checks ran:
    ///
    /// ```
    /// # use cenote_engine::{Checked, Fault, Party, Receivers};
    /// fn product<P: Party>(party: &mut P, a: &P::Wire, b: &P::Wire) -> Result<(), Fault> {
    ///     let wire = party.and(a, b)?;
    ///     let checked = party.check()?;
    ///     checked.open(Receivers::Both, &[wire]).map(drop)
    /// }
    /// ```
    ///
    /// With a gate between the checks and the opening, or an input, it does not compile:
    ///
    /// ```compile_fail,E0499
    /// # use cenote_engine::{Checked, Fault, Party, Receivers};
    /// fn product<P: Party>(party: &mut P, a: &P::Wire, b: &P::Wire) -> Result<(), Fault> {
    ///     let checked = party.check()?;
    ///     let wire = party.and(a, b)?;
    ///     checked.open(Receivers::Both, &[wire]).map(drop)
    /// }
    /// ```
    ///
    /// Nor does it with the checks of another request:
    ///
    /// ```compile_fail,E0499
    /// # use cenote_engine::backends::wrk::WrkSession;
    /// # use cenote_engine::{Checked, Fault, Party, Receivers, Role};
    /// fn later(session: &mut WrkSession) -> Result<(), Fault> {
    ///     let mut first = session.party();
    ///     let checked = first.check()?;
    ///     let wires = session.party().input(Role::Garbler, 1, None)?;
    ///     checked.open(Receivers::Both, &wires).map(drop)
    /// }
    /// ```
    ///
    /// # Errors
    /// `Misbehaved` if one fails; faults of the channel.
    fn check(&mut self) -> Result<Self::Checked<'_>, Fault>;

    /// Runs the deferred checks, then opens wires to the receivers. What is revealed to both may
    /// steer what comes next.
    ///
    /// # Errors
    /// Those of [`Party::check`] and [`Checked::open`].
    fn reveal(&mut self, to: Receivers, wires: &[Self::Wire]) -> Result<Option<Vec<bool>>, Fault> {
        self.check()?.open(to, wires)
    }

    /// Runs the deferred checks, then keeps wires under `name` for later requests of the session, in place of
    /// those that had this name. No wires: forgets those. Both sides make the same calls, with the same names.
    ///
    /// What is kept of a wire is wiped when it is replaced or forgotten, and with the session.
    ///
    /// # Errors
    /// `Misuse`, before anything is sent, with a backend that keeps no wires
    /// ([`Backend::keeps_wires`](crate::Backend::keeps_wires)); `Exhausted` if the session had to keep more than
    /// [`Backend::most_kept_wires`](crate::Backend::most_kept_wires); those of [`Party::check`].
    fn keep(&mut self, _name: &str, _wires: &[Self::Wire]) -> Result<(), Fault> {
        Err(keeps_no_wires())
    }

    /// The wires kept under `name` by an earlier request, or by this one, as wires of this one. They stay kept.
    ///
    /// # Errors
    /// `Misuse` if there are none, and with a backend that keeps no wires; those of [`Party::check`].
    fn kept(&mut self, name: &str) -> Result<Vec<Self::Wire>, Fault> {
        Ok(self.kept_all(&[name])?.pop().unwrap_or_default())
    }

    /// [`Self::kept`] of several names, in their order: a backend for which they take messages sends those of all together.
    ///
    /// # Errors
    /// As [`Self::kept`].
    fn kept_all(&mut self, _names: &[&str]) -> Result<Vec<Vec<Self::Wire>>, Fault> {
        Err(keeps_no_wires())
    }

    /// Whether the backend packs wires at rest.
    fn packs(&self) -> bool {
        false
    }

    /// Lets wires rest that nothing reads for a while: packed, if the backend packs any. It comes right after an opening or after other wires
    /// that were laid to rest, so that these wires were there when the checks ran.
    ///
    /// # Errors
    /// Faults of the protocol.
    fn rest(&mut self, wires: Vec<Self::Wire>) -> Result<Resting<Self::Wire>, Fault> {
        Ok(Resting::Wires(wires))
    }

    /// The wires of cells that rest, in their order. Both sides wake the same cells, and all that they need at a time in one call.
    ///
    /// # Errors
    /// `Internal` for cells that another backend packed; faults of the protocol.
    fn wake(&mut self, cells: Vec<Resting<Self::Wire>>) -> Result<Vec<Vec<Self::Wire>>, Fault> {
        let wires: Option<Vec<_>> = cells.into_iter().map(Resting::into_wires).collect();
        wires.ok_or_else(|| Fault::Internal("wires of another backend".into()))
    }

    /// Runs the deferred checks, then keeps cells under `name` as [`Party::keep`] keeps wires. A backend that packs keeps them packed.
    ///
    /// # Errors
    /// As [`Party::keep`].
    fn keep_cells(&mut self, name: &str, cells: Vec<Resting<Self::Wire>>) -> Result<(), Fault> {
        let cells = self.wake(cells)?;
        self.keep(name, &cells.concat())
    }

    /// The cells kept under `name`, of so many wires each. They stay kept until something else is kept there.
    ///
    /// # Errors
    /// As [`Party::kept`]; `Internal` if there are other ones.
    fn kept_cells(
        &mut self,
        name: &str,
        lengths: &[usize],
    ) -> Result<Vec<Resting<Self::Wire>>, Fault> {
        cut(&self.kept(name)?, lengths)
    }

    /// Keeps a memory under `name` for later requests, as it is: its rows, trees, or permuted blocks. Gives what [`Party::kept_ram`] takes: a state, which is public and equal on both sides.
    ///
    /// # Errors
    /// As [`Party::keep`]; `Misuse` for a memory that met a fault.
    fn keep_ram(&mut self, name: &str, memory: Memory<Self::Wire>) -> Result<Vec<u8>, Fault> {
        memory.keep(self, name)
    }

    /// The memory kept under `name` with this plan, in this state. It goes on as it would have; what stays kept may not be found again once the memory was
    /// accessed: what is opened twice would show whether the same row is accessed.
    ///
    /// # Errors
    /// As [`Party::kept`]; `Internal` if it has another plan or state.
    fn kept_ram(
        &mut self,
        name: &str,
        plan: Plan,
        state: Vec<u8>,
        prg: Prg,
    ) -> Result<Memory<Self::Wire>, Fault> {
        Memory::kept(self, name, plan, state, prg)
    }

    /// A memory as both sides have planned it, of zeros or of `rows`. `prg` is this side's part of the leaves that are tossed. A plan that both
    /// sides do not agree on otherwise belongs into [`Job::terms`](crate::Job::terms): unlike ones end in a fault that blames the peer.
    ///
    /// # Errors
    /// `Misuse` when the plan is not for such rows; faults of the protocol.
    fn init_ram(
        &mut self,
        plan: Plan,
        rows: Option<Vec<Vec<Self::Wire>>>,
        prg: Prg,
    ) -> Result<Memory<Self::Wire>, Fault> {
        Memory::new(self, plan, rows, prg)
    }

    /// Reads or writes the row of a memory at the unsigned secret `index`; gives the row that is read. Beyond the end zeros are
    /// read and nothing is written.
    ///
    /// # Errors
    /// `Misuse` when a word is not as wide as a row; `Overflowed` when the stash of the memory did; `Exhausted` when it had all of its
    /// accesses; faults of the protocol. The memory is of no use after any but the first.
    fn access_ram(
        &mut self,
        memory: &mut Memory<Self::Wire>,
        index: &[Self::Wire],
        access: Access<'_, Self::Wire>,
    ) -> Result<Vec<Self::Wire>, Fault> {
        memory.access(self, index, access)
    }

    /// Puts `change` of the row of a memory at the unsigned secret `index` in its place; gives the row as it was. Beyond the end
    /// `change` gets zeros and nothing is written.
    ///
    /// # Errors
    /// As [`Party::access_ram`], and those of `change`.
    fn update_ram(
        &mut self,
        memory: &mut Memory<Self::Wire>,
        index: &[Self::Wire],
        change: impl FnOnce(&mut Self, &[Self::Wire]) -> Result<Vec<Self::Wire>, Fault>,
    ) -> Result<Vec<Self::Wire>, Fault> {
        memory.update(self, index, change)
    }

    /// The row of a memory at a public index.
    ///
    /// # Errors
    /// `Misuse` for an index that is out of range; otherwise as [`Party::access_ram`].
    fn ram_row(
        &mut self,
        memory: &mut Memory<Self::Wire>,
        index: usize,
    ) -> Result<Vec<Self::Wire>, Fault> {
        memory.row(self, index)
    }

    /// Runs a program on wires, one list per input port; returns one list per output port.
    ///
    /// # Errors
    /// `Misuse` if the wires do not fit the program's signature; faults of the protocol.
    fn exec<P: Program>(
        &mut self,
        program: &P,
        inputs: &[Vec<Self::Wire>],
    ) -> Result<Vec<Vec<Self::Wire>>, Fault> {
        let fits = program.signature().check_inputs(inputs);
        fits.map_err(|error| Fault::Misuse(error.to_string()))?;
        program.run(self, inputs)
    }
}

/// What both see of these wires, after all checks.
pub(crate) fn open_to_both<P: Party>(party: &mut P, wires: &[P::Wire]) -> Result<Vec<bool>, Fault> {
    let bits = party.reveal(Receivers::Both, wires)?;
    bits.ok_or_else(|| Fault::Internal("what is opened to both reached one only".into()))
}

/// Most wires that a session keeps for later requests, under all names together, for a backend that keeps them as they are.
pub const MAX_KEPT_WIRES: usize = 1 << 21;

/// As [`MAX_KEPT_WIRES`], for a backend that packs wires at rest: 32 MiB of them at each side.
pub const MAX_RESTING_WIRES: usize = 1 << 26;

/// A memory that is not what its state says.
pub(crate) fn unlike() -> Fault {
    Fault::Internal("a memory is not as it was put away".into())
}

/// All of `wires` as cells of these lengths.
pub(crate) fn cut<W: Clone>(mut wires: &[W], lengths: &[usize]) -> Result<Vec<Resting<W>>, Fault> {
    let mut cells = Vec::with_capacity(lengths.len());
    for length in lengths {
        let cell = wires.split_off(..*length).ok_or_else(unlike)?;
        cells.push(Resting::Wires(cell.to_vec()));
    }
    if wires.is_empty() { Ok(cells) } else { Err(unlike()) }
}

/// The answer of a backend whose wires end with their request.
fn keeps_no_wires() -> Fault {
    Fault::Misuse("this backend keeps no wires for later requests".into())
}

/// A party whose checks all ran, and to which nothing happened since.
pub trait Checked<Wire> {
    /// Opens wires to the receivers. Returns the bits to a receiver, `None` to the other party.
    ///
    /// # Errors
    /// Faults of the protocol.
    fn open(self, to: Receivers, wires: &[Wire]) -> Result<Option<Vec<bool>>, Fault>;
}

/// Checks the arguments of [`Party::input`].
pub(crate) fn expect_input(
    role: Role,
    owner: Role,
    len: usize,
    bits: Option<&[bool]>,
) -> Result<&[bool], Fault> {
    match (role == owner, bits) {
        (true, Some(bits)) if bits.len() == len => Ok(bits),
        (false, None) => Ok(&[]),
        (true, Some(bits)) => {
            Err(Fault::Misuse(format!("the input has {} bits, not {len}", bits.len())))
        }
        (true, None) => Err(Fault::Misuse("the owner of an input passes its bits".into())),
        (false, Some(_)) => Err(Fault::Misuse("only the owner of an input passes bits".into())),
    }
}
