//! Whether a batch fits, asked before anything is allocated.

use crate::Error;

/// Refuses a batch that needs more than the machine has free.
pub(crate) fn check(name: &str, worlds: usize, bytes_per_world: usize) -> Result<(), Error> {
    let mut system = sysinfo::System::new();
    system.refresh_memory();
    let needed = worlds as u128 * bytes_per_world as u128;
    let available = u128::from(system.available_memory());
    if needed <= available {
        return Ok(());
    }
    let mb = |bytes: u128| u64::try_from(bytes >> 20).unwrap_or(u64::MAX);
    Err(Error::Memory { worlds, name: name.into(), needed_mb: mb(needed), available_mb: mb(available) })
}
