//! Meshes and heightfields.

use std::path::{Path, PathBuf};

use manyworlds_geometry::{Filling, TriangleMesh};

use super::compiler::quaternion;
use super::sdf::is_function;
use super::{Importer, MeshAsset, schema};
use crate::attributes::Attributes;
use crate::import::text_of;
use crate::validate::Part;
use crate::xml::{self, Element};
use crate::{HeightField, ModelError, Quat, Vec3};

/// More samples than this in a heightfield is taken for a mistake.
const MAX_SAMPLES: usize = 100_000_000;

impl Importer<'_> {
    pub(super) fn assets(&mut self, section: &Element) -> Result<(), ModelError> {
        for element in &section.children {
            match element.tag.as_str() {
                "mesh" => self.mesh(element)?,
                "hfield" => self.heightfield(element)?,
                // Read before everything that looks like them.
                "texture" | "material" => {}
                "skin" => self.report.ignore(element.location(), "looks only"),
                "model" => {
                    let file = element.required("file")?;
                    let name = match element.get("name") {
                        Some(name) => name.to_owned(),
                        None => self.name_of_model(element, file)?,
                    };
                    Self::name(&mut self.names.models, element, &name, file.to_owned())?;
                }
                other => self.report.unsupported(element.location(), format!("unknown asset <{other}>"))?,
            }
        }
        Ok(())
    }

    fn mesh(&mut self, element: &Element) -> Result<(), ModelError> {
        schema::check(element, &mut self.report)?;
        let a = self.defaults.apply(element, 0)?;
        let file = a.get("file");
        let stem = file.and_then(|f| Path::new(f).file_stem()?.to_str()).unwrap_or("");
        let name = a.element.get("name").unwrap_or(stem).to_owned();
        let plugin = element.children.iter().find(|c| c.tag == "plugin").map(|plugin| {
            let instance = plugin.get("instance").and_then(|name| self.names.plugins.get(name));
            plugin.get("plugin").or(instance.map(|(name, _)| name.as_str())).unwrap_or_default()
        });
        if plugin.is_some_and(is_function) {
            let what = "a mesh made by a distance function is for geoms of type sdf";
            let asset = MeshAsset { mesh: None, why_no_hull: what.into(), solid: Err(what.into()) };
            return Self::name(&mut self.names.meshes, element, &name, asset);
        }
        let unsupported = if plugin.is_some() {
            Some("meshes made by a plugin")
        } else if a.has("builtin") && a.get("builtin") != Some("none") {
            Some("builtin meshes")
        } else {
            None
        };
        if let Some(what) = unsupported {
            // Refused here only; geoms that use it find a mesh without hull or mass.
            self.report.unsupported(element.location(), what)?;
            let asset = MeshAsset { mesh: None, why_no_hull: what.into(), solid: Err(what.into()) };
            return Self::name(&mut self.names.meshes, element, &name, asset);
        }
        let mut mesh = match (file, a.list::<f64>("vertex")?) {
            (Some(_), Some(_)) => return Err(a.error("`file` and `vertex` exclude each other")),
            (Some(file), None) => {
                let (path, bytes) = self.asset(element, "mesh ", file)?;
                TriangleMesh::read(&path, &bytes).map_err(|why| a.error(format!("{}: {why}", path.display())))?
            }
            (None, Some(vertices)) => inline_mesh(&a, &vertices)?,
            (None, None) => return Err(a.error("a mesh needs a `file` or `vertex`")),
        };
        let refpos = a.vector("refpos")?.unwrap_or_else(Vec3::zeros);
        let refquat = quaternion(&a, "refquat")?.unwrap_or_else(Quat::identity);
        mesh.transform(refpos, refquat, a.vector("scale")?.unwrap_or_else(|| Vec3::repeat(1.0)));
        let filling = match a.get("inertia") {
            None | Some("legacy") => Filling::Legacy,
            Some("convex") => Filling::Convex,
            Some("exact") => Filling::Exact,
            Some("shell") => Filling::Shell,
            Some(other) => return Err(a.error(format!("unknown mesh inertia `{other}`"))),
        };
        let solid = mesh.solid(filling);
        let (index, why_no_hull) = match mesh.asset(name.clone()) {
            Ok(mesh) => (Some(self.builder.mesh(mesh)), String::new()),
            Err(why) => (None, why),
        };
        if let Some(index) = index {
            self.origin(Part::Mesh, index, element);
        }
        Self::name(&mut self.names.meshes, element, &name, MeshAsset { mesh: index, why_no_hull, solid })
    }

    /// A file that an element names, and where it is: in the folder of meshes, or else beside the included file that names it.
    pub(super) fn asset(&self, element: &Element, what: &str, file: &str) -> Result<(PathBuf, Vec<u8>), ModelError> {
        let path = self.compiler.mesh_path(&self.directory, file);
        let beside = element.included_from().map(|folder| folder.join(file));
        xml::first_of(self.resolver, &path, beside.as_deref())
            .map_err(|error| element.error(format!("cannot read {what}{}: {error}", path.display())))
    }

    /// The name that another model's file gives itself, or else the file's.
    fn name_of_model(&self, element: &Element, file: &str) -> Result<String, ModelError> {
        let path = self.directory.join(file);
        let bytes = (self.resolver)(&path)
            .map_err(|error| element.error(format!("cannot read {}: {error}", path.display())))?;
        let root = xml::parse(&path, &text_of(bytes), self.resolver)?;
        let stem = path.file_stem().and_then(|s| s.to_str()).unwrap_or(file);
        Ok(root.get("model").unwrap_or(stem).to_owned())
    }

    fn heightfield(&mut self, element: &Element) -> Result<(), ModelError> {
        schema::check(element, &mut self.report)?;
        let a = Attributes::bare(element);
        let [x, y, elevation, base] = a.exactly::<4>("size")?.ok_or_else(|| a.error("attribute `size` is missing"))?;
        let (n_rows, n_cols, raw) = match a.get("file") {
            Some(file) => {
                let (path, bytes) = self.asset(element, "heightfield ", file)?;
                let is_png = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("png"))
                    || a.get("content_type") == Some("image/png");
                let heights = if is_png { png_heights(&bytes) } else { binary_heights(&bytes) };
                heights.map_err(|why| a.error(format!("{}: {why}", path.display())))?
            }
            None => inline_heights(&a)?,
        };
        // Normalised to 0..1 whatever the file holds, then scaled, as in MuJoCo.
        let low = raw.iter().copied().fold(f64::INFINITY, f64::min);
        let range = raw.iter().copied().fold(f64::NEG_INFINITY, f64::max) - low;
        let factor = if range > 0.0 { elevation / range } else { 0.0 };
        let heights = raw.iter().map(|h| (h - low) * factor).collect();
        let stem = a.get("file").and_then(|f| Path::new(f).file_stem()?.to_str()).unwrap_or("");
        let name = a.get("name").unwrap_or(stem).to_owned();
        let field = HeightField { name: name.clone(), n_rows, n_cols, half: [x, y], heights, base };
        let index = self.builder.heightfield(field);
        self.origin(Part::HeightField, index, element);
        Self::name(&mut self.names.heightfields, element, &name, index)
    }
}

fn inline_mesh(a: &Attributes, numbers: &[f64]) -> Result<TriangleMesh, ModelError> {
    if !numbers.len().is_multiple_of(3) {
        return Err(a.error(format!("`vertex` needs 3 numbers a vertex, found {} in all", numbers.len())));
    }
    let vertices = numbers.chunks_exact(3).map(|v| Vec3::new(v[0], v[1], v[2])).collect();
    let faces = a.list::<u32>("face")?.unwrap_or_default();
    if !faces.len().is_multiple_of(3) {
        return Err(a.error(format!("`face` needs 3 indices a face, found {} in all", faces.len())));
    }
    let triangles: Vec<[u32; 3]> = faces.chunks_exact(3).map(|f| [f[0], f[1], f[2]]).collect();
    let places = a.list::<f64>("texcoord")?.unwrap_or_default();
    if !(places.is_empty() || places.len() / 2 * 3 == numbers.len() && places.len().is_multiple_of(2)) {
        let (wanted, found) = (numbers.len() / 3 * 2, places.len());
        return Err(a.error(format!("`texcoord` needs 2 numbers a vertex, {wanted} in all, found {found}")));
    }
    let place = |v: u32| Some([*places.get(2 * v as usize)? as f32, *places.get(2 * v as usize + 1)? as f32]);
    let lie = |t: &[u32; 3]| Some([place(t[0])?, place(t[1])?, place(t[2])?]);
    let texture = triangles.iter().map(lie).collect::<Option<_>>().unwrap_or_default();
    TriangleMesh { vertices, triangles, texture }.checked().map_err(|why| a.error(why))
}

type Heights = (usize, usize, Vec<f64>);

/// `nrow`, `ncol` and the rows from top (highest y) to bottom; flat without `elevation`.
fn inline_heights(a: &Attributes) -> Result<Heights, ModelError> {
    let size = |name: &str| usize::try_from(a.integer(name, 0)?).map_err(|_| a.error(format!("`{name}` is negative")));
    let (n_rows, n_cols) = (size("nrow")?, size("ncol")?);
    let count = n_rows.checked_mul(n_cols).filter(|&n| n <= MAX_SAMPLES);
    let count = count.ok_or_else(|| a.error(format!("{n_rows} x {n_cols} samples are too many")))?;
    let Some(elevation) = a.list::<f64>("elevation")? else { return Ok((n_rows, n_cols, vec![0.0; count])) };
    if elevation.len() != count || count == 0 {
        return Err(a.error(format!("`elevation` needs {n_rows} x {n_cols} numbers, found {}", elevation.len())));
    }
    let bottom_up = elevation.chunks_exact(n_cols).rev().flatten().copied().collect();
    Ok((n_rows, n_cols, bottom_up))
}

/// Heights of a picture as grey levels of 8 bits, the lowest row of pixels first; of colours the red one, as in MuJoCo.
fn png_heights(bytes: &[u8]) -> Result<Heights, String> {
    let mut decoder = png::Decoder::new(std::io::Cursor::new(bytes));
    decoder.set_transformations(png::Transformations::EXPAND | png::Transformations::STRIP_16);
    let mut reader = decoder.read_info().map_err(|error| error.to_string())?;
    let size = reader.output_buffer_size().filter(|&size| size <= MAX_SAMPLES);
    let mut pixels = vec![0; size.ok_or("the picture is too large")?];
    let info = reader.next_frame(&mut pixels).map_err(|error| error.to_string())?;
    let (n_rows, n_cols, samples) = (info.height as usize, info.width as usize, info.color_type.samples());
    let rows = pixels.chunks_exact(info.line_size.max(1)).take(n_rows).rev();
    let heights =
        rows.flat_map(|row| row.chunks_exact(samples).take(n_cols)).map(|pixel| f64::from(pixel[0])).collect();
    Ok((n_rows, n_cols, heights))
}

/// MuJoCo's own format: rows and columns (int32), then heights (float32), the lowest row first.
fn binary_heights(bytes: &[u8]) -> Result<Heights, String> {
    let mut words = bytes.chunks_exact(4).map(|w| [w[0], w[1], w[2], w[3]]);
    let mut size = || usize::try_from(i32::from_le_bytes(words.next()?)).ok();
    let (Some(n_rows), Some(n_cols)) = (size(), size()) else { return Err("too short for a heightfield".into()) };
    let heights: Vec<f64> = words.map(|w| f64::from(f32::from_le_bytes(w))).collect();
    if n_rows.checked_mul(n_cols) != Some(heights.len()) {
        return Err(format!("{n_rows} x {n_cols} heights expected, {} found", heights.len()));
    }
    Ok((n_rows, n_cols, heights))
}
