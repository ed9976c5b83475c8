//! The direction of a Newton step on an island whose matrix is written out: a dense Cholesky factor within its envelope.

use super::evaluate::Island;
use super::layout::term;
use super::matrix;
use crate::Scalar;
use crate::contact::island;
use crate::contact::local::symmetric_times;

impl<T: Scalar> Island<'_, T> {
    /// `A + J^T W J` and the right-hand side.
    fn assemble(&self, m: &mut [T]) {
        let zero = T::lit(0.0);
        let n = self.dofs.len();
        for (i, dof) in self.dofs.iter().enumerate() {
            let own = &mut m[matrix::row_at(i)..][..=i];
            own[dof.first as usize..].fill(zero);
            let tree = dof.tree as usize;
            own[tree..].copy_from_slice(&self.convex[dof.row as usize..][..=i - tree]);
        }
        let gradient = &self.convex[self.gradient_at()..][..n];
        m[matrix::row_at(n)..].iter_mut().zip(gradient).for_each(|(to, &g)| *to = -g);
        let first = self.record.velocity_begin;
        for i in self.range() {
            let at = self.term_at(i) + term::SLOPE;
            let w = island::load6(self.convex, at);
            if w.iter().all(|&x| x == zero) {
                continue;
            }
            let (block, sides) = (self.is_block(i), self.sides(i));
            for a in sides {
                let na = a.count as usize;
                let ja = &self.jac[a.jac as usize..];
                for k in 0..na {
                    let u = if block {
                        symmetric_times(&w, &[ja[k], ja[na + k], ja[2 * na + k]])
                    } else {
                        [w[0] * ja[k], zero, zero]
                    };
                    // Most degrees of freedom of a tree do not move a contact.
                    if u[0] == zero && u[1] == zero && u[2] == zero {
                        continue;
                    }
                    let row = (a.velocity - first) as usize + k;
                    let own = &mut m[matrix::row_at(row)..][..=row];
                    for b in sides.iter().filter(|b| b.velocity <= a.velocity) {
                        let nb = b.count as usize;
                        let jb = &self.jac[b.jac as usize..];
                        let to = own[(b.velocity - first) as usize..].iter_mut().take(nb);
                        if block {
                            let (j0, j1, j2) = (&jb[..nb], &jb[nb..2 * nb], &jb[2 * nb..3 * nb]);
                            for (((to, &x), &y), &z) in to.zip(j0).zip(j1).zip(j2) {
                                *to = u[0].mul_add(x, u[1].mul_add(y, u[2].mul_add(z, *to)));
                            }
                        } else {
                            to.zip(&jb[..nb]).for_each(|(to, &x)| *to = u[0].mul_add(x, *to));
                        }
                    }
                }
            }
        }
    }

    /// The direction, to region SOLUTION. Whether the matrix is positive in this arithmetic.
    pub(super) fn direct(&mut self, m: &mut [T]) -> bool {
        self.assemble(m);
        let whole = matrix::factor(self.dofs, m);
        if whole {
            matrix::back(self.dofs, m, &mut self.solution[self.record.velocity_begin as usize..][..self.dofs.len()]);
        }
        whole
    }
}
