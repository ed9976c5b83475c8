//! Corners of a triangle that a contact slides over: their weights in its point change, and with them what they do to its
//! velocity and what part of its impulse they get.

use manyworlds_collide::derivatives::{SlidingChange, SlidingSlope};
use nalgebra::Vector3;

use crate::carrier::{Carrier, sign};
use crate::form::Weights;
use crate::sparse::Node;

/// See the module.
#[derive(Debug, Clone)]
pub(crate) struct Corner {
    /// What pushes it for each part of the weights that it has, N s.
    pub(crate) pushed: Vector3<f64>,
    /// Those of the contact's nodes that it follows, and their shares in its motion.
    pub(crate) nodes: Vec<(usize, f64)>,
    /// How its weight changes with the motion of each node of the contact, 1/m.
    pub(crate) by_node: Vec<Vector3<f64>>,
    /// The same with that of the body on either side.
    pub(crate) by_side: [Weights; 2],
    /// How fast it moves, after the step and before it, as the contact's relative velocity counts it, m/s.
    pub(crate) velocity: [Vector3<f64>; 2],
}

/// The corners whose weights change. `moved`: how the contact changes with the motion of each node; `f`: the impulse on the second side, world axes.
pub(crate) fn corners(
    slope: &SlidingSlope,
    (nodes, moved): (&[Node], &[SlidingChange<3>]),
    carriers: &[Option<Carrier>; 2],
    f: Vector3<f64>,
) -> Vec<Corner> {
    let mut out = Vec::new();
    for (side, number) in (0..6).map(|k| (k / 3, k % 3)) {
        let own = nodes.iter().enumerate().filter(|(_, node)| node.side == side && node.shares[number] != 0.0);
        let own: Vec<(usize, f64)> = own.map(|(place, node)| (place, node.shares[number])).collect();
        let row = 7 + 3 * side + number;
        let by_node: Vec<Vector3<f64>> = moved.iter().map(|change| change.row(row).transpose()).collect();
        if own.is_empty() || by_node.iter().all(|by| *by == Vector3::zeros()) {
            continue;
        }
        let by_side = [0, 1].map(|index| {
            let weighs = slope.by_twist(index).row(row).transpose();
            let weighs = [weighs.fixed_rows::<3>(0).into(), weighs.fixed_rows::<3>(3).into()];
            carriers[index].as_ref().map_or([Vector3::zeros(); 2], |carrier| carrier.here(weighs))
        });
        let sign = sign(side);
        let velocity =
            [0, 1].map(|when| own.iter().map(|&(place, share)| nodes[place].velocity[when] * (share * sign)).sum());
        out.push(Corner { pushed: f * sign, nodes: own, by_node, by_side, velocity });
    }
    out
}
