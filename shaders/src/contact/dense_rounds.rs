//! The rounds in which a [`Dense`] problem is solved.
//!
//! At first a round is a Newton step on the natural map `lambda - T(lambda - rho sigma)`, taken in full or as the largest of
//! some shares that brings the merit `|lambda - T(y)|^2 / rho` (J) under the largest of the last few: asking it to fall every
//! time refuses half of the steps that lead on (measured on a lying humanoid). `eps` makes the step proximal where contacts
//! are redundant; it follows success, as in Levenberg and Marquardt. It starts small, as most problems are solved in one or two
//! steps that it would only slow down, and is large from the first step that is not taken in full: on a lying humanoid a small one
//! leads nowhere. In single precision it starts large: where contacts are redundant, a small one leaves it to rounding how they
//! share out what they carry, and what slides turns by that. A step not taken in full is followed by sweeps.
//!
//! That goes in circles where a contact has no answer with the others held, or several, as with much friction, and steps lead out
//! of a place that sweeps lead back to. From the round [`PATIENCE`] on, once a step does not lead on, steps are centred: the proximal
//! point method (Rockafellar, "Monotone operators and the proximal point algorithm", 1976) on the strict map, as CANAL takes it
//! (Lee 2024, section V). What is solved is `lambda = T(centre - s rho sigma)`, by `(1 + P s rho G) d = T(y) - lambda` with a merit that has to fall; its solution
//! is the next centre. As long as that is easy `s` grows, and the next problem is nearer to the one that is asked for. Of 16,800 steps
//! of fourteen robots it leaves 8; sweeps and a new start every ten rounds, a hundred in all, left 236.

use super::dense::{Dense, some};
use super::packs::total;
use crate::{Mask, Real, Scalar};

/// Proximal weight of the first step, in units of the scaled matrix.
const PROXIMAL: f64 = 1e-4;
const PROXIMAL_SINGLE: f64 = 1e-2;
/// The least after a step that is not taken in full.
const CAREFUL: f64 = 1e-2;
/// By this a full step shrinks the weight,
const SHRINK: f64 = 0.3;
/// and by this one that leaves more than [`STALLED`] of the merit: what is left lies where next to nothing moves, as in a body that
/// is damped by 1e11 N s/m, and there the weight holds it.
const SHRINK_STALLED: f64 = 0.01;
const STALLED: f64 = 0.9;
/// By this a refused step lets it grow.
const GROW: f64 = 2.0;
/// Smallest weight: well above round-off.
const LEAST_PROXIMAL: f64 = 1e-8;
const LEAST_PROXIMAL_SINGLE: f64 = 1e-6;
/// Shares of a step that are tried.
const N_SHARES: usize = 6;
const SHARES: [f64; N_SHARES] = [1.0, 0.6, 0.36, 0.2, 0.1, 0.05];
/// A step's merit is measured against the largest of that many.
const MEMORY: usize = 8;
/// Sweeps after a step that was not taken in full. Of a problem whose requests give way it is one, and only where it lessens the merit:
/// others make impulses grow that hold each other.
const SWEEPS: u32 = 2;
/// Rounds after which steps are centred.
const PATIENCE: u32 = 8;
/// A step leads on that leaves less than this of the merit.
const LEADS: f64 = 0.5;
/// The first `s` of centred steps.
const STRETCH: f64 = 50.0;
/// Factor of `s` where a centred problem was solved,
const STRETCH_MORE: f64 = 3.0;
/// and where it was not.
const STRETCH_LESS: f64 = 0.1;
/// Bounds of `s`. In single precision impulses that ask for the impossible meet it by their rounding, were they let so far.
const LEAST_STRETCH: f64 = 1.0;
const MOST_STRETCH: f64 = 1e8;
const MOST_STRETCH_SINGLE: f64 = 1e3;
/// A centred problem is solved when its merit is this share of the squared way from the centre, in the same measure,
const CENTRED: f64 = 0.1;
/// and given up after that many rounds.
const INNER: u32 = 12;
/// An impulse that would change the speed of what it acts on by more, alone, m/s, is one of those that grow without bound
/// because biases ask for what no motion gives: what is left is not for kernels to solve.
pub const RUNAWAY: f64 = 1e6;

/// How a solve ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outcome<T> {
    /// Norm of the natural residual.
    pub error: T,
    /// Newton steps.
    pub steps: u32,
    /// Sweeps.
    pub sweeps: u32,
    /// Whether the residual met the tolerance.
    pub done: bool,
}

/// How far a step was taken.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Taken<T> {
    /// Its share; zero: not at all.
    share: T,
    /// The merit there.
    merit: T,
}

/// What a solve carries from round to round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress<T> {
    /// Weight of the next step; none: it is a centred one.
    proximal: T,
    merits: [T; MEMORY],
    /// `s` of centred steps.
    stretch: T,
    /// Rounds about the present centre.
    inner: u32,
    steps: u32,
    sweeps: u32,
}

impl<T: Scalar> Default for Progress<T> {
    fn default() -> Self {
        Self {
            proximal: first_proximal(),
            merits: [T::lit(0.0); MEMORY],
            stretch: T::lit(STRETCH),
            inner: 0,
            steps: 0,
            sweeps: 0,
        }
    }
}

impl<T: Scalar> Progress<T> {
    /// The merit that a step has to come below: the present one, or unless steps are centred the largest of the last few.
    #[inline(always)]
    fn bar_of(&mut self, here: T, centred: bool) -> T {
        if centred {
            return here;
        }
        self.merits[self.steps as usize % MEMORY] = here;
        self.merits.iter().fold(T::lit(0.0), |most, &x| most.max(x))
    }
}

impl<T: Scalar> Dense<'_, T> {
    /// Solves from the present impulses: at most `rounds` of a Newton step, sweeps, or both; sweeps alone without
    /// `newton`. `enough`: norm of the natural residual at which it is done.
    pub fn solve(&mut self, newton: bool, rounds: u32, enough: T) -> Outcome<T> {
        let mut progress = Progress::default();
        let mut error = self.natural().sqrt();
        for _ in 0..rounds {
            if error <= enough {
                break;
            }
            self.round(newton, &mut progress);
            error = self.natural().sqrt();
            if self.runs_away() {
                break;
            }
        }
        Outcome { error, steps: progress.steps, sweeps: progress.sweeps, done: error <= enough }
    }

    /// Whether some impulse is beyond [`RUNAWAY`].
    #[inline(always)]
    #[must_use]
    pub fn runs_away(&self) -> bool {
        let (zero, limit) = (T::Pack::lit(0.0), T::Pack::lit(RUNAWAY));
        let beyond = |(lambda, rho): (&T::Pack, &T::Pack)| (zero.lt(*rho) & (limit * *rho).lt(lambda.abs())).any();
        self.lambda.iter().zip(&*self.rho).any(beyond)
    }

    /// One round: a Newton step, sweeps, or both.
    #[inline(always)]
    pub fn round(&mut self, newton: bool, progress: &mut Progress<T>) {
        let zero = T::lit(0.0);
        let centred = newton && progress.proximal <= zero;
        let mut taken = Taken { share: zero, merit: zero };
        if newton {
            if centred {
                self.centre(progress);
            }
            let here = self.newton_step(progress.proximal);
            let bar = progress.bar_of(here, centred);
            taken = self.advance(here, bar);
            progress.steps += 1;
            if centred {
                self.recentre(taken, progress);
            } else {
                progress.proximal = weight(progress.proximal, progress.steps, taken.share, taken.merit / here);
            }
        }
        if !centred && taken.share < T::lit(1.0) {
            progress.sweeps += self.sweep_or_stay(taken.merit);
        }
    }

    /// Sweeps after a step that left so much of the merit; returns how many. Where requests give way it is one, undone where it does
    /// not lessen the merit. What it starts from is kept where steps have what they need no longer.
    fn sweep_or_stay(&mut self, merit: T) -> u32 {
        let sweeps = if self.relaxes { 1 } else { SWEEPS };
        if self.relaxes {
            self.centre.copy_from_slice(self.lambda);
            self.rhs.copy_from_slice(self.sigma);
        }
        (0..sweeps).for_each(|_| self.sweep());
        if self.relaxes && merit <= self.merit(T::lit(0.0)) {
            self.lambda.copy_from_slice(self.centre);
            self.sigma.copy_from_slice(self.rhs);
        }
        sweeps
    }

    /// Steps are centred from here on; the centre is new where no step was taken about the last one.
    #[inline(always)]
    fn centre(&mut self, progress: &Progress<T>) {
        if progress.inner == 0 {
            self.centre.copy_from_slice(self.lambda);
        }
        self.stretch = Some(progress.stretch);
    }

    /// After a centred step: whether the next one has another centre, and how far from it.
    #[inline(always)]
    fn recentre(&mut self, taken: Taken<T>, progress: &mut Progress<T>) {
        progress.inner += 1;
        if taken.share == T::lit(0.0) || progress.inner == INNER {
            progress.stretch = (progress.stretch * T::lit(STRETCH_LESS)).max(T::lit(LEAST_STRETCH));
            progress.inner = 0;
        } else if taken.merit <= T::lit(CENTRED) * self.way() {
            progress.stretch = (progress.stretch * T::lit(STRETCH_MORE)).min(most_stretch());
            progress.inner = 0;
        }
        self.stretch = None;
    }

    /// Takes the largest share of the step that brings the merit, which is `here` now, under `bar`.
    #[inline(always)]
    fn advance(&mut self, here: T, bar: T) -> Taken<T> {
        for share in SHARES {
            let share = T::lit(share);
            let merit = self.merit(share);
            if merit < bar {
                let pack = T::Pack::splat(share);
                for i in 0..self.shape.groups() {
                    self.lambda[i] = self.step[i].mul_add(pack, self.lambda[i]);
                    self.sigma[i] = self.slope[i].mul_add(pack, self.sigma[i]);
                }
                return Taken { share, merit };
            }
        }
        Taken { share: T::lit(0.0), merit: here }
    }

    /// Squared way from the centre over `s rho`, J.
    #[inline(always)]
    fn way(&self) -> T {
        let mut sum = T::Pack::lit(0.0);
        for (i, (&lambda, &centre)) in self.lambda.iter().zip(&*self.centre).enumerate() {
            sum += (lambda - centre) * (lambda - centre) / some(self.rho_of(i));
        }
        total(sum)
    }
}

/// Whether numbers have no more than seven digits.
#[inline(always)]
fn is_single<T: Scalar>() -> bool {
    T::lit(1.0) + T::lit(1e-10) <= T::lit(1.0)
}

/// The largest `s` in this precision.
#[inline(always)]
fn most_stretch<T: Scalar>() -> T {
    T::lit(if is_single::<T>() { MOST_STRETCH_SINGLE } else { MOST_STRETCH })
}

/// The weight of the first step in this precision.
#[inline(always)]
fn first_proximal<T: Scalar>() -> T {
    T::lit(if is_single::<T>() { PROXIMAL_SINGLE } else { PROXIMAL })
}

/// The smallest weight in this precision.
#[inline(always)]
fn least_proximal<T: Scalar>() -> T {
    T::lit(if is_single::<T>() { LEAST_PROXIMAL_SINGLE } else { LEAST_PROXIMAL })
}

/// The next proximal weight after so many steps, of the last of which this share was taken; left: the share of the merit that
/// it left. None where steps are to be centred from now on, which takes so many steps at least.
#[inline(always)]
fn weight<T: Scalar>(proximal: T, steps: u32, share: T, left: T) -> T {
    let (zero, one) = (T::lit(0.0), T::lit(1.0));
    let whole = one <= share;
    // A smaller weight may help where this one still shrinks.
    let leads = whole && left < one && (left < T::lit(LEADS) || least_proximal::<T>() < proximal);
    if PATIENCE <= steps && !leads {
        return zero;
    }
    if whole {
        let stalled = T::lit(STALLED) < left && left < one;
        return (proximal * T::lit(if stalled { SHRINK_STALLED } else { SHRINK })).max(least_proximal());
    }
    let careful = proximal.max(T::lit(CAREFUL));
    if zero < share { careful } else { (careful * T::lit(GROW)).min(one) }
}
