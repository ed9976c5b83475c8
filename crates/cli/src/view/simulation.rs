//! Worlds that are looked at, side by side.

use manyworlds::model::Vec3;
use manyworlds::{Batch, ControlCurve, Model};
use manyworlds_render::{Placed, Scene};

use crate::args::{ModelArgs, RunArgs};
use crate::curve;
use crate::failure::Failure;
use crate::picture::{Moment, moment, placed};
use crate::state::Start;

/// Worlds of a model, and where they stand in the picture.
pub(super) struct Simulation {
    pub(super) model: Model,
    pub(super) batch: Batch,
    /// Time step, s.
    pub(super) h: f64,
    /// Steps since the start.
    pub(super) steps: u64,
    pub(super) start: Start,
    curve: Option<ControlCurve>,
    /// Largest random control beside the start's.
    amplitude: f64,
    /// Where each world stands in the picture, m.
    pub(super) shifts: Vec<Vec3>,
}

/// Time for which random controls stay the same, s.
const HOLD: f64 = 0.1;
/// Distance of worlds, in widths of one.
const APART: f64 = 1.3;

impl Simulation {
    pub(super) fn new(
        named: &ModelArgs,
        run: &RunArgs,
        state: Option<&std::path::PathBuf>,
        worlds: usize,
        controls: Option<f64>,
    ) -> Result<Self, Failure> {
        if worlds == 0 {
            return Err(Failure::Input("--worlds: expected at least 1, found 0".into()));
        }
        let model = named.load()?.model;
        let start = Start::of_one(state, &named.model, run, &model)?;
        let curve = curve::of_scene(&named.model, state, run, &model, &start)?;
        let settings = run.for_the_way(&named.model);
        let h = settings.dt.unwrap_or(model.options.timestep);
        let mut batch = Batch::new(&[(&model, worlds)], &settings)?;
        start.apply(&mut batch)?;
        let of_scene = || manyworlds::scenes::find(&named.model).map(|scene| scene.bench.control_amplitude);
        let amplitude = controls.or_else(|| of_scene().filter(|_| worlds > 1)).unwrap_or(0.0);
        let mut simulation =
            Self { model, batch, h, steps: 0, start, curve, amplitude, shifts: vec![Vec3::zeros(); worlds] };
        simulation.spread()?;
        Ok(simulation)
    }

    /// Places the worlds in a square.
    fn spread(&mut self) -> Result<(), Failure> {
        let first = moment(&mut self.batch, 0, &self.model, false)?.placed;
        let [width, depth] = Scene::new(&self.model).footprint(&first).map(|x| APART * x);
        let columns = (self.shifts.len() as f64).sqrt().ceil() as usize;
        for (world, shift) in self.shifts.iter_mut().enumerate() {
            *shift = Vec3::new((world % columns) as f64 * width, (world / columns) as f64 * depth, 0.0);
        }
        Ok(())
    }

    /// Time since the start, s.
    pub(super) fn time(&self) -> f64 {
        self.steps as f64 * self.h
    }

    /// One step of all worlds.
    pub(super) fn step(&mut self) -> Result<(), Failure> {
        let mut controls = match &self.curve {
            Some(curve) => curve.at(self.time()),
            None => self.start.0.ctrl.clone(),
        }
        .repeat(self.shifts.len());
        if self.amplitude > 0.0 {
            let (draw, n) = ((self.time() / HOLD) as u64, self.model.actuators.len());
            for (i, control) in controls.iter_mut().enumerate() {
                *control += self.amplitude * manyworlds::random::symmetric(0, (i / n) as u64, draw, (i % n) as u64);
            }
        }
        self.batch.step(&controls)?;
        self.steps += 1;
        Ok(())
    }

    /// All worlds as they are now, each in its place.
    pub(super) fn moments(&mut self, contacts: bool) -> Result<Vec<Moment>, Failure> {
        let contacts = contacts && self.steps > 0;
        let mut all = Vec::with_capacity(self.shifts.len());
        for (world, &shift) in self.shifts.iter().enumerate() {
            let mut moment = moment(&mut self.batch, world, &self.model, contacts)?;
            moment.placed = moment.placed.shifted(shift);
            for contact in &mut moment.contacts {
                contact.point = (Vec3::from(contact.point) + shift).into();
            }
            all.push(moment);
        }
        Ok(all)
    }

    /// The cameras of the file are about one world alone: this model in its initial position.
    pub(super) fn initial(&self) -> Placed {
        placed(&self.model, self.model.initial_q(), &[])
    }
}
