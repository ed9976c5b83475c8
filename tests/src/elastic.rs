//! An elastic block of particles between the ground, two boxes and an arm: a subsystem of thousands of degrees of freedom
//! with a sparse matrix, in contact with trees.
//!
//! Particles on a grid, springs to the neighbours along edges and diagonals, linear about the grid. Particles of the
//! underside touch the ground, those of the top one box, centres of its triangles the other, particles of a side the tip of
//! the arm. A step is `(M + h D + h^2 K) v+ = M v + h (f - K q) + J^T lambda`, `q+ = q + h v+`.

use std::sync::Arc;

use manyworlds_collide::derivatives::{ContactSlope, Slope};
use manyworlds_contact::problem::ProblemBuilder;
use manyworlds_contact::{ContactProblem, Law};
use manyworlds_dynamics::{Settings, compile};
use manyworlds_gradients::{
    ContactInput, ContactModel, ContactSettings, Give, PointInput, SparseInput, StepInput, TreeInput,
};
use manyworlds_model::{ImportOptions, from_mjcf_str};
use manyworlds_shaders::contact::frame::tangents;
use manyworlds_shaders::contact::tree_layout::bias;
use manyworlds_shaders::dynamics::tree::{NONE, SPATIAL, multiply, param};
use manyworlds_shaders::math::{quat_conjugate, quat_log, quat_mul, quat_rotate};
use manyworlds_sparse::{Ordering, SparseMatrix};
use nalgebra::{Matrix3, SMatrix, Vector3};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::dynamics::TreeTile;

/// Time step, s.
pub const H: f64 = 0.005;
/// Distance of neighbours, m.
const SPACING: f64 = 0.02;
/// Mass of a particle, kg; stiffness of a spring, N/m; damping by stiffness, s.
const MASS: f64 = 0.002;
const STIFFNESS: f64 = 300.0;
const DAMPING: f64 = 0.01;
const GRAVITY: f64 = 9.81;

/// What a point of the block touches.
#[derive(Debug, Clone, Copy)]
enum Against {
    Ground,
    /// A plane of a body of a tree, by a point and its outward normal in the body.
    Face {
        tree: usize,
        body: usize,
        point: [f64; 3],
        normal: [f64; 3],
    },
}

/// A point of the block, by first degrees of freedom of particles and their weights, and what it touches.
#[derive(Debug, Clone)]
struct Touch {
    nodes: Vec<(usize, f64)>,
    against: Against,
}

/// See the module.
#[derive(Debug, Clone)]
pub struct Elastic {
    /// The two boxes, then the arm.
    pub trees: Vec<TreeTile<f64>>,
    rest: Vec<f64>,
    /// Displacements and velocities of the particles.
    pub q: Vec<f64>,
    /// See above.
    pub v: Vec<f64>,
    /// Forces on all degrees of freedom, those of the trees first.
    pub tau: Vec<f64>,
    a: SparseMatrix,
    by_q: SparseMatrix,
    by_v: SparseMatrix,
    ordering: Arc<Ordering>,
    touches: Vec<Touch>,
    friction: f64,
}

/// A contact of the block.
struct Found {
    point: Vector3<f64>,
    normal: Vector3<f64>,
    distance: f64,
    slope: ContactSlope,
}

/// A point of the material: its only corner.
fn point(touch: &Touch) -> PointInput {
    let nodes = touch.nodes.iter().map(|&(first, weight)| (first, [weight, 0.0, 0.0])).collect();
    PointInput { body: 0, weights: [1.0, 0.0, 0.0], nodes }
}

fn place(edge: usize, [x, y, z]: [usize; 3]) -> usize {
    3 * (x + edge * (y + edge * z))
}

/// Stiffness of the springs, `[3 edge^3]`.
fn stiffness(edge: usize) -> SparseMatrix {
    let steps = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [1, -1, 0], [1, 0, 1], [1, 0, -1], [0, 1, 1], [0, 1, -1]];
    let mut triplets = Vec::new();
    for k in 0..edge.pow(3) {
        let p = [k % edge, k / edge % edge, k / edge / edge];
        for step in steps {
            let q: [i64; 3] = std::array::from_fn(|c| p[c] as i64 + step[c]);
            if q.iter().any(|&x| x < 0 || x >= edge as i64) {
                continue;
            }
            let (i, j) = (place(edge, p), place(edge, q.map(|x| x as usize)));
            let square = step.iter().map(|x| x * x).sum::<i64>() as f64;
            for (a, b) in (0..9).map(|e| (e / 3, e % 3)) {
                let x = STIFFNESS * (step[a] * step[b]) as f64 / square;
                triplets.extend([(i + a, i + b, x), (j + a, j + b, x), (i + a, j + b, -x), (j + a, i + b, -x)]);
            }
        }
    }
    SparseMatrix::from_triplets(3 * edge.pow(3), &triplets).expect("indices of the grid")
}

impl Elastic {
    /// A block of so many particles along each edge, at least 4, in a state by a seed: pressed together a little unevenly,
    /// everything moving.
    #[must_use]
    pub fn new(edge: usize, friction: f64, seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let size = SPACING * (edge - 1) as f64;
        let (half, thick) = (0.25 * size, 0.02);
        let free = |x: f64| {
            let z = size + thick;
            format!(
                r#"<body pos="{x} {y} {z}"><freejoint/><geom type="box" size="{half} {size} {thick}" mass="0.5"/></body>"#,
                y = 0.5 * size
            )
        };
        // Two links: the second one's tip is a plate against the side x = size.
        let (reach, z) = (size + thick, 0.5 * size);
        let xml = format!(
            r#"<mujoco><option timestep="{H}"/><worldbody>{}{}
            <body pos="{} {} {z}"><joint type="hinge" axis="0 1 0"/><geom type="box" size="0.02 0.02 0.1" mass="0.4"/>
            <body pos="0 0 0.1"><joint type="hinge" axis="0 1 0"/><joint type="slide" axis="1 0 0"/>
            <geom type="box" size="{thick} {size} {size}" mass="0.3"/></body></body></worldbody></mujoco>"#,
            free(0.2 * size),
            free(0.8 * size),
            reach,
            0.5 * size
        );
        let nothing = |_: &std::path::Path| Err(std::io::Error::other("no files"));
        let model = from_mjcf_str("elastic.xml", &xml, &nothing, &ImportOptions::default()).expect("a model").model;
        let mut trees: Vec<Option<TreeTile<f64>>> = vec![None; model.trees.len()];
        for set in compile(&model, &Settings::default()).expect("trees") {
            for (&tree, params) in set.trees.iter().zip(&set.params) {
                let mut tile = TreeTile::new(&set.layout, params);
                let own = &model.trees[tree];
                tile.state[..own.q.len()].copy_from_slice(&model.initial_q()[own.q.clone()]);
                trees[tree] = Some(tile);
            }
        }
        let trees: Vec<TreeTile<f64>> = trees.into_iter().map(|tree| tree.expect("compiled")).collect();

        let n = 3 * edge.pow(3);
        let k = stiffness(edge);
        let scaled = |a: f64, m: f64| {
            let mut all: Vec<_> = k.entries().map(|(i, j, x)| (i, j, a * x)).collect();
            all.extend((0..n).map(|i| (i, i, m)));
            SparseMatrix::from_triplets(n, &all).expect("indices of the grid")
        };
        let (a, by_q, by_v) = (scaled(H * DAMPING + H * H, MASS), scaled(-H, 0.0), scaled(0.0, MASS));
        let rest = (0..edge.pow(3))
            .flat_map(|k| [k % edge, k / edge % edge, k / edge / edge].map(|x| SPACING * x as f64))
            .collect();
        let mut touches = Vec::new();
        let face =
            |tree: usize, body: usize, point: [f64; 3], normal: [f64; 3]| Against::Face { tree, body, point, normal };
        let top = edge - 1;
        for (i, j) in (0..edge * edge).map(|k| (k % edge, k / edge)) {
            let node = |p: [usize; 3]| vec![(place(edge, p), 1.0)];
            touches.push(Touch { nodes: node([i, j, 0]), against: Against::Ground });
            let below = |tree: usize| face(tree, 0, [0.0, 0.0, -thick], [0.0, 0.0, -1.0]);
            if 5 * i <= 2 * top {
                touches.push(Touch { nodes: node([i, j, top]), against: below(0) });
            }
            if 5 * i >= 3 * top && i < top && j < top {
                let corners = [[i, j, top], [i + 1, j, top], [i, j + 1, top]];
                let weights = [0.5, 0.3, 0.2];
                let nodes = corners.iter().zip(weights).map(|(&p, w)| (place(edge, p), w)).collect();
                touches.push(Touch { nodes, against: below(1) });
            }
            // Half of the side.
            if 0 < j && 2 * j <= top && 0 < i && i < top {
                let against = face(2, 1, [-thick, 0.0, 0.0], [-1.0, 0.0, 0.0]);
                touches.push(Touch { nodes: node([top, i, j]), against });
            }
        }
        let mut noise = |n: usize, size: f64| (0..n).map(|_| rng.random_range(-size..size)).collect::<Vec<f64>>();
        let n_tree: usize = trees.iter().map(|t| t.velocity.len()).sum();
        let mut own = Self {
            q: noise(n, 2e-4),
            v: noise(n, 0.02),
            tau: noise(n_tree + n, 0.01),
            trees,
            rest,
            ordering: Arc::new(Ordering::of(&a)),
            a,
            by_q,
            by_v,
            touches,
            friction,
        };
        for (tree, push) in own.trees.iter_mut().zip([[0.3, 0.05, -0.2], [0.0, 0.0, -0.1], [0.0, 0.0, -0.4]]) {
            let at = tree.layout.dims.v_at();
            (0..3).for_each(|k| tree.state[at + k] = push[k]);
        }
        own.prepare();
        own
    }

    /// Degrees of freedom.
    #[must_use]
    pub fn n_v(&self) -> usize {
        self.trees.iter().map(|t| t.velocity.len()).sum::<usize>() + self.q.len()
    }

    /// Points that may touch.
    #[must_use]
    pub fn n_contacts(&self) -> usize {
        self.touches.len()
    }

    /// Puts forces where trees have them and runs their kernels.
    fn prepare(&mut self) {
        let mut at = 0;
        for tree in &mut self.trees {
            let n = tree.velocity.len();
            let first = tree.layout.dims.tau_at();
            tree.state[first..first + n].copy_from_slice(&self.tau[at..at + n]);
            tree.free_velocity();
            at += n;
        }
    }

    fn found(&self, touch: &Touch) -> Found {
        let x: Vector3<f64> =
            touch.nodes.iter().map(|&(i, w)| Vector3::from_fn(|k, _| w * (self.rest[i + k] + self.q[i + k]))).sum();
        let (normal, on) = match touch.against {
            Against::Ground => (Vector3::z(), Vector3::zeros()),
            Against::Face { tree, body, point, normal } => {
                let pose = &self.trees[tree].pose[7 * body..7 * body + 7];
                let turn = [pose[3], pose[4], pose[5], pose[6]];
                let origin = Vector3::new(pose[0], pose[1], pose[2]);
                (Vector3::from(quat_rotate(turn, normal)), origin + Vector3::from(quat_rotate(turn, point)))
            }
        };
        let distance = normal.dot(&(x - on));
        // By linear (at the contact point) and angular velocity of the plane, then of the point.
        let mut slope = SMatrix::<f64, 7, 12>::zeros();
        let cross = |v: Vector3<f64>| v.cross_matrix();
        let moves = !matches!(touch.against, Against::Ground);
        let d_normal = if moves { -cross(normal) } else { Matrix3::zeros() };
        slope.fixed_view_mut::<3, 3>(3, 3).copy_from(&d_normal);
        if moves {
            slope.fixed_view_mut::<1, 3>(6, 0).copy_from(&-normal.transpose());
        }
        slope.fixed_view_mut::<1, 3>(6, 6).copy_from(&normal.transpose());
        // Midway: x - n distance / 2.
        slope.fixed_view_mut::<3, 3>(0, 6).copy_from(&Matrix3::identity());
        for column in 0..12 {
            for k in 0..3 {
                slope[(k, column)] -= 0.5 * (slope[(3 + k, column)] * distance + normal[k] * slope[(6, column)]);
            }
        }
        Found { point: x - 0.5 * distance * normal, normal, distance, slope: ContactSlope::new(slope) }
    }

    /// Its contacts, without impulses where `lambda` is empty.
    #[must_use]
    pub fn contacts(&self, lambda: &[f64]) -> Vec<ContactInput> {
        let contact = |(i, touch): (usize, &Touch)| {
            let found = self.found(touch);
            let body = match touch.against {
                Against::Ground => None,
                Against::Face { tree, body, .. } => Some((tree, body)),
            };
            ContactInput {
                geoms: [0, 1],
                bodies: [body, None],
                points: [None, Some(point(touch))],
                point: found.point.into(),
                normal: found.normal.into(),
                distance: found.distance,
                friction: self.friction,
                restitution: 0.0,
                drift: [[0.0; 3]; 2],
                impulse: std::array::from_fn(|k| lambda.get(3 * i + k).copied().unwrap_or_default()),
                give: Give::Bias,
                slope: Ok(Slope::Fixed(found.slope)),
            }
        };
        self.touches.iter().enumerate().map(contact).collect()
    }

    /// The contact problem of its step.
    #[must_use]
    pub fn problem(&self, warm_start: Vec<f64>) -> ContactProblem {
        let (mut subsystems, mut b) = (Vec::new(), Vec::new());
        for tree in &self.trees {
            subsystems.push([b.len(), tree.b.len()]);
            b.extend_from_slice(&tree.b);
        }
        subsystems.push([b.len(), self.q.len()]);
        b.extend(self.right_hand_side());
        let block = self.trees.len();
        let mut builder = ProblemBuilder::new(&subsystems, b, Vec::new()).expect("subsystems");
        for tree in &self.trees {
            let n = tree.b.len();
            let mut a = vec![0.0; n * n];
            for (i, row) in a.chunks_exact_mut(n).enumerate() {
                let mut unit = vec![0.0; n];
                unit[i] = 1.0;
                multiply(&tree.layout.tree(), &tree.momentum, &unit, row);
            }
            builder.block(&a).expect("a tree's block");
        }
        builder.sparse_block(self.a.clone(), self.ordering.clone()).expect("the block's matrix");
        let params = &self.trees[0].params;
        let [fraction, largest] = [param::CORRECTION_FRACTION, param::CORRECTION_MAX].map(|at| params[at]);
        for touch in &self.touches {
            let Found { point, normal, distance, .. } = self.found(touch);
            let [t1, t2] = tangents(normal.into());
            let frame = [t1, t2, normal.into()].map(Vector3::from);
            let e = [0.0, 0.0, bias(distance, 1.0 / H, fraction, largest, 0.0)];
            builder.constraint(Law::Contact { mu: self.friction }, e, None).expect("a contact");
            if let Against::Face { tree, body, .. } = touch.against {
                let own = &self.trees[tree];
                let n = own.b.len();
                let (mut j, structure) = (vec![0.0; 3 * n], own.layout.tree());
                let arm = point - Vector3::from_row_slice(&own.pose[..3]);
                let mut i = structure.bodies[body].chain_dof;
                while i != NONE {
                    let s = &own.motion[SPATIAL * i as usize..][..SPATIAL];
                    let along = Vector3::from_row_slice(&s[3..]) + Vector3::from_row_slice(&s[..3]).cross(&arm);
                    (0..3).for_each(|r| j[r * n + i as usize] = -frame[r].dot(&along));
                    i = structure.dofs[i as usize].parent;
                }
                builder.side(tree, None, &j).expect("a tree's side");
            }
            let dofs: Vec<u32> = touch.nodes.iter().flat_map(|&(i, _)| (i..i + 3).map(|i| i as u32)).collect();
            let row = |r: usize| touch.nodes.iter().flat_map(move |&(_, w)| (0..3).map(move |k| (r, k, w)));
            let j: Vec<f64> = (0..3).flat_map(row).map(|(r, k, w)| w * frame[r][k]).collect();
            builder.sparse_side(block, None, &dofs, &j).expect("the block's side");
        }
        builder.finish(warm_start).expect("a problem")
    }

    /// `M v + h (f - K q)`
    fn right_hand_side(&self) -> Vec<f64> {
        let tau = &self.tau[self.tau.len() - self.q.len()..];
        let weight = |k: usize| if k % 3 == 2 { -MASS * GRAVITY } else { 0.0 };
        let mut b: Vec<f64> = tau.iter().enumerate().map(|(k, tau)| H * (tau + weight(k))).collect();
        self.by_v.add_times(&self.v, &mut b);
        self.by_q.add_times(&self.q, &mut b);
        b
    }

    /// Calls `f` with the step as derivatives see it.
    pub fn with_step<T>(&self, problem: &ContactProblem, lambda: &[f64], f: impl FnOnce(&StepInput) -> T) -> T {
        let (contacts, b) = (self.contacts(lambda), self.right_hand_side());
        let tree = |t: &'_ TreeTile<f64>| -> [Vec<f64>; 2] { [t.pose.clone(), t.motion.clone()] };
        let frames: Vec<[Vec<f64>; 2]> = self.trees.iter().map(tree).collect();
        let params = &self.trees[0].params;
        let trees = self.trees.iter().zip(&frames).map(|(t, [pose, motion])| TreeInput {
            layout: &t.layout,
            params: &t.params,
            state: &t.state,
            frames: [pose, motion],
            made: None,
            rows: &[],
        });
        let sparse = SparseInput {
            axes: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            carrier: None,
            matrix: problem.sparse[0].matrix(),
            ordering: problem.sparse[0].ordering(),
            touched: problem.sparse[0].touched(),
            b: Some(&b),
            by_q: &self.by_q,
            by_ctrl: &[],
            controls: &[],
            by_v: &self.by_v,
            v: &self.v,
            settings: ContactSettings {
                timestep: H,
                correction: params[param::CORRECTION_FRACTION],
                largest_correction: params[param::CORRECTION_MAX],
                restitution_threshold: params[param::RESTITUTION_THRESHOLD],
            },
        };
        f(&StepInput {
            first: Vec::new(),
            trees: trees.collect(),
            sparse: vec![sparse],
            whole: None,
            contacts: &contacts,
            blocks: &[],
            model: ContactModel::Exact,
            single: false,
            doubt: 0.0,
            controls: vec![&[]; self.trees.len()],
            activations: vec![&[]; self.trees.len()],
        })
    }

    /// After the step that ends with a velocity, `[n_v]`.
    #[must_use]
    pub fn stepped(&self, v: &[f64]) -> Self {
        let mut next = self.clone();
        let mut at = 0;
        for tree in &mut next.trees {
            let n = tree.velocity.len();
            tree.velocity.copy_from_slice(&v[at..at + n]);
            tree.integrate();
            at += n;
        }
        next.v.copy_from_slice(&v[at..]);
        next.q.iter_mut().zip(&v[at..]).for_each(|(q, v)| *q += H * v);
        next
    }

    /// Moved by a step of q, v and tau in the tangent space, `[n_v]` each.
    #[must_use]
    pub fn moved(&self, [q, v, tau]: [&[f64]; 3], size: f64) -> Self {
        let mut next = self.clone();
        let mut at = 0;
        for tree in &mut next.trees {
            let (n, first) = (tree.velocity.len(), tree.layout.dims.v_at());
            let before: Vec<f64> = tree.state[first..first + n].to_vec();
            tree.velocity.iter_mut().zip(&q[at..]).for_each(|(to, q)| *to = size * q / H);
            tree.integrate();
            (0..n).for_each(|k| tree.state[first + k] = before[k] + size * v[at + k]);
            at += n;
        }
        next.q.iter_mut().zip(&q[at..]).for_each(|(to, x)| *to += size * x);
        next.v.iter_mut().zip(&v[at..]).for_each(|(to, x)| *to += size * x);
        next.tau.iter_mut().zip(tau).for_each(|(to, x)| *to += size * x);
        next.prepare();
        next
    }

    /// What leads from another state to this one, in the tangent space there: q and v, `[n_v]` each.
    #[must_use]
    pub fn difference(&self, from: &Self) -> [Vec<f64>; 2] {
        let [mut dq, mut dv] = [Vec::new(), Vec::new()];
        for (own, other) in self.trees.iter().zip(&from.trees) {
            let n = own.velocity.len();
            let (a, b) = (&own.state, &other.state);
            if n == 6 {
                dq.extend((0..3).map(|k| a[k] - b[k]));
                let [to, back] = [a, b].map(|s| [s[3], s[4], s[5], s[6]]);
                dq.extend(quat_log(quat_mul(quat_conjugate(back), to)));
            } else {
                dq.extend((0..n).map(|k| a[k] - b[k]));
            }
            let at = own.layout.dims.v_at();
            dv.extend((0..n).map(|k| a[at + k] - b[at + k]));
        }
        dq.extend(self.q.iter().zip(&from.q).map(|(a, b)| a - b));
        dv.extend(self.v.iter().zip(&from.v).map(|(a, b)| a - b));
        [dq, dv]
    }
}
