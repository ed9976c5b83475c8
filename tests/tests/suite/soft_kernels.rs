//! Soft bodies by kernels, alone or on what is in no tree: as the host moves them, whoever else moves.

use manyworlds::{
    Batch, BatchOptions, ContactReport, Executor, FieldId, Model, ModelBuilder, Parameter, Precision, RoundTrips,
    Summary, status,
};
use manyworlds_model::{
    Actuator, Contacting, Geom, Inertial, Joint, JointKind, Mat3, MaterialLaw, Order, Pose, Region, Shape, SoftBody,
    Transmission, Vec3,
};
use manyworlds_tests::batches::{bits, executors, state};
use manyworlds_tests::soft::{add_box, block, caged, ground, quadratic};
use nalgebra::Translation3;

/// Time step, s.
const H: f64 = 2e-3;

fn options(precision: Precision) -> BatchOptions {
    let tolerance = if precision == Precision::F64 { 1e-11 } else { 1e-6 };
    BatchOptions { executor: Executor::Cpu, precision, tolerance, iterations: 1000, ..BatchOptions::default() }
}

/// A bar of 24 nodes on a body, pinned at an end, a half of it under pressure.
fn bar(body: usize, law: MaterialLaw) -> SoftBody {
    let mut own = block([5, 1, 1], [0.25, 0.05, 0.05], Vec3::zeros());
    (own.body, own.pinned, own.material.law) = (body, (0..4).collect(), law);
    own.regions = vec![Region { name: String::new(), elements: (0..15).collect(), pressure: 200.0 }];
    own
}

/// A soft block a tenth of a millimetre above a box of 0.1 m that lies on the ground at x = 3 m.
fn resting_on_the_box() -> SoftBody {
    block([1; 3], [0.1; 3], Vec3::new(3.0, 0.0, 0.1501))
}

/// A bar on a mocap body, pressed by a control, an arm with a motor and a box that lies on the ground. `touched`: far away another soft
/// body falls on the box, so that the host solves the world from when it gets there.
fn model(law: MaterialLaw, touched: bool) -> Model {
    let massless = || Inertial { mass: 0.0, com: Vec3::zeros(), inertia: Mat3::zeros() };
    let rod = || Inertial { mass: 1.0, com: Vec3::new(0.1, 0.0, 0.0), inertia: Mat3::identity() * 0.01 };
    let at = |x: f64, z: f64| Pose::from_parts(Translation3::new(x, 0.0, z), Pose::identity().rotation);
    let mut builder = ModelBuilder::new("bar");
    builder.options.timestep = H;
    builder.geom(ground(0.5, 0.0));
    let plate = builder.body("plate", 0, at(0.0, 1.0), massless());
    builder.mocap(plate);
    let arm = builder.body("arm", 0, at(2.0, 1.0), rod());
    let joint = builder.joint(Joint { axis: Vec3::y(), ..Joint::new("shoulder", arm, JointKind::Hinge) });
    add_box(&mut builder, Vec3::repeat(0.05), 1.0, Vec3::new(3.0, 0.0, 0.05));
    builder.soft_body(bar(plate, law));
    if touched {
        builder.soft_body(resting_on_the_box());
    }
    builder.actuator(Actuator { gain: [1.0, 0.0, 0.0], ..Actuator::new("motor", Transmission::Joint(joint)) });
    builder.actuator(Actuator {
        gain: [300.0, 0.0, 0.0],
        ctrl_range: Some([-1.0, 1.0]),
        ..Actuator::new("pressure", Transmission::Region { soft: 0, region: 0 })
    });
    builder.build().expect("a model")
}

/// Steps of all worlds, their mocap bodies on the same way.
fn run(made: &mut Batch, steps: std::ops::Range<u32>) {
    let worlds = made.len();
    for step in steps {
        let t = H * f64::from(step);
        let turn = Pose::rotation(Vec3::new(0.0, 0.3, 1.0) * t).rotation;
        let at = Vec3::new(0.1 * (9.0 * t).sin(), 0.5 * t, 1.0);
        let pose = [at.x, at.y, at.z, turn.w, turn.i, turn.j, turn.k];
        made.write(0, FieldId::Mocap, &pose.repeat(worlds)).expect("a write");
        let controls: Vec<f64> = (0..worlds).flat_map(|_| [0.4 * (20.0 * t).sin(), 30.0 * t]).collect();
        made.step(&controls).expect("a step");
    }
}

fn batch(model: &Model, worlds: usize, options: &BatchOptions) -> Batch {
    let mut made = Batch::new(&[(model, worlds)], options).expect("a batch");
    if worlds > 1 {
        let tree = model.trees.iter().position(|tree| tree.soft == Some(0)).expect("a soft body");
        made.set_parameter(1, tree, Parameter::Young, &[2e4]).expect("set");
    }
    made
}

/// Nodes of the bar, and how the arm stands.
fn places(made: &mut Batch, model: &Model, world: usize) -> Vec<f64> {
    let nodes = made.soft(world).expect("soft bodies").remove(0).nodes;
    let hinge = model.joints.iter().find(|joint| joint.kind == JointKind::Hinge).expect("a hinge").q_start;
    nodes.into_iter().flatten().chain([state(made, world).q[hinge]]).collect()
}

#[test]
fn what_nothing_touches_moves_as_the_host_moves_it() {
    for law in [MaterialLaw::NeoHookean, MaterialLaw::Corotated] {
        let (free, touched) = (model(law, false), model(law, true));
        let mut host = batch(&touched, 2, &options(Precision::F64));
        run(&mut host, 0..60);
        let mut all = Vec::new();
        host.summaries(&mut all).expect("summaries");
        assert!(all.iter().all(|s| s.stage.is_some()), "the host had no part: {all:?}");
        for (precision, tolerance) in [(Precision::F64, 1e-9), (Precision::F32, 2e-4)] {
            for (name, options) in executors(&options(precision)) {
                // More worlds than a tile has.
                let mut made = batch(&free, 10, &options);
                run(&mut made, 0..60);
                made.summaries(&mut all).expect("summaries");
                let by_kernels =
                    |s: &manyworlds::Summary| s.status == status::CONVERGED && s.stage.is_none() && s.iterations > 0;
                assert!(all.iter().all(by_kernels), "{name}: {all:?}");
                let balanced = |s: &manyworlds::Summary| 0.0 < s.balance && s.balance <= options.tolerance * 1.001;
                assert!(all.iter().all(balanced), "{name}: {all:?}");
                for (world, other) in [(0, 0), (1, 1), (9, 0)] {
                    let (ours, theirs) = (places(&mut made, &free, world), places(&mut host, &touched, other));
                    let off = ours.iter().zip(&theirs).fold(0.0, |most: f64, (a, b)| most.max((a - b).abs()));
                    assert!(off < tolerance, "{law:?}, {precision:?}, {name}, world {world}: {off}");
                }
                assert!(all[0].iterations <= 8, "{:?}", all[0]);
            }
        }
    }
}

/// Alone or among others, of another material, touched or not.
#[test]
fn what_a_world_does_depends_on_no_other() {
    let model = model(MaterialLaw::NeoHookean, true);
    for precision in [Precision::F64, Precision::F32] {
        for (name, options) in executors(&options(precision)) {
            let (mut alone, mut many) = (batch(&model, 1, &options), batch(&model, 9, &options));
            // The block far away begins on high in all worlds but the third.
            let soft = model.soft[1].q.clone();
            for (made, lifted) in [(&mut alone, 0..1), (&mut many, 0..9)] {
                for world in lifted.filter(|&world| world != 2) {
                    let mut from = state(made, world);
                    from.q[soft.clone()].iter_mut().skip(2).step_by(3).for_each(|z| *z += 0.03);
                    made.reset(&[(world, from)]).expect("a state");
                }
            }
            run(&mut alone, 0..80);
            run(&mut many, 0..20);
            let mut all = Vec::new();
            many.summaries(&mut all).expect("summaries");
            assert!(all[2].stage.is_some() && all[3].stage.is_none(), "{name}: {all:?}");
            run(&mut many, 20..80);
            let last = bits(&state(&mut alone, 0));
            assert_eq!(bits(&state(&mut many, 0)), last, "{precision:?}, {name}");
            assert_eq!(bits(&state(&mut many, 8)), last, "{precision:?}, {name}");
            assert_ne!(bits(&state(&mut many, 1)), last);
        }
    }
}

/// A soft body slides over the ground while a mocap body presses it from above. `by_host`: far away another one lies on a box.
fn pressed(soft: SoftBody, by_host: bool) -> Model {
    let mut builder = ModelBuilder::new("pressed");
    builder.options.timestep = H;
    builder.geom(ground(0.2, 0.0));
    let inertial = Inertial { mass: 0.0, com: Vec3::zeros(), inertia: Mat3::zeros() };
    let plate = builder.body("plate", 0, Pose::translation(0.0, 0.0, 0.1115), inertial);
    builder.mocap(plate);
    let shape = Shape::Box { half: Vec3::new(0.04, 0.1, 0.01) };
    // Its contacts are more than the nodes they lie between: with friction, motion would hang on how they share it.
    let contact = Contacting { frictionless: true, priority: 1, ..Contacting::default() };
    builder.geom(Geom { name: "plate".into(), body: plate, shape, pose: Pose::identity(), contact });
    builder.soft_body(soft);
    if by_host {
        add_box(&mut builder, Vec3::repeat(0.05), 1.0, Vec3::new(3.0, 0.0, 0.05));
        builder.soft_body(resting_on_the_box());
    }
    builder.build().expect("a model")
}

/// Nodes of the first soft body of a world after every fifth step, pushed along x at first and pressed more and more; how many of a
/// thousand steps kernels solved.
fn press(model: &Model, worlds: usize, options: &BatchOptions) -> (Vec<Vec<f64>>, usize, Batch) {
    let mut made = Batch::new(&[(model, worlds)], options).expect("a batch");
    for world in 0..worlds {
        let mut from = state(&mut made, world);
        from.v[model.soft[0].v.clone()].iter_mut().step_by(3).for_each(|v| *v = 0.6 - 0.05 * (world % 4) as f64);
        made.reset(&[(world, from)]).expect("a state");
    }
    let mut places = vec![Vec::new(); worlds];
    let (mut all, mut by_kernels, steps) = (Vec::new(), 0, 50);
    for step in 0..steps {
        let t = H * f64::from(step);
        let pose = [0.3 * t, 0.0, 0.1115 - 0.05 * t, 1.0, 0.0, 0.0, 0.0];
        made.write(0, FieldId::Mocap, &pose.repeat(worlds)).expect("a write");
        made.step::<f64>(&[]).expect("a step");
        if step % 5 == 4 {
            for (world, places) in places.iter_mut().enumerate() {
                places.extend(made.soft(world).expect("soft bodies").remove(0).nodes.into_iter().flatten());
            }
        }
        all.clear();
        made.summaries(&mut all).expect("summaries");
        by_kernels += all.iter().filter(|s| s.stage.is_none() && s.iterations > 0).count();
        let most = options.tolerance * 1.001;
        let is_solved = |s: &Summary| s.status == status::CONVERGED && s.residual <= most && s.balance <= most;
        assert!(all.iter().all(is_solved), "{step}: {all:?}");
    }
    (places, 1000 * by_kernels / (steps as usize * worlds), made)
}

#[test]
fn what_stands_or_a_mocap_body_presses_moves_as_the_host_moves_it() {
    // With much friction a step may have several answers.
    let own = |cells| {
        let mut own = block(cells, [0.15, 0.1, 0.1], Vec3::new(0.0, 0.0, 0.0502));
        own.contacting.friction = 0.2;
        own
    };
    let caged = caged(own([1; 3]), [1; 3], Order::Trilinear);
    for soft in [own([3, 2, 2]), quadratic(own([2, 1, 1])), caged] {
        let order = soft.order;
        let (theirs, by_kernels, _) = press(&pressed(soft.clone(), true), 4, &options(Precision::F64));
        assert_eq!(by_kernels, 0, "kernels had a part");
        // What slides makes differences of rounding grow.
        for (precision, tolerance) in [(Precision::F64, 1e-7), (Precision::F32, 1e-4)] {
            for (name, options) in executors(&options(precision)) {
                let model = pressed(soft.clone(), false);
                let (ours, by_kernels, mut made) = press(&model, 10, &options);
                // What a software adapter's loops have room for is less.
                let least = if name == "cpu" { 700 } else { 1 };
                assert!(by_kernels >= least, "{order:?}, {precision:?}, {name}: {by_kernels} of 1000 by kernels");
                let found = made.inspect(0).expect("a world").contacts;
                let slides = |c: &&ContactReport| c.impulse[0].hypot(c.impulse[1]) > 0.999 * c.friction * c.impulse[2];
                assert!(found.iter().any(|c| c.impulse[2] > 1e-4) && found.iter().any(|c| slides(&c)), "{found:?}");
                for (world, places) in ours.iter().enumerate() {
                    let theirs = &theirs[world % 4];
                    let off = places.iter().zip(theirs).fold(0.0, |most: f64, (a, b)| most.max((a - b).abs()));
                    assert!(off < tolerance, "{order:?}, {precision:?}, {name}, world {world}: {off}");
                }
            }
        }
    }
}

#[test]
fn a_step_of_soft_bodies_is_one_submission_and_one_wait() {
    let Some((_, options)) = executors(&options(Precision::F32)).into_iter().find(|(name, _)| *name == "gpu") else {
        return;
    };
    let own = || block([3, 2, 2], [0.15, 0.1, 0.1], Vec3::new(0.0, 0.0, 0.0502));
    for model in [model(MaterialLaw::NeoHookean, false), pressed(own(), false)] {
        let mut made = batch(&model, 4, &options);
        // What mocap bodies do comes from the host.
        let controls = vec![0.1; 4 * model.actuators.len()];
        let steps = |made: &mut Batch, n: usize| (0..n).for_each(|_| made.step(&controls).expect("a step"));
        steps(&mut made, 30);
        let before = made.round_trips();
        steps(&mut made, 10);
        assert_eq!(made.round_trips().since(before), RoundTrips { submissions: 10, waits: 10 });
    }
}
