//! SubADMM: closed forms, agreement with the default, bad settings.

use manyworlds_contact::problem::{Law, ProblemInput};
use manyworlds_contact::solve::subadmm::{Penalty, SubAdmmParams};
use manyworlds_contact::solve::{Precision, SolveSettings, SolveStatus, solve, solve_with};

use crate::checks::{agreements, particle_on_the_ground};
use crate::samples::{close, constraint, particles, problem, random, side, stack, unit};

#[test]
fn agrees_with_the_default() {
    let settings = SolveSettings { tolerance: 1e-11, iterations: 20_000, ..Default::default() };
    let reached = agreements("subadmm", &settings, 30, 4, 6);
    assert!(reached >= 27, "{reached} of 30");
}

#[test]
fn a_particle_sticks_slides_and_leaves() {
    for (p, v) in particle_on_the_ground() {
        let s = solve(&p, "subadmm", &SolveSettings { tolerance: 1e-13, ..Default::default() }).unwrap();
        assert_eq!(s.status, SolveStatus::Converged);
        close(&s.v, &v, 1e-9);
    }
}

#[test]
fn starts_warm_and_breaks_down_cleanly() {
    let input = random(3, 4, 8, true);
    let settings = SolveSettings { tolerance: 1e-7, ..Default::default() };
    let cold = solve(&problem(input.clone()), "subadmm", &settings).unwrap();
    assert_eq!(cold.status, SolveStatus::Converged);
    let warm = ProblemInput { warm_start: cold.lambda.clone(), ..input };
    let warm = solve(&problem(warm), "subadmm", &settings).unwrap();
    assert_eq!((warm.iterations, &warm.lambda), (0, &cold.lambda));
    // Squares that f32 cannot hold.
    let mut huge = particles(&[1e-25], [0.0; 3]);
    huge.b[2] = -1e25;
    huge.constraints.push(constraint(Law::Contact { mu: 0.5 }, vec![side(0, &unit(1.0))]));
    let single = SolveSettings { precision: Precision::F32, ..settings };
    let s = solve(&problem(huge), "subadmm", &single).unwrap();
    assert_ne!(s.status, SolveStatus::Converged);
    assert!(s.lambda.iter().chain(&s.v).all(|x| x.is_finite()));
}

#[test]
fn carries_a_stack_with_the_heavy_box_below() {
    let p = problem(stack(&[4096.0, 512.0, 64.0, 8.0, 1.0], 0.5));
    let settings = SolveSettings { tolerance: 1e-6, iterations: 2000, ..Default::default() };
    let s = solve(&p, "subadmm", &settings).unwrap();
    assert_eq!(s.status, SolveStatus::Converged, "{} {:?}", s.iterations, s.quality);
}

#[test]
fn takes_settings() {
    let p = problem(random(5, 4, 6, true));
    let settings = SolveSettings { tolerance: 1e-8, ..Default::default() };
    let uniform = SubAdmmParams { penalty: Penalty::Uniform, relaxation: 1.0, ..Default::default() };
    let [own, printed] = [SubAdmmParams::default(), uniform].map(|q| solve_with(&p, &settings, &q).unwrap());
    assert_eq!((own.status, printed.status), (SolveStatus::Converged, SolveStatus::Converged));
    assert_ne!(own.iterations, printed.iterations);
    close(&own.v, &printed.v, 1e-5);
    assert!(solve_with(&p, &settings, &SubAdmmParams { relaxation: 2.5, ..uniform }).is_err());
}
