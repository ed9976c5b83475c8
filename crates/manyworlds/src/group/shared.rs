//! What all chunks of a group share: the compiled model and the settings of its solver.

use std::ops::Range;
use std::sync::Arc;

use manyworlds_collide::{CollisionModel, CollisionSettings};
use manyworlds_contact::island::Chains;
use manyworlds_contact::solve::{BatchForm, BatchSetup, BatchSolver, ContactModel, LoneTrees, Precision, Solver};
use manyworlds_dynamics::{Settings, TreeSet, compile};
use manyworlds_model::Model;
use manyworlds_shaders::Scalar;
use manyworlds_shaders::dynamics::tree::status;

use super::soft::step::Soft;
use super::step::order::WholeOrder;
use super::subsystems::Subsystems;
use crate::host::{
    Adhesion, Block, Fixed, Frames, HostModel, Law, LoadShape, Outside, SetShape, SoftShape, Surfaces, TreeBlock, fixed,
};
use crate::lanes::LaneMap;
use crate::mocap::MocapMap;
use crate::{BatchOptions, Error, Integrator, geoms};

/// The compiled model of a group.
pub(crate) struct Shared<T: Scalar> {
    pub(crate) model: Arc<Model>,
    pub(crate) sets: Vec<TreeSet>,
    /// Branches of the trees of every set.
    chains: Arc<[Chains]>,
    pub(crate) host: Arc<HostModel<T>>,
    /// Bodies that deform; the host solves every world in which they touch what their kernels do not know.
    pub(super) soft: Vec<Soft>,
    /// Of contact problems.
    pub(super) subsystems: Subsystems,
    /// For steps of worlds with soft bodies that are solved as a whole; none: they are not.
    pub(super) whole: Option<WholeOrder>,
    pub(crate) tolerance: f64,
    /// Depth that is not undone, m.
    pub(crate) slop: f64,
    pub(crate) integrator: Integrator,
    pub(crate) iterations: u32,
    /// Parts of a step's free motion.
    pub(crate) substeps: u32,
    pub(crate) solver: &'static dyn Solver,
    /// What its kernels do; none: the host solves every world.
    pub(crate) form: Option<BatchForm>,
}

impl<T: Scalar> Shared<T> {
    /// `rounds`: of loops that an invocation of a kernel may take.
    pub(crate) fn new(model: &Model, options: &BatchOptions, rounds: u64) -> Result<Self, Error> {
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
        let acts = |set: &TreeSet| set.layout.dims.n_force > 0 || set.adhesion.iter().any(|own| !own.is_empty());
        if options.integrator != Integrator::LinearlyImplicit && sets.iter().any(acts) {
            return Err(Error::Option {
                option: "integrator",
                expected: "linearly-implicit for a model with tendons that pull, activations, muscles, forces at sites, \
                           adhesion, fluid or gravity compensation",
                found: options.integrator.name().into(),
            });
        }
        let pose_rounding = if T::NAME == f64::NAME { f64::EPSILON } else { f64::from(f32::EPSILON) };
        let speculative_distance = s.speculative_speed * model.options.timestep;
        let collision = CollisionSettings { speculative_distance, pose_rounding, reduce: options.reduce_contacts };
        let lanes = LaneMap::new(&model, &sets);
        let fixed = fixed(&model, &sets, &lanes);
        let block = |(at, of): (usize, &Fixed<T>)| match &of.law {
            Law::Block(Block { frames: Frames::OfTree(number), .. }) => {
                Some(TreeBlock { fixed: at, tree: of.trees[0] as usize, number: *number as u32 })
            }
            _ => None,
        };
        let solver = manyworlds_contact::solver(&options.solver)?;
        let soft = Soft::all(&model, &sets, rounds)?;
        let form = if soft.iter().all(|soft| soft.layout.is_some()) { solver.batch(options.substeps) } else { None };
        let surfaces = (solver.model() == ContactModel::Convex).then(|| Surfaces::new(&model));
        let host = HostModel {
            surfaces,
            adhesion: Adhesion::new(&model, &sets),
            outside: Outside::new(&model, &sets)?,
            lever: geoms::lever(&model),
            still: 0.5 * collision.speculative_distance,
            blocks: fixed.iter().enumerate().filter_map(block).collect(),
            fixed,
            mocaps: MocapMap::new(&model, &sets, &lanes),
            soft: SoftShape::all(&model),
            collision: CollisionModel::with_settings(&model, &collision)?,
            lanes,
            all_in_islands: form.is_some_and(|form| form.lone_trees == LoneTrees::AsIslands),
            sets: sets
                .iter()
                .map(|set| SetShape {
                    dims: set.layout.dims,
                    trees: set.trees.clone(),
                    loads: LoadShape::new(&model, set),
                })
                .collect(),
        };
        Ok(Self {
            subsystems: Subsystems::new(&model, &soft),
            whole: if solver.takes_whole_steps() { WholeOrder::new(&model, &soft) } else { None },
            soft,
            model: Arc::new(model),
            chains: sets.iter().map(|set| Chains::new(&set.layout.tree())).collect(),
            sets,
            host: Arc::new(host),
            tolerance: options.tolerance,
            slop: s.slop,
            integrator: options.integrator,
            iterations: options.iterations,
            substeps: options.substeps,
            solver,
            form,
        })
    }

    /// Degrees of freedom of the tree that carries a soft body; none where it stands.
    pub(super) fn carrier_dofs(&self, soft: usize) -> Range<usize> {
        let carrier = self.model.bodies[self.model.soft[soft].body].tree;
        carrier.map_or(0..0, |tree| self.model.trees[tree].v.clone())
    }

    /// Whether the host has a part in solving: all of it, where kernels solve nothing; what they leave unsolved, as worlds in which
    /// something touches a body that deforms; or what asks for the impossible.
    pub(crate) fn host_solves(&self) -> bool {
        let by_kernels = self.form.is_some() && self.soft.is_empty();
        !by_kernels || self.solver.finishes() || self.solver.model() == ContactModel::Exact
    }

    /// Bits of a status word of which an unsolved lane or island must have one to be solved by the host.
    pub(crate) fn left_to_host(&self) -> u32 {
        if self.solver.finishes() { status::ITERATION_LIMIT } else { status::DOUBTFUL }
    }

    /// Iterations of the kernels at most.
    pub(crate) fn kernel_iterations(&self) -> u32 {
        self.form.map_or(self.iterations, |form| self.iterations.min(form.most_iterations))
    }

    /// Residual at which a lane of a tree set is solved, N s: that of all trees of a world together is the batch's. Residuals of trees
    /// with contacts are over the number of these, of a world as of a lane; rows alone add up.
    pub(crate) fn lane_tolerance(&self, set: &TreeSet) -> f64 {
        let has_rows = |set: &TreeSet| set.layout.dims.n_row > 0;
        let adding = self.sets.iter().filter(|&set| has_rows(set)).map(|set| set.trees.len()).sum::<usize>();
        self.tolerance / if has_rows(set) { (adding as f64).sqrt() } else { 1.0 }
    }

    /// The solver's part of a chunk.
    pub(crate) fn batch_solver(&self, on_device: bool) -> Option<Box<dyn BatchSolver>> {
        let form = self.form?;
        let setup = BatchSetup {
            chains: Arc::clone(&self.chains),
            precision: if T::NAME == f64::NAME { Precision::F64 } else { Precision::F32 },
            on_device,
            iterations: self.kernel_iterations(),
            tolerance: self.tolerance as f32,
            substeps: self.substeps,
        };
        Some((form.make)(setup))
    }
}
