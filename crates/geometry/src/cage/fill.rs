//! What of each cell of a cage a mesh fills.

use super::split::{Corners, split, volume};
use crate::{Vec3, brick};

/// A cell counts as empty that no tetrahedron reaches into, past its neighbours, by more than this part of it: MuJoCo's.
const SHALLOW: f64 = 0.02;

/// Cells of a cage, the last axis fastest, of edges of length one.
pub(super) struct Cells {
    counts: [usize; 3],
    /// Integrals of each cell's shape functions over what fills it, in volumes of a cell; none of a cell that is empty.
    pub(super) integrals: Vec<Vec<f64>>,
}

impl Cells {
    /// Filled by tetrahedra.
    pub(super) fn new(degree: usize, counts: [usize; 3], tetrahedra: impl Iterator<Item = Corners>) -> Self {
        let n: usize = counts.iter().product();
        let mut out = Self { counts, integrals: vec![Vec::new(); n] };
        let parts: Vec<_> = tetrahedra.flat_map(|whole| out.parts(whole)).collect();
        let none = vec![0.0; (degree + 1).pow(3)];
        for (cell, part) in &parts {
            let own = out.number(*cell);
            if out.integrals[own].is_empty() && out.is_deep(*cell, *part) {
                out.integrals[own].clone_from(&none);
            }
        }
        if out.integrals.iter().all(Vec::is_empty) {
            parts.iter().for_each(|(cell, _)| {
                let own = out.number(*cell);
                out.integrals[own].clone_from(&none);
            });
        }
        for (_, part) in parts {
            let middle = part.iter().sum::<Vec3>() / 4.0;
            if let Some((own, origin)) = out.at(middle) {
                add_integrals(degree, part.map(|x| x - origin), &mut out.integrals[own]);
            }
        }
        out
    }

    /// The number and the lowest corner of the filled cell that a point lies in, or next to; `None` where all are empty.
    pub(super) fn at(&self, point: Vec3) -> Option<(usize, Vec3)> {
        let cell = std::array::from_fn(|axis| self.along(axis, point[axis]));
        if !self.integrals[self.number(cell)].is_empty() {
            return Some((self.number(cell), Vec3::from(cell.map(|k| k as f64))));
        }
        let corner = |number: usize| Vec3::from(self.cell(number).map(|k| k as f64));
        let away = |number: &usize| {
            let from = point - corner(*number);
            from.map(|x| (x - 1.0).max(-x).max(0.0)).norm_squared()
        };
        let filled = (0..self.integrals.len()).filter(|&number| !self.integrals[number].is_empty());
        filled.min_by(|a, b| away(a).total_cmp(&away(b))).map(|number| (number, corner(number)))
    }

    /// Where along the axes the cell of a number is.
    pub(super) fn cell(&self, number: usize) -> [usize; 3] {
        let [_, y, z] = self.counts;
        [number / (y * z), number / z % y, number % z]
    }

    fn number(&self, [x, y, z]: [usize; 3]) -> usize {
        (x * self.counts[1] + y) * self.counts[2] + z
    }

    /// The cell of a coordinate.
    fn along(&self, axis: usize, x: f64) -> usize {
        (x.max(0.0) as usize).min(self.counts[axis] - 1)
    }

    /// A tetrahedron cut between cells.
    fn parts(&self, whole: Corners) -> Vec<([usize; 3], Corners)> {
        let mut parts = vec![([0; 3], whole)];
        for axis in 0..3 {
            let mut cut = Vec::new();
            for (cell, part) in parts {
                let along = |pick: fn(f64, f64) -> f64| {
                    self.along(axis, part.iter().map(|x| x[axis]).fold(part[0][axis], pick))
                };
                let [least, most] = [along(f64::min), along(f64::max)];
                let mut rest = vec![part];
                for k in least..=most {
                    let (mut own, mut above) = (Vec::new(), Vec::new());
                    if k == most {
                        own = std::mem::take(&mut rest);
                    }
                    rest.iter().for_each(|part| split(*part, axis, (k + 1) as f64, &mut own, &mut above));
                    rest = above;
                    let at = std::array::from_fn(|other| if other == axis { k } else { cell[other] });
                    cut.extend(own.into_iter().filter(|part| volume(*part) > 0.0).map(|part| (at, part)));
                }
            }
            parts = cut;
        }
        parts
    }

    /// Whether a part of a cell reaches into it.
    fn is_deep(&self, cell: [usize; 3], part: Corners) -> bool {
        let mut inside = vec![part];
        for (axis, &k) in cell.iter().enumerate() {
            let low = k as f64 + if k > 0 { SHALLOW } else { 0.0 };
            let high = (k + 1) as f64 - if k + 1 < self.counts[axis] { SHALLOW } else { 0.0 };
            let (mut outside, mut above, mut between) = (Vec::new(), Vec::new(), Vec::new());
            inside.iter().for_each(|part| split(*part, axis, low, &mut outside, &mut above));
            above.iter().for_each(|part| split(*part, axis, high, &mut between, &mut outside));
            inside = between;
        }
        inside.iter().any(|part| volume(*part) > 0.0)
    }
}

/// Adds the integrals of a cell's shape functions over a tetrahedron in it, exactly: by the product of five points of Gauss on
/// each axis of a cube that collapses into it, which does for polynomials of degree 9 with the map's own 2. What lies outside of the
/// cell counts as what is on its side.
fn add_integrals(degree: usize, part: Corners, sum: &mut [f64]) {
    let points = gauss();
    let whole = 6.0 * volume(part);
    let [a, b, c, d] = part;
    for (x, of_x) in points {
        for (y, of_y) in points {
            for (z, of_z) in points {
                let [u, v, w] = [x, y * (1.0 - x), z * (1.0 - x) * (1.0 - y)];
                let at = a + (b - a) * u + (c - a) * v + (d - a) * w;
                let weight = whole * of_x * of_y * of_z * (1.0 - x).powi(2) * (1.0 - y);
                let values = brick::values(degree, at.map(|x| x.clamp(0.0, 1.0)));
                sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += weight * value);
            }
        }
    }
}

/// Five points of Gauss in the unit interval and their weights.
fn gauss() -> [(f64, f64); 5] {
    let root = (10.0f64 / 7.0).sqrt();
    let [near, far] = [-2.0, 2.0].map(|by| (5.0 + by * root).sqrt() / 3.0);
    let [of_near, of_far] = [13.0, -13.0].map(|by| (322.0 + by * 70f64.sqrt()) / 900.0);
    let points = [(-far, of_far), (-near, of_near), (0.0, 128.0 / 225.0), (near, of_near), (far, of_far)];
    points.map(|(x, weight)| (0.5 + 0.5 * x, 0.5 * weight))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Monomials over the tetrahedron between the axes: `a! b! c! / (a + b + c + 3)!`.
    #[test]
    fn integrals_are_exact() {
        let corners = [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]].map(Vec3::from);
        for degree in [1, 2] {
            let n = degree + 1;
            let mut sum = vec![0.0; n * n * n];
            add_integrals(degree, corners, &mut sum);
            let at = |i: usize| [i / (n * n), i / n % n, i % n].map(|k| k as f64 / degree as f64);
            let factorial = |k: usize| (1..=k).product::<usize>() as f64;
            for powers in (0..n * n * n).map(|i| [i / (n * n), i / n % n, i % n]) {
                let value = |i: usize| (0..3).map(|axis| at(i)[axis].powi(powers[axis] as i32)).product::<f64>();
                let own: f64 = sum.iter().enumerate().map(|(i, x)| x * value(i)).sum();
                let exact = powers.map(factorial).iter().product::<f64>() / factorial(powers.iter().sum::<usize>() + 3);
                assert!((own - exact).abs() < 1e-15, "{powers:?}: {own} {exact}");
            }
        }
    }
}
