//! `manyworlds scenes`: the models that come with the program.

use clap::Args;
use manyworlds::ImportOptions;
use serde::Serialize;

use crate::args::OutputArgs;
use crate::failure::Failure;
use crate::output;

/// Options of `scenes`.
#[derive(Args)]
pub(crate) struct ScenesArgs {
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Serialize)]
struct Report {
    scenes: Vec<Scene>,
}

#[derive(Serialize)]
struct Scene {
    name: &'static str,
    description: &'static str,
    shows: &'static str,
    bodies: usize,
    n_q: usize,
    n_v: usize,
    actuators: usize,
    timestep: f64,
}

/// Lists the scenes with their sizes.
pub(crate) fn scenes(args: &ScenesArgs) -> Result<(), Failure> {
    let scenes = manyworlds::scenes::list().iter().map(|scene| {
        let model = manyworlds::load(&scene.name, &ImportOptions::default())?.model;
        Ok(Scene {
            name: &scene.name,
            description: &scene.description,
            shows: &scene.shows,
            bodies: model.bodies.len() - 1,
            n_q: model.n_q,
            n_v: model.n_v,
            actuators: model.actuators.len(),
            timestep: model.options.timestep,
        })
    });
    let report = Report { scenes: scenes.collect::<Result<_, Failure>>()? };
    output::print(args.output.json, &report, |report| {
        let mut table = output::table(["scene", "bodies", "n_v", "actuators", "step, s", "what it is"]);
        for s in &report.scenes {
            table.add_row([
                s.name.to_owned(),
                s.bodies.to_string(),
                s.n_v.to_string(),
                s.actuators.to_string(),
                s.timestep.to_string(),
                s.description.to_owned(),
            ]);
        }
        table.to_string()
    })
}
