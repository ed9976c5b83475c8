//! A [`ContactProblem`] as the buffers of the island kernels.

use bytemuck::cast_slice;
use manyworlds_shaders::Scalar;
use manyworlds_shaders::contact::island::{
    ConstraintRecord, Counts, IslandDims, IslandRecord, SideRecord, UNBOUNDED, con, contact, info, kind, part, region,
};
use manyworlds_shaders::contact::island_newton::{Room, Workspaces};
use manyworlds_shaders::contact::local;

use crate::problem::{Constraint, ContactProblem, Law};

/// Buffers of the island kernels, in their layout.
#[derive(Debug, Clone)]
pub struct Ragged<T: Scalar> {
    /// Sizes; tolerances and iteration limit are the caller's.
    pub dims: IslandDims,
    /// `island_index`
    pub index: Vec<u32>,
    /// `island_contact`; distances are not a problem's matter and zero.
    pub contact: Vec<T>,
    /// `island_jac`
    pub jac: Vec<T>,
    /// `island_con`
    pub con: Vec<T>,
    /// `impulse`
    pub impulse: Vec<T>,
    /// `velocity`, its regions.
    pub velocity: Vec<T>,
    /// `island_info`
    pub info: Vec<T>,
    /// `island_status`
    pub status: Vec<u32>,
}

/// Least damping of a soft row: below it the compliance 1/b would overflow f32.
const LEAST_GAIN: f64 = 1e-20;

fn cast<T: Scalar>(x: f64) -> T {
    T::from_f64(x.clamp(-UNBOUNDED, UNBOUNDED))
}

impl<T: Scalar> Ragged<T> {
    /// Packs a problem; constraints stand in the order of its plan. `room`: that of islands that are to take Newton steps.
    #[must_use]
    pub fn new(problem: &ContactProblem, room: Room) -> Self {
        let plan = &problem.plan;
        // Velocities of an island are contiguous: members in packing order. Subsystems in no island have no place.
        let mut place = vec![u32::MAX; problem.subsystems.len()];
        let (mut n_velocity, mut workspaces) = (0u32, Workspaces::new(room));
        let mut islands = Vec::with_capacity(plan.islands.len());
        let mut places = vec![0; problem.constraints.len()];
        for island in &plan.islands {
            let velocity_begin = n_velocity;
            for &s in plan.members_of(island) {
                place[s as usize] = n_velocity;
                n_velocity += problem.subsystems[s as usize].count as u32;
            }
            let own = plan.constraints_of(island);
            let is_contact = |&&i: &&u32| matches!(problem.constraints[i as usize].law, Law::Contact { .. });
            // No device has to hold this.
            workspaces.begin_world();
            let mut counts = Counts::default();
            for &i in own {
                places[i as usize] = counts.next(kind_of(problem.constraints[i as usize].law));
            }
            islands.push(IslandRecord {
                constraint_begin: island.constraints.start,
                constraint_end: island.constraints.end,
                colour_begin: island.colours.start,
                colour_end: island.colours.end,
                velocity_begin,
                velocity_end: n_velocity,
                n_contacts: own.iter().filter(is_contact).count() as u32,
                world: 0,
                work: workspaces.place(counts, (n_velocity - velocity_begin) as usize),
                part: part::SOLVES,
            });
        }

        let n = plan.constraints.len();
        let (mut constraints, mut sides, mut jac) = (Vec::with_capacity(n), Vec::new(), Vec::new());
        let (mut cons, mut impulse) = (Vec::with_capacity(n * con::SIZE), Vec::with_capacity(3 * n));
        let mut contacts = vec![T::default(); contact::SIZE * n];
        for (position, &i) in plan.constraints.iter().enumerate() {
            let c = &problem.constraints[i as usize];
            let rows = c.law.rows();
            let side_begin = sides.len() as u32;
            for side in &problem.sides[c.sides.clone()] {
                let count = problem.subsystems[side.subsystem].count;
                sides.push(SideRecord {
                    velocity: place[side.subsystem],
                    count: count as u32,
                    jac: jac.len() as u32,
                    constraint: position as u32,
                });
                let span = side.offset..side.offset + rows * count;
                jac.extend(problem.jacobian[span.clone()].iter().map(|&x| cast::<T>(x)));
                jac.extend(problem.response[span].iter().map(|&x| cast::<T>(x)));
            }
            constraints.push(ConstraintRecord {
                kind: kind_of(c.law),
                side_begin,
                side_end: sides.len() as u32,
                previous: 0,
                place: places[i as usize],
            });
            cons.extend(numbers::<T>(c));
            let of = &mut contacts[contact::SIZE * position..][..contact::SIZE];
            of[contact::COMPLIANCE] = cast(c.compliance.map_or(-1.0, |soft| soft.r_n));
            of[contact::SEPARATION] = cast(c.compliance.map_or(0.0, |soft| soft.v_hat));
            impulse.extend((0..3).map(|r| cast::<T>(if r < rows { problem.warm_start[c.row + r] } else { 0.0 })));
        }

        let mut velocity = vec![T::default(); n_velocity as usize * region::COUNT];
        for (s, &at) in problem.subsystems.iter().zip(&place) {
            if at != u32::MAX {
                let free = &problem.v_free[s.begin..s.begin + s.count];
                velocity[at as usize..].iter_mut().zip(free).for_each(|(v, &x)| *v = cast(x));
            }
        }
        let mut index: Vec<u32> = cast_slice(&islands).to_vec();
        let colours_at = index.len() as u32;
        index.extend_from_slice(&plan.colours);
        let constraints_at = index.len() as u32;
        index.extend_from_slice(cast_slice(&constraints));
        let sides_at = index.len() as u32;
        index.extend_from_slice(cast_slice(&sides));
        Self {
            dims: IslandDims {
                n_islands: islands.len() as u32,
                colours_at,
                constraints_at,
                sides_at,
                n_constraints: n as u32,
                n_velocity,
                ..IslandDims::default()
            },
            index,
            contact: contacts,
            jac,
            con: cons,
            impulse,
            velocity,
            info: vec![T::default(); info::SIZE * islands.len()],
            status: vec![0; islands.len()],
        }
    }

    /// Impulses in the problem's order, `[n_rows]`.
    #[must_use]
    pub fn lambda(&self, problem: &ContactProblem) -> Vec<f64> {
        // A constraint that touches nothing is in no island, and carries nothing.
        let mut lambda = vec![0.0; problem.n_rows];
        for (position, &i) in problem.plan.constraints.iter().enumerate() {
            let c = &problem.constraints[i as usize];
            for r in 0..c.law.rows() {
                lambda[c.row + r] = self.impulse[3 * position + r].to_f64();
            }
        }
        lambda
    }

    /// The solver's velocity in the problem's order, `[n_v]`.
    #[must_use]
    pub fn v(&self, problem: &ContactProblem) -> Vec<f64> {
        let mut v = problem.v_free.clone();
        let mut at = self.dims.n_velocity as usize * region::SOLUTION;
        for &s in &problem.plan.members {
            let s = &problem.subsystems[s as usize];
            for dof in s.begin..s.begin + s.count {
                v[dof] = self.velocity[at].to_f64();
                at += 1;
            }
        }
        v
    }
}

/// One of [`kind`].
fn kind_of(law: Law) -> u32 {
    match law {
        Law::Contact { .. } | Law::Block => kind::BLOCK,
        Law::Bilateral | Law::Unilateral | Law::Soft { .. } | Law::Box { .. } => kind::ROW,
    }
}

/// The numbers of a constraint in `island_con`.
fn numbers<T: Scalar>(c: &Constraint) -> [T; con::SIZE] {
    let mut out = [T::default(); con::SIZE];
    let mut row = |bias: f64, compliance: f64, lower: f64, upper: f64| {
        out[con::ROW_BIAS] = cast(bias);
        out[con::ROW_COMPLIANCE] = cast(compliance);
        out[con::ROW_LOWER] = cast(lower);
        out[con::ROW_UPPER] = cast(upper);
        out[con::ROW_DELASSUS] = cast(c.delassus[0]);
    };
    let e = c.e[0];
    let mu = match c.law {
        Law::Contact { mu } => mu,
        Law::Block => -1.0,
        Law::Bilateral => {
            row(e, 0.0, -UNBOUNDED, UNBOUNDED);
            return out;
        }
        Law::Unilateral => {
            row(e, 0.0, 0.0, UNBOUNDED);
            return out;
        }
        Law::Soft { k, b, lo, hi } if b > LEAST_GAIN => {
            row(k * e / b, 1.0 / b, lo, hi);
            return out;
        }
        Law::Soft { k, lo, hi, .. } => {
            // Nothing depends on the velocity: a given impulse.
            let impulse = (-k * e).clamp(lo, hi);
            row(0.0, 0.0, impulse, impulse);
            return out;
        }
        Law::Box { lo, hi } => {
            row(e, 0.0, lo, hi);
            return out;
        }
    };
    let g = c.delassus.map(cast::<T>);
    for r in 0..3 {
        out[con::BIAS + r] = cast(c.e[r]);
    }
    out[con::FRICTION] = cast(mu);
    out[con::DELASSUS..con::DELASSUS + 6].copy_from_slice(&g);
    out[con::INVERSE..con::INVERSE + 6].copy_from_slice(&local::invert(&g));
    out
}
