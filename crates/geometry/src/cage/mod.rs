//! Cages: bricks about a mesh that moves with them.
//!
//! A cage is the box about a mesh's points, cut into cells along its axes. Every cell that the mesh reaches into is a brick of 8
//! nodes (trilinear) or 27 (triquadratic), and every point of the mesh moves with the nodes of its cell, by their shape functions. The
//! displacements of the nodes are the body's degrees of freedom; its surface is the mesh's.
//!
//! Mass and energy are those of the mesh, not of the box. The integral of a polynomial of a cell's own degree over what fills the cell
//! is exact (tetrahedra are cut between cells), and is met by weights at the cell's points of Gauss (moment fitting; A.
//! Abedian, J. Parvizian, A. Duester, E. Rank 2013). A cell that is full has Gauss's weights. Where one came out below
//! [`LEAST`] of its part it is held there and the others give way, so that the volume is kept, energies are positive,
//! and a brick has no deformation without energy, however little of it is filled (the finite cell method).
//!
//! Masses are lumped: a node's is the integral of its shape function, which keeps the mass, its centre and, of triquadratic
//! bricks, its moments of inertia. Where one of these came out below [`LIGHTEST`] of what Bernstein's polynomials give, which are
//! positive and keep the centre too, the cell takes as much of those as that wants.

mod fill;
mod split;

use std::collections::HashMap;

use crate::tetrahedra::{outside, used};
use crate::{ModelError, Order, Tetrahedra, Vec3, brick};
use fill::Cells;

/// Least weight of a point of integration, of what it would have were the cell's filling spread evenly.
const LEAST: f64 = 0.01;

/// Least mass of a node of a cell, of what Bernstein's polynomials give; a full triquadratic brick's corners have 1/8.
const LIGHTEST: f64 = 0.1;

/// Most nodes of a cage: more are far beyond what a step can take.
const MOST_NODES: usize = 1 << 17;

/// Bricks about a mesh, for a [`crate::SoftBody`].
#[derive(Debug, Clone, PartialEq)]
pub struct Cage {
    /// Positions at rest, m: those of the bricks' nodes, the last axis fastest.
    pub nodes: Vec<Vec3>,
    /// Nodes of each brick, the last axis fastest.
    pub elements: Vec<u32>,
    /// [`Order::Trilinear`] or [`Order::Triquadratic`].
    pub order: Order,
    /// What moves with them.
    pub embedding: Embedding,
    /// The number of each node among those of all cells, empty ones too.
    pub numbers: Vec<u32>,
}

/// A mesh that moves with bricks.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedding {
    n_node: usize,
    /// Nodes that each vertex follows, with their weights: a range of `follows` that ends where the next one's begins.
    begins: Vec<u32>,
    follows: Vec<(u32, f64)>,
    triangles: Vec<[u32; 3]>,
    /// Weights of points of integration, `[element, point]`, in volumes of the element.
    weights: Vec<f64>,
    /// What each node has of the mass of an element, `[element, node]`.
    shares: Vec<f64>,
}

impl Cage {
    /// About a mesh of linear tetrahedra, with so many cells along each axis. Points that are in no tetrahedron count for the box alone.
    ///
    /// # Errors
    /// Another order than that of bricks, no cell along an axis or too many in all, and a mesh that is broken, without volume or
    /// not linear.
    pub fn about(mesh: &Tetrahedra, cells: [usize; 3], order: Order) -> Result<Self, ModelError> {
        let named = |message| ModelError::Invalid { element: "cage".into(), message };
        Self::around(mesh, cells, order).map_err(named)
    }

    /// As [`Self::about`], for importers, which tell an element of their file.
    ///
    /// # Errors
    /// As there.
    pub fn around(mesh: &Tetrahedra, cells: [usize; 3], order: Order) -> Result<Self, String> {
        let counts = node_counts(cells, order)?;
        let degree = degree(order)?;
        check(mesh)?;
        let mut mesh = mesh.clone();
        mesh.orient();
        let bound = |pick: fn(&Vec3, &Vec3) -> Vec3| mesh.nodes.iter().fold(mesh.nodes[0], |bound, x| pick(&bound, x));
        let low = bound(Vec3::inf);
        let size = bound(Vec3::sup) - low;
        if size.min() <= 0.0 {
            return Err(format!("the mesh is flat: its box is {} x {} x {} m", size.x, size.y, size.z));
        }
        let along = Vec3::from(cells.map(|n| n as f64));
        let place = |x: &Vec3| (x - low).component_div(&size).component_mul(&along);
        let tetrahedra =
            mesh.elements.chunks_exact(4).map(|own| [0, 1, 2, 3].map(|k| place(&mesh.nodes[own[k] as usize])));
        let filled = Cells::new(degree, cells, tetrahedra);
        let mut out = Embedding {
            n_node: 0,
            begins: vec![0],
            follows: Vec::new(),
            triangles: Vec::new(),
            weights: Vec::new(),
            shares: Vec::new(),
        };
        let (mut elements, mut bricks) = (Vec::new(), HashMap::new());
        for (cell, integrals) in filled.integrals.iter().enumerate().filter(|(_, integrals)| !integrals.is_empty()) {
            bricks.insert(cell, bricks.len());
            let first = filled.cell(cell).map(|k| k * degree);
            let n = degree + 1;
            elements.extend((0..n.pow(3)).map(|i| {
                let [x, y, z] = [first[0] + i / (n * n), first[1] + i / n % n, first[2] + i % n];
                ((x * counts[1] + y) * counts[2] + z) as u32
            }));
            out.weights.extend(weights(degree, integrals));
            out.shares.extend(shares(degree, integrals));
        }
        if bricks.is_empty() {
            return Err("the mesh has no volume".into());
        }
        let mut numbers = elements.clone();
        numbers.sort_unstable();
        numbers.dedup();
        let nodes_of: HashMap<u32, u32> = numbers.iter().copied().zip(0..).collect();
        elements.iter_mut().for_each(|number| *number = nodes_of[number]);
        out.n_node = numbers.len();
        let (vertices, corners) = used(&mesh);
        out.triangles = outside(&corners, Order::Linear);
        for vertex in vertices {
            let at = place(&mesh.nodes[vertex as usize]);
            let Some((cell, origin)) = filled.at(at) else { continue };
            let own = &elements[bricks[&cell] * order.nodes()..][..order.nodes()];
            let weights = brick::values(degree, at - origin);
            out.follows.extend(own.iter().copied().zip(weights).filter(|(_, weight)| *weight != 0.0));
            out.begins.push(out.follows.len() as u32);
        }
        let node = |&number: &u32| {
            let number = number as usize;
            let at = [number / (counts[1] * counts[2]), number / counts[2] % counts[1], number % counts[2]];
            let share = Vec3::from_fn(|k, _| at[k] as f64 / (counts[k] - 1) as f64);
            low + size.component_mul(&share)
        };
        let nodes = numbers.iter().map(node).collect();
        Ok(Self { nodes, elements, order, embedding: out, numbers })
    }
}

impl Embedding {
    /// Nodes of the bricks.
    #[must_use]
    pub fn n_node(&self) -> usize {
        self.n_node
    }

    /// Vertices: the mesh's points that are in an element, in its order.
    #[must_use]
    pub fn n_vertex(&self) -> usize {
        self.begins.len() - 1
    }

    /// The nodes that a vertex follows, with their weights, which sum to one.
    #[must_use]
    pub fn follows(&self, vertex: usize) -> &[(u32, f64)] {
        &self.follows[self.begins[vertex] as usize..self.begins[vertex + 1] as usize]
    }

    /// Where the vertices are, by where the nodes are.
    pub fn positions<'a>(&'a self, nodes: impl Fn(usize) -> Vec3 + 'a) -> impl Iterator<Item = Vec3> + 'a {
        let at = move |vertex| self.follows(vertex).iter().map(|&(node, weight)| nodes(node as usize) * weight).sum();
        (0..self.n_vertex()).map(at)
    }

    /// The mesh's surface: vertices, seen from outside in the order that turns left.
    #[must_use]
    pub fn triangles(&self) -> &[[u32; 3]] {
        &self.triangles
    }

    /// Weights of points of integration, `[element, point]`, in volumes of the element.
    #[must_use]
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// What each node has of the mass of an element, `[element, node]`.
    #[must_use]
    pub fn shares(&self) -> &[f64] {
        &self.shares
    }
}

fn degree(order: Order) -> Result<usize, String> {
    order.degree().ok_or_else(|| format!("the order of a cage must be trilinear or triquadratic, found {order:?}"))
}

/// Nodes along each axis, those of empty cells too.
///
/// # Errors
/// No cell along an axis, too many nodes, or an order that is not a cage's.
pub fn node_counts(cells: [usize; 3], order: Order) -> Result<[usize; 3], String> {
    let degree = degree(order)?;
    if let Some(few) = cells.iter().find(|&&n| n == 0) {
        return Err(format!("a cage needs at least one cell along each axis, found {few}"));
    }
    let counts = cells.map(|n| n.saturating_mul(degree).saturating_add(1));
    let nodes = counts.iter().fold(1_usize, |n, &c| n.saturating_mul(c));
    if nodes > MOST_NODES {
        return Err(format!("a cage of {} x {} x {} cells has too many nodes: {nodes}", cells[0], cells[1], cells[2]));
    }
    Ok(counts)
}

fn check(mesh: &Tetrahedra) -> Result<(), String> {
    if mesh.order != Order::Linear {
        return Err("a cage holds linear tetrahedra, the mesh's are of another order".into());
    }
    if mesh.elements.is_empty() || !mesh.elements.len().is_multiple_of(4) {
        return Err(format!("the mesh's elements must have 4 nodes each, found {} in all", mesh.elements.len()));
    }
    if let Some(node) = mesh.elements.iter().find(|&&node| node as usize >= mesh.nodes.len()) {
        return Err(format!("the mesh's elements refer to node {node}, there are {}", mesh.nodes.len()));
    }
    match mesh.nodes.iter().position(|x| !x.iter().all(|c| c.is_finite())) {
        Some(node) => Err(format!("node {node} of the mesh must be finite")),
        None => Ok(()),
    }
}

/// Weights of a cell's points of integration, which sum to what is filled of it.
fn weights(degree: usize, integrals: &[f64]) -> Vec<f64> {
    let filled: f64 = integrals.iter().sum();
    let even: Vec<f64> = brick::weights(degree).into_iter().map(|gauss| gauss * filled).collect();
    let fitted = brick::fitted(degree, integrals);
    // All that are too small are raised, the others lowered together in proportion to `even`; that may make more too small.
    let mut held = vec![false; even.len()];
    loop {
        let (mut spare, mut rest) = (filled, 0.0);
        for ((even, fitted), held) in even.iter().zip(&fitted).zip(&held) {
            spare -= if *held { LEAST * even } else { *fitted };
            rest += if *held { 0.0 } else { *even };
        }
        let by = spare / rest;
        let new = |k: usize| if held[k] { LEAST * even[k] } else { fitted[k] + by * even[k] };
        let out: Vec<f64> = (0..even.len()).map(new).collect();
        let low: Vec<usize> = (0..even.len()).filter(|&k| !held[k] && out[k] < LEAST * even[k]).collect();
        if low.is_empty() {
            return out;
        }
        low.into_iter().for_each(|k| held[k] = true);
    }
}

/// What each node of a cell has of its mass.
fn shares(degree: usize, integrals: &[f64]) -> Vec<f64> {
    let filled: f64 = integrals.iter().sum();
    let bernstein = brick::bernstein(degree, integrals);
    let of = |(exact, safe): (&f64, &f64)| {
        if *exact < LIGHTEST * safe { (1.0 - LIGHTEST) * safe / (safe - exact) } else { 1.0 }
    };
    let part = integrals.iter().zip(&bernstein).map(of).fold(1.0, f64::min);
    integrals.iter().zip(&bernstein).map(|(exact, safe)| (part * exact + (1.0 - part) * safe) / filled).collect()
}
