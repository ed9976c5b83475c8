//! Any bytes read as a mesh or heightfield that a model names, or as tetrahedra, give a model or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use manyworlds_model::{ImportOptions, Tetrahedra, from_mjcf_str};

fuzz_target!(|input: (bool, &[u8])| {
    let (stl, bytes) = input;
    let mesh = if stl { "m.stl" } else { "m.obj" };
    let text = format!(
        "<mujoco><asset><mesh name=\"m\" file=\"{mesh}\"/></asset><worldbody><body><freejoint/>\
         <geom type=\"mesh\" mesh=\"m\"/></body></worldbody></mujoco>"
    );
    let field = "<mujoco><asset><hfield name=\"h\" file=\"h.bin\" size=\"1 1 1 1\"/></asset><worldbody>\
                 <geom type=\"hfield\" hfield=\"h\"/></worldbody></mujoco>";
    let file = |_: &std::path::Path| Ok(bytes.to_vec());
    let _ = from_mjcf_str("fuzz.xml", &text, &file, &ImportOptions::default());
    let _ = from_mjcf_str("fuzz.xml", field, &file, &ImportOptions::default());
    let _ = Tetrahedra::from_bytes("t.msh", bytes);
    let _ = Tetrahedra::from_bytes("t.vtk", bytes);
});
