//! What must hold of a value, whatever it is a part of.

use crate::{Contacting, HeightField, Inertial, Mesh, Pose, Shape, Vec3};

/// Allowance for inertias that a file gives in few digits, relative to the largest moment.
const TRIANGLE_SLACK: f64 = 1e-6;

/// What is wrong.
pub(super) type Check = Result<(), String>;

/// A shape's own dimensions.
pub(crate) fn shape(shape: &Shape) -> Check {
    match shape {
        Shape::Plane | Shape::Mesh(_) | Shape::HeightField(_) | Shape::Sdf(_) => Ok(()),
        Shape::Sphere { radius } => positive("radius", *radius),
        Shape::Capsule { radius, half_length } | Shape::Cylinder { radius, half_length } => {
            positive("radius", *radius)?;
            positive("half length", *half_length)
        }
        Shape::Box { half: sizes } | Shape::Ellipsoid { radii: sizes } => {
            sizes.iter().try_for_each(|&size| positive("size", size))
        }
    }
}

/// Whether principal moments are those of a mass distribution: no one above the sum of the others by more than `slack`
/// of the largest.
pub(crate) fn is_triangle(moments: &Vec3, slack: f64) -> bool {
    moments.sum() - 2.0 * moments.max() >= -slack * moments.max()
}

pub(super) fn check_inertial(inertial: &Inertial) -> Check {
    non_negative("mass", inertial.mass)?;
    finite("centre of mass", inertial.com.as_slice())?;
    finite("inertia", inertial.inertia.as_slice())?;
    let scale = inertial.inertia.amax();
    if (inertial.inertia - inertial.inertia.transpose()).amax() > 1e-9 * scale {
        return Err("its inertia is not symmetric".into());
    }
    let (moments, _) = inertial.principal();
    if moments.min() < -1e-12 * scale {
        return Err(format!("its inertia is not positive definite: a principal moment is {:e} kg m^2", moments.min()));
    }
    if !is_triangle(&moments, TRIANGLE_SLACK) {
        let [a, b, c] = [moments.x, moments.y, moments.z];
        return Err(format!(
            "its inertia is not that of any body: of the principal moments {a:e}, {b:e}, {c:e} one exceeds the sum of the others"
        ));
    }
    Ok(())
}

pub(super) fn check_contacting(contact: &Contacting) -> Check {
    non_negative("friction", contact.friction)?;
    non_negative("margin", contact.margin)?;
    non_negative("gap", contact.gap)?;
    if contact.stiffness.is_nan() || contact.stiffness <= 0.0 {
        return Err(format!("contact stiffness must be positive, found {}", contact.stiffness));
    }
    non_negative("contact dissipation", contact.dissipation)?;
    check_restitution(contact.restitution)
}

pub(super) fn check_restitution(value: f64) -> Check {
    if (0.0..=1.0).contains(&value) { Ok(()) } else { Err(format!("restitution must be from 0 to 1, found {value}")) }
}

pub(super) fn check_mesh(mesh: &Mesh) -> Check {
    if mesh.vertices.len() < 4 || mesh.triangles.len() < 4 {
        let (v, t) = (mesh.vertices.len(), mesh.triangles.len());
        return Err(format!("a solid needs 4 vertices and 4 triangles, found {v} and {t}"));
    }
    mesh.vertices.iter().try_for_each(|vertex| finite("vertices", vertex.as_slice()))?;
    let out_of_range = mesh.triangles.iter().flatten().find(|&&v| v as usize >= mesh.vertices.len());
    match out_of_range {
        Some(vertex) => Err(format!("a triangle refers to vertex {vertex}, there are {}", mesh.vertices.len())),
        None => Ok(()),
    }
}

pub(super) fn check_heightfield(field: &HeightField) -> Check {
    if field.n_rows < 2 || field.n_cols < 2 {
        return Err(format!("needs 2 rows and columns at least, found {} and {}", field.n_rows, field.n_cols));
    }
    if field.n_rows.checked_mul(field.n_cols) != Some(field.heights.len()) {
        let (rows, columns, found) = (field.n_rows, field.n_cols, field.heights.len());
        return Err(format!("needs {rows} x {columns} heights, found {found}"));
    }
    finite("heights", &field.heights)?;
    field.half.iter().try_for_each(|&half| positive("half extent", half))?;
    non_negative("base", field.base)
}

pub(super) fn check_pose(pose: &Pose) -> Check {
    finite("position", pose.translation.vector.as_slice())?;
    finite("orientation", pose.rotation.coords.as_slice())?;
    let norm = pose.rotation.norm();
    if (norm - 1.0).abs() > 1e-6 { Err(format!("its orientation must have norm 1, found {norm}")) } else { Ok(()) }
}

pub(super) fn index_of(what: &str, index: usize, count: usize) -> Check {
    if index < count { Ok(()) } else { Err(format!("refers to {what} {index}, there are {count}")) }
}

pub(super) fn two(what: &str, indices: [usize; 2], count: usize) -> Check {
    indices.iter().try_for_each(|&index| index_of(what, index, count))?;
    if indices[0] == indices[1] {
        Err(format!("needs two different ones, found {what} {} twice", indices[0]))
    } else {
        Ok(())
    }
}

pub(super) fn finite(what: &str, values: &[f64]) -> Check {
    match values.iter().find(|v| !v.is_finite()) {
        Some(value) => Err(format!("{what} must be finite, found {value}")),
        None => Ok(()),
    }
}

pub(super) fn positive(what: &str, value: f64) -> Check {
    if value > 0.0 && value.is_finite() { Ok(()) } else { Err(format!("{what} must be positive, found {value}")) }
}

pub(super) fn non_negative(what: &str, value: f64) -> Check {
    if value >= 0.0 && value.is_finite() { Ok(()) } else { Err(format!("{what} must not be negative, found {value}")) }
}

/// A range may be infinite on a side, but not reversed and not NaN.
pub(super) fn ordered(what: &str, [low, high]: [f64; 2]) -> Check {
    if low <= high { Ok(()) } else { Err(format!("{what} must not be reversed, found {low} to {high}")) }
}
