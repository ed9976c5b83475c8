//! How the balance of a soft body's momentum changes with where its step began: `h df(q + h v+; q)/dq`, as a product.

use std::sync::Arc;

use manyworlds_gradients::LinearMap;
use manyworlds_soft::{SoftParams, SoftSystem};
use manyworlds_sparse::SparseMatrix;

/// See the module.
///
/// With K the stiffness at the end of the step and D the derivative of the damping by where it begins it is `h (D - K)`, K that of
/// `A = (1 + h alpha) M + h^2 K`, D element by element: neither is a matrix of its own.
#[derive(Debug)]
pub(in crate::group) struct ByStart {
    pub(in crate::group) system: Arc<SoftSystem>,
    pub(in crate::group) params: SoftParams,
    /// s
    pub(in crate::group) h: f64,
    /// Displacements before the step and after it, m.
    pub(in crate::group) ends: [Vec<f64>; 2],
    /// A
    pub(in crate::group) matrix: SparseMatrix,
    /// `(1 + h alpha) M`, kg.
    pub(in crate::group) mass: Vec<f64>,
    /// What a carrier that moves adds: first degree of freedom of each block on the diagonal.
    pub(in crate::group) carried: Vec<(usize, [[f64; 3]; 3])>,
}

impl ByStart {
    fn add(&self, x: &[f64], transposed: bool, y: &mut [f64]) {
        let Self { system, params, h, ends, matrix, mass, carried } = self;
        // It is symmetric.
        let mut pushed = vec![0.0; x.len()];
        matrix.add_times(x, &mut pushed);
        for (i, y) in y.iter_mut().enumerate() {
            *y -= (pushed[i] - mass[i] * x[i]) / h;
        }
        system.add_by_start((params, *h), ends.each_ref().map(Vec::as_slice), (*h, x, transposed), y);
        for &(first, block) in carried {
            for (row, column) in (0..9).map(|k| (k / 3, k % 3)) {
                let (to, from) = if transposed { (column, row) } else { (row, column) };
                y[first + to] += block[row][column] * x[first + from];
            }
        }
    }
}

impl LinearMap for ByStart {
    fn add_times(&self, x: &[f64], y: &mut [f64]) {
        self.add(x, false, y);
    }

    fn add_transposed_times(&self, x: &[f64], y: &mut [f64]) {
        self.add(x, true, y);
    }
}
