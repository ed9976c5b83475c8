//! `compare`: its tables, its JSON, its figures.

use manyworlds_contact::SOLVERS;

use crate::support::{BOX, Files, PROBLEM, json, refused, run, show};

const KEYS: [&str; 5] = ["tolerance", "tolerance_f32", "iterations", "problems", "summary"];

#[test]
fn every_solver_and_precision_is_compared() {
    let files = Files::new();
    let problem = files.write("box.json", PROBLEM);
    let report = json(&["compare", &problem], &KEYS);
    let runs = report["problems"][0]["runs"].as_array().expect("a list");
    assert_eq!(runs.len(), 2 * SOLVERS.len());
    assert_eq!(report["summary"].as_array().map(Vec::len), Some(runs.len()));
    for run in runs {
        assert_eq!(run["solved"], true, "{run}");
        let curve = run["curve"].as_array().expect("a list");
        assert_eq!(curve[0]["iterations"], 0);
        // At rest the box's weight is the residual: m g h, and the friction it brings.
        assert!(curve[0]["residual"].as_f64().is_some_and(|x| (x - 0.02).abs() < 1e-3), "{run}");
        assert_eq!(curve.last().expect("a point")["residual"], run["residual"]);
    }
}

#[test]
fn models_give_problems_at_the_steps_asked_for() {
    let files = Files::new();
    let model = files.write("box.xml", BOX);
    let args = ["compare", &model, "--at", "1,400,401", "--solver", "auto", "--precision", "f64"];
    let report = json(&args, &KEYS);
    let problems = report["problems"].as_array().expect("a list");
    // In the air there is nothing to solve; later it rests on four corners.
    assert_eq!(problems.len(), 2, "{report}");
    assert!(problems.iter().all(|p| p["contacts"] == 4 && p["runs"][0]["solver"] == "auto"), "{report}");
    assert_eq!(report["summary"][0]["solved"], 2);
}

#[test]
fn figures_are_drawn_without_fonts_of_the_system() {
    let files = Files::new();
    let problem = files.write("box.json", PROBLEM);
    let (svg, folder) = (files.path("a.svg"), files.path("figures"));
    assert_eq!(run(["compare", &problem, "--plot", &show(&svg)]).code, Some(0));
    let text = std::fs::read_to_string(&svg).expect("a figure");
    assert!(text.contains("<svg") && text.contains("iterations") && text.contains("auto f64"), "{text}");
    assert_eq!(run(["compare", &problem, "--plot", &show(&folder)]).code, Some(0));
    let png = std::fs::read(folder.join("box.png")).expect("a figure");
    assert_eq!(&png[..8], b"\x89PNG\r\n\x1a\n");
    assert!(png.len() > 5000, "it is not blank: {}", png.len());
}

#[test]
fn bad_use_is_refused() {
    let files = Files::new();
    let problem = files.write("box.json", PROBLEM);
    refused(&["compare"], &["required"]);
    refused(&["compare", "no-such-thing"], &["no-such-thing", "humanoid"]);
    refused(&["compare", &show(&files.path("none.json"))], &["none.json"]);
    refused(&["compare", &problem, "--solver", "magic"], &["magic", "auto"]);
    refused(&["compare", &problem, "--tolerance", "-1"], &["--tolerance", "-1"]);
    refused(&["compare", &problem, "--repeats", "0"], &["--repeats"]);
    refused(&["compare", &problem, "--plot", "a.pdf"], &["a.pdf", ".svg"]);
    refused(&["compare", &problem, &problem, "--plot", "a.svg"], &["a.svg", "folder"]);
    refused(&["compare", "free-box", "--at", "0"], &["--at"]);
    refused(&["compare", "free-box", "--at", "1"], &["no problem"]);
    std::fs::create_dir(files.path("empty")).expect("a folder");
    refused(&["compare", &show(&files.path("empty"))], &["empty", ".json"]);
}
