//! A soft body on a body that moves: what the mass of its nodes does to the tree of that body.
//!
//! Displacements are along the axes of the body that carries the nodes. The body's forces depend on these alone and do nothing
//! on the tree; its inertia does. A node at `r = X + q` in the carrier's frame moves with `C v_t + q'`, along the
//! carrier's axes, where `C` is the Jacobian of the carrier's point at `r`, and what its acceleration holds beside `C v_t' + q''`
//! is `a = C' v_t + 2 w x q'`, Coriolis' and the centripetal one. So each node, those that are pinned too, adds
//! `m [C 1]^T (C dv_t + dq' + h a)` to the balance of momentum of the tree and of itself.

mod changes;
mod ridden;

use manyworlds_model::{Pose, Vec3};
use manyworlds_shaders::dynamics::bias::add_joint;
use manyworlds_shaders::dynamics::tree::{POSE, SPATIAL, Tree, moves};

use crate::host::frame;
pub(super) use changes::CarriedChanges;
pub(super) use ridden::Ridden;

/// First degree of freedom of a node, and how its own balance changes with its q and v.
pub(super) type NodeBlocks = (usize, [[[f64; 3]; 3]; 2]);

/// The tree of a carrier at the start of a step.
pub(super) struct CarrierTree<'a> {
    pub(super) tree: Tree<'a>,
    /// World frames of its bodies.
    pub(super) pose: Vec<f64>,
    /// Motion of each degree of freedom about the origin of the first body.
    pub(super) motion: Vec<f64>,
    /// `[n_t]`
    pub(super) v: Vec<f64>,
}

/// See the module. All along the carrier's axes.
#[derive(Clone)]
pub(super) struct Carried {
    /// `v_t` before the step.
    v: Vec<f64>,
    /// Nodes.
    nodes: Vec<Node>,
    /// Of each free node, among `nodes`.
    free: Vec<usize>,
    /// `C`, `[node, 3, n_t]`.
    columns: Vec<f64>,
    /// How each degree of freedom moves the carrier's origin, and turns it.
    parts: Vec<[Vec3; 2]>,
}

#[derive(Clone)]
struct Node {
    /// kg
    mass: f64,
    /// First degree of freedom; `None`: pinned.
    dof: Option<usize>,
    /// r
    at: Vec3,
    /// q'
    relative: Vec3,
    /// `C v_t + q'`, m/s.
    velocity: Vec3,
    /// `a`, m/s^2.
    acceleration: Vec3,
}

impl CarrierTree<'_> {
    /// World frame of a body.
    pub(super) fn frame(&self, body: usize) -> Pose {
        frame::<f64>(std::array::from_fn(|k| self.pose[body * POSE + k]))
    }
}

impl Carried {
    /// `body`: the carrier within its tree; `rest`, `masses` and `dofs` of all nodes; `q` and `v` of the free ones.
    pub(super) fn new(
        of: &CarrierTree<'_>,
        body: usize,
        rest: &[Vec3],
        (masses, dofs): (&[f64], &[Option<u32>]),
        (q, v): (&[f64], &[f64]),
    ) -> Self {
        let n = of.v.len();
        let pose = of.frame(body);
        let inverse = pose.rotation.inverse();
        let spatial = |at: usize| {
            let part = |k: usize| Vec3::new(of.motion[at + k], of.motion[at + k + 1], of.motion[at + k + 2]);
            [part(0), part(3)]
        };
        let arm = pose.translation.vector - Vec3::new(of.pose[0], of.pose[1], of.pose[2]);
        // Of the carrier's origin, and how it turns, by degree of freedom.
        let parts: Vec<[Vec3; 2]> = of
            .tree
            .dofs
            .iter()
            .enumerate()
            .map(|(i, dof)| {
                if moves(dof, body as f64) == 0.0 {
                    return [Vec3::zeros(); 2];
                }
                let [turn, way] = spatial(i * SPATIAL);
                [inverse * (way + turn.cross(&arm)), inverse * turn]
            })
            .collect();
        let [twist, bias] = motion_of(of, body);
        let spin = inverse * twist[0];
        let linear = inverse * (twist[1] + twist[0].cross(&arm));
        let turning = inverse * bias[0];
        // From the spatial acceleration to that of the point that is there now.
        let origin = inverse * (bias[1] + bias[0].cross(&arm)) + spin.cross(&linear);
        let mut nodes = Vec::with_capacity(rest.len());
        let mut columns = vec![0.0; rest.len() * 3 * n];
        for (index, (rest, (&mass, dof))) in rest.iter().zip(masses.iter().zip(dofs)).enumerate() {
            let dof = dof.map(|dof| dof as usize);
            let own = |from: &[f64]| dof.map_or_else(Vec3::zeros, |dof| Vec3::from_fn(|k, _| from[dof + k]));
            let (r, relative) = (rest + own(q), own(v));
            for (i, [way, turn]) in parts.iter().enumerate() {
                let column = way + turn.cross(&r);
                (0..3).for_each(|k| columns[(3 * index + k) * n + i] = column[k]);
            }
            let acceleration = origin + turning.cross(&r) + spin.cross(&spin.cross(&r)) + 2.0 * spin.cross(&relative);
            let velocity = linear + spin.cross(&r) + relative;
            nodes.push(Node { mass, dof, at: r, relative, velocity, acceleration });
        }
        let free = (0..nodes.len()).filter(|&node| nodes[node].dof.is_some()).collect();
        Self { v: of.v.clone(), nodes, free, columns, parts }
    }

    /// The same with other masses of its nodes.
    pub(super) fn weighing(&self, masses: &[f64]) -> Self {
        let mut out = self.clone();
        out.nodes.iter_mut().zip(masses).for_each(|(node, mass)| node.mass = *mass);
        out
    }

    /// Degrees of freedom of the tree.
    pub(super) fn n(&self) -> usize {
        self.v.len()
    }

    /// `C` of a node along one of the carrier's axes, `[n_t]`.
    fn row(&self, node: usize, k: usize) -> &[f64] {
        let n = self.n();
        &self.columns[(3 * node + k) * n..(3 * node + k + 1) * n]
    }

    /// Adds `sum m C^T C` to `A` of the tree, row-major, and to its `b`: `sum m C^T (C v_t + q' + h (g - a))`.
    pub(super) fn add_to_tree(&self, h: f64, gravity: &Vec3, a: &mut [f64], b: &mut [f64]) {
        let n = self.n();
        self.add_mass(a, n);
        for (index, node) in self.nodes.iter().enumerate() {
            let push = node.mass * (node.velocity + h * (gravity - node.acceleration));
            for k in 0..3 {
                b.iter_mut().zip(self.row(index, k)).for_each(|(b, c)| *b += push[k] * c);
            }
        }
    }

    /// Adds `sum m C^T C` to a matrix whose rows are so far from each other.
    pub(super) fn add_mass(&self, to: &mut [f64], stride: usize) {
        for (index, node) in self.nodes.iter().enumerate() {
            for k in 0..3 {
                let row = self.row(index, k);
                for (i, x) in row.iter().enumerate().filter(|(_, x)| **x != 0.0) {
                    to[i * stride..].iter_mut().zip(row).for_each(|(to, y)| *to += node.mass * x * y);
                }
            }
        }
    }

    /// Adds `sum m C^T (a - g)` to a bias force, `[n_t]`.
    pub(super) fn add_bias(&self, gravity: &Vec3, to: &mut [f64]) {
        for (index, node) in self.nodes.iter().enumerate() {
            let force = node.mass * (node.acceleration - gravity);
            for k in 0..3 {
                to.iter_mut().zip(self.row(index, k)).for_each(|(to, c)| *to += force[k] * c);
            }
        }
    }

    /// `m C` of each of the body's degrees of freedom, in their order.
    pub(super) fn coupling(&self) -> impl Iterator<Item = impl Iterator<Item = f64> + '_> + '_ {
        let rows = self.free.iter().flat_map(|&node| (0..3).map(move |k| (node, k)));
        rows.map(move |(node, k)| self.row(node, k).iter().map(move |c| self.nodes[node].mass * c))
    }

    /// What the body's degrees of freedom take part of in the balance of momentum beside `m (q'+ - q')`:
    /// `m (C (v_t+ - v_t) + h a)`, `[n]`, N s.
    pub(super) fn balance(&self, h: f64, after: &[f64]) -> Vec<f64> {
        let change: Vec<f64> = after.iter().zip(&self.v).map(|(after, before)| after - before).collect();
        let of = |&node: &usize| {
            let Node { mass, acceleration, .. } = &self.nodes[node];
            let change = &change;
            (0..3).map(move |k| {
                let moved: f64 = self.row(node, k).iter().zip(change).map(|(c, v)| c * v).sum();
                mass * (moved + h * acceleration[k])
            })
        };
        self.free.iter().flat_map(of).collect()
    }

    /// What all nodes take part of in the balance of momentum of the tree: `sum m C^T (C (v_t+ - v_t) + q'+ - q' + h (a - g))`,
    /// `[n_t]`, N s. `after`: v+ of the tree, and of the body.
    pub(super) fn balance_of_tree(&self, h: f64, gravity: &Vec3, after: [&[f64]; 2]) -> Vec<f64> {
        let mut out = vec![0.0; self.n()];
        for (index, node) in self.nodes.iter().enumerate() {
            let change = node.mass * self.change(index, h, gravity, after);
            (0..3).for_each(|k| out.iter_mut().zip(self.row(index, k)).for_each(|(out, c)| *out += change[k] * c));
        }
        out
    }

    /// `C (v_t+ - v_t) + q'+ - q' + h (a - g)` of a node.
    fn change(&self, index: usize, h: f64, gravity: &Vec3, [tree, own]: [&[f64]; 2]) -> Vec3 {
        let node = &self.nodes[index];
        let carried = Vec3::from_fn(|k, _| {
            let change = tree.iter().zip(&self.v).map(|(after, before)| after - before);
            self.row(index, k).iter().zip(change).map(|(c, v)| c * v).sum()
        });
        let after = node.dof.map_or_else(Vec3::zeros, |dof| Vec3::from_fn(|k, _| own[dof + k]));
        carried + after - node.relative + h * (node.acceleration - gravity)
    }

    /// `m a` of each of the body's degrees of freedom, N.
    pub(super) fn bias(&self) -> impl Iterator<Item = f64> + '_ {
        let nodes = self.free.iter().map(|&node| &self.nodes[node]);
        nodes.flat_map(|node| (0..3).map(move |k| node.mass * node.acceleration[k]))
    }
}

/// Velocity of a body of a tree and its acceleration without that of the degrees of freedom, both (angular, linear) at the origin
/// of the first body in world axes; gravity is not in it.
fn motion_of(of: &CarrierTree<'_>, body: usize) -> [[Vec3; 2]; 2] {
    let (mut way, mut at) = (vec![body], body);
    while at > 0 {
        at = of.tree.bodies[at].parent as usize;
        way.push(at);
    }
    let (mut v, mut a) = ([[0.0; 3]; 2], [[0.0; 3]; 2]);
    for &at in way.iter().rev() {
        let record = &of.tree.bodies[at];
        let first = record.joint_begin as usize;
        for joint in &of.tree.joints[first..first + record.joint_count as usize] {
            (v, a) = add_joint(joint, &of.motion, &of.v, v, a);
        }
    }
    [v.map(Vec3::from), a.map(Vec3::from)]
}
