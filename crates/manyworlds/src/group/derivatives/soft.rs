//! Soft bodies of a world's last step, and their contacts, as derivatives need them.

use std::borrow::Cow;
use std::sync::Arc;

use manyworlds_collide::derivatives::Corners;
use manyworlds_collide::{Side, SoftContact};
use manyworlds_gradients::{CarrierInput, ContactInput, ContactSettings, Give, PointInput, SparseInput};
use manyworlds_model::Vec3;
use manyworlds_shaders::Scalar;
use manyworlds_shaders::dynamics::tree::POSE;
use manyworlds_sparse::Ordering;

use super::geometry::Geometry;
use crate::group::carried::{CarriedChanges, CarrierTree};
use crate::group::shared::Shared;
use crate::group::soft::start::{ByStart, ByVelocity};
use crate::group::soft::step::SoftStep;
use crate::host::{Carrier, SoftShape};
use crate::mocap::Drift;

/// What the step of a soft body was.
#[derive(Debug)]
pub(super) struct OwnSoft {
    ordering: Arc<Ordering>,
    /// Ascending.
    touched: Vec<u32>,
    /// Where nothing else says how the step ended.
    b: Option<Vec<f64>>,
    /// With A.
    by_q: ByStart,
    by_v: ByVelocity,
    by_ctrl: Vec<Vec<f64>>,
    controls: Vec<usize>,
    v: Vec<f64>,
    settings: ContactSettings,
    axes: [[f64; 3]; 3],
    carrier: Option<OwnCarrier>,
}

/// What it does to the tree that carries it.
#[derive(Debug)]
struct OwnCarrier {
    tree: usize,
    mass: Vec<f64>,
    b: Vec<f64>,
    coupling: Vec<f64>,
    changes: CarriedChanges,
}

impl OwnSoft {
    /// At the velocity that the step ended with; `contacts`: those of the world; `carrier`: the tree that carries it, by its number,
    /// and v+ of that. Why not, where the derivative has no equations.
    pub(super) fn new<T: Scalar>(
        shared: &Shared<T>,
        soft: usize,
        step: &SoftStep,
        after: &[f64],
        (contacts, settings): (&[SoftContact], ContactSettings),
        carrier: Option<(usize, &CarrierTree<'_>, &[f64])>,
    ) -> Result<Self, String> {
        let own = &shared.soft[soft];
        let shape = &shared.host.soft[soft];
        let name = &shared.model.soft[soft].name;
        let (mut by_q, force) = step.ended(&own.system, after);
        if !force.iter().all(|x| x.is_finite()) {
            return Err(format!("soft body \"{name}\": its matrix is not finite"));
        }
        let mut touched = Vec::new();
        for side in contacts.iter().flat_map(|contact| &contact.sides) {
            if let Side::Soft { soft: of, .. } = side
                && *of as usize == soft
            {
                touched.extend(nodes_of(shape, side).into_iter().flat_map(|(dof, _)| dof..dof + 3));
            }
        }
        touched.sort_unstable();
        touched.dedup();
        let b = (!shared.ends_exactly()).then(|| step.right(&force, by_q.stiff(after)));
        let mut by_v = ByVelocity { mass: step.mass_and_weight().map(|(mass, _)| mass).collect(), carried: Vec::new() };
        let carrier = carrier.and_then(|(tree, of, of_tree)| {
            let changes = step.by_carrier(of, [of_tree, after])?;
            let (mut mass, mut b) = (vec![0.0; of_tree.len().pow(2)], vec![0.0; of_tree.len()]);
            step.add_to_tree(&mut mass, &mut b);
            let mut coupling = Vec::with_capacity(after.len() * of_tree.len());
            step.coupling().for_each(|row| coupling.extend(row));
            Some(OwnCarrier { tree, mass, b, coupling, changes })
        });
        let blocks = carrier.as_ref().map(|carrier| carrier.changes.own_by_own.clone()).or_else(|| step.by_ride());
        if let Some(blocks) = blocks {
            // Masses are in the velocities' part already.
            by_v.mass.fill(0.0);
            for (first, [of_q, of_v]) in blocks {
                by_q.carried.push((first, of_q));
                by_v.carried.push((first, of_v));
            }
        }
        let turn = step.turn();
        Ok(Self {
            ordering: own.system.ordering().clone(),
            touched,
            b,
            by_q,
            by_v,
            by_ctrl: step.by_controls(&own.system, after),
            controls: shared.sets[shared.host.lanes.trees[own.tree].set].actuators[0].clone(),
            v: step.before().to_vec(),
            settings,
            axes: [0, 1, 2].map(|k| (turn * Vec3::ith(k, 1.0)).into()),
            carrier,
        })
    }

    pub(super) fn input(&self) -> SparseInput<'_> {
        let Self { ordering, touched, b, by_q, by_v, by_ctrl, controls, v, settings, axes, carrier } = self;
        let carrier = carrier.as_ref().map(|OwnCarrier { tree, mass, b, coupling, changes }| CarrierInput {
            tree: *tree,
            mass,
            b,
            coupling,
            tree_by_tree: changes.tree_by_tree.each_ref().map(Vec::as_slice),
            tree_by_own: changes.tree_by_own.each_ref().map(Vec::as_slice),
            own_by_tree: changes.own_by_tree.each_ref().map(Vec::as_slice),
        });
        SparseInput {
            matrix: &by_q.matrix,
            ordering,
            touched,
            b: b.as_deref(),
            by_q,
            by_v,
            by_ctrl,
            controls,
            v,
            settings: *settings,
            axes: *axes,
            carrier,
        }
    }
}

/// The free nodes that a side of a contact follows, and their shares in the motion of the corners of its triangle: of those that the
/// point is at alone, where it stays there.
fn nodes_of(shape: &SoftShape, side: &Side) -> Vec<(u32, [f64; 3])> {
    let Side::Soft { vertices, weights, .. } = *side else { return Vec::new() };
    let mut nodes = shape.shares(vertices);
    if let Some(corner) = weights.iter().position(|weight| *weight == 1.0) {
        nodes.retain(|(_, shares)| shares[corner] != 0.0);
    }
    nodes
}

/// Where the triangle of a soft side is. `skins`: vertices of all soft bodies.
pub(super) fn corners_of<T: Scalar>(shared: &Shared<T>, skins: &[Vec<[f64; 3]>], side: &Side) -> Corners {
    match *side {
        Side::Rigid { .. } => Corners { at: [[0.0; 3]; 3], radius: 0.0 },
        Side::Soft { soft, vertices, .. } => {
            let soft = soft as usize;
            let at = vertices.map(|vertex| skins[soft][vertex as usize]);
            Corners { at, radius: shared.model.soft[soft].radius }
        }
    }
}

/// A contact of soft bodies; `pose`: that of a body that moves; `skins`: where the vertices of all soft bodies are.
pub(super) fn contact_input<T: Scalar>(
    shared: &Shared<T>,
    geometry: &Geometry,
    contact: &SoftContact,
    (impulse, drift): ([f64; 3], Drift),
    pose: impl Fn(usize) -> [f64; POSE],
    skins: &[Vec<[f64; 3]>],
    sizes: &[[f64; 3]],
) -> ContactInput {
    let geom = |side: &Side| match *side {
        Side::Rigid { geom, .. } => geom as usize,
        Side::Soft { soft, .. } => shared.model.geoms.len() + soft as usize,
    };
    let body = |side: &Side| match *side {
        Side::Rigid { body, .. } => shared.host.lanes.bodies[body as usize].map(|place| (place.tree, place.local)),
        Side::Soft { soft, .. } => match shared.host.soft[soft as usize].carrier {
            Carrier::Moving(body) => shared.host.lanes.bodies[body].map(|place| (place.tree, place.local)),
            Carrier::Fixed(_) | Carrier::Mocap(_) => None,
        },
    };
    let point = |side: &Side| match side {
        Side::Rigid { .. } => None,
        Side::Soft { soft, weights, .. } => {
            let nodes = nodes_of(&shared.host.soft[*soft as usize], side);
            let nodes = nodes.into_iter().map(|(dof, shares)| (dof as usize, shares)).collect();
            Some(PointInput { body: *soft as usize, weights: *weights, nodes })
        }
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
            let corners = |side: &Side| corners_of(shared, skins, side);
            geometry.features.soft_slope(contact, corners, pose, sizes).map_err(Cow::Owned)
        },
    }
}
