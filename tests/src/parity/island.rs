//! Cases of the island path of contact: groups of trees in random states, with contacts and bilateral blocks between
//! them and their static rows among those. Each kernel is given what the mirrors before it leave in f64.

use manyworlds_dynamics::TreeSet;
use manyworlds_shaders::Kernel;
use manyworlds_shaders::contact::island::{
    ConstraintRecord, Counts, IslandDims, IslandRecord, RowItem, SetDims, SideItem, SideRecord, TreeItem, con, contact,
    info, kind, part, region,
};
use manyworlds_shaders::contact::island_newton::{Room, Workspaces};
use manyworlds_shaders::contact::tree_layout::row_stride;
use manyworlds_shaders::contact::{island_assemble, island_tgs, warm_move};
use manyworlds_shaders::dynamics::tree::{NONE, POSE, TreeOnly};
use manyworlds_shaders::kernel::contact as k;
use nalgebra::Vector3;
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use super::contact::{ITERATED, ROUNDING, afloat, leashed};
use super::convex;
use super::dynamics::{LANES, pull, random_tiles};
use super::newton_cr;
use super::subadmm::{self, Assembled};
use super::{Case, Data, EXACT, Tolerance};
use crate::dynamics::TreeTile;

/// Trees of an island. The last lanes are in none.
const MEMBERS: usize = 4;
const ISLANDS: usize = LANES / MEMBERS;

pub(super) fn cases() -> Vec<Case> {
    let mut cases: Vec<_> = afloat().iter().flat_map(of_set).chain(moves()).collect();
    for mut case in leashed().iter().flat_map(of_set) {
        case.name = case.name.replace("afloat", "leashed");
        // Random states pull tendons far beyond their bounds: iterations on such a problem have few digits in f32.
        case.single = [k::ISLAND_ROWS.name, k::ISLAND_SCATTER.name].contains(&case.kernel.name);
        cases.push(case);
    }
    cases
}

/// Impulses that change sides, with either stride on either side.
fn moves() -> Vec<Case> {
    let n = 50_u32;
    let items: Vec<u32> = (0..n).flat_map(|i| [i * 7 % n * 24 + i % 8, 3 * i]).collect();
    let back: Vec<u32> = items.chunks_exact(2).flat_map(|item| [item[1], item[0]]).collect();
    let tiles = |sign: f64| Data::Flat { values: (0..24 * n).map(|i| sign * f64::from(i) * 0.5).collect(), period: 1 };
    let of = |name: &str, items: Vec<u32>, stride_in: u32, stride_out: u32| {
        // One word before the items.
        let words = Data::Words([vec![0], items].concat());
        let dims = warm_move::Dims { n_items: n, items_at: 1, stride_in, stride_out };
        let buffers = vec![words, tiles(1.0), tiles(-1.0)];
        Case { name: name.into(), ..case(&k::WARM_MOVE, dims, n, buffers, &[(2, EXACT)]) }
    };
    vec![of("from trees to islands", items, 8, 1), of("from islands to trees", back, 1, 8)]
}

/// The records of all islands.
#[derive(Default)]
struct Islands {
    islands: Vec<IslandRecord>,
    colours: Vec<u32>,
    constraints: Vec<ConstraintRecord>,
    sides: Vec<SideRecord>,
    trees: Vec<TreeItem>,
    rows: Vec<RowItem>,
    items: Vec<SideItem>,
    contact: Vec<f64>,
    n_jac: u32,
    workspaces: Workspaces,
    counts: Counts,
}

impl Islands {
    /// Islands of consecutive lanes. Colours: contacts of the first pair and of the second; a contact of the middle pair;
    /// blocks one by one; then the rows, of all trees at once.
    fn new(tiles: &[TreeTile<f64>], rng: &mut ChaCha8Rng) -> Self {
        let mut all = Self::default();
        let n_v = tiles[0].layout.dims.n_v;
        all.workspaces = Workspaces::new(Room::Device);
        for island in 0..ISLANDS {
            let first = (island * MEMBERS) as u32;
            let (begin, colour_begin) = (all.constraints.len() as u32, all.colours.len() as u32);
            all.trees.extend((first..first + MEMBERS as u32).map(|lane| TreeItem { lane, velocity: lane * n_v }));
            let pairs: [(&[u32], Option<u32>); 5] =
                [(&[0, 2], None), (&[1], None), (&[0, 2], None), (&[0], Some(0)), (&[2], Some(1))];
            let mut n_contacts = 0;
            for (firsts, held) in pairs {
                for a in firsts {
                    n_contacts += u32::from(held.is_none());
                    all.block(&tiles[(first + a) as usize], [first + a, first + a + 1], held, rng);
                }
                all.colours.push(all.constraints.len() as u32);
            }
            for row in 0..tiles[0].layout.dims.n_row {
                for lane in first..first + MEMBERS as u32 {
                    all.row(lane, row, n_v);
                }
                all.colours.push(all.constraints.len() as u32);
            }
            all.islands.push(IslandRecord {
                constraint_begin: begin,
                constraint_end: all.constraints.len() as u32,
                colour_begin,
                colour_end: all.colours.len() as u32,
                velocity_begin: first * n_v,
                velocity_end: (first + MEMBERS as u32) * n_v,
                n_contacts,
                world: island as u32,
                work: all.workspaces.place(std::mem::take(&mut all.counts), MEMBERS * n_v as usize),
                // One is left to the host.
                part: if island == 1 { part::NONE } else { part::SOLVES },
            });
        }
        let n = all.constraints.len() as u32;
        // Every third is new, the others were elsewhere in the step before.
        for (i, record) in all.constraints.iter_mut().enumerate() {
            record.previous = if i % 3 == 0 { 0 } else { (7 * i as u32 + 5) % n + 1 };
        }
        all
    }

    /// A contact, or a block that holds positions (0) or axes (1).
    fn block(&mut self, tile: &TreeTile<f64>, lanes: [u32; 2], held: Option<u32>, rng: &mut ChaCha8Rng) {
        let (constraint, dims) = (self.constraints.len() as u32, &tile.layout.dims);
        let side_begin = self.sides.len() as u32;
        let bodies: [u32; 2] = std::array::from_fn(|_| rng.random_range(0..dims.n_body));
        for (at, lane) in lanes.into_iter().enumerate() {
            let (body_a, body_b) = if at == 0 { (bodies[0], NONE) } else { (NONE, bodies[1]) };
            let (jac, angular) = (self.n_jac, held.unwrap_or(0));
            self.items.push(SideItem { lane, body_a, body_b, angular, constraint, jac });
            self.sides.push(SideRecord { velocity: lane * dims.n_v, count: dims.n_v, jac, constraint });
            self.n_jac += 6 * dims.n_v;
        }
        let side_end = self.sides.len() as u32;
        let place = self.counts.next(kind::BLOCK);
        self.constraints.push(ConstraintRecord { kind: kind::BLOCK, side_begin, side_end, previous: 0, place });
        let at = bodies[0] as usize * POSE;
        let mut numbers = [0.0; contact::SIZE];
        for e in 0..3 {
            numbers[contact::POINT + e] = tile.pose[at + e] + rng.random_range(-0.1..0.1);
        }
        let direction = Vector3::from_fn(|_, _| rng.random_range(-1.0..1.0)).normalize();
        let direction = if held.is_some() { direction * 1e-3 } else { direction };
        numbers[contact::NORMAL..contact::NORMAL + 3].copy_from_slice(direction.as_slice());
        numbers[contact::DISTANCE] = rng.random_range(-0.01..0.01);
        numbers[contact::FRICTION] = if held.is_some() { -1.0 } else { 0.6 };
        numbers[contact::RESTITUTION] = if constraint % 4 == 0 { 0.5 } else { 0.0 };
        numbers[contact::TIMESTEP..contact::CORRECTION_SLOP].copy_from_slice(&[0.002, 0.2, 0.2, 0.01]);
        // Every fifth is rigid.
        let soft =
            if constraint % 5 == 0 { [-1.0, 0.0] } else { [rng.random_range(0.0..0.1), rng.random_range(-0.5..0.5)] };
        numbers[contact::COMPLIANCE..contact::DRIFT].copy_from_slice(&soft);
        // Every third drifts.
        if constraint % 3 == 0 {
            numbers[contact::DRIFT..].fill_with(|| rng.random_range(-0.5..0.5));
        }
        self.contact.extend(numbers);
    }

    fn row(&mut self, lane: u32, row: u32, n_v: u32) {
        let (constraint, jac, side_begin) = (self.constraints.len() as u32, self.n_jac, self.sides.len() as u32);
        self.rows.push(RowItem { lane, row, constraint, jac });
        self.sides.push(SideRecord { velocity: lane * n_v, count: n_v, jac, constraint });
        let side_end = side_begin + 1;
        let place = self.counts.next(kind::ROW);
        self.constraints.push(ConstraintRecord { kind: kind::ROW, side_begin, side_end, previous: 0, place });
        self.contact.extend([0.0; contact::SIZE]);
        self.n_jac += 2 * n_v;
    }
}

fn of_set(set: &TreeSet) -> Vec<Case> {
    let mut rng = ChaCha8Rng::seed_from_u64(23);
    let mut tree = set.layout.dims;
    tree.lanes = LANES as u32;
    let (n_v, n_row_real) = (tree.n_v as usize, tree.n_row as usize * row_stride(tree.n_v as usize, tree.row_width));
    let tiles = random_tiles(set, &mut rng);
    let of =
        |field: fn(&TreeTile<f64>) -> &Vec<f64>| Data::Lanes(tiles.iter().map(|tile| field(tile).clone()).collect());
    let all = Islands::new(&tiles, &mut rng);
    let mut index: Vec<u32> = Vec::new();
    let mut put = |words: &[u32]| {
        index.extend_from_slice(words);
        (index.len() - words.len()) as u32
    };
    put(bytemuck::cast_slice(&all.islands));
    let n_velocity = (ISLANDS * MEMBERS * n_v) as u32;
    let islands = IslandDims {
        n_islands: ISLANDS as u32,
        colours_at: put(&all.colours),
        constraints_at: put(bytemuck::cast_slice(&all.constraints)),
        sides_at: put(bytemuck::cast_slice(&all.sides)),
        n_constraints: all.constraints.len() as u32,
        n_velocity,
        iterations: 8,
        // Never reached: how many sweeps an island takes would hang on the last bit.
        tolerance: (-1.0_f32).to_bits(),
        tolerance_scaled: (-1.0_f32).to_bits(),
        done: 0,
        by_solver: 0,
    };
    let part = SetDims {
        n_trees: all.trees.len() as u32,
        trees_at: put(bytemuck::cast_slice(&all.trees)),
        n_rows: all.rows.len() as u32,
        rows_at: put(bytemuck::cast_slice(&all.rows)),
        n_velocity,
        n_v: n_v as u32,
        v_at: tree.v_at() as u32,
        n_state: tree.n_state() as u32,
        n_row_real: n_row_real as u32,
        row_width: tree.row_width,
    };
    let items_at = put(bytemuck::cast_slice(&all.items));
    let assemble = island_assemble::Dims { tree, n_items: all.items.len() as u32, items_at };
    let index = || Data::Words(index.clone());
    let topology = || Data::Words(set.layout.topology.clone());
    let params = || Data::Shared(set.params[0].clone());
    let flat = |values: Vec<f64>, period: usize| Data::Flat { values, period };
    let zeros = |n: usize, period: usize| Data::Flat { values: vec![0.0; n], period };
    let contacts = || flat(all.contact.clone(), 1);
    let n = all.constraints.len();
    let left = |case: &Case, at: usize| case.after().expect("the mirror runs")[at].clone();

    let gather = case(
        &k::ISLAND_GATHER,
        part,
        part.n_trees,
        vec![index(), of(|t| &t.state), of(|t| &t.v_free), zeros(region::COUNT * n_velocity as usize, n_v)],
        &[(3, EXACT)],
    );
    let jac = zeros(all.n_jac as usize, n_v);
    let sides =
        vec![topology(), params(), of(|t| &t.pose), of(|t| &t.motion), of(|t| &t.factor), index(), contacts(), jac];
    let assemble = case(&k::ISLAND_ASSEMBLE, assemble, all.items.len() as u32, sides, &[(7, ROUNDING)]);
    let tree_rows = case(
        &k::TREE_ROWS,
        TreeOnly { tree },
        LANES as u32,
        vec![
            topology(),
            params(),
            of(|t| &t.state),
            of(|t| &t.factor),
            pull(&tiles),
            Data::Lanes(vec![vec![0.0; n_row_real]; LANES]),
        ],
        &[(5, ROUNDING)],
    );
    let rows = case(
        &k::ISLAND_ROWS,
        part,
        part.n_rows,
        vec![left(&tree_rows, 5), index(), left(&assemble, 7), zeros(n * con::SIZE, con::SIZE)],
        &[(2, ROUNDING), (3, ROUNDING)],
    );
    let before: Vec<f64> = (0..3 * n).map(|_| rng.random_range(-0.1..0.3)).collect();
    let finish = case(
        &k::ISLAND_FINISH,
        islands,
        islands.n_constraints,
        vec![index(), contacts(), left(&rows, 2), flat(before, 3), left(&gather, 3), left(&rows, 3), zeros(3 * n, 3)],
        &[(5, ROUNDING), (6, ROUNDING)],
    );
    let infos = || zeros(ISLANDS * info::SIZE, info::SIZE);
    let pgs = case(
        &k::ISLAND_PGS,
        islands,
        islands.n_islands,
        vec![index(), left(&rows, 2), left(&finish, 5), left(&finish, 6), left(&gather, 3), infos()],
        &[(3, ITERATED), (4, ITERATED), (5, EXACT)],
    );
    // A part of the step that ends within the dispatch.
    let parts = island_tgs::Dims { iterations: 3, ..island_tgs::Dims::new(&islands, 3, 2) };
    let tgs = case(
        &k::ISLAND_TGS,
        parts,
        islands.n_islands,
        vec![index(), left(&rows, 2), left(&finish, 5), left(&finish, 6), left(&gather, 3), zeros(3 * n, 3), infos()],
        &[(3, ITERATED), (4, ITERATED), (5, ITERATED), (6, EXACT)],
    );
    assert!(all.islands.iter().all(|island| island.has_work()), "every island is small enough for Newton steps");
    // Enough to be at the answer: on the way there steps in f32 have other weights.
    let newton = case(
        &k::ISLAND_NEWTON,
        IslandDims { iterations: 16, ..islands },
        islands.n_islands,
        vec![
            index(),
            left(&rows, 2),
            left(&finish, 5),
            left(&pgs, 3),
            left(&pgs, 4),
            infos(),
            zeros(all.workspaces.reals, 1),
        ],
        &[(3, ITERATED), (4, ITERATED), (5, EXACT)],
    );
    let scatter = case(
        &k::ISLAND_SCATTER,
        part,
        part.n_trees.max(part.n_rows),
        vec![index(), left(&pgs, 4), left(&pgs, 3), of(|t| &t.velocity), left(&tree_rows, 5)],
        &[(3, EXACT), (4, EXACT)],
    );
    let certify = case(
        &k::ISLAND_CERTIFY,
        islands,
        islands.n_islands,
        vec![
            index(),
            contacts(),
            left(&rows, 2),
            left(&finish, 5),
            left(&pgs, 3),
            left(&gather, 3),
            infos(),
            Data::Words(vec![0; ISLANDS]),
        ],
        &[(5, ROUNDING), (6, ROUNDING), (7, EXACT)],
    );
    let assembled = Assembled {
        set,
        islands: &manyworlds_contact::island::Islands {
            dims: &islands,
            islands: &all.islands,
            constraints: &all.constraints,
            sides: &all.sides,
        },
        trees: &all.trees,
        trees_at: part.trees_at,
        rows: &all.rows,
        items: &all.items,
        momentum: of(|t| &t.momentum),
        index: index(),
        contact: contacts(),
        jac: left(&rows, 2),
        con: left(&finish, 5),
        impulse: left(&finish, 6),
        velocity: left(&gather, 3),
    };
    let mut cases = subadmm::cases(&assembled);
    cases.extend(convex::cases(&assembled));
    cases.extend(newton_cr::cases(&assembled));
    cases.extend([gather, assemble, rows, finish, pgs, tgs, newton, scatter, certify]);
    cases
}

pub(super) fn case<D: bytemuck::Pod>(
    kernel: &'static Kernel,
    dims: D,
    count: u32,
    buffers: Vec<Data>,
    outputs: &[(usize, Tolerance)],
) -> Case {
    Case {
        name: "afloat".into(),
        kernel,
        lanes: LANES,
        buffers,
        record: Box::new(move |recording, ids| {
            recording.dispatch(kernel, &dims, count, ids);
        }),
        outputs: outputs.to_vec(),
        single: true,
        // Lanes are numbered by the islands.
        reversible: false,
    }
}
