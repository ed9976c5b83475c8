//! A soft body on a mocap body: what the motion of that does to its nodes.
//!
//! The mocap body goes as fast as contacts see it go: `P'` its origin and `W` its angular velocity in this step, `P'-` and `W-` in
//! the one before. A node at `s = X + q` has the velocity `P' + W x s + q'+` after the step, and before it `P'- + W- x s + q'`, s
//! and axes being those of then. So its balance of momentum, all along the axes of now, is that of a node on something that stands
//! whose velocity before was `q'_0 = q' - (P' - P'-) - (W - W-) x s - h (W- x (W x s) + (W- + W) x q')`: what the body gains in
//! speed, the centrifugal force and Coriolis'. Steady motion along a line changes nothing.

use manyworlds_model::{Mat3, Vec3};

use crate::host::Ride;

/// `q'_0` as a function of q and q'.
#[derive(Debug, Clone)]
pub(in crate::group) struct Ridden {
    ride: Ride,
    /// s
    h: f64,
    /// `P' - P'-`
    gained: Vec3,
    by_q: Mat3,
    by_v: Mat3,
}

impl Ridden {
    /// None where it stands, and stood.
    pub(in crate::group) fn new(ride: &Ride, h: f64) -> Option<Self> {
        let still = [Vec3::zeros(); 2];
        if [ride.before, ride.now] == [still; 2] {
            return None;
        }
        let axes = ride.pose.rotation.inverse();
        let [before, now] = [ride.before, ride.now].map(|twist| twist.map(|x| axes * x));
        let [turned, turning] = [before[1], now[1]].map(|spin| spin.cross_matrix());
        Some(Self {
            ride: *ride,
            h,
            gained: now[0] - before[0],
            by_q: turned - turning - turned * turning * h,
            by_v: Mat3::identity() - (turned + turning) * h,
        })
    }

    /// The same way in a step of another time.
    pub(in crate::group) fn over(&self, h: f64) -> Option<Self> {
        Self::new(&Ride { now: self.ride.now.map(|x| x * (self.h / h)), ..self.ride }, h)
    }

    /// `q'_0`, by the nodes' `rest` and first degrees of freedom, and q and q' of the free ones.
    pub(in crate::group) fn begin(&self, rest: &[Vec3], dofs: &[Option<u32>], [q, v]: [&[f64]; 2]) -> Vec<f64> {
        let mut out = v.to_vec();
        for (rest, dof) in rest.iter().zip(dofs) {
            let Some(dof) = dof.map(|dof| dof as usize) else { continue };
            let of = |from: &[f64]| Vec3::from_column_slice(&from[dof..dof + 3]);
            let begin = self.by_v * of(v) + self.by_q * (rest + of(q)) - self.gained;
            out[dof..dof + 3].copy_from_slice(begin.as_slice());
        }
        out
    }

    /// As kernels read it, which have q'_0 of `rest + q` and q': see `manyworlds_shaders::soft::body::soft`.
    pub(in crate::group) fn numbers(&self) -> impl Iterator<Item = f64> + '_ {
        let rows = [&self.by_q, &self.by_v].into_iter().flat_map(|by| (0..9).map(|k| by[(k / 3, k % 3)]));
        rows.chain(self.gained.iter().copied())
    }

    /// How that of a node changes with its own q and q'.
    pub(in crate::group) fn slopes(&self) -> [&Mat3; 2] {
        [&self.by_q, &self.by_v]
    }
}
