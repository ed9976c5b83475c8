//! Gradients of rollouts: against chained Jacobians, central differences, and themselves with other memory.

use manyworlds::tangent::moved;
use manyworlds::{
    Batch, BatchOptions, Error, Executor, ImportOptions, Inputs, Model, Outputs, Precision, RolloutGradient, State,
    random,
};
use manyworlds_tests::batches::{largest, largest_difference};

const MEMORY: usize = 1 << 30;

fn precise() -> BatchOptions {
    BatchOptions {
        executor: Executor::Cpu,
        precision: Precision::F64,
        tolerance: 1e-13,
        iterations: 5000,
        ..BatchOptions::default()
    }
}

fn load(scene: &str) -> Model {
    manyworlds::load(scene, &ImportOptions::default()).expect("a scene").model
}

fn controls(batch: &Batch, steps: usize, seed: u64) -> Vec<f64> {
    let n = batch.n_controls();
    (0..steps * n).map(|i| 0.3 * random::symmetric(seed, 0, (i / n) as u64, (i % n) as u64)).collect()
}

/// Entry of the loss's gradient by the state after a step: any numbers.
fn weight(step: usize, world: usize, entry: usize) -> f64 {
    random::symmetric(9, world as u64, step as u64, entry as u64)
}

/// A loss of positions that are plain numbers and of velocities: linear and quadratic, so that its gradient is the state's.
fn loss(plain: usize) -> impl Fn(usize, usize, &State, &mut Outputs) -> f64 + Sync {
    move |step, world, state, out| {
        let mut sum = 0.0;
        for (k, (x, g)) in state.q[..plain].iter().zip(&mut out.q).enumerate() {
            sum += weight(step, world, k) * x;
            *g = weight(step, world, k);
        }
        for (k, (x, g)) in state.v.iter().zip(&mut out.v).enumerate() {
            sum += 0.5 * weight(step, world, 100 + k) * x * x;
            *g = weight(step, world, 100 + k) * x;
        }
        sum
    }
}

/// Worlds of a scene in contact, after a run with controls.
fn in_contact(model: &Model, worlds: usize, steps: usize) -> Batch {
    run(model, worlds, steps, &precise())
}

fn run(model: &Model, worlds: usize, steps: usize, options: &BatchOptions) -> Batch {
    let mut batch = Batch::new(&[(model, worlds)], options).expect("a batch");
    for step in 0..steps {
        let n = model.actuators.len();
        let controls: Vec<f64> = (0..worlds * n)
            .map(|i| 0.4 * random::symmetric(2, (i / n.max(1)) as u64, step as u64, (i % n.max(1)) as u64))
            .collect();
        batch.step(&controls).expect("a step");
    }
    batch
}

/// Largest difference over the largest entry.
fn worst(a: &[f64], b: &[f64]) -> f64 {
    worst_over(a, b, largest(b).max(1e-300))
}

fn worst_over(a: &[f64], b: &[f64], scale: f64) -> f64 {
    largest_difference(a, b) / scale
}

#[test]
fn a_product_is_that_of_the_transposed_jacobian() {
    let scenes = [("half-cheetah", 60), ("hopper", 300), ("humanoid", 150), ("quadruped", 100), ("arm7", 20)];
    for (scene, steps) in scenes.into_iter().chain([("free-box", 250), ("clutter", 20)]) {
        let model = load(scene);
        let mut batch = in_contact(&model, 1, steps);
        batch.keep_steps(true).expect("double precision");
        batch.step::<f64>(&[]).expect("a step");
        let jacobian = batch.jacobian(0).expect("a derivative");
        let noise = |entry: u64| (0..model.n_v).map(|i| random::symmetric(1, entry, 0, i as u64)).collect::<Vec<_>>();
        let outputs = Outputs { q: noise(0), v: noise(1), ..Outputs::default() };
        let (found, certificate) = batch.back(0, &outputs).expect("a product");
        let expected = jacobian.back(&outputs);
        let Inputs { q, v, tau, ctrl, .. } = &found;
        // What sticks makes blocks of zeros, which have no scale of their own.
        let scale = largest(&expected.q).max(largest(&expected.v)).max(1e-300);
        for (found, expected) in [(q, &expected.q), (v, &expected.v), (tau, &expected.tau), (ctrl, &expected.ctrl)] {
            let error = worst_over(found, expected, scale);
            assert!(error < 1e-12, "{scene}: {error:.1e}");
        }
        assert_eq!(certificate, jacobian.certificate, "{scene}");
        assert!(!jacobian.modes.is_empty() || scene == "arm7", "{scene} has no contact");
    }
}

/// The gradient of the loss of one world by chained Jacobians.
fn chained(batch: &mut Batch, steps: usize, controls: &[f64], plain: usize) -> (Inputs, Vec<f64>) {
    let (n, mut jacobians, mut states) = (batch.n_controls(), Vec::new(), Vec::new());
    batch.keep_steps(true).expect("double precision");
    for step in 0..steps {
        batch.step(&controls[step * n..(step + 1) * n]).expect("a step");
        jacobians.push(batch.jacobian(0).expect("a derivative"));
        states.push(batch.state(0).expect("a state"));
    }
    let loss = loss(plain);
    let n_v = jacobians[0].n_v;
    let mut sum =
        Inputs { q: vec![0.0; n_v], v: vec![0.0; n_v], tau: vec![0.0; n_v], ctrl: Vec::new(), ..Inputs::default() };
    let mut by_controls = vec![0.0; steps * n];
    for step in (0..steps).rev() {
        let mut out = Outputs { q: vec![0.0; n_v], v: vec![0.0; n_v], ..Outputs::default() };
        loss(step, 0, &states[step], &mut out);
        out.q.iter_mut().zip(&sum.q).for_each(|(x, s)| *x += s);
        out.v.iter_mut().zip(&sum.v).for_each(|(x, s)| *x += s);
        let back = jacobians[step].back(&out);
        sum.tau.iter_mut().zip(&back.tau).for_each(|(s, x)| *s += x);
        (sum.q, sum.v) = (back.q, back.v);
        by_controls[step * n..(step + 1) * n].copy_from_slice(&back.ctrl);
    }
    (sum, by_controls)
}

#[test]
fn a_rollout_is_the_chain_of_its_jacobians() {
    for (scene, settle, plain) in [("hopper", 300, 6), ("half-cheetah", 60, 9), ("quadruped", 100, 3)] {
        let model = load(scene);
        let (mut batch, steps) = (in_contact(&model, 1, settle), 30);
        let start = batch.checkpoint().expect("a checkpoint");
        let controls = controls(&batch, steps, 4);
        let (expected, by_controls) = chained(&mut batch, steps, &controls, plain);
        batch.restore(&start).expect("the checkpoint");
        let rollout = batch.rollout(steps, &controls, MEMORY).expect("a rollout");
        let end = batch.checkpoint().expect("a checkpoint");
        let found = batch.backward(&rollout, loss(plain)).expect("a gradient");
        assert_eq!(end, batch.checkpoint().expect("a checkpoint"), "the batch is as before");
        let world = &found.worlds[0];
        for (found, expected) in
            [(&world.q, &expected.q), (&world.v, &expected.v), (&world.tau, &expected.tau), (&world.ctrl, &by_controls)]
        {
            let error = worst(found, expected);
            assert!(error < 1e-10, "{scene}: {error:.1e}");
        }
        assert_eq!(found.recomputed, steps);
    }
}

/// The loss of a rollout from a state.
fn value(batch: &mut Batch, start: &[u8], state: State, controls: &[f64], steps: usize, plain: usize) -> f64 {
    batch.restore(start).expect("the checkpoint");
    batch.reset(&[(0, state)]).expect("a reset");
    let (n, loss) = (batch.n_controls(), loss(plain));
    let n_v = batch.model(0).expect("a world").n_v;
    (0..steps)
        .map(|step| {
            batch.step(&controls[step * n..(step + 1) * n]).expect("a step");
            let mut out = Outputs { q: vec![0.0; n_v], v: vec![0.0; n_v], ..Outputs::default() };
            loss(step, 0, &batch.state(0).expect("a state"), &mut out)
        })
        .sum()
}

#[test]
fn a_rollout_agrees_with_central_differences() {
    for (scene, plain) in [("half-cheetah", 9), ("hopper", 6)] {
        let (model, steps) = (load(scene), 8);
        // Penetrations undone whole: what rests has no kink.
        let mut options = precise();
        options.stabilisation.fraction = 1.0;
        // The first stretch that stays away from switches.
        let found = (4..60).find_map(|k| {
            let mut batch = run(&model, 1, 5 * k, &options);
            let controls = controls(&batch, steps, 4);
            let state = batch.state(0).expect("a state");
            let start = batch.checkpoint().expect("a checkpoint");
            batch.reset(&[(0, state.clone())]).expect("a reset");
            let rollout = batch.rollout(steps, &controls, MEMORY).expect("a rollout");
            let found = batch.backward(&rollout, loss(plain)).expect("a gradient").worlds.remove(0);
            let touches = batch.inspect(0).expect("a world").contacts.iter().any(|c| c.impulse != [0.0; 3]);
            let calm = found.doubtful == 0 && found.margin > 1e-3 && found.closed == 0;
            (calm && touches).then_some((batch, controls, state, start, found))
        });
        let (mut batch, controls, state, start, world) = found.expect("a stretch in contact away from switches");
        println!("{scene}: least distance to a switch {:.1e} m/s", world.margin);
        let here = value(&mut batch, &start, state.clone(), &controls, steps, plain);
        assert!((here - world.loss).abs() <= 1e-12 * here.abs(), "{scene}: {here} {}", world.loss);
        let e = 1e-6;
        let mut difference = |change: &dyn Fn(f64) -> (State, Vec<f64>)| {
            let [up, down] = [e, -e].map(|by| {
                let (state, controls) = change(by);
                value(&mut batch, &start, state, &controls, steps, plain)
            });
            (up - down) / (2.0 * e)
        };
        let by_q: Vec<f64> = (0..model.n_v)
            .map(|k| {
                difference(&|by| {
                    let mut d = vec![0.0; model.n_v];
                    d[k] = by;
                    (State { q: moved(&model, &state.q, &d), ..state.clone() }, controls.clone())
                })
            })
            .collect();
        let by_v: Vec<f64> = (0..model.n_v)
            .map(|k| {
                difference(&|by| {
                    let mut state = state.clone();
                    state.v[k] += by;
                    (state, controls.clone())
                })
            })
            .collect();
        let by_ctrl: Vec<f64> = (0..controls.len())
            .map(|k| {
                difference(&|by| {
                    let mut controls = controls.clone();
                    controls[k] += by;
                    (state.clone(), controls)
                })
            })
            .collect();
        for (what, found, expected) in [("q", &world.q, by_q), ("v", &world.v, by_v), ("ctrl", &world.ctrl, by_ctrl)] {
            let error = worst(found, &expected);
            assert!(error < 1e-6, "{scene}, by {what}: {error:.1e}");
        }
    }
}

fn bits(gradient: &RolloutGradient) -> Vec<u64> {
    let all = gradient.worlds.iter().flat_map(|w| [&w.q, &w.v, &w.tau, &w.ctrl].into_iter().flatten().chain([&w.loss]));
    all.map(|x| x.to_bits()).collect()
}

#[test]
fn memory_changes_no_bit() {
    let (hopper, cheetah) = (load("hopper"), load("half-cheetah"));
    let mut batch = Batch::new(&[(&hopper, 3), (&cheetah, 5)], &precise()).expect("a batch");
    for _ in 0..100 {
        batch.step::<f64>(&[]).expect("a step");
    }
    let start = batch.checkpoint().expect("a checkpoint");
    let (steps, mut seen) = (60, Vec::new());
    let controls = controls(&batch, steps, 3);
    let checkpoint = start.len();
    for memory in [MEMORY, 40 * checkpoint, 16 * checkpoint] {
        batch.restore(&start).expect("the checkpoint");
        let rollout = batch.rollout(steps, &controls, memory).expect("a rollout");
        let found = batch.backward(&rollout, loss(6)).expect("a gradient");
        assert!(found.peak_bytes <= memory, "{} of {memory}", found.peak_bytes);
        println!("memory {memory}: peak {}, {} steps anew", found.peak_bytes, found.recomputed);
        seen.push((bits(&found), found.recomputed));
    }
    assert!(seen.iter().all(|(bits, _)| *bits == seen[0].0));
    assert!(seen[0].1 == steps && seen[2].1 > steps, "{:?}", seen.iter().map(|s| s.1).collect::<Vec<_>>());
    batch.restore(&start).expect("the checkpoint");
    assert!(matches!(batch.rollout(steps, &controls, checkpoint), Err(Error::Option { option: "memory", .. })));
}

#[test]
fn wrong_input_is_refused() {
    let hopper = load("hopper");
    let mut batch = Batch::new(&[(&hopper, 2)], &precise()).expect("a batch");
    assert!(matches!(batch.rollout::<f64>(0, &[], MEMORY), Err(Error::Option { option: "steps", .. })));
    assert!(matches!(batch.rollout(2, &[0.0; 5], MEMORY), Err(Error::Length { what: "controls", .. })));
    assert!(matches!(batch.rollout(1, &[f64::NAN; 6], MEMORY), Err(Error::NotFinite { .. })));
    batch.keep_steps(true).expect("double precision");
    batch.step::<f64>(&[]).expect("a step");
    let wrong = Outputs { q: vec![0.0; 5], v: Vec::new(), ..Outputs::default() };
    assert!(matches!(batch.back(0, &wrong), Err(Error::Length { .. })));
    let wrong = Outputs { q: Vec::new(), v: vec![f64::INFINITY; 6], ..Outputs::default() };
    assert!(matches!(batch.back(0, &wrong), Err(Error::NotFinite { .. })));
    let bytes = batch.checkpoint().expect("a checkpoint");
    batch.restore(&bytes).expect("the checkpoint");
    assert!(matches!(batch.back(0, &Outputs::default()), Err(Error::NoGradient)), "nothing led to a restored state");
}

#[test]
fn a_world_that_fails_gets_finite_numbers_and_a_flag() {
    let hopper = load("hopper");
    let mut batch = Batch::new(&[(&hopper, 2)], &precise()).expect("a batch");
    // One in the air, one that flies apart.
    let state = State { q: vec![0.0, 1.0, 0.0, -0.5, -0.5, 0.2], v: vec![0.0; 6], ..State::default() };
    let wild = State { v: vec![0.0, 1e200, 1e200, 1e200, 0.0, 0.0], ..state.clone() };
    batch.reset(&[(0, state), (1, wild)]).expect("a reset");
    let rollout = batch.rollout::<f64>(5, &[], MEMORY).expect("a rollout");
    let found = batch.backward(&rollout, |_, _, _, out| {
        out.q.fill(1.0);
        out.v.fill(1.0);
        0.0
    });
    let found = found.expect("a gradient");
    assert_eq!(found.worlds[0].doubtful, 0, "{:?}", found.worlds[0].problems);
    assert!(found.worlds[1].doubtful > 0 && !found.worlds[1].problems.is_empty());
    assert!(found.worlds.iter().all(|w| w.q.iter().chain(&w.v).chain(&w.ctrl).all(|x| x.is_finite())));
}

/// `cargo xtask test --only 'test(rollout::)' --ignored`
#[test]
#[ignore = "a minute of work: 256 worlds, 1000 steps"]
fn a_long_rollout_of_many_worlds_fits_into_little_memory() {
    let model = load("hopper");
    let (worlds, steps, memory) = (256, 1000, 128 << 20);
    let options = BatchOptions { tolerance: 1e-9, iterations: 500, ..precise() };
    let mut batch = Batch::new(&[(&model, worlds)], &options).expect("a batch");
    let controls = controls(&batch, steps, 8);
    let clock = std::time::Instant::now();
    let rollout = batch.rollout(steps, &controls, memory).expect("a rollout");
    let forward = clock.elapsed();
    let clock = std::time::Instant::now();
    let found = batch.backward(&rollout, loss(6)).expect("a gradient");
    let peak = found.peak_bytes;
    println!("forward {forward:.1?}, backward {:.1?}, {} steps anew, peak {peak} B", clock.elapsed(), found.recomputed);
    assert!(peak <= memory && found.recomputed == steps, "{peak} B, {} steps anew", found.recomputed);
    assert!(found.worlds.iter().all(|w| w.ctrl.iter().all(|x| x.is_finite())));
}
