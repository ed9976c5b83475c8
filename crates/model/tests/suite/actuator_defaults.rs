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

/// A class keeps the law of its last actuator; an actuator goes on from the nearest class whose law is of its kind or general, and
/// takes all else from the nearest class, whatever its kind.
#[test]
fn a_shortcut_goes_on_from_the_nearest_class_of_its_kind() {
    let (ten, none) = ([10.0, 0.0, 0.0], [0.0; 3]);
    let kp = "<position kp=\"10\"/>";
    type Case<'a> = (&'a str, &'a str, &'a str, [f64; 3], [f64; 3]);
    let cases: [Case; 15] = [
        (kp, "<motor gear=\"2\"/>", "position", ten, [0.0, -10.0, 0.0]),
        (kp, "<velocity kv=\"7\"/>", "position", ten, [0.0, -10.0, 0.0]),
        (kp, "<motor/>", "general", [1.0, 0.0, 0.0], none),
        (kp, "<general gainprm=\"5\"/>", "position", [5.0, 0.0, 0.0], [0.0, -5.0, 0.0]),
        (kp, "<general gainprm=\"5\"/>", "velocity", [5.0, 0.0, 0.0], [0.0, 0.0, -5.0]),
        (kp, "<general ctrlrange=\"-1 5\"/>", "velocity", ten, [0.0, 0.0, -10.0]),
        (kp, "<velocity kv=\"3\"/><general ctrlrange=\"-1 5\"/>", "position", [3.0, 0.0, 0.0], [0.0, -3.0, -3.0]),
        (kp, "<intvelocity kp=\"3\"/>", "position", ten, [0.0, -10.0, 0.0]),
        (kp, "<position kv=\"1\"/>", "position", ten, [0.0, -10.0, -1.0]),
        ("<position kp=\"10\" kv=\"3\"/>", "<motor/>", "position", ten, [0.0, -10.0, -3.0]),
        ("<position kp=\"10\"/><motor/>", "", "position", [1.0, 0.0, 0.0], [0.0, -1.0, 0.0]),
        ("<position kp=\"10\"/><velocity kv=\"7\"/>", "", "velocity", [7.0, 0.0, 0.0], [0.0, 0.0, -7.0]),
        ("<general gainprm=\"10\"/>", "<velocity kv=\"4\"/>", "position", ten, [0.0, -10.0, 0.0]),
        ("<general gainprm=\"10\"/>", "<velocity kv=\"4\"/>", "motor", [1.0, 0.0, 0.0], none),
        ("<velocity kv=\"10\"/>", "<position/>", "position", [1.0, 0.0, 0.0], [0.0, -1.0, 0.0]),
    ];
    for (main, class, tag, gain, bias) in cases {
        let defaults = format!("{main}<default class=\"c\">{class}</default>");
        let found = actuator(&defaults, &format!("<{tag} class=\"c\" joint=\"a\"/>"));
        assert_eq!((found.gain, found.bias), (gain, bias), "{defaults} {tag}");
    }
    let found = actuator(
        &format!("{kp}<default class=\"c\"><motor gear=\"2\"/></default>"),
        "<position class=\"c\" joint=\"a\"/>",
    );
    assert_eq!(found.gear[0], 2.0);
}
