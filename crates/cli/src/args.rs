//! Options that several commands share.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use manyworlds::model::{Ignored, Keyframe};
use manyworlds::{Batch, BatchOptions, Executor, ImportOptions, Integrator, Loaded, Model, Precision, Stabilisation};

use crate::failure::Failure;

/// Which model, and how to read it.
#[derive(Args)]
pub(crate) struct ModelArgs {
    /// Path (.xml MJCF, .urdf) or the name of a built-in scene
    pub(crate) model: String,
    #[command(flatten)]
    pub(crate) import: ImportArgs,
}

/// How to read a model.
#[derive(Args)]
pub(crate) struct ImportArgs {
    /// Leaves out, and lists, elements that change the physics and are not supported
    #[arg(long)]
    pub(crate) ignore_unsupported: bool,
    /// URDF: gives the root link a free joint
    #[arg(long)]
    pub(crate) free_root: bool,
    /// URDF: adds a ground plane at z = 0
    #[arg(long)]
    pub(crate) ground: bool,
    /// URDF: merges links held by fixed joints into their parents
    #[arg(long)]
    pub(crate) merge_fixed: bool,
}

impl ImportArgs {
    /// Reads the model, saying on standard error what had to be assumed.
    pub(crate) fn load(&self, model: &str) -> Result<Loaded, Failure> {
        let loaded = manyworlds::load(model, &self.options())?;
        for assumption in &loaded.assumptions {
            tracing::warn!("{model}: {assumption}");
        }
        Ok(loaded)
    }

    /// The importer's options.
    pub(crate) fn options(&self) -> ImportOptions {
        ImportOptions {
            ignore_unsupported: self.ignore_unsupported,
            free_root: self.free_root,
            ground: self.ground,
            merge_fixed: self.merge_fixed,
        }
    }
}

impl ModelArgs {
    /// Reads the model.
    pub(crate) fn load(&self) -> Result<Loaded, Failure> {
        self.import.load(&self.model)
    }

    /// Reads the model for pictures, saying as well which textures and materials are missing from them.
    pub(crate) fn load_to_draw(&self) -> Result<Loaded, Failure> {
        let loaded = self.load()?;
        for Ignored { file, line, element, why, .. } in &loaded.ignored {
            if ["texture", "material"].iter().any(|tag| why.contains(tag)) {
                tracing::warn!("{}:{line}: {element}: {why}", file.display());
            }
        }
        Ok(loaded)
    }
}

/// How to step.
#[derive(Args)]
pub(crate) struct RunArgs {
    /// What runs the kernels: gpu any wgpu adapter, cpu their Rust mirrors, auto a hardware GPU or else the CPU
    #[arg(long, value_enum, default_value_t = ExecutorArg::Auto)]
    pub(crate) executor: ExecutorArg,
    /// Number type of everything computed; bench: f32, sim and step: f64 when absent
    #[arg(long, value_enum)]
    pub(crate) precision: Option<PrecisionArg>,
    /// Contact solver: auto (whatever it takes), newton (what kernels do of that), pgs (sweeps alone), subadmm, canal or
    /// newton-cr; of other contact: sap (compliant, convex), dantzig (friction pyramids)
    #[arg(long, value_name = "NAME")]
    pub(crate) solver: Option<String>,
    /// Residual at which the solver stops, N s; `bench` ends with exit code 1 when a world misses it
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    pub(crate) tolerance: Option<f64>,
    /// Most iterations of the solver a step; what `auto` and `newton-cr` do on the host may take ten times as many
    #[arg(long, value_name = "N")]
    pub(crate) iterations: Option<u32>,
    /// Parts in which pgs lets a step's free motion in, each with its share of the iterations (temporal Gauss-Seidel)
    #[arg(long, value_name = "N")]
    pub(crate) substeps: Option<u32>,
    /// Time step, s; the model's when absent
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    pub(crate) dt: Option<f64>,
    /// How velocities and positions go through a step: linearly-implicit when absent (springs, dampers and drives at the new
    /// state, the rest at the old one), or the theta method with all forces at the old state (symplectic-euler), the new one
    /// (implicit-euler) or midway (midpoint)
    #[arg(long, value_enum)]
    pub(crate) integrator: Option<IntegratorArg>,
    /// Depth up to which a penetration is left as it is, m; all is undone when absent
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    pub(crate) slop: Option<f64>,
    /// Keeps, of each patch of a pair's contacts, the four that span it: fewer rows for the solver, the same hold
    #[arg(long)]
    pub(crate) reduce_contacts: bool,
    /// Threads of the CPU; all when absent
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
    /// Starts from this keyframe of the model, by name or number, with its controls
    #[arg(long, value_name = "NAME")]
    pub(crate) keyframe: Option<String>,
}

/// Tolerance, N s, and most sweeps for one world in double precision.
const PRECISE: (f64, u32) = (1e-10, 1000);

/// `--executor`.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum ExecutorArg {
    Auto,
    Gpu,
    Cpu,
}

/// `--integrator`.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum IntegratorArg {
    LinearlyImplicit,
    SymplecticEuler,
    ImplicitEuler,
    Midpoint,
}

impl IntegratorArg {
    /// The library's name of it.
    fn integrator(self) -> Integrator {
        match self {
            Self::LinearlyImplicit => Integrator::LinearlyImplicit,
            Self::SymplecticEuler => Integrator::SymplecticEuler,
            Self::ImplicitEuler => Integrator::ImplicitEuler,
            Self::Midpoint => Integrator::Midpoint,
        }
    }
}

/// `--precision`.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum PrecisionArg {
    F32,
    F64,
}

impl PrecisionArg {
    /// The library's name of it.
    pub(crate) fn precision(self) -> Precision {
        match self {
            Self::F32 => Precision::F32,
            Self::F64 => Precision::F64,
        }
    }

    /// What solvers of single problems call it.
    pub(crate) fn of_solver(self) -> manyworlds_contact::Precision {
        match self {
            Self::F32 => manyworlds_contact::Precision::F32,
            Self::F64 => manyworlds_contact::Precision::F64,
        }
    }
}

impl RunArgs {
    /// The settings for many worlds: single precision, and a built-in scene's own budget.
    pub(crate) fn for_many(&self, spec: &str) -> BatchOptions {
        self.with_budget(spec, Precision::F32)
    }

    /// The settings for one world on its way to where it is looked at: double precision, and a built-in scene's own budget.
    pub(crate) fn for_the_way(&self, spec: &str) -> BatchOptions {
        self.with_budget(spec, Precision::F64)
    }

    fn with_budget(&self, spec: &str, precision: Precision) -> BatchOptions {
        let mut options = self.base(precision);
        if let Some(scene) = manyworlds::scenes::find(spec) {
            options.solver.clone_from(&scene.solver.name);
            options.iterations = scene.solver.iterations;
            // The scene's is for double precision; single would only ever run into the iteration limit.
            if options.precision == Precision::F64 {
                options.tolerance = scene.solver.tolerance;
            }
        }
        self.over(options)
    }

    /// The settings for one world that is looked at closely: double precision, and solved as far as that goes.
    pub(crate) fn for_one(&self) -> BatchOptions {
        let mut options = self.base(Precision::F64);
        if options.precision == Precision::F64 {
            (options.tolerance, options.iterations) = PRECISE;
        }
        self.over(options)
    }

    fn base(&self, precision: Precision) -> BatchOptions {
        BatchOptions {
            executor: match self.executor {
                ExecutorArg::Auto => Executor::Auto,
                ExecutorArg::Gpu => Executor::Gpu,
                ExecutorArg::Cpu => Executor::Cpu,
            },
            precision: self.precision.map_or(precision, PrecisionArg::precision),
            dt: self.dt,
            integrator: self.integrator.map(IntegratorArg::integrator).unwrap_or_default(),
            reduce_contacts: self.reduce_contacts,
            ..BatchOptions::default()
        }
    }

    /// What was given on the command line, over the defaults of a command.
    fn over(&self, options: BatchOptions) -> BatchOptions {
        let before = options.stabilisation;
        BatchOptions {
            stabilisation: Stabilisation { slop: self.slop.unwrap_or(before.slop), ..before },
            solver: self.solver.clone().unwrap_or(options.solver),
            tolerance: self.tolerance.unwrap_or(options.tolerance),
            iterations: self.iterations.unwrap_or(options.iterations),
            substeps: self.substeps.unwrap_or(options.substeps),
            ..options
        }
    }

    /// Sets the number of threads, once and for the whole program.
    pub(crate) fn set_threads(&self) -> Result<(), Failure> {
        match self.threads {
            None => Ok(()),
            Some(0) => Err(Failure::Input("--threads: expected at least 1, found 0".into())),
            Some(threads) => rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build_global()
                .map_err(|error| Failure::Input(format!("--threads {threads}: {error}"))),
        }
    }

    /// Whether the CPU runs what a hardware GPU would have run, had there been one.
    pub(crate) fn fell_back(&self, batch: &Batch) -> bool {
        matches!(self.executor, ExecutorArg::Auto) && batch.executor() == "cpu"
    }

    /// The keyframe asked for, or else the one that a built-in scene starts from; `spec` is what the user typed for
    /// the model.
    pub(crate) fn keyframe<'a>(&self, spec: &str, model: &'a Model) -> Result<Option<&'a Keyframe>, Failure> {
        let scene = || manyworlds::scenes::find(spec)?.keyframe.as_deref();
        let Some(wanted) = self.keyframe.as_deref().or_else(scene) else { return Ok(None) };
        let by_name = model.keyframes.iter().find(|k| !k.name.is_empty() && k.name == wanted);
        let by_number = || model.keyframes.get(wanted.parse::<usize>().ok()?);
        by_name.or_else(by_number).map(Some).ok_or_else(|| {
            let names: Vec<_> = model.keyframes.iter().map(|k| k.name.as_str()).collect();
            let known = if names.is_empty() { "it has none".to_owned() } else { names.join(", ") };
            Failure::Input(format!("--keyframe \"{wanted}\": no such keyframe of \"{}\" ({known})", model.name))
        })
    }
}

/// The keyframe that a built-in scene starts from, if the model is one and has one.
pub(crate) fn scene_keyframe<'a>(spec: &str, model: &'a Model) -> Option<&'a Keyframe> {
    let wanted = manyworlds::scenes::find(spec)?.keyframe.as_deref()?;
    model.keyframes.iter().find(|k| k.name == wanted)
}

/// `--json`.
#[derive(Args)]
pub(crate) struct OutputArgs {
    /// Exactly one JSON object on standard output
    #[arg(long)]
    pub(crate) json: bool,
}

/// A path that must be readable, with a message that names it.
pub(crate) fn read(path: &PathBuf) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|error| Failure::file(path, error))
}
