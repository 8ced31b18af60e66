//! The price of a program on a backend, before it runs, and whether that is within limits.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::path::PathBuf;

use cenote_engine::cost::{Demand, Limits, Link, Machine, Plan};
use cenote_engine::{Fault, Role, SessionConfig};
use cenote_job::policy;
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::party::raised;
use crate::program::Program;

/// Bytes each way, rounds, memory and time of a session that computes the program once, on the machine whose figures are in a
/// file, else on this one if it was measured, else on a typical server.
#[pyfunction]
#[pyo3(signature = (program, backend, rtt_ms, mbit, machine))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn price<'py>(
    py: Python<'py>,
    program: &Program,
    backend: &str,
    rtt_ms: f64,
    mbit: Option<f64>,
    machine: Option<PathBuf>,
) -> PyResult<Bound<'py, PyDict>> {
    let (machine, source) = figures(py, machine)?;
    let link = Link { rtt_ms, mbit };
    let asked = py.detach(|| {
        let Asked { config, demand } = Asked::new(program, backend)?;
        let taken = config.or_by_line(Plan::fastest_ot(config, &machine, &demand, link)?);
        Ok((config, Plan::new(&taken, &demand)?, demand))
    });
    let (config, plan, demand) = asked.map_err(|fault| raised(&fault))?;
    let seconds = plan.times(&machine, config.backend, &demand, link).total();
    let total = plan.total();
    let memory = plan.memory_on(link).map(|bytes| bytes.saturating_add(machine.process_bytes));
    let dict = PyDict::new(py);
    dict.set_item("seconds", seconds)?;
    dict.set_item("garbler_bytes_sent", total.bytes[0])?;
    dict.set_item("evaluator_bytes_sent", total.bytes[1])?;
    dict.set_item("rounds", total.rounds)?;
    dict.set_item("garbler_memory_bytes", memory[0])?;
    dict.set_item("evaluator_memory_bytes", memory[1])?;
    dict.set_item("machine", source.map(|file| file.display().to_string()))?;
    Ok(dict)
}

/// Refuses a run on this machine that is predicted to take more than the limits: those of the command, with `changed` in their
/// place.
#[pyfunction]
#[pyo3(signature = (program, backend, changed))]
pub(crate) fn check_limits(
    py: Python<'_>,
    program: &Program,
    backend: &str,
    changed: BTreeMap<String, f64>,
) -> PyResult<()> {
    // Silent on figures that cannot be read: nobody asked for a price.
    let kept = Machine::kept().and_then(|file| Machine::read(&file));
    let machine = kept.unwrap_or(Machine::typical());
    let checked = py.detach(|| {
        let limits = limits(changed)?;
        let (link, both) = (policy::LOCAL_LINK, &Role::ALL);
        let Asked { config, demand } = Asked::new(program, backend)?;
        let plan = Plan::new(&config, &demand)?;
        plan.check(&limits, &machine, config.backend, &demand, link, both).map_err(|excess| {
            let option = excess.option;
            Fault::Exhausted(format!("{excess}; limits={{\"{option}\": ..}} raises it"))
        })
    });
    checked.map_err(|fault| raised(&fault))
}

/// The default limits with some of them changed; above the range of a limit stands for its end.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn limits(changed: BTreeMap<String, f64>) -> Result<Limits, Fault> {
    let mut limits = Limits::default();
    for (name, most) in changed {
        let limit = match name.as_str() {
            "seconds" => {
                limits.seconds = most;
                continue;
            }
            "ands" => &mut limits.ands,
            "bytes" => &mut limits.bytes,
            "memory" => &mut limits.memory,
            "live_bits" => &mut limits.live_bits,
            "statements" => &mut limits.statements,
            "moved_bits" => &mut limits.moved_bits,
            _ => {
                let known = "ands, bytes, seconds, memory, live_bits, statements and moved_bits";
                return Err(Fault::Misuse(format!(
                    "there is no limit `{name}`; there are {known}"
                )));
            }
        };
        *limit = most as u64;
    }
    Ok(limits)
}

/// What a computation asks of a session.
struct Asked {
    config: SessionConfig,
    demand: Demand,
}

impl Asked {
    fn new(program: &Program, backend: &str) -> Result<Asked, Fault> {
        let computation = program.counted()?;
        let config = backend.parse::<SessionConfig>()?.for_ands(computation.ands());
        let demand = computation.demand(&computation.signature());
        Ok(Asked { config, demand })
    }
}

/// The figures of a machine and the file that they are from; those that are kept, if no file is named.
fn figures(py: Python<'_>, file: Option<PathBuf>) -> PyResult<(Machine, Option<PathBuf>)> {
    if let Some(file) = file {
        let machine = Machine::read(&file).map_err(|what| raised(&Fault::Misuse(what)))?;
        return Ok((machine, Some(file)));
    }
    let Some(file) = Machine::kept().ok().filter(|file| file.exists()) else {
        return Ok((Machine::typical(), None));
    };
    match Machine::read(&file) {
        Ok(machine) => Ok((machine, Some(file))),
        Err(what) => {
            let what = format!("{what}; `cenote program calibrate` makes it anew");
            PyErr::warn(py, &py.get_type::<PyUserWarning>(), &CString::new(what)?, 2)?;
            Ok((Machine::typical(), None))
        }
    }
}
