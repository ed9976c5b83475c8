//! Finds the islands of a step.

use manyworlds_collide::organise::Components;

use crate::input::StepInput;
use crate::island::Island;

/// The islands of a step, in the order of their first trees.
pub(crate) fn islands(input: &StepInput) -> Vec<Island> {
    let mut components = Components::default();
    components.separate(input.trees.len());
    let contacts = || input.contacts.iter().map(|c| c.bodies);
    let blocks = || input.blocks.iter().map(|b| b.bodies);
    for bodies in contacts().chain(blocks()) {
        if let [Some((a, _)), Some((b, _))] = bodies {
            components.join(a as u32, b as u32);
        }
    }
    let mut island_of = Vec::with_capacity(input.trees.len());
    let mut out: Vec<Island> = Vec::new();
    for tree in 0..input.trees.len() {
        let root = components.root(tree as u32) as usize;
        // A root is the lowest of its component, so that its island is known by now.
        let island = if root == tree { out.len() } else { island_of[root] };
        if root == tree {
            out.push(Island::default());
        }
        island_of.push(island);
        out[island].trees.push(tree);
    }
    let of = |bodies: [Option<(usize, usize)>; 2]| bodies.iter().flatten().next().map(|&(tree, _)| island_of[tree]);
    for (i, bodies) in contacts().enumerate() {
        of(bodies).into_iter().for_each(|island| out[island].contacts.push(i));
    }
    for (i, bodies) in blocks().enumerate() {
        of(bodies).into_iter().for_each(|island| out[island].blocks.push(i));
    }
    out
}
