//! Problems for tests from outside and within: by hand, random, stacks.

use manyworlds_contact::problem::{ConstraintInput, ContactProblem, Law, ProblemInput, SideInput};
use manyworlds_sparse::SparseMatrix;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Time step of the samples, s.
pub(crate) const H: f64 = 0.01;
/// Gravity of the samples, m/s^2.
pub(crate) const G: f64 = 9.81;

/// A side without a body.
pub(crate) fn side(subsystem: usize, jacobian: &[f64]) -> SideInput {
    SideInput { subsystem, jacobian: jacobian.to_vec(), ..Default::default() }
}

/// Particles of given masses, b = m (v0 + h g).
pub(crate) fn particles(masses: &[f64], v0: [f64; 3]) -> ProblemInput {
    ProblemInput {
        subsystems: (0..masses.len()).map(|s| [3 * s, 3]).collect(),
        a: masses.iter().map(|&m| vec![m, 0.0, 0.0, 0.0, m, 0.0, 0.0, 0.0, m]).collect(),
        b: masses.iter().flat_map(|&m| [m * v0[0], m * v0[1], m * (v0[2] - H * G)]).collect(),
        ..Default::default()
    }
}

/// The identity as a 3x3 Jacobian, times a sign.
pub(crate) fn unit(sign: f64) -> [f64; 9] {
    [sign, 0.0, 0.0, 0.0, sign, 0.0, 0.0, 0.0, sign]
}

/// One constraint without bias.
pub(crate) fn constraint(law: Law, sides: Vec<SideInput>) -> ConstraintInput {
    ConstraintInput { law, e: [0.0; 3], sides, compliance: None }
}

/// Jacobian of the linear velocity at `r` from the centre of a free body (linear, then angular velocity).
fn point(r: [f64; 3], sign: f64) -> Vec<f64> {
    let [x, y, z] = r;
    let rows = [[1.0, 0.0, 0.0, 0.0, z, -y], [0.0, 1.0, 0.0, -z, 0.0, x], [0.0, 0.0, 1.0, y, -x, 0.0]];
    rows.iter().flatten().map(|j| j * sign).collect()
}

/// Boxes of 10 cm edge stacked on the ground, four contacts at each interface.
pub(crate) fn stack(masses: &[f64], mu: f64) -> ProblemInput {
    let half = 0.05;
    let mut input = ProblemInput::default();
    for (s, &m) in masses.iter().enumerate() {
        let inertia = m * 0.01 / 6.0;
        let mut a = vec![0.0; 36];
        for d in 0..6 {
            a[7 * d] = if d < 3 { m } else { inertia };
        }
        input.subsystems.push([6 * s, 6]);
        input.a.push(a);
        input.b.extend([0.0, 0.0, -m * G * H, 0.0, 0.0, 0.0]);
        for (x, y) in [(-half, -half), (half, -half), (-half, half), (half, half)] {
            let mut sides = vec![SideInput { subsystem: s, jacobian: point([x, y, -half], 1.0), ..Default::default() }];
            if s > 0 {
                sides.push(SideInput { subsystem: s - 1, jacobian: point([x, y, half], -1.0), ..Default::default() });
            }
            input.constraints.push(constraint(Law::Contact { mu }, sides));
        }
    }
    input
}

/// A random problem: subsystems of 4 to 6 degrees of freedom (fewer, and constraints contradict), contacts between them and with the ground, and if
/// wanted every kind of row.
pub(crate) fn random(seed: u64, n_subsystems: usize, n_contacts: usize, rows: bool) -> ProblemInput {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut input = ProblemInput::default();
    for _ in 0..n_subsystems {
        let n: usize = rng.random_range(4..=6);
        let l: Vec<f64> = (0..n * n).map(|_| rng.random_range(-0.5..0.5)).collect();
        let mut a = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..n {
                a[i * n + j] = (0..n).map(|k| l[i * n + k] * l[j * n + k]).sum::<f64>() + f64::from(u8::from(i == j));
            }
        }
        input.subsystems.push([input.b.len(), n]);
        input.a.push(a);
        input.b.extend((0..n).map(|_| rng.random_range(-1.0..1.0)));
    }
    let sides = |rng: &mut ChaCha8Rng, rows: usize, input: &ProblemInput| -> Vec<SideInput> {
        let first = rng.random_range(0..n_subsystems);
        let mut list = vec![first];
        if n_subsystems > 1 && rng.random_bool(0.7) {
            list.push((first + rng.random_range(1..n_subsystems)) % n_subsystems);
        }
        let own = |s: usize, rng: &mut ChaCha8Rng| {
            let n = rows * input.subsystems[s][1];
            side(s, &(0..n).map(|_| rng.random_range(-1.0..1.0)).collect::<Vec<_>>())
        };
        list.into_iter().map(|s| own(s, rng)).collect()
    };
    for _ in 0..n_contacts {
        let mu = rng.random_range(0.0..0.5);
        let e = [0.0, 0.0, rng.random_range(-0.2..0.2)];
        let sides = sides(&mut rng, 3, &input);
        input.constraints.push(ConstraintInput { law: Law::Contact { mu }, e, sides, compliance: None });
    }
    let laws = [
        Law::Bilateral,
        Law::Unilateral,
        Law::Soft { k: 3.0, b: 2.0, lo: f64::NEG_INFINITY, hi: f64::INFINITY },
        Law::Soft { k: 0.0, b: 5.0, lo: -0.02, hi: 0.02 },
        Law::Box { lo: -0.1, hi: 0.1 },
    ];
    for law in laws.into_iter().filter(|_| rows) {
        let e = [rng.random_range(-0.1..0.1), 0.0, 0.0];
        let sides = sides(&mut rng, 1, &input);
        input.constraints.push(ConstraintInput { law, e, sides, compliance: None });
    }
    input
}

/// A random problem with two chains of so many degrees of freedom, each coupled to the three after it, among free bodies; a
/// side of a chain touches five of its own or fewer. As it is, and with the chains' blocks sparse.
pub(crate) fn chains(seed: u64, length: usize, n_contacts: usize) -> [ProblemInput; 2] {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut dense = random(seed, 2, 0, false);
    let chains = [2, 3];
    let mut sparse = Vec::new();
    for s in chains {
        let mut triplets = Vec::new();
        for i in 0..length {
            triplets.push((i, i, 0.5));
            for j in (i + 1..length).take(3) {
                let x = rng.random_range(0.1..2.0);
                triplets.extend([(i, i, x), (j, j, x), (i, j, -x), (j, i, -x)]);
            }
        }
        let mut a = vec![0.0; length * length];
        triplets.iter().for_each(|&(i, j, x)| a[i * length + j] += x);
        dense.subsystems.push([dense.b.len(), length]);
        dense.a.push(a);
        dense.b.extend((0..length).map(|_| rng.random_range(-1.0..1.0)));
        sparse.extend(SparseMatrix::from_triplets(length, &triplets).map(|m| (s, m)));
    }
    let mut both = [dense.clone(), ProblemInput { sparse, ..dense }];
    chains.into_iter().for_each(|s| both[1].a[s].clear());
    let laws = [Law::Bilateral, Law::Unilateral, Law::Soft { k: 3.0, b: 2.0, lo: -0.1, hi: 0.1 }];
    for k in 0..n_contacts + laws.len() {
        let law = k.checked_sub(n_contacts).map_or(Law::Contact { mu: rng.random_range(0.0..0.5) }, |k| laws[k]);
        let e = std::array::from_fn(|r| if r < law.rows() { rng.random_range(-0.1..0.1) } else { 0.0 });
        let first = rng.random_range(0..4);
        let mut both_sides = [Vec::new(), Vec::new()];
        // Of a chain touching itself two sides, which add up.
        for s in [first, if k % 3 == 0 { first } else { rng.random_range(0..4) }] {
            let n = both[0].subsystems[s][1];
            let (begin, count) = if chains.contains(&s) { (rng.random_range(0..n - 5), 5) } else { (0, n) };
            let j: Vec<f64> = (0..law.rows() * count).map(|_| rng.random_range(-1.0..1.0)).collect();
            let mut wide = vec![0.0; law.rows() * n];
            j.chunks_exact(count).enumerate().for_each(|(r, j)| wide[r * n + begin..][..count].copy_from_slice(j));
            let whole = side(s, &wide);
            let dofs = (begin..begin + count).map(|i| i as u32).collect();
            let short = SideInput { subsystem: s, dofs, jacobian: j, ..Default::default() };
            both_sides[1].push(if chains.contains(&s) { short } else { whole.clone() });
            both_sides[0].push(whole);
        }
        for (input, sides) in both.iter_mut().zip(both_sides) {
            input.constraints.push(ConstraintInput { law, e, sides, compliance: None });
        }
    }
    both
}

/// The problem of an input that is right.
pub(crate) fn problem(input: ProblemInput) -> ContactProblem {
    ContactProblem::new(input).expect("a sample is valid")
}

/// Two problems side by side.
pub(crate) fn beside(first: &ProblemInput, second: &ProblemInput) -> ProblemInput {
    let mut both = first.clone();
    let (n_v, n_s) = (both.b.len(), both.subsystems.len());
    both.subsystems.extend(second.subsystems.iter().map(|&[begin, count]| [begin + n_v, count]));
    both.a.extend_from_slice(&second.a);
    both.b.extend_from_slice(&second.b);
    for c in &second.constraints {
        let mut c = c.clone();
        c.sides.iter_mut().for_each(|s| s.subsystem += n_s);
        both.constraints.push(c);
    }
    // Stable: each problem keeps its own order.
    both.constraints.sort_by_key(|c| c.law.rows() != 3);
    both
}

/// A constraint that asks for `-e` of 2 kg which would move with `v`.
pub(crate) fn one_dof(law: Law, e: f64, v: f64) -> ContactProblem {
    problem(ProblemInput {
        subsystems: vec![[0, 1]],
        a: vec![vec![2.0]],
        b: vec![2.0 * v],
        constraints: vec![ConstraintInput { e: [e, 0.0, 0.0], ..constraint(law, vec![side(0, &[1.0])]) }],
        ..Default::default()
    })
}

/// Every scalar law on [`one_dof`], with impulse and velocity.
pub(crate) fn scalar_laws() -> [(ContactProblem, [f64; 2]); 7] {
    // lambda = -k e - b v, m (v - 1) = lambda: v = (m - k e) / (m + b).
    let v = (2.0 - 0.3) / (2.0 + 4.0);
    [
        (one_dof(Law::Bilateral, 0.1, 1.0), [-2.2, -0.1]),
        (one_dof(Law::Unilateral, 0.1, 1.0), [0.0, 1.0]),
        (one_dof(Law::Unilateral, 0.1, -1.0), [1.8, -0.1]),
        (one_dof(Law::Box { lo: -0.5, hi: 0.2 }, 0.0, 1.0), [-0.5, 0.75]),
        (one_dof(Law::Box { lo: -5.0, hi: 0.2 }, 0.0, 1.0), [-2.0, 0.0]),
        (one_dof(Law::Soft { k: 3.0, b: 4.0, lo: -9.0, hi: 9.0 }, 0.1, 1.0), [2.0 * (v - 1.0), v]),
        (one_dof(Law::Soft { k: 3.0, b: 4.0, lo: -0.5, hi: 0.5 }, 0.1, 1.0), [-0.5, 0.75]),
    ]
}

/// Two bilateral rows that contradict each other.
pub(crate) fn contradiction() -> ContactProblem {
    let mut input = particles(&[1.0], [0.0; 3]);
    for e in [0.1, -0.1] {
        let row = constraint(Law::Bilateral, vec![side(0, &[1.0, 0.0, 0.0])]);
        input.constraints.push(ConstraintInput { e: [e, 0.0, 0.0], ..row });
    }
    problem(input)
}

/// Numbers that differ by no more than a tolerance.
pub(crate) fn close(a: &[f64], b: &[f64], tolerance: f64) {
    assert!(are_close(a, b, tolerance), "{a:?} {b:?}");
}

/// Whether numbers differ by no more than a tolerance.
pub(crate) fn are_close(a: &[f64], b: &[f64], tolerance: f64) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(x, y)| (x - y).abs() <= tolerance)
}
