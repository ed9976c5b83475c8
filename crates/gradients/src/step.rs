//! Derivatives of the step of a world.

use nalgebra::DMatrix;

use crate::contact::{BlockInput, ContactInput};
use crate::island::{IslandStep, Parts, island_step};
use crate::mode::Mode;
use crate::tree::TreeInput;

/// What a step of a world was: its trees before it, its contacts and blocks with their impulses.
#[derive(Debug, Clone, Default)]
pub struct StepInput<'a> {
    /// Trees, in the order of their dofs.
    pub trees: Vec<TreeInput<'a>>,
    /// Contacts.
    pub contacts: Vec<ContactInput>,
    /// Bilateral blocks, of one tree or of two.
    pub blocks: Vec<BlockInput>,
    /// Controls of each tree, by their numbers in the world, `[trees][n_u]`.
    pub controls: Vec<&'a [usize]>,
}

/// How far a derivative is to be trusted.
#[derive(Debug, Clone, PartialEq)]
pub struct Certificate {
    /// Distance to the nearest switch of a contact's or row's mode, m/s (rad/s): the derivative is one-sided at zero.
    /// Infinite without constraints.
    pub margin: f64,
    /// Unknown impulses of the linear systems.
    pub size: usize,
    /// How many of them are independent; fewer than `size` where contacts are redundant.
    pub rank: usize,
    /// Largest left-over of the linear systems, relative to their right-hand sides.
    pub residual: f64,
    /// Why the derivative is not that of the step; empty when it is.
    pub problems: Vec<String>,
}

impl Certificate {
    /// Whether the derivative is that of the step.
    #[must_use]
    pub fn valid(&self) -> bool {
        self.problems.is_empty()
    }
}

/// Left-overs above this mean that the linear system has no solution.
const LARGEST_RESIDUAL: f64 = 1e-6;

/// Margins below this are mode switches: rounding decides which side the step is on.
const SMALLEST_MARGIN: f64 = 1e-12;

/// Derivatives of the state after a step by the state before it and by what acts, dense, row-major. Rows and columns of q
/// are those of the tangent space: `n_v`, orientations by rotation vectors in body axes.
#[derive(Debug, Clone, PartialEq)]
pub struct Jacobian {
    /// Degrees of freedom.
    pub n_v: usize,
    /// Controls.
    pub n_u: usize,
    /// `[n_v, n_v]`
    pub dq_dq: Vec<f64>,
    /// `[n_v, n_v]`, s.
    pub dq_dv: Vec<f64>,
    /// `[n_v, n_v]`
    pub dq_dtau: Vec<f64>,
    /// `[n_v, n_u]`
    pub dq_dctrl: Vec<f64>,
    /// `[n_v, n_v]`, 1/s.
    pub dv_dq: Vec<f64>,
    /// `[n_v, n_v]`
    pub dv_dv: Vec<f64>,
    /// `[n_v, n_v]`
    pub dv_dtau: Vec<f64>,
    /// `[n_v, n_u]`
    pub dv_dctrl: Vec<f64>,
    /// Mode of each contact.
    pub modes: Vec<Mode>,
    /// How far to trust it.
    pub certificate: Certificate,
}

/// Trees, contacts and blocks by island: what shares a constraint is in one.
fn islands(input: &StepInput) -> Vec<Parts> {
    let n = input.trees.len();
    let mut root: Vec<usize> = (0..n).collect();
    fn find(root: &mut [usize], mut i: usize) -> usize {
        while root[i] != i {
            root[i] = root[root[i]];
            i = root[i];
        }
        i
    }
    let pairs = input.contacts.iter().map(|c| c.bodies).chain(input.blocks.iter().map(|b| b.bodies));
    for bodies in pairs {
        if let [Some((a, _)), Some((b, _))] = bodies {
            let (a, b) = (find(&mut root, a), find(&mut root, b));
            root[a.max(b)] = a.min(b);
        }
    }
    let mut index = vec![usize::MAX; n];
    let mut out: Vec<Parts> = Vec::new();
    for tree in 0..n {
        let top = find(&mut root, tree);
        if top == tree {
            index[tree] = out.len();
            out.push(Parts::default());
        }
        index[tree] = index[top];
        out[index[tree]].trees.push(tree);
    }
    let of = |bodies: [Option<(usize, usize)>; 2]| bodies.iter().flatten().next().map(|&(tree, _)| index[tree]);
    for (i, contact) in input.contacts.iter().enumerate() {
        if let Some(island) = of(contact.bodies) {
            out[island].contacts.push(i);
        }
    }
    for (i, block) in input.blocks.iter().enumerate() {
        if let Some(island) = of(block.bodies) {
            out[island].blocks.push(i);
        }
    }
    out
}

/// Derivatives of a step.
#[must_use]
pub fn jacobian(input: &StepInput) -> Jacobian {
    let n_v = input.trees.iter().map(|t| t.layout.dims.n_v as usize).sum();
    let n_u = input.trees.iter().map(|t| t.layout.dims.n_u as usize).sum();
    let first: Vec<usize> = input
        .trees
        .iter()
        .scan(0, |at, tree| {
            let first = *at;
            *at += tree.layout.dims.n_v as usize;
            Some(first)
        })
        .collect();
    let (square, wide) = (|| vec![0.0; n_v * n_v], || vec![0.0; n_v * n_u]);
    let mut out = Jacobian {
        n_v,
        n_u,
        dq_dq: square(),
        dq_dv: square(),
        dq_dtau: square(),
        dq_dctrl: wide(),
        dv_dq: square(),
        dv_dv: square(),
        dv_dtau: square(),
        dv_dctrl: wide(),
        modes: vec![Mode::Breaking; input.contacts.len()],
        certificate: Certificate { margin: f64::INFINITY, size: 0, rank: 0, residual: 0.0, problems: Vec::new() },
    };
    for parts in islands(input) {
        let step = island_step(&input.trees, &input.contacts, &input.blocks, &parts);
        let dofs: Vec<usize> = parts
            .trees
            .iter()
            .flat_map(|&t| (0..input.trees[t].layout.dims.n_v as usize).map(move |i| (t, i)))
            .map(|(t, i)| first[t] + i)
            .collect();
        let controls: Vec<usize> = parts.trees.iter().flat_map(|&t| input.controls[t].iter().copied()).collect();
        scatter(&step, &dofs, &controls, &mut out);
        for (&contact, &mode) in parts.contacts.iter().zip(&step.modes) {
            out.modes[contact] = mode;
        }
        let certificate = &mut out.certificate;
        certificate.margin = certificate.margin.min(step.margin);
        certificate.size += step.size;
        certificate.rank += step.rank;
        certificate.residual = certificate.residual.max(step.residual);
    }
    judge(input, &mut out);
    out
}

fn scatter(step: &IslandStep, dofs: &[usize], controls: &[usize], out: &mut Jacobian) {
    let (n_v, n_u) = (out.n_v, out.n_u);
    let put = |from: &DMatrix<f64>, columns: &[usize], width: usize, to: &mut [f64]| {
        for (j, &column) in columns.iter().enumerate() {
            for (i, &row) in dofs.iter().enumerate() {
                to[row * width + column] = from[(i, j)];
            }
        }
    };
    let [q, v, tau] = &step.dq;
    put(q, dofs, n_v, &mut out.dq_dq);
    put(v, dofs, n_v, &mut out.dq_dv);
    put(tau, dofs, n_v, &mut out.dq_dtau);
    put(&step.dq_dctrl, controls, n_u, &mut out.dq_dctrl);
    let [q, v, tau] = &step.dv;
    put(q, dofs, n_v, &mut out.dv_dq);
    put(v, dofs, n_v, &mut out.dv_dv);
    put(tau, dofs, n_v, &mut out.dv_dtau);
    put(&step.dv_dctrl, controls, n_u, &mut out.dv_dctrl);
}

/// What speaks against the derivative.
fn judge(input: &StepInput, out: &mut Jacobian) {
    let problems = &mut out.certificate.problems;
    for (contact, mode) in input.contacts.iter().zip(&out.modes) {
        // A contact that stays apart has no say, whatever its shapes.
        if let Err(reason) = &contact.slope
            && *mode != Mode::Breaking
            && !problems.contains(reason)
        {
            problems.push(reason.clone());
        }
    }
    if out.certificate.margin < SMALLEST_MARGIN {
        problems.push(format!(
            "a constraint is at a kink of its law: a switch of its mode, or a gap that is just closed (margin {:.1e} m/s); \
             the derivative is one-sided",
            out.certificate.margin
        ));
    }
    if out.certificate.residual > LARGEST_RESIDUAL {
        problems.push(format!("the linear system has no solution (left over: {:.1e})", out.certificate.residual));
    }
    let all = [&out.dq_dq, &out.dq_dv, &out.dq_dtau, &out.dv_dq, &out.dv_dv, &out.dv_dtau];
    if all.iter().any(|m| m.iter().any(|x| !x.is_finite())) {
        problems.push("the derivative is not finite".into());
    }
}
