//! Tree sets: the trees of a model that one dispatch can step side by side.

use manyworlds_model::{EqualityKind, Joint, JointKind, Model};
use manyworlds_shaders::dynamics::tree::{
    ActuatorRecord, BodyRecord, DofRecord, JointRecord, NONE, TreeDims, integrator, joint, param,
};

use crate::{TreeError, TreeLayout, params, rows};

/// How contacts and other constraints are stabilised: the part of the params' header that no model gives.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Fraction of a penetration that one step removes, 0 to 1.
    pub correction_fraction: f64,
    /// Largest speed of that correction, m/s.
    pub correction_max: f64,
    /// Approaching faster than this bounces, m/s.
    pub restitution_threshold: f64,
    /// Depth up to which a penetration is left as it is, m.
    pub correction_slop: f64,
    /// How velocities and positions go through a step: one of [`integrator`].
    pub integrator: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            correction_fraction: 0.2,
            correction_max: 0.2,
            restitution_threshold: 0.01,
            correction_slop: 0.0,
            integrator: integrator::LINEARLY_IMPLICIT,
        }
    }
}

/// Trees of equal topology; their parameters may differ.
#[derive(Debug, Clone)]
pub struct TreeSet {
    /// The trees, indices in the model; lane `world * trees.len() + i` is tree `trees[i]`.
    pub trees: Vec<usize>,
    /// What they share.
    pub layout: TreeLayout,
    /// One set of parameters a tree, `[trees][n_param]`.
    pub params: Vec<Vec<f64>>,
    /// Actuators of each tree, indices in the model, in the order of its controls, `[trees][n_u]`.
    pub actuators: Vec<Vec<usize>>,
    /// Equalities within each tree, indices in the model, in the order of its coupling rows and blocks.
    pub equalities: Vec<Vec<usize>>,
}

impl TreeSet {
    /// Whether one set of parameters serves every tree.
    #[must_use]
    pub fn uniform(&self) -> bool {
        self.params.windows(2).all(|pair| pair[0] == pair[1])
    }
}

/// Groups a model's trees by topology, in the order of their first trees.
///
/// # Errors
/// [`TreeError::Joint`] for a free joint that is not the only joint of a tree's first body.
pub fn compile(model: &Model, settings: &Settings) -> Result<Vec<TreeSet>, TreeError> {
    let mut sets: Vec<TreeSet> = Vec::new();
    for index in 0..model.trees.len() {
        let tree = TreeView::new(model, index, settings.integrator)?;
        let layout = tree.layout();
        let params = params::params(&tree, &layout.dims, settings);
        let set = match sets.iter_mut().position(|set| set.layout == layout) {
            Some(found) => &mut sets[found],
            None => {
                sets.push(TreeSet {
                    trees: Vec::new(),
                    layout,
                    params: Vec::new(),
                    actuators: Vec::new(),
                    equalities: Vec::new(),
                });
                let last = sets.len() - 1;
                &mut sets[last]
            }
        };
        set.trees.push(index);
        set.params.push(params);
        set.actuators.push(tree.actuators);
        set.equalities.push(tree.equalities);
    }
    Ok(sets)
}

/// One tree of a model, and what of the model belongs to it.
pub(crate) struct TreeView<'a> {
    pub(crate) model: &'a Model,
    pub(crate) tree: &'a manyworlds_model::Tree,
    /// Indices in the model.
    pub(crate) actuators: Vec<usize>,
    /// Active equalities that bind nothing but this tree and the ground.
    pub(crate) equalities: Vec<usize>,
    /// One of [`integrator`].
    pub(crate) integrator: u32,
}

impl<'a> TreeView<'a> {
    fn new(model: &'a Model, index: usize, integrator: u32) -> Result<Self, TreeError> {
        let tree = &model.trees[index];
        for j in tree.joints.clone() {
            let joint = &model.joints[j];
            let alone = joint.body == tree.bodies.start && model.bodies[joint.body].joints.len() == 1;
            if joint.kind == JointKind::Free && !alone {
                let message = "a free joint must be the only joint of a body on the ground";
                return Err(TreeError::Joint { index: j, name: joint.name.clone(), message });
            }
        }
        let actuators =
            (0..model.actuators.len()).filter(|&a| tree.joints.contains(&model.actuators[a].joint)).collect();
        let equalities = (0..model.equalities.len())
            .filter(|&e| model.equalities[e].active && owner(model, &model.equalities[e].kind) == Some(index))
            .collect();
        Ok(Self { model, tree, actuators, equalities, integrator })
    }

    /// Index within the tree of a body of the model.
    pub(crate) fn body(&self, body: usize) -> u32 {
        if self.tree.bodies.contains(&body) { (body - self.tree.bodies.start) as u32 } else { NONE }
    }

    pub(crate) fn joints(&self) -> &'a [Joint] {
        &self.model.joints[self.tree.joints.clone()]
    }

    fn layout(&self) -> TreeLayout {
        let dofs = self.dofs();
        let bodies = self.bodies(&dofs);
        let joints: Vec<JointRecord> = self.joints().iter().map(|j| self.joint(j)).collect();
        let (rows, n_coupling) = rows::rows(self);
        let blocks = rows::blocks(self);
        let actuators: Vec<ActuatorRecord> = self
            .actuators
            .iter()
            .map(|&a| {
                let actuator = &self.model.actuators[a];
                let joint = (actuator.joint - self.tree.joints.start) as u32;
                ActuatorRecord { joint, mode: rows::mode(self, actuator) }
            })
            .collect();
        let lone = joints.len() == 1 && joints[0].kind == joint::FREE;
        let mut layout = TreeLayout {
            dims: TreeDims {
                param_lanes: 0,
                n_body: bodies.len() as u32,
                n_joint: joints.len() as u32,
                n_q: self.tree.q.len() as u32,
                n_v: dofs.len() as u32,
                n_u: actuators.len() as u32,
                n_m: dofs.iter().map(|d| d.chain).sum(),
                n_row: rows.len() as u32,
                n_block: blocks.len() as u32,
                lone: u32::from(lone),
                integrator: self.integrator,
                ..TreeDims::default()
            },
            topology: Vec::new(),
        };
        let dims = &mut layout.dims;
        let mut at = param::HEADER + param::BODY * bodies.len();
        for (start, count, size) in [
            (&mut dims.joint_param, joints.len(), param::JOINT),
            (&mut dims.actuator_param, actuators.len(), param::ACTUATOR),
            (&mut dims.coupling_param, n_coupling, param::COUPLING),
            (&mut dims.block_param, blocks.len(), param::BLOCK),
        ] {
            *start = at as u32;
            at += count * size;
        }
        dims.n_param = at as u32;
        let rows = rows::place(&rows, dims);
        let blocks = rows::place_blocks(&blocks, dims);
        let topology = &mut layout.topology;
        topology.extend(bytemuck::cast_slice::<_, u32>(&bodies));
        let mut append = |start: &mut u32, records: &[u32]| {
            *start = topology.len() as u32;
            topology.extend(records);
        };
        append(&mut dims.joint_at, bytemuck::cast_slice(&joints));
        append(&mut dims.dof_at, bytemuck::cast_slice(&dofs));
        append(&mut dims.actuator_at, bytemuck::cast_slice(&actuators));
        append(&mut dims.row_at, bytemuck::cast_slice(&rows));
        append(&mut dims.block_at, bytemuck::cast_slice(&blocks));
        layout
    }

    fn joint(&self, joint: &Joint) -> JointRecord {
        JointRecord {
            kind: match joint.kind {
                JointKind::Free => joint::FREE,
                JointKind::Ball => joint::BALL,
                JointKind::Hinge => joint::HINGE,
                JointKind::Slide => joint::SLIDE,
            },
            body: self.body(joint.body),
            q_begin: (joint.q_start - self.tree.q.start) as u32,
            dof_begin: self.dof(joint),
        }
    }

    /// First dof of a joint, within the tree.
    pub(crate) fn dof(&self, joint: &Joint) -> u32 {
        (joint.v_start - self.tree.v.start) as u32
    }

    fn dofs(&self) -> Vec<DofRecord> {
        let mut dofs: Vec<DofRecord> = Vec::with_capacity(self.tree.v.len());
        let mut m_begin = 0;
        for (j, joint) in self.joints().iter().enumerate() {
            let body = self.body(joint.body);
            let subtree_end = self.subtree_end(joint.body);
            for k in 0..joint.kind.n_v() {
                let parent = if k > 0 || self.model.bodies[joint.body].joints.start < j + self.tree.joints.start {
                    dofs.len() as u32 - 1
                } else {
                    self.last_dof_above(joint.body)
                };
                let chain = if parent == NONE { 1 } else { dofs[parent as usize].chain + 1 };
                dofs.push(DofRecord { m_begin, chain, parent, body, subtree_end, joint: j as u32 });
                m_begin += chain;
            }
        }
        dofs
    }

    /// Last dof that moves the parent of a body.
    fn last_dof_above(&self, body: usize) -> u32 {
        let mut above = self.model.bodies[body].parent;
        while self.tree.bodies.contains(&above) {
            if let Some(last) = self.model.bodies[above].joints.clone().next_back() {
                let joint = &self.model.joints[last];
                return self.dof(joint) + joint.kind.n_v() as u32 - 1;
            }
            above = self.model.bodies[above].parent;
        }
        NONE
    }

    /// One past the last body of the subtree of a body, within the tree.
    fn subtree_end(&self, body: usize) -> u32 {
        let bodies = &self.model.bodies;
        let inside = |mut b: usize| {
            while b > body {
                b = bodies[b].parent;
            }
            b == body
        };
        let end = (body + 1..self.tree.bodies.end).find(|&b| !inside(b)).unwrap_or(self.tree.bodies.end);
        (end - self.tree.bodies.start) as u32
    }

    fn bodies(&self, dofs: &[DofRecord]) -> Vec<BodyRecord> {
        self.tree
            .bodies
            .clone()
            .map(|b| {
                let body = &self.model.bodies[b];
                let local = self.body(b);
                let own = || (0..dofs.len()).filter(|&d| dofs[d].body == local);
                let above = self.last_dof_above(b);
                BodyRecord {
                    parent: self.body(body.parent),
                    joint_begin: body.joints.start.saturating_sub(self.tree.joints.start) as u32,
                    joint_count: body.joints.len() as u32,
                    dof_begin: own().next().unwrap_or(0) as u32,
                    dof_count: own().count() as u32,
                    chain_dof: own().next_back().map_or(above, |d| d as u32),
                    subtree_end: self.subtree_end(b),
                }
            })
            .collect()
    }
}

/// The one tree that an equality binds, to itself or to the ground; `None` when it binds several, or none.
fn owner(model: &Model, kind: &EqualityKind) -> Option<usize> {
    let bodies = match kind {
        EqualityKind::Connect { bodies, .. } | EqualityKind::Weld { bodies, .. } => *bodies,
        EqualityKind::Coupling { joint, driver, .. } => {
            [model.joints[*joint].body, model.joints[driver.unwrap_or(*joint)].body]
        }
    };
    match bodies.map(|b| model.bodies[b].tree) {
        [Some(a), Some(b)] if a == b => Some(a),
        [Some(a), None] | [None, Some(a)] if !matches!(kind, EqualityKind::Coupling { .. }) => Some(a),
        _ => None,
    }
}
