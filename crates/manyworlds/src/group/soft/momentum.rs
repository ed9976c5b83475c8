//! The momentum matrix of a soft body about a velocity, `A = (1 + h alpha) M + h^2 K`, by its products.

use std::sync::{Arc, OnceLock};

use manyworlds_gradients::SymmetricMap;
use manyworlds_soft::{SoftSystem, Tangent};
use manyworlds_sparse::SparseMatrix;

/// See the module.
#[derive(Debug)]
pub(in crate::group) struct MomentumMatrix {
    pub(super) system: Arc<SoftSystem>,
    /// K
    pub(super) tangent: Tangent,
    /// s
    pub(super) h: f64,
    /// `(1 + h alpha) M`, kg.
    pub(super) mass: Vec<f64>,
    /// Its entries, once they were asked for.
    entries: OnceLock<SparseMatrix>,
}

impl MomentumMatrix {
    pub(super) fn new(system: Arc<SoftSystem>, tangent: Tangent, h: f64, mass: Vec<f64>) -> Self {
        Self { system, tangent, h, mass, entries: OnceLock::new() }
    }
}

impl SymmetricMap for MomentumMatrix {
    fn add_times(&self, a: f64, x: &[f64], y: &mut [f64]) {
        // By its entries where they are known: they are fewer than those of all elements.
        if let Some(entries) = self.entries.get() {
            return SymmetricMap::add_times(entries, a, x, y);
        }
        self.tangent.add_times(&self.system, a * self.h * self.h, x, y);
        y.iter_mut().zip(&self.mass).zip(x).for_each(|((y, m), x)| *y += a * m * x);
    }

    fn diagonal(&self) -> Vec<f64> {
        let mut out = self.tangent.diagonal(&self.system);
        out.iter_mut().zip(&self.mass).for_each(|(x, m)| *x = self.h * self.h * *x + m);
        out
    }

    fn matrix(&self) -> &SparseMatrix {
        self.entries.get_or_init(|| {
            let mut out = self.system.pattern().clone();
            self.tangent.stiffness(&self.system, &mut out);
            out.values_mut().iter_mut().for_each(|k| *k *= self.h * self.h);
            self.mass.iter().enumerate().for_each(|(i, m)| out.add_diagonal(i, *m));
            out
        })
    }
}
