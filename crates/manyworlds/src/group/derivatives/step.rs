//! What the last step of a world was: all that its derivatives need.

use std::sync::{Arc, OnceLock};

use manyworlds_contact::SapParams;
use manyworlds_contact::solve::whole::StepFactor;
use manyworlds_contact::solve::{ContactModel as Model, Solver};
use manyworlds_gradients::{BlockInput, ContactInput, ContactModel, StepInput, TreeInput, TreeMade};
use manyworlds_shaders::Scalar;
use manyworlds_shaders::dynamics::kinematics::kinematics;
use manyworlds_shaders::dynamics::tree::{POSE, Params, SPATIAL, TreeDims};

use super::soft::OwnSoft;
use crate::Summary;
use crate::group::carried::CarrierTree;
use crate::group::chunk::Chunk;
use crate::group::shared::Shared;
use crate::group::state::{State, motion_bytes};
use crate::host;
use crate::summary::status;

/// A residual may be above the solver's tolerance by this factor and its step still be differentiated: one that the solver was
/// content with may be so by rounding.
const LOOSE: f64 = 10.0;

/// The contact that a solver solves, as derivatives take it.
fn contact_model(solver: &dyn Solver) -> ContactModel {
    match solver.model() {
        Model::Exact => ContactModel::Exact,
        Model::Pyramid => ContactModel::Pyramid,
        Model::Convex => {
            let SapParams { near_rigid, slip, .. } = SapParams::default();
            ContactModel::Convex { near: (near_rigid / std::f64::consts::TAU).powi(2), slip }
        }
    }
}

impl<T: Scalar> Shared<T> {
    /// Whether derivatives of bodies that deform go by the velocity that a step ended with: one that is rounded to single precision is
    /// found again from the impulses.
    pub(super) fn ends_exactly(&self) -> bool {
        self.whole.is_some() && T::NAME == f64::NAME
    }

    /// What speaks against differentiating a step that ended like this.
    pub(in crate::group) fn problem(&self, summary: &Summary) -> Option<String> {
        let tolerance = LOOSE * self.tolerance;
        if summary.failed() {
            return Some(format!("the world failed: {}", summary.status_name()));
        }
        if summary.is_relaxed() {
            return Some("the step asked for what no motion gives, and biases gave way".into());
        }
        if summary.balance > tolerance {
            // Contacts may be solved all the same: their residual alone says nothing of it.
            let left = summary.balance;
            return Some(format!("the balance of momentum of what deforms is left unsolved by {left:.1e} N s"));
        }
        if self.solver.model() != Model::Exact {
            // Only the solver knows how well it solved another contact than the certificate's.
            let unsolved = summary.status & status::CONVERGED == 0;
            return unsolved.then(|| format!("the contact solver {} did not converge", self.solver.name()));
        }
        // Of heavy bodies the scaled one counts: it is a velocity, as what is differentiated.
        let solved = [summary.residual, summary.residual_scaled].iter().any(|residual| *residual <= tolerance);
        (!solved).then(|| format!("the contact solver stopped at a residual of {:.1e} N s", summary.residual))
    }
}

impl<T: Scalar> Chunk<T> {
    /// How far off a world's velocities may be after a step that ended like this, m/s: what was left unsolved, where not only the solver
    /// knows, and in single precision what places are rounded by, as what a step makes of it.
    pub(in crate::group) fn doubt(&self, world: usize, summary: &Summary) -> f64 {
        let residual = if self.shared.solver.model() == Model::Exact { summary.residual_scaled } else { 0.0 };
        if T::NAME == f64::NAME {
            return residual;
        }
        let (reach, h) = (self.host.worlds[world].reach(), self.host.packed().timestep(world, 0));
        residual.max(0.5 * f64::from(f32::EPSILON) * reach / h)
    }
}

/// One step of one world.
#[derive(Debug)]
pub(crate) struct WorldStep {
    pub(super) trees: Vec<OwnTree>,
    /// Bodies that deform.
    pub(super) soft: Vec<OwnSoft>,
    /// First dof of each tree, then of each soft body, where there are any.
    pub(super) first: Vec<usize>,
    pub(super) contacts: Vec<ContactInput>,
    /// The same with impulses shared out anew, where that was asked for ([`manyworlds_gradients::Linearised::shared`]).
    pub(super) shared_out: OnceLock<Vec<ContactInput>>,
    pub(super) blocks: Vec<BlockInput>,
    /// The last factor of a step that was solved at once, where that was kept.
    pub(super) factor: Option<Arc<StepFactor>>,
    /// What speaks against differentiating it.
    pub(super) problem: Option<String>,
    /// See [`Chunk::doubt`].
    pub(super) doubt: f64,
    /// The state after it; without controls and forces, which are as before.
    pub(crate) after: State,
}

/// One tree of the world.
#[derive(Debug, Clone)]
pub(super) struct OwnTree {
    /// Set, and number within it.
    pub(super) set: usize,
    pub(super) index: usize,
    pub(super) lane: usize,
    /// Where they are not the model's.
    pub(super) params: Option<Vec<f64>>,
    pub(super) state: Vec<f64>,
    /// What kinematics makes of it: frames of the bodies, then motions of the dofs.
    pub(super) frames: Vec<f64>,
    /// What else the step made of it, where that was to be seen: inertia, factor, right-hand side, rows ([`TreeMade`]).
    pub(super) made: Option<Vec<f64>>,
    pub(super) rows: Vec<f64>,
}

impl OwnTree {
    pub(super) fn params<'a, T: Scalar>(&'a self, shared: &'a Shared<T>) -> &'a [f64] {
        self.params.as_deref().unwrap_or(&shared.sets[self.set].params[self.index])
    }

    /// Finds the frames.
    pub(super) fn place<T: Scalar>(&mut self, shared: &Shared<T>) {
        let layout = &shared.sets[self.set].layout;
        let mut frames = vec![0.0; frames_reals(layout.dims)];
        let (pose, motion) = frames.split_at_mut(POSE * layout.dims.n_body as usize);
        kinematics(&layout.tree(), Params::<f64>::Shared(self.params(shared)), &self.state, pose, motion);
        self.frames = frames;
    }

    /// The same with another number among its parameters.
    pub(super) fn moved<T: Scalar>(&self, shared: &Shared<T>, entry: usize, by: f64) -> Self {
        let mut params = self.params(shared).to_vec();
        params[entry] += by;
        let mut out = Self { params: Some(params), ..self.clone() };
        out.place(shared);
        out
    }

    /// As one that carries a soft body.
    pub(super) fn carrier<'s, T: Scalar>(&self, shared: &'s Shared<T>) -> CarrierTree<'s> {
        let layout = &shared.sets[self.set].layout;
        let dims = layout.dims;
        let (pose, motion) = self.frames.split_at(POSE * dims.n_body as usize);
        let v = self.state[dims.v_at()..dims.v_at() + dims.n_v as usize].to_vec();
        CarrierTree { tree: layout.tree(), pose: pose.to_vec(), motion: motion.to_vec(), v }
    }
}

/// The tree that carries a soft body, if that moves.
pub(super) fn carrier_of<T: Scalar>(shared: &Shared<T>, soft: usize) -> Option<usize> {
    match shared.host.soft[soft].carrier {
        host::Carrier::Moving(body) => shared.host.lanes.bodies[body].map(|place| place.tree),
        host::Carrier::Fixed(_) | host::Carrier::Mocap(_) => None,
    }
}

/// Numbers of [`OwnTree::frames`].
fn frames_reals(dims: TreeDims) -> usize {
    POSE * dims.n_body as usize + SPATIAL * dims.n_v as usize
}

/// Memory of a step of a world with so many contacts of a model, B; what a [`WorldStep`] takes.
pub(crate) fn step_bytes<T: Scalar>(shared: &Shared<T>, contacts: usize, own_params: bool) -> usize {
    let tree = |place: &crate::lanes::TreePlace| {
        let dims = shared.sets[place.set].layout.dims;
        let params = if own_params { dims.n_param as usize } else { 0 };
        size_of::<OwnTree>() + 8 * (dims.n_state() + frames_reals(dims) + dims.n_row as usize + params)
    };
    size_of::<WorldStep>()
        + shared.host.lanes.trees.iter().map(tree).sum::<usize>()
        + contacts * size_of::<ContactInput>()
        + shared.host.fixed.len() * size_of::<BlockInput>()
        + motion_bytes(shared)
}

impl WorldStep {
    /// Memory it takes, B.
    pub(crate) fn bytes(&self) -> usize {
        let tree = |tree: &OwnTree| {
            let made = tree.made.as_ref().map_or(0, Vec::len);
            let numbers = made
                + tree.state.len()
                + tree.frames.len()
                + tree.rows.len()
                + tree.params.as_ref().map_or(0, Vec::len);
            size_of::<OwnTree>() + 8 * numbers
        };
        size_of::<Self>()
            + self.trees.iter().map(tree).sum::<usize>()
            + (self.contacts.len() + self.shared_out.get().map_or(0, Vec::len)) * size_of::<ContactInput>()
            + self.blocks.len() * size_of::<BlockInput>()
            + self.factor.as_ref().map_or(0, |kept| kept.factor.bytes())
            + self.after.bytes()
    }

    /// The step, as the derivatives take it.
    pub(in crate::group) fn input<'a, T: Scalar>(&'a self, shared: &'a Shared<T>) -> StepInput<'a> {
        let tree = |tree: &'a OwnTree| {
            let layout = &shared.sets[tree.set].layout;
            let [n_body, n_v, n_m] = [layout.dims.n_body, layout.dims.n_v, layout.dims.n_m].map(|n| n as usize);
            let (pose, motion) = tree.frames.split_at(POSE * n_body);
            let made = tree.made.as_ref().map(|made| {
                let (mass, rest) = made.split_at(n_m);
                let (factor, rest) = rest.split_at(n_m);
                let (b, rows) = rest.split_at(n_v);
                TreeMade { mass, factor, b, rows }
            });
            TreeInput {
                layout,
                params: tree.params(shared),
                state: &tree.state,
                frames: [pose, motion],
                made,
                rows: &tree.rows,
            }
        };
        StepInput {
            first: self.first.clone(),
            trees: self.trees.iter().map(tree).collect(),
            sparse: self.soft.iter().map(OwnSoft::input).collect(),
            whole: shared.whole.as_ref().map(|order| {
                let after = shared.ends_exactly().then_some(&self.after.v[..]);
                order.input(after, self.factor.as_deref())
            }),
            contacts: &self.contacts,
            blocks: &self.blocks,
            model: contact_model(shared.solver),
            single: T::NAME != f64::NAME,
            doubt: self.doubt,
            controls: self.trees.iter().map(|t| &shared.sets[t.set].actuators[t.index][..]).collect(),
            activations: self.trees.iter().map(|t| &shared.sets[t.set].activations[t.index][..]).collect(),
        }
    }
}
