//! Cages whose cells are filled in part.

mod common;

use common::{LAWS, block, body, caged, displaced, largest};
use manyworlds_model::{MaterialLaw, Order, SoftBody, Vec3};
use manyworlds_soft::{SoftError, SoftSystem};
use nalgebra::{DMatrix, Matrix3, Rotation3};

const BRICKS: [Order; 2] = [Order::Trilinear, Order::Triquadratic];

/// A ball of radius 1: a block of cells of tetrahedra, blown up.
fn ball(law: MaterialLaw) -> SoftBody {
    let mut out = block([4, 4, 4], Vec3::repeat(2.0), Order::Linear, law);
    for x in &mut out.nodes {
        *x -= Vec3::repeat(1.0);
        let norm = x.norm();
        if norm > 0.0 {
            *x *= x.amax() / norm;
        }
    }
    out
}

/// A single tetrahedron in the corner of its box.
fn corner(law: MaterialLaw) -> SoftBody {
    let nodes = [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]].map(Vec3::from).to_vec();
    body(nodes, &[[0, 1, 2, 3]], Order::Linear, law)
}

fn bodies(law: MaterialLaw) -> Vec<(String, SoftBody)> {
    let mut out = Vec::new();
    for order in BRICKS {
        for cells in [[1, 1, 1], [3, 2, 2]] {
            for (name, mesh) in [("ball", ball(law)), ("corner", corner(law))] {
                out.push((format!("{name} {order:?} {cells:?} {law:?}"), caged(&mesh, cells, order)));
            }
        }
    }
    out
}

#[test]
fn rigid_motion_has_neither_energy_nor_force() {
    for (what, body) in LAWS.into_iter().flat_map(bodies) {
        let system = SoftSystem::new(&body).unwrap();
        let turn = match body.material.law {
            MaterialLaw::Linear => Rotation3::identity(),
            _ => Rotation3::from_euler_angles(1.0, -2.0, 0.5),
        };
        let q = displaced(&body, |x| turn * x + Vec3::new(0.3, -1.0, 2.0));
        let mut force = vec![0.0; q.len()];
        system.force(system.params(), f64::INFINITY, &q, &q, &mut force);
        let scale = system.params().material.young;
        assert!(system.energy(system.params(), &q).abs() < 1e-12 * scale, "{what}");
        assert!(largest(&force) < 1e-12 * scale, "{what}: {}", largest(&force));
    }
}

/// The patch test: under a uniform strain the energy is the volume's, and moments of forces are the stress times it.
#[test]
fn uniform_strain_has_the_energy_of_the_mesh() {
    let f = Matrix3::new(1.1, 0.05, -0.02, 0.03, 0.9, 0.1, -0.04, 0.02, 1.2);
    for (what, body) in LAWS.into_iter().flat_map(bodies) {
        let system = SoftSystem::new(&body).unwrap();
        let mesh = if what.starts_with("ball") { ball(body.material.law) } else { corner(body.material.law) };
        let mesh_system = SoftSystem::new(&mesh).unwrap();
        let [q, of_mesh] = [&body, &mesh].map(|body| displaced(body, |x| f * x));
        let energies = [system.energy(system.params(), &q), mesh_system.energy(mesh_system.params(), &of_mesh)];
        assert!((energies[0] / energies[1] - 1.0).abs() < 1e-12, "{what}: {energies:?}");
        let moments = [(&system, &q, &body), (&mesh_system, &of_mesh, &mesh)].map(|(system, q, body)| {
            let mut force = vec![0.0; q.len()];
            system.force(system.params(), f64::INFINITY, q, q, &mut force);
            let each = body.nodes.iter().zip(force.chunks_exact(3));
            each.map(|(x, f)| Vec3::from_column_slice(f) * x.transpose()).sum::<Matrix3<f64>>()
        });
        assert!((moments[0] - moments[1]).amax() < 1e-12 * moments[1].amax(), "{what}: {moments:?}");
    }
}

/// Turns and shifts alone have no energy, however little of a cell is filled: of the stiffness at rest, scaled to ones on its
/// diagonal, six eigenvalues are zero.
#[test]
fn no_other_motion_is_without_energy() {
    for (what, body) in LAWS.into_iter().flat_map(bodies) {
        let system = SoftSystem::new(&body).unwrap();
        let n = system.n_v();
        let (zero, mut force, mut stiffness) = (vec![0.0; n], vec![0.0; n], system.pattern().clone());
        let params = system.params();
        system.force_and_stiffness(params, f64::INFINITY, &zero, &zero, false, &mut force, &mut stiffness);
        let mut own = DMatrix::zeros(n, n);
        stiffness.entries().for_each(|(i, j, x)| own[(i, j)] = x);
        let scale: Vec<f64> = (0..n).map(|i| own[(i, i)].sqrt().recip()).collect();
        let scaled = DMatrix::from_fn(n, n, |i, j| own[(i, j)] * scale[i] * scale[j]);
        let mut values: Vec<f64> = scaled.symmetric_eigenvalues().iter().copied().collect();
        values.sort_by(f64::total_cmp);
        println!("{what}: {:e} {:e}", values[5], values[6]);
        assert!(values[0] > -1e-13 && values[5] < 1e-13 && values[6] > 1e-5, "{what}: {:?}", &values[..8]);
    }
}

/// Bending, which triquadratic bricks have exactly: the energy is that which the mesh has by quadratic tetrahedra, exactly where no
/// weight was held back, else nearly.
#[test]
fn bending_has_the_energy_of_the_mesh() {
    let bend = |x: &Vec3| x + Vec3::new(x.x * x.y, -0.5 * x.x * x.x, 0.2 * x.x * x.z) * 0.1;
    for (mesh, cells, within) in [
        (ball(MaterialLaw::Linear), [1, 1, 1], 1e-12),
        (ball(MaterialLaw::Linear), [3, 2, 2], 0.03),
        (corner(MaterialLaw::Linear), [1, 1, 1], 0.6),
    ] {
        let corners: Vec<[u32; 4]> = mesh.elements.as_chunks().0.to_vec();
        let fine = body(mesh.nodes.clone(), &corners, Order::Quadratic, MaterialLaw::Linear);
        let energies = [caged(&mesh, cells, Order::Triquadratic), fine].map(|body| {
            let system = SoftSystem::new(&body).unwrap();
            system.energy(system.params(), &displaced(&body, bend))
        });
        println!("{cells:?}: {:+.2e}", energies[0] / energies[1] - 1.0);
        assert!((energies[0] / energies[1] - 1.0).abs() < within, "{cells:?}: {energies:?}");
    }
}

#[test]
fn bricks_without_their_embedding_are_refused() {
    let mut body = caged(&corner(MaterialLaw::Linear), [1, 1, 1], Order::Trilinear);
    body.embedding = None;
    assert!(matches!(SoftSystem::new(&body), Err(SoftError::Embedding { .. })));
}
