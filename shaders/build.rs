//! Expands the imports of every kernel, gives it the constants and structs that it shares with Rust, validates it in both
//! precisions and each tile width, and writes the registry: the expanded WGSL, what naga reflects of it, and the mirror of
//! the same stem. A fault fails the build, naming the file and line it is in.

#[path = "build/expand.rs"]
mod expand;
#[path = "build/inlined.rs"]
mod inlined;
#[path = "src/prelude.rs"]
#[allow(dead_code, unreachable_pub)]
mod prelude;
#[path = "build/reflect.rs"]
mod reflect;
#[path = "build/share.rs"]
mod share;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use expand::{Sources, expand, read_sources};
use prelude::{Precision, TILES};
use reflect::{Reflection, reflect};

fn main() {
    println!("cargo::rerun-if-changed=src");
    println!("cargo::rerun-if-changed=build");
    if let Err(errors) = build() {
        // Cargo shows `cargo::error` lines even without -vv.
        for line in errors.lines() {
            println!("cargo::error={line}");
        }
        std::process::exit(1);
    }
}

fn build() -> Result<(), String> {
    let root = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR").map_err(|error| error.to_string())?).join("src");
    let out = PathBuf::from(std::env::var("OUT_DIR").map_err(|error| error.to_string())?);
    let sources = read_sources(&root)?;
    let mut stages: BTreeMap<String, String> = BTreeMap::new();
    let mut all = String::new();
    let mut errors = String::new();
    let kernels = sources.iter().filter(|(name, text)| name.ends_with(".wgsl") && text.contains("@compute"));
    for name in kernels.filter_map(|(name, _)| name.strip_suffix(".wgsl")) {
        match kernel(&sources, name, &out) {
            Ok((stage, constant, code)) => {
                stages.entry(stage.clone()).or_default().push_str(&code);
                let _ = writeln!(all, "    &kernel::{stage}::{constant},");
            }
            Err(error) => {
                let _ = writeln!(errors, "{error}");
            }
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let mut code = String::from("/// The kernels by stage: `kernel::dynamics::KINEMATICS`.\npub mod kernel {\n");
    for (stage, kernels) in &stages {
        let _ = writeln!(code, "/// Kernels of src/{stage}.\npub mod {stage} {{\nuse crate::registry::*;\n{kernels}}}");
    }
    let _ = writeln!(code, "}}\n/// Every kernel, by name.\npub static KERNELS: &[&Kernel] = &[\n{all}];");
    write(&out.join("registry.rs"), &code)
}

/// Checks one kernel; its stage, the name of its static, and the code of that.
fn kernel(sources: &Sources, name: &str, out: &Path) -> Result<(String, String, String), String> {
    let expanded = expand(sources, &format!("{name}.wgsl"))?;
    let mut found: Vec<(u32, Reflection)> = Vec::new();
    for precision in Precision::ALL {
        for tile in TILES {
            let reflection =
                reflect(&expanded, precision, tile).map_err(|error| format!("src/{name}.wgsl: {error}"))?;
            found.push((tile, reflection));
        }
    }
    let (_, first) = &found[0];
    let lanes = found.iter().all(|(tile, reflection)| reflection.workgroup == *tile);
    if !lanes && found.iter().any(|(_, reflection)| reflection.workgroup != first.workgroup) {
        return Err(format!("src/{name}.wgsl: the workgroup is TILE wide, or of one width whatever the tile"));
    }
    let Some((stage, stem)) = name.split_once('/') else {
        return Err(format!("src/{name}.wgsl: a kernel lives in the folder of its stage"));
    };
    let file = format!("{}.wgsl", name.replace('/', "_"));
    write(&out.join(&file), &expanded.text)?;
    let constant = stem.replace('/', "_").to_uppercase();
    let mirror = name.replace('/', "::");
    let width = match (lanes, expanded.text.contains("lane_index(group, local)")) {
        (true, true) => "Width::Tile".into(),
        (true, false) => "Width::Group".into(),
        (false, _) => format!("Width::Fixed({})", first.workgroup),
    };
    let mut bindings = String::new();
    for binding in &first.bindings {
        let _ = write!(
            bindings,
            "Binding {{ name: {:?}, real: {}, write: {} }}, ",
            binding.name, binding.real, binding.write
        );
    }
    let bytes = found.iter().map(|(_, reflection)| reflection.workgroup_bytes).max().unwrap_or_default();
    let code = format!(
        "/// `{name}`.\npub static {constant}: Kernel = Kernel {{\n    name: {name:?},\n    \
         wgsl: include_str!(concat!(env!(\"OUT_DIR\"), \"/{file}\")),\n    width: {width},\n    \
         bindings: &[{bindings}],\n    constants: &{:?},\n    dims_bytes: {},\n    workgroup_bytes: {bytes},\n    \
         mirror_f32: crate::{mirror}::mirror::<crate::F32x8>,\n    mirror_f64: crate::{mirror}::mirror::<crate::F64x8>,\n    lone_mirror_f64: crate::{mirror}::mirror::<f64>,\n}};\nconst _: () = assert!(size_of::<crate::{mirror}::Dims>() == {});\n",
        first.constants, first.dims_bytes, first.dims_bytes
    );
    Ok((stage.to_string(), constant, code))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}
