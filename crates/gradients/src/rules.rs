//! Derivatives other than that of the step as it is computed, each a named choice.

/// How bounces are differentiated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Bounces {
    /// As the step computes them, at its end: exact for the simulator. A body let fall from higher up is then where it was
    /// higher up by as much, and bounces no sooner.
    #[default]
    AsStepped,
    /// At the time of impact within the step, by the saltation matrix of the impact: what a finer and finer time step
    /// tends to.
    AtImpact,
}

/// [`GradientRules::largest_dense`]: from here on elimination takes longer.
const LARGEST_DENSE: usize = 600;

/// How derivatives are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GradientRules {
    /// How bounces are differentiated.
    pub bounces: Bounces,
    /// Saddle escape, of products with the transposed Jacobian alone (K. Werling et al. 2021, section 4.4): contacts that
    /// hold back what the loss wants are also tried as if they let go, and of the two gradients the one that is larger by v
    /// and tau is given. It is then no derivative, but a direction that leads off a plateau.
    pub escape: bool,
    /// Degrees of freedom, and rows of constraints that act, of an island that products solve by elimination at most; those
    /// of larger ones are found by iterations, through the trees' factors.
    pub largest_dense: usize,
}

impl Default for GradientRules {
    fn default() -> Self {
        Self { bounces: Bounces::default(), escape: false, largest_dense: LARGEST_DENSE }
    }
}
