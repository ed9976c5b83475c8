//! Running the binary.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// What a run of the program left.
pub(crate) struct Run {
    /// Exit code; `None` when a signal ended it.
    pub(crate) code: Option<i32>,
    /// Standard output.
    pub(crate) stdout: String,
    /// Standard error.
    pub(crate) stderr: String,
}

/// Runs the program.
pub(crate) fn run<S: AsRef<std::ffi::OsStr>>(args: impl IntoIterator<Item = S>) -> Run {
    let Output { status, stdout, stderr } =
        Command::new(env!("CARGO_BIN_EXE_manyworlds")).args(args).output().expect("the program starts");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    Run { code: status.code(), stdout: text(stdout), stderr: text(stderr) }
}

/// Runs the program with `--json`, and wants exit code 0, one JSON object with these keys, and silence elsewhere.
pub(crate) fn json(args: &[&str], keys: &[&str]) -> Value {
    let run = run(args.iter().chain(&["--json"]));
    assert_eq!(run.code, Some(0), "{args:?}: {}", run.stderr);
    assert_eq!(run.stderr, "", "{args:?}");
    let value: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{args:?}: {e}: {}", run.stdout));
    let object = value.as_object().expect("an object");
    for key in keys {
        assert!(object.contains_key(*key), "{args:?}: no key {key}: {:?}", object.keys());
    }
    value
}

/// Runs the program on bad input, and wants exit code 2, nothing on standard output, and one message with these words.
pub(crate) fn refused(args: &[&str], words: &[&str]) {
    let run = run(args);
    assert_eq!(run.code, Some(2), "{args:?}: {}{}", run.stdout, run.stderr);
    assert_eq!(run.stdout, "", "{args:?}");
    assert!(!run.stderr.contains("panicked"), "{args:?}: {}", run.stderr);
    for word in words {
        assert!(run.stderr.contains(word), "{args:?}: \"{word}\" is not in: {}", run.stderr);
    }
}

/// Numbers of a JSON list.
pub(crate) fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().expect("a list").iter().map(|x| x.as_f64().expect("a number")).collect()
}

/// A folder for the files of one test.
pub(crate) struct Files(tempfile::TempDir);

impl Files {
    /// An empty one.
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    /// The path of a file there.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file and gives its path.
    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        let path = self.path(name);
        std::fs::write(&path, text).expect("a file is written");
        show(&path)
    }
}

/// A path as an argument.
pub(crate) fn show(path: &Path) -> String {
    path.to_str().expect("UTF-8").to_owned()
}

/// A box of 1 kg above a plane.
pub(crate) const BOX: &str = r#"<mujoco model="one box">
  <option timestep="0.002"/>
  <worldbody>
    <geom type="plane" size="5 5 1"/>
    <body name="box" pos="0 0 1"><freejoint/><geom type="box" size="0.1 0.1 0.1" mass="1"/></body>
  </worldbody>
</mujoco>
"#;

/// A motor on a hinge, with a keyframe.
pub(crate) const PENDULUM: &str = r#"<mujoco model="pendulum">
  <worldbody>
    <body name="rod"><joint name="pivot" type="hinge" axis="0 1 0" range="-180 180"/>
      <geom type="capsule" fromto="0 0 0 0 0 -1" size="0.05" mass="1"/></body>
  </worldbody>
  <actuator><motor name="drive" joint="pivot"/></actuator>
  <keyframe><key name="up" qpos="3.1" qvel="0.5" ctrl="0"/></keyframe>
</mujoco>
"#;

/// A velocity drive that outweighs what it moves.
pub(crate) const SLIDER: &str = r#"<mujoco model="slider">
  <option timestep="0.001" gravity="0 0 0"/>
  <worldbody>
    <body name="cart"><joint name="rail" type="slide" axis="1 0 0"/><geom type="sphere" size="0.1" mass="1"/></body>
  </worldbody>
  <actuator><velocity name="drive" joint="rail" kv="1e9"/></actuator>
</mujoco>
"#;

/// A chain with a free, a ball, a slide and a hinge joint.
pub(crate) const MIXED: &str = r#"<mujoco model="mixed">
  <option gravity="0.3 0 -9.81"/>
  <worldbody>
    <body name="a" pos="0.1 0.2 1"><freejoint/><inertial pos="0.01 0.02 0.03" mass="2" fullinertia="0.04 0.05 0.06 0.001 0.002 0.003"/>
      <body name="b" pos="0.3 0 0" quat="0.9 0.1 0.2 0.3"><joint type="ball" pos="0.05 0 0"/><inertial pos="0 0 0.1" mass="1" diaginertia="0.01 0.02 0.03"/>
        <body name="c" pos="0 0.2 0.1"><joint type="slide" axis="1 1 0" ref="0.1" stiffness="20" springref="0.2"/>
          <joint type="hinge" axis="0 1 1" pos="0.1 0 0.1" armature="0.2" stiffness="3" springref="30"/><inertial pos="0.1 0 0" mass="0.5" diaginertia="0.01 0.01 0.01"/></body>
      </body>
    </body>
  </worldbody>
</mujoco>
"#;

/// A free box of 2 kg that one frictional contact at its centre stops: lambda_n = m g h and sticks.
pub(crate) const PROBLEM: &str = r#"{"A": [[2,0,0],[0,2,0],[0,0,2]], "b": [0.002, 0, -0.04], "subsystems": [[0, 3]],
  "contacts": [{"J": [[1,0,0],[0,1,0],[0,0,1]], "mu": 0.5, "e": [0,0,0]}],
  "rows": []}"#;

/// A soft cube far above the ground.
pub(crate) const SOFT: &str = r#"<mujoco model="soft"><worldbody>
<geom type="plane" size="1 1 1"/>
<flexcomp name="cube" dim="3" count="3 3 3" spacing="0.05 0.05 0.05" pos="0 0 1" mass="0.25">
<elasticity young="5e4" poisson="0.3" damping="0.01"/><contact selfcollide="none"/>
</flexcomp>
</worldbody></mujoco>"#;
