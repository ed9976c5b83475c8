//! A contact problem on its way: sides of constraints over the subsystems of a world.

use manyworlds_contact::Relaxation;
use manyworlds_contact::problem::{ProblemBuilder, ProblemError};
use manyworlds_model::Model;
use manyworlds_shaders::dynamics::tree::{NONE, Tree};

use super::super::home::Home;
use super::super::subsystems::Subsystems;

/// A problem on its way, with what its constraints carry.
pub(in crate::group) struct Building<'s> {
    pub(in crate::group) builder: ProblemBuilder,
    pub(super) model: &'s Model,
    pub(super) subsystems: &'s Subsystems,
    pub(in crate::group) impulse: Vec<f64>,
    pub(in crate::group) homes: Vec<Home>,
    /// Biases that gave way to kernels; the problem has them as they were asked for.
    pub(super) gave_way: Vec<Relaxation>,
    /// Whether the kernels' responses are taken.
    pub(super) responds: bool,
    /// The side at hand, `[rows, count]`, and where responses are taken its response.
    pub(super) side: Vec<f64>,
}

impl Building<'_> {
    /// Adds what the constraint at hand sees of a tree of the model: of all its degrees of freedom, or of those named.
    pub(in crate::group) fn add(
        &mut self,
        tree: usize,
        part: Option<Option<usize>>,
        dofs: &[u32],
        jacobian: &[f64],
    ) -> Result<(), ProblemError> {
        let (subsystem, first) = self.subsystems.place(tree);
        if !self.subsystems.is_sparse(subsystem) {
            return self.builder.side(subsystem, part, jacobian);
        }
        let first = first as u32;
        let dofs: Vec<u32> = if dofs.is_empty() {
            (first..first + self.model.trees[tree].v.len() as u32).collect()
        } else {
            dofs.iter().map(|dof| first + dof).collect()
        };
        self.builder.sparse_side(subsystem, part, &dofs, jacobian)
    }

    /// The biases of the next constraint as they were asked for, of those that stand in buffers and by how much they gave way.
    pub(super) fn asked(&mut self, bias: [f64; 3], by: [f64; 3]) -> [f64; 3] {
        if by != [0.0; 3] {
            self.gave_way.push(Relaxation { constraint: self.homes.len(), by, left_out: false });
        }
        std::array::from_fn(|r| bias[r] - by[r])
    }

    /// Numbers of a side of three rows.
    pub(super) fn numbers(&self, n_v: u32) -> usize {
        if self.responds { 6 * n_v as usize } else { 3 * n_v as usize }
    }

    /// `J`, `[3, n_v]`, of one tree, and where responses are taken `Y` as well.
    pub(super) fn whole(&mut self, tree: usize, numbers: impl Iterator<Item = f64>) -> Result<(), ProblemError> {
        let mut side = std::mem::take(&mut self.side);
        side.clear();
        side.extend(numbers);
        self.responding(tree, &side)?;
        self.side = side;
        Ok(())
    }

    /// Adds a side of a whole tree, with the response behind it where responses are taken.
    pub(super) fn responding(&mut self, tree: usize, numbers: &[f64]) -> Result<(), ProblemError> {
        let (j, y) = numbers.split_at(if self.responds { numbers.len() / 2 } else { numbers.len() });
        self.add(tree, None, &[], j)?;
        if self.responds { self.builder.response(y) } else { Ok(()) }
    }

    /// The same by the bodies that it is about. Dofs that move both bodies move neither relative to
    /// the other and are zero in `J`; so each part is that of its body relative to where the two chains meet.
    pub(super) fn parts(
        &mut self,
        tree: &Tree,
        number: usize,
        bodies: [u32; 2],
        j: impl Fn(usize) -> f64,
    ) -> Result<(), ProblemError> {
        let n_v = tree.dofs.len();
        for body in bodies.into_iter().filter(|&body| body != NONE) {
            let mut jacobian = std::mem::take(&mut self.side);
            jacobian.clear();
            for r in 0..3 {
                jacobian.extend(
                    tree.dofs
                        .iter()
                        .enumerate()
                        .map(|(i, dof)| if dof.body <= body && body < dof.subtree_end { j(r * n_v + i) } else { 0.0 }),
                );
            }
            self.add(number, Some(Some(body as usize)), &[], &jacobian)?;
            self.side = jacobian;
        }
        Ok(())
    }
}
