//! The built-in scenes: models and settings under `scenes/`, embedded as they are.

use std::io;
use std::path::Path;
use std::sync::LazyLock;

use serde::Deserialize;

/// A built-in model with the settings that suit it.
#[derive(Debug, Clone, Deserialize)]
pub struct Scene {
    /// Name on the command line.
    pub name: String,
    /// File under `scenes/`.
    pub file: String,
    /// What it is.
    pub description: String,
    /// What it is there to show.
    pub shows: String,
    /// Keyframe that it starts from; the model's own initial state when `None`.
    pub keyframe: Option<String>,
    /// File under `scenes/` with controls over time that the scene is driven by.
    #[serde(default)]
    pub controls: Option<String>,
    /// Contact solver and its budget.
    pub solver: SceneSolver,
    /// How it is benchmarked.
    pub bench: SceneBench,
    /// How its derivatives are compared with differences.
    #[serde(default)]
    pub gradcheck: SceneGradcheck,
}

/// The solver settings of a scene.
#[derive(Debug, Clone, Deserialize)]
pub struct SceneSolver {
    /// Name of the solver.
    pub name: String,
    /// Residual to reach.
    pub tolerance: f64,
    /// Iterations at most.
    pub iterations: u32,
}

/// The benchmark protocol of a scene.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct SceneBench {
    /// Steps until the contacts are steady.
    pub settle_steps: u32,
    /// Random controls span this part of their range.
    pub control_amplitude: f64,
}

/// What `gradcheck` takes of a scene where it is told nothing else; absent: as of other models.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SceneGradcheck {
    /// States compared.
    pub states: Option<u32>,
    /// Steps between them.
    pub every: Option<u32>,
    /// Inputs compared at a state.
    pub inputs: Option<usize>,
    /// Least distance to a switch of modes of a state that is judged, m/s.
    pub margin: Option<f64>,
    /// Residual that its steps can be solved to, N s.
    pub tolerance: Option<f64>,
    /// Difference either way, in the input's unit.
    pub step: Option<f64>,
}

#[derive(Deserialize)]
struct Index {
    default: String,
    scenes: Vec<Scene>,
}

macro_rules! files {
    ($($file:literal),* $(,)?) => {
        /// Text of a scene's file.
        fn text(file: &str) -> Option<&'static str> {
            match file {
                $($file => Some(include_str!(concat!("../../../scenes/", $file))),)*
                _ => None,
            }
        }
    };
}

files![
    "ant.xml",
    "arch.xml",
    "arm7.xml",
    "ball.msh",
    "bolt-nut.xml",
    "cartpole.xml",
    "clutter.xml",
    "dish-pile.xml",
    "dish-piling.csv",
    "dish-piling.xml",
    "fem-beam.xml",
    "flexible-beam.xml",
    "free-box.xml",
    "half-cheetah.xml",
    "heavy-stack.xml",
    "hopper.xml",
    "humanoid.xml",
    "jar.csv",
    "jar.xml",
    "nut-turning.csv",
    "nut-turning.xml",
    "pile.xml",
    "pneunet.csv",
    "pneunet.xml",
    "pouring.xml",
    "quadruped-drop-1000.xml",
    "quadruped-drop-27.xml",
    "quadruped-drop.xml",
    "quadruped.xml",
    "sliding-box.xml",
    "slip-control.csv",
    "slip-control.xml",
    "soft-ball-hand.csv",
    "soft-ball-hand.xml",
    "soft-crawler.csv",
    "soft-crawler.xml",
    "soft-gripper.csv",
    "soft-gripper.xml",
    "soft-pinch.xml",
    "soft-press.csv",
    "soft-press.xml",
    "spring-cylinder.xml",
    "stretch.csv",
    "stretch.xml",
    "table-pile.xml",
    "tomato.csv",
    "tomato.xml",
];

static INDEX: LazyLock<Index> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../../scenes/scenes.json")).expect("scenes.json is embedded and tested")
});

/// All built-in scenes.
#[must_use]
pub fn list() -> &'static [Scene] {
    &INDEX.scenes
}

/// The scene that `manyworlds` runs when it is given none.
#[must_use]
pub fn default() -> &'static str {
    &INDEX.default
}

/// A scene by its name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Scene> {
    list().iter().find(|scene| scene.name == name)
}

/// The bytes of a scene's file, for scenes that attach one another's models.
pub(crate) fn embedded(path: &Path) -> io::Result<Vec<u8>> {
    let found = path.to_str().and_then(text);
    let missing = || io::Error::new(io::ErrorKind::NotFound, format!("{} is no built-in scene's", path.display()));
    found.map(|text| text.as_bytes().to_vec()).ok_or_else(missing)
}

impl Scene {
    /// Its model as MJCF.
    #[must_use]
    pub fn mjcf(&self) -> &'static str {
        text(&self.file).unwrap_or_default()
    }

    /// The controls that drive it, as [`crate::ControlCurve::from_csv`] reads them.
    #[must_use]
    pub fn controls(&self) -> Option<&'static str> {
        text(self.controls.as_deref()?)
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_scene_has_its_file_and_every_file_its_scene() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenes");
        let mut files: Vec<_> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.ends_with(".xml") || name.ends_with(".csv"))
            .collect();
        files.sort();
        let all = super::list();
        let mut listed: Vec<_> = all.iter().flat_map(|scene| scene.controls.iter().chain([&scene.file])).collect();
        listed.sort();
        listed.dedup();
        assert_eq!(files.iter().collect::<Vec<_>>(), listed);
        assert!(all.iter().all(|scene| !scene.mjcf().is_empty()));
        for scene in all.iter().filter(|scene| scene.controls.is_some()) {
            let model = crate::load(&scene.name, &crate::ImportOptions::default()).unwrap().model;
            let rest = vec![0.0; model.actuators.len()];
            crate::ControlCurve::from_csv(scene.controls().unwrap(), &model, &rest).unwrap();
        }
        assert!(super::find(super::default()).is_some());
    }
}
