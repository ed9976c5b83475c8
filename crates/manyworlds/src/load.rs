//! A model from what a user types: a path or the name of a scene.

use std::path::Path;

use manyworlds_model::{ImportOptions, Loaded};

use crate::{Error, scenes};

/// Reads a model file (`.xml`, `.mjcf`, `.urdf`) or takes a built-in scene by its name.
///
/// # Errors
/// [`Error::UnknownModel`] when `spec` is neither, [`Error::Model`] when the file is wrong.
pub fn load(spec: &str, options: &ImportOptions) -> Result<Loaded, Error> {
    if let Some(scene) = scenes::find(spec) {
        let path = Path::new(&scene.file);
        return Ok(manyworlds_model::from_mjcf_str(path, scene.mjcf(), &scenes::embedded, options)?);
    }
    let path = Path::new(spec);
    if path.extension().is_none() && !path.exists() {
        let known = scenes::list().iter().map(|scene| scene.name.as_str()).collect::<Vec<_>>().join(", ");
        return Err(Error::UnknownModel { found: spec.into(), known });
    }
    Ok(manyworlds_model::load(path, options)?)
}
