//! Bad usage and bad input: exit code 2 and one clear message, never a panic.

use crate::support::{BOX, Files, PENDULUM, PROBLEM, refused};

#[test]
fn usage() {
    refused(&["fly"], &["fly"]);
    refused(&["bench", "--worlds", "many"], &["--worlds", "many"]);
    refused(&["bench", "--executor", "abacus"], &["abacus", "cpu"]);
    refused(&["sim"], &["MODEL"]);
    refused(&["bench", "free-box", "--worlds", "0"], &["world"]);
    refused(&["bench", "free-box", "--steps", "0"], &["--steps"]);
    refused(&["bench", "free-box", "--threads", "0"], &["--threads"]);
    refused(&["bench", "free-box", "--dt", "0"], &["dt", "positive"]);
    refused(&["bench", "free-box", "--dt", "nan"], &["dt"]);
    refused(&["bench", "free-box", "--tolerance", "inf"], &["tolerance"]);
    refused(&["bench", "free-box", "--solver", "magic"], &["magic", "pgs"]);
    refused(&["bench", "free-box", "--controls", "-1"], &["--controls"]);
    refused(&["bench", "free-box", "--integrator", "leapfrog"], &["leapfrog", "midpoint"]);
    refused(&["jacobian", "free-box", "--integrator", "midpoint"], &["integrator", "linearly-implicit"]);
    refused(&["sim", "free-box", "--steps", "1", "--momentum-error"], &["--momentum-error", "sap"]);
    refused(&["sim", "free-box", "--steps", "1", "--plot", "x.svg", "--draw", "7"], &["--draw 7", "7 entries"]);
    refused(&["integrators", "free-box", "--entry", "9"], &["--entry 9"]);
    refused(&["integrators", "free-box", "--halvings", "40"], &["--halvings", "40"]);
    refused(&["integrators", "free-box", "--seconds", "-1"], &["--seconds"]);
    refused(&["integrators", "free-box", "--integrator", "midpoint"], &["--integrator"]);
}

#[test]
fn more_worlds_than_memory() {
    refused(&["bench", "humanoid", "--worlds", "1000000000000", "--executor", "cpu"], &["1000000000000", "MB"]);
}

#[test]
fn models() {
    let files = Files::new();
    refused(&["check", "no-such-scene"], &["no-such-scene", "humanoid"]);
    refused(&["check", "nowhere/robot.xml"], &["nowhere/robot.xml"]);
    let file = |name: &str, text: &str| files.write(name, text);
    refused(&["check", &file("model.txt", "hello")], &["model.txt"]);
    refused(&["check", &file("cut.xml", &BOX[..120])], &["cut.xml"]);
    refused(&["check", &file("cut.urdf", "<robot name=\"r\"><link")], &["cut.urdf"]);

    let edited = |name: &str, from: &str, to: &str| {
        assert!(BOX.contains(from));
        file(name, &BOX.replace(from, to))
    };
    refused(&["check", &edited("nan.xml", "mass=\"1\"", "mass=\"nan\"")], &["nan.xml:5", "<geom>", "mass"]);
    refused(&["check", &edited("negative.xml", "mass=\"1\"", "mass=\"-1\"")], &["mass"]);
    let inertia = "<inertial pos=\"0 0 0\" mass=\"1\" diaginertia=\"1 1 -1\"/><freejoint/>";
    refused(
        &["check", &edited("inertia.xml", "<freejoint/>", inertia)],
        &["inertia.xml:5", "inertia", "positive definite"],
    );
    let range = "<joint name=\"bent\" type=\"hinge\" range=\"10 -10\" limited=\"true\"/>";
    refused(&["check", &edited("range.xml", "<freejoint/>", range)], &["bent", "range"]);
    let tendon = "<tendon><spatial name=\"string\" stiffness=\"10\"/></tendon></mujoco>";
    let tendon = edited("tendon.xml", "</mujoco>", tendon);
    refused(&["check", &tendon], &["tendon.xml:7", "string", "two sites"]);
    let pad = "<actuator><dcmotor name=\"pad\" body=\"box\"/></actuator></mujoco>";
    let pad = edited("pad.xml", "</mujoco>", pad);
    refused(&["check", &pad], &["pad.xml:7", "pad", "dcmotor"]);
    let run = crate::support::json(&["check", &pad, "--ignore-unsupported"], &["ignored"]);
    assert!(run["ignored"].as_array().unwrap().iter().any(|i| i["line"] == 7), "{run}");

    let mesh = "<asset><mesh name=\"m\" file=\"gone.stl\"/></asset><worldbody>";
    let mesh = edited("mesh.xml", "<worldbody>", mesh);
    let mesh_used = std::fs::read_to_string(&mesh)
        .unwrap()
        .replace("type=\"box\" size=\"0.1 0.1 0.1\"", "type=\"mesh\" mesh=\"m\"");
    refused(&["check", &file("mesh.xml", &mesh_used)], &["gone.stl"]);

    let link = |name: &str| {
        format!(
            "<link name=\"{name}\"><inertial><mass value=\"1\"/><inertia ixx=\"1\" iyy=\"1\" izz=\"1\" ixy=\"0\" ixz=\"0\" iyz=\"0\"/></inertial></link>"
        )
    };
    let joint = |name: &str, parent: &str, child: &str| {
        format!("<joint name=\"{name}\" type=\"fixed\"><parent link=\"{parent}\"/><child link=\"{child}\"/></joint>")
    };
    let ring = format!(
        "<robot name=\"r\">{}{}{}{}</robot>",
        link("a"),
        link("b"),
        joint("ab", "a", "b"),
        joint("ba", "b", "a")
    );
    refused(&["check", &file("ring.urdf", &ring)], &["ring.urdf"]);
}

#[test]
fn states() {
    let files = Files::new();
    let model = files.write("box.xml", BOX);
    for (state, words) in [
        (r#"{"q": [0, 0, 1]}"#, ["\"q\"", "expected 7", "found 3"]),
        (r#"{"v": [0]}"#, ["\"v\"", "expected 6", "found 1"]),
        (r#"{"ctrl": [1]}"#, ["\"ctrl\"", "expected 0", "found 1"]),
        (r#"{"tau": []}"#, ["\"tau\"", "expected 6", "found 0"]),
        (r#"{"q": [0, 0, 1, 0, 0, 0, 0]}"#, ["quaternion", "norm 0", "\"q\"[3..7]"]),
        (r#"{"q": [0, 0, 1e999, 1, 0, 0, 0]}"#, ["state.json", "line 1", "column"]),
        (r#"{"q": [0, 0, NaN, 1, 0, 0, 0]}"#, ["state.json", "line 1", "column"]),
        (r#"{"q": [0, 0, null, 1, 0, 0, 0]}"#, ["state.json", "null", ""]),
        (r#"{"q": "high"}"#, ["state.json", "high", ""]),
        ("[]", ["state.json", "", ""]),
        ("{", ["state.json", "line 1", ""]),
    ] {
        let state = files.write("state.json", state);
        refused(&["step", &model, "--state", &state], &words);
        refused(&["sim", &model, "--steps", "1", "--state", &state], &words);
    }
    refused(&["step", &model, "--state", "nowhere.json"], &["nowhere.json"]);
    let pendulum = files.write("pendulum.xml", PENDULUM);
    refused(&["step", &pendulum, "--keyframe", "down"], &["down", "up"]);
    refused(&["step", &pendulum, "--keyframe", "1"], &["\"1\"", "up"]);
    refused(&["step", &model, "--keyframe", "0"], &["it has none"]);
}

#[test]
fn outputs_that_cannot_be_written() {
    refused(&["sim", "free-box", "--steps", "1", "--out", "no/such/folder/out.csv"], &["no/such/folder/out.csv"]);
    refused(&["sim", "free-box", "--steps", "1", "--plot", "run.gif"], &["run.gif", ".svg"]);
}

#[test]
fn problems() {
    let files = Files::new();
    let edited = |from: &str, to: &str| {
        assert!(PROBLEM.contains(from), "{from}");
        files.write("problem.json", &PROBLEM.replace(from, to))
    };
    for (from, to, words) in [
        ("\"b\": [0.002, 0, -0.04]", "\"b\": [0.002, 0]", ["problem.json", "subsystems"]),
        ("[0,2,0]", "[0,2]", ["problem.json", "A"]),
        ("[0,0,2]]", "[0,0,-2]]", ["problem.json", "positive"]),
        ("\"mu\": 0.5", "\"mu\": -0.5", ["contacts[0]", "mu"]),
        ("[0,0,1]]", "[0,0]]", ["contacts[0]", "J"]),
        ("\"rows\": []", "\"rows\": [{\"J\": [1,0,0], \"kind\": \"springy\"}]", ["rows[0]", "springy"]),
        ("[[0, 3]]", "[[0, 4]]", ["subsystems[0]", "4"]),
        ("\"rows\": []}", "\"rows\": [", ["problem.json", "line"]),
    ] {
        refused(&["solve", &edited(from, to)], &words);
    }
    refused(&["solve", "nowhere.json"], &["nowhere.json"]);
    let good = files.write("problem.json", PROBLEM);
    refused(&["solve", &good, "--solver", "magic"], &["magic", "pgs"]);
    refused(&["solve", &good, "--tolerance", "-1"], &["tolerance"]);
    refused(&["solve", &good, "--precision", "f16"], &["f16"]);
}

#[test]
fn controls() {
    let files = Files::new();
    let sim = |text: &str, words: &[&str]| {
        let file = files.write("controls.csv", text);
        let words: Vec<&str> = words.iter().copied().chain(["controls.csv"]).collect();
        refused(&["sim", "arm7", "--steps", "1", "--executor", "cpu", "--controls", &file], &words);
    };
    sim("t,elbow\n0,1\n", &["line 1", "elbow", "axis1"]);
    sim("t,axis1\n0,1\n1\n", &["line 3", "2 numbers", "found 1"]);
    sim("t,axis1\n0,inf\n", &["line 2", "finite", "inf"]);
    sim("t,axis1\n1,0\n1,0\n", &["line 3", "after 1 s"]);
    sim("t,axis1\n", &["line 2", "at least one row"]);
    refused(&["sim", "arm7", "--steps", "1", "--controls", "gone.csv"], &["gone.csv"]);
}

#[test]
fn pictures() {
    refused(&["render", "free-box"], &["--out"]);
    refused(&["render", "free-box", "--out", "box.jpg"], &["box.jpg", ".png", ".gif", ".mp4", ".webp"]);
    refused(&["render", "free-box", "--out", "box"], &["box", ".png"]);
    refused(&["render", "free-box", "--out", "box.png", "--size", "0x10"], &["--size", "0x10", "WIDTHxHEIGHT"]);
    refused(&["render", "free-box", "--out", "box.png", "--size", "9000x10"], &["9000x10", "8192"]);
    refused(&["render", "no-such-scene", "--out", "box.png"], &["no-such-scene"]);
}
