//! A subsystem of 3,000 degrees of freedom with a sparse matrix in contact with trees: solvers, certificate, derivatives.

use manyworlds_contact::residual::closed_form;
use manyworlds_contact::{ContactProblem, Solution, SolveSettings, SolveStatus, quality, solve};
use manyworlds_gradients::{GradientRules, Inputs, Linearised, Outputs, Purpose};
use manyworlds_tests::elastic::Elastic;
use nalgebra::{DMatrix, DVector};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn solved(problem: &ContactProblem, solver: &str, tolerance: f64) -> Solution {
    let settings = SolveSettings { tolerance, ..Default::default() };
    solve(problem, solver, &settings).expect("a known solver")
}

/// A problem by its matrices alone: no factor of ours.
struct Whole<'a> {
    p: &'a ContactProblem,
    j: DMatrix<f64>,
}

impl<'a> Whole<'a> {
    fn new(p: &'a ContactProblem) -> Self {
        let mut j = DMatrix::<f64>::zeros(p.n_rows, p.n_v);
        for c in &p.constraints {
            for side in &p.sides[c.sides.clone()] {
                let s = &p.subsystems[side.subsystem];
                let dofs = p.touched_by(side.subsystem, &side.dofs);
                let columns: Vec<usize> =
                    dofs.map_or_else(|| (0..s.count).collect(), |dofs| dofs.iter().map(|&i| i as usize).collect());
                for r in 0..c.law.rows() {
                    for (k, &column) in columns.iter().enumerate() {
                        j[(c.row + r, s.begin + column)] += p.jacobian[side.offset + r * columns.len() + k];
                    }
                }
            }
        }
        Self { p, j }
    }

    /// `A v`.
    fn times(&self, v: &DVector<f64>) -> DVector<f64> {
        let mut out = DVector::zeros(v.len());
        for s in &self.p.subsystems {
            let (block, own) = (self.p.block(s), s.begin..s.begin + s.count);
            if block.is_empty() {
                let matrix = self.p.sparse[0].matrix();
                matrix.add_times(&v.as_slice()[own.clone()], &mut out.as_mut_slice()[own]);
            }
            for (k, x) in block.iter().enumerate() {
                out[s.begin + k / s.count] += x * v[s.begin + k % s.count];
            }
        }
        out
    }

    /// `A^-1 b`, by conjugate gradients down to rounding.
    fn solve(&self, b: &DVector<f64>) -> DVector<f64> {
        let (mut v, mut left) = (DVector::zeros(b.len()), b.clone());
        let mut way = left.clone();
        for _ in 0..b.len() {
            let along = self.times(&way);
            let square = left.norm_squared();
            let step = square / way.dot(&along);
            v += &way * step;
            left -= along * step;
            if left.norm() < 1e-16 * b.norm() {
                return v;
            }
            way = &left + way * (left.norm_squared() / square);
        }
        panic!("{} left of {}", left.norm(), b.norm());
    }

    /// Residual number 1, and what a velocity leaves of the momentum balance, relative, by the laws alone.
    fn residual(&self, lambda: &[f64], v: &[f64]) -> (f64, f64) {
        let lambda = DVector::from_column_slice(lambda);
        let right = DVector::from_column_slice(&self.p.b) + self.j.tr_mul(&lambda);
        let left = (self.times(&DVector::from_column_slice(v)) - &right).norm() / right.norm();
        let sigma = &self.j * self.solve(&right);
        let mut square = 0.0;
        for c in &self.p.constraints {
            let own = |x: &DVector<f64>| std::array::from_fn(|r| x[c.row + r]);
            let t = closed_form(c.law, 1.0, own(&lambda), own(&sigma), c.e);
            square += (0..3).map(|r| (lambda[c.row + r] - t[r]).powi(2)).sum::<f64>();
        }
        (square.sqrt() / self.p.n_contacts as f64, left)
    }
}

#[test]
fn three_thousand_degrees_of_freedom_are_solved_by_every_kind_of_solver() {
    let scene = Elastic::new(10, 0.5, 1);
    let p = scene.problem(Vec::new());
    assert_eq!((p.subsystems.last().map(|s| s.count), p.sparse.len()), (Some(3000), 1));
    assert!(p.n_contacts > 150, "{}", p.n_contacts);
    assert!(p.jacobian.len() < 100 * p.n_contacts, "sides are as long as what they touch");
    let whole = Whole::new(&p);
    for (solver, tolerance) in [("auto", 1e-12), ("canal", 1e-10), ("subadmm", 1e-7)] {
        let s = solved(&p, solver, tolerance);
        assert_eq!(s.status, SolveStatus::Converged, "{solver}: {:?} in {}", s.quality, s.iterations);
        let (residual, momentum) = whole.residual(&s.lambda, &s.v);
        assert!(residual <= 2.0 * tolerance, "{solver}: {residual}");
        assert!((residual - s.quality.residual).abs() < 1e-13, "{solver}: {residual} {:?}", s.quality);
        // Solvers whose unknowns are velocities leave some.
        assert!(momentum < 1e3 * tolerance, "{solver}: {momentum}");
        let carrying = s.lambda.chunks_exact(3).filter(|l| l[2] > 1e-9).count();
        assert!(carrying > 50, "{solver}: {carrying} carry");
    }
    // A certificate sees what is wrong.
    let mut s = solved(&p, "auto", 1e-12);
    let at = (0..p.n_rows / 3).find(|i| s.lambda[3 * i + 2] > 1e-6).expect("one that carries");
    s.lambda[3 * at + 2] *= 1.001;
    assert!(quality(&p, &s.lambda, &s.v).residual > 1e-11);
}

fn noise(n: usize, seed: u64) -> Vec<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (0..n).map(|_| rng.random_range(-1.0..1.0)).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Products with the Jacobian and its transpose against central differences of the step, along directions of q, v and tau.
fn check_derivatives(edge: usize, seed: u64) {
    const STEP: f64 = 1e-6;
    let scene = Elastic::new(edge, 0.5, seed);
    let tolerance = 1e-15;
    let problem = scene.problem(Vec::new());
    let s = solved(&problem, "auto", tolerance);
    assert!(s.quality.residual < 1e-13, "{:?}", s.quality);
    let after = scene.stepped(&s.v);
    let n = scene.n_v();
    let outputs = Outputs { q: noise(n, 11), v: noise(n, 12), ..Outputs::default() };
    let zeros = vec![0.0; n];
    let directions: Vec<[Vec<f64>; 3]> =
        (0..3).map(|k| std::array::from_fn(|i| if i == k { noise(n, 20 + k as u64) } else { zeros.clone() })).collect();
    let (back, along) = scene.with_step(&problem, &s.lambda, |input| {
        let step = Linearised::new(input, Purpose::Products, GradientRules::default());
        let (back, certificate) = step.back(&outputs);
        assert!(certificate.valid(), "{certificate:?}");
        assert!(certificate.margin > 20.0 * STEP * 0.02, "{certificate:?}");
        let along: Vec<Outputs> = directions
            .iter()
            .map(|[q, v, tau]| {
                let inputs =
                    Inputs { q: q.clone(), v: v.clone(), tau: tau.clone(), ctrl: Vec::new(), ..Inputs::default() };
                step.along(&inputs).0
            })
            .collect();
        (back, along)
    });
    // Forces are larger than speeds by what a step makes of them; displacements are smaller.
    for (k, (direction, size)) in directions.iter().zip([0.02, 1.0, 1.0]).enumerate() {
        let [ahead, behind] = [1.0, -1.0].map(|sign| {
            let moved = scene.moved(direction.each_ref().map(|x| &x[..]), sign * size * STEP);
            let problem = moved.problem(s.lambda.clone());
            let s = solved(&problem, "auto", tolerance);
            assert!(s.quality.residual < 1e-13, "{:?}", s.quality);
            moved.stepped(&s.v).difference(&after)
        });
        let [dq, dv] = [0, 1].map(|i| -> Vec<f64> {
            ahead[i].iter().zip(&behind[i]).map(|(a, b)| (a - b) / (2.0 * size * STEP)).collect()
        });
        for (found, exact) in [(&along[k].q, &dq), (&along[k].v, &dv)] {
            let scale = exact.iter().fold(0.0f64, |m, x| m.max(x.abs()));
            let worst = found.iter().zip(exact).fold(0.0f64, |m, (a, b)| m.max((a - b).abs()));
            assert!(worst < 1e-6 * scale, "direction {k}: {worst} of {scale}");
        }
        let [q, v, tau] = direction;
        let product = dot(&back.q, q) + dot(&back.v, v) + dot(&back.tau, tau);
        let difference = dot(&outputs.q, &dq) + dot(&outputs.v, &dv);
        let size = (dot(&dq, &dq) + dot(&dv, &dv)).sqrt();
        assert!((product - difference).abs() < 1e-6 * size, "direction {k}: {product} {difference} of {size}");
        let other = dot(&outputs.q, &along[k].q) + dot(&outputs.v, &along[k].v);
        assert!((product - other).abs() < 1e-8 * size, "direction {k}: {product} {other}");
    }
}

#[test]
fn products_with_a_sparse_subsystem_are_those_of_central_differences() {
    check_derivatives(10, 1);
}

#[test]
fn so_are_those_of_small_ones() {
    for seed in 2..5 {
        check_derivatives(4, seed);
    }
}
