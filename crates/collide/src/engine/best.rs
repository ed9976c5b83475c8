//! Which of many points hold a pair best.

use super::Vector;
use super::rounding::Rounding;

/// Points a pair keeps; four hold a face as well as more would, and each is three rows in the solver.
const KEPT: usize = 4;
/// So many are looked at at a time.
const LANES: usize = 4;

/// Points by coordinate: a hull deep in the ground has thousands, which are gone through once for each that is kept.
struct Cloud<'a> {
    /// m
    x: &'a mut [f64],
    y: &'a mut [f64],
    z: &'a mut [f64],
    /// m
    distance: &'a mut [f64],
    /// How well each would hold.
    score: &'a mut [f64],
}

/// Memory for points.
#[derive(Debug, Default)]
pub(super) struct Room(Vec<f64>);

/// Moves the points that hold a pair best to the front, and gives their number: the deepest, the one farthest from it,
/// then those that span the largest area to either side.
pub(super) fn best_first<T>(
    items: &mut [T],
    normal: Vector,
    rounding: Rounding,
    room: &mut Room,
    of: impl Fn(&T) -> (Vector, f64),
) -> usize {
    if items.len() <= KEPT {
        return items.len();
    }
    let mut chosen = Cloud::new(room, items, of).best(normal, rounding);
    for to in 0..KEPT {
        let from = chosen[to];
        items.swap(to, from);
        // What stood at the front stands where the chosen one did.
        chosen[to + 1..].iter_mut().filter(|later| **later == to).for_each(|later| *later = from);
    }
    KEPT
}

impl<'a> Cloud<'a> {
    fn new<T>(Room(room): &'a mut Room, items: &[T], of: impl Fn(&T) -> (Vector, f64)) -> Self {
        let count = items.len();
        room.resize(room.len().max(5 * count), 0.0);
        let (x, rest) = room.split_at_mut(count);
        let (y, rest) = rest.split_at_mut(count);
        let (z, rest) = rest.split_at_mut(count);
        let (distance, rest) = rest.split_at_mut(count);
        let score = &mut rest[..count];
        for (i, item) in items.iter().enumerate() {
            let (point, depth) = of(item);
            (x[i], y[i], z[i], distance[i]) = (point.x, point.y, point.z, depth);
        }
        Self { x, y, z, distance, score }
    }

    fn at(&self, index: usize) -> Vector {
        Vector::new(self.x[index], self.y[index], self.z[index])
    }

    /// Scores all points by their coordinates and distances.
    #[inline(always)]
    fn rate(&mut self, of: impl Fn(Vector, f64) -> f64) {
        let points = self.x.iter().zip(&*self.y).zip(&*self.z).zip(&*self.distance);
        for (score, (((&x, &y), &z), &distance)) in self.score.iter_mut().zip(points) {
            *score = of(Vector::new(x, y, z), distance);
        }
    }

    /// The point of the largest score beside some; the first one among those that are equal to within `tie`.
    fn first(&mut self, beside: &[usize], tie: f64) -> usize {
        beside.iter().for_each(|&kept| self.score[kept] = f64::NEG_INFINITY);
        let least = largest(self.score) - tie;
        let (chunks, _) = self.score.as_chunks::<LANES>();
        let passed = chunks.iter().take_while(|chunk| !chunk.iter().fold(false, |any, &score| any | (score >= least)));
        let begin = LANES * passed.count();
        let found = self.score[begin..].iter().position(|&score| score >= least);
        // None where all are no numbers.
        found.map_or(0, |found| begin + found)
    }

    fn best(&mut self, normal: Vector, rounding: Rounding) -> [usize; KEPT] {
        let middle = Vector::new(sum(self.x), sum(self.y), sum(self.z)) / self.x.len() as f64;
        self.rate(|point, _| point.length_squared());
        let size = largest(self.score).sqrt();
        self.rate(|_, distance| -distance);
        let deepest = -largest(self.score);
        // On a flat patch all are as deep to rounding: its rim holds better than its inside.
        let slack = rounding.blur(size);
        // Of squares of distances, and of areas.
        let tie = 4.0 * slack * size;
        let most = deepest + slack;
        let from_middle = |point: Vector| (point - middle).length_squared();
        self.rate(|point, distance| if distance <= most { from_middle(point) } else { f64::NEG_INFINITY });
        let first = self.first(&[], tie);
        let a = self.at(first);
        self.rate(|point, _| (point - a).length_squared());
        let second = self.first(&[first], tie);
        let b = self.at(second);
        // Twice the area of a triangle on an edge: how far its third corner is along this.
        let along = normal.cross(b - a);
        self.rate(|point, _| (point - a).dot(along).abs());
        let third = self.first(&[first, second], tie);
        let c = self.at(third);
        let side = (c - a).dot(along).signum();
        // Beyond the triangle, across its nearest edge, or on the other side of the first.
        let out = [along, normal.cross(c - b), normal.cross(a - c)].map(|across| across * -side);
        self.rate(|point, _| {
            let [ab, bc, ca] = [(point - a).dot(out[0]), (point - b).dot(out[1]), (point - c).dot(out[2])];
            larger(larger(ab, bc), ca)
        });
        [first, second, third, self.first(&[first, second, third], tie)]
    }
}

/// The larger of two numbers; unlike `f64::max`, one instruction.
#[inline(always)]
fn larger(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

fn largest(numbers: &[f64]) -> f64 {
    let (chunks, rest) = numbers.as_chunks::<LANES>();
    let start = [f64::NEG_INFINITY; LANES];
    let lanes = chunks.iter().fold(start, |most, chunk| std::array::from_fn(|lane| larger(most[lane], chunk[lane])));
    lanes.iter().chain(rest).fold(f64::NEG_INFINITY, |most, &number| larger(most, number))
}

fn sum(numbers: &[f64]) -> f64 {
    let (chunks, rest) = numbers.as_chunks::<LANES>();
    let lanes = chunks.iter().fold([0.0; LANES], |sum, chunk| std::array::from_fn(|lane| sum[lane] + chunk[lane]));
    lanes.iter().chain(rest).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A flat patch with a deep dent: the dent's bottom, the corner farthest from it, and the corners beside the line between
    /// them; whatever else there is, in any order.
    #[test]
    fn the_deepest_and_the_widest() {
        let rounding = Rounding { relative: f64::EPSILON, origin: 0.0 };
        let mut room = Room::default();
        for inside in [3, 500, 36] {
            let mut points = vec![
                (Vector::new(0.5, 0.4, -0.1), -0.1),
                (Vector::new(-1.0, -1.0, 0.0), 0.0),
                (Vector::new(1.0, -1.0, 0.0), 0.0),
                (Vector::new(-1.0, 1.1, 0.0), 0.0),
            ];
            let wanted = points.clone();
            points.extend((0..inside).map(|i| {
                let turn = 2.4 * i as f64;
                (Vector::new(turn.cos(), turn.sin(), 0.0) * 0.2, 0.0)
            }));
            for turn in 0..points.len() {
                let mut turned = points.clone();
                turned.rotate_left(turn);
                assert_eq!(best_first(&mut turned, Vector::Z, rounding, &mut room, |&own| own), KEPT);
                assert_eq!(turned[..2], wanted[..2], "{inside} inside, turned by {turn}");
                assert_eq!(turned[2], wanted[3]);
                assert_eq!(turned[3], wanted[2]);
                let sorted = |mut all: Vec<(Vector, f64)>| {
                    all.sort_by(|a, b| a.0.to_array().partial_cmp(&b.0.to_array()).expect("numbers"));
                    all
                };
                assert_eq!(sorted(turned), sorted(points.clone()), "none is lost or doubled");
            }
        }
    }

    /// Of a triangle with points inside it, the corners and one of those.
    #[test]
    fn none_is_kept_twice() {
        let rounding = Rounding { relative: f64::EPSILON, origin: 0.0 };
        let corner = |k: i32| Vector::new((2.1 * f64::from(k)).cos(), (2.1 * f64::from(k)).sin(), 0.0);
        let points: Vec<(bool, Vector)> =
            (0..9).map(|k| (k < 3, corner(k) * if k < 3 { 1.0 } else { 0.1 * f64::from(k - 2) / 6.0 })).collect();
        for turn in 0..points.len() {
            let mut turned = points.clone();
            turned.rotate_left(turn);
            best_first(&mut turned, Vector::Z, rounding, &mut Room::default(), |&(_, point)| (point, 0.0));
            let corners: Vec<bool> = turned.iter().take(KEPT).map(|own| own.0).collect();
            assert_eq!(corners, [true, true, true, false], "turned by {turn}");
        }
    }

    /// Among equals to rounding, the first.
    #[test]
    fn the_first_among_equals() {
        let rounding = Rounding { relative: f64::EPSILON, origin: 0.0 };
        let corner =
            |k: usize| Vector::new([1.0, -1.0][k & 1], [1.0, -1.0][k >> 1 & 1], 0.0) * (1.0 + 1e-16 * k as f64);
        let mut points: Vec<(usize, Vector)> = (0..8).map(|k| (k, corner(k))).collect();
        best_first(&mut points, Vector::Z, rounding, &mut Room::default(), |&(_, point)| (point, 0.0));
        assert_eq!(points.iter().take(KEPT).map(|&(k, _)| k).collect::<Vec<_>>(), [0, 3, 1, 2]);
    }
}
