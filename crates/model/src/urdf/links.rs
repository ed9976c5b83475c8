//! Links and joints as bodies, in depth-first order from the root.

use std::collections::{HashMap, HashSet};

use super::Importer;
use super::robot::{JointElement, Kind, Link};
use crate::import::file_error;
use crate::validate::Part;
use crate::xml::Element;
use crate::{Inertial, Joint, JointKind, ModelError, Pose, Vec3};

/// A link that is to become a body.
struct Pending<'r> {
    link: &'r Link<'r>,
    /// The joint above it; `None` for the root.
    joint: Option<&'r JointElement<'r>>,
    /// Body of the link above, and that link's frame in it (links may be merged).
    parent: usize,
    frame: Pose,
}

impl Importer<'_> {
    pub(super) fn tree(&mut self, links: &[Link], joints: &[JointElement]) -> Result<(), ModelError> {
        let mut by_name = HashMap::new();
        for link in links {
            if by_name.insert(link.name, link).is_some() {
                return Err(link.element.error("the name is taken by another link"));
            }
        }
        let mut children: HashMap<&str, Vec<&JointElement>> = HashMap::new();
        let (mut has_parent, mut names) = (HashSet::new(), HashSet::new());
        for joint in joints {
            if !names.insert(joint.name) {
                return Err(joint.element.error("the name is taken by another joint"));
            }
            for link in [joint.parent, joint.child] {
                if !by_name.contains_key(link) {
                    return Err(joint.element.error(format!("there is no link `{link}`")));
                }
            }
            if !has_parent.insert(joint.child) {
                return Err(joint.element.error(format!("the link `{}` has two parents: a loop", joint.child)));
            }
            children.entry(joint.parent).or_default().push(joint);
        }
        let mut roots = links.iter().filter(|link| !has_parent.contains(link.name));
        let Some(root) = roots.next() else {
            return Err(file_error(self.path, "no root link: the joints form a loop, or there is no link"));
        };
        if let Some(second) = roots.next() {
            let message = format!("a second root: it has no parent joint, and neither has `{}`", root.name);
            return Err(second.element.error(message));
        }
        let mut reached = 0;
        let mut stack = vec![Pending { link: root, joint: None, parent: 0, frame: Pose::identity() }];
        while let Some(pending) = stack.pop() {
            reached += 1;
            let link = pending.link;
            let (body, frame) = self.link(pending)?;
            for joint in children.get(link.name).into_iter().flatten().rev() {
                let child = by_name[joint.child];
                stack.push(Pending { link: child, joint: Some(joint), parent: body, frame });
            }
        }
        if reached < links.len() {
            return Err(file_error(self.path, "some links are not reached from the root: the joints form a loop"));
        }
        Ok(())
    }

    /// Makes a body of a link, or merges it; the body, and the link's frame in it.
    fn link(&mut self, pending: Pending) -> Result<(usize, Pose), ModelError> {
        let Pending { link, joint, parent, frame } = pending;
        let origin = joint.map_or_else(Pose::identity, |joint| joint.origin);
        let placed = frame * origin;
        let fixed = joint.is_none_or(|joint| joint.kind == Kind::Fixed);
        let is_ground = joint.is_none() && link.name == "world";
        if is_ground {
            self.report.assumptions.push("the link `world` is the ground".into());
            if self.options.free_root {
                return Err(link.element.error("--free-root: the root link is the world itself"));
            }
        }
        let merged = is_ground || self.options.merge_fixed && fixed && joint.is_some() && parent > 0;
        let (body, frame) = if merged {
            self.add_mass(parent, &link.inertial.unwrap_or_else(Inertial::zero).moved(&placed));
            (parent, placed)
        } else {
            let (parent, placed) = match joint {
                Some(joint) if joint.kind == Kind::Floating => (0, self.grounded(joint, parent)? * placed),
                _ => (parent, placed),
            };
            let body = self.builder.body(link.name, parent, placed, link.inertial.unwrap_or_else(Inertial::zero));
            self.origins.insert((Part::Body, body), link.element.location());
            (body, Pose::identity())
        };
        let solid = self.collisions(link, body, &frame)?;
        if solid.mass > 0.0 && body > 0 {
            self.add_mass(body, &solid);
            self.inferred.push(link.name.to_owned());
        }
        match joint {
            None if is_ground => {}
            None if self.options.free_root => {
                let name = link.name.to_owned();
                self.add_joint(name, link.element, body, JointKind::Free, Vec3::z(), None, (0.0, 0.0));
                self.report.assumptions.push(format!("the root link `{}` floats (--free-root)", link.name));
            }
            None => self.report.assumptions.push(format!("the root link `{}` is fixed to the ground", link.name)),
            Some(joint) if merged && fixed => {
                let what = format!("the link `{}` was merged into its parent (joint `{}`)", link.name, joint.name);
                self.report.assumptions.push(what);
            }
            Some(joint) => self.joint(joint, body)?,
        }
        Ok((body, frame))
    }

    fn add_mass(&mut self, body: usize, inertial: &Inertial) {
        // The world has none.
        if body > 0 {
            let own = &mut self.builder.bodies[body].inertial;
            *own = Inertial::sum(&[*own, *inertial]);
        }
    }

    /// World pose of a static body, which a floating joint may stand on.
    fn grounded(&self, joint: &JointElement, body: usize) -> Result<Pose, ModelError> {
        let mut at = body;
        while at > 0 {
            if self.builder.joints.iter().any(|j| j.body == at) {
                return Err(joint.element.error("not supported: a floating joint on a link that moves"));
            }
            at = self.builder.bodies[at].parent;
        }
        Ok(crate::reference::body_pose(&self.builder, body))
    }

    fn joint(&mut self, joint: &JointElement, body: usize) -> Result<(), ModelError> {
        let dynamics = (joint.damping, joint.friction);
        let (name, element, axis) = (joint.name.to_owned(), joint.element, joint.axis);
        match joint.kind {
            Kind::Fixed => {}
            Kind::Floating => self.add_joint(name, element, body, JointKind::Free, axis, None, dynamics),
            Kind::Spherical => self.add_joint(name, element, body, JointKind::Ball, axis, None, dynamics),
            Kind::Continuous => self.add_joint(name, element, body, JointKind::Hinge, axis, None, dynamics),
            Kind::Revolute | Kind::Prismatic => {
                let kind = if joint.kind == Kind::Revolute { JointKind::Hinge } else { JointKind::Slide };
                self.unlimited += usize::from(joint.range.is_none());
                self.add_joint(name, element, body, kind, axis, joint.range, dynamics);
            }
            Kind::Planar => {
                let basis = crate::mjcf::from_z(axis);
                let (x, y) = (basis * Vec3::x(), basis * Vec3::y());
                self.add_joint(format!("{name}.x"), element, body, JointKind::Slide, x, None, dynamics);
                self.add_joint(format!("{name}.y"), element, body, JointKind::Slide, y, None, dynamics);
                self.add_joint(format!("{name}.angle"), element, body, JointKind::Hinge, axis, None, dynamics);
            }
        }
        Ok(())
    }

    fn add_joint(
        &mut self,
        name: String,
        element: &Element,
        body: usize,
        kind: JointKind,
        axis: Vec3,
        range: Option<[f64; 2]>,
        (damping, dry_friction): (f64, f64),
    ) {
        let index =
            self.builder.joint(Joint { axis, range, damping, dry_friction, ..Joint::new(name.clone(), body, kind) });
        if matches!(kind, JointKind::Hinge | JointKind::Slide) {
            self.joints.insert(name, index);
        }
        self.origins.insert((Part::Joint, index), element.location());
    }
}
