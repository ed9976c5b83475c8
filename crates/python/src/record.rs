//! Results with several parts: `manyworlds.Record`, a `dict` whose keys are attributes as well.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyType};

/// A record of the parts in a dict.
pub(crate) fn record<'py>(parts: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyAny>> {
    static RECORD: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    RECORD.import(parts.py(), "manyworlds._record", "Record")?.call1((parts,))
}
