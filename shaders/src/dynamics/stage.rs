//! The state at which a step evaluates its forces, for a guess of its velocity (Castro 2022, eqs. 6, 11 and 12):
//! `v^theta = v0 + theta (v - v0)` and `q^theta = q0 (+) theta h v^theta_vq`, with the controls and applied forces as they
//! are.

use crate::args::Args;
use crate::dynamics::integrate::turn;
pub use crate::dynamics::tree::TreeOnly as Dims;
use crate::dynamics::tree::{Params, Tree, integrator, joint, nth, nth_mut, param, tile_params};
use crate::real::Real;

/// `state` and a guess of the velocity at the end of the step, `velocity` `[n_v]`, to `stage`, laid out as the state.
pub fn stage<R: Real>(tree: &Tree, params: Params<R>, state: &[R], velocity: &[R], stage: &mut [R]) {
    let (theta, theta_vq) = (tree.dims.theta::<R>(), tree.dims.theta_vq::<R>());
    if tree.dims.integrator == integrator::SYMPLECTIC_EULER {
        // Whatever the guess is, if there is any.
        stage.copy_from_slice(state);
        return;
    }
    let span = theta * params.at(param::TIMESTEP);
    let v0 = &state[tree.dims.v_at()..tree.dims.ctrl_at()];
    for i in 0..v0.len() {
        stage[tree.dims.v_at() + i] = blend(v0, velocity, i, theta);
    }
    stage[tree.dims.ctrl_at()..].copy_from_slice(&state[tree.dims.ctrl_at()..]);
    let angular = |dof: usize| std::array::from_fn(|k| blend(v0, velocity, dof + k, theta_vq));
    for joint in tree.joints {
        let (q, dof) = (joint.q_begin as usize, joint.dof_begin as usize);
        match joint.kind {
            joint::FREE => {
                for k in 0..3 {
                    stage[q + k] = span.mul_add(blend(v0, velocity, dof + k, theta_vq), state[q + k]);
                }
                stage[q + 3..q + 7].copy_from_slice(&turn(state, q + 3, angular(dof + 3), span));
            }
            joint::BALL => stage[q..q + 4].copy_from_slice(&turn(state, q, angular(dof), span)),
            _ => stage[q] = span.mul_add(blend(v0, velocity, dof, theta_vq), state[q]),
        }
    }
}

/// Between v0 and the velocity, of one dof.
#[inline(always)]
fn blend<R: Real>(v0: &[R], velocity: &[R], dof: usize, weight: R) -> R {
    weight.mul_add(velocity[dof] - v0[dof], v0[dof])
}

/// Buffers: topology, params, state, velocity, stage.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims = &args.dims::<Dims>().tree;
    let tiles = args.tiles();
    let [topology, params, state, velocity, stage] = args.split();
    let tree = Tree::new(dims, topology.index());
    let (state, velocity) = (state.tile(), velocity.tile());
    let stage = stage.tile_mut();
    for t in 0..tiles {
        let n_state = dims.n_state() as u32;
        self::stage(
            &tree,
            tile_params(dims, params, t),
            nth(state, t, n_state),
            nth(velocity, t, dims.n_v),
            nth_mut(stage, t, n_state),
        );
    }
}
