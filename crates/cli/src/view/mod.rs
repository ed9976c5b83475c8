//! `manyworlds view`: worlds in a window, or a film of them where there is none.

use std::path::{Path, PathBuf};

use clap::Args;
use manyworlds_render::{Camera, Format, Renderer, Scene, Size, Viewpoint};
use manyworlds_view::{Marks, Moment, Scale, Worlds};
use serde::Serialize;

use crate::args::{ModelArgs, OutputArgs, RunArgs};
use crate::failure::Failure;
use crate::output;
use crate::picture::{self, MarkArgs};

#[cfg(feature = "window")]
mod overlay;
#[cfg(feature = "rerun")]
mod recording;
mod simulation;
#[cfg(feature = "window")]
mod window;

use simulation::{initial, worlds};

/// Options of `view`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  manyworlds view humanoid
  manyworlds view half-cheetah --worlds 9
  manyworlds view my_robot.xml --seconds 10 --out walk.gif
  manyworlds view humanoid --worlds 64 --seconds 1 --out many.png
  manyworlds view quadruped-drop --contacts=residual --joint-axes
  manyworlds view humanoid --worlds 4 --rerun humanoid.rrd
Where the program was built with a window (cargo run --release --features window -- view humanoid) and there is a display, a
window opens. Else, and with --out, a film is written: an .mp4 where the program ffmpeg is there, a .gif elsewhere.

In the window: drag a body to push it by a spring, drag beside it to turn the camera, with the right button to move it; the
wheel goes nearer and away. Space pauses, the right arrow takes one step, + and - change the speed, C shows contacts by penetration, then
by residual, then not; M shows centres of mass, J axes of joints; S goes on under the next solver, R starts again, Escape ends.
The upper left corner has the certificate of the last step (contacts, largest residual, deepest penetration, how many worlds
were relaxed or failed) and the times of the longest stages of a step; I hides it and shows it again.")]
pub(crate) struct ViewArgs {
    #[command(flatten)]
    model: ModelArgs,
    /// Writes a film here, or a picture of its end, rather than open a window
    #[arg(long, value_name = "FILE.png|gif|mp4|webp")]
    out: Option<PathBuf>,
    /// Writes a recording for the viewer Rerun (rerun.io) instead, each step of it; needs a build with --features rerun
    #[arg(long, value_name = "FILE.rrd", conflicts_with = "out")]
    rerun: Option<PathBuf>,
    /// Length of the film, or of the recording, s
    #[arg(long, value_name = "S", default_value_t = 5.0, allow_negative_numbers = true)]
    seconds: f64,
    /// Worlds, side by side
    #[arg(long, value_name = "N", default_value_t = 1)]
    worlds: usize,
    /// Largest random control beside the start's; several worlds of a built-in scene have its own default, others none
    #[arg(long, value_name = "X")]
    controls: Option<f64>,
    /// State to start from (JSON, as in `sim`)
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// A camera of the file, by name or number; one that shows everything that moves when absent
    #[arg(long, value_name = "NAME")]
    camera: Option<String>,
    #[command(flatten)]
    marks: MarkArgs,
    /// The window waits at the start
    #[arg(long)]
    paused: bool,
    /// The window starts without text on its picture
    #[arg(long)]
    plain: bool,
    /// Width and height, pixels
    #[arg(long, value_name = "WxH", default_value = "640x480")]
    size: Size,
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// What `view` prints of a film.
#[derive(Serialize)]
struct Report {
    model: String,
    file: String,
    worlds: usize,
    pictures: usize,
    time: f64,
    adapter: String,
    #[serde(flatten)]
    arrows: Option<Scale>,
    /// How to look at it.
    look: String,
}

/// Opens a window, or writes a film.
pub(crate) fn view(args: &ViewArgs) -> Result<(), Failure> {
    args.run.set_threads()?;
    if !(args.seconds >= 0.0 && args.seconds.is_finite()) {
        return Err(Failure::Input(format!("--seconds {}: expected a finite time, 0 or more", args.seconds)));
    }
    let film = args.out.as_ref().map(|path| (path.clone(), Format::of(path)));
    let simulation = worlds(&args.model, &args.run, args.state.as_ref(), args.worlds, args.controls)?;
    if let Some(path) = &args.rerun {
        return record_for_rerun(args, simulation, path);
    }
    let viewpoint = args
        .camera
        .as_ref()
        .map(|name| Viewpoint::find(simulation.model(), name, &initial(&simulation)))
        .transpose()?;
    match film {
        Some((path, format)) => record(args, simulation, viewpoint, &path, format?, String::new()),
        None => open(args, simulation, viewpoint),
    }
}

/// A window, or a film beside it and the reason why there is none.
#[cfg(feature = "window")]
fn open(args: &ViewArgs, simulation: Worlds, viewpoint: Option<Viewpoint>) -> Result<(), Failure> {
    match window::events() {
        Ok(events) => window::run(events, args, simulation, viewpoint),
        Err(reason) => record_here(args, simulation, viewpoint, format!("No window: {reason}.")),
    }
}

/// A film, and how to have a window.
#[cfg(not(feature = "window"))]
fn open(args: &ViewArgs, simulation: Worlds, viewpoint: Option<Viewpoint>) -> Result<(), Failure> {
    let why = "For a window, build with one: cargo run --release --features window -- view".to_owned();
    record_here(args, simulation, viewpoint, format!("{why} {}", args.model.model))
}

/// What `view --rerun` prints.
#[cfg(feature = "rerun")]
#[derive(Serialize)]
struct Recorded {
    model: String,
    file: String,
    worlds: usize,
    steps: u64,
    time: f64,
    /// How to look at it.
    look: String,
}

/// A recording for Rerun.
#[cfg(feature = "rerun")]
fn record_for_rerun(args: &ViewArgs, mut simulation: Worlds, path: &Path) -> Result<(), Failure> {
    let steps = recording::record(&mut simulation, path, args.seconds)?;
    let file = path.display().to_string();
    let report = Recorded {
        model: simulation.model().name.clone(),
        worlds: args.worlds,
        steps,
        time: simulation.time(),
        look: format!("Look at it with Rerun's viewer (pip install rerun-sdk): rerun {file}"),
        file,
    };
    output::print(args.output.json, &report, |report: &Recorded| {
        format!("{}: {} steps, {:.2} s. {}", report.file, report.steps, report.time, report.look)
    })
}

/// How to have one.
#[cfg(not(feature = "rerun"))]
fn record_for_rerun(args: &ViewArgs, _: Worlds, path: &Path) -> Result<(), Failure> {
    let how = format!("cargo run --release --features rerun -- view {} --rerun {}", args.model.model, path.display());
    Err(Failure::Input(format!("--rerun: this program was built without it; build it with: {how}")))
}

/// A film in the current directory, of the model's name.
fn record_here(args: &ViewArgs, simulation: Worlds, viewpoint: Option<Viewpoint>, why: String) -> Result<(), Failure> {
    let format = Format::of_films();
    let stem = Path::new(&args.model.model).file_stem().unwrap_or_default();
    let path = Path::new(stem).with_extension(format.extension());
    record(args, simulation, viewpoint, &path, format, why)
}

/// Writes a film.
fn record(
    args: &ViewArgs,
    mut simulation: Worlds,
    viewpoint: Option<Viewpoint>,
    path: &Path,
    format: Format,
    why: String,
) -> Result<(), Failure> {
    let mut renderer = Renderer::open(Scene::new(simulation.model()), args.size)?;
    // A picture shows the end, a film the way there.
    let times: Vec<f64> = if format.is_film() {
        let n = (args.seconds / format.interval()) as usize + 1;
        picture::fits("--seconds", &args.seconds.to_string(), n as u64, args.size)?;
        (0..n).map(|number| number as f64 * format.interval()).collect()
    } else {
        vec![args.seconds]
    };
    let n = times.len();
    let mut film: Vec<Vec<Moment>> = Vec::new();
    let bar = output::progress(n as u64, "stepping");
    for time in times {
        while simulation.time() < time - 1e-9 {
            simulation.step()?;
        }
        film.push(simulation.moments(args.marks.contacts.is_some())?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    let all: Vec<_> = film.iter().flatten().map(|moment| &moment.placed).collect();
    let framed = renderer.frame(&all, viewpoint.is_none());
    let marks = args.marks.marks();
    let arrows =
        marks.contacts.map(|colour| Scale::of(colour, simulation.tolerance(), film.iter().flatten(), framed.radius));
    let bar = output::progress(n as u64, "drawing");
    let mut pictures = Vec::with_capacity(n);
    for moments in &film {
        let camera = seen(viewpoint.as_ref(), moments, &framed);
        let drawn = drawn(&simulation, moments, marks, arrows.as_ref(), framed.radius);
        pictures.push(renderer.draw(&drawn.0, &drawn.1, &camera)?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    format.write(path, &pictures)?;
    let file = path.display().to_string();
    let what = if format.is_film() { "a film player" } else { "a viewer of pictures" };
    let look = format!("Look at {file} with {what} or a browser: xdg-open {file}. {why}");
    let report = Report {
        model: simulation.model().name.clone(),
        worlds: args.worlds,
        pictures: pictures.len(),
        time: simulation.time(),
        adapter: renderer.adapter().to_owned(),
        arrows,
        look: look.trim().to_owned(),
        file,
    };
    output::print(args.output.json, &report, human)
}

/// From where worlds are seen: a camera of the file goes with the first.
fn seen(viewpoint: Option<&Viewpoint>, moments: &[Moment], framed: &Camera) -> Camera {
    viewpoint.map_or(*framed, |viewpoint| viewpoint.camera(&moments[0].placed, framed))
}

/// What is drawn of worlds, in pictures of so far a reach, m.
fn drawn(
    simulation: &Worlds,
    moments: &[Moment],
    marks: Marks,
    scale: Option<&Scale>,
    reach: f64,
) -> (Vec<manyworlds_render::Placed>, Vec<manyworlds_render::Arrow>) {
    let arrows = moments.iter().flat_map(|moment| marks.arrows(simulation.model(), moment, scale, reach)).collect();
    (moments.iter().map(|moment| moment.placed.clone()).collect(), arrows)
}

fn human(report: &Report) -> String {
    let mut table = output::pairs([
        ("model", report.model.clone()),
        ("worlds", report.worlds.to_string()),
        ("pictures", format!("{} of {:.2} s", report.pictures, report.time)),
        ("drawn by", report.adapter.clone()),
        ("file", report.file.clone()),
    ]);
    if let Some(arrows) = &report.arrows {
        table.add_row(["arrows".to_owned(), arrows.text()]);
    }
    format!("{table}\n{}", report.look)
}
