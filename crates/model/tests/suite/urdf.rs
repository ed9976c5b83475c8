//! What the URDF importer settles that the format leaves open.

use std::path::Path;

use manyworlds_model::{ImportOptions, Model, from_urdf_str};

fn robot(options: &ImportOptions) -> Model {
    let link = |name: &str| {
        format!(
            "<link name=\"{name}\"><inertial><mass value=\"1\"/><inertia ixx=\"1\" iyy=\"1\" izz=\"1\" ixy=\"0\" \
             ixz=\"0\" iyz=\"0\"/></inertial><collision><geometry><sphere radius=\"0.1\"/></geometry></collision></link>"
        )
    };
    let joint = |name: &str, kind: &str, parent: &str, child: &str| {
        format!("<joint name=\"{name}\" type=\"{kind}\"><parent link=\"{parent}\"/><child link=\"{child}\"/></joint>")
    };
    let text = [
        "<robot name=\"r\">".to_owned(),
        ["base", "plate", "arm", "hand"].map(link).concat(),
        joint("a", "fixed", "base", "plate"),
        joint("b", "continuous", "plate", "arm"),
        joint("c", "continuous", "arm", "hand"),
        "</robot>".to_owned(),
    ]
    .concat();
    let no_files = |path: &Path| Err(std::io::Error::other(path.display().to_string()));
    from_urdf_str("r.urdf", &text, &no_files, options).expect("a valid robot").model
}

fn excluded(model: &Model) -> Vec<[&str; 2]> {
    let name = |body: usize| model.bodies[body].name.as_str();
    model.excludes.iter().map(|&(a, b)| [name(a), name(b)]).collect()
}

/// The ground is no parent to the filter of contacts, so that a link that stands fixed needs naming.
#[test]
fn links_do_not_touch_the_fixed_links_that_hold_them() {
    let fixed = robot(&ImportOptions { merge_fixed: false, ..ImportOptions::default() });
    assert_eq!(excluded(&fixed), [["base", "arm"], ["plate", "arm"]]);
    let merged = robot(&ImportOptions { merge_fixed: true, ..ImportOptions::default() });
    assert_eq!(excluded(&merged), [["base", "arm"]]);
    let floating = robot(&ImportOptions { free_root: true, ..ImportOptions::default() });
    assert!(floating.excludes.is_empty());
}
