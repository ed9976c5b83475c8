//! What the window says of the last steps, on its picture: certificate and times.

use std::time::{Duration, Instant};

use manyworlds_view::{Certificate, Worlds};

use crate::failure::Failure;

/// Time from one to the next.
const INTERVAL: Duration = Duration::from_millis(500);
/// Stages whose times are named: the longest.
const STAGES: usize = 5;

/// Text, written anew now and then.
pub(super) struct Overlay {
    written: Option<Instant>,
    /// Steps at that time.
    steps: u64,
}

impl Overlay {
    /// Not written yet. The batch measures its stages from now on.
    pub(super) fn new(simulation: &mut Worlds) -> Self {
        time(simulation);
        Self { written: None, steps: 0 }
    }

    /// The lines, if it is time for new ones; `state` says how time passes.
    pub(super) fn lines(&mut self, simulation: &mut Worlds, state: &str) -> Result<Option<Vec<String>>, Failure> {
        if self.written.is_some_and(|written| written.elapsed() < INTERVAL) {
            return Ok(None);
        }
        self.written = Some(Instant::now());
        let taken = simulation.steps();
        let steps = taken.saturating_sub(std::mem::replace(&mut self.steps, taken));
        let worlds = simulation.batches()[0].1.len();
        let mut lines = vec![simulation.model().name.clone(), format!("{:.2} s, {state}", simulation.time())];
        for certificate in simulation.certificates()? {
            lines.extend(certified(&certificate, worlds));
        }
        if steps > 0 {
            let stages = simulation.batches()[0].1.stage_ms();
            lines.extend(times(stages, steps));
        } else {
            lines.push("no step was timed".to_owned());
        }
        lines.push("I hides this".to_owned());
        time(simulation);
        Ok(Some(lines))
    }

    /// The next lines are written at once.
    pub(super) fn stale(&mut self) {
        self.written = None;
    }
}

/// Measures stages from now on.
fn time(simulation: &mut Worlds) {
    simulation.batches()[0].1.time_stages(true);
}

/// What is known of the last step.
fn certified(certificate: &Certificate, worlds: usize) -> [String; 5] {
    [
        format!("solver {}, {}", certificate.solver, certificate.status),
        format!("contacts {}", certificate.contacts),
        format!("largest residual {:.1e} N s", certificate.residual),
        format!("deepest {:.1e} m", certificate.penetration),
        format!("worlds {worlds}, relaxed {}, failed {}", certificate.relaxed, certificate.failed),
    ]
}

/// Milliseconds a step, all of them and those of the longest stages.
fn times(mut stages: Vec<(&'static str, f64)>, steps: u64) -> Vec<String> {
    stages.iter_mut().for_each(|(_, ms)| *ms /= steps as f64);
    let sum: f64 = stages.iter().map(|(_, ms)| ms).sum();
    stages.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut lines = vec![format!("a step {sum:.3} ms")];
    lines.extend(stages.iter().take(STAGES).map(|(name, ms)| format!("  {name} {ms:.3}")));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificates_and_times_in_words() {
        let certificate = Certificate {
            solver: "auto".into(),
            contacts: 12,
            residual: 2.5e-9,
            penetration: 1e-5,
            relaxed: 1,
            failed: 2,
            status: "relaxed",
        };
        let lines = certified(&certificate, 4).join("|");
        let expected = "solver auto, relaxed|contacts 12|largest residual 2.5e-9 N s|deepest 1.0e-5 m|worlds 4, relaxed 1, failed 2";
        assert_eq!(lines, expected);
        let names = ["a", "b", "c", "d", "e", "f"];
        let stages = names.iter().enumerate().map(|(i, &name)| (name, 1.0 + i as f64)).collect();
        let lines = times(stages, 10).join("|");
        assert_eq!(lines, "a step 2.100 ms|  f 0.600|  e 0.500|  d 0.400|  c 0.300|  b 0.200");
    }
}
