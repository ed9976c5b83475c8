//! Islands, colours and packing order of constraints between subsystems (kinematic trees).
//!
//! An *island* is a connected component of subsystems over constraints; the ground is no subsystem and connects
//! nothing. Constraints of one *colour* touch disjoint subsystems, so a Gauss-Seidel sweep may do them at once.
//! Everything is a function of the constraint list alone: same list, same order, whatever was organised before.

mod colours;
mod components;
mod islands;

#[cfg(test)]
mod tests;

use std::ops::Range;

pub use components::Components;

/// "No subsystem", "no island".
pub const NONE: u32 = u32::MAX;

/// Which subsystems each constraint touches, flat.
#[derive(Debug, Clone, Copy)]
pub struct Links<'a> {
    /// Number of subsystems.
    pub n_subsystems: usize,
    /// `begins[i]..begins[i + 1]` is the part of `touched` of constraint i; one entry more than constraints.
    pub begins: &'a [u32],
    /// Subsystems, each below `n_subsystems`; one may stand twice in a constraint.
    pub touched: &'a [u32],
}

impl<'a> Links<'a> {
    /// Number of constraints.
    #[must_use]
    pub fn len(&self) -> usize {
        self.begins.len().saturating_sub(1)
    }

    /// Whether there is no constraint.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Subsystems that constraint `i` touches.
    #[inline]
    #[must_use]
    pub fn of(&self, i: usize) -> &'a [u32] {
        &self.touched[self.begins[i] as usize..self.begins[i + 1] as usize]
    }
}

/// One island: ranges of [`Plan`]'s lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Island {
    /// Its part of [`Plan::members`].
    pub members: Range<u32>,
    /// Its part of [`Plan::constraints`].
    pub constraints: Range<u32>,
    /// Its part of [`Plan::colours`].
    pub colours: Range<u32>,
}

/// Packing order of subsystems and constraints. Islands stand in the order of their lowest subsystem.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// Islands that are large enough to be kept and have a constraint.
    pub islands: Vec<Island>,
    /// Subsystems by island, ascending within one.
    pub members: Vec<u32>,
    /// Constraints by island, then colour, then their order in the input.
    pub constraints: Vec<u32>,
    /// End of each colour in `constraints`; a colour begins where the one before it, or its island, begins.
    pub colours: Vec<u32>,
    /// Island of each subsystem, [`NONE`] outside the kept ones.
    pub island_of: Vec<u32>,
}

impl Plan {
    /// Subsystems of an island, ascending.
    #[must_use]
    pub fn members_of(&self, island: &Island) -> &[u32] {
        &self.members[island.members.start as usize..island.members.end as usize]
    }

    /// Constraints of an island, by colour, then in their order in the input.
    #[must_use]
    pub fn constraints_of(&self, island: &Island) -> &[u32] {
        &self.constraints[island.constraints.start as usize..island.constraints.end as usize]
    }

    /// Range of [`Plan::constraints`] of colour `colour` of island `island`.
    #[must_use]
    pub fn colour(&self, island: &Island, colour: u32) -> Range<u32> {
        let begin =
            if colour == island.colours.start { island.constraints.start } else { self.colours[colour as usize - 1] };
        begin..self.colours[colour as usize]
    }
}

/// Workspace of [`Organiser::organise`]; buffers grow to the largest problem seen and are then reused.
#[derive(Debug, Default)]
pub struct Organiser {
    forest: islands::Forest,
    painter: colours::Painter,
    colour_of: Vec<u32>,
    plan: Plan,
}

impl Organiser {
    /// Finds the islands of at least `min_members` subsystems (2: single trees are solved elsewhere) and colours
    /// their constraints. Cost: near-linear in subsystems and constraints.
    pub fn organise(&mut self, links: Links, min_members: u32) -> &Plan {
        self.forest.connect(links);
        islands::keep(&mut self.forest, links, min_members, &mut self.plan);
        self.painter.paint(links, &self.plan.constraints, &mut self.colour_of);
        colours::sort(&mut self.painter, &self.colour_of, &mut self.plan);
        &self.plan
    }

    /// The plan of the last call.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }
}
