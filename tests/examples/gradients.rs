//! Derivatives of random scenes, compared with differences and with each other: `gradients soft|rigid|applied SCENES [FIRST SEED]`.

use std::process::ExitCode;

use manyworlds_tests::audit::{Audit, Scenes, Single};

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let scenes = match words.next().as_deref() {
        Some("soft") => Some(Scenes::Soft),
        Some("rigid") => Some(Scenes::Rigid),
        Some("applied") => Some(Scenes::Applied),
        _ => None,
    };
    let mut numbers = words.map(|word| word.parse::<u64>());
    let (Some(of), Some(Ok(scenes)), Ok(first)) = (scenes, numbers.next(), numbers.next().unwrap_or(Ok(0))) else {
        eprintln!("usage: gradients soft|rigid|applied SCENES [FIRST SEED]");
        return ExitCode::FAILURE;
    };
    let mut audit = Audit::default();
    for seed in first..first.saturating_add(scenes) {
        let before = audit.wrong.len();
        audit.look_at(of, seed);
        audit.wrong[before..].iter().for_each(|what| println!("{what}"));
    }
    let Audit { states, certified: [whole, but_by_q], parameters: [compared, kinks], products, single, wrong, reasons } =
        &audit;
    println!("{scenes} scenes, {states} states, {whole} of them certified, {but_by_q} but for derivatives by q");
    println!("{compared} derivatives by parameters compared, {kinks} at kinks; {products} parts of products");
    let Single { steps, certified: [host, kernels], far, apart } = single;
    println!(
        "{steps} of these steps in single precision: {host} certified by the host, {kernels} by kernels; far from those in double"
    );
    println!("precision {} and {}; {apart} far from each other", far[0], far[1]);
    println!("{} wrong; not certified:", wrong.len());
    reasons.iter().for_each(|(reason, times)| println!("{times:6} {reason}"));
    if wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
