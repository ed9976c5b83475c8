//! numpy arrays in and out. What comes in as a C-contiguous array of the right type is read where it lies; all else is
//! converted, which copies. What goes out is written once, into a new array or one of the caller's.

use manyworlds::Number;
use numpy::{Element, PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::errors::Failure;

/// A number type of batches that numpy has as well.
pub(crate) trait Real: Number + Element + Default {
    /// Rounded to this type.
    fn of(x: f64) -> Self;
}

impl Real for f32 {
    fn of(x: f64) -> Self {
        x as Self
    }
}

impl Real for f64 {
    fn of(x: f64) -> Self {
        x
    }
}

/// Runs code that is generic over the number type of a batch.
macro_rules! with_real {
    ($precision:expr, $T:ident => $body:expr) => {
        match $precision {
            manyworlds::Precision::F32 => {
                type $T = f32;
                $body
            }
            manyworlds::Precision::F64 => {
                type $T = f64;
                $body
            }
        }
    };
}
pub(crate) use with_real;

/// What a caller gave as an array of this shape: numpy, anything with DLPack, or nested lists.
pub(crate) fn given<'py, T: Element>(
    value: &Bound<'py, PyAny>,
    shape: &[usize],
    name: &str,
) -> PyResult<PyReadonlyArrayDyn<'py, T>> {
    let py = value.py();
    if let Ok(array) = value.cast::<PyArrayDyn<T>>()
        && array.shape() == shape
        && array.is_c_contiguous()
        && let Ok(array) = array.try_readonly()
        && array.as_slice().is_ok()
    {
        return Ok(array);
    }
    static CONVERT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let convert = CONVERT.import(py, "manyworlds._arrays", "as_array")?;
    let array = convert.call1((value, shape, T::get_dtype(py), name))?;
    let array = array.cast::<PyArrayDyn<T>>().map_err(|error| PyTypeError::new_err(format!("{name}: {error}")))?;
    array.try_readonly().map_err(|error| PyValueError::new_err(format!("{name}: {error}")))
}

/// The same, or an empty list where nothing was given.
pub(crate) fn given_or_empty<T: Element + Copy>(
    value: Option<&Bound<'_, PyAny>>,
    shape: &[usize],
    name: &str,
) -> PyResult<Vec<T>> {
    let Some(value) = value else { return Ok(Vec::new()) };
    let array = given::<T>(value, shape, name)?;
    Ok(slice(&array, name)?.to_vec())
}

/// The numbers of an array that [`given`] gave.
pub(crate) fn slice<'a, T: Element>(array: &'a PyReadonlyArrayDyn<'_, T>, name: &str) -> PyResult<&'a [T]> {
    array.as_slice().map_err(|error| PyValueError::new_err(format!("{name}: {error}")))
}

/// A new array, filled without the GIL.
pub(crate) fn filled<'py, T: Element + Send>(
    py: Python<'py>,
    shape: &[usize],
    fill: impl FnOnce(&mut [T]) -> Result<(), Failure> + Send,
) -> PyResult<Bound<'py, PyAny>> {
    let array = PyArrayDyn::<T>::zeros(py, shape, false);
    fill_array(&array, fill)?;
    Ok(array.into_any())
}

/// Fills an array, without the GIL.
pub(crate) fn fill_array<T: Element + Send>(
    array: &Bound<'_, PyArrayDyn<T>>,
    fill: impl FnOnce(&mut [T]) -> Result<(), Failure> + Send,
) -> PyResult<()> {
    let mut open = array.try_readwrite().map_err(|error| PyValueError::new_err(format!("out: {error}")))?;
    let numbers = open.as_slice_mut().map_err(|error| PyValueError::new_err(format!("out: {error}")))?;
    array.py().detach(|| fill(numbers)).map_err(PyErr::from)
}

/// A new array of numbers in the batch's precision.
pub(crate) fn reals<'py, T: Real>(py: Python<'py>, shape: &[usize], numbers: &[f64]) -> PyResult<Bound<'py, PyAny>> {
    let array = PyArrayDyn::<T>::zeros(py, shape, false);
    let mut open = array.readwrite();
    let to = open.as_slice_mut().map_err(|error| PyValueError::new_err(error.to_string()))?;
    if to.len() != numbers.len() {
        return Err(PyValueError::new_err(format!("{} numbers for an array of shape {shape:?}", numbers.len())));
    }
    to.iter_mut().zip(numbers).for_each(|(to, &x)| *to = T::of(x));
    drop(open);
    Ok(array.into_any())
}
