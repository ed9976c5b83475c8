//! Flat faces on each other, in poses that are known to single precision only: the same features touch in every step.

use crate::common::*;
use manyworlds_collide::{CollisionModel, CollisionSettings, Scratch};
use manyworlds_model::{Pose, Vec3};

const STEPS: usize = 200;

/// Numbers from -1 to 1, by a linear congruence; the same in every run.
fn noise(state: &mut u64) -> f64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

/// A pose as a resting body has it in some step: off by a few of the last bits of single precision.
fn stirred(pose: Pose, state: &mut u64) -> Pose {
    let by = 2.0 * f64::from(f32::EPSILON);
    let mut some = || Vec3::from_fn(|_, _| by * noise(state));
    let (shift, turn) = (some(), some());
    rounded(Pose::new(pose.translation.vector + shift, Vec3::zeros()) * Pose::new(Vec3::zeros(), turn) * pose.rotation)
}

/// Distinct sets of features over the steps of two solids at rest on each other.
fn sets_of_features(solids: &[Solid; 2], poses: [Pose; 2], pose_rounding: f64) -> usize {
    let settings = CollisionSettings { pose_rounding, ..CollisionSettings::default() };
    let model = CollisionModel::with_settings(&model(solids, &poses), &settings).expect("supported shapes");
    let (mut scratch, mut out, mut seen, mut state) = (Scratch::default(), Vec::new(), Vec::new(), 7);
    for _ in 0..STEPS {
        let now = poses.map(|pose| stirred(pose, &mut state));
        model.collide(|body| numbers(&now[body - 1]), &mut scratch, &mut out).expect("finite poses");
        assert!(out.len() >= 2, "{solids:?} touch: {out:?}");
        let features: Vec<u64> = out.iter().map(|contact| contact.feature).collect();
        if !seen.contains(&features) {
            seen.push(features);
        }
    }
    seen.len()
}

/// A cube on its like, edge upon edge; turned by an eighth, eight points of which four are kept; half over it; and so as
/// hulls. With a rounding of double precision, the features change from step to step.
#[test]
fn features_stay_in_single_precision() {
    let single = f64::from(f32::EPSILON);
    let cube = || cuboid(0.05, 0.05, 0.05);
    let hull = || cuboid_mesh(0.05, 0.05, 0.05);
    let eighth = turned(at(0.0, 0.0, 0.1), Vec3::z(), std::f64::consts::FRAC_PI_4);
    let mut changing = 0;
    for (solids, above) in [
        ([cube(), cube()], at(0.0, 0.0, 0.1)),
        ([cube(), cube()], eighth),
        ([cube(), cube()], at(0.05, 0.0, 0.1)),
        ([cuboid(0.2, 0.2, 0.05), cube()], at(0.15, 0.0, 0.1)),
        ([cube(), hull()], at(0.0, 0.0, 0.1)),
        ([hull(), hull()], eighth),
        ([cube(), cylinder(0.05, 0.05)], at(0.0, 0.0, 0.1)),
    ] {
        // Somewhere in the world where numbers are not round.
        let place = turned(at(0.31, -0.27, 0.2), Vec3::z(), 0.3);
        let poses = [place, place * above];
        let found = sets_of_features(&solids, poses, single);
        assert_eq!(found, 1, "{solids:?} {above:?}");
        changing += usize::from(sets_of_features(&solids, poses, f64::EPSILON) > 1);
    }
    assert!(changing >= 3, "{changing} pairs only tell whether the rounding of poses is heeded");
}
