//! How the balances of momentum of a soft body and of the tree that carries it change with what they begin from.
//!
//! Along the carrier's axes a node takes `m p`, `p = C (v_t+ - v_t) + q'+ - q' + h (a - g)`, and the tree `sum m C^T p`. With J_i the
//! motion of the carrier by a degree of freedom i of the tree, in its own frame, C is J_i at the node, and a step of a later degree
//! of freedom k on the way to the carrier changes it: `dJ_i/dq_k = J_i x J_k`, the product of motions. Those of one ball turn the
//! carrier about axes that are fixed in it: none changes another. With `V = sum J_i v_i = (s, L)` and
//! `B = sum_k v_k sum_i v_i dJ_i/dq_k`, what accelerates beside v' is `a = B at r + s x L + s x (s x r) + 2 s x q'`.

use std::ops::AddAssign;

use manyworlds_model::Vec3;
use manyworlds_shaders::dynamics::tree::{Tree, joint};
use nalgebra::Matrix3;

use super::{Carried, Node, NodeBlocks};

/// Right less left of both balances, by what is before the step while the velocities after it are held. N s/m and so on.
#[derive(Debug)]
pub(in crate::group) struct CarriedChanges {
    /// Of the tree by its own q, and by its v, `[n_t, n_t]`.
    pub(in crate::group) tree_by_tree: [Vec<f64>; 2],
    /// The same by the body's, transposed: `[n_v, n_t]`.
    pub(in crate::group) tree_by_own: [Vec<f64>; 2],
    /// Of the body by the tree's, `[n_v, n_t]`.
    pub(in crate::group) own_by_tree: [Vec<f64>; 2],
    /// Of each free node by its own, `[3, 3]` each, from its first degree of freedom on.
    pub(in crate::group) own_by_own: Vec<NodeBlocks>,
}

/// A motion of the carrier about its origin.
#[derive(Clone, Copy)]
struct Motion {
    turn: Vec3,
    way: Vec3,
}

impl Motion {
    fn zero() -> Self {
        Self { turn: Vec3::zeros(), way: Vec3::zeros() }
    }

    fn times(&self, x: f64) -> Self {
        Self { turn: self.turn * x, way: self.way * x }
    }

    fn cross(&self, other: &Self) -> Self {
        let way = self.turn.cross(&other.way) + self.way.cross(&other.turn);
        Self { turn: self.turn.cross(&other.turn), way }
    }

    /// That of a point.
    fn at(&self, r: &Vec3) -> Vec3 {
        self.way + self.turn.cross(r)
    }
}

impl AddAssign for Motion {
    fn add_assign(&mut self, other: Self) {
        self.turn += other.turn;
        self.way += other.way;
    }
}

/// How p of a node changes with something of the tree: `a + b r + c q'`, r where it is and q' its velocity relative to the carrier.
struct Slope {
    a: Vec3,
    b: Matrix3<f64>,
    c: Matrix3<f64>,
}

impl Slope {
    /// As the point of a motion, and `h` times by how that changes V, `s x L + s x (s x r) + 2 s x q'`.
    fn new(moved: &Motion, h: f64, Motion { turn: spin, way }: &Motion, by: &Motion) -> Self {
        let (spinning, turning) = (spin.cross_matrix(), by.turn.cross_matrix());
        Self {
            a: moved.way + h * (by.turn.cross(way) + spin.cross(&by.way)),
            b: moved.turn.cross_matrix() + h * (turning * spinning + spinning * turning),
            c: 2.0 * h * turning,
        }
    }

    fn at(&self, Node { at, relative, .. }: &Node) -> Vec3 {
        self.a + self.b * at + self.c * relative
    }
}

/// The carrier's motions and how they change.
struct Motions {
    n: usize,
    /// J
    j: Vec<Motion>,
    /// `dJ_i/dq_k`, `[k, i]`.
    slopes: Vec<Motion>,
    /// Before which degree of freedom those are that each one changes.
    changes: Vec<usize>,
}

impl Motions {
    fn new(tree: &Tree<'_>, parts: &[[Vec3; 2]]) -> Self {
        let n = parts.len();
        let j: Vec<Motion> = parts.iter().map(|&[way, turn]| Motion { turn, way }).collect();
        let changes: Vec<usize> = (0..n)
            .map(|k| {
                let record = &tree.joints[tree.dofs[k].joint as usize];
                let (first, at) = (record.dof_begin as usize, k - record.dof_begin as usize);
                match record.kind {
                    joint::BALL => first,
                    joint::FREE if at >= 3 => first + 3,
                    _ => k,
                }
            })
            .collect();
        let mut slopes = vec![Motion::zero(); n * n];
        for k in 0..n {
            (0..changes[k]).for_each(|i| slopes[k * n + i] = j[i].cross(&j[k]));
        }
        Self { n, j, slopes, changes }
    }

    /// `sum x_i J_i`
    fn of(&self, x: &[f64]) -> Motion {
        sum(self.j.iter().zip(x).map(|(j, x)| j.times(*x)))
    }

    /// How that changes with a degree of freedom.
    fn slope(&self, k: usize, x: &[f64]) -> Motion {
        sum(self.slopes[k * self.n..(k + 1) * self.n].iter().zip(x).map(|(slope, x)| slope.times(*x)))
    }

    /// B
    fn bias(&self, v: &[f64]) -> Motion {
        sum((0..self.n).map(|k| self.slope(k, v).times(v[k])))
    }

    /// How B changes with the position of a degree of freedom.
    fn bias_by_q(&self, of: usize, v: &[f64]) -> Motion {
        let own = &self.slopes[of * self.n..(of + 1) * self.n];
        // Sums over those before each: of J, and of how it changes.
        let (mut moved, mut turned) = (vec![Motion::zero()], vec![Motion::zero()]);
        for i in 0..self.n {
            let (mut next, mut slope) = (moved[i], turned[i]);
            next += self.j[i].times(v[i]);
            slope += own[i].times(v[i]);
            moved.push(next);
            turned.push(slope);
        }
        sum((0..self.n).map(|k| {
            let before = self.changes[k];
            let mut out = turned[before].cross(&self.j[k]);
            out += moved[before].cross(&own[k]);
            out.times(v[k])
        }))
    }

    /// The same with its speed.
    fn bias_by_v(&self, of: usize, v: &[f64]) -> Motion {
        let mut out = self.slope(of, v);
        (0..self.n).for_each(|k| out += self.slopes[k * self.n + of].times(v[k]));
        out
    }
}

fn sum(all: impl Iterator<Item = Motion>) -> Motion {
    all.fold(Motion::zero(), |mut sum, own| {
        sum += own;
        sum
    })
}

impl Carried {
    /// `tree`: that of the carrier; `after`: v+ of it, and of the body; `gravity` along the carrier's axes.
    pub(in crate::group) fn changes(
        &self,
        tree: &Tree<'_>,
        h: f64,
        gravity: &Vec3,
        after: [&[f64]; 2],
    ) -> CarriedChanges {
        let (n, n_own) = (self.n(), 3 * self.free.len());
        let motions = Motions::new(tree, &self.parts);
        let change: Vec<f64> = after[0].iter().zip(&self.v).map(|(after, before)| after - before).collect();
        let velocity = motions.of(&self.v);
        let spin = velocity.turn;
        let (gained, bias) = (motions.of(&change), motions.bias(&self.v));
        let zeros = |rows: usize| [vec![0.0; rows * n], vec![0.0; rows * n]];
        let (mut tree_by_tree, mut tree_by_own, mut own_by_tree) = (zeros(n), zeros(n_own), zeros(n_own));
        let mut own_by_own = Vec::with_capacity(self.free.len());
        let by = |own: Motion, bias: Motion, rest: Motion| {
            let mut moved = rest;
            moved += bias.times(h);
            Slope::new(&moved, h, &velocity, &own)
        };
        let of_tree: Vec<[Slope; 2]> = (0..n)
            .map(|k| {
                let j = motions.j[k];
                let mut gained = motions.slope(k, &change);
                gained.way -= h * gravity.cross(&j.turn);
                [
                    by(motions.slope(k, &self.v), motions.bias_by_q(k, &self.v), gained),
                    by(j, motions.bias_by_v(k, &self.v), j.times(-1.0)),
                ]
            })
            .collect();
        // How p of a node changes with its own displacement and velocity, by mass.
        let spinning = spin.cross_matrix();
        let of_own = [
            (gained.turn + h * bias.turn).cross_matrix() + h * spinning * spinning,
            2.0 * h * spinning - Matrix3::identity(),
        ];
        let (mut force, mut moment, mut c) = (Vec3::zeros(), Vec3::zeros(), vec![Vec3::zeros(); n]);
        for (index, node) in self.nodes.iter().enumerate() {
            let p = node.mass * self.change(index, h, gravity, after);
            force += p;
            moment += node.at.cross(&p);
            c.iter_mut().zip(&motions.j).for_each(|(c, j)| *c = j.at(&node.at));
            for (k, by) in of_tree.iter().enumerate() {
                for (which, by) in by.iter().enumerate() {
                    let slope = node.mass * by.at(node);
                    c.iter().enumerate().for_each(|(i, c)| tree_by_tree[which][i * n + k] -= c.dot(&slope));
                    if let Some(dof) = node.dof {
                        (0..3).for_each(|axis| own_by_tree[which][(dof + axis) * n + k] = -slope[axis]);
                    }
                }
            }
            let Some(dof) = node.dof else { continue };
            let own = of_own.map(|by| -node.mass * by);
            for (i, (c, j)) in c.iter().zip(&motions.j).enumerate() {
                let slopes = [own[0].tr_mul(c) - p.cross(&j.turn), own[1].tr_mul(c)];
                for (which, slope) in slopes.iter().enumerate() {
                    (0..3).for_each(|axis| tree_by_own[which][(dof + axis) * n + i] = slope[axis]);
                }
            }
            let rows = |m: &Matrix3<f64>| [0, 1, 2].map(|row| [0, 1, 2].map(|column| m[(row, column)]));
            own_by_own.push((dof, own.each_ref().map(rows)));
        }
        // What pushes the carrier stays while J turns.
        for k in 0..n {
            for i in 0..n {
                let slope = &motions.slopes[k * n + i];
                tree_by_tree[0][i * n + k] -= slope.way.dot(&force) + slope.turn.dot(&moment);
            }
        }
        CarriedChanges { tree_by_tree, tree_by_own, own_by_tree, own_by_own }
    }
}
