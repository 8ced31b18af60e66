//! CSV files as values of inputs.

use cenote_program::{Column, CsvFile};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::ports;

/// Name, kind, fraction bits and width of a column.
type Wanted = (String, String, u32, u32);

/// The number of rows of a CSV file, and the bytes of the words of each wanted column. What is wrong is told after the line, without
/// the text of a cell.
#[pyfunction]
pub(crate) fn read_csv<'py>(
    py: Python<'py>,
    text: &[u8],
    columns: Vec<Wanted>,
) -> PyResult<(usize, Vec<Bound<'py, PyBytes>>)> {
    let columns: PyResult<Vec<Column>> = columns
        .into_iter()
        .map(|(name, kind, fraction, width)| {
            Ok(Column { name, kind: ports::kind(&kind, fraction)?, width })
        })
        .collect();
    let columns = columns?;
    let read = py.detach(|| {
        let file = CsvFile::read(text)?;
        Ok((file.lines().len(), file.columns(&columns)?))
    });
    let (rows, found) =
        read.map_err(|error: cenote_program::CsvError| PyValueError::new_err(error.to_string()))?;
    let words = columns.iter().zip(&found);
    let words = words.map(|(column, bits)| PyBytes::new(py, &ports::bytes(column.width, bits)));
    Ok((rows, words.collect()))
}
