//! The door to a batch's numbers: blocks in place against states of single worlds, rows in and out, starts by mask, and how
//! many bytes all that copies.

use manyworlds::{
    Batch, BatchOptions, BlockMut, Executor, FieldId, GpuDevice, Model, Numbers, NumbersMut, Precision, Start, State,
    StateRows, Traffic, Which, load, random, wgpu,
};
use manyworlds_tests::batches::{batch, executors, mjcf, state};

/// More worlds than a tile, and no whole number of tiles.
const WORLDS: usize = 11;

/// A post that does not move, two pendulums alike and an arm of another shape, which touch nothing; actuators in another
/// order than the joints.
fn arms() -> Model {
    let link = |name: &str, more: &str| {
        format!(
            "<joint name=\"{name}\" axis=\"0 1 0\" damping=\"0.1\"/>\
             <geom type=\"capsule\" size=\"0.05\" fromto=\"0 0 0 0.4 0 0\" contype=\"0\" conaffinity=\"0\"/>{more}"
        )
    };
    let motors: String = ["right", "wrist", "left", "elbow"].map(|j| format!("<motor joint=\"{j}\"/>")).concat();
    let body = format!(
        "<worldbody><body name=\"post\" pos=\"1 2 3\" euler=\"0 0 90\"><geom size=\"0.1\"/><body name=\"knob\" pos=\"0.5 0 0\">\
         <geom size=\"0.1\"/></body></body><body name=\"a\">{}</body><body name=\"b\" pos=\"0 3 0\">{}</body>\
         <body name=\"c\" pos=\"0 6 0\">{}</body></worldbody><actuator>{motors}</actuator>",
        link("left", ""),
        link("right", ""),
        link("elbow", &format!("<body pos=\"0.4 0 0\">{}</body>", link("wrist", ""))),
    );
    mjcf(0.005, &body)
}

fn clutter() -> Model {
    load("clutter", &manyworlds::ImportOptions::default()).expect("a built-in scene loads").model
}

/// Every setting that a field may depend on: executor and precision.
fn settings() -> Vec<(String, BatchOptions)> {
    let of_precision = |precision: Precision| {
        let all = executors(&BatchOptions { precision, executor: Executor::Cpu, ..Default::default() });
        all.into_iter().map(move |(name, options)| (format!("{name} {}", precision.name()), options))
    };
    [Precision::F32, Precision::F64].into_iter().flat_map(of_precision).collect()
}

/// Worlds in states of their own.
fn scattered(model: &Model, options: &BatchOptions) -> Batch {
    let mut made = batch(model, WORLDS, options);
    let values = |part: u64, n: usize| (0..(WORLDS * n) as u64).map(|i| random::symmetric(5, part, 0, i)).collect();
    let [v, ctrl, tau]: [Vec<f64>; 3] = [values(1, model.n_v), values(2, model.actuators.len()), values(3, model.n_v)];
    let rows = StateRows { v: &v, ctrl: &ctrl, tau: &tau, ..Default::default() };
    made.restart_worlds(Which::All, rows).expect("a start");
    (0..3).for_each(|_| made.step::<f64>(&[]).expect("a step"));
    made
}

fn part(state: &State, id: FieldId) -> &[f64] {
    match id {
        FieldId::Position => &state.q,
        FieldId::Velocity => &state.v,
        FieldId::Control => &state.ctrl,
        FieldId::Force => &state.tau,
        FieldId::Activation => &state.act,
        other => panic!("{} is no part of a state", other.name()),
    }
}

/// The bytes of a buffer, as a trainer on the same device would copy them.
fn bytes_of(device: &GpuDevice, buffer: &wgpu::Buffer) -> Vec<u8> {
    let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
    let descriptor = wgpu::BufferDescriptor { label: None, size: buffer.size(), usage, mapped_at_creation: false };
    let copy = device.device.create_buffer(&descriptor);
    let mut encoder = device.device.create_command_encoder(&Default::default());
    encoder.copy_buffer_to_buffer(buffer, 0, &copy, 0, None);
    device.queue.submit([encoder.finish()]);
    copy.slice(..).map_async(wgpu::MapMode::Read, |result| result.expect("a mapping"));
    device.device.poll(wgpu::PollType::wait_indefinitely()).expect("the device answers");
    copy.slice(..).get_mapped_range().expect("it is mapped").to_vec()
}

/// All numbers of a block's memory.
fn numbers(device: Option<&GpuDevice>, precision: Precision, numbers: Numbers<'_>) -> Vec<f64> {
    match numbers {
        Numbers::F32(all) => all.iter().map(|&x| x.into()).collect(),
        Numbers::F64(all) => all.to_vec(),
        Numbers::Device(buffer) => {
            let bytes = bytes_of(device.expect("a device"), buffer);
            match precision {
                Precision::F32 => bytemuck::pod_collect_to_vec::<u8, f32>(&bytes).iter().map(|&x| x.into()).collect(),
                Precision::F64 => bytemuck::pod_collect_to_vec(&bytes),
            }
        }
    }
}

/// A field as its blocks have it, row by row; NaN where no block has a number.
fn by_blocks(batch: &mut Batch, id: FieldId) -> Vec<f64> {
    let (device, precision) = (batch.device().cloned(), batch.precision());
    let field = batch.field(0, id).expect("a group");
    assert_eq!((field.worlds(), field.precision()), (0..WORLDS, precision));
    let width: usize = field.shape()[1..].iter().product();
    let mut rows = vec![f64::NAN; WORLDS * width];
    for block in field.blocks() {
        let (layout, all) = (&block.layout, numbers(device.as_deref(), precision, block.numbers));
        for world in layout.worlds.clone() {
            for tree in 0..layout.trees {
                for e in 0..layout.shape[2] {
                    let index = layout.index(world, tree, e).expect("a number of the block");
                    // The formula that the documentation gives.
                    let lane = (world - layout.worlds.start) * layout.trees + tree;
                    let [tiles, lanes, numbers] = layout.strides;
                    let [high, low] = [lane / layout.shape[1], lane % layout.shape[1]];
                    assert_eq!(index, layout.offset + high * tiles + low * lanes + e * numbers);
                    assert!(high < layout.shape[0]);
                    let to = &mut rows[world * width + layout.column(tree, e).expect("a column")];
                    assert!(to.is_nan(), "a number in two places");
                    *to = all[index];
                }
            }
        }
        assert_eq!(layout.index(layout.worlds.end, 0, 0), None);
        assert_eq!(layout.index(layout.worlds.start, layout.trees, 0), None);
        assert_eq!(layout.index(layout.worlds.start, 0, layout.shape[2]), None);
    }
    rows
}

#[test]
fn blocks_and_rows_hold_the_states_of_single_worlds() {
    for (model, n_u) in [(arms(), 4), (clutter(), 0)] {
        for (name, options) in settings() {
            let mut made = scattered(&model, &options);
            let states: Vec<State> = (0..WORLDS).map(|world| state(&mut made, world)).collect();
            assert_eq!(states[0].ctrl.len(), n_u);
            for id in FieldId::STATE {
                let wanted: Vec<f64> = states.iter().flat_map(|state| part(state, id)).copied().collect();
                assert_eq!(by_blocks(&mut made, id), wanted, "{name}, {}", id.name());
                let mut rows = vec![f64::NAN; wanted.len()];
                made.read(0, id, &mut rows).expect("a read");
                assert_eq!(rows, wanted, "{name}, {}", id.name());
                let mut singles = vec![f32::NAN; wanted.len()];
                made.read(0, id, &mut singles).expect("a read");
                assert!(singles.iter().zip(&wanted).all(|(x, wanted)| *x == *wanted as f32), "{name}, {}", id.name());
            }
        }
    }
}

#[test]
fn poses_and_certificates_come_row_by_row() {
    let model = arms();
    for (name, options) in settings() {
        let mut made = scattered(&model, &options);
        for id in [FieldId::Pose, FieldId::Twist, FieldId::Certificate] {
            let shape = made.field(0, id).expect("a group").shape();
            let wanted = by_blocks(&mut made, id);
            let mut rows = vec![f64::NAN; shape.iter().product()];
            made.read(0, id, &mut rows).expect("a read");
            let same = |(x, wanted): (&f64, &f64)| x == wanted || (wanted.is_nan() && !x.is_nan());
            assert!(rows.iter().zip(&wanted).all(same), "{name}, {}", id.name());
        }
        let mut poses = vec![0.0_f64; WORLDS * model.bodies.len() * 7];
        let knob = model.body_by_name("knob").expect("a body");
        let hand = model.body_by_name("a").expect("a body");
        let near = |a: &[f64], b: [f64; 7]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-6);
        // The ground, a body welded to a body that is welded to it, and a pendulum by its angle.
        let q = [0.3, -0.2, 0.1, 0.7];
        let all: Vec<f64> = q.into_iter().cycle().take(WORLDS * 4).collect();
        made.restart_worlds(Which::All, StateRows { q: &all, ..Default::default() }).expect("a start");
        made.read(0, FieldId::Pose, &mut poses).expect("a read");
        let half = std::f64::consts::FRAC_1_SQRT_2;
        for world in 0..WORLDS {
            let pose = |body: usize| &poses[(world * model.bodies.len() + body) * 7..][..7];
            assert!(near(pose(0), [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]), "{name}: {:?}", pose(0));
            assert!(near(pose(knob), [1.0, 2.5, 3.0, half, 0.0, 0.0, half]), "{name}: {:?}", pose(knob));
            let (sin, cos) = 0.15_f64.sin_cos();
            assert!(near(pose(hand), [0.0, 0.0, 0.0, cos, 0.0, sin, 0.0]), "{name}: {:?}", pose(hand));
        }
    }
}

fn put(block: BlockMut<'_>, device: Option<&GpuDevice>, precision: Precision, rows: &[f64], width: usize) {
    let layout = block.layout;
    let mut write: Box<dyn FnMut(usize, f64)> = match block.numbers {
        NumbersMut::F32(all) => Box::new(|at, x| all[at] = x as f32),
        NumbersMut::F64(all) => Box::new(|at, x| all[at] = x),
        // A trainer has a kernel for this; the queue's copies do the same here.
        NumbersMut::Device(buffer) => Box::new(move |at, x| {
            let queue = &device.expect("a device").queue;
            match precision {
                Precision::F32 => queue.write_buffer(buffer, 4 * at as u64, &(x as f32).to_ne_bytes()),
                Precision::F64 => queue.write_buffer(buffer, 8 * at as u64, &x.to_ne_bytes()),
            }
        }),
    };
    for world in layout.worlds.clone() {
        for tree in 0..layout.trees {
            for e in 0..layout.shape[2] {
                let column = layout.column(tree, e).expect("a column");
                write(layout.index(world, tree, e).expect("a number"), rows[world * width + column]);
            }
        }
    }
}

#[test]
fn controls_act_alike_whichever_way_they_come() {
    let model = arms();
    let n_u = model.actuators.len();
    let controls: Vec<f64> = (0..(WORLDS * n_u) as u64).map(|i| random::symmetric(9, 0, 0, i) as f32 as f64).collect();
    let singles: Vec<f32> = controls.iter().map(|&x| x as f32).collect();
    for (name, options) in settings() {
        let end = |give: &dyn Fn(&mut Batch)| {
            let mut made = scattered(&model, &options);
            give(&mut made);
            made.step::<f32>(&[]).expect("a step");
            (0..WORLDS).map(|world| state(&mut made, world)).collect::<Vec<_>>()
        };
        let wanted = end(&|made| made.step(&controls).expect("a step"));
        let still = end(&|made| made.step::<f64>(&[]).expect("a step"));
        assert_ne!(wanted, still, "{name}: controls do nothing");
        assert_eq!(wanted[7].ctrl, controls[7 * n_u..8 * n_u], "{name}");
        assert_eq!(end(&|made| made.step(&singles).expect("a step")), wanted, "{name}, the other type");
        let kept = |made: &mut Batch| {
            made.keep_steps(true).expect("steps are kept");
            made.step(&controls).expect("a step");
        };
        assert_eq!(end(&kept), wanted, "{name}, kept");
        let rows = |made: &mut Batch| {
            made.write(0, FieldId::Control, &singles).expect("rows");
            made.step::<f64>(&[]).expect("a step");
        };
        assert_eq!(end(&rows), wanted, "{name}, rows");
        let in_place = |made: &mut Batch| {
            let (device, precision) = (made.device().cloned(), made.precision());
            let mut field = made.field_mut(0, FieldId::Control).expect("controls");
            field.for_each_block(|block| put(block, device.as_deref(), precision, &controls, n_u));
            made.step::<f64>(&[]).expect("a step");
        };
        assert_eq!(end(&in_place), wanted, "{name}, in place");
    }
}

#[test]
fn a_force_or_a_velocity_written_in_place_acts_like_one_of_a_reset() {
    let model = arms();
    for (name, options) in settings() {
        for id in [FieldId::Force, FieldId::Velocity] {
            let values: Vec<f64> = (0..(WORLDS * model.n_v) as u64).map(|i| 0.25 * (i % 7) as f64).collect();
            let mut written = scattered(&model, &options);
            written.write(0, id, &values).expect("rows");
            let mut placed = scattered(&model, &options);
            let (device, precision) = (placed.device().cloned(), placed.precision());
            let mut field = placed.field_mut(0, id).expect("a part of the state");
            field.for_each_block(|block| put(block, device.as_deref(), precision, &values, model.n_v));
            let mut reset = scattered(&model, &options);
            let rows = if id == FieldId::Force {
                StateRows { tau: &values, ..Default::default() }
            } else {
                StateRows { v: &values, ..Default::default() }
            };
            reset.restart_worlds(Which::All, rows).expect("a start");
            for made in [&mut written, &mut placed, &mut reset] {
                (0..2).for_each(|_| made.step::<f64>(&[]).expect("a step"));
            }
            for world in 0..WORLDS {
                let wanted = state(&mut reset, world);
                assert_eq!(state(&mut written, world), wanted, "{name}, {}", id.name());
                assert_eq!(state(&mut placed, world), wanted, "{name}, {}", id.name());
            }
        }
    }
}

#[test]
fn worlds_start_afresh_by_mask_by_list_and_one_by_one_alike() {
    let model = clutter();
    let begun: Vec<usize> = vec![2, 7, 10];
    let mask: Vec<bool> = (0..WORLDS).map(|world| begun.contains(&world)).collect();
    for (name, options) in settings() {
        let (n_q, n_v) = (model.n_q, model.n_v);
        // Quaternions not of unit length.
        let q: Vec<f64> = (0..WORLDS).flat_map(|_| model.initial_q()).map(|x| 1.5 * x).collect();
        let v: Vec<f64> = (0..WORLDS * n_v).map(|i| 0.1 * ((i % 11) as f64 - 5.0)).collect();
        let rows_of = |all: &[f64], n: usize| begun.iter().flat_map(|w| &all[w * n..(w + 1) * n]).copied().collect();
        let (some_q, some_v): (Vec<f64>, Vec<f64>) = (rows_of(&q, n_q), rows_of(&v, n_v));
        let end = |start: &dyn Fn(&mut Batch)| {
            let mut made = scattered(&model, &options);
            start(&mut made);
            let begin: Vec<State> = (0..WORLDS).map(|world| state(&mut made, world)).collect();
            (0..4).for_each(|_| made.step::<f64>(&[]).expect("a step"));
            (begin, (0..WORLDS).map(|world| state(&mut made, world)).collect::<Vec<_>>())
        };
        let untouched = end(&|_| {});
        let one_by_one = end(&|made| {
            let part = |all: &[f64], n: usize, w: usize| all[w * n..(w + 1) * n].to_vec();
            let new = |&w: &usize| (w, State { q: part(&q, n_q, w), v: part(&v, n_v, w), ..State::default() });
            made.reset(&begun.iter().map(new).collect::<Vec<_>>()).expect("a reset");
        });
        let by_mask = end(&|made| {
            let rows = StateRows { q: &q, v: &v, ..Default::default() };
            made.restart_worlds(Which::from(&mask[..]), rows).expect("a start");
        });
        let by_list = end(&|made| {
            // Backwards, with one twice: the last counts.
            let listed = [10, 7, 2, 7];
            let of = |all: &[f64], n: usize| {
                let rows = listed
                    .iter()
                    .enumerate()
                    .flat_map(|(at, w)| all[w * n..(w + 1) * n].iter().map(move |x| if at == 1 { 0.5 } else { *x }));
                rows.collect::<Vec<_>>()
            };
            let (q, v) = (of(&q, n_q), of(&v, n_v));
            made.restart_worlds(Which::Listed(&listed), StateRows { q: &q, v: &v, ..Default::default() })
                .expect("a start");
        });
        assert_eq!((some_q.len(), some_v.len()), (3 * n_q, 3 * n_v));
        assert_eq!(by_mask, one_by_one, "{name}");
        assert_eq!(by_list, one_by_one, "{name}");
        for world in 0..WORLDS {
            let differs = one_by_one.0[world] != untouched.0[world];
            assert_eq!(differs, begun.contains(&world), "{name}, world {world}");
            if !differs {
                assert_eq!(one_by_one.1[world], untouched.1[world], "{name}, world {world}");
            }
        }
        // What a new start forgets, it forgets whole: from the same state as new worlds, the same steps.
        let initial = end(&|made| made.restart_worlds(Which::Masked(&mask), Start::INITIAL).expect("a start"));
        let mut fresh = batch(&model, WORLDS, &options);
        assert_eq!(initial.0[7], state(&mut fresh, 7), "{name}");
        (0..4).for_each(|_| fresh.step::<f64>(&[]).expect("a step"));
        assert_eq!(initial.1[7], state(&mut fresh, 7), "{name}");
        let unchanged = end(&|made| made.restart_worlds(Which::Masked(&mask), Start::UNCHANGED).expect("a start"));
        assert_eq!(unchanged.0, untouched.0, "{name}");
    }
}

/// Bytes copied by something, once it has been done before.
fn copied(made: &mut Batch, mut f: impl FnMut(&mut Batch)) -> Traffic {
    (0..3).for_each(|_| f(made));
    made.wait().expect("the device answers");
    let before = made.traffic();
    f(made);
    made.wait().expect("the device answers");
    made.traffic().since(before)
}

fn expect(name: &str, found: Traffic, uploaded: usize, downloaded: usize) {
    let wanted = Traffic { uploaded: uploaded as u64, downloaded: downloaded as u64 };
    assert_eq!(found, wanted, "{name}");
}

/// Kernels alone, so that what a step reads does not depend on what they leave unsolved.
fn by_kernels() -> impl Iterator<Item = (String, BatchOptions)> {
    settings().into_iter().map(|(name, options)| (name, BatchOptions { solver: "newton".into(), ..options }))
}

#[test]
fn bytes_copied_are_those_of_the_numbers_asked_for() {
    let model = arms();
    for (name, options) in by_kernels() {
        let real = options.precision.bytes();
        let mut made = scattered(&model, &options);
        let controls = vec![0.1_f32; made.n_controls()];
        let step = copied(&mut made, |made| made.step::<f64>(&[]).expect("a step"));
        let with = copied(&mut made, |made| made.step(&controls).expect("a step"));
        let bytes = controls.len() * real;
        expect(&format!("{name}, controls"), with, step.uploaded as usize + bytes, step.downloaded as usize);
        for id in FieldId::ALL {
            let n: usize = made.field(0, id).expect("a group").shape().iter().product();
            let mut rows = vec![0.0_f64; n];
            let read = copied(&mut made, |made| made.read(0, id, &mut rows).expect("a read"));
            expect(&format!("{name}, read {}", id.name()), read, 0, n * real);
            let looked = copied(&mut made, |made| {
                assert_ne!(made.field(0, id).expect("a group").blocks().count(), 0);
            });
            expect(&format!("{name}, look at {}", id.name()), looked, 0, 0);
        }
        for id in FieldId::WRITABLE {
            let n: usize = made.field(0, id).expect("a group").shape().iter().product();
            let rows = vec![0.5_f64; n];
            let wrote = copied(&mut made, |made| made.write(0, id, &rows).expect("rows"));
            expect(&format!("{name}, write {}", id.name()), wrote, n * real, 0);
        }
    }
}

#[test]
fn a_step_without_contacts_copies_what_the_host_collides_with() {
    let model = arms();
    for (name, options) in by_kernels() {
        let real = options.precision.bytes();
        let mut made = scattered(&model, &options);
        let step = copied(&mut made, |made| made.step::<f64>(&[]).expect("a step"));
        // Up: where the slots of contacts begin, four words a tile. Down: of every lane, padding included, a pose and two
        // velocities a body, and a status word. Two sets: two trees of a body, and one of two.
        let (tile, chunks) = match made.device() {
            Some(device) => (device.tile() as usize, vec![WORLDS]),
            None => (8, vec![8, WORLDS - 8]),
        };
        let sets = || chunks.iter().flat_map(|worlds| [(2 * worlds, 1), (*worlds, 2)]);
        let up = sets().map(|(lanes, _)| lanes.div_ceil(tile) * 4 * 4).sum();
        let down = sets().map(|(lanes, bodies)| lanes.next_multiple_of(tile) * (bodies * (7 + 6) * real + 4)).sum();
        expect(&name, step, up, down);
    }
}

#[test]
fn a_new_start_of_some_worlds_reads_nothing_back() {
    let model = arms();
    for (name, options) in settings() {
        let mut made = scattered(&model, &options);
        let v = vec![0.25_f64; 2 * model.n_v];
        let start = |made: &mut Batch| {
            let rows = StateRows { v: &v, ..Default::default() };
            made.restart_worlds(Which::Listed(&[3, 4]), rows).expect("a start");
        };
        let found = copied(&mut made, start);
        assert_eq!(found.downloaded, 0, "{name}");
        // Two rows; on a device also which world takes which row; and the marks and status words of all lanes of a chunk.
        let real = options.precision.bytes();
        let chunk = if made.device().is_some() { WORLDS } else { 8 };
        let tile = made.device().map_or(8, |device| device.tile() as usize);
        let rows = v.len() * real;
        let which = if made.device().is_some() { 4 * FieldId::STATE.len() * chunk } else { 0 };
        let words: usize = [2, 1].map(|trees: usize| 4 * (trees * chunk).next_multiple_of(tile)).iter().sum();
        expect(&name, found, rows + which + words, 0);
    }
}

#[test]
fn what_does_not_fit_is_refused_and_changes_nothing() {
    let model = arms();
    let options = BatchOptions { executor: Executor::Cpu, ..Default::default() };
    let mut made = scattered(&model, &options);
    let before: Vec<State> = (0..WORLDS).map(|world| state(&mut made, world)).collect();
    let said = |result: Result<(), manyworlds::Error>| result.expect_err("misuse").to_string();
    let n = WORLDS * 4;
    assert_eq!(said(made.field(1, FieldId::Pose).map(drop)), "group 1: there are 1");
    assert_eq!(said(made.field_mut(1, FieldId::Control).map(drop)), "group 1: there are 1");
    assert!(said(made.field_mut(0, FieldId::Pose).map(drop)).contains("found poses"));
    assert_eq!(said(made.read(0, FieldId::Velocity, &mut [0.0_f32; 3])), format!("v: expected {n} numbers, found 3"));
    assert_eq!(said(made.write(0, FieldId::Force, &[0.0_f32; 3])), format!("tau: expected {n} numbers, found 3"));
    let mut bad = vec![0.0_f32; n];
    bad[40] = f32::NAN;
    assert!(said(made.write(0, FieldId::Force, &bad)).starts_with("tau[40]"));
    assert!(said(made.step(&bad)).starts_with("controls[40]"));
    let mask = [true; 3];
    let of_mask = said(made.restart_worlds(Which::Masked(&mask), Start::INITIAL));
    assert_eq!(of_mask, format!("mask: expected {WORLDS} numbers, found 3"));
    assert_eq!(said(made.restart_worlds(Which::Listed(&[0, 11]), Start::INITIAL)), "world 11: there are 11");
    let rows = StateRows { v: &bad[..7], ..Default::default() };
    assert_eq!(said(made.restart_worlds(Which::Listed(&[5, 6]), rows)), "v: expected 8 numbers, found 7");
    let rows = StateRows { v: &bad, ..Default::default() };
    assert!(said(made.restart_worlds(Which::All, rows)).starts_with("v[0] of world 10"));
    // A row of a world that does not start is not looked at.
    let mut only_first = [false; WORLDS];
    assert_eq!(before, (0..WORLDS).map(|world| state(&mut made, world)).collect::<Vec<_>>());
    only_first[0] = true;
    made.restart_worlds(Which::Masked(&only_first), rows).expect("the first world's row is finite");
    assert_eq!(state(&mut made, 0).v, [0.0; 4]);
}
