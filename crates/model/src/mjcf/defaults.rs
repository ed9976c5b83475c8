//! Default classes.

use std::collections::HashMap;
use std::rc::Rc;

use crate::ModelError;
use crate::attributes::Attributes;
use crate::xml::Element;

/// Every shortcut writes the same default actuator, so all of them apply to each actuator.
pub(crate) const ACTUATORS: &[&str] = &[
    "general",
    "motor",
    "position",
    "velocity",
    "intvelocity",
    "orientation",
    "pid",
    "damper",
    "cylinder",
    "muscle",
    "adhesion",
    "dcmotor",
    "plugin",
];

/// The tree of default classes; class 0 is `main`.
#[derive(Debug)]
pub(crate) struct Defaults {
    classes: Vec<Class>,
    by_name: HashMap<String, usize>,
}

#[derive(Debug)]
struct Class {
    parent: Option<usize>,
    elements: Vec<Rc<Element>>,
}

impl Defaults {
    /// Collects the `<default>` sections of a document.
    pub(crate) fn read<'a>(sections: impl Iterator<Item = &'a Element>) -> Result<Self, ModelError> {
        let main = Class { parent: None, elements: Vec::new() };
        let mut defaults = Self { classes: vec![main], by_name: HashMap::from([("main".to_owned(), 0)]) };
        for section in sections {
            // The outermost section is the class main, whatever it is called.
            if let Some(name) = section.get("class") {
                defaults.by_name.insert(name.to_owned(), 0);
            }
            defaults.section(section, 0)?;
        }
        Ok(defaults)
    }

    fn section(&mut self, section: &Element, class: usize) -> Result<(), ModelError> {
        for child in section.children.iter().filter(|c| c.tag != "default") {
            self.classes[class].elements.push(Rc::new(child.clone()));
        }
        for child in section.children.iter().filter(|c| c.tag == "default") {
            let name = child.required("class")?;
            if self.by_name.contains_key(name) {
                return Err(child.error(format!("the default class `{name}` is defined twice")));
            }
            self.classes.push(Class { parent: Some(class), elements: Vec::new() });
            let index = self.classes.len() - 1;
            self.by_name.insert(name.to_owned(), index);
            self.section(child, index)?;
        }
        Ok(())
    }

    /// Every element of every class.
    pub(crate) fn elements(&self) -> impl Iterator<Item = &Rc<Element>> {
        self.classes.iter().flat_map(|c| &c.elements)
    }

    /// The class that an attribute (`class`, `childclass`) names; `inherited` without it.
    pub(crate) fn class(&self, element: &Element, attribute: &str, inherited: usize) -> Result<usize, ModelError> {
        let Some(name) = element.get(attribute) else { return Ok(inherited) };
        self.by_name.get(name).copied().ok_or_else(|| element.error(format!("unknown default class `{name}`")))
    }

    /// An element with the defaults of its own class, or of the inherited one.
    pub(crate) fn apply<'a>(&self, element: &'a Element, inherited: usize) -> Result<Attributes<'a>, ModelError> {
        let tag = element.tag.as_str();
        if ACTUATORS.contains(&tag) {
            self.apply_as(element, inherited, ACTUATORS)
        } else {
            self.apply_as(element, inherited, &[tag])
        }
    }

    /// The same, with the defaults of other tags.
    pub(crate) fn apply_as<'a>(
        &self,
        element: &'a Element,
        inherited: usize,
        tags: &[&str],
    ) -> Result<Attributes<'a>, ModelError> {
        let mut lineage = vec![self.class(element, "class", inherited)?];
        while let Some(parent) = lineage.last().and_then(|&class| self.classes[class].parent) {
            lineage.push(parent);
        }
        let applies = |e: &&Rc<Element>| tags.contains(&e.tag.as_str());
        let of_class = |class: &usize| self.classes[*class].elements.iter().filter(applies).cloned().collect();
        Ok(Attributes { element, defaults: lineage.iter().rev().map(of_class).collect() })
    }
}
