//! What the tests of several solvers ask of them.

use manyworlds_contact::problem::{ContactProblem, Law};
use manyworlds_contact::solve::{SolveSettings, SolveStatus, solve};

use crate::samples::{G, H, are_close, constraint, particles, problem, random, side, unit};

/// A particle of 2 kg on the ground that sticks, slides with friction and without, and leaves; each with its velocity after the
/// step.
pub(super) fn particle_on_the_ground() -> [(ContactProblem, [f64; 3]); 4] {
    [
        ([0.01, -0.02, 0.0], 0.5, [0.0; 3]),
        ([3.0, 4.0, 0.0], 0.5, [0.6 * (5.0 - 0.5 * G * H), 0.8 * (5.0 - 0.5 * G * H), 0.0]),
        ([3.0, 4.0, 0.0], 0.0, [3.0, 4.0, 0.0]),
        ([1.0, 0.0, 1.0], 0.5, [1.0, 0.0, 1.0 - G * H]),
    ]
    .map(|(v0, mu, v)| {
        let mut input = particles(&[2.0], v0);
        input.constraints.push(constraint(Law::Contact { mu }, vec![side(0, &unit(1.0))]));
        (problem(input), v)
    })
}

/// How many of the first random problems, of so many subsystems and contacts, a solver solves. There it has the velocities of the
/// default, which are unique where friction is low; impulses need not be.
pub(super) fn agreements(
    solver: &str,
    settings: &SolveSettings,
    problems: u64,
    subsystems: usize,
    contacts: usize,
) -> u64 {
    let agrees = |seed: &u64| {
        let p = problem(random(*seed, subsystems, contacts, true));
        let [auto, own] = ["auto", solver].map(|name| solve(&p, name, settings).unwrap());
        assert_eq!(auto.status, SolveStatus::Converged, "seed {seed}");
        let converged = own.status == SolveStatus::Converged;
        if converged {
            let most = settings.tolerance * (1.0 + 1e-6);
            assert!(own.quality.residual <= most, "{solver}, seed {seed}: {:?}", own.quality);
            assert!(are_close(&auto.v, &own.v, 1e-6), "{solver}, seed {seed}: {:?} {:?}", auto.v, own.v);
        }
        converged
    };
    (0..problems).filter(agrees).count() as u64
}

#[test]
fn comparison_can_fail() {
    assert!(are_close(&[1.0, 2.0], &[1.0, 2.0 + 1e-10], 1e-9));
    assert!(!are_close(&[1.0, 2.0], &[1.0, 2.0 + 2e-9], 1e-9));
    assert!(!are_close(&[1.0], &[1.0, 2.0], 1e-9));
    assert!(!are_close(&[f64::NAN], &[0.0], 1e-9));
}
