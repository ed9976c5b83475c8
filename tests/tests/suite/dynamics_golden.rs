//! Dynamics against MuJoCo and Pinocchio: `golden/dynamics/*.json`.

use std::path::{Path, PathBuf};

use manyworlds_dynamics::{Settings, TreeSet, compile};
use manyworlds_model::{ImportOptions, Model, load};
use manyworlds_shaders::Scalar;
use manyworlds_shaders::dynamics::tree::{POSE, actuator_param, drive, param, solve};
use manyworlds_tests::dynamics::TreeTile;
use serde_json::Value;

/// Of the largest entry: round-off of sums in another order, times a condition number of up to 1e4 in accelerations.
const TOLERANCE_F64: f64 = 1e-9;
/// Of the largest entry of M, of a pose: f32 has 6e-8.
const TOLERANCE_F32: f64 = 1e-5;
/// Of the largest entry of an acceleration in f32: round-off times the condition number.
const TOLERANCE_F32_ACCELERATION: f64 = 2e-3;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

/// Largest difference relative to the largest entry expected.
fn difference(found: &[f64], expected: &[f64]) -> f64 {
    assert_eq!(found.len(), expected.len());
    let largest = expected.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
    // Written so that a NaN counts as the largest difference of all.
    let worst = found.iter().zip(expected).fold(0.0_f64, |m, (a, b)| {
        let d = (a - b).abs();
        if m.is_nan() || d <= m { m } else { d }
    });
    worst / largest.max(f64::MIN_POSITIVE)
}

/// What the kernels make of a whole model, in the order of its lists.
#[derive(Default)]
struct Computed {
    /// Lower triangle, row after row.
    mass: Vec<f64>,
    bias: Vec<f64>,
    acceleration: Vec<f64>,
    position: Vec<f64>,
    quaternion: Vec<f64>,
}

struct Case {
    q: Vec<f64>,
    v: Vec<f64>,
    ctrl: Vec<f64>,
}

fn compute<T: Scalar>(model: &Model, sets: &[TreeSet], case: &Case) -> Computed {
    let mut all = Computed {
        mass: vec![0.0; model.n_v * (model.n_v + 1) / 2],
        bias: vec![0.0; model.n_v],
        acceleration: vec![0.0; model.n_v],
        position: vec![f64::NAN; 3 * model.bodies.len()],
        quaternion: vec![f64::NAN; 4 * model.bodies.len()],
    };
    for set in sets {
        for (k, &index) in set.trees.iter().enumerate() {
            let tree = &model.trees[index];
            let ctrl: Vec<f64> = set.actuators[k].iter().map(|&a| case.ctrl[a]).collect();
            let tau = vec![0.0; tree.v.len()];
            let state = [&case.q[tree.q.clone()], &case.v[tree.v.clone()], &ctrl, &tau].concat();
            let mut tile = TreeTile::<T>::new(&set.layout, &set.params[k]);
            tile.set(0, &state);
            tile.free_velocity();
            let f64s = |xs: &[T]| xs.iter().map(|x| x.to_f64()).collect::<Vec<_>>();
            for (i, dof) in set.layout.tree().dofs.iter().enumerate() {
                let (row, mut j) = (tree.v.start + i, i);
                for e in 0..dof.chain as usize {
                    let column = tree.v.start + j;
                    all.mass[row * (row + 1) / 2 + column] = tile.mass[dof.m_begin as usize + e].to_f64();
                    j = set.layout.tree().dofs[j].parent as usize;
                }
            }
            all.bias[tree.v.clone()].copy_from_slice(&f64s(&tile.bias));
            all.acceleration[tree.v.clone()].copy_from_slice(&acceleration(&mut tile));
            for (b, pose) in tree.bodies.clone().zip(f64s(&tile.pose).chunks(POSE)) {
                all.position[3 * b..3 * b + 3].copy_from_slice(&pose[..3]);
                all.quaternion[4 * b..4 * b + 4].copy_from_slice(&pose[3..]);
            }
        }
    }
    all
}

/// `M^-1 (all forces - c)`. The kernels' `b - A v0` is `h F - h^2 K v0`: h = 1 and h = 2 tell F apart.
fn acceleration<T: Scalar>(tile: &mut TreeTile<T>) -> Vec<f64> {
    let n = tile.bias.len();
    let mut force: Vec<T> = if tile.layout.dims.lone == 1 {
        // A lone body's b is that of its implicit rotation; `drift_of_a_lone_body` covers it.
        let pushes = tile.momentum.iter().zip(&tile.mass).any(|(a, m)| a != m) || tile.layout.dims.n_u > 0;
        assert!(!pushes, "this test knows lone bodies without springs, dampers and actuators only");
        tile.bias.iter().map(|&c| -c).collect()
    } else {
        let change = |tile: &mut TreeTile<T>, h: f64| -> Vec<T> {
            tile.params[param::TIMESTEP] = T::from_f64(h);
            tile.free_velocity();
            let v = tile.state[tile.layout.dims.v_at()..tile.layout.dims.ctrl_at()].to_vec();
            let mut moved = vec![T::default(); n];
            manyworlds_shaders::dynamics::tree::multiply(&tile.layout.tree(), &tile.momentum, &v, &mut moved);
            tile.b.iter().zip(&moved).map(|(&b, &m)| b - m).collect()
        };
        let (one, two) = (change(tile, 1.0), change(tile, 2.0));
        one.iter().zip(&two).map(|(&a, &b)| a + a - b * T::from_f64(0.5)).collect()
    };
    add_drive_rows(tile, &mut force);
    tile.params[param::TIMESTEP] = T::default();
    tile.free_velocity();
    solve(&tile.layout.tree(), &tile.factor, &mut force);
    force.iter().map(|x| x.to_f64()).collect()
}

/// The forces of drives that are rows of the contact problem, at the start of the step.
fn add_drive_rows<T: Scalar>(tile: &TreeTile<T>, force: &mut [T]) {
    let tree = tile.layout.tree();
    let dims = tree.dims;
    for (a, actuator) in tree.actuators.iter().enumerate().filter(|(_, a)| a.mode == drive::ROW) {
        let p = &tile.params[actuator_param(dims, a)..];
        let joint = &tree.joints[actuator.joint as usize];
        let dof = joint.dof_begin as usize;
        let control =
            tile.state[dims.ctrl_at() + a].max(p[param::ACTUATOR_CONTROL]).min(p[param::ACTUATOR_CONTROL + 1]);
        let [constant, position, velocity] = [0, 1, 2].map(|k| p[param::ACTUATOR_BIAS + k]);
        let gear = p[param::ACTUATOR_GEAR];
        let (length, speed) = (gear * tile.state[joint.q_begin as usize], gear * tile.state[dims.v_at() + dof]);
        let f = p[param::ACTUATOR_GAIN] * control + constant + position * length + velocity * speed;
        force[dof] += gear * f.max(p[param::ACTUATOR_FORCE]).min(p[param::ACTUATOR_FORCE + 1]);
    }
}

fn check<T: Scalar>(name: &str, tolerance: f64, tolerance_acceleration: f64) {
    let text = std::fs::read_to_string(root().join(format!("tests/golden/dynamics/{name}.json"))).unwrap();
    let golden: Value = serde_json::from_str(&text).unwrap();
    let path = root().join(golden["model"].as_str().unwrap());
    let model = load(&path, &ImportOptions::default()).unwrap().model;
    let sets = compile(&model, &Settings::default()).unwrap();
    for (k, case) in golden["cases"].as_array().unwrap().iter().enumerate() {
        let state = Case { q: numbers(&case["q"]), v: numbers(&case["v"]), ctrl: numbers(&case["ctrl"]) };
        let found = compute::<T>(&model, &sets, &state);
        let what = |quantity: &str| format!("{name}, state {k}, {} {quantity}", T::NAME);
        let check = |quantity: &str, found: &[f64], expected: &Value, tolerance: f64| {
            let d = difference(found, &numbers(expected));
            assert!(d < tolerance, "{}: off by {d:.2e}", what(quantity));
        };
        check("M", &found.mass, &case["mass_lower"], tolerance);
        // Bias forces are differences of products that round at the size of M v^2.
        check("bias", &found.bias, &case["bias"], tolerance);
        check("acceleration", &found.acceleration, &case["acceleration"], tolerance_acceleration);
        let (positions, quaternions) = (numbers(&case["body_position"]), numbers(&case["body_quaternion"]));
        for b in (1..model.bodies.len()).filter(|&b| model.bodies[b].tree.is_some()) {
            let at = &found.position[3 * b..3 * b + 3];
            assert!(difference(at, &positions[3 * b - 3..3 * b]) < tolerance, "{}", what("position"));
            let (q, e) = (&found.quaternion[4 * b..4 * b + 4], &quaternions[4 * b - 4..4 * b]);
            let negative: Vec<f64> = e.iter().map(|x| -x).collect();
            assert!(difference(q, e).min(difference(q, &negative)) < tolerance, "{}", what("orientation"));
        }
    }
}

macro_rules! golden {
    ($($name:ident $file:literal)*) => {
        mod double { $( #[test] fn $name() { super::check::<f64>($file, super::TOLERANCE_F64, super::TOLERANCE_F64); } )* }
        mod single {
            $( #[test] fn $name() {
                super::check::<f32>($file, super::TOLERANCE_F32, super::TOLERANCE_F32_ACCELERATION);
            } )*
        }
    };
}

golden! {
    cartpole "cartpole"
    hopper "hopper"
    half_cheetah "half-cheetah"
    ant "ant"
    humanoid "humanoid"
    quadruped "quadruped"
    arm7 "arm7"
    ball_chain "ball-chain"
    mixed_joints "mixed-joints"
    several_trees "several-trees"
}

#[test]
fn a_changed_number_is_noticed() {
    let expected = [1.0, -250.0, 3.0];
    assert!(difference(&[1.0, -250.0, 3.0], &expected) == 0.0);
    assert!(difference(&[1.0, -250.000_001, 3.0], &expected) > TOLERANCE_F64);
    assert!(difference(&[f64::NAN, -250.0, 3.0], &expected).is_nan());
}
