//! The kernels' form of CANAL and SAP on one problem, by their mirrors.

use manyworlds_shaders::Scalar;
use manyworlds_shaders::contact::convex::layout::{ConvexDims, form, method};
use manyworlds_shaders::contact::convex::{MOST_DOFS, MOST_GROUP, iterate, terms};
use manyworlds_shaders::contact::island::{Islands as Found, TreeItem, info};

use super::ConvexPack;
use crate::island::{Chains, Islands, Ragged};
use crate::solve::{SolverParams, canal, sap};
use crate::{CanalParams, ContactProblem, Penalty, Precision, SapParams, SolveError, SolveSettings};
use manyworlds_shaders::contact::island_newton::Room;

/// A problem laid out for the kernels.
#[derive(Debug, Clone)]
pub struct ConvexProblem<T: Scalar> {
    ragged: Ragged<T>,
    index: Vec<u32>,
    convex: Vec<T>,
    dims: ConvexDims,
}

impl<T: Scalar> ConvexProblem<T> {
    /// Lays it out, from its warm start: matrices are written out as far as that goes, and larger islands get their
    /// directions by conjugate residuals.
    #[must_use]
    pub fn new(problem: &ContactProblem) -> Self {
        Self::up_to(problem, [MOST_GROUP, MOST_DOFS])
    }

    /// The same, with the matrix in workgroup memory, and written out, up to so many degrees of freedom of an island and no
    /// more than in [`ConvexProblem::new`].
    #[must_use]
    pub fn up_to(problem: &ContactProblem, most: [usize; 2]) -> Self {
        let ragged = Ragged::<T>::new(problem, Room::None);
        let members = || problem.plan.members.iter().map(|&s| &problem.subsystems[s as usize]);
        // Every member is a set of its own.
        let chains = members().map(|s| Chains::dense(s.count)).collect();
        let mut velocity = 0;
        let trees: Vec<TreeItem> = members()
            .map(|s| {
                let item = TreeItem { lane: 0, velocity };
                velocity += s.count as u32;
                item
            })
            .collect();
        let found = Found::new(&ragged.dims, &ragged.index);
        let all =
            Islands { dims: &ragged.dims, islands: found.islands, constraints: found.constraints, sides: found.sides };
        let mut pack = ConvexPack::new(chains, method::CANAL);
        pack.most = [most[0].min(MOST_GROUP), most[1].min(MOST_DOFS)];
        pack.iterative = true;
        pack.pack(&all, &trees.chunks(1).collect::<Vec<_>>());
        let mut convex = vec![T::default(); pack.n_real];
        for (s, item) in members().zip(&trees) {
            if let Some(at) = pack.matrix_at(item.velocity) {
                let a = problem.block(s);
                convex[at..].iter_mut().zip(a).for_each(|(to, &x)| *to = T::from_f64(x));
            }
        }
        Self { dims: pack.dims, index: pack.index, convex, ragged }
    }

    /// Solves exact contact from where it is laid out. Returns the Newton steps of the island that took most; what is too
    /// large for a workgroup is left as it is.
    ///
    /// # Errors
    /// A setting or a parameter without meaning, or a penalty that is not in effective masses.
    pub fn canal(&mut self, settings: &SolveSettings, params: &CanalParams) -> Result<u32, SolveError> {
        settings.validate()?;
        params.validate()?;
        if params.weights != Penalty::PerConstraint {
            let what = "kernels weigh constraints by their effective masses".into();
            return Err(SolveError::Setting { setting: "weights", what });
        }
        Ok(self.solve(settings, &canal::settings::<T>(params)))
    }

    /// The same with compliant contact.
    ///
    /// # Errors
    /// A setting or a parameter without meaning.
    pub fn sap(&mut self, settings: &SolveSettings, params: &SapParams) -> Result<u32, SolveError> {
        settings.validate()?;
        params.validate()?;
        Ok(self.solve(settings, &sap::settings::<T>(params)))
    }

    fn solve(&mut self, settings: &SolveSettings, method: &ConvexDims) -> u32 {
        let scaled = if settings.precision == Precision::F32 { settings.tolerance } else { 0.0 };
        let dims = ConvexDims {
            tolerance: (settings.tolerance as f32).to_bits(),
            tolerance_scaled: (scaled as f32).to_bits(),
            iterations: settings.iterations,
            ..self.dims.with(method)
        };
        let r = &mut self.ragged;
        terms::terms(&dims, &r.index, &r.contact, &r.con, &r.impulse, &mut self.convex);
        for own in [form::GROUP, form::LARGE, form::ITERATIVE] {
            let (index, convex) = (&self.index, &mut self.convex);
            iterate(own, &dims, &r.index, index, &r.jac, &r.con, &mut r.impulse, &mut r.velocity, convex, &mut r.info);
        }
        let most = |own: &[T]| own[info::ITERATIONS].to_f64() as u32;
        r.info.chunks_exact(info::SIZE).map(most).max().unwrap_or(0)
    }

    /// Whether the solver says of every island that it is solved.
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
