//! Random scenes with soft bodies for as many world-steps as asked for: `soft_soak STEPS [FIRST SEED]`.

use std::process::ExitCode;

use manyworlds_tests::soft_soak::soak;

/// Seeds between two lines of the report.
const LINE: u64 = 100_000;

fn main() -> ExitCode {
    let mut numbers = std::env::args().skip(1).map(|argument| argument.parse::<u64>());
    let (Some(Ok(steps)), Ok(mut seed)) = (numbers.next(), numbers.next().unwrap_or(Ok(0))) else {
        eprintln!("usage: soft_soak STEPS [FIRST SEED]");
        return ExitCode::FAILURE;
    };
    let (mut done, mut wrong) = (0, 0);
    while done < steps {
        let seen = soak(seed, LINE.min(steps - done));
        done += seen.steps;
        seed += seen.scenes;
        wrong += seen.wrong.len();
        seen.wrong.iter().for_each(|what| println!("{what}"));
        println!(
            "{done} world-steps, next seed {seed}: {wrong} wrong; {} contacts and {} elements inside out seen, {} steps above the \
             tolerance, residual at most {:.1e} N s",
            seen.contacts, seen.inverted, seen.above, seen.residual
        );
    }
    if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
