//! Pictures of worlds and camera observations, for batches and learning environments.

use std::sync::{Arc, Mutex, PoisonError};

use manyworlds::model::{Model, Pose, Quat};
use manyworlds::{Batch, Error, FieldId, GpuDevice};
use manyworlds_render::{
    Camera, Format, Observations, Observer, Picture, Piece, Placed, RenderError, Renderer, Scene, Size, Viewpoint,
};
use manyworlds_view::{Marks, Moment, Scale, lanes};
use nalgebra::Quaternion;
use numpy::{PyArray1, PyArrayMethods};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::arrays::{given, slice};
use crate::record::record;

/// What is kept from picture to picture, since making it takes longer than drawing: for the model and size drawn last.
#[derive(Default)]
pub(crate) struct Studio {
    pictures: Option<(usize, Size, Renderer)>,
    observations: Option<(usize, Size, Observer)>,
}

/// The exception that a Python programmer expects of an error.
fn no_picture(error: RenderError) -> PyErr {
    match error {
        RenderError::Camera { .. } | RenderError::Size { .. } => PyValueError::new_err(error.to_string()),
        _ => PyRuntimeError::new_err(error.to_string()),
    }
}

/// A picture's size; sizes that none has are refused.
pub(crate) fn size(width: u32, height: u32) -> PyResult<Size> {
    format!("{width}x{height}").parse().map_err(no_picture)
}

impl Studio {
    /// The picture of a world of a group: red, green and blue, row by row from the top.
    fn picture(&mut self, of: &Shot, moment: &Moment) -> Result<Vec<u8>, RenderError> {
        let Shot { group, model, camera, size, follow, marks, tolerance } = *of;
        let placed = &moment.placed;
        if !matches!(&self.pictures, Some((of, with, _)) if (*of, *with) == (group, size)) {
            self.pictures = Some((group, size, Renderer::open(Scene::new(model), size)?));
        }
        let Some((.., renderer)) = &mut self.pictures else { unreachable!("made above") };
        let viewpoint = camera.map(|name| Viewpoint::find(model, name, &initial(model))).transpose()?;
        let mut view = renderer.frame(&[placed], viewpoint.is_none());
        if let Some(viewpoint) = viewpoint {
            view = viewpoint.camera(placed, &view);
        } else if follow {
            let first = initial(model);
            view = renderer
                .frame(&[&first], true)
                .along(renderer.scene().middle(placed) - renderer.scene().middle(&first));
        }
        let reach = view.radius;
        let scale = marks.contacts.map(|colour| Scale::of(colour, tolerance, std::iter::once(moment), reach));
        let arrows = marks.arrows(model, moment, scale.as_ref(), reach);
        let picture = renderer.draw(std::slice::from_ref(placed), &arrows, &view)?;
        Ok(picture.pixels.chunks_exact(4).flat_map(|p| [p[0], p[1], p[2]]).collect())
    }

    /// What a camera sees in every world of a group: from poses on the batch's device where it keeps them and the camera stands
    /// still. The inner error is the renderer's.
    fn observe(&mut self, of: &Shot, batch: &mut Batch) -> Result<Result<Observations, RenderError>, Error> {
        let Shot { group, model, camera, .. } = *of;
        let observer = match self.observer(of, batch.device()) {
            Ok(observer) => observer,
            Err(error) => return Ok(Err(error)),
        };
        let first = initial(model);
        let (framed, middle) = (observer.frame(std::slice::from_ref(&first)), observer.scene().middle(&first));
        let viewpoint = match camera.map(|name| Viewpoint::find(model, name, &first)).transpose() {
            Ok(viewpoint) => viewpoint,
            Err(error) => return Ok(Err(error)),
        };
        let still = viewpoint.as_ref().filter(|viewpoint| viewpoint.stands_still(model));
        if let Some(viewpoint) = still {
            batch.refresh()?;
            let cameras = vec![viewpoint.camera(&first, &framed); batch.worlds(group).len()];
            if let Some(lanes) = lanes(batch, group, model)? {
                return Ok(observer.observe_lanes(&lanes, &first, &cameras));
            }
            return Ok(observer.observe(&worlds_of(batch, group, model)?, &cameras));
        }
        let worlds = worlds_of(batch, group, model)?;
        let camera = |placed: &Placed| {
            let beside = framed.along(observer.scene().middle(placed) - middle);
            viewpoint.as_ref().map_or(beside, |viewpoint| viewpoint.camera(placed, &beside))
        };
        let cameras: Vec<Camera> = worlds.iter().map(camera).collect();
        Ok(observer.observe(&worlds, &cameras))
    }

    /// For a group and size: on the batch's device, or on the best adapter where it has none.
    fn observer(&mut self, of: &Shot, device: Option<&Arc<GpuDevice>>) -> Result<&mut Observer, RenderError> {
        let wanted = (of.group, of.size);
        if !matches!(&self.observations, Some((group, size, _)) if (*group, *size) == wanted) {
            let observer = match device {
                Some(device) => Observer::new(Arc::clone(device), of.model, of.size),
                None => Observer::open(of.model, of.size),
            };
            self.observations = Some((of.group, of.size, observer?));
        }
        let Some((.., observer)) = &mut self.observations else { unreachable!("made above") };
        Ok(observer)
    }
}

/// What is to be drawn, and how.
#[derive(Clone, Copy)]
pub(crate) struct Shot<'a> {
    pub(crate) group: usize,
    pub(crate) model: &'a Model,
    /// One of the file's, by name or number.
    pub(crate) camera: Option<&'a str>,
    pub(crate) size: Size,
    /// Whether the camera keeps its distance from what moves, rather than shows all of it.
    pub(crate) follow: bool,
    /// What is shown beside shapes.
    pub(crate) marks: Marks,
    /// Of the solver, N s: what colours of residuals start from.
    pub(crate) tolerance: f64,
}

impl<'a> Shot<'a> {
    /// Shapes alone, by a camera that goes along.
    pub(crate) fn plain(group: usize, model: &'a Model, camera: Option<&'a str>, size: Size) -> Self {
        Self { group, model, camera, size, follow: true, marks: Marks::default(), tolerance: 0.0 }
    }

    /// A picture as an array `(height, width, 3)`.
    pub(crate) fn picture<'py>(
        &self,
        py: Python<'py>,
        studio: &Mutex<Studio>,
        moment: &Moment,
    ) -> PyResult<Bound<'py, PyAny>> {
        let draw = || studio.lock().unwrap_or_else(PoisonError::into_inner).picture(self, moment);
        let pixels = py.detach(draw).map_err(no_picture)?;
        let shape = [self.size.height as usize, self.size.width as usize, 3];
        Ok(PyArray1::from_vec(py, pixels).reshape(shape)?.into_any())
    }

    /// Observations of a group of a batch.
    pub(crate) fn observe(
        &self,
        studio: &Mutex<Studio>,
        batch: &mut Batch,
    ) -> Result<Result<Observations, RenderError>, Error> {
        studio.lock().unwrap_or_else(PoisonError::into_inner).observe(self, batch)
    }

    /// Observations as a record of arrays.
    pub(crate) fn observations<'py>(
        &self,
        py: Python<'py>,
        seen: Result<Observations, RenderError>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let seen = seen.map_err(no_picture)?;
        let (height, width) = (self.size.height as usize, self.size.width as usize);
        let n = seen.depth.len() / (height * width);
        let parts = PyDict::new(py);
        parts.set_item("rgb", PyArray1::from_vec(py, seen.rgb).reshape([n, height, width, 3])?)?;
        parts.set_item("depth", PyArray1::from_vec(py, seen.depth).reshape([n, height, width])?)?;
        parts.set_item("segmentation", PyArray1::from_vec(py, seen.segmentation).reshape([n, height, width])?)?;
        record(&parts)
    }
}

/// Where everything is in the worlds of a group.
pub(crate) fn worlds_of(batch: &mut Batch, group: usize, model: &Model) -> Result<Vec<Placed>, Error> {
    let n = batch.worlds(group).len();
    let bodies = model.bodies.len();
    let (mut poses, mut q) = (vec![0.0_f64; 7 * bodies * n], vec![0.0_f64; model.n_q * n]);
    batch.read(group, FieldId::Pose, &mut poses)?;
    batch.read(group, FieldId::Position, &mut q)?;
    let placed = |world: usize| Placed {
        poses: poses[7 * bodies * world..7 * bodies * (world + 1)].chunks_exact(7).map(pose).collect(),
        q: q[model.n_q * world..model.n_q * (world + 1)].to_vec(),
    };
    Ok((0..n).map(placed).collect())
}

/// Of position and quaternion (w, x, y, z).
fn pose(numbers: &[f64]) -> Pose {
    let quaternion = Quaternion::new(numbers[3], numbers[4], numbers[5], numbers[6]);
    let turn = Quat::try_new(quaternion, 1e-14).unwrap_or_else(Quat::identity);
    Pose::from_parts([numbers[0], numbers[1], numbers[2]].into(), turn)
}

/// A model in its initial position.
fn initial(model: &Model) -> Placed {
    let (mut bodies, q) = (Vec::new(), model.initial_q());
    manyworlds::kinematics::motions(model, &q, &vec![0.0; model.n_v], &mut bodies);
    Placed { poses: bodies.iter().map(|body| body.pose).collect(), q }
}

/// The bytes of a picture `(height, width, 3)` of uint8 as PNG, or of several of one size as GIF.
#[pyfunction]
pub(crate) fn encode<'py>(py: Python<'py>, pictures: Vec<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyBytes>> {
    let mut all = Vec::with_capacity(pictures.len());
    for picture in &pictures {
        let shape: Vec<usize> = picture.getattr("shape")?.extract()?;
        let [height, width, 3] = shape[..] else {
            return Err(PyValueError::new_err(format!("pictures: expected shape (height, width, 3), found {shape:?}")));
        };
        let first = all
            .first()
            .map_or([height, width], |first: &Picture| [first.size.height as usize, first.size.width as usize]);
        if first != [height, width] {
            return Err(PyValueError::new_err(format!("pictures: expected {first:?} pixels each, found {shape:?}")));
        }
        let array = given::<u8>(picture, &shape, "pictures")?;
        let numbers = slice(&array, "pictures")?;
        let pixels = numbers.chunks_exact(3).flat_map(|p| [p[0], p[1], p[2], 255]).collect();
        all.push(Picture { size: size(width as u32, height as u32)?, pixels });
    }
    let bytes = py.detach(|| Format::encode(&all)).map_err(no_picture)?;
    Ok(PyBytes::new(py, &bytes))
}

/// Shapes as records `body`, `geom`, `corners` `(triangles, 3, 3)` of float32 and `colour` `(3,)` of uint8.
fn records(py: Python<'_>, pieces: Vec<Piece>) -> PyResult<Vec<Bound<'_, PyAny>>> {
    let one = |piece: Piece| {
        let parts = PyDict::new(py);
        parts.set_item("body", piece.body)?;
        parts.set_item("geom", piece.geom)?;
        let triangles = piece.corners.len() / 3;
        parts.set_item("corners", PyArray1::from_vec(py, piece.corners.concat()).reshape([triangles, 3, 3])?)?;
        parts.set_item("colour", PyArray1::from_slice(py, &piece.colour))?;
        record(&parts)
    };
    pieces.into_iter().map(one).collect()
}

/// Shapes of a model's bodies in their bodies' frames; the ground is a square of some half width, m.
pub(crate) fn pieces<'py>(py: Python<'py>, model: &Model, ground: f64) -> PyResult<Vec<Bound<'py, PyAny>>> {
    records(py, Scene::new(model).pieces(ground))
}

/// Surfaces of a world's soft bodies now, in the world's frame.
pub(crate) fn soft_pieces<'py>(py: Python<'py>, model: &Model, placed: &Placed) -> PyResult<Vec<Bound<'py, PyAny>>> {
    records(py, Scene::new(model).soft_pieces(placed))
}
