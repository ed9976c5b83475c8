//! What `gradcheck` found over all states, for people and as JSON.

use manyworlds::Mode;
use manyworlds::gradcheck::Block;
use serde::Serialize;

use super::outcome::{Outcome, Verdict, verdict};
use super::search::Found;
use crate::output;

/// The worst entry of a block over all states.
#[derive(Serialize)]
pub(super) struct Worst {
    pub(super) block: &'static str,
    pub(super) error: f64,
    pub(super) state: u32,
    pub(super) row: usize,
    pub(super) column: usize,
    pub(super) analytic: f64,
    pub(super) difference: f64,
}

/// What `gradcheck` prints.
#[derive(Serialize, Default)]
pub(super) struct Report {
    pub(super) model: String,
    pub(super) states: u32,
    pub(super) judged: u32,
    /// Of them at gaps just closed, after a random change, and by steps that undo violations whole.
    pub(super) closed: u32,
    pub(super) changed: u32,
    pub(super) undone: u32,
    /// Of them without derivatives by q, which are not judged.
    pub(super) without_q: u32,
    pub(super) near_switch: u32,
    pub(super) invalid: u32,
    pub(super) problems: Vec<String>,
    pub(super) inputs: usize,
    pub(super) kinks: usize,
    /// Of what was compared, how much residual and rounding could hide an error above the tolerance in, and the largest.
    pub(super) hidden: usize,
    pub(super) hidden_error: f64,
    /// Inputs or directions at states without a valid derivative, and how many of them the step has a kink in.
    pub(super) invalid_inputs: usize,
    pub(super) invalid_kinks: usize,
    /// The same of states near a switch of modes.
    pub(super) near_inputs: usize,
    pub(super) near_kinks: usize,
    /// Whether directions were compared instead of inputs.
    pub(super) directions: bool,
    pub(super) contacts: usize,
    pub(super) modes: [usize; 3],
    /// Most unknowns of a state's linear systems, and of those solved by iterations.
    pub(super) unknowns: [usize; 2],
    /// Least over the judged states; `null` without constraints.
    pub(super) margin: Option<f64>,
    pub(super) solver_residual: f64,
    pub(super) step_us: f64,
    pub(super) jacobian_us: f64,
    pub(super) worst: Vec<Worst>,
    pub(super) passed: bool,
}

impl Report {
    /// Of no state yet.
    pub(super) fn new(model: &str, states: u32, directions: bool) -> Self {
        Self {
            model: model.into(),
            states,
            directions,
            step_us: f64::INFINITY,
            jacobian_us: f64::INFINITY,
            ..Self::default()
        }
    }

    /// Takes note of what was found at a state.
    pub(super) fn add(&mut self, index: u32, found: Outcome, [margin, tolerance]: [f64; 2], at: &Found) {
        let certificate = &found.certificate;
        self.unknowns[0] = self.unknowns[0].max(certificate.size);
        self.unknowns[1] = self.unknowns[1].max(certificate.iterated);
        for problem in certificate.reasons() {
            if !self.problems.contains(problem) {
                self.problems.push(problem.clone());
            }
        }
        match verdict(certificate, margin) {
            Verdict::Invalid => {
                self.invalid += 1;
                self.invalid_inputs += found.inputs;
                self.invalid_kinks += found.kinks;
                return;
            }
            Verdict::Near => {
                self.near_switch += 1;
                self.near_inputs += found.inputs;
                self.near_kinks += found.kinks;
                return;
            }
            Verdict::Judged => {}
        }
        self.judged += 1;
        self.closed += u32::from(found.whole);
        self.changed += u32::from(at.changed);
        self.undone += u32::from(at.undone);
        self.without_q += u32::from(certificate.fails_by_q_alone());
        self.inputs += found.inputs;
        self.kinks += found.kinks;
        self.hidden += found.hidden.iter().filter(|&&error| error > tolerance).count();
        self.hidden_error = found.hidden.iter().fold(self.hidden_error, |worst, error| worst.max(*error));
        if certificate.margin.is_finite() {
            self.margin = Some(self.margin.unwrap_or(f64::INFINITY).min(certificate.margin));
        }
        self.solver_residual = self.solver_residual.max(found.residual);
        self.step_us = self.step_us.min(found.us[0]);
        self.jacobian_us = self.jacobian_us.min(found.us[1]);
        self.contacts += found.modes.len();
        for mode in &found.modes {
            let at = [Mode::Breaking, Mode::Sticking, Mode::Sliding].iter().position(|m| m == mode);
            at.into_iter().for_each(|at| self.modes[at] += 1);
        }
        found.blocks.into_iter().for_each(|block| keep(&mut self.worst, index, block));
    }
}

fn keep(worst: &mut Vec<Worst>, state: u32, block: Block) {
    let [row, column] = block.worst;
    let [analytic, difference] = block.values;
    let found = Worst { block: block.name, error: block.error, state, row, column, analytic, difference };
    match worst.iter_mut().find(|w| w.block == block.name) {
        Some(old) if found.error > old.error || found.error.is_nan() => *old = found,
        Some(_) => {}
        None => worst.push(found),
    }
}

/// As a table.
pub(super) fn human(report: &Report) -> String {
    let [breaking, sticking, sliding] = report.modes;
    let what = if report.directions { "directions" } else { "inputs" };
    let mut text = output::pairs([
        ("model", report.model.clone()),
        (
            "states",
            format!(
                "{}: {} judged ({} changed at random, {} at closed gaps, {} with violations \
                 undone whole, {} but for derivatives by q), {} near a switch of modes, {} \
                 without a valid derivative",
                report.states,
                report.judged,
                report.changed,
                report.closed,
                report.undone,
                report.without_q,
                report.near_switch,
                report.invalid
            ),
        ),
        (what, format!("{}, of which {} at a kink and left out", report.inputs, report.kinks)),
        (
            "less closely",
            format!(
                "in {} of them the steps' residual could hide errors, of {:.1e} at most",
                report.hidden, report.hidden_error
            ),
        ),
        (
            "not judged",
            format!(
                "the step has a kink in {} of {} {what} without a valid derivative, in {} of {} near a switch",
                report.invalid_kinks, report.invalid_inputs, report.near_kinks, report.near_inputs
            ),
        ),
        if report.directions {
            (
                "unknown impulses",
                format!("{} at most, {} of them by iterations", report.unknowns[0], report.unknowns[1]),
            )
        } else {
            ("contacts", format!("{}: {breaking} breaking, {sticking} sticking, {sliding} sliding", report.contacts))
        },
        ("least distance to a switch", report.margin.map_or("no constraint".into(), |m| format!("{m:.1e} m/s"))),
        ("least time", format!("{:.1} us a step (alone), {:.1} us its derivative", report.step_us, report.jacobian_us)),
        ("solver residual", format!("{:.1e} m/s", report.solver_residual)),
    ])
    .to_string();
    let mut table = output::table(["block", "error", "state", "row", "column", "analytic", "difference"]);
    for w in &report.worst {
        table.add_row([
            w.block.to_owned(),
            format!("{:.1e}", w.error),
            w.state.to_string(),
            if report.directions { String::new() } else { w.row.to_string() },
            if report.directions { String::new() } else { w.column.to_string() },
            if report.directions { String::new() } else { format!("{:.8e}", w.analytic) },
            if report.directions { String::new() } else { format!("{:.8e}", w.difference) },
        ]);
    }
    text += &format!("\n{table}\n");
    for problem in &report.problems {
        text += &format!("against derivatives: {problem}\n");
    }
    text
}
