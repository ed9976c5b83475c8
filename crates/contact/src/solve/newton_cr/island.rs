//! The state of one island and its Newton step.

use manyworlds_collide::organise::Island;
use manyworlds_shaders::Scalar;

use super::super::rows::{Rows, cast};
use super::super::system::{Constraint, System};
use super::batch::{SHIFT, SHIFT_DOUBLE};
use super::ncp::{friction, ncp};
use super::params::{NewtonCrParams, Scaling};
use super::residual;
use crate::problem::{ContactProblem, Law};

/// Derivatives of an NCP function below this count as zero: the row is held by its impulse alone.
const FLAT: f64 = 1e-6;

/// One island; velocity and impulses agree at all times.
pub(super) struct IslandState<T> {
    system: System<T>,
    params: NewtonCrParams,
    v: Vec<T>,
    lambda: Vec<Rows<T>>,
}

/// A row of the linear system.
#[derive(Debug, Clone, Copy)]
enum Row<T> {
    /// `(G + c) dlambda = rhs`
    Solved { c: T, rhs: T },
    /// `dlambda` is this.
    Fixed(T),
}

impl<T: Scalar> IslandState<T> {
    /// Starts from impulses of the problem, `[n_rows]`.
    pub(super) fn new(problem: &ContactProblem, island: &Island, lambda: &[f64], params: &NewtonCrParams) -> Self {
        let system = System::new(problem, island);
        let v = system.velocity_of(&problem.velocity(lambda));
        let lambda = system.impulses_of(lambda);
        Self { system, params: *params, v, lambda }
    }

    fn scale(&self, own: T) -> T {
        match self.params.scaling {
            Scaling::Uniform(r) => cast(r),
            Scaling::EffectiveMass => own.max(T::lit(f64::from(f32::MIN_POSITIVE))),
        }
    }

    /// A complementary pair `0 <= lambda _|_ a >= 0` linearised.
    fn pair(&self, a: T, lambda: T, own: T) -> Row<T> {
        let r = self.scale(own);
        let (phi, by_a, by_b) = ncp(self.params.function, a, r * lambda);
        if by_a <= T::lit(FLAT) {
            return Row::Fixed(-phi / (by_b * r));
        }
        Row::Solved { c: by_b * r / by_a, rhs: -phi / by_a }
    }

    /// The rows of one constraint at `sigma = J v`.
    fn rows(&self, c: &Constraint<T>, lambda: &Rows<T>, sigma: &Rows<T>) -> [Row<T>; 3] {
        let zero = T::lit(0.0);
        let hat: Rows<T> = std::array::from_fn(|r| sigma[r] + c.e[r]);
        let none = Row::Fixed(zero);
        let one = |row: Row<T>| [row, none, none];
        let held = |r: usize| Row::Solved { c: zero, rhs: -hat[r] };
        match c.law {
            Law::Contact { mu } => {
                let normal = self.pair(hat[2], lambda[2], c.delassus[5]);
                let limit = cast::<T>(mu) * lambda[2];
                if limit <= zero {
                    return [Row::Fixed(-lambda[0]), Row::Fixed(-lambda[1]), normal];
                }
                let length = |x: T, y: T| (x * x + y * y).sqrt();
                let r = self.scale((c.delassus[0] + c.delassus[3]) / T::lit(2.0));
                let (slip, carried) = (length(hat[0], hat[1]), length(lambda[0], lambda[1]));
                let w = friction(self.params.function, slip, limit, carried, r);
                let row = |k: usize| Row::Solved { c: w, rhs: -(hat[k] + w * lambda[k]) };
                [row(0), row(1), normal]
            }
            Law::Block => [held(0), held(1), held(2)],
            Law::Bilateral => one(held(0)),
            Law::Unilateral => one(self.pair(hat[0], lambda[0], c.delassus[0])),
            Law::Box { lo, hi } => {
                let (lo, hi) = (cast::<T>(lo), cast::<T>(hi));
                let wanted = lambda[0] - hat[0] / self.scale(c.delassus[0]);
                one(clamped(wanted, lambda[0], lo, hi).unwrap_or_else(|| held(0)))
            }
            Law::Soft { k, b, lo, hi } => {
                let (k, b, lo, hi) = (cast::<T>(k), cast::<T>(b), cast::<T>(lo), cast::<T>(hi));
                let wanted = -k * c.e[0] - b * sigma[0];
                if b <= zero {
                    return one(Row::Fixed(wanted.max(lo).min(hi) - lambda[0]));
                }
                let free = Row::Solved { c: T::lit(1.0) / b, rhs: (wanted - lambda[0]) / b };
                one(clamped(wanted, lambda[0], lo, hi).unwrap_or(free))
            }
        }
    }

    /// `J A^-1 J^T x`
    fn delassus(&self, x: &[T]) -> Vec<T> {
        let mut dv = vec![T::lit(0.0); self.v.len()];
        for (c, own) in self.system.constraints.iter().zip(x.chunks_exact(3)) {
            self.system.push(c, &[own[0], own[1], own[2]], &mut dv);
        }
        self.system.relative(&dv).into_iter().flatten().collect()
    }

    /// One Newton step, of which this share is taken. False when a number is not finite any more; nothing is changed then.
    #[must_use]
    pub(super) fn step(&mut self, share: T) -> bool {
        let zero = T::lit(0.0);
        let sigma = self.system.relative(&self.v);
        let at = self.system.constraints.iter().zip(&self.lambda).zip(&sigma);
        let rows: Vec<Row<T>> = at.flat_map(|((c, lambda), sigma)| self.rows(c, lambda, sigma)).collect();
        let shift = T::lit(if T::NAME == "f64" { SHIFT_DOUBLE } else { SHIFT });
        let own = |c: &Constraint<T>| [c.delassus[0], c.delassus[3], c.delassus[5]];
        let diagonal: Vec<T> = self.system.constraints.iter().flat_map(own).collect();
        let compliance: Vec<T> = rows
            .iter()
            .zip(&diagonal)
            .map(|(row, &g)| if let Row::Solved { c, .. } = row { *c + shift * g } else { zero })
            .collect();
        let fixed: Vec<T> = rows.iter().map(|row| if let Row::Fixed(x) = row { *x } else { zero }).collect();
        let moved = self.delassus(&fixed);
        let right = |(row, &moved): (&Row<T>, &T)| if let Row::Solved { rhs, .. } = row { *rhs - moved } else { zero };
        let b: Vec<T> = rows.iter().zip(&moved).map(right).collect();
        let inverse = |((row, &c), &g): ((&Row<T>, &T), &T)| match row {
            Row::Solved { .. } if zero < c + g => T::lit(1.0) / (c + g),
            _ => zero,
        };
        let preconditioner: Vec<T> = rows.iter().zip(&compliance).zip(&diagonal).map(inverse).collect();
        let apply = |x: &[T]| {
            let mut out = self.delassus(x);
            for ((out, row), (&c, &x)) in out.iter_mut().zip(&rows).zip(compliance.iter().zip(x)) {
                *out = if matches!(row, Row::Solved { .. }) { *out + c * x } else { zero };
            }
            out
        };
        let linear_share = cast(self.params.linear_share);
        let x = residual::solve(apply, (&b, &preconditioner), self.params.linear, linear_share, |_| ());
        let change: Vec<T> = x.iter().zip(&fixed).map(|(&x, &f)| share * (x + f)).collect();
        if !change.iter().all(|x| x.is_finite()) {
            return false;
        }
        for ((c, lambda), own) in self.system.constraints.iter().zip(&mut self.lambda).zip(change.chunks_exact(3)) {
            let own = [own[0], own[1], own[2]];
            (0..3).for_each(|r| lambda[r] += own[r]);
            self.system.push(c, &own, &mut self.v);
        }
        true
    }

    /// Writes the impulses where the problem has them.
    pub(super) fn impulses(&self, lambda: &mut [f64]) {
        self.system.write_impulses(self.lambda.iter().copied(), lambda);
    }
}

/// The change to a bound that is exceeded.
fn clamped<T: Scalar>(wanted: T, lambda: T, lo: T, hi: T) -> Option<Row<T>> {
    if wanted <= lo {
        Some(Row::Fixed(lo - lambda))
    } else if hi <= wanted {
        Some(Row::Fixed(hi - lambda))
    } else {
        None
    }
}
