//! Imported models against MuJoCo's reading of the same files: sizes, masses, centres of mass, inertias, initial
//! states; and every built-in scene loads.

use manyworlds_model::{ImportOptions, load};
use manyworlds_tests::compare::assert_close;
use manyworlds_tests::{golden, root};

/// Both sides compute masses from sizes by a few products of doubles; MuJoCo also diagonalises inertias.
const ROUND_OFF: f64 = 1e-12;

#[test]
fn golden_models_are_all_there() {
    let names = golden::names();
    assert!(names.len() >= 10, "only {names:?}");
    for name in ["humanoid", "quadruped", "ball-chain", "mixed-joints", "several-trees"] {
        assert!(names.iter().any(|n| n == name), "{name} is missing from {names:?}");
    }
}

#[test]
fn masses_agree_with_mujoco() {
    for name in golden::names() {
        let (golden, loaded) = golden::read(&name);
        let model = loaded.model;
        assert_eq!((model.n_q, model.n_v), (golden.n_q, golden.n_v), "{name}");
        assert_eq!(model.actuators.len(), golden.n_u, "{name}");
        let bodies = &model.bodies[1..];
        assert_eq!(bodies.len(), golden.n_bodies, "{name}");
        let mass: Vec<f64> = bodies.iter().map(|b| b.inertial.mass).collect();
        assert_close(&format!("{name}: mass"), &mass, &golden.body_mass, ROUND_OFF);
        let com: Vec<f64> = bodies.iter().flat_map(|b| b.inertial.com.iter().copied().collect::<Vec<_>>()).collect();
        assert_close(&format!("{name}: com"), &com, &golden.body_com, ROUND_OFF);
        let inertia: Vec<f64> = bodies
            .iter()
            .flat_map(|b| {
                let i = &b.inertial.inertia;
                [i[(0, 0)], i[(1, 1)], i[(2, 2)], i[(0, 1)], i[(0, 2)], i[(1, 2)]]
            })
            .collect();
        assert_close(&format!("{name}: inertia"), &inertia, &golden.body_inertia, ROUND_OFF);
    }
}

#[test]
fn initial_states_agree_with_mujoco() {
    for name in golden::names() {
        let (golden, loaded) = golden::read(&name);
        assert_close(&format!("{name}: q"), &loaded.model.initial_q(), &golden.cases[0].q, ROUND_OFF);
    }
}

#[test]
fn every_scene_loads_and_is_listed() {
    let folder = root().join("scenes");
    let list: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(folder.join("scenes.json")).expect("scenes.json"))
            .expect("valid JSON");
    let mut listed = Vec::new();
    for scene in list["scenes"].as_array().expect("a list of scenes") {
        let file = scene["file"].as_str().expect("a file name");
        listed.push(file.to_owned());
        let loaded = load(folder.join(file), &ImportOptions::default()).unwrap_or_else(|e| panic!("scene {file}: {e}"));
        assert_eq!(Some(loaded.model.name.as_str()), scene["name"].as_str(), "{file}");
        if let Some(key) = scene["keyframe"].as_str() {
            assert!(loaded.model.keyframes.iter().any(|k| k.name == key), "{file} lacks the keyframe {key}");
        }
    }
    for entry in std::fs::read_dir(&folder).expect("the folder of scenes") {
        let name = entry.expect("a directory entry").file_name().to_string_lossy().into_owned();
        if name.ends_with(".xml") {
            assert!(listed.contains(&name), "{name} is not in scenes.json");
        }
    }
}
