//! A finished program: its forms, ports, counts and clear run.

use std::sync::Arc;

use cenote_circuit::Owner;
use cenote_circuit::optimise::Options;
use cenote_program::Module;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict};

use crate::ports::{self, Port};

/// A program, ready to be read, stored and run.
#[pyclass(module = "cenote._native", frozen)]
pub(crate) struct Program {
    module: Arc<Module>,
}

impl Program {
    pub(crate) fn new(module: Module) -> Program {
        Program { module: Arc::new(module) }
    }

    pub(crate) fn module(&self) -> Arc<Module> {
        Arc::clone(&self.module)
    }
}

const fn owner_name(owner: Owner) -> &'static str {
    match owner {
        Owner::Garbler => "garbler",
        Owner::Evaluator => "evaluator",
    }
}

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
            let (lanes, width) = (port.shape.lanes, port.shape.width);
            (port.name.clone(), owner_name(port.owner), kind, fraction, lanes, width)
        };
        self.module.inputs().iter().map(port).collect()
    }

    fn outputs(&self) -> Vec<Port> {
        let port = |port: &cenote_program::Output| {
            let (kind, fraction) = ports::kind_name(port.kind);
            let (lanes, width) = (port.shape.lanes, port.shape.width);
            let receiver = ports::receiver_name(port.receiver);
            (port.name.clone(), receiver, kind, fraction, lanes, width)
        };
        self.module.outputs().iter().map(port).collect()
    }

    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let stats = py.detach(|| self.module.stats());
        let stats = stats.map_err(|error| PyValueError::new_err(error.to_string()))?;
        let dict = PyDict::new(py);
        for (name, count) in [
            ("ands", stats.ands),
            ("xors", stats.xors),
            ("nots", stats.nots),
            ("depth", stats.depth),
            ("batches", stats.batches),
            ("live_bits", stats.live_bits),
            ("garbler_input_bits", stats.garbler_input_bits),
            ("evaluator_input_bits", stats.evaluator_input_bits),
            ("garbler_output_bits", stats.garbler_output_bits),
            ("evaluator_output_bits", stats.evaluator_output_bits),
            ("reveals", stats.reveals),
            ("revealed_bits", stats.revealed_bits),
            ("statements", stats.statements),
            ("moved_bits", stats.moved_bits),
        ] {
            dict.set_item(name, count)?;
        }
        dict.set_item("muxes", stats.muxes)?;
        Ok(dict)
    }

    /// The same function with no more ANDs; `depth` asks for shallow circuits.
    fn optimised(&self, py: Python<'_>, depth: bool) -> Program {
        let options = Options { depth, ..Options::default() };
        Program::new(py.detach(|| self.module.optimised(&options).0))
    }

    /// Outputs for inputs, each as the bytes of its words.
    #[allow(clippy::needless_pass_by_value)]
    fn evaluate<'py>(
        &self,
        py: Python<'py>,
        inputs: Vec<PyBackedBytes>,
    ) -> PyResult<Vec<Bound<'py, PyBytes>>> {
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
        let outputs = py.detach(|| self.module.evaluate(&values));
        let words = outputs.iter().zip(self.module.outputs());
        Ok(words
            .map(|(bits, port)| PyBytes::new(py, &ports::bytes(port.shape.width, bits)))
            .collect())
    }
}
