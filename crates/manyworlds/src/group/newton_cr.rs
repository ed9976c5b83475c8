//! Newton with conjugate residuals on the islands of a chunk as a recording.

use manyworlds_contact::NewtonCrParams;
use manyworlds_contact::newton_cr::{ResidualPack, settings};
use manyworlds_gpu::Recording;
use manyworlds_shaders::Scalar;
use manyworlds_shaders::contact::LOOPS;
use manyworlds_shaders::contact::island::IslandDims;
use manyworlds_shaders::contact::island_newton::ROUNDS;
use manyworlds_shaders::contact::newton_cr::layout::ResidualDims;
use manyworlds_shaders::kernel::contact as k;

use super::record::IslandStep;
use crate::host::IslandPack;

impl IslandStep {
    /// From free velocity and the impulses to start from, to impulses and the velocity that they give: Newton steps with
    /// conjugate residuals, then, on islands that these do not solve and whose Delassus operator is written out, Newton
    /// steps on the strict map. Islands that are too large for either are left with what they started from.
    pub(super) fn newton_cr<T: Scalar>(
        &self,
        dims: &IslandDims,
        pack: &IslandPack<T>,
        cr: &ResidualPack,
        recording: &mut Recording,
    ) {
        let b = &self.buffers;
        let [_, impulse] = b.impulses(self.odd);
        let params = NewtonCrParams::batches();
        let most = self.iterations.min(params.finish_after.unwrap_or(self.iterations));
        let all = ResidualDims {
            tolerance: dims.tolerance,
            tolerance_scaled: dims.tolerance_scaled,
            most,
            ..cr.dims.with(&settings::<T>(&params))
        };
        let stride = if self.spread { (LOOPS as usize / cr.loops.max(1)).max(1) as u32 } else { most };
        let buffers = [b.index, b.cr_index, b.jac, b.con, impulse, b.velocity, b.cr, b.info];
        for done in (0..most).step_by(stride.max(1) as usize) {
            let dims = ResidualDims { done, iterations: most.min(done + stride), ..all };
            recording.dispatch(&k::NEWTON_CR_SOLVE, &dims, dims.n_islands, &buffers);
        }
        self.newton(dims, ROUNDS.min(self.iterations - most), pack, recording);
    }
}
