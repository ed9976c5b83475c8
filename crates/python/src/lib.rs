//! The compiled part of the Python package `manyworlds`: models, batches, gradients and single contact problems.
//!
//! What Python sees is in `python/manyworlds`; its documentation is in the doc comments here and, for types, in `_core.pyi`.

mod arrays;
mod batch;
mod environments;
mod errors;
mod gradients;
mod inspection;
mod model;
mod options;
mod owned;
mod parameters;
mod pictures;
mod record;
mod solve;

/// Compiled part of `manyworlds`.
#[pyo3::pymodule]
mod _core {
    #[pymodule_export]
    use crate::batch::Batch;
    #[pymodule_export]
    use crate::environments::Environments;
    #[pymodule_export]
    use crate::gradients::KeptStep;
    #[pymodule_export]
    use crate::model::{Model, load, scenes};
    #[pymodule_export]
    use crate::pictures::encode;
    #[pymodule_export]
    use crate::solve::solve;
}
