//! Models, as Python sees them.

use std::sync::Arc;

use manyworlds::ImportOptions;
use manyworlds::model::{Joint, JointKind};
use numpy::{PyArray1, PyArray2};
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PySlice, PyTuple};

use crate::errors::raised;
use crate::record::record;

/// What a world is: bodies, joints, geometry and actuators. Made by `manyworlds.load`; it does not change.
#[pyclass(module = "manyworlds", frozen)]
pub(crate) struct Model {
    pub(crate) inner: Arc<manyworlds::Model>,
    /// What `load` was called with: a model is sent to another process as this.
    source: (String, bool, bool, bool, bool),
    ignored: Vec<(String, u32, String, String)>,
}

/// Reads a model: a path (`.xml` MJCF, `.urdf`) or the name of a built-in scene (`manyworlds.scenes()`).
///
/// A URDF has no ground and no floating base: `ground=True` adds a plane at z = 0, `free_root=True` gives the root a free
/// joint, `merge_fixed=True` merges links held by fixed joints into their parents. `ignore_unsupported=True` leaves out
/// elements that change the physics and are not supported; without it they are errors. What was assumed is a warning.
///
/// Raises FileNotFoundError or OSError where there is no such file, and ValueError, naming file, line and element, where
/// the model is wrong or not supported.
#[pyfunction]
#[pyo3(signature = (path_or_scene, ground=false, free_root=false, *, merge_fixed=false, ignore_unsupported=false))]
pub(crate) fn load(
    py: Python<'_>,
    path_or_scene: std::path::PathBuf,
    ground: bool,
    free_root: bool,
    merge_fixed: bool,
    ignore_unsupported: bool,
) -> PyResult<Model> {
    let spec = path_or_scene.to_string_lossy().into_owned();
    let options = ImportOptions { ignore_unsupported, free_root, ground, merge_fixed };
    let loaded = py.detach(|| manyworlds::load(&spec, &options)).map_err(raised)?;
    for assumption in &loaded.assumptions {
        let message = std::ffi::CString::new(format!("{spec}: {assumption}"))?;
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), &message, 2)?;
    }
    let ignored = loaded.ignored.into_iter();
    Ok(Model {
        inner: Arc::new(loaded.model),
        source: (spec, ground, free_root, merge_fixed, ignore_unsupported),
        ignored: ignored.map(|i| (i.file.display().to_string(), i.line, i.element, i.why)).collect(),
    })
}

/// Names of the built-in scenes.
#[pyfunction]
pub(crate) fn scenes() -> Vec<String> {
    manyworlds::scenes::list().iter().map(|scene| scene.name.clone()).collect()
}

#[pymethods]
impl Model {
    /// Name, from the file.
    #[getter]
    fn name(&self) -> &str {
        &self.inner.name
    }

    /// What pictures show of it: a list of records `body`, `geom` (numbers; soft bodies are not among them), `corners`
    /// `(triangles, 3, 3)` of float32 in the body's frame, m, and `colour` `(3,)` of uint8. Grounds are squares of half width
    /// `ground`, m.
    #[pyo3(signature = (ground=10.0))]
    fn shapes<'py>(&self, py: Python<'py>, ground: f64) -> PyResult<Vec<Bound<'py, PyAny>>> {
        crate::pictures::pieces(py, &self.inner, ground)
    }

    /// Length of the generalized position q.
    #[getter]
    fn n_q(&self) -> usize {
        self.inner.n_q
    }

    /// Length of the generalized velocity v: degrees of freedom.
    #[getter]
    fn n_v(&self) -> usize {
        self.inner.n_v
    }

    /// Number of actuators, and so of controls.
    #[getter]
    fn n_u(&self) -> usize {
        self.inner.actuators.len()
    }

    /// Number of activations, of actuators with dynamics of their own.
    #[getter]
    fn n_act(&self) -> usize {
        self.inner.n_act()
    }

    /// Names of the bodies, the world first; empty where the file gives none.
    #[getter]
    fn body_names(&self) -> Vec<&str> {
        self.inner.bodies.iter().map(|body| body.name.as_str()).collect()
    }

    /// Names of the joints, depth first.
    #[getter]
    fn joint_names(&self) -> Vec<&str> {
        self.inner.joints.iter().map(|joint| joint.name.as_str()).collect()
    }

    /// The joints, depth first: records of `name`, `body` (its number), `kind` ("free", "ball", "hinge", "slide"), `q` and `v`
    /// (slices of a world's position and velocity), `range` `(2,)` (rad or m; infinite where there are no limits).
    #[getter]
    fn joints<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let slice = |begin: usize, count: usize| PySlice::new(py, begin as isize, (begin + count) as isize, 1);
        let one = |joint: &Joint| {
            let kind = match joint.kind {
                JointKind::Free => "free",
                JointKind::Ball => "ball",
                JointKind::Hinge => "hinge",
                JointKind::Slide => "slide",
            };
            let parts = PyDict::new(py);
            parts.set_item("name", &joint.name)?;
            parts.set_item("body", joint.body)?;
            parts.set_item("kind", kind)?;
            parts.set_item("q", slice(joint.q_start, joint.kind.n_q()))?;
            parts.set_item("v", slice(joint.v_start, joint.kind.n_v()))?;
            let range = joint.range.unwrap_or([f64::NEG_INFINITY, f64::INFINITY]);
            parts.set_item("range", PyArray1::from_slice(py, &range))?;
            record(&parts)
        };
        self.inner.joints.iter().map(one).collect()
    }

    /// Names of the actuators, in the order of the controls.
    #[getter]
    fn actuator_names(&self) -> Vec<&str> {
        self.inner.actuators.iter().map(|actuator| actuator.name.as_str()).collect()
    }

    /// Names of the geoms that can touch something.
    #[getter]
    fn geom_names(&self) -> Vec<&str> {
        self.inner.geoms.iter().map(|geom| geom.name.as_str()).collect()
    }

    /// Names of the soft bodies.
    #[getter]
    fn soft_names(&self) -> Vec<&str> {
        self.inner.soft.iter().map(|soft| soft.name.as_str()).collect()
    }

    /// Names of the sensors.
    #[getter]
    fn sensor_names(&self) -> Vec<&str> {
        self.inner.sensors.iter().map(|sensor| sensor.name.as_str()).collect()
    }

    /// Which readings of `batch.sensors` are whose: a slice for each sensor that has a name.
    #[getter]
    fn sensor_ranges<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        for (sensor, range) in self.inner.sensors.iter().zip(self.inner.readings()) {
            if !sensor.name.is_empty() {
                all.set_item(&sensor.name, PySlice::new(py, range.start as isize, range.end as isize, 1))?;
            }
        }
        Ok(all)
    }

    /// Time step of the file, s.
    #[getter]
    fn timestep(&self) -> f64 {
        self.inner.options.timestep
    }

    /// Bounds that controls are clamped to, `(n_u, 2)`; infinite where there are none.
    #[getter]
    fn ctrl_range<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let bounds =
            |a: &manyworlds::model::Actuator| a.ctrl_range.unwrap_or([f64::NEG_INFINITY, f64::INFINITY]).to_vec();
        let rows: Vec<Vec<f64>> = self.inner.actuators.iter().map(bounds).collect();
        if rows.is_empty() {
            return Ok(PyArray2::zeros(py, [0, 2], false));
        }
        Ok(PyArray2::from_vec2(py, &rows)?)
    }

    /// Position that worlds start from, `(n_q,)`.
    #[getter]
    fn initial_q<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_vec(py, self.inner.initial_q())
    }

    /// Named states of the file: name to a record of `q`, `v`, `ctrl`, `act`.
    #[getter]
    fn keyframes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        for (number, keyframe) in self.inner.keyframes.iter().enumerate() {
            let parts = PyDict::new(py);
            for (name, numbers) in
                [("q", &keyframe.q), ("v", &keyframe.v), ("ctrl", &keyframe.ctrl), ("act", &keyframe.act)]
            {
                parts.set_item(name, PyArray1::from_slice(py, numbers))?;
            }
            let name = if keyframe.name.is_empty() { number.to_string() } else { keyframe.name.clone() };
            all.set_item(name, record(&parts)?)?;
        }
        Ok(all)
    }

    /// Elements of the file that the model does without: records of `file`, `line`, `element`, `why`.
    #[getter]
    fn ignored<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let one = |(file, line, element, why): &(String, u32, String, String)| {
            let parts = PyDict::new(py);
            parts.set_item("file", file)?;
            parts.set_item("line", line)?;
            parts.set_item("element", element)?;
            parts.set_item("why", why)?;
            record(&parts)
        };
        self.ignored.iter().map(one).collect()
    }

    fn __repr__(&self) -> String {
        let m = &self.inner;
        format!("<manyworlds.Model \"{}\": n_q {}, n_v {}, n_u {}>", m.name, m.n_q, m.n_v, m.actuators.len())
    }

    /// Another process reads the file again.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let (spec, ground, free_root, merge_fixed, ignore_unsupported) = self.source.clone();
        let load = py.import("manyworlds")?.getattr("_load_again")?;
        Ok((
            load,
            PyTuple::new(
                py,
                [
                    spec.into_pyobject(py)?.into_any(),
                    ground.into_pyobject(py)?.to_owned().into_any(),
                    free_root.into_pyobject(py)?.to_owned().into_any(),
                    merge_fixed.into_pyobject(py)?.to_owned().into_any(),
                    ignore_unsupported.into_pyobject(py)?.to_owned().into_any(),
                ],
            )?,
        ))
    }
}
