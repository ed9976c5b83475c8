//! Whether how redundant contacts share their impulses decides the motion.
//!
//! Equations without a diagonal that depend on each other (rows of `L J`) leave as many combinations of unknowns open. Where these push
//! nothing (columns of `J^T R` depend on each other alike) the motion is known all the same: so it is where all stick. Where
//! contacts slide in several directions they push: then other shares of the same normal impulses give other friction.

use std::collections::BTreeMap;

use manyworlds_collide::organise::Components;

use super::Iterative;
use crate::grid::{axpy, dot};

/// Of a row what is left beside others, relative to it, when it counts as dependent on them.
const DEPENDENT: f64 = 1e-6;

impl Iterative<'_> {
    /// See the module; looked for where bodies deform.
    pub(crate) fn shares_decide(&self) -> bool {
        let unknowns = &self.equations.unknowns;
        let all: Vec<usize> = (0..unknowns.len()).filter(|&index| unknowns[index].diagonal == 0.0).collect();
        let is_symmetric = |&index: &usize| unknowns[index].is_symmetric();
        if self.equations.deformables.is_empty() || all.iter().all(is_symmetric) {
            return false;
        }
        // Rows depend on each other at most where constraints hang together by what they touch.
        let mut components = Components::default();
        components.separate(self.equations.n_v);
        let dofs = |index: usize| &self.links[self.owners[index]].dofs;
        for &index in &all {
            for pair in dofs(index).windows(2) {
                components.join(pair[0] as u32, pair[1] as u32);
            }
        }
        let mut together: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for &index in all.iter().filter(|&&index| !dofs(index).is_empty()) {
            together.entry(components.root(dofs(index)[0] as u32)).or_default().push(index);
        }
        together.into_values().filter(|own| !own.iter().all(is_symmetric)).any(|own| {
            let [equations, directions] = [0, 1].map(|side| rank(self.rows(&own, side)));
            directions > equations
        })
    }

    /// Rows of `L J` (0) or columns of `J^T R` (1) of some unknowns, over all that these touch.
    fn rows(&self, of: &[usize], side: usize) -> Vec<Vec<f64>> {
        let link = |index: usize| &self.links[self.owners[index]];
        let mut dofs: Vec<usize> = of.iter().flat_map(|&index| link(index).dofs.iter().copied()).collect();
        dofs.sort_unstable();
        dofs.dedup();
        let row = |&index: &usize| {
            let (link, mut out) = (link(index), vec![0.0; dofs.len()]);
            for (r, part) in self.equations.unknowns[index].parts()[side].iter().enumerate() {
                for (k, dof) in link.dofs.iter().enumerate() {
                    let at = dofs.binary_search(dof).unwrap_or_default();
                    out[at] += part * link.j[(r, k)];
                }
            }
            out
        };
        of.iter().map(row).collect()
    }
}

/// How many rows do not depend on others.
fn rank(rows: Vec<Vec<f64>>) -> usize {
    let mut basis: Vec<Vec<f64>> = Vec::new();
    for mut row in rows {
        let whole = dot(&row, &row).sqrt();
        // Twice is enough against rounding.
        for _ in 0..2 {
            for unit in &basis {
                let along = dot(unit, &row);
                axpy(-along, unit, &mut row);
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
