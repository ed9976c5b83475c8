//! One world's last step laid open.

use manyworlds_contact::{ContactProblem, Relaxation};

use crate::Summary;

/// Everything about a world's last step: matrices, contacts, rows and the certificate.
#[derive(Debug, Clone, Default)]
pub struct Inspection {
    /// Joint-space inertia with armature, dense row-major, `[n_v, n_v]`.
    pub mass: Vec<f64>,
    /// Momentum matrix A, dense row-major, `[n_v, n_v]`.
    pub momentum: Vec<f64>,
    /// Coriolis, centrifugal and gravity forces, `[n_v]`.
    pub bias: Vec<f64>,
    /// Velocity without contacts and rows, `[n_v]`.
    pub v_free: Vec<f64>,
    /// Generalized force of adhesion, mean value over the step, N or N m, `[n_v]`.
    pub adhesion: Vec<f64>,
    /// Contacts as they were when the step began, with what the step made of them.
    pub contacts: Vec<ContactReport>,
    /// Rows that could act.
    pub rows: Vec<RowReport>,
    /// Biases that gave way, because no motion gives what they ask for.
    pub relaxed: Vec<RelaxedReport>,
    /// The certificate.
    pub summary: Summary,
}

/// One contact.
#[derive(Debug, Clone, PartialEq)]
pub struct ContactReport {
    /// Bodies of the model, its soft bodies numbered behind all others; the normal points from the first to the second.
    pub bodies: [usize; 2],
    /// Geoms of the model, soft bodies numbered behind them.
    pub geoms: [usize; 2],
    /// Midway between the surfaces, world frame, m.
    pub point: [f64; 3],
    /// Rows t1, t2, n, world frame.
    pub frame: [[f64; 3]; 3],
    /// Signed distance, m.
    pub distance: f64,
    /// Coulomb friction coefficient.
    pub friction: f64,
    /// Impulse on the second body, (t1, t2, n), N s.
    pub impulse: [f64; 3],
    /// Velocity of the second body relative to the first after the step, (t1, t2, n), m/s.
    pub velocity: [f64; 3],
}

/// A soft body of a world as it is now.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SoftReport {
    /// Where its nodes are, those that are pinned as well, world frame, m.
    pub nodes: Vec<[f64; 3]>,
    /// Where the vertices of its surface are, as `model::SoftBody::vertices` numbers them, world frame, m: the nodes, or what moves with
    /// those of a cage.
    pub vertices: Vec<[f64; 3]>,
    /// m^3
    pub volume: f64,
    /// Energy of its deformation, J.
    pub energy: f64,
}

/// What a contact did in the last step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ContactImpulse {
    /// World of the batch.
    pub world: usize,
    /// Bodies of the model, its soft bodies numbered behind all others.
    pub bodies: [usize; 2],
    /// Midway between the surfaces as they were when the step began, world frame, m.
    pub point: [f64; 3],
    /// Impulse on the second body, world frame, N s; over the time step it is a force.
    pub impulse: [f64; 3],
    /// Signed distance of the surfaces as the step began, m.
    pub distance: f64,
}

/// What a contact did in the last step, and how well it was solved.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SolvedContact {
    /// What it did; those that did nothing are among them.
    pub contact: ContactImpulse,
    /// How far its impulse is from what the law makes of it, N s: the certificate's residual is the root of the sum of the
    /// squares of these, over the number of contacts.
    pub residual: f64,
}

/// One scalar constraint.
#[derive(Debug, Clone, PartialEq)]
pub struct RowReport {
    /// "limit", "dry friction", "drive" or "coupling".
    pub kind: &'static str,
    /// What it acts on.
    pub of: RowOf,
    /// N s or N m s.
    pub impulse: f64,
}

/// What a row acts on; of couplings, what is driven.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowOf {
    /// A joint of the model.
    Joint(usize),
    /// A tendon of the model.
    Tendon(usize),
}

/// A contact or row whose bias gave way in a step that asked for what no motion gives.
#[derive(Debug, Clone, PartialEq)]
pub struct RelaxedReport {
    /// Which.
    pub of: RelaxedOf,
    /// What was added to the bias of a contact's normal, or to a row's, m/s.
    pub by: f64,
    /// Whether it was left out altogether, because nothing that moves moves it: the certificate is not about it.
    pub left_out: bool,
}

/// What gave way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RelaxedOf {
    /// One of [`Inspection::contacts`].
    Contact(usize),
    /// One of [`Inspection::rows`].
    Row(usize),
    /// A row of a connect or weld, which the other lists do not have: its number among the relaxed.
    Equality(usize),
}

/// What the last step of a world had to solve, and what it made of it.
#[derive(Debug, Clone)]
pub struct StepProblem {
    /// The problem, without warm start.
    pub problem: ContactProblem,
    /// The step's impulses in the order of the problem's rows, N s or N m s, `[n_rows]`.
    pub impulse: Vec<f64>,
    /// The velocity after the step as the solver left it, `[n_v]`.
    pub velocity: Vec<f64>,
    /// Biases that gave way: the impulses solve the problem [relaxed](ContactProblem::relax) so.
    pub relaxed: Vec<Relaxation>,
}
