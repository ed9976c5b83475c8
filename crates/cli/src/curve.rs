//! The controls over time that a built-in scene is driven by.

use std::path::{Path, PathBuf};

use manyworlds::{ControlCurve, Model};

use crate::args::RunArgs;
use crate::failure::Failure;
use crate::state::{Start, State};

/// Those of a scene; `None` for a model that is none, a scene that has none, and where a state's file or a keyframe gives
/// controls.
pub(crate) fn of_scene(
    spec: &str,
    state: Option<&PathBuf>,
    run: &RunArgs,
    model: &Model,
    start: &Start,
) -> Result<Option<ControlCurve>, Failure> {
    let given = run.keyframe.is_some() || State::read(state, model)?.ctrl.is_some();
    let Some(scene) = manyworlds::scenes::find(spec).filter(|_| !given) else { return Ok(None) };
    let (Some(text), Some(file)) = (scene.controls(), &scene.controls) else { return Ok(None) };
    read_from(text, Path::new(file), model, start).map(Some)
}

/// Those of a file; actuators that it leaves out keep the controls of the start.
pub(crate) fn read_from(text: &str, path: &Path, model: &Model, start: &Start) -> Result<ControlCurve, Failure> {
    ControlCurve::from_csv(text, model, &start.0.ctrl).map_err(|error| Failure::file(path, error))
}
