//! Ports as the builder takes them.

use cenote_circuit::{Receivers, Role};

use super::{Builder, check_shape};
use crate::error::{BuildError, ensure};
use crate::limits::MAX_PORTS;
use crate::module::{Body, Input, LastingRam, NamedMemory, Output};
use crate::op::ValueId;
use crate::path::{PortPath, Version};
use crate::shape::{Kind, Shape};
use crate::tables::Lasting;

impl Builder {
    /// The path of a word or a vector; dots in the name are those between steps.
    fn flat(&self, name: &str, lanes: u32) -> PortPath {
        match self.version {
            Version::One => PortPath::plain(name, lanes),
            Version::Two | Version::Three | Version::Four => PortPath::flat(name, lanes),
        }
    }

    /// Declares an input that is a word or a vector. All inputs come before the first statement.
    ///
    /// # Errors
    /// A bad or repeated name, a bad shape, a kind that the width does not fit, too many ports.
    pub fn input(
        &mut self,
        name: &str,
        owner: Role,
        kind: Kind,
        shape: Shape,
    ) -> Result<ValueId, BuildError> {
        check_shape(shape)?;
        self.input_at(self.flat(name, shape.lanes), owner, kind, shape.width)
    }

    /// Declares a part of an input: a value with one word of `width` bits in each place of the path.
    ///
    /// # Errors
    /// As [`Self::input`]; parts of a record that do not follow one another, or have two owners.
    pub fn input_at(
        &mut self,
        path: PortPath,
        owner: Role,
        kind: Kind,
        width: u32,
    ) -> Result<ValueId, BuildError> {
        path.check(self.version)?;
        ensure(self.inputs.len() < MAX_PORTS, || format!("more than {MAX_PORTS} inputs"))?;
        let (name, shape) = (path.name(), path.shape(width)?);
        let same = self.input_names.continues(&path);
        self.input_names.add("input", &path)?;
        let other = self.inputs.last().is_some_and(|last| last.owner != owner);
        ensure(!(same && other), || {
            format!("input `{name}`: all parts of an input have one owner")
        })?;
        check_port(&name, kind, shape)?;
        let is_first = self.frame().shapes.len() == self.inputs.len();
        ensure(is_first, || format!("input `{name}` comes after a statement; move it up"))?;
        let value = self.param(&name, shape)?;
        self.inputs.push(Input { name, path, owner, kind, shape });
        Ok(value)
    }

    /// A parameter of the main block, before all statements.
    fn param(&mut self, name: &str, shape: Shape) -> Result<ValueId, BuildError> {
        let ports = self.inputs.len() + self.memories.len();
        let is_first = self.in_main() && self.frame().shapes.len() == ports;
        ensure(is_first, || format!("`{name}` comes after a statement; move it up"))?;
        self.frame().top().block.params += 1;
        Ok(self.frame().define(shape, false))
    }

    /// Whether no block or function is open.
    fn in_main(&mut self) -> bool {
        self.frames.len() == 1 && self.frame().open.len() == 1
    }

    /// Declares a part of a memory that outlives a run: a value with one word of `width` bits in each place of the path, zeros if the run
    /// begins it (`is_new`), else what an earlier run has left. After the inputs, before the first statement.
    ///
    /// # Errors
    /// As [`Self::input_at`]; parts of a record some of which are new.
    pub fn memory_at(
        &mut self,
        path: PortPath,
        is_new: bool,
        kind: Kind,
        width: u32,
    ) -> Result<ValueId, BuildError> {
        self.lasting(path, is_new, kind, width, None)
    }

    /// Declares a part of a memory that outlives a run as a random access memory: a row of `width` bits in each place of the path, for
    /// `accesses` in its whole life. Programs that share it declare it alike. It is read and written by `lookup` and `store` alone, and what is left in it is its
    /// last version; if the run begins it, any value may be, which become its rows.
    ///
    /// # Errors
    /// As [`Self::memory_at`]; no accesses, or more rows than any such memory has.
    pub fn ram_at(
        &mut self,
        path: PortPath,
        is_new: bool,
        kind: Kind,
        width: u32,
        accesses: u32,
    ) -> Result<ValueId, BuildError> {
        self.lasting(path, is_new, kind, width, Some(accesses))
    }

    fn lasting(
        &mut self,
        path: PortPath,
        is_new: bool,
        kind: Kind,
        width: u32,
        accesses: Option<u32>,
    ) -> Result<ValueId, BuildError> {
        ensure(self.version != Version::One, || "a memory in a program of version 1".to_owned())?;
        let needed = if accesses.is_some() { Version::Four } else { Version::Three };
        self.version = self.version.max(needed);
        path.check(self.version)?;
        ensure(self.memories.len() < MAX_PORTS, || format!("more than {MAX_PORTS} memories"))?;
        let (name, shape) = (path.name(), path.shape(width)?);
        let same = self.memory_names.continues(&path);
        self.memory_names.add("memory", &path)?;
        let other = self.memories.last().is_some_and(|last| last.is_new != is_new);
        ensure(!(same && other), || {
            format!("memory `{name}`: all parts of a memory begin, or none")
        })?;
        check_port(&name, kind, shape)?;
        let ram = accesses.map(|accesses| {
            ensure(accesses > 0, || format!("memory `{name}`: no accesses in its life"))?;
            let ram = LastingRam::new(shape, accesses);
            ram.ok_or_else(|| BuildError::new(format!("memory `{name}`: too many rows")))
        });
        let ram = ram.transpose()?;
        let value = self.param(&name, shape)?;
        self.memories.push(NamedMemory { name, path, is_new, kind, shape, left: None, ram });
        Ok(value)
    }

    /// Leaves a value in a part of a memory, which goes on then: all parts of it, or none.
    ///
    /// # Errors
    /// No such memory, or one that something is left in already; another shape; a value that is not in sight of the main block.
    pub fn leave(&mut self, name: &str, value: ValueId) -> Result<(), BuildError> {
        ensure(self.in_main(), || {
            "memories are left in the main block; end the blocks first".into()
        })?;
        let shape = self.shape_of(value)?;
        let memory = self.memories.iter_mut().find(|memory| memory.name == name);
        let memory = memory.ok_or_else(|| BuildError::new(format!("no memory `{name}`")))?;
        ensure(memory.left.is_none(), || {
            format!("memory `{name}`: something is left in it already")
        })?;
        ensure(memory.shape == shape, || {
            format!("memory `{name}` is {}, not {shape}", memory.shape)
        })?;
        memory.left = Some(value);
        Ok(())
    }

    /// Whether each memory goes on with all of its parts, or ends with all.
    pub(super) fn check_left(&self) -> Result<(), BuildError> {
        for (part, next) in self.memories.iter().zip(self.memories.iter().skip(1)) {
            let same = part.path.steps()[0].name == next.path.steps()[0].name;
            ensure(!same || part.is_kept() == next.is_kept(), || {
                format!("memory `{}`: nothing is left in a part of it", part.path.steps()[0].name)
            })?;
        }
        let is_needed = self.version != Version::Three || !self.memories.is_empty();
        ensure(is_needed, || {
            "a program of version 3 has a memory; this one is of version 2".to_owned()
        })?;
        let has_ram = self.memories.iter().any(|memory| memory.ram.is_some());
        ensure(self.version != Version::Four || has_ram, || {
            "a program of version 4 has a memory `ram`; this one is of an earlier version".into()
        })
    }

    /// Notes of each random access memory that outlives the run what the run does with it.
    pub(super) fn follow_rams(&mut self, main: &mut Body) -> Result<(), BuildError> {
        let mut result = self.outputs.len();
        let mut starts = Vec::new();
        for (memory, param) in self.memories.iter().zip(main.block.params().skip(self.inputs.len()))
        {
            let left = memory.is_kept().then_some(result);
            result += usize::from(memory.is_kept());
            // What nothing is left in that the run begins is a table like any.
            if memory.ram.is_some() && !(memory.is_new && left.is_none()) {
                let stays = memory.plan().is_some();
                starts.push(Lasting { id: param, left, stays });
            }
        }
        let spends = main.memories.carry(&main.shapes, &main.block, &starts);
        for (memory, param) in
            self.memories.iter_mut().zip(main.block.params().skip(self.inputs.len()))
        {
            let Some(ram) = &mut memory.ram else { continue };
            let spent = spends.get(&param).copied();
            ensure(memory.is_new || spent.is_some(), || {
                format!(
                    "memory `{}` is read and written by lookup and store alone, each on what the one before gives, and what is left in it is the last of these. No map accesses it, and \
                     no `if` writes it: store with the condition as the enable bit (in Python `m.value.update(i, lambda row: cn.where(condition, new, row))`)",
                    memory.name
                )
            })?;
            (ram.is_carried, ram.spends) = (spent.is_some(), spent.unwrap_or(0));
            ensure(ram.spends <= ram.accesses(), || {
                format!(
                    "memory `{}` has {} accesses in its life, this program takes {}",
                    memory.name, ram.plan.needs.accesses, ram.spends
                )
            })?;
        }
        Ok(())
    }

    /// Declares an output that is a word or a vector.
    ///
    /// # Errors
    /// As [`Self::input`]; a value that is not in sight of the main block.
    pub fn output(
        &mut self,
        name: &str,
        receiver: Receivers,
        kind: Kind,
        value: ValueId,
    ) -> Result<(), BuildError> {
        let lanes = self.shape_of(value)?.lanes;
        self.output_at(self.flat(name, lanes), receiver, kind, value)
    }

    /// Declares a part of an output: a value with one lane for each place of the path.
    ///
    /// # Errors
    /// As [`Self::output`]; parts of a record that do not follow one another; another number of lanes.
    pub fn output_at(
        &mut self,
        path: PortPath,
        receiver: Receivers,
        kind: Kind,
        value: ValueId,
    ) -> Result<(), BuildError> {
        path.check(self.version)?;
        let main = self.in_main();
        ensure(main, || "outputs are values of the main block; end the blocks first".to_owned())?;
        ensure(self.outputs.len() < MAX_PORTS, || format!("more than {MAX_PORTS} outputs"))?;
        self.output_names.add("output", &path)?;
        let (name, shape) = (path.name(), self.shape_of(value)?);
        let places = path.shape(shape.width)?.lanes;
        ensure(places == shape.lanes, || {
            format!("output `{path}` has {places} items, not those of {shape}")
        })?;
        check_port(&name, kind, shape)?;
        self.outputs.push(Output { name, path, receiver, kind, shape, value });
        Ok(())
    }
}

fn check_port(name: &str, kind: Kind, shape: Shape) -> Result<(), BuildError> {
    check_shape(shape)?;
    let (fits, rule) = match kind {
        Kind::Bool => (shape.width == 1, "is one bit".to_owned()),
        Kind::Fixed { fraction } => {
            (fraction < shape.width, format!("has more than {fraction} bits"))
        }
        Kind::Bits | Kind::UInt | Kind::Int => return Ok(()),
    };
    ensure(fits, || format!("port `{name}`: {shape} is no {kind}, which {rule}"))
}
