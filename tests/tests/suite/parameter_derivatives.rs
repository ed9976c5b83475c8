//! Derivatives of steps by parameters of the model against central differences of the steps.

use manyworlds::tangent::between;
use manyworlds::{
    Batch, BatchOptions, Error, Executor, GeomParameter, GradientRules, ImportOptions, Model, ModelParameter,
    Parameter, Precision, State, random,
};

/// One of each contact model.
const SOLVERS: [&str; 3] = ["auto", "sap", "dantzig"];

fn precise(solver: &str) -> BatchOptions {
    let mut options = BatchOptions {
        executor: Executor::Cpu,
        precision: Precision::F64,
        // Of SAP the gradient, relative to the momenta.
        tolerance: if solver == "sap" { 1e-15 } else { 1e-13 },
        iterations: 5000,
        solver: solver.into(),
        ..BatchOptions::default()
    };
    // What rests has no kink then.
    options.stabilisation.fraction = 1.0;
    options
}

fn load(scene: &str) -> Model {
    manyworlds::load(scene, &ImportOptions::default()).expect("a scene").model
}

/// What a test sets: a parameter and its numbers.
type Set = dyn Fn(&mut Batch, &[f64]);

/// The largest error of the derivative by a parameter with the given values, over the largest entry, at a state.
fn error(solver: &str, model: &Model, state: &State, parameter: ModelParameter, values: &[f64], set: &Set) -> f64 {
    let size = values.iter().fold(0.0, |l: f64, x| l.max(x.abs()));
    error_within(solver, model, state, parameter, values, set, 1e-5 * if size > 0.0 { size } else { 1.0 })
}

/// The same by differences of values so far to either side.
fn error_within(
    solver: &str,
    model: &Model,
    state: &State,
    parameter: ModelParameter,
    values: &[f64],
    set: &Set,
    e: f64,
) -> f64 {
    let along = |k: usize| {
        move |values: &[f64], by: f64| {
            let mut changed = values.to_vec();
            changed[k] += by;
            changed
        }
    };
    let alone = |k: usize| {
        let mut tangent = vec![0.0; values.len()];
        tangent[k] = 1.0;
        tangent
    };
    let curves: Vec<_> = (0..values.len()).map(along).collect();
    let curves: Vec<_> = curves.iter().enumerate().map(|(k, curve)| (curve as &Curve, alone(k))).collect();
    error_along(solver, model, state, parameter, values, set, &curves, e)
}

/// Values of a parameter some way along a curve.
type Curve = dyn Fn(&[f64], f64) -> Vec<f64>;

/// The largest error of the derivative by a parameter along curves through its values, each with its tangent there.
fn error_along(
    solver: &str,
    model: &Model,
    state: &State,
    parameter: ModelParameter,
    values: &[f64],
    set: &Set,
    curves: &[(&Curve, Vec<f64>)],
    e: f64,
) -> f64 {
    let mut batch = Batch::new(&[(model, 1)], &precise(solver)).expect("a batch");
    let mut after = |values: &[f64]| {
        set(&mut batch, values);
        batch.reset(&[(0, state.clone())]).expect("a reset");
        batch.step::<f64>(&[]).expect("a step");
        batch.state(0).expect("a state")
    };
    let mut differences = Vec::new();
    for (curve, _) in curves {
        let [up, down] = [e, -e].map(|by| after(&curve(values, by)));
        let dq = between(model, &down.q, &up.q).into_iter().map(|x| x / (2.0 * e));
        let dv = up.v.iter().zip(&down.v).map(|(up, down)| (up - down) / (2.0 * e));
        differences.push((dq.collect::<Vec<_>>(), dv.collect::<Vec<_>>()));
    }
    let mut batch = Batch::new(&[(model, 1)], &precise(solver)).expect("a batch");
    set(&mut batch, values);
    batch.reset(&[(0, state.clone())]).expect("a reset");
    batch.keep_steps(true).expect("double precision");
    batch.step::<f64>(&[]).expect("a step");
    let found = batch.parameter_derivatives(0, &[parameter]).expect("derivatives");
    assert!(found.certificate.valid() && found.certificate.margin > 1e-4, "{:?}", found.certificate);
    assert_eq!(found.columns.len(), values.len());
    let (mut worst, mut scale) = (0.0_f64, 0.0_f64);
    for ((_, tangent), (dq, dv)) in curves.iter().zip(&differences) {
        let sum = |of: &dyn Fn(usize) -> f64| tangent.iter().enumerate().map(|(k, t)| t * of(k)).sum::<f64>();
        let q = (0..dq.len()).map(|i| sum(&|k| found.columns[k].q[i])).zip(dq);
        let v = (0..dv.len()).map(|i| sum(&|k| found.columns[k].v[i])).zip(dv);
        for (found, expected) in q.chain(v) {
            assert!(found.is_finite());
            worst = worst.max((found - expected).abs());
            scale = scale.max(expected.abs());
        }
    }
    assert!(scale > 1e-9, "{parameter:?} does nothing");
    worst / scale
}

/// A state of a run with controls whose step is away from switches and has at least `acting` contacts with force.
fn calm(solver: &str, model: &Model, acting: usize) -> State {
    let mut batch = Batch::new(&[(model, 1)], &precise(solver)).expect("a batch");
    batch.keep_steps(true).expect("double precision");
    let n = model.actuators.len();
    for step in 0..600 {
        let state = batch.state(0).expect("a state");
        let controls: Vec<f64> = (0..n).map(|k| 0.3 * random::symmetric(3, 0, step / 10, k as u64)).collect();
        batch.step(&controls).expect("a step");
        let found = batch.jacobian(0).expect("a derivative");
        let contacts = batch.inspect(0).expect("a world").contacts;
        let count = contacts.iter().filter(|c| c.impulse != [0.0; 3]).count();
        if step > 20 && count >= acting && found.certificate.valid() && found.certificate.margin > 5e-3 {
            return State { ctrl: controls, ..state };
        }
    }
    panic!("no calm state of {}", model.name);
}

#[test]
fn inertial_and_joint_parameters() {
    use Parameter as P;
    let scenes = [("half-cheetah", 4, 1), ("quadruped", 3, 2), ("arm7", 2, 0)];
    for (solver, (scene, tree_joint, acting)) in SOLVERS.into_iter().flat_map(|solver| scenes.map(|own| (solver, own)))
    {
        let model = load(scene);
        let state = calm(solver, &model, acting);
        let mut batch = Batch::new(&[(&model, 1)], &precise(solver)).expect("a batch");
        let (body, joint) = (2, tree_joint);
        let mut all = vec![
            P::Gravity,
            P::BodyMass(body),
            P::BodyCom(body),
            P::BodyInertia(body),
            P::JointDamping(joint),
            P::JointArmature(joint),
            P::ActuatorGain(1),
        ];
        if scene == "half-cheetah" {
            all.extend([P::JointStiffness(joint), P::JointSpringReference(joint)]);
        }
        if scene == "arm7" {
            all.push(P::ActuatorBias(1));
        }
        for parameter in all {
            let values = batch.parameter(0, 0, parameter).expect("a parameter");
            let set = move |batch: &mut Batch, values: &[f64]| {
                batch.set_parameter(0, 0, parameter, values).expect("a parameter");
            };
            let of = ModelParameter::Tree { tree: 0, parameter };
            // Impulses of compliant contacts are large: closer differences are lost in their rounding.
            let size = values.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
            let e = 1e-4 * if size > 0.0 { size } else { 1.0 };
            let found = error_within(solver, &model, &state, of, &values, &set, e);
            println!("{solver}, {scene}, {parameter:?}: {found:.1e}");
            assert!(found < 1e-6, "{solver}, {scene}, {parameter:?}: {found:.1e}");
        }
    }
}

#[test]
fn a_lone_body() {
    let solver = "auto";
    use Parameter as P;
    let model = load("free-box");
    let q = vec![0.0, 0.0, 1.0, 0.9, 0.1, 0.3, 0.2];
    let state =
        State { q, v: vec![1.0, 0.5, 0.2, 2.0, 3.0, -4.0], tau: vec![0.3; 6], ctrl: Vec::new(), act: Vec::new() };
    let set_com = |batch: &mut Batch, values: &[f64]| {
        // Off the origin, so that everything is coupled.
        batch.set_parameter(0, 0, P::BodyCom(0), &[0.02, -0.03, 0.01]).expect("a parameter");
        batch.set_parameter(0, 0, P::BodyInertia(0), &[0.01, 0.02, 0.015, 1e-3, 2e-3, -1e-3]).expect("a parameter");
        batch.set_parameter(0, 0, P::BodyMass(0), &[1.0]).expect("a parameter");
        assert!(!values.is_empty());
    };
    let cases: [(Parameter, &[f64]); 3] = [
        (P::BodyMass(0), &[1.0]),
        (P::BodyCom(0), &[0.02, -0.03, 0.01]),
        (P::BodyInertia(0), &[0.01, 0.02, 0.015, 1e-3, 2e-3, -1e-3]),
    ];
    for (parameter, values) in cases {
        let set = move |batch: &mut Batch, values: &[f64]| {
            set_com(batch, values);
            batch.set_parameter(0, 0, parameter, values).expect("a parameter");
        };
        let found = error(solver, &model, &state, ModelParameter::Tree { tree: 0, parameter }, values, &set);
        println!("{parameter:?}: {found:.1e}");
        assert!(found < 1e-6, "{parameter:?}: {found:.1e}");
    }
}

#[test]
fn friction_and_restitution() {
    SOLVERS.into_iter().for_each(friction_and_restitution_under);
}

fn friction_and_restitution_under(solver: &str) {
    let model = load("free-box");
    let both = |parameter: GeomParameter| {
        move |batch: &mut Batch, values: &[f64]| {
            (0..2).for_each(|geom| batch.set_geom(0, geom, parameter, values).expect("a geom"));
        }
    };
    // On one corner, tilted about one axis and the other: it slides, and bounces.
    let turn = turn_of(0.3, 0.2);
    let low: f64 = turn.1.iter().map(|x| 0.1 * x.abs()).sum();
    let q = [vec![0.0, 0.0, low - 1e-4], turn.0.to_vec()].concat();
    let sliding = State { q: q.clone(), v: vec![0.5, 1.0, -0.1, 0.0, 0.0, 0.0], ..State::default() };
    let geoms = [0, 1];
    let found =
        error(solver, &model, &sliding, ModelParameter::Friction { geoms }, &[0.3], &both(GeomParameter::Friction));
    assert!(found < 1e-6, "{solver}, friction: {found:.1e}");
    let falling = State { q, v: vec![0.5, 1.0, -1.0, 0.0, 0.0, 0.0], ..State::default() };
    let of = ModelParameter::Restitution { geoms: [1, 0] };
    let found = error(solver, &model, &falling, of, &[0.4], &both(GeomParameter::Restitution));
    assert!(found < 1e-6, "{solver}, restitution: {found:.1e}");
}

#[test]
fn frames_of_links_and_joints() {
    use Parameter as P;
    let scenes = [("half-cheetah", 4, 1), ("quadruped", 3, 2), ("arm7", 2, 0)];
    for (solver, (scene, joint, acting)) in SOLVERS.into_iter().flat_map(|solver| scenes.map(|own| (solver, own))) {
        let model = load(scene);
        let state = calm(solver, &model, acting);
        let mut batch = Batch::new(&[(&model, 1)], &precise(solver)).expect("a batch");
        for parameter in [P::BodyPosition(2), P::JointAnchor(joint), P::JointReference(joint)] {
            let values = batch.parameter(0, 0, parameter).expect("a parameter");
            let set = move |batch: &mut Batch, values: &[f64]| {
                batch.set_parameter(0, 0, parameter, values).expect("a parameter");
            };
            let found = error(solver, &model, &state, ModelParameter::Tree { tree: 0, parameter }, &values, &set);
            println!("{solver}, {scene}, {parameter:?}: {found:.1e}");
            assert!(found < 1e-6, "{solver}, {scene}, {parameter:?}: {found:.1e}");
        }
    }
}

/// Turned about an axis of the turned frame: `p * (cos, axis sin)`, half the angle.
fn turned(p: &[f64], axis: usize, angle: f64) -> Vec<f64> {
    let (sin, cos) = (0.5 * angle).sin_cos();
    let mut r = [0.0; 3];
    r[axis] = sin;
    let [w, x, y, z] = [p[0], p[1], p[2], p[3]];
    vec![
        w * cos - x * r[0] - y * r[1] - z * r[2],
        w * r[0] + x * cos + y * r[2] - z * r[1],
        w * r[1] + y * cos + z * r[0] - x * r[2],
        w * r[2] + z * cos + x * r[1] - y * r[0],
    ]
}

/// Tilted by an angle towards the entry after `towards` and away from that, its length kept.
fn tilted(axis: &[f64], towards: usize, angle: f64) -> Vec<f64> {
    let (i, j, (sin, cos)) = (towards, (towards + 1) % 3, angle.sin_cos());
    let mut out = axis.to_vec();
    (out[i], out[j]) = (cos * axis[i] - sin * axis[j], sin * axis[i] + cos * axis[j]);
    out
}

/// Along turns, which keep the length of quaternions and axes.
#[test]
fn orientations_and_axes() {
    use Parameter as P;
    let scenes = [("half-cheetah", 4, 1), ("quadruped", 3, 2), ("arm7", 2, 0)];
    for (solver, (scene, joint, acting)) in SOLVERS.into_iter().flat_map(|solver| scenes.map(|own| (solver, own))) {
        let model = load(scene);
        let state = calm(solver, &model, acting);
        let mut batch = Batch::new(&[(&model, 1)], &precise(solver)).expect("a batch");
        // Tilted either way, a planar robot's axes do the same in its plane: there is no slope.
        let all = if scene == "half-cheetah" {
            vec![P::BodyOrientation(2)]
        } else {
            vec![P::BodyOrientation(2), P::JointAxis(joint)]
        };
        for parameter in all {
            let values = batch.parameter(0, 0, parameter).expect("a parameter");
            let set = move |batch: &mut Batch, values: &[f64]| {
                batch.set_parameter(0, 0, parameter, values).expect("a parameter");
            };
            let quaternion = values.len() == 4;
            let change = if quaternion { turned } else { tilted };
            let curves = [0, 1, 2].map(|k| move |values: &[f64], angle: f64| change(values, k, angle));
            let curves = [0, 1, 2].map(|k| {
                let tangent = if quaternion {
                    // Of `p cos(a / 2) + p * axis sin(a / 2)`, whose second part is a turn by pi.
                    turned(&values, k, std::f64::consts::PI).into_iter().map(|x| 0.5 * x).collect()
                } else {
                    let mut tangent = vec![0.0; 3];
                    (tangent[k], tangent[(k + 1) % 3]) = (-values[(k + 1) % 3], values[k]);
                    tangent
                };
                (&curves[k] as &Curve, tangent)
            });
            let of = ModelParameter::Tree { tree: 0, parameter };
            let found = error_along(solver, &model, &state, of, &values, &set, &curves, 1e-5);
            println!("{solver}, {scene}, {parameter:?}: {found:.1e}");
            assert!(found < 1e-6, "{solver}, {scene}, {parameter:?}: {found:.1e}");
        }
    }
}

#[test]
fn ranges_of_joints() {
    for (solver, (scene, joint, acting)) in [
        ("auto", ("half-cheetah", 7, 1)),
        ("auto", ("hopper", 4, 1)),
        ("auto", ("arm7", 2, 0)),
        ("sap", ("half-cheetah", 7, 1)),
    ] {
        let model = load(scene);
        let state = calm(solver, &model, acting);
        // A little beyond its upper end, or its lower; by less than what is undone in a step.
        let (parameter, depth) = (Parameter::JointRange(joint), 0.05 * model.options.timestep);
        let both = [[-3.0, state.q[joint] - depth], [state.q[joint] + depth, 3.0]];
        // The arm's drive pulls off its lower end.
        for range in both.into_iter().take(if scene == "arm7" { 1 } else { 2 }) {
            let set = move |batch: &mut Batch, values: &[f64]| {
                batch.set_parameter(0, 0, parameter, values).expect("a range");
            };
            let mut state = state.clone();
            // Towards the end, so that it acts.
            state.v[joint] = if range[0] == -3.0 { 0.5 } else { -0.5 };
            let of = ModelParameter::Tree { tree: 0, parameter };
            // Velocities follow by this over a time step: less than the margin that is asked for.
            let e = 0.02 * model.options.timestep * 1e-3;
            let found = error_within(solver, &model, &state, of, &range, &set, e);
            println!("{solver}, {scene}, {range:?}: {found:.1e}");
            assert!(found < 1e-6, "{solver}, {scene}, {range:?}: {found:.1e}");
        }
    }
}

#[test]
fn ranges_of_controls() {
    for (solver, (scene, acting)) in
        SOLVERS.into_iter().flat_map(|solver| [("half-cheetah", 1), ("hopper", 1)].map(|own| (solver, own)))
    {
        let model = load(scene);
        let mut state = calm(solver, &model, acting);
        let parameter = Parameter::ActuatorControlRange(1);
        let set = move |batch: &mut Batch, values: &[f64]| {
            batch.set_parameter(0, 0, parameter, values).expect("a range");
        };
        // More than the upper end, less than the lower.
        for (ctrl, range) in [(0.3, [-0.5, 0.2]), (-0.3, [-0.1, 0.4])] {
            state.ctrl[1] = ctrl;
            let of = ModelParameter::Tree { tree: 0, parameter };
            let found = error(solver, &model, &state, of, &range, &set);
            println!("{solver}, {scene}, {ctrl} in {range:?}: {found:.1e}");
            assert!(found < 1e-6, "{solver}, {scene}, {ctrl} in {range:?}: {found:.1e}");
        }
    }
}

#[test]
fn time_step_and_correction() {
    for (scene, acting, solver) in [
        ("half-cheetah", 1, "auto"),
        ("quadruped", 2, "auto"),
        ("arm7", 0, "auto"),
        ("hopper", 1, "sap"),
        ("half-cheetah", 1, "sap"),
    ] {
        let model = load(scene);
        let state = calm(solver, &model, acting);
        let h = model.options.timestep;
        let set = |batch: &mut Batch, values: &[f64]| {
            (0..1).for_each(|tree| batch.set_parameter(0, tree, Parameter::Timestep, values).expect("a time step"));
        };
        let found = error(solver, &model, &state, ModelParameter::Every(Parameter::Timestep), &[h], &set);
        println!("{solver}, {scene}, time step: {found:.1e}");
        assert!(found < 1e-6, "{solver}, {scene}, time step: {found:.1e}");
    }
    // A box with a corner in the floor by 1 mm, of which a part is undone.
    let model = load("free-box");
    let turn = turn_of(0.3, 0.2);
    let low: f64 = turn.1.iter().map(|x| 0.1 * x.abs()).sum();
    let q = [vec![0.0, 0.0, low - 1e-3], turn.0.to_vec()].concat();
    let state = State { q, v: vec![0.5, 1.0, -0.1, 0.3, 0.0, 0.0], ..State::default() };
    let set = |batch: &mut Batch, values: &[f64]| {
        batch.set_parameter(0, 0, Parameter::CorrectionFraction, values).expect("a fraction");
    };
    let of = ModelParameter::Every(Parameter::CorrectionFraction);
    let found = error("auto", &model, &state, of, &[0.2], &set);
    assert!(found < 1e-6, "fraction: {found:.1e}");
}

#[test]
fn sizes_of_shapes() {
    SOLVERS.into_iter().for_each(sizes_under);
}

fn sizes_under(solver: &str) {
    // On one corner, tilted about one axis and the other.
    let model = load("free-box");
    let turn = turn_of(0.3, 0.2);
    let half = [0.1, 0.1, 0.1];
    let low: f64 = (0..3).map(|k| half[k] * turn.1[k].abs()).sum();
    let q = [vec![0.0, 0.0, low - 1e-4], turn.0.to_vec()].concat();
    let state = State { q, v: vec![0.5, 1.0, -0.1, 0.3, 0.0, 0.0], ..State::default() };
    let geom = model.geoms.iter().position(|geom| geom.body > 0).expect("a box");
    let set = move |batch: &mut Batch, values: &[f64]| {
        batch.set_geom(0, geom, GeomParameter::Size, values).expect("sizes");
    };
    let found = error(solver, &model, &state, ModelParameter::Size { geom }, &half, &set);
    println!("{solver}, box: {found:.1e}");
    assert!(found < 1e-6, "{solver}, box: {found:.1e}");
    // A foot of a robot.
    let model = load("half-cheetah");
    let state = calm(solver, &model, 1);
    let mut batch = Batch::new(&[(&model, 1)], &precise(solver)).expect("a batch");
    batch.reset(&[(0, state.clone())]).expect("a reset");
    batch.step::<f64>(&[]).expect("a step");
    let contacts = batch.inspect(0).expect("a world").contacts;
    let foot = contacts.iter().find(|c| c.impulse != [0.0; 3]).expect("a foot on the floor");
    let geom = foot.geoms.into_iter().find(|&geom| model.geoms[geom].body > 0).expect("a foot");
    let manyworlds::model::Shape::Capsule { radius, half_length } = model.geoms[geom].shape else {
        panic!("feet are capsules")
    };
    let set = move |batch: &mut Batch, values: &[f64]| {
        batch.set_geom(0, geom, GeomParameter::Size, values).expect("sizes");
    };
    let found = error(solver, &model, &state, ModelParameter::Size { geom }, &[radius, half_length], &set);
    println!("{solver}, capsule: {found:.1e}");
    assert!(found < 1e-6, "{solver}, capsule: {found:.1e}");
}

/// Islands too large for elimination take the same right-hand sides to another solver.
#[test]
fn parameters_by_iterations_are_those_by_elimination() {
    let model = load("half-cheetah");
    for solver in SOLVERS {
        let state = calm(solver, &model, 1);
        let mut batch = Batch::new(&[(&model, 1)], &precise(solver)).expect("a batch");
        batch.keep_steps(true).expect("double precision");
        batch.reset(&[(0, state)]).expect("a reset");
        batch.step::<f64>(&[]).expect("a step");
        let contacts = batch.inspect(0).expect("a world").contacts;
        let geoms = contacts.iter().find(|c| c.impulse != [0.0; 3]).expect("a foot on the floor").geoms;
        let foot = geoms.into_iter().find(|&geom| model.geoms[geom].body > 0).expect("a foot");
        let of_tree = |parameter| ModelParameter::Tree { tree: 0, parameter };
        let all = [
            of_tree(Parameter::Gravity),
            of_tree(Parameter::BodyMass(2)),
            of_tree(Parameter::BodyPosition(2)),
            ModelParameter::Every(Parameter::Timestep),
            ModelParameter::Friction { geoms },
            ModelParameter::Restitution { geoms },
            ModelParameter::Size { geom: foot },
        ];
        let exact = batch.parameter_derivatives(0, &all).expect("derivatives");
        batch.set_gradient_rules(GradientRules { largest_dense: 0, ..GradientRules::default() });
        let found = batch.parameter_derivatives(0, &all).expect("derivatives");
        assert!(found.certificate.valid(), "{solver}: {:?}", found.certificate);
        assert!(exact.certificate.iterated == 0 && found.certificate.iterations > 0, "{solver}");
        for (column, (exact, found)) in exact.columns.iter().zip(&found.columns).enumerate() {
            let pairs = || exact.q.iter().chain(&exact.v).zip(found.q.iter().chain(&found.v));
            let largest = pairs().fold(0.0, |most: f64, (exact, _)| most.max(exact.abs()));
            let worst = pairs().fold(0.0, |most: f64, (exact, found)| most.max((exact - found).abs()));
            assert!(worst <= 1e-9 * largest, "{solver}, column {column}: {worst:.1e} of {largest:.1e}");
        }
    }
}

/// A turn about x, then about y: quaternion, and the world's z in its axes.
fn turn_of(about_x: f64, about_y: f64) -> ([f64; 4], [f64; 3]) {
    let (sx, cx, sy, cy) = ((0.5 * about_x).sin(), (0.5 * about_x).cos(), (0.5 * about_y).sin(), (0.5 * about_y).cos());
    // q = q_y q_x; z of the world in the box's axes is the third row of its matrix.
    let z = [-about_y.sin(), about_y.cos() * about_x.sin(), about_y.cos() * about_x.cos()];
    ([cy * cx, cy * sx, sy * cx, -sy * sx], z)
}

#[test]
fn what_has_no_derivative_is_refused() {
    let model = load("hopper");
    let mut batch = Batch::new(&[(&model, 1)], &precise("auto")).expect("a batch");
    batch.keep_steps(true).expect("double precision");
    batch.step::<f64>(&[]).expect("a step");
    let mut ask = |parameter| batch.parameter_derivatives(0, &[parameter]);
    let of = |tree, parameter| ModelParameter::Tree { tree, parameter };
    assert!(matches!(ask(of(0, Parameter::Timestep)), Err(Error::Parameter { .. })));
    assert!(matches!(ask(of(0, Parameter::BodyMass(99))), Err(Error::Parameter { .. })));
    assert!(matches!(ask(ModelParameter::Every(Parameter::BodyMass(0))), Err(Error::Parameter { .. })));
    assert!(matches!(ask(ModelParameter::Size { geom: 0 }), Err(Error::Parameter { .. })), "the floor has no size");
    assert!(matches!(ask(ModelParameter::Size { geom: 99 }), Err(Error::Index { what: "geom", .. })));
    assert!(matches!(ask(of(1, Parameter::BodyMass(0))), Err(Error::Index { what: "tree", .. })));
    assert!(matches!(ask(ModelParameter::Friction { geoms: [0, 99] }), Err(Error::Index { what: "geom", .. })));
    assert!(ask(of(0, Parameter::BodyMass(1))).is_ok());
}
