//! The kernels of a step as `Batch::stages` shows them.

use std::collections::BTreeSet;

use manyworlds::model::from_mjcf_str;
use manyworlds::{BatchOptions, Executor, ImportOptions, Model, Precision, StageReport, load};
use manyworlds_tests::batches::{batch, bits, executors, state};

/// What the host uploads for a step, or when worlds are made.
const UPLOADED: &[&str] = &[
    "topology",
    "params",
    "lane_params",
    "contact",
    "contact_map",
    "slots",
    "index",
    "moves",
    "solver_words",
    "load_items",
    "load_places",
];
/// What kernels bind and read only of trees that have some: lengths of paths.
const IF_ANY: &[&str] = &["pull"];
/// What the step before leaves; of its impulses `before`, which is either buffer.
const LEFT: &[&str] = &["state", "status", "pose", "motion", "row", "impulse_a", "impulse_b"];

/// The kernels of a step after some.
fn stages(model: &Model, options: BatchOptions, steps: usize) -> Vec<StageReport> {
    let mut batch = batch(model, 2, &options);
    (0..steps).for_each(|_| batch.step::<f64>(&[]).expect("a step"));
    batch.stages(0).expect("stages")
}

fn on_cpu(solver: &str) -> BatchOptions {
    BatchOptions {
        executor: Executor::Cpu,
        precision: Precision::F64,
        solver: solver.into(),
        ..BatchOptions::default()
    }
}

/// That no kernel reads what nobody wrote.
fn assert_written(name: &str, stages: &[StageReport]) {
    let mut written = BTreeSet::new();
    for stage in stages {
        for kernel in &stage.kernels {
            for buffer in &kernel.reads {
                let known = [UPLOADED, LEFT, IF_ANY].concat().contains(&buffer.name) || written.contains(buffer);
                assert!(known, "{name}, {}: {} reads {}", stage.name, kernel.name, buffer.name);
            }
            written.extend(kernel.writes.iter().copied());
        }
    }
    assert!(!written.is_empty());
}

/// Stages follow each other as `crates/manyworlds/src/group/step/mod.rs` says, and none reads what nobody wrote.
#[test]
fn stages_read_what_was_written() {
    for (name, solver) in [("humanoid", "auto"), ("heavy-stack", "auto"), ("heavy-stack", "canal"), ("arch", "subadmm")]
    {
        let model = load(name, &ImportOptions::default()).expect("a scene").model;
        let stages = stages(&model, on_cpu(solver), 61);
        let order: Vec<&str> = stages.iter().map(|stage| stage.name).collect();
        // Each tree set has dynamics and contact of its own.
        assert!(order.ends_with(&["dynamics", "contact", "hold", "left", "motion"]), "{name}: {order:?}");
        assert_written(name, &stages);
    }
}

/// Steps are the same whether or not someone looks at them.
#[test]
fn a_look_changes_no_step() {
    let model = load("hopper", &ImportOptions::default()).expect("a scene").model;
    let run = |options: &BatchOptions, looks: bool| {
        let mut batch = batch(&model, 3, options);
        for step in 0..40 {
            let controls: Vec<f32> = (0..batch.n_controls()).map(|k| 0.1 * (step + k) as f32).collect();
            batch.step(&controls).expect("a step");
            if looks {
                assert!(!batch.stages(2).expect("stages").is_empty());
            }
        }
        bits(&state(&mut batch, 1))
    };
    for (name, options) in executors(&BatchOptions { executor: Executor::Cpu, ..BatchOptions::default() }) {
        assert_eq!(run(&options, true), run(&options, false), "{name}");
    }
}

/// A limit out of reach is no constraint of its island; beside a bound it is one.
#[test]
fn islands_have_limits_that_can_act() {
    for (range, limits) in [("-60 60", 0), ("-0.01 60", 1)] {
        let text = format!(
            r#"<mujoco><option timestep="0.002" gravity="0 0 0"/><worldbody>
              <body><joint type="hinge" axis="0 0 1" limited="true" range="{range}"/>
                <geom type="box" size="0.5 0.1 0.05" mass="1"/></body>
              <body pos="0.3 0 0.0999"><freejoint/><geom type="box" size="0.05 0.05 0.05" mass="0.1"/></body>
            </worldbody></mujoco>"#
        );
        let nothing = |path: &std::path::Path| Err(std::io::Error::other(format!("{}", path.display())));
        let loaded = from_mjcf_str("arm.xml", &text, &nothing, &ImportOptions::default());
        let stages = stages(&loaded.expect("a model").model, on_cpu("auto"), 1);
        let kernels: Vec<_> = stages.iter().flat_map(|stage| &stage.kernels).collect();
        let count = |name: &str| kernels.iter().filter(|k| k.name == name).map(|k| k.count).sum::<u32>();
        // Four contacts of each of two worlds.
        assert_eq!(count("contact/island_finish"), 2 * (4 + limits), "{range}");
        assert_eq!(count("contact/island_rows"), 2 * limits, "{range}");
    }
}
