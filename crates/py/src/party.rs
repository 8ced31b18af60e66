//! One party of a secure run, in the process that calls.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cenote_engine::{Fault, Receivers, Role, SessionConfig};
use cenote_job::{Ran, Request, Summary};
use cenote_net::{Channel, Phase, unix_channel};
use cenote_prim::keep_freed_memory;
use cenote_program::Module;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict};

use crate::ports;
use crate::program::Program;

pub(crate) fn raised(fault: &Fault) -> PyErr {
    let class = match fault {
        Fault::Misbehaved(_) => "misbehaved",
        Fault::PeerAborted => "aborted",
        Fault::Transport(_) => "transport",
        Fault::Misuse(_) => "misuse",
        Fault::Exhausted(_) => "exhausted",
        Fault::Overflowed(_) => "overflowed",
        Fault::Policy(_) => "policy",
        // Nothing is kept between runs here.
        Fault::Storage(_) | Fault::Internal(_) => "internal",
    };
    crate::Fault::new_err((class, fault.to_string()))
}

/// One end of a pair of connected sockets, until a run takes it.
#[pyclass(module = "cenote._native", frozen)]
pub(crate) struct Connection(Mutex<Option<UnixStream>>);

impl Connection {
    fn new(end: UnixStream) -> Connection {
        Connection(Mutex::new(Some(end)))
    }

    fn end(&self) -> MutexGuard<'_, Option<UnixStream>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Connection {
    /// Both ends.
    #[staticmethod]
    fn pair() -> PyResult<(Connection, Connection)> {
        let (left, right) = UnixStream::pair()?;
        Ok((Connection::new(left), Connection::new(right)))
    }

    /// The end that this process was started with as its standard input.
    #[staticmethod]
    fn standard_input() -> PyResult<Connection> {
        // Only processes that are one party and nothing else begin here.
        keep_freed_memory();
        let end = io::stdin().as_fd().try_clone_to_owned()?;
        Ok(Connection::new(end.into()))
    }

    /// The descriptor, for starting the process that the end is for.
    fn fileno(&self) -> PyResult<i32> {
        self.end().as_ref().map(AsRawFd::as_raw_fd).ok_or_else(|| raised(&taken()))
    }

    fn close(&self) {
        self.end().take();
    }
}

fn taken() -> Fault {
    Fault::Misuse("the connection was used or closed".into())
}

/// How many ANDs a run has done, for another thread to look at.
#[pyclass(module = "cenote._native", frozen)]
pub(crate) struct Progress(Arc<AtomicU64>);

#[pymethods]
impl Progress {
    #[new]
    fn new() -> Progress {
        Progress(Arc::default())
    }

    #[getter]
    fn done(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The results of a run: one entry for each output, `None` where the peer alone receives it.
struct Report {
    outputs: Vec<Option<Vec<bool>>>,
    figures: Vec<(&'static str, f64)>,
    /// Claims in words, by name.
    words: [(&'static str, &'static str); 2],
}

/// Runs one party to its end; the peer is at the other end of the connection.
#[pyfunction]
#[pyo3(signature = (program, role, inputs, backend, threads, progress, connection))]
#[allow(clippy::too_many_arguments, clippy::needless_pass_by_value)]
pub(crate) fn run_party<'py>(
    py: Python<'py>,
    program: &Program,
    role: &str,
    inputs: Vec<PyBackedBytes>,
    backend: &str,
    threads: usize,
    progress: &Progress,
    connection: &Connection,
) -> PyResult<Bound<'py, PyDict>> {
    let (module, done) = (program.module(), Arc::clone(&progress.0));
    let result = py.detach(|| {
        let role = ports::owner(role).map_err(|_| unknown_role(role))?;
        let own = own_bits(&module, role, &inputs)?;
        let (computation, config) = (program.counted()?, backend.parse::<SessionConfig>()?);
        let signature = computation.signature();
        let request = Request::new(computation, signature, own, Receivers::Both, config)?;
        let request = request.on(threads);
        let end = connection.end().take().ok_or_else(taken)?;
        run(&request, role, unix_channel(end)?, &done)
    });
    let report = result.map_err(|fault| raised(&fault))?;
    let words = report.outputs.iter().zip(module.outputs()).map(|(bits, port)| {
        bits.as_ref().map(|bits| PyBytes::new(py, &ports::bytes(port.shape.width, bits)))
    });
    let dict = PyDict::new(py);
    dict.set_item("outputs", words.collect::<Vec<_>>())?;
    for (name, words) in report.words {
        dict.set_item(name, words)?;
    }
    for (name, figure) in report.figures {
        dict.set_item(name, figure)?;
    }
    Ok(dict)
}

fn unknown_role(role: &str) -> Fault {
    Fault::Misuse(format!("there is no role `{role}`; use garbler or evaluator"))
}

fn own_bits(
    module: &Module,
    role: Role,
    inputs: &[PyBackedBytes],
) -> Result<Vec<Vec<bool>>, Fault> {
    let ports: Vec<_> = module.inputs().iter().filter(|port| port.owner == role).collect();
    if ports.len() != inputs.len() {
        let what = format!("the {role} owns {} inputs, {} were given", ports.len(), inputs.len());
        return Err(Fault::Misuse(what));
    }
    let bits = ports.iter().zip(inputs).map(|(port, words)| {
        let bits = ports::bits(port.shape, words);
        bits.map_err(|what| Fault::Misuse(format!("input {}: {what}", port.name)))
    });
    bits.collect()
}

/// The text form of a backend with options of its own and these.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub(crate) fn configuration(backend: &str, options: Vec<(String, String)>) -> PyResult<String> {
    let config = options.iter().try_fold(
        backend.parse::<SessionConfig>().map_err(|fault| raised(&fault))?,
        |config, (name, value)| config.set(name, value),
    );
    config.map(|config| config.to_string()).map_err(|fault| raised(&fault))
}

fn run(request: &Request, role: Role, channel: Channel, done: &AtomicU64) -> Result<Report, Fault> {
    let Ran { outcome, summary, .. } = request.run(channel, role, done)?;
    let Summary { counters, claims, .. } = summary;
    let total = counters.total();
    let seconds = |phase| counters.phase(phase).time.as_secs_f64();
    let mut figures = vec![
        ("setup_s", seconds(Phase::Setup)),
        ("preprocess_s", seconds(Phase::Preprocess)),
        ("online_s", seconds(Phase::Online)),
        ("bytes_sent", total.bytes_sent as f64),
        ("bytes_received", total.bytes_received as f64),
        ("rounds", total.rounds as f64),
        ("kappa", f64::from(claims.promise.kappa)),
    ];
    figures.extend(claims.promise.epsilon_log2.map(|epsilon| ("epsilon_log2", epsilon)));
    let words = [("adversary", claims.promise.adversary.name()), ("peer", claims.peer.name())];
    Ok(Report { outputs: outcome?.output, figures, words })
}
