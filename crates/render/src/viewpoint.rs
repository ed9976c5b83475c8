//! Cameras of the file: where each of them is in a state.

use manyworlds_model::visual::Following;
use manyworlds_model::{Model, Pose, Quat, Vec3};
use nalgebra::Point3;

use crate::camera::looking;
use crate::{Camera, Placed, RenderError};

/// A frame on a body, and how it follows what moves.
#[derive(Debug, Clone)]
pub(crate) struct Follower {
    body: usize,
    /// In the body's frame.
    pose: Pose,
    following: Following,
    /// From what it follows to itself, and its orientation, in the world's axes, in the model's initial position.
    offset: Vec3,
    rotation: Quat,
    /// Mass and centre of mass, kg and m, of every body, and its parent.
    masses: Vec<(f64, Vec3, usize)>,
}

/// A camera of the file.
#[derive(Debug, Clone)]
pub struct Viewpoint {
    frame: Follower,
    field_of_view: f64,
}

impl Viewpoint {
    /// The camera of this name, or number.
    ///
    /// # Errors
    /// If there is none: says which there are.
    pub fn find(model: &Model, name: &str, initial: &Placed) -> Result<Self, RenderError> {
        let cameras = &model.visual.cameras;
        let by_name = cameras.iter().find(|camera| !camera.name.is_empty() && camera.name == name);
        let by_number = || cameras.get(name.parse::<usize>().ok()?);
        let camera = by_name.or_else(by_number).ok_or_else(|| {
            let label = |(number, name): (usize, &str)| {
                if name.is_empty() { number.to_string() } else { format!("\"{name}\"") }
            };
            let names: Vec<_> = cameras.iter().map(|camera| camera.name.as_str()).enumerate().map(label).collect();
            RenderError::Camera {
                wanted: name.to_owned(),
                model: model.name.clone(),
                known: if names.is_empty() { "none".into() } else { names.join(", ") },
            }
        })?;
        let frame = Follower::new(model, camera.body, camera.pose, camera.following, initial);
        Ok(Self { frame, field_of_view: camera.field_of_view })
    }

    /// Whether it is in one place in all states.
    #[must_use]
    pub fn stands_still(&self, model: &Model) -> bool {
        self.frame.following == Following::Fixed && model.stands_still(self.frame.body)
    }

    /// Its frame in a state, z backward.
    #[must_use]
    pub fn pose(&self, placed: &Placed) -> Pose {
        self.frame.pose(placed)
    }

    /// What it sees in a state of a scene that another camera frames.
    #[must_use]
    pub fn camera(&self, placed: &Placed, framed: &Camera) -> Camera {
        let pose = self.pose(placed);
        let Camera { middle, radius, .. } = *framed;
        Camera {
            eye: pose.translation.vector,
            rotation: pose.rotation,
            field_of_view: self.field_of_view,
            middle,
            radius,
        }
    }
}

impl Follower {
    /// On a body, with a frame whose z points backward in the body's.
    pub(crate) fn new(model: &Model, body: usize, pose: Pose, following: Following, initial: &Placed) -> Self {
        let masses = model.bodies.iter().map(|body| (body.inertial.mass, body.inertial.com, body.parent)).collect();
        let fixed = initial.poses[body] * pose;
        let mut frame = Self { body, pose, following, offset: Vec3::zeros(), rotation: fixed.rotation, masses };
        frame.offset = fixed.translation.vector - frame.followed(initial);
        frame
    }

    /// In a state.
    pub(crate) fn pose(&self, placed: &Placed) -> Pose {
        let fixed = placed.poses[self.body] * self.pose;
        match self.following {
            Following::Fixed => fixed,
            Following::Track | Following::TrackCentre => {
                Pose::from_parts((self.followed(placed) + self.offset).into(), self.rotation)
            }
            Following::Target(body) => self.aimed(fixed.translation.vector, placed.poses[body].translation.vector),
            Following::TargetCentre(body) => self.aimed(fixed.translation.vector, self.centre(placed, body)),
        }
    }

    fn aimed(&self, eye: Vec3, at: Vec3) -> Pose {
        Pose::from_parts(eye.into(), looking(eye, at))
    }

    /// The point that it keeps its offset from.
    fn followed(&self, placed: &Placed) -> Vec3 {
        match self.following {
            Following::TrackCentre => self.centre(placed, self.body),
            _ => placed.poses[self.body].translation.vector,
        }
    }

    /// Centre of mass of a body and all that hangs on it; its origin if that has no mass.
    fn centre(&self, placed: &Placed, body: usize) -> Vec3 {
        let mut inside = vec![false; self.masses.len()];
        let (mut mass, mut moment) = (0.0, Vec3::zeros());
        for (number, (own, com, parent)) in self.masses.iter().enumerate() {
            inside[number] = number == body || (number > 0 && inside[*parent]);
            if inside[number] {
                mass += own;
                moment += (placed.poses[number] * Point3::from(*com)).coords * *own;
            }
        }
        if mass > 0.0 { moment / mass } else { placed.poses[body].translation.vector }
    }
}
