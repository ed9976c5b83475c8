//! What can be chosen of a task.

/// Options of a task; none given: its own default.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TaskOptions {
    /// Whether each episode's world has parameters of its own (domain randomisation): Quadruped, where it is the default.
    pub randomize: Option<bool>,
    /// Height of the highest ground above the lowest that there could be, m; zero is flat: Quadruped, 0.06 by default.
    pub roughness: Option<f64>,
}
