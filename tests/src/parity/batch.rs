//! Cases of the kernels on whole batches.

use manyworlds_shaders::batch::overwrite::Dims;
use manyworlds_shaders::kernel;

use super::{Case, Data, EXACT};

pub(super) fn cases() -> Vec<Case> {
    // More lanes than a row of workgroups of the narrowest tile would be slow here; `rows_of_workgroups` does that.
    let lanes = 75;
    let value = |lane: usize, e: usize| (lane * 10 + e) as f64 * 0.5;
    let all = |sign: f64| Data::Lanes((0..lanes).map(|l| (0..3).map(|e| sign * value(l, e)).collect()).collect());
    vec![Case {
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
    }]
}
