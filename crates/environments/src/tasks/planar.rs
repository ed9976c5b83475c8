//! Those that move in a plane, forward as fast as they can: HalfCheetah, Hopper, Walker2d, Swimmer.

use manyworlds::model::Model;

use super::{Task, Verdict, View, shake, shake_normally};
use crate::draws::Draws;

/// Gymnasium's clip of velocities of those that can fall.
const FASTEST: f64 = 10.0;

pub(super) struct Planar {
    /// Reward of controls, per square.
    effort: f64,
    /// Noise of a start.
    noise: f64,
    /// Velocities of a start are normally distributed.
    normal: bool,
    /// First positions that are not seen.
    hidden: usize,
    /// Those that can fall end when they do.
    upright: Option<Upright>,
}

/// What counts as standing.
struct Upright {
    /// Height of the torso, m.
    z: [f64; 2],
    /// Lean of the torso, rad.
    angle: [f64; 2],
    /// All numbers of the state but the first two.
    state: f64,
}

pub(super) static HALF_CHEETAH: Planar = Planar { effort: 0.1, noise: 0.1, normal: true, hidden: 1, upright: None };
pub(super) static SWIMMER: Planar = Planar { effort: 1e-4, noise: 0.1, normal: false, hidden: 2, upright: None };
pub(super) static HOPPER: Planar = Planar {
    effort: 1e-3,
    noise: 5e-3,
    normal: false,
    hidden: 1,
    upright: Some(Upright { z: [0.7, f64::INFINITY], angle: [-0.2, 0.2], state: 100.0 }),
};
pub(super) static WALKER: Planar = Planar {
    effort: 1e-3,
    noise: 5e-3,
    normal: false,
    hidden: 1,
    upright: Some(Upright { z: [0.8, 2.0], angle: [-1.0, 1.0], state: f64::INFINITY }),
};

fn within(x: f64, [low, high]: [f64; 2]) -> bool {
    low < x && x < high
}

impl Upright {
    fn holds(&self, view: &View) -> bool {
        let rest = view.q[2..].iter().chain(view.v);
        within(view.q[1], self.z) && within(view.q[2], self.angle) && rest.into_iter().all(|x| x.abs() < self.state)
    }
}

impl Task for Planar {
    fn n_observation(&self, model: &Model) -> usize {
        model.n_q - self.hidden + model.n_v
    }

    fn info(&self) -> &'static [&'static str] {
        if self.upright.is_some() {
            &["x_position", "x_velocity", "reward_forward", "reward_ctrl", "reward_survive"]
        } else {
            &["x_position", "x_velocity", "reward_forward", "reward_ctrl"]
        }
    }

    fn start(&self, _: &Model, draws: &mut Draws, q: &mut [f64], v: &mut [f64]) {
        shake(draws, q, self.noise);
        if self.normal {
            shake_normally(draws, v, self.noise);
        } else {
            shake(draws, v, self.noise);
        }
    }

    fn place(&self, view: &View) -> [f64; 2] {
        [view.q[0], 0.0]
    }

    fn observe(&self, view: &View, out: &mut [f64]) {
        let most = if self.upright.is_some() { FASTEST } else { f64::INFINITY };
        let v = view.v.iter().map(|x| x.clamp(-most, most));
        let seen = view.q[self.hidden..].iter().copied().chain(v);
        out.iter_mut().zip(seen).for_each(|(to, x)| *to = x);
    }

    fn judge(&self, view: &View, [velocity, _]: [f64; 2], info: &mut [f64]) -> Verdict {
        let effort = self.effort * view.effort();
        let standing = self.upright.as_ref().is_none_or(|upright| upright.holds(view));
        let survive = f64::from(u8::from(self.upright.is_some() && standing));
        let parts = [view.q[0], velocity, velocity, -effort, survive];
        info.iter_mut().zip(parts).for_each(|(to, x)| *to = x);
        Verdict { reward: velocity + survive - effort, terminated: !standing }
    }
}
