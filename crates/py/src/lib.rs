//! The native half of the Python package `cenote`: the builder of programs, their two forms, counts and clear
//! runs, prices, and one party of a secure run.
//!
//! Only `python/cenote` uses it, and that is what users see: this module has the smallest surface that it can stand
//! on. Start with `builder.rs` for programs and `party.rs` for runs.

// The macros of pyo3 write the glue to the interpreter, which is `unsafe`; nothing here is written so by hand.
#![allow(unsafe_code)]

mod builder;
mod csv;
mod party;
mod ports;
mod price;
mod program;

use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

create_exception!(
    cenote._native,
    BuildError,
    PyException,
    "A statement that does not fit the program."
);
create_exception!(
    cenote._native,
    Fault,
    PyException,
    "A fault of the engine: its class and its text."
);

/// The module `cenote._native`.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("BuildError", module.py().get_type::<BuildError>())?;
    module.add("Fault", module.py().get_type::<Fault>())?;
    module.add_class::<builder::Builder>()?;
    module.add_class::<program::Program>()?;
    module.add_class::<party::Connection>()?;
    module.add_class::<party::Progress>()?;
    module.add_function(wrap_pyfunction!(party::configuration, module)?)?;
    module.add_function(wrap_pyfunction!(party::run_party, module)?)?;
    module.add_function(wrap_pyfunction!(csv::read_csv, module)?)?;
    module.add_function(wrap_pyfunction!(price::price, module)?)?;
    module.add_function(wrap_pyfunction!(price::check_limits, module)?)?;
    Ok(())
}
