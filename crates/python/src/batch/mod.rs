//! Batches, as Python sees them: making them, stepping, checkpoints. Their numbers are in `fields.rs`, their pictures in `cameras.rs`.

mod cameras;
mod fields;

use std::sync::{Arc, Mutex};

use manyworlds::{Error, FieldId, Precision};
use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::arrays::{Real, given, given_or_empty, slice, with_real};
use crate::errors::{Failure, raised};
use crate::model::Model;
use crate::options::{batch_options, count, threads};
use crate::owned::{Owned, on};
use crate::pictures::Studio;
use crate::record::record;

/// Worlds of one or several models, stepped together.
///
/// `Batch(model, worlds)` makes `worlds` worlds of a model, all in its initial state. `Batch([(model, worlds), ...])` makes a
/// mixed batch: whatever below takes or gives an array then takes or gives a list of arrays, one for each entry.
///
/// executor:  "cpu", "gpu", or "auto": a hardware GPU if there is one, else the CPU.
/// precision: "f32" or "f64"; all arrays are float32 or float64 accordingly.
/// solver:    name of a contact solver; "auto" takes whatever it needs.
/// tolerance: residual at which the solver stops, N s.
/// threads:   threads of the CPU that this batch uses; all when None.
/// dt:        time step, s; the model's when None.
/// iterations: most sweeps of the solver; see the Rust documentation of `BatchOptions`, as for `integrator`.
///
/// States follow MuJoCo's conventions: q of a free joint is position, then quaternion (w, x, y, z); v is its linear
/// velocity in the world's frame, then its angular velocity in the body's.
///
/// Arrays that are given back are new ones: the batch keeps its numbers in another order. `read(.., out=array)` writes into an
/// array of yours. Arrays that are given in are read where they lie if they are C-contiguous and in the batch's precision, else
/// they are converted, which copies them.
#[pyclass(module = "manyworlds", frozen)]
pub(crate) struct Batch {
    inner: Owned<manyworlds::Batch>,
    models: Vec<Py<Model>>,
    shapes: Vec<Shape>,
    precision: Precision,
    /// Made from a list of models: arrays come in lists.
    mixed: bool,
    /// Of the solver, N s.
    tolerance: f64,
    studio: Mutex<Studio>,
}

/// Sizes of a group.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) worlds: usize,
    pub(crate) n_q: usize,
    pub(crate) n_v: usize,
    pub(crate) n_u: usize,
    pub(crate) n_act: usize,
}

/// Models and their numbers of worlds.
type Groups = Vec<(Py<Model>, usize)>;

/// What a caller gave as such, and whether it was a list.
fn groups(model: &Bound<'_, PyAny>, worlds: Option<i64>) -> PyResult<(Groups, bool)> {
    if let Ok(model) = model.cast::<Model>() {
        let worlds = worlds.ok_or_else(|| PyTypeError::new_err("worlds: expected a number of worlds, found none"))?;
        return Ok((vec![(model.clone().unbind(), count("worlds", worlds, 1)?)], false));
    }
    let groups = model.extract::<Groups>().map_err(|_| {
        PyTypeError::new_err("model: expected a manyworlds.Model, or a list of (model, worlds) for a mixed batch")
    })?;
    match worlds {
        Some(_) => Err(PyTypeError::new_err("worlds: a list of (model, worlds) says how many already")),
        None if groups.is_empty() => {
            Err(PyValueError::new_err("model: expected at least one (model, worlds), found none"))
        }
        None => Ok((groups, true)),
    }
}

impl Batch {
    /// Does something with the batch, without the GIL and on the batch's own threads. Another thread waits.
    pub(crate) fn with<R: Send>(
        &self,
        py: Python<'_>,
        f: impl FnOnce(&mut manyworlds::Batch) -> Result<R, Error> + Send,
    ) -> PyResult<R> {
        py.detach(|| self.without_gil(f)).map_err(PyErr::from)
    }

    /// The same where the GIL is not held already.
    fn without_gil<R: Send>(
        &self,
        f: impl FnOnce(&mut manyworlds::Batch) -> Result<R, Error> + Send,
    ) -> Result<R, Failure> {
        self.inner.with(f)?.map_err(Failure::Said)
    }

    /// Does something with the batch that takes next to no time.
    pub(crate) fn at_once<R: Send>(
        &self,
        py: Python<'_>,
        f: impl FnOnce(&mut manyworlds::Batch) -> Result<R, Error> + Send,
    ) -> PyResult<R> {
        py.detach(|| self.inner.at_once(f)).map_err(Failure::from)?.map_err(raised)
    }

    /// Does something beside the batch, without the GIL and on the batch's own threads.
    pub(crate) fn beside<R: Send>(&self, py: Python<'_>, f: impl FnOnce() -> R + Send) -> R {
        py.detach(|| self.inner.beside(f))
    }

    pub(crate) fn precision(&self) -> Precision {
        self.precision
    }

    pub(crate) fn shapes(&self) -> &[Shape] {
        &self.shapes
    }

    pub(crate) fn worlds(&self) -> usize {
        self.shapes.iter().map(|shape| shape.worlds).sum()
    }

    /// A world by a number that Python gave, and its group. Negative numbers count from the end, as in lists.
    pub(crate) fn world(&self, given: i64) -> PyResult<(usize, usize)> {
        let count = self.worlds();
        let world = if given < 0 { given + count as i64 } else { given };
        let mut end = 0;
        for (group, shape) in self.shapes.iter().enumerate() {
            end += shape.worlds;
            if (0..end as i64).contains(&world) {
                return Ok((world as usize, group));
            }
        }
        Err(PyIndexError::new_err(format!("world {given}: there are {count}")))
    }

    pub(crate) fn model(&self, group: usize) -> Arc<manyworlds::Model> {
        Arc::clone(&self.models[group].get().inner)
    }

    /// One array, or a list of one for each group of a mixed batch.
    pub(crate) fn by_group<'py>(
        &self,
        py: Python<'py>,
        one: impl FnMut(usize) -> PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut all = (0..self.shapes.len()).map(one).collect::<PyResult<Vec<_>>>()?;
        match (self.mixed, all.pop()) {
            (false, Some(only)) => Ok(only),
            (_, last) => {
                all.extend(last);
                Ok(PyList::new(py, all)?.into_any())
            }
        }
    }

    /// What a caller gave for each group: one array, or of a mixed batch a list of them.
    fn parts<'py>(&self, value: &Bound<'py, PyAny>, name: &str) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let parts: Vec<_> = if self.mixed { value.extract()? } else { vec![value.clone()] };
        if parts.len() != self.shapes.len() {
            let (expected, found) = (self.shapes.len(), parts.len());
            return Err(PyValueError::new_err(format!("{name}: expected a list of {expected} arrays, found {found}")));
        }
        Ok(parts)
    }

    /// The numbers of all groups, one group's behind the other's, of what a caller gave; none: an empty list.
    pub(crate) fn of_groups<T: numpy::Element + Copy>(
        &self,
        value: Option<&Bound<'_, PyAny>>,
        width: impl Fn(&Shape) -> usize,
        name: &str,
    ) -> PyResult<Vec<T>> {
        let Some(value) = value else { return Ok(Vec::new()) };
        if !self.mixed {
            let shape = &self.shapes[0];
            return given_or_empty(Some(value), &[shape.worlds, width(shape)], name);
        }
        let parts = self.parts(value, name)?;
        let mut all = Vec::new();
        for (number, (part, shape)) in parts.iter().zip(&self.shapes).enumerate() {
            let name = format!("{name}[{number}]");
            let array = given::<T>(part, &[shape.worlds, width(shape)], &name)?;
            all.extend_from_slice(slice(&array, &name)?);
        }
        Ok(all)
    }

    fn step_with<T: Real>(&self, py: Python<'_>, ctrl: Option<&Bound<'_, PyAny>>, steps: usize) -> PyResult<()> {
        let take = |batch: &mut manyworlds::Batch, controls: &[T]| {
            for step in 0..steps {
                batch.step(if step == 0 { controls } else { &[] })?;
            }
            Ok(())
        };
        match ctrl {
            Some(ctrl) if !self.mixed => {
                let shape = &self.shapes[0];
                let array = given::<T>(ctrl, &[shape.worlds, shape.n_u], "ctrl")?;
                let controls = slice(&array, "ctrl")?;
                self.with(py, |batch| take(batch, controls))
            }
            _ => {
                let controls = self.of_groups::<T>(ctrl, |shape| shape.n_u, "ctrl")?;
                self.with(py, |batch| take(batch, &controls))
            }
        }
    }
}

#[pymethods]
impl Batch {
    #[new]
    #[pyo3(signature = (model, worlds=None, executor="auto", precision="f32", solver="auto", tolerance=None, threads=None, *, dt=None, iterations=None, integrator="linearly-implicit"))]
    fn new(
        py: Python<'_>,
        model: &Bound<'_, PyAny>,
        worlds: Option<i64>,
        executor: &str,
        precision: &str,
        solver: &str,
        tolerance: Option<f64>,
        threads: Option<i64>,
        dt: Option<f64>,
        iterations: Option<u32>,
        integrator: &str,
    ) -> PyResult<Self> {
        let (groups, mixed) = groups(model, worlds)?;
        let mut options = batch_options(executor, precision, solver, tolerance, integrator, dt)?;
        options.iterations = iterations.unwrap_or(options.iterations);
        let pool = self::threads(threads)?;
        let models: Vec<(Arc<manyworlds::Model>, usize)> =
            groups.iter().map(|(model, worlds)| (Arc::clone(&model.get().inner), *worlds)).collect();
        let build = || {
            let groups: Vec<_> = models.iter().map(|(model, worlds)| (&**model, *worlds)).collect();
            manyworlds::Batch::new(&groups, &options)
        };
        let inner = py.detach(|| on(pool.as_ref(), build)).map_err(raised)?;
        let shapes = models.iter().map(|(model, worlds)| Shape {
            worlds: *worlds,
            n_q: model.n_q,
            n_v: model.n_v,
            n_u: model.actuators.len(),
            n_act: model.n_act(),
        });
        Ok(Self {
            inner: Owned::new(inner, pool),
            shapes: shapes.collect(),
            models: groups.into_iter().map(|(model, _)| model).collect(),
            precision: options.precision,
            mixed,
            tolerance: options.tolerance,
            studio: Mutex::default(),
        })
    }

    fn __len__(&self) -> usize {
        self.worlds()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let adapter = self.with(py, |batch| Ok(batch.adapter()))?;
        let names: Vec<_> = self
            .models
            .iter()
            .zip(&self.shapes)
            .map(|(m, s)| format!("{} x {}", s.worlds, m.get().inner.name))
            .collect();
        Ok(format!("<manyworlds.Batch {}, {}, {adapter}>", names.join(", "), self.precision.name()))
    }

    /// The model, or the list of models of a mixed batch.
    #[getter(model)]
    fn py_model<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.by_group(py, |group| Ok(self.models[group].bind(py).clone().into_any()))
    }

    /// What the kernels run on: "cpu" or "gpu".
    #[getter]
    fn executor(&self, py: Python<'_>) -> PyResult<&'static str> {
        self.at_once(py, |batch| Ok(batch.executor()))
    }

    /// Name of the adapter, or the CPU and its threads.
    #[getter]
    fn adapter(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |batch| Ok(batch.adapter()))
    }

    /// "f32" or "f64".
    #[getter(precision)]
    fn precision_name(&self) -> &'static str {
        self.precision.name()
    }

    /// Steps so far.
    #[getter]
    fn steps(&self, py: Python<'_>) -> PyResult<u64> {
        self.at_once(py, |batch| Ok(batch.steps()))
    }

    /// Steps all worlds `steps` times with the same controls, `(worlds, n_u)`; None: those of the step before.
    ///
    /// Raises ValueError for controls of another shape or that are not finite. A world that fails raises nothing: it stops,
    /// and its entry of `certificates.status` says so.
    #[pyo3(signature = (ctrl=None, steps=1))]
    fn step(&self, py: Python<'_>, ctrl: Option<&Bound<'_, PyAny>>, steps: i64) -> PyResult<()> {
        let steps = count("steps", steps, 0)?;
        with_real!(self.precision, T => self.step_with::<T>(py, ctrl, steps))
    }

    /// The whole batch as bytes. Restored into a batch of the same models and settings, it goes on bit for bit.
    fn checkpoint<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.with(py, manyworlds::Batch::checkpoint)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Goes on from a checkpoint. Raises ValueError where it is not one of such a batch; then reset the batch.
    fn restore(&self, py: Python<'_>, checkpoint: &[u8]) -> PyResult<()> {
        self.with(py, |batch| batch.restore(checkpoint))
    }

    /// Writes a checkpoint into a file: under its name when all of it is on the disk, so that one which is there stays whole.
    fn save(&self, py: Python<'_>, path: std::path::PathBuf) -> PyResult<()> {
        self.with(py, |batch| batch.save(&path))
    }

    /// Goes on from a file that `save` wrote. Raises OSError where it cannot be read, else as `restore`.
    fn resume(&self, py: Python<'_>, path: std::path::PathBuf) -> PyResult<()> {
        self.with(py, |batch| batch.resume(&path))
    }

    /// Steps through controls `(steps, worlds, n_u)`; gives a record of `q` `(steps, worlds, n_q)` and `v` `(steps, worlds,
    /// n_v)` after each step. Of batches of one model.
    fn rollout<'py>(&self, py: Python<'py>, ctrl: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if self.mixed {
            return Err(PyValueError::new_err("rollout: expected a batch of one model, found a mixed one"));
        }
        let shape = self.shapes[0];
        let steps = ctrl.len()?;
        with_real!(self.precision, T => {
            let array = given::<T>(ctrl, &[steps, shape.worlds, shape.n_u], "ctrl")?;
            let controls = slice(&array, "ctrl")?;
            let (n_q, n_v, n_u) = (shape.worlds * shape.n_q, shape.worlds * shape.n_v, shape.worlds * shape.n_u);
            let (mut q, mut v) = (vec![T::default(); steps * n_q], vec![T::default(); steps * n_v]);
            self.with(py, |batch| {
                for step in 0..steps {
                    batch.step(&controls[step * n_u..(step + 1) * n_u])?;
                    batch.read(0, FieldId::Position, &mut q[step * n_q..(step + 1) * n_q])?;
                    batch.read(0, FieldId::Velocity, &mut v[step * n_v..(step + 1) * n_v])?;
                }
                Ok(())
            })?;
            let parts = PyDict::new(py);
            for (name, numbers, width) in [("q", q, shape.n_q), ("v", v, shape.n_v)] {
                let flat = numpy::PyArray1::from_vec(py, numbers);
                parts.set_item(name, flat.call_method1("reshape", ((steps, shape.worlds, width),))?)?;
            }
            record(&parts)
        })
    }
}
