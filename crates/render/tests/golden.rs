//! Pictures of every shape, and of textures and lights, beside those that are kept, as far as an eye tells them apart: adapters
//! differ in single pixels.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use manyworlds_model::{ImportOptions, Model, Vec3, from_mjcf_str};
use manyworlds_render::{Arrow, Format, Picture, Placed, Renderer, Scene, Size};

const SIZE: Size = Size { width: 240, height: 160 };
/// Side of the squares of pixels whose means are compared.
const SQUARE: usize = 8;
/// Largest mean difference of these over a picture, of 255.
const ALIKE: f64 = 1.5;

const SHAPES: &str = r#"<mujoco>
  <asset><hfield name="hills" nrow="3" ncol="3" size="0.4 0.4 0.9 0.1" elevation="0 0 0 0 1 0 0 0 0"/></asset>
  <worldbody>
    <geom type="plane" size="1 1 1"/>
    <geom type="hfield" hfield="hills" pos="0.65 1 0"/>
    <body pos="-1 0 0.3"><freejoint/><geom type="sphere" size="0.3"/></body>
    <body pos="-0.3 0 0.5" euler="0 20 0"><freejoint/><geom type="capsule" size="0.15 0.3"/></body>
    <body pos="0.3 0 0.4"><freejoint/><geom type="cylinder" size="0.2 0.3"/></body>
    <body pos="1 0 0.3" euler="0 0 30"><freejoint/><geom type="box" size="0.2 0.3 0.25"/></body>
    <body pos="0 -0.8 0.25"><freejoint/><geom type="ellipsoid" size="0.4 0.2 0.2"/></body>
  </worldbody>
</mujoco>"#;

/// Textures on planes, boxes, round things and a mesh, under a spotlight that casts shadows and a lamp on a body.
const LOOKS: &str = r#"<mujoco>
  <visual><headlight diffuse="0.1 0.1 0.1" ambient="0.1 0.1 0.12"/></visual>
  <asset>
    <texture name="squares" type="2d" builtin="checker" rgb1="0.2 0.3 0.5" rgb2="0.7 0.7 0.6" width="64" height="64" mark="edge"/>
    <texture name="ball" type="cube" builtin="checker" rgb1="0.9 0.2 0.2" rgb2="1 1 0.8" width="32" mark="cross" markrgb="0 0 1"/>
    <texture name="sky" type="skybox" builtin="gradient" rgb1="0.9 0.6 0.3" rgb2="0.1 0.1 0.3" width="64"/>
    <texture name="file" type="2d" file="four.png"/>
    <material name="floor" texture="squares" texuniform="true" texrepeat="2 2"/>
    <material name="crate" texture="squares" texrepeat="2 1"/>
    <material name="ball" texture="ball" specular="1" shininess="1"/>
    <material name="file" texture="file"/>
    <material name="mirror" rgba="0.2 0.2 0.2 1" reflectance="0.8"/>
    <mesh name="tent" vertex="-1 -1 0  1 -1 0  1 1 0  -1 1 0  0 0 1.5" scale="0.3 0.3 0.3"
      face="0 3 2 0 2 1 0 1 4 1 2 4 2 3 4 3 0 4" texcoord="0 1 1 1 1 0 0 0 0.5 0.5"/>
  </asset>
  <worldbody>
    <light pos="-1.5 -1.5 3" dir="0.45 0.45 -1" cutoff="35" diffuse="0.9 0.9 0.8"/>
    <geom type="plane" size="2 2 0.1" material="floor"/>
    <body name="crate" pos="-0.8 0 0.3"><freejoint/><geom type="box" size="0.3 0.2 0.3" material="crate"/></body>
    <body name="ball" pos="0 0.1 0.3"><freejoint/><geom type="sphere" size="0.3" material="ball"/></body>
    <body name="can" pos="0.8 0.1 0.3"><freejoint/><geom type="cylinder" size="0.25 0.3" material="file"/></body>
    <body name="tent" pos="0.5 -0.8 0"><freejoint/><geom type="mesh" mesh="tent" material="file"/></body>
    <body name="mirror" pos="-0.4 -0.8 0.2"><freejoint/><geom type="ellipsoid" size="0.3 0.2 0.2" material="mirror"/></body>
    <body name="lamp" pos="1.4 -0.6 0.5"><freejoint/><geom size="0.05"/>
      <light type="point" diffuse="0.2 0.6 0.2" attenuation="1 0 2" castshadow="false"/></body>
  </worldbody>
</mujoco>"#;

/// Four pixels of red, green, blue and white.
fn four() -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, 2, 2);
    encoder.set_color(png::ColorType::Rgb);
    let pixels = [[220, 40, 40], [40, 160, 40], [40, 60, 220], [240; 3]];
    encoder.write_header().unwrap().write_image_data(pixels.as_flattened()).unwrap();
    bytes
}

fn model(text: &str) -> Model {
    let files = |_: &Path| Ok(four());
    from_mjcf_str("shapes.xml", text, &files, &ImportOptions::default()).expect("the model loads").model
}

fn shapes() -> Model {
    model(SHAPES)
}

/// Every body where the file has it: each stands on the ground alone.
fn at_rest(model: &Model) -> Placed {
    Placed { poses: model.bodies.iter().map(|body| body.pose).collect(), q: model.initial_q() }
}

/// Draws a model; none where this machine is said to have no adapter.
fn draw_of(model: &Model, change: impl FnOnce(&mut Placed)) -> Option<Picture> {
    if std::env::var("MANYWORLDS_NO_ADAPTER").is_ok_and(|value| value == "1") {
        eprintln!("\n*** MANYWORLDS_NO_ADAPTER=1: NOTHING IS DRAWN. ***\n");
        return None;
    }
    let mut placed = at_rest(model);
    let mut renderer =
        Renderer::open(Scene::new(model), SIZE).expect("an adapter, or the switch that says there is none");
    let camera = renderer.frame(&[&placed], true);
    change(&mut placed);
    Some(renderer.draw(&[placed], &[], &camera).expect("it is drawn"))
}

fn draw(change: impl FnOnce(&mut Placed)) -> Option<Picture> {
    draw_of(&shapes(), change)
}

/// A picture that is kept.
fn kept_of(name: &str) -> Picture {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name);
    let mut reader = png::Decoder::new(BufReader::new(File::open(path).unwrap())).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    assert_eq!(info.color_type, png::ColorType::Rgb);
    let pixels = pixels.chunks_exact(3).flat_map(|p| [p[0], p[1], p[2], 255]).collect();
    Picture { size: Size { width: info.width, height: info.height }, pixels }
}

fn kept() -> Picture {
    kept_of("shapes.png")
}

/// Fails unless a picture is that which is kept.
fn is_as_it_was(picture: &Picture, name: &str) {
    let path = std::env::temp_dir().join(format!("manyworlds-{name}"));
    Format::Png.write(&path, std::slice::from_ref(picture)).unwrap();
    let found = difference(picture, &kept_of(name));
    assert!(found <= ALIKE, "differs by {found} from tests/{name}; if {} is right, it takes its place", path.display());
}

/// Means of squares of pixels, by channel.
fn coarse(picture: &Picture) -> Vec<f64> {
    let (width, height) = (picture.size.width as usize, picture.size.height as usize);
    let mut sums = vec![0.0; 3 * (width / SQUARE) * (height / SQUARE)];
    for (i, pixel) in picture.pixels.chunks_exact(4).enumerate() {
        let square = i / width / SQUARE * (width / SQUARE) + i % width / SQUARE;
        for channel in 0..3 {
            sums[3 * square + channel] += f64::from(pixel[channel]) / (SQUARE * SQUARE) as f64;
        }
    }
    sums
}

/// Mean difference of two pictures looked at coarsely, of 255.
fn difference(a: &Picture, b: &Picture) -> f64 {
    assert_eq!(a.size, b.size);
    let (a, b) = (coarse(a), coarse(b));
    a.iter().zip(&b).map(|(a, b)| (a - b).abs()).sum::<f64>() / a.len() as f64
}

#[test]
fn shapes_look_as_they_did() {
    let Some(picture) = draw(|_| ()) else { return };
    is_as_it_was(&picture, "shapes.png");
}

#[test]
fn textures_and_lights_look_as_they_did() {
    let Some(picture) = draw_of(&model(LOOKS), |_| ()) else { return };
    is_as_it_was(&picture, "looks.png");
}

#[test]
fn a_texture_or_light_that_changed_is_seen() {
    for (of, instead) in [
        ("<material name=\"floor\" texture=\"squares\"", "<material name=\"floor\""),
        ("texuniform=\"true\" texrepeat=\"2 2\"", "texuniform=\"true\""),
        ("builtin=\"gradient\" rgb1=\"0.9 0.6 0.3\"", "builtin=\"flat\" rgb1=\"0.1 0.6 0.3\""),
        ("cutoff=\"35\"", "cutoff=\"15\""),
        ("diffuse=\"0.9 0.9 0.8\"", "diffuse=\"0.9 0.9 0.8\" castshadow=\"false\""),
        ("diffuse=\"0.2 0.6 0.2\"", "diffuse=\"0 0 0\""),
    ] {
        let text = LOOKS.replace(of, instead);
        assert_ne!(text, LOOKS, "{of}");
        let Some(picture) = draw_of(&model(&text), |_| ()) else { return };
        let found = difference(&picture, &kept_of("looks.png"));
        assert!(found > ALIKE, "{instead}: {found}");
    }
}

#[test]
fn a_shape_that_moved_is_seen() {
    for body in 1..=5 {
        let Some(picture) = draw(|placed| placed.poses[body].translation.vector.z += 0.3) else { return };
        let found = difference(&picture, &kept());
        assert!(found > ALIKE, "body {body}: {found}");
    }
}

#[test]
fn an_arrow_within_a_shape_is_seen() {
    let none = std::env::var("MANYWORLDS_NO_ADAPTER").is_ok_and(|value| value == "1");
    if none {
        eprintln!("\n*** MANYWORLDS_NO_ADAPTER=1: NOTHING IS DRAWN. ***\n");
        return;
    }
    let model = shapes();
    let placed = at_rest(&model);
    let mut renderer = Renderer::open(Scene::new(&model), SIZE).expect("an adapter");
    let camera = renderer.frame(&[&placed], true);
    let magenta = |arrows: &[Arrow]| {
        let picture = renderer.draw(std::slice::from_ref(&placed), arrows, &camera).expect("it is drawn");
        picture.pixels.chunks_exact(4).filter(|p| p[0] > 150 && p[1] < 60 && p[2] > 150).count()
    };
    // In the middle of the ball, to its centre.
    let arrow =
        Arrow { from: Vec3::new(-1.0, 0.0, 0.1), way: Vec3::new(0.0, 0.0, 0.3), radius: 0.02, colour: [0xff, 0, 0xff] };
    assert_eq!(magenta(&[]), 0);
    let seen = magenta(&[arrow]);
    assert!((20..400).contains(&seen), "{seen}");
}

#[test]
fn colours_that_changed_are_seen() {
    let Some(mut picture) = draw(|_| ()) else { return };
    picture.pixels.chunks_exact_mut(4).for_each(|p| p.swap(0, 2));
    let found = difference(&picture, &kept());
    assert!(found > ALIKE, "{found}");
}
