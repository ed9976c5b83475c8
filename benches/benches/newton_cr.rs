//! Newton with conjugate residuals in batches, f32: whole steps of settled scenes on the adapter at hand beside the CPU
//! executor with all threads, by turns in one run, the least time of several; and the Newton steps of the kernel's mirror on
//! one recorded problem beside those of the solver for single problems, f64.
//!
//! `cargo bench -p manyworlds-benches --bench newton_cr`. Names of scenes after `--` leave out others.

use std::time::{Duration, Instant};

use manyworlds::{Batch, BatchOptions, Executor, ImportOptions, Precision};
use manyworlds_contact::solve::newton_cr::ResidualProblem;
use manyworlds_contact::{NewtonCrParams, SolveSettings, solve_with};
use manyworlds_tests::corpus::recorded;

/// Turns of each executor.
const REPEATS: usize = 5;

/// Scene, worlds, steps to settle, steps of a turn.
const SCENES: [(&str, usize, usize, usize); 4] =
    [("heavy-stack", 16, 30, 4), ("quadruped", 64, 200, 10), ("half-cheetah", 256, 100, 10), ("arch", 2, 10, 2)];

fn batch(name: &str, worlds: usize, executor: Executor) -> Batch {
    let model = manyworlds::load(name, &ImportOptions::default()).expect("a built-in scene").model;
    let options = BatchOptions {
        solver: "newton-cr".into(),
        executor,
        precision: Precision::F32,
        tolerance: 1e-5,
        ..BatchOptions::default()
    };
    Batch::new(&[(&model, worlds)], &options).expect("a batch")
}

fn steps(batch: &mut Batch, count: usize) -> Duration {
    let clock = Instant::now();
    (0..count).for_each(|_| batch.step::<f32>(&[]).expect("a step"));
    // What was started is waited for.
    batch.summaries(&mut Vec::new()).expect("summaries");
    clock.elapsed()
}

fn executors(name: &str, worlds: usize, settle: usize, count: usize) {
    let mut both = [Executor::Cpu, Executor::Gpu].map(|executor| batch(name, worlds, executor));
    let mut least = [Duration::MAX; 2];
    both.iter_mut().for_each(|batch| {
        steps(batch, settle);
    });
    for _ in 0..REPEATS {
        for (batch, least) in both.iter_mut().zip(&mut least) {
            *least = steps(batch, count).min(*least);
        }
    }
    let [cpu, device] = least.map(|time| (worlds * count) as f64 / time.as_secs_f64());
    println!("{name}, {worlds} worlds: CPU {cpu:.0} world-steps/s, device {device:.0}, ratio {:.3}", device / cpu);
}

fn single(name: &str) {
    let found = recorded(&[name]);
    let (_, problem) = found.first().expect("a file of the corpus");
    let settings = SolveSettings { tolerance: 0.0, iterations: 10, ..SolveSettings::default() };
    let params = NewtonCrParams { finish_after: None, ..NewtonCrParams::default() };
    let mut least = [Duration::MAX; 2];
    for _ in 0..20 {
        let mut kernel = ResidualProblem::<f64>::new(problem, &params).expect("parameters with a meaning");
        let clock = Instant::now();
        let taken = kernel.solve(&settings, |_| ()).expect("settings with a meaning");
        least[0] = clock.elapsed().min(least[0]);
        assert_eq!(taken, settings.iterations, "it stops early");
        least[1] = solve_with(problem, &settings, &params).expect("settings with a meaning").elapsed.min(least[1]);
    }
    println!(
        "{name}, 10 Newton steps: the kernel's mirror {:?}, the solver for single problems {:?}",
        least[0], least[1]
    );
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|name| !name.starts_with('-')).collect();
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|w| name.starts_with(w));
    ["quadruped-00150-0", "heavy-stack-00400-0", "humanoid-00200-0"]
        .into_iter()
        .filter(|n| is_wanted(n))
        .for_each(single);
    for (name, worlds, settle, count) in SCENES {
        if is_wanted(name) {
            executors(name, worlds, settle, count);
        }
    }
}
