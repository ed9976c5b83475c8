//! Sites, tendons and actuators: what measures lengths in a model and pulls along them.

use crate::{Model, Pose, Vec3, Zone};

/// A frame on a body.
#[derive(Debug, Clone)]
pub struct Site {
    /// Name; empty when the file gives none.
    pub name: String,
    /// Its body.
    pub body: usize,
    /// In the body's frame.
    pub pose: Pose,
    /// What is around it: where a touch sensor feels.
    pub zone: Zone,
}

/// A path with a length, which springs and actuators pull along.
#[derive(Debug, Clone)]
pub struct Tendon {
    /// Name; empty when the file gives none.
    pub name: String,
    /// What its length is.
    pub path: Path,
    /// Spring constant, force per length.
    pub stiffness: f64,
    /// Viscous damping, force per rate of length.
    pub damping: f64,
    /// The spring is slack between these lengths; `None`: at the length in the model's initial position.
    pub spring_length: Option<[f64; 2]>,
    /// Lower and upper bound of the length.
    pub range: Option<[f64; 2]>,
    /// Dry friction, a force.
    pub dry_friction: f64,
}

/// How a tendon's length depends on positions.
#[derive(Debug, Clone)]
pub enum Path {
    /// A sum of positions of hinges and slides: joint, coefficient.
    Fixed(Vec<(usize, f64)>),
    /// The length of a line through space.
    Spatial(Vec<Waypoint>),
}

/// An object on the path of a spatial tendon.
#[derive(Debug, Clone)]
pub enum Waypoint {
    /// The path goes through a site.
    Site(usize),
    /// What follows counts divided by this, and starts anew at the next site.
    Pulley(f64),
    /// Between the sites before and after it the path goes round an obstacle.
    Obstacle(Obstacle),
}

/// A sphere or an endless cylinder that a tendon does not go through.
#[derive(Debug, Clone)]
pub struct Obstacle {
    /// Its body.
    pub body: usize,
    /// In the body's frame; a cylinder's axis is its z axis.
    pub pose: Pose,
    /// m
    pub radius: f64,
    /// Whether it is a cylinder.
    pub cylinder: bool,
    /// A site that says on which side the path passes; inside the obstacle: the path passes through its inside.
    pub side: Option<usize>,
}

/// What an actuator pulls on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Transmission {
    /// A joint; the gear of a ball or free joint is in the child's frame.
    Joint(usize),
    /// A ball or free joint, with the gear in the parent's frame.
    JointInParent(usize),
    /// A tendon.
    Tendon(usize),
    /// A force and a torque at a site, in its axes, or in those of a second site: then the length is the gear's product with
    /// the first one's place and turn as the second sees them.
    Site {
        /// Where the force acts.
        site: usize,
        /// In whose axes.
        reference: Option<usize>,
    },
    /// A crank: a rod from a site to a slider that moves along another site's z axis.
    SliderCrank {
        /// Where the rod ends.
        crank: usize,
        /// Whose z axis the slider moves along.
        slider: usize,
        /// Length of the rod, m.
        rod: f64,
    },
    /// Contacts of a body that are closed, or within the gap of their geoms: it pulls the two surfaces together with equal
    /// shares of its force along their normals, whatever the gear. It has no length: its gain is constant, and it has no
    /// dynamics.
    Adhesion(usize),
    /// A region of a soft body: what acts is a pressure in it, Pa, on top of its own. It has no length: its gain is constant, and
    /// it has no dynamics.
    Region {
        /// The soft body.
        soft: usize,
        /// Among its regions.
        region: usize,
    },
}

/// A force along a transmission: `gain * input + bias`, with the control or the activation as input.
#[derive(Debug, Clone)]
pub struct Actuator {
    /// Name; empty when the file gives none.
    pub name: String,
    /// What it pulls on.
    pub transmission: Transmission,
    /// Ratio; the first entry for hinges, slides, tendons and cranks, three for a ball, six for free joints and sites.
    pub gear: [f64; 6],
    /// Force per input: constant, per length, per velocity.
    pub gain: [f64; 3],
    /// Force without input: constant, per length, per velocity.
    pub bias: [f64; 3],
    /// The force is that of a muscle; `gain` then has no meaning.
    pub muscle: Option<Muscle>,
    /// The input follows the control after dynamics of its own.
    pub activation: Option<Activation>,
    /// Controls are clamped to this.
    pub ctrl_range: Option<[f64; 2]>,
    /// Forces are clamped to this, before the gear.
    pub force_range: Option<[f64; 2]>,
}

impl Actuator {
    /// An actuator of a joint with a constant gain, without bias, bounds or dynamics.
    #[must_use]
    pub fn new(name: impl Into<String>, transmission: Transmission) -> Self {
        Self {
            name: name.into(),
            transmission,
            gear: [1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            gain: [1.0, 0.0, 0.0],
            bias: [0.0; 3],
            muscle: None,
            activation: None,
            ctrl_range: None,
            force_range: None,
        }
    }

    /// Whether its force is a linear function of control, length and velocity, clamped.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.muscle.is_none() && self.activation.is_none() && self.gain[1..] == [0.0; 2]
    }

    /// The joint it pulls on, if it is a joint.
    #[must_use]
    pub fn joint(&self) -> Option<usize> {
        match self.transmission {
            Transmission::Joint(joint) | Transmission::JointInParent(joint) => Some(joint),
            _ => None,
        }
    }
}

/// Force of a muscle over its length and velocity (MuJoCo's model: FL(L) FV(V) act + FP(L), times the peak force).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Muscle {
    /// Lengths of the transmission's range, in units of the optimum length.
    pub range: [f64; 2],
    /// Peak force at rest, N; `None`: [`Muscle::scale`] over the acceleration that a unit of force causes at the initial
    /// position.
    pub force: Option<f64>,
    /// See [`Muscle::force`].
    pub scale: f64,
    /// Shortest length at which it pulls, in optimum lengths.
    pub shortest: f64,
    /// Longest length at which it pulls.
    pub longest: f64,
    /// Speed of shortening at which it has no force, optimum lengths a second.
    pub fastest: f64,
    /// Passive force at the longest length, in peak forces.
    pub passive_force: f64,
    /// Force when it is stretched fast, in peak forces.
    pub stretched_force: f64,
    /// Range of the transmission's length.
    pub length_range: [f64; 2],
    /// Whether it pulls actively.
    pub active: bool,
    /// Whether it pulls passively, when it is stretched.
    pub passive: bool,
}

/// A state between a control and the force.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Activation {
    /// Its rate.
    pub dynamics: Dynamics,
    /// It is clamped to this.
    pub range: Option<[f64; 2]>,
    /// The force takes the activation at the end of the step.
    pub early: bool,
}

/// The rate of an activation a under the control u.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Dynamics {
    /// `u`
    Integrator,
    /// `(u - a) / time`, by explicit Euler.
    Filter {
        /// s
        time: f64,
    },
    /// `(u - a) / time`, exactly over a step.
    FilterExact {
        /// s
        time: f64,
    },
    /// A muscle's: a filter of controls from 0 to 1 whose time constant depends on a.
    Muscle {
        /// Time constant of rising and of falling, s.
        times: [f64; 2],
        /// Width of the change from one to the other; 0: at once.
        smoothing: f64,
    },
}

impl Model {
    /// Number of activations: one for each actuator that has dynamics, in the order of the actuators.
    #[must_use]
    pub fn n_act(&self) -> usize {
        self.actuators.iter().filter(|actuator| actuator.activation.is_some()).count()
    }

    /// Bodies of a transmission; the ground may be among them. A region of a soft body has none.
    #[must_use]
    pub fn bodies_of(&self, transmission: &Transmission) -> Vec<usize> {
        let site = |site: usize| self.sites[site].body;
        match *transmission {
            Transmission::Joint(joint) | Transmission::JointInParent(joint) => vec![self.joints[joint].body],
            Transmission::Tendon(tendon) => self.bodies_of_path(&self.tendons[tendon].path),
            Transmission::Site { site: first, reference } => {
                std::iter::once(site(first)).chain(reference.map(site)).collect()
            }
            Transmission::SliderCrank { crank, slider, .. } => vec![site(crank), site(slider)],
            Transmission::Adhesion(body) => vec![body],
            Transmission::Region { .. } => Vec::new(),
        }
    }

    /// Bodies that a path depends on.
    #[must_use]
    pub fn bodies_of_path(&self, path: &Path) -> Vec<usize> {
        match path {
            Path::Fixed(terms) => terms.iter().map(|&(joint, _)| self.joints[joint].body).collect(),
            Path::Spatial(points) => points
                .iter()
                .filter_map(|point| match point {
                    Waypoint::Site(site) => Some(self.sites[*site].body),
                    Waypoint::Obstacle(obstacle) => Some(obstacle.body),
                    Waypoint::Pulley(_) => None,
                })
                .collect(),
        }
    }
}

/// The fluid that bodies move in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fluid {
    /// kg/m^3
    pub density: f64,
    /// Pa s
    pub viscosity: f64,
    /// Its velocity, m/s, world frame.
    pub wind: Vec3,
}

/// An ellipsoid of a body that a fluid acts on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FluidShape {
    /// Its body.
    pub body: usize,
    /// In the body's frame.
    pub pose: Pose,
    /// Half axes, m.
    pub radii: Vec3,
    /// Coefficients of blunt, slender and angular drag, of Kutta's and of Magnus's lift.
    pub coefficients: [f64; 5],
}

impl FluidShape {
    /// Mass and inertia of the fluid that moves with it, along and about its axes, over the fluid's density, m^3 and m^5
    /// (MuJoCo's added mass; Lamb 1932, sections 114 and 115).
    #[must_use]
    pub fn added(&self) -> [Vec3; 2] {
        let [x, y, z] = self.radii.into();
        let volume = 4.0 / 3.0 * std::f64::consts::PI * x * y * z;
        let [kx, ky, kz] = [kappa([x, y, z]), kappa([y, z, x]), kappa([z, x, y])];
        let mass = |k: f64| volume * k / (2.0 - k).max(NOTHING);
        let inertia = |a: f64, b: f64, ka: f64, kb: f64| {
            let (difference, sum) = (a * a - b * b, a * a + b * b);
            let below = (2.0 * difference + sum * (ka - kb)).abs().max(NOTHING);
            volume / 5.0 * difference * difference * (kb - ka).abs() / below
        };
        [
            Vec3::new(mass(kx), mass(ky), mass(kz)),
            Vec3::new(inertia(y, z, ky, kz), inertia(z, x, kz, kx), inertia(x, y, kx, ky)),
        ]
    }
}

/// Divisors below this count as this.
const NOTHING: f64 = 1e-14;
/// Nodes from 0 to 1 and weights of the Kronrod rule of 15 points on [-1, 1].
const KRONROD: [[f64; 2]; 8] = [
    [0.991_455_371_120_812_6, 0.022_935_322_010_529_224],
    [0.949_107_912_342_758_5, 0.063_092_092_629_978_55],
    [0.864_864_423_359_769_1, 0.104_790_010_322_250_18],
    [0.741_531_185_599_394_4, 0.140_653_259_715_525_92],
    [0.586_087_235_467_691_1, 0.169_004_726_639_267_9],
    [0.405_845_151_377_397_2, 0.190_350_578_064_785_4],
    [0.207_784_955_007_898_47, 0.204_432_940_075_298_9],
    [0.0, 0.209_482_141_084_727_82],
];

/// `a b c times the integral of dl / sqrt((a^2 + l)^3 (b^2 + l) (c^2 + l))` over l from 0 on, with `l = s x^3 / (1 - x)^2`.
fn kappa([a, b, c]: [f64; 3]) -> f64 {
    let scale = (a * a * a * b * c).powf(0.4);
    let term = |x: f64| {
        let l = scale * x.powi(3) / (1.0 - x).powi(2);
        let slope = scale * x * x * (3.0 - x) / (1.0 - x).powi(3);
        let [p, q, r] = [a, b, c].map(|axis| 1.0 + l / (axis * axis));
        slope / (p * (p * q * r).sqrt())
    };
    let both = |node: f64| term(0.5 + 0.5 * node) + term(0.5 - 0.5 * node);
    let sum: f64 =
        KRONROD.iter().map(|&[node, weight]| weight * if node == 0.0 { term(0.5) } else { both(node) }).sum();
    0.5 * sum / (a * a)
}

impl Fluid {
    /// No fluid at all.
    pub const NONE: Self = Self { density: 0.0, viscosity: 0.0, wind: Vec3::new(0.0, 0.0, 0.0) };

    /// Whether it acts on anything.
    #[must_use]
    pub fn acts(&self) -> bool {
        self.density > 0.0 || self.viscosity > 0.0
    }
}
