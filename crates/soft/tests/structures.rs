//! Bodies at rest under loads, beside values of the textbooks: a bar in torsion, Cook's membrane.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use common::{block, body, equilibrium};
use manyworlds_model::{MaterialLaw, Order, SoftBody, Vec3};
use manyworlds_soft::SoftSystem;
use serde_json::Value;

/// Edge of a bar's square section, m.
const SIDE: f64 = 0.05;
const HALF: Vec3 = Vec3::new(0.0, SIDE / 2.0, SIDE / 2.0);

/// Forces of nodes at the end `x`, as a load spread evenly over the outer triangles there is to the element's order, times `of` each
/// node's place.
fn on_the_end(body: &SoftBody, x: f64, of: impl Fn(&Vec3) -> Vec3) -> Vec<f64> {
    let at = |node: u32| body.nodes[node as usize];
    let mut areas: BTreeMap<u32, f64> = BTreeMap::new();
    let corners: BTreeSet<u32> =
        body.elements.chunks_exact(body.order.nodes()).flat_map(|own| &own[..4]).copied().collect();
    for nodes in body.surface() {
        let [a, b, c] = nodes.map(at);
        // Quadratic functions of corners have no mean over a side: its middle triangle, a quarter of it, has all its load.
        let share = match body.order {
            Order::Linear => 1.0 / 3.0,
            _ if nodes.iter().all(|node| !corners.contains(node)) => 4.0 / 3.0,
            _ => continue,
        };
        if [a, b, c].iter().all(|p| (p.x - x).abs() < 1e-9) {
            let area = 0.5 * (b - a).cross(&(c - a)).norm();
            nodes.iter().for_each(|&node| *areas.entry(node).or_default() += share * area);
        }
    }
    let dofs = body.dofs();
    let mut load = vec![0.0; 3 * dofs.iter().flatten().count()];
    for (node, area) in areas {
        let start = dofs[node as usize].expect("the end is free") as usize;
        load[start..start + 3].copy_from_slice((of(&at(node)) * area).as_slice());
    }
    load
}

fn clamp(body: &mut SoftBody) {
    body.pinned = (0..body.nodes.len() as u32).filter(|&node| body.nodes[node as usize].x < 1e-9).collect();
}

/// Where nodes are displaced to.
fn displacement(body: &SoftBody, q: &[f64], node: usize) -> Vec3 {
    body.dofs()[node].map_or_else(Vec3::zeros, |dof| Vec3::from_column_slice(&q[dof as usize..dof as usize + 3]))
}

/// A bar with a square section, clamped at one end and turned at the other, twists between its thirds, where the ends are not felt, by
/// Saint-Venant's `T / (G 0.14058 a^4)` a length.
#[test]
fn a_bar_twists_as_saint_venant_says() {
    let length = 0.3;
    // Timoshenko and Goodier, Theory of Elasticity, section 109: the constant is a series of odd n.
    let series = |n: i32| (f64::from(n) * std::f64::consts::FRAC_PI_2).tanh() / f64::from(n).powi(5);
    let sum: f64 = (0..40).map(|k| series(2 * k + 1)).sum();
    let constant = (1.0 - 192.0 / std::f64::consts::PI.powi(5) * sum) / 3.0;
    assert!((constant - 0.140577).abs() < 1e-6, "{constant}");
    for law in [MaterialLaw::Linear, MaterialLaw::Corotated, MaterialLaw::SaintVenantKirchhoff, MaterialLaw::NeoHookean]
    {
        let rate = |order: Order, cells: usize| {
            let mut bar = block([12, cells, cells], Vec3::new(length, SIDE, SIDE), order, law);
            clamp(&mut bar);
            let axis = |x: &Vec3| Vec3::new(0.0, x.y, x.z) - HALF;
            let load = on_the_end(&bar, length, |x| Vec3::x().cross(&axis(x)) * 1e3);
            let q = equilibrium(&SoftSystem::new(&bar).unwrap(), &load);
            let (mut torque, mut turns) = (0.0, [0.0; 2]);
            for (node, x) in bar.nodes.iter().enumerate() {
                let r = axis(x);
                if let Some(dof) = bar.dofs()[node] {
                    torque += r.cross(&Vec3::from_column_slice(&load[dof as usize..dof as usize + 3])).x;
                }
                // Turn of the section at a third and at two: that of its corners.
                for (turn, share) in turns.iter_mut().zip([1.0 / 3.0, 2.0 / 3.0]) {
                    if (x.x - share * length).abs() < 1e-9 && (r.norm_squared() - HALF.norm_squared()).abs() < 1e-12 {
                        *turn += r.cross(&displacement(&bar, &q, node)).x / r.norm_squared() / 4.0;
                    }
                }
            }
            let [shear, _] = bar.material.lame();
            (turns[1] - turns[0]) / (length / 3.0) / (torque / (shear * constant * SIDE.powi(4)))
        };
        let (linear, quadratic) = (rate(Order::Linear, 4), rate(Order::Quadratic, 4));
        println!("{law:?}: linear {linear}, quadratic {quadratic} of Saint-Venant's twist");
        assert!((quadratic - 1.0).abs() < 0.01, "{law:?}: {quadratic}");
        // Linear tetrahedra lock, and do so less the finer they are.
        let finer = rate(Order::Linear, 8);
        assert!(linear < finer && finer < 1.0, "{law:?}: {linear} {finer}");
    }
}

/// Cook's membrane as a thin plate bends as in plane stress.
#[test]
fn cooks_membrane_bends_as_in_plane_stress() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/cook.json");
    let golden: Value = serde_json::from_str(&std::fs::read_to_string(golden).unwrap()).unwrap();
    let exact = golden["tip"].as_f64().unwrap();
    // The value of the papers.
    assert!((exact / 23.96 - 1.0).abs() < 1e-3);
    let thick = 1.0;
    let tip = |order: Order, cells: usize| {
        let square = block([cells, cells, 1], Vec3::new(1.0, 1.0, thick), Order::Linear, MaterialLaw::Linear);
        let shaped = |p: &Vec3| Vec3::new(48.0 * p.x, 44.0 * p.x + p.y * (44.0 - 28.0 * p.x), p.z);
        let corners: Vec<[u32; 4]> = square.elements.as_chunks().0.to_vec();
        let mut plate = body(square.nodes.iter().map(shaped).collect(), &corners, order, MaterialLaw::Linear);
        (plate.material.young, plate.material.poisson) = (1.0, 1.0 / 3.0);
        clamp(&mut plate);
        let load = on_the_end(&plate, 48.0, |_| Vec3::y() / 16.0);
        assert!((load.iter().sum::<f64>() - thick).abs() < 1e-12);
        let q = equilibrium(&SoftSystem::new(&plate).unwrap(), &load);
        let middle = plate.nodes.iter().position(|x| (x - Vec3::new(48.0, 52.0, 0.0)).norm() < 1e-9).unwrap();
        displacement(&plate, &q, middle).y
    };
    let (coarse, linear, quadratic) = (tip(Order::Linear, 8), tip(Order::Linear, 16), tip(Order::Quadratic, 16));
    println!("linear {coarse} and {linear}, quadratic {quadratic}, plane stress {exact}");
    assert!((quadratic / exact - 1.0).abs() < 0.01, "{quadratic} {exact}");
    // Halving the cells of linear elements brings them nearer.
    assert!(coarse < linear && linear < exact, "{coarse} {linear} {exact}");
}
