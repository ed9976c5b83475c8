//! What all chunks of a group share: the compiled model and the settings of its solver.

use std::sync::Arc;

use manyworlds_collide::{CollisionModel, CollisionSettings, Precision as CollidePrecision};
use manyworlds_dynamics::{Settings, TreeSet, compile};
use manyworlds_model::Model;
use manyworlds_shaders::Scalar;

use crate::host::{Header, HostModel, SetShape, fixed};
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
        let lanes = LaneMap::new(&model, &sets);
        let host = HostModel {
            collision: CollisionModel::with_settings(&model, &collision)?,
            fixed: fixed(&model, &sets, &lanes)?,
            lanes,
            sets: sets.iter().map(|set| SetShape { dims: set.layout.dims, trees: set.trees.clone() }).collect(),
            header: Header {
                timestep: model.options.timestep,
                correction_fraction: s.fraction,
                correction_max: s.max_velocity,
                restitution_threshold: s.restitution_threshold,
            },
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
