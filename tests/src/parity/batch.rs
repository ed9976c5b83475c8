//! Cases of the kernels on whole batches.

use bytemuck::cast_slice;
use manyworlds_gpu::{BufferId, Recording};
use manyworlds_shaders::Kernel;
use manyworlds_shaders::batch::world::found;
use manyworlds_shaders::batch::{hold, overwrite, unsolved_islands, unsolved_lanes};
use manyworlds_shaders::contact::island::IslandRecord;
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
    cases.extend([1, 0].map(unsolved_lanes));
    cases.push(unsolved_islands());
    cases.extend([hold::whom::UNSOLVED, hold::whom::OTHERS, hold::whom::NOBODY].map(hold));
    cases
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

fn unsolved_lanes(first: u32) -> Case {
    let kernel = &kernel::batch::UNSOLVED_LANES;
    let buffers = vec![Data::Words(status_words()), Data::Words(worlds())];
    let record = Box::new(move |recording: &mut Recording, ids: &[BufferId]| {
        let dims = unsolved_lanes::Dims { worlds: WORLDS, k: LANES_OF_A_WORLD, first };
        recording.dispatch(kernel, &dims, WORLDS, ids);
    });
    words_case(format!("first {first}"), kernel, buffers, record)
}

/// Islands of some worlds, none or several of one.
fn unsolved_islands() -> Case {
    let kernel = &kernel::batch::UNSOLVED_ISLANDS;
    let of_world = |world: u32| (0..world % 4).map(move |_| IslandRecord { world, ..IslandRecord::default() });
    let islands: Vec<IslandRecord> = (0..WORLDS).flat_map(of_world).collect();
    let n_islands = islands.len() as u32;
    let bits = [status::CONVERGED, status::ITERATION_LIMIT, status::CONVERGED];
    let buffers = vec![
        Data::Words(cast_slice(&islands).to_vec()),
        Data::Words((0..islands.len()).map(|island| bits[island * island % 3]).collect()),
        Data::Words(worlds()),
    ];
    let record = Box::new(move |recording: &mut Recording, ids: &[BufferId]| {
        let dims = unsolved_islands::Dims { worlds: WORLDS, n_islands };
        recording.dispatch(kernel, &dims, WORLDS, ids);
    });
    words_case("none, one and several a world".into(), kernel, buffers, record)
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
