//! Derivatives of the energies that are polynomials of F, by F itself: without the principal stretches of `law`, which take a
//! singular value decomposition, and so without a way to leave out negative eigenvalues.
//!
//! With `cof F` the derivative of `det F`, a change `dF = x b^T` changes `(cof F) a` by `x × F (a × b)`.

use manyworlds_model::MaterialLaw;
use nalgebra::{Matrix3, Vector3};

use crate::law::{Moduli, green_strain};

/// `cof F`
pub(crate) fn cofactor(f: &Matrix3<f64>) -> Matrix3<f64> {
    let [f0, f1, f2]: [Vector3<f64>; 3] = std::array::from_fn(|k| f.column(k).into());
    Matrix3::from_columns(&[f1.cross(&f2), f2.cross(&f0), f0.cross(&f1)])
}

/// First and second derivatives at one F: `P = F S + c cof F`, S of the Green strain.
pub(crate) struct Polynomial {
    f: Matrix3<f64>,
    cofactor: Matrix3<f64>,
    /// Pa
    s: Matrix3<f64>,
    c: f64,
    /// How c grows with the volume, Pa.
    bulk: f64,
    /// Lame parameters of S, zero where it does not change, and `F F^T`.
    mu: f64,
    lambda: f64,
    left: Matrix3<f64>,
}

/// A gradient with what a [`Polynomial`] makes of it.
#[derive(Clone, Copy)]
pub(crate) struct Along {
    gradient: Vector3<f64>,
    /// By S.
    pushed: Vector3<f64>,
    /// By `cof F`, where that counts.
    area: Vector3<f64>,
    /// By F, where that counts.
    moved: Vector3<f64>,
}

impl Polynomial {
    /// `None` for the laws that are none.
    pub(crate) fn new(moduli: &Moduli, f: &Matrix3<f64>) -> Option<Self> {
        let Moduli { law, mu, lambda, pressure } = *moduli;
        let cofactor = cofactor(f);
        match law {
            MaterialLaw::NeoHookean => {
                let bulk = lambda + mu;
                let c = bulk * (f.determinant() - 1.0) - mu - pressure;
                let s = Matrix3::from_diagonal_element(mu);
                Some(Self { f: *f, cofactor, s, c, bulk, mu: 0.0, lambda: 0.0, left: Matrix3::zeros() })
            }
            MaterialLaw::SaintVenantKirchhoff => {
                let e = green_strain(f);
                let s = e * (2.0 * mu) + Matrix3::from_diagonal_element(lambda * e.trace());
                Some(Self { f: *f, cofactor, s, c: -pressure, bulk: 0.0, mu, lambda, left: f * f.transpose() })
            }
            MaterialLaw::Linear | MaterialLaw::Corotated => None,
        }
    }

    /// First Piola-Kirchhoff stress, Pa.
    pub(crate) fn stress(&self) -> Matrix3<f64> {
        self.f * self.s + self.cofactor * self.c
    }

    /// A gradient of a shape function with what this makes of it.
    pub(crate) fn along(&self, gradient: &Vector3<f64>) -> Along {
        let own = |is_used: bool, m: &Matrix3<f64>| if is_used { m * gradient } else { Vector3::zeros() };
        Along {
            gradient: *gradient,
            pushed: self.s * gradient,
            area: own(self.bulk != 0.0, &self.cofactor),
            moved: own(self.mu != 0.0, &self.f),
        }
    }

    /// As [`crate::law::Response::block`].
    pub(crate) fn block(&self, a: &Along, b: &Along) -> Matrix3<f64> {
        let w = self.f * a.gradient.cross(&b.gradient) * self.c;
        let mut out = Matrix3::new(0.0, w[2], -w[1], -w[2], 0.0, w[0], w[1], -w[0], 0.0);
        out += Matrix3::from_diagonal_element(b.gradient.dot(&a.pushed));
        if self.bulk != 0.0 {
            out += a.area * b.area.transpose() * self.bulk;
        }
        if self.mu != 0.0 {
            out += self.left * (self.mu * a.gradient.dot(&b.gradient))
                + b.moved * a.moved.transpose() * self.mu
                + a.moved * b.moved.transpose() * self.lambda;
        }
        out
    }
}
