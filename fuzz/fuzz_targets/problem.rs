//! Any text read as a contact problem is a problem, which reads back the same, or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use manyworlds_contact::problem::{read, write};

fuzz_target!(|text: &str| {
    if let Ok(problem) = read(text) {
        assert_eq!(read(&write(&problem)).as_ref(), Ok(&problem));
    }
});
