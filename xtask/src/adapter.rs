//! A Vulkan adapter for the tests: looked for, and on Debian and Ubuntu installed (on Debian 12 from backports where that is asked for).
//!
//! The search reads what the Vulkan loader would read (its library and the drivers' manifests), so that this small
//! program needs no graphics library of its own.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::apt::{PACKAGES, apt_get};
use crate::backports;
use crate::run::{run, succeeds};

/// Options of `cargo xtask install`.
#[derive(clap::Args)]
pub(crate) struct InstallArgs {
    /// Debian 12: takes Mesa from backports, also where an older one is installed (its libraries are brought up with it)
    #[arg(long)]
    newer: bool,
}

/// Makes sure that there is an adapter, or brings it up to date where that was asked for.
pub(crate) fn install(args: &InstallArgs) -> Result<()> {
    if !args.newer {
        return ensure();
    }
    if !backports::apply() {
        bail!("--newer: of Debian 12 alone, whose backports have a newer Mesa");
    }
    run(apt_get()?.arg("update")).context("apt-get update")?;
    backports::install()?;
    report()
}

/// Makes sure that there is an adapter, installing a software one where this is possible.
pub(crate) fn ensure() -> Result<()> {
    if cfg!(target_os = "macos") || cfg!(windows) {
        eprintln!("adapter: Metal or DX12 of the system; nothing to install");
        return Ok(());
    }
    if found().is_some() {
        return report();
    }
    if !succeeds(Command::new("apt-get").arg("--version")) {
        bail!(
            "no Vulkan adapter was found, and this is not Debian or Ubuntu: install a Vulkan loader and a driver \
             (Mesa's lavapipe is a software one), or test without an adapter: `cargo xtask test --no-adapter`"
        );
    }
    eprintln!("adapter: none found; installing {}", PACKAGES.join(" and "));
    run(apt_get()?.arg("update")).context("apt-get update")?;
    run(apt_get()?.args(["install", "-y", "--no-install-recommends"]).args(PACKAGES)).context("apt-get install")?;
    report()
}

/// Says what there is after all.
fn report() -> Result<()> {
    match found() {
        Some(found) => eprintln!("adapter: {found}"),
        None => bail!("{} are installed, and still no Vulkan driver is to be seen", PACKAGES.join(" and ")),
    }
    Ok(())
}

/// What would serve as an adapter, in words.
fn found() -> Option<String> {
    let loader =
        succeeds(Command::new("sh").args(["-c", "PATH=$PATH:/sbin:/usr/sbin ldconfig -p | grep -q libvulkan.so.1"]));
    if !loader {
        return None;
    }
    let manifests = manifests();
    let name = |path: &PathBuf| path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    // A hardware driver's manifest says nothing of the hardware: Mesa installs them all.
    let hardware =
        ["/dev/nvidia0", "/dev/dri/renderD128", "/dev/dxg", "/dev/kfd"].iter().find(|p| fs::exists(p).unwrap_or(false));
    let software = manifests.iter().map(name).find(|n| n.starts_with("lvp_icd"));
    match (hardware, software) {
        (Some(device), _) if !manifests.is_empty() => Some(format!("Vulkan, hardware ({device})")),
        (_, Some(manifest)) => Some(format!("Vulkan, software ({manifest})")),
        _ => None,
    }
}

/// Driver manifests that the loader would read.
fn manifests() -> Vec<PathBuf> {
    for variable in ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"] {
        if let Some(list) = std::env::var_os(variable) {
            return std::env::split_paths(&list).filter(|p| p.is_file()).collect();
        }
    }
    ["/usr/share/vulkan/icd.d", "/usr/local/share/vulkan/icd.d", "/etc/vulkan/icd.d"]
        .iter()
        .filter_map(|folder| fs::read_dir(folder).ok())
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect()
}
