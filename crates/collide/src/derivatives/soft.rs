//! Contacts of soft bodies: a side of one is a point of a triangle, which moves with its corners.
//!
//! The equations are those of `slope.rs`. The point goes with the corners by their weights, and slides over the triangle
//! where its features leave it free to: then the weights change, by the gradients of the triangle's barycentric coordinates.
//! A direction of the triangle that the normal stays across turns by the same gradients, `du = sum (u . g_j) v_j`.

use std::ops::Range;

use nalgebra::{Matrix3, SMatrix, SVector, Vector3};

use super::few::Few;
use super::local::{Local, SAME, plane_of};
use super::slope::{CHANGES, ContactSlope, MOST, SIGNS, Touch, eliminate, unit};

/// Of a triangle.
const CORNERS: usize = 3;
/// Point, normal and distance, then the weights of the corners of the first side and of the second.
const ROWS: usize = 7 + 2 * CORNERS;
/// What a side does at most.
const MOVES: usize = 3 * CORNERS;

/// How a contact changes: its point (3), normal (3) and distance, then the weights of the corners of the first side and of the
/// second, 3 each, where they are soft.
pub type ContactChange = [f64; ROWS];

/// The same, a column by each of what moves it.
pub type SlidingChange<const COLUMNS: usize> = SMatrix<f64, ROWS, COLUMNS>;

/// Where the triangle of a soft side is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Corners {
    /// World, m.
    pub at: [[f64; 3]; CORNERS],
    /// How far the surface lies outside of it, m.
    pub radius: f64,
}

/// Derivative of a contact by what its two sides do.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "the larger one is that of nearly all contacts")]
pub enum Slope {
    /// Each side is a rigid body or a point of the material, which moves as a body does that does not turn.
    Fixed(ContactSlope),
    /// A side at least is a point that slides over a triangle.
    Sliding(Box<SlidingSlope>),
}

impl Slope {
    /// Of point, normal and distance by the twist of a side, linear at the contact point, then angular: of a rigid one, or of
    /// what carries a soft one.
    #[must_use]
    pub fn side(&self, side: usize) -> [[f64; 6]; 7] {
        match self {
            Self::Fixed(slope) => slope.side(side),
            Self::Sliding(slope) => {
                let own = slope.by_twist(side);
                std::array::from_fn(|row| std::array::from_fn(|column| own[(row, column)]))
            }
        }
    }

    /// Along such a twist while the other side stands still.
    #[must_use]
    pub fn along_one(&self, side: usize, twist: &[f64; 6]) -> ContactChange {
        match self {
            Self::Fixed(slope) => {
                let mut out = ContactChange::default();
                out[..7].copy_from_slice(&slope.along_one(side, twist));
                out
            }
            Self::Sliding(slope) => (slope.by_twist(side) * SVector::from(*twist)).into(),
        }
    }

    /// By the motion of a node that has a share in that of each corner of a soft side, world axes.
    #[must_use]
    pub fn by_node(&self, side: usize, weights: &[f64; 3], shares: &[f64; 3]) -> SlidingChange<3> {
        match self {
            Self::Fixed(slope) => {
                let weight: f64 = weights.iter().zip(shares).map(|(weight, share)| weight * share).sum();
                let own = slope.side(side);
                SlidingChange::<3>::from_fn(|row, k| own.get(row).map_or(0.0, |row| weight * row[k]))
            }
            Self::Sliding(slope) => (0..CORNERS).map(|corner| slope.by_corner[side][corner] * shares[corner]).sum(),
        }
    }
}

/// Derivative of a contact between sides of which at least one slides over a triangle.
#[derive(Debug, Clone, PartialEq)]
pub struct SlidingSlope {
    by_twist: [SlidingChange<6>; 2],
    by_corner: [[SlidingChange<3>; CORNERS]; 2],
}

impl SlidingSlope {
    /// By the twist of a side, as [`Slope::side`].
    #[must_use]
    pub fn by_twist(&self, side: usize) -> &SlidingChange<6> {
        &self.by_twist[side]
    }
}

/// The triangle of a soft side.
#[derive(Debug)]
pub(super) struct Triangle {
    corners: [Vector3<f64>; CORNERS],
    weights: [f64; CORNERS],
    /// Gradients of the corners' weights in its plane, 1/m; nothing where the point is a corner.
    gradients: [Vector3<f64>; CORNERS],
    /// Unit; nothing where the point is a corner.
    normal: Vector3<f64>,
}

impl Triangle {
    /// None where it has no area. At a corner it is that alone, whatever the others are.
    pub(super) fn new(corners: &Corners, weights: [f64; CORNERS]) -> Option<Self> {
        let (corners, none) = (corners.at.map(Vector3::from), Vector3::zeros());
        let mut own = Self { corners, weights, gradients: [none; CORNERS], normal: none };
        if own.is_corner() {
            return Some(own);
        }
        let [a, b, c] = corners;
        let across = (b - a).cross(&(c - a));
        own.normal = across.try_normalize(0.0)?;
        // The gradient of a corner's weight is across the opposite edge.
        let area = across.norm();
        own.gradients = [c - b, a - c, b - a].map(|edge| own.normal.cross(&edge) / area);
        Some(own)
    }

    /// Whether the point is a corner, and stays there.
    fn is_corner(&self) -> bool {
        self.weights.contains(&1.0)
    }

    /// The feature that the point is on, world axes, and the edge there that is across the normal; `out`: the outward
    /// direction.
    pub(super) fn feature(&self, out: &Vector3<f64>) -> (Local, Few) {
        let on_face = self.normal != Vector3::zeros() && self.normal.cross(out).norm() <= SAME;
        let used: Vec<usize> = (0..CORNERS).filter(|&k| self.weights[k] != 0.0).collect();
        let mut edges = Few::default();
        let slides = match used[..] {
            [a, b] => {
                let edge = (self.corners[b] - self.corners[a]).normalize();
                if edge.dot(out).abs() <= SAME {
                    edges.push(edge);
                }
                [edge].into()
            }
            [_, _, _] => plane_of(self.normal),
            _ => Few::default(),
        };
        (Local { on_face, slides, holds: slides, bend: Matrix3::zeros() }, edges)
    }
}

impl Touch {
    /// Derivative by what the sides do; a side without a triangle is rigid.
    pub(super) fn soft_slope(&self, triangles: &[Option<Triangle>; 2]) -> Option<Slope> {
        if triangles.iter().flatten().all(Triangle::is_corner) {
            return self.slope().map(Slope::Fixed);
        }
        let mut out = SlidingSlope {
            by_twist: [SlidingChange::<6>::zeros(); 2],
            by_corner: [[SlidingChange::<3>::zeros(); CORNERS]; 2],
        };
        for side in 0..2 {
            let Some(triangle) = &triangles[side] else {
                let found = self.by_moves(triangles, side, 0..6)?;
                (0..6).for_each(|k| out.by_twist[side].set_column(k, &found[k]));
                continue;
            };
            for first in (0..MOVES).step_by(CHANGES) {
                let moves = first..MOVES.min(first + CHANGES);
                for (k, found) in moves.clone().zip(self.by_moves(triangles, side, moves)?) {
                    out.by_corner[side][k / 3].set_column(k % 3, &found);
                }
            }
            for (corner, own) in triangle.corners.iter().zip(out.by_corner[side]) {
                let turned = -own * (corner - self.point).cross_matrix();
                let mut linear = out.by_twist[side].fixed_columns_mut::<3>(0);
                linear += own;
                let mut angular = out.by_twist[side].fixed_columns_mut::<3>(3);
                angular += turned;
            }
        }
        Some(Slope::Sliding(Box::new(out)))
    }

    /// The changes by some of a side's movements, numbered as their columns; what is beyond those is nothing.
    fn by_moves(
        &self,
        triangles: &[Option<Triangle>; 2],
        side: usize,
        moves: Range<usize>,
    ) -> Option<[SVector<f64, ROWS>; CHANGES]> {
        let (mut rows, size) = self.system()?;
        let triangle = triangles[side].as_ref();
        let held = 4 + if side == 0 { 0 } else { self.sides[0].holds.len() };
        for (change, k) in moves.clone().enumerate() {
            let moved = self.moved(side, triangle, k);
            (0..3).for_each(|r| rows[r][MOST + change] = -SIGNS[side] * moved[r]);
            for (i, hold) in self.sides[side].holds.iter().enumerate() {
                rows[held + i][MOST + change] = self.turned(triangle, k, hold);
            }
        }
        let found = eliminate(&mut rows, size)?;
        let first = moves.start;
        Some(std::array::from_fn(|change| {
            let k = first + change;
            if k >= moves.end {
                return SVector::zeros();
            }
            let shift = if side == 0 { self.moved(0, triangle, k) } else { Vector3::zeros() };
            self.change(triangles, &found[change], shift)
        }))
    }

    /// What movement `k` of a side does to the point of its core while the normal stands: a rigid shape that turns takes another
    /// point.
    fn moved(&self, side: usize, triangle: Option<&Triangle>, k: usize) -> Vector3<f64> {
        let (e, own) = (unit(k % 3), &self.sides[side]);
        match triangle {
            Some(triangle) => e * triangle.weights[k / 3],
            None if k < 3 => e,
            None => e.cross(&(own.core - self.point)) + own.bend * e.cross(&self.normal) * SIGNS[side],
        }
    }

    /// How the normal has to turn along a direction of a side that it stays across, for movement `k` of that.
    fn turned(&self, triangle: Option<&Triangle>, k: usize, hold: &Vector3<f64>) -> f64 {
        match triangle {
            Some(triangle) => -triangle.gradients[k / 3].dot(hold) * self.normal[k % 3],
            None if k < 3 => 0.0,
            None => hold.dot(&unit(k % 3).cross(&self.normal)),
        }
    }

    /// From a solution to the change of all that a slope has; `shift`: of the first core's point besides.
    pub(super) fn change(
        &self,
        triangles: &[Option<Triangle>; 2],
        x: &[f64; MOST],
        shift: Vector3<f64>,
    ) -> SVector<f64, ROWS> {
        let (point, normal, gap) = self.outcome(x, shift);
        let mut out = SVector::<f64, ROWS>::zeros();
        out.fixed_rows_mut::<3>(0).copy_from(&(point + self.normal * (0.5 * gap)));
        out.fixed_rows_mut::<3>(3).copy_from(&normal);
        out[6] = gap;
        let mut slides = x[4..].iter();
        for (side, triangle) in triangles.iter().enumerate() {
            for (slide, way) in self.sides[side].slides.iter().zip(&mut slides) {
                for (corner, gradient) in triangle.iter().flat_map(|triangle| &triangle.gradients).enumerate() {
                    out[7 + CORNERS * side + corner] += way * gradient.dot(slide);
                }
            }
        }
        out
    }
}
