//! Problems: files, the builder, and what is refused.

use manyworlds_contact::problem::{ContactProblem, Law, ProblemBuilder, ProblemInput, read, write};
use manyworlds_contact::residual::quality;
use manyworlds_contact::solve::{SOLVERS, SolveSettings, solve};
use proptest::prelude::*;

use crate::samples::{beside, chains, problem, random, stack};

const SMALL: &str = r#"{"A": [[4,0,0],[0,4,0],[0,0,4]], "b": [1,0,-1], "subsystems": [[0,3]],
 "contacts": [{"J": [[1,0,0],[0,1,0],[0,0,1]], "mu": 0.5, "e": [0,0,0.1]}],
 "rows": [{"J": [1,0,0], "kind": "box", "lo": -1, "hi": 1, "e": 0}]}"#;

#[test]
fn a_small_file_is_understood() {
    let p = read(SMALL).unwrap();
    assert_eq!((p.n_v, p.n_rows, p.n_contacts), (3, 4, 1));
    assert_eq!(p.constraints[0].law, Law::Contact { mu: 0.5 });
    assert_eq!(p.constraints[0].e, [0.0, 0.0, 0.1]);
    assert_eq!(p.constraints[1].law, Law::Box { lo: -1.0, hi: 1.0 });
    assert_eq!(p.v_free, [0.25, 0.0, -0.25]);
    assert_eq!(p.constraints[0].delassus, [0.25, 0.0, 0.0, 0.25, 0.0, 0.25]);
    assert_eq!(p.plan.colours, [1, 2], "contact and row share the subsystem");
}

#[test]
fn parts_add_up_to_sides() {
    let split = r#"{"A_blocks": [[[1,0],[0,4]]], "b": [0,0], "subsystems": [[0,2]], "parent": [-1,0],
      "contacts": [{"mu": 1, "parts": [
        {"subsystem": 0, "body": 0, "J": [[1,0],[0,0],[0,0]]},
        {"subsystem": 0, "body": 1, "J": [[-1,1],[0,1],[2,0]]}]}]}"#;
    let p = read(split).unwrap();
    assert_eq!(p.parts.len(), 2);
    assert_eq!(p.jacobian, [0.0, 1.0, 0.0, 1.0, 2.0, 0.0]);
    assert_eq!(p.response, [0.0, 0.25, 0.0, 0.25, 2.0, 0.0]);
    assert_eq!(read(&write(&p)).unwrap(), p);
}

/// A problem in the memory of another, with responses or without.
fn rebuilt(memory: ContactProblem, input: &ProblemInput, responses: bool) -> ContactProblem {
    let (b, parent) = (input.b.clone(), input.parent.clone());
    let mut builder = ProblemBuilder::reusing(memory, &input.subsystems, b, parent).unwrap();
    if !responses {
        builder = builder.without_responses();
    }
    input.a.iter().for_each(|block| builder.block(block).unwrap());
    for c in &input.constraints {
        builder.constraint(c.law, c.e, c.compliance).unwrap();
        c.sides.iter().for_each(|s| builder.side(s.subsystem, None, &s.jacobian).unwrap());
    }
    builder.finish(input.warm_start.clone()).unwrap()
}

/// They are not found again, and a side without one is told.
#[test]
fn known_responses_are_taken() {
    let input = stack(&[1.0; 4], 0.5);
    let exact = problem(input.clone());
    let begun = || {
        let mut builder = ProblemBuilder::new(&input.subsystems, input.b.clone(), input.parent.clone()).unwrap();
        input.a.iter().for_each(|block| builder.block(block).unwrap());
        builder
    };
    let mut builder = begun();
    for (c, own) in input.constraints.iter().zip(&exact.constraints) {
        builder.constraint(c.law, c.e, c.compliance).unwrap();
        for (s, side) in c.sides.iter().zip(&exact.sides[own.sides.clone()]) {
            builder.side(s.subsystem, None, &s.jacobian).unwrap();
            let doubled: Vec<f64> = exact.response[side.offset..][..s.jacobian.len()].iter().map(|y| 2.0 * y).collect();
            builder.response(&doubled).unwrap();
        }
    }
    let found = builder.finish(Vec::new()).unwrap();
    assert!(found.response.iter().zip(&exact.response).all(|(found, exact)| *found == 2.0 * exact));
    let mut builder = begun();
    let sides = input.constraints.iter().find(|c| c.sides.len() > 1).expect("a contact of two bodies");
    builder.constraint(sides.law, sides.e, sides.compliance).unwrap();
    sides.sides.iter().for_each(|s| builder.side(s.subsystem, None, &s.jacobian).unwrap());
    let response = vec![0.0; sides.sides[1].jacobian.len()];
    assert!(builder.response(&response[1..]).is_err() && builder.response(&response).is_err());
}

#[test]
fn another_problems_memory_leaves_no_trace() {
    let mut memory = ContactProblem::default();
    for seed in 0..20 {
        let mut input = if seed % 3 == 0 { stack(&[1.0; 4], 0.5) } else { random(seed, 5, 9, true) };
        input.constraints.iter_mut().flat_map(|c| &mut c.sides).for_each(|s| s.body = None);
        let fresh = problem(input.clone());
        memory = rebuilt(memory, &input, true);
        assert_eq!(memory, fresh, "{seed}");
        memory = rebuilt(memory, &input, false);
        assert!(memory.response.is_empty());
        let lambda: Vec<f64> = (0..fresh.n_rows).map(|i| (i as f64 * 7.7).sin()).collect();
        let v = fresh.velocity(&lambda);
        let largest = v.iter().fold(1.0f64, |most, x| most.max(x.abs()));
        for (a, b) in memory.velocity(&lambda).iter().zip(v) {
            assert!((a - b).abs() < 1e-12 * largest, "{seed}: {a} {b}");
        }
        for (own, with) in memory.constraints.iter().zip(&fresh.constraints) {
            let scale = with.delassus[0] + with.delassus[3] + with.delassus[5];
            for (a, b) in own.delassus.iter().zip(with.delassus) {
                assert!((a - b).abs() <= 1e-13 * scale, "{seed}: {a} {b}");
            }
        }
    }
}

#[test]
fn every_fault_names_its_element() {
    let cases = [
        ("{", "contact problem: EOF while parsing an object at line 1 column 1"),
        ("[]", "contact problem: "),
        (&SMALL.replace("\"b\": [1,0,-1]", "\"b\": [1,0]"), "subsystems[0]: 3 from 0 on exceeds 2"),
        (&SMALL.replace("[0,3]", "[0,2]"), "subsystems: degree of freedom 2 is in none"),
        (&SMALL.replace("[[0,3]]", "[[0,3],[1,1]]"), "subsystems[1]: degree of freedom 1 is in subsystems[0] too"),
        (&SMALL.replace("[[0,3]]", "[[0,3],[1,0]]"), "subsystems[1]: no degree of freedom"),
        (&SMALL.replace("[[0,3]]", "[[18446744073709551615,3]]"), "subsystems[0]: 3 from 18446744073709551615"),
        (&SMALL.replace("[[0,3]]", "[[0,1],[1,2]]").replace("[4,0,0]", "[4,1,0]"), "A[0][1]: 1 couples two subsystems"),
        (&SMALL.replace("[4,0,0]", "[4,1,0]"), "A_blocks[0]: not symmetric: [1][0] is 0, [0][1] is 1"),
        (&SMALL.replace("[0,4,0]", "[0,-4,0]"), "A_blocks[0]: not positive definite: pivot of row 1"),
        (&SMALL.replace("[4,0,0]", "[4,0]"), "A[0]: expected 3 entries, found 2"),
        (&SMALL.replace("[4,0,0],", ""), "A: expected 3 rows, found 2"),
        (&SMALL.replace("\"A\"", "\"B\""), "A: missing"),
        (&SMALL.replace("\"b\"", "\"A_blocks\": [], \"b\""), "A: given beside A_blocks"),
        (&SMALL.replace("\"mu\": 0.5", "\"mu\": -0.5"), "contacts[0].mu: -0.5 is negative"),
        (&SMALL.replace("\"mu\": 0.5, ", ""), "contacts[0].mu: missing"),
        (&SMALL.replace("[0,0,0.1]", "[0,0.1]"), "contacts[0].e: expected 3 entries, found 2"),
        (&SMALL.replace("[1,0,0],[0,1,0],[0,0,1]", "[1,0,0],[0,1,0]"), "contacts[0].J: expected 3 rows, found 2"),
        (&SMALL.replace("[1,0,0],[0,1,0]", "[1,0,0],[0,1]"), "contacts[0].J[1]: expected 3 entries, found 2"),
        (&SMALL.replace("\"box\"", "\"bax\""), "rows[0].kind: \"bax\" is not"),
        (&SMALL.replace("\"lo\": -1", "\"lo\": 2"), "rows[0]: lo 2 is not at or below hi 1"),
        (&SMALL.replace("\"box\", \"lo\": -1, \"hi\": 1", "\"soft\", \"k\": 1"), "rows[0].b: missing"),
        (
            &SMALL.replace("\"box\", \"lo\": -1, \"hi\": 1", "\"soft\", \"k\": 1, \"b\": -1"),
            "rows[0].b: -1 is negative",
        ),
        (&SMALL.replace("\"J\": [1,0,0]", "\"J\": [1,0]"), "rows[0].J[0]: expected 3 entries, found 2"),
        (&SMALL.replace("\"J\": [1,0,0], ", ""), "rows[0].J: missing"),
        (
            &SMALL.replace("\"J\": [1,0,0]", "\"parts\": [{\"subsystem\": 4, \"J\": []}]"),
            "rows[0].parts[0].subsystem: 4 of 1",
        ),
        (&SMALL.replace("\"rows\"", "\"parent\": [-1,0], \"rows\""), "parent: expected 3 entries, found 2"),
        (&SMALL.replace("\"rows\"", "\"parent\": [-1,1,0], \"rows\""), "parent[1]: 1 is neither -1 nor"),
        (&SMALL.replace("\"rows\"", "\"lambda\": [0], \"rows\""), "lambda: expected 4 entries, found 1"),
        (&SMALL.replace("[1,0,-1]", "[1,0,1e999]"), "contact problem: number out of range"),
    ];
    for (text, expected) in cases {
        let message = read(text).expect_err(expected).to_string();
        assert!(message.starts_with(expected), "expected \"{expected}\", got \"{message}\"");
    }
}

#[test]
fn non_finite_numbers_are_refused_by_hand_too() {
    let mut input = stack(&[1.0], 0.5);
    input.constraints[2].e[1] = f64::NAN;
    assert_eq!(ContactProblem::new(input).unwrap_err().to_string(), "contacts[2].e[1]: NaN is not finite");
    let mut input = stack(&[1.0], 0.5);
    input.constraints[3].sides[0].jacobian[4] = f64::INFINITY;
    assert_eq!(ContactProblem::new(input).unwrap_err().to_string(), "contacts[3].J[4]: inf is not finite");
}

fn near(a: &[f64], b: &[f64], tolerance: f64) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() <= tolerance * (1.0 + a.abs()))
}

/// The same numbers by sparse blocks and short sides as by dense ones.
#[test]
fn sparse_subsystems_are_what_dense_ones_are() {
    for seed in 0..10 {
        let [dense, sparse] = chains(seed, 20, 6).map(problem);
        assert_eq!((sparse.sparse.len(), sparse.a.len()), (2, dense.a.len() - 800));
        assert!(near(&sparse.v_free, &dense.v_free, 1e-11), "{seed}");
        for (a, b) in sparse.constraints.iter().zip(&dense.constraints) {
            assert!(near(&a.delassus, &b.delassus, 1e-11), "{seed}: {:?} {:?}", a.delassus, b.delassus);
        }
        let lambda: Vec<f64> = (0..dense.n_rows).map(|i| (i as f64 * 0.7).sin()).collect();
        let (v, w) = (dense.velocity(&lambda), sparse.velocity(&lambda));
        assert!(near(&v, &w, 1e-10), "{seed}");
        assert!(near(&dense.momentum(&v), &sparse.momentum(&v), 1e-11));
        let [a, b] = [&dense, &sparse].map(|p| quality(p, &lambda, &v));
        assert!((a.residual - b.residual).abs() < 1e-10 && (a.residual_scaled - b.residual_scaled).abs() < 1e-10);
        assert!(a.momentum_error < 1e-10 && b.momentum_error < 1e-10, "{a:?} {b:?}");
        assert!((a.complementarity_error - b.complementarity_error).abs() < 1e-9 * (1.0 + a.complementarity_error));
        // Off the solution it shows in both.
        let off: Vec<f64> = v.iter().map(|v| v + 1e-3).collect();
        let [a, b] = [&dense, &sparse].map(|p| quality(p, &lambda, &off).momentum_error);
        assert!(a > 1e-5 && (a - b).abs() < 1e-10, "{a} {b}");
    }
}

/// Every solver takes the steps that it takes on the whole problem, and gives the velocity of what nothing touches.
#[test]
fn every_solver_takes_sparse_subsystems() {
    let settings = SolveSettings { tolerance: 1e-10, iterations: 400, ..Default::default() };
    for seed in 0..6 {
        let [dense, sparse] = chains(seed, 20, 6).map(problem);
        for solver in SOLVERS {
            let [a, b] = [&dense, &sparse].map(|p| solve(p, solver.name(), &settings).unwrap());
            let name = solver.name();
            assert_eq!(a.status, b.status, "{seed} {name}: {:?} {:?}", a.quality, b.quality);
            assert!(near(&a.v, &b.v, 1e-6), "{seed} {name}");
            assert!(a.iterations.abs_diff(b.iterations) <= 2, "{seed} {name}: {} {}", a.iterations, b.iterations);
        }
    }
}

#[test]
fn a_sparse_subsystem_that_nothing_touches_moves_freely() {
    let [_, mut input] = chains(3, 20, 4);
    input.constraints.iter_mut().for_each(|c| c.sides.retain(|s| s.subsystem < 3));
    let p = problem(input);
    let s = solve(&p, "auto", &SolveSettings::default()).unwrap();
    let own = p.subsystems[3].begin..;
    assert!(near(&s.v[own.clone()], &p.v_free[own], 1e-12));
}

#[test]
fn files_give_sparse_problems_back() {
    for seed in 0..5 {
        let [_, mut input] = chains(seed, 12, 5);
        // Two sides of one subsystem are one in a file.
        input.constraints.iter_mut().for_each(|c| c.sides.truncate(1));
        let p = problem(input);
        assert_eq!(read(&write(&p)).unwrap(), p);
    }
}

const SPARSE: &str = r#"{"A_blocks": [[]], "A_sparse": [{"subsystem": 0, "entries": [[0,0,2],[1,1,2],[1,0,-1],[2,2,4]]}],
 "b": [1,0,-1], "subsystems": [[0,3]],
 "contacts": [{"parts": [{"subsystem": 0, "dofs": [2,1,0], "J": [[0,0,1],[0,1,0],[1,0,0]]}], "mu": 0.5}],
 "rows": [{"J": [0,1,0], "kind": "bilateral", "e": 0}]}"#;

#[test]
fn a_sparse_file_is_understood_and_wrong_ones_say_where() {
    let p = read(SPARSE).unwrap();
    assert_eq!((&p.touched[p.sides[0].dofs.clone()], &p.touched[p.sides[1].dofs.clone()]), (&[0, 1, 2][..], &[1][..]));
    assert_eq!(p.jacobian, [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0]);
    let cases = [
        (SPARSE.replace("[1,0,-1],[2", "[0,1,-1],[2"), "A_sparse[0].entries[2]: [0, 1] is not in the lower triangle"),
        (SPARSE.replace("[[0,0,2]", "[[3,0,2]"), "A_sparse[0].entries[0]: [3, 0] is not in the lower triangle"),
        (SPARSE.replace("[1,0,-1],[2", "[1,0,-3],[2"), "A_sparse[0]: not positive definite: pivot of row"),
        (SPARSE.replace("\"subsystem\": 0, \"entries", "\"subsystem\": 1, \"entries"), "A_sparse[0].subsystem: 1 of 1"),
        (SPARSE.replace("[2,1,0]", "[2,1,3]"), "contacts[0].dofs: 3 of 3 degrees of freedom"),
        (SPARSE.replace("[2,1,0]", "[2,1,2]"), "contacts[0].dofs: 2 twice"),
        (SPARSE.replace("[2,1,0]", "[2,1]"), "contacts[0].parts[0].J[0]: expected 2 entries, found 3"),
        (SPARSE.replace("\"dofs\": [2,1,0], ", ""), "contacts[0].dofs: subsystem 0 is sparse"),
        (SPARSE.replace("\"A_blocks\": [[]]", "\"A\": [[1]]"), "A: given beside A_sparse"),
        (SPARSE.replace("\"A_blocks\": [[]]", "\"A_blocks\": [[[1]]]"), "A_blocks[0]: expected 0 rows, found 1"),
        (
            SPARSE.replace("\"A_blocks\": [[]], \"A_sparse", "\"A_blocks\": [[[1,0,0],[0,1,0],[0,0,1]]], \"none"),
            "contacts[0].dofs: subsystem 0 is dense",
        ),
    ];
    for (text, expected) in cases {
        let message = read(&text).expect_err(expected).to_string();
        assert!(message.starts_with(expected), "expected \"{expected}\", got \"{message}\"");
    }
}

proptest! {
    #[test]
    fn files_give_the_problem_back(seed in 0u64..1_000_000, bodies in 1usize..6, contacts in 0usize..9, warm: bool) {
        let mut input = beside(&random(seed, bodies, contacts, true), &stack(&[1.0, 2.0], 0.3));
        if warm {
            input.warm_start = (0..3 * (contacts + 8) + 5).map(|i| i as f64 * 0.1).collect();
        }
        let p = problem(input);
        prop_assert_eq!(read(&write(&p)).unwrap(), p);
    }

    #[test]
    fn no_text_panics(text in "\\PC*") {
        let _ = read(&text);
    }

    /// A valid file with a piece overwritten.
    #[test]
    fn no_damaged_file_panics(at in 0usize..340, piece in "[-0-9\\[\\]{}\",.:eJA ]{0,6}") {
        let mut text = SMALL.to_owned();
        let at = at.min(text.len());
        let end = (at + piece.len()).min(text.len());
        text.replace_range(at..end, &piece);
        let _ = read(&text);
    }
}
