//! Trees that carry bodies that deform: one matrix of both, solved through the bodies' factors.
//!
//! With A_t of the tree (what it carries included), A_s of a body and C that body's rows in the tree's columns, the tree sees
//! `S = A_t - sum C^T A_s^-1 C`, small and dense. Forces f are answered by `x_t = S^-1 (f_t - sum C^T A_s^-1 f_s)` and
//! `x_s = A_s^-1 (f_s - C x_t)`.

use nalgebra::{DMatrix, DVector, Dyn, LU};

use crate::grid::{Grid, axpy, dot};
use crate::member::Member;
use crate::sparse::{CarrierInput, Deformable};

/// A tree of an island with what it carries.
pub(crate) struct Joined {
    /// Among the members.
    pub(crate) member: usize,
    bodies: Vec<Carried>,
    /// S
    schur: LU<f64, Dyn, Dyn>,
}

/// A body that it carries.
struct Carried {
    /// Among the deformables.
    body: usize,
    /// `A_s^-1 C`, `[n_v of the body, n_v of the tree]`.
    response: Grid,
}

impl Carried {
    /// `to -= R^T f` for the response's rows of some of the body's dofs.
    fn take(&self, dofs: impl Iterator<Item = usize>, f: &[f64], to: &mut [f64]) {
        dofs.zip(f).filter(|(_, f)| **f != 0.0).for_each(|(dof, f)| axpy(-f, &self.response.row(dof)[..to.len()], to));
    }

    /// `x -= R t`
    fn give(&self, dofs: impl Iterator<Item = usize>, t: &[f64], x: &mut [f64]) {
        dofs.zip(x).for_each(|(dof, x)| *x -= dot(&self.response.row(dof)[..t.len()], t));
    }
}

/// The bodies of an island by the trees that carry them; `place`: where a tree stands among the members.
pub(crate) fn joined(members: &[Member], deformables: &[Deformable], place: impl Fn(usize) -> usize) -> Vec<Joined> {
    let carrier = |body: &Deformable| body.input.carrier.map(|carrier| place(carrier.tree));
    let of = |(index, mut schur): (usize, Grid)| {
        let n = members[index].forward.n_v();
        let own = deformables.iter().enumerate().filter(|(_, body)| carrier(body) == Some(index));
        let mut bodies = Vec::new();
        for (body, deformable) in own {
            let Some(input) = &deformable.input.carrier else { continue };
            bodies.push(Carried { body, response: response(deformable, input, n) });
            let response = &bodies[bodies.len() - 1].response;
            for i in 0..n {
                let row = schur.row_mut(i);
                for (dof, c) in input.coupling.chunks_exact(n).enumerate() {
                    axpy(-c[i], &response.row(dof)[..n], &mut row[..n]);
                }
            }
        }
        (!bodies.is_empty()).then(|| {
            let schur = DMatrix::from_fn(n, n, |i, j| schur[(i, j)]).lu();
            Joined { member: index, bodies, schur }
        })
    };
    tree_matrices(members, deformables, &place).into_iter().enumerate().filter_map(of).collect()
}

/// A of each tree, with what it carries.
pub(crate) fn tree_matrices(
    members: &[Member],
    deformables: &[Deformable],
    place: impl Fn(usize) -> usize,
) -> Vec<Grid> {
    let mut out: Vec<Grid> = members.iter().map(|member| member.forward.matrix()).collect();
    for carrier in deformables.iter().filter_map(|body| body.input.carrier.as_ref()) {
        let own = &mut out[place(carrier.tree)];
        let n = own.height();
        (0..n).for_each(|i| axpy(1.0, &carrier.mass[i * n..(i + 1) * n], &mut own.row_mut(i)[..n]));
    }
    out
}

fn response(body: &Deformable, input: &CarrierInput, n: usize) -> Grid {
    let mut out = Grid::zeros(body.n_v(), n);
    for k in 0..n {
        let mut x: Vec<f64> = input.coupling.iter().skip(k).step_by(n).copied().collect();
        if x.iter().any(|x| *x != 0.0) {
            body.solve(&mut x);
            x.iter().enumerate().for_each(|(dof, x)| out[(dof, k)] = *x);
        }
    }
    out
}

impl Joined {
    fn solve_schur(&self, t: &mut [f64]) {
        let mut x = DVector::from_column_slice(t);
        // A matrix without inverse gives numbers that are not finite, which whoever asked notices.
        if !self.schur.solve_mut(&mut x) {
            x.fill(f64::NAN);
        }
        t.copy_from_slice(x.as_slice());
    }

    /// Adds `K S^-1 K^T` of a constraint to a block, `[rows, rows]`: `K = J_t - sum J_s A_s^-1 C`. `j`: an entry of the constraint's
    /// rows by a degree of freedom of the island that it touches.
    pub(crate) fn add_compliance(
        &self,
        members: &[Member],
        deformables: &[Deformable],
        (height, dofs): (usize, &[usize]),
        j: impl Fn(usize, usize) -> f64,
        mut to: impl FnMut(usize, usize, f64),
    ) {
        let own = members[self.member].dofs();
        let k = |row: usize| {
            let mut k = vec![0.0; own.len()];
            for (at, dof) in dofs.iter().enumerate() {
                if own.contains(dof) {
                    k[dof - own.start] += j(row, at);
                }
                for carried in &self.bodies {
                    let body = &deformables[carried.body];
                    if body.dofs().contains(dof) {
                        carried.take(std::iter::once(dof - body.at[0]), &[j(row, at)], &mut k);
                    }
                }
            }
            k
        };
        let rows: Vec<Vec<f64>> = (0..height).map(k).collect();
        for (c, column) in rows.iter().enumerate() {
            let mut x = column.clone();
            self.solve_schur(&mut x);
            rows.iter().enumerate().for_each(|(r, row)| to(r, c, dot(row, &x)));
        }
    }
}

/// The dofs of a body that constraints touch.
fn touched<'a>(body: &'a Deformable) -> impl Iterator<Item = usize> + 'a {
    body.input.touched.iter().map(|&dof| dof as usize)
}

/// `A x = x` of an island.
pub(crate) fn solve(members: &[Member], deformables: &[Deformable], joined: &[Joined], x: &mut [f64]) {
    for (index, member) in members.iter().enumerate() {
        let own = &mut x[member.dofs()];
        if own.iter().any(|&x| x != 0.0) && joined.iter().all(|joined| joined.member != index) {
            member.forward.solve(own);
        }
    }
    for joined in joined {
        let tree = members[joined.member].dofs();
        let mut t = x[tree.clone()].to_vec();
        joined.bodies.iter().for_each(|own| own.take(0.., &x[deformables[own.body].dofs()], &mut t));
        joined.solve_schur(&mut t);
        x[tree].copy_from_slice(&t);
    }
    for body in deformables {
        body.solve(&mut x[body.dofs()]);
    }
    for joined in joined {
        let t = x[members[joined.member].dofs()].to_vec();
        joined.bodies.iter().for_each(|own| own.give(0.., &t, &mut x[deformables[own.body].dofs()]));
    }
}

/// The same where constraints alone act and nobody looks at what they do not touch.
pub(crate) fn solve_touched(members: &[Member], deformables: &[Deformable], joined: &[Joined], x: &mut [f64]) {
    for (index, member) in members.iter().enumerate() {
        let own = &mut x[member.dofs()];
        if own.iter().any(|&x| x != 0.0) && joined.iter().all(|joined| joined.member != index) {
            member.forward.solve(own);
        }
    }
    let mut of_bodies: Vec<Vec<f64>> =
        deformables.iter().map(|body| touched(body).map(|dof| x[body.at[0] + dof]).collect()).collect();
    for joined in joined {
        let tree = &mut x[members[joined.member].dofs()];
        joined.bodies.iter().for_each(|own| own.take(touched(&deformables[own.body]), &of_bodies[own.body], tree));
        joined.solve_schur(tree);
    }
    deformables.iter().zip(&mut of_bodies).for_each(|(body, own)| body.solve_touched(own));
    for joined in joined {
        let t = &x[members[joined.member].dofs()];
        joined.bodies.iter().for_each(|own| own.give(touched(&deformables[own.body]), t, &mut of_bodies[own.body]));
    }
    for (body, own) in deformables.iter().zip(of_bodies) {
        touched(body).zip(own).for_each(|(dof, own)| x[body.at[0] + dof] = own);
    }
}
