//! What the two bodies of a contact do to it, as linear functions of their motions: `sigma^` and the impulse's wrench, while
//! v+ and the impulse along the contact's axes are held.
//!
//! With u the relative velocity at the point p, w the relative angular velocity and E the axes, `sigma = E u`. A motion S of a
//! body changes u by `S x V + psi` at p and by `w x dp`, E with the normal, e with the distance. The wrench `(p x f, f)`
//! changes with p and with E.
//!
//! Buffers: topology (unused), params, places, impulse, touch, act -> side.

use super::force::{along_axes, axes};
use super::kink::{kink, slope};
use super::layout::{place, side, tile_place, touch};
use crate::args::Args;
use crate::contact::frame::tangent_slopes;
use crate::dynamics::derivatives::layout::Act;
use crate::dynamics::tree::{Params, SPATIAL, TreeDims, nth, param, tile_params};
use crate::math::{Vec3, add, cross, load3, scale, scale_add, store3, sub, zero};
use crate::real::{Mask, Real, Scalar};

/// Uniform.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Dims {
    /// Sizes of the tree.
    pub tree: TreeDims,
    /// Gaps that a step would close at less than this are closed, m/s: the bits of an f32.
    pub closed: u32,
}
/// Whether a contact carries something: whether there is a body that it moves.
#[inline(always)]
pub(super) fn acts<R: Real>([a, b]: [R; 2]) -> R::Mask {
    R::lit(0.0).le(a) | R::lit(0.0).le(b)
}

/// Three numbers of a body that may be another in each lane; zeros for the ground.
#[inline(always)]
pub(super) fn body3<R: Real>(from: &[R], body: R, at: usize) -> Vec3<R> {
    std::array::from_fn(|k| {
        R::by_lane(|lane| {
            let body = body.lane(lane).to_f64();
            if body < 0.0 { R::Scalar::default() } else { from[body as usize * SPATIAL + at + k].lane(lane) }
        })
    })
}

/// What weighs a motion at c as `linear` does the velocity at the point, `angular` the angular velocity.
#[inline(always)]
fn at_centre<R: Real>(arm: Vec3<R>, linear: Vec3<R>, angular: Vec3<R>) -> [Vec3<R>; 2] {
    [add(cross(arm, linear), angular), linear]
}

#[inline(always)]
fn store<R: Real>(to: &mut [R], row: usize, [angular, linear]: [Vec3<R>; 2]) {
    store3(to, row * SPATIAL, angular);
    store3(to, row * SPATIAL + 3, linear);
}

/// Sums of rows of a body's slopes, each times a number.
#[inline(always)]
fn combined<R: Real>(slopes: &[R], first: usize, weights: Vec3<R>, mut sum: [Vec3<R>; 2]) -> [Vec3<R>; 2] {
    for j in 0..3 {
        let row = (first + j) * SPATIAL;
        sum[0] = scale_add(load3(slopes, row), weights[j], sum[0]);
        sum[1] = scale_add(load3(slopes, row + 3), weights[j], sum[1]);
    }
    sum
}

/// One tile; `touch`, `impulse` and `out` are its own slots, `twist` `[n_body][6]`.
pub fn sides<R: Real>(params: Params<R>, closed: R, twist: &[R], touch_in: &[R], impulse: &[R], out: &mut [R]) {
    let settings = [
        R::lit(1.0) / params.at(param::TIMESTEP),
        params.at(param::CORRECTION_FRACTION),
        params.at(param::CORRECTION_MAX),
    ];
    let slots = touch_in.chunks_exact(touch::SIZE).zip(impulse.chunks_exact(3)).zip(out.chunks_exact_mut(side::SIZE));
    for ((record, impulse), out) in slots {
        let bodies = [record[touch::BODIES], record[touch::BODIES + 1]];
        (out[side::BODIES], out[side::BODIES + 1]) = (bodies[0], bodies[1]);
        if !acts(bodies).any() {
            continue;
        }
        let (arm, normal) = (load3(record, touch::ARM), load3(record, touch::NORMAL));
        let axes = axes(normal);
        let force = along_axes(&axes, impulse);
        let turned = tangent_slopes(normal);
        let spins = bodies.map(|body| body3(twist, body, 0));
        let speeds = bodies.map(|body| body3(twist, body, 3));
        let at_point = |side: usize| add(speeds[side], cross(spins[side], arm));
        let (u, w) = (sub(at_point(1), at_point(0)), sub(spins[1], spins[0]));
        // How fast each axis' speed changes with the normal, and the impulse likewise.
        let mut by_normal = [zero(), zero(), u];
        let mut bent = [zero(); 3];
        for k in 0..3 {
            for j in 0..3 {
                by_normal[0][j] = turned[0][k][j].mul_add(u[k], by_normal[0][j]);
                by_normal[1][j] = turned[1][k][j].mul_add(u[k], by_normal[1][j]);
                bent[k][j] = turned[0][k][j].mul_add(impulse[0], turned[1][k][j] * impulse[1]);
            }
            bent[k][k] += impulse[2];
        }
        let by_distance = slope(record[touch::DISTANCE], settings, closed);
        let nothing = [zero(), zero()];
        for k in 0..3 {
            store(&mut out[side::SPEED..], k, at_centre(arm, axes[k], zero()));
        }
        out[side::KINK..side::SIZE].copy_from_slice(&kink(record[touch::DISTANCE], settings, closed));
        for own in 0..2 {
            let slopes = &record[touch::SLOPES + 42 * own..][..42];
            let sign = R::lit(if own == 1 { 1.0 } else { -1.0 });
            let (spin, speed) = (spins[own], speeds[own]);
            let to = &mut out[side::TURNED + 18 * own..][..18];
            for k in 0..3 {
                let lever = cross(axes[k], w);
                let mut change = combined(slopes, 3, by_normal[k], combined(slopes, 0, lever, nothing));
                if k == 2 {
                    for j in 0..2 {
                        change[j] = scale_add(load3(slopes, 36 + 3 * j), by_distance, change[j]);
                    }
                }
                let [angular, linear] = at_centre(arm, change[0], change[1]);
                let [a, l] = at_centre(arm, axes[k], zero());
                // `S x V`.
                let swept = [add(cross(spin, a), cross(speed, l)), cross(spin, l)];
                store(to, k, [scale_add(swept[0], sign, angular), scale_add(swept[1], sign, linear)]);
            }
            let to = &mut out[side::WRENCH + 36 * own..][..36];
            let forces = bent.map(|bent| {
                let [linear, angular] = combined(slopes, 3, bent, nothing);
                at_centre(arm, linear, angular)
            });
            for k in 0..3 {
                let (next, last) = ((k + 1) % 3, (k + 2) % 3);
                // dp x f
                let mut turning = nothing;
                for j in 0..2 {
                    turning[j] = scale_add(
                        load3(slopes, next * SPATIAL + 3 * j),
                        force[last],
                        scale(load3(slopes, last * SPATIAL + 3 * j), -force[next]),
                    );
                }
                let mut moment = at_centre(arm, turning[0], turning[1]);
                for j in 0..2 {
                    moment[j] =
                        scale_add(forces[last][j], arm[next], scale_add(forces[next][j], -arm[last], moment[j]));
                }
                store(to, k, moment);
                store(to, 3 + k, forces[k]);
            }
        }
    }
}

/// See the module.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let Dims { tree: dims, closed } = &args.dims::<Dims>();
    let closed = R::lit(f64::from(f32::from_bits(*closed)));
    let tiles = args.tiles();
    let [_topology, params, places, impulse, touch_in, act, out] = args.split();
    let part = Act::new(dims);
    for t in 0..tiles {
        let at = tile_place(places.index(), t);
        let (begin, end) = (at[place::BEGIN], at[place::BEGIN] + at[place::COUNT]);
        sides(
            tile_params(dims, params, t),
            closed,
            &nth(act.tile(), t, part.reals as u32)[part.twist..part.psi],
            &touch_in.tile()[begin * touch::SIZE..end * touch::SIZE],
            &impulse.tile()[3 * begin..3 * end],
            &mut out.tile_mut()[begin * side::SIZE..end * side::SIZE],
        );
    }
}
