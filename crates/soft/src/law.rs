//! Energy densities as functions of the principal stretches, and what follows from their derivatives.
//!
//! With `F = U diag(s) V^T` an isotropic energy is a function of s alone. Its first derivatives are the principal stresses;
//! its second ones act on `dF' = U^T dF V` by a 3 x 3 matrix on the diagonal, and on each pair of entries `ij`, `ji` by one
//! number for their sum and one for their difference (B. Smith, F. de Goes and T. Kim 2019, *Analytic eigensystems for
//! isotropic distortion energies*). The eigenvalues of these are those of the whole, so negative ones can be left out.

use manyworlds_model::{Material, MaterialLaw};
use nalgebra::{Matrix3, Vector3};

use crate::svd::{Svd, svd};

/// Two stretches whose sum is smaller turn into each other by any rotation; the derivative of the rotation is held there.
const NO_SUM: f64 = 1e-6;

/// Lame parameters and a pressure, Pa.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moduli {
    pub(crate) law: MaterialLaw,
    pub(crate) mu: f64,
    pub(crate) lambda: f64,
    /// Pressure within: an energy `-p J`, of which the linear law has the linear part.
    pub(crate) pressure: f64,
}

impl Moduli {
    pub(crate) fn new(material: &Material, pressure: f64) -> Self {
        let [mu, lambda] = material.lame();
        Self { law: material.law, mu, lambda, pressure }
    }

    /// Energy density without that of the pressure, J/m^3.
    pub(crate) fn elastic(&self, f: &Matrix3<f64>) -> f64 {
        let Self { mu, lambda, .. } = *self;
        match self.law {
            MaterialLaw::Linear => {
                let e = small_strain(f);
                mu * e.norm_squared() + 0.5 * lambda * e.trace().powi(2)
            }
            MaterialLaw::Corotated => {
                let stretch = svd(f).s.add_scalar(-1.0);
                mu * stretch.norm_squared() + 0.5 * lambda * stretch.sum().powi(2)
            }
            MaterialLaw::SaintVenantKirchhoff => {
                let e = green_strain(f);
                mu * e.norm_squared() + 0.5 * lambda * e.trace().powi(2)
            }
            MaterialLaw::NeoHookean => {
                let grown = f.determinant() - 1.0;
                mu * (0.5 * (f.norm_squared() - 3.0) - grown) + 0.5 * (lambda + mu) * grown * grown
            }
        }
    }

    /// Energy density of the pressure, zero at rest, J/m^3.
    pub(crate) fn potential(&self, f: &Matrix3<f64>) -> f64 {
        match self.law {
            MaterialLaw::Linear => -self.pressure * small_strain(f).trace(),
            _ => -self.pressure * (f.determinant() - 1.0),
        }
    }

    pub(crate) fn response(&self, f: &Matrix3<f64>) -> Response {
        if self.law == MaterialLaw::Linear {
            let e = small_strain(f);
            let axial = self.lambda * e.trace() - self.pressure;
            return Response {
                u: Matrix3::identity(),
                v: Matrix3::identity(),
                stress: e * (2.0 * self.mu) + Matrix3::from_diagonal_element(axial),
                stretching: Matrix3::from_element(self.lambda) + Matrix3::from_diagonal_element(2.0 * self.mu),
                shearing: [2.0 * self.mu; 3],
                turning: [0.0; 3],
            };
        }
        let Svd { u, s, v } = svd(f);
        let (principal, stretching, shearing, turning) = self.principal(&s);
        let stress = u * Matrix3::from_diagonal(&principal) * v.transpose();
        Response { u, v, stress, stretching, shearing, turning }
    }

    /// Principal stresses, then the second derivatives: on the diagonal, on sums and on differences of pairs, each pair
    /// under the number of the third direction.
    fn principal(&self, s: &Vector3<f64>) -> (Vector3<f64>, Matrix3<f64>, [f64; 3], [f64; 3]) {
        let Self { mu, lambda, pressure, .. } = *self;
        let volume = s[0] * s[1] * s[2];
        let area = Vector3::new(s[1] * s[2], s[0] * s[2], s[0] * s[1]);
        let identity = Matrix3::identity();
        // Second derivatives of the volume on the diagonal: the third stretch.
        let third = Matrix3::new(0.0, s[2], s[1], s[2], 0.0, s[0], s[1], s[0], 0.0);
        let pairs = [[1, 2], [0, 2], [0, 1]];
        let (stress, stretching, shearing, turning, by_volume) = match self.law {
            MaterialLaw::Corotated | MaterialLaw::Linear => {
                let spread = lambda * (s.sum() - 3.0);
                let stress = (s.add_scalar(-1.0) * (2.0 * mu)).add_scalar(spread);
                let turning = pairs.map(|[i, j]| 2.0 * mu + 2.0 * (spread - 2.0 * mu) / (s[i] + s[j]).max(NO_SUM));
                (stress, identity * (2.0 * mu) + Matrix3::from_element(lambda), [2.0 * mu; 3], turning, 0.0)
            }
            MaterialLaw::SaintVenantKirchhoff => {
                let spread = 0.5 * lambda * (s.norm_squared() - 3.0) - mu;
                let stress = s.map(|s| s * (mu * s * s + spread));
                let own = s.map(|s| 3.0 * mu * s * s + spread);
                let of = |sign: f64| pairs.map(|[i, j]| mu * (s[i] * s[i] + s[j] * s[j] + sign * s[i] * s[j]) + spread);
                (stress, Matrix3::from_diagonal(&own) + s * s.transpose() * lambda, of(1.0), of(-1.0), 0.0)
            }
            MaterialLaw::NeoHookean => {
                let stretching = identity * mu + area * area.transpose() * (lambda + mu);
                (s * mu, stretching, [mu; 3], [mu; 3], (lambda + mu) * (volume - 1.0) - mu)
            }
        };
        let by_volume = by_volume - pressure;
        let add = |numbers: [f64; 3], sign: f64| std::array::from_fn(|k| numbers[k] + sign * by_volume * s[k]);
        (stress + area * by_volume, stretching + third * by_volume, add(shearing, -1.0), add(turning, 1.0))
    }
}

/// First and second derivatives of an energy density at one F.
pub(crate) struct Response {
    pub(crate) u: Matrix3<f64>,
    pub(crate) v: Matrix3<f64>,
    /// First Piola-Kirchhoff stress, Pa.
    pub(crate) stress: Matrix3<f64>,
    /// On the diagonal of `U^T dF V`.
    pub(crate) stretching: Matrix3<f64>,
    /// On half the sum of two entries that mirror each other, by the number of the third direction.
    pub(crate) shearing: [f64; 3],
    /// On half their difference.
    pub(crate) turning: [f64; 3],
}

impl Response {
    /// Leaves out negative eigenvalues of the second derivatives.
    pub(crate) fn project(&mut self) {
        self.stretching = positive(&self.stretching);
        let both = self.shearing.iter_mut().chain(&mut self.turning);
        both.for_each(|x| *x = x.max(0.0));
    }

    /// Derivative of `P a` by x, `F = .. + x b^T`: the block of a stiffness between shape functions of gradients a and b.
    pub(crate) fn block(&self, a: &Vector3<f64>, b: &Vector3<f64>) -> Matrix3<f64> {
        let (a, b) = (self.v.tr_mul(a), self.v.tr_mul(b));
        let mut own = Matrix3::from_fn(|i, j| self.stretching[(i, j)] * a[i] * b[j]);
        for (k, [i, j]) in [[1, 2], [0, 2], [0, 1]].into_iter().enumerate() {
            let same = 0.5 * (self.shearing[k] + self.turning[k]);
            let mirrored = 0.5 * (self.shearing[k] - self.turning[k]);
            own[(i, i)] += same * a[j] * b[j];
            own[(j, j)] += same * a[i] * b[i];
            own[(i, j)] += mirrored * a[j] * b[i];
            own[(j, i)] += mirrored * a[i] * b[j];
        }
        self.u * own * self.u.transpose()
    }
}

/// A symmetric matrix without its negative eigenvalues.
pub(crate) fn positive(m: &Matrix3<f64>) -> Matrix3<f64> {
    if m.cholesky().is_some() {
        return *m;
    }
    let eigen = m.symmetric_eigen();
    let kept = Matrix3::from_diagonal(&eigen.eigenvalues.map(|x| x.max(0.0)));
    eigen.eigenvectors * kept * eigen.eigenvectors.transpose()
}

pub(crate) fn small_strain(f: &Matrix3<f64>) -> Matrix3<f64> {
    (f + f.transpose()) * 0.5 - Matrix3::identity()
}

pub(crate) fn green_strain(f: &Matrix3<f64>) -> Matrix3<f64> {
    (f.tr_mul(f) - Matrix3::identity()) * 0.5
}
