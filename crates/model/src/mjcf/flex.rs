//! `<flexcomp dim="3">`: soft bodies of tetrahedra, and cages about these (`dof` trilinear and quadratic).
//!
//! What MJCF lacks is read from `<custom>`: `<text name="NAME:material" data="neo-hookean"/>` (or corotated, linear, stvk),
//! `<numeric name="NAME:order" data="2"/>` (quadratic tetrahedra) and `<numeric name="NAME:activation" data="1000"/>` (a
//! pressure in all elements, Pa; with two corners behind it, m, in those whose middle lies between them). `NAME` is the
//! flexcomp's. The activation is a control, too, of that name, behind the model's actuators: what it adds to the pressure, Pa.

use std::collections::{BTreeSet, HashMap};

use manyworlds_geometry::{flexcomp, node_counts};
use nalgebra::Point3;

use super::bodies::{Place, named};

use super::{Importer, schema, sections};
use crate::attributes::Attributes;
use crate::validate::Part;
use crate::xml::Element;
use crate::{
    Actuator, Cage, Embedding, Material, MaterialLaw, ModelError, Order, Pose, Region, SoftBody, Tetrahedra,
    Transmission, Vec3,
};

/// MuJoCo's defaults of a flexcomp.
const COUNT: [i32; 3] = [10; 3];
const SPACING: [f64; 3] = [0.02; 3];
const RADIUS: f64 = 0.005;
const MASS: f64 = 1.0;

const MATERIAL: &str = "material";
const ORDER: &str = "order";
const ACTIVATION: &str = "activation";

/// What a soft body is made of, in the frame of the body that carries it.
struct Parts {
    nodes: Vec<Vec3>,
    pinned: Vec<u32>,
    order: Order,
    elements: Vec<u32>,
    embedding: Option<Embedding>,
    regions: Vec<Region>,
}

/// What `<custom>` says of flexcomps: their names and what is said, to the element that says it.
pub(super) type Customs = HashMap<(String, &'static str), Element>;

/// Takes an element of `<custom>` that is about a flexcomp.
pub(super) fn custom(customs: &mut Customs, element: &Element) -> bool {
    let Some((flex, what)) = element.get("name").and_then(|name| name.rsplit_once(':')) else { return false };
    let tag = if what == MATERIAL { "text" } else { "numeric" };
    match [MATERIAL, ORDER, ACTIVATION].into_iter().find(|known| *known == what && element.tag == tag) {
        Some(known) => {
            customs.insert((flex.to_owned(), known), element.clone());
            true
        }
        None => false,
    }
}

/// What the whole of another model's `<custom>` says of its flexcomps.
pub(super) fn customs(root: &Element) -> Customs {
    let mut customs = Customs::new();
    for element in sections(root, "custom").flat_map(|section| &section.children) {
        custom(&mut customs, element);
    }
    customs
}

impl Importer<'_> {
    pub(super) fn flexcomp(&mut self, element: &Element, place: &Place) -> Result<(), ModelError> {
        schema::check(element, &mut self.report)?;
        let a = Attributes::bare(element);
        schema::check_values(&a, &mut self.report)?;
        let name = named(element, place);
        if name.is_empty() {
            return Err(a.error("attribute `name` is missing"));
        }
        let own = element.get("name").unwrap_or_default();
        self.flexcomps.insert(own.to_owned());
        for child in &element.children {
            schema::check_flex(child, &mut self.report)?;
        }
        if let Some(what) = unread(&a)? {
            return self.report.unsupported(element.location(), what);
        }
        let child = |tag: &str| element.children.iter().find(|c| c.tag == tag).map(Attributes::bare);
        let elasticity = child("elasticity");
        let elastic = |name: &str| elasticity.as_ref().map_or(Ok(0.0), |e| e.number(name, 0.0));
        let (young, poisson, damping) = (elastic("young")?, elastic("poisson")?, elastic("damping")?);
        if young == 0.0 {
            let what = "a flexcomp without elasticity: give <elasticity young=\"...\"/>";
            return self.report.unsupported(element.location(), what);
        }
        let Some(mesh) = self.flex_mesh(&a)? else { return Ok(()) };
        let pose = place.frame * self.compiler.pose(&a)?;
        let parts = match cage_order(&a) {
            Some(order) => self.cage(&a, own, (mesh, pose), order)?,
            None => self.tetrahedra(&a, own, (mesh, pose))?,
        };
        let law = self.law(own)?;
        let contact = child("contact");
        let contact = contact.as_ref().unwrap_or(&a);
        let contacting = self.contacting(contact, &name)?;
        let touches_itself = contacting.contype & contacting.conaffinity != 0 && touches_itself(contact)?;
        let mut soft = SoftBody {
            name: name.clone(),
            body: place.body,
            nodes: parts.nodes,
            pinned: parts.pinned,
            order: parts.order,
            elements: parts.elements,
            embedding: parts.embedding,
            material: Material { law, young, poisson, density: 1.0, damping, mass_damping: 0.0 },
            regions: parts.regions,
            contacting,
            radius: a.number("radius", RADIUS)?,
            touches_itself,
            q: 0..0,
            v: 0..0,
        };
        let mass = a.number("mass", MASS)?;
        if mass <= 0.0 {
            return Err(a.error(format!("`mass` must be positive, found {mass}")));
        }
        let volume = soft.volume();
        // A mesh without volume is refused when the whole model is checked, which names the element.
        if volume > 0.0 {
            soft.material.density = mass / volume;
        }
        let theirs = match soft.embedding {
            Some(_) => {
                "MuJoCo samples it and gives what is pinned none, and its energy is linear but for a turn a cell"
            }
            None => "MuJoCo gives every point the same; what is pinned keeps its part",
        };
        self.report.assumptions.push(format!("flexcomp `{name}`: its mass is spread by volume, {theirs}"));
        let index = self.builder.soft_body(soft);
        Self::name(&mut self.names.soft, element, &name, index)?;
        self.origin(Part::SoftBody, index, element);
        Ok(())
    }

    /// A body of tetrahedra; points, in the flexcomp's frame, are its nodes.
    fn tetrahedra(&self, a: &Attributes, own: &str, (mut mesh, pose): (Tetrahedra, Pose)) -> Result<Parts, ModelError> {
        let grid = match a.get("type") {
            None | Some("grid") => Some(count(a)?),
            Some(_) => None,
        };
        let mut pinned = pins(a, mesh.nodes.len(), grid)?;
        if let Some(order) = self.customs.get(&(own.to_owned(), ORDER)) {
            let wanted = Attributes::bare(order);
            match (wanted.integer("data", 1)?, mesh.order) {
                (1, Order::Linear) | (2, Order::Quadratic) => {}
                (2, Order::Linear) => flexcomp::refine(&mut mesh, &mut pinned),
                (1, _) => return Err(wanted.error("the file's elements are quadratic already")),
                (other, _) => return Err(wanted.error(format!("`data` must be 1 or 2, found {other}"))),
            }
        }
        let regions = self.activation(own, &middles(&mesh.nodes, &mesh.elements, (mesh.order.nodes(), 4)))?;
        let nodes = mesh.nodes.iter().map(|x| pose * Point3::from(*x)).map(|x| x.coords).collect();
        let pinned = pinned.into_iter().collect();
        Ok(Parts { nodes, pinned, order: mesh.order, elements: mesh.elements, embedding: None, regions })
    }

    /// A cage about the points where they are placed, along the axes of the body that carries it.
    fn cage(
        &self,
        a: &Attributes,
        own: &str,
        (mut mesh, pose): (Tetrahedra, Pose),
        order: Order,
    ) -> Result<Parts, ModelError> {
        if let Some(order) = self.customs.get(&(own.to_owned(), ORDER)) {
            return Err(Attributes::bare(order).error(format!("`{own}` is a cage, whose order is its `dof`")));
        }
        let cells = cell_counts(a)?;
        mesh.nodes.iter_mut().for_each(|x| *x = (pose * Point3::from(*x)).coords);
        let counts = node_counts(cells, order).map_err(|why| a.error(why))?;
        let n_node = counts.iter().product();
        if n_node > self.budget {
            return Err(a.error(format!("`cellcount` is too large: {n_node} nodes")));
        }
        let cage = Cage::around(&mesh, cells, order).map_err(|why| a.error(why))?;
        let pinned = pins(a, n_node, Some(counts))?;
        let pinned =
            (0..).zip(&cage.numbers).filter(|(_, number)| pinned.contains(number)).map(|(node, _)| node).collect();
        let back = pose.inverse();
        let mut middles = middles(&cage.nodes, &cage.elements, (order.nodes(), order.nodes()));
        middles.iter_mut().for_each(|x| *x = (back * Point3::from(*x)).coords);
        let regions = self.activation(own, &middles)?;
        let Cage { nodes, elements, embedding, .. } = cage;
        Ok(Parts { nodes, pinned, order, elements, embedding: Some(embedding), regions })
    }

    /// Points and tetrahedra in the flexcomp's own frame; `None` where a type that is not read may be left out.
    fn flex_mesh(&mut self, a: &Attributes) -> Result<Option<Tetrahedra>, ModelError> {
        let kind = a.get("type").unwrap_or("grid");
        let mut mesh = match kind {
            "grid" => flexcomp::grid(self.count(a)?, spacing(a)?),
            "box" | "cylinder" | "ellipsoid" => flexcomp::shell(kind, self.count(a)?, spacing(a)?),
            "direct" => direct(a)?,
            "gmsh" => {
                let file = a.get("file").ok_or_else(|| a.error("attribute `file` is missing"))?;
                if file.to_ascii_lowercase().ends_with(".vtk") {
                    return Err(a.error(format!("MuJoCo reads no {file}: `Tetrahedra::load` does, for the builder")));
                }
                let (path, bytes) = self.asset(a.element, "", file)?;
                Tetrahedra::from_gmsh(&bytes).map_err(|why| a.error(format!("{}: {why}", path.display())))?
            }
            "mesh" | "square" | "disc" | "circle" => {
                self.report.unsupported(a.element.location(), format!("a flexcomp of type {kind}"))?;
                return Ok(None);
            }
            other => return Err(a.error(format!("unknown flexcomp type `{other}`"))),
        };
        if let Some(scale) = a.vector("scale")?.filter(|_| matches!(kind, "direct" | "gmsh")) {
            mesh.nodes.iter_mut().for_each(|x| x.component_mul_assign(&scale));
        }
        mesh.orient();
        Ok(Some(mesh))
    }

    /// Points along each axis.
    fn count(&self, a: &Attributes) -> Result<[usize; 3], ModelError> {
        let count = count(a)?;
        if let Some(few) = count.iter().find(|&&n| n < 2) {
            return Err(a.error(format!("`count` must be at least 2 along each axis, found {few}")));
        }
        let points = count.iter().fold(1_usize, |n, &c| n.saturating_mul(c));
        if points > self.budget {
            return Err(a.error(format!("`count` is too large: {points} points")));
        }
        Ok(count)
    }

    fn law(&self, name: &str) -> Result<MaterialLaw, ModelError> {
        let Some(element) = self.customs.get(&(name.to_owned(), MATERIAL)) else { return Ok(MaterialLaw::NeoHookean) };
        Ok(match element.required("data")? {
            "neo-hookean" => MaterialLaw::NeoHookean,
            "corotated" => MaterialLaw::Corotated,
            "linear" => MaterialLaw::Linear,
            "stvk" => MaterialLaw::SaintVenantKirchhoff,
            other => {
                let known = "neo-hookean, corotated, linear or stvk";
                return Err(element.error(format!("the material must be {known}, found `{other}`")));
            }
        })
    }

    /// The elements under the pressure that `<custom>` gives: all, or those whose middle lies in a box.
    fn activation(&self, name: &str, middles: &[Vec3]) -> Result<Vec<Region>, ModelError> {
        let Some(element) = self.customs.get(&(name.to_owned(), ACTIVATION)) else { return Ok(Vec::new()) };
        let a = Attributes::bare(element);
        let data = a.list::<f64>("data")?.unwrap_or_default();
        let (pressure, corners) = match data[..] {
            [] => (0.0, None),
            [pressure] => (pressure, None),
            [pressure, a, b, c, d, e, f] => (pressure, Some([Vec3::new(a, b, c), Vec3::new(d, e, f)])),
            _ => {
                return Err(
                    a.error(format!("`data` takes a pressure, or that and two corners, found {} numbers", data.len()))
                );
            }
        };
        let within = |middle: &Vec3| {
            corners.is_none_or(|[p, q]| (0..3).all(|k| middle[k] >= p[k].min(q[k]) && middle[k] <= p[k].max(q[k])))
        };
        let elements: Vec<u32> =
            (0..).zip(middles).filter(|(_, middle)| within(middle)).map(|(element, _)| element).collect();
        if elements.is_empty() {
            return Err(a.error("no element has its middle between these corners"));
        }
        Ok(vec![Region { name: ACTIVATION.into(), elements, pressure }])
    }

    /// A control for each activation, behind the actuators of the file.
    pub(super) fn activation_controls(&mut self) {
        let named = self.builder.soft.iter().enumerate().flat_map(|(soft, (body, _))| {
            let regions = body.regions.iter().enumerate().filter(|(_, region)| region.name == ACTIVATION);
            regions
                .map(move |(region, _)| (format!("{}:{ACTIVATION}", body.name), Transmission::Region { soft, region }))
        });
        let known = |of: &Transmission| self.builder.actuators.iter().any(|actuator| actuator.transmission == *of);
        let new: Vec<_> = named.filter(|(_, transmission)| !known(transmission)).collect();
        for (name, transmission) in new {
            self.builder.actuator(Actuator::new(name, transmission));
        }
    }

    /// Settings of the whole model that soft bodies do not follow.
    pub(super) fn check_soft(&mut self) -> Result<(), ModelError> {
        let Some(location) = self.origins.get(&(Part::SoftBody, 0)).cloned() else { return Ok(()) };
        if self.disabled.spring || self.disabled.damper {
            self.report.unsupported(location.clone(), "soft bodies with passive forces turned off by <flag>")?;
        }
        if self.compiler.total_mass > 0.0 {
            self.report.unsupported(location, "`settotalmass` with soft bodies")?;
        }
        Ok(())
    }

    /// Lists what `<custom>` says of flexcomps that there are not.
    pub(super) fn list_unused_customs(&mut self) {
        let unused = self.customs.iter().filter(|((name, _), _)| !self.flexcomps.contains(name));
        for (_, element) in unused {
            self.report.ignore(element.location(), "there is no flexcomp of that name");
        }
    }
}

/// On unless it is turned off, as in MuJoCo; the other words say how MuJoCo finds the pairs.
fn touches_itself(contact: &Attributes) -> Result<bool, ModelError> {
    match contact.get("selfcollide") {
        Some("none") => Ok(false),
        None | Some("narrow" | "bvh" | "sap" | "auto") => Ok(true),
        Some(other) => {
            Err(contact.error(format!("`selfcollide` must be none, narrow, bvh, sap or auto, found `{other}`")))
        }
    }
}

/// What a flexcomp is that is not read.
fn unread(a: &Attributes) -> Result<Option<String>, ModelError> {
    let dim = a.integer("dim", 2)?;
    if dim != 3 {
        let default = if a.has("dim") { "" } else { " (the default)" };
        return Ok(Some(format!("a flexcomp of dim=\"{dim}\"{default}; only those of dim=\"3\" are read")));
    }
    let dof = a.get("dof").filter(|dof| *dof != "full" && cage_order(a).is_none());
    Ok(dof.map(|dof| format!("dof=\"{dof}\" of a flexcomp; full, trilinear and quadratic are read")))
}

/// The bricks of the cage that a flexcomp asks for.
fn cage_order(a: &Attributes) -> Option<Order> {
    match a.get("dof") {
        Some("trilinear") => Some(Order::Trilinear),
        Some("quadratic") => Some(Order::Triquadratic),
        _ => None,
    }
}

/// Means of the first nodes of elements that have `each`.
fn middles(nodes: &[Vec3], elements: &[u32], (each, first): (usize, usize)) -> Vec<Vec3> {
    let middle = |own: &[u32]| own[..first].iter().map(|&node| nodes[node as usize]).sum::<Vec3>() / first as f64;
    elements.chunks_exact(each).map(middle).collect()
}

fn count(a: &Attributes) -> Result<[usize; 3], ModelError> {
    let mut count = COUNT;
    let given = a.list::<i32>("count")?.unwrap_or_default();
    if given.len() > 3 {
        return Err(a.error(format!("`count` takes at most 3 numbers, found {}", given.len())));
    }
    count[..given.len()].copy_from_slice(&given);
    Ok(count.map(|n| usize::try_from(n).unwrap_or(0)))
}

/// Cells of a cage along each axis.
fn cell_counts(a: &Attributes) -> Result<[usize; 3], ModelError> {
    let Some(given) = a.list::<i32>("cellcount")? else { return Ok([1; 3]) };
    let [x, y, z] = given[..] else {
        return Err(a.error(format!("`cellcount` needs 3 numbers, found {}", given.len())));
    };
    match [x, y, z].iter().find(|&&n| n < 1) {
        Some(few) => Err(a.error(format!("`cellcount` must be at least 1 along each axis, found {few}"))),
        None => Ok([x, y, z].map(|n| n as usize)),
    }
}

fn spacing(a: &Attributes) -> Result<Vec3, ModelError> {
    let spacing = Vec3::from(a.overlay::<3>("spacing", SPACING)?);
    match spacing.iter().find(|&&s| s <= 0.0) {
        Some(wrong) => Err(a.error(format!("`spacing` must be positive, found {wrong}"))),
        None => Ok(spacing),
    }
}

/// Points and elements that the file itself lists.
fn direct(a: &Attributes) -> Result<Tetrahedra, ModelError> {
    let points = a.list::<f64>("point")?.ok_or_else(|| a.error("attribute `point` is missing"))?;
    if !points.len().is_multiple_of(3) {
        return Err(a.error(format!("`point` needs 3 numbers a point, found {} in all", points.len())));
    }
    let nodes: Vec<Vec3> = points.chunks_exact(3).map(Vec3::from_column_slice).collect();
    let elements = a.list::<u32>("element")?.ok_or_else(|| a.error("attribute `element` is missing"))?;
    if !elements.len().is_multiple_of(4) {
        return Err(a.error(format!("`element` needs 4 points a tetrahedron, found {} in all", elements.len())));
    }
    if let Some(wrong) = elements.iter().find(|&&e| e as usize >= nodes.len()) {
        return Err(a.error(format!("`element` refers to point {wrong}, there are {}", nodes.len())));
    }
    Ok(Tetrahedra { nodes, elements, order: Order::Linear })
}

/// Points, or nodes of a cage, that `<pin>` fixes; `grid`: how many there are along each axis, where they make one.
fn pins(flex: &Attributes, points: usize, grid: Option<[usize; 3]>) -> Result<BTreeSet<u32>, ModelError> {
    let mut pinned = BTreeSet::new();
    for element in flex.element.children.iter().filter(|c| c.tag == "pin") {
        let a = Attributes::bare(element);
        let list = |name: &str, each: usize| -> Result<Vec<i32>, ModelError> {
            let list = a.list::<i32>(name)?.unwrap_or_default();
            match list.len().is_multiple_of(each) {
                true => Ok(list),
                false => Err(a.error(format!("`{name}` needs {each} numbers each, found {} in all", list.len()))),
            }
        };
        let mut pin = |attribute: &str, id: i32| match u32::try_from(id).ok().filter(|&id| (id as usize) < points) {
            Some(id) => Ok(pinned.insert(id)),
            None => Err(a.error(format!("`{attribute}`: there is no point {id}, there are {points}"))),
        };
        for id in list("id", 1)? {
            pin("id", id)?;
        }
        for range in list("range", 2)?.chunks_exact(2) {
            if range[0] > range[1] {
                return Err(a.error(format!("`range` is reversed: {} is above {}", range[0], range[1])));
            }
            (range[0]..=range[1]).try_for_each(|id| pin("range", id).map(drop))?;
        }
        let (points, ranges) = (list("grid", 3)?, list("gridrange", 6)?);
        let points = points.chunks_exact(3).map(|g| ("grid", [g[0], g[1], g[2]], [g[0], g[1], g[2]]));
        let ranges = ranges.chunks_exact(6).map(|g| ("gridrange", [g[0], g[1], g[2]], [g[3], g[4], g[5]]));
        let cells: Vec<_> = points.chain(ranges).collect();
        if cells.is_empty() {
            continue;
        }
        let Some(count) = grid else {
            return Err(a.error("`grid` and `gridrange` are for flexcomps of type grid and for cages"));
        };
        let count = count.map(|n| n as i32);
        for (attribute, low, high) in cells {
            for corner in [low, high] {
                if (0..3).any(|k| !(0..count[k]).contains(&corner[k])) {
                    let [x, y, z] = corner;
                    return Err(a.error(format!("`{attribute}`: there is no point {x} {y} {z} in the grid")));
                }
            }
            for x in low[0]..=high[0] {
                for y in low[1]..=high[1] {
                    for z in low[2]..=high[2] {
                        pin(attribute, (x * count[1] + y) * count[2] + z)?;
                    }
                }
            }
        }
    }
    Ok(pinned)
}
