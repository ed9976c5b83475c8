//! The program is a library, so that it is built beside the crate it is made of, and only linked when that is done.

use std::process::ExitCode;

fn main() -> ExitCode {
    manyworlds_cli::run()
}
