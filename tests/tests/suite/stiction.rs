//! What friction holds stays where it is: the models of `docs/stiction.md`.

use std::path::PathBuf;

use manyworlds::{Batch, BatchOptions, Executor, ImportOptions, Model, Precision, State, load};

/// Largest creep, m/s. What is left is the solver's residual in f64, rounding in f32.
const CREEP: [(Precision, f64); 2] = [(Precision::F64, 1e-11), (Precision::F32, 2e-7)];
/// Largest error of velocities that have a closed form, relative.
const SLIDING: [(Precision, f64); 2] = [(Precision::F64, 1e-9), (Precision::F32, 1e-3)];

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../benches/stiction/models").join(name)
}

fn read(path: &std::path::Path) -> Model {
    load(&path.to_string_lossy(), &ImportOptions::default()).expect("a model").model
}

/// The box on a slope whose tangent is `share * friction`, as `benches/stiction/cases.py` makes it.
fn ramp(friction: f64, share: f64) -> Model {
    let slope = (share * friction).atan();
    let (x, z) = (0.05 * slope.sin(), 0.05 * slope.cos());
    let mut text = std::fs::read_to_string(path("ramp.xml")).expect("the template");
    for (word, value) in [("{friction}", friction), ("{slope}", slope), ("{x}", x), ("{z}", z)] {
        text = text.replace(word, &value.to_string());
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("ramp.xml");
    std::fs::write(&file, text).expect("a file");
    read(&file)
}

fn batch(model: &Model, precision: Precision) -> Batch {
    let mut options = BatchOptions { executor: Executor::Cpu, precision, ..BatchOptions::default() };
    if precision == Precision::F64 {
        // As the command `sim` has it.
        (options.tolerance, options.iterations) = (1e-10, 1000);
    }
    Batch::new(&[(model, 1)], &options).expect("a batch")
}

fn run(batch: &mut Batch, steps: usize, controls: &[f64]) -> State {
    for _ in 0..steps {
        batch.step(controls).expect("a step");
    }
    batch.state(0).expect("a state")
}

/// Settles for half a second, and gives the speed over two more of the body whose free joint starts at `first`.
fn creep(batch: &mut Batch, first: usize, controls: &[f64]) -> f64 {
    let before = run(batch, 250, controls).q;
    let after = run(batch, 1000, controls).q;
    (first..first + 3).map(|k| (after[k] - before[k]).powi(2)).sum::<f64>().sqrt() / 2.0
}

#[test]
fn a_box_on_a_ramp_stays() {
    for friction in [0.2, 0.5, 1.0] {
        for share in [0.5, 0.9, 0.99] {
            for (precision, most) in CREEP {
                let found = creep(&mut batch(&ramp(friction, share), precision), 0, &[]);
                assert!(found <= most, "{friction}, {share}, {precision:?}: {found:e} m/s");
            }
        }
    }
}

/// The same measure sees a box that does slide: the threshold is where it should be.
#[test]
fn a_box_past_the_threshold_slides() {
    let found = creep(&mut batch(&ramp(0.5, 1.01), Precision::F64), 0, &[]);
    let slope = (0.5f64 * 1.01).atan();
    let acceleration = 9.81 * (slope.sin() - 0.5 * slope.cos());
    // From rest: 1.5 s is the middle of the two seconds; the first step already adds a whole step's speed.
    let right = acceleration * (1.5 + 0.001);
    assert!((found / right - 1.0).abs() < 1e-6, "{found} m/s for {right} m/s");
}

#[test]
fn a_pinched_capsule_hangs() {
    for (precision, most) in CREEP {
        let found = creep(&mut batch(&read(&path("pinch.xml")), precision), 2, &[0.0025, -0.0025]);
        assert!(found <= most, "{precision:?}: {found:e} m/s");
    }
}

#[test]
fn a_pressed_cube_hangs() {
    for (precision, most) in CREEP {
        let found = creep(&mut batch(&read(&path("cube.xml")), precision), 1, &[-20.0]);
        assert!(found <= most, "{precision:?}: {found:e} m/s");
    }
}

/// SimBenchmark's rolling test: 150 N along the diagonal, friction 137.34 N, balls that roll take 2/7 of their mass.
#[test]
fn a_pushed_box_of_balls_moves_as_closed_form_says() {
    let acceleration = (150.0 - 0.4 * 35.0 * 9.81) / (10.0 + 25.0 * 2.0 / 7.0);
    for (precision, most) in SLIDING {
        let mut batch = batch(&read(&path("rolling.xml")), precision);
        let mut state = run(&mut batch, 500, &[]);
        state.tau = vec![0.0; state.v.len()];
        state.tau[..2].fill(150.0 / 2f64.sqrt());
        batch.reset(&[(0, state)]).expect("a reset");
        let v = run(&mut batch, 1000, &[]).v;
        for (body, found) in v.chunks_exact(6).enumerate() {
            let speed = if body == 0 { acceleration } else { acceleration * 2.0 / 7.0 };
            let along = speed / 2f64.sqrt();
            let error = ((found[0] - along).hypot(found[1] - along)).hypot(found[2]) / speed;
            assert!(error <= most, "{precision:?}, body {body}: {error:e}");
        }
    }
}
