//! What the host knows of one world between two halves of a step.

use manyworlds_collide::{Contact, Hints, SoftContact};
use manyworlds_contact::solve::Before;

use super::Ride;
use crate::mocap::Drift;

/// Where a contact is solved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Slot of its tree's lane.
    Slot(u32),
    /// Constraint of the chunk's ragged problem.
    Island(u32),
}

/// What makes a contact the same one in the next step: its geoms and the features that touch.
pub(crate) type Key = ([u32; 2], u64);

/// Contacts of one world, and those of the step before.
#[derive(Debug)]
pub(crate) struct World {
    /// In the order of collision.
    pub(crate) contacts: Vec<Contact>,
    /// What collision found of pairs, to be quicker in the next step.
    pub(crate) hints: Hints,
    /// Constraints of the model that take part in islands: all but rows that cannot act.
    pub(crate) fixed: Vec<u32>,
    /// What mocap bodies do at each; empty: none moves.
    pub(crate) drifts: Vec<Drift>,
    /// Where each is solved.
    pub(crate) places: Vec<Place>,
    /// Where each was solved in the step before, if it was there.
    pub(crate) warm: Vec<Option<Place>>,
    /// First entry of each tree in `by_tree`, and the end.
    tree_begin: Vec<u32>,
    /// Contacts of each tree that is an island by itself, in the order of collision.
    by_tree: Vec<u32>,
    /// Contacts of the step before, sorted.
    previous: Vec<(Key, Place)>,
    /// Whether the contacts at hand are not to become those of the step before.
    forgotten: bool,
    /// Contacts of soft bodies.
    pub(crate) soft: Vec<SoftContact>,
    /// Whether there are some that kernels do not know, so that the host solves the world.
    pub(crate) soft_is_hosts: bool,
    /// What mocap bodies do at each; empty: none moves.
    pub(crate) soft_drifts: Vec<Drift>,
    /// Their impulses (t1, t2, n), N s: those to start from, then those found.
    pub(crate) soft_impulses: Vec<[f64; 3]>,
    /// Those of the step before, sorted.
    soft_previous: Vec<([u64; 3], [f64; 3])>,
    /// How the mocap bodies that carry soft ones move, by soft body; empty: there are none.
    pub(crate) rides: Vec<Ride>,
    /// What the host knows of the step before; where that was relaxed it solves the contacts from the start.
    pub(crate) before: Before,
    /// Trees whose biases gave way in it.
    pub(crate) gave_way: Vec<u32>,
}

impl World {
    /// `n_ride`: see `rides`.
    pub(crate) fn new(n_tree: usize, n_ride: usize) -> Self {
        Self {
            contacts: Vec::new(),
            hints: Hints::default(),
            fixed: Vec::new(),
            drifts: Vec::new(),
            places: Vec::new(),
            warm: Vec::new(),
            tree_begin: vec![0; n_tree + 1],
            by_tree: Vec::new(),
            previous: Vec::new(),
            forgotten: false,
            soft: Vec::new(),
            soft_is_hosts: false,
            soft_drifts: Vec::new(),
            soft_impulses: Vec::new(),
            soft_previous: Vec::new(),
            rides: vec![Ride::default(); n_ride],
            before: Before::Solved,
            gave_way: Vec::new(),
        }
    }

    /// How far from the origin its contacts are, m; at least a metre.
    pub(crate) fn reach(&self) -> f64 {
        let rigid = self.contacts.iter().map(|contact| contact.point);
        let points = rigid.chain(self.soft.iter().map(|contact| contact.point));
        points.flatten().fold(1.0, |most, x| most.max(x.abs()))
    }

    /// What mocap bodies do at a contact.
    pub(crate) fn drift(&self, contact: usize) -> Drift {
        self.drifts.get(contact).copied().unwrap_or_default()
    }

    /// The same at one of soft bodies.
    pub(crate) fn soft_drift(&self, contact: usize) -> Drift {
        self.soft_drifts.get(contact).copied().unwrap_or_default()
    }

    /// Forgets the impulses of the last step, and that anything moved.
    pub(crate) fn forget(&mut self) {
        self.rides.iter_mut().for_each(Ride::forget);
        self.forgotten = true;
        self.previous.clear();
        self.soft_previous.clear();
    }

    /// Makes the present contacts those of the step before, if they were solved and not forgotten since.
    pub(crate) fn remember(&mut self, solved: bool) {
        if std::mem::take(&mut self.forgotten) || !solved {
            return;
        }
        self.previous.clear();
        self.previous.extend(self.contacts.iter().zip(&self.places).map(|(c, &place)| (key(c), place)));
        // Collision reports in this order already, so this is one pass.
        self.previous.sort_unstable_by_key(|(key, _)| *key);
        self.soft_previous.clear();
        self.soft_previous.extend(self.soft.iter().map(|c| c.feature).zip(self.soft_impulses.iter().copied()));
        self.soft_previous.sort_unstable_by_key(|(feature, _)| *feature);
    }

    /// Contacts of the step before with their places, sorted: what a checkpoint keeps.
    pub(crate) fn previous(&self) -> &[(Key, Place)] {
        &self.previous
    }

    /// Sets the contacts of the step before, from a checkpoint.
    pub(crate) fn set_previous(&mut self, previous: Vec<(Key, Place)>) {
        self.previous = previous;
    }

    /// The contacts of a tree that is an island by itself.
    pub(crate) fn contacts_of(&self, tree: usize) -> &[u32] {
        &self.by_tree[self.tree_begin[tree] as usize..self.tree_begin[tree + 1] as usize]
    }

    /// Gives every contact of a tree that is an island by itself a slot; `alone` names that tree, and `first` the slot
    /// its contacts begin at. The other contacts keep the place they have.
    pub(crate) fn assign_slots(&mut self, alone: impl Fn(&Contact) -> Option<usize>, first: impl Fn(usize) -> u32) {
        self.tree_begin.fill(0);
        for contact in &self.contacts {
            if let Some(tree) = alone(contact) {
                self.tree_begin[tree + 1] += 1;
            }
        }
        for tree in 1..self.tree_begin.len() {
            self.tree_begin[tree] += self.tree_begin[tree - 1];
        }
        self.by_tree.clear();
        self.by_tree.resize(self.tree_begin.last().map_or(0, |&n| n as usize), u32::MAX);
        // Counting sort: the k-th contact of a tree goes to the tree's k-th entry.
        for (index, contact) in self.contacts.iter().enumerate() {
            if let Some(tree) = alone(contact) {
                let begin = self.tree_begin[tree] as usize;
                let end = self.tree_begin[tree + 1] as usize;
                let free = self.by_tree[begin..end].partition_point(|&i| i != u32::MAX);
                self.by_tree[begin + free] = index as u32;
                self.places[index] = Place::Slot(first(tree) + free as u32);
            }
        }
    }

    /// Impulses that contacts of soft bodies had in the step before: what a checkpoint keeps.
    pub(crate) fn soft_previous(&self) -> &[([u64; 3], [f64; 3])] {
        &self.soft_previous
    }

    /// Sets them, from a checkpoint.
    pub(crate) fn set_soft_previous(&mut self, previous: Vec<([u64; 3], [f64; 3])>) {
        self.soft_previous = previous;
    }

    /// Looks every contact up among those of the step before.
    pub(crate) fn match_previous(&mut self) {
        let before = |contact: &SoftContact| {
            let found = self.soft_previous.binary_search_by_key(&contact.feature, |(feature, _)| *feature);
            found.map_or([0.0; 3], |at| self.soft_previous[at].1)
        };
        self.soft_impulses.clear();
        self.soft_impulses.extend(self.soft.iter().map(before));
        self.warm.clear();
        let mut at = 0;
        for contact in &self.contacts {
            let key = key(contact);
            // Both lists are sorted as a rule: walk on, and search only when they are not.
            while at < self.previous.len() && self.previous[at].0 < key {
                at += 1;
            }
            let found = match self.previous.get(at) {
                Some((other, place)) if *other == key => Some(*place),
                _ => self.previous.binary_search_by_key(&key, |(k, _)| *k).ok().map(|i| self.previous[i].1),
            };
            self.warm.push(found);
        }
    }
}

fn key(contact: &Contact) -> Key {
    (contact.geoms, contact.feature)
}
