//! The worlds of `view`, and how they look.

use manyworlds_render::Placed;
use manyworlds_view::{Drive, Start as First, Worlds, placed_at};

use crate::args::{ModelArgs, RunArgs};
use crate::curve;
use crate::failure::Failure;
use crate::state::Start;

/// Worlds of a model under the solver that was asked for.
pub(super) fn worlds(
    named: &ModelArgs,
    run: &RunArgs,
    state: Option<&std::path::PathBuf>,
    count: usize,
    controls: Option<f64>,
) -> Result<Worlds, Failure> {
    if count == 0 {
        return Err(Failure::Input("--worlds: expected at least 1, found 0".into()));
    }
    let model = named.load_to_draw()?.model;
    let start = Start::of_one(state, &named.model, run, &model)?;
    let curve = curve::of_scene(&named.model, state, run, &model, &start)?;
    let of_scene = || manyworlds::scenes::find(&named.model).map(|scene| scene.bench.control_amplitude);
    let amplitude = controls.or_else(|| of_scene().filter(|_| count > 1)).unwrap_or(0.0);
    let options = run.for_the_way(&named.model);
    let solvers = [options.solver.clone()];
    let first = First { state: start.0, mocap: start.1 };
    Ok(Worlds::new(model, options, count, &solvers, first, Drive { curve, amplitude })?)
}

/// The cameras of the file are about one world alone: this model in its initial position.
pub(super) fn initial(worlds: &Worlds) -> Placed {
    placed_at(worlds.model(), worlds.model().initial_q(), &[])
}
