//! The derivatives of [`super::force`], times a row from the left: what a row of a dof takes of those before it is summed on the way to
//! the root, what its column takes of them on the way from there.

use super::layout::{DERIVATIVE_BODY, SUMS, work_reals};
use super::recursion::{Row, inner, recurse, run_of};
use crate::dynamics::bias::{Spatial, load_spatial, store_spatial};
use crate::dynamics::tree::{Params, SPATIAL, Tree};
use crate::math::scale_add;
use crate::real::Real;

/// Adds `scale weight^T` times the derivatives to `by_q` and `by_v`, all `[n_v]`, in O(n). `work` [`work_reals`]: as in
/// [`super::force::force`].
pub fn product<R: Real>(
    tree: &Tree,
    params: Params<R>,
    pose: &[R],
    motion: &[R],
    velocity: &[R],
    fixed: &[R],
    scale: R,
    work: &mut [R],
    weight: &[R],
    [by_q, by_v]: [&mut [R]; 2],
) {
    let n = tree.dofs.len();
    let (work, sums) = work.split_at_mut(work_reals(tree.dims) - SUMS * n);
    let (bodies, dofs) = recurse(tree, params, pose, motion, velocity, fixed, work);
    sums.fill(R::lit(0.0));
    let first_of = |i: usize| run_of(tree, &tree.dofs[i], i).0;
    // What moves before a run, times the weights.
    for i in 0..n {
        let first = first_of(i);
        if first == i
            && let Some(last) = tree.mover_before(i)
        {
            let above = first_of(last);
            let mut moved = load_spatial(sums, above * SUMS + 3 * SPATIAL);
            for k in above..=last {
                let s = load_spatial(motion, k * SPATIAL);
                moved = [scale_add(s[0], weight[k], moved[0]), scale_add(s[1], weight[k], moved[1])];
            }
            store_spatial(sums, i * SUMS + 3 * SPATIAL, moved);
        }
    }
    let accumulate = |sums: &mut [R], to: usize, times: R, x: Spatial<R>| {
        let sum = load_spatial(sums, to);
        store_spatial(sums, to, [scale_add(x[0], times, sum[0]), scale_add(x[1], times, sum[1])]);
    };
    for i in (0..n).rev() {
        let record = &tree.dofs[i];
        let row = Row::new(&bodies[record.body as usize * DERIVATIVE_BODY..][..DERIVATIVE_BODY], motion, dofs, i);
        let (first, count) = run_of(tree, record, i);
        for (k, x) in [row.momentum, row.transposed, row.swept].into_iter().enumerate() {
            accumulate(sums, first * SUMS + k * SPATIAL, weight[i], x);
        }
        let before = load_spatial(sums, first * SUMS + 3 * SPATIAL);
        by_q[i] = scale.mul_add(inner(before, row.turned), by_q[i]);
        by_v[i] = scale.mul_add(inner(before, row.sped), by_v[i]);
        if first < i {
            continue;
        }
        // All rows of the run and behind it are summed.
        let sum = |k: usize| load_spatial(sums, first * SUMS + k * SPATIAL);
        let behind = Row { momentum: sum(0), transposed: sum(1), swept: sum(2), ..row };
        for j in first..first + count {
            let [q, v] = behind.entry(motion, dofs, j);
            by_q[j] = scale.mul_add(q, by_q[j]);
            by_v[j] = scale.mul_add(v, by_v[j]);
        }
        if let Some(last) = tree.mover_before(first) {
            let above = first_of(last);
            for (k, x) in [behind.momentum, behind.transposed, behind.swept].into_iter().enumerate() {
                accumulate(sums, above * SUMS + k * SPATIAL, R::lit(1.0), x);
            }
        }
    }
}
