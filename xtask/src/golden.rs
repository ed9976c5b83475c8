//! Golden data: small files in the tree, each beside the script that made it.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::run::{root, run, succeeds};

/// Runs every generator of `tests/golden`; what changed shows in `git diff`.
pub(crate) fn golden() -> Result<()> {
    let folder = root().join("tests/golden");
    let mut scripts = Vec::new();
    for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == "py") {
            scripts.push(path);
        }
    }
    scripts.sort();
    if scripts.is_empty() {
        bail!("{} holds no generator (*.py)", folder.display());
    }
    if !succeeds(Command::new("python3").args(["-c", "import mujoco, numpy, pinocchio"])) {
        bail!("the generators need Python 3 with mujoco, numpy and pinocchio: `pip install mujoco numpy pin`");
    }
    for script in scripts {
        run(Command::new("python3").arg(&script).current_dir(root()))?;
    }
    Ok(())
}
