//! The solver of the tree path on problems written by hand: residuals are recomputed here, in plain f64.

use super::local;
use super::tree_layout::{LaneDims, info, phase, row, row_head, slot};
use super::tree_pgs::{tree_pgs, work_packs};
use crate::dynamics::names::part;
use crate::{F64x8, LANES, Real};

/// Reproducible numbers in [-1, 1].
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

/// A contact or block: J `[3][n_v]`, bias, friction.
struct Slot {
    j: Vec<f64>,
    e: [f64; 3],
    mu: f64,
}

/// A row: dofs with coefficients, bias, compliance, bounds.
struct Row {
    j: Vec<(usize, f64)>,
    e: f64,
    c: f64,
    lo: f64,
    hi: f64,
}

/// One lane's problem, `A v = b + J^T lambda`.
struct Problem {
    inverse: Vec<Vec<f64>>,
    b: Vec<f64>,
    slots: Vec<Slot>,
    rows: Vec<Row>,
}

struct Solution {
    v: Vec<f64>,
    lambda: Vec<[f64; 3]>,
    rows: Vec<f64>,
    sweeps: f64,
    steps: f64,
    converged: bool,
    /// By how much the normals' biases gave way, and those of the rows.
    gave_way: [Vec<f64>; 2],
}

/// Gauss-Jordan, enough for well-conditioned test matrices.
fn invert(mut a: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let n = a.len();
    for (i, row) in a.iter_mut().enumerate() {
        row.extend((0..n).map(|j| f64::from(u8::from(i == j))));
    }
    for k in 0..n {
        let pivot = a[k][k];
        a[k].iter_mut().for_each(|x| *x /= pivot);
        let top = a[k].clone();
        for (i, row) in a.iter_mut().enumerate().filter(|(i, _)| *i != k) {
            let factor = row[k];
            assert!(i < n);
            row.iter_mut().zip(&top).for_each(|(x, t)| *x -= factor * t);
        }
    }
    a.into_iter().map(|row| row[n..].to_vec()).collect()
}

fn times(m: &[Vec<f64>], x: &[f64]) -> Vec<f64> {
    m.iter().map(|row| row.iter().zip(x).map(|(a, b)| a * b).sum()).collect()
}

impl Problem {
    fn n_v(&self) -> usize {
        self.b.len()
    }

    fn row_jacobian(&self, r: &Row) -> Vec<f64> {
        let mut j = vec![0.0; self.n_v()];
        for &(dof, coefficient) in &r.j {
            j[dof] += coefficient;
        }
        j
    }

    /// Residual 1, and the velocity it was judged at.
    fn certify(&self, lambda: &[[f64; 3]], rows: &[f64]) -> (f64, Vec<f64>) {
        let n = self.n_v();
        let mut p = self.b.clone();
        for (s, l) in self.slots.iter().zip(lambda) {
            for i in 0..n {
                p[i] += (0..3).map(|a| s.j[a * n + i] * l[a]).sum::<f64>();
            }
        }
        for (r, l) in self.rows.iter().zip(rows) {
            for (p, j) in p.iter_mut().zip(self.row_jacobian(r)) {
                *p += j * l;
            }
        }
        let v = times(&self.inverse, &p);
        let mut square = 0.0;
        for (s, l) in self.slots.iter().zip(lambda) {
            let y: Vec<f64> =
                (0..3).map(|a| l[a] - s.e[a] - (0..n).map(|i| s.j[a * n + i] * v[i]).sum::<f64>()).collect();
            let (normal, length) = (y[2].max(0.0), y[0].hypot(y[1]));
            let shrink = if length > s.mu * normal { s.mu * normal / length } else { 1.0 };
            let t = if s.mu < 0.0 { [y[0], y[1], y[2]] } else { [y[0] * shrink, y[1] * shrink, normal] };
            square += (0..3).map(|a| (l[a] - t[a]).powi(2)).sum::<f64>();
        }
        for (r, l) in self.rows.iter().zip(rows) {
            let sigma: f64 = self.row_jacobian(r).iter().zip(&v).map(|(a, b)| a * b).sum();
            square += (l - ((l - sigma - r.e) / (1.0 + r.c)).clamp(r.lo, r.hi)).powi(2);
        }
        let contacts = self.slots.iter().filter(|s| s.mu >= 0.0).count();
        (square.sqrt() / contacts.max(1) as f64, v)
    }
}

/// Solves problems of one shape side by side, slots as in the fullest; those of more than `most` rows by sweeps on the
/// velocity. At most so many rounds, of Newton steps or of sweeps alone.
fn solve(problems: &[&Problem], rounds: u32, most: u32, newton: bool, part: u32) -> Vec<Solution> {
    type R = F64x8;
    let n_v = problems[0].n_v();
    let n_slot = problems.iter().map(|p| p.slots.len()).max().unwrap();
    let n_row = problems[0].rows.len();
    let tolerance = 1e-9_f32.to_bits();
    let dims = LaneDims {
        lanes: LANES as u32,
        n_v: n_v as u32,
        n_row: n_row as u32,
        row_width: row::WIDTH,
        sweeps: rounds,
        tolerance,
        rows: most,
        newton: u32::from(newton),
        phases: phase::ALL,
        budget: rounds,
        stride: LANES as u32,
    };
    let zero = R::lit(0.0);
    let mut constraint = vec![zero; n_slot * dims.slot()];
    let mut rows = vec![zero; n_row * dims.row()];
    let (mut v, mut info_out) = (vec![zero; n_v], vec![zero; info::reals(n_v)]);
    let number = |x: f64| R::lit(x).lane(0);
    for (lane, p) in problems.iter().enumerate().take(R::N) {
        for (v, x) in v.iter_mut().zip(times(&p.inverse, &p.b)) {
            v.set_lane(lane, number(x));
        }
        for (c, s) in constraint.chunks_exact_mut(dims.slot()).zip(&p.slots) {
            let y: Vec<Vec<f64>> = s.j.chunks(n_v).map(|j| times(&p.inverse, j)).collect();
            let g = |a: usize, b: usize| (0..n_v).map(|i| s.j[a * n_v + i] * y[b][i]).sum::<f64>();
            let g = [g(0, 0), g(0, 1), g(0, 2), g(1, 1), g(1, 2), g(2, 2)];
            let inverse = local::invert(&g);
            let mut set = |f: usize, x: f64| c[f].set_lane(lane, number(x));
            (0..3).for_each(|k| set(slot::BIAS + k, s.e[k]));
            set(slot::MU, s.mu);
            for k in 0..6 {
                set(slot::BLOCK + k, g[k]);
                set(slot::INVERSE + k, inverse[k]);
            }
            for i in 0..3 * n_v {
                set(slot::J + i, s.j[i]);
                set(slot::J + 3 * n_v + i, y[i / n_v][i % n_v]);
            }
        }
        for (r, row_in) in rows.chunks_exact_mut(dims.row()).zip(&p.rows) {
            let j = p.row_jacobian(row_in);
            let y = times(&p.inverse, &j);
            let mut set = |f: usize, x: f64| r[f].set_lane(lane, number(x));
            set(row::BIAS, row_in.e);
            set(row::COMPLIANCE, row_in.c);
            set(row::LOWER, row_in.lo);
            set(row::UPPER, row_in.hi);
            set(row::ACTIVE, 1.0);
            set(row::BLOCK, j.iter().zip(&y).map(|(a, b)| a * b).sum());
            for (k, &(dof, coefficient)) in row_in.j.iter().enumerate() {
                set(row::COEFFICIENT + row::TERM * k, coefficient);
                set(row::DOF + row::TERM * k, dof as f64);
            }
            (0..n_v).for_each(|i| set(row_head(row::WIDTH) + i, y[i]));
        }
    }
    let mut impulse = vec![zero; 3 * n_slot];
    let mut work = vec![zero; work_packs(&dims, n_slot)];
    let ends = tree_pgs::<f64, _>(
        &dims,
        [part; LANES],
        &mut constraint,
        &mut impulse,
        &mut rows,
        &mut v,
        &mut info_out,
        &mut work,
    );
    let back = |x: R, lane: usize| x.lane(lane);
    (0..problems.len().min(R::N))
        .map(|lane| Solution {
            v: v.iter().map(|&x| back(x, lane)).collect(),
            lambda: impulse.chunks(3).map(|l| [back(l[0], lane), back(l[1], lane), back(l[2], lane)]).collect(),
            rows: rows.chunks(dims.row()).map(|r| back(r[row::IMPULSE], lane)).collect(),
            sweeps: back(info_out[info::SWEEPS], lane),
            steps: back(info_out[info::NEWTON], lane),
            converged: ends.converged[lane],
            gave_way: [
                constraint.chunks(dims.slot()).map(|c| back(c[slot::RELAXED + 2], lane)).collect(),
                rows.chunks(dims.row()).map(|r| back(r[row::RELAXED], lane)).collect(),
            ],
        })
        .collect()
}

fn one(p: &Problem, newton: bool) -> Solution {
    solve(&[p], 400, 64, newton, part::SOLVES).remove(0)
}

/// A sphere of radius 1 and mass 1 on the plane z = 0, pushed by `b`: v then w, moments about the centre.
fn sphere(mu: f64, b: [f64; 6], inertia: f64) -> Problem {
    let mut a = vec![vec![0.0; 6]; 6];
    for i in 0..6 {
        a[i][i] = if i < 3 { 1.0 } else { inertia };
    }
    // The contact at (0, 0, -1) moves with v + w x r: x: v_x - w_y, y: v_y + w_x.
    let mut j = vec![0.0; 18];
    (j[0], j[4], j[7], j[9], j[14]) = (1.0, -1.0, 1.0, 1.0, 1.0);
    let slots = vec![Slot { j, e: [0.0; 3], mu }];
    Problem { inverse: invert(a), b: b.to_vec(), slots, rows: Vec::new() }
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

#[test]
fn a_sphere_rolls_slides_and_glides() {
    // Rolling: m (1 + I / m r^2) dv = F.
    let s = one(&sphere(1.0, [0.7, 0.0, -1.0, 0.0, 0.0, 0.0], 0.4), true);
    assert!(s.converged && close(s.v[0], 0.5) && close(s.v[4], 0.5) && close(s.v[2], 0.0), "{:?}", s.v);
    // Sliding: friction mu m g, and the spin it makes.
    let s = one(&sphere(0.1, [0.7, 0.0, -1.0, 0.0, 0.0, 0.0], 0.4), true);
    assert!(s.converged && close(s.v[0], 0.6) && close(s.v[4], 0.25), "{:?}", s.v);
    // Frictionless.
    let s = one(&sphere(0.0, [0.7, 0.2, -1.0, 0.0, 0.0, 0.0], 0.4), true);
    assert!(s.converged && close(s.v[0], 0.7) && close(s.v[1], 0.2) && close(s.v[4], 0.0) && close(s.v[2], 0.0));
    // Leaving.
    let s = one(&sphere(1.0, [0.7, 0.0, 0.3, 0.0, 0.0, 0.0], 0.4), true);
    assert!(s.converged && s.lambda[0] == [0.0; 3] && close(s.v[2], 0.3));
    assert!(!close(0.25, 0.25 + 1e-8), "the comparison can fail");
}

/// Two unit masses on slides.
fn slides(b: [f64; 2], rows: Vec<Row>) -> Problem {
    Problem { inverse: vec![vec![1.0, 0.0], vec![0.0, 1.0]], b: b.to_vec(), slots: Vec::new(), rows }
}

#[test]
fn rows_obey_their_laws() {
    const FAR: f64 = 1e30;
    let limit = |e: f64| Row { j: vec![(0, 1.0)], e, c: 0.0, lo: 0.0, hi: FAR };
    let s = one(&slides([-1.0, 0.0], vec![limit(0.25)]), true);
    assert!(s.converged && close(s.v[0], -0.25) && close(s.rows[0], 0.75), "a gap closes within the step");
    let s = one(&slides([0.5, 0.0], vec![limit(0.25)]), true);
    assert!(close(s.v[0], 0.5) && s.rows[0] == 0.0);

    let dry = |most: f64| Row { j: vec![(0, 1.0)], e: 0.0, c: 0.0, lo: -most, hi: most };
    assert!(close(one(&slides([1.0, 0.0], vec![dry(0.3)]), true).v[0], 0.7), "dry friction slows");
    assert!(close(one(&slides([0.2, 0.0], vec![dry(0.3)]), true).v[0], 0.0), "dry friction holds");

    // lambda = -b (v + e), within bounds: b = 4, e = -0.5 asks for lambda = 4 (0.5 - v), v = lambda: 0.4.
    let drive = |hi: f64| Row { j: vec![(0, 1.0)], e: -0.5, c: 0.25, lo: -hi, hi };
    assert!(close(one(&slides([0.0, 0.0], vec![drive(1.0)]), true).v[0], 0.4), "a drive within its force");
    assert!(close(one(&slides([0.0, 0.0], vec![drive(0.1)]), true).v[0], 0.1), "a drive at its force");

    let coupling = Row { j: vec![(0, 1.0), (1, -2.0)], e: 0.0, c: 0.0, lo: -FAR, hi: FAR };
    let s = one(&slides([1.0, 0.0], vec![coupling]), true);
    assert!(close(s.v[0], 2.0 * s.v[1]) && close(s.v[0], 0.8), "{:?}", s.v);
}

#[test]
fn a_contact_that_was_left_out_is_taken_in_again() {
    let slot = |j: [f64; 3], e: f64| Slot { j: [[0.0; 3], [0.0; 3], j].concat(), e: [0.0, 0.0, e], mu: 0.0 };
    // v_y <= 0 and v_y + v_x / 10 >= 1: sweeps creep towards v_x = 10. v_z >= v_x - 5 is open when they end.
    let slots = vec![slot([0.0, -1.0, 0.0], 0.0), slot([0.1, 1.0, 0.0], -1.0), slot([-1.0, 0.0, 1.0], 5.0)];
    let inverse = (0..3).map(|i| (0..3).map(|j| f64::from(u8::from(i == j))).collect()).collect();
    let p = Problem { inverse, b: vec![0.0; 3], slots, rows: Vec::new() };
    let begun = solve(&[&p], 4, 64, false, part::SOLVES).remove(0);
    assert!(begun.lambda[2] == [0.0; 3] && !begun.converged, "{:?}", begun.lambda);
    let s = one(&p, true);
    assert!(s.converged && p.certify(&s.lambda, &s.rows).0 < 1.1e-9);
    // The shallow slope makes a hundred of the residual.
    assert!((s.v[0] - 10.0).abs() < 1e-7 && (s.v[2] - 5.0).abs() < 1e-7 && (s.lambda[2][2] - 5.0).abs() < 1e-7);
}

/// A random tree-like problem; the more slots than degrees of freedom allow, the more redundant.
fn random(noise: &mut Noise, n_v: usize, n_slot: usize, n_row: usize) -> Problem {
    let factor: Vec<Vec<f64>> = (0..n_v).map(|_| (0..n_v).map(|_| noise.next()).collect()).collect();
    let a = (0..n_v)
        .map(|i| {
            (0..n_v)
                .map(|j| (0..n_v).map(|k| factor[i][k] * factor[j][k]).sum::<f64>() + f64::from(u8::from(i == j)))
                .collect()
        })
        .collect();
    let b = (0..n_v).map(|_| 2.0 * noise.next()).collect();
    let slots = (0..n_slot)
        .map(|s| Slot {
            j: (0..3 * n_v).map(|_| noise.next()).collect(),
            e: [0.0, 0.0, 0.1 * noise.next()],
            mu: if s == 0 { -1.0 } else { 0.3 * (noise.next() + 1.0) },
        })
        .collect();
    let rows = (0..n_row)
        .map(|k| Row {
            j: vec![(k % n_v, 1.0)],
            e: 0.1 * noise.next(),
            c: if k % 3 == 2 { 0.2 } else { 0.0 },
            lo: if k % 2 == 0 { 0.0 } else { -0.2 },
            hi: if k % 2 == 0 { 1e30 } else { 0.2 },
        })
        .collect();
    Problem { inverse: invert(a), b, slots, rows }
}

#[test]
fn random_problems_are_solved_to_the_residual_that_is_claimed() {
    let mut noise = Noise(7);
    let (mut solved, mut with, mut without) = (0, 0.0, 0.0);
    for k in 0..200 {
        let p = random(&mut noise, 9, 2 + k % 4, 4);
        let s = one(&p, true);
        let (r, v) = p.certify(&s.lambda, &s.rows);
        if s.converged {
            solved += 1;
            // The tolerance of 1e-9, and the rounding of some hundred updates.
            assert!(r < 1.1e-9, "claimed, but {r}");
            assert!(v.iter().zip(&s.v).all(|(a, b)| (a - b).abs() < 1e-11), "the velocity drifted");
            with += s.sweeps;
            without += one(&p, false).sweeps;
        }
        let mut wrong = s.lambda.clone();
        wrong[1][2] += 1e-6;
        assert!(p.certify(&wrong, &s.rows).0 > 1e-9, "a wrong impulse must show");
    }
    assert!(solved >= 195, "{solved} of 200");
    assert!(with < 0.5 * without, "Newton steps must save sweeps: {with} with, {without} without");
}

#[test]
fn a_lane_does_not_depend_on_its_neighbours() {
    let mut noise = Noise(11);
    for round in 0..20 {
        let problems: Vec<Problem> =
            (0..8).map(|lane| random(&mut noise, 7, 1 + 3 * ((lane + round) % 5), 3)).collect();
        // Lanes with fewer slots than others, a lane too large to be written out among them.
        let all: Vec<&Problem> = problems.iter().collect();
        let together = solve(&all, 30, 40, true, part::SOLVES);
        for (p, lane) in problems.iter().zip(&together) {
            let alone = &solve(&[p], 30, 40, true, part::SOLVES)[0];
            assert_eq!((alone.sweeps, alone.steps, alone.converged), (lane.sweeps, lane.steps, lane.converged));
            let bits = |v: &[f64]| v.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&alone.v), bits(&lane.v));
            for (a, b) in alone.lambda.iter().zip(&lane.lambda) {
                assert_eq!(bits(a), bits(b));
            }
        }
        assert!(together.iter().any(|lane| lane.steps > 0.0));
    }
}

/// A mass of 2 kg between walls closer than it is wide, thrown at one of them: the walls ask for 0.2 m/s either way.
fn between_walls(v: f64) -> Problem {
    let wall = |sign: f64| Slot { j: vec![0.0, 0.0, 0.0, 0.0, sign, 0.0], e: [0.0, 0.0, -0.2], mu: 0.5 };
    let inverse = vec![vec![0.5, 0.0], vec![0.0, 0.5]];
    Problem { inverse, b: vec![2.0 * v, 0.0], slots: vec![wall(1.0), wall(-1.0)], rows: Vec::new() }
}

/// Walls that press against each other do so with K or more, by the mass that they move in the mean of their directions: 6 kg here.
#[test]
fn requests_give_way_at_their_caps() {
    let solve = |p: &Problem| solve(&[p], 60, 64, true, part::RELAXES).remove(0);
    let found = solve(&between_walls(0.0));
    assert!(found.converged && close(found.v[0], 0.0), "{:?}", found.v);
    assert!(found.lambda.iter().all(|l| l[2] > 6.0 * 0.4 - 1e-9), "{:?}", found.lambda);
    assert!(found.gave_way[0].iter().all(|&by| close(by, 0.2)), "{:?}", found.gave_way);
    // The one that it is thrown at may push with 6 (0.4 + 1); the other bears what that is too much.
    let found = solve(&between_walls(-1.0));
    assert!(found.converged && close(found.v[0], 0.0), "{:?}", found.v);
    let [thrown_at, other] = [found.lambda[0][2], found.lambda[1][2]];
    assert!(thrown_at > 8.4 - 1e-9 && close(thrown_at, other + 2.0), "{:?}", found.lambda);
    // Rows that ask for 0.3 m/s one way and for 0.1 m/s the other way: the first may push with 1.2 N s.
    let row = |sign: f64, a: f64| Row { j: vec![(0, sign)], e: -a, c: 0.0, lo: 0.0, hi: 1e30 };
    let rows = vec![row(1.0, 0.3), row(-1.0, 0.1)];
    let found = solve(&Problem { inverse: vec![vec![0.5]], b: vec![0.0], slots: Vec::new(), rows });
    assert!(found.converged && close(found.v[0], 0.0), "{:?}", found.v);
    assert!(found.rows[0] > 1.2 - 1e-9 && close(found.rows[0], found.rows[1]), "{:?}", found.rows);
    assert!(close(found.gave_way[1][0], 0.3) && close(found.gave_way[1][1], 0.1), "{:?}", found.gave_way);
    // Something heavy is pushed by one request alone, which gives way to its mass.
    let slots = vec![Slot { j: vec![0.0, 0.0, 0.0, 0.0, 1.0, 0.0], e: [0.0, 0.0, -0.2], mu: 0.5 }];
    let held = Row { j: vec![(0, 1.0), (1, -1.0)], e: 0.0, c: 0.0, lo: -1e30, hi: 1e30 };
    let inverse = vec![vec![1.0, 0.0], vec![0.0, 0.01]];
    let found = solve(&Problem { inverse, b: vec![0.0; 2], slots, rows: vec![held] });
    assert!(found.converged && close(found.v[0], 1.2 / 101.0), "{:?}", found.v);
    assert!(close(found.lambda[0][2], 1.2) && close(found.gave_way[0][0], 0.2 - 1.2 / 101.0), "{:?}", found.gave_way);
}

/// What can be met is.
#[test]
fn requests_that_can_be_met_do_not_give_way() {
    let p = sphere(0.5, [0.7, 0.0, -1.0, 0.0, 0.0, 0.0], 0.4);
    let (exact, found) = (one(&p, true), solve(&[&p], 60, 64, true, part::RELAXES).remove(0));
    assert!(found.converged && found.gave_way[0] == [0.0], "{:?}", found.gave_way);
    assert!(exact.v.iter().zip(&found.v).all(|(a, b)| close(*a, *b)), "{:?} {:?}", exact.v, found.v);
}
