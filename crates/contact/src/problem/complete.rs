//! What follows from the pieces of a problem: factors, responses, the constraints' own blocks of the Delassus operator, islands.

use std::sync::Arc;

use manyworlds_collide::organise::{Links, Organiser};
use manyworlds_sparse::{Ordering, SparseMatrix, SparseOperator};

use super::block::{ENTRIES, solve, solve_free, solve_rows, weigh_free};
use super::{ContactProblem, FREE, Operator, ProblemError};
use crate::dense::{self, dot};

impl ContactProblem {
    /// Responses of all sides where they are not known, and the constraints' own blocks of the Delassus operator.
    pub(super) fn respond(&mut self) {
        let known = self.response.len() == self.jacobian.len();
        if !known {
            self.response.clear();
            self.response.extend_from_slice(&self.jacobian);
        }
        let mut beside = Vec::new();
        for c in &mut self.constraints {
            let rows = c.law.rows();
            for side in &self.sides[c.sides.clone()] {
                let s = &self.subsystems[side.subsystem];
                let Operator::Dense { block } = s.operator else { continue };
                let own = side.offset..side.offset + rows * s.count;
                let (l, j, y) = (&self.factor[block..], &self.jacobian[own.clone()], &mut self.response[own]);
                match (l.first_chunk(), y.as_chunks_mut().0.first_chunk_mut()) {
                    _ if known => {}
                    (Some(l), Some(y)) if s.count == FREE => solve_free(l, y),
                    _ if rows == 1 => solve(s.count, l, y),
                    _ => solve_rows(s.count, l, y, &mut beside),
                }
                for (g, (a, b)) in c.delassus.iter_mut().zip(ENTRIES) {
                    if b < rows {
                        let (j, y) = (&j[a * s.count..][..s.count], &y[b * s.count..][..s.count]);
                        *g += j.iter().zip(y).map(|(j, y)| j * y).sum::<f64>();
                    }
                }
            }
        }
    }

    /// Factors of sparse blocks, what constraints touch eliminated last, and free velocities.
    pub(super) fn factor_sparse(&mut self, blocks: Vec<(SparseMatrix, Arc<Ordering>)>) -> Result<(), ProblemError> {
        if blocks.is_empty() {
            return Ok(());
        }
        let mut touched = vec![Vec::new(); blocks.len()];
        for side in &self.sides {
            if let Operator::Sparse { index } = self.subsystems[side.subsystem].operator {
                touched[index].extend_from_slice(&self.touched[side.dofs.clone()]);
            }
        }
        let owners: Vec<usize> = (0..self.subsystems.len())
            .filter(|&s| matches!(self.subsystems[s].operator, Operator::Sparse { .. }))
            .collect();
        for (((matrix, ordering), touched), owner) in blocks.into_iter().zip(touched).zip(owners) {
            let own = SparseOperator::new(matrix, ordering, touched)
                .map_err(|e| ProblemError::new(format!("A_sparse[{owner}]"), e.to_string()))?;
            let s = &self.subsystems[owner];
            own.factor().solve(&mut self.v_free[s.begin..s.begin + s.count]);
            self.sparse.push(own);
        }
        Ok(())
    }

    /// The constraints' own blocks of the Delassus operator alone: `J A^-1 J^T = X X^T`, `X^T = L^-1 J^T`.
    pub(super) fn weigh(&mut self) {
        let mut x = Vec::new();
        for c in &mut self.constraints {
            let rows = c.law.rows();
            for side in &self.sides[c.sides.clone()] {
                let s = &self.subsystems[side.subsystem];
                let block = match s.operator {
                    Operator::Dense { block } => block,
                    Operator::Sparse { index } => {
                        let dofs = &self.touched[side.dofs.clone()];
                        let j = &self.jacobian[side.offset..][..rows * dofs.len()];
                        let own = self.sparse[index].compliance(dofs, j);
                        for (g, (a, b)) in c.delassus.iter_mut().zip(ENTRIES).filter(|(_, (_, b))| *b < rows) {
                            *g += own[a * rows + b];
                        }
                        continue;
                    }
                };
                let (l, j) = (&self.factor[block..], &self.jacobian[side.offset..][..rows * s.count]);
                if let (Some(l), Some(j)) = (l.first_chunk(), j.as_chunks().0.first_chunk())
                    && s.count == FREE
                {
                    weigh_free(l, j, &mut c.delassus);
                    continue;
                }
                x.clear();
                x.extend_from_slice(j);
                x.chunks_exact_mut(s.count).for_each(|row| dense::forward(s.count, l, row));
                for (g, (a, b)) in c.delassus.iter_mut().zip(ENTRIES) {
                    if b < rows {
                        let (a, b) = (&x[a * s.count..][..s.count], &x[b * s.count..][..s.count]);
                        *g += dot(a, b);
                    }
                }
            }
        }
    }

    /// Islands and colours.
    pub(crate) fn arrange(&mut self) {
        let touched: Vec<u32> = self.sides.iter().map(|s| s.subsystem as u32).collect();
        let ends = self.constraints.iter().map(|c| c.sides.end as u32);
        let begins: Vec<u32> = std::iter::once(0).chain(ends).collect();
        let links = Links { n_subsystems: self.subsystems.len(), begins: &begins, touched: &touched };
        self.plan = Organiser::default().organise(links, 1).clone();
    }
}
