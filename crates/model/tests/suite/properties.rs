//! Nothing that is pushed into a builder or an importer makes it panic, and what is accepted is consistent.

use std::io;
use std::path::Path;

use manyworlds_model::{
    ImportOptions, Inertial, Joint, JointKind, Mat3, Model, ModelBuilder, Pose, Vec3, from_mjcf_str, from_urdf_str,
};
use proptest::prelude::*;

const MJCF: &str = include_str!("../golden/semantics.xml");
const URDF: &str = "<robot name=\"r\"><link name=\"a\"><inertial><mass value=\"1\"/><inertia ixx=\"1\" iyy=\"1\" izz=\"1\"/>
    </inertial><collision><origin xyz=\"0 0 1\" rpy=\"0 1 0\"/><geometry><box size=\"1 2 3\"/></geometry></collision></link>
    <link name=\"b\"><inertial><mass value=\"2\"/><inertia ixx=\"1\" iyy=\"1\" izz=\"1\" ixy=\"0.1\"/></inertial></link>
    <joint name=\"j\" type=\"revolute\"><parent link=\"a\"/><child link=\"b\"/><axis xyz=\"0 1 0\"/>
    <limit lower=\"-1\" upper=\"1\" effort=\"3\" velocity=\"2\"/><dynamics damping=\"0.1\" friction=\"0.2\"/></joint>
    <transmission><joint name=\"j\"/><actuator name=\"m\"/></transmission></robot>";

fn no_files(_: &Path) -> io::Result<Vec<u8>> {
    Err(io::ErrorKind::NotFound.into())
}

/// Every reference of an accepted model holds, and its ranges tile `q`, `v`, bodies and joints.
fn consistent(model: &Model) {
    let (mut q, mut v) = (0, 0);
    for joint in &model.joints {
        assert_eq!((joint.q_start, joint.v_start), (q, v));
        q += joint.kind.n_q();
        v += joint.kind.n_v();
        assert!(model.bodies[joint.body].tree.is_some());
    }
    assert_eq!((model.n_q, model.n_v), (q, v));
    assert_eq!(model.initial_q().len(), q);
    assert_eq!(model.trees.iter().map(|t| t.v.len()).sum::<usize>(), v);
    assert!(model.bodies.iter().enumerate().skip(1).all(|(i, body)| body.parent < i));
    assert_eq!(model.bodies.iter().map(|b| b.geoms.len()).sum::<usize>(), model.geoms.len());
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![8 => -2.0..2.0_f64, 2 => Just(1.0), 1 => Just(0.0), 1 => Just(f64::NAN), 1 => Just(f64::INFINITY), 1 => Just(1e300)]
}

/// A body and its joint: parent, masses, joint's body and numbers.
type Part = (usize, f64, f64, usize, u8, f64, Option<(f64, f64)>);

fn part() -> impl Strategy<Value = Part> {
    (0..6_usize, number(), number(), 0..6_usize, 0..4_u8, number(), proptest::option::of((number(), number())))
}

proptest! {
    #[test]
    fn builders_never_panic(parts in proptest::collection::vec(part(), 0..6)) {
        let mut builder = ModelBuilder::new("random");
        for (parent, mass, moment, on, kind, x, range) in parts {
            let inertial = Inertial { mass, com: Vec3::new(x, 0.0, 0.0), inertia: Mat3::identity() * moment };
            builder.body("", parent, Pose::translation(x, 0.0, 1.0), inertial);
            let kind = [JointKind::Free, JointKind::Ball, JointKind::Hinge, JointKind::Slide][usize::from(kind)];
            builder.joint(Joint {
                axis: Vec3::new(x, 1.0, 0.0), range: range.map(|(a, b)| [a, b]), reference: x, damping: x.abs(),
                ..Joint::new("", on, kind)
            });
        }
        if let Ok(model) = builder.build() {
            consistent(&model);
        }
    }

    #[test]
    fn importers_never_panic_on_changed_files(
        urdf in any::<bool>(),
        ignore_unsupported in any::<bool>(),
        edits in proptest::collection::vec((any::<prop::sample::Index>(), 0..5_u8, "[-0-9a-z .<>/=\"]{0,6}"), 1..6),
    ) {
        let mut text: Vec<char> = if urdf { URDF } else { MJCF }.chars().collect();
        for (at, edit, insert) in edits {
            let at = at.index(text.len());
            let end = (at + insert.len()).min(text.len());
            // Digits are the likeliest to leave a file that can be read at all.
            let digit = text.iter().skip(at).position(|c| c.is_ascii_digit()).map_or(at, |d| at + d);
            match edit {
                0 => drop(text.splice(at..end, insert.chars())),
                1 => drop(text.drain(at..end)),
                2 => drop(text.splice(at..at, insert.chars())),
                3 => text[digit] = '-',
                _ => text[digit] = '9',
            }
            if text.is_empty() {
                break;
            }
        }
        let text: String = text.into_iter().collect();
        let options = ImportOptions { ignore_unsupported, free_root: true, ground: true, merge_fixed: true };
        let loaded = if urdf {
            from_urdf_str("r.urdf", &text, &no_files, &options)
        } else {
            from_mjcf_str("m.xml", &text, &no_files, &options)
        };
        if let Ok(loaded) = loaded {
            consistent(&loaded.model);
        }
    }
}
