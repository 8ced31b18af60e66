//! A disk in memory that loses power or runs full when a test says so.
//!
//! What was not synced before a loss of power is lost, kept, cut or garbage after it, each file and each change of a name on its own, by luck that the
//! test chooses: worse than any real file system, which keeps some order.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cenote_prim::{Block, Prg};

use super::files::{Files, Mark, NewFile};

/// A disk with one directory; clones are the same disk.
#[derive(Clone, Default)]
pub struct SimulatedDisk(Arc<Mutex<State>>);

#[derive(Clone, Default)]
struct State {
    /// By number; those without a name stay, as blocks on a disk do.
    files: BTreeMap<u64, Inode>,
    names: BTreeMap<String, u64>,
    synced_names: BTreeMap<String, u64>,
    /// Changes of names since they were synced: name, and file if it has one.
    pending: Vec<Vec<(String, Option<u64>)>>,
    clock: i64,
    /// Calls that change something, before the power goes.
    power: Option<u64>,
    /// Calls that take space, before there is none.
    room: Option<u64>,
    steps: u64,
}

#[derive(Clone, Default)]
struct Inode {
    bytes: Vec<u8>,
    synced: Vec<u8>,
    born: i64,
    changed: i64,
    synced_changed: i64,
}

impl SimulatedDisk {
    /// Calls so far that changed something.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.state().steps
    }

    /// The power goes in the call after this many that change something.
    pub fn stop_after(&self, calls: u64) {
        self.state().power = Some(calls);
    }

    /// No space is left after this many calls that take some; with `None` there is plenty.
    pub fn full_after(&self, calls: Option<u64>) {
        self.state().room = calls;
    }

    /// The power comes back after it went, be it just now: `luck` chooses what of the unsynced is left.
    pub fn reboot(&self, luck: u64) {
        let mut state = self.state();
        let mut luck = Prg::new(Block::new(luck.into()));
        state.power = None;
        for inode in state.files.values_mut() {
            inode.survive(&mut luck);
        }
        let mut names = state.synced_names.clone();
        for change in std::mem::take(&mut state.pending) {
            if coin(&mut luck, 2) == 0 {
                apply(&mut names, &change);
            }
        }
        state.names.clone_from(&names);
        state.synced_names = names;
    }

    /// Another disk with the same bytes, as a backup has it.
    #[must_use]
    pub fn copied(&self) -> SimulatedDisk {
        let copy = SimulatedDisk::default();
        // Elsewhere at another time, so no file of the copy has the mark of one here.
        copy.state().clock = self.state().clock + 1_000;
        for name in self.names() {
            copy.put(&name, &self.bytes(&name));
        }
        copy
    }

    /// Another disk in the same state down to the marks of files, as a virtual machine that is put back has it.
    #[must_use]
    pub fn forked(&self) -> SimulatedDisk {
        SimulatedDisk(Arc::new(Mutex::new(self.state().clone())))
    }

    /// The names in the directory.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.state().names.keys().cloned().collect()
    }

    /// The bytes of a file; none if there is no such file.
    #[must_use]
    pub fn bytes(&self, name: &str) -> Vec<u8> {
        self.state().inode(name).map(|inode| inode.bytes.clone()).unwrap_or_default()
    }

    /// Puts a file there, over an old one in place, as a copy does.
    pub fn put(&self, name: &str, bytes: &[u8]) {
        let mut state = self.state();
        if !state.names.contains_key(name) {
            state.link(name);
            state.sync_names();
        }
        let now = state.tick();
        if let Ok(inode) = state.inode(name) {
            inode.bytes = bytes.to_vec();
            inode.changed = now;
            inode.sync();
        }
    }

    /// Changes the bytes of a file as a fault of the disk does: its times tell nothing.
    pub fn corrupt(&self, name: &str, change: impl FnOnce(&mut Vec<u8>)) {
        if let Ok(inode) = self.state().inode(name) {
            change(&mut inode.bytes);
            inode.sync();
        }
    }

    /// What whoever reads the whole disk finds beside the files that have names.
    #[must_use]
    pub fn remains(&self) -> Vec<Vec<u8>> {
        let state = self.state();
        let unnamed = state.files.iter().filter(|(n, _)| !state.names.values().any(|m| m == *n));
        unnamed.map(|(_, inode)| inode.bytes.clone()).collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inode {
    fn sync(&mut self) {
        self.synced.clone_from(&self.bytes);
        self.synced_changed = self.changed;
    }

    fn survive(&mut self, luck: &mut Prg) {
        if coin(luck, 2) == 0 {
            self.changed = self.synced_changed;
        }
        if self.bytes != self.synced {
            let new = std::mem::take(&mut self.bytes);
            let cut = coin(luck, new.len() as u64 + 1) as usize;
            let mut garbage = vec![0; new.len() - cut];
            luck.fill_bytes(&mut garbage);
            self.bytes = match coin(luck, 5) {
                0 => self.synced.clone(),
                1 => new,
                2 => new[..cut].to_vec(),
                3 => [&new[..cut], self.synced.get(cut..).unwrap_or_default()].concat(),
                _ => [&new[..cut], &garbage].concat(),
            };
        }
        self.sync();
    }
}

impl State {
    fn inode(&mut self, name: &str) -> io::Result<&mut Inode> {
        let number = self.names.get(name).ok_or(io::ErrorKind::NotFound)?;
        self.files.get_mut(number).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn tick(&mut self) -> i64 {
        self.clock += 1;
        self.clock
    }

    fn link(&mut self, name: &str) -> u64 {
        let number = self.files.len() as u64;
        let now = self.tick();
        let born = Inode { born: now, changed: now, synced_changed: now, ..Inode::default() };
        self.files.insert(number, born);
        self.rename(vec![(name.to_owned(), Some(number))]);
        number
    }

    fn rename(&mut self, change: Vec<(String, Option<u64>)>) {
        apply(&mut self.names, &change);
        self.pending.push(change);
    }

    fn sync_names(&mut self) {
        self.synced_names.clone_from(&self.names);
        self.pending.clear();
    }

    /// Whether the power is there, for a call that changes nothing.
    fn powered(&self) -> io::Result<()> {
        if self.power == Some(0) { Err(power_is_gone()) } else { Ok(()) }
    }

    /// Counts a call that changes something; `act` happens also in the one in which the power goes.
    fn step<T>(&mut self, act: impl FnOnce(&mut State) -> io::Result<T>) -> io::Result<T> {
        self.powered()?;
        self.steps += 1;
        let result = act(self);
        if let Some(power) = &mut self.power {
            *power -= 1;
        }
        self.powered().and(result)
    }

    /// As [`State::step`], for what takes hold only if the power is there at its end.
    fn sync_step(&mut self, act: impl FnOnce(&mut State) -> io::Result<()>) -> io::Result<()> {
        self.step(|_| Ok(()))?;
        act(self)
    }

    fn need_room(&self) -> io::Result<()> {
        if self.room == Some(0) { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }

    fn take_room(&mut self) -> io::Result<()> {
        self.need_room()?;
        self.room = self.room.map(|room| room - 1);
        Ok(())
    }
}

fn apply(names: &mut BTreeMap<String, u64>, change: &[(String, Option<u64>)]) {
    for (name, file) in change {
        match file {
            Some(file) => names.insert(name.clone(), *file),
            None => names.remove(name),
        };
    }
}

fn coin(luck: &mut Prg, sides: u64) -> u64 {
    luck.block().to_u128() as u64 % sides
}

fn power_is_gone() -> io::Error {
    io::Error::other("the power is gone")
}

impl Files for SimulatedDisk {
    fn place(&self) -> String {
        "simulated".to_owned()
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.state().powered()?;
        Ok(self.names())
    }

    fn mark(&self, name: &str) -> io::Result<Mark> {
        let mut state = self.state();
        state.powered()?;
        let (born, changed) = state.inode(name).map(|inode| (inode.born, inode.changed))?;
        Ok(Mark { inode: state.names[name], born, changed })
    }

    fn read(&self, name: &str) -> io::Result<Box<dyn Read + '_>> {
        let mut state = self.state();
        state.powered()?;
        Ok(Box::new(io::Cursor::new(state.inode(name)?.bytes.clone())))
    }

    fn create(&mut self, name: &str) -> io::Result<Box<dyn NewFile + '_>> {
        let number = self.state().step(|state| {
            if state.names.contains_key(name) {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            state.take_room()?;
            Ok(state.link(name))
        })?;
        Ok(Box::new(Handle { disk: self, number }))
    }

    fn blank(&mut self, name: &str, bytes: u64) -> io::Result<()> {
        let mut state = self.state();
        state.step(|state| {
            state.inode(name)?;
            // As where nothing is overwritten in place.
            state.need_room()?;
            let now = state.tick();
            let inode = state.inode(name)?;
            let bytes = inode.bytes.len().min(bytes as usize);
            inode.bytes[..bytes].fill(0);
            inode.changed = now;
            Ok(())
        })?;
        state.sync_step(|state| {
            state.inode(name)?.sync();
            Ok(())
        })
    }

    fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        self.state().step(|state| {
            let now = state.tick();
            state.inode(from)?.changed = now;
            let number = state.names[from];
            state.rename(vec![(from.to_owned(), None), (to.to_owned(), Some(number))]);
            Ok(())
        })
    }

    fn remove(&mut self, name: &str) -> io::Result<()> {
        self.state().step(|state| {
            state.inode(name)?;
            state.rename(vec![(name.to_owned(), None)]);
            Ok(())
        })
    }

    fn sync(&mut self) -> io::Result<()> {
        self.state().sync_step(|state| {
            state.sync_names();
            Ok(())
        })
    }
}

struct Handle<'d> {
    disk: &'d SimulatedDisk,
    number: u64,
}

impl Write for Handle<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.disk.state();
        state.step(|state| {
            state.take_room()?;
            let now = state.tick();
            if let Some(inode) = state.files.get_mut(&self.number) {
                inode.bytes.extend_from_slice(bytes);
                inode.changed = now;
            }
            Ok(bytes.len())
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl NewFile for Handle<'_> {
    fn sync(&mut self) -> io::Result<()> {
        let number = self.number;
        self.disk.state().sync_step(|state| {
            state.files.entry(number).or_default().sync();
            Ok(())
        })
    }
}

impl fmt::Debug for SimulatedDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SimulatedDisk").field(&self.names()).finish()
    }
}
