//! How much is compared, and how: as the command line says, else as suits a built-in scene, else as suits most models.

use manyworlds::scenes::{self, SceneGradcheck};

use super::GradcheckArgs;

/// Difference of inputs,
const STEP: f64 = 2e-7;
/// and of directions, which move all of a large world: of its residual more is in their differences.
const STEP_ALONG: f64 = 1e-6;
/// Of models with more degrees of freedom directions are compared,
const MOST_DOFS: usize = 300;
/// so many.
const DIRECTIONS: usize = 4;

/// See the module.
pub(super) struct Settings {
    pub(super) states: u32,
    pub(super) every: u32,
    /// Compared at a state; none where directions are.
    pub(super) inputs: usize,
    pub(super) directions: usize,
    /// m/s
    pub(super) margin: f64,
    pub(super) step: f64,
    /// Residual that a scene's steps can be solved to, N s, where that is known.
    pub(super) tolerance: Option<f64>,
}

impl Settings {
    pub(super) fn new(args: &GradcheckArgs, n_v: usize) -> Self {
        let own = scenes::find(&args.model.model).map_or_else(SceneGradcheck::default, |scene| scene.gradcheck);
        let directions = args.directions.unwrap_or(if n_v > MOST_DOFS { DIRECTIONS } else { 0 });
        Self {
            states: args.states.or(own.states).unwrap_or(10),
            every: args.every.or(own.every).unwrap_or(25),
            inputs: args.inputs.or(own.inputs).unwrap_or(120),
            directions,
            margin: args.margin.or(own.margin).unwrap_or(1e-5),
            step: args.step.or(own.step).unwrap_or(if directions > 0 { STEP_ALONG } else { STEP }),
            tolerance: own.tolerance,
        }
    }

    /// How many inputs or directions are compared at a state.
    pub(super) fn compared(&self) -> usize {
        if self.directions > 0 { self.directions } else { self.inputs }
    }
}

#[cfg(test)]
mod tests {
    use super::Settings;
    use crate::gradcheck::options_of;

    fn settings(line: &str, n_v: usize) -> Settings {
        Settings::new(&options_of(line), n_v)
    }

    #[test]
    fn the_command_line_comes_before_the_scene_and_the_scene_before_the_rest() {
        let beam = settings("flexible-beam --states 7", 97);
        assert_eq!((beam.states, beam.every, beam.compared()), (7, 25, 24));
        assert_eq!((beam.step, beam.tolerance), (1e-4, Some(1e-11)));
        let robot = settings("humanoid", 27);
        assert_eq!((robot.states, robot.every, robot.compared()), (10, 25, 120));
        assert_eq!((robot.step, robot.margin, robot.tolerance), (2e-7, 1e-5, None));
        let large = settings("large.xml --margin 1e-3", 301);
        assert_eq!((large.step, large.margin, large.compared()), (1e-6, 1e-3, 4));
    }
}
