//! Debian's and Ubuntu's packages.

use std::process::Command;

use anyhow::{Result, bail};

use crate::run::succeeds;

/// The packages that bring the loader and Mesa's software adapter.
pub(crate) const PACKAGES: [&str; 2] = ["libvulkan1", "mesa-vulkan-drivers"];

/// `apt-get`, as root, and asking nothing.
pub(crate) fn apt_get() -> Result<Command> {
    let mut command = as_root("apt-get")?;
    command.env("DEBIAN_FRONTEND", "noninteractive");
    Ok(command)
}

/// A command, through `sudo` for all but root.
pub(crate) fn as_root(program: &str) -> Result<Command> {
    if succeeds(Command::new("sh").args(["-c", "test \"$(id -u)\" = 0"])) {
        return Ok(Command::new(program));
    }
    if succeeds(Command::new("sudo").arg("--version")) {
        let mut sudo = Command::new("sudo");
        sudo.arg(program);
        return Ok(sudo);
    }
    bail!("installing {} needs root or sudo; install them yourself and run this again", PACKAGES.join(" and "))
}
