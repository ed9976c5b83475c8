//! Products by the factor that a step with soft bodies left, beside those by one that is made afresh.

use manyworlds::{Batch, BatchOptions, Inputs, Outputs, random};
use manyworlds_model::Model;
use manyworlds_tests::batches::{batch, tight};
use manyworlds_tests::runs::Run;
use manyworlds_tests::soft::{on_the_ground, pinched};

/// What comes out of the last step of a world, weighed.
fn weights(n_v: usize) -> Outputs {
    let of = |entry: usize| random::symmetric(5, 0, 1, entry as u64);
    Outputs { q: (0..n_v).map(of).collect(), v: (0..n_v).map(|k| of(n_v + k)).collect(), ..Outputs::default() }
}

/// Entries of gradients side by side.
fn entries(inputs: &Inputs) -> Vec<f64> {
    [&inputs.q, &inputs.v, &inputs.tau, &inputs.ctrl].into_iter().flatten().copied().collect()
}

/// Products with the last step of a batch by either factor are the same, about; gives by how much they differ, and how many rounds the
/// first took.
fn compare(what: &str, batch: &mut Batch) -> (f64, usize) {
    let n_v = batch.model(0).expect("a model").n_v;
    let weights = weights(n_v);
    let (near, certificate) = batch.back(0, &weights).expect("a gradient");
    let all: Vec<Outputs> = (0..batch.len()).map(|_| weights.clone()).collect();
    // Steps that are kept have no factor.
    let (fresh, other) = batch.kept_step().expect("a kept step").back(&all).expect("gradients").swap_remove(0);
    let [near, fresh] = [&near, &fresh].map(entries);
    let size = fresh.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    let apart = near.iter().zip(&fresh).fold(0.0, |most: f64, (a, b)| most.max((a - b).abs()));
    assert!(apart < 1e-9 * size, "{what}: {apart} of {size}");
    assert!(certificate.residual < 1e-7 && other.residual < 1e-7, "{what}: {certificate:?} {other:?}");
    assert_eq!(certificate.margin, other.margin, "{what}");
    (apart, certificate.iterations)
}

fn steps(batch: &mut Batch, count: usize) {
    batch.keep_steps(true).expect("double precision");
    (0..count).for_each(|_| batch.step::<f64>(&[]).expect("a step"));
}

fn made(model: &Model, worlds: usize) -> Batch {
    batch(model, worlds, &BatchOptions { tolerance: 1e-10, ..tight() })
}

/// A pinched cube. Its pad has a little dry friction, a row that leaves the step to the host, which keeps the factor.
fn held_by_host(cells: usize) -> Model {
    let mut model = pinched(cells, 0.75);
    model.joints[0].dry_friction = 1e-9;
    model
}

#[test]
fn products_by_the_kept_factor_are_those_by_a_fresh_one() {
    // What kernels step has a fresh one only.
    for (what, model, count) in [
        ("held", held_by_host(4), 60),
        ("held by kernels", pinched(4, 0.75), 60),
        ("loaded", on_the_ground(3, true), 100),
        ("landing", on_the_ground(3, false), 12),
    ] {
        let mut batch = made(&model, 1);
        steps(&mut batch, count);
        let (apart, rounds) = compare(what, &mut batch);
        // Others may ask for a fresh factor, too.
        assert!(what != "held" || apart > 0.0 && rounds <= 8, "{what}: {apart} in {rounds} rounds");
    }
    let mut run = Run::auto("soft-gripper");
    run.batch.keep_steps(true).expect("double precision");
    for until in [0.3, 1.0] {
        run.follow(until - 0.1, until, |_, _| {});
        compare("gripper", &mut run.batch);
    }
}

/// Neither worlds beside it nor the order in which worlds are asked for change a bit of a product.
#[test]
fn a_product_by_the_kept_factor_does_not_see_other_worlds() {
    let model = held_by_host(2);
    let weights = weights(model.n_v);
    let mut alone = made(&model, 1);
    steps(&mut alone, 30);
    let (exact, _) = alone.back(0, &weights).expect("a gradient");
    let mut many = made(&model, 3);
    steps(&mut many, 30);
    for world in [2, 0, 1] {
        let (found, _) = many.back(world, &weights).expect("a gradient");
        assert_eq!(entries(&found), entries(&exact), "{world}");
    }
}
