//! Contacts of soft bodies in a world's problem, and what they did.

use manyworlds_collide::{Side, SoftContact};
use manyworlds_contact::Law;
use manyworlds_contact::problem::ProblemError;
use manyworlds_model::Vec3;
use manyworlds_shaders::Scalar;
use manyworlds_shaders::contact::frame::tangents;
use manyworlds_shaders::contact::tree_layout::bias;
use manyworlds_shaders::dynamics::tree::{SPATIAL, jacobian};
use nalgebra::UnitQuaternion;

use super::super::home::Home;
use super::super::problem::{Building, Worlds};
use super::super::shared::Shared;
use crate::ContactReport;
use crate::host::{Carrier, Packed};

impl<T: Scalar> Worlds<'_, T> {
    /// Puts the contacts of soft bodies into a problem.
    pub(in crate::group) fn soft_contacts(
        &self,
        shared: &Shared<T>,
        host: &Packed<'_, T>,
        world: usize,
        to: &mut Building<'_>,
    ) -> Result<(), ProblemError> {
        let own = &host.worlds[world];
        if own.soft.is_empty() {
            return Ok(());
        }
        let before = self.before(shared, world);
        for (index, contact) in own.soft.iter().enumerate() {
            let normal = contact.normal;
            let [t1, t2] = tangents(normal);
            let sides = self.sides_of(shared, host, world, contact, [t1, t2, normal]);
            let speed = |side: &SideRows| side.times(2, &before[shared.model.trees[side.tree].v.clone()]);
            let drift = own.soft_drift(index);
            let drift = [t1, t2, normal].map(|axis| drift.along(axis));
            let approach = sides.iter().map(speed).sum::<f64>() + drift[2];
            let e = [drift[0], drift[1], drift[2] + normal_bias(shared, host, world, contact, approach)];
            to.builder.constraint(Law::Contact { mu: contact.friction }, e, None)?;
            for side in &sides {
                to.add(side.tree, None, &side.dofs, &side.j)?;
            }
            to.impulse.extend(own.soft_impulses[index]);
            to.homes.push(Home::Soft { contact: index });
        }
        Ok(())
    }

    /// What contacts of soft bodies did in a step. A soft body's number follows those of the bodies, and of the geoms.
    pub(in crate::group) fn soft_reports(
        &self,
        shared: &Shared<T>,
        host: &Packed<'_, T>,
        world: usize,
    ) -> Vec<ContactReport> {
        let after = self.after(shared, world);
        let own = &host.worlds[world];
        let report = |(index, (contact, impulse)): (usize, (&SoftContact, &[f64; 3]))| {
            let [t1, t2] = tangents(contact.normal);
            let frame = [t1, t2, contact.normal];
            let drift = own.soft_drift(index);
            let mut velocity = frame.map(|axis| drift.along(axis));
            for side in self.sides_of(shared, host, world, contact, frame) {
                let v = &after[shared.model.trees[side.tree].v.clone()];
                (0..3).for_each(|row| velocity[row] += side.times(row, v));
            }
            let named = |side: &Side| match *side {
                Side::Rigid { body, geom } => [body as usize, geom as usize],
                Side::Soft { soft, .. } => {
                    [shared.model.bodies.len() + soft as usize, shared.model.geoms.len() + soft as usize]
                }
            };
            let [[a, first], [b, second]] = contact.sides.each_ref().map(named);
            ContactReport {
                bodies: [a, b],
                geoms: [first, second],
                point: contact.point,
                frame,
                distance: contact.distance,
                friction: contact.friction,
                impulse: *impulse,
                velocity,
            }
        };
        own.soft.iter().zip(&own.soft_impulses).enumerate().map(report).collect()
    }

    /// The rows of a contact over the trees that it touches.
    fn sides_of(
        &self,
        shared: &Shared<T>,
        host: &Packed<'_, T>,
        world: usize,
        contact: &SoftContact,
        axes: [[f64; 3]; 3],
    ) -> Vec<SideRows> {
        let mut out = Vec::with_capacity(2);
        for (side, sign) in contact.sides.iter().zip([-1.0, 1.0]) {
            match side {
                Side::Rigid { body, .. } => {
                    out.extend(self.rigid_side(shared, world, *body as usize, sign, contact.point, &axes));
                }
                Side::Soft { soft, vertices, weights } => {
                    let shape = &shared.host.soft[*soft as usize];
                    let carrier = match shape.carrier {
                        Carrier::Fixed(pose) => pose.rotation,
                        Carrier::Mocap(_) => host.worlds[world].rides[*soft as usize].pose.rotation,
                        Carrier::Moving(body) => {
                            out.extend(self.rigid_side(shared, world, body, sign, contact.point, &axes));
                            self.frame(shared, world, body).rotation
                        }
                    };
                    let turned = along(carrier, axes);
                    let mut terms = shape.follows(*vertices, *weights);
                    terms.iter_mut().for_each(|(_, w)| *w *= sign);
                    if terms.is_empty() {
                        continue;
                    }
                    let dofs = terms.iter().flat_map(|&(dof, _)| dof..dof + 3).collect();
                    let row = |axis: &[f64; 3]| terms.iter().flat_map(|&(_, w)| axis.map(|x| x * w)).collect();
                    let rows: Vec<Vec<f64>> = turned.iter().map(row).collect();
                    out.push(SideRows { tree: shape.tree, dofs, j: rows.concat() });
                }
            }
        }
        out
    }

    /// What a point that moves with a rigid body does to the rows; nothing where that stands.
    fn rigid_side(
        &self,
        shared: &Shared<T>,
        world: usize,
        body: usize,
        sign: f64,
        point: [f64; 3],
        axes: &[[f64; 3]; 3],
    ) -> Option<SideRows> {
        let at = shared.host.lanes.bodies[body]?;
        let place = shared.host.lanes.trees[at.tree];
        let set = &shared.sets[place.set];
        let n = set.layout.dims.n_v as usize;
        let motion = self.lane(shared, world, at.tree, self.sets[place.set].motion, SPATIAL * n);
        let root = self.pose(shared, world, at.tree, 0);
        let offset = std::array::from_fn(|k| point[k] - root[k]);
        let mut j = vec![0.0; 3 * n];
        let bodies = if sign < 0.0 { [at.local as f64, -1.0] } else { [-1.0, at.local as f64] };
        jacobian(&set.layout.tree(), &motion, bodies, offset, axes, &mut j);
        Some(SideRows { tree: at.tree, dofs: Vec::new(), j })
    }
}

/// As trees' kernels have it: gaps may close, depths shrink, what comes fast bounces.
pub(super) fn normal_bias<T: Scalar>(
    shared: &Shared<T>,
    host: &Packed<'_, T>,
    world: usize,
    contact: &SoftContact,
    approach: f64,
) -> f64 {
    let Some(soft) = contact.sides.iter().find_map(|side| match side {
        Side::Soft { soft, .. } => Some(*soft as usize),
        Side::Rigid { .. } => None,
    }) else {
        return 0.0;
    };
    let place = shared.host.lanes.trees[shared.soft[soft].tree];
    let [h, fraction, largest, threshold, slop] = host.settings(place.set, world).map(|x| x.to_f64());
    if contact.restitution > 0.0 && approach < (-threshold).min(-contact.distance / h) {
        return contact.restitution * approach;
    }
    bias(contact.distance, h.recip(), fraction, largest, slop)
}

/// World axes along those of a carrier that is turned so.
pub(super) fn along(carrier: UnitQuaternion<f64>, axes: [[f64; 3]; 3]) -> [[f64; 3]; 3] {
    axes.map(|axis| (carrier.inverse() * Vec3::from(axis)).into())
}

/// `J` of a contact over one tree, `[3, columns]`.
struct SideRows {
    tree: usize,
    /// Of a soft body the columns; else they are all.
    dofs: Vec<u32>,
    j: Vec<f64>,
}

impl SideRows {
    /// A row times a velocity of the tree.
    fn times(&self, row: usize, v: &[f64]) -> f64 {
        let n = self.j.len() / 3;
        let row = &self.j[row * n..(row + 1) * n];
        if self.dofs.is_empty() {
            return row.iter().zip(v).map(|(j, v)| j * v).sum();
        }
        row.iter().zip(&self.dofs).map(|(j, &dof)| j * v[dof as usize]).sum()
    }
}
