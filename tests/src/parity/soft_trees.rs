//! Cases of the kernels that bring trees to the soft bodies that they touch, and back.

use manyworlds_dynamics::TreeSet;
use manyworlds_shaders::contact::island::SideItem;
use manyworlds_shaders::dynamics::tree::{NONE, POSE, status};
use manyworlds_shaders::kernel::soft as k;
use manyworlds_shaders::soft::touch::{frame, side_stride, tree_side};
use manyworlds_shaders::soft::trees::{MetItem, tree_reals};
use manyworlds_shaders::soft::{gather, scatter, sides};
use nalgebra::{Rotation3, Vector3};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use super::contact::{ROUNDING, afloat};
use super::dynamics::{LANES, random_tiles};
use super::island::case;
use super::{Case, Data, EXACT};
use crate::dynamics::TreeTile;

/// Lanes of the soft body that trees touch, two of them each.
const SOFT: usize = LANES / 2;
/// Reals of a lane of `beside` that are not trees'.
const BEFORE: usize = 5;

pub(super) fn cases() -> Vec<Case> {
    afloat().iter().flat_map(of_set).collect()
}

fn of_set(set: &TreeSet) -> Vec<Case> {
    let mut rng = ChaCha8Rng::seed_from_u64(31);
    let mut tree = set.layout.dims;
    tree.lanes = LANES as u32;
    let n_v = tree.n_v;
    let tiles = random_tiles(set, &mut rng);
    let of =
        |field: fn(&TreeTile<f64>) -> &Vec<f64>| Data::Lanes(tiles.iter().map(|tile| field(tile).clone()).collect());
    let topology = || Data::Words(set.layout.topology.clone());
    let params = || Data::Shared(set.params[0].clone());

    // The second tree of a body stands before the first.
    let met: Vec<MetItem> = (0..2 * SOFT as u32)
        .map(|lane| MetItem { soft: lane / 2, lane: 3 * lane % LANES as u32, column: (1 - lane % 2) * n_v })
        .collect();
    let room = 2 * n_v;
    let n_beside = BEFORE + tree_reals(room as usize);
    let mut reals: Vec<f64> = Vec::new();
    let mut items = Vec::new();
    let stride = side_stride(n_v as usize);
    let n_side = 2 * met.len();
    for (number, of) in met.iter().chain(&met).enumerate() {
        let body = rng.random_range(0..tree.n_body);
        let turn = Rotation3::new(Vector3::from_fn(|_, _| rng.random_range(-2.0..2.0)));
        // The axes are its rows.
        reals.extend(turn.matrix().transpose().as_slice());
        let at = body as usize * POSE;
        reals.extend((0..3).map(|e| tiles[of.lane as usize].pose[at + e] * 0.1 + rng.random_range(-0.1..0.1)));
        items.push(SideItem {
            lane: of.lane,
            body_a: body,
            body_b: NONE,
            angular: 0,
            constraint: (number * frame::SIZE) as u32,
            jac: (n_side * frame::SIZE + number * stride + tree_side::JACOBIAN) as u32,
        });
    }
    reals.resize(n_side * frame::SIZE + n_side * stride, 0.0);
    let words: Vec<u32> = [bytemuck::cast_slice(&met), bytemuck::cast_slice::<_, u32>(&items)].concat();
    let words = || Data::Words(words.clone());
    // What stood there in the step before.
    let beside =
        Data::Lanes((0..LANES).map(|_| (0..n_beside).map(|_| rng.random_range(-1.0..1.0)).collect()).collect());

    let [n_items, n_sides] = [met.len() as u32, n_side as u32];
    let dims = gather::Dims { tree, n_items, items_at: 0, n_beside: n_beside as u32, room };
    let buffers = vec![topology(), params(), of(|t| &t.momentum), of(|t| &t.b), of(|t| &t.state), words(), beside];
    let gathered = case(&k::GATHER, dims, n_items, buffers, &[(6, EXACT)]);
    let items_at = (met.len() * size_of::<MetItem>() / 4) as u32;
    let flat = Data::Flat { period: reals.len(), values: reals };
    let buffers = vec![topology(), params(), of(|t| &t.motion), of(|t| &t.factor), words(), flat];
    let side = case(&k::SIDES, sides::Dims { tree, n_items: n_sides, items_at }, n_sides, buffers, &[(5, ROUNDING)]);
    let beside = gathered.after().expect("the mirror runs").swap_remove(6);
    let solved =
        Data::LaneWords((0..LANES).map(|lane| vec![[status::CONVERGED, status::ITERATION_LIMIT][lane % 2]]).collect());
    let velocity_at = (n_beside - 2 * room as usize) as u32;
    let dims = scatter::Dims { n_v, n_items, items_at: 0, n_beside: n_beside as u32, velocity_at };
    let buffers = vec![words(), beside, solved, of(|t| &t.v_free)];
    let scattered = case(&k::SCATTER, dims, n_items, buffers, &[(3, EXACT)]);
    vec![gathered, side, scattered]
}
