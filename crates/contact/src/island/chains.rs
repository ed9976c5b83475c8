//! Chains of dofs of a tree: where products of a slack's columns fall in the branch-sparse matrix.

use std::ops::Range;

use manyworlds_shaders::contact::island::SideItem;
use manyworlds_shaders::dynamics::tree::{NONE, Tree};

/// A tip, and how many dofs from it towards the root count.
pub type Chain = (u32, u32);

/// Chains of the trees of one set.
#[derive(Debug, Clone)]
pub struct Chains {
    /// Where each dof's row of the branch-sparse matrix begins, `[n_v + 1]`.
    pub begins: Vec<u32>,
    /// The dofs of the entries: the dof itself, its parent and so on to the root, `[n_m]`.
    pub columns: Vec<u32>,
    /// By body: the last dof that moves it, or [`NONE`].
    tips: Vec<u32>,
    /// By static row.
    rows: Vec<Vec<Chain>>,
    /// Where dofs have parents that do not move their bodies: the bodies that each dof moves.
    bound: Option<Vec<Range<u32>>>,
}

impl Chains {
    /// From the parents of dofs, [`NONE`] at a root; parents come before their children. Nothing is known of bodies.
    #[must_use]
    pub fn of_parents(parents: &[u32]) -> Self {
        let mut chains = Self { begins: vec![0], columns: Vec::new(), tips: Vec::new(), rows: Vec::new(), bound: None };
        for i in 0..parents.len() as u32 {
            let mut above = i;
            while above != NONE {
                chains.columns.push(above);
                above = parents[above as usize];
            }
            chains.begins.push(chains.columns.len() as u32);
        }
        chains
    }

    /// A tree whose matrix is taken for dense.
    #[must_use]
    pub fn dense(n_v: usize) -> Self {
        Self::of_parents(&(0..n_v as u32).map(|i| i.checked_sub(1).unwrap_or(NONE)).collect::<Vec<_>>())
    }

    /// Of a compiled tree, its bodies and static rows.
    #[must_use]
    pub fn new(tree: &Tree) -> Self {
        let parents: Vec<u32> = tree.dofs.iter().map(|dof| dof.parent).collect();
        let mut chains = Self::of_parents(&parents);
        chains.tips = vec![NONE; tree.dims.n_body as usize];
        for (i, dof) in tree.dofs.iter().enumerate() {
            chains.tips[dof.body as usize..dof.subtree_end as usize].fill(i as u32);
        }
        chains.bound = (tree.dims.bound == 1).then(|| tree.dofs.iter().map(|dof| dof.body..dof.subtree_end).collect());
        chains.rows = tree.rows.iter().map(|row| chains.of_dofs(tree.row_dofs(row))).collect();
        chains
    }

    /// Dofs.
    #[must_use]
    pub fn n_v(&self) -> usize {
        self.begins.len() - 1
    }

    /// From a dof to the root.
    fn chain(&self, tip: u32) -> &[u32] {
        &self.columns[self.begins[tip as usize] as usize..self.begins[tip as usize + 1] as usize]
    }

    /// How many dofs two chains share.
    fn common(&self, a: u32, b: u32) -> usize {
        self.chain(a).iter().rev().zip(self.chain(b).iter().rev()).take_while(|(a, b)| a == b).count()
    }

    /// Chains that hold some dofs, each once, and end with the last of them.
    #[must_use]
    pub fn of_dofs(&self, dofs: &[u32]) -> Vec<Chain> {
        let mut tips = dofs.to_vec();
        // Deepest first: what is above a tip is on its chain.
        tips.sort_by_key(|&tip| std::cmp::Reverse(self.chain(tip).len()));
        let mut found: Vec<Chain> = Vec::new();
        for (k, &tip) in tips.iter().enumerate() {
            let shared = tips[..k].iter().map(|&other| self.common(tip, other)).max().unwrap_or(0);
            let own = &self.chain(tip)[..self.chain(tip).len() - shared];
            if let Some(last) = own.iter().rposition(|dof| dofs.contains(dof)) {
                found.push((tip, last as u32 + 1));
            }
        }
        found
    }

    /// Chains of the dofs that move one body of a side and not the other (Lee 2024, eq. 31).
    #[must_use]
    pub fn of_side(&self, item: &SideItem) -> [Option<Chain>; 2] {
        if let Some(moved) = &self.bound {
            let differs = |dof: &u32| {
                let bodies = &moved[*dof as usize];
                bodies.contains(&item.body_a) != bodies.contains(&item.body_b)
            };
            let dofs: Vec<u32> = (0..moved.len() as u32).filter(differs).collect();
            let mut found = self.of_dofs(&dofs).into_iter();
            return [found.next(), found.next()];
        }
        let tip = |body: u32| if body == NONE { NONE } else { self.tips[body as usize] };
        let [a, b] = [tip(item.body_a), tip(item.body_b)];
        let shared = if a == NONE || b == NONE { 0 } else { self.common(a, b) };
        [a, b].map(|tip| {
            if tip == NONE {
                return None;
            }
            let length = self.chain(tip).len() - shared;
            (length > 0).then_some((tip, length as u32))
        })
    }

    /// Chains of a static row.
    #[must_use]
    pub fn of_row(&self, row: u32) -> &[Chain] {
        &self.rows[row as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Root 0, 1; branches 2, 3 and 4, 5.
    fn forked() -> Chains {
        let mut chains = Chains::of_parents(&[NONE, 0, 1, 2, 1, 4]);
        chains.tips = vec![1, 3, 5];
        chains
    }

    #[test]
    fn rows_of_the_matrix_follow_the_branches() {
        let chains = forked();
        assert_eq!(chains.begins, [0, 1, 3, 6, 10, 13, 17]);
        assert_eq!(chains.chain(5), [5, 4, 1, 0]);
        assert_eq!(Chains::dense(3).columns, [0, 1, 0, 2, 1, 0]);
    }

    #[test]
    fn dofs_are_covered_once() {
        let chains = forked();
        assert_eq!(chains.of_dofs(&[3]), [(3, 1)]);
        assert_eq!(chains.of_dofs(&[2, 3]), [(3, 2)]);
        assert_eq!(chains.of_dofs(&[3, 5]), [(3, 1), (5, 1)]);
        // Two branches and what they share: the first takes it.
        assert_eq!(chains.of_dofs(&[1, 3, 5]), [(3, 3), (5, 1)]);
        assert_eq!(chains.of_dofs(&[]), []);
    }

    #[test]
    fn sides_leave_out_what_moves_both_bodies() {
        let chains = forked();
        let side = |body_a, body_b| chains.of_side(&SideItem { body_a, body_b, ..SideItem::default() });
        assert_eq!(side(NONE, 2), [None, Some((5, 4))]);
        assert_eq!(side(1, 2), [Some((3, 2)), Some((5, 2))]);
        assert_eq!(side(0, 2), [None, Some((5, 2))]);
        assert_eq!(side(1, 1), [None, None]);
    }
}
