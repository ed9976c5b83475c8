//! The program is a library, so that it is built beside the crate it is made of, and only linked when that is done.

use std::process::ExitCode;

fn main() -> ExitCode {
    quiet_driver();
    manyworlds_cli::run()
}

/// Keeps Mesa's device-selection layer from looking for a Wayland display, and complaining on standard error, where
/// there is no session to have one; whoever selects a device through it keeps it.
fn quiet_driver() {
    let set = |name| std::env::var_os(name).is_some();
    if cfg!(target_os = "linux") && !set("XDG_RUNTIME_DIR") && !set("MESA_VK_DEVICE_SELECT") {
        // SAFETY: `main` starts with this, and no other thread has been started yet.
        unsafe { std::env::set_var("NODEVICE_SELECT", "1") };
    }
}
