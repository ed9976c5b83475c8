//! Derivatives of applied forces on bodies: carried weight, and the drag of a fluid.
//!
//! In a frame of the body, at the point that the force acts at, dof i moves it by `J_i`, and the balance of momentum has
//! `F_i = h J_i^T r`. Of a weight r is the lift, turned into that frame; of a fluid it is `r = D(w) (w+ - w) - f(w, u)` with the twists w
//! before the step and w+ after it, the wind u, the force f and its drag D. Where dof j is behind dof i (it moves the body and not
//! i's axis) `dJ_i/dq_j` is `S_i x S_j` in that frame, otherwise zero; a twist changes by q_j by its psi ([`Motion`]), and
//! what stands still in the world, as wind and gravity do, turns by `u x omega_j`.

use manyworlds_shaders::dynamics::applied::fluid;
use manyworlds_shaders::dynamics::bias::Spatial;
use manyworlds_shaders::dynamics::derivatives::transport::{cross_motion, runs};
use manyworlds_shaders::dynamics::tree::{ForceRecord, POSE, Params, SPATIAL, body_param, force, param};
use manyworlds_shaders::math::{Quat, Vec3, add, cross, dot, load3, quat_conjugate, quat_mul, quat_rotate, scale, sub};

use crate::applied::is_along;
use crate::dual::Dual;
use crate::member::Motion;
use crate::placed::Placed;
use crate::pool::Pooled;
use crate::rows::Entry;

/// A motion, angular and linear part.
type Twist = Spatial<f64>;
/// A number that changes with a twist.
type OfTwist = Dual<7>;

/// Adds `-dF` of a tree's forces on bodies, columns q and v as of [`crate::applied`]. `after`: v+.
pub(crate) fn add_on_bodies(placed: &Placed, after: &[f64], out: &mut Vec<Entry>) {
    let tree = &placed.tree;
    if tree.forces.iter().all(is_along) {
        return;
    }
    // Dofs of a run move together: those of a later one are behind it.
    let mut run_of = vec![0; placed.n_v()];
    let all = tree.joints.iter().flat_map(runs);
    all.enumerate().for_each(|(run, (first, count))| run_of[first..first + count].fill(run));
    let drags = tree.forces.iter().any(|record| !is_along(record) && record.kind != force::WEIGHT);
    // Nothing but drag asks for it.
    let psi =
        [placed.v(), after].map(|velocity| if drags { Motion::new(placed, velocity).psi } else { Pooled::default() });
    for record in tree.forces.iter().filter(|record| !is_along(record)) {
        let frame = Frame::new(placed, record);
        let motions: Vec<(usize, Twist)> =
            tree.movers(record.on as usize).map(|dof| (dof, frame.local(frame.spatial(dof)))).collect();
        let left = if record.kind == force::WEIGHT {
            Left::of_weight(placed, record, &frame)
        } else {
            Left::of_fluid(placed, record, &frame, &motions, after)
        };
        let h = placed.h();
        for &(j, own) in &motions {
            let by_q = left.by_position(&frame, j, &psi);
            let by_v = times(&left.by_twist, own);
            for &(i, motion) in &motions {
                let mut change = inner(motion, by_q);
                if run_of[i] < run_of[j] {
                    change += inner(frame.local(cross_motion(frame.spatial(i), frame.spatial(j))), left.now);
                }
                out.push((i, j, -h * change));
                if !left.is_lift {
                    out.push((i, placed.n_v() + j, -h * inner(motion, by_v)));
                }
            }
        }
    }
}

/// The frame that a force is known in.
struct Frame<'a> {
    motion: &'a [f64],
    /// From the tree's reference point.
    point: Vec3<f64>,
    turn: Quat<f64>,
}

impl<'a> Frame<'a> {
    fn new(placed: &'a Placed, record: &ForceRecord) -> Self {
        let params = Params::<f64>::Shared(placed.params);
        let pose = &placed.pose[record.on as usize * POSE..(record.on as usize + 1) * POSE];
        let body = [pose[3], pose[4], pose[5], pose[6]];
        let (offset, turn) = if record.kind == force::WEIGHT {
            (params.at3(body_param(record.on as usize) + param::BODY_COM), body)
        } else {
            let at = record.param as usize + param::FORCE_FRAME;
            (params.at3(at), quat_mul(body, params.at4(at + 3)))
        };
        let point = add(sub(load3(pose, 0), placed.centre()), quat_rotate(body, offset));
        Self { motion: &placed.motion, point, turn }
    }

    /// A direction of the world.
    fn into(&self, x: Vec3<f64>) -> Vec3<f64> {
        quat_rotate(quat_conjugate(self.turn), x)
    }

    /// The motion of a dof, in the world at the tree's reference point.
    fn spatial(&self, dof: usize) -> Twist {
        load(self.motion, dof)
    }

    /// Such a motion in this frame: of that of a dof its J.
    fn local(&self, [angular, linear]: Twist) -> Twist {
        [self.into(angular), self.into(add(linear, cross(angular, self.point)))]
    }
}

/// r, and how it changes.
struct Left {
    now: Twist,
    /// By the twist before the step, rows angular and linear.
    by_twist: [[f64; 6]; 6],
    /// By each number of that after the step.
    drag: Twist,
    /// What stands still in the world: the lift, or the wind.
    still: Vec3<f64>,
    /// Whether r is that, turned into the frame; otherwise the wind is taken from the linear part of the twists.
    is_lift: bool,
}

impl Left {
    fn of_weight(placed: &Placed, record: &ForceRecord, frame: &Frame) -> Self {
        let params = Params::<f64>::Shared(placed.params);
        let mass = params.at(body_param(record.on as usize) + param::BODY_MASS);
        let fraction = params.at(record.param as usize + param::FORCE_FRACTION);
        let still = scale(params.at3(param::GRAVITY), fraction * mass);
        let nothing = [0.0; 3];
        Self { now: [nothing, frame.into(still)], by_twist: [[0.0; 6]; 6], drag: [nothing; 2], still, is_lift: true }
    }

    fn of_fluid(
        placed: &Placed,
        record: &ForceRecord,
        frame: &Frame,
        motions: &[(usize, Twist)],
        after: &[f64],
    ) -> Self {
        let params = Params::<f64>::Shared(placed.params);
        let still = params.at3(record.param as usize + param::FORCE_FLUID + 2);
        let wind = frame.into(still);
        let twist = |velocity: &[f64]| {
            motions.iter().fold([[0.0; 3]; 2], |sum, &(dof, own)| {
                std::array::from_fn(|part| add(sum[part], scale(own[part], velocity[dof])))
            })
        };
        let (before, after) = (twist(placed.v()), twist(after));
        let number = |part: usize, k: usize| OfTwist::variable(before[part][k], 3 * part + k);
        let [spin, shift]: [Vec3<OfTwist>; 2] = [0, 1].map(|part| std::array::from_fn(|k| number(part, k)));
        let through = sub(shift, wind.map(Dual::constant));
        let [moment, force, by_spin, by_shift] = fluid(Params::Shared(placed.params), record, spin, through);
        let of = |part: usize, k: usize| {
            let (own, drag, twist) = [(moment, by_spin, spin), (force, by_shift, shift)][part];
            drag[k] * (Dual::constant(after[part][k]) - twist[k]) - own[k]
        };
        let left: [OfTwist; 6] = std::array::from_fn(|row| of(row / 3, row % 3));
        Self {
            now: [0, 1].map(|part| std::array::from_fn(|k| left[3 * part + k].value())),
            by_twist: left.map(|left| std::array::from_fn(|column| left.slope(column))),
            drag: [by_spin, by_shift].map(|drag| drag.map(|x| x.value())),
            still,
            is_lift: false,
        }
    }

    /// By q of a dof; `psi`: of the velocities before and after the step.
    fn by_position(&self, frame: &Frame, dof: usize, psi: &[Pooled; 2]) -> Twist {
        let turned = frame.into(cross(self.still, frame.spatial(dof)[0]));
        if self.is_lift {
            return [[0.0; 3], turned];
        }
        let [before, after] = psi.each_ref().map(|psi| frame.local(load(psi, dof)));
        let mut out = times(&self.by_twist, [before[0], sub(before[1], turned)]);
        for k in 0..3 {
            out[0][k] += self.drag[0][k] * after[0][k];
            out[1][k] += self.drag[1][k] * (after[1][k] - turned[k]);
        }
        out
    }
}

/// That of a dof.
fn load(motions: &[f64], dof: usize) -> Twist {
    [load3(motions, dof * SPATIAL), load3(motions, dof * SPATIAL + 3)]
}

fn times(matrix: &[[f64; 6]; 6], [angular, linear]: Twist) -> Twist {
    let row = |row: &[f64; 6]| {
        let [a, b, c, d, e, f] = *row;
        dot([a, b, c], angular) + dot([d, e, f], linear)
    };
    [0, 3].map(|first| std::array::from_fn(|k| row(&matrix[first + k])))
}

fn inner(a: Twist, b: Twist) -> f64 {
    dot(a[0], b[0]) + dot(a[1], b[1])
}
