//! Actuators: transmission, force law and dynamics.

use super::{Importer, schema};
use crate::attributes::Attributes;
use crate::validate::Part;
use crate::xml::Element;
use crate::{Activation, Actuator, Dynamics, JointKind, ModelError, Muscle, Path, Transmission};

/// The force law as MuJoCo keeps it, after each layer of defaults and at last the element itself.
#[derive(Debug, Clone)]
struct Law {
    gain_type: String,
    gain: [f64; 10],
    bias_type: String,
    bias: [f64; 10],
    dynamics_type: String,
    dynamics: [f64; 10],
    /// The shortcut only acts with a bounded control.
    bounded: bool,
    /// `inheritrange`, where no `ctrlrange` came behind it.
    inherit_range: f64,
}

/// Which attribute names the target of a transmission; what is given last in this order counts, as in MuJoCo.
const TARGETS: [&str; 6] = ["joint", "jointinparent", "tendon", "cranksite", "site", "body"];

impl Importer<'_> {
    pub(super) fn actuators(&mut self, section: &Element) -> Result<(), ModelError> {
        for element in &section.children {
            self.actuator(element)?;
        }
        self.clamp_tendon_forces()?;
        self.clamp_joint_forces()
    }

    fn actuator(&mut self, element: &Element) -> Result<(), ModelError> {
        let known =
            ["motor", "position", "velocity", "intvelocity", "damper", "cylinder", "muscle", "adhesion", "general"];
        if !known.contains(&element.tag.as_str()) {
            return self.report.unsupported(element.location(), format!("actuator <{}>", element.tag));
        }
        schema::check(element, &mut self.report)?;
        let a = self.defaults.apply(element, 0)?;
        schema::check_values(&a, &mut self.report)?;
        let Some(transmission) = self.transmission(&a)? else { return Ok(()) };
        let law = Law::fold(&a)?;
        let gear = a.overlay::<6>("gear", [1.0, 0.0, 0.0, 0.0, 0.0, 0.0])?;
        let actuator = Actuator { name: element.get("name").unwrap_or("").to_owned(), gear, ..self.force(&a, &law)? };
        let actuator = match self.bounds(&a, &law, transmission, actuator)? {
            Some(actuator) => Actuator { transmission, ..actuator },
            None => return Ok(()),
        };
        let index = self.builder.actuators.len();
        let joint = actuator.joint();
        if actuator.bias[2] > 0.0 && law.gain_type == "fixed" && law.gain[0] == -law.bias[1] {
            match joint {
                Some(_) => self.damp_ratios.push((index, law.bias[2])),
                None => return self.report.unsupported(element.location(), "dampratio of another target than a joint"),
            }
        }
        let gear = actuator.gear[0];
        self.builder.actuator(actuator);
        self.origin(Part::Actuator, index, element);
        let (armature, damping) = (a.number("armature", 0.0)?, self.linear(&a, "damping")?);
        if (armature, damping) != (0.0, 0.0) {
            let joint = joint.map(|joint| &mut self.builder.joints[joint]);
            let Some(joint) = joint.filter(|j| matches!(j.kind, JointKind::Hinge | JointKind::Slide)) else {
                let what = "armature or damping of another target than a hinge or slide";
                return self.report.unsupported(element.location(), what);
            };
            // Reflected through the gear, which scales forces and velocities both.
            joint.armature += armature * gear * gear;
            joint.damping += damping * gear * gear;
        }
        Ok(())
    }

    /// `None` for one that is not supported and may be left out.
    fn transmission(&mut self, a: &Attributes) -> Result<Option<Transmission>, ModelError> {
        let given = TARGETS.iter().copied().rfind(|target| a.has(target));
        let site = |name: &str| Self::find(&self.names.sites, a, name);
        let found = match given {
            Some("joint") => Self::find(&self.names.joints, a, "joint")?.map(Transmission::Joint),
            Some("jointinparent") => {
                Self::find(&self.names.joints, a, "jointinparent")?.map(Transmission::JointInParent)
            }
            Some("tendon") => Self::find(&self.names.tendons, a, "tendon")?.map(Transmission::Tendon),
            Some("site") => {
                let reference = site("refsite")?;
                site("site")?.map(|site| Transmission::Site { site, reference })
            }
            Some("cranksite") => {
                let slider = site("slidersite")?.ok_or_else(|| a.error("a crank needs a `slidersite`"))?;
                let rod = a.number("cranklength", 0.0)?;
                if rod <= 0.0 {
                    return Err(a.error(format!("`cranklength` must be positive, found {rod}")));
                }
                site("cranksite")?.map(|crank| Transmission::SliderCrank { crank, slider, rod })
            }
            Some("body") => Self::find(&self.names.bodies, a, "body")?.map(Transmission::Adhesion),
            Some(other) => {
                let what = format!("the transmission {other}=\"{}\"", a.get(other).unwrap_or_default());
                self.report.unsupported(a.element.location(), what)?;
                return Ok(None);
            }
            None => None,
        };
        // Both directions of gear say the same of a hinge or slide.
        let found = found.map(|transmission| match transmission {
            Transmission::JointInParent(joint)
                if matches!(self.builder.joints[joint].kind, JointKind::Hinge | JointKind::Slide) =>
            {
                Transmission::Joint(joint)
            }
            other => other,
        });
        let what = "an actuator needs a `joint`, `jointinparent`, `tendon`, `site`, `cranksite` or `body`";
        found.map(Some).ok_or_else(|| a.error(what))
    }

    /// Gain, bias and dynamics.
    fn force(&mut self, a: &Attributes, law: &Law) -> Result<Actuator, ModelError> {
        let mut actuator = Actuator::new("", Transmission::Joint(0));
        let three = |from: &[f64; 10]| [from[0], from[1], from[2]];
        let mut refuse =
            |name: &str, value: &str| self.report.unsupported(a.element.location(), format!("{name}=\"{value}\""));
        let mut muscle = None;
        match law.gain_type.as_str() {
            "fixed" => actuator.gain = [law.gain[0], 0.0, 0.0],
            "affine" => actuator.gain = three(&law.gain),
            "muscle" => muscle = Some((&law.gain, true)),
            other => refuse("gaintype", other)?,
        }
        match law.bias_type.as_str() {
            "none" => {}
            "affine" => actuator.bias = three(&law.bias),
            "muscle" if muscle.is_none() || law.bias == law.gain => {
                muscle = Some((&law.bias, muscle.is_some()));
            }
            "muscle" => refuse("biastype", "muscle with other parameters than the gain's")?,
            other => refuse("biastype", other)?,
        }
        if let Some((&prm, active)) = muscle {
            let [low, high, force, scale, shortest, longest, fastest, passive_force, stretched_force, _] = prm;
            if low >= high || shortest >= 1.0 || longest <= 1.0 || fastest <= 0.0 {
                return Err(a.error("a muscle needs range[0] < range[1], lmin < 1 < lmax and vmax above zero"));
            }
            let Some(length_range) = a.exactly::<2>("lengthrange")?.filter(|[low, high]| low < high) else {
                refuse("gaintype", "muscle without a lengthrange, which MuJoCo finds by simulation")?;
                return Ok(actuator);
            };
            actuator.muscle = Some(Muscle {
                range: [low, high],
                force: (force >= 0.0).then_some(force),
                scale,
                shortest,
                longest,
                fastest,
                passive_force,
                stretched_force,
                length_range,
                active,
                passive: law.bias_type == "muscle",
            });
        }
        let time = law.dynamics[0].max(LEAST_TIME);
        let dynamics = match law.dynamics_type.as_str() {
            "none" => None,
            "integrator" => Some(Dynamics::Integrator),
            "filter" => Some(Dynamics::Filter { time }),
            "filterexact" => Some(Dynamics::FilterExact { time }),
            "muscle" => {
                let [rise, fall, smoothing, ..] = law.dynamics;
                Some(Dynamics::Muscle { times: [rise, fall], smoothing })
            }
            other => {
                refuse("dyntype", other)?;
                None
            }
        };
        actuator.activation = match dynamics {
            None => None,
            Some(dynamics) => Some(Activation { dynamics, range: None, early: a.flag("actearly", false)? }),
        };
        let wanted = i32::from(actuator.activation.is_some());
        let given = a.integer("actdim", -1)?;
        if given >= 0 && given != wanted {
            return Err(a.error(format!("`actdim` must be {wanted} here, found {given}")));
        }
        Ok(actuator)
    }

    /// What controls, forces and activations are clamped to.
    fn bounds(
        &mut self,
        a: &Attributes,
        law: &Law,
        transmission: Transmission,
        mut actuator: Actuator,
    ) -> Result<Option<Actuator>, ModelError> {
        let autolimits = self.compiler.autolimits;
        actuator.ctrl_range = a.range("ctrlrange", "ctrllimited", autolimits)?;
        if law.bounded && actuator.ctrl_range.is_none() {
            actuator.ctrl_range = Some(a.exactly::<2>("ctrlrange")?.unwrap_or([0.0; 2]));
            if actuator.ctrl_range == Some([0.0; 2]) {
                return Err(a.error(format!("<{}> needs a `ctrlrange`", a.element.tag)));
            }
        }
        actuator.force_range = a.range("forcerange", "forcelimited", autolimits)?;
        let inherited = self.inherited_range(a, law.inherit_range, transmission)?;
        if inherited.is_some() && law.dynamics_type != "integrator" {
            actuator.ctrl_range = inherited;
        }
        let Some(activation) = &mut actuator.activation else {
            return Ok(Some(actuator));
        };
        activation.range = a.range("actrange", "actlimited", autolimits)?;
        if inherited.is_some() && law.dynamics_type == "integrator" {
            activation.range = inherited;
        }
        Ok(Some(actuator))
    }

    /// `inheritrange`: controls range over that multiple of the joint's range, about its middle.
    fn inherited_range(
        &self,
        a: &Attributes,
        factor: f64,
        transmission: Transmission,
    ) -> Result<Option<[f64; 2]>, ModelError> {
        if factor <= 0.0 {
            return Ok(None);
        }
        if a.tristate("ctrllimited")? == Some(false) {
            return Ok(None);
        }
        let Transmission::Joint(joint) = transmission else {
            return Err(a.error("`inheritrange` needs a hinge or slide with a range as target"));
        };
        let Some([low, high]) = self.builder.joints[joint].range else {
            return Err(a.error("`inheritrange`: the joint has no range"));
        };
        let (middle, reach) = ((low + high) / 2.0, (high - low) / 2.0 * factor);
        Ok(Some([middle - reach, middle + reach]))
    }

    /// A tendon's `actuatorfrcrange` becomes the force range of its only actuator, which counts without its gear, as in MuJoCo.
    fn clamp_tendon_forces(&mut self) -> Result<(), ModelError> {
        for (tendon, [low, high]) in std::mem::take(&mut self.tendon_force) {
            let pulls = |a: &&mut Actuator| a.transmission == Transmission::Tendon(tendon);
            let mut pulling = self.builder.actuators.iter_mut().filter(pulls);
            let Some(actuator) = pulling.next() else { continue };
            if pulling.next().is_some() {
                if let Some(location) = self.origins.get(&(Part::Tendon, tendon)).cloned() {
                    self.report.unsupported(location, "actuatorfrcrange over several actuators of one tendon")?;
                }
                continue;
            }
            // The actuator's own range comes behind the tendon's.
            let [least, most] = actuator.force_range.unwrap_or([f64::NEG_INFINITY, f64::INFINITY]);
            actuator.force_range = Some([low, high].map(|bound| bound.clamp(least, most)));
        }
        Ok(())
    }

    /// Without actuators MuJoCo leaves out what their joints would compensate gravity by; a body's is here for all joints or none.
    pub(super) fn check_lifted(&mut self) -> Result<(), ModelError> {
        if !self.builder.actuators.is_empty() || self.builder.bodies.iter().all(|body| body.gravity_compensation == 0.0)
        {
            return Ok(());
        }
        let Some(joint) = self.builder.joints.iter().position(|joint| joint.lifted_by_actuators) else { return Ok(()) };
        let Some(location) = self.origins.get(&(Part::Joint, joint)).cloned() else { return Ok(()) };
        self.report.unsupported(location, "actuatorgravcomp=\"true\" without actuators")
    }

    /// A joint's `actuatorfrcrange` becomes the force range of its only actuator.
    fn clamp_joint_forces(&mut self) -> Result<(), ModelError> {
        for (joint, range) in std::mem::take(&mut self.joint_force) {
            let tendons = &self.builder.tendons;
            let also = self.builder.actuators.iter().any(|actuator| match actuator.transmission {
                Transmission::Tendon(tendon) => match &tendons[tendon].path {
                    Path::Fixed(terms) => terms.iter().any(|&(of, _)| of == joint),
                    Path::Spatial(_) => true,
                },
                Transmission::Site { .. } | Transmission::SliderCrank { .. } => true,
                Transmission::Joint(_)
                | Transmission::JointInParent(_)
                | Transmission::Adhesion(_)
                | Transmission::Region { .. } => false,
            });
            let mut on_joint = self.builder.actuators.iter_mut().filter(|a| a.joint() == Some(joint));
            let Some(actuator) = on_joint.next() else { continue };
            if also || on_joint.next().is_some() {
                let location = self.origins.get(&(Part::Joint, joint)).cloned();
                if let Some(location) = location {
                    self.report.unsupported(location, "actuatorfrcrange over several actuators of one joint")?;
                }
                continue;
            }
            let gear = actuator.gear[0];
            if gear == 0.0 {
                continue;
            }
            let (a, b) = (range[0] / gear, range[1] / gear);
            let (low, high) = (a.min(b), a.max(b));
            let own = actuator.force_range.unwrap_or([f64::NEG_INFINITY, f64::INFINITY]);
            // One clamp after the other is the clamp to the clamped bounds.
            actuator.force_range = Some(own.map(|bound| bound.clamp(low, high)));
        }
        Ok(())
    }
}

/// The least time constant of a filter, s, as in MuJoCo.
const LEAST_TIME: f64 = 1e-15;

impl Law {
    fn fold(a: &Attributes) -> Result<Self, ModelError> {
        // A class has one law, that of its last actuator, whatever its kind. An actuator goes on from the nearest class whose
        // law is of its own kind or general; a general one from the nearest; a motor or muscle anew behind another kind.
        let mut laws = vec![("general", Self::new())];
        for class in a.classes() {
            let outer = laws.len();
            for layer in class {
                let (tag, own) = (layer.tag.as_str(), Attributes::bare(layer));
                let goes_on = |(kind, _): &&(&str, Self)| [tag, "general"].contains(kind) || tag == "general";
                let nearest = laws
                    .iter()
                    .rev()
                    .find(goes_on)
                    .filter(|(kind, _)| *kind == tag || !matches!(tag, "motor" | "muscle"));
                let mut law = nearest.map_or_else(Self::new, |(_, law)| law.clone());
                if matches!(tag, "position" | "intvelocity") && nearest.is_some_and(|(kind, _)| *kind == "general") {
                    law.dynamics_type = "none".into();
                }
                law.layer(&own)?;
                if own.has("ctrlrange") {
                    law.inherit_range = 0.0;
                }
                law.inherit_range = own.number("inheritrange", law.inherit_range)?;
                laws.truncate(outer);
                laws.push((tag, law));
            }
        }
        Ok(laws.pop().map_or_else(Self::new, |(_, law)| law))
    }

    fn new() -> Self {
        let (mut gain, mut dynamics) = ([0.0; 10], [0.0; 10]);
        (gain[0], dynamics[0]) = (1.0, 1.0);
        Self {
            gain_type: "fixed".into(),
            gain,
            bias_type: "none".into(),
            bias: [0.0; 10],
            dynamics_type: "none".into(),
            dynamics,
            bounded: false,
            inherit_range: 0.0,
        }
    }

    fn kinds(&mut self, gain: &str, bias: &str, dynamics: Option<&str>) {
        (self.gain_type, self.bias_type) = (gain.into(), bias.into());
        if let Some(dynamics) = dynamics {
            self.dynamics_type = dynamics.into();
        }
    }

    fn layer(&mut self, a: &Attributes) -> Result<(), ModelError> {
        match a.element.tag.as_str() {
            "motor" => {
                self.gain[0] = 1.0;
                self.kinds("fixed", "none", Some("none"));
            }
            "velocity" => {
                let kv = a.number("kv", self.gain[0])?;
                self.bias = [0.0; 10];
                (self.gain[0], self.bias[2]) = (kv, -kv);
                self.kinds("fixed", "affine", Some("none"));
            }
            "position" => self.position(a)?,
            "intvelocity" => {
                self.position(a)?;
                self.dynamics_type = "integrator".into();
            }
            "damper" => {
                let inherited = if self.gain_type == "affine" { -self.gain[2] } else { 0.0 };
                let kv = a.number("kv", inherited)?;
                if kv < 0.0 {
                    return Err(a.error("`kv` must not be negative"));
                }
                self.gain = [0.0; 10];
                self.gain[2] = -kv;
                self.bounded = true;
                self.kinds("affine", "none", Some("none"));
            }
            "cylinder" => {
                self.dynamics[0] = a.number("timeconst", self.dynamics[0])?;
                let bias = a.overlay::<3>("bias", [self.bias[0], self.bias[1], self.bias[2]])?;
                self.bias[..3].copy_from_slice(&bias);
                self.gain[0] = a.number("area", self.gain[0])?;
                let diameter = a.number("diameter", -1.0)?;
                if diameter >= 0.0 {
                    self.gain[0] = std::f64::consts::FRAC_PI_4 * diameter * diameter;
                }
                self.kinds("fixed", "affine", Some("filter"));
            }
            "muscle" => self.muscle(a)?,
            "adhesion" => {
                self.gain[0] = a.number("gain", self.gain[0])?;
                if self.gain[0] < 0.0 {
                    return Err(a.error("`gain` must not be negative"));
                }
                if a.exactly::<2>("ctrlrange")?.is_some_and(|[low, _]| low < 0.0) {
                    return Err(a.error("`ctrlrange` must not be negative"));
                }
                self.bounded = true;
                self.kinds("fixed", "none", Some("none"));
            }
            "general" => self.general(a)?,
            _ => {}
        }
        Ok(())
    }

    fn position(&mut self, a: &Attributes) -> Result<(), ModelError> {
        let kp = a.number("kp", self.gain[0])?;
        (self.gain[0], self.bias[0], self.bias[1]) = (kp, 0.0, -kp);
        match (a.exactly::<1>("kv")?, a.exactly::<1>("dampratio")?) {
            (Some(_), Some(_)) => return Err(a.error("`kv` and `dampratio` exclude each other")),
            (Some([kv]), None) if kv < 0.0 => return Err(a.error("`kv` must not be negative")),
            (Some([kv]), None) => self.bias[2] = -kv,
            // Positive until the mass that it refers to is known.
            (None, Some([ratio])) => self.bias[2] = ratio,
            (None, None) => {}
        }
        if let Some([time]) = a.exactly::<1>("timeconst")? {
            if time < 0.0 {
                return Err(a.error("`timeconst` must not be negative"));
            }
            self.dynamics[0] = time;
            self.dynamics_type = if time == 0.0 { "none" } else { "filterexact" }.into();
        }
        self.kinds("fixed", "affine", None);
        Ok(())
    }

    fn muscle(&mut self, a: &Attributes) -> Result<(), ModelError> {
        // Where nothing else was set before, a muscle has defaults of its own.
        let replace = |list: &mut [f64; 10], from: &[(usize, f64, f64)]| {
            for &(at, general, own) in from {
                if list[at] == general {
                    list[at] = own;
                }
            }
        };
        replace(&mut self.dynamics, &[(0, 1.0, 0.01), (1, 0.0, 0.04)]);
        let defaults = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        let own = [0.75, 1.05, -1.0, 200.0, 0.5, 1.6, 1.5, 1.3, 1.2];
        for (at, (general, own)) in defaults.into_iter().zip(own).enumerate() {
            replace(&mut self.gain, &[(at, general, own)]);
        }
        self.dynamics[2] = a.number("tausmooth", self.dynamics[2])?;
        if self.dynamics[2] < 0.0 {
            return Err(a.error("`tausmooth` must not be negative"));
        }
        let set = |to: &mut f64, value: f64| {
            if value >= 0.0 {
                *to = value;
            }
        };
        for (at, time) in a.overlay::<2>("timeconst", [-1.0; 2])?.into_iter().enumerate() {
            set(&mut self.dynamics[at], time);
        }
        for (at, bound) in a.overlay::<2>("range", [-1.0; 2])?.into_iter().enumerate() {
            set(&mut self.gain[at], bound);
        }
        for (at, name) in ["force", "scale", "lmin", "lmax", "vmax", "fpmax", "fvmax"].into_iter().enumerate() {
            set(&mut self.gain[2 + at], a.number(name, -1.0)?);
        }
        self.bias = self.gain;
        self.kinds("muscle", "muscle", Some("muscle"));
        Ok(())
    }

    fn general(&mut self, a: &Attributes) -> Result<(), ModelError> {
        self.gain = a.overlay::<10>("gainprm", self.gain)?;
        self.bias = a.overlay::<10>("biasprm", self.bias)?;
        self.dynamics = a.overlay::<10>("dynprm", self.dynamics)?;
        for (name, to) in
            [("gaintype", &mut self.gain_type), ("biastype", &mut self.bias_type), ("dyntype", &mut self.dynamics_type)]
        {
            if let Some(value) = a.get(name) {
                value.clone_into(to);
            }
        }
        Ok(())
    }
}
