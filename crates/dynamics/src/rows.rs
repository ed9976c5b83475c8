//! Static rows and blocks: the constraints of a tree that are there at every step.

use manyworlds_model::{Actuator, Bounded, EqualityKind, Joint, JointKind};
use manyworlds_shaders::contact::tree_layout::row as layout;
use manyworlds_shaders::dynamics::tree::{
    BlockRecord, NONE, RowRecord, TreeDims, block, drive, integrator, param, row,
};

use crate::forces::{Plan, is_applied};
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

/// A row before it has a place in the topology.
pub(crate) struct RowPlan {
    pub(crate) record: RowRecord,
    pub(crate) dofs: Vec<u32>,
}

impl RowPlan {
    fn new(kind: u32, dofs: Vec<u32>, q: u32, source: u32, param: usize) -> Self {
        let count = dofs.len() as u32;
        Self { record: RowRecord { kind, count, dof_at: 0, q, source, param: param as u32, like: NONE }, dofs }
    }
}

/// The rows of a tree, limits first, then dry friction, drives and couplings, and those of tendons behind them. `param`
/// counts records of the row's sort until [`append`].
pub(crate) fn rows(tree: &TreeView, plan: &Plan) -> Vec<RowPlan> {
    let mut rows = Vec::new();
    let q = |joint: &Joint| (joint.q_start - tree.tree.q.start) as u32;
    for (j, joint) in tree.joints().iter().enumerate() {
        let dof = tree.dof(joint);
        let (kind, dofs) = match (joint.range, joint.kind) {
            (None, _) | (_, JointKind::Free) => continue,
            (Some(_), JointKind::Ball) => (row::LIMIT_BALL, vec![dof, dof + 1, dof + 2]),
            (Some(_), _) => (row::LIMIT, vec![dof]),
        };
        rows.push(RowPlan::new(kind, dofs, q(joint), NONE, j));
    }
    for (j, joint) in tree.joints().iter().enumerate().filter(|(_, joint)| joint.dry_friction > 0.0) {
        for k in 0..joint.kind.n_v() as u32 {
            rows.push(RowPlan::new(row::FRICTION, vec![tree.dof(joint) + k], q(joint), NONE, j));
        }
    }
    for (a, actuator) in tree.actuators.iter().map(|&a| &tree.model.actuators[a]).enumerate() {
        if let Some(joint) = actuator.joint().filter(|_| mode(tree, actuator) == drive::ROW) {
            let joint = &tree.model.joints[joint];
            let dof = tree.dof(joint);
            let dofs = if joint.kind == JointKind::Ball { vec![dof, dof + 1, dof + 2] } else { vec![dof] };
            let like = rows.iter().position(|row| row.record.kind == row::FRICTION && row.dofs == dofs);
            let mut drive = RowPlan::new(row::DRIVE, dofs, q(joint), a as u32, a);
            drive.record.like = like.map_or(NONE, |row| row as u32);
            rows.push(drive);
        }
    }
    for (number, kind) in couplings(tree).enumerate() {
        if let EqualityKind::Coupling { joint, driver, .. } = kind {
            let joint = &tree.model.joints[*joint];
            let driver = driver.map(|d| &tree.model.joints[d]);
            let dofs = std::iter::once(joint).chain(driver).map(|joint| tree.dof(joint)).collect();
            rows.push(RowPlan::new(row::COUPLING, dofs, q(joint), driver.map_or(NONE, q), number));
        }
    }
    tendon_rows(tree, plan, &mut rows);
    rows
}

/// The row that is the limit of a joint or tendon of a tree, if it has one.
pub(crate) fn limit(tree: &TreeView, plan: &Plan, of: Bounded) -> Option<u32> {
    let is_its = |record: &RowRecord| match of {
        Bounded::Joint(joint) => {
            matches!(record.kind, row::LIMIT | row::LIMIT_BALL)
                && record.param as usize + tree.tree.joints.start == joint
        }
        Bounded::Tendon(tendon) => record.kind == row::TENDON_LIMIT && plan.tendons[record.param as usize] == tendon,
    };
    rows(tree, plan).iter().position(|row| is_its(&row.record)).map(|row| row as u32)
}

fn tendon_rows(tree: &TreeView, plan: &Plan, rows: &mut Vec<RowPlan>) {
    let dofs = |path: u32| plan.paths[path as usize].dofs.clone();
    let tendons = || (0..).zip(plan.tendons.iter().map(|&tendon| &tree.model.tendons[tendon]));
    for (path, _) in tendons().filter(|(_, tendon)| tendon.range.is_some()) {
        rows.push(RowPlan::new(row::TENDON_LIMIT, dofs(path), path, NONE, path as usize));
    }
    for (path, _) in tendons().filter(|(_, tendon)| tendon.dry_friction > 0.0) {
        rows.push(RowPlan::new(row::TENDON_FRICTION, dofs(path), path, NONE, path as usize));
    }
    for (number, kind) in couplings(tree).enumerate() {
        if let EqualityKind::TendonCoupling { tendon, driver, .. } = kind
            && let Some(path) = plan.tendon(*tendon)
        {
            let driver = driver.and_then(|driver| plan.tendon(driver));
            let all = std::iter::once(path).chain(driver).flat_map(dofs).collect();
            rows.push(RowPlan::new(row::TENDON_COUPLING, all, path, driver.unwrap_or(NONE), number));
        }
    }
}

/// Couplings of joints and of tendons, in the order of their parameters.
fn couplings<'a>(tree: &'a TreeView) -> impl Iterator<Item = &'a EqualityKind> {
    let kinds = tree.equalities.iter().map(|&e| &tree.model.equalities[e].kind);
    kinds.filter(|kind| matches!(kind, EqualityKind::Coupling { .. } | EqualityKind::TendonCoupling { .. }))
}

/// Number of couplings.
pub(crate) fn n_coupling(tree: &TreeView) -> usize {
    couplings(tree).count()
}

/// Terms of the rows of a tree.
pub(crate) fn width(rows: &[RowPlan]) -> u32 {
    rows.iter().map(|row| row.record.count).max().unwrap_or(0).max(layout::WIDTH)
}

/// Appends the records to the topology, each with its list of dofs behind them all, and `param` the offset of its record.
pub(crate) fn append(rows: &[RowPlan], plan: &Plan, dims: &mut TreeDims, topology: &mut Vec<u32>) {
    dims.row_at = topology.len() as u32;
    let mut dof_at = dims.row_at + (rows.len() * size_of::<RowRecord>() / size_of::<u32>()) as u32;
    for RowPlan { record, dofs } in rows {
        let param = match record.kind {
            row::DRIVE => dims.actuator_param + record.param * param::ACTUATOR as u32,
            row::COUPLING | row::TENDON_COUPLING => dims.coupling_param + record.param * param::COUPLING as u32,
            row::TENDON_LIMIT | row::TENDON_FRICTION => plan.paths[record.param as usize].record.param,
            _ => dims.joint_param + record.param * param::JOINT as u32,
        };
        topology.extend(bytemuck::cast_slice::<_, u32>(&[RowRecord { dof_at, param, ..*record }]));
        dof_at += dofs.len() as u32;
    }
    rows.iter().for_each(|row| topology.extend(&row.dofs));
}

/// The blocks of a tree: one of a connect, two of a weld. `param` is the block's number until [`place_blocks`].
pub(crate) fn blocks(tree: &TreeView) -> Vec<BlockRecord> {
    let mut blocks = Vec::new();
    for kind in tree.equalities.iter().map(|&e| &tree.model.equalities[e].kind) {
        let (bodies, kinds): ([usize; 2], &[u32]) = match kind {
            EqualityKind::Connect { bodies, .. } => (*bodies, &[block::POSITION]),
            EqualityKind::Weld { bodies, .. } => (*bodies, &[block::POSITION, block::ROTATION]),
            EqualityKind::Coupling { .. } | EqualityKind::TendonCoupling { .. } => continue,
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
