//! The registry against the files it was made from, read here anew.

mod sources;

use std::collections::BTreeSet;

use manyworlds_shaders::KERNELS;

#[test]
fn every_kernel_file_is_registered_with_its_mirror() {
    let mut kernels = BTreeSet::new();
    for (name, text) in sources::files() {
        let Some(name) = name.strip_suffix(".wgsl") else { continue };
        if text.contains("@compute") {
            assert!(sources::files().contains_key(&format!("{name}.rs")), "{name} has no mirror");
            kernels.insert(name.to_string());
        }
    }
    let registered: BTreeSet<_> = KERNELS.iter().map(|kernel| kernel.name.to_string()).collect();
    assert!(!kernels.is_empty());
    assert_eq!(kernels, registered);
}

#[test]
fn kernels_fit_every_adapter() {
    for kernel in KERNELS {
        assert!(kernel.dims_bytes <= 128, "{}", kernel.name);
        assert!(kernel.workgroup_bytes <= 16384, "{}", kernel.name);
        assert!(kernel.bindings.len() <= 8, "{}", kernel.name);
        assert!(kernel.bindings.iter().any(|binding| binding.write), "{} writes nothing", kernel.name);
    }
}
