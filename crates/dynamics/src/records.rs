//! The records of a tree: its bodies, joints and degrees of freedom, and where each sort of them begins.

use std::collections::BTreeSet;

use manyworlds_model::{Joint, JointKind};
use manyworlds_shaders::dynamics::tree::{
    ActuatorRecord, BodyRecord, DofRecord, JointRecord, NONE, TreeDims, joint, param,
};

use crate::forces::Plan;
use crate::layout::TreeLayout;
use crate::rows;
use crate::sensors::SensorPlan;
use crate::view::TreeView;

impl TreeView<'_> {
    /// Sizes and structure of the tree.
    pub(crate) fn layout(&self) -> TreeLayout {
        let mut plan = Plan::new(self);
        let mut sensors = SensorPlan::new(self, &mut plan);
        let (dofs, bound) = bind(self.kinematic_dofs(), &plan);
        let bodies = self.bodies(&dofs);
        let joints: Vec<JointRecord> = self.joints().iter().map(|j| self.joint(j)).collect();
        let (rows, n_coupling) = rows::rows(self);
        let blocks = rows::blocks(self);
        let actuators: Vec<ActuatorRecord> = self
            .actuators
            .iter()
            .map(|&a| {
                let actuator = &self.model.actuators[a];
                let joint = actuator.joint().map_or(0, |joint| (joint - self.tree.joints.start) as u32);
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
                bound: u32::from(bound),
                integrator: self.integrator,
                ..TreeDims::default()
            },
            topology: Vec::new(),
            sensor_at: None,
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
        plan.place(dims, at);
        dims.n_param = sensors.place(dims.n_param as usize) as u32;
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
        plan.append(dims, topology);
        layout.sensor_at = sensors.append(topology);
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

    /// Degrees of freedom, each with those that move its body as parents.
    pub(crate) fn kinematic_dofs(&self) -> Vec<DofRecord> {
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
        while self.model.bodies[above].tree.is_some() {
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
                let local = self.record(b);
                let own = || (0..dofs.len()).filter(|&d| dofs[d].body == local);
                let above = self.last_dof_above(b);
                BodyRecord {
                    parent: if b == self.tree.bodies.start { NONE } else { self.record(body.parent) },
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

/// Makes dofs parents of one another where applied forces bind them, so that the branch-sparse matrix holds what these add;
/// and whether any are bound that were not. The parents are those of the elimination tree of that matrix, from the last dof
/// to the first: the next among the dofs before it that it, or a child of it, shares an entry with (Davis 2006, section 4.1).
fn bind(mut dofs: Vec<DofRecord>, plan: &Plan) -> (Vec<DofRecord>, bool) {
    let n = dofs.len();
    let above = |dofs: &[DofRecord], i: usize| {
        let mut list = Vec::new();
        let mut j = dofs[i].parent;
        while j != NONE {
            list.push(j);
            j = dofs[j as usize].parent;
        }
        list
    };
    let mut shares: Vec<BTreeSet<u32>> = (0..n).map(|i| above(&dofs, i).into_iter().collect()).collect();
    let mut bound = false;
    for clique in plan.cliques() {
        for (k, &i) in clique.iter().enumerate() {
            for &j in &clique[..k] {
                bound |= shares[i as usize].insert(j);
            }
        }
    }
    if !bound {
        return (dofs, false);
    }
    for i in (0..n).rev() {
        let mut own = std::mem::take(&mut shares[i]);
        dofs[i].parent = own.pop_last().unwrap_or(NONE);
        if let Some(parent) = shares.get_mut(dofs[i].parent as usize) {
            parent.extend(own);
        }
    }
    let mut m_begin = 0;
    for i in 0..n {
        let chain = dofs.get(dofs[i].parent as usize).map_or(1, |parent| parent.chain + 1);
        (dofs[i].m_begin, dofs[i].chain) = (m_begin, chain);
        m_begin += chain;
    }
    (dofs, true)
}
