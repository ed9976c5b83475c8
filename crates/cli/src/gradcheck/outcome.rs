//! Derivatives at one state compared with differences.

use manyworlds::gradcheck::{Block, Checker};
use manyworlds::{Certificate, Error, Mode, State};

/// What was found at a state.
pub(super) struct Outcome {
    pub(super) certificate: Certificate,
    pub(super) blocks: Vec<Block>,
    /// Of the contacts; none where directions were compared.
    pub(super) modes: Vec<Mode>,
    /// Inputs, or directions, and how many of them the step has a kink in.
    pub(super) inputs: usize,
    pub(super) kinks: usize,
    /// As [`manyworlds::gradcheck::Comparison::hidden`], of what is judged.
    pub(super) hidden: Vec<f64>,
    /// As [`manyworlds::gradcheck::Comparison::whole`].
    pub(super) whole: bool,
    pub(super) residual: f64,
    /// Of the step and its derivative.
    pub(super) us: [f64; 2],
}

/// Whether an outcome says something about derivatives.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It does.
    Judged,
    /// The state is near a switch of modes.
    Near,
    /// It has no valid derivative.
    Invalid,
}

impl Outcome {
    /// Compares at a state, inputs or directions.
    pub(super) fn at(state: &State, checker: &mut Checker, directions: bool, tolerance: f64) -> Result<Self, Error> {
        if directions {
            let found = checker.compare_directions(state, tolerance)?;
            let block = |(name, error)| Block { name, error, worst: [0; 2], values: [f64::NAN; 2] };
            return Ok(Self {
                certificate: found.certificate,
                blocks: [("products", found.ahead), ("transposed", found.back)].map(block).into(),
                modes: Vec::new(),
                inputs: found.count,
                kinks: found.kinks,
                hidden: found.hidden,
                whole: found.whole,
                residual: found.residual,
                us: [found.step_us, found.back_us],
            });
        }
        let mut found = checker.compare_closely(state, tolerance)?;
        let certificate = found.jacobian.certificate;
        if certificate.fails_by_q_alone() {
            found.blocks.retain(|block| !block.name.ends_with("_dq"));
            // Those of q come first.
            found.hidden.drain(..found.inputs[0] - found.kinks[0]);
            (found.inputs[0], found.kinks[0]) = (0, 0);
        }
        Ok(Self {
            certificate,
            blocks: found.blocks,
            modes: found.jacobian.modes,
            inputs: found.inputs.iter().sum(),
            kinks: found.kinks.iter().sum(),
            hidden: found.hidden,
            whole: found.whole,
            residual: found.residual,
            us: [found.step_us, found.jacobian_us],
        })
    }
}

/// `margin`: the least of a state that is judged, m/s.
pub(super) fn verdict(certificate: &Certificate, margin: f64) -> Verdict {
    if !certificate.valid_but_by_q() {
        Verdict::Invalid
    } else if certificate.margin < margin {
        Verdict::Near
    } else {
        Verdict::Judged
    }
}
