//! Tetrahedra cut by planes across an axis.

use crate::Vec3;

/// Corners of a tetrahedron.
pub(super) type Corners = [Vec3; 4];

/// Cuts a tetrahedron into tetrahedra below and above a plane across an axis.
pub(super) fn split(whole: Corners, axis: usize, at: f64, below: &mut Vec<Corners>, above: &mut Vec<Corners>) {
    let height = whole.map(|x| x[axis] - at);
    let pairs = (0..4).flat_map(|i| (0..4).map(move |j| (i, j)));
    let Some((i, j)) = pairs.into_iter().find(|&(i, j)| height[i] < 0.0 && height[j] > 0.0) else {
        if height.iter().any(|&h| h < 0.0) {
            below.push(whole)
        } else {
            above.push(whole)
        }
        return;
    };
    let mut cut = whole[i] + (whole[j] - whole[i]) * (height[i] / (height[i] - height[j]));
    cut[axis] = at;
    // The edge's two halves, each with the other two corners; the plane crosses fewer edges of them.
    for end in [i, j] {
        let mut part = whole;
        part[end] = cut;
        split(part, axis, at, below, above);
    }
}

/// m^3 of a tetrahedron in m, whichever way round its corners are.
pub(super) fn volume([a, b, c, d]: Corners) -> f64 {
    ((b - a).cross(&(c - a)).dot(&(d - a)) / 6.0).abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_fill_the_whole_and_keep_to_their_sides() {
        let whole = [[0.1, 0.0, 0.0], [1.0, 0.2, 0.1], [0.3, 1.1, 0.2], [0.2, 0.3, 0.9]].map(Vec3::from);
        for (axis, at) in [(0, 0.25), (1, 0.25), (2, 0.1), (0, 0.1), (1, 2.0)] {
            let (mut below, mut above) = (Vec::new(), Vec::new());
            split(whole, axis, at, &mut below, &mut above);
            assert!(below.iter().flatten().all(|x| x[axis] <= at) && above.iter().flatten().all(|x| x[axis] >= at));
            let sum: f64 = below.iter().chain(&above).map(|part| volume(*part)).sum();
            assert!((sum - volume(whole)).abs() < 1e-15, "{axis} {at}: {sum}");
        }
    }
}
