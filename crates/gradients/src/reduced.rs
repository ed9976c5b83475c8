//! The linear system of the impulses' derivatives (Le Lidec 2024, section III-B): constraints by their modes, with what is
//! free to change of each impulse as unknowns.
//!
//! Breaking: none. Sticking, bilateral: all three, `d sigma^ = 0`. Sliding with slip direction u: along `(-mu u, 1)` and
//! along `w = e_z x u`; `d sigma^_n = 0` and `w . d sigma^ + alpha w . d lambda = 0`, `alpha = |sigma^_t| / (mu lambda_n)`;
//! frictionless along e_z alone. A row inside its bounds: `d sigma^ + c d lambda = 0`. With R the directions, L the equations
//! and D the diagonal, `d lambda = -R (L G R + D)^-1 L rhs`.

use nalgebra::{DMatrix, DVector, Dyn, FullPivLU};

use crate::constraint::{Law, Rows};
use crate::mode::Mode;

/// A pivot below this part of the largest counts as none: the constraints are redundant.
const SMALLEST_PIVOT: f64 = 1e-10;

/// The equations and directions of an island's constraints.
pub(crate) struct Reduced {
    /// R, `[rows, m]`.
    pub(crate) directions: DMatrix<f64>,
    /// L, `[m, rows]`.
    pub(crate) equations: DMatrix<f64>,
    /// D, `[m]`.
    pub(crate) diagonal: DVector<f64>,
}

impl Reduced {
    /// `sigma`: biased velocities of all rows.
    pub(crate) fn new(rows: &Rows, modes: &[Mode], sigma: &DVector<f64>) -> Self {
        let n = rows.j.nrows();
        let mut entries: Vec<([f64; 3], [f64; 3], usize, f64)> = Vec::new();
        let unit = |k: usize| std::array::from_fn(|i| if i == k { 1.0 } else { 0.0 });
        for (constraint, mode) in rows.constraints.iter().zip(modes) {
            let first = constraint.first;
            match (constraint.law, mode) {
                (_, Mode::Breaking | Mode::AtBound) => {}
                (Law::Row { compliance, .. }, _) => entries.push((unit(0), unit(0), first, compliance)),
                (Law::Contact { mu }, Mode::Sliding) => {
                    let (x, y) = (sigma[first], sigma[first + 1]);
                    let slip = x.hypot(y);
                    let u = if slip > 0.0 { [x / slip, y / slip] } else { [0.0; 2] };
                    entries.push(([-mu * u[0], -mu * u[1], 1.0], unit(2), first, 0.0));
                    if mu > 0.0 {
                        let across = [-u[1], u[0], 0.0];
                        let alpha = slip / (mu * constraint.impulse[2]);
                        entries.push((across, across, first, alpha));
                    }
                }
                _ => entries.extend((0..3).map(|k| (unit(k), unit(k), first, 0.0))),
            }
        }
        let m = entries.len();
        let mut out =
            Self { directions: DMatrix::zeros(n, m), equations: DMatrix::zeros(m, n), diagonal: DVector::zeros(m) };
        for (column, (direction, equation, first, diagonal)) in entries.into_iter().enumerate() {
            for k in 0..3.min(n - first) {
                // A row has one entry; what follows belongs to the next constraint, and is zero here.
                if direction[k] != 0.0 {
                    out.directions[(first + k, column)] = direction[k];
                }
                if equation[k] != 0.0 {
                    out.equations[(column, first + k)] = equation[k];
                }
            }
            out.diagonal[column] = diagonal;
        }
        out
    }
}

/// `B^-1`, or the pseudo-inverse where constraints are redundant.
pub(crate) enum Inverse {
    /// Of full rank.
    Full(FullPivLU<f64, Dyn, Dyn>),
    /// Of minimum norm.
    Pseudo(DMatrix<f64>),
}

impl Inverse {
    /// Factors the system; also its rank.
    pub(crate) fn new(b: DMatrix<f64>) -> (Self, usize) {
        let m = b.nrows();
        let lu = FullPivLU::new(b.clone());
        let pivots = lu.u().diagonal();
        let largest = pivots.iter().fold(0.0, |l: f64, x| l.max(x.abs()));
        let rank = pivots.iter().filter(|x| x.abs() > SMALLEST_PIVOT * largest).count();
        if rank == m {
            return (Self::Full(lu), m);
        }
        let svd = b.svd(true, true);
        let largest = svd.singular_values.iter().fold(0.0, |l: f64, &x| l.max(x));
        let rank = svd.singular_values.iter().filter(|&&x| x > SMALLEST_PIVOT * largest).count();
        let inverse = svd.pseudo_inverse(SMALLEST_PIVOT * largest).unwrap_or_else(|_| DMatrix::zeros(m, m));
        (Self::Pseudo(inverse), rank)
    }

    /// Solves in place.
    pub(crate) fn solve(&self, x: &mut DMatrix<f64>) {
        match self {
            Self::Full(lu) => {
                lu.solve_mut(x);
            }
            Self::Pseudo(inverse) => *x = inverse * &*x,
        }
    }
}
