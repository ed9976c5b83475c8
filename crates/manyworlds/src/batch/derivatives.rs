//! Derivatives of the last steps of worlds: of one, or of many at once into memory of the caller's.
//!
//! Of many worlds, everything lies world behind world in the order they were asked for: row-major matrices and vectors, each
//! of its world's own size where models differ. Worlds are shared out among the threads.

use manyworlds_gradients::{Certificate, GradientRules, Inputs, Jacobian, Outputs};
use rayon::prelude::*;

use super::Batch;
use crate::Error;
use crate::group::{Blocks, Found, Product, Reverse, Wanted, WorldStep, Worlds};

/// Degrees of freedom of a world whose dense derivatives are given: eight blocks of so many squared.
const MOST_DENSE: usize = 4096;

/// Who computes derivatives of many worlds at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DerivativesBy {
    /// [`DerivativesBy::Kernels`] on the CPU and on hardware GPUs, the host on software adapters: whoever is faster.
    #[default]
    Best,
    /// The host, world by world, in double precision.
    Host,
    /// The batch's executor, in the batch's precision, as far as its kernels go: worlds whose trees share no constraint, exact
    /// contact, nothing that can bounce, no welds within a tree, and whose equations leave no doubt. The host does the others.
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
}

/// Gradients of losses by what comes out of steps of worlds. An empty slice stands for zeros.
#[derive(Debug, Clone, Copy, Default)]
pub struct OutputSlices<'a> {
    /// `[worlds][n_v]`, in the tangent space at q+.
    pub q: &'a [f64],
    /// `[worlds][n_v]`
    pub v: &'a [f64],
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
}

/// Where changes of what comes out of steps of worlds go. An empty slice: that part is not wanted.
#[derive(Debug, Default)]
pub struct OutputsMut<'a> {
    /// `[worlds][n_v]`, in the tangent space at q+.
    pub q: &'a mut [f64],
    /// `[worlds][n_v]`
    pub v: &'a mut [f64],
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

/// One world's part of what is read.
fn check(what: &'static str, world: usize, part: &[f64], expected: usize) -> Result<(), Error> {
    if !part.is_empty() && part.len() != expected {
        return Err(Error::Length { what, world: Some(world), expected, found: part.len() });
    }
    match part.iter().position(|x| !x.is_finite()) {
        Some(index) => Err(Error::NotFinite { what, world: Some(world), index, found: part[index] }),
        None => Ok(()),
    }
}

fn fill(to: &mut [f64], from: &[f64]) {
    if !to.is_empty() {
        to.copy_from_slice(from);
    }
}

impl Batch {
    /// Keeps from now on what the derivatives of steps need, or no longer: a copy of the states before each step.
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

    /// Who computes [`Batch::jacobians`] and [`Batch::back_all`] from now on.
    pub fn set_derivatives_by(&mut self, by: DerivativesBy) {
        self.derivatives_by = by;
    }

    /// Derivatives of the last step of a world by q, v, tau and ctrl, dense; its certificate says whether to trust them.
    /// [`Batch::keep_steps`] comes before the step.
    ///
    /// # Errors
    /// [`Error::Index`], [`Error::NoGradient`] where no step was kept, [`Error::TooLarge`], or a device that fails.
    pub fn jacobian(&mut self, world: usize) -> Result<Jacobian, Error> {
        let (group, local) = self.find(world)?;
        self.fits_dense(group)?;
        let step = self.groups[group].last_step(local)?;
        Ok(self.groups[group].reverse().linearised(&step, self.rules).jacobian())
    }

    /// Change of the state after the last step of a world along a change of what went into it, and how far to trust it: the
    /// product with the Jacobian (JVP), which is not formed. An empty part of `inputs` stands for zeros.
    ///
    /// # Errors
    /// As [`Batch::jacobian`]; [`Error::Length`] or [`Error::NotFinite`] for wrong inputs.
    pub fn along(&mut self, world: usize, inputs: &Inputs) -> Result<(Outputs, Certificate), Error> {
        let (group, local) = self.find(world)?;
        let model = self.groups[group].model();
        let (n_v, n_u) = (model.n_v, model.actuators.len());
        check("change of q", world, &inputs.q, n_v)?;
        check("change of v", world, &inputs.v, n_v)?;
        check("change of tau", world, &inputs.tau, n_v)?;
        check("change of ctrl", world, &inputs.ctrl, n_u)?;
        let step = self.groups[group].last_step(local)?;
        Ok(self.groups[group].reverse().for_products(&step, self.rules).along(inputs))
    }

    /// [`Batch::jacobian`] of some worlds at once, into the caller's memory; gives the certificates, in the order of
    /// `worlds`.
    ///
    /// # Errors
    /// As [`Batch::jacobian`]; [`Error::Length`] for memory of another size.
    pub fn jacobians(&mut self, worlds: &[usize], out: JacobiansMut) -> Result<Vec<Certificate>, Error> {
        for &world in worlds {
            let (group, _) = self.find(world)?;
            self.fits_dense(group)?;
        }
        let (n_v, n_u) = self.sizes(worlds)?;
        let square: Vec<usize> = n_v.iter().map(|n| n * n).collect();
        let wide: Vec<usize> = n_v.iter().zip(&n_u).map(|(n, u)| n * u).collect();
        let to = [
            pieces_mut("dq_dq", out.dq_dq, &square)?,
            pieces_mut("dq_dv", out.dq_dv, &square)?,
            pieces_mut("dq_dtau", out.dq_dtau, &square)?,
            pieces_mut("dq_dctrl", out.dq_dctrl, &wide)?,
            pieces_mut("dv_dq", out.dv_dq, &square)?,
            pieces_mut("dv_dv", out.dv_dv, &square)?,
            pieces_mut("dv_dtau", out.dv_dtau, &square)?,
            pieces_mut("dv_dctrl", out.dv_dctrl, &wide)?,
        ];
        let (rules, by) = (self.rules, self.derivatives_by);
        let by_kernels = |group: &mut dyn Worlds, wanted: &mut Vec<_>| group.jacobians((rules, by), wanted);
        let on_host = |reverse: &dyn Reverse, step: &WorldStep, to: Blocks| {
            let found = reverse.linearised(step, rules).jacobian();
            let blocks = [
                &found.dq_dq,
                &found.dq_dv,
                &found.dq_dtau,
                &found.dq_dctrl,
                &found.dv_dq,
                &found.dv_dv,
                &found.dv_dtau,
                &found.dv_dctrl,
            ];
            to.into_iter().zip(blocks).for_each(|(to, block)| fill(to, block));
            found.certificate
        };
        self.differentiated(worlds, by_world(to), by_kernels, on_host)
    }

    /// [`Batch::back`] of some worlds at once, into the caller's memory; gives the certificates, in the order of `worlds`.
    ///
    /// # Errors
    /// As [`Batch::back`]; [`Error::Length`] for memory of another size.
    pub fn back_all(
        &mut self,
        worlds: &[usize],
        outputs: &OutputSlices,
        to: InputsMut,
    ) -> Result<Vec<Certificate>, Error> {
        let (n_v, n_u) = self.sizes(worlds)?;
        let from = [pieces("gradient by q", outputs.q, &n_v)?, pieces("gradient by v", outputs.v, &n_v)?];
        let to = [
            pieces_mut("q", to.q, &n_v)?,
            pieces_mut("v", to.v, &n_v)?,
            pieces_mut("tau", to.tau, &n_v)?,
            pieces_mut("ctrl", to.ctrl, &n_u)?,
        ];
        let (rules, by) = (self.rules, self.derivatives_by);
        let by_kernels = |group: &mut dyn Worlds, wanted: &mut Vec<_>| group.back((rules, by), wanted);
        let on_host = |reverse: &dyn Reverse, step: &WorldStep, Product { from: [q, v], to }: Product| {
            let (found, certificate) =
                reverse.for_products(step, rules).back(&Outputs { q: q.to_vec(), v: v.to_vec() });
            let parts = [&found.q, &found.v, &found.tau, &found.ctrl];
            to.into_iter().zip(parts).for_each(|(to, part)| fill(to, part));
            certificate
        };
        let what = by_world(from).into_iter().zip(by_world(to)).map(|(from, to)| Product { from, to });
        self.differentiated(worlds, what.collect(), by_kernels, on_host)
    }

    /// [`Batch::along`] of some worlds at once, into the caller's memory; gives the certificates, in the order of `worlds`.
    ///
    /// # Errors
    /// As [`Batch::along`]; [`Error::Length`] for memory of another size.
    pub fn along_all(
        &mut self,
        worlds: &[usize],
        inputs: &InputSlices,
        to: OutputsMut,
    ) -> Result<Vec<Certificate>, Error> {
        let (n_v, n_u) = self.sizes(worlds)?;
        let from = [
            pieces("change of q", inputs.q, &n_v)?,
            pieces("change of v", inputs.v, &n_v)?,
            pieces("change of tau", inputs.tau, &n_v)?,
            pieces("change of ctrl", inputs.ctrl, &n_u)?,
        ];
        let to = [pieces_mut("q", to.q, &n_v)?, pieces_mut("v", to.v, &n_v)?];
        let steps = self.asked(worlds)?;
        let rules = self.rules;
        let reverses: Vec<_> = self.groups.iter().map(|group| group.reverse()).collect();
        let one = |(group, step): &(usize, WorldStep), to: [&mut [f64]; 2], from: [&[f64]; 4]| {
            let [q, v, tau, ctrl] = from.map(<[f64]>::to_vec);
            let (found, certificate) = reverses[*group].for_products(step, rules).along(&Inputs { q, v, tau, ctrl });
            to.into_iter().zip([&found.q, &found.v]).for_each(|(to, part)| fill(to, part));
            certificate
        };
        Ok(steps
            .par_iter()
            .zip(by_world(to))
            .zip(by_world(from))
            .map(|((step, to), from)| one(step, to, from))
            .collect())
    }

    /// What is asked of each of some worlds, by kernels as far as those go, and the rest on the host; the certificates.
    fn differentiated<W: Send>(
        &mut self,
        worlds: &[usize],
        what: Vec<W>,
        by_kernels: impl Fn(&mut dyn Worlds, &mut Vec<Wanted<W>>) -> Result<Vec<Found>, Error>,
        on_host: impl Fn(&dyn Reverse, &WorldStep, W) -> Certificate + Sync,
    ) -> Result<Vec<Certificate>, Error> {
        let mut wanted: Vec<Vec<Wanted<W>>> = self.groups.iter().map(|_| Vec::new()).collect();
        for ((order, &world), what) in worlds.iter().enumerate().zip(what) {
            let (group, world) = self.find(world)?;
            wanted[group].push(Wanted { order, world, what });
        }
        let mut found = Vec::with_capacity(worlds.len());
        for (group, wanted) in self.groups.iter_mut().zip(&mut wanted).filter(|(_, wanted)| !wanted.is_empty()) {
            found.extend(by_kernels(&mut **group, wanted)?);
        }
        let left: Vec<Wanted<W>> = wanted.into_iter().flatten().collect();
        let steps = self.asked(&left.iter().map(|wanted| worlds[wanted.order]).collect::<Vec<_>>())?;
        let reverses: Vec<_> = self.groups.iter().map(|group| group.reverse()).collect();
        let one = |((group, step), wanted): (&(usize, WorldStep), Wanted<W>)| {
            (wanted.order, on_host(&*reverses[*group], step, wanted.what))
        };
        found.extend(steps.par_iter().zip(left).map(one).collect::<Vec<_>>());
        found.sort_unstable_by_key(|&(order, _)| order);
        Ok(found.into_iter().map(|(_, certificate)| certificate).collect())
    }

    fn fits_dense(&self, group: usize) -> Result<(), Error> {
        let n_v = self.groups[group].model().n_v;
        if n_v > MOST_DENSE { Err(Error::TooLarge { n_v, most: MOST_DENSE }) } else { Ok(()) }
    }

    /// n_v and n_u of worlds.
    fn sizes(&self, worlds: &[usize]) -> Result<(Vec<usize>, Vec<usize>), Error> {
        let size = |&world: &usize| {
            let model = self.groups[self.find(world)?.0].model();
            Ok((model.n_v, model.actuators.len()))
        };
        worlds.iter().map(size).collect()
    }

    /// The last steps of worlds, in their order.
    fn asked(&mut self, worlds: &[usize]) -> Result<Vec<(usize, WorldStep)>, Error> {
        let mut wanted: Vec<Vec<(usize, usize)>> = vec![Vec::new(); self.groups.len()];
        for (order, &world) in worlds.iter().enumerate() {
            let (group, local) = self.find(world)?;
            wanted[group].push((order, local));
        }
        let mut found = Vec::with_capacity(worlds.len());
        for (index, (group, wanted)) in self.groups.iter_mut().zip(wanted).enumerate() {
            let locals: Vec<usize> = wanted.iter().map(|&(_, local)| local).collect();
            if locals.is_empty() {
                continue;
            }
            let steps = group.last_steps(&locals, false)?;
            found.extend(wanted.into_iter().zip(steps).map(|((order, _), step)| (order, (index, step))));
        }
        found.sort_unstable_by_key(|&(order, _)| order);
        Ok(found.into_iter().map(|(_, step)| step).collect())
    }
}

/// Pieces of several arrays, world by world.
fn by_world<P: Send, const N: usize>(arrays: [Vec<P>; N]) -> Vec<[P; N]> {
    let count = arrays[0].len();
    let mut arrays = arrays.map(Vec::into_iter);
    let world = |_| {
        let pieces: Vec<P> = arrays.iter_mut().filter_map(Iterator::next).collect();
        pieces.try_into().ok()
    };
    (0..count).filter_map(world).collect()
}
