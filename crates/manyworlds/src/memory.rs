//! Whether a batch fits, asked before anything is allocated.

use manyworlds_model::Model;

use crate::{Error, Precision};

/// Refuses a batch that needs more than the machine has free.
pub(crate) fn check(model: &Model, worlds: usize, precision: Precision) -> Result<(), Error> {
    // A system that does not say what it has free gets the benefit of the doubt.
    let Ok(mut system) = sysinfo::System::new() else { return Ok(()) };
    system.refresh_memory();
    let needed = worlds as u128 * estimate(model, precision) as u128;
    let available = u128::from(system.available_memory());
    if needed <= available {
        return Ok(());
    }
    let mb = |bytes: u128| u64::try_from(bytes >> 20).unwrap_or(u64::MAX);
    Err(Error::Memory { worlds, name: model.name.clone(), needed_mb: mb(needed), available_mb: mb(available) })
}

/// Bytes of a world without contacts, a little low: bodies hold about 60 numbers, and each degree of freedom some 20
/// and a few rows of the joint-space matrix.
fn estimate(model: &Model, precision: Precision) -> usize {
    (60 * model.bodies.len() + 60 * model.n_v) * precision.bytes()
}
