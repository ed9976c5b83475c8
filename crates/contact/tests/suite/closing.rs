//! Problems most of whose contacts stay open.

use manyworlds_contact::problem::{Constraint, ContactProblem, Law};
use manyworlds_contact::residual::quality;
use manyworlds_contact::solve::{
    Before, Relaxation, SolveSettings, SolveStatus, Workspace, finish_condensed, solve, solver,
};

use crate::samples::{chains, problem};

/// Hundreds of contacts, nine in ten of which are further away than anything moves, but for a few that others push closer.
fn looked_for_ahead(seed: u64) -> ContactProblem {
    let [_, mut input] = chains(seed, 40, 256);
    for (i, c) in input.constraints.iter_mut().enumerate().filter(|(i, _)| i % 10 != 0) {
        if let Law::Contact { .. } = c.law {
            c.e[2] += if i % 10 == 1 { 0.5 } else { 5.0 };
        }
    }
    let mut problem = problem(input);
    problem.v_start = vec![0.0; problem.n_v];
    problem
}

/// Whether that velocity does not violate it from which these problems begin: it is left out at first.
fn stays_open_at_rest(c: &Constraint) -> bool {
    matches!(c.law, Law::Contact { .. }) && c.e[2] >= 0.0
}

/// What is left out at first is open or taken in: the answer solves the whole problem, or what that gives way to.
#[test]
fn contacts_that_stay_open_are_left_out_of_an_answer_to_all() {
    let settings = SolveSettings { tolerance: 1e-9, iterations: 1000, ..Default::default() };
    let auto = solver("auto").unwrap();
    let (mut joined, mut gave_way) = (0, 0);
    for seed in 0..12 {
        let mut whole = looked_for_ahead(seed);
        let open: Vec<bool> = whole.constraints.iter().map(stays_open_at_rest).collect();
        assert!(2 * open.iter().filter(|&&open| open).count() >= open.len(), "most contacts are far away");
        let all = solve(&whole, "auto", &settings).unwrap();
        let (outcome, relaxed) =
            finish_condensed(auto, &mut whole.clone(), &settings, Before::Solved, &mut Workspace::default());
        assert_eq!(outcome.status, SolveStatus::Converged, "{seed}");
        let which = |list: &[Relaxation]| list.iter().map(|r| r.constraint).collect::<Vec<_>>();
        assert_eq!(which(&relaxed), which(&all.relaxed), "{seed}");
        for (own, of_all) in relaxed.iter().zip(&all.relaxed) {
            (0..3).for_each(|k| assert!((own.by[k] - of_all.by[k]).abs() < 1e-6, "{seed}: {own:?} {of_all:?}"));
        }
        assert!(outcome.v.iter().zip(&all.v).all(|(a, b)| (a - b).abs() < 1e-6), "{seed}");
        whole.relax(&relaxed);
        let left = quality(&whole, &outcome.lambda, &outcome.v);
        assert!(left.residual <= 1e-9 && left.momentum_error < 1e-11, "{seed}: {left:?}");
        gave_way += relaxed.len();
        let pushes = |c: &Constraint| outcome.lambda[c.row..c.row + c.law.rows()].iter().any(|&x| x != 0.0);
        joined += whole.constraints.iter().zip(&open).filter(|(c, open)| pushes(c) && **open).count();
    }
    assert!(joined > 0, "some that were left out at first push in the end");
    assert!(gave_way > 0, "some of these problems ask for the impossible");
}
