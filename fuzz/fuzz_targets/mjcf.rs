//! Any text read as MJCF is a model or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use manyworlds_model::{ImportOptions, from_mjcf_str};

fuzz_target!(|input: (bool, &str)| {
    let (ignore_unsupported, text) = input;
    let options = ImportOptions { ignore_unsupported, ..ImportOptions::default() };
    let no_files = |_: &std::path::Path| Err(std::io::ErrorKind::NotFound.into());
    let _ = from_mjcf_str("fuzz.xml", text, &no_files, &options);
});
