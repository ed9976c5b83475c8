//! Defaults of one kind of actuator behind those of another: gain, bias and range of controls as MuJoCo 4.0.0 compiles them
//! (`actuator_gainprm`, `actuator_biasprm`, `actuator_ctrlrange`).

use std::path::Path;

use manyworlds_model::{Actuator, ImportOptions, from_mjcf_str};

fn actuator(defaults: &str, element: &str) -> Actuator {
    let text = format!(
        "<mujoco><compiler angle=\"radian\"/><default>{defaults}</default><worldbody><body>
         <joint name=\"a\" range=\"-1 -0.5\" limited=\"true\"/><geom size=\".1\"/></body></worldbody>
         <actuator>{element}</actuator></mujoco>"
    );
    let nothing = |path: &Path| Err(std::io::Error::other(format!("{}", path.display())));
    let loaded = from_mjcf_str("test.xml", &text, &nothing, &ImportOptions::default()).expect("the model loads");
    loaded.model.actuators[0].clone()
}

#[test]
fn a_shortcut_begins_anew_behind_another() {
    let position = r#"<position kp="5" kv="1" inheritrange="1"/>"#;
    let muscle = r#"<muscle ctrllimited="true" ctrlrange="0 100"/><motor gear="1"/><position kp="10"/>"#;
    let general = r#"<general gainprm="7" biastype="affine" biasprm="1 -7 -2" dyntype="filter" dynprm="0.3"/>"#;
    let both = r#"<position kp="4" inheritrange="1" kv="3"/><velocity kv="9"/>"#;
    let (one, none) = ([1.0, 0.0, 0.0], [0.0; 3]);
    let inherited = Some([-1.0, -0.5]);
    type Case<'a> = (&'a str, &'a str, [f64; 3], [f64; 3], Option<[f64; 2]>);
    let cases: [Case; 12] = [
        (position, "<motor joint=\"a\"/>", one, none, None),
        (position, "<motor joint=\"a\" ctrlrange=\"-3 3\"/>", one, none, Some([-3.0, 3.0])),
        (position, "<position joint=\"a\" kp=\"2\"/>", [2.0, 0.0, 0.0], [0.0, -2.0, -1.0], inherited),
        (
            position,
            "<position joint=\"a\" kp=\"2\" ctrlrange=\"-3 3\" ctrllimited=\"true\"/>",
            [2.0, 0.0, 0.0],
            [0.0, -2.0, -1.0],
            Some([-3.0, 3.0]),
        ),
        (position, "<velocity joint=\"a\"/>", one, [0.0, 0.0, -1.0], None),
        (position, "<general joint=\"a\"/>", [5.0, 0.0, 0.0], [0.0, -5.0, -1.0], inherited),
        (muscle, "<position joint=\"a\" kp=\"2\"/>", [2.0, 0.0, 0.0], [0.0, -2.0, 0.0], Some([0.0, 100.0])),
        (muscle, "<velocity joint=\"a\"/>", one, [0.0, 0.0, -1.0], Some([0.0, 100.0])),
        (general, "<motor joint=\"a\"/>", one, none, None),
        (general, "<position joint=\"a\"/>", [7.0, 0.0, 0.0], [0.0, -7.0, -2.0], None),
        (general, "<velocity joint=\"a\"/>", [7.0, 0.0, 0.0], [0.0, 0.0, -7.0], None),
        (both, "<position joint=\"a\"/>", one, [0.0, -1.0, 0.0], None),
    ];
    for (defaults, element, gain, bias, range) in cases {
        let found = actuator(defaults, element);
        assert_eq!((found.gain, found.bias, found.ctrl_range), (gain, bias, range), "{defaults} {element}");
        assert!(found.activation.is_none(), "{defaults} {element}");
    }
}
