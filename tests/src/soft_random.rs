//! Random small scenes with soft bodies: what falls, what is squeezed, what is turned inside out.

use manyworlds::State;
use manyworlds_model::{
    Actuator, Contacting, Geom, Inertial, Joint, JointKind, Mat3, MaterialLaw, Model, ModelBuilder, Pose, Shape,
    SoftBody, Transmission, Vec3,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::soft::{add_box, block, ground, quadratic};

/// m/s^2
pub const GRAVITY: f64 = 9.81;

/// What happens in a scene.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
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
    #[must_use]
    pub fn is_left_alone(self) -> bool {
        self != Self::Squeeze
    }
}

/// A random scene.
pub struct Scene {
    /// What happens in it.
    pub kind: Kind,
    /// What is in it.
    pub model: Model,
    /// Draws where worlds begin, and whatever else is to be random.
    pub rng: ChaCha8Rng,
}

impl Scene {
    /// The scene of a seed; kinds take turns.
    ///
    /// # Panics
    /// If it is no model, which is an error of this file.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let kind = Kind::of(seed);
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let model = model(kind, &mut rng);
        Self { kind, model, rng }
    }

    /// Where another world begins.
    pub fn start(&mut self) -> State {
        start(self.kind, &self.model, &mut self.rng)
    }
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
