//! The elements of a URDF with their types, defaults filled in, and the place of each in the file.
//!
//! Read here and not by `urdf-rs`, which knows no lines, cannot tell a bound of zero from none, and refuses files that
//! other programs take (a material without a name, a limit without a velocity).

use crate::attributes::Attributes;
use crate::xml::Element;
use crate::{Inertial, Mat3, ModelError, Pose, Quat, Vec3};

/// A rigid part.
pub(super) struct Link<'e> {
    pub(super) element: &'e Element,
    pub(super) name: &'e str,
    /// In the link's frame.
    pub(super) inertial: Option<Inertial>,
}

/// The kinds of joints of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Revolute,
    Continuous,
    Prismatic,
    Fixed,
    Floating,
    Planar,
    Spherical,
}

/// What connects a link to its parent.
pub(super) struct JointElement<'e> {
    pub(super) element: &'e Element,
    pub(super) name: &'e str,
    pub(super) kind: Kind,
    pub(super) parent: &'e str,
    pub(super) child: &'e str,
    pub(super) origin: Pose,
    /// Unit, where the kind has one.
    pub(super) axis: Vec3,
    /// Lower and upper bound; `None` when neither is given.
    pub(super) range: Option<[f64; 2]>,
    /// Largest force, zero when not given, N m or N.
    pub(super) effort: f64,
    pub(super) damping: f64,
    pub(super) friction: f64,
    /// Driver, multiplier and offset.
    pub(super) mimic: Option<(&'e str, f64, f64)>,
}

/// The first child of a tag.
pub(super) fn child<'e>(element: &'e Element, tag: &str) -> Option<&'e Element> {
    element.children.iter().find(|c| c.tag == tag)
}

/// `<origin>`: roll, pitch and yaw are about the fixed axes x, y and z in turn.
pub(super) fn origin(element: &Element) -> Result<Pose, ModelError> {
    let Some(origin) = child(element, "origin") else { return Ok(Pose::identity()) };
    let a = Attributes::bare(origin);
    let [roll, pitch, yaw] = a.exactly::<3>("rpy")?.unwrap_or_default();
    let position = a.vector("xyz")?.unwrap_or_else(Vec3::zeros);
    Ok(Pose::from_parts(position.into(), Quat::from_euler_angles(roll, pitch, yaw)))
}

/// A number of a child element, or the default.
fn number(element: &Element, tag: &str, attribute: &str, default: f64) -> Result<f64, ModelError> {
    child(element, tag).map_or(Ok(default), |child| Attributes::bare(child).number(attribute, default))
}

impl<'e> Link<'e> {
    pub(super) fn read(element: &'e Element) -> Result<Self, ModelError> {
        let inertial = match child(element, "inertial") {
            None => None,
            Some(inertial) => {
                let mass = number(inertial, "mass", "value", 0.0)?;
                let moment = |name: &str| number(inertial, "inertia", name, 0.0);
                let (xx, yy, zz) = (moment("ixx")?, moment("iyy")?, moment("izz")?);
                let (xy, xz, yz) = (moment("ixy")?, moment("ixz")?, moment("iyz")?);
                let inertia = Mat3::new(xx, xy, xz, xy, yy, yz, xz, yz, zz);
                // Some files give moments to links without mass, which nothing has.
                let inertia = if mass == 0.0 { Mat3::zeros() } else { inertia };
                Some(Inertial { mass, com: Vec3::zeros(), inertia }.moved(&origin(inertial)?))
            }
        };
        Ok(Self { element, name: element.required("name")?, inertial })
    }
}

impl<'e> JointElement<'e> {
    pub(super) fn read(element: &'e Element) -> Result<Self, ModelError> {
        let kind = match element.required("type")? {
            "revolute" => Kind::Revolute,
            "continuous" => Kind::Continuous,
            "prismatic" => Kind::Prismatic,
            "fixed" => Kind::Fixed,
            "floating" => Kind::Floating,
            "planar" => Kind::Planar,
            "spherical" | "ball" => Kind::Spherical,
            other => return Err(element.error(format!("unknown joint type `{other}`"))),
        };
        let link = |tag: &str| {
            child(element, tag).ok_or_else(|| element.error(format!("<{tag}> is missing")))?.required("link")
        };
        let axis = match child(element, "axis") {
            Some(axis) => Attributes::bare(axis).vector("xyz")?.unwrap_or_else(Vec3::x),
            None => Vec3::x(),
        };
        let has_axis = matches!(kind, Kind::Revolute | Kind::Continuous | Kind::Prismatic | Kind::Planar);
        let axis = match axis.try_normalize(1e-14) {
            Some(axis) => axis,
            None if has_axis => return Err(element.error("<axis> has zero length")),
            None => Vec3::x(),
        };
        let mimic = match child(element, "mimic") {
            None => None,
            Some(mimic) => {
                let a = Attributes::bare(mimic);
                Some((mimic.required("joint")?, a.number("multiplier", 1.0)?, a.number("offset", 0.0)?))
            }
        };
        Ok(Self {
            element,
            name: element.required("name")?,
            kind,
            parent: link("parent")?,
            child: link("child")?,
            origin: origin(element)?,
            axis,
            range: range(element)?,
            effort: number(element, "limit", "effort", 0.0)?,
            damping: number(element, "dynamics", "damping", 0.0)?,
            friction: number(element, "dynamics", "friction", 0.0)?,
            mimic,
        })
    }
}

/// `lower` and `upper` of `<limit>`, of which one alone leaves the other at zero.
fn range(joint: &Element) -> Result<Option<[f64; 2]>, ModelError> {
    let Some(limit) = child(joint, "limit").filter(|l| l.get("lower").is_some() || l.get("upper").is_some()) else {
        return Ok(None);
    };
    let bound = |name: &str| match limit.get(name).map(str::trim) {
        // Written by exporters for a joint that turns freely.
        Some("inf" | "+inf" | "Infinity") => Ok(f64::INFINITY),
        Some("-inf" | "-Infinity") => Ok(f64::NEG_INFINITY),
        _ => Attributes::bare(limit).number(name, 0.0),
    };
    let (lower, upper) = (bound("lower")?, bound("upper")?);
    if lower > upper {
        return Err(limit.error(format!("the limits are reversed: {lower} is above {upper}")));
    }
    Ok((lower.is_finite() || upper.is_finite()).then_some([lower, upper]))
}
