//! Soft bodies of a world's last step, and their contacts, as derivatives need them.

use std::borrow::Cow;

use manyworlds_collide::{Side, SoftContact};
use manyworlds_gradients::{ContactInput, ContactSettings, Give, PointInput, SparseInput};
use manyworlds_shaders::Scalar;
use manyworlds_shaders::dynamics::tree::POSE;
use manyworlds_sparse::{SparseMatrix, SparseOperator};

use super::geometry::Geometry;
use crate::group::shared::Shared;
use crate::group::soft::SoftStep;
use crate::mocap::Drift;

/// What the step of a soft body was.
#[derive(Debug)]
pub(super) struct OwnSoft {
    operator: SparseOperator,
    b: Vec<f64>,
    by_q: SparseMatrix,
    by_v: SparseMatrix,
    by_ctrl: Vec<Vec<f64>>,
    controls: Vec<usize>,
    v: Vec<f64>,
    settings: ContactSettings,
}

impl OwnSoft {
    /// At the velocity that the step ended with; `contacts`: those of the world. Why not, where the derivative has no
    /// equations.
    pub(super) fn new<T: Scalar>(
        shared: &Shared<T>,
        soft: usize,
        step: &SoftStep,
        after: &[f64],
        contacts: &[SoftContact],
        settings: ContactSettings,
    ) -> Result<Self, String> {
        let own = &shared.soft[soft];
        let shape = &shared.host.soft[soft];
        let name = &shared.model.soft[soft].name;
        let about = step.about(&own.system, after, false);
        let mut touched = Vec::new();
        for side in contacts.iter().flat_map(|contact| &contact.sides) {
            if let Side::Soft { soft: of, nodes, weights } = side
                && *of as usize == soft
            {
                let nodes = nodes.iter().zip(weights).filter(|(_, weight)| **weight != 0.0);
                touched.extend(nodes.filter_map(|(&node, _)| shape.dofs[node as usize]).flat_map(|dof| dof..dof + 3));
            }
        }
        let operator = SparseOperator::new(about.matrix, own.system.ordering().clone(), touched)
            .map_err(|error| format!("soft body \"{name}\": its step is not one of least energy: {error}"))?;
        let by_v: Vec<_> = step.mass_and_weight().enumerate().map(|(i, (m, _))| (i, i, m)).collect();
        Ok(Self {
            operator,
            b: about.b,
            by_q: step.by_q(&own.system, after),
            by_v: SparseMatrix::from_triplets(after.len(), &by_v).unwrap_or_default(),
            by_ctrl: step.by_controls(&own.system, after),
            controls: shared.sets[shared.host.lanes.trees[own.tree].set].actuators[0].clone(),
            v: step.before().to_vec(),
            settings,
        })
    }

    pub(super) fn input(&self) -> SparseInput<'_> {
        let Self { operator, b, by_q, by_v, by_ctrl, controls, v, settings } = self;
        SparseInput { operator, b, by_q, by_v, by_ctrl, controls, v, settings: *settings }
    }
}

/// A contact of soft bodies; `pose`: that of a body that moves.
pub(super) fn contact_input<T: Scalar>(
    shared: &Shared<T>,
    geometry: &Geometry,
    contact: &SoftContact,
    (impulse, drift): ([f64; 3], Drift),
    pose: impl Fn(usize) -> [f64; POSE],
    sizes: &[[f64; 3]],
) -> ContactInput {
    let geom = |side: &Side| match *side {
        Side::Rigid { geom, .. } => geom as usize,
        Side::Soft { soft, .. } => shared.model.geoms.len() + soft as usize,
    };
    let body = |side: &Side| match *side {
        Side::Rigid { body, .. } => shared.host.lanes.bodies[body as usize].map(|place| (place.tree, place.local)),
        Side::Soft { .. } => None,
    };
    let point = |side: &Side| match side {
        Side::Rigid { .. } => None,
        Side::Soft { soft, nodes, weights } => {
            let shape = &shared.host.soft[*soft as usize];
            let of = |(&node, &weight): (&u32, &f64)| Some((shape.dofs[node as usize]? as usize, weight));
            let used = nodes.iter().zip(weights).filter(|(_, weight)| **weight != 0.0);
            Some(PointInput { body: *soft as usize, nodes: used.filter_map(of).collect() })
        }
    };
    let radius = match contact.sides[1] {
        Side::Soft { soft, .. } => shared.model.soft[soft as usize].radius,
        Side::Rigid { .. } => 0.0,
    };
    ContactInput {
        geoms: contact.sides.each_ref().map(geom),
        bodies: contact.sides.each_ref().map(body),
        points: contact.sides.each_ref().map(point),
        point: contact.point,
        normal: contact.normal,
        distance: contact.distance,
        friction: contact.friction,
        restitution: contact.restitution,
        drift: [drift.velocity.into(), drift.spin.into()],
        impulse,
        give: Give::Bias,
        slope: if impulse == [0.0; 3] {
            Err(Cow::Borrowed("a contact that is just about to close"))
        } else {
            geometry.features.soft_slope(contact, radius, pose, sizes).map_err(Cow::Owned)
        },
    }
}
