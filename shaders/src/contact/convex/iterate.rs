//! Newton steps on one island, and CANAL's outer iterations around them.

use super::TRIALS;
use super::layout::{ConvexDims, DofRecord, PlaceRecord, Records, form, method, packed, state, term};
use super::terms::setting;
use super::{law, matrix};
use crate::args::Args;
use crate::contact::island::{self, IslandDims, IslandRecord, Islands, SideRecord, con, info, kind, region};
use crate::contact::local::symmetric_times;
use crate::contact::workspace::with_workspace;
use crate::{LANES, Scalar};

/// Share of the first slope that a line search leaves at most.
const EXACT: f64 = 1e-6;
/// How a solve that broke down says so, in `info::STOPPED`.
const BROKEN: f64 = 2.0;
/// No gap has been found yet.
const FAR: f64 = 3.4e38;

/// What an outer iteration may have come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Running,
    Solved,
    Broken,
}

/// Sums over an island at the present velocity.
#[derive(Debug, Clone, Copy)]
struct Sums<T> {
    /// `|lambda - before|^2 / beta`, J.
    outer: T,
    /// Squares in the norm of `diag(A)^-1`, J: of the gradient, of `A v`, of `J^T lambda`.
    error: T,
    momentum: T,
    pushed: T,
}

/// A solve of one island: what it reads, and its parts of what it writes.
struct Island<'a, T> {
    dims: &'a ConvexDims,
    /// As the functions for islands want them.
    plain: &'a IslandDims,
    all: &'a Islands<'a>,
    record: &'a IslandRecord,
    place: PlaceRecord,
    dofs: &'a [DofRecord],
    jac: &'a [T],
    cons: &'a [T],
    impulse: &'a mut [T],
    /// Regions of `velocity`.
    free: &'a [T],
    solution: &'a mut [T],
    v: &'a mut [T],
    convex: &'a mut [T],
    /// Outcome, in `island_info`.
    info: &'a mut [T],
}

impl<T: Scalar> Island<'_, T> {
    /// Numbers of the constraints.
    fn range(&self) -> std::ops::Range<usize> {
        self.record.constraint_begin as usize..self.record.constraint_end as usize
    }

    fn is_block(&self, i: usize) -> bool {
        self.all.constraints[i].kind == kind::BLOCK
    }

    fn con(&self, i: usize) -> &[T] {
        &self.cons[con::SIZE * i..][..con::SIZE]
    }

    /// First real of a constraint in `convex`.
    fn term_at(&self, i: usize) -> usize {
        self.dims.constraint_real as usize + term::SIZE * i
    }

    /// First real of the gradient.
    fn gradient_at(&self) -> usize {
        self.place.real as usize + state::SIZE
    }

    fn sides(&self, i: usize) -> &[SideRecord] {
        let c = &self.all.constraints[i];
        &self.all.sides[c.side_begin as usize..c.side_end as usize]
    }

    fn load(&self, at: usize) -> T {
        self.convex[self.place.real as usize + at]
    }

    fn store(&mut self, at: usize, x: T) {
        self.convex[self.place.real as usize + at] = x;
    }

    /// `J x` of every constraint to `field` of its term, x the velocity (region SCRATCH) or the direction (SOLUTION).
    fn relative(&mut self, direction: bool, field: usize) {
        let zero = T::lit(0.0);
        for i in self.range() {
            let x: &[T] = if direction { self.solution } else { self.v };
            let sigma = if self.is_block(i) {
                island::block_sigma(self.sides(i), self.jac, [zero; 3], x)
            } else {
                [island::row_sigma(self.sides(i), self.jac, x), zero, zero]
            };
            let at = self.term_at(i) + field;
            self.convex[at..at + 3].copy_from_slice(&sigma);
        }
    }

    /// Impulses, slopes and gradient at the velocity.
    fn evaluate(&mut self) -> Sums<T> {
        let zero = T::lit(0.0);
        let mut sums = Sums { outer: zero, error: zero, momentum: zero, pushed: zero };
        let n = self.dofs.len();
        let gradient = self.gradient_at();
        self.convex[gradient..gradient + n].fill(zero);
        let first = self.record.velocity_begin as usize;
        for i in self.range() {
            let at = self.term_at(i);
            let t = &self.convex[at..][..term::SIZE];
            let sigma = [t[term::SIGMA], t[term::SIGMA + 1], t[term::SIGMA + 2]];
            let (lambda, slope) = law::impulse(self.is_block(i), self.con(i), t, sigma);
            let square = (0..3).fold(zero, |sum, r| {
                let d = lambda[r] - t[term::BEFORE + r];
                d.mul_add(d, sum)
            });
            sums.outer += square / t[term::BETA_N];
            let t = &mut self.convex[at..][..term::SIZE];
            t[term::LAMBDA..term::LAMBDA + 3].copy_from_slice(&lambda);
            t[term::SLOPE..term::SLOPE + 6].copy_from_slice(&slope);
            // J^T lambda, for now in the gradient's place.
            let rows = if self.is_block(i) { 3 } else { 1 };
            let c = &self.all.constraints[i];
            for side in &self.all.sides[c.side_begin as usize..c.side_end as usize] {
                let count = side.count as usize;
                let to = &mut self.convex[gradient + side.velocity as usize - first..][..count];
                for (&x, j) in lambda.iter().take(rows).zip(self.jac[side.jac as usize..].chunks_exact(count)) {
                    to.iter_mut().zip(j).for_each(|(to, &j)| *to = j.mul_add(x, *to));
                }
            }
        }
        let (v, free) = (&self.v[first..][..n], &self.free[first..][..n]);
        for k in 0..n {
            let dof = &self.dofs[k];
            let (tree, count) = (dof.tree as usize, dof.count as usize);
            let a = &self.convex[dof.row as usize..][..count];
            let (mut missed, mut momentum) = (zero, zero);
            for ((&a, &v), &free) in a.iter().zip(&v[tree..]).zip(&free[tree..]) {
                missed = a.mul_add(v - free, missed);
                momentum = a.mul_add(v, momentum);
            }
            let weight = T::lit(1.0) / a[k - tree];
            let pushed = self.convex[gradient + k];
            let g = missed - pushed;
            self.convex[gradient + k] = g;
            sums.error += g * g * weight;
            sums.momentum += momentum * momentum * weight;
            sums.pushed += pushed * pushed * weight;
        }
        sums
    }

    /// `A + J^T W J` and the right-hand side.
    fn assemble(&self, m: &mut [T]) {
        let zero = T::lit(0.0);
        let n = self.dofs.len();
        for (i, dof) in self.dofs.iter().enumerate() {
            let own = &mut m[matrix::row_at(i)..][..=i];
            own[dof.first as usize..].fill(zero);
            let tree = dof.tree as usize;
            own[tree..].copy_from_slice(&self.convex[dof.row as usize..][..=i - tree]);
        }
        let gradient = &self.convex[self.gradient_at()..][..n];
        m[matrix::row_at(n)..].iter_mut().zip(gradient).for_each(|(to, &g)| *to = -g);
        let first = self.record.velocity_begin;
        for i in self.range() {
            let at = self.term_at(i) + term::SLOPE;
            let w = island::load6(self.convex, at);
            if w.iter().all(|&x| x == zero) {
                continue;
            }
            let (block, sides) = (self.is_block(i), self.sides(i));
            for a in sides {
                let na = a.count as usize;
                let ja = &self.jac[a.jac as usize..];
                for k in 0..na {
                    let u = if block {
                        symmetric_times(&w, &[ja[k], ja[na + k], ja[2 * na + k]])
                    } else {
                        [w[0] * ja[k], zero, zero]
                    };
                    // Most degrees of freedom of a tree do not move a contact.
                    if u[0] == zero && u[1] == zero && u[2] == zero {
                        continue;
                    }
                    let row = (a.velocity - first) as usize + k;
                    let own = &mut m[matrix::row_at(row)..][..=row];
                    for b in sides.iter().filter(|b| b.velocity <= a.velocity) {
                        let nb = b.count as usize;
                        let jb = &self.jac[b.jac as usize..];
                        let to = own[(b.velocity - first) as usize..].iter_mut().take(nb);
                        if block {
                            let (j0, j1, j2) = (&jb[..nb], &jb[nb..2 * nb], &jb[2 * nb..3 * nb]);
                            for (((to, &x), &y), &z) in to.zip(j0).zip(j1).zip(j2) {
                                *to = u[0].mul_add(x, u[1].mul_add(y, u[2].mul_add(z, *to)));
                            }
                        } else {
                            to.zip(&jb[..nb]).for_each(|(to, &x)| *to = u[0].mul_add(x, *to));
                        }
                    }
                }
            }
        }
    }

    /// Derivative of the objective along the direction, a share `t` of it on, and its slope.
    fn along(&self, start: T, curvature: T, t: T) -> (T, T) {
        let (mut value, mut slope) = (t.mul_add(curvature, start), curvature);
        for i in self.range() {
            let own = &self.convex[self.term_at(i)..][..term::SIZE];
            let a = [own[term::ALONG], own[term::ALONG + 1], own[term::ALONG + 2]];
            let sigma = std::array::from_fn(|r| t.mul_add(a[r], own[term::SIGMA + r]));
            let (lambda, w) = law::impulse(self.is_block(i), self.con(i), own, sigma);
            let wa = symmetric_times(&w, &a);
            for r in 0..3 {
                value -= (lambda[r] - own[term::LAMBDA + r]) * a[r];
                slope = wa[r].mul_add(a[r], slope);
            }
        }
        (value, slope)
    }

    /// Root of the derivative, by Newton within a bracket that is doubled until it is one, else by bisection (`rtsafe` of
    /// Press et al., Numerical Recipes). The first trial is 1.
    fn search(&self, start: T, curvature: T) -> T {
        let (zero, two, enough) = (T::lit(0.0), T::lit(2.0), T::lit(EXACT) * start.abs());
        let (mut low, mut high, mut bracketed) = (zero, zero, false);
        let mut t = T::lit(1.0);
        for _ in 0..TRIALS {
            let (value, slope) = self.along(start, curvature, t);
            if value.abs() <= enough {
                return t;
            }
            if value < zero {
                low = t;
            } else {
                // What is not finite is too far.
                (high, bracketed) = (t, true);
            }
            let newton = t - value / slope;
            let next = if bracketed {
                if low < newton && newton < high { newton } else { (low + high) / two }
            } else if t < newton && newton.is_finite() {
                newton
            } else {
                two * t
            };
            if next == t {
                return t;
            }
            t = next;
        }
        // The bracket's lower end: never past the root.
        if zero < low { low } else { t }
    }

    /// One Newton step: the sums where it leads, and about twice what the objective was above its least, J. None where the
    /// matrix is singular in this arithmetic.
    fn newton(&mut self, m: &mut [T]) -> Option<(Sums<T>, T)> {
        let zero = T::lit(0.0);
        let (n, first) = (self.dofs.len(), self.record.velocity_begin as usize);
        self.assemble(m);
        if !matrix::factor(self.dofs, m) {
            return None;
        }
        matrix::back(self.dofs, m, &mut self.solution[first..][..n]);
        self.relative(true, term::ALONG);
        let (mut start, mut curvature) = (zero, zero);
        let d = &self.solution[first..][..n];
        for k in 0..n {
            let dof = &self.dofs[k];
            let (tree, count) = (dof.tree as usize, dof.count as usize);
            let a = &self.convex[dof.row as usize..][..count];
            let momentum = a.iter().zip(&d[tree..]).fold(zero, |sum, (&a, &d)| a.mul_add(d, sum));
            start = self.convex[self.gradient_at() + k].mul_add(d[k], start);
            curvature = momentum.mul_add(d[k], curvature);
        }
        // At the floor of round-off the direction need not descend.
        let descends = start < zero && start.is_finite();
        if descends {
            let t = self.search(start, curvature);
            let d = &self.solution[first..][..n];
            self.v[first..][..n].iter_mut().zip(d).for_each(|(v, &d)| *v = t.mul_add(d, *v));
            self.relative(false, term::SIGMA);
        }
        Some((self.evaluate(), if descends { -start } else { zero }))
    }

    /// Freezes the De Saxce shift at the slacks `z`, in the terms' place for `J d`. Returns its largest change, m/s.
    fn shift(&mut self) -> T {
        let mut moved = T::lit(0.0);
        for i in self.range() {
            let (c, at) = (self.con(i), self.term_at(i));
            if !self.is_block(i) || c[con::FRICTION] < T::lit(0.0) {
                continue;
            }
            let t = &self.convex[at..][..term::SIZE];
            let (x, y) = (t[term::ALONG] + c[con::BIAS], t[term::ALONG + 1] + c[con::BIAS + 1]);
            let next = c[con::FRICTION].mul_add((x * x + y * y).sqrt(), c[con::BIAS + 2]);
            moved = moved.max((next - t[term::BIAS + 2]).abs());
            self.convex[at + term::BIAS + 2] = next;
        }
        moved
    }

    /// CANAL: multipliers, slacks, shift and penalty for the next outer iteration: `u = -lambda`,
    /// `beta z = beta J v + u + lambda`.
    fn update(&mut self) {
        let mut gap = T::lit(0.0);
        for i in self.range() {
            let at = self.term_at(i);
            let t = &mut self.convex[at..][..term::SIZE];
            for r in 0..3 {
                let d = (t[term::LAMBDA + r] - t[term::BEFORE + r]) / t[term::BETA_N];
                gap = gap.max(d.abs());
                t[term::ALONG + r] = t[term::SIGMA + r] + d;
                t[term::BEFORE + r] = t[term::LAMBDA + r];
            }
        }
        // No penalty helps against a gap that the last change of the shift made.
        if setting::<T>(self.dims.decrease) * self.load(state::GAP) < gap && self.load(state::MOVED) < gap {
            let before = self.load(state::PENALTY);
            let next = (before * setting(self.dims.growth)).min(setting(self.dims.penalty_most));
            self.store(state::PENALTY, next);
            self.store(state::STIFFEST, next.max(T::lit(1.0)));
            self.weigh(next / before);
        }
        self.store(state::GAP, gap);
        let moved = self.shift();
        self.store(state::MOVED, moved);
    }

    /// All weights times a factor.
    fn weigh(&mut self, factor: T) {
        for i in self.range() {
            let (block, at) = (self.is_block(i), self.term_at(i));
            let t = &mut self.convex[at..][..term::SIZE];
            t[term::BETA_N] = t[term::BETA_N] * factor;
            if block {
                t[term::BETA_T] = t[term::BETA_N];
            }
        }
    }

    /// What round-off leaves of the error, J: of an impulse, round-off in `J v` leaves its weight times as much.
    fn roundoff(&self, sums: &Sums<T>) -> T {
        setting::<T>(self.dims.floor) * self.load(state::STIFFEST) * sums.momentum.max(sums.pushed)
    }

    /// SAP: whether the gradient is small enough, `|D grad| < eps_a + eps_r max(|D p|, |D j_c|)`, `D = diag(A)^-1/2`
    /// (Castro 2022, eqs. 25, 26).
    fn judge(&self, sums: &Sums<T>) -> Step {
        let scale = sums.momentum.max(sums.pushed);
        if !(sums.error.is_finite() && scale.is_finite()) {
            return Step::Broken;
        }
        let bar = setting::<T>(self.dims.relative).mul_add(scale.sqrt(), setting(self.dims.absolute));
        if sums.error <= bar * bar || sums.error <= self.roundoff(sums) { Step::Solved } else { Step::Running }
    }

    /// The impulses to where all the world reads them.
    fn publish(&mut self) {
        for i in self.range() {
            let at = self.term_at(i) + term::LAMBDA;
            self.impulse[3 * i..3 * i + 3].copy_from_slice(&self.convex[at..at + 3]);
        }
    }

    /// CANAL: whether the impulses solve the island.
    fn certified(&mut self) -> bool {
        island::recompute(self.all, self.record, self.jac, self.impulse, self.free, self.solution);
        let (residual, scaled) =
            island::measure(self.all, self.record, self.jac, self.cons, self.impulse, self.solution);
        island::solved(self.plain, residual, scaled)
    }

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

    /// SAP: a Newton step.
    fn compliant(&mut self, m: &mut [T]) -> Step {
        let Some((sums, decrement)) = self.newton(m) else { return Step::Broken };
        let judged = self.judge(&sums);
        if judged == Step::Broken {
            return judged;
        }
        self.publish();
        // No descent is left where round-off is all there is.
        if decrement <= T::lit(0.0) { Step::Solved } else { judged }
    }

    /// CANAL: a Newton step, and the multipliers' update if the inner problem wants no other.
    fn exact(&mut self, m: &mut [T]) -> Step {
        let Some((sums, decrement)) = self.newton(m) else { return Step::Broken };
        if !sums.error.is_finite() {
            return Step::Broken;
        }
        let inner = self.load(state::INNER) + T::lit(1.0);
        self.store(state::INNER, inner);
        let error = sums.error.min(decrement);
        let share = setting::<T>(self.dims.inner_share);
        let solved = error <= share * share * sums.outer || error <= self.roundoff(&sums);
        if inner < T::lit(f64::from(self.dims.inner)) && !solved {
            return Step::Running;
        }
        self.store(state::INNER, T::lit(0.0));
        let outer = self.load(state::OUTER) + T::lit(1.0);
        self.store(state::OUTER, outer);
        self.publish();
        if self.certified() {
            return Step::Solved;
        }
        if T::lit(f64::from(self.dims.outer)) <= outer {
            return Step::Broken;
        }
        self.update();
        self.evaluate();
        Step::Running
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
            step = if dims.method == method::SAP { self.compliant(m) } else { self.exact(m) };
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
        let reals = packed(dofs.len());
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
pub(super) fn mirror<T: Scalar>(own_form: u32, args: &mut Args<T>) {
    let dims: ConvexDims = args.dims();
    let [index, convex_index, jac, cons, impulse, velocity, convex, infos] = args.split();
    let (index, convex_index, jac, cons) = (index.index(), convex_index.index(), jac.real(), cons.real());
    let (impulse, velocity) = (impulse.real_mut(), velocity.real_mut());
    let (convex, infos) = (convex.real_mut(), infos.real_mut());
    iterate(own_form, &dims, index, convex_index, jac, cons, impulse, velocity, convex, infos);
}
