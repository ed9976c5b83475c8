//! Newton with conjugate residual: closed forms, agreement with the default, bad settings.

use manyworlds_contact::problem::ContactProblem;
use manyworlds_contact::solve::newton_cr::{NcpFunction, NewtonCrParams, Scaling};
use manyworlds_contact::solve::{Precision, Solution, SolveSettings, SolveStatus, solve, solve_with};

use crate::checks::{agreements, particle_on_the_ground};
use crate::samples::{G, H, close, particles, problem, random, stack};

fn solved(p: &ContactProblem, tolerance: f64, params: &NewtonCrParams) -> Solution {
    let settings = SolveSettings { tolerance, iterations: 200, ..Default::default() };
    let s = solve_with(p, &settings, params).unwrap();
    assert_eq!(s.status, SolveStatus::Converged, "{:?}", s.quality);
    s
}

#[test]
fn a_particle_sticks_slides_and_leaves() {
    for function in [NcpFunction::MinimumMap, NcpFunction::FischerBurmeister] {
        let params = NewtonCrParams { function, finish_after: None, ..Default::default() };
        for (p, v) in particle_on_the_ground() {
            close(&solved(&p, 1e-10, &params).v, &v, 1e-9);
        }
    }
}

/// By itself where everything sticks, with either function, whatever the masses.
#[test]
fn stacks_of_any_masses_are_carried() {
    for function in [NcpFunction::MinimumMap, NcpFunction::FischerBurmeister] {
        let params = NewtonCrParams { function, finish_after: None, linear: 400, ..Default::default() };
        for masses in [&[1.0; 10][..], &[1.0, 4096.0], &[1.0, 8.0, 64.0, 512.0, 4096.0]] {
            let s = solved(&problem(stack(masses, 0.5)), 1e-6, &params);
            assert!(s.iterations <= 30, "{function:?} {masses:?}: {}", s.iterations);
            let bottom: f64 = (0..4).map(|i| s.lambda[3 * i + 2]).sum();
            let weight = masses.iter().sum::<f64>() * G * H;
            assert!((bottom / weight - 1.0).abs() < 1e-3, "{masses:?}: {bottom} {weight}");
        }
    }
}

#[test]
fn agrees_with_the_default() {
    let settings = SolveSettings { tolerance: 1e-10, iterations: 300, ..Default::default() };
    let reached = agreements("newton-cr", &settings, 40, 5, 9);
    assert!(reached >= 38, "{reached} of 40");
}

/// Without a finish a fixed point of friction may cycle, and says so.
#[test]
fn the_finishing_stage_is_needed_where_contacts_slide() {
    let count = |params: &NewtonCrParams| {
        (0..30)
            .filter(|&seed| {
                let p = problem(random(seed, 6, 14, false));
                let settings = SolveSettings { tolerance: 1e-9, iterations: 100, ..Default::default() };
                let s = solve_with(&p, &settings, params).unwrap();
                let solved = matches!(s.status, SolveStatus::Converged | SolveStatus::Relaxed);
                assert!(solved || s.quality.residual > 1e-9);
                s.status == SolveStatus::Converged
            })
            .count()
    };
    let (printed, finished) = (count(&NewtonCrParams::printed()), count(&NewtonCrParams::default()));
    assert!(finished >= 29 && printed < finished, "{printed} and {finished} of 30");
}

#[test]
fn single_precision_reaches_its_own() {
    for seed in 0..20 {
        let p = problem(random(seed, 4, 6, true));
        let settings = SolveSettings { precision: Precision::F32, tolerance: 1e-5, ..Default::default() };
        let s = solve(&p, "newton-cr", &settings).unwrap();
        assert!(s.status == SolveStatus::Converged, "seed {seed}: {:?}", s.quality);
        assert!(s.quality.residual.min(s.quality.residual_scaled) <= 1.01e-5, "seed {seed}: {:?}", s.quality);
    }
}

#[test]
fn settings_without_meaning_are_refused() {
    let p = problem(particles(&[1.0], [0.0; 3]));
    let good = NewtonCrParams::default();
    for bad in [
        NewtonCrParams { damping: 0.0, ..good },
        NewtonCrParams { damping: 1.5, ..good },
        NewtonCrParams { linear: 0, ..good },
        NewtonCrParams { linear_share: 1.0, ..good },
        NewtonCrParams { scaling: Scaling::Uniform(-1.0), ..good },
    ] {
        assert!(solve_with(&p, &SolveSettings::default(), &bad).is_err(), "{bad:?}");
    }
    assert!(solve_with(&p, &SolveSettings::default(), &good).is_ok());
}
