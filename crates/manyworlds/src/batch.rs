//! The public face: many worlds of one or several models, stepped together.

mod derivatives;
mod kept;
mod parameters;
mod rollout;
mod smoothing;

use std::ops::Range;
use std::sync::Arc;

use manyworlds_dynamics::Parameter;
use manyworlds_gpu::{DeviceOptions, GpuDevice};
use manyworlds_gradients::GradientRules;
use manyworlds_model::Model;
use manyworlds_shaders::Precision as ShaderPrecision;

use crate::checkpoint::{Reader, Writer};
use crate::group::{Backend, Group, State, Worlds};
use crate::{
    BatchOptions, Error, Executor, Field, GeomParameter, Inspection, Precision, StepProblem, Summary, View, memory,
};

pub use derivatives::{DerivativesBy, InputSlices, InputsMut, JacobiansMut, OutputSlices, OutputsMut, Product};
pub use kept::KeptStep;
pub use parameters::{ModelParameter, ParameterDerivatives};
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
    /// Controls on their way to the kernels.
    controls: Vec<f64>,
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
            controls: Vec::new(),
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
    /// empty, the controls stay as they are. On a GPU this returns while the device still works; whatever reads
    /// results waits for it.
    ///
    /// # Errors
    /// [`Error::Length`] or [`Error::NotFinite`] for wrong controls; a device that fails. A world that fails is no
    /// error: its [`Summary::status`] says so.
    pub fn step<C: Copy + Into<f64>>(&mut self, controls: &[C]) -> Result<(), Error> {
        if !controls.is_empty() {
            self.set_controls(controls)?;
        }
        for group in &mut self.groups {
            group.step()?;
        }
        self.steps += 1;
        Ok(())
    }

    fn set_controls<C: Copy + Into<f64>>(&mut self, controls: &[C]) -> Result<(), Error> {
        let expected = self.n_controls();
        if controls.len() != expected {
            return Err(Error::Length { what: "controls", world: None, expected, found: controls.len() });
        }
        self.controls.clear();
        self.controls.extend(controls.iter().map(|&c| c.into()));
        if let Some(index) = self.controls.iter().position(|c| !c.is_finite()) {
            return Err(Error::NotFinite { what: "controls", world: None, index, found: self.controls[index] });
        }
        let mut rest = &self.controls[..];
        for group in &mut self.groups {
            let (own, others) = rest.split_at(group.len() * group.model().actuators.len());
            group.set_controls(own)?;
            rest = others;
        }
        Ok(())
    }

    /// Puts worlds into states and makes them start afresh: impulses of the step before and failures are forgotten.
    /// Empty parts of a state stay as they are; quaternions need not have unit length.
    ///
    /// # Errors
    /// [`Error::Index`], [`Error::Length`] or [`Error::NotFinite`]; nothing is changed then.
    pub fn reset(&mut self, states: &[(usize, State)]) -> Result<(), Error> {
        let mut by_group: Vec<Vec<(usize, State)>> = vec![Vec::new(); self.groups.len()];
        for (world, state) in states {
            let (group, local) = self.find(*world)?;
            let model = self.groups[group].model();
            let mut state = state.clone();
            for (what, part, expected) in [
                ("q", &state.q, model.n_q),
                ("v", &state.v, model.n_v),
                ("ctrl", &state.ctrl, model.actuators.len()),
                ("tau", &state.tau, model.n_v),
            ] {
                if !part.is_empty() && part.len() != expected {
                    return Err(Error::Length { what, world: Some(*world), expected, found: part.len() });
                }
                if let Some(index) = part.iter().position(|x| !x.is_finite()) {
                    return Err(Error::NotFinite { what, world: Some(*world), index, found: part[index] });
                }
            }
            model.normalize_quaternions(&mut state.q);
            by_group[group].push((local, state));
        }
        for (group, states) in self.groups.iter_mut().zip(by_group) {
            if !states.is_empty() {
                group.set_state(&states)?;
            }
        }
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

    /// The certificates of all worlds for the last step, appended to `out`.
    ///
    /// # Errors
    /// A device that fails.
    pub fn summaries(&mut self, out: &mut Vec<Summary>) -> Result<(), Error> {
        self.groups.iter_mut().try_for_each(|group| group.summaries(out))
    }

    /// A field of all worlds of a group where it lies, without a copy: slices on the CPU, buffers on a GPU (which may
    /// still be written: submissions to the same queue come after).
    ///
    /// # Errors
    /// [`Error::Index`] for a group that is not there.
    pub fn views(&self, group: usize, field: Field) -> Result<Vec<View<'_>>, Error> {
        let worlds = self.groups.get(group);
        let worlds = worlds.ok_or(Error::Index { what: "group", index: group, count: self.groups.len() })?;
        let mut out = Vec::new();
        worlds.views(field, self.starts[group], &mut out);
        Ok(out)
    }

    /// Everything about the last step of one world. Slow: for people and outside checks.
    ///
    /// # Errors
    /// [`Error::Index`], or a device that fails.
    pub fn inspect(&mut self, world: usize) -> Result<Inspection, Error> {
        let (group, local) = self.find(world)?;
        self.groups[group].inspect(local)
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
