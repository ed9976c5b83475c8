//! `compare`: its tables, its JSON, its figures.

use manyworlds_contact::{ContactModel, SOLVERS};

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
        // What solves another contact has not solved this one, or by chance.
        let exact = SOLVERS.iter().any(|s| s.model() == ContactModel::Exact && run["solver"] == s.name());
        assert!(run["solved"] == true || !exact, "{run}");
        assert!(run["momentum_error"].as_f64().is_some_and(|x| x < 1e-5), "{run}");
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

#[test]
fn recorded_problems_are_those_of_the_steps() {
    let files = Files::new();
    let model = files.write("box.xml", BOX);
    let folder = show(&files.path("recorded"));
    let record = ["--record", &folder, "--record-every", "100"];
    let args: Vec<&str> = ["sim", &model, "--steps", "500", "--executor", "cpu"].into_iter().chain(record).collect();
    let report = json(&args, &["recorded"]);
    // The box lands in the fifth hundred.
    let mut names: Vec<_> = std::fs::read_dir(&folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"))
        .collect();
    names.sort();
    assert_eq!(report["recorded"], names.len());
    assert_eq!(names.last().map(String::as_str), Some("one-box-00500-0.json"));
    let text = std::fs::read_to_string(files.path("recorded").join("one-box-00500-0.json")).expect("a problem");
    for key in ["A_blocks", "parent", "parts", "body"] {
        assert!(text.contains(key), "{key}: {text}");
    }
    let solved = json(&["compare", &folder, "--solver", "auto", "--precision", "f64"], &KEYS);
    assert_eq!(solved["summary"][0]["solved"], names.len());
    // Worlds that do the same are written once; shorter numbers make another problem, by that much.
    let again = show(&files.path("again"));
    let args = ["bench", &model, "--worlds", "3", "--steps", "10", "--settle", "490", "--executor", "cpu"];
    let record = ["--record", &again, "--record-every", "10", "--record-worlds", "3", "--record-digits", "4"];
    let args: Vec<&str> = args.into_iter().chain(record).collect();
    assert_eq!(json(&args, &["recorded"])["recorded"], 1);
    let short = std::fs::read_to_string(files.path("again").join("one-box-00500-0.json")).expect("a problem");
    assert!(short.len() < text.len(), "{} {}", short.len(), text.len());
}

#[test]
fn recording_asks_for_what_it_needs() {
    let files = Files::new();
    let folder = show(&files.path("recorded"));
    let sim = |more: &[&'static str]| {
        let mut args = vec!["sim", "free-box", "--steps", "1"];
        args.extend(more);
        args.into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let refused_with = |args: Vec<String>, words: &[&str]| {
        refused(&args.iter().map(String::as_str).collect::<Vec<_>>(), words);
    };
    refused_with(sim(&["--record-every", "5"]), &["--record"]);
    let mut zero = sim(&["--record-every", "0", "--record"]);
    zero.push(folder.clone());
    refused_with(zero, &["--record-every", "0"]);
    let mut digits = sim(&["--record-digits", "18", "--record"]);
    digits.push(folder);
    refused_with(digits, &["--record-digits", "17"]);
    let file = files.write("a-file", "");
    let mut taken = sim(&["--record"]);
    taken.push(file);
    refused_with(taken, &["a-file"]);
}
