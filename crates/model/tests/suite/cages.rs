//! Cages: those of MJCF are MuJoCo's (`golden/make_cages.py` wrote what it finds), and what is wrong is named.

use std::path::Path;

use manyworlds_model::{
    Cage, ImportOptions, Loaded, ModelError, Order, SoftBody, Tetrahedra, Vec3, from_mjcf_str, load,
};
use serde_json::Value;

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

fn points(value: &Value) -> Vec<Vec3> {
    numbers(value).chunks_exact(3).map(Vec3::from_column_slice).collect()
}

/// Nodes, their degrees of freedom, and where vertices are in a state.
#[test]
fn nodes_and_states_are_mujocos() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/cages");
    let Loaded { model, .. } = load(folder.join("cages.xml"), &ImportOptions::default()).unwrap();
    let golden: Value = serde_json::from_str(&std::fs::read_to_string(folder.join("cages.json")).unwrap()).unwrap();
    assert_eq!(
        (model.n_q as u64, model.n_v as u64),
        (golden["n_q"].as_u64().unwrap(), golden["n_v"].as_u64().unwrap())
    );
    let q = numbers(&golden["q"]);
    for (soft, flex) in model.soft.iter().zip(golden["flexes"].as_array().unwrap()) {
        let what = &soft.name;
        assert_eq!(what.as_str(), flex["name"].as_str().unwrap());
        let embedding = soft.embedding.as_ref().unwrap();
        let (stands, turned) = (model.bodies[soft.body].pose, moved(&model, soft, &q));
        let dofs = soft.dofs();
        let free: Vec<usize> = (0..soft.nodes.len()).filter(|&node| dofs[node].is_some()).collect();
        let theirs = points(&flex["free"]);
        assert_eq!(free.len(), theirs.len(), "{what}");
        for ((&node, theirs), v) in free.iter().zip(&theirs).zip(numbers(&flex["v"])) {
            let at = stands * nalgebra::Point3::from(soft.nodes[node]);
            assert!((at.coords - theirs).norm() < 1e-12, "{what}: {at} is not {theirs}");
            assert_eq!(soft.v.start + dofs[node].unwrap() as usize, v as usize, "{what}");
        }
        let own = &q[soft.q.clone()];
        let displaced = |node: usize| match dofs[node] {
            Some(dof) => soft.nodes[node] + Vec3::from_column_slice(&own[dof as usize..dof as usize + 3]),
            None => soft.nodes[node],
        };
        let rest = soft.vertices().into_iter().zip(points(&flex["at_rest"])).map(|(own, theirs)| (stands, own, theirs));
        let places = embedding.positions(displaced).zip(points(&flex["moved"]));
        assert_eq!(embedding.n_vertex(), points(&flex["moved"]).len(), "{what}");
        for (pose, own, theirs) in rest.chain(places.map(|(own, theirs)| (turned, own, theirs))) {
            let at = (pose * nalgebra::Point3::from(own)).coords;
            assert!((at - theirs).norm() < 1e-12, "{what}: {at} is not {theirs}");
        }
    }
}

/// The pose of the body that carries a cage, which turns about one hinge.
fn moved(model: &manyworlds_model::Model, soft: &SoftBody, q: &[f64]) -> manyworlds_model::Pose {
    let body = &model.bodies[soft.body];
    let turns = body.joints.clone().map(|joint| q[model.joints[joint].q_start]).sum::<f64>();
    body.pose * nalgebra::UnitQuaternion::from_axis_angle(&Vec3::y_axis(), turns)
}

/// Of cells that are full, masses are MuJoCo's; of others, which it samples, within a thousandth of the whole.
#[test]
fn masses_are_near_mujocos() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/cages");
    let Loaded { model, .. } = load(folder.join("cages.xml"), &ImportOptions::default()).unwrap();
    let golden: Value = serde_json::from_str(&std::fs::read_to_string(folder.join("cages.json")).unwrap()).unwrap();
    for (name, within) in [("cylinder", 1e-3), ("box", 1e-12)] {
        let number = model.soft.iter().position(|soft| soft.name == name).unwrap();
        let (soft, theirs) = (&model.soft[number], numbers(&golden["flexes"][number]["masses"]));
        let whole = soft.mass();
        for (own, theirs) in masses(soft).into_iter().zip(theirs) {
            assert!((own - theirs).abs() < within * whole, "{name}: {own} is not {theirs}");
        }
    }
}

/// Of each node, kg.
fn masses(soft: &SoftBody) -> Vec<f64> {
    let (each, points) = (soft.order.nodes(), soft.order.points());
    let embedding = soft.embedding.as_ref().unwrap();
    let mut out = vec![0.0; soft.nodes.len()];
    // Bricks of one model are all of one size.
    let size = (soft.nodes[soft.elements[each - 1] as usize] - soft.nodes[soft.elements[0] as usize]).product();
    for (element, nodes) in soft.elements.chunks_exact(each).enumerate() {
        let filled: f64 = embedding.weights()[element * points..][..points].iter().sum();
        for (&node, share) in nodes.iter().zip(&embedding.shares()[element * each..]) {
            out[node as usize] += soft.material.density * size * filled * share;
        }
    }
    out
}

/// A ball of tetrahedra about its centre.
fn ball() -> Tetrahedra {
    Tetrahedra::load(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/soft/ball4.msh")).unwrap()
}

fn caged(mesh: &Tetrahedra, cells: [usize; 3], order: Order) -> SoftBody {
    let Cage { nodes, elements, order, embedding, .. } = Cage::about(mesh, cells, order).unwrap();
    let text = "<mujoco><worldbody><flexcomp name='f' dim='3' count='2 2 2'><elasticity young='1e5'/></flexcomp></worldbody></mujoco>";
    let mut model = read(text).unwrap().model;
    SoftBody { nodes, elements, order, embedding: Some(embedding), ..model.soft.remove(0) }
}

fn read(text: &str) -> Result<Loaded, ModelError> {
    let files = |_: &Path| Err(std::io::Error::new(std::io::ErrorKind::NotFound, "no such file"));
    from_mjcf_str("m.xml", text, &files, &ImportOptions::default())
}

/// Volume, centre and, of triquadratic bricks that need nothing of Bernstein's, moments are those of the mesh; no weight or mass is
/// without size, however little of a cell is filled.
#[test]
fn mass_is_that_of_the_mesh() {
    let mesh = ball();
    let volume_of = |e: &[u32]| {
        let [a, b, c, d] = [0, 1, 2, 3].map(|k| mesh.nodes[e[k] as usize]);
        ((b - a).cross(&(c - a)).dot(&(d - a)) / 6.0, (a + b + c + d) / 4.0)
    };
    let parts: Vec<(f64, Vec3)> = mesh.elements.chunks_exact(4).map(volume_of).collect();
    let volume: f64 = parts.iter().map(|(volume, _)| volume).sum();
    let centre = parts.iter().map(|(volume, at)| at * *volume).sum::<Vec3>() / volume;
    for order in [Order::Trilinear, Order::Triquadratic] {
        for cells in [[1, 1, 1], [2, 1, 3], [4, 4, 4], [5, 5, 5]] {
            let soft = caged(&mesh, cells, order);
            let what = format!("{order:?} {cells:?}");
            assert!((soft.volume() / volume - 1.0).abs() < 1e-12, "{what}: {} {volume}", soft.volume());
            let masses = masses(&soft);
            assert!((masses.iter().sum::<f64>() / soft.mass() - 1.0).abs() < 1e-12, "{what}");
            let middle = soft.nodes.iter().zip(&masses).map(|(x, m)| x * *m).sum::<Vec3>() / soft.mass();
            assert!((middle - centre).norm() < 1e-12, "{what}: {middle} {centre}");
            assert!(masses.iter().all(|m| *m > 0.0), "{what}");
            let weights = soft.embedding.as_ref().unwrap().weights();
            let least = weights.iter().copied().fold(f64::INFINITY, f64::min);
            assert!(least > 0.0, "{what}: {least}");
            let mesh_at = mesh.nodes.iter().zip(soft.vertices());
            assert!(mesh_at.map(|(own, moved)| (own - moved).norm()).fold(0.0, f64::max) < 1e-14, "{what}");
        }
    }
}

/// Cells that the mesh does not reach are no bricks.
#[test]
fn empty_cells_have_no_nodes() {
    let corners = [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]].map(Vec3::from).to_vec();
    let mesh = Tetrahedra { nodes: corners, elements: vec![0, 1, 2, 3], order: Order::Linear };
    let cage = Cage::about(&mesh, [2, 2, 2], Order::Trilinear).unwrap();
    assert_eq!((cage.elements.len(), cage.nodes.len()), (4 * 8, 20));
    // Of a mesh that is inside out, too.
    let turned = Tetrahedra { elements: vec![0, 2, 1, 3], ..mesh };
    assert_eq!(Cage::about(&turned, [2, 2, 2], Order::Trilinear).unwrap().nodes, cage.nodes);
}

#[test]
fn wrong_cages_are_refused() {
    type Change = fn(&mut Tetrahedra);
    let good = || Tetrahedra {
        nodes: [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]].map(Vec3::from).to_vec(),
        elements: vec![0, 1, 2, 3],
        order: Order::Linear,
    };
    let cases: [(Change, [usize; 3], Order, &str); 9] = [
        (|_| (), [1, 1, 1], Order::Linear, "trilinear or triquadratic, found Linear"),
        (|_| (), [1, 0, 1], Order::Trilinear, "at least one cell along each axis"),
        (|_| (), [1 << 20, 1 << 20, 1 << 30], Order::Trilinear, "too many nodes"),
        (|m| m.order = Order::Quadratic, [1; 3], Order::Trilinear, "holds linear tetrahedra"),
        (|m| m.elements.truncate(3), [1; 3], Order::Trilinear, "4 nodes each, found 3"),
        (|m| m.elements[2] = 9, [1; 3], Order::Trilinear, "node 9, there are 4"),
        (|m| m.nodes[3].z = f64::NAN, [1; 3], Order::Trilinear, "node 3 of the mesh must be finite"),
        (|m| m.nodes[3].z = 0.0, [1; 3], Order::Trilinear, "the mesh is flat: its box is 1 x 1 x 0 m"),
        (|m| m.elements[3] = 2, [1; 3], Order::Triquadratic, "no volume"),
    ];
    for (change, cells, order, wanted) in cases {
        let mut mesh = good();
        change(&mut mesh);
        let error = Cage::about(&mesh, cells, order).expect_err(wanted).to_string();
        assert!(error.contains(wanted) && error.contains("cage"), "`{wanted}` is missing from: {error}");
    }
}

#[test]
fn bricks_want_the_embedding_of_their_cage() {
    type Change = fn(&mut SoftBody);
    let build = |change: Change| {
        let mut soft = caged(&ball(), [2, 2, 2], Order::Trilinear);
        change(&mut soft);
        let mut builder = manyworlds_model::ModelBuilder::new("cage");
        builder.soft_body(soft);
        builder.build()
    };
    assert_eq!(build(|_| ()).unwrap().n_v, 81);
    let cases: [(Change, &str); 4] = [
        (|s| s.embedding = None, "bricks, which want an embedding"),
        (|s| s.order = Order::Linear, "its elements are tetrahedra"),
        (|s| s.embedding = caged(&ball(), [1, 1, 1], Order::Trilinear).embedding, "that of another cage"),
        (|s| s.elements.swap(0, 4), "inside out"),
    ];
    for (change, wanted) in cases {
        let error = build(change).expect_err(wanted).to_string();
        assert!(error.contains(wanted) && error.contains("soft body 0 \"f\""), "`{wanted}` is missing from: {error}");
    }
}

#[test]
fn what_files_say_wrong_of_cages_is_named() {
    let flex = |attributes: &str, pins: &str, custom: &str| {
        format!(
            "<mujoco><custom>{custom}</custom>\n<worldbody>\n<flexcomp name=\"f\" dim=\"3\" count=\"3 3 3\" {attributes}>\n\
             <elasticity young=\"1e5\"/>{pins}</flexcomp></worldbody></mujoco>"
        )
    };
    let cases: [(String, &[&str]); 9] = [
        (flex("dof=\"trilinear\" cellcount=\"2 2\"", "", ""), &["m.xml:3", "`cellcount` needs 3 numbers, found 2"]),
        (flex("dof=\"trilinear\" cellcount=\"2 0 2\"", "", ""), &["m.xml:3", "at least 1 along each axis, found 0"]),
        (flex("dof=\"trilinear\" cellcount=\"2 x 2\"", "", ""), &["m.xml:3", "cellcount", "x"]),
        (flex("dof=\"quadratic\" cellcount=\"9999 9999 9999\"", "", ""), &["m.xml:3", "too many nodes"]),
        (flex("dof=\"trilinear\"", "<pin id=\"8\"/>", ""), &["m.xml:4", "no point 8, there are 8"]),
        (flex("dof=\"trilinear\"", "<pin gridrange=\"0 0 0 0 2 2\"/>", ""), &["m.xml:4", "no point 0 2 2"]),
        (flex("dof=\"trilinear\"", "<pin range=\"0 7\"/>", ""), &["m.xml:3", "all its nodes are pinned"]),
        (flex("dof=\"quadratic\"", "", "<numeric name=\"f:order\" data=\"2\"/>"), &["m.xml:1", "`f` is a cage"]),
        (flex("dof=\"radial\"", "", ""), &["m.xml:3", "dof=\"radial\"", "full, trilinear and quadratic are read"]),
    ];
    for (text, wanted) in cases {
        let error = read(&text).expect_err(&text).to_string();
        for word in wanted {
            assert!(error.contains(word), "`{word}` is missing from: {error}\n{text}");
        }
    }
}

/// A pressure in the half of the cells whose middles lie in a box of the flexcomp's own frame, whose x axis is the parent's y axis.
#[test]
fn activations_choose_cells() {
    let text = "<mujoco><custom><numeric name='f:activation' data='5000 -1 -1 -1 0 1 1'/></custom><worldbody><flexcomp name='f' dim='3' \
                dof='trilinear' count='3 3 3' cellcount='1 4 1' euler='0 0 90'><elasticity young='1e5'/></flexcomp></worldbody></mujoco>";
    let soft = read(text).unwrap().model.soft.remove(0);
    assert_eq!(soft.regions[0].elements, [0, 1]);
}
