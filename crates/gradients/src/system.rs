//! What the two ways of solving an island's linear system, by a dense factor and by iterations, have in common.

use crate::equations::Equations;
use crate::jacobian::Jacobian;
use crate::krylov::Solved;
use crate::residuals::Residuals;
use crate::rules::GradientRules;

/// Where the dofs and controls of an island stand in the world. Activations count as controls behind the others.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) dofs: Vec<usize>,
    pub(crate) controls: Vec<usize>,
}

impl Place {
    /// Whether they are those of the world, in their order.
    pub(crate) fn is_whole(&self) -> bool {
        [&self.dofs, &self.controls].into_iter().all(|own| own.iter().enumerate().all(|(i, &at)| i == at))
    }
}

/// The linearised step of an island, its linear system ready to be solved. Vectors are of the island: `[n_v]`, controls
/// and activations `[n_u + n_act]`.
pub(crate) trait LinearSystem<'a> {
    fn equations(&self) -> &Equations<'a>;

    /// Finds how well it is solved, and what that and the rules change. Asked for once, before anything below.
    fn certify(&mut self, rules: GradientRules) -> Residuals;

    /// `to += a` times a row of J.
    fn add_row(&self, row: usize, a: f64, to: &mut [f64]);

    /// dq+ and dv+ for a given dF and ds (by row).
    fn respond(&self, force: Vec<f64>, rows: &[f64]) -> ([Vec<f64>; 2], Solved);

    /// dq+ and dv+ along a change of q, v, tau and ctrl.
    fn along(&self, inputs: [&[f64]; 4]) -> ([Vec<f64>; 2], Solved);

    /// From the gradient of a loss by q+ and v+ to that by q, v, tau and ctrl, by one transposed solve. `escape`: as
    /// [`crate::GradientRules::escape`] says.
    fn back(&self, outputs: [&[f64]; 2], escape: bool) -> ([Vec<f64>; 4], Solved);

    /// What is left over where everything changes at once, of a system whose rank is not known: above rounding its
    /// constraints contradict each other.
    fn contradiction(&self) -> Solved;

    /// Writes the island's part of the Jacobian of a world; `empty`: the blocks of the world have no entries yet, and the
    /// island is all of it; `wanted`: which of those by q, v, tau and ctrl at least.
    fn write_jacobian(&self, place: &Place, empty: bool, wanted: [bool; 4], out: &mut Jacobian);

    /// Whether it fills a Jacobian that has no entries yet.
    fn is_dense(&self) -> bool;

    /// Whether the unknown impulses are known not to be independent, or may not be.
    fn may_be_redundant(&self) -> bool;
}
