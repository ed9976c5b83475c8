//! Y = A^-1 J^T, the diagonal blocks, restitution and the warm start of every slot.
//!
//! Buffers: topology, factor, state, contact_map, slots, impulse_in -> constraint (rest), impulse_out.

use super::local::invert;
use super::tree_layout::{map, slot, slot_reals};
use crate::dynamics::tree::{Tree, solve};
use crate::{Real, Scalar as _};

/// One tile; `map`, `impulse_in` (of the step before), `constraint` and `impulse` are its own slots.
pub fn tree_assemble<R: Real>(
    tree: &Tree,
    factor: &[R],
    state: &[R],
    map_in: &[u32],
    impulse_in: &[R],
    constraint: &mut [R],
    impulse: &mut [R],
) {
    let n_v = tree.dofs.len();
    let v = &state[tree.dims.v_at()..][..n_v];
    let (zero, size) = (R::lit(0.0), slot_reals(n_v));
    for (s, out) in constraint.chunks_exact_mut(size).enumerate() {
        let (head, rows) = out.split_at_mut(slot::J);
        let (j, y) = rows.split_at_mut(3 * n_v);
        y.copy_from_slice(j);
        for y in y.chunks_exact_mut(n_v) {
            solve(tree, factor, y);
        }
        let mut g = [zero; 6];
        let mut normal = zero;
        for i in 0..n_v {
            let (a, b) = ([j[i], j[n_v + i], j[2 * n_v + i]], [y[i], y[n_v + i], y[2 * n_v + i]]);
            g[0] = a[0].mul_add(b[0], g[0]);
            g[1] = a[0].mul_add(b[1], g[1]);
            g[2] = a[0].mul_add(b[2], g[2]);
            g[3] = a[1].mul_add(b[1], g[3]);
            g[4] = a[1].mul_add(b[2], g[4]);
            g[5] = a[2].mul_add(b[2], g[5]);
            normal = a[2].mul_add(v[i], normal);
        }
        head[slot::BLOCK..slot::BLOCK + 6].copy_from_slice(&g);
        head[slot::INVERSE..slot::INVERSE + 6].copy_from_slice(&invert(&g));
        let rho = head[slot::RESTITUTION];
        let bounces = zero.lt(rho) & normal.lt(head[slot::BOUNCE]);
        head[slot::BIAS + 2] = R::select(bounces, rho * normal, head[slot::BIAS + 2]);
        warm_start(&map_in[s * map::SIZE * R::N..], impulse_in, &mut impulse[3 * s..3 * s + 3]);
    }
}

/// The impulse of the same feature one step ago, lane by lane; zero for a new one.
#[inline(always)]
fn warm_start<R: Real>(words: &[u32], impulse_in: &[R], impulse: &mut [R]) {
    impulse.fill(R::lit(0.0));
    for lane in 0..R::N {
        let warm = words[map::WARM * R::N + lane] as usize;
        if warm == 0 {
            continue;
        }
        let before = [0, 1, 2].map(|f| impulse_in[(warm - 1) * 3 + f].lane(lane));
        if before.iter().all(|x| x.is_finite()) {
            for (f, x) in before.into_iter().enumerate() {
                impulse[f].set_lane(lane, x);
            }
        }
    }
}
