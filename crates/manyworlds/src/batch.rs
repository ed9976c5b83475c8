//! The public face: many worlds of one or several models, stepped together.

mod derivatives;
mod file;
mod kept;
mod parameters;
mod reset;
mod rollout;
mod smoothing;

use std::ops::Range;
use std::sync::Arc;

use manyworlds_dynamics::Parameter;
use manyworlds_gpu::{DeviceOptions, GpuDevice, RoundTrips, Traffic};
use manyworlds_gradients::GradientRules;
use manyworlds_model::Model;
use manyworlds_shaders::Precision as ShaderPrecision;

use crate::checkpoint::{Reader, Writer};
use crate::field::rows::{Number, Rows, rows, rows_mut};
use crate::field::{Field, FieldId, FieldMut};
use crate::group::{Backend, Group, State, Worlds};
use crate::{
    BatchOptions, ContactImpulse, Error, Executor, GeomParameter, Inspection, Precision, SoftReport, SolvedContact,
    StageReport, StepProblem, Summary, memory,
};

pub use derivatives::{DerivativesBy, InputSlices, InputsMut, JacobiansMut, OutputSlices, OutputsMut, Product};
pub use kept::KeptStep;
pub use parameters::{ModelParameter, ParameterDerivatives};
pub use reset::{Start, StateRows, Which};
pub use rollout::{Rollout, RolloutGradient, WorldGradient};
pub use smoothing::{Estimate, SmoothedGradient, Smoothing};

/// Worlds of several models stepped together. World numbers run through the groups in the order they were given.
pub struct Batch {
    groups: Vec<Box<dyn Worlds>>,
    /// First world of each group, and the number of all.
    starts: Vec<usize>,
    device: Option<Arc<GpuDevice>>,
    precision: Precision,
    steps: u64,
    rules: GradientRules,
    derivatives_by: DerivativesBy,
}

impl Batch {
    /// Makes `count` worlds of each model, all in their model's initial state.
    ///
    /// # Errors
    /// A setting out of range, a group without worlds, a model that cannot be simulated, worlds that do not fit into
    /// memory (said before it is taken), an adapter that is missing or lacks the precision.
    pub fn new(groups: &[(&Model, usize)], options: &BatchOptions) -> Result<Self, Error> {
        options.validate()?;
        for (model, &(m, count)) in groups.iter().enumerate() {
            if count == 0 {
                return Err(Error::NoWorlds { model, name: m.name.clone() });
            }
            memory::check(m, count, options.precision)?;
        }
        let device = match &options.device {
            Some(device) => Some(Arc::clone(device)),
            None => open(options)?,
        };
        let mut batch = Self {
            groups: Vec::with_capacity(groups.len()),
            starts: vec![0],
            device,
            precision: options.precision,
            steps: 0,
            rules: GradientRules::default(),
            derivatives_by: DerivativesBy::default(),
        };
        for &(model, count) in groups {
            batch.groups.push(batch.group(model, count, options)?);
            batch.starts.push(batch.len() + count);
        }
        Ok(batch)
    }

    fn group(&self, model: &Model, count: usize, options: &BatchOptions) -> Result<Box<dyn Worlds>, Error> {
        let backend = self.device.as_ref().map_or(Backend::Cpu, |device| Backend::Device(Arc::clone(device)));
        Ok(match options.precision {
            Precision::F32 => Box::new(Group::<f32>::new(model, count, options, &backend)?),
            Precision::F64 => {
                if let Backend::Device(device) = &backend {
                    device.require(ShaderPrecision::F64)?;
                }
                Box::new(Group::<f64>::new(model, count, options, &backend)?)
            }
        })
    }

    /// Number of worlds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.starts.last().copied().unwrap_or(0)
    }

    /// Whether there is no world.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of groups.
    #[must_use]
    pub fn n_groups(&self) -> usize {
        self.groups.len()
    }

    /// Worlds of a group.
    #[must_use]
    pub fn worlds(&self, group: usize) -> Range<usize> {
        match self.starts.get(group..group + 2) {
            Some(&[first, end]) => first..end,
            _ => 0..0,
        }
    }

    /// Model of a world, as it is simulated.
    ///
    /// # Errors
    /// [`Error::Index`] for a world that is not there.
    pub fn model(&self, world: usize) -> Result<&Model, Error> {
        let (group, _) = self.find(world)?;
        Ok(self.groups[group].model())
    }

    /// `cpu` or `gpu`.
    #[must_use]
    pub fn executor(&self) -> &'static str {
        if self.device.is_some() { "gpu" } else { "cpu" }
    }

    /// What the kernels run on.
    #[must_use]
    pub fn adapter(&self) -> String {
        match &self.device {
            Some(device) => device.adapter_name().to_string(),
            None => format!("CPU, {} threads", rayon::current_num_threads()),
        }
    }

    /// The device that the kernels run on, if it is a GPU.
    #[must_use]
    pub fn device(&self) -> Option<&Arc<GpuDevice>> {
        self.device.as_ref()
    }

    /// The number type.
    #[must_use]
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// Steps so far.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.steps
    }

    fn find(&self, world: usize) -> Result<(usize, usize), Error> {
        if world >= self.len() {
            return Err(Error::Index { what: "world", index: world, count: self.len() });
        }
        let group = self.starts.partition_point(|&start| start <= world) - 1;
        Ok((group, world - self.starts[group]))
    }

    /// Numbers that [`Batch::step`] takes as controls: one an actuator of every world.
    #[must_use]
    pub fn n_controls(&self) -> usize {
        self.groups.iter().map(|group| group.len() * group.model().actuators.len()).sum()
    }

    /// Steps all worlds once. `controls` holds the actuators of world 0, then those of world 1 and so on; when it is
    /// empty, the controls stay as they are. Controls in the batch's own precision are written as they are, each once: into
    /// the kernels' memory on the CPU, into one upload a chunk of worlds on a GPU. On a GPU this returns while the device
    /// still works; whatever reads results waits for it.
    ///
    /// # Errors
    /// [`Error::Length`] or [`Error::NotFinite`] for wrong controls; a device that fails. A world that fails is no
    /// error: its [`Summary::status`] says so.
    pub fn step<N: Number>(&mut self, controls: &[N]) -> Result<(), Error> {
        let mut rest = Some(rows(controls)).filter(|rows| rows.len() > 0);
        if let Some(rows) = rest {
            let (expected, found) = (self.n_controls(), controls.len());
            if found != expected {
                return Err(Error::Length { what: "controls", world: None, expected, found });
            }
            rows.check("controls")?;
        }
        for group in &mut self.groups {
            let split = rest.map(|rows| rows.split_at(group.len() * group.model().actuators.len()));
            let (own, others): (Option<Rows<'_>>, _) = split.unzip();
            group.step(own)?;
            rest = others;
        }
        self.steps += 1;
        Ok(())
    }

    /// State of a world.
    ///
    /// # Errors
    /// [`Error::Index`], or a device that fails.
    pub fn state(&mut self, world: usize) -> Result<State, Error> {
        let (group, local) = self.find(world)?;
        self.groups[group].state(local)
    }

    /// Overrides a parameter of one tree of one world (domain randomisation); the first override of a model makes all
    /// its worlds keep parameters of their own.
    ///
    /// # Errors
    /// [`Error::Index`], [`Error::Parameter`] for a parameter that the tree lacks or a wrong number of values.
    pub fn set_parameter(
        &mut self,
        world: usize,
        tree: usize,
        parameter: Parameter,
        values: &[f64],
    ) -> Result<(), Error> {
        let (group, local) = self.find(world)?;
        let count = self.groups[group].model().trees.len();
        if tree >= count {
            return Err(Error::Index { what: "tree", index: tree, count });
        }
        if let Some(index) = values.iter().position(|x| !x.is_finite()) {
            return Err(Error::NotFinite { what: "parameter", world: Some(world), index, found: values[index] });
        }
        self.groups[group].set_parameter(local, tree, parameter, values)
    }

    /// A parameter of one tree of one world, as [`Batch::set_parameter`] takes it.
    ///
    /// # Errors
    /// [`Error::Index`], [`Error::Parameter`] for a parameter that the tree lacks, or a device that fails.
    pub fn parameter(&mut self, world: usize, tree: usize, parameter: Parameter) -> Result<Vec<f64>, Error> {
        let (group, local) = self.find(world)?;
        let count = self.groups[group].model().trees.len();
        if tree >= count {
            return Err(Error::Index { what: "tree", index: tree, count });
        }
        let found = self.groups[group].parameter(local, tree, parameter)?;
        found.map(|(_, values)| values).ok_or_else(|| Error::Parameter {
            parameter: format!("{parameter:?}"),
            message: format!("tree {tree} has no such part"),
        })
    }

    /// Overrides a parameter of one geom of one world, geoms numbered as in the model; the first override of a model
    /// makes all its worlds keep geoms of their own.
    ///
    /// # Errors
    /// [`Error::Index`], [`Error::Parameter`] for a wrong number of values or one that the geom cannot have.
    pub fn set_geom(
        &mut self,
        world: usize,
        geom: usize,
        parameter: GeomParameter,
        values: &[f64],
    ) -> Result<(), Error> {
        let (group, local) = self.find(world)?;
        let geoms = &self.groups[group].model().geoms;
        let record = geoms.get(geom).ok_or(Error::Index { what: "geom", index: geom, count: geoms.len() })?;
        parameter.check(geom, record, values)?;
        self.groups[group].set_geom(local, geom, parameter, values)
    }

    /// The whole batch as bytes: states, failures, parameters of worlds, and the impulses the next step starts from.
    /// Restored into a batch of the same models, options and executor, it goes on bit for bit.
    ///
    /// # Errors
    /// A device that fails.
    pub fn checkpoint(&mut self) -> Result<Vec<u8>, Error> {
        let mut out = Writer::new(self.precision.bytes());
        out.count(self.groups.len());
        self.groups.iter_mut().try_for_each(|group| group.save(&mut out))?;
        Ok(out.finish())
    }

    /// Goes on from a checkpoint.
    ///
    /// # Errors
    /// [`Error::Checkpoint`] when the bytes are not those of such a batch; the batch is then to be reset.
    pub fn restore(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let mut input = Reader::new(bytes, self.precision.bytes())?;
        input.expect("groups", self.groups.len())?;
        self.groups.iter_mut().try_for_each(|group| group.restore(&mut input))?;
        input.finish()
    }

    /// The certificates of all worlds for the last step, in place of what `out` holds.
    ///
    /// # Errors
    /// A device that fails.
    pub fn summaries(&mut self, out: &mut Vec<Summary>) -> Result<(), Error> {
        out.clear();
        self.groups.iter_mut().try_for_each(|group| group.summaries(out))
    }

    /// A field of all worlds of a group where it lies, without a copy: slices on the CPU, buffers on a GPU (which may
    /// still be written: submissions to the same queue come after). Poses are those of the state that the last step ended
    /// with.
    ///
    /// # Errors
    /// [`Error::Index`] for a group that is not there; a device that fails.
    pub fn field(&mut self, group: usize, id: FieldId) -> Result<Field<'_>, Error> {
        if let Some(worlds) = self.groups.get_mut(group) {
            worlds.complete()?;
        }
        self.field_under_way(group, id)
    }

    /// The same, where a step may not be complete.
    fn field_under_way(&self, group: usize, id: FieldId) -> Result<Field<'_>, Error> {
        let worlds =
            self.groups.get(group).ok_or(Error::Index { what: "group", index: group, count: self.n_groups() })?;
        Ok(Field { group: &**worlds, id, first: self.starts[group] })
    }

    /// A part of the states of a group where it lies, to be written: by the host on the CPU, by work submitted to the
    /// batch's queue on a GPU. It acts from the next step on. Nothing checks what is written: a world that is given a number
    /// that is not finite stops, and its status says so. Impulses of the step before stay remembered; [`Batch::reset`]
    /// forgets them. Quaternions are to have unit length.
    ///
    /// # Errors
    /// [`Error::Index`] for a group that is not there, [`Error::Option`] for a field that is no part of a state, or a device
    /// that fails.
    pub fn field_mut(&mut self, group: usize, id: FieldId) -> Result<FieldMut<'_>, Error> {
        id.writable()?;
        let (first, count) = (self.starts[group.min(self.groups.len())], self.n_groups());
        let worlds = self.groups.get_mut(group).ok_or(Error::Index { what: "group", index: group, count })?;
        worlds.about_to_write(id)?;
        Ok(FieldMut { group: &mut **worlds, id, first })
    }

    /// Copies a field of all worlds of a group into an array of the caller's, a row a world, `[worlds, ..]` as
    /// [`Field::shape`] says: one pass on the CPU, one readback of these bytes on a GPU. After a reset poses are those of the
    /// new states.
    ///
    /// # Errors
    /// [`Error::Index`] for a group that is not there, [`Error::Length`] for an array of another size, or a device that fails.
    pub fn read<N: Number>(&mut self, group: usize, id: FieldId, out: &mut [N]) -> Result<(), Error> {
        self.expect_rows(group, id, out.len())?;
        if out.is_empty() { Ok(()) } else { self.groups[group].read_rows(id, rows_mut(out)) }
    }

    /// Copies a part of the states of all worlds of a group in from an array of the caller's, laid out as [`Batch::read`] does
    /// it; else like [`Batch::field_mut`].
    ///
    /// # Errors
    /// As theirs, and [`Error::NotFinite`].
    pub fn write<N: Number>(&mut self, group: usize, id: FieldId, values: &[N]) -> Result<(), Error> {
        id.writable()?;
        self.expect_rows(group, id, values.len())?;
        rows(values).check(id.name())?;
        if values.is_empty() { Ok(()) } else { self.groups[group].write_rows(id, rows(values)) }
    }

    fn expect_rows(&self, group: usize, id: FieldId, found: usize) -> Result<(), Error> {
        let expected = self.field_under_way(group, id)?.shape().iter().product();
        if found == expected {
            return Ok(());
        }
        Err(Error::Length { what: id.name(), world: None, expected, found })
    }

    /// How often work was handed to a device and waited for so far: for a step, once each a chunk of worlds, where kernels
    /// solve them all. Never on the CPU.
    #[must_use]
    pub fn round_trips(&self) -> RoundTrips {
        let mut sum = RoundTrips::default();
        self.groups.iter().for_each(|group| sum += group.round_trips());
        sum
    }

    /// Bytes that were copied between the host's arrays and the batch's buffers so far: uploads and readbacks of a GPU,
    /// copies within main memory on the CPU.
    #[must_use]
    pub fn traffic(&self) -> Traffic {
        let mut sum = Traffic::default();
        self.groups.iter().for_each(|group| sum += group.traffic());
        sum
    }

    /// Everything about the last step of one world. Slow: for people and outside checks.
    ///
    /// # Errors
    /// [`Error::Index`], or a device that fails.
    pub fn inspect(&mut self, world: usize) -> Result<Inspection, Error> {
        let (group, local) = self.find(world)?;
        self.groups[group].inspect(local)
    }

    /// The kernels of the last step of a world, stage by stage, and the buffers that they read and write; those of the worlds beside it
    /// that go together with it are the same. How controls come to a device, and what the host solved where kernels left any, is not
    /// among them. For people and tests.
    ///
    /// # Errors
    /// [`Error::Index`], or a device that fails.
    pub fn stages(&mut self, world: usize) -> Result<Vec<StageReport>, Error> {
        let (group, local) = self.find(world)?;
        self.groups[group].stages(local)
    }

    /// The soft bodies of a world as they are now, in the order of the model.
    ///
    /// # Errors
    /// [`Error::Index`], or a device that fails.
    pub fn soft(&mut self, world: usize) -> Result<Vec<SoftReport>, Error> {
        let (group, local) = self.find(world)?;
        self.groups[group].soft(local)
    }

    /// What the contacts of all worlds did in the last step, world by world, in place of what `out` holds; those without an impulse
    /// are left out. For forces on bodies, every step: on the CPU nothing else is copied, on a GPU it is a readback.
    ///
    /// # Errors
    /// A device that fails.
    pub fn contact_impulses(&mut self, out: &mut Vec<ContactImpulse>) -> Result<(), Error> {
        out.clear();
        let starts = &self.starts;
        self.groups.iter_mut().zip(starts).try_for_each(|(group, &first)| group.contact_impulses(first, out))
    }

    /// All contacts of all worlds in the last step, world by world, in place of what `out` holds, each with how well it was solved. For
    /// pictures: their laws are evaluated anew. Before the first step there are none.
    ///
    /// # Errors
    /// [`Error::NoProblem`] for a world that broke down, or a device that fails.
    pub fn solved_contacts(&mut self, out: &mut Vec<SolvedContact>) -> Result<(), Error> {
        out.clear();
        if self.steps == 0 {
            return Ok(());
        }
        let starts = &self.starts;
        self.groups.iter_mut().zip(starts).try_for_each(|(group, &first)| group.solved_contacts(first, out))
    }

    /// The contact problem that the last step of one world solved, and how: what a solver is tried on. Its numbers are
    /// those that the step's own solver saw, rounded as the batch's precision does, but for impulses that the host found,
    /// which are in double precision; a tree is a subsystem, a contact names the bodies that touch. Slow: for records and
    /// outside checks.
    ///
    /// # Errors
    /// [`Error::Index`], [`Error::NoProblem`] before the first step and for a world that broke down, or a device that
    /// fails.
    pub fn contact_problem(&mut self, world: usize) -> Result<StepProblem, Error> {
        let (group, local) = self.find(world)?;
        if self.steps == 0 {
            return Err(Error::NoProblem { world, why: "no step has been taken".into() });
        }
        self.groups[group].contact_problem(local).map_err(|error| match error {
            Error::NoProblem { why, .. } => Error::NoProblem { world, why },
            other => other,
        })
    }

    /// Waits until the device has done what it was given.
    ///
    /// # Errors
    /// A device that fails.
    pub fn wait(&mut self) -> Result<(), Error> {
        self.groups.iter_mut().try_for_each(|group| group.finish())
    }

    /// Brings [`FieldId::Pose`] up to the states where these were written or reset since the last step, for those who look at
    /// [`Batch::field`]; [`Batch::read`] does so by itself.
    ///
    /// # Errors
    /// A device that fails.
    pub fn refresh(&mut self) -> Result<(), Error> {
        self.groups.iter_mut().try_for_each(|group| group.refresh())
    }

    /// Turns the timing of stages on or off, and forgets what was timed.
    pub fn time_stages(&mut self, on: bool) {
        self.groups.iter_mut().for_each(|group| group.time(on));
    }

    /// Whether the kernels can be timed one by one: on the CPU always, on a GPU where it has timestamps.
    #[must_use]
    pub fn times_device_stages(&self) -> bool {
        self.device.as_ref().is_none_or(|device| device.has_timestamps())
    }

    /// Milliseconds by stage since the timing was turned on, summed over threads: those of the host (`collide`,
    /// `organise`, `pack`), then the kernels. Without [`Batch::times_device_stages`] those are one stage, `device`: from
    /// a submission until the host has waited for it, so that what the host does meanwhile is in it as well.
    #[must_use]
    pub fn stage_ms(&self) -> Vec<(&'static str, f64)> {
        let mut sum = manyworlds_gpu::Timings::default();
        for group in &self.groups {
            for (name, milliseconds) in group.timings().stages {
                sum.add(name, milliseconds);
            }
        }
        sum.stages
    }

    /// Memory of the buffers, over the number of worlds, B.
    #[must_use]
    pub fn bytes_per_world(&self) -> u64 {
        self.groups.iter().map(|group| group.bytes()).sum::<u64>() / self.len().max(1) as u64
    }
}

/// The device that the options ask for; `None` for the CPU.
fn open(options: &BatchOptions) -> Result<Option<Arc<GpuDevice>>, Error> {
    match options.executor {
        Executor::Cpu => Ok(None),
        Executor::Gpu => Ok(Some(GpuDevice::open(&DeviceOptions::default())?)),
        // Software adapters are slower than the mirrors.
        Executor::Auto => Ok(GpuDevice::open(&DeviceOptions::default()).ok().filter(|device| {
            let able = options.precision == Precision::F32 || device.require(ShaderPrecision::F64).is_ok();
            able && !device.is_software()
        })),
    }
}
