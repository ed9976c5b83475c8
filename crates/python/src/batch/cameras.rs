//! What cameras see of a batch's worlds.

use manyworlds_view::{ContactColour, Marks, Moment};
use pyo3::prelude::*;

use super::Batch;
use crate::options::one_of;
use crate::pictures::{self, Shot};

#[pymethods]
impl Batch {
    /// A picture of a world as an array `(height, width, 3)` of uint8, red, green and blue, rows from the top.
    ///
    /// camera: one of the file, by name or number as a string; None: one that shows all that moves. follow: that one keeps
    /// its distance and goes along with what moves, steady from picture to picture. Raises ValueError for a camera that is
    /// not there, and names those there are; RuntimeError where no adapter draws, not even by software.
    ///
    /// contacts: those of the last step as arrows along their impulses, "penetration" coloured from blue, where surfaces touch,
    /// to red, where they are deepest in each other; "residual" from blue, where a contact is solved to the tolerance, to red,
    /// where it is worst solved. centres_of_mass: small balls those of bodies, large ones those of trees. joint_axes: hinges
    /// blue, slides green, the three of balls.
    #[pyo3(signature = (world=0, camera=None, width=640, height=480, *, follow=false, contacts=None, centres_of_mass=false, joint_axes=false))]
    fn render<'py>(
        &self,
        py: Python<'py>,
        world: i64,
        camera: Option<&str>,
        width: u32,
        height: u32,
        follow: bool,
        contacts: Option<&str>,
        centres_of_mass: bool,
        joint_axes: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let size = pictures::size(width, height)?;
        let colours = ContactColour::ALL.map(|colour| (colour.name(), colour));
        let contacts = contacts.map(|name| one_of("contacts", name, &colours)).transpose()?;
        let marks = Marks { contacts, centres: centres_of_mass, axes: joint_axes };
        let (world, group) = self.world(world)?;
        let model = self.model(group);
        let moment = self.with(py, |batch| {
            let mut solved = Vec::new();
            if contacts.is_some() {
                batch.solved_contacts(&mut solved)?;
                solved.retain(|of| of.contact.world == world);
            }
            let first = batch.worlds(group).start;
            let placed = pictures::worlds_of(batch, group, &model)?.swap_remove(world - first);
            Ok(Moment { placed, contacts: solved })
        })?;
        let shot = Shot { group, model: &model, camera, size, follow, marks, tolerance: self.tolerance };
        shot.picture(py, &self.studio, &moment)
    }

    /// Surfaces of a world's soft bodies now: as `Model.shapes`, in the world's frame; numbers of bodies and geoms go on behind
    /// those of all others.
    #[pyo3(signature = (world=0))]
    fn soft_shapes<'py>(&self, py: Python<'py>, world: i64) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let (world, group) = self.world(world)?;
        let model = self.model(group);
        let (all, first) =
            self.with(py, |batch| Ok((pictures::worlds_of(batch, group, &model)?, batch.worlds(group).start)))?;
        pictures::soft_pieces(py, &model, &all[world - first])
    }

    /// What a camera sees in every world, a record of arrays: `rgb` `(worlds, height, width, 3)` of uint8; `depth` `(worlds,
    /// height, width)` of float32, the distance along the camera's axis in metres, infinite where nothing is; `segmentation`
    /// `(worlds, height, width)` of int32, numbers of geoms, soft bodies numbered behind them, -1 where nothing is.
    ///
    /// camera: as of `render`; None goes along with what moves. Plainer than `render`, without shadows, and fast: all worlds
    /// are drawn at once. On a GPU, in single precision, a camera that stands still is drawn from poses where the batch keeps
    /// them, which so never leave the device. A mixed batch gives a list of records.
    #[pyo3(signature = (camera=None, width=64, height=64))]
    fn observe<'py>(
        &self,
        py: Python<'py>,
        camera: Option<&str>,
        width: u32,
        height: u32,
    ) -> PyResult<Bound<'py, PyAny>> {
        let size = pictures::size(width, height)?;
        self.by_group(py, |group| {
            let model = self.model(group);
            let shot = Shot::plain(group, &model, camera, size);
            let seen = self.with(py, |batch| shot.observe(&self.studio, batch))?;
            shot.observations(py, seen)
        })
    }
}
