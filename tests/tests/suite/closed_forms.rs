//! Motion with a closed form, through the public crate, on both executors.

use manyworlds::{Batch, Model, State};
use manyworlds_tests::batches::{G, batch, executors, mjcf, run, state, tight};

const H: f64 = 0.002;

/// One world of a model on each executor, by name.
fn both(model: &Model) -> Vec<(&'static str, Batch)> {
    executors(&tight()).into_iter().map(|(name, options)| (name, batch(model, 1, &options))).collect()
}

fn set(batch: &mut Batch, q: &[f64], v: &[f64], ctrl: &[f64]) {
    let state = State { q: q.to_vec(), v: v.to_vec(), ctrl: ctrl.to_vec(), ..State::default() };
    batch.reset(&[(0, state)]).expect("a reset");
}

/// A box of 1 kg on a plane that is tilted by gravity: the model's own is turned by `angle` about y.
fn on_an_incline(angle: f64, mu: f64) -> Model {
    let mut model = mjcf(
        H,
        &format!(
            r#"<worldbody><geom type="plane" size="9 9 1" friction="{mu}"/>
               <body pos="0 0 0.05"><freejoint/><geom type="box" size="0.1 0.1 0.05" mass="1" friction="{mu}"/></body>
               </worldbody>"#
        ),
    );
    model.options.gravity = [G * angle.sin(), 0.0, -G * angle.cos()].into();
    model
}

#[test]
fn a_ball_bounces_to_the_square_of_its_restitution() {
    for restitution in [0.5, 0.8] {
        let mut model = mjcf(
            0.0005,
            r#"<worldbody><geom type="plane" size="1 1 1"/>
               <body pos="0 0 0.6"><freejoint/><geom type="sphere" size="0.1" mass="1"/></body></worldbody>"#,
        );
        model.geoms.iter_mut().for_each(|geom| geom.contact.restitution = restitution);
        for (executor, mut batch) in both(&model) {
            let (mut highest, mut bounced) = (0.0_f64, false);
            // Down in 0.32 s, and up again in less.
            for _ in 0..1200 {
                run(&mut batch, 1);
                let now = state(&mut batch, 0);
                bounced |= now.v[2] > 0.0;
                if bounced {
                    highest = highest.max(now.q[2] - 0.1);
                }
            }
            let wanted = restitution * restitution * 0.5;
            // A step of free fall at the speed of the impact, 3.1 m/s, is 1.6 mm; the bounce is that much early or late.
            assert!((highest - wanted).abs() < 4e-3, "{executor}: {highest} m for {wanted} m");
        }
    }
}

#[test]
fn a_sliding_box_slows_by_friction_and_stops() {
    let mu = 0.3;
    let model = on_an_incline(0.0, mu);
    for (executor, mut batch) in both(&model) {
        run(&mut batch, 20);
        let rest = state(&mut batch, 0).q;
        set(&mut batch, &rest, &[1.0, 0.0, 0.0, 0.0, 0.0, 0.0], &[]);
        run(&mut batch, 100);
        let speed = state(&mut batch, 0).v[0];
        assert!((speed - (1.0 - mu * G * 100.0 * H)).abs() < 1e-6, "{executor}: {speed} m/s");
        // It stops after v / (mu g) = 0.34 s, v^2 / (2 mu g) = 0.170 m on.
        run(&mut batch, 100);
        let end = state(&mut batch, 0);
        assert!(end.v[0].abs() < 1e-9, "{executor}: {:?}", end.v);
        let way = end.q[0] - rest[0];
        assert!((way - 0.5 / (mu * G)).abs() < H, "{executor}: {way} m");
    }
}

#[test]
fn an_incline_holds_below_the_angle_of_friction_and_lets_go_above() {
    let mu: f64 = 0.4;
    for (angle, slides) in [(0.9 * mu.atan(), false), (1.1 * mu.atan(), true)] {
        let model = on_an_incline(angle, mu);
        for (executor, mut batch) in both(&model) {
            run(&mut batch, 100);
            let before = state(&mut batch, 0).v[0];
            run(&mut batch, 50);
            let after = state(&mut batch, 0).v[0];
            if slides {
                let (found, wanted) = ((after - before) / (50.0 * H), G * (angle.sin() - mu * angle.cos()));
                assert!((found - wanted).abs() < 1e-6, "{executor}: {found} m/s^2 for {wanted}");
            } else {
                assert!(after.abs() < 1e-9, "{executor}: it creeps at {after} m/s");
            }
        }
    }
}

/// A point mass on a massless rod of 0.5 m.
const PENDULUM: &str = r#"<worldbody><body><joint type="hinge" axis="0 1 0" LIMIT/>
    <inertial pos="0 0 -0.5" mass="2" diaginertia="1e-9 1e-9 1e-9"/></body></worldbody>ACTUATOR"#;

fn pendulum(limit: &str, actuator: &str) -> Model {
    mjcf(H, &PENDULUM.replace("LIMIT", limit).replace("ACTUATOR", actuator))
}

#[test]
fn a_pendulum_keeps_its_period() {
    for (executor, mut batch) in both(&pendulum("", "")) {
        let amplitude = 0.2;
        set(&mut batch, &[amplitude], &[0.0], &[]);
        // Zero crossings, by interpolation.
        let (mut crossings, mut before) = (Vec::new(), amplitude);
        for step in 0..2500 {
            run(&mut batch, 1);
            let now = state(&mut batch, 0).q[0];
            if before * now < 0.0 {
                crossings.push((f64::from(step) + before / (before - now)) * H);
            }
            before = now;
        }
        let periods = (crossings.len() - 1) as f64 / 2.0;
        let period = (crossings[crossings.len() - 1] - crossings[0]) / periods;
        // 2 pi sqrt(l / g) (1 + a^2 / 16 + 11 a^4 / 3072)
        let small = std::f64::consts::TAU * (0.5 / G).sqrt();
        let wanted = small * (1.0 + amplitude.powi(2) / 16.0 + 11.0 * amplitude.powi(4) / 3072.0);
        assert!(periods >= 3.0 && (period - wanted).abs() < 1e-4 * wanted, "{executor}: {period} s for {wanted} s");
    }
}

#[test]
fn a_hinge_rests_on_its_limit() {
    // Half a radian, from which it would fall on.
    let limit = format!(r#"limited="true" range="{} 120""#, 0.5_f64.to_degrees());
    for (executor, mut batch) in both(&pendulum(&limit, "")) {
        set(&mut batch, &[1.0], &[0.0], &[]);
        run(&mut batch, 1000);
        let end = state(&mut batch, 0);
        assert!((end.q[0] - 0.5).abs() < 1e-4 && end.v[0].abs() < 1e-6, "{executor}: {end:?}");
        let found = batch.inspect(0).expect("an inspection");
        // The limit carries the moment of the weight.
        let wanted = 2.0 * G * 0.5 * 0.5_f64.sin() * H;
        assert_eq!(found.rows.len(), 1, "{executor}");
        assert!((found.rows[0].impulse - wanted).abs() < 1e-4 * wanted, "{executor}: {:?}, {wanted}", found.rows);
    }
}

#[test]
fn dry_friction_holds_up_to_its_moment() {
    // At 0.3 radians the weight's moment is 2.9 N m.
    let moment = 2.0 * G * 0.5 * 0.3_f64.sin();
    for (share, holds) in [(1.05, true), (0.95, false)] {
        let model = pendulum(&format!(r#"frictionloss="{}""#, share * moment), "");
        for (executor, mut batch) in both(&model) {
            set(&mut batch, &[0.3], &[0.0], &[]);
            run(&mut batch, 100);
            let end = state(&mut batch, 0);
            if holds {
                assert!(end.v[0].abs() < 1e-9 && (end.q[0] - 0.3).abs() < 1e-9, "{executor}: {end:?}");
            } else {
                assert!(end.v[0] < -1e-3, "{executor}: {end:?}");
            }
        }
    }
}

#[test]
fn an_actuator_gives_no_more_than_its_force_range() {
    // A slide of 2 kg without gravity: a motor, and a position drive whose gain asks for more than it may give.
    for (actuator, control, force) in [
        (r#"<motor joint="j" forcelimited="true" forcerange="-3 3"/>"#, 10.0, 3.0),
        (r#"<motor joint="j" forcelimited="true" forcerange="-3 3"/>"#, -1.5, -1.5),
        (r#"<motor joint="j" ctrllimited="true" ctrlrange="-2 2" gear="4"/>"#, 10.0, 8.0),
        (r#"<position joint="j" kp="1000" forcelimited="true" forcerange="-3 3"/>"#, 1.0, 3.0),
    ] {
        let mut model = mjcf(
            H,
            &format!(
                r#"<worldbody><body><joint name="j" type="slide" axis="1 0 0"/>
                   <inertial pos="0 0 0" mass="2" diaginertia="1 1 1"/></body></worldbody>
                   <actuator>{actuator}</actuator>"#
            ),
        );
        model.options.gravity = [0.0; 3].into();
        for (executor, mut batch) in both(&model) {
            let steps = 50;
            (0..steps).for_each(|_| batch.step(&[control]).expect("a step"));
            let (speed, wanted) = (state(&mut batch, 0).v[0], force / 2.0 * H * f64::from(steps));
            assert!((speed - wanted).abs() < 1e-9, "{executor}, {actuator}: {speed} m/s for {wanted}");
        }
    }
}

/// Falls onto the ground, and a ball onto a box that itself is free: what is fast is seen coming.
#[test]
fn what_falls_from_a_height_lands_without_sinking_in() {
    for (name, shape, half) in [
        ("ball", r#"type="sphere" size="0.1""#, 0.1),
        ("box", r#"type="box" size="0.1 0.15 0.05""#, 0.05),
        ("capsule", r#"type="capsule" size="0.05 0.2""#, 0.25),
    ] {
        for height in [0.5, 5.0] {
            let model = mjcf(
                H,
                &format!(
                    r#"<worldbody><geom type="plane" size="1 1 1"/>
                       <body pos="0 0 {}"><freejoint/><geom {shape} mass="1"/></body></worldbody>"#,
                    half + height
                ),
            );
            // Down, and a tenth of a second to come to rest.
            let steps = ((2.0 * height / G).sqrt() / H) as usize + 50;
            for (executor, mut batch) in both(&model) {
                if executor == "gpu" && (name != "box" || height > 1.0) {
                    // A submission a step takes long; the host's half is the same.
                    continue;
                }
                let (mut deepest, mut lowest, mut certificates) = (0.0_f64, f64::INFINITY, Vec::new());
                for _ in 0..steps {
                    run(&mut batch, 1);
                    batch.summaries(&mut certificates).expect("summaries");
                    deepest = deepest.max(certificates[0].penetration);
                    lowest = lowest.min(state(&mut batch, 0).q[2]);
                }
                // Nothing was there to stop it a step earlier than the ground: it did land.
                assert!(certificates[0].contacts > 0 && lowest < half + 1e-3, "{executor}, {name}: {lowest} m");
                assert!(deepest < 1e-6, "{executor}, {name} from {height} m: {deepest} m deep");
            }
        }
    }
}

#[test]
fn at_rest_a_body_penetrates_by_next_to_nothing() {
    let model = mjcf(
        H,
        r#"<worldbody><geom type="plane" size="1 1 1"/>
           <body pos="0 0 0.05"><freejoint/><geom type="box" size="0.05 0.05 0.05" mass="1"/></body>
           <body pos="0 0 0.151"><freejoint/><geom type="box" size="0.05 0.05 0.05" mass="10"/></body></worldbody>"#,
    );
    for (executor, mut batch) in both(&model) {
        run(&mut batch, 500);
        let mut certificates = Vec::new();
        batch.summaries(&mut certificates).expect("summaries");
        assert!(certificates[0].contacts == 8 && certificates[0].penetration < 1e-7, "{executor}: {certificates:?}");
    }
}
