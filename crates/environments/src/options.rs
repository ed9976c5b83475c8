//! What can be chosen of a task.

use crate::Error;

/// A value that an option is given.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Choice {
    /// Yes or no.
    Flag(bool),
    /// A number.
    Number(f64),
    /// A lower and an upper bound.
    Range([f64; 2]),
}

/// What an option holds.
trait Kind: Copy + Default {
    /// What is expected of such an option.
    const EXPECTED: &'static str;

    /// The value, where it is one of this kind that makes sense.
    fn of(choice: Choice) -> Option<Self>;

    /// The value as any.
    fn choice(self) -> Choice;
}

impl Kind for bool {
    const EXPECTED: &'static str = "True or False";

    fn of(choice: Choice) -> Option<Self> {
        if let Choice::Flag(flag) = choice { Some(flag) } else { None }
    }

    fn choice(self) -> Choice {
        Choice::Flag(self)
    }
}

impl Kind for f64 {
    const EXPECTED: &'static str = "a finite number";

    fn of(choice: Choice) -> Option<Self> {
        if let Choice::Number(x) = choice { x.is_finite().then_some(x) } else { None }
    }

    fn choice(self) -> Choice {
        Choice::Number(self)
    }
}

impl Kind for [f64; 2] {
    const EXPECTED: &'static str = "two numbers, the lower first";

    fn of(choice: Choice) -> Option<Self> {
        if let Choice::Range([low, high]) = choice { (low <= high).then_some([low, high]) } else { None }
    }

    fn choice(self) -> Choice {
        Choice::Range(self)
    }
}

fn taken<T: Kind>(option: &'static str, choice: Choice) -> Result<T, Error> {
    let wrong = || Error::Option { option, message: format!("expected {}, found {choice:?}", T::EXPECTED) };
    T::of(choice).ok_or_else(wrong)
}

/// What was given, else the task's default; zero where the task has no such option and nobody asked for it.
fn chosen<T: Kind>(option: &'static str, task: &str, given: Option<T>, default: Option<T>) -> Result<T, Error> {
    match (given, default) {
        (Some(_), None) => Err(Error::Option { option, message: format!("{task} has no such option") }),
        (Some(given), Some(_)) => taken(option, given.choice()),
        (None, default) => Ok(default.unwrap_or_default()),
    }
}

macro_rules! options {
    ($($(#[$doc:meta])* $name:ident: $kind:ty,)*) => {
        /// Options of a task; none given: its own default. All but the first two are Gymnasium's, under its names.
        #[derive(Debug, Clone, Copy, Default, PartialEq)]
        pub struct TaskOptions {
            $($(#[$doc])* pub $name: Option<$kind>,)*
        }

        /// What holds of a task: what was given or its default. What it has no option for is zero.
        #[derive(Debug, Clone, Copy, Default, PartialEq)]
        pub(crate) struct Settings {
            $(pub(crate) $name: $kind,)*
        }

        impl TaskOptions {
            /// No option at all.
            pub(crate) const NONE: Self = Self { $($name: None,)* };

            /// Names of all options of all tasks.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($name)),*];

            /// Gives an option by its name.
            ///
            /// # Errors
            /// [`Error::UnknownOption`], and [`Error::Option`] for a value of another kind.
            pub fn set(&mut self, name: &str, value: Choice) -> Result<(), Error> {
                match name {
                    $(stringify!($name) => self.$name = Some(taken(stringify!($name), value)?),)*
                    _ => {
                        let known = Self::NAMES.join(", ");
                        return Err(Error::UnknownOption { found: name.into(), known });
                    }
                }
                Ok(())
            }

            fn over(&self, task: &str, defaults: &Self) -> Result<Settings, Error> {
                Ok(Settings { $($name: chosen(stringify!($name), task, self.$name, defaults.$name)?,)* })
            }
        }
    };
}

options! {
    /// Whether each episode's world has parameters of its own (domain randomisation): Quadruped, where it is the default.
    randomize: bool,
    /// Height of the highest ground above the lowest that there could be, m; zero is flat: Quadruped, 0.06 by default.
    roughness: f64,
    /// Reward of velocity along x, s/m.
    forward_reward_weight: f64,
    /// What the sum of the squares of the controls costs.
    ctrl_cost_weight: f64,
    /// What the sum of the squares of contact torques and forces on bodies costs, 1/N^2.
    contact_cost_weight: f64,
    /// Bounds of that cost.
    contact_cost_range: [f64; 2],
    /// Bounds of the contact torques and forces that are seen and cost, N m and N.
    contact_force_range: [f64; 2],
    /// Reward of a step in which the robot stands.
    healthy_reward: f64,
    /// Whether an episode is over when it no longer does.
    terminate_when_unhealthy: bool,
    /// Heights of the torso at which it stands, m.
    healthy_z_range: [f64; 2],
    /// Leans at which it does, rad.
    healthy_angle_range: [f64; 2],
    /// Between which all numbers of the state but the first two are then.
    healthy_state_range: [f64; 2],
    /// How much starts differ.
    reset_noise_scale: f64,
    /// Whether the place along the ground is left out of observations.
    exclude_current_positions_from_observation: bool,
    /// Whether inertias of bodies are seen.
    include_cinert_in_observation: bool,
    /// Whether velocities of bodies are.
    include_cvel_in_observation: bool,
    /// Whether torques of actuators are.
    include_qfrc_actuator_in_observation: bool,
    /// Whether contact torques and forces on bodies are.
    include_cfrc_ext_in_observation: bool,
    /// What the distance to the goal costs, 1/m.
    reward_dist_weight: f64,
    /// What the distance from the arm's tip to the object costs, 1/m.
    reward_near_weight: f64,
    /// What the sum of the squares of the controls costs.
    reward_control_weight: f64,
}

impl TaskOptions {
    /// These over a task's own.
    pub(crate) fn settings(&self, task: &str, defaults: &Self) -> Result<Settings, Error> {
        let settings = self.over(task, defaults)?;
        let sizes = [("roughness", settings.roughness), ("reset_noise_scale", settings.reset_noise_scale)];
        match sizes.into_iter().find(|(_, size)| *size < 0.0) {
            Some((option, size)) => Err(Error::Option {
                option,
                message: format!("expected a number that is not below zero, found {size}"),
            }),
            None => Ok(settings),
        }
    }
}
