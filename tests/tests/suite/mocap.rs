//! Mocap bodies: worlds step as if the ground had been built where the user moved them.

use manyworlds::{Batch, BatchOptions, Executor, FieldId, Model, Precision, Start, Which};
use manyworlds_tests::batches::{G, batch, bits, executors, mjcf, state};

/// A plate with a ledge, a ball over each, an arm whose base stands on the ledge, and a rod that is welded to it; either a
/// mocap body at `pose` or, with the same numbers, a part of the ground.
fn plate(mocap: bool, [x, y, z, qw, qx, qy, qz]: [f64; 7]) -> Model {
    let what = if mocap { "mocap=\"true\" " } else { "" };
    mjcf(
        0.002,
        &format!(
            "<worldbody>
               <body name=\"plate\" {what}pos=\"{x} {y} {z}\" quat=\"{qw} {qx} {qy} {qz}\">
                 <geom type=\"box\" size=\"0.5 0.5 0.05\"/>
                 <body name=\"ledge\" pos=\"1 0 0.1\" euler=\"0 20 0\"><geom type=\"box\" size=\"0.3 0.3 0.1\"/>
                   <body name=\"arm\" pos=\"0.2 0.2 0.1\" euler=\"10 0 0\"><joint axis=\"1 0.5 0\"/>
                     <geom type=\"capsule\" size=\"0.02\" fromto=\"0 0 0 0.4 0.1 0.1\" contype=\"0\" conaffinity=\"0\"/></body>
                 </body>
               </body>
               <body name=\"ball\" pos=\"0.1 0.3 0.149\"><freejoint/><geom size=\"0.1\"/></body>
               <body name=\"other\" pos=\"1.05 -0.05 0.35\"><freejoint/><geom size=\"0.1\"/></body>
               <body name=\"rod\" pos=\"-0.4 0 0.5\"><freejoint/><geom type=\"capsule\" size=\"0.02 0.1\"/></body>
             </worldbody>
             <equality><weld body1=\"ledge\" body2=\"rod\" relpose=\"-1.3 0.1 0.5 1 0.1 0 0\"/></equality>"
        ),
    )
}

/// Where it is built, and where it is moved to: a little down and aslant, so that the balls still touch.
const BUILT: [f64; 7] = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0];
const MOVED: [f64; 7] = [0.01, -0.02, 0.002, 0.999_687_5, 0.015, 0.02, 0.0];
const WORLDS: usize = 3;

fn settings(precision: Precision) -> Vec<(&'static str, BatchOptions)> {
    executors(&BatchOptions { executor: Executor::Cpu, precision, iterations: 1000, ..Default::default() })
}

/// Writes the pose of the mocap body of every world; the second one's is the moved one.
fn place(batch: &mut Batch, pose: [f64; 7]) {
    let mut rows = BUILT.repeat(WORLDS);
    rows[7..14].copy_from_slice(&pose);
    batch.write(0, FieldId::Mocap, &rows).expect("a write");
}

fn unit(mut pose: [f64; 7]) -> [f64; 7] {
    let norm = pose[3..].iter().map(|x| x * x).sum::<f64>().sqrt();
    pose[3..].iter_mut().for_each(|x| *x /= norm);
    pose
}

/// Largest difference of position and velocity of the moved world from a model that was built there.
fn difference(moved: &mut Batch, built: &mut Batch) -> f64 {
    let (a, b) = (state(moved, 1), state(built, 0));
    let pairs = a.q.iter().chain(&a.v).zip(b.q.iter().chain(&b.v));
    pairs.fold(0.0, |most, (x, y)| if (x - y).is_nan() { f64::NAN } else { most.max((x - y).abs()) })
}

#[test]
fn a_moved_mocap_body_is_ground_where_it_is() {
    let moved = unit(MOVED);
    for (precision, tolerance) in [(Precision::F64, 1e-9), (Precision::F32, 2e-3)] {
        for (name, options) in settings(precision) {
            let mut made = batch(&plate(true, BUILT), WORLDS, &options);
            let mut built = batch(&plate(false, moved), 1, &options);
            let mut elsewhere = batch(&plate(false, BUILT), 1, &options);
            for step in 0..60 {
                // Once at the start, and once more in between: what follows must not add up.
                if step % 30 == 0 {
                    place(&mut made, moved);
                }
                [&mut made, &mut built, &mut elsewhere].into_iter().for_each(|b| b.step::<f64>(&[]).expect("a step"));
            }
            let mut summaries = Vec::new();
            made.summaries(&mut summaries).expect("summaries");
            assert!(summaries.iter().all(|s| !s.failed() && s.contacts >= 1), "{name}: {summaries:?}");
            let found = difference(&mut made, &mut built);
            assert!(found <= tolerance, "{name} {}: {found:e}", precision.name());
            let far = difference(&mut made, &mut elsewhere);
            assert!(far > 5.0 * tolerance, "{name}: the comparison sees nothing: {far:e}");
            assert_eq!(bits(&state(&mut made, 0)), bits(&state(&mut made, 2)), "{name}: worlds that are alike");
            let n_body = made.model(0).expect("a model").bodies.len();
            let [mut poses, mut wanted] = [vec![0.0_f64; WORLDS * n_body * 7], vec![0.0; n_body * 7]];
            made.read(0, FieldId::Pose, &mut poses).expect("poses");
            built.read(0, FieldId::Pose, &mut wanted).expect("poses");
            let own = &poses[n_body * 7..2 * n_body * 7];
            let apart = own.iter().zip(&wanted).fold(0.0_f64, |most, (a, b)| most.max((a - b).abs()));
            assert!(apart <= tolerance, "{name}: poses differ by {apart:e}");
        }
    }
}

#[test]
fn derivatives_know_where_a_mocap_body_is() {
    let options =
        BatchOptions { executor: Executor::Cpu, precision: Precision::F64, tolerance: 1e-11, ..Default::default() };
    let moved = unit(MOVED);
    let mut made = batch(&plate(true, BUILT), WORLDS, &options);
    let mut built = batch(&plate(false, moved), 1, &options);
    place(&mut made, moved);
    for b in [&mut made, &mut built] {
        b.keep_steps(true).expect("steps are kept");
        (0..20).for_each(|_| b.step::<f64>(&[]).expect("a step"));
    }
    let [a, c, b] = [made.jacobian(1), made.jacobian(0), built.jacobian(0)].map(|j| j.expect("a Jacobian"));
    let apart = |a: &[f64], b: &[f64]| a.iter().zip(b).fold(0.0_f64, |most, (x, y)| most.max((x - y).abs()));
    assert!(a.dv_dq.iter().all(|x| x.is_finite()));
    assert!(apart(&a.dv_dq, &b.dv_dq) <= 1e-5, "{:e}", apart(&a.dv_dq, &b.dv_dq));
    assert!(apart(&a.dv_dv, &b.dv_dv) <= 1e-7, "{:e}", apart(&a.dv_dv, &b.dv_dv));
    assert!(apart(&c.dv_dq, &b.dv_dq) > 1e-3, "the comparison sees nothing");
}

#[test]
fn poses_of_mocap_bodies_are_a_field_that_checkpoints_keep_and_starts_reset() {
    let options = BatchOptions { executor: Executor::Cpu, precision: Precision::F64, ..Default::default() };
    let mut made = batch(&plate(true, BUILT), WORLDS, &options);
    assert_eq!(made.field(0, FieldId::Mocap).expect("a field").shape(), [WORLDS, 1, 7]);
    place(&mut made, MOVED);
    (0..5).for_each(|_| made.step::<f64>(&[]).expect("a step"));
    assert_eq!(made.field(0, FieldId::Mocap).expect("a field").get(1, 2), Some(MOVED[2]));
    let checkpoint = made.checkpoint().expect("a checkpoint");
    (0..5).for_each(|_| made.step::<f64>(&[]).expect("a step"));
    let after = bits(&state(&mut made, 1));

    let mut other = batch(&plate(true, BUILT), WORLDS, &options);
    other.restore(&checkpoint).expect("a restore");
    (0..5).for_each(|_| other.step::<f64>(&[]).expect("a step"));
    assert_eq!(bits(&state(&mut other, 1)), after);

    other.restart_worlds(Which::Listed(&[1]), Start::INITIAL).expect("a start");
    let mut rows = vec![0.0; WORLDS * 7];
    other.read(0, FieldId::Mocap, &mut rows).expect("poses");
    assert_eq!(rows[7..14], BUILT);

    // In place, as by a copy.
    let mut field = other.field_mut(0, FieldId::Mocap).expect("a field");
    field.for_each_block(|block| {
        let at = block.layout.index(1, 0, 2);
        if let (Some(at), manyworlds::NumbersMut::F64(numbers)) = (at, block.numbers) {
            numbers[at] = 5.0;
        }
    });
    other.step::<f64>(&[]).expect("a step");
    let mut poses = vec![0.0; WORLDS * other.model(0).expect("a model").bodies.len() * 7];
    other.read(0, FieldId::Pose, &mut poses).expect("poses");
    let plate = other.model(0).expect("a model").body_by_name("plate").expect("the plate");
    assert_eq!(poses[(poses.len() / WORLDS) + plate * 7 + 2], 5.0);

    let mut bad = BUILT.repeat(WORLDS);
    bad[3] = f64::NAN;
    assert!(other.write(0, FieldId::Mocap, &bad).expect_err("a NaN").to_string().contains("mocap"));
    assert!(other.write(0, FieldId::Mocap, &bad[7..]).expect_err("a short array").to_string().contains("mocap"));
}

/// Steps a batch of one mocap body along a path; `pose`: of each step.
fn drive(batch: &mut Batch, steps: usize, pose: impl Fn(usize) -> [f64; 7]) {
    for step in 0..steps {
        batch.write(0, FieldId::Mocap, &pose(step)).expect("a write");
        batch.step::<f64>(&[]).expect("a step");
        let mut summaries = Vec::new();
        batch.summaries(&mut summaries).expect("summaries");
        assert!(summaries.iter().all(|s| !s.failed()), "step {step}: {summaries:?}");
    }
}

/// A box on a plate that moves along x carries no slip, however fast the plate is: after the step in which friction has
/// brought it up to speed it has the plate's. One that the plate leaves behind has what `mu g` gave it.
#[test]
fn a_plate_carries_what_lies_on_it() {
    let (h, mu) = (0.002, 0.8);
    let model = mjcf(
        h,
        "<worldbody>
           <body name=\"plate\" mocap=\"true\"><geom type=\"box\" size=\"3 1 0.05\" friction=\"0.8\"/></body>
           <body name=\"box\" pos=\"0 0 0.15\"><freejoint/><geom type=\"box\" size=\"0.2 0.2 0.1\" friction=\"0.8\"/></body>
         </worldbody>",
    );
    for (precision, tolerance) in [(Precision::F64, 1e-8), (Precision::F32, 2e-4)] {
        for (name, options) in settings(precision) {
            let options = BatchOptions { tolerance: 1e-2 * tolerance, ..options };
            for (speed, held) in [(0.5 * mu * G * h, true), (100.0 * mu * G * h, false)] {
                let mut made = batch(&model, 1, &options);
                drive(&mut made, 41, |step| [step as f64 * speed * h, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]);
                // The first step begins where the plate is built.
                let wanted = if held { speed } else { 40.0 * mu * G * h };
                let (q, v) = (state(&mut made, 0).q, state(&mut made, 0).v);
                let off = (v[0] - wanted).abs().max(v[2].abs()).max((q[2] - 0.15).abs());
                assert!(off <= tolerance, "{name} {}: {v:?} at {q:?}, not {wanted}", precision.name());
                let report = made.inspect(0).expect("a world");
                let slip = report.contacts.iter().map(|c| c.velocity[0].hypot(c.velocity[1])).fold(0.0, f64::max);
                let slips = speed - wanted;
                assert!((slip - slips).abs() <= tolerance && report.summary.residual <= 1e-5, "{name}: slip {slip}");
            }
        }
    }
}

/// A paddle pushes a ball at its speed, and so does one that turns, at that of the point where it touches; where it stops the
/// ball goes on.
#[test]
fn a_paddle_pushes_a_ball_at_its_speed() {
    let h = 0.002;
    let model = mjcf(
        h,
        "<option gravity=\"0 0 0\"/><worldbody>
           <body name=\"paddle\" mocap=\"true\"><geom type=\"box\" size=\"0.01 0.5 0.5\" friction=\"0\"/></body>
           <body name=\"ball\" pos=\"0.1115 0.3 0\"><freejoint/><geom size=\"0.1\" friction=\"0\"/></body>
         </worldbody>",
    );
    for (precision, tolerance) in [(Precision::F64, 1e-9), (Precision::F32, 1e-4)] {
        for (name, options) in settings(precision) {
            // It comes from so far, and so fast, that contacts have to be looked for further ahead than of what stands still.
            let speed = 12.0;
            let mut made = batch(&model, 1, &options);
            drive(&mut made, 30, |step| [(step.min(20) as f64 - 3.0) * speed * h, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]);
            let v = state(&mut made, 0).v;
            assert!((v[0] - speed).abs() <= speed * tolerance, "{name} {}: {v:?}", precision.name());

            let rate = 1.5;
            for (way, touches) in [(1.0, false), (-1.0, true)] {
                let mut made = batch(&model, 1, &options);
                drive(&mut made, 12, |step| {
                    let half = 0.5 * way * rate * h * step as f64;
                    [0.0, 0.0, 0.0, half.cos(), 0.0, 0.0, half.sin()]
                });
                let v = state(&mut made, 0).v;
                let pushed = v[0].hypot(v[1]);
                // The ball is 0.3 m from the axis; the paddle leaves it, or takes it along.
                let wanted = if touches { 0.3 * rate } else { 0.0 };
                assert!((pushed - wanted).abs() < 0.02 * wanted + tolerance, "{name}: {pushed}, not {wanted}");
            }
        }
    }
}

/// Nothing is pushed by a body that was put elsewhere along with a reset, or before the first step.
#[test]
fn a_reset_moves_nothing() {
    let options = BatchOptions { executor: Executor::Cpu, ..Default::default() };
    let pose = |x: f64| [x, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0];
    let model = plate(true, BUILT);
    let mut made = batch(&model, 1, &options);
    drive(&mut made, 3, |_| pose(0.02));
    let before = state(&mut made, 0);
    // The first joint is the arm's, the next the ball's.
    assert!(before.v[1].abs() < 1e-6, "{before:?}");
    made.restart_worlds(Which::Listed(&[0]), Start::INITIAL).expect("a reset");
    drive(&mut made, 3, |_| pose(-0.02));
    assert!(state(&mut made, 0).v[1].abs() < 1e-6);
}

/// Derivatives of a step in which a mocap body moves are those of differences, and what is saved in its midst goes on as it was.
#[test]
fn a_moving_body_is_part_of_derivatives_and_checkpoints() {
    let model = mjcf(
        0.002,
        "<worldbody>
           <body name=\"plate\" mocap=\"true\"><geom type=\"box\" size=\"3 1 0.05\" friction=\"0.3\"/></body>
           <body name=\"ball\" pos=\"0 0 0.149\"><freejoint/><geom size=\"0.1\" friction=\"0.3\"/></body>
         </worldbody>",
    );
    let options = BatchOptions {
        tolerance: 1e-12,
        iterations: 1000,
        precision: Precision::F64,
        executor: Executor::Cpu,
        ..Default::default()
    };
    let pose = |step: usize| {
        let x = 0.001 * step as f64;
        [3.0 * x, x, 0.0, 1.0, 0.0, 0.01 * x, 0.2 * x]
    };
    let mut made = batch(&model, 1, &options);
    made.keep_steps(true).expect("kept");
    drive(&mut made, 5, pose);
    let saved = made.checkpoint().expect("a checkpoint");
    let start = state(&mut made, 0);
    let step = |made: &mut Batch, v: &[f64]| {
        made.restore(&saved).expect("the same batch");
        made.write(0, FieldId::Velocity, v).expect("a write");
        made.write(0, FieldId::Mocap, &pose(5)).expect("a write");
        made.step::<f64>(&[]).expect("a step");
        state(made, 0)
    };
    let after = step(&mut made, &start.v);
    let jacobian = made.jacobian(0).expect("a Jacobian");
    assert!(jacobian.certificate.valid(), "{:?}", jacobian.certificate);
    let n = model.n_v;
    for j in 0..n {
        let eps = 1e-6;
        let moved = |sign: f64| {
            let mut v = start.v.clone();
            v[j] += sign * eps;
            v
        };
        let (up, down) = (step(&mut made, &moved(1.0)), step(&mut made, &moved(-1.0)));
        for i in 0..n {
            let difference = (up.v[i] - down.v[i]) / (2.0 * eps);
            let found = jacobian.dv_dv[i * n + j];
            assert!((difference - found).abs() < 1e-5, "dv{i}/dv{j}: {found}, by differences {difference}");
        }
    }
    let mut straight = batch(&model, 1, &options);
    drive(&mut straight, 6, pose);
    assert_eq!(bits(&state(&mut straight, 0)), bits(&after));
}
