//! Elements at rest: volumes, gradients of shape functions, masses of nodes.

use manyworlds_model::{Order, SoftBody};
use nalgebra::{Matrix3, Vector3};

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
