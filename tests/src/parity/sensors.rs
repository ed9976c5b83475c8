//! Cases of the sensors' kernels, over random states of the trees of a golden model that has sensors of every kind.

use bytemuck::cast_slice;
use manyworlds_dynamics::TreeSet;
use manyworlds_shaders::contact::tree_layout::row_stride;
use manyworlds_shaders::dynamics::load::{self, LANE, LoadItem, PLACE};
use manyworlds_shaders::dynamics::sensors::SensorDims;
use manyworlds_shaders::dynamics::tree::{SPATIAL, TreeOnly, status};
use manyworlds_shaders::{Kernel, kernel};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use super::dynamics::{LANES, random_tiles, sets};
use super::{Case, Data, Record, Tolerance};
use crate::dynamics::TreeTile;

const ROUNDING: Tolerance = Tolerance {
    f32: 1e-4,
    f64: 1e-12,
    reason: "sums over the bodies of a subtree, of terms that cancel, contracted to fused multiply-adds in other places",
};

pub(super) fn cases() -> Vec<Case> {
    let sets = [sets("sensors"), sets("outside")].concat();
    assert!(sets.iter().any(|set| set.layout.sensors().is_some_and(|sensors| sensors.header.n_given > 0)));
    let with_sensors = sets.iter().enumerate().filter(|(_, set)| set.layout.sensor_at.is_some());
    with_sensors.flat_map(|(at, set)| of_set(&format!("sensors, set {at}"), set)).collect()
}

fn of_set(name: &str, set: &TreeSet) -> Vec<Case> {
    use kernel::dynamics as k;
    let mut rng = ChaCha8Rng::seed_from_u64(23);
    let mut tree = set.layout.dims;
    tree.lanes = LANES as u32;
    let header = set.layout.sensors().expect("sensors").header;
    let dims = SensorDims { tree, sensor_at: set.layout.sensor_at.expect("sensors") };
    let tiles = random_tiles(set, &mut rng);
    let of =
        |field: fn(&TreeTile<f64>) -> &Vec<f64>| Data::Lanes(tiles.iter().map(|tile| field(tile).clone()).collect());
    let mut random = |n: u32| {
        let mut lane = || (0..n.max(1)).map(|_| rng.random_range(-1.0..1.0)).collect();
        Data::Lanes((0..LANES).map(|_| lane()).collect())
    };
    let case = |kernel: &'static Kernel, record: Record, more: Vec<Data>, output: usize| {
        let mut buffers = vec![Data::Words(set.layout.topology.clone()), Data::Shared(set.params[0].clone())];
        buffers.extend(more);
        let outputs = vec![(output, ROUNDING)];
        Case { name: name.into(), kernel, lanes: LANES, buffers, record, outputs, single: true, reversible: true }
    };
    let (state, pose, motion) = (of(|tile| &tile.state), of(|tile| &tile.pose), of(|tile| &tile.motion));
    let (twist, velocity) = (of(|tile| &tile.twist), of(|tile| &tile.velocity));
    let pull = if tree.n_pull > 0 { of(|tile| &tile.pull) } else { random(1) };
    let n_six = SPATIAL as u32 * tree.n_body;
    let readings = random(header.n_reading);
    let given = random(header.n_given);
    let at_state = vec![state.clone(), pose.clone(), twist.clone(), pull, given, readings.clone()];
    let moving = vec![state, motion, twist.clone(), velocity, random(n_six)];
    let mut cases = vec![
        case(&k::SENSE, dispatch(&k::SENSE, dims), at_state, 7),
        case(&k::ACCELERATE, dispatch(&k::ACCELERATE, TreeOnly { tree }), moving, 6),
    ];
    // Some lanes are held, some do not move any more.
    let word = |lane: usize| [0, status::CONVERGED, status::HELD, status::FROZEN, status::SHARED][lane % 5];
    let words = Data::LaneWords((0..LANES).map(|lane| vec![word(lane)]).collect());
    let (acceleration, given) = (random(n_six), random(header.n_load));
    let (limited, held) = (readings.clone(), words.clone());
    let buffers = vec![pose.clone(), twist, acceleration, given, readings, words];
    cases.push(case(&k::FEEL, dispatch(&k::FEEL, dims), buffers, 6));
    let rows = random(tree.n_row * row_stride(tree.n_v as usize, tree.row_width) as u32);
    cases.push(case(&k::BOUND, dispatch(&k::BOUND, dims), vec![rows, limited, held], 3));
    if header.n_load > 0 {
        let (items, places) = loads(tree.n_body, &mut rng);
        let flat = |n: usize, rng: &mut ChaCha8Rng| (0..n).map(|_| rng.random_range(-1.0..1.0)).collect::<Vec<f64>>();
        let impulses = Data::Lanes((0..LANES).map(|_| flat(3, &mut rng)).collect());
        let islands = Data::Flat { values: flat(3 * ISLAND, &mut rng), period: 3 };
        let zeros = Data::Lanes(vec![vec![0.0; header.n_load as usize]; LANES]);
        let dims = load::Dims { tree, n_load: header.n_load };
        let buffers =
            vec![pose, Data::Words(items), Data::Flat { values: places, period: PLACE }, impulses, islands, zeros];
        // Its list is by lane.
        cases.push(Case { reversible: false, ..case(&k::LOAD, dispatch(&k::LOAD, dims), buffers, 7) });
    }
    cases
}

fn dispatch<D: bytemuck::Pod>(kernel: &'static Kernel, dims: D) -> Record {
    Box::new(move |recording, ids| {
        recording.dispatch(kernel, &dims, LANES as u32, ids);
    })
}

/// Constraints of islands.
const ISLAND: usize = 20;

/// Sides of contacts of each lane: of islands, and of the lane's own first slot where its number is that of the lane
/// whatever the tile: in the first tile.
fn loads(n_body: u32, rng: &mut ChaCha8Rng) -> (Vec<u32>, Vec<f64>) {
    let (mut items, mut places) = (vec![0; LANE * LANES], Vec::new());
    let mut all = Vec::new();
    for lane in 0..LANES {
        let begin = all.len() as u32;
        for k in 0..(lane % 4) as u32 {
            let island = u32::from(lane >= 4 || k % 2 == 1);
            let impulse = if island == 1 { 3 * rng.random_range(0..ISLAND as u32) } else { lane as u32 };
            let number = SPATIAL as u32 * rng.random_range(0..n_body);
            all.push(LoadItem { number, impulse, island, along: k % 3 });
            let normal = nalgebra::Vector3::from_fn(|_, _| rng.random_range(-1.0..1.0)).normalize();
            places.extend((0..3).map(|_| rng.random_range(-1.0..1.0)));
            places.extend(normal.iter());
        }
        items[LANE * lane] = begin;
        items[LANE * lane + 1] = all.len() as u32 - begin;
    }
    items.extend(cast_slice::<_, u32>(&all));
    (items, places)
}
