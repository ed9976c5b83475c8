//! Differences of a step, input by input, and what they say of its derivatives.

use super::{Block, Comparison};
use crate::{Error, Jacobian};

/// Second differences of a smooth step grow with the square of their width; what is off by more than this factor has a kink
/// within reach.
const NOT_SMOOTH: f64 = 3.0;

/// What was found of one input: an entry of q, v, tau, ctrl or act.
pub(super) struct Input {
    /// Number in the order q, v, tau, ctrl, act.
    pub(super) index: usize,
    /// 0 to 4.
    pub(super) part: usize,
    pub(super) kinked: bool,
    /// Largest second difference of a velocity.
    pub(super) second: f64,
    /// What the worst velocity is off by, before it is divided by the change of the input.
    pub(super) off: f64,
    /// Of positions, velocities and activations.
    pub(super) errors: [Entry; 3],
}

/// The worst entry of a column.
#[derive(Clone, Copy, Default)]
pub(super) struct Entry {
    pub(super) error: f64,
    pub(super) at: [usize; 2],
    pub(super) values: [f64; 2],
    /// Error that residual and rounding of the steps could hide.
    pub(super) hidden: f64,
}

impl Input {
    pub(super) fn hidden(&self) -> f64 {
        self.errors.iter().fold(0.0, |most, entry| entry.hidden.max(most))
    }

    pub(super) fn error(&self) -> f64 {
        // `max` would swallow a NaN.
        self.errors.iter().fold(0.0, |worst, entry| if entry.error <= worst { worst } else { entry.error })
    }

    /// Whether it is at a kink, or its error is too large, may be so unseen, or is not a number.
    pub(super) fn is_open(&self, tolerance: f64) -> bool {
        self.is_wrong(tolerance) || self.hidden() > tolerance
    }

    fn is_wrong(&self, tolerance: f64) -> bool {
        let error = self.error();
        self.kinked || error > tolerance || error.is_nan()
    }

    /// Makes up its mind with differences `ratio` times as far.
    pub(super) fn settle(&mut self, other: &Self, ratio: f64, tolerance: f64) {
        if other.kinked {
            return;
        }
        if self.kinked {
            // What looked like a kink was rounding, or is out of reach.
            if !other.is_wrong(tolerance) {
                (self.errors, self.kinked) = (other.errors, false);
            }
            return;
        }
        for (own, other) in self.errors.iter_mut().zip(&other.errors) {
            // A NaN stays.
            let closer = own.error <= tolerance && other.error <= tolerance && other.hidden < own.hidden;
            if closer || (other.error < own.error && own.error > tolerance) {
                *own = *other;
            }
        }
        let expected = other.second / (ratio * ratio);
        let (least, most) = (self.second.min(expected), self.second.max(expected));
        // A kink that one side is off by shows in the second difference as much.
        self.kinked = self.error() > tolerance && most > NOT_SMOOTH * least && self.second >= self.off;
    }
}

/// How many times as far apart differences are taken again that disagree.
const WIDTHS: [f64; 2] = [5.0, 0.2];

/// Has inputs make up their minds: those that are open are differenced again, by `again` of some numbers and so many times as
/// far.
pub(super) fn settle(
    found: &mut [Input],
    tolerance: f64,
    mut again: impl FnMut(&[usize], f64) -> Result<Vec<Input>, Error>,
) -> Result<(), Error> {
    for ratio in WIDTHS {
        let mut open: Vec<&mut Input> = found.iter_mut().filter(|input| input.is_open(tolerance)).collect();
        if open.is_empty() {
            break;
        }
        let numbers: Vec<usize> = open.iter().map(|input| input.index).collect();
        let other = again(&numbers, ratio)?;
        open.iter_mut().zip(&other).for_each(|(input, other)| input.settle(other, ratio, tolerance));
    }
    Ok(())
}

/// What was found at a state.
pub(super) struct Differences {
    pub(super) jacobian: Jacobian,
    pub(super) inputs: Vec<Input>,
    pub(super) whole: bool,
    pub(super) residual: f64,
    /// Of the step and its derivative.
    pub(super) us: [f64; 2],
}

impl Differences {
    pub(super) fn comparison(self) -> Comparison {
        let block = |name: &&'static str| Block { name, error: 0.0, worst: [0; 2], values: [0.0; 2] };
        let mut blocks: Vec<Block> = BLOCKS.iter().flatten().map(block).collect();
        let (mut kinks, mut inputs, mut hidden) = ([0; 5], [0; 5], Vec::new());
        for input in &self.inputs {
            inputs[input.part] += 1;
            kinks[input.part] += usize::from(input.kinked);
            if input.kinked {
                continue;
            }
            hidden.push(input.hidden());
            for (which, entry) in input.errors.iter().enumerate() {
                let block = &mut blocks[inputs.len() * which + input.part];
                // A NaN counts as the worst.
                if entry.error > block.error || entry.error.is_nan() {
                    (block.error, block.worst, block.values) = (entry.error, entry.at, entry.values);
                }
            }
        }
        if self.jacobian.n_act == 0 {
            blocks.retain(|block| !block.name.contains("act"));
        }
        let [step_us, jacobian_us] = self.us;
        let Self { jacobian, whole, residual, .. } = self;
        Comparison { jacobian, blocks, kinks, inputs, hidden, whole, residual, step_us, jacobian_us }
    }
}

/// Names of the blocks: of positions, velocities and activations.
const BLOCKS: [[&str; 5]; 3] = [
    ["dq_dq", "dq_dv", "dq_dtau", "dq_dctrl", "dq_dact"],
    ["dv_dq", "dv_dv", "dv_dtau", "dv_dctrl", "dv_dact"],
    ["dact_dq", "dact_dv", "dact_dtau", "dact_dctrl", "dact_dact"],
];

#[cfg(test)]
mod tests {
    use super::{Entry, Input};

    /// An input off by `off`, of a block whose largest entry is one, differenced by one.
    fn input(second: f64, off: f64) -> Input {
        let entry = Entry { error: off, at: [0; 2], values: [0.0, off], hidden: 0.0 };
        Input { index: 0, part: 1, kinked: false, second, off, errors: [Entry::default(), entry, Entry::default()] }
    }

    #[test]
    fn what_is_wrong_is_no_kink_and_what_bends_is() {
        // Straight, its second differences rounding alone: as wrong at any distance.
        let mut wrong = input(1e-16, 1e-3);
        wrong.settle(&input(1e-16, 1e-3), 5.0, 1e-6);
        assert!(!wrong.kinked && wrong.is_open(1e-6));
        // Curved.
        let mut wrong = input(1e-4, 1e-3);
        wrong.settle(&input(25e-4, 1e-3), 5.0, 1e-6);
        assert!(!wrong.kinked && wrong.is_open(1e-6));
        // One side is off by 2e-3, however far.
        let mut bent = input(2e-3, 1e-3);
        bent.settle(&input(10e-3, 1e-3), 5.0, 1e-6);
        assert!(bent.kinked);
        // Rounding, which is less where differences are larger.
        let mut rounded = input(1e-5, 1e-5);
        rounded.settle(&input(1e-5, 1e-7), 5.0, 1e-6);
        assert!(!rounded.is_open(1e-6));
        // What the solver's residual may hide is looked for where it hides less,
        let blind = |hidden: f64, error: f64| {
            let mut input = input(1e-16, error);
            input.errors[1].hidden = hidden;
            input
        };
        let mut hidden = blind(1e-4, 0.0);
        assert!(hidden.is_open(1e-6));
        hidden.settle(&blind(2e-5, 0.0), 5.0, 1e-6);
        assert!(hidden.hidden() == 2e-5 && hidden.is_open(1e-6));
        // and what is off there is not taken for what is right.
        hidden.settle(&blind(1e-7, 1e-3), 0.2, 1e-6);
        assert!(hidden.hidden() == 2e-5 && hidden.error() == 0.0);
        // What looked like a kink and is none farther away.
        let mut rounded = Input { kinked: true, ..input(1e-5, 1e-5) };
        rounded.settle(&input(1e-5, 1e-7), 5.0, 1e-6);
        assert!(!rounded.is_open(1e-6));
    }
}
