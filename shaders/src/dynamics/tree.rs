//! What every tree kernel reads: the records of a tree's structure and parameters, the index of the branch-sparse
//! joint-space matrix, the solve by its factor, and the Jacobian of a point.
//!
//! `topology` (u32, the same for all lanes) holds records of bodies, joints, degrees of freedom (dofs), actuators, rows
//! and blocks; `params` (real, shared by all lanes or one set a lane) a header and then records of bodies, joints,
//! actuators, couplings and blocks. Bodies, joints and dofs are numbered within the tree, depth-first, so that every
//! parent comes before its children and a subtree is a range.

use bytemuck::{Pod, Zeroable};

use crate::buffer::Lanes;
use crate::dynamics::carried::moves_body;
pub use crate::dynamics::names::{
    NONE, block, drive, force, integrator, joint, muscle, param, path, point, rate, row, status, work,
};
use crate::math::{Vec3, add, cross, dot, is_zero, load3};
use crate::real::Real;

/// Which lanes of a tile move in this step, by their status words.
#[must_use]
pub fn moving<R: Real>(status: &[u32]) -> R::Mask {
    let mut moving = R::lit(1.0);
    for (lane, word) in status.iter().enumerate() {
        if word & (status::STOPPED | status::HELD) != 0 {
            moving.set_lane(lane, R::lit(0.0).lane(lane));
        }
    }
    R::lit(0.5).lt(moving)
}

/// Reals of a body in the `pose` buffer: position, quaternion.
pub const POSE: usize = 7;
/// Reals of a dof in `motion` and of a body in `twist`: angular, linear.
pub const SPATIAL: usize = 6;
/// Reals of a body in `speed`: the velocity of its origin, the angular one.
pub const SPEED: usize = 6;

/// Sizes of a tree and of the buffers' lanes; the first member of every tree kernel's uniform.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Pod, Zeroable)]
pub struct TreeDims {
    /// Lanes in use; the buffers hold whole tiles.
    pub lanes: u32,
    /// 0: one set of params for all lanes; 1: one a lane, in tile layout.
    pub param_lanes: u32,
    /// Bodies.
    pub n_body: u32,
    /// Joints.
    pub n_joint: u32,
    /// Generalized positions.
    pub n_q: u32,
    /// Generalized velocities: dofs.
    pub n_v: u32,
    /// Actuators.
    pub n_u: u32,
    /// Entries of the branch-sparse joint-space matrix.
    pub n_m: u32,
    /// Static rows.
    pub n_row: u32,
    /// Static blocks of three rows.
    pub n_block: u32,
    /// Reals of one set of params.
    pub n_param: u32,
    /// 1 when the tree is one free rigid body and what is welded to it.
    pub lone: u32,
    /// First word of the joint records in `topology`; body records begin at 0.
    pub joint_at: u32,
    /// First word of the dof records; actuator records follow, then block records.
    pub dof_at: u32,
    /// First word of the row records.
    pub row_at: u32,
    /// First real of the joint records in `params`; body records begin at [`param::HEADER`].
    pub joint_param: u32,
    /// First real of the actuator records.
    pub actuator_param: u32,
    /// First real of the coupling records.
    pub coupling_param: u32,
    /// First real of the block records.
    pub block_param: u32,
    /// One of [`integrator`].
    pub integrator: u32,
    /// Activations.
    pub n_act: u32,
    /// Paths that applied forces pull along.
    pub n_path: u32,
    /// Applied forces.
    pub n_force: u32,
    /// Reals of a lane of `pull`: of each path its length, and its moment arm with each dof that changes it.
    pub n_pull: u32,
    /// First word of the path records; force records follow, and what paths refer to.
    pub path_at: u32,
    /// 1 when a dof's parents are not only the dofs that move its body, too: those that a path binds to it count as well.
    pub bound: u32,
    /// Static rows that depend on paths; they come last.
    pub n_path_row: u32,
    /// Dofs of the widest static row, three at least.
    pub row_width: u32,
}
/// The uniform of a kernel that needs no more than the tree.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Pod, Zeroable)]
pub struct TreeOnly {
    /// Sizes of the tree.
    pub tree: TreeDims,
}
impl TreeDims {
    /// Whether it is a soft body, which has joints but no bodies.
    #[must_use]
    pub fn is_soft(&self) -> bool {
        self.n_body == 0 && self.n_joint > 0
    }

    /// First velocity in a lane of `state`, which holds q, v, ctrl, tau, act.
    #[inline(always)]
    #[must_use]
    pub fn v_at(&self) -> usize {
        self.n_q as usize
    }

    /// First control in a lane of `state`.
    #[inline(always)]
    #[must_use]
    pub fn ctrl_at(&self) -> usize {
        (self.n_q + self.n_v) as usize
    }

    /// First applied force in a lane of `state`.
    #[inline(always)]
    #[must_use]
    pub fn tau_at(&self) -> usize {
        (self.n_q + self.n_v + self.n_u) as usize
    }

    /// First activation in a lane of `state`.
    #[inline(always)]
    #[must_use]
    pub fn act_at(&self) -> usize {
        (self.n_q + 2 * self.n_v + self.n_u) as usize
    }

    /// Reals of a lane of `state`.
    #[inline(always)]
    #[must_use]
    pub fn n_state(&self) -> usize {
        (self.n_q + 2 * self.n_v + self.n_u + self.n_act) as usize
    }

    /// Controls and, behind them, activations.
    #[inline(always)]
    #[must_use]
    pub fn n_input(&self) -> u32 {
        self.n_u + self.n_act
    }

    /// Weight of the new state in forces.
    #[inline(always)]
    #[must_use]
    pub fn theta<R: Real>(&self) -> R {
        R::lit(match self.integrator {
            integrator::SYMPLECTIC_EULER => 0.0,
            integrator::MIDPOINT => 0.5,
            _ => 1.0,
        })
    }

    /// Weight of the new velocity in the positions' rate.
    #[inline(always)]
    #[must_use]
    pub fn theta_vq<R: Real>(&self) -> R {
        R::lit(if self.integrator == integrator::MIDPOINT { 0.5 } else { 1.0 })
    }

    /// Reals of a lane of `work`: see [`work`].
    #[inline(always)]
    #[must_use]
    pub fn n_work(&self) -> usize {
        work::BODY * self.n_body as usize
    }
}

/// A body.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
pub struct BodyRecord {
    /// Parent, or [`NONE`].
    pub parent: u32,
    /// First joint.
    pub joint_begin: u32,
    /// Number of joints.
    pub joint_count: u32,
    /// First dof of its own.
    pub dof_begin: u32,
    /// Number of dofs of its own.
    pub dof_count: u32,
    /// Last dof that moves it; its parents are the others.
    pub chain_dof: u32,
    /// One past the last body of its subtree.
    pub subtree_end: u32,
}

/// A joint.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
pub struct JointRecord {
    /// One of [`joint`].
    pub kind: u32,
    /// The body it moves.
    pub body: u32,
    /// First entry in q.
    pub q_begin: u32,
    /// First dof.
    pub dof_begin: u32,
}

/// A degree of freedom.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
pub struct DofRecord {
    /// Entry of M of this dof with itself; that with its k-th ancestor is k further.
    pub m_begin: u32,
    /// How many dofs are on the way to the root, itself included.
    pub chain: u32,
    /// The next dof towards the root, or [`NONE`].
    pub parent: u32,
    /// The body whose joint it belongs to; it moves the bodies from this one ...
    pub body: u32,
    /// ... to before this one.
    pub subtree_end: u32,
    /// Its joint.
    pub joint: u32,
}

/// An actuator.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
pub struct ActuatorRecord {
    /// Its joint.
    pub joint: u32,
    /// One of [`drive`].
    pub mode: u32,
}

/// A static row: a scalar constraint of some dofs of the tree.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
pub struct RowRecord {
    /// One of [`row`].
    pub kind: u32,
    /// Number of dofs.
    pub count: u32,
    /// First word of the list of the dofs; one may be there twice.
    pub dof_at: u32,
    /// Entry of q it depends on, or path.
    pub q: u32,
    /// A second entry it depends on: see [`row`].
    pub source: u32,
    /// Its record in `params`, an absolute offset.
    pub param: u32,
    /// A row before it of the same dof, the only one of both, whose J is 1 where it can act; or [`NONE`].
    pub like: u32,
}

/// Three bilateral rows between two bodies of the tree, or one and the ground.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
pub struct BlockRecord {
    /// One of [`block`].
    pub kind: u32,
    /// The first body, or [`NONE`].
    pub body_a: u32,
    /// The second body, or [`NONE`].
    pub body_b: u32,
    /// Its record in `params`, an absolute offset.
    pub param: u32,
}

/// A path that applied forces pull along.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
pub struct PathRecord {
    /// One of [`path`].
    pub kind: u32,
    /// 1: the gear of a ball or free joint is in the parent's frame.
    pub in_parent: u32,
    /// First word of the records of the points on it.
    pub point_at: u32,
    /// Number of points.
    pub point_count: u32,
    /// Body of the first site, or [`NONE`].
    pub body: u32,
    /// Body of the second site, or [`NONE`].
    pub other: u32,
    /// First entry of q of its joint.
    pub q: u32,
    /// First dof of its joint.
    pub dof: u32,
    /// Its record in `params`, an absolute offset.
    pub param: u32,
    /// The gear in `params`, where the length depends on all of it.
    pub gear: u32,
    /// First word of the list of the dofs that change it.
    pub dof_at: u32,
    /// How many they are.
    pub dof_count: u32,
    /// Its length in `pull`; the moment arms follow, one for each of these dofs.
    pub pull: u32,
}

/// What stands on a path.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
pub struct PointRecord {
    /// One of [`point`].
    pub kind: u32,
    /// Its body, or [`NONE`].
    pub body: u32,
    /// Body of an obstacle's side point, or [`NONE`].
    pub side: u32,
    /// 1 where an obstacle has a side point.
    pub sided: u32,
    /// Entry of q of a joint.
    pub q: u32,
    /// Its dof, by its place among those of the path.
    pub dof: u32,
    /// Its record in `params`, an absolute offset.
    pub param: u32,
}

/// A force that is applied beside joints' own springs, dampers and drives.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
pub struct ForceRecord {
    /// One of [`force`].
    pub kind: u32,
    /// The body it acts on, or the path that it pulls along.
    pub on: u32,
    /// Whether how it falls with length and velocity is in the momentum matrix.
    pub implicit: u32,
    /// Actuator: its number.
    pub actuator: u32,
    /// Actuator: 1 where the gear's first entry scales length and force.
    pub geared: u32,
    /// Actuator: its activation, or [`NONE`].
    pub act: u32,
    /// Actuator: one of [`rate`].
    pub dynamics: u32,
    /// Actuator: 1 where the activation at the end of the step counts.
    pub early: u32,
    /// Actuator: bits of [`muscle`].
    pub muscle: u32,
    /// Its record in `params`, an absolute offset.
    pub param: u32,
}

/// Words of a record.
pub(crate) const fn words<T>() -> usize {
    size_of::<T>() / size_of::<u32>()
}

/// Records of a sort, from a word of the topology on.
pub(crate) fn records<T: Pod>(topology: &[u32], at: u32, count: u32) -> &[T] {
    bytemuck::cast_slice(&topology[at as usize..at as usize + count as usize * words::<T>()])
}

/// A tree's structure, read in place.
#[derive(Debug, Clone, Copy)]
pub struct Tree<'a> {
    /// Sizes.
    pub dims: &'a TreeDims,
    /// `[n_body]`
    pub bodies: &'a [BodyRecord],
    /// `[n_joint]`
    pub joints: &'a [JointRecord],
    /// `[n_v]`
    pub dofs: &'a [DofRecord],
    /// `[n_u]`
    pub actuators: &'a [ActuatorRecord],
    /// `[n_row]`
    pub rows: &'a [RowRecord],
    /// `[n_block]`
    pub blocks: &'a [BlockRecord],
    /// `[n_path]`
    pub paths: &'a [PathRecord],
    /// `[n_force]`
    pub forces: &'a [ForceRecord],
    /// All words, for what paths refer to.
    pub words: &'a [u32],
}

impl<'a> Tree<'a> {
    /// Finds the records of a compiled topology.
    #[must_use]
    pub fn new(dims: &'a TreeDims, topology: &'a [u32]) -> Self {
        let actuator_at = dims.dof_at + dims.n_v * words::<DofRecord>() as u32;
        let block_at = actuator_at + dims.n_u * words::<ActuatorRecord>() as u32;
        Self {
            dims,
            bodies: records(topology, 0, dims.n_body),
            joints: records(topology, dims.joint_at, dims.n_joint),
            dofs: records(topology, dims.dof_at, dims.n_v),
            actuators: records(topology, actuator_at, dims.n_u),
            rows: records(topology, dims.row_at, dims.n_row),
            blocks: records(topology, block_at, dims.n_block),
            paths: records(topology, dims.path_at, dims.n_path),
            forces: records(topology, dims.path_at + dims.n_path * words::<PathRecord>() as u32, dims.n_force),
            words: topology,
        }
    }

    /// The last dof before one that moves its body as well: its parent, but where forces bind branches
    /// ([`TreeDims::bound`]). For hosts.
    #[inline]
    #[must_use]
    pub fn mover_before(&self, dof: usize) -> Option<usize> {
        let own = &self.dofs[dof];
        self.mover_from(own.parent, own.body)
    }

    /// The dofs that move a body, the last first. For hosts.
    #[inline]
    pub fn movers(&self, body: usize) -> impl Iterator<Item = usize> {
        let last = self.mover_from(self.bodies[body].chain_dof, body as u32);
        std::iter::successors(last, move |&dof| self.mover_from(self.dofs[dof].parent, body as u32))
    }

    /// The first of a dof and its parents that moves a body.
    #[inline]
    fn mover_from(&self, mut dof: u32, body: u32) -> Option<usize> {
        while self.dims.bound == 1 && dof != NONE && !moves_body(&self.dofs[dof as usize], body) {
            dof = self.dofs[dof as usize].parent;
        }
        (dof != NONE).then_some(dof as usize)
    }

    /// The dofs of a row.
    #[inline(always)]
    #[must_use]
    pub fn row_dofs(&self, row: &RowRecord) -> &'a [u32] {
        &self.words[row.dof_at as usize..(row.dof_at + row.count) as usize]
    }

    /// What stands on a path.
    #[inline(always)]
    #[must_use]
    pub fn path_points(&self, path: &PathRecord) -> &'a [PointRecord] {
        records(self.words, path.point_at, path.point_count)
    }

    /// The dofs that change the length of a path, each after its parents.
    #[inline(always)]
    #[must_use]
    pub fn path_dofs(&self, path: &PathRecord) -> &'a [u32] {
        &self.words[path.dof_at as usize..(path.dof_at + path.dof_count) as usize]
    }
}

/// The parameters that one tile of lanes sees.
#[derive(Debug, Clone, Copy)]
pub enum Params<'a, R: Real> {
    /// The same for all lanes.
    Shared(&'a [R::Scalar]),
    /// One set a lane.
    Lanes(&'a [R]),
}

impl<R: Real> Params<'_, R> {
    /// One parameter.
    #[inline(always)]
    #[must_use]
    pub fn at(&self, index: usize) -> R {
        match self {
            Self::Shared(params) => R::splat(params[index]),
            Self::Lanes(params) => params[index],
        }
    }

    /// Three parameters.
    #[inline(always)]
    #[must_use]
    pub fn at3(&self, index: usize) -> Vec3<R> {
        [self.at(index), self.at(index + 1), self.at(index + 2)]
    }

    /// Four parameters.
    #[inline(always)]
    #[must_use]
    pub fn at4(&self, index: usize) -> [R; 4] {
        [self.at(index), self.at(index + 1), self.at(index + 2), self.at(index + 3)]
    }
}

/// The parameters that a tile sees: of a `Real` buffer when they are shared, of a `Tile` buffer when there is a set a lane.
#[inline]
#[must_use]
pub fn tile_params<'a, R: Real>(dims: &TreeDims, params: &'a Lanes<R>, tile: usize) -> Params<'a, R> {
    if dims.param_lanes == 1 {
        Params::Lanes(nth(params.tile(), tile, dims.n_param))
    } else {
        Params::Shared(params.real())
    }
}

/// The elements of a tile, n a lane.
#[inline(always)]
#[must_use]
pub fn nth<X>(buffer: &[X], tile: usize, n: u32) -> &[X] {
    &buffer[tile * n as usize..(tile + 1) * n as usize]
}

/// The elements of a tile, n a lane, to write.
#[inline(always)]
#[must_use]
pub fn nth_mut<X>(buffer: &mut [X], tile: usize, n: u32) -> &mut [X] {
    &mut buffer[tile * n as usize..(tile + 1) * n as usize]
}

/// First real of a body's record.
#[inline(always)]
#[must_use]
pub fn body_param(body: usize) -> usize {
    param::HEADER + body * param::BODY
}

/// First real of a joint's record.
#[inline(always)]
#[must_use]
pub fn joint_param(dims: &TreeDims, joint: usize) -> usize {
    dims.joint_param as usize + joint * param::JOINT
}

/// First real of an actuator's record.
#[inline(always)]
#[must_use]
pub fn actuator_param(dims: &TreeDims, actuator: usize) -> usize {
    dims.actuator_param as usize + actuator * param::ACTUATOR
}

/// Solves `A x = x` in place by the factor `A = L^T D L` (Featherstone 2008, section 6.5): `L^T y = x`, `z = y / D`,
/// `L x = z`. `factor` holds 1/D where M has its diagonal, and the rows of L (dof, ancestors) elsewhere.
#[inline(always)]
pub fn solve<R: Real>(tree: &Tree, factor: &[R], x: &mut [R]) {
    let n = tree.dofs.len();
    let x = &mut x[..n];
    for i in (0..n).rev() {
        let (dof, xi) = (&tree.dofs[i], x[i]);
        // A row acts on the ancestors of few bodies.
        if is_zero(xi) {
            continue;
        }
        let mut j = dof.parent as usize;
        for &l in &row(factor, dof)[1..] {
            x[j] = (-l).mul_add(xi, x[j]);
            j = tree.dofs[j].parent as usize;
        }
    }
    for i in 0..n {
        let dof = &tree.dofs[i];
        let row = row(factor, dof);
        let mut sum = x[i] * row[0];
        let mut j = dof.parent as usize;
        for &l in &row[1..] {
            sum = (-l).mul_add(x[j], sum);
            j = tree.dofs[j].parent as usize;
        }
        x[i] = sum;
    }
}

/// A dof's entries of a branch-sparse matrix: with itself, then with its ancestors.
#[inline(always)]
pub(crate) fn row<'a, R>(matrix: &'a [R], dof: &DofRecord) -> &'a [R] {
    &matrix[dof.m_begin as usize..(dof.m_begin + dof.chain) as usize]
}

/// `y = M x` for a branch-sparse symmetric matrix.
#[inline(always)]
pub fn multiply<R: Real>(tree: &Tree, m: &[R], x: &[R], y: &mut [R]) {
    for i in 0..tree.dofs.len() {
        let dof = &tree.dofs[i];
        let (at, xi) = (dof.m_begin as usize, x[i]);
        let mut sum = m[at] * xi;
        let mut j = dof.parent;
        for k in 1..dof.chain as usize {
            sum = m[at + k].mul_add(x[j as usize], sum);
            y[j as usize] = m[at + k].mul_add(xi, y[j as usize]);
            j = tree.dofs[j as usize].parent;
        }
        y[i] = sum;
    }
}

/// Velocity, per unit of a dof's speed, of a point that stands at `offset` from c on a body the dof moves. World axes.
#[inline(always)]
#[must_use]
pub fn point_motion<R: Real>(motion: &[R], dof: usize, offset: Vec3<R>) -> Vec3<R> {
    let s = &motion[dof * SPATIAL..(dof + 1) * SPATIAL];
    add(load3(s, 3), cross(load3(s, 0), offset))
}

/// 1 where a dof moves a body, else 0; the body as a number, since lanes may ask about different ones (-1: the ground).
#[inline(always)]
#[must_use]
pub fn moves<R: Real>(dof: &DofRecord, body: R) -> R {
    let (one, zero) = (R::lit(1.0), R::lit(0.0));
    let inside = R::lit(f64::from(dof.body)).le(body) & body.lt(R::lit(f64::from(dof.subtree_end)));
    R::select(inside, one, zero)
}

/// Rows of the Jacobian of a point's velocity along three directions (world axes), of body b relative to body a:
/// `row[i] = d . (S_i's motion at the point)`, for dofs that move b, less the same for those that move a. `offset` is
/// the point from c, `rows` `[3][n_v]`.
#[inline(always)]
pub fn jacobian<R: Real>(
    tree: &Tree,
    motion: &[R],
    bodies: [R; 2],
    offset: Vec3<R>,
    directions: &[Vec3<R>; 3],
    rows: &mut [R],
) {
    let n = tree.dofs.len();
    for i in 0..n {
        let dof = &tree.dofs[i];
        let weight = moves(dof, bodies[1]) - moves(dof, bodies[0]);
        let u = point_motion(motion, i, offset);
        for k in 0..3 {
            rows[k * n + i] = weight * dot(directions[k], u);
        }
    }
}
