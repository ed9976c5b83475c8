//! What the page shows: worlds of a built-in scene or of a file, a camera, arrows, and how residuals went.

use std::collections::VecDeque;

use manyworlds::model::Vec3;
use manyworlds::{BatchOptions, ControlCurve, Executor, ImportOptions, Loaded, Precision, State, Summary, scenes};
use manyworlds_render::{Camera, Display, Layers, Placed, Scene, Size};
use manyworlds_view::{Certificate, Drive, Marks, Scale, Start, Worlds};

/// Steps whose residuals are kept.
const KEPT: usize = 300;

/// Worlds, and from where they are seen.
pub struct Shown {
    worlds: Worlds,
    scene: Scene,
    camera: Camera,
    marks: Marks,
    /// What arrows stand for: all that was shown since contacts are.
    scale: Option<Scale>,
    /// Largest residual of the first and of the second solver in the last steps, N s; the second may be none.
    history: VecDeque<[f32; 2]>,
}

impl Shown {
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
        let zeros = vec![0.0; loaded.model.actuators.len()];
        let curve = scene.controls().map(|text| ControlCurve::from_csv(text, &loaded.model, &zeros)).transpose();
        let amplitude = if count > 1 { scene.bench.control_amplitude } else { 0.0 };
        let drive = Drive { curve: curve.map_err(|e| e.to_string())?, amplitude };
        Self::new(loaded, scene.keyframe.as_deref(), options, count, solvers, drive)
    }

    /// A model of a file.
    ///
    /// # Errors
    /// What a batch of it refuses.
    pub fn of_model(loaded: Loaded, count: usize, solvers: &[String]) -> Result<Self, String> {
        Self::new(loaded, None, BatchOptions::default(), count, solvers, Drive::default())
    }

    fn new(
        loaded: Loaded,
        keyframe: Option<&str>,
        options: BatchOptions,
        count: usize,
        solvers: &[String],
        drive: Drive,
    ) -> Result<Self, String> {
        let model = loaded.model;
        let options = BatchOptions { executor: Executor::Cpu, precision: Precision::F64, ..options };
        let keyframe = keyframe.and_then(|name| model.keyframes.iter().find(|k| k.name == name));
        let zeros = |n| vec![0.0; n];
        let state = State {
            q: keyframe.map_or_else(|| model.initial_q(), |k| k.q.clone()),
            v: keyframe.map_or_else(|| zeros(model.n_v), |k| k.v.clone()),
            ctrl: zeros(model.actuators.len()),
            tau: zeros(model.n_v),
            act: keyframe.map_or_else(|| zeros(model.n_act()), |k| k.act.clone()),
        };
        let scene = Scene::new(&model);
        let start = Start { state, mocap: Vec::new() };
        let worlds = Worlds::new(model, options, count, solvers, start, drive).map_err(|e| e.to_string())?;
        let camera = Camera::looking(Vec3::repeat(1.0), Vec3::zeros(), 1.0);
        Ok(Self { worlds, scene, camera, marks: Marks::default(), scale: None, history: VecDeque::new() })
    }

    /// The worlds alone.
    pub fn worlds(&mut self) -> &mut Worlds {
        &mut self.worlds
    }

    /// Time step, s.
    #[must_use]
    pub fn time_step(&self) -> f64 {
        self.worlds.time_step()
    }

    /// Back to the start.
    ///
    /// # Errors
    /// What a batch refuses.
    pub fn restart(&mut self) -> Result<(), String> {
        self.history.clear();
        self.scale = None;
        self.worlds.restart().map_err(|e| e.to_string())
    }

    /// Goes on under other solvers; a gap in the history says where.
    ///
    /// # Errors
    /// What a batch refuses; nothing is changed then.
    pub fn switch(&mut self, solvers: &[String]) -> Result<(), String> {
        self.worlds.switch(solvers).map_err(|e| e.to_string())?;
        self.remember([f32::NAN; 2]);
        Ok(())
    }

    /// One step of all worlds.
    ///
    /// # Errors
    /// What a batch refuses.
    pub fn step(&mut self) -> Result<(), String> {
        self.worlds.step().map_err(|e| e.to_string())?;
        let mut row = [f32::NAN; 2];
        let mut all: Vec<Summary> = Vec::new();
        for (residual, (_, batch)) in row.iter_mut().zip(self.worlds.batches()) {
            batch.summaries(&mut all).map_err(|e| e.to_string())?;
            *residual = all.iter().map(|summary| summary.residual).fold(0.0, f64::max) as f32;
        }
        self.remember(row);
        Ok(())
    }

    fn remember(&mut self, row: [f32; 2]) {
        if self.history.len() == KEPT {
            self.history.pop_front();
        }
        self.history.push_back(row);
    }

    /// Residuals of the last steps, two numbers each.
    #[must_use]
    pub fn history(&self) -> Vec<f32> {
        self.history.iter().flatten().copied().collect()
    }

    fn placed(&mut self) -> Result<Vec<Placed>, String> {
        self.worlds.placed().map_err(|e| e.to_string())
    }

    /// Looks at everything that moves.
    ///
    /// # Errors
    /// What a batch refuses.
    pub fn frame(&mut self, size: Size) -> Result<(), String> {
        let placed = self.placed()?;
        self.camera = self.scene.frame(&placed.iter().collect::<Vec<_>>(), size, true);
        Ok(())
    }

    /// The camera, for the mouse to move.
    pub fn camera(&mut self) -> &mut Camera {
        &mut self.camera
    }

    /// Takes hold of the body under a point of the picture, if there is one that moves.
    ///
    /// # Errors
    /// What a batch refuses.
    pub fn take(&mut self, at: [f64; 2], size: Size) -> Result<bool, String> {
        let placed = self.placed()?;
        Ok(self.worlds.take(&self.scene, &placed, &self.camera, at, size))
    }

    /// Pulls what is held to another point of the picture.
    pub fn drag(&mut self, at: [f64; 2], size: Size) {
        self.worlds.drag(&self.camera, at, size);
    }

    /// Corners of all meshes, as [`Scene::corners`] has them.
    #[must_use]
    pub fn corners(&self) -> Vec<f32> {
        self.scene.corners()
    }

    /// Textures, as [`Scene::layers`] has them.
    #[must_use]
    pub fn layers(&self) -> &Layers {
        self.scene.layers()
    }

    /// What there is to draw now.
    ///
    /// # Errors
    /// What a batch refuses.
    pub fn display(&mut self, size: Size) -> Result<Display, String> {
        let moments = self.worlds.moments(self.marks.contacts.is_some()).map_err(|e| e.to_string())?;
        let reach = self.camera.radius;
        if let Some(colour) = self.marks.contacts {
            let now = Scale::of(colour, self.worlds.tolerance(), moments.iter(), reach);
            self.scale = Some(now.and(self.scale.as_ref()));
        }
        let of = |moment| self.marks.arrows(self.worlds.model(), moment, self.scale.as_ref(), reach);
        let mut arrows: Vec<_> = moments.iter().flat_map(of).collect();
        let placed: Vec<Placed> = moments.into_iter().map(|moment| moment.placed).collect();
        arrows.extend(self.worlds.spring(&placed, reach));
        Ok(self.scene.display(&placed, &arrows, &self.camera, size))
    }

    /// Shows this beside shapes from now on.
    pub fn mark(&mut self, marks: Marks) {
        self.marks = marks;
        self.scale = None;
    }

    /// What arrows and their colours stand for, where contacts are shown.
    #[must_use]
    pub fn scale(&self) -> Option<String> {
        self.scale.as_ref().map(Scale::text)
    }

    /// The certificate of the last step under each solver.
    ///
    /// # Errors
    /// What a batch refuses.
    pub fn certificates(&mut self) -> Result<Vec<Certificate>, String> {
        self.worlds.certificates().map_err(|e| e.to_string())
    }
}

#[cfg(test)]
mod tests {
    use manyworlds_view::ContactColour;

    use super::*;

    #[test]
    fn solvers_stand_beside_each_other_and_tell_apart() {
        let solvers = ["auto", "pgs"].map(str::to_owned);
        let mut shown = Shown::of_scene("heavy-stack", 1, &solvers).unwrap();
        shown.mark(Marks { contacts: Some(ContactColour::Residual), centres: true, axes: true });
        (0..5).for_each(|_| shown.step().unwrap());
        let [auto, pgs] = &shown.certificates().unwrap()[..] else { panic!("two solvers") };
        assert!(auto.residual <= 1e-6 && pgs.residual > 100.0 * auto.residual, "{auto:?} {pgs:?}");
        let size = Size { width: 640, height: 480 };
        shown.frame(size).unwrap();
        let display = shown.display(size).unwrap();
        // Five boxes under each solver.
        let boxes = display.runs.chunks_exact(4).find(|run| run[3] == Display::SOLID).unwrap();
        assert_eq!(boxes[2], 10);
        // Under `auto` every contact is solved, under `pgs` some are far from it.
        let arrows =
            display.runs.chunks_exact(4).filter(|run| run[3] == Display::ARROW).map(|run| run[2]).max().unwrap();
        assert!(arrows > 10, "{arrows}");
        assert!(shown.scale().unwrap().contains("blue is solved to"), "{:?}", shown.scale());
        shown.mark(Marks::default());
        let plain = shown.display(size).unwrap();
        assert!(plain.runs.chunks_exact(4).all(|run| run[3] != Display::ARROW || run[2] == 0));
        assert!(shown.scale().is_none());
        let shifts = shown.worlds().shifts();
        assert!(shifts[1].x > 3.2, "they do not meet: {shifts:?}");
    }

    #[test]
    fn the_history_shows_a_change_of_solvers() {
        let mut shown = Shown::of_scene("heavy-stack", 1, &["pgs".to_owned()]).unwrap();
        (0..4).for_each(|_| shown.step().unwrap());
        shown.switch(&["auto".to_owned()]).unwrap();
        (0..4).for_each(|_| shown.step().unwrap());
        let history = shown.history();
        assert_eq!(history.len(), 18);
        assert!(history[8].is_nan() && history[6] > 100.0 * history[16], "{history:?}");
        shown.restart().unwrap();
        assert!(shown.history().is_empty());
    }

    #[test]
    fn an_unknown_scene_and_solver_are_named() {
        let refused = |scene, solver: &str| Shown::of_scene(scene, 1, &[solver.to_owned()]).err().unwrap();
        assert!(refused("no-scene", "auto").contains("no-scene"));
        assert!(refused("free-box", "magic").contains("magic"));
    }
}
