//! What is asked of the derivatives of one world's last step.

/// The part of a product that is about one world, and where it goes. Empty slices that are written are not wanted; empty
/// ones that are read stand for zeros.
pub(crate) enum WorldProduct<'a> {
    /// Blocks of the Jacobian: dq by q, v, tau, ctrl, then dv by the same; then dq and dv by act, and dact by ctrl and act.
    Jacobian([&'a mut [f64]; 12]),
    /// The transposed Jacobian times the gradient of a loss by q+, v+ and act+: that by q, v, tau, ctrl and act.
    Back { from: [&'a [f64]; 3], to: [&'a mut [f64]; 5] },
    /// The Jacobian times a change of q, v, tau, ctrl and act: that of q+, v+ and act+.
    Along { from: [&'a [f64]; 5], to: [&'a mut [f64]; 3] },
}

/// A product that is asked for. Those of one call are all of one kind.
pub(crate) struct Request<'a> {
    /// Its number in the order that was asked for.
    pub(crate) order: usize,
    /// World of the group.
    pub(crate) world: usize,
    pub(crate) product: WorldProduct<'a>,
}
