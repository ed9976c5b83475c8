//! Imports of WGSL files, in their first lines.
//!
//! `#import stage/module` stands for that module, once a kernel; `#import stage/module.rs` for what is [`shared`] in that
//! Rust file. A WGSL file sees what is shared in the Rust file of its own stem without saying so.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

use crate::share::shared;

/// The WGSL and the Rust files by name: `dynamics/tree.wgsl`.
pub(crate) type Sources = BTreeMap<String, String>;

/// A kernel with its imports in place.
pub(crate) struct Expanded {
    pub(crate) text: String,
    /// Where each line came from: a WGSL file and the number in it, or a Rust file.
    pub(crate) lines: Vec<String>,
}

/// Reads every WGSL and Rust file under `root`.
pub(crate) fn read_sources(root: &Path) -> Result<Sources, String> {
    let mut sources = Sources::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        for entry in entries {
            let path: PathBuf = entry.map_err(|error| format!("{}: {error}", folder.display()))?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "wgsl" || extension == "rs") {
                let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
                let name = path.strip_prefix(root).unwrap_or(&path);
                let parts: Vec<_> = name.iter().map(|part| part.to_string_lossy().into_owned()).collect();
                sources.insert(parts.join("/"), text);
            }
        }
    }
    Ok(sources)
}

/// Expands the imports of one WGSL file.
pub(crate) fn expand(sources: &Sources, name: &str) -> Result<Expanded, String> {
    let mut expanded = Expanded { text: String::new(), lines: Vec::new() };
    let mut seen = Vec::new();
    append(sources, name, &mut seen, &mut expanded)?;
    define(sources, &seen, &mut expanded)?;
    Ok(expanded)
}

fn append(sources: &Sources, name: &str, seen: &mut Vec<String>, out: &mut Expanded) -> Result<(), String> {
    seen.push(name.to_string());
    let Some(source) = sources.get(name) else { return Err(format!("no file src/{name}")) };
    let mirror = name.replace(".wgsl", ".rs");
    if sources.contains_key(&mirror) && !seen.contains(&mirror) {
        seen.push(mirror);
    }
    for (number, line) in source.lines().enumerate() {
        if let Some(module) = line.trim().strip_prefix("#import ") {
            let module = module.trim();
            let rust = module.ends_with(".rs");
            let file = if rust { module.to_string() } else { format!("{module}.wgsl") };
            if seen.contains(&file) {
                continue;
            }
            if rust && sources.contains_key(&file) {
                seen.push(file);
            } else {
                append(sources, &file, seen, out).map_err(|error| format!("src/{name}:{}: {error}", number + 1))?;
            }
        } else {
            out.text.push_str(line);
            out.text.push('\n');
            out.lines.push(format!("src/{name}:{}", number + 1));
        }
    }
    Ok(())
}

/// Appends what a kernel names of what is shared in the files it sees, and what that names in turn.
fn define(sources: &Sources, seen: &[String], out: &mut Expanded) -> Result<(), String> {
    let mut known: BTreeMap<String, Vec<(&str, String)>> = BTreeMap::new();
    for file in seen.iter().filter(|file| file.ends_with(".rs")) {
        for item in shared(&sources[file]).map_err(|error| format!("src/{file}: {error}"))? {
            known.entry(item.name).or_default().push((file, item.wgsl));
        }
    }
    let mut defined = BTreeSet::new();
    let mut wanted: VecDeque<String> = words(&out.text).map(str::to_string).collect();
    while let Some(name) = wanted.pop_front() {
        let Some(definitions) = known.get(&name) else { continue };
        if !defined.insert(name.clone()) {
            continue;
        }
        let [(file, wgsl)] = definitions.as_slice() else {
            let files: Vec<_> = definitions.iter().map(|(file, _)| format!("src/{file}")).collect();
            return Err(format!("`{name}` is defined more than once: {}", files.join(", ")));
        };
        out.text.push_str(wgsl);
        out.text.push('\n');
        out.lines.push(format!("src/{file}"));
        wanted.extend(words(wgsl).map(str::to_string));
    }
    Ok(())
}

/// The identifiers in a piece of WGSL, comments aside.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let code = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    code.flat_map(|line| line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'))
}
