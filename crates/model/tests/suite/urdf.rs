//! What the URDF importer settles that the format leaves open.

use std::path::Path;

use manyworlds_model::{ImportOptions, Model, from_urdf_str};

fn robot(options: &ImportOptions) -> Model {
    let link = |name: &str| {
        format!(
            "<link name=\"{name}\"><inertial><mass value=\"1\"/><inertia ixx=\"1\" iyy=\"1\" izz=\"1\" ixy=\"0\" \
             ixz=\"0\" iyz=\"0\"/></inertial><collision><geometry><sphere radius=\"0.1\"/></geometry></collision></link>"
        )
    };
    let joint = |name: &str, kind: &str, parent: &str, child: &str| {
        format!("<joint name=\"{name}\" type=\"{kind}\"><parent link=\"{parent}\"/><child link=\"{child}\"/></joint>")
    };
    let text = [
        "<robot name=\"r\">".to_owned(),
        ["base", "plate", "arm", "hand"].map(link).concat(),
        joint("a", "fixed", "base", "plate"),
        joint("b", "continuous", "plate", "arm"),
        joint("c", "continuous", "arm", "hand"),
        "</robot>".to_owned(),
    ]
    .concat();
    let no_files = |path: &Path| Err(std::io::Error::other(path.display().to_string()));
    from_urdf_str("r.urdf", &text, &no_files, options).expect("a valid robot").model
}

/// What other programs put into a URDF, and what leads nowhere, is listed and changes nothing.
#[test]
fn what_is_not_urdf_or_leads_nowhere_is_listed() {
    let inertial = |mass: &str| {
        format!(
            "<inertial><mass value=\"{mass}\"/><inertia ixx=\"1\" iyy=\"1\" izz=\"1\" ixy=\"0\" ixz=\"0\" iyz=\"0\"/></inertial>"
        )
    };
    let text = format!(
        "<robot name=\"r\"><link name=\"a\">{}</link><link name=\"b\">{}</link><link name=\"c\">{}</link>\n\
         <joint name=\"turn\" type=\"continuous\"><parent link=\"a\"/><child link=\"b\"/><mimic joint=\"gone\"/></joint>\n\
         <joint name=\"held\" type=\"fixed\"><parent link=\"b\"/><child link=\"c\"/></joint>\n\
         <ros2_control/>\n<transmission><joint name=\"gone\"/></transmission></robot>",
        inertial("1"),
        inertial("2"),
        inertial("0"),
    );
    let no_files = |path: &Path| Err(std::io::Error::other(path.display().to_string()));
    let loaded = from_urdf_str("r.urdf", &text, &no_files, &ImportOptions::default()).expect("a valid robot");
    assert!(loaded.model.actuators.is_empty() && loaded.model.equalities.is_empty());
    let foot = &loaded.model.bodies[3];
    assert_eq!((foot.name.as_str(), foot.inertial.inertia.amax()), ("c", 0.0));
    for (line, why) in [(1, "without mass"), (2, "mimic of `gone`"), (4, "another program"), (5, "no motor")] {
        let listed = loaded.ignored.iter().any(|ignored| ignored.line == line && ignored.why.contains(why));
        assert!(listed, "line {line}, {why}: {:?}", loaded.ignored);
    }
}

fn excluded(model: &Model) -> Vec<[&str; 2]> {
    let name = |body: usize| model.bodies[body].name.as_str();
    model.excludes.iter().map(|&(a, b)| [name(a), name(b)]).collect()
}

/// The ground is no parent to the filter of contacts, so that a link that stands fixed needs naming.
#[test]
fn links_do_not_touch_the_fixed_links_that_hold_them() {
    let fixed = robot(&ImportOptions { merge_fixed: false, ..ImportOptions::default() });
    assert_eq!(excluded(&fixed), [["base", "arm"], ["plate", "arm"]]);
    let merged = robot(&ImportOptions { merge_fixed: true, ..ImportOptions::default() });
    assert_eq!(excluded(&merged), [["base", "arm"]]);
    let floating = robot(&ImportOptions { free_root: true, ..ImportOptions::default() });
    assert!(floating.excludes.is_empty());
}

#[test]
fn links_look_as_their_visuals() {
    let link = |name: &str, material: &str| {
        format!(
            "<link name=\"{name}\"><inertial><mass value=\"1\"/><inertia ixx=\"1\" iyy=\"1\" izz=\"1\" ixy=\"0\" ixz=\"0\" \
             iyz=\"0\"/></inertial><visual><geometry><sphere radius=\"1\"/></geometry>{material}</visual><collision><geometry>\
             <sphere radius=\"0.1\"/></geometry></collision></link>"
        )
    };
    let joint = |child: &str| {
        format!("<joint name=\"{child}\" type=\"continuous\"><parent link=\"a\"/><child link=\"{child}\"/></joint>")
    };
    let text = [
        "<robot name=\"r\"><material name=\"red\"><color rgba=\"1 0 0 1\"/></material>".to_owned(),
        link("a", "<material name=\"red\"/>"),
        link("b", "<material name=\"green\"><color rgba=\"0 1 0 1\"/></material>"),
        link("c", "<material name=\"green\"/>"),
        link("d", "<material><color rgba=\"0 0 1 1\"/></material>"),
        link("e", "<material name=\"wood\"><texture filename=\"package://r/wood.png\"/></material>"),
        link("f", ""),
        ["b", "c", "d", "e", "f"].map(joint).concat(),
        "</robot>".to_owned(),
    ]
    .concat();
    let no_files = |path: &Path| Err(std::io::Error::other(path.display().to_string()));
    let loaded = from_urdf_str("r.urdf", &text, &no_files, &ImportOptions::default()).expect("a valid robot");
    let (model, visual) = (&loaded.model, &loaded.model.visual);
    let colour = |link: &str| {
        let geom = model.geoms.iter().position(|geom| model.bodies[geom.body].name == link).expect(link);
        (visual.geoms[geom].material.is_some(), visual.colour(geom))
    };
    let plain = |link: &str| colour(link).1;
    assert_eq!(
        ["a", "b", "c", "d"].map(plain),
        [[1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 0.0, 1.0], [0.0, 1.0, 0.0, 1.0], [0.0, 0.0, 1.0, 1.0]]
    );
    assert_eq!([colour("e").0, colour("f").0], [true, false]);
    let listed =
        loaded.ignored.iter().any(|ignored| ignored.element.contains("wood") && ignored.why.contains("wood.png"));
    assert!(listed, "{:?}", loaded.ignored);
}

/// A link without an inertial has the mass of its collision geoms; one that has an inertial, or no geoms, has not.
#[test]
fn mass_that_is_not_named_is_that_of_the_collision_geoms() {
    let text = "\n<?xml version=\"1.0\"?>\n<robot name=\"r\"><link name=\"base\"/>
        <link name=\"arm\"><collision><origin xyz=\"0 0 1\"/><geometry><box size=\"0.2 0.4 0.6\"/></geometry></collision></link>
        <link name=\"hand\"><collision><geometry><sphere radius=\"0.1\"/></geometry></collision></link>
        <link name=\"tip\"><inertial><mass value=\"0.5\"/><inertia ixx=\"1\" iyy=\"1\" izz=\"1\" ixy=\"0\" ixz=\"0\" iyz=\"0\"/>
        </inertial><collision><geometry><sphere radius=\"0.1\"/></geometry></collision></link><link name=\"frame\"/>
        <joint name=\"a\" type=\"continuous\"><parent link=\"base\"/><child link=\"arm\"/></joint>
        <joint name=\"b\" type=\"fixed\"><parent link=\"arm\"/><child link=\"hand\"/></joint>
        <joint name=\"c\" type=\"continuous\"><parent link=\"arm\"/><child link=\"tip\"/></joint>
        <joint name=\"d\" type=\"fixed\"><parent link=\"tip\"/><child link=\"frame\"/></joint></robot>\0";
    let no_files = |path: &Path| Err(std::io::Error::other(path.display().to_string()));
    let options = ImportOptions { merge_fixed: true, ..ImportOptions::default() };
    let loaded = from_urdf_str("r.urdf", text, &no_files, &options).expect("a valid robot");
    let body = |name: &str| loaded.model.bodies.iter().find(|body| body.name == name).expect("a body").inertial;
    let (cuboid, ball) = (1000.0 * 0.2 * 0.4 * 0.6, 1000.0 * 4.0 / 3.0 * std::f64::consts::PI * 1e-3);
    let arm = body("arm");
    assert!((arm.mass - cuboid - ball).abs() < 1e-9 && (arm.com.z - cuboid / arm.mass).abs() < 1e-12, "{arm:?}");
    // About x: both parts' own, and what the distance between them adds.
    let apart = cuboid * ball / arm.mass;
    let expected = cuboid * (0.4_f64.powi(2) + 0.6_f64.powi(2)) / 12.0 + 0.4 * ball * 0.01 + apart;
    assert!((arm.inertia[(0, 0)] - expected).abs() < 1e-9, "{arm:?}, {expected}");
    assert_eq!(body("tip").mass, 0.5);
    let said =
        loaded.assumptions.iter().any(|what| what.contains("without <inertial>") && what.ends_with(": arm, hand"));
    assert!(said, "{:?}", loaded.assumptions);
}

/// Numbers are those of MuJoCo 4.0.0 for this file.
#[test]
fn mujocos_extension_says_where_meshes_are_and_bounds_masses() {
    let text = r#"<robot name="r">
        <mujoco><compiler meshdir="parts" strippath="true" boundmass="0.01" boundinertia="0.0001" balanceinertia="true" discardvisual="false"/></mujoco>
        <link name="base"/>
        <link name="arm"><inertial><mass value="1"/><inertia ixx="0.1" iyy="0.02" izz="0.03" ixy="0" ixz="0" iyz="0"/></inertial></link>
        <link name="bare"><visual><geometry><sphere radius="1"/></geometry></visual></link>
        <link name="tip"><collision><geometry><mesh filename="package://r/meshes/tip.obj"/></geometry></collision></link>
        <joint name="a" type="continuous"><parent link="base"/><child link="arm"/></joint>
        <joint name="b" type="continuous"><parent link="arm"/><child link="bare"/><origin xyz="0.1 0.2 0.3"/></joint>
        <joint name="c" type="continuous"><parent link="bare"/><child link="tip"/></joint></robot>"#;
    let tip = "v 0 0 0\nv .2 0 0\nv 0 .2 0\nv 0 0 .2\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n";
    let files = |path: &Path| match path.to_str() {
        Some("models/parts/tip.obj") => Ok(tip.into()),
        _ => Err(std::io::Error::other(path.display().to_string())),
    };
    let read = |text: &str| from_urdf_str("models/r.urdf", text, &files, &ImportOptions::default());
    let model = read(text).expect("a valid robot").model;
    let of = |name: &str| model.bodies.iter().find(|body| body.name == name).unwrap().inertial;
    let (arm, bare, tip) = (of("arm"), of("bare"), of("tip"));
    assert!((arm.inertia - nalgebra::Matrix3::identity() * 0.05).amax() < 1e-12, "{arm:?}");
    assert!((bare.inertia - nalgebra::Matrix3::identity() * 1e-4).amax() < 1e-12 && bare.mass == 0.01, "{bare:?}");
    assert!((bare.com - nalgebra::Vector3::new(0.1, 0.2, 0.3)).amax() < 1e-12, "{bare:?}");
    assert!((tip.mass - 4.0 / 3.0).abs() < 1e-7 && (tip.com.add_scalar(-0.05)).amax() < 1e-9, "{tip:?}");
    // What it would change and is not read is refused.
    for (from, to) in [("strippath", "inertiafromgeom=\"true\" strippath"), ("<compiler ", "<option/><compiler ")] {
        let error = read(&text.replace(from, to)).expect_err(to).to_string();
        assert!(error.contains("r.urdf:") && error.contains("MuJoCo's"), "{error}");
    }
}
