//! The start of a step, from the state.
//!
//! `begin`, of a lane: displacements q `[n_v]`; the velocity after the step of what no element holds, but for damping,
//! `u = v + h (g + f_ext / m)` `[n_v]`; the pressure in each region. On a mocap body that moves v is what the balance of
//! momentum takes for it: `by_speed v + by_place (rest + q) - gained`.

use crate::args::Args;
use crate::contact::tree_layout::info;
use crate::dynamics::names::status;
use crate::dynamics::tree::{nth, nth_mut};
use crate::math::clamp;
use crate::real::Real;
pub use crate::soft::body::SoftDims as Dims;
use crate::soft::body::soft;

/// `state` to `begin` and the velocity that rounds begin with, of one tile.
pub fn start<R: Real>(
    dims: &Dims,
    topology: &[u32],
    rest: &[R::Scalar],
    params: &[R],
    state: &[R],
    begin: &mut [R],
    velocity: &mut [R],
) {
    let n_v = dims.n_v() as usize;
    let (q, rest_of_state) = state.split_at(n_v);
    let (v, forces) = (&rest_of_state[..n_v], &rest_of_state[n_v + dims.n_u as usize..]);
    velocity.copy_from_slice(v);
    begin[..n_v].copy_from_slice(q);
    let (h, density) = (params[soft::TIMESTEP], params[soft::DENSITY]);
    for node in 0..dims.n_node as usize {
        let mass = density * R::splat(rest[node]);
        let speed = begins(dims, rest, params, q, v, node);
        for k in 0..3 {
            let dof = 3 * node + k;
            begin[n_v + dof] = h.mul_add(params[soft::GRAVITY + k] + forces[dof] / mass, speed[k]);
        }
    }
    pressures(dims, topology, params, &rest_of_state[n_v..], &mut begin[2 * n_v..]);
}

/// The velocity of a node as the balance of momentum takes it.
#[inline(always)]
fn begins<R: Real>(dims: &Dims, rest: &[R::Scalar], params: &[R], q: &[R], v: &[R], node: usize) -> [R; 3] {
    let speed = [v[3 * node], v[3 * node + 1], v[3 * node + 2]];
    if dims.ridden == 0 {
        return speed;
    }
    let at = dims.n_node as usize + 3 * node;
    let place = [0, 1, 2].map(|k| R::splat(rest[at + k]) + q[3 * node + k]);
    let ride = &params[dims.ride_param()..];
    [0, 1, 2].map(|row| {
        let mut sum = -ride[soft::RIDE_GAINED + row];
        for k in 0..3 {
            sum = ride[soft::RIDE_BY_SPEED + 3 * row + k].mul_add(speed[k], sum);
            sum = ride[soft::RIDE_BY_PLACE + 3 * row + k].mul_add(place[k], sum);
        }
        sum
    })
}

/// Pressures, with what controls add to them.
#[inline(always)]
fn pressures<R: Real>(dims: &Dims, topology: &[u32], params: &[R], controls: &[R], begin: &mut [R]) {
    let n_region = dims.n_region as usize;
    begin[..n_region].copy_from_slice(&params[soft::HEADER..soft::HEADER + n_region]);
    for i in 0..dims.n_u as usize {
        let region = topology[dims.control_at as usize + i] as usize;
        let own = &params[dims.control_param() + i * soft::CONTROL..];
        let within = |x: R, at: usize| clamp(x, own[at], own[at + 1]);
        let input = within(controls[i], soft::CONTROL_RANGE);
        let force = own[soft::CONTROL_GAIN].mul_add(input, own[soft::CONTROL_BIAS]);
        begin[region] = own[soft::CONTROL_GEAR].mul_add(within(force, soft::CONTROL_FORCE), begin[region]);
    }
}

/// Buffers: topology, rest, params, state, begin, velocity, info, status. Starts the status word of the step: what something
/// touches is unsolved.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims = args.dims::<Dims>();
    let tiles = args.tiles();
    let [topology, rest, params, state, begin, velocity, info, status] = args.split();
    let (topology, rest, params, state) = (topology.index(), rest.real(), params.tile(), state.tile());
    let (begin, velocity, info) = (begin.tile_mut(), velocity.tile_mut(), info.tile_mut());
    for t in 0..tiles {
        start(
            &dims,
            topology,
            rest,
            nth(params, t, dims.n_param),
            nth(state, t, dims.n_state()),
            nth_mut(begin, t, dims.n_begin()),
            nth_mut(velocity, t, dims.n_v()),
        );
        nth_mut(info, t, info::reals(dims.n_v() as usize) as u32)[..info::SIZE].fill(R::lit(0.0));
    }
    for word in &mut status.index_mut()[..dims.lanes as usize] {
        *word &= status::KEPT;
        if *word & status::APART == status::SHARED {
            *word |= status::ITERATION_LIMIT;
        }
    }
}
