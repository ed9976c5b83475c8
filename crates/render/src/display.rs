//! What there is to draw as plain numbers, for another renderer than ours: WebGL in a browser.

use crate::mesh::Vertex;
use crate::renderer::View;
use crate::scene::{Painted, SQUARE};
use crate::{Arrow, Camera, Layers, Placed, Scene, Size};

/// Everything of a picture: instances of meshes, run by run, and the view.
#[derive(Debug, Clone, Default)]
pub struct Display {
    /// Corners of soft bodies' triangles now, as those of [`Scene::corners`], with numbers that go on from these.
    pub soft: Vec<f32>,
    /// The runs, one behind the other: first corner, number of corners, number of instances, and what they are, one of
    /// [`Display::GROUND`], [`Display::SOLID`] and [`Display::ARROW`].
    pub runs: Vec<u32>,
    /// So many numbers an instance, [`Display::INSTANCE`], as `Corner` of `scene.wgsl` has them.
    pub instances: Vec<f32>,
    /// `View` of `scene.wgsl`.
    pub view: Vec<f32>,
}

impl Display {
    /// Casts no shadow.
    pub const GROUND: u32 = 0;
    /// Casts a shadow.
    pub const SOLID: u32 = 1;
    /// Nothing hides it, and it casts no shadow.
    pub const ARROW: u32 = 2;
    /// Numbers of a corner.
    pub const CORNER: usize = size_of::<Vertex>() / 4;
    /// Numbers of an instance.
    pub const INSTANCE: usize = size_of::<Painted>() / 4;
}

impl Scene {
    /// Textures that lie on it.
    #[must_use]
    pub fn layers(&self) -> &Layers {
        &self.layers
    }

    /// Corners of the triangles of all its meshes: position, normal, which end of a long shape, and where in a texture, nine
    /// numbers each.
    #[must_use]
    pub fn corners(&self) -> Vec<f32> {
        self.meshes.iter().flat_map(|mesh| bytemuck::cast_slice::<Vertex, f32>(mesh)).copied().collect()
    }

    /// The picture of some worlds.
    #[must_use]
    pub fn display(&self, worlds: &[Placed], arrows: &[Arrow], camera: &Camera, size: Size) -> Display {
        let first = |mesh: usize| self.meshes[..mesh].iter().map(|m| m.len() as u32).sum::<u32>();
        let mut display =
            Display { view: View::new(self, worlds.first(), camera, size).numbers(), ..Display::default() };
        let (counts, mut instances) = self.instances(worlds, camera);
        for (mesh, count) in counts {
            let kind = if mesh == SQUARE { Display::GROUND } else { Display::SOLID };
            display.runs.extend([first(mesh), self.meshes[mesh].len() as u32, count, kind]);
        }
        let mut next = first(self.meshes.len());
        for (mesh, instance) in worlds.iter().flat_map(|placed| self.soft(placed)) {
            display.runs.extend([next, mesh.len() as u32, 1, Display::SOLID]);
            display.soft.extend(bytemuck::cast_slice::<Vertex, f32>(&mesh));
            next += mesh.len() as u32;
            instances.push(Painted::bare(instance));
        }
        let (counts, of_arrows) = Self::arrows(arrows);
        for (mesh, count) in counts {
            display.runs.extend([first(mesh), self.meshes[mesh].len() as u32, count, Display::ARROW]);
        }
        instances.extend(of_arrows);
        display.instances = bytemuck::cast_slice(&instances).to_vec();
        display
    }
}

#[cfg(test)]
mod tests {
    use manyworlds::ImportOptions;
    use manyworlds_model::{Pose, Vec3};

    use super::Display;
    use crate::{Arrow, Camera, Placed, Scene, Size};

    #[test]
    fn runs_cover_all_instances_and_corners() {
        let model = manyworlds::load("soft-pinch", &ImportOptions::default()).unwrap().model;
        let scene = Scene::new(&model);
        let placed = Placed { poses: vec![Pose::identity(); model.bodies.len()], q: model.initial_q() };
        let size = Size { width: 64, height: 48 };
        let arrow = Arrow { from: Vec3::zeros(), way: Vec3::z(), radius: 0.01, colour: [255, 0, 0] };
        let camera = Camera::framing(&scene.outline(&placed), size);
        let display = scene.display(&[placed.clone(), placed], &[arrow], &camera, size);
        let corners = (scene.corners().len() + display.soft.len()) / Display::CORNER;
        let runs: Vec<&[u32]> = display.runs.chunks_exact(4).collect();
        assert!(runs.iter().all(|run| (run[0] + run[1]) as usize <= corners), "{runs:?}");
        assert_eq!(runs.iter().map(|run| Display::INSTANCE * run[2] as usize).sum::<usize>(), display.instances.len());
        let kinds = |kind| runs.iter().filter(|run| run[3] == kind).count();
        assert_eq!((kinds(Display::ARROW), display.view.len()), (3, 220));
        assert!(!display.soft.is_empty());
    }
}
