//! A robot of four legs that walks on uneven ground as it is told: a velocity along, one across, one of turning.
//!
//! Observations and rewards are those that such robots are commonly trained with (N. Rudin et al. 2022, "Learning to walk in
//! minutes using massively parallel deep reinforcement learning"), fewer of them.

use manyworlds::model::{HeightField, Model, Quat, Vec3};
use manyworlds::{GeomParameter, Parameter};
use nalgebra::Quaternion;

use super::{Change, Task, Verdict, View, shake, shake_normally};
use crate::draws::Draws;
use crate::options::{Settings, TaskOptions};
use crate::terrain;

pub(super) struct Quadruped;

const JOINTS: usize = 12;
/// Positions and velocities of the trunk come before those of the joints.
const TRUNK_Q: usize = 7;
const TRUNK_V: usize = 6;

/// Largest commands: along, across, m/s, of turning, rad/s; they are drawn evenly between these and their negatives.
const COMMANDS: [f64; 3] = [1.0, 0.5, 1.0];
/// Share of episodes that are told to stand.
const STANDING: f64 = 0.1;

/// Friction of the ground, mass of the trunk and gain of the servos (as shares of the model's), lowest and highest.
const FRICTION: [f64; 2] = [0.4, 1.2];
const MASS: [f64; 2] = [0.8, 1.4];
const GAIN: [f64; 2] = [0.8, 1.2];
/// Friction of the model's ground.
const NOMINAL_FRICTION: f64 = 0.8;
/// What an episode draws: command, friction, mass, gain.
const DRAWN: usize = 6;

/// Heights of the ground are seen at a grid of points along and across, so far apart, m.
const SCAN: [usize; 2] = [7, 5];
const SCAN_DISTANCE: f64 = 0.15;
/// Numbers of an observation before them.
const BEFORE_SCAN: usize = 12 + 3 * JOINTS;

/// Where episodes start: within so much of the middle, m, and so much above standing.
const SPREAD: f64 = 1.5;
const LIFT: f64 = 0.03;
/// Half the side of the square of ground above which the robot stands, m.
const FOOTING: f64 = 0.35;
const ROUGHNESS: f64 = 0.06;

/// Width of the rewards for velocities as commanded, squared.
const WIDTH: f64 = 0.25;
/// It has fallen when its trunk is this near the ground, m, or its up has less than this share of the world's.
const LOWEST: f64 = 0.12;
const STEEPEST: f64 = 0.5;

/// The trunk's frame against the world's.
fn rotation(q: &[f64]) -> Quat {
    Quat::from_quaternion(Quaternion::new(q[3], q[4], q[5], q[6]))
}

fn ground(model: &Model) -> &HeightField {
    &model.heightfields[0]
}

/// Height of the trunk above the ground at a place, m.
fn clearance(view: &View, x: f64, y: f64) -> f64 {
    view.q[2] - terrain::height(ground(view.model), x, y)
}

/// Velocity of the trunk in its own frame, m/s and rad/s.
fn velocities(view: &View) -> [Vec3; 2] {
    let linear = Vec3::new(view.v[0], view.v[1], view.v[2]);
    [rotation(view.q).inverse() * linear, Vec3::new(view.v[3], view.v[4], view.v[5])]
}

/// The world's up in the frame of the trunk.
fn up(view: &View) -> Vec3 {
    rotation(view.q).inverse() * Vec3::z()
}

/// Sum of the squares of the servos' torques at the end of the step, (N m)^2.
fn effort(view: &View) -> f64 {
    let gain = view.drawn[5];
    let each = view.model.actuators.iter().zip(view.action).zip(view.q[TRUNK_Q..].iter().zip(&view.v[TRUNK_V..]));
    let torque = each.map(|((servo, &action), (q, v))| {
        let clamped = |x: f64, range: Option<[f64; 2]>| range.map_or(x, |[low, high]| x.clamp(low, high));
        let control = clamped(action, servo.ctrl_range);
        clamped(gain * (servo.gain[0] * control + servo.bias[1] * q + servo.bias[2] * v), servo.force_range)
    });
    torque.map(|torque| torque * torque).sum()
}

impl Task for Quadruped {
    fn n_observation(&self, _: &Model, _: &Settings) -> usize {
        BEFORE_SCAN + SCAN[0] * SCAN[1]
    }

    fn info(&self) -> &'static [&'static str] {
        &[
            "reward_linear",
            "reward_angular",
            "reward_survive",
            "reward_bounce",
            "reward_sway",
            "reward_effort",
            "reward_change",
            "friction",
            "mass_scale",
            "gain_scale",
        ]
    }

    fn defaults(&self) -> TaskOptions {
        TaskOptions { randomize: Some(true), roughness: Some(ROUGHNESS), ..TaskOptions::NONE }
    }

    fn shape(&self, model: &mut Model, settings: &Settings) {
        terrain::fill(&mut model.heightfields[0], settings.roughness);
    }

    fn n_drawn(&self) -> usize {
        DRAWN
    }

    fn n_goal(&self) -> usize {
        COMMANDS.len()
    }

    fn draw(&self, draws: &mut Draws, randomize: bool, drawn: &mut [f64]) {
        let walks = draws.uniform(0.0, 1.0) >= STANDING;
        for (to, most) in drawn.iter_mut().zip(COMMANDS) {
            let command = draws.uniform(-most, most);
            *to = if walks { command } else { 0.0 };
        }
        let worlds = [(FRICTION, NOMINAL_FRICTION), (MASS, 1.0), (GAIN, 1.0)];
        for (to, ([low, high], nominal)) in drawn[COMMANDS.len()..].iter_mut().zip(worlds) {
            let value = draws.uniform(low, high);
            *to = if randomize { value } else { nominal };
        }
    }

    fn changes(&self, model: &Model, drawn: &[f64]) -> Vec<Change> {
        let &[_, _, _, friction, mass, gain] = drawn else { return Vec::new() };
        let tree = |parameter, values: Vec<f64>| Change::Tree { tree: 0, parameter, values };
        // The trunk is the first body of the tree, the ground the first geom of the world.
        let trunk = &model.bodies[model.trees[0].bodies.start].inertial;
        let inertia = [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)].map(|at| mass * trunk.inertia[at]);
        let mut changes = vec![
            Change::Geom { geom: 0, parameter: GeomParameter::Friction, value: friction },
            tree(Parameter::BodyMass(0), vec![mass * trunk.mass]),
            tree(Parameter::BodyInertia(0), inertia.to_vec()),
        ];
        for (number, servo) in model.actuators.iter().enumerate() {
            changes.push(tree(Parameter::ActuatorGain(number), vec![gain * servo.gain[0]]));
            changes.push(tree(Parameter::ActuatorBias(number), servo.bias.map(|x| gain * x).to_vec()));
        }
        changes
    }

    fn start(&self, model: &Model, _: &Settings, draws: &mut Draws, q: &mut [f64], v: &mut [f64]) {
        shake(draws, &mut q[..2], SPREAD);
        let half_turn = draws.uniform(-0.5, 0.5) * std::f64::consts::PI;
        (q[3], q[6]) = (half_turn.cos(), half_turn.sin());
        shake(draws, &mut q[TRUNK_Q..], 0.1);
        shake_normally(draws, v, 0.05);
        // Onto the highest of a grid of points under it, fine enough to miss no sample by much.
        let across = || (-4..=4).map(|k| f64::from(k) / 4.0 * FOOTING);
        let points = across().flat_map(|x| across().map(move |y| (x, y)));
        let highest = points.map(|(x, y)| terrain::height(ground(model), q[0] + x, q[1] + y)).fold(0.0, f64::max);
        q[2] += highest + LIFT;
    }

    fn place(&self, _: &View) -> [f64; 2] {
        [0.0; 2]
    }

    /// Velocities of the trunk in its frame, up in its frame, the command, angles, velocities and last targets of the joints, the
    /// height of the trunk above points of the ground.
    fn observe(&self, view: &View, out: &mut [f64]) {
        let [linear, angular] = velocities(view);
        let up = up(view);
        let idle = [0.0; JOINTS];
        let action = if view.action.is_empty() { &idle } else { view.action };
        let command = &view.drawn[..COMMANDS.len()];
        let joints = view.q[TRUNK_Q..].iter().chain(&view.v[TRUNK_V..]).chain(action);
        let seen = linear.iter().chain(angular.iter()).chain(up.iter()).chain(command).chain(joints);
        out.iter_mut().zip(seen).for_each(|(to, x)| *to = *x);
        let forward = rotation(view.q) * Vec3::x();
        let (sin, cos) = forward.y.atan2(forward.x).sin_cos();
        let offset = |k: usize, n: usize| (k as f64 - (n - 1) as f64 / 2.0) * SCAN_DISTANCE;
        let points = (0..SCAN[0]).flat_map(|i| (0..SCAN[1]).map(move |j| (offset(i, SCAN[0]), offset(j, SCAN[1]))));
        for (to, (along, across)) in out[BEFORE_SCAN..].iter_mut().zip(points) {
            *to = clearance(view, view.q[0] + cos * along - sin * across, view.q[1] + sin * along + cos * across);
        }
    }

    fn judge(&self, view: &View, _: [f64; 2], info: &mut [f64]) -> Verdict {
        let [linear, angular] = velocities(view);
        let command = &view.drawn[..COMMANDS.len()];
        let miss = (command[0] - linear.x).powi(2) + (command[1] - linear.y).powi(2);
        let turning = (command[2] - angular.z).powi(2);
        let change: f64 = view.action.iter().zip(view.action_before).map(|(a, b)| (a - b).powi(2)).sum();
        let rewards = [
            (-miss / WIDTH).exp(),
            0.5 * (-turning / WIDTH).exp(),
            0.5,
            -2.0 * linear.z.powi(2),
            -0.05 * (angular.x.powi(2) + angular.y.powi(2)),
            -2e-4 * effort(view),
            -0.1 * change,
        ];
        info[..rewards.len()].copy_from_slice(&rewards);
        info[rewards.len()..].copy_from_slice(&view.drawn[COMMANDS.len()..]);
        let fallen = clearance(view, view.q[0], view.q[1]) < LOWEST || up(view).z < STEEPEST;
        Verdict { reward: rewards.iter().sum(), terminated: fallen }
    }
}
