//! One contact problem, without bodies.

use manyworlds::Precision;
use manyworlds::contact::{self, Law, SolveSettings, Stage, problem};
use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::record::record;

/// Solves a contact problem given as JSON text; `manyworlds.solve` makes that text of arrays.
#[pyfunction]
#[pyo3(signature = (text, solver, precision, tolerance, iterations, history))]
pub(crate) fn solve<'py>(
    py: Python<'py>,
    text: &str,
    solver: &str,
    precision: &str,
    tolerance: Option<f64>,
    iterations: Option<u32>,
    history: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let wrong = |error: String| PyValueError::new_err(error);
    let problem = problem::read(text).map_err(|error| wrong(error.to_string()))?;
    let defaults = SolveSettings::default();
    let settings = SolveSettings {
        precision: match crate::options::precision(precision)? {
            Precision::F32 => contact::Precision::F32,
            Precision::F64 => contact::Precision::F64,
        },
        tolerance: tolerance.unwrap_or(defaults.tolerance),
        iterations: iterations.unwrap_or(defaults.iterations),
        history,
        ..defaults
    };
    let found = py.detach(|| contact::solve(&problem, solver, &settings)).map_err(|error| wrong(error.to_string()))?;
    let parts = PyDict::new(py);
    parts.set_item("solver", found.solver)?;
    parts.set_item("status", found.status.name())?;
    parts.set_item("iterations", found.iterations)?;
    parts.set_item("outer", found.outer)?;
    parts.set_item("stage", found.stage.map(Stage::name))?;
    parts.set_item("v", PyArray1::from_vec(py, found.v))?;
    parts.set_item("lambda", PyArray1::from_vec(py, found.lambda))?;
    parts.set_item("residual", found.quality.residual)?;
    parts.set_item("residual_scaled", found.quality.residual_scaled)?;
    parts.set_item("momentum_error", found.quality.momentum_error)?;
    parts.set_item("complementarity_error", found.quality.complementarity_error)?;
    // Contacts come first among the constraints, rows behind them.
    let contacts = problem.constraints.iter().take_while(|c| c.law.rows() == 3).count();
    let relaxed = |of: &contact::Relaxation| {
        let parts = PyDict::new(py);
        let is_contact = of.constraint < contacts;
        parts.set_item("kind", if is_contact { "contact" } else { "row" })?;
        parts.set_item("index", if is_contact { of.constraint } else { of.constraint - contacts })?;
        match problem.constraints[of.constraint].law {
            Law::Contact { .. } => parts.set_item("by", of.by[2])?,
            Law::Block => parts.set_item("by", of.by)?,
            _ => parts.set_item("by", of.by[0])?,
        }
        parts.set_item("left_out", of.left_out)?;
        record(&parts)
    };
    parts.set_item("relaxed", found.relaxed.iter().map(relaxed).collect::<PyResult<Vec<_>>>()?)?;
    parts.set_item("history", PyArray1::from_vec(py, found.history))?;
    parts.set_item("microseconds", found.elapsed.as_secs_f64() * 1e6)?;
    record(&parts)
}
