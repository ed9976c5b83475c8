//! Soft bodies on bodies that move.

use manyworlds::kinematics::{Motion, motions};
use manyworlds::{Batch, State};
use manyworlds_model::{Inertial, Joint, JointKind, Mat3, Model, ModelBuilder, Pose, SoftBody, Vec3};
use manyworlds_tests::batches::{batch, executors, run, state, tight};
use manyworlds_tests::soft::{add_box, block, ground, link, on_the_ground, pinched};

/// A soft block of eight nodes, those on its left side pinned to a body.
pub(super) fn pad(body: usize, centre: Vec3, size: f64) -> SoftBody {
    let mut pad = block([1, 1, 1], [size; 3], centre);
    pad.body = body;
    pad.pinned = (0..8).filter(|&node| pad.nodes[node as usize].x < centre.x).collect();
    pad
}

/// A chain of three bodies, the last of which carries a soft block; another one on the first.
pub(super) fn chain() -> Model {
    let mut builder = ModelBuilder::new("carried");
    builder.options.timestep = 1e-3;
    let first = link(&mut builder, "a", 0, 0.5, JointKind::Hinge, Vec3::new(0.1, 1.0, 0.2));
    let second = link(&mut builder, "b", first, 0.4, JointKind::Hinge, Vec3::new(1.0, 0.3, 0.0));
    let third = link(&mut builder, "c", second, 0.3, JointKind::Slide, Vec3::new(0.0, 0.2, 1.0));
    builder.soft_body(pad(third, Vec3::new(0.1, 0.0, 0.05), 0.1));
    builder.soft_body(pad(first, Vec3::new(0.1, 0.1, 0.0), 0.08));
    builder.build().expect("a model")
}

/// Kinetic energy, and that of gravity, by where the bodies and nodes are and how they move.
fn energies(model: &Model, q: &[f64], v: &[f64]) -> [f64; 2] {
    let mut moving: Vec<Motion> = Vec::new();
    motions(model, q, v, &mut moving);
    let gravity = model.options.gravity;
    let (mut kinetic, mut potential) = (0.0, 0.0);
    for (body, motion) in model.bodies.iter().zip(&moving).skip(1) {
        let inertial = &body.inertial;
        let centre = motion.pose * nalgebra::Point3::from(inertial.com);
        let spin = motion.pose.rotation.inverse() * motion.angular;
        kinetic += 0.5 * inertial.mass * motion.velocity_at(&centre.coords).norm_squared();
        kinetic += 0.5 * spin.dot(&(inertial.inertia * spin));
        potential -= inertial.mass * gravity.dot(&centre.coords);
    }
    for soft in &model.soft {
        let masses = masses(soft);
        let motion = &moving[soft.body];
        for ((mass, rest), dof) in masses.iter().zip(&soft.nodes).zip(soft.dofs()) {
            let own = |from: &[f64], first: usize| {
                dof.map_or_else(Vec3::zeros, |dof| Vec3::from_fn(|k, _| from[first + dof as usize + k]))
            };
            let at = motion.pose * nalgebra::Point3::from(rest + own(q, soft.q.start));
            let velocity = motion.velocity_at(&at.coords) + motion.pose.rotation * own(v, soft.v.start);
            kinetic += 0.5 * mass * velocity.norm_squared();
            potential -= mass * gravity.dot(&at.coords);
        }
    }
    [kinetic, potential]
}

/// A quarter of each tetrahedron for each of its corners, kg.
pub(super) fn masses(soft: &SoftBody) -> Vec<f64> {
    let mut out = vec![0.0; soft.nodes.len()];
    for corners in soft.elements.chunks_exact(4) {
        let [a, b, c, d] = [0, 1, 2, 3].map(|k| soft.nodes[corners[k] as usize]);
        let volume = (b - a).cross(&(c - a)).dot(&(d - a)) / 6.0;
        corners.iter().for_each(|&node| out[node as usize] += 0.25 * volume * soft.material.density);
    }
    out
}

pub(super) fn wave(n: usize, scale: f64, phase: f64) -> Vec<f64> {
    (0..n).map(|i| scale * (1.7 * i as f64 + phase).sin()).collect()
}

/// The mass matrix and the bias force are those of Lagrange's equations, by differences of the energies.
#[test]
fn inertia_and_bias_are_those_of_lagrange() {
    let model = chain();
    let (n, n_q) = (model.n_v, model.n_q);
    assert_eq!((n, n_q), (3 + 12 + 12, 27));
    assert_eq!((model.soft[0].v.clone(), model.soft[1].v.clone()), (3..15, 15..27));
    let mut q = wave(n, 0.01, 0.3);
    q[..3].copy_from_slice(&[0.4, -0.7, 0.05]);
    let mut v = wave(n, 0.3, 1.1);
    v[..3].copy_from_slice(&[2.0, -1.5, 0.7]);
    let mut made = batch(&model, 1, &tight());
    made.keep_steps(true).expect("kept");
    made.reset(&[(0, State { q: q.clone(), v: v.clone(), ..State::default() })]).expect("a state");
    run(&mut made, 1);
    let found = made.inspect(0).expect("an inspection");
    let kinetic = |q: &[f64], v: &[f64]| energies(&model, q, v)[0];
    let changed = |x: &[f64], i: usize, by: f64| {
        let mut x = x.to_vec();
        x[i] += by;
        x
    };
    // The energy is a quadratic form of the velocity: differences of it are exact.
    let momentum = |q: &[f64], i: usize| 0.5 * (kinetic(q, &changed(&v, i, 1.0)) - kinetic(q, &changed(&v, i, -1.0)));
    for i in 0..n {
        let along = wave(n, 1.0, i as f64);
        let product: f64 = (0..n).map(|j| found.mass[i * n + j] * along[j]).sum();
        let unit = |by: f64| kinetic(&q, &changed(&along, i, by));
        let wanted = 0.5 * (unit(1.0) - unit(-1.0));
        assert!((product - wanted).abs() < 1e-12 * wanted.abs().max(1.0), "row {i}: {product} {wanted}");
    }
    let step = 1e-5;
    let moved = |by: f64| -> Vec<f64> { q.iter().zip(&v).map(|(q, v)| q + by * v).collect() };
    for i in 0..n {
        let rate = (momentum(&moved(step), i) - momentum(&moved(-step), i)) / (2.0 * step);
        let [ahead, behind] = [step, -step].map(|by| energies(&model, &changed(&q, i, by), &v));
        let slope = |k: usize| (ahead[k] - behind[k]) / (2.0 * step);
        let wanted = rate - slope(0) + slope(1);
        assert!((found.bias[i] - wanted).abs() < 1e-7, "bias {i}: {} {wanted}", found.bias[i]);
    }
}

/// The momentum of all that moves, and its moment about the world's origin.
fn momenta(model: &Model, made: &mut Batch) -> [Vec3; 2] {
    let at = state(made, 0);
    let mut moving = Vec::new();
    motions(model, &at.q, &at.v, &mut moving);
    let mut sums = [Vec3::zeros(); 2];
    let mut add = |mass: f64, x: Vec3, velocity: Vec3| {
        sums[0] += mass * velocity;
        sums[1] += x.cross(&(mass * velocity));
    };
    for (body, motion) in model.bodies.iter().zip(&moving).skip(1) {
        let centre = (motion.pose * nalgebra::Point3::from(body.inertial.com)).coords;
        add(body.inertial.mass, centre, motion.velocity_at(&centre));
    }
    let mut turning = Vec3::zeros();
    for (body, motion) in model.bodies.iter().zip(&moving).skip(1) {
        let spin = motion.pose.rotation.inverse() * motion.angular;
        turning += motion.pose.rotation * (body.inertial.inertia * spin);
    }
    for soft in &model.soft {
        let motion = &moving[soft.body];
        for ((mass, rest), dof) in masses(soft).iter().zip(&soft.nodes).zip(soft.dofs()) {
            let own = |from: &[f64], first: usize| {
                dof.map_or_else(Vec3::zeros, |dof| Vec3::from_fn(|k, _| from[first + dof as usize + k]))
            };
            let x = (motion.pose * nalgebra::Point3::from(rest + own(&at.q, soft.q.start))).coords;
            add(*mass, x, motion.velocity_at(&x) + motion.pose.rotation * own(&at.v, soft.v.start));
        }
    }
    [sums[0], sums[1] + turning]
}

/// A free body with a soft block on it tumbles: momentum and its moment change less, the shorter the steps.
#[test]
fn momentum_is_kept_as_steps_get_short() {
    let mut builder = ModelBuilder::new("tumbling");
    builder.options.gravity = Vec3::zeros();
    let body = link(&mut builder, "hub", 0, 0.5, JointKind::Free, Vec3::z());
    builder.soft_body(pad(body, Vec3::new(0.1, 0.0, 0.05), 0.1));
    let mut model = builder.build().expect("a model");
    let mut drifts = Vec::new();
    for halved in 0..2 {
        let steps = 100 << halved;
        model.options.timestep = 0.1 / f64::from(steps);
        let mut made = batch(&model, 1, &tight());
        let mut v = vec![0.0; model.n_v];
        v[..6].copy_from_slice(&[0.3, -0.2, 0.1, 3.0, 5.0, -2.0]);
        made.reset(&[(0, State { q: model.initial_q(), v, ..State::default() })]).expect("a state");
        let before = momenta(&model, &mut made);
        run(&mut made, steps as usize);
        let after = momenta(&model, &mut made);
        drifts.push([0, 1].map(|k| (after[k] - before[k]).norm() / before[k].norm()));
    }
    for k in 0..2 {
        assert!(drifts[0][k] < 0.03 && drifts[1][k] < 0.6 * drifts[0][k], "{k}: {drifts:?}");
    }
}

/// Two fingers with soft pads, which 5 N push together, and a free box between them.
pub(super) fn gripper() -> Model {
    let mut builder = ModelBuilder::new("gripper");
    builder.options.timestep = 0.002;
    builder.geom(ground(0.5, 0.0));
    for (name, side) in [("left", -1.0), ("right", 1.0)] {
        let inertial = Inertial { mass: 0.1, com: Vec3::zeros(), inertia: Mat3::identity() * 1e-4 };
        let body = builder.body(name, 0, Pose::translation(side * 0.07, 0.0, 0.1), inertial);
        let mut joint = Joint::new(name, body, JointKind::Slide);
        joint.axis = Vec3::x() * -side;
        // Slack far away: it pushes nearly the same wherever the finger is.
        joint.stiffness = 1.0;
        joint.spring_reference = 5.0;
        builder.joint(joint);
        let mut pad = block([1, 3, 3], [0.02, 0.04, 0.04], Vec3::x() * (-side * 0.02));
        pad.body = body;
        let root = -side * 0.01;
        pad.pinned = (0..pad.nodes.len() as u32).filter(|&n| (pad.nodes[n as usize].x - root).abs() < 1e-9).collect();
        builder.soft_body(pad);
    }
    add_box(&mut builder, Vec3::new(0.035, 0.03, 0.03), BOX, Vec3::new(0.0, 0.0, 0.1));
    builder.build().expect("a model")
}

/// kg
const BOX: f64 = 0.2;

/// Fingers with soft pads hold a box: it does not creep, and friction carries its weight.
#[test]
fn soft_pads_on_fingers_hold_a_box() {
    let model = gripper();
    let free = model.joints.iter().find(|joint| joint.kind == JointKind::Free).expect("the box");
    for (name, options) in executors(&tight()) {
        let mut made = batch(&model, 1, &options);
        run(&mut made, 500);
        let height = |made: &mut Batch| state(made, 0).q[free.q_start + 2];
        let before = height(&mut made);
        assert!(before > 0.09, "{name}: it fell to {before}");
        run(&mut made, 500);
        let crept = (height(&mut made) - before).abs();
        assert!(crept < 1e-9, "{name}: {crept}");
        let mut all = Vec::new();
        made.summaries(&mut all).expect("certificates");
        assert!(all[0].residual <= 1e-10, "{name}: {:?}", all[0]);
        let mut impulses = Vec::new();
        made.contact_impulses(&mut impulses).expect("impulses");
        let sign = |own: [usize; 2]| f64::from(own[1] == free.body) - f64::from(own[0] == free.body);
        let carried: f64 = impulses.iter().map(|of| sign(of.bodies) * of.impulse[2]).sum();
        assert!((carried - BOX * 9.81 * 0.002).abs() < 1e-8, "{name}: {carried}");
    }
}

/// The problem that a batch gives away after a step is the one that the step solved.
#[test]
fn the_problem_of_a_step_gives_its_velocity() {
    for (name, model) in [("gripper", gripper()), ("pinch", pinched(3, 0.5)), ("box", on_the_ground(2, true))] {
        let mut made = batch(&model, 1, &tight());
        run(&mut made, 40);
        let step = made.contact_problem(0).expect("a problem");
        assert!(step.problem.n_contacts > 8, "{name}");
        let found = step.problem.velocity(&step.impulse);
        let off = found.iter().zip(&step.velocity).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(off < 1e-9, "{name}: {off}");
    }
}
