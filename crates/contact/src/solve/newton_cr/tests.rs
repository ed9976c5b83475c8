use super::{NcpFunction, NewtonCrParams, Scaling};
use crate::problem::{ContactProblem, Law};
use crate::samples::{G, H, constraint, particles, problem, random, side, stack, unit};
use crate::solve::{Precision, Solution, SolveSettings, SolveStatus, solve, solve_with};

fn solved(p: &ContactProblem, tolerance: f64, params: &NewtonCrParams) -> Solution {
    let settings = SolveSettings { tolerance, iterations: 200, ..Default::default() };
    let s = solve_with(p, &settings, params).unwrap();
    assert_eq!(s.status, SolveStatus::Converged, "{:?}", s.quality);
    s
}

fn close(a: &[f64], b: &[f64], tolerance: f64) {
    let differ = a.iter().zip(b).any(|(x, y)| (x - y).abs() > tolerance);
    assert!(a.len() == b.len() && !differ, "{a:?} {b:?}");
}

#[test]
fn a_particle_sticks_slides_and_leaves() {
    for function in [NcpFunction::MinimumMap, NcpFunction::FischerBurmeister] {
        let params = NewtonCrParams { function, finish_after: None, ..Default::default() };
        for (v0, mu, v) in [
            ([0.01, -0.02, 0.0], 0.5, [0.0; 3]),
            ([3.0, 4.0, 0.0], 0.5, [0.6 * (5.0 - 0.5 * G * H), 0.8 * (5.0 - 0.5 * G * H), 0.0]),
            ([3.0, 4.0, 0.0], 0.0, [3.0, 4.0, 0.0]),
            ([1.0, 0.0, 1.0], 0.5, [1.0, 0.0, 1.0 - G * H]),
        ] {
            let mut input = particles(&[2.0], v0);
            input.constraints.push(constraint(Law::Contact { mu }, vec![side(0, &unit(1.0))]));
            close(&solved(&problem(input), 1e-10, &params).v, &v, 1e-9);
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

/// Velocities are unique where friction is low.
#[test]
fn agrees_with_the_default() {
    let (mut reached, total) = (0, 40);
    for seed in 0..total {
        let p = problem(random(seed, 5, 9, true));
        let settings = SolveSettings { tolerance: 1e-10, iterations: 300, ..Default::default() };
        let [auto, own] = ["auto", "newton-cr"].map(|name| solve(&p, name, &settings).unwrap());
        assert_eq!(auto.status, SolveStatus::Converged, "seed {seed}");
        if own.status == SolveStatus::Converged {
            reached += 1;
            close(&auto.v, &own.v, 1e-6);
        }
    }
    assert!(reached >= total - 2, "{reached} of {total}");
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
