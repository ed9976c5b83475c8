//! A soft body made ready for many evaluations.

use std::sync::{Arc, OnceLock};

use manyworlds_model::{Material, MaterialLaw, Order, SoftBody};
use manyworlds_sparse::{Ordering, SparseMatrix};
use nalgebra::{Matrix3, Vector3};

use crate::element::{Elements, PINNED, rest, share};
use crate::error::SoftError;
use crate::law::{Moduli, green_strain, positive, small_strain};
use crate::packs::Packs;

/// What worlds of one model may have of their own.
#[derive(Debug, Clone, PartialEq)]
pub struct SoftParams {
    /// What the body is made of.
    pub material: Material,
    /// Pressure in each region, Pa.
    pub pressures: Vec<f64>,
}

/// A soft body made ready: see the crate.
///
/// Displacements `q` are of free nodes, `[n_v]`, m. Forces are those at the end of a step of `h` seconds from `q` to
/// `q_next`; an infinite `h` is a step that takes its time, without damping.
///
/// Damping in proportion to stiffness is that of a Kelvin-Voigt solid in Green's strain E (the linear law: in the small
/// strain), with the stress `damping (2 mu D + lambda tr(D) I)`, `D = (E(q_next) - E(q)) / h`. It is the derivative of
/// `h damping (mu D:D + lambda/2 tr(D)^2)` by `q_next`, which is zero without motion and positive else, and so never gives
/// energy; it needs no third derivative of the elastic energy.
#[derive(Debug, Clone)]
pub struct SoftSystem {
    elements: Elements,
    /// Regions of each element: a range of `regions` that ends where the next one's begins.
    begins: Vec<u32>,
    regions: Vec<u32>,
    /// Where in the pattern the first entry of each block of nodes lies, `[element, node, node]`.
    places: Vec<u32>,
    /// Entries between the rows of a node, `[element, node]`.
    strides: Vec<u32>,
    pattern: SparseMatrix,
    ordering: Arc<Ordering>,
    /// Volume that each node stands for, m^3.
    node_volumes: Vec<f64>,
    /// The nodes that are free.
    free: Vec<u32>,
    params: SoftParams,
    /// [`Self::packs`], once they were asked for.
    packs: OnceLock<Packs>,
}

impl SoftSystem {
    /// Of a soft body.
    ///
    /// # Errors
    /// Elements without volume, turned inside out or of nodes that there are not, regions of such elements, and bricks without
    /// an embedding of theirs.
    pub fn new(body: &SoftBody) -> Result<Self, SoftError> {
        let (each, points) = (body.order.nodes(), body.order.points());
        let name = || body.name.clone();
        let bricks = matches!(body.order, Order::Trilinear | Order::Triquadratic);
        let weights = body.embedding.as_ref().map(|own| own.weights().len());
        if weights != bricks.then_some(body.n_element() * points) {
            return Err(SoftError::Embedding { body: name() });
        }
        if !body.elements.len().is_multiple_of(each) {
            return Err(SoftError::Length { body: name(), length: body.elements.len(), each });
        }
        let n = body.n_element();
        let node_dofs = body.dofs();
        let free: Vec<u32> = (0..).zip(&node_dofs).filter_map(|(node, dof)| dof.map(|_| node)).collect();
        let n_free = free.len();
        let (mut volumes, mut gradients) = (Vec::with_capacity(n * points), Vec::with_capacity(n * points * each));
        let mut node_volumes = vec![0.0; body.nodes.len()];
        let mut dofs = Vec::with_capacity(n * each);
        for (element, nodes) in body.elements.chunks_exact(each).enumerate() {
            if let Some(&node) = nodes.iter().find(|&&node| node as usize >= body.nodes.len()) {
                return Err(SoftError::Node { body: name(), element, node, nodes: body.nodes.len() });
            }
            let at: Vec<Vector3<f64>> = nodes.iter().map(|&node| body.nodes[node as usize]).collect();
            let mut whole = 0.0;
            for point in 0..points {
                let (volume, own) = rest(body, (element, point), &at);
                if !(volume > 0.0 && volume.is_finite()) {
                    return Err(SoftError::Volume { body: name(), element, volume });
                }
                whole += volume;
                volumes.push(volume);
                gradients.extend(own);
            }
            for (k, &node) in nodes.iter().enumerate() {
                node_volumes[node as usize] += whole * share(body, element, k);
                dofs.push(node_dofs[node as usize].unwrap_or(PINNED));
            }
        }
        let mut of_elements = vec![Vec::new(); n];
        for (r, region) in body.regions.iter().enumerate() {
            for &element in &region.elements {
                let own = of_elements.get_mut(element as usize);
                let missing = || SoftError::Region { body: name(), region: region.name.clone(), element, elements: n };
                own.ok_or_else(missing)?.push(r as u32);
            }
        }
        let mut begins = vec![0];
        for own in &of_elements {
            begins.push(begins.last().map_or(0, |end| end + own.len() as u32));
        }
        let pattern = pattern(n_free, &dofs, each);
        let strides =
            dofs.iter().map(|&dof| if dof == PINNED { 0 } else { pattern.row(dof as usize).0.len() as u32 }).collect();
        let blocks = dofs.chunks_exact(each).flat_map(|own| own.iter().flat_map(|&a| own.iter().map(move |&b| (a, b))));
        let places =
            blocks.map(|(a, b)| pattern.position(a as usize, b as usize).map_or(PINNED, |at| at as u32)).collect();
        let ordering = Arc::new(Ordering::of(&pattern));
        let pressures = body.regions.iter().map(|region| region.pressure).collect();
        Ok(Self {
            elements: Elements { each, points, dofs, volumes, gradients },
            begins,
            regions: of_elements.concat(),
            places,
            strides,
            pattern,
            ordering,
            node_volumes,
            free,
            params: SoftParams { material: body.material, pressures },
            packs: OnceLock::new(),
        })
    }

    /// The model's.
    #[must_use]
    pub fn params(&self) -> &SoftParams {
        &self.params
    }

    /// Degrees of freedom: three a free node.
    #[must_use]
    pub fn n_v(&self) -> usize {
        3 * self.free.len()
    }

    /// Elements.
    #[must_use]
    pub fn n_element(&self) -> usize {
        self.elements.count()
    }

    /// A matrix with an entry, zero, wherever a stiffness has one: between all nodes of an element.
    #[must_use]
    pub fn pattern(&self) -> &SparseMatrix {
        &self.pattern
    }

    /// The order of elimination of [`Self::pattern`].
    #[must_use]
    pub fn ordering(&self) -> &Arc<Ordering> {
        &self.ordering
    }

    /// Lumped mass of each degree of freedom, kg: a quarter of each linear tetrahedron for each node; of a quadratic one 1/36
    /// for each corner and 4/27 for the middle of each edge, in proportion to the diagonal of its consistent mass; of bricks the
    /// integral of the node's shape function over what fills them (see `manyworlds_model::Cage`).
    #[must_use]
    pub fn mass(&self, params: &SoftParams) -> Vec<f64> {
        self.node_volumes().flat_map(|volume| [volume * params.material.density; 3]).collect()
    }

    /// The lumped mass of each node, those that are pinned among them, kg.
    #[must_use]
    pub fn node_masses(&self, params: &SoftParams) -> Vec<f64> {
        self.node_volumes.iter().map(|volume| volume * params.material.density).collect()
    }

    /// Elastic energy, J.
    #[must_use]
    pub fn energy(&self, params: &SoftParams, q: &[f64]) -> f64 {
        self.sum(params, q, |moduli, f| moduli.elastic(f))
    }

    /// Energy of the pressures, zero at rest, J: `-p` times what regions have grown by, of which the linear law has the
    /// linear part.
    #[must_use]
    pub fn pressure_energy(&self, params: &SoftParams, q: &[f64]) -> f64 {
        self.sum(params, q, |moduli, f| moduli.potential(f))
    }

    /// Volume, m^3.
    #[must_use]
    pub fn volume(&self, q: &[f64]) -> f64 {
        self.sum(&self.params, q, |_, f| f.determinant())
    }

    /// Cauchy stress in the middle of an element (where it has several points: their mean), Pa. Without damping; that of
    /// a pressure is in it.
    #[must_use]
    pub fn stress(&self, params: &SoftParams, q: &[f64], element: usize) -> Matrix3<f64> {
        let moduli = self.moduli(params, element);
        let at = |point: usize| {
            let f = self.deformation(element, point, q);
            match moduli.law {
                MaterialLaw::Linear => moduli.response(&f).stress,
                _ => moduli.response(&f).stress * f.transpose() / f.determinant(),
            }
        };
        (0..self.elements.points).map(at).sum::<Matrix3<f64>>() / self.elements.points as f64
    }

    /// Force on each degree of freedom at the end of a step, `[n_v]`, N: elastic, of pressures and of damping.
    pub fn force(&self, params: &SoftParams, h: f64, q: &[f64], q_next: &[f64], out: &mut [f64]) {
        self.forces((params, h), [q, q_next], out);
    }

    /// The derivative of [`Self::force`] by the pressure in a region, `[n_v]`, m^2; of the law, not of its numbers.
    #[must_use]
    pub fn force_by_pressure(&self, region: usize, q_next: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.n_v()];
        let is_linear = self.params.material.law == MaterialLaw::Linear;
        let own = |element: &usize| self.regions_of(*element).contains(&(region as u32));
        for element in (0..self.n_element()).filter(own) {
            for point in 0..self.elements.points {
                let stress =
                    if is_linear { -Matrix3::identity() } else { -cofactor(&self.deformation(element, point, q_next)) };
                self.add_force(element, point, &stress, &mut out);
            }
        }
        out
    }

    /// [`Self::force`] and its negative derivative by `q_next`, N/m, into a matrix of the pattern [`Self::pattern`].
    /// `projected`: negative eigenvalues of the material's and the damping's second derivatives left out at each point of
    /// integration, so that the matrix is positive semidefinite.
    ///
    /// # Panics
    /// For a matrix of another pattern.
    pub fn force_and_stiffness(
        &self,
        params: &SoftParams,
        h: f64,
        q: &[f64],
        q_next: &[f64],
        projected: bool,
        force: &mut [f64],
        stiffness: &mut SparseMatrix,
    ) {
        if !projected {
            self.tangent(params, h, q, q_next, force).stiffness(self, stiffness);
            return;
        }
        force.fill(0.0);
        let values = stiffness.values_mut();
        assert_eq!(values.len(), self.pattern.values().len(), "a matrix of another pattern");
        values.fill(0.0);
        for element in 0..self.n_element() {
            let moduli = self.moduli(params, element);
            for point in 0..self.elements.points {
                let f = self.deformation(element, point, q_next);
                let mut damping = self.damping(params, h, element, point, q, &f);
                let mut response = moduli.response(&f);
                let mut stress = response.stress;
                if let Some(damping) = &damping {
                    stress += damping.stress();
                }
                self.add_force(element, point, &stress, force);
                response.project();
                damping.iter_mut().for_each(Damping::project);
                let gradients = self.elements.gradients_at(element, point);
                self.add_blocks(element, point, values, |a, b| {
                    let block = response.block(&gradients[a], &gradients[b]);
                    let along = |damping: &Damping, node: usize| damping.along(&gradients[node]);
                    damping.as_ref().map_or(block, |own| block + own.block(&along(own, a), &along(own, b)))
                });
            }
        }
    }

    fn sum(&self, params: &SoftParams, q: &[f64], density: impl Fn(&Moduli, &Matrix3<f64>) -> f64) -> f64 {
        let of = |element: usize| {
            let moduli = self.moduli(params, element);
            let at = |point| {
                let volume = self.elements.volume_at(element, point);
                volume * density(&moduli, &self.deformation(element, point, q))
            };
            (0..self.elements.points).map(at).sum::<f64>()
        };
        (0..self.n_element()).map(of).sum()
    }

    fn moduli(&self, params: &SoftParams, element: usize) -> Moduli {
        let pressure = self.regions_of(element).iter().map(|&region| params.pressures[region as usize]).sum();
        Moduli::new(&params.material, pressure)
    }

    /// Its elements by eights.
    pub(crate) fn packs(&self) -> &Packs {
        self.packs.get_or_init(|| Packs::new(&self.elements, self.n_v()))
    }

    /// Its elements at rest.
    pub(crate) fn elements(&self) -> &Elements {
        &self.elements
    }

    /// Volume that each free node stands for, m^3.
    pub(crate) fn node_volumes(&self) -> impl Iterator<Item = f64> + '_ {
        self.free.iter().map(|&node| self.node_volumes[node as usize])
    }

    /// Regions that an element is in.
    pub(crate) fn regions_of(&self, element: usize) -> &[u32] {
        &self.regions[self.begins[element] as usize..self.begins[element + 1] as usize]
    }

    /// `F = I + sum q_a g_a^T`.
    fn deformation(&self, element: usize, point: usize, q: &[f64]) -> Matrix3<f64> {
        let mut f = Matrix3::identity();
        for (&dof, gradient) in self.elements.dofs_of(element).iter().zip(self.elements.gradients_at(element, point)) {
            if dof != PINNED {
                f += vector(&q[dof as usize..]) * gradient.transpose();
            }
        }
        f
    }

    /// What damps at a point; `None` where nothing does.
    fn damping(
        &self,
        params: &SoftParams,
        h: f64,
        element: usize,
        point: usize,
        q: &[f64],
        f: &Matrix3<f64>,
    ) -> Option<Damping> {
        let rate = params.material.damping / h;
        (rate > 0.0).then(|| Damping::new(&params.material, rate, self.deformation(element, point, q), *f))
    }

    fn add_force(&self, element: usize, point: usize, stress: &Matrix3<f64>, out: &mut [f64]) {
        let stress = stress * -self.elements.volume_at(element, point);
        for (&dof, gradient) in self.elements.dofs_of(element).iter().zip(self.elements.gradients_at(element, point)) {
            if dof != PINNED {
                let force = stress * gradient;
                out[dof as usize..dof as usize + 3].iter_mut().zip(&force).for_each(|(out, x)| *out += x);
            }
        }
    }

    /// Adds a point's blocks, times its volume, each between two nodes of the element; the one the other way is the transpose.
    fn add_blocks(
        &self,
        element: usize,
        point: usize,
        values: &mut [f64],
        block: impl Fn(usize, usize) -> Matrix3<f64>,
    ) {
        let volume = self.elements.volume_at(element, point);
        for a in 0..self.elements.each {
            for b in a..self.elements.each {
                if self.are_free([element, a, b]) {
                    self.add_pair([element, a, b], &(block(a, b) * volume), values);
                }
            }
        }
    }
}

impl SoftSystem {
    /// Adds the block between two nodes of an element that are free; the one the other way is the transpose.
    pub(crate) fn add_pair(&self, [element, a, b]: [usize; 3], block: &Matrix3<f64>, values: &mut [f64]) {
        self.add_block([element, a, b], block, values);
        if a != b {
            self.add_block([element, b, a], &block.transpose(), values);
        }
    }

    /// Whether two nodes of an element are free.
    pub(crate) fn are_free(&self, [element, a, b]: [usize; 3]) -> bool {
        self.places[(element * self.elements.each + a) * self.elements.each + b] != PINNED
    }

    /// Adds the block between two nodes of an element.
    fn add_block(&self, [element, a, b]: [usize; 3], block: &Matrix3<f64>, values: &mut [f64]) {
        let place = self.places[(element * self.elements.each + a) * self.elements.each + b] as usize;
        let stride = self.strides[element * self.elements.each + a] as usize;
        for row in 0..3 {
            let at = place + row * stride;
            values[at..at + 3].iter_mut().zip(block.row(row).iter()).for_each(|(to, x)| *to += x);
        }
    }
}

/// Damping at one point: see [`SoftSystem`].
struct Damping {
    /// `end end^T`
    left: Matrix3<f64>,
    is_linear: bool,
    /// Lame parameters times `damping / h`, Pa.
    mu: f64,
    lambda: f64,
    end: Matrix3<f64>,
    /// Second Piola-Kirchhoff stress, Pa.
    own: Matrix3<f64>,
}

impl Damping {
    fn new(material: &Material, rate: f64, start: Matrix3<f64>, end: Matrix3<f64>) -> Self {
        let [mu, lambda] = material.lame().map(|x| x * rate);
        let is_linear = material.law == MaterialLaw::Linear;
        let change = if is_linear {
            small_strain(&end) - small_strain(&start)
        } else {
            green_strain(&end) - green_strain(&start)
        };
        let own = change * (2.0 * mu) + Matrix3::from_diagonal_element(lambda * change.trace());
        let end = if is_linear { Matrix3::identity() } else { end };
        Self { left: end * end.transpose(), is_linear, mu, lambda, end, own }
    }

    /// First Piola-Kirchhoff stress, Pa.
    fn stress(&self) -> Matrix3<f64> {
        self.end * self.own
    }

    fn project(&mut self) {
        self.own = positive(&self.own);
    }

    /// As [`crate::law::Response::block`].
    fn block(&self, a: &Damped, b: &Damped) -> Matrix3<f64> {
        let block = self.left * (self.mu * a.gradient.dot(&b.gradient))
            + a.moved * b.moved.transpose() * self.lambda
            + b.moved * a.moved.transpose() * self.mu;
        if self.is_linear { block } else { block + Matrix3::from_diagonal_element(a.gradient.dot(&b.pushed)) }
    }

    /// See [`Damped`].
    fn along(&self, gradient: &Vector3<f64>) -> Damped {
        Damped { gradient: *gradient, moved: self.end * gradient, pushed: self.own * gradient }
    }
}

/// A gradient with what a [`Damping`] makes of it.
#[derive(Clone, Copy)]
struct Damped {
    gradient: Vector3<f64>,
    /// By [`Damping::end`].
    moved: Vector3<f64>,
    /// By [`Damping::own`].
    pushed: Vector3<f64>,
}

/// `cof F`
fn cofactor(f: &Matrix3<f64>) -> Matrix3<f64> {
    let [f0, f1, f2]: [Vector3<f64>; 3] = std::array::from_fn(|k| f.column(k).into());
    Matrix3::from_columns(&[f1.cross(&f2), f2.cross(&f0), f0.cross(&f1)])
}

/// A matrix of zeros wherever two nodes share an element.
fn pattern(n_free: usize, dofs: &[u32], each: usize) -> SparseMatrix {
    let mut neighbours: Vec<Vec<u32>> = vec![Vec::new(); n_free];
    for own in dofs.chunks_exact(each) {
        let free = || own.iter().copied().filter(|&dof| dof != PINNED);
        free().for_each(|a| neighbours[a as usize / 3].extend(free()));
    }
    let mut triplets = Vec::new();
    for (node, own) in neighbours.iter_mut().enumerate() {
        // A node of no element has its own place all the same.
        own.push(3 * node as u32);
        own.sort_unstable();
        own.dedup();
        for row in 0..3 {
            triplets.extend(own.iter().flat_map(|&b| (0..3).map(move |c| (3 * node + row, b as usize + c, 0.0))));
        }
    }
    SparseMatrix::from_triplets(3 * n_free, &triplets).unwrap_or_default()
}

fn vector(x: &[f64]) -> Vector3<f64> {
    Vector3::new(x[0], x[1], x[2])
}
