//! Files that went wrong: model files and what they name, mutated at random. Each is a model or an error, and a model that is
//! read makes steps; nothing panics, and no world is worse than flagged.
//!
//! `MANYWORLDS_MUTATIONS=100000` tries more than the few hundred of a test run; `MANYWORLDS_SEED` others.

use std::cell::RefCell;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use manyworlds::model::{Model, from_mjcf_str, from_urdf_str};
use manyworlds::{Batch, BatchOptions, Executor, ImportOptions, Precision};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Mutations of a test run.
const COUNT: u64 = 600;
/// Models of more degrees of freedom or geoms are read, but make no steps: that is not what takes long here.
const MOST: usize = 200;

/// Values that stand where others were: out of range, of another type, too many, or none.
const ODD: &[&str] = &[
    "",
    "0",
    "-1",
    "1e308",
    "-1e308",
    "1e-320",
    "nan",
    "inf",
    "-inf",
    "4294967296",
    "-9223372036854775809",
    "0 0 0",
    "0 0 0 0",
    "1 2",
    "1 2 3 4 5 6 7 8 9 10 11 12",
    "true",
    "auto",
    "world",
    "mesh",
    "plane",
    "box",
    "1,5",
    "0x10",
    "🦀",
    "../../../../etc/hostname",
    "free",
    "hinge",
    "local",
    "-0",
    "1e1e1",
];

/// A robot, for mutations of its format.
const URDF: &str = r#"<robot name="arm"><link name="base"><inertial><origin xyz="0 0 0.1" rpy="0 0.1 0"/><mass value="2"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial><collision><origin xyz="0 0 0.1"/><geometry>
<box size="0.1 0.2 0.3"/></geometry></collision></link><link name="arm"><inertial><mass value="1"/><inertia ixx="0.01" iyy="0.02"
izz="0.02" ixy="0" ixz="0.001" iyz="0"/></inertial><collision><geometry><cylinder radius="0.03" length="0.4"/></geometry>
</collision></link><link name="hand"><inertial><mass value="0.3"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0"
iyz="0"/></inertial><visual><geometry><sphere radius="0.1"/></geometry></visual></link><joint name="shoulder" type="revolute">
<parent link="base"/><child link="arm"/><origin xyz="0 0 0.3" rpy="0 0 1"/><axis xyz="0 1 0"/><limit lower="-1" upper="2" effort="10"
velocity="3"/><dynamics damping="0.1" friction="0.2"/></joint><joint name="slide" type="prismatic"><parent link="arm"/><child
link="hand"/><axis xyz="1 0 0"/><limit lower="0" upper="0.1" effort="10" velocity="1"/><mimic joint="shoulder" multiplier="0.1"
offset="0"/></joint></robot>"#;

/// Every model file of the scenes and of the golden numbers, by where it lies.
fn sources() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let golden = ["", "/soft", "/cages"].map(|folder| format!("crates/model/tests/golden{folder}"));
    let folders = ["scenes", "tests/golden/models"].map(String::from).into_iter().chain(golden);
    let mut files: Vec<PathBuf> = folders
        .flat_map(|folder| fs::read_dir(root.join(folder)).expect("a folder of models"))
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "xml"))
        .collect();
    files.sort();
    let mut all: Vec<(PathBuf, String)> =
        files.into_iter().map(|path| (path.clone(), fs::read_to_string(path).expect("a text"))).collect();
    all.push((root.join("arm.urdf"), URDF.to_owned()));
    all
}

/// Where the values of attributes stand.
fn values(text: &str) -> Vec<std::ops::Range<usize>> {
    let quotes: Vec<usize> = text.match_indices('"').map(|(at, _)| at).collect();
    quotes.chunks_exact(2).map(|pair| pair[0] + 1..pair[1]).collect()
}

/// Where elements that end in themselves stand.
fn elements(text: &str) -> Vec<std::ops::Range<usize>> {
    let ends = text.match_indices("/>").map(|(at, _)| at + 2);
    ends.filter_map(|end| text[..end].rfind('<').map(|begin| begin..end)).collect()
}

fn any<T>(rng: &mut ChaCha8Rng, of: &[T]) -> Option<usize> {
    (!of.is_empty()).then(|| rng.random_range(0..of.len()))
}

/// A text with one thing about it changed.
fn mutate(rng: &mut ChaCha8Rng, text: &mut String) {
    let (values, elements) = (values(text), elements(text));
    let (Some(value), Some(element)) = (any(rng, &values), any(rng, &elements)) else { return };
    let (value, element) = (values[value].clone(), elements[element].clone());
    match rng.random_range(0..7) {
        0 => text.replace_range(value, ODD[rng.random_range(0..ODD.len())]),
        1 => {
            let other = text[values[rng.random_range(0..values.len())].clone()].to_owned();
            text.replace_range(value, &other);
        }
        2 => {
            // One number of several, or a sign.
            let mut words: Vec<&str> = text[value.clone()].split_whitespace().collect();
            let Some(at) = any(rng, &words) else { return };
            words[at] = ODD[rng.random_range(0..ODD.len())];
            let changed = words.join(" ");
            text.replace_range(value, &changed);
        }
        3 => text.replace_range(element, ""),
        4 => {
            let again = text[element.clone()].to_owned();
            text.insert_str(element.end, &again);
        }
        5 => {
            let moved = text[element.clone()].to_owned();
            let to = elements[rng.random_range(0..elements.len())].start;
            text.insert_str(to, &moved);
        }
        _ => {
            let at = rng.random_range(0..text.len());
            let end = (at + rng.random_range(0..4)).min(text.len());
            if text.is_char_boundary(at) && text.is_char_boundary(end) {
                text.replace_range(at..end, ["", "<", ">", "\"", "/", " ", "&", "9"][rng.random_range(0..8)]);
            }
        }
    }
}

/// Bytes of a mesh or picture, some of them others, or cut short.
fn spoil(rng: &mut ChaCha8Rng, bytes: &mut Vec<u8>) {
    for _ in 0..rng.random_range(0..4) {
        if let Some(at) = any(rng, bytes) {
            bytes[at] = rng.random();
        }
    }
    if rng.random_range(0..4) == 0 {
        bytes.truncate(rng.random_range(0..=bytes.len()));
    }
}

/// A few steps with what controls there are.
fn steps(model: &Model) {
    if model.n_v > MOST || model.geoms.len() > MOST {
        return;
    }
    let options =
        BatchOptions { executor: Executor::Cpu, precision: Precision::F64, iterations: 50, ..Default::default() };
    let Ok(mut batch) = Batch::new(&[(model, 1)], &options) else { return };
    let controls = vec![0.5; batch.n_controls()];
    for _ in 0..2 {
        if batch.step::<f64>(&controls).is_err() {
            return;
        }
    }
    let _ = batch.inspect(0);
}

/// One mutation of one source: whether it is still a model.
fn attempt(seed: u64, number: u64, (path, text): &(PathBuf, String)) -> bool {
    let mut rng = ChaCha8Rng::seed_from_u64(seed.wrapping_mul(0x9e37_79b9).wrapping_add(number));
    let mut text = text.clone();
    for _ in 0..rng.random_range(1..=3) {
        mutate(&mut rng, &mut text);
    }
    let folder = path.parent().expect("a folder");
    let bytes_rng = RefCell::new(rng);
    let read = |named: &Path| {
        let mut bytes = fs::read(folder.join(named))?;
        spoil(&mut bytes_rng.borrow_mut(), &mut bytes);
        Ok(bytes)
    };
    let name = path.display().to_string();
    let options = ImportOptions { ignore_unsupported: number.is_multiple_of(2), ..ImportOptions::default() };
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let loaded = if name.ends_with(".urdf") {
            from_urdf_str(&name, &text, &read, &options)
        } else {
            from_mjcf_str(&name, &text, &read, &options)
        };
        loaded.map(|loaded| steps(&loaded.model)).is_ok()
    }));
    let Ok(is_model) = outcome else {
        let kept = std::env::temp_dir().join(format!("mutated-{seed}-{number}.xml"));
        fs::write(&kept, &text).expect("a text kept");
        panic!("mutation {number} of {name} panics: see {}", kept.display());
    };
    is_model
}

#[test]
fn mutated_files_are_models_or_errors() {
    let number = |name: &str, otherwise: u64| {
        std::env::var(name)
            .map_or(otherwise, |text| text.parse().unwrap_or_else(|_| panic!("{name}: {text} is no number")))
    };
    let (count, seed) = (number("MANYWORLDS_MUTATIONS", COUNT), number("MANYWORLDS_SEED", 1));
    let sources = sources();
    let models = (0..count).filter(|&n| attempt(seed, n, &sources[n as usize % sources.len()])).count() as u64;
    // Neither all, for then nothing was changed, nor none.
    assert!(count / 10 < models && models < count, "{models} of {count}");
}
