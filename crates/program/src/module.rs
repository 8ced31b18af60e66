//! A module: a typed signature, functions, and the block that computes the outputs.

use cenote_circuit::{Circuit, InputPort, OutputPort, Owner, Receiver, Signature};

use crate::op::{Op, ValueId};
use crate::path::{PortPath, Version};
use crate::shape::{Kind, Shape};

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
    pub owner: Owner,
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
    pub receiver: Receiver,
    /// How people read it.
    pub kind: Kind,
    /// Its shape.
    pub shape: Shape,
    /// The value of the main block.
    pub(crate) value: ValueId,
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
}

/// Statements in order, with parameters and results.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Block {
    /// Parameters are numbered one after the other from here on.
    pub(crate) first_param: u32,
    pub(crate) params: u32,
    pub(crate) statements: Vec<Statement>,
    pub(crate) results: Vec<ValueId>,
    /// Values of enclosing blocks that statements of this one read.
    pub(crate) captured: Vec<ValueId>,
    /// Bits that are alive in it at once, at most, captured ones included.
    pub(crate) lane_bits: u64,
}

impl Block {
    pub(crate) fn params(&self) -> impl ExactSizeIterator<Item = ValueId> + use<> {
        (self.first_param..self.first_param + self.params).map(ValueId)
    }
}

impl Block {
    /// The numbers of its values, those of the blocks in it included.
    pub(crate) fn numbers(&self) -> std::ops::Range<usize> {
        let params = self.first_param + self.params;
        let end = self.statements.last().map_or(params, |last| last.first_result + last.results);
        self.first_param as usize..end as usize
    }
}

/// One operation on values.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    pub(crate) op: Op,
    pub(crate) args: Vec<ValueId>,
    /// Results are numbered one after the other from here on.
    pub(crate) first_result: u32,
    pub(crate) results: u32,
    /// Values that nothing reads after this statement (the usage count of KSS12, section 4.5).
    pub(crate) dead: Vec<ValueId>,
}

impl Statement {
    pub(crate) fn results(&self) -> impl ExactSizeIterator<Item = ValueId> + use<> {
        (self.first_result..self.first_result + self.results).map(ValueId)
    }
}

impl Statement {
    /// Whether it uses its operand at this position up: nothing reads the value afterwards, and
    /// nothing else of this statement does.
    #[must_use]
    pub fn uses_up(&self, position: usize) -> bool {
        let id = self.args[position];
        let once = self.args.iter().filter(|arg| **arg == id).count() == 1;
        let captured = match &self.op {
            Op::For { body, .. } | Op::Map { body, .. } => body.captured.contains(&id),
            Op::If { then, otherwise } => {
                then.captured.contains(&id) || otherwise.captured.contains(&id)
            }
            _ => false,
        };
        once && !captured && self.dead.binary_search(&id).is_ok()
    }
}

impl Module {
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
    /// newest.
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
