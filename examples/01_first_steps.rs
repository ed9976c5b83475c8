//! The shortest useful program: sixty-four half-cheetahs fall onto the ground, and each says how well it was solved.
//!
//! `cargo run --release -p manyworlds-examples --example 01_first_steps`

use manyworlds::{Batch, BatchOptions, Error, ImportOptions};

fn main() -> Result<(), Error> {
    // A path to an MJCF or URDF file would do as well as the name of a built-in scene.
    let model = manyworlds::load("half-cheetah", &ImportOptions::default())?.model;
    let mut batch = Batch::new(&[(&model, 64)], &BatchOptions::default())?;

    let controls = vec![0.05_f32; batch.n_controls()];
    for _ in 0..300 {
        batch.step(&controls)?;
    }

    let mut summaries = Vec::new();
    batch.summaries(&mut summaries)?;
    let worst = summaries.iter().map(|s| s.residual).fold(0.0, f64::max);
    let contacts: u32 = summaries.iter().map(|s| s.contacts).sum();
    println!("{} worlds on {}: {contacts} contacts, largest residual {worst:.1e} N s", batch.len(), batch.adapter());
    println!("world 0 stands at q = {:.3?}", batch.state(0)?.q);
    Ok(())
}
