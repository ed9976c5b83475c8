//! Cases of soft bodies: a step of one round, kernel by kernel, each law, both orders of tetrahedra; and bricks, which have
//! nothing of their own but more nodes.

use std::collections::BTreeMap;

use manyworlds_gpu::{BufferId, Recording};
use manyworlds_model::{Contacting, Material, MaterialLaw, Order, Region, SoftBody, Vec3};
use manyworlds_shaders::contact::frame::tangents;
use manyworlds_shaders::contact::tree_layout::info;
use manyworlds_shaders::dynamics::tree::status;
use manyworlds_shaders::soft::body::{BLOCK, SoftDims, soft};
use manyworlds_shaders::soft::touch::{Parts, head, side_stride, word_stride, words_of_lanes};
use manyworlds_shaders::soft::trees::{beside_reals, trees_at};
use manyworlds_shaders::{Kernel, kernel};
use manyworlds_soft::{SoftLayout, SoftSystem};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use super::{Case, Data, Record, Tolerance};
use crate::soft::caged;

const ROUNDING: Tolerance = Tolerance {
    f32: 2e-4,
    f64: 1e-12,
    reason: "stresses are differences of stretches and 1, a hundredth of these, times the stiffness of a hundred products",
};
const ROUNDING_OF_SOLVES: Tolerance = Tolerance {
    f32: 1e-3,
    f64: 1e-11,
    reason: "as ROUNDING, times the condition number of the momentum matrix, below a hundred here",
};
const ROUNDING_OF_CONTACTS: Tolerance =
    Tolerance { f32: 2e-3, f64: 1e-11, reason: "as ROUNDING, and what laws leave is a difference of impulses" };
const ROUNDING_OF_IMPULSES: Tolerance = Tolerance {
    f32: 2e-2,
    f64: 1e-10,
    reason: "as ROUNDING_OF_SOLVES, and what is left of impulses that nearly cancel, each held to its own size",
};

/// Not a multiple of any tile, and more than one of each.
const LANES: usize = 43;
const H: f64 = 0.002;

/// Cases of every kernel of soft bodies.
pub(super) fn cases() -> Vec<Case> {
    let laws =
        [MaterialLaw::Linear, MaterialLaw::Corotated, MaterialLaw::SaintVenantKirchhoff, MaterialLaw::NeoHookean];
    let orders = [Order::Linear, Order::Quadratic];
    let all = orders.into_iter().flat_map(|order| laws.map(|law| (order, law)));
    let each = all.flat_map(|(order, law)| [false, true].map(|more| (body(order, law, more), more)));
    let bricks = [Order::Trilinear, Order::Triquadratic].map(|order| (brick(order), true));
    each.chain(bricks).flat_map(|(body, more)| of_body(&body, more)).collect()
}

/// A cell of six tetrahedra, 0.1 m wide, two corners pinned. `more`: damped and under pressure.
fn body(order: Order, law: MaterialLaw, more: bool) -> SoftBody {
    let corner = |at: u32| Vec3::new(f64::from(at & 1), f64::from(at >> 1 & 1), f64::from(at >> 2)) * 0.1;
    let mut nodes: Vec<Vec3> = (0..8).map(corner).collect();
    let mut middles = BTreeMap::new();
    let mut elements = Vec::new();
    for [first, second] in [[1, 3], [3, 2], [2, 6], [6, 4], [4, 5], [5, 1]] {
        let own: [u32; 4] = [0, first, second, 7];
        elements.extend(own);
        if order == Order::Quadratic {
            for [i, j] in [[0, 1], [1, 2], [2, 0], [0, 3], [1, 3], [2, 3]] {
                let [i, j] = [own[i].min(own[j]), own[i].max(own[j])];
                elements.push(*middles.entry([i, j]).or_insert_with(|| {
                    nodes.push((nodes[i as usize] + nodes[j as usize]) / 2.0);
                    nodes.len() as u32 - 1
                }));
            }
        }
    }
    let damping = if more { 0.003 } else { 0.0 };
    let region = |elements: &[u32], pressure: f64| Region {
        name: String::new(),
        elements: elements.to_vec(),
        pressure: if more { pressure } else { 0.0 },
    };
    SoftBody {
        name: String::new(),
        body: 0,
        nodes,
        pinned: vec![0, 1],
        order,
        elements,
        material: Material { law, young: 1e5, poisson: 0.4, density: 1000.0, damping, mass_damping: 10.0 * damping },
        regions: vec![region(&[0, 1, 2], 2e3), region(&[2, 4], 1e3)],
        contacting: Contacting {
            friction: 0.0,
            restitution: 0.0,
            stiffness: f64::INFINITY,
            dissipation: 0.0,
            margin: 0.0,
            gap: 0.0,
            frictionless: true,
            contype: 0,
            conaffinity: 0,
            priority: 0,
        },
        radius: 0.0,
        embedding: None,
        touches_itself: false,
        q: 0..0,
        v: 0..0,
    }
}

/// A brick about such a cell, two of its nodes pinned, damped and under pressure.
fn brick(order: Order) -> SoftBody {
    let mut own = caged(body(Order::Linear, MaterialLaw::NeoHookean, true), [1; 3], order);
    own.regions.iter_mut().for_each(|region| region.elements = vec![0]);
    own
}

/// The kernels of a step, each with what the one before it has left. `more`: also with controls, on a mocap body that moves.
fn of_body(body: &SoftBody, more: bool) -> Vec<Case> {
    use kernel::soft::{BALANCE, ELEMENTS, FACTOR, SLIDE, START};
    let mut rng = ChaCha8Rng::seed_from_u64(12);
    let system = SoftSystem::new(body).expect("a body");
    let layout = SoftLayout::new(&system, body, if more { &[1, 0, 1] } else { &[] });
    let mut dims = SoftDims { lanes: LANES as u32, ..layout.dims };
    let own = SoftLayout::params(system.params(), H, [1.0, 2.0, -9.81]);
    let mut params = |_| {
        let mut scaled = |x: f64| if more { x * rng.random_range(0.8..1.2) } else { x };
        // One time step for all.
        let mut out = vec![own[0]];
        out.extend(own[1..].iter().map(|&x| scaled(x)));
        for _ in 0..dims.n_u {
            // Some controls and forces are beyond their bounds.
            out.extend([3e2, 1.0, 0.1, -0.6, 0.6, -0.5, 0.5].map(&mut scaled));
        }
        if more {
            let turning = [0.1, -0.2, 0.3, 0.2, 0.1, -0.1, 0.3, 0.2, -0.2];
            let nearly_one = [1.0, 0.01, 0.02, -0.01, 1.0, 0.03, -0.02, -0.03, 1.0];
            out.extend(turning.into_iter().chain(nearly_one).chain([0.1, 0.2, -0.3]).map(scaled));
        }
        out
    };
    let params = Data::Lanes((0..LANES).map(&mut params).collect());
    if more {
        dims.ridden = 1;
        dims.n_param += soft::RIDE as u32;
        (dims.damped, dims.pressed) = (1, 1);
    }
    let n = dims.n_v() as usize;
    let state = |_| {
        let sizes = [(0.003, n), (0.5, n), (1.0, dims.n_u as usize), (1.0, n)];
        let each = sizes.into_iter().flat_map(|(size, n)| std::iter::repeat_n(size, n));
        each.map(|size: f64| rng.random_range(-size..size)).collect()
    };
    let state = Data::Lanes((0..LANES).map(state).collect());
    let zeros = |n: u32| Data::Lanes(vec![vec![0.0; n as usize]; LANES]);
    let flags = [0, status::CONVERGED, status::FROZEN, status::HELD, status::SHARED, status::SHARED | status::FROZEN];
    let words = Data::LaneWords((0..LANES).map(|lane| vec![flags[lane % flags.len()]]).collect());
    let (topology, rest) = (Data::Words(layout.topology.clone()), Data::Shared(layout.rest.clone()));
    let case =
        |kernel: &'static Kernel, buffers: Vec<Data>, outputs: &[usize], tolerance: Tolerance, record: Record| {
            // Contacts are numbered over all lanes.
            let reversible = !buffers.iter().any(|data| matches!(data, Data::Flat { .. }));
            let pressed = if more { ", damped, under pressure, carried" } else { "" };
            Case {
                name: format!("{:?}, {:?}{pressed}", body.order, body.material.law),
                kernel,
                lanes: LANES,
                buffers,
                record,
                outputs: outputs.iter().map(|at| (*at, tolerance)).collect(),
                single: true,
                reversible,
            }
        };
    let of_body = |kernel: &'static Kernel, dims: SoftDims| -> Record {
        Box::new(move |recording, ids| {
            recording.dispatch(kernel, &dims, LANES as u32, ids);
        })
    };
    let after = |case: &Case| case.after().expect("the mirror runs");
    let info = zeros(info::reals(n) as u32);
    let (begin, velocity) = (zeros(dims.n_begin()), zeros(dims.n_v()));
    let buffers = vec![topology.clone(), rest.clone(), params.clone(), state, begin, velocity, info, words];
    let start = case(&START, buffers, &[4, 5, 6, 7], ROUNDING, of_body(&START, dims));
    let mut made = after(&start);
    let words = made.swap_remove(7);
    let (info, velocity, begin) = (made.swap_remove(6), made.swap_remove(5), made.swap_remove(4));
    let (matrix, b) = (zeros(dims.n_block * BLOCK as u32), zeros(dims.n_v()));
    // What mirrors write for lanes whose rounds are over, beside others that go on, nobody reads.
    let going = Data::LaneWords(vec![vec![0]; LANES]);
    let buffers = vec![topology.clone(), rest, params, begin, velocity.clone(), going.clone(), matrix, b];
    let elements = case(&ELEMENTS, buffers, &[6, 7], ROUNDING, of_body(&ELEMENTS, dims));
    let mut made = after(&elements);
    let (b, matrix) = (made.swap_remove(7), made.swap_remove(6));
    // What is left in the middle of the lanes is the tolerance.
    let mut left: Vec<f64> = match &b {
        Data::Lanes(lanes) => lanes.iter().map(|b| b.iter().map(|x| x * x).sum::<f64>().sqrt()).collect(),
        _ => Vec::new(),
    };
    left.sort_by(f64::total_cmp);
    dims.tolerance = (left[LANES * 3 / 4] as f32 * 1.01).to_bits();
    let touching = Touching::new(&layout, &mut dims, &mut rng);
    let beside = touching.trees(dims, &mut rng);
    let of_round = |round: u32, last: bool, touches: &Touching, words: &Data| {
        let dims = SoftDims { round, last: last.into(), ..touches.dims(dims) };
        let record = Box::new(move |recording: &mut Recording, ids: &[BufferId]| {
            recording.dispatch(&BALANCE, &dims, LANES as u32, ids);
        });
        let [list, touches] = touches.data();
        let (info, beside) = (info.clone(), beside.clone());
        let buffers = vec![velocity.clone(), list, touches, matrix.clone(), b.clone(), info, beside, words.clone()];
        let mut case = case(&BALANCE, buffers, &[2, 3, 4, 5, 6, 7], ROUNDING_OF_CONTACTS, record);
        case.outputs[0].1 = ROUNDING_OF_IMPULSES;
        case
    };
    let none = Touching::none(&dims);
    let ends = [(0, false), (2, false), (3, true)].map(|(round, last)| of_round(round, last, &none, &words));
    let touched = of_round(0, false, &touching, &going);
    let mut made = after(&touched);
    let beside = made.swap_remove(6);
    let (b, matrix, touches) = (made.swap_remove(4), made.swap_remove(3), made.swap_remove(2));
    let filled = zeros(dims.n_fill * BLOCK as u32);
    let [factor, in_part] = [(going, &[2, 3, 4, 5][..]), (words.clone(), &[4, 5])].map(|(words, outputs)| {
        let buffers = vec![topology.clone(), matrix.clone(), b.clone(), filled.clone(), velocity.clone(), words];
        case(&FACTOR, buffers, outputs, ROUNDING_OF_SOLVES, of_body(&FACTOR, dims))
    });
    let mut made = after(&factor);
    let (words, velocity, filled, b) =
        (made.swap_remove(5), made.swap_remove(4), made.swap_remove(3), made.swap_remove(2));
    let [list, _] = touching.data();
    let buffers = vec![topology, filled, list, touches, b, beside, velocity, words];
    let dims = touching.dims(dims);
    let mut slide = case(&SLIDE, buffers, &[3, 4, 6, 7], ROUNDING_OF_SOLVES, of_body(&SLIDE, dims));
    slide.outputs[0].1 = ROUNDING_OF_IMPULSES;
    [start, elements, touched, factor, in_part, slide].into_iter().chain(ends).collect()
}

/// Degrees of freedom of the two trees that may touch a body.
const DOFS: [usize; 2] = [3, 2];

/// Contacts of some lanes, as their kernels have them.
struct Touching {
    words: Vec<u32>,
    reals: Vec<f64>,
    count: usize,
    sides: usize,
}

impl Touching {
    fn none(dims: &SoftDims) -> Self {
        Self { words: vec![0; words_of_lanes(dims.lanes as usize)], reals: vec![0.0], count: 0, sides: 0 }
    }

    /// What kernels know with these.
    fn dims(&self, dims: SoftDims) -> SoftDims {
        let side_dofs = if self.sides > 0 { DOFS[0] as u32 } else { 0 };
        SoftDims { n_touch: self.count as u32, n_side: self.sides as u32, side_dofs, ..dims }
    }

    /// How many trees touch a lane's body.
    fn trees_of(lane: usize) -> usize {
        if lane.is_multiple_of(4) { 0 } else { lane / 4 % 3 }
    }

    /// Up to three a lane, of as many nodes as an element has, some open, some that stick and some that slide: more than there is room for
    /// in some lanes. Trees take part in some.
    fn new(layout: &SoftLayout, dims: &mut SoftDims, rng: &mut ChaCha8Rng) -> Self {
        dims.n_dof = DOFS.iter().sum::<usize>() as u32;
        (dims.n_term, dims.n_slide, dims.proximal) = (8, 2 + dims.n_dof, 0.3_f32.to_bits());
        let counts: Vec<usize> = (0..LANES).map(|lane| lane % 4).collect();
        let begins = std::iter::once(0).chain(counts.iter().scan(0, |sum, n| {
            *sum += *n as u32;
            Some(*sum)
        }));
        let mut words: Vec<u32> = begins.collect();
        words.extend((0..LANES).map(|lane| DOFS[..Self::trees_of(lane)].iter().sum::<usize>() as u32));
        let (mut given, mut impulses, mut all_sides) = (Vec::new(), Vec::new(), Vec::new());
        let own = &layout.topology[dims.n_node as usize..];
        let (nodes, regions) = (own[0] as usize, own[1] as usize);
        let n = nodes.min(8);
        for (lane, touch) in counts.iter().enumerate().flat_map(|(lane, &count)| (0..count).map(move |k| (lane, k))) {
            let of_element = &own[2 + regions..];
            let begin = words.len();
            let mut first = [0; head::SIZE];
            first[head::NODES] = n as u32;
            // The last has none.
            let tree = if touch == 2 { None } else { Self::trees_of(lane).checked_sub(1).map(|most| touch.min(most)) };
            let mut uniform = |size: f64| rng.random_range(-size..size);
            if let Some(tree) = tree {
                first[head::SIDE] = all_sides.len() as u32;
                first[head::COLUMN] = DOFS[..tree].iter().sum::<usize>() as u32;
                first[head::DOFS] = DOFS[tree] as u32;
                let mut side = vec![2.0 + uniform(0.5)];
                side.extend((0..6 * DOFS[tree]).map(|_| uniform(1.0)));
                side.resize(side_stride(DOFS[0]), 0.0);
                all_sides.push(side);
            }
            words.extend(first);
            words.extend(&of_element[..n]);
            words.resize(begin + head::SIZE + 8, 0);
            words.extend(&of_element[nodes..nodes + n * (n + 1) / 2]);
            words.resize(begin + word_stride(8), 0);
            let normal = Vec3::new(uniform(1.0), uniform(1.0), 1.0).normalize();
            let [t1, t2] = tangents(normal.into());
            given.extend(t1.into_iter().chain(t2).chain(<[f64; 3]>::from(normal)));
            given.extend([uniform(0.3), uniform(0.3), uniform(1.0), 0.8 + uniform(0.7), 0.05 + uniform(0.02)]);
            given.extend((0..8).map(|i| if i < n { 1.0 / n as f64 + uniform(0.1) } else { 0.0 }));
            impulses.extend([uniform(0.01), uniform(0.01), 0.02 + uniform(0.01)]);
        }
        let mut out = Self { words, reals: given, count: counts.iter().sum(), sides: all_sides.len() };
        let parts = Parts::new(&out.dims(*dims));
        out.reals.resize(parts.found, 0.0);
        out.reals.extend(impulses);
        out.reals.resize(parts.sides, 0.0);
        out.reals.extend(all_sides.concat());
        out
    }

    /// What stands beside the factor: inertia, free momentum and velocity of the trees.
    fn trees(&self, dims: SoftDims, rng: &mut ChaCha8Rng) -> Data {
        let n = dims.n_dof as usize;
        let one = |lane: usize| {
            let (mut matrix, mut begin) = (vec![0.0; n * n], 0);
            for size in &DOFS[..Self::trees_of(lane)] {
                for i in 0..*size {
                    for j in 0..=i {
                        let x = if i == j { 0.3 } else { 0.0 } + rng.random_range(0.0..0.05);
                        matrix[(begin + i) * n + begin + j] = x;
                        matrix[(begin + j) * n + begin + i] = x;
                    }
                }
                begin += size;
            }
            let mut out = vec![0.0; trees_at(dims.n_v() as usize, dims.n_slide as usize)];
            out.extend(matrix);
            out.resize(out.len() + n * n, 0.0);
            out.extend((0..2 * n).map(|i| if i % n < begin { rng.random_range(-0.2..0.2) } else { 0.0 }));
            out.resize(beside_reals(&dims), 0.0);
            out
        };
        Data::Lanes((0..LANES).map(one).collect())
    }

    /// Each number is compared by itself: one record.
    fn data(&self) -> [Data; 2] {
        let (words, values) = (Data::Words(self.words.clone()), self.reals.clone());
        [words, if self.count == 0 { Data::Shared(values) } else { Data::Flat { period: values.len(), values } }]
    }
}
