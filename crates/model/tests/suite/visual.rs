//! Colours, cameras and lights, as MuJoCo 4.0.0 compiles them (`geom_rgba`, `geom_matid`, `geom_group`, `mat_*`, `cam_*`,
//! `light_*`).

use std::path::Path;

use manyworlds_model::visual::{Following, GREY, Image, LightKind, Mark, Pattern, TextureKind};
use manyworlds_model::{ImportOptions, Loaded, ModelError, Pose, Quat, Vec3, from_mjcf_str};
use nalgebra::Quaternion;

const SCENE: &str = r#"<mujoco>
  <compiler texturedir="pictures"/>
  <default><geom rgba=".1 .2 .3 1"/><material specular=".25"/><default class="red"><geom rgba="1 0 0 1"/></default></default>
  <asset>
    <material name="floor" texture="squares" texrepeat="3 1" reflectance=".2"/>
    <texture name="squares" type="2d" builtin="checker" rgb1=".2 .3 .4" width="64" height="64" mark="edge" markrgb=".8 .8 .8"/>
    <texture type="cube" file="wood.png"/>
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
          <light pos="1 0 0" dir="1 0 0" cutoff="30"/>
        </frame>
      </body>
    </frame>
  </worldbody>
</mujoco>"#;

fn read(text: &str) -> Result<Loaded, ModelError> {
    let nothing = |path: &Path| Err(std::io::Error::other(format!("{}", path.display())));
    from_mjcf_str("scene.xml", text, &nothing, &ImportOptions::default())
}

#[test]
fn looks_are_those_of_the_file() {
    let loaded = read(SCENE).expect("the scene loads");
    assert_eq!(loaded.ignored, [], "all of it is read");
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
    };
    assert_eq!((visual.textures[0].kind, &visual.textures[0].image), (TextureKind::Planar, &squares));
    let file = Image::File(Path::new("pictures").join("wood.png"));
    assert_eq!((visual.textures[1].kind, &visual.textures[1].image), (TextureKind::Cube, &file));
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
    let [sun, spot] = &model.visual.lights[..] else { panic!("{:?}", model.visual.lights) };
    assert!((sun.direction - Vec3::new(0.0, 0.6, -0.8)).amax() < 1e-12, "{sun:?}");
    assert_eq!(
        (sun.kind, sun.body, sun.casts_shadows, sun.diffuse),
        (LightKind::Directional, 0, false, [0.9, 0.8, 0.7])
    );
    assert!((spot.position - Vec3::new(0.0, 1.0, 1.0)).amax() < 1e-12, "{spot:?}");
    assert!((spot.direction - Vec3::y()).amax() < 1e-12, "{spot:?}");
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
        ("", "<light mode='targetbodycom'/>", "points at no body"),
        ("<texture name='t' builtin='flat' mark='random'/>", "", "random"),
    ] {
        let loaded = within(asset, world).expect("it loads");
        let [ignored] = &loaded.ignored[..] else { panic!("{listed}: {:?}", loaded.ignored) };
        assert!(ignored.why.contains(listed) && !ignored.unsupported, "{ignored:?}");
    }
    for (asset, world, element, message) in [
        ("", "<geom size='1' rgba='1 x 0 1'/>", "<geom>", "`x` is not a finite number"),
        ("", "<geom size='1' rgba='1 1 1 1 1'/>", "<geom>", "needs 4 numbers, found 5"),
        ("<texture name='t' type='3d'/>", "", "<texture name=\"t\">", "unknown texture type `3d`"),
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
