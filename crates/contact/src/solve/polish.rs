//! Semismooth Newton on the strict map, in velocities: the finishing stage for islands of any size.
//!
//! Problem and optimality: `lambda = T(lambda - rho (J v + e))`, `A v = b + J^T lambda`, T the strict map and the closed
//! forms of the rows, one `rho = 3 / trace G_ii` a contact, `1 / G_ii` a row. With P the derivative of T and
//! `E = 1 + eps - P`, the step of `manyworlds_shaders::contact::dense`, `(1 - P (1 - rho G) + eps) d = T - lambda`, is
//! `(A + J^T E^-1 rho P J) dv = J^T E^-1 (T - lambda)`, `d = E^-1 (T - lambda - rho P J dv)`: its matrix is as large as
//! the velocity and block-sparse over limbs, however many contacts there are. A step is taken in full or as the
//! largest share that brings the merit `|lambda - T|^2 / rho` under the largest of the last few; one not taken in full
//! is followed by sweeps of projected Gauss-Seidel; `eps` shrinks with full steps, the faster the more of them came closer
//! in a row, and grows where no share helps.

use manyworlds_collide::organise::Island;
use manyworlds_shaders::contact::local;
use manyworlds_shaders::{Real, Scalar};

use super::columns::{Columns, Places};
use super::law::Cap;
use super::octet::{Octet, Triples, Upper, sum, times};
use super::rows::{Rows, cast};
use super::sparse::BlockMatrix;
use super::system::{Constraint, System};
use crate::problem::{ContactProblem, Law, Steps};

/// How the proximal weight goes, and what helps a step that is not taken in full.
#[derive(Debug, Clone, Copy)]
pub(super) struct Trust {
    /// Factor of all rho.
    stiffness: f64,
    /// Weight of the first step.
    proximal: f64,
    /// By this a full step shrinks the weight.
    shrink: f64,
    /// By this a refused step lets it grow.
    grow: f64,
    /// Sweeps after a step that was not taken in full.
    sweeps: usize,
    /// A step's merit is measured against the largest of that many, [`MEMORY`] at most.
    memory: usize,
    /// So many steps that were not taken in full end it.
    most_short: u32,
    /// Rounds at most, where something else is tried next.
    pub(super) rounds: u32,
}

impl Trust {
    /// From near the solution, and where masses are very unlike. Of 450 problems of clutter, arch and pouring that kernels had left it
    /// solves 389, with a stiffness of 1 and 12 rounds 333; with what had to come after it all took a fifth longer by these.
    pub(super) const QUICK: Self = Self {
        stiffness: 3.0,
        proximal: 1e-3,
        shrink: 0.1,
        grow: 10.0,
        sweeps: 1,
        memory: 4,
        most_short: u32::MAX,
        rounds: 16,
    };
    /// From nearer, where something else is tried next: of 6,618 solves that succeeded 6,219 took all steps in full, of 747
    /// that failed 25.
    pub(super) const HASTY: Self = Self { stiffness: 1.0, proximal: 1e-5, most_short: 1, rounds: 12, ..Self::QUICK };
    /// Limbs pressed against each other with friction 1: 96 such problems that kernels had left unsolved took 111
    /// iterations in the mean by [`Self::QUICK`] and what had to come after it, 15 by this. Of 419 problems of ten scenes that
    /// kernels had left CANAL leaves two, this none.
    pub(super) const PATIENT: Self = Self {
        stiffness: 1.0,
        proximal: 0.3,
        shrink: 0.5,
        grow: 4.0,
        sweeps: 3,
        memory: MEMORY,
        rounds: 200,
        ..Self::QUICK
    };
    /// From near the solution of bodies at rest with many more contacts than they need.
    pub(super) const STIFF: Self =
        Self { stiffness: 1e3, proximal: 1e-6, sweeps: 0, memory: MEMORY, rounds: 12, ..Self::QUICK };

    /// With so many rounds at most.
    pub(super) const fn within(self, rounds: u32) -> Self {
        Self { rounds, ..self }
    }
}

/// Smallest weight: the matrix is `1 / eps` as stiff as the contacts, which double precision bears.
const LEAST_PROXIMAL: f64 = 1e-9;
/// The same in single precision.
const LEAST_SINGLE: f64 = 1e-4;
/// Shares of a step that are tried.
const SHARES: [f64; 6] = [1.0, 0.6, 0.36, 0.2, 0.1, 0.05];
/// The weight shrinks as often as that many full steps in a row came closer, so often at most: stiff contacts are only told
/// apart by small weights.
const FASTEST: u32 = 3;
/// A step may leave so many times the least of the merits that are kept, and may leave the present one: with no such bound steps
/// that ask for the impossible took twice as many.
const MOST_RISE: f64 = 30.0;
/// Most merits that are kept.
const MEMORY: usize = 8;

/// One island.
pub(super) struct Polish<T: Scalar> {
    system: System<T>,
    matrix: BlockMatrix<T>,
    /// Where constraints stand in all that is by octet, and the place of each.
    places: Places,
    place: Vec<usize>,
    columns: Columns<T>,
    octets: Vec<Octet<T::Pack>>,
    /// Velocity that the impulses give, `[n_v]`.
    v: Vec<T>,
    /// `J v`, m/s, and whether it is known.
    sigma: Triples<T>,
    is_known: bool,
    lambda: Triples<T>,
    /// Regularised inverses of the blocks `G_ii`, kg; empty before the first sweep.
    inverses: Vec<[T; 6]>,
    trust: Trust,
    proximal: T,
    least: T,
    merits: [T; MEMORY],
    /// The merit where it is now; None: not known.
    reached: Option<T>,
    /// The square of what is left of the laws, as the residual has it, is at least this share of the merit, kg.
    least_share: T,
    rounds: usize,
    /// Steps in a row that were taken in full and came closer, [`FASTEST`] at most.
    full: u32,
    /// Steps that were not taken in full.
    short: u32,
    step: Step<T>,
}

/// A whole step.
struct Step<T: Scalar> {
    /// Of the impulses, N s.
    lambda: Triples<T>,
    /// Of the velocity, `[n_v]`, and of `J v`, m/s.
    v: Vec<T>,
    sigma: Triples<T>,
    /// Of its matrix, by octet, kg.
    weights: Vec<Upper<T::Pack>>,
}

impl<T: Scalar> Polish<T> {
    /// Starts from impulses of the problem, `[n_rows]`.
    pub(super) fn new(problem: &ContactProblem, island: &Island, lambda: &[f64], trust: Trust) -> Self {
        let system = System::<T>::new(problem, island);
        let places = Places::new(&system);
        let zeros = Triples::new(places.octets().count());
        let mut own = Self {
            matrix: system.matrix(),
            columns: Columns::new(&system, &places),
            place: places.by_constraint(),
            places,
            octets: Vec::new(),
            inverses: Vec::new(),
            v: Vec::new(),
            sigma: zeros.clone(),
            is_known: false,
            lambda: zeros.clone(),
            trust,
            proximal: T::lit(0.0),
            least: T::lit(if T::NAME == "f64" { LEAST_PROXIMAL } else { LEAST_SINGLE }),
            merits: [T::lit(0.0); MEMORY],
            reached: None,
            least_share: T::lit(0.0),
            rounds: 0,
            full: 0,
            short: 0,
            step: Step { lambda: zeros.clone(), v: Vec::new(), sigma: zeros, weights: Vec::new() },
            system,
        };
        own.start(problem, island, lambda, trust);
        own
    }

    /// Starts anew, in the same island of the same problem.
    pub(super) fn start(&mut self, problem: &ContactProblem, island: &Island, lambda: &[f64], trust: Trust) {
        let mut v = vec![0.0; problem.n_v];
        problem.island_velocity(island, lambda, &mut v);
        self.system.read_velocity(&v, &mut self.v);
        let impulses = self.system.impulses_of(lambda);
        self.place.iter().zip(&impulses).for_each(|(&place, lambda)| self.lambda.set(place, lambda));
        self.is_known = false;
        let one = T::lit(1.0);
        // The mass is the inverse mean of the diagonal. What moves nothing may have any step.
        let step = |mass: T| T::lit(trust.stiffness) * if T::lit(0.0) < mass { mass } else { one };
        let of = |&i: &usize| (&self.system.constraints[i], step(self.system.constraints[i].mass));
        self.octets = self.places.octets().map(|own| Octet::new(own.iter().map(of))).collect();
        // By a projection `|lambda - T|` grows with the step, and by it over the step falls: of steps one and rho the one is at least
        // `min(1, 1 / rho)` of the other.
        let steps = self.system.constraints.iter().map(|c| step(c.mass));
        self.least_share = steps.fold(one, |least, rho| least.min(rho).min(one / rho));
        (self.trust, self.proximal, self.reached) = (trust, T::lit(trust.proximal), None);
        (self.rounds, self.full, self.short) = (0, 0, 0);
    }

    /// One round: a Newton step, a sweep, or both. False when a number is not finite any more, the matrix is singular
    /// in this arithmetic, or too many steps were short; the impulses are then those before.
    #[must_use]
    pub(super) fn round(&mut self) -> bool {
        if self.trust.most_short <= self.short {
            return false;
        }
        if !self.is_known {
            self.columns.relative(&self.v, &mut self.sigma.0);
            self.is_known = true;
        }
        let Some(merit) = self.newton() else { return false };
        self.merits[self.rounds % self.trust.memory] = merit;
        self.rounds += 1;
        let kept = &self.merits[..self.rounds.min(self.trust.memory)];
        let [least, most] = [kept.iter().fold(merit, |a, &b| a.min(b)), kept.iter().fold(merit, |a, &b| a.max(b))];
        let bar = most.min(least * T::lit(MOST_RISE)).max(merit);
        let mut reached = merit;
        let share = SHARES.map(T::lit).into_iter().find(|&s| {
            reached = self.merit(s);
            reached < bar
        });
        if let Some(share) = share {
            self.lambda.add(share, &self.step.lambda);
            self.sigma.add(share, &self.step.sigma);
            self.v.iter_mut().zip(&self.step.v).for_each(|(v, &by)| *v += share * by);
        }
        let one = T::lit(1.0);
        let is_full = share.is_some_and(|share| one <= share);
        self.full = if is_full && reached < merit { (self.full + 1).min(FASTEST) } else { 0 };
        self.proximal = match share {
            Some(_) => {
                let shrink = T::lit(self.trust.shrink);
                (0..self.full).fold(self.proximal, |weight, _| weight * shrink).max(self.least)
            }
            None => (self.proximal * T::lit(self.trust.grow)).min(one),
        };
        self.reached = share.map(|_| reached);
        if !is_full {
            self.short += 1;
            // What ends here has no use for a better start.
            if self.short < self.trust.most_short {
                self.sweep_unless_worse();
            }
        }
        self.v.iter().all(|v| v.is_finite())
    }

    /// The sweeps after a short step; they do not stay where the step alone comes closer, or the next one would often be this one again.
    fn sweep_unless_worse(&mut self) {
        let before = self.reached.map(|merit| (merit, self.v.clone(), self.lambda.clone(), self.sigma.clone()));
        (0..self.trust.sweeps).for_each(|_| self.sweep());
        let Some((merit, v, lambda, sigma)) = before else { return };
        self.columns.relative(&self.v, &mut self.sigma.0);
        self.is_known = true;
        if merit <= self.merit_here() {
            (self.v, self.lambda, self.sigma) = (v, lambda, sigma);
            self.reached = Some(merit);
        }
    }

    /// The merit where it begins; the whole step into `step`.
    fn newton(&mut self) -> Option<T> {
        let zero = T::lit(0.0);
        let (mut merit, one) = (T::Pack::lit(0.0), T::Pack::splat(T::lit(1.0) + self.proximal));
        let Step { lambda, v, sigma, weights } = &mut self.step;
        weights.clear();
        let at = self.lambda.0.iter().zip(&self.sigma.0);
        for ((octet, (own, sigma)), pushed) in self.octets.iter().zip(at).zip(&mut lambda.0) {
            let (left, p) = octet.map(own, sigma);
            merit += octet.merit(&left);
            let (weight, push) = octet.weigh(one, &left, &p);
            weights.push(weight);
            *pushed = push;
        }
        self.system.set(&mut self.matrix);
        self.columns.add_weighted(weights, &mut self.matrix);
        if !self.matrix.factor() {
            return None;
        }
        let clear = |v: &mut Vec<T>| {
            v.clear();
            v.resize(self.v.len(), zero);
        };
        clear(v);
        self.columns.add_transposed(&lambda.0, v);
        self.matrix.solve(v);
        self.columns.relative(v, &mut sigma.0);
        for ((lambda, weight), moved) in lambda.0.iter_mut().zip(weights).zip(&sigma.0) {
            let back = times(weight, moved);
            (0..3).for_each(|r| lambda[r] -= back[r]);
        }
        // What the impulses do, rather than what the matrix says: that is as stiff as the contacts.
        clear(v);
        let changes = self.system.constraints.iter().zip(&self.place);
        changes.for_each(|(c, &place)| self.system.push(c, &lambda.get(place), v));
        self.columns.relative(v, &mut sigma.0);
        v.iter().all(|x| x.is_finite()).then_some(sum(merit))
    }

    /// Sum of squares of the map over rho, J, a share of the step on.
    fn merit(&self, share: T) -> T {
        let share = T::Pack::splat(share);
        let on = |at: &[T::Pack; 3], by: &[T::Pack; 3]| std::array::from_fn(|r| share.mul_add(by[r], at[r]));
        let at = self.lambda.0.iter().zip(&self.sigma.0);
        let by = self.step.lambda.0.iter().zip(&self.step.sigma.0);
        let of = |(octet, ((lambda, sigma), (step, moved))): (&Octet<_>, _)| {
            octet.merit(&octet.map(&on(lambda, step), &on(sigma, moved)).0)
        };
        sum(self.octets.iter().zip(at.zip(by)).map(of).fold(T::Pack::lit(0.0), |sum, of| sum + of))
    }

    /// The same where it is.
    fn merit_here(&self) -> T {
        let at = self.lambda.0.iter().zip(&self.sigma.0);
        let all = self.octets.iter().zip(at).map(|(octet, (lambda, sigma))| octet.merit(&octet.map(lambda, sigma).0));
        sum(all.fold(T::Pack::lit(0.0), |sum, of| sum + of))
    }

    /// Every row, then every contact, solved exactly with the others held.
    pub(super) fn sweep(&mut self) {
        self.is_known = false;
        self.reached = None;
        if self.inverses.is_empty() {
            self.inverses.extend(self.system.constraints.iter().map(|c| local::invert(&c.delassus)));
        }
        for (i, &place) in self.place.iter().enumerate().rev() {
            let c = &self.system.constraints[i];
            let before = self.lambda.get(place);
            let sigma = self.system.relative_of(c, &self.v);
            let next = alone(c, &self.inverses[i], &before, &sigma);
            let change = std::array::from_fn(|r| next[r] - before[r]);
            self.lambda.set(place, &next);
            self.system.push(c, &change, &mut self.v);
        }
    }

    /// What is left of the laws by steps of one is no less, N s, nearly: friction's disc is no projection. Zero where nothing is known.
    pub(super) fn least_left(&self) -> f64 {
        self.reached.map_or(0.0, |merit| (merit * self.least_share).sqrt().to_f64())
    }

    /// Writes the impulses where the problem has them.
    pub(super) fn impulses(&self, lambda: &mut [f64]) {
        self.system.write_impulses(self.place.iter().map(|&place| self.lambda.get(place)), lambda);
    }
}

/// The impulse that solves one constraint, the others held; `sigma` is `J v` with the present impulse.
fn alone<T: Scalar>(c: &Constraint<T>, inverse: &[T; 6], lambda: &Rows<T>, sigma: &Rows<T>) -> Rows<T> {
    let (zero, g, e) = (T::lit(0.0), &c.delassus, &c.e);
    let hat: Rows<T> = std::array::from_fn(|r| sigma[r] + e[r]);
    let row = |x: T| [x, zero, zero];
    // What moves nothing stays as it is.
    let step = if zero < g[0] { T::lit(1.0) / g[0] } else { zero };
    let mut free = lambda[0] - hat[0] * step;
    if let (Cap::At(cap, [request, ..]), 1) = (c.cap, c.law.rows()) {
        free = Steps { cap, request }.map(step, free).0;
    }
    match c.law {
        Law::Contact { mu } => {
            let next = local::solve(cast(mu), g, inverse, lambda, &hat);
            let Cap::At(cap, [.., request]) = c.cap else { return next };
            if next[2] <= cap {
                return next;
            }
            // Without the request; between the two a share of it is met.
            let next = local::solve(cast(mu), g, inverse, lambda, &[hat[0], hat[1], hat[2] + request]);
            if cap <= next[2] { next } else { local::project(cast(mu), &[next[0], next[1], cap]) }
        }
        Law::Block => local::solve(T::lit(-1.0), g, inverse, lambda, &hat),
        Law::Bilateral => row(free),
        Law::Unilateral => row(free.max(zero)),
        Law::Soft { k, b, lo, hi } => {
            let (k, b) = (cast::<T>(k), cast::<T>(b));
            let free = (b * (g[0] * lambda[0] - sigma[0]) - k * e[0]) / (T::lit(1.0) + b * g[0]);
            row(free.max(cast(lo)).min(cast(hi)))
        }
        Law::Box { lo, hi } => row(free.max(cast(lo)).min(cast(hi))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::law::{Map, impulse};
    use super::*;
    use crate::samples::{problem, random, stack};

    /// `(1 - P (1 - rho G) + eps) d = T - lambda`, by the definition of G.
    #[test]
    fn the_step_solves_its_equation() {
        for seed in 0..10 {
            let p = problem(random(seed, 5, 9, true));
            for island in &p.plan.islands {
                let mut state = Polish::<f64>::new(&p, island, &p.warm_start, Trust::QUICK);
                // Off the zero impulse, so that contacts stick, slip and open.
                assert!(state.round());
                state.columns.relative(&state.v, &mut state.sigma.0);
                assert!(state.newton().is_some());
                for (c, &place) in state.system.constraints.iter().zip(&state.place) {
                    let [d, moved] = [&state.step.lambda, &state.step.sigma].map(|of| of.get(place));
                    let [lambda, sigma] = [&state.lambda, &state.sigma].map(|of| of.get(place));
                    let rho = Trust::QUICK.stiffness * if c.mass > 0.0 { c.mass } else { 1.0 };
                    let (to, slope) = impulse(Map::Strict, c.law, c.cap, [rho; 3], lambda, sigma, c.e);
                    for r in 0..3 {
                        let mapped: f64 = (0..3).map(|s| slope[r][s] * (d[s] - rho * moved[s])).sum();
                        let off = (1.0 + state.proximal) * d[r] - mapped - (to[r] - lambda[r]);
                        assert!(off.abs() < 1e-9 * (1.0 + d[r].abs()), "seed {seed}, {:?}: {off}", c.law);
                    }
                }
            }
        }
    }

    #[test]
    fn a_constraint_alone_is_solved_by_its_sweep() {
        for seed in 0..20 {
            // A single constraint of each kind.
            let input = random(seed, 2, 1, true);
            for k in 0..input.constraints.len() {
                let mut one = input.clone();
                one.constraints = vec![input.constraints[k].clone()];
                let p = problem(one);
                let island = &p.plan.islands[0];
                let mut state = Polish::<f64>::new(&p, island, &p.warm_start, Trust::QUICK);
                // The block's inverse is regularised: a second visit takes what the first left.
                (0..3).for_each(|_| state.sweep());
                let mut lambda = p.warm_start.clone();
                state.impulses(&mut lambda);
                let quality = crate::residual::quality(&p, &lambda, &p.velocity(&lambda));
                assert!(quality.residual < 1e-9, "seed {seed}, {:?}: {quality:?}", p.constraints[0].law);
            }
        }
    }

    #[test]
    fn from_near_it_converges_at_once() {
        let p = problem(stack(&[1.0, 2.0, 4.0], 0.5));
        let mut state = Polish::<f64>::new(&p, &p.plan.islands[0], &p.warm_start, Trust::QUICK);
        (0..200).for_each(|_| state.sweep());
        let mut lambda = p.warm_start.clone();
        for _ in 0..8 {
            assert!(state.round());
        }
        state.impulses(&mut lambda);
        assert!(crate::residual::quality(&p, &lambda, &p.v_free).residual < 1e-12);
    }
}
