//! Geoms: shape, pose, contact parameters and their share of the body's mass.

use super::bodies::{BodyMass, GeomPlace, from_to};
use super::{DISSIPATION, Importer, RESTITUTION, STIFFNESS, schema};
use crate::attributes::Attributes;
use crate::validate::{self, Part};
use crate::xml::Element;
use crate::{Contacting, FluidShape, Geom, Inertial, ModelError, Pose, Shape, Vec3};

/// Density of water, MuJoCo's default, kg/m^3.
const DEFAULT_DENSITY: f64 = 1000.0;

/// A shape, its pose in the enclosing frame, and its solid at density 1 (or why it has none).
pub(super) type Placed = (Shape, Pose, Result<Inertial, String>);

impl Importer<'_> {
    pub(super) fn geom(&mut self, element: &Element, place: &GeomPlace, mass: &mut BodyMass) -> Result<(), ModelError> {
        let a = self.defaults.apply(element, place.class)?;
        schema::check(element, &mut self.report)?;
        schema::check_values(&a, &mut self.report)?;
        let contact = self.contacting(&a, &place.name)?;
        let Some((shape, pose, solid)) = self.shape(&a)? else { return Ok(()) };
        if let Err(message) = validate::shape(&shape) {
            return Err(a.error(message));
        }
        if place.body > 0 {
            let solid = if a.flag("shellinertia", false)? { Ok(Self::shell(&a, &shape)?) } else { solid };
            let share = self.share_of_mass(&a, solid)?.moved(&(place.frame * pose));
            mass.geoms.push(share);
        }
        let shape = match shape {
            Shape::Mesh(usize::MAX) => match self.hull_of(&a, &contact)? {
                Some(mesh) => Shape::Mesh(mesh),
                None => return Ok(()),
            },
            shape => shape,
        };
        let pose = place.frame * pose;
        self.fluid_shape(&a, place.body, pose, &shape)?;
        let geom = self.builder.geom(Geom { name: place.name.clone(), body: place.body, pose, shape, contact });
        self.builder.visual.geoms[geom] = self.look(&a)?;
        Self::name(&mut self.names.geoms, element, &place.name, geom)?;
        self.origin(Part::Geom, geom, element);
        Ok(())
    }

    /// The ellipsoid that a fluid sees in a geom, where it sees any.
    fn fluid_shape(&mut self, a: &Attributes, body: usize, pose: Pose, shape: &Shape) -> Result<(), ModelError> {
        match a.get("fluidshape") {
            None | Some("none") => return Ok(()),
            Some("ellipsoid") => {}
            Some(other) => return Err(a.error(format!("`fluidshape` must be none or ellipsoid, found `{other}`"))),
        }
        let radii = match *shape {
            Shape::Sphere { radius } => Vec3::repeat(radius),
            Shape::Capsule { radius, half_length } => Vec3::new(radius, radius, half_length + radius),
            Shape::Cylinder { radius, half_length } => Vec3::new(radius, radius, half_length),
            Shape::Box { half: radii } | Shape::Ellipsoid { radii } => radii,
            _ if !self.builder.options.fluid.acts() => return Ok(()),
            _ => {
                let what = "fluidshape=\"ellipsoid\" of a mesh, plane, heightfield or distance function";
                return self.report.unsupported(a.element.location(), what);
            }
        };
        let coefficients = a.overlay::<5>("fluidcoef", [0.5, 0.25, 1.5, 1.0, 1.0])?;
        self.builder.fluid_shape(FluidShape { body, pose, radii, coefficients });
        Ok(())
    }

    /// `None` for an unsupported shape that may be left out.
    ///
    /// A mesh comes back as `Shape::Mesh(usize::MAX)`: its hull is looked up once it is known to be needed.
    fn shape(&mut self, a: &Attributes) -> Result<Option<Placed>, ModelError> {
        let kind = a.get("type").unwrap_or("sphere");
        let mut size = a.overlay::<3>("size", [0.0; 3])?;
        let mut pose = self.compiler.pose(a)?;
        if let Some(ends) = a.exactly::<6>("fromto")? {
            let (middle, length) = from_to(&ends);
            if length < 1e-14 {
                return Err(a.error("`fromto` has zero length"));
            }
            pose = middle;
            match kind {
                "capsule" | "cylinder" => size[1] = length / 2.0,
                "box" | "ellipsoid" => (size[1], size[2]) = (size[0], length / 2.0),
                _ => return Err(a.error(format!("`fromto` has no meaning for a {kind}"))),
            }
        }
        let shape = match kind {
            "mesh" => {
                let name = a.get("mesh").ok_or_else(|| a.error("attribute `mesh` is missing"))?;
                let asset = self.names.meshes.get(name);
                let asset = asset.ok_or_else(|| a.error(format!("`mesh`: there is no `{name}`")))?;
                return Ok(Some((Shape::Mesh(usize::MAX), pose, asset.solid.clone())));
            }
            "hfield" => {
                let field = Self::find(&self.names.heightfields, a, "hfield")?;
                Shape::HeightField(field.ok_or_else(|| a.error("attribute `hfield` is missing"))?)
            }
            "plane" => Shape::Plane,
            "sphere" | "capsule" | "cylinder" | "box" | "ellipsoid" if a.has("mesh") => {
                self.report.unsupported(a.element.location(), format!("a {kind} fitted to a mesh"))?;
                return Ok(None);
            }
            "sphere" => Shape::Sphere { radius: size[0] },
            "capsule" => Shape::Capsule { radius: size[0], half_length: size[1] },
            "cylinder" => Shape::Cylinder { radius: size[0], half_length: size[1] },
            "box" => Shape::Box { half: Vec3::from(size) },
            "ellipsoid" => Shape::Ellipsoid { radii: Vec3::from(size) },
            "sdf" => return self.sdf(a),
            other => return Err(a.error(format!("unknown geom type `{other}`"))),
        };
        let solid = Ok(Inertial::of_shape(&shape, 1.0));
        Ok(Some((shape, pose, solid)))
    }

    /// Mass properties of a shape's surface at density 1. MuJoCo refuses those of a mesh, which has a setting of its own.
    fn shell(a: &Attributes, shape: &Shape) -> Result<Inertial, ModelError> {
        if matches!(shape, Shape::Mesh(_) | Shape::Sdf(_)) {
            return Err(a.error("`shellinertia` of a mesh: `inertia` of the <mesh> says how its mass is spread"));
        }
        Ok(Inertial::of_shell(shape, 1.0))
    }

    /// Mass properties of a geom in the frame of its shape; none when its group does not count.
    fn share_of_mass(&self, a: &Attributes, solid: Result<Inertial, String>) -> Result<Inertial, ModelError> {
        let group = a.integer("group", 0)?;
        let [low, high] = self.compiler.inertia_groups;
        if !(low..=high).contains(&group) {
            return Ok(Inertial::zero());
        }
        let mass = a.exactly::<1>("mass")?.map(|[m]| m);
        let density = a.number("density", DEFAULT_DENSITY)?;
        if let Some(negative) = mass.or(Some(density)).filter(|m| *m < 0.0) {
            return Err(a.error(format!("mass and density must not be negative, found {negative}")));
        }
        if mass == Some(0.0) || (mass.is_none() && density == 0.0) {
            return Ok(Inertial::zero());
        }
        let solid = solid.map_err(|why| a.error(format!("the mesh has no mass properties: {why}")))?;
        Ok(match mass {
            Some(mass) => solid.with_mass(mass),
            None => solid.scaled(density),
        })
    }

    /// The hull of a geom's mesh; `None` for a visual mesh without one.
    fn hull_of(&mut self, a: &Attributes, contact: &Contacting) -> Result<Option<usize>, ModelError> {
        let Some(asset) = a.get("mesh").and_then(|name| self.names.meshes.get(name)) else { return Ok(None) };
        if let Some(mesh) = asset.mesh {
            return Ok(Some(mesh));
        }
        let why = asset.why_no_hull.clone();
        if contact.contype != 0 || contact.conaffinity != 0 {
            return Err(a.error(format!("the mesh has no convex hull: {why}")));
        }
        self.report.ignore(a.element.location(), format!("visual mesh left out: {why}"));
        Ok(None)
    }

    pub(super) fn contacting(&mut self, a: &Attributes, name: &str) -> Result<Contacting, ModelError> {
        let custom = |what| [name, ""].into_iter().find_map(|geom| self.custom.get(&(what, geom.to_owned())).copied());
        Ok(Contacting {
            friction: a.overlay::<3>("friction", [1.0, 0.005, 0.0001])?[0],
            restitution: custom(RESTITUTION).unwrap_or(0.0),
            stiffness: custom(STIFFNESS).unwrap_or(f64::INFINITY),
            dissipation: custom(DISSIPATION).unwrap_or(0.0),
            margin: a.number("margin", 0.0)?,
            gap: a.number("gap", 0.0)?,
            frictionless: self.frictionless(a)?,
            contype: a.integer("contype", 1)? as u32,
            conaffinity: a.integer("conaffinity", 1)? as u32,
            priority: a.integer("priority", 0)?,
        })
    }

    /// condim 1; 4 and 6 are taken as 3 and listed.
    pub(super) fn frictionless(&mut self, a: &Attributes) -> Result<bool, ModelError> {
        match a.integer("condim", 3)? {
            1 => Ok(true),
            3 => Ok(false),
            n @ (4 | 6) => {
                let why = format!("condim {n} taken as 3: no torsional or rolling friction");
                self.report.leave_out(a.element.location(), why);
                Ok(false)
            }
            other => Err(a.error(format!("`condim` must be 1, 3, 4 or 6, found {other}"))),
        }
    }
}
