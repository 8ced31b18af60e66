//! A module: a typed signature, functions, and the block that computes the outputs.

use cenote_circuit::{
    Circuit, InputPort, Layout, MAX_EPSILON, Needs, OutputPort, Plan, Receivers, Role, Signature,
};

use crate::op::{Block, FunctionId, Op, ValueId};
use crate::path::{PortPath, Version};
use crate::run_value::Value;
use crate::shape::{Kind, Shape};
use crate::tables::{ANDS_PER_OPENING, EPSILON, Memories, Table, tables};

/// A computation as both owners read, hash, approve and price it.
///
/// It is valid by construction: [`crate::Builder`] makes it, also for the readers of the text and
/// the binary form. It is never expanded: loops stay loops.
#[derive(Clone, Debug, PartialEq)]
pub struct Module {
    pub(crate) version: Version,
    pub(crate) name: String,
    pub(crate) about: String,
    pub(crate) functions: Vec<Function>,
    pub(crate) inputs: Vec<Input>,
    pub(crate) memories: Vec<NamedMemory>,
    pub(crate) outputs: Vec<Output>,
    pub(crate) main: Body,
}

/// An input of a module, or a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// Its name: that of its path.
    pub name: String,
    /// Where it stands in the input that it is a part of.
    pub path: PortPath,
    /// Who provides it.
    pub owner: Role,
    /// How people read it.
    pub kind: Kind,
    /// Its shape.
    pub shape: Shape,
}

/// An output of a module, or a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Its name: that of its path.
    pub name: String,
    /// Where it stands in the output that it is a part of.
    pub path: PortPath,
    /// Who learns it.
    pub receiver: Receivers,
    /// How people read it.
    pub kind: Kind,
    /// Its shape.
    pub shape: Shape,
    /// The value of the main block.
    pub(crate) value: ValueId,
}

/// A secret value that outlives a run, or a part of one: what a run leaves in it is what the next run finds that names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedMemory {
    /// Its name: that of its path.
    pub name: String,
    /// Where it stands in the memory that it is a part of.
    pub path: PortPath,
    /// Whether this run begins it, with zeros, and does not find it.
    pub is_new: bool,
    /// How people read it.
    pub kind: Kind,
    /// Its shape.
    pub shape: Shape,
    /// What the run leaves in it; a memory that nothing is left in ends.
    pub(crate) left: Option<ValueId>,
    /// How it is kept if it is a random access memory: a row in each place of its path. Else it is a value.
    pub ram: Option<LastingRam>,
}

/// A random access memory that outlives a run. It goes from run to run as it is, so that none of them puts its rows in again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastingRam {
    /// How it is kept, for all accesses of its life: all programs that share it come to the same plan.
    pub plan: Plan,
    /// Accesses of this run, at most.
    pub spends: u64,
    /// Whether the run goes on with what it finds or begins. One that is new may also get a value as its rows when the run ends.
    pub(crate) is_carried: bool,
}

impl LastingRam {
    /// Rows of a shape, for so many accesses. It may begin with rows, so it is planned for that.
    pub(crate) fn new(shape: Shape, accesses: u32) -> Option<LastingRam> {
        let needs = Needs {
            is_given: true,
            ands_per_open: ANDS_PER_OPENING,
            epsilon: EPSILON,
            ..Needs::new(shape.lanes as usize, shape.width as usize, u64::from(accesses))
        };
        Some(LastingRam { plan: Plan::cheapest(needs)?, spends: 0, is_carried: false })
    }

    /// Accesses of its life.
    #[must_use]
    pub const fn accesses(&self) -> u64 {
        self.plan.needs.accesses
    }
}

impl NamedMemory {
    /// Whether it goes on after the run.
    #[must_use]
    pub const fn is_kept(&self) -> bool {
        self.left.is_some()
    }

    /// How it is kept from run to run, unless as rows, like any value.
    #[must_use]
    pub fn plan(&self) -> Option<&Plan> {
        self.ram.as_ref().map(|ram| &ram.plan).filter(|plan| plan.layout != Layout::Scan)
    }

    /// The random access memory that the run goes on with where it is.
    pub(crate) fn carried(&self) -> Option<&LastingRam> {
        self.ram.as_ref().filter(|ram| ram.is_carried && self.plan().is_some())
    }

    /// The plan of a memory that gets its rows when the run ends.
    pub(crate) fn gets_rows(&self) -> Option<&Plan> {
        let is_carried = self.ram.as_ref().is_some_and(|ram| ram.is_carried);
        self.plan().filter(|_| self.is_kept() && !is_carried)
    }

    /// What a run finds that begins it.
    pub(crate) fn zeros<W: Clone>(&self) -> Value<W> {
        Value::known(std::iter::repeat_n(false, self.shape.bits()))
    }
}

/// Something that can be called.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// Its name, unique in the module.
    pub name: String,
    /// Shapes of its parameters.
    pub params: Vec<Shape>,
    /// Shapes of its results.
    pub results: Vec<Shape>,
    pub(crate) code: Code,
}

impl Function {
    /// Bits that are alive at once in a call, at most.
    pub(crate) fn peak_bits(&self) -> u64 {
        match &self.code {
            Code::Body(body) => body.peak_bits,
            Code::Gates(circuit) => circuit.wires() as u64,
        }
    }
}

/// How a function is written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Code {
    /// Statements; the results of the block are those of the function.
    Body(Body),
    /// Gates; one port for each parameter and result, lane by lane.
    Gates(Box<Circuit>),
}

/// A block with the shapes of all values in it, numbered from its parameters on.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Body {
    pub(crate) shapes: Vec<Shape>,
    pub(crate) block: Block,
    /// Bits that are alive at once, at most.
    pub(crate) peak_bits: u64,
    /// The tables in it that are kept in memories.
    pub(crate) memories: Memories,
}

impl Module {
    /// Bits of memories that outlive the run, as it finds them and as it leaves them, at most; and how often those wake that are no random access
    /// memories: all at once.
    pub(crate) fn found_and_left(&self) -> (u64, u64, u64) {
        let (mut found_bits, mut left_bits, mut wakes) = (0u64, 0u64, 0);
        for memory in &self.memories {
            let bits = memory.shape.bits() as u64;
            if !memory.is_new {
                let found = memory.carried().map_or(bits, |ram| ram.plan.woken_wires(ram.spends));
                found_bits = found_bits.saturating_add(found);
                wakes = wakes.max(u64::from(memory.carried().is_none()));
            }
            if memory.is_kept() {
                let left = memory.plan().map_or(bits, Plan::resting_wires);
                left_bits = left_bits.saturating_add(left);
            }
        }
        (found_bits, left_bits, wakes)
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns its purpose, in a sentence.
    #[must_use]
    pub fn about(&self) -> &str {
        &self.about
    }

    /// The inputs in order.
    #[must_use]
    pub fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    /// The memories that outlive a run, in order.
    #[must_use]
    pub fn memories(&self) -> &[NamedMemory] {
        &self.memories
    }

    /// The outputs in order.
    #[must_use]
    pub fn outputs(&self) -> &[Output] {
        &self.outputs
    }

    /// The functions; each calls earlier ones only.
    #[must_use]
    pub fn functions(&self) -> &[Function] {
        &self.functions
    }

    /// The version of the format that it is written in: that of the file it was read from, else the
    /// newest that it needs.
    #[must_use]
    pub const fn version(&self) -> Version {
        self.version
    }

    /// The identity of the module: a hash of its binary form.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        let context = match self.version {
            Version::One => "cenote 2026 structured program v1",
            Version::Two => "cenote 2026 program module v2",
            Version::Three => "cenote 2026 program module v3",
            Version::Four => "cenote 2026 program module v4",
        };
        blake3::derive_key(context, &self.to_bytes())
    }

    /// The ports as circuits have them: a vector is one port of lanes times width bits.
    #[must_use]
    pub fn signature(&self) -> Signature {
        let inputs = self.inputs.iter().map(|port| InputPort {
            name: port.name.clone(),
            bits: port.shape.bits(),
            owner: Some(port.owner),
        });
        let outputs = self.outputs.iter().map(|port| OutputPort {
            name: port.name.clone(),
            bits: port.shape.bits(),
            receiver: Some(port.receiver),
        });
        Signature { inputs: inputs.collect(), outputs: outputs.collect() }
    }

    /// Whether it opens values before its end.
    #[must_use]
    pub fn is_reactive(&self) -> bool {
        fn reveals(block: &Block) -> bool {
            block.statements.iter().any(|statement| match &statement.op {
                Op::Reveal => true,
                Op::For { body, .. } | Op::Map { body, .. } => reveals(body),
                Op::If { then, otherwise } => reveals(then) || reveals(otherwise),
                _ => false,
            })
        }
        let function = |f: &Function| matches!(&f.code, Code::Body(body) if reveals(&body.block));
        reveals(&self.main.block) || self.functions.iter().any(function)
    }
}

impl Module {
    /// The tables that are used linearly, in the order of the text, functions first.
    ///
    /// What runs side by side, in a map, also by a call, shares no memory: there they are scanned whatever their plan says.
    #[must_use]
    pub fn tables(&self) -> Vec<Table> {
        let mut all = Vec::new();
        for (i, function) in self.functions.iter().enumerate() {
            if let Code::Body(Body { shapes, block, memories, .. }) = &function.code {
                all.extend(tables(Some(FunctionId(i as u32)), shapes, block, memories));
            }
        }
        let Body { shapes, block, memories, .. } = &self.main;
        let mut own = tables(None, shapes, block, memories);
        for (memory, id) in self.memories.iter().zip(block.params().skip(self.inputs.len())) {
            let table = own.iter_mut().find(|table| table.versions[0] == id);
            if let (Some(ram), Some(table)) = (memory.carried(), table) {
                table.plan = Some(ram.plan.clone());
            }
        }
        all.extend(own);
        all
    }

    /// Whether it keeps a table in another way than as rows that every access looks at.
    #[must_use]
    pub fn keeps_memories(&self) -> bool {
        let bodies = self.functions.iter().filter_map(|function| match &function.code {
            Code::Body(body) => Some(body),
            Code::Gates(_) => None,
        });
        let lasting = self.memories.iter().any(|memory| memory.ram.is_some());
        lasting || bodies.chain([&self.main]).any(|body| !body.memories.is_empty())
    }

    /// Has all memories of a run, as far as they can, fail with a probability of at most 2^-`epsilon` together, and each that outlives a run in its own
    /// life: 40 of a module that was made or read. Neither its text nor its digest change; [`Module::stats`] follow.
    pub fn share_bound(&mut self, epsilon: u32) {
        let mut begun: Vec<u64> = Vec::with_capacity(self.functions.len());
        for function in &self.functions {
            let times = match &function.code {
                Code::Body(body) => body.memories.begun(&body.block, &begun),
                Code::Gates(_) => 0,
            };
            begun.push(times);
        }
        let all = self.main.memories.begun(&self.main.block, &begun);
        let bodies = self.functions.iter_mut().filter_map(|function| match &mut function.code {
            Code::Body(body) => Some(body),
            Code::Gates(_) => None,
        });
        bodies.chain([&mut self.main]).for_each(|body| body.memories.share_bound(epsilon, all));
        for ram in self.memories.iter_mut().filter_map(|memory| memory.ram.as_mut()) {
            let plan = ram.plan.with_epsilon(epsilon.min(MAX_EPSILON));
            ram.plan = plan.unwrap_or_else(|| unreachable!("in range"));
        }
    }
}
