//! Contact problems of scenes of free bodies under random wrenches, as Lee 2024 compares solvers on (sections VII-A and B).

use manyworlds::contact::ContactProblem;
use manyworlds::contact::problem::{ConstraintInput, Law, ProblemInput, SideInput};
use manyworlds::{Batch, BatchOptions, Executor, ImportOptions, Inspection, Model, Precision, State, load};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Where wrenches are applied: states of a scene in contact, and how large they are.
struct Setting {
    /// Control while the scene comes to its states.
    ctrl: &'static [f64],
    /// Steps before the first state, and between states.
    steps: [usize; 2],
    states: usize,
    /// Largest force, N, and torque, N m, each way along each axis of each body.
    wrench: [f64; 2],
}

/// `count` problems of a scene, the same in every run.
///
/// # Panics
/// On a scene that this does not know, or that cannot be stepped.
#[must_use]
pub fn problems(scene: &str, count: usize) -> Vec<ContactProblem> {
    let setting = match scene {
        // A tenth of a turn between states.
        "bolt-nut" => Setting { ctrl: &[-std::f64::consts::TAU], steps: [48, 24], states: 10, wrench: [50.0, 1.0] },
        "dish-pile" => Setting { ctrl: &[], steps: [60, 1], states: 1, wrench: [5.0, 0.2] },
        other => panic!("no wrenches for {other}"),
    };
    let model = load(scene, &ImportOptions::default()).expect("a scene").model;
    let options = BatchOptions {
        executor: Executor::Cpu,
        precision: Precision::F64,
        tolerance: 1e-8,
        iterations: 1000,
        ..BatchOptions::default()
    };
    let mut batch = Batch::new(&[(&model, 1)], &options).expect("a batch");
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let mut state = State { ctrl: setting.ctrl.to_vec(), ..State::default() };
    let mut out = Vec::with_capacity(count);
    for number in 0..setting.states {
        batch.reset(&[(0, state.clone())]).expect("a reset");
        for _ in 0..setting.steps[usize::from(number > 0)] {
            batch.step::<f64>(&[]).expect("a step");
        }
        state = batch.state(0).expect("a state");
        for _ in 0..count / setting.states {
            let mut draw = |most: f64| most * rng.random_range(-1.0..1.0);
            let tau = (0..model.n_v).map(|i| draw(setting.wrench[i % 6 / 3])).collect();
            let pushed = State { tau, ctrl: vec![0.0; setting.ctrl.len()], ..state.clone() };
            batch.reset(&[(0, pushed)]).expect("a reset");
            batch.step::<f64>(&[]).expect("a step");
            out.push(problem(&model, &state, &batch.inspect(0).expect("an inspection")));
        }
    }
    out
}

/// The problem of one step of free bodies, from what the step's inspection shows: a body is a subsystem.
fn problem(model: &Model, before: &State, step: &Inspection) -> ContactProblem {
    let n = model.n_v;
    let bodies = n / 6;
    let block = |body: usize| {
        let at = |i: usize| &step.momentum[(6 * body + i) * n..][6 * body..6 * body + 6];
        (0..6).flat_map(at).copied().collect::<Vec<f64>>()
    };
    let row = |i: usize| (0..n).map(|j| step.momentum[i * n + j] * step.v_free[j]).sum::<f64>();
    let side = |body: usize, sign: f64, point: [f64; 3], frame: &[[f64; 3]; 3]| {
        let q = &before.q[7 * (body - 1)..7 * body];
        let rotation = manyworlds_model::Quat::from_quaternion(nalgebra::Quaternion::new(q[3], q[4], q[5], q[6]));
        let arm = manyworlds_model::Vec3::new(point[0] - q[0], point[1] - q[1], point[2] - q[2]);
        let jacobian = frame.iter().flat_map(|axis| {
            let axis = manyworlds_model::Vec3::from(*axis);
            // axis . (v + (R w) x arm) = axis . v + R^T (arm x axis) . w
            let angular = rotation.inverse_transform_vector(&arm.cross(&axis));
            [axis.x, axis.y, axis.z, angular.x, angular.y, angular.z].map(|x| sign * x)
        });
        SideInput { subsystem: body - 1, jacobian: jacobian.collect(), ..Default::default() }
    };
    let constraints = step.contacts.iter().map(|contact| {
        let sides = [(contact.bodies[0], -1.0), (contact.bodies[1], 1.0)].into_iter().filter(|side| side.0 > 0);
        ConstraintInput {
            law: Law::Contact { mu: contact.friction },
            e: [0.0, 0.0, contact.distance / model.options.timestep],
            sides: sides.map(|(body, sign)| side(body, sign, contact.point, &contact.frame)).collect(),
            compliance: None,
        }
    });
    ContactProblem::new(ProblemInput {
        subsystems: (0..bodies).map(|body| [6 * body, 6]).collect(),
        a: (0..bodies).map(block).collect(),
        b: (0..n).map(row).collect(),
        constraints: constraints.collect(),
        ..ProblemInput::default()
    })
    .expect("a problem")
}
