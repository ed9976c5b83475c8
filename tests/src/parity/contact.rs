//! Cases of the tree path of contact: random contacts on trees in random states, none to three a lane. Each kernel is
//! given what the mirrors before it leave in f64, so that a fault of one shows in its own case.

use std::path::Path;

use manyworlds_dynamics::{Settings, TreeSet, compile};
use manyworlds_model::{ImportOptions, from_mjcf_str};
use manyworlds_shaders::Kernel;
use manyworlds_shaders::contact::tree_acting;
use manyworlds_shaders::contact::tree_layout::{
    LaneDims, contact, info, map, phase, row_stride, slot_reals, work_reals,
};
use manyworlds_shaders::dynamics::tree::{NONE, POSE, TreeOnly, integrator, status};
use manyworlds_shaders::kernel::contact as k;
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use super::dynamics::{LANES, MODELS, pull, random_tiles, sets};
use super::{Case, Data, EXACT, Tolerance};
use crate::dynamics::TreeTile;

pub(super) const ROUNDING: Tolerance = Tolerance {
    f32: 5e-4,
    f64: 1e-9,
    reason: "round-off, times the condition number of the momentum matrix, in f64 also of regularised singular blocks",
};
pub(super) const ITERATED: Tolerance = Tolerance {
    f32: 5e-3,
    f64: 1e-7,
    reason: "as ROUNDING, carried through sweeps and Newton steps whose matrix is regularised as those blocks are",
};

/// Contacts of a lane at most.
const CONTACTS: usize = 3;
/// Rows that every lane has room for, as many as a device gives small trees: a pipeline of [`k::TREE_GROUP`] is compiled for their number.
const MOST_ROWS: usize = 64;

/// A body afloat with two legs: its root makes the block of every contact with the ground regular, so that f32 has digits
/// to compare. The golden models have trees of one and two dofs, and contacts between neighbours, whose blocks are
/// singular: what f32 makes of those is mostly round-off, so they are compared in f64 only.
const AFLOAT: &str = r#"<mujoco><option timestep="0.002"/><worldbody><body pos="0 0 1"><freejoint/>
  <geom type="box" size="0.2 0.15 0.1" mass="2"/>
  <body pos="0.2 0 -0.1"><joint type="hinge" axis="0 1 0" range="-20 20" limited="true" damping="0.1" armature="0.05"/>
    <geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.05" mass="1"/></body>
  <body pos="-0.2 0 -0.1"><joint type="hinge" axis="1 0 0" frictionloss="0.3" stiffness="2" armature="0.05"/>
    <geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.05" mass="1"/></body>
</body></worldbody></mujoco>"#;

/// Rows of tendons, one of them wider than any of a joint, and one of two tendons with a joint in common.
const TETHERED: &str = r#"<mujoco><worldbody>
  <site name="post" pos="0.1 0.3 0.9"/>
  <body pos="0 0 0.6"><freejoint/>
    <geom type="box" size="0.2 0.15 0.1" mass="2"/><site name="back" pos="0 0.15 0.1"/>
    <body pos="0.2 0 -0.1"><joint name="a" type="hinge" axis="0 1 0" armature="0.05"/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.05" mass="1"/><site name="foot" pos="0 0 -0.3"/></body>
    <body pos="-0.2 0 -0.1"><joint name="b" type="hinge" axis="1 0 0" stiffness="2" armature="0.05"/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.05" mass="1"/><site name="heel" pos="0 0 -0.3"/></body>
  </body></worldbody>
  <tendon>
    <spatial name="leash" limited="true" range="0 0.4"><site site="post"/><site site="back"/><site site="foot"/></spatial>
    <spatial name="sling" frictionloss="0.7"><site site="foot"/><site site="heel"/></spatial>
    <fixed name="sum" limited="true" range="-0.1 0.1"><joint joint="a" coef="0.7"/><joint joint="b" coef="-1.2"/></fixed>
    <fixed name="turn"><joint joint="b" coef="2"/></fixed>
  </tendon>
  <equality><tendon tendon1="sum" tendon2="turn" polycoef="0.1 0.5 0.2 0.05 -0.02"/></equality>
</mujoco>"#;

/// Two rows of tendons, one wider than any of a joint.
const LEASHED: &str = r#"<mujoco><worldbody>
  <site name="post" pos="0.1 0.3 0.9"/>
  <body pos="0 0 0.6"><freejoint/>
    <geom type="box" size="0.2 0.15 0.1" mass="2"/>
    <body pos="0.2 0 -0.1"><joint name="a" type="hinge" axis="0 1 0" armature="0.1"/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.05" mass="1"/><site name="foot" pos="0 0 -0.1"/></body>
    <body pos="-0.2 0 -0.1"><joint name="b" type="hinge" axis="1 0 0" stiffness="2" armature="0.1"/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.05" mass="1"/></body>
  </body></worldbody>
  <tendon>
    <spatial name="leash" limited="true" range="0 0.4"><site site="post"/><site site="foot"/></spatial>
    <fixed name="sum"><joint joint="a" coef="0.7"/><joint joint="b" coef="-1.2"/></fixed>
    <fixed name="turn"><joint joint="b" coef="2"/></fixed>
  </tendon>
  <equality><tendon tendon1="sum" tendon2="turn" polycoef="0.1 0.5 0.2 0.05 -0.02"/></equality>
</mujoco>"#;

fn model(text: &str) -> Vec<TreeSet> {
    let nothing = |path: &Path| Err(std::io::Error::other(format!("{}", path.display())));
    let loaded = from_mjcf_str("model.xml", text, &nothing, &ImportOptions::default()).expect("the model loads");
    compile(&loaded.model, &Settings::default()).expect("the model compiles")
}

pub(super) fn afloat() -> Vec<TreeSet> {
    model(AFLOAT)
}

pub(super) fn leashed() -> Vec<TreeSet> {
    model(LEASHED)
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases: Vec<_> = afloat().iter().flat_map(|set| of_set("afloat", set, false)).collect();
    cases.extend(model(TETHERED).iter().flat_map(|set| of_set("tethered", set, false)));
    for name in MODELS {
        for (at, set) in sets(name).iter().enumerate() {
            let mut more = of_set(&format!("{name}, set {at}"), set, true);
            let regular = [k::TREE_JACOBIAN.name, k::TREE_ROWS.name, k::TREE_WARM.name];
            more.iter_mut().for_each(|case| case.single = regular.contains(&case.kernel.name));
            cases.extend(more);
        }
    }
    cases
}

fn case<D: bytemuck::Pod>(
    name: &str,
    kernel: &'static Kernel,
    dims: D,
    buffers: Vec<Data>,
    outputs: &[(usize, Tolerance)],
) -> Case {
    Case {
        name: name.to_string(),
        kernel,
        lanes: LANES,
        buffers,
        record: Box::new(move |recording, ids| {
            recording.dispatch(kernel, &dims, LANES as u32, ids);
        }),
        outputs: outputs.to_vec(),
        single: true,
        reversible: true,
    }
}

/// The slots of one lane: the tree's blocks, then contacts near its bodies, with the ground or also `between` bodies.
pub(super) fn random_slots(
    tile: &TreeTile<f64>,
    contacts: usize,
    between: bool,
    rng: &mut ChaCha8Rng,
) -> (Vec<f64>, Vec<u32>) {
    let dims = &tile.layout.dims;
    let (mut reals, mut words) = (Vec::new(), Vec::new());
    for _ in 0..dims.n_block {
        reals.extend([0.0; contact::SIZE]);
        words.extend([map::BLOCK, NONE, NONE, 0]);
    }
    for i in 0..contacts {
        let body = rng.random_range(0..dims.n_body);
        let other = if between && dims.n_body > 1 && i == 1 { (body + 1) % dims.n_body } else { NONE };
        let mut normal: [f64; 3] = std::array::from_fn(|_| rng.random_range(-1.0..1.0));
        let norm = normal.iter().map(|x| x * x).sum::<f64>().sqrt();
        normal.iter_mut().for_each(|x| *x /= norm);
        let at = body as usize * POSE;
        let point: [f64; 3] = std::array::from_fn(|e| tile.pose[at + e] + rng.random_range(-0.1..0.1));
        reals.extend(point);
        reals.extend(normal);
        reals.extend([rng.random_range(-0.01..0.01), 0.6, if i == 2 { 0.5 } else { 0.0 }]);
        reals.extend(if i > 0 { [0.3, -0.2, 0.1] } else { [0.0; 3] });
        let warm = rng.random_range(0..=contacts as u32) + dims.n_block;
        words.extend([map::CONTACT, other, body, warm]);
    }
    (reals, words)
}

fn of_set(name: &str, set: &TreeSet, between: bool) -> Vec<Case> {
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let mut tree = TreeOnly { tree: set.layout.dims };
    tree.tree.lanes = LANES as u32;
    let (n_v, n_row, n_block) = (tree.tree.n_v as usize, tree.tree.n_row as usize, tree.tree.n_block as usize);
    let width = tree.tree.row_width;
    let tiles = random_tiles(set, &mut rng);
    let of =
        |field: fn(&TreeTile<f64>) -> &Vec<f64>| Data::Lanes(tiles.iter().map(|tile| field(tile).clone()).collect());
    let zeros = |n: usize| Data::Lanes(vec![vec![0.0; n]; LANES]);
    let slots: Vec<_> =
        tiles.iter().enumerate().map(|(l, t)| random_slots(t, l % (CONTACTS + 1), between, &mut rng)).collect();
    let zero_slots = |fields: usize| Data::Slots {
        fields,
        lanes: slots.iter().map(|(_, words)| vec![0.0; words.len() / map::SIZE * fields]).collect(),
    };
    let contacts =
        || Data::Slots { fields: contact::SIZE, lanes: slots.iter().map(|(reals, _)| reals.clone()).collect() };
    let maps = || Data::SlotWords { fields: map::SIZE, lanes: slots.iter().map(|(_, words)| words.clone()).collect() };
    let impulses = Data::Slots {
        fields: 3,
        lanes: slots
            .iter()
            .map(|(_, w)| (0..w.len() / map::SIZE * 3).map(|_| rng.random_range(-0.1..0.3)).collect())
            .collect(),
    };
    let constants = || [Data::Words(set.layout.topology.clone()), Data::Shared(set.params[0].clone())];
    let with = |more: Vec<Data>| constants().into_iter().chain(more).collect::<Vec<_>>();
    let left = |case: &Case, at: usize| case.after().expect("the mirror runs")[at].clone();

    let jacobian = case(
        name,
        &k::TREE_JACOBIAN,
        tree,
        with(vec![
            of(|tile| &tile.pose),
            of(|tile| &tile.motion),
            contacts(),
            maps(),
            Data::SlotTable(4),
            zero_slots(slot_reals(n_v)),
        ]),
        &[(7, ROUNDING)],
    );
    let assemble = case(
        name,
        &k::TREE_ASSEMBLE,
        tree,
        with(vec![of(|t| &t.factor), of(|t| &t.state), Data::SlotTable(5), left(&jacobian, 7)]),
        &[(5, ROUNDING)],
    );
    let constraint = left(&assemble, 5);
    let rows = case(
        name,
        &k::TREE_ROWS,
        tree,
        with(vec![
            of(|tile| &tile.state),
            of(|tile| &tile.factor),
            pull(&tiles),
            zeros(n_row * row_stride(n_v, width)),
        ]),
        &[(5, ROUNDING)],
    );
    let row = left(&rows, 5);
    let acting = case(
        name,
        &k::TREE_ACTING,
        tree,
        with(vec![
            of(|tile| &tile.state),
            pull(&tiles),
            Data::LaneWords(vec![vec![0; tree_acting::words(n_row)]; LANES]),
        ]),
        &[(4, EXACT)],
    );
    let mut midway = tree;
    midway.tree.integrator = integrator::MIDPOINT;
    let midway = case(
        &format!("{name}, midpoint"),
        &k::TREE_ROWS,
        midway,
        with(vec![
            of(|tile| &tile.state),
            of(|tile| &tile.factor),
            pull(&tiles),
            zeros(n_row * row_stride(n_v, width)),
        ]),
        &[(5, ROUNDING)],
    );
    assert!(3 * (CONTACTS + n_block) + n_row <= MOST_ROWS, "{name}: {n_block} blocks, {n_row} rows");
    let lane = LaneDims {
        lanes: LANES as u32,
        n_v: n_v as u32,
        n_row: n_row as u32,
        row_width: width,
        sweeps: 8,
        // A lane never converges: how many sweeps it takes would hang on the last bit.
        tolerance: (-1.0_f32).to_bits(),
        rows: MOST_ROWS as u32,
        newton: 0,
        phases: phase::ALL,
        budget: 8,
        stride: LANES as u32,
    };
    let warm = case(
        name,
        &k::TREE_WARM,
        lane,
        vec![Data::SlotTable(1), maps(), impulses.clone(), zero_slots(3)],
        &[(3, EXACT)],
    );
    let solve = |kernel: &'static Kernel, name: String, word: u32, dims: LaneDims, outputs: &[(usize, Tolerance)]| {
        case(
            &name,
            kernel,
            dims,
            vec![
                Data::SlotTable(1),
                constraint.clone(),
                row.clone(),
                impulses.clone(),
                of(|tile| &tile.v_free),
                zeros(info::reals(n_v)),
                Data::LaneWords(vec![vec![word]; LANES]),
                zeros(work_reals(MOST_ROWS)),
            ],
            outputs,
        )
    };
    let swept = [(3, ITERATED), (4, ITERATED), (6, EXACT)];
    // Too large to be written out: sweeps on the velocity.
    let large = LaneDims { rows: 0, ..lane };
    let newton = LaneDims { sweeps: 12, budget: 12, newton: 1, ..lane };
    // Requests give way.
    let tolerance = 1e-9_f32.to_bits();
    let relaxes = LaneDims { sweeps: 60, budget: 60, tolerance, ..newton };
    let word = status::GAVE_WAY | status::UNTIL_ASKED_ONE;
    let given = [(1, ITERATED), (2, ITERATED), (4, ITERATED), (6, EXACT)];
    let mut solves = Vec::new();
    for kernel in [&k::TREE_PGS, &k::TREE_GROUP] {
        solves.push(solve(kernel, format!("{name}, sweeps"), 0, lane, &swept));
        solves.push(solve(kernel, format!("{name}, large"), 0, large, &swept));
        let relaxed = solve(kernel, format!("{name}, relaxed"), word, relaxes, &given);
        solves.push(Case { single: false, ..relaxed });
        // Three random contacts on a tree of one to three dofs often contradict each other: such a problem has no solution,
        // Newton steps wander for good, and which are taken hangs on the last bit. Every lane of AFLOAT is solved.
        if !between {
            solves.push(solve(kernel, format!("{name}, Newton"), 0, newton, &[(4, ITERATED)]));
        }
    }
    let sweeps = &solves[0];
    let push = case(
        name,
        &k::TREE_PUSH,
        lane,
        vec![
            Data::SlotTable(2),
            of(|tile| &tile.b),
            constraint.clone(),
            left(sweeps, 3),
            row.clone(),
            zeros(info::reals(n_v)),
        ],
        &[(5, ROUNDING)],
    );
    let certify = case(
        name,
        &k::TREE_CERTIFY,
        tree,
        with(vec![
            Data::SlotTable(4),
            of(|tile| &tile.factor),
            constraint.clone(),
            left(sweeps, 3),
            row.clone(),
            left(&push, 5),
        ]),
        &[(7, ROUNDING)],
    );
    let mut cases = vec![jacobian, assemble, warm, push, certify];
    cases.extend(solves);
    if n_row > 0 {
        cases.extend([rows, midway]);
        // Laws are those of rows; few states of the other trees are near a limit.
        cases.extend(between.then_some(acting));
    }
    cases
}
