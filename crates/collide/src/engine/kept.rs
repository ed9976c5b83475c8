//! Polytopes that steps leave to the next ones, by the numbers of their corners and faces: what of them is where follows from
//! where the shapes are.

/// A polytope.
#[derive(Clone, Copy)]
pub(super) struct Kept<'a> {
    /// Of each corner the numbers of the two shapes' corners whose difference it is.
    pub(super) corners: &'a [[u16; 2]],
    /// Corners of each face.
    pub(super) faces: &'a [[u8; 3]],
}

/// Where a polytope is in its store.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    corners: [u32; 2],
    faces: [u32; 2],
}

/// Polytopes, one behind the other.
#[derive(Debug, Clone, Default)]
pub(super) struct Store {
    corners: Vec<[u16; 2]>,
    faces: Vec<[u8; 3]>,
}

impl Store {
    pub(super) fn clear(&mut self) {
        self.corners.clear();
        self.faces.clear();
    }

    pub(super) fn get(&self, place: Place) -> Kept<'_> {
        let range = |[begin, end]: [u32; 2]| begin as usize..end as usize;
        Kept { corners: &self.corners[range(place.corners)], faces: &self.faces[range(place.faces)] }
    }

    /// Adds a polytope of another store.
    pub(super) fn copy(&mut self, Kept { corners, faces }: Kept<'_>) -> Option<Place> {
        self.add(corners, faces.iter().copied())
    }

    /// Adds a polytope, unless it has no corners.
    pub(super) fn add(&mut self, corners: &[[u16; 2]], faces: impl Iterator<Item = [u8; 3]>) -> Option<Place> {
        if corners.is_empty() {
            return None;
        }
        let ends = |store: &Self| (store.corners.len() as u32, store.faces.len() as u32);
        let begin = ends(self);
        self.corners.extend_from_slice(corners);
        self.faces.extend(faces);
        let end = ends(self);
        Some(Place { corners: [begin.0, end.0], faces: [begin.1, end.1] })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Engine, Hints, Memory};
    use crate::{CollisionSettings, Overrides, World};
    use manyworlds_model::{
        Contacting, Geom, Inertial, Joint, JointKind, Mat3, Mesh, ModelBuilder, Pose, Quat, Shape, Vec3,
    };

    /// A round hull.
    fn pebble(name: &str, radii: Vec3) -> Mesh {
        let corner = |k: u32| {
            let (around, up) = (2.4 * f64::from(k), 1.0 - f64::from(2 * k + 1) / 100.0);
            let out = (1.0 - up * up).sqrt();
            Vec3::new(out * around.cos(), out * around.sin(), up).component_mul(&radii)
        };
        let triangles = (0..98).map(|k| [k, k + 1, k + 2]).collect();
        Mesh { name: name.into(), vertices: (0..100).map(corner).collect(), triangles, surface: None }
    }

    /// Two hulls deep in each other that creep: nearly every step is proven by what the one before kept.
    #[test]
    fn what_stays_deep_is_proven() {
        let mut builder = ModelBuilder::new("test");
        for (name, radii) in [("first", Vec3::new(0.1, 0.07, 0.05)), ("second", Vec3::new(0.06, 0.08, 0.07))] {
            let inertial = Inertial { mass: 1.0, com: Vec3::zeros(), inertia: Mat3::identity() };
            let body = builder.body(name, 0, Pose::identity(), inertial);
            builder.joint(Joint::new("", body, JointKind::Free));
            let shape = Shape::Mesh(builder.mesh(pebble(name, radii)));
            let contact = Contacting::default();
            builder.geom(Geom { name: name.into(), body, pose: Pose::identity(), shape, contact });
        }
        let model = builder.build().expect("a model");
        let engine = Engine::new(&model, &CollisionSettings::default()).expect("shapes with volume");
        let (mut hints, mut memory, mut out) = (Hints::default(), Memory::default(), Vec::new());
        let mut proven = 0;
        for step in 0..200 {
            let time = 1e-3 * f64::from(step);
            let turn = Quat::from_scaled_axis(Vec3::new(0.3, -0.2, 0.5 + time)).into_inner();
            let second = [0.02, 0.03 + 0.1 * time, 0.01, turn.w, turn.i, turn.j, turn.k];
            let poses = |body| if body == 1 { [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0] } else { second };
            let world = World { overrides: &Overrides::default(), hints: &mut hints, out: &mut out };
            engine.collide_alone(poses, &[], world, &mut memory).expect("finite poses");
            assert!(out.iter().any(|contact| contact.distance < -0.02), "step {step}: {out:?}");
            proven += u32::from(memory.workspace.polytope.is_as_kept);
        }
        assert!(proven > 150, "{proven} of 200 steps");
    }
}
