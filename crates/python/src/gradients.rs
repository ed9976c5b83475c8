//! Derivatives of steps.

use std::ops::Range;
use std::sync::Arc;

use manyworlds::{Certificate, InputsMut, Mode, Model, OutputSlices, Outputs, tangent};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{reals, with_real};
use crate::batch::{Batch, Shape};
use crate::errors::raised;
use crate::record::record;

/// Gradients by what goes into steps, all worlds' one behind the other.
struct Gradients {
    q: Vec<f64>,
    v: Vec<f64>,
    tau: Vec<f64>,
    ctrl: Vec<f64>,
    act: Vec<f64>,
    certificates: Vec<Certificate>,
}

impl Gradients {
    fn zeros(shapes: &[Shape]) -> Self {
        let zeros = |width: fn(&Shape) -> usize| vec![0.0; shapes.iter().map(|s| s.worlds * width(s)).sum()];
        let [q, v, tau] = [(); 3].map(|()| zeros(|s| s.n_v));
        Self { q, v, tau, ctrl: zeros(|s| s.n_u), act: zeros(|s| s.n_act), certificates: Vec::new() }
    }
}

impl Batch {
    /// Gradients by what comes out of a step, given as an array for each group, as f64; nothing given: an empty list, which stands
    /// for zeros.
    fn outputs(
        &self,
        dq: Option<&Bound<'_, PyAny>>,
        dv: Option<&Bound<'_, PyAny>>,
        dact: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<[Vec<f64>; 3]> {
        Ok([
            self.of_groups::<f64>(dq, |s| s.n_v, "dq")?,
            self.of_groups::<f64>(dv, |s| s.n_v, "dv")?,
            self.of_groups::<f64>(dact, |s| s.n_act, "dact")?,
        ])
    }

    fn gradient_record<'py>(&self, py: Python<'py>, found: &Gradients) -> PyResult<Bound<'py, PyAny>> {
        let parts = PyDict::new(py);
        let array = |numbers: &[f64], width: fn(&Shape) -> usize| {
            let mut begin = 0;
            self.by_group(py, |group| {
                let shape = &self.shapes()[group];
                let count = shape.worlds * width(shape);
                begin += count;
                let own = &numbers[begin - count..begin];
                with_real!(self.precision(), T => reals::<T>(py, &[shape.worlds, width(shape)], own))
            })
        };
        parts.set_item("q", array(&found.q, |s| s.n_v)?)?;
        parts.set_item("v", array(&found.v, |s| s.n_v)?)?;
        parts.set_item("tau", array(&found.tau, |s| s.n_v)?)?;
        parts.set_item("ctrl", array(&found.ctrl, |s| s.n_u)?)?;
        parts.set_item("act", array(&found.act, |s| s.n_act)?)?;
        let valid = found.certificates.iter().map(Certificate::valid);
        parts.set_item("valid", numpy::PyArray1::from_iter(py, valid))?;
        let margins: Vec<f64> = found.certificates.iter().map(|c| c.margin).collect();
        let n = [margins.len()];
        parts.set_item("margin", with_real!(self.precision(), T => reals::<T>(py, &n, &margins))?)?;
        record(&parts)
    }
}

impl Batch {
    /// Arrays made of q and a second array, world by world.
    fn row_by_row<'py>(
        &self,
        py: Python<'py>,
        q: &Bound<'py, PyAny>,
        second: &Bound<'py, PyAny>,
        width_in: fn(&Shape) -> usize,
        width_out: fn(&Shape) -> usize,
        f: fn(&Model, &[f64], &[f64]) -> Vec<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (q, second) = (
            self.of_groups::<f64>(Some(q), |s| s.n_q, "q")?,
            self.of_groups::<f64>(Some(second), width_in, "gradient")?,
        );
        let (mut q, mut second) = (&q[..], &second[..]);
        self.by_group(py, |group| {
            let (shape, model) = (self.shapes()[group], self.model(group));
            let mut out = Vec::with_capacity(shape.worlds * width_out(&shape));
            for _ in 0..shape.worlds {
                let (own_q, rest_q) = q.split_at(shape.n_q);
                let (own, rest) = second.split_at(width_in(&shape));
                out.extend(f(&model, own_q, own));
                (q, second) = (rest_q, rest);
            }
            with_real!(self.precision(), T => reals::<T>(py, &[shape.worlds, width_out(&shape)], &out))
        })
    }
}

#[pymethods]
impl Batch {
    /// Keeps from now on what derivatives of steps need, or no longer: a copy of the states before each step.
    #[pyo3(signature = (on=true))]
    fn keep_steps(&self, py: Python<'_>, on: bool) -> PyResult<()> {
        self.at_once(py, |batch| batch.keep_steps(on))
    }

    /// Derivatives of the last step of one world, a record of matrices: rows are what comes out (q+ in its tangent space, v+),
    /// columns what goes in.
    ///
    /// dq_dq, dq_dv, dq_dtau, dv_dq, dv_dv, dv_dtau `(n_v, n_v)`; dq_dctrl, dv_dctrl `(n_v, n_u)`; dq_dact, dv_dact
    /// `(n_v, n_act)`; dact_dctrl `(n_act, n_u)`, dact_dact `(n_act, n_act)` (activations follow nothing else); mode: of each contact
    /// ("sticking", "sliding", "breaking", ..); valid: whether to trust it, and `problems` why not; margin: distance to a
    /// switch of modes, m/s. `keep_steps(True)` comes before the step, else RuntimeError.
    fn jacobian<'py>(&self, py: Python<'py>, world: i64) -> PyResult<Bound<'py, PyAny>> {
        let (world, _) = self.world(world)?;
        let found = self.with(py, |batch| batch.jacobian(world))?;
        let parts = PyDict::new(py);
        let (n_v, n_u, n_act) = (found.n_v, found.n_u, found.n_act);
        for (name, numbers, shape) in [
            ("dq_dq", &found.dq_dq, [n_v, n_v]),
            ("dq_dv", &found.dq_dv, [n_v, n_v]),
            ("dq_dtau", &found.dq_dtau, [n_v, n_v]),
            ("dq_dctrl", &found.dq_dctrl, [n_v, n_u]),
            ("dq_dact", &found.dq_dact, [n_v, n_act]),
            ("dv_dq", &found.dv_dq, [n_v, n_v]),
            ("dv_dv", &found.dv_dv, [n_v, n_v]),
            ("dv_dtau", &found.dv_dtau, [n_v, n_v]),
            ("dv_dctrl", &found.dv_dctrl, [n_v, n_u]),
            ("dv_dact", &found.dv_dact, [n_v, n_act]),
            ("dact_dctrl", &found.dact_dctrl, [n_act, n_u]),
            ("dact_dact", &found.dact_dact, [n_act, n_act]),
        ] {
            parts.set_item(name, with_real!(self.precision(), T => reals::<T>(py, &shape, numbers))?)?;
        }
        let certificate = &found.certificate;
        parts.set_item("mode", found.modes.iter().map(|mode: &Mode| mode.name()).collect::<Vec<_>>())?;
        parts.set_item("valid", certificate.valid())?;
        parts.set_item("valid_but_by_q", certificate.valid_but_by_q())?;
        parts.set_item("problems", certificate.reasons().cloned().collect::<Vec<_>>())?;
        parts.set_item("margin", certificate.margin)?;
        parts.set_item("closed", certificate.closed)?;
        parts.set_item("unknowns", certificate.size)?;
        parts.set_item("rank", certificate.rank)?;
        parts.set_item("adjoint_residual", certificate.residual)?;
        record(&parts)
    }

    /// Gradients of a loss by what went into the last step, from those by what came out: a product with the transposed
    /// Jacobian of every world.
    ///
    /// dq, dv `(worlds, n_v)`: gradients by q+ (in its tangent space) and v+; dact `(worlds, n_act)`: by the activations after
    /// the step; None: zeros. Gives a record of q, v, tau `(worlds, n_v)`, ctrl `(worlds, n_u)`, act `(worlds, n_act)`, valid
    /// and margin `(worlds,)`. `keep_steps(True)` comes before the step, else
    /// RuntimeError.
    #[pyo3(signature = (dq=None, dv=None, dact=None))]
    fn vjp<'py>(
        &self,
        py: Python<'py>,
        dq: Option<&Bound<'py, PyAny>>,
        dv: Option<&Bound<'py, PyAny>>,
        dact: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let [dq, dv, dact] = self.outputs(dq, dv, dact)?;
        let mut found = Gradients::zeros(self.shapes());
        let Gradients { q, v, tau, ctrl, act, .. } = &mut found;
        let all: Vec<usize> = (0..self.worlds()).collect();
        let (from, to) = (OutputSlices { q: &dq, v: &dv, act: &dact }, InputsMut { q, v, tau, ctrl, act });
        found.certificates = self.with(py, |batch| batch.back_all(&all, &from, to))?;
        self.gradient_record(py, &found)
    }

    /// Gradients by tangent vectors at q, `(worlds, n_v)`, from those by the coordinates of q, `(worlds, n_q)`: what `vjp` takes,
    /// from what a loss of `batch.q` gives. They differ where a model has quaternions.
    fn to_tangent<'py>(
        &self,
        py: Python<'py>,
        q: &Bound<'py, PyAny>,
        gradient: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.row_by_row(py, q, gradient, |s| s.n_q, |s| s.n_v, tangent::gradient)
    }

    /// Gradients by the coordinates of q, `(worlds, n_q)`, from those by tangent vectors there, `(worlds, n_v)`: for a loss of
    /// `batch.q`, from what `vjp` gives.
    fn from_tangent<'py>(
        batch: &Bound<'py, Self>,
        q: &Bound<'py, PyAny>,
        gradient: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        batch.get().row_by_row(batch.py(), q, gradient, |s| s.n_v, |s| s.n_q, tangent::coordinate_gradient)
    }

    /// The last step of every world, to go back through it later, whatever happens to the batch meanwhile.
    fn kept_step(batch: &Bound<'_, Self>) -> PyResult<KeptStep> {
        let inner = batch.get().with(batch.py(), manyworlds::Batch::kept_step)?;
        Ok(KeptStep { inner: Arc::new(inner), batch: batch.clone().unbind() })
    }
}

/// One step of every world of a batch, kept to go back through it. Made by `Batch.kept_step()`.
#[pyclass(module = "manyworlds", frozen)]
pub(crate) struct KeptStep {
    inner: Arc<manyworlds::KeptStep>,
    batch: Py<Batch>,
}

#[pymethods]
impl KeptStep {
    /// As `Batch.vjp`, of this step.
    #[pyo3(signature = (dq=None, dv=None, dact=None))]
    fn vjp<'py>(
        &self,
        py: Python<'py>,
        dq: Option<&Bound<'py, PyAny>>,
        dv: Option<&Bound<'py, PyAny>>,
        dact: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let batch = self.batch.get();
        let [dq, dv, dact] = batch.outputs(dq, dv, dact)?;
        let widths = batch.shapes().iter().flat_map(|s| (0..s.worlds).map(|_| [s.n_v, s.n_act]));
        let mut begin = [0; 2];
        let outputs: Vec<Outputs> = widths
            .map(|widths| {
                let [dofs, activations] = [0, 1].map(|k| begin[k]..begin[k] + widths[k]);
                begin = [dofs.end, activations.end];
                let part = |all: &[f64], own: &Range<usize>| all.get(own.clone()).unwrap_or_default().to_vec();
                Outputs { q: part(&dq, &dofs), v: part(&dv, &dofs), act: part(&dact, &activations) }
            })
            .collect();
        let found = batch.beside(py, || self.inner.back(&outputs)).map_err(raised)?;
        let mut all = Gradients::zeros(&[]);
        for (inputs, certificate) in found {
            all.q.extend(inputs.q);
            all.v.extend(inputs.v);
            all.tau.extend(inputs.tau);
            all.ctrl.extend(inputs.ctrl);
            all.act.extend(inputs.act);
            all.certificates.push(certificate);
        }
        batch.gradient_record(py, &all)
    }

    /// Memory it takes, B.
    #[getter]
    fn bytes(&self) -> usize {
        self.inner.bytes()
    }
}
