//! Newton with conjugate residuals on the islands of a chunk of worlds.

use manyworlds_gpu::Recording;
use manyworlds_shaders::Scalar;
use manyworlds_shaders::contact::LOOPS;
use manyworlds_shaders::contact::island::IslandDims;
use manyworlds_shaders::contact::island_newton::{ROUNDS, Workspaces};
use manyworlds_shaders::contact::newton_cr::layout::{ResidualDims, function};
use manyworlds_shaders::kernel::contact as k;

use super::{NcpFunction, NewtonCrParams, ResidualPack, Scaling};
use crate::island::{Islands, SetItems};
use crate::solve::Precision;
use crate::solve::batch::{BatchForm, BatchSetup, BatchSolver, Demand, IslandSolve, LoneTrees};
use crate::solve::pgs::DenseNewton;

pub(super) const FORM: BatchForm =
    BatchForm { lone_trees: LoneTrees::AsIslands, dense: true, most_iterations: u32::MAX, make };

fn make(setup: BatchSetup) -> Box<dyn BatchSolver> {
    let params = NewtonCrParams::batches();
    let settings = match setup.precision {
        Precision::F32 => settings::<f32>(&params),
        Precision::F64 => settings::<f64>(&params),
    };
    let most = setup.iterations.min(params.finish_after.unwrap_or(setup.iterations));
    Box::new(ResidualBatch {
        pack: ResidualPack::default(),
        settings,
        linear: params.linear,
        most,
        finish: DenseNewton { on_device: setup.on_device },
        on_device: setup.on_device,
    })
}

/// The solver's part of a chunk.
#[derive(Debug)]
struct ResidualBatch {
    pack: ResidualPack,
    settings: ResidualDims,
    /// Iterations of the linear solver in a Newton step at most.
    linear: u32,
    /// Newton steps at most.
    most: u32,
    finish: DenseNewton,
    on_device: bool,
}

impl BatchSolver for ResidualBatch {
    fn pack<'a>(&mut self, islands: &Islands<'a>, _: &dyn Fn(usize) -> SetItems<'a>) {
        self.pack.pack(islands, self.linear);
    }

    fn demand(&self, _: &IslandDims, workspaces: &Workspaces) -> Demand<'_> {
        Demand { words: &self.pack.index, reals: self.pack.n_real, work: self.finish.work(workspaces) }
    }

    /// Newton steps with conjugate residuals, then, on islands that these do not solve and whose Delassus operator is
    /// written out, Newton steps on the strict map.
    fn record(&self, solve: &IslandSolve<'_>, recording: &mut Recording) {
        let (b, most) = (&solve.buffers, self.most);
        let all = ResidualDims {
            tolerance: solve.dims.tolerance,
            tolerance_scaled: solve.dims.tolerance_scaled,
            most,
            ..self.pack.dims.with(&self.settings)
        };
        let stride = if self.on_device { (LOOPS as usize / self.pack.loops.max(1)).max(1) as u32 } else { most };
        let buffers = [b.index, b.words, b.jac, b.con, b.impulse, b.velocity, b.reals, b.info];
        for done in (0..most).step_by(stride.max(1) as usize) {
            let dims = ResidualDims { done, iterations: most.min(done + stride), ..all };
            recording.dispatch(&k::NEWTON_CR_SOLVE, &dims, dims.n_islands, &buffers);
        }
        self.finish.record(solve, ROUNDS.min(solve.dims.iterations - most), recording);
    }
}

/// Added to the diagonal of the linear system, relative to the Delassus operator's (Macklin 2019, section 8).
pub(super) const SHIFT: f64 = 1e-6;
/// The same in double precision.
pub(super) const SHIFT_DOUBLE: f64 = 1e-10;

/// The settings for the kernel, in this arithmetic; Newton steps and iterations of the linear solver are the caller's.
#[must_use]
pub fn settings<T: Scalar>(params: &NewtonCrParams) -> ResidualDims {
    let bits = |x: f64| (x as f32).to_bits();
    ResidualDims {
        function: match params.function {
            NcpFunction::MinimumMap => function::MINIMUM_MAP,
            NcpFunction::FischerBurmeister => function::FISCHER_BURMEISTER,
        },
        scale: match params.scaling {
            Scaling::Uniform(r) => bits(r.max(f64::from(f32::MIN_POSITIVE))),
            Scaling::EffectiveMass => 0,
        },
        damping: bits(params.damping),
        share: bits(params.linear_share),
        shift: bits(if T::NAME == f64::NAME { SHIFT_DOUBLE } else { SHIFT }),
        ..ResidualDims::default()
    }
}
