//! How a batch is to be run.

use std::sync::Arc;

use manyworlds_gpu::GpuDevice;
use manyworlds_shaders::dynamics::names::integrator;

use crate::Error;

/// What runs the kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Executor {
    /// A GPU when there is a hardware adapter with the precision asked for, else the CPU.
    #[default]
    Auto,
    /// The CPU, through the kernels' Rust mirrors.
    Cpu,
    /// A wgpu adapter, a software one if there is no other.
    Gpu,
}

/// The number type of everything a batch computes, collision included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Precision {
    /// Single precision.
    #[default]
    F32,
    /// Double precision.
    F64,
}

impl Precision {
    /// Bytes of one number.
    #[must_use]
    pub fn bytes(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F64 => 8,
        }
    }

    /// `f32` or `f64`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }
}

/// How velocities and positions go through a step: Castro 2022, section II-C, with `x^theta = theta x + (1 - theta) x0`.
///
/// Forces (springs, dampers, drives, Coriolis and gyroscopic forces) are those at `q^theta, v^theta`, and positions move by
/// `h v^theta_vq`. A step finds the free velocity at which momentum balances and then, about it, solves the contacts; these,
/// and joint limits, dry friction, couplings and welds, act at the new velocity on the geometry at the start of the step
/// under all of them. Derivatives of a step are there for the first only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Integrator {
    /// Springs, dampers and drives at the new state by their linearisation, all other forces at the start of the step,
    /// positions by the new velocity; a lone body tumbles with its momentum kept. Implicit Euler where springs, dampers and
    /// drives are all that depends on the state: stable at any stiffness, and it takes their energy away.
    #[default]
    LinearlyImplicit,
    /// All forces at the start of the step, positions by the new velocity (theta = 0, theta_vq = 1): energy stays within a
    /// band of some `h omega`, and stiffness or damping beyond the step (`h omega > 2`) diverges. No force is solved for.
    SymplecticEuler,
    /// All forces at the new state, positions by the new velocity (theta = theta_vq = 1): first order, stable, dissipative.
    ImplicitEuler,
    /// All forces midway, positions by the mean velocity (theta = theta_vq = 1/2): second order, also with friction that
    /// sticks or rolls; springs and tumbling bodies keep their energy. What lands at speed v ends the step about `h v / 2`
    /// deep, since the mean of the velocities before and after carries it on.
    Midpoint,
}

impl Integrator {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::LinearlyImplicit, Self::SymplecticEuler, Self::ImplicitEuler, Self::Midpoint];

    /// `linearly-implicit`, `symplectic-euler`, `implicit-euler` or `midpoint`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::LinearlyImplicit => "linearly-implicit",
            Self::SymplecticEuler => "symplectic-euler",
            Self::ImplicitEuler => "implicit-euler",
            Self::Midpoint => "midpoint",
        }
    }

    /// What the kernels call it.
    pub(crate) fn code(self) -> u32 {
        match self {
            Self::LinearlyImplicit => integrator::LINEARLY_IMPLICIT,
            Self::SymplecticEuler => integrator::SYMPLECTIC_EULER,
            Self::ImplicitEuler => integrator::IMPLICIT_EULER,
            Self::Midpoint => integrator::MIDPOINT,
        }
    }
}

/// Settings of a batch; every default is written here, once.
#[derive(Clone)]
pub struct BatchOptions {
    /// What runs the kernels.
    pub executor: Executor,
    /// The number type.
    pub precision: Precision,
    /// Contact solver, by its name in [`manyworlds_contact::SOLVERS`].
    pub solver: String,
    /// Time step, s; the model's when `None`.
    pub dt: Option<f64>,
    /// How velocities and positions go through a step.
    pub integrator: Integrator,
    /// The contact solver stops a world below this residual, N s (number 1 of the certificate).
    pub tolerance: f64,
    /// The contact solver stops a world after so many sweeps, iterations of `subadmm`, or Newton steps of `canal`, `sap` and
    /// `newton-cr`; of those of `canal` and `sap` the host may take as many again. Newton steps behind sweeps are at most as
    /// many again, and what `auto` and `newton-cr` do on the host where those were not enough takes at most ten times as many.
    pub iterations: u32,
    /// Parts in which `pgs` lets a step's free motion in, each with its share of the sweeps (temporal Gauss-Seidel); 1: all
    /// at once. For long chains and heavy bodies on light ones with few sweeps; the certificate still measures the whole
    /// step's problem, which this does not solve however many sweeps there are.
    pub substeps: u32,
    /// How penetration is undone and bounces begin.
    pub stabilisation: Stabilisation,
    /// Whether of each patch of a pair's contacts only the four that span it are kept
    /// ([`CollisionSettings::reduce`](manyworlds_collide::CollisionSettings::reduce)); soft bodies keep theirs.
    pub reduce_contacts: bool,
    /// A device to run on, a trainer's own for example; `executor` is not looked at then.
    pub device: Option<Arc<GpuDevice>>,
}

/// How penetration is undone and bounces begin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stabilisation {
    /// Part of a penetration, beyond `slop`, undone in one step, 0 to 1.
    pub fraction: f64,
    /// Depth up to which a penetration of a contact is left as it is, m; 0 by default. Bodies that are wedged between others
    /// cannot always undo a penetration: friction holds them, and a step that asks for it has no solution. With 1e-6
    /// next to all steps of such bodies have one. But then what rests may do so at any depth up to this, each corner at its
    /// own, and redundant contacts no longer agree on a derivative there: steps with a slop have none.
    pub slop: f64,
    /// Fastest separation that undoing may cause, m/s: bounds the energy it can inject.
    pub max_velocity: f64,
    /// Contacts that approach slower than this do not bounce, m/s.
    pub restitution_threshold: f64,
    /// Gaps that may close within the step, at the velocities at hand or at this, m/s, are solved as contacts already, so that
    /// nothing lands with a penetration: bodies that meet another on the way may change their velocities by as much.
    pub speculative_speed: f64,
}

impl Default for Stabilisation {
    fn default() -> Self {
        Self { fraction: 0.2, slop: 0.0, max_velocity: 0.2, restitution_threshold: 0.01, speculative_speed: 0.25 }
    }
}

impl Default for BatchOptions {
    fn default() -> Self {
        Self {
            executor: Executor::Auto,
            precision: Precision::F32,
            solver: "auto".into(),
            dt: None,
            integrator: Integrator::default(),
            tolerance: 1e-6,
            iterations: 200,
            substeps: 1,
            stabilisation: Stabilisation::default(),
            reduce_contacts: false,
            device: None,
        }
    }
}

impl BatchOptions {
    /// Checks every setting.
    ///
    /// # Errors
    /// [`Error::Option`] names the first setting that is out of its range.
    pub fn validate(&self) -> Result<(), Error> {
        let wrong = |option: &'static str, expected: &'static str, found: String| {
            Err(Error::Option { option, expected, found })
        };
        manyworlds_contact::solver(&self.solver)?;
        if let Some(dt) = self.dt
            && !(dt > 0.0 && dt.is_finite())
        {
            return wrong("dt", "a positive time step, s", dt.to_string());
        }
        if !(self.tolerance > 0.0 && self.tolerance.is_finite()) {
            return wrong("tolerance", "a positive number", self.tolerance.to_string());
        }
        if self.iterations == 0 {
            return wrong("iterations", "at least 1", "0".into());
        }
        if !(1..=self.iterations).contains(&self.substeps) {
            return wrong("substeps", "at least 1 and no more than iterations", self.substeps.to_string());
        }
        if self.substeps > 1 && self.solver != "pgs" {
            return wrong("substeps", "1 with any solver but pgs", self.substeps.to_string());
        }
        let s = &self.stabilisation;
        if !(0.0..=1.0).contains(&s.fraction) {
            return wrong("stabilisation.fraction", "0 to 1", s.fraction.to_string());
        }
        for (name, value) in [
            ("stabilisation.slop", s.slop),
            ("stabilisation.max_velocity", s.max_velocity),
            ("stabilisation.restitution_threshold", s.restitution_threshold),
            ("stabilisation.speculative_speed", s.speculative_speed),
        ] {
            if !(value >= 0.0 && value.is_finite()) {
                return wrong(name, "a number not below zero", value.to_string());
            }
        }
        Ok(())
    }
}
