//! Wrong models are refused with an error that says where and what; nothing panics.

use std::io;
use std::path::Path;

use manyworlds_model::{
    Actuator, Contacting, Equality, EqualityKind, Geom, ImportOptions, Inertial, Joint, JointKind, Keyframe, Loaded,
    Mat3, ModelBuilder, ModelError, Pose, Shape, Transmission, Vec3, from_mjcf_str, from_urdf_str,
};

fn no_files(path: &Path) -> io::Result<Vec<u8>> {
    Err(io::Error::new(io::ErrorKind::NotFound, format!("no {}", path.display())))
}

fn mjcf(text: &str, options: &ImportOptions) -> Result<Loaded, ModelError> {
    from_mjcf_str("m.xml", text, &no_files, options)
}

fn urdf(text: &str, options: &ImportOptions) -> Result<Loaded, ModelError> {
    from_urdf_str("r.urdf", text, &no_files, options)
}

/// A moving body on line 3 of an MJCF file, with what is given inside, and what follows the world.
fn around(body: &str, rest: &str) -> String {
    format!(
        "<mujoco>\n<worldbody>\n<body name=\"b\">\n<geom size=\"1\"/>\n{body}\n</body>\n</worldbody>\n{rest}\n</mujoco>"
    )
}

#[track_caller]
fn refused(result: Result<Loaded, ModelError>, wanted: &[&str]) {
    let error = result.expect_err("must be refused").to_string();
    for word in wanted {
        assert!(error.contains(word), "`{word}` is missing from: {error}");
    }
}

#[test]
fn slides_may_follow_a_ball_joint() {
    let body = around("<joint type=\"ball\"/><joint type=\"slide\"/>", "");
    assert_eq!(mjcf(&body, &ImportOptions::default()).expect("a model").model.n_v, 4);
}

#[test]
fn mjcf_errors_name_file_line_and_element() {
    let plain = ImportOptions::default();
    let cases: &[(String, &[&str])] = &[
        ("<mujoco><worldbody>".into(), &["m.xml:1", "malformed XML"]),
        ("<robot/>".into(), &["m.xml:1", "expected <mujoco>"]),
        (around("<joint name=\"j\" range=\"30 -30\"/>", ""), &["m.xml:5", "<joint name=\"j\">", "reversed"]),
        (around("<joint axis=\"0 0 0\"/>", ""), &["m.xml:5", "zero length"]),
        (around("<joint armature=\"-1\"/>", ""), &["m.xml:5", "armature", "-1"]),
        (around("<joint armature=\"nan\"/>", ""), &["m.xml:5", "armature", "nan"]),
        (around("<joint dampin=\"1\"/>", ""), &["m.xml:5", "unknown attribute `dampin`"]),
        (around("<joint springyield=\"1\"/>", ""), &["m.xml:5", "springyield"]),
        (around("<freejoint/><freejoint/>", ""), &["m.xml:5", "only joint"]),
        (around("<joint type=\"ball\"/><joint/>", ""), &["m.xml:5", "last rotating joint"]),
        (
            "<mujoco><worldbody><body mocap=\"true\"><joint/><geom size=\"1\"/></body></worldbody></mujoco>".into(),
            &["m.xml:1", "mocap body must be fixed to the ground, without joints"],
        ),
        (around("<geom type=\"mesh\" mesh=\"none\"/>", ""), &["m.xml:5", "there is no `none`"]),
        (around("<geom type=\"capsule\" size=\"0.1\"/>", ""), &["m.xml:5", "half length must be positive"]),
        (around("<geom size=\"1\" mass=\"-2\"/>", ""), &["m.xml:5", "-2"]),
        (around("<geom class=\"none\"/>", ""), &["m.xml:5", "unknown default class `none`"]),
        (around("<joint/><inertial mass=\"nan\" diaginertia=\"1 1 1\"/>", ""), &["m.xml:5", "`mass`", "nan"]),
        (
            around("<joint/><inertial mass=\"1\" diaginertia=\"1 1 3\"/>", ""),
            &["m.xml:3", "<body name=\"b\">", "exceeds"],
        ),
        (
            around("<joint/><inertial mass=\"-1\" diaginertia=\"1 1 1\"/>", ""),
            &["m.xml:5", "mass must not be negative"],
        ),
        (around("<joint/><inertial mass=\"1\" diaginertia=\"1 1 -1\"/>", ""), &["m.xml:5", "positive definite"]),
        (around("<joint/><inertial mass=\"0\" diaginertia=\"0 0 0\"/>", ""), &["m.xml:3", "positive mass"]),
        (around("<joint/><geom type=\"plane\" size=\"1 1 1\"/>", ""), &["m.xml:5", "fixed to the ground"]),
        (around("<body gravcomp=\"nan\"/>", ""), &["m.xml:5", "gravcomp"]),
        (around("<geom size=\"1\" fluidshape=\"box\"/>", ""), &["m.xml:5", "fluidshape"]),
        (
            around("<body gravcomp=\"1\"><joint actuatorgravcomp=\"true\"/><geom size=\"1\"/></body>", ""),
            &["m.xml:5", "actuatorgravcomp", "without actuators"],
        ),
        (
            around("<joint actuatorgravcomp=\"true\" actuatorfrcrange=\"-1 1\"/>", ""),
            &["m.xml:5", "actuatorgravcomp", "actuatorfrcrange"],
        ),
        (around("<replicate count=\"2000000000\"><geom/></replicate>", ""), &["m.xml:5", "too large"]),
        (around("<composite/>", ""), &["m.xml:5", "composites"]),
        (around("", "<asset><mesh name=\"m\" file=\"m.stl\"/></asset>"), &["m.xml:8", "<mesh name=\"m\">", "m.stl"]),
        (around("", "<include file=\"other.xml\"/>"), &["m.xml:8", "other.xml"]),
        (around("<joint/>", "<actuator><adhesion body=\"b\"/></actuator>"), &["m.xml:8", "<adhesion", "ctrlrange"]),
        (
            around("<joint/>", "<actuator><adhesion body=\"b\" ctrlrange=\"0 1\" gain=\"-1\"/></actuator>"),
            &["m.xml:8", "<adhesion", "gain"],
        ),
        (
            around("<joint/>", "<actuator><general body=\"b\" dyntype=\"filter\"/></actuator>"),
            &["m.xml:8", "<general", "no dynamics"],
        ),
        (
            around("<joint name=\"j\"/>", "<actuator><muscle joint=\"j\"/></actuator>"),
            &["m.xml:8", "without a lengthrange"],
        ),
        (
            around("<joint name=\"j\"/>", "<actuator><general joint=\"j\" dyntype=\"user\"/></actuator>"),
            &["m.xml:8", "dyntype=\"user\""],
        ),
        (
            around("<joint name=\"j\"/>", "<actuator><damper joint=\"j\" kv=\"1\"/></actuator>"),
            &["m.xml:8", "needs a `ctrlrange`"],
        ),
        (around("", "<actuator><motor joint=\"j\"/></actuator>"), &["m.xml:8", "there is no `j`"]),
        (
            around("<freejoint name=\"j\"/>", "<actuator><position joint=\"j\"/></actuator>"),
            &["m.xml:8", "position term"],
        ),
        (
            around(
                "<joint name=\"j\"/>",
                "<tendon><fixed armature=\"1\"><joint joint=\"j\" coef=\"1\"/></fixed></tendon>",
            ),
            &["m.xml:8", "armature"],
        ),
        (
            around(
                "<site name=\"s\"/>",
                "<tendon><spatial><site site=\"s\"/><pulley divisor=\"2\"/></spatial></tendon>",
            ),
            &["m.xml:8", "<spatial", "neighbour"],
        ),
        (around("<joint/>", "<keyframe><key qpos=\"1 2\"/></keyframe>"), &["m.xml:8", "needs 1 numbers, found 2"]),
        (around("<joint/>", "<option density=\"-1\"/>"), &["density", "-1"]),
        (around("<joint/>", "<option timestep=\"0\"/>"), &["m.xml:8", "timestep"]),
        (around("<joint/>", "<contact><exclude body1=\"b\" body2=\"c\"/></contact>"), &["m.xml:8", "there is no `c`"]),
        ("<mujoco><worldbody><joint/></worldbody></mujoco>".into(), &["world cannot have a joint"]),
    ];
    for (text, wanted) in cases {
        refused(mjcf(text, &plain), wanted);
    }
}

#[test]
fn unsupported_elements_may_be_ignored_and_are_then_listed() {
    let text = around("<joint name=\"j\" springyield=\"1\"/>", "<actuator><dcmotor joint=\"j\"/></actuator>");
    let loaded = mjcf(&text, &ImportOptions { ignore_unsupported: true, ..Default::default() }).unwrap();
    assert_eq!(loaded.model.actuators.len(), 0);
    assert_eq!(loaded.ignored.iter().map(|i| i.line).collect::<Vec<_>>(), [5, 8]);
}

#[test]
fn meaningless_attributes_are_listed_and_not_refused() {
    let text =
        around("<joint solreflimit=\"1 1\"/><geom size=\"1\" condim=\"6\" solref=\"1 1\"/>", "<option solver=\"CG\"/>");
    let loaded = mjcf(&text, &ImportOptions::default()).unwrap();
    let why: Vec<&str> = loaded.ignored.iter().map(|i| i.why.as_str()).collect();
    assert!(why.iter().any(|w| w.contains("solreflimit")) && why.iter().any(|w| w.contains("condim 6")), "{why:?}");
    assert!(why.iter().any(|w| w.contains("solver")), "{why:?}");
}

/// A clamp on the sum of a tendon's actuators is a clamp on its only one; MuJoCo takes negative damping, and cameras that look at
/// nothing.
#[test]
fn what_is_unusual_and_has_a_meaning_is_read() {
    let range = |text: &str| {
        let joint = format!("<joint type=\"slide\" range=\"{text}\"/>");
        mjcf(&around(&joint, ""), &ImportOptions::default()).unwrap().model.joints[0].range
    };
    assert_eq!(range("-inf inf"), None);
    assert_eq!(range("-inf 2"), Some([-1e10, 2.0]));
    let text = |motors: usize| {
        let motors = "<motor tendon=\"t\" gear=\"3\" forcerange=\"-2 1\"/>".repeat(motors);
        around(
            "<joint name=\"j\" damping=\"-0.01\"/><geom size=\"1\"/><camera mode=\"targetbody\"/>",
            &format!(
                "<tendon><fixed name=\"t\" actuatorfrcrange=\"-1 3\"><joint joint=\"j\" coef=\"1\"/></fixed></tendon>
                 <actuator>{motors}</actuator>"
            ),
        )
    };
    let loaded = mjcf(&text(1), &ImportOptions::default()).unwrap();
    assert_eq!(loaded.model.actuators[0].force_range, Some([-1.0, 1.0]));
    assert_eq!(loaded.model.joints[0].damping, -0.01);
    assert!(
        loaded.assumptions.iter().any(|what| what.contains("`j` has a negative damping")),
        "{:?}",
        loaded.assumptions
    );
    assert!(loaded.ignored.iter().any(|i| i.why.contains("points at no body")), "{:?}", loaded.ignored);
    refused(
        mjcf(&text(2), &ImportOptions::default()),
        &["m.xml:", "fixed name=\"t\"", "several actuators of one tendon"],
    );
}

#[test]
fn deep_nesting_is_an_error_and_not_an_overflow() {
    let text = format!("<mujoco><worldbody>{}{}</worldbody></mujoco>", "<body>".repeat(5000), "</body>".repeat(5000));
    assert!(mjcf(&text, &ImportOptions::default()).is_err());
}

const LINK: &str = "<inertial><mass value=\"1\"/><inertia ixx=\"1\" iyy=\"1\" izz=\"1\"/></inertial>";

fn robot(joint: &str) -> String {
    format!("<robot name=\"r\">\n<link name=\"a\"/>\n<link name=\"b\">{LINK}</link>\n{joint}\n</robot>")
}

#[test]
fn urdf_errors_name_file_line_and_element() {
    let plain = ImportOptions::default();
    let joint = |kind: &str, inside: &str| {
        robot(&format!("<joint name=\"j\" type=\"{kind}\"><parent link=\"a\"/><child link=\"b\"/>{inside}</joint>"))
    };
    let cases: &[(String, &[&str])] = &[
        ("<robot>".into(), &["r.urdf:1", "malformed XML"]),
        (joint("screw", ""), &["r.urdf:4", "<joint name=\"j\">", "screw"]),
        (joint("revolute", "<axis xyz=\"0 0 0\"/>"), &["r.urdf:4", "zero length"]),
        (joint("revolute", "<axis xyz=\"0 0\"/>"), &["r.urdf:4", "needs 3 numbers, found 2"]),
        (joint("revolute", "<limit lower=\"1\" upper=\"-1\"/>"), &["r.urdf:4", "reversed"]),
        (robot(""), &["r.urdf:3", "second root"]),
        (robot("<joint name=\"j\" type=\"fixed\"><parent link=\"a\"/><child link=\"c\"/></joint>"), &["r.urdf:4", "no link `c`"]),
        (
            robot("<joint name=\"j\" type=\"fixed\"><parent link=\"a\"/><child link=\"b\"/></joint>\n<joint name=\"k\" type=\"fixed\"><parent link=\"b\"/><child link=\"a\"/></joint>"),
            &["r.urdf", "loop"],
        ),
        (joint("revolute", "").replace("value=\"1\"", "value=\"0\""), &["r.urdf:3", "positive mass"]),
        (joint("revolute", "").replace("izz=\"1\"", "izz=\"5\""), &["r.urdf:3", "exceeds"]),
        (joint("fixed", "").replace("<link name=\"a\"/>", "<link name=\"a\"><collision><geometry><mesh filename=\"package://p/m.stl\"/></geometry></collision></link>"), &["r.urdf:2", "package://p/m.stl"]),
    ];
    for (text, wanted) in cases {
        refused(urdf(text, &plain), wanted);
    }
    refused(urdf(&robot("").replace("\"a\"", "\"world\""), &plain), &["second root"]);
}

#[test]
fn urdf_joints_transmissions_and_assumptions() {
    let text = "<robot name=\"r\"><link name=\"base\">L</link><link name=\"p\">L</link><link name=\"q\">L</link><link name=\"s\">L</link>
        <joint name=\"plane\" type=\"planar\"><parent link=\"base\"/><child link=\"p\"/><axis xyz=\"0 0 1\"/></joint>
        <joint name=\"turn\" type=\"revolute\"><parent link=\"p\"/><child link=\"q\"/><limit lower=\"-1\" upper=\"2\" effort=\"5\" velocity=\"1\"/><dynamics damping=\"0.5\" friction=\"0.25\"/></joint>
        <joint name=\"copy\" type=\"prismatic\"><parent link=\"q\"/><child link=\"s\"/><mimic joint=\"turn\" multiplier=\"3\" offset=\"0.5\"/></joint>
        <transmission name=\"t\"><joint name=\"turn\"/><actuator name=\"m\"/></transmission></robot>"
        .replace('L', LINK);
    let options = ImportOptions { free_root: true, ground: true, ..Default::default() };
    let Loaded { model, assumptions, ignored } = urdf(&text, &options).unwrap();
    let names: Vec<&str> = model.joints.iter().map(|j| j.name.as_str()).collect();
    assert_eq!(names, ["base", "plane.x", "plane.y", "plane.angle", "turn", "copy"]);
    assert_eq!((model.n_q, model.n_v), (12, 11));
    let turn = &model.joints[4];
    assert_eq!((turn.range, turn.damping, turn.dry_friction), (Some([-1.0, 2.0]), 0.5, 0.25));
    assert_eq!(model.actuators[0].force_range, Some([-5.0, 5.0]));
    let EqualityKind::Coupling { joint, driver, coefficients } = model.equalities[0].kind else { panic!("a coupling") };
    assert_eq!((joint, driver, coefficients), (5, Some(4), [0.5, 3.0, 0.0, 0.0, 0.0]));
    assert!(
        assumptions.iter().any(|a| a.contains("--free-root")) && assumptions.iter().any(|a| a.contains("--ground"))
    );
    assert!(ignored.iter().any(|i| i.why.contains("velocity")));
    assert_eq!(model.geoms[0].shape, Shape::Plane);
}

#[test]
fn urdf_links_on_fixed_joints_merge_into_their_parents() {
    let text = "<robot name=\"r\"><link name=\"base\">L</link><link name=\"tip\">L</link>
        <joint name=\"j\" type=\"fixed\"><origin xyz=\"2 0 0\" rpy=\"0 0 1\"/><parent link=\"base\"/><child link=\"tip\"/></joint></robot>"
        .replace('L', LINK);
    let separate = urdf(&text, &ImportOptions { free_root: true, ..Default::default() }).unwrap().model;
    let merged =
        urdf(&text, &ImportOptions { free_root: true, merge_fixed: true, ..Default::default() }).unwrap().model;
    assert_eq!((separate.bodies.len(), merged.bodies.len()), (3, 2));
    let inertial = merged.bodies[1].inertial;
    assert_eq!((inertial.mass, inertial.com), (2.0, Vec3::new(1.0, 0.0, 0.0)));
    // Two unit inertias, each a metre from the common centre.
    let expected = Mat3::from_diagonal(&Vec3::new(2.0, 4.0, 4.0));
    assert!((inertial.inertia - expected).amax() < 1e-12);
}

fn ball() -> Inertial {
    Inertial { mass: 1.0, com: Vec3::zeros(), inertia: Mat3::identity() }
}

fn hinge(body: usize) -> Joint {
    Joint::new("j", body, JointKind::Hinge)
}

fn pendulum() -> ModelBuilder {
    let mut builder = ModelBuilder::new("pendulum");
    let body = builder.body("rod", 0, Pose::identity(), ball());
    builder.joint(hinge(body));
    builder
}

#[test]
fn the_builder_names_kind_index_and_name() {
    type Spoil = fn(&mut ModelBuilder);
    let cases: &[(Spoil, &[&str])] = &[
        (|b| b.options.timestep = 0.0, &["options", "time step"]),
        (
            |b| {
                b.body("late", 7, Pose::identity(), ball());
            },
            &["body 2 \"late\"", "parent 7", "3 bodies"],
        ),
        (
            |b| {
                b.body("self", 2, Pose::identity(), ball());
            },
            &["body 2 \"self\"", "loop"],
        ),
        (
            |b| {
                b.body("heavy", 1, Pose::identity(), Inertial { mass: f64::NAN, ..ball() });
            },
            &["body 2 \"heavy\"", "mass", "NaN"],
        ),
        (
            |b| {
                b.joint(hinge(0));
            },
            &["joint 1 \"j\"", "ground"],
        ),
        (
            |b| {
                b.joint(hinge(9));
            },
            &["joint 1 \"j\"", "body 9"],
        ),
        (
            |b| {
                b.joint(Joint { axis: Vec3::zeros(), ..hinge(1) });
            },
            &["joint 1", "axis"],
        ),
        (
            |b| {
                b.joint(Joint { range: Some([1.0, -1.0]), ..hinge(1) });
            },
            &["joint 1", "range", "reversed"],
        ),
        (
            |b| {
                b.joint(Joint { armature: f64::INFINITY, ..hinge(1) });
            },
            &["joint 1", "armature"],
        ),
        (
            |b| {
                b.geom(Geom {
                    name: "g".into(),
                    body: 1,
                    pose: Pose::identity(),
                    shape: Shape::Mesh(3),
                    contact: Contacting::default(),
                });
            },
            &["geom 0 \"g\"", "mesh 3"],
        ),
        (
            |b| {
                b.geom(Geom {
                    name: "g".into(),
                    body: 1,
                    pose: Pose::identity(),
                    shape: Shape::Sphere { radius: 0.0 },
                    contact: Contacting::default(),
                });
            },
            &["geom 0 \"g\"", "radius"],
        ),
        (
            |b| {
                b.actuator(Actuator::new("a", Transmission::Joint(5)));
            },
            &["actuator 0 \"a\"", "joint 5"],
        ),
        (
            |b| {
                b.equality(Equality {
                    name: "e".into(),
                    kind: EqualityKind::Connect { bodies: [1, 1], anchors: [Vec3::zeros(); 2] },
                    active: true,
                })
            },
            &["equality 0 \"e\"", "twice"],
        ),
        (|b| b.exclude(0, 8), &["exclude 0", "body 8"]),
        (
            |b| {
                let (q, v) = (vec![], vec![0.0]);
                b.keyframe(Keyframe { name: "k".into(), q, v, ctrl: vec![], act: vec![], mocap: vec![] })
            },
            &["keyframe 0 \"k\"", "`q` needs 1 numbers, found 0"],
        ),
    ];
    assert!(pendulum().build().is_ok());
    for (spoil, wanted) in cases {
        let mut builder = pendulum();
        spoil(&mut builder);
        let error = builder.build().expect_err("must be refused").to_string();
        for word in *wanted {
            assert!(error.contains(word), "`{word}` is missing from: {error}");
        }
    }
}

/// Wherever sections stand in the file; what acts on what stays behind does so, too.
#[test]
fn attached_models_bring_their_tendons() {
    let other = "<mujoco><actuator><motor name=\"m\" tendon=\"t\"/><motor tendon=\"gone\"/></actuator>
        <equality><tendon tendon1=\"t\"/></equality>
        <tendon><fixed name=\"t\" range=\"-1 1\"><joint joint=\"j\" coef=\"2\"/></fixed>
          <fixed name=\"gone\"><joint joint=\"k\" coef=\"1\"/></fixed></tendon>
        <worldbody><body name=\"b\"><joint name=\"j\"/><geom size=\"1\"/></body>
          <body name=\"c\"><joint name=\"k\"/><geom size=\"1\"/></body></worldbody></mujoco>";
    let text = "<mujoco><asset><model name=\"o\" file=\"o.xml\"/></asset><worldbody>
        <attach model=\"o\" body=\"b\" prefix=\"p_\"/></worldbody></mujoco>";
    let files = |path: &Path| if path == Path::new("o.xml") { Ok(other.into()) } else { no_files(path) };
    let loaded = from_mjcf_str("m.xml", text, &files, &ImportOptions::default()).unwrap();
    let model = loaded.model;
    let tendons: Vec<_> = model.tendons.iter().map(|t| (t.name.as_str(), t.range)).collect();
    assert_eq!(tendons, [("p_t", Some([-1.0, 1.0]))]);
    let pulls: Vec<_> = model.actuators.iter().map(|a| (a.name.as_str(), a.transmission)).collect();
    assert_eq!(pulls, [("p_m", manyworlds_model::Transmission::Tendon(0))]);
    assert_eq!(model.equalities.len(), 1);
    assert_eq!(loaded.ignored.iter().filter(|i| i.why.contains("not attached")).count(), 2);
}

#[test]
fn attached_models_bring_prefixed_parts_and_loops_are_refused() {
    let other = "<mujoco><worldbody><body name=\"b\"><joint name=\"j\"/><geom size=\"1\"/></body><geom name=\"floor\" size=\"1\"/></worldbody>
        <actuator><motor name=\"m\" joint=\"j\"/></actuator></mujoco>";
    let text = "<mujoco><asset><model name=\"o\" file=\"o.xml\"/></asset><worldbody><replicate count=\"2\" offset=\"1 0 0\" sep=\"-\">
        <attach model=\"o\" body=\"b\" prefix=\"p_\"/></replicate></worldbody></mujoco>";
    let files = |path: &Path| if path == Path::new("o.xml") { Ok(other.into()) } else { no_files(path) };
    let model = from_mjcf_str("m.xml", text, &files, &ImportOptions::default()).unwrap().model;
    let names: Vec<&str> = model.joints.iter().map(|j| j.name.as_str()).collect();
    assert_eq!(names, ["p_j-0", "p_j-1"]);
    assert_eq!(
        (model.actuators[1].joint(), model.actuators[1].name.as_str(), model.geoms.len()),
        (Some(1), "p_m-1", 2)
    );
    let itself = "<mujoco><asset><model name=\"o\" file=\"o.xml\"/></asset><worldbody><attach model=\"o\" prefix=\"x\"/></worldbody></mujoco>";
    let files = |_: &Path| Ok(itself.into());
    refused(from_mjcf_str("m.xml", itself, &files, &ImportOptions::default()), &["<attach", "deeper"]);
}
