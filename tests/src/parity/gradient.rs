//! Cases of a step's Jacobian: trees in random states with random contacts on bodies, between them and of bodies with
//! themselves, none to five a lane, and with impulses of every mode. Contacts of several points on a body depend on each
//! other, so that ranks are below the numbers of unknowns. Each kernel is given what the mirror before it leaves in f64.

use std::path::Path;

use manyworlds_dynamics::{Settings, TreeSet, compile};
use manyworlds_model::{ImportOptions, from_mjcf_str};
use manyworlds_shaders::Kernel;
use manyworlds_shaders::contact::gradient::layout::{
    Adjoint, System, answer_reals, mobility_reals, shift_reals, side, sizes, slot_shift, touch, unknown, verdict,
};
use manyworlds_shaders::contact::gradient::{answer, back, mobility, sides, system};
use manyworlds_shaders::contact::tree_layout::{contact, map, row, row_stride, slot_reals};
use manyworlds_shaders::dynamics::derivatives::layout::{Act, slope_reals, work_reals};
use manyworlds_shaders::dynamics::tree::{NONE, TreeOnly};
use manyworlds_shaders::kernel::contact as k;
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use super::contact::{ROUNDING, random_slots};
use super::data::Parts;
use super::dynamics::{LANES, MODELS, pull, random_tiles, sets};
use super::{Case, Data, Tolerance};
use crate::dynamics::TreeTile;

/// Contacts of a lane at most.
const CONTACTS: usize = 5;

/// The same where there are more than a workgroup has invocations.
const MANY: usize = 40;

/// Gaps that close at less than this are closed, m/s.
const CLOSED: f32 = 1e-3;

/// Pivots below this part of the largest count as none: far above what rounding in f32 leaves of dependent rows.
const SMALLEST: f32 = 1e-3;

/// A body afloat with rows of every kind: bounds of a hinge and of a ball, dry friction, drives, a coupling.
const HELD: &str = r#"<mujoco><option timestep="0.002"/><worldbody><body pos="0 0 1"><freejoint/>
  <geom type="box" size="0.2 0.15 0.1" mass="2"/>
  <body pos="0.2 0 -0.1"><joint name="a" type="hinge" axis="0 1 0" range="-20 20" limited="true" armature="0.05"/>
    <geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.05" mass="1"/></body>
  <body pos="-0.2 0 -0.1"><joint name="b" type="hinge" axis="1 0 0" frictionloss="0.3" stiffness="2" armature="0.05"/>
    <geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.05" mass="1"/></body>
  <body pos="0 0 0.1"><joint name="c" type="ball" range="0 30" limited="true" armature="0.02"/>
    <geom type="capsule" fromto="0 0 0 0 0 0.3" size="0.05" mass="1"/></body>
</body></worldbody>
<equality><joint joint1="a" joint2="b" polycoef="0.1 0.5 0.3 0.2 -0.1"/></equality>
<actuator>
  <position joint="b" gear="1.5" kp="200" kv="2" forcerange="-5 5" forcelimited="true"/>
  <position joint="c" gear="0.3 0.5 -0.2" kp="100" forcerange="-2 2" forcelimited="true" ctrlrange="-0.5 0.5"
    ctrllimited="true"/>
  <motor joint="a" gear="2"/>
</actuator></mujoco>"#;

fn held() -> Vec<TreeSet> {
    let nothing = |path: &Path| Err(std::io::Error::other(format!("{}", path.display())));
    let loaded = from_mjcf_str("held.xml", HELD, &nothing, &ImportOptions::default()).expect("the model loads");
    compile(&loaded.model, &Settings::default()).expect("the model compiles")
}

pub(super) fn cases() -> Vec<Case> {
    let mut seen = [false; 8];
    let mut cases: Vec<_> = held().iter().flat_map(|set| of_set("held", set, CONTACTS, &mut seen)).collect();
    let many = held().iter().flat_map(|set| of_set("held, many contacts", set, MANY, &mut seen)).collect::<Vec<_>>();
    let regular =
        [&k::GRADIENT_ACTING, &k::GRADIENT_SIDES, &k::GRADIENT_SHIFTS, &k::GRADIENT_WRENCHES, &k::GRADIENT_ROW_SHIFTS]
            .map(|kernel| kernel.name);
    cases.extend(many.into_iter().filter(|case| !regular.contains(&case.kernel.name)).map(in_double));
    for name in MODELS {
        for (at, set) in sets(name).iter().enumerate().filter(|(_, set)| set.layout.dims.n_block == 0) {
            let more = of_set(&format!("{name}, set {at}"), set, CONTACTS, &mut seen).into_iter();
            cases.extend(more.map(|case| if regular.contains(&case.kernel.name) { case } else { in_double(case) }));
        }
    }
    assert_eq!(seen, [true; 8], "the random contacts are of every mode");
    cases
}

/// Where most rows of contacts depend on each other f32 leaves no digits of the rest: such are compared in f64 only.
fn in_double(case: Case) -> Case {
    Case { single: false, ..case }
}

fn case<D: bytemuck::Pod>(
    name: &str,
    kernel: &'static Kernel,
    dims: D,
    items: u32,
    buffers: Vec<Data>,
    outputs: &[(usize, Tolerance)],
) -> Case {
    Case {
        name: name.to_string(),
        kernel,
        lanes: LANES,
        buffers,
        record: Box::new(move |recording, ids| {
            recording.dispatch(kernel, &dims, items, ids);
        }),
        outputs: outputs.to_vec(),
        single: true,
        reversible: true,
    }
}

/// The slots of one lane: records of contacts, what they join, how they move, impulses.
struct Slots {
    contacts: Vec<f64>,
    words: Vec<u32>,
    touch: Vec<f64>,
    impulse: Vec<f64>,
}

impl Slots {
    fn random(lane: usize, most: usize, tile: &TreeTile<f64>, rng: &mut ChaCha8Rng) -> Self {
        let (mut contacts, mut words) = random_slots(tile, lane % 6 * most / 5, true, rng);
        let count = words.len() / map::SIZE;
        let (mut touched, mut impulse) = (Vec::new(), Vec::new());
        for s in 0..count {
            // Every third lane a contact twice: of equal pivots the first is taken.
            if s == 1 && lane % 3 == 1 {
                contacts.copy_within(..contact::SIZE, contact::SIZE);
                words.copy_within(..map::SIZE, map::SIZE);
                touched.extend_from_within(..);
                impulse.extend_from_within(..);
                continue;
            }
            let record = &mut contacts[s * contact::SIZE..][..contact::SIZE];
            let word = &mut words[s * map::SIZE..][..map::SIZE];
            // Every other lane one of a body with itself.
            if s == 2 && lane.is_multiple_of(2) {
                word[map::BODY_A] = word[map::BODY_B];
            }
            // Mostly gaps and violations that a step would undo slowly; some just closed.
            record[contact::DISTANCE] *= [0.02, 0.05, 0.01, 1.0, 0.0][(s + lane) % 5];
            record[contact::FRICTION] = if (s + lane) % 4 == 3 { 0.0 } else { rng.random_range(0.3..1.0) };
            touched
                .extend([map::BODY_A, map::BODY_B].map(|at| if word[at] == NONE { -1.0 } else { f64::from(word[at]) }));
            touched.extend((0..3).map(|e| record[contact::POINT + e] - tile.pose[e]));
            touched.extend(&record[contact::NORMAL..contact::NORMAL + 3]);
            touched.push(record[contact::DISTANCE]);
            touched.extend((0..touch::SIZE - touch::SLOPES).map(|_| rng.random_range(-1.0..1.0)));
            impulse.extend(random_impulse(s + lane / 2, record[contact::FRICTION], rng));
        }
        Self { contacts, words, touch: touched, impulse }
    }

    /// Zeros of each slot, and NaNs from field `first` on where it carries nothing.
    fn blank(&self, fields: usize, first: usize) -> Vec<f64> {
        let slot = |touch: &[f64]| {
            let nothing = touch[touch::BODIES] < 0.0 && touch[touch::BODIES + 1] < 0.0;
            (0..fields).map(move |field| if nothing && first <= field { f64::NAN } else { 0.0 })
        };
        self.touch.chunks(touch::SIZE).flat_map(slot).collect()
    }
}

/// Of every mode: none, inside the cone, on it, any.
fn random_impulse(kind: usize, friction: f64, rng: &mut ChaCha8Rng) -> [f64; 3] {
    let (normal, turn): (f64, f64) = (rng.random_range(0.1..0.5), rng.random_range(0.0..6.0));
    let across = friction * normal * [0.0, rng.random_range(0.0..0.3), 1.0, 0.9][kind % 4];
    if kind.is_multiple_of(4) { [0.0; 3] } else { [across * turn.cos(), across * turn.sin(), normal] }
}

/// Of every mode: none, at either bound, between them.
fn random_row_impulses(lane: usize, rows: &mut [f64], stride: usize, rng: &mut ChaCha8Rng) {
    for (r, own) in rows.chunks_mut(stride).enumerate() {
        let (lower, upper) = (own[row::LOWER].max(-0.1), own[row::UPPER].min(0.1));
        own[row::IMPULSE] = match (lane + r) % 4 {
            0 => 0.0,
            1 => lower,
            2 => upper,
            _ => rng.random_range(0.1..0.9) * (upper - lower) + lower,
        };
    }
}

fn of_set(name: &str, set: &TreeSet, most: usize, seen: &mut [bool; 8]) -> Vec<Case> {
    let mut rng = ChaCha8Rng::seed_from_u64(13);
    let mut tree = TreeOnly { tree: set.layout.dims };
    tree.tree.lanes = LANES as u32;
    let dims = tree.tree;
    let (n_v, n_row, stride) = (dims.n_v as usize, dims.n_row as usize, row_stride(dims.n_v as usize, dims.row_width));
    let tiles = random_tiles(set, &mut rng);
    let slots: Vec<_> =
        tiles.iter().enumerate().map(|(lane, tile)| Slots::random(lane, most, tile, &mut rng)).collect();
    let counts: Vec<_> = slots.iter().map(|slots| slots.words.len() / map::SIZE).collect();
    let widest = counts.iter().copied().max().unwrap_or_default();

    let of =
        |field: fn(&TreeTile<f64>) -> &Vec<f64>| Data::Lanes(tiles.iter().map(|tile| field(tile).clone()).collect());
    let zeros = |n: usize| Data::Lanes(vec![vec![0.0; n]; LANES]);
    let of_slots = |fields: usize, field: fn(&Slots) -> &Vec<f64>| Data::Slots {
        fields,
        lanes: slots.iter().map(|slots| field(slots).clone()).collect(),
    };
    let zero_slots =
        |fields: usize| Data::Slots { fields, lanes: counts.iter().map(|count| vec![0.0; count * fields]).collect() };
    let maps = || Data::SlotWords { fields: map::SIZE, lanes: slots.iter().map(|slots| slots.words.clone()).collect() };
    let with = |more: Vec<Data>| -> Vec<Data> {
        [Data::Words(set.layout.topology.clone()), Data::Shared(set.params[0].clone())]
            .into_iter()
            .chain(more)
            .collect()
    };
    let left = |case: &Case, at: usize| case.after().expect("the mirror runs")[at].clone();
    let places = |of: usize| Data::Places { of, dims };
    // A contact that carries nothing has its bodies in `side`, and else nothing that anybody may read.
    let blank_side =
        Data::Slots { fields: side::SIZE, lanes: slots.iter().map(|slots| slots.blank(side::SIZE, 2)).collect() };
    let blank_shift = |reals: usize| {
        let lane = |slots: &Slots| {
            let mut own = slots.blank(slot_shift(dims.n_v as usize), 0);
            own.resize(reals, 0.0);
            own
        };
        Data::Ragged { parts: Parts::Shift, dims, slots: counts.clone(), lanes: slots.iter().map(lane).collect() }
    };
    let lanes = LANES as u32;
    let of_tree = |kernel, more, outputs: &[(usize, Tolerance)]| case(name, kernel, tree, lanes, with(more), outputs);

    // The step's own constraints.
    let jacobian = of_tree(
        &k::TREE_JACOBIAN,
        vec![
            of(|tile| &tile.pose),
            of(|tile| &tile.motion),
            of_slots(contact::SIZE, |slots| &slots.contacts),
            maps(),
            Data::SlotTable(4),
            zero_slots(slot_reals(n_v)),
        ],
        &[(7, ROUNDING)],
    );
    let assemble = of_tree(
        &k::TREE_ASSEMBLE,
        vec![of(|t| &t.factor), of(|t| &t.state), Data::SlotTable(5), left(&jacobian, 7)],
        &[(5, ROUNDING)],
    );
    let constraint = left(&assemble, 5);
    let rows = of_tree(
        &k::TREE_ROWS,
        vec![of(|tile| &tile.state), of(|tile| &tile.factor), pull(&tiles), zeros(n_row * stride)],
        &[(5, ROUNDING)],
    );
    let mut rows = left(&rows, 5);
    if let Data::Lanes(lanes) = &mut rows {
        lanes.iter_mut().enumerate().for_each(|(lane, own)| random_row_impulses(lane, own, stride, &mut rng));
    }
    let velocity = Data::Lanes((0..LANES).map(|_| (0..n_v).map(|_| rng.random_range(-0.2..0.2)).collect()).collect());
    let random_slope = (0..LANES).map(|_| (0..slope_reals(&dims)).map(|_| rng.random_range(-1.0..1.0)).collect());
    let random_slope = Data::Lanes(random_slope.collect());

    let acting = of_tree(
        &k::GRADIENT_ACTING,
        vec![
            of(|tile| &tile.motion),
            velocity.clone(),
            places(6),
            of_slots(touch::SIZE, |slots| &slots.touch),
            of_slots(3, |slots| &slots.impulse),
            zeros(Act::new(&dims).reals),
        ],
        &[(7, ROUNDING)],
    );
    let act = left(&acting, 7);
    let closed = sides::Dims { tree: dims, closed: CLOSED.to_bits() };
    let sides = case(
        name,
        &k::GRADIENT_SIDES,
        closed,
        lanes,
        with(vec![
            places(3),
            of_slots(3, |slots| &slots.impulse),
            of_slots(touch::SIZE, |slots| &slots.touch),
            act.clone(),
            blank_side,
        ]),
        &[(6, ROUNDING)],
    );
    let shift = blank_shift(shift_reals(&dims, widest));
    let shifts = of_tree(
        &k::GRADIENT_SHIFTS,
        vec![places(5), of(|tile| &tile.motion), act.clone(), left(&sides, 6), shift],
        &[(6, ROUNDING)],
    );
    let wrenches = of_tree(
        &k::GRADIENT_WRENCHES,
        vec![places(4), of(|tile| &tile.motion), left(&sides, 6), act.clone(), random_slope],
        &[(5, ROUNDING), (6, ROUNDING)],
    );
    let row_shifts = case(
        name,
        &k::GRADIENT_ROW_SHIFTS,
        closed,
        lanes,
        with(vec![
            of(|tile| &tile.state),
            rows.clone(),
            velocity.clone(),
            places(6),
            left(&shifts, 6),
            left(&wrenches, 6),
        ]),
        &[(6, ROUNDING), (7, ROUNDING)],
    );
    let (shift, slope) = (left(&row_shifts, 6), left(&row_shifts, 7));
    let [n_v, n_input, n_row] = sizes(&dims);
    let system = |whole: bool| {
        let sizes_of = system::Dims { lanes, n_v, n_input, n_row, smallest: SMALLEST.to_bits(), whole: whole.into() };
        let out = Data::Ragged {
            parts: Parts::System,
            dims,
            slots: counts.clone(),
            lanes: vec![vec![0.0; System::new(sizes(&dims), widest).reals]; LANES],
        };
        let impulse = of_slots(3, |slots| &slots.impulse);
        let buffers = vec![places(1), constraint.clone(), rows.clone(), impulse, velocity.clone(), shift.clone(), out];
        let name = format!("{name}{}", if whole { "" } else { ", for products" });
        case(&name, &k::GRADIENT_SYSTEM, sizes_of, lanes, buffers, &[(6, ROUNDING)])
    };
    let [system, for_products] = [true, false].map(system);
    let equations = left(&system, 6);
    seen.iter_mut().zip(modes(f64::from(n_row), &equations)).for_each(|(seen, now)| *seen |= now);
    let mobility = case(
        name,
        &k::GRADIENT_MOBILITY,
        tree,
        mobility::items(&dims),
        with(vec![of(|tile| &tile.factor), places(4), equations, zeros(mobility_reals(&dims))]),
        &[(4, ROUNDING), (5, ROUNDING)],
    );
    let answer = case(
        name,
        &k::GRADIENT_ANSWER,
        tree,
        answer::items(&dims),
        with(vec![slope.clone(), left(&mobility, 5), places(5), left(&mobility, 4), zeros(answer_reals(&dims))]),
        &[(5, ROUNDING), (6, ROUNDING)],
    );
    let by_velocity = |rng: &mut ChaCha8Rng| {
        let mut own: Vec<_> = (0..n_v).map(|_| rng.random_range(-1.0..1.0)).collect();
        own.resize(Adjoint::new(&dims).reals, 0.0);
        own
    };
    let given = Data::Lanes((0..LANES).map(|_| by_velocity(&mut rng)).collect());
    let adjoint = of_tree(
        &k::GRADIENT_ADJOINT,
        vec![of(|tile| &tile.factor), places(4), constraint.clone(), rows.clone(), left(&for_products, 6), given],
        &[(6, ROUNDING), (7, ROUNDING)],
    );
    let follow = of_tree(
        &k::GRADIENT_FOLLOW,
        vec![places(4), of(|tile| &tile.motion), left(&sides, 6), act.clone(), left(&adjoint, 7)],
        &[(6, ROUNDING)],
    );
    // What `effort` leaves: accelerations.
    let accelerations = |rng: &mut ChaCha8Rng| {
        let mut own: Vec<_> = (0..n_v).map(|_| rng.random_range(-1.0..1.0)).collect();
        own.resize(work_reals(&dims), 0.0);
        own
    };
    let accelerations = Data::Lanes((0..LANES).map(|_| accelerations(&mut rng)).collect());
    let momentum = of_tree(
        &k::GRADIENT_MOMENTUM,
        vec![
            of(|tile| &tile.state),
            of(|tile| &tile.pose),
            of(|tile| &tile.motion),
            act,
            accelerations,
            left(&follow, 6),
        ],
        &[(7, ROUNDING)],
    );
    let back = case(
        name,
        &k::GRADIENT_BACK,
        tree,
        back::items(&dims),
        with(vec![slope, places(6), rows.clone(), shift.clone(), left(&adjoint, 6), left(&momentum, 7)]),
        &[(7, ROUNDING)],
    );
    let mut cases =
        vec![acting, sides, shifts, wrenches, follow, momentum, system, for_products, mobility, answer, adjoint, back];
    if n_row > 0 {
        cases.push(row_shifts);
    }
    cases
}

/// What a test of the equations must have: lanes without unknowns; independent ones; dependent ones, also while friction
/// slides, so that B is not symmetric; rows that are held; contacts that slide, stick, and are without friction.
fn modes(n_row: f64, equations: &Data) -> [bool; 8] {
    let Data::Ragged { lanes, .. } = equations else { unreachable!("equations are ragged") };
    let mut seen = [false; 8];
    for own in lanes {
        let (count, rank) = (own[verdict::SIZE_OF] as usize, own[verdict::RANK] as usize);
        let list: Vec<_> = own[verdict::SIZE..].chunks(unknown::SIZE).take(count).collect();
        let contacts = || list.iter().filter(|u| u[unknown::FIRST] >= n_row);
        let along = |u: &[f64], k: usize| u[unknown::DIRECTION + k] == 1.0;
        let of_same = |u: &[f64]| list.iter().filter(|other| other[unknown::FIRST] == u[unknown::FIRST]).count();
        let now = [
            count == 0,
            count > 0 && rank == count,
            rank < count,
            rank < count && own[verdict::LEFT] > 1e-6,
            contacts().count() < count,
            contacts().any(|u| u[unknown::DIAGONAL] > 0.0),
            contacts().any(|u| along(u, 0)),
            contacts().any(|u| along(u, 2) && of_same(u) == 1),
        ];
        seen.iter_mut().zip(now).for_each(|(seen, now)| *seen |= now);
    }
    seen
}
