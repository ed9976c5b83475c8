//! Requests that contradict each other give way.

use manyworlds_contact::problem::{ConstraintInput, ContactProblem, Law, ProblemInput};
use manyworlds_contact::solve::{Solution, SolveSettings, SolveStatus, solve};

use crate::samples::{constraint, problem, side};

/// One degree of freedom of a mass that would move with `v`, and rows that push it forwards or backwards and ask for a
/// speed.
fn between(mass: f64, v: f64, rows: &[(f64, f64)]) -> ContactProblem {
    let row = |&(direction, request): &(f64, f64)| ConstraintInput {
        e: [-request, 0.0, 0.0],
        ..constraint(Law::Unilateral, vec![side(0, &[direction])])
    };
    problem(ProblemInput {
        subsystems: vec![[0, 1]],
        a: vec![vec![mass]],
        b: vec![mass * v],
        constraints: rows.iter().map(row).collect(),
        ..ProblemInput::default()
    })
}

fn solved(problem: &ContactProblem) -> Solution {
    let solution = solve(problem, "auto", &SolveSettings::default()).expect("settings with a meaning");
    let relaxed = !solution.relaxed.is_empty();
    let status = if relaxed { SolveStatus::Relaxed } else { SolveStatus::Converged };
    assert_eq!(solution.status, status, "{solution:?}");
    solution
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-8
}

/// Walls closer than what is between them: it stays in the middle, and both requests give way alike.
#[test]
fn between_walls_it_stays() {
    let found = solved(&between(2.0, 0.0, &[(1.0, 0.2), (-1.0, 0.2)]));
    assert!(near(found.v[0], 0.0), "{found:?}");
    // K = m 2 a
    assert!(found.lambda.iter().all(|&x| near(x, 0.8)), "{found:?}");
    assert!(found.relaxed.len() == 2 && found.relaxed.iter().all(|of| near(of.by[0], 0.2) && !of.left_out));
}

/// Thrown at one of them: that one's impulse is K, the other holds what is too much of it.
#[test]
fn the_floor_holds() {
    let found = solved(&between(1.0, -1.0, &[(1.0, 0.2), (-1.0, 0.1)]));
    assert!(near(found.v[0], 0.0), "{found:?}");
    assert!(near(found.lambda[0], 1.4) && near(found.lambda[1], 0.4), "{found:?}");
    assert!(near(found.relaxed[0].by[0], 0.2) && near(found.relaxed[1].by[0], 0.1), "{found:?}");
}

/// Impulses at which something light gives way are within the tolerance, which its speed is not.
#[test]
fn what_is_light_gives_way_by_its_speed() {
    let settings = SolveSettings { tolerance: 1e-6, ..SolveSettings::default() };
    let problem = between(1e-3, 0.0, &[(1.0, 1e-4), (-1.0, 1e-4)]);
    let found = solve(&problem, "auto", &settings).expect("settings with a meaning");
    assert_eq!(found.status, SolveStatus::Relaxed, "{found:?}");
    assert!(found.relaxed.len() == 2 && found.relaxed.iter().all(|of| (of.by[0] - 1e-4).abs() < 1e-6), "{found:?}");
    assert!(found.quality.residual < 1e-6, "{found:?}");
}

/// What has a solution keeps it.
#[test]
fn requests_that_can_be_met_are() {
    let found = solved(&between(1.0, -1.0, &[(1.0, 0.2), (-1.0, -0.3)]));
    assert!(near(found.v[0], 0.2) && near(found.lambda[0], 1.2) && found.relaxed.is_empty(), "{found:?}");
}

/// Two degrees of freedom of 1 kg, geared: the second is a thousand times as fast as the first. A contact that asks for 0.2 m/s
/// parts with the first, and slides with so much of the second.
fn geared(slides: f64) -> ContactProblem {
    let contact = constraint(Law::Contact { mu: 0.0 }, vec![side(0, &[0.0, slides, 0.0, 0.0, 1.0, 0.0])]);
    let gear = constraint(Law::Bilateral, vec![side(0, &[1.0, -1e-3])]);
    problem(ProblemInput {
        subsystems: vec![[0, 2]],
        a: vec![vec![1.0, 0.0, 0.0, 1.0]],
        b: vec![0.0; 2],
        constraints: vec![ConstraintInput { e: [0.0, 0.0, -0.2], ..contact }, gear],
        ..ProblemInput::default()
    })
}

/// What can only be undone by sliding a thousand times as fast is not, though there is a solution; whoever solves it.
#[test]
fn what_flings_gives_way() {
    for solver in ["auto", "newton", "canal"] {
        let found = solve(&geared(1.0), solver, &SolveSettings::default()).expect("settings with a meaning");
        assert_eq!(found.status, SolveStatus::Relaxed, "{solver}: {found:?}");
        assert!(found.relaxed.len() == 1 && found.relaxed[0].constraint == 0, "{solver}: {found:?}");
        assert!(found.v[1].abs() < 1.0 && found.v[0] >= -1e-9, "{solver}: {found:?}");
    }
}

/// What is as hard to move because it is heavy is undone as it asks.
#[test]
fn what_is_heavy_does_not() {
    let found = solved(&geared(1e-3));
    assert!(found.relaxed.is_empty() && near(found.v[0], 0.2), "{found:?}");
}

/// A row that nothing moves is left out, and the rest is solved.
#[test]
fn what_nothing_moves_is_left_out() {
    let found = solved(&between(1.0, -1.0, &[(0.0, 0.2), (1.0, 0.2)]));
    assert!(near(found.v[0], 0.2) && found.relaxed.len() == 1, "{found:?}");
    assert!(found.relaxed[0].left_out && found.relaxed[0].constraint == 0, "{found:?}");
}
