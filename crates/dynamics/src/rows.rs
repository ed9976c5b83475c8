//! Static rows and blocks: the constraints of a tree that are there at every step.

use manyworlds_model::{Actuator, EqualityKind, Joint, JointKind};
use manyworlds_shaders::dynamics::tree::{
    BlockRecord, NONE, RowRecord, TreeDims, block, drive, integrator, param, row,
};

use crate::forces::is_applied;
use crate::view::TreeView;

/// How an actuator acts. A row stands for a drive whose force is limited and falls with position or velocity; drives
/// without a limit go into the momentum matrix. Limited motors act by their clamped force; so do limited drives of a free
/// joint, those whose force grows with position or velocity, which no soft row can hold, and all of them where forces are
/// those at the start of the step.
pub(crate) fn mode(tree: &TreeView, actuator: &Actuator) -> u32 {
    let Some(joint) = actuator.joint().filter(|_| !is_applied(actuator)) else { return drive::APPLIED };
    let [_, position, velocity] = actuator.bias;
    let falls = position <= 0.0 && velocity <= 0.0 && position + velocity < 0.0;
    let holds = falls && tree.integrator != integrator::SYMPLECTIC_EULER;
    match actuator.force_range {
        None => drive::IMPLICIT,
        Some(_) if holds && tree.model.joints[joint].kind != JointKind::Free => drive::ROW,
        Some(_) => drive::EXPLICIT,
    }
}

/// The rows of a tree, limits first, then dry friction, drives and couplings; and the number of couplings. `param`
/// counts records of the row's sort until [`place`].
pub(crate) fn rows(tree: &TreeView) -> (Vec<RowRecord>, usize) {
    let mut rows = Vec::new();
    let q = |joint: &Joint| (joint.q_start - tree.tree.q.start) as u32;
    for (j, joint) in tree.joints().iter().enumerate() {
        let dof = tree.dof(joint);
        let (kind, count, dofs) = match (joint.range, joint.kind) {
            (None, _) | (_, JointKind::Free) => continue,
            (Some(_), JointKind::Ball) => (row::LIMIT_BALL, 3, [dof, dof + 1, dof + 2]),
            (Some(_), _) => (row::LIMIT, 1, [dof, NONE, NONE]),
        };
        rows.push(RowRecord { kind, count, dofs, q: q(joint), source: NONE, param: j as u32 });
    }
    for (j, joint) in tree.joints().iter().enumerate().filter(|(_, joint)| joint.dry_friction > 0.0) {
        for k in 0..joint.kind.n_v() as u32 {
            let dofs = [tree.dof(joint) + k, NONE, NONE];
            rows.push(RowRecord { kind: row::FRICTION, count: 1, dofs, q: q(joint), source: NONE, param: j as u32 });
        }
    }
    for (a, actuator) in tree.actuators.iter().map(|&a| &tree.model.actuators[a]).enumerate() {
        if let Some(joint) = actuator.joint().filter(|_| mode(tree, actuator) == drive::ROW) {
            let joint = &tree.model.joints[joint];
            let dof = tree.dof(joint);
            let (count, dofs) =
                if joint.kind == JointKind::Ball { (3, [dof, dof + 1, dof + 2]) } else { (1, [dof, NONE, NONE]) };
            let (source, param) = (a as u32, a as u32);
            rows.push(RowRecord { kind: row::DRIVE, count, dofs, q: q(joint), source, param });
        }
    }
    let mut n_coupling = 0;
    for kind in tree.equalities.iter().map(|&e| &tree.model.equalities[e].kind) {
        if let EqualityKind::Coupling { joint, driver, .. } = kind {
            let joint = &tree.model.joints[*joint];
            let driver = driver.map(|d| &tree.model.joints[d]);
            rows.push(RowRecord {
                kind: row::COUPLING,
                count: 1 + u32::from(driver.is_some()),
                dofs: [tree.dof(joint), driver.map_or(NONE, |d| tree.dof(d)), NONE],
                q: q(joint),
                source: driver.map_or(NONE, q),
                param: n_coupling as u32,
            });
            n_coupling += 1;
        }
    }
    (rows, n_coupling)
}

/// Makes `param` the offset of the record.
pub(crate) fn place(rows: &[RowRecord], dims: &TreeDims) -> Vec<RowRecord> {
    rows.iter()
        .map(|record| {
            let (start, size) = match record.kind {
                row::DRIVE => (dims.actuator_param, param::ACTUATOR),
                row::COUPLING => (dims.coupling_param, param::COUPLING),
                _ => (dims.joint_param, param::JOINT),
            };
            RowRecord { param: start + record.param * size as u32, ..*record }
        })
        .collect()
}

/// The blocks of a tree: one of a connect, two of a weld. `param` is the block's number until [`place_blocks`].
pub(crate) fn blocks(tree: &TreeView) -> Vec<BlockRecord> {
    let mut blocks = Vec::new();
    for kind in tree.equalities.iter().map(|&e| &tree.model.equalities[e].kind) {
        let (bodies, kinds): ([usize; 2], &[u32]) = match kind {
            EqualityKind::Connect { bodies, .. } => (*bodies, &[block::POSITION]),
            EqualityKind::Weld { bodies, .. } => (*bodies, &[block::POSITION, block::ROTATION]),
            EqualityKind::Coupling { .. } => continue,
        };
        for &kind in kinds {
            let param = blocks.len() as u32;
            blocks.push(BlockRecord { kind, body_a: tree.body(bodies[0]), body_b: tree.body(bodies[1]), param });
        }
    }
    blocks
}

/// Makes `param` the offset of the record.
pub(crate) fn place_blocks(blocks: &[BlockRecord], dims: &TreeDims) -> Vec<BlockRecord> {
    let offset = |number: u32| dims.block_param + number * param::BLOCK as u32;
    blocks.iter().map(|record| BlockRecord { param: offset(record.param), ..*record }).collect()
}
