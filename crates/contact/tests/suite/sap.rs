//! SAP: closed forms of its regularised contact, and what it asks of memory.

use std::f64::consts::TAU;

use manyworlds_contact::problem::{Compliance, ConstraintInput, ContactProblem, Law, ProblemInput};
use manyworlds_contact::solve::sap::SapParams;
use manyworlds_contact::solve::{Precision, Solution, SolveSettings, SolveStatus, Workspace, solve_with, solver};

use crate::samples::{G, H, close, constraint, contradiction, particles, problem, random, side, stack, unit};

/// Exact for the comparisons below.
const TIGHT: SapParams = SapParams { near_rigid: 1.0, slip: 1e-3, relative: 1e-13, absolute: 1e-16 };

fn solved(p: &ContactProblem, params: &SapParams) -> Solution {
    let s = solve_with(p, &SolveSettings { iterations: 100, ..Default::default() }, params).unwrap();
    assert_eq!(s.status, SolveStatus::Converged, "{:?}", s.quality);
    s
}

/// A particle of 2 kg on the ground, pushed along x and y.
fn particle(v0: [f64; 3], mu: f64, compliance: Option<Compliance>) -> ContactProblem {
    let mut input = particles(&[2.0], v0);
    let contact = constraint(Law::Contact { mu }, vec![side(0, &unit(1.0))]);
    input.constraints.push(ConstraintInput { compliance, ..contact });
    problem(input)
}

/// Stick, slip and separation of one contact have closed forms: with `v*` the free velocity,
/// `gamma_n (R_n + mu^2 R_t + (1 + mu^2) / m) = v_hat - v*_n + mu |v*_t|` when it slips.
#[test]
fn one_contact_has_its_closed_forms() {
    let m = 2.0;
    // `|I / m|_F / 3`
    let rms = 1.0 / (3.0f64.sqrt() * m);
    let (near, r_t) = (rms / (TAU * TAU), TIGHT.slip * rms);
    let free = -G * H;
    // Sticks: creeps by R_t of what it carries.
    let s = solved(&particle([0.01, 0.0, 0.0], 0.5, None), &TIGHT);
    let n = -free / (near + 1.0 / m);
    let t = -0.01 / (r_t + 1.0 / m);
    close(&s.lambda, &[t, 0.0, n], 1e-12);
    close(&s.v, &[0.01 + t / m, 0.0, free + n / m], 1e-12);
    // Slips, rigid or soft.
    for soft in [None, Some(Compliance { r_n: 0.4, v_hat: 0.03 })] {
        let (r_n, v_hat) = soft.map_or((near, 0.0), |c| (c.r_n, c.v_hat));
        for mu in [0.0, 0.5, 2.0] {
            let s = solved(&particle([3.0, 4.0, 0.0], mu, soft), &TIGHT);
            let n = (v_hat - free + mu * 5.0) / (r_n + mu * mu * r_t + (1.0 + mu * mu) / m);
            close(&s.lambda, &[-0.6 * mu * n, -0.8 * mu * n, n], 1e-10);
        }
    }
    // Leaves.
    let s = solved(&particle([1.0, 0.0, 1.0], 0.5, None), &TIGHT);
    close(&s.v, &[1.0, 0.0, 1.0 + free], 1e-12);
}

/// Softer than near-rigid is as soft as asked for; stiffer is near-rigid.
#[test]
fn stiffness_is_physical_up_to_what_the_step_resolves() {
    let (m, h) = (2.0, H);
    let carried = |k: f64, tau: f64, phi: f64| {
        let soft = Compliance { r_n: 1.0 / (h * k * (h + tau)), v_hat: -phi / (h + tau) };
        solved(&particle([0.0; 3], 0.5, Some(soft)), &TIGHT)
    };
    // Where the spring carries the weight nothing moves.
    let (k, tau) = (5e3, 0.02);
    let s = carried(k, tau, -m * G / k);
    close(&s.v, &[0.0; 3], 1e-14);
    close(&s.lambda, &[0.0, 0.0, m * G * h], 1e-13);
    let near = solved(&particle([0.0; 3], 0.5, None), &TIGHT);
    close(&carried(1e16, 0.0, 0.0).lambda, &near.lambda, 1e-12);
    // No stiffness at all carries nothing.
    let none = Compliance { r_n: 1e300, v_hat: 0.0 };
    close(&solved(&particle([0.0; 3], 0.5, Some(none)), &TIGHT).lambda, &[0.0; 3], 1e-12);
}

/// Soft rows are exact, box rows saturate, bilateral ones give way as near-rigid contacts do.
#[test]
fn scalar_laws_have_their_closed_forms() {
    let m = 2.0;
    let near = 1.0 / (TAU * TAU * m);
    let one = |law, e: f64, v: f64| {
        let constraints =
            vec![ConstraintInput { law, e: [e, 0.0, 0.0], sides: vec![side(0, &[1.0])], compliance: None }];
        let input = ProblemInput {
            subsystems: vec![[0, 1]],
            a: vec![vec![m]],
            b: vec![m * v],
            constraints,
            ..Default::default()
        };
        solved(&problem(input), &TIGHT).lambda[0]
    };
    let near_enough = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
    let held = |e: f64, v: f64, r: f64| -(v + e) / (r + 1.0 / m);
    near_enough(one(Law::Bilateral, 0.1, 1.0), held(0.1, 1.0, near));
    near_enough(one(Law::Unilateral, 0.1, 1.0), 0.0);
    near_enough(one(Law::Unilateral, 0.1, -1.0), held(0.1, -1.0, near));
    near_enough(one(Law::Box { lo: -0.5, hi: 0.2 }, 0.0, 1.0), -0.5);
    near_enough(one(Law::Box { lo: -5.0, hi: 0.2 }, 0.0, 1.0), held(0.0, 1.0, TIGHT.slip / m));
    let v = (2.0 - 0.3) / (2.0 + 4.0);
    near_enough(one(Law::Soft { k: 3.0, b: 4.0, lo: -9.0, hi: 9.0 }, 0.1, 1.0), 2.0 * (v - 1.0));
    near_enough(one(Law::Soft { k: 3.0, b: 4.0, lo: -0.5, hi: 0.5 }, 0.1, 1.0), -0.5);
    // Absurd stiffness and none at all.
    near_enough(one(Law::Soft { k: 0.0, b: 1e16, lo: f64::NEG_INFINITY, hi: f64::INFINITY }, 0.0, 1.0), -2.0);
    near_enough(one(Law::Soft { k: 0.0, b: 0.0, lo: -9.0, hi: 9.0 }, 0.1, 1.0), 0.0);
}

/// The dual, `min 1/2 gamma^T (W + R) gamma + r^T gamma` over the cones (Castro 2022, eq. 22), by sweeps of its own.
fn dual(p: &ContactProblem) -> Vec<f64> {
    let at_rest = vec![0.0; p.n_rows];
    let column = |row: usize| {
        let mut unit = at_rest.clone();
        unit[row] = 1.0;
        let v: Vec<f64> = p.velocity(&unit).iter().zip(&p.v_free).map(|(a, b)| a - b).collect();
        p.constraints.iter().flat_map(|c| p.sigma(c, &v)).collect::<Vec<f64>>()
    };
    let w: Vec<Vec<f64>> = (0..p.n_rows).map(column).collect();
    let free: Vec<f64> = p.constraints.iter().flat_map(|c| p.sigma(c, &p.v_free)).collect();
    let mut gamma = at_rest;
    for _ in 0..20_000 {
        for (i, c) in p.constraints.iter().enumerate() {
            let Law::Contact { mu } = c.law else { panic!("contacts only") };
            let block: f64 = (0..9).map(|k| w[3 * i + k / 3][3 * i + k % 3].powi(2)).sum();
            let rms = block.sqrt() / 3.0;
            let r = [TIGHT.slip * rms, TIGHT.slip * rms, rms / (TAU * TAU)];
            let slope: [f64; 3] = std::array::from_fn(|k| {
                let row = 3 * i + k;
                let pushed: f64 = (0..p.n_rows).map(|j| w[j][row] * gamma[j]).sum();
                pushed + r[k] * gamma[row] + free[row] + c.e[k]
            });
            // No step overshoots along the block's largest eigenvalue, which its trace bounds.
            let step = 1.0 / (0..3).map(|k| w[3 * i + k][3 * i + k] + r[k]).sum::<f64>();
            let y: [f64; 3] = std::array::from_fn(|k| gamma[3 * i + k] - step * slope[k]);
            let length = y[0].hypot(y[1]);
            let own = if length <= mu * y[2] {
                y
            } else if mu * length <= -y[2] {
                [0.0; 3]
            } else {
                let n = (y[2] + mu * length) / (1.0 + mu * mu);
                [mu * n * y[0] / length, mu * n * y[1] / length, n]
            };
            gamma[3 * i..3 * i + 3].copy_from_slice(&own);
        }
    }
    gamma
}

#[test]
fn the_dual_has_the_same_impulses() {
    for seed in 0..10 {
        let p = problem(random(seed, 4, 6, false));
        close(&solved(&p, &TIGHT).lambda, &dual(&p), 1e-8);
    }
}

/// Strongly convex: one solution, whatever it starts from; and few steps lead there.
#[test]
fn every_start_leads_to_the_same_end() {
    for seed in 0..30 {
        let input = random(seed, 5, 9, true);
        let cold = solved(&problem(input.clone()), &TIGHT);
        assert!(cold.iterations <= 25 && cold.quality.momentum_error < 1e-9, "{} {:?}", cold.iterations, cold.quality);
        let warm = cold.lambda.iter().enumerate().map(|(i, x)| x + 3.0 * (i as f64).sin()).collect();
        let warm = solved(&problem(ProblemInput { warm_start: warm, ..input.clone() }), &TIGHT);
        close(&warm.v, &cold.v, 1e-8);
        let near = solved(&problem(ProblemInput { warm_start: cold.lambda.clone(), ..input }), &SapParams::default());
        assert!(near.iterations <= 1, "{}", near.iterations);
    }
}

/// The nearer of two starts is taken: the velocity that is known, or what the impulses give.
#[test]
fn the_nearer_start_is_taken() {
    for seed in 0..30 {
        let input = random(seed, 5, 9, true);
        let cold = solved(&problem(input.clone()), &TIGHT);
        let usual = SapParams::default();
        let known = |input: ProblemInput, v: &[f64]| {
            let s = solved(&ContactProblem { v_start: v.to_vec(), ..problem(input) }, &usual);
            close(&s.v, &cold.v, 1e-4);
            s.iterations
        };
        assert!(known(input.clone(), &cold.v) <= 1, "seed {seed}");
        let far: Vec<f64> = cold.v.iter().map(|v| v + 1.0).collect();
        assert!(known(ProblemInput { warm_start: cold.lambda.clone(), ..input }, &far) <= 1, "seed {seed}");
    }
}

/// Masses and their order do not matter to Newton's steps.
#[test]
fn stacks_of_any_masses_are_solved() {
    for masses in [&[1.0; 20][..], &[1.0, 8.0, 64.0, 512.0, 4096.0], &[4096.0, 512.0, 64.0, 8.0, 1.0]] {
        let s = solved(&problem(stack(masses, 0.5)), &SapParams::default());
        assert!(s.iterations <= 5 && s.quality.momentum_error < 1e-5, "{} {:?}", s.iterations, s.quality);
    }
}

#[test]
fn single_precision_reaches_its_own() {
    for seed in 0..20 {
        let p = problem(random(seed, 4, 6, true));
        let settings = SolveSettings { precision: Precision::F32, iterations: 100, ..Default::default() };
        let single = solve_with(&p, &settings, &SapParams::default()).unwrap();
        assert_eq!(single.status, SolveStatus::Converged, "seed {seed}");
        close(&single.v, &solved(&p, &TIGHT).v, 1e-3);
    }
}

#[test]
fn breaks_down_cleanly() {
    // Contradictions give way.
    close(&solved(&contradiction(), &TIGHT).v[..1], &[0.0], 1e-12);
    // Squares that f32 cannot hold.
    let mut huge = particles(&[1e-25], [0.0; 3]);
    huge.b[2] = -1e25;
    huge.constraints.push(constraint(Law::Contact { mu: 0.5 }, vec![side(0, &unit(1.0))]));
    let single = SolveSettings { precision: Precision::F32, ..Default::default() };
    let s = solve_with(&problem(huge), &single, &SapParams::default()).unwrap();
    assert_ne!(s.status, SolveStatus::Converged);
    assert!(s.lambda.iter().chain(&s.v).all(|x| x.is_finite()));
    // A step too few says so, and a setting without meaning.
    let p = problem(random(1, 6, 12, true));
    let s = solve_with(&p, &SolveSettings { iterations: 1, ..Default::default() }, &TIGHT).unwrap();
    assert_eq!((s.status, s.iterations), (SolveStatus::IterationLimit, 1));
    for bad in [SapParams { near_rigid: 0.0, ..TIGHT }, SapParams { slip: f64::NAN, ..TIGHT }] {
        assert!(solve_with(&p, &SolveSettings::default(), &bad).is_err());
    }
    assert!(solve_with(&p, &SolveSettings::default(), &SapParams { relative: -1.0, ..TIGHT }).is_err());
}

/// What was solved before in the same memory leaves no trace, nor does the size of what was.
#[test]
fn memory_is_kept_and_forgotten() {
    let settings = SolveSettings { iterations: 100, ..Default::default() };
    let sap = solver("sap").unwrap();
    let mut work = Workspace::default();
    for seed in 0..12 {
        let size = 2 + (5 * seed as usize) % 9;
        let mut p = problem(if seed % 3 == 0 { stack(&vec![1.0; size], 0.4) } else { random(seed, size, 12, true) });
        p.v_start = (0..p.n_v).map(|i| if seed % 2 == 0 { 0.0 } else { (i as f64).sin() }).collect();
        let all = |work: &mut Workspace| {
            let o = sap.finish(&p, &settings, work);
            (o.status, o.iterations, o.lambda, o.v)
        };
        let fresh = all(&mut Workspace::default());
        assert_eq!(fresh.0, SolveStatus::Converged, "{seed}");
        assert_eq!(all(&mut work), fresh, "{seed}");
        assert_eq!(all(&mut work), fresh, "{seed}, again");
    }
}
