use super::Dantzig;
use super::lcp::Lcp;
use crate::problem::{ContactProblem, Law, ProblemInput};
use crate::residual::quality;
use crate::samples::{
    G, H, close, constraint, contradiction, one_dof, particles, problem, random, scalar_laws, side, stack, unit,
};
use crate::solve::{Outcome, SolveSettings, SolveStatus, Solver};

const TIGHT: SolveSettings = SolveSettings {
    precision: crate::solve::Precision::F64,
    tolerance: 1e-11,
    iterations: 1000,
    history: false,
    patient: true,
    again: false,
};

fn solved(p: &ContactProblem) -> Outcome {
    let outcome = Dantzig.solve(p, &TIGHT);
    assert_eq!(outcome.status, SolveStatus::Converged);
    outcome
}

/// Along an axis a pyramid is a cone.
#[test]
fn a_particle_sticks_slides_and_leaves() {
    let slowed = 3.0 - 0.5 * G * H;
    for (v0, mu, v) in [
        ([0.01, -0.02, 0.0], 0.5, [0.0; 3]),
        ([3.0, 0.0, 0.0], 0.5, [slowed, 0.0, 0.0]),
        ([3.0, -3.0, 0.0], 0.5, [slowed, -slowed, 0.0]),
        ([3.0, 4.0, 0.0], 0.0, [3.0, 4.0, 0.0]),
        ([1.0, 0.0, 1.0], 0.5, [1.0, 0.0, 1.0 - G * H]),
    ] {
        let mut input = particles(&[2.0], v0);
        input.constraints.push(constraint(Law::Contact { mu }, vec![side(0, &unit(1.0))]));
        close(&solved(&problem(input)).v, &v, 1e-10);
    }
}

#[test]
fn scalar_laws_have_their_closed_forms() {
    let more = [
        (one_dof(Law::Box { lo: 0.1, hi: 0.2 }, 0.0, 1.0), [0.1, 1.05]),
        (one_dof(Law::Soft { k: 3.0, b: 0.0, lo: -9.0, hi: 9.0 }, 0.1, 1.0), [-0.3, 0.85]),
    ];
    for (p, [lambda, v]) in scalar_laws().into_iter().chain(more) {
        let s = solved(&p);
        close(&[s.lambda[0], s.v[0]], &[lambda, v], 1e-10);
    }
}

/// Sweeps on the pyramid are another way to the same velocities.
#[test]
fn sweeps_on_the_pyramid_agree() {
    let (mut compared, mut left_over) = (0, 0);
    for seed in 0..40 {
        let p = problem(random(seed, 5, 9, true));
        let direct = Dantzig.solve(&p, &TIGHT);
        if direct.status != SolveStatus::Converged {
            left_over += 1;
            continue;
        }
        assert!(direct.iterations < 300, "seed {seed}: {}", direct.iterations);
        let mut swept = p.warm_start.clone();
        let mut left = 0.0f64;
        for island in &p.plan.islands {
            let lcp = Lcp::new(&p, island);
            let mut lambda = vec![0.0; lcp.n];
            (0..20_000).for_each(|_| lcp.sweep(&mut lambda));
            left = left.max(lcp.residual(&lambda));
            lcp.write(&lambda, &mut swept);
        }
        // Where sweeps stall there is nothing to compare with.
        if left < 1e-12 {
            compared += 1;
            close(&p.velocity(&swept), &direct.v, 1e-9);
        }
    }
    assert!(compared >= 30 && left_over <= 1, "{compared} compared, {left_over} left over");
}

/// Without friction there is no pyramid, and number 1 of the certificate is met.
#[test]
fn without_friction_contact_is_exact() {
    for seed in 0..20 {
        let mut input = random(seed, 6, 12, true);
        for c in &mut input.constraints {
            if let Law::Contact { mu } = &mut c.law {
                *mu = 0.0;
            }
        }
        let p = problem(input);
        let s = solved(&p);
        assert!(quality(&p, &s.lambda, &s.v).residual < 1e-10);
    }
}

/// The sets of a step are mostly those of the next: one factorization then solves it.
#[test]
fn a_good_guess_costs_one_factorization() {
    for seed in 0..20 {
        let input = random(seed, 4, 8, true);
        let cold = solved(&problem(input.clone()));
        let near = cold.lambda.iter().map(|x| x * (1.0 + 1e-6)).collect();
        let warm = solved(&problem(ProblemInput { warm_start: near, ..input }));
        assert!(warm.iterations <= 1, "seed {seed}: {}", warm.iterations);
        close(&warm.v, &cold.v, 1e-8);
    }
}

/// A box on four corners has six equations for twelve impulses: those of least norm are alike.
#[test]
fn redundant_rows_share_alike() {
    for masses in [&[1.0; 10][..], &[1.0, 8.0, 64.0, 512.0, 4096.0]] {
        let s = solved(&problem(stack(masses, 0.5)));
        let bottom: Vec<f64> = (0..4).map(|i| s.lambda[3 * i + 2]).collect();
        let weight = masses.iter().sum::<f64>() * G * H;
        assert!(bottom.iter().all(|n| (4.0 * n / weight - 1.0).abs() < 1e-7), "{bottom:?} {weight}");
    }
}

#[test]
fn breaks_down_cleanly() {
    let s = Dantzig.solve(&contradiction(), &TIGHT);
    assert_eq!(s.status, SolveStatus::IterationLimit);
    assert!(s.lambda.iter().chain(&s.v).all(|x| x.is_finite()));
    let mut same = particles(&[2.0], [0.3, 0.0, 0.0]);
    for _ in 0..40 {
        same.constraints.push(constraint(Law::Contact { mu: 0.5 }, vec![side(0, &unit(1.0))]));
    }
    close(&solved(&problem(same)).v, &[0.3 - 0.5 * G * H, 0.0, 0.0], 1e-8);
    let p = problem(random(1, 6, 12, true));
    let none = Dantzig.solve(&p, &SolveSettings { iterations: 0, ..TIGHT });
    assert_eq!((none.status, none.iterations), (SolveStatus::IterationLimit, 0));
}
