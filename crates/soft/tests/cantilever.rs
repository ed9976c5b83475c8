//! A cantilever bends under its weight as scikit-fem says (`golden/make_cantilever.py`).

mod common;

use std::path::Path;

use common::{body, caged, equilibrium};
use manyworlds_model::{MaterialLaw, Order, SoftBody, Vec3};
use manyworlds_soft::SoftSystem;
use serde_json::Value;

fn golden(file: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(file)).unwrap()
}

/// Nodes and tetrahedra of a Gmsh file of version 2.
fn bar(order: Order, law: MaterialLaw) -> SoftBody {
    let text = golden("bar16.msh");
    let rows = |section: &str| -> Vec<Vec<f64>> {
        let lines = text.lines().skip_while(|line| *line != section).skip(2);
        lines
            .take_while(|line| !line.starts_with('$'))
            .map(|line| line.split(' ').map(|x| x.parse().unwrap()).collect())
            .collect()
    };
    let nodes = rows("$Nodes").iter().map(|row| Vec3::from_column_slice(&row[1..4])).collect();
    let tetrahedra = rows("$Elements").into_iter().filter(|row| row[1] == 4.0);
    let corners: Vec<[u32; 4]> =
        tetrahedra.map(|row| std::array::from_fn(|k| row[row.len() - 4 + k] as u32 - 1)).collect();
    let mut out = body(nodes, &corners, order, law);
    out.pinned = (0..out.nodes.len() as u32).filter(|&i| out.nodes[i as usize].x < 1e-9).collect();
    out
}

/// How far the tip sinks.
fn sag(body: &SoftBody, gravity: f64) -> f64 {
    let system = SoftSystem::new(body).unwrap();
    let masses = system.mass(system.params());
    let weight: Vec<f64> =
        masses.iter().enumerate().map(|(i, m)| if i % 3 == 2 { -gravity * m } else { 0.0 }).collect();
    let q = equilibrium(&system, &weight);
    let tip = body.nodes.iter().position(|x| (x - Vec3::new(0.4, 0.0, 0.0)).norm() < 1e-9).unwrap();
    -q[body.dofs()[tip].unwrap() as usize + 2]
}

#[test]
fn sags_as_scikit_fem_says() {
    let golden: Value = serde_json::from_str(&golden("cantilever.json")).unwrap();
    for (law, name) in [(MaterialLaw::Corotated, "corotated"), (MaterialLaw::NeoHookean, "neo_hookean")] {
        for (gravity, load) in [(9.81, ""), (0.981, "_tenth")] {
            let exact = |mesh: &str| golden[format!("{name}_{mesh}{load}")].as_f64().unwrap();
            let linear = sag(&bar(Order::Linear, law), gravity);
            assert!((linear / exact("linear") - 1.0).abs() < 1e-6, "{name}{load}: {linear} {}", exact("linear"));
            let quadratic = sag(&bar(Order::Quadratic, law), gravity);
            println!("{name}{load}: linear {linear}, quadratic {quadratic}, fine {}", exact("fine"));
            assert!((quadratic / exact("fine") - 1.0).abs() < 0.01, "{name}{load}: {quadratic} {}", exact("fine"));
        }
    }
}

/// A cage of four cells of 27 nodes has as many degrees of freedom as 4 x 1 x 1 cells of quadratic tetrahedra, which are 5 % off.
#[test]
fn a_cage_of_four_cells_sags_as_a_fine_mesh() {
    let golden: Value = serde_json::from_str(&golden("cantilever.json")).unwrap();
    for (gravity, load) in [(9.81, ""), (0.981, "_tenth")] {
        let mut cage = caged(&bar(Order::Linear, MaterialLaw::NeoHookean), [4, 1, 1], Order::Triquadratic);
        cage.pinned = (0..cage.nodes.len() as u32).filter(|&i| cage.nodes[i as usize].x < 1e-9).collect();
        let fine = golden[format!("neo_hookean_fine{load}")].as_f64().unwrap();
        let own = sag(&cage, gravity);
        println!("cage{load}: {own}, fine {fine}, {:+.2} %", 100.0 * (own / fine - 1.0));
        assert!((own / fine - 1.0).abs() < 0.04, "{load}: {own} {fine}");
    }
}
