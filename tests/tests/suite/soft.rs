//! Soft bodies in contact, through the public crate.

use manyworlds::gradcheck::Checker;
use manyworlds::{Batch, BatchOptions, ModelBuilder, Parameter, Precision, Summary, status};
use manyworlds_model::Vec3;
use manyworlds_tests::batches::{batch, bits, executors, run, state, tight};
use manyworlds_tests::soft::{DENSITY, add_box, block, ground, on_the_ground, pinched};

const G: f64 = 9.81;

fn summary(batch: &mut Batch) -> Summary {
    let mut all = Vec::new();
    batch.summaries(&mut all).expect("certificates");
    all[0]
}

fn fastest(v: &[f64]) -> f64 {
    v.iter().fold(0.0, |most, v| v.abs().max(most))
}

/// Sum of the impulses on soft bodies, and on the bodies of others, in world axes, N s; the ground's do not count.
fn impulses(batch: &mut Batch, bodies: usize) -> [Vec3; 2] {
    let mut out = Vec::new();
    batch.contact_impulses(&mut out).expect("impulses");
    let mut sums = [Vec3::zeros(); 2];
    for contact in &out {
        for (body, sign) in contact.bodies.into_iter().zip([-1.0, 1.0]) {
            if body > 0 {
                sums[usize::from(body < bodies)] += sign * Vec3::from(contact.impulse);
            }
        }
    }
    sums
}

/// A soft block and a rigid box on it come to rest on the ground: contacts carry their weights.
#[test]
fn what_rests_on_a_soft_body_is_carried() {
    let model = on_the_ground(3, true);
    for (name, options) in executors(&tight()) {
        let mut made = batch(&model, 1, &options);
        run(&mut made, 1500);
        let own = summary(&mut made);
        assert_eq!(own.status & !status::CONVERGED, 0, "{name}: {}", own.status_name());
        assert!(own.residual <= 1e-11 && own.contacts > 30 && own.penetration < 1e-6, "{name}: {own:?}");
        let v = state(&mut made, 0).v;
        assert!(fastest(&v) < 0.02, "{name}: {}", fastest(&v));
        let [soft, rigid] = impulses(&mut made, model.bodies.len());
        // What still moves of the box has momentum of its own.
        assert!(
            (rigid.z - G * 0.002).abs() < 1e-4 && (soft.z - DENSITY * 1e-3 * G * 0.002).abs() < 1e-4,
            "{soft} {rigid}"
        );
    }
}

/// Every solver of exact contact ends a step at the same velocity, while a block sways on the ground. With a rigid box on it,
/// whose corners press on triangles, several velocities obey the laws.
#[test]
fn solvers_agree() {
    let model = on_the_ground(2, false);
    let mut first = batch(&model, 1, &tight());
    run(&mut first, 60);
    let from = state(&mut first, 0);
    let mut reference = Vec::new();
    // Sweeps come near slowly.
    for (solver, tolerance) in
        [("auto", 1e-9), ("pgs", 1e-7), ("canal", 1e-9), ("subadmm", 1e-7), ("newton-cr", 1e-9), ("newton", 1e-9)]
    {
        let options = BatchOptions { solver: solver.into(), tolerance, iterations: 5000, ..tight() };
        let mut made = batch(&model, 1, &options);
        made.reset(&[(0, from.clone())]).expect("a state");
        run(&mut made, 1);
        let own = summary(&mut made);
        assert!(own.residual <= tolerance && own.status & status::CONVERGED != 0, "{solver}: {own:?}");
        let v = state(&mut made, 0).v;
        if reference.is_empty() {
            reference = v;
            continue;
        }
        let apart = v.iter().zip(&reference).fold(0.0, |most: f64, (a, b)| most.max((a - b).abs()));
        // A residual is an impulse; nodes weigh down to 5 g.
        // A residual is an impulse; nodes weigh down to 5 g.
        assert!(apart < 1e4 * tolerance, "{solver}: {apart}");
    }
}

/// On an incline a soft block sticks at 0.99 of the angle of friction and slides beyond it.
#[test]
fn a_soft_block_sticks_on_an_incline_below_the_angle_of_friction() {
    let friction: f64 = 0.5;
    for (part, sticks) in [(0.99, true), (1.02, false)] {
        let angle = (part * friction).atan();
        let mut builder = ModelBuilder::new("incline");
        builder.options.timestep = 0.002;
        builder.options.gravity = Vec3::new(G * angle.sin(), 0.0, -G * angle.cos());
        builder.geom(ground(friction, 0.0));
        let mut soft = block([2; 3], [0.1; 3], Vec3::new(0.0, 0.0, 0.05));
        soft.material.young = 1e6;
        soft.material.damping = 0.01;
        builder.soft_body(soft);
        let model = builder.build().expect("a model");
        let mut made = batch(&model, 1, &BatchOptions { tolerance: 1e-12, ..tight() });
        run(&mut made, 1500);
        let first = state(&mut made, 0);
        run(&mut made, 500);
        let last = state(&mut made, 0);
        let moved =
            last.q.iter().zip(&first.q).step_by(3).map(|(a, b)| a - b).sum::<f64>() / (first.q.len() / 3) as f64;
        assert_eq!(moved.abs() < 1e-9, sticks, "{part} of the angle: {moved} m in 1 s, {}", fastest(&last.v));
    }
}

/// Pads that push hold a soft cube at 1.02 of the friction coefficient that its weight asks for, and drop it at 0.98.
#[test]
fn pads_hold_a_soft_cube_from_the_threshold_of_friction_on() {
    let threshold = DENSITY * 0.05_f64.powi(3) * G / (2.0 * 10.0);
    for (part, holds) in [(1.02, true), (0.98, false)] {
        let model = pinched(2, part * threshold);
        let mut made = batch(&model, 1, &BatchOptions { tolerance: 1e-12, ..tight() });
        run(&mut made, 1500);
        let height = |made: &mut Batch| {
            let nodes = made.soft(0).expect("soft bodies").remove(0).nodes;
            nodes.iter().map(|node| node[2]).sum::<f64>() / nodes.len() as f64
        };
        let before = height(&mut made);
        run(&mut made, 500);
        let creep = height(&mut made) - before;
        assert_eq!(creep.abs() < 1e-9, holds, "{part} of the threshold: {creep} m in 1 s");
    }
}

/// Derivatives of a step through contact, beside central differences.
#[test]
fn derivatives_are_those_of_differences() {
    let mut builder = ModelBuilder::new("held");
    builder.options.timestep = 0.002;
    builder.geom(ground(0.5, 0.0));
    builder.soft_body(block([2; 3], [0.1; 3], Vec3::new(0.0, 0.0, 0.051)));
    // Wider than the block: its nodes touch the box's face.
    add_box(&mut builder, Vec3::new(0.08, 0.08, 0.02), 1.0, Vec3::new(0.0, 0.0, 0.122));
    let model = builder.build().expect("a model");
    let mut made = batch(&model, 1, &tight());
    run(&mut made, 100);
    let from = state(&mut made, 0);
    let mut checker = Checker::sampled(&model, &tight(), 1e-5, 40).expect("a checker");
    let found = checker.compare(&from).expect("a comparison");
    let certificate = &found.jacobian.certificate;
    assert!(certificate.problems.is_empty() && certificate.problems_by_q.is_empty(), "{certificate:?}");
    assert!(certificate.size > 12, "{certificate:?}");
    assert!(found.error() < 1e-6, "{:?}", found.blocks);
}

/// Restored, a batch goes on by the same bits; so does one with other worlds beside it.
#[test]
fn soft_worlds_are_restored_and_do_not_see_each_other() {
    let model = on_the_ground(2, true);
    for precision in [Precision::F32, Precision::F64] {
        let options = BatchOptions { precision, tolerance: 1e-5, ..tight() };
        let mut alone = batch(&model, 1, &options);
        let mut many = batch(&model, 3, &options);
        run(&mut alone, 40);
        run(&mut many, 40);
        let checkpoint = alone.checkpoint().expect("a checkpoint");
        run(&mut alone, 20);
        run(&mut many, 20);
        let last = bits(&state(&mut alone, 0));
        for world in 0..3 {
            assert_eq!(bits(&state(&mut many, world)), last, "{precision:?}, world {world}");
        }
        alone.restore(&checkpoint).expect("restored");
        run(&mut alone, 20);
        assert_eq!(bits(&state(&mut alone, 0)), last, "{precision:?}: restored");
    }
}

/// A world may have a material of its own, and one that breaks harms no other.
#[test]
fn worlds_have_materials_of_their_own_and_fail_alone() {
    let model = on_the_ground(2, false);
    let mut made = batch(&model, 3, &tight());
    made.set_parameter(1, 0, Parameter::Young, &[2e4]).expect("set");
    let wrong = made.set_parameter(1, 0, Parameter::Poisson, &[0.5]).expect_err("no such material");
    assert!(wrong.to_string().contains("below 0.5"), "{wrong}");
    let mut broken = state(&mut made, 2);
    broken.v[4] = f64::NAN;
    let refused = made.reset(&[(2, broken.clone())]);
    broken.v[4] = 1e12;
    if refused.is_ok() {
        made.reset(&[(2, broken)]).expect("a state");
    }
    run(&mut made, 400);
    let low = |made: &mut Batch, world| {
        let nodes = made.soft(world).expect("soft bodies").remove(0).nodes;
        nodes.iter().fold(0.0, |top: f64, node| top.max(node[2]))
    };
    let (stiff, weak) = (low(&mut made, 0), low(&mut made, 1));
    assert!(stiff > weak + 1e-3 && weak > 0.08, "{stiff} {weak}");
}
