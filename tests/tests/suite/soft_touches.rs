//! Derivatives of contacts inside of triangles and on their edges, beside central differences: of soft bodies with each other, with
//! themselves, and with shapes that touch no vertex.

use std::f64::consts::FRAC_PI_4;

use manyworlds::gradcheck::Checker;
use manyworlds::{Model, ModelBuilder, State};
use manyworlds_model::{Contacting, Geom, Inertial, Joint, JointKind, Mat3, Order, Pose, Shape, SoftBody, Vec3};
use manyworlds_tests::batches::{batch, run, state, tight};
use manyworlds_tests::soft::{block, caged, folded, ground, link, quadratic};
use nalgebra::UnitQuaternion;

/// A block turned about its middle.
fn turned(cells: [usize; 3], size: f64, [roll, pitch, yaw]: [f64; 3], at: Vec3) -> SoftBody {
    let mut soft = block(cells, [size; 3], Vec3::zeros());
    let turn = UnitQuaternion::from_euler_angles(roll, pitch, yaw);
    soft.nodes.iter_mut().for_each(|node| *node = turn * *node + at);
    soft
}

/// A block on the ground that others fall on.
pub(super) fn low() -> SoftBody {
    block([2, 2, 1], [0.1, 0.1, 0.04], Vec3::new(0.0, 0.0, 0.0201))
}

/// A wide block that is held below.
pub(super) fn slab() -> SoftBody {
    let mut slab = block([4, 4, 1], [1.2, 1.2, 0.1], Vec3::new(0.2, 0.2, 0.05));
    slab.pinned = (0..slab.nodes.len() as u32).filter(|&node| slab.nodes[node as usize].z < 0.01).collect();
    slab
}

/// The ground, and soft bodies above it.
pub(super) fn scene(soft: impl IntoIterator<Item = SoftBody>) -> ModelBuilder {
    let mut builder = ModelBuilder::new("touches");
    builder.options.timestep = 0.002;
    builder.geom(ground(0.5, 0.0));
    for mut soft in soft {
        soft.contacting.friction = 0.5;
        builder.soft_body(soft);
    }
    builder
}

/// A free body of some shape.
pub(super) fn falling(mut builder: ModelBuilder, shape: Shape, pose: Pose) -> ModelBuilder {
    let inertial = Inertial { mass: 0.1, com: Vec3::zeros(), inertia: Mat3::from_diagonal_element(2e-5) };
    let body = builder.body("falling", 0, pose, inertial);
    builder.joint(Joint::new("falling", body, JointKind::Free));
    let contact = Contacting { friction: 0.5, ..Contacting::default() };
    builder.geom(Geom { name: "falling".into(), body, shape, pose: Pose::identity(), contact });
    builder
}

/// Where what falls stands before.
pub(super) fn pose([roll, pitch, yaw]: [f64; 3], at: Vec3) -> Pose {
    Pose::from_parts(at.into(), UnitQuaternion::from_euler_angles(roll, pitch, yaw))
}

/// The state so many steps after something touched a soft body first.
pub(super) fn touching(what: &str, model: &Model, after: usize) -> State {
    let mut made = batch(model, 1, &tight());
    let mut impulses = Vec::new();
    let touched = (0..300).any(|_| {
        run(&mut made, 1);
        made.contact_impulses(&mut impulses).expect("impulses");
        // The ground is body 0.
        impulses.iter().any(|contact| contact.bodies[0] != 0 && contact.impulse.iter().any(|x| x.abs() > 1e-6))
    });
    assert!(touched, "{what}");
    run(&mut made, after);
    state(&mut made, 0)
}

/// Checks the derivative of a step there.
fn compare(what: &str, builder: ModelBuilder, after: usize) {
    let model = builder.build().expect("a model");
    let from = touching(what, &model, after);
    let mut checker = Checker::sampled(&model, &tight(), 1e-6, 80).expect("a checker");
    let found = checker.compare_closely(&from, 1e-6).expect("a comparison");
    let certificate = &found.jacobian.certificate;
    // Of redundant contacts some are left without impulse, which the certificate calls being about to leave.
    let idle = |problem: &String| problem.contains("at a switch of its mode");
    assert!(certificate.problems_by_q.is_empty() && certificate.problems.iter().all(idle), "{what}: {certificate:?}");
    // Of the ground's contacts some are about to slide.
    assert!(
        found.kinks.iter().sum::<usize>() < 12 && found.error() < 1e-6,
        "{what}: {:?} {:?}",
        found.kinks,
        found.blocks
    );
    let along = checker.compare_directions(&from, 1e-9).expect("a comparison");
    assert!(along.back < 1e-11 && along.ahead < 1e-6, "{what}: {} {}", along.back, along.ahead);
}

/// What stands on a corner, by roll, pitch and yaw.
pub(super) const CORNER: [f64; 3] = [0.7, 0.62, 0.2];
/// Height of the edge of [`ridge`], m.
const TOP: f64 = 0.085_355_339;

/// A block on its edge along x, held below.
fn ridge() -> SoftBody {
    let mut ridge = turned([1; 3], 0.05, [FRAC_PI_4, 0.0, 0.0], Vec3::new(0.0, 0.0, 0.05));
    ridge.pinned = (0..8).filter(|&node| ridge.nodes[node as usize].z < 0.06).collect();
    ridge
}

/// Corners of one body inside of the triangles of another, edges across edges, and a body on itself.
#[test]
fn two_soft_bodies_that_touch() {
    let upper = || turned([1; 3], 0.03, CORNER, Vec3::new(0.013, 0.009, 0.0669));
    compare("a corner", scene([low(), upper()]), 6);
    compare("a corner on quadratic tetrahedra", scene([quadratic(low()), upper()]), 6);
    compare("a corner on a cage", scene([caged(low(), [1; 3], Order::Trilinear), upper()]), 6);
    compare(
        "edges",
        scene([ridge(), turned([1; 3], 0.03, [0.05, FRAC_PI_4, 0.1], Vec3::new(0.003, 0.0, TOP + 0.0218))]),
        6,
    );
    let mut alone = ModelBuilder::new("folded");
    alone.options.timestep = 0.002;
    let mut bent = folded(true);
    // A corner of the upper arm comes down first.
    (0..bent.nodes.len()).filter(|&node| !bent.pinned.contains(&(node as u32))).for_each(|node| {
        let lean = 0.1 * bent.nodes[node].y;
        bent.nodes[node].z += lean;
    });
    alone.soft_body(bent);
    compare("a body on itself", alone, 1);
}

/// Shapes inside of triangles and across their edges.
#[test]
fn shapes_that_touch_no_vertex() {
    let at = |z: f64| Vec3::new(0.017, 0.006, z);
    let half = Vec3::repeat(0.015);
    let on_low = |what: &str, shape: Shape, turn: [f64; 3], z: f64| {
        compare(what, falling(scene([low()]), shape, pose(turn, at(z))), 6);
    };
    on_low("a ball", Shape::Sphere { radius: 0.02 }, [0.0; 3], 0.0605);
    on_low("a capsule", Shape::Capsule { radius: 0.01, half_length: 0.02 }, [1.2, 0.0, 0.3], 0.0605);
    on_low("a box's corner", Shape::Box { half }, CORNER, 0.0669);
    on_low("an ellipsoid", Shape::Ellipsoid { radii: Vec3::new(0.02, 0.015, 0.018) }, CORNER, 0.0605);
    let on_ridge = |what: &str, shape: Shape, turn: [f64; 3]| {
        compare(what, falling(scene([ridge()]), shape, pose(turn, Vec3::new(0.003, 0.001, TOP + 0.0222))), 6);
    };
    on_ridge("a box's edge", Shape::Box { half }, [0.05, FRAC_PI_4, 0.1]);
    on_ridge("a cylinder", Shape::Cylinder { radius: 0.015, half_length: 0.02 }, [0.1, 1.2, 1.5]);
}

/// A pad that an arm carries, and presses on a soft block or drags over it.
#[test]
fn a_carried_body_that_touches_another() {
    for friction in [0.8, 0.1] {
        let mut pad = turned([1; 3], 0.06, [0.2, 0.3, 0.1], Vec3::new(0.06, 0.0, -0.06));
        pad.contacting.friction = friction;
        let mut builder = scene([]);
        let arm = link(&mut builder, "arm", 0, 0.4, JointKind::Hinge, Vec3::new(0.1, 1.0, 0.2));
        let hand = link(&mut builder, "hand", arm, 0.3, JointKind::Hinge, Vec3::new(1.0, 0.3, 0.0));
        pad.body = hand;
        pad.pinned = (0..8).filter(|&node| pad.nodes[node as usize].z > -0.06).collect();
        builder.soft_body(pad);
        let mut below = slab();
        below.contacting.friction = friction;
        builder.soft_body(below);
        compare(&format!("a carried pad, friction {friction}"), builder, 6);
    }
}
