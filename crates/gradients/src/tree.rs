//! One tree at the start of a step, as the step's own kernels see it, in double precision.

use manyworlds_dynamics::TreeLayout;
use manyworlds_shaders::contact::tree_layout::row;
use manyworlds_shaders::contact::tree_rows::row_laws;
use manyworlds_shaders::dynamics::bias::bias;
use manyworlds_shaders::dynamics::factor::factor;
use manyworlds_shaders::dynamics::inertia::inertia;
use manyworlds_shaders::dynamics::kinematics::kinematics;
use manyworlds_shaders::dynamics::momentum::momentum;
use manyworlds_shaders::dynamics::tree::{NONE, POSE, Params, SPATIAL, Tree, param, solve};

use crate::bias::closed_below;
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
    /// What [`kinematics`] makes of it: frames of the bodies, `[n_body][7]`, and motions of the dofs, `[n_v][6]`.
    pub frames: [&'a [f64]; 2],
    /// What else the step's kernels made of it, where that is at hand in double precision; otherwise they run again.
    pub made: Option<TreeMade<'a>>,
    /// Impulses of the tree's rows in the step, `[n_row]`, N s or N m s.
    pub rows: &'a [f64],
}

/// Numbers of a tree that a step computes on its way.
#[derive(Debug, Clone, Copy)]
pub struct TreeMade<'a> {
    /// Joint-space inertia, branch-sparse, `[n_m]`.
    pub mass: &'a [f64],
    /// Factor of the momentum matrix A, `[n_m]`.
    pub factor: &'a [f64],
    /// Right-hand side of the free velocity, `[n_v]`.
    pub b: &'a [f64],
    /// Rows without their responses, [n_row, [`row::Y`]].
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
    /// Without responses, `[n_row][row::Y]`.
    pub(crate) rows: Pooled,
}

impl<'a> Forward<'a> {
    /// `single`: the step was computed in single precision.
    pub(crate) fn new(input: &TreeInput<'a>, single: bool) -> Self {
        let (tree, [pose, motion]) = (input.layout.tree(), input.frames.map(Pooled::copy));
        let out = if let Some(made) = &input.made {
            let [mass, factor, b, rows] = [made.mass, made.factor, made.b, made.rows].map(Pooled::copy);
            let (params, state, impulses) = (input.params, input.state, input.rows);
            Self { tree, params, state, impulses, closed: closed_below(false), pose, motion, mass, factor, b, rows }
        } else {
            Self::on(tree, input.params, input.state, input.rows, [pose, motion])
        };
        Self { closed: closed_below(single), ..out }
    }

    /// A tree with these parameters, in this state.
    pub(crate) fn of(tree: Tree<'a>, numbers: &'a [f64], state: &'a [f64], impulses: &'a [f64]) -> Self {
        let (mut pose, mut motion) =
            (Pooled::zeros(POSE * tree.bodies.len()), Pooled::zeros(SPATIAL * tree.dofs.len()));
        kinematics(&tree, Params::<f64>::Shared(numbers), state, &mut pose, &mut motion);
        Self::on(tree, numbers, state, impulses, [pose, motion])
    }

    fn on(
        tree: Tree<'a>,
        numbers: &'a [f64],
        state: &'a [f64],
        impulses: &'a [f64],
        [pose, motion]: [Pooled; 2],
    ) -> Self {
        let dims = tree.dims;
        let [n_body, n_v, n_m, n_row] = [dims.n_body, dims.n_v, dims.n_m, dims.n_row].map(|n| n as usize);
        let params = Params::<f64>::Shared(numbers);
        let zeros = Pooled::zeros;
        let (mut twist, mut work, mut force) = (zeros(SPATIAL * n_body), zeros(dims.n_work()), zeros(n_v));
        bias(&tree, params, state, &pose, &motion, &mut twist, &mut work, &mut force);
        let mut mass = zeros(n_m);
        inertia(&tree, params, &motion, &mut work, &mut mass);
        let (mut matrix, mut b) = (zeros(n_m), zeros(n_v));
        momentum(&tree, params, state, &mass, &force, &mut matrix, &mut b);
        let (mut factored, mut free, mut velocity) = (zeros(n_m), zeros(n_v), zeros(n_v));
        factor(&tree, &matrix, &b, &mut factored, &mut free, &mut velocity, &mut [0]);
        let mut rows = zeros(n_row * row::Y);
        row_laws(&tree, &params, state, &mut rows);
        Self {
            tree,
            params: numbers,
            state,
            impulses,
            closed: closed_below(false),
            pose,
            motion,
            mass,
            factor: factored,
            b,
            rows,
        }
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

    /// `A X = X` for some rows of X from `first` on, `[n_v]` of them.
    pub(crate) fn solve_rows(&self, first: usize, x: &mut Grid) {
        let dofs = self.tree.dofs;
        for i in (0..dofs.len()).rev() {
            let mut j = dofs[i].parent as usize;
            for &l in &self.factor_row(i)[1..] {
                let (above, own) = x.pair(first + j, first + i);
                axpy(-l, own, above);
                j = dofs[j].parent as usize;
            }
        }
        self.solve_outwards(first, x);
    }

    /// The second half of it, from the root on.
    fn solve_outwards(&self, first: usize, x: &mut Grid) {
        let dofs = self.tree.dofs;
        for i in 0..dofs.len() {
            let row = self.factor_row(i);
            x.row_mut(first + i).iter_mut().for_each(|x| *x *= row[0]);
            let mut j = dofs[i].parent as usize;
            for &l in &row[1..] {
                let (above, own) = x.pair(first + j, first + i);
                axpy(-l, above, own);
                j = dofs[j].parent as usize;
            }
        }
    }

    /// `A^-1`.
    pub(crate) fn inverse(&self) -> Grid {
        let dofs = self.tree.dofs;
        let n = dofs.len();
        let mut x = Grid::zeros(n, n);
        // One past the last dof behind each.
        let mut ends: Vec<usize> = (1..=n).collect();
        for i in (0..n).rev() {
            x[(i, i)] = 1.0;
            if dofs[i].parent != NONE {
                let parent = dofs[i].parent as usize;
                ends[parent] = ends[parent].max(ends[i]);
            }
        }
        for i in (0..n).rev() {
            // Rows of L^-T: of a dof only its own column and those of dofs behind it are not zero.
            let end = ends[i];
            let mut j = dofs[i].parent as usize;
            for &l in &self.factor_row(i)[1..] {
                let (above, own) = x.pair(j, i);
                axpy(-l, &own[i..end], &mut above[i..end]);
                j = dofs[j].parent as usize;
            }
        }
        self.solve_outwards(0, &mut x);
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
        &self.rows[index * row::Y..(index + 1) * row::Y]
    }

    /// `J A^-1 J^T` of a row, 1/kg.
    pub(crate) fn row_block(&self, index: usize) -> f64 {
        let (record, coefficients) = (&self.tree.rows[index], &self.row(index)[row::COEFFICIENT..]);
        let dofs = || record.dofs[..record.count as usize].iter().map(|&dof| dof as usize).zip(coefficients);
        let mut y = Pooled::zeros(self.n_v());
        dofs().for_each(|(dof, x)| y[dof] = *x);
        self.solve(&mut y);
        dofs().map(|(dof, x)| x * y[dof]).sum()
    }

    /// Calls `f` with the dofs that move a body.
    pub(crate) fn for_dofs(&self, body: usize, mut f: impl FnMut(usize)) {
        let mut i = self.tree.bodies[body].chain_dof;
        while i != NONE {
            f(i as usize);
            i = self.tree.dofs[i as usize].parent;
        }
    }
}
