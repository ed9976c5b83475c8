//! What can go wrong when a batch is made or used.

use manyworlds_model::ModelError;

/// Misuse, bad input, or a machine that lacks what was asked for. What goes wrong inside a world is its status, not this.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A soft body that has no mechanics.
    #[error(transparent)]
    Soft(#[from] manyworlds_soft::SoftError),
    /// The model could not be read.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The model has shapes that cannot collide.
    #[error(transparent)]
    Collide(#[from] manyworlds_collide::CollideError),
    /// The model has something the kernels cannot express.
    #[error(transparent)]
    Dynamics(#[from] manyworlds_dynamics::TreeError),
    /// The adapter failed, or is missing.
    #[error(transparent)]
    Gpu(#[from] manyworlds_gpu::GpuError),
    /// A setting is out of its range.
    #[error("{option}: expected {expected}, found {found}")]
    Option {
        /// The setting.
        option: &'static str,
        /// What it may be.
        expected: &'static str,
        /// What it is.
        found: String,
    },
    /// No such solver.
    #[error(transparent)]
    Solver(#[from] manyworlds_contact::SolveError),
    /// Neither a file nor a scene.
    #[error("\"{found}\" is neither a model file (.xml, .urdf) nor a built-in scene; scenes: {known}")]
    UnknownModel {
        /// What was asked for.
        found: String,
        /// The scenes there are.
        known: String,
    },
    /// A batch needs at least one world.
    #[error("model {model} \"{name}\": expected at least one world, found none")]
    NoWorlds {
        /// Position in the list of groups.
        model: usize,
        /// The model's name.
        name: String,
    },
    /// More worlds than memory; said before anything is allocated.
    #[error("{worlds} worlds of \"{name}\" need about {needed_mb} MB, {available_mb} MB are available")]
    Memory {
        /// The number asked for.
        worlds: usize,
        /// The model's name.
        name: String,
        /// Estimate, MB.
        needed_mb: u64,
        /// What the machine has free, MB.
        available_mb: u64,
    },
    /// An array does not fit the model.
    #[error("{what}{}: expected {expected} numbers, found {found}", of_world(*world))]
    Length {
        /// Which array.
        what: &'static str,
        /// The world, where the array is one world's.
        world: Option<usize>,
        /// Its length by the model.
        expected: usize,
        /// The length given.
        found: usize,
    },
    /// An array holds an infinity or a NaN.
    #[error("{what}[{index}]{}: expected a finite number, found {found}", of_world(*world))]
    NotFinite {
        /// Which array.
        what: &'static str,
        /// The world, where the array is one world's.
        world: Option<usize>,
        /// The entry.
        index: usize,
        /// What is there.
        found: f64,
    },
    /// A world, body, joint or another part that is not there.
    #[error("{what} {index}: there are {count}")]
    Index {
        /// What was asked for.
        what: &'static str,
        /// The index asked for.
        index: usize,
        /// How many there are.
        count: usize,
    },
    /// A parameter that cannot be overridden so.
    #[error("{parameter}: {message}")]
    Parameter {
        /// The parameter.
        parameter: String,
        /// What is wrong.
        message: String,
    },
    /// Derivatives of a step that was not kept.
    #[error(
        "no step to differentiate: keep steps (`Batch::keep_steps`), and ask after a step and before the world is changed"
    )]
    NoGradient,
    /// Derivatives of a world that is too large for dense ones.
    #[error(
        "dense derivatives of a world with {n_v} degrees of freedom: at most {most}; products (`Batch::back`) have no such bound"
    )]
    TooLarge {
        /// Degrees of freedom.
        n_v: usize,
        /// How many there may be.
        most: usize,
    },
    /// A world without a contact problem to read.
    #[error("contact problem of world {world}: {why}")]
    NoProblem {
        /// The world.
        world: usize,
        /// What is in the way.
        why: String,
    },
    /// Controls over time that cannot be read.
    #[error("line {line}: {message}")]
    Controls {
        /// Line of the text, from 1 on.
        line: u64,
        /// What is wrong.
        message: String,
    },
    /// A file that cannot be written or read.
    #[error("{}: {reason}", path.display())]
    File {
        /// Its path.
        path: std::path::PathBuf,
        /// What the system says.
        reason: std::io::Error,
    },
    /// Bytes that are not a checkpoint of this batch.
    #[error("checkpoint: {0}")]
    Checkpoint(String),
}

fn of_world(world: Option<usize>) -> String {
    world.map_or_else(String::new, |world| format!(" of world {world}"))
}
