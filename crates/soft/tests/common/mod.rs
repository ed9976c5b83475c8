//! Soft bodies to test with.

// Each test crate uses its own part.
#![allow(dead_code)]

use manyworlds_model::{Cage, Contacting, Material, MaterialLaw, Order, SoftBody, Tetrahedra, Vec3};
use manyworlds_soft::SoftSystem;
use manyworlds_sparse::Factor;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

pub(crate) const LAWS: [MaterialLaw; 4] =
    [MaterialLaw::Linear, MaterialLaw::Corotated, MaterialLaw::SaintVenantKirchhoff, MaterialLaw::NeoHookean];

/// Of one material, of given nodes and corners of elements; where it is quadratic, with the middles of their edges.
pub(crate) fn body(nodes: Vec<Vec3>, corners: &[[u32; 4]], order: Order, law: MaterialLaw) -> SoftBody {
    let mut out = SoftBody {
        name: "body".to_owned(),
        body: 0,
        nodes,
        pinned: Vec::new(),
        order,
        elements: Vec::new(),
        material: Material { law, young: 1e6, poisson: 0.3, density: 1000.0, damping: 0.0, mass_damping: 0.0 },
        regions: Vec::new(),
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
    };
    let mut middles = std::collections::HashMap::new();
    for element in corners {
        out.elements.extend(element);
        if order == Order::Quadratic {
            for [i, j] in [[0, 1], [1, 2], [2, 0], [0, 3], [1, 3], [2, 3]] {
                let [i, j] = [element[i].min(element[j]), element[i].max(element[j])];
                let middle = *middles.entry([i, j]).or_insert_with(|| {
                    out.nodes.push((out.nodes[i as usize] + out.nodes[j as usize]) / 2.0);
                    out.nodes.len() as u32 - 1
                });
                out.elements.push(middle);
            }
        }
    }
    out
}

/// A cage about a body of linear tetrahedra, of the same material.
pub(crate) fn caged(mesh: &SoftBody, cells: [usize; 3], order: Order) -> SoftBody {
    let tetrahedra = Tetrahedra { nodes: mesh.nodes.clone(), elements: mesh.elements.clone(), order: mesh.order };
    let Cage { nodes, elements, order, embedding, .. } = Cage::about(&tetrahedra, cells, order).unwrap();
    SoftBody { nodes, elements, order, embedding: Some(embedding), ..mesh.clone() }
}

pub(crate) fn is_brick(order: Order) -> bool {
    matches!(order, Order::Trilinear | Order::Triquadratic)
}

/// A block of cells of six tetrahedra each, from the origin to `size`.
pub(crate) fn block(cells: [usize; 3], size: Vec3, order: Order, law: MaterialLaw) -> SoftBody {
    let number = |p: [usize; 3]| ((p[0] * (cells[1] + 1) + p[1]) * (cells[2] + 1) + p[2]) as u32;
    let (mut nodes, mut corners) = (Vec::new(), Vec::new());
    for (x, y, z) in every(cells.map(|n| n + 1)) {
        let share = Vec3::new(x as f64 / cells[0] as f64, y as f64 / cells[1] as f64, z as f64 / cells[2] as f64);
        nodes.push(share.component_mul(&size));
    }
    for (x, y, z) in every(cells) {
        for (axes, turned) in [
            ([0, 1, 2], false),
            ([1, 2, 0], false),
            ([2, 0, 1], false),
            ([0, 2, 1], true),
            ([2, 1, 0], true),
            ([1, 0, 2], true),
        ] {
            let mut at = [x, y, z];
            let mut own = [number(at); 4];
            for (k, axis) in axes.into_iter().enumerate() {
                at[axis] += 1;
                own[k + 1] = number(at);
            }
            if turned {
                own.swap(2, 3);
            }
            corners.push(own);
        }
    }
    body(nodes, &corners, order, law)
}

fn every(n: [usize; 3]) -> impl Iterator<Item = (usize, usize, usize)> {
    (0..n[0]).flat_map(move |x| (0..n[1]).flat_map(move |y| (0..n[2]).map(move |z| (x, y, z))))
}

/// Displacements up to a size.
pub(crate) fn random(rng: &mut ChaCha8Rng, n: usize, size: f64) -> Vec<f64> {
    (0..n).map(|_| rng.random_range(-size..size)).collect()
}

/// Displacements of free nodes by a function of where they are at rest.
pub(crate) fn displaced(body: &SoftBody, to: impl Fn(&Vec3) -> Vec3) -> Vec<f64> {
    let free = body.nodes.iter().zip(body.dofs()).filter(|(_, dof)| dof.is_some());
    free.flat_map(|(x, _)| (to(x) - x).as_slice().to_vec()).collect()
}

pub(crate) fn largest(x: &[f64]) -> f64 {
    x.iter().fold(0.0, |largest: f64, x| largest.max(x.abs()))
}

/// Displacements at which a body is at rest under forces on its degrees of freedom: Newton's method to a step of 1e-9 of the largest,
/// with projected stiffness where it is not positive definite.
pub(crate) fn equilibrium(system: &SoftSystem, load: &[f64]) -> Vec<f64> {
    let params = system.params();
    let n = system.n_v();
    let potential = |q: &[f64]| system.energy(params, q) - q.iter().zip(load).map(|(q, w)| q * w).sum::<f64>();
    let (mut q, mut force, mut stiffness) = (vec![0.0; n], vec![0.0; n], system.pattern().clone());
    for _ in 0..100 {
        let mut step = Vec::new();
        for projected in [false, true] {
            system.force_and_stiffness(params, f64::INFINITY, &q, &q, projected, &mut force, &mut stiffness);
            if let Ok(factor) = Factor::new(&stiffness, system.ordering(), &[]) {
                step = force.iter().zip(load).map(|(f, w)| f + w).collect();
                factor.solve(&mut step);
                break;
            }
        }
        let size = largest(&step);
        // Rounding hides what the energy gains by the last steps.
        let last = size < 1e-5 * largest(&q);
        let before = potential(&q);
        let mut share = 1.0;
        q = loop {
            let next: Vec<f64> = q.iter().zip(&step).map(|(q, d)| q + share * d).collect();
            if last || potential(&next) <= before {
                break next;
            }
            share *= 0.5;
        };
        if size < 1e-9 * largest(&q) {
            return q;
        }
    }
    panic!("no convergence");
}
