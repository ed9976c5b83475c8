//! Parameters that a world has of its own: geoms, dynamics and contacts, on both executors, through checkpoints too.

use manyworlds::{Batch, Error, GeomParameter, Parameter, State};
use manyworlds_tests::batches::{G, batch, bits, executors, mjcf, run, state, tight};

const BALL: &str = r#"<worldbody><geom type="plane" size="1 1 1"/>
  <body pos="0 0 0.3"><freejoint/><geom type="sphere" size="0.1" mass="1"/></body></worldbody>"#;

const BOX: &str = r#"<worldbody><geom type="plane" size="1 1 1" friction="0.1"/>
  <body pos="0 0 0.05"><freejoint/><geom type="box" size="0.1 0.1 0.05" mass="1" friction="0.1"/></body></worldbody>"#;

/// Every world pushed along x.
fn push(batch: &mut Batch, speed: f64) {
    let v = vec![speed, 0.0, 0.0, 0.0, 0.0, 0.0];
    let all: Vec<_> = (0..batch.len()).map(|w| (w, State { v: v.clone(), ..State::default() })).collect();
    batch.reset(&all).expect("a reset");
}

#[test]
fn a_larger_ball_rests_higher() {
    let model = mjcf(0.005, BALL);
    for (executor, options) in executors(&tight()) {
        let mut batch = batch(&model, 3, &options);
        batch.set_geom(1, 1, GeomParameter::Size, &[0.15]).expect("a radius");
        run(&mut batch, 300);
        let heights = [0, 1, 2].map(|world| state(&mut batch, world).q[2]);
        for (height, radius) in heights.into_iter().zip([0.1, 0.15, 0.1]) {
            assert!((height - radius).abs() < 1e-5, "{executor}: {heights:?}");
        }
    }
}

#[test]
fn less_friction_slides_farther_and_restitution_bounces() {
    let model = mjcf(0.002, BOX);
    for (executor, options) in executors(&tight()) {
        let mut batch = batch(&model, 2, &options);
        // Of a pair the larger counts: both geoms change.
        for geom in [0, 1] {
            batch.set_geom(1, geom, GeomParameter::Friction, &[0.4]).expect("a friction");
        }
        run(&mut batch, 50);
        push(&mut batch, 1.0);
        run(&mut batch, 100);
        for (world, mu) in [(0, 0.1), (1, 0.4)] {
            let speed = state(&mut batch, world).v[0];
            assert!((speed - (1.0 - mu * G * 0.2)).abs() < 1e-3, "{executor}, world {world}: {speed} m/s");
        }
    }
    let mut batch = batch(&mjcf(0.002, BALL), 2, &tight());
    batch.set_geom(1, 1, GeomParameter::Restitution, &[0.5]).expect("a restitution");
    // Falls 0.2 m in 0.2 s, and then rises again or not.
    run(&mut batch, 120);
    let speeds = [0, 1].map(|world| state(&mut batch, world).v[2]);
    assert!(speeds[0].abs() < 1e-6 && speeds[1] > 0.5, "{speeds:?}");
}

#[test]
fn what_a_geom_cannot_be_is_refused_and_changes_nothing() {
    let model = mjcf(0.005, BALL);
    let mut batch = batch(&model, 2, &tight());
    let mut said = |world: usize, geom: usize, parameter: GeomParameter, values: &[f64]| {
        batch.set_geom(world, geom, parameter, values).expect_err("refused").to_string()
    };
    assert_eq!(said(2, 0, GeomParameter::Friction, &[1.0]), "world 2: there are 2");
    assert_eq!(said(0, 2, GeomParameter::Friction, &[1.0]), "geom 2: there are 2");
    assert!(
        said(0, 0, GeomParameter::Size, &[1.0]).contains("a plane, mesh, heightfield or distance function has no size")
    );
    assert!(said(0, 1, GeomParameter::Size, &[-0.1]).contains("Size of geom 1 \"\": expected numbers above zero"));
    assert!(said(0, 1, GeomParameter::Size, &[0.1, 0.2]).contains("expected 1 numbers, found 2"));
    assert!(said(0, 1, GeomParameter::Size, &[f64::NAN]).contains("found NaN"));
    assert!(said(0, 1, GeomParameter::Friction, &[-1.0]).contains("not below zero"));
    assert!(said(0, 1, GeomParameter::Restitution, &[1.5]).contains("from 0 to 1"));
    run(&mut batch, 300);
    assert_eq!(bits(&state(&mut batch, 0)), bits(&state(&mut batch, 1)));
}

#[test]
fn what_a_tree_cannot_be_is_refused() {
    let model = mjcf(
        0.005,
        r#"<worldbody><body><joint type="hinge" axis="0 1 0" limited="true" range="-30 30"/>
           <geom type="sphere" size="0.1" pos="0.5 0 0"/></body></worldbody>"#,
    );
    let mut batch = batch(&model, 1, &tight());
    for (parameter, values) in [
        (Parameter::BodyMass(0), &[-1.0][..]),
        (Parameter::BodyMass(0), &[0.0]),
        (Parameter::BodyInertia(0), &[1.0, 1.0, -1.0, 0.0, 0.0, 0.0]),
        (Parameter::BodyOrientation(0), &[0.0, 0.0, 0.0, 0.0]),
        (Parameter::JointAxis(0), &[0.0, 0.0, 0.0]),
        (Parameter::JointDamping(0), &[-1.0]),
        (Parameter::JointArmature(0), &[-1.0]),
        (Parameter::JointRange(0), &[1.0, -1.0]),
        (Parameter::Timestep, &[0.0]),
        (Parameter::CorrectionFraction, &[1.5]),
        (Parameter::BodyMass(7), &[1.0]),
        (Parameter::BodyMass(0), &[1.0, 2.0]),
    ] {
        let result = batch.set_parameter(0, 0, parameter, values);
        assert!(matches!(result, Err(Error::Parameter { .. })), "{parameter:?} {values:?}: {result:?}");
    }
    batch.set_parameter(0, 0, Parameter::JointRange(0), &[-0.1, 0.1]).expect("a range");
    run(&mut batch, 400);
    assert!((state(&mut batch, 0).q[0] - 0.1).abs() < 1e-3, "it hangs on its own limit");
}

#[test]
fn overrides_go_through_a_checkpoint() {
    let model = mjcf(0.005, BALL);
    let mut first = batch(&model, 9, &tight());
    for world in 0..9 {
        first.set_geom(world, 1, GeomParameter::Size, &[0.1 + 0.01 * world as f64]).expect("a radius");
    }
    first.set_parameter(4, 0, Parameter::BodyMass(0), &[3.0]).expect("a mass");
    run(&mut first, 30);
    let saved = first.checkpoint().expect("a checkpoint");
    let mut second = batch(&model, 9, &tight());
    second.restore(&saved).expect("its own bytes");
    assert_eq!(second.checkpoint().expect("a checkpoint"), saved);
    run(&mut first, 100);
    run(&mut second, 100);
    for world in 0..9 {
        assert_eq!(bits(&state(&mut first, world)), bits(&state(&mut second, world)), "world {world}");
    }
    assert!((state(&mut second, 8).q[2] - 0.18).abs() < 1e-4);
    // Restoring what had no overrides takes those of the batch away.
    let mut plain = batch(&model, 9, &tight());
    let none = plain.checkpoint().expect("a checkpoint");
    second.restore(&none).expect("a restore");
    run(&mut second, 130);
    run(&mut plain, 130);
    assert_eq!(bits(&state(&mut second, 8)), bits(&state(&mut plain, 8)));
}

/// Two boxes, one on the other: an island of two trees, whose contacts take the settings of their own world.
#[test]
fn an_island_of_several_trees_has_its_worlds_settings() {
    let model = mjcf(
        0.005,
        r#"<worldbody><geom type="plane" size="1 1 1"/>
           <body pos="0 0 0.045"><freejoint/><geom type="box" size="0.05 0.05 0.05" mass="1"/></body>
           <body pos="0 0 0.135"><freejoint/><geom type="box" size="0.05 0.05 0.05" mass="1"/></body></worldbody>"#,
    );
    let mut batch = batch(&model, 2, &tight());
    for tree in 0..2 {
        batch.set_parameter(1, tree, Parameter::CorrectionMax, &[0.01]).expect("a speed");
    }
    run(&mut batch, 1);
    // Both pairs overlap by 5 mm and more: they part at the largest speed of a correction.
    for (world, speed) in [(0, 0.2), (1, 0.01)] {
        let v = state(&mut batch, world).v;
        assert!((v[2] - speed).abs() < 1e-6, "world {world}: {v:?}");
        assert!((v[8] - 2.0 * speed).abs() < 1e-6, "world {world}: {v:?}");
    }
}
