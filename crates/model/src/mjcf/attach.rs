//! `<attach>`: a body of another model file in this one's tree, with the contacts, equalities and actuators on it.

use super::bodies::Place;
use super::compiler::Compiler;
use super::defaults::Defaults;
use super::{Importer, Names, flex, sections};
use crate::ModelError;
use crate::import::text_of;
use crate::xml::{self, Element};

/// Models that attach models deeper than this are taken for a loop.
const MAX_DEPTH: usize = 8;

/// Sections of an attached model that come along, in the order in which they refer to one another.
const SECTIONS: [&str; 4] = ["contact", "tendon", "equality", "actuator"];

/// How many parts there were of each named kind.
struct Counts {
    bodies: usize,
    joints: usize,
    geoms: usize,
    sites: usize,
    tendons: usize,
    actuators: usize,
    equalities: usize,
    cameras: usize,
    lights: usize,
    soft: usize,
}

impl Importer<'_> {
    pub(super) fn attach(&mut self, element: &Element, place: &Place) -> Result<(), ModelError> {
        if self.attach_depth >= MAX_DEPTH {
            return Err(element.error(format!("models attach one another deeper than {MAX_DEPTH} levels")));
        }
        let model = element.required("model")?;
        let file = self.names.models.get(model).cloned();
        let file = file.ok_or_else(|| element.error(format!("`model`: there is no `{model}`")))?;
        let path = self.directory.join(&file);
        let bytes = (self.resolver)(&path)
            .map_err(|error| element.error(format!("cannot read {}: {error}", path.display())))?;
        let text = text_of(bytes);
        let root = xml::parse(&path, &text, self.resolver)?;
        let compiler = Compiler::read(sections(&root, "compiler"))?;
        let defaults = Defaults::read(sections(&root, "default"))?;
        // The other model is read with its own names and settings; ours come back afterwards.
        let compiler = std::mem::replace(&mut self.compiler, compiler);
        let defaults = std::mem::replace(&mut self.defaults, defaults);
        let names = std::mem::take(&mut self.names);
        let customs = std::mem::replace(&mut self.customs, flex::customs(&root));
        let directory = std::mem::replace(&mut self.directory, xml::directory_of(&path));
        let before = self.counts();
        self.attach_depth += 1;
        let result = self.attached(element, &root, place, &before);
        self.attach_depth -= 1;
        let attached = std::mem::replace(&mut self.names, names);
        (self.compiler, self.defaults, self.directory, self.customs) = (compiler, defaults, directory, customs);
        result?;
        self.rename(&before, element, place);
        self.adopt(attached, element, place)
    }

    fn attached(
        &mut self,
        element: &Element,
        root: &Element,
        place: &Place,
        before: &Counts,
    ) -> Result<(), ModelError> {
        for section in sections(root, "extension") {
            self.extension(section)?;
        }
        self.looks(root)?;
        for section in sections(root, "asset") {
            self.assets(section)?;
        }
        let inside = Place { class: 0, suffix: String::new(), ..place.clone() };
        match element.get("body") {
            None => sections(root, "worldbody")
                .try_for_each(|world| self.contents(world, &inside, &mut super::bodies::BodyMass::default()))?,
            Some(name) => {
                let found = sections(root, "worldbody").find_map(|world| find_body(world, name));
                let body = found.ok_or_else(|| element.error(format!("`body`: the model has no `{name}`")))?;
                self.body(body, &inside)?;
            }
        }
        self.aim();
        self.adjust_masses(before.bodies)?;
        for section in &root.children {
            let tag = section.tag.as_str();
            let read = ["compiler", "default", "extension", "asset", "worldbody"].contains(&tag);
            if !read && !SECTIONS.contains(&tag) {
                self.report.ignore(section.location(), "settings, sensors and keyframes of an attached model");
            }
        }
        for tag in SECTIONS {
            for section in sections(root, tag) {
                let mut kept = section.clone();
                kept.children.retain(|child| self.is_attached(child));
                match tag {
                    "contact" => self.contact(&kept)?,
                    "tendon" => self.tendons(&kept)?,
                    "equality" => self.equality(&kept)?,
                    _ => self.actuators(&kept)?,
                }
            }
        }
        Ok(())
    }

    /// Whether all that an element outside the tree, or one within it, acts on was attached.
    fn is_attached(&mut self, element: &Element) -> bool {
        let names = &self.names;
        let known = |(attribute, to): &(String, String)| match attribute.as_str() {
            "joint" | "joint1" | "joint2" | "jointinparent" => names.joints.contains_key(to),
            "body" | "body1" | "body2" => names.bodies.contains_key(to),
            "geom" | "geom1" | "geom2" => names.geoms.contains_key(to),
            "site" | "site1" | "site2" | "refsite" | "cranksite" | "slidersite" | "sidesite" => {
                names.sites.contains_key(to)
            }
            "tendon" | "tendon1" | "tendon2" => names.tendons.contains_key(to),
            _ => true,
        };
        let known = std::iter::once(element).chain(&element.children).all(|part| part.attributes.iter().all(known));
        if !known {
            self.report.ignore(element.location(), "acts on what is not attached");
        }
        known
    }

    fn counts(&self) -> Counts {
        let b = &self.builder;
        Counts {
            bodies: b.bodies.len(),
            joints: b.joints.len(),
            geoms: b.geoms.len(),
            sites: b.sites.len(),
            tendons: b.tendons.len(),
            actuators: b.actuators.len(),
            equalities: b.equalities.len(),
            cameras: b.visual.cameras.len(),
            lights: b.visual.lights.len(),
            soft: b.soft.len(),
        }
    }

    /// Prefix and replication suffix on the names of everything new.
    fn rename(&mut self, before: &Counts, element: &Element, place: &Place) {
        let rename = |name: &mut String| *name = affixed(name, element, place);
        let b = &mut self.builder;
        b.bodies[before.bodies..].iter_mut().for_each(|part| rename(&mut part.name));
        b.joints[before.joints..].iter_mut().for_each(|part| rename(&mut part.name));
        b.geoms[before.geoms..].iter_mut().for_each(|part| rename(&mut part.name));
        b.sites[before.sites..].iter_mut().for_each(|part| rename(&mut part.name));
        b.tendons[before.tendons..].iter_mut().for_each(|part| rename(&mut part.name));
        b.actuators[before.actuators..].iter_mut().for_each(|part| rename(&mut part.name));
        b.equalities[before.equalities..].iter_mut().for_each(|part| rename(&mut part.name));
        b.visual.cameras[before.cameras..].iter_mut().for_each(|part| rename(&mut part.name));
        b.visual.lights[before.lights..].iter_mut().for_each(|part| rename(&mut part.name));
        b.soft[before.soft..].iter_mut().for_each(|(part, _)| rename(&mut part.name));
    }

    /// Makes the attached names known here, under their new form.
    fn adopt(&mut self, attached: Names, element: &Element, place: &Place) -> Result<(), ModelError> {
        fn all<T>(
            to: &mut std::collections::HashMap<String, T>,
            from: std::collections::HashMap<String, T>,
            element: &Element,
            place: &Place,
        ) -> Result<(), ModelError> {
            let mut from: Vec<(String, T)> = from.into_iter().collect();
            from.sort_by(|a, b| a.0.cmp(&b.0));
            from.into_iter()
                .try_for_each(|(name, value)| Importer::name(to, element, &affixed(&name, element, place), value))
        }
        all(&mut self.names.bodies, attached.bodies, element, place)?;
        all(&mut self.names.joints, attached.joints, element, place)?;
        all(&mut self.names.geoms, attached.geoms, element, place)?;
        all(&mut self.names.tendons, attached.tendons, element, place)?;
        all(&mut self.names.cameras, attached.cameras, element, place)?;
        all(&mut self.names.soft, attached.soft, element, place)?;
        all(&mut self.names.sites, attached.sites, element, place)
    }
}

fn affixed(name: &str, element: &Element, place: &Place) -> String {
    if name.is_empty() {
        return String::new();
    }
    format!("{}{name}{}", element.get("prefix").unwrap_or(""), place.suffix)
}

/// The body of a name, at any depth.
fn find_body<'e>(within: &'e Element, name: &str) -> Option<&'e Element> {
    within.children.iter().find_map(|child| match child.tag.as_str() {
        "body" if child.get("name") == Some(name) => Some(child),
        "body" | "frame" | "replicate" => find_body(child, name),
        _ => None,
    })
}
