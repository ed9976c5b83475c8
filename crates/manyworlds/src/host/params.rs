//! Parameters of trees that the host needs as well as the kernels: settings of contacts, frames of static blocks.

use manyworlds_shaders::Scalar;
use manyworlds_shaders::dynamics::tree::{TreeDims, param};

use super::POSE;

/// Numbers before the rest: [`SETTINGS`].
const HEAD: usize = SETTINGS.len();

/// Where the settings of contacts stand among a tree's parameters: time step, fraction and largest speed of a
/// correction, least speed of a bounce, depth that is not corrected: in the order of `island_contact`. Gravity follows.
const SETTINGS: [usize; 8] = [
    param::TIMESTEP,
    param::CORRECTION_FRACTION,
    param::CORRECTION_MAX,
    param::RESTITUTION_THRESHOLD,
    param::CORRECTION_SLOP,
    param::GRAVITY,
    param::GRAVITY + 1,
    param::GRAVITY + 2,
];

/// Those parameters of one tree set: shared by all lanes, or a set a lane.
#[derive(Debug, Clone)]
pub(crate) struct LaneParams<T> {
    /// First parameter of the frames of blocks, or of what a soft body has of its own.
    block_at: usize,
    /// Reals a lane.
    n: usize,
    values: Vec<T>,
}

impl<T: Scalar> LaneParams<T> {
    pub(crate) fn new(dims: &TreeDims) -> Self {
        let (block_at, rest) = if dims.is_soft() {
            (param::HEADER, dims.n_param as usize - param::HEADER)
        } else {
            (dims.block_param as usize, dims.n_block as usize * param::BLOCK)
        };
        Self { block_at, n: HEAD + rest, values: Vec::new() }
    }

    /// Memory they take, B.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&self.values[..])
    }

    /// Takes over what all lanes share, or each lane's own; `value(lane, at)`: a parameter of a lane.
    pub(crate) fn fill(&mut self, lanes: usize, value: impl Fn(usize, usize) -> T) {
        self.values.clear();
        for lane in 0..lanes {
            self.values.extend(SETTINGS.iter().map(|&at| value(lane, at)));
            self.values.extend((0..self.n - HEAD).map(|i| value(lane, self.block_at + i)));
        }
    }

    /// Changes a parameter of one of several lanes, if it is one of these.
    pub(crate) fn set(&mut self, lane: usize, at: usize, value: T) {
        let own = match SETTINGS.iter().position(|&setting| setting == at) {
            Some(setting) => setting,
            None if at >= self.block_at && at - self.block_at < self.n - HEAD => HEAD + at - self.block_at,
            None => return,
        };
        self.values[lane * self.n + own] = value;
    }

    fn of(&self, lane: usize) -> &[T] {
        let lane = if self.values.len() == self.n { 0 } else { lane };
        &self.values[lane * self.n..(lane + 1) * self.n]
    }

    /// The settings of contacts of a lane.
    pub(crate) fn settings(&self, lane: usize) -> [T; 5] {
        std::array::from_fn(|i| self.of(lane)[i])
    }

    /// Gravity of a lane, m/s^2.
    pub(crate) fn gravity(&self, lane: usize) -> [T; 3] {
        std::array::from_fn(|k| self.of(lane)[HEAD - 3 + k])
    }

    /// What a soft body has of its own, as `manyworlds_dynamics::soft_param` says.
    pub(crate) fn soft(&self, lane: usize) -> &[T] {
        &self.of(lane)[HEAD..]
    }

    /// The time step of a lane, s.
    pub(crate) fn timestep(&self, lane: usize) -> T {
        self.of(lane)[0]
    }

    /// The two frames of a block of a lane.
    pub(crate) fn frames(&self, lane: usize, block: usize) -> [[T; POSE]; 2] {
        let own = &self.of(lane)[HEAD + block * param::BLOCK..];
        [param::BLOCK_FRAME_A, param::BLOCK_FRAME_B].map(|frame| std::array::from_fn(|k| own[frame + k]))
    }
}
