//! Collision geometry, and the mesh files that it names.

use std::path::{Path, PathBuf};

use manyworlds_geometry::{Filling, TriangleMesh};

use super::Importer;
use super::robot::{Link, child, origin};
use crate::attributes::Attributes;
use crate::validate::Part;
use crate::xml::Element;
use crate::{Contacting, Geom, Inertial, ModelError, Pose, Quat, Shape, Vec3};

/// Of what has no `<inertial>`, kg/m³.
const DENSITY: f64 = 1000.0;

impl Importer<'_> {
    /// Reads them; their mass, in the body's frame, where the link has none of its own.
    pub(super) fn collisions(&mut self, link: &Link, body: usize, frame: &Pose) -> Result<Inertial, ModelError> {
        let look = self.look(link)?;
        let mut solids = Vec::new();
        for element in link.element.children.iter().filter(|c| c.tag == "collision") {
            let Some(shape) = self.shape(element)? else { continue };
            let name = element.get("name").unwrap_or("").to_owned();
            let pose = frame * origin(element)?;
            if link.inertial.is_none() {
                let solid = self.solid(&shape).map_err(|why| {
                    element.error(format!("its link has no <inertial>, and the mesh has no mass properties: {why}"))
                })?;
                solids.push(solid.scaled(DENSITY).moved(&pose));
            }
            let geom = self.builder.geom(Geom { name, body, pose, shape, contact: Contacting::default() });
            self.builder.visual.geoms[geom] = look;
            self.origins.insert((Part::Geom, geom), element.location());
        }
        Ok(Inertial::sum(&solids))
    }

    /// Mass properties at density 1.
    fn solid(&self, shape: &Shape) -> Result<Inertial, String> {
        match shape {
            Shape::Mesh(mesh) => self.solids.get(mesh).cloned().unwrap_or_else(|| Ok(Inertial::zero())),
            _ => Ok(Inertial::of_shape(shape, 1.0)),
        }
    }

    /// `None` for an unsupported shape that may be left out.
    fn shape(&mut self, collision: &Element) -> Result<Option<Shape>, ModelError> {
        let geometry = child(collision, "geometry").ok_or_else(|| collision.error("<geometry> is missing"))?;
        let Some(element) = geometry.children.first() else { return Err(geometry.error("it is empty")) };
        let a = Attributes::bare(element);
        let needed = |name: &str| match a.exactly::<1>(name)? {
            Some([value]) => Ok(value),
            None => Err(a.error(format!("attribute `{name}` is missing"))),
        };
        let triple = |name: &str| a.vector(name)?.ok_or_else(|| a.error(format!("attribute `{name}` is missing")));
        let shape = match element.tag.as_str() {
            "box" => Shape::Box { half: triple("size")? / 2.0 },
            "cylinder" => Shape::Cylinder { radius: needed("radius")?, half_length: needed("length")? / 2.0 },
            "capsule" => Shape::Capsule { radius: needed("radius")?, half_length: needed("length")? / 2.0 },
            "sphere" if needed("radius")? == 0.0 => {
                self.report.unsupported(element.location(), "a sphere of zero radius (a contact point)")?;
                return Ok(None);
            }
            "sphere" => Shape::Sphere { radius: needed("radius")? },
            "ellipsoid" => Shape::Ellipsoid { radii: Vec3::new(needed("a")?, needed("b")?, needed("c")?) },
            "mesh" => {
                let scale = a.vector("scale")?.unwrap_or_else(|| Vec3::repeat(1.0));
                return self.mesh(element, element.required("filename")?, scale);
            }
            other => {
                self.report.unsupported(element.location(), format!("unknown geometry <{other}>"))?;
                return Ok(None);
            }
        };
        Ok(Some(shape))
    }

    fn mesh(&mut self, element: &Element, file: &str, scale: Vec3) -> Result<Option<Shape>, ModelError> {
        let key = (file.to_owned(), [scale.x, scale.y, scale.z].map(f64::to_bits));
        if let Some(&mesh) = self.meshes.get(&key) {
            return Ok(Some(Shape::Mesh(mesh)));
        }
        let location = element.location();
        let extension = Path::new(file).extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase);
        if !matches!(extension.as_deref(), Some("stl" | "obj")) {
            self.report.unsupported(location, format!("a mesh file other than .stl and .obj: {file}"))?;
            return Ok(None);
        }
        let refuse = |message: String| ModelError::Import { location: location.clone(), message };
        let candidates = self.candidates(file);
        let found = candidates.iter().find_map(|path| Some((path, (self.resolver)(path).ok()?)));
        let Some((path, bytes)) = found else {
            let tried: Vec<String> = candidates.iter().map(|p| p.display().to_string()).collect();
            return Err(refuse(format!("cannot read the mesh {file}; looked for {}", tried.join(", "))));
        };
        let at_path = |why: String| refuse(format!("{}: {why}", path.display()));
        let mut mesh = TriangleMesh::read(path, &bytes).map_err(at_path)?;
        mesh.transform(Vec3::zeros(), Quat::identity(), scale);
        let name = path.file_stem().and_then(|s| s.to_str()).unwrap_or(file).to_owned();
        let solid = mesh.solid(Filling::Legacy);
        let mesh = self.builder.mesh(mesh.asset(name).map_err(at_path)?);
        self.solids.insert(mesh, solid);
        self.meshes.insert(key, mesh);
        Ok(Some(Shape::Mesh(mesh)))
    }

    /// Where a file may be, and first where MuJoCo's extension has it if it says that.
    pub(super) fn candidates(&self, file: &str) -> Vec<PathBuf> {
        let mut found = candidates(self.path, file);
        if self.compiler.strip_path || !self.compiler.mesh_dir.as_os_str().is_empty() {
            found.insert(0, self.compiler.mesh_path(&crate::xml::directory_of(self.path), file));
        }
        found
    }
}

/// Where a file may be: beside the model, or for `package://NAME/REST` in a folder NAME at or above the model's.
fn candidates(model: &Path, file: &str) -> Vec<PathBuf> {
    let directory = crate::xml::directory_of(model);
    if let Some(rest) = file.strip_prefix("package://") {
        let (package, inside) = rest.split_once('/').unwrap_or(("", rest));
        let mut found = Vec::new();
        for folder in directory.ancestors() {
            if folder.file_name().is_some_and(|name| name == package) {
                found.push(folder.join(inside));
            }
            found.push(folder.join(package).join(inside));
        }
        // Packages are often unpacked without their outer folder.
        found.push(directory.join(inside));
        return found;
    }
    let file = file.strip_prefix("file://").unwrap_or(file);
    vec![directory.join(file)]
}
