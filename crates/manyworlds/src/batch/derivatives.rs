//! Derivatives of the last steps of worlds: [`Batch::differentiate`], and what is one call of it.
//!
//! Of many worlds, everything lies world behind world in the order they were asked for: row-major matrices and vectors, each
//! of its world's own size where models differ. Worlds are shared out among the threads.

use std::sync::Arc;

use manyworlds_gradients::{Certificate, GradientRules, Inputs, Jacobian, Outputs};
use rayon::prelude::*;

use super::Batch;
use crate::Error;
use crate::group::{Lineariser, Request, WorldProduct, WorldStep};

/// Degrees of freedom of a world whose dense derivatives are given: eight blocks of so many squared.
const MOST_DENSE: usize = 4096;

/// Who computes [`Batch::differentiate`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DerivativesBy {
    /// [`DerivativesBy::Kernels`] on the CPU and on hardware GPUs; the host on software adapters, and through kept steps of less than
    /// four worlds on the CPU: whoever is faster.
    #[default]
    Best,
    /// The host, world by world, in double precision.
    Host,
    /// The batch's executor, in the batch's precision, as far as its kernels go: Jacobians and transposed products of worlds
    /// whose trees share no constraint, exact contact, nothing that can bounce, no welds within a tree, no limits or friction of
    /// tendons, and whose equations leave no doubt. The host does the others.
    Kernels,
}

/// Where Jacobians of worlds go: the blocks of [`Jacobian`], `[worlds][rows][columns]`. An empty slice: that block is not
/// wanted.
#[derive(Debug, Default)]
pub struct JacobiansMut<'a> {
    /// `[worlds][n_v][n_v]`
    pub dq_dq: &'a mut [f64],
    /// `[worlds][n_v][n_v]`, s.
    pub dq_dv: &'a mut [f64],
    /// `[worlds][n_v][n_v]`
    pub dq_dtau: &'a mut [f64],
    /// `[worlds][n_v][n_u]`
    pub dq_dctrl: &'a mut [f64],
    /// `[worlds][n_v][n_v]`, 1/s.
    pub dv_dq: &'a mut [f64],
    /// `[worlds][n_v][n_v]`
    pub dv_dv: &'a mut [f64],
    /// `[worlds][n_v][n_v]`
    pub dv_dtau: &'a mut [f64],
    /// `[worlds][n_v][n_u]`
    pub dv_dctrl: &'a mut [f64],
    /// `[worlds][n_v][n_act]`
    pub dq_dact: &'a mut [f64],
    /// `[worlds][n_v][n_act]`
    pub dv_dact: &'a mut [f64],
    /// `[worlds][n_act][n_u]`
    pub dact_dctrl: &'a mut [f64],
    /// `[worlds][n_act][n_act]`
    pub dact_dact: &'a mut [f64],
}

/// All blocks of one world's.
impl<'a> From<&'a mut Jacobian> for JacobiansMut<'a> {
    fn from(to: &'a mut Jacobian) -> Self {
        Self {
            dq_dq: &mut to.dq_dq,
            dq_dv: &mut to.dq_dv,
            dq_dtau: &mut to.dq_dtau,
            dq_dctrl: &mut to.dq_dctrl,
            dv_dq: &mut to.dv_dq,
            dv_dv: &mut to.dv_dv,
            dv_dtau: &mut to.dv_dtau,
            dv_dctrl: &mut to.dv_dctrl,
            dq_dact: &mut to.dq_dact,
            dv_dact: &mut to.dv_dact,
            dact_dctrl: &mut to.dact_dctrl,
            dact_dact: &mut to.dact_dact,
        }
    }
}

/// Changes of what goes into steps of worlds. An empty slice stands for zeros.
#[derive(Debug, Clone, Copy, Default)]
pub struct InputSlices<'a> {
    /// `[worlds][n_v]`, tangent space.
    pub q: &'a [f64],
    /// `[worlds][n_v]`
    pub v: &'a [f64],
    /// `[worlds][n_v]`
    pub tau: &'a [f64],
    /// `[worlds][n_u]`
    pub ctrl: &'a [f64],
    /// Activations before the step, `[worlds][n_act]`.
    pub act: &'a [f64],
}

/// Gradients of losses by what comes out of steps of worlds. An empty slice stands for zeros.
#[derive(Debug, Clone, Copy, Default)]
pub struct OutputSlices<'a> {
    /// `[worlds][n_v]`, in the tangent space at q+.
    pub q: &'a [f64],
    /// `[worlds][n_v]`
    pub v: &'a [f64],
    /// Activations after the step, `[worlds][n_act]`.
    pub act: &'a [f64],
}

/// Where gradients by what goes into steps of worlds go. An empty slice: that part is not wanted.
#[derive(Debug, Default)]
pub struct InputsMut<'a> {
    /// `[worlds][n_v]`, tangent space.
    pub q: &'a mut [f64],
    /// `[worlds][n_v]`
    pub v: &'a mut [f64],
    /// `[worlds][n_v]`
    pub tau: &'a mut [f64],
    /// `[worlds][n_u]`
    pub ctrl: &'a mut [f64],
    /// Activations before the step, `[worlds][n_act]`.
    pub act: &'a mut [f64],
}

/// Where changes of what comes out of steps of worlds go. An empty slice: that part is not wanted.
#[derive(Debug, Default)]
pub struct OutputsMut<'a> {
    /// `[worlds][n_v]`, in the tangent space at q+.
    pub q: &'a mut [f64],
    /// `[worlds][n_v]`
    pub v: &'a mut [f64],
    /// Activations after the step, `[worlds][n_act]`.
    pub act: &'a mut [f64],
}

/// A product with the Jacobians of the last steps of some worlds, and where it goes.
#[derive(Debug)]
pub enum Product<'a> {
    /// The Jacobians themselves, block by block.
    Jacobian(JacobiansMut<'a>),
    /// With their transposes: from gradients of losses by what comes out of the steps to those by what goes in (VJP), one
    /// transposed solve an island.
    Back {
        /// By what comes out.
        from: OutputSlices<'a>,
        /// By what goes in.
        to: InputsMut<'a>,
    },
    /// From changes of what goes into the steps to those of what comes out (JVP), one solve an island.
    Along {
        /// Of what goes in.
        from: InputSlices<'a>,
        /// Of what comes out.
        to: OutputsMut<'a>,
    },
}

/// The pieces of an array, one a world; empty ones for an empty array.
fn pieces_mut<'b>(what: &'static str, mut all: &'b mut [f64], sizes: &[usize]) -> Result<Vec<&'b mut [f64]>, Error> {
    let expected = sizes.iter().sum();
    if !all.is_empty() && all.len() != expected {
        return Err(Error::Length { what, world: None, expected, found: all.len() });
    }
    let given = !all.is_empty();
    let mut out = Vec::with_capacity(sizes.len());
    for &size in sizes {
        let (piece, rest) = all.split_at_mut(if given { size } else { 0 });
        out.push(piece);
        all = rest;
    }
    Ok(out)
}

/// The pieces of an array that is read, which must be finite.
fn pieces<'b>(what: &'static str, all: &'b [f64], sizes: &[usize]) -> Result<Vec<&'b [f64]>, Error> {
    let expected = sizes.iter().sum();
    if !all.is_empty() && all.len() != expected {
        return Err(Error::Length { what, world: None, expected, found: all.len() });
    }
    if let Some(index) = all.iter().position(|x| !x.is_finite()) {
        return Err(Error::NotFinite { what, world: None, index, found: all[index] });
    }
    let mut rest = all;
    let piece = |&size: &usize| {
        let (piece, others) = rest.split_at(if all.is_empty() { 0 } else { size });
        rest = others;
        piece
    };
    Ok(sizes.iter().map(piece).collect())
}

/// That one world's part of what is read has the right length and is finite.
pub(super) fn check(what: &'static str, world: usize, part: &[f64], expected: usize) -> Result<(), Error> {
    if !part.is_empty() && part.len() != expected {
        return Err(Error::Length { what, world: Some(world), expected, found: part.len() });
    }
    match part.iter().position(|x| !x.is_finite()) {
        Some(index) => Err(Error::NotFinite { what, world: Some(world), index, found: part[index] }),
        None => Ok(()),
    }
}

/// The same of a gradient by a world's state.
pub(super) fn check_outputs(world: usize, outputs: &Outputs, [n_v, n_act]: [usize; 2]) -> Result<(), Error> {
    check("gradient by q", world, &outputs.q, n_v)?;
    check("gradient by v", world, &outputs.v, n_v)?;
    check("gradient by act", world, &outputs.act, n_act)
}

impl Batch {
    /// Keeps from now on what the derivatives of steps need, or no longer: a copy of the states before each step, and of worlds with soft
    /// bodies the factor that each step ended with, up to 1 GiB for the worlds of a model.
    ///
    /// # Errors
    /// [`Error::Option`] for a batch that leaves penetrations, or one by another integrator than the
    /// default.
    pub fn keep_steps(&mut self, on: bool) -> Result<(), Error> {
        self.groups.iter_mut().try_for_each(|group| group.keep_steps(on))
    }

    /// How derivatives are taken from now on: those of the step as it is computed, unless something else is asked for.
    pub fn set_gradient_rules(&mut self, rules: GradientRules) {
        self.rules = rules;
    }

    /// Who computes [`Batch::differentiate`] from now on, goes back through steps that are kept from now on, and through rollouts.
    pub fn set_derivatives_by(&mut self, by: DerivativesBy) {
        self.derivatives_by = by;
    }

    /// A product with the Jacobians of the last steps of some worlds, into the caller's memory; gives how far to trust each, in
    /// the order of `worlds`. [`Batch::keep_steps`] comes before the step.
    ///
    /// # Errors
    /// [`Error::Index`], [`Error::NoGradient`] where no step was kept, [`Error::TooLarge`] for the Jacobian of a world of too
    /// many degrees of freedom, [`Error::Length`] for memory of another size, [`Error::NotFinite`], or a device that fails.
    pub fn differentiate(&mut self, worlds: &[usize], product: Product) -> Result<Vec<Certificate>, Error> {
        let products = self.by_world(worlds, product)?;
        let mut requests: Vec<Vec<Request>> = self.groups.iter().map(|_| Vec::new()).collect();
        for ((order, &world), product) in worlds.iter().enumerate().zip(products) {
            let (group, world) = self.find(world)?;
            requests[group].push(Request { order, world, product });
        }
        let (mut certificates, mut on_host) = (Vec::with_capacity(worlds.len()), Vec::new());
        for (index, requests) in requests.into_iter().enumerate().filter(|(_, requests)| !requests.is_empty()) {
            let (found, left) = self.groups[index].differentiate(self.derivatives_by, self.rules, requests)?;
            certificates.extend(found);
            on_host.extend(left.into_iter().map(|left| (index, left)));
        }
        let (linearisers, rules) = (self.linearisers(), self.rules);
        let one = |(group, (request, step)): (usize, (Request, WorldStep))| {
            (request.order, request.product.on_host(&*linearisers[group], &step, rules))
        };
        certificates.extend(on_host.into_par_iter().map(one).collect::<Vec<_>>());
        certificates.sort_unstable_by_key(|&(order, _)| order);
        Ok(certificates.into_iter().map(|(_, certificate)| certificate).collect())
    }

    /// Dense Jacobians of some worlds: [`Batch::differentiate`] by [`Product::Jacobian`].
    ///
    /// # Errors
    /// As [`Batch::differentiate`].
    pub fn jacobians(&mut self, worlds: &[usize], to: JacobiansMut) -> Result<Vec<Certificate>, Error> {
        self.differentiate(worlds, Product::Jacobian(to))
    }

    /// Products of some worlds with their transposed Jacobians: [`Batch::differentiate`] by [`Product::Back`].
    ///
    /// # Errors
    /// As [`Batch::differentiate`].
    pub fn back_all(
        &mut self,
        worlds: &[usize],
        from: &OutputSlices,
        to: InputsMut,
    ) -> Result<Vec<Certificate>, Error> {
        self.differentiate(worlds, Product::Back { from: *from, to })
    }

    /// Products of some worlds with their Jacobians: [`Batch::differentiate`] by [`Product::Along`].
    ///
    /// # Errors
    /// As [`Batch::differentiate`].
    pub fn along_all(
        &mut self,
        worlds: &[usize],
        from: &InputSlices,
        to: OutputsMut,
    ) -> Result<Vec<Certificate>, Error> {
        self.differentiate(worlds, Product::Along { from: *from, to })
    }

    /// The Jacobian of one world, with its modes and scales, on the host; its certificate says whether to trust it.
    ///
    /// # Errors
    /// As [`Batch::differentiate`].
    pub fn jacobian(&mut self, world: usize) -> Result<Jacobian, Error> {
        self.fits_dense(world)?;
        let (lineariser, step) = self.last_step(world)?;
        Ok(lineariser.linearised(&step, self.rules).jacobian())
    }

    /// [`Product::Back`] of one world, on the host. An empty part of `outputs` stands for zeros. [`super::KeptStep::back`] does
    /// so for all worlds of a step that was kept.
    ///
    /// # Errors
    /// As [`Batch::differentiate`].
    pub fn back(&mut self, world: usize, outputs: &Outputs) -> Result<(Inputs, Certificate), Error> {
        let model = self.groups[self.find(world)?.0].model();
        check_outputs(world, outputs, [model.n_v, model.n_act()])?;
        let (lineariser, step) = self.last_step(world)?;
        Ok(lineariser.for_products(&step, self.rules).back(outputs))
    }

    /// [`Product::Along`] of one world, on the host. An empty part of `inputs` stands for zeros.
    ///
    /// # Errors
    /// As [`Batch::differentiate`].
    pub fn along(&mut self, world: usize, inputs: &Inputs) -> Result<(Outputs, Certificate), Error> {
        let model = self.groups[self.find(world)?.0].model();
        let (n_v, n_u) = (model.n_v, model.actuators.len());
        check("change of q", world, &inputs.q, n_v)?;
        check("change of v", world, &inputs.v, n_v)?;
        check("change of tau", world, &inputs.tau, n_v)?;
        check("change of ctrl", world, &inputs.ctrl, n_u)?;
        check("change of act", world, &inputs.act, model.n_act())?;
        let (lineariser, step) = self.last_step(world)?;
        Ok(lineariser.for_products(&step, self.rules).along(inputs))
    }

    /// The last step of a world, and what linearises it.
    fn last_step(&mut self, world: usize) -> Result<(Arc<dyn Lineariser>, WorldStep), Error> {
        let (group, local) = self.find(world)?;
        let step = self.groups[group].last_step(local)?;
        Ok((self.groups[group].lineariser(), step))
    }

    /// What linearises steps, by group.
    fn linearisers(&self) -> Vec<Arc<dyn Lineariser>> {
        self.groups.iter().map(|group| group.lineariser()).collect()
    }

    /// A product world by world; checked.
    fn by_world<'a>(&self, worlds: &[usize], product: Product<'a>) -> Result<Vec<WorldProduct<'a>>, Error> {
        let [n_v, n_u, n_act] = self.sizes(worlds)?;
        Ok(match product {
            Product::Jacobian(to) => {
                worlds.iter().try_for_each(|&world| self.fits_dense(world))?;
                let times = |a: &[usize], b: &[usize]| a.iter().zip(b).map(|(a, b)| a * b).collect::<Vec<_>>();
                let (square, wide, by_act) = (times(&n_v, &n_v), times(&n_v, &n_u), times(&n_v, &n_act));
                let to = [
                    pieces_mut("dq_dq", to.dq_dq, &square)?,
                    pieces_mut("dq_dv", to.dq_dv, &square)?,
                    pieces_mut("dq_dtau", to.dq_dtau, &square)?,
                    pieces_mut("dq_dctrl", to.dq_dctrl, &wide)?,
                    pieces_mut("dv_dq", to.dv_dq, &square)?,
                    pieces_mut("dv_dv", to.dv_dv, &square)?,
                    pieces_mut("dv_dtau", to.dv_dtau, &square)?,
                    pieces_mut("dv_dctrl", to.dv_dctrl, &wide)?,
                    pieces_mut("dq_dact", to.dq_dact, &by_act)?,
                    pieces_mut("dv_dact", to.dv_dact, &by_act)?,
                    pieces_mut("dact_dctrl", to.dact_dctrl, &times(&n_act, &n_u))?,
                    pieces_mut("dact_dact", to.dact_dact, &times(&n_act, &n_act))?,
                ];
                by_world(to).into_iter().map(WorldProduct::Jacobian).collect()
            }
            Product::Back { from, to } => {
                let from = [
                    pieces("gradient by q", from.q, &n_v)?,
                    pieces("gradient by v", from.v, &n_v)?,
                    pieces("gradient by act", from.act, &n_act)?,
                ];
                let to = [
                    pieces_mut("q", to.q, &n_v)?,
                    pieces_mut("v", to.v, &n_v)?,
                    pieces_mut("tau", to.tau, &n_v)?,
                    pieces_mut("ctrl", to.ctrl, &n_u)?,
                    pieces_mut("act", to.act, &n_act)?,
                ];
                let pairs = by_world(from).into_iter().zip(by_world(to));
                pairs.map(|(from, to)| WorldProduct::Back { from, to }).collect()
            }
            Product::Along { from, to } => {
                let from = [
                    pieces("change of q", from.q, &n_v)?,
                    pieces("change of v", from.v, &n_v)?,
                    pieces("change of tau", from.tau, &n_v)?,
                    pieces("change of ctrl", from.ctrl, &n_u)?,
                    pieces("change of act", from.act, &n_act)?,
                ];
                let to =
                    [pieces_mut("q", to.q, &n_v)?, pieces_mut("v", to.v, &n_v)?, pieces_mut("act", to.act, &n_act)?];
                let pairs = by_world(from).into_iter().zip(by_world(to));
                pairs.map(|(from, to)| WorldProduct::Along { from, to }).collect()
            }
        })
    }

    fn fits_dense(&self, world: usize) -> Result<(), Error> {
        let n_v = self.groups[self.find(world)?.0].model().n_v;
        if n_v > MOST_DENSE { Err(Error::TooLarge { n_v, most: MOST_DENSE }) } else { Ok(()) }
    }

    /// n_v, n_u and n_act of worlds.
    fn sizes(&self, worlds: &[usize]) -> Result<[Vec<usize>; 3], Error> {
        let mut out = [const { Vec::new() }; 3];
        for &world in worlds {
            let model = self.groups[self.find(world)?.0].model();
            let own = [model.n_v, model.actuators.len(), model.n_act()];
            out.iter_mut().zip(own).for_each(|(out, own)| out.push(own));
        }
        Ok(out)
    }
}

/// Pieces of several arrays, world by world.
fn by_world<P: Default, const N: usize>(arrays: [Vec<P>; N]) -> Vec<[P; N]> {
    let count = arrays[0].len();
    let mut arrays = arrays.map(Vec::into_iter);
    (0..count).map(|_| arrays.each_mut().map(|pieces| pieces.next().unwrap_or_default())).collect()
}
