//! Episodes begin and end as they should. That the tasks are Gymnasium's is checked beside it, from Python.

use std::f64::consts::{PI, TAU};

use manyworlds::{BatchOptions, Executor, GeomParameter, Precision};
use manyworlds_environments::{Autoreset, Choice, Environments, Error, Outcome, TASKS, TaskOptions};

fn make(task: &str, count: usize, autoreset: Autoreset) -> (Environments, Vec<f64>, Outcome<f64>) {
    make_to(BatchOptions::default().tolerance, task, count, autoreset)
}

fn cpu() -> BatchOptions {
    BatchOptions { executor: Executor::Cpu, precision: Precision::F64, ..BatchOptions::default() }
}

fn make_to(tolerance: f64, task: &str, count: usize, autoreset: Autoreset) -> (Environments, Vec<f64>, Outcome<f64>) {
    let options = BatchOptions { tolerance, ..cpu() };
    let environments = Environments::new(task, count, autoreset, &options).unwrap();
    let observations = vec![0.0; count * environments.n_observation()];
    let outcome = Outcome::new(&environments);
    (environments, observations, outcome)
}

#[test]
fn every_task_can_be_played() {
    for spec in &TASKS {
        let (mut environments, mut seen, mut outcome) = make(spec.name, 3, Autoreset::NextStep);
        environments.reset(None, Some(1), &mut seen).unwrap();
        let actions: Vec<f64> =
            (0..3 * environments.n_action() as u64).map(|i| manyworlds::random::symmetric(1, i, 0, 0)).collect();
        for _ in 0..20 {
            environments.step(&actions, &mut seen, &mut outcome).unwrap();
            let finite = seen.iter().chain(&outcome.rewards).chain(&outcome.info).all(|x| x.is_finite());
            assert!(finite && !outcome.failed.contains(&true), "{}", spec.name);
        }
        assert_ne!(
            seen[..environments.n_observation()],
            seen[environments.n_observation()..][..environments.n_observation()]
        );
    }
}

/// Steps until an episode is over, and says whose.
fn first_over(environments: &mut Environments, seen: &mut [f64], outcome: &mut Outcome<f64>) -> Vec<usize> {
    environments.reset(None, Some(0), seen).unwrap();
    let actions = vec![0.7; environments.len() * environments.n_action()];
    for _ in 0..300 {
        environments.step(&actions, seen, outcome).unwrap();
        let over: Vec<usize> = (0..environments.len()).filter(|&i| outcome.terminated[i]).collect();
        if !over.is_empty() {
            return over;
        }
    }
    panic!("nothing fell");
}

#[test]
fn episodes_begin_again_when_they_are_told_to() {
    let of = |autoreset| {
        let (mut environments, mut seen, mut outcome) = make("Hopper", 5, autoreset);
        let over = first_over(&mut environments, &mut seen, &mut outcome);
        (environments, seen, outcome, over)
    };
    // An observation begins with the height, a hopper starts at 1.25 m.
    let starts = |seen: &[f64], i: usize| (seen[i * 11] - 1.25).abs() < 0.01;
    let idle = [0.0; 15];

    let (mut environments, mut seen, mut outcome, over) = of(Autoreset::NextStep);
    assert!(over.iter().all(|&i| !starts(&seen, i)));
    environments.step(&idle, &mut seen, &mut outcome).unwrap();
    assert!(over.iter().all(|&i| starts(&seen, i) && outcome.rewards[i] == 0.0 && !outcome.terminated[i]));

    let (_, seen, outcome, over) = of(Autoreset::SameStep);
    assert!(over.iter().all(|&i| starts(&seen, i) && !starts(&outcome.final_observations, i)));

    let (mut environments, mut seen, mut outcome, over) = of(Autoreset::Disabled);
    let error = environments.step(&idle, &mut seen, &mut outcome).unwrap_err();
    assert!(matches!(error, Error::Over(i) if i == over[0]), "{error}");
    let mask: Vec<bool> = (0..5).map(|i| over.contains(&i)).collect();
    environments.reset(Some(&mask), None, &mut seen).unwrap();
    assert!(over.iter().all(|&i| starts(&seen, i)));
    environments.step(&idle, &mut seen, &mut outcome).unwrap();
}

#[test]
fn what_is_wrong_is_said() {
    let (mut environments, mut seen, mut outcome) = make("Reacher", 2, Autoreset::NextStep);
    environments.reset(None, Some(1), &mut seen).unwrap();
    let error = environments.step(&[0.0; 3], &mut seen, &mut outcome).unwrap_err().to_string();
    assert!(error.contains("actions: expected 4 numbers, found 3"), "{error}");
    let error = environments.step(&[f64::NAN; 4], &mut seen, &mut outcome).unwrap_err().to_string();
    assert!(error.contains("expected a finite number"), "{error}");
    let options = BatchOptions { executor: Executor::Cpu, ..BatchOptions::default() };
    let error = Environments::new("Ants", 2, Autoreset::NextStep, &options).err().unwrap().to_string();
    assert!(error.contains("Ants") && error.contains("Humanoid"), "{error}");
}

/// A box is lifted and held with a little more force than its weight takes, as it is not held in the middle, and does not creep;
/// with 3 % less than that it is lost.
#[test]
fn a_box_is_held_by_just_enough_force() {
    let (mut environments, mut seen, mut outcome) = make_to(1e-10, "Pinch", 2, Autoreset::Disabled);
    environments.set_max_episode_steps(1000);
    environments.reset(None, Some(3), &mut seen).unwrap();
    let n = environments.n_observation();
    // From the hand to the box, upwards.
    let height = |seen: &[f64], i: usize| seen[i * n + 5];
    let just_enough = 0.2 * 9.81 / 0.6;
    let mut play = |steps: usize, lift: &dyn Fn(usize) -> f64, grip: [f64; 2]| {
        for step in 0..steps {
            let up = lift(step);
            environments.step(&[up, grip[0], up, grip[1]], &mut seen, &mut outcome).unwrap();
            if outcome.terminated.contains(&true) {
                break;
            }
        }
        ([height(&seen, 0), height(&seen, 1)], outcome.terminated.clone(), outcome.rewards.clone())
    };
    play(25, &|_| 0.0, [8.0; 2]);
    play(60, &|step| 0.125 * (step + 1) as f64 / 60.0, [8.0; 2]);
    play(25, &|_| 0.125, [8.0; 2]);
    let (before, ..) = play(25, &|_| 0.125, [1.2 * just_enough; 2]);
    let (after, lost, rewards) = play(150, &|_| 0.125, [1.2 * just_enough; 2]);
    assert!(!lost.contains(&true) && (after[0] - before[0]).abs() < 1e-9, "{before:?}, {after:?}");
    assert!(rewards.iter().all(|&reward| reward > 0.85), "{rewards:?}");
    let (_, lost, _) = play(100, &|_| 0.125, [1.2 * just_enough, 0.97 * just_enough]);
    assert_eq!(lost, [false, true]);
}

/// Joints of the drawer's arm at which its tip is at (x, z) in the plane of the arm and points down.
fn reaching(x: f64, z: f64) -> [f64; 4] {
    let (upper, fore, shoulder, hand) = (0.35_f64, 0.35_f64, 0.4, 0.15);
    let (x, z) = (x, z + hand - shoulder);
    let square = x * x + z * z;
    // Angles are positive downwards; the elbow is above.
    let elbow = ((square - upper * upper - fore * fore) / (2.0 * upper * fore)).acos();
    let lift = (fore * elbow.sin()).atan2(upper + fore * elbow.cos());
    let shoulder = -z.atan2(x) - lift;
    [0.0, shoulder, elbow, std::f64::consts::FRAC_PI_2 - shoulder - elbow]
}

/// Pressed down and drawn back, the tip takes the drawer along by friction alone; where both are slippery it slides off.
#[test]
fn a_drawer_is_opened_by_friction_alone() {
    let (mut environments, mut seen, mut outcome) = make("Drawer", 2, Autoreset::Disabled);
    environments.reset(None, Some(5), &mut seen).unwrap();
    for name in ["tip", "top"] {
        let geom = environments.model().geoms.iter().position(|geom| geom.name == name).unwrap();
        environments.batch().set_geom(1, geom, GeomParameter::Friction, &[0.05]).unwrap();
    }
    // The tip, of radius 0.02 m, is on the top, at 0.35 m; what the servos are told below that is pressure.
    let height = |depth: f64| 0.37 + 0.02 - 0.05 * depth;
    let mut play = |steps: usize, x: &dyn Fn(f64) -> f64, depth: &dyn Fn(f64) -> f64| {
        for step in 0..steps {
            let share = (step + 1) as f64 / steps as f64;
            let action = reaching(x(share), height(depth(share)));
            environments.step(&[action, action].concat(), &mut seen, &mut outcome).unwrap();
        }
        [outcome.info[0], outcome.info[2]]
    };
    play(50, &|_| 0.6, &|_| 0.0);
    play(30, &|_| 0.6, &|share| share);
    let open = play(100, &|share| 0.6 - 0.2 * share, &|_| 1.0);
    assert!(open[0] > 0.15 && open[1] < 0.02, "{open:?}");
}

/// Strokes of the wrist turn the nut home, a pitch a turn, by friction alone: a hand whose pads are slippery turns nothing.
#[test]
fn a_nut_is_turned_home_by_friction_alone() {
    const PITCH: f64 = 0.005;
    let (mut environments, mut seen, mut outcome) = make("NutTurning", 2, Autoreset::SameStep);
    environments.reset(None, Some(8), &mut seen).unwrap();
    for name in ["finger1", "finger2", "finger3", "rim"] {
        let geom = environments.model().geoms.iter().position(|geom| geom.name == name).unwrap();
        environments.batch().set_geom(1, geom, GeomParameter::Friction, &[0.001]).unwrap();
    }
    let n = environments.n_observation();
    let angle_left = |seen: &[f64], i: usize| seen[i * n + 6];
    let begin = [angle_left(&seen, 0), angle_left(&seen, 1)];
    assert!(begin.iter().all(|turns| (4.0 * PI..6.0 * PI).contains(turns)), "{begin:?}");
    let mut returned = 0.0;
    // Back with open fingers, close, turn.
    let stroke = [(1.0, -5.0, 12), (1.0, 20.0, 8), (-1.0, 20.0, 25)];
    for (wrist, grip, steps) in stroke.into_iter().cycle().take(30) {
        for _ in 0..steps {
            environments.step(&[wrist, grip, wrist, grip], &mut seen, &mut outcome).unwrap();
            returned += 0.025 * (outcome.rewards[0] + 0.02 * f64::abs(grip));
            assert!(!outcome.failed.contains(&true) && !outcome.terminated[1]);
            if outcome.terminated[0] {
                let last = &outcome.final_observations;
                // All of the turning was rewarded. It is home within the play of the thread, 0.1 mm each way.
                assert!((returned - (begin[0] - angle_left(last, 0))).abs() < 1e-9);
                assert!(angle_left(last, 0).abs() < 0.3, "{}", angle_left(last, 0));
                assert!((angle_left(&seen, 1) - begin[1]).abs() < 0.3, "{} of {}", angle_left(&seen, 1), begin[1]);
                return;
            }
            // Its height above home, seen before the angle, follows the thread within its play of some 0.1 mm.
            let height = PITCH / TAU * angle_left(&seen, 0);
            assert!((seen[5] - height).abs() < 2e-4, "{} m at {height} m", seen[5]);
        }
    }
    panic!("{} rad are left", angle_left(&seen, 0));
}

#[test]
fn options_change_rewards_ends_and_what_is_seen() {
    let mut chosen = TaskOptions::default();
    for (name, value) in [
        ("forward_reward_weight", Choice::Number(2.0)),
        ("ctrl_cost_weight", Choice::Number(0.01)),
        ("healthy_reward", Choice::Number(3.0)),
        ("terminate_when_unhealthy", Choice::Flag(false)),
        ("healthy_z_range", Choice::Range([1.2, 2.0])),
        ("exclude_current_positions_from_observation", Choice::Flag(false)),
    ] {
        chosen.set(name, value).unwrap();
    }
    let play = |options: &TaskOptions| {
        let mut hoppers = Environments::with("Hopper", 4, Autoreset::NextStep, options, &cpu()).unwrap();
        let mut seen = vec![0.0_f64; 4 * hoppers.n_observation()];
        hoppers.reset(None, Some(1), &mut seen).unwrap();
        let mut outcome = Outcome::new(&hoppers);
        let mut steps = Vec::new();
        for step in 0..30 {
            hoppers.step(&[0.1 * f64::from(step % 7), -0.4, 0.3].repeat(4), &mut seen, &mut outcome).unwrap();
            steps.push(outcome.clone());
        }
        (hoppers.n_observation(), steps)
    };
    let (width, own) = play(&TaskOptions::default());
    let (wider, changed) = play(&chosen);
    assert_eq!((width, wider), (11, 12));
    let mut unhealthy = 0;
    for (own, changed) in own.iter().zip(&changed) {
        // Until one falls, worlds are the same.
        if own.terminated.contains(&true) {
            break;
        }
        for (own, changed) in own.info.chunks_exact(5).zip(changed.info.chunks_exact(5)) {
            assert_eq!(changed[..2], own[..2]);
            assert!((changed[2] - 2.0 * own[2]).abs() < 1e-12 && (changed[3] - 10.0 * own[3]).abs() < 1e-12);
            assert!(changed[4] == 0.0 || changed[4] == 3.0);
            unhealthy += u32::from(changed[4] == 0.0);
        }
        for (reward, info) in changed.rewards.iter().zip(changed.info.chunks_exact(5)) {
            assert!((reward - info[2..].iter().sum::<f64>()).abs() < 1e-12);
        }
        assert!(!changed.terminated.contains(&true));
    }
    assert!(unhealthy > 0);
}

#[test]
fn options_that_make_no_sense_are_refused() {
    let mut options = TaskOptions::default();
    let told = |found: Result<(), Error>| found.unwrap_err().to_string();
    assert!(
        told(options.set("gravity", Choice::Number(1.0))).starts_with("gravity: no environment has such an option")
    );
    assert!(told(options.set("healthy_reward", Choice::Number(f64::NAN))).contains("expected a finite number"));
    assert!(told(options.set("healthy_reward", Choice::Flag(true))).contains("expected a finite number"));
    assert!(told(options.set("healthy_z_range", Choice::Range([2.0, 1.0]))).contains("the lower first"));
    options.set("healthy_reward", Choice::Number(1.0)).unwrap();
    let refused = Environments::with("HalfCheetah", 1, Autoreset::NextStep, &options, &cpu());
    assert_eq!(refused.err().unwrap().to_string(), "healthy_reward: HalfCheetah has no such option");
    let noise = TaskOptions { reset_noise_scale: Some(-1.0), ..TaskOptions::default() };
    let refused = Environments::with("Hopper", 1, Autoreset::NextStep, &noise, &cpu());
    assert!(refused.err().unwrap().to_string().contains("not below zero"));
}
