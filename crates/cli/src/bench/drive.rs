//! How long the worlds of a run are stepped, and with what controls.

/// Steps of a run, and those before them.
pub(super) struct Steps {
    pub(super) settle: u64,
    pub(super) steps: u64,
}

/// Random controls around those of the initial state, drawn evenly; the model clamps them to their range.
pub(super) struct Controls {
    pub(super) middle: Vec<f64>,
    pub(super) amplitude: f64,
    pub(super) worlds: usize,
    pub(super) seed: u64,
    pub(super) step: u64,
}

impl Controls {
    pub(super) fn worlds(&self) -> usize {
        self.worlds
    }

    /// Those of the next step, world by world.
    pub(super) fn next(&mut self) -> Vec<f64> {
        let mut controls = Vec::with_capacity(self.worlds * self.middle.len());
        for world in 0..self.worlds as u64 {
            for (u, middle) in self.middle.iter().enumerate() {
                let x = manyworlds::random::symmetric(self.seed, world, self.step, u as u64);
                controls.push(middle + self.amplitude * x);
            }
        }
        self.step += 1;
        controls
    }
}
