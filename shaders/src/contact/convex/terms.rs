//! What each constraint adds to the objective: its weights, and where its impulse begins.

use super::layout::{ConvexDims, method, term};
use crate::args::Args;
use crate::contact::island::{Islands, UNBOUNDED, con, contact, kind};
use crate::contact::local::TINY;
use crate::{Real, Scalar};

/// Uniform block.
pub type Dims = ConvexDims;

/// An f32 of the uniform.
pub(super) fn setting<T: Scalar>(bits: u32) -> T {
    T::lit(f64::from(f32::from_bits(bits)))
}

/// `|W_ii|_F / 3` of a block, `G_ii` of a row, 1/kg (Castro 2022, section V-B); 1 of what moves nothing, which may have any
/// weight.
fn rms<T: Scalar>(block: bool, c: &[T]) -> T {
    let g = &c[if block { con::DELASSUS } else { con::ROW_DELASSUS }..];
    let w = if block {
        let square = g[0] * g[0] + g[3] * g[3] + g[5] * g[5];
        let twice = g[1] * g[1] + g[2] * g[2] + g[4] * g[4];
        (square + twice + twice).sqrt() / T::lit(3.0)
    } else {
        g[0]
    };
    if T::lit(0.0) < w { w } else { T::lit(1.0) }
}

/// SAP's weights of a constraint and its normal bias (eqs. 29, 30): near-rigid rows are as stiff as the step resolves, box
/// rows as stiff as what sticks, soft rows what they are.
fn compliant<T: Scalar>(dims: &ConvexDims, block: bool, c: &[T], of: &[T], out: &mut [T]) {
    let (zero, one) = (T::lit(0.0), T::lit(1.0));
    let w = rms(block, c);
    let period = setting::<T>(dims.near_rigid) / T::lit(std::f64::consts::TAU);
    let near = w * (period * period);
    let stick = setting::<T>(dims.stiction) / w;
    if block {
        let held = c[con::FRICTION] < zero;
        out[term::BETA_T] = if held { one / near } else { stick };
        out[term::BETA_N] = one / near;
        if !held && zero <= of[contact::COMPLIANCE] {
            out[term::BETA_N] = one / near.max(of[contact::COMPLIANCE]);
            out[term::BIAS + 2] = -of[contact::SEPARATION];
        }
        return;
    }
    let open = T::lit(UNBOUNDED);
    let (below, above) = (c[con::ROW_LOWER], c[con::ROW_UPPER]);
    let saturates = above < open || (-open < below && below != zero);
    let compliance = c[con::ROW_COMPLIANCE];
    out[term::ROW_COMPLIANCE] = zero;
    out[term::BETA_N] = if zero < compliance {
        one / compliance
    } else if saturates {
        stick
    } else {
        one / near
    };
}

/// All constraints of a chunk.
pub fn terms<T: Scalar>(dims: &ConvexDims, index: &[u32], contacts: &[T], cons: &[T], impulse: &[T], convex: &mut [T]) {
    let (zero, one) = (T::lit(0.0), T::lit(1.0));
    let islands = dims.of_islands();
    let all = Islands::new(&islands, index);
    for (i, record) in all.constraints.iter().enumerate() {
        let block = record.kind == kind::BLOCK;
        let c = &cons[con::SIZE * i..][..con::SIZE];
        let out = &mut convex[dims.constraint_real as usize + term::SIZE * i..][..term::SIZE];
        out.fill(zero);
        let g = &c[if block { con::DELASSUS } else { con::ROW_DELASSUS }..];
        let mean = if block { (g[0] + g[3] + g[5]) / T::lit(3.0) } else { g[0] };
        let moves = T::lit(TINY) < mean;
        out[term::MEAN] = if moves { mean } else { zero };
        let rows = if block { 3 } else { 1 };
        out[term::BIAS..term::BIAS + rows].copy_from_slice(&c[con::BIAS..con::BIAS + rows]);
        if dims.method == method::SAP {
            compliant(dims, block, c, &contacts[contact::SIZE * i..][..contact::SIZE], out);
            continue;
        }
        for r in 0..3 {
            out[term::BEFORE + r] = impulse[3 * i + r];
        }
        let penalty = setting::<T>(dims.penalty).min(setting(dims.penalty_most));
        let beta = penalty * if moves { one / mean } else { one };
        out[term::BETA_N] = beta;
        out[term::BETA_T] = if block { beta } else { c[con::ROW_COMPLIANCE] };
    }
}

/// Buffers: island_index, island_contact, island_con, impulse -> convex.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims: Dims = args.dims();
    let [index, contacts, cons, impulse, convex] = args.split();
    terms(&dims, index.index(), contacts.real(), cons.real(), impulse.real(), convex.real_mut());
}
