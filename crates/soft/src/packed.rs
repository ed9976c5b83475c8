//! A soft body as its kernels read it (`manyworlds_shaders::soft`).

use manyworlds_model::MaterialLaw;
use manyworlds_shaders::soft::body::{NO_BLOCK, SoftDims, law, soft};
use manyworlds_sparse::{BlockPlan, SparseMatrix};

use crate::system::{PINNED, SoftParams, SoftSystem};

/// Structure and rest shape of a soft body, alike in all worlds.
#[derive(Debug, Clone, PartialEq)]
pub struct SoftLayout {
    /// Sizes; of a single lane.
    pub dims: SoftDims,
    /// Nodes, elements and the plan of the factor.
    pub topology: Vec<u32>,
    /// Volumes and gradients of shape functions.
    pub rest: Vec<f64>,
}

impl SoftLayout {
    /// Of a soft body; `params`: those of all worlds, which say what is needed of the kernels.
    #[must_use]
    pub fn new<'a>(system: &SoftSystem, params: impl IntoIterator<Item = &'a SoftParams>) -> Self {
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
        let block = |i: u32, j: u32| {
            let [row, column] = [i.max(j), i.min(j)];
            let own = plan.begins[column as usize] as usize..plan.begins[column as usize + 1] as usize;
            plan.rows[own.clone()].binary_search(&row).map_or(NO_BLOCK, |at| of_fill[own.start + at])
        };
        let mut topology: Vec<u32> = places.iter().map(|&position| block(position, position)).collect();
        let mut rest = system.node_volumes().collect::<Vec<_>>();
        for element in 0..system.n_element() {
            let mut own: Vec<(u32, usize)> = system
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
            for point in 0..system.points() {
                rest.push(system.volume_at(element, point));
                let gradients = system.gradients_at(element, point);
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
        let mut dims = SoftDims {
            lanes: 1,
            param_lanes: 0,
            n_param: (soft::HEADER + system.params().pressures.len()) as u32,
            n_node: n_node as u32,
            n_element: system.n_element() as u32,
            n_point: system.points() as u32,
            n_block,
            n_fill: plan.n_block() as u32,
            plan_at,
            law: match system.params().material.law {
                MaterialLaw::Linear => law::LINEAR,
                MaterialLaw::Corotated => law::COROTATED,
                MaterialLaw::SaintVenantKirchhoff => law::SAINT_VENANT,
                MaterialLaw::NeoHookean => law::NEO_HOOKEAN,
            },
            damped: 0,
            pressed: 0,
        };
        for params in params {
            dims.damped |= u32::from(params.material.damping > 0.0);
            dims.pressed |= u32::from(params.pressures.iter().any(|&pressure| pressure != 0.0));
        }
        Self { dims, topology, rest }
    }

    /// A world's parameters as kernels read them; gravity along the axes of the carrier, m/s^2, `h` in s.
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
