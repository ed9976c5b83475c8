//! A step of a world linearised at its solution, island by island.

use manyworlds_shaders::dynamics::tree::param;

use crate::activation::{ActivationSlopes, activation_slopes, activations_by};
use crate::certificate::{Certificate, LARGEST_RESIDUAL, is_doubtful, largest_contradiction};
use crate::compliance::Source;
use crate::contact::ContactInput;
use crate::dense::Dense;
use crate::equations::Equations;
use crate::input::StepInput;
use crate::island::Island;
use crate::islands::islands;
use crate::iterative::Iterative;
use crate::jacobian::Jacobian;
use crate::mode::Mode;
use crate::model::ContactModel;
use crate::parameter::StepParameter;
use crate::product::{Inputs, Outputs};
use crate::residuals::Residuals;
use crate::rules::{Bounces, GradientRules};
use crate::share::shared;
use crate::system::{LinearSystem, Place};

/// Degrees of freedom, and rows, of an island whose Jacobian is found by elimination at most.
const LARGEST_ISLAND: usize = 4096;

/// What a step is linearised for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Its Jacobian: all but huge islands are solved by elimination.
    Jacobian,
    /// Some products: large islands as [`GradientRules::largest_dense`] says.
    Products,
}

/// A step linearised at its solution.
pub struct Linearised<'a> {
    islands: Vec<Part<'a>>,
    n_v: usize,
    n_u: usize,
    n_act: usize,
    activations: Vec<ActivationSlopes>,
    modes: Vec<Mode>,
    contacts: &'a [ContactInput],
    model: ContactModel,
    single: bool,
    /// As [`GradientRules::escape`].
    escape: bool,
    certificate: Certificate,
}

/// An island and where it stands in the world.
struct Part<'a> {
    system: Box<dyn LinearSystem<'a> + 'a>,
    place: Place,
}

impl<'a> Linearised<'a> {
    /// Linearises a step as it is.
    #[must_use]
    pub fn new(input: &StepInput<'a>, purpose: Purpose, rules: GradientRules) -> Self {
        Self::begun(input, purpose, rules).certified(input, rules)
    }

    /// Linearises a step with the impulses that leave least doubt about it: where redundant contacts share them unevenly, and a margin
    /// is small for that alone, with others that do the same and are farther from every switch. `keep` keeps the contacts with these.
    #[must_use]
    pub fn shared(
        mut input: StepInput<'a>,
        purpose: Purpose,
        rules: GradientRules,
        keep: impl FnOnce(Vec<ContactInput>) -> &'a [ContactInput],
    ) -> Self {
        let mut out = Self::begun(&input, purpose, rules);
        if let Some(contacts) = out.shared_out() {
            input.contacts = keep(contacts);
            out = Self::begun(&input, purpose, rules);
        }
        out.certified(&input, rules)
    }

    /// Before it is certified.
    fn begun(input: &StepInput<'a>, purpose: Purpose, rules: GradientRules) -> Self {
        // Degrees of freedom, and rows, of what is solved by elimination.
        let (most, whole) = match purpose {
            Purpose::Jacobian => (LARGEST_ISLAND, true),
            Purpose::Products => (rules.largest_dense, false),
        };
        let mut first = Vec::with_capacity(input.trees.len());
        let (mut n_v, mut n_u, mut n_act) = (0, 0, 0);
        for tree in &input.trees {
            first.push(n_v);
            n_v += tree.layout.dims.n_v as usize;
            n_u += tree.layout.dims.n_u as usize;
            n_act += tree.layout.dims.n_act as usize;
        }
        let mut first_sparse = Vec::with_capacity(input.sparse.len());
        for body in &input.sparse {
            first_sparse.push(n_v);
            n_v += body.v.len();
            n_u += body.controls.len();
        }
        if !input.first.is_empty() {
            let (trees, sparse) = input.first.split_at(first.len());
            first.copy_from_slice(trees);
            first_sparse.copy_from_slice(sparse);
        }
        let own = input.trees.iter().zip(&input.controls).zip(&input.activations);
        let mut out = Self {
            islands: Vec::new(),
            n_v,
            n_u,
            n_act,
            activations: own
                .flat_map(|((tree, controls), own)| {
                    activation_slopes(&tree.layout.tree(), tree.params, tree.state, [controls, own])
                })
                .collect(),
            modes: vec![Mode::Breaking; input.contacts.len()],
            contacts: input.contacts,
            model: input.model,
            single: input.single,
            escape: rules.escape,
            certificate: Certificate::default(),
        };
        for island in islands(input) {
            let dofs = |&tree: &usize| first[tree]..first[tree] + input.trees[tree].layout.dims.n_v as usize;
            let sparse = |&body: &usize| first_sparse[body]..first_sparse[body] + input.sparse[body].v.len();
            let place = Place {
                dofs: island.trees.iter().flat_map(dofs).chain(island.sparse.iter().flat_map(sparse)).collect(),
                controls: {
                    let of_tree = |&tree: &usize| {
                        let activations = input.activations[tree].iter().map(|act| n_u + act);
                        input.controls[tree].iter().copied().chain(activations)
                    };
                    let of_body = |&body: &usize| input.sparse[body].controls.iter().copied();
                    island.trees.iter().flat_map(of_tree).chain(island.sparse.iter().flat_map(of_body)).collect()
                },
            };
            let is_large = place.dofs.len().max(rows(input, &island)) > most || !island.sparse.is_empty();
            let system: Box<dyn LinearSystem<'a>> = if is_large {
                let system = Iterative::new(input, island, &place.dofs);
                out.note_iterative(&system, rules);
                Box::new(system)
            } else {
                let system = Dense::new(input, island, whole);
                out.certificate.size += system.equations.unknowns.len();
                out.certificate.rank += system.rank;
                Box::new(system)
            };
            let equations = system.equations();
            equations.note_modes(&mut out.modes);
            out.certificate.margin = out.certificate.margin.min(equations.margin);
            out.certificate.closed += equations.closed;
            out.islands.push(Part { system, place });
        }
        out
    }

    /// With what speaks against it.
    fn certified(mut self, input: &StepInput, rules: GradientRules) -> Self {
        let own = self.islands.iter_mut().map(|part| part.system.certify(rules));
        let left = own.fold(Residuals::default(), Residuals::max);
        self.judge(input, left);
        self
    }

    fn note_iterative(&mut self, system: &Iterative, rules: GradientRules) {
        let (size, certificate) = (system.equations.unknowns.len(), &mut self.certificate);
        for count in [&mut certificate.size, &mut certificate.rank, &mut certificate.iterated] {
            *count += size;
        }
        if rules.bounces == Bounces::AtImpact && system.equations.bounces() {
            certificate.problems.push("bounces in a large island are differentiated as stepped".into());
        }
        if matches!(self.model, ContactModel::Convex { .. }) && !system.equations.deformables.is_empty() {
            let what = "how convex contacts with a body that deforms give way is left out";
            certificate.problems.push(what.into());
        }
        if system.shares_decide() {
            certificate.problems.push("how redundant contacts share their impulses decides the motion".into());
        }
    }

    /// What speaks against the derivative.
    fn judge(&mut self, input: &StepInput, left: Residuals) {
        for (contact, mode) in input.contacts.iter().zip(&self.modes) {
            // A contact that stays apart has no say, whatever its shapes.
            if let Err(reason) = &contact.slope
                && *mode != Mode::Breaking
            {
                self.certificate.add_problem_by_q(reason);
            }
        }
        self.certificate.judge_margin(input.doubt);
        let certificate = &mut self.certificate;
        certificate.residual = left.largest();
        let most = largest_contradiction(input.single);
        let redundant = certificate.rank < certificate.size;
        certificate.judge_residual(left.solution, if redundant { most } else { LARGEST_RESIDUAL });
        if left.by_q > most {
            certificate.problems_by_q.push(format!("constraints contradict each other (left over: {:.1e})", left.by_q));
        }
        if left.motion > most {
            certificate.problems.push(format!(
                "how redundant contacts share their impulses decides the motion (by {:.1e})",
                left.motion
            ));
        }
    }

    /// See [`Linearised::shared`]; none where there are none.
    fn shared_out(&self) -> Option<Vec<ContactInput>> {
        let mut out: Option<Vec<ContactInput>> = None;
        if self.model != ContactModel::Exact {
            return None;
        }
        for Part { system, .. } in &self.islands {
            let equations = system.equations();
            // How points of what deforms may share impulses is not looked for.
            if !equations.deformables.is_empty() {
                continue;
            }
            if !is_doubtful(equations.margin, system.may_be_redundant(), self.single) {
                continue;
            }
            for (contact, impulse) in shared(&equations.members, &equations.island, self.contacts, self.single) {
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

    /// How the activations of a tree of an island change with an entry of its parameters.
    fn add_activations(&self, equations: &Equations, place: &Place, member: usize, entry: usize, act: &mut [f64]) {
        let own = &equations.members[member];
        if own.forward.tree.dims.n_act == 0 {
            return;
        }
        // They stand behind its controls.
        let numbers = &place.controls[own.controls()][own.forward.tree.actuators.len()..];
        let changes = activations_by(&own.forward, entry);
        numbers.iter().zip(changes).for_each(|(&number, change)| act[number - self.n_u] = change);
    }

    /// Zeros.
    fn outputs(&self) -> Outputs {
        let [q, v] = [(); 2].map(|()| vec![0.0; self.n_v]);
        Outputs { q, v, act: vec![0.0; self.n_act] }
    }

    /// All derivatives.
    #[must_use]
    pub fn jacobian(&self) -> Jacobian {
        self.jacobian_by([true; 4])
    }

    /// Those by q, v, tau and ctrl (with act) that are wanted; blocks of others may be empty, and [`Jacobian::free`] zero.
    #[must_use]
    pub fn jacobian_by(&self, wanted: [bool; 4]) -> Jacobian {
        // What an island fills as a whole is not filled with zeros before.
        let empty = matches!(&self.islands[..], [part] if part.place.is_whole() && part.system.is_dense());
        let mut out = Jacobian::empty(self.n_v, self.n_u + self.n_act);
        if !empty {
            out.fill_with_zeros(wanted);
        }
        (out.modes, out.certificate) = (self.modes.clone(), self.certificate.clone());
        for Part { system, place } in &self.islands {
            system.write_jacobian(place, empty, wanted, &mut out);
        }
        out.split_activations(self.n_act, &self.activations);
        out.make_finite();
        out
    }

    /// Change of the state after the step along a change of what goes in (JVP), by one solve an island, and how far to trust
    /// it. An empty part stands for zeros.
    ///
    /// # Panics
    /// When a part has neither the length that [`Inputs`] says nor none.
    #[must_use]
    pub fn along(&self, inputs: &Inputs) -> (Outputs, Certificate) {
        let parts = [&inputs.q, &inputs.v, &inputs.tau, &inputs.ctrl, &inputs.act];
        for (x, n) in parts.into_iter().zip([self.n_v, self.n_v, self.n_v, self.n_u, self.n_act]) {
            assert!(x.is_empty() || x.len() == n, "expected {n} numbers, found {}", x.len());
        }
        let mut out = self.outputs();
        let (change, act) = (|x: &[f64], at: usize| x.get(at).copied().unwrap_or(0.0), &inputs.act);
        let controls: Vec<f64> =
            (0..self.n_u).map(|k| change(&inputs.ctrl, k)).chain((0..self.n_act).map(|k| change(act, k))).collect();
        let parts = [&inputs.q, &inputs.v, &inputs.tau, &controls];
        for own in &self.activations {
            out.act[own.activation] =
                own.by_activation * change(act, own.activation) + own.by_control * controls[own.control];
        }
        let mut certificate = self.certificate.clone();
        if inputs.q.is_empty() {
            certificate.problems_by_q.clear();
        }
        for Part { system, place } in &self.islands {
            let own = [0, 1, 2, 3].map(|k| take(parts[k], if k == 3 { &place.controls } else { &place.dofs }));
            let ([q, v], solved) = system.along(own.each_ref().map(|x| &x[..]));
            certificate.add_solved(solved);
            put(&q, &place.dofs, &mut out.q);
            put(&v, &place.dofs, &mut out.v);
        }
        certificate.make_finite([&mut out.q, &mut out.v, &mut out.act]);
        (out, certificate)
    }

    /// Gradient of a loss by what goes into the step, from that by what comes out (VJP), by one transposed solve an island,
    /// and how far to trust it; with [`GradientRules::escape`] perhaps another direction.
    /// An empty part stands for zeros.
    ///
    /// Of an island too large for elimination a second solve tells whether its constraints contradict each other.
    ///
    /// # Panics
    /// When a part has neither the length that [`Outputs`] says nor none.
    #[must_use]
    pub fn back(&self, outputs: &Outputs) -> (Inputs, Certificate) {
        let zeros = |n| vec![0.0; n];
        let [q, v, tau] = [(); 3].map(|()| zeros(self.n_v));
        // Activations stand behind the controls.
        let mut out = Inputs { q, v, tau, ctrl: zeros(self.n_u + self.n_act), act: Vec::new() };
        for (x, n) in [(&outputs.q, self.n_v), (&outputs.v, self.n_v), (&outputs.act, self.n_act)] {
            assert!(x.is_empty() || x.len() == n, "expected {n} numbers, found {}", x.len());
        }
        let mut certificate = self.certificate.clone();
        for Part { system, place } in &self.islands {
            let own = [&outputs.q, &outputs.v].map(|x| take(x, &place.dofs));
            let ([q, v, tau, ctrl], solved) = system.back(own.each_ref().map(|x| &x[..]), self.escape);
            certificate.add_solved(solved);
            certificate.add_solved(system.contradiction());
            put(&q, &place.dofs, &mut out.q);
            put(&v, &place.dofs, &mut out.v);
            put(&tau, &place.dofs, &mut out.tau);
            put(&ctrl, &place.controls, &mut out.ctrl);
        }
        out.act = out.ctrl.split_off(self.n_u);
        for own in &self.activations {
            own.add_back(&outputs.act, [&mut out.ctrl, &mut out.act]);
        }
        let Inputs { q, v, tau, ctrl, act } = &mut out;
        certificate.make_finite([q, v, tau, ctrl, act]);
        (out, certificate)
    }

    /// Change of the state after the step by a parameter. What iterations leave is noted in `certificate`.
    ///
    /// # Panics
    /// For a tree or an entry of its parameters that is not there.
    #[must_use]
    pub fn along_parameter(&self, parameter: &StepParameter, certificate: &mut Certificate) -> Outputs {
        let mut out = self.outputs();
        for Part { system, place } in &self.islands {
            let equations = system.equations();
            let between = |[a, b]: [usize; 2]| {
                equations.sources.iter().enumerate().filter_map(move |(at, source)| {
                    let Source::Contact(_, contact) = source else { return None };
                    [[a, b], [b, a]].contains(&contact.geoms).then_some(at)
                })
            };
            let (mut force, mut rows) = (vec![0.0; equations.n_v], vec![0.0; equations.rows.height()]);
            let mut by_time = 0.0;
            match parameter {
                StepParameter::Tree { tree, entry, scale, bodies } => {
                    let Ok(own) = equations.island.trees.binary_search(tree) else { continue };
                    [force, rows] = equations.by_tree_parameter(Some(own), *entry, *scale);
                    equations.add_changes(bodies, &mut force);
                    self.add_activations(equations, place, own, *entry, &mut out.act);
                }
                StepParameter::Every { entry, scale, bodies } => {
                    [force, rows] = equations.by_tree_parameter(None, *entry, *scale);
                    equations.add_changes(bodies, &mut force);
                    by_time = if *entry == param::TIMESTEP { 1.0 } else { 0.0 };
                    let members = 0..equations.members.len();
                    members.for_each(|member| self.add_activations(equations, place, member, *entry, &mut out.act));
                }
                StepParameter::Friction { geoms } => {
                    for at in between(*geoms) {
                        let (along, slip) = equations.by_friction(at);
                        let first = equations.rows.constraints[at].first;
                        (0..2).for_each(|k| system.add_row(first + k, along[k], &mut force));
                        rows[first + 2] += slip;
                    }
                }
                StepParameter::Restitution { geoms } => {
                    for at in between(*geoms) {
                        let constraint = &equations.rows.constraints[at];
                        rows[constraint.first + 2] += constraint.approach;
                    }
                }
                StepParameter::Contacts { changes } => [force, rows] = equations.by_contacts(changes),
                StepParameter::Balance(change) => equations.add_changes(std::slice::from_ref(change), &mut force),
            }
            let ([q, v], solved) = system.respond(force, &rows);
            certificate.add_solved(solved);
            // A longer step goes on as it ends: `d exp(h w) / dh` is w in the axes after it.
            for (((&dof, q), v), after) in place.dofs.iter().zip(q).zip(v).zip(equations.after()) {
                (out.q[dof], out.v[dof]) = (q + by_time * after, v);
            }
        }
        out
    }
}

/// Rows of the contacts and blocks of an island that act, nearly.
fn rows(input: &StepInput, island: &Island) -> usize {
    let acting = island.contacts.iter().filter(|&&c| input.contacts[c].impulse != [0.0; 3]).count();
    3 * (acting + island.blocks.len())
}

/// Entries of a vector at some places; of an empty one zeros.
fn take(from: &[f64], at: &[usize]) -> Vec<f64> {
    at.iter().map(|&at| from.get(at).copied().unwrap_or(0.0)).collect()
}

fn put(from: &[f64], at: &[usize], to: &mut [f64]) {
    at.iter().zip(from).for_each(|(&at, &x)| to[at] = x);
}

/// Derivatives of a step.
#[must_use]
pub fn jacobian(input: &StepInput) -> Jacobian {
    Linearised::new(input, Purpose::Jacobian, GradientRules::default()).jacobian()
}
