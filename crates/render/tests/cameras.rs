//! Cameras of a file against MuJoCo 4.0.0 (`cam_xpos`, `cam_xmat`).

use std::path::Path;

use manyworlds::kinematics::motions;
use manyworlds_model::{ImportOptions, Model, from_mjcf_str};
use manyworlds_render::{Placed, Viewpoint};
use nalgebra::{Matrix3, Vector3};

const SCENE: &str = r#"<mujoco model="cams">
  <worldbody>
    <camera name="still" pos="0 -3 1" xyaxes="1 0 0 0 .3 1"/>
    <body name="a" pos="0.2 0 1" euler="0 0 20">
      <freejoint/>
      <geom type="box" size=".2 .1 .1" mass="2"/>
      <camera name="riding" pos=".3 0 .2" xyaxes="0 -1 0 .3 0 1" fovy="60"/>
      <camera name="track" mode="track" pos="0 -2 .5" xyaxes="1 0 0 0 .2 1"/>
      <camera name="trackcom" mode="trackcom" pos="1 -2 .5" xyaxes="1 .5 0 0 .2 1"/>
      <camera name="target" mode="targetbody" target="b" pos="0 -1 1"/>
      <camera name="targetcom" mode="targetbodycom" target="a" pos="0 -1 1"/>
      <body name="b" pos=".5 0 0">
        <joint type="hinge" axis="0 1 0"/><geom type="sphere" size=".1" pos=".3 0 0" mass="1"/>
      </body>
    </body>
  </worldbody>
</mujoco>"#;

/// A free body's position and quaternion, and the angle of its arm.
const Q: [f64; 8] = [0.4, -0.3, 1.5, 0.80403025220737, 0.100503781525921, -0.502518907629606, 0.301511344577764, 0.7];

/// Name, position, rotation by rows.
const MUJOCO: [(&str, [f64; 3], [f64; 9]); 6] = [
    ("still", [0.0, -3.0, 1.0], [1.0, 0.0, 0.0, 0.0, 0.287347886, -0.957826285, 0.0, 0.957826285, 0.287347886]),
    (
        "riding",
        [0.344444444, -0.277777778, 1.855555556],
        [
            0.585858586,
            -0.62597334,
            -0.514710691,
            -0.797979798,
            -0.334755449,
            -0.501165672,
            0.141414141,
            0.704340945,
            -0.695633433,
        ],
    ),
    (
        "track",
        [1.084040287, -2.179385242, 2.0],
        [0.939692621, -0.067075669, 0.335378343, 0.342020143, 0.184288885, -0.921444425, 0.0, 0.980580676, 0.196116135],
    ),
    (
        "trackcom",
        [1.89744001, -1.80530648, 2.180637909],
        [0.687530573, -0.127868842, 0.714808555, 0.726155432, 0.121067383, -0.676787247, 0.0, 0.984374039, 0.176090181],
    ),
    (
        "target",
        [0.238383838, -1.562626263, 2.116161616],
        [0.976900017, 0.025902652, -0.212121212, -0.213696879, 0.118412123, -0.96969697, 0.0, 0.992626628, 0.121212121],
    ),
    (
        "targetcom",
        [0.238383838, -1.562626263, 2.116161616],
        [0.979376344, 0.059432917, -0.193105427, -0.202044494, 0.288090965, -0.936045735, 0.0, 0.955756938, 0.29415757],
    ),
];

fn model() -> Model {
    let nothing = |path: &Path| Err(std::io::Error::other(format!("{}", path.display())));
    from_mjcf_str("cams.xml", SCENE, &nothing, &ImportOptions::default()).expect("the model loads").model
}

fn placed(model: &Model, q: &[f64]) -> Placed {
    let mut bodies = Vec::new();
    motions(model, q, &vec![0.0; model.n_v], &mut bodies);
    Placed { poses: bodies.iter().map(|body| body.pose).collect(), q: q.to_vec() }
}

#[test]
fn cameras_of_every_mode_are_where_mujoco_has_them() {
    let model = model();
    let (initial, now) = (placed(&model, &model.initial_q()), placed(&model, &Q));
    for (name, position, rotation) in MUJOCO {
        let pose = Viewpoint::find(&model, name, &initial).expect(name).pose(&now);
        assert!((pose.translation.vector - Vector3::from(position)).amax() < 1e-8, "{name}: {pose}");
        let found = pose.rotation.to_rotation_matrix().into_inner();
        assert!((found - Matrix3::from_row_slice(&rotation)).amax() < 1e-8, "{name}: {found}");
    }
}

#[test]
fn an_unknown_camera_is_answered_by_those_there_are() {
    let model = model();
    let error = Viewpoint::find(&model, "front", &placed(&model, &Q)).unwrap_err().to_string();
    assert!(
        error.contains("\"front\"") && error.contains("\"cams\"") && error.contains("\"still\", \"riding\""),
        "{error}"
    );
}
