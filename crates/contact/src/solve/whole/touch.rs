//! Constraints as Newton's method on a whole step sees them.

use manyworlds_sparse::SparseMatrix;

use super::Motion;
use crate::problem::{ContactProblem, Law};
use crate::solve::rows::{Block, Rows};

/// A constraint over the motion's degrees of freedom.
pub(super) struct Touch {
    pub(super) law: Law,
    pub(super) e: Rows<f64>,
    /// First row in lambda.
    pub(super) row: usize,
    /// kg
    pub(super) rho: f64,
    /// The same by inertia alone.
    pub(super) mass: f64,
    pub(super) dofs: Vec<u32>,
    /// `[3, dofs]`
    j: Vec<f64>,
}

impl Touch {
    pub(super) fn row(&self, k: usize) -> &[f64] {
        &self.j[k * self.dofs.len()..(k + 1) * self.dofs.len()]
    }

    /// `J v`
    pub(super) fn relative(&self, v: &[f64]) -> Rows<f64> {
        std::array::from_fn(|k| self.row(k).iter().zip(&self.dofs).map(|(j, &dof)| j * v[dof as usize]).sum())
    }

    /// `out += J^T x`
    pub(super) fn add_transposed(&self, x: &Rows<f64>, out: &mut [f64]) {
        for (k, x) in x.iter().enumerate().filter(|(_, x)| **x != 0.0) {
            self.row(k).iter().zip(&self.dofs).for_each(|(j, &dof)| out[dof as usize] += j * x);
        }
    }

    /// Each entry of `J^T w J`, by row and column.
    pub(super) fn each_of(&self, w: &Block<f64>, mut add: impl FnMut(usize, usize, f64)) {
        let m = self.dofs.len();
        for (b, &column) in self.dofs.iter().enumerate() {
            let weighted: Rows<f64> = std::array::from_fn(|r| (0..3).map(|s| w[r][s] * self.j[s * m + b]).sum());
            for (a, &row) in self.dofs.iter().enumerate() {
                add(row as usize, column as usize, (0..3).map(|r| self.j[r * m + a] * weighted[r]).sum());
            }
        }
    }

    /// `out += J^T w J`; rows and columns beyond the first are those of nodes, three together.
    pub(super) fn add_to(&self, w: &Block<f64>, n_first: usize, out: &mut SparseMatrix) {
        let m = self.dofs.len();
        let weighted: Vec<f64> = (0..3)
            .flat_map(|r| (0..m).map(move |b| (r, b)))
            .map(|(r, b)| (0..3).map(|s| w[r][s] * self.j[s * m + b]).sum())
            .collect();
        // The first degrees of freedom have a row and a column each, nodes' stand in threes; a node's rows have the same columns.
        let is_first = |a: usize| (self.dofs[a] as usize) < n_first;
        let runs = || {
            let mut next = 0;
            std::iter::from_fn(move || {
                let at = next;
                next += if at < m && is_first(at) { 1 } else { 3 };
                (at < m).then_some(at..next)
            })
        };
        let mut places = Vec::with_capacity(m);
        for rows in runs() {
            let begin = out.row_begin(self.dofs[rows.start] as usize);
            places.clear();
            for columns in runs() {
                let column = self.dofs[columns.start] as usize;
                let place = if is_first(columns.start) || is_first(rows.start) {
                    column
                } else {
                    match out.position(self.dofs[rows.start] as usize, column) {
                        Some(at) => at - begin,
                        None => return,
                    }
                };
                places.push((columns, place));
            }
            for a in rows {
                let own: Rows<f64> = std::array::from_fn(|r| self.j[r * m + a]);
                if own == [0.0; 3] {
                    continue;
                }
                let begin = out.row_begin(self.dofs[a] as usize);
                for (columns, place) in &places {
                    let to = &mut out.values_mut()[begin + place..][..columns.len()];
                    for (to, b) in to.iter_mut().zip(columns.clone()) {
                        *to += (0..3).map(|r| own[r] * weighted[r * m + b]).sum::<f64>();
                    }
                }
            }
        }
    }
}

/// The constraints in the motion's order, and whether they couple no two nodes that no element joins; `None`: one is of a kind that
/// a whole step does not take.
pub(super) fn touches(problem: &ContactProblem, motion: &impl Motion, diagonal: &[f64]) -> Option<(Vec<Touch>, bool)> {
    let (mut out, mut is_joined) = (Vec::with_capacity(problem.constraints.len()), true);
    let n_first = motion.n_first();
    for constraint in &problem.constraints {
        if constraint.cap != f64::INFINITY {
            return None;
        }
        let rows = constraint.law.rows();
        let (mut dofs, mut parts) = (Vec::new(), Vec::new());
        for side in &problem.sides[constraint.sides.clone()] {
            let s = &problem.subsystems[side.subsystem];
            let of = |dof: usize| motion.place(s.begin + dof) as u32;
            let count = if side.dofs.is_empty() {
                dofs.extend((0..s.count).map(of));
                s.count
            } else {
                dofs.extend(problem.touched[side.dofs.clone()].iter().map(|&dof| of(dof as usize)));
                side.dofs.len()
            };
            parts.push((count, &problem.jacobian[side.offset..][..rows * count]));
        }
        let m = dofs.len();
        let mut j = vec![0.0; 3 * m];
        let mut first = 0;
        for (count, part) in parts {
            for (r, row) in part.chunks_exact(count.max(1)).enumerate() {
                j[r * m + first..r * m + first + count].copy_from_slice(row);
            }
            first += count;
        }
        let nodes: Vec<u32> = dofs.iter().copied().filter(|&dof| dof as usize >= n_first).step_by(3).collect();
        let joined = |a: u32, b: u32| motion.pattern().position(a as usize, b as usize).is_some();
        is_joined = is_joined && nodes.iter().all(|&a| nodes.iter().all(|&b| joined(a, b)));
        let trace = |weights: &[f64]| -> f64 {
            (0..rows * m).map(|k| j[k / m * m + k % m].powi(2) / weights[dofs[k % m] as usize]).sum()
        };
        let of = |trace: f64| if trace > 0.0 { rows as f64 / trace } else { 0.0 };
        let (rho, mass) = (of(trace(diagonal)), of(trace(motion.inertia())));
        let rho = if rho > 0.0 { rho } else { 1.0 };
        out.push(Touch { law: constraint.law, e: constraint.e, row: constraint.row, rho, mass, dofs, j });
    }
    Some((out, is_joined))
}
