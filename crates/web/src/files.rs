//! Files that were dropped on the page, by their paths.

use std::collections::BTreeMap;
use std::io;
use std::path::{Component, Path, PathBuf};

use manyworlds::model::{from_mjcf_str, from_urdf_str};
use manyworlds::{ImportOptions, Loaded};

/// Dropped files.
#[derive(Debug, Default)]
pub struct Files(BTreeMap<PathBuf, Vec<u8>>);

impl Files {
    /// One more; a path that was there before gets the new bytes.
    pub fn add(&mut self, path: &str, bytes: Vec<u8>) {
        self.0.insert(normal(Path::new(path)), bytes);
    }

    /// Forgets them.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The model of one of them, MJCF or URDF; a URDF gets a ground.
    ///
    /// # Errors
    /// What is wrong, with file and line.
    pub fn load(&self, path: &str) -> Result<Loaded, String> {
        let path = normal(Path::new(path));
        let bytes = self.0.get(&path).ok_or_else(|| format!("{}: this file was not dropped", path.display()))?;
        let text = std::str::from_utf8(bytes).map_err(|_| format!("{}: not a text file", path.display()))?;
        let options = ImportOptions { ground: true, ..ImportOptions::default() };
        let read = |path: &Path| self.read(path);
        let kind = path.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase);
        match kind.as_deref() {
            Some("urdf") => from_urdf_str(&path, text, &read, &options),
            Some("xml" | "mjcf") => from_mjcf_str(&path, text, &read, &options),
            _ => return Err(format!("{}: expected a file .xml, .mjcf (MJCF) or .urdf", path.display())),
        }
        .map_err(|error| error.to_string())
    }

    /// A file that a model names: by its path, or else by its name if one alone has it.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let path = normal(path);
        if let Some(bytes) = self.0.get(&path) {
            return Ok(bytes.clone());
        }
        let mut alike = self.0.iter().filter(|(other, _)| other.file_name() == path.file_name());
        match (alike.next(), alike.next()) {
            (Some((_, bytes)), None) => Ok(bytes.clone()),
            _ => {
                let message = format!("{} was not dropped: drop it together with the model", path.display());
                Err(io::Error::new(io::ErrorKind::NotFound, message))
            }
        }
    }
}

/// Without `.` and `..`.
fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                out.pop();
            }
            Component::Normal(name) => out.push(name),
            _ => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::Files;

    #[test]
    fn a_model_finds_the_mesh_dropped_with_it() {
        let mut files = Files::default();
        let model = "<mujoco>\n<asset><mesh name=\"m\" file=\"parts/m.obj\"/></asset>\n<worldbody><body><freejoint/>\
                     <geom type=\"mesh\" mesh=\"m\"/></body></worldbody></mujoco>";
        files.add("robot/robot.xml", model.into());
        let missing = files.load("robot/robot.xml").unwrap_err();
        assert!(missing.contains("robot/robot.xml:2") && missing.contains("m.obj"), "{missing}");
        let mesh = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n";
        files.add("m.obj", mesh.into());
        assert_eq!(files.load("robot/robot.xml").unwrap().model.meshes.len(), 1);
    }

    #[test]
    fn a_bad_file_is_named_with_its_line() {
        let mut files = Files::default();
        files.add(
            "bad.xml",
            b"<mujoco>\n<worldbody>\n<geom type=\"sphere\" size=\"no\"/></worldbody></mujoco>".to_vec(),
        );
        let message = files.load("bad.xml").unwrap_err();
        assert!(message.contains("bad.xml:3") && message.contains("no"), "{message}");
        assert!(files.load("other.xml").is_err());
    }
}
