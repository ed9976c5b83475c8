//! Worlds of a model that are stepped and looked at, the same under each of some solvers.

use manyworlds::model::Vec3;
use manyworlds::{Batch, BatchOptions, ControlCurve, Error, FieldId, Model, State, Summary};
use manyworlds_render::{Arrow, Camera, Placed, Scene, Size};
use serde::Serialize;

use crate::{Moment, Push, placed};

/// Distance of worlds, in widths of one.
const APART: f64 = 1.3;
/// Time for which random controls stay the same, s.
const HOLD: f64 = 0.1;
/// Radius of the spring that pulls a body, as a part of the reach of what is seen.
const SPRING: f64 = 0.006;
const SPRING_COLOUR: [u8; 3] = [0x30; 3];

/// Where worlds start.
#[derive(Debug, Clone)]
pub struct Start {
    /// All of it given.
    pub state: State,
    /// Poses of mocap bodies, seven numbers each; those of the model when empty.
    pub mocap: Vec<f64>,
}

/// What moves the actuators.
#[derive(Debug, Default)]
pub struct Drive {
    /// Controls over time; without them those of the start.
    pub curve: Option<ControlCurve>,
    /// Largest random control beside these.
    pub amplitude: f64,
}

/// The batches of one model.
pub struct Worlds {
    model: Model,
    options: BatchOptions,
    /// Of one solver each.
    batches: Vec<(String, Batch)>,
    /// Worlds of each batch.
    count: usize,
    start: Start,
    drive: Drive,
    /// Where the worlds of all batches stand, m.
    shifts: Vec<Vec3>,
    steps: u64,
    /// Time step, s.
    h: f64,
    /// World of a body that the mouse holds, and the spring that pulls it, in this world's frame.
    held: Option<(usize, Push)>,
}

/// What is said of the last step under one solver: the worst of all its worlds.
#[derive(Debug, Serialize)]
pub struct Certificate {
    /// Name of the solver.
    pub solver: String,
    /// Contacts of all worlds.
    pub contacts: u32,
    /// N s
    pub residual: f64,
    /// m
    pub penetration: f64,
    /// Worlds whose step asked for what no motion gives: their certificate is that of a relaxed problem.
    pub relaxed: usize,
    /// Worlds that stopped.
    pub failed: usize,
    /// Status of the world with the largest residual.
    pub status: &'static str,
}

impl Worlds {
    /// This many worlds under each of some solvers.
    ///
    /// # Errors
    /// What a batch refuses.
    pub fn new(
        model: Model,
        options: BatchOptions,
        count: usize,
        solvers: &[String],
        start: Start,
        drive: Drive,
    ) -> Result<Self, Error> {
        let h = options.dt.unwrap_or(model.options.timestep);
        let (batches, shifts) = (Vec::new(), Vec::new());
        let mut worlds = Self { model, options, batches, count, start, drive, shifts, steps: 0, h, held: None };
        worlds.batches = worlds.under(solvers)?;
        worlds.restart()?;
        worlds.spread()?;
        Ok(worlds)
    }

    fn under(&self, solvers: &[String]) -> Result<Vec<(String, Batch)>, Error> {
        let batch = |solver: &String| {
            let options = BatchOptions { solver: solver.clone(), ..self.options.clone() };
            Ok((solver.clone(), Batch::new(&[(&self.model, self.count)], &options)?))
        };
        solvers.iter().map(batch).collect()
    }

    /// Places the worlds in squares, one beside the other for each solver.
    fn spread(&mut self) -> Result<(), Error> {
        let first = placed(&mut self.batches[0].1, 0, &self.model)?;
        let [width, depth] = Scene::new(&self.model).footprint(&first).map(|x| APART * x);
        let columns = (self.count as f64).sqrt().ceil() as usize;
        self.shifts.clear();
        for batch in 0..self.batches.len() {
            for world in 0..self.count {
                let column = batch * columns + world % columns;
                self.shifts.push(Vec3::new(column as f64 * width, (world / columns) as f64 * depth, 0.0));
            }
        }
        Ok(())
    }

    /// Back to the start.
    ///
    /// # Errors
    /// What a batch refuses.
    pub fn restart(&mut self) -> Result<(), Error> {
        self.steps = 0;
        self.held = None;
        for (_, batch) in &mut self.batches {
            let states: Vec<_> = (0..batch.len()).map(|world| (world, self.start.state.clone())).collect();
            batch.reset(&states)?;
            if !self.start.mocap.is_empty() {
                batch.write(0, FieldId::Mocap, &self.start.mocap.repeat(batch.len()))?;
            }
        }
        Ok(())
    }

    /// Goes on under other solvers, each from where the worlds of the first one are.
    ///
    /// # Errors
    /// What a batch refuses; nothing is changed then.
    pub fn switch(&mut self, solvers: &[String]) -> Result<(), Error> {
        let mut batches = self.under(solvers)?;
        let first = &mut self.batches[0].1;
        let states: Vec<_> =
            (0..self.count).map(|world| Ok((world, first.state(world)?))).collect::<Result<_, Error>>()?;
        let mut mocap = vec![0.0; 7 * self.model.mocaps.len() * self.count];
        if !mocap.is_empty() {
            first.read(0, FieldId::Mocap, &mut mocap)?;
        }
        for (_, batch) in &mut batches {
            batch.reset(&states)?;
            if !mocap.is_empty() {
                batch.write(0, FieldId::Mocap, &mocap)?;
            }
        }
        self.held = None;
        let as_before = batches.len() == self.batches.len();
        self.batches = batches;
        if as_before { Ok(()) } else { self.spread() }
    }

    /// The model of all worlds.
    #[must_use]
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Batches and their solvers.
    pub fn batches(&mut self) -> &mut [(String, Batch)] {
        &mut self.batches
    }

    /// Where the worlds of all batches stand in the picture, m.
    #[must_use]
    pub fn shifts(&self) -> &[Vec3] {
        &self.shifts
    }

    /// Time step, s.
    #[must_use]
    pub fn time_step(&self) -> f64 {
        self.h
    }

    /// Steps since the start.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Time since the start, s.
    #[must_use]
    pub fn time(&self) -> f64 {
        self.steps as f64 * self.h
    }

    /// One step of all worlds.
    ///
    /// # Errors
    /// What a batch refuses.
    pub fn step(&mut self) -> Result<(), Error> {
        let own = match &self.drive.curve {
            Some(curve) => curve.at(self.time()),
            None => self.start.state.ctrl.clone(),
        };
        let draw = (self.time() / HOLD) as u64;
        let n_v = self.model.n_v;
        let mut first = 0;
        for (_, batch) in &mut self.batches {
            let mut controls = own.repeat(batch.len());
            if self.drive.amplitude > 0.0 {
                for (i, control) in controls.iter_mut().enumerate() {
                    let (world, entry) = ((i / own.len()) as u64, (i % own.len()) as u64);
                    *control += self.drive.amplitude * manyworlds::random::symmetric(0, world, draw, entry);
                }
            }
            let mut tau = self.start.state.tau.repeat(batch.len());
            let held = self.held.filter(|(world, _)| (first..first + batch.len()).contains(world));
            if let Some((world, push)) = held {
                let local = world - first;
                let state = batch.state(local)?;
                push.add_force(&self.model, &state, &mut tau[local * n_v..(local + 1) * n_v]);
            }
            batch.write(0, FieldId::Force, &tau)?;
            batch.step(&controls)?;
            first += batch.len();
        }
        self.steps += 1;
        Ok(())
    }

    /// Where everything of all worlds is, side by side.
    ///
    /// # Errors
    /// What a batch refuses.
    pub fn placed(&mut self) -> Result<Vec<Placed>, Error> {
        let mut all = Vec::with_capacity(self.shifts.len());
        for (_, batch) in &mut self.batches {
            for world in 0..batch.len() {
                all.push(placed(batch, world, &self.model)?.shifted(self.shifts[all.len()]));
            }
        }
        Ok(all)
    }

    /// All worlds as they are now, each in its place, with the contacts of the last step if these are to be shown.
    ///
    /// # Errors
    /// What a batch refuses.
    pub fn moments(&mut self, contacts: bool) -> Result<Vec<Moment>, Error> {
        let mut all: Vec<_> =
            self.placed()?.into_iter().map(|placed| Moment { placed, contacts: Vec::new() }).collect();
        if !contacts || self.steps == 0 {
            return Ok(all);
        }
        let (mut first, mut found) = (0, Vec::new());
        for (_, batch) in &mut self.batches {
            found.clear();
            batch.solved_contacts(&mut found)?;
            for mut solved in found.drain(..) {
                let world = first + solved.contact.world;
                (0..3).for_each(|axis| solved.contact.point[axis] += self.shifts[world][axis]);
                all[world].contacts.push(solved);
            }
            first += batch.len();
        }
        Ok(all)
    }

    /// The solvers' tolerance, N s.
    #[must_use]
    pub fn tolerance(&self) -> f64 {
        self.options.tolerance
    }

    /// Takes hold of the nearest body under a point of the picture (x and y from -1 to 1, to the right and upward), where
    /// there is one that moves.
    pub fn take(&mut self, scene: &Scene, placed: &[Placed], camera: &Camera, at: [f64; 2], size: Size) -> bool {
        let ray = camera.ray(at, size);
        let hit = |(world, placed): (usize, &Placed)| {
            let (body, at) = scene.hit(placed, camera.eye, ray)?;
            Some((world, body, at))
        };
        let away = |at: &Vec3| (at - camera.eye).norm();
        let nearest = placed.iter().enumerate().filter_map(hit).min_by(|a, b| away(&a.2).total_cmp(&away(&b.2)));
        self.held = nearest.and_then(|(world, body, at)| {
            let mut push = Push::grab(&self.model, body, &placed[world].poses[body], at)?;
            push.to -= self.shifts[world];
            Some((world, push))
        });
        self.held.is_some()
    }

    /// Pulls what is held to another point of the picture, in the plane through its end that faces the camera.
    pub fn drag(&mut self, camera: &Camera, at: [f64; 2], size: Size) {
        if let Some((world, push)) = &mut self.held {
            let [_, _, back] = camera.axes();
            let (ray, eye) = (camera.ray(at, size), camera.eye - self.shifts[*world]);
            push.to = eye + ray * ((push.to - eye).dot(&back) / ray.dot(&back));
        }
    }

    /// Lets go of what is held.
    pub fn let_go(&mut self) {
        self.held = None;
    }

    /// The spring of what is held, for a picture of so far a reach, m.
    #[must_use]
    pub fn spring(&self, placed: &[Placed], reach: f64) -> Option<Arrow> {
        let (world, push) = self.held?;
        let from = push.held(&placed[world]);
        Some(Arrow { from, way: push.to + self.shifts[world] - from, radius: SPRING * reach, colour: SPRING_COLOUR })
    }

    /// What is known of the last step of each world, solver by solver.
    ///
    /// # Errors
    /// What a batch refuses.
    pub fn summaries(&mut self) -> Result<Vec<Summary>, Error> {
        let (mut all, mut own) = (Vec::new(), Vec::new());
        for (_, batch) in &mut self.batches {
            batch.summaries(&mut own)?;
            all.append(&mut own);
        }
        Ok(all)
    }

    /// The certificate of the last step under each solver.
    ///
    /// # Errors
    /// What a batch refuses.
    pub fn certificates(&mut self) -> Result<Vec<Certificate>, Error> {
        let certificate = |(solver, batch): &mut (String, Batch)| {
            let mut all: Vec<Summary> = Vec::new();
            batch.summaries(&mut all)?;
            let most = |of: fn(&Summary) -> f64| all.iter().map(of).fold(0.0, f64::max);
            let worst = all.iter().max_by(|a, b| a.residual.total_cmp(&b.residual));
            Ok(Certificate {
                solver: solver.clone(),
                contacts: all.iter().map(|summary| summary.contacts).sum(),
                residual: most(|summary| summary.residual),
                penetration: most(|summary| summary.penetration),
                relaxed: all.iter().filter(|summary| summary.is_relaxed()).count(),
                failed: all.iter().filter(|summary| summary.failed()).count(),
                status: worst.map_or("", Summary::status_name),
            })
        };
        self.batches.iter_mut().map(certificate).collect()
    }
}

#[cfg(test)]
mod tests {
    use manyworlds::{Executor, ImportOptions, Precision};

    use super::*;

    fn worlds(scene: &str, count: usize, solvers: &[&str]) -> Worlds {
        let model = manyworlds::load(scene, &ImportOptions::default()).unwrap().model;
        // With the scene's own budget, as wherever it is looked at.
        let budget = &manyworlds::scenes::find(scene).unwrap().solver;
        let options = BatchOptions {
            executor: Executor::Cpu,
            precision: Precision::F64,
            tolerance: budget.tolerance,
            iterations: budget.iterations,
            ..BatchOptions::default()
        };
        let zeros = |n| vec![0.0; n];
        let (v, ctrl, act) = (zeros(model.n_v), zeros(model.actuators.len()), zeros(model.n_act()));
        let state = State { q: model.initial_q(), tau: v.clone(), v, ctrl, act };
        let start = Start { state, mocap: Vec::new() };
        let solvers: Vec<_> = solvers.iter().map(|&name| name.to_owned()).collect();
        Worlds::new(model, options, count, &solvers, start, Drive::default()).unwrap()
    }

    #[test]
    fn other_solvers_go_on_from_where_the_first_was() {
        let mut worlds = worlds("heavy-stack", 1, &["pgs"]);
        (0..20).for_each(|_| worlds.step().unwrap());
        let (before, time) = (worlds.placed().unwrap(), worlds.time());
        worlds.switch(&["auto", "pgs"].map(str::to_owned)).unwrap();
        // A reset normalizes quaternions once more.
        let off = |world: &Placed| world.q.iter().zip(&before[0].q).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        let after = worlds.placed().unwrap();
        assert!(after.len() == 2 && off(&after[0]) < 1e-14 && off(&after[1]) < 1e-14);
        assert_eq!(worlds.time(), time);
        (0..3).for_each(|_| worlds.step().unwrap());
        let [auto, pgs] = &worlds.certificates().unwrap()[..] else { panic!("two solvers") };
        assert!(auto.residual <= 1e-6 && pgs.residual > 100.0 * auto.residual, "{auto:?} {pgs:?}");
        assert!(worlds.switch(&["magic".to_owned()]).is_err());
        assert_eq!(worlds.batches().len(), 2);
    }

    #[test]
    fn the_mouse_pulls_the_body_under_it_and_no_other() {
        let mut worlds = worlds("free-box", 2, &["auto"]);
        let scene = Scene::new(worlds.model());
        let placed = worlds.placed().unwrap();
        let size = Size { width: 400, height: 300 };
        let middle = placed[1].poses[1].translation.vector;
        let camera = Camera::looking(middle + Vec3::new(0.0, -3.0, 0.5), middle, 1.0);
        assert!(!worlds.take(&scene, &placed, &camera, [0.0, 0.95], size), "there is sky");
        assert!(worlds.take(&scene, &placed, &camera, [0.0, 0.0], size));
        worlds.drag(&camera, [0.0, 0.6], size);
        let spring = worlds.spring(&placed, 1.0).unwrap();
        assert!(spring.way.z > 0.3 && (spring.from - middle).norm() < 2.0, "{spring:?}");
        (0..(0.5 / worlds.time_step()) as usize).for_each(|_| worlds.step().unwrap());
        let after = worlds.placed().unwrap();
        let rise = |world: usize| (after[world].poses[1].translation.z) - placed[world].poses[1].translation.z;
        assert!(rise(1) > 0.2 && rise(0) <= 0.0, "{} {}", rise(0), rise(1));
        worlds.let_go();
        assert!(worlds.spring(&after, 1.0).is_none());
    }
}
