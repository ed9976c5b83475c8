//! One tree at the start of a step, as the step's own kernels see it, in double precision.

use manyworlds_dynamics::TreeLayout;
use manyworlds_shaders::contact::tree_layout::row_stride;
use manyworlds_shaders::contact::tree_rows::tree_rows;
use manyworlds_shaders::dynamics::bias::bias;
use manyworlds_shaders::dynamics::factor::factor;
use manyworlds_shaders::dynamics::inertia::inertia;
use manyworlds_shaders::dynamics::kinematics::kinematics;
use manyworlds_shaders::dynamics::momentum::momentum;
use manyworlds_shaders::dynamics::tree::{POSE, Params, SPATIAL, Tree, param, solve};

use crate::constraint::{CLOSED, CLOSED_SINGLE};
use crate::grid::{Grid, axpy};
use crate::pool::Pooled;

/// A tree before a step.
#[derive(Debug, Clone, Copy)]
pub struct TreeInput<'a> {
    /// Structure.
    pub layout: &'a TreeLayout,
    /// Parameters, `[n_param]`.
    pub params: &'a [f64],
    /// q, v, ctrl and tau before the step, `[n_state]`.
    pub state: &'a [f64],
    /// Impulses of the tree's rows in the step, `[n_row]`, N s or N m s.
    pub rows: &'a [f64],
}

/// What the step's kernels make of it.
pub(crate) struct Forward<'a> {
    pub(crate) tree: Tree<'a>,
    pub(crate) params: &'a [f64],
    pub(crate) state: &'a [f64],
    /// Impulses of rows.
    pub(crate) impulses: &'a [f64],
    /// Gaps that a step would close at less than this are closed, m/s.
    pub(crate) closed: f64,
    /// `[n_body][7]`
    pub(crate) pose: Pooled,
    /// `[n_v][6]`
    pub(crate) motion: Pooled,
    /// Branch-sparse, `[n_m]`.
    pub(crate) mass: Pooled,
    /// Branch-sparse, `[n_m]`.
    pub(crate) factor: Pooled,
    /// `[n_v]`
    pub(crate) b: Pooled,
    /// `[n_row][row_stride]`
    pub(crate) rows: Pooled,
}

impl<'a> Forward<'a> {
    /// `single`: the step was computed in single precision.
    pub(crate) fn new(input: &TreeInput<'a>, single: bool) -> Self {
        let out = Self::of(input.layout.tree(), input.params, input.state, input.rows);
        if single { Self { closed: CLOSED_SINGLE, ..out } } else { out }
    }

    /// A tree with these parameters, in this state.
    pub(crate) fn of(tree: Tree<'a>, numbers: &'a [f64], state: &'a [f64], impulses: &'a [f64]) -> Self {
        let dims = tree.dims;
        let [n_body, n_v, n_m, n_row] = [dims.n_body, dims.n_v, dims.n_m, dims.n_row].map(|n| n as usize);
        let params = Params::<f64>::Shared(numbers);
        let zeros = Pooled::zeros;
        let (mut pose, mut motion) = (zeros(POSE * n_body), zeros(SPATIAL * n_v));
        kinematics(&tree, params, state, &mut pose, &mut motion);
        let (mut twist, mut work, mut force) = (zeros(SPATIAL * n_body), zeros(dims.n_work()), zeros(n_v));
        bias(&tree, params, state, &pose, &motion, &mut twist, &mut work, &mut force);
        let mut mass = zeros(n_m);
        inertia(&tree, params, &motion, &mut work, &mut mass);
        let (mut matrix, mut b) = (zeros(n_m), zeros(n_v));
        momentum(&tree, params, state, &mass, &force, &mut matrix, &mut b);
        let (mut factored, mut free, mut velocity) = (zeros(n_m), zeros(n_v), zeros(n_v));
        factor(&tree, &matrix, &b, &mut factored, &mut free, &mut velocity, &mut [0]);
        let mut rows = zeros(n_row * row_stride(n_v));
        tree_rows(&tree, &params, state, &factored, &mut rows);
        Self { tree, params: numbers, state, impulses, closed: CLOSED, pose, motion, mass, factor: factored, b, rows }
    }

    pub(crate) fn n_v(&self) -> usize {
        self.tree.dofs.len()
    }

    /// Time step, s.
    pub(crate) fn h(&self) -> f64 {
        self.params[param::TIMESTEP]
    }

    /// Generalized velocity before the step.
    pub(crate) fn v(&self) -> &[f64] {
        &self.state[self.tree.dims.v_at()..self.tree.dims.ctrl_at()]
    }

    /// `A x = x`.
    pub(crate) fn solve(&self, x: &mut [f64]) {
        solve(&self.tree, &self.factor, x);
    }

    /// `A^-1`.
    pub(crate) fn inverse(&self) -> Grid {
        let dofs = self.tree.dofs;
        let n = dofs.len();
        let mut x = Grid::zeros(n, n);
        for i in 0..n {
            // Rows of L^-T: of a dof only columns behind it are not zero.
            x[(i, i)] = 1.0;
        }
        for i in (0..n).rev() {
            let mut j = dofs[i].parent as usize;
            for &l in &self.factor_row(i)[1..] {
                let (above, own) = x.pair(j, i);
                axpy(-l, &own[i..n], &mut above[i..n]);
                j = dofs[j].parent as usize;
            }
        }
        for i in 0..n {
            let row = self.factor_row(i);
            x.row_mut(i).iter_mut().for_each(|x| *x *= row[0]);
            let mut j = dofs[i].parent as usize;
            for &l in &row[1..] {
                let (above, own) = x.pair(j, i);
                axpy(-l, above, own);
                j = dofs[j].parent as usize;
            }
        }
        x
    }

    fn factor_row(&self, dof: usize) -> &[f64] {
        let record = &self.tree.dofs[dof];
        &self.factor[record.m_begin as usize..(record.m_begin + record.chain) as usize]
    }

    /// Reference point c.
    pub(crate) fn centre(&self) -> [f64; 3] {
        [self.pose[0], self.pose[1], self.pose[2]]
    }

    /// The numbers of a row in [`Self::rows`].
    pub(crate) fn row(&self, index: usize) -> &[f64] {
        let stride = row_stride(self.n_v());
        &self.rows[index * stride..(index + 1) * stride]
    }

    /// Calls `f` with the dofs that move a body.
    pub(crate) fn for_dofs(&self, body: usize, mut f: impl FnMut(usize)) {
        let mut i = self.tree.bodies[body].chain_dof;
        while i != manyworlds_shaders::dynamics::tree::NONE {
            f(i as usize);
            i = self.tree.dofs[i as usize].parent;
        }
    }
}
