//! The dynamics of one tile of lanes, kernel mirror after kernel mirror, without a recording.

use manyworlds_dynamics::TreeLayout;
use manyworlds_shaders::dynamics::tree::{POSE, Params, SPATIAL, body_param, multiply, param};
use manyworlds_shaders::dynamics::{applied, bias, factor, inertia, integrate, kinematics, momentum, path};
use manyworlds_shaders::math::{add, dot, load3, quat_rotate};
use manyworlds_shaders::{Real, Scalar};

/// The buffers of one tile (`R` a pack) or of one lane (`R` a scalar); elements as in the kernels' docs.
#[derive(Debug, Clone)]
pub struct TreeTile<R: Real> {
    /// Structure of the tree.
    pub layout: TreeLayout,
    /// Parameters shared by the lanes.
    pub params: Vec<R::Scalar>,
    /// q, v, ctrl, tau, act.
    pub state: Vec<R>,
    /// Body poses.
    pub pose: Vec<R>,
    /// Motions of the dofs.
    pub motion: Vec<R>,
    /// Body twists.
    pub twist: Vec<R>,
    /// Scratch.
    pub work: Vec<R>,
    /// Bias force.
    pub bias: Vec<R>,
    /// Joint-space inertia.
    pub mass: Vec<R>,
    /// Momentum matrix.
    pub momentum: Vec<R>,
    /// Its factor.
    pub factor: Vec<R>,
    /// Right-hand side.
    pub b: Vec<R>,
    /// Lengths and moment arms of paths.
    pub pull: Vec<R>,
    /// Free velocity.
    pub v_free: Vec<R>,
    /// Velocity after the step.
    pub velocity: Vec<R>,
    /// Status words, one a lane.
    pub status: Vec<u32>,
}

impl<R: Real> TreeTile<R> {
    /// All zeros.
    #[must_use]
    pub fn new(layout: &TreeLayout, params: &[f64]) -> Self {
        let dims = &layout.dims;
        let zeros = |n: usize| vec![R::lit(0.0); n];
        let (n_b, n_v, n_m) = (dims.n_body as usize, dims.n_v as usize, dims.n_m as usize);
        Self {
            layout: layout.clone(),
            params: params.iter().map(|&p| R::Scalar::from_f64(p)).collect(),
            state: zeros(dims.n_state()),
            pose: zeros(n_b * POSE),
            motion: zeros(n_v * SPATIAL),
            twist: zeros(n_b * SPATIAL),
            work: zeros(dims.n_work()),
            bias: zeros(n_v),
            mass: zeros(n_m),
            momentum: zeros(n_m),
            factor: zeros(n_m),
            b: zeros(n_v),
            pull: zeros(dims.n_pull as usize),
            v_free: zeros(n_v),
            velocity: zeros(n_v),
            status: vec![0; R::N],
        }
    }

    /// Sets the state of one lane.
    pub fn set(&mut self, lane: usize, state: &[f64]) {
        for (slot, &x) in self.state.iter_mut().zip(state) {
            slot.set_lane(lane, R::Scalar::from_f64(x));
        }
    }

    /// The state of one lane.
    #[must_use]
    pub fn get(&self, lane: usize) -> Vec<f64> {
        self.state.iter().map(|x| x.lane(lane).to_f64()).collect()
    }

    /// Everything up to the free velocity.
    pub fn free_velocity(&mut self) {
        let tree = self.layout.tree();
        let params = Params::Shared(&self.params);
        kinematics::kinematics(&tree, params, &self.state, &mut self.pose, &mut self.motion);
        bias::bias(
            &tree,
            params,
            &self.state,
            &self.pose,
            &self.motion,
            &mut self.twist,
            &mut self.work,
            &mut self.bias,
        );
        inertia::inertia(&tree, params, &self.motion, &mut self.work, &mut self.mass);
        momentum::momentum(&tree, params, &self.state, &self.mass, &self.bias, &mut self.momentum, &mut self.b);
        path::path(&tree, params, &self.state, &self.pose, &self.motion, &mut self.pull);
        applied::applied(
            &tree,
            params,
            &self.state,
            &self.pose,
            &self.motion,
            &self.pull,
            &mut self.momentum,
            &mut self.b,
        );
        factor::factor(
            &tree,
            &self.momentum,
            &self.b,
            &mut self.factor,
            &mut self.v_free,
            &mut self.velocity,
            &mut self.status,
        );
    }

    /// Moves the state by `velocity`.
    pub fn integrate(&mut self) {
        let params = Params::Shared(&self.params);
        integrate::integrate(&self.layout.tree(), params, &self.velocity, &mut self.state, &mut self.status);
    }

    /// A step without contacts, limits or other rows.
    pub fn step(&mut self) {
        self.free_velocity();
        self.integrate();
    }
}

impl TreeTile<f64> {
    /// Kinetic and gravitational energy of the state at which [`Self::free_velocity`] was called, J.
    #[must_use]
    pub fn energy(&self) -> f64 {
        let tree = self.layout.tree();
        let v = &self.state[tree.dims.v_at()..tree.dims.ctrl_at()];
        let mut p = vec![0.0; v.len()];
        multiply(&tree, &self.mass, v, &mut p);
        let kinetic = 0.5 * p.iter().zip(v).map(|(p, v)| p * v).sum::<f64>();
        let gravity = load3(&self.params, param::GRAVITY);
        let potential = |b: usize| {
            let (mass, com) = self.mass_centre(b);
            -mass * dot(gravity, com)
        };
        kinetic + (0..tree.bodies.len()).map(potential).sum::<f64>()
    }

    /// Mass of a body and its centre in the world.
    #[must_use]
    pub fn mass_centre(&self, body: usize) -> (f64, [f64; 3]) {
        let record = &self.params[body_param(body)..];
        let pose = &self.pose[body * POSE..];
        let turned = quat_rotate([pose[3], pose[4], pose[5], pose[6]], load3(record, param::BODY_COM));
        (record[param::BODY_MASS], add(load3(pose, 0), turned))
    }
}
