//! Worlds side by side have the contacts that each has by itself.

use manyworlds_collide::{
    ABREAST, CollisionModel, CollisionSettings, Contact, Hints, Overrides, Scratch, Travel, Travels, World,
};
use manyworlds_model::{Pose, Vec3};

use crate::common::*;

const REACH: f64 = 0.01;

/// Solids over a floor that go about their places, another way in each lane.
fn pose(body: usize, lane: usize, step: usize) -> Pose {
    let phase = body as f64 + 0.37 * lane as f64 + 0.05 * step as f64;
    let place = Vec3::new(0.12 * (body % 3) as f64, 0.12 * (body / 3) as f64, 0.08);
    let way = Vec3::new(phase.sin(), (1.3 * phase).cos(), (0.7 * phase).sin()) * 0.04;
    turned(Pose::from(place + way), Vec3::new(1.0, phase, 2.0), phase)
}

fn travel(body: usize, lane: usize) -> Travel {
    // Nothing moves in one of the lanes.
    let some = |k: usize| if lane == 1 { 0.0 } else { 0.02 * ((3 * body + k) as f64 + lane as f64).sin() };
    Travel { moved: std::array::from_fn(some), turned: std::array::from_fn(|k| some(3 + k)) }
}

#[test]
fn worlds_do_not_mind_their_neighbours() {
    let solids = all_kinds();
    let poses = vec![Pose::identity(); solids.len()];
    let settings = CollisionSettings { speculative_distance: REACH, ..CollisionSettings::default() };
    let model = CollisionModel::with_settings(&model(&solids, &poses), &settings).expect("supported shapes");
    let n = solids.len() - 1;
    let larger: Vec<[f64; 3]> = (0..solids.len()).map(|_| [0.06, 0.05, 0.04]).collect();
    let (mut hints, mut scratch) = (<[Hints; ABREAST]>::default(), Scratch::default());
    let (mut found, mut total) = (<[Vec<Contact>; ABREAST]>::default(), 0);
    for step in 0..60 {
        // Which lane has no world, which has a pose that is no number, and which has sizes of its own.
        let (empty, broken, own) = (step % 5, step % 7, step % 3);
        let moves = step % 2 == 0;
        let given = |body: usize, lane: usize| {
            let mut pose = numbers(&pose(body, lane, step));
            if lane == broken && body == 4 {
                pose[2] = f64::NAN;
            }
            pose
        };
        let overrides: [_; ABREAST] = std::array::from_fn(|lane| Overrides {
            sizes: if lane == own { &larger } else { &[] },
            ..Overrides::default()
        });
        let travels: Vec<[Travel; ABREAST]> =
            (0..=n).map(|body| std::array::from_fn(|lane| travel(body, lane))).collect();
        let all: Vec<Travels> = travels.iter().copied().map(Travels::from).collect();
        found.iter_mut().for_each(Vec::clear);
        let mut lanes = hints.iter_mut().zip(&mut found).zip(&overrides).enumerate();
        let worlds: [_; ABREAST] = std::array::from_fn(|_| {
            let (lane, ((hints, out), overrides)) = lanes.next()?;
            (lane != empty).then_some(World { overrides, hints, out })
        });
        let poses = |body: usize| std::array::from_fn(|e| std::array::from_fn(|lane| given(body, lane)[e]));
        let finite = model.collide_abreast(poses, if moves { &all } else { &[] }, worlds, &mut scratch);
        for (lane, found) in found.iter().enumerate() {
            let own: Vec<Travel> = travels.iter().map(|of| of[lane]).collect();
            let (mut hints, mut alone) = (Hints::default(), Vec::new());
            let travel = if moves { &own[..] } else { &[] };
            let poses = |body: usize| given(body, lane);
            let one = model.collide_with(poses, travel, &overrides[lane], &mut hints, &mut scratch, &mut alone);
            if lane == empty {
                assert!(found.is_empty());
                continue;
            }
            assert_eq!((one, &alone), (finite[lane], found), "lane {lane}, step {step}");
            assert_eq!(one.is_err(), lane == broken);
            total += found.len();
        }
    }
    assert!(total > 1000, "{total} contacts");
}
