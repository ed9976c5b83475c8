//! What a batch asks of the worlds of one model, whatever their precision and executor.

use std::ops::Range;

use manyworlds_dynamics::Parameter;
use manyworlds_gpu::{RoundTrips, Timings, Traffic};
use manyworlds_model::Model;

use super::derivatives::Differentiable;
use super::fields::NewStates;
use super::state::State;
use crate::checkpoint::{Reader, Writer};
use crate::field::block::{Block, BlockMut};
use crate::field::id::FieldId;
use crate::field::rows::{Rows, RowsMut};
use crate::{Error, GeomParameter, Precision, Summary};

/// Entries of a tree's parameters, and what stands there.
pub(crate) type Numbered = (Range<usize>, Vec<f64>);

/// What a batch asks of a group, whatever its precision and executor.
pub(crate) trait Worlds: Send + Differentiable {
    fn model(&self) -> &Model;
    fn len(&self) -> usize;
    fn precision(&self) -> Precision;
    /// `controls`: `[worlds][actuators]`, where they change.
    fn step(&mut self, controls: Option<Rows<'_>>) -> Result<(), Error>;
    /// Waits until nothing is left to do of the last step.
    fn finish(&mut self) -> Result<(), Error>;
    /// The host's part of the last step, so that whoever looks at a device's buffers finds the whole of it.
    fn complete(&mut self) -> Result<(), Error>;
    /// Brings poses up to the states, where these were written since the last step.
    fn refresh(&mut self) -> Result<(), Error>;
    fn restart(&mut self, new: NewStates) -> Result<(), Error>;
    fn state(&mut self, world: usize) -> Result<State, Error>;
    fn set_parameter(&mut self, world: usize, tree: usize, parameter: Parameter, values: &[f64]) -> Result<(), Error>;
    /// Where a parameter of a tree stands among the tree's, and its values; `None`: the tree has no such part.
    fn parameter(&mut self, world: usize, tree: usize, parameter: Parameter) -> Result<Option<Numbered>, Error>;
    fn set_geom(&mut self, world: usize, geom: usize, parameter: GeomParameter, values: &[f64]) -> Result<(), Error>;
    fn summaries(&mut self, out: &mut Vec<Summary>) -> Result<(), Error>;
    fn inspect(&mut self, world: usize) -> Result<crate::Inspection, Error>;
    /// The kernels of the last step of a world, with those beside it.
    fn stages(&mut self, world: usize) -> Result<Vec<crate::StageReport>, Error>;
    fn soft(&mut self, world: usize) -> Result<Vec<crate::SoftReport>, Error>;
    fn contact_problem(&mut self, world: usize) -> Result<crate::StepProblem, Error>;
    /// Appends the contacts that acted; `first` is the group's first world.
    fn contact_impulses(&mut self, first: usize, out: &mut Vec<crate::ContactImpulse>) -> Result<(), Error>;
    /// Appends all contacts; `first` is the group's first world.
    fn solved_contacts(&mut self, first: usize, out: &mut Vec<crate::SolvedContact>) -> Result<(), Error>;
    /// Shape of a world's row.
    fn row_shape(&self, id: FieldId) -> Vec<usize>;
    fn n_blocks(&self, id: FieldId) -> usize;
    /// A block of a field; `first` is the group's first world.
    fn block(&self, id: FieldId, first: usize, at: usize) -> Block<'_>;
    /// What comes before a field is written in place.
    fn about_to_write(&mut self, id: FieldId) -> Result<(), Error>;
    fn for_each_block_mut(&mut self, id: FieldId, first: usize, f: &mut dyn FnMut(BlockMut<'_>));
    /// Copies all rows of a field out.
    fn read_rows(&mut self, id: FieldId, out: RowsMut<'_>) -> Result<(), Error>;
    /// Copies all rows of a field in.
    fn write_rows(&mut self, id: FieldId, rows: Rows<'_>) -> Result<(), Error>;
    fn traffic(&self) -> Traffic;
    fn round_trips(&self) -> RoundTrips;
    fn save(&mut self, out: &mut Writer) -> Result<(), Error>;
    fn restore(&mut self, input: &mut Reader) -> Result<(), Error>;
    fn time(&mut self, on: bool);
    fn timings(&self) -> Timings;
    fn bytes(&self) -> u64;
}
