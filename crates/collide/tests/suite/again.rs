//! Contacts of one pair by itself are those that it has among all others.

use manyworlds_collide::{CollisionModel, CollisionSettings, Contact, Hints, Overrides, Scratch};
use manyworlds_model::{Pose, Vec3};

use crate::common::*;

/// Contacts are found again at the poses they were found at, to the bit.
pub(crate) fn are_found_again(
    model: &CollisionModel,
    contacts: &[Contact],
    poses: impl Fn(usize) -> [f64; 7],
    sizes: &[[f64; 3]],
) {
    let (mut scratch, mut again) = (Scratch::default(), Vec::new());
    for contact in contacts {
        model.collide_again(contact, 1e-5, &poses, sizes, &mut scratch, &mut again).expect("finite poses");
        assert!(again.contains(contact), "{contact:?} is not among {again:?}");
        assert!(again.iter().all(|other| other.geoms == contact.geoms));
    }
}

#[test]
fn a_pair_by_itself_has_the_contacts_that_it_has_among_others() {
    let solids = all_kinds();
    let at_rest = vec![Pose::identity(); solids.len()];
    let settings = CollisionSettings { speculative_distance: 0.01, ..CollisionSettings::default() };
    let model = CollisionModel::with_settings(&model(&solids, &at_rest), &settings).expect("supported shapes");
    let larger: Vec<[f64; 3]> = (0..solids.len()).map(|_| [0.06, 0.05, 0.04]).collect();
    let (mut scratch, mut contacts, mut total) = (Scratch::default(), Vec::new(), 0);
    for step in 0..60 {
        let poses = |body: usize| {
            let phase = body as f64 + 0.31 * f64::from(step);
            let place = Vec3::new(0.1 * (body % 3) as f64, 0.1 * (body / 3) as f64, 0.06);
            let way = Vec3::new(phase.sin(), (1.3 * phase).cos(), (0.7 * phase).sin()) * 0.04;
            numbers(&turned(Pose::from(place + way), Vec3::new(1.0, phase, 2.0), phase))
        };
        let sizes: &[[f64; 3]] = if step % 2 == 0 { &[] } else { &larger };
        let overrides = Overrides { sizes, ..Overrides::default() };
        let mut hints = Hints::default();
        model.collide_with(poses, &[], &overrides, &mut hints, &mut scratch, &mut contacts).expect("finite poses");
        are_found_again(&model, &contacts, poses, sizes);
        total += contacts.len();
    }
    assert!(total > 300, "{total} contacts");
}

#[test]
fn the_body_without_a_finite_pose_is_named() {
    let at_rest = [at(0.0, 0.0, 0.0), at(0.0, 0.0, 0.05)];
    let model = CollisionModel::new(&model(&[plane(), sphere(0.05)], &at_rest)).expect("supported shapes");
    let (mut scratch, mut contacts, mut again) = (Scratch::default(), Vec::new(), Vec::new());
    model.collide(|_| [0.0, 0.0, 0.05, 1.0, 0.0, 0.0, 0.0], &mut scratch, &mut contacts).expect("finite poses");
    let broken = |_| [0.0, 0.0, f64::NAN, 1.0, 0.0, 0.0, 0.0];
    let found = model.collide_again(&contacts[0], 0.0, broken, &[], &mut scratch, &mut again);
    assert!(found.is_err_and(|error| error.body == contacts[0].bodies[1] as usize) && again.is_empty());
}
