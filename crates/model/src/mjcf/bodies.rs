//! The kinematic tree: bodies, frames, replication, joints and sites.

use super::compiler::from_z;
use super::{Importer, schema};
use crate::attributes::Attributes;
use crate::validate::Part;
use crate::xml::Element;
use crate::{Bounded, Inertial, Joint, JointKind, Mat3, ModelError, Pose, Quat, Site, Vec3, Zone};

/// Size of a site that says none, m.
const SITE_SIZE: f64 = 0.005;

/// Where the elements being read belong.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) body: usize,
    /// Of the enclosing frames, in the body.
    pub(super) frame: Pose,
    /// Default class inherited from `childclass`.
    pub(super) class: usize,
    /// Appended to names by replication.
    pub(super) suffix: String,
}

/// Mass properties met while a body is read.
#[derive(Default)]
pub(super) struct BodyMass {
    pub(super) given: Option<Inertial>,
    pub(super) geoms: Vec<Inertial>,
}

/// A place for a geom.
pub(super) struct GeomPlace<'p> {
    pub(super) body: usize,
    pub(super) frame: &'p Pose,
    pub(super) class: usize,
    pub(super) name: String,
}

impl Importer<'_> {
    pub(super) fn world(&mut self, element: &Element) -> Result<(), ModelError> {
        let class = self.defaults.class(element, "childclass", 0)?;
        let place = Place { body: 0, frame: Pose::identity(), class, suffix: String::new() };
        self.contents(element, &place, &mut BodyMass::default())
    }

    pub(super) fn contents(&mut self, parent: &Element, place: &Place, mass: &mut BodyMass) -> Result<(), ModelError> {
        for child in &parent.children {
            self.spend(child)?;
            match child.tag.as_str() {
                "body" => self.body(child, place)?,
                "frame" => {
                    let class = self.defaults.class(child, "childclass", place.class)?;
                    let frame = place.frame * self.compiler.pose(&Attributes::bare(child))?;
                    self.contents(child, &Place { frame, class, ..place.clone() }, mass)?;
                }
                "replicate" => self.replicate(child, place, mass)?,
                "geom" => {
                    let name = named(child, place);
                    let place = GeomPlace { body: place.body, frame: &place.frame, class: place.class, name };
                    self.geom(child, &place, mass)?;
                }
                "joint" | "freejoint" if place.body == 0 => return Err(child.error("the world cannot have a joint")),
                "joint" | "freejoint" => self.joint(child, place)?,
                "inertial" => mass.given = Some(self.inertial(child)?),
                "site" => self.site(child, place)?,
                "attach" => self.attach(child, place)?,
                "camera" => self.camera(child, place)?,
                "light" => self.light(child, place)?,
                "flexcomp" => self.flexcomp(child, place)?,
                _ => schema::unread_body_element(child, &mut self.report)?,
            }
        }
        Ok(())
    }

    pub(super) fn body(&mut self, element: &Element, place: &Place) -> Result<(), ModelError> {
        let a = Attributes::bare(element);
        schema::check(element, &mut self.report)?;
        schema::check_values(&a, &mut self.report)?;
        let pose = self.compiler.pose(&a)?;
        let name = named(element, place);
        let body = self.builder.body(name.clone(), place.body, place.frame * pose, Inertial::zero());
        Self::name(&mut self.names.bodies, element, &name, body)?;
        self.origin(Part::Body, body, element);
        self.builder.bodies[body].gravity_compensation = a.number("gravcomp", 0.0)?;
        if a.flag("mocap", false)? {
            self.builder.mocap(body);
        }
        let class = self.defaults.class(element, "childclass", place.class)?;
        let mut mass = BodyMass::default();
        let inside = Place { body, frame: Pose::identity(), class, suffix: place.suffix.clone() };
        self.contents(element, &inside, &mut mass)?;
        let from_geoms = self.compiler.inertia_from_geom;
        let counted = if from_geoms == Some(false) { Inertial::zero() } else { Inertial::sum(&mass.geoms) };
        self.builder.bodies[body].inertial = match mass.given {
            Some(given) if from_geoms != Some(true) || counted.mass == 0.0 => given,
            // MuJoCo takes its place in its parent, where lower bounds give it a mass.
            None if counted.mass == 0.0 => Inertial { com: pose.translation.vector, ..counted },
            _ => counted,
        };
        Ok(())
    }

    /// Copies of the content, each turned and moved from the last.
    fn replicate(&mut self, element: &Element, place: &Place, mass: &mut BodyMass) -> Result<(), ModelError> {
        schema::check(element, &mut self.report)?;
        let a = Attributes::bare(element);
        let count = a.integer("count", 0)?;
        if count < 1 {
            return Err(a.error(format!("`count` must be positive, found {count}")));
        }
        if count as usize > self.budget {
            return Err(a.error(format!("`count` is too large: {count}")));
        }
        let offset = a.vector("offset")?.unwrap_or_else(Vec3::zeros);
        let angles = a.exactly::<3>("euler")?.unwrap_or_default();
        let separator = a.get("sep").unwrap_or("");
        let digits = (count - 1).to_string().len();
        let mut position = Vec3::zeros();
        for copy in 0..count {
            let turn = self.compiler.euler(angles.map(|angle| angle * f64::from(copy)));
            let frame = place.frame * Pose::from_parts(position.into(), turn);
            position += turn * offset;
            let suffix = format!("{separator}{copy:0digits$}{}", place.suffix);
            self.contents(element, &Place { frame, suffix, ..place.clone() }, mass)?;
        }
        Ok(())
    }

    fn inertial(&mut self, element: &Element) -> Result<Inertial, ModelError> {
        schema::check(element, &mut self.report)?;
        let a = Attributes::bare(element);
        let mass = a.exactly::<1>("mass")?.ok_or_else(|| a.error("attribute `mass` is missing"))?[0];
        let pose = self.compiler.pose(&a)?;
        let inertia = match (a.exactly::<6>("fullinertia")?, a.exactly::<3>("diaginertia")?) {
            (Some(_), Some(_)) => return Err(a.error("both `fullinertia` and `diaginertia` are given")),
            (Some([xx, yy, zz, xy, xz, yz]), None) => {
                if pose.rotation != Quat::identity() {
                    return Err(a.error("`fullinertia` and an orientation exclude each other"));
                }
                Mat3::new(xx, xy, xz, xy, yy, yz, xz, yz, zz)
            }
            (None, diagonal) => Mat3::from_diagonal(&Vec3::from(diagonal.unwrap_or_default())),
        };
        let inertial = Inertial { mass, com: Vec3::zeros(), inertia };
        // Refused here, before lower bounds (boundmass, boundinertia) could hide it.
        if mass < 0.0 {
            return Err(a.error(format!("mass must not be negative, found {mass}")));
        }
        if inertial.principal().0.min() < -1e-12 * inertia.amax() {
            return Err(a.error("its inertia is not positive definite"));
        }
        Ok(inertial.moved(&pose))
    }

    fn joint(&mut self, element: &Element, place: &Place) -> Result<(), ModelError> {
        let free = element.tag == "freejoint";
        let a = if free { Attributes::bare(element) } else { self.defaults.apply(element, place.class)? };
        schema::check(element, &mut self.report)?;
        schema::check_values(&a, &mut self.report)?;
        let kind = match a.get("type") {
            _ if free => JointKind::Free,
            Some("free") => JointKind::Free,
            Some("ball") => JointKind::Ball,
            Some("slide") => JointKind::Slide,
            None | Some("hinge") => JointKind::Hinge,
            Some(other) => return Err(a.error(format!("unknown joint type `{other}`"))),
        };
        if kind == JointKind::Free {
            self.check_alignment(&a)?;
        }
        let scalar = matches!(kind, JointKind::Hinge | JointKind::Slide);
        let unit = if matches!(kind, JointKind::Hinge | JointKind::Ball) { self.compiler.angle() } else { 1.0 };
        let axis = a.vector("axis")?.unwrap_or_else(Vec3::z);
        let axis = match axis.try_normalize(1e-14) {
            Some(axis) => place.frame.rotation * axis,
            None if scalar => return Err(a.error("`axis` has zero length")),
            None => Vec3::z(),
        };
        let anchor = a.vector("pos")?.unwrap_or_else(Vec3::zeros);
        let anchor = match kind {
            JointKind::Free => Vec3::zeros(),
            _ => (place.frame * nalgebra::Point3::from(anchor)).coords,
        };
        let range = match kind {
            JointKind::Free => None,
            _ => a.range("range", "limited", self.compiler.autolimits)?.map(|r| r.map(|bound| bound * unit)),
        };
        let (stiffness, damping) = (self.linear(&a, "stiffness")?, self.linear(&a, "damping")?);
        let name = named(element, place);
        if damping < 0.0 {
            self.report.assumptions.push(format!("the joint `{name}` has a negative damping: it adds energy"));
        }
        let joint = self.builder.joint(Joint {
            name: name.clone(),
            body: place.body,
            kind,
            anchor,
            axis,
            range,
            reference: if scalar { a.number("ref", 0.0)? * unit } else { 0.0 },
            stiffness,
            spring_reference: if scalar { a.number("springref", 0.0)? * unit } else { 0.0 },
            damping,
            armature: a.number("armature", 0.0)?,
            dry_friction: a.number("frictionloss", 0.0)?,
            lifted_by_actuators: a.flag("actuatorgravcomp", false)?,
            q_start: 0,
            v_start: 0,
        });
        Self::name(&mut self.names.joints, element, &name, joint)?;
        self.origin(Part::Joint, joint, element);
        self.limit_margins.insert(Bounded::Joint(joint), a.number("margin", 0.0)?);
        if scalar && let Some(force) = a.range("actuatorfrcrange", "actuatorfrclimited", self.compiler.autolimits)? {
            if self.builder.joints[joint].lifted_by_actuators {
                self.report.unsupported(a.element.location(), "actuatorgravcomp=\"true\" beside actuatorfrcrange")?;
            }
            self.joint_force.insert(joint, force);
        }
        let wanted = a.exactly::<2>("springdamper")?.unwrap_or_default();
        if wanted[0] > 0.0 && wanted[1] > 0.0 {
            self.spring_dampers.push((joint, wanted));
        }
        Ok(())
    }

    /// The first coefficient of a force polynomial; the others must be zero.
    pub(super) fn linear(&mut self, a: &Attributes, name: &str) -> Result<f64, ModelError> {
        let [linear, square, cube] = a.overlay::<3>(name, [0.0; 3])?;
        if square != 0.0 || cube != 0.0 {
            self.report.unsupported(a.element.location(), format!("nonlinear `{name}`"))?;
        }
        Ok(linear)
    }

    /// A free joint whose body frame MuJoCo would move to the centre of mass.
    fn check_alignment(&mut self, a: &Attributes) -> Result<(), ModelError> {
        if a.tristate("align")?.unwrap_or(self.compiler.align_free) {
            let what = "aligning the frame of a free body with its inertia; give align=\"false\"";
            self.report.unsupported(a.element.location(), what)?;
        }
        Ok(())
    }

    fn site(&mut self, element: &Element, place: &Place) -> Result<(), ModelError> {
        let a = self.defaults.apply(element, place.class)?;
        let mut size = a.overlay::<3>("size", [SITE_SIZE; 3])?;
        let pose = match a.exactly::<6>("fromto")? {
            Some(ends) => {
                let (pose, length) = from_to(&ends);
                // The last of the sizes that its shape has.
                size[if matches!(a.get("type"), Some("box" | "ellipsoid")) { 2 } else { 1 }] = length / 2.0;
                pose
            }
            None => self.compiler.pose(&a)?,
        };
        let name = named(element, place);
        let [x, y, z] = size;
        let zone = match a.get("type") {
            None | Some("sphere") => Zone::Sphere(x),
            Some("capsule") => Zone::Capsule(x, y),
            Some("ellipsoid") => Zone::Ellipsoid(Vec3::new(x, y, z)),
            Some("cylinder") => Zone::Cylinder(x, y),
            Some("box") => Zone::Box(Vec3::new(x, y, z)),
            Some(other) => return Err(a.error(format!("unknown site type `{other}`"))),
        };
        let site = Site { name: name.clone(), body: place.body, pose: place.frame * pose, zone };
        let site = self.builder.site(site);
        Self::name(&mut self.names.sites, element, &name, site)?;
        self.origin(Part::Site, site, element);
        Ok(())
    }
}

/// Pose and length of what stretches between two points; z points from the second to the first, as in MuJoCo.
pub(super) fn from_to(ends: &[f64; 6]) -> (Pose, f64) {
    let (from, to) = (Vec3::new(ends[0], ends[1], ends[2]), Vec3::new(ends[3], ends[4], ends[5]));
    let length = (from - to).norm();
    let rotation = (from - to).try_normalize(1e-14).map_or(Quat::identity(), from_z);
    (Pose::from_parts(((from + to) / 2.0).into(), rotation), length)
}

/// A name with what replication appends to it.
pub(super) fn named(element: &Element, place: &Place) -> String {
    element.get("name").map(|name| format!("{name}{}", place.suffix)).unwrap_or_default()
}
