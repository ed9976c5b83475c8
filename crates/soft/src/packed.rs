//! A soft body as its kernels read it (`manyworlds_shaders::soft`).

use manyworlds_model::{MaterialLaw, SoftBody};
use manyworlds_shaders::soft::body::{NO_BLOCK, SoftDims, law};
use manyworlds_sparse::{BlockPlan, SparseMatrix};

use crate::element::PINNED;
use crate::system::{SoftParams, SoftSystem};

/// Structure and rest shape of a soft body, alike in all worlds.
#[derive(Debug, Clone, PartialEq)]
pub struct SoftLayout {
    /// Sizes; of a single lane.
    pub dims: SoftDims,
    /// Nodes, elements and the plan of the factor.
    pub topology: Vec<u32>,
    /// Volumes and gradients of shape functions.
    pub rest: Vec<f64>,
    /// Where pairs of nodes stand in the matrix.
    pub blocks: Blocks,
}

/// Which block of the matrix two nodes have.
#[derive(Debug, Clone, PartialEq)]
pub struct Blocks {
    /// Position of each node in the order of elimination.
    places: Vec<u32>,
    /// First block of the factor in each column, and the end.
    begins: Vec<u32>,
    /// Its row's position.
    rows: Vec<u32>,
    /// The block of the matrix there, or [`NO_BLOCK`].
    of_fill: Vec<u32>,
}

impl Blocks {
    /// Position of a node in the order of elimination.
    #[must_use]
    pub fn place(&self, node: usize) -> u32 {
        self.places[node]
    }

    /// The block between the nodes at two positions.
    #[must_use]
    pub fn between(&self, i: u32, j: u32) -> Option<u32> {
        let (row, column) = (i.max(j), i.min(j) as usize);
        let own = self.begins[column] as usize..self.begins[column + 1] as usize;
        let at = self.rows[own.clone()].binary_search(&row).ok()?;
        Some(self.of_fill[own.start + at]).filter(|&block| block != NO_BLOCK)
    }
}

impl SoftLayout {
    /// Of a soft body; `controls`: the region that each of its controls has.
    #[must_use]
    pub fn new(system: &SoftSystem, body: &SoftBody, controls: &[u32]) -> Self {
        let n_node = system.n_v() / 3;
        let plan = BlockPlan::new(&nodes(system));
        let places = plan.places();
        // Blocks of the matrix are numbered as those of the factor, without what is filled.
        let mut of_fill = vec![NO_BLOCK; plan.n_block()];
        let mut n_block = 0;
        for j in 0..n_node {
            for at in plan.begins[j] as usize..plan.begins[j + 1] as usize {
                let [row, column] = [plan.rows[at] as usize, j].map(|position| 3 * plan.order[position] as usize);
                if system.pattern().position(row, column).is_some() {
                    of_fill[at] = n_block;
                    n_block += 1;
                }
            }
        }
        let (begins, rows) = (plan.begins.clone(), plan.rows.clone());
        let blocks = Blocks { places, begins, rows, of_fill };
        let (places, of_fill) = (&blocks.places, &blocks.of_fill);
        let block = |i: u32, j: u32| blocks.between(i, j).unwrap_or(NO_BLOCK);
        let mut topology: Vec<u32> = places.iter().map(|&position| block(position, position)).collect();
        let mut rest = system.node_volumes().collect::<Vec<_>>();
        let at_rest = body.nodes.iter().zip(body.dofs()).filter(|(_, dof)| dof.is_some());
        rest.extend(at_rest.flat_map(|(place, _)| place.iter()));
        for element in 0..system.n_element() {
            let mut own: Vec<(u32, usize)> = system
                .elements()
                .dofs_of(element)
                .iter()
                .enumerate()
                .filter(|&(_, &dof)| dof != PINNED)
                .map(|(k, &dof)| (places[dof as usize / 3], k))
                .collect();
            own.sort_unstable();
            let regions = system.regions_of(element);
            topology.extend([own.len() as u32, regions.len() as u32]);
            topology.extend(regions);
            topology.extend(own.iter().map(|&(position, _)| plan.order[position as usize]));
            for (i, a) in own.iter().enumerate() {
                topology.extend(own[..=i].iter().map(|b| block(a.0, b.0)));
            }
            for point in 0..system.elements().points {
                rest.push(system.elements().volume_at(element, point));
                let gradients = system.elements().gradients_at(element, point);
                rest.extend(own.iter().flat_map(|&(_, k)| gradients[k].iter()));
            }
        }
        let plan_at = topology.len() as u32;
        topology.extend(&plan.order);
        topology.extend(&plan.begins);
        topology.extend(&plan.rows);
        for (at, products) in plan.products.iter().enumerate() {
            topology.extend([of_fill[at], products.len() as u32]);
            topology.extend(products.iter().flatten());
        }
        let control_at = topology.len() as u32;
        topology.extend(controls);
        let mut dims = SoftDims {
            lanes: 1,
            n_param: 0,
            n_node: n_node as u32,
            n_region: system.params().pressures.len() as u32,
            n_u: controls.len() as u32,
            n_element: system.n_element() as u32,
            n_point: system.elements().points as u32,
            n_block,
            n_fill: plan.n_block() as u32,
            plan_at,
            control_at,
            law: match system.params().material.law {
                MaterialLaw::Linear => law::LINEAR,
                MaterialLaw::Corotated => law::COROTATED,
                MaterialLaw::SaintVenantKirchhoff => law::SAINT_VENANT,
                MaterialLaw::NeoHookean => law::NEO_HOOKEAN,
            },
            damped: 0,
            pressed: u32::from(!controls.is_empty()),
            ..SoftDims::default()
        };
        dims.n_param = dims.ride_param() as u32;
        Self { dims, topology, rest, blocks }
    }

    /// Rounds of loops that an invocation of a kernel takes at most.
    #[must_use]
    pub fn rounds(&self) -> u64 {
        let SoftDims { n_node, n_element, n_point, n_block, n_fill, plan_at, control_at, .. } = self.dims;
        let n_product = (control_at - plan_at - 2 * n_node - 1 - 3 * n_fill) / 2;
        let factor = u64::from(n_node) * 16 + u64::from(n_fill) * 32 + u64::from(n_product) * 12;
        let mut elements = u64::from(n_block) * 9 + u64::from(n_node) * 4;
        let mut at = n_node as usize;
        for _ in 0..n_element {
            let [n, regions] = [self.topology[at], self.topology[at + 1]].map(u64::from);
            elements += 2 + regions + 4 * n + u64::from(n_point) * (1 + 7 * n + n * (n + 1) / 2 * 4);
            at += 2 + (regions + n + n * (n + 1) / 2) as usize;
        }
        factor.max(elements)
    }

    /// How many contacts may slide where an invocation takes so many rounds at most, of `most`: each costs a solve.
    #[must_use]
    pub fn slides(&self, rounds: u64, most: u32) -> u32 {
        let solve = u64::from(self.dims.n_node) * 8 + u64::from(self.dims.n_fill) * 10;
        (rounds / solve.max(1)).saturating_sub(2).min(u64::from(most)) as u32
    }

    /// A world's parameters as kernels read them, but for those of controls and of a carrier that moves; gravity along the axes of the
    /// carrier, m/s^2, `h` in s.
    #[must_use]
    pub fn params(params: &SoftParams, h: f64, gravity: [f64; 3]) -> Vec<f64> {
        let m = &params.material;
        let [mu, lambda] = m.lame();
        let [x, y, z] = gravity;
        let mut out = vec![h, x, y, z, mu, lambda, m.density, m.damping, m.mass_damping];
        out.extend(&params.pressures);
        out
    }
}

/// A matrix with an entry wherever two nodes share an element.
fn nodes(system: &SoftSystem) -> SparseMatrix {
    let pattern = system.pattern();
    let triplets: Vec<_> = (0..pattern.n() / 3)
        .flat_map(|i| pattern.row(3 * i).0.iter().step_by(3).map(move |&j| (i, j as usize / 3, 0.0)))
        .collect();
    SparseMatrix::from_triplets(pattern.n() / 3, &triplets).unwrap_or_default()
}
