//! Observations against rays that are followed on the host, and against themselves one world at a time.

use std::path::Path;

use manyworlds::kinematics::motions;
use manyworlds_model::{ImportOptions, Model, Shape, Vec3, from_mjcf_str};
use manyworlds_render::{Camera, Observations, Observer, Placed, Size};
use nalgebra::Point3;

const SIZE: Size = Size { width: 48, height: 32 };

const SCENE: &str = r#"<mujoco>
  <worldbody>
    <geom type="plane" size="1 1 1"/>
    <body pos="0 0 .5"><freejoint/><geom type="box" size=".2 .3 .25"/><geom type="box" size=".1 .1 .1" pos="0 0 .4"/></body>
    <body pos="1 0 .5"><freejoint/><geom type="box" size=".2 .1 .25"/></body>
  </worldbody>
</mujoco>"#;

fn model() -> Model {
    let nothing = |path: &Path| Err(std::io::Error::other(format!("{}", path.display())));
    from_mjcf_str("boxes.xml", SCENE, &nothing, &ImportOptions::default()).expect("the model loads").model
}

/// Worlds whose bodies stand elsewhere and turned in each.
fn worlds(model: &Model, n: usize) -> Vec<Placed> {
    let world = |number: usize| {
        let mut q = model.initial_q();
        let turn = 0.4 * number as f64;
        q[0] += 0.07 * number as f64;
        q[3..7].copy_from_slice(&[turn.cos(), 0.3 * turn.sin(), 0.0, turn.sin()]);
        model.normalize_quaternions(&mut q);
        q[8] -= 0.1 * number as f64;
        let mut bodies = Vec::new();
        motions(model, &q, &vec![0.0; model.n_v], &mut bodies);
        Placed { poses: bodies.iter().map(|body| body.pose).collect(), q }
    };
    (0..n).map(world).collect()
}

fn observer(model: &Model) -> Option<Observer> {
    if std::env::var("MANYWORLDS_NO_ADAPTER").is_ok_and(|value| value == "1") {
        eprintln!("\n*** MANYWORLDS_NO_ADAPTER=1: NOTHING IS DRAWN. ***\n");
        return None;
    }
    Some(Observer::open(model, SIZE).expect("an adapter, or the switch that says there is none"))
}

/// Geom and distance along the camera's axis of what a ray through a pixel meets: boxes and planes.
fn followed(model: &Model, placed: &Placed, camera: &Camera, pixel: usize) -> (i32, f32) {
    let (column, row) = (pixel % SIZE.width as usize, pixel / SIZE.width as usize);
    let at = |i: usize, n: u32| 2.0 * (i as f64 + 0.5) / f64::from(n) - 1.0;
    let ray = camera.ray([at(column, SIZE.width), -at(row, SIZE.height)], SIZE);
    let ahead = -camera.axes()[2].dot(&ray);
    let mut nearest = (-1, f64::INFINITY);
    for (number, geom) in model.geoms.iter().enumerate() {
        let pose = placed.poses[geom.body] * geom.pose;
        let from = (pose.inverse() * Point3::from(camera.eye)).coords;
        let way = pose.rotation.inverse() * ray;
        let met = match geom.shape {
            Shape::Plane => Some(-from.z / way.z).filter(|t| *t > 0.0),
            Shape::Box { half } => {
                let (mut first, mut last) = (0.0_f64, f64::INFINITY);
                for axis in 0..3 {
                    let (a, b) = ((-half[axis] - from[axis]) / way[axis], (half[axis] - from[axis]) / way[axis]);
                    (first, last) = (first.max(a.min(b)), last.min(a.max(b)));
                }
                (first > 0.0 && first < last).then_some(first)
            }
            _ => panic!("boxes and planes alone"),
        };
        if let Some(t) = met.filter(|t| t * ahead < nearest.1) {
            nearest = (number as i32, t * ahead);
        }
    }
    (nearest.0, nearest.1 as f32)
}

/// Pixels of a world that rays contradict.
fn wrong(model: &Model, placed: &Placed, camera: &Camera, seen: &Observations, world: usize) -> usize {
    let pixels = (SIZE.width * SIZE.height) as usize;
    let differs = |pixel: &usize| {
        let (what, depth) = followed(model, placed, camera, *pixel);
        let (found, at) = (seen.segmentation[world * pixels + pixel], seen.depth[world * pixels + pixel]);
        // The ground is drawn as far as it has not faded.
        let faded = what == 0 && found == -1 && f64::from(depth) > 10.0 * camera.radius;
        !faded && (what != found || (depth - at).abs() > 1e-3 * depth)
    };
    (0..pixels).filter(differs).count()
}

#[test]
fn distances_and_geoms_are_those_that_rays_meet() {
    let model = model();
    let Some(mut observer) = observer(&model) else { return };
    let worlds = worlds(&model, 7);
    let far = observer.frame(&worlds);
    // The other camera stands amid the boxes, whose sides it sees partly, and the rest is beside the picture.
    let near = Camera::looking(Vec3::new(0.5, -0.6, 0.7), Vec3::new(0.3, 0.2, 0.4), 1.0);
    for camera in [far, near] {
        let seen = observer.observe(&worlds, &[camera; 7]).expect("it is observed");
        for (number, placed) in worlds.iter().enumerate() {
            let found = wrong(&model, placed, &camera, &seen, number);
            // Rounding decides on edges.
            assert!(found < 12, "world {number}: {found} pixels");
            let boxes = seen.segmentation[number * 1536..(number + 1) * 1536].iter().filter(|&&what| what > 0).count();
            assert!(boxes > 100, "world {number}: {boxes} pixels of boxes");
        }
        // Of another world most are wrong somewhere.
        assert!(wrong(&model, &worlds[0], &camera, &seen, 6) > 50);
    }
}

#[test]
fn a_world_alone_is_seen_as_among_others() {
    let model = model();
    let Some(mut observer) = observer(&model) else { return };
    // More than fit into one texture, each by a camera of its own.
    let worlds = worlds(&model, 3000);
    let camera = observer.frame(&worlds[..10]);
    let cameras: Vec<Camera> = (0..worlds.len()).map(|world| camera.orbited(0.01 * world as f64, 0.0)).collect();
    let all = observer.observe(&worlds, &cameras).expect("they are observed");
    for world in [0, 1, 41, 2687, 2688, 2999] {
        let one = observer.observe(&worlds[world..=world], &cameras[world..=world]).expect("it is observed");
        let pixels = (SIZE.width * SIZE.height) as usize;
        let own = world * pixels..(world + 1) * pixels;
        // Where a tile lies decides how positions round, and so who has the pixels on edges.
        let whats = one.segmentation.iter().zip(&all.segmentation[own.clone()]);
        let differ = whats.filter(|(a, b)| a != b).count();
        assert!(differ < 6, "{world}: {differ} pixels");
        let depths = one.depth.iter().zip(&all.depth[own.clone()]).filter(|(a, b)| (*a - *b).abs() > 1e-3 * *a).count();
        assert!(depths < 6, "{world}: {depths} pixels");
        let colours = one.rgb.iter().zip(&all.rgb[3 * own.start..3 * own.end]).filter(|(a, b)| a.abs_diff(**b) > 2);
        let colours = colours.count();
        assert!(colours < 60, "{world}: {colours} numbers");
    }
}
