//! What a solver that stops early does to stiffness: the beams of the scene `flexible-beam`, each a chain of sixteen bodies
//! whose bending stiffness is compliant bilateral rows, beside what sixteen such springs sag by.
//!
//! `cargo run --release -p manyworlds-examples --example 10_flexible_beam [-- FIGURE.svg]`

use manyworlds::{Batch, BatchOptions, Error, Executor, ImportOptions, Precision};
use manyworlds_examples::chart::{Curve, Panel, svg};
use nalgebra::{Matrix2, Quaternion, UnitQuaternion, Vector2, Vector3};

/// Bodies of a beam, their length, m, and weight, N.
const BODIES: usize = 16;
const LENGTH: f64 = 0.02;
const WEIGHT: f64 = 0.003 * 9.81;
/// Bending stiffness of a joint, N m.
const STIFFNESS: f64 = 250.0;
/// Load at the end of the cantilever and on the bridge's middle, N.
const LOADS: [f64; 2] = [0.5 * 9.81, 2.0 * 9.81];
/// Steps of 8.3 ms.
const STEPS: usize = 300;

/// Where joint i is along an unbent beam, m.
fn joint(i: usize) -> f64 {
    LENGTH * i as f64
}

/// Bending moments by joint of weights at places along a cantilever, N m.
fn moments(loads: &[[f64; 2]]) -> Vec<f64> {
    (0..BODIES).map(|i| loads.iter().map(|[at, weight]| weight * (at - joint(i)).max(0.0)).sum()).collect()
}

/// How far a place is below where it was, m, with these turns of the joints.
fn drop(turns: &[f64], at: f64) -> f64 {
    turns.iter().enumerate().map(|(i, turn)| turn * (at - joint(i)).max(0.0)).sum()
}

/// The sag of both beams where they are loaded, m, for small angles: each joint turns by its moment over its stiffness, and
/// the moment and force that hold the bridge's far end keep it straight and level.
fn expected() -> [f64; 2] {
    let own = |place: f64, load: f64| -> Vec<[f64; 2]> {
        (0..BODIES).map(|i| [joint(i) + 0.5 * LENGTH, WEIGHT]).chain([[place, load]]).collect()
    };
    let (end, middle) = (joint(BODIES), joint(BODIES / 2));
    let turns = |moments: &[f64]| -> Vec<f64> { moments.iter().map(|m| m / STIFFNESS).collect() };
    let cantilever = turns(&moments(&own(end, LOADS[0])));
    let free = moments(&own(middle, LOADS[1]));
    let arm = |i: usize| Vector2::new(1.0, end - joint(i));
    let sum = |f: &dyn Fn(usize) -> f64| (0..BODIES).map(f).sum::<f64>();
    let matrix = Matrix2::from_fn(|r, c| sum(&|i| arm(i)[r] * arm(i)[c]));
    let right = Vector2::from_fn(|r, _| sum(&|i| arm(i)[r] * free[i]));
    let held = matrix.try_inverse().map_or_else(Vector2::zeros, |inverse| inverse * right);
    let bridge: Vec<f64> = (0..BODIES).map(|i| free[i] - held.dot(&arm(i))).collect();
    [drop(&cantilever, end), drop(&turns(&bridge), middle)]
}

/// How far the loaded places are below where they were, m, by the quaternions of a beam's joints.
fn sag(q: &[f64], links: usize) -> f64 {
    let mut turn = UnitQuaternion::identity();
    let mut place = Vector3::zeros();
    for joint in q.chunks_exact(4).take(links) {
        turn *= UnitQuaternion::from_quaternion(Quaternion::new(joint[0], joint[1], joint[2], joint[3]));
        place += turn * Vector3::new(LENGTH, 0.0, 0.0);
    }
    -place.z
}

/// The sag of both beams after every step, m; NaN once a world failed.
fn run(solver: &str, iterations: u32) -> Result<Vec<[f64; 2]>, Error> {
    let model = manyworlds::load("flexible-beam", &ImportOptions::default())?.model;
    let options = BatchOptions {
        executor: Executor::Cpu,
        precision: Precision::F64,
        solver: solver.into(),
        tolerance: 1e-6,
        iterations,
        ..BatchOptions::default()
    };
    let mut batch = Batch::new(&[(&model, 1)], &options)?;
    let mut summaries = Vec::new();
    let mut out = Vec::with_capacity(STEPS);
    for _ in 0..STEPS {
        batch.step::<f64>(&[])?;
        let state = batch.state(0)?;
        batch.summaries(&mut summaries)?;
        out.push(if summaries.iter().any(manyworlds::Summary::failed) {
            [f64::NAN; 2]
        } else {
            [sag(&state.q, BODIES), sag(&state.q[4 * BODIES..], BODIES / 2)]
        });
    }
    Ok(out)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let expected = expected();
    let runs = [("auto", 1000), ("newton-cr", 1000), ("canal", 1000), ("pgs", 100), ("pgs", 1000)];
    let mut panels = ["cantilever, 0.5 kg at its end", "held at both ends, 2 kg in the middle"].map(|title| Panel {
        title: title.into(),
        labels: ["s".into(), "sag, mm".into()],
        decades: false,
        range: [-20.0, 60.0],
        curves: Vec::new(),
    });
    panels[1].range = [-1.5, 4.5];
    println!("sag by its stiffness: {:.4} mm, {:.4} mm", 1e3 * expected[0], 1e3 * expected[1]);
    for (solver, iterations) in runs {
        let sags = run(solver, iterations)?;
        let [a, b] = sags[STEPS - 1].map(|sag| 1e3 * sag);
        if a.is_finite() && b.is_finite() {
            println!("{solver}, at most {iterations} iterations: {a:.4} mm, {b:.4} mm");
        } else {
            println!("{solver}, at most {iterations} iterations: its numbers left every bound, and the worlds stopped");
        }
        for (beam, panel) in panels.iter_mut().enumerate() {
            let point = |(step, sag): (usize, &[f64; 2])| [0.0083 * (step + 1) as f64, 1e3 * sag[beam]];
            let points = sags.iter().enumerate().map(point).collect();
            panel.curves.push(Curve { name: format!("{solver} {iterations}"), points, ..Curve::default() });
        }
    }
    for (beam, panel) in panels.iter_mut().enumerate() {
        let level = 1e3 * expected[beam];
        let points = vec![[0.0, level], [0.0083 * STEPS as f64, level]];
        panel.curves.push(Curve { name: "its stiffness".into(), points, dashed: true, ..Curve::default() });
    }
    if let Some(path) = std::env::args().nth(1) {
        std::fs::write(path, svg(&panels)?)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{BODIES, LENGTH, LOADS, STEPS, STIFFNESS, expected, run};

    /// Euler and Bernoulli's beams, for many thin slices; ours of sixteen come close.
    #[test]
    fn sixteen_springs_are_nearly_a_beam() {
        let (length, bending) = (LENGTH * BODIES as f64, STIFFNESS * LENGTH);
        let [cantilever, bridge] = expected();
        let beam = [LOADS[0] * length.powi(3) / (3.0 * bending), LOADS[1] * length.powi(3) / (192.0 * bending)];
        assert!((cantilever / beam[0] - 1.0).abs() < 0.15 && (bridge / beam[1] - 1.0).abs() < 0.3, "{:?}", expected());
    }

    #[test]
    fn stiffness_is_kept() {
        let expected = expected();
        for solver in ["auto", "newton-cr"] {
            let last = run(solver, 1000).expect("a run")[STEPS - 1];
            for (found, expected) in last.into_iter().zip(expected) {
                assert!((found / expected - 1.0).abs() < 5e-3, "{solver}: {found} of {expected}");
            }
        }
        // The other way round: sweeps that stop early do not keep it.
        let swept = run("pgs", 100).expect("a run");
        let off = swept.iter().map(|[sag, _]| (sag / expected[0] - 1.0).abs());
        assert!(off.skip(100).any(|off| off.is_nan() || off > 0.5), "{:?}", swept[STEPS - 1]);
    }
}
