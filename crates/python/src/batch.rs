//! Batches, as Python sees them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use manyworlds::{BatchOptions, Error, FieldId, Precision, Start, StateRows, Which, status};
use manyworlds_view::{ContactColour, Marks, Moment};
use numpy::{PyArrayDyn, PyUntypedArrayMethods};
use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::arrays::{Real, fill_array, filled, given, given_or_empty, reals, slice, with_real};
use crate::errors::{Failure, raised};
use crate::model::Model;
use crate::options::{count, executor, field, integrator, one_of, precision, threads};
use crate::owned::{Owned, on};
use crate::pictures::{self, Shot, Studio};
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
        let parts: Vec<Bound<'_, PyAny>> = value.extract()?;
        if parts.len() != self.shapes.len() {
            let (expected, found) = (self.shapes.len(), parts.len());
            return Err(PyValueError::new_err(format!("{name}: expected a list of {expected} arrays, found {found}")));
        }
        let mut all = Vec::new();
        for (number, (part, shape)) in parts.iter().zip(&self.shapes).enumerate() {
            let name = format!("{name}[{number}]");
            let array = given::<T>(part, &[shape.worlds, width(shape)], &name)?;
            all.extend_from_slice(slice(&array, &name)?);
        }
        Ok(all)
    }

    fn field<'py>(&self, py: Python<'py>, id: FieldId) -> PyResult<Bound<'py, PyAny>> {
        self.by_group(py, |group| {
            let shape = self.at_once(py, |batch| Ok(batch.field(group, id)?.shape()))?;
            with_real!(self.precision, T => self.read_new::<T>(py, group, id, &shape))
        })
    }

    fn read_new<'py, T: Real>(
        &self,
        py: Python<'py>,
        group: usize,
        id: FieldId,
        shape: &[usize],
    ) -> PyResult<Bound<'py, PyAny>> {
        filled::<T>(py, shape, |out| self.without_gil(|batch| batch.read(group, id, out)))
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

    fn mask(&self, mask: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Vec<bool>>> {
        match mask {
            None => Ok(None),
            Some(mask) => given_or_empty::<bool>(Some(mask), &[self.worlds()], "mask").map(Some),
        }
    }
}

fn which(mask: Option<&[bool]>) -> Which<'_> {
    mask.map_or(Which::All, Which::Masked)
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
        let defaults = BatchOptions::default();
        let options = BatchOptions {
            executor: self::executor(executor)?,
            precision: self::precision(precision)?,
            solver: solver.to_owned(),
            tolerance: tolerance.unwrap_or(defaults.tolerance),
            iterations: iterations.unwrap_or(defaults.iterations),
            integrator: self::integrator(integrator)?,
            dt,
            ..defaults
        };
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

    /// Generalized positions, `(worlds, n_q)`, m or rad; quaternions (w, x, y, z). A copy.
    #[getter]
    fn q<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.field(py, FieldId::Position)
    }

    /// Generalized velocities, `(worlds, n_v)`, m/s or rad/s. A copy.
    #[getter]
    fn v<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.field(py, FieldId::Velocity)
    }

    /// Activations of actuators that have dynamics, `(worlds, n_act)`. A copy.
    #[getter]
    fn act<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.field(py, FieldId::Activation)
    }

    /// Position and quaternion (w, x, y, z) of each body in the world's frame, `(worlds, bodies, 7)`. A copy.
    #[getter]
    fn poses<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.field(py, FieldId::Pose)
    }

    /// What the sensors show, `(worlds, readings)`, those of sensor `name` in `model.sensor_ranges[name]`: of the state that the
    /// last step began with, as MuJoCo's `sensordata` after a step; zeros before the first step. A copy.
    #[getter]
    fn sensors<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.field(py, FieldId::Sensor)
    }

    /// One of the fields "q", "v", "controls", "tau", "act", "mocap", "poses", "twists", "sensors", "certificates", a row a world; into
    /// `out` where it is given, an array of that shape and of the batch's precision, C-contiguous: then nothing is allocated.
    #[pyo3(signature = (field, out=None))]
    fn read<'py>(&self, py: Python<'py>, field: &str, out: Option<&Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        let id = self::field(field)?;
        let Some(out) = out else { return self.field(py, id) };
        if self.mixed {
            return Err(PyValueError::new_err("out: a mixed batch gives a list of new arrays"));
        }
        with_real!(self.precision, T => {
            let array = out.cast::<PyArrayDyn<T>>().map_err(|_| {
                let name = std::any::type_name::<T>();
                PyTypeError::new_err(format!("out: expected a numpy array of {name}"))
            })?;
            let shape = self.at_once(py, |batch| Ok(batch.field(0, id)?.shape()))?;
            if array.shape() != shape || !array.is_c_contiguous() {
                let found = array.shape();
                return Err(PyValueError::new_err(format!(
                    "out: expected a C-contiguous array of shape {shape:?}, found shape {found:?}"
                )));
            }
            fill_array(array, |numbers| self.without_gil(|batch| batch.read(0, id, numbers)))?;
        });
        Ok(out.clone())
    }

    /// Writes one of the fields "q", "v", "controls", "tau", "act", "mocap" of all worlds; impulses of the step before stay
    /// remembered, which `set_state` forgets.
    fn write(&self, py: Python<'_>, field: &str, values: &Bound<'_, PyAny>) -> PyResult<()> {
        let id = self::field(field)?;
        let parts: Vec<Bound<'_, PyAny>> = if self.mixed { values.extract()? } else { vec![values.clone()] };
        if parts.len() != self.shapes.len() {
            let (expected, found) = (self.shapes.len(), parts.len());
            return Err(PyValueError::new_err(format!("{field}: expected a list of {expected} arrays, found {found}")));
        }
        for (group, part) in parts.iter().enumerate() {
            let shape = self.at_once(py, |batch| Ok(batch.field(group, id)?.shape()))?;
            with_real!(self.precision, T => {
                let array = given::<T>(part, &shape, field)?;
                let numbers = slice(&array, field)?;
                self.with(py, |batch| batch.write(group, id, numbers))?;
            });
        }
        Ok(())
    }

    /// Puts worlds into states and makes them start afresh: impulses of the step before and failures are forgotten.
    ///
    /// q `(worlds, n_q)`, v `(worlds, n_v)`, ctrl `(worlds, n_u)`, tau `(worlds, n_v)` (applied forces, N or N m), act `(worlds,
    /// n_act)`; what is None stays as it is. mask `(worlds,)` of bool: only these worlds, and only their rows are looked at.
    #[pyo3(signature = (q=None, v=None, mask=None, *, ctrl=None, tau=None, act=None))]
    fn set_state(
        &self,
        py: Python<'_>,
        q: Option<&Bound<'_, PyAny>>,
        v: Option<&Bound<'_, PyAny>>,
        mask: Option<&Bound<'_, PyAny>>,
        ctrl: Option<&Bound<'_, PyAny>>,
        tau: Option<&Bound<'_, PyAny>>,
        act: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let mask = self.mask(mask)?;
        with_real!(self.precision, T => {
            let q = self.of_groups::<T>(q, |s| s.n_q, "q")?;
            let v = self.of_groups::<T>(v, |s| s.n_v, "v")?;
            let ctrl = self.of_groups::<T>(ctrl, |s| s.n_u, "ctrl")?;
            let tau = self.of_groups::<T>(tau, |s| s.n_v, "tau")?;
            let act = self.of_groups::<T>(act, |s| s.n_act, "act")?;
            let rows = StateRows { q: &q, v: &v, ctrl: &ctrl, tau: &tau, act: &act };
            self.with(py, |batch| batch.restart_worlds(which(mask.as_deref()), rows))
        })
    }

    /// Puts worlds into their model's initial state, at rest; mask `(worlds,)` of bool: only these.
    #[pyo3(signature = (mask=None))]
    fn reset(&self, py: Python<'_>, mask: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let mask = self.mask(mask)?;
        self.with(py, |batch| batch.restart_worlds(which(mask.as_deref()), Start::INITIAL))
    }

    /// How well the last step of each world was solved, a record of arrays `(worlds,)`, whatever the models:
    ///
    /// residual: contact residual, N s; residual_scaled: largest of a constraint, m/s; balance: what is left of the balance of
    /// momentum of bodies that deform, a part of residual, N s; penetration: deepest, m;
    /// contacts: number, open ones within the speculative distance included; iterations; status: bits, by name in
    /// `Batch.status_bits`; relaxed: the step asked for what no motion gives, and biases gave way; failed: the world stopped,
    /// until it is reset.
    #[getter]
    fn certificates<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let all = self.with(py, |batch| {
            let mut all = Vec::new();
            batch.summaries(&mut all)?;
            Ok(all)
        })?;
        let n = [all.len()];
        let parts = PyDict::new(py);
        let numbers = |of: fn(&manyworlds::Summary) -> f64| {
            let numbers: Vec<f64> = all.iter().map(of).collect();
            with_real!(self.precision, T => reals::<T>(py, &n, &numbers))
        };
        parts.set_item("residual", numbers(|s| s.residual)?)?;
        parts.set_item("residual_scaled", numbers(|s| s.residual_scaled)?)?;
        parts.set_item("balance", numbers(|s| s.balance)?)?;
        parts.set_item("penetration", numbers(|s| s.penetration)?)?;
        let words = |of: fn(&manyworlds::Summary) -> u32| numpy::PyArray1::from_iter(py, all.iter().map(of));
        parts.set_item("contacts", words(|s| s.contacts))?;
        parts.set_item("iterations", words(|s| s.iterations))?;
        parts.set_item("status", words(|s| s.status))?;
        let flags = |of: fn(&manyworlds::Summary) -> bool| numpy::PyArray1::from_iter(py, all.iter().map(of));
        parts.set_item("relaxed", flags(manyworlds::Summary::is_relaxed))?;
        parts.set_item("failed", flags(manyworlds::Summary::failed))?;
        record(&parts)
    }

    /// Bits of `certificates.status` by name.
    #[classattr]
    fn status_bits() -> BTreeMap<&'static str, u32> {
        BTreeMap::from([
            ("converged", status::CONVERGED),
            ("iteration limit", status::ITERATION_LIMIT),
            ("breakdown", status::BREAKDOWN),
            ("non-finite", status::NON_FINITE),
            ("frozen", status::FROZEN),
            ("relaxed", status::RELAXED),
        ])
    }

    /// A picture of a world as an array `(height, width, 3)` of uint8, red, green and blue, rows from the top.
    ///
    /// camera: one of the file, by name or number as a string; None: one that shows all that moves. follow: that one keeps
    /// its distance and goes along with what moves, steady from picture to picture. Raises ValueError for a camera that is
    /// not there, and names those there are; RuntimeError where no adapter draws, not even by software.
    ///
    /// contacts: those of the last step as arrows along their impulses, "penetration" coloured from blue, where surfaces touch,
    /// to red, where they are deepest in each other; "residual" from blue, where a contact is solved to the tolerance, to red,
    /// where it is worst solved. centres_of_mass: small balls those of bodies, large ones those of trees. joint_axes: hinges
    /// blue, slides green, the three of balls.
    #[pyo3(signature = (world=0, camera=None, width=640, height=480, *, follow=false, contacts=None, centres_of_mass=false, joint_axes=false))]
    fn render<'py>(
        &self,
        py: Python<'py>,
        world: i64,
        camera: Option<&str>,
        width: u32,
        height: u32,
        follow: bool,
        contacts: Option<&str>,
        centres_of_mass: bool,
        joint_axes: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let size = pictures::size(width, height)?;
        let colours = ContactColour::ALL.map(|colour| (colour.name(), colour));
        let contacts = contacts.map(|name| one_of("contacts", name, &colours)).transpose()?;
        let marks = Marks { contacts, centres: centres_of_mass, axes: joint_axes };
        let (world, group) = self.world(world)?;
        let model = self.model(group);
        let moment = self.with(py, |batch| {
            let mut solved = Vec::new();
            if contacts.is_some() {
                batch.solved_contacts(&mut solved)?;
                solved.retain(|of| of.contact.world == world);
            }
            let first = batch.worlds(group).start;
            let placed = pictures::worlds_of(batch, group, &model)?.swap_remove(world - first);
            Ok(Moment { placed, contacts: solved })
        })?;
        let shot = Shot { group, model: &model, camera, size, follow, marks, tolerance: self.tolerance };
        shot.picture(py, &self.studio, &moment)
    }

    /// Surfaces of a world's soft bodies now: as `Model.shapes`, in the world's frame; numbers of bodies and geoms go on behind
    /// those of all others.
    #[pyo3(signature = (world=0))]
    fn soft_shapes<'py>(&self, py: Python<'py>, world: i64) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let (world, group) = self.world(world)?;
        let model = self.model(group);
        let (all, first) =
            self.with(py, |batch| Ok((pictures::worlds_of(batch, group, &model)?, batch.worlds(group).start)))?;
        pictures::soft_pieces(py, &model, &all[world - first])
    }

    /// What a camera sees in every world, a record of arrays: `rgb` `(worlds, height, width, 3)` of uint8; `depth` `(worlds,
    /// height, width)` of float32, the distance along the camera's axis in metres, infinite where nothing is; `segmentation`
    /// `(worlds, height, width)` of int32, numbers of geoms, soft bodies numbered behind them, -1 where nothing is.
    ///
    /// camera: as of `render`; None goes along with what moves. Plainer than `render`, without shadows, and fast: all worlds
    /// are drawn at once. On a GPU, in single precision, a camera that stands still is drawn from poses where the batch keeps
    /// them, which so never leave the device. A mixed batch gives a list of records.
    #[pyo3(signature = (camera=None, width=64, height=64))]
    fn observe<'py>(
        &self,
        py: Python<'py>,
        camera: Option<&str>,
        width: u32,
        height: u32,
    ) -> PyResult<Bound<'py, PyAny>> {
        let size = pictures::size(width, height)?;
        self.by_group(py, |group| {
            let model = self.model(group);
            let shot = Shot::plain(group, &model, camera, size);
            let seen = self.with(py, |batch| shot.observe(&self.studio, batch))?;
            shot.observations(py, seen)
        })
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
