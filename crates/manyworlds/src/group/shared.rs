//! What all chunks of a group share: the compiled model and the settings of its solver.

use std::sync::Arc;

use manyworlds_collide::{CollisionModel, CollisionSettings, Precision as CollidePrecision};
use manyworlds_dynamics::{Settings, TreeSet, compile};
use manyworlds_model::{EqualityKind, Model};
use manyworlds_shaders::Scalar;

use crate::host::{HostModel, SetShape};
use crate::lanes::LaneMap;
use crate::{BatchOptions, Error};

/// The compiled model of a group.
pub(crate) struct Shared<T: Scalar + CollidePrecision> {
    pub(crate) model: Arc<Model>,
    pub(crate) sets: Vec<TreeSet>,
    pub(crate) host: Arc<HostModel<T>>,
    pub(crate) tolerance: f64,
    pub(crate) iterations: u32,
}

impl<T: Scalar + CollidePrecision> Shared<T> {
    pub(crate) fn new(model: &Model, options: &BatchOptions) -> Result<Self, Error> {
        let mut model = model.clone();
        if let Some(dt) = options.dt {
            model.options.timestep = dt;
        }
        let s = &options.stabilisation;
        let settings = Settings {
            correction_fraction: s.fraction,
            correction_max: s.max_velocity,
            restitution_threshold: s.restitution_threshold,
        };
        let sets = compile(&model, &settings)?;
        let collision = CollisionSettings { speculative_distance: s.speculative_distance };
        let host = HostModel {
            collision: CollisionModel::with_settings(&model, &collision)?,
            lanes: LaneMap::new(&model, &sets),
            sets: sets
                .iter()
                .map(|set| SetShape {
                    n_body: set.layout.dims.n_body as usize,
                    n_block: set.layout.dims.n_block as usize,
                    trees: set.trees.clone(),
                })
                .collect(),
            bound: bound(&model),
        };
        Ok(Self {
            model: Arc::new(model),
            sets,
            host: Arc::new(host),
            tolerance: options.tolerance,
            iterations: options.iterations,
        })
    }
}

/// Pairs of trees that an active equality binds.
fn bound(model: &Model) -> Vec<[u32; 2]> {
    let tree = |body: usize| model.bodies[body].tree;
    let pairs = model.equalities.iter().filter(|e| e.active).filter_map(|e| {
        let [a, b] = match &e.kind {
            EqualityKind::Connect { bodies, .. } | EqualityKind::Weld { bodies, .. } => bodies.map(tree),
            EqualityKind::Coupling { joint, driver, .. } => {
                let of = |j: usize| tree(model.joints[j].body);
                [of(*joint), driver.and_then(of)]
            }
        };
        match (a, b) {
            (Some(a), Some(b)) if a != b => Some([a as u32, b as u32]),
            _ => None,
        }
    });
    pairs.collect()
}
