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

use nalgebra::{Matrix3, SMatrix, SVector, Vector3};

use super::few::Few;

/// Derivative of a contact by the twists of its two bodies.
#[derive(Debug, Clone, PartialEq)]
pub struct ContactSlope {
    /// Rows: point (3), normal (3), distance. Columns: linear and angular velocity of the first body, then of the second;
    /// the linear ones at the contact point, all in world axes.
    matrix: SMatrix<f64, 7, 12>,
}

impl ContactSlope {
    /// From its matrix: rows and columns as above.
    #[must_use]
    pub fn new(matrix: SMatrix<f64, 7, 12>) -> Self {
        Self { matrix }
    }

    /// The rows (point, normal, distance) of one body, by its linear velocity at the contact point and its angular velocity.
    #[must_use]
    pub fn side(&self, side: usize) -> [[f64; 6]; 7] {
        let own = self.matrix.fixed_columns::<6>(6 * side);
        std::array::from_fn(|row| std::array::from_fn(|column| own[(row, column)]))
    }

    /// Change along twists of the first and the second body (linear at the contact point, angular; each 3): of the point,
    /// m, of the normal, and of the distance, m.
    #[must_use]
    pub fn along(&self, twists: &[f64; 12]) -> [f64; 7] {
        (self.matrix * SVector::from(*twists)).into()
    }

    /// The same along the twist of one of the two while the other stands still.
    #[must_use]
    pub fn along_one(&self, side: usize, twist: &[f64; 6]) -> [f64; 7] {
        (self.matrix.fixed_columns::<6>(6 * side) * SVector::from(*twist)).into()
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
    pub(super) slides: Few,
    /// Directions of the shape that the normal stays perpendicular to, world.
    pub(super) holds: Few,
}

/// A system with a condition number above this has no derivative to speak of.
const CONDITION: f64 = 1e-11;
/// Unknowns at most: dn, dt and the slides of both sides.
pub(super) const MOST: usize = 12;
/// Changes that the system is solved for at once.
pub(super) const CHANGES: usize = 6;
/// A row: the equation, then its right-hand sides.
pub(super) type Equation = [f64; MOST + CHANGES];

/// Two sides that touch, `normal` from the first to the second.
#[derive(Debug)]
pub(super) struct Touch {
    pub(super) sides: [Side; 2],
    pub(super) normal: Vector3<f64>,
    pub(super) point: Vector3<f64>,
    pub(super) distance: f64,
}

pub(super) const SIGNS: [f64; 2] = [-1.0, 1.0];

pub(super) fn unit(k: usize) -> Vector3<f64> {
    Vector3::from_fn(|i, _| if i == k { 1.0 } else { 0.0 })
}

impl Touch {
    /// The system, and how many unknowns it has.
    pub(super) fn system(&self) -> Option<([Equation; MOST], usize)> {
        let [a, b] = &self.sides;
        let gap = self.distance + a.rounding + b.rounding;
        let (n_slides, n_holds) = (a.slides.len() + b.slides.len(), a.holds.len() + b.holds.len());
        if n_slides != n_holds {
            return None;
        }
        let mut rows = [[0.0; MOST + CHANGES]; MOST];
        // The support point of b lies along -n: its outward direction turns by -(dn - ω x n).
        // db - da - t dn - n dt = 0.
        let by_normal = -Matrix3::identity() * gap - a.bend - b.bend;
        for r in 0..3 {
            for k in 0..3 {
                rows[r][k] = by_normal[(r, k)];
            }
            rows[r][3] = -self.normal[r];
            rows[3][r] = self.normal[r];
        }
        let (mut column, mut row) = (4, 4);
        for (side, shape) in self.sides.iter().enumerate() {
            for slide in shape.slides.iter() {
                (0..3).for_each(|r| rows[r][column] = SIGNS[side] * slide[r]);
                column += 1;
            }
            for hold in shape.holds.iter() {
                (0..3).for_each(|k| rows[row][k] = hold[k]);
                row += 1;
            }
        }
        Some((rows, 4 + n_slides))
    }

    /// Which side is a face that the other touches with a point of its own, a corner or one of a round surface.
    fn face(&self) -> Option<usize> {
        (0..2).find(|&face| {
            let (face, other) = (&self.sides[face], &self.sides[1 - face]);
            let flat = face.slides.len() == 2 && face.holds.len() == 2 && face.bend == Matrix3::zeros();
            flat && other.slides.is_empty() && other.holds.is_empty()
        })
    }

    /// Change of point, normal and distance by a twist of the second body (linear at the contact point, angular), where a
    /// side is a face: the equations solved by hand.
    fn on_face(&self, face: usize, linear: Vector3<f64>, angular: Vector3<f64>) -> (Vector3<f64>, Vector3<f64>, f64) {
        let ([a, b], n) = (&self.sides, self.normal);
        let moved = linear + angular.cross(&(b.core - self.point));
        if face == 0 {
            // The normal stays; the point stays on the face.
            let moved = moved + b.bend * angular.cross(&n);
            let gap = n.dot(&moved);
            return (moved - n * (0.5 * gap), Vector3::zeros(), gap);
        }
        // The normal goes with the face.
        let normal = angular.cross(&n);
        let bent = a.bend * normal;
        let gap = n.dot(&(moved - bent));
        (bent + normal * (a.rounding + 0.5 * self.distance) + n * (0.5 * gap), normal, gap)
    }

    /// Derivative by the twists of the bodies.
    pub(super) fn slope(&self) -> Option<ContactSlope> {
        if let Some(face) = self.face() {
            let change = |column: usize| {
                let (e, none) = (unit(column % 3), Vector3::zeros());
                if column < 3 { self.on_face(face, e, none) } else { self.on_face(face, none, e) }
            };
            return Some(self.by_both(std::array::from_fn(change)));
        }
        let (mut rows, size) = self.system()?;
        // Twists of the second body.
        let b = &self.sides[1];
        let arm = b.core - self.point;
        for k in 0..3 {
            let e = unit(k);
            let angular = -(e.cross(&arm) + b.bend * e.cross(&self.normal));
            for r in 0..3 {
                rows[r][MOST + k] = -e[r];
                rows[r][MOST + 3 + k] = angular[r];
            }
            let first = 4 + self.sides[0].holds.len();
            for (i, hold) in b.holds.iter().enumerate() {
                rows[first + i][MOST + 3 + k] = hold.dot(&e.cross(&self.normal));
            }
        }
        let found = eliminate(&mut rows, size)?;
        Some(self.by_both(found.map(|x| {
            let (point, normal, gap) = self.outcome(&x, Vector3::zeros());
            (point + self.normal * (0.5 * gap), normal, gap)
        })))
    }

    /// From the change of point, normal and distance by each component of the second body's twist to that by both bodies'.
    fn by_both(&self, found: [(Vector3<f64>, Vector3<f64>, f64); CHANGES]) -> ContactSlope {
        let mut out = SMatrix::<f64, 7, 12>::zeros();
        for (column, (point, normal, gap)) in found.into_iter().enumerate() {
            out.fixed_view_mut::<3, 1>(0, 6 + column).copy_from(&point);
            out.fixed_view_mut::<3, 1>(3, 6 + column).copy_from(&normal);
            out[(6, 6 + column)] = gap;
            // Both bodies together carry the contact along.
            let e = unit(column % 3);
            let (moved, turned) =
                if column < 3 { (e, Vector3::zeros()) } else { (Vector3::zeros(), e.cross(&self.normal)) };
            out.fixed_view_mut::<3, 1>(0, column).copy_from(&(moved - point));
            out.fixed_view_mut::<3, 1>(3, column).copy_from(&(turned - normal));
            out[(6, column)] = -gap;
        }
        ContactSlope { matrix: out }
    }

    /// From a solution: change of `a + n (r_a + distance / 2)` at held rounding and distance, of the normal, of the gap
    /// between the cores. `shift`: of a besides.
    pub(super) fn outcome(&self, x: &[f64; MOST], shift: Vector3<f64>) -> (Vector3<f64>, Vector3<f64>, f64) {
        let a = &self.sides[0];
        let normal = Vector3::new(x[0], x[1], x[2]);
        let mut moved = shift + a.bend * normal;
        for (i, slide) in a.slides.iter().enumerate() {
            moved += slide * x[4 + i];
        }
        (moved + normal * (a.rounding + 0.5 * self.distance), normal, x[3])
    }
}

/// Solves for all right-hand sides with complete pivoting; `None` for a singular system.
pub(super) fn eliminate(rows: &mut [Equation; MOST], size: usize) -> Option<[[f64; MOST]; CHANGES]> {
    let mut columns: [usize; MOST] = std::array::from_fn(|i| i);
    let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
    for k in 0..size {
        let (mut pivot, mut at) = (0.0, [k, k]);
        for (i, row) in rows.iter().enumerate().take(size).skip(k) {
            for (j, x) in row.iter().enumerate().take(size).skip(k) {
                if x.abs() > pivot {
                    (pivot, at) = (x.abs(), [i, j]);
                }
            }
        }
        (least, most) = (least.min(pivot), most.max(pivot));
        // Also what is not a number ends it.
        if least <= CONDITION * most || most == 0.0 {
            return None;
        }
        rows.swap(k, at[0]);
        rows[..size].iter_mut().for_each(|row| row.swap(k, at[1]));
        columns.swap(k, at[1]);
        let (above, below) = rows.split_at_mut(k + 1);
        let top = &above[k];
        for row in &mut below[..size - k - 1] {
            let factor = row[k] / top[k];
            if factor != 0.0 {
                row.iter_mut().zip(top).skip(k + 1).for_each(|(x, t)| *x -= factor * t);
            }
        }
    }
    let mut out = [[0.0; MOST]; CHANGES];
    for k in (0..size).rev() {
        for c in 0..CHANGES {
            let known: f64 = (k + 1..size).map(|j| rows[k][j] * out[c][columns[j]]).sum();
            out[c][columns[k]] = (rows[k][MOST + c] - known) / rows[k][k];
        }
    }
    Some(out)
}
