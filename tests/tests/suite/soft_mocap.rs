//! Soft bodies on mocap bodies: they follow where these are moved, and feel how.

use manyworlds::{Batch, BatchOptions, Executor, FieldId, Mode, Model, Precision, Start, State, Which};
use manyworlds_model::{Inertial, Joint, JointKind, Mat3, ModelBuilder, Pose, SoftBody, Vec3};
use manyworlds_tests::batches::{batch, bits, executors, largest_difference, mjcf, run, state};
use manyworlds_tests::soft::{add_box, block, ground};
use nalgebra::{Point3, Translation3};

use super::carried::{masses, pad, wave};

/// Time step, s.
const H: f64 = 2e-3;

fn options(precision: Precision) -> BatchOptions {
    let tolerance = if precision == Precision::F64 { 1e-12 } else { 1e-6 };
    BatchOptions { executor: Executor::Cpu, precision, tolerance, iterations: 1000, ..Default::default() }
}

fn massless() -> Inertial {
    Inertial { mass: 0.0, com: Vec3::zeros(), inertia: Mat3::zeros() }
}

/// A block along x whose nodes with an x that `pinned` accepts are fixed to what carries it.
fn bar(body: usize, centre: Vec3, pinned: impl Fn(f64) -> bool) -> SoftBody {
    let mut own = block([3, 2, 2], [0.15, 0.1, 0.1], centre);
    own.body = body;
    own.pinned = (0..own.nodes.len() as u32).filter(|&node| pinned(own.nodes[node as usize].x - centre.x)).collect();
    own
}

fn is_left(x: f64) -> bool {
    x < -0.07
}

/// Models begin like this.
fn begun(gravity: f64) -> ModelBuilder {
    let mut builder = ModelBuilder::new("ridden");
    builder.options.timestep = H;
    builder.options.gravity = -gravity * Vec3::z();
    builder
}

/// A bar on a body that stands askew, a mocap body or a part of the ground, and what `add` adds.
fn on_a_body(mocap: bool, gravity: f64, pinned: fn(f64) -> bool, add: impl FnOnce(&mut ModelBuilder)) -> Model {
    let mut builder = begun(gravity);
    let body = builder.body("plate", 0, askew(), massless());
    if mocap {
        builder.mocap(body);
    }
    builder.soft_body(bar(body, Vec3::zeros(), pinned));
    add(&mut builder);
    builder.build().expect("a model")
}

/// Turned about the vertical.
fn askew() -> Pose {
    Pose::from_parts(Translation3::new(0.1, -0.2, 0.3), Pose::rotation(Vec3::z() * 0.5).rotation)
}

/// A pose as the field has it.
fn numbers(pose: &Pose) -> [f64; 7] {
    let (at, turn) = (pose.translation.vector, pose.rotation);
    [at.x, at.y, at.z, turn.w, turn.i, turn.j, turn.k]
}

/// A step with the mocap body somewhere.
fn step_at(made: &mut Batch, pose: &Pose) {
    made.write(0, FieldId::Mocap, &numbers(pose)).expect("a write");
    run(made, 1);
    let mut all = Vec::new();
    made.summaries(&mut all).expect("summaries");
    assert!(all.iter().all(|s| !s.failed()), "{all:?}");
}

fn largest(of: impl Iterator<Item = f64>) -> f64 {
    of.fold(0.0, |most, x| most.max(x.abs()))
}

/// Of the free nodes of the first soft body, their masses and positions at rest.
fn free(model: &Model) -> Vec<(f64, Vec3)> {
    let soft = &model.soft[0];
    let all = masses(soft).into_iter().zip(&soft.nodes).zip(soft.dofs());
    all.filter(|(_, dof)| dof.is_some()).map(|((mass, rest), _)| (mass, *rest)).collect()
}

/// A bar that moves steadily with a mocap body, a box on it, does what it does at rest: Galilei. So does the step that begins to
/// move.
#[test]
fn steady_motion_is_rest() {
    let speed = Vec3::new(0.7, -0.4, 0.3);
    let loaded = |to: &mut ModelBuilder| add_box(to, Vec3::new(0.03, 0.03, 0.02), 0.2, Vec3::new(0.1, -0.2, 0.371));
    let still = on_a_body(false, 9.81, is_left, loaded);
    let model = on_a_body(true, 9.81, is_left, loaded);
    let joint = model.joints.iter().find(|joint| joint.kind == JointKind::Free).expect("a box");
    for (precision, tolerance) in [(Precision::F64, 1e-9), (Precision::F32, 3e-3)] {
        for (name, options) in executors(&options(precision)) {
            let (mut moved, mut rests) = (batch(&model, 1, &options), batch(&still, 1, &options));
            run(&mut moved, 1);
            run(&mut rests, 1);
            // All gets the speed at once, and the box goes as far as the mocap body does before the next step.
            let State { mut q, mut v, .. } = state(&mut moved, 0);
            let along = askew().rotation.inverse() * speed;
            let soft = &mut v[model.soft[0].v.clone()];
            soft.iter_mut().enumerate().for_each(|(i, v)| *v += along[i % 3]);
            (0..3).for_each(|k| v[joint.v_start + k] += speed[k]);
            (0..3).for_each(|k| q[joint.q_start + k] += H * speed[k]);
            moved.write(0, FieldId::Position, &q).expect("a write");
            moved.write(0, FieldId::Velocity, &v).expect("a write");
            for step in 1..=40 {
                let way = f64::from(step) * H * speed;
                step_at(&mut moved, &(Translation3::from(way) * askew()));
                run(&mut rests, 1);
                let State { mut q, mut v, .. } = state(&mut moved, 0);
                let wanted = state(&mut rests, 0);
                (0..3).for_each(|k| q[joint.q_start + k] -= (f64::from(step) + 1.0) * H * speed[k]);
                (0..3).for_each(|k| v[joint.v_start + k] -= speed[k]);
                let off = largest_difference(&q, &wanted.q).max(largest_difference(&v, &wanted.v));
                assert!(off <= tolerance, "{name} {}, step {step}: {off:e}", precision.name());
                let nodes = |made: &mut Batch| made.soft(0).expect("a report").remove(0).nodes;
                let placed = nodes(&mut moved).into_iter().zip(nodes(&mut rests));
                let off = largest(placed.flat_map(|(a, b)| [0, 1, 2].map(|k| a[k] - way[k] - b[k])));
                assert!(off <= tolerance, "{name}: nodes {off:e}");
            }
            let carried = moved.inspect(0).expect("a world").contacts.iter().map(|c| c.impulse[2]).sum::<f64>();
            assert!(carried > 0.5 * 0.2 * 9.81 * H, "{name}: the box is not on the bar");
        }
    }
}

/// The same bar on a wheel so heavy that nothing slows it.
fn on_a_wheel() -> Model {
    let mut builder = begun(9.81);
    let inertial = Inertial { mass: 1.0, com: Vec3::zeros(), inertia: Mat3::identity() };
    let wheel = builder.body("wheel", 0, Pose::identity(), inertial);
    let mut joint = Joint::new("wheel", wheel, JointKind::Hinge);
    (joint.axis, joint.armature) = (Vec3::z(), 1e10);
    builder.joint(joint);
    builder.soft_body(bar(wheel, OFF_AXIS, is_left));
    builder.build().expect("a model")
}

/// Where the bar is on what turns.
const OFF_AXIS: Vec3 = Vec3::new(0.1, 0.03, 0.02);

/// The same on a mocap body.
fn on_a_turntable() -> Model {
    let mut builder = begun(9.81);
    let table = builder.body("table", 0, Pose::identity(), massless());
    builder.mocap(table);
    builder.soft_body(bar(table, OFF_AXIS, is_left));
    builder.build().expect("a model")
}

/// A batch of the turntable after the step in which it begins to turn, the bar turning with it already, and steps more.
fn turned(model: &Model, rate: f64, steps: u32, options: &BatchOptions) -> Batch {
    let mut made = batch(model, 1, options);
    run(&mut made, 1);
    let v: Vec<f64> = free(model).iter().flat_map(|(_, s)| <[f64; 3]>::from(rate * Vec3::z().cross(s))).collect();
    made.write(0, FieldId::Position, &vec![0.0; model.n_q]).expect("a write");
    made.write(0, FieldId::Velocity, &v).expect("a write");
    (1..=steps).for_each(|step| step_at(&mut made, &Pose::rotation(Vec3::z() * (f64::from(step) * H * rate))));
    made
}

/// On a mocap body that turns the bar does what it does on a heavy body that turns as fast.
#[test]
fn a_turning_mocap_body_is_a_heavy_wheel() {
    let (model, wheel) = (on_a_turntable(), on_a_wheel());
    let rate = 6.0;
    for (name, options) in executors(&options(Precision::F64)) {
        let mut beside = batch(&wheel, 1, &options);
        let mut v = vec![0.0; wheel.n_v];
        v[0] = rate;
        beside.reset(&[(0, State { q: vec![0.0; wheel.n_q], v, ..State::default() })]).expect("a state");
        run(&mut beside, 100);
        let (found, wanted) = (state(&mut turned(&model, rate, 100, &options), 0), state(&mut beside, 0));
        let off = largest_difference(&found.q, &wanted.q[1..]).max(largest_difference(&found.v, &wanted.v[1..]));
        let size = largest(found.v.iter().copied());
        assert!(off < 1e-8 && size > 1e-2, "{name}: {off:e} of {size}");
    }
}

/// What a steadily turning bar comes to rest at is at rest on the ground under its centrifugal forces.
#[test]
fn what_turns_is_at_rest_under_centrifugal_forces() {
    let model = on_a_turntable();
    let rate = 6.0;
    let ended = state(&mut turned(&model, rate, 4000, &options(Precision::F64)), 0);
    assert!(largest(ended.v.iter().copied()) < 1e-9, "it has not come to rest");
    let pull = free(&model).into_iter().zip(ended.q.chunks_exact(3)).flat_map(|((mass, rest), q)| {
        let [x, y] = [0, 1].map(|k| mass * rate * rate * (rest[k] + q[k]));
        [x, y, 0.0]
    });
    let pull: Vec<f64> = pull.collect();
    let mut made = batch(&model, 1, &options(Precision::F64));
    for (tau, is_at_rest) in [(pull.clone(), true), (vec![0.0; pull.len()], false)] {
        made.reset(&[(0, State { tau, ..ended.clone() })]).expect("a state");
        run(&mut made, 1);
        let v = largest(state(&mut made, 0).v.into_iter());
        assert!((v < 1e-8) == is_at_rest, "{v:e}");
    }
}

/// A mocap body that is shaken along a line does what a heavy body does that forces shake so.
#[test]
fn a_shaken_mocap_body_is_a_heavy_slide() {
    let model = on_a_body(true, 9.81, is_left, |_| ());
    let mut builder = begun(9.81);
    let inertial = Inertial { mass: 1e9, com: Vec3::zeros(), inertia: Mat3::identity() };
    let body = builder.body("slide", 0, askew(), inertial);
    let mut joint = Joint::new("slide", body, JointKind::Slide);
    joint.axis = Vec3::new(0.6, 0.8, 0.0);
    builder.joint(joint);
    builder.soft_body(bar(body, Vec3::zeros(), is_left));
    let heavy = builder.build().expect("a model");
    let way = |step: usize| 0.02 * (1.0 - (0.15 * step as f64).cos());
    for (name, options) in executors(&options(Precision::F64)) {
        let (mut found, mut beside) = (batch(&model, 1, &options), batch(&heavy, 1, &options));
        run(&mut found, 1);
        run(&mut beside, 1);
        for step in 1..100 {
            let along = Translation3::from(Vec3::new(0.6, 0.8, 0.0) * way(step));
            step_at(&mut found, &(askew() * along));
            let mut tau = vec![0.0; heavy.n_v];
            let ways = way(step) - 2.0 * way(step.saturating_sub(1)) + if step > 1 { way(step - 2) } else { 0.0 };
            tau[0] = 1e9 * ways / (H * H);
            beside.write(0, FieldId::Force, &tau).expect("a write");
            run(&mut beside, 1);
        }
        let (found, wanted) = (state(&mut found, 0), state(&mut beside, 0));
        let off = largest_difference(&found.q, &wanted.q[1..]).max(largest_difference(&found.v, &wanted.v[1..]));
        let size = largest(found.v.iter().copied());
        assert!(off < 1e-6 * size && size > 0.1, "{name}: {off:e} of {size}");
    }
}

/// What is not pinned does not care how its mocap body moves: it falls freely, exactly where that moves along a line, and to the
/// order of the step where it turns.
#[test]
fn what_is_not_pinned_falls_freely() {
    let model = on_a_body(true, 9.81, |_| false, |_| ());
    let mut made = batch(&model, 1, &options(Precision::F64));
    run(&mut made, 1);
    let mut before = Vec3::zeros();
    for step in 1..50 {
        let at = Vec3::new(0.1 * (0.2 * f64::from(step)).sin(), 0.02 * f64::from(step), -0.1);
        step_at(&mut made, &(Translation3::from(at) * askew()));
        let speed = (at - before) / H;
        before = at;
        let fell = -9.81 * H * (f64::from(step) + 1.0) * Vec3::z();
        let own = state(&mut made, 0).v;
        let off = own.chunks_exact(3).map(|v| (askew().rotation * Vec3::from_column_slice(v) + speed - fell).norm());
        let off = largest(off);
        assert!(off < 1e-9, "step {step}: {off:e}");
    }

    let fall = |halved: i32| {
        let mut model = model.clone();
        let h = H / f64::from(1 << halved);
        model.options.timestep = h;
        let mut made = batch(&model, 1, &options(Precision::F64));
        let at = |t: f64| askew() * Pose::rotation(Vec3::new(0.3, 0.8, -0.5) * (8.0 * t * t));
        run(&mut made, 1);
        let steps = 100 << halved;
        (1..=steps).for_each(|step| step_at(&mut made, &at(h * f64::from(step))));
        let nodes = made.soft(0).expect("a report").remove(0).nodes;
        let t = h * f64::from(steps + 1);
        let off = nodes.iter().zip(&model.soft[0].nodes).map(|(found, rest)| {
            let wanted = (askew() * Point3::from(*rest)).coords - 0.5 * 9.81 * t * t * Vec3::z();
            (Vec3::from(*found) - wanted).norm()
        });
        largest(off)
    };
    let [coarse, fine] = [0, 1].map(fall);
    assert!(coarse < 0.02 && fine < 0.6 * coarse, "{coarse} {fine}");
}

/// Pinned nodes push with the speed of their mocap body.
#[test]
fn what_is_pinned_pushes_as_the_mocap_body_does() {
    let speed = 0.5;
    let boxed = |to: &mut ModelBuilder| add_box(to, Vec3::new(0.03, 0.03, 0.03), 0.2, Vec3::new(0.107, 0.0, 0.0));
    let model = on_a_body(true, 0.0, |x| x > 0.07, boxed);
    let joint = model.joints.iter().find(|joint| joint.kind == JointKind::Free).expect("a box");
    for (precision, tolerance) in [(Precision::F64, 1e-8), (Precision::F32, 2e-3)] {
        for (name, options) in executors(&options(precision)) {
            let mut made = batch(&model, 1, &options);
            for step in 0..40 {
                step_at(&mut made, &Pose::translation(speed * H * f64::from(step), 0.0, 0.0));
            }
            let v = &state(&mut made, 0).v[joint.v_start..joint.v_start + 3];
            let off = (Vec3::from_column_slice(v) - speed * Vec3::x()).norm();
            assert!(off < tolerance, "{name} {}: {v:?}", precision.name());
        }
    }
}

/// Pinned nodes may be put into the ground, which neither moves: nobody asks for the impossible.
#[test]
fn pinned_nodes_in_the_ground_ask_for_nothing() {
    let model = on_a_body(true, 9.81, is_left, |to| {
        to.geom(ground(0.5, 0.0));
    });
    let mut made = batch(&model, 1, &options(Precision::F64));
    for step in 0..60 {
        let sunk = Translation3::new(0.0, 0.0, -5e-3 * f64::from(step.min(52)));
        step_at(&mut made, &(sunk * askew()));
        let world = made.inspect(0).expect("a world");
        assert!(world.summary.residual <= 1e-10 && world.relaxed.is_empty(), "step {step}: {:?}", world.summary);
    }
    assert!(made.soft(0).expect("a report")[0].nodes.iter().any(|node| node[2] < -5e-3), "nothing is in the ground");
    assert!(made.inspect(0).expect("a world").contacts.iter().any(|contact| contact.impulse[2] > 0.0));
}

/// A bar that rests with its end on the ground and is dragged and turned by a mocap body.
fn dragged() -> (Model, impl Fn(u32) -> Pose) {
    let model = on_a_body(true, 9.81, is_left, |to| {
        to.geom(ground(0.3, 0.0));
    });
    let pose = |step: u32| {
        let t = f64::from(step);
        let way = Translation3::new(2e-3 * t, -1e-3 * t, -0.25 + 1e-4 * t);
        way * askew() * Pose::rotation(Vec3::new(1e-3, 4e-3, 1e-2) * t + 1e-4 * t * t * Vec3::z())
    };
    (model, pose)
}

/// What is saved while it moves goes on as it was; a reset moves nothing.
#[test]
fn checkpoints_and_resets_know_the_motion() {
    let (model, pose) = dragged();
    for precision in [Precision::F64, Precision::F32] {
        for (name, options) in executors(&options(precision)) {
            let mut made = batch(&model, 1, &options);
            (0..20).for_each(|step| step_at(&mut made, &pose(step)));
            let saved = made.checkpoint().expect("a checkpoint");
            (20..30).for_each(|step| step_at(&mut made, &pose(step)));
            let after = bits(&state(&mut made, 0));
            let mut other = batch(&model, 1, &options);
            other.restore(&saved).expect("a restore");
            (20..30).for_each(|step| step_at(&mut other, &pose(step)));
            assert_eq!(bits(&state(&mut other, 0)), after, "{name}");

            // From the start, where the model has it, as a new batch.
            made.restart_worlds(Which::Listed(&[0]), Start::INITIAL).expect("a reset");
            let mut new = batch(&model, 1, &options);
            for made in [&mut made, &mut new] {
                run(made, 1);
                (0..3).for_each(|step| step_at(made, &pose(step)));
            }
            assert_eq!(bits(&state(&mut made, 0)), bits(&state(&mut new, 0)), "{name}: after a reset");
        }
    }
}

/// Derivatives of a step in which the mocap body moves and turns are those of differences.
#[test]
fn derivatives_know_the_motion() {
    let (model, pose) = dragged();
    let options = options(Precision::F64);
    let mut made = batch(&model, 1, &options);
    made.keep_steps(true).expect("kept");
    let found = (0..80).find_map(|step| {
        let before = (step, made.checkpoint().expect("a checkpoint"), state(&mut made, 0));
        step_at(&mut made, &pose(step));
        let jacobian = made.jacobian(0).expect("a Jacobian");
        let is_clear = jacobian.certificate.valid() && jacobian.certificate.margin > 1e-3;
        (is_clear && jacobian.modes.contains(&Mode::Sliding)).then_some(before)
    });
    let (number, saved, start) = found.expect("a step that slides, far from switches");
    let mut step = |q: &[f64], v: &[f64]| {
        made.restore(&saved).expect("the same batch");
        made.write(0, FieldId::Position, q).expect("a write");
        made.write(0, FieldId::Velocity, v).expect("a write");
        step_at(&mut made, &pose(number));
        (state(&mut made, 0).v, made.jacobian(0).expect("a Jacobian"))
    };
    let (_, found) = step(&start.q, &start.v);
    let n = model.n_v;
    for (which, (jacobian, e)) in [(&found.dv_dq, 1e-8), (&found.dv_dv, 1e-6)].into_iter().enumerate() {
        let size = largest(jacobian.iter().copied());
        for draw in 0..6 {
            let way = wave(n, 1.0, 0.3 + f64::from(draw));
            let [up, down] = [e, -e].map(|by| {
                let moved = |x: &[f64]| x.iter().zip(&way).map(|(x, way)| x + by * way).collect::<Vec<_>>();
                if which == 0 { step(&moved(&start.q), &start.v).0 } else { step(&start.q, &moved(&start.v)).0 }
            });
            for i in 0..n {
                let difference = (up[i] - down[i]) / (2.0 * e);
                let along: f64 = jacobian[i * n..(i + 1) * n].iter().zip(&way).map(|(j, way)| j * way).sum();
                let off = (along - difference).abs();
                assert!(off < 1e-6 * size, "{which}, row {i}: {along}, by differences {difference} of {size}");
            }
        }
    }
}

/// Arms that are coupled make one tree with the mocap body that bears them both. A bar on that does what it does without them.
#[test]
fn a_base_of_coupled_arms_is_a_mocap_body() {
    let model = |arms: bool| {
        let arm = |name: &str, y: f64| {
            format!(
                "<body pos=\"0 {y} 0\"><joint name=\"{name}\" axis=\"1 0 0\"/>
                   <geom size=\"0.02\" pos=\"0 0.1 0\" contype=\"0\"/></body>"
            )
        };
        let bodies = if arms { arm("a", 1.0) + &arm("b", -1.0) } else { String::new() };
        let coupled = if arms { "<equality><joint joint1=\"a\" joint2=\"b\"/></equality>" } else { "" };
        mjcf(
            H,
            &format!(
                "<worldbody><body name=\"base\" mocap=\"true\">
                   <flexcomp name=\"bar\" dim=\"3\" count=\"4 2 2\" spacing=\"0.05 0.05 0.05\" mass=\"1\" radius=\"0.001\">
                     <elasticity young=\"5e4\" poisson=\"0.3\"/><pin gridrange=\"0 0 0 0 1 1\"/></flexcomp>{bodies}
                 </body></worldbody>{coupled}"
            ),
        )
    };
    let [with, without] = [true, false].map(model);
    let rigid = with.trees.iter().find(|tree| tree.soft.is_none()).expect("a tree");
    assert!(rigid.v.len() == 2 && rigid.bodies.contains(&with.body_by_name("base").expect("a body")));
    let moved = |model: &Model| {
        let mut made = batch(model, 1, &options(Precision::F64));
        let turn = |step: u32| Pose::rotation(Vec3::z() * (5e-3 * f64::from(step)));
        (0..40)
            .for_each(|step| step_at(&mut made, &(Pose::translation(2e-3 * f64::from(step), 0.0, 0.0) * turn(step))));
        [
            state(&mut made, 0).v[model.soft[0].v.clone()].to_vec(),
            made.soft(0).expect("a report").remove(0).nodes.concat(),
        ]
        .concat()
    };
    let [with, without] = [&with, &without].map(moved);
    assert!(largest_difference(&with, &without) < 1e-9 && largest(with.into_iter()) > 0.1);
}

/// A pad on an arm whose base is a mocap body stands where that is moved to.
#[test]
fn what_an_arm_carries_follows_its_base() {
    let arm = |mocap: bool, pose: Pose| {
        let mut builder = begun(9.81);
        let base = builder.body("base", 0, pose, massless());
        if mocap {
            builder.mocap(base);
        }
        let inertial = Inertial { mass: 0.2, com: Vec3::zeros(), inertia: Mat3::identity() * 1e-3 };
        let link = builder.body("link", base, Pose::translation(0.0, 0.1, 0.0), inertial);
        let mut joint = Joint::new("link", link, JointKind::Hinge);
        joint.axis = Vec3::y();
        builder.joint(joint);
        builder.soft_body(pad(link, Vec3::new(0.1, 0.02, 0.05), 0.1));
        builder.build().expect("a model")
    };
    let elsewhere =
        Pose::from_parts(Translation3::new(0.3, 0.1, -0.2), Pose::rotation(Vec3::new(0.4, -0.3, 0.9)).rotation);
    let options = options(Precision::F64);
    let (mut moved, mut built) = (batch(&arm(true, askew()), 1, &options), batch(&arm(false, elsewhere), 1, &options));
    for _ in 0..50 {
        step_at(&mut moved, &elsewhere);
        run(&mut built, 1);
    }
    let [found, wanted] = [&mut moved, &mut built].map(|made| {
        let nodes = made.soft(0).expect("a report").remove(0).nodes.concat();
        let State { q, v, .. } = state(made, 0);
        [q, v, nodes].concat()
    });
    assert!(largest_difference(&found, &wanted) < 1e-9 && largest(wanted.into_iter()) > 0.1, "{found:?}");
}
