//! Cases of the kernels on whole batches.

use bytemuck::cast_slice;
use manyworlds_gpu::{BufferId, Recording};
use manyworlds_shaders::Kernel;
use manyworlds_shaders::batch::world::found;
use manyworlds_shaders::batch::{
    gather, hold, keep, left_numbers, left_worlds, overwrite, scatter, unsolved_islands, unsolved_lanes,
};
use manyworlds_shaders::contact::island::{IslandRecord, part};
use manyworlds_shaders::dynamics::tree::status;
use manyworlds_shaders::kernel;

use super::{Case, Data, EXACT, Record};

pub(super) fn cases() -> Vec<Case> {
    // More lanes than a row of workgroups of the narrowest tile would be slow here; `rows_of_workgroups` does that.
    let lanes = 75;
    let value = |lane: usize, e: usize| (lane * 10 + e) as f64 * 0.5;
    let all = |sign: f64| Data::Lanes((0..lanes).map(|l| (0..3).map(|e| sign * value(l, e)).collect()).collect());
    let mut cases = vec![Case {
        name: "every third lane".into(),
        kernel: &kernel::batch::OVERWRITE,
        lanes,
        buffers: vec![
            Data::LaneWords((0..lanes as u32).map(|lane| vec![u32::from(lane % 3 == 0)]).collect()),
            all(1.0),
            all(-1.0),
        ],
        record: Box::new(move |recording, ids| {
            let dims = overwrite::Dims { lanes: lanes as u32, n: 3 };
            recording.dispatch(&kernel::batch::OVERWRITE, &dims, lanes as u32, ids);
        }),
        outputs: vec![(2, EXACT)],
        single: true,
        reversible: true,
    }];
    for wanted in [status::ITERATION_LIMIT, status::DOUBTFUL] {
        cases.extend([1, 0].map(|first| unsolved_lanes(first, wanted, status::SHARED)));
        cases.push(unsolved_islands(wanted));
    }
    cases.push(unsolved_lanes(0, status::ITERATION_LIMIT, 0));
    cases.extend([hold::whom::UNSOLVED, hold::whom::OTHERS, hold::whom::NOBODY].map(hold));
    cases.extend([scattered(), gathered(), kept(), listed()]);
    for (back, by_slot) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
        cases.push(brought_together(back, by_slot));
    }
    cases
}

fn kept() -> Case {
    let lanes = 43;
    let numbers = |scale: f64| {
        Data::Lanes((0..lanes).map(|lane| (0..5).map(|e| scale * f64::from(lane * 5 + e)).collect()).collect())
    };
    let record = Box::new(move |recording: &mut Recording, ids: &[BufferId]| {
        let dims = keep::Dims { lanes, n: 5 };
        recording.dispatch(&kernel::batch::KEEP, &dims, lanes, ids);
    });
    Case {
        name: "all numbers".into(),
        kernel: &kernel::batch::KEEP,
        lanes: lanes as usize,
        buffers: vec![numbers(1.0), numbers(-1.0)],
        record,
        outputs: vec![(1, EXACT)],
        single: true,
        reversible: true,
    }
}

const WORLDS: u32 = 41;
const LANES_OF_A_WORLD: u32 = 3;

/// Status words of the lanes of all worlds, every combination of the bits that matter among them.
fn status_words() -> Vec<u32> {
    let bits = [
        status::CONVERGED,
        status::ITERATION_LIMIT,
        status::ITERATION_LIMIT | status::SHARED,
        status::BREAKDOWN,
        status::FROZEN | status::HELD,
        status::NON_FINITE | status::ITERATION_LIMIT,
        status::HELD | status::CONVERGED,
        status::ITERATION_LIMIT | status::DOUBTFUL,
        status::ITERATION_LIMIT | status::GAVE_WAY,
        status::ITERATION_LIMIT | status::GAVE_WAY | status::UNTIL_ASKED_ONE,
    ];
    (0..WORLDS * LANES_OF_A_WORLD).map(|lane| bits[(lane * lane / 5) as usize % bits.len()]).collect()
}

/// Words of worlds.
fn worlds() -> Vec<u32> {
    let bits = [0, found::UNSOLVED, found::BROKEN, found::UNSOLVED | found::BROKEN];
    (0..WORLDS).map(|world| bits[world as usize % 4]).collect()
}

fn words_case(name: String, kernel: &'static Kernel, buffers: Vec<Data>, record: Record) -> Case {
    let outputs = vec![(buffers.len() - 1, EXACT)];
    Case { name, kernel, lanes: WORLDS as usize, buffers, record, outputs, single: true, reversible: false }
}

fn unsolved_lanes(first: u32, wanted: u32, apart: u32) -> Case {
    let kernel = &kernel::batch::UNSOLVED_LANES;
    let buffers = vec![Data::Words(status_words()), Data::Words(worlds())];
    let record = Box::new(move |recording: &mut Recording, ids: &[BufferId]| {
        let dims = unsolved_lanes::Dims { worlds: WORLDS, k: LANES_OF_A_WORLD, first, wanted, apart };
        recording.dispatch(kernel, &dims, WORLDS, ids);
    });
    words_case(format!("first {first}, wanted {wanted}, apart {apart}"), kernel, buffers, record)
}

/// Islands of some worlds, none or several of one.
fn unsolved_islands(wanted: u32) -> Case {
    let kernel = &kernel::batch::UNSOLVED_ISLANDS;
    let of_world = |world: u32| {
        let part = if world % 5 == 3 { part::NONE } else { part::SOLVES };
        (0..world % 4).map(move |_| IslandRecord { world, part, ..IslandRecord::default() })
    };
    let islands: Vec<IslandRecord> = (0..WORLDS).flat_map(of_world).collect();
    let n_islands = islands.len() as u32;
    let doubtful = status::ITERATION_LIMIT | status::DOUBTFUL;
    let bits = [status::CONVERGED, status::ITERATION_LIMIT, status::CONVERGED, doubtful, status::CONVERGED];
    let buffers = vec![
        Data::Words(cast_slice(&islands).to_vec()),
        Data::Words((0..islands.len()).map(|island| bits[island * island / 2 % 5]).collect()),
        Data::Words(worlds()),
    ];
    let record = Box::new(move |recording: &mut Recording, ids: &[BufferId]| {
        let dims = unsolved_islands::Dims { worlds: WORLDS, n_islands, wanted };
        recording.dispatch(kernel, &dims, WORLDS, ids);
    });
    words_case(format!("none, one and several a world, wanted {wanted}"), kernel, buffers, record)
}

fn hold(whom: u32) -> Case {
    let kernel = &kernel::batch::HOLD;
    let buffers = vec![Data::Words(worlds()), Data::Words(status_words())];
    let record = Box::new(move |recording: &mut Recording, ids: &[BufferId]| {
        let lanes = WORLDS * LANES_OF_A_WORLD;
        recording.dispatch(kernel, &hold::Dims { lanes, k: LANES_OF_A_WORLD, whom }, lanes, ids);
    });
    words_case(format!("whom {whom}"), kernel, buffers, record)
}

/// Worlds of three lanes.
const ROWS: usize = 25;
const TREES: usize = 3;
/// Numbers of a lane, those that are moved, and the first of these.
const ELEMENTS: usize = 7;
const N: usize = 3;
const FIRST: usize = 2;
/// Numbers of a row: one more than its world's lanes have.
const WIDTH: usize = TREES * N + 1;
/// Where the table of columns begins.
const COLUMNS_AT: u32 = 3;

/// Where each element of a world's lanes stands in its row: out of order, and not in the first entry.
fn columns() -> Data {
    let column = |tree: usize, e: usize| 1 + ((4 * (tree * N + e) + 2) % (TREES * N)) as u32;
    let of_lane =
        |tree| (0..ELEMENTS).map(move |at| at.checked_sub(FIRST).filter(|&e| e < N).map_or(0, |e| column(tree, e)));
    Data::Words([0; COLUMNS_AT as usize].into_iter().chain((0..TREES).flat_map(of_lane)).collect())
}

fn lane_numbers() -> Data {
    let value = |lane: usize, e: usize| (lane * ELEMENTS + e) as f64 * 0.25 - 3.0;
    Data::Lanes((0..TREES * ROWS).map(|lane| (0..ELEMENTS).map(|e| value(lane, e)).collect()).collect())
}

/// Rows behind other numbers, in another order than the worlds, some of which have none.
fn scattered() -> Case {
    let (rows_at, source_at) = (2, 5);
    let row = |world: usize| if world % 4 == 1 { scatter::KEEP } else { (ROWS - 1 - world) as u32 };
    let rows = (0..rows_at).map(|_| scatter::KEEP).chain((0..ROWS).map(row)).collect();
    let values = (0..source_at + ROWS * WIDTH).map(|i| 0.5 * i as f64 + 1.0).collect();
    let lanes = TREES * ROWS;
    Case {
        name: "worlds of three lanes".into(),
        kernel: &kernel::batch::SCATTER,
        lanes,
        buffers: vec![columns(), Data::Words(rows), Data::Flat { values, period: 1 }, lane_numbers()],
        record: Box::new(move |recording, ids| {
            let [trees, elements, first, n, width] = [TREES, ELEMENTS, FIRST, N, WIDTH].map(|n| n as u32);
            let (columns_at, rows_at, source_at) = (COLUMNS_AT, rows_at as u32, source_at as u32);
            let dims =
                scatter::Dims { lanes: lanes as u32, trees, elements, first, n, width, columns_at, rows_at, source_at };
            recording.dispatch(&kernel::batch::SCATTER, &dims, lanes as u32, ids);
        }),
        outputs: vec![(3, EXACT)],
        single: true,
        reversible: false,
    }
}

fn gathered() -> Case {
    let lanes = TREES * ROWS;
    let values = vec![-1.0; ROWS * WIDTH];
    Case {
        name: "worlds of three lanes".into(),
        kernel: &kernel::batch::GATHER,
        lanes,
        buffers: vec![columns(), lane_numbers(), Data::Flat { values, period: 1 }],
        record: Box::new(move |recording, ids| {
            let [trees, elements, first, n, width] = [TREES, ELEMENTS, FIRST, N, WIDTH].map(|n| n as u32);
            let dims = gather::Dims { lanes: lanes as u32, trees, elements, first, n, width, columns_at: COLUMNS_AT };
            recording.dispatch(&kernel::batch::GATHER, &dims, lanes as u32, ids);
        }),
        outputs: vec![(2, EXACT)],
        single: true,
        reversible: false,
    }
}

/// Far more worlds than invocations, and not as many for each.
fn listed() -> Case {
    let kernel = &kernel::batch::LEFT_WORLDS;
    let count = 3 * left_worlds::LISTERS + 37;
    let bits = [0, 0, found::UNSOLVED, found::BROKEN, 0, found::UNSOLVED | found::BROKEN];
    let words = (0..count).map(|world| bits[(world * world / 3) as usize % bits.len()]).collect();
    let buffers = vec![Data::Words(words), Data::Words(vec![7; 1 + count as usize])];
    let record = Box::new(move |recording: &mut Recording, ids: &[BufferId]| {
        recording.dispatch(kernel, &left_worlds::Dims { worlds: count }, 1, ids);
    });
    words_case("more worlds than invocations".into(), kernel, buffers, record)
}

/// More worlds than there is room for, lanes with fewer slots than there is room for.
fn brought_together(back: u32, by_slot: u32) -> Case {
    let kernel = &kernel::batch::LEFT_NUMBERS;
    let (worlds, room, k, n, at) = (23_u32, 5_u32, 3_u32, 4_u32, 6_u32);
    let left = [7, 1, 2, 6, 11, 17, 20, 22].into_iter().chain((7..worlds).map(|_| 0)).collect();
    let (lanes, slots) = ((worlds * k) as usize, if by_slot == 1 { 5 } else { 1 });
    let values = |lane: usize| {
        let slots = if by_slot == 1 { 1 + lane % 4 } else { 1 };
        (0..slots * n as usize).map(|e| 0.5 * (lane * 100 + e) as f64 + 1.0).collect()
    };
    let values = (0..lanes).map(values).collect();
    let (table, numbers) = if by_slot == 1 {
        (Data::SlotTable(2), Data::Slots { fields: n as usize, lanes: values })
    } else {
        (Data::Words(vec![0]), Data::Lanes(values))
    };
    let own =
        (0..at + room * k * slots * n).map(|i| if back == 1 { f64::from(i) * 0.25 - 40.0 } else { 0.0 }).collect();
    let record = Box::new(move |recording: &mut Recording, ids: &[BufferId]| {
        let dims = left_numbers::Dims { room, k, slots, n, by_slot, at, back };
        recording.dispatch(kernel, &dims, room * k * slots, ids);
    });
    Case {
        name: format!("back {back}, by slot {by_slot}"),
        kernel,
        lanes,
        buffers: vec![Data::Words(left), table, numbers, Data::Flat { values: own, period: 1 }],
        record,
        outputs: vec![(if back == 1 { 2 } else { 3 }, EXACT)],
        single: true,
        reversible: false,
    }
}
