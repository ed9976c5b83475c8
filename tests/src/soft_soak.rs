//! Random scenes with soft bodies, stepped and watched.

use manyworlds::{Batch, BatchOptions, Executor, Precision, State, status};
use manyworlds_model::{JointKind, Model, SoftBody, Vec3};
use rand::RngExt;

use crate::soft_random::{GRAVITY, Scene};

/// Steps that a scene runs for.
const STEPS: usize = 200;
/// Worlds of a scene, each from a start of its own.
const WORLDS: usize = 8;
/// Steps between two looks at energies.
const BETWEEN: usize = 10;
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

/// Steps random scenes from a seed on until there are so many world-steps.
#[must_use]
pub fn soak(first: u64, steps: u64) -> Seen {
    let mut seen = Seen::default();
    for seed in first.. {
        if seen.steps >= steps {
            break;
        }
        step_scene(seed, &mut seen);
        seen.scenes += 1;
    }
    seen
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

fn step_scene(seed: u64, seen: &mut Seen) {
    let mut scene = Scene::new(seed);
    let options =
        BatchOptions { executor: Executor::Cpu, precision: Precision::F64, tolerance: 1e-8, ..BatchOptions::default() };
    let mut batch = Batch::new(&[(&scene.model, WORLDS)], &options).expect("a batch");
    let energy = scene.kind.is_left_alone().then(|| Energy::new(&scene.model, &options));
    let starts: Vec<(usize, State)> = (0..WORLDS).map(|world| (world, scene.start())).collect();
    batch.reset(&starts).expect("states");
    let (kind, model) = (scene.kind, &scene.model);
    let total = |batch: &mut Batch, world: usize| -> f64 {
        let state = batch.state(world).expect("a state");
        energy.as_ref().map_or(0.0, |energy| energy.of(model, batch, world, &state))
    };
    let begun: Vec<f64> = (0..WORLDS).map(|world| total(&mut batch, world)).collect();
    let mut controls = vec![0.0; batch.n_controls()];
    let mut all = Vec::new();
    for step in 1..=STEPS {
        if step % BETWEEN == 1 {
            controls.iter_mut().for_each(|control| *control = scene.rng.random_range(-0.3..1.0));
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
