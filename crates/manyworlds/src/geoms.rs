//! Parameters of geoms that a world may have of its own.

use manyworlds_collide::Overrides;
use manyworlds_model::{Geom, Model, Shape};

use crate::Error;
use crate::checkpoint::{Reader, Writer};

/// A parameter of a geom, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GeomParameter {
    /// Radius (sphere); radius and half length (capsule, cylinder); half edges (box); semi-axes (ellipsoid), m. The
    /// body's mass and inertia stay as they are: they are parameters of their own.
    Size,
    /// Coulomb friction coefficient, before it is mixed with the other geom's; explicit pairs keep theirs.
    Friction,
    /// Restitution coefficient, 0 to 1, before it is mixed with the other geom's; explicit pairs keep theirs.
    Restitution,
}

/// Sizes of a shape in the order of [`GeomParameter::Size`], and how many it has; none: it cannot be changed.
fn sizes(shape: &Shape) -> ([f64; 3], usize) {
    match *shape {
        Shape::Sphere { radius } => ([radius, 0.0, 0.0], 1),
        Shape::Capsule { radius, half_length } | Shape::Cylinder { radius, half_length } => {
            ([radius, half_length, 0.0], 2)
        }
        Shape::Box { half: sizes } | Shape::Ellipsoid { radii: sizes } => (sizes.into(), 3),
        Shape::Plane | Shape::Mesh(_) | Shape::HeightField(_) | Shape::Sdf(_) => ([0.0; 3], 0),
    }
}

/// How many sizes of a shape a world can change.
pub(crate) fn size_count(shape: &Shape) -> usize {
    sizes(shape).1
}

/// Largest distance of the surface of a geom that moves from the origin of its body, m.
pub(crate) fn lever(model: &Model) -> f64 {
    let moving = model.geoms.iter().filter(|geom| model.bodies[geom.body].tree.is_some());
    let lever = |geom: &Geom| {
        let radius = match &geom.shape {
            // A plane has no far side that a turn could bring near.
            Shape::Plane => 0.0,
            Shape::Sphere { radius } => *radius,
            Shape::Capsule { radius, half_length } | Shape::Cylinder { radius, half_length } => radius + half_length,
            Shape::Box { half: sizes } | Shape::Ellipsoid { radii: sizes } => sizes.norm(),
            Shape::Mesh(mesh) => model.meshes[*mesh].vertices.iter().map(|v| v.norm()).fold(0.0, f64::max),
            Shape::Sdf(sdf) => model.sdfs[*sdf].radius(),
            Shape::HeightField(field) => {
                let field = &model.heightfields[*field];
                let height = field.heights.iter().fold(field.base, |most, h| most.max(h.abs()));
                field.half[0].hypot(field.half[1]).hypot(height)
            }
        };
        geom.pose.translation.vector.norm() + radius
    };
    moving.map(lever).fold(0.0, f64::max)
}

impl GeomParameter {
    /// Refuses values that the geom cannot have.
    pub(crate) fn check(self, index: usize, geom: &Geom, values: &[f64]) -> Result<(), Error> {
        let (_, count) = sizes(&geom.shape);
        let expected = if self == Self::Size { count } else { 1 };
        let wrong = |message: String| {
            let parameter = format!("{self:?} of geom {index} \"{}\"", geom.name);
            Err(Error::Parameter { parameter, message })
        };
        if expected == 0 {
            return wrong(
                "a plane, mesh, heightfield or distance function has no size that a world could change".into(),
            );
        }
        if values.len() != expected {
            return wrong(format!("expected {expected} numbers, found {}", values.len()));
        }
        let allowed = |x: f64| match self {
            Self::Size => x > 0.0,
            Self::Friction => x >= 0.0,
            Self::Restitution => (0.0..=1.0).contains(&x),
        };
        let range = match self {
            Self::Size => "above zero",
            Self::Friction => "not below zero",
            Self::Restitution => "from 0 to 1",
        };
        match values.iter().find(|x| !(x.is_finite() && allowed(**x))) {
            Some(found) => wrong(format!("expected numbers {range}, found {found}")),
            None => Ok(()),
        }
    }
}

/// The geoms of every world of a chunk, once one of them differs from the model's.
#[derive(Debug, Clone)]
pub(crate) struct GeomOverrides {
    n_geom: usize,
    /// `[worlds][geoms]`, m.
    sizes: Vec<[f64; 3]>,
    /// `[worlds][geoms]`
    friction: Vec<f64>,
    /// `[worlds][geoms]`
    restitution: Vec<f64>,
}

impl GeomOverrides {
    /// Every world as the model is.
    pub(crate) fn new(model: &Model, n_world: usize) -> Self {
        let geoms = || (0..n_world).flat_map(|_| &model.geoms);
        Self {
            n_geom: model.geoms.len(),
            sizes: geoms().map(|geom| sizes(&geom.shape).0).collect(),
            friction: geoms().map(|geom| geom.contact.friction).collect(),
            restitution: geoms().map(|geom| geom.contact.restitution).collect(),
        }
    }

    /// Changes one parameter of one geom of one world; the values have been checked.
    pub(crate) fn set(&mut self, world: usize, geom: usize, parameter: GeomParameter, values: &[f64]) {
        let at = world * self.n_geom + geom;
        match parameter {
            GeomParameter::Size => {
                self.sizes[at].iter_mut().zip(values).for_each(|(to, &x)| *to = x);
            }
            GeomParameter::Friction => self.friction[at] = values[0],
            GeomParameter::Restitution => self.restitution[at] = values[0],
        }
    }

    /// What collision is told of a world.
    pub(crate) fn of(&self, world: usize) -> Overrides<'_> {
        let own = world * self.n_geom..(world + 1) * self.n_geom;
        Overrides {
            sizes: &self.sizes[own.clone()],
            friction: &self.friction[own.clone()],
            restitution: &self.restitution[own],
        }
    }

    /// Memory they take, B.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&self.sizes[..]) + size_of_val(&self.friction[..]) + size_of_val(&self.restitution[..])
    }

    /// Appends all of it to a checkpoint.
    pub(crate) fn save(&self, out: &mut Writer) {
        let numbers = self.sizes.iter().flatten().chain(&self.friction).chain(&self.restitution);
        numbers.for_each(|&x| out.real(x));
    }

    /// Reads what [`Self::save`] wrote of as many worlds of the same model.
    pub(crate) fn restore(&mut self, input: &mut Reader) -> Result<(), Error> {
        for x in self.sizes.iter_mut().flatten().chain(&mut self.friction).chain(&mut self.restitution) {
            *x = input.real()?;
        }
        Ok(())
    }
}
