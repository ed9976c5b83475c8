//! What the last step found of each pair, which this one tries first: near pairs mostly stay parted by the same direction, or
//! stay deep in each other.
//!
//! A hint saves a search and changes no result, not by a bit. A direction that still parts two shapes far enough proves that
//! they have no contact. Of two polyhedra deep in each other the polytope is kept that proved the last way out to be the
//! shortest: where they are now, it may prove the same of this step's way out, and that no search would end elsewhere. So
//! states need not carry hints along, and a world may lose its hints at any time.

use super::Vector;
use super::expand::Polytope;
use super::kept::{Kept, Place, Store};

/// Where polytopes of a pair were of no use so many times on end, twice as many steps pass each time before one is kept again;
/// no more than two to this.
const PATIENCE: u8 = 6;

/// What is known of a pair.
#[derive(Clone, Copy)]
pub(super) enum Hint<'a> {
    /// No contact: this direction, from the first shape to the second, parted them; unit, in the world.
    Parted(Vector),
    /// Polyhedra that were deep in each other; the polytope that proved it, if it is to be tried.
    Deep(Option<Kept<'a>>),
}

/// What was found of a pair.
#[derive(Clone, Copy)]
pub(super) enum Found {
    /// No contact, by this direction.
    Parted(Vector),
    /// Polyhedra deep in each other, as the hint's polytope proves.
    Proven,
    /// Polyhedra deep in each other, by a search from nothing.
    Searched,
}

/// What is noted of a pair.
#[derive(Debug, Clone, Copy)]
enum Note {
    Parted(Vector),
    Deep {
        polytope: Option<Place>,
        /// Polytopes that were of no use on end.
        failed: u8,
        /// Steps until the next one is kept.
        wait: u8,
    },
}

/// Hints of one world.
#[derive(Debug, Clone, Default)]
pub struct Hints {
    before: Step,
    /// The first of `before` that is not behind the pair at hand.
    at: usize,
    /// Of the step at hand.
    now: Step,
}

/// What a step leaves.
#[derive(Debug, Clone, Default)]
struct Step {
    /// By the pairs' numbers, ascending.
    notes: Vec<(u32, Note)>,
    polytopes: Store,
}

impl Hints {
    /// Begins a step.
    pub(super) fn begin(&mut self) {
        std::mem::swap(&mut self.before, &mut self.now);
        self.now.notes.clear();
        self.now.polytopes.clear();
        self.at = 0;
    }

    /// What the step before found of a pair; pairs come in the order of their numbers.
    pub(super) fn of(&mut self, pair: u32) -> Option<Hint<'_>> {
        while self.before.notes.get(self.at).is_some_and(|&(other, _)| other < pair) {
            self.at += 1;
        }
        self.note(pair).map(|note| match note {
            Note::Parted(along) => Hint::Parted(along),
            Note::Deep { polytope, .. } => Hint::Deep(polytope.map(|place| self.before.polytopes.get(place))),
        })
    }

    fn note(&self, pair: u32) -> Option<Note> {
        self.before.notes.get(self.at).filter(|&&(other, _)| other == pair).map(|&(_, note)| note)
    }

    /// Leaves word of a pair to the next step, and the polytope that it was searched with.
    pub(super) fn leave(&mut self, pair: u32, found: Option<Found>, polytope: &mut Polytope) {
        let (mut failed, mut wait) = (0, 0);
        let note = match found {
            None => return,
            Some(Found::Parted(along)) => Note::Parted(along),
            Some(found) => {
                // Where two ways out are as short, polytopes do not tell which one a search ends at.
                if let (Found::Searched, Some(Note::Deep { polytope, failed: before, wait: left })) =
                    (found, self.note(pair))
                {
                    (failed, wait) = if polytope.is_some() {
                        let failed = (before + 1).min(PATIENCE);
                        (failed, (1 << failed) - 1)
                    } else {
                        (before, left.saturating_sub(1))
                    };
                }
                let polytope = match self.note(pair) {
                    _ if wait > 0 => None,
                    Some(Note::Deep { polytope: Some(place), .. }) if polytope.is_as_kept => {
                        self.now.polytopes.copy(self.before.polytopes.get(place))
                    }
                    _ => polytope.keep(&mut self.now.polytopes),
                };
                Note::Deep { polytope, failed, wait }
            }
        };
        self.now.notes.push((pair, note));
    }
}
