//! Episodes begin and end as they should. That the tasks are Gymnasium's is checked beside it, from Python.

use manyworlds::{BatchOptions, Executor, Precision};
use manyworlds_environments::{Autoreset, Environments, Error, Outcome, TASKS};

fn make(task: &str, count: usize, autoreset: Autoreset) -> (Environments, Vec<f64>, Outcome<f64>) {
    let options = BatchOptions { executor: Executor::Cpu, precision: Precision::F64, ..BatchOptions::default() };
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
