//! The Newton steps of a dispatch on one island, and CANAL's outer iterations around them.

use super::evaluate::{Island, Step};
use super::layout::{ConvexDims, Records, form, method, packed, state, term};
use super::terms::setting;
use crate::args::Args;
use crate::contact::island::{self, Islands, info, kind, region};
use crate::contact::workspace::with_workspace;
use crate::{LANES, Real, Scalar};

/// How a solve that broke down says so, in `info::STOPPED`.
const BROKEN: f64 = 2.0;
/// No gap has been found yet.
const FAR: f64 = 3.4e38;

impl<T: Scalar> Island<'_, T> {
    /// From the velocity that the impulses to start from give.
    fn begin(&mut self) -> Step {
        island::recompute(self.all, self.record, self.jac, self.impulse, self.free, self.solution);
        let (begin, end) = (self.record.velocity_begin as usize, self.record.velocity_end as usize);
        self.v[begin..end].copy_from_slice(&self.solution[begin..end]);
        self.relative(false, term::SIGMA);
        let (zero, one) = (T::lit(0.0), T::lit(1.0));
        let exact = self.dims.method == method::CANAL;
        let mut stiffest = one;
        for i in self.range() {
            let t = &mut self.convex[self.dims.constraint_real as usize + term::SIZE * i..][..term::SIZE];
            let beta = if self.all.constraints[i].kind == kind::BLOCK {
                t[term::BETA_N].max(t[term::BETA_T])
            } else {
                t[term::BETA_N]
            };
            stiffest = stiffest.max(beta * t[term::MEAN]);
            for r in 0..3 {
                t[term::ALONG + r] = t[term::SIGMA + r];
            }
        }
        let penalty = setting::<T>(self.dims.penalty).min(setting(self.dims.penalty_most));
        self.store(state::PENALTY, penalty);
        self.store(state::GAP, T::lit(FAR));
        self.store(state::INNER, zero);
        self.store(state::ROUNDS, zero);
        self.store(state::OUTER, zero);
        self.store(state::STIFFEST, stiffest);
        let moved = if exact { self.shift() } else { zero };
        self.store(state::MOVED, moved);
        if exact && self.certified() {
            return Step::Solved;
        }
        let sums = self.evaluate();
        if exact {
            return Step::Running;
        }
        let judged = self.judge(&sums);
        if judged == Step::Solved {
            self.publish();
        }
        judged
    }

    /// The Newton steps of a dispatch.
    fn solve(&mut self, m: &mut [T]) {
        let dims = self.dims;
        let mut step = Step::Running;
        if dims.done == 0 {
            self.info[info::ITERATIONS] = T::lit(0.0);
            step = self.begin();
        }
        let mut done = dims.done;
        while step == Step::Running && done < dims.iterations {
            let newton = self.newton(m);
            step = if dims.method == method::SAP { self.compliant(&newton) } else { self.exact(&newton) };
            done += 1;
        }
        if step == Step::Running {
            self.publish();
        }
        island::recompute(self.all, self.record, self.jac, self.impulse, self.free, self.solution);
        self.info[info::ITERATIONS] += T::lit(f64::from(done - dims.done));
        self.info[info::STOPPED] = T::lit(match step {
            Step::Running => 0.0,
            Step::Solved => 1.0,
            Step::Broken => BROKEN,
        });
    }
}

/// All islands of a chunk of one form that are not solved; of `form::GROUP` also those of none, of which nothing is to be
/// done.
pub fn iterate<T: Scalar>(
    own_form: u32,
    dims: &ConvexDims,
    index: &[u32],
    convex_index: &[u32],
    jac: &[T],
    cons: &[T],
    impulse: &mut [T],
    velocity: &mut [T],
    convex: &mut [T],
    infos: &mut [T],
) {
    let plain = dims.of_islands();
    let all = Islands::new(&plain, index);
    let records = Records::new(dims, convex_index);
    let n = dims.n_velocity as usize;
    let (free, rest) = velocity.split_at_mut(n * region::SOLUTION);
    let (solution, v) = rest.split_at_mut(n);
    for (number, record) in all.islands.iter().enumerate() {
        let place = records.places[number];
        let own = &mut infos[info::SIZE * number..][..info::SIZE];
        if place.form == form::NONE && own_form == form::GROUP && dims.done == 0 {
            island::recompute(&all, record, jac, impulse, free, solution);
            (own[info::ITERATIONS], own[info::STOPPED]) = (T::lit(0.0), T::lit(0.0));
        }
        if place.form != own_form || (dims.done > 0 && T::lit(0.0) < own[info::STOPPED]) {
            continue;
        }
        let dofs = &records.dofs[record.velocity_begin as usize..record.velocity_end as usize];
        let reals = if own_form == form::ITERATIVE { 0 } else { packed(dofs.len()) };
        let mut island = Island {
            dims,
            plain: &plain,
            all: &all,
            record,
            place,
            dofs,
            jac,
            cons,
            impulse,
            free,
            solution,
            v,
            convex,
            info: own,
        };
        with_workspace::<T, _>(reals.div_ceil(LANES), |work| {
            island.solve(&mut bytemuck::cast_slice_mut(work)[..reals]);
        });
    }
}

/// Buffers: island_index, convex_index, island_jac, island_con -> impulse, velocity, convex, island_info.
pub(super) fn mirror<R: Real>(own_form: u32, args: &mut Args<R>) {
    let dims: ConvexDims = args.dims();
    let [index, convex_index, jac, cons, impulse, velocity, convex, infos] = args.split();
    let (index, convex_index, jac, cons) = (index.index(), convex_index.index(), jac.real(), cons.real());
    let (impulse, velocity) = (impulse.real_mut(), velocity.real_mut());
    let (convex, infos) = (convex.real_mut(), infos.real_mut());
    iterate(own_form, &dims, index, convex_index, jac, cons, impulse, velocity, convex, infos);
}
