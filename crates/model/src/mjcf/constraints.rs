//! Contact filters, bilateral constraints and keyframes.

use super::{Importer, schema};
use crate::attributes::Attributes;
use crate::validate::Part;
use crate::xml::Element;
use crate::{Equality, EqualityKind, ExplicitPair, Keyframe, ModelError, Pose, Quat, Vec3};

/// Two bodies and a frame in each.
type Ends = ([usize; 2], [Pose; 2]);

impl Importer<'_> {
    pub(super) fn contact(&mut self, section: &Element) -> Result<(), ModelError> {
        for element in &section.children {
            match element.tag.as_str() {
                "exclude" => {
                    let a = Attributes::bare(element);
                    let first = self.body_of(&a, "body1")?.ok_or_else(|| a.error("attribute `body1` is missing"))?;
                    let second = self.body_of(&a, "body2")?.ok_or_else(|| a.error("attribute `body2` is missing"))?;
                    self.origin(Part::Exclude, self.builder.excludes.len(), element);
                    self.builder.exclude(first, second);
                }
                "pair" => self.pair(element)?,
                other => return Err(element.error(format!("unknown element <{other}>"))),
            }
        }
        Ok(())
    }

    fn pair(&mut self, element: &Element) -> Result<(), ModelError> {
        schema::check(element, &mut self.report)?;
        let a = self.defaults.apply(element, 0)?;
        schema::check_values(&a, &mut self.report)?;
        let geom = |name: &str| {
            let found = Self::find(&self.names.geoms, &a, name)?;
            found.ok_or_else(|| a.error(format!("attribute `{name}` is missing")))
        };
        let geoms = [geom("geom1")?, geom("geom2")?];
        // Friction that the pair does not say is mixed from its geoms.
        let mixed = self.builder.geoms[geoms[0]].contact.mix(&self.builder.geoms[geoms[1]].contact);
        let friction = a.overlay::<5>("friction", [mixed.friction; 5])?[0];
        let [margin, gap] = [a.number("margin", 0.0)?, a.number("gap", 0.0)?];
        let frictionless = if a.has("condim") { self.frictionless(&a)? } else { mixed.frictionless };
        self.origin(Part::Pair, self.builder.pairs.len(), element);
        self.builder.pair(ExplicitPair { geoms, friction, restitution: mixed.restitution, margin, gap, frictionless });
        Ok(())
    }

    pub(super) fn equality(&mut self, section: &Element) -> Result<(), ModelError> {
        for element in &section.children {
            let a = self.defaults.apply_as(element, 0, &["equality"])?;
            let kind = match element.tag.as_str() {
                "connect" => self.connect(&a)?,
                "weld" => self.weld(&a)?,
                "joint" => self.coupling(&a)?,
                "tendon" => self.tendon_coupling(&a)?,
                other => {
                    self.report.unsupported(element.location(), format!("equality <{other}>"))?;
                    continue;
                }
            };
            let active = a.flag("active", true)?;
            self.origin(Part::Equality, self.builder.equalities.len(), element);
            self.builder.equality(Equality { name: element.get("name").unwrap_or("").to_owned(), kind, active });
        }
        Ok(())
    }

    fn connect(&mut self, a: &Attributes) -> Result<EqualityKind, ModelError> {
        schema::check(a.element, &mut self.report)?;
        if let Some(([first, second], frames)) = self.sites(a)? {
            let anchors = frames.map(|frame| frame.translation.vector);
            return Ok(EqualityKind::Connect { bodies: [first, second], anchors });
        }
        let bodies = self.two_bodies(a)?;
        let anchor = a.vector("anchor")?.ok_or_else(|| a.error("attribute `anchor` is missing"))?;
        let [first, second] = bodies.map(|b| crate::reference::body_pose(&self.builder, b));
        let world = first * nalgebra::Point3::from(anchor);
        Ok(EqualityKind::Connect { bodies, anchors: [anchor, second.inverse_transform_point(&world).coords] })
    }

    fn weld(&mut self, a: &Attributes) -> Result<EqualityKind, ModelError> {
        schema::check(a.element, &mut self.report)?;
        if let Some((bodies, frames)) = self.sites(a)? {
            return Ok(EqualityKind::Weld { bodies, frames });
        }
        let bodies = self.two_bodies(a)?;
        let anchor = Pose::from_parts(a.vector("anchor")?.unwrap_or_else(Vec3::zeros).into(), nalgebra::one());
        // As in MuJoCo, a given position is that of the anchor, not of the second body's origin.
        let given = a.exactly::<7>("relpose")?.filter(|pose| pose[3..] != [0.0; 4]);
        let first = match given {
            Some([x, y, z, qw, qx, qy, qz]) => {
                let q = nalgebra::Unit::try_new(nalgebra::Quaternion::new(qw, qx, qy, qz), 1e-14);
                let q = q.ok_or_else(|| a.error("`relpose` has a zero quaternion"))?;
                Pose::from_parts(Vec3::new(x, y, z).into(), q)
            }
            None => {
                let [first, second] = bodies.map(|b| crate::reference::body_pose(&self.builder, b));
                first.inv_mul(&second) * anchor
            }
        };
        Ok(EqualityKind::Weld { bodies, frames: [first, anchor] })
    }

    fn coupling(&mut self, a: &Attributes) -> Result<EqualityKind, ModelError> {
        schema::check_coupling(a.element, &mut self.report)?;
        let joint = Self::find(&self.names.joints, a, "joint1")?;
        let joint = joint.ok_or_else(|| a.error("attribute `joint1` is missing"))?;
        let driver = Self::find(&self.names.joints, a, "joint2")?;
        Ok(EqualityKind::Coupling { joint, driver, coefficients: polynomial(a)? })
    }

    fn tendon_coupling(&mut self, a: &Attributes) -> Result<EqualityKind, ModelError> {
        schema::check_coupling(a.element, &mut self.report)?;
        let tendon = Self::find(&self.names.tendons, a, "tendon1")?;
        let tendon = tendon.ok_or_else(|| a.error("attribute `tendon1` is missing"))?;
        let driver = Self::find(&self.names.tendons, a, "tendon2")?;
        Ok(EqualityKind::TendonCoupling { tendon, driver, coefficients: polynomial(a)? })
    }

    fn sites(&self, a: &Attributes) -> Result<Option<Ends>, ModelError> {
        let first = Self::find(&self.names.sites, a, "site1")?;
        let second = Self::find(&self.names.sites, a, "site2")?;
        match (first, second) {
            (Some(first), Some(second)) => {
                let sites = [first, second].map(|site| &self.builder.sites[site]);
                Ok(Some((sites.map(|site| site.body), sites.map(|site| site.pose))))
            }
            (None, None) => Ok(None),
            _ => Err(a.error("`site1` and `site2` go together")),
        }
    }

    /// `body1`, and `body2` or the world.
    fn two_bodies(&self, a: &Attributes) -> Result<[usize; 2], ModelError> {
        let first = self.body_of(a, "body1")?.ok_or_else(|| a.error("attribute `body1` is missing"))?;
        Ok([first, self.body_of(a, "body2")?.unwrap_or(0)])
    }

    fn body_of(&self, a: &Attributes, attribute: &str) -> Result<Option<usize>, ModelError> {
        Self::find(&self.names.bodies, a, attribute)
    }

    pub(super) fn keyframes(&mut self, section: &Element) -> Result<(), ModelError> {
        let model = self.builder.clone().build()?;
        for element in &section.children {
            let a = Attributes::bare(element);
            if a.has("time") {
                self.report.ignore(element.location(), "time has no meaning here");
            }
            let vector = |name: &str, default: Vec<f64>| -> Result<Vec<f64>, ModelError> {
                let Some(found) = a.list::<f64>(name)? else { return Ok(default) };
                match found.len() == default.len() {
                    true => Ok(found),
                    false => Err(a.error(format!("`{name}` needs {} numbers, found {}", default.len(), found.len()))),
                }
            };
            let mocap = model.mocaps.iter().map(|&body| model.bodies[body].pose);
            let (positions, turns): (Vec<_>, Vec<_>) = mocap.map(|pose| split(&pose)).unzip();
            let positions = vector("mpos", positions.concat())?;
            let turns = vector("mquat", turns.concat())?;
            let turns = turns.chunks_exact(4).map(|q| nalgebra::Quaternion::new(q[0], q[1], q[2], q[3]));
            let turns = turns.map(|q| nalgebra::Unit::try_new(q, 1e-14).unwrap_or_else(Quat::identity));
            let positions = positions.chunks_exact(3).map(Vec3::from_column_slice);
            let mut q = vector("qpos", model.initial_q())?;
            model.normalize_quaternions(&mut q);
            let keyframe = Keyframe {
                name: element.get("name").unwrap_or("").to_owned(),
                q,
                v: vector("qvel", vec![0.0; model.n_v])?,
                ctrl: vector("ctrl", vec![0.0; model.actuators.len()])?,
                act: vector("act", vec![0.0; model.n_act()])?,
                mocap: positions.zip(turns).map(|(at, turn)| Pose::from_parts(at.into(), turn)).collect(),
            };
            self.origin(Part::Keyframe, self.builder.keyframes.len(), element);
            self.builder.keyframe(keyframe);
        }
        Ok(())
    }
}

/// Coefficients of a coupling.
fn polynomial(a: &Attributes) -> Result<[f64; 5], ModelError> {
    a.overlay::<5>("polycoef", [0.0, 1.0, 0.0, 0.0, 0.0])
}

/// Position and quaternion (w, x, y, z) of a pose.
fn split(pose: &Pose) -> ([f64; 3], [f64; 4]) {
    let q = &pose.rotation;
    (pose.translation.vector.into(), [q.w, q.i, q.j, q.k])
}
