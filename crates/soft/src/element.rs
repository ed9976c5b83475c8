//! Shape functions of elements and their points of integration.

use manyworlds_model::Order;
use nalgebra::{Matrix3, Vector3};

/// Edges in whose middles a quadratic element has its further nodes.
const EDGES: [[usize; 2]; 6] = [[0, 1], [1, 2], [2, 0], [0, 3], [1, 3], [2, 3]];

/// Gradients of the corners' barycentric coordinates by the last three of these.
const CORNERS: [[f64; 3]; 4] = [[-1.0, -1.0, -1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

/// Points of integration of an order.
pub(crate) fn n_point(order: Order) -> usize {
    match order {
        Order::Linear => 1,
        Order::Quadratic => 4,
    }
}

/// Volume of one point and gradients of shape functions there, from where nodes are at rest.
pub(crate) fn rest(order: Order, point: usize, nodes: &[Vector3<f64>]) -> (f64, Vec<Vector3<f64>>) {
    let own = reference(order, point);
    let jacobian: Matrix3<f64> = nodes.iter().zip(&own).map(|(x, g)| x * g.transpose()).sum();
    let volume = jacobian.determinant() / (6 * n_point(order)) as f64;
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

/// Gradients of shape functions by the last three barycentric coordinates.
fn reference(order: Order, point: usize) -> Vec<Vector3<f64>> {
    let corners = CORNERS.map(Vector3::from);
    if order == Order::Linear {
        return corners.to_vec();
    }
    let root = 5.0_f64.sqrt();
    let at: [f64; 4] =
        std::array::from_fn(|i| if i == point { (5.0 + 3.0 * root) / 20.0 } else { (5.0 - root) / 20.0 });
    let own = (0..4).map(|i| corners[i] * (4.0 * at[i] - 1.0));
    own.chain(EDGES.map(|[i, j]| (corners[i] * at[j] + corners[j] * at[i]) * 4.0)).collect()
}
