//! Cases of the kernels on whole batches.

use manyworlds_shaders::batch::overwrite::Dims;
use manyworlds_shaders::batch::{gather, scatter};
use manyworlds_shaders::kernel;

use super::{Case, Data, EXACT};

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
            let dims = Dims { lanes: lanes as u32, n: 3 };
            recording.dispatch(&kernel::batch::OVERWRITE, &dims, lanes as u32, ids);
        }),
        outputs: vec![(2, EXACT)],
        single: true,
        reversible: true,
    }];
    cases.extend([scattered(), gathered()]);
    cases
}

/// Worlds of three lanes.
const WORLDS: usize = 25;
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
    Data::Lanes((0..TREES * WORLDS).map(|lane| (0..ELEMENTS).map(|e| value(lane, e)).collect()).collect())
}

/// Rows behind other numbers, in another order than the worlds, some of which have none.
fn scattered() -> Case {
    let (rows_at, source_at) = (2, 5);
    let row = |world: usize| if world % 4 == 1 { scatter::KEEP } else { (WORLDS - 1 - world) as u32 };
    let rows = (0..rows_at).map(|_| scatter::KEEP).chain((0..WORLDS).map(row)).collect();
    let values = (0..source_at + WORLDS * WIDTH).map(|i| 0.5 * i as f64 + 1.0).collect();
    let lanes = TREES * WORLDS;
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
    let lanes = TREES * WORLDS;
    let values = vec![-1.0; WORLDS * WIDTH];
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
