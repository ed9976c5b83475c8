//! What is asked of the derivatives of one world's last step.

/// The part of a product that is about one world, and where it goes. Empty slices that are written are not wanted; empty
/// ones that are read stand for zeros.
pub(crate) enum WorldProduct<'a> {
    /// Blocks of the Jacobian: dq by q, v, tau, ctrl, then dv by the same.
    Jacobian([&'a mut [f64]; 8]),
    /// The transposed Jacobian times the gradient of a loss by q+ and v+: that by q, v, tau and ctrl.
    Back { from: [&'a [f64]; 2], to: [&'a mut [f64]; 4] },
    /// The Jacobian times a change of q, v, tau and ctrl: that of q+ and v+.
    Along { from: [&'a [f64]; 4], to: [&'a mut [f64]; 2] },
}

/// A product that is asked for. Those of one call are all of one kind.
pub(crate) struct Request<'a> {
    /// Its number in the order that was asked for.
    pub(crate) order: usize,
    /// World of the group.
    pub(crate) world: usize,
    pub(crate) product: WorldProduct<'a>,
}
