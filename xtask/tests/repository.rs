//! The repository about itself: the order of its crates, and documents that list files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Every crate may depend on those before it, and on no other (architecture: a crate knows only what is below it).
const ORDER: [&str; 17] = [
    "shaders",
    "geometry",
    "model",
    "collide",
    "gpu",
    "sparse",
    "soft",
    "dynamics",
    "contact",
    "gradients",
    "manyworlds",
    "environments",
    "render",
    "view",
    "cli",
    "python",
    "web",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The folder of each crate in [`ORDER`].
fn folder(name: &str) -> PathBuf {
    if name == "shaders" { name.into() } else { Path::new("crates").join(name) }
}

/// The project's own packages named in the `[dependencies]` of a manifest, by their folders' names.
fn own_dependencies(manifest: &str) -> Vec<String> {
    let mut section = "";
    let mut found = Vec::new();
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('[') {
            section = line;
        } else if section == "[dependencies]"
            && line.starts_with("manyworlds")
            && let Some(name) = line.split(['.', '=', ' ']).next()
        {
            found.push(name.strip_prefix("manyworlds-").unwrap_or(name).to_owned());
        }
    }
    found
}

/// Dependencies of the crate at `position` that are not before it.
fn out_of_order(position: usize, manifest: &str) -> Vec<String> {
    own_dependencies(manifest).into_iter().filter(|d| !ORDER[..position].contains(&d.as_str())).collect()
}

#[test]
fn crates_depend_only_on_those_before_them() {
    for (position, name) in ORDER.iter().enumerate() {
        let wrong = out_of_order(position, &read(folder(name).join("Cargo.toml")));
        assert!(wrong.is_empty(), "{name} may not depend on {wrong:?}; the order is {ORDER:?}");
    }
}

#[test]
fn a_dependency_out_of_order_is_seen() {
    let manifest =
        "[dependencies]\nmanyworlds-contact.workspace = true\nserde = \"1\"\n[dev-dependencies]\nmanyworlds = \"1\"";
    let model = ORDER.iter().position(|&n| n == "model").unwrap();
    assert_eq!(out_of_order(model, manifest), ["contact"]);
    assert_eq!(out_of_order(ORDER.len() - 1, manifest), [""; 0]);
}

/// The sets of features that each package is built with, by what `cargo tree` prints.
fn features(tree: &str) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut sets: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (package, features) in tree.lines().filter_map(|line| line.trim_end_matches(" (*)").split_once('|')) {
        sets.entry(package).or_default().insert(features);
    }
    sets
}

/// The packages of the program that the tests would build again, with other features.
fn built_again<'a>(program: &'a str, tests: &str) -> Vec<&'a str> {
    let tests = features(tests);
    let differs = |(package, sets): &(&str, BTreeSet<&str>)| tests.get(package).is_some_and(|others| others != sets);
    features(program).into_iter().filter(differs).map(|(package, _)| package).collect()
}

/// What wgpu is made of takes a minute and a half to build: one feature that a package of the tests adds would have it built again.
#[test]
fn the_tests_build_what_the_program_builds() {
    let tree = |kinds: &str, packages: &[&str]| {
        let mut command = Command::new(env!("CARGO"));
        command.current_dir(root()).args(["tree", "--locked", "--prefix", "none", "--format", "{p}|{f}"]);
        let output = command.args(["--edges", kinds]).args(packages).output().expect("cargo tree");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("names of packages")
    };
    let apart =
        ["--exclude", "manyworlds-learning", "--exclude", "manyworlds-python", "--exclude", "manyworlds-benches"];
    let tests = [&["--workspace"], apart.as_slice()].concat();
    let (program, tests) = (tree("normal,build", &[]), tree("normal,build,dev", &tests));
    // Small ones: what reads our own sources, and temporary files.
    let again: Vec<&str> = built_again(&program, &tests)
        .into_iter()
        .filter(|package| !["proc-macro2 ", "syn ", "rustix "].iter().any(|small| package.starts_with(small)))
        .collect();
    assert!(again.is_empty(), "built again with other features: {again:?}");
}

#[test]
fn a_package_with_another_feature_is_seen() {
    let program = "wgpu v1|std\nnaga v1|\nnaga v1| (*)\nlog v1|std";
    assert_eq!(built_again(program, "wgpu v1|std\nnaga v1|\nnaga v1|std\nlog v1|std (*)\nsyn v1|"), ["naga v1"]);
}

#[test]
fn the_order_names_every_crate() {
    let crates: BTreeSet<String> = fs::read_dir(root().join("crates"))
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().join("Cargo.toml").is_file())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    let ordered: BTreeSet<String> = ORDER.iter().filter(|&&n| n != "shaders").map(|&n| n.to_owned()).collect();
    assert_eq!(crates, ordered);
}

/// Files of a source folder, and of those in it, that no module names: such a file is not compiled.
fn unnamed(folder: &Path, found: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    let roots = [folder.join("lib.rs"), folder.join("main.rs"), folder.join("mod.rs"), folder.with_extension("rs")];
    let above: String = roots.iter().filter_map(|root| fs::read_to_string(root).ok()).collect();
    for path in paths {
        if path.is_dir() {
            unnamed(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") && !roots.contains(&path) {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy();
            let named = |line: &str| line.trim_end().strip_suffix(&format!("mod {stem};")).is_some_and(is_start);
            if !above.lines().any(named) {
                found.push(path);
            }
        }
    }
}

/// Whether what stands before `mod` leaves it a module's declaration.
fn is_start(before: &str) -> bool {
    let before = before.trim();
    before.is_empty() || before.starts_with("pub")
}

#[test]
fn every_source_file_is_a_module() {
    let mut found = Vec::new();
    let crates =
        ORDER.iter().map(|name| folder(name)).chain(["tests", "benches", "hardware", "xtask"].map(PathBuf::from));
    for folder in crates {
        unnamed(&root().join(folder).join("src"), &mut found);
    }
    assert!(found.is_empty(), "no module names {found:?}");
}

#[test]
fn a_file_that_no_module_names_is_seen() {
    let folder = std::env::temp_dir().join(format!("manyworlds-modules-{}", std::process::id()));
    fs::create_dir_all(folder.join("inner")).unwrap();
    for (name, text) in [
        ("lib.rs", "pub mod inner;\n// mod lost;\n"),
        ("lost.rs", ""),
        ("inner/mod.rs", "mod leaf;\n"),
        ("inner/leaf.rs", ""),
    ] {
        fs::write(folder.join(name), text).unwrap();
    }
    let mut found = Vec::new();
    unnamed(&folder, &mut found);
    fs::remove_dir_all(&folder).unwrap();
    assert_eq!(found, [folder.join("lost.rs")]);
}

/// What stands between backticks in a Markdown text, code blocks left out.
fn backticked(text: &str) -> Vec<&str> {
    let mut code = false;
    let mut found = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            code = !code;
        } else if !code {
            found.extend(line.split('`').skip(1).step_by(2));
        }
    }
    found
}

/// Targets of relative links of a Markdown text.
fn links(text: &str) -> Vec<&str> {
    text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next()).filter(|t| !t.is_empty()).collect()
}

/// Paths that a document names (from the root) or links to (from its own folder) and that are not there.
fn missing_paths(text: &str, folder: &Path) -> Vec<String> {
    let looks_like_a_path =
        |s: &&str| !s.contains([' ', '<', '*', '{']) && (s.ends_with('/') || (s.contains('/') && s.contains('.')));
    let named = backticked(text).into_iter().filter(looks_like_a_path);
    let linked = links(text).into_iter().filter(|t| !t.contains("://"));
    let named = named.filter(|path| !root().join(path).exists());
    named.chain(linked.filter(|path| !folder.join(path).exists())).map(str::to_owned).collect()
}

const DOCUMENTS: [&str; 5] = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "NOTATION.md", "scenes/README.md"];

/// [`DOCUMENTS`] and the pages under docs.
fn documents() -> Vec<PathBuf> {
    let pages = ["docs", "docs/scenes"].iter().flat_map(|folder| fs::read_dir(root().join(folder)).unwrap());
    let pages = pages.map(|entry| entry.unwrap().path()).filter(|path| path.extension().is_some_and(|e| e == "md"));
    DOCUMENTS.iter().map(|name| root().join(name)).chain(pages).collect()
}

/// How hosts of repositories name the anchor of a heading: lower case, spaces as hyphens, punctuation dropped.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = text.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    let letters = |heading: &str| {
        let kept =
            heading.to_lowercase().chars().filter(|c| c.is_alphanumeric() || "-_ ".contains(*c)).collect::<String>();
        kept.replace(' ', "-")
    };
    headings.map(letters).collect()
}

/// Links of a document to headings, of its own or of another page, that are not there.
fn missing_anchors(text: &str, folder: &Path) -> Vec<String> {
    let linked = text.split("](").skip(1).filter_map(|rest| rest.split(')').next()).filter(|t| !t.contains("://"));
    let there = |page: &str, anchor: &str| match page {
        "" => anchors(text).contains(anchor),
        page => fs::read_to_string(folder.join(page)).is_ok_and(|other| anchors(&other).contains(anchor)),
    };
    linked.filter(|t| t.split_once('#').is_some_and(|(page, anchor)| !there(page, anchor))).map(str::to_owned).collect()
}

#[test]
fn links_to_headings_lead_somewhere() {
    for document in documents() {
        let missing = missing_anchors(&fs::read_to_string(&document).unwrap(), document.parent().unwrap());
        assert!(missing.is_empty(), "{} links to {missing:?}", document.display());
    }
}

#[test]
fn a_missing_heading_is_seen() {
    let text = "## Who, `what` and why?\n[a](#who-what-and-why) [b](#nobody) [c](CONTRIBUTING.md#contributing) [d](CONTRIBUTING.md#no)";
    assert_eq!(missing_anchors(text, &root()), ["#nobody", "CONTRIBUTING.md#no"]);
}

#[test]
fn the_readme_is_short() {
    let words = read("README.md").split_whitespace().count();
    assert!(words <= 1200, "the README has {words} words, at most 1200 are for newcomers: the rest belongs under docs");
}

/// Rows of the README's table of speed as `scene`, `manyworlds`, `MuJoCo`.
fn table_of_speed(readme: &str) -> Vec<[&str; 3]> {
    let section = readme.split("\n## Speed\n").nth(1).and_then(|rest| rest.split("\n## ").next()).unwrap_or_default();
    let mut rows =
        section.lines().filter(|l| l.starts_with('|')).map(|l| l.split('|').map(str::trim).collect::<Vec<_>>());
    let header = rows.next().unwrap_or_default();
    let column = |name: &str| header.iter().position(|&cell| cell == name);
    let (Some(scene), Some(ours), Some(theirs)) = (column("scene"), column("manyworlds"), column("MuJoCo")) else {
        return Vec::new();
    };
    rows.skip(1).map(|row| [row[scene], row[ours], row[theirs]]).collect()
}

/// Entries of the table that the figure does not show.
fn not_drawn<'a>(table: &[[&'a str; 3]], figure: &str) -> Vec<&'a str> {
    table.iter().flatten().filter(|entry| !figure.contains(&format!(">{entry}</text>"))).copied().collect()
}

#[test]
fn the_figure_of_speed_shows_the_table() {
    let readme = read("README.md");
    let table = table_of_speed(&readme);
    assert!(table.len() > 2, "the README's table of speed was not understood: {table:?}");
    let missing = not_drawn(&table, &read("docs/speed.svg"));
    assert!(missing.is_empty(), "docs/speed.svg does not show {missing:?}: run benches/mujoco/plot_speed.py");
}

#[test]
fn a_figure_of_another_table_is_seen() {
    let table =
        table_of_speed("\n## Speed\n\n| scene | manyworlds | MuJoCo |\n|---|---|---|\n| ant | 1 | 22 |\n\n## Next\n");
    assert_eq!(not_drawn(&table, "<text x=\"1\">ant</text><text>1</text><text>2</text>"), ["22"]);
}

#[test]
fn documents_name_files_that_exist() {
    for document in documents() {
        let missing = missing_paths(&fs::read_to_string(&document).unwrap(), document.parent().unwrap());
        assert!(missing.is_empty(), "{} names {missing:?}", document.display());
    }
}

#[test]
fn a_missing_file_is_seen() {
    let text = "`crates/model/` and `crates/none/` and [a link](NO.md) and [another](https://example.org)";
    assert_eq!(missing_paths(text, &root()), ["crates/none/", "NO.md"]);
}

#[test]
fn the_contributors_page_lists_every_folder_of_code() {
    let page = read("CONTRIBUTING.md");
    let listed: BTreeSet<&str> = backticked(&page).into_iter().filter_map(|s| s.strip_suffix('/')).collect();
    let others = ["tests", "benches", "examples", "hardware", "xtask"].map(PathBuf::from);
    for folder in ORDER.iter().map(|n| folder(n)).chain(others) {
        assert!(listed.contains(folder.to_str().unwrap()), "CONTRIBUTING.md does not list {}", folder.display());
    }
}

/// Every name in the second column of NOTATION.md is a name of the code.
#[test]
fn the_notation_names_what_the_code_names() {
    let mut words = BTreeSet::new();
    for source in ["shaders/src", "crates"].map(|f| root().join(f)) {
        collect_words(&source, &mut words);
    }
    let notation = read("NOTATION.md");
    let names: Vec<&str> = notation
        .lines()
        .filter(|line| line.starts_with('|'))
        .filter_map(|line| line.split('|').nth(2))
        .flat_map(backticked)
        .collect();
    assert!(names.len() > 20, "the tables of NOTATION.md were not understood: {names:?}");
    let strange: Vec<_> = names.into_iter().filter(|&name| !words.contains(name)).collect();
    assert!(strange.is_empty(), "NOTATION.md names {strange:?}, which no source has");
}

/// The words of every Rust and WGSL source under a folder.
fn collect_words(folder: &Path, words: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect_words(&path, words);
        } else if path.extension().is_some_and(|e| e == "rs" || e == "wgsl") {
            let text = fs::read_to_string(&path).unwrap();
            words.extend(text.split(|c: char| !c.is_alphanumeric() && c != '_').map(str::to_owned));
        }
    }
}

#[test]
fn the_changelog_has_an_unreleased_section() {
    assert!(read("CHANGELOG.md").lines().any(|line| line == "## Unreleased"));
}
