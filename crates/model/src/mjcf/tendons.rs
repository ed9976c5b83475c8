//! Tendons, fixed and spatial.

use super::{Importer, schema};
use crate::attributes::Attributes;
use crate::validate::Part;
use crate::xml::Element;
use crate::{Bounded, ModelError, Obstacle, Path, Shape, Tendon, Waypoint};

impl Importer<'_> {
    pub(super) fn tendons(&mut self, section: &Element) -> Result<(), ModelError> {
        for element in &section.children {
            if !matches!(element.tag.as_str(), "fixed" | "spatial") {
                return Err(element.error(format!("unknown element <{}>", element.tag)));
            }
            self.tendon(element)?;
        }
        Ok(())
    }

    fn tendon(&mut self, element: &Element) -> Result<(), ModelError> {
        let a = self.defaults.apply_as(element, 0, &["tendon"])?;
        schema::check(element, &mut self.report)?;
        schema::check_values(&a, &mut self.report)?;
        let path = if element.tag == "fixed" { self.fixed(element)? } else { self.spatial(element)? };
        let (stiffness, damping) = (self.linear(&a, "stiffness")?, self.linear(&a, "damping")?);
        let name = element.get("name").unwrap_or("").to_owned();
        let tendon = self.builder.tendon(Tendon {
            name: name.clone(),
            path,
            stiffness,
            damping,
            spring_length: self.spring_length(&a)?,
            range: a.range("range", "limited", self.compiler.autolimits)?,
            dry_friction: a.number("frictionloss", 0.0)?,
        });
        Self::name(&mut self.names.tendons, element, &name, tendon)?;
        self.limit_margins.insert(Bounded::Tendon(tendon), a.number("margin", 0.0)?);
        self.origin(Part::Tendon, tendon, element);
        if let Some(force) = a.range("actuatorfrcrange", "actuatorfrclimited", self.compiler.autolimits)? {
            self.tendon_force.insert(tendon, force);
        }
        Ok(())
    }

    /// One or two lengths; -1, as in MuJoCo, is that at the initial position.
    fn spring_length(&self, a: &Attributes) -> Result<Option<[f64; 2]>, ModelError> {
        let given = match a.list::<f64>("springlength")?.as_deref() {
            None => return Ok(None),
            Some(&[length]) => [length, length],
            Some(&[low, high]) => [low, high],
            Some(list) => {
                return Err(a.error(format!("`springlength` takes one or two numbers, found {}", list.len())));
            }
        };
        if given[0] > given[1] {
            return Err(a.error(format!("`springlength` is reversed: {} is above {}", given[0], given[1])));
        }
        Ok(Some(given).filter(|&lengths| lengths != [-1.0, -1.0]))
    }

    fn fixed(&mut self, element: &Element) -> Result<Path, ModelError> {
        let mut terms = Vec::with_capacity(element.children.len());
        for child in &element.children {
            self.spend(child)?;
            let a = Attributes::bare(child);
            if child.tag != "joint" {
                return Err(child.error("a fixed tendon is a sum of joints"));
            }
            let joint = Self::find(&self.names.joints, &a, "joint")?;
            let joint = joint.ok_or_else(|| a.error("attribute `joint` is missing"))?;
            let coefficient = a.exactly::<1>("coef")?.ok_or_else(|| a.error("attribute `coef` is missing"))?[0];
            terms.push((joint, coefficient));
        }
        Ok(Path::Fixed(terms))
    }

    fn spatial(&mut self, element: &Element) -> Result<Path, ModelError> {
        let mut points = Vec::with_capacity(element.children.len());
        for child in &element.children {
            self.spend(child)?;
            let a = Attributes::bare(child);
            points.push(match child.tag.as_str() {
                "site" => {
                    let site = Self::find(&self.names.sites, &a, "site")?;
                    Waypoint::Site(site.ok_or_else(|| a.error("attribute `site` is missing"))?)
                }
                "pulley" => {
                    let divisor = a.exactly::<1>("divisor")?;
                    Waypoint::Pulley(divisor.ok_or_else(|| a.error("attribute `divisor` is missing"))?[0])
                }
                "geom" => Waypoint::Obstacle(self.obstacle(&a)?),
                other => return Err(child.error(format!("unknown element <{other}> of a tendon's path"))),
            });
        }
        Ok(Path::Spatial(points))
    }

    fn obstacle(&self, a: &Attributes) -> Result<Obstacle, ModelError> {
        let geom = Self::find(&self.names.geoms, a, "geom")?;
        let geom = &self.builder.geoms[geom.ok_or_else(|| a.error("attribute `geom` is missing"))?];
        let (radius, cylinder) = match geom.shape {
            Shape::Sphere { radius } => (radius, false),
            Shape::Cylinder { radius, .. } => (radius, true),
            _ => return Err(a.error("a tendon goes round spheres and cylinders only")),
        };
        let side = Self::find(&self.names.sites, a, "sidesite")?;
        Ok(Obstacle { body: geom.body, pose: geom.pose, radius, cylinder, side })
    }
}
