//! Sensors. One that is not computed is listed: it changes nothing in how the model moves.

use super::Importer;
use crate::attributes::Attributes;
use crate::sensor::{
    Bounded, ContactOrder, ContactPick, Frame, Instrument, Lens, Measures, OfContact, OfEnergy, OfFrame, OfMotion,
    OfNearest, OfRay, OfSubtree, Party,
};
use crate::validate::Part;
use crate::visual::Following;
use crate::xml::Element;
use crate::{JointKind, Mat3, ModelError, Pose, Quat, Sensor, Shape, Vec3};

/// A sensor, or why it is not computed.
type Found = Result<Measures, String>;

impl Importer<'_> {
    pub(super) fn sensors(&mut self, section: &Element) -> Result<(), ModelError> {
        for element in &section.children {
            self.spend(element)?;
            let a = Attributes::bare(element);
            let found = match a.number("nsample", 0.0)? {
                0.0 => self.measures(&a)?,
                _ => Err("readings of earlier steps are not kept".into()),
            };
            let measures = match found {
                Ok(measures) => measures,
                Err(why) => {
                    self.report.ignore(element.location(), why);
                    continue;
                }
            };
            if a.number("noise", 0.0)? != 0.0 {
                self.report.ignore(element.location(), "noise: readings are exact");
            }
            let cutoff = a.number("cutoff", 0.0)?;
            let name = a.get("name").unwrap_or("").to_owned();
            let sensor = self.builder.sensor(Sensor { name: name.clone(), measures, cutoff });
            Self::name(&mut self.names.sensors, element, &name, sensor)?;
            self.origin(Part::Sensor, sensor, element);
        }
        Ok(())
    }

    fn measures(&mut self, a: &Attributes) -> Result<Found, ModelError> {
        use OfMotion::{Position, Velocity};
        let instrument = |of: Instrument| move |frame: Frame| Measures::Instrument(of, frame);
        Ok(Ok(match a.element.tag.as_str() {
            "jointpos" => Measures::Joint(Position, self.scalar_joint(a)?),
            "jointvel" => Measures::Joint(Velocity, self.scalar_joint(a)?),
            "ballquat" => Measures::Joint(Position, self.ball_joint(a)?),
            "ballangvel" => Measures::Joint(Velocity, self.ball_joint(a)?),
            "jointactuatorfrc" => Measures::JointActuatorForce(self.scalar_joint(a)?),
            "tendonpos" => Measures::Tendon(Position, self.tendon_of(a)?),
            "tendonvel" => Measures::Tendon(Velocity, self.tendon_of(a)?),
            "tendonactuatorfrc" => Measures::TendonActuatorForce(self.tendon_of(a)?),
            "actuatorpos" => Measures::Actuator(Position, self.actuator_of(a)?),
            "actuatorvel" => Measures::Actuator(Velocity, self.actuator_of(a)?),
            "actuatorfrc" => Measures::ActuatorForce(self.actuator_of(a)?),
            "velocimeter" => instrument(Instrument::Velocimeter)(self.site_of(a)?),
            "gyro" => instrument(Instrument::Gyro)(self.site_of(a)?),
            "accelerometer" => instrument(Instrument::Accelerometer)(self.site_of(a)?),
            "force" => instrument(Instrument::Force)(self.site_of(a)?),
            "torque" => instrument(Instrument::Torque)(self.site_of(a)?),
            "magnetometer" => Measures::Magnetometer(self.site_of(a)?, self.magnetic),
            "touch" => {
                let site = Self::required(a, "site", Self::find(&self.names.sites, a, "site")?)?;
                Measures::Touch(self.site_of(a)?, self.builder.sites[site].zone)
            }
            "jointlimitpos" => self.limit_of_joint(a, Position)?,
            "jointlimitvel" => self.limit_of_joint(a, Velocity)?,
            "tendonlimitpos" => self.limit_of_tendon(a, Position)?,
            "tendonlimitvel" => self.limit_of_tendon(a, Velocity)?,
            "insidesite" => {
                let site = Self::required(a, "site", Self::find(&self.names.sites, a, "site")?)?;
                let zone = self.builder.sites[site].zone;
                match self.frame_of(a, "objtype", "objname")? {
                    Ok(own) => Measures::Inside(own, self.site_of(a)?, zone),
                    Err(why) => return Ok(Err(why)),
                }
            }
            "rangefinder" => return self.rangefinder(a),
            "camprojection" => match self.camera_of(a, "camera")? {
                Ok((camera, lens)) => Measures::Projection(self.site_of(a)?, camera, lens),
                Err(why) => return Ok(Err(why)),
            },
            "distance" => return self.nearest(a, OfNearest::Distance),
            "normal" => return self.nearest(a, OfNearest::Normal),
            "fromto" => return self.nearest(a, OfNearest::Segment),
            "contact" => return self.contacts(a),
            "jointlimitfrc" => Measures::LimitForce(Bounded::Joint(self.joint_of(a)?)),
            "tendonlimitfrc" => Measures::LimitForce(Bounded::Tendon(self.tendon_of(a)?)),
            "e_potential" => Measures::Energy(OfEnergy::Potential),
            "e_kinetic" => Measures::Energy(OfEnergy::Kinetic),
            "clock" => Measures::Clock,
            "subtreecom" => Measures::Subtree(OfSubtree::Centre, self.root_of(a)?),
            "subtreelinvel" => Measures::Subtree(OfSubtree::Velocity, self.root_of(a)?),
            "subtreeangmom" => Measures::Subtree(OfSubtree::AngularMomentum, self.root_of(a)?),
            "framepos" => return self.frame_sensor(a, OfFrame::Position),
            "framequat" => return self.frame_sensor(a, OfFrame::Orientation),
            "framexaxis" => return self.frame_sensor(a, OfFrame::Axis(0)),
            "frameyaxis" => return self.frame_sensor(a, OfFrame::Axis(1)),
            "framezaxis" => return self.frame_sensor(a, OfFrame::Axis(2)),
            "framelinvel" => return self.frame_sensor(a, OfFrame::LinearVelocity),
            "frameangvel" => return self.frame_sensor(a, OfFrame::AngularVelocity),
            "framelinacc" => return self.frame_sensor(a, OfFrame::LinearAcceleration),
            "frameangacc" => return self.frame_sensor(a, OfFrame::AngularAcceleration),
            tag if NOT_COMPUTED.contains(&tag) => return Ok(Err(format!("sensors `{tag}` are not computed"))),
            other => return Err(a.element.error(format!("unknown sensor <{other}>"))),
        }))
    }

    /// What a frame sensor measures; `Err` where it is about something that has no frame here.
    fn frame_sensor(&self, a: &Attributes, of: OfFrame) -> Result<Found, ModelError> {
        let frame = match self.frame_of(a, "objtype", "objname")? {
            Ok(frame) => frame,
            Err(why) => return Ok(Err(why)),
        };
        let moving = matches!(of, OfFrame::LinearAcceleration | OfFrame::AngularAcceleration);
        let reference = match (a.has("reftype") || a.has("refname")) && !moving {
            true => match self.frame_of(a, "reftype", "refname")? {
                Ok(frame) => Some(frame),
                Err(why) => return Ok(Err(why)),
            },
            false => None,
        };
        Ok(Ok(Measures::Frame(of, frame, reference)))
    }

    /// The frame that two attributes name.
    fn frame_of(&self, a: &Attributes, kind: &str, name: &str) -> Result<Result<Frame, String>, ModelError> {
        let at = |body: usize, pose: Pose| Ok(Ok(Frame { body, pose }));
        let kind = Self::required(a, kind, a.get(kind))?;
        match kind {
            "xbody" => at(Self::required(a, name, Self::find(&self.names.bodies, a, name)?)?, Pose::identity()),
            "body" => {
                let body = Self::required(a, name, Self::find(&self.names.bodies, a, name)?)?;
                let inertial = &self.builder.bodies[body].inertial;
                let (_, axes) = inertial.principal();
                at(body, Pose::from_parts(inertial.com.into(), right_handed(axes)))
            }
            "site" => {
                let site = &self.builder.sites[Self::required(a, name, Self::find(&self.names.sites, a, name)?)?];
                at(site.body, site.pose)
            }
            "geom" => {
                let given = Self::required(a, name, a.get(name))?;
                match self.names.geoms.get(given).map(|&geom| &self.builder.geoms[geom]) {
                    Some(geom) if !matches!(geom.shape, Shape::Mesh(_) | Shape::Sdf(_)) => at(geom.body, geom.pose),
                    _ => {
                        Ok(Err(format!("`{given}`: frames of meshes, and of geoms that do not collide, are not kept")))
                    }
                }
            }
            "camera" => Ok(self.camera_of(a, name)?.map(|(frame, _)| frame)),
            other => Err(a.error(format!("`{kind}`: unknown object type `{other}`"))),
        }
    }

    /// The frame of a camera that a given attribute names, and how it draws.
    fn camera_of(&self, a: &Attributes, name: &str) -> Result<Result<(Frame, Lens), String>, ModelError> {
        let found = Self::required(a, name, Self::find(&self.names.cameras, a, name)?)?;
        let camera = &self.builder.visual.cameras[found];
        Ok(match camera.following {
            Following::Fixed => Ok((Frame { body: camera.body, pose: camera.pose }, camera.lens)),
            _ => Err(format!("`{}`: of cameras that follow a body only pictures know where they are", camera.name)),
        })
    }

    fn rangefinder(&self, a: &Attributes) -> Result<Found, ModelError> {
        if a.has("camera") {
            return Ok(Err("a rangefinder for every pixel of a camera is not computed: pictures have depths".into()));
        }
        let kinds = [
            ("dist", OfRay::Distance),
            ("dir", OfRay::Direction),
            ("origin", OfRay::Origin),
            ("point", OfRay::Point),
            ("normal", OfRay::Normal),
            // From a site the depth is the distance.
            ("depth", OfRay::Distance),
        ];
        Ok(Ok(Measures::Range(self.site_of(a)?, Self::data(a, "dist", &kinds)?)))
    }

    /// What the attribute `data` asks for, in the order of `kinds`.
    fn data<T: Copy>(a: &Attributes, default: &str, kinds: &[(&str, T)]) -> Result<Vec<T>, ModelError> {
        let mut after = 0;
        let mut all = Vec::new();
        for word in a.get("data").unwrap_or(default).split_whitespace() {
            let names = || kinds.iter().map(|kind| kind.0).collect::<Vec<_>>().join(", ");
            let Some(place) = kinds.iter().position(|kind| kind.0 == word) else {
                return Err(a.error(format!("`data`: expected {}, found `{word}`", names())));
            };
            if place < after {
                return Err(
                    a.error(format!("`data`: `{word}` is out of order or there twice; the order is {}", names()))
                );
            }
            after = place + 1;
            all.push(kinds[place].1);
        }
        if all.is_empty() { Err(a.error("`data` names nothing")) } else { Ok(all) }
    }

    fn nearest(&self, a: &Attributes, of: OfNearest) -> Result<Found, ModelError> {
        let mut lists = [Vec::new(), Vec::new()];
        for (list, [geom, body]) in lists.iter_mut().zip([["geom1", "body1"], ["geom2", "body2"]]) {
            *list = match (a.get(geom), Self::find(&self.names.bodies, a, body)?) {
                (Some(_), None) => vec![Self::required(a, geom, Self::find(&self.names.geoms, a, geom)?)?],
                (None, Some(body)) => {
                    (0..self.builder.geoms.len()).filter(|&geom| self.builder.geoms[geom].body == body).collect()
                }
                _ => return Err(a.error(format!("expected either `{geom}` or `{body}`"))),
            };
        }
        Ok(Ok(Measures::Nearest(of, lists)))
    }

    fn contacts(&self, a: &Attributes) -> Result<Found, ModelError> {
        let party = |number: u32| -> Result<Option<Party>, ModelError> {
            let [geom, body, subtree] = ["geom", "body", "subtree"].map(|kind| format!("{kind}{number}"));
            let found = [
                Self::find(&self.names.geoms, a, &geom)?.map(Party::Geom),
                Self::find(&self.names.bodies, a, &body)?.map(Party::Body),
                Self::find(&self.names.bodies, a, &subtree)?.map(Party::Subtree),
            ];
            if found.iter().flatten().count() > 1 {
                return Err(a.error(format!("expected one of `{geom}`, `{body}` and `{subtree}`")));
            }
            Ok(found.into_iter().flatten().next())
        };
        let between = [party(1)?, party(2)?];
        let within = match Self::find(&self.names.sites, a, "site")? {
            Some(_) if between[0].is_some() => return Err(a.error("`site` goes with the second party alone")),
            Some(site) => Some((self.site_of(a)?, self.builder.sites[site].zone)),
            None => None,
        };
        let kinds = [
            ("found", OfContact::Count),
            ("force", OfContact::Force),
            ("torque", OfContact::Torque),
            ("dist", OfContact::Distance),
            ("pos", OfContact::Position),
            ("normal", OfContact::Normal),
            ("tangent", OfContact::Tangent),
        ];
        let what = Self::data(a, "found", &kinds)?;
        let order = match a.get("reduce").unwrap_or("none") {
            "none" => ContactOrder::Found,
            "mindist" => ContactOrder::Deepest,
            "netforce" if what.iter().any(|of| matches!(of, OfContact::Torque | OfContact::Position)) => {
                return Ok(Err("where a net force acts, and its torque, are not computed".into()));
            }
            "netforce" => ContactOrder::Net,
            "maxforce" => return Ok(Err("contacts in the order of their forces are not computed".into())),
            other => {
                return Err(a.error(format!("`reduce`: expected none, mindist, maxforce or netforce, found `{other}`")));
            }
        };
        let slots = match order {
            ContactOrder::Net => 1,
            _ => usize::try_from(a.integer("num", 1)?)
                .ok()
                .filter(|&num| (1..=MOST_SLOTS).contains(&num))
                .ok_or_else(|| a.error(format!("`num`: expected 1 to {MOST_SLOTS}")))?,
        };
        Ok(Ok(Measures::Contacts(ContactPick { between, within, order, slots }, what)))
    }

    fn required<T>(a: &Attributes, name: &str, found: Option<T>) -> Result<T, ModelError> {
        found.ok_or_else(|| a.error(format!("attribute `{name}` is missing")))
    }

    fn joint_of(&self, a: &Attributes) -> Result<usize, ModelError> {
        Self::required(a, "joint", Self::find(&self.names.joints, a, "joint")?)
    }

    fn scalar_joint(&self, a: &Attributes) -> Result<usize, ModelError> {
        let joint = self.joint_of(a)?;
        match self.builder.joints[joint].kind {
            JointKind::Hinge | JointKind::Slide => Ok(joint),
            kind => Err(a.error(format!("`joint`: expected a hinge or a slide, found {kind:?}"))),
        }
    }

    fn ball_joint(&self, a: &Attributes) -> Result<usize, ModelError> {
        let joint = self.joint_of(a)?;
        match self.builder.joints[joint].kind {
            JointKind::Ball => Ok(joint),
            kind => Err(a.error(format!("`joint`: expected a ball, found {kind:?}"))),
        }
    }

    fn limit_of_joint(&self, a: &Attributes, motion: OfMotion) -> Result<Measures, ModelError> {
        let joint = self.joint_of(a)?;
        let margin = self.limit_margins.get(&Bounded::Joint(joint)).copied().unwrap_or_default();
        Ok(Measures::Limit(motion, Bounded::Joint(joint), margin))
    }

    fn limit_of_tendon(&self, a: &Attributes, motion: OfMotion) -> Result<Measures, ModelError> {
        let tendon = self.tendon_of(a)?;
        let margin = self.limit_margins.get(&Bounded::Tendon(tendon)).copied().unwrap_or_default();
        Ok(Measures::Limit(motion, Bounded::Tendon(tendon), margin))
    }

    fn tendon_of(&self, a: &Attributes) -> Result<usize, ModelError> {
        Self::required(a, "tendon", Self::find(&self.names.tendons, a, "tendon")?)
    }

    fn actuator_of(&self, a: &Attributes) -> Result<usize, ModelError> {
        let name = Self::required(a, "actuator", a.get("actuator"))?;
        let found = self.builder.actuators.iter().position(|actuator| actuator.name == name);
        found.ok_or_else(|| a.error(format!("`actuator`: there is no `{name}`")))
    }

    fn root_of(&self, a: &Attributes) -> Result<usize, ModelError> {
        Self::required(a, "body", Self::find(&self.names.bodies, a, "body")?)
    }

    fn site_of(&self, a: &Attributes) -> Result<Frame, ModelError> {
        let site = Self::required(a, "site", Self::find(&self.names.sites, a, "site")?)?;
        let site = &self.builder.sites[site];
        Ok(Frame { body: site.body, pose: site.pose })
    }
}

/// Contacts that one sensor shows at most.
const MOST_SLOTS: usize = 1000;

/// MuJoCo's sensors that are not computed.
const NOT_COMPUTED: [&str; 4] = ["tactile", "user", "plugin", "config"];

/// Principal axes as an orientation.
fn right_handed(mut axes: Mat3) -> Quat {
    if axes.determinant() < 0.0 {
        let flipped: Vec3 = -axes.column(2);
        axes.set_column(2, &flipped);
    }
    Quat::from_matrix(&axes)
}
