use super::*;
use crate::F64x8;

/// Reproducible numbers in [-1, 1].
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    /// Gram matrix of three vectors: positive definite, or rank one when `thin`.
    fn block(&mut self, thin: bool) -> [f64; 6] {
        let a: [[f64; 3]; 3] = std::array::from_fn(|_| std::array::from_fn(|_| self.next()));
        let dot = |i: usize, j: usize| {
            (0..if thin { 1 } else { 3 }).map(|k| a[i][k] * a[j][k]).sum::<f64>()
                + if i == j && !thin { 0.3 } else { 0.0 }
        };
        [dot(0, 0), dot(0, 1), dot(0, 2), dot(1, 1), dot(1, 2), dot(2, 2)]
    }
}

fn length(x: [f64; 3]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// Visits of one contact until its residual stops mattering; the count and the residual.
fn settle(mu: f64, g: &[f64; 6], free: [f64; 3], from: [f64; 3]) -> (usize, f64) {
    let inverse = invert(g);
    let mut lambda = from;
    for visit in 0..50 {
        let own = symmetric_times(g, &lambda);
        let sigma = [free[0] + own[0], free[1] + own[1], free[2] + own[2]];
        let r = length(residual(mu, 1.0, &lambda, &sigma));
        if r < 1e-10 {
            return (visit, r);
        }
        lambda = solve(mu, g, &inverse, &lambda, &sigma);
    }
    let own = symmetric_times(g, &lambda);
    (50, length(residual(mu, 1.0, &lambda, &[free[0] + own[0], free[1] + own[1], free[2] + own[2]])))
}

#[test]
fn regularised_inverse_inverts() {
    let mut noise = Noise(1);
    for _ in 0..200 {
        let g = noise.block(false);
        let x = [noise.next(), noise.next(), noise.next()];
        let back = symmetric_times(&invert(&g), &symmetric_times(&g, &x));
        let error = (0..3).map(|i| (back[i] - x[i]).abs()).fold(0.0, f64::max);
        assert!(error < 1e-4 && error > 0.0, "{error}");
        assert!(invert(&noise.block(true)).iter().all(|x| x.is_finite()));
    }
    assert_eq!(invert(&[0.0; 6]), [0.0; 6]);
}

#[test]
fn one_contact_is_solved_in_a_few_visits() {
    let mut noise = Noise(2);
    let mut worst = 0;
    for _ in 0..2000 {
        let g = noise.block(false);
        let mu = 0.5 * (noise.next() + 1.0);
        let free = [noise.next(), noise.next(), 2.0 * noise.next()];
        let from = if noise.next() < 0.0 { [0.0; 3] } else { project(mu, &[noise.next(), noise.next(), noise.next()]) };
        let (visits, r) = settle(mu, &g, free, from);
        assert!(r < 1e-10, "{g:?} {mu} {free:?}: {r}");
        worst = worst.max(visits);
    }
    assert!(worst <= 8, "{worst} visits");
}

#[test]
fn a_sphere_sticks_slides_separates_and_a_frictionless_one_only_pushes() {
    // Unit mass and inertia 0.4 m r^2, r = 1: tangential response 1 + 1 / 0.4.
    let g = [3.5, 0.0, 0.0, 3.5, 0.0, 1.0];
    let inverse = invert(&g);
    let visit = |mu: f64, sigma: [f64; 3]| {
        (0..6).fold([0.0; 3], |lambda, _| {
            let own = symmetric_times(&g, &lambda);
            solve(mu, &g, &inverse, &lambda, &[sigma[0] + own[0], sigma[1] + own[1], sigma[2] + own[2]])
        })
    };
    let near = |x: [f64; 3], y: [f64; 3]| length([x[0] - y[0], x[1] - y[1], x[2] - y[2]]) < 1e-9;
    assert!(near(visit(0.5, [0.7, 0.0, -1.0]), [-0.2, 0.0, 1.0]));
    assert!(near(visit(0.5, [3.0, -4.0, -1.0]), [-0.3, 0.4, 1.0]));
    assert!(near(visit(0.5, [3.0, -4.0, 0.1]), [0.0; 3]));
    assert!(near(visit(0.0, [3.0, -4.0, -1.0]), [0.0, 0.0, 1.0]));
    assert!(near(visit(-1.0, [3.5, -7.0, 1.0]), [-1.0, 2.0, -1.0]));
    assert!(!near(visit(0.5, [3.0, -4.0, -1.0]), [-0.3, 0.4, 1.0 + 1e-8]), "the comparison can fail");
}

#[test]
fn an_empty_slot_is_left_alone() {
    let zero = [0.0; 3];
    assert_eq!(solve(0.0, &[0.0; 6], &invert(&[0.0; 6]), &zero, &zero), zero);
    assert_eq!(residual(0.0, 1.0, &zero, &zero), zero);
    assert_eq!(scaled_residual(0.0, 0.0, &zero, &zero), 0.0);
}

#[test]
fn packs_give_the_bits_of_scalars() {
    let mut noise = Noise(3);
    let pack = |f: &dyn Fn(usize) -> f64| {
        let mut p = F64x8::lit(0.0);
        for lane in 0..F64x8::N {
            p.set_lane(lane, f(lane));
        }
        p
    };
    for _ in 0..200 {
        let cases: Vec<_> = (0..F64x8::N)
            .map(|lane| {
                let g = noise.block(lane == 3);
                let lambda = [noise.next(), noise.next(), noise.next().abs()];
                (noise.next().max(-0.1), g, lambda, [noise.next(), noise.next(), noise.next()])
            })
            .collect();
        let mu = pack(&|l| cases[l].0);
        let g: [_; 6] = std::array::from_fn(|i| pack(&|l| cases[l].1[i]));
        let lambda: [_; 3] = std::array::from_fn(|i| pack(&|l| cases[l].2[i]));
        let sigma: [_; 3] = std::array::from_fn(|i| pack(&|l| cases[l].3[i]));
        let together = solve(mu, &g, &invert(&g), &lambda, &sigma);
        let residuals = residual(mu, F64x8::lit(0.7), &lambda, &sigma);
        for (lane, (mu, g, lambda, sigma)) in cases.iter().enumerate() {
            let alone = solve(*mu, g, &invert(g), lambda, sigma);
            let alone_residual = residual(*mu, 0.7, lambda, sigma);
            for i in 0..3 {
                assert_eq!(together[i].lane(lane).to_bits(), alone[i].to_bits());
                assert_eq!(residuals[i].lane(lane).to_bits(), alone_residual[i].to_bits());
            }
        }
    }
}
