//! What faces a direction: a corner, an edge or a face.

use super::Vector;

/// Corners a face has at most; larger faces of hulls are thinned out.
pub(super) const CORNERS: usize = 16;

/// Faces count as alone whose normals are no nearer than this to that of any other.
pub(super) const ALONE: f64 = 0.06;

/// A convex polygon, segment or point of a surface, with numbers for its corners and edges.
#[derive(Debug, Clone, Copy)]
pub(super) struct Feature {
    pub(super) points: [Vector; CORNERS],
    /// Number of each corner.
    pub(super) corners: [u16; CORNERS],
    /// Number of the edge from each corner to the next.
    pub(super) edges: [u16; CORNERS],
    pub(super) len: usize,
}

impl Feature {
    pub(super) const NONE: Self =
        Self { points: [Vector::ZERO; CORNERS], corners: [0; CORNERS], edges: [0; CORNERS], len: 0 };

    pub(super) fn push(&mut self, point: Vector, corner: u16, edge: u16) {
        self.points[self.len] = point;
        self.corners[self.len] = corner;
        self.edges[self.len] = edge;
        self.len += 1;
    }
}

/// A flat face.
#[derive(Clone, Copy)]
pub(super) struct Flat {
    /// Outward.
    pub(super) normal: Vector,
    /// How far its normal is from that of any other face; no more than [`ALONE`].
    pub(super) apart: f64,
    /// How far some corner of it is behind what is farthest along its normal.
    pub(super) bent: f64,
}
