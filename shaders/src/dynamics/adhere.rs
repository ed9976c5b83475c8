//! Adhesion: what actuators pull surfaces together with that touch. The host says which contacts, as it knows where they are;
//! each of the n contacts of an actuator's body has an equal share `F / n` of its force, along its normal.
//!
//! It is a force like others: contact presses against it as exactly as against a weight, and friction holds by what presses.

use bytemuck::{Pod, Zeroable};

use crate::args::Args;
use crate::dynamics::carried::moves_body;
pub use crate::dynamics::tree::TreeOnly as Dims;
use crate::dynamics::tree::{NONE, Params, SPATIAL, Tree, nth, param, point_motion, tile_params};
use crate::math::{dot, load3, scale};
use crate::real::{Real, Scalar};

/// A side of a contact.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Pod, Zeroable)]
pub struct AdhereItem {
    /// Its body.
    pub body: u32,
    /// Number of the force in `grip`.
    pub number: u32,
    /// 1: it is pulled against the normal, 0: along it.
    pub against: u32,
}

/// Words of a lane at the start of `items`: its first item and how many it has.
pub const LANE: usize = 2;
/// Reals of an item in `places`: the point from c, the normal, the contact's share.
pub const PLACE: usize = 7;

/// The pulls of one lane of a tile, `[n_v]`, to `b` and, as forces, to `adhesion`, of which there is one for each lane of the
/// tile side by side.
#[inline]
fn adhere<T: Scalar, R: Real<Scalar = T>>(
    tree: &Tree,
    items: &[AdhereItem],
    places: &[T],
    h: T,
    grip: &[T],
    (motion, lane): (&[R], usize),
    [b, adhesion]: [&mut [T]; 2],
) {
    for (item, place) in items.iter().zip(places.chunks_exact(PLACE)) {
        let pull = grip[item.number as usize] * place[6];
        let force = scale(load3(place, 3), if item.against == 1 { -pull } else { pull });
        let point = load3(place, 0);
        let mut i = tree.bodies[item.body as usize].chain_dof;
        while i != NONE {
            let dof = &tree.dofs[i as usize];
            if moves_body(dof, item.body) {
                let own: [T; SPATIAL] = std::array::from_fn(|k| motion[i as usize * SPATIAL + k].lane(lane));
                let work = dot(force, point_motion(&own, 0, point));
                let at = i as usize * R::N;
                adhesion[at] += work;
                b[at] = h.mul_add(work, b[at]);
            }
            i = dof.parent;
        }
    }
}

/// Buffers: topology, params, motion, items, places, grip, b, adhesion.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims = &args.dims::<Dims>().tree;
    let [topology, params, motion, items, places, grip, b, adhesion] = args.split();
    let tree = Tree::new(dims, topology.index());
    let (n_v, lanes) = (dims.n_v as usize, dims.lanes as usize);
    let (items, places, grip) = (items.index(), places.real(), grip.real());
    let all: &[AdhereItem] = bytemuck::cast_slice(&items[LANE * lanes..]);
    let (b, adhesion) = (b.scalars_mut(), adhesion.scalars_mut());
    adhesion.fill(<R::Scalar as Real>::lit(0.0));
    for lane in 0..lanes {
        let [begin, count] = [items[LANE * lane] as usize, items[LANE * lane + 1] as usize];
        if count == 0 {
            continue;
        }
        let (tile, within) = (lane / R::N, lane % R::N);
        let params: Params<R> = tile_params(dims, params, tile);
        let first = tile * n_v * R::N + within;
        adhere(
            &tree,
            &all[begin..begin + count],
            &places[PLACE * begin..PLACE * (begin + count)],
            params.at(param::TIMESTEP).lane(within),
            grip,
            (nth(motion.tile(), tile, SPATIAL as u32 * dims.n_v), within),
            [&mut b[first..], &mut adhesion[first..]],
        );
    }
}
