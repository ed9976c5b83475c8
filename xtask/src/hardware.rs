//! Builds what measures an adapter, and runs it: everything else is in `hardware/`.

use anyhow::Result;

use crate::run::{cargo, root, run, target};

/// Options of `cargo xtask hardware`.
#[derive(clap::Args)]
pub(crate) struct HardwareArgs {
    /// Options of `manyworlds-hardware`; `--help` lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    options: Vec<String>,
}

/// Builds the two programs and measures.
pub(crate) fn hardware(args: &HardwareArgs) -> Result<()> {
    run(cargo().args(["build", "--release", "--package", "manyworlds-cli", "--package", "manyworlds-hardware"]))?;
    let name = format!("manyworlds-hardware{}", std::env::consts::EXE_SUFFIX);
    let mut program = std::process::Command::new(target().join("release").join(name));
    // Mesa's device-selection layer complains where there is no display.
    run(program.args(&args.options).current_dir(root()).env("NODEVICE_SELECT", "1"))
}
