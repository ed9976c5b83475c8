//! Cases of Newton with conjugate residuals, on the islands that the other island kernels are tested with.

use manyworlds_contact::solve::newton_cr::{ResidualPack, settings};
use manyworlds_contact::{NcpFunction, NewtonCrParams, Scaling};
use manyworlds_shaders::contact::island::{IslandDims, info};
use manyworlds_shaders::contact::newton_cr::layout::{ResidualDims, term};
use manyworlds_shaders::kernel::contact as k;

use super::contact::ITERATED;
use super::island::case;
use super::subadmm::Assembled;
use super::{Case, Data, EXACT};

pub(super) fn cases(of: &Assembled) -> Vec<Case> {
    let IslandDims { n_islands, .. } = *of.islands.dims;
    let zeros = |n: usize, period: usize| Data::Flat { values: vec![0.0; n], period };
    // So few that f32 is not at its floor, where how many it takes would hang on the last bit.
    let mut pack = ResidualPack::default();
    pack.pack(of.islands, 6);
    let default = NewtonCrParams::default();
    let printed = NewtonCrParams { function: NcpFunction::MinimumMap, scaling: Scaling::Uniform(0.1), ..default };
    [("fischer-burmeister", default), ("minimum map", printed)]
        .into_iter()
        .map(|(name, params)| {
            let all = ResidualDims {
                tolerance: (-1.0_f32).to_bits(),
                tolerance_scaled: (-1.0_f32).to_bits(),
                share: 0,
                iterations: 3,
                // Not so many: the impulses are the last ones, not the best.
                most: 4,
                ..pack.dims.with(&settings::<f32>(&params))
            };
            let buffers = vec![
                of.index.clone(),
                Data::Words(pack.index.clone()),
                of.jac.clone(),
                of.con.clone(),
                of.impulse.clone(),
                of.velocity.clone(),
                zeros(pack.n_real, term::SIZE),
                zeros(n_islands as usize * info::SIZE, info::SIZE),
            ];
            let outputs = [(4, ITERATED), (5, ITERATED), (7, EXACT)];
            Case { name: name.into(), ..case(&k::NEWTON_CR_SOLVE, all, n_islands, buffers, &outputs) }
        })
        .collect()
}
