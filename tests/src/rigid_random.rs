//! Random robots in a line or two of everything that MJCF has for rigid bodies: on the ground, on each other, held and driven.

mod forces;

use std::fmt::Write;

use manyworlds::{Model, State};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::batches::mjcf;
use forces::Forces;

/// The model of a seed. `forces`: with all that pulls elsewhere than at a joint, too.
#[must_use]
pub fn model(seed: u64, forces: bool) -> Model {
    let (h, text) = text(seed, forces);
    mjcf(h, &text)
}

/// Where it begins: as it stands in its file, with some speed.
#[must_use]
pub fn start(model: &Model, seed: u64) -> State {
    let mut rng = ChaCha8Rng::seed_from_u64(!seed);
    let v = (0..model.n_v).map(|_| rng.random_range(-0.5..0.5)).collect();
    State { q: model.initial_q(), v, ..State::default() }
}

/// Its time step, s, and what stands within `<mujoco>`.
fn text(seed: u64, forces: bool) -> (f64, String) {
    let mut draw = Draw {
        rng: ChaCha8Rng::seed_from_u64(seed),
        forces: forces.then(|| Forces::new(seed)),
        world: String::new(),
        bodies: 0,
        joints: Vec::new(),
    };
    let h = [1e-3, 2e-3, 5e-3][draw.rng.random_range(0..3)];
    let friction = draw.friction();
    let ground = format!("<geom name=\"ground\" type=\"plane\" size=\"0 0 1\" friction=\"{friction}\"/>\n");
    draw.world.push_str(&ground);
    if draw.rng.random_bool(0.3) {
        let at = draw.vector(0.05);
        draw.geom("step", at);
    }
    let roots = draw.rng.random_range(1..4);
    for root in 0..roots {
        let at = [0.35 * (f64::from(root) - 1.0), draw.rng.random_range(-0.1..0.1), draw.rng.random_range(0.1..0.4)];
        let depth = draw.rng.random_range(1..5);
        draw.body(at, depth, true);
    }
    let mut beside = draw.beside();
    if let Some(mut forces) = draw.forces.take() {
        beside.push_str(&forces.fluid());
        beside.push_str(&forces.beside(&draw));
    }
    (h, format!("<compiler angle=\"radian\"/><worldbody>\n{}</worldbody>\n{beside}", draw.world))
}

/// What was drawn so far.
struct Draw {
    rng: ChaCha8Rng,
    forces: Option<Forces>,
    /// Within `<worldbody>`.
    world: String,
    bodies: usize,
    /// Names of joints, and whether each has one degree of freedom.
    joints: Vec<(String, bool)>,
}

/// Numbers as an attribute has them.
fn numbers(numbers: &[f64]) -> String {
    numbers.iter().map(|x| format!("{x:.4}")).collect::<Vec<_>>().join(" ")
}

impl Draw {
    fn vector(&mut self, reach: f64) -> [f64; 3] {
        std::array::from_fn(|_| self.rng.random_range(-reach..reach))
    }

    /// Numbers of a range, as an attribute has them.
    fn sizes(&mut self, count: usize) -> String {
        let own: Vec<f64> = (0..count).map(|_| self.rng.random_range(0.02..0.08)).collect();
        numbers(&own)
    }

    /// Zero one time in five.
    fn friction(&mut self) -> f64 {
        if self.rng.random_bool(0.2) { 0.0 } else { self.rng.random_range(0.1..1.2) }
    }

    /// An attribute with a number of a range, one time in so many.
    fn maybe(&mut self, chance: f64, name: &str, range: std::ops::Range<f64>) -> String {
        let value = self.rng.random_range(range);
        if self.rng.random_bool(chance) { format!(" {name}=\"{value:.4}\"") } else { String::new() }
    }

    /// Bounds to either side of zero, one time in so many.
    fn bounded(&mut self, chance: f64, what: &str, range: std::ops::Range<f64>) -> String {
        let [low, high] = [(); 2].map(|()| self.rng.random_range(range.clone()));
        let given = self.rng.random_bool(chance);
        if given { format!(" {what}limited=\"true\" {what}range=\"{:.4} {high:.4}\"", -low) } else { String::new() }
    }

    fn geom(&mut self, name: &str, at: [f64; 3]) {
        let (shape, sizes) =
            [("sphere", 1), ("capsule", 2), ("box", 3), ("cylinder", 2), ("ellipsoid", 3)][self.rng.random_range(0..5)];
        let (sizes, turn) = (self.sizes(sizes), self.vector(1.5));
        let friction = self.friction();
        let condim = if self.rng.random_bool(0.1) { 1 } else { 3 };
        let fluid = self.forces.as_mut().map_or("", Forces::of_geom);
        let _ = writeln!(
            self.world,
            "<geom name=\"{name}\" type=\"{shape}\" size=\"{sizes}\" pos=\"{}\" euler=\"{}\" friction=\"{friction:.3}\" condim=\"{condim}\"{fluid}/>",
            numbers(&at),
            numbers(&turn)
        );
    }

    fn joint(&mut self, kind: &str) {
        let name = format!("j{}", self.joints.len());
        let (axis, anchor) = (self.vector(1.0), self.vector(0.03));
        let mut more = String::new();
        if self.rng.random_bool(0.4) {
            let (low, high) = (self.rng.random_range(-0.8..-0.05), self.rng.random_range(0.05..0.8));
            let (low, high) = if kind == "ball" { (0.0, high) } else { (low, high) };
            let scale = if kind == "slide" { 0.1 } else { 1.0 };
            let _ = write!(more, " limited=\"true\" range=\"{}\"", numbers(&[scale * low, scale * high]));
        }
        let [damping, stiffness, armature, dry] = [
            ("damping", 0.5, 0.01..0.5),
            ("stiffness", 0.3, 0.5..10.0),
            ("armature", 0.5, 0.001..0.05),
            ("frictionloss", 0.25, 0.01..0.3),
        ]
        .map(|(attribute, chance, range)| self.maybe(chance, attribute, range));
        let along = if kind == "ball" { String::new() } else { format!(" axis=\"{}\"", numbers(&axis)) };
        let _ = writeln!(
            self.world,
            "<joint name=\"{name}\" type=\"{kind}\" pos=\"{}\"{along}{more}{damping}{stiffness}{armature}{dry}/>",
            numbers(&anchor)
        );
        self.joints.push((name, kind != "ball"));
    }

    /// A body, and what hangs on it, up to so many levels.
    fn body(&mut self, at: [f64; 3], levels: usize, is_root: bool) {
        let name = format!("b{}", self.bodies);
        self.bodies += 1;
        let turn = self.vector(1.0);
        let carried = self.forces.as_mut().map_or_else(String::new, Forces::of_body);
        let (pos, euler) = (numbers(&at), numbers(&turn));
        let _ = writeln!(self.world, "<body name=\"{name}\" pos=\"{pos}\" euler=\"{euler}\"{carried}>");
        if is_root && self.rng.random_bool(0.7) {
            self.world.push_str("<freejoint/>\n");
        } else {
            let joints = [0, 1, 1, 1, 2][self.rng.random_range(usize::from(is_root)..5)];
            for _ in 0..joints {
                let kind =
                    ["hinge", "hinge", "slide", "ball"][self.rng.random_range(0..if joints > 1 { 3 } else { 4 })];
                self.joint(kind);
            }
        }
        let off = self.vector(0.03);
        self.geom(&format!("g{}", self.bodies - 1), off);
        let number = self.bodies - 1;
        let _ = writeln!(self.world, "<site name=\"s{number}\" pos=\"{}\"/>", numbers(&off));
        if self.forces.is_some() {
            // Beside its geom, and what tendons go round: nothing touches that.
            let (site, round) = (numbers(&[off[1], 0.1, off[0]]), numbers(&off));
            let kind = ["sphere", "cylinder"][number % 2];
            let _ = writeln!(
                self.world,
                "<site name=\"t{number}\" pos=\"{site}\"/><geom name=\"round{number}\" type=\"{kind}\" size=\"0.03 0.05\" pos=\"{round}\" contype=\"0\" conaffinity=\"0\" mass=\"0\"/>"
            );
        }
        if levels > 1 {
            for _ in 0..self.rng.random_range(1..3) {
                let mut at = self.vector(0.06);
                at[self.rng.random_range(0..3)] += 0.15;
                let levels = self.rng.random_range(1..levels);
                self.body(at, levels, false);
            }
        }
        self.world.push_str("</body>\n");
    }

    /// What stands beside the bodies: motors and servos, couplings, tendons.
    fn beside(&mut self) -> String {
        let mut out = String::new();
        let single: Vec<String> = self.joints.iter().filter(|own| own.1).map(|own| own.0.clone()).collect();
        out.push_str("<actuator>\n");
        for name in &single {
            let gear = self.rng.random_range(0.02..0.3);
            let limits = self.bounded(0.3, "force", 0.5..3.0);
            let _ = match self.rng.random_range(0..6) {
                0 => writeln!(
                    out,
                    "<motor joint=\"{name}\" gear=\"{gear:.3}\" ctrllimited=\"true\" ctrlrange=\"-1 1\"/>"
                ),
                1 => writeln!(out, "<position joint=\"{name}\" kp=\"{:.3}\"{limits}/>", 100.0 * gear),
                2 => writeln!(out, "<velocity joint=\"{name}\" kv=\"{gear:.3}\"{limits}/>"),
                _ => Ok(()),
            };
        }
        out.push_str("</actuator>\n<equality>\n");
        if single.len() > 1 && self.rng.random_bool(0.2) {
            let _ =
                writeln!(out, "<joint joint1=\"{}\" joint2=\"{}\" polycoef=\"0 0.7 0.2 0 0\"/>", single[0], single[1]);
        }
        if self.bodies > 1 && self.rng.random_bool(0.07) {
            let _ = writeln!(out, "<connect body1=\"b0\" body2=\"b{}\" anchor=\"0.02 0 0.03\"/>", self.bodies - 1);
        }
        out.push_str("</equality>\n<tendon>\n");
        if single.len() > 1 && self.rng.random_bool(0.2) {
            let range = self.bounded(0.7, "", 0.05..0.4);
            let stiffness = self.maybe(0.5, "stiffness", 0.5..5.0);
            let (a, b) = (&single[0], &single[single.len() - 1]);
            let _ = writeln!(
                out,
                "<fixed{range}{stiffness}><joint joint=\"{a}\" coef=\"1\"/><joint joint=\"{b}\" coef=\"-0.6\"/></fixed>"
            );
        }
        if self.bodies > 1 && self.rng.random_bool(0.05) {
            let stiffness = self.rng.random_range(1.0..20.0);
            let damping = self.maybe(0.5, "damping", 0.05..1.0);
            let _ = writeln!(
                out,
                "<spatial stiffness=\"{stiffness:.3}\"{damping}><site site=\"s0\"/><site site=\"s{}\"/></spatial>",
                self.bodies - 1
            );
        }
        out.push_str("</tendon>\n");
        out
    }
}
