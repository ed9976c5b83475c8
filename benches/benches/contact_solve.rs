//! Time of whole solves of single contact problems by every solver, f64, to a residual of 1e-8 N s or 2000 iterations.
//!
//! `cargo bench -p manyworlds-benches --bench contact_solve`. A solve that misses the tolerance says so in its name.

use std::time::Duration;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use manyworlds_contact::problem::{ConstraintInput, ProblemInput, SideInput};
use manyworlds_contact::{ContactProblem, Law, SOLVERS, SolveSettings, SolveStatus, solve};

/// Jacobian of the velocity of the point at `r` from the centre of a free body (linear, then angular velocity).
fn point([x, y, z]: [f64; 3], sign: f64) -> Vec<f64> {
    let rows = [[1.0, 0.0, 0.0, 0.0, z, -y], [0.0, 1.0, 0.0, -z, 0.0, x], [0.0, 0.0, 1.0, y, -x, 0.0]];
    rows.iter().flatten().map(|j| j * sign).collect()
}

/// Boxes of 10 cm edge, one on the other on the ground, four contacts at each interface, pushed along `push`, m/s;
/// h = 5 ms.
fn stack(masses: &[f64], push: f64) -> ContactProblem {
    let half = 0.05;
    let mut input = ProblemInput::default();
    for (s, &m) in masses.iter().enumerate() {
        let mut a = vec![0.0; 36];
        (0..6).for_each(|d| a[7 * d] = m * if d < 3 { 1.0 } else { 0.01 / 6.0 });
        input.subsystems.push([6 * s, 6]);
        input.a.push(a);
        input.b.extend([m * push, 0.0, -m * 9.81 * 0.005, 0.0, 0.0, 0.0]);
        for (x, y) in [(-half, -half), (half, -half), (-half, half), (half, half)] {
            let mut sides = vec![SideInput { subsystem: s, jacobian: point([x, y, -half], 1.0), ..Default::default() }];
            if s > 0 {
                sides.push(SideInput { subsystem: s - 1, jacobian: point([x, y, half], -1.0), ..Default::default() });
            }
            input.constraints.push(ConstraintInput {
                law: Law::Contact { mu: 0.5 },
                e: [0.0; 3],
                sides,
                compliance: None,
            });
        }
    }
    ContactProblem::new(input).expect("a stack is a problem")
}

fn solvers(c: &mut Criterion) {
    let problems = [
        ("5 boxes", stack(&[1.0; 5], 0.0)),
        ("20 boxes", stack(&[1.0; 20], 0.0)),
        ("20 sliding boxes", stack(&[1.0; 20], 1.0)),
        ("1 below 4096", stack(&[1.0, 4096.0], 0.0)),
    ];
    let settings = SolveSettings { tolerance: 1e-8, iterations: 2000, ..SolveSettings::default() };
    for (name, problem) in &problems {
        let mut group = c.benchmark_group(format!("solve/{name}"));
        for solver in SOLVERS {
            let run = || solve(problem, solver.name(), &settings).expect("a known solver");
            let missed = if run().status == SolveStatus::Converged { "" } else { ", missed" };
            group.bench_function(BenchmarkId::from_parameter(format!("{}{missed}", solver.name())), |b| b.iter(run));
        }
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().measurement_time(Duration::from_secs(1)).warm_up_time(Duration::from_millis(200)).sample_size(20);
    targets = solvers
}
criterion_main!(benches);
