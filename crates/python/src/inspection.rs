//! One world's last step laid open, as records of arrays.

use manyworlds::{Inspection, RelaxedOf, RowOf, SolvedContact};
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{Real, reals, with_real};
use crate::batch::Batch;
use crate::record::record;

#[pymethods]
impl Batch {
    /// Everything about the last step of one world, for looking closely (it is slow): a record of
    ///
    /// M, A `(n_v, n_v)`: inertia with armature, and the momentum matrix; bias, v_free `(n_v,)`: Coriolis, centrifugal and
    /// gravity forces, and the velocity without contacts; contacts: records of bodies, geoms, point, frame (rows t1, t2, n),
    /// distance, mu, impulse and velocity (t1, t2, n; of the second body relative to the first); rows: records of kind,
    /// joint or tendon, impulse; relaxed: records of kind, index, by, left_out; residual, residual_scaled, iterations, status.
    fn inspect<'py>(&self, py: Python<'py>, world: i64) -> PyResult<Bound<'py, PyAny>> {
        let (world, group) = self.world(world)?;
        let n_v = self.shapes()[group].n_v;
        let found = self.with(py, |batch| batch.inspect(world))?;
        with_real!(self.precision(), T => laid_open::<T>(py, n_v, &found))
    }

    /// All contacts of all worlds in the last step, a record of arrays: `world` `(contacts,)`, `bodies` `(contacts, 2)`, soft bodies
    /// numbered behind all others, `point` and `impulse` `(contacts, 3)` in the world's frame, m and N s, the impulse on the second
    /// body, `distance` `(contacts,)`, m, and `residual` `(contacts,)`: how far each impulse is from what its law makes of it, N s.
    fn contacts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let found = self.with(py, |batch| {
            let mut found = Vec::new();
            batch.solved_contacts(&mut found)?;
            Ok(found)
        })?;
        let n = found.len();
        let whole = |of: fn(&SolvedContact) -> Vec<usize>| -> Vec<i64> {
            found.iter().flat_map(of).map(|number| number as i64).collect()
        };
        let all = |of: fn(&SolvedContact) -> [f64; 3]| found.iter().flat_map(of).collect::<Vec<_>>();
        let one = |of: fn(&SolvedContact) -> f64| found.iter().map(of).collect::<Vec<_>>();
        let parts = PyDict::new(py);
        parts.set_item("world", PyArray1::from_vec(py, whole(|of| vec![of.contact.world])))?;
        parts.set_item("bodies", PyArray1::from_vec(py, whole(|of| of.contact.bodies.to_vec())).reshape([n, 2])?)?;
        with_real!(self.precision(), T => {
            parts.set_item("point", reals::<T>(py, &[n, 3], &all(|of| of.contact.point))?)?;
            parts.set_item("impulse", reals::<T>(py, &[n, 3], &all(|of| of.contact.impulse))?)?;
            parts.set_item("distance", reals::<T>(py, &[n], &one(|of| of.contact.distance))?)?;
            parts.set_item("residual", reals::<T>(py, &[n], &one(|of| of.residual))?)?;
        });
        record(&parts)
    }

    /// The soft bodies of one world as they are now, a list of records of name, nodes `(nodes, 3)` and vertices of the surface
    /// `(vertices, 3)` in the world's frame, volume and energy of deformation. Where there is no cage the vertices are the nodes.
    fn soft<'py>(&self, py: Python<'py>, world: i64) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let (world, group) = self.world(world)?;
        let found = self.with(py, |batch| batch.soft(world))?;
        let one = |(soft, body): (manyworlds::SoftReport, &manyworlds::model::SoftBody)| {
            let parts = PyDict::new(py);
            parts.set_item("name", &body.name)?;
            for (name, points) in [("nodes", &soft.nodes), ("vertices", &soft.vertices)] {
                let (flat, shape) = (points.as_flattened(), [points.len(), 3]);
                parts.set_item(name, with_real!(self.precision(), T => reals::<T>(py, &shape, flat))?)?;
            }
            parts.set_item("volume", soft.volume)?;
            parts.set_item("energy", soft.energy)?;
            record(&parts)
        };
        found.into_iter().zip(&self.model(group).soft).map(one).collect()
    }
}

fn laid_open<'py, T: Real>(py: Python<'py>, n_v: usize, of: &Inspection) -> PyResult<Bound<'py, PyAny>> {
    let parts = PyDict::new(py);
    parts.set_item("M", reals::<T>(py, &[n_v, n_v], &of.mass)?)?;
    parts.set_item("A", reals::<T>(py, &[n_v, n_v], &of.momentum)?)?;
    parts.set_item("bias", reals::<T>(py, &[n_v], &of.bias)?)?;
    parts.set_item("v_free", reals::<T>(py, &[n_v], &of.v_free)?)?;
    let contact = |c: &manyworlds::ContactReport| {
        let parts = PyDict::new(py);
        parts.set_item("bodies", c.bodies)?;
        parts.set_item("geoms", c.geoms)?;
        parts.set_item("point", reals::<T>(py, &[3], &c.point)?)?;
        parts.set_item("frame", reals::<T>(py, &[3, 3], c.frame.as_flattened())?)?;
        parts.set_item("distance", c.distance)?;
        parts.set_item("mu", c.friction)?;
        parts.set_item("impulse", reals::<T>(py, &[3], &c.impulse)?)?;
        parts.set_item("velocity", reals::<T>(py, &[3], &c.velocity)?)?;
        record(&parts)
    };
    parts.set_item("contacts", of.contacts.iter().map(contact).collect::<PyResult<Vec<_>>>()?)?;
    let row = |r: &manyworlds::RowReport| {
        let parts = PyDict::new(py);
        parts.set_item("kind", r.kind)?;
        match r.of {
            RowOf::Joint(joint) => parts.set_item("joint", joint)?,
            RowOf::Tendon(tendon) => parts.set_item("tendon", tendon)?,
        }
        parts.set_item("impulse", r.impulse)?;
        record(&parts)
    };
    parts.set_item("rows", of.rows.iter().map(row).collect::<PyResult<Vec<_>>>()?)?;
    let relaxed = |r: &manyworlds::RelaxedReport| {
        let (kind, index) = match r.of {
            RelaxedOf::Contact(index) => ("contact", index),
            RelaxedOf::Row(index) => ("row", index),
            RelaxedOf::Equality(index) => ("equality", index),
        };
        let parts = PyDict::new(py);
        parts.set_item("kind", kind)?;
        parts.set_item("index", index)?;
        parts.set_item("by", r.by)?;
        parts.set_item("left_out", r.left_out)?;
        record(&parts)
    };
    parts.set_item("relaxed", of.relaxed.iter().map(relaxed).collect::<PyResult<Vec<_>>>()?)?;
    parts.set_item("residual", of.summary.residual)?;
    parts.set_item("residual_scaled", of.summary.residual_scaled)?;
    parts.set_item("iterations", of.summary.iterations)?;
    parts.set_item("status", of.summary.status_name())?;
    record(&parts)
}
