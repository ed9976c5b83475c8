//! Worlds of a model that are stepped and looked at, the same under each of some solvers.

use manyworlds::kinematics::motions_with;
use manyworlds::model::Vec3;
use manyworlds::{
    Batch, BatchOptions, ContactImpulse, ControlCurve, Executor, ImportOptions, Loaded, Model, Precision, State,
    Summary, scenes,
};
use manyworlds_render::{Arrow, Camera, Display, Placed, Scene, Size};
use serde::Serialize;

/// Distance of worlds, in widths of one.
const APART: f64 = 1.3;
/// Time for which random controls stay the same, s.
const HOLD: f64 = 0.1;
/// Length of the longest arrow and radius of all shafts, as parts of the reach of what is seen.
const LONGEST: f64 = 0.5;
const SHAFT: f64 = 0.008;
const ARROWS: [u8; 3] = [0xd6, 0x27, 0x28];

/// The batches of one model.
pub struct Worlds {
    model: Model,
    scene: Scene,
    batches: Vec<(String, Batch)>,
    start: State,
    curve: Option<ControlCurve>,
    /// Largest random control beside the start's.
    amplitude: f64,
    /// Where the worlds of all batches stand, m.
    shifts: Vec<Vec3>,
    steps: u64,
    /// Time step, s.
    h: f64,
    camera: Camera,
    /// Longest impulse so far, N s: arrows do not flicker.
    impulse: f64,
    /// Whether arrows are drawn.
    pub arrows: bool,
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
    /// Status of the world with the largest residual.
    pub status: &'static str,
}

impl Worlds {
    /// A built-in scene.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn of_scene(name: &str, count: usize, solvers: &[String]) -> Result<Self, String> {
        let scene = scenes::find(name).ok_or_else(|| format!("{name}: there is no such scene"))?;
        let loaded = manyworlds::load(name, &ImportOptions::default()).map_err(|e| e.to_string())?;
        let options = BatchOptions {
            tolerance: scene.solver.tolerance,
            iterations: scene.solver.iterations,
            ..BatchOptions::default()
        };
        let keyframe = scene.keyframe.as_deref();
        let mut worlds = Self::new(loaded, keyframe, options, count, solvers)?;
        if let Some(text) = scene.controls() {
            let curve = ControlCurve::from_csv(text, &worlds.model, &worlds.start.ctrl);
            worlds.curve = Some(curve.map_err(|e| e.to_string())?);
        }
        worlds.amplitude = if count > 1 { scene.bench.control_amplitude } else { 0.0 };
        Ok(worlds)
    }

    /// A model of a file.
    ///
    /// # Errors
    /// What a batch of it refuses.
    pub fn of_model(loaded: Loaded, count: usize, solvers: &[String]) -> Result<Self, String> {
        Self::new(loaded, None, BatchOptions::default(), count, solvers)
    }

    fn new(
        loaded: Loaded,
        keyframe: Option<&str>,
        options: BatchOptions,
        count: usize,
        solvers: &[String],
    ) -> Result<Self, String> {
        let model = loaded.model;
        let options = BatchOptions { executor: Executor::Cpu, precision: Precision::F64, ..options };
        let batch = |solver: &String| {
            let options = BatchOptions { solver: solver.clone(), ..options.clone() };
            Ok((solver.clone(), Batch::new(&[(&model, count)], &options)?))
        };
        let batches: Result<Vec<_>, manyworlds::Error> = solvers.iter().map(batch).collect();
        let batches = batches.map_err(|e| e.to_string())?;
        let keyframe = keyframe.and_then(|name| model.keyframes.iter().find(|k| k.name == name));
        let zeros = |n| vec![0.0; n];
        let start = State {
            q: keyframe.map_or_else(|| model.initial_q(), |k| k.q.clone()),
            v: keyframe.map_or_else(|| zeros(model.n_v), |k| k.v.clone()),
            ctrl: zeros(model.actuators.len()),
            tau: zeros(model.n_v),
            act: keyframe.map_or_else(|| zeros(model.n_act()), |k| k.act.clone()),
        };
        let mut worlds = Self {
            scene: Scene::new(&model),
            h: model.options.timestep,
            camera: Camera::looking(Vec3::repeat(1.0), Vec3::zeros(), 1.0),
            shifts: Vec::new(),
            curve: None,
            amplitude: 0.0,
            steps: 0,
            impulse: 0.0,
            arrows: false,
            model,
            batches,
            start,
        };
        worlds.reset()?;
        worlds.spread(count)?;
        Ok(worlds)
    }

    /// Places the worlds in squares, one beside the other for each solver.
    fn spread(&mut self, count: usize) -> Result<(), String> {
        let first = self.placed()?.swap_remove(0);
        let [width, depth] = self.scene.footprint(&first).map(|x| APART * x);
        let columns = (count as f64).sqrt().ceil() as usize;
        for batch in 0..self.batches.len() {
            for world in 0..count {
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
    pub fn reset(&mut self) -> Result<(), String> {
        self.steps = 0;
        for (_, batch) in &mut self.batches {
            let states: Vec<_> = (0..batch.len()).map(|world| (world, self.start.clone())).collect();
            batch.reset(&states).map_err(|e| e.to_string())?;
        }
        Ok(())
    }

    /// Time step, s.
    #[must_use]
    pub fn time_step(&self) -> f64 {
        self.h
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
    pub fn step(&mut self) -> Result<(), String> {
        let own = self.curve.as_ref().map_or_else(|| self.start.ctrl.clone(), |curve| curve.at(self.time()));
        let draw = (self.time() / HOLD) as u64;
        for (_, batch) in &mut self.batches {
            let mut controls = own.repeat(batch.len());
            if self.amplitude > 0.0 {
                for (i, control) in controls.iter_mut().enumerate() {
                    let (world, entry) = (i / own.len(), i % own.len());
                    *control += self.amplitude * manyworlds::random::symmetric(0, world as u64, draw, entry as u64);
                }
            }
            batch.step(&controls).map_err(|e| e.to_string())?;
        }
        self.steps += 1;
        Ok(())
    }

    /// Where all worlds are, not yet side by side.
    fn placed(&mut self) -> Result<Vec<Placed>, String> {
        let mut all = Vec::new();
        let (mut bodies, still) = (Vec::new(), vec![0.0; self.model.n_v]);
        for (_, batch) in &mut self.batches {
            for world in 0..batch.len() {
                let q = batch.state(world).map_err(|e| e.to_string())?.q;
                motions_with(&self.model, &q, &still, &[], &mut bodies);
                all.push(Placed { poses: bodies.iter().map(|body| body.pose).collect(), q });
            }
        }
        Ok(all)
    }

    fn shifted(&mut self) -> Result<Vec<Placed>, String> {
        let shifts = self.shifts.clone();
        Ok(self.placed()?.into_iter().zip(shifts).map(|(placed, by)| placed.shifted(by)).collect())
    }

    /// Looks at everything that moves.
    ///
    /// # Errors
    /// What a batch refuses.
    pub fn frame(&mut self, size: Size) -> Result<(), String> {
        let placed = self.shifted()?;
        self.camera = self.scene.frame(&placed.iter().collect::<Vec<_>>(), size, true);
        Ok(())
    }

    /// The camera, for the mouse to move.
    pub fn camera(&mut self) -> &mut Camera {
        &mut self.camera
    }

    /// Corners of all meshes, as [`Scene::corners`] has them.
    #[must_use]
    pub fn corners(&self) -> Vec<f32> {
        self.scene.corners()
    }

    /// What there is to draw now.
    ///
    /// # Errors
    /// What a batch refuses.
    pub fn display(&mut self, size: Size) -> Result<Display, String> {
        let placed = self.shifted()?;
        let arrows = if self.arrows && self.steps > 0 { self.contacts()? } else { Vec::new() };
        Ok(self.scene.display(&placed, &arrows, &self.camera, size))
    }

    /// Impulses of the last step, on bodies that move.
    fn contacts(&mut self) -> Result<Vec<Arrow>, String> {
        let mut found: Vec<(Vec3, ContactImpulse)> = Vec::new();
        let mut first = 0;
        for (_, batch) in &mut self.batches {
            let mut all = Vec::new();
            batch.contact_impulses(&mut all).map_err(|e| e.to_string())?;
            found.extend(all.into_iter().map(|contact| (self.shifts[first + contact.world], contact)));
            first += batch.len();
        }
        let longest = found.iter().map(|(_, c)| Vec3::from(c.impulse).norm()).fold(0.0, f64::max);
        self.impulse = self.impulse.max(longest);
        let scale = LONGEST * self.camera.radius / self.impulse.max(f64::MIN_POSITIVE);
        let arrow = |(shift, contact): &(Vec3, ContactImpulse)| {
            let second = contact.bodies[1];
            let still = second < self.model.bodies.len() && self.model.stands_still(second);
            let way = Vec3::from(contact.impulse) * if still { -scale } else { scale };
            let from = Vec3::from(contact.point) + shift;
            Arrow { from, way, radius: SHAFT * self.camera.radius, colour: ARROWS }
        };
        Ok(found.iter().map(arrow).collect())
    }

    /// The certificate of the last step under each solver.
    ///
    /// # Errors
    /// What a batch refuses.
    pub fn certificates(&mut self) -> Result<Vec<Certificate>, String> {
        let certificate = |(solver, batch): &mut (String, Batch)| {
            let mut all: Vec<Summary> = Vec::new();
            batch.summaries(&mut all).map_err(|e| e.to_string())?;
            let most = |of: fn(&Summary) -> f64| all.iter().map(of).fold(0.0, f64::max);
            let worst = all.iter().max_by(|a, b| a.residual.total_cmp(&b.residual));
            Ok(Certificate {
                solver: solver.clone(),
                contacts: all.iter().map(|summary| summary.contacts).sum(),
                residual: most(|summary| summary.residual),
                penetration: most(|summary| summary.penetration),
                status: worst.map_or("", Summary::status_name),
            })
        };
        self.batches.iter_mut().map(certificate).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solvers_stand_beside_each_other_and_tell_apart() {
        let solvers = ["auto", "pgs"].map(str::to_owned);
        let mut worlds = Worlds::of_scene("heavy-stack", 1, &solvers).unwrap();
        worlds.arrows = true;
        (0..5).for_each(|_| worlds.step().unwrap());
        let [auto, pgs] = &worlds.certificates().unwrap()[..] else { panic!("two solvers") };
        assert!(auto.residual <= 1e-6 && pgs.residual > 100.0 * auto.residual, "{auto:?} {pgs:?}");
        let size = Size { width: 640, height: 480 };
        worlds.frame(size).unwrap();
        let display = worlds.display(size).unwrap();
        // Five boxes under each solver.
        let boxes = display.runs.chunks_exact(4).find(|run| run[3] == Display::SOLID).unwrap();
        assert_eq!(boxes[2], 10);
        assert!(worlds.shifts[1].x > 3.2, "they do not meet: {:?}", worlds.shifts);
    }

    #[test]
    fn an_unknown_scene_and_solver_are_named() {
        let refused = |scene, solver: &str| Worlds::of_scene(scene, 1, &[solver.to_owned()]).err().unwrap();
        assert!(refused("no-scene", "auto").contains("no-scene"));
        assert!(refused("free-box", "magic").contains("magic"));
    }
}
