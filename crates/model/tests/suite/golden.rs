//! MJCF files as MuJoCo itself compiles them (`tests/golden/make.py` wrote what it finds).

use std::path::PathBuf;

use manyworlds_model::{EqualityKind, ImportOptions, JointKind, Loaded, Model, Pose, Shape, Vec3, load};
use serde_json::Value;

/// MuJoCo stores meshes and heights in single precision.
const SINGLE: f64 = 2e-6;
/// Numbers that both compute in double precision, by different formulas.
const DOUBLE: f64 = 1e-9;

/// Largest difference between two lists, relative to the larger of 1 and their largest entry.
fn difference(ours: &[f64], theirs: &[f64]) -> f64 {
    if ours.len() != theirs.len() {
        return f64::INFINITY;
    }
    let scale = theirs.iter().fold(1.0_f64, |s, x| s.max(x.abs()));
    ours.iter()
        .zip(theirs)
        .fold(0.0, |d: f64, (a, b)| if (a - b).is_nan() { f64::NAN } else { d.max((a - b).abs() / scale) })
}

fn list(value: &Value) -> Vec<f64> {
    value.as_array().map(|list| list.iter().filter_map(Value::as_f64).collect()).unwrap_or_default()
}

#[track_caller]
fn same(what: &str, ours: &[f64], theirs: &[f64], tolerance: f64) {
    let d = difference(ours, theirs);
    assert!(d <= tolerance, "{what}: ours {ours:?}, MuJoCo's {theirs:?}");
}

#[track_caller]
fn same_pose(what: &str, ours: &Pose, theirs: &[f64]) {
    let r = &ours.rotation;
    let sign = (r.w * theirs[3] + r.i * theirs[4] + r.j * theirs[5] + r.k * theirs[6]).signum();
    let t = &ours.translation;
    same(what, &[t.x, t.y, t.z, sign * r.w, sign * r.i, sign * r.j, sign * r.k], theirs, DOUBLE);
}

fn range(value: Option<[f64; 2]>) -> Vec<f64> {
    value.map(Vec::from).unwrap_or_default()
}

fn check(name: &str) -> Model {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let Loaded { model, .. } = load(folder.join(format!("{name}.xml")), &ImportOptions::default()).unwrap();
    let text = std::fs::read_to_string(folder.join(format!("{name}.json"))).unwrap();
    let golden: Value = serde_json::from_str(&text).unwrap();
    same("timestep", &[model.options.timestep], &[golden["timestep"].as_f64().unwrap()], 0.0);
    same("gravity", model.options.gravity.as_slice(), &list(&golden["gravity"]), 0.0);
    same("initial q", &model.initial_q(), &list(&golden["initial_q"]), DOUBLE);
    assert_eq!(model.n_v as u64, golden["n_v"].as_u64().unwrap());
    bodies(&model, &golden);
    joints(&model, &golden);
    geoms(&model, &golden);
    actuators(&model, &golden);
    equalities(&model, &golden);
    for (pair, expected) in model.pairs.iter().zip(counted(&golden["pairs"], model.pairs.len())) {
        same(
            "pair",
            &[pair.friction, pair.margin],
            &[expected["friction"].as_f64().unwrap(), expected["margin"].as_f64().unwrap()],
            DOUBLE,
        );
        assert_eq!(pair.frictionless, expected["condim"] == 1);
    }
    for (key, expected) in model.keyframes.iter().zip(counted(&golden["keyframes"], model.keyframes.len())) {
        same("key q", &key.q, &list(&expected["q"]), DOUBLE);
        same("key v", &key.v, &list(&expected["v"]), DOUBLE);
        same("key ctrl", &key.ctrl, &list(&expected["ctrl"]), DOUBLE);
    }
    model
}

fn counted(value: &Value, count: usize) -> &Vec<Value> {
    let list = value.as_array().unwrap();
    assert_eq!(list.len(), count);
    list
}

fn bodies(model: &Model, golden: &Value) {
    for (body, expected) in model.bodies[1..].iter().zip(counted(&golden["bodies"], model.bodies.len() - 1)) {
        let name = &body.name;
        assert_eq!(name.as_str(), expected["name"].as_str().unwrap());
        assert_eq!(body.parent as u64, expected["parent"].as_u64().unwrap(), "{name}");
        same_pose(name, &body.pose, &list(&expected["pose"]));
        let mocap = model.mocaps.iter().position(|mocap| std::ptr::eq(&model.bodies[*mocap], body));
        assert_eq!(mocap.map_or(-1, |number| number as i64), expected["mocap"].as_i64().unwrap(), "{name}");
        let mass = expected["mass"].as_f64().unwrap();
        same(name, &[body.inertial.mass], &[mass], DOUBLE);
        same(name, body.inertial.com.as_slice(), &list(&expected["com"]), SINGLE);
        let inertia: Vec<f64> = list(&expected["inertia"]).iter().map(|x| x / mass).collect();
        same(name, (body.inertial.inertia / mass).as_slice(), &inertia, SINGLE);
    }
}

fn joints(model: &Model, golden: &Value) {
    for (joint, expected) in model.joints.iter().zip(counted(&golden["joints"], model.joints.len())) {
        let name = &joint.name;
        assert_eq!(name.as_str(), expected["name"].as_str().unwrap());
        assert_eq!(format!("{:?}", joint.kind), expected["kind"].as_str().unwrap());
        assert_eq!(joint.body as u64, expected["body"].as_u64().unwrap());
        same(name, joint.anchor.as_slice(), &list(&expected["anchor"]), DOUBLE);
        if matches!(joint.kind, JointKind::Hinge | JointKind::Slide) {
            same(name, joint.axis.as_slice(), &list(&expected["axis"]), DOUBLE);
        }
        same(name, &range(joint.range), &list(&expected["range"]), DOUBLE);
        for (key, value) in [
            ("stiffness", joint.stiffness),
            ("spring_reference", joint.spring_reference),
            ("damping", joint.damping),
            ("armature", joint.armature),
            ("dry_friction", joint.dry_friction),
        ] {
            same(&format!("{name} {key}"), &[value], &[expected[key].as_f64().unwrap()], SINGLE);
        }
    }
}

fn geoms(model: &Model, golden: &Value) {
    let directions: Vec<Vec3> =
        golden["directions"].as_array().unwrap().iter().map(|d| Vec3::from_column_slice(&list(d))).collect();
    for (geom, expected) in model.geoms.iter().zip(counted(&golden["geoms"], model.geoms.len())) {
        let name = &geom.name;
        assert_eq!(name.as_str(), expected["name"].as_str().unwrap());
        assert_eq!(geom.body as u64, expected["body"].as_u64().unwrap());
        let (shape, size) = match &geom.shape {
            Shape::Plane => ("plane", vec![]),
            Shape::Sphere { radius } => ("sphere", vec![*radius]),
            Shape::Capsule { radius, half_length } => ("capsule", vec![*radius, *half_length]),
            Shape::Cylinder { radius, half_length } => ("cylinder", vec![*radius, *half_length]),
            Shape::Box { half } => ("box", half.as_slice().to_vec()),
            Shape::Ellipsoid { radii } => ("ellipsoid", radii.as_slice().to_vec()),
            Shape::HeightField(field) => ("hfield", model.heightfields[*field].heights.clone()),
            Shape::Sdf(_) => panic!("{name}: the golden models have no distance functions"),
            Shape::Mesh(mesh) => {
                let vertices = model.meshes[*mesh].vertices.iter();
                let points: Vec<Vec3> =
                    vertices.map(|v| geom.pose * nalgebra::Point3::from(*v)).map(|p| p.coords).collect();
                let support = |d: &Vec3| points.iter().map(|p| p.dot(d)).fold(f64::NEG_INFINITY, f64::max);
                ("mesh", directions.iter().map(support).collect())
            }
        };
        assert_eq!(shape, expected["shape"].as_str().unwrap());
        same(name, &size, &list(&expected["size"]), SINGLE);
        if shape != "mesh" {
            same_pose(name, &geom.pose, &list(&expected["pose"]));
        }
        same(name, &[geom.contact.friction], &[expected["friction"].as_f64().unwrap()], DOUBLE);
        assert_eq!(i64::from(geom.contact.priority), expected["priority"].as_i64().unwrap());
    }
}

fn actuators(model: &Model, golden: &Value) {
    for (actuator, expected) in model.actuators.iter().zip(counted(&golden["actuators"], model.actuators.len())) {
        let name = &actuator.name;
        assert_eq!(name.as_str(), expected["name"].as_str().unwrap());
        assert_eq!(actuator.joint().map(|joint| joint as u64), expected["joint"].as_u64());
        same(name, &actuator.gear, &list(&expected["gear"]), DOUBLE);
        same(name, &actuator.gain[..1], &[expected["gain"].as_f64().unwrap()], DOUBLE);
        same(name, &actuator.bias, &list(&expected["bias"]), SINGLE);
        same(name, &range(actuator.ctrl_range), &list(&expected["ctrl_range"]), DOUBLE);
        same(name, &range(actuator.force_range), &list(&expected["force_range"]), DOUBLE);
    }
}

fn equalities(model: &Model, golden: &Value) {
    for (equality, expected) in model.equalities.iter().zip(counted(&golden["equalities"], model.equalities.len())) {
        let data = list(&expected["data"]);
        match &equality.kind {
            EqualityKind::Connect { anchors, .. } => {
                same("connect", &[anchors[0].as_slice(), anchors[1].as_slice()].concat(), &data[..6], DOUBLE);
            }
            EqualityKind::Weld { frames, .. } => {
                let anchor = frames[1].translation.vector;
                same("weld anchor", anchor.as_slice(), &data[..3], DOUBLE);
                same_pose("weld", &frames[0], &data[3..10]);
            }
            EqualityKind::Coupling { coefficients, .. } | EqualityKind::TendonCoupling { coefficients, .. } => {
                same("coupling", coefficients, &data[..5], DOUBLE)
            }
        }
    }
}

#[test]
fn what_mjcf_leaves_to_be_computed_comes_out_as_in_mujoco() {
    let model = check("semantics");
    assert!(model.pairs.len() == 2 && model.equalities.len() == 5 && model.excludes.len() == 1);
}

#[test]
fn meshes_and_masses_of_any_kind_come_out_as_in_mujoco() {
    let model = check("meshes");
    assert!(!model.options.filter_parents);
}

#[test]
fn the_comparison_sees_a_small_difference() {
    assert!(difference(&[1.0, 2.0], &[1.0, 2.0 + 1e-5]) > SINGLE);
    assert!(difference(&[1.0], &[1.0, 2.0]) > SINGLE);
    assert!(difference(&[f64::NAN], &[1.0]).is_nan());
}

/// As in MuJoCo, what attaches a model by no name of its own finds it by the name that its file gives.
#[test]
fn a_model_to_attach_is_called_as_its_file_says() {
    let part =
        "<mujoco model=\"Part\"><worldbody><body name=\"b\"><joint/><geom size=\"0.1\"/></body></worldbody></mujoco>";
    let whole = "<mujoco><asset><model file=\"other.xml\"/></asset><worldbody><attach model=\"Part\" body=\"b\" prefix=\"p-\"/>\
                 </worldbody></mujoco>";
    let files = |_: &std::path::Path| Ok(part.as_bytes().to_vec());
    let loaded = manyworlds_model::from_mjcf_str("whole.xml", whole, &files, &ImportOptions::default()).unwrap();
    assert_eq!(loaded.model.bodies[1].name, "p-b");
    assert!(loaded.ignored.iter().all(|ignored| !ignored.unsupported));
}
