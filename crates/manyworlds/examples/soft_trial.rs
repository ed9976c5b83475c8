use manyworlds::*;
use manyworlds_model::*;
fn grid(cells: [usize; 3], size: [f64; 3], at: Vec3) -> SoftBody {
    let [nx, ny, nz] = cells;
    let id = |i: usize, j: usize, k: usize| ((i * (ny + 1) + j) * (nz + 1) + k) as u32;
    let mut nodes = vec![];
    for i in 0..=nx {
        for j in 0..=ny {
            for k in 0..=nz {
                nodes.push(
                    at + Vec3::new(
                        (i as f64 / nx as f64 - 0.5) * size[0],
                        (j as f64 / ny as f64 - 0.5) * size[1],
                        (k as f64 / nz as f64 - 0.5) * size[2],
                    ),
                );
            }
        }
    }
    let mut elements = vec![];
    for i in 0..nx {
        for j in 0..ny {
            for k in 0..nz {
                for p in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
                    let mut c = [i, j, k];
                    let mut e = vec![id(c[0], c[1], c[2])];
                    for a in p {
                        c[a] += 1;
                        e.push(id(c[0], c[1], c[2]));
                    }
                    let x: Vec<Vec3> = e.iter().map(|&n| nodes[n as usize]).collect();
                    if (x[1] - x[0]).cross(&(x[2] - x[0])).dot(&(x[3] - x[0])) < 0.0 {
                        e.swap(1, 2);
                    }
                    elements.extend(e);
                }
            }
        }
    }
    SoftBody {
        name: "cube".into(),
        body: 0,
        nodes,
        pinned: vec![],
        order: Order::Linear,
        elements,
        material: Material {
            law: MaterialLaw::NeoHookean,
            young: 5e4,
            poisson: 0.3,
            density: 1000.0,
            damping: std::env::var("DAMP").map_or(0.002, |d| d.parse().unwrap()),
            mass_damping: 0.0,
        },
        regions: vec![],
        contacting: Contacting { friction: 0.5, ..Contacting::default() },
        radius: 0.0,
        q: 0..0,
        v: 0..0,
    }
}
fn main() {
    let arg: Vec<String> = std::env::args().collect();
    let n: usize = arg[1].parse().unwrap();
    let mut b = ModelBuilder::new("x");
    b.options.timestep = 0.002;
    let plane = Geom {
        name: "floor".into(),
        body: 0,
        shape: Shape::Plane,
        pose: Pose::identity(),
        contact: Contacting { friction: 0.5, ..Contacting::default() },
    };
    b.geom(plane.clone());
    b.soft_body(grid([n, n, n], [0.1, 0.1, 0.1], Vec3::new(0.0, 0.0, 0.06)));
    if arg.get(2).is_some_and(|a| a == "box") {
        let body = b.body(
            "box",
            0,
            Pose::translation(0.0, 0.0, 0.15),
            Inertial { mass: 1.0, com: Vec3::zeros(), inertia: Mat3::identity() * 1e-3 },
        );
        b.joint(Joint::new("free", body, JointKind::Free));
        b.geom(Geom { name: "box".into(), body, shape: Shape::Box { half: Vec3::new(0.03, 0.03, 0.03) }, ..plane });
    }
    let model = b.build().unwrap();
    println!("n_q {} n_v {}", model.n_q, model.n_v);
    let options = BatchOptions {
        executor: Executor::Cpu,
        precision: Precision::F64,
        solver: arg.get(3).cloned().unwrap_or("auto".into()),
        ..BatchOptions::default()
    };
    let mut batch = Batch::new(&[(&model, 1)], &options).unwrap();
    let clock = std::time::Instant::now();
    for step in 0..500 {
        batch.step::<f64>(&[]).unwrap();
        if (step % 250 == 249) || (step >= 480 && arg.len() > 2) {
            let mut all = vec![];
            batch.summaries(&mut all).unwrap();
            let s = all[0];
            let state = batch.state(0).unwrap();
            let last = state.q.len();
            let mean = |v: &[f64]| v.iter().fold(0.0f64, |m, x| m.max(x.abs()));
            println!(
                "{step} {} res {:.1e} {:.1e} n {} pen {:.1e} it {} z {:?} vmax {:.1e}",
                s.status_name(),
                s.residual,
                s.residual_scaled,
                s.contacts,
                s.penetration,
                s.iterations,
                &state.v[state.v.len() - 6..],
                mean(&state.v)
            );
        }
    }
    println!("{:?} a step", clock.elapsed() / 500);
    if arg.get(4).is_some() {
        let state = batch.state(0).unwrap();
        let options = BatchOptions { tolerance: 1e-10, ..options };
        let mut checker = manyworlds::gradcheck::Checker::sampled(&model, &options, 1e-5, 60).unwrap();
        let found = checker.compare(&state).unwrap();
        for b in &found.blocks {
            println!("{b:?}");
        }
        println!(
            "kinks {:?} of {:?} {:?} step {} jac {}",
            found.kinks, found.inputs, found.jacobian.certificate, found.step_us, found.jacobian_us
        );
    }
}
