//! A problem with sparse subsystems as the smaller one that constraints see (static condensation, R. Guyan 1965).
//!
//! With the degrees of freedom t of a subsystem that constraints touch and the others e, `J v = J_t v_t`, and
//! `A v = b + J^T lambda` says `A_c v_t = b_c + J_t^T lambda` with `A_c = A_tt - A_te A_ee^-1 A_et` and
//! `b_c = b_t - A_te A_ee^-1 b_e`. Nothing is left out, and a solver that adds `J^T W J` to `A` takes the steps that it
//! would take on the whole problem. `A_c` is what the factor leaves of `A` before it eliminates t; it is dense.

use std::ops::Range;

use super::{Constraint, ContactProblem, Law, Operator, Part, Side, Subsystem};

/// See the module.
#[derive(Debug)]
pub struct Condensed {
    /// The same constraints on dense subsystems of what they touch; those that nothing touches are empty.
    pub problem: ContactProblem,
}

impl Condensed {
    /// The velocity of the whole problem, `[n_v]`, from one of this: what nothing touches follows from the rest.
    #[must_use]
    pub fn expanded(&self, whole: &ContactProblem, v: &[f64]) -> Vec<f64> {
        let mut out = whole.b.clone();
        for (s, small) in whole.subsystems.iter().zip(&self.problem.subsystems) {
            let (own, v) = (&mut out[s.begin..s.begin + s.count], &v[small.begin..small.begin + small.count]);
            match s.operator {
                Operator::Dense { .. } => own.copy_from_slice(v),
                Operator::Sparse { index } => {
                    // The impulse that makes this velocity of the touched ones.
                    let of = &whole.sparse[index];
                    let rows = self.problem.block(small).chunks_exact(small.count.max(1));
                    for ((row, &dof), b) in rows.zip(of.touched()).zip(&self.problem.b[small.begin..]) {
                        own[dof as usize] += row.iter().zip(v).map(|(a, v)| a * v).sum::<f64>() - b;
                    }
                    of.factor().solve(own);
                }
            }
        }
        out
    }
}

impl ContactProblem {
    /// The same problem in what constraints touch of its sparse subsystems; `None` where it has none. `responses`: as
    /// [`Solver::responds`](crate::solve::Solver::responds) asks for.
    #[must_use]
    pub fn condensed(&self, responses: bool) -> Option<Condensed> {
        if self.sparse.is_empty() {
            return None;
        }
        let mut problem = self.condensed_to(&mut (0..self.constraints.len()), responses);
        problem.plan = self.plan.clone();
        Some(Condensed { problem })
    }

    /// The same problem in what constraints touch, of some of them alone, ascending, and without islands.
    pub(crate) fn condensed_to(&self, some: &mut dyn Iterator<Item = usize>, responses: bool) -> Self {
        let mut out = Self::default();
        self.subsystems.iter().for_each(|s| self.condense(s, &mut out));
        out.n_v = out.b.len();
        for c in some.map(|i| &self.constraints[i]) {
            let rows = c.law.rows();
            out.constraints.push(Constraint { row: out.n_rows, ..c.clone() });
            out.warm_start.extend_from_slice(&self.warm_start[c.row..c.row + rows]);
            out.n_rows += rows;
            out.n_contacts += usize::from(matches!(c.law, Law::Contact { .. }));
            let (sides, parts) = (out.sides.len(), out.parts.len());
            for side in &self.sides[c.sides.clone()] {
                let j = self.wide(side.subsystem, &side.dofs, rows, &self.jacobian[side.offset..]);
                out.sides.push(Side { subsystem: side.subsystem, offset: out.jacobian.len(), dofs: 0..0 });
                if responses {
                    let s = &self.subsystems[side.subsystem];
                    let first = out.response.len();
                    out.response.extend_from_slice(&j);
                    let n = out.subsystems[side.subsystem].count.max(1);
                    out.response[first..].chunks_exact_mut(n).for_each(|row| match s.operator {
                        Operator::Dense { .. } => self.solve(s, row),
                        Operator::Sparse { index } => self.sparse[index].factor().solve_reduced(row),
                    });
                }
                out.jacobian.extend(j);
            }
            for part in &self.parts[c.parts.clone()] {
                let j = self.wide(part.subsystem, &part.dofs, rows, &self.part_jacobian[part.offset..]);
                out.parts.push(Part { offset: out.part_jacobian.len(), dofs: 0..0, ..part.clone() });
                out.part_jacobian.extend(j);
            }
            if let Some(own) = out.constraints.last_mut() {
                (own.sides, own.parts) = (sides..out.sides.len(), parts..out.parts.len());
            }
        }
        out
    }

    /// Adds a subsystem, in what is touched of it.
    fn condense(&self, s: &Subsystem, to: &mut Self) {
        let (begin, block) = (to.b.len(), to.a.len());
        let own = s.begin..s.begin + s.count;
        let add_start = |to: &mut Self, dofs: &mut dyn Iterator<Item = usize>| {
            if !self.v_start.is_empty() {
                to.v_start.extend(dofs.map(|i| self.v_start[s.begin + i]));
            }
        };
        let count = match s.operator {
            Operator::Dense { block } => {
                let size = block..block + s.count * s.count;
                to.a.extend_from_slice(&self.a[size.clone()]);
                to.factor.extend_from_slice(&self.factor[size]);
                to.b.extend_from_slice(&self.b[own.clone()]);
                to.v_free.extend_from_slice(&self.v_free[own.clone()]);
                add_start(to, &mut (0..s.count));
                if !self.parent.is_empty() {
                    let moved = |&p: &i64| if p < 0 { p } else { p - s.begin as i64 + begin as i64 };
                    to.parent.extend(self.parent[own].iter().map(moved));
                }
                s.count
            }
            Operator::Sparse { index } => {
                let of = &self.sparse[index];
                let (a, n) = (of.factor().reduced(), of.touched().len());
                to.a.extend_from_slice(a);
                let u = of.factor().last();
                let lower = |k: usize| if k % n <= k / n { u[k % n * n + k / n] } else { 0.0 };
                to.factor.extend((0..n * n).map(lower));
                let free: Vec<f64> = of.touched().iter().map(|&i| self.v_free[s.begin + i as usize]).collect();
                to.b.extend(a.chunks_exact(n.max(1)).map(|row| row.iter().zip(&free).map(|(a, v)| a * v).sum::<f64>()));
                to.v_free.extend(free);
                add_start(to, &mut of.touched().iter().map(|&i| i as usize));
                if !self.parent.is_empty() {
                    // All of it hangs together.
                    to.parent.extend((0..n).map(|i| if i == 0 { -1 } else { (begin + i - 1) as i64 }));
                }
                n
            }
        };
        to.subsystems.push(Subsystem { begin, count, operator: Operator::Dense { block } });
    }

    /// Rows over all that is touched of their subsystem.
    fn wide(&self, subsystem: usize, dofs: &Range<usize>, rows: usize, j: &[f64]) -> Vec<f64> {
        let s = &self.subsystems[subsystem];
        match s.operator {
            Operator::Dense { .. } => j[..rows * s.count].to_vec(),
            Operator::Sparse { index } => {
                let dofs = &self.touched[dofs.clone()];
                self.sparse[index].spread(dofs, &j[..rows * dofs.len()])
            }
        }
    }
}
