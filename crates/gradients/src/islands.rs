//! Finds the islands of a step.

use manyworlds_collide::organise::Components;

use crate::input::StepInput;
use crate::island::Island;

/// The islands of a step, in the order of their first trees.
pub(crate) fn islands(input: &StepInput) -> Vec<Island> {
    let mut components = Components::default();
    let n_trees = input.trees.len();
    let n = n_trees + input.sparse.len();
    components.separate(n);
    // Bodies that deform are numbered behind the trees.
    let contacts = || {
        input.contacts.iter().map(|c| {
            let point = |side: usize| c.points[side].as_ref().map(|point| n_trees + point.body);
            [0, 1].map(|side| c.bodies[side].map(|(tree, _)| tree).or_else(|| point(side)))
        })
    };
    let blocks = || input.blocks.iter().map(|b| b.bodies.map(|body| body.map(|(tree, _)| tree)));
    let carriers = input.sparse.iter().enumerate();
    let carriers = carriers.map(|(body, own)| [own.carrier.map(|carrier| carrier.tree), Some(n_trees + body)]);
    for pair in contacts().chain(blocks()).chain(carriers) {
        if let [Some(a), Some(b)] = pair {
            components.join(a as u32, b as u32);
        }
    }
    let mut island_of = Vec::with_capacity(n);
    let mut out: Vec<Island> = Vec::new();
    for own in 0..n {
        let root = components.root(own as u32) as usize;
        // A root is the lowest of its component, so that its island is known by now.
        let island = if root == own { out.len() } else { island_of[root] };
        if root == own {
            out.push(Island::default());
        }
        island_of.push(island);
        match own.checked_sub(n_trees) {
            None => out[island].trees.push(own),
            Some(body) => out[island].sparse.push(body),
        }
    }
    let of = |pair: [Option<usize>; 2]| pair.into_iter().flatten().next().map(|own| island_of[own]);
    for (i, pair) in contacts().enumerate() {
        of(pair).into_iter().for_each(|island| out[island].contacts.push(i));
    }
    for (i, pair) in blocks().enumerate() {
        of(pair).into_iter().for_each(|island| out[island].blocks.push(i));
    }
    out
}
