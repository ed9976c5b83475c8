//! Derivatives of random scenes with soft bodies, compared with differences: `soft_gradients SCENES [FIRST SEED]`.

use std::process::ExitCode;

use manyworlds_tests::soft_audit::Audit;

fn main() -> ExitCode {
    let mut numbers = std::env::args().skip(1).map(|argument| argument.parse::<u64>());
    let (Some(Ok(scenes)), Ok(first)) = (numbers.next(), numbers.next().unwrap_or(Ok(0))) else {
        eprintln!("usage: soft_gradients SCENES [FIRST SEED]");
        return ExitCode::FAILURE;
    };
    let mut audit = Audit::default();
    for seed in first..first.saturating_add(scenes) {
        let before = audit.wrong.len();
        audit.look(seed);
        audit.wrong[before..].iter().for_each(|what| println!("{what}"));
    }
    let Audit { states, certified, parameters: [compared, kinks], wrong, reasons, .. } = &audit;
    println!("{scenes} scenes, {states} states with contact, {certified} of them certified");
    println!("{compared} derivatives by parameters compared, {kinks} at kinks; {} wrong; not certified:", wrong.len());
    reasons.iter().for_each(|(reason, times)| println!("{times:6} {reason}"));
    if wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
