//! Derivatives of inverse dynamics against Pinocchio: `golden/gradients/*.json`.

use std::path::Path;

use manyworlds_dynamics::{Settings, compile};
use manyworlds_model::{ImportOptions, load};
use manyworlds_shaders::dynamics::derivatives::force::force;
use manyworlds_shaders::dynamics::derivatives::layout::work_reals;
use manyworlds_shaders::dynamics::kinematics::kinematics;
use manyworlds_shaders::dynamics::tree::{POSE, Params, SPATIAL};
use serde::Deserialize;

#[derive(Deserialize)]
struct Golden {
    model: String,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    q: Vec<f64>,
    v: Vec<f64>,
    a: Vec<f64>,
    dtau_dq: Vec<f64>,
    dtau_dv: Vec<f64>,
}

/// Relative to the largest entry.
const TOLERANCE: f64 = 1e-12;

/// Largest difference over the largest entry.
fn difference(found: &[f64], expected: &[f64]) -> f64 {
    assert_eq!(found.len(), expected.len());
    let scale = expected.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
    found.iter().zip(expected).fold(0.0, |m: f64, (f, e)| if (f - e).abs() <= m { m } else { (f - e).abs() }) / scale
}

fn check(name: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let text = std::fs::read_to_string(root.join(format!("tests/golden/gradients/{name}.json"))).expect("golden data");
    let golden: Golden = serde_json::from_str(&text).expect("golden data");
    let model = load(root.join(&golden.model), &ImportOptions::default()).expect("a model").model;
    let sets = compile(&model, &Settings::default()).expect("trees");
    let n = model.n_v;
    for (k, case) in golden.cases.iter().enumerate() {
        let (mut dq, mut dv) = (vec![0.0; n * n], vec![0.0; n * n]);
        for set in &sets {
            for (tree_index, params) in set.trees.iter().zip(&set.params) {
                let (structure, own) = (set.layout.tree(), &model.trees[*tree_index]);
                let (n_body, n_v) = (structure.bodies.len(), structure.dofs.len());
                let mut state = vec![0.0; structure.dims.n_state()];
                state[..own.q.len()].copy_from_slice(&case.q[own.q.clone()]);
                let (mut pose, mut motion) = (vec![0.0; POSE * n_body], vec![0.0; SPATIAL * n_v]);
                kinematics(&structure, Params::<f64>::Shared(params), &state, &mut pose, &mut motion);
                let dims = structure.dims;
                let mut work = vec![0.0; work_reals(dims)];
                work[..n_v].copy_from_slice(&case.a[own.v.clone()]);
                force(
                    &structure,
                    Params::<f64>::Shared(params),
                    &pose,
                    &motion,
                    &case.v[own.v.clone()],
                    &vec![0.0; SPATIAL * n_body],
                    &mut work,
                    &mut |row, column, [by_q, by_v]| {
                        let at = (own.v.start + row) * n + own.v.start + column;
                        dq[at] += by_q;
                        dv[at] += by_v;
                    },
                );
            }
        }
        let (q, v) = (difference(&dq, &case.dtau_dq), difference(&dv, &case.dtau_dv));
        println!("{name}, state {k}: {q:.1e} {v:.1e}");
        assert!(q < TOLERANCE && v < TOLERANCE, "{name}, state {k}: off by {q:.1e} by q, {v:.1e} by v");
    }
}

#[test]
fn half_cheetah() {
    check("half-cheetah");
}

#[test]
fn arm7() {
    check("arm7");
}

#[test]
fn ball_chain() {
    check("ball-chain");
}

#[test]
fn mixed_joints() {
    check("mixed-joints");
}
