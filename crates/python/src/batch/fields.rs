//! The numbers of a batch that Python reads and writes: fields, states, certificates.

use std::collections::BTreeMap;

use manyworlds::{FieldId, Start, StateRows, Which, status};
use numpy::{PyArrayDyn, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::Batch;
use crate::arrays::{Real, fill_array, filled, given, given_or_empty, reals, slice, with_real};
use crate::options::field;
use crate::record::record;

impl Batch {
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

    fn mask(&self, mask: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Vec<bool>>> {
        mask.map(|mask| given_or_empty(Some(mask), &[self.worlds()], "mask")).transpose()
    }
}

fn which(mask: Option<&[bool]>) -> Which<'_> {
    mask.map_or(Which::All, Which::Masked)
}

#[pymethods]
impl Batch {
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
        let parts = self.parts(values, field)?;
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
}
