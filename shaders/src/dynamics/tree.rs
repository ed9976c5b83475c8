//! What every tree kernel reads: the records of a tree's structure and parameters, the index of the branch-sparse
//! joint-space matrix, the solve by its factor, and the Jacobian of a point.
//!
//! `topology` (u32, the same for all lanes) holds records of bodies, joints, degrees of freedom (dofs), actuators, rows
//! and blocks; `params` (real, shared by all lanes or one set a lane) a header and then records of bodies, joints,
//! actuators, couplings and blocks. Bodies, joints and dofs are numbered within the tree, depth-first, so that every
//! parent comes before its children and a subtree is a range.

use bytemuck::{Pod, Zeroable};

use crate::buffer::Buffer;
use crate::math::{Vec3, add, cross, dot, load3};
use crate::real::{Real, Scalar};

/// No such index: the ground as a body, no parent of a dof, no driver of a coupling.
pub const NONE: u32 = u32::MAX;

/// Joint kinds, in [`JointRecord::kind`].
pub mod joint {
    /// q: position, quaternion; v: world linear, body angular velocity.
    pub const FREE: u32 = 0;
    /// q: quaternion; v: body angular velocity.
    pub const BALL: u32 = 1;
    /// One rotation about the axis.
    pub const HINGE: u32 = 2;
    /// One translation along the axis.
    pub const SLIDE: u32 = 3;
}

/// How an actuator acts, in [`ActuatorRecord::mode`].
pub mod drive {
    /// Its position and velocity gains are in the momentum matrix: a drive without force limit, or a motor.
    pub const IMPLICIT: u32 = 0;
    /// A row stands for it: a drive with gains and a force limit.
    pub const ROW: u32 = 1;
    /// Its clamped force at the start of the step acts: force limits that no row can hold.
    pub const EXPLICIT: u32 = 2;
}

/// Row kinds, in [`RowRecord::kind`].
pub mod row {
    /// The nearer bound of a hinge or slide; `param`: its joint record, `q`: its position.
    pub const LIMIT: u32 = 0;
    /// The largest angle of a ball joint from its reference, along three dofs; `param`: its joint record, `q`: its quaternion.
    pub const LIMIT_BALL: u32 = 1;
    /// Dry friction of one dof, a box row; `param`: its joint record.
    pub const FRICTION: u32 = 2;
    /// A drive with gains and a force limit, soft then clamped; `param`: its actuator record, `source`: its control,
    /// `q`: its joint's position.
    pub const DRIVE: u32 = 3;
    /// `q1 - ref1 = polynomial(q2 - ref2)`, bilateral; `param`: its coupling record, `q` and `source`: the positions of
    /// the driven joint and of the driver ([`super::NONE`]: none).
    pub const COUPLING: u32 = 4;
}

/// Block kinds, in [`BlockRecord::kind`]: static bilateral constraints of three rows.
pub mod block {
    /// The origins of two frames coincide.
    pub const POSITION: u32 = 0;
    /// The axes of two frames coincide.
    pub const ROTATION: u32 = 1;
}

/// Bits of a lane's status word.
pub mod status {
    /// The solver met its tolerance.
    pub const CONVERGED: u32 = 1;
    /// The solver ran out of iterations.
    pub const ITERATION_LIMIT: u32 = 2;
    /// A pivot of the momentum matrix was not positive.
    pub const BREAKDOWN: u32 = 4;
    /// The velocity became infinite or a NaN; the state is that of the last good step.
    pub const NON_FINITE: u32 = 8;
    /// Frozen by the host.
    pub const FROZEN: u32 = 16;
    /// A capacity was exceeded.
    pub const CAPACITY: u32 = 32;
    /// Lanes with any of these do not move, and keep them until the host resets the lane.
    pub const STOPPED: u32 = NON_FINITE | FROZEN;
}

/// Offsets in `params`, in reals.
pub mod param {
    /// Time step, s.
    pub const TIMESTEP: usize = 0;
    /// Gravity, m/s^2, world axes, 3.
    pub const GRAVITY: usize = 1;
    /// Fraction of a penetration that one step removes.
    pub const CORRECTION_FRACTION: usize = 4;
    /// Largest speed of that correction, m/s.
    pub const CORRECTION_MAX: usize = 5;
    /// Approaching faster than this bounces, m/s.
    pub const RESTITUTION_THRESHOLD: usize = 6;
    /// Reals of the header; body records begin here.
    pub const HEADER: usize = 8;

    /// Body: position in the parent's frame, m, 3.
    pub const BODY_POSITION: usize = 0;
    /// Body: orientation in the parent's frame, 4.
    pub const BODY_ORIENTATION: usize = 3;
    /// Body: mass, kg.
    pub const BODY_MASS: usize = 7;
    /// Body: centre of mass in the body frame, m, 3.
    pub const BODY_COM: usize = 8;
    /// Body: inertia about the centre of mass in body axes (xx, yy, zz, xy, xz, yz), kg m^2, 6.
    pub const BODY_INERTIA: usize = 11;
    /// Reals of a body record.
    pub const BODY: usize = 17;

    /// Joint: anchor in the body frame, m, 3.
    pub const JOINT_ANCHOR: usize = 0;
    /// Joint: unit axis in the body frame, 3.
    pub const JOINT_AXIS: usize = 3;
    /// Joint: position at which the body stands as its record says, rad or m.
    pub const JOINT_REFERENCE: usize = 6;
    /// Joint: spring constant, N m/rad or N/m.
    pub const JOINT_STIFFNESS: usize = 7;
    /// Joint: viscous damping, N m s/rad or N s/m.
    pub const JOINT_DAMPING: usize = 8;
    /// Joint: reflected rotor inertia, kg m^2 or kg.
    pub const JOINT_ARMATURE: usize = 9;
    /// Joint: dry friction, N m or N.
    pub const JOINT_FRICTION: usize = 10;
    /// Joint: lower bound, rad or m (ball: unused).
    pub const JOINT_LOWER: usize = 11;
    /// Joint: upper bound, rad or m (ball: largest angle).
    pub const JOINT_UPPER: usize = 12;
    /// Joint: q at which the spring is slack: 1 (hinge, slide), 4 (ball), 7 (free).
    pub const JOINT_SPRING: usize = 13;
    /// Reals of a joint record.
    pub const JOINT: usize = 20;

    /// Actuator: gear, one a dof of its joint, 6.
    pub const ACTUATOR_GEAR: usize = 0;
    /// Actuator: force per control.
    pub const ACTUATOR_GAIN: usize = 6;
    /// Actuator: constant, position and velocity coefficient of the force, 3.
    pub const ACTUATOR_BIAS: usize = 7;
    /// Actuator: bounds of the control, 2.
    pub const ACTUATOR_CONTROL: usize = 10;
    /// Actuator: bounds of the force before the gear, 2.
    pub const ACTUATOR_FORCE: usize = 12;
    /// Reals of an actuator record. An absent bound is plus or minus [`UNBOUNDED`].
    pub const ACTUATOR: usize = 14;

    /// Coupling: position of the driven joint, rad or m, at the reference.
    pub const COUPLING_REFERENCE: usize = 0;
    /// Coupling: position of the driver at the reference.
    pub const COUPLING_DRIVER_REFERENCE: usize = 1;
    /// Coupling: polynomial coefficients, constant first, 5.
    pub const COUPLING_COEFFICIENTS: usize = 2;
    /// Reals of a coupling record.
    pub const COUPLING: usize = 7;

    /// Block: frame in body a (position, quaternion), 7. On the ground: in the world.
    pub const BLOCK_FRAME_A: usize = 0;
    /// Block: frame in body b (position, quaternion), 7.
    pub const BLOCK_FRAME_B: usize = 7;
    /// Reals of a block record.
    pub const BLOCK: usize = 14;

    /// Stands for an infinite bound, in f32 too.
    pub const UNBOUNDED: f64 = 1e30;
}

/// Reals of a body in the `pose` buffer: position, quaternion.
pub const POSE: usize = 7;
/// Reals of a dof in `motion` and of a body in `twist`: angular, linear.
pub const SPATIAL: usize = 6;

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
    /// First word of the dof records.
    pub dof_at: u32,
    /// First word of the actuator records.
    pub actuator_at: u32,
    /// First word of the row records.
    pub row_at: u32,
    /// First word of the block records.
    pub block_at: u32,
    /// First real of the joint records in `params`; body records begin at [`param::HEADER`].
    pub joint_param: u32,
    /// First real of the actuator records.
    pub actuator_param: u32,
    /// First real of the coupling records.
    pub coupling_param: u32,
    /// First real of the block records.
    pub block_param: u32,
    /// Padding to whole vectors, for a uniform that holds more behind these.
    pub spare_0: u32,
    /// As above.
    pub spare_1: u32,
    /// As above.
    pub spare_2: u32,
}
crate::dims!(TreeDims {
    lanes,
    param_lanes,
    n_body,
    n_joint,
    n_q,
    n_v,
    n_u,
    n_m,
    n_row,
    n_block,
    n_param,
    lone,
    joint_at,
    dof_at,
    actuator_at,
    row_at,
    block_at,
    joint_param,
    actuator_param,
    coupling_param,
    block_param,
    spare_0,
    spare_1,
    spare_2,
});

/// The uniform of a kernel that needs no more than the tree.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Pod, Zeroable)]
pub struct TreeOnly {
    /// Sizes of the tree.
    pub tree: TreeDims,
}
crate::dims!(TreeOnly { tree });

impl TreeDims {
    /// First velocity in a lane of `state`, which holds q, v, ctrl, tau.
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

    /// Reals of a lane of `state`.
    #[inline(always)]
    #[must_use]
    pub fn n_state(&self) -> usize {
        (self.n_q + 2 * self.n_v + self.n_u) as usize
    }

    /// Reals of a lane of `work`: see [`work`].
    #[inline(always)]
    #[must_use]
    pub fn n_work(&self) -> usize {
        work::BODY * self.n_body as usize
    }
}

/// Offsets in a body's part of `work`.
pub mod work {
    /// Inertia at c in world axes: mass, mass * (centre - c) (3), inertia about c (6). Written by `bias`; `inertia`
    /// adds up the subtrees in place.
    pub const INERTIA: usize = 0;
    /// Acceleration at c of the motion with no joint acceleration, less gravity.
    pub const ACCELERATION: usize = 10;
    /// Force that this acceleration takes, at c; of the whole subtree in the end.
    pub const FORCE: usize = 16;
    /// Reals of a body.
    pub const BODY: usize = 22;
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

/// A static row: a scalar constraint of at most three dofs of the tree.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
pub struct RowRecord {
    /// One of [`row`].
    pub kind: u32,
    /// Number of dofs.
    pub count: u32,
    /// The dofs; [`NONE`] behind the last.
    pub dofs: [u32; 3],
    /// Entry of q it depends on.
    pub q: u32,
    /// A second entry it depends on: see [`row`].
    pub source: u32,
    /// Its record in `params`, an absolute offset.
    pub param: u32,
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

/// Words of a record.
const fn words<T>() -> usize {
    size_of::<T>() / size_of::<u32>()
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
}

impl<'a> Tree<'a> {
    /// Finds the records of a compiled topology.
    #[must_use]
    pub fn new(dims: &'a TreeDims, topology: &'a [u32]) -> Self {
        fn records<T: Pod>(topology: &[u32], at: u32, count: u32) -> &[T] {
            bytemuck::cast_slice(&topology[at as usize..at as usize + count as usize * words::<T>()])
        }
        Self {
            dims,
            bodies: records(topology, 0, dims.n_body),
            joints: records(topology, dims.joint_at, dims.n_joint),
            dofs: records(topology, dims.dof_at, dims.n_v),
            actuators: records(topology, dims.actuator_at, dims.n_u),
            rows: records(topology, dims.row_at, dims.n_row),
            blocks: records(topology, dims.block_at, dims.n_block),
        }
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
pub fn tile_params<'a, T: Scalar>(dims: &TreeDims, params: &'a Buffer<T>, tile: usize) -> Params<'a, T::Pack> {
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
        let dof = &tree.dofs[i];
        let (at, xi) = (dof.m_begin as usize, x[i]);
        let mut j = dof.parent;
        for k in 1..dof.chain as usize {
            x[j as usize] = (-factor[at + k]).mul_add(xi, x[j as usize]);
            j = tree.dofs[j as usize].parent;
        }
    }
    for i in 0..n {
        let dof = &tree.dofs[i];
        let at = dof.m_begin as usize;
        let mut sum = x[i] * factor[at];
        let mut j = dof.parent;
        for k in 1..dof.chain as usize {
            sum = (-factor[at + k]).mul_add(x[j as usize], sum);
            j = tree.dofs[j as usize].parent;
        }
        x[i] = sum;
    }
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
