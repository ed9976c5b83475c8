//! Bricks: shape functions and points of integration of the unit cube, products of those of the unit interval.
//!
//! `degree` is that along each axis: 1 or 2, with a node more than that and as many points of Gauss. Nodes and points are
//! numbered with the last axis fastest.

use crate::Vec3;

/// Values of the shape functions at a point.
pub(crate) fn values(degree: usize, at: Vec3) -> Vec<f64> {
    product(degree, |axis, k| along(degree, at[axis])[k][0])
}

/// Their gradients.
pub(crate) fn gradients(degree: usize, at: Vec3) -> Vec<Vec3> {
    let by = |axis: usize| product(degree, |other, k| along(degree, at[other])[k][usize::from(other == axis)]);
    let [x, y, z] = [0, 1, 2].map(by);
    x.into_iter().zip(y).zip(z).map(|((x, y), z)| Vec3::new(x, y, z)).collect()
}

/// A point of integration.
pub(crate) fn point(degree: usize, number: usize) -> Vec3 {
    let n = degree + 1;
    Vec3::from([number / (n * n), number / n % n, number % n].map(|k| gauss(degree)[k].0))
}

/// Weights of the points of integration, which sum to one.
pub(crate) fn weights(degree: usize) -> Vec<f64> {
    product(degree, |_, k| gauss(degree)[k].1)
}

/// Numbers of nodes and points from numbers `[axis, k]` of those along the axes.
pub(crate) fn product(degree: usize, of: impl Fn(usize, usize) -> f64) -> Vec<f64> {
    let n = degree + 1;
    (0..n * n * n).map(|i| of(0, i / (n * n)) * of(1, i / n % n) * of(2, i % n)).collect()
}

/// Weights at the points of integration that integrate every shape function as given.
pub(crate) fn fitted(degree: usize, integrals: &[f64]) -> Vec<f64> {
    let points = gauss(degree);
    // Lagrange's polynomial of a point of Gauss where a node is.
    let lagrange = |g: usize, node: usize| {
        let x = node as f64 / degree as f64;
        let others = (0..=degree).filter(|&other| other != g);
        others.map(|other| (x - points[other].0) / (points[g].0 - points[other].0)).product::<f64>()
    };
    mapped(degree, integrals, lagrange)
}

/// The integrals of Bernstein's polynomials from those of the shape functions.
pub(crate) fn bernstein(degree: usize, integrals: &[f64]) -> Vec<f64> {
    let of = |k: usize, node: usize| {
        let x = node as f64 / degree as f64;
        let times = if degree == 2 && k == 1 { 2.0 } else { 1.0 };
        times * x.powi(k as i32) * (1.0 - x).powi((degree - k) as i32)
    };
    mapped(degree, integrals, of)
}

/// Integrals of products of polynomials along the axes, by their values `[polynomial, node]` at nodes.
fn mapped(degree: usize, integrals: &[f64], of: impl Fn(usize, usize) -> f64) -> Vec<f64> {
    let n = degree + 1;
    let split = |i: usize| [i / (n * n), i / n % n, i % n];
    let one = |to: usize| {
        let to = split(to);
        let term =
            |(node, x): (usize, &f64)| x * to.iter().zip(split(node)).map(|(&k, node)| of(k, node)).product::<f64>();
        integrals.iter().enumerate().map(term).sum()
    };
    (0..n * n * n).map(one).collect()
}

/// Lagrange's polynomials of the nodes at a point of the unit interval, with their derivatives.
fn along(degree: usize, x: f64) -> [[f64; 2]; 3] {
    if degree == 1 {
        return [[1.0 - x, -1.0], [x, 1.0], [0.0; 2]];
    }
    [
        [(1.0 - x) * (1.0 - 2.0 * x), 4.0 * x - 3.0],
        [4.0 * x * (1.0 - x), 4.0 - 8.0 * x],
        [x * (2.0 * x - 1.0), 4.0 * x - 1.0],
    ]
}

/// Points of Gauss in the unit interval and their weights.
fn gauss(degree: usize) -> [(f64, f64); 3] {
    if degree == 1 {
        let off = 0.5 / 3f64.sqrt();
        return [(0.5 - off, 0.5), (0.5 + off, 0.5), (0.0, 0.0)];
    }
    let off = 0.5 * 0.6f64.sqrt();
    [(0.5 - off, 5.0 / 18.0), (0.5, 4.0 / 9.0), (0.5 + off, 5.0 / 18.0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shape_functions_are_one_at_their_node_and_sum_to_one() {
        for degree in [1, 2] {
            let n = degree + 1;
            for node in 0..n * n * n {
                let at = Vec3::from([node / (n * n), node / n % n, node % n].map(|k| k as f64 / degree as f64));
                let own = values(degree, at);
                assert!(own.iter().enumerate().all(|(i, x)| *x == f64::from(u8::from(i == node))));
            }
            let at = Vec3::new(0.3, 0.71, -0.1);
            assert!((values(degree, at).iter().sum::<f64>() - 1.0).abs() < 1e-14);
            let slope = gradients(degree, at);
            for axis in 0..3 {
                let by = Vec3::ith(axis, 1e-6);
                let [ahead, behind] = [by, -by].map(|by| values(degree, at + by));
                for (i, slope) in slope.iter().enumerate() {
                    assert!((slope[axis] - (ahead[i] - behind[i]) / 2e-6).abs() < 1e-8);
                }
            }
        }
    }

    /// Over the whole cube the fitted weights are Gauss's, and Bernstein's integrals are all alike.
    #[test]
    fn the_whole_cube_has_weights_of_gauss() {
        for degree in [1, 2] {
            let simpson = [[0.5, 0.5, 0.0], [1.0 / 6.0, 2.0 / 3.0, 1.0 / 6.0]][degree - 1];
            let integrals = product(degree, |_, k| simpson[k]);
            for (own, gauss) in fitted(degree, &integrals).iter().zip(weights(degree)) {
                assert!((own - gauss).abs() < 1e-15);
            }
            let each = ((degree + 1) as f64).powi(-3);
            assert!(bernstein(degree, &integrals).iter().all(|x| (x - each).abs() < 1e-15));
            assert!((weights(degree).iter().sum::<f64>() - 1.0).abs() < 1e-15);
        }
    }
}
