//! Steps that ask for what no motion gives, over many steps: bodies wedged between walls, inside a rail, at limits that
//! overlap, in a loop that cannot close. Each has an answer that stays where it is.

use std::path::Path;

use manyworlds::model::from_mjcf_str;
use manyworlds::{
    Batch, BatchOptions, Executor, FieldId, ImportOptions, Model, Precision, RelaxedOf, RoundTrips, State, Summary,
};
use manyworlds_tests::parity::device;

/// A box of 8 kg, 5 mm in the wall on either side, without friction.
const WALLS: &str = r#"
<geom type="box" size="0.1 1 1" pos="-0.195 0 1" friction="0"/><geom type="box" size="0.1 1 1" pos="0.195 0 1" friction="0"/>
<body pos="0 0 0.5"><freejoint/><geom type="box" size="0.1 0.1 0.1" density="1000" friction="0"/></body>"#;

/// A cart whose rail is inside it: it moves along the rail alone.
const CART: &str = r#"
<geom type="box" size="1 0.02 0.02"/>
<body><joint type="slide" axis="1 0 0"/><geom type="box" size="0.1 0.1 0.1" mass="2"/></body>"#;

/// Fingers on slides that overlap by 1 cm where their limits let them be.
const FINGERS: &str = r#"
<body pos="0 0 1"><joint type="slide" axis="1 0 0" limited="true" range="0 0.05"/>
<geom type="box" size="0.02 0.02 0.1" pos="-0.015 0 0"/></body>
<body pos="0 0 1"><joint type="slide" axis="1 0 0" limited="true" range="-0.05 0"/>
<geom type="box" size="0.02 0.02 0.1" pos="0.015 0 0"/></body>"#;

/// Two links that reach 1 mm less far than where their end is to be.
const LOOP: &str = r#"
<body pos="0 0 1"><joint type="hinge" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0.2 0 0" size="0.01"/>
<body name="end" pos="0.2 0 0"><joint type="hinge" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0.201 0 0" size="0.01"/>
</body></body>"#;

/// A rod on a ball joint at its end, which touches the base there, 2 cm deep: what turns it hardly moves that contact.
const JOINTED: &str = r#"
<body><geom type="capsule" size="0.01" fromto="0 0 0 0 0 0.1"/><body pos="0 0 0.1"><joint type="ball" damping="0.005"/>
<geom type="capsule" size="0.01" fromto="0 0 0 0 0.1 0.1"/><body pos="0 0.1 0.1"><joint type="ball" damping="0.005"/>
<geom type="capsule" size="0.01" fromto="0 0 0 0 0.1 0"/></body></body></body>"#;

/// An arm on a hinge, whose end is 2 cm in a wall across it: what parts them by 0.2 m/s is a turn at 40 rad/s.
const LATCH: &str = r#"
<geom type="plane" size="1 1 1" pos="1.08 0 0" zaxis="-1 0 0.005" friction="0"/>
<body gravcomp="1"><joint type="hinge" axis="0 1 0"/><geom pos="1 0 0" size="0.1" mass="1" friction="0"/></body>"#;

/// The same of two arms, end to end.
const LATCHES: &str = r#"
<body gravcomp="1"><joint type="hinge" axis="0 1 0"/><geom pos="1 0 0" size="0.1" mass="1" friction="0"/></body>
<body gravcomp="1" pos="2.18 0 0.0009"><joint type="hinge" axis="0 1 0"/>
<geom pos="-1 0 0" size="0.1" mass="1" friction="0"/></body>"#;

/// A ball that falls on a plane.
const BALL: &str = r#"<geom type="plane" size="1 1 1"/><body pos="0 0 1"><freejoint/><geom size="0.1"/></body>"#;

/// Steps in which every solver has seen that there is no answer; sweeps alone take some hundred.
const UNTIL_SEEN: usize = 400;

/// A box of 1 kg, half a millimetre in a wall and in another that can be taken away, with 10 t at it, which it drags along: as its
/// child, and beside it.
const DRAGGING: [(&str, &str); 2] = [
    (
        r#"<body gravcomp="1"><joint type="slide" axis="1 0 0"/><geom mass="10000" size="0.1" contype="0" conaffinity="0"/>
        <body gravcomp="1"><joint name="box" type="slide" axis="1 0 0"/><geom type="box" size="0.1 0.1 0.1" mass="1" friction="0"/>
        </body></body>"#,
        r#"<equality><joint joint1="box"/></equality>"#,
    ),
    (
        r#"<body gravcomp="1"><joint name="box" type="slide" axis="1 0 0"/><geom type="box" size="0.1 0.1 0.1" mass="1" friction="0"/>
        </body>
        <body gravcomp="1"><joint name="load" type="slide" axis="1 0 0"/><geom mass="10000" size="0.1" contype="0" conaffinity="0"/>
        </body>"#,
        r#"<equality><joint joint1="box" joint2="load"/></equality>"#,
    ),
];
const DRAGGED_FROM: &str = r#"<geom type="box" size="0.1 1 1" pos="-0.1995 0 0" friction="0"/>
<body mocap="true" pos="0.1995 0 0"><geom type="box" size="0.1 1 1" friction="0"/></body>"#;

const CLOSED: &str = r#"<equality><connect body1="end" anchor="0.202 0 0"/></equality>"#;

fn model(bodies: &str, equalities: &str) -> Model {
    let text = format!(
        "<mujoco><compiler angle=\"radian\"/><option timestep=\"0.002\"/><worldbody>{bodies}</worldbody>{equalities}</mujoco>"
    );
    let nothing = |path: &Path| Err(std::io::Error::other(format!("{}", path.display())));
    from_mjcf_str("test.xml", &text, &nothing, &ImportOptions::default()).expect("the model loads").model
}

fn batch(worlds: &[(&Model, usize)], precision: Precision) -> Batch {
    let options = BatchOptions { executor: Executor::Cpu, precision, ..Default::default() };
    Batch::new(worlds, &options).expect("the batch is made")
}

/// So many steps, all of them relaxed and certified; the last summaries.
fn wedged(batch: &mut Batch, steps: usize) -> Vec<Summary> {
    wedged_to(batch, steps, 1e-6)
}

/// The same with another tolerance.
fn wedged_to(batch: &mut Batch, steps: usize, tolerance: f64) -> Vec<Summary> {
    let mut all = Vec::new();
    for step in 0..steps {
        batch.step::<f64>(&[]).expect("a step");
        batch.summaries(&mut all).expect("summaries");
        for found in &all {
            let residual = found.residual.min(found.residual_scaled);
            assert!(found.status_name() == "relaxed" && residual <= tolerance, "step {step}: {found:?}");
        }
    }
    all
}

/// Next to nothing moves the contact of a jointed rod with its base: no kernel may call what it makes of that solved.
#[test]
fn contacts_that_nothing_moves_are_left_out() {
    for precision in [Precision::F64, Precision::F32] {
        let model = model(JOINTED, "");
        let mut batch = batch(&[(&model, 2)], precision);
        wedged(&mut batch, 300);
        let inspection = batch.inspect(0).expect("an inspection");
        assert!(inspection.relaxed.iter().all(|of| of.left_out), "{:?}", inspection.relaxed);
        let largest = inspection.contacts.iter().flat_map(|c| c.impulse).fold(0.0, |most: f64, x| most.max(x.abs()));
        assert!(largest < 1.0, "{precision:?}: {largest} N s");
    }
}

#[test]
fn between_walls_a_box_falls_and_is_not_thrown() {
    for precision in [Precision::F64, Precision::F32] {
        let model = model(WALLS, "");
        let mut batch = batch(&[(&model, 2)], precision);
        let steps = 100;
        let found = wedged(&mut batch, steps);
        let (state, inspection) = (batch.state(1).expect("a state"), batch.inspect(1).expect("an inspection"));
        // Nothing but gravity moves it: v = g t, and x = 0.
        let fallen = 9.81 * 0.002 * steps as f64;
        assert!((state.v[2] + fallen).abs() < 1e-4, "{precision:?}: {state:?}");
        assert!(state.q[0].abs() < 1e-6 && state.v[0].abs() < 1e-5, "{precision:?}: {state:?}");
        assert!((found[1].penetration - 0.005).abs() < 1e-5, "{:?}", found[1]);
        // Each wall gives way by all that it asks for.
        assert_eq!(inspection.relaxed.len(), inspection.contacts.len());
        for of in &inspection.relaxed {
            let RelaxedOf::Contact(contact) = of.of else { panic!("{of:?}") };
            assert!(contact < inspection.contacts.len() && !of.left_out && of.by > 0.1, "{of:?}");
        }
    }
}

#[test]
fn a_cart_inside_its_rail_rolls_on() {
    for precision in [Precision::F64, Precision::F32] {
        let model = model(CART, "");
        let mut batch = batch(&[(&model, 1)], precision);
        let mut state = batch.state(0).expect("a state");
        state.v[0] = 0.5;
        batch.reset(&[(0, state)]).expect("a state of the model");
        wedged(&mut batch, 100);
        let (state, inspection) = (batch.state(0).expect("a state"), batch.inspect(0).expect("an inspection"));
        // The contacts above and below are left out, so they do not rub.
        assert!((state.v[0] - 0.5).abs() < 1e-6 && (state.q[0] - 0.1).abs() < 1e-5, "{precision:?}: {state:?}");
        assert!(!inspection.relaxed.is_empty() && inspection.relaxed.iter().all(|of| of.left_out), "{inspection:?}");
    }
}

#[test]
fn fingers_that_overlap_at_their_limits_rest() {
    for precision in [Precision::F64, Precision::F32] {
        let model = model(FINGERS, "");
        let mut batch = batch(&[(&model, 3)], precision);
        let found = wedged(&mut batch, 300);
        let state = batch.state(2).expect("a state");
        assert!(state.q.iter().chain(&state.v).all(|x| x.abs() < 1e-5), "{precision:?}: {state:?}");
        assert!((found[2].penetration - 0.01).abs() < 1e-5, "{:?}", found[2]);
    }
}

/// It hangs as far open as it must and swings no wilder than gravity makes it.
#[test]
fn a_loop_that_cannot_close_stays_bounded() {
    let model = model(LOOP, CLOSED);
    let mut batch = batch(&[(&model, 1)], Precision::F64);
    let mut all = Vec::new();
    for step in 0..500 {
        batch.step::<f64>(&[]).expect("a step");
        batch.summaries(&mut all).expect("summaries");
        assert!(!all[0].failed() && all[0].residual <= 1e-6, "step {step}: {:?}", all[0]);
        let state = batch.state(0).expect("a state");
        assert!(state.q.iter().all(|q| q.abs() < 0.05) && state.v.iter().all(|v| v.abs() < 1.0), "{step}: {state:?}");
    }
}

/// Whichever solver is asked: kernels see that their impulses grow without end, and hand over to the host. Friction pyramids do
/// not change what can be met.
#[test]
fn every_solver_has_an_answer() {
    let hand =
        format!(r#"<body><joint type="slide" axis="0 0 1" stiffness="1e4"/><geom size="0.01"/>{FINGERS}</body>"#);
    for (what, bodies) in [("an island of two trees", FINGERS), ("a tree", &hand)] {
        let model = model(bodies, "");
        for solver in ["newton", "pgs", "subadmm", "canal", "newton-cr", "dantzig"] {
            for precision in [Precision::F64, Precision::F32] {
                let options =
                    BatchOptions { solver: solver.into(), executor: Executor::Cpu, precision, ..Default::default() };
                settles(&model, &options, &format!("{what}, {solver}, {precision:?}"));
            }
        }
    }
}

/// The same of the kernels of a device.
#[test]
fn kernels_hand_over_what_has_no_answer() {
    let Some(device) = device().expect("an adapter, or MANYWORLDS_NO_ADAPTER=1") else { return };
    let model = model(FINGERS, "");
    for solver in ["newton", "subadmm"] {
        let options = BatchOptions { solver: solver.into(), device: Some(device.clone()), ..Default::default() };
        settles(&model, &options, solver);
    }
}

/// Overlapping fingers stay where they are, and from some step on each is relaxed and certified.
fn settles(model: &Model, options: &BatchOptions, what: &str) {
    let mut batch = Batch::new(&[(model, 2)], options).expect("the batch is made");
    let mut all = Vec::new();
    for step in 0..UNTIL_SEEN {
        batch.step::<f64>(&[]).expect("a step");
        batch.summaries(&mut all).expect("summaries");
        assert!(all.iter().all(|found| !found.failed()), "{what}, step {step}: {all:?}");
    }
    wedged(&mut batch, 20);
    let state = batch.state(1).expect("a state");
    assert!(state.q.iter().chain(&state.v).all(|x| x.abs() < 1e-2), "{what}: {state:?}");
}

/// A motion that parts what overlaps, but flings it about, is no answer: neither of a kernel nor of the host.
#[test]
fn what_parts_by_being_flung_gives_way() {
    for bodies in [LATCH, LATCHES] {
        let model = model(bodies, "");
        for (options, what) in everywhere(&["auto", "newton"]) {
            turns_slowly(&model, &options, &what);
        }
    }
}

/// Options of batches by each of some solvers: on the CPU in both precisions, and on a device if there is one; and what they are.
fn everywhere(solvers: &[&str]) -> Vec<(BatchOptions, String)> {
    let device = device().expect("an adapter, or MANYWORLDS_NO_ADAPTER=1");
    let of = |solver: &str| BatchOptions { solver: solver.into(), ..Default::default() };
    let mut all = Vec::new();
    for &solver in solvers {
        for precision in [Precision::F64, Precision::F32] {
            let options = BatchOptions { executor: Executor::Cpu, precision, ..of(solver) };
            all.push((options, format!("{solver}, {precision:?}")));
        }
        if device.is_some() {
            all.push((BatchOptions { device: device.clone(), ..of(solver) }, format!("{solver}, a device")));
        }
    }
    all
}

/// Every step is relaxed, and adds what the cap lets it: 1.2 N s at an arm of 5 mm.
fn turns_slowly(model: &Model, options: &BatchOptions, what: &str) {
    let mut batch = Batch::new(&[(model, 2)], options).expect("the batch is made");
    // In the ninth the host asks whether there is another answer: there is, but it flings.
    let steps = 12;
    wedged(&mut batch, steps);
    let state = batch.state(1).expect("a state");
    assert!(state.v.iter().all(|v| v.abs() < 0.01 * steps as f64), "{what}: {state:?}");
}

/// Worlds beside a wedged one go on bit for bit as without it.
#[test]
fn a_wedged_world_harms_no_other() {
    let (wedge, free) = (model(WALLS, ""), model(BALL, ""));
    let mut alone = batch(&[(&free, 3)], Precision::F64);
    let mut beside = batch(&[(&wedge, 2), (&free, 3)], Precision::F64);
    for _ in 0..400 {
        alone.step::<f64>(&[]).expect("a step");
        beside.step::<f64>(&[]).expect("a step");
    }
    for world in 0..3 {
        let [a, b] = [alone.state(world), beside.state(world + 2)].map(|state| state.expect("a state"));
        assert_eq!((a.q, a.v), (b.q, b.v));
    }
}

/// A device keeps worlds whose contacts nothing moves, by one submission and one wait a step, and moves them as the CPU does.
#[test]
fn kernels_leave_out_what_nothing_moves() {
    let Some(device) = device().expect("an adapter, or MANYWORLDS_NO_ADAPTER=1") else { return };
    let model = model(CART, "");
    let options = BatchOptions { device: Some(device), tolerance: 1e-5, ..Default::default() };
    let mut there = Batch::new(&[(&model, 2)], &options).expect("the batch is made");
    let mut here = batch(&[(&model, 2)], Precision::F32);
    for batch in [&mut there, &mut here] {
        let mut state = batch.state(0).expect("a state");
        state.v[0] = 0.5;
        batch.reset(&[(1, state)]).expect("a state of the model");
        wedged(batch, 10);
    }
    let before = there.round_trips();
    for _ in 0..10 {
        there.step::<f64>(&[]).expect("a step");
        here.step::<f64>(&[]).expect("a step");
    }
    there.wait().expect("the last step");
    assert_eq!(there.round_trips().since(before), RoundTrips { submissions: 10, waits: 10 });
    let [a, b] = [&mut there, &mut here].map(|batch| batch.state(1).expect("a state"));
    assert!((a.q[0] - b.q[0]).abs() < 1e-6 && (a.v[0] - b.v[0]).abs() < 1e-6, "{a:?}, {b:?}");
}

/// The host has a step of a wedged world now and then, to ask whether there is another answer, here the 25th: the others
/// are the kernels', a tree's by itself or an island's, on a device by one submission and one wait.
#[test]
fn kernels_relax_what_has_no_answer() {
    let Some(device) = device().expect("an adapter, or MANYWORLDS_NO_ADAPTER=1") else { return };
    for bodies in [WALLS, FINGERS] {
        let model = model(bodies, "");
        let options = BatchOptions { device: Some(device.clone()), tolerance: 1e-5, ..Default::default() };
        let mut there = Batch::new(&[(&model, 2)], &options).expect("the batch is made");
        let mut here = batch(&[(&model, 2)], Precision::F32);
        for batch in [&mut there, &mut here] {
            wedged_to(batch, 20, 1e-5);
        }
        let mut by_kernels = 0;
        for _ in 0..16 {
            let before = there.round_trips();
            there.step::<f64>(&[]).and_then(|()| there.wait()).expect("a step");
            here.step::<f64>(&[]).expect("a step");
            by_kernels += u32::from(there.round_trips().since(before) == RoundTrips { submissions: 1, waits: 1 });
            let relaxed = there.inspect(1).expect("an inspection").relaxed;
            assert!(!relaxed.is_empty() && relaxed.iter().all(|of| of.by.abs() > 1e-9), "{relaxed:?}");
        }
        assert_eq!(by_kernels, 15);
        let [a, b] = [&mut there, &mut here].map(|batch| batch.state(1).expect("a state"));
        assert!(a.q.iter().zip(&b.q).all(|(a, b)| (a - b).abs() < 1e-5), "{a:?}, {b:?}");
    }
}

/// A step that follows a relaxed one starts from its impulses; that changes how the answer is found, not what it is.
#[test]
fn the_answer_does_not_depend_on_the_steps_before() {
    for bodies in [WALLS, FINGERS] {
        let model = model(bodies, "");
        let mut first = batch(&[(&model, 1)], Precision::F64);
        for _ in 0..20 {
            first.step::<f64>(&[]).expect("a step");
        }
        let State { q, v, .. } = first.state(0).expect("a state");
        let mut fresh = batch(&[(&model, 1)], Precision::F64);
        fresh.reset(&[(0, State { q, v, ..State::default() })]).expect("a state of the model");
        let [a, b] = [&mut first, &mut fresh].map(|batch| {
            batch.step::<f64>(&[]).expect("a step");
            let relaxed = batch.inspect(0).expect("an inspection").relaxed;
            (batch.state(0).expect("a state").v, relaxed)
        });
        // The tolerance is 1e-6 N s: requests of less may be met or not.
        assert!(a.0.iter().zip(&b.0).all(|(a, b)| (a - b).abs() < 1e-5), "{a:?}, {b:?}");
        let which = |of: &(Vec<f64>, Vec<manyworlds::RelaxedReport>)| -> Vec<RelaxedOf> {
            of.1.iter().filter(|r| r.by.abs() > 1e-5).map(|r| r.of).collect()
        };
        assert!(!a.1.is_empty() && which(&a) == which(&b), "{a:?}, {b:?}");
    }
}

/// A box that has fallen out between its walls is solved as if it had never been there.
#[test]
fn what_comes_free_is_no_longer_relaxed() {
    let model = model(WALLS, "");
    let mut batch = batch(&[(&model, 1)], Precision::F64);
    wedged(&mut batch, 150);
    let mut found = Vec::new();
    for _ in 0..50 {
        batch.step::<f64>(&[]).expect("a step");
    }
    batch.summaries(&mut found).expect("summaries");
    assert!(found[0].status_name() == "converged" && found[0].stage.is_none(), "{:?}", found[0]);
}

/// What costs much, and needs far more than twice what the contact alone would, is still done where it can be: at the latest in
/// the 32nd step.
#[test]
fn what_is_costly_is_done_once_it_can_be() {
    for (bodies, equality) in DRAGGING {
        let model = model(&format!("{DRAGGED_FROM}{bodies}"), equality);
        for (options, what) in everywhere(&["auto", "newton", "subadmm", "canal", "newton-cr"]) {
            comes_free(&model, &options, &what);
        }
    }
}

/// Wedged for a while, then without one of the walls.
fn comes_free(model: &Model, options: &BatchOptions, what: &str) {
    let mut batch = Batch::new(&[(model, 2)], options).expect("the batch is made");
    let mut found = Vec::new();
    let mut is_relaxed = |batch: &mut Batch| {
        batch.step::<f64>(&[]).expect("a step");
        batch.summaries(&mut found).expect("summaries");
        assert!(found.iter().all(|of| of.status_name() != "failed"), "{what}: {found:?}");
        found[0].is_relaxed()
    };
    let mut wedged = 0;
    for _ in 0..UNTIL_SEEN {
        wedged += usize::from(is_relaxed(&mut batch));
        if wedged == 100 {
            break;
        }
    }
    assert_eq!(wedged, 100, "{what}");
    let away = [5.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0];
    batch.write(0, FieldId::Mocap, &[away; 2].concat()).expect("poses");
    let still = (0..40).take_while(|_| is_relaxed(&mut batch)).count();
    let v = batch.state(0).expect("a state").v;
    assert!(still < 32 && v.iter().any(|v| v.abs() > 0.02), "{what}: relaxed for {still} steps, then {v:?}");
}
