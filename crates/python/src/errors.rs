//! Errors of the simulator as Python's exceptions, with their own messages.

use manyworlds::Error;
use manyworlds::model::ModelError;
use pyo3::PyErr;
use pyo3::exceptions::{PyFileNotFoundError, PyIndexError, PyMemoryError, PyOSError, PyRuntimeError, PyValueError};

use crate::owned::Broken;

/// The exception that a Python programmer expects of an error.
pub(crate) fn raised(error: Error) -> PyErr {
    let message = error.to_string();
    match error {
        Error::UnknownModel { .. } => PyFileNotFoundError::new_err(message),
        Error::File { ref reason, .. } if reason.kind() == std::io::ErrorKind::NotFound => {
            PyFileNotFoundError::new_err(message)
        }
        Error::Model(ModelError::Io { ref source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            PyFileNotFoundError::new_err(message)
        }
        Error::Model(ModelError::Io { .. }) | Error::File { .. } => PyOSError::new_err(message),
        Error::Index { .. } => PyIndexError::new_err(message),
        Error::Memory { .. } => PyMemoryError::new_err(message),
        Error::Gpu(_) | Error::NoGradient | Error::NoProblem { .. } => PyRuntimeError::new_err(message),
        _ => PyValueError::new_err(message),
    }
}

/// Why something with a batch failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// With an error of the simulator.
    Said(Error),
    /// An earlier call ended in a panic.
    Broken,
}

impl From<Broken> for Failure {
    fn from(Broken: Broken) -> Self {
        Self::Broken
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Said(error) => raised(error),
            Failure::Broken => PyRuntimeError::new_err("this batch broke in an earlier call; make a new one"),
        }
    }
}
