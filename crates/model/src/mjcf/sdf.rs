//! Geoms of type `sdf`: distance functions by the names and keys of MuJoCo's plugins, and of our own.
//!
//! A geom says `<geom type="sdf"><plugin plugin="NAME"><config key="KEY" value="VALUE"/></plugin></geom>`, or
//! `<plugin instance="INSTANCE"/>` with the instance declared under `<extension>`, as in MuJoCo; its `mesh` is not needed
//! and not looked at, as the surface is sampled from the function.
//!
//! | plugin | keys, m |
//! |---|---|
//! | `mujoco.sdf.torus` | `radius1` (ring), `radius2` (tube) |
//! | `mujoco.sdf.bowl` | `height`, `radius`, `thickness` (half the wall's) |
//! | `manyworlds.sdf.dish` | `profile` (`rho z` of each point), `thickness` (half the wall's) |
//! | `manyworlds.sdf.bolt` | `radius`, `pitch`, `length` |
//! | `manyworlds.sdf.nut` | `radius`, `pitch`, `height`, `width` (across flats), `clearance` |
//!
//! All these keys must be given. Each plugin also takes `spacing` (m; without it a 32nd of the half extent, or what its
//! smallest feature needs) and `contacts` (at most so many with another shape; 120).

use super::Importer;
use super::geoms::Placed;
use crate::attributes::Attributes;
use crate::validate::Part;
use crate::xml::Element;
use crate::{DistanceFunction, ModelError, Sdf, Shape};

/// What a plugin is called and what it is told.
struct Plugin<'e> {
    name: &'e str,
    element: &'e Element,
}

impl Importer<'_> {
    /// Remembers the instances of plugins.
    pub(super) fn extension(&mut self, section: &Element) -> Result<(), ModelError> {
        for plugin in section.children.iter().filter(|c| c.tag == "plugin") {
            for instance in plugin.children.iter().filter(|c| c.tag == "instance") {
                let (kind, name) = (plugin.required("plugin")?, instance.required("name")?);
                let value = (kind.to_owned(), instance.clone());
                Self::name(&mut self.names.plugins, instance, name, value)?;
            }
        }
        Ok(())
    }

    /// The shape of a geom of type `sdf`; `None` for an unsupported plugin that may be left out.
    pub(super) fn sdf(&mut self, a: &Attributes) -> Result<Option<Placed>, ModelError> {
        let element = a.element.children.iter().find(|c| c.tag == "plugin");
        let element = element.ok_or_else(|| a.error("a geom of type sdf needs a <plugin>"))?;
        let instance = match element.get("instance") {
            Some(name) => {
                let known = self.names.plugins.get(name).cloned();
                Some(known.ok_or_else(|| element.error(format!("`instance`: there is no `{name}`")))?)
            }
            None => None,
        };
        let plugin = match &instance {
            Some((name, element)) => Plugin { name, element },
            None => Plugin { name: element.required("plugin")?, element },
        };
        let Some(function) = plugin.function()? else {
            self.report.unsupported(element.location(), format!("plugin {}", plugin.name))?;
            return Ok(None);
        };
        let spacing = plugin.optional("spacing")?.unwrap_or_else(|| function.default_spacing());
        let contacts = plugin.optional("contacts")?.unwrap_or(Sdf::CONTACTS as f64) as usize;
        let same = |s: &Sdf| *s.function() == function && s.spacing() == spacing && s.contacts == contacts;
        let index = match self.builder.sdfs.iter().position(same) {
            Some(index) => index,
            None => {
                let name = a.get("name").unwrap_or_default();
                let mut sdf = Sdf::new(name, function, spacing).map_err(|why| plugin.element.error(why))?;
                sdf.contacts = contacts;
                let index = self.builder.sdf(sdf);
                self.origin(Part::Sdf, index, a.element);
                index
            }
        };
        let solid = self.builder.sdfs[index].solid();
        Ok(Some((Shape::Sdf(index), self.compiler.pose(a)?, solid)))
    }
}

/// Whether a mesh made by this plugin is the surface of a distance function that a geom can have.
pub(super) fn is_function(name: &str) -> bool {
    keys(name).is_some()
}

fn keys(plugin: &str) -> Option<&'static [&'static str]> {
    Some(match plugin {
        "mujoco.sdf.torus" => &["radius1", "radius2"],
        "mujoco.sdf.bowl" => &["height", "radius", "thickness"],
        "manyworlds.sdf.dish" => &["profile", "thickness"],
        "manyworlds.sdf.bolt" => &["radius", "pitch", "length"],
        "manyworlds.sdf.nut" => &["radius", "pitch", "height", "width", "clearance"],
        _ => return None,
    })
}

impl Plugin<'_> {
    /// The function with its dimensions; `None` for a plugin that is not known.
    fn function(&self) -> Result<Option<DistanceFunction>, ModelError> {
        let Some(known) = keys(self.name) else { return Ok(None) };
        for config in self.element.children.iter().filter(|c| c.tag == "config") {
            let key = config.required("key")?;
            if !known.contains(&key) && !["spacing", "contacts"].contains(&key) {
                let known = known.join(", ");
                return Err(config.error(format!("`{key}` is no key of {}: expected {known}", self.name)));
            }
        }
        Ok(Some(match self.name {
            "mujoco.sdf.torus" => {
                DistanceFunction::Torus { ring_radius: self.number("radius1")?, tube_radius: self.number("radius2")? }
            }
            "mujoco.sdf.bowl" => DistanceFunction::Bowl {
                radius: self.number("radius")?,
                height: self.number("height")?,
                padding: self.number("thickness")?,
            },
            "manyworlds.sdf.dish" => {
                let numbers = self.numbers("profile")?.unwrap_or_default();
                if !numbers.len().is_multiple_of(2) {
                    return Err(self.element.error(format!("`profile` needs pairs, found {} numbers", numbers.len())));
                }
                let profile = numbers.chunks_exact(2).map(|p| [p[0], p[1]]).collect();
                DistanceFunction::Dish { profile, padding: self.number("thickness")? }
            }
            "manyworlds.sdf.bolt" => DistanceFunction::Bolt {
                radius: self.number("radius")?,
                pitch: self.number("pitch")?,
                half_length: 0.5 * self.number("length")?,
            },
            _ => DistanceFunction::Nut {
                radius: self.number("radius")?,
                pitch: self.number("pitch")?,
                half_height: 0.5 * self.number("height")?,
                half_width: 0.5 * self.number("width")?,
                clearance: self.number("clearance")?,
            },
        }))
    }

    fn numbers(&self, key: &str) -> Result<Option<Vec<f64>>, ModelError> {
        let config = self.element.children.iter().find(|c| c.tag == "config" && c.get("key") == Some(key));
        let Some(config) = config else { return Ok(None) };
        let parse = |word: &str| word.parse().map_err(|_| config.error(format!("`{key}`: `{word}` is no number")));
        config.required("value")?.split_whitespace().map(parse).collect::<Result<_, _>>().map(Some)
    }

    fn optional(&self, key: &str) -> Result<Option<f64>, ModelError> {
        match self.numbers(key)?.as_deref() {
            None => Ok(None),
            Some([x]) => Ok(Some(*x)),
            Some(list) => Err(self.element.error(format!("`{key}` needs 1 number, found {}", list.len()))),
        }
    }

    fn number(&self, key: &str) -> Result<f64, ModelError> {
        let missing = || self.element.error(format!("plugin {} needs the key `{key}`", self.name));
        self.optional(key)?.ok_or_else(missing)
    }
}
