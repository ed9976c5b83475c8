//! Mocap bodies: their poses are the user's, and everything that stands on one moves with it.
//!
//! To the kernels they are ground. What rests on a mocap body comes to them as parameters of trees: the frame of a tree whose
//! root stands on one, frames of connects and welds that hold on to one. Those of a world follow when its poses were written.
//! Contacts see how fast they moved between the last two steps, and so do the nodes of soft bodies on them.

use manyworlds_dynamics::TreeSet;
use manyworlds_model::{EqualityKind, Model, Pose, Vec3};
use manyworlds_shaders::dynamics::tree::{POSE, param};
use nalgebra::{Quaternion, Unit, UnitQuaternion};

use crate::lanes::LaneMap;

/// What of a model stands on mocap bodies.
#[derive(Debug)]
pub(crate) struct MocapMap {
    /// Poses that the model has them at.
    initial: Vec<[f64; POSE]>,
    /// By body: which of `riders` it is.
    rider: Vec<Option<u32>>,
    /// The mocap bodies and what is welded to them.
    riders: Vec<Rider>,
    /// Frames among the parameters of trees.
    pub(crate) frames: Vec<TreeFrame>,
}

/// A frame that is fixed to a mocap body.
#[derive(Debug, Clone, Copy)]
struct Rider {
    mocap: usize,
    offset: Pose,
    /// The body that it is the frame of.
    body: usize,
}

/// Position and quaternion among the parameters of a tree.
#[derive(Debug)]
pub(crate) struct TreeFrame {
    pub(crate) set: usize,
    /// The tree among those of one world in the set.
    pub(crate) index: usize,
    /// First of the parameters.
    pub(crate) at: usize,
    rider: usize,
    offset: Pose,
}

impl MocapMap {
    pub(crate) fn new(model: &Model, sets: &[TreeSet], lanes: &LaneMap) -> Self {
        let (mut riders, mut rider): (Vec<Rider>, _) = (Vec::new(), vec![None; model.bodies.len()]);
        for (body, record) in model.bodies.iter().enumerate() {
            let Some(mocap) = record.mocap else { continue };
            // Its parent stands on the same one, unless it is the mocap body itself.
            let parent = rider[record.parent].map(|at: u32| riders[at as usize].offset);
            let offset = parent.map_or_else(Pose::identity, |parent| parent * record.pose);
            rider[body] = Some(riders.len() as u32);
            riders.push(Rider { mocap, offset, body });
        }
        let mut frames = Vec::new();
        let mut add = |tree: usize, at: usize, body: usize, offset: Pose| {
            let place = lanes.trees[tree];
            if let Some(rider) = rider[body] {
                frames.push(TreeFrame { set: place.set, index: place.index, at, rider: rider as usize, offset });
            }
        };
        // Soft bodies follow by themselves.
        for (tree, record) in model.trees.iter().enumerate().filter(|(_, record)| record.soft.is_none()) {
            // The root's frame is the world's, and so is that of a mocap body among the tree's, which stands on the ground.
            let root = record.bodies.start;
            let at = |body: usize| param::HEADER + (body - root) * param::BODY + param::BODY_POSITION;
            if model.bodies[root].tree.is_none() {
                add(tree, at(root), root, Pose::identity());
            } else {
                add(tree, at(root), model.bodies[root].parent, model.bodies[root].pose);
            }
            for &mocap in model.mocaps.iter().filter(|mocap| record.bodies.contains(mocap) && **mocap > root) {
                add(tree, at(mocap), mocap, Pose::identity());
            }
            let place = lanes.trees[tree];
            let set = &sets[place.set];
            let mut at = set.layout.dims.block_param as usize;
            for &equality in &set.equalities[place.index] {
                let (bodies, offsets, blocks) = match &model.equalities[equality].kind {
                    EqualityKind::Connect { bodies, anchors } => {
                        (bodies, anchors.map(|a| Pose::translation(a.x, a.y, a.z)), 1)
                    }
                    EqualityKind::Weld { bodies, frames } => (bodies, *frames, 2),
                    EqualityKind::Coupling { .. } | EqualityKind::TendonCoupling { .. } => continue,
                };
                for _ in 0..blocks {
                    let sides = [param::BLOCK_FRAME_A, param::BLOCK_FRAME_B];
                    for (side, (&body, offset)) in sides.into_iter().zip(bodies.iter().zip(offsets)) {
                        add(tree, at + side, body, offset);
                    }
                    at += param::BLOCK;
                }
            }
        }
        let initial = model.mocaps.iter().map(|&body| numbers(&model.bodies[body].pose)).collect();
        Self { initial, rider, riders, frames }
    }

    /// Mocap bodies of a world.
    pub(crate) fn len(&self) -> usize {
        self.initial.len()
    }
}

/// Where the mocap bodies of the worlds of a chunk are.
#[derive(Debug)]
pub(crate) struct Mocaps<T> {
    /// As the user wrote them, `[worlds][mocap bodies][POSE]`.
    pub(crate) poses: Vec<T>,
    /// Of the mocap bodies and what is welded to them, with quaternions of unit length.
    riders: Vec<[f64; POSE]>,
    /// Whether what stands on them has yet to follow.
    pub(crate) moved: bool,
    /// As they were in the last step of each world, like `poses`.
    pub(crate) before: Vec<T>,
    /// Whether a world had such a step: not after a reset.
    pub(crate) stepped: Vec<bool>,
    /// How far each of `riders` came since then, and how far it turned, world axes, m and rad.
    ways: Vec<[Vec3; 2]>,
    /// Whether any did.
    pub(crate) moving: bool,
    /// Poses were written since the last step.
    written: bool,
}

/// How fast one body's surface moves relative to another's beside what trees make them do: what mocap bodies do.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Drift {
    /// At the contact's point, m/s.
    pub(crate) velocity: Vec3,
    /// rad/s
    pub(crate) spin: Vec3,
}

impl<T: manyworlds_shaders::Scalar> Mocaps<T> {
    pub(crate) fn new(map: &MocapMap, n_world: usize) -> Self {
        let poses: Vec<T> = (0..n_world).flat_map(|_| map.initial.iter().flatten()).map(|&x| T::from_f64(x)).collect();
        let mut mocaps = Self {
            before: poses.clone(),
            poses,
            riders: Vec::new(),
            moved: false,
            stepped: vec![false; n_world],
            ways: vec![[Vec3::zeros(); 2]; n_world * map.riders.len()],
            moving: false,
            written: false,
        };
        mocaps.follow(map);
        mocaps
    }

    /// Puts those of a world where the model has them.
    pub(crate) fn reset(&mut self, map: &MocapMap, world: usize) {
        let own = self.poses.iter_mut().skip(world * map.len() * POSE);
        for (to, &x) in own.zip(map.initial.iter().flatten()) {
            *to = T::from_f64(x);
        }
        self.moved |= map.len() > 0;
    }

    /// Moves what stands on them.
    pub(crate) fn follow(&mut self, map: &MocapMap) {
        self.written = true;
        self.riders.clear();
        for world in self.poses.chunks_exact((map.len() * POSE).max(1)) {
            self.riders.extend(map.riders.iter().map(|rider| numbers(&stands(world, rider))));
        }
    }

    /// A step begins: how far they came since the last one.
    pub(crate) fn advance(&mut self, map: &MocapMap) {
        if !std::mem::take(&mut self.written) && !self.moving {
            self.stepped.fill(true);
            return;
        }
        self.moving = false;
        let (k, n) = (map.riders.len(), map.len() * POSE);
        for (world, stepped) in self.stepped.iter_mut().enumerate() {
            let [now, before] = [&self.poses, &self.before].map(|all| &all[world * n..(world + 1) * n]);
            for (rider, way) in map.riders.iter().zip(&mut self.ways[world * k..]) {
                *way = [Vec3::zeros(); 2];
                if *stepped && now != before {
                    let [now, before] = [now, before].map(|world| stands(world, rider));
                    let turn = now.rotation * before.rotation.inverse();
                    *way = [now.translation.vector - before.translation.vector, turn.scaled_axis()];
                    self.moving |= *way != [Vec3::zeros(); 2];
                }
            }
            *stepped = true;
        }
        self.before.copy_from_slice(&self.poses);
    }

    /// Where a body of a world is, if it stands on a mocap body, and how far it came and turned since the last step, m and rad.
    pub(crate) fn motion(&self, map: &MocapMap, world: usize, body: usize) -> Option<(Pose, [Vec3; 2])> {
        let at = world * map.riders.len() + map.rider[body]? as usize;
        Some((pose(self.riders[at]), self.ways[at]))
    }

    /// What the two bodies of a contact do over a step of h seconds that no tree knows of, of the second relative to the first.
    pub(crate) fn drift(&self, map: &MocapMap, world: usize, bodies: [Option<u32>; 2], point: Vec3, h: f64) -> Drift {
        let mut drift = Drift::default();
        for (sign, body) in [-1.0 / h, 1.0 / h].into_iter().zip(bodies) {
            let Some(rider) = body.and_then(|body| map.rider[body as usize]) else { continue };
            let at = world * map.riders.len() + rider as usize;
            let ([moved, turned], [x, y, z, ..]) = (self.ways[at], self.riders[at]);
            drift.velocity += sign * (moved + turned.cross(&(point - Vec3::new(x, y, z))));
            drift.spin += sign * turned;
        }
        drift
    }

    /// Where the mocap bodies of a world are.
    pub(crate) fn of_world(&self, map: &MocapMap, world: usize) -> impl Iterator<Item = Pose> + '_ {
        let n = map.len();
        let own = self.poses[world * n * POSE..(world + 1) * n * POSE].chunks_exact(POSE);
        own.map(|own| pose(std::array::from_fn(|k| own[k].to_f64())))
    }

    /// Where a body of a world is, if it stands on a mocap body.
    pub(crate) fn of(&self, map: &MocapMap, world: usize, body: usize) -> Option<[f64; POSE]> {
        let rider = map.rider[body]? as usize;
        Some(self.riders[world * map.riders.len() + rider])
    }

    /// The bodies that stand on mocap bodies, and where they are in a world.
    pub(crate) fn all<'a>(
        &'a self,
        map: &'a MocapMap,
        world: usize,
    ) -> impl Iterator<Item = (usize, &'a [f64; POSE])> + 'a {
        let first = world * map.riders.len();
        map.riders.iter().zip(&self.riders[first..]).map(|(rider, pose)| (rider.body, pose))
    }

    /// A frame of a tree of a world.
    pub(crate) fn frame(&self, map: &MocapMap, world: usize, frame: &TreeFrame) -> [f64; POSE] {
        numbers(&(pose(self.riders[world * map.riders.len() + frame.rider]) * frame.offset))
    }
}

/// Where a rider is, by the poses of the mocap bodies of its world.
fn stands<T: manyworlds_shaders::Scalar>(world: &[T], rider: &Rider) -> Pose {
    let own = &world[rider.mocap * POSE..(rider.mocap + 1) * POSE];
    pose(std::array::from_fn(|k| own[k].to_f64())) * rider.offset
}

impl Drift {
    /// Its velocity along an axis, m/s.
    pub(crate) fn along(self, axis: [f64; 3]) -> f64 {
        self.velocity.dot(&Vec3::from(axis))
    }
}

/// A quaternion of zero length is taken for no rotation, as in MuJoCo.
fn pose([x, y, z, w, i, j, k]: [f64; POSE]) -> Pose {
    let turn = Unit::try_new(Quaternion::new(w, i, j, k), 1e-14).unwrap_or_else(UnitQuaternion::identity);
    Pose::from_parts([x, y, z].into(), turn)
}

fn numbers(pose: &Pose) -> [f64; POSE] {
    let (at, turn) = (pose.translation.vector, pose.rotation);
    [at.x, at.y, at.z, turn.w, turn.i, turn.j, turn.k]
}
