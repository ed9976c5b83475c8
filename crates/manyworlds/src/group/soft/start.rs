//! How the balance of a soft body's momentum changes with where its step began: `h df(q + h v+; q)/dq`, as a product.

use manyworlds_gradients::LinearMap;

use super::momentum::MomentumMatrix;

/// See the module.
///
/// With K the stiffness at the end of the step and D the derivative of the damping by where it begins it is `h (D - K)`, K that of
/// `A = (1 + h alpha) M + h^2 K`, D element by element: neither is a matrix of its own.
#[derive(Debug)]
pub(in crate::group) struct ByStart {
    /// Displacements before the step, m.
    pub(in crate::group) start: Vec<f64>,
    /// A
    pub(in crate::group) matrix: MomentumMatrix,
    /// What a carrier that moves adds.
    pub(in crate::group) carried: Vec<Block>,
}

impl ByStart {
    /// `K x`
    pub(in crate::group) fn stiff(&self, x: &[f64]) -> Vec<f64> {
        let (MomentumMatrix { system, tangent, .. }, mut out) = (&self.matrix, vec![0.0; x.len()]);
        tangent.add_times(system, 1.0, x, &mut out);
        out
    }

    fn add(&self, x: &[f64], transposed: bool, y: &mut [f64]) {
        let Self { start, matrix, carried } = self;
        let MomentumMatrix { system, tangent, h, .. } = matrix;
        tangent.add_times_less_start(system, start, (-h, x, transposed), y);
        add_blocks(carried, x, transposed, y);
    }
}

/// How that balance changes with the velocity before the step.
#[derive(Debug)]
pub(in crate::group) struct ByVelocity {
    /// Of each degree of freedom, kg.
    pub(in crate::group) mass: Vec<f64>,
    /// As in [`ByStart`].
    pub(in crate::group) carried: Vec<Block>,
}

impl ByVelocity {
    fn add(&self, x: &[f64], transposed: bool, y: &mut [f64]) {
        y.iter_mut().zip(&self.mass).zip(x).for_each(|((y, m), x)| *y += m * x);
        add_blocks(&self.carried, x, transposed, y);
    }
}

impl LinearMap for ByVelocity {
    fn add_times(&self, x: &[f64], y: &mut [f64]) {
        self.add(x, false, y);
    }

    fn add_transposed_times(&self, x: &[f64], y: &mut [f64]) {
        self.add(x, true, y);
    }
}

/// First degree of freedom of a block on the diagonal, and the block.
pub(in crate::group) type Block = (usize, [[f64; 3]; 3]);

/// Adds blocks on the diagonal times a vector.
fn add_blocks(blocks: &[Block], x: &[f64], transposed: bool, y: &mut [f64]) {
    for &(first, block) in blocks {
        for (row, column) in (0..9).map(|k| (k / 3, k % 3)) {
            let (to, from) = if transposed { (column, row) } else { (row, column) };
            y[first + to] += block[row][column] * x[first + from];
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
