//! Activations: the state between a control and a force.

use crate::dynamics::tree::{ForceRecord, NONE, Params, Tree, actuator_param, param, rate};
use crate::math::clamp;
use crate::real::Real;

/// Halvings of an exponent before its series, and doublings after it.
const DOUBLINGS: usize = 8;
/// Terms of the series.
const TERMS: usize = 10;
/// Beyond this many time constants nothing is left.
const FOREVER: f64 = 40.0;
/// The least time constant, s.
const LEAST_TIME: f64 = 1e-15;

/// The control of an actuator within its bounds.
#[inline(always)]
pub(crate) fn bounded_control<R: Real>(tree: &Tree, params: Params<R>, record: &ForceRecord, state: &[R]) -> R {
    let limits = actuator_param(tree.dims, record.actuator as usize) + param::ACTUATOR_CONTROL;
    let control = state[tree.dims.ctrl_at() + record.actuator as usize];
    clamp(control, params.at(limits), params.at(limits + 1))
}

/// The activation at the end of a step that begins with `act`; without dynamics the control.
#[inline(always)]
pub(crate) fn next_activation<R: Real>(params: Params<R>, record: &ForceRecord, control: R, act: R) -> R {
    if record.act == NONE {
        return control;
    }
    let at = record.param as usize;
    let h = params.at(param::TIMESTEP);
    let times = params.at3(at + param::FORCE_TIMES);
    let time = times[0].max(R::lit(LEAST_TIME));
    let next = match record.dynamics {
        rate::INTEGRATOR => h.mul_add(control, act),
        rate::FILTER => (h / time).mul_add(control - act, act),
        rate::FILTER_EXACT => decayed(h / time).mul_add(control - act, act),
        _ => muscle_activation(times, h, control, act),
    };
    clamp(next, params.at(at + param::FORCE_RANGE), params.at(at + param::FORCE_RANGE + 1))
}

/// `1 - exp(-x)` for x not below zero: the series for a small part of x, doubled by `E(2 x) = E(x) (2 - E(x))`.
#[inline(always)]
fn decayed<R: Real>(x: R) -> R {
    let part = x.min(R::lit(FOREVER)) * R::lit(1.0 / (1 << DOUBLINGS) as f64);
    let one = R::lit(1.0);
    let mut sum = one;
    for k in 0..TERMS {
        sum = (-part * R::lit(1.0 / (TERMS + 1 - k) as f64)).mul_add(sum, one);
    }
    sum = part * sum;
    for _ in 0..DOUBLINGS {
        sum = sum * (R::lit(2.0) - sum);
    }
    sum
}

/// A filter that rises and falls in different times (Millard et al. 2013), `times`: of rising, of falling, and the width of
/// the change from one to the other.
#[inline(always)]
fn muscle_activation<R: Real>(times: [R; 3], h: R, control: R, act: R) -> R {
    let (zero, one, half) = (R::lit(0.0), R::lit(1.0), R::lit(0.5));
    let slow = R::lit(1.5).mul_add(clamp(act, zero, one), half);
    let (rising, falling) = (times[0] * slow, times[1] / slow);
    let excess = clamp(control, zero, one) - act;
    let smooth = R::lit(LEAST_TIME).le(times[2]);
    let x = clamp(excess / R::select(smooth, times[2], one) + half, zero, one);
    let step = x * x * x * x.mul_add(x.mul_add(R::lit(6.0), R::lit(-15.0)), R::lit(10.0));
    let part = R::select(smooth, step, R::select(zero.lt(excess), one, zero));
    let time = part.mul_add(rising - falling, falling);
    (h / time.max(R::lit(LEAST_TIME))).mul_add(excess, act)
}
