//! The files of `src` as text.

use std::collections::BTreeMap;
use std::path::Path;

/// The WGSL and Rust files by name, `dynamics/tree.wgsl`.
pub(crate) fn files() -> BTreeMap<String, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut out = BTreeMap::new();
    read(&root, &root, &mut out);
    out
}

fn read(root: &Path, folder: &Path, out: &mut BTreeMap<String, String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read(root, &path, out);
        } else if path.extension().is_some_and(|extension| extension == "wgsl" || extension == "rs") {
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
            out.insert(name, std::fs::read_to_string(&path).unwrap());
        }
    }
}
