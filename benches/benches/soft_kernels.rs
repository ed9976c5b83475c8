//! A step of a soft body by kernels' mirrors, one round of Newton's method, no contact: the cantilever of 384 tetrahedra
//! (459 degrees of freedom, 27 of them clamped), 64 worlds, one thread, f64 and f32; and of the host form, one world.
//!
//! `cargo bench -p manyworlds-benches --bench soft_kernels`. Criterion's time is that of a call: of 64 worlds for `step` and each of
//! its kernels, of one for `host`.

use std::path::Path;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use manyworlds_model::{Contacting, Material, MaterialLaw, Order, SoftBody, Vec3};
use manyworlds_shaders::contact::tree_layout::info;
use manyworlds_shaders::soft::body::SoftDims;
use manyworlds_shaders::soft::touch::words_of_lanes;
use manyworlds_shaders::{Args, Buffer, Kernel, Kind, LANES, Real as _, Scalar, kernel};
use manyworlds_soft::{SoftLayout, SoftSystem};
use manyworlds_sparse::Factor;

const WORLDS: usize = 64;
const H: f64 = 1e-3;

fn cantilever(law: MaterialLaw, damping: f64) -> SoftBody {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/soft/tests/golden/bar16.msh");
    let text = std::fs::read_to_string(path).expect("a file of this repository");
    let rows = |section: &str| -> Vec<Vec<f64>> {
        let lines = text.lines().skip_while(|line| *line != section).skip(2);
        let numbers = |line: &str| line.split(' ').map(|x| x.parse().expect("a number")).collect();
        lines.take_while(|line| !line.starts_with('$')).map(numbers).collect()
    };
    let nodes: Vec<Vec3> = rows("$Nodes").iter().map(|row| Vec3::from_column_slice(&row[1..4])).collect();
    let tetrahedra = rows("$Elements").into_iter().filter(|row| row[1] == 4.0);
    SoftBody {
        name: "cantilever".to_owned(),
        body: 0,
        pinned: (0..nodes.len() as u32).filter(|&i| nodes[i as usize].x < 1e-9).collect(),
        nodes,
        order: Order::Linear,
        elements: tetrahedra
            .flat_map(|row| row[row.len() - 4..].iter().map(|&x| x as u32 - 1).collect::<Vec<_>>())
            .collect(),
        material: Material { law, young: 1e6, poisson: 0.3, density: 1000.0, damping, mass_damping: 0.0 },
        regions: Vec::new(),
        contacting: Contacting {
            friction: 0.0,
            restitution: 0.0,
            stiffness: f64::INFINITY,
            dissipation: 0.0,
            margin: 0.0,
            gap: 0.0,
            frictionless: true,
            contype: 0,
            conaffinity: 0,
            priority: 0,
        },
        radius: 0.0,
        embedding: None,
        touches_itself: false,
        q: 0..0,
        v: 0..0,
    }
}

struct Worlds<T: Scalar> {
    dims: SoftDims,
    topology: Buffer<T>,
    rest: Buffer<T>,
    params: Buffer<T>,
    state: Buffer<T>,
    begin: Buffer<T>,
    velocity: Buffer<T>,
    info: Buffer<T>,
    matrix: Buffer<T>,
    b: Buffer<T>,
    factor: Buffer<T>,
    status: Buffer<T>,
    touch_words: Buffer<T>,
    touches: Buffer<T>,
    beside: Buffer<T>,
}

impl<T: Scalar> Worlds<T> {
    fn new(system: &SoftSystem, body: &SoftBody) -> Self {
        let layout = SoftLayout::new(system, body, &[]);
        let damped = u32::from(body.material.damping > 0.0);
        let dims = SoftDims { lanes: WORLDS as u32, damped, ..layout.dims };
        let own = SoftLayout::params(system.params(), H, [0.0, 0.0, -9.81]);
        let params = own.iter().map(|&x| T::Pack::lit(x)).collect::<Vec<_>>().repeat(WORLDS / LANES);
        let tile = |n: u32| {
            let mut out = Buffer::new(Kind::Tile);
            out.resize(n as usize * WORLDS);
            out
        };
        let real = |x: &[f64]| Buffer::Real(x.iter().map(|&x| T::from_f64(x)).collect());
        Self {
            dims,
            rest: real(&layout.rest),
            params: Buffer::Tile(params),
            topology: Buffer::Index(layout.topology),
            state: tile(dims.n_state()),
            begin: tile(dims.n_begin()),
            velocity: tile(dims.n_v()),
            info: tile(info::reals(dims.n_v() as usize) as u32),
            matrix: tile(9 * dims.n_block),
            b: tile(dims.n_v()),
            factor: tile(9 * dims.n_fill),
            status: Buffer::Index(vec![0; WORLDS.next_multiple_of(LANES)]),
            touch_words: Buffer::Index(vec![0; words_of_lanes(WORLDS)]),
            touches: real(&[0.0]),
            beside: tile(1),
        }
    }

    fn run(&mut self, kernel: &Kernel) {
        let name = kernel.name;
        let Self {
            dims,
            topology,
            rest,
            params,
            state,
            begin,
            velocity,
            info,
            matrix,
            b,
            factor,
            status,
            touch_words,
            touches,
            beside,
        } = self;
        let mut buffers: Vec<&mut Buffer<T>> = match name {
            "soft/start" => vec![topology, rest, params, state, begin, velocity, info, status],
            "soft/elements" => vec![topology, rest, params, begin, velocity, status, matrix, b],
            "soft/factor" => vec![topology, matrix, b, factor, velocity, status],
            _ => vec![velocity, touch_words, touches, matrix, b, info, beside, status],
        };
        // Nothing is little enough, so that rounds go on.
        let dims = SoftDims { round: 1, tolerance: 0.0_f32.to_bits(), ..*dims };
        let words: &[u32] = bytemuck::cast_slice(std::slice::from_ref(&dims));
        T::mirror_of(kernel)(&mut Args { dims: words, count: WORLDS as u32, buffers: &mut buffers });
    }
}

fn kernels<T: Scalar>(c: &mut Criterion, (system, body): (&SoftSystem, &SoftBody), name: &str) {
    let mut worlds = Worlds::<T>::new(system, body);
    let all = [&kernel::soft::START, &kernel::soft::ELEMENTS, &kernel::soft::FACTOR, &kernel::soft::BALANCE];
    let mut group = c.benchmark_group(format!("soft_kernels/{name}/{}", T::NAME));
    group.bench_function("step", |b| b.iter(|| all.iter().for_each(|kernel| worlds.run(kernel))));
    assert!(worlds.status.index().iter().all(|&word| word == 0));
    for kernel in all {
        group.bench_function(kernel.name, |b| b.iter(|| worlds.run(kernel)));
    }
}

fn soft(c: &mut Criterion) {
    let cases = [
        ("co-rotational", MaterialLaw::Corotated, 0.0),
        ("neo-Hookean", MaterialLaw::NeoHookean, 0.0),
        ("Saint Venant-Kirchhoff", MaterialLaw::SaintVenantKirchhoff, 0.0),
        ("neo-Hookean, damped", MaterialLaw::NeoHookean, 1e-3),
    ];
    for (name, law, damping) in cases {
        let body = cantilever(law, damping);
        let system = SoftSystem::new(&body).expect("a body");
        let layout = SoftLayout::new(&system, &body, &[]);
        println!("{} blocks, {} in the factor", layout.dims.n_block, layout.dims.n_fill);
        kernels::<f64>(c, (&system, &body), name);
        kernels::<f32>(c, (&system, &body), name);
        let (zero, mut force, mut k) = (vec![0.0; system.n_v()], vec![0.0; system.n_v()], system.pattern().clone());
        let mut group = c.benchmark_group(format!("soft_kernels/{name}/host"));
        group.bench_function("force and stiffness", |b| {
            b.iter(|| system.force_and_stiffness(system.params(), H, &zero, &zero, false, &mut force, &mut k));
        });
        group.bench_function("factor", |b| b.iter(|| Factor::new(&k, system.ordering(), &[])));
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().measurement_time(Duration::from_secs(1)).warm_up_time(Duration::from_millis(200)).sample_size(10);
    targets = soft
}
criterion_main!(benches);
