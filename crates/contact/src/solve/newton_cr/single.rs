//! The kernel's form of Newton with conjugate residuals on one problem, by its mirror.

use manyworlds_shaders::Scalar;
use manyworlds_shaders::contact::island::{Islands as Found, info};
use manyworlds_shaders::contact::newton_cr::layout::ResidualDims;
use manyworlds_shaders::contact::newton_cr::solve::newton_cr;

use super::{ResidualPack, settings as of_params};
use crate::island::{Islands, Ragged};
use crate::solve::SolverParams;
use crate::{ContactProblem, NewtonCrParams, Precision, SolveError, SolveSettings};
use manyworlds_shaders::contact::island_newton::Room;

/// A problem laid out for the kernel.
#[derive(Debug, Clone)]
pub struct ResidualProblem<T: Scalar> {
    ragged: Ragged<T>,
    index: Vec<u32>,
    dims: ResidualDims,
    cr: Vec<T>,
    params: NewtonCrParams,
}

impl<T: Scalar> ResidualProblem<T> {
    /// Lays it out, from its warm start.
    ///
    /// # Errors
    /// A parameter without meaning.
    pub fn new(problem: &ContactProblem, params: &NewtonCrParams) -> Result<Self, SolveError> {
        params.validate()?;
        let ragged = Ragged::<T>::new(problem, Room::None);
        let found = Found::new(&ragged.dims, &ragged.index);
        let all =
            Islands { dims: &ragged.dims, islands: found.islands, constraints: found.constraints, sides: found.sides };
        let mut pack = ResidualPack::default();
        pack.pack(&all, params.linear);
        let cr = vec![T::default(); pack.n_real];
        Ok(Self { dims: pack.dims, index: pack.index, cr, params: *params, ragged })
    }

    /// Newton steps of its settings' iterations at most, without a finishing stage. Returns those of the island that took
    /// most; what is too large is left as it is. `note` is told the squares of the linear residuals of every Newton step,
    /// in the preconditioner's norm, m^2 kg / s^2.
    ///
    /// # Errors
    /// A setting without meaning.
    pub fn solve(&mut self, settings: &SolveSettings, note: impl FnMut(f64)) -> Result<u32, SolveError> {
        settings.validate()?;
        let scaled = if settings.precision == Precision::F32 { settings.tolerance } else { 0.0 };
        let dims = ResidualDims {
            tolerance: (settings.tolerance as f32).to_bits(),
            tolerance_scaled: (scaled as f32).to_bits(),
            iterations: settings.iterations,
            most: settings.iterations,
            ..self.dims.with(&of_params::<T>(&self.params))
        };
        let (r, mut note) = (&mut self.ragged, note);
        newton_cr(
            &dims,
            &r.index,
            &self.index,
            &r.jac,
            &r.con,
            &mut r.impulse,
            &mut r.velocity,
            &mut self.cr,
            &mut r.info,
            |norm| note(norm.to_f64()),
        );
        let most = |own: &[T]| own[info::ITERATIONS].to_f64() as u32;
        Ok(r.info.chunks_exact(info::SIZE).map(most).max().unwrap_or(0))
    }

    /// Whether every island is solved.
    #[must_use]
    pub fn solved(&self) -> bool {
        self.ragged.info.chunks_exact(info::SIZE).all(|own| own[info::STOPPED].to_f64() == 1.0)
    }

    /// Impulses in the problem's order, N s, `[n_rows]`.
    #[must_use]
    pub fn lambda(&self, problem: &ContactProblem) -> Vec<f64> {
        self.ragged.lambda(problem)
    }

    /// The velocity that they give, `[n_v]`.
    #[must_use]
    pub fn v(&self, problem: &ContactProblem) -> Vec<f64> {
        self.ragged.v(problem)
    }
}
