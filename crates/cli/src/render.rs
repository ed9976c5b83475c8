//! `manyworlds render`: a picture of a world, or a film.

use std::path::PathBuf;

use clap::Args;
use manyworlds::{Batch, Model};
use manyworlds_render::{Format, Picture, Placed, RenderError, Renderer, Scene, Size, Viewpoint};
use manyworlds_view::{Moment, Scale, placed_at};
use serde::Serialize;

use crate::args::{ModelArgs, OutputArgs, RunArgs};
use crate::curve;
use crate::failure::Failure;
use crate::output;
use crate::picture::{self, MarkArgs, moment};
use crate::state::Start;

/// Options of `render`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  manyworlds render humanoid --out humanoid.png
  manyworlds render clutter --steps 300 --out clutter.gif --size 480x360
  manyworlds render my_robot.xml --state pose.json --out pose.png
  manyworlds render my_robot.xml --camera front --steps 100 --contacts --out touch.png
  manyworlds render heavy-stack --solver pgs --steps 60 --contacts=residual --out unsolved.png
  manyworlds render humanoid --centres-of-mass --joint-axes --out inside.png
A .png shows the state after the steps, a .gif, .mp4 or .webp the way there in real time, 25 pictures a second; .mp4 and .webp
need the program ffmpeg. The camera shows everything that moves, unless --camera names one of the file. With --contacts every contact
of the last step has a ball and an arrow along its impulse, blue where surfaces just touch and red where they are deepest in
each other; with --contacts=residual blue where the contact is solved to the solver's tolerance and red where it is worst solved,
by powers of ten; the command prints the scales. Arrows, centres of mass and axes show through what lies before them. No display is needed; a Vulkan, Metal or DX12 adapter is, and one
by software will do. Textures, materials and lights are those of the file; without lights a sun shines. Built-in scenes with controls of their own follow those, as in `sim`.")]
pub(crate) struct RenderArgs {
    #[command(flatten)]
    model: ModelArgs,
    /// Where the picture or film goes
    #[arg(long, value_name = "FILE.png|gif|mp4|webp")]
    out: PathBuf,
    /// State to start from (JSON, as in `sim`)
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// Steps to take
    #[arg(long, value_name = "N", default_value_t = 0)]
    steps: u64,
    /// A camera of the file, by name or number; one that shows everything that moves when absent
    #[arg(long, value_name = "NAME")]
    camera: Option<String>,
    #[command(flatten)]
    marks: MarkArgs,
    /// Width and height, pixels
    #[arg(long, value_name = "WxH", default_value = "640x480")]
    size: Size,
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// What `render` prints.
#[derive(Serialize)]
struct Report {
    model: String,
    file: String,
    width: u32,
    height: u32,
    pictures: usize,
    steps: u64,
    time: f64,
    adapter: String,
    #[serde(flatten)]
    arrows: Option<Scale>,
}

/// Steps one world, draws it, and writes the file.
pub(crate) fn render(args: &RenderArgs) -> Result<(), Failure> {
    args.run.set_threads()?;
    let format = Format::of(&args.out)?;
    let model = args.model.load_to_draw()?.model;
    let start = Start::of_one(args.state.as_ref(), &args.model.model, &args.run, &model)?;
    let curve = curve::of_scene(&args.model.model, args.state.as_ref(), &args.run, &model, &start)?;
    let settings = args.run.for_the_way(&args.model.model);
    let h = settings.dt.unwrap_or(model.options.timestep);
    let initial = || placed_at(&model, model.initial_q(), &[]);
    let viewpoint = args.camera.as_ref().map(|name| Viewpoint::find(&model, name, &initial())).transpose()?;
    // Before the steps, which may take long: there may be no adapter.
    let mut renderer = Renderer::open(Scene::new(&model), args.size)?;
    let mut batch = Batch::new(&[(&model, 1)], &settings)?;
    start.apply(&mut batch)?;
    let shown = Shown { film: format.is_film(), steps: args.steps, h, interval: format.interval() };
    picture::fits("--steps", &args.steps.to_string(), shown.count(), args.size)?;
    let mut moments = Vec::new();
    let bar = output::progress(args.steps, "stepping");
    for i in 0..=args.steps {
        if shown.shows(i) {
            moments.push(moment(&mut batch, &model, args.marks.contacts.is_some() && i > 0)?);
        }
        if i == args.steps {
            break;
        }
        match &curve {
            Some(curve) => batch.step(&curve.at(i as f64 * h))?,
            None => batch.step::<f64>(&[])?,
        }
        bar.inc(1);
    }
    bar.finish_and_clear();

    let drawn = Drawn { model: &model, viewpoint: viewpoint.as_ref(), tolerance: settings.tolerance };
    let (pictures, arrows) = draw(&mut renderer, &moments, &drawn, args)?;
    format.write(&args.out, &pictures)?;

    let report = Report {
        model: model.name.clone(),
        file: args.out.display().to_string(),
        width: args.size.width,
        height: args.size.height,
        pictures: pictures.len(),
        steps: args.steps,
        time: args.steps as f64 * h,
        adapter: renderer.adapter().to_owned(),
        arrows,
    };
    output::print(args.output.json, &report, human)
}

/// Which states of a run are shown.
struct Shown {
    film: bool,
    steps: u64,
    /// Time step, s.
    h: f64,
    /// Time between pictures, s.
    interval: f64,
}

impl Shown {
    /// Number of the picture of a film that is due by a step.
    fn due(&self, step: u64) -> u64 {
        (step as f64 * self.h / self.interval + 1e-9) as u64
    }

    /// Whether the state after that many steps is shown: of a film the first that is due, of a picture the last.
    fn shows(&self, step: u64) -> bool {
        if self.film { step == 0 || self.due(step) > self.due(step - 1) } else { step == self.steps }
    }

    /// How many are shown, at most.
    fn count(&self) -> u64 {
        if self.film { self.due(self.steps).min(self.steps) + 1 } else { 1 }
    }
}

/// What is drawn, and from where.
struct Drawn<'a> {
    model: &'a Model,
    viewpoint: Option<&'a Viewpoint>,
    /// Of the solver, N s.
    tolerance: f64,
}

/// The pictures of all these moments, and what their arrows stand for.
fn draw(
    renderer: &mut Renderer,
    moments: &[Moment],
    drawn: &Drawn,
    args: &RenderArgs,
) -> Result<(Vec<Picture>, Option<Scale>), Failure> {
    let film: Vec<&Placed> = moments.iter().map(|moment| &moment.placed).collect();
    let framed = renderer.frame(&film, drawn.viewpoint.is_none());
    let marks = args.marks.marks();
    let scale = marks.contacts.map(|colour| Scale::of(colour, drawn.tolerance, moments.iter(), framed.radius));
    let bar = output::progress(moments.len() as u64, "drawing");
    let draw = |moment: &Moment| {
        let camera = drawn.viewpoint.map_or(framed, |viewpoint| viewpoint.camera(&moment.placed, &framed));
        let arrows = marks.arrows(drawn.model, moment, scale.as_ref(), framed.radius);
        renderer.draw(std::slice::from_ref(&moment.placed), &arrows, &camera).inspect(|_| bar.inc(1))
    };
    let pictures = moments.iter().map(draw).collect::<Result<Vec<_>, _>>()?;
    bar.finish_and_clear();
    Ok((pictures, scale))
}

impl From<RenderError> for Failure {
    fn from(error: RenderError) -> Self {
        Self::Input(error.to_string())
    }
}

fn human(report: &Report) -> String {
    let mut table = output::pairs([
        ("model", report.model.clone()),
        ("time", format!("{:.4} s after {} steps", report.time, report.steps)),
        ("pictures", format!("{} of {} x {}", report.pictures, report.width, report.height)),
        ("drawn by", report.adapter.clone()),
        ("file", report.file.clone()),
    ]);
    if let Some(arrows) = &report.arrows {
        table.add_row(["arrows".to_owned(), arrows.text()]);
    }
    table.to_string()
}
