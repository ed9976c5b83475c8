//! The stable packing of islands.

use super::{Components, Island, Links, NONE, Plan};

/// What finding islands works in.
#[derive(Debug, Default)]
pub(super) struct Forest {
    components: Components,
    members: Vec<u32>,
    constraints: Vec<u32>,
}

impl Forest {
    /// Joins the subsystems of every constraint.
    pub(super) fn connect(&mut self, links: Links) {
        self.components.separate(links.n_subsystems);
        for i in 0..links.len() {
            let [first, rest @ ..] = links.of(i) else { continue };
            rest.iter().fold(*first, |root, &other| self.components.join(root, other));
        }
    }
}

/// Writes islands, members and constraints (by island, in input order) of the plan.
pub(super) fn keep(forest: &mut Forest, links: Links, min_members: u32, plan: &mut Plan) {
    let n = links.n_subsystems;
    forest.members.clear();
    forest.members.resize(n, 0);
    forest.constraints.clear();
    forest.constraints.resize(n, 0);
    for s in 0..n as u32 {
        let root = forest.components.root(s);
        forest.members[root as usize] += 1;
    }
    for i in 0..links.len() {
        if let Some(&s) = links.of(i).first() {
            let root = forest.components.root(s);
            forest.constraints[root as usize] += 1;
        }
    }

    // Number the kept roots in ascending order; from here the counters hold where to write next.
    plan.islands.clear();
    plan.island_of.clear();
    plan.island_of.resize(n, NONE);
    let (mut member, mut constraint) = (0, 0);
    for root in 0..n {
        let (n_members, n_constraints) = (forest.members[root], forest.constraints[root]);
        if !forest.components.is_root(root) || n_members < min_members || n_constraints == 0 {
            continue;
        }
        plan.island_of[root] = plan.islands.len() as u32;
        plan.islands.push(Island {
            members: member..member + n_members,
            constraints: constraint..constraint + n_constraints,
            colours: 0..0,
        });
        forest.members[root] = member;
        forest.constraints[root] = constraint;
        member += n_members;
        constraint += n_constraints;
    }

    plan.members.clear();
    plan.members.resize(member as usize, 0);
    plan.constraints.clear();
    plan.constraints.resize(constraint as usize, 0);
    for s in 0..n as u32 {
        let root = forest.components.root(s) as usize;
        // A root comes before its members, so its own island is known.
        plan.island_of[s as usize] = plan.island_of[root];
        if plan.island_of[root] != NONE {
            plan.members[forest.members[root] as usize] = s;
            forest.members[root] += 1;
        }
    }
    for i in 0..links.len() {
        let Some(&s) = links.of(i).first() else { continue };
        let root = forest.components.root(s) as usize;
        if plan.island_of[root] != NONE {
            plan.constraints[forest.constraints[root] as usize] = i as u32;
            forest.constraints[root] += 1;
        }
    }
}
