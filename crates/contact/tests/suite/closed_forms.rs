//! Solvers beside closed forms, and beside each other.

use manyworlds_contact::problem::{ConstraintInput, ContactProblem, Law, ProblemInput};
use manyworlds_contact::residual::{closed_form, quality};
use manyworlds_contact::solve::{
    ContactModel, Precision, Solution, SolveError, SolveSettings, SolveStatus, Stage, solve,
};
use nalgebra::{DMatrix, DVector};
use proptest::prelude::*;

use crate::samples::{
    G, H, are_close, beside, close, constraint, particles, problem, random, scalar_laws, side, stack, unit,
};

/// Residual asked of solves that are compared with exact answers.
const TIGHT: f64 = 1e-13;
/// What a solution at [`TIGHT`] may differ from them: conditioning of the samples is below 1e4.
const CLOSE: f64 = 1e-9;

/// By the default solver; sweeps alone come to the same.
fn solved(problem: &ContactProblem, tolerance: f64) -> Solution {
    let settings = SolveSettings { tolerance, iterations: 200_000, ..Default::default() };
    let [auto, pgs] = ["auto", "pgs"].map(|name| {
        let solution = solve(problem, name, &settings).unwrap();
        assert_eq!(solution.status, SolveStatus::Converged, "{name}");
        // What the kernels measure is what the formulas say.
        assert!(solution.quality.residual <= tolerance * (1.0 + 1e-6) + 1e-15, "{name}: {:?}", solution.quality);
        solution
    });
    close(&auto.v, &pgs.v, 1e4 * tolerance);
    auto
}

#[test]
fn a_particle_sticks_slides_and_leaves() {
    let m = 2.0;
    let weight = m * G * H;
    let on_ground = |v0, mu| {
        let mut input = particles(&[m], v0);
        input.constraints.push(constraint(Law::Contact { mu }, vec![side(0, &unit(1.0))]));
        solved(&problem(input), TIGHT)
    };
    let sticks = on_ground([0.01, -0.02, 0.0], 0.5);
    close(&sticks.lambda, &[-0.01 * m, 0.02 * m, weight], CLOSE);
    close(&sticks.v, &[0.0; 3], CLOSE);
    let slides = on_ground([3.0, 4.0, 0.0], 0.5);
    let slowed = 5.0 - 0.5 * G * H;
    close(&slides.v, &[0.6 * slowed, 0.8 * slowed, 0.0], CLOSE);
    let leaves = on_ground([1.0, 0.0, 1.0], 0.5);
    close(&leaves.lambda, &[0.0; 3], 0.0);
    assert_eq!(leaves.iterations, 0, "nothing to do");
}

#[test]
fn scalar_laws_have_their_closed_forms() {
    for (p, [lambda, v]) in scalar_laws() {
        let s = solved(&p, TIGHT);
        close(&[s.lambda[0], s.v[0]], &[lambda, v], CLOSE);
    }
}

#[test]
fn a_stack_carries_its_weight() {
    for mu in [0.0, 0.5] {
        let p = problem(stack(&[1.0; 5], mu));
        let s = solved(&p, 1e-10);
        let bottom: f64 = (0..4).map(|i| s.lambda[3 * i + 2]).sum();
        assert!((bottom - 5.0 * G * H).abs() < 1e-7, "{bottom}");
        assert!(s.v.iter().all(|v| v.abs() < 1e-7));
        assert!(s.quality.momentum_error < 1e-12 && s.quality.complementarity_error < 1e-6, "{:?}", s.quality);
    }
}

#[test]
fn a_hanging_chain_agrees_with_a_direct_solve() {
    let n = 8;
    let mut input = particles(&vec![0.5; n], [0.3, 0.0, 0.0]);
    for i in 0..n {
        let mut sides = vec![side(i, &unit(1.0))];
        if i > 0 {
            sides.push(side(i - 1, &unit(-1.0)));
        }
        input.constraints.push(ConstraintInput {
            law: Law::Block,
            e: [0.01 * i as f64, 0.0, 0.0],
            sides,
            compliance: None,
        });
    }
    let p = problem(input);
    let mut g = DMatrix::zeros(p.n_rows, p.n_rows);
    for k in 0..p.n_rows {
        let mut unit = vec![0.0; p.n_rows];
        unit[k] = 1.0;
        let dv: Vec<f64> = p.velocity(&unit).iter().zip(&p.v_free).map(|(v, f)| v - f).collect();
        for c in &p.constraints {
            let sigma = p.sigma(c, &dv);
            (0..3).for_each(|r| g[(c.row + r, k)] = sigma[r]);
        }
    }
    let rhs = DVector::from_iterator(
        p.n_rows,
        p.constraints.iter().flat_map(|c| {
            let s = p.sigma(c, &p.v_free);
            (0..3).map(move |r| -s[r] - c.e[r])
        }),
    );
    let exact = g.lu().solve(&rhs).unwrap();
    close(&solved(&p, TIGHT).lambda, exact.as_slice(), 1e-8);
}

/// Frictionless contacts as a linear complementarity problem, by trying every active set.
fn enumerate(p: &ContactProblem) -> Option<Vec<f64>> {
    let n = p.constraints.len();
    let normals = |v: &[f64]| p.constraints.iter().map(|c| p.sigma(c, v)[2] + c.e[2]).collect::<Vec<_>>();
    let free = normals(&p.v_free);
    let g = DMatrix::from_fn(n, n, |i, j| {
        let mut lambda = vec![0.0; p.n_rows];
        lambda[p.constraints[j].row + 2] = 1.0;
        normals(&p.velocity(&lambda))[i] - free[i]
    });
    for set in 0u32..1 << n {
        let active: Vec<usize> = (0..n).filter(|i| set >> i & 1 == 1).collect();
        let own = DMatrix::from_fn(active.len(), active.len(), |i, j| g[(active[i], active[j])]);
        let rhs = DVector::from_fn(active.len(), |i, _| -free[active[i]]);
        let solved = if active.is_empty() { Some(rhs) } else { own.lu().solve(&rhs) };
        let Some(part) = solved else { continue };
        let mut lambda = vec![0.0; p.n_rows];
        active.iter().zip(part.iter()).for_each(|(&i, &x)| lambda[p.constraints[i].row + 2] = x);
        let open = normals(&p.velocity(&lambda));
        if part.iter().all(|&x| x >= -1e-12) && open.iter().all(|&s| s >= -1e-10) {
            return Some(p.velocity(&lambda));
        }
    }
    None
}

#[test]
fn frictionless_problems_agree_with_enumeration() {
    for seed in 0..40 {
        let mut input = random(seed, 4, 7, false);
        input.constraints.iter_mut().for_each(|c| c.law = Law::Contact { mu: 0.0 });
        let p = problem(input);
        let exact = enumerate(&p).expect("a positive semidefinite problem has a solution");
        // The velocity is unique, the impulses need not be.
        assert!(are_close(&solved(&p, 1e-12).v, &exact, 1e-7), "seed {seed}");
    }
}

/// The textbook iteration `lambda <- T(lambda - D sigma^)` with one small step per constraint: slow, shares no code
/// with the solver.
fn small_steps(p: &ContactProblem) -> Vec<f64> {
    let mut lambda = vec![0.0; p.n_rows];
    let mut v = p.v_free.clone();
    for _ in 0..40_000 {
        for c in &p.constraints {
            let g = &c.delassus;
            let step = if c.law.rows() == 3 { 1.0 / (g[0] + g[3] + g[5]) } else { 1.0 / g[0] };
            let mut own = [0.0; 3];
            own[..c.law.rows()].copy_from_slice(&lambda[c.row..c.row + c.law.rows()]);
            let next = closed_form(c.law, step, own, p.sigma(c, &v), c.e);
            for s in &p.sides[c.sides.clone()] {
                let span = p.span(s);
                for r in 0..c.law.rows() {
                    let y = &p.response[s.offset + r * span.len()..][..span.len()];
                    v[span.clone()].iter_mut().zip(y).for_each(|(v, y)| *v += y * (next[r] - own[r]));
                }
            }
            lambda[c.row..c.row + c.law.rows()].copy_from_slice(&next[..c.law.rows()]);
        }
    }
    lambda
}

#[test]
fn problems_with_friction_and_rows_agree_with_an_independent_iteration() {
    for seed in 100..120 {
        let p = problem(random(seed, 4, 6, true));
        let slow = small_steps(&p);
        let v = p.velocity(&slow);
        assert!(quality(&p, &slow, &v).residual < 1e-10, "seed {seed}: the reference has not converged");
        assert!(are_close(&solved(&p, 1e-12).v, &v, 1e-6), "seed {seed}");
    }
}

#[test]
fn single_precision_reaches_its_own() {
    for seed in 0..20 {
        let p = problem(random(seed, 5, 8, true));
        let settings = SolveSettings { precision: Precision::F32, tolerance: 1e-5, ..Default::default() };
        for name in ["auto", "pgs"] {
            let s = solve(&p, name, &settings).unwrap();
            assert_eq!(s.status, SolveStatus::Converged, "{name}, seed {seed}");
            assert!(s.quality.residual_scaled < 1e-4, "{name}, seed {seed}: {:?}", s.quality);
        }
    }
}

#[test]
fn neighbours_do_not_change_a_bit() {
    let (a, b) = (random(7, 4, 9, true), random(8, 5, 12, true));
    let settings = SolveSettings { iterations: 30, tolerance: 1e-9, ..Default::default() };
    for name in ["auto", "pgs", "subadmm", "canal"] {
        let run = |input| solve(&problem(input), name, &settings).unwrap();
        let (alone, first, second) = (run(a.clone()), run(beside(&a, &b)), run(beside(&b, &a)));
        let n = a.b.len();
        assert_eq!(alone.v[..], first.v[..n], "{name}");
        assert_eq!(alone.v[..], second.v[b.b.len()..], "{name}");
    }
}

#[test]
fn a_warm_start_that_is_a_solution_costs_nothing() {
    let input = random(3, 4, 8, true);
    let cold = solved(&problem(input.clone()), 1e-9);
    let warm = solved(&problem(ProblemInput { warm_start: cold.lambda.clone(), ..input }), 1e-9);
    assert!(cold.iterations > 0);
    assert_eq!((warm.iterations, &warm.lambda), (0, &cold.lambda));
}

#[test]
fn history_ends_at_the_solution() {
    let p = problem(stack(&[1.0; 3], 0.5));
    let settings = SolveSettings { history: true, tolerance: 1e-8, ..Default::default() };
    for name in ["auto", "pgs", "subadmm", "canal"] {
        let s = solve(&p, name, &settings).unwrap();
        assert_eq!(s.history.len(), s.iterations as usize + 1, "{name}");
        let last = *s.history.last().unwrap();
        assert!((last - s.quality.residual).abs() <= 1e-6 * last + 1e-14, "{name}: {last} {:?}", s.quality);
        assert!(s.history[0] > 1e-3, "{name}");
    }
}

/// Sweeps move the load down a stack one body at a time, and not at all where the heavy ones are on top.
#[test]
fn newton_solves_what_sweeps_stall_at() {
    let p = problem(stack(&[1.0, 8.0, 64.0, 512.0, 4096.0], 0.5));
    let settings = SolveSettings { tolerance: 1e-9, iterations: 1000, ..Default::default() };
    let [auto, pgs] = ["auto", "pgs"].map(|name| solve(&p, name, &settings).unwrap());
    assert_eq!(pgs.status, SolveStatus::IterationLimit);
    assert!(pgs.quality.residual > 1e-6, "{:?}", pgs.quality);
    assert_eq!(auto.status, SolveStatus::Converged);
    assert!(auto.iterations < 60 && auto.quality.residual < 1e-9, "{} {:?}", auto.iterations, auto.quality);
}

#[test]
fn what_cannot_be_solved_says_so() {
    let p = problem(stack(&[1.0, 1000.0], 0.5));
    let s = solve(&p, "pgs", &SolveSettings { iterations: 2, ..Default::default() }).unwrap();
    assert_eq!((s.status, s.iterations), (SolveStatus::IterationLimit, 2));
    assert!(s.quality.residual > 1e-9);
    let unknown = solve(&p, "magic", &SolveSettings::default()).unwrap_err();
    assert_eq!(
        unknown.to_string(),
        "unknown solver \"magic\": there is auto, newton, pgs, subadmm, canal, sap, newton-cr, dantzig"
    );
    let setting = solve(&p, "pgs", &SolveSettings { tolerance: f64::NAN, ..Default::default() }).unwrap_err();
    assert!(matches!(setting, SolveError::Setting { setting: "tolerance", .. }));
    // Numbers that f32 cannot hold.
    let mut huge = particles(&[1.0], [0.0; 3]);
    huge.b[2] = -1e300;
    huge.constraints.push(constraint(Law::Contact { mu: 0.5 }, vec![side(0, &unit(1.0))]));
    let s = solve(&problem(huge), "pgs", &SolveSettings { precision: Precision::F32, ..Default::default() }).unwrap();
    assert_ne!(s.status, SolveStatus::Converged);
}

#[test]
fn empty_problems_are_solved() {
    let s = solved(&problem(ProblemInput::default()), 1e-9);
    assert!(s.v.is_empty() && s.lambda.is_empty());
    let s = solved(&problem(particles(&[1.0], [1.0, 0.0, 0.0])), 1e-9);
    close(&s.v, &[1.0, 0.0, -H * G], CLOSE);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn converged_means_solved(seed in 0u64..1_000_000, bodies in 1usize..8, contacts in 0usize..20, rows: bool) {
        let p = problem(random(seed, bodies, contacts, rows));
        // Each island meets the tolerance by its own contacts; one without any, only rows, counts in full.
        let most = 1e-7 * (p.plan.islands.len().max(1) as f64).sqrt();
        for solver in manyworlds_contact::solve::SOLVERS {
            let name = solver.name();
            let s = solve(&p, name, &SolveSettings { tolerance: 1e-7, iterations: 3_000, ..Default::default() }).unwrap();
            let met = s.quality.residual <= most * (1.0 + 1e-6);
            let met = met || solver.model() != ContactModel::Exact;
            prop_assert!(met || s.status == SolveStatus::IterationLimit, "{name}: {:?} {:?}", s.status, s.quality);
            prop_assert!(s.lambda.iter().chain(&s.v).all(|x| x.is_finite()));
        }
    }
}

/// An island too large for its Delassus operator to be written out: stage 2 goes on.
#[test]
fn large_islands_are_finished_by_newton_steps_in_velocities() {
    let settings = SolveSettings { tolerance: 1e-11, iterations: 500, ..Default::default() };
    let p = problem(stack(&[1.0; 20], 0.5));
    let s = solve(&p, "auto", &settings).unwrap();
    assert_eq!(
        (s.status, s.stage.is_some_and(|stage| stage >= Stage::Newton)),
        (SolveStatus::Converged, true),
        "{s:?}"
    );
    assert_eq!(solve(&p, "pgs", &settings).unwrap().status, SolveStatus::IterationLimit);
    let p = problem(random(1, 40, 110, true));
    let s = solve(&p, "auto", &SolveSettings { tolerance: 1e-13, ..settings }).unwrap();
    assert_eq!(s.status, SolveStatus::Converged, "{:?} {:?}", s.stage, s.quality);
    assert!(s.quality.residual <= 1e-13 * (1.0 + 1e-6) + 1e-15, "{:?}", s.quality);
}

/// With every box as heavy again as the one below, and more of them than a workspace takes: only CANAL gets near.
#[test]
fn what_is_far_from_solved_is_brought_near_by_the_augmented_lagrangian() {
    let masses: Vec<f64> = (0..14).map(|i| 2.0f64.powi(i)).collect();
    let p = problem(stack(&masses, 0.5));
    let settings = SolveSettings { tolerance: 1e-9, iterations: 400, history: true, ..Default::default() };
    let s = solve(&p, "auto", &settings).unwrap();
    assert_eq!(s.status, SolveStatus::Converged, "{:?} {:?}", s.stage, s.quality);
    assert_eq!(s.history.len(), s.iterations as usize + 1);
    assert!(s.stage.is_some_and(|stage| stage >= Stage::Newton));
}

/// A stage that fails leaves what the ones before it found.
#[test]
fn the_default_is_no_worse_than_its_stages() {
    for seed in 0..20 {
        let mut input = random(seed, 6, 14, true);
        for c in &mut input.constraints {
            if let Law::Contact { mu } = &mut c.law {
                *mu *= 6.0;
            }
        }
        let p = problem(input);
        let few = SolveSettings { tolerance: 1e-12, iterations: 56, ..Default::default() };
        let many = SolveSettings { iterations: 3000, ..few };
        let [first, all] = [few, many].map(|settings| solve(&p, "auto", &settings).unwrap());
        let least = first.quality.residual;
        assert!(all.quality.residual <= least * (1.0 + 1e-6) + 1e-15, "seed {seed}: {least} {:?}", all.quality);
    }
}
