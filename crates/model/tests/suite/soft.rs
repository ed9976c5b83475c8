//! Soft bodies of MJCF: as MuJoCo reads them (`golden/make_soft.py` wrote what it finds), what is ours, and what is refused.

use std::io;
use std::path::{Path, PathBuf};

use manyworlds_model::{
    Contacting, ImportOptions, Loaded, Material, MaterialLaw, Model, ModelBuilder, ModelError, Order, Region, SoftBody,
    Tetrahedra, Transmission, Vec3, from_mjcf_str, load,
};
use serde_json::Value;

fn golden(name: &str) {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/soft");
    let Loaded { model, .. } = load(folder.join(format!("{name}.xml")), &ImportOptions::default()).unwrap();
    let text = std::fs::read_to_string(folder.join(format!("{name}.json"))).unwrap();
    let golden: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((model.n_q, model.n_v), (index(&golden["n_q"]), index(&golden["n_v"])));
    let flexes = golden["flexes"].as_array().unwrap();
    assert_eq!(model.soft.len(), flexes.len());
    for (soft, flex) in model.soft.iter().zip(flexes) {
        let what = &soft.name;
        assert_eq!(what.as_str(), flex["name"].as_str().unwrap());
        let points = numbers(&flex["points"]);
        assert_eq!(3 * soft.nodes.len(), points.len(), "{what}");
        let pose = model.bodies[soft.body].pose;
        for (node, theirs) in soft.nodes.iter().zip(points.chunks_exact(3)) {
            let at = pose.translation.vector + pose.rotation * node;
            assert!((at - Vec3::from_column_slice(theirs)).norm() < 1e-12, "{what}: {at} is not {theirs:?}");
        }
        assert_eq!(soft.n_element(), index(&flex["elements"]), "{what}");
        let pinned: Vec<usize> = flex["pinned"].as_array().unwrap().iter().map(index).collect();
        assert_eq!(soft.pinned.iter().map(|&p| p as usize).collect::<Vec<_>>(), pinned, "{what}");
        near(what, soft.volume(), &flex["volume"]);
        // MuJoCo drops the mass of pinned points.
        let free = (soft.nodes.len() - pinned.len()) as f64 / soft.nodes.len() as f64;
        near(what, soft.volume() * soft.material.density * free, &flex["mass_of_free"]);
        assert_eq!((soft.q.start, soft.v.start), (index(&flex["q"]), index(&flex["v"])), "{what}");
        let contact = &soft.contacting;
        near(what, soft.radius, &flex["radius"]);
        near(what, contact.friction, &flex["friction"]);
        near(what, contact.margin, &flex["margin"]);
        assert_eq!(contact.frictionless, flex["condim"] == 1, "{what}");
        let bits = [contact.contype, contact.conaffinity].map(Value::from);
        assert_eq!(bits, [flex["contype"].clone(), flex["conaffinity"].clone()], "{what}");
        assert_eq!(Value::from(contact.priority), flex["priority"], "{what}");
    }
}

fn index(value: &Value) -> usize {
    value.as_u64().unwrap() as usize
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

#[track_caller]
fn near(what: &str, ours: f64, theirs: &Value) {
    let theirs = theirs.as_f64().unwrap();
    assert!((ours - theirs).abs() <= 1e-9 * theirs.abs(), "{what}: {ours} is not {theirs}");
}

#[test]
fn a_pinned_grid_is_mujocos() {
    golden("grid_pinned");
}

#[test]
fn gmsh_of_both_versions_is_mujocos() {
    golden("gmsh_drop");
    golden("pinch");
}

#[test]
fn listed_points_are_mujocos() {
    golden("direct");
}

#[test]
fn shells_frames_and_contacts_are_mujocos() {
    golden("shells");
}

fn read(text: &str, file: &str) -> Result<Loaded, ModelError> {
    let files = |path: &Path| match path.to_str() {
        Some("t.msh") => Ok(file.as_bytes().to_vec()),
        _ => Err(io::Error::new(io::ErrorKind::NotFound, "no such file")),
    };
    from_mjcf_str("m.xml", text, &files, &ImportOptions::default())
}

/// A flexcomp on line 3, with attributes and children, and a section before the world.
fn flexcomp(attributes: &str, children: &str, custom: &str) -> String {
    format!(
        "<mujoco><custom>{custom}</custom>\n<worldbody>\n<flexcomp name=\"f\" dim=\"3\" {attributes}>\n{children}\n\
         </flexcomp></worldbody></mujoco>"
    )
}

const ELASTIC: &str = "<elasticity young=\"1e5\" poisson=\"0.3\" damping=\"0.01\"/>";

#[track_caller]
fn soft(attributes: &str, children: &str, custom: &str) -> SoftBody {
    let text = flexcomp(attributes, &format!("{ELASTIC}{children}"), custom);
    let mut model = read(&text, "").unwrap().model;
    model.soft.remove(0)
}

#[test]
fn custom_data_give_material_order_and_activation() {
    let plain = soft("count=\"3 2 2\"", "", "");
    assert_eq!((plain.material.law, plain.order, plain.regions.len()), (MaterialLaw::NeoHookean, Order::Linear, 0));
    let material = &plain.material;
    assert_eq!([material.young, material.poisson, material.damping, material.mass_damping], [1e5, 0.3, 0.01, 0.0]);
    let laws = [
        ("neo-hookean", MaterialLaw::NeoHookean),
        ("corotated", MaterialLaw::Corotated),
        ("linear", MaterialLaw::Linear),
        ("stvk", MaterialLaw::SaintVenantKirchhoff),
    ];
    for (name, law) in laws {
        let custom = format!("<text name=\"f:material\" data=\"{name}\"/>");
        assert_eq!(soft("count=\"2 2 2\"", "", &custom).material.law, law);
    }
    let active = soft("count=\"2 2 2\"", "", "<numeric name=\"f:activation\" data=\"-300\"/>");
    let region = Region { name: "activation".into(), elements: (0..6).collect(), pressure: -300.0 };
    assert_eq!(active.regions, [region]);
}

#[test]
fn an_activation_is_a_control_of_a_region() {
    let custom = "<numeric name=\"f:activation\" data=\"0 0 -1 -1 1 1 1\"/>";
    let text = flexcomp("count=\"3 2 2\"", ELASTIC, custom);
    let actuator = "<actuator><motor name=\"m\" joint=\"j\"/></actuator>";
    let body = "<body><joint name=\"j\" type=\"slide\"/><geom size=\"1\"/></body>";
    let text = text.replace("</worldbody></mujoco>", &format!("{body}</worldbody>{actuator}</mujoco>"));
    let model = read(&text, "").unwrap().model;
    // The second of two cells along x.
    assert_eq!(model.soft[0].regions[0].elements, (6..12).collect::<Vec<_>>());
    let names: Vec<_> = model.actuators.iter().map(|actuator| actuator.name.as_str()).collect();
    assert_eq!(names, ["m", "f:activation"]);
    assert_eq!(model.actuators[1].transmission, Transmission::Region { soft: 0, region: 0 });
    let wrong = |data: &str| {
        let custom = format!("<numeric name=\"f:activation\" data=\"{data}\"/>");
        read(&flexcomp("count=\"2 2 2\"", ELASTIC, &custom), "").unwrap_err().to_string()
    };
    assert!(wrong("1 2 3").contains("found 3 numbers"), "{}", wrong("1 2 3"));
    assert!(wrong("0 5 5 5 6 6 6").contains("no element"), "{}", wrong("0 5 5 5 6 6 6"));
}

#[test]
fn linear_meshes_become_quadratic() {
    let pin = "<pin gridrange=\"0 0 0 0 1 1\"/>";
    let coarse = soft("count=\"3 2 2\"", pin, "");
    let fine = soft("count=\"3 2 2\"", pin, "<numeric name=\"f:order\" data=\"2\"/>");
    assert_eq!(fine.order, Order::Quadratic);
    let n = coarse.nodes.len();
    assert_eq!(fine.nodes[..n], coarse.nodes[..]);
    assert!((fine.volume() / coarse.volume() - 1.0).abs() < 1e-12);
    assert!((fine.volume() * fine.material.density - 1.0).abs() < 1e-12);
    for (element, corners) in fine.elements.chunks_exact(10).zip(coarse.elements.chunks_exact(4)) {
        assert_eq!(element[..4], *corners);
        for (k, [i, j]) in [[0, 1], [1, 2], [2, 0], [0, 3], [1, 3], [2, 3]].into_iter().enumerate() {
            let ends = [element[i], element[j]].map(|node| fine.nodes[node as usize]);
            assert!((fine.nodes[element[4 + k] as usize] - (ends[0] + ends[1]) / 2.0).norm() < 1e-15);
        }
    }
    // Every edge has one middle.
    let mut edges: Vec<[u32; 2]> = Vec::new();
    for e in coarse.elements.chunks_exact(4) {
        edges.extend((0..4).flat_map(|i| (0..i).map(move |j| [e[i].min(e[j]), e[i].max(e[j])])));
    }
    edges.sort_unstable();
    edges.dedup();
    assert_eq!(fine.nodes.len(), n + edges.len());
    // All nodes of the pinned end, and no others, are pinned.
    let left = fine.nodes.iter().zip(0..).filter(|(x, _)| x.x < -0.02 + 1e-12).map(|(_, node)| node);
    assert_eq!(fine.pinned, left.collect::<Vec<u32>>());
    assert_eq!(fine.pinned.len(), 9);
}

/// One quadratic tetrahedron in Gmsh's order, its edges a little bent; turned round, if `inverted`.
fn gmsh(inverted: bool) -> String {
    let mut corners = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    if inverted {
        corners.swap(1, 2);
    }
    let mut text = "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n10\n".to_owned();
    let edges = [[0, 1], [1, 2], [2, 0], [3, 0], [2, 3], [1, 3]];
    let middles = edges.map(|[i, j]| [0, 1, 2].map(|k| (corners[i][k] + corners[j][k]) / 2.0 * 1.01));
    for (k, [x, y, z]) in corners.into_iter().chain(middles).enumerate() {
        // Numbers with gaps.
        text += &format!("{} {x} {y} {z}\n", 10 * k + 7);
    }
    text += "$EndNodes\n$Elements\n2\n1 2 2 0 1 7 17 27\n2 11 2 0 1 7 17 27 37 47 57 67 77 87 97\n$EndElements\n";
    text
}

#[test]
fn quadratic_gmsh_elements_keep_their_edges() {
    for inverted in [false, true] {
        let text = flexcomp("type=\"gmsh\" file=\"t.msh\"", ELASTIC, "");
        let soft = read(&text, &gmsh(inverted)).unwrap().model.soft.remove(0);
        assert_eq!((soft.order, soft.nodes.len()), (Order::Quadratic, 10));
        let e: Vec<Vec3> = soft.elements.iter().map(|&node| soft.nodes[node as usize]).collect();
        assert!((e[1] - e[0]).cross(&(e[2] - e[0])).dot(&(e[3] - e[0])) > 0.0);
        for (k, [i, j]) in [[0, 1], [1, 2], [2, 0], [0, 3], [1, 3], [2, 3]].into_iter().enumerate() {
            assert!((e[4 + k] - (e[i] + e[j]) / 2.0 * 1.01).norm() < 1e-12, "middle {k}, inverted {inverted}");
        }
    }
}

#[test]
fn what_is_not_read_is_refused_by_name() {
    let flex = |attributes: &str, children: &str| flexcomp(attributes, &format!("{ELASTIC}{children}"), "");
    let cases: Vec<(String, &[&str])> = vec![
        (world("<flexcomp name=\"f\"/>"), &["m.xml:3", "<flexcomp name=\"f\">", "dim=\"2\" (the default)"]),
        (world("<flexcomp name=\"f\" dim=\"1\"/>"), &["m.xml:3", "dim=\"1\""]),
        (world("<flexcomp dim=\"3\"/>"), &["m.xml:3", "`name` is missing"]),
        (flexcomp("", "", ""), &["m.xml:3", "without elasticity"]),
        (flexcomp("", "<elasticity young=\"0\"/>", ""), &["m.xml:3", "without elasticity"]),
        (flexcomp("", "<elasticity young=\"-1\"/>", ""), &["m.xml:3", "Young's modulus", "-1"]),
        (flexcomp("", "<elasticity young=\"1\" poisson=\"0.5\"/>", ""), &["m.xml:3", "Poisson's ratio", "0.5"]),
        (flexcomp("", "<elasticity young=\"1\" damping=\"-1\"/>", ""), &["m.xml:3", "damping", "-1"]),
        (flexcomp("", "<elasticity young=\"1\" yield=\"2\"/>", ""), &["m.xml:4", "yield=\"2\""]),
        (flex("dof=\"radial\"", ""), &["m.xml:3", "dof=\"radial\""]),
        (flex("rigid=\"true\"", ""), &["m.xml:3", "rigid=\"true\""]),
        (flex("type=\"disc\"", ""), &["m.xml:3", "type disc"]),
        (flex("type=\"ball\"", ""), &["m.xml:3", "unknown flexcomp type `ball`"]),
        (flex("size=\"1\"", ""), &["m.xml:3", "unknown attribute `size`"]),
        (flex("mass=\"0\"", ""), &["m.xml:3", "`mass` must be positive"]),
        (flex("radius=\"-1\"", ""), &["m.xml:3", "radius", "-1"]),
        (flex("count=\"3 3 1\"", ""), &["m.xml:3", "`count`", "found 1"]),
        (flex("count=\"3000 3000 3000\"", ""), &["m.xml:3", "too large"]),
        (flex("spacing=\"1 0 1\"", ""), &["m.xml:3", "`spacing`"]),
        (flex("type=\"gmsh\"", ""), &["m.xml:3", "`file` is missing"]),
        (flex("type=\"gmsh\" file=\"no.msh\"", ""), &["m.xml:3", "cannot read no.msh"]),
        (flex("type=\"gmsh\" file=\"t.msh\"", ""), &["m.xml:3", "t.msh", "$MeshFormat"]),
        (flex("type=\"gmsh\" file=\"t.vtk\"", ""), &["m.xml:3", "t.vtk", "MuJoCo reads no t.vtk", "Tetrahedra::load"]),
        (flex("type=\"direct\" point=\"0 0\"", ""), &["m.xml:3", "`point` needs 3"]),
        (flex("type=\"direct\" point=\"0 0 0\" element=\"0 1 2 3\"", ""), &["m.xml:3", "point 1, there are 1"]),
        (
            flex("type=\"direct\" point=\"0 0 0 1 0 0 0 1 0 1 1 0\" element=\"0 1 2 3\"", ""),
            &["m.xml:3", "element 0 is flat"],
        ),
        (flex("", "<pin id=\"1000\"/>"), &["m.xml:4", "`id`", "1000"]),
        (flex("", "<pin range=\"5 3\"/>"), &["m.xml:4", "`range` is reversed"]),
        (flex("", "<pin grid=\"0 0 10\"/>"), &["m.xml:4", "no point 0 0 10"]),
        (flex("type=\"box\"", "<pin grid=\"0 0 0\"/>"), &["m.xml:4", "type grid"]),
        (flex("", "<pin gridrange=\"0 0 0 9 9 9\"/>"), &["m.xml:3", "all its nodes are pinned"]),
        (flex("", "<edge equality=\"true\"/>"), &["m.xml:4", "equality=\"true\""]),
        (flex("", "<contact condim=\"2\"/>"), &["m.xml:4", "condim"]),
        (flex("", "<contact friction=\"-1\"/>"), &["m.xml:3", "friction", "-1"]),
        (flex("", "<bend/>"), &["m.xml:4", "unknown element <bend>"]),
        (flexcomp("", ELASTIC, "<text name=\"f:material\" data=\"jelly\"/>"), &["m.xml:1", "found `jelly`"]),
        (flexcomp("", ELASTIC, "<numeric name=\"f:order\" data=\"3\"/>"), &["m.xml:1", "1 or 2, found 3"]),
        ("<mujoco><deformable><flex/></deformable></mujoco>".into(), &["m.xml:1", "<deformable>"]),
    ];
    for (text, wanted) in cases {
        let error = read(&text, "").expect_err(&text).to_string();
        for word in wanted {
            assert!(error.contains(word), "`{word}` is missing from: {error}\n{text}");
        }
    }
}

/// A mocap body carries one as the ground does: its degrees of freedom come where they are in the file.
#[test]
fn a_mocap_body_carries_a_flexcomp() {
    let flex = format!("<flexcomp name=\"f\" dim=\"3\" count=\"2 2 2\">{ELASTIC}<pin id=\"0 1\"/></flexcomp>");
    let text = world(&format!(
        "<body mocap=\"true\"><body pos=\"0 0 1\">{flex}<body><joint/><geom size=\"0.1\"/></body></body></body>"
    ));
    let model = read(&text, "").unwrap().model;
    assert_eq!(model.bodies[model.soft[0].body].mocap, Some(0));
    assert_eq!((model.n_v, model.soft[0].v.clone()), (19, 0..18));
}

#[test]
fn what_is_left_out_is_listed() {
    let text = flexcomp("count=\"2 2 2\"", ELASTIC, "<text name=\"g:material\" data=\"linear\"/>");
    let loaded = read(&text, "").unwrap();
    let why: Vec<&str> = loaded.ignored.iter().map(|i| i.why.as_str()).collect();
    assert_eq!(why, ["there is no flexcomp of that name"]);
    assert!(loaded.assumptions[0].contains("by volume"));
}

/// On by default, as in MuJoCo.
#[test]
fn a_surface_touches_itself_unless_told_not_to() {
    let of = |contact: &str| soft("count=\"2 2 2\"", &format!("{ELASTIC}{contact}"), "").touches_itself;
    assert!(of("") && of("<contact friction=\"0.5\"/>") && of("<contact selfcollide=\"bvh\"/>"));
    assert!(!of("<contact selfcollide=\"none\"/>") && !of("<contact contype=\"0\"/>"));
    let text = flexcomp("count=\"2 2 2\"", &format!("{ELASTIC}<contact selfcollide=\"some\"/>"), "");
    let error = read(&text, "").expect_err("no such word").to_string();
    assert!(error.contains("selfcollide") && error.contains("found `some`"), "{error}");
}

#[test]
fn broken_msh_files_are_refused() {
    let good = gmsh(false);
    let cases: [(&str, &str, &str); 9] = [
        ("2.2 0 8", "3.0 0 8", "version `3.0`"),
        ("2.2 0 8", "2.2 1 8", "binary"),
        ("$EndNodes", "", "$EndNodes is missing"),
        ("\n17 1 0 0", "\n17 1 0 a", "found `a`"),
        ("\n17 1 0 0", "\n7 1 0 0", "node 7 comes twice"),
        (" 97\n", " 98\n", "node 98"),
        (" 97\n", "\n", "a node of an element is missing"),
        ("\n2 11 2", "\n2 5 2", "element 2 is of type 5"),
        ("\n2 11 2 0 1 7 17 27 37 47 57 67 77 87 97", "\n2 2 2 0 1 7 17 27", "no tetrahedra"),
    ];
    for (from, to, wanted) in cases {
        assert!(good.contains(from), "{from}");
        let text = flexcomp("type=\"gmsh\" file=\"t.msh\"", ELASTIC, "");
        let error = read(&text, &good.replacen(from, to, 1)).expect_err(wanted).to_string();
        assert!(error.contains(wanted) && error.contains("t.msh"), "`{wanted}` is missing from: {error}");
    }
}

/// Two tetrahedra on one side.
fn pair() -> SoftBody {
    SoftBody {
        name: "pair".into(),
        body: 0,
        nodes: [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 1.0, 1.0]].map(Vec3::from).to_vec(),
        pinned: vec![0],
        order: Order::Linear,
        elements: vec![0, 1, 2, 3, 1, 2, 3, 4],
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
fn wrong_soft_bodies_are_refused() {
    type Change = fn(&mut SoftBody);
    let build = |change: Change| {
        let mut builder = ModelBuilder::new("soft");
        let mut soft = pair();
        change(&mut soft);
        builder.soft_body(soft);
        builder.build()
    };
    assert_eq!(build(|_| {}).unwrap().n_v, 12);
    let cases: [(Change, &str); 24] = [
        (|s| s.body = 3, "refers to body 3"),
        (|s| s.nodes[2].y = f64::NAN, "node 2 must be finite"),
        (|s| s.elements.truncate(7), "4 nodes each, found 7"),
        (|s| s.elements.clear(), "4 nodes each, found 0"),
        (|s| s.elements[7] = 5, "element 1 refers to node 5, there are 5"),
        (|s| s.elements[4] = 4, "element 1 has node 4 twice"),
        (|s| s.nodes[3].z = 0.0, "element 0 is flat"),
        (|s| s.elements.swap(4, 5), "element 1 is flat or inside out"),
        (|s| s.elements.extend([1, 2, 0, 3]), "element 2 has the corners of element 0"),
        (|s| s.elements.truncate(4), "node 4 is in no element"),
        (|s| s.pinned = vec![0, 1, 2, 3, 4], "all its nodes are pinned"),
        (|s| s.pinned = vec![5], "pins node 5, there are 5"),
        (|s| s.pinned = vec![1, 0], "pinned nodes must ascend, found 1 before 0"),
        (|s| s.material.young = 0.0, "Young's modulus"),
        (|s| s.material.poisson = 0.5, "Poisson's ratio"),
        (|s| s.material.poisson = -0.1, "Poisson's ratio"),
        (|s| s.material.density = 0.0, "density"),
        (|s| s.material.damping = -1.0, "damping"),
        (|s| s.material.mass_damping = -1.0, "mass damping"),
        (|s| s.radius = -1.0, "radius"),
        (|s| s.contacting.friction = -1.0, "friction"),
        (|s| s.regions = vec![Region { name: "r".into(), elements: vec![2], pressure: 1.0 }], "element 2, there are 2"),
        (|s| s.regions = vec![Region { name: "r".into(), elements: vec![1, 1], pressure: 1.0 }], "must ascend"),
        (|s| s.regions = vec![Region { name: "r".into(), elements: vec![0], pressure: f64::NAN }], "pressure"),
    ];
    for (change, wanted) in cases {
        let error = build(change).expect_err(wanted).to_string();
        assert!(
            error.contains(wanted) && error.contains("soft body 0 \"pair\""),
            "`{wanted}` is missing from: {error}"
        );
    }
}

/// Whoever fills a body by hand may ask for its volume before it is checked.
#[test]
fn the_volume_of_what_has_a_node_too_few_is_no_number() {
    let mut soft = pair();
    assert!(soft.volume() > 0.0);
    soft.elements[7] = 5;
    assert!(soft.volume().is_nan());
    let mut mesh = Tetrahedra { nodes: soft.nodes, elements: soft.elements, order: soft.order };
    let first = mesh.elements[..4].to_vec();
    mesh.elements.swap(1, 2);
    mesh.orient();
    assert_eq!(mesh.elements, [first, mesh.elements[4..].to_vec()].concat());
}

/// The surface is closed and seen from outside: its triangles enclose the body's volume, and each of their edges has one neighbour.
#[test]
fn surfaces_are_closed_and_have_all_outer_nodes() {
    let grid = |custom: &str| soft("count=\"3 3 3\"", "", custom);
    let bodies = [(grid(""), 1, 26), (grid("<numeric name=\"f:order\" data=\"2\"/>"), 4, 98)];
    for (body, each, outer) in bodies {
        let surface = body.surface();
        assert_eq!(surface.len(), 48 * each);
        let mut edges = std::collections::BTreeSet::new();
        let mut nodes: std::collections::BTreeSet<u32> = std::collections::BTreeSet::new();
        let mut volume = 0.0;
        for triangle in &surface {
            let owns = |own: &[u32]| triangle.iter().all(|node| own.contains(node));
            assert!(body.elements.chunks_exact(body.order.nodes()).any(owns));
            let [a, b, c] = triangle.map(|node| body.nodes[node as usize]);
            volume += a.dot(&b.cross(&c)) / 6.0;
            nodes.extend(*triangle);
            for k in 0..3 {
                assert!(edges.insert([triangle[k], triangle[(k + 1) % 3]]), "an edge comes twice");
            }
        }
        assert!(edges.iter().all(|&[a, b]| edges.contains(&[b, a])));
        assert!((volume / body.volume() - 1.0).abs() < 1e-12, "{volume}");
        assert_eq!(nodes.len(), outer);
    }
}

fn world(inside: &str) -> String {
    format!("<mujoco>\n<worldbody>\n{inside}\n</worldbody></mujoco>")
}

/// Degrees of freedom of a soft body on a body that moves follow those of that body's tree.
#[test]
fn soft_bodies_on_fingers_follow_their_trees() {
    let finger = |name: &str| {
        format!(
            "<body name=\"{name}\"><joint name=\"{name}\" type=\"slide\"/><geom size=\"1\"/>\
             <flexcomp name=\"{name}\" dim=\"3\" count=\"2 2 2\">{ELASTIC}<pin id=\"0\"/></flexcomp></body>"
        )
    };
    let still = format!("<flexcomp name=\"s\" dim=\"3\" count=\"2 2 2\">{ELASTIC}</flexcomp>");
    let bodies = format!("{}{still}{}", finger("a"), finger("b"));
    let model = read(&world(&bodies), "").unwrap().model;
    let spans = |model: &Model| -> Vec<_> { model.soft.iter().map(|soft| soft.v.clone()).collect() };
    assert_eq!(spans(&model), [1..22, 22..46, 47..68]);
    assert_eq!((model.joints[0].v_start, model.joints[1].v_start), (0, 46));
    // Fingers that are coupled are one tree, and what that carries comes at once behind it.
    let coupling = "<equality><joint joint1=\"a\" joint2=\"b\"/></equality>";
    let coupled = world(&bodies).replace("</mujoco>", &format!("{coupling}</mujoco>"));
    let model = read(&coupled, "").unwrap().model;
    assert_eq!(spans(&model), [2..23, 44..68, 23..44]);
    assert_eq!((model.joints[0].v_start, model.joints[1].v_start, model.n_v), (0, 1, 68));
}
