//! Cases of soft bodies: a step of one round, kernel by kernel, each law, both orders of tetrahedra; and bricks, which have
//! nothing of their own but more nodes.

use std::collections::BTreeMap;

use manyworlds_model::{Contacting, Material, MaterialLaw, Order, Region, SoftBody, Vec3};
use manyworlds_shaders::dynamics::tree::status;
use manyworlds_shaders::soft::body::{BLOCK, SoftDims};
use manyworlds_shaders::{Kernel, kernel};
use manyworlds_soft::{SoftLayout, SoftSystem};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use super::{Case, Data, EXACT, Tolerance};
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

/// The kernels of a step, each with what the one before it has left.
fn of_body(body: &SoftBody, more: bool) -> Vec<Case> {
    use kernel::soft::{ELEMENTS, FACTOR, INTEGRATE, START};
    let mut rng = ChaCha8Rng::seed_from_u64(12);
    let system = SoftSystem::new(body).expect("a body");
    let layout = SoftLayout::new(&system, [system.params()]);
    let mut dims = SoftDims { lanes: LANES as u32, ..layout.dims };
    let params = SoftLayout::params(system.params(), H, [1.0, 2.0, -9.81]);
    let params = if more {
        dims.param_lanes = 1;
        let own = |scale: f64| params.iter().enumerate().map(|(i, x)| if i == 0 { *x } else { x * scale }).collect();
        Data::Lanes((0..LANES).map(|_| own(rng.random_range(0.8..1.2))).collect())
    } else {
        Data::Shared(params)
    };
    let n = dims.n_v() as usize;
    let state = |_| {
        let sizes = [0.003, 0.5, 1.0].into_iter().flat_map(|size| std::iter::repeat_n(size, n));
        sizes.map(|size| rng.random_range(-size..size)).collect()
    };
    let state = Data::Lanes((0..LANES).map(state).collect());
    let zeros = |n: u32| Data::Lanes(vec![vec![0.0; n as usize]; LANES]);
    let flags = [0, status::CONVERGED, status::FROZEN, status::HELD];
    let words = Data::LaneWords((0..LANES).map(|lane| vec![flags[lane % 4]]).collect());
    let (topology, rest) = (Data::Words(layout.topology), Data::Shared(layout.rest));
    let case = |kernel: &'static Kernel, buffers: Vec<Data>, outputs: &[usize], tolerance: Tolerance| Case {
        name: format!(
            "{:?}, {:?}{}",
            body.order,
            body.material.law,
            if more { ", damped, under pressure" } else { "" }
        ),
        kernel,
        lanes: LANES,
        buffers,
        record: Box::new(move |recording, ids| {
            recording.dispatch(kernel, &dims, LANES as u32, ids);
        }),
        outputs: outputs.iter().map(|at| (*at, tolerance)).collect(),
        single: true,
        reversible: true,
    };
    let after = |case: &Case| case.after().expect("the mirror runs");
    let start = case(&START, vec![state.clone(), zeros(dims.n_v()), words.clone()], &[1, 2], EXACT);
    let velocity = after(&start)[1].clone();
    let (matrix, b) = (zeros(dims.n_block * BLOCK as u32), zeros(dims.n_v()));
    let buffers = vec![topology.clone(), rest, params.clone(), state.clone(), velocity.clone(), matrix, b];
    let elements = case(&ELEMENTS, buffers, &[5, 6], ROUNDING);
    let mut made = after(&elements);
    let (b, matrix) = (made.swap_remove(6), made.swap_remove(5));
    let filled = zeros(dims.n_fill * BLOCK as u32);
    let buffers = vec![topology, matrix, b, filled, velocity, words.clone()];
    let factor = case(&FACTOR, buffers, &[2, 3, 4, 5], ROUNDING_OF_SOLVES);
    let velocity = after(&factor)[4].clone();
    let integrate = case(&INTEGRATE, vec![params, velocity, state, words], &[2, 3], ROUNDING);
    vec![start, elements, factor, integrate]
}
