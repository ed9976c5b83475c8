//! Files that were dropped on the page, by their paths.

use std::collections::BTreeMap;
use std::io::{self, Cursor, Read};
use std::path::{Component, Path, PathBuf};

use manyworlds::model::{from_mjcf_str, from_urdf_str};
use manyworlds::{ImportOptions, Loaded};

/// Memory that an archive may take when unpacked, B.
const MOST_BYTES: u64 = 512 << 20;

/// Dropped files.
#[derive(Debug, Default)]
pub struct Files(BTreeMap<PathBuf, Vec<u8>>);

impl Files {
    /// One more; a path that was there before gets the new bytes. Of an archive (.zip), all that is in it.
    ///
    /// # Errors
    /// An archive that cannot be read, or that is too large.
    pub fn add(&mut self, path: &str, bytes: Vec<u8>) -> Result<(), String> {
        if extension(Path::new(path)).as_deref() == Some("zip") {
            return self.unpack(bytes).map_err(|problem| format!("{path}: {problem}"));
        }
        self.0.insert(normal(Path::new(path)), bytes);
        Ok(())
    }

    fn unpack(&mut self, bytes: Vec<u8>) -> Result<(), String> {
        let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).map_err(|e| e.to_string())?;
        let mut left = MOST_BYTES;
        for number in 0..archive.len() {
            let file = archive.by_index(number).map_err(|e| e.to_string())?;
            if !file.is_file() {
                continue;
            }
            let path = normal(Path::new(file.name()));
            let mut bytes = Vec::new();
            // What an archive says of its sizes may be wrong.
            file.take(left + 1).read_to_end(&mut bytes).map_err(|e| format!("{}: {e}", path.display()))?;
            left = left
                .checked_sub(bytes.len() as u64)
                .ok_or_else(|| format!("more than {} MiB when unpacked", MOST_BYTES >> 20))?;
            self.0.insert(path, bytes);
        }
        Ok(())
    }

    /// The path of the model among them: the one least deep in folders; of several there, the first by name.
    ///
    /// # Errors
    /// There is none.
    pub fn model(&self) -> Result<String, String> {
        let is_model = |path: &&PathBuf| extension(path).is_some_and(|e| ["xml", "mjcf", "urdf"].contains(&e.as_str()));
        // A Mac's archives hold another file beside each, in a folder of this name.
        let own = |path: &&PathBuf| !path.starts_with("__MACOSX");
        let found = self.0.keys().filter(own).filter(is_model).min_by_key(|path| (path.components().count(), *path));
        let found = found.ok_or("There is no model in what was dropped: expected a file .xml, .mjcf or .urdf.")?;
        Ok(found.to_string_lossy().into_owned())
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
        match extension(&path).as_deref() {
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

/// In small letters.
fn extension(path: &Path) -> Option<String> {
    path.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase)
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
    use std::io::{Cursor, Write};

    use zip::write::SimpleFileOptions;
    use zip::{CompressionMethod, ZipWriter};

    use super::Files;

    #[test]
    fn a_model_finds_the_mesh_dropped_with_it() {
        let mut files = Files::default();
        let model = "<mujoco>\n<asset><mesh name=\"m\" file=\"parts/m.obj\"/></asset>\n<worldbody><body><freejoint/>\
                     <geom type=\"mesh\" mesh=\"m\"/></body></worldbody></mujoco>";
        files.add("robot/robot.xml", model.into()).unwrap();
        let missing = files.load("robot/robot.xml").unwrap_err();
        assert!(missing.contains("robot/robot.xml:2") && missing.contains("m.obj"), "{missing}");
        let mesh = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n";
        files.add("m.obj", mesh.into()).unwrap();
        assert_eq!(files.load("robot/robot.xml").unwrap().model.meshes.len(), 1);
    }

    #[test]
    fn an_archive_is_as_good_as_its_folder() {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        let model = "<mujoco><asset><mesh name=\"m\" file=\"parts/m.obj\"/></asset><worldbody><body><freejoint/>\
                     <geom type=\"mesh\" mesh=\"m\"/></body></worldbody></mujoco>";
        let mesh = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n";
        let kinds = [CompressionMethod::Deflated, CompressionMethod::Stored];
        for ((path, text), kind) in [("robot/robot.xml", model), ("robot/parts/m.obj", mesh)].into_iter().zip(kinds) {
            writer.start_file(path, SimpleFileOptions::default().compression_method(kind)).unwrap();
            writer.write_all(text.as_bytes()).unwrap();
        }
        let bytes = writer.finish().unwrap().into_inner();
        let mut files = Files::default();
        assert!(files.model().is_err());
        files.add("robot.zip", bytes.clone()).unwrap();
        assert_eq!(files.load(&files.model().unwrap()).unwrap().model.meshes.len(), 1);
        let broken = files.add("broken.zip", bytes[..bytes.len() / 2].to_vec()).unwrap_err();
        assert!(broken.starts_with("broken.zip: "), "{broken}");
    }

    #[test]
    fn a_bad_file_is_named_with_its_line() {
        let mut files = Files::default();
        let bad = "<mujoco>\n<worldbody>\n<geom type=\"sphere\" size=\"no\"/></worldbody></mujoco>";
        files.add("bad.xml", bad.into()).unwrap();
        let message = files.load("bad.xml").unwrap_err();
        assert!(message.contains("bad.xml:3") && message.contains("no"), "{message}");
        assert!(files.load("other.xml").is_err());
    }
}
