//! Problems that no solver can be glad of, given to every solver there is: each ends in bounded time with a status that
//! is true and without a NaN, or is refused with a message.

use std::time::{Duration, Instant};

use manyworlds::contact::problem::{ConstraintInput, ProblemInput, SideInput, read};
use manyworlds::contact::{
    ContactModel, ContactProblem, Law, Precision, SOLVERS, SolveSettings, SolveStatus, quality, solve,
};

/// Iterations of each solve, and the time that they may take in a test on a busy machine.
const ITERATIONS: u32 = 500;
const LIMIT: Duration = Duration::from_secs(60);

/// A sphere of given mass and half a metre that falls on the ground, as often touched as said.
fn particle(masses: &[f64]) -> ProblemInput {
    let mut input = ProblemInput::default();
    for (s, &m) in masses.iter().enumerate() {
        input.subsystems.push([3 * s, 3]);
        input.a.push(vec![m, 0.0, 0.0, 0.0, m, 0.0, 0.0, 0.0, m]);
        input.b.extend([0.01 * m, 0.0, -0.05 * m]);
    }
    input
}

fn unit(subsystem: usize, sign: f64) -> SideInput {
    let jacobian = vec![sign, 0.0, 0.0, 0.0, sign, 0.0, 0.0, 0.0, sign];
    SideInput { subsystem, jacobian, ..Default::default() }
}

fn contact(mu: f64, sides: Vec<SideInput>) -> ConstraintInput {
    ConstraintInput { law: Law::Contact { mu }, e: [0.0; 3], sides, compliance: None }
}

/// A stack of particles, each on the one before.
fn stack(masses: &[f64], mu: f64) -> ProblemInput {
    let mut input = particle(masses);
    input.constraints.push(contact(mu, vec![unit(0, 1.0)]));
    for s in 1..masses.len() {
        input.constraints.push(contact(mu, vec![unit(s, 1.0), unit(s - 1, -1.0)]));
    }
    input
}

fn weld(e: [f64; 3]) -> ConstraintInput {
    ConstraintInput { law: Law::Block, e, sides: vec![unit(0, 1.0)], compliance: None }
}

/// The cases: name, problem, and whether a solution exists.
fn cases() -> Vec<(&'static str, ProblemInput, bool)> {
    let mut all = Vec::new();
    let mut opposing = particle(&[1.0]);
    opposing.constraints = vec![weld([0.1, 0.0, 0.0]), weld([-0.1, 0.0, 0.0])];
    all.push(("two opposing welds", opposing, false));
    let mut squeezed = particle(&[1.0]);
    squeezed.constraints = vec![contact(0.5, vec![unit(0, 1.0)]), contact(0.5, vec![unit(0, -1.0)])];
    squeezed.constraints.iter_mut().for_each(|c| c.e[2] = -0.2);
    all.push(("pressed from both sides", squeezed, false));
    let mut redundant = particle(&[1.0]);
    redundant.constraints = vec![contact(0.5, vec![unit(0, 1.0)]); 100];
    all.push(("100 redundant contacts", redundant.clone(), true));
    redundant.constraints = vec![contact(0.5, vec![unit(0, 1.0)]); 1000];
    all.push(("one contact a thousand times over", redundant, true));
    all.push(("no friction", stack(&[1.0, 2.0], 0.0), true));
    all.push(("friction 10", stack(&[1.0, 2.0], 10.0), true));
    all.push(("mass ratio 1e6, heavy above", stack(&[1.0, 1e6], 0.5), true));
    all.push(("mass ratio 1e6, light above", stack(&[1e6, 1.0], 0.5), true));
    all.push(("nothing touches", particle(&[1.0, 2.0]), true));
    all.push(("no degrees of freedom", ProblemInput::default(), true));
    let mut idle = particle(&[1.0]);
    let nothing = SideInput { subsystem: 0, jacobian: vec![0.0; 9], ..Default::default() };
    idle.constraints.push(contact(0.5, vec![nothing]));
    all.push(("a contact that moves nothing", idle, true));
    let mut huge = particle(&[1e-12]);
    huge.constraints.push(contact(0.5, vec![unit(0, 1.0)]));
    all.push(("a mass of a picogram", huge, true));
    all
}

#[test]
fn every_solver_ends_with_a_true_status_and_no_nan() {
    for (name, input, _) in cases() {
        let problem = ContactProblem::new(input).expect(name);
        for solver in SOLVERS {
            for precision in [Precision::F32, Precision::F64] {
                let at = format!("{name}, {} in {precision:?}", solver.name());
                let settings =
                    SolveSettings { precision, tolerance: 1e-8, iterations: ITERATIONS, ..SolveSettings::default() };
                let start = Instant::now();
                let solution = solve(&problem, solver.name(), &settings).expect(&at);
                assert!(start.elapsed() < LIMIT, "{at}: {:?}", start.elapsed());
                let all = solution.v.iter().chain(&solution.lambda);
                let sound = all.clone().all(|x| x.is_finite());
                assert!(sound || solution.status == SolveStatus::NonFinite, "{at}: {solution:?}");
                assert!(all.clone().all(|x| !x.is_nan()), "{at}: {solution:?}");
                // Newton steps may come on top of the sweeps, and looking for what must give way on top of both, twice.
                assert!(solution.iterations <= 4 * ITERATIONS, "{at}: {}", solution.iterations);
                let truth = quality(&problem, &solution.lambda, &solution.v);
                let reached = truth.residual <= 1.01e-8
                    || precision == Precision::F32 && truth.residual_scaled <= 1.01e-8
                    // Rounding of the impulses themselves, which only f32 has to speak of.
                    || precision == Precision::F32 && truth.residual <= 1e-6;
                // What gives way has a measure of its own.
                let reached = if solver.model() == ContactModel::Exact { reached } else { truth.momentum_error < 1e-3 };
                assert!(solution.status != SolveStatus::Converged || reached, "{at}: {:?} {truth:?}", solution.status);
            }
        }
    }
}

#[test]
fn what_has_no_solution_is_never_called_solved() {
    for (name, input, _) in cases().into_iter().filter(|(_, _, feasible)| !feasible) {
        let problem = ContactProblem::new(input).expect(name);
        for solver in SOLVERS.iter().filter(|solver| solver.model() == ContactModel::Exact) {
            let settings = SolveSettings { tolerance: 1e-8, iterations: ITERATIONS, ..Default::default() };
            let solution = solve(&problem, solver.name(), &settings).expect(name);
            let (at, quality) = (format!("{name}, {}", solver.name()), solution.quality);
            assert_ne!(solution.status, SolveStatus::Converged, "{at}");
            // Solved is only what biases gave way for.
            match solution.status {
                SolveStatus::Relaxed => assert!(quality.residual <= 1.01e-8, "{at}: {quality:?}"),
                _ => assert!(quality.residual > 1e-3, "{at}: {quality:?}"),
            }
            let eased = solution.relaxed.iter().map(|of| of.by.iter().fold(0.0, |most: f64, by| most.max(by.abs())));
            assert!(solution.status != SolveStatus::Relaxed || eased.fold(0.0, f64::max) > 1e-3, "{at}");
        }
    }
}

#[test]
fn auto_solves_what_has_a_solution() {
    for (name, input, _) in cases().into_iter().filter(|(_, _, feasible)| *feasible) {
        // Impulses of 5e4 N s have a rounding of 7e-12 N s each, and a velocity of 1e-8 m/s between them.
        let tolerance = if name.contains("heavy above") { 1e-8 } else { 1e-10 };
        let problem = ContactProblem::new(input).expect(name);
        let settings = SolveSettings { tolerance, ..Default::default() };
        let solution = solve(&problem, "auto", &settings).expect(name);
        assert_eq!(solution.status, SolveStatus::Converged, "{name}: {:?}", solution.quality);
        assert!(solution.quality.residual <= tolerance, "{name}: {:?}", solution.quality);
    }
}

#[test]
fn tolerances_without_meaning_are_refused_and_zero_is_not() {
    let problem = ContactProblem::new(stack(&[1.0, 2.0], 0.5)).expect("a stack");
    for solver in SOLVERS {
        let name = solver.name();
        for tolerance in [-1e-9, f64::NAN, f64::INFINITY] {
            let settings = SolveSettings { tolerance, ..Default::default() };
            let error = solve(&problem, name, &settings).expect_err(name);
            assert!(error.to_string().contains("tolerance"), "{error}");
        }
        // Zero asks for all there is, within the iterations.
        let settings = SolveSettings { tolerance: 0.0, iterations: ITERATIONS, ..Default::default() };
        let solution = solve(&problem, name, &settings).expect(name);
        assert!(solution.lambda.iter().all(|x| x.is_finite()), "{}", name);
        let left = if solver.model() == ContactModel::Exact {
            solution.quality.residual
        } else {
            solution.quality.momentum_error
        };
        assert!(left < 1e-6, "{}: {:?}", name, solution.quality);
        let none = SolveSettings { iterations: 0, ..Default::default() };
        let solution = solve(&problem, name, &none).expect(name);
        assert!(solution.lambda.iter().all(|x| x.is_finite()) && solution.iterations == 0, "{}", name);
    }
}

#[test]
fn problems_that_are_none_are_refused_with_the_place() {
    let with = |change: &dyn Fn(&mut ProblemInput)| {
        let mut input = stack(&[1.0, 2.0], 0.5);
        change(&mut input);
        ContactProblem::new(input).expect_err("it is refused").to_string()
    };
    let expect = |message: String, words: &[&str]| {
        assert!(words.iter().all(|word| message.contains(word)), "{words:?} are not in: {message}");
    };
    expect(with(&|p| p.b[1] = f64::NAN), &["b", "1"]);
    expect(with(&|p| p.a[1][4] = f64::INFINITY), &["A_blocks[1]"]);
    expect(with(&|p| p.a[0][8] = -1.0), &["A_blocks[0]", "positive definite"]);
    expect(with(&|p| p.a[0][8] = 0.0), &["A_blocks[0]", "positive definite"]);
    expect(with(&|p| p.a[0][1] = 0.5), &["A_blocks[0]", "symmetric"]);
    expect(with(&|p| p.constraints[1].sides[0].jacobian[3] = f64::NAN), &["contacts[1]", "J"]);
    expect(with(&|p| p.constraints[0].e[2] = f64::NEG_INFINITY), &["contacts[0]", "e"]);
    expect(with(&|p| p.constraints[0].law = Law::Contact { mu: -0.1 }), &["contacts[0]", "mu"]);
    expect(with(&|p| p.constraints[0].law = Law::Contact { mu: f64::NAN }), &["contacts[0]", "mu"]);
    expect(with(&|p| p.warm_start = vec![f64::NAN; 6]), &["lambda"]);
    let text = r#"{"A": [[1]], "b": [1e999], "subsystems": [[0, 1]]}"#;
    assert!(read(text).is_err());
}
