//! What contacts exert on bodies in a step, mean values over it: by body the moment about c and the force; normal forces that
//! add up on zones that touch sensors feel; and forces along directions, for sensors that show contacts. The host says which
//! contacts, as it knows where they are.

use bytemuck::{Pod, Zeroable};

use crate::args::Args;
use crate::contact::frame::tangents;
use crate::dynamics::tree::{POSE, Params, SPATIAL, TreeDims, nth, param, tile_params};
use crate::math::{cross, dot, load3, scale, scale_add, sub};
use crate::real::{Real, Scalar};

/// Uniform block.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Pod, Zeroable)]
pub struct Dims {
    /// Sizes of the tree.
    pub tree: TreeDims,
    /// Reals of a lane of `load`.
    pub n_load: u32,
}

/// A side of a contact.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Pod, Zeroable)]
pub struct LoadItem {
    /// Of a body: its first number in `load`; of a zone or direction: its number there, which is behind those of bodies.
    pub number: u32,
    /// First number of the impulse.
    pub impulse: u32,
    /// 1: it is among the impulses of islands, 0: of the tree.
    pub island: u32,
    /// Of a body: 1 where the contact pushes it along its normal, 0: against it. Else 0 for the normal force, or [`DIRECTION`].
    pub along: u32,
}

/// In the place of the point stands a direction, along which the force on the contact's second body is added up.
pub const DIRECTION: u32 = 2;

/// Words of a lane at the start of `items`: its first item and how many it has.
pub const LANE: usize = 2;
/// Reals of an item in `places`: point, normal.
pub const PLACE: usize = 6;

/// The sides of contacts of one lane to its numbers of `load`, of which there are `width` side by side.
#[inline]
fn load<T: Scalar>(
    items: &[LoadItem],
    places: &[T],
    c: [T; 3],
    h: T,
    [impulse, island]: [&[T]; 2],
    n_body: usize,
    (load, width): (&mut [T], usize),
) {
    let per_second = T::lit(1.0) / h;
    for (item, place) in items.iter().zip(places.chunks_exact(PLACE)) {
        let (from, stride) = if item.island == 1 { (island, 1) } else { (impulse, width) };
        let at = item.impulse as usize;
        let lambda = [from[at], from[at + stride], from[at + 2 * stride]];
        let number = item.number as usize;
        if number >= SPATIAL * n_body && item.along != DIRECTION {
            load[number * width] += lambda[2] * per_second;
            continue;
        }
        let normal = load3(place, 3);
        let [t1, t2] = tangents(normal);
        let push = scale_add(normal, lambda[2], scale_add(t2, lambda[1], scale(t1, lambda[0])));
        if item.along == DIRECTION {
            load[number * width] += dot(push, load3(place, 0)) * per_second;
            continue;
        }
        let force = scale(push, if item.along == 1 { per_second } else { -per_second });
        let moment = cross(sub(load3(place, 0), c), force);
        for k in 0..3 {
            load[(number + k) * width] += moment[k];
            load[(number + 3 + k) * width] += force[k];
        }
    }
}

/// Buffers: topology, params, pose, items, places, impulse, island_impulse, load.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let Dims { tree: dims, n_load } = args.dims::<Dims>();
    let [_topology, params, pose, items, places, impulse, island, out] = args.split();
    let (n_body, lanes) = (dims.n_body as usize, dims.lanes as usize);
    let (items, places) = (items.index(), places.real());
    let all: &[LoadItem] = bytemuck::cast_slice(&items[LANE * lanes..]);
    let out = out.scalars_mut();
    out.fill(<R::Scalar as Real>::lit(0.0));
    for lane in 0..lanes {
        let [begin, count] = [items[LANE * lane] as usize, items[LANE * lane + 1] as usize];
        let (tile, within) = (lane / R::N, lane % R::N);
        let params: Params<R> = tile_params(&dims, params, tile);
        let c = load3(nth(pose.tile(), tile, POSE as u32 * dims.n_body), 0).map(|x: R| x.lane(within));
        let first = tile * n_load as usize * R::N + within;
        load(
            &all[begin..begin + count],
            &places[PLACE * begin..PLACE * (begin + count)],
            c,
            params.at(param::TIMESTEP).lane(within),
            [impulse.scalars(), island.real()],
            n_body,
            (&mut out[first..], R::N),
        );
    }
}
