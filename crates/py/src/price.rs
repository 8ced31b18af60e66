//! What a program will cost on a backend, before it runs.

use cenote_engine::Fault;
use cenote_engine::cost::{Demand, Link, Machine, Plan};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::party::{config, raised};
use crate::program::Program;

/// Bytes each way, rounds, memory and time of a session that computes the program once, on a typical server.
#[pyfunction]
#[pyo3(signature = (program, backend, pool, rho, rtt_ms, mbit))]
pub(crate) fn price<'py>(
    py: Python<'py>,
    program: &Program,
    backend: &str,
    pool: Option<u64>,
    rho: u32,
    rtt_ms: f64,
    mbit: Option<f64>,
) -> PyResult<Bound<'py, PyDict>> {
    let module = program.module();
    let (plan, seconds) = py
        .detach(|| {
            let stats = module.stats().map_err(|error| Fault::Exhausted(error.to_string()))?;
            let config = config(backend, pool, rho, stats.ands)?;
            let demand = Demand::new(stats, &module.signature());
            let plan = Plan::new(&config, &demand)?;
            let seconds = plan
                .times(&Machine::TYPICAL, config.backend, &demand, Link { rtt_ms, mbit })
                .total();
            Ok((plan, seconds))
        })
        .map_err(|fault: Fault| raised(&fault))?;
    let total = plan.total();
    let memory = plan.memory.map(|bytes| bytes.saturating_add(Machine::TYPICAL.process_bytes));
    let dict = PyDict::new(py);
    dict.set_item("seconds", seconds)?;
    dict.set_item("garbler_bytes_sent", total.bytes[0])?;
    dict.set_item("evaluator_bytes_sent", total.bytes[1])?;
    dict.set_item("rounds", total.rounds)?;
    dict.set_item("garbler_memory_bytes", memory[0])?;
    dict.set_item("evaluator_memory_bytes", memory[1])?;
    Ok(dict)
}
