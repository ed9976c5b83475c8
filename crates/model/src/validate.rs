//! What must hold of a model, checked on the builder's lists before anything indexes them.

mod soft;
mod values;

use values::{
    Check, check_contacting, check_heightfield, check_inertial, check_mesh, check_pose, check_restitution, finite,
    index_of, non_negative, ordered, positive, two,
};
pub(crate) use values::{is_triangle, shape};

use crate::{
    Actuator, Bounded, Dynamics, EqualityKind, Frame, Inertial, Joint, JointKind, Measures, ModelBuilder, ModelError,
    OfFrame, Party, Path, Sensor, Shape, Tendon, Transmission, Waypoint,
};

/// Smaller masses (kg) and moments (kg m^2) of moving bodies are as good as none, as in MuJoCo.
const MIN_INERTIA: f64 = 1e-15;
/// A kind of part; its display starts the name of an element in errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Part {
    Options,
    Body,
    Joint,
    Geom,
    Mesh,
    HeightField,
    Sdf,
    Site,
    FluidShape,
    Tendon,
    Actuator,
    Sensor,
    Equality,
    Pair,
    Exclude,
    Keyframe,
    SoftBody,
}

/// The first thing found wrong.
#[derive(Debug)]
pub(crate) struct Defect {
    pub(crate) part: Part,
    pub(crate) index: usize,
    pub(crate) name: String,
    pub(crate) message: String,
}

impl From<Defect> for ModelError {
    fn from(defect: Defect) -> Self {
        let kind = match defect.part {
            Part::Options => "options",
            Part::Body => "body",
            Part::Joint => "joint",
            Part::Geom => "geom",
            Part::Mesh => "mesh",
            Part::HeightField => "heightfield",
            Part::Sdf => "distance function",
            Part::Site => "site",
            Part::FluidShape => "fluid shape",
            Part::Tendon => "tendon",
            Part::Actuator => "actuator",
            Part::Sensor => "sensor",
            Part::Equality => "equality",
            Part::Pair => "pair",
            Part::Exclude => "exclude",
            Part::Keyframe => "keyframe",
            Part::SoftBody => "soft body",
        };
        let element = match (defect.part, defect.name.as_str()) {
            (Part::Options, _) => kind.to_owned(),
            (_, "") => format!("{kind} {}", defect.index),
            (_, name) => format!("{kind} {} \"{name}\"", defect.index),
        };
        Self::Invalid { element, message: defect.message }
    }
}

/// What a body's joints are checked against.
#[derive(Debug, Clone, Default)]
struct JointsOfBody {
    count: usize,
    /// The last that rotates.
    rotating: Option<usize>,
}

impl ModelBuilder {
    /// Checks every part, in an order in which later checks may rely on earlier ones.
    pub(crate) fn validate(&self) -> Result<(), Defect> {
        fn each<T>(
            part: Part,
            items: &[T],
            name: impl Fn(&T) -> &str,
            check: impl Fn(usize, &T) -> Check,
        ) -> Result<(), Defect> {
            items.iter().enumerate().try_for_each(|(index, item)| {
                check(index, item).map_err(|message| Defect { part, index, name: name(item).to_owned(), message })
            })
        }
        each(
            Part::Options,
            &[self.options],
            |_| "",
            |_, options| {
                positive("time step", options.timestep)?;
                finite("gravity", options.gravity.as_slice())?;
                finite("wind", options.fluid.wind.as_slice())?;
                non_negative("density", options.fluid.density)?;
                non_negative("viscosity", options.fluid.viscosity)
            },
        )?;
        each(Part::Body, &self.bodies, |b| &b.name, |i, _| self.check_body(i))?;
        let joints = self.joints_of_bodies();
        each(Part::Joint, &self.joints, |j| &j.name, |i, joint| self.check_joint(i, joint, &joints))?;
        for (number, &index) in self.mocaps.iter().enumerate() {
            index_of("body", index, self.bodies.len())
                .and_then(|()| self.check_mocap(number, &joints))
                .map_err(|message| Defect { part: Part::Body, index, name: String::new(), message })?;
        }
        let masses = self.rigid_masses();
        each(
            Part::Body,
            &self.bodies,
            |b| &b.name,
            |i, _| if joints[i].count > 0 { check_moving(&masses[i]) } else { Ok(()) },
        )?;
        each(Part::Mesh, &self.meshes, |m| &m.name, |_, mesh| check_mesh(mesh))?;
        each(Part::HeightField, &self.heightfields, |h| &h.name, |_, field| check_heightfield(field))?;
        each(Part::Sdf, &self.sdfs, |s| &s.name, |_, sdf| sdf.check())?;
        let moving = self.moving();
        each(
            Part::Geom,
            &self.geoms,
            |g| &g.name,
            |_, geom| {
                index_of("body", geom.body, self.bodies.len())?;
                check_pose(&geom.pose)?;
                shape(&geom.shape)?;
                match geom.shape {
                    Shape::Mesh(mesh) => index_of("mesh", mesh, self.meshes.len())?,
                    Shape::HeightField(field) => index_of("heightfield", field, self.heightfields.len())?,
                    Shape::Sdf(sdf) => index_of("distance function", sdf, self.sdfs.len())?,
                    _ => {}
                }
                if moving[geom.body] && matches!(geom.shape, Shape::Plane | Shape::HeightField(_)) {
                    return Err("planes and heightfields must be fixed to the ground, this one's body moves".into());
                }
                check_contacting(&geom.contact)
            },
        )?;
        each(
            Part::Site,
            &self.sites,
            |s| &s.name,
            |_, site| {
                index_of("body", site.body, self.bodies.len())?;
                check_pose(&site.pose)
            },
        )?;
        each(
            Part::FluidShape,
            &self.fluid_shapes,
            |_| "",
            |_, shape| {
                index_of("body", shape.body, self.bodies.len())?;
                check_pose(&shape.pose)?;
                finite("coefficients", &shape.coefficients)?;
                shape.radii.iter().try_for_each(|&radius| positive("radius", radius))
            },
        )?;
        each(Part::SoftBody, &self.soft, |(s, _)| &s.name, |_, (soft, _)| self.check_soft_body(soft))?;
        each(Part::Tendon, &self.tendons, |t| &t.name, |_, tendon| self.check_tendon(tendon))?;
        each(Part::Actuator, &self.actuators, |a| &a.name, |_, actuator| self.check_actuator(actuator))?;
        each(Part::Sensor, &self.sensors, |s| &s.name, |_, sensor| self.check_sensor(sensor))?;
        each(Part::Equality, &self.equalities, |e| &e.name, |_, equality| self.check_equality(&equality.kind))?;
        each(
            Part::Pair,
            &self.pairs,
            |_| "",
            |_, pair| {
                two("geom", pair.geoms, self.geoms.len())?;
                non_negative("friction", pair.friction)?;
                non_negative("margin", pair.margin)?;
                non_negative("gap", pair.gap)?;
                check_restitution(pair.restitution)
            },
        )?;
        each(
            Part::Exclude,
            &self.excludes,
            |_| "",
            |_, &(first, second)| {
                index_of("body", first, self.bodies.len())?;
                index_of("body", second, self.bodies.len())
            },
        )?;
        let soft: usize = self.soft.iter().map(|(s, _)| 3 * (s.nodes.len() - s.pinned.len())).sum();
        let n_q = self.joints.iter().map(|j| j.kind.n_q()).sum::<usize>() + soft;
        let n_v = self.joints.iter().map(|j| j.kind.n_v()).sum::<usize>() + soft;
        each(
            Part::Keyframe,
            &self.keyframes,
            |k| &k.name,
            |_, key| {
                let n_act = self.actuators.iter().filter(|actuator| actuator.activation.is_some()).count();
                let n_u = self.actuators.len();
                let lists =
                    [("q", &key.q, n_q), ("v", &key.v, n_v), ("ctrl", &key.ctrl, n_u), ("act", &key.act, n_act)];
                if !key.mocap.is_empty() && key.mocap.len() != self.mocaps.len() {
                    let (expected, found) = (self.mocaps.len(), key.mocap.len());
                    return Err(format!("`mocap` needs {expected} poses, found {found}"));
                }
                key.mocap.iter().try_for_each(check_pose)?;
                for (name, list, expected) in lists {
                    if list.len() != expected {
                        return Err(format!("`{name}` needs {expected} numbers, found {}", list.len()));
                    }
                    finite(name, list)?;
                }
                Ok(())
            },
        )
    }

    fn check_body(&self, index: usize) -> Check {
        let body = &self.bodies[index];
        if index == 0 {
            return if body.parent == 0 { Ok(()) } else { Err("the ground must be its own parent".into()) };
        }
        if body.parent >= self.bodies.len() {
            return Err(format!("its parent {} is not there, there are {} bodies", body.parent, self.bodies.len()));
        }
        if body.parent >= index {
            return Err(format!("its parent {} does not come before it: the bodies form a loop", body.parent));
        }
        check_pose(&body.pose)?;
        finite("gravity compensation", &[body.gravity_compensation])?;
        check_inertial(&body.inertial)
    }

    /// `of_bodies`: from [`Self::joints_of_bodies`].
    fn check_mocap(&self, number: usize, of_bodies: &[JointsOfBody]) -> Check {
        let body = self.mocaps[number];
        if body == 0 || self.bodies[body].parent != 0 || of_bodies[body].count > 0 {
            return Err("a mocap body must be fixed to the ground, without joints".into());
        }
        if self.mocaps[..number].contains(&body) {
            return Err("it is made a mocap body twice".into());
        }
        Ok(())
    }

    /// `of_bodies`: from [`Self::joints_of_bodies`].
    fn check_joint(&self, index: usize, joint: &Joint, of_bodies: &[JointsOfBody]) -> Check {
        index_of("body", joint.body, self.bodies.len())?;
        if joint.body == 0 {
            return Err("the ground cannot have a joint".into());
        }
        finite("anchor", joint.anchor.as_slice())?;
        finite("axis", joint.axis.as_slice())?;
        // Some identified models have a negative one.
        finite("damping", &[joint.damping])?;
        finite("reference", &[joint.reference, joint.spring_reference])?;
        let scalar = matches!(joint.kind, JointKind::Hinge | JointKind::Slide);
        if scalar && joint.axis.norm() < 1e-14 {
            return Err("its axis has zero length".into());
        }
        let amounts =
            [("stiffness", joint.stiffness), ("armature", joint.armature), ("dry friction", joint.dry_friction)];
        amounts.into_iter().try_for_each(|(name, amount)| non_negative(name, amount))?;
        match (joint.kind, joint.range) {
            (_, None) => {}
            (JointKind::Free, Some(_)) => return Err("a free joint cannot have a range".into()),
            (JointKind::Ball, Some([low, high])) if low != 0.0 || high.is_nan() || high <= 0.0 => {
                return Err(format!(
                    "the range of a ball joint must be from 0 to a positive angle, found {low} to {high}"
                ));
            }
            (_, Some(range)) => {
                finite("range", &range)?;
                ordered("range", range)?;
            }
        }
        let own = &of_bodies[joint.body];
        match joint.kind {
            JointKind::Free if self.bodies[joint.body].parent != 0 => {
                Err("a free joint must be on a body whose parent is the ground".into())
            }
            JointKind::Free if own.count > 1 => Err("a free joint must be the only joint of its body".into()),
            JointKind::Ball if own.rotating != Some(index) => {
                Err("a ball joint must be the last rotating joint of its body".into())
            }
            _ => Ok(()),
        }
    }

    /// Mass properties of every body together with what is welded to it, in the body's frame.
    fn rigid_masses(&self) -> Vec<Inertial> {
        let jointed = self.jointed();
        let mut masses: Vec<Inertial> = self.bodies.iter().map(|b| b.inertial).collect();
        for (index, body) in self.bodies.iter().enumerate().skip(1).rev() {
            if !jointed[index] {
                masses[body.parent] = Inertial::sum(&[masses[body.parent], masses[index].moved(&body.pose)]);
            }
        }
        masses
    }

    /// Of each body; joints that name no body are left out.
    fn joints_of_bodies(&self) -> Vec<JointsOfBody> {
        let mut of_bodies = vec![JointsOfBody::default(); self.bodies.len()];
        for (index, joint) in self.joints.iter().enumerate() {
            let Some(body) = of_bodies.get_mut(joint.body) else { continue };
            body.count += 1;
            if joint.kind != JointKind::Slide {
                body.rotating = Some(index);
            }
        }
        of_bodies
    }

    fn jointed(&self) -> Vec<bool> {
        let mut jointed = vec![false; self.bodies.len()];
        self.joints.iter().for_each(|joint| jointed[joint.body] = true);
        jointed
    }

    /// Which bodies can move at all.
    fn moving(&self) -> Vec<bool> {
        let mut moving = self.jointed();
        for index in 1..self.bodies.len() {
            moving[index] |= moving[self.bodies[index].parent];
        }
        moving
    }

    fn check_tendon(&self, tendon: &Tendon) -> Check {
        non_negative("stiffness", tendon.stiffness)?;
        non_negative("damping", tendon.damping)?;
        non_negative("dry friction", tendon.dry_friction)?;
        if let Some(range) = tendon.range {
            finite("range", &range)?;
            ordered("range", range)?;
        }
        if let Some(lengths) = tendon.spring_length {
            finite("spring length", &lengths)?;
            ordered("spring length", lengths)?;
        }
        match &tendon.path {
            Path::Fixed(terms) if terms.is_empty() => Err("its path is empty".into()),
            Path::Fixed(terms) => terms.iter().try_for_each(|&(joint, coefficient)| {
                index_of("joint", joint, self.joints.len())?;
                finite("coefficient", &[coefficient])?;
                match self.joints[joint].kind {
                    JointKind::Hinge | JointKind::Slide => Ok(()),
                    kind => Err(format!("a fixed tendon needs hinges and slides, joint {joint} is {kind:?}")),
                }
            }),
            Path::Spatial(points) => self.check_path(points),
        }
    }

    fn check_path(&self, points: &[Waypoint]) -> Check {
        let site = |at: Option<usize>| at.and_then(|at| points.get(at)).is_some_and(|p| matches!(p, Waypoint::Site(_)));
        if points.len() < 2 {
            return Err(format!("a path through space needs two sites at least, found {} objects", points.len()));
        }
        for (at, point) in points.iter().enumerate() {
            match point {
                Waypoint::Site(number) => {
                    index_of("site", *number, self.sites.len())?;
                    let neighbour = |at: Option<usize>| {
                        at.and_then(|at| points.get(at)).is_some_and(|p| !matches!(p, Waypoint::Pulley(_)))
                    };
                    if !neighbour(at.checked_sub(1)) && !neighbour(Some(at + 1)) {
                        return Err(format!("object {at} of its path, a site, needs a neighbour that is no pulley"));
                    }
                }
                Waypoint::Pulley(divisor) => {
                    positive("divisor of a pulley", *divisor)?;
                    if !site(Some(at + 1)) {
                        return Err(format!("object {at} of its path, a pulley, needs a site behind it"));
                    }
                }
                Waypoint::Obstacle(obstacle) => {
                    index_of("body", obstacle.body, self.bodies.len())?;
                    check_pose(&obstacle.pose)?;
                    positive("radius of an obstacle", obstacle.radius)?;
                    obstacle.side.map_or(Ok(()), |side| index_of("site", side, self.sites.len()))?;
                    if !site(at.checked_sub(1)) || !site(Some(at + 1)) {
                        return Err(format!("object {at} of its path, an obstacle, needs a site before and behind it"));
                    }
                }
            }
        }
        Ok(())
    }

    fn check_sensor(&self, sensor: &Sensor) -> Check {
        let body = |index: usize| index_of("body", index, self.bodies.len());
        let frame = |frame: &Frame| body(frame.body).and_then(|()| check_pose(&frame.pose));
        let scalar = |joint: usize| match self.joints[joint].kind {
            JointKind::Hinge | JointKind::Slide => Ok(()),
            kind => Err(format!("it needs a hinge or a slide, joint {joint} is {kind:?}")),
        };
        non_negative("cutoff", sensor.cutoff)?;
        match &sensor.measures {
            Measures::Joint(_, joint) => {
                index_of("joint", *joint, self.joints.len())?;
                if self.joints[*joint].kind == JointKind::Ball { Ok(()) } else { scalar(*joint) }
            }
            Measures::JointActuatorForce(joint) => {
                index_of("joint", *joint, self.joints.len()).and_then(|()| scalar(*joint))
            }
            Measures::Tendon(_, tendon) | Measures::TendonActuatorForce(tendon) => {
                index_of("tendon", *tendon, self.tendons.len())
            }
            Measures::Actuator(_, actuator) | Measures::ActuatorForce(actuator) => {
                index_of("actuator", *actuator, self.actuators.len())
            }
            Measures::Frame(OfFrame::Axis(axis), ..) if *axis > 2 => Err(format!("there is no axis {axis}")),
            Measures::Frame(_, own, reference) => {
                frame(own)?;
                reference.as_ref().map_or(Ok(()), frame)
            }
            Measures::Instrument(_, own) => frame(own),
            Measures::Limit(_, of, margin) => {
                finite("margin", &[*margin])?;
                match *of {
                    Bounded::Joint(joint) => index_of("joint", joint, self.joints.len()),
                    Bounded::Tendon(tendon) => index_of("tendon", tendon, self.tendons.len()),
                }
            }
            Measures::Inside(own, zone, shape) => {
                frame(own)?;
                frame(zone)?;
                shape.sizes().into_iter().try_for_each(|size| positive("size", size))
            }
            Measures::Range(own, _) => frame(own),
            Measures::Projection(own, camera, lens) => {
                frame(own)?;
                frame(camera)?;
                finite("focal length", &lens.focal)?;
                finite("middle of the picture", &lens.middle)
            }
            Measures::Nearest(_, geoms) => {
                geoms.iter().flatten().try_for_each(|&geom| index_of("geom", geom, self.geoms.len()))
            }
            Measures::Contacts(pick, _) => {
                if let Some((own, zone)) = &pick.within {
                    frame(own)?;
                    zone.sizes().iter().try_for_each(|&size| positive("size of the zone", size))?;
                }
                pick.between.iter().flatten().try_for_each(|party| match *party {
                    Party::Geom(geom) => index_of("geom", geom, self.geoms.len()),
                    Party::Body(own) | Party::Subtree(own) => body(own),
                })
            }
            Measures::LimitForce(Bounded::Joint(joint)) => index_of("joint", *joint, self.joints.len()),
            Measures::LimitForce(Bounded::Tendon(tendon)) => index_of("tendon", *tendon, self.tendons.len()),
            Measures::Energy(_) | Measures::Clock => Ok(()),
            Measures::Magnetometer(own, field) => {
                frame(own)?;
                finite("magnetic field", field.as_slice())
            }
            Measures::Subtree(_, root) => body(*root),
            Measures::Touch(own, zone) => {
                frame(own)?;
                zone.sizes().iter().try_for_each(|&size| positive("size of the zone", size))
            }
        }
    }

    fn check_actuator(&self, actuator: &Actuator) -> Check {
        match actuator.transmission {
            Transmission::Joint(joint) | Transmission::JointInParent(joint) => {
                index_of("joint", joint, self.joints.len())?;
                if actuator.bias[1] != 0.0 && self.joints[joint].kind == JointKind::Free {
                    return Err("a position term needs a hinge, slide or ball joint, found a free one".into());
                }
            }
            Transmission::Tendon(tendon) => index_of("tendon", tendon, self.tendons.len())?,
            Transmission::Site { site, reference } => {
                index_of("site", site, self.sites.len())?;
                reference.map_or(Ok(()), |reference| index_of("site", reference, self.sites.len()))?;
            }
            Transmission::SliderCrank { crank, slider, rod } => {
                two("site", [crank, slider], self.sites.len())?;
                positive("rod", rod)?;
            }
            Transmission::Adhesion(body) => {
                index_of("body", body, self.bodies.len())?;
                if !actuator.is_plain() || actuator.bias[1..] != [0.0; 2] {
                    return Err("of contacts it must have a constant gain and no dynamics".into());
                }
            }
            Transmission::Region { soft, region } => {
                index_of("soft body", soft, self.soft.len())?;
                index_of("region", region, self.soft[soft].0.regions.len())?;
                if !actuator.is_plain() || actuator.bias[1..] != [0.0; 2] {
                    return Err("of a region it must have a constant gain and no dynamics".into());
                }
            }
        }
        finite("gear", &actuator.gear)?;
        finite("gain", &actuator.gain)?;
        finite("bias", &actuator.bias)?;
        if let Some(activation) = &actuator.activation {
            match activation.dynamics {
                Dynamics::Integrator => {}
                Dynamics::Filter { time } | Dynamics::FilterExact { time } => positive("time constant", time)?,
                Dynamics::Muscle { times, smoothing } => {
                    times.iter().try_for_each(|&time| positive("time constant", time))?;
                    non_negative("smoothing", smoothing)?;
                }
            }
            activation.range.map_or(Ok(()), |range| ordered("activation range", range))?;
        }
        if let Some(muscle) = &actuator.muscle {
            let [low, high] = muscle.length_range;
            positive("extent of its length range", high - low)?;
            positive("extent of its range", muscle.range[1] - muscle.range[0])?;
            positive("fastest speed", muscle.fastest)?;
            positive("scale", muscle.scale)?;
            muscle.force.map_or(Ok(()), |force| non_negative("peak force", force))?;
            let rest = [muscle.shortest, muscle.longest, muscle.passive_force, muscle.stretched_force];
            finite("curves of the muscle", &rest)?;
            if muscle.shortest >= 1.0 || muscle.longest <= 1.0 {
                return Err("a muscle's shortest length must be below 1 and its longest above".into());
            }
        }
        actuator.ctrl_range.map_or(Ok(()), |range| ordered("control range", range))?;
        actuator.force_range.map_or(Ok(()), |range| ordered("force range", range))
    }

    fn check_equality(&self, kind: &EqualityKind) -> Check {
        match kind {
            EqualityKind::Connect { bodies, anchors } => {
                two("body", *bodies, self.bodies.len())?;
                anchors.iter().try_for_each(|anchor| finite("anchor", anchor.as_slice()))
            }
            EqualityKind::Weld { bodies, frames } => {
                two("body", *bodies, self.bodies.len())?;
                frames.iter().try_for_each(check_pose)
            }
            EqualityKind::Coupling { joint, driver, coefficients } => {
                match *driver {
                    Some(driver) => two("joint", [*joint, driver], self.joints.len())?,
                    None => index_of("joint", *joint, self.joints.len())?,
                }
                for index in [Some(*joint), *driver].into_iter().flatten() {
                    let kind = self.joints[index].kind;
                    if matches!(kind, JointKind::Ball | JointKind::Free) {
                        return Err(format!("only hinge and slide joints can be coupled, joint {index} is {kind:?}"));
                    }
                }
                finite("coefficients", coefficients)
            }
            EqualityKind::TendonCoupling { tendon, driver, coefficients } => {
                match *driver {
                    Some(driver) => two("tendon", [*tendon, driver], self.tendons.len())?,
                    None => index_of("tendon", *tendon, self.tendons.len())?,
                }
                finite("coefficients", coefficients)
            }
        }
    }
}

/// `mass`: of a body with a joint, with all that is welded to it.
fn check_moving(mass: &Inertial) -> Check {
    let kilograms = mass.mass;
    if kilograms.is_nan() || kilograms <= MIN_INERTIA {
        return Err(format!("it has a joint and so needs a positive mass, found {kilograms} kg"));
    }
    let least = mass.principal().0.min();
    if least.is_nan() || least <= MIN_INERTIA {
        let what = "it has a joint and so needs a positive definite inertia";
        return Err(format!("{what}, found a principal moment of {least:e} kg m^2"));
    }
    Ok(())
}
