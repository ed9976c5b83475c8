//! Temporal Gauss-Seidel as an option of `pgs`: what it is for, and what it leaves alone.

use std::fmt::Write as _;

use manyworlds::{Batch, BatchOptions, Model, status};
use manyworlds_tests::batches::{batch, bits, executors, mjcf, run, state, summary, tight};

fn sweeps(iterations: u32, substeps: u32) -> BatchOptions {
    BatchOptions { solver: "pgs".into(), iterations, substeps, tolerance: 1e-9, ..tight() }
}

/// A column of cubes of 0.2 m, the uppermost of which is so many times as heavy as the others.
fn column(boxes: u32, ratio: f64) -> Model {
    let mut bodies = String::from("<geom type=\"plane\" size=\"0 0 1\"/>");
    for i in 0..boxes {
        let z = 0.1 + 0.2 * f64::from(i);
        let density = if i + 1 == boxes { 1000.0 * ratio } else { 1000.0 };
        let _ = write!(
            bodies,
            "<body pos=\"0 0 {z}\"><freejoint/><geom type=\"box\" size=\".1 .1 .1\" density=\"{density}\"/></body>"
        );
    }
    mjcf(0.005, &format!("<worldbody>{bodies}</worldbody>"))
}

/// A chain of balls that welds hold together, hung up at its first.
fn chain(links: u32, ratio: f64) -> Model {
    let (mut bodies, mut equality) = (String::new(), String::new());
    for i in 0..links {
        let density = if i + 1 == links { 1000.0 * ratio } else { 1000.0 };
        let _ = write!(
            bodies,
            "<body name=\"b{i}\" pos=\"0 0 {}\"><freejoint/><geom type=\"sphere\" size=\".05\" density=\"{density}\" \
             contype=\"0\" conaffinity=\"0\"/></body>",
            -0.1 * f64::from(i)
        );
        let _ = if i == 0 {
            write!(equality, "<connect body1=\"b0\" anchor=\"0 0 0\"/>")
        } else {
            write!(equality, "<connect body1=\"b{i}\" body2=\"b{}\" anchor=\"0 0 .1\"/>", i - 1)
        };
    }
    mjcf(0.005, &format!("<worldbody>{bodies}</worldbody><equality>{equality}</equality>"))
}

/// Deepest that anything was in anything else over so many steps, m.
fn deepest(model: &Model, options: &BatchOptions, steps: usize) -> f64 {
    let mut batch = batch(model, 1, options);
    (0..steps).fold(0.0, |most, _| {
        run(&mut batch, 1);
        most.max(summary(&mut batch).penetration)
    })
}

/// Farthest that the last ball was below its place over so many steps, m.
fn longest(model: &Model, options: &BatchOptions, steps: usize) -> f64 {
    let mut batch = batch(model, 1, options);
    let z = model.initial_q().len() - 5;
    let hung = model.initial_q()[z];
    (0..steps).fold(0.0, |most, _| {
        run(&mut batch, 1);
        most.max(hung - state(&mut batch, 0).q[z])
    })
}

#[test]
fn a_heavy_body_on_light_ones_sinks_less() {
    let model = column(5, 1000.0);
    let [plain, parts] = [1, 16].map(|substeps| deepest(&model, &sweeps(16, substeps), 100));
    assert!(parts < 0.5 * plain, "{parts:e} m with substeps, {plain:e} without");
}

#[test]
fn a_chain_with_a_weight_stretches_less() {
    let model = chain(10, 100.0);
    let [plain, parts] = [1, 32].map(|substeps| longest(&model, &sweeps(32, substeps), 200));
    assert!(parts < 0.3 * plain, "{parts:e} m with substeps, {plain:e} without");
}

/// What rests has the same impulses in every part, and then the whole step's problem is solved.
#[test]
fn what_rests_is_certified() {
    let mut rests = batch(&column(2, 1.0), 1, &BatchOptions { tolerance: 1e-7, ..sweeps(64, 8) });
    run(&mut rests, 400);
    let found = summary(&mut rests);
    assert!(found.contacts > 0 && found.status == status::CONVERGED, "{found:?}");
    assert!(found.residual <= 1e-7, "{found:?}");
}

#[test]
fn one_part_changes_no_bit() {
    let model = column(3, 10.0);
    let [mut plain, mut one] = [
        BatchOptions { substeps: 1, ..sweeps(20, 1) },
        BatchOptions { solver: "pgs".into(), iterations: 20, tolerance: 1e-9, ..tight() },
    ]
    .map(|options| batch(&model, 2, &options));
    run(&mut plain, 50);
    run(&mut one, 50);
    assert_eq!(bits(&state(&mut plain, 1)), bits(&state(&mut one, 1)));
}

#[test]
fn executors_agree() {
    for model in [column(3, 5.0), chain(3, 5.0)] {
        let found: Vec<_> = executors(&sweeps(24, 12))
            .iter()
            .map(|(name, options)| {
                let mut batch = batch(&model, 2, options);
                run(&mut batch, 5);
                (*name, state(&mut batch, 1))
            })
            .collect();
        for (name, of) in &found[1..] {
            let apart = found[0].1.v.iter().zip(&of.v).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(apart <= 1e-8, "{name}: velocities {apart:e} apart");
        }
    }
}

#[test]
fn nonsense_is_refused() {
    let model = column(1, 1.0);
    for bad in [
        sweeps(10, 0),
        sweeps(10, 11),
        BatchOptions { solver: "auto".into(), ..sweeps(10, 2) },
        BatchOptions { solver: "canal".into(), ..sweeps(10, 2) },
    ] {
        let error = Batch::new(&[(&model, 1)], &bad).map(|_| ()).expect_err("no meaning");
        assert!(error.to_string().contains("substeps"), "{error}");
    }
}
