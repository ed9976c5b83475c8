//! Derivatives of the step of a world.

use manyworlds_shaders::dynamics::tree::param;

use crate::block::BlockInput;
use crate::constraint::closed_below;
use crate::contact::ContactInput;
use crate::grid::axpy;
use crate::island::{Island, LARGEST_RESIDUAL, LeftOver, Parts};
use crate::large::Large;
use crate::mode::Mode;
use crate::model::ContactModel;
use crate::parameter::{StepParameter, Touching};
use crate::product::Outputs;
use crate::rules::{Bounces, GradientRules, Impact};
use crate::share::shared;
use crate::sparse::SparseInput;
use crate::tree::TreeInput;

/// What a step of a world was: its trees before it, its contacts and blocks with their impulses.
#[derive(Debug, Clone, Default)]
pub struct StepInput<'a> {
    /// Trees, in the order of their dofs.
    pub trees: Vec<TreeInput<'a>>,
    /// Bodies that deform; their dofs follow those of the trees.
    pub sparse: Vec<SparseInput<'a>>,
    /// Contacts.
    pub contacts: &'a [ContactInput],
    /// Bilateral blocks, of one tree or of two.
    pub blocks: &'a [BlockInput],
    /// The contact it was solved with.
    pub model: ContactModel,
    /// It was computed in single precision: switches and closed gaps are told from others by as much less.
    pub single: bool,
    /// Controls of each tree, by their numbers in the world, `[trees][n_u]`.
    pub controls: Vec<&'a [usize]>,
}

/// How far a derivative is to be trusted.
#[derive(Debug, Clone, PartialEq)]
pub struct Certificate {
    /// Distance to the nearest switch of a contact's or row's mode, m/s (rad/s): the derivative is one-sided at zero.
    /// Infinite without constraints.
    pub margin: f64,
    /// Contacts and limits that act at a gap that is just closed, as at rest. There the correction of penetrations has a
    /// kink, and of the two sides the derivative takes that of an open gap: whichever way it is moved, it is closed again
    /// after the step. Other changes (a push, a torque) see no kink.
    pub closed: usize,
    /// Unknown impulses of the linear systems.
    pub size: usize,
    /// How many of them are independent; fewer than `size` where contacts are redundant. Of `iterated` ones that is not known,
    /// and they count as independent.
    pub rank: usize,
    /// How many of them are in islands too large for elimination, whose systems are solved by iterations.
    pub iterated: usize,
    /// Products of those systems with a vector that the iterations took.
    pub iterations: usize,
    /// Largest left-over of the linear systems, relative to their right-hand sides.
    pub residual: f64,
    /// Why the derivative is not that of the step; empty when it is.
    pub problems: Vec<String>,
    /// Why that by q is not, though those by velocities, forces and controls are: contacts whose points and normals move in no
    /// known way.
    pub problems_by_q: Vec<String>,
}

impl Default for Certificate {
    /// Of a derivative that nothing speaks against.
    fn default() -> Self {
        Self {
            margin: f64::INFINITY,
            closed: 0,
            size: 0,
            rank: 0,
            iterated: 0,
            iterations: 0,
            residual: 0.0,
            problems: Vec::new(),
            problems_by_q: Vec::new(),
        }
    }
}

impl Certificate {
    /// Adds what the margin says against the derivative. `single`: of a step in single precision.
    pub fn judge_margin(&mut self, single: bool) {
        if self.margin < if single { SMALLEST_MARGIN_SINGLE } else { SMALLEST_MARGIN } {
            self.problems.push(format!(
                "a constraint is at a switch of its mode (margin {:.1e} m/s): the derivative is one-sided",
                self.margin
            ));
        }
    }

    /// Adds what speaks against the derivative, once.
    pub fn add_problem(&mut self, problem: &str) {
        add_once(&mut self.problems, problem);
    }

    /// Adds what speaks against derivatives by q alone, once.
    pub fn add_problem_by_q(&mut self, problem: &str) {
        add_once(&mut self.problems_by_q, problem);
    }

    /// Adds what speaks against another derivative of the same step.
    pub fn add_problems_of(&mut self, other: &Self) {
        other.problems.iter().for_each(|problem| self.add_problem(problem));
        other.problems_by_q.iter().for_each(|problem| self.add_problem_by_q(problem));
    }

    /// All that speaks against it.
    pub fn reasons(&self) -> impl Iterator<Item = &String> {
        self.problems.iter().chain(&self.problems_by_q)
    }

    /// Whether the derivative is that of the step.
    #[must_use]
    pub fn valid(&self) -> bool {
        self.problems.is_empty() && self.problems_by_q.is_empty()
    }

    /// Whether it is but for that by q.
    #[must_use]
    pub fn fails_by_q_alone(&self) -> bool {
        self.valid_but_by_q() && !self.valid()
    }

    /// Whether those by velocities, forces and controls are, whatever that by q is.
    #[must_use]
    pub fn valid_but_by_q(&self) -> bool {
        self.problems.is_empty()
    }
}

fn add_once(problems: &mut Vec<String>, problem: &str) {
    if !problems.iter().any(|known| known == problem) {
        problems.push(problem.into());
    }
}

/// Degrees of freedom, and rows, of an island whose Jacobian is found by elimination at most.
const LARGEST_ISLAND: usize = 4096;

/// What speaks against a derivative that is not finite: it is given as zeros.
pub(crate) const NOT_FINITE: &str = "the derivative is not finite";

/// Margins below this are mode switches: rounding decides which side the step is on.
const SMALLEST_MARGIN: f64 = 1e-12;
/// The same of steps in single precision.
const SMALLEST_MARGIN_SINGLE: f64 = 1e-6;

/// Margins of redundant constraints below this may be a matter of how they share their impulses, m/s.
const DOUBTFUL_MARGIN: f64 = 1e-5;

/// Whether a margin may be a matter of how redundant contacts share their impulses. A solver that leaves some of them without
/// leaves a margin of rounding; then the equations of the others need not be redundant.
#[must_use]
pub fn is_doubtful(margin: f64, redundant: bool, single: bool) -> bool {
    let tied = if single { SMALLEST_MARGIN_SINGLE } else { closed_below(false) };
    margin < tied || (redundant && margin < DOUBTFUL_MARGIN)
}

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
    /// Most that a unit of force, and of control, would change a velocity without constraints: the scale of blocks that
    /// constraints hold at zero.
    pub free: [f64; 2],
    /// Mode of each contact.
    pub modes: Vec<Mode>,
    /// How far to trust it.
    pub certificate: Certificate,
}

/// What a left-over of the linear systems says against a derivative.
pub(crate) fn unsolved(residual: f64) -> Option<String> {
    (residual > LARGEST_RESIDUAL || residual.is_nan())
        .then(|| format!("the linear system has no solution (left over: {residual:.1e})"))
}

/// Trees, bodies that deform, contacts and blocks by island: what shares a constraint is in one.
fn islands(input: &StepInput) -> Vec<Parts> {
    let n_trees = input.trees.len();
    let n = n_trees + input.sparse.len();
    let mut root: Vec<usize> = (0..n).collect();
    fn find(root: &mut [usize], mut i: usize) -> usize {
        while root[i] != i {
            root[i] = root[root[i]];
            i = root[i];
        }
        i
    }
    let of_contact = |c: &ContactInput| -> [Option<usize>; 2] {
        let point = |side: usize| c.points[side].as_ref().map(|point| n_trees + point.body);
        [0, 1].map(|side| c.bodies[side].map(|body| body.0).or_else(|| point(side)))
    };
    let of_block = |b: &BlockInput| b.bodies.map(|body| body.map(|body| body.0));
    let pairs = input.contacts.iter().map(of_contact).chain(input.blocks.iter().map(of_block));
    for pair in pairs {
        if let [Some(a), Some(b)] = pair {
            let (a, b) = (find(&mut root, a), find(&mut root, b));
            root[a.max(b)] = a.min(b);
        }
    }
    let mut index = vec![usize::MAX; n];
    let mut out: Vec<Parts> = Vec::new();
    for own in 0..n {
        let top = find(&mut root, own);
        if top == own {
            index[own] = out.len();
            out.push(Parts::default());
        }
        index[own] = index[top];
        match own.checked_sub(n_trees) {
            None => out[index[own]].trees.push(own),
            Some(body) => out[index[own]].sparse.push(body),
        }
    }
    let of = |pair: [Option<usize>; 2]| pair.iter().flatten().next().map(|&own| index[own]);
    for (i, contact) in input.contacts.iter().enumerate() {
        if let Some(island) = of(of_contact(contact)) {
            out[island].contacts.push(i);
        }
    }
    for (i, block) in input.blocks.iter().enumerate() {
        if let Some(island) = of(of_block(block)) {
            out[island].blocks.push(i);
        }
    }
    out
}

/// A step linearised at its solution.
pub struct Linearised<'a> {
    pub(crate) islands: Vec<Part<'a>>,
    /// Those too large for elimination.
    pub(crate) large: Vec<LargePart<'a>>,
    pub(crate) n_v: usize,
    pub(crate) n_u: usize,
    modes: Vec<Mode>,
    contacts: &'a [ContactInput],
    blocks: &'a [BlockInput],
    model: ContactModel,
    single: bool,
    /// As [`GradientRules::escape`].
    pub(crate) escape: bool,
    pub(crate) certificate: Certificate,
}

/// An island and where its dofs and controls stand in the world.
pub(crate) struct Part<'a> {
    pub(crate) island: Island<'a>,
    /// What an impact adds, where that is asked for.
    pub(crate) impact: Option<Impact>,
    parts: Parts,
    pub(crate) dofs: Vec<usize>,
    pub(crate) controls: Vec<usize>,
}

impl Part<'_> {
    /// Whether its dofs and controls are those of the world, in their order.
    fn is_whole(&self) -> bool {
        [&self.dofs, &self.controls].into_iter().all(|own| own.iter().enumerate().all(|(i, &at)| i == at))
    }
}

/// The same of a large one.
pub(crate) struct LargePart<'a> {
    pub(crate) island: Large<'a>,
    parts: Parts,
    pub(crate) dofs: Vec<usize>,
    pub(crate) controls: Vec<usize>,
}

impl<'a> Linearised<'a> {
    /// Linearises a step for its Jacobian: all but huge islands by elimination.
    #[must_use]
    pub fn new(input: &StepInput<'a>, rules: GradientRules) -> Self {
        Self::up_to(LARGEST_ISLAND, true, input, rules)
    }

    /// Linearises a step for some products: large islands as [`GradientRules::largest_dense`] says.
    #[must_use]
    pub fn for_products(input: &StepInput<'a>, rules: GradientRules) -> Self {
        Self::up_to(rules.largest_dense, false, input, rules)
    }

    /// `most`: degrees of freedom, and rows, of what is solved by elimination; `whole`: for its Jacobian.
    fn up_to(most: usize, whole: bool, input: &StepInput<'a>, rules: GradientRules) -> Self {
        let first: Vec<usize> = input
            .trees
            .iter()
            .scan(0, |at, tree| {
                let first = *at;
                *at += tree.layout.dims.n_v as usize;
                Some(first)
            })
            .collect();
        let n_of_trees: usize = input.trees.iter().map(|t| t.layout.dims.n_v as usize).sum();
        let begin_of_sparse =
            |number: usize| n_of_trees + input.sparse[..number].iter().map(|b| b.b.len()).sum::<usize>();
        let mut out = Self {
            islands: Vec::new(),
            large: Vec::new(),
            n_v: n_of_trees + input.sparse.iter().map(|body| body.b.len()).sum::<usize>(),
            n_u: input.trees.iter().map(|t| t.layout.dims.n_u as usize).sum(),
            modes: vec![Mode::Breaking; input.contacts.len()],
            contacts: input.contacts,
            blocks: input.blocks,
            model: input.model,
            single: input.single,
            escape: rules.escape,
            certificate: Certificate::default(),
        };
        let mut left = LeftOver::default();
        for parts in islands(input) {
            let acting = parts.contacts.iter().filter(|&&c| input.contacts[c].impulse != [0.0; 3]).count();
            let dofs: usize = parts.trees.iter().map(|&t| input.trees[t].layout.dims.n_v as usize).sum();
            let large = dofs > most || 3 * (acting + parts.blocks.len()) > most || !parts.sparse.is_empty();
            let mut dofs: Vec<usize> = parts
                .trees
                .iter()
                .flat_map(|&t| (0..input.trees[t].layout.dims.n_v as usize).map(move |i| (t, i)))
                .map(|(t, i)| first[t] + i)
                .collect();
            for &number in &parts.sparse {
                let first = begin_of_sparse(number);
                dofs.extend(first..first + input.sparse[number].b.len());
            }
            let controls: Vec<usize> = parts.trees.iter().flat_map(|&t| input.controls[t].iter().copied()).collect();
            if large {
                out.add_large(LargePart { island: Large::new(input, &parts), parts, dofs, controls }, rules);
                continue;
            }
            let island = Island::new(input, &parts, whole);
            for (&contact, &mode) in parts.contacts.iter().zip(&island.modes) {
                out.modes[contact] = mode;
            }
            let certificate = &mut out.certificate;
            certificate.margin = certificate.margin.min(island.margin);
            certificate.closed += island.closed;
            certificate.size += island.unknowns.len();
            certificate.rank += island.rank;
            left = left.max(island.left);
            let impact = if rules.bounces == Bounces::AtImpact { island.impact() } else { None };
            out.islands.push(Part { island, impact, parts, dofs, controls });
        }
        out.judge(input, left);
        out
    }

    fn add_large(&mut self, part: LargePart<'a>, rules: GradientRules) {
        let LargePart { island, parts, .. } = &part;
        for (&contact, &mode) in parts.contacts.iter().zip(&island.modes) {
            self.modes[contact] = mode;
        }
        let certificate = &mut self.certificate;
        certificate.margin = certificate.margin.min(island.margin);
        certificate.closed += island.closed;
        for count in [&mut certificate.size, &mut certificate.rank, &mut certificate.iterated] {
            *count += island.unknowns.len();
        }
        if rules.bounces == Bounces::AtImpact && island.bounces {
            certificate.problems.push("bounces in a large island are differentiated as stepped".into());
        }
        if matches!(self.model, ContactModel::Convex { .. }) && !parts.sparse.is_empty() {
            certificate.problems.push("convex contact with a body that deforms is differentiated as exact".into());
        }
        self.large.push(part);
    }

    /// What speaks against the derivative.
    fn judge(&mut self, input: &StepInput, left: LeftOver) {
        for (contact, mode) in input.contacts.iter().zip(&self.modes) {
            // A contact that stays apart has no say, whatever its shapes.
            if let Err(reason) = &contact.slope
                && *mode != Mode::Breaking
            {
                self.certificate.add_problem_by_q(reason);
            }
        }
        self.certificate.judge_margin(input.single);
        let certificate = &mut self.certificate;
        certificate.residual = left.largest();
        certificate.problems.extend(unsolved(left.solution));
        if left.by_q > LARGEST_RESIDUAL {
            certificate.problems_by_q.push(format!("constraints contradict each other (left over: {:.1e})", left.by_q));
        }
        if left.motion > LARGEST_RESIDUAL {
            certificate.problems.push(format!(
                "how redundant contacts share their impulses decides the motion (by {:.1e})",
                left.motion
            ));
        }
    }

    /// The contacts of a step whose margin is small because redundant contacts share their impulses unevenly, with impulses
    /// that do the same and are farther from every switch; none where there are none. The step is to be linearised with them.
    #[must_use]
    pub fn shared_out(&self) -> Option<Vec<ContactInput>> {
        let mut out: Option<Vec<ContactInput>> = None;
        if self.model != ContactModel::Exact {
            return None;
        }
        let dense = self.islands.iter().map(|Part { island, parts, .. }| {
            (island.margin, island.rank < island.unknowns.len(), &island.members, parts)
        });
        // Their rank is not known.
        let large = self.large.iter().filter(|part| part.parts.sparse.is_empty());
        let large = large.map(|part| (part.island.margin, true, &part.island.members, &part.parts));
        let doubtful =
            dense.chain(large).filter(|&(margin, redundant, ..)| is_doubtful(margin, redundant, self.single));
        for (_, _, members, parts) in doubtful {
            for (contact, impulse) in shared(members, parts, self.contacts, self.single) {
                out.get_or_insert_with(|| self.contacts.to_vec())[contact].impulse = impulse;
            }
        }
        out
    }

    /// Something else that speaks against it.
    pub fn add_problem(&mut self, problem: impl Into<Option<String>>) {
        self.certificate.problems.extend(problem.into());
    }

    /// How far to trust what is derived from it.
    #[must_use]
    pub fn certificate(&self) -> &Certificate {
        &self.certificate
    }

    /// Mode of each contact.
    #[must_use]
    pub fn modes(&self) -> &[Mode] {
        &self.modes
    }

    /// All derivatives.
    #[must_use]
    pub fn jacobian(&self) -> Jacobian {
        let (n_v, n_u) = (self.n_v, self.n_u);
        // What an island fills as a whole is not filled with zeros before.
        let filled = self.large.is_empty() && matches!(&self.islands[..], [part] if part.is_whole());
        let zeros = |n: usize| if filled { Vec::new() } else { vec![0.0; n] };
        let (square, wide) = (|| zeros(n_v * n_v), || zeros(n_v * n_u));
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
            free: [0.0; 2],
            modes: self.modes.clone(),
            certificate: self.certificate.clone(),
        };
        for part in &self.islands {
            let (dense, free) = part.island.dense();
            out.free.iter_mut().zip(free).for_each(|(most, own)| *most = most.max(own));
            let blocks = [
                (&mut out.dq_dq, &mut out.dv_dq, &part.dofs),
                (&mut out.dq_dv, &mut out.dv_dv, &part.dofs),
                (&mut out.dq_dtau, &mut out.dv_dtau, &part.dofs),
                (&mut out.dq_dctrl, &mut out.dv_dctrl, &part.controls),
            ];
            for (which, (mut dv, (to_q, to_v, columns))) in dense.into_iter().zip(blocks).enumerate() {
                let width = if which == 3 { n_u } else { n_v };
                let impact = part.impact.as_ref().filter(|_| which == 0);
                if let Some(Impact { tau, change, .. }) = impact {
                    change.iter().enumerate().for_each(|(i, x)| axpy(*x, tau, dv.row_mut(i)));
                }
                let mut dq = part.island.integrated(&dv, which == 0);
                if let Some(Impact { tau, jump, .. }) = impact {
                    let jump = part.island.carried(jump);
                    jump.iter().enumerate().for_each(|(i, x)| axpy(*x, tau, dq.row_mut(i)));
                }
                for (from, to) in [(&dq, to_q), (&dv, to_v)] {
                    if filled {
                        *to = from.to_vec();
                        continue;
                    }
                    for (i, &row) in part.dofs.iter().enumerate() {
                        let to = &mut to[row * width..(row + 1) * width];
                        columns.iter().zip(from.row(i)).for_each(|(&column, x)| to[column] = *x);
                    }
                }
            }
        }
        self.large.iter().for_each(|part| part.add_to(&mut out));
        let blocks = [&mut out.dq_dq, &mut out.dq_dv, &mut out.dq_dtau, &mut out.dq_dctrl];
        let rates = [&mut out.dv_dq, &mut out.dv_dv, &mut out.dv_dtau, &mut out.dv_dctrl];
        let mut finite = true;
        for block in blocks.into_iter().chain(rates) {
            // Without a branch an entry; then, rarely, with.
            if !block.iter().fold(true, |finite, x| finite & x.is_finite()) {
                block.iter_mut().filter(|x| !x.is_finite()).for_each(|x| *x = 0.0);
                finite = false;
            }
        }
        if !finite {
            out.certificate.problems.push(NOT_FINITE.into());
        }
        out
    }

    /// Change of the state after the step by a parameter, `[n_v]` each; of islands too large for elimination zeros.
    ///
    /// # Panics
    /// For a tree or an entry of its parameters that is not there.
    #[must_use]
    pub fn along_parameter(&self, parameter: &StepParameter) -> Outputs {
        let mut out = Outputs { q: vec![0.0; self.n_v], v: vec![0.0; self.n_v] };
        for part in &self.islands {
            let island = &part.island;
            let (mut force, mut rows) = (vec![0.0; island.n_v], vec![0.0; island.j.height()]);
            let between = |wanted: [usize; 2]| {
                let [a, b] = wanted;
                let acting = part.parts.contacts.iter().zip(&island.acting);
                acting
                    .filter(move |(contact, _)| [[a, b], [b, a]].contains(&self.contacts[**contact].geoms))
                    .filter_map(|x| *x.1)
            };
            let touching =
                Touching { parts: &part.parts, contacts: self.contacts, blocks: self.blocks, model: self.model };
            let mut by_time = 0.0;
            match parameter {
                StepParameter::Tree { tree, entry, scale } => {
                    let Some(own) = part.parts.trees.iter().position(|t| t == tree) else { continue };
                    [force, rows] = island.by_tree_parameter(&touching, |member| member == own, *entry, *scale);
                }
                StepParameter::Every { entry, scale } => {
                    [force, rows] = island.by_tree_parameter(&touching, |_| true, *entry, *scale);
                    by_time = if *entry == param::TIMESTEP { 1.0 } else { 0.0 };
                }
                StepParameter::Friction { geoms } => {
                    between(*geoms).for_each(|at| island.add_friction(at, &mut force, &mut rows));
                }
                StepParameter::Restitution { geoms } => {
                    between(*geoms).for_each(|at| island.add_restitution(at, &mut rows));
                }
                StepParameter::Contacts { changes } => [force, rows] = island.by_contacts(&touching, changes),
            }
            let [q, v] = island.along(force, &rows);
            // A longer step goes on as it ends: `d exp(h w) / dh` is w in the axes after it.
            let after = island.members.iter().flat_map(|member| member.after.iter());
            for (((&dof, q), v), after) in part.dofs.iter().zip(q).zip(v).zip(after) {
                (out.q[dof], out.v[dof]) = (q + by_time * after, v);
            }
        }
        out
    }
}

/// Derivatives of a step.
#[must_use]
pub fn jacobian(input: &StepInput) -> Jacobian {
    Linearised::new(input, GradientRules::default()).jacobian()
}
