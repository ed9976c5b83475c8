//! Forces for a random robot: what pulls along tendons, at sites and by cranks, muscles, activations, carried weight, a fluid.

use std::fmt::Write;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{Draw, numbers};

/// Draws for a robot; its own draws stay as they are without these.
pub(super) struct Forces {
    rng: ChaCha8Rng,
}

impl Forces {
    pub(super) fn new(seed: u64) -> Self {
        Self { rng: ChaCha8Rng::seed_from_u64(seed.rotate_left(32)) }
    }

    fn number(&mut self, range: std::ops::Range<f64>) -> f64 {
        self.rng.random_range(range)
    }

    fn some_of(&mut self, count: usize) -> usize {
        self.rng.random_range(0..count)
    }

    /// Attributes of a body: how much of its weight is carried.
    pub(super) fn of_body(&mut self) -> String {
        let fraction = self.number(0.1..1.2);
        if self.rng.random_bool(0.2) { format!(" gravcomp=\"{fraction:.3}\"") } else { String::new() }
    }

    /// Attributes of a geom: whether a fluid acts on its ellipsoid.
    pub(super) fn of_geom(&mut self) -> &'static str {
        if self.rng.random_bool(0.3) { " fluidshape=\"ellipsoid\"" } else { "" }
    }

    /// A fluid, one time in three.
    pub(super) fn fluid(&mut self) -> String {
        let (density, viscosity) = (self.number(1.0..1000.0), self.number(0.0..1.0));
        let wind: [f64; 3] = std::array::from_fn(|_| self.number(-1.0..1.0));
        if self.rng.random_bool(0.33) {
            let wind = numbers(&wind);
            format!("<option density=\"{density:.3}\" viscosity=\"{viscosity:.3}\" wind=\"{wind}\"/>\n")
        } else {
            String::new()
        }
    }

    /// Tendons and what pulls along them and elsewhere.
    pub(super) fn beside(&mut self, draw: &Draw) -> String {
        let mut out = "<tendon>\n".to_string();
        let tendons = self.tendons(draw, &mut out);
        out.push_str("</tendon>\n<actuator>\n");
        for tendon in 0..tendons {
            if self.rng.random_bool(0.7) {
                self.actuator(&format!("tendon=\"t{tendon}\""), 1, true, &mut out);
            }
        }
        for (joint, is_single) in &draw.joints {
            if self.rng.random_bool(0.3) {
                let what = if self.rng.random_bool(0.7) { "joint" } else { "jointinparent" };
                self.actuator(&format!("{what}=\"{joint}\""), if *is_single { 1 } else { 3 }, *is_single, &mut out);
            }
        }
        let last = draw.bodies - 1;
        if self.rng.random_bool(0.4) {
            let site = self.some_of(draw.bodies);
            self.actuator(&format!("site=\"s{site}\""), 6, false, &mut out);
        }
        if last > 0 && self.rng.random_bool(0.3) {
            self.actuator(&format!("site=\"s{last}\" refsite=\"s0\""), 6, false, &mut out);
        }
        if last > 0 && self.rng.random_bool(0.3) {
            let rod = self.number(0.2..0.6);
            let crank = format!("cranksite=\"s0\" slidersite=\"s{last}\" cranklength=\"{rod:.3}\"");
            self.actuator(&crank, 1, true, &mut out);
        }
        out.push_str("</actuator>\n");
        out
    }

    /// How many there are.
    fn tendons(&mut self, draw: &Draw, out: &mut String) -> usize {
        let mut count = 0;
        let last = draw.bodies - 1;
        for _ in 0..3 {
            if last == 0 || self.rng.random_bool(0.4) {
                continue;
            }
            let (low, high) = (self.number(0.02..0.1), self.number(0.1..0.3));
            let mut more = String::new();
            if self.rng.random_bool(0.5) {
                let _ = write!(more, " stiffness=\"{:.3}\"", self.number(1.0..20.0));
                if self.rng.random_bool(0.5) {
                    let _ = write!(more, " springlength=\"{low:.3} {high:.3}\"");
                }
            }
            if self.rng.random_bool(0.5) {
                let _ = write!(more, " damping=\"{:.3}\"", self.number(0.05..1.0));
            }
            let [first, second] = [0, 1 + self.some_of(last)];
            let between = match self.some_of(3) {
                0 => {
                    let of = self.some_of(draw.bodies);
                    format!("<geom geom=\"round{of}\"/>")
                }
                1 => {
                    let (of, divisor) = (self.some_of(draw.bodies), self.number(1.0..3.0));
                    format!("<site site=\"t{of}\"/><pulley divisor=\"{divisor:.2}\"/><site site=\"t{of}\"/>")
                }
                _ => String::new(),
            };
            let _ = writeln!(
                out,
                "<spatial name=\"t{count}\"{more}><site site=\"t{first}\"/>{between}<site site=\"s{second}\"/></spatial>"
            );
            count += 1;
        }
        count
    }

    /// One that acts on something, with so many gears. `has_length`: so that its force may depend on that.
    fn actuator(&mut self, on: &str, gears: usize, has_length: bool, out: &mut String) {
        let gear: Vec<f64> = (0..gears).map(|_| self.number(-1.0..1.0)).collect();
        let gear = numbers(&gear);
        let strength = self.number(0.1..2.0);
        let limits = if self.rng.random_bool(0.2) { " forcelimited=\"true\" forcerange=\"-1 0.7\"" } else { "" };
        let early = if self.rng.random_bool(0.5) { " actearly=\"true\"" } else { "" };
        let dynamics = match self.some_of(5) {
            0 => " dyntype=\"integrator\" actlimited=\"true\" actrange=\"-1 1\"".to_string(),
            1 => format!(" dyntype=\"filter\" dynprm=\"{:.3}\"{early}", self.number(0.02..0.2)),
            2 => format!(" dyntype=\"filterexact\" dynprm=\"{:.3}\"{early}", self.number(0.002..0.2)),
            _ => String::new(),
        };
        let _ = if has_length && self.rng.random_bool(0.3) {
            writeln!(
                out,
                "<muscle {on} ctrllimited=\"true\" ctrlrange=\"0 1\" lengthrange=\"0.05 0.5\" force=\"{:.3}\"/>",
                10.0 * strength
            )
        } else if has_length && self.rng.random_bool(0.6) {
            let [gain, bias] = [(); 2].map(|()| [(); 3].map(|()| self.number(-0.5..0.5)));
            let bias = [bias[0], -5.0 * bias[1].abs(), -bias[2].abs()];
            let is_affine = self.rng.random_bool(0.5);
            let kind = if is_affine { " gaintype=\"affine\"" } else { "" };
            writeln!(
                out,
                "<general {on} gear=\"{gear}\"{kind} gainprm=\"{}\" biastype=\"affine\" biasprm=\"{}\"{limits}{dynamics}/>",
                numbers(&gain),
                numbers(&bias)
            )
        } else {
            writeln!(out, "<general {on} gear=\"{gear}\" gainprm=\"{strength:.3}\"{limits}{dynamics}/>")
        };
    }
}
