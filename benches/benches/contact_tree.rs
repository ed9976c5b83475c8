//! Time of each kernel of the tree path of contact: one thread, packs, f32 and f64, cold start and warm.
//!
//! `cargo bench -p manyworlds-benches --bench contact_tree`. Criterion's time is that of a call, of [`LANES`] worlds. The
//! contacts stand under the last bodies of the tree, where feet and hands are; each lane is in a state of its own.

use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use manyworlds_contact::tree::PgsParams;
use manyworlds_dynamics::{Settings, TreeSet, compile};
use manyworlds_model::{ImportOptions, load};
use manyworlds_shaders::contact::tree_layout::{contact, info, map, row_stride, slot_reals};
use manyworlds_shaders::contact::{
    tree_acting, tree_assemble, tree_certify, tree_jacobian, tree_pgs, tree_push, tree_rows,
};
use manyworlds_shaders::dynamics::names::part;
use manyworlds_shaders::dynamics::tree::{NONE, POSE, Params};
use manyworlds_shaders::{LANES, Real, Scalar};
use manyworlds_tests::dynamics::TreeTile;

fn scene(name: &str) -> TreeSet {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenes").join(name).with_extension("xml");
    let model = load(&path, &ImportOptions::default()).expect("a scene of this repository").model;
    compile(&model, &Settings::default()).expect("a scene of this repository").swap_remove(0)
}

/// A tile in motion, its free velocity computed.
fn tile<R: Real>(set: &TreeSet) -> TreeTile<R> {
    let mut tile = TreeTile::new(&set.layout, &set.params[0]);
    for lane in 0..R::N {
        let state: Vec<f64> = (0..tile.state.len()).map(|i| ((i * 7 + lane * 3) % 11) as f64 * 0.01 - 0.05).collect();
        tile.set(lane, &state);
    }
    tile.free_velocity();
    tile
}

fn kernels<T: Scalar>(criterion: &mut Criterion, name: &str, set: &TreeSet, n_slot: usize) {
    let mut group = criterion.benchmark_group(format!("{name}/{}", T::NAME));
    let layout = set.layout.clone();
    let (tree, dims) = (layout.tree(), &layout.dims);
    let t = tile::<T::Pack>(set);
    let params = Params::Shared(&t.params);
    let (n_v, n_body) = (dims.n_v as usize, dims.n_body as usize);
    let zeros = |n: usize| vec![T::Pack::lit(0.0); n];
    let (mut reals, mut words) = (zeros(n_slot * contact::SIZE), vec![0; n_slot * map::SIZE * LANES]);
    for s in 0..n_slot {
        let body = n_body - 1 - s % n_body;
        let record = &mut reals[s * contact::SIZE..(s + 1) * contact::SIZE];
        record[..3].copy_from_slice(&t.pose[body * POSE..body * POSE + 3]);
        record[contact::POINT] += T::Pack::lit(0.02 * (s / 2) as f64);
        (record[contact::NORMAL + 2], record[contact::FRICTION]) = (T::Pack::lit(1.0), T::Pack::lit(0.8));
        for lane in 0..LANES {
            for (f, word) in [map::CONTACT, NONE, body as u32].into_iter().enumerate() {
                words[(s * map::SIZE + f) * LANES + lane] = word;
            }
        }
    }
    let mut constraint = zeros(n_slot * slot_reals(n_v));
    let mut rows = zeros(dims.n_row as usize * row_stride(n_v, dims.row_width));
    group.bench_function("jacobian", |b| {
        b.iter(|| {
            let reals = black_box(&reals);
            tree_jacobian::tree_jacobian(&tree, &params, &t.pose, &t.motion, reals, &words, &mut constraint);
        });
    });
    group.bench_function("assemble", |b| {
        b.iter(|| tree_assemble::tree_assemble(&tree, black_box(&t.factor), &t.state, &mut constraint));
    });
    group.bench_function("rows", |b| {
        b.iter(|| tree_rows::tree_rows(&tree, &params, black_box(&t.state), &t.factor, &t.pull, &mut rows));
    });
    let mut acting = vec![0; LANES * tree_acting::words(dims.n_row as usize)];
    group.bench_function("acting", |b| {
        b.iter(|| tree_acting::tree_acting(&tree, &params, black_box(&t.state), &t.pull, &mut acting));
    });
    let lane = PgsParams::for_precision::<T>().dims(dims);
    let mut work = zeros(tree_pgs::work_packs(&lane, n_slot));
    let mut numbers = zeros(info::reals(n_v));
    let (mut impulse, mut v) = (zeros(3 * n_slot), t.velocity.clone());
    let (start, problem) = (rows.clone(), constraint.clone());
    for (how, warm, own) in
        [("pgs, cold", false, part::SOLVES), ("pgs, warm", true, part::SOLVES), ("pgs, relaxed", false, part::RELAXES)]
    {
        let (from, from_rows) = if warm { (impulse.clone(), rows.clone()) } else { (zeros(3 * n_slot), start.clone()) };
        group.bench_function(how, |b| {
            b.iter(|| {
                // What gives way is taken from the biases.
                if own == part::RELAXES {
                    constraint.copy_from_slice(&problem);
                }
                impulse.copy_from_slice(&from);
                rows.copy_from_slice(&from_rows);
                v.copy_from_slice(black_box(&t.velocity));
                tree_pgs::tree_pgs::<T, _>(
                    &lane,
                    [own; LANES],
                    &mut constraint,
                    &mut impulse,
                    &mut rows,
                    &mut v,
                    &mut numbers,
                    &mut work,
                )
            });
        });
        let most = |at: usize| (0..LANES).map(|l| numbers[at].lane(l).to_f64()).fold(0.0, f64::max);
        if most(info::SWEEPS) > 0.0 {
            println!("{name}: at most {} sweeps, {} Newton steps", most(info::SWEEPS), most(info::NEWTON));
        }
    }
    group.bench_function("certify", |b| {
        b.iter(|| {
            tree_push::tree_push(&lane, &t.b, black_box(&constraint), &impulse, &rows, &mut numbers);
            tree_certify::tree_certify(&tree, &t.factor, &constraint, &impulse, &rows, &mut numbers);
        });
    });
    group.finish();
}

fn scenes(criterion: &mut Criterion) {
    for (name, n_slot) in [("humanoid", 7), ("half-cheetah", 2), ("quadruped", 4)] {
        let set = scene(name);
        kernels::<f64>(criterion, name, &set, n_slot);
        kernels::<f32>(criterion, name, &set, n_slot);
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(Duration::from_millis(200)).measurement_time(Duration::from_secs(1)).sample_size(20);
    targets = scenes
}
criterion_main!(benches);
