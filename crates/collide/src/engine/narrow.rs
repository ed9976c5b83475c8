//! From a pair of kinds to the function that knows their contacts.

use super::convex::Workspace;
use super::core_shape::Core;
use super::hints::{Found, Hint};
use super::pair::Pair;
use super::placed::Placed;
use super::sdf::{self, Candidates};
use super::{Engine, Kind, Sink, analytic, boxes, convex, terrain};

impl Engine {
    /// Contacts of one pair, by what the step before found of it; what this one found.
    #[inline]
    pub(super) fn narrow(
        &self,
        pair: &Pair,
        placed: &[Placed],
        hint: Option<Hint<'_>>,
        workspace: &mut Workspace,
        candidates: &mut Candidates,
        sink: &mut Sink<'_>,
    ) -> Option<Found> {
        let (a, b) = (&placed[pair.a as usize], &placed[pair.b as usize]);
        let (first, second) = (&self.geoms[pair.a as usize], &self.geoms[pair.b as usize]);
        workspace.points.rounding.origin = a.centre.abs().max(b.centre.abs()).max_element();
        match (first.kind, second.kind) {
            (Kind::Plane, Kind::Sphere) => analytic::plane_sphere(a, b, sink),
            (Kind::Plane, Kind::Capsule) => analytic::plane_capsule(a, b, sink),
            (Kind::Plane, Kind::Cylinder) => analytic::plane_cylinder(a, b, sink),
            (Kind::Plane, Kind::Box) => analytic::plane_box(a, b, sink),
            (Kind::Plane, Kind::Ellipsoid) => analytic::plane_ellipsoid(a, b, sink),
            (Kind::Plane, Kind::Mesh) => convex::plane_mesh(a, b, &self.meshes[second.asset as usize], workspace, sink),
            (Kind::Sphere, Kind::Sphere) => analytic::sphere_sphere(a, b, sink),
            (Kind::Sphere, Kind::Capsule) => analytic::sphere_capsule(a, b, sink),
            (Kind::Sphere, Kind::Cylinder) => analytic::sphere_cylinder(a, b, sink),
            (Kind::Sphere, Kind::Box) => analytic::sphere_box(a, b, sink),
            (Kind::Sphere, Kind::Ellipsoid) => analytic::sphere_ellipsoid(a, b, sink),
            (Kind::Capsule, Kind::Capsule) => analytic::capsule_capsule(a, b, sink),
            (Kind::Box, Kind::Box) => boxes::box_box(a, b, workspace, sink),
            (Kind::Sphere, Kind::Sdf) => sdf::sphere_sdf(a, b, &self.sdfs[second.asset as usize], sink),
            (Kind::Sdf, Kind::Sdf) => {
                let sdfs = [&self.sdfs[first.asset as usize], &self.sdfs[second.asset as usize]];
                sdf::sdf_sdf([a, b], sdfs, candidates, sink);
            }
            (kind, Kind::Sdf) => sdf::solid_sdf(kind, a, b, &self.sdfs[second.asset as usize], candidates, sink),
            // Refused when the model is built.
            (Kind::Plane, _) | (Kind::HeightField, Kind::HeightField) => {}
            (kind, Kind::HeightField) => {
                let core = Core::of(kind, a, self.meshes.get(first.asset as usize));
                terrain::contacts(
                    core,
                    Core::rounding(kind, a),
                    a,
                    b,
                    &self.fields[second.asset as usize],
                    workspace,
                    sink,
                );
            }
            (one, other) => {
                let core_a = Core::of(one, a, self.meshes.get(first.asset as usize));
                let core_b = Core::of(other, b, self.meshes.get(second.asset as usize));
                let rounding = [Core::rounding(one, a), Core::rounding(other, b)];
                return convex::convex_convex(core_a, a, rounding, core_b, b, hint, workspace, sink);
            }
        }
        None
    }
}
