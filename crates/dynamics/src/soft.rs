//! A soft body among the trees: a tree without bodies, whose degrees of freedom are slides of their own.
//!
//! Kernels move its state as a tree's; what its forces are no tree kernel knows.

use manyworlds_model::{Actuator, SoftBody};
use manyworlds_shaders::dynamics::tree::{ActuatorRecord, DofRecord, JointRecord, NONE, TreeDims, joint, param};

use crate::layout::TreeLayout;
use crate::params::actuator;
use crate::soft_param;

/// The pressure that a control adds to that of its region, Pa, and its derivative by the control. `of`: the numbers of the
/// actuator.
#[must_use]
pub fn pressure_of(of: &[f64], control: f64) -> [f64; 2] {
    let within = |x: f64, at: usize| x.clamp(of[at], of[at + 1]);
    let (input, gain, gear) =
        (within(control, param::ACTUATOR_CONTROL), of[param::ACTUATOR_GAIN], of[param::ACTUATOR_GEAR]);
    let force = gain * input + of[param::ACTUATOR_BIAS];
    let acting = within(force, param::ACTUATOR_FORCE);
    [gear * acting, if input == control && acting == force { gear * gain } else { 0.0 }]
}

/// Sizes and structure. `regions`: that of each actuator.
pub(crate) fn layout(soft: &SoftBody, regions: &[usize], integrator: u32) -> TreeLayout {
    let n = soft.v.len() as u32;
    let joint = |i| JointRecord { kind: joint::SLIDE, body: NONE, q_begin: i, dof_begin: i };
    let joints: Vec<JointRecord> = (0..n).map(joint).collect();
    // It moves no body: those from 0 to before 0.
    let dof = |i| DofRecord { m_begin: i, chain: 1, parent: NONE, body: 0, subtree_end: 0, joint: i };
    let dofs: Vec<DofRecord> = (0..n).map(dof).collect();
    let mut topology: Vec<u32> = bytemuck::cast_slice(&joints).to_vec();
    let dof_at = topology.len() as u32;
    topology.extend(bytemuck::cast_slice::<_, u32>(&dofs));
    let record = |&region: &usize| ActuatorRecord { joint: region as u32, mode: 0 };
    let actuators: Vec<ActuatorRecord> = regions.iter().map(record).collect();
    topology.extend(bytemuck::cast_slice::<_, u32>(&actuators));
    let end = topology.len() as u32;
    let actuator_param = (param::HEADER + soft_param::PRESSURE + soft.regions.len()) as u32;
    let n_param = actuator_param + (regions.len() * param::ACTUATOR) as u32;
    let dims = TreeDims {
        n_joint: n,
        n_q: n,
        n_v: n,
        n_u: regions.len() as u32,
        n_m: n,
        n_param,
        dof_at,
        row_at: end,
        path_at: end,
        joint_param: actuator_param,
        actuator_param,
        coupling_param: n_param,
        block_param: n_param,
        integrator,
        row_width: 3,
        ..TreeDims::default()
    };
    TreeLayout { dims, topology, sensor_at: None }
}

/// What follows the header of its parameters.
pub(crate) fn params<'a>(soft: &SoftBody, actuators: impl Iterator<Item = &'a Actuator>) -> Vec<f64> {
    let m = &soft.material;
    let friction = if soft.contacting.frictionless { 0.0 } else { soft.contacting.friction };
    let mut params = vec![m.young, m.poisson, m.density, m.damping, m.mass_damping, friction];
    params.extend(soft.regions.iter().map(|region| region.pressure));
    actuators.for_each(|own| actuator(own, &mut params));
    params
}
