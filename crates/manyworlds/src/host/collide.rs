//! Contacts of worlds, some side by side.

use manyworlds_collide::{ABREAST, Overrides, Travel, World as Collided};
use manyworlds_shaders::Scalar;
use manyworlds_shaders::dynamics::tree::POSE;

use super::{Bench, HostModel, LaneParams, Moving, World, frame, unit};

/// Where a tree of worlds side by side stands among the lanes of its set.
#[derive(Debug, Clone, Copy)]
pub(super) struct TreeLanes {
    pub(super) set: usize,
    pub(super) lanes: [usize; ABREAST],
    /// Tile of each, and its place in there.
    tiles: [usize; ABREAST],
    places: [usize; ABREAST],
    row: Row,
}

/// How the lanes of worlds side by side lie to each other.
#[derive(Debug, Clone, Copy)]
enum Row {
    /// One behind the other in a tile.
    Neighbours,
    /// All the same one.
    Alone,
    Apart,
}

impl TreeLanes {
    fn new(set: usize, lanes: [usize; ABREAST], width: usize) -> Self {
        let [tiles, places] = [lanes.map(|lane| lane / width), lanes.map(|lane| lane % width)];
        let row = if lanes == [lanes[0]; ABREAST] {
            Row::Alone
        } else if tiles == [tiles[0]; ABREAST] && (0..ABREAST).all(|k| places[k] == places[0] + k) {
            Row::Neighbours
        } else {
            Row::Apart
        };
        Self { set, lanes, tiles, places, row }
    }

    /// Elements of these lanes from `first` on, of a buffer with `n` a lane in tiles of `width`.
    #[inline(always)]
    pub(super) fn read<T: Scalar, const N: usize>(
        &self,
        buffer: &[T],
        (width, n, first): (usize, usize, usize),
    ) -> [[f64; ABREAST]; N] {
        let begin = |k: usize| (self.tiles[k] * n + first) * width + self.places[k];
        match self.row {
            Row::Neighbours => {
                let own = &buffer[begin(0)..];
                std::array::from_fn(|e| {
                    let own = &own[e * width..][..ABREAST];
                    std::array::from_fn(|k| own[k].to_f64())
                })
            }
            Row::Alone => {
                let begin = begin(0);
                std::array::from_fn(|e| [buffer[begin + e * width].to_f64(); ABREAST])
            }
            Row::Apart => {
                let begins: [usize; ABREAST] = std::array::from_fn(begin);
                std::array::from_fn(|e| begins.map(|begin| buffer[begin + e * width].to_f64()))
            }
        }
    }
}

impl<T: Scalar> HostModel<T> {
    /// Collides up to [`ABREAST`] worlds; `first`: the first one's number. Those that stopped have no contacts.
    pub(super) fn collide<'o, 'p, P, V, A>(
        &self,
        moving: &Moving<'_, T, P, V, A>,
        params: &[LaneParams<T>],
        (width, first): (usize, usize),
        overrides: &impl Fn(usize) -> Overrides<'o>,
        stopped: &impl Fn(usize) -> bool,
        worlds: &mut [World],
        bench: &mut Bench<T>,
    ) where
        P: Fn(usize) -> &'p [T],
        V: Fn(usize) -> &'p [T],
        T: 'p,
    {
        let Moving { poses, speeds, mocaps, .. } = moving;
        // Where there are fewer worlds, the last one is there again.
        let numbers: [usize; ABREAST] = std::array::from_fn(|k| first + k.min(worlds.len() - 1));
        let own = numbers.map(overrides);
        bench.lanes.clear();
        bench.lanes.extend((0..self.lanes.trees.len()).map(|tree| {
            let lanes = numbers.map(|world| self.lane(world, tree));
            TreeLanes::new(lanes[0].0, lanes.map(|(_, lane)| lane), width)
        }));
        let of_mocap = |world: usize, body: usize| match mocaps.motion(&self.mocaps, world, body) {
            Some((_, [moved, turned])) if mocaps.moving => Travel { moved: moved.into(), turned: turned.into() },
            _ => Travel::default(),
        };
        let always = own.map(|own| mocaps.moving || !own.sizes.is_empty());
        self.travel(speeds, params, width, (&bench.lanes, numbers), (always, of_mocap), &mut bench.travel);
        for world in &mut *worlds {
            world.contacts.clear();
            world.soft.clear();
            world.drifts.clear();
            world.soft_drifts.clear();
        }
        let goes: [bool; ABREAST] = std::array::from_fn(|k| k < worlds.len() && !stopped(numbers[k]));
        let mut rest = worlds.iter_mut();
        let collided: [_; ABREAST] = std::array::from_fn(|k| {
            let World { hints, contacts: out, .. } = rest.next().filter(|_| goes[k])?;
            Some(Collided { overrides: &own[k], hints, out })
        });
        let lanes = &bench.lanes;
        // What moves and is in no tree stands on a mocap body.
        let pose = |body: usize| match self.lanes.bodies[body] {
            Some(place) => {
                let lanes = &lanes[place.tree];
                let n = POSE * self.sets[lanes.set].dims.n_body as usize;
                lanes.read(poses(lanes.set), (width, n, POSE * place.local))
            }
            None => {
                let poses = numbers.map(|world| mocaps.of(&self.mocaps, world, body).unwrap_or_default());
                std::array::from_fn(|e| poses.map(|pose| pose[e]))
            }
        };
        // A pose that is not finite leaves its world without contacts; the kernels flag it.
        let found = self.collision.collide_abreast(pose, &bench.travel, collided, &mut bench.scratch);
        for (lane, world) in worlds.iter_mut().enumerate().filter(|&(lane, _)| goes[lane]) {
            if found[lane].is_ok() && !self.soft.is_empty() {
                self.collide_bodies_that_deform(moving, params, (width, lane, numbers[lane]), &own[lane], world, bench);
            }
            if mocaps.moving {
                self.drift(mocaps, params, numbers[lane], world);
            }
        }
    }

    /// Collides the soft bodies of a world, whose other geoms are placed in a lane.
    fn collide_bodies_that_deform<'p, P, V, A>(
        &self,
        moving: &Moving<'_, T, P, V, A>,
        params: &[LaneParams<T>],
        (width, lane, number): (usize, usize, usize),
        overrides: &Overrides<'_>,
        world: &mut World,
        bench: &mut Bench<T>,
    ) where
        P: Fn(usize) -> &'p [T],
        V: Fn(usize) -> &'p [T],
        T: 'p,
    {
        let Moving { poses, speeds, mocaps, .. } = moving;
        self.ride(mocaps, params, number, &mut world.rides);
        let motion = |body| mocaps.motion(&self.mocaps, number, body);
        let stands = |body| match motion(body) {
            Some((pose, _)) => pose,
            None => frame(unit(self.pose(poses, width, number, body))),
        };
        let way = |body| match motion(body) {
            Some((_, way)) => way.map(|way| way.norm()),
            None => self.way(speeds, params, width, number, body),
        };
        let memory = (&mut bench.scratch, &mut bench.nodes);
        self.collide_soft(poses, params, (width, number), (stands, way), (overrides, lane), memory, &mut world.soft);
    }
}
