//! Solids by distance functions: points of one surface where the other's function is below the reach.
//!
//! Of two functions both surfaces are sampled, each against the other, so that a rim on a face is found from either side.
//! Blocks of points are passed over by the function's value at their centre; of a block the deepest point alone counts,
//! and when more than the pair's number are left, clusters of them are thinned to their deepest. Functions are evaluated
//! in f64 in both precisions.

use manyworlds_model::{Block, DistanceFunction, Sdf, Vec3};

use super::placed::{Placed, vector};
use super::{Kind, Sink, Vector};

/// How much farther than its value a function's zero may be: see [`DistanceFunction`].
const SLACK: f64 = 1.02;
/// A point whose own outward normal makes less than 60 degrees with the other's faces away from it: the far side of a wall.
const FACING: f64 = 0.5;
/// Features of points of the second shape; those of the first have the bit clear.
const SECOND: u32 = 1 << 31;
/// Points along the axis of a capsule, or an edge of a box, that meet a function.
const ALONG: u32 = 9;

/// A point of one surface near the other shape; the normal is from the first shape to the second.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    point: Vector,
    normal: Vector,
    distance: f64,
    feature: u32,
}

/// Memory of the clustering.
#[derive(Default)]
pub(super) struct Candidates {
    found: Vec<Candidate>,
    clusters: Clusters,
    /// By cluster: its deepest.
    kept: Vec<Option<Candidate>>,
}

/// Candidates on their way into clusters, by point and normal in one space.
#[derive(Default)]
struct Clusters {
    places: Vec<[f64; 6]>,
    /// How far each is from the first of its cluster (squared).
    apart: Vec<f64>,
    /// Those behind the number in use are memory.
    all: Vec<Cluster>,
}

/// A cluster.
#[derive(Default)]
struct Cluster {
    /// Where its first is.
    middle: [f64; 6],
    members: Vec<u32>,
    /// Largest distance of one of them (squared), and the first that has it.
    farthest: (f64, u32),
}

/// More than rounding can do to a comparison of distances.
const ROUNDING: f64 = 1e-9;

fn squared(a: &[f64; 6], b: &[f64; 6]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

impl Cluster {
    /// Takes one more.
    fn add(&mut self, member: u32, apart: f64) {
        self.members.push(member);
        self.see(member, apart);
    }

    fn see(&mut self, member: u32, apart: f64) {
        let (most, first) = self.farthest;
        if apart > most || (apart == most && member < first) {
            self.farthest = (apart, member);
        }
    }
}

impl Clusters {
    /// `scale` makes places beside normals.
    fn begin(&mut self, found: &[Candidate], scale: f64) {
        self.places.clear();
        self.places.extend(found.iter().map(|c| {
            let [point, normal] = [(c.point * scale).to_array(), c.normal.to_array()];
            [point[0], point[1], point[2], normal[0], normal[1], normal[2]]
        }));
        self.apart.clear();
        self.apart.resize(found.len(), f64::INFINITY);
    }

    /// Makes a new cluster about a candidate, of all that are nearer to it than to the first of theirs.
    fn grow(&mut self, number: usize, first: usize) {
        if self.all.len() == number {
            self.all.push(Cluster::default());
        }
        let Self { places, apart, all } = self;
        let (before, rest) = all.split_at_mut(number);
        let new = &mut rest[0];
        new.middle = places[first];
        new.members.clear();
        new.farthest = (-1.0, u32::MAX);
        if number == 0 {
            for (member, place) in places.iter().enumerate() {
                apart[member] = squared(place, &new.middle);
                new.add(member as u32, apart[member]);
            }
        }
        for cluster in before {
            // By the triangle's inequality none of its members is nearer to a place more than twice as far as all of them.
            if squared(&cluster.middle, &new.middle) > (4.0 + ROUNDING) * cluster.farthest.0 {
                continue;
            }
            cluster.farthest = (-1.0, u32::MAX);
            let mut members = std::mem::take(&mut cluster.members);
            members.retain(|&member| {
                let now = squared(&places[member as usize], &new.middle);
                let own = &mut apart[member as usize];
                let leaves = now < *own;
                if leaves {
                    *own = now;
                    new.add(member, now);
                } else {
                    cluster.see(member, *own);
                }
                !leaves
            });
            cluster.members = members;
        }
    }

    /// Of so many clusters the first of those that are farthest from the first of theirs.
    fn farthest(&self, count: usize) -> usize {
        let mut found = (-1.0, u32::MAX);
        for &(apart, member) in self.all[..count].iter().map(|cluster| &cluster.farthest) {
            if apart > found.0 || (apart == found.0 && member < found.1) {
                found = (apart, member);
            }
        }
        if found.1 == u32::MAX { 0 } else { found.1 as usize }
    }
}

fn vec3(v: Vector) -> Vec3 {
    Vec3::new(v.x, v.y, v.z)
}

/// A ball touches every part of the surface that has a nearest point to its centre.
pub(super) fn sphere_sdf(a: &Placed, b: &Placed, sdf: &Sdf, sink: &mut Sink<'_>) {
    ball(a.centre, a.size[0], b, sdf.function(), |point, normal, distance, part| {
        sink.push(point, normal, distance, part);
    });
}

/// Contacts of a ball; normals point into the function's solid.
fn ball(
    centre: Vector,
    radius: f64,
    b: &Placed,
    function: &DistanceFunction,
    mut found: impl FnMut(Vector, Vector, f64, u32),
) {
    function.parts(&vec3(b.local(centre - b.centre)), |part, distance, gradient| {
        let normal = -(b.axes * vector(&gradient));
        found(centre + normal * (0.5 * (distance + radius)), normal, distance - radius, part);
    });
}

/// A plane, capsule or box against a function.
pub(super) fn solid_sdf(
    kind: Kind,
    a: &Placed,
    b: &Placed,
    sdf: &Sdf,
    candidates: &mut Candidates,
    sink: &mut Sink<'_>,
) {
    candidates.found.clear();
    let size = a.size;
    match kind {
        Kind::Plane => points(sdf, b, a, &|p: &Vec3| (p.z, Vec3::z()), SECOND, sink.reach, candidates),
        Kind::Capsule => {
            points(sdf, b, a, &|p: &Vec3| capsule(p, size), SECOND, sink.reach, candidates);
            let axis = a.axis() * a.size[1];
            line(a.centre - axis, a.centre + axis, a.size[0], b, sdf, 0, sink.reach, candidates);
        }
        _ => {
            points(sdf, b, a, &|p: &Vec3| cuboid(p, size), SECOND, sink.reach, candidates);
            for edge in 0..12 {
                // Along each axis the four edges with either sign across it.
                let (axis, signs) = (edge % 3, edge / 3);
                let sign = |bit: usize| if signs >> bit & 1 == 1 { 1.0 } else { -1.0 };
                let mut ends = [a.size, a.size];
                for end in &mut ends {
                    end[(axis + 1) % 3] *= sign(0);
                    end[(axis + 2) % 3] *= sign(1);
                }
                ends[0][axis] *= -1.0;
                let [from, to] = ends.map(|end| a.centre + a.axes * Vector::from_array(end));
                line(from, to, 0.0, b, sdf, edge as u32 * ALONG, sink.reach, candidates);
            }
        }
    }
    candidates.emit(sdf.contacts, a.radius.min(b.radius), sink);
}

/// Two functions.
pub(super) fn sdf_sdf(placed: [&Placed; 2], sdfs: [&Sdf; 2], candidates: &mut Candidates, sink: &mut Sink<'_>) {
    let [a, b] = placed;
    candidates.found.clear();
    points(sdfs[1], b, a, sdfs[0].function(), SECOND, sink.reach, candidates);
    points(sdfs[0], a, b, sdfs[1].function(), 0, sink.reach, candidates);
    candidates.emit(sdfs[0].contacts.min(sdfs[1].contacts), a.radius.min(b.radius), sink);
}

/// What points of a surface are held against: a distance and its gradient.
trait Distance {
    fn distance(&self, p: &Vec3) -> (f64, Vec3);

    /// The distances at some points, by coordinate.
    fn values<const N: usize>(&self, [x, y, z]: &[[f64; N]; 3], out: &mut [f64; N]) {
        for (i, value) in out.iter_mut().enumerate() {
            *value = self.distance(&Vec3::new(x[i], y[i], z[i])).0;
        }
    }

    /// The distance where it is below a limit.
    fn value_below(&self, p: &Vec3, limit: f64) -> Option<f64> {
        Some(self.distance(p).0).filter(|distance| *distance < limit)
    }
}

impl Distance for DistanceFunction {
    fn distance(&self, p: &Vec3) -> (f64, Vec3) {
        Self::distance(self, p)
    }

    fn values<const N: usize>(&self, points: &[[f64; N]; 3], out: &mut [f64; N]) {
        Self::values(self, points, out);
    }

    fn value_below(&self, p: &Vec3, limit: f64) -> Option<f64> {
        Self::value_below(self, p, limit)
    }
}

impl<F: Fn(&Vec3) -> (f64, Vec3)> Distance for F {
    fn distance(&self, p: &Vec3) -> (f64, Vec3) {
        self(p)
    }
}

/// Points of a sampled surface where another shape's function is below the reach, the deepest of each block.
fn points(
    sdf: &Sdf,
    own: &Placed,
    other: &Placed,
    function: &impl Distance,
    side: u32,
    reach: f64,
    candidates: &mut Candidates,
) {
    // From the sampled surface's frame to the other's: as rows of a rotation and an offset.
    let offset = vec3(other.local(own.centre - other.centre));
    let columns = [own.axes.x_axis, own.axes.y_axis, own.axes.z_axis].map(|axis| vec3(other.local(axis)));
    let turn = |v: &Vec3| columns[0] * v.x + columns[1] * v.y + columns[2] * v.z;
    let limit = reach;
    for (number, block) in sdf.blocks().iter().enumerate() {
        if function.value_below(&(turn(&block.centre) + offset), limit + SLACK * block.radius).is_none() {
            continue;
        }
        // Places beyond the last point repeat it.
        let (points, normals) = (&sdf.points()[block.points.clone()], &sdf.normals()[block.points.clone()]);
        let mut places = [[0.0; Block::MOST]; 3];
        for i in 0..Block::MOST {
            let at = turn(&points[i.min(points.len() - 1)]) + offset;
            (0..3).for_each(|axis| places[axis][i] = at[axis]);
        }
        let mut values = [0.0; Block::MOST];
        function.values(&places, &mut values);
        // The deepest that looks at the other's faces: mostly the deepest of all.
        let mut deepest: Option<(f64, Vec3, Vec3)> = None;
        while deepest.is_none() {
            let mut least = (limit, usize::MAX);
            for (i, &value) in values.iter().enumerate().take(points.len()) {
                if value < least.0 {
                    least = (value, i);
                }
            }
            let Some(normal) = normals.get(least.1) else { break };
            let i = least.1;
            values[i] = f64::INFINITY;
            let at = Vec3::new(places[0][i], places[1][i], places[2][i]);
            let (distance, gradient) = function.distance(&at);
            if distance < limit && turn(normal).dot(&gradient) < FACING {
                deepest = Some((distance, at, gradient));
            }
        }
        let Some((distance, at, gradient)) = deepest else { continue };
        let out = other.axes * vector(&gradient);
        candidates.found.push(Candidate {
            point: other.centre + other.axes * vector(&at) - out * (0.5 * distance),
            // From the first shape to the second: out of the other where the sampled one is the second.
            normal: if side == SECOND { out } else { -out },
            distance,
            feature: side | number as u32,
        });
    }
}

/// Balls along a segment of the first shape, the nearest of neighbours and the ends.
fn line(
    from: Vector,
    to: Vector,
    radius: f64,
    b: &Placed,
    sdf: &Sdf,
    feature: u32,
    reach: f64,
    candidates: &mut Candidates,
) {
    let at = |index: u32| from + (to - from) * (f64::from(index) / f64::from(ALONG - 1));
    let value = |index: u32| sdf.function().distance(&vec3(b.local(at(index) - b.centre))).0;
    let values: [f64; ALONG as usize] = std::array::from_fn(|index| value(index as u32));
    for index in 0..ALONG as usize {
        let lowest = (index == 0 || values[index] <= values[index - 1])
            && values.get(index + 1).is_none_or(|next| values[index] <= *next);
        let is_end = index == 0 || index + 1 == ALONG as usize;
        if !lowest && !is_end {
            continue;
        }
        let (point, gradient) =
            (at(index as u32), sdf.function().distance(&vec3(b.local(at(index as u32) - b.centre))).1);
        let (distance, normal) = (values[index], -(b.axes * vector(&gradient)));
        if distance - radius < reach {
            candidates.found.push(Candidate {
                point: point + normal * (0.5 * (distance + radius)),
                normal,
                distance: distance - radius,
                feature: feature + index as u32,
            });
        }
    }
}

/// Distance to a capsule along z (radius, half length).
fn capsule(p: &Vec3, size: [f64; 3]) -> (f64, Vec3) {
    let out = p - Vec3::z() * p.z.clamp(-size[1], size[1]);
    let length = out.norm();
    (length - size[0], if length > 0.0 { out / length } else { Vec3::x() })
}

/// Distance to a box of these half edges.
fn cuboid(p: &Vec3, half: [f64; 3]) -> (f64, Vec3) {
    let beyond = Vec3::new(p.x.abs() - half[0], p.y.abs() - half[1], p.z.abs() - half[2]);
    let out = beyond.map(|x| x.max(0.0));
    let length = out.norm();
    let (distance, gradient) = if length > 0.0 {
        (length, out / length)
    } else {
        let axis = beyond.imax();
        let mut unit = Vec3::zeros();
        unit[axis] = 1.0;
        (beyond[axis], unit)
    };
    (distance, gradient.zip_map(p, |g, x| g.copysign(x)))
}

impl Candidates {
    /// Passes on all, or the deepest of as many clusters as there may be contacts.
    ///
    /// Clusters grow about points farthest from those before (Gonzalez 1985), in the metric of places over the size of
    /// the smaller shape and normals; the deepest point of all is the first.
    fn emit(&mut self, most: usize, size: f64, sink: &mut Sink<'_>) {
        if self.found.len() > most {
            self.thin(most, size);
        }
        for found in &self.found {
            sink.push(found.point, found.normal, found.distance, found.feature);
        }
    }

    fn thin(&mut self, most: usize, size: f64) {
        let Self { found, clusters, kept } = self;
        let depth = |c: &Candidate| (c.distance, c.feature);
        let deeper = |a: &Candidate, b: &Candidate| depth(a) < depth(b);
        let mut first = 0;
        for index in 1..found.len() {
            if deeper(&found[index], &found[first]) {
                first = index;
            }
        }
        let scale = if size.is_finite() { size.recip() } else { 1.0 };
        clusters.begin(found, scale);
        for number in 0..most {
            clusters.grow(number, first);
            first = clusters.farthest(number + 1);
        }
        kept.clear();
        for cluster in &clusters.all[..most] {
            let members = cluster.members.iter().map(|&member| found[member as usize]);
            kept.push(members.reduce(|a, b| if deeper(&b, &a) { b } else { a }));
        }
        found.clear();
        found.extend(kept.iter().copied().flatten());
    }
}
