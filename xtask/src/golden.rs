//! Golden data: small files in the tree, each beside the script that made it.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::run::{root, run, succeeds};

/// Folders of golden data.
const FOLDERS: [&str; 3] = ["tests/golden", "crates/model/tests/golden", "crates/soft/tests/golden"];

/// Runs every generator of the golden data; what changed shows in `git diff`.
pub(crate) fn golden() -> Result<()> {
    let mut scripts = Vec::new();
    for folder in FOLDERS.map(|f| root().join(f)) {
        let before = scripts.len();
        for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
            let path = entry?.path();
            if path.extension().is_some_and(|e| e == "py") {
                scripts.push(path);
            }
        }
        if scripts.len() == before {
            bail!("{} holds no generator (*.py)", folder.display());
        }
    }
    scripts.sort();
    if !succeeds(Command::new("python3").args(["-c", "import mujoco, numpy, pinocchio, skfem, vtk"])) {
        bail!("generators need Python 3 with these packages: `pip install mujoco numpy pin scikit-fem vtk`");
    }
    for script in scripts {
        run(Command::new("python3").arg(&script).current_dir(root()))?;
    }
    Ok(())
}
