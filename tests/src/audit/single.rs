//! Derivatives of steps in single precision, by the host and by kernels, compared with each other and with those in double precision.

use manyworlds::{BatchOptions, Jacobian, Precision};

use super::products::{by_kernels, kept};
use super::{Audit, Place};
use crate::batches::{batch, largest, largest_difference, state};

/// Differences, of the largest entry or what there would be without constraints, above which two count as far from each other: what slides
/// slowly, or is wedged, turns with the rounding of places, and what is hardly open or closed is the other.
const FAR: f64 = 1e-2;
/// What is below this, in SI units, is as good as zero.
const LEAST: f64 = 1e-3;

/// What was seen of steps in single precision.
#[derive(Debug, Default, Clone, Copy)]
pub struct Single {
    /// Steps whose derivatives in double precision are certified.
    pub steps: u64,
    /// Those of them whose derivatives are certified in single precision as well: by the host, by kernels.
    pub certified: [u64; 2],
    /// Of these the ones that are far from those in double precision.
    pub far: [u64; 2],
    /// Those by kernels that are far from those by the host.
    pub apart: u64,
}

impl Audit {
    /// Compares Jacobians of a step from a state that is rounded to single precision.
    pub(super) fn in_single(&mut self, place: &Place) {
        let Place { model, options, from, .. } = *place;
        let mut options = options.clone();
        // Gaps that are closed in one precision need not be in the other: a step says the same of both then.
        options.stabilisation.fraction = 1.0;
        let BatchOptions { executor, stabilisation, .. } = options;
        let single = BatchOptions { precision: Precision::F32, executor, stabilisation, ..BatchOptions::default() };
        let mut at_rounded = batch(model, 1, &single);
        at_rounded.reset(&[(0, from.clone())]).expect("a state");
        let from = state(&mut at_rounded, 0);
        let double = kept(model, &options, &from).jacobian(0).expect("a Jacobian");
        if !double.certificate.valid_but_by_q() {
            return;
        }
        self.single.steps += 1;
        let mut rounded = kept(model, &single, &from);
        let host = rounded.jacobian(0).expect("a Jacobian");
        let kernels = by_kernels(&mut rounded, &host);
        let is_certified = [&host, &kernels].map(|found| found.certificate.valid_but_by_q());
        for (way, found) in [&host, &kernels].into_iter().enumerate().filter(|(way, _)| is_certified[*way]) {
            self.single.certified[way] += 1;
            self.single.far[way] += u64::from(apart(found, &double) > FAR);
        }
        self.single.apart += u64::from(is_certified == [true; 2] && apart(&kernels, &host) > FAR);
    }
}

/// How far two Jacobians of one world are apart: most of all blocks of dv+, of each relative to its largest entry. That by q counts
/// where both are certified by it.
fn apart(found: &Jacobian, expected: &Jacobian) -> f64 {
    let [by_force, by_control] = expected.free;
    let by_q = [found, expected].iter().all(|own| own.certificate.valid());
    let blocks = [
        (&found.dv_dq, &expected.dv_dq, 1.0),
        (&found.dv_dv, &expected.dv_dv, 1.0),
        (&found.dv_dtau, &expected.dv_dtau, by_force),
        (&found.dv_dctrl, &expected.dv_dctrl, by_control),
    ];
    let own = blocks
        .into_iter()
        .skip(usize::from(!by_q))
        .map(|(found, expected, free)| largest_difference(found, expected) / largest(expected).max(free).max(LEAST));
    own.fold(0.0, |most, own| if own <= most { most } else { own })
}
