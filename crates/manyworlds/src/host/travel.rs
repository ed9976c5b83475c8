//! How far ahead of bodies contacts are looked for: as far as they may come within a step.

use manyworlds_collide::{ABREAST, Travel, Travels};
use manyworlds_model::Vec3;
use manyworlds_shaders::Scalar;
use manyworlds_shaders::dynamics::tree::SPEED;
use manyworlds_shaders::index::tile_at;

use super::collide::TreeLanes;
use super::{HostModel, LaneParams};

/// How much faster than at the start of a step a body is taken to move within it.
pub(super) const AHEAD: f64 = 1.25;

/// What gravity adds to the way of a body within a step of `h` seconds, m.
fn falls(h: f64, gravity: [f64; 3]) -> [f64; 3] {
    gravity.map(|g| AHEAD * h * h * g)
}

/// How a body may move within a step of `h` seconds; `speed`: of its origin, then its angular one, as the step begins.
fn within_step(h: f64, falls: [f64; 3], speed: impl Fn(usize) -> f64) -> Travel {
    let way = |k: usize| AHEAD * h * speed(k);
    Travel { moved: std::array::from_fn(|k| falls[k] + way(k)), turned: std::array::from_fn(|k| way(3 + k)) }
}

impl<T: Scalar> HostModel<T> {
    /// How the bodies of worlds side by side may move within a step: of each world in which any so far that the speculative distance
    /// alone would miss what it meets, none of the others. `always`: even if not, as where the world has geoms of its own, of which
    /// the model's lever says nothing; `still`: how a body of no tree moves.
    pub(super) fn travel<'p>(
        &self,
        speeds: &impl Fn(usize) -> &'p [T],
        params: &[LaneParams<T>],
        width: usize,
        (lanes, worlds): (&[TreeLanes], [usize; ABREAST]),
        (always, still): ([bool; ABREAST], impl Fn(usize, usize) -> Travel),
        travel: &mut Vec<Travels>,
    ) where
        T: 'p,
    {
        let mut farthest = [0.0; ABREAST];
        let mut at: Option<(usize, [f64; ABREAST], [[f64; ABREAST]; 3])> = None;
        travel.clear();
        travel.extend(self.lanes.bodies.iter().enumerate().map(|(body, place)| {
            let Some(place) = place else {
                return worlds.map(|world| still(world, body)).into();
            };
            let tree = &lanes[place.tree];
            // Bodies of a tree mostly follow each other.
            let own = at.filter(|(of, ..)| *of == place.tree).unwrap_or_else(|| {
                let h = tree.lanes.map(|lane| params[tree.set].timestep(lane).to_f64());
                let gravity = tree.lanes.map(|lane| params[tree.set].gravity(lane).map(|g| g.to_f64()));
                let falls: [_; ABREAST] = std::array::from_fn(|k| falls(h[k], gravity[k]));
                (place.tree, h, std::array::from_fn(|e| falls.map(|falls| falls[e])))
            });
            at = Some(own);
            let (_, h, falls) = own;
            let n = SPEED * self.sets[tree.set].dims.n_body as usize;
            let speed: [_; SPEED] = tree.read(speeds(tree.set), (width, n, SPEED * place.local));
            let way = |e: usize| -> [f64; ABREAST] { std::array::from_fn(|k| AHEAD * h[k] * speed[e][k]) };
            let moved: [[f64; ABREAST]; 3] = std::array::from_fn(|e| {
                let way = way(e);
                std::array::from_fn(|k| falls[e][k] + way[k])
            });
            let turned: [[f64; ABREAST]; 3] = std::array::from_fn(|e| way(3 + e));
            for k in 0..ABREAST {
                let square = |of: &[[f64; ABREAST]; 3]| of[0][k] * of[0][k] + of[1][k] * of[1][k] + of[2][k] * of[2][k];
                // No less than the square of how far its surface comes.
                farthest[k] = f64::max(farthest[k], 2.0 * (square(&moved) + self.lever * self.lever * square(&turned)));
            }
            Travels { moved, turned }
        }));
        let goes: [bool; ABREAST] = std::array::from_fn(|k| always[k] || self.still * self.still < farthest[k]);
        if goes == [false; ABREAST] {
            travel.clear();
        } else if goes != [true; ABREAST] {
            for own in travel.iter_mut().flat_map(|Travels { moved, turned }| moved.iter_mut().chain(turned)) {
                own.iter_mut().zip(goes).filter(|(_, goes)| !goes).for_each(|(x, _)| *x = 0.0);
            }
        }
    }

    /// How far a body may move and turn within a step.
    pub(super) fn way<'p>(
        &self,
        speeds: &impl Fn(usize) -> &'p [T],
        params: &[LaneParams<T>],
        width: usize,
        world: usize,
        body: usize,
    ) -> [f64; 2]
    where
        T: 'p,
    {
        let Some(place) = self.lanes.bodies[body] else { return [0.0; 2] };
        let (set, lane) = self.lane(world, place.tree);
        let n = SPEED * self.sets[set].dims.n_body as usize;
        let h = params[set].timestep(lane).to_f64();
        let falls = falls(h, params[set].gravity(lane).map(|g| g.to_f64()));
        let (first, speeds) = (tile_at(width, lane, n, SPEED * place.local), speeds(set));
        let Travel { moved, turned } = within_step(h, falls, |k| speeds[first + k * width].to_f64());
        [moved, turned].map(|x| Vec3::from(x).norm())
    }
}
