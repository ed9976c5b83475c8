//! Constraints that are there in every step: static rows and bilateral blocks, of one tree or between two.
//!
//! A tree that is an island by itself solves its own in the tree kernels; in an island of several trees they stand
//! among the contacts.

use manyworlds_collide::organise::NONE;
use manyworlds_dynamics::TreeSet;
use manyworlds_model::{EqualityKind, Model, Pose as Frame};
use manyworlds_shaders::Scalar;
use manyworlds_shaders::dynamics::tree::{self, block};
use manyworlds_shaders::math::{Quat, Vec3, add, quat_conjugate, quat_log, quat_mul, quat_rotate, sub};

use super::POSE;
use crate::lanes::{BodyPlace, LaneMap};

/// A constraint of the model.
#[derive(Debug, Clone)]
pub(crate) struct Fixed<T> {
    /// The trees it touches; twice the same where it is one tree's.
    pub(crate) trees: [u32; 2],
    pub(crate) law: Law<T>,
}

/// What it says.
#[derive(Debug, Clone)]
pub(crate) enum Law<T> {
    /// A static row of its tree.
    Row(u32),
    /// Three bilateral rows.
    Block(Block<T>),
}

/// Two frames of which the origins, or the axes, coincide.
#[derive(Debug, Clone)]
pub(crate) struct Block<T> {
    /// Where each frame is fixed: model body and its place; `None`: to the ground.
    pub(crate) bodies: [Option<(usize, BodyPlace)>; 2],
    /// The axes, not the origins.
    pub(crate) angular: bool,
    pub(crate) frames: Frames<T>,
}

/// Where the frames of a block are to be found.
#[derive(Debug, Clone)]
pub(crate) enum Frames<T> {
    /// Among the parameters of its tree: the number of the block there.
    OfTree(usize),
    /// Of the model: the block binds two trees.
    Fixed([[T; POSE]; 2]),
}

impl<T: Scalar> Block<T> {
    /// The point where both bodies' velocities are taken, and the error in world axes, m or rad. `pose` is that of a
    /// body of the model, `frames` the two frames in their bodies.
    pub(crate) fn error(&self, frames: [[T; POSE]; 2], pose: impl Fn(usize) -> [T; POSE]) -> (Vec3<T>, Vec3<T>) {
        let [a, b] = [0, 1].map(|side| {
            let (position, turn) = split(frames[side]);
            self.bodies[side].map_or((position, turn), |(body, _)| {
                let (origin, q) = split(pose(body));
                (add(origin, quat_rotate(q, position)), quat_mul(q, turn))
            })
        });
        let error = if self.angular { quat_log(quat_mul(b.1, quat_conjugate(a.1))) } else { sub(b.0, a.0) };
        (b.0, error)
    }
}

fn split<T: Scalar>(p: [T; POSE]) -> (Vec3<T>, Quat<T>) {
    ([p[0], p[1], p[2]], [p[3], p[4], p[5], p[6]])
}

/// All of a model: rows and blocks tree by tree, then what binds two trees.
pub(crate) fn fixed<T: Scalar>(model: &Model, sets: &[TreeSet], lanes: &LaneMap) -> Vec<Fixed<T>> {
    let mut all = Vec::new();
    for (index, place) in lanes.trees.iter().enumerate() {
        let set = &sets[place.set];
        let tree = set.layout.tree();
        let trees = [index as u32; 2];
        all.extend((0..tree.rows.len() as u32).map(|row| Fixed { trees, law: Law::Row(row) }));
        let first = model.trees[index].bodies.start;
        let body = |local: u32| {
            let place = BodyPlace { tree: index, local: local as usize };
            (local != tree::NONE).then_some((first + local as usize, place))
        };
        for (number, record) in tree.blocks.iter().enumerate() {
            all.push(Fixed {
                trees,
                law: Law::Block(Block {
                    bodies: [body(record.body_a), body(record.body_b)],
                    angular: record.kind == block::ROTATION,
                    frames: Frames::OfTree(number),
                }),
            });
        }
    }
    for equality in model.equalities.iter().filter(|equality| equality.active) {
        let (bodies, frames, parts) = match &equality.kind {
            EqualityKind::Connect { bodies, anchors } => {
                (bodies, anchors.map(|a| Frame::translation(a.x, a.y, a.z)), &[false][..])
            }
            EqualityKind::Weld { bodies, frames } => (bodies, *frames, &[false, true][..]),
            // Rows of one tree.
            EqualityKind::Coupling { .. } | EqualityKind::TendonCoupling { .. } => continue,
        };
        let places = bodies.map(|body| lanes.bodies[body].map(|place| (body, place)));
        let [Some((_, a)), Some((_, b))] = places else { continue };
        if a.tree != b.tree {
            let trees = [a.tree as u32, b.tree as u32];
            let frames = Frames::Fixed(frames.map(numbers));
            all.extend(parts.iter().map(|&angular| {
                let block = Block { bodies: places, angular, frames: frames.clone() };
                Fixed { trees, law: Law::Block(block) }
            }));
        }
    }
    debug_assert!(all.iter().all(|fixed| fixed.trees.iter().all(|&tree| tree != NONE)));
    all
}

fn numbers<T: Scalar>(frame: Frame) -> [T; POSE] {
    let (p, q) = (frame.translation.vector, frame.rotation);
    [p.x, p.y, p.z, q.w, q.i, q.j, q.k].map(T::from_f64)
}
