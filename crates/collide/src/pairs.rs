//! Which geoms may touch, and with what contact parameters: MuJoCo's rules.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use manyworlds_model::{Contacting, Model, Shape, Transmission};

use crate::CollideError;

/// The shapes, in the order in which a pair is given to its contact function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Plane,
    Sphere,
    Capsule,
    Cylinder,
    Box,
    Ellipsoid,
    Mesh,
    HeightField,
    Sdf,
}

impl Kind {
    pub(crate) fn of(shape: &Shape) -> Self {
        match shape {
            Shape::Plane => Self::Plane,
            Shape::Sphere { .. } => Self::Sphere,
            Shape::Capsule { .. } => Self::Capsule,
            Shape::Cylinder { .. } => Self::Cylinder,
            Shape::Box { .. } => Self::Box,
            Shape::Ellipsoid { .. } => Self::Ellipsoid,
            Shape::Mesh(_) => Self::Mesh,
            Shape::HeightField(_) => Self::HeightField,
            Shape::Sdf(_) => Self::Sdf,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Plane => "plane",
            Self::Sphere => "sphere",
            Self::Capsule => "capsule",
            Self::Cylinder => "cylinder",
            Self::Box => "box",
            Self::Ellipsoid => "ellipsoid",
            Self::Mesh => "mesh",
            Self::HeightField => "heightfield",
            Self::Sdf => "sdf",
        }
    }

    /// Whether a distance function has contacts with the shape.
    pub(crate) fn meets_functions(self) -> bool {
        matches!(self, Self::Plane | Self::Sphere | Self::Capsule | Self::Box | Self::Sdf)
    }

    /// Whether its size is three numbers of the geom, which worlds may have of their own; others are of an asset, or have none.
    pub(crate) fn has_size(self) -> bool {
        !matches!(self, Self::Plane | Self::Mesh | Self::HeightField | Self::Sdf)
    }

    /// Planes and heightfields are surfaces without bounds: no contact of finitely many points exists between two.
    pub(crate) fn is_surface(self) -> bool {
        matches!(self, Self::Plane | Self::HeightField)
    }
}

/// Contact parameters of a pair.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Mixed {
    pub(crate) friction: f64,
    pub(crate) restitution: f64,
    pub(crate) margin: f64,
    /// Where a world's own friction coefficients come in.
    pub(crate) source: FrictionSource,
    /// Whether an explicit pair says so: then nothing of a world's geoms counts.
    pub(crate) explicit: bool,
}

/// Which geoms a pair's friction comes from, in the order of the pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FrictionSource {
    /// Neither: an explicit pair's, or none at all.
    Fixed,
    /// The larger of the two.
    Both,
    /// The first geom's alone: it has the higher priority.
    First,
    /// The second's.
    Second,
}

/// What the filters look at of one geom.
#[derive(Debug, Clone, Copy)]
struct Side {
    kind: Kind,
    body: usize,
    /// First body of those welded together; the ground's is 0, a mocap body's is its own.
    weld: usize,
    /// That of the weld's parent.
    parent: usize,
    /// Whether no joint moves it.
    fixed: bool,
    /// Whether an actuator makes its body adhere.
    adheres: bool,
    contact: Contacting,
}

/// The rules of a model.
#[derive(Debug)]
pub(crate) struct Filter {
    sides: Vec<Side>,
    explicit: BTreeMap<(usize, usize), Mixed>,
    /// Pairs of bodies, smaller first, sorted.
    excludes: Vec<(usize, usize)>,
    /// Whether bodies do not touch their parents.
    parents: bool,
}

impl Filter {
    pub(crate) fn new(model: &Model) -> Self {
        let welds = model.welds();
        let adheres = |of: usize| model.actuators.iter().any(|a| a.transmission == Transmission::Adhesion(of));
        // Adhesion reaches over gaps.
        let reach = |bodies: [usize; 2], margin: f64, gap: f64| {
            if bodies.into_iter().any(adheres) { margin + gap } else { margin }
        };
        let sides = model
            .geoms
            .iter()
            .map(|geom| {
                let weld = welds[geom.body];
                Side {
                    kind: Kind::of(&geom.shape),
                    body: geom.body,
                    weld,
                    parent: welds[model.bodies[weld].parent],
                    fixed: model.bodies[geom.body].tree.is_none(),
                    adheres: adheres(geom.body),
                    contact: geom.contact,
                }
            })
            .collect();
        let explicit = model
            .pairs
            .iter()
            .map(|pair| {
                let [first, second] = pair.geoms;
                let mixed = Mixed {
                    friction: if pair.frictionless { 0.0 } else { pair.friction },
                    restitution: pair.restitution,
                    margin: reach(pair.geoms.map(|geom| model.geoms[geom].body), pair.margin, pair.gap),
                    source: FrictionSource::Fixed,
                    explicit: true,
                };
                ((first.min(second), first.max(second)), mixed)
            })
            .collect();
        let mut excludes: Vec<_> = model.excludes.iter().map(|&(a, b)| (a.min(b), a.max(b))).collect();
        excludes.sort_unstable();
        Self { sides, explicit, excludes, parents: model.options.filter_parents }
    }

    /// Whether a geom stands still for ever.
    pub(crate) fn is_static(&self, geom: usize) -> bool {
        self.sides[geom].weld == 0
    }

    /// No pair has a margin above this, m.
    pub(crate) fn largest_margin(&self) -> f64 {
        let adheres = self.sides.iter().any(|s| s.adheres);
        let geoms = self.sides.iter().map(|s| if adheres { 2.0 * s.contact.reach() } else { s.contact.margin });
        geoms.chain(self.explicit.values().map(|m| m.margin)).fold(0.0, f64::max)
    }

    /// The parameters of a pair that may touch (`first < second`).
    ///
    /// Never: two geoms that no joint moves, or of bodies welded together. An explicit pair overrides the rest: excluded
    /// bodies, a body and the parent of its weld (unless that is the ground), and the bits of type and affinity.
    pub(crate) fn mix(&self, first: usize, second: usize) -> Option<Mixed> {
        let (a, b) = (&self.sides[first], &self.sides[second]);
        if a.weld == b.weld || (a.fixed && b.fixed) {
            return None;
        }
        if !self.explicit.is_empty()
            && let Some(&mixed) = self.explicit.get(&(first, second))
        {
            return Some(mixed);
        }
        let related = self.parents && a.weld != 0 && b.weld != 0 && (a.weld == b.parent || b.weld == a.parent);
        let bodies = (a.body.min(b.body), a.body.max(b.body));
        if !a.contact.may_touch(&b.contact) || related || self.excludes.binary_search(&bodies).is_ok() {
            return None;
        }
        let mixed = a.contact.mix(&b.contact);
        let source = match a.contact.priority.cmp(&b.contact.priority) {
            _ if mixed.frictionless => FrictionSource::Fixed,
            Ordering::Greater => FrictionSource::First,
            Ordering::Less => FrictionSource::Second,
            Ordering::Equal => FrictionSource::Both,
        };
        Some(Mixed {
            friction: if mixed.frictionless { 0.0 } else { mixed.friction },
            restitution: mixed.restitution,
            margin: if a.adheres || b.adheres { a.contact.reach() + b.contact.reach() } else { mixed.margin },
            source,
            explicit: false,
        })
    }

    /// Refuses the first pair that may touch and has no contact function: of surfaces, or of a distance function with a
    /// shape that it does not meet.
    pub(crate) fn refuse_unsupported(&self, model: &Model) -> Result<(), CollideError> {
        let of = |wanted: fn(Kind) -> bool| (0..self.sides.len()).filter(move |&g| wanted(self.sides[g].kind));
        for first in of(|kind| kind == Kind::Sdf) {
            for second in of(|kind| !kind.meets_functions()) {
                if self.mix(first.min(second), first.max(second)).is_some() {
                    return Err(self.unsupported(model, first, second));
                }
            }
        }
        let surfaces: Vec<usize> = (0..self.sides.len()).filter(|&g| self.sides[g].kind.is_surface()).collect();
        // Static surfaces never meet each other: only a movable one has to be compared with all.
        for &first in surfaces.iter().filter(|&&g| !self.is_static(g)) {
            for &second in &surfaces {
                if self.mix(first.min(second), first.max(second)).is_some() {
                    return Err(self.unsupported(model, first, second));
                }
            }
        }
        Ok(())
    }

    fn unsupported(&self, model: &Model, first: usize, second: usize) -> CollideError {
        let label = |g: usize| format!("{g} \"{}\"", model.geoms[g].name);
        let shapes = [self.sides[first].kind.name(), self.sides[second].kind.name()].join(" on ");
        CollideError::Unsupported { first: label(first), second: label(second), shapes }
    }
}
