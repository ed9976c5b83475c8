//! Mesh files of every kind give the same solid.

use std::fmt::Write as _;
use std::io;
use std::path::Path;

use manyworlds_model::{ImportOptions, Model, ModelError, Vec3, from_mjcf_str};

/// A unit cube away from the origin, as vertices and counter-clockwise quads.
const VERTICES: [[f32; 3]; 8] = [
    [1.0, 0.0, 0.0],
    [2.0, 0.0, 0.0],
    [2.0, 1.0, 0.0],
    [1.0, 1.0, 0.0],
    [1.0, 0.0, 1.0],
    [2.0, 0.0, 1.0],
    [2.0, 1.0, 1.0],
    [1.0, 1.0, 1.0],
];
const QUADS: [[usize; 4]; 6] = [[0, 3, 2, 1], [4, 5, 6, 7], [0, 1, 5, 4], [1, 2, 6, 5], [2, 3, 7, 6], [3, 0, 4, 7]];

fn triangles() -> impl Iterator<Item = [usize; 3]> {
    QUADS.into_iter().flat_map(|[a, b, c, d]| [[a, b, c], [a, c, d]])
}

fn binary_stl() -> Vec<u8> {
    // A header that looks like ASCII must not mislead.
    let mut bytes = b"solid in name only".to_vec();
    bytes.resize(80, 0);
    bytes.extend(12_u32.to_le_bytes());
    for triangle in triangles() {
        bytes.extend([0; 12]);
        triangle.iter().for_each(|&v| VERTICES[v].iter().for_each(|x| bytes.extend(x.to_le_bytes())));
        bytes.extend([0; 2]);
    }
    bytes
}

fn ascii_stl() -> Vec<u8> {
    let mut text = String::from("solid cube\n");
    for triangle in triangles() {
        text += "facet normal 0 0 0\nouter loop\n";
        triangle.iter().map(|&v| VERTICES[v]).for_each(|[x, y, z]| writeln!(text, "vertex {x} {y} {z}").unwrap());
        text += "endloop\nendfacet\n";
    }
    (text + "endsolid\n").into_bytes()
}

fn obj() -> Vec<u8> {
    let mut text = String::from("# a cube\nvn 0 0 1\n");
    VERTICES.iter().for_each(|[x, y, z]| writeln!(text, "v {x} {y} {z}").unwrap());
    for (nth, quad) in QUADS.iter().enumerate() {
        // Every way to write a corner.
        let corners = quad.map(|v| match nth {
            0 => format!("{}", v + 1),
            1 => format!("{}//1", v + 1),
            2 => format!("{}/1/1", v + 1),
            _ => format!("-{}", 8 - v),
        });
        writeln!(text, "f {}", corners.join(" ")).unwrap();
    }
    text.into_bytes()
}

fn load(file: &str, bytes: Vec<u8>, attributes: &str) -> Result<Model, ModelError> {
    let text = format!(
        "<mujoco><compiler meshdir=\"meshes\"/><asset><mesh name=\"m\" file=\"{file}\" {attributes}/></asset>
        <worldbody><body><freejoint/><geom type=\"mesh\" mesh=\"m\" density=\"10\"/></body></worldbody></mujoco>"
    );
    let wanted = Path::new("models/meshes").join(file);
    let resolver =
        |path: &Path| if path == wanted { Ok(bytes.clone()) } else { Err(io::Error::from(io::ErrorKind::NotFound)) };
    from_mjcf_str("models/m.xml", &text, &resolver, &ImportOptions::default()).map(|loaded| loaded.model)
}

#[test]
fn a_cube_is_a_cube_in_every_format() {
    for (file, bytes) in [("cube.stl", binary_stl()), ("CUBE.STL", ascii_stl()), ("cube.obj", obj())] {
        for filling in ["legacy", "exact", "convex"] {
            let model = load(file, bytes.clone(), &format!("inertia=\"{filling}\"")).unwrap();
            let inertial = model.bodies[1].inertial;
            assert!((inertial.mass - 10.0).abs() < 1e-12, "{file} {filling}: {}", inertial.mass);
            assert!((inertial.com - Vec3::new(1.5, 0.5, 0.5)).amax() < 1e-12);
            assert!((inertial.inertia - nalgebra::Matrix3::identity() * (10.0 / 6.0)).amax() < 1e-12);
            let mesh = &model.meshes[0];
            assert_eq!((mesh.vertices.len(), mesh.triangles.len()), (8, 12));
        }
    }
}

#[test]
fn hulls_are_closed_and_seen_counter_clockwise_from_outside_also_when_mirrored() {
    for scale in ["1 2 3", "-1 2 3"] {
        let model = load("cube.obj", obj(), &format!("scale=\"{scale}\" inertia=\"exact\"")).unwrap();
        assert!((model.bodies[1].inertial.mass - 60.0).abs() < 1e-9);
        let mesh = &model.meshes[0];
        let volume: f64 = mesh
            .triangles
            .iter()
            .map(|t| t.map(|v| mesh.vertices[v as usize]))
            .map(|[a, b, c]| a.dot(&b.cross(&c)) / 6.0)
            .sum();
        assert!((volume - 6.0).abs() < 1e-9, "{volume}");
    }
}

#[test]
fn wrong_files_are_refused() {
    let truncated = binary_stl()[..200].to_vec();
    let flat = b"v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3 4\n".to_vec();
    let cases: [(&str, Vec<u8>, &str); 8] = [
        ("m.stl", truncated, "neither binary STL by its size nor text"),
        ("m.stl", vec![], "too short"),
        ("m.stl", b"solid\nvertex 1 2\n".to_vec(), "line 2"),
        ("m.obj", b"v 1 2 x\n".to_vec(), "line 1"),
        ("m.obj", b"v 1 2 3\nf 1 2 3\n".to_vec(), "line 2: a corner refers to vertex 2, there are 1"),
        ("m.obj", b"v 1 2 3\nf -2 1 1\n".to_vec(), "line 2: a corner refers to vertex `-2`"),
        ("m.obj", b"v 1 2 inf\n".to_vec(), "not finite"),
        ("m.ply", vec![], ".stl, .obj or .msh"),
    ];
    for (file, bytes, wanted) in cases {
        let error = load(file, bytes, "").expect_err(wanted).to_string();
        assert!(error.contains(wanted) && error.contains("m.xml:1"), "`{wanted}` is missing from: {error}");
    }
    let error = load("flat.obj", flat, "").expect_err("flat").to_string();
    assert!(error.contains("volume"), "{error}");
}

#[test]
fn textures_lie_where_the_file_says() {
    let obj = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nvt 0.25 0.75\nvt 1 0\nvt 0.5\n\
        f 1/1 3/2 2/3\nf 1/1 2/2 4/-1\nf 2/1 3/2 4/3\nf 3/1 1/2 4/3\n";
    let read = |obj: String, scale: &str| {
        let text = format!(
            r#"<mujoco><asset><mesh name="m" file="m.obj" scale="{scale}"/></asset>
            <worldbody><geom type="mesh" mesh="m"/></worldbody></mujoco>"#
        );
        let file = |_: &Path| Ok(obj.clone().into_bytes());
        from_mjcf_str("m.xml", &text, &file, &ImportOptions::default()).unwrap().model.meshes[0].clone()
    };
    let [a, b, c] = [[0.25, 0.25], [1.0, 1.0], [0.5, 1.0]];
    assert_eq!(read(obj.to_owned(), "1 1 1").texture(), [[a, b, c]; 4]);
    // A mirrored mesh turns its triangles.
    let mirrored = read(obj.to_owned(), "1 1 -1");
    assert_eq!(mirrored.texture(), [[a, c, b]; 4]);
    assert_eq!(mirrored.seen().1[0], [0, 1, 2]);
    // Where one corner says nothing, nothing lies on the mesh.
    assert!(read(obj.replace("4/-1", "4"), "1 1 1").texture().is_empty());
}

/// Files that an included file names may lie beside it instead of in the folder of meshes, and so may what it includes.
#[test]
fn files_may_lie_beside_the_included_file() {
    let text = "<mujoco><compiler meshdir=\"meshes\"/><include file=\"robot/parts.xml\"/></mujoco>";
    let parts = "<mujoco><include file=\"more.xml\"/><asset><mesh name=\"m\" file=\"../cube.stl\"/></asset></mujoco>";
    let more = "<mujoco><worldbody><body><freejoint/><geom type=\"mesh\" mesh=\"m\"/></body></worldbody></mujoco>";
    let read_as = |main: &str, own: &'static str| {
        let resolver = move |path: &Path| match path.to_str() {
            Some("models/robot/parts.xml") => Ok(parts.into()),
            Some("models/robot/more.xml") => Ok(more.into()),
            Some(found) if found == own => Ok(binary_stl()),
            _ => Err(io::Error::from(io::ErrorKind::NotFound)),
        };
        from_mjcf_str(
            main,
            &text.replace("robot/", if main == "models/m.xml" { "robot/" } else { "" }),
            &resolver,
            &ImportOptions::default(),
        )
    };
    let read = |own| read_as("models/m.xml", own);
    // Also where that is the main file's folder.
    assert_eq!(read_as("models/robot/m.xml", "models/robot/../cube.stl").unwrap().model.meshes.len(), 1);
    assert_eq!(read("models/robot/../cube.stl").unwrap().model.meshes.len(), 1);
    assert_eq!(read("models/meshes/../cube.stl").unwrap().model.meshes.len(), 1);
    let error = read("").unwrap_err().to_string();
    assert!(error.contains("parts.xml:1") && error.contains("models/meshes/../cube.stl"), "{error}");
}
