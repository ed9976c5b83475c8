//! The scenes of compliant contact (Castro 2022, sections VI-D and VI-E) under their own controls, by what they must show.

use manyworlds::contact::{SapParams, SolveSettings, SolveStatus, quality, solve_with};
use manyworlds::{
    Batch, BatchOptions, ContactReport, ControlCurve, Executor, ImportOptions, Precision, State, load, scenes,
};

/// A run of a scene with `sap`.
struct Run {
    batch: Batch,
    curve: ControlCurve,
    step: f64,
    taken: usize,
}

impl Run {
    fn new(name: &str) -> Self {
        let scene = scenes::find(name).expect("a scene");
        let model = load(name, &ImportOptions::default()).expect("its model").model;
        let options = BatchOptions {
            executor: Executor::Cpu,
            precision: Precision::F64,
            solver: scene.solver.name.clone(),
            tolerance: scene.solver.tolerance,
            iterations: scene.solver.iterations,
            ..BatchOptions::default()
        };
        let rest = vec![0.0; model.actuators.len()];
        let curve = ControlCurve::from_csv(scene.controls().expect("controls"), &model, &rest).expect("its controls");
        let mut batch = Batch::new(&[(&model, 1)], &options).expect("a batch");
        if let Some(start) = model.keyframes.first() {
            batch.reset(&[(0, State { q: start.q.clone(), ..State::default() })]).expect("a reset");
        }
        Self { batch, curve, step: model.options.timestep, taken: 0 }
    }

    /// Follows the controls up to a time; `see` is called after every step.
    fn to(&mut self, time: f64, mut see: impl FnMut(&mut Batch, usize)) -> State {
        while (self.taken as f64 + 0.5) * self.step < time {
            self.batch.step(&self.curve.at(self.taken as f64 * self.step)).expect("a step");
            self.taken += 1;
            see(&mut self.batch, self.taken);
        }
        self.batch.state(0).expect("a state")
    }
}

/// Of the spatula, rad, down.
fn pitch(state: &State) -> f64 {
    2.0 * state.q[5].atan2(state.q[3])
}

/// The contacts that push.
fn pushing(batch: &mut Batch) -> Vec<ContactReport> {
    let contacts = batch.inspect(0).expect("an inspection").contacts;
    contacts.into_iter().filter(|contact| contact.impulse[2] > 0.0).collect()
}

fn fastest(contacts: &[ContactReport]) -> f64 {
    contacts.iter().map(|contact| contact.velocity[0].hypot(contact.velocity[1])).fold(0.0, f64::max)
}

#[test]
fn a_firm_grip_sticks_and_a_loose_one_lets_the_spatula_pitch() {
    let mut run = Run::new("slip-control");
    // What sticks creeps at mu sigma g h at most (Castro 2022, section V-B).
    let creep = 1e-3 * 9.81 * 0.005;
    run.to(1.0, |_, _| {});
    let firm = pushing(&mut run.batch);
    assert_eq!(firm.len(), 162, "both pads touch with all their points");
    let normal: f64 = firm.iter().map(|contact| contact.impulse[2]).sum::<f64>() / run.step;
    // The points of a cap push at angles of up to 17 degrees to the grip; a box face turns them all straight.
    assert!((normal - 2.0 * 16.0).abs() < 1e-3, "{normal} N");
    let held = run.to(4.5, |batch, taken| {
        if taken.is_multiple_of(20) {
            let speed = fastest(&pushing(batch));
            assert!(speed < creep, "{speed} m/s");
        }
    });
    assert!(pitch(&held).abs() < 1e-3, "{}", pitch(&held));

    let mut least = usize::MAX;
    run.to(4.8, |_, _| {});
    assert!(fastest(&pushing(&mut run.batch)) > 100.0 * creep, "it slips");
    let loose = run.to(5.9, |batch, taken| {
        if taken.is_multiple_of(20) {
            least = least.min(pushing(batch).len());
        }
    });
    assert!((30..80).contains(&least), "{least} points touch");
    // It comes to rest where gravity has done the work of friction, m g d sin(angle) = C angle. Springs of 130 N/m, 3 degrees of
    // 60 mm apart, press like half spheroids on a circle of radius a, F = pi k a^4 / (4 R s^2), and friction of that pressure
    // about its centre is C = 8/15 mu F a for each pad: a continuum of what are two dozen points.
    let spacing = 0.06 * 3.0f64.to_radians();
    let radius = (4.0 * 0.06 * 1.0 * spacing.powi(2) / (std::f64::consts::PI * 130.0)).powf(0.25);
    let friction = 2.0 * 8.0 / 15.0 * radius;
    let angle = pitch(&loose);
    let found = 0.01 * 9.81 * 0.11 * angle.sin() / angle;
    assert!((found / friction - 1.0).abs() < 0.15, "{found} N m, not {friction}");

    let start = run.to(6.2, |_, _| {});
    let end = run.to(7.5, |_, _| {});
    assert!(pushing(&mut run.batch).len() == 162 && fastest(&pushing(&mut run.batch)) < creep);
    assert!((pitch(&end) - pitch(&start)).abs() < 1e-3);
}

/// Of the last step (Castro 2022, eq. 32): its velocity with the impulses of the same problem solved anew, from nothing and
/// more closely.
fn momentum_error(batch: &mut Batch) -> f64 {
    let step = batch.contact_problem(0).expect("a problem");
    let settings = SolveSettings { iterations: 1000, ..SolveSettings::default() };
    let solved =
        solve_with(&step.problem, &settings, &SapParams { relative: 1e-9, ..SapParams::default() }).expect("solved");
    assert_eq!(solved.status, SolveStatus::Converged);
    quality(&step.problem, &solved.lambda, &step.velocity).momentum_error
}

/// Where jar, lid, bowl and marbles begin in q.
const JAR: usize = 46;
const LID: usize = JAR + 7;
const BOWL: usize = LID + 7;
const MARBLES: usize = BOWL + 7;

#[test]
fn two_arms_open_a_jar_pour_its_marbles_into_a_bowl_and_close_it() {
    let mut run = Run::new("jar");
    let mut worst = 0.0f64;
    let mut see = |batch: &mut Batch, taken: usize| {
        if taken.is_multiple_of(10) {
            worst = worst.max(momentum_error(batch));
        }
    };
    let opened = run.to(2.0, &mut see);
    assert_eq!((opened.q.len(), opened.v.len()), (179, 160));
    assert!(opened.q[LID + 2] > opened.q[JAR + 2] + 0.25, "the lid is off");
    let poured = run.to(11.3, &mut see);
    assert!(poured.q[LID + 2] < 0.03 && poured.q[JAR + 2] > 0.1, "the lid lies, the jar is held");
    let end = run.to(19.5, &mut see);
    assert!(worst < 1e-3, "{worst}");
    assert!((end.q[JAR] - 0.5).hypot(end.q[JAR + 1]) < 0.003, "the jar is back");
    assert!(end.q[JAR + 3].abs() > 0.9999 && end.q[JAR + 2] < 0.004, "it stands");
    assert!((end.q[LID] - end.q[JAR]).hypot(end.q[LID + 1] - end.q[JAR + 1]) < 0.005, "the lid is over it");
    assert!((end.q[LID + 2] - 0.148).abs() < 0.001, "the lid lies on it as at first");
    let bowl = [end.q[BOWL], end.q[BOWL + 1]];
    for marble in end.q[MARBLES..].chunks(7) {
        let away = (marble[0] - bowl[0]).hypot(marble[1] - bowl[1]);
        assert!(away < 0.12 && (0.015..0.09).contains(&marble[2]), "{marble:?}");
    }
    let mut worlds = Vec::new();
    run.batch.summaries(&mut worlds).expect("summaries");
    assert!(!worlds[0].failed() && worlds[0].penetration < 1e-3);
}
