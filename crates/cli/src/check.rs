//! `manyworlds check`: what was understood of a model, and what was not.

use clap::Args;
use manyworlds_model::{EqualityKind, JointKind, Loaded, MaterialLaw, Model, Order, SoftBody};
use serde::Serialize;

use crate::args::{ModelArgs, OutputArgs};
use crate::failure::Failure;
use crate::output;

/// Options of `check`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  manyworlds check humanoid.xml
  manyworlds check arm.urdf --ground --json
  manyworlds check cassie.xml --ignore-unsupported     lists what is left out instead of refusing it")]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// What `check` prints.
#[derive(Serialize)]
struct Report {
    model: String,
    bodies: usize,
    joints: usize,
    n_q: usize,
    n_v: usize,
    geoms: usize,
    actuators: usize,
    tendons: usize,
    sensors: usize,
    equalities: usize,
    trees: usize,
    keyframes: usize,
    meshes: usize,
    heightfields: usize,
    mocaps: usize,
    /// Soft bodies.
    soft: usize,
    /// Whether nothing that changes the physics was left out.
    supported: bool,
    /// Of all bodies, soft ones too, kg.
    mass: f64,
    timestep: f64,
    gravity: [f64; 3],
    joint_kinds: JointKinds,
    assumptions: Vec<String>,
    ignored: Vec<Ignored>,
}

#[derive(Serialize)]
struct JointKinds {
    free: usize,
    ball: usize,
    hinge: usize,
    slide: usize,
}

#[derive(Serialize)]
struct Ignored {
    file: String,
    line: u32,
    element: String,
    why: String,
}

/// Reads the model and reports on it.
pub(crate) fn check(args: &CheckArgs) -> Result<(), Failure> {
    let loaded = manyworlds::load(&args.model.model, &args.model.import.options())?;
    output::print(args.output.json, &report(&loaded), |r| human(r, &loaded.model))
}

fn report(loaded: &Loaded) -> Report {
    let model = &loaded.model;
    let count = |kind| model.joints.iter().filter(|j| j.kind == kind).count();
    Report {
        model: model.name.clone(),
        // Without the ground, which every model has.
        bodies: model.bodies.len() - 1,
        joints: model.joints.len(),
        n_q: model.n_q,
        n_v: model.n_v,
        geoms: model.geoms.len(),
        actuators: model.actuators.len(),
        tendons: model.tendons.len(),
        sensors: model.sensors.len(),
        equalities: model.equalities.len(),
        trees: model.trees.len(),
        keyframes: model.keyframes.len(),
        meshes: model.meshes.len(),
        heightfields: model.heightfields.len(),
        mocaps: model.mocaps.len(),
        soft: model.soft.len(),
        supported: loaded.ignored.iter().all(|ignored| !ignored.unsupported),
        mass: model.bodies.iter().map(|b| b.inertial.mass).chain(model.soft.iter().map(SoftBody::mass)).sum(),
        timestep: model.options.timestep,
        gravity: model.options.gravity.into(),
        joint_kinds: JointKinds {
            free: count(JointKind::Free),
            ball: count(JointKind::Ball),
            hinge: count(JointKind::Hinge),
            slide: count(JointKind::Slide),
        },
        assumptions: loaded.assumptions.clone(),
        ignored: loaded
            .ignored
            .iter()
            .map(|i| Ignored {
                file: i.file.display().to_string(),
                line: i.line,
                element: i.element.clone(),
                why: i.why.clone(),
            })
            .collect(),
    }
}

fn human(report: &Report, model: &Model) -> String {
    let kinds = &report.joint_kinds;
    let couplings = model.equalities.iter().filter(|e| matches!(e.kind, EqualityKind::Coupling { .. })).count();
    let [x, y, z] = report.gravity;
    let summary = output::pairs([
        ("model", report.model.clone()),
        ("bodies", format!("{} in {} trees, {:.4} kg", report.bodies, report.trees, report.mass)),
        (
            "joints",
            format!(
                "{} ({} free, {} ball, {} hinge, {} slide); n_q {}, n_v {}",
                report.joints, kinds.free, kinds.ball, kinds.hinge, kinds.slide, report.n_q, report.n_v
            ),
        ),
        ("geoms", format!("{} ({} meshes, {} heightfields)", report.geoms, report.meshes, report.heightfields)),
        ("actuators", report.actuators.to_string()),
        ("tendons, sensors", format!("{}, {}", report.tendons, report.sensors)),
        ("equalities", format!("{} ({couplings} of joints)", report.equalities)),
        ("keyframes", report.keyframes.to_string()),
        ("step", format!("{} s, gravity ({x}, {y}, {z}) m/s²", report.timestep)),
    ]);
    let mut text = format!("{summary}\n");
    for soft in &model.soft {
        text += &format!("soft body {}\n", describe(soft));
    }
    for assumption in &report.assumptions {
        text += &format!("assumed: {assumption}\n");
    }
    if report.ignored.is_empty() {
        text += "nothing was ignored\n";
        return text;
    }
    let mut list = output::table(["line", "element", "ignored because"]);
    for i in &report.ignored {
        list.add_row([i.line.to_string(), i.element.clone(), i.why.clone()]);
    }
    text + &list.to_string()
}

/// A soft body in a line.
fn describe(soft: &SoftBody) -> String {
    let material = &soft.material;
    let elements = match soft.order {
        Order::Linear => "linear tetrahedra",
        Order::Quadratic => "quadratic tetrahedra",
        Order::Trilinear => "trilinear bricks of a cage",
        Order::Triquadratic => "triquadratic bricks of a cage",
    };
    let law = match material.law {
        MaterialLaw::Linear => "linear",
        MaterialLaw::Corotated => "corotated",
        MaterialLaw::SaintVenantKirchhoff => "Saint Venant-Kirchhoff",
        MaterialLaw::NeoHookean => "neo-Hookean",
    };
    format!(
        "\"{}\": {} nodes ({} pinned), {} {elements}, {law}, {} Pa, Poisson {}, {:.4} kg",
        soft.name,
        soft.nodes.len(),
        soft.pinned.len(),
        soft.n_element(),
        material.young,
        material.poisson,
        soft.mass()
    )
}
