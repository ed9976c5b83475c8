//! Contacts and bilateral constraints between trees, solved as islands: against mechanics by hand, and for what a batch
//! promises of every world (restored and lone worlds go on bit for bit, both executors agree).

use std::path::Path;

use manyworlds::model::from_mjcf_str;
use manyworlds::{Batch, BatchOptions, Executor, ImportOptions, Model, Precision, State, load};
use manyworlds_tests::batches::{G, bits, state, summary};
use manyworlds_tests::parity::device;

fn scene(name: &str) -> Model {
    load(name, &ImportOptions::default()).expect("a built-in scene loads").model
}

fn mjcf(body: &str) -> Model {
    let text = format!("<mujoco><option timestep=\"0.005\" gravity=\"0 0 -9.81\"/>{body}</mujoco>");
    let nothing = |path: &Path| Err(std::io::Error::other(format!("{}", path.display())));
    from_mjcf_str("test.xml", &text, &nothing, &ImportOptions::default()).expect("the model loads").model
}

fn options(tolerance: f64) -> BatchOptions {
    BatchOptions {
        executor: Executor::Cpu,
        precision: Precision::F64,
        tolerance,
        iterations: 2000,
        ..Default::default()
    }
}

fn batch(model: &Model, worlds: usize, tolerance: f64) -> Batch {
    Batch::new(&[(model, worlds)], &options(tolerance)).expect("the batch is made")
}

fn run(batch: &mut Batch, steps: usize) {
    let controls = vec![0.0; batch.n_controls()];
    (0..steps).for_each(|_| batch.step(&controls).expect("a step"));
}

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

#[test]
fn an_incline_lets_one_box_slide_and_holds_the_other() {
    let model = scene("sliding-box");
    let h = model.options.timestep;
    let mut batch = batch(&model, 1, 1e-12);
    run(&mut batch, 200);
    let before = state(&mut batch, 0).v;
    run(&mut batch, 1);
    let after = state(&mut batch, 0).v;
    let angle = 20_f64.to_radians();
    let acceleration = (norm(&after[..3]) - norm(&before[..3])) / h;
    let wanted = G * (angle.sin() - 0.2 * angle.cos());
    assert!((acceleration - wanted).abs() < 1e-6, "{acceleration} m/s^2 for {wanted}");
    assert!(norm(&after[6..]) < 1e-9, "the other creeps: {:?}", &after[6..]);
}

#[test]
fn clutter_comes_to_rest_in_its_box() {
    let mut batch = batch(&scene("clutter"), 1, 1e-6);
    // At step 600 the last ball may still roll at 0.055 m/s; which one does, and until when, turns on 1e-6 m/s at the start.
    run(&mut batch, 800);
    let summary = summary(&mut batch);
    assert_eq!(summary.status_name(), "converged");
    assert!(summary.residual <= 1e-6 && summary.penetration < 1e-4, "{summary:?}");
    assert!(summary.contacts > 100, "{summary:?}");
    let rest = state(&mut batch, 0);
    for (body, q) in rest.q.chunks_exact(7).enumerate() {
        let inside = q[0].abs() < 0.36 && q[1].abs() < 0.36 && q[2] > 0.049 && q[2] < 0.8;
        assert!(inside, "body {body} is at {:?}", &q[..3]);
    }
    // Balls may still roll a little; nothing falls.
    let fastest = rest.v.chunks_exact(6).map(|v| norm(&v[..3])).fold(0.0, f64::max);
    assert!(fastest < 0.05, "{fastest} m/s");
}

#[test]
fn contacts_of_a_rest_state_carry_the_weight() {
    let model = mjcf(
        r#"<worldbody><geom type="plane" size="1 1 1"/>
          <body pos="0 0 0.05"><freejoint/><geom type="box" size="0.05 0.05 0.05" mass="1"/></body>
          <body pos="0 0 0.15"><freejoint/><geom type="box" size="0.05 0.05 0.05" mass="2"/></body>
          <body pos="0 0 0.25"><freejoint/><geom type="box" size="0.05 0.05 0.05" mass="0.5"/></body></worldbody>"#,
    );
    let h = model.options.timestep;
    let mut batch = batch(&model, 1, 1e-10);
    run(&mut batch, 100);
    let found = batch.inspect(0).expect("an inspection");
    assert_eq!(found.contacts.len(), 12);
    for (upper, weight) in [(1, 3.5), (2, 2.5), (3, 0.5)] {
        // The upper body is the second of the pair, and pushed along the normal.
        let of_pair = found.contacts.iter().filter(|c| c.bodies == [upper - 1, upper]);
        let carried: f64 = of_pair.map(|c| c.impulse[2] * c.frame[2][2]).sum();
        assert!((carried - weight * G * h).abs() < 1e-8, "{carried} N s under body {upper}");
    }
    assert!(found.contacts.iter().all(|c| norm(&c.velocity) < 1e-8), "{:?}", found.contacts);
    assert!(found.summary.residual < 1e-10);
}

#[test]
fn a_collision_conserves_momentum_and_bounces_by_its_restitution() {
    for (restitution, velocities) in [(0.0, [-2.0, -2.0]), (0.5, [-3.5, -1.25])] {
        let mut model = mjcf(
            r#"<worldbody>
              <body pos="0 0 0"><freejoint/><geom type="sphere" size="0.1" mass="1"/></body>
              <body pos="0.3 0 0"><freejoint/><geom type="sphere" size="0.1" mass="2"/></body></worldbody>"#,
        );
        model.options.gravity = [0.0; 3].into();
        model.geoms.iter_mut().for_each(|geom| geom.contact.restitution = restitution);
        // Far enough to see the other come, so that nothing penetrates and is pushed out.
        let mut options = options(1e-13);
        options.stabilisation.speculative_speed = 25.0;
        let mut batch = Batch::new(&[(&model, 1)], &options).expect("the batch is made");
        let mut v = vec![0.0; 12];
        (v[0], v[6]) = (1.0, -3.5);
        batch.reset(&[(0, State { v, ..State::default() })]).expect("a reset");
        run(&mut batch, 40);
        let v = state(&mut batch, 0).v;
        // (1 - 7) / 3 = -2 together; with restitution e: they part at 4.5 e.
        let together = -2.0;
        let apart = 4.5 * restitution;
        let wanted = [together - apart * 2.0 / 3.0, together + apart / 3.0];
        assert_eq!(wanted, velocities, "by hand");
        assert!((v[0] - wanted[0]).abs() < 1e-9 && (v[6] - wanted[1]).abs() < 1e-9, "{v:?} for {wanted:?}");
        assert!((v[0] + 2.0 * v[6] + 6.0).abs() < 1e-12, "momentum: {v:?}");
    }
}

/// A platform on a slide, held up by a joint limit or by a constraint of its own, with a ball on it: the static rows and
/// blocks of a tree that shares an island act there.
#[test]
fn limits_and_blocks_of_a_tree_hold_under_a_load() {
    let held = r#"<equality><connect body1="platform" body2="world" anchor="0 0 0"/></equality>"#;
    for (range, equality) in [(r#"limited="true" range="0 1""#, ""), ("", held)] {
        let model = mjcf(&format!(
            r#"<worldbody><body name="platform" pos="0 0 1"><joint type="slide" axis="0 0 1" {range}/>
                 <geom type="box" size="0.2 0.2 0.05" mass="1"/></body>
               <body pos="0 0 1.3"><freejoint/><geom type="sphere" size="0.05" mass="0.5"/></body></worldbody>{equality}"#
        ));
        let h = model.options.timestep;
        let mut batch = batch(&model, 1, 1e-11);
        run(&mut batch, 300);
        let rest = state(&mut batch, 0);
        assert!(rest.q[0].abs() < 1e-5, "the platform is at {}", rest.q[0]);
        assert!((rest.q[3] - 1.1).abs() < 1e-4 && norm(&rest.v) < 1e-8, "the ball is at {:?}", &rest.q[1..4]);
        let found = batch.inspect(0).expect("an inspection");
        assert_eq!(found.contacts.len(), 1);
        assert!((found.contacts[0].impulse[2] - 0.5 * G * h).abs() < 1e-9, "{:?}", found.contacts[0]);
        if equality.is_empty() {
            assert_eq!((found.rows.len(), found.rows[0].kind), (1, "limit"));
            assert!((found.rows[0].impulse - 1.5 * G * h).abs() < 1e-9, "{:?}", found.rows);
        }
    }
}

#[test]
fn a_weld_across_trees_makes_one_body_of_two() {
    let model = mjcf(
        r#"<worldbody><body name="a"><freejoint/><geom type="box" size="0.1 0.1 0.1" mass="1"/></body>
          <body name="b" pos="0.5 0 0"><freejoint/><geom type="box" size="0.1 0.1 0.1" mass="1"/></body></worldbody>
          <equality><weld body1="a" body2="b"/></equality>"#,
    );
    let mut batch = batch(&model, 1, 1e-12);
    let mut v = vec![0.0; 12];
    // Spin about the common centre at 2 rad/s.
    (v[1], v[5], v[7], v[11]) = (-0.5, 2.0, 0.5, 2.0);
    batch.reset(&[(0, State { v, ..State::default() })]).expect("a reset");
    run(&mut batch, 200);
    let s = state(&mut batch, 0);
    let apart: Vec<f64> = (0..3).map(|k| s.q[7 + k] - s.q[k]).collect();
    assert!((norm(&apart) - 0.5).abs() < 5e-3, "{apart:?}");
    let turned: f64 = (3..7).map(|k| s.q[k] * s.q[7 + k]).sum();
    assert!(1.0 - turned.abs() < 1e-6, "orientations {:?} and {:?}", &s.q[3..7], &s.q[10..14]);
    // One second: free fall, and two radians.
    assert!((s.v[2] + G).abs() < 1e-9 && (s.v[8] + G).abs() < 1e-9);
    assert!((s.v[5] - 2.0).abs() < 0.05 && (s.v[11] - 2.0).abs() < 0.05, "{:?}", s.v);
}

/// Two joints of bodies that stand apart on the ground, `q1 = 0.1 + 2 q2`, with a fixed and another moving body between.
#[test]
fn joints_of_several_trees_are_coupled() {
    let model = mjcf(
        r#"<option gravity="0 0 0"/><worldbody>
          <body><joint name="one" axis="0 0 1"/><inertial pos="0 0 0" mass="1" diaginertia="0.3 0.3 0.4"/></body>
          <body pos="0 1 0"><geom size="0.1"/><body pos="0 0 1"><joint axis="0 1 0"/><geom size="0.1" pos="0.2 0 0"/></body></body>
          <body pos="1 0 0"><joint name="two" axis="0 0 1"/><inertial pos="0 0 0" mass="1" diaginertia="0.2 0.2 0.3"/></body>
          <body pos="5 0 0"><freejoint/><geom size="0.1"/></body></worldbody>
          <equality><joint joint1="one" joint2="two" polycoef="0.1 2 0 0 0"/></equality>"#,
    );
    assert_eq!(model.trees.len(), 2);
    let mut made = batch(&model, 1, 1e-12);
    let mut start = State { q: model.initial_q(), v: vec![0.0; model.n_v], ..State::default() };
    start.q[0] = 0.1;
    start.tau = vec![0.0; model.n_v];
    start.tau[0] = 0.7;
    made.reset(&[(0, start)]).expect("a start");
    run(&mut made, 100);
    let s = state(&mut made, 0);
    assert!((s.q[0] - 0.1 - 2.0 * s.q[2]).abs() < 1e-9, "{:?}", s.q);
    // By virtual work: (4 I1 + I2) a2 = 2 tau, over the steps that were taken.
    let wanted = 2.0 * 0.7 / (4.0 * 0.4 + 0.3) * 100.0 * model.options.timestep;
    assert!((s.v[2] - wanted).abs() < 1e-9, "{} {wanted}", s.v[2]);
    assert!(s.v[1].abs() < 1e-12);
}

#[test]
fn a_coupling_across_free_bodies_holds() {
    let model = mjcf(
        r#"<worldbody><body><freejoint/><geom size="0.1"/><body><joint name="one"/><geom size="0.1"/></body></body>
          <body pos="1 0 0"><joint name="two"/><geom size="0.1"/></body></worldbody>
          <equality><joint name="both" joint1="one" joint2="two"/></equality>"#,
    );
    let mut made = batch(&model, 1, 1e-12);
    let mut start = State { q: model.initial_q(), v: vec![0.0; model.n_v], ..State::default() };
    start.tau = vec![0.0; model.n_v];
    start.tau[7] = 0.01;
    made.reset(&[(0, start)]).expect("a start");
    run(&mut made, 20);
    let s = state(&mut made, 0);
    assert!((s.q[7] - s.q[8]).abs() < 1e-9 && s.q[8] > 1e-4, "{:?}", s.q);
}

/// Falling clutter and quadrupeds, each world thrown its own way.
fn thrown(name: &str, worlds: usize) -> (Model, Vec<(usize, State)>) {
    let model = scene(name);
    let states = (0..worlds)
        .map(|world| {
            let v = (0..model.n_v).map(|i| 0.3 * ((7 * world + i) as f64).sin()).collect();
            (world, State { v, ..State::default() })
        })
        .collect();
    (model, states)
}

#[test]
fn a_restored_batch_goes_on_bit_for_bit() {
    for name in ["clutter", "quadruped-drop"] {
        let (model, states) = thrown(name, 9);
        let mut first = batch(&model, 9, 1e-6);
        first.reset(&states).expect("a reset");
        run(&mut first, 120);
        let saved = first.checkpoint().expect("a checkpoint");
        let mut second = batch(&model, 9, 1e-6);
        second.restore(&saved).expect("a restore");
        assert_eq!(second.checkpoint().expect("a checkpoint"), saved);
        run(&mut first, 30);
        run(&mut second, 30);
        for world in 0..9 {
            assert_eq!(bits(&state(&mut first, world)), bits(&state(&mut second, world)), "{name}, world {world}");
        }
    }
}

#[test]
fn a_world_does_not_depend_on_its_neighbours() {
    let (model, states) = thrown("clutter", 11);
    let mut many = batch(&model, 11, 1e-6);
    many.reset(&states).expect("a reset");
    let mut lone = batch(&model, 1, 1e-6);
    lone.reset(&[(0, states[9].1.clone())]).expect("a reset");
    run(&mut many, 100);
    run(&mut lone, 100);
    assert_eq!(bits(&state(&mut many, 9)), bits(&state(&mut lone, 0)));
    assert_ne!(bits(&state(&mut many, 8)), bits(&state(&mut lone, 0)));
}

#[test]
fn the_device_agrees_with_the_mirrors() {
    let Some(device) = device().expect("an adapter, or MANYWORLDS_NO_ADAPTER=1") else { return };
    for (name, solver, precision, steps, near) in [
        // Clutter is chaotic. One step more and a world meets an impact that round-off decides: on the CPU alone, 1e-15 m/s
        // at the start are then 3e-6 m (`pgs`) or 3e-7 m (`auto`), and were 1e-13 m a step before.
        ("clutter", "pgs", Precision::F64, 32, 1e-9),
        ("clutter", "auto", Precision::F64, 28, 1e-9),
        ("heavy-stack", "auto", Precision::F64, 12, 1e-9),
        ("quadruped-drop", "auto", Precision::F64, 120, 1e-9),
        ("sliding-box", "auto", Precision::F64, 60, 1e-9),
        // This long, what single precision rounds away has not met an impact that it decides.
        ("clutter", "pgs", Precision::F32, 30, 1e-4),
        ("heavy-stack", "auto", Precision::F32, 12, 2e-3),
        ("quadruped-drop", "auto", Precision::F32, 120, 1e-4),
        ("sliding-box", "auto", Precision::F32, 60, 2e-5),
    ] {
        let (model, states) = thrown(name, 3);
        // Two answers within a tolerance may be that far apart: with 1e-6 a change of 1e-15 m/s at the start of this stack
        // makes 6e-9 m of it in two steps, on the CPU alone.
        let tolerance = if name == "heavy-stack" && precision == Precision::F64 { 1e-9 } else { 1e-6 };
        let mirrors = BatchOptions { precision, solver: solver.into(), ..options(tolerance) };
        let mut cpu = Batch::new(&[(&model, 3)], &mirrors).expect("the batch is made");
        let on_device = BatchOptions { device: Some(device.clone()), executor: Executor::Gpu, ..mirrors };
        let mut gpu = Batch::new(&[(&model, 3)], &on_device).expect("the batch is made");
        for batch in [&mut cpu, &mut gpu] {
            batch.reset(&states).expect("a reset");
            run(batch, steps);
        }
        for world in 0..3 {
            let (a, b) = (state(&mut cpu, world), state(&mut gpu, world));
            let apart = a.q.iter().zip(&b.q).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(apart < near, "{name}, {solver}, {precision:?}, world {world}: {apart} apart");
        }
        let (on_cpu, on_gpu) = (summary(&mut cpu), summary(&mut gpu));
        assert!(on_gpu.contacts > 0 && on_gpu.contacts == on_cpu.contacts, "{name}: {on_cpu:?}, {on_gpu:?}");
    }
}

/// With contacts that are found some steps before they close.
fn far_sighted(tolerance: f64) -> BatchOptions {
    let mut options = options(tolerance);
    options.stabilisation.speculative_speed = 1.0;
    options
}

/// Steps from checkpoints with a solver that takes what it starts from as solved: what it starts from then shows.
fn started_from(model: &Model, saved: &[u8]) -> Vec<[f64; 3]> {
    let lazy = BatchOptions { tolerance: 1e9, iterations: 1, ..far_sighted(1.0) };
    let mut batch = Batch::new(&[(model, 1)], &lazy).expect("the batch is made");
    batch.restore(saved).expect("its own bytes");
    run(&mut batch, 1);
    let found = batch.inspect(0).expect("an inspection");
    found.contacts.iter().filter(|c| c.bodies == [0, 1]).map(|c| c.impulse).collect()
}

/// A ball bounces on a box at rest: the box is an island by itself, then one with the ball, then by itself again. Its
/// contacts with the ground go on from the impulses they had.
#[test]
fn impulses_follow_a_tree_into_an_island_and_out_again() {
    let mut model = mjcf(
        r#"<worldbody><geom type="plane" size="1 1 1"/>
           <body pos="0 0 0.05"><freejoint/><geom type="box" size="0.1 0.1 0.05" mass="1"/></body>
           <body pos="0 0 0.17"><freejoint/><geom type="sphere" size="0.05" mass="0.1"/></body></worldbody>"#,
    );
    model.geoms[2].contact.restitution = 0.7;
    let h = model.options.timestep;
    let mut batch = Batch::new(&[(&model, 1)], &far_sighted(1e-12)).expect("the batch is made");
    let (mut joined, mut left, mut before) = (0, 0, 0);
    for _ in 0..150 {
        let saved = batch.checkpoint().expect("a checkpoint");
        run(&mut batch, 1);
        let contacts = batch.inspect(0).expect("an inspection").contacts.len();
        // The steps at which the ball comes near or goes away: it touches in neither, and the box is at rest. One sweep
        // from nothing would leave contacts that carry something else.
        if before != 0 && contacts != before {
            let impulses = started_from(&model, &saved);
            let carried: f64 = impulses.iter().map(|x| x[2]).sum();
            assert!(impulses.len() == 4 && (carried - G * h).abs() < 1e-6, "{before} to {contacts}: {impulses:?}");
            if contacts > before { joined += 1 } else { left += 1 }
        }
        before = contacts;
    }
    assert!(joined > 0 && left > 0, "{joined} times in, {left} times out");
}

/// A door on a connect constraint of its own, hit by a ball: its bilateral block is solved by its tree, then by the
/// island, then by its tree, and after a reset starts from nothing, bit for bit like a world that was never stepped.
#[test]
fn a_reset_forgets_the_impulses_of_blocks_too() {
    let model = mjcf(
        r#"<worldbody><geom type="plane" size="1 1 1"/>
           <body name="door" pos="0 0 0.5"><freejoint/><geom type="box" size="0.2 0.2 0.02" mass="1"/></body>
           <body pos="0.02 0 0.7"><freejoint/><geom type="sphere" size="0.05" mass="0.3"/></body></worldbody>
           <equality><weld body1="door"/></equality>"#,
    );
    let lazy = BatchOptions { tolerance: 1e-6, iterations: 3, ..options(1.0) };
    let make = || Batch::new(&[(&model, 1)], &lazy).expect("the batch is made");
    let start = State { q: model.initial_q(), v: vec![0.0; model.n_v], ..State::default() };
    let mut fresh = make();
    run(&mut fresh, 3);
    for steps in [5, 50, 120] {
        let mut used = make();
        run(&mut used, steps);
        used.reset(&[(0, start.clone())]).expect("a reset");
        run(&mut used, 3);
        assert_eq!(bits(&state(&mut used, 0)), bits(&state(&mut fresh, 0)), "after {steps} steps");
    }
}
