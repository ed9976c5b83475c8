//! CANAL: closed forms, agreement with the default, bad settings.

use manyworlds_contact::problem::{ContactProblem, Law, ProblemInput};
use manyworlds_contact::solve::canal::CanalParams;
use manyworlds_contact::solve::{Precision, Solution, SolveSettings, SolveStatus, solve, solve_with};

use crate::checks::{agreements, particle_on_the_ground};
use crate::samples::{
    G, H, close, constraint, contradiction, particles, problem, random, scalar_laws, side, stack, unit,
};

/// What solutions at the tolerance below may differ from exact ones.
const CLOSE: f64 = 1e-9;

fn solved(p: &ContactProblem) -> Solution {
    let settings = SolveSettings { tolerance: 1e-12, ..Default::default() };
    let s = solve(p, "canal", &settings).unwrap();
    assert_eq!(s.status, SolveStatus::Converged, "{:?}", s.quality);
    assert!(s.quality.residual <= 1e-12 * (1.0 + 1e-6) && s.quality.momentum_error < 1e-9, "{:?}", s.quality);
    s
}

#[test]
fn a_particle_sticks_slides_and_leaves() {
    for (p, v) in particle_on_the_ground() {
        close(&solved(&p).v, &v, CLOSE);
    }
}

#[test]
fn scalar_laws_have_their_closed_forms() {
    for (p, [lambda, v]) in scalar_laws() {
        let s = solved(&p);
        close(&[s.lambda[0], s.v[0]], &[lambda, v], CLOSE);
    }
}

/// Where everything sticks neither masses nor their order matter, with the paper's penalty or ours.
#[test]
fn stacks_of_any_masses_are_carried() {
    let settings = SolveSettings { tolerance: 1e-10, ..Default::default() };
    for masses in [&[1.0; 20][..], &[1.0, 4096.0], &[1.0, 8.0, 64.0, 512.0, 4096.0], &[4096.0, 512.0, 64.0, 8.0, 1.0]] {
        let p = problem(stack(masses, 0.5));
        for params in [CanalParams::default(), CanalParams::printed()] {
            let s = solve_with(&p, &settings, &params).unwrap();
            assert_eq!(s.status, SolveStatus::Converged, "{masses:?}: {:?}", s.quality);
            assert!(s.outer <= 15 && s.iterations <= 25, "{masses:?}: {} and {}", s.outer, s.iterations);
            let bottom: f64 = (0..4).map(|i| s.lambda[3 * i + 2]).sum();
            let weight = masses.iter().sum::<f64>() * G * H;
            // Twenty boxes may each sink at the speed of what is left of all residuals together.
            assert!((bottom / weight - 1.0).abs() < 1e-6, "{bottom} {weight}");
            assert!(s.v.iter().all(|v| v.abs() < 1e-8));
        }
    }
}

#[test]
fn agrees_with_the_default() {
    let settings = SolveSettings { tolerance: 1e-11, iterations: 1000, ..Default::default() };
    let reached = agreements("canal", &settings, 40, 5, 9);
    assert!(reached >= 36, "{reached} of 40");
}

#[test]
fn single_precision_reaches_its_own() {
    for seed in 0..20 {
        let p = problem(random(seed, 4, 6, true));
        let settings = SolveSettings { precision: Precision::F32, tolerance: 1e-5, ..Default::default() };
        let s = solve(&p, "canal", &settings).unwrap();
        assert_eq!(s.status, SolveStatus::Converged, "seed {seed}: {:?}", s.quality);
        assert!(s.quality.residual_scaled < 1e-4, "seed {seed}: {:?}", s.quality);
    }
    let p = problem(stack(&[1.0; 5], 0.5));
    let settings = SolveSettings { precision: Precision::F32, tolerance: 1e-6, ..Default::default() };
    assert_eq!(solve(&p, "canal", &settings).unwrap().status, SolveStatus::Converged);
}

#[test]
fn a_warm_start_helps() {
    let input = random(3, 4, 8, true);
    let settings = SolveSettings { tolerance: 1e-9, ..Default::default() };
    let run = |warm: Vec<f64>| {
        let input = ProblemInput { warm_start: warm, ..input.clone() };
        let s = solve(&problem(input), "canal", &settings).unwrap();
        assert_eq!(s.status, SolveStatus::Converged);
        s
    };
    let cold = run(Vec::new());
    let warm = run(cold.lambda.clone());
    assert_eq!((warm.iterations, &warm.lambda), (0, &cold.lambda));
    let near = run(cold.lambda.iter().map(|x| x * (1.0 + 1e-6)).collect());
    assert!(0 < near.iterations && near.iterations < cold.iterations, "{} {}", near.iterations, cold.iterations);
}

#[test]
fn breaks_down_cleanly() {
    // Both give way.
    let s = solve(&contradiction(), "canal", &SolveSettings::default()).unwrap();
    assert!(s.status == SolveStatus::Relaxed && s.relaxed.len() == 2, "{s:?}");
    assert!(s.lambda.iter().chain(&s.v).all(|x| x.is_finite()));
    // Squares that f32 cannot hold.
    let mut huge = particles(&[1e-25], [0.0; 3]);
    huge.b[2] = -1e25;
    huge.constraints.push(constraint(Law::Contact { mu: 0.5 }, vec![side(0, &unit(1.0))]));
    let single = SolveSettings { precision: Precision::F32, ..Default::default() };
    let s = solve(&problem(huge), "canal", &single).unwrap();
    assert_ne!(s.status, SolveStatus::Converged);
    assert!(s.lambda.iter().chain(&s.v).all(|x| x.is_finite()));
    // The same contact a thousand times over, and a hundred redundant ones.
    let mut same = particles(&[2.0], [0.3, 0.0, 0.0]);
    for _ in 0..1000 {
        same.constraints.push(constraint(Law::Contact { mu: 0.5 }, vec![side(0, &unit(1.0))]));
    }
    let s = solved(&problem(same));
    close(&s.v, &[0.3 - 0.5 * G * H, 0.0, 0.0], 1e-8);
    let refused = solve_with(
        &problem(particles(&[1.0], [0.0; 3])),
        &SolveSettings::default(),
        &CanalParams { growth: 0.5, ..Default::default() },
    );
    assert!(refused.is_err());
}

#[test]
fn a_step_too_few_says_so() {
    let p = problem(random(1, 6, 12, true));
    let s = solve(&p, "canal", &SolveSettings { iterations: 2, ..Default::default() }).unwrap();
    assert_eq!((s.status, s.iterations), (SolveStatus::IterationLimit, 2));
    assert!(s.quality.residual > 1e-9);
    let params = CanalParams { outer: 1, ..Default::default() };
    let s = solve_with(&p, &SolveSettings::default(), &params).unwrap();
    assert_eq!((s.status, s.outer), (SolveStatus::IterationLimit, 1));
}
