//! What the last step found of each pair, which this one tries first: near pairs mostly stay parted by the same direction, or
//! stay deep in each other.
//!
//! A hint saves a search and changes no result, not by a bit. A direction that still parts two shapes far enough proves that
//! they have no contact. Of two shapes deep in each other the polytope is kept that proved the last way out to be the
//! shortest: where they are now, it may prove the same of this step's way out, and that no search would end elsewhere; of a cylinder
//! it does so where the way out is across a face. Where a corner lies over a face, that face proves it. So states need not carry
//! hints along, and a world may lose its hints at any time.

use super::Vector;
use super::expand::Polytope;
use super::kept::{Kept, Place, Store};

/// Where what was kept of a pair was of no use so many times on end, twice as many steps pass each time before it is tried again;
/// no more than two to this.
const PATIENCE: u8 = 6;

/// What is known of a pair.
#[derive(Clone, Copy)]
pub(super) enum Hint<'a> {
    /// No contact: this direction, from the first shape to the second, parted them; unit, in the world.
    Parted(Vector),
    /// Polyhedra that touched or were near each other, along this normal.
    Touching(Vector),
    /// Shapes that were deep in each other; the polytope that proved it, if it is to be tried.
    Deep(Option<Kept<'a>>),
}

/// What was found of a pair; proven: by the hint, not by a search from nothing.
#[derive(Clone, Copy)]
pub(super) enum Found {
    /// No contact, by this direction.
    Parted(Vector),
    /// Polyhedra that touch or are near each other, along this normal.
    Touching { normal: Vector, proven: bool },
    /// Shapes deep in each other; if proven, by the hint's polytope.
    Deep { proven: bool },
}

/// How hints of a pair did.
#[derive(Debug, Clone, Copy, Default)]
struct Trust {
    /// How many were of no use on end.
    failed: u8,
    /// Steps until the next one is tried.
    wait: u8,
}

impl Trust {
    /// After a step in which one was tried or not.
    fn after(self, tried: bool, proven: bool) -> Self {
        if proven {
            Self::default()
        } else if tried {
            let failed = (self.failed + 1).min(PATIENCE);
            Self { failed, wait: (1 << failed) - 1 }
        } else {
            Self { wait: self.wait.saturating_sub(1), ..self }
        }
    }
}

/// What is noted of a pair.
#[derive(Debug, Clone, Copy)]
enum Note {
    Parted(Vector),
    Touching { normal: Vector, trust: Trust },
    Deep { polytope: Option<Place>, trust: Trust },
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
        match self.note(pair)? {
            Note::Parted(along) => Some(Hint::Parted(along)),
            Note::Touching { normal, trust } => (trust.wait == 0).then_some(Hint::Touching(normal)),
            Note::Deep { polytope, .. } => Some(Hint::Deep(polytope.map(|place| self.before.polytopes.get(place)))),
        }
    }

    fn note(&self, pair: u32) -> Option<Note> {
        self.before.notes.get(self.at).filter(|&&(other, _)| other == pair).map(|&(_, note)| note)
    }

    /// Leaves word of a pair to the next step, and the polytope that it was searched with.
    pub(super) fn leave(&mut self, pair: u32, found: Option<Found>, polytope: &mut Polytope) {
        let before = self.note(pair);
        let note = match found {
            None => return,
            Some(Found::Parted(along)) => Note::Parted(along),
            Some(Found::Touching { normal, proven }) => {
                let trust = match before {
                    Some(Note::Touching { trust, .. }) => trust.after(trust.wait == 0, proven),
                    _ => Trust::default(),
                };
                Note::Touching { normal, trust }
            }
            Some(Found::Deep { proven }) => {
                // Where two ways out are as short, polytopes do not tell which one a search ends at.
                let trust = match before {
                    Some(Note::Deep { trust, polytope }) => trust.after(polytope.is_some(), proven),
                    _ => Trust::default(),
                };
                let polytope = match before {
                    _ if trust.wait > 0 => None,
                    Some(Note::Deep { polytope: Some(place), .. }) if polytope.is_as_kept => {
                        self.now.polytopes.copy(self.before.polytopes.get(place))
                    }
                    _ => polytope.keep(&mut self.now.polytopes),
                };
                Note::Deep { polytope, trust }
            }
        };
        self.now.notes.push((pair, note));
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Engine, Memory};
    use super::*;
    use crate::{CollisionSettings, Overrides, World};
    use manyworlds_model::{Contacting, Geom, Inertial, Joint, JointKind, Mat3, Mesh, ModelBuilder, Pose, Shape, Vec3};

    /// A round slab lies on a box as large as that, or hovers over it: every step is proven by the one before.
    #[test]
    fn what_lies_on_a_face_is_proven() {
        let corner = |k: u32, sides: u32| {
            let around = std::f64::consts::TAU * f64::from(k / 2) / f64::from(sides);
            Vec3::new(0.1 * around.cos(), 0.1 * around.sin(), if k.is_multiple_of(2) { 0.03 } else { -0.03 })
        };
        let mut builder = ModelBuilder::new("test");
        for (name, sides) in [("box", 4), ("slab", 40)] {
            let inertial = Inertial { mass: 1.0, com: Vec3::zeros(), inertia: Mat3::identity() };
            let body = builder.body(name, 0, Pose::identity(), inertial);
            builder.joint(Joint::new("", body, JointKind::Free));
            let vertices: Vec<Vec3> = (0..2 * sides).map(|k| corner(k, sides)).collect();
            let triangles = (0..2 * sides - 2).map(|k| [k, k + 1, k + 2]).collect();
            let shape = Shape::Mesh(builder.mesh(Mesh { name: name.into(), vertices, triangles, surface: None }));
            let contact = Contacting::default();
            builder.geom(Geom { name: name.into(), body, pose: Pose::identity(), shape, contact });
        }
        let model = builder.build().expect("a model");
        let engine = Engine::new(&model, &CollisionSettings::default()).expect("shapes with volume");
        let (mut hints, mut memory, mut out) = (Hints::default(), Memory::default(), Vec::new());
        for step in 0..100 {
            let time = f64::from(step);
            let height = 0.06 + 1e-5 * (0.3 * time).sin();
            let turn = 0.5 * (0.01 * time);
            let poses = |body| match body {
                1 => [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0],
                _ => [0.01, 0.02, height, turn.cos(), 0.0, 0.0, turn.sin()],
            };
            let world = World { overrides: &Overrides::default(), hints: &mut hints, out: &mut out };
            engine.collide_alone(poses, &[], world, &mut memory).expect("finite poses");
            assert_eq!(out.len(), 4, "step {step}");
            let [(_, Note::Touching { trust: Trust { failed: 0, .. }, .. })] = hints.now.notes[..] else {
                panic!("step {step}: {:?}", hints.now.notes);
            };
        }
    }
}
