use proptest::prelude::*;

use super::{ContactProblem, Law, ProblemBuilder, ProblemInput, read, write};
use crate::samples::{beside, problem, random, stack};

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
