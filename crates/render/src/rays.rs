//! Rays, and what they meet.

use manyworlds_model::Vec3;

/// How far along a ray a triangle is (T. Moeller and B. Trumbore, 1997); none where the ray misses it.
pub(crate) fn meets([a, b, c]: [Vec3; 3], from: Vec3, direction: Vec3) -> Option<f64> {
    let (u, v) = (b - a, c - a);
    let p = direction.cross(&v);
    let determinant = u.dot(&p);
    if determinant == 0.0 {
        return None;
    }
    let to = (from - a) / determinant;
    let (x, q) = (to.dot(&p), to.cross(&u));
    let (y, way) = (direction.dot(&q), v.dot(&q));
    (x >= 0.0 && y >= 0.0 && x + y <= 1.0 && way > 0.0).then_some(way)
}

/// Whether a box lies across the way from one point to another; all in its frame.
pub(crate) fn blocks([low, high]: [Vec3; 2], from: Vec3, to: Vec3) -> bool {
    let way = to - from;
    let mut within = (0.0, 1.0);
    for axis in 0..3 {
        if way[axis] == 0.0 {
            if !(low[axis]..=high[axis]).contains(&from[axis]) {
                return false;
            }
            continue;
        }
        let (a, b) = ((low[axis] - from[axis]) / way[axis], (high[axis] - from[axis]) / way[axis]);
        within = (f64::max(within.0, a.min(b)), f64::min(within.1, a.max(b)));
    }
    // What ends inside the box stands in it rather than behind it.
    within.0 < within.1 && within.1 < 1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ray_meets_a_triangle_or_passes_it() {
        let triangle = [[0.0, 0.0, 1.0], [2.0, 0.0, 1.0], [0.0, 2.0, 3.0]].map(Vec3::from);
        let up = |x: f64, y: f64, z: f64| meets(triangle, Vec3::new(x, y, z), Vec3::z());
        assert_eq!(up(0.5, 0.5, -1.0), Some(2.5));
        assert_eq!([up(1.5, 1.0, -1.0), up(-0.1, 0.5, 0.0), up(0.5, 0.5, 2.0)], [None; 3]);
    }

    #[test]
    fn a_box_hides_what_is_behind_it() {
        let (bounds, eye) = ([-Vec3::repeat(1.0), Vec3::repeat(1.0)], Vec3::new(-5.0, 0.0, 0.0));
        for (to, expected) in
            [([5.0, 0.0, 0.0], true), ([0.0, 0.0, 0.0], false), ([-2.0, 0.0, 0.0], false), ([5.0, 9.0, 0.0], false)]
        {
            assert_eq!(blocks(bounds, eye, to.into()), expected, "{to:?}");
        }
    }
}
