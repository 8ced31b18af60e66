//! The builder, with numbers in place of its handles.

use cenote_program::{Affine, BuildError as Refusal, FunctionId, LoopVar, Shape, ValueId, WordOp};
use pyo3::prelude::*;

use crate::BuildError;
use crate::ports;
use crate::program::Program;

/// Builds a program statement by statement. Values, loop counters and functions are numbers.
#[pyclass(module = "cenote._native")]
pub(crate) struct Builder {
    /// Taken by `finish`.
    inner: Option<cenote_program::Builder>,
    values: Vec<ValueId>,
    counters: Vec<LoopVar>,
    functions: Vec<FunctionId>,
}

fn refused(error: Refusal) -> PyErr {
    BuildError::new_err(error.to_string())
}

fn unknown(what: &str) -> PyErr {
    BuildError::new_err(format!("there is no such {what}"))
}

impl Builder {
    fn inner(&mut self) -> PyResult<&mut cenote_program::Builder> {
        self.inner.as_mut().ok_or_else(|| BuildError::new_err("the program is finished"))
    }

    fn value(&self, number: usize) -> PyResult<ValueId> {
        self.values.get(number).copied().ok_or_else(|| unknown("value"))
    }

    fn ids(&self, numbers: &[usize]) -> PyResult<Vec<ValueId>> {
        numbers.iter().map(|number| self.value(*number)).collect()
    }

    fn number(&mut self, id: ValueId) -> usize {
        self.values.push(id);
        self.values.len() - 1
    }

    fn numbers(&mut self, ids: Vec<ValueId>) -> Vec<usize> {
        ids.into_iter().map(|id| self.number(id)).collect()
    }

    fn affine(&self, constant: i64, terms: &[(usize, i64)]) -> PyResult<Affine> {
        terms.iter().try_fold(Affine::at(constant), |at, (counter, factor)| {
            let var = self.counters.get(*counter).ok_or_else(|| unknown("loop counter"))?;
            Ok(at.plus(*var, *factor))
        })
    }
}

#[pymethods]
impl Builder {
    #[new]
    fn new(name: &str, about: &str) -> PyResult<Builder> {
        let inner = cenote_program::Builder::new(name, about).map_err(refused)?;
        let (values, counters, functions) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Builder { inner: Some(inner), values, counters, functions })
    }

    fn input(
        &mut self,
        path: ports::Path,
        owner: &str,
        kind: &str,
        fraction: u32,
        width: u32,
    ) -> PyResult<usize> {
        let (owner, kind) = (ports::owner(owner)?, ports::kind(kind, fraction)?);
        let added = self.inner()?.input_at(ports::path(path), owner, kind, width);
        let id = added.map_err(refused)?;
        Ok(self.number(id))
    }

    /// With `accesses`, those of its life, a random access memory.
    #[pyo3(signature = (path, is_new, kind, fraction, width, accesses=None))]
    fn memory(
        &mut self,
        path: ports::Path,
        is_new: bool,
        kind: &str,
        fraction: u32,
        width: u32,
        accesses: Option<u32>,
    ) -> PyResult<usize> {
        let (path, kind) = (ports::path(path), ports::kind(kind, fraction)?);
        let inner = self.inner()?;
        let added = match accesses {
            Some(accesses) => inner.ram_at(path, is_new, kind, width, accesses),
            None => inner.memory_at(path, is_new, kind, width),
        };
        let id = added.map_err(refused)?;
        Ok(self.number(id))
    }

    fn leave(&mut self, name: &str, value: usize) -> PyResult<()> {
        let value = self.value(value)?;
        self.inner()?.leave(name, value).map_err(refused)
    }

    fn output(
        &mut self,
        path: ports::Path,
        receiver: &str,
        kind: &str,
        fraction: u32,
        value: usize,
    ) -> PyResult<()> {
        let (receiver, kind) = (ports::receiver(receiver)?, ports::kind(kind, fraction)?);
        let value = self.value(value)?;
        self.inner()?.output_at(ports::path(path), receiver, kind, value).map_err(refused)
    }

    fn constant(&mut self, lanes: u32, width: u32, words: &[u8]) -> PyResult<usize> {
        let shape = Shape { lanes, width };
        let bits = ports::bits(shape, words).map_err(BuildError::new_err)?;
        let id = self.inner()?.constant(shape, &bits).map_err(refused)?;
        Ok(self.number(id))
    }

    #[allow(clippy::needless_pass_by_value)]
    fn word(&mut self, op: &str, attrs: Vec<u32>, args: Vec<usize>) -> PyResult<Vec<usize>> {
        let args = self.ids(&args)?;
        let op = WordOp::by_name(op).ok_or_else(|| unknown("operation"))?;
        let ids = self.inner()?.word(op, &attrs, &args).map_err(refused)?;
        Ok(self.numbers(ids))
    }

    #[allow(clippy::needless_pass_by_value)]
    fn gather(&mut self, value: usize, indices: Vec<u32>) -> PyResult<usize> {
        let value = self.value(value)?;
        let id = self.inner()?.gather(value, &indices).map_err(refused)?;
        Ok(self.number(id))
    }

    #[allow(clippy::needless_pass_by_value)]
    fn lanes(
        &mut self,
        value: usize,
        constant: i64,
        terms: Vec<(usize, i64)>,
        count: u32,
        stride: i64,
    ) -> PyResult<usize> {
        let (value, at) = (self.value(value)?, self.affine(constant, &terms)?);
        let id = self.inner()?.lanes(value, at, count, stride).map_err(refused)?;
        Ok(self.number(id))
    }

    #[allow(clippy::needless_pass_by_value)]
    fn put(
        &mut self,
        value: usize,
        constant: i64,
        terms: Vec<(usize, i64)>,
        part: usize,
    ) -> PyResult<usize> {
        let (value, part) = (self.value(value)?, self.value(part)?);
        let at = self.affine(constant, &terms)?;
        let id = self.inner()?.put(value, at, part).map_err(refused)?;
        Ok(self.number(id))
    }

    fn reveal(&mut self, value: usize) -> PyResult<usize> {
        let value = self.value(value)?;
        let id = self.inner()?.reveal(value).map_err(refused)?;
        Ok(self.number(id))
    }

    #[allow(clippy::needless_pass_by_value)]
    fn begin_for(&mut self, trips: u32, carried: Vec<usize>) -> PyResult<(usize, Vec<usize>)> {
        let carried = self.ids(&carried)?;
        let (var, ids) = self.inner()?.begin_for(trips, &carried).map_err(refused)?;
        self.counters.push(var);
        Ok((self.counters.len() - 1, self.numbers(ids)))
    }

    #[allow(clippy::needless_pass_by_value)]
    fn end_for(&mut self, results: Vec<usize>) -> PyResult<Vec<usize>> {
        let results = self.ids(&results)?;
        let ids = self.inner()?.end_for(&results).map_err(refused)?;
        Ok(self.numbers(ids))
    }

    #[allow(clippy::needless_pass_by_value)]
    fn begin_map(&mut self, trips: u32, mapped: Vec<usize>) -> PyResult<Vec<usize>> {
        let mapped = self.ids(&mapped)?;
        let ids = self.inner()?.begin_map(trips, &mapped).map_err(refused)?;
        Ok(self.numbers(ids))
    }

    #[allow(clippy::needless_pass_by_value)]
    fn end_map(&mut self, results: Vec<usize>) -> PyResult<Vec<usize>> {
        let results = self.ids(&results)?;
        let ids = self.inner()?.end_map(&results).map_err(refused)?;
        Ok(self.numbers(ids))
    }

    fn begin_if(&mut self, condition: usize) -> PyResult<()> {
        let condition = self.value(condition)?;
        self.inner()?.begin_if(condition).map_err(refused)
    }

    #[allow(clippy::needless_pass_by_value)]
    fn begin_else(&mut self, results: Vec<usize>) -> PyResult<()> {
        let results = self.ids(&results)?;
        self.inner()?.begin_else(&results).map_err(refused)
    }

    #[allow(clippy::needless_pass_by_value)]
    fn end_if(&mut self, results: Vec<usize>) -> PyResult<Vec<usize>> {
        let results = self.ids(&results)?;
        let ids = self.inner()?.end_if(&results).map_err(refused)?;
        Ok(self.numbers(ids))
    }

    #[allow(clippy::needless_pass_by_value)]
    fn begin_function(&mut self, name: &str, params: Vec<(u32, u32)>) -> PyResult<Vec<usize>> {
        let shapes: Vec<Shape> =
            params.into_iter().map(|(lanes, width)| Shape { lanes, width }).collect();
        let ids = self.inner()?.begin_function(name, &shapes).map_err(refused)?;
        Ok(self.numbers(ids))
    }

    #[allow(clippy::needless_pass_by_value)]
    fn end_function(&mut self, results: Vec<usize>) -> PyResult<usize> {
        let results = self.ids(&results)?;
        let id = self.inner()?.end_function(&results).map_err(refused)?;
        self.functions.push(id);
        Ok(self.functions.len() - 1)
    }

    #[allow(clippy::needless_pass_by_value)]
    fn call(&mut self, function: usize, args: Vec<usize>) -> PyResult<Vec<usize>> {
        let args = self.ids(&args)?;
        let function = self.functions.get(function).copied().ok_or_else(|| unknown("function"))?;
        let ids = self.inner()?.call(function, &args).map_err(refused)?;
        Ok(self.numbers(ids))
    }

    fn finish(&mut self) -> PyResult<Program> {
        let inner =
            self.inner.take().ok_or_else(|| BuildError::new_err("the program is finished"))?;
        Ok(Program::new(inner.finish().map_err(refused)?))
    }
}
