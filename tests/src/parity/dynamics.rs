//! Cases of the dynamics: a chain of kernels over random states of trees with every joint kind. Each kernel's inputs come
//! from the scalar mirror in f64, so that a fault of one shows in its own case and in no other.

use std::path::Path;

use manyworlds_dynamics::{Settings, TreeLayout, TreeSet, compile};
use manyworlds_model::{ImportOptions, from_mjcf_str};
use manyworlds_shaders::dynamics::derivatives::layout::{Act, slope_reals, work_reals};
use manyworlds_shaders::dynamics::tree::{SPEED, TreeOnly, joint};
use manyworlds_shaders::{Kernel, kernel};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use super::{Case, Data, Tolerance};
use crate::dynamics::TreeTile;

const ROUNDING: Tolerance = Tolerance {
    f32: 2e-5,
    f64: 1e-13,
    reason: "sums over the bodies of a chain, contracted to fused multiply-adds in other places: some hundred roundings",
};
const ROUNDING_OF_SOLVES: Tolerance = Tolerance {
    f32: 1e-3,
    f64: 1e-11,
    reason: "as ROUNDING, times the condition number of the momentum matrix, up to 1e4 in these trees",
};
const ROUNDING_OF_INERTIAS: Tolerance = Tolerance {
    f32: 1e-4,
    f64: 2e-13,
    reason: "as ROUNDING, of inertias about the root: those of small bodies far from it are differences of large numbers",
};
const ROUNDING_OF_FORCES: Tolerance = Tolerance {
    f32: 1e-4,
    f64: 1e-12,
    reason: "as ROUNDING, of products of velocities, accelerations and inertias whose sums cancel",
};

const ROUNDING_OF_WAYS: Tolerance = Tolerance {
    f32: 1e-3,
    f64: 1e-11,
    reason: "as ROUNDING; where a way meets an obstacle is a root of a difference, and of a touch inside a Newton iteration",
};

/// Not a multiple of any tile, and more than one of each.
pub(super) const LANES: usize = 43;

/// The golden models, each for a class of joints.
pub(super) const MODELS: [&str; 3] = ["mixed-joints", "ball-chain", "several-trees"];

macro_rules! golden {
    ($($name:literal)*) => { [$(($name, include_str!(concat!("../../golden/models/", $name, ".xml")))),*] };
}

/// Their text: a program that checks a device has no source tree beside it.
static GOLDEN: [(&str, &str); 10] = golden!(
    "actuated" "adhesion" "ball-chain" "carried" "immersed" "mixed-joints" "outside" "sensors" "several-trees" "tendons"
);

/// Golden models with applied forces.
const APPLIED_MODELS: [&str; 4] = ["carried", "actuated", "tendons", "immersed"];

/// Cases of every dynamics kernel.
pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for name in MODELS {
        for (at, set) in sets(name).iter().enumerate() {
            for param_lanes in [false, true] {
                let own = if param_lanes { ", params of each lane" } else { "" };
                cases.extend(of_set(&format!("{name}, set {at}{own}"), set, param_lanes));
            }
        }
    }
    cases.extend(APPLIED_MODELS.iter().flat_map(|name| {
        let sets = sets(name).into_iter().enumerate().filter(|(_, set)| set.layout.dims.n_force > 0);
        sets.flat_map(|(at, set)| applied(&format!("{name}, set {at}"), &set)).collect::<Vec<_>>()
    }));
    cases
}

/// Lengths and moment arms; where there are none, something to bind.
pub(super) fn pull(tiles: &[TreeTile<f64>]) -> Data {
    Data::Lanes(tiles.iter().map(|tile| if tile.pull.is_empty() { vec![0.0] } else { tile.pull.clone() }).collect())
}

/// Cases of paths, applied forces and activations.
fn applied(name: &str, set: &TreeSet) -> Vec<Case> {
    use kernel::dynamics as k;
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let dims = set.layout.dims;
    let tiles = random_tiles(set, &mut rng);
    let of =
        |field: fn(&TreeTile<f64>) -> &Vec<f64>| Data::Lanes(tiles.iter().map(|tile| field(tile).clone()).collect());
    let zeros = |n: u32| Data::Lanes(vec![vec![0.0; n as usize]; LANES]);
    let case = |kernel: &'static Kernel, more: Vec<Data>, outputs: &[usize], tolerance: Tolerance| {
        let mut buffers = vec![Data::Words(set.layout.topology.clone()), Data::Shared(set.params[0].clone())];
        buffers.extend(more);
        let mut tree = TreeOnly { tree: dims };
        tree.tree.lanes = LANES as u32;
        Case {
            name: name.into(),
            kernel,
            lanes: LANES,
            buffers,
            record: Box::new(move |recording, ids| {
                recording.dispatch(kernel, &tree, LANES as u32, ids);
            }),
            outputs: outputs.iter().map(|at| (*at, tolerance)).collect(),
            single: true,
            reversible: true,
        }
    };
    let (state, pose, motion) = (of(|tile| &tile.state), of(|tile| &tile.pose), of(|tile| &tile.motion));
    let mut cases = Vec::new();
    if dims.n_path > 0 {
        let buffers = vec![state.clone(), pose.clone(), motion.clone(), zeros(dims.n_pull)];
        cases.push(case(&k::PATH, buffers, &[5], ROUNDING_OF_WAYS));
    }
    let pull = pull(&tiles);
    let buffers = vec![state.clone(), pose, motion, pull, of(|tile| &tile.mass), of(|tile| &tile.bias)];
    cases.push(case(&k::APPLIED, buffers, &[6, 7], ROUNDING_OF_WAYS));
    if dims.n_act > 0 {
        let status = Data::LaneWords((0..LANES as u32).map(|lane| vec![if lane % 5 == 0 { 128 } else { 0 }]).collect());
        cases.push(case(&k::ACTIVATE, vec![state, status], &[2], ROUNDING));
    }
    cases
}

/// The tree sets of a golden model.
pub(super) fn sets(name: &str) -> Vec<TreeSet> {
    let (_, text) = GOLDEN.iter().find(|(golden, _)| *golden == name).expect("a golden model");
    let nothing = |path: &Path| Err(std::io::Error::other(format!("{}", path.display())));
    let imported = from_mjcf_str(name, text, &nothing, &ImportOptions::default()).expect("a golden model loads");
    compile(&imported.model, &Settings::default()).expect("a golden model compiles")
}

/// Trees of a set at random states, a lane each, up to their free velocities.
pub(super) fn random_tiles(set: &TreeSet, rng: &mut ChaCha8Rng) -> Vec<TreeTile<f64>> {
    let tile = |_| {
        let mut tile = TreeTile::new(&set.layout, &set.params[0]);
        tile.set(0, &random_state(&set.layout, rng));
        tile.free_velocity();
        tile
    };
    (0..LANES).map(tile).collect()
}

/// A state of a tree: positions within a radian, unit quaternions, moderate velocities, controls and forces.
pub(super) fn random_state(layout: &TreeLayout, rng: &mut ChaCha8Rng) -> Vec<f64> {
    let mut state: Vec<f64> = (0..layout.dims.n_state()).map(|_| rng.random_range(-1.0..1.0)).collect();
    for record in layout.tree().joints {
        let at = match record.kind {
            joint::FREE => record.q_begin as usize + 3,
            joint::BALL => record.q_begin as usize,
            _ => continue,
        };
        let norm = state[at..at + 4].iter().map(|x| x * x).sum::<f64>().sqrt();
        state[at..at + 4].iter_mut().for_each(|x| *x /= norm);
    }
    state
}

fn of_set(name: &str, set: &TreeSet, param_lanes: bool) -> Vec<Case> {
    use kernel::dynamics as k;
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let params = |lane: usize| -> Vec<f64> {
        // Each lane its own mass of the first body, as randomised worlds have.
        let mut own = set.params[0].clone();
        if param_lanes {
            own[manyworlds_shaders::dynamics::tree::param::HEADER
                + manyworlds_shaders::dynamics::tree::param::BODY_MASS] *= 1.0 + lane as f64 / 100.0;
        }
        own
    };
    let tiles: Vec<TreeTile<f64>> = (0..LANES)
        .map(|lane| {
            let mut tile = TreeTile::new(&set.layout, &params(lane));
            tile.set(0, &random_state(&set.layout, &mut rng));
            tile.free_velocity();
            tile
        })
        .collect();
    let of =
        |field: fn(&TreeTile<f64>) -> &Vec<f64>| Data::Lanes(tiles.iter().map(|tile| field(tile).clone()).collect());
    let empty = |field: fn(&TreeTile<f64>) -> &Vec<f64>| {
        Data::Lanes(tiles.iter().map(|tile| vec![0.0; field(tile).len()]).collect())
    };
    let status = || Data::LaneWords(vec![vec![0]; LANES]);
    let case_of = |integrator: u32, kernel: &'static Kernel, more: Vec<Data>, outputs: &[usize], tolerance| {
        let shared = if param_lanes { Data::Lanes((0..LANES).map(params).collect()) } else { Data::Shared(params(0)) };
        let mut buffers = vec![Data::Words(set.layout.topology.clone()), shared];
        buffers.extend(more);
        let mut dims = TreeOnly { tree: set.layout.dims };
        dims.tree.lanes = LANES as u32;
        dims.tree.param_lanes = u32::from(param_lanes);
        dims.tree.integrator = integrator;
        Case {
            name: format!("{name}, integrator {integrator}"),
            kernel,
            lanes: LANES,
            buffers,
            record: Box::new(move |recording, ids| {
                recording.dispatch(kernel, &dims, LANES as u32, ids);
            }),
            outputs: outputs.iter().map(|at| (*at, tolerance)).collect(),
            single: true,
            reversible: true,
        }
    };
    let case = |kernel, more, outputs: &[usize], tolerance| case_of(0, kernel, more, outputs, tolerance);
    let state = || of(|tile| &tile.state);
    let (pose, motion) = (|| of(|tile| &tile.pose), || of(|tile| &tile.motion));
    let work = || empty(|tile| &tile.work);
    // The theta method at a stage that is the state of another lane.
    let another = || Data::Lanes((0..LANES).map(|lane| tiles[(lane + 1) % LANES].state.clone()).collect());
    let theta = |integrator: u32| {
        let velocity = || of(|tile| &tile.velocity);
        [
            case_of(integrator, &k::STAGE, vec![state(), velocity(), empty(|tile| &tile.state)], &[4], ROUNDING),
            case_of(
                integrator,
                &k::BALANCE,
                vec![
                    state(),
                    another(),
                    of(|tile| &tile.mass),
                    of(|tile| &tile.bias),
                    empty(|t| &t.momentum),
                    empty(|t| &t.b),
                ],
                &[6, 7],
                ROUNDING,
            ),
            case_of(integrator, &k::INTEGRATE, vec![velocity(), state(), status()], &[3, 4], ROUNDING),
        ]
    };
    let mut cases = vec![
        case(&k::KINEMATICS, vec![state(), empty(|tile| &tile.pose), empty(|tile| &tile.motion)], &[3, 4], ROUNDING),
        case(&k::SPEED, vec![state(), pose(), motion(), speeds(&tiles)], &[5], ROUNDING),
        case(
            &k::BIAS,
            vec![state(), pose(), motion(), empty(|tile| &tile.twist), work(), empty(|tile| &tile.bias)],
            &[5, 7],
            ROUNDING,
        ),
        case(&k::INERTIA, vec![motion(), seeded_work(&tiles), empty(|tile| &tile.mass)], &[4], ROUNDING_OF_INERTIAS),
        case(
            &k::MOMENTUM,
            vec![state(), of(|tile| &tile.mass), of(|tile| &tile.bias), empty(|t| &t.momentum), empty(|t| &t.b)],
            &[5, 6],
            ROUNDING,
        ),
        case(
            &k::FACTOR,
            vec![
                of(|tile| &tile.momentum),
                of(|tile| &tile.b),
                empty(|tile| &tile.factor),
                empty(|tile| &tile.v_free),
                empty(|tile| &tile.velocity),
                status(),
            ],
            &[5, 6, 7],
            ROUNDING_OF_SOLVES,
        ),
        case(&k::INTEGRATE, vec![of(|tile| &tile.velocity), state(), status()], &[3, 4], ROUNDING),
    ];
    let dims = set.layout.dims;
    let act = |rng: &mut ChaCha8Rng| -> Data {
        let reals = Act::new(&dims).reals;
        Data::Lanes((0..LANES).map(|_| (0..reals).map(|_| rng.random_range(-1.0..1.0)).collect()).collect())
    };
    let zeros = |n: usize| Data::Lanes(vec![vec![0.0; n]; LANES]);
    let effort = case(
        &k::DERIVATIVES_EFFORT,
        vec![state(), of(|tile| &tile.mass), act(&mut rng), zeros(work_reals(&dims)), zeros(slope_reals(&dims))],
        &[5, 6],
        ROUNDING_OF_INERTIAS,
    );
    // Each is given what the mirror of the one before leaves.
    let after = effort.after().expect("a mirror runs");
    let [.., forces, work, slope] = &after[..] else { unreachable!("seven buffers") };
    let force = case(
        &k::DERIVATIVES_FORCE,
        vec![state(), pose(), motion(), forces.clone(), work.clone(), slope.clone()],
        &[6, 7],
        ROUNDING_OF_FORCES,
    );
    cases.extend([effort, force]);
    use manyworlds_shaders::dynamics::tree::integrator::{IMPLICIT_EULER, MIDPOINT, SYMPLECTIC_EULER};
    cases.extend([SYMPLECTIC_EULER, IMPLICIT_EULER, MIDPOINT].into_iter().flat_map(theta));
    cases
}

fn speeds(tiles: &[TreeTile<f64>]) -> Data {
    Data::Lanes(vec![vec![0.0; SPEED * tiles[0].layout.dims.n_body as usize]; tiles.len()])
}

/// What `bias` leaves in the scratch for `inertia`: the inertia of each body in world axes.
fn seeded_work(tiles: &[TreeTile<f64>]) -> Data {
    use manyworlds_shaders::dynamics::bias;
    use manyworlds_shaders::dynamics::tree::Params;
    let after_bias = |tile: &TreeTile<f64>| {
        let mut tile = tile.clone();
        bias::bias(
            &tile.layout.tree(),
            Params::Shared(&tile.params),
            &tile.state,
            &tile.pose,
            &tile.motion,
            &mut tile.twist,
            &mut tile.work,
            &mut tile.bias,
        );
        tile.work
    };
    Data::Lanes(tiles.iter().map(after_bias).collect())
}
