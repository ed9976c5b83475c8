//! Mesa from Debian 12's backports, whose software adapter steps two to four times as many worlds as the release's own.
//!
//! The machine's sources stay as they are: backports are named in a list of sources of this run alone, with a folder of
//! its own for what apt learns of them. Nothing is installed before everything has been downloaded, and nothing at all
//! if a package would have to go.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::apt::{PACKAGES, apt_get, as_root};
use crate::run::run;

/// The release whose Mesa is old, and its backports.
const RELEASE: &str = "bookworm";
const BACKPORTS: &str = "bookworm-backports";
/// Signs the archive.
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// Whether this is the release that has a newer Mesa in its backports.
pub(crate) fn apply() -> bool {
    fs::read_to_string("/etc/os-release").is_ok_and(|text| is_release(&text))
}

fn is_release(os: &str) -> bool {
    let says = |key: &str, value: &str| {
        os.lines().filter_map(|line| line.split_once('=')).any(|(k, v)| k == key && v.trim_matches('"') == value)
    };
    says("ID", "debian") && says("VERSION_CODENAME", RELEASE)
}

/// Installs the packages from backports, of the mirror that the machine uses. Wants `apt-get update` to have run.
///
/// # Errors
/// If there is no such source, something cannot be had, or a package would be removed; nothing has changed then.
pub(crate) fn install() -> Result<()> {
    let folder = Folder::new()?;
    folder.write_sources(&mirror()?)?;
    run(folder.apt_get()?.args(["-o", "APT::Update::Error-Mode=any", "update"])).context("lists of backports")?;
    let mut simulation = folder.apt_get()?;
    let output = simulation.args(INSTALL).arg("--simulate").args(PACKAGES).stdin(Stdio::null()).output()?;
    if !output.status.success() {
        bail!("apt-get cannot install them: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    if let Some(package) = removed(&String::from_utf8_lossy(&output.stdout)) {
        bail!("package {package} would have to be removed");
    }
    run(folder.apt_get()?.args(INSTALL).arg("--download-only").args(PACKAGES)).context("downloads")?;
    run(folder.apt_get()?.args(INSTALL).arg("--no-download").args(PACKAGES)).context("installation")
}

const INSTALL: [&str; 5] = ["install", "-y", "--no-install-recommends", "-t", BACKPORTS];

/// Address of the Debian archive in the machine's own sources.
fn mirror() -> Result<String> {
    let mut command = Command::new("apt-get");
    command.args(["indextargets", "--format", "$(CODENAME) $(REPO_URI)", "Created-By: Packages"]);
    let output = command.stdin(Stdio::null()).output().context("apt-get indextargets")?;
    release_uri(&String::from_utf8_lossy(&output.stdout))
        .with_context(|| format!("the machine's sources name no archive of {RELEASE}"))
}

/// Address of the release among lines of code name and address.
fn release_uri(targets: &str) -> Option<String> {
    targets
        .lines()
        .filter_map(|line| line.split_once(' '))
        .find(|(name, _)| *name == RELEASE)
        .map(|(_, uri)| uri.into())
}

/// The first package that a simulation of apt-get removes.
fn removed(simulation: &str) -> Option<&str> {
    simulation.lines().find_map(|line| line.strip_prefix("Remv ")?.split(' ').next())
}

/// Sources and lists of this run; removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self> {
        let path = std::env::temp_dir().join(format!("manyworlds-apt-{}", std::process::id()));
        fs::create_dir(&path).with_context(|| path.display().to_string())?;
        let folder = Self(path);
        fs::create_dir_all(folder.0.join("lists/partial"))?;
        Ok(folder)
    }

    /// The machine's own list, and a line for backports; what lies in `sources.list.d` is read as ever.
    fn write_sources(&self, uri: &str) -> Result<()> {
        let mut sources = fs::read_to_string("/etc/apt/sources.list").unwrap_or_default();
        let signed = if Path::new(KEYRING).exists() { format!("[signed-by={KEYRING}] ") } else { String::new() };
        sources += &format!("\ndeb {signed}{uri} {BACKPORTS} main\n");
        fs::write(self.0.join("sources.list"), sources).context("a list of sources")
    }

    fn apt_get(&self) -> Result<Command> {
        let mut command = apt_get()?;
        for (option, path) in [("Dir::Etc::SourceList", "sources.list"), ("Dir::State::Lists", "lists")] {
            command.arg("-o").arg(format!("{option}={}", self.0.join(path).display()));
        }
        command.args(["-o", "Acquire::Retries=2", "-o", "Acquire::http::Timeout=30"]);
        Ok(command)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What apt wrote belongs to root.
        let cleared = as_root("rm").and_then(|mut rm| Ok(rm.arg("-rf").arg(&self.0).status()?));
        if !cleared.is_ok_and(|status| status.success()) {
            eprintln!("adapter: could not remove {}", self.0.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_release_is_told_from_others() {
        assert!(is_release("PRETTY_NAME=\"x\"\nVERSION_CODENAME=bookworm\nID=debian\n"));
        assert!(!is_release("ID=debian\nVERSION_CODENAME=trixie\n"));
        assert!(!is_release("ID=linuxmint\nVERSION_CODENAME=bookworm\n"));
    }

    #[test]
    fn the_mirror_is_the_one_of_the_release() {
        let targets = "bookworm-updates http://a.example/debian/\nbookworm http://b.example/debian/\n";
        assert_eq!(release_uri(targets).as_deref(), Some("http://b.example/debian/"));
        assert_eq!(release_uri("trixie http://b.example/debian/\n"), None);
    }

    #[test]
    fn removals_are_seen() {
        assert_eq!(removed("Inst a [1] (2)\nConf a (2)\n"), None);
        assert_eq!(removed("Inst a [1] (2)\nRemv b [1]\n"), Some("b"));
    }
}
