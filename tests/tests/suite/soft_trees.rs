//! Soft bodies that trees touch, by kernels: both move as the host moves them.

use manyworlds::{
    Batch, BatchOptions, ContactReport, Executor, Model, ModelBuilder, Precision, RoundTrips, Summary, status,
};
use manyworlds_model::{Contacting, Geom, Inertial, Joint, JointKind, Mat3, Order, Pose, Shape, SoftBody, Vec3};
use manyworlds_tests::batches::{executors, largest_difference, state};
use manyworlds_tests::soft::{block, by_host, caged, ground, pinched, quadratic};

/// Time step, s.
const H: f64 = 2e-3;

fn options(precision: Precision) -> BatchOptions {
    let tolerance = if precision == Precision::F64 { 1e-11 } else { 1e-6 };
    BatchOptions { executor: Executor::Cpu, precision, tolerance, iterations: 1000, ..BatchOptions::default() }
}

/// A block whose lowest nodes are pinned.
fn pinned(mut soft: SoftBody) -> SoftBody {
    let lowest = soft.nodes.iter().map(|node| node.z).fold(f64::INFINITY, f64::min);
    soft.pinned = (0..soft.nodes.len() as u32).filter(|&i| soft.nodes[i as usize].z < lowest + 1e-9).collect();
    soft.contacting.friction = 0.3;
    soft
}

/// Three links of 0.2 m on hinges, with a ball at the end, that fall onto a soft body whose top is at 0.1 m; beside them an arm that
/// nothing touches.
fn arm(soft: SoftBody) -> ModelBuilder {
    let mut builder = ModelBuilder::new("arm");
    builder.options.timestep = H;
    builder.geom(ground(0.5, 0.0));
    let rod = || Inertial { mass: 0.3, com: Vec3::new(0.1, 0.0, 0.0), inertia: Mat3::identity() * 1e-3 };
    for (y, height) in [(0.0, 0.3), (2.0, 1.5)] {
        let mut parent = 0;
        for link in 0..3 {
            let at = if link == 0 { Pose::translation(-0.45, y, height) } else { Pose::translation(0.2, 0.0, 0.0) };
            let body = builder.body("link", parent, at, rod());
            let axis = if link == 1 { Vec3::z() } else { Vec3::y() };
            let mut joint = Joint { axis, ..Joint::new("hinge", body, JointKind::Hinge) };
            joint.damping = 0.05;
            builder.joint(joint);
            parent = body;
        }
        let contact = Contacting { friction: 0.3, ..Contacting::default() };
        let shape = Shape::Sphere { radius: 0.02 };
        let pose = Pose::translation(0.2, 0.0, 0.0);
        builder.geom(Geom { name: "ball".into(), body: parent, shape, pose, contact });
    }
    builder.soft_body(soft);
    builder
}

/// A box without friction: its contacts are more than the nodes they lie between, and with friction motion would hang on how they share
/// it.
fn smooth_box(builder: &mut ModelBuilder, x: f64, z: f64) {
    let inertial = Inertial { mass: 0.2, com: Vec3::zeros(), inertia: Mat3::identity() * 1e-4 };
    let body = builder.body("box", 0, Pose::translation(x, 0.0, z), inertial);
    builder.joint(Joint::new("box", body, JointKind::Free));
    let contact = Contacting { frictionless: true, priority: 1, ..Contacting::default() };
    let shape = Shape::Box { half: Vec3::new(0.03, 0.04, 0.02) };
    builder.geom(Geom { name: "box".into(), body, shape, pose: Pose::identity(), contact });
}

/// Two boxes on a soft block that slides over the ground, nothing of which has friction.
fn boxes(soft: SoftBody) -> ModelBuilder {
    let mut builder = ModelBuilder::new("boxes");
    builder.options.timestep = H;
    builder.geom(ground(0.0, 0.0));
    builder.soft_body(soft);
    for x in [-0.06, 0.06] {
        smooth_box(&mut builder, x, 0.125);
    }
    builder
}

/// The arm, and a box that is there before it: then the arm's degrees of freedom come to stand where the box's were.
fn arm_and_box(soft: SoftBody) -> ModelBuilder {
    let mut builder = arm(soft);
    smooth_box(&mut builder, 0.2, 0.1203);
    builder
}

/// Nodes of the first soft body and positions of the first trees after every fifth step; how many of a thousand steps kernels solved.
fn run(model: &Model, n_q: usize, worlds: usize, options: &BatchOptions) -> (Vec<Vec<f64>>, usize, Batch) {
    let mut made = Batch::new(&[(model, worlds)], options).expect("a batch");
    for world in 0..worlds {
        let mut from = state(&mut made, world);
        from.v[model.soft[0].v.clone()].iter_mut().step_by(3).for_each(|v| *v = 0.1 * (world % 3) as f64);
        // An arm is nearly there in some.
        if model.joints[0].kind == JointKind::Hinge {
            from.q[0] = if world % 3 == 0 { 0.28 } else { 0.24 };
        }
        made.reset(&[(world, from)]).expect("a state");
    }
    let mut places = vec![Vec::new(); worlds];
    let (mut all, mut by_kernels, steps) = (Vec::new(), 0, 60);
    for step in 0..steps {
        made.step::<f64>(&[]).expect("a step");
        if step % 5 == 4 {
            for (world, places) in places.iter_mut().enumerate() {
                places.extend(made.soft(world).expect("soft bodies").remove(0).nodes.into_iter().flatten());
                places.extend(&state(&mut made, world).q[..n_q]);
            }
        }
        all.clear();
        made.summaries(&mut all).expect("summaries");
        by_kernels += all.iter().filter(|s| s.stage.is_none() && s.iterations > 0).count();
        let most = options.tolerance * 1.001;
        // Balance and laws are each within the tolerance.
        let within = |s: &Summary| s.residual <= std::f64::consts::SQRT_2 * most && s.balance <= most;
        assert!(all.iter().all(|s| s.status == status::CONVERGED && within(s)), "{step}: {all:?}");
    }
    (places, 1000 * by_kernels / (steps * worlds), made)
}

/// Whether a contact of a soft body with a tree pushes.
fn pushes(model: &Model, contact: &ContactReport) -> bool {
    let [body, soft] = contact.bodies;
    body != 0 && soft >= model.bodies.len() && contact.impulse[2] > 1e-5
}

#[test]
fn trees_that_touch_soft_bodies_move_as_the_host_moves_them() {
    let stands = |cells| block(cells, [0.3, 0.1, 0.1], Vec3::new(0.1, 0.0, 0.05));
    let slides = |cells| {
        let mut own = block(cells, [0.2, 0.1, 0.1], Vec3::new(0.0, 0.0, 0.0502));
        own.contacting.friction = 0.0;
        own
    };
    let scenes: [(&str, ModelBuilder); 4] = [
        ("arm, quadratic", arm(pinned(quadratic(stands([3, 1, 1]))))),
        ("arm, cage", arm(pinned(caged(stands([3, 1, 1]), [2, 1, 1], Order::Trilinear)))),
        ("arm and box", arm_and_box(pinned(stands([4, 2, 2])))),
        ("boxes", boxes(slides([4, 2, 2]))),
    ];
    for (scene, builder) in scenes {
        let model = builder.clone().build().expect("a model");
        let n_q = if scene == "boxes" { 14 } else { 6 };
        let (theirs, by_kernels, _) = run(&by_host(builder), n_q, 3, &options(Precision::F64));
        assert_eq!(by_kernels, 0, "{scene}: kernels had a part");
        for (precision, tolerance) in [(Precision::F64, 1e-7), (Precision::F32, 1e-4)] {
            for (name, options) in executors(&options(precision)) {
                let (ours, by_kernels, mut made) = run(&model, n_q, 9, &options);
                // What a software adapter's loops have room for is less.
                let least = if name == "cpu" { 500 } else { 1 };
                assert!(by_kernels >= least, "{scene}, {precision:?}, {name}: {by_kernels} of 1000 by kernels");
                let found = made.inspect(0).expect("a world").contacts;
                assert!(found.iter().any(|contact| pushes(&model, contact)), "{scene}, {name}: {found:?}");
                for (world, places) in ours.iter().enumerate() {
                    let off = largest_difference(places, &theirs[world % 3]);
                    assert!(off < tolerance, "{scene}, {precision:?}, {name}, world {world}: {off}");
                }
            }
        }
    }
}

/// On a device, too: trees are brought to the soft body's lanes and back in the step's own submission.
#[test]
fn a_step_of_a_pinched_cube_is_one_submission_and_one_wait() {
    let Some((_, options)) = executors(&options(Precision::F32)).into_iter().find(|(name, _)| *name == "gpu") else {
        return;
    };
    let mut made = Batch::new(&[(&pinched(2, 0.5), 4)], &options).expect("a batch");
    let steps = |made: &mut Batch, n: usize| (0..n).for_each(|_| made.step::<f64>(&[]).expect("a step"));
    steps(&mut made, 30);
    let before = made.round_trips();
    steps(&mut made, 10);
    assert_eq!(made.round_trips().since(before), RoundTrips { submissions: 10, waits: 10 });
    let found = made.inspect(0).expect("a world").contacts;
    assert!(found.iter().any(|contact| contact.bodies[0] != 0 && contact.impulse[2] > 1e-4), "{found:?}");
}
