//! What shines: the lights of the file and that at the camera, or a sun of our own where the file has none.

use bytemuck::{Pod, Zeroable};
use manyworlds_model::visual::{Headlight, LightKind};
use manyworlds_model::{Model, Pose, Quat, Vec3};
use nalgebra::{Matrix4, Point3};

use crate::camera::view;
use crate::viewpoint::Follower;
use crate::{Camera, Placed};

/// To the sun.
pub(crate) const SUN: [f64; 3] = [-0.45, -0.4, 1.0];
/// Its intensities, and what comes from the sky and from the ground where it shines alone.
const SUNLIGHT: [f32; 3] = [0.95, 0.9025, 0.817];
const FROM_SKY: [f32; 3] = [0.40, 0.46, 0.54];
const FROM_GROUND: [f32; 3] = [0.21, 0.20, 0.18];
/// Lights of a picture; more of them are left out.
const MOST: usize = 8;
/// Widest cone that casts shadows, from its axis to its side, rad.
const WIDEST: f64 = 1.3;
/// In place of the cosine of the angle to the side of a cone: all lies inside.
const NO_CONE: f64 = -2.0;

/// Lights of a model.
#[derive(Debug)]
pub(crate) struct Lights {
    lamps: Vec<Lamp>,
    headlight: Headlight,
}

#[derive(Debug)]
struct Lamp {
    frame: Follower,
    light: manyworlds_model::visual::Light,
}

/// A light of the shader.
#[derive(Debug, Clone, Copy, Default, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Shining {
    /// Where it is, m, and 1; or 0 for one that is far away.
    position: [f32; 4],
    /// Unit vector along which it shines, and the cosine of the angle to the side of its cone.
    direction: [f32; 4],
    /// What it adds to a matt surface, and the power of the cosine of the angle from its axis.
    diffuse: [f32; 4],
    /// To a highlight, and 1 for the one whose shadows are drawn.
    specular: [f32; 4],
    /// Parts of the divisor of its strength by distance, 1, 1/m and 1/m^2.
    attenuation: [f32; 4],
}

/// All light on a picture.
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Illumination {
    /// From above, and the number of lights.
    from_sky: [f32; 4],
    /// From below.
    from_ground: [f32; 4],
    lights: [Shining; MOST],
}

/// How the light whose shadows are drawn looks at the scene.
pub(crate) struct Shadows {
    /// To the shadow map: x and y from -1 to 1, depth from 0 to 1.
    pub(crate) light_from_world: Matrix4<f64>,
    /// Width of what the map shows about the middle of the picture, m.
    pub(crate) width: f64,
}

impl Lights {
    pub(crate) fn new(model: &Model) -> Self {
        // Of what no joint has moved.
        let mut poses: Vec<Pose> = Vec::with_capacity(model.bodies.len());
        for (number, body) in model.bodies.iter().enumerate() {
            poses.push(if number == 0 { body.pose } else { poses[body.parent] * body.pose });
        }
        let initial = Placed { poses, q: model.initial_q() };
        let lamp = |light: &manyworlds_model::visual::Light| {
            let back = -light.direction;
            let turn = Quat::rotation_between(&Vec3::z(), &back)
                .unwrap_or_else(|| Quat::from_axis_angle(&Vec3::x_axis(), std::f64::consts::PI));
            let pose = Pose::from_parts(light.position.into(), turn);
            let frame = Follower::new(model, light.body, pose, light.following, &initial);
            Lamp { frame, light: light.clone() }
        };
        let lamps = model.visual.lights.iter().map(lamp).collect();
        Self { lamps, headlight: model.visual.headlight }
    }

    /// The light on a picture of a world, and how shadows fall.
    pub(crate) fn on(&self, world: Option<&Placed>, camera: &Camera) -> (Illumination, Option<Shadows>) {
        let (Some(world), false) = (world, self.lamps.is_empty()) else { return sunshine(camera) };
        let mut ambient = [0.0; 3];
        let mut lights = Vec::new();
        let mut shadows = None;
        for Lamp { frame, light } in &self.lamps {
            let pose = frame.pose(world);
            let (from, back) = (pose.translation.vector, pose.rotation * Vec3::z());
            let casts = light.casts_shadows && shadows.is_none() && light.kind != LightKind::Point;
            if casts {
                shadows = Some(match light.kind {
                    LightKind::Spot(cutoff) => within_cone(&pose, cutoff, camera),
                    _ => parallel(back, camera),
                });
            }
            let (is_near, cosine) = match light.kind {
                LightKind::Directional => (0.0, NO_CONE),
                LightKind::Point => (1.0, NO_CONE),
                LightKind::Spot(cutoff) => (1.0, cutoff.cos()),
            };
            let exponent = if let LightKind::Spot(_) = light.kind { light.exponent } else { 0.0 };
            (0..3).for_each(|k| ambient[k] += light.ambient[k]);
            lights.push(Shining {
                position: four(from, is_near),
                direction: four(-back, cosine as f32),
                diffuse: with(light.diffuse, exponent),
                specular: with(light.specular, f32::from(casts)),
                attenuation: with(light.attenuation, 0.0),
            });
        }
        if self.headlight.active {
            let Headlight { diffuse, specular, ambient: own, .. } = self.headlight;
            (0..3).for_each(|k| ambient[k] += own[k]);
            let headlight = Shining {
                position: four(camera.eye, 1.0),
                direction: four(-camera.axes()[2], NO_CONE as f32),
                diffuse: with(diffuse, 0.0),
                specular: with(specular, 0.0),
                attenuation: [1.0, 0.0, 0.0, 0.0],
            };
            // It comes first, so that none of many leaves it out.
            lights.insert(0, headlight);
        }
        (Illumination::new(ambient, ambient, &lights), shadows)
    }
}

impl Illumination {
    fn new(from_sky: [f32; 3], from_ground: [f32; 3], lights: &[Shining]) -> Self {
        let mut all = [Shining::default(); MOST];
        all.iter_mut().zip(lights).for_each(|(to, light)| *to = *light);
        Self {
            from_sky: with(from_sky, lights.len().min(MOST) as f32),
            from_ground: with(from_ground, 0.0),
            lights: all,
        }
    }
}

/// The sun that shines where a file has no lights.
fn sunshine(camera: &Camera) -> (Illumination, Option<Shadows>) {
    let back = Vec3::from(SUN).normalize();
    let sun = Shining {
        position: [0.0; 4],
        direction: four(-back, NO_CONE as f32),
        diffuse: with(SUNLIGHT, 0.0),
        specular: with(SUNLIGHT, 1.0),
        attenuation: [1.0, 0.0, 0.0, 0.0],
    };
    (Illumination::new(FROM_SKY, FROM_GROUND, &[sun]), Some(parallel(back, camera)))
}

/// Shadows of light from far away: it looks at a ball about the middle of the picture, from outside.
fn parallel(to_light: Vec3, camera: &Camera) -> Shadows {
    let reach = 1.3 * camera.radius;
    let depth = 4.0 * reach;
    let scaled = Vec3::new(1.0 / reach, 1.0 / reach, -1.0 / (2.0 * depth));
    let light_from_world =
        Matrix4::new_nonuniform_scaling(&scaled) * view(across(to_light), camera.middle + to_light * depth);
    Shadows { light_from_world, width: 2.0 * reach }
}

/// Shadows within a cone, as from a camera at its tip.
fn within_cone(pose: &Pose, cutoff: f64, camera: &Camera) -> Shadows {
    let (tip, back) = (pose.translation.vector, pose.rotation * Vec3::z());
    let away = (camera.middle - tip).norm().max(camera.radius);
    let slope = cutoff.clamp(0.05, WIDEST).tan();
    let [near, far] = [0.02 * away, away + 30.0 * camera.radius];
    let mut projection = Matrix4::zeros();
    projection[(0, 0)] = 1.0 / slope;
    projection[(1, 1)] = 1.0 / slope;
    projection[(2, 2)] = far / (near - far);
    projection[(2, 3)] = near * far / (near - far);
    projection[(3, 2)] = -1.0;
    Shadows { light_from_world: projection * view(across(back), Point3::from(tip).coords), width: 2.0 * slope * away }
}

/// Axes of a camera that looks against a unit vector.
fn across(back: Vec3) -> [Vec3; 3] {
    let side = Vec3::z().cross(&back).try_normalize(1e-9).unwrap_or_else(Vec3::x);
    [side, back.cross(&side), back]
}

fn four(v: Vec3, w: f32) -> [f32; 4] {
    [v.x as f32, v.y as f32, v.z as f32, w]
}

fn with([a, b, c]: [f32; 3], w: f32) -> [f32; 4] {
    [a, b, c, w]
}

#[cfg(test)]
mod tests {
    use manyworlds_model::{ImportOptions, from_mjcf_str};

    use super::*;

    #[test]
    fn lights_go_with_their_bodies_and_see_what_they_shine_on() {
        let nothing = |path: &std::path::Path| Err(std::io::Error::other(path.display().to_string()));
        let text = r#"<mujoco><visual><headlight active="0"/></visual><worldbody><light pos="0 0 9" directional="true"
            castshadow="false" ambient=".25 0 0"/><geom size="1"/><body name="lamp" pos="1 0 0"><freejoint/>
            <light pos="0 0 2" dir="0 0 -1" cutoff="30"/><geom size=".1"/></body></worldbody></mujoco>"#;
        let model = from_mjcf_str("lights.xml", text, &nothing, &ImportOptions::default()).unwrap().model;
        let turned = Pose::from_parts(Vec3::new(4.0, 0.0, 1.0).into(), Quat::from_euler_angles(0.0, 0.5, 0.0));
        let world = Placed { poses: vec![Pose::identity(), turned], q: model.initial_q() };
        let camera = Camera::looking(Vec3::new(3.0, -9.0, 2.0), Vec3::new(3.0, 0.0, 1.0), 2.0);
        let (all, shadows) = Lights::new(&model).on(Some(&world), &camera);
        assert_eq!((all.from_sky, all.from_ground), ([0.25, 0.0, 0.0, 2.0], [0.25, 0.0, 0.0, 0.0]));
        let spot = all.lights[1];
        let expected = turned * Point3::new(0.0, 0.0, 2.0);
        assert!(
            (Vec3::from_iterator(spot.position[..3].iter().map(|x| f64::from(*x))) - expected.coords).norm() < 1e-6
        );
        assert_eq!([all.lights[0].specular[3], spot.specular[3]], [0.0, 1.0]);
        // What lies along its axis is in the middle of its map, and what lies at the side of its cone at the edge.
        let shadows = shadows.expect("it casts shadows");
        let seen = |local: Vec3| {
            let p = shadows.light_from_world * (turned * Point3::from(local)).to_homogeneous();
            (p.xy() / p.w, p.z / p.w)
        };
        let (at, depth) = seen(Vec3::zeros());
        assert!(at.norm() < 1e-9 && (0.0..1.0).contains(&depth), "{at} {depth}");
        let (at, _) = seen(Vec3::new(2.0 * 30_f64.to_radians().tan(), 0.0, 0.0));
        assert!((at.norm() - 1.0).abs() < 1e-9, "{at}");
    }
}
