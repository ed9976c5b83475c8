//! One tree at the start of a step, as the step's own kernels see it, in double precision.

use std::ops::Deref;

use manyworlds_dynamics::TreeLayout;
use manyworlds_shaders::contact::tree_layout::{row_coefficient, row_head};
use manyworlds_shaders::contact::tree_rows::row_laws;
use manyworlds_shaders::dynamics::applied::applied;
use manyworlds_shaders::dynamics::bias::bias;
use manyworlds_shaders::dynamics::factor::factor;
use manyworlds_shaders::dynamics::inertia::inertia;
use manyworlds_shaders::dynamics::kinematics::kinematics;
use manyworlds_shaders::dynamics::momentum::momentum;
use manyworlds_shaders::dynamics::tree::{NONE, POSE, Params, SPATIAL, Tree, solve};

use crate::bias::closed_below;
use crate::grid::{Grid, axpy};
use crate::placed::Placed;
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
    /// Rows without their responses, [n_row, [`row_head`]].
    pub rows: &'a [f64],
}

/// What the step's kernels make of it.
pub(crate) struct Forward<'a> {
    placed: Placed<'a>,
    /// Impulses of rows.
    pub(crate) impulses: &'a [f64],
    /// Gaps that a step would close at less than this are closed, m/s.
    pub(crate) closed: f64,
    /// Branch-sparse, `[n_m]`.
    pub(crate) mass: Pooled,
    /// Branch-sparse, `[n_m]`.
    pub(crate) factor: Pooled,
    /// `[n_v]`
    pub(crate) b: Pooled,
    /// Without responses, `[n_row][row_head]`.
    pub(crate) rows: Pooled,
}

impl<'a> Deref for Forward<'a> {
    type Target = Placed<'a>;

    fn deref(&self) -> &Placed<'a> {
        &self.placed
    }
}

impl<'a> Forward<'a> {
    /// `single`: the step was computed in single precision.
    pub(crate) fn new(input: &TreeInput<'a>, single: bool) -> Self {
        let (tree, [pose, motion]) = (input.layout.tree(), input.frames.map(Pooled::copy));
        let out = if let Some(made) = &input.made {
            let [mass, factor, b, rows] = [made.mass, made.factor, made.b, made.rows].map(Pooled::copy);
            let (params, state, impulses) = (input.params, input.state, input.rows);
            let placed = Placed::new(tree, params, state, [pose, motion]);
            Self { placed, impulses, closed: closed_below(false), mass, factor, b, rows }
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
        let placed = Placed::new(tree, numbers, state, [pose, motion]);
        let Placed { tree, pose, motion, pull, .. } = &placed;
        applied(tree, params, state, pose, motion, pull, &mut matrix, &mut b);
        let (mut factored, mut free, mut velocity) = (zeros(n_m), zeros(n_v), zeros(n_v));
        factor(tree, &matrix, &b, &mut factored, &mut free, &mut velocity, &mut [0]);
        let mut rows = zeros(n_row * row_head(dims.row_width));
        row_laws(tree, &params, state, pull, &mut rows);
        Self { placed, impulses, closed: closed_below(false), mass, factor: factored, b, rows }
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

    /// A
    pub(crate) fn matrix(&self) -> Grid {
        let dofs = self.tree.dofs;
        let n = dofs.len();
        let mut out = Grid::zeros(n, n);
        for i in 0..n {
            // `l_i d_i l_i^T`, l_i a row of the factor over the dofs before it.
            let row = self.factor_row(i);
            let mut terms = vec![(i, 1.0)];
            let mut j = dofs[i].parent as usize;
            for &l in &row[1..] {
                terms.push((j, l));
                j = dofs[j].parent as usize;
            }
            for &(a, x) in &terms {
                terms.iter().for_each(|&(b, y)| out[(a, b)] += x * y / row[0]);
            }
        }
        out
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

    /// The numbers of a row in [`Self::rows`].
    pub(crate) fn row(&self, index: usize) -> &[f64] {
        let head = row_head(self.tree.dims.row_width);
        &self.rows[index * head..(index + 1) * head]
    }

    /// `J A^-1 J^T` of a row, 1/kg.
    pub(crate) fn row_block(&self, index: usize) -> f64 {
        let mut y = Pooled::zeros(self.n_v());
        self.row_terms(index).for_each(|(dof, x)| y[dof] += x);
        self.solve(&mut y);
        self.row_terms(index).map(|(dof, x)| x * y[dof]).sum()
    }

    /// J of a row: dofs and entries; a dof may be there twice.
    pub(crate) fn row_terms(&self, index: usize) -> impl Iterator<Item = (usize, f64)> {
        let (dofs, numbers) = (self.tree.row_dofs(&self.tree.rows[index]), self.row(index));
        dofs.iter().enumerate().map(|(k, &dof)| (dof as usize, row_coefficient(numbers, k)))
    }
}
