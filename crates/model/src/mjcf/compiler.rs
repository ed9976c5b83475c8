//! Settings of the `<compiler>` element, and orientations, which depend on them.

use std::path::{Path, PathBuf};

use nalgebra::{Quaternion, Rotation3, Unit};

use crate::attributes::Attributes;
use crate::xml::Element;
use crate::{ModelError, Pose, Quat, Vec3};

/// How to read the rest of the document.
#[derive(Debug, Clone)]
pub(crate) struct Compiler {
    /// Angles are in degrees.
    pub(crate) degrees: bool,
    pub(crate) autolimits: bool,
    pub(crate) euler_sequence: String,
    pub(crate) mesh_dir: PathBuf,
    texture_dir: PathBuf,
    pub(crate) strip_path: bool,
    /// `None`: only for bodies without an `<inertial>`.
    pub(crate) inertia_from_geom: Option<bool>,
    pub(crate) inertia_groups: [i32; 2],
    pub(crate) balance_inertia: bool,
    pub(crate) bound_mass: f64,
    pub(crate) bound_inertia: f64,
    /// Scale all masses to this total; negative: leave them.
    pub(crate) total_mass: f64,
    pub(crate) align_free: bool,
}

impl Compiler {
    /// Reads all `<compiler>` elements, later ones over earlier ones.
    pub(crate) fn read<'a>(sections: impl Iterator<Item = &'a Element>) -> Result<Self, ModelError> {
        let mut c = Self {
            degrees: true,
            autolimits: true,
            euler_sequence: "xyz".into(),
            mesh_dir: PathBuf::new(),
            texture_dir: PathBuf::new(),
            strip_path: false,
            inertia_from_geom: None,
            inertia_groups: [0, 5],
            balance_inertia: false,
            bound_mass: 0.0,
            bound_inertia: 0.0,
            total_mass: -1.0,
            align_free: false,
        };
        for section in sections {
            let a = Attributes::bare(section);
            c.degrees = match a.get("angle") {
                None => c.degrees,
                Some("degree") => true,
                Some("radian") => false,
                Some(other) => return Err(a.error(format!("`angle` must be degree or radian, found `{other}`"))),
            };
            if let Some(coordinate) = a.get("coordinate").filter(|&c| c != "local") {
                return Err(a.error(format!("`coordinate` must be local, found `{coordinate}` (removed from MJCF)")));
            }
            c.autolimits = a.flag("autolimits", c.autolimits)?;
            if let Some(sequence) = a.get("eulerseq") {
                if sequence.len() != 3 || !sequence.chars().all(|c| "xyzXYZ".contains(c)) {
                    return Err(a.error(format!("`eulerseq` must be three of xyzXYZ, found `{sequence}`")));
                }
                c.euler_sequence = sequence.to_owned();
            }
            if let Some(directory) = a.get("meshdir").or_else(|| a.get("assetdir")) {
                c.mesh_dir = directory.into();
            }
            if let Some(directory) = a.get("texturedir").or_else(|| a.get("assetdir")) {
                c.texture_dir = directory.into();
            }
            c.strip_path = a.flag("strippath", c.strip_path)?;
            if a.has("inertiafromgeom") {
                c.inertia_from_geom = a.tristate("inertiafromgeom")?;
            }
            if let Some([low, high]) = a.exactly::<2>("inertiagrouprange")? {
                c.inertia_groups = [low as i32, high as i32];
            }
            c.balance_inertia = a.flag("balanceinertia", c.balance_inertia)?;
            c.bound_mass = a.number("boundmass", c.bound_mass)?;
            c.bound_inertia = a.number("boundinertia", c.bound_inertia)?;
            c.total_mass = a.number("settotalmass", c.total_mass)?;
            c.align_free = a.flag("alignfree", c.align_free)?;
        }
        Ok(c)
    }

    /// Radians a unit of angle.
    pub(crate) fn angle(&self) -> f64 {
        if self.degrees { std::f64::consts::PI / 180.0 } else { 1.0 }
    }

    /// Path of an asset file.
    pub(crate) fn mesh_path(&self, directory: &Path, file: &str) -> PathBuf {
        self.path(directory, &self.mesh_dir, file)
    }

    /// Path of a texture's file.
    pub(crate) fn texture_path(&self, directory: &Path, file: &str) -> PathBuf {
        self.path(directory, &self.texture_dir, file)
    }

    fn path(&self, directory: &Path, of_kind: &Path, file: &str) -> PathBuf {
        let file = Path::new(file);
        let file = if self.strip_path { file.file_name().map_or(file, Path::new) } else { file };
        directory.join(of_kind).join(file)
    }

    /// `pos` and any orientation.
    pub(crate) fn pose(&self, a: &Attributes) -> Result<Pose, ModelError> {
        let position = a.vector("pos")?.unwrap_or_else(Vec3::zeros);
        Ok(Pose::from_parts(position.into(), self.orientation(a)?))
    }

    /// The one orientation that is given; `quat` gives way to the others, as in MuJoCo.
    pub(crate) fn orientation(&self, a: &Attributes) -> Result<Quat, ModelError> {
        let given: Vec<&str> = ["axisangle", "euler", "xyaxes", "zaxis"]
            .into_iter()
            .filter(|name| a.element.get(name).is_some())
            .collect();
        if given.len() > 1 {
            return Err(a.error(format!("more than one orientation: `{}`", given.join("`, `"))));
        }
        if let Some([x, y, z, angle]) = a.exactly::<4>("axisangle")? {
            let axis = self.unit(a, "axisangle", Vec3::new(x, y, z))?;
            return Ok(Quat::from_axis_angle(&axis, angle * self.angle()));
        }
        if let Some(angles) = a.exactly::<3>("euler")? {
            return Ok(self.euler(angles));
        }
        if let Some([x0, x1, x2, y0, y1, y2]) = a.exactly::<6>("xyaxes")? {
            let x = self.unit(a, "xyaxes", Vec3::new(x0, x1, x2))?;
            let y = Vec3::new(y0, y1, y2);
            let y = self.unit(a, "xyaxes", y - x.into_inner() * x.dot(&y))?;
            let columns = [x.into_inner(), y.into_inner(), x.cross(&y)];
            let rotation = Rotation3::from_matrix_unchecked(nalgebra::Matrix3::from_columns(&columns));
            return Ok(Quat::from_rotation_matrix(&rotation));
        }
        if let Some(z) = a.vector("zaxis")? {
            return Ok(from_z(self.unit(a, "zaxis", z)?.into_inner()));
        }
        quaternion(a, "quat").map(|quat| quat.unwrap_or_else(Quat::identity))
    }

    /// Rotations about the axes of the sequence, lower case about the moving axes, upper case about the fixed.
    pub(crate) fn euler(&self, angles: [f64; 3]) -> Quat {
        let mut rotation = Quat::identity();
        for (axis, angle) in self.euler_sequence.chars().zip(angles) {
            let unit = match axis.to_ascii_lowercase() {
                'x' => Vec3::x_axis(),
                'y' => Vec3::y_axis(),
                _ => Vec3::z_axis(),
            };
            let turn = Quat::from_axis_angle(&unit, angle * self.angle());
            rotation = if axis.is_ascii_lowercase() { rotation * turn } else { turn * rotation };
        }
        rotation
    }

    fn unit(&self, a: &Attributes, name: &str, vector: Vec3) -> Result<Unit<Vec3>, ModelError> {
        Unit::try_new(vector, 1e-14).ok_or_else(|| a.error(format!("`{name}` has an axis of zero length")))
    }
}

/// A normalised quaternion attribute.
pub(crate) fn quaternion(a: &Attributes, name: &str) -> Result<Option<Quat>, ModelError> {
    let Some([w, x, y, z]) = a.exactly::<4>(name)? else { return Ok(None) };
    let unit = Unit::try_new(Quaternion::new(w, x, y, z), 1e-14);
    unit.map(Some).ok_or_else(|| a.error(format!("`{name}` is zero")))
}

/// The shortest rotation that takes z to a unit vector; half a turn about x for -z, as in MuJoCo.
pub(crate) fn from_z(direction: Vec3) -> Quat {
    let axis = Vec3::z().cross(&direction);
    let sine = axis.norm();
    let unit = if sine < 1e-10 { Vec3::x_axis() } else { Unit::new_unchecked(axis / sine) };
    Quat::from_axis_angle(&unit, sine.atan2(direction.z))
}
