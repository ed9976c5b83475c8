//! What a model leaves to its initial position: slack lengths of springs, lengths of coupled tendons, and peak forces of
//! muscles.

use manyworlds_model::Model;
use manyworlds_shaders::dynamics::tree::{
    ForceRecord, NONE, POSE, Params, SPATIAL, actuator_param, force, param, row, solve,
};
use manyworlds_shaders::dynamics::{bias, factor, inertia, kinematics, path};

use crate::layout::TreeLayout;
use crate::view::TreeView;

/// Accelerations below this count as this, as in MuJoCo.
const LEAST: f64 = 1e-15;

/// Fills in what of the parameters depends on the initial position.
pub(crate) fn complete(tree: &TreeView, layout: &TreeLayout, params: &mut [f64]) {
    let model = tree.model;
    let records = layout.tree();
    let open = |number: usize| model.tendons[tree.tendons[number]].spring_length.is_none();
    for record in records.forces.iter().filter(|r| r.kind == force::SPRING && open(r.on as usize)) {
        let at_rest = At::new(layout, params, &spring_position(model)[tree.tree.q.clone()]);
        let length = at_rest.pull[records.paths[record.on as usize].pull as usize];
        params[record.param as usize + param::FORCE_SLACK..][..2].fill(length);
    }
    for record in records.rows.iter().filter(|r| r.kind == row::TENDON_COUPLING) {
        let at = At::new(layout, params, &model.initial_q()[tree.tree.q.clone()]);
        let length = |path: u32| if path == NONE { 0.0 } else { at.pull[records.paths[path as usize].pull as usize] };
        let to = record.param as usize;
        params[to + param::COUPLING_REFERENCE] = length(record.q);
        params[to + param::COUPLING_DRIVER_REFERENCE] = length(record.source);
    }
    let muscles = records.forces.iter().filter(|r| r.kind == force::ACTUATOR && r.muscle != 0);
    for record in muscles {
        let index = tree.actuators[record.actuator as usize];
        let Some(muscle) = model.actuators[index].muscle.filter(|muscle| muscle.force.is_none()) else { continue };
        let at = At::new(layout, params, &model.initial_q()[tree.tree.q.clone()]);
        let acceleration = at.acceleration(layout, params, record);
        params[record.param as usize + param::FORCE_PEAK] = muscle.scale / acceleration.max(LEAST);
    }
}

/// Where the springs of joints are slack.
fn spring_position(model: &Model) -> Vec<f64> {
    let mut q = model.initial_q();
    for joint in model.joints.iter().filter(|joint| joint.kind.n_q() == 1) {
        q[joint.q_start] = joint.spring_reference;
    }
    q
}

/// A tree at a position, at rest.
struct At {
    state: Vec<f64>,
    pose: Vec<f64>,
    motion: Vec<f64>,
    pull: Vec<f64>,
}

impl At {
    fn new(layout: &TreeLayout, params: &[f64], q: &[f64]) -> Self {
        let (tree, dims) = (layout.tree(), &layout.dims);
        let mut at = Self {
            state: vec![0.0; dims.n_state()],
            pose: vec![0.0; POSE * dims.n_body as usize],
            motion: vec![0.0; SPATIAL * dims.n_v as usize],
            pull: vec![0.0; dims.n_pull as usize],
        };
        at.state[..q.len()].copy_from_slice(q);
        let params = Params::Shared(params);
        kinematics::kinematics(&tree, params, &at.state, &mut at.pose, &mut at.motion);
        path::path(&tree, params, &at.state, &at.pose, &at.motion, &mut at.pull);
        at
    }

    /// Norm of the acceleration that a unit of a force along a path causes: `|M^-1 g|`.
    fn acceleration(&self, layout: &TreeLayout, params: &[f64], force: &ForceRecord) -> f64 {
        let (tree, dims) = (layout.tree(), &layout.dims);
        let [n_v, n_m, n_body] = [dims.n_v, dims.n_m, dims.n_body].map(|n| n as usize);
        let shared = Params::Shared(params);
        let (mut twist, mut work) = (vec![0.0; SPATIAL * n_body], vec![0.0; dims.n_work()]);
        let (mut biases, mut mass) = (vec![0.0; n_v], vec![0.0; n_m]);
        bias::bias(&tree, shared, &self.state, &self.pose, &self.motion, &mut twist, &mut work, &mut biases);
        inertia::inertia(&tree, shared, &self.motion, &mut work, &mut mass);
        let (mut factored, mut free, mut velocity) = (vec![0.0; n_m], vec![0.0; n_v], vec![0.0; n_v]);
        factor::factor(&tree, &mass, &biases, &mut factored, &mut free, &mut velocity, &mut [0]);
        let record = &tree.paths[force.on as usize];
        let mut arms = vec![0.0; n_v];
        for (k, &dof) in tree.path_dofs(record).iter().enumerate() {
            arms[dof as usize] = self.pull[record.pull as usize + 1 + k];
        }
        solve(&tree, &factored, &mut arms);
        let at = actuator_param(dims, force.actuator as usize) + param::ACTUATOR_GEAR;
        let gear = if force.geared == 1 { params[at] } else { 1.0 };
        gear.abs() * arms.iter().map(|x| x * x).sum::<f64>().sqrt()
    }
}
