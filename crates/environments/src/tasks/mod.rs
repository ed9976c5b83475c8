//! The tasks: what is seen, what is rewarded, when it ends, where it starts.

mod ant;
mod drawer;
mod humanoid;
mod nut_turning;
mod pendulums;
mod pinch;
mod planar;
mod pusher;
mod quadruped;
mod reacher;

use manyworlds::ContactImpulse;
use manyworlds::kinematics::Motion;
use manyworlds::model::Model;
use manyworlds::{GeomParameter, Parameter};

use crate::draws::Draws;
use crate::options::{Settings, TaskOptions};

/// What a task needs to be told of a state beside q and v.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Needs {
    /// Where bodies are and how they move.
    pub(crate) motions: bool,
    /// These of the state before the last step, not after it: MuJoCo's environments see that under Euler's rule.
    pub(crate) late: bool,
    /// What contacts did in the last step.
    pub(crate) contacts: bool,
    /// The force that holds the first joint in its range.
    pub(crate) first_limit: bool,
}

/// A world as a task sees it.
pub(crate) struct View<'a> {
    pub(crate) model: &'a Model,
    pub(crate) settings: &'a Settings,
    pub(crate) q: &'a [f64],
    pub(crate) v: &'a [f64],
    /// Of all bodies, where the task needs them.
    pub(crate) motions: &'a [Motion],
    /// Controls of the last step; empty after a start.
    pub(crate) action: &'a [f64],
    /// Controls of the step before that; zeros in an episode's first.
    pub(crate) action_before: &'a [f64],
    /// What the episode drew, [`Task::n_drawn`] numbers.
    pub(crate) drawn: &'a [f64],
    pub(crate) contacts: &'a [ContactImpulse],
    /// Force in the last step, N.
    pub(crate) first_limit: f64,
    /// Time step of the simulation, s.
    pub(crate) dt: f64,
}

impl View<'_> {
    /// Sum of the squares of the controls.
    pub(crate) fn effort(&self) -> f64 {
        self.action.iter().map(|x| x * x).sum()
    }
}

/// What a task says of a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Verdict {
    pub(crate) reward: f64,
    pub(crate) terminated: bool,
}

/// A parameter of one world, changed for an episode.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Change {
    Tree { tree: usize, parameter: Parameter, values: Vec<f64> },
    Geom { geom: usize, parameter: GeomParameter, value: f64 },
}

/// A task. All of them are without state of their own.
pub(crate) trait Task: Sync {
    /// Numbers of an observation.
    fn n_observation(&self, model: &Model, settings: &Settings) -> usize;

    /// What it has to be told.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// Names of the numbers that [`Task::judge`] gives beside the reward.
    fn info(&self) -> &'static [&'static str];

    /// Its options and what they are when nobody says.
    fn defaults(&self) -> TaskOptions {
        TaskOptions::NONE
    }

    /// Makes the model what the options ask for.
    fn shape(&self, _: &mut Model, _: &Settings) {}

    /// Numbers that an episode keeps: its goal first, then what is different about its world.
    fn n_drawn(&self) -> usize {
        0
    }

    /// How many of these are its goal.
    fn n_goal(&self) -> usize {
        0
    }

    /// Draws them; without `randomize` worlds are as the model has them, and only goals differ.
    fn draw(&self, _: &mut Draws, _randomize: bool, _drawn: &mut [f64]) {}

    /// What they change in a world, of all that any episode changes.
    fn changes(&self, _: &Model, _drawn: &[f64]) -> Vec<Change> {
        Vec::new()
    }

    /// A start: `q` and `v` hold the model's initial state.
    fn start(&self, model: &Model, settings: &Settings, draws: &mut Draws, q: &mut [f64], v: &mut [f64]);

    /// What counts as the place whose velocity is rewarded, m.
    fn place(&self, view: &View) -> [f64; 2];

    /// Writes the observation.
    fn observe(&self, view: &View, out: &mut [f64]);

    /// `velocity`: of the place over the step, m/s.
    fn judge(&self, view: &View, velocity: [f64; 2], info: &mut [f64]) -> Verdict;
}

/// A task and what it is played in.
pub struct Spec {
    /// Name.
    pub name: &'static str,
    /// The model's file.
    pub(crate) file: &'static str,
    pub(crate) mjcf: &'static str,
    /// Steps of the simulation that one of the environment is.
    pub frame_skip: usize,
    /// Steps after which an episode is cut off.
    pub max_episode_steps: u32,
    pub(crate) task: &'static dyn Task,
}

macro_rules! spec {
    ($name:literal, $file:literal, $frame_skip:literal, $steps:literal, $task:expr) => {
        Spec {
            name: $name,
            file: $file,
            mjcf: include_str!(concat!("../../assets/", $file)),
            frame_skip: $frame_skip,
            max_episode_steps: $steps,
            task: &$task,
        }
    };
}

/// All of them.
pub static TASKS: [Spec; 14] = [
    spec!("InvertedPendulum", "inverted_pendulum.xml", 2, 1000, pendulums::Single),
    spec!("InvertedDoublePendulum", "inverted_double_pendulum.xml", 5, 1000, pendulums::Double),
    spec!("Reacher", "reacher.xml", 2, 50, reacher::Reacher),
    spec!("Pusher", "pusher.xml", 5, 100, pusher::Pusher),
    spec!("Swimmer", "swimmer.xml", 4, 1000, planar::SWIMMER),
    spec!("Hopper", "hopper.xml", 4, 1000, planar::HOPPER),
    spec!("HalfCheetah", "half_cheetah.xml", 5, 1000, planar::HALF_CHEETAH),
    spec!("Walker2d", "walker2d.xml", 4, 1000, planar::WALKER),
    spec!("Ant", "ant.xml", 5, 1000, ant::Ant),
    spec!("Humanoid", "humanoid.xml", 5, 1000, humanoid::Humanoid),
    spec!("Pinch", "pinch.xml", 5, 250, pinch::Pinch),
    spec!("Drawer", "drawer.xml", 5, 200, drawer::Drawer),
    spec!("NutTurning", "nut_turning.xml", 5, 400, nut_turning::NutTurning),
    spec!("Quadruped", "quadruped.xml", 4, 1000, quadruped::Quadruped),
];

/// Numbers of the place along the ground that are not seen, of so many that there are.
fn hidden(settings: &Settings, place: usize) -> usize {
    if settings.exclude_current_positions_from_observation { place } else { 0 }
}

/// Adds evenly distributed noise to every number.
fn shake(draws: &mut Draws, numbers: &mut [f64], scale: f64) {
    numbers.iter_mut().for_each(|x| *x += draws.uniform(-scale, scale));
}

/// Adds normally distributed noise to every number.
fn shake_normally(draws: &mut Draws, numbers: &mut [f64], scale: f64) {
    numbers.iter_mut().for_each(|x| *x += scale * draws.normal());
}
