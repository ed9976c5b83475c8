//! Derivatives of many worlds at once against those of one, products against Jacobians, islands solved by iterations against
//! elimination, and single precision against double.

use manyworlds::{
    Batch, BatchOptions, Certificate, DerivativesBy, Error, Executor, GradientRules, ImportOptions, InputSlices,
    Inputs, InputsMut, JacobiansMut, Model, OutputSlices, Outputs, OutputsMut, Precision, State, random,
};
use manyworlds_tests::batches::{largest, largest_difference, mjcf};

fn precise() -> BatchOptions {
    BatchOptions {
        executor: Executor::Cpu,
        precision: Precision::F64,
        tolerance: 1e-13,
        iterations: 5000,
        ..BatchOptions::default()
    }
}

fn load(scene: &str) -> Model {
    manyworlds::load(scene, &ImportOptions::default()).expect("a scene").model
}

fn noise(n: usize, seed: u64) -> Vec<f64> {
    (0..n).map(|i| random::symmetric(seed, 0, 0, i as u64)).collect()
}

/// Takes steps with random controls and keeps the last.
fn run(batch: &mut Batch, steps: u64) {
    let n = batch.n_controls();
    for step in 0..steps {
        if step + 1 == steps {
            batch.keep_steps(true).expect("the default integrator");
        }
        let controls: Vec<f64> = (0..n).map(|i| 0.4 * random::symmetric(2, 0, step, i as u64)).collect();
        batch.step(&controls).expect("a step");
    }
}

/// Any change of what goes into a step.
fn inputs(model: &Model, seed: u64) -> Inputs {
    let (n, n_u) = (model.n_v, model.actuators.len());
    Inputs {
        q: noise(n, seed),
        v: noise(n, seed + 1),
        tau: noise(n, seed + 2),
        ctrl: noise(n_u, seed + 3),
        ..Inputs::default()
    }
}

fn outputs(model: &Model, seed: u64) -> Outputs {
    Outputs { q: noise(model.n_v, seed), v: noise(model.n_v, seed + 1), ..Outputs::default() }
}

#[test]
fn worlds_at_once_are_worlds_one_by_one() {
    let (hopper, humanoid) = (load("hopper"), load("humanoid"));
    let mut batch = Batch::new(&[(&hopper, 9), (&humanoid, 2)], &precise()).expect("a batch");
    run(&mut batch, 150);
    // Out of order, over both models, one of them twice.
    let worlds = [10, 0, 8, 3, 9, 3];
    let models: Vec<&Model> = worlds.iter().map(|&w| if w < 9 { &hopper } else { &humanoid }).collect();
    let n_v: usize = models.iter().map(|m| m.n_v).sum();
    let n_u: usize = models.iter().map(|m| m.actuators.len()).sum();
    let square: usize = models.iter().map(|m| m.n_v * m.n_v).sum();
    let wide: usize = models.iter().map(|m| m.n_v * m.actuators.len()).sum();

    let (mut dv_dq, mut dq_dctrl) = (vec![f64::NAN; square], vec![f64::NAN; wide]);
    let to = JacobiansMut { dv_dq: &mut dv_dq, dq_dctrl: &mut dq_dctrl, ..JacobiansMut::default() };
    let certificates = batch.jacobians(&worlds, to).expect("derivatives");
    let (mut at, mut wide_at) = (0, 0);
    for (&world, certificate) in worlds.iter().zip(&certificates) {
        // By other means: what kernels do for many worlds at once.
        let one = batch.jacobian(world).expect("a derivative");
        let blocks = [
            (&dv_dq[at..at + one.dv_dq.len()], &one.dv_dq),
            (&dq_dctrl[wide_at..wide_at + one.dq_dctrl.len()], &one.dq_dctrl),
        ];
        for (found, expected) in blocks {
            assert!(
                largest_difference(found, expected) <= 1e-11 * largest(expected),
                "world {world}: {:.1e}",
                largest_difference(found, expected)
            );
        }
        same(certificate, &one.certificate, 1e-12, &format!("world {world}"));
        (at, wide_at) = (at + one.dv_dq.len(), wide_at + one.dq_dctrl.len());
    }
    assert_eq!((at, wide_at), (square, wide));

    let (q, v) = (noise(n_v, 5), noise(n_v, 6));
    let [mut by_q, mut by_v, mut by_tau] = [0, 1, 2].map(|_| vec![f64::NAN; n_v]);
    let mut by_ctrl = vec![f64::NAN; n_u];
    let to = InputsMut { q: &mut by_q, v: &mut by_v, tau: &mut by_tau, ctrl: &mut by_ctrl, ..InputsMut::default() };
    let certificates =
        batch.back_all(&worlds, &OutputSlices { q: &q, v: &v, ..OutputSlices::default() }, to).expect("products");
    let (mut at, mut control) = (0, 0);
    for ((&world, model), certificate) in worlds.iter().zip(&models).zip(&certificates) {
        let (dofs, controls) = (at..at + model.n_v, control..control + model.actuators.len());
        let outputs = Outputs { q: q[dofs.clone()].to_vec(), v: v[dofs.clone()].to_vec(), ..Outputs::default() };
        let (one, expected) = batch.back(world, &outputs).expect("a product");
        let parts = [
            (&by_q[dofs.clone()], &one.q),
            (&by_v[dofs.clone()], &one.v),
            (&by_tau[dofs.clone()], &one.tau),
            (&by_ctrl[controls.clone()], &one.ctrl),
        ];
        for (found, expected) in parts {
            assert!(
                largest_difference(found, expected) <= 1e-11 * largest(expected),
                "world {world}: {:.1e}",
                largest_difference(found, expected)
            );
        }
        same(certificate, &expected, 1e-12, &format!("world {world}"));
        (at, control) = (dofs.end, controls.end);
    }

    // Parts that are left out are zeros, and parts that are not wanted are not written.
    let mut by_tau = vec![f64::NAN; n_v];
    let mut faster = vec![f64::NAN; n_v];
    let to = OutputsMut { v: &mut faster, ..OutputsMut::default() };
    batch.along_all(&worlds, &InputSlices { tau: &q, ..InputSlices::default() }, to).expect("products");
    let to = InputsMut { tau: &mut by_tau, ..InputsMut::default() };
    batch.back_all(&worlds, &OutputSlices { v: &v, ..OutputSlices::default() }, to).expect("products");
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let (there, back) = (product(&faster, &v), product(&by_tau, &q));
    assert!((there - back).abs() < 1e-10 * there.abs().max(1.0), "{there} {back}");
}

/// That two certificates of a step say the same; margins up to rounding.
fn same(found: &Certificate, expected: &Certificate, rounding: f64, name: &str) {
    let counts =
        |c: &Certificate| (c.closed, c.size, c.rank, c.iterated, c.iterations, c.problems.len(), c.problems_by_q.len());
    assert_eq!(counts(found), counts(expected), "{name}: {found:?} {expected:?}");
    let apart = (found.margin - expected.margin).abs();
    let alike = found.margin == expected.margin || apart <= rounding * expected.margin.max(1.0);
    assert!(alike, "{name}: {found:?} {expected:?}");
}

/// Largest sum of the sizes of the terms of a product with some transposed blocks, by q+ and by v+: what rounding is to be
/// measured with, as the terms may cancel.
fn summed(blocks: [&Vec<f64>; 2], outputs: &Outputs, width: usize) -> f64 {
    let mut sums = vec![0.0; width];
    for (block, weights) in blocks.into_iter().zip([&outputs.q, &outputs.v]) {
        for (row, weight) in block.chunks_exact(width.max(1)).zip(weights) {
            sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += (x * weight).abs());
        }
    }
    largest(&sums)
}

/// All blocks of the Jacobians of some worlds of one model, one behind the other.
fn blocks(batch: &mut Batch, model: &Model, worlds: &[usize]) -> (Vec<Vec<f64>>, Vec<Certificate>) {
    let [n, n_u, n_act] = [model.n_v, model.actuators.len(), model.n_act()];
    let sizes =
        [n * n, n * n, n * n, n * n_u, n * n, n * n, n * n, n * n_u, n * n_act, n * n_act, n_act * n_u, n_act * n_act];
    let mut found: Vec<Vec<f64>> = sizes.iter().map(|size| vec![f64::NAN; size * worlds.len()]).collect();
    let [dq_dq, dq_dv, dq_dtau, dq_dctrl, dv_dq, dv_dv, dv_dtau, dv_dctrl, dq_dact, dv_dact, dact_dctrl, dact_dact] =
        &mut found[..]
    else {
        panic!("twelve")
    };
    let to = JacobiansMut {
        dq_dq,
        dq_dv,
        dq_dtau,
        dq_dctrl,
        dv_dq,
        dv_dv,
        dv_dtau,
        dv_dctrl,
        dq_dact,
        dv_dact,
        dact_dctrl,
        dact_dact,
    };
    let certificates = batch.jacobians(worlds, to).expect("derivatives");
    (found, certificates)
}

/// Kernels against the host, world by world, on an executor in a precision.
fn kernels_and_host_agree(executor: Executor, precision: Precision, scenes: &[(&str, u64)]) {
    let scenes: Vec<_> = scenes.iter().map(|&(scene, steps)| (scene, load(scene), steps)).collect();
    kernels_and_host_agree_on(executor, precision, &scenes);
}

fn kernels_and_host_agree_on(executor: Executor, precision: Precision, scenes: &[(&str, Model, u64)]) {
    // The host differentiates steps of either precision in double.
    let (most, tolerance, rounding) =
        if precision == Precision::F64 { (1e-9, 1e-11, 1e-11) } else { (1e-3, 1e-6, 1e-3) };
    for (scene, model, steps) in scenes {
        let options = BatchOptions { executor, precision, tolerance, iterations: 2000, ..precise() };
        let n_world = 19;
        let mut batch = Batch::new(&[(model, n_world)], &options).expect("a batch");
        batch.set_derivatives_by(DerivativesBy::Kernels);
        run(&mut batch, *steps);
        let worlds: Vec<usize> = (0..n_world).collect();
        let (found, certificates) = blocks(&mut batch, model, &worlds);
        let mut carrying = 0;
        let mut hosts = Vec::with_capacity(n_world);
        let mut at_switch = vec![false; n_world];
        for world in worlds {
            let one = batch.jacobian(world).expect("a derivative");
            // So near a switch the host, but no kernel, looks for other impulses where contacts are redundant.
            at_switch[world] = precision == Precision::F32 && certificates[world].margin < 1e-5;
            if at_switch[world] {
                hosts.push(one);
                continue;
            }
            let expected = [
                &one.dq_dq,
                &one.dq_dv,
                &one.dq_dtau,
                &one.dq_dctrl,
                &one.dv_dq,
                &one.dv_dv,
                &one.dv_dtau,
                &one.dv_dctrl,
                &one.dq_dact,
                &one.dv_dact,
                &one.dact_dctrl,
                &one.dact_dact,
            ];
            same(&certificates[world], &one.certificate, rounding, &format!("{scene}, world {world}"));
            carrying += one.certificate.size;
            for (block, (found, expected)) in found.iter().zip(expected).enumerate() {
                let error = largest_difference(&found[world * expected.len()..][..expected.len()], expected);
                let of = largest(expected);
                assert!(error <= most * of, "{scene}, world {world}, block {block}: {error:.1e} of {of:.1e}");
            }
            hosts.push(one);
        }
        assert!(carrying > 0, "{scene}: nothing touches");
        assert!(at_switch.iter().filter(|&&at| at).count() <= 1, "{scene}: {at_switch:?}");
        let [q, v] = [3, 4].map(|seed| noise(n_world * model.n_v, seed));
        let [mut by_q, mut by_v, mut by_tau] = [0, 1, 2].map(|_| vec![f64::NAN; n_world * model.n_v]);
        let n_act = model.n_act();
        let act = noise(n_world * n_act, 5);
        let mut by_ctrl = vec![f64::NAN; n_world * model.actuators.len()];
        let mut by_act = vec![f64::NAN; n_world * n_act];
        let to = InputsMut { q: &mut by_q, v: &mut by_v, tau: &mut by_tau, ctrl: &mut by_ctrl, act: &mut by_act };
        let all: Vec<usize> = (0..n_world).collect();
        let judged = batch.back_all(&all, &OutputSlices { q: &q, v: &v, act: &act }, to).expect("products");
        for world in all.into_iter().filter(|&world| !at_switch[world]) {
            let dofs = world * model.n_v..(world + 1) * model.n_v;
            let controls = world * model.actuators.len()..(world + 1) * model.actuators.len();
            let activations = world * n_act..(world + 1) * n_act;
            let outputs = Outputs {
                q: q[dofs.clone()].to_vec(),
                v: v[dofs.clone()].to_vec(),
                act: act[activations.clone()].to_vec(),
            };
            let (one, certificate) = batch.back(world, &outputs).expect("a product");
            same(&judged[world], &certificate, rounding, &format!("{scene}, world {world}"));
            let host = &hosts[world];
            let parts = [
                (&by_q[dofs.clone()], &one.q, [&host.dq_dq, &host.dv_dq]),
                (&by_v[dofs.clone()], &one.v, [&host.dq_dv, &host.dv_dv]),
                (&by_tau[dofs], &one.tau, [&host.dq_dtau, &host.dv_dtau]),
                (&by_ctrl[controls], &one.ctrl, [&host.dq_dctrl, &host.dv_dctrl]),
            ];
            for (found, expected, blocks) in parts {
                let (error, of) = (largest_difference(found, expected), summed(blocks, &outputs, expected.len()));
                assert!(error <= most * of, "{scene}, world {world}: {error:.1e} of {of:.1e}");
            }
            let (found, of) = (&by_act[activations], largest(&one.act));
            let error = largest_difference(found, &one.act);
            assert!(error <= most * of, "{scene}, world {world}, activations: {error:.1e} of {of:.1e}");
        }
        // The same bits, whichever worlds are asked for beside.
        let (alone, certificate) = blocks(&mut batch, model, &[7]);
        for (alone, all) in alone.iter().zip(&found) {
            assert_eq!(alone[..], all[7 * alone.len()..8 * alone.len()], "{scene}");
        }
        assert_eq!(certificate[0], certificates[7], "{scene}");
    }
}

#[test]
fn kernels_and_the_host_find_the_same_jacobians() {
    let scenes =
        [("half-cheetah", 60), ("ant", 60), ("humanoid", 150), ("quadruped", 100), ("arm7", 20), ("heavy-stack", 20)];
    // Some of the falling humanoids' contacts are redundant and contradict each other by a little.
    kernels_and_host_agree(Executor::Cpu, Precision::F64, &[("humanoid", 40)]);
    kernels_and_host_agree(Executor::Cpu, Precision::F64, &scenes);
}

#[test]
fn kernels_in_single_precision_are_near_the_host() {
    let scenes = [("half-cheetah", 60), ("ant", 60), ("humanoid", 40), ("humanoid", 150), ("quadruped", 100)];
    kernels_and_host_agree(Executor::Cpu, Precision::F32, &scenes);
}

/// Standing robots touch by more contacts than it takes, which rounded places make contradict each other by a little. By v and tau; by q
/// gaps that count as closed in single precision alone are another case.
#[test]
fn what_stands_in_single_precision_has_the_derivatives_of_double() {
    let batch = |model: &Model, worlds: usize, precision: Precision, tolerance: f64| {
        Batch::new(&[(model, worlds)], &BatchOptions { precision, tolerance, ..precise() }).expect("a batch")
    };
    let mut contradicting = 0;
    for (scene, worlds, settle) in [("hopper", 64, 100), ("humanoid", 32, 60)] {
        let model = load(scene);
        let (mut single, mut double) =
            (batch(&model, worlds, Precision::F32, 1e-6), batch(&model, worlds, Precision::F64, 1e-10));
        single.set_derivatives_by(DerivativesBy::Kernels);
        double.set_derivatives_by(DerivativesBy::Host);
        let (n, n_v) = (single.n_controls(), model.n_v);
        let controls =
            |step: u64| -> Vec<f64> { (0..n).map(|i| 0.3 * random::symmetric(4, 0, step, i as u64)).collect() };
        (0..settle).for_each(|step| single.step(&controls(step)).expect("a step"));
        let all: Vec<usize> = (0..worlds).collect();
        let gradient = noise(worlds * n_v, 9);
        let products = |batch: &mut Batch| {
            let [mut v, mut tau] = [(); 2].map(|()| vec![0.0; worlds * n_v]);
            let from = OutputSlices { q: &gradient, v: &gradient, ..OutputSlices::default() };
            let to = InputsMut { v: &mut v, tau: &mut tau, ..InputsMut::default() };
            let certificates = batch.back_all(&all, &from, to).expect("products");
            ([v, tau], certificates)
        };
        let mut compared = 0;
        for step in settle..settle + 12 {
            let states: Vec<(usize, State)> = all.iter().map(|&w| (w, single.state(w).expect("a state"))).collect();
            double.reset(&states).expect("a reset");
            for batch in [&mut single, &mut double] {
                batch.keep_steps(true).expect("the default integrator");
                batch.step(&controls(step)).expect("a step");
            }
            let ((found, certified), (expected, exactly)) = (products(&mut single), products(&mut double));
            for &world in &all {
                let of = &certified[world];
                let is_redundant = of.rank < of.size;
                let both = of.valid() && exactly[world].valid();
                if !both
                    || !is_redundant
                    || single.jacobian(world).expect("modes").modes != double.jacobian(world).expect("modes").modes
                {
                    continue;
                }
                for (found, expected) in found.iter().zip(&expected) {
                    let [found, expected] = [found, expected].map(|all| &all[world * n_v..(world + 1) * n_v]);
                    let off = largest_difference(found, expected) / largest(expected);
                    assert!(off < 1e-2, "{scene}, step {step}, world {world}: off by {off:.1e}, {of:?}");
                }
                compared += 1;
                contradicting += usize::from(of.residual > 1e-6);
            }
        }
        println!("{scene}: {compared} compared, so far {contradicting} that contradict themselves by more than 1e-6");
        assert!(compared > worlds, "{compared}");
    }
    assert!(contradicting > 20, "{contradicting}");
}

#[test]
fn kernels_of_a_device_and_the_host_find_the_same_jacobians() {
    // Limits, drives and contacts of a tree.
    kernels_and_host_agree(Executor::Gpu, Precision::F64, &[("quadruped", 40)]);
}

/// What pulls elsewhere than at a joint: a tendon around a ball with a spring, a muscle and a motor, motors of a site and of a sum of joints, a
/// filtered one, carried weight, a fluid. Its foot is on the ground.
const PULLED: &str = r#"
  <option density="80" viscosity="0.3" wind="0.5 0.2 0"/>
  <worldbody>
    <geom type="plane" size="9 9 1"/>
    <site name="anchor" pos="-0.3 0 1.1"/>
    <body pos="0 0 0.8" gravcomp="0.4">
      <joint name="lift" type="slide" axis="0 0 1"/><joint name="swing" axis="0 1 0"/>
      <geom name="core" type="sphere" size="0.08"/>
      <body pos="0.1 0 0"><joint name="hip" type="ball"/>
        <geom type="box" size="0.05 0.04 0.15" pos="0.05 0 -0.15" fluidshape="ellipsoid"/><site name="thigh" pos="0.12 0.01 -0.1"/>
        <body pos="0.05 0 -0.3"><joint name="knee" axis="0 1 0"/>
          <geom type="capsule" fromto="0 0 0 0 0 -0.36" size="0.05"/><site name="shin" pos="0.05 0 -0.2"/>
        </body>
      </body>
    </body>
  </worldbody>
  <tendon>
    <spatial name="round" stiffness="30" damping="2" springlength="0.3 0.5">
      <site site="anchor"/><geom geom="core"/><site site="thigh"/><site site="shin"/>
    </spatial>
    <fixed name="sum"><joint joint="swing" coef="0.7"/><joint joint="knee" coef="-0.4"/></fixed>
  </tendon>
  <actuator>
    <motor tendon="round" gear="-3"/><position tendon="sum" kp="8" kv="0.5"/><motor site="shin" gear="1 2 0 0 0.1 0"/>
    <motor joint="knee" gear="2"/><general joint="swing" dyntype="filterexact" dynprm="0.03" gainprm="2" biastype="affine" biasprm="0.1 -1 -0.2"/>
    <muscle tendon="round" lengthrange="0.2 1.2" force="20"/>
  </actuator>"#;

#[test]
fn kernels_and_the_host_agree_on_what_pulls_elsewhere_than_at_a_joint() {
    let scenes = [("pulled", mjcf(0.002, PULLED), 120)];
    kernels_and_host_agree_on(Executor::Cpu, Precision::F64, &scenes);
    kernels_and_host_agree_on(Executor::Cpu, Precision::F32, &scenes);
    kernels_and_host_agree_on(Executor::Gpu, Precision::F64, &scenes);
}

/// Trees of two kinds, two of one, that hop on the ground.
const HOPPING: &str = r#"
  <worldbody>
    <geom type="plane" size="9 9 1"/>
    <body pos="0 0 0.3">
      <joint name="a" type="slide" axis="0 0 1"/><joint name="b" type="hinge" axis="0 1 0" range="-40 40"/>
      <geom type="box" size="0.2 0.1 0.25"/>
    </body>
    <body pos="0 2 0.3">
      <joint name="c" type="slide" axis="0 0 1"/><joint name="d" type="hinge" axis="0 1 0" range="-40 40"/>
      <geom type="box" size="0.2 0.1 0.25"/>
    </body>
    <body pos="0 4 0.3"><joint name="e" type="slide" axis="0 0 1"/><geom type="sphere" size="0.28"/></body>
  </worldbody>
  <actuator>
    <motor joint="a" gear="90"/><motor joint="b" gear="9"/><motor joint="c" gear="90"/><motor joint="d" gear="9"/>
    <motor joint="e" gear="300"/>
  </actuator>"#;

/// Threads share out the worlds of a large chunk: what each gets is what it would get in a small one.
#[test]
fn a_device_finds_the_same_bits_in_few_worlds_and_in_many() {
    let (model, few) = (mjcf(0.01, HOPPING), 19);
    let (n_v, n_u) = (model.n_v, model.actuators.len());
    let options = BatchOptions { executor: Executor::Gpu, precision: Precision::F32, ..BatchOptions::default() };
    let weights = noise(few * n_v, 3);
    let of = |n_world: usize| {
        let mut batch = Batch::new(&[(&model, n_world)], &options).expect("a batch");
        batch.set_derivatives_by(DerivativesBy::Kernels);
        batch.keep_steps(true).expect("the default integrator");
        let repeated = |all: &[f64], n: usize| -> Vec<f64> {
            (0..n_world).flat_map(|world| &all[world % few * n..][..n]).copied().collect()
        };
        for step in 0..30 {
            batch.step(&repeated(&noise(few * n_u, step), n_u)).expect("a step");
        }
        let weights = repeated(&weights, n_v);
        let [mut q, mut v, mut tau] = [0, 1, 2].map(|_| vec![f64::NAN; n_world * n_v]);
        let mut ctrl = vec![f64::NAN; n_world * n_u];
        let to = InputsMut { q: &mut q, v: &mut v, tau: &mut tau, ctrl: &mut ctrl, ..InputsMut::default() };
        // In another order than theirs.
        let worlds: Vec<usize> = (0..n_world).rev().collect();
        let product = batch
            .back_all(&worlds, &OutputSlices { q: &weights, v: &weights, ..OutputSlices::default() }, to)
            .expect("products");
        let (mut found, certificates) = blocks(&mut batch, &model, &worlds);
        found.extend([q, v, tau, ctrl]);
        (
            found,
            [product, certificates].map(|mut all| {
                all.reverse();
                all
            }),
        )
    };
    let ((expected, [product, jacobian]), n_world) = (of(few), 8 * few);
    assert!(product.iter().all(|certificate| certificate.valid()), "{product:?}");
    assert!(product.iter().any(|certificate| certificate.size > 0), "nothing touches");
    let (found, certificates) = of(n_world);
    for (found, expected) in found.iter().zip(&expected) {
        // Weights repeat from the first on, worlds are asked for from the last on: as many whole rounds, the same pairs.
        let repeats = found.chunks_exact(expected.len().max(1)).all(|round| round == &expected[..]);
        assert!(repeats, "{found:?} {expected:?}");
    }
    for (found, expected) in certificates.iter().zip([product, jacobian]) {
        assert!(found.chunks_exact(few).all(|round| round == &expected[..]), "{found:?} {expected:?}");
    }
}

/// What is farther away than contacts are always looked for, but is met within the step, is differentiated as in double precision.
#[test]
fn single_precision_knows_what_is_met_within_the_step() {
    let model = mjcf(0.01, HOPPING);
    for by in [DerivativesBy::Host, DerivativesBy::Kernels] {
        let [expected, found] = [Precision::F64, Precision::F32].map(|precision| {
            let tolerance = if precision == Precision::F64 { 1e-11 } else { 1e-6 };
            let options = BatchOptions { precision, tolerance, ..precise() };
            let mut batch = Batch::new(&[(&model, 1)], &options).expect("a batch");
            batch.set_derivatives_by(by);
            let mut from = batch.state(0).expect("a state");
            // Onto the ground, 8 mm below, at 3 m/s.
            let last = model.n_v - 1;
            (from.q[last], from.v[last]) = (-0.012, -3.0);
            batch.reset(&[(0, from)]).expect("a reset");
            batch.keep_steps(true).expect("the default integrator");
            batch.step(&[0.0_f64; 5]).expect("a step");
            let (found, certificates) = blocks(&mut batch, &model, &[0]);
            assert!(certificates[0].valid() && certificates[0].size > 0, "{precision:?}: {certificates:?}");
            found
        });
        for (found, expected) in found.iter().zip(&expected) {
            assert!(largest_difference(found, expected) <= 1e-4 * largest(expected), "{found:?} {expected:?}");
        }
    }
}

#[test]
fn a_product_ahead_is_that_of_the_jacobian() {
    for (scene, steps) in [("half-cheetah", 60), ("hopper", 300), ("humanoid", 150), ("arm7", 20), ("clutter", 20)] {
        let model = load(scene);
        let mut batch = Batch::new(&[(&model, 1)], &precise()).expect("a batch");
        run(&mut batch, steps);
        let jacobian = batch.jacobian(0).expect("a derivative");
        let along = inputs(&model, 3);
        let (found, certificate) = batch.along(0, &along).expect("a product");
        let expected = jacobian.along(&along);
        for (found, expected) in [(&found.q, &expected.q), (&found.v, &expected.v)] {
            let error = largest_difference(found, expected) / largest(expected);
            assert!(error < 1e-12, "{scene}: {error:.1e}");
        }
        assert_eq!(certificate, jacobian.certificate, "{scene}");
    }
}

#[test]
fn iterations_find_what_elimination_does() {
    let scenes = [
        ("half-cheetah", 60, "auto"),
        ("humanoid", 150, "auto"),
        ("quadruped", 100, "auto"),
        ("heavy-stack", 3, "auto"),
        ("clutter", 24, "auto"),
        ("humanoid", 150, "sap"),
        ("humanoid", 150, "dantzig"),
        ("flexible-beam", 20, "newton-cr"),
        ("heavy-stack", 3, "newton-cr"),
        ("arch", 20, "newton-cr"),
        ("clutter", 20, "newton-cr"),
    ];
    for (scene, steps, solver) in scenes {
        let model = load(scene);
        // 3 g on 250 N m/rad: number 1 of the residuals is a multiple of rounding.
        let tolerance = if scene == "flexible-beam" { 1e-8 } else { precise().tolerance };
        let options = BatchOptions { solver: solver.into(), tolerance, ..precise() };
        let mut batch = Batch::new(&[(&model, 1)], &options).expect("a batch");
        run(&mut batch, steps);
        let (there, back) = (inputs(&model, 3), outputs(&model, 8));
        let (ahead, _) = batch.along(0, &there).expect("a product");
        let (behind, certificate) = batch.back(0, &back).expect("a product");
        assert_eq!(certificate.iterated, 0);
        batch.set_gradient_rules(GradientRules { largest_dense: 0, ..GradientRules::default() });
        let (ahead_too, left) = batch.along(0, &there).expect("a product");
        let (behind_too, left_too) = batch.back(0, &back).expect("a product");
        assert!(left.iterated > 0 && left.iterated == left.size, "{scene}");
        assert_eq!((left.closed, left.size), (certificate.closed, certificate.size));
        assert!((left.margin - certificate.margin).abs() < 1e-9, "{} {}", left.margin, certificate.margin);
        println!(
            "{scene}, {solver}: {} unknowns of rank {}, left over {:.1e} in {}, {:.1e} in {}, {:?}",
            certificate.size,
            certificate.rank,
            left.residual,
            left.iterations,
            left_too.residual,
            left_too.iterations,
            certificate.problems
        );
        if !certificate.valid() {
            assert!(!left_too.valid(), "{scene}");
            continue;
        }
        assert!(left.valid() && left_too.valid(), "{scene}: {:?} {:?}", left.problems, left_too.problems);
        let parts = [
            (&ahead.q, &ahead_too.q),
            (&ahead.v, &ahead_too.v),
            (&behind.q, &behind_too.q),
            (&behind.v, &behind_too.v),
            (&behind.tau, &behind_too.tau),
            (&behind.ctrl, &behind_too.ctrl),
        ];
        // What sticks makes zeros, which have no scale of their own.
        let scales = [[&ahead.q, &ahead.v], [&behind.q, &behind.v]].map(|[q, v]| largest(q).max(largest(v)));
        for (which, (exact, found)) in parts.into_iter().enumerate() {
            let own = if which == 0 { largest(exact) } else { scales[usize::from(which > 1)] };
            let error = largest_difference(exact, found) / own;
            // 8 kg that bear 37 t: the conditioning of the system leaves either way of solving it eight
            // digits.
            let tolerance = if scene == "heavy-stack" { 1e-8 } else { 1e-9 };
            assert!(error < tolerance, "{scene}, {solver}, part {which}: {error:.1e}");
        }
    }
}

#[test]
fn a_jacobian_by_iterations_is_that_by_elimination() {
    let model = load("heavy-stack");
    let mut batch = Batch::new(&[(&model, 1)], &precise()).expect("a batch");
    run(&mut batch, 3);
    let exact = batch.jacobian(0).expect("a derivative");
    // The Jacobian itself is by elimination whatever the products do.
    batch.set_gradient_rules(GradientRules { largest_dense: 0, ..GradientRules::default() });
    assert_eq!(batch.jacobian(0).expect("a derivative"), exact);
}

#[test]
fn wrong_memory_is_refused() {
    let model = load("hopper");
    let mut batch = Batch::new(&[(&model, 2)], &precise()).expect("a batch");
    let none = batch.jacobians(&[0], JacobiansMut::default());
    assert!(matches!(none, Err(Error::NoGradient)), "{none:?}");
    run(&mut batch, 3);
    let n = model.n_v;
    let mut short = vec![0.0; 2 * n * n - 1];
    let to = JacobiansMut { dq_dq: &mut short, ..JacobiansMut::default() };
    let found = batch.jacobians(&[0, 1], to);
    assert!(matches!(found, Err(Error::Length { what: "dq_dq", .. })), "{found:?}");
    let found = batch.jacobians(&[2], JacobiansMut::default());
    assert!(matches!(found, Err(Error::Index { .. })), "{found:?}");
    let bad = vec![f64::NAN; 2 * n];
    let found =
        batch.back_all(&[0, 1], &OutputSlices { q: &bad, v: &[], ..OutputSlices::default() }, InputsMut::default());
    assert!(matches!(found, Err(Error::NotFinite { .. })), "{found:?}");
    let found = batch.along_all(&[0], &InputSlices { v: &bad, ..InputSlices::default() }, OutputsMut::default());
    assert!(matches!(found, Err(Error::Length { .. })), "{found:?}");
    let found = batch.along(0, &Inputs { ctrl: vec![0.0; 7], ..Inputs::default() });
    assert!(matches!(found, Err(Error::Length { .. })), "{found:?}");
    assert!(batch.jacobians(&[], JacobiansMut::default()).expect("nothing").is_empty());
}

/// A step of a batch in single precision is differentiated as one in double precision from the same state is, to what its
/// rounded impulses leave.
#[test]
fn single_precision_is_near_double() {
    let mut judged = 0;
    for (scene, steps) in [("hopper", 300), ("half-cheetah", 60), ("humanoid", 150), ("quadruped", 100)] {
        let model = load(scene);
        let options = BatchOptions { precision: Precision::F32, tolerance: 1e-6, ..precise() };
        let mut single = Batch::new(&[(&model, 1)], &options).expect("a batch");
        let mut double = Batch::new(&[(&model, 1)], &precise()).expect("a batch");
        single.keep_steps(true).expect("the default integrator");
        double.keep_steps(true).expect("the default integrator");
        for step in 0..steps {
            let n = single.n_controls();
            let controls: Vec<f64> = (0..n).map(|i| 0.4 * random::symmetric(2, 0, step, i as u64)).collect();
            single.step(&controls).expect("a step");
            if step % 20 != 19 {
                continue;
            }
            let state: State = single.state(0).expect("a state");
            single.step::<f64>(&[]).expect("a step");
            double.reset(&[(0, state)]).expect("a state");
            double.step::<f64>(&[]).expect("a step");
            let (found, exact) = (single.jacobian(0).expect("one"), double.jacobian(0).expect("one"));
            let switched = found.modes != exact.modes || found.certificate.size != exact.certificate.size;
            if !found.certificate.valid() || !exact.certificate.valid() || switched || exact.certificate.margin < 1e-3 {
                continue;
            }
            judged += 1;
            let scale = largest(&exact.dv_dq);
            let error = largest_difference(&found.dv_dq, &exact.dv_dq) / scale;
            println!("{scene}, step {step}: {} unknowns, {error:.1e}", exact.certificate.size);
            assert!(error < 1e-3, "{scene}, step {step}: {error:.1e}");
        }
    }
    assert!(judged > 8, "{judged}");
}
