//! Steps of bodies that nothing touches, eight worlds a vector register: Newton's method by the kernels' mirrors.

use manyworlds_shaders::dynamics::tree::Params;
use manyworlds_shaders::soft::body::{BLOCK, SoftDims};
use manyworlds_shaders::soft::elements::elements;
use manyworlds_shaders::soft::factor::{Plan, factor};
use manyworlds_shaders::{F64x8, LANES, Real};

use crate::packed::SoftLayout;
use crate::system::SoftParams;

/// Rounds at most; what takes longer wants a line search.
const ROUNDS: u32 = 12;

/// A body of one world at the start of a step.
#[derive(Debug, Clone, Copy)]
pub struct FreeStart<'a> {
    /// What it may have of its own.
    pub params: &'a SoftParams,
    /// s
    pub h: f64,
    /// In the axes of the displacements, m/s^2.
    pub gravity: [f64; 3],
    /// Displacements, `[n_v]`, m.
    pub q: &'a [f64],
    /// Velocities, `[n_v]`, m/s.
    pub v: &'a [f64],
    /// Forces from outside, `[n_v]`, N.
    pub force: &'a [f64],
}

/// How a step ended.
#[derive(Debug, Clone, PartialEq)]
pub struct FreeEnd {
    /// Velocities, `[n_v]`, m/s.
    pub v: Vec<f64>,
    /// What is left of the balance of momentum, N s.
    pub momentum: f64,
    /// Rounds it took.
    pub rounds: u32,
}

/// Memory for steps of one body after the other.
#[derive(Debug, Default)]
pub struct FreeWork {
    params: Vec<F64x8>,
    state: Vec<F64x8>,
    velocity: Vec<F64x8>,
    matrix: Vec<F64x8>,
    b: Vec<F64x8>,
    factor: Vec<F64x8>,
}

impl SoftLayout {
    /// Steps of worlds, [`LANES`] at most, each to a balance of momentum within `tolerance`, N s. `None` where the whole way of
    /// each round does not lead there. What a world does depends on no other.
    ///
    /// # Panics
    /// For more worlds.
    #[must_use]
    pub fn free_steps(&self, starts: &[FreeStart<'_>], tolerance: f64, work: &mut FreeWork) -> Vec<Option<FreeEnd>> {
        assert!(starts.len() <= LANES, "{} worlds in a pack of {LANES}", starts.len());
        let mut out = vec![None; starts.len()];
        let Some(first) = starts.first() else { return out };
        let dims = SoftDims {
            damped: u32::from(starts.iter().any(|start| start.params.material.damping > 0.0)),
            pressed: u32::from(starts.iter().any(|start| start.params.pressures.iter().any(|&p| p != 0.0))),
            ..self.dims
        };
        let FreeWork { params, state, velocity, matrix, b, factor: filled } = work;
        let n = dims.n_v() as usize;
        let zero = F64x8::lit(0.0);
        for (buffer, n) in [
            (&mut *params, dims.n_param as usize),
            (&mut *state, dims.n_state() as usize),
            (&mut *matrix, BLOCK * dims.n_block as usize),
            (&mut *b, n),
            (&mut *filled, BLOCK * dims.n_fill as usize),
        ] {
            buffer.resize(n, zero);
        }
        // Lanes without a world of their own do what the first one does.
        for lane in 0..LANES {
            let start = starts.get(lane).unwrap_or(first);
            let own = Self::params(start.params, start.h, start.gravity);
            params.iter_mut().zip(own).for_each(|(to, x)| to.set_lane(lane, x));
            let numbers = start.q.iter().chain(start.v).chain(start.force);
            state.iter_mut().zip(numbers).for_each(|(to, &x)| to.set_lane(lane, x));
        }
        velocity.clear();
        velocity.extend_from_slice(&state[n..2 * n]);
        let plan = Plan::new(&dims, &self.topology);
        let mut moving = vec![true; starts.len()];
        let mut last = [f64::INFINITY; LANES];
        let mut status = [0; LANES];
        for round in 0..=ROUNDS {
            elements(&dims, &self.topology, &self.rest, Params::Lanes(params), state, velocity, matrix, b);
            let mut square = zero;
            b.iter().for_each(|&x| square = x.mul_add(x, square));
            for (lane, moving) in moving.iter_mut().enumerate().filter(|(_, moving)| **moving) {
                let momentum = square.lane(lane).sqrt();
                let is_done = round > 0 && momentum <= tolerance;
                if is_done {
                    let v = velocity.iter().map(|v| v.lane(lane)).collect();
                    out[lane] = Some(FreeEnd { v, momentum, rounds: round });
                }
                // The first round's way is taken whatever it leaves; numbers that are not finite compare as larger.
                let falls = round < 2 || momentum < last[lane];
                *moving = !is_done && falls && momentum.is_finite() && status[lane] == 0;
                last[lane] = momentum;
            }
            if round == ROUNDS || !moving.contains(&true) {
                break;
            }
            factor(&plan, matrix, b, filled, velocity, &mut status);
        }
        out
    }
}
