//! A step of the CPU executor allocates nothing once its buffers have grown to what the scene asks for.
//!
//! Every scene is run twice from the same states with the same controls: bit for bit the same, so that the first run
//! grows every buffer to what the second needs, and whatever the second allocates is allocated in every step anew.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use manyworlds::{Batch, BatchOptions, Executor, ImportOptions, Model, Precision, State, load, random};

/// Allocations so far, of all threads.
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
/// The counter is the process's: one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// The system's allocator, counted.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise, handed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// Allocations during a call.
fn allocations(f: impl FnOnce()) -> u64 {
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    f();
    ALLOCATIONS.load(Ordering::Relaxed) - before
}

fn scene(name: &str) -> Model {
    load(name, &ImportOptions::default()).expect("a built-in scene loads").model
}

fn make(model: &Model, worlds: usize, precision: Precision) -> Batch {
    // Enough iterations for the Newton steps to begin, few enough for this to stay quick; kernels alone, as what they
    // leave to the host may allocate.
    let solver = "newton".into();
    let options = BatchOptions { executor: Executor::Cpu, precision, solver, iterations: 8, ..Default::default() };
    Batch::new(&[(model, worlds)], &options).expect("a batch")
}

/// Worlds in the air or on the ground, each moving its own way.
fn states(model: &Model, worlds: usize) -> Vec<(usize, State)> {
    let q = model.keyframes.first().map_or_else(|| model.initial_q(), |key| key.q.clone());
    let v = |world: usize| (0..model.n_v).map(|i| 0.2 * ((7 * world + i) as f64).sin()).collect();
    (0..worlds).map(|world| (world, State { q: q.clone(), v: v(world), ..State::default() })).collect()
}

/// Controls of every step, made beforehand.
fn controls(batch: &Batch, steps: u64) -> Vec<Vec<f32>> {
    let n = batch.n_controls() as u64;
    let one = |step: u64| (0..n).map(|i| 0.2 * random::symmetric(3, 0, step, i) as f32).collect();
    (0..steps).map(one).collect()
}

fn run(batch: &mut Batch, controls: &[Vec<f32>]) {
    controls.iter().for_each(|controls| batch.step(controls).expect("a step"));
}

/// Allocations of a second run, and what the first took, in a thread pool of so many threads.
fn second_run(name: &str, worlds: usize, steps: u64, precision: Precision, threads: usize) -> [u64; 2] {
    let model = scene(name);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
    pool.install(|| {
        let mut batch = make(&model, worlds, precision);
        let (states, controls) = (states(&model, worlds), controls(&batch, steps));
        // Which thread takes a chunk is chance, and each grows a workspace of its own.
        batch.reset(&states).expect("a reset");
        let mut first = allocations(|| run(&mut batch, &controls));
        for _ in 1..threads.pow(2) {
            batch.reset(&states).expect("a reset");
            first += allocations(|| run(&mut batch, &controls));
        }
        batch.reset(&states).expect("a reset");
        let mut summaries = Vec::new();
        batch.summaries(&mut summaries).expect("summaries");
        let second = allocations(|| run(&mut batch, &controls));
        batch.summaries(&mut summaries).expect("summaries");
        assert!(summaries.iter().any(|world| world.contacts > 0), "{name}: no contact in any world");
        [second, first]
    })
}

#[test]
fn a_steady_step_allocates_nothing() {
    let _alone = ALONE.lock().expect("no test panicked before");
    // More worlds than a host task takes in a row, and islands of one tree and of several.
    for (name, worlds, steps) in [("humanoid", 40, 60), ("clutter", 9, 40), ("heavy-stack", 35, 40)] {
        for precision in [Precision::F32, Precision::F64] {
            let [second, first] = second_run(name, worlds, steps, precision, 1);
            assert!(first > 0, "the counter counts");
            assert_eq!(second, 0, "{name}, {}", precision.name());
        }
    }
}
