//! URDF.

use std::path::Path;

use crate::import::file_error;
use crate::{ImportOptions, Loaded, ModelError, Resolver};

/// Reads URDF from a string.
///
/// # Errors
/// A [`ModelError`].
pub fn from_urdf_str(
    path: impl AsRef<Path>,
    _text: &str,
    _resolver: &Resolver,
    _options: &ImportOptions,
) -> Result<Loaded, ModelError> {
    Err(file_error(path.as_ref(), "URDF is not supported yet"))
}
