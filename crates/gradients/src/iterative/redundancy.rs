//! Whether how redundant contacts share their impulses decides the motion.
//!
//! Equations without a diagonal that depend on each other (rows of `L J`) leave as many combinations of unknowns open. Where these push
//! nothing (columns of `J^T R` depend on each other alike) the motion is known all the same: so it is where all stick. Where
//! contacts slide in several directions they push: then other shares of the same normal impulses give other friction.

use super::Iterative;
use crate::unknown::Unknown;

/// Of a row what is left beside others, relative to it, when it counts as dependent on them.
const DEPENDENT: f64 = 1e-6;

impl Iterative<'_> {
    /// See the module; looked for where bodies deform.
    pub(crate) fn shares_decide(&self) -> bool {
        let unknowns = &self.equations.unknowns;
        let all = || unknowns.iter().zip(&self.owners).filter(|(unknown, _)| unknown.diagonal == 0.0);
        if self.equations.deformables.is_empty() || all().all(|(unknown, _)| unknown.is_symmetric()) {
            return false;
        }
        let mut dofs: Vec<usize> = all().flat_map(|(_, &owner)| self.links[owner].dofs.iter().copied()).collect();
        dofs.sort_unstable();
        dofs.dedup();
        let [equations, directions] = [0, 1].map(|side| {
            let row = |(unknown, &owner): (&Unknown, &usize)| {
                let (link, mut out) = (&self.links[owner], vec![0.0; dofs.len()]);
                for (r, part) in unknown.parts()[side].iter().enumerate() {
                    for (k, dof) in link.dofs.iter().enumerate() {
                        let at = dofs.binary_search(dof).unwrap_or_default();
                        out[at] += part * link.j[(r, k)];
                    }
                }
                out
            };
            rank(all().map(row).collect())
        });
        directions > equations
    }
}

/// How many rows do not depend on others.
fn rank(rows: Vec<Vec<f64>>) -> usize {
    let mut basis: Vec<Vec<f64>> = Vec::new();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    for mut row in rows {
        let whole = dot(&row, &row).sqrt();
        // Twice is enough against rounding.
        for _ in 0..2 {
            for unit in &basis {
                let along = dot(unit, &row);
                row.iter_mut().zip(unit).for_each(|(x, unit)| *x -= along * unit);
            }
        }
        let left = dot(&row, &row).sqrt();
        if left > DEPENDENT * whole {
            row.iter_mut().for_each(|x| *x /= left);
            basis.push(row);
        }
    }
    basis.len()
}

#[cfg(test)]
mod tests {
    use super::rank;

    #[test]
    fn rank_counts_what_does_not_depend_on_others() {
        let rows = [[1.0, 0.0, 2.0], [0.0, 1.0, 1.0], [1.0, 1.0, 3.0], [0.0; 3]];
        assert_eq!(rank(rows.map(Vec::from).to_vec()), 2);
        assert_eq!(rank([[1.0, 0.0], [1.0, 1e-9], [1.0, 1e-3]].map(Vec::from).to_vec()), 2);
    }
}
