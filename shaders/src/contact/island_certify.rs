//! How good the impulses of every island are (mathematics section 3, number 1 and its scaled form), from nothing but
//! the problem and the impulses: the velocity is recomputed.

use super::island::{self, ConstraintRecord, IslandDims, Islands, con, contact, info, kind, part, region};
use super::local::{self, ABSURD, APART, FLINGS};
use crate::args::Args;
use crate::dynamics::tree::status;
use crate::math::load3;
use crate::{Real, Scalar};

/// All islands of a chunk: residuals, penetration and status.
pub fn island_certify<T: Scalar>(
    dims: &IslandDims,
    index: &[u32],
    contacts: &[T],
    jac: &[T],
    cons: &[T],
    impulse: &[T],
    velocity: &mut [T],
    infos: &mut [T],
    statuses: &mut [u32],
) {
    let all = Islands::new(dims, index);
    let n = dims.n_velocity as usize;
    let (free, rest) = velocity.split_at_mut(n * region::SCRATCH);
    for (i, record) in all.islands.iter().enumerate() {
        island::recompute(&all, record, jac, impulse, &free[..n], &mut rest[..n]);
        let (residual, scaled) = island::measure(&all, record, jac, cons, impulse, &rest[..n]);
        let (zero, one) = (T::lit(0.0), T::lit(1.0));
        let (mut deepest, mut largest, mut left_out) = (zero, zero, zero);
        let (mut sensible, mut gave_way, mut flung) = (true, false, false);
        for k in record.constraint_begin as usize..record.constraint_end as usize {
            let (lambda, con) = (&impulse[3 * k..3 * k + 3], &cons[con::SIZE * k..con::SIZE * (k + 1)]);
            largest = lambda.iter().fold(largest, |most, x| most.max(x.abs()));
            sensible &= is_sensible(all.constraints[k].kind, con, lambda);
            let rows = if all.constraints[k].kind == kind::BLOCK { 3 } else { 1 };
            gave_way |= con[con::RELAXED..con::RELAXED + rows].iter().any(|&by| by != zero);
            let held = cons[con::SIZE * k + con::FRICTION] < zero;
            if all.constraints[k].kind == kind::BLOCK && !held {
                left_out += if T::lit(APART) <= cons[con::SIZE * k + con::BIAS + 2] { one } else { zero };
                deepest = deepest.max(-contacts[contact::SIZE * k + contact::DISTANCE]);
                flung |= flings(&all, &all.constraints[k], jac, con, lambda, [&free[..n], &rest[..n]]);
            }
        }
        let own = &mut infos[info::SIZE * i..info::SIZE * (i + 1)];
        own[info::RESIDUAL] = residual;
        own[info::SCALED] = scaled;
        own[info::PENETRATION] = deepest;
        own[info::LEFT_OUT] = left_out;
        own[info::CONTACTS] = T::lit(f64::from(record.n_contacts));
        let solved = if dims.by_solver == 1 {
            own[info::STOPPED] == T::lit(1.0)
        } else {
            island::solved(dims, residual, scaled)
        };
        statuses[i] = if !(residual.is_finite() && scaled.is_finite()) {
            status::NON_FINITE
        } else if solved && !flung && largest <= T::lit(ABSURD) {
            match (gave_way, record.part) {
                (false, _) => status::CONVERGED,
                (true, part::ASKS) => status::ITERATION_LIMIT,
                (true, _) => status::CONVERGED | status::RELAXED,
            }
        } else if sensible && !flung {
            status::ITERATION_LIMIT
        } else {
            status::ITERATION_LIMIT | status::DOUBTFUL
        };
    }
}

/// Whether the impulses of a constraint make sense.
fn is_sensible<T: Scalar>(kind: u32, con: &[T], lambda: &[T]) -> bool {
    if kind == kind::ROW {
        let is_hard = con[con::ROW_COMPLIANCE] <= T::lit(0.0);
        return !is_hard || local::is_sensible_row(con[con::ROW_DELASSUS], lambda[0], con[con::ROW_BIAS]);
    }
    local::is_sensible(con[con::FRICTION], island::trace(con), &load3(lambda, 0), &load3(con, con::BIAS))
}

/// Whether a solution flings the bodies of a contact about, which hardly part: what it changes along it between two velocities.
fn flings<T: Scalar>(
    all: &Islands,
    record: &ConstraintRecord,
    jac: &[T],
    con: &[T],
    lambda: &[T],
    [free, v]: [&[T]; 2],
) -> bool {
    if !local::is_costly(con[con::FRICTION], island::trace(con), lambda[2], con[con::BIAS + 2]) {
        return false;
    }
    let sides = &all.sides[record.side_begin as usize..record.side_end as usize];
    let [before, after] = [free, v].map(|v| island::block_sigma(sides, jac, [T::lit(0.0); 3], v));
    let (x, y) = (after[0] - before[0], after[1] - before[1]);
    T::lit(FLINGS) < x.mul_add(x, y * y)
}

/// Uniform block.
pub type Dims = IslandDims;

/// Buffers: island_index, island_contact, island_jac, island_con, impulse -> velocity, island_info, island_status.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims: Dims = args.dims();
    let [index, contacts, jac, cons, impulse, velocity, infos, statuses] = args.split();
    let (index, velocity, infos) = (index.index(), velocity.real_mut(), infos.real_mut());
    let (contacts, jac, cons) = (contacts.real(), jac.real(), cons.real());
    island_certify(&dims, index, contacts, jac, cons, impulse.real(), velocity, infos, statuses.index_mut());
}
