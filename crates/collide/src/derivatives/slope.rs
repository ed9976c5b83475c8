//! The equations of two features that touch.
//!
//! With a and b the points of the two cores, t the gap along the unit normal n and ω, v the twists of the bodies:
//!
//! * `db - da = t dn + n dt`, `n . dn = 0`;
//! * a point goes with its body, bends with the normal as the shape's support function does, and slides along the
//!   directions its feature leaves free: `da = v(a) + H (dn - ω x n) + sum s_i u_i`;
//! * a face or edge u that the normal is perpendicular to keeps it so: `u . (dn - ω x n) = 0`.
//!
//! There are as many free directions as such conditions, so that the system is square.

use nalgebra::{DMatrix, Matrix3, SMatrix, SVector, Vector3};

/// Derivative of a contact by the twists of its two bodies.
#[derive(Debug, Clone, PartialEq)]
pub struct ContactSlope {
    /// Rows: point (3), normal (3), distance. Columns: linear and angular velocity of the first body, then of the second;
    /// the linear ones at the contact point, all in world axes.
    matrix: SMatrix<f64, 7, 12>,
}

impl ContactSlope {
    /// Change along twists of the first and the second body (linear at the contact point, angular; each 3): of the point,
    /// m, of the normal, and of the distance, m.
    #[must_use]
    pub fn along(&self, twists: &[f64; 12]) -> [f64; 7] {
        (self.matrix * SVector::from(*twists)).into()
    }
}

/// One of the two shapes at a contact.
#[derive(Debug, Clone)]
pub(super) struct Side {
    /// Point of the core, world, m.
    pub(super) core: Vector3<f64>,
    /// What the surface stands off the core, m.
    pub(super) rounding: f64,
    /// How the core's point moves in its body as the outward direction turns, world axes, m.
    pub(super) bend: Matrix3<f64>,
    /// Directions that the point is free to slide along, world.
    pub(super) slides: Vec<Vector3<f64>>,
    /// Directions of the shape that the normal stays perpendicular to, world.
    pub(super) holds: Vec<Vector3<f64>>,
}

/// A system with a condition number above this has no derivative to speak of.
const CONDITION: f64 = 1e-11;

/// Solves for the derivative of the contact of two sides, `normal` from the first to the second.
pub(super) fn solve(
    sides: &[Side; 2],
    normal: Vector3<f64>,
    point: Vector3<f64>,
    distance: f64,
) -> Option<ContactSlope> {
    let [a, b] = sides;
    let gap = distance + a.rounding + b.rounding;
    let (n_slides, n_holds) = (a.slides.len() + b.slides.len(), a.holds.len() + b.holds.len());
    if n_slides != n_holds {
        return None;
    }
    // Unknowns: dn, dt, the slides of a, those of b.
    let size = 4 + n_slides;
    let mut matrix = DMatrix::zeros(size, size);
    let mut rhs = DMatrix::zeros(size, 12);
    // The support point of b lies along -n: its outward direction turns by -(dn - ω x n).
    let bends = [a.bend, -b.bend];
    let signs = [-1.0, 1.0];
    // db - da - t dn - n dt = 0.
    let mut by_normal = -Matrix3::identity() * gap;
    for side in 0..2 {
        by_normal += signs[side] * bends[side];
    }
    matrix.view_mut((0, 0), (3, 3)).copy_from(&by_normal);
    matrix.view_mut((0, 3), (3, 1)).copy_from(&-normal);
    let mut column = 4;
    let mut row = 4;
    matrix.view_mut((3, 0), (1, 3)).copy_from(&normal.transpose());
    for (side, shape) in sides.iter().enumerate() {
        for slide in &shape.slides {
            matrix.view_mut((0, column), (3, 1)).copy_from(&(signs[side] * slide));
            column += 1;
        }
        let arm = shape.core - point;
        for k in 0..3 {
            let mut e = Vector3::zeros();
            e[k] = 1.0;
            let carried = e.cross(&normal);
            let linear = -signs[side] * e;
            let angular = -signs[side] * (e.cross(&arm) - bends[side] * carried);
            for r in 0..3 {
                rhs[(r, 6 * side + k)] = linear[r];
                rhs[(r, 6 * side + 3 + k)] = angular[r];
            }
        }
        for hold in &shape.holds {
            matrix.view_mut((row, 0), (1, 3)).copy_from(&hold.transpose());
            for k in 0..3 {
                let mut e = Vector3::zeros();
                e[k] = 1.0;
                rhs[(row, 6 * side + 3 + k)] = hold.dot(&e.cross(&normal));
            }
            row += 1;
        }
    }
    let lu = matrix.full_piv_lu();
    let pivots = lu.u().diagonal().map(f64::abs);
    if pivots.min() <= CONDITION * pivots.max() {
        return None;
    }
    let x = lu.solve(&rhs)?;
    let mut out = SMatrix::<f64, 7, 12>::zeros();
    for column in 0..12 {
        let dn = Vector3::new(x[(0, column)], x[(1, column)], x[(2, column)]);
        let dt = x[(3, column)];
        let (side, k) = (column / 6, column % 6);
        let mut e = Vector3::zeros();
        e[k % 3] = 1.0;
        let mut da = Vector3::zeros();
        let mut turn = dn;
        if side == 0 {
            da += if k < 3 { e } else { e.cross(&(a.core - point)) };
            if k >= 3 {
                turn -= e.cross(&normal);
            }
        }
        da += a.bend * turn;
        for (i, slide) in a.slides.iter().enumerate() {
            da += slide * x[(4 + i, column)];
        }
        // The point is `a + n (r_a + distance / 2)`.
        let dp = da + dn * (a.rounding + 0.5 * distance) + normal * (0.5 * dt);
        out.view_mut((0, column), (3, 1)).copy_from(&dp);
        out.view_mut((3, column), (3, 1)).copy_from(&dn);
        out[(6, column)] = dt;
    }
    Some(ContactSlope { matrix: out })
}
