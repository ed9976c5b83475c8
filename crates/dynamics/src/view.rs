//! One tree of a model as what is compiled from it sees it.

use manyworlds_model::{EqualityKind, Joint, JointKind, Model, Pose};
use manyworlds_shaders::dynamics::tree::NONE;

use crate::error::TreeError;

/// One tree of a model, and what of the model belongs to it.
pub(crate) struct TreeView<'a> {
    pub(crate) model: &'a Model,
    pub(crate) tree: &'a manyworlds_model::Tree,
    /// Indices in the model.
    pub(crate) actuators: Vec<usize>,
    /// Tendons on it.
    pub(crate) tendons: Vec<usize>,
    /// Sensors of it.
    pub(crate) sensors: Vec<usize>,
    /// Active equalities that bind nothing but this tree and the ground.
    pub(crate) equalities: Vec<usize>,
    /// One of `manyworlds_shaders::dynamics::tree::integrator`.
    pub(crate) integrator: u32,
}

impl<'a> TreeView<'a> {
    pub(crate) fn new(model: &'a Model, index: usize, integrator: u32) -> Result<Self, TreeError> {
        let tree = &model.trees[index];
        for j in tree.joints.clone() {
            let joint = &model.joints[j];
            let body = &model.bodies[joint.body];
            let alone = model.bodies[body.parent].tree != Some(index) || body.parent == tree.bodies.start;
            let alone = alone && model.bodies[body.parent].joints.is_empty() && body.joints.len() == 1;
            if joint.kind == JointKind::Free && !alone {
                let message = "a free joint must be the only joint of a body on the ground";
                return Err(TreeError::Joint { index: j, name: joint.name.clone(), message });
            }
        }
        let within = |bodies: Vec<usize>| bodies.iter().any(|body| model.bodies[*body].tree == Some(index));
        let actuators =
            (0..model.actuators.len()).filter(|&a| within(model.bodies_of(&model.actuators[a].transmission))).collect();
        let tendons =
            (0..model.tendons.len()).filter(|&t| within(model.bodies_of_path(&model.tendons[t].path))).collect();
        let equalities = (0..model.equalities.len())
            .filter(|&e| model.equalities[e].active && owner(model, &model.equalities[e].kind) == Some(index))
            .collect();
        let sensors = (0..model.sensors.len()).filter(|&s| model.tree_of_sensor(s) == Ok(index)).collect();
        Ok(Self { model, tree, actuators, tendons, sensors, equalities, integrator })
    }

    /// Index within the tree of a body of the model, if the tree moves it.
    pub(crate) fn body(&self, body: usize) -> u32 {
        if self.model.bodies[body].tree.is_none() { NONE } else { self.record(body) }
    }

    /// Which record a body has; a tree that unites several has fixed bodies, too.
    pub(crate) fn record(&self, body: usize) -> u32 {
        if self.tree.bodies.contains(&body) { (body - self.tree.bodies.start) as u32 } else { NONE }
    }

    pub(crate) fn joints(&self) -> &'a [Joint] {
        &self.model.joints[self.tree.joints.clone()]
    }

    /// First dof of a joint, within the tree.
    pub(crate) fn dof(&self, joint: &Joint) -> u32 {
        (joint.v_start - self.tree.v.start) as u32
    }
}

/// The one tree that an equality binds, to itself or to the ground; `None` when it binds several, or none.
fn owner(model: &Model, kind: &EqualityKind) -> Option<usize> {
    let bodies = match kind {
        EqualityKind::Connect { bodies, .. } | EqualityKind::Weld { bodies, .. } => *bodies,
        EqualityKind::Coupling { joint, driver, .. } => {
            [model.joints[*joint].body, model.joints[driver.unwrap_or(*joint)].body]
        }
        // The tendons' trees are one, if they are many.
        EqualityKind::TendonCoupling { tendon, driver, .. } => {
            let paths = [*tendon, driver.unwrap_or(*tendon)].map(|tendon| &model.tendons[tendon].path);
            return paths.iter().flat_map(|path| model.bodies_of_path(path)).find_map(|body| model.bodies[body].tree);
        }
    };
    match bodies.map(|b| model.bodies[b].tree) {
        [Some(a), Some(b)] if a == b => Some(a),
        [Some(a), None] | [None, Some(a)] if !matches!(kind, EqualityKind::Coupling { .. }) => Some(a),
        _ => None,
    }
}

/// Frame in the world of a body that no joint moves.
pub(crate) fn static_pose(model: &Model, body: usize) -> Pose {
    let mut pose = Pose::identity();
    let mut b = body;
    while b != 0 {
        pose = model.bodies[b].pose * pose;
        b = model.bodies[b].parent;
    }
    pose
}
