//! Derivatives of bilateral blocks: two frames whose origins, or axes, coincide.

use manyworlds_shaders::contact::tree_layout::bilateral_bias;
use manyworlds_shaders::dynamics::derivatives::turn::left_inverse;
use manyworlds_shaders::math::{Quat, quat_conjugate, quat_log, quat_mul, quat_rotate};
use nalgebra::{Matrix3, Vector3};

use crate::bias::{Kink, bilateral_kink, bilateral_slope};
use crate::carrier::{Carrier, add_fixed, add_weights, relative};
use crate::constraint::Law;
use crate::form::{Form, Map, Side};
use crate::member::{BodyOfTree, Member, settings};
use crate::rows::Rows;

/// A bilateral block of the step: three rows in world axes.
#[derive(Debug, Clone)]
pub struct BlockInput {
    /// The two bodies; `None`: what does not move.
    pub bodies: [Option<BodyOfTree>; 2],
    /// Axes coincide, not origins.
    pub angular: bool,
    /// The two frames (position, quaternion) in their bodies, or in the world.
    pub frames: [[f64; 7]; 2],
    /// Impulse of the step, world axes, N s or N m s.
    pub impulse: [f64; 3],
}

/// A frame of a block in the world, by the pose of its body.
fn frame_of(pose: Option<[f64; 7]>, frame: &[f64; 7]) -> ([f64; 3], Quat<f64>) {
    let (position, turn) = ([frame[0], frame[1], frame[2]], [frame[3], frame[4], frame[5], frame[6]]);
    let Some([x, y, z, w, i, j, k]) = pose else { return (position, turn) };
    let q = [w, i, j, k];
    let offset = quat_rotate(q, position);
    ([x + offset[0], y + offset[1], z + offset[2]], quat_mul(q, turn))
}

/// The point of a block and how far its frames are apart.
pub(crate) fn block_error(block: &BlockInput, pose: impl Fn(BodyOfTree) -> [f64; 7]) -> (Vector3<f64>, Vector3<f64>) {
    let [a, b] = [0, 1].map(|side| frame_of(block.bodies[side].map(&pose), &block.frames[side]));
    let p = Vector3::from(b.0);
    let error = if block.angular {
        Vector3::from(quat_log(quat_mul(b.1, quat_conjugate(a.1))))
    } else {
        p - Vector3::from(a.0)
    };
    (p, error)
}

/// A frame of a block in the world.
fn block_frame(
    members: &[Member],
    place: &impl Fn(usize) -> usize,
    body: Option<BodyOfTree>,
    frame: &[f64; 7],
) -> ([f64; 3], Quat<f64>) {
    let pose = |(tree, body): BodyOfTree| {
        let pose = &members[place(tree)].forward.pose[7 * body..7 * body + 7];
        std::array::from_fn(|k| pose[k])
    };
    frame_of(body.map(pose), frame)
}

/// Adds the impulses of a block to its bodies.
pub(crate) fn add_block_impulse(members: &mut [Member], place: impl Fn(usize) -> usize, block: &BlockInput) {
    let (p, _) = block_frame(members, &place, block.bodies[1], &block.frames[1]);
    let (f, none) = (Vector3::from(block.impulse), Vector3::zeros());
    let (f, moment) = if block.angular { (none, f) } else { (f, none) };
    add_fixed(members, block.bodies, place, p.into(), f, moment);
}

/// Adds a block to an island.
pub(crate) fn add_block(members: &[Member], place: impl Fn(usize) -> usize, block: &BlockInput, rows: &mut Rows) {
    let Some(tree) = block.bodies.iter().flatten().next().map(|body| body.0) else { return };
    let [per_step, fraction, largest] = settings(&members[place(tree)].forward);
    let [a, b] = [0, 1].map(|side| block_frame(members, &place, block.bodies[side], &block.frames[side]));
    let p = Vector3::from(b.0);
    let carriers = Carrier::of(members, block.bodies, &place, p);
    let turn = quat_mul(b.1, quat_conjugate(a.1));
    let (arm, angular_error) = (Vector3::from(a.0) - p, quat_log(turn));
    let back = Matrix3::from_row_slice(&left_inverse(angular_error));
    let error = if block.angular { Vector3::from(angular_error) } else { -arm };
    let bias = error.map(|x| bilateral_bias(x, per_step, fraction, largest));
    let kinks = error.iter().map(|&x| bilateral_kink(x, per_step, fraction, largest));
    let kink = kinks.fold(Kink::NONE, |least, kink| if kink.margin < least.margin { kink } else { least });
    let slopes = error.map(|x| bilateral_slope(x, per_step, fraction, largest));
    let [_, w] = relative(carriers.iter().flatten(), false);
    let (f, none) = (Vector3::from(block.impulse), Vector3::zeros());
    let side = |carrier: &Carrier, index: usize| {
        let (mut speed, mut moment) = ([[none; 2]; 3], [[none; 2]; 3]);
        let mut change = speed;
        for k in 0..3 {
            let mut axis = none;
            axis[k] = 1.0;
            // Velocity at the point, angular velocity: in J, and in the change of the error.
            let (own, by_error) = if block.angular {
                let row = back.row(k).transpose();
                // The first body's axes are seen from the second's.
                let seen = Vector3::from(quat_rotate(quat_conjugate(turn), row.into()));
                ([none, axis * carrier.sign], [none, if index == 1 { row } else { -seen }])
            } else {
                // The point is that of the second body; that of the first moves by its own offset.
                let by_error = if index == 1 { [axis, none] } else { [-axis, -arm.cross(&axis)] };
                ([axis * carrier.sign, none], by_error)
            };
            speed[k] = carrier.here(own);
            change[k] = carrier.swept(speed[k], false);
            add_weights(slopes[k], &carrier.here(by_error), &mut change[k]);
            if !block.angular && index == 1 {
                add_weights(1.0, &carrier.here([axis.cross(&w), none]), &mut change[k]);
                moment[k] = carrier.here([f.cross(&axis), none]);
            }
        }
        let [speed, turned, moment] = [speed, change, moment].map(Map::of);
        let ((member, body), Carrier { sign, arm, .. }) = (carrier.place, *carrier);
        Side { member, body, sign, arm, speed, turned, force: Map::default(), moment, bounce: [0.0; 6] }
    };
    let sides = std::array::from_fn(|index| carriers[index].as_ref().map(|carrier| Box::new(side(carrier, index))));
    rows.push_form(
        Law::Bilateral,
        block.impulse,
        bias.into(),
        kink,
        Form { sides, nodes: Vec::new(), corners: Vec::new(), bounces: false },
    );
}
