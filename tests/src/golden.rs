//! Golden data of the dynamics (`golden/README.md` lists the keys and shapes).

use manyworlds_model::{ImportOptions, Loaded, load};
use serde::Deserialize;

/// The golden record of one model.
#[derive(Debug, Deserialize)]
pub struct Golden {
    /// Path of the model file from the repository's root.
    pub model: String,
    /// Length of `q`.
    pub n_q: usize,
    /// Length of `v`.
    pub n_v: usize,
    /// Number of actuators.
    pub n_u: usize,
    /// Number of bodies without the ground.
    pub n_bodies: usize,
    /// kg, `[n_bodies]`
    pub body_mass: Vec<f64>,
    /// Centres of mass in the body frames, m, `[n_bodies, 3]`.
    pub body_com: Vec<f64>,
    /// About the centre of mass in body axes, kg m^2, `[n_bodies, 6]`: xx yy zz xy xz yz.
    pub body_inertia: Vec<f64>,
    /// The states.
    pub cases: Vec<Case>,
}

/// One state and what two other programs make of it.
#[derive(Debug, Deserialize)]
pub struct Case {
    /// `[n_q]`
    pub q: Vec<f64>,
    /// `[n_v]`
    pub v: Vec<f64>,
    /// `[n_u]`
    pub ctrl: Vec<f64>,
    /// Origins of the body frames in the world, m, `[n_bodies, 3]`.
    pub body_position: Vec<f64>,
    /// Orientations of the body frames in the world, `[n_bodies, 4]`, w first.
    pub body_quaternion: Vec<f64>,
    /// Lower triangle of M, row after row, armature included, `[n_v (n_v + 1) / 2]`.
    pub mass_lower: Vec<f64>,
    /// RNEA with gravity, without passive forces, `[n_v]`.
    pub bias: Vec<f64>,
    /// Springs and dampers, `[n_v]`.
    pub passive_force: Vec<f64>,
    /// Actuators with their clamps, `[n_v]`.
    pub actuator_force: Vec<f64>,
    /// `M^-1 (actuator_force + passive_force - bias)`, `[n_v]`.
    pub acceleration: Vec<f64>,
}

/// Names of the golden records, sorted.
///
/// # Panics
/// When the folder cannot be read: the data is part of the repository.
#[must_use]
pub fn names() -> Vec<String> {
    let folder = crate::root().join("tests/golden/dynamics");
    let mut names: Vec<String> = std::fs::read_dir(&folder)
        .unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
        .filter_map(|entry| {
            let path = entry.expect("a directory entry").path();
            let is_json = path.extension().is_some_and(|e| e == "json");
            is_json.then(|| path.file_stem().expect("a file name").to_string_lossy().into_owned())
        })
        .collect();
    names.sort();
    names
}

/// The golden record of one name, and its model as imported.
///
/// # Panics
/// When either cannot be read.
#[must_use]
pub fn read(name: &str) -> (Golden, Loaded) {
    let path = crate::root().join(format!("tests/golden/dynamics/{name}.json"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let golden: Golden = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let loaded = load(crate::root().join(&golden.model), &ImportOptions::default())
        .unwrap_or_else(|e| panic!("{}: {e}", golden.model));
    (golden, loaded)
}
