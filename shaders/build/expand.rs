//! Imports: `#import stage/module` in a file's first lines stands for that module, once a kernel.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The WGSL files by name (`dynamics/tree`), unexpanded.
pub(crate) type Sources = BTreeMap<String, String>;

/// A kernel with its imports in place.
pub(crate) struct Expanded {
    pub(crate) text: String,
    /// Of each line, the file it came from and its number there.
    pub(crate) lines: Vec<(String, usize)>,
}

/// Reads every WGSL file under `root`.
pub(crate) fn read_sources(root: &Path) -> Result<Sources, String> {
    let mut sources = Sources::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        for entry in entries {
            let path: PathBuf = entry.map_err(|error| format!("{}: {error}", folder.display()))?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "wgsl") {
                let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
                let name = path.strip_prefix(root).unwrap_or(&path).with_extension("");
                let parts: Vec<_> = name.iter().map(|part| part.to_string_lossy().into_owned()).collect();
                sources.insert(parts.join("/"), text);
            }
        }
    }
    Ok(sources)
}

/// Expands the imports of one file.
pub(crate) fn expand(sources: &Sources, name: &str) -> Result<Expanded, String> {
    let mut expanded = Expanded { text: String::new(), lines: Vec::new() };
    append(sources, name, &mut Vec::new(), &mut expanded)?;
    Ok(expanded)
}

fn append(sources: &Sources, name: &str, seen: &mut Vec<String>, out: &mut Expanded) -> Result<(), String> {
    seen.push(name.to_string());
    let Some(source) = sources.get(name) else { return Err(format!("no module {name}.wgsl")) };
    for (number, line) in source.lines().enumerate() {
        if let Some(module) = line.trim().strip_prefix("#import ") {
            let module = module.trim();
            if !seen.iter().any(|other| other == module) {
                append(sources, module, seen, out)
                    .map_err(|error| format!("src/{name}.wgsl:{}: {error}", number + 1))?;
            }
        } else {
            out.text.push_str(line);
            out.text.push('\n');
            out.lines.push((name.to_string(), number + 1));
        }
    }
    Ok(())
}
