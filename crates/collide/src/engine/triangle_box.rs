//! A triangle and a box, by separating axes (S. Gottschalk, M. Lin, D. Manocha, OBBTree, 1996).
//!
//! Of two polyhedra within each other the way out is the least of what faces' normals and cross products of edges say. Where they are
//! apart the largest of these is their distance if the corner and the face that it is about face each other; else nothing is said here,
//! and general algorithms are asked.

use super::couple::Parted;
use super::facing::Nearest;
use super::placed::Placed;
use super::{Matrix, Vector};

/// Of the box's size, by how much one direction must be better than the one before: what differs by rounding is the same, and a face
/// comes first.
const ROUNDING: f64 = 1e-13;
/// Sine, squared, of the angle between edges whose cross product says nothing.
const PARALLEL: f64 = 1e-12;

/// What a direction is made from.
#[derive(Clone, Copy)]
enum Axis {
    /// A face of the box, by its axis.
    Face(usize),
    /// The triangle.
    Triangle,
    /// An axis of the box and an edge of the triangle.
    Edges(usize, usize),
}

/// The best direction so far, in the box's axes, from the box to the triangle: how far they are apart along it.
struct Best {
    separation: f64,
    normal: Vector,
    axis: Axis,
}

/// The nearest points of a box of these half edges, and of a triangle by its corners about its centre. `None`: these are others than its
/// directions tell.
pub(super) fn nearest(
    half: Vector,
    a: &Placed,
    corners: [Vector; 3],
    b: &Placed,
    within: f64,
) -> Option<Result<Nearest, Parted>> {
    let offset = b.centre - a.centre;
    let corners = corners.map(|corner| a.local(corner + offset));
    let best = match separate(half, corners, within) {
        Ok(best) => best?,
        Err(along) => return Some(Err(Parted { along: a.axes * along })),
    };
    let Best { separation, normal, axis } = best;
    let on_box = match axis {
        Axis::Face(k) => {
            let on_box = lowest(corners, normal)? - normal * separation;
            let beside = (0..3).any(|other| other != k && on_box[other].abs() > half[other]);
            if separation > 0.0 && beside {
                return None;
            }
            // Of corners as low as each other another one may be over the face.
            on_box.clamp(-half, half)
        }
        Axis::Triangle => {
            let on_box = Vector::new(half.x.copysign(normal.x), half.y.copysign(normal.y), half.z.copysign(normal.z));
            if separation > 0.0 && !is_over(corners, on_box, normal) {
                return None;
            }
            on_box
        }
        Axis::Edges(..) if separation > 0.0 => return None,
        Axis::Edges(k, edge) => on_edge(half, (k, normal), [corners[edge], corners[(edge + 1) % 3]]),
    };
    let middle = a.axes * (on_box + normal * (0.5 * separation));
    Some(Ok(Nearest { normal: a.axes * normal, distance: separation, middle }))
}

/// Directions that were looked along.
struct Search {
    best: Option<Best>,
    /// What parts them by more ends the search.
    within: f64,
    /// By how much one must be better than those before.
    least: f64,
}

impl Search {
    /// Both ways along a direction: how high the box is, and the lowest and highest corner. `Err`: it parts them by more than `within`.
    fn look(&mut self, normal: Vector, high: f64, [low, top]: [f64; 2], axis: Axis) -> Result<(), Vector> {
        let (separation, normal) = if low >= -top { (low - high, normal) } else { (-top - high, -normal) };
        if separation > self.within {
            return Err(normal);
        }
        if self.best.as_ref().is_none_or(|best| separation > best.separation + self.least) {
            self.best = Some(Best { separation, normal, axis });
        }
        Ok(())
    }
}

/// The direction that parts them most; `Err`: one that parts them by more than `within`. `None`: the triangle has no area.
fn separate(half: Vector, corners: [Vector; 3], within: f64) -> Result<Option<Best>, Vector> {
    let mut search = Search { best: None, within, least: ROUNDING * half.max_element() };
    let [p, q, r] = corners;
    let (low, top) = (p.min(q).min(r), p.max(q).max(r));
    for (k, axis) in [Vector::X, Vector::Y, Vector::Z].into_iter().enumerate() {
        search.look(axis, half[k], [low[k], top[k]], Axis::Face(k))?;
    }
    let across = (q - p).cross(r - p);
    if across == Vector::ZERO {
        return Ok(None);
    }
    if search.best.as_ref().is_some_and(|best| is_least(half, corners, best)) {
        return Ok(search.best);
    }
    let Some(normal) = across.try_normalize() else { return Ok(None) };
    let height = p.dot(normal);
    search.look(normal, normal.abs().dot(half), [height; 2], Axis::Triangle)?;
    for edge in 0..3 {
        let (from, to, third) = (corners[edge], corners[(edge + 1) % 3], corners[(edge + 2) % 3]);
        let along = to - from;
        for (k, axis) in [Vector::X, Vector::Y, Vector::Z].into_iter().enumerate() {
            let cross = axis.cross(along);
            let square = cross.length_squared();
            if square <= PARALLEL * along.length_squared() {
                continue;
            }
            let normal = cross / square.sqrt();
            let (one, other) = (from.dot(normal), third.dot(normal));
            let ends = [one.min(other), one.max(other)];
            search.look(normal, normal.abs().dot(half), ends, Axis::Edges(k, edge))?;
        }
    }
    Ok(search.best)
}

/// Whether no direction parts them more than the best face does. The lowest corner tells: over the face it is as near as two points of
/// them come, and below it, as far from every plane that the box touches as from the nearest face.
fn is_least(half: Vector, corners: [Vector; 3], face: &Best) -> bool {
    let depth = (-face.separation).max(0.0);
    lowest(corners, face.normal).is_some_and(|lowest| {
        // Of the face's own axis: not as far below it that the face behind is nearer.
        let room = |k: usize| if face.normal[k] == 0.0 { half[k] - lowest[k].abs() } else { half[k] };
        (0..3).all(|k| room(k) >= depth)
    })
}

/// The lowest corner along a normal.
fn lowest(corners: [Vector; 3], normal: Vector) -> Option<Vector> {
    corners.into_iter().min_by(|p, q| p.dot(normal).total_cmp(&q.dot(normal)))
}

/// Whether a point lies over a triangle, seen along its normal.
fn is_over(corners: [Vector; 3], point: Vector, normal: Vector) -> bool {
    let sides = [0, 1, 2].map(|k| {
        let (from, to) = (corners[k], corners[(k + 1) % 3]);
        (to - from).cross(point - from).dot(normal)
    });
    sides.iter().all(|&side| side >= 0.0) || sides.iter().all(|&side| side <= 0.0)
}

/// Where the edge of the box along an axis that is farthest along a normal comes nearest to an edge of the triangle.
fn on_edge(half: Vector, (k, normal): (usize, Vector), [from, to]: [Vector; 2]) -> Vector {
    let mut corner = Vector::new(half.x.copysign(normal.x), half.y.copysign(normal.y), half.z.copysign(normal.z));
    corner[k] = 0.0;
    let axis = Matrix::IDENTITY.col(k);
    // Of the two lines, `corner + s axis` and `from + t along`, seen along the normal.
    let along = to - from;
    let across = along.cross(normal);
    let s = (from - corner).dot(across) / axis.dot(across);
    corner[k] = s.clamp(-half[k], half[k]);
    corner
}

#[cfg(test)]
mod tests {
    use super::super::convex::{self, Workspace};
    use super::super::core_shape::Core;
    use super::*;

    /// A number of [-1, 1) that looks like chance.
    fn number(seed: usize, k: usize) -> f64 {
        let x = (seed as f64 * 12.9898 + k as f64 * 78.233).sin() * 43758.5453;
        2.0 * (x - x.floor()) - 1.0
    }

    #[test]
    fn directions_say_what_general_algorithms_say() {
        let (mut said, mut parted, mut left) = ([0; 2], 0, 0);
        for seed in 0..20_000 {
            let vector = |k: usize| Vector::new(number(seed, k), number(seed, k + 1), number(seed, k + 2));
            let half = Vector::new(0.3, 0.4, 0.2) + vector(0).abs() * 0.3;
            let turned = (vector(3), vector(6));
            let x = turned.0.normalize();
            let y = (turned.1 - x * x.dot(turned.1)).normalize();
            let axes = Matrix::from_cols(x, y, x.cross(y));
            let place = |centre: Vector, axes: Matrix| Placed { centre, axes, radius: 1.0, ..Placed::default() };
            let a = place(vector(9), axes);
            let size = if seed % 2 == 0 { 0.05 } else { 0.5 };
            let mut corners = [12, 15, 18].map(|k| vector(k) * size);
            if seed % 5 == 0 {
                // Flat on a face, as far as rounding allows.
                corners.iter_mut().for_each(|corner| *corner -= axes.z_axis * axes.z_axis.dot(*corner));
            }
            let b = place(a.centre + axes * (vector(21) * (half + Vector::splat(0.1))), Matrix::IDENTITY);
            let (first, second) = (Core::Box(half), Core::Triangle(corners));
            let within = 0.08;
            let general = convex::nearest(&first, &a, &second, &b, within, &mut Workspace::default());
            match (nearest(half, &a, corners, &b, within), general) {
                (None, _) => left += 1,
                (Some(Err(_)), Err(_)) => parted += 1,
                (Some(Ok(ours)), Ok(theirs)) => {
                    said[usize::from(ours.distance > 0.0)] += 1;
                    assert!(
                        (ours.distance - theirs.distance).abs() < 1e-9,
                        "{seed}: {} {}",
                        ours.distance,
                        theirs.distance
                    );
                    // Two ways out may be as good.
                    let again = |normal: Vector| {
                        let low =
                            corners.map(|c| (c + b.centre - a.centre).dot(normal)).into_iter().fold(f64::MAX, f64::min);
                        low - a.local(normal).abs().dot(half)
                    };
                    assert!((again(ours.normal) - ours.distance).abs() < 1e-9, "{seed}");
                    let box_side = a.local(ours.middle - ours.normal * (0.5 * ours.distance)).abs() - half;
                    assert!(box_side.max_element().abs() < 1e-9, "{seed}: {box_side:?}");
                }
                (Some(Err(_)), Ok(theirs)) => assert!(theirs.distance > within - 1e-9, "{seed}: {}", theirs.distance),
                (Some(Ok(ours)), Err(_)) => assert!(ours.distance > within - 1e-9, "{seed}: {}", ours.distance),
            }
        }
        assert!(said[0] > 3000 && said[1] > 2000 && parted > 1500 && left < 2000, "{said:?} {parted} {left}");
    }
}
