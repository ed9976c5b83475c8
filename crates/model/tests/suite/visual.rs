//! Colours, cameras and lights, as MuJoCo 4.0.0 compiles them (`geom_rgba`, `geom_matid`, `geom_group`, `mat_*`, `cam_*`,
//! `light_*`).

use std::path::Path;

use manyworlds_model::visual::{Following, GREY, Headlight, Image, LightKind, Mark, Pattern, Pixels, TextureKind};
use manyworlds_model::{ImportOptions, Loaded, ModelError, Pose, Quat, Vec3, from_mjcf_str};
use nalgebra::Quaternion;

const SCENE: &str = r#"<mujoco>
  <compiler texturedir="pictures"/>
  <visual><headlight ambient=".2 .2 .2"/></visual>
  <default><geom rgba=".1 .2 .3 1"/><material specular=".25"/><default class="red"><geom rgba="1 0 0 1"/></default></default>
  <asset>
    <material name="floor" texture="squares" texrepeat="3 1" reflectance=".2"/>
    <texture name="squares" type="2d" builtin="checker" rgb1=".2 .3 .4" width="64" height="64" mark="edge" markrgb=".8 .8 .8"/>
    <texture type="cube" file="wood.png"/>
    <texture name="die" file="grid.png" gridsize="1 2" gridlayout="DR" rgb1="0 0 1" vflip="true"/>
    <texture name="dice" fileup="wood.png" fileback="grid.png" rgb1="1 0 0"/>
    <material name="wood" texture="wood" rgba=".6 .5 .4 .5" shininess=".75"/>
  </asset>
  <worldbody>
    <geom name="plain" size=".1" rgba=".5 .5 .5 1"/>
    <geom name="floor" type="plane" size="1 1 1" material="floor" rgba=".5 .5 .5 1"/>
    <light name="sun" directional="true" dir="0 3 -4" diffuse=".9 .8 .7" castshadow="false"/>
    <body name="later" pos="0 0 2"><geom name="default" size=".1" group="3"/></body>
    <frame pos="0 0 1" euler="0 0 90">
      <body name="first" pos="1 0 0">
        <geom name="both" size=".1" material="wood" rgba="0 1 0 1"/>
        <geom name="wood" size=".1" material="wood" rgba=".5 .5 .5 1"/>
        <body name="inner"><geom name="red" class="red" size=".1"/></body>
        <frame pos="0 0 1" euler="0 0 90">
          <camera name="side" pos="0 -2 0" xyaxes="1 0 0 0 0 1" mode="trackcom" fovy="60"/>
          <light pos="1 0 0" dir="1 0 0" cutoff="30" attenuation="1 0 2" exponent="3"/>
        </frame>
      </body>
    </frame>
  </worldbody>
</mujoco>"#;

fn read(text: &str) -> Result<Loaded, ModelError> {
    let files = |path: &Path| match path.to_str() {
        Some("pictures/wood.png") => Ok(png([1, 1], png::ColorType::Rgb, &[200, 100, 50])),
        Some("pictures/grid.png") => Ok(png([2, 1], png::ColorType::GrayscaleAlpha, &[10, 255, 20, 0])),
        Some("broken.png") => Ok(b"no picture".to_vec()),
        _ => Err(std::io::Error::other(format!("{}", path.display()))),
    };
    from_mjcf_str("scene.xml", text, &files, &ImportOptions::default())
}

fn png([width, height]: [u32; 2], colour: png::ColorType, samples: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(colour);
    encoder.write_header().unwrap().write_image_data(samples).unwrap();
    bytes
}

/// A picture of one pixel.
fn pixel(rgb: [u8; 3]) -> Pixels {
    Pixels { width: 1, height: 1, rgb: rgb.into() }
}

#[test]
fn looks_are_those_of_the_file() {
    let loaded = read(SCENE).expect("the scene loads");
    let [visual] = &loaded.ignored[..] else { panic!("all but this is read: {:?}", loaded.ignored) };
    assert_eq!(visual.element, "<visual>");
    let (model, visual) = (&loaded.model, &loaded.model.visual);
    assert_eq!(visual.geoms.len(), model.geoms.len());
    for (name, colour, material, group) in [
        ("plain", GREY, None, 0),
        ("floor", [1.0; 4], Some("floor"), 0),
        ("default", [0.1, 0.2, 0.3, 1.0], None, 3),
        ("both", [0.0, 1.0, 0.0, 1.0], Some("wood"), 0),
        ("wood", [0.6, 0.5, 0.4, 0.5], Some("wood"), 0),
        ("red", [1.0, 0.0, 0.0, 1.0], None, 0),
    ] {
        let geom = model.geoms.iter().position(|geom| geom.name == name).expect(name);
        let look = visual.geoms[geom];
        let of = look.material.map(|material| visual.materials[material].name.as_str());
        assert_eq!((visual.colour(geom), of, look.group), (colour, material, group), "{name}");
    }
    let [floor, wood] = &visual.materials[..] else { panic!("{:?}", visual.materials) };
    assert_eq!((floor.texture, floor.repeat, floor.reflectance, floor.specular), (Some(0), [3.0, 1.0], 0.2, 0.25));
    assert_eq!((wood.texture, wood.shininess, wood.specular, wood.emission), (Some(1), 0.75, 0.25, 0.0));
    let squares = Image::Pattern {
        pattern: Pattern::Checker,
        colours: [[0.2, 0.3, 0.4], [0.5; 3]],
        mark: Some((Mark::Edge, [0.8; 3])),
        size: [64, 64],
    };
    assert_eq!((visual.textures[0].kind, &visual.textures[0].image), (TextureKind::Planar, &squares));
    let wood = Image::Pixels(pixel([200, 100, 50]));
    assert_eq!((visual.textures[1].kind, &visual.textures[1].image), (TextureKind::Cube, &wood));
    let blue = || pixel([0, 0, 255]);
    let die = [pixel([20; 3]), blue(), blue(), pixel([10; 3]), blue(), blue()];
    assert_eq!(visual.textures[2].image, Image::Sides(Box::new(die)));
    let Image::Sides(sides) = &visual.textures[3].image else { panic!("{:?}", visual.textures[3]) };
    assert_eq!((&sides[2], &sides[3]), (&pixel([200, 100, 50]), &pixel([255, 0, 0])));
    assert_eq!((sides[5].width, sides[5].mean()), (2, [15.0 / 255.0; 3]));
    assert_eq!(visual.tint(1), Some([0.35, 0.4, 0.45]));
}

#[test]
fn cameras_and_lights_stand_where_the_file_says() {
    let model = read(SCENE).expect("the scene loads").model;
    let first = model.bodies.iter().position(|body| body.name == "first").expect("a body");
    let [camera] = &model.visual.cameras[..] else { panic!("{:?}", model.visual.cameras) };
    let expected =
        Pose::from_parts(Vec3::new(2.0, 0.0, 1.0).into(), Quat::from_quaternion(Quaternion::new(0.5, 0.5, 0.5, 0.5)));
    assert!((camera.pose.to_homogeneous() - expected.to_homogeneous()).amax() < 1e-12, "{camera:?}");
    assert_eq!((camera.name.as_str(), camera.body, camera.following), ("side", first, Following::TrackCentre));
    assert_eq!(camera.field_of_view, 60_f64.to_radians());
    assert_eq!(model.visual.headlight, Headlight { ambient: [0.2; 3], ..Headlight::default() });
    let [sun, spot] = &model.visual.lights[..] else { panic!("{:?}", model.visual.lights) };
    assert!((sun.direction - Vec3::new(0.0, 0.6, -0.8)).amax() < 1e-12, "{sun:?}");
    assert_eq!(
        (sun.kind, sun.body, sun.casts_shadows, sun.diffuse),
        (LightKind::Directional, 0, false, [0.9, 0.8, 0.7])
    );
    assert!((spot.position - Vec3::new(0.0, 1.0, 1.0)).amax() < 1e-12, "{spot:?}");
    assert!((spot.direction - Vec3::y()).amax() < 1e-12, "{spot:?}");
    assert_eq!((spot.attenuation, spot.exponent, sun.exponent), ([1.0, 0.0, 2.0], 3.0, 10.0));
    assert_eq!((spot.kind, spot.body, spot.specular), (LightKind::Spot(30_f64.to_radians()), first, [0.3; 3]));
}

#[test]
fn what_is_missing_is_listed_and_what_is_wrong_refused() {
    let within = |asset: &str, world: &str| {
        read(&format!("<mujoco><asset>{asset}</asset>\n<worldbody><geom size=\"1\"/>{world}</worldbody></mujoco>"))
    };
    for (asset, world, listed) in [
        ("", "<geom size='1' material='gold'/>", "gold"),
        ("<material name='m' texture='none'/>", "", "none"),
        ("", "<camera mode='targetbody' target='x'/>", "points at `x`"),
        ("<texture name='t' type='2d' file='far.png'/>", "", "cannot read texture far.png"),
        ("<texture name='t' fileup='broken.png'/>", "", "texture broken.png: no PNG"),
        ("<texture name='t' type='2d'/>", "", "without a file"),
        ("", "<light mode='targetbodycom'/>", "points at no body"),
    ] {
        let loaded = within(asset, world).expect("it loads");
        let [ignored] = &loaded.ignored[..] else { panic!("{listed}: {:?}", loaded.ignored) };
        assert!(ignored.why.contains(listed) && !ignored.unsupported, "{ignored:?}");
    }
    for (asset, world, element, message) in [
        ("", "<geom size='1' rgba='1 x 0 1'/>", "<geom>", "`x` is not a finite number"),
        ("", "<geom size='1' rgba='1 1 1 1 1'/>", "<geom>", "needs 4 numbers, found 5"),
        ("<texture name='t' type='3d'/>", "", "<texture name=\"t\">", "unknown texture type `3d`"),
        ("<texture name='t' type='2d' builtin='flat' mark='dots'/>", "", "<texture name=\"t\">", "mark `dots`"),
        ("<texture name='t' file='pictures/grid.png' gridsize='1 2' gridlayout='DX'/>", "", "<texture", "found `X`"),
        ("<texture name='t' file='pictures/grid.png' gridsize='1 3' gridlayout='DU'/>", "", "<texture", "found 2"),
        ("<mesh name='m' vertex='0 0 0 1 0 0 0 1 0 0 0 1' texcoord='0 0 1 1'/>", "", "<mesh", "8 in all, found 4"),
        ("<material/>", "", "<material>", "`name` is missing"),
        ("<material name='m'/><material name='m'/>", "", "<material name=\"m\">", "is taken"),
        ("", "<camera fovy='180'/>", "<camera>", "found 180"),
        ("", "<camera mode='stuck'/>", "<camera>", "unknown mode `stuck`"),
        ("", "<light dir='0 0 0'/>", "<light>", "zero length"),
        ("", "<light type='laser'/>", "<light>", "unknown light type `laser`"),
    ] {
        let error = within(asset, world).expect_err(message).to_string();
        assert!(error.starts_with("scene.xml:") && error.contains(element) && error.contains(message), "{error}");
    }
}
