//! Options by their names and numbers, as Python gives them.

use manyworlds::{BatchOptions, Executor, FieldId, Integrator, Precision};
use pyo3::PyResult;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use rayon::{ThreadPool, ThreadPoolBuilder};

/// Threads that a batch may ask for: more than any machine has, fewer than would stop one.
const MOST_THREADS: i64 = 1024;

/// The field of a name.
pub(crate) fn field(name: &str) -> PyResult<FieldId> {
    one_of("field", name, &FieldId::ALL.map(|id| (id.name(), id)))
}

/// The options that batches and environments both take by these names; a tolerance that is not given is the default.
pub(crate) fn batch_options(
    executor: &str,
    precision: &str,
    solver: &str,
    tolerance: Option<f64>,
    integrator: &str,
    dt: Option<f64>,
) -> PyResult<BatchOptions> {
    let defaults = BatchOptions::default();
    Ok(BatchOptions {
        executor: self::executor(executor)?,
        precision: self::precision(precision)?,
        solver: solver.to_owned(),
        tolerance: tolerance.unwrap_or(defaults.tolerance),
        integrator: self::integrator(integrator)?,
        dt,
        ..defaults
    })
}

/// The integrator of a name.
fn integrator(name: &str) -> PyResult<Integrator> {
    one_of("integrator", name, &Integrator::ALL.map(|integrator| (integrator.name(), integrator)))
}

/// What the name of an option stands for among some.
pub(crate) fn one_of<T: Copy>(what: &str, found: &str, choices: &[(&str, T)]) -> PyResult<T> {
    choices.iter().find(|(name, _)| *name == found).map(|&(_, x)| x).ok_or_else(|| {
        let known: Vec<_> = choices.iter().map(|(name, _)| *name).collect();
        PyValueError::new_err(format!("{what}: expected one of {}, found \"{found}\"", known.join(", ")))
    })
}

/// `"auto"`, `"gpu"` or `"cpu"`.
fn executor(name: &str) -> PyResult<Executor> {
    one_of("executor", name, &[("auto", Executor::Auto), ("gpu", Executor::Gpu), ("cpu", Executor::Cpu)])
}

/// A number of things, as Python has it, where it is at least `least`.
pub(crate) fn count(what: &str, found: i64, least: i64) -> PyResult<usize> {
    let wrong = || PyValueError::new_err(format!("{what}: expected at least {least}, found {found}"));
    if found < least { Err(wrong()) } else { usize::try_from(found).map_err(|_| wrong()) }
}

/// Threads of their own for a batch; none: those of the whole program.
pub(crate) fn threads(count: Option<i64>) -> PyResult<Option<ThreadPool>> {
    match count {
        None => Ok(None),
        Some(count) if !(1..=MOST_THREADS).contains(&count) => {
            Err(PyValueError::new_err(format!("threads: expected 1 to {MOST_THREADS}, found {count}")))
        }
        Some(count) => {
            let pool = ThreadPoolBuilder::new().num_threads(count as usize).build();
            Ok(Some(pool.map_err(|error| PyRuntimeError::new_err(format!("threads: {error}")))?))
        }
    }
}

/// `"f32"` or `"f64"`.
pub(crate) fn precision(name: &str) -> PyResult<Precision> {
    one_of("precision", name, &[("f32", Precision::F32), ("f64", Precision::F64)])
}
