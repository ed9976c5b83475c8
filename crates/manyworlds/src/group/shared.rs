//! What all chunks of a group share: the compiled model and the settings of its solver.

use std::sync::Arc;

use manyworlds_collide::{CollisionModel, CollisionSettings, Precision as CollidePrecision};
use manyworlds_contact::solve::{Kernels, Solver};
use manyworlds_contact::subadmm::Chains;
use manyworlds_dynamics::{Settings, TreeSet, compile};
use manyworlds_model::Model;
use manyworlds_shaders::Scalar;

use crate::host::{Block, Fixed, Frames, HostModel, Law, SetShape, Surfaces, TreeBlock, fixed};
use crate::lanes::LaneMap;
use crate::{BatchOptions, Error, Integrator, geoms};

/// Sweeps of kernels before the host goes on: with half as many clutter's steps took half as long again, with twice as many
/// those of dishes being piled twice as long.
const SWEEPS: u32 = 100;

/// The compiled model of a group.
pub(crate) struct Shared<T: Scalar + CollidePrecision> {
    pub(crate) model: Arc<Model>,
    pub(crate) sets: Vec<TreeSet>,
    pub(crate) host: Arc<HostModel<T>>,
    pub(crate) tolerance: f64,
    /// Depth that is not undone, m.
    pub(crate) slop: f64,
    pub(crate) integrator: Integrator,
    pub(crate) iterations: u32,
    /// Parts of a step's free motion.
    pub(crate) substeps: u32,
    pub(crate) solver: &'static dyn Solver,
}

impl<T: Scalar + CollidePrecision> Shared<T> {
    pub(crate) fn new(model: &Model, options: &BatchOptions) -> Result<Self, Error> {
        let mut model = model.clone();
        if let Some(dt) = options.dt {
            model.options.timestep = dt;
        }
        let s = &options.stabilisation;
        let settings = Settings {
            correction_fraction: s.fraction,
            correction_max: s.max_velocity,
            restitution_threshold: s.restitution_threshold,
            correction_slop: s.slop,
            integrator: options.integrator.code(),
        };
        let sets = compile(&model, &settings)?;
        let collision = CollisionSettings { speculative_distance: s.speculative_distance };
        let lanes = LaneMap::new(&model, &sets);
        let fixed = fixed(&model, &sets, &lanes)?;
        let block = |(at, of): (usize, &Fixed<T>)| match &of.law {
            Law::Block(Block { frames: Frames::OfTree(number), .. }) => {
                Some(TreeBlock { fixed: at, tree: of.trees[0] as usize, number: *number as u32 })
            }
            _ => None,
        };
        let solver = manyworlds_contact::solver(&options.solver)?;
        let kernels = kernels(solver, options.substeps);
        let by_islands = kernels.by_islands();
        let surfaces = (kernels == Kernels::Sap).then(|| Surfaces::new(&model));
        let host = HostModel {
            surfaces,
            lever: geoms::lever(&model),
            speculative: s.speculative_distance,
            blocks: fixed.iter().enumerate().filter_map(block).collect(),
            fixed,
            collision: CollisionModel::with_settings(&model, &collision)?,
            lanes,
            chains: by_islands.then(|| sets.iter().map(|set| Chains::new(&set.layout.tree())).collect()),
            sets: sets.iter().map(|set| SetShape { dims: set.layout.dims, trees: set.trees.clone() }).collect(),
        };
        Ok(Self {
            model: Arc::new(model),
            sets,
            host: Arc::new(host),
            tolerance: options.tolerance,
            slop: s.slop,
            integrator: options.integrator,
            iterations: options.iterations,
            substeps: options.substeps,
            solver,
        })
    }

    /// What the kernels of a step do.
    pub(crate) fn kernels(&self) -> Kernels {
        kernels(self.solver, self.substeps)
    }

    /// Iterations of the kernels at most: more sweeps find less than what a solver goes on with on the host.
    pub(crate) fn kernel_iterations(&self) -> u32 {
        let own = self.kernels() == Kernels::Newton && self.solver.finishes();
        if own { self.iterations.min(SWEEPS) } else { self.iterations }
    }
}

/// What kernels do for a solver in so many parts of a step.
fn kernels(solver: &dyn Solver, substeps: u32) -> Kernels {
    match solver.kernels() {
        Kernels::Sweeps if substeps > 1 => Kernels::Substeps,
        kernels => kernels,
    }
}
