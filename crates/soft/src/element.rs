//! Elements at rest: volumes, gradients of shape functions, masses of nodes.

use manyworlds_model::Order;
use nalgebra::{Matrix3, Vector3};

/// Volume of one point and gradients of shape functions there, from where nodes are at rest.
pub(crate) fn rest(order: Order, point: usize, nodes: &[Vector3<f64>]) -> (f64, Vec<Vector3<f64>>) {
    let own = order.gradients(point);
    let jacobian: Matrix3<f64> = nodes.iter().zip(&own).map(|(x, g)| x * g.transpose()).sum();
    let volume = jacobian.determinant() / (6 * order.points()) as f64;
    let inverse = jacobian.try_inverse().unwrap_or_else(Matrix3::zeros);
    (volume, own.iter().map(|g| inverse.tr_mul(g)).collect())
}

/// Share of an element's mass that a node has: the diagonal of the consistent mass matrix, scaled to the whole (E. Hinton,
/// T. Rock and O. Zienkiewicz 1976), which is positive where row sums are not.
pub(crate) fn share(order: Order, node: usize) -> f64 {
    match order {
        Order::Linear => 1.0 / 4.0,
        Order::Quadratic if node < 4 => 1.0 / 36.0,
        Order::Quadratic => 4.0 / 27.0,
    }
}
