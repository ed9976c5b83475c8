//! Random contact problems from feasible geometry: piles of free rigid bodies on the ground.

use manyworlds_contact::problem::{ConstraintInput, ProblemInput, SideInput};
use manyworlds_contact::{ContactProblem, Law};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Time step, s.
const H: f64 = 0.005;
/// Gravity, m/s^2.
const G: f64 = 9.81;
/// Largest size of a body, and about how far apart those that touch are, m.
const SIZE: f64 = 0.2;

/// What the problems are drawn from.
#[derive(Debug, Clone, Copy)]
pub struct Range {
    /// Most bodies; there is at least one.
    pub bodies: usize,
    /// Largest Coulomb friction coefficient.
    pub mu: f64,
    /// Largest ratio of two masses.
    pub mass_ratio: f64,
}

impl Default for Range {
    fn default() -> Self {
        Self { bodies: 40, mu: 3.0, mass_ratio: 100.0 }
    }
}

/// One of the problems of a range, by its number.
///
/// Bodies stand about where a cubic lattice has them, each on the one below or the ground and, every other time, against
/// its neighbours. What touches does so in a patch of one to four points, of which one in five is there twice. Biases leave a velocity `v0` (zero in every other problem) that all cones allow,
/// `mu |J_t v0| <= J_n v0 + e_n`, so that there is a solution.
#[must_use]
pub fn random_problem(range: &Range, number: u64) -> ContactProblem {
    let mut rng = ChaCha8Rng::seed_from_u64(number);
    let n = rng.random_range(1..=range.bodies);
    let width = (n as f64).cbrt().ceil() as usize;
    let mut input = ProblemInput::default();
    let mut centres: Vec<[f64; 3]> = Vec::new();
    for s in 0..n {
        let mass = range.mass_ratio.powf(rng.random_range(0.0..=1.0));
        let edges: [f64; 3] = std::array::from_fn(|_| rng.random_range(0.25 * SIZE..SIZE));
        input.subsystems.push([6 * s, 6]);
        input.a.push(momentum(&mut rng, mass, edges));
        let twist: [f64; 6] = std::array::from_fn(|d| rng.random_range(-1.0..1.0) - if d == 2 { G * H } else { 0.0 });
        input.b.extend(input.a[s].chunks_exact(6).map(|row| row.iter().zip(twist).map(|(a, v)| a * v).sum::<f64>()));
        let cell = [s % width, s / width % width, s / (width * width)];
        centres.push(cell.map(|k| SIZE * (k as f64 + 0.5 + rng.random_range(-0.15..0.15))));
    }
    let v0: Vec<f64> = match number % 2 {
        0 => vec![0.0; 6 * n],
        _ => (0..6 * n).map(|_| rng.random_range(-0.1..0.1)).collect(),
    };
    for s in 0..n {
        // A body that touches itself touches the ground.
        let below = s.checked_sub(width * width).unwrap_or(s);
        patch(&mut rng, &mut input, range, &centres, [s, below], &v0);
        for (step, at) in [(1, s % width), (width, s / width % width)] {
            if at > 0 && rng.random_bool(0.5) {
                patch(&mut rng, &mut input, range, &centres, [s, s - step], &v0);
            }
        }
    }
    ContactProblem::new(input).expect("a random problem is valid")
}

/// Momentum matrix of a free box that is turned some way: linear, then angular velocity, world axes.
fn momentum(rng: &mut ChaCha8Rng, mass: f64, edges: [f64; 3]) -> Vec<f64> {
    let axes = frame(direction(rng));
    let sum: f64 = edges.iter().map(|e| e * e).sum();
    let mut a = vec![0.0; 36];
    for i in 0..3 {
        a[7 * i] = mass;
        for j in 0..3 {
            a[6 * (i + 3) + j + 3] =
                (0..3).map(|k| axes[k][i] * axes[k][j] * mass * (sum - edges[k] * edges[k]) / 12.0).sum();
        }
    }
    a
}

/// Contact points where body `s` touches the body `below`, or the ground where that is itself.
fn patch(
    rng: &mut ChaCha8Rng,
    input: &mut ProblemInput,
    range: &Range,
    centres: &[[f64; 3]],
    [s, below]: [usize; 2],
    v0: &[f64],
) {
    let ground = s == below;
    let c = centres[s];
    let (normal, middle) = if ground {
        ([0.0, 0.0, 1.0], [c[0], c[1], 0.0])
    } else {
        let other = centres[below];
        let apart: [f64; 3] = std::array::from_fn(|k| c[k] - other[k]);
        let length = apart.iter().map(|x| x * x).sum::<f64>().sqrt();
        (apart.map(|x| x / length), std::array::from_fn(|k| 0.5 * (c[k] + other[k])))
    };
    let rows = frame(normal);
    let mu = rng.random_range(0.0..=range.mu);
    for _ in 0..rng.random_range(1..=4) {
        let [x, y] = [0, 1].map(|_| rng.random_range(-0.4 * SIZE..0.4 * SIZE));
        let point: [f64; 3] = std::array::from_fn(|k| middle[k] + x * rows[0][k] + y * rows[1][k]);
        let side = |body: usize, sign: f64| SideInput {
            subsystem: body,
            body: Some(0),
            dofs: Vec::new(),
            jacobian: jacobian(&rows, std::array::from_fn(|k| point[k] - centres[body][k]), sign),
        };
        let mut sides = vec![side(s, 1.0)];
        if !ground {
            sides.push(side(below, -1.0));
        }
        let mut sigma = [0.0; 3];
        for side in &sides {
            for (r, row) in side.jacobian.chunks_exact(6).enumerate() {
                sigma[r] += row.iter().zip(&v0[6 * side.subsystem..]).map(|(j, v)| j * v).sum::<f64>();
            }
        }
        let slack = if rng.random_bool(0.5) { 0.0 } else { rng.random_range(0.0..0.5) };
        let e = [0.0, 0.0, mu * sigma[0].hypot(sigma[1]) - sigma[2] + slack];
        let copies = if rng.random_bool(0.2) { 2 } else { 1 };
        let contact = ConstraintInput { law: Law::Contact { mu }, e, sides, compliance: None };
        input.constraints.extend(std::iter::repeat_n(contact, copies));
    }
}

/// `[3, 6]`: velocity along three directions of the point at `r` from the centre, times a sign.
fn jacobian(rows: &[[f64; 3]; 3], r: [f64; 3], sign: f64) -> Vec<f64> {
    rows.iter().flat_map(|d| d.iter().copied().chain(cross(r, *d)).map(|x| sign * x).collect::<Vec<_>>()).collect()
}

/// Two tangents and the normal.
fn frame(n: [f64; 3]) -> [[f64; 3]; 3] {
    let aside = if n[0].abs() < 0.6 { [1.0, 0.0, 0.0] } else { [0.0, 1.0, 0.0] };
    let t = cross(n, aside);
    let length = t.iter().map(|x| x * x).sum::<f64>().sqrt();
    let t1 = t.map(|x| x / length);
    [t1, cross(n, t1), n]
}

fn direction(rng: &mut ChaCha8Rng) -> [f64; 3] {
    loop {
        let d: [f64; 3] = std::array::from_fn(|_| rng.random_range(-1.0..1.0));
        let square = d.iter().map(|x| x * x).sum::<f64>();
        if (0.01..1.0).contains(&square) {
            return d.map(|x| x / square.sqrt());
        }
    }
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}
