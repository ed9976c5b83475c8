//! Soft balls pressed together: on a plane as Hertz says, under a rigid box without depth.

use std::collections::HashMap;
use std::path::Path;

use manyworlds::{BatchOptions, ModelBuilder, status};
use manyworlds_model::{
    Contacting, Geom, Inertial, Joint, JointKind, Mat3, Order, Pose, Shape, SoftBody, Tetrahedra, Vec3,
};
use manyworlds_tests::batches::{batch, run, state, summary, tight};
use manyworlds_tests::soft::{block, ground, quadratic};

/// Radius of a ball, m.
const RADIUS: f64 = 0.1;

/// Where the half space above z = 0 goes if it is bent to a ball on the origin: an inversion about the ball's antipode, and a mirror.
/// Near the origin it changes nothing.
fn bent(p: &Vec3) -> Vec3 {
    let from = p + Vec3::z() * (2.0 * RADIUS);
    let to = from * (4.0 * RADIUS * RADIUS / from.norm_squared()) - Vec3::z() * (2.0 * RADIUS);
    Vec3::new(to.x, to.y, -to.z)
}

/// A ball of quadratic tetrahedra that stands on the origin, fine there: half a cube of `cells` x `cells` x `cells / 2` small cells, of
/// half edge `core`, in shells that grow outwards, bent to a ball without its top. The nodes of that are pinned.
fn ball(cells: usize, core: f64) -> SoftBody {
    let half = cells as i32 / 2;
    let mut shells = vec![core];
    for growth in 0..8 {
        shells.push(shells[shells.len() - 1] * 1.5 * 1.05_f64.powi(growth));
    }
    let last = shells.len() - 1;
    let mut numbers: HashMap<(usize, [i32; 3]), u32> = HashMap::new();
    let mut flat: Vec<Vec3> = Vec::new();
    let mut node = |shell: usize, at: [i32; 3]| {
        *numbers.entry((shell, at)).or_insert_with(|| {
            flat.push(Vec3::from(at.map(f64::from)) * (shells[shell] / f64::from(half)));
            flat.len() as u32 - 1
        })
    };
    let mut hexahedra: Vec<[u32; 8]> = Vec::new();
    let corners = [0, 1, 2, 3, 4, 5, 6, 7].map(|k| [k & 1, k >> 1 & 1, k >> 2 & 1]);
    for (x, y, z) in (-half..half).flat_map(|x| (-half..half).flat_map(move |y| (0..half).map(move |z| (x, y, z)))) {
        hexahedra.push(corners.map(|[a, b, c]| node(0, [x + a, y + b, z + c])));
        // Sides of the cell on the core's outside, and the same further out.
        for (axis, side) in [(0, -half), (0, half), (1, -half), (1, half), (2, half)] {
            let cell = [x, y, z];
            let end = if cell[axis] == side { 0 } else { 1 };
            if cell[axis] + end != side {
                continue;
            }
            for shell in 0..last {
                hexahedra.push(corners.map(|corner| {
                    let mut at = [0, 1, 2].map(|k| cell[k] + corner[k]);
                    at[axis] = side;
                    node(shell + usize::from(corner[axis] > 0), at)
                }));
            }
        }
    }
    let mut soft = block([1; 3], [RADIUS; 3], Vec3::zeros());
    soft.elements = hexahedra.iter().flat_map(|hexahedron| tetrahedra(hexahedron, &flat)).flatten().collect();
    soft.nodes = flat;
    let mut soft = quadratic(soft);
    let end = shells[last] - 1e-9;
    let is_top = |node: &u32| soft.nodes[*node as usize].iter().any(|x| x.abs() > end);
    soft.pinned = (0..soft.nodes.len() as u32).filter(is_top).collect();
    soft.nodes.iter_mut().for_each(|node| *node = bent(node));
    soft
}

/// Six tetrahedra of a hexahedron: from its node of least number to the halves of the sides without it, each side cut from its own least
/// number on, so that neighbours cut theirs alike.
fn tetrahedra(hexahedron: &[u32; 8], nodes: &[Vec3]) -> Vec<[u32; 4]> {
    let sides = [[0, 1, 3, 2], [4, 5, 7, 6], [0, 1, 5, 4], [2, 3, 7, 6], [0, 2, 6, 4], [1, 3, 7, 5]];
    let apex = *hexahedron.iter().min().expect("corners");
    let mut out = Vec::new();
    for side in sides.map(|side| side.map(|k| hexahedron[k])).iter().filter(|side| !side.contains(&apex)) {
        let first = (0..4).min_by_key(|&k| side[k]).expect("corners");
        for k in [1, 2] {
            let mut own = [apex, side[first], side[(first + k) % 4], side[(first + k + 1) % 4]];
            let [a, b, c, d] = own.map(|node| nodes[node as usize]);
            if (b - a).cross(&(c - a)).dot(&(d - a)) < 0.0 {
                own.swap(1, 2);
            }
            out.push(own);
        }
    }
    out
}

/// Force of a plane at a height on a ball, N, and how far it is pressed in, m: how much nearer its centre is to the plane.
fn pressed(soft: &SoftBody, height: f64) -> [f64; 2] {
    let mut builder = ModelBuilder::new("hertz");
    // A step so long that it ends at rest.
    builder.options.timestep = 1.0;
    builder.options.gravity = Vec3::zeros();
    let mut plane = ground(0.0, 0.0);
    plane.pose = Pose::translation(0.0, 0.0, height);
    builder.geom(plane);
    builder.soft_body(soft.clone());
    let model = builder.build().expect("a model");
    let mut made = batch(&model, 1, &BatchOptions { tolerance: 1e-9, ..tight() });
    // What is not pinned begins as high as the plane, so that it does not begin within it.
    let mut from = state(&mut made, 0);
    from.q.iter_mut().skip(2).step_by(3).for_each(|z| *z = height);
    made.reset(&[(0, from)]).expect("a state");
    run(&mut made, 2);
    let own = summary(&mut made);
    assert!(own.status & status::CONVERGED != 0 && own.penetration < 1e-9, "{} {own:?}", own.status_name());
    let still = state(&mut made, 0).v.iter().fold(0.0, |most: f64, v| most.max(v.abs()));
    assert!(still < 1e-3 * height, "it still moves at {still} m/s");
    let mut impulses = Vec::new();
    made.contact_impulses(&mut impulses).expect("impulses");
    let force = impulses.iter().map(|contact| contact.impulse[2].abs()).sum::<f64>() / model.options.timestep;
    let from_centre = |&a: &usize, &b: &usize| {
        let [a, b] = [a, b].map(|node| (soft.nodes[node] - Vec3::z() * RADIUS).norm());
        a.total_cmp(&b)
    };
    let middle = (0..soft.nodes.len()).min_by(from_centre).expect("nodes");
    let nodes = made.soft(0).expect("soft bodies").remove(0).nodes;
    [force, height - (nodes[middle][2] - soft.nodes[middle].z)]
}

/// A soft ball on a plane gives way as Hertz says: `F = 4/3 E / (1 - nu^2) sqrt(R) d^(3/2)`.
#[test]
fn a_ball_on_a_plane_gives_way_as_hertz_says() {
    // Of the contact's radius, so small that the ball is a half space to it.
    let radius: f64 = 0.002;
    let mut soft = ball(4, 1.5 * radius);
    (soft.contacting.friction, soft.material.damping) = (0.0, 0.0);
    let material = soft.material;
    for share in [0.6, 1.0] {
        let [force, depth] = pressed(&soft, share * radius.powi(2) / RADIUS);
        let exact = 4.0 / 3.0 * material.young / (1.0 - material.poisson.powi(2)) * RADIUS.sqrt() * depth.powf(1.5);
        println!("{} nodes: {force} N at {depth} m, {} of Hertz's", soft.nodes.len(), force / exact);
        assert!((force / exact - 1.0).abs() < 0.05, "{force} N for {exact} N at {depth} m");
    }
}

/// A box of 1 kg on a rail falls on a soft ball on the ground, of either order, and is carried; nothing is ever a tenth of a
/// millimetre within another.
#[test]
fn a_ball_under_a_box_is_not_entered() {
    let radius = 0.05;
    let half = Vec3::new(0.06, 0.06, 0.02);
    let mesh = Tetrahedra::load(Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenes/ball.msh")).expect("a mesh");
    for order in [Order::Linear, Order::Quadratic] {
        let mut builder = ModelBuilder::new("box on a ball");
        builder.options.timestep = 0.004;
        builder.geom(ground(0.5, 0.0));
        let mut soft = block([1; 3], [0.1; 3], Vec3::zeros());
        let lifted = |x: &Vec3| x * radius + Vec3::z() * (radius + 1e-3);
        (soft.nodes, soft.elements) = (mesh.nodes.iter().map(lifted).collect(), mesh.elements.clone());
        soft.material.damping = 0.05;
        builder.soft_body(if order == Order::Quadratic { quadratic(soft) } else { soft });
        let inertial = Inertial { mass: 1.0, com: Vec3::zeros(), inertia: Mat3::identity() * 1e-3 };
        let body = builder.body("box", 0, Pose::translation(0.0, 0.0, 2.0 * radius + 0.01 + half.z), inertial);
        let mut rail = Joint::new("rail", body, JointKind::Slide);
        rail.axis = Vec3::z();
        builder.joint(rail);
        let contact = Contacting { friction: 0.5, ..Contacting::default() };
        builder.geom(Geom { name: "box".into(), body, shape: Shape::Box { half }, pose: Pose::identity(), contact });
        let model = builder.build().expect("a model");
        let slide = model.joints[0].q_start;
        let mut made = batch(&model, 1, &tight());
        let mut deepest: f64 = 0.0;
        for step in 0..150 {
            run(&mut made, 1);
            let own = summary(&mut made);
            assert!(own.status & status::CONVERGED != 0, "{order:?}, step {step}: {}", own.status_name());
            // Nodes of the surface beyond the ground and beyond the box's lower side, under which all of them stay.
            let bottom = 2.0 * radius + 0.01 + state(&mut made, 0).q[slide];
            let nodes = made.soft(0).expect("soft bodies").remove(0).nodes;
            deepest = nodes.iter().fold(deepest.max(own.penetration), |most, x| most.max(-x[2]).max(x[2] - bottom));
        }
        println!("{order:?}: {deepest:e} m deep at most");
        assert!(deepest < 1e-4, "{order:?}: {deepest} m");
        let mut impulses = Vec::new();
        made.contact_impulses(&mut impulses).expect("impulses");
        let carried: f64 = impulses.iter().filter(|of| of.bodies.contains(&body)).map(|of| of.impulse[2].abs()).sum();
        assert!((carried / (0.004 * 9.81) - 1.0).abs() < 1e-3, "{order:?}: {carried} N s");
    }
}
