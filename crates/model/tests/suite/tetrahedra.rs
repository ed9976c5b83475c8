//! Files of tetrahedra for the builder: VTK's own (`golden/make_vtk.py` wrote them) and Gmsh's, and broken ones.

use std::path::{Path, PathBuf};

use manyworlds_model::{Contacting, Material, MaterialLaw, ModelBuilder, Order, SoftBody, Tetrahedra, Vec3};
use serde_json::Value;

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

/// The file of that name in golden/vtk.
fn bytes(name: &str) -> Vec<u8> {
    std::fs::read(golden().join("vtk").join(name)).expect("a golden file")
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

/// Six times the volume between four nodes.
fn turn(mesh: &Tetrahedra, own: &[u32]) -> f64 {
    let at = |k: usize| mesh.nodes[own[k] as usize];
    (at(1) - at(0)).cross(&(at(2) - at(0))).dot(&(at(3) - at(0)))
}

#[test]
fn files_of_vtk_are_read_as_vtk_reads_them() {
    let text = std::fs::read_to_string(golden().join("vtk/golden.json")).unwrap();
    let golden_data: Value = serde_json::from_str(&text).unwrap();
    let files = golden_data.as_object().unwrap();
    assert_eq!(files.len(), 8);
    for (name, wanted) in files {
        let mesh = Tetrahedra::load(golden().join("vtk").join(name)).unwrap();
        let quadratic = name.starts_with("quadratic");
        assert_eq!(mesh.order, if quadratic { Order::Quadratic } else { Order::Linear }, "{name}");
        let points: Vec<Vec3> =
            wanted["points"].as_array().unwrap().iter().map(|p| Vec3::from_vec(numbers(p))).collect();
        assert_eq!(mesh.nodes.len(), points.len(), "{name}");
        // The golden numbers go through text.
        assert!(mesh.nodes.iter().zip(&points).all(|(a, b)| (a - b).norm() < 1e-16), "{name}");
        let cells = wanted["cells"].as_array().unwrap();
        assert_eq!(mesh.elements.len(), cells.len() * mesh.order.nodes(), "{name}");
        for (own, theirs) in mesh.elements.chunks_exact(mesh.order.nodes()).zip(cells) {
            let mut sorted = own.to_vec();
            sorted.sort_unstable();
            let mut nodes: Vec<u32> = numbers(theirs).iter().map(|&node| node as u32).collect();
            let turned = turn(&mesh, &nodes) < 0.0;
            assert_eq!(own[..4] == nodes[..4], !turned, "{name}: what is inside out is turned round");
            assert!(turn(&mesh, own) > 0.0, "{name}");
            nodes.sort_unstable();
            assert_eq!(sorted, nodes, "{name}");
            for (k, [i, j]) in Order::EDGES.into_iter().enumerate().filter(|_| quadratic) {
                let [a, b, middle] = [i, j, 4 + k].map(|n| mesh.nodes[own[n] as usize]);
                assert!((middle - (a + b) / 2.0 * 1.01).norm() < 1e-12, "{name}: middle {k} of {own:?}");
            }
        }
    }
}

fn body(mesh: Tetrahedra) -> SoftBody {
    let Tetrahedra { nodes, elements, order } = mesh;
    SoftBody {
        name: "pair".into(),
        body: 0,
        nodes,
        pinned: vec![0],
        order,
        elements,
        material: Material {
            law: MaterialLaw::NeoHookean,
            young: 1e5,
            poisson: 0.3,
            density: 1000.0,
            damping: 0.0,
            mass_damping: 0.0,
        },
        regions: Vec::new(),
        contacting: Contacting::default(),
        radius: 0.0,
        embedding: None,
        touches_itself: false,
        q: 0..0,
        v: 0..0,
    }
}

#[test]
fn the_builder_takes_files_of_both_kinds() {
    let files = [
        ("vtk/linear_text_42.vtk", 4 * 3),
        ("vtk/quadratic_binary_51.vtk", 13 * 3),
        ("soft/cube.msh", 26 * 3),
        ("soft/ball4.msh", 124 * 3),
    ];
    for (name, n_v) in files {
        let mut builder = ModelBuilder::new(name);
        builder.soft_body(body(Tetrahedra::load(golden().join(name)).unwrap()));
        assert_eq!(builder.build().unwrap().n_v, n_v, "{name}");
    }
}

#[test]
fn broken_files_of_vtk_name_their_line() {
    let old = String::from_utf8(bytes("linear_text_42.vtk")).unwrap();
    let new = String::from_utf8(bytes("linear_text_51.vtk")).unwrap();
    let cases: [(&str, &str, &str, &str); 29] = [
        (&old, "# vtk DataFile", "<?xml DataFile", "t.vtk:1: `# vtk DataFile Version` expected"),
        (&old, "ASCII", "ascii art", "t.vtk:4: DATASET UNSTRUCTURED_GRID expected, found `art DATASET`"),
        (&old, "ASCII", "BASE64", "t.vtk:3: ASCII or BINARY expected, found `BASE64`"),
        (
            &old,
            "UNSTRUCTURED_GRID",
            "POLYDATA",
            "t.vtk:4: DATASET UNSTRUCTURED_GRID expected, found `DATASET POLYDATA`",
        ),
        (
            &old,
            "FIELD FieldData 2",
            "FIELD FieldData two",
            "t.vtk:5: the number of arrays of a field expected, found `two`",
        ),
        (
            &old,
            "TIME 1 1 double",
            "TIME 1 1 string",
            "t.vtk:6: a type of numbers (float, double, int, ...) expected, found `string`",
        ),
        (&old, "CYCLE 1 1", "CYCLE 1 9", "t.vtk:15: a number of array `CYCLE` expected, found `POINTS`"),
        (&old, "POINTS 5 double", "POINTS -5 double", "t.vtk:15: the number of points expected, found `-5`"),
        (&old, "POINTS 5 double", "POINTS 6 double", "t.vtk:18: x of point 5 expected, found `METADATA`"),
        (&old, "POINTS 5 double", "POINTS 4 double", "t.vtk:17: POINTS, CELLS or CELL_TYPES expected, found `0.09`"),
        (&old, "0.09 0.08", "0.09 0,08", "t.vtk:17: y of point 4 expected, found `0,08`"),
        (&old, "CELLS 3 14", "CELLS 3", "t.vtk:25: cell 1 has 2 nodes: CELLS is to have 3 numbers in all"),
        (&old, "CELLS 3 14", "CELLS 3 15", "t.vtk:27: CELLS is to have 15 numbers, found 14"),
        (&old, "CELLS 3 14", "CELLS 3 13", "t.vtk:27: cell 2 has 4 nodes: CELLS is to have 13 numbers in all"),
        (&old, "4 0 1 2 3 \n", "-4 0 1 2 3 \n", "t.vtk:26: cell 1 has -4 nodes"),
        (&old, "4 0 1 2 3 \n", "4 0 1 2 3.5 \n", "t.vtk:26: a node of cell 1 expected, found `3.5`"),
        (&old, "4 0 1 2 3 \n", "4 0 1 2 5 \n", "t.vtk:26: cell 1 refers to node 5, there are 5"),
        (&old, "4 0 1 2 3 \n", "4 0 1 2 -1 \n", "t.vtk:26: cell 1 refers to node -1, there are 5"),
        (&old, "\n10\n10\n", "\n10\n12\n", "t.vtk:32: cell 2 is of type 12: only tetrahedra (10, 24) are read"),
        (&old, "\n10\n10\n", "\n10\n24\n", "t.vtk:32: cell 2: tetrahedra of 4 and of 10 nodes must not be mixed"),
        (&old, "\n10\n10\n", "\n24\n24\n", "t.vtk:26: cell 1 of type 24: 10 nodes expected, found 4"),
        (&old, "\n10\n10\n", "\n5\n5\n", "t.vtk: the file has no tetrahedra"),
        (&old, "CELL_TYPES 3\n5\n", "CELL_TYPES 2\n", "t.vtk:31: CELL_TYPES: 3 types expected, one a cell, found 2"),
        (&old, "CELL_TYPES 3", "CELL_DATA 3", "t.vtk:29: CELL_TYPES is missing"),
        (&new, "OFFSETS", "OFFSETZ", "t.vtk:25: the number of nodes of cell 0 expected, found `OFFSETZ`"),
        (&new, "0 3 7 11 ", "0 3 7 12 ", "t.vtk:26: offset 3 must be from 7 to 11, found 12"),
        (&new, "0 3 7 11 ", "0 7 3 11 ", "t.vtk:26: offset 2 must be from 7 to 11, found 3"),
        (&new, "CONNECTIVITY", "CONNECTED", "t.vtk:27: CONNECTIVITY expected, found `CONNECTED`"),
        (&new, "2 4 \n", "2 9 \n", "t.vtk:28: cell 2 refers to node 9, there are 5"),
    ];
    for (good, from, to, wanted) in cases {
        assert!(good.contains(from), "{from}");
        let error =
            Tetrahedra::from_bytes("t.vtk", good.replacen(from, to, 1).as_bytes()).expect_err(wanted).to_string();
        assert!(error.starts_with(wanted), "expected `{wanted}`, found `{error}`");
    }
}

/// A binary file that ends anywhere, or with any byte changed, gives tetrahedra or an error, and an end too early an error.
#[test]
fn broken_binary_files_of_vtk_are_refused() {
    for name in ["quadratic_binary_42.vtk", "quadratic_binary_51.vtk"] {
        let good = bytes(name);
        let needed = good.windows(10).position(|part| part == b"POINT_DATA").unwrap() - 1;
        for end in 0..needed {
            Tetrahedra::from_bytes(name, &good[..end]).expect_err("the end is missing");
        }
        Tetrahedra::from_bytes(name, &good[..needed]).unwrap();
        for at in 0..needed {
            let mut changed = good.clone();
            changed[at] ^= 0x95;
            if let Ok(mesh) = Tetrahedra::from_bytes(name, &changed) {
                assert!(mesh.elements.iter().all(|&node| (node as usize) < mesh.nodes.len()));
            }
        }
        let points = good.windows(6).position(|part| part == b"POINTS").unwrap();
        let error = Tetrahedra::from_bytes("t.vtk", &good[..points + 45]).unwrap_err().to_string();
        assert_eq!(error, "t.vtk: x of point 1 is missing");
    }
}

#[test]
fn other_files_are_refused_by_name() {
    let read = |name: &str| Tetrahedra::from_bytes(name, b"").unwrap_err().to_string();
    assert!(read("t.vtu").starts_with("t.vtu: unknown kind of file"));
    assert!(read("t").contains("expected .msh (Gmsh) or .vtk"));
    assert_eq!(read("t.msh"), "t.msh: $MeshFormat is missing");
    let missing = Tetrahedra::load("no/such.vtk").unwrap_err().to_string();
    assert!(missing.starts_with("no/such.vtk: "), "{missing}");
}
