//! Bodies that deform: nodes and the tetrahedra or bricks between them.

use std::ops::Range;

use crate::cage::Embedding;
use crate::tetrahedra::outside;
use crate::{Contacting, Mat3, Vec3, brick};

/// A body that deforms. Every node that is not pinned has three degrees of freedom, its displacement from where it is at
/// rest, along the axes of the body that carries it.
#[derive(Debug, Clone)]
pub struct SoftBody {
    /// Name; empty when the file gives none.
    pub name: String,
    /// The rigid body that carries it, which may move: in its frame nodes are given and displacements measured, and on it nodes
    /// are pinned.
    pub body: usize,
    /// Positions at rest in that frame, m.
    pub nodes: Vec<Vec3>,
    /// Nodes that are fixed to the body, ascending.
    pub pinned: Vec<u32>,
    /// How displacements are interpolated.
    pub order: Order,
    /// Nodes of each element, [`Order::nodes`] each. Of a tetrahedron: its corners, so that `(x1 - x0) x (x2 - x0) . (x3 - x0)`
    /// is positive, then, where it is quadratic, the middles of the edges 01, 12, 20, 03, 13, 23. Of a brick: as
    /// [`crate::Cage`] has them.
    pub elements: Vec<u32>,
    /// Of bricks the mesh that moves with them, whose surface is the body's; see [`crate::Cage`].
    pub embedding: Option<Embedding>,
    /// What it is made of.
    pub material: Material,
    /// Parts under a pressure of their own.
    pub regions: Vec<Region>,
    /// How its surface takes part in contacts.
    pub contacting: Contacting,
    /// The surface lies this far outside of its triangles, m.
    pub radius: f64,
    /// Whether its surface touches itself.
    pub touches_itself: bool,
    /// Its entries of `q`; `ModelBuilder::build` sets it.
    pub q: Range<usize>,
    /// Its entries of `v`; `ModelBuilder::build` sets it.
    pub v: Range<usize>,
}

/// How displacements are interpolated in an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Between the four corners of a tetrahedron: one strain an element, which is stiff in bending and where volume is kept.
    Linear,
    /// Between these and the middles of its six edges, with four points of integration.
    Quadratic,
    /// Between the eight corners of a brick, with as many points of integration.
    Trilinear,
    /// Between these and the middles of a brick's edges, sides and itself, 27 nodes and as many points of integration.
    Triquadratic,
}

impl Order {
    /// Edges in whose middles a quadratic element has its further nodes.
    pub const EDGES: [[usize; 2]; 6] = [[0, 1], [1, 2], [2, 0], [0, 3], [1, 3], [2, 3]];

    /// Nodes of an element.
    #[must_use]
    pub fn nodes(self) -> usize {
        match self {
            Self::Linear => 4,
            Self::Quadratic => 10,
            Self::Trilinear => 8,
            Self::Triquadratic => 27,
        }
    }

    /// Points of integration of an element.
    #[must_use]
    pub fn points(self) -> usize {
        match self {
            Self::Linear => 1,
            Self::Quadratic => 4,
            Self::Trilinear => 8,
            Self::Triquadratic => 27,
        }
    }

    /// Of a brick's shape functions along each axis.
    #[must_use]
    pub fn degree(self) -> Option<usize> {
        match self {
            Self::Linear | Self::Quadratic => None,
            Self::Trilinear => Some(1),
            Self::Triquadratic => Some(2),
        }
    }

    /// Which of an element's nodes are its corners.
    #[must_use]
    pub fn corners(self) -> &'static [usize] {
        match self {
            Self::Linear | Self::Quadratic => &[0, 1, 2, 3],
            Self::Trilinear => &[0, 1, 2, 3, 4, 5, 6, 7],
            Self::Triquadratic => &[0, 2, 6, 8, 18, 20, 24, 26],
        }
    }

    /// Triangles between the nodes of a tetrahedron's side, by the side's corners.
    pub(crate) fn triangles(self, [a, b, c]: [usize; 3]) -> Vec<[usize; 3]> {
        if self == Self::Linear {
            return vec![[a, b, c]];
        }
        let middle = |i: usize, j: usize| {
            let edge = Self::EDGES.iter().position(|edge| *edge == [i, j] || *edge == [j, i]);
            4 + edge.expect("corners of an element are joined by edges")
        };
        let [ab, bc, ca] = [middle(a, b), middle(b, c), middle(c, a)];
        vec![[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]
    }

    /// Gradients of the shape functions at a point of integration, by the last three barycentric coordinates of a tetrahedron, by
    /// those of the unit cube of a brick.
    #[must_use]
    pub fn gradients(self, point: usize) -> Vec<Vec3> {
        if let Some(degree) = self.degree() {
            return brick::gradients(degree, brick::point(degree, point));
        }
        let corners = CORNERS.map(Vec3::from);
        if self == Self::Linear {
            return corners.to_vec();
        }
        let root = 5.0_f64.sqrt();
        let at: [f64; 4] =
            std::array::from_fn(|i| if i == point { (5.0 + 3.0 * root) / 20.0 } else { (5.0 - root) / 20.0 });
        let own = (0..4).map(|i| corners[i] * (4.0 * at[i] - 1.0));
        own.chain(Self::EDGES.map(|[i, j]| (corners[i] * at[j] + corners[j] * at[i]) * 4.0)).collect()
    }
}

/// Gradients of the corners' barycentric coordinates by the last three of these.
const CORNERS: [[f64; 3]; 4] = [[-1.0, -1.0, -1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

/// What a soft body is made of. Young's modulus and Poisson's ratio are those at rest, whatever the law.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Material {
    /// Energy of a deformation.
    pub law: MaterialLaw,
    /// Young's modulus, Pa.
    pub young: f64,
    /// Poisson's ratio, from 0 to below 0.5.
    pub poisson: f64,
    /// kg/m^3
    pub density: f64,
    /// Damping in proportion to stiffness, s.
    pub damping: f64,
    /// Damping in proportion to mass, 1/s.
    pub mass_damping: f64,
}

impl Material {
    /// The Lame parameters at rest: shear modulus `mu` and `lambda`, Pa.
    #[must_use]
    pub fn lame(&self) -> [f64; 2] {
        let mu = self.young / (2.0 * (1.0 + self.poisson));
        [mu, 2.0 * mu * self.poisson / (1.0 - 2.0 * self.poisson)]
    }
}

/// Energy densities of a deformation gradient F, with R its rotation, E its Green strain, e its small strain, J its
/// determinant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MaterialLaw {
    /// `mu e:e + lambda/2 tr(e)^2`: small turns only.
    Linear,
    /// `mu |F - R|^2 + lambda/2 tr(R^T F - I)^2`.
    Corotated,
    /// `mu E:E + lambda/2 tr(E)^2`: gives way altogether when pressed together far.
    SaintVenantKirchhoff,
    /// `mu/2 (|F|^2 - 3) - mu (J - 1) + (lambda + mu)/2 (J - 1)^2` (Smith et al. 2018, stable neo-Hookean).
    NeoHookean,
}

/// A part of a soft body under a pressure of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct Region {
    /// Name; empty when the file gives none.
    pub name: String,
    /// Its elements, ascending.
    pub elements: Vec<u32>,
    /// Pa; positive makes it grow.
    pub pressure: f64,
}

impl SoftBody {
    /// Number of elements.
    #[must_use]
    pub fn n_element(&self) -> usize {
        self.elements.len() / self.order.nodes()
    }

    /// Volume at rest of each point of integration of an element, m^3; not a number where one of its nodes is not there.
    pub fn volumes(&self, element: usize) -> impl Iterator<Item = f64> {
        let each = self.order.nodes();
        let nodes = self.elements.iter().skip(element * each).take(each);
        (0..self.order.points()).map(move |point| {
            let gradients = self.order.gradients(point);
            let place = |&node: &u32| self.nodes.get(node as usize).copied().unwrap_or_else(|| Vec3::repeat(f64::NAN));
            let at = nodes.clone().map(place);
            let jacobian: Mat3 = at.zip(&gradients).map(|(x, g)| x * g.transpose()).sum();
            jacobian.determinant() * self.weight(element, point)
        })
    }

    /// Weight of a point of integration of an element, in the volume of the element that [`Order::gradients`] are of; not a
    /// number where a cage has none of it.
    #[must_use]
    pub fn weight(&self, element: usize, point: usize) -> f64 {
        match &self.embedding {
            Some(embedding) => {
                embedding.weights().get(element * self.order.points() + point).copied().unwrap_or(f64::NAN)
            }
            None => 1.0 / (6 * self.order.points()) as f64,
        }
    }

    /// Volume at rest, m^3.
    #[must_use]
    pub fn volume(&self) -> f64 {
        (0..self.n_element()).flat_map(|element| self.volumes(element)).sum()
    }

    /// Mass, that of pinned nodes too, kg.
    #[must_use]
    pub fn mass(&self) -> f64 {
        self.material.density * self.volume()
    }

    /// First degree of freedom of each node among the body's own; `None` where it is pinned.
    #[must_use]
    pub fn dofs(&self) -> Vec<Option<u32>> {
        let mut next = 0;
        let mut pinned = self.pinned.iter().peekable();
        (0..self.nodes.len() as u32)
            .map(|node| {
                if pinned.next_if(|&&p| p == node).is_some() {
                    return None;
                }
                next += 3;
                Some(next - 3)
            })
            .collect()
    }

    /// Where the vertices of [`Self::surface`] are at rest: the nodes, or what moves with them.
    #[must_use]
    pub fn vertices(&self) -> Vec<Vec3> {
        match &self.embedding {
            Some(embedding) => embedding.positions(|node| self.nodes[node]).collect(),
            None => self.nodes.clone(),
        }
    }

    /// Triangles of the surface: vertices of each, seen from outside in the order that turns left. They are the sides of tetrahedra
    /// that no other one shares (that of a quadratic one is four, between its corners and the middles of its edges), or those of the
    /// mesh that moves with bricks.
    #[must_use]
    pub fn surface(&self) -> Vec<[u32; 3]> {
        match &self.embedding {
            Some(embedding) => embedding.triangles().to_vec(),
            None => outside(&self.elements, self.order),
        }
    }
}
