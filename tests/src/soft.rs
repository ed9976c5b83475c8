//! Soft bodies for tests: blocks of tetrahedra, what lies under and on them and what carries them.

use std::collections::HashMap;

use manyworlds::{BatchOptions, Mode, State, status};
use manyworlds_model::{
    Actuator, Cage, Contacting, Geom, Inertial, Joint, JointKind, Mat3, Material, MaterialLaw, Model, ModelBuilder,
    Order, Pose, Shape, SoftBody, Tetrahedra, Transmission, Vec3,
};

use crate::batches::{G, batch, run, state, summary, tight};

/// Young's modulus of a block, Pa.
pub const YOUNG: f64 = 5e4;
/// Its density, kg/m^3.
pub const DENSITY: f64 = 1000.0;

/// A block of cells of six tetrahedra each, of `size`, m, about `centre`.
#[must_use]
pub fn block(cells: [usize; 3], size: [f64; 3], centre: Vec3) -> SoftBody {
    let [nx, ny, nz] = cells;
    let node = |[i, j, k]: [usize; 3]| ((i * (ny + 1) + j) * (nz + 1) + k) as u32;
    let mut nodes = Vec::new();
    for i in 0..=nx {
        for j in 0..=ny {
            for k in 0..=nz {
                let along = |at: usize, n: usize, size: f64| (at as f64 / n as f64 - 0.5) * size;
                nodes.push(centre + Vec3::new(along(i, nx, size[0]), along(j, ny, size[1]), along(k, nz, size[2])));
            }
        }
    }
    let mut elements = Vec::new();
    let ways = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    for cell in 0..nx * ny * nz {
        for way in ways {
            // From one corner of the cell to the opposite one along its edges.
            let mut corner = [cell / (ny * nz), cell / nz % ny, cell % nz];
            let mut element = vec![node(corner)];
            for axis in way {
                corner[axis] += 1;
                element.push(node(corner));
            }
            let [a, b, c, d] = [0, 1, 2, 3].map(|k| nodes[element[k] as usize]);
            if (b - a).cross(&(c - a)).dot(&(d - a)) < 0.0 {
                element.swap(1, 2);
            }
            elements.extend(element);
        }
    }
    SoftBody {
        name: "block".into(),
        body: 0,
        nodes,
        pinned: Vec::new(),
        order: Order::Linear,
        elements,
        material: Material {
            law: MaterialLaw::NeoHookean,
            young: YOUNG,
            poisson: 0.3,
            density: DENSITY,
            damping: 0.005,
            mass_damping: 0.0,
        },
        regions: Vec::new(),
        contacting: Contacting { friction: 0.5, ..Contacting::default() },
        radius: 0.0,
        embedding: None,
        touches_itself: false,
        q: 0..0,
        v: 0..0,
    }
}

/// A cage about a body of linear tetrahedra, of the same material.
#[must_use]
pub fn caged(mesh: SoftBody, cells: [usize; 3], order: Order) -> SoftBody {
    let tetrahedra = Tetrahedra { nodes: mesh.nodes.clone(), elements: mesh.elements.clone(), order: mesh.order };
    let Cage { nodes, elements, order, embedding, .. } = Cage::about(&tetrahedra, cells, order).expect("a cage");
    SoftBody { nodes, elements, order, embedding: Some(embedding), ..mesh }
}

/// A block of tetrahedra whose cells across the z axis are drawn in to a cylinder.
#[must_use]
pub fn cylinder(cells: [usize; 3], size: [f64; 3], centre: Vec3) -> SoftBody {
    let mut out = block(cells, size, centre);
    for node in &mut out.nodes {
        let across = Vec3::new((node.x - centre.x) / size[0], (node.y - centre.y) / size[1], 0.0);
        let drawn = if across.norm() > 0.0 { across.amax() / across.norm() } else { 1.0 };
        node.x = centre.x + (node.x - centre.x) * drawn;
        node.y = centre.y + (node.y - centre.y) * drawn;
    }
    out
}

/// Cells of [`folded`] along, across and up, and their edge, m.
const FOLDED: ([usize; 3], f64) = ([6, 2, 3], 0.02);

/// A bar folded back over itself: two arms with a gap of a cell between them that are one at an end. The lower is pinned, and
/// wider; the upper is too soft to stay up.
#[must_use]
pub fn folded(touches_itself: bool) -> SoftBody {
    let ([nx, ny, nz], edge) = FOLDED;
    let mut soft = block([nx, ny, nz], [nx, ny, nz].map(|n| n as f64 * edge), Vec3::zeros());
    let cells = std::mem::take(&mut soft.elements);
    let is_gap = |cell: usize| cell / (ny * nz) > 0 && cell % nz == 1;
    let kept = cells.chunks_exact(24).enumerate().filter(|(cell, _)| !is_gap(*cell));
    soft.elements = kept.flat_map(|(_, elements)| elements.iter().copied()).collect();
    soft.pinned = (0..soft.nodes.len() as u32).filter(|node| node % (nz as u32 + 1) <= 1).collect();
    soft.pinned.iter().for_each(|&node| soft.nodes[node as usize].y *= 1.5);
    soft.material.young = 2e4;
    soft.touches_itself = touches_itself;
    soft
}

/// A soft body of linear tetrahedra with quadratic ones: the middles of their edges follow behind the other nodes.
#[must_use]
pub fn quadratic(mut soft: SoftBody) -> SoftBody {
    let mut middles: HashMap<[u32; 2], u32> = HashMap::new();
    let (nodes, corners) = (&mut soft.nodes, std::mem::take(&mut soft.elements));
    for element in corners.chunks_exact(4) {
        soft.elements.extend(element);
        for [i, j] in Order::EDGES {
            let [a, b] = [element[i].min(element[j]), element[i].max(element[j])];
            soft.elements.push(*middles.entry([a, b]).or_insert_with(|| {
                nodes.push((nodes[a as usize] + nodes[b as usize]) / 2.0);
                nodes.len() as u32 - 1
            }));
        }
    }
    soft.order = Order::Quadratic;
    soft
}

/// A ground with a friction coefficient, turned about y by an angle.
#[must_use]
pub fn ground(friction: f64, angle: f64) -> Geom {
    Geom {
        name: "ground".into(),
        body: 0,
        shape: Shape::Plane,
        pose: Pose::rotation(Vec3::y() * angle),
        contact: Contacting { friction, ..Contacting::default() },
    }
}

/// A rigid box of half edges `half` and a mass, free, its centre at `at`.
pub fn add_box(to: &mut ModelBuilder, half: Vec3, mass: f64, at: Vec3) {
    let square = half.component_mul(&half);
    let moment = |a: usize, b: usize| mass / 3.0 * (square[a] + square[b]);
    let inertia = Mat3::from_diagonal(&Vec3::new(moment(1, 2), moment(0, 2), moment(0, 1)));
    let body = to.body(
        "box",
        0,
        Pose::from_parts(at.into(), Default::default()),
        Inertial { mass, com: Vec3::zeros(), inertia },
    );
    to.joint(Joint::new("box", body, JointKind::Free));
    let contact = Contacting { friction: 0.5, ..Contacting::default() };
    to.geom(Geom { name: "box".into(), body, shape: Shape::Box { half }, pose: Pose::identity(), contact });
}

/// A soft block of 0.1 m with so many cells an edge a little above the ground; with a rigid box of 1 kg on it, if `loaded`.
///
/// # Panics
/// If it is no model.
#[must_use]
pub fn on_the_ground(cells: usize, loaded: bool) -> Model {
    let mut builder = ModelBuilder::new("soft");
    builder.options.timestep = 0.002;
    builder.geom(ground(0.5, 0.0));
    builder.soft_body(block([cells; 3], [0.1; 3], Vec3::new(0.0, 0.0, 0.051)));
    if loaded {
        add_box(&mut builder, Vec3::new(0.03, 0.03, 0.03), 1.0, Vec3::new(0.0, 0.0, 0.132));
    }
    builder.build().expect("a model")
}

/// A soft cube of 0.05 m held between a pad that stands and one that 10 N push, with so many cells an edge and a friction
/// coefficient: it holds from 0.0613 on, half its weight by the force.
///
/// # Panics
/// If it is no model.
#[must_use]
pub fn pinched(cells: usize, friction: f64) -> Model {
    let mut builder = ModelBuilder::new("pinch");
    builder.options.timestep = 0.002;
    let mut soft = block([cells; 3], [0.05; 3], Vec3::zeros());
    soft.contacting.friction = friction;
    soft.material.damping = 0.02;
    builder.soft_body(soft);
    let half = Vec3::new(0.01, 0.04, 0.04);
    let contact = Contacting { friction, ..Contacting::default() };
    let pad = |name: &str, body: usize, x: f64| Geom {
        name: name.into(),
        body,
        shape: Shape::Box { half },
        pose: Pose::translation(x, 0.0, 0.0),
        contact,
    };
    builder.geom(pad("left", 0, -0.035));
    let inertial = Inertial { mass: 0.2, com: Vec3::zeros(), inertia: Mat3::identity() * 1e-4 };
    let body = builder.body("pad", 0, Pose::translation(0.035, 0.0, 0.0), inertial);
    let mut joint = Joint::new("slide", body, JointKind::Slide);
    joint.axis = Vec3::x();
    // A spring that is slack far to the left pushes by 10 N, nearly the same wherever the pad is.
    joint.stiffness = 1.0;
    joint.spring_reference = -10.0;
    builder.joint(joint);
    builder.geom(pad("right", body, 0.0));
    builder.build().expect("a model")
}

/// A model with a soft block far away on a box that lies on a plate, which makes all of a world the host's.
///
/// # Panics
/// If it is no model.
#[must_use]
pub fn by_host(mut builder: ModelBuilder) -> Model {
    let at = |z: f64| Vec3::new(3.0, 0.0, z);
    let plate = Shape::Box { half: Vec3::new(0.2, 0.2, 0.05) };
    let pose = Pose::from_parts(at(-0.05).into(), Default::default());
    builder.geom(Geom { name: "plate".into(), body: 0, shape: plate, pose, contact: Contacting::default() });
    add_box(&mut builder, Vec3::repeat(0.05), 1.0, at(0.05));
    builder.soft_body(block([1; 3], [0.1; 3], at(0.1501)));
    builder.build().expect("a model")
}

/// A body with a joint, as a link of an arm.
#[must_use]
pub fn link(to: &mut ModelBuilder, name: &str, parent: usize, mass: f64, joint: JointKind, axis: Vec3) -> usize {
    let inertia = Mat3::from_diagonal(&Vec3::new(2e-3, 3e-3, 4e-3));
    let inertial = Inertial { mass, com: Vec3::new(0.01, 0.02, 0.05), inertia };
    let pose = Pose::from_parts(Vec3::new(0.05, 0.1, 0.2).into(), Pose::rotation(Vec3::new(0.2, 0.3, -0.1)).rotation);
    let body = to.body(name, parent, pose, inertial);
    let mut of = Joint::new(name, body, joint);
    of.axis = axis.normalize();
    of.anchor = Vec3::new(0.01, -0.02, 0.03);
    to.joint(of);
    body
}

/// An arm that swings while a motor presses its pad, the upper nodes of which are pinned to its hand, on the ground.
///
/// # Panics
/// If it is no model.
#[must_use]
pub fn pressing(mut pad: SoftBody, friction: f64) -> Model {
    let mut builder = ModelBuilder::new("pressing");
    builder.options.timestep = 2e-3;
    builder.geom(ground(friction, 0.0));
    let arm = link(&mut builder, "arm", 0, 0.4, JointKind::Hinge, Vec3::new(0.1, 1.0, 0.2));
    let hand = link(&mut builder, "hand", arm, 0.3, JointKind::Hinge, Vec3::new(1.0, 0.3, 0.0));
    pad.body = hand;
    pad.contacting.friction = friction;
    pad.pinned = (0..pad.nodes.len() as u32).filter(|&node| pad.nodes[node as usize].z > -0.07).collect();
    builder.soft_body(pad);
    let mut motor = Actuator::new("motor".to_owned(), Transmission::Joint(0));
    motor.gain = [1.0, 0.0, 0.0];
    builder.actuator(motor);
    builder.build().expect("a model")
}

/// The first state of such an arm before a step, its motor on, with so many contacts or more in a mode and far from switches.
///
/// # Panics
/// If a call fails.
#[must_use]
pub fn pressed(model: &Model, options: &BatchOptions, mode: Mode, least: usize) -> Option<State> {
    let mut made = batch(model, 1, options);
    made.keep_steps(true).expect("kept");
    (0..400).find_map(|_| {
        let before = State { ctrl: vec![-1.0], ..state(&mut made, 0) };
        made.step(&[-1.0]).expect("a step");
        let jacobian = made.jacobian(0).expect("a derivative");
        let acting = jacobian.modes.iter().filter(|own| **own == mode).count();
        let certificate = &jacobian.certificate;
        (acting >= least && certificate.valid() && certificate.margin > 1e-3).then_some(before)
    })
}

/// Checks that a block 0.04 m wide, a model's last soft body, comes to rest within 1 s on what it falls on, which carries it.
///
/// # Panics
/// If it does not; if a call fails.
pub fn comes_to_rest(what: &str, model: &Model) {
    let mut made = batch(model, 1, &BatchOptions { tolerance: 1e-9, ..tight() });
    let h = model.options.timestep;
    run(&mut made, (1.0 / h).round() as usize);
    let own = summary(&mut made);
    assert!(own.status & status::CONVERGED != 0 && own.contacts > 0, "{what}: {} {own:?}", own.status_name());
    assert!(own.penetration < 1e-5, "{what}: {}", own.penetration);
    let mut impulses = Vec::new();
    made.contact_impulses(&mut impulses).expect("impulses");
    // The last soft body is always the second of two that touch.
    let last = model.bodies.len() + model.soft.len() - 1;
    let carried: f64 = impulses.iter().filter(|c| c.bodies[1] == last).map(|c| c.impulse[2]).sum();
    let weight = DENSITY * 0.04_f64.powi(3) * G * h;
    assert!((carried / weight - 1.0).abs() < 0.02, "{what}: carries {} of its weight", carried / weight);
}

/// Checks that what falls on the ground never gains energy in so many steps, though a soft body is pressed together by more than
/// `least`, J: one soft body and free rigid bodies. `tolerance`: of the solver, N s.
///
/// # Panics
/// If it does, or is not; if a call fails.
pub fn energy_never_grows(what: &str, model: &Model, steps: usize, least: f64, tolerance: f64) {
    let mut made = batch(model, 1, &BatchOptions { tolerance, ..tight() });
    let (mut last, mut compressed): (f64, f64) = (f64::INFINITY, 0.0);
    let mut all = Vec::new();
    let (n, first) = (model.n_v, model.soft[0].v.start);
    for step in 0..steps {
        run(&mut made, 1);
        let (own, now) = (made.soft(0).expect("soft bodies").remove(0), state(&mut made, 0));
        let mass = made.inspect(0).expect("matrices").mass;
        let row = |i: usize| &mass[i * n..][..n];
        let momentum = |i: usize| row(i).iter().zip(&now.v).map(|(m, v)| m * v).sum::<f64>();
        let kinetic: f64 = now.v.iter().enumerate().map(|(i, v)| 0.5 * v * momentum(i)).sum();
        // The whole of a node's row along z: nodes of a cage share its mass.
        let share = |node: usize| -> f64 {
            row(first + 3 * node + 2)[first + 2..].iter().step_by(3).take(own.nodes.len()).sum()
        };
        let soft: f64 = own.nodes.iter().enumerate().map(|(k, node)| node[2] * share(k)).sum();
        let free = model.joints.iter().filter(|joint| joint.kind == JointKind::Free);
        let rigid: f64 = free.map(|joint| model.bodies[joint.body].inertial.mass * now.q[joint.q_start + 2]).sum();
        let energy = kinetic + G * (soft + rigid) + own.energy;
        assert!(energy <= last + 1e-9, "{what}, step {step}: {energy} J after {last} J");
        (last, compressed) = (energy, compressed.max(own.energy));
        made.summaries(&mut all).expect("certificates");
        assert!(all[0].status & status::CONVERGED != 0, "{what}, step {step}: {} {:?}", all[0].status_name(), all[0]);
    }
    assert!(compressed > least, "{what}: it was pressed together by {compressed} J alone");
}
