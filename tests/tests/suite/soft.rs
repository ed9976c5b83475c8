//! Soft bodies in contact, through the public crate.

use manyworlds::gradcheck::Checker;
use manyworlds::{
    Batch, BatchOptions, GeomParameter, ModelBuilder, ModelParameter, Outputs, Parameter, Precision, State, status,
};
use manyworlds_model::{
    Actuator, Contacting, Geom, HeightField, MaterialLaw, Mesh, Pose, Region, Shape, Transmission, Vec3,
};
use manyworlds_tests::batches::{
    G, batch, bits, executors, largest, largest_difference, run, settle, state, stepped, summary, tight,
};
use manyworlds_tests::soft::{
    DENSITY, YOUNG, add_box, block, comes_to_rest, energy_never_grows, folded, ground, on_the_ground, pinched,
};

/// Sum of the impulses on soft bodies, and on the bodies of others, in world axes, N s; the ground's do not count.
fn impulses(batch: &mut Batch, bodies: usize) -> [Vec3; 2] {
    let mut out = Vec::new();
    batch.contact_impulses(&mut out).expect("impulses");
    let mut sums = [Vec3::zeros(); 2];
    for contact in &out {
        for (body, sign) in contact.bodies.into_iter().zip([-1.0, 1.0]) {
            if body > 0 {
                sums[usize::from(body < bodies)] += sign * Vec3::from(contact.impulse);
            }
        }
    }
    sums
}

/// A soft block and a rigid box on it come to rest on the ground: contacts carry their weights.
#[test]
fn what_rests_on_a_soft_body_is_carried() {
    let model = on_the_ground(3, true);
    let mut rested = None;
    for (name, options) in executors(&tight()) {
        let mut made = batch(&model, 1, &options);
        settle(&mut made, 1490, &mut rested);
        run(&mut made, 10);
        let own = summary(&mut made);
        assert_eq!(own.status & !status::CONVERGED, 0, "{name}: {}", own.status_name());
        assert!(own.residual <= 1e-11 && own.contacts > 30 && own.penetration < 1e-6, "{name}: {own:?}");
        let v = state(&mut made, 0).v;
        assert!(largest(&v) < 0.02, "{name}: {}", largest(&v));
        let [soft, rigid] = impulses(&mut made, model.bodies.len());
        // What still moves of the box has momentum of its own.
        assert!(
            (rigid.z - G * 0.002).abs() < 1e-4 && (soft.z - DENSITY * 1e-3 * G * 0.002).abs() < 1e-4,
            "{soft} {rigid}"
        );
    }
}

/// A block that begins a millimetre within another is pushed out of the face that it came through, and of none beside it.
#[test]
fn blocks_within_each_other_are_pushed_apart() {
    let (size, depth) = (0.06, 1e-3);
    let mut builder = ModelBuilder::new("two blocks");
    builder.options.gravity = Vec3::zeros();
    for (name, at) in [("below", Vec3::zeros()), ("above", Vec3::new(0.007, 0.004, size - depth))] {
        let mut own = block([2; 3], [size; 3], at);
        own.name = name.into();
        own.contacting.friction = 0.0;
        builder.soft_body(own);
    }
    let model = builder.build().expect("a model");
    let mut made = batch(&model, 1, &tight());
    run(&mut made, 1);
    let first = summary(&mut made);
    assert!((first.penetration - depth).abs() < 1e-12 && first.contacts > 3, "{first:?}");
    for contact in made.inspect(0).expect("a world").contacts {
        let across = contact.frame[2][0].hypot(contact.frame[2][1]);
        assert!(across < 1e-6 || contact.distance > -1e-9, "{contact:?}");
    }
    run(&mut made, 200);
    let last = summary(&mut made);
    assert!(last.status == status::CONVERGED && last.penetration < 1e-6, "{last:?}");
    let v = state(&mut made, 0).v;
    assert!(largest(&v) < 0.3, "{}", largest(&v));
}

/// A block that is mirrored, every element inside out, stands where it stood before, and at rest as its energy is that of lengths: what is
/// above it touches its upper face.
#[test]
fn what_is_inside_out_is_touched_from_outside() {
    let (half, gap) = (0.03, 1e-4);
    for rigid in [true, false] {
        let mut builder = ModelBuilder::new("mirrored");
        builder.options.gravity = Vec3::zeros();
        let mut mirrored = block([2; 3], [2.0 * half; 3], Vec3::zeros());
        mirrored.material.law = MaterialLaw::SaintVenantKirchhoff;
        builder.soft_body(mirrored);
        if rigid {
            add_box(&mut builder, Vec3::new(0.02, 0.02, half), 0.1, Vec3::z() * (2.0 * half + gap));
        } else {
            let mut above = block([2; 3], [2.0 * half; 3], Vec3::new(0.007, 0.004, 2.0 * half + gap));
            above.name = "above".into();
            builder.soft_body(above);
        }
        let model = builder.build().expect("a model");
        let mut start = State { q: model.initial_q(), v: vec![0.0; model.n_v], ..State::default() };
        for (node, q) in model.soft[0].nodes.iter().zip(start.q[model.soft[0].v.clone()].chunks_exact_mut(3)) {
            q[2] = -2.0 * node.z;
        }
        let mut made = batch(&model, 1, &tight());
        made.reset(&[(0, start)]).expect("a state");
        run(&mut made, 1);
        let contacts = made.inspect(0).expect("a world").contacts;
        assert!(contacts.len() > 3, "{contacts:?}");
        for contact in contacts {
            let upright = contact.frame[2][2].abs() > 1.0 - 1e-9;
            assert!(upright && (contact.distance - gap).abs() < 1e-9, "{contact:?}");
        }
    }
}

/// A slab of half edges `half`, as a mesh.
fn slab(half: Vec3) -> Mesh {
    let corner = |k: usize| [k & 4, k & 2, k & 1].map(|bit| if bit > 0 { 1.0 } else { -1.0 });
    let quads = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]];
    Mesh {
        name: "slab".into(),
        vertices: (0..8).map(|k| half.component_mul(&Vec3::from(corner(k)))).collect(),
        triangles: quads.iter().flat_map(|&[a, b, c, d]| [[a, b, c], [a, c, d]]).collect(),
        surface: None,
    }
}

/// A soft block comes to rest on every shape and on another soft block, which carry it.
#[test]
fn soft_bodies_lie_on_every_shape() {
    let (half, radius) = (Vec3::new(0.1, 0.1, 0.02), 0.1);
    let turned = Pose::rotation(Vec3::y() * std::f64::consts::FRAC_PI_2);
    // Name, shape, its pose, and how high it is.
    let shapes = [
        ("plane", Some(Shape::Plane), Pose::identity(), 0.0),
        ("sphere", Some(Shape::Sphere { radius }), Pose::identity(), radius),
        ("capsule", Some(Shape::Capsule { radius, half_length: 0.1 }), turned, radius),
        ("cylinder", Some(Shape::Cylinder { radius, half_length: 0.02 }), Pose::identity(), 0.02),
        ("box", Some(Shape::Box { half }), Pose::identity(), half.z),
        ("small box", Some(Shape::Box { half: Vec3::new(0.012, 0.012, 0.02) }), Pose::identity(), half.z),
        ("ellipsoid", Some(Shape::Ellipsoid { radii: Vec3::new(0.2, 0.2, 0.02) }), Pose::identity(), 0.02),
        ("mesh", Some(Shape::Mesh(0)), Pose::identity(), half.z),
        ("heightfield", Some(Shape::HeightField(0)), Pose::identity(), 0.01),
        ("soft block", None, Pose::identity(), 0.05),
    ];
    for (name, shape, pose, top) in shapes {
        let mut builder = ModelBuilder::new(name);
        builder.options.timestep = 0.002;
        let contact = Contacting { friction: 0.8, ..Contacting::default() };
        builder.mesh(slab(half));
        builder.heightfield(HeightField {
            name: "flat".into(),
            n_rows: 5,
            n_cols: 5,
            half: [0.2, 0.2],
            heights: vec![0.01; 25],
            base: 0.1,
        });
        match shape {
            Some(shape) => {
                builder.geom(Geom { name: name.into(), body: 0, shape, pose, contact });
            }
            None => {
                builder.geom(ground(0.8, 0.0));
                builder.soft_body(block([2, 2, 1], [0.1, 0.1, 0.05], Vec3::new(0.0, 0.0, 0.0251)));
            }
        }
        let mut soft = block([2; 3], [0.04; 3], Vec3::new(0.003, 0.002, top + 0.0205));
        soft.material.damping = 0.02;
        builder.soft_body(soft);
        let model = builder.build().expect("a model");
        comes_to_rest(name, &model);
    }
}

/// A block that is dropped, without damping of its own, never gains energy, of any material.
#[test]
fn a_dropped_block_never_gains_energy() {
    for law in [MaterialLaw::Corotated, MaterialLaw::SaintVenantKirchhoff, MaterialLaw::NeoHookean] {
        let mut builder = ModelBuilder::new("drop");
        builder.options.timestep = 0.002;
        builder.geom(ground(0.5, 0.0));
        let mut soft = block([2; 3], [0.1; 3], Vec3::new(0.0, 0.0, 0.08));
        (soft.material.law, soft.material.damping) = (law, 0.0);
        builder.soft_body(soft);
        let model = builder.build().expect("a model");
        energy_never_grows(&format!("{law:?}"), &model, 250, 0.02, 1e-10);
    }
}

/// Every solver of exact contact ends a step at the same velocity, while a block sways on the ground. With a rigid box on it,
/// whose corners press on triangles, several velocities obey the laws.
#[test]
fn solvers_agree() {
    let model = on_the_ground(2, false);
    let mut first = batch(&model, 1, &tight());
    run(&mut first, 60);
    let from = state(&mut first, 0);
    let mut reference = Vec::new();
    // Sweeps come near slowly.
    for (solver, tolerance) in
        [("auto", 1e-9), ("pgs", 1e-7), ("canal", 1e-9), ("subadmm", 1e-7), ("newton-cr", 1e-9), ("newton", 1e-9)]
    {
        let options = BatchOptions { solver: solver.into(), tolerance, iterations: 5000, ..tight() };
        let mut made = batch(&model, 1, &options);
        made.reset(&[(0, from.clone())]).expect("a state");
        run(&mut made, 1);
        let own = summary(&mut made);
        assert!(own.residual <= tolerance && own.status & status::CONVERGED != 0, "{solver}: {own:?}");
        let v = state(&mut made, 0).v;
        if reference.is_empty() {
            reference = v;
            continue;
        }
        let apart = v.iter().zip(&reference).fold(0.0, |most: f64, (a, b)| most.max((a - b).abs()));
        // A residual is an impulse; nodes weigh down to 5 g.
        assert!(apart < 1e4 * tolerance, "{solver}: {apart}");
    }
}

/// A body of more degrees of freedom than are factored ends a step at the velocity that a factor gives: one that sticks, and one that
/// slides.
#[test]
fn a_large_body_moves_as_by_a_factor() {
    for angle in [0.0_f64, 0.7] {
        let mut builder = ModelBuilder::new("large");
        builder.options.timestep = 0.002;
        builder.options.gravity = Vec3::new(G * angle.sin(), 0.0, -G * angle.cos());
        builder.geom(ground(0.5, 0.0));
        builder.soft_body(block([11; 3], [0.1; 3], Vec3::new(0.0, 0.0, 0.0505)));
        let model = builder.build().expect("a model");
        let mut first = batch(&model, 1, &BatchOptions { tolerance: 1e-9, ..tight() });
        run(&mut first, 25);
        let from = state(&mut first, 0);
        let ends = ["auto", "canal"].map(|solver| {
            let options = BatchOptions { solver: solver.into(), tolerance: 1e-9, ..tight() };
            let mut made = batch(&model, 1, &options);
            made.reset(&[(0, from.clone())]).expect("a state");
            run(&mut made, 1);
            let own = summary(&mut made);
            assert!(own.residual <= 1e-9 && own.status & status::CONVERGED != 0, "{solver}: {own:?}");
            assert!(own.contacts > 100, "{solver}: {own:?}");
            state(&mut made, 0).v
        });
        let apart = ends[0].iter().zip(&ends[1]).fold(0.0, |most: f64, (a, b)| most.max((a - b).abs()));
        // A residual is an impulse; nodes weigh down to 0.03 g.
        assert!(apart < 1e-5 && largest(&ends[0]) > 1e-3, "{angle}: {apart} of {}", largest(&ends[0]));
    }
}

/// On an incline a soft block sticks at 0.99 of the angle of friction and slides beyond it.
#[test]
fn a_soft_block_sticks_on_an_incline_below_the_angle_of_friction() {
    let friction: f64 = 0.5;
    for (part, sticks) in [(0.99, true), (1.02, false)] {
        let angle = (part * friction).atan();
        let mut builder = ModelBuilder::new("incline");
        builder.options.timestep = 0.002;
        builder.options.gravity = Vec3::new(G * angle.sin(), 0.0, -G * angle.cos());
        builder.geom(ground(friction, 0.0));
        let mut soft = block([2; 3], [0.1; 3], Vec3::new(0.0, 0.0, 0.05));
        soft.material.young = 1e6;
        soft.material.damping = 0.01;
        builder.soft_body(soft);
        let model = builder.build().expect("a model");
        let mut made = batch(&model, 1, &BatchOptions { tolerance: 1e-12, ..tight() });
        run(&mut made, 1500);
        let first = state(&mut made, 0);
        run(&mut made, 500);
        let last = state(&mut made, 0);
        let moved =
            last.q.iter().zip(&first.q).step_by(3).map(|(a, b)| a - b).sum::<f64>() / (first.q.len() / 3) as f64;
        assert_eq!(moved.abs() < 1e-9, sticks, "{part} of the angle: {moved} m in 1 s, {}", largest(&last.v));
    }
}

/// Pads that push hold a soft cube at 1.02 of the friction coefficient that its weight asks for, and drop it at 0.98.
#[test]
fn pads_hold_a_soft_cube_from_the_threshold_of_friction_on() {
    let threshold = DENSITY * 0.05_f64.powi(3) * G / (2.0 * 10.0);
    for (part, holds) in [(1.02, true), (0.98, false)] {
        let model = pinched(2, part * threshold);
        let mut made = batch(&model, 1, &BatchOptions { tolerance: 1e-12, ..tight() });
        run(&mut made, 1500);
        let height = |made: &mut Batch| {
            let nodes = made.soft(0).expect("soft bodies").remove(0).nodes;
            nodes.iter().map(|node| node[2]).sum::<f64>() / nodes.len() as f64
        };
        let before = height(&mut made);
        run(&mut made, 500);
        let creep = height(&mut made) - before;
        assert_eq!(creep.abs() < 1e-9, holds, "{part} of the threshold: {creep} m in 1 s");
    }
}

/// Derivatives of a step through contact, beside central differences.
#[test]
fn derivatives_are_those_of_differences() {
    let mut builder = ModelBuilder::new("held");
    builder.options.timestep = 0.002;
    builder.geom(ground(0.5, 0.0));
    builder.soft_body(block([2; 3], [0.1; 3], Vec3::new(0.0, 0.0, 0.051)));
    // Wider than the block: its nodes touch the box's face.
    add_box(&mut builder, Vec3::new(0.08, 0.08, 0.02), 1.0, Vec3::new(0.0, 0.0, 0.122));
    let model = builder.build().expect("a model");
    let mut made = batch(&model, 1, &tight());
    run(&mut made, 100);
    let from = state(&mut made, 0);
    let mut checker = Checker::sampled(&model, &tight(), 1e-5, 40).expect("a checker");
    let found = checker.compare(&from).expect("a comparison");
    let certificate = &found.jacobian.certificate;
    assert!(certificate.problems.is_empty() && certificate.problems_by_q.is_empty(), "{certificate:?}");
    assert!(certificate.size > 12, "{certificate:?}");
    assert!(found.error() < 1e-6, "{:?}", found.blocks);
}

/// Sets a parameter of world 0 to a value.
type SetParameter = Box<dyn Fn(&mut Batch, f64)>;

/// A step whose balance of momentum was not solved says so, and its derivative is not taken for one, though no contact is violated.
#[test]
fn a_step_that_missed_its_balance_has_no_valid_derivative() {
    for with_a_box in [false, true] {
        let mut builder = ModelBuilder::new("thrown");
        builder.soft_body(block([2; 3], [0.1; 3], Vec3::new(0.0, 0.0, 1.0)));
        if with_a_box {
            // Then the bodies are not solved side by side.
            add_box(&mut builder, Vec3::repeat(0.1), 1.0, Vec3::new(0.0, 0.0, 2.0));
        }
        let model = builder.build().expect("a model");
        let v = (0..model.n_v).map(|i| (1.7 * i as f64).sin()).collect();
        let start = State { q: model.initial_q(), v, ..State::default() };
        // What rounding leaves is above the last of these by far.
        for (tolerance, solved) in [(1e-10, true), (1e-20, false)] {
            let mut made = batch(&model, 1, &BatchOptions { tolerance, ..tight() });
            made.keep_steps(true).expect("kept");
            made.reset(&[(0, start.clone())]).expect("a state");
            made.step::<f64>(&[]).expect("a step");
            let own = summary(&mut made);
            assert_eq!(own.contacts, 0);
            assert_eq!(own.balance <= 10.0 * tolerance, solved, "{with_a_box}: {own:?}");
            assert_eq!(own.residual, own.balance, "{with_a_box}");
            let outputs = Outputs { q: vec![0.0; model.n_v], v: vec![1.0; model.n_v], ..Outputs::default() };
            let certificate = made.back(0, &outputs).expect("a product").1;
            assert_eq!(certificate.valid(), solved, "{with_a_box}: {:?}", certificate.problems);
        }
    }
}

/// Derivatives by what a block is made of, by a pressure in it and by friction, where it slides, beside central differences.
#[test]
fn derivatives_by_parameters_are_those_of_differences() {
    let mut builder = ModelBuilder::new("sliding");
    builder.options.timestep = 0.002;
    builder.geom(ground(0.5, 0.0));
    let mut soft = block([2; 3], [0.1; 3], Vec3::new(0.0, 0.0, 0.0499));
    soft.material.mass_damping = 0.5;
    soft.regions = vec![Region { name: String::new(), elements: (0..24).collect(), pressure: 500.0 }];
    builder.soft_body(soft);
    let model = builder.build().expect("a model");
    let (tree, n) = (0, model.n_v);
    // It slides along x, and turns a little.
    let v = (0..n).map(|i| [0.5, 0.1, 0.0][i % 3] + 0.02 * (i as f64).sin()).collect();
    let mut made = batch(&model, 1, &tight());
    made.reset(&[(0, State { q: vec![0.0; n], v, ..State::default() })]).expect("a state");
    run(&mut made, 30);
    let from = state(&mut made, 0);
    let parameters = [
        (Parameter::Young, YOUNG),
        (Parameter::Poisson, 0.3),
        (Parameter::Density, DENSITY),
        (Parameter::StiffnessDamping, 0.005),
        (Parameter::MassDamping, 0.5),
        (Parameter::Pressure(0), 500.0),
    ];
    let mut wanted: Vec<ModelParameter> =
        parameters.iter().map(|&(parameter, _)| ModelParameter::Tree { tree, parameter }).collect();
    wanted.push(ModelParameter::Friction { geoms: [0, 1] });
    let found = stepped(&model, &from, &|_| ()).parameter_derivatives(0, &wanted).expect("derivatives");
    assert!(found.certificate.problems.is_empty(), "{:?}", found.certificate);
    let mut sets: Vec<(f64, SetParameter)> = Vec::new();
    for (parameter, value) in parameters {
        let set = move |made: &mut Batch, x: f64| made.set_parameter(0, tree, parameter, &[x]).expect("a parameter");
        sets.push((value, Box::new(set)));
    }
    let friction = move |made: &mut Batch, x: f64| {
        made.set_parameter(0, tree, Parameter::SurfaceFriction, &[x]).expect("a parameter");
        made.set_geom(0, 0, GeomParameter::Friction, &[x]).expect("a friction");
    };
    sets.push((0.5, Box::new(friction)));
    for ((column, (value, set)), parameter) in found.columns.iter().zip(&sets).zip(&wanted) {
        let by = 1e-4 * value;
        let [ahead, behind] =
            [by, -by].map(|by| state(&mut stepped(&model, &from, &|made| set(made, value + by)), 0).v);
        let differences: Vec<f64> = ahead.iter().zip(&behind).map(|(a, b)| (a - b) / (2.0 * by)).collect();
        let (size, off) = (largest(&differences), largest_difference(&column.v, &differences));
        assert!(size > 0.0 && off < 1e-5 * size, "{parameter:?}: {off} of {size}");
    }
    let refused = ModelParameter::Tree { tree, parameter: Parameter::SurfaceFriction };
    assert!(made.parameter_derivatives(0, &[refused]).is_err());
}

/// Restored, a batch goes on by the same bits; so does one with other worlds beside it.
#[test]
fn soft_worlds_are_restored_and_do_not_see_each_other() {
    let model = on_the_ground(2, true);
    for precision in [Precision::F32, Precision::F64] {
        let options = BatchOptions { precision, tolerance: 1e-5, ..tight() };
        let mut alone = batch(&model, 1, &options);
        let mut many = batch(&model, 3, &options);
        run(&mut alone, 40);
        run(&mut many, 40);
        let checkpoint = alone.checkpoint().expect("a checkpoint");
        run(&mut alone, 20);
        run(&mut many, 20);
        let last = bits(&state(&mut alone, 0));
        for world in 0..3 {
            assert_eq!(bits(&state(&mut many, world)), last, "{precision:?}, world {world}");
        }
        alone.restore(&checkpoint).expect("restored");
        run(&mut alone, 20);
        assert_eq!(bits(&state(&mut alone, 0)), last, "{precision:?}: restored");
    }
}

/// A world may have a material of its own, and one that breaks harms no other.
#[test]
fn worlds_have_materials_of_their_own_and_fail_alone() {
    let model = on_the_ground(2, false);
    let mut made = batch(&model, 3, &tight());
    made.set_parameter(1, 0, Parameter::Young, &[2e4]).expect("set");
    let wrong = made.set_parameter(1, 0, Parameter::Poisson, &[0.5]).expect_err("no such material");
    assert!(wrong.to_string().contains("below 0.5"), "{wrong}");
    let mut broken = state(&mut made, 2);
    broken.v[4] = f64::NAN;
    let refused = made.reset(&[(2, broken.clone())]);
    broken.v[4] = 1e12;
    if refused.is_ok() {
        made.reset(&[(2, broken)]).expect("a state");
    }
    run(&mut made, 400);
    let low = |made: &mut Batch, world| {
        let nodes = made.soft(world).expect("soft bodies").remove(0).nodes;
        nodes.iter().fold(0.0, |top: f64, node| top.max(node[2]))
    };
    let (stiff, weak) = (low(&mut made, 0), low(&mut made, 1));
    assert!(stiff > weak + 1e-3 && weak > 0.08, "{stiff} {weak}");
}

/// A control is pressure in its region within its range, and derivatives by it are those of differences.
#[test]
fn a_region_is_pressed_by_its_control() {
    let mut builder = ModelBuilder::new("controlled");
    builder.options.timestep = 0.002;
    builder.geom(ground(0.5, 0.0));
    let mut soft = block([2, 2, 2], [0.1; 3], Vec3::new(0.0, 0.0, 0.05));
    let region =
        |elements: std::ops::Range<u32>| Region { name: String::new(), elements: elements.collect(), pressure: 500.0 };
    soft.regions = vec![region(0..48), region(24..48)];
    builder.soft_body(soft);
    let control = |region: usize, gain: f64| Actuator {
        gain: [gain, 0.0, 0.0],
        ctrl_range: Some([-3.0, 3.0]),
        ..Actuator::new(format!("of {region}"), Transmission::Region { soft: 0, region })
    };
    builder.actuator(control(1, 1000.0));
    builder.actuator(control(0, 200.0));
    let model = builder.build().expect("a model");
    let stepped = |controls: [f64; 2], change: &dyn Fn(&mut Batch)| {
        let mut made = batch(&model, 1, &tight());
        change(&mut made);
        (0..20).for_each(|_| made.step(&controls).expect("a step"));
        made
    };
    // Within the range, at its end and beyond it.
    let pressures = |made: &mut Batch, wanted: [f64; 2]| {
        for (region, x) in wanted.into_iter().enumerate() {
            made.set_parameter(0, 0, Parameter::Pressure(region), &[x]).expect("a pressure");
        }
    };
    for (controls, wanted) in [([2.0, 1.5], [800.0, 2500.0]), ([-9.0, 9.0], [1100.0, -2500.0])] {
        let ours = state(&mut stepped(controls, &|_| ()), 0).q;
        let theirs = state(&mut stepped([0.0; 2], &|made| pressures(made, wanted)), 0).q;
        let off = largest_difference(&ours, &theirs);
        assert!(largest(&ours) > 1e-4 && off < 1e-9, "{controls:?}: {off}");
    }
    let mut made = stepped([2.0, 1.5], &|_| ());
    let start = state(&mut made, 0);
    let mut checker = Checker::new(&model, &tight(), 1e-5).expect("a checker");
    let found = checker.compare(&start).expect("a comparison");
    assert!(found.jacobian.certificate.problems.is_empty(), "{:?}", found.jacobian.certificate);
    assert!(found.inputs[3] == 2 && largest(&found.jacobian.dv_dctrl) > 1e-4, "{:?}", found.inputs);
    assert!(found.error() < 1e-6, "{:?}", found.blocks);
    let along = checker.compare_directions(&start, 1e-11).expect("a comparison");
    assert!(along.back < 1e-12, "{}", along.back);
}

/// The upper arm of a folded bar sinks onto the lower one and rests there; where it does not touch itself it goes through.
#[test]
fn a_folded_bar_comes_to_rest_on_itself() {
    // Height of the upper arm's free end above the lower arm's top, m.
    let lie = |touches_itself: bool| {
        let soft = folded(touches_itself);
        let (nodes, pinned) = (soft.nodes.clone(), soft.pinned.len());
        let top = soft.pinned.iter().map(|&node| nodes[node as usize].z).fold(f64::MIN, f64::max);
        let mut builder = ModelBuilder::new("folded");
        builder.options.timestep = 0.002;
        let number = builder.soft_body(soft);
        let model = builder.build().expect("a model without faults");
        let mut made = batch(&model, 1, &tight());
        let mut lowest = f64::MAX;
        for _ in 0..30 {
            run(&mut made, 20);
            let own = summary(&mut made);
            assert!(own.residual <= 1e-10 && own.status & status::CONVERGED != 0, "{own:?}");
            let now = made.soft(0).expect("soft bodies");
            let free = now[number].nodes.iter().zip(&nodes).filter(|(_, rest)| rest.z > top + 1e-6);
            lowest = free.map(|(node, _)| node[2] - top).fold(lowest, f64::min);
        }
        let mut touching = Vec::new();
        made.contact_impulses(&mut touching).expect("impulses");
        let itself = model.bodies.len() + number;
        assert!(pinned > 0 && touching.iter().all(|contact| contact.bodies == [itself; 2]), "{touching:?}");
        let carried: f64 = touching.iter().map(|contact| contact.impulse[2]).sum();
        (lowest, carried, largest(&state(&mut made, 0).v), summary(&mut made).contacts)
    };
    let (through, nothing, ..) = lie(false);
    assert!(through < -0.01 && nothing == 0.0, "it must sag by more than the gap: {through}");
    let (lowest, carried, speed, contacts) = lie(true);
    assert!(lowest > -1e-4 && contacts > 3, "{lowest} m, {contacts} contacts");
    assert!(carried.abs() > 1e-5 && speed < 0.05, "{carried} N s, {speed} m/s");
}
