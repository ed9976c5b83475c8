//! Every command answers, with the keys that scripts rely on.

use crate::support::{BOX, Files, MIXED, PENDULUM, PROBLEM, SLIDER, SOFT, json, numbers, run, show};

const BENCH_KEYS: [&str; 17] = [
    "model",
    "worlds",
    "steps",
    "executor",
    "adapter",
    "precision",
    "solver",
    "dt",
    "steps_per_second",
    "us_per_world_step",
    "contacts_mean",
    "residual_median",
    "residual_max",
    "penetration_max",
    "worlds_failed",
    "bytes_per_world",
    "stage_ms",
];

#[test]
fn bench_reports_throughput_and_certificate() {
    let files = Files::new();
    let model = files.write("box.xml", BOX);
    let args = ["bench", &model, "--worlds", "9", "--steps", "20", "--settle", "500", "--executor", "cpu"];
    let report = json(&args, &BENCH_KEYS);
    assert_eq!((&report["worlds"], &report["steps"]), (&9.into(), &20.into()));
    assert_eq!((&report["executor"], &report["precision"]), (&"cpu".into(), &"f32".into()));
    assert_eq!(report["worlds_failed"], 0);
    assert_eq!(report["dt"], 0.002);
    let number = |key: &str| report[key].as_f64().expect("a number");
    assert!(number("steps_per_second") > 0.0);
    let product = number("steps_per_second") * number("us_per_world_step");
    assert!((product / 1e6 - 1.0).abs() < 1e-9, "{product}");
    assert!((number("contacts_mean") - 4.0).abs() < 1e-9, "a box rests on four corners: {report}");
    assert!(number("penetration_max") < 1e-3);
    assert!(report["stage_ms"].as_object().is_some_and(|stages| !stages.is_empty()));
}

#[test]
fn bench_options_need_no_command() {
    let args = ["--worlds", "2", "--steps", "2", "--settle", "0", "--executor", "cpu", "--precision", "f64"];
    let report = json(&args, &BENCH_KEYS);
    assert_eq!((&report["model"], &report["precision"]), (&"humanoid".into(), &"f64".into()));
}

#[test]
fn bench_fails_when_a_tolerance_is_missed() {
    let files = Files::new();
    let model = files.write("box.xml", BOX);
    let args = ["bench", &model, "--worlds", "1", "--steps", "5", "--settle", "500", "--executor", "cpu"];
    // One sweep cannot solve four redundant contacts to a millionth of a millionth.
    let run = run(args.iter().chain(&["--iterations", "1", "--tolerance", "1e-30", "--precision", "f64", "--json"]));
    assert_eq!(run.code, Some(1), "{}{}", run.stdout, run.stderr);
    assert!(run.stderr.contains("tolerance"), "{}", run.stderr);
    assert!(serde_json::from_str::<serde_json::Value>(&run.stdout).is_ok(), "the report comes all the same");
}

#[test]
fn sim_drops_a_box() {
    let files = Files::new();
    let model = files.write("box.xml", BOX);
    let out = files.path("fall.csv");
    let args = ["sim", &model, "--steps", "100", "--executor", "cpu", "--out", &show(&out)];
    let report = json(&args, &["time", "energy", "contacts", "q", "v", "residual_max", "penetration_max"]);
    let (q, v) = (numbers(&report["q"]), numbers(&report["v"]));
    // Semi-implicit Euler in free fall: v = -g n h, z = z0 - g h^2 n (n + 1) / 2.
    let (n, h, g) = (100.0, 0.002, 9.81);
    assert!((report["time"].as_f64().unwrap() - n * h).abs() < 1e-12);
    assert!((v[2] + g * n * h).abs() < 1e-12, "{v:?}");
    assert!((q[2] - (1.0 - g * h * h * n * (n + 1.0) / 2.0)).abs() < 1e-12, "{q:?}");
    let energy = 0.5 * v[2] * v[2] + g * q[2];
    assert!((report["energy"].as_f64().unwrap() - energy).abs() < 1e-9, "{report}");
    assert_eq!(report["contacts"], 0);

    let csv = std::fs::read_to_string(out).unwrap();
    let lines: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(lines[0], "t,q0,q1,q2,q3,q4,q5,q6,v0,v1,v2,v3,v4,v5".split(',').collect::<Vec<_>>());
    assert_eq!(lines.len(), 101);
    let last: Vec<f64> = lines[100].iter().map(|x| x.parse().unwrap()).collect();
    assert_eq!(last[1..8], q, "the file holds every digit");
    assert_eq!(last[8..], v);
}

/// Soft bodies are counted, moved, and their forces and inertia told.
#[test]
fn soft_bodies_are_counted_and_said_where_they_are() {
    let files = Files::new();
    let model = files.write("soft.xml", SOFT);
    let report = json(&["check", &model], &[]);
    assert_eq!((&report["soft"], &report["n_v"], &report["supported"]), (&1.into(), &81.into(), &true.into()));
    assert!((report["mass"].as_f64().unwrap() - 0.25).abs() < 1e-12, "{report}");
    let line =
        "soft body \"cube\": 27 nodes (0 pinned), 48 linear tetrahedra, neo-Hookean, 50000 Pa, Poisson 0.3, 0.2500 kg";
    assert!(run(["check", &model]).stdout.contains(line));

    let report = json(&["sim", &model, "--steps", "100", "--executor", "cpu"], &[]);
    let soft = &report["soft"][0];
    assert_eq!((&soft["name"], soft["nodes"].as_array().map(Vec::len)), (&"cube".into(), Some(27)));
    // It falls as it is.
    let (n, h, g) = (100.0, 0.002, 9.81);
    let first = numbers(&soft["nodes"][0]);
    let expected = [-0.05, -0.05, 0.95 - g * h * h * n * (n + 1.0) / 2.0];
    assert!(first.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9), "{first:?}, {expected:?}");
    assert!((soft["volume"].as_f64().unwrap() - 1e-3).abs() < 1e-9, "{report}");
    assert!(soft["energy"].as_f64().unwrap().abs() < 1e-9, "{report}");

    // Pulled out of shape it pulls itself together, without a push on the whole.
    let q: Vec<f64> = (0..81).map(|i| if i == 2 { 0.01 } else { 0.0 }).collect();
    let state = files.write("state.json", &serde_json::json!({ "q": q }).to_string());
    let report = json(&["step", &model, "--state", &state], &[]);
    let passive = numbers(&report["passive"]);
    let sums: Vec<f64> = (0..3).map(|k| passive.iter().skip(k).step_by(3).sum()).collect();
    assert!(passive[2] < -1.0 && sums.iter().all(|sum| sum.abs() < 1e-9), "{} {sums:?}", passive[2]);
    let mass: f64 = report["M"].as_array().unwrap().iter().enumerate().map(|(i, row)| numbers(row)[i]).sum();
    assert!((mass - 0.75).abs() < 1e-12, "{mass}");
}

#[test]
fn sim_follows_controls_over_time() {
    let files = Files::new();
    let model = files.write("slider.xml", SLIDER);
    let controls = files.write("controls.csv", "t,drive\n0,0\n0.1,1\n0.2,-1\n");
    let out = files.path("out.csv");
    let args = ["sim", &model, "--steps", "300", "--executor", "cpu", "--controls", &controls, "--out", &show(&out)];
    let report = json(&args, &["solver_ms_median", "solver_ms_mean", "solver_ms_p99", "solver_ms_max"]);
    assert!((numbers(&report["v"])[0] + 1.0).abs() < 1e-6, "held after the last time: {report}");
    assert!(report["solver_ms_median"].as_f64().unwrap() <= report["solver_ms_max"].as_f64().unwrap());
    let csv = std::fs::read_to_string(out).unwrap();
    let speed = |step: usize| csv.lines().nth(step).unwrap().split(',').nth(2).unwrap().parse::<f64>().unwrap();
    // The step from 49 to 50 ms takes the control at 49 ms.
    assert!((speed(50) - 0.49).abs() < 1e-6 && (speed(151) - 0.0).abs() < 1e-6, "{} {}", speed(50), speed(151));
}

#[test]
fn sim_follows_a_scenes_own_controls_unless_told_otherwise() {
    let files = Files::new();
    let still = files.write("still.json", r#"{"ctrl": [0, 0, 0, 0, 0, 0, 0]}"#);
    let lean = |more: &[&str]| {
        let args = ["sim", "nut-turning", "--steps", "5", "--executor", "cpu"];
        numbers(&json(&[&args, more].concat(), &[])["q"])[8]
    };
    assert!((lean(&[]) - 0.8367).abs() < 1e-3, "{}", lean(&[]));
    assert!(lean(&["--state", &still]) < 0.8, "drives pull the arm up");
}

#[test]
fn sim_draws_a_run() {
    let files = Files::new();
    let model = files.write("box.xml", BOX);
    for name in ["run.svg", "run.png"] {
        let plot = files.path(name);
        json(&["sim", &model, "--steps", "700", "--executor", "cpu", "--plot", &show(&plot)], &[]);
        let drawn = std::fs::read(plot).unwrap();
        assert!((2_000..100_000).contains(&drawn.len()), "{name}: {} bytes", drawn.len());
        match name {
            "run.png" => assert_eq!(drawn[..4], *b"\x89PNG"),
            _ => {
                let text = String::from_utf8(drawn).unwrap();
                let all = ["height of free bodies, m", "energy, J", "contacts", "penetration", "residual", "solver"];
                assert!(all.iter().all(|what| text.contains(what)), "{text}");
                assert!(text.matches("<polyline").count() > 6, "curves and axes");
            }
        }
    }
}

/// Energy of a chain of every kind of joint, with springs and armature, at a state off its axes: MuJoCo 4's
/// `mjENBL_ENERGY` for the same file.
#[test]
fn sim_gives_the_energy_of_a_state() {
    let files = Files::new();
    let model = files.write("mixed.xml", MIXED);
    let state = files.write(
        "state.json",
        r#"{"q": [0.1, -0.2, 1.3, 0.5, 0.5, -0.5, 0.5, 0.6, 0, 0.8, 0, 0.25, 0.7],
            "v": [0.5, -0.4, 0.3, 1.0, -0.9, 0.8, 0.7, -0.6, 0.5, 0.4, -1.1]}"#,
    );
    let report = json(&["sim", &model, "--steps", "0", "--state", &state, "--executor", "cpu"], &[]);
    let energy = report["energy"].as_f64().unwrap();
    assert!((energy - 51.308_621_196_919_944).abs() < 1e-9, "{energy}");
}

#[test]
fn sim_rests_on_the_ground() {
    let files = Files::new();
    let model = files.write("box.xml", BOX);
    // From 5 cm: faster, and it would enter the ground for the one step in which its contact is found.
    let state = files.write("state.json", r#"{"q": [0, 0, 0.15, 1, 0, 0, 0]}"#);
    let report = json(&["sim", &model, "--steps", "600", "--state", &state, "--executor", "cpu"], &[]);
    let (q, v) = (numbers(&report["q"]), numbers(&report["v"]));
    assert_eq!(report["contacts"], 4);
    assert!((q[2] - 0.1).abs() < 1e-4, "{q:?}");
    assert!(v.iter().all(|x| x.abs() < 1e-6), "{v:?}");
    assert!(report["residual_max"].as_f64().unwrap() < 1e-6, "{report}");
    assert!(report["penetration_max"].as_f64().unwrap() < 1e-3, "{report}");
}

#[test]
fn step_shows_what_goes_into_it() {
    let files = Files::new();
    let model = files.write("box.xml", BOX);
    // Resting, and pushed along x within the friction cone.
    let state = files.write("state.json", r#"{"q": [0,0,0.1,1,0,0,0], "tau": [3,0,0,0,0,0]}"#);
    let args = ["step", &model, "--state", &state, "--executor", "cpu"];
    let keys = ["q", "v", "v_free", "M", "A", "bias", "contacts", "rows", "residual", "status"];
    let report = json(&args, &keys);
    let mass: Vec<Vec<f64>> = report["M"].as_array().unwrap().iter().map(numbers).collect();
    assert_eq!(mass.len(), 6);
    assert!((mass[0][0] - 1.0).abs() < 1e-12 && mass[0][1].abs() < 1e-12, "{mass:?}");
    assert!((mass[3][3] - 0.04 / 6.0).abs() < 1e-12, "a cube's inertia is m a^2 / 6: {mass:?}");
    let bias = numbers(&report["bias"]);
    assert!((bias[2] - 9.81).abs() < 1e-12, "{bias:?}");
    let v_free = numbers(&report["v_free"]);
    assert!((v_free[2] + 9.81 * 0.002).abs() < 1e-12 && (v_free[0] - 0.006).abs() < 1e-12, "{v_free:?}");
    assert!(numbers(&report["v"]).iter().all(|x| x.abs() < 1e-9), "it sticks: {report}");

    let contacts = report["contacts"].as_array().unwrap();
    assert_eq!(contacts.len(), 4);
    let mut impulse = [0.0; 3];
    for contact in contacts {
        for key in ["bodies", "point", "frame", "distance", "mu", "impulse", "velocity"] {
            assert!(contact.get(key).is_some(), "no {key}: {contact}");
        }
        let sign = if contact["bodies"][1] == 1 { 1.0 } else { -1.0 };
        let frame: Vec<Vec<f64>> = contact["frame"].as_array().unwrap().iter().map(numbers).collect();
        for (axis, l) in frame.iter().zip(numbers(&contact["impulse"])) {
            (0..3).for_each(|k| impulse[k] += sign * l * axis[k]);
        }
    }
    // The ground carries the weight and holds against the push.
    for (found, expected) in impulse.into_iter().zip([-3.0 * 0.002, 0.0, 9.81 * 0.002]) {
        assert!((found - expected).abs() < 1e-8, "{impulse:?}");
    }
}

#[test]
fn step_starts_from_the_keyframe_and_the_file_over_it() {
    let files = Files::new();
    let model = files.write("pendulum.xml", PENDULUM);
    let position = |args: &[&str]| numbers(&json(args, &[])["q"])[0];
    let step = ["step", &model, "--executor", "cpu"];
    assert!(position(&step).abs() < 1e-6);
    let with = |more: &[&str]| position(&[&step[..], more].concat());
    assert!((with(&["--keyframe", "up"]) - 3.101).abs() < 1e-3);
    assert_eq!(with(&["--keyframe", "0"]), with(&["--keyframe", "up"]));
    let state = files.write("state.json", r#"{"q": [1.0]}"#);
    assert!((with(&["--keyframe", "up", "--state", &state]) - 1.001).abs() < 1e-3);
}

#[test]
fn solve_meets_the_closed_form() {
    let files = Files::new();
    let problem = files.write("problem.json", PROBLEM);
    let keys = [
        "solver",
        "status",
        "iterations",
        "v",
        "lambda",
        "residual",
        "residual_scaled",
        "momentum_error",
        "complementarity_error",
        "history",
        "microseconds",
    ];
    let report = json(&["solve", &problem, "--solver", "pgs", "--tolerance", "1e-12"], &keys);
    // The push of 0.002 N s stays under mu times the weight's 0.04 N s: it sticks.
    for (found, expected) in numbers(&report["lambda"]).into_iter().zip([-0.002, 0.0, 0.04]) {
        assert!((found - expected).abs() < 1e-12, "{report}");
    }
    assert!(numbers(&report["v"]).iter().all(|x| x.abs() < 1e-12));
    assert_eq!((&report["solver"], &report["status"]), (&"pgs".into(), &"converged".into()));
    assert!(!numbers(&report["history"]).is_empty());
}

#[test]
fn check_counts_and_lists() {
    let files = Files::new();
    let model = files.write(
        "m.xml",
        &BOX.replace(r#"mass="1""#, r#"mass="1" solref="0.01 1""#).replace("<worldbody>", "<visual/>\n<worldbody>"),
    );
    let keys = ["bodies", "joints", "n_q", "n_v", "geoms", "actuators", "ignored"];
    let report = json(&["check", &model], &keys);
    let counts = ["bodies", "joints", "n_q", "n_v", "geoms", "actuators"].map(|key| report[key].as_u64().unwrap());
    assert_eq!(counts, [1, 1, 7, 6, 2, 0]);
    let ignored = report["ignored"].as_array().unwrap();
    assert!(ignored.iter().any(|i| i["line"] == 3 && i["element"].as_str().unwrap().contains("visual")), "{report}");
    assert!(ignored.iter().any(|i| i["line"] == 6 && i["why"].as_str().unwrap().contains("solref")), "{report}");
}

#[test]
fn check_says_what_a_urdf_was_given() {
    let files = Files::new();
    let urdf = r#"<robot name="r"><link name="base"><inertial><mass value="1"/>
      <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>"#;
    let model = files.write("r.urdf", urdf);
    let report = json(&["check", &model, "--free-root", "--ground"], &["assumptions"]);
    assert_eq!(report["n_v"], 6);
    assert!(!report["assumptions"].as_array().unwrap().is_empty());
}

#[test]
fn scenes_and_info_list() {
    let scenes = json(&["scenes"], &["scenes"]);
    let names: Vec<_> = scenes["scenes"].as_array().unwrap().iter().map(|s| s["name"].as_str().unwrap()).collect();
    for scene in
        ["cartpole", "hopper", "half-cheetah", "ant", "humanoid", "quadruped", "arm7", "sliding-box", "clutter"]
    {
        assert!(names.contains(&scene), "{names:?}");
    }
    let info = json(&["info"], &["adapters"]);
    assert!(info["adapters"].is_array());
}

#[test]
fn people_get_tables() {
    let files = Files::new();
    let model = files.write("box.xml", BOX);
    let problem = files.write("problem.json", PROBLEM);
    for (args, word) in [
        (vec!["check", &model], "n_v 6"),
        (vec!["step", &model, "--executor", "cpu"], "residual"),
        (vec!["sim", &model, "--steps", "3", "--executor", "cpu"], "energy"),
        (vec!["solve", &problem], "converged"),
        (vec!["scenes"], "humanoid"),
        (vec!["info"], "CPU"),
        (vec!["bench", &model, "--worlds", "2", "--steps", "2", "--settle", "0", "--executor", "cpu"], "world-steps/s"),
    ] {
        let run = run(&args);
        assert_eq!(run.code, Some(0), "{args:?}: {}", run.stderr);
        assert!(run.stdout.contains(word), "{args:?}: {}", run.stdout);
    }
}

#[test]
fn help_has_examples() {
    for command in [&[][..], &["bench"], &["sim"], &["step"], &["solve"], &["check"]] {
        let run = run(command.iter().chain(&["--help"]));
        assert_eq!(run.code, Some(0));
        assert!(run.stdout.contains("Examples:"), "{command:?}: {}", run.stdout);
    }
}

#[test]
fn integrators_compares_the_rules() {
    let files = Files::new();
    let plot = files.path("rules.svg");
    let args =
        ["integrators", "spring-cylinder", "--solver", "sap", "--seconds", "0.5", "--halvings", "3", "--entry", "0"];
    let plotted = ["--executor", "cpu", "--plot", &show(&plot)];
    let report = json(&[&args[..], &plotted[..]].concat(), &["steps", "energy_start", "rules"]);
    let rule = |name: &str| {
        let rules = report["rules"].as_array().unwrap();
        rules.iter().find(|rule| rule["integrator"] == name).unwrap()
    };
    let order = |name: &str| rule(name)["order"].as_f64().unwrap();
    assert!((order("midpoint") - 2.0).abs() < 0.2 && order("symplectic-euler") < 1.3, "{report}");
    assert_eq!(numbers(&rule("midpoint")["errors"]).len(), 4);
    assert!(std::fs::read_to_string(plot).unwrap().contains("second order"));
}

#[test]
fn sim_draws_what_it_is_asked_for_and_measures_momentum() {
    let files = Files::new();
    let plot = files.path("x.svg");
    let args = ["sim", "spring-cylinder", "--solver", "sap", "--integrator", "midpoint", "--steps", "10"];
    let more = ["--executor", "cpu", "--draw", "0", "--momentum-error", "--plot", &show(&plot)];
    let report = json(&[&args[..], &more[..]].concat(), &["momentum_error_max"]);
    let error = report["momentum_error_max"].as_f64().unwrap();
    assert!(error > 0.0 && error < 1e-5, "{error}");
    assert!(std::fs::read_to_string(plot).unwrap().contains("q, m or rad"));
}
