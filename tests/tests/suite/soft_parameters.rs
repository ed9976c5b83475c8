//! Derivatives by parameters of rigid trees that hang together with soft bodies, and of what all have alike, against central
//! differences of the steps.

use manyworlds::tangent::between;
use manyworlds::{Batch, BatchOptions, FieldId, GeomParameter, Mode, Model, ModelParameter, Outputs, Parameter, State};
use manyworlds_model::{Contacting, Geom, Inertial, Joint, JointKind, Mat3, ModelBuilder, Pose, Shape, Vec3};
use manyworlds_tests::audit::ways;
use manyworlds_tests::batches::{batch, run, state, tight};
use manyworlds_tests::soft::{add_box, block, ground, link, on_the_ground, pressed, pressing};

use super::carried::{chain, gripper, wave};
use super::carried_gradients::hand_pad;
use super::soft_touches::{CORNER, falling, low, pose, scene, slab, touching};

/// A world that is one step on, with some parameters; the step is kept.
type Step<'a> = dyn FnMut(&dyn Fn(&mut Batch)) -> (Batch, State) + 'a;

/// What is allowed, of the largest number.
const ALLOWED: f64 = 1e-5;

fn precise() -> BatchOptions {
    let mut options = BatchOptions { tolerance: 1e-13, ..tight() };
    // What rests at closed gaps has no kink then.
    options.stabilisation.fraction = 1.0;
    options
}

/// A model whose joints have some of everything.
fn complete(mut model: Model) -> Model {
    for joint in model.joints.iter_mut().filter(|joint| joint.kind != JointKind::Free) {
        (joint.armature, joint.damping, joint.dry_friction) = (0.01, 0.05, 0.02);
        joint.stiffness = joint.stiffness.max(0.1);
    }
    model
}

/// The step from a state.
fn from<'a>(model: &'a Model, options: &'a BatchOptions, start: &'a State) -> Box<Step<'a>> {
    Box::new(move |set| {
        let mut made = batch(model, 1, options);
        made.keep_steps(true).expect("kept");
        set(&mut made);
        made.reset(&[(0, start.clone())]).expect("a state");
        made.step(&start.ctrl).expect("a step");
        let after = state(&mut made, 0);
        (made, after)
    })
}

/// Compares what is found by a parameter with differences along a way, of rigid and of soft degrees of freedom.
fn compare(model: &Model, name: &str, found: &[Vec<f64>; 2], ends: [&State; 2], by: f64) {
    let [up, down] = ends;
    let dq = between(model, &down.q, &up.q);
    let dv: Vec<f64> = up.v.iter().zip(&down.v).map(|(up, down)| up - down).collect();
    let is_soft = |i: usize| model.soft.iter().any(|soft| soft.v.contains(&i));
    for soft in [false, true] {
        let (mut worst, mut size) = (0.0_f64, 0.0_f64);
        for (found, difference) in found.iter().zip([&dq, &dv]) {
            for i in (0..model.n_v).filter(|&i| is_soft(i) == soft) {
                let wanted = difference[i] / (2.0 * by);
                worst = worst.max((found[i] - wanted).abs());
                size = size.max(wanted.abs());
            }
        }
        assert!(worst <= ALLOWED * size, "{name}, soft {soft}: {worst:e} of {size:e}");
    }
}

/// Checks the derivatives of a step by parameters of a tree.
fn check(name: &str, model: &Model, step: &mut Step<'_>, tree: usize, parameters: &[Parameter]) {
    let (mut made, _) = step(&|_| ());
    let wanted: Vec<_> = parameters.iter().map(|&parameter| ModelParameter::Tree { tree, parameter }).collect();
    let found = made.parameter_derivatives(0, &wanted).expect("derivatives");
    let certificate = &found.certificate;
    assert!(certificate.problems.is_empty() && certificate.margin > 1e-5, "{name}: {certificate:?}");
    let mut columns = found.columns.iter();
    for &parameter in parameters {
        let values = made.parameter(0, tree, parameter).expect("a parameter");
        let own: Vec<_> = columns.by_ref().take(values.len()).collect();
        let size = values.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        let by = 1e-4 * if size > 0.0 { size } else { 0.1 };
        for way in ways(ModelParameter::Tree { tree, parameter }, &values) {
            let [up, down] = [by, -by].map(|by| {
                let moved: Vec<f64> = values.iter().zip(&way).map(|(x, way)| x + by * way).collect();
                step(&|made: &mut Batch| made.set_parameter(0, tree, parameter, &moved).expect("a parameter")).1
            });
            let sum = |of: &dyn Fn(&Outputs) -> &[f64]| -> Vec<f64> {
                (0..model.n_v).map(|i| way.iter().zip(&own).map(|(way, own)| way * of(own)[i]).sum()).collect()
            };
            let found = [sum(&|own| &own.q), sum(&|own| &own.v)];
            compare(model, &format!("{name}, {parameter:?} along {way:?}"), &found, [&up, &down], by);
        }
    }
}

/// Checks the derivative of a step by a number that all have alike.
fn check_every(name: &str, model: &Model, step: &mut Step<'_>, parameter: Parameter) {
    let (mut made, _) = step(&|_| ());
    let found = made.parameter_derivatives(0, &[ModelParameter::Every(parameter)]).expect("derivatives");
    let certificate = &found.certificate;
    assert!(certificate.problems.is_empty() && certificate.margin > 1e-5, "{name}: {certificate:?}");
    let value = made.parameter(0, 0, parameter).expect("a parameter")[0];
    let by = 1e-4 * value;
    let [up, down] = [by, -by].map(|by| {
        let set = |made: &mut Batch| {
            for tree in 0..model.trees.len() {
                made.set_parameter(0, tree, parameter, &[value + by]).expect("a parameter");
            }
        };
        step(&set).1
    });
    let own = &found.columns[0];
    compare(model, &format!("{name}, {parameter:?}"), &[own.q.clone(), own.v.clone()], [&up, &down], by);
}

/// Fast motion without contact.
#[test]
fn parameters_of_a_chain_that_carries_blocks() {
    use Parameter as P;
    let model = complete(chain());
    let options = precise();
    let mut made = batch(&model, 1, &options);
    let mut v = wave(model.n_v, 0.3, 1.1);
    v[..3].copy_from_slice(&[4.0, -3.0, 0.7]);
    made.reset(&[(0, State { q: wave(model.n_q, 0.01, 0.3), v, ..State::default() })]).expect("a state");
    run(&mut made, 10);
    let start = state(&mut made, 0);
    let mut step = from(&model, &options, &start);
    let all = [
        P::Gravity,
        P::BodyMass(0),
        P::BodyMass(2),
        P::BodyCom(2),
        P::BodyInertia(1),
        P::BodyPosition(2),
        P::BodyOrientation(1),
        P::JointArmature(0),
        P::JointStiffness(1),
        P::JointDamping(2),
        P::JointFriction(1),
        P::JointSpringReference(0),
        P::JointReference(1),
        P::JointAnchor(0),
        P::JointAxis(2),
    ];
    check("chain", &model, &mut step, 0, &all);
    check_every("chain", &model, &mut step, P::Timestep);
}

/// A pad of an arm on the ground, that sticks and that slides: contacts move with the arm.
#[test]
fn parameters_of_an_arm_that_presses_a_pad_on_the_ground() {
    use Parameter as P;
    for (friction, mode) in [(2.0, Mode::Sticking), (0.1, Mode::Sliding)] {
        let mut model = pressing(hand_pad(), friction);
        model.joints.iter_mut().for_each(|joint| joint.damping = 0.01);
        let options = precise();
        let found = pressed(&model, &options, mode, 2);
        let start = found.unwrap_or_else(|| panic!("{mode:?}: the pad does not touch the ground"));
        let mut step = from(&model, &options, &start);
        let all = [
            P::BodyMass(1),
            P::BodyPosition(1),
            P::BodyOrientation(1),
            P::JointAnchor(1),
            P::JointAxis(0),
            P::JointDamping(0),
            P::ActuatorGain(0),
        ];
        check(&format!("{mode:?}"), &model, &mut step, 0, &all);
        check_every(&format!("{mode:?}"), &model, &mut step, P::Timestep);
    }
}

/// A ball of an arm inside of the triangles of a slab: parameters of the arm move where in them it is.
#[test]
fn parameters_of_an_arm_whose_ball_presses_on_a_slab() {
    use Parameter as P;
    let mut builder = scene([slab()]);
    let arm = link(&mut builder, "arm", 0, 0.4, JointKind::Hinge, Vec3::new(0.1, 1.0, 0.2));
    let hand = link(&mut builder, "hand", arm, 0.3, JointKind::Hinge, Vec3::new(1.0, 0.3, 0.0));
    let contact = Contacting { friction: 0.5, ..Contacting::default() };
    let (shape, pose) = (Shape::Sphere { radius: 0.03 }, Pose::translation(0.06, 0.0, -0.25));
    builder.geom(Geom { name: "ball".into(), body: hand, shape, pose, contact });
    let mut model = builder.build().expect("a model");
    model.joints.iter_mut().for_each(|joint| joint.damping = 0.01);
    let start = touching("arm", &model, 6);
    let options = precise();
    let mut step = from(&model, &options, &start);
    let tree = model.trees.iter().position(|tree| tree.bodies.contains(&hand)).expect("a tree");
    let all = [P::BodyMass(1), P::BodyPosition(1), P::BodyOrientation(1), P::JointAnchor(1), P::JointAxis(0)];
    check("ball", &model, &mut step, tree, &all);
}

/// Fingers whose pads hold a box, and a box that a block on the ground carries: bodies that touch what deforms.
#[test]
fn parameters_of_what_touches_soft_bodies() {
    use Parameter as P;
    let options = precise();
    for (name, model, finger) in [("gripper", complete(gripper()), true), ("box", on_the_ground(2, true), false)] {
        let boxed = model.body_by_name("box").expect("a box");
        let mut made = batch(&model, 1, &options);
        made.keep_steps(true).expect("kept");
        if !finger {
            // It falls onto a corner.
            let (joint, turn) = (&model.joints[0], Pose::rotation(Vec3::new(0.5, 0.3, 0.1)).rotation);
            let (mut q, mut v) = (model.initial_q(), vec![0.0; model.n_v]);
            q[joint.q_start + 2] = 0.15;
            q[joint.q_start + 3..][..4].copy_from_slice(&[turn.w, turn.i, turn.j, turn.k]);
            v[joint.v_start + 2] = -0.3;
            made.reset(&[(0, State { q, v, ..State::default() })]).expect("a state");
        }
        let found = (0..400).find_map(|_| {
            let before = state(&mut made, 0);
            run(&mut made, 1);
            let certificate = made.jacobian(0).expect("a derivative").certificate;
            let contacts = made.inspect(0).expect("a world").contacts;
            let touches = contacts.iter().any(|c| c.bodies.contains(&boxed) && c.impulse[2] > 1e-4);
            (touches && certificate.problems.is_empty() && certificate.margin > 1e-3).then_some(before)
        });
        let start = found.unwrap_or_else(|| panic!("{name}: no step without doubt"));
        let mut step = from(&model, &options, &start);
        let of = |name: &str| {
            let body = model.body_by_name(name).expect("a body");
            model.trees.iter().position(|tree| tree.bodies.contains(&body)).expect("a tree")
        };
        check(name, &model, &mut step, of("box"), &[P::BodyMass(0), P::BodyInertia(0), P::Gravity]);
        if finger {
            check(name, &model, &mut step, of("left"), &[P::BodyMass(0), P::JointArmature(0), P::JointStiffness(0)]);
        }
    }
}

/// The share of a violation that a step undoes, of nodes in the ground; sizes of what they touch are refused.
#[test]
fn how_violations_of_nodes_are_undone_is_a_parameter() {
    let mut builder = ModelBuilder::new("sunk");
    builder.options.timestep = 2e-3;
    builder.geom(ground(0.3, 0.0));
    let inertial = Inertial { mass: 0.3, com: Vec3::zeros(), inertia: Mat3::identity() * 1e-3 };
    let hub = builder.body("hub", 0, Pose::translation(0.0, 0.0, 0.05), inertial);
    builder.joint(Joint::new("hub", hub, JointKind::Free));
    let mut own = block([2, 2, 2], [0.1; 3], Vec3::zeros());
    own.body = hub;
    own.pinned = (0..27).filter(|&node| own.nodes[node as usize].z > 0.04).collect();
    builder.soft_body(own);
    add_box(&mut builder, Vec3::new(0.02, 0.02, 0.02), 0.1, Vec3::new(0.3, 0.0, 0.5));
    let model = builder.build().expect("a model");
    let mut options = precise();
    options.stabilisation.fraction = 0.2;
    let mut q = model.initial_q();
    // Corners are sunk differently, so that some hold and all push.
    q[2] -= 1.3e-3;
    let start = State { q, v: vec![0.0; model.n_v], ..State::default() };
    let mut step = from(&model, &options, &start);
    check_every("sunk", &model, &mut step, Parameter::CorrectionFraction);
    check_every("sunk", &model, &mut step, Parameter::Timestep);
}

/// A mocap body that moves: its speed is a way over a step.
#[test]
fn the_time_step_is_a_parameter_where_a_mocap_body_moves() {
    let mut builder = ModelBuilder::new("dragged");
    builder.options.timestep = 2e-3;
    builder.geom(ground(0.3, 0.0));
    let stand = Inertial { mass: 0.0, com: Vec3::zeros(), inertia: Mat3::zeros() };
    let body = builder.body("hand", 0, Pose::translation(0.0, 0.0, 0.051), stand);
    builder.mocap(body);
    let mut own = block([2, 2, 2], [0.1; 3], Vec3::zeros());
    own.body = body;
    own.pinned = (0..27).filter(|&node| own.nodes[node as usize].z > 0.04).collect();
    builder.soft_body(own);
    let model = builder.build().expect("a model");
    let options = precise();
    let pose = |step: u32| {
        let t = f64::from(step);
        let turn = Pose::rotation(Vec3::z() * 4e-3 * t).rotation;
        [1e-3 * t + 1e-5 * t * t, 0.0, 0.051 - 1e-4 * t, turn.w, turn.i, turn.j, turn.k]
    };
    let moved = |made: &mut Batch, step: u32| {
        made.write(0, FieldId::Mocap, &pose(step)).expect("a write");
        run(made, 1);
    };
    let mut made = batch(&model, 1, &options);
    made.keep_steps(true).expect("kept");
    let found = (0..60).find_map(|step| {
        let before = (step, made.checkpoint().expect("a checkpoint"));
        moved(&mut made, step);
        let jacobian = made.jacobian(0).expect("a derivative");
        let is_clear = jacobian.certificate.valid() && jacobian.certificate.margin > 1e-3;
        (is_clear && jacobian.modes.contains(&Mode::Sliding)).then_some(before)
    });
    let (number, saved) = found.expect("a step that slides, far from switches");
    let step = |set: &dyn Fn(&mut Batch)| {
        let mut made = batch(&model, 1, &options);
        made.keep_steps(true).expect("kept");
        made.restore(&saved).expect("the same batch");
        set(&mut made);
        moved(&mut made, number);
        let after = state(&mut made, 0);
        (made, after)
    };
    let (mut made, _) = step(&|_| ());
    let every = ModelParameter::Every(Parameter::Timestep);
    let own = made.parameter_derivatives(0, &[every]).expect("derivatives").columns.remove(0);
    let [up, down] = [2e-7, -2e-7].map(|by| {
        step(&|made: &mut Batch| made.set_parameter(0, 0, Parameter::Timestep, &[2e-3 + by]).expect("a time step")).1
    });
    for (found, ends) in [(&own.q, [&up.q, &down.q]), (&own.v, [&up.v, &down.v])] {
        let wanted: Vec<f64> = ends[0].iter().zip(ends[1]).map(|(up, down)| (up - down) / 4e-7).collect();
        let size = wanted.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        let off = wanted.iter().zip(found).fold(0.0, |most: f64, (a, b)| most.max((a - b).abs()));
        assert!(off <= ALLOWED * size, "{off:e} of {size:e}");
    }
}

/// A block thrown at the ground: how much of its speed comes back.
#[test]
fn the_restitution_of_a_soft_body_is_a_parameter() {
    let model = |restitution: f64| {
        let mut builder = ModelBuilder::new("bouncing");
        builder.options.timestep = 2e-3;
        builder.geom(ground(0.3, 0.0));
        let mut own = block([2, 2, 2], [0.1; 3], Vec3::new(0.0, 0.0, 0.0505));
        own.contacting.restitution = restitution;
        builder.soft_body(own);
        builder.build().expect("a model")
    };
    let (options, here) = (precise(), model(0.4));
    // Askew, so that its corners do not all do the same.
    let v =
        (0..here.n_v).map(|i| [0.1, 0.05, -1.0][i % 3]).zip(wave(here.n_v, 0.02, 0.4)).map(|(a, b)| a + b).collect();
    let start = State { q: wave(here.n_q, 1e-4, 0.2), v, ..State::default() };
    let (mut made, _) = from(&here, &options, &start)(&|_| ());
    let geoms = [0, here.geoms.len()];
    let found = made.parameter_derivatives(0, &[ModelParameter::Restitution { geoms }]).expect("derivatives");
    let certificate = &found.certificate;
    assert!(certificate.problems.is_empty() && certificate.margin > 1e-4, "{certificate:?}");
    let by = 1e-5;
    let [up, down] = [by, -by].map(|by| from(&model(0.4 + by), &options, &start)(&|_| ()).1.v);
    let wanted: Vec<f64> = up.iter().zip(&down).map(|(up, down)| (up - down) / (2.0 * by)).collect();
    let size = wanted.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    let off = wanted.iter().zip(&found.columns[0].v).fold(0.0, |most: f64, (a, b)| most.max((a - b).abs()));
    assert!(off <= ALLOWED * size && size > 0.1, "{off:e} of {size:e}");
}

/// A box that stands on a corner and carries a block: its sizes move contacts that the block's motion depends on.
#[test]
fn sizes_of_what_carries_a_soft_body_are_parameters() {
    let mut builder = ModelBuilder::new("carrier");
    builder.options.timestep = 2e-3;
    builder.geom(ground(0.6, 0.0));
    let half = Vec3::new(0.05, 0.04, 0.03);
    let turn = Pose::rotation(Vec3::new(0.4, 0.3, 0.1)).rotation;
    let low: f64 = (0..3).map(|k| half[k] * (turn * Vec3::ith(k, 1.0)).z.abs()).sum();
    add_box(&mut builder, half, 0.5, Vec3::new(0.0, 0.0, low - 1e-4));
    let body =
        builder.body("post", 1, Pose::identity(), Inertial { mass: 0.0, com: Vec3::zeros(), inertia: Mat3::zeros() });
    let mut own = block([1, 1, 2], [0.05, 0.05, 0.08], Vec3::new(0.0, 0.0, 0.07));
    own.body = body;
    own.pinned = (0..own.nodes.len() as u32).filter(|&node| own.nodes[node as usize].z < 0.031).collect();
    builder.soft_body(own);
    let model = builder.build().expect("a model");
    let options = precise();
    let mut q = model.initial_q();
    q[3..7].copy_from_slice(&[turn.w, turn.i, turn.j, turn.k]);
    let mut v = wave(model.n_v, 0.1, 0.7);
    v[..6].copy_from_slice(&[0.5, 0.3, -0.2, 0.2, 0.1, 0.0]);
    let start = State { q, v, ..State::default() };
    let geom = model.geom_by_name("box").expect("a geom");
    let mut step = from(&model, &options, &start);
    let (mut made, _) = step(&|_| ());
    assert!(made.inspect(0).expect("a world").contacts.iter().any(|contact| contact.impulse[2] > 0.0), "no contact");
    let found = made.parameter_derivatives(0, &[ModelParameter::Size { geom }]).expect("derivatives");
    assert!(found.certificate.valid() && found.certificate.margin > 1e-4, "{:?}", found.certificate);
    for (k, column) in found.columns.iter().enumerate() {
        let by = 1e-6;
        let [up, down] = [by, -by].map(|by| {
            let mut sizes = <[f64; 3]>::from(half);
            sizes[k] += by;
            step(&|made: &mut Batch| made.set_geom(0, geom, GeomParameter::Size, &sizes).expect("sizes")).1
        });
        compare(&model, &format!("size {k}"), &[column.q.clone(), column.v.clone()], [&up, &down], by);
    }
}

/// Sizes of shapes that touch soft bodies at vertices and inside of triangles.
#[test]
fn sizes_of_what_touches_soft_bodies_are_parameters() {
    let ball = Shape::Sphere { radius: 0.02 };
    let capsule = Shape::Capsule { radius: 0.01, half_length: 0.02 };
    let ellipsoid = Shape::Ellipsoid { radii: Vec3::new(0.02, 0.015, 0.018) };
    let cube = Shape::Box { half: Vec3::repeat(0.015) };
    // Wider than the block.
    let plate = Shape::Box { half: Vec3::new(0.06, 0.07, 0.01) };
    let scenes = [
        ("ball", ball, [0.0; 3], 0.0605, vec![0.02]),
        ("capsule", capsule, [1.2, 0.0, 0.3], 0.0605, vec![0.01, 0.02]),
        ("ellipsoid", ellipsoid, CORNER, 0.0605, vec![0.02, 0.015, 0.018]),
        ("cube", cube, CORNER, 0.0669, vec![0.015; 3]),
        ("plate", plate, [0.1, 0.05, 0.0], 0.061, vec![0.06, 0.07, 0.01]),
    ];
    let options = precise();
    for (name, shape, turn, height, sizes) in scenes {
        let pose = pose(turn, Vec3::new(0.017, 0.006, height));
        let model = complete(falling(scene([low()]), shape, pose).build().expect("a model"));
        let start = touching(name, &model, 6);
        let geom = model.geom_by_name("falling").expect("a geom");
        let mut step = from(&model, &options, &start);
        let (mut made, _) = step(&|_| ());
        let found = made.parameter_derivatives(0, &[ModelParameter::Size { geom }]).expect("derivatives");
        assert!(found.certificate.problems_by_q.is_empty(), "{name}: {:?}", found.certificate);
        assert_eq!(found.columns.len(), sizes.len(), "{name}");
        for (k, column) in found.columns.iter().enumerate() {
            let by = 1e-6;
            let [up, down] = [by, -by].map(|by| {
                let mut all = [0.0; 3];
                all[..sizes.len()].copy_from_slice(&sizes);
                all[k] += by;
                step(&|made: &mut Batch| {
                    made.set_geom(0, geom, GeomParameter::Size, &all[..sizes.len()]).expect("sizes")
                })
                .1
            });
            if column.q.iter().chain(&column.v).all(|x| *x == 0.0) {
                // The rims of the plate touch nothing.
                let moved = up.v.iter().zip(&down.v).map(|(up, down)| (up - down).abs()).fold(0.0, f64::max);
                assert!(name == "plate" && k < 2 && moved < 1e-12, "{name}, size {k}: {moved}");
                continue;
            }
            compare(&model, &format!("{name}, size {k}"), &[column.q.clone(), column.v.clone()], [&up, &down], by);
        }
    }
}
