//! The end of a step: `v = v+`, `q = q (+) h v+`, orientations by the quaternion exponential of the body angular velocity.
//! The midpoint rule moves positions by the mean velocity, `q = q (+) h (v + v+) / 2` (Castro 2022, eqs. 6 and 12).

use crate::args::Args;
pub use crate::dynamics::tree::TreeOnly as Dims;
use crate::dynamics::tree::{Params, Tree, integrator, joint, moving, nth, nth_mut, param, status, tile_params};
use crate::math::{Quat, Vec3, finite, quat_turn, scale};
use crate::real::{Mask, Real};

/// Faster than this (m/s or rad/s) counts as not finite: the next squares would overflow in f32.
const FASTEST: f64 = 1e9;

/// `velocity` `[n_v]` into `state` of one tile of lanes. A lane whose velocity is not finite keeps its state and is flagged
/// in `status` `[lanes]`; so does a lane that is flagged or frozen already. One
/// that is held keeps its state as well, whatever its velocity.
pub fn integrate<R: Real>(tree: &Tree, params: Params<R>, velocity: &[R], state: &mut [R], status: &mut [u32]) {
    let sound = finite_velocity::<R>(&velocity[..tree.dofs.len()]);
    for (lane, word) in status.iter_mut().enumerate() {
        if *word & status::HELD == 0 && !sound.lane(lane) {
            *word |= status::NON_FINITE;
        }
    }
    let moves = moving::<R>(status);
    let h = params.at(param::TIMESTEP);
    let put = |state: &mut [R], at: usize, value: R| state[at] = R::select(moves, value, state[at]);
    let v_at = tree.dims.v_at();
    let midpoint = tree.dims.integrator == integrator::MIDPOINT;
    let rate = |state: &[R], dof: usize| rate(velocity[dof], state[v_at + dof], midpoint);
    for joint in tree.joints {
        let (q, dof) = (joint.q_begin as usize, joint.dof_begin as usize);
        match joint.kind {
            joint::FREE => {
                for k in 0..3 {
                    put(state, q + k, h.mul_add(rate(state, dof + k), state[q + k]));
                }
                let next = turn(state, q + 3, std::array::from_fn(|k| rate(state, dof + 3 + k)), h);
                (0..4).for_each(|k| put(state, q + 3 + k, next[k]));
            }
            joint::BALL => {
                let next = turn(state, q, std::array::from_fn(|k| rate(state, dof + k)), h);
                (0..4).for_each(|k| put(state, q + k, next[k]));
            }
            _ => put(state, q, h.mul_add(rate(state, dof), state[q])),
        }
    }
    for i in 0..tree.dofs.len() {
        put(state, v_at + i, velocity[i]);
    }
}

/// The rate of a dof's position: of its velocity and, midpoint, of the one before.
#[inline(always)]
fn rate<R: Real>(velocity: R, before: R, midpoint: bool) -> R {
    if midpoint { R::lit(0.5) * (velocity + before) } else { velocity }
}

/// Where every speed is a number below [`FASTEST`].
#[inline(always)]
fn finite_velocity<R: Real>(velocity: &[R]) -> R::Mask {
    let mut sound = finite(R::lit(0.0));
    for &v in velocity {
        sound = sound & v.abs().le(R::lit(FASTEST));
    }
    sound
}

/// An orientation turned at an angular velocity for h seconds.
#[inline(always)]
pub(super) fn turn<R: Real>(state: &[R], q: usize, angular: Vec3<R>, h: R) -> Quat<R> {
    quat_turn([state[q], state[q + 1], state[q + 2], state[q + 3]], scale(angular, h))
}

/// Buffers: topology, params, velocity, state, status.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims = &args.dims::<Dims>().tree;
    let tiles = args.tiles();
    let [topology, params, velocity, state, status] = args.split();
    let tree = Tree::new(dims, topology.index());
    let velocity = velocity.tile();
    let state = state.tile_mut();
    let status = status.index_mut();
    for t in 0..tiles {
        integrate(
            &tree,
            tile_params(dims, params, t),
            nth(velocity, t, dims.n_v),
            nth_mut(state, t, dims.n_state() as u32),
            nth_mut(status, t, R::N as u32),
        );
    }
}
