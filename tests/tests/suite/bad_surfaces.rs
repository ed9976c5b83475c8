//! Surfaces, time steps and tolerances at the edge of sense: every solver ends each step with a status, and the states are
//! finite.

use manyworlds::contact::{ContactModel, SOLVERS};
use manyworlds::{Batch, BatchOptions, Integrator, Model};
use manyworlds_tests::batches::{batch, mjcf, run, state, summary, tight};

/// Two boxes and a ball on each other, a little into each other, shoved; `<custom>` says what their surfaces are.
fn pile(h: f64, custom: &str) -> Model {
    mjcf(
        h,
        &format!(
            r#"<custom>{custom}</custom><worldbody>
            <geom type="plane" size="1 1 1"/>
            <body pos="0 0 0.099"><freejoint/><geom type="box" size="0.1 0.1 0.1"/></body>
            <body pos="0.02 0 0.298"><freejoint/><geom name="middle" type="box" size="0.1 0.1 0.1" density="1e5"/></body>
            <body pos="0 0.02 0.497"><freejoint/><geom type="sphere" size="0.1"/></body>
            </worldbody>"#
        ),
    )
}

fn shoved(model: &Model, options: &BatchOptions) -> Batch {
    let mut batch = batch(model, 1, options);
    let mut start = state(&mut batch, 0);
    start.v[6] = 1.0;
    batch.reset(&[(0, start)]).expect("a reset");
    batch
}

fn numeric(name: &str, value: f64) -> String {
    format!(r#"<numeric name="{name}" data="{value:e}"/>"#)
}

#[test]
fn absurd_surfaces_and_time_steps_end_in_a_status() {
    let surfaces = [
        String::new(),
        numeric("stiffness", 1e16),
        numeric("stiffness", 1e-9),
        numeric("stiffness", 1e3) + &numeric("stiffness:middle", 1e16),
        numeric("stiffness", 1e4) + &numeric("dissipation", 1e3),
        numeric("dissipation", 1e-12),
    ];
    for solver in SOLVERS.iter().map(|solver| solver.name()) {
        for integrator in [Integrator::LinearlyImplicit, Integrator::Midpoint] {
            for h in [1e-6, 1e-3, 0.1] {
                for surface in &surfaces {
                    let options =
                        BatchOptions { solver: solver.into(), integrator, tolerance: 1e-8, iterations: 200, ..tight() };
                    let mut batch = shoved(&pile(h, surface), &options);
                    run(&mut batch, 10);
                    let (end, found) = (state(&mut batch, 0), summary(&mut batch));
                    let case = format!("{solver}, {}, {h} s, {surface}: {found:?}", integrator.name());
                    assert!(end.q.iter().chain(&end.v).all(|x| x.is_finite()), "{case}");
                    assert!(!found.failed(), "{case}");
                }
            }
        }
    }
}

#[test]
fn a_tolerance_out_of_reach_ends_at_the_limit() {
    let model = pile(5e-3, "");
    for solver in SOLVERS {
        let name = solver.name();
        let options = BatchOptions { solver: name.into(), tolerance: 1e-300, iterations: 50, ..tight() };
        let mut batch = shoved(&model, &options);
        run(&mut batch, 5);
        let (end, found) = (state(&mut batch, 0), summary(&mut batch));
        assert!(end.q.iter().chain(&end.v).all(|x| x.is_finite()), "{name}");
        // The others end at their own tolerances, and number 1 is of exact contact.
        if solver.model() == ContactModel::Exact {
            assert!(found.residual == 0.0 || found.status_name() == "iteration limit", "{name}: {found:?}");
        }
    }
}

#[test]
fn surfaces_that_are_none_are_refused() {
    use manyworlds::{ImportOptions, model::from_mjcf_str};
    for (name, value) in [("stiffness", "0"), ("stiffness", "-1"), ("dissipation", "-1"), ("stiffness", "nan")] {
        let text = format!(
            r#"<mujoco><custom><numeric name="{name}" data="{value}"/></custom>
            <worldbody><body><freejoint/><geom size="0.1"/></body></worldbody></mujoco>"#
        );
        let nothing = |_: &std::path::Path| Err(std::io::ErrorKind::NotFound.into());
        let error = from_mjcf_str("test.xml", &text, &nothing, &ImportOptions::default()).expect_err("no model");
        let said = error.to_string();
        assert!(said.contains("test.xml") && said.contains(name), "{said}");
    }
}
