//! A finished program: its forms, ports, counts and clear run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use cenote_circuit::Program as _;
use cenote_circuit::formats::{Format, detect, parse_beside, read_bytes};
use cenote_circuit::optimise::Options;
use cenote_engine::Fault;
use cenote_job::Computation;
use cenote_program::{Accesses, LastingRam, Module, NamedMemory, Remembering, plain_name};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict};

use crate::party::raised;
use crate::ports::{self, Port};

/// A program, ready to be read, stored and run.
#[pyclass(module = "cenote._native", frozen)]
pub(crate) struct Program {
    module: Arc<Module>,
    /// The same with its counts, once they were asked for.
    counted: OnceLock<Result<Arc<Computation>, Fault>>,
}

impl Program {
    pub(crate) fn new(module: Module) -> Program {
        Program { module: Arc::new(module), counted: OnceLock::new() }
    }

    pub(crate) fn module(&self) -> Arc<Module> {
        Arc::clone(&self.module)
    }

    /// The program as a job takes it; counted once.
    pub(crate) fn counted(&self) -> Result<Arc<Computation>, Fault> {
        let count = || Computation::of_module(self.module()).map(Arc::new);
        self.counted.get_or_init(count).clone()
    }
}

/// What counting says of a program that is too large for it.
fn too_large(fault: &Fault) -> String {
    match fault {
        Fault::Exhausted(what) => what.clone(),
        other => other.to_string(),
    }
}

/// How tables of one shape are kept, and what they take.
fn memory<'py>(py: Python<'py>, kept: &Accesses) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, count) in [
        ("rows", kept.rows.into()),
        ("bits", kept.bits.into()),
        ("trees", kept.trees.into()),
        ("levels", kept.levels.into()),
        ("reads", kept.reads),
        ("writes", kept.writes),
        ("updates", kept.updates),
        ("ands", kept.ands),
        ("spare_ands", kept.spare_ands),
        ("start_ands", kept.start_ands),
        ("opens", kept.opens),
    ] {
        dict.set_item(name, count)?;
    }
    Ok(dict)
}

/// A program with the ports of a circuit file.
fn circuit(path: &Path) -> Result<Module, String> {
    let shown = path.display();
    let bytes = read_bytes(path).map_err(|error| error.to_string())?;
    let format = detect(&path.to_string_lossy(), &bytes).map_err(|error| error.to_string())?;
    if format == Format::Verilog {
        return Err(format!(
            "{shown}: Verilog takes yosys to read: make a program of it with `cenote program from-circuit`"
        ));
    }
    let parsed = parse_beside(path, &bytes).map_err(|error| error.to_string())?;
    let circuit = parsed.combinational(&path.to_string_lossy()).map_err(|e| e.to_string())?;
    let stem = path.file_stem().unwrap_or_default();
    let name = plain_name(&stem.to_string_lossy());
    let signature = circuit.signature();
    Module::from_circuit(&name, circuit, &signature).map_err(|error| format!("{shown}: {error}"))
}

/// Outputs, and what is left in each part of a memory.
type Evaluated<'py> = (Vec<Bound<'py, PyBytes>>, BTreeMap<String, Bound<'py, PyBytes>>);

#[pymethods]
impl Program {
    #[staticmethod]
    fn from_bytes(py: Python<'_>, data: &[u8]) -> PyResult<Program> {
        let read = py.detach(|| Module::from_bytes(data));
        read.map(Program::new).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    #[staticmethod]
    fn parse_text(py: Python<'_>, text: &str) -> PyResult<Program> {
        let read = py.detach(|| Module::parse_text(text));
        read.map(Program::new).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// The program that `cenote program from-circuit` makes of a file where nothing else is said.
    #[staticmethod]
    #[allow(clippy::needless_pass_by_value)]
    fn read_circuit(py: Python<'_>, path: PathBuf) -> PyResult<Program> {
        let read = py.detach(|| circuit(&path));
        read.map(Program::new).map_err(PyValueError::new_err)
    }

    /// The program with its counts, for a process that runs a party of it.
    fn handed_over<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let mut bytes = Vec::new();
        let written = py.detach(|| {
            let io = |error: std::io::Error| Fault::Internal(error.to_string());
            self.counted().and_then(|counted| counted.hand_over(&mut bytes).map_err(io))
        });
        written.map_err(|fault| raised(&fault))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The same in that process.
    #[staticmethod]
    fn taken_over(py: Python<'_>, data: &[u8]) -> PyResult<Program> {
        let taken = py.detach(|| Computation::taken_over(data));
        let taken = Arc::new(taken.map_err(|error| PyValueError::new_err(error.to_string()))?);
        let Computation::Module { module, .. } = &*taken else {
            return Err(PyValueError::new_err("a circuit is no program"));
        };
        Ok(Program { module: Arc::clone(module), counted: OnceLock::from(Ok(taken)) })
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &py.detach(|| self.module.to_bytes()))
    }

    fn to_text(&self, py: Python<'_>) -> String {
        py.detach(|| self.module.to_text())
    }

    #[getter]
    fn digest(&self) -> String {
        self.module.digest().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The version of the format that it is in.
    #[getter]
    fn version(&self) -> u32 {
        self.module.version().number()
    }

    #[getter]
    fn name(&self) -> &str {
        self.module.name()
    }

    #[getter]
    fn about(&self) -> &str {
        self.module.about()
    }

    #[getter]
    fn reactive(&self) -> bool {
        self.module.is_reactive()
    }

    fn inputs(&self) -> Vec<Port> {
        let port = |port: &cenote_program::Input| {
            let (kind, fraction) = ports::kind_name(port.kind);
            (ports::steps(&port.path), port.owner.name(), kind, fraction, port.shape.width)
        };
        self.module.inputs().iter().map(port).collect()
    }

    fn outputs(&self) -> Vec<Port> {
        let port = |port: &cenote_program::Output| {
            let (kind, fraction) = ports::kind_name(port.kind);
            let receiver = port.receiver.name();
            (ports::steps(&port.path), receiver, kind, fraction, port.shape.width)
        };
        self.module.outputs().iter().map(port).collect()
    }

    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let counted = py.detach(|| self.counted());
        let counted = counted.map_err(|fault| PyValueError::new_err(too_large(&fault)))?;
        let stats = counted.demand(&counted.signature()).stats;
        let dict = PyDict::new(py);
        for (name, count) in [
            ("ands", stats.ands),
            ("xors", stats.xors),
            ("nots", stats.nots),
            ("depth", stats.depth),
            ("batches", stats.batches),
            ("live_bits", stats.live_bits),
            ("awake_bits", stats.awake_bits),
            ("garbler_input_bits", stats.garbler_input_bits),
            ("evaluator_input_bits", stats.evaluator_input_bits),
            ("garbler_output_bits", stats.garbler_output_bits),
            ("evaluator_output_bits", stats.evaluator_output_bits),
            ("reveals", stats.reveals),
            ("revealed_bits", stats.revealed_bits),
            ("tossed_bits", stats.tossed_bits),
            ("statements", stats.statements),
            ("moved_bits", stats.moved_bits),
        ] {
            dict.set_item(name, count)?;
        }
        dict.set_item("muxes", stats.muxes)?;
        let memories = stats.memories.iter().map(|kept| memory(py, kept));
        dict.set_item("memories", memories.collect::<PyResult<Vec<_>>>()?)?;
        Ok(dict)
    }

    /// The same function with no more ANDs; `depth` asks for shallow circuits.
    fn optimised(&self, py: Python<'_>, depth: bool) -> Program {
        let options = Options { depth, ..Options::default() };
        Program::new(py.detach(|| self.module.optimised(&options).0))
    }

    /// Outputs for inputs, and what is left in each part of a memory; each as the bytes of its words. `found` are the parts that a run
    /// finds, by their names.
    #[allow(clippy::needless_pass_by_value)]
    fn evaluate<'py>(
        &self,
        py: Python<'py>,
        inputs: Vec<PyBackedBytes>,
        found: BTreeMap<String, PyBackedBytes>,
    ) -> PyResult<Evaluated<'py>> {
        let ports = self.module.inputs();
        if ports.len() != inputs.len() {
            let what = format!("{} inputs, {} were given", ports.len(), inputs.len());
            return Err(PyValueError::new_err(what));
        }
        let values = ports.iter().zip(&inputs).map(|(port, words)| {
            ports::bits(port.shape, words).map_err(|what| format!("input {}: {what}", port.name))
        });
        let values: Vec<Vec<bool>> =
            values.collect::<Result<_, String>>().map_err(PyValueError::new_err)?;
        let mut host = Remembering::default();
        for memory in self.module.memories().iter().filter(|memory| !memory.is_new) {
            let name = &memory.name;
            let words = found.get(name).ok_or_else(|| format!("there is no memory {name}"));
            let bits = words.and_then(|words| ports::bits(memory.shape, words));
            host.0.insert(name.clone(), bits.map_err(PyValueError::new_err)?);
        }
        let outputs = py.detach(|| self.module.run_on(&mut host, values));
        let Ok(outputs) = outputs;
        let words = |width, bits: &[bool]| PyBytes::new(py, &ports::bytes(width, bits));
        let ports = outputs.iter().zip(self.module.outputs());
        let outputs = ports.map(|(bits, port)| words(port.shape.width, bits)).collect();
        let left = self.module.memories().iter().filter(|memory| memory.is_kept());
        let left = left.filter_map(|memory| {
            let bits = host.0.get(&memory.name)?;
            Some((memory.name.clone(), words(memory.shape.width, bits)))
        });
        Ok((outputs, left.collect()))
    }

    /// Path, whether a run begins it and leaves something in it, kind, fraction bits and width of each part of a memory, and the accesses of its life
    /// if it is a random access memory.
    #[expect(clippy::type_complexity, reason = "a tuple as Python reads it")]
    fn memories(&self) -> Vec<(ports::Path, bool, bool, &'static str, u32, u32, Option<u64>)> {
        let part = |memory: &NamedMemory| {
            let (kind, fraction) = ports::kind_name(memory.kind);
            let (is_new, is_kept) = (memory.is_new, memory.is_kept());
            let accesses = memory.ram.as_ref().map(LastingRam::accesses);
            let (path, width) = (ports::steps(&memory.path), memory.shape.width);
            (path, is_new, is_kept, kind, fraction, width, accesses)
        };
        self.module.memories().iter().map(part).collect()
    }
}
