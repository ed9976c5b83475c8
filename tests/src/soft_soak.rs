//! Random small scenes with soft bodies, stepped and watched: what falls, what is squeezed, what is turned inside out.

use manyworlds::{Batch, BatchOptions, Executor, Precision, State, status};
use manyworlds_model::{
    Actuator, Contacting, Geom, Inertial, Joint, JointKind, Mat3, MaterialLaw, Model, ModelBuilder, Pose, Shape,
    SoftBody, Transmission, Vec3,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::soft::{add_box, block, ground, quadratic};

/// Steps that a scene runs for.
const STEPS: usize = 200;
/// Worlds of a scene, each from a start of its own.
const WORLDS: usize = 8;
/// Steps between two looks at energies.
const BETWEEN: usize = 10;
/// m/s^2
const GRAVITY: f64 = 9.81;
/// What energy may be more than at the start, by that and a joule: rounding.
const GAIN: f64 = 1e-6;

/// What was seen.
#[derive(Debug, Default, Clone)]
pub struct Seen {
    /// World-steps.
    pub steps: u64,
    /// Scenes.
    pub scenes: u64,
    /// Elements that were inside out at a look.
    pub inverted: u64,
    /// Contacts at looks.
    pub contacts: u64,
    /// World-steps whose residual is above the tolerance.
    pub above: u64,
    /// Largest residual of a step, N s.
    pub residual: f64,
    /// What was wrong, each with the seed of its scene.
    pub wrong: Vec<String>,
}

/// What happens in a scene.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    /// A body falls on the ground and what stands there.
    Drop,
    /// It starts with nodes thrown about, elements inside out.
    Inversion,
    /// Two bodies fall on each other, or a rigid box on one.
    Stack,
    /// Motors press two plates on it, as they like.
    Squeeze,
}

impl Kind {
    fn of(seed: u64) -> Self {
        [Self::Drop, Self::Inversion, Self::Stack, Self::Squeeze][(seed % 4) as usize]
    }

    /// Whether nothing does work.
    fn is_left_alone(self) -> bool {
        self != Self::Squeeze
    }
}

/// Steps random scenes from a seed on until there are so many world-steps.
///
/// # Panics
/// If a scene is no model, which is an error of this file.
#[must_use]
pub fn soak(first: u64, steps: u64) -> Seen {
    let mut seen = Seen::default();
    for seed in first.. {
        if seen.steps >= steps {
            break;
        }
        scene(seed, &mut seen);
        seen.scenes += 1;
    }
    seen
}

/// A small block of some material, turned about, with its lowest node at a height.
fn body(rng: &mut ChaCha8Rng, height: f64) -> SoftBody {
    let cells = std::array::from_fn(|_| rng.random_range(1..3));
    let size: [f64; 3] = cells.map(|n| n as f64 * rng.random_range(0.03..0.06));
    let mut own = block(cells, size, Vec3::zeros());
    own.material.law =
        [MaterialLaw::NeoHookean, MaterialLaw::NeoHookean, MaterialLaw::Corotated, MaterialLaw::SaintVenantKirchhoff]
            [rng.random_range(0..4)];
    own.material.young = 10.0_f64.powf(rng.random_range(3.5..6.0));
    own.material.poisson = rng.random_range(0.0..0.48);
    own.material.damping = if rng.random_bool(0.5) { 0.0 } else { rng.random_range(0.0..0.01) };
    own.contacting.friction = if rng.random_bool(0.2) { 0.0 } else { rng.random_range(0.0..1.5) };
    own.touches_itself = rng.random_bool(0.2);
    let turn = Pose::rotation(Vec3::from_fn(|_, _| rng.random_range(-2.0..2.0)));
    own.nodes.iter_mut().for_each(|node| *node = turn.rotation * *node);
    let low = own.nodes.iter().fold(f64::INFINITY, |low: f64, node| low.min(node.z));
    own.nodes.iter_mut().for_each(|node| node.z += height - low);
    if rng.random_bool(0.15) { quadratic(own) } else { own }
}

fn model(kind: Kind, rng: &mut ChaCha8Rng) -> Model {
    let mut builder = ModelBuilder::new("soak");
    builder.options.timestep = [1e-3, 2e-3, 5e-3][rng.random_range(0..3)];
    builder.options.gravity = Vec3::new(0.0, 0.0, -GRAVITY);
    let friction = rng.random_range(0.0..1.5);
    let mut soft = body(rng, 0.01);
    if kind == Kind::Squeeze {
        let size = soft.nodes.iter().fold(0.0, |most: f64, node| most.max(node.x.abs()));
        let force = soft.material.young * 4.0 * size * size * rng.random_range(0.02..0.6);
        for (name, side) in [("left", -1.0), ("right", 1.0)] {
            let inertial = Inertial { mass: 0.2, com: Vec3::zeros(), inertia: Mat3::identity() * 1e-4 };
            let at = Pose::translation(side * (size + 0.025), 0.0, 0.06);
            let plate = builder.body(name, 0, at, inertial);
            let mut joint = Joint::new(name, plate, JointKind::Slide);
            joint.axis = Vec3::x() * -side;
            joint.damping = 2.0;
            let joint = builder.joint(joint);
            let contact = Contacting { friction, ..Contacting::default() };
            let shape = Shape::Box { half: Vec3::new(0.015, 0.08, 0.08) };
            builder.geom(Geom { name: name.into(), body: plate, shape, pose: Pose::identity(), contact });
            let mut motor = Actuator::new(name.to_owned(), Transmission::Joint(joint));
            motor.gain = [force, 0.0, 0.0];
            builder.actuator(motor);
        }
    } else {
        builder.geom(ground(friction, 0.0));
        let contact = Contacting { friction, ..Contacting::default() };
        let shape = match rng.random_range(0..4) {
            0 => Some(Shape::Sphere { radius: 0.02 }),
            1 => Some(Shape::Box { half: Vec3::new(0.02, 0.015, 0.01) }),
            2 => Some(Shape::Capsule { radius: 0.01, half_length: 0.03 }),
            _ => None,
        };
        if let Some(shape) = shape {
            let turn = Pose::rotation(Vec3::from_fn(|_, _| rng.random_range(-2.0..2.0))).rotation;
            let pose = Pose::from_parts(Vec3::new(0.01, -0.01, -0.005).into(), turn);
            builder.geom(Geom { name: "step".into(), body: 0, shape, pose, contact });
            soft.nodes.iter_mut().for_each(|node| node.z += 0.04);
        }
    }
    let top = soft.nodes.iter().fold(0.0, |top: f64, node| top.max(node.z));
    builder.soft_body(soft);
    if kind == Kind::Stack {
        if rng.random_bool(0.5) {
            add_box(&mut builder, Vec3::new(0.04, 0.03, 0.02), rng.random_range(0.05..1.0), Vec3::z() * (top + 0.03));
        } else {
            let mut other = body(rng, top + 0.01);
            other.name = "other".into();
            builder.soft_body(other);
        }
    }
    builder.build().expect("a model")
}

/// Where a world begins.
fn start(kind: Kind, model: &Model, rng: &mut ChaCha8Rng) -> State {
    let (mut q, mut v) = (model.initial_q(), vec![0.0; model.n_v]);
    for tree in model.trees.iter().filter(|tree| tree.soft.is_some()) {
        let way: [f64; 3] = std::array::from_fn(|_| rng.random_range(-1.0..1.0));
        let way = if kind == Kind::Squeeze { [0.0; 3] } else { way };
        let wild = if kind == Kind::Inversion { 10.0_f64.powf(rng.random_range(-3.0..-1.0)) } else { 0.0 };
        for (i, (at, speed)) in tree.q.clone().zip(tree.v.clone()).enumerate() {
            q[at] = wild * rng.random_range(-1.0..1.0);
            v[speed] = way[i % 3];
        }
    }
    State { q, v, ..State::default() }
}

/// Masses of the degrees of freedom of a model whose rigid bodies are free, by its soft bodies' elements: those of corners and
/// middles as the elements lump them.
struct Energy {
    /// First degree of freedom of each soft body, and the masses of its.
    soft: Vec<(usize, Vec<f64>)>,
}

impl Energy {
    fn new(model: &Model, options: &BatchOptions) -> Self {
        let mut batch = Batch::new(&[(model, 1)], options).expect("a batch");
        batch.step::<f64>(&vec![0.0; model.actuators.len()]).expect("a step");
        let mass = batch.inspect(0).expect("matrices").mass;
        let of = |body: &SoftBody| (body.v.start, body.v.clone().map(|i| mass[i * (model.n_v + 1)]).collect());
        Self { soft: model.soft.iter().map(of).collect() }
    }

    /// Of motion, of height and of deformation, J.
    fn of(&self, model: &Model, batch: &mut Batch, world: usize, state: &State) -> f64 {
        let mut sum = 0.0;
        for ((first, masses), own) in self.soft.iter().zip(batch.soft(world).expect("soft bodies")) {
            sum += own.energy;
            for (i, m) in masses.iter().enumerate() {
                sum += 0.5 * m * state.v[first + i].powi(2);
            }
            // No node is pinned.
            for (m, node) in masses.chunks_exact(3).zip(&own.nodes) {
                sum += m[0] * GRAVITY * node[2];
            }
        }
        for joint in model.joints.iter().filter(|joint| joint.kind == JointKind::Free) {
            let inertial = &model.bodies[joint.body].inertial;
            let part = |k: usize| Vec3::from_fn(|i, _| state.v[joint.v_start + 3 * k + i]);
            let spin = part(1);
            sum += 0.5 * (inertial.mass * part(0).norm_squared() + spin.dot(&(inertial.inertia * spin)));
            sum += inertial.mass * GRAVITY * state.q[joint.q_start + 2];
        }
        sum
    }
}

/// How many elements of a body are inside out.
fn inverted(body: &SoftBody, nodes: &[[f64; 3]]) -> u64 {
    let of = |corners: &[u32]| {
        let [a, b, c, d] = [0, 1, 2, 3].map(|k| Vec3::from(nodes[corners[k] as usize]));
        u64::from((b - a).cross(&(c - a)).dot(&(d - a)) < 0.0)
    };
    body.elements.chunks_exact(body.order.nodes()).map(of).sum()
}

fn scene(seed: u64, seen: &mut Seen) {
    let kind = Kind::of(seed);
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let model = model(kind, &mut rng);
    let options =
        BatchOptions { executor: Executor::Cpu, precision: Precision::F64, tolerance: 1e-8, ..BatchOptions::default() };
    let mut batch = Batch::new(&[(&model, WORLDS)], &options).expect("a batch");
    let energy = kind.is_left_alone().then(|| Energy::new(&model, &options));
    let starts: Vec<(usize, State)> = (0..WORLDS).map(|world| (world, start(kind, &model, &mut rng))).collect();
    batch.reset(&starts).expect("states");
    let total = |batch: &mut Batch, world: usize| -> f64 {
        let state = batch.state(world).expect("a state");
        energy.as_ref().map_or(0.0, |energy| energy.of(&model, batch, world, &state))
    };
    let begun: Vec<f64> = (0..WORLDS).map(|world| total(&mut batch, world)).collect();
    let mut controls = vec![0.0; batch.n_controls()];
    let mut all = Vec::new();
    for step in 1..=STEPS {
        if step % BETWEEN == 1 {
            controls.iter_mut().for_each(|control| *control = rng.random_range(-0.3..1.0));
        }
        batch.step(&controls).expect("a step");
        batch.summaries(&mut all).expect("certificates");
        seen.steps += WORLDS as u64;
        for (world, own) in all.iter().enumerate() {
            seen.above += u64::from(own.status & status::CONVERGED == 0);
            seen.residual = seen.residual.max(own.residual);
            if own.failed() {
                seen.wrong.push(format!("seed {seed}, {kind:?}, world {world}, step {step}: {}", own.status_name()));
            }
        }
        if all.iter().any(manyworlds::Summary::failed) {
            return;
        }
        if step % BETWEEN != 0 {
            continue;
        }
        for world in 0..WORLDS {
            let (now, state) = (total(&mut batch, world), batch.state(world).expect("a state"));
            let at = format!("seed {seed}, {kind:?}, world {world}, step {step}");
            if !state.q.iter().chain(&state.v).chain([&now]).all(|x| x.is_finite()) {
                seen.wrong.push(format!("{at}: not finite"));
            }
            if now > begun[world] + GAIN * (1.0 + begun[world].abs()) {
                seen.wrong.push(format!("{at}: {now} J, {} J at the start", begun[world]));
            }
            seen.contacts += u64::from(all[world].contacts);
            for (body, own) in model.soft.iter().zip(batch.soft(world).expect("soft bodies")) {
                seen.inverted += inverted(body, &own.nodes);
            }
        }
    }
}
