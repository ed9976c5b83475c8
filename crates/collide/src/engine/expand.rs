//! The shortest way out of an overlap: an expanding polytope (G. van den Bergen, Proximity Queries and Penetration Depth
//! Computation on 3D Game Objects, 2001).
//!
//! Of all points `p - q`, p of the first shape and q of the second, a polytope of some is kept. Along a face's normal n the
//! shapes overlap by at least the face's height over the origin, if it is the lowest face, and by no more than
//! `max n·p - min n·q`. Where the two agree, no direction is a shorter way out, and the answer is certain. Else the polytope
//! gets the point that is farthest along n. Heights are signed: of shapes that hardly touch, the origin may lie outside.

use super::Vector;
use super::kept::{Kept, Place, Store};

/// Most points; polyhedra take 10 to 30.
const MOST: usize = 128;
/// Squared lengths and areas below this, in scaled units, have no direction.
const NOTHING: f64 = 1e-24;
/// By how much a face may be lower than a point and still be replaced with it: coplanar faces go, or slivers would stay.
const LEVEL: f64 = 1e-12;
/// Most points that widen what is level with the lowest face.
const WIDER: usize = 16;
/// Marks a face that is gone, in the place of its height.
const GONE: f64 = f64::INFINITY;

/// A point of the polytope: one of each shape, and their difference.
#[derive(Clone, Copy)]
pub(super) struct Corner {
    p: Vector,
    q: Vector,
    at: Vector,
    /// The numbers of the two, if they are corners of polyhedra.
    of: [u16; 2],
}

impl Corner {
    /// Of a point of each shape and its number.
    pub(super) fn new((p, i): (Vector, u16), (q, j): (Vector, u16)) -> Self {
        Self { p, q, at: p - q, of: [i, j] }
    }
}

/// A face by its number, and one of its edges: that from corner so and so to the next.
type Edge = (u16, u16);

/// Of an edge that no face has.
const NO_EDGE: Edge = (u16::MAX, 0);

/// A triangle, counter-clockwise seen from outside.
#[derive(Clone, Copy)]
struct Face {
    corners: [u16; 3],
    /// Across each edge.
    beyond: [Edge; 3],
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
    /// The corners that span the face it is across, by the numbers of their points.
    pub(super) of: [[u16; 2]; 3],
}

/// A face of the polytope that no direction passes under.
pub(super) struct Lowest {
    pub(super) normal: Vector,
    /// Over the origin: no direction is a shorter way out than this, which is as good as `reach`.
    pub(super) height: f64,
    /// How far the shapes overlap along the normal.
    pub(super) reach: f64,
    /// The corners that span it, by the numbers of their points.
    pub(super) of: [[u16; 2]; 3],
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
    open: Vec<Edge>,
    rim: Vec<Edge>,
    /// Faces between the rim and a new corner.
    fan: Vec<u16>,
    /// Faces that are gone, whose places are taken first.
    gone: Vec<u16>,
    /// Edges by the corners that they go from and to.
    edges: Vec<Edge>,
    /// Whether it is one that was kept, and nothing was added.
    pub(super) is_as_kept: bool,
    /// New numbers of corners, and those that have one.
    places: Vec<u8>,
    used: Vec<[u16; 2]>,
}

impl Polytope {
    /// The shortest way out of the overlap of two shapes, to a tolerance, if it is found. `corner` gives the points of
    /// the first that is farthest along a direction, and of the second that is farthest against it.
    pub(super) fn way_out(&mut self, corner: impl Fn(Vector) -> Corner, start: Vector, tolerance: f64) -> Option<Way> {
        if self.begin(&corner, start).is_none() {
            self.clear();
            return None;
        }
        self.farther(corner, tolerance)
    }

    /// The same from where [`Polytope::way_out`] ended, to a smaller tolerance.
    pub(super) fn farther(&mut self, corner: impl Fn(Vector) -> Corner, tolerance: f64) -> Option<Way> {
        let way = self.expand(corner, tolerance);
        if way.is_none() {
            // It may not be closed.
            self.clear();
        }
        way
    }

    fn expand(&mut self, corner: impl Fn(Vector) -> Corner, tolerance: f64) -> Option<Way> {
        for _ in self.corners.len()..MOST {
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

    /// The same of polyhedra, from a polytope that was kept. `at` gives the corner of two numbers.
    ///
    /// The shapes have moved, so the polytope need not be convex. What makes an answer certain holds nevertheless: faces that
    /// all look away from the origin close round it, and where none is nearer than the lowest, neither is the hull of their
    /// corners.
    pub(super) fn resume(
        &mut self,
        corner: impl Fn(Vector) -> Corner,
        at: impl Fn([u16; 2]) -> Corner,
        kept: Kept<'_>,
        tolerance: f64,
    ) -> Option<Lowest> {
        self.clear();
        self.is_as_kept = true;
        self.corners.extend(kept.corners.iter().map(|&of| at(of)));
        for face in kept.faces {
            self.push(face.map(u16::from))?;
        }
        loop {
            let (height, face) = lowest(&self.heights);
            if height.is_nan() || height <= 0.0 || height == GONE {
                return None;
            }
            let normal = self.faces[face].normal;
            let next = corner(normal);
            let reach = next.at.dot(normal);
            if reach - height <= tolerance {
                return Some(Lowest { normal, height, reach, of: self.of(face) });
            }
            if self.corners.len() >= MOST {
                return None;
            }
            self.extend(next, face)?;
        }
    }

    /// How far from the origin the nearest face is that is not level with the lowest, to a tolerance; no more than `most`.
    pub(super) fn next_nearest(&self, lowest: &Lowest, tolerance: f64, most: f64) -> f64 {
        self.nearest_aslant(lowest, tolerance, most).0
    }

    /// That and the number of the face, if it is nearer than `most`.
    fn nearest_aslant(&self, lowest: &Lowest, tolerance: f64, most: f64) -> (f64, Option<usize>) {
        let level = |face: usize| self.at(face).iter().all(|at| at.dot(lowest.normal) >= lowest.height - tolerance);
        let mut least = (most, None);
        for face in 0..self.faces.len() {
            // A face is no nearer than its plane.
            if self.heights[face] < least.0 && !level(face) {
                let distance = self.distance(face);
                least = if distance < least.0 { (distance, Some(face)) } else { least };
            }
        }
        least
    }

    /// Adds points until no face nearer to the origin than this is aslant to the lowest, as above; nothing where the shapes have such a
    /// face, or where it takes too many.
    pub(super) fn widen(
        &mut self,
        corner: impl Fn(Vector) -> Corner,
        least: &Lowest,
        tolerance: f64,
        distance: f64,
    ) -> Option<()> {
        for _ in 0..WIDER {
            let (_, Some(face)) = self.nearest_aslant(least, tolerance, distance) else {
                return (lowest(&self.heights).0 >= least.height - tolerance).then_some(());
            };
            let next = corner(self.faces[face].normal);
            if next.at.dot(self.faces[face].normal) <= self.heights[face] + tolerance || self.corners.len() >= MOST {
                return None;
            }
            self.extend(next, face)?;
        }
        None
    }

    /// Adds a point outside to a polytope that may be one that was kept.
    fn extend(&mut self, point: Corner, seen: usize) -> Option<()> {
        if self.is_as_kept {
            self.is_as_kept = false;
            self.join_all()?;
        }
        self.add(point, seen)
    }

    /// Leaves the polytope to the next step, if there is one.
    pub(super) fn keep(&mut self, store: &mut Store) -> Option<Place> {
        // Corners are fewer.
        const NONE: u8 = u8::MAX;
        const { assert!(MOST < NONE as usize) };
        let Self { corners, faces, heights, places, used, .. } = self;
        places.clear();
        places.resize(corners.len(), NONE);
        used.clear();
        let here = || faces.iter().zip(heights.iter()).filter(|(_, height)| **height != GONE).map(|(face, _)| face);
        for corner in here().flat_map(|face| face.corners) {
            let place = &mut places[usize::from(corner)];
            if *place == NONE {
                *place = used.len() as u8;
                used.push(corners[usize::from(corner)].of);
            }
        }
        store.add(used, here().map(|face| face.corners.map(|corner| places[usize::from(corner)])))
    }

    pub(super) fn clear(&mut self) {
        self.is_as_kept = false;
        self.corners.clear();
        self.faces.clear();
        self.heights.clear();
        self.gone.clear();
    }

    /// A tetrahedron.
    fn begin(&mut self, corner: &impl Fn(Vector) -> Corner, start: Vector) -> Option<()> {
        self.clear();
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
            self.push(corners)?;
        }
        self.join_all()
    }

    /// A new face without neighbours, its number; nothing where it has no area.
    #[inline]
    fn push(&mut self, corners: [u16; 3]) -> Option<u16> {
        let [a, b, c] = corners.map(|corner| self.corners[usize::from(corner)].at);
        let across = (b - a).cross(c - a);
        let squared = across.length_squared();
        if squared <= NOTHING {
            return None;
        }
        let normal = across * squared.sqrt().recip();
        let face = Face { corners, beyond: [NO_EDGE; 3], normal };
        // The lowest of the three, as a sliver's normal is not quite across it.
        let height = normal.dot(a).min(normal.dot(b)).min(normal.dot(c));
        Some(match self.gone.pop() {
            Some(number) => {
                (self.faces[usize::from(number)], self.heights[usize::from(number)]) = (face, height);
                number
            }
            None => {
                self.faces.push(face);
                self.heights.push(height);
                (self.faces.len() - 1) as u16
            }
        })
    }

    /// Makes neighbours of faces that share an edge; nothing where an edge has but one.
    fn join_all(&mut self) -> Option<()> {
        let Self { corners, faces, edges, .. } = self;
        let place = |from: u16, to: u16| usize::from(from) * corners.len() + usize::from(to);
        edges.clear();
        edges.resize(corners.len() * corners.len(), NO_EDGE);
        for (number, Face { corners: [a, b, c], .. }) in faces.iter().enumerate() {
            for (edge, (&from, &to)) in [(a, b), (b, c), (c, a)].into_iter().enumerate() {
                edges[place(from, to)] = (number as u16, edge as u16);
            }
        }
        for face in faces {
            let [a, b, c] = face.corners;
            face.beyond = [(b, a), (c, b), (a, c)].map(|(from, to)| edges[place(from, to)]);
            if face.beyond.contains(&NO_EDGE) {
                return None;
            }
        }
        Some(())
    }

    fn join(&mut self, one: Edge, other: Edge) {
        self.faces[usize::from(one.0)].beyond[usize::from(one.1)] = other;
        self.faces[usize::from(other.0)].beyond[usize::from(other.1)] = one;
    }

    /// Replaces the faces that a point outside sees, of which one is known, with those between their rim and the point.
    /// Nothing where rounding leaves no rim that goes round once.
    fn add(&mut self, point: Corner, seen: usize) -> Option<()> {
        self.rim.clear();
        self.fan.clear();
        self.open.clear();
        self.heights[seen] = GONE;
        self.gone.push(seen as u16);
        self.open.extend(self.faces[seen].beyond.iter().rev());
        while let Some((number, edge)) = self.open.pop() {
            let face = usize::from(number);
            if self.heights[face] == GONE {
                continue;
            }
            let Face { corners, beyond, normal } = &self.faces[face];
            let on = self.corners[usize::from(corners[usize::from(edge)])].at;
            if normal.dot(point.at - on) < -LEVEL {
                self.rim.push((number, edge));
            } else {
                self.heights[face] = GONE;
                self.gone.push(number);
                self.open.extend([beyond[(usize::from(edge) + 2) % 3], beyond[(usize::from(edge) + 1) % 3]]);
            }
        }
        let top = self.corners.len() as u16;
        self.corners.push(point);
        let count = self.rim.len();
        // The ends of an edge of the rim, as the face beyond it has them.
        let ends = |polytope: &Self, (face, edge): Edge| {
            let (ring, edge) = (polytope.faces[usize::from(face)].corners, usize::from(edge));
            (ring[(edge + 1) % 3], ring[edge])
        };
        for number in 0..count {
            let (from, to) = ends(self, self.rim[number]);
            if to != ends(self, self.rim[(number + 1) % count]).0 {
                return None;
            }
            let face = self.push([from, to, top])?;
            self.join((face, 0), self.rim[number]);
            self.fan.push(face);
        }
        for number in 0..count {
            self.join((self.fan[number], 1), (self.fan[(number + 1) % count], 2));
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
        let corners = self.faces[face].corners.map(|corner| self.corners[usize::from(corner)]);
        let middle = corners
            .iter()
            .zip(shares)
            .fold(Vector::ZERO, |sum, (&Corner { p, q, .. }, share)| sum + 0.5 * share * (p + q));
        let way = Way { normal, separation: -reach, middle, of: self.of(lowest) };
        (middle.is_finite() && reach.is_finite()).then_some(way)
    }

    fn of(&self, face: usize) -> [[u16; 2]; 3] {
        self.faces[face].corners.map(|corner| self.corners[usize::from(corner)].of)
    }

    fn at(&self, face: usize) -> [Vector; 3] {
        self.faces[face].corners.map(|corner| self.corners[usize::from(corner)].at)
    }

    /// How far a face is from the origin: its plane's distance, or that of its rim.
    fn distance(&self, face: usize) -> f64 {
        let [a, b, c] = self.at(face);
        if self.shares(face).iter().all(|&share| share >= 0.0) {
            return self.heights[face];
        }
        let squared = |from: Vector, to: Vector| {
            let edge = to - from;
            let along = (-from.dot(edge) / edge.length_squared()).clamp(0.0, 1.0);
            (from + edge * along).length_squared()
        };
        squared(a, b).min(squared(b, c)).min(squared(c, a)).sqrt()
    }

    /// The point of a face's plane that is nearest to the origin, as shares of the corners.
    fn shares(&self, face: usize) -> [f64; 3] {
        let (normal, [a, b, c]) = (self.faces[face].normal, self.at(face));
        let across = (b - a).cross(c - a).dot(normal);
        let share = |a: Vector, b: Vector| a.cross(b).dot(normal) / across;
        [share(b, c), share(c, a), share(a, b)]
    }
}
