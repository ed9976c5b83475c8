//! What only the whole constraint knows: Delassus block, bias with restitution, friction, warm start. A contact that nothing
//! moves apart is left out.

use super::frame::tangents;
use super::island::{self, IslandDims, Islands, con, contact, kind, region};
use super::local;
use super::tree_layout::{bias, bilateral_bias};
use crate::args::Args;
use crate::math::{dot, load3};
use crate::{Real, Scalar};

/// Uniform block.
pub type Dims = IslandDims;

/// `G_ii = sum J Y^T` over the sides.
#[inline(always)]
fn delassus<T: Scalar>(sides: &[island::SideRecord], jac: &[T]) -> [T; 6] {
    let mut g = [T::lit(0.0); 6];
    for side in sides {
        let n = side.count as usize;
        let (j, y) = jac[side.jac as usize..][..6 * n].split_at(3 * n);
        for k in 0..n {
            let (a, b) = ([j[k], j[n + k], j[2 * n + k]], [y[k], y[n + k], y[2 * n + k]]);
            g[0] = a[0].mul_add(b[0], g[0]);
            g[1] = a[0].mul_add(b[1], g[1]);
            g[2] = a[0].mul_add(b[2], g[2]);
            g[3] = a[1].mul_add(b[1], g[3]);
            g[4] = a[1].mul_add(b[2], g[4]);
            g[5] = a[2].mul_add(b[2], g[5]);
        }
    }
    g
}

/// Largest entry of the normal's Jacobian.
#[inline(always)]
fn reach<T: Scalar>(sides: &[island::SideRecord], jac: &[T]) -> T {
    let normal =
        |side: &island::SideRecord| &jac[side.jac as usize..][2 * side.count as usize..3 * side.count as usize];
    sides.iter().flat_map(normal).fold(T::lit(0.0), |most, j| most.max(j.abs()))
}

/// Bias of a block: a contact's gap or bounce, a bilateral block's error. `before`: velocity before the step.
#[inline(always)]
fn block_bias<T: Scalar>(c: &[T], sides: &[island::SideRecord], jac: &[T], before: &[T]) -> [T; 3] {
    let zero = T::lit(0.0);
    let h = c[contact::TIMESTEP];
    let per_step = T::lit(1.0) / h;
    let (fraction, largest) = (c[contact::CORRECTION_FRACTION], c[contact::CORRECTION_MAX]);
    if c[contact::FRICTION] < zero {
        return [0, 1, 2].map(|k| bilateral_bias(c[contact::NORMAL + k], per_step, fraction, largest));
    }
    let (phi, rho) = (c[contact::DISTANCE], c[contact::RESTITUTION]);
    let mut normal = bias(phi, per_step, fraction, largest, c[contact::CORRECTION_SLOP]);
    let axis = load3(c, contact::NORMAL);
    let drift = load3(c, contact::DRIFT);
    let drifting = dot(axis, drift);
    if zero < rho {
        let speed = island::block_sigma(sides, jac, [zero; 3], before)[2] + drifting;
        // Fast enough, and there within the step.
        if speed < -c[contact::RESTITUTION_THRESHOLD] && h.mul_add(speed, phi) < zero {
            normal = rho * speed;
        }
    }
    let [t1, t2] = tangents(axis);
    [dot(t1, drift), dot(t2, drift), drifting + normal]
}

/// All constraints of a chunk. `impulse_in` is that of the step before.
pub fn island_finish<T: Scalar>(
    dims: &IslandDims,
    index: &[u32],
    contacts: &[T],
    jac: &[T],
    impulse_in: &[T],
    velocity: &[T],
    cons: &mut [T],
    impulse: &mut [T],
) {
    let all = Islands::new(dims, index);
    let before = &velocity[dims.n_velocity as usize * region::SCRATCH..];
    for (i, record) in all.constraints.iter().enumerate() {
        let own = &mut impulse[3 * i..3 * i + 3];
        own.fill(T::lit(0.0));
        if record.previous != 0 {
            let from = 3 * (record.previous as usize - 1);
            own.copy_from_slice(&impulse_in[from..from + 3]);
        }
        let c = &mut cons[con::SIZE * i..con::SIZE * (i + 1)];
        if record.kind != kind::BLOCK {
            own[0] = c[con::ROW_WARM].max(c[con::ROW_LOWER]).min(c[con::ROW_UPPER]);
            continue;
        }
        let sides = &all.sides[record.side_begin as usize..record.side_end as usize];
        let from = &contacts[contact::SIZE * i..][..contact::SIZE];
        let g = delassus(sides, jac);
        let mut bias = block_bias(from, sides, jac, before);
        // Compliant contact has an answer to everything.
        if from[contact::COMPLIANCE] < T::lit(0.0) {
            bias[2] = local::parted(from[contact::FRICTION], &g, reach(sides, jac), bias[2]);
        }
        c[con::BIAS..con::BIAS + 3].copy_from_slice(&bias);
        c[con::RELAXED..con::RELAXED + 3].fill(T::lit(0.0));
        c[con::FRICTION] = from[contact::FRICTION];
        c[con::DELASSUS..con::DELASSUS + 6].copy_from_slice(&g);
        c[con::INVERSE..con::INVERSE + 6].copy_from_slice(&local::invert(&g));
    }
}

/// Buffers: island_index, island_contact, island_jac, impulse_in, velocity -> island_con, impulse_out.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims: Dims = args.dims();
    let [index, contacts, jac, impulse_in, velocity, cons, impulse] = args.split();
    let (contacts, jac, impulse_in) = (contacts.real(), jac.real(), impulse_in.real());
    island_finish(
        &dims,
        index.index(),
        contacts,
        jac,
        impulse_in,
        velocity.real(),
        cons.real_mut(),
        impulse.real_mut(),
    );
}
