//! The shortest way out of an overlap: an expanding polytope (G. van den Bergen, Proximity Queries and Penetration Depth
//! Computation on 3D Game Objects, 2001).
//!
//! Of all points `p - q`, p of the first shape and q of the second, a polytope of some is kept. Along a face's normal n the
//! shapes overlap by at least the face's height over the origin, if it is the lowest face, and by no more than
//! `max n·p - min n·q`. Where the two agree, no direction is a shorter way out, and the answer is certain. Else the polytope
//! gets the point that is farthest along n. Heights are signed: of shapes that hardly touch, the origin may lie outside.

use super::Vector;

/// Most points that are added; polyhedra take 10 to 30.
const MOST: usize = 128;
/// Squared lengths and areas below this, in scaled units, have no direction.
const NOTHING: f64 = 1e-24;
/// By how much a face may be lower than a point and still be replaced with it: coplanar faces go, or slivers would stay.
const LEVEL: f64 = 1e-12;
/// Marks a face that is gone, in the place of its height.
const GONE: f64 = f64::INFINITY;

/// A point of the polytope: one of each shape, and their difference.
#[derive(Clone, Copy)]
struct Corner {
    p: Vector,
    q: Vector,
    at: Vector,
}

/// A triangle, counter-clockwise seen from outside.
#[derive(Clone, Copy)]
struct Face {
    corners: [usize; 3],
    /// Across the edge from each corner to the next: a face, and the number of that edge there.
    beyond: [(usize, usize); 3],
    normal: Vector,
}

/// The shortest way out.
pub(super) struct Way {
    /// Unit, from the first shape to the second.
    pub(super) normal: Vector,
    /// How far the shapes are apart along it: negative.
    pub(super) separation: f64,
    /// Midway between the points of the two that are deepest in each other.
    pub(super) middle: Vector,
}

/// The lowest height, and the first face that has it. Eight at a time: this is asked for every point, of all faces.
fn lowest(heights: &[f64]) -> (f64, usize) {
    let lower = |a: f64, b: f64| if b < a { b } else { a };
    let (eights, rest) = heights.as_chunks::<8>();
    let mut least = [f64::INFINITY; 8];
    for eight in eights {
        least = std::array::from_fn(|k| lower(least[k], eight[k]));
    }
    let least = least.iter().chain(rest).copied().fold(f64::INFINITY, lower);
    (least, heights.iter().position(|&height| height == least).unwrap_or(0))
}

/// Memory of the algorithm.
#[derive(Default)]
pub(super) struct Polytope {
    corners: Vec<Corner>,
    faces: Vec<Face>,
    /// Of each face, over the origin; beside them, as the lowest is looked for all the time.
    heights: Vec<f64>,
    open: Vec<(usize, usize)>,
    rim: Vec<(usize, usize)>,
}

impl Polytope {
    /// The shortest way out of the overlap of two shapes, to a tolerance, if it is found. `support` gives the points of
    /// the first that is farthest along a direction, and of the second that is farthest against it.
    pub(super) fn way_out(
        &mut self,
        support: impl Fn(Vector) -> (Vector, Vector),
        start: Vector,
        tolerance: f64,
    ) -> Option<Way> {
        let corner = |direction: Vector| {
            let (p, q) = support(direction);
            Corner { p, q, at: p - q }
        };
        self.begin(&corner, start)?;
        for _ in 0..MOST {
            let (height, face) = lowest(&self.heights);
            let normal = self.faces[face].normal;
            let next = corner(normal);
            let reach = next.at.dot(normal);
            if reach - height <= tolerance {
                return self.way(face, reach);
            }
            self.add(next, face)?;
        }
        None
    }

    /// A tetrahedron.
    fn begin(&mut self, corner: &impl Fn(Vector) -> Corner, start: Vector) -> Option<()> {
        self.corners.clear();
        self.faces.clear();
        self.heights.clear();
        let (first, second) = (corner(start), corner(-start));
        let edge = (second.at - first.at).try_normalize()?;
        // Towards the origin, that it be inside.
        let across = |v: Vector| v - edge * edge.dot(v);
        let aside = across(-first.at).try_normalize().unwrap_or_else(|| edge.any_orthonormal_vector());
        let away = |c: &Corner| across(c.at - first.at).length_squared() > NOTHING.sqrt();
        let turned = edge.cross(aside);
        let third = [aside, -aside, turned, -turned].into_iter().map(corner).find(away)?;
        let normal = edge.cross(third.at - first.at).try_normalize()?;
        let normal = if normal.dot(first.at) > 0.0 { -normal } else { normal };
        let off = |c: &Corner| (c.at - first.at).dot(normal).abs() > NOTHING.sqrt().sqrt();
        let fourth = [normal, -normal].into_iter().map(corner).find(off)?;
        self.corners.extend([first, second, third, fourth]);
        let above = (third.at - first.at).dot((second.at - first.at).cross(fourth.at - first.at)) > 0.0;
        // Each face with the corners in such an order that the one left out is behind it.
        let order = if above {
            [[0, 1, 2], [0, 3, 1], [1, 3, 2], [0, 2, 3]]
        } else {
            [[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]]
        };
        for corners in order {
            let number = self.faces.len();
            self.push(corners)?;
            for edge in 0..3 {
                let (from, to) = (corners[edge], corners[(edge + 1) % 3]);
                for other in 0..number {
                    let ring = self.faces[other].corners;
                    if let Some(e) = (0..3).find(|&e| ring[e] == to && ring[(e + 1) % 3] == from) {
                        self.join((number, edge), (other, e));
                    }
                }
            }
        }
        Some(())
    }

    /// A new face without neighbours; nothing where it has no area.
    fn push(&mut self, corners: [usize; 3]) -> Option<()> {
        let [a, b, c] = corners.map(|corner| self.corners[corner].at);
        let across = (b - a).cross(c - a);
        let squared = across.length_squared();
        if squared <= NOTHING {
            return None;
        }
        let normal = across / squared.sqrt();
        self.faces.push(Face { corners, beyond: [(0, 0); 3], normal });
        // The lowest of the three, as a sliver's normal is not quite across it.
        self.heights.push(normal.dot(a).min(normal.dot(b)).min(normal.dot(c)));
        Some(())
    }

    fn join(&mut self, one: (usize, usize), other: (usize, usize)) {
        self.faces[one.0].beyond[one.1] = other;
        self.faces[other.0].beyond[other.1] = one;
    }

    /// Replaces the faces that a point outside sees, of which one is known, with those between their rim and the point.
    /// Nothing where rounding leaves no rim that goes round once.
    fn add(&mut self, point: Corner, seen: usize) -> Option<()> {
        self.rim.clear();
        self.open.clear();
        self.heights[seen] = GONE;
        self.open.extend(self.faces[seen].beyond.iter().rev());
        while let Some((face, edge)) = self.open.pop() {
            if self.heights[face] == GONE {
                continue;
            }
            let Face { corners, beyond, normal } = self.faces[face];
            if normal.dot(point.at - self.corners[corners[edge]].at) < -LEVEL {
                self.rim.push((face, edge));
            } else {
                self.heights[face] = GONE;
                self.open.extend([beyond[(edge + 2) % 3], beyond[(edge + 1) % 3]]);
            }
        }
        let (top, first) = (self.corners.len(), self.faces.len());
        self.corners.push(point);
        let count = self.rim.len();
        for number in 0..count {
            let (face, edge) = self.rim[number];
            let ring = self.faces[face].corners;
            let (from, to) = (ring[(edge + 1) % 3], ring[edge]);
            let (next, next_edge) = self.rim[(number + 1) % count];
            if to != self.faces[next].corners[(next_edge + 1) % 3] {
                return None;
            }
            self.push([from, to, top])?;
            self.join((first + number, 0), (face, edge));
        }
        for number in 0..count {
            self.join((first + number, 1), (first + (number + 1) % count, 2));
        }
        (count > 2).then_some(())
    }

    /// Along the lowest face, at the point nearest to the origin: one of that face, or of another one level with it.
    fn way(&self, lowest: usize, reach: f64) -> Option<Way> {
        let normal = self.faces[lowest].normal;
        let level = (0..self.faces.len()).filter(|&face| self.heights[face] <= self.heights[lowest] + LEVEL);
        let shares = level.map(|face| (face, self.shares(face)));
        let inside = |shares: &[f64; 3]| shares[0].min(shares[1]).min(shares[2]);
        let (face, shares) = shares.max_by(|(_, a), (_, b)| inside(a).total_cmp(&inside(b)))?;
        let middle = self.faces[face].corners.iter().zip(shares).fold(Vector::ZERO, |sum, (&corner, share)| {
            let Corner { p, q, .. } = self.corners[corner];
            sum + 0.5 * share * (p + q)
        });
        (middle.is_finite() && reach.is_finite()).then_some(Way { normal, separation: -reach, middle })
    }

    /// The point of a face's plane that is nearest to the origin, as shares of the corners.
    fn shares(&self, face: usize) -> [f64; 3] {
        let Face { corners, normal, .. } = self.faces[face];
        let [a, b, c] = corners.map(|corner| self.corners[corner].at);
        let across = (b - a).cross(c - a).dot(normal);
        let share = |a: Vector, b: Vector| a.cross(b).dot(normal) / across;
        [share(b, c), share(c, a), share(a, b)]
    }
}
