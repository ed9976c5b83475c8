//! URDF.
//!
//! What the format leaves open is settled so, and said in [`Loaded::assumptions`] where it applies:
//! - A root link called `world` is the ground. Any other root stands fixed on the ground, or floats on a free joint
//!   ([`ImportOptions::free_root`]). There is no floor unless [`ImportOptions::ground`] adds one.
//! - Each joint that a `<transmission>` names gets a motor whose control is the force on the joint (N m or N), clamped
//!   to the joint's effort limit. A file without transmissions has no actuators.
//! - A planar joint becomes two slides and a hinge about the normal, named `JOINT.x`, `JOINT.y` and `JOINT.angle`.
//! - A revolute or prismatic joint that names neither bound turns freely.
//! - A link without an `<inertial>` has the mass of its collision geoms at 1000 kg/m³, as in MuJoCo; ROS gives it none.
//! - Links held by a joint to what stands fixed do not touch it, as no link touches its parent.
//! - Of visuals the look alone is taken: what collides of a link has the colour or texture of its first visual that says one.
//! - Velocity limits are not enforced.
//! - Of MuJoCo's extension (`<mujoco>`) the `<compiler>` is taken for where meshes are, and for bounds, balance and total of masses.

mod files;
mod links;
mod looks;
mod robot;

use std::collections::HashMap;
use std::path::Path;

use crate::attributes::Attributes;
use crate::import::{Report, file_error};
use crate::mjcf::{Compiler, adjusted};
use crate::validate::Part;
use crate::xml::{self, Element};
use crate::{
    Actuator, Contacting, Equality, EqualityKind, Geom, ImportOptions, Inertial, JointKind, Loaded, Location,
    ModelBuilder, ModelError, Pose, Resolver, Shape, Transmission,
};
use robot::{JointElement, Link, child};

/// Reads URDF from a string. `path` names it in messages and is where relative and `package://` files are searched
/// from, through `resolver`.
///
/// # Errors
/// A [`ModelError`] naming file, line and element.
pub fn from_urdf_str(
    path: impl AsRef<Path>,
    text: &str,
    resolver: &Resolver,
    options: &ImportOptions,
) -> Result<Loaded, ModelError> {
    let path = path.as_ref();
    let root = xml::parse(path, text, resolver)?;
    if root.tag != "robot" {
        return Err(root.error(format!("expected <robot> as the outermost element, found <{}>", root.tag)));
    }
    let read = |tag: &'static str| root.children.iter().filter(move |e| e.tag == tag);
    let mut links = read("link").map(Link::read).collect::<Result<Vec<_>, _>>()?;
    let joints = read("joint").map(JointElement::read).collect::<Result<Vec<_>, _>>()?;
    if joints.iter().any(|j| j.parent == "world") && links.iter().all(|l| l.name != "world") {
        // Drake's files refer to the world without declaring it.
        links.push(Link { element: &root, name: "world", inertial: None });
    }
    let mujoco = || read("mujoco").flat_map(|extension| &extension.children);
    let mut importer = Importer {
        path,
        resolver,
        compiler: Compiler::read(mujoco().filter(|section| section.tag == "compiler"))?,
        options: *options,
        report: Report::new(options),
        builder: ModelBuilder::new(root.get("name").unwrap_or("robot")),
        joints: HashMap::new(),
        origins: HashMap::new(),
        meshes: HashMap::new(),
        materials: HashMap::new(),
        solids: HashMap::new(),
        inferred: Vec::new(),
        unlimited: 0,
    };
    importer.list_unread(&root)?;
    for section in mujoco().filter(|section| section.tag == "option") {
        importer.report.unsupported(section.location(), "MuJoCo's <option> in a URDF")?;
    }
    // Visuals have no mass there either.
    if importer.compiler.inertia_from_geom.is_some() {
        importer.report.unsupported(root.location(), "`inertiafromgeom` of MuJoCo's extension")?;
    }
    importer.materials(&root)?;
    importer.tree(&links, &joints)?;
    importer.mimics(&joints)?;
    importer.transmissions(&root, &joints)?;
    importer.springs(&root)?;
    importer.finish()
}

struct Importer<'a> {
    path: &'a Path,
    resolver: &'a Resolver<'a>,
    /// What MuJoCo's extension says.
    compiler: Compiler,
    options: ImportOptions,
    report: Report,
    builder: ModelBuilder,
    /// Builder index of each scalar joint.
    joints: HashMap<String, usize>,
    /// Where each part was read, for errors found when the model is whole.
    origins: HashMap<(Part, usize), Location>,
    /// Meshes in the model, by file and scale.
    meshes: HashMap<(String, [u64; 3]), usize>,
    /// Materials in the model, by name: the first of each.
    materials: HashMap<String, usize>,
    /// Mass properties of meshes at density 1, or why they have none.
    solids: HashMap<usize, Result<Inertial, String>>,
    /// Links whose mass is that of their collision geoms.
    inferred: Vec<String>,
    /// Revolute and prismatic joints that name no bounds.
    unlimited: usize,
}

impl Importer<'_> {
    /// Lists elements without a meaning here and refuses unknown ones.
    fn list_unread(&mut self, root: &Element) -> Result<(), ModelError> {
        for element in &root.children {
            match element.tag.as_str() {
                "link" | "joint" | "transmission" | "force_element" | "material" | "mujoco" => {}
                "gazebo" | "sensor" => {
                    self.report.ignore(element.location(), "an extension for another program");
                }
                tag if tag.contains("collision_filter_group") => {
                    self.report.ignore(element.location(), "collision filters of another program");
                }
                // What URDF itself knows and is mistyped shows by links or joints that are missing.
                _ => self.report.ignore(element.location(), "no element of URDF: an extension for another program"),
            }
            let mass =
                child(element, "inertial").and_then(|inertial| child(inertial, "mass")).and_then(|m| m.get("value"));
            if mass.is_some_and(|mass| mass.trim().parse() == Ok(0.0)) {
                self.report.ignore(element.location(), "a link without mass has no inertia");
            }
            for child in element.children.iter().filter(|child| child.tag == "visual") {
                self.report.ignore(child.location(), "looks only: what collides has its colour or texture");
            }
            let velocity = element.children.iter().find(|c| c.tag == "limit").and_then(|c| c.get("velocity"));
            if velocity.is_some() {
                self.report.ignore(element.location(), "velocity limits are not enforced");
            }
            for child in
                element.children.iter().filter(|c| ["safety_controller", "calibration"].contains(&c.tag.as_str()))
            {
                self.report.ignore(child.location(), "has no meaning here");
            }
        }
        Ok(())
    }

    /// Mimic joints as couplings: `q = offset + multiplier * q_driver`.
    fn mimics(&mut self, joints: &[JointElement]) -> Result<(), ModelError> {
        for joint in joints {
            let Some((driver, multiplier, offset)) = joint.mimic else { continue };
            let (driven, driver) = match (self.joints.get(joint.name), self.joints.get(driver)) {
                (Some(&driven), Some(&driver)) => (driven, driver),
                _ => {
                    let why = format!("mimic of `{driver}` left out: only hinges and slides can follow one another");
                    self.report.ignore(joint.element.location(), why);
                    continue;
                }
            };
            let index = self.builder.equalities.len();
            self.origins.insert((Part::Equality, index), joint.element.location());
            self.builder.equality(Equality {
                name: joint.name.to_owned(),
                kind: EqualityKind::Coupling {
                    joint: driven,
                    driver: Some(driver),
                    coefficients: [offset, multiplier, 0.0, 0.0, 0.0],
                },
                active: true,
            });
        }
        Ok(())
    }

    /// A hinge or slide joint by its name.
    fn scalar(&self, element: &Element, name: &str) -> Result<usize, ModelError> {
        let found = self.joints.get(name).copied();
        found.ok_or_else(|| element.error(format!("there is no hinge or slide joint `{name}`")))
    }

    /// A motor on each joint of each transmission.
    fn transmissions(&mut self, root: &Element, joints: &[JointElement]) -> Result<(), ModelError> {
        for transmission in root.children.iter().filter(|e| e.tag == "transmission") {
            let actuator = child(transmission, "actuator").and_then(|c| c.get("name"));
            for named in transmission.children.iter().filter(|c| c.tag == "joint") {
                let name = named.required("name")?;
                let Some(&joint) = self.joints.get(name) else {
                    let why = format!("no motor: there is no hinge or slide joint `{name}`");
                    self.report.ignore(named.location(), why);
                    continue;
                };
                let effort = joints.iter().find(|j| j.name == name).map_or(0.0, |j| j.effort);
                let limits = (effort > 0.0).then_some([-effort, effort]);
                self.origins.insert((Part::Actuator, self.builder.actuators.len()), named.location());
                self.builder.actuator(Actuator {
                    ctrl_range: limits,
                    force_range: limits,
                    ..Actuator::new(actuator.unwrap_or(name), Transmission::Joint(joint))
                });
            }
        }
        if self.builder.actuators.is_empty() && !self.joints.is_empty() {
            self.report.assumptions.push("no transmission is named: the model has no actuators".into());
        }
        Ok(())
    }

    /// Torsional springs, an extension of Drake's.
    fn springs(&mut self, root: &Element) -> Result<(), ModelError> {
        for element in root.children.iter().filter(|e| e.tag == "force_element") {
            for spring in &element.children {
                if spring.tag != "torsional_spring" {
                    self.report.unsupported(spring.location(), format!("a force element <{}>", spring.tag))?;
                    continue;
                }
                let named = child(spring, "joint").ok_or_else(|| spring.error("<joint> is missing"))?;
                let joint = self.scalar(named, named.required("name")?)?;
                let a = Attributes::bare(spring);
                let joint = &mut self.builder.joints[joint];
                joint.stiffness = a.number("stiffness", 0.0)?;
                joint.spring_reference = a.number("rest_angle", 0.0)?;
            }
        }
        Ok(())
    }

    /// Links that a joint holds to what stands fixed overlap it there as other links do their parents. The parent filter
    /// of contacts does not count the ground as a parent, so that a floor is met: these are excluded by name.
    fn exclude_fixed_parents(&mut self) {
        let mut moves = vec![false; self.builder.bodies.len()];
        self.builder.joints.iter().for_each(|joint| moves[joint.body] = true);
        let mut fixed = vec![true; moves.len()];
        for body in 1..fixed.len() {
            fixed[body] = !moves[body] && fixed[self.builder.bodies[body].parent];
        }
        for body in 1..fixed.len() {
            let held = moves[body] && fixed[self.builder.bodies[body].parent];
            if held && !self.floats(body) {
                (1..fixed.len()).filter(|&other| fixed[other]).for_each(|other| self.builder.exclude(other, body));
            }
        }
    }

    fn floats(&self, body: usize) -> bool {
        self.builder.joints.iter().any(|joint| joint.body == body && joint.kind == JointKind::Free)
    }

    /// Bounds, balance and total of masses by MuJoCo's extension. A link without mass has its centre of mass where it lies in its
    /// parent, as there.
    fn adjust_masses(&mut self) -> Result<(), ModelError> {
        let bodies = self.builder.bodies.iter_mut().skip(1);
        let inertials = bodies.map(|body| {
            if body.inertial.mass == 0.0 {
                body.inertial.com = body.pose.translation.vector;
            }
            &mut body.inertial
        });
        adjusted(inertials.collect(), &self.compiler).map_err(|why| file_error(self.path, why))
    }

    fn finish(mut self) -> Result<Loaded, ModelError> {
        self.adjust_masses()?;
        self.exclude_fixed_parents();
        if self.unlimited > 0 {
            let what = format!("{} revolute or prismatic joints name no bounds: they are not limited", self.unlimited);
            self.report.assumptions.push(what);
        }
        if !self.inferred.is_empty() {
            let what = "links without <inertial> have the mass of their collision geoms at 1000 kg/m³, which ROS does not count";
            self.report.assumptions.push(format!("{what}: {}", self.inferred.join(", ")));
        }
        if self.options.ground {
            self.builder.geom(Geom {
                name: "ground".into(),
                body: 0,
                pose: Pose::identity(),
                shape: Shape::Plane,
                contact: Contacting::default(),
            });
            self.report.assumptions.push("a ground plane was added at z = 0 (--ground)".into());
        }
        self.builder.validate().map_err(|defect| match self.origins.get(&(defect.part, defect.index)) {
            Some(location) => ModelError::Import { location: location.clone(), message: defect.message },
            None => file_error(self.path, ModelError::from(defect).to_string()),
        })?;
        Ok(Loaded { model: self.builder.build()?, ignored: self.report.ignored, assumptions: self.report.assumptions })
    }
}
