//! The part that the host has in solvers of batches: worlds that the kernels left unsolved, or all of them.

use manyworlds::contact::solve::{ContactModel, SOLVERS, Stage};
use manyworlds::{Batch, BatchOptions, Executor, ImportOptions, Model, Precision, State, Summary, load, status};
use manyworlds_tests::parity::device;

fn scene(name: &str) -> Model {
    load(name, &ImportOptions::default()).expect("a built-in scene loads").model
}

fn options(solver: &str, precision: Precision) -> BatchOptions {
    BatchOptions { executor: Executor::Cpu, precision, solver: solver.into(), ..Default::default() }
}

fn start(model: &Model) -> State {
    let q = model.keyframes.first().map_or_else(|| model.initial_q(), |key| key.q.clone());
    State { q, v: vec![0.0; model.n_v], ..State::default() }
}

fn batch(model: &Model, worlds: usize, options: &BatchOptions) -> Batch {
    let mut batch = Batch::new(&[(model, worlds)], options).expect("a batch");
    let all: Vec<_> = (0..worlds).map(|world| (world, start(model))).collect();
    batch.reset(&all).expect("a reset");
    batch
}

fn run(batch: &mut Batch, steps: usize) -> Vec<Summary> {
    let controls = vec![0.0; batch.n_controls()];
    (0..steps).for_each(|_| batch.step::<f64>(&controls).expect("a step"));
    let mut summaries = Vec::new();
    batch.summaries(&mut summaries).expect("summaries");
    summaries
}

#[test]
fn what_kernels_leave_unsolved_is_solved() {
    // So few iterations are too few for either kind of island: of several trees, and of one. A stack that rests is solved by the
    // impulses of the step before.
    for (name, steps, iterations, tolerance) in [("heavy-stack", 1, 1, 1e-10), ("humanoid", 60, 1, 1e-12)] {
        let model = scene(name);
        let few = |solver: &str| BatchOptions { iterations, tolerance, ..options(solver, Precision::F64) };
        let left = run(&mut batch(&model, 3, &few("newton")), steps);
        assert!(left.iter().all(|world| world.status & status::ITERATION_LIMIT != 0), "{name}: {left:?}");
        assert!(left.iter().all(|world| world.residual > tolerance && world.stage.is_none()), "{name}: {left:?}");
        let solved = run(&mut batch(&model, 3, &few("auto")), steps);
        assert!(solved.iter().all(|world| world.status == status::CONVERGED), "{name}: {solved:?}");
        assert!(solved.iter().all(|world| world.residual <= tolerance), "{name}: {solved:?}");
        assert!(solved.iter().all(|world| world.stage >= Some(Stage::Newton)), "{name}: {solved:?}");
    }
}

#[test]
fn every_solver_steps_batches_to_the_same_velocities() {
    // A sliding box and a standing robot: velocities are unique, whatever impulses the corners share out.
    for (name, steps) in [("sliding-box", 60), ("quadruped", 40)] {
        let model = scene(name);
        let after = |solver: &str| {
            let settings = BatchOptions { tolerance: 1e-9, iterations: 20_000, ..options(solver, Precision::F64) };
            let mut batch = batch(&model, 2, &settings);
            let summaries = run(&mut batch, steps);
            assert!(summaries.iter().all(|world| world.residual <= 1e-9), "{name}, {solver}: {summaries:?}");
            assert!(summaries.iter().all(|world| world.contacts > 0), "{name}, {solver}: {summaries:?}");
            batch.state(1).expect("a state").v
        };
        let one = after("auto");
        for solver in SOLVERS.iter().filter(|solver| solver.model() == ContactModel::Exact) {
            for (i, (x, y)) in after(solver.name()).iter().zip(&one).enumerate() {
                assert!((x - y).abs() < 1e-5, "{name}, {}: v[{i}] is {x}, by auto {y}", solver.name());
            }
        }
    }
}

#[test]
fn a_device_has_the_same_part_done_for_it() {
    let Some(device) = device().expect("an adapter, or MANYWORLDS_NO_ADAPTER=1") else { return };
    for (solver, name) in [("canal", "heavy-stack"), ("canal", "quadruped"), ("auto", "heavy-stack")] {
        let model = scene(name);
        // Rounding of the heaviest box alone is 1e-5 N s.
        let on_host = BatchOptions { tolerance: 1e-4, iterations: 30, ..options(solver, Precision::F32) };
        let on_device = BatchOptions { device: Some(device.clone()), executor: Executor::Gpu, ..on_host.clone() };
        let [here, there] = [on_host, on_device].map(|options| {
            let mut batch = batch(&model, 5, &options);
            let summaries = run(&mut batch, 10);
            assert!(summaries.iter().all(|world| world.status == status::CONVERGED), "{solver}, {name}: {summaries:?}");
            batch.state(4).expect("a state").v
        });
        for (x, y) in here.iter().zip(&there) {
            assert!((x - y).abs() < 2e-3, "{solver}, {name}: {x} on the CPU, {y} on the device");
        }
    }
}

#[test]
fn a_world_that_breaks_harms_no_other() {
    for solver in ["canal", "auto"] {
        let model = scene("heavy-stack");
        let settings = BatchOptions { iterations: 6, ..options(solver, Precision::F64) };
        let alone = |broken: bool| {
            let mut batch = batch(&model, 4, &settings);
            if broken {
                let state = State { v: vec![1e200; model.n_v], ..start(&model) };
                batch.reset(&[(2, state)]).expect("a reset");
            }
            let summaries = run(&mut batch, 12);
            assert_eq!(summaries[2].failed(), broken, "{solver}: {:?}", summaries[2]);
            [0, 1, 3].map(|world| batch.state(world).expect("a state"))
        };
        assert_eq!(alone(true), alone(false), "{solver}");
    }
}

/// The smallest batches have a lane a tile and no padding: the second world's numbers begin where the first one's end.
#[test]
fn one_of_two_worlds_is_solved_as_it_is_alone() {
    let model = scene("humanoid");
    // Too few iterations for contacts, and enough for flight.
    let few = BatchOptions { iterations: 1, tolerance: 1e-12, ..options("auto", Precision::F64) };
    let (mut alone, mut two) = (batch(&model, 1, &few), batch(&model, 2, &few));
    let mut high = start(&model);
    high.q[2] += 5.0;
    two.reset(&[(0, high)]).expect("a reset");
    let (one, both) = (run(&mut alone, 60), run(&mut two, 60));
    assert!(both[0].stage.is_none() && both[1].stage.is_some() && both[1].stage == one[0].stage, "{both:?} {one:?}");
    let bits = |state: State| [state.q, state.v].concat().into_iter().map(f64::to_bits).collect::<Vec<_>>();
    assert_eq!(bits(two.state(1).expect("a state")), bits(alone.state(0).expect("a state")));
}

#[test]
fn a_device_has_its_last_worlds_solved_alone() {
    let Some(device) = device().expect("an adapter, or MANYWORLDS_NO_ADAPTER=1") else { return };
    let model = scene("humanoid");
    // So few iterations are too few for a world in contact; all but the last fall freely, in tiles that nobody reads back. It is in
    // the last of several tiles of its chunk.
    let on_host = BatchOptions { iterations: 1, tolerance: 1e-12, ..options("auto", Precision::F64) };
    let on_device = BatchOptions { device: Some(device), executor: Executor::Gpu, ..on_host.clone() };
    let worlds = 128;
    let [here, there] = [on_host, on_device].map(|options| {
        let mut batch = Batch::new(&[(&model, worlds)], &options).expect("a batch");
        let state = |world: usize| {
            let mut state = start(&model);
            state.q[2] += if world + 1 < worlds { 10.0 } else { 0.0 };
            state
        };
        batch.reset(&(0..worlds).map(|world| (world, state(world))).collect::<Vec<_>>()).expect("a reset");
        let summaries = run(&mut batch, 60);
        assert!(summaries.iter().all(|world| world.status == status::CONVERGED), "{summaries:?}");
        let last = &summaries[worlds - 1];
        assert!(last.stage >= Some(Stage::Newton) && last.residual <= 1e-12, "{last:?}");
        assert!(summaries[..worlds - 1].iter().all(|world| world.stage.is_none()), "{summaries:?}");
        batch.state(worlds - 1).expect("a state").v
    });
    for (x, y) in here.iter().zip(&there) {
        assert!((x - y).abs() < 1e-6, "{x} on the CPU, {y} on the device");
    }
}

#[test]
fn every_lane_of_a_large_chunk_is_solved() {
    let Some(device) = device().expect("an adapter, or MANYWORLDS_NO_ADAPTER=1") else { return };
    // What a workspace lacks at its end, lanes in the last tile miss, and a device says nothing of it.
    let model = scene("sliding-box");
    let options = BatchOptions {
        device: Some(device),
        executor: Executor::Gpu,
        tolerance: 1e-4,
        ..options("auto", Precision::F32)
    };
    let mut batch = batch(&model, 4096, &options);
    let summaries = run(&mut batch, 20);
    for (world, summary) in summaries.iter().enumerate() {
        assert!(summary.residual <= 1e-4 && summary.contacts > 0, "world {world}: {summary:?}");
    }
}
