//! Time stepping by the theta method (Castro 2022, section II): against closed forms of one step, what each rule keeps, the
//! order of each, and the paper's spring with a cylinder.

use std::f64::consts::PI;
use std::path::Path;

use manyworlds::model::from_mjcf_str;
use manyworlds::{
    Batch, BatchOptions, Error, Executor, GeomParameter, ImportOptions, Integrator, Model, Precision, State, load,
};

fn model(xml: &str) -> Model {
    let missing = |_: &Path| Err(std::io::ErrorKind::NotFound.into());
    from_mjcf_str(Path::new("test.xml"), xml, &missing, &ImportOptions::default()).expect("a model").model
}

fn batch(model: &Model, integrator: Integrator, solver: &str, h: f64) -> Batch {
    let options = BatchOptions {
        executor: Executor::Cpu,
        precision: Precision::F64,
        solver: solver.into(),
        integrator,
        dt: Some(h),
        tolerance: 1e-12,
        iterations: 1000,
        ..BatchOptions::default()
    };
    Batch::new(&[(model, 1)], &options).expect("a batch")
}

fn at(q: &[f64], v: &[f64]) -> State {
    State { q: q.to_vec(), v: v.to_vec(), ..State::default() }
}

/// Steps from a state and collects the states after each step.
fn run(batch: &mut Batch, start: State, steps: usize) -> Vec<State> {
    batch.reset(&[(0, start)]).expect("a reset");
    let step = |_| {
        batch.step::<f64>(&[]).expect("a step");
        batch.state(0).expect("a state")
    };
    (0..steps).map(step).collect()
}

/// The next (x, v) of `m x'' = -k x - d x'` by the definition of the rules, solved by hand.
fn oscillator([x, v]: [f64; 2], [m, k, d, h]: [f64; 4], [theta, theta_vq]: [f64; 2]) -> [f64; 2] {
    // m (w - v) = -h k (x + theta h (theta_vq w + (1 - theta_vq) v)) - h d (theta w + (1 - theta) v)
    let old = m * v - h * k * (x + theta * (1.0 - theta_vq) * h * v) - h * (1.0 - theta) * d * v;
    let w = old / (m + h * theta * d + h * h * theta * theta_vq * k);
    [x + h * (theta_vq * w + (1.0 - theta_vq) * v), w]
}

/// theta and theta_vq.
fn weights(integrator: Integrator) -> [f64; 2] {
    match integrator {
        Integrator::SymplecticEuler => [0.0, 1.0],
        Integrator::Midpoint => [0.5, 0.5],
        // Springs and dampers are all that is implicit, and all that there is here.
        Integrator::ImplicitEuler | Integrator::LinearlyImplicit => [1.0, 1.0],
    }
}

#[test]
fn springs_dampers_and_drives_step_as_the_rules_say() {
    let parts = [
        (r#"<joint type="slide" axis="1 0 0" stiffness="30" damping="2"/>"#, ""),
        // A drive without a force limit, in the momentum matrix; and one with a limit that it does not meet, a row.
        (
            r#"<joint name="j" type="slide" axis="1 0 0"/>"#,
            r#"<general joint="j" biastype="affine" biasprm="0 -30 -2"/>"#,
        ),
        (
            r#"<joint name="j" type="slide" axis="1 0 0"/>"#,
            r#"<general joint="j" biastype="affine" biasprm="0 -30 -2" forcelimited="true" forcerange="-99 99"/>"#,
        ),
    ];
    let h = 0.04;
    for integrator in Integrator::ALL {
        for (joint, actuator) in parts {
            let model = model(&format!(
                r#"<mujoco><option gravity="0 0 0"/><worldbody><body>{joint}
                <inertial pos="0 0 0" mass="1.5" diaginertia="1 1 1"/></body></worldbody>
                <actuator>{actuator}</actuator></mujoco>"#
            ));
            let states = run(&mut batch(&model, integrator, "auto", h), at(&[0.2], &[-0.7]), 20);
            let mut expected = [0.2, -0.7];
            for state in states {
                expected = oscillator(expected, [1.5, 30.0, 2.0, h], weights(integrator));
                let found = [state.q[0], state.v[0]];
                let off = (found[0] - expected[0]).abs().max((found[1] - expected[1]).abs());
                assert!(off < 1e-11, "{}, {actuator}: {found:?}, not {expected:?}", integrator.name());
            }
        }
    }
}

/// A body of three different moments of inertia, its frame at its centre.
const STONE: &str = r#"<mujoco><option gravity="0 0 0"/><worldbody><body><freejoint/>
  <inertial pos="0 0 0" mass="3.2" fullinertia="0.05 0.075 0.04 0.006 -0.004 0.009"/></body></worldbody></mujoco>"#;

/// `w I w / 2`, and `|I w|`.
fn spin(w: &[f64]) -> [f64; 2] {
    let l = [
        0.05 * w[0] + 0.006 * w[1] - 0.004 * w[2],
        0.006 * w[0] + 0.075 * w[1] + 0.009 * w[2],
        -0.004 * w[0] + 0.009 * w[1] + 0.04 * w[2],
    ];
    [0.5 * (0..3).map(|k| w[k] * l[k]).sum::<f64>(), l.iter().map(|x| x * x).sum::<f64>().sqrt()]
}

#[test]
fn midpoint_keeps_the_energy_and_spin_of_a_tumbling_body() {
    let drift = |integrator| {
        let start = at(&[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], &[0.0, 0.0, 0.0, 2.0, 5.0, -3.0]);
        let first = spin(&start.v[3..]);
        // 0.06 rad a step.
        let states = run(&mut batch(&model(STONE), integrator, "auto", 0.01), start, 1000);
        let off = |of: usize| states.iter().map(|s| (spin(&s.v[3..])[of] / first[of] - 1.0).abs()).fold(0.0, f64::max);
        [off(0), off(1)]
    };
    // Both are quadratic in w, and the rule keeps what is; what Newton steps leave adds up over a thousand of them.
    let [energy, momentum] = drift(Integrator::Midpoint);
    assert!(energy < 1e-8 && momentum < 1e-8, "{energy}, {momentum}");
    assert!(drift(Integrator::ImplicitEuler)[0] > 1e-3);
    assert!(drift(Integrator::SymplecticEuler)[0] > 1e-3);
}

/// Hinges, a ball and a slide on a spring, far from equilibrium.
const CHAIN: &str = r#"<mujoco><worldbody>
  <body name="upper" pos="0 0 2"><joint type="hinge" axis="0 1 0" armature="0.01"/>
    <inertial pos="0.2 0.02 0" mass="1.5" diaginertia="0.01 0.02 0.015"/>
    <body name="middle" pos="0.4 0 0"><joint type="ball" stiffness="0.5" damping="0.01"/>
      <inertial pos="0.15 0 0.03" mass="0.8" diaginertia="0.004 0.01 0.009"/>
      <body name="lower" pos="0.3 0 0"><joint type="slide" axis="0.6 0 0.8" stiffness="40" damping="0.3"/>
        <inertial pos="0.1 0 0" mass="0.5" diaginertia="0.002 0.004 0.004"/></body></body></body>
</worldbody></mujoco>"#;

/// How fast the error at 0.4 s falls when the step is halved, as an exponent.
fn order(integrator: Integrator) -> f64 {
    let model = model(CHAIN);
    let end = |integrator, n: usize| {
        let start = at(&[0.3, 1.0, 0.0, 0.0, 0.0, 0.1], &[1.0, -0.5, 0.4, 0.8, 0.3]);
        let states = run(&mut batch(&model, integrator, "auto", 0.4 / n as f64), start, n);
        let last = states.last().expect("a step").clone();
        [last.q, last.v].concat()
    };
    // The reference is far finer than what it is compared with.
    let reference = end(Integrator::Midpoint, 6400);
    let error = |n: usize| {
        let off = end(integrator, n).iter().zip(&reference).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
        off.sqrt()
    };
    (error(100) / error(200)).log2()
}

#[test]
fn midpoint_is_of_second_order_and_the_others_of_first() {
    for integrator in Integrator::ALL {
        let expected = if integrator == Integrator::Midpoint { 2.0 } else { 1.0 };
        let found = order(integrator);
        assert!((found - expected).abs() < 0.1, "{}: order {found}", integrator.name());
    }
}

/// The paper's scene, with its friction and another.
fn spring_cylinder(integrator: Integrator, friction: f64, h: f64, seconds: f64) -> Vec<State> {
    let model = load("spring-cylinder", &ImportOptions::default()).expect("the scene").model;
    let mut batch = batch(&model, integrator, "sap", h);
    let geom = model.geoms.iter().position(|geom| geom.name == "cylinder").expect("its geom");
    batch.set_geom(0, geom, GeomParameter::Friction, &[friction]).expect("friction");
    let start = at(&model.keyframes[0].q, &[0.0; 3]);
    run(&mut batch, start, (seconds / h).round() as usize)
}

/// kg, N/m, kg m^2, and m from the spring's rest at the start.
const MASS: f64 = 0.5;
const SPRING: f64 = 100.0;
const INERTIA: f64 = 6.25e-4;
const AWAY: f64 = 0.1;

/// Of the motion along the ground and about the axis; the height does not change.
fn energy(state: &State) -> f64 {
    let (x, v, w) = (state.q[0], state.v[0], state.v[2]);
    0.5 * (SPRING * x * x + MASS * v * v + INERTIA * w * w)
}

/// Peak to peak, of the energy at the start.
fn band(states: &[State]) -> f64 {
    let start = 0.5 * SPRING * AWAY * AWAY;
    let (low, high) = states.iter().map(energy).fold((start, start), |(l, h), e| (e.min(l), e.max(h)));
    (high - low) / start
}

#[test]
fn without_friction_midpoint_keeps_energy_and_symplectic_euler_a_band() {
    let h = 0.02;
    let kept = band(&spring_cylinder(Integrator::Midpoint, 0.0, h, 5.0));
    assert!(kept < 1e-13, "{kept}");
    // Symplectic Euler keeps E - h k x v / 2, an ellipse on which E swings between 1 / (1 + h w / 2) and 1 / (1 - h w / 2).
    let half = 0.5 * h * (SPRING / MASS).sqrt();
    let expected = 1.0 / (1.0 - half) - 1.0 / (1.0 + half);
    let found = band(&spring_cylinder(Integrator::SymplecticEuler, 0.0, h, 60.0));
    assert!((found - expected).abs() < 1e-3 && (found - 0.28).abs() < 0.01, "{found}, not {expected}");
    // Implicit Euler divides E by 1 + (h w)^2 a step, exactly.
    let states = spring_cylinder(Integrator::ImplicitEuler, 0.0, h, 1.0);
    let expected = (1.0 + (h * h) * SPRING / MASS).powi(-50);
    let found = energy(&states[49]) / (0.5 * SPRING * AWAY * AWAY);
    assert!((found - expected).abs() < 1e-10, "{found}, not {expected}");
}

/// The cylinder rolls on the points midway between the surfaces.
const ROLLING: f64 = 0.05 - 0.5 * 4.905e-4;

#[test]
fn with_friction_midpoint_loses_what_the_regularised_friction_takes() {
    let (h, seconds) = (0.02, 5.0);
    let states = spring_cylinder(Integrator::Midpoint, 1.0, h, seconds);
    let found = band(&states);
    assert!(found < 1.6e-3, "{found}");
    // Each of two contacts creeps by R_t times its impulse, R_t = 1e-3 |W|_F / 3 with W = diag(1/m + R^2 / I, 0, 1/m)
    // (Castro 2022, section V): the power is the sum of R_t h f^2, f = (I / R^2) x''.
    let rigid = INERTIA / ROLLING.powi(2);
    let (along, normal) = (1.0 / MASS + 1.0 / rigid, 1.0 / MASS);
    let creep = 1e-3 * (along * along + normal * normal).sqrt() / 3.0;
    let rate = SPRING / (MASS + rigid);
    // The mean of cos^2 is a half.
    let force = 0.5 * (rigid * rate * AWAY).powi(2);
    let expected = seconds * 0.5 * creep * h * force / (0.5 * SPRING * AWAY * AWAY);
    assert!((found / expected - 1.0).abs() < 0.1, "{found}, not {expected}");
}

#[test]
fn with_friction_midpoint_is_of_second_order() {
    let seconds = 5.0;
    let rate = (SPRING / (MASS + INERTIA / ROLLING.powi(2))).sqrt();
    let error = |integrator, h: f64| {
        let states = spring_cylinder(integrator, 1.0, h, seconds);
        let off = |(i, s): (usize, &State)| (s.q[0] - AWAY * (rate * (i + 1) as f64 * h).cos()).powi(2);
        (states.iter().enumerate().map(off).sum::<f64>() / states.len() as f64).sqrt()
    };
    let steps = [0.01, 0.005, 0.0025];
    let order = |integrator| {
        let errors = steps.map(|h| error(integrator, h));
        [(errors[0] / errors[1]).log2(), (errors[1] / errors[2]).log2()]
    };
    for found in order(Integrator::Midpoint) {
        assert!((found - 2.0).abs() < 0.05, "{found}");
    }
    assert!((order(Integrator::SymplecticEuler)[1] - 1.0).abs() < 0.15);
    // Ten periods at these steps take most of the energy: the exponent is on its way to 1.
    assert!(error(Integrator::ImplicitEuler, 0.0025) > 20.0 * error(Integrator::SymplecticEuler, 0.0025));
    assert!((2.0 * PI / rate / 0.02 - 27.0).abs() < 1.0, "the paper counts 27 steps a period");
}

#[test]
fn a_box_lands_and_rests_under_every_rule() {
    let model = load("free-box", &ImportOptions::default()).expect("the scene").model;
    for integrator in Integrator::ALL {
        for solver in ["auto", "canal", "sap", "subadmm"] {
            let mut batch = batch(&model, integrator, solver, 0.005);
            (0..500).for_each(|_| batch.step::<f64>(&[]).expect("a step"));
            let mut worlds = Vec::new();
            batch.summaries(&mut worlds).expect("summaries");
            let state = batch.state(0).expect("a state");
            let speed = state.v.iter().fold(0.0f64, |most, v| most.max(v.abs()));
            let name = integrator.name();
            assert!(
                speed < 1e-3 && worlds[0].contacts == 4,
                "{name}, {solver}: {speed}, {} contacts",
                worlds[0].contacts
            );
            assert!(worlds[0].penetration < 1e-3 && !worlds[0].failed(), "{name}, {solver}");
        }
    }
}

#[test]
fn derivatives_of_other_rules_are_refused() {
    let model = load("hopper", &ImportOptions::default()).expect("the scene").model;
    for integrator in Integrator::ALL {
        match batch(&model, integrator, "auto", 0.002).keep_steps(true) {
            Ok(()) => assert_eq!(integrator, Integrator::LinearlyImplicit),
            Err(Error::Option { option, found, .. }) => {
                assert_eq!((option, &*found), ("integrator", integrator.name()))
            }
            Err(other) => panic!("{other}"),
        }
    }
}
