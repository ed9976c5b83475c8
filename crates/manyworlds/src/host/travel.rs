//! How far ahead of bodies contacts are looked for: as far as they may come within a step.

use manyworlds_collide::Travel;
use manyworlds_model::Vec3;
use manyworlds_shaders::Scalar;
use manyworlds_shaders::dynamics::tree::SPEED;
use manyworlds_shaders::index::tile_at;

use super::{HostModel, LaneParams};

/// How much faster than at the start of a step a body is taken to move within it.
pub(super) const AHEAD: f64 = 1.25;

/// What gravity adds to the way of a body within a step of `h` seconds, m.
pub(crate) fn falls(h: f64, gravity: [f64; 3]) -> [f64; 3] {
    gravity.map(|g| AHEAD * h * h * g)
}

/// How a body may move within a step of `h` seconds; `speed`: of its origin, then its angular one, as the step begins.
pub(crate) fn within_step(h: f64, falls: [f64; 3], speed: impl Fn(usize) -> f64) -> Travel {
    let way = |k: usize| AHEAD * h * speed(k);
    Travel { moved: std::array::from_fn(|k| falls[k] + way(k)), turned: std::array::from_fn(|k| way(3 + k)) }
}

impl<T: Scalar> HostModel<T> {
    /// How the bodies of a world may move within a step, if any so far that the speculative distance alone would miss what it
    /// meets. `always`: even if not, as where the world has geoms of its own, of which the model's lever says nothing; `still`:
    /// how a body of no tree moves.
    pub(super) fn travel<'p>(
        &self,
        speeds: &impl Fn(usize) -> &'p [T],
        params: &[LaneParams<T>],
        width: usize,
        world: usize,
        (always, still): (bool, impl Fn(usize) -> Travel),
        travel: &mut Vec<Travel>,
    ) -> bool
    where
        T: 'p,
    {
        let (mut farthest, mut at) = (0.0, None);
        travel.clear();
        travel.extend(self.lanes.bodies.iter().enumerate().map(|(body, place)| {
            let Some(place) = place else { return still(body) };
            // Bodies of a tree mostly follow each other.
            if at.as_ref().is_none_or(|&(tree, _)| tree != place.tree) {
                at = Some((place.tree, self.ways(speeds, params, width, world, place.tree)));
            }
            let Some((_, ways)) = &at else { return Travel::default() };
            let own = ways(place.local);
            let [moved, turned] = [own.moved, own.turned].map(|x| Vec3::from(x).norm_squared());
            // No less than the square of how far its surface comes.
            farthest = f64::max(farthest, 2.0 * (moved + self.lever * self.lever * turned));
            own
        }));
        always || self.still * self.still < farthest
    }

    /// How the bodies of a tree may move within a step, by their number in the tree.
    fn ways<'p, S: Fn(usize) -> &'p [T]>(
        &self,
        speeds: &S,
        params: &[LaneParams<T>],
        width: usize,
        world: usize,
        tree: usize,
    ) -> impl Fn(usize) -> Travel + use<'p, T, S>
    where
        T: 'p,
    {
        let (set, lane) = self.lane(world, tree);
        let n = SPEED * self.sets[set].dims.n_body as usize;
        let h = params[set].timestep(lane).to_f64();
        let falls = falls(h, params[set].gravity(lane).map(|g| g.to_f64()));
        let (first, speeds) = (tile_at(width, lane, n, 0), speeds(set));
        move |local: usize| within_step(h, falls, |k| speeds[first + (SPEED * local + k) * width].to_f64())
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
        let Travel { moved, turned } = self.ways(speeds, params, width, world, place.tree)(place.local);
        [moved, turned].map(|x| Vec3::from(x).norm())
    }
}
