//! Derivatives of steps in which bodies that move carry soft ones.

use manyworlds::gradcheck::Checker;
use manyworlds::{Batch, BatchOptions, Mode, ModelParameter, Outputs, Parameter, State, tangent};
use manyworlds_model::{
    Contacting, Geom, Inertial, Joint, JointKind, Mat3, Model, ModelBuilder, Pose, Shape, SoftBody, Vec3,
};
use manyworlds_tests::batches::{batch, run, state, stepped, tight};
use manyworlds_tests::soft::{DENSITY, YOUNG, block, ground, link, pressed, pressing};

use super::carried::{chain, gripper, pad, wave};

/// Compares the Jacobian at a state with central differences.
fn compare(name: &str, model: &Model, from: &State, modes: &[Mode]) {
    let mut checker = Checker::sampled(model, &tight(), 1e-5, 120).expect("a checker");
    let found = checker.compare(from).expect("a comparison");
    let certificate = &found.jacobian.certificate;
    assert!(certificate.problems.is_empty() && certificate.problems_by_q.is_empty(), "{name}: {certificate:?}");
    assert!(modes.iter().all(|mode| found.jacobian.modes.contains(mode)), "{name}: {:?}", found.jacobian.modes);
    assert!(found.error() < 1e-6, "{name}: {:?}", found.blocks);
    // What is allowed for the solver's residual must not hide it.
    let hidden = found.hidden.iter().fold(0.0, |most: f64, hidden| most.max(*hidden));
    assert!(hidden < 1e-5, "{name}: {hidden}");
    let along = checker.compare_directions(from, 1e-11).expect("a comparison");
    assert!(along.back < 1e-11 && along.ahead < 1e-6, "{name}: {} {}", along.back, along.ahead);
}

/// A body with a joint that carries a soft block.
fn carrying(joint: JointKind) -> Model {
    let mut builder = ModelBuilder::new("carrying");
    builder.options.timestep = 2e-3;
    let hub = link(&mut builder, "hub", 0, 0.3, JointKind::Hinge, Vec3::new(0.2, 0.4, 1.0));
    let parent = if joint == JointKind::Free { 0 } else { hub };
    let body = link(&mut builder, "own", parent, 0.2, joint, Vec3::z());
    builder.soft_body(pad(body, Vec3::new(0.1, 0.02, 0.05), 0.1));
    builder.build().expect("a model")
}

/// Fast motion without contact: Coriolis' and centrifugal forces, nodes' and the trees', of all joints.
#[test]
fn derivatives_of_what_is_carried_are_those_of_differences() {
    let joints = [JointKind::Ball, JointKind::Free, JointKind::Slide];
    let models = joints.map(|joint| (format!("{joint:?}"), carrying(joint)));
    for (name, model) in models.into_iter().chain([("chain".into(), chain())]) {
        let n_rigid = model.trees.iter().filter(|tree| tree.soft.is_none()).map(|tree| tree.v.len()).sum();
        let mut v = wave(model.n_v, 0.3, 1.1);
        v[..n_rigid].copy_from_slice(&wave(n_rigid, 4.0, 0.4));
        let mut q = model.initial_q();
        for tree in model.trees.iter().filter(|tree| tree.soft.is_some()) {
            let own = wave(tree.q.len(), 0.01, 0.3);
            q[tree.q.clone()].copy_from_slice(&own);
        }
        let mut made = batch(&model, 1, &tight());
        made.reset(&[(0, State { q, v, ..State::default() })]).expect("a state");
        run(&mut made, 20);
        compare(&name, &model, &state(&mut made, 0), &[]);
    }
}

/// A block, for the pad of an arm.
pub(super) fn hand_pad() -> SoftBody {
    block([2, 2, 2], [0.08; 3], Vec3::new(0.06, 0.0, -0.1))
}

/// A pad of an arm on the ground: it sticks, and it slides.
#[test]
fn derivatives_of_a_pad_on_the_ground_are_those_of_differences() {
    for (friction, mode) in [(2.0, Mode::Sticking), (0.1, Mode::Sliding)] {
        let model = pressing(hand_pad(), friction);
        let from = pressed(&model, &tight(), mode, 2);
        let from = from.unwrap_or_else(|| panic!("{mode:?}: the pad does not touch the ground"));
        compare(&format!("{mode:?}"), &model, &from, &[mode]);
    }
}

/// A block on a shelf that stands askew, along whose axes its nodes are displaced.
#[test]
fn derivatives_of_what_stands_askew_are_those_of_differences() {
    let mut builder = ModelBuilder::new("askew");
    builder.options.timestep = 2e-3;
    builder.geom(ground(0.3, 0.0));
    let turn = Pose::rotation(Vec3::new(0.3, 0.5, 0.8)).rotation;
    let own = block([2, 2, 2], [0.1; 3], Vec3::zeros());
    let low = own.nodes.iter().fold(0.0, |low: f64, node| low.min((turn * node).z));
    let pose = Pose::from_parts(Vec3::new(0.0, 0.0, 1e-3 - low).into(), turn);
    let shelf = builder.body("shelf", 0, pose, Inertial { mass: 0.0, com: Vec3::zeros(), inertia: Mat3::zeros() });
    let mut own = own;
    own.body = shelf;
    // All that turns out to be in the upper half.
    own.pinned = (0..27).filter(|&n| (pose.rotation * own.nodes[n as usize]).z > 0.02).collect();
    builder.soft_body(own);
    let model = builder.build().expect("a model");
    let mut made = batch(&model, 1, &tight());
    // Down, and a little of everything.
    let down = turn.inverse() * Vec3::z() * -0.4;
    let v = wave(model.n_v, 0.05, 0.7).iter().enumerate().map(|(i, v)| v + down[i % 3]).collect();
    made.reset(&[(0, State { q: vec![0.0; model.n_q], v, ..State::default() })]).expect("a state");
    run(&mut made, 6);
    let from = state(&mut made, 0);
    made.step::<f64>(&[]).expect("a step");
    assert!(made.inspect(0).expect("a world").contacts.iter().any(|contact| contact.impulse[2] > 0.0), "no contact");
    compare("askew", &model, &from, &[]);
}

/// Derivatives of a rigid body and of nodes by what a carried block is made of.
#[test]
fn derivatives_by_the_material_of_what_is_carried_are_those_of_differences() {
    let model = chain();
    let mut made = batch(&model, 1, &tight());
    let mut v = wave(model.n_v, 0.3, 1.1);
    v[..3].copy_from_slice(&[4.0, -3.0, 0.7]);
    made.reset(&[(0, State { q: wave(model.n_q, 0.01, 0.3), v, ..State::default() })]).expect("a state");
    run(&mut made, 10);
    let from = state(&mut made, 0);
    let tree = model.trees.iter().position(|tree| tree.soft == Some(0)).expect("a soft body");
    let parameters = [
        (Parameter::Young, YOUNG),
        (Parameter::Poisson, 0.3),
        (Parameter::Density, DENSITY),
        (Parameter::StiffnessDamping, 0.005),
    ];
    let wanted: Vec<ModelParameter> =
        parameters.iter().map(|&(parameter, _)| ModelParameter::Tree { tree, parameter }).collect();
    let found = stepped(&model, &from, &|_| ()).parameter_derivatives(0, &wanted).expect("derivatives");
    assert!(found.certificate.problems.is_empty(), "{:?}", found.certificate);
    for (column, (parameter, value)) in found.columns.iter().zip(parameters) {
        let by = 1e-4 * value;
        let [ahead, behind] = [by, -by].map(|by| {
            let set = |made: &mut Batch| made.set_parameter(0, tree, parameter, &[value + by]).expect("a parameter");
            state(&mut stepped(&model, &from, &set), 0).v
        });
        let differences: Vec<f64> = ahead.iter().zip(&behind).map(|(a, b)| (a - b) / (2.0 * by)).collect();
        for dofs in [0..3, model.trees[tree].v.clone()] {
            let size = differences[dofs.clone()].iter().fold(0.0, |most: f64, x| most.max(x.abs()));
            let off = dofs.map(|i| (column.v[i] - differences[i]).abs()).fold(0.0, f64::max);
            assert!(size > 0.0 && off < 1e-5 * size, "{parameter:?}: {off} of {size}");
        }
    }
}

/// The gradient of where a held box ends up, through steps of fingers, pads and box, along random changes of the first state.
#[test]
fn a_rollout_of_a_gripper_agrees_with_differences() {
    const STEPS: usize = 8;
    let model = gripper();
    let mut options = BatchOptions { tolerance: 1e-12, ..tight() };
    // What rests at closed gaps has no kink in steps that undo penetrations whole.
    options.stabilisation.fraction = 1.0;
    let mut made = batch(&model, 1, &options);
    run(&mut made, 200);
    let from = state(&mut made, 0);
    let weights = wave(model.n_v, 1.0, 0.9);
    made.reset(&[(0, from.clone())]).expect("a state");
    let rollout = made.rollout::<f64>(STEPS, &[], 1 << 28).expect("a rollout");
    let last = |step: usize, _: usize, state: &State, out: &mut Outputs| {
        if step + 1 < STEPS {
            return 0.0;
        }
        out.v.copy_from_slice(&weights);
        weights.iter().zip(&state.v).map(|(w, v)| w * v).sum()
    };
    let found = made.backward(&rollout, last).expect("a gradient").worlds.remove(0);
    assert!(found.doubtful == 0, "{:?}", found.problems);
    let value = |state: State| -> f64 {
        let mut made = batch(&model, 1, &options);
        made.reset(&[(0, state)]).expect("a state");
        run(&mut made, STEPS);
        weights.iter().zip(&made.state(0).expect("a state").v).map(|(w, v)| w * v).sum()
    };
    for draw in 0..3 {
        let way = wave(model.n_v, 1.0, 0.3 + f64::from(draw));
        let e = 1e-6;
        let [up, down] = [e, -e].map(|by| {
            let v = from.v.iter().zip(&way).map(|(v, way)| v + by * way).collect();
            value(State { v, ..from.clone() })
        });
        let difference = (up - down) / (2.0 * e);
        let along: f64 = found.v.iter().zip(&way).map(|(g, way)| g * way).sum();
        let size = found.v.iter().map(|g| g * g).sum::<f64>().sqrt() * way.iter().map(|w| w * w).sum::<f64>().sqrt();
        assert!((along - difference).abs() < 1e-6 * size, "{along} {difference} of {size}");
        let [up, down] = [e, -e].map(|by| {
            let step: Vec<f64> = way.iter().map(|way| 0.01 * by * way).collect();
            value(State { q: tangent::moved(&model, &from.q, &step), ..from.clone() })
        });
        let difference = (up - down) / (2.0 * e);
        let along: f64 = found.q.iter().zip(&way).map(|(g, way)| 0.01 * g * way).sum();
        let size =
            0.01 * found.q.iter().map(|g| g * g).sum::<f64>().sqrt() * way.iter().map(|w| w * w).sum::<f64>().sqrt();
        assert!((along - difference).abs() < 1e-6 * size, "by q: {along} {difference} of {size}");
    }
}

/// A column that a plate presses down: it would buckle if the plate did not hold its end.
fn pressed_column() -> Model {
    let mut builder = ModelBuilder::new("column");
    builder.options.gravity = Vec3::zeros();
    // Long beside how fast it sways.
    builder.options.timestep = 0.1;
    let mut own = block([1, 1, 6], [0.02, 0.02, 0.12], Vec3::z() * 0.06);
    own.material.young = 1e5;
    own.pinned = (0..own.nodes.len() as u32).filter(|&node| own.nodes[node as usize].z < 1e-9).collect();
    builder.soft_body(own);
    let inertial = Inertial { mass: 0.05, com: Vec3::zeros(), inertia: Mat3::identity() * 1e-5 };
    let plate = builder.body("plate", 0, Pose::translation(0.0, 0.0, 0.13), inertial);
    let mut joint = Joint::new("plate", plate, JointKind::Slide);
    joint.axis = -Vec3::z();
    // 1 N, nearly the same wherever the plate is: Euler's load of a free end is 0.23 N, of one that is held 3.6 N.
    joint.stiffness = 0.1;
    joint.spring_reference = 10.0;
    builder.joint(joint);
    let shape = Shape::Box { half: Vec3::new(0.05, 0.05, 0.01) };
    let contact = Contacting { friction: 0.8, ..Contacting::default() };
    builder.geom(Geom { name: "plate".into(), body: plate, shape, pose: Pose::identity(), contact });
    builder.build().expect("a model")
}

/// Where a matrix is not positive definite without contacts, derivatives are those of differences all the same.
#[test]
fn derivatives_of_what_would_buckle_are_those_of_differences() {
    let model = pressed_column();
    // Nodes of a gram or two that little holds: differences of 1e-7 m/s say nothing of steps to 1e-11 N s.
    let mut options = BatchOptions { tolerance: 1e-14, ..tight() };
    options.stabilisation.fraction = 1.0;
    let mut made = batch(&model, 1, &options);
    run(&mut made, 60);
    assert!(made.inspect(0).is_err(), "a matrix that is positive definite");
    let from = state(&mut made, 0);
    let mut checker = Checker::new(&model, &options, 1e-7).expect("a checker");
    let found = checker.compare(&from).expect("a comparison");
    let certificate = &found.jacobian.certificate;
    assert!(certificate.problems.is_empty() && certificate.problems_by_q.is_empty(), "{certificate:?}");
    assert!(found.jacobian.modes.contains(&Mode::Sticking) && found.error() < 1e-6, "{:?}", found.blocks);
    let along = checker.compare_directions(&from, 1e-9).expect("a comparison");
    assert!(along.back < 1e-10, "{}", along.back);
}
