//! Ports as the builder takes them.

use cenote_circuit::{Receivers, Role};

use super::{Builder, check_shape};
use crate::error::{BuildError, ensure};
use crate::limits::MAX_PORTS;
use crate::module::{Input, Output};
use crate::op::ValueId;
use crate::path::{PortPath, Version};
use crate::shape::{Kind, Shape};

impl Builder {
    /// The path of a word or a vector; dots in the name are those between steps.
    fn flat(&self, name: &str, lanes: u32) -> PortPath {
        match self.version {
            Version::One => PortPath::plain(name, lanes),
            Version::Two => PortPath::flat(name, lanes),
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
        let main = self.frames.len() == 1 && self.frame().open.len() == 1;
        let fresh = self.frame().shapes.len() == self.inputs.len();
        ensure(main && fresh, || format!("input `{name}` comes after a statement; move it up"))?;
        self.inputs.push(Input { name, path, owner, kind, shape });
        self.frame().top().block.params += 1;
        Ok(self.frame().define(shape, false))
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
        let main = self.frames.len() == 1 && self.frame().open.len() == 1;
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
