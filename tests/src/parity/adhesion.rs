//! Cases of the kernels of adhesion, over random states of the trees of a golden model and random contacts.

use bytemuck::cast_slice;
use manyworlds_dynamics::TreeSet;
use manyworlds_shaders::dynamics::adhere::{AdhereItem, PLACE};
use manyworlds_shaders::dynamics::grip::{GripItem, LANE};
use manyworlds_shaders::dynamics::tree::TreeOnly;
use manyworlds_shaders::{Kernel, kernel};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use super::dynamics::{LANES, random_tiles, sets};
use super::{Case, Data, Tolerance};
use crate::dynamics::TreeTile;

const ROUNDING: Tolerance = Tolerance {
    f32: 1e-5,
    f64: 1e-13,
    reason: "sums over a few contacts, contracted to fused multiply-adds elsewhere",
};

/// Forces of the worlds.
const FORCES: usize = 12;

pub(super) fn cases() -> Vec<Case> {
    let sets = sets("adhesion");
    assert!(sets.iter().any(|set| set.adhesion.concat().len() > 1));
    sets.iter().enumerate().flat_map(|(at, set)| of_set(&format!("adhesion, set {at}"), set)).collect()
}

/// Items by lane: where each begins, how many it has, then all.
fn by_lane<I: bytemuck::Pod>(lanes: &[Vec<I>]) -> Data {
    let (mut words, mut begin) = (Vec::new(), 0);
    for own in lanes {
        words.extend([begin, own.len() as u32]);
        begin += own.len() as u32;
    }
    lanes.iter().for_each(|own| words.extend(cast_slice::<_, u32>(own)));
    assert_eq!(words.len(), LANE * lanes.len() + begin as usize * size_of::<I>() / 4);
    Data::Words(words)
}

fn of_set(name: &str, set: &TreeSet) -> Vec<Case> {
    use kernel::dynamics as k;
    let mut rng = ChaCha8Rng::seed_from_u64(29);
    let mut tree = set.layout.dims;
    tree.lanes = LANES as u32;
    let tiles = random_tiles(set, &mut rng);
    let of =
        |field: fn(&TreeTile<f64>) -> &Vec<f64>| Data::Lanes(tiles.iter().map(|tile| field(tile).clone()).collect());
    let case = |kernel: &'static Kernel, more: Vec<Data>, outputs: &[usize]| {
        let mut buffers = vec![Data::Words(set.layout.topology.clone()), Data::Shared(set.params[0].clone())];
        buffers.extend(more);
        let record = Box::new(move |recording: &mut manyworlds_gpu::Recording, ids: &[manyworlds_gpu::BufferId]| {
            recording.dispatch(kernel, &TreeOnly { tree }, LANES as u32, ids);
        });
        let outputs = outputs.iter().map(|&output| (output, ROUNDING)).collect();
        // Its list is by lane.
        Case { name: name.into(), kernel, lanes: LANES, buffers, record, outputs, single: true, reversible: false }
    };
    let mut cases = Vec::new();
    let own = &set.adhesion[0];
    if !own.is_empty() {
        let grips = |lane: usize| -> Vec<GripItem> {
            let number = |k: usize| (lane * own.len() + k) as u32;
            own.iter().enumerate().map(|(k, &actuator)| GripItem { actuator, number: number(k) }).collect()
        };
        let items = by_lane(&(0..LANES).map(grips).collect::<Vec<_>>());
        let zeros = Data::Flat { values: vec![0.0; LANES * own.len()], period: 1 };
        cases.push(case(&k::GRIP, vec![of(|tile| &tile.state), items, zeros], &[4]));
    }
    let (mut lanes, mut places) = (Vec::new(), Vec::new());
    for lane in 0..LANES {
        let item = |rng: &mut ChaCha8Rng| AdhereItem {
            body: rng.random_range(0..tree.n_body),
            number: rng.random_range(0..FORCES as u32),
            against: rng.random_range(0..2),
        };
        let items: Vec<AdhereItem> = (0..lane % 4).map(|_| item(&mut rng)).collect();
        places.extend((0..PLACE * items.len()).map(|_| rng.random_range(-1.0..1.0)));
        lanes.push(items);
    }
    let mut random = |n: usize| (0..n).map(|_| rng.random_range(-1.0..1.0)).collect::<Vec<f64>>();
    let places = Data::Flat { values: places, period: PLACE };
    let forces = Data::Flat { values: random(FORCES), period: 1 };
    let (b, before) = {
        let mut lanes = || Data::Lanes((0..LANES).map(|_| random(tree.n_v as usize)).collect());
        (lanes(), lanes())
    };
    cases.push(case(&k::ADHERE, vec![of(|tile| &tile.motion), by_lane(&lanes), places, forces, b, before], &[6, 7]));
    cases
}
