//! The bodies that a constraint is between: how they move at its point, and what its impulse does to them.

use manyworlds_shaders::dynamics::tree::SPATIAL;
use nalgebra::Vector3;

use crate::form::Weights;
use crate::grid::dot;
use crate::member::{BodyOfTree, Member, vector};
use crate::sparse::Node;

/// A body, or a node, between which and another a constraint is: how it moves, and where the point is.
#[derive(Clone, Copy)]
pub(crate) struct Carrier {
    /// Its tree among the members, and its number there; of a node nothing.
    pub(crate) place: (usize, usize),
    /// 1 for the second body, -1 for the first; of a node times its weight.
    pub(crate) sign: f64,
    /// The point from c, m.
    pub(crate) arm: Vector3<f64>,
    /// Its twist (angular, linear at c) of v+, and of the velocity before where that is known.
    twists: [Weights; 2],
}

impl Carrier {
    /// Those of two bodies that move.
    pub(crate) fn of(
        members: &[Member],
        bodies: [Option<BodyOfTree>; 2],
        place: impl Fn(usize) -> usize,
        p: Vector3<f64>,
    ) -> [Option<Self>; 2] {
        std::array::from_fn(|side| {
            let (tree, body) = bodies[side]?;
            let index = place(tree);
            let member = &members[index];
            let arm = p - Vector3::from(member.forward.centre());
            let twists = [&member.motion, &member.before].map(|motion| {
                let at = SPATIAL * body;
                if motion.twist.is_empty() {
                    return [Vector3::zeros(); 2];
                }
                [vector(&motion.twist, at), vector(&motion.twist, at + 3)]
            });
            Some(Self { place: (index, body), sign: sign(side), arm, twists })
        })
    }

    /// A node moves with the point, without turning.
    pub(crate) fn of_node(node: &Node) -> Self {
        let twists = node.velocity.map(|v| [Vector3::zeros(), v]);
        Self { place: (0, 0), sign: node.pushed(), arm: Vector3::zeros(), twists }
    }

    /// Its twist (angular, linear at c): of v+, or of the velocity before where that is known.
    fn twist(&self, before: bool) -> Weights {
        self.twists[usize::from(before)]
    }

    /// What weighs a motion as `weights` do the velocity at the point and the angular velocity.
    pub(crate) fn here(&self, [linear, angular]: Weights) -> Weights {
        [self.arm.cross(&linear) + angular, linear]
    }

    /// What weighs S as `weights` do `S x V`.
    pub(crate) fn swept(&self, [angular, linear]: Weights, before: bool) -> Weights {
        let [w, v] = self.twist(before);
        [w.cross(&angular) + v.cross(&linear), w.cross(&linear)]
    }
}

impl Node {
    /// What of the contact's impulse it gets.
    pub(crate) fn pushed(&self) -> f64 {
        dot(&self.weights, &self.shares) * sign(self.side)
    }
}

/// 1 for the second body, -1 for the first.
pub(crate) fn sign(side: usize) -> f64 {
    if side == 1 { 1.0 } else { -1.0 }
}

/// Relative velocity of two bodies at a point, and angular velocity: of v+, or of the velocity before.
pub(crate) fn relative<'c>(carriers: impl IntoIterator<Item = &'c Carrier>, before: bool) -> Weights {
    let mut sum = [Vector3::zeros(); 2];
    for carrier in carriers {
        let [w, v] = carrier.twist(before);
        sum[0] += (v + w.cross(&carrier.arm)) * carrier.sign;
        sum[1] += w * carrier.sign;
    }
    sum
}

/// `a` times weights, added to `to`.
pub(crate) fn add_weights(a: f64, from: &Weights, to: &mut Weights) {
    (0..2).for_each(|k| to[k] += from[k] * a);
}

/// Adds an impulse to the bodies that it acts on; `moment` is free of a point.
pub(crate) fn add_fixed(
    members: &mut [Member],
    bodies: [Option<BodyOfTree>; 2],
    place: impl Fn(usize) -> usize,
    p: Vector3<f64>,
    f: Vector3<f64>,
    moment: Vector3<f64>,
) {
    for (side, body) in bodies.iter().enumerate() {
        let Some((tree, body)) = *body else { continue };
        let member = &mut members[place(tree)];
        let sign = sign(side);
        let arm = p - Vector3::from(member.forward.centre());
        let turning = sign * (arm.cross(&f) + moment);
        for k in 0..3 {
            member.fixed[SPATIAL * body + k] += turning[k];
            member.fixed[SPATIAL * body + 3 + k] += sign * f[k];
        }
    }
}
