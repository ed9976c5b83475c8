//! Faces of the difference of two polyhedra, of which one is across the shortest way out of their overlap: a face of one over
//! a corner, edge or face of the other, or an edge of each.
//!
//! A polytope knows such a face by some three of its corners, and its normal to rounding. Here the normal is computed from the
//! features of the two shapes themselves, so that it is the same to the last bit whichever corners were found.

use super::Vector;
use super::expand::{Corner, Lowest, Polytope};
use super::extremes::TIE;
use super::polish::{Normal, Scaled};

/// Corners of a shape are level with the farthest if they are no more than this behind it, in units of the shape: less than
/// what single precision leaves of a flat face in a file.
const LEVEL: f64 = 1e-10;
/// How far in a face's plane its rim counts, in units of the smaller shape.
const WIDE: f64 = 0.03;
/// How deep shapes that touch are in each other at most, in units of what their face spans.
const DEEP: f64 = 1e-2;
/// Where normals are known no better than to this, nothing is certain.
const UNSURE: f64 = 0.2 * TIE;
/// The most that the normal which a rough search ends at may lean from the lowest face's.
const LEAN: f64 = 0.01;
/// A face is across the way out, or that close to it that nothing is certain, if its normal leans by no more than this from the lowest
/// face's, in units of what is known of the overlap.
const NEAR: f64 = 20.0;

/// A face that parts two shapes.
#[derive(Clone, Copy)]
pub(super) struct Parting {
    /// Unit, from the first shape to the second.
    pub(super) normal: Vector,
    pub(super) separation: f64,
    /// Whose it is.
    pub(super) of_first: bool,
}

/// The face that parts the shapes as far as a normal does, to rounding: iteration ends near a flat contact's normal, and
/// the face's own is exact.
pub(super) fn snap(first: &Scaled<'_>, second: &Scaled<'_>, near: Normal, rounding: f64) -> Option<Parting> {
    snap_by(first, second, near, rounding, |_| 0.0)
}

/// The same where a face may part them by as much less as its corners are out of its plane.
pub(super) fn snap_as_flat(first: &Scaled<'_>, second: &Scaled<'_>, near: Normal, rounding: f64) -> Option<Parting> {
    snap_by(first, second, near, rounding, |bent| bent)
}

/// `less`: by how much less a face may part them, by how far its corners are out of its plane.
fn snap_by(
    first: &Scaled<'_>,
    second: &Scaled<'_>,
    near: Normal,
    rounding: f64,
    less: impl Fn(f64) -> f64,
) -> Option<Parting> {
    let mut found = None;
    let mut best = near.separation - rounding;
    for (shape, sign) in [(first, 1.0), (second, -1.0)] {
        let Some(face) = shape.core.flat(shape.placed.local(near.direction * sign)) else { continue };
        let normal = shape.placed.axes * face.normal * sign;
        let separation = first.separation(second, normal);
        if separation + less(face.bent * shape.scale) >= best {
            (best, found) = (separation - rounding, Some(Parting { normal, separation, of_first: sign > 0.0 }));
        }
    }
    found
}

/// Different ones of three numbers, ascending, and how many they are.
fn different(mut numbers: [u16; 3]) -> ([u16; 3], usize) {
    numbers.sort_unstable();
    let [a, b, c] = numbers;
    match (a == b, b == c) {
        (false, false) => (numbers, 3),
        (true, true) => (numbers, 1),
        _ => ([a, c, c], 2),
    }
}

/// What spans a face of the difference.
enum Span {
    /// A face of the first shape over a corner of the second.
    First(u16),
    /// A corner of the first shape over a face of the second.
    Second(u16),
    /// An edge of each, by its ends.
    Edges([u16; 2], [u16; 2]),
    /// An edge or a face, and another face.
    Flat,
}

impl Span {
    fn new(of: [[u16; 2]; 3]) -> Self {
        let [(i, of_first), (j, of_second)] = [0, 1].map(|shape| different(of.map(|of| of[shape])));
        match (of_first, of_second) {
            (_, 1) => Self::First(j[0]),
            (1, _) => Self::Second(i[0]),
            (2, 2) => Self::Edges([i[0], i[1]], [j[0], j[1]]),
            _ => Self::Flat,
        }
    }
}

/// A way out of an overlap.
pub(super) struct Settled {
    /// Unit, from the first shape to the second.
    pub(super) normal: Vector,
    pub(super) separation: f64,
    /// Midway between the points that are deepest in each other, where there is but one.
    pub(super) middle: Option<Vector>,
}

/// Two polyhedra, and how well their poses and the ways out of their overlap are known.
pub(super) struct Facets<'a> {
    pub(super) first: &'a Scaled<'a>,
    pub(super) second: &'a Scaled<'a>,
    pub(super) pose_rounding: f64,
    /// A search ends where the overlap is no more than this over the least.
    pub(super) tolerance: f64,
}

impl Facets<'_> {
    /// What is snapped to overlaps by no more than this over the least.
    fn loose(&self) -> f64 {
        2.0 * self.pose_rounding + self.tolerance
    }

    /// The way out along a normal that a search ended at, across a face of the difference of which it knows three corners.
    pub(super) fn settle(&self, near: Normal, of: [[u16; 2]; 3]) -> Settled {
        let span = Span::new(of);
        if let Some(face) = snap(self.first, self.second, near, self.pose_rounding) {
            return self.along(face.normal, face.separation, &span, true);
        }
        let normal =
            self.normal(&span, near.direction).map(|normal| (normal, self.first.separation(self.second, normal)));
        match normal.filter(|&(_, separation)| separation >= near.separation - self.tolerance) {
            Some((normal, separation)) => self.along(normal, separation, &span, false),
            None => Settled { normal: near.direction, separation: near.separation, middle: None },
        }
    }

    /// What [`Facets::settle`] makes of the normal that any search ends at, where a polytope leaves no doubt of it.
    ///
    /// Along that normal n the overlap is no more than the tolerance t over the least. So n leaves the polytope through a face
    /// that is no farther from the origin. Say that only faces level with the lowest are, and that they span a disc about
    /// the way out, of radius r and at height h. The overlap along what leans from its normal by an angle a is at least
    /// `h cos a + r sin a`, so that n leans by no more than about `2 t / r`. Corners and faces that are the best by more
    /// than that lets them differ are the best along n too, so that a search settles on the same features.
    pub(super) fn settle_surely(&self, polytope: &Polytope, lowest: &Lowest) -> Option<Settled> {
        let Self { first, second, tolerance, .. } = *self;
        let &Lowest { normal: near, height, reach, of } = lowest;
        let loose = self.loose();
        let next = polytope.next_nearest(lowest, tolerance, height.hypot(WIDE));
        let rim = ((next - height) * (next + height)).sqrt();
        let unsure = 4.0 * tolerance / rim;
        if next.is_nan() || next < height + 2.0 * loose || unsure > UNSURE {
            return None;
        }
        let span = Span::new(of);
        // A way out through the lowest face that is no longer than that leans no more.
        let found = self.snap_surely(near, [height, reach], unsure, 1.0 - 2.0 * loose / height)?;
        let certain = Certain { unsure: 4.0 * unsure, near };
        if let Some((normal, separation)) = found {
            let settled = self.along(normal, separation, &span, true);
            let alone = match span {
                Span::First(_) => certain.corners(second, -1.0) == 1,
                Span::Second(_) => certain.corners(first, 1.0) == 1,
                _ => false,
            };
            return Some(Settled { middle: settled.middle.filter(|_| alone), ..settled });
        }
        let same = match span {
            Span::First(_) => certain.corners(second, -1.0) == 1 && certain.has_face(first, 1.0),
            Span::Second(_) => certain.corners(first, 1.0) == 1 && certain.has_face(second, -1.0),
            Span::Edges(..) => certain.corners(first, 1.0) == 2 && certain.corners(second, -1.0) == 2,
            Span::Flat => false,
        };
        let normal = self.normal(&span, near).filter(|_| same)?;
        let separation = first.separation(second, normal);
        (separation >= -height - 0.5 * tolerance).then(|| self.along(normal, separation, &span, false))
    }

    /// The face that [`snap_as_flat`] finds at the normal that any rough search ends at, where a polytope leaves no doubt of it. Of
    /// shapes with smooth sides, of which the search knows the overlap to the tolerance t.
    ///
    /// Along a normal n that it ends at, the overlap is no more than 2 t over the lowest face's height h. Say that faces no more than t
    /// below that one span a disc about the way out, of radius r. What leans by an angle a overlaps by at least `h cos a + r sin a - t`, and
    /// by `h / cos a - t` where it leaves the polytope through those faces: so n leans by no more than `6 t / r`, if r is large enough.
    /// Of all normals that lean so little the overlap is the least along that of a face over which the other shape's deepest point
    /// lies well inside of the rim, but for what the face is bent.
    pub(super) fn face_surely(
        &self,
        polytope: &mut Polytope,
        lowest: &Lowest,
        corner: impl Fn(Vector) -> Corner,
    ) -> Option<Parting> {
        let Self { first, second, tolerance, pose_rounding } = *self;
        let &Lowest { normal: near, height, .. } = lowest;
        let faces = [(first, second, 1.0), (second, first, -1.0)].map(|(shape, other, sign)| {
            let face = shape.core.flat(shape.placed.local(near * sign))?;
            let normal = shape.placed.axes * face.normal * sign;
            Some((shape, other, sign, face, normal, normal.distance(near)))
        });
        let loose = 3.0 * tolerance + 2.0 * pose_rounding;
        // How little the search's normal is to lean, that no other face is nearer to it.
        let lean = faces.iter().flatten().fold(LEAN, |least, &(_, _, _, face, _, off)| {
            least.min(if off < NEAR * loose { face.apart / 6.0 } else { off / 4.0 })
        });
        let disc = (2.0 * loose / lean).max((4.0 * loose * height).sqrt());
        polytope.widen(corner, lowest, tolerance, height.hypot(disc))?;
        let mut found: Option<Parting> = None;
        for (shape, other, sign, face, normal, off) in faces.into_iter().flatten() {
            if off > lean {
                continue;
            }
            let separation = first.separation(second, normal);
            let (inside, _) = shape.inside_face(normal * sign, other.support(normal * -sign), true);
            let bent = face.bent * shape.scale;
            if inside < 2.0 * lean * (height + loose) || bent > tolerance {
                return None;
            }
            if found.is_none_or(|found| separation + bent >= found.separation - pose_rounding) {
                found = Some(Parting { normal, separation, of_first: sign > 0.0 });
            }
        }
        found.filter(|found| -found.separation <= height + loose)
    }

    /// What [`snap`] finds at any normal that leans by no more than `unsure` from one, along which the overlap is between two bounds,
    /// the lower one being the least of all; outer `None` where that is in doubt. Faces that lean more, by this cosine, part
    /// the shapes by less.
    fn snap_surely(
        &self,
        near: Vector,
        [height, reach]: [f64; 2],
        unsure: f64,
        cosine: f64,
    ) -> Option<Option<(Vector, f64)>> {
        let Self { first, second, pose_rounding, .. } = *self;
        let loose = self.loose();
        let mut found: Option<(Vector, f64)> = None;
        for (shape, sign) in [(first, 1.0), (second, -1.0)] {
            let along = shape.placed.local(near * sign);
            let Some((axis, lead)) = shape.core.leading_face(along) else { continue };
            if axis.dot(along) < cosine {
                continue;
            }
            if lead < 4.0 * unsure {
                return None;
            }
            let direction = shape.placed.axes * axis * sign;
            let apart = first.separation(second, direction);
            let accepted = match found {
                Some((_, separation)) => apart >= separation - pose_rounding,
                None if apart >= -height - 0.5 * pose_rounding => true,
                None if apart < -reach - loose => false,
                None => return None,
            };
            if accepted {
                found = Some((direction, apart));
            }
        }
        Some(found)
    }

    /// Whether a face parts two polyhedra that touch or are near each other by more than any direction does, so that any search ends
    /// at it. `foot`: a point of the face, over which the other shape is no farther away than it is, but for `slack`; without one
    /// that is the foot of its nearest corner.
    ///
    /// Say that the two are s apart along the face's normal n, and that the face holds a disc about the foot, of radius r. From a
    /// point of the disc to the other shape's it is `s n + t`, t of any direction in the face's plane and as long as r, so that along
    /// what leans from n by an angle a they are apart by no more than `s cos a - r sin a`: less than s, up to a right
    /// angle and where s is not far below zero. Beyond, the points that are farthest from each other along n say so.
    pub(super) fn is_best(&self, face: Parting, foot: Option<Vector>, slack: f64) -> bool {
        let Self { first, second, tolerance, .. } = *self;
        let Parting { normal, separation, of_first } = face;
        let (shape, other, outwards) = if of_first { (first, second, normal) } else { (second, first, -normal) };
        let corner = || other.support(-outwards);
        let (rim, bent) = shape.inside_face(outwards, foot.unwrap_or_else(corner), foot.is_none());
        let slack = slack + bent;
        let unsure = 4.0 * (tolerance + slack) / rim;
        if rim.is_nan() || rim <= 0.0 || unsure > UNSURE || separation < -DEEP * rim {
            return false;
        }
        let across = other.support(outwards) - shape.support(-outwards);
        let wide = across.dot(outwards) - separation;
        let loose = self.loose() + slack;
        if rim * wide < 4.0 * (separation.min(0.0).abs() + loose) * (rim + across.length()) {
            return false;
        }
        let lean = loose / rim;
        // A face's own cosine is 1 to rounding.
        let cosine = 1.0 - lean * lean - 8.0 * f64::EPSILON;
        let found = self.snap_surely(normal, [-separation; 2], unsure, cosine);
        found.flatten().is_some_and(|(found, _)| found == normal)
    }

    /// Across the features that span a face of the difference, on the side of another normal.
    fn normal(&self, span: &Span, near: Vector) -> Option<Vector> {
        let across = |shape: &Scaled<'_>, sign: f64| {
            shape.placed.axes * shape.core.across_level(shape.placed.local(near * sign), LEVEL * shape.placed.radius)
        };
        let edge = |shape: &Scaled<'_>, [from, to]: [u16; 2]| shape.corner(to) - shape.corner(from);
        let across = match *span {
            Span::First(_) => across(self.first, 1.0),
            Span::Second(_) => across(self.second, -1.0),
            Span::Edges(one, other) => edge(self.first, one).cross(edge(self.second, other)),
            Span::Flat => return None,
        };
        let normal = across.try_normalize()?;
        Some(if normal.dot(near) < 0.0 { -normal } else { normal })
    }

    /// The way out along a normal; `snapped`: it is a face's own, not that of what spans a face.
    fn along(&self, normal: Vector, separation: f64, span: &Span, snapped: bool) -> Settled {
        let half = 0.5 * separation * normal;
        let middle = match *span {
            Span::First(corner) => Some(self.second.corner(corner) - half),
            Span::Second(corner) => Some(self.first.corner(corner) + half),
            Span::Edges([i, k], [j, l]) if !snapped => {
                let (p, q) = (self.first.corner(i), self.second.corner(j));
                let (u, v) = (self.first.corner(k) - p, self.second.corner(l) - q);
                let across = u.cross(v);
                Some(p + u * ((q - p).cross(v).dot(across) / across.length_squared()) + half)
            }
            Span::Edges(..) | Span::Flat => None,
        };
        Settled { normal, separation, middle }
    }
}

/// What is the same of all normals about one.
struct Certain {
    near: Vector,
    /// How much they differ, with a margin.
    unsure: f64,
}

impl Certain {
    /// Corners of a shape that may be farthest along them, or against them.
    fn corners(&self, shape: &Scaled<'_>, sign: f64) -> usize {
        self.level(shape, sign, LEVEL + self.unsure)
    }

    /// Whether the same corners are level with the farthest along each.
    fn has_face(&self, shape: &Scaled<'_>, sign: f64) -> bool {
        // A search knows three of them.
        let corners = self.corners(shape, sign);
        corners == 3 || (self.unsure < LEVEL && corners == self.level(shape, sign, LEVEL - self.unsure))
    }

    fn level(&self, shape: &Scaled<'_>, sign: f64, behind: f64) -> usize {
        shape.core.level(shape.placed.local(self.near * sign), behind * shape.placed.radius)
    }
}
