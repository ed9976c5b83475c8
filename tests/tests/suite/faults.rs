//! What must not go wrong when something else does: `docs/faults.md`.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use manyworlds::{
    Batch, BatchOptions, BlockMut, Error, Executor, FieldId, GpuDevice, Model, NumbersMut, Precision, State, load,
    random,
};
use manyworlds_gpu::DeviceOptions;
use manyworlds_tests::batches::{batch, bits, executors, mjcf, run, state};

fn on_cpu(precision: Precision) -> BatchOptions {
    BatchOptions { executor: Executor::Cpu, precision, ..BatchOptions::default() }
}

fn all_bits(batch: &mut Batch) -> Vec<Vec<u64>> {
    (0..batch.len()).map(|world| bits(&state(batch, world))).collect()
}

/// Buffers grow with the contacts: none is lost, and a batch that had room from the start goes on in the same way.
#[test]
fn many_times_the_contacts_of_the_step_before_are_all_there() {
    let boxes: String = (0..24)
        .map(|k| {
            let (x, y) = (k % 6, k / 6);
            format!("<body pos=\"{x} {y} 0.1\"><freejoint/><geom type=\"box\" size=\"0.1 0.1 0.1\"/></body>")
        })
        .collect();
    let model = mjcf(0.002, &format!("<worldbody><geom type=\"plane\" size=\"9 9 1\"/>{boxes}</worldbody>"));
    let standing = State { q: model.initial_q(), v: vec![0.0; model.n_v], ..State::default() };
    let mut flying = standing.clone();
    // All but one high above the ground.
    (1..24).for_each(|k| flying.q[7 * k + 2] = 5.0);
    for (name, options) in executors(&on_cpu(Precision::F64)) {
        let begin = |from: &State| {
            let mut made = batch(&model, 3, &options);
            let set = |made: &mut Batch, to: &State| {
                let all: Vec<_> = (0..3).map(|world| (world, to.clone())).collect();
                made.reset(&all).expect("a reset");
            };
            set(&mut made, from);
            run(&mut made, 1);
            set(&mut made, &standing);
            run(&mut made, 1);
            let mut summaries = Vec::new();
            made.summaries(&mut summaries).expect("summaries");
            assert!(summaries.iter().all(|s| s.contacts == 96 && !s.failed()), "{name}: {summaries:?}");
            run(&mut made, 10);
            all_bits(&mut made)
        };
        assert_eq!(begin(&flying), begin(&standing), "{name}");
    }
}

/// Writes a number into a field of a world where it lies.
fn poison(batch: &mut Batch, id: FieldId, world: usize) {
    let device = batch.device().cloned();
    let precision = batch.precision();
    let mut field = batch.field_mut(0, id).expect("a field");
    field.for_each_block(|BlockMut { layout, numbers }| {
        let Some(at) = layout.index(world, 0, 0) else { return };
        match numbers {
            NumbersMut::F32(all) => all[at] = f32::NAN,
            NumbersMut::F64(all) => all[at] = f64::NAN,
            NumbersMut::Device(buffer) => {
                let queue = &device.as_ref().expect("a device").queue;
                match precision {
                    Precision::F32 => queue.write_buffer(buffer, 4 * at as u64, &f32::NAN.to_le_bytes()),
                    Precision::F64 => queue.write_buffer(buffer, 8 * at as u64, &f64::NAN.to_le_bytes()),
                }
            }
        }
    });
}

fn cheetah() -> Model {
    load("half-cheetah", &Default::default()).expect("a scene").model
}

/// A NaN in the state or the controls of one world of 4,096 freezes that world; all others keep every bit.
#[test]
fn a_nan_freezes_its_world_and_no_other() {
    const WORLDS: usize = 4096;
    const POISONED: usize = 1234;
    let model = cheetah();
    for (name, options) in executors(&on_cpu(Precision::F32)) {
        let start = || {
            let mut made = batch(&model, WORLDS, &options);
            let control = |i: u64| random::symmetric(3, 0, 0, i);
            let controls: Vec<f64> = (0..(WORLDS * model.actuators.len()) as u64).map(control).collect();
            made.step(&controls).expect("a step");
            made
        };
        let mut sound = start();
        run(&mut sound, 3);
        let expected = all_bits(&mut sound);
        for id in [FieldId::Position, FieldId::Velocity, FieldId::Control] {
            let mut made = start();
            poison(&mut made, id, POISONED);
            run(&mut made, 3);
            let mut summaries = Vec::new();
            made.summaries(&mut summaries).expect("summaries");
            let failed: Vec<usize> = (0..WORLDS).filter(|&world| summaries[world].failed()).collect();
            assert_eq!(failed, [POISONED], "{name}, {}", id.name());
            let found = all_bits(&mut made);
            let other = (0..WORLDS).find(|&world| world != POISONED && found[world] != expected[world]);
            assert_eq!(other, None, "{name}, {}", id.name());
        }
    }
}

/// However many threads there are, every bit is the same.
#[test]
fn threads_change_no_bit() {
    let model = load("clutter", &Default::default()).expect("a scene").model;
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        pool.install(|| {
            let mut made = batch(&model, 70, &on_cpu(Precision::F32));
            run(&mut made, 20);
            all_bits(&mut made)
        })
    };
    let one = with(1);
    assert_eq!(one, with(2));
    assert_eq!(one, with(7));
}

/// Set where this test is the process that is to be killed: where that writes checkpoints.
const WRITES: &str = "MANYWORLDS_TEST_CHECKPOINT";

/// A process that dies while it writes leaves a whole checkpoint behind.
#[test]
fn a_killed_process_leaves_a_whole_checkpoint() {
    let mut made = batch(&cheetah(), 2000, &on_cpu(Precision::F64));
    if let Some(path) = std::env::var_os(WRITES) {
        loop {
            run(&mut made, 1);
            made.save(&path).expect("a file");
        }
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("batch.checkpoint");
    for kill in 0..5 {
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", "faults::a_killed_process_leaves_a_whole_checkpoint"])
            .env(WRITES, &path)
            .stdout(std::process::Stdio::null())
            .spawn()
            .expect("a process");
        let written = || path.metadata().and_then(|file| file.modified()).ok();
        let before = written();
        while written() == before {
            std::thread::sleep(Duration::from_millis(1));
            assert!(child.try_wait().expect("its status").is_none(), "it ended by itself");
        }
        std::thread::sleep(Duration::from_millis(3 * kill));
        child.kill().expect("it is killed");
        child.wait().expect("it is gone");
        made.resume(&path).expect("a whole checkpoint");
        run(&mut made, 1);
    }
    // Files that are none, or not there, are said to be so.
    let error = made.resume(folder.path().join("nowhere")).expect_err("no file").to_string();
    assert!(error.contains("nowhere"), "{error}");
    std::fs::write(&path, b"something else").expect("a file");
    assert!(matches!(made.resume(&path), Err(Error::Checkpoint(_))));
    assert!(matches!(made.save(Path::new("/nowhere/at/all")), Err(Error::File { .. })));
}

/// A device that is lost is an error that says so; on another one the batch goes on from its last checkpoint.
#[test]
fn a_lost_device_is_an_error_and_the_batch_goes_on_elsewhere() {
    let Some(_) = manyworlds_tests::parity::device().expect("an adapter, or the switch that says there is none") else {
        return;
    };
    let open = || GpuDevice::open(&DeviceOptions::default()).expect("a device");
    let model = cheetah();
    let on = |device| BatchOptions { device: Some(device), precision: Precision::F32, ..BatchOptions::default() };
    let device = open();
    let mut made = batch(&model, 9, &on(device.clone()));
    run(&mut made, 5);
    let bytes = made.checkpoint().expect("a checkpoint");
    run(&mut made, 5);
    let expected = all_bits(&mut made);
    device.device.destroy();
    let error = (0..3).find_map(|_| made.step::<f64>(&[]).and_then(|()| made.state(0).map(|_| ())).err());
    let message = error.expect("a step on a lost device fails").to_string();
    assert!(message.contains("was lost") && message.contains("checkpoint"), "{message}");
    let mut again = batch(&model, 9, &on(open()));
    again.restore(&bytes).expect("its own bytes");
    run(&mut again, 5);
    assert_eq!(all_bits(&mut again), expected);
}
