//! The registry against the files it was made from, read here anew.

use std::collections::BTreeSet;
use std::path::Path;

use manyworlds_shaders::{KERNELS, Kernel};

fn wgsl_files(folder: &Path, out: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            wgsl_files(&path, out);
        } else if path.extension().is_some_and(|extension| extension == "wgsl") {
            out.push(path);
        }
    }
}

#[test]
fn every_kernel_file_is_registered_with_its_mirror() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    wgsl_files(&root, &mut files);
    let mut kernels = BTreeSet::new();
    for file in &files {
        if std::fs::read_to_string(file).unwrap().contains("@compute") {
            assert!(file.with_extension("rs").exists(), "{} has no mirror", file.display());
            let name = file.strip_prefix(&root).unwrap().with_extension("");
            kernels.insert(name.to_str().unwrap().replace('\\', "/"));
        }
    }
    let registered: BTreeSet<_> = KERNELS.iter().map(|kernel| kernel.name.to_string()).collect();
    assert!(!kernels.is_empty());
    assert_eq!(kernels, registered);
}

/// Where the two layouts of a kernel's dims differ.
fn layout_fault(kernel: &Kernel, rust: &[(String, usize)]) -> Option<String> {
    let wgsl: Vec<_> = kernel.wgsl_dims.iter().map(|(name, at)| ((*name).to_string(), *at as usize)).collect();
    (wgsl != rust).then(|| format!("{}: WGSL {wgsl:?}, Rust {rust:?}", kernel.name))
}

#[test]
fn dims_are_laid_out_alike() {
    for kernel in KERNELS {
        let rust = (kernel.rust_dims)();
        assert_eq!(layout_fault(kernel, &rust), None);
        assert!(kernel.rust_dims_bytes <= 128, "{}", kernel.name);
        assert_eq!(rust.len() * 4, kernel.rust_dims_bytes, "{}: dims! leaves out a field", kernel.name);
    }
}

#[test]
fn the_layout_comparison_can_fail() {
    let kernel = KERNELS[0];
    let mut rust = (kernel.rust_dims)();
    rust[1].1 += 4;
    assert!(layout_fault(kernel, &rust).is_some());
}

#[test]
fn kernels_fit_every_adapter() {
    for kernel in KERNELS {
        assert!(kernel.workgroup_bytes <= 16384, "{}", kernel.name);
        assert!(kernel.bindings.len() <= 8, "{}", kernel.name);
        assert!(kernel.bindings.iter().any(|binding| binding.write), "{} writes nothing", kernel.name);
    }
}
