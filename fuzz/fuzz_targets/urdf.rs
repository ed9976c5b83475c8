//! Any text read as URDF is a model or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use manyworlds_model::{ImportOptions, from_urdf_str};

fuzz_target!(|input: ([bool; 4], &str)| {
    let ([ignore_unsupported, free_root, ground, merge_fixed], text) = input;
    let options = ImportOptions { ignore_unsupported, free_root, ground, merge_fixed };
    let no_files = |_: &std::path::Path| Err(std::io::ErrorKind::NotFound.into());
    let _ = from_urdf_str("fuzz.urdf", text, &no_files, &options);
});
