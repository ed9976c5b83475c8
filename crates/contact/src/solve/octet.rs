//! The strict map of eight constraints side by side: what [`super::law`] says of one, without branches.
//!
//! One at a time, maps and merits are half of a Newton round of an arm with forty contacts, which takes 13 us with them and with
//! rows of `J` one by one, 3 us with octets and [`super::columns`].
//!
//! Contacts and blocks share octets, single rows have their own. Derivatives have the pattern of a contact's: tangential rows
//! that are symmetric and follow the normal one, which follows nothing.

use bytemuck::{cast_slice, cast_slice_mut};
use manyworlds_shaders::{LANES, Real, Scalar};

use super::law::Cap;
use super::rows::{Rows, cast};
use super::system::Constraint;
use crate::problem::Law;

/// Derivatives or weights by octet: 00 01 11 02 12 22.
pub(super) type Upper<R> = [R; 6];

/// Tangential parts are not shorter where they are divided by.
const TINY: f64 = 1e-30;

/// Three numbers of every constraint, `[octets, 3, 8]`; of a single row the first counts.
#[derive(Clone)]
pub(super) struct Triples<T: Scalar>(pub(super) Vec<[T::Pack; 3]>);

impl<T: Scalar> Triples<T> {
    /// Zeros.
    pub(super) fn new(octets: usize) -> Self {
        Self(vec![[T::Pack::lit(0.0); 3]; octets])
    }

    /// Those of the constraint at a place.
    pub(super) fn get(&self, place: usize) -> Rows<T> {
        let all: &[[T; LANES]] = cast_slice(&self.0);
        let (octet, lane) = (place / LANES, place % LANES);
        std::array::from_fn(|r| all[3 * octet + r][lane])
    }

    pub(super) fn set(&mut self, place: usize, x: &Rows<T>) {
        let all: &mut [[T; LANES]] = cast_slice_mut(&mut self.0);
        let (octet, lane) = (place / LANES, place % LANES);
        (0..3).for_each(|r| all[3 * octet + r][lane] = x[r]);
    }

    /// `self += share * step`
    pub(super) fn add(&mut self, share: T, step: &Self) {
        let share = T::Pack::splat(share);
        for (to, by) in self.0.iter_mut().zip(&step.0) {
            (0..3).for_each(|r| to[r] = share.mul_add(by[r], to[r]));
        }
    }
}

/// Sum over all lanes, in an order of its own.
pub(super) fn sum<R: Real>(x: R) -> R::Scalar {
    let of = |lane: usize| x.lane(lane) + x.lane(lane + 4);
    (of(0) + of(2)) + (of(1) + of(3))
}

/// What an octet's impulses are mapped by.
enum Kind<R> {
    /// Contacts; blocks where friction is negative.
    Three { mu: R, e: [R; 3], any_block: bool },
    /// Rows: `gain (lambda - rho J v) - shift` within bounds.
    One { gain: R, shift: R, lo: R, hi: R },
}

/// Eight constraints. Where there are fewer the rest asks for nothing.
pub(super) struct Octet<R> {
    kind: Kind<R>,
    /// Steps of the map and their inverses, kg and 1/kg.
    rho: R,
    inverse: R,
    /// Impulses up to which biases are pursued, and those that requests are by the map's step, N s.
    cap: R,
    drop: [R; 3],
}

impl<R: Real> Octet<R> {
    /// Of constraints of three rows each or of one each, with the steps of their maps.
    pub(super) fn new<'a>(constraints: impl Iterator<Item = (&'a Constraint<R::Scalar>, R::Scalar)>) -> Self {
        let mut constraints = constraints.peekable();
        let (zero, one) = (R::lit(0.0), R::lit(1.0));
        let (mut rho, mut cap, mut drop) = (one, R::lit(f64::INFINITY), [zero; 3]);
        let mut kind = match constraints.peek() {
            Some((c, _)) if c.law.rows() == 3 => Kind::Three { mu: zero, e: [zero; 3], any_block: false },
            _ => Kind::One { gain: one, shift: zero, lo: zero, hi: zero },
        };
        for (lane, (c, step)) in constraints.enumerate() {
            rho.set_lane(lane, step);
            if let Cap::At(most, requests) = c.cap {
                cap.set_lane(lane, most);
                (0..3).for_each(|r| drop[r].set_lane(lane, step * requests[r]));
            }
            match (&mut kind, c.law) {
                (Kind::Three { mu, e, any_block }, law) => {
                    (0..3).for_each(|r| e[r].set_lane(lane, c.e[r]));
                    *any_block |= law == Law::Block;
                    mu.set_lane(lane, if let Law::Contact { mu } = law { cast(mu) } else { cast(-1.0) });
                }
                (Kind::One { gain, shift, lo, hi }, law) => {
                    let row = match law {
                        Law::Unilateral => [cast(1.0), step * c.e[0], cast(0.0), cast(f64::INFINITY)],
                        Law::Box { lo, hi } => [cast(1.0), step * c.e[0], cast(lo), cast(hi)],
                        Law::Soft { k, b, lo, hi } => {
                            let (k, b) = (cast::<R::Scalar>(k), cast::<R::Scalar>(b));
                            [b / (b + step), step * k * c.e[0] / (b + step), cast(lo), cast(hi)]
                        }
                        _ => [cast(1.0), step * c.e[0], cast(f64::NEG_INFINITY), cast(f64::INFINITY)],
                    };
                    [gain, shift, lo, hi].into_iter().zip(row).for_each(|(to, x)| to.set_lane(lane, x));
                }
            }
        }
        Self { kind, rho, inverse: one / rho, cap, drop }
    }

    /// `T - lambda` at impulses and `J v`, and the derivatives of T.
    #[inline(always)]
    pub(super) fn map(&self, lambda: &[R; 3], sigma: &[R; 3]) -> ([R; 3], Upper<R>) {
        let (zero, one) = (R::lit(0.0), R::lit(1.0));
        let (mu, e, any_block) = match &self.kind {
            Kind::Three { mu, e, any_block } => (*mu, e, *any_block),
            Kind::One { gain, shift, lo, hi } => {
                let y = *gain * (lambda[0] - self.rho * sigma[0]) - *shift;
                let (x, slope) = self.stepped_both_ways(y, 0);
                let free = lo.lt(x) & x.lt(*hi);
                let slope = R::select(free, *gain * slope, zero);
                return ([x.max(*lo).min(*hi) - lambda[0], zero, zero], [slope, zero, zero, zero, zero, zero]);
            }
        };
        let y: [R; 3] = std::array::from_fn(|r| lambda[r] - self.rho * (sigma[r] + e[r]));
        let (normal, slope) = self.stepped(y[2], self.drop[2]);
        let opens = normal.le(zero);
        let (length, radius) = ((y[0] * y[0] + y[1] * y[1]).sqrt(), mu * normal);
        let sticks = length.le(radius);
        let inverse = one / length.max(R::lit(TINY));
        let (d, across) = ([y[0] * inverse, y[1] * inverse], radius * inverse);
        let of = |stuck: R, slid: R| R::select(opens, zero, R::select(sticks, stuck, slid));
        let mut to = [of(y[0], radius * d[0]), of(y[1], radius * d[1]), of(normal, normal)];
        let mut p = [
            of(one, across * (one - d[0] * d[0])),
            of(zero, -(across * d[0] * d[1])),
            of(one, across * (one - d[1] * d[1])),
            of(zero, mu * d[0] * slope),
            of(zero, mu * d[1] * slope),
            of(slope, slope),
        ];
        if any_block {
            let held = mu.lt(zero);
            let rows: [_; 3] = std::array::from_fn(|r| self.stepped_both_ways(y[r], r));
            (0..3).for_each(|r| to[r] = R::select(held, rows[r].0, to[r]));
            let own = [rows[0].1, zero, rows[1].1, zero, zero, rows[2].1];
            (0..6).for_each(|k| p[k] = R::select(held, own[k], p[k]));
        }
        ([to[0] - lambda[0], to[1] - lambda[1], to[2] - lambda[2]], p)
    }

    /// The impulse of a row whose bias may give way, and its slope: see [`crate::problem::Steps`].
    #[inline(always)]
    fn stepped(&self, y: R, drop: R) -> (R, R) {
        let (below, floor) = (y.le(self.cap), y - drop);
        let beyond = self.cap.le(floor);
        let x = R::select(below, y, R::select(beyond, floor, self.cap));
        (x, R::select(below | beyond, R::lit(1.0), R::lit(0.0)))
    }

    /// The same of a row that may ask for either direction.
    #[inline(always)]
    fn stepped_both_ways(&self, y: R, row: usize) -> (R, R) {
        let drop = self.drop[row];
        let sign = R::select(drop.lt(R::lit(0.0)), R::lit(-1.0), R::lit(1.0));
        let (x, slope) = self.stepped(sign * y, sign * drop);
        (sign * x, slope)
    }

    /// Weights `rho E^-1 P` of a step's matrix and impulses `E^-1 left`, with `E = one - P`, `one` above one.
    #[inline(always)]
    pub(super) fn weigh(&self, one: R, left: &[R; 3], p: &Upper<R>) -> (Upper<R>, [R; 3]) {
        let (a, c, normal) = (one - p[0], one - p[2], R::lit(1.0) / (one - p[5]));
        let scale = R::lit(1.0) / (a * c - p[1] * p[1]);
        let tangent = [c * scale, p[1] * scale, a * scale];
        let through = |x: R, y: R| [tangent[0] * x + tangent[1] * y, tangent[1] * x + tangent[2] * y];
        // The last column of the inverse, above the diagonal.
        let last = through(p[3], p[4]).map(|x| x * normal);
        let (first, second, third) = (through(p[0], p[1]), through(p[1], p[2]), through(p[3], p[4]));
        let rho = self.rho;
        let w = [
            rho * first[0],
            rho * second[0],
            rho * second[1],
            rho * (third[0] + last[0] * p[5]),
            rho * (third[1] + last[1] * p[5]),
            rho * (normal * p[5]),
        ];
        let own = through(left[0], left[1]);
        (w, [own[0] + last[0] * left[2], own[1] + last[1] * left[2], normal * left[2]])
    }

    /// `|left|^2 / rho` by constraint, J.
    #[inline(always)]
    pub(super) fn merit(&self, left: &[R; 3]) -> R {
        (left[0] * left[0] + left[1] * left[1] + left[2] * left[2]) * self.inverse
    }
}

/// `W x` by octet.
#[inline(always)]
pub(super) fn times<R: Real>(w: &Upper<R>, x: &[R; 3]) -> [R; 3] {
    [
        w[0].mul_add(x[0], w[1].mul_add(x[1], w[3] * x[2])),
        w[1].mul_add(x[0], w[2].mul_add(x[1], w[4] * x[2])),
        w[5] * x[2],
    ]
}

#[cfg(test)]
mod tests {
    use super::super::law::{Map, impulse};
    use super::super::system::System;
    use super::*;
    use crate::problem::{ConstraintInput, ContactProblem, ProblemInput, SideInput};

    /// A system with constraints of these laws, up to this cap.
    fn system(laws: &[Law], cap: f64) -> System<f64> {
        let constraint = |&law: &Law| ConstraintInput {
            law,
            e: if law.rows() == 3 { [0.2, -0.3, -0.5] } else { [-0.4, 0.0, 0.0] },
            compliance: None,
            sides: vec![SideInput { jacobian: vec![1.0; 3 * law.rows()], ..SideInput::default() }],
        };
        let input = ProblemInput {
            subsystems: vec![[0, 3]],
            a: vec![vec![1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]],
            b: vec![0.0; 3],
            constraints: laws.iter().map(constraint).collect(),
            ..ProblemInput::default()
        };
        let mut problem = ContactProblem::new(input).expect("a valid problem");
        problem.constraints.iter_mut().for_each(|c| c.cap = cap);
        System::without_responses(&problem, &problem.plan.islands[0])
    }

    /// Maps, derivatives, weights and steps of every law, with a cap and without, are those of a constraint alone.
    #[test]
    fn side_by_side_is_as_alone() {
        let three =
            [Law::Contact { mu: 0.7 }, Law::Block, Law::Contact { mu: 0.0 }, Law::Contact { mu: 2.0 }, Law::Block];
        let one = [
            Law::Bilateral,
            Law::Unilateral,
            Law::Soft { k: 2.0, b: 3.0, lo: -0.4, hi: 0.5 },
            Law::Box { lo: -0.3, hi: 0.6 },
        ];
        let close = |a: f64, b: f64| (a - b).abs() < 1e-12 * (1.0 + b.abs());
        for (laws, cap) in
            [&three[..], &one].into_iter().flat_map(|laws| [0.0, 0.4, f64::INFINITY].map(|cap| (laws, cap)))
        {
            let system = system(laws, cap);
            let rho = |i: usize| 1.0 + 0.3 * i as f64;
            let octet =
                Octet::<<f64 as Scalar>::Pack>::new(system.constraints.iter().enumerate().map(|(i, c)| (c, rho(i))));
            for k in 0..100 {
                let mut points = [(); 2].map(|()| Triples::<f64>::new(1));
                for (m, points) in points.iter_mut().enumerate() {
                    let x = |i: usize, r: usize| ((6 * k + 3 * m + r + 31 * i) as f64 * 7.77).sin();
                    (0..laws.len()).for_each(|i| points.set(i, &std::array::from_fn(|r| x(i, r))));
                }
                let (left, slope) = octet.map(&points[0].0[0], &points[1].0[0]);
                let (weight, pushed) = octet.weigh(Real::lit(1.01), &left, &slope);
                let merit = octet.merit(&left);
                for (i, c) in system.constraints.iter().enumerate() {
                    let [lambda, sigma] = points.each_ref().map(|points| points.get(i));
                    let (to, p) = impulse(Map::Strict, c.law, c.cap, [rho(i); 3], lambda, sigma, c.e);
                    let own = slope.map(|p| p.lane(i));
                    let rows = [[own[0], own[1], own[3]], [own[1], own[2], own[4]], [0.0, 0.0, own[5]]];
                    let square = (0..c.law.rows()).map(|r| (to[r] - lambda[r]).powi(2)).sum::<f64>() / rho(i);
                    assert!(close(merit.lane(i), square), "{:?} {cap} {k}", c.law);
                    for r in 0..c.law.rows() {
                        assert!(close(left[r].lane(i), to[r] - lambda[r]), "{:?} {cap} {k}", c.law);
                        assert!((0..3).all(|s| close(rows[r][s], p[r][s])), "{:?} {cap} {k}: {rows:?} {p:?}", c.law);
                    }
                    // `E W = rho P`, `E pushed = left`.
                    let w = weight.map(|w| w.lane(i));
                    let w = [[w[0], w[1], w[3]], [w[1], w[2], w[4]], [0.0, 0.0, w[5]]];
                    let e = |r: usize, s: usize| if r == s { 1.01 - rows[r][s] } else { -rows[r][s] };
                    for r in 0..3 {
                        let sum: f64 = (0..3).map(|s| e(r, s) * pushed[s].lane(i)).sum();
                        assert!((sum - left[r].lane(i)).abs() < 1e-10, "{:?} {cap} {k}", c.law);
                        for s in 0..3 {
                            let sum: f64 = (0..3).map(|t| e(r, t) * w[t][s]).sum();
                            assert!((sum - rho(i) * rows[r][s]).abs() < 1e-10, "{:?} {cap} {k}", c.law);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_not_there_asks_for_nothing() {
        for laws in [[Law::Contact { mu: 0.5 }], [Law::Unilateral]] {
            let system = system(&laws, f64::INFINITY);
            let octet = Octet::<<f64 as Scalar>::Pack>::new(system.constraints.iter().map(|c| (c, 1.0)));
            let zeros = Triples::<f64>::new(1);
            let (left, slope) = octet.map(&zeros.0[0], &zeros.0[0]);
            assert!((1..LANES).all(|lane| left.iter().chain(&slope).all(|x| x.lane(lane) == 0.0)));
        }
    }
}
