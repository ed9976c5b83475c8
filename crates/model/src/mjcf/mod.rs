//! MJCF, the model format of MuJoCo, with MuJoCo's own meaning of every element.
//!
//! Reference: MuJoCo's XML reference (version 4). What MJCF lacks is read from `<custom>`: restitution from
//! `<numeric name="restitution" data="0.5"/>` for all geoms and from `<numeric name="restitution:GEOM" data="0.5"/>` for
//! one; likewise the `stiffness`, N/m, and `dissipation` time, s, of contacts. What soft bodies take from there stands in
//! `flex.rs`.

mod actuators;
mod assets;
mod attach;

mod bodies;
mod compiler;
mod constraints;
mod defaults;
mod flex;
mod geoms;
mod masses;
mod schema;
mod sdf;
mod sensors;
mod tendons;
mod textures;
mod visual;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use crate::attributes::Attributes;
use crate::import::Report;
use crate::validate::Part;
use crate::xml::{self, Element};
use crate::{Bounded, Fluid, ImportOptions, Inertial, Loaded, Location, ModelBuilder, ModelError, Resolver, Vec3};
pub(crate) use compiler::Compiler;
pub(crate) use compiler::from_z;
use defaults::Defaults;
pub(crate) use masses::adjusted;

/// Reads MJCF from a string. `path` names it in messages, and its folder is where other files are looked for, through
/// `resolver`.
///
/// # Errors
/// A [`ModelError`] naming file, line and element.
pub fn from_mjcf_str(
    path: impl AsRef<Path>,
    text: &str,
    resolver: &Resolver,
    options: &ImportOptions,
) -> Result<Loaded, ModelError> {
    let path = path.as_ref();
    let root = xml::parse(path, text, resolver)?;
    if root.tag != "mujoco" {
        return Err(root.error(format!("expected <mujoco> as the outermost element, found <{}>", root.tag)));
    }
    let mut importer = Importer::new(path, &root, resolver, options)?;
    importer.document(&root)?;
    importer.finish()
}

/// A mesh asset: its hull in the model, and its solid at density 1.
struct MeshAsset {
    mesh: Option<usize>,
    why_no_hull: String,
    solid: Result<Inertial, String>,
}

/// Names of a document's parts, to builder indices.
#[derive(Default)]
struct Names {
    bodies: HashMap<String, usize>,
    joints: HashMap<String, usize>,
    geoms: HashMap<String, usize>,
    sites: HashMap<String, usize>,
    tendons: HashMap<String, usize>,
    sensors: HashMap<String, usize>,
    soft: HashMap<String, usize>,
    meshes: HashMap<String, MeshAsset>,
    heightfields: HashMap<String, usize>,
    textures: HashMap<String, usize>,
    materials: HashMap<String, usize>,
    cameras: HashMap<String, usize>,
    /// Cameras and lights that point at bodies, which may come later in the file.
    aims: Vec<visual::Aim>,
    /// Instances of plugins: the plugin's name, and the element with its keys.
    plugins: HashMap<String, (String, Element)>,
    /// Files of other models.
    models: HashMap<String, String>,
}

/// What `<option>` says beyond time step and gravity.
#[derive(Default)]
struct Disabled {
    contact: bool,
    limit: bool,
    friction_loss: bool,
    spring: bool,
    damper: bool,
    equality: bool,
    clamp_control: bool,
}

struct Importer<'a> {
    directory: PathBuf,
    resolver: &'a Resolver<'a>,
    report: Report,
    compiler: Compiler,
    defaults: Defaults,
    builder: ModelBuilder,
    names: Names,
    disabled: Disabled,
    /// Of contacts, by name and geom; of all geoms by an empty one.
    custom: HashMap<(&'static str, String), f64>,
    /// Of flexcomps.
    customs: flex::Customs,
    /// Names that flexcomps have in the file.
    flexcomps: HashSet<String>,
    /// Clamp on the sum of a joint's actuator forces.
    joint_force: BTreeMap<usize, [f64; 2]>,
    /// The same of a tendon's.
    tendon_force: BTreeMap<usize, [f64; 2]>,
    /// How far from their bounds sensors of limits begin to show something, where that is not zero.
    limit_margins: HashMap<Bounded, f64>,
    /// Wanted time constant and damping ratio of joints.
    spring_dampers: Vec<(usize, [f64; 2])>,
    /// Actuators whose velocity gain is a wanted damping ratio.
    damp_ratios: Vec<(usize, f64)>,
    /// Where each part was read, for errors found when the model is whole.
    origins: HashMap<(Part, usize), Location>,
    /// The field that magnetometers show, world axes.
    magnetic: Vec3,
    /// Elements made so far, against runaway replication.
    budget: usize,
    /// How many models are being attached, one inside the other.
    attach_depth: usize,
}

impl<'a> Importer<'a> {
    fn new(path: &Path, root: &Element, resolver: &'a Resolver, options: &ImportOptions) -> Result<Self, ModelError> {
        let stem = path.file_stem().and_then(|s| s.to_str()).unwrap_or("model");
        Ok(Self {
            directory: xml::directory_of(path),
            resolver,
            report: Report::new(options),
            compiler: Compiler::read(sections(root, "compiler"))?,
            defaults: Defaults::read(sections(root, "default"))?,
            builder: ModelBuilder::new(root.get("model").unwrap_or(stem)),
            names: Names::default(),
            disabled: Disabled::default(),
            custom: HashMap::new(),
            customs: HashMap::new(),
            flexcomps: HashSet::new(),
            joint_force: BTreeMap::new(),
            tendon_force: BTreeMap::new(),
            limit_margins: HashMap::new(),
            spring_dampers: Vec::new(),
            damp_ratios: Vec::new(),
            origins: HashMap::new(),
            magnetic: Vec3::new(0.0, -0.5, 0.0),
            budget: MAX_ELEMENTS,
            attach_depth: 0,
        })
    }

    /// Reads all sections, in the order in which they refer to one another.
    fn document(&mut self, root: &Element) -> Result<(), ModelError> {
        self.names.bodies.insert("world".into(), 0);
        for element in &root.children {
            if !SECTIONS.contains(&element.tag.as_str()) {
                schema::unknown_section(element, &mut self.report)?;
            }
        }
        for element in sections(root, "compiler") {
            schema::check(element, &mut self.report)?;
        }
        for element in self.defaults.elements() {
            schema::check_default(element, &mut self.report)?;
        }
        for element in sections(root, "option") {
            self.option(element)?;
        }
        for element in sections(root, "custom") {
            self.custom(element)?;
        }
        for element in sections(root, "extension") {
            self.extension(element)?;
        }
        self.looks(root)?;
        for element in sections(root, "asset") {
            self.assets(element)?;
        }
        for element in sections(root, "worldbody") {
            self.world(element)?;
        }
        self.aim();
        self.list_unused_customs();
        self.adjust_masses(1)?;
        for element in sections(root, "contact") {
            self.contact(element)?;
        }
        for element in sections(root, "tendon") {
            self.tendons(element)?;
        }
        for element in sections(root, "equality") {
            self.equality(element)?;
        }
        for element in sections(root, "actuator") {
            self.actuators(element)?;
        }
        self.check_lifted()?;
        self.activation_controls();
        for element in sections(root, "sensor") {
            self.sensors(element)?;
        }
        self.check_soft()?;
        self.apply_disabled();
        self.validate()?;
        self.reference_dynamics()?;
        for element in sections(root, "keyframe") {
            self.keyframes(element)?;
        }
        Ok(())
    }

    fn finish(self) -> Result<Loaded, ModelError> {
        self.validate()?;
        let origins = self.origins;
        let mut report = self.report;
        let mut model = self.builder.build()?;
        let measured: Vec<_> = (0..model.sensors.len()).map(|sensor| model.tree_of_sensor(sensor)).collect();
        for (sensor, why) in measured.iter().enumerate().filter_map(|(sensor, tree)| Some((sensor, tree.err()?))) {
            if let Some(location) = origins.get(&(Part::Sensor, sensor)) {
                report.ignore(location.clone(), why);
            }
        }
        let mut kept = measured.iter().map(Result::is_ok);
        model.sensors.retain(|_| kept.next().unwrap_or(false));
        let mut ignored = report.ignored;
        ignored.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
        Ok(Loaded { model, ignored, assumptions: report.assumptions })
    }

    /// Validation with the place in the file, where the part came from one.
    fn validate(&self) -> Result<(), ModelError> {
        self.builder.validate().map_err(|defect| match self.origins.get(&(defect.part, defect.index)) {
            Some(location) => ModelError::Import { location: location.clone(), message: defect.message },
            None => defect.into(),
        })
    }

    /// Takes a name; `Err` when a part of the kind has it already.
    fn name<T>(map: &mut HashMap<String, T>, element: &Element, name: &str, value: T) -> Result<(), ModelError> {
        if name.is_empty() {
            return Ok(());
        }
        match map.insert(name.to_owned(), value) {
            None => Ok(()),
            Some(_) => Err(element.error(format!("the name `{name}` is taken by another {}", element.tag))),
        }
    }

    /// The part that an attribute names; `None` without the attribute.
    fn find<T: Copy>(map: &HashMap<String, T>, a: &Attributes, attribute: &str) -> Result<Option<T>, ModelError> {
        let Some(name) = a.get(attribute) else { return Ok(None) };
        let found = map.get(name).copied();
        found.map(Some).ok_or_else(|| a.error(format!("`{attribute}`: there is no `{name}`")))
    }

    fn option(&mut self, element: &Element) -> Result<(), ModelError> {
        schema::check(element, &mut self.report)?;
        let a = Attributes::bare(element);
        schema::check_values(&a, &mut self.report)?;
        self.builder.options.timestep = a.number("timestep", self.builder.options.timestep)?;
        if self.builder.options.timestep <= 0.0 {
            return Err(a.error(format!("`timestep` must be positive, found {}", self.builder.options.timestep)));
        }
        if let Some(gravity) = a.vector("gravity")? {
            self.builder.options.gravity = gravity;
        }
        let fluid = &mut self.builder.options.fluid;
        fluid.density = a.number("density", fluid.density)?;
        fluid.viscosity = a.number("viscosity", fluid.viscosity)?;
        if let Some(wind) = a.vector("wind")? {
            fluid.wind = wind;
        }
        if let Some(magnetic) = a.vector("magnetic")? {
            self.magnetic = magnetic;
        }
        for flags in &element.children {
            schema::check(flags, &mut self.report)?;
            schema::check_values(&Attributes::bare(flags), &mut self.report)?;
            if flags.get("override") == Some("enable") {
                self.report.unsupported(flags.location(), "contact overrides")?;
            }
            let disabled = |name: &str| flags.get(name) == Some("disable");
            self.builder.options.filter_parents &= !disabled("filterparent");
            if disabled("gravity") {
                self.builder.options.gravity = Vec3::zeros();
            }
            self.disabled.contact |= disabled("contact") || disabled("constraint");
            self.disabled.limit |= disabled("limit") || disabled("constraint");
            self.disabled.friction_loss |= disabled("frictionloss") || disabled("constraint");
            self.disabled.equality |= disabled("equality") || disabled("constraint");
            self.disabled.spring |= disabled("spring") || disabled("passive");
            self.disabled.damper |= disabled("damper") || disabled("passive");
            self.disabled.clamp_control |= disabled("clampctrl");
        }
        Ok(())
    }

    /// Takes out what `<flag>` turns off.
    fn apply_disabled(&mut self) {
        let off = &self.disabled;
        if off.contact {
            self.builder.pairs.clear();
        }
        for geom in self.builder.geoms.iter_mut().filter(|_| off.contact) {
            (geom.contact.contype, geom.contact.conaffinity) = (0, 0);
        }
        for (soft, _) in self.builder.soft.iter_mut().filter(|_| off.contact) {
            (soft.contacting.contype, soft.contacting.conaffinity) = (0, 0);
        }
        for tendon in &mut self.builder.tendons {
            if off.spring {
                tendon.stiffness = 0.0;
            }
            if off.damper {
                tendon.damping = 0.0;
            }
            if off.limit {
                tendon.range = None;
            }
            if off.friction_loss {
                tendon.dry_friction = 0.0;
            }
        }
        for joint in &mut self.builder.joints {
            if off.limit {
                joint.range = None;
            }
            if off.friction_loss {
                joint.dry_friction = 0.0;
            }
            if off.spring {
                joint.stiffness = 0.0;
            }
            if off.damper {
                joint.damping = 0.0;
            }
        }
        for equality in self.builder.equalities.iter_mut().filter(|_| off.equality) {
            equality.active = false;
        }
        if off.spring && off.damper {
            // As in MuJoCo, that turns off all passive forces.
            self.builder.bodies.iter_mut().for_each(|body| body.gravity_compensation = 0.0);
            self.builder.options.fluid = Fluid::NONE;
        }
        for actuator in self.builder.actuators.iter_mut().filter(|_| off.clamp_control) {
            actuator.ctrl_range = None;
        }
    }

    fn custom(&mut self, section: &Element) -> Result<(), ModelError> {
        for element in &section.children {
            if flex::custom(&mut self.customs, element) {
                continue;
            }
            let name = element.get("name").filter(|_| element.tag == "numeric").unwrap_or_default();
            let (what, geom) = name.split_once(':').unwrap_or((name, ""));
            match CUSTOM.iter().find(|known| **known == what) {
                Some(&known) => {
                    let value = Attributes::bare(element).number("data", 0.0)?;
                    self.custom.insert((known, geom.to_owned()), value);
                }
                None => self.report.ignore(element.location(), "user data has no meaning here"),
            }
        }
        Ok(())
    }

    /// Remembers where a part came from.
    fn origin(&mut self, part: Part, index: usize, element: &Element) {
        self.origins.insert((part, index), element.location());
    }

    /// Counts an element made, so that nested replication ends in an error and not in an exhausted memory.
    fn spend(&mut self, element: &Element) -> Result<(), ModelError> {
        self.budget = self.budget.saturating_sub(1);
        if self.budget == 0 {
            Err(element.error(format!("the model has more than {MAX_ELEMENTS} elements")))
        } else {
            Ok(())
        }
    }
}

/// More elements than this, replicas counted, are taken for a mistake.
const MAX_ELEMENTS: usize = 300_000;

/// Contact parameters that `<custom>` gives.
const RESTITUTION: &str = "restitution";
const STIFFNESS: &str = "stiffness";
const DISSIPATION: &str = "dissipation";
const CUSTOM: [&str; 3] = [RESTITUTION, STIFFNESS, DISSIPATION];

const SECTIONS: &[&str] = &[
    "compiler",
    "default",
    "option",
    "custom",
    "extension",
    "asset",
    "worldbody",
    "contact",
    "equality",
    "tendon",
    "actuator",
    "sensor",
    "keyframe",
];

fn sections<'e>(root: &'e Element, tag: &'static str) -> impl Iterator<Item = &'e Element> {
    root.children.iter().filter(move |c| c.tag == tag)
}
