//! Distance functions as plugins of MJCF.

use std::f64::consts::PI;
use std::io;
use std::path::Path;

use manyworlds_model::{DistanceFunction, ImportOptions, Shape, from_mjcf_str};

fn read(geom: &str, extension: &str) -> Result<manyworlds_model::Loaded, manyworlds_model::ModelError> {
    let none = |path: &Path| Err(io::Error::new(io::ErrorKind::NotFound, path.display().to_string()));
    let text =
        format!("<mujoco>\n{extension}\n<worldbody>\n<body>\n<freejoint/>\n{geom}\n</body>\n</worldbody>\n</mujoco>");
    from_mjcf_str("m.xml", &text, &none, &ImportOptions::default())
}

const RING: &str = r#"<config key="radius1" value="0.05"/><config key="radius2" value="0.02"/>"#;

#[test]
fn mjcf_reads_plugins_and_instances() {
    let direct = format!(r#"<geom type="sdf"><plugin plugin="mujoco.sdf.torus">{RING}</plugin></geom>"#);
    let extension = format!(
        r#"<extension><plugin plugin="mujoco.sdf.torus"><instance name="ring">{RING}</instance></plugin></extension>
           <asset><mesh name="ring"><plugin instance="ring"/></mesh></asset>"#
    );
    let instance = r#"<geom type="sdf" mesh="ring"><plugin instance="ring"/></geom>"#;
    let twice = format!("{instance}{instance}");
    for (geom, extension, count) in [(direct.as_str(), "", 1), (instance, &extension, 1), (&twice, &extension, 2)] {
        let model = read(geom, extension).expect("a model").model;
        assert_eq!((model.geoms.len(), model.sdfs.len()), (count, 1), "one surface for equal functions");
        assert_eq!(model.geoms[0].shape, Shape::Sdf(0));
        assert_eq!(*model.sdfs[0].function(), DistanceFunction::Torus { ring_radius: 0.05, tube_radius: 0.02 });
        let mass = 1000.0 * 2.0 * PI * PI * 0.05 * 0.02 * 0.02 * count as f64;
        assert!((model.bodies[1].inertial.mass / mass - 1.0).abs() < 0.01);
    }
}

#[test]
fn mjcf_refuses_what_it_does_not_know() {
    let geom = |inside: &str| format!(r#"<geom type="sdf">{inside}</geom>"#);
    let plugin = |name: &str, inside: &str| geom(&format!(r#"<plugin plugin="{name}">{inside}</plugin>"#));
    let key = |key: &str, value: &str| format!(r#"<config key="{key}" value="{value}"/>"#);
    let cases = [
        (geom(""), "needs a <plugin>"),
        (geom(r#"<plugin instance="none"/>"#), "there is no `none`"),
        (plugin("mujoco.sdf.gear", ""), "not supported: plugin mujoco.sdf.gear"),
        (plugin("mujoco.sdf.torus", ""), "needs the key `radius1`"),
        (plugin("mujoco.sdf.torus", &(RING.to_owned() + &key("radius3", "1"))), "`radius3` is no key"),
        (plugin("mujoco.sdf.torus", &(key("radius1", "x") + &key("radius2", "1"))), "`x` is no number"),
        (plugin("mujoco.sdf.torus", &(key("radius1", "1") + &key("radius2", "2"))), "must be below"),
        (plugin("mujoco.sdf.torus", &(RING.to_owned() + &key("spacing", "0"))), "spacing must be positive"),
        (plugin("mujoco.sdf.torus", &(RING.to_owned() + &key("spacing", "1e-6"))), "cells"),
        (plugin("mujoco.sdf.torus", &(RING.to_owned() + &key("contacts", "3"))), "at least 4"),
        (plugin("manyworlds.sdf.dish", &(key("profile", "0 0 1") + &key("thickness", "1"))), "needs pairs"),
        (plugin("manyworlds.sdf.dish", &(key("profile", "0 0") + &key("thickness", "1"))), "at least 2 points"),
        (
            plugin("manyworlds.sdf.bolt", &(key("radius", "1") + &key("pitch", "2") + &key("length", "1"))),
            "twice the thread's depth",
        ),
    ];
    for (text, wanted) in cases {
        let error = read(&text, "").map(|_| ()).expect_err(&text).to_string();
        assert!(error.contains(wanted) && error.contains("m.xml:"), "`{wanted}` is missing from: {error}");
    }
}
