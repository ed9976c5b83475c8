//! Actuators on joints.

use super::{Importer, schema};
use crate::attributes::Attributes;
use crate::validate::Part;
use crate::xml::Element;
use crate::{Actuator, JointKind, ModelError};

/// The force law, as each layer of defaults and at last the element itself write it.
#[derive(Debug)]
struct Law {
    gain: f64,
    bias: [f64; 3],
    affine_bias: bool,
    /// A type of dynamics, gain or bias that is not supported.
    unsupported: Option<String>,
}

impl Importer<'_> {
    pub(super) fn actuators(&mut self, section: &Element) -> Result<(), ModelError> {
        for element in &section.children {
            self.actuator(element)?;
        }
        self.clamp_joint_forces()
    }

    fn actuator(&mut self, element: &Element) -> Result<(), ModelError> {
        if !matches!(element.tag.as_str(), "motor" | "position" | "velocity" | "general") {
            return self.report.unsupported(element.location(), format!("actuator <{}>", element.tag));
        }
        schema::check(element, &mut self.report)?;
        let a = self.defaults.apply(element, 0)?;
        let foreign = ["tendon", "site", "body", "cranksite"].iter().any(|t| element.get(t).is_some());
        schema::check_values(&a, &mut self.report)?;
        if foreign {
            return Ok(());
        }
        let (joint, in_parent) = match Self::find(&self.names.joints, &a, "joint")? {
            Some(joint) => (joint, false),
            None => match Self::find(&self.names.joints, &a, "jointinparent")? {
                Some(joint) => (joint, true),
                None => return Err(a.error("an actuator needs a `joint`")),
            },
        };
        let kind = self.builder.joints[joint].kind;
        let scalar = matches!(kind, JointKind::Hinge | JointKind::Slide);
        if in_parent && !scalar {
            self.report.unsupported(element.location(), "jointinparent on a ball or free joint")?;
            return Ok(());
        }
        let law = Law::fold(&a)?;
        if let Some(what) = &law.unsupported {
            return self.report.unsupported(element.location(), what);
        }
        let autolimits = self.compiler.autolimits;
        let gear = a.overlay::<6>("gear", [1.0, 0.0, 0.0, 0.0, 0.0, 0.0])?;
        let index = self.builder.actuators.len();
        if law.affine_bias && law.bias[2] > 0.0 && law.gain == -law.bias[1] {
            self.damp_ratios.push((index, law.bias[2]));
        }
        self.builder.actuator(Actuator {
            name: element.get("name").unwrap_or("").to_owned(),
            joint,
            gear,
            gain: law.gain,
            bias: if law.affine_bias { law.bias } else { [0.0; 3] },
            ctrl_range: match self.inherited_range(&a, joint)? {
                Some(range) => Some(range),
                None => a.range("ctrlrange", "ctrllimited", autolimits)?,
            },
            force_range: a.range("forcerange", "forcelimited", autolimits)?,
        });
        self.origin(Part::Actuator, index, element);
        let (armature, damping) = (a.number("armature", 0.0)?, self.linear(&a, "damping")?);
        if (armature, damping) != (0.0, 0.0) && !scalar {
            return self.report.unsupported(element.location(), "armature or damping on a ball or free joint");
        }
        // Reflected through the gear, which scales forces and velocities both.
        let joint = &mut self.builder.joints[joint];
        joint.armature += armature * gear[0] * gear[0];
        joint.damping += damping * gear[0] * gear[0];
        Ok(())
    }

    /// `inheritrange`: controls range over that multiple of the joint's range, about its middle.
    fn inherited_range(&self, a: &Attributes, joint: usize) -> Result<Option<[f64; 2]>, ModelError> {
        let factor = a.number("inheritrange", 0.0)?;
        if factor <= 0.0 {
            return Ok(None);
        }
        if a.tristate("ctrllimited")? == Some(false) {
            return Ok(None);
        }
        let Some([low, high]) = self.builder.joints[joint].range else {
            return Err(a.error("`inheritrange`: the joint has no range"));
        };
        let (middle, reach) = ((low + high) / 2.0, (high - low) / 2.0 * factor);
        Ok(Some([middle - reach, middle + reach]))
    }

    /// A joint's `actuatorfrcrange` becomes the force range of its only actuator.
    fn clamp_joint_forces(&mut self) -> Result<(), ModelError> {
        for (&joint, &range) in &self.joint_force {
            let mut on_joint = self.builder.actuators.iter_mut().filter(|a| a.joint == joint);
            let Some(actuator) = on_joint.next() else { continue };
            if on_joint.next().is_some() {
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
        self.joint_force.clear();
        Ok(())
    }
}

impl Law {
    fn fold(a: &Attributes) -> Result<Self, ModelError> {
        let mut law = Self { gain: 1.0, bias: [0.0; 3], affine_bias: false, unsupported: None };
        for layer in a.layers() {
            law.layer(&Attributes::bare(layer))?;
        }
        Ok(law)
    }

    fn layer(&mut self, a: &Attributes) -> Result<(), ModelError> {
        match a.element.tag.as_str() {
            "motor" => *self = Self { gain: 1.0, bias: [0.0; 3], affine_bias: false, unsupported: None },
            "velocity" => {
                let kv = a.number("kv", self.gain)?;
                *self = Self { gain: kv, bias: [0.0, 0.0, -kv], affine_bias: true, unsupported: None };
            }
            "position" => {
                let kp = a.number("kp", self.gain)?;
                let damping = match (a.exactly::<1>("kv")?, a.exactly::<1>("dampratio")?) {
                    (Some(_), Some(_)) => return Err(a.error("`kv` and `dampratio` exclude each other")),
                    (Some([kv]), None) if kv < 0.0 => return Err(a.error("`kv` must not be negative")),
                    (Some([kv]), None) => -kv,
                    // Positive until the mass that it refers to is known.
                    (None, Some([ratio])) => ratio,
                    (None, None) => self.bias[2],
                };
                let time_constant = a.number("timeconst", 0.0)?;
                let unsupported = (time_constant > 0.0).then(|| "a filter on the control (timeconst)".to_owned());
                *self = Self { gain: kp, bias: [0.0, -kp, damping], affine_bias: true, unsupported };
            }
            "general" => self.general(a)?,
            _ => {}
        }
        Ok(())
    }

    fn general(&mut self, a: &Attributes) -> Result<(), ModelError> {
        if let Some(&gain) = a.list::<f64>("gainprm")?.as_deref().and_then(<[f64]>::first) {
            self.gain = gain;
        }
        for (mine, given) in self.bias.iter_mut().zip(a.list::<f64>("biasprm")?.unwrap_or_default()) {
            *mine = given;
        }
        match a.get("biastype") {
            None => {}
            Some("none") => self.affine_bias = false,
            Some("affine") => self.affine_bias = true,
            Some(other) => self.unsupported = Some(format!("biastype=\"{other}\"")),
        }
        for (name, neutral) in [("gaintype", "fixed"), ("dyntype", "none")] {
            match a.get(name) {
                None => {}
                Some(value) if value == neutral => self.unsupported = None,
                Some(other) => self.unsupported = Some(format!("{name}=\"{other}\"")),
            }
        }
        Ok(())
    }
}
