//! Elements at rest: volumes, gradients of shape functions, masses of nodes.

use manyworlds_model::{Order, SoftBody};
use nalgebra::{Matrix3, Vector3};

/// In place of the first degree of freedom of a node that is pinned.
pub(crate) const PINNED: u32 = u32::MAX;

/// The elements of a body at rest.
#[derive(Debug, Clone)]
pub(crate) struct Elements {
    /// Nodes of an element.
    pub(crate) each: usize,
    /// Points of integration of an element.
    pub(crate) points: usize,
    /// First degree of freedom, `[element, node]`.
    pub(crate) dofs: Vec<u32>,
    /// Volume, `[element, point]`, m^3.
    pub(crate) volumes: Vec<f64>,
    /// Gradients of shape functions, `[element, point, node]`, 1/m.
    pub(crate) gradients: Vec<Vector3<f64>>,
}

impl Elements {
    /// How many.
    pub(crate) fn count(&self) -> usize {
        self.dofs.len() / self.each
    }

    /// First degrees of freedom of an element's nodes.
    pub(crate) fn dofs_of(&self, element: usize) -> &[u32] {
        &self.dofs[element * self.each..(element + 1) * self.each]
    }

    /// Of an element's nodes, at a point of integration.
    pub(crate) fn gradients_at(&self, element: usize, point: usize) -> &[Vector3<f64>] {
        let at = (element * self.points + point) * self.each;
        &self.gradients[at..at + self.each]
    }

    /// Volume of a point of integration, m^3.
    pub(crate) fn volume_at(&self, element: usize, point: usize) -> f64 {
        self.volumes[element * self.points + point]
    }
}

/// Volume of one point of an element, m^3, and gradients of shape functions there, 1/m, from where its nodes are at rest.
pub(crate) fn rest(
    body: &SoftBody,
    (element, point): (usize, usize),
    nodes: &[Vector3<f64>],
) -> (f64, Vec<Vector3<f64>>) {
    let own = body.order.gradients(point);
    let jacobian: Matrix3<f64> = nodes.iter().zip(&own).map(|(x, g)| x * g.transpose()).sum();
    let volume = jacobian.determinant() * body.weight(element, point);
    let inverse = jacobian.try_inverse().unwrap_or_else(Matrix3::zeros);
    (volume, own.iter().map(|g| inverse.tr_mul(g)).collect())
}

/// Share of an element's mass that a node has. Tetrahedra: the diagonal of the consistent mass matrix, scaled to the whole (E.
/// Hinton, T. Rock and O. Zienkiewicz 1976), which is positive where row sums are not. Bricks: see `manyworlds_model::Cage`.
pub(crate) fn share(body: &SoftBody, element: usize, node: usize) -> f64 {
    match (&body.embedding, body.order) {
        (Some(embedding), order) => embedding.shares()[element * order.nodes() + node],
        (None, Order::Quadratic) if node < 4 => 1.0 / 36.0,
        (None, Order::Quadratic) => 4.0 / 27.0,
        (None, _) => 1.0 / 4.0,
    }
}
