//! The rows of a Newton step that one constraint has.

use super::layout::ResidualDims;
use super::ncp::{ncp, ncp_friction};
use crate::Scalar;
use crate::contact::island::{UNBOUNDED, con};

/// Derivatives of an NCP function below this count as zero: the row is held by its impulse alone.
const ROWS_FLAT: f64 = 1e-6;
/// Scalings are no smaller than this, the least normal f32.
const ROWS_LEAST_SCALE: f64 = 1.175_494_350_822_287_5e-38;

/// A row of the linear system.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row<T> {
    /// `(G + c) dlambda = x`; else `dlambda = x`.
    pub(super) solved: bool,
    /// 1/kg
    pub(super) c: T,
    /// m/s, or N s.
    pub(super) x: T,
}

/// An f32 of the uniform.
#[inline(always)]
pub(super) fn setting<T: Scalar>(bits: u32) -> T {
    T::lit(f64::from(f32::from_bits(bits)))
}

#[inline(always)]
fn row_fixed<T: Scalar>(x: T) -> Row<T> {
    Row { solved: false, c: T::lit(0.0), x }
}

/// Scaling of an impulse beside a velocity, 1/kg; `own` is the diagonal of G.
#[inline(always)]
fn row_scale<T: Scalar>(dims: &ResidualDims, own: T) -> T {
    let uniform = setting::<T>(dims.scale);
    if T::lit(0.0) < uniform { uniform } else { own.max(T::lit(ROWS_LEAST_SCALE)) }
}

/// A complementary pair `0 <= lambda _|_ a >= 0` linearised.
#[inline(always)]
fn row_pair<T: Scalar>(dims: &ResidualDims, a: T, lambda: T, own: T) -> Row<T> {
    let r = row_scale(dims, own);
    let f = ncp(dims, a, r * lambda);
    if f.by_a <= T::lit(ROWS_FLAT) {
        return row_fixed(-(f.phi / (f.by_b * r)));
    }
    Row { solved: true, c: f.by_b * r / f.by_a, x: -(f.phi / f.by_a) }
}

/// Those of a block at `hat = J v + e`: a contact's tangential rows by friction's fixed point.
#[inline(always)]
pub(super) fn rows_block<T: Scalar>(dims: &ResidualDims, c: &[T], lambda: &[T; 3], hat: &[T; 3]) -> [Row<T>; 3] {
    let zero = T::lit(0.0);
    let mu = c[con::FRICTION];
    let held = |r: usize| Row { solved: true, c: zero, x: -hat[r] };
    if mu < zero {
        return [held(0), held(1), held(2)];
    }
    let normal = row_pair(dims, hat[2], lambda[2], c[con::DELASSUS + 5]);
    let limit = mu * lambda[2];
    if limit <= zero {
        return [row_fixed(-lambda[0]), row_fixed(-lambda[1]), normal];
    }
    let r = row_scale(dims, (c[con::DELASSUS] + c[con::DELASSUS + 3]) / T::lit(2.0));
    let slip = hat[0].mul_add(hat[0], hat[1] * hat[1]).sqrt();
    let carried = lambda[0].mul_add(lambda[0], lambda[1] * lambda[1]).sqrt();
    let w = ncp_friction(dims, slip, limit, carried, r);
    let tangential = |k: usize| Row { solved: true, c: w, x: -w.mul_add(lambda[k], hat[k]) };
    [tangential(0), tangential(1), normal]
}

/// That of a single row at `hat = J v + e`, without its compliance: a hard unilateral one is a complementary pair, any
/// other is held unless it wants to pass a bound.
#[inline(always)]
pub(super) fn rows_single<T: Scalar>(dims: &ResidualDims, c: &[T], lambda: T, hat: T) -> Row<T> {
    let zero = T::lit(0.0);
    let (compliance, lower, upper) = (c[con::ROW_COMPLIANCE], c[con::ROW_LOWER], c[con::ROW_UPPER]);
    let own = c[con::ROW_DELASSUS];
    if compliance <= zero && lower == zero && T::lit(UNBOUNDED) <= upper {
        return row_pair(dims, hat, lambda, own);
    }
    let wanted = if zero < compliance { -(hat / compliance) } else { lambda - hat / row_scale(dims, own) };
    if wanted <= lower {
        return row_fixed(lower - lambda);
    }
    if upper <= wanted {
        return row_fixed(upper - lambda);
    }
    Row { solved: true, c: compliance, x: -compliance.mul_add(lambda, hat) }
}
