//! What pictures show of worlds beside their shapes: contacts, centres of mass, axes of joints.

use std::fmt;
use std::str::FromStr;

use manyworlds::kinematics::joint_lines;
use manyworlds::model::{JointKind, Vec3};
use manyworlds::{Model, SolvedContact};
use manyworlds_render::{Arrow, Placed};
use nalgebra::Point3;
use serde::{Deserialize, Serialize};

/// What the colours of contacts say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ContactColour {
    /// How deep surfaces are in each other.
    #[default]
    Penetration,
    /// How far a contact's impulse is from what the law makes of it.
    Residual,
}

impl ContactColour {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Penetration, Self::Residual];

    /// As options call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Penetration => "penetration",
            Self::Residual => "residual",
        }
    }

    /// What comes after this where a key goes through all of them and none.
    #[must_use]
    pub fn after(shown: Option<Self>) -> Option<Self> {
        match shown {
            None => Some(Self::Penetration),
            Some(Self::Penetration) => Some(Self::Residual),
            Some(Self::Residual) => None,
        }
    }
}

impl fmt::Display for ContactColour {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for ContactColour {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|colour| colour.name() == name);
        found.ok_or_else(|| format!("expected penetration or residual, found \"{name}\""))
    }
}

/// What is shown beside shapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Marks {
    /// Contacts of the last step, as arrows along their impulses.
    pub contacts: Option<ContactColour>,
    /// Centres of mass: small balls those of bodies, large ones those of trees of several bodies.
    pub centres: bool,
    /// Axes of joints: of hinges, of slides, and the three of balls.
    pub axes: bool,
}

impl Marks {
    /// All of them for a world at one time, in a picture of so far a reach, m; contacts where there is a scale.
    #[must_use]
    pub fn arrows(&self, model: &Model, moment: &Moment, scale: Option<&Scale>, reach: f64) -> Vec<Arrow> {
        let mut all = Vec::new();
        if let (Some(_), Some(scale)) = (self.contacts, scale) {
            all.extend(scale.arrows(model, moment));
        }
        if self.centres {
            all.extend(centres(model, &moment.placed, reach));
        }
        if self.axes {
            all.extend(axes(model, &moment.placed, reach));
        }
        all
    }
}

/// A world at one time, as it is drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct Moment {
    /// Where everything is.
    pub placed: Placed,
    /// Of the last step, where that is shown.
    pub contacts: Vec<SolvedContact>,
}

/// What arrows and colours of contacts stand for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Scale {
    /// Impulse of an arrow of one metre, N s.
    pub impulse_per_metre: f64,
    /// From blue to red.
    #[serde(flatten)]
    pub ramp: Ramp,
    /// Radius of shafts, m.
    #[serde(skip)]
    radius: f64,
}

/// What blue and red stand for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Ramp {
    /// From nothing on.
    Penetration {
        /// m
        red_penetration: f64,
    },
    /// By powers of ten.
    Residual {
        /// The solver's tolerance, N s.
        blue_residual: f64,
        /// N s
        red_residual: f64,
    },
}

/// Length of the longest arrow, and radius of all shafts, as parts of the reach of what is seen.
const LONGEST: f64 = 0.6;
const SHAFT: f64 = 0.009;
/// Colours from no penetration to the deepest, from what is solved to what is not.
const COLOURS: [[u8; 3]; 3] = [[0x2f, 0x6f, 0xdb], [0xf2, 0xc0, 0x37], [0xd6, 0x27, 0x28]];
/// A contact is red from this many tolerances on, or more: what is nearly solved is not shown as a failure.
const UNSOLVED: f64 = 1e3;

/// Radius of balls at centres of bodies and of trees, and of axes, as parts of the reach of what is seen.
const BALLS: [f64; 2] = [0.012, 0.024];
const AXIS: f64 = 0.006;
/// Length of an axis.
const AXIS_LENGTH: f64 = 0.16;
/// Of centres of bodies and of trees, of hinges, of slides, and of the three axes of a ball.
const CENTRES: [[u8; 3]; 2] = [[0x22, 0x22, 0x22], [0xe3, 0x1a, 0xd6]];
const HINGE: [u8; 3] = [0x1f, 0x5f, 0xff];
const SLIDE: [u8; 3] = [0x12, 0x9d, 0x3c];
const BALL: [[u8; 3]; 3] = [[0xd6, 0x27, 0x28], [0x2c, 0xa0, 0x2c], [0x1f, 0x5f, 0xff]];

impl Scale {
    /// One that suits all these moments, of a scene that reaches so far, m, under a solver of this tolerance, N s.
    pub fn of<'a>(
        colour: ContactColour,
        tolerance: f64,
        moments: impl Iterator<Item = &'a Moment>,
        reach: f64,
    ) -> Self {
        let (mut impulse, mut depth, mut residual): (f64, f64, f64) = (0.0, 0.0, 0.0);
        for SolvedContact { contact, residual: own } in moments.flat_map(|moment| &moment.contacts) {
            impulse = impulse.max(Vec3::from(contact.impulse).norm());
            depth = depth.max(-contact.distance);
            residual = residual.max(*own);
        }
        // Where nothing pushes, no arrow is seen, whatever one would stand for.
        let round = |x: f64| if x > 0.0 { two_digits(x) } else { f64::MIN_POSITIVE };
        let ramp = match colour {
            // Below a nanometre surfaces touch, and no more.
            ContactColour::Penetration => Ramp::Penetration { red_penetration: round(depth.max(1e-9)) },
            ContactColour::Residual => {
                Ramp::Residual { blue_residual: tolerance, red_residual: round(residual.max(UNSOLVED * tolerance)) }
            }
        };
        Self { impulse_per_metre: round(impulse / (LONGEST * reach)), ramp, radius: SHAFT * reach }
    }

    /// One that suits what this and another do: arrows of a scene that is watched stay within it, and do not flicker.
    #[must_use]
    pub fn and(mut self, other: Option<&Self>) -> Self {
        if let Some(other) = other {
            self.impulse_per_metre = self.impulse_per_metre.max(other.impulse_per_metre);
            match (&mut self.ramp, other.ramp) {
                (Ramp::Penetration { red_penetration: red }, Ramp::Penetration { red_penetration: of })
                | (Ramp::Residual { red_residual: red, .. }, Ramp::Residual { red_residual: of, .. }) => {
                    *red = red.max(of)
                }
                _ => {}
            }
        }
        self
    }

    /// Arrows on the bodies that move; between two of these, on the second.
    fn arrows(&self, model: &Model, moment: &Moment) -> Vec<Arrow> {
        let arrow = |solved: &SolvedContact| {
            let contact = &solved.contact;
            let still = contact.bodies[1] < model.bodies.len() && model.stands_still(contact.bodies[1]);
            Arrow {
                from: contact.point.into(),
                way: Vec3::from(contact.impulse) * (if still { -1.0 } else { 1.0 } / self.impulse_per_metre),
                radius: self.radius,
                colour: self.ramp.colour(solved),
            }
        };
        // Open contacts, within the speculative distance, do nothing; one that should and does not is not solved.
        let shown = |solved: &&SolvedContact| {
            let SolvedContact { contact, residual } = solved;
            let wrong = matches!(self.ramp, Ramp::Residual { blue_residual, .. } if *residual > blue_residual);
            contact.impulse != [0.0; 3] || contact.distance <= 0.0 || wrong
        };
        moment.contacts.iter().filter(shown).map(arrow).collect()
    }

    /// For people.
    #[must_use]
    pub fn text(&self) -> String {
        format!("0.1 m stands for {:.2e} N s; {}", 0.1 * self.impulse_per_metre, self.ramp)
    }
}

impl Ramp {
    fn colour(&self, solved: &SolvedContact) -> [u8; 3] {
        let part = match *self {
            Self::Penetration { red_penetration } => -solved.contact.distance / red_penetration,
            Self::Residual { blue_residual, red_residual } => {
                (solved.residual / blue_residual).ln() / (red_residual / blue_residual).ln()
            }
        };
        // What is no number is as bad as can be.
        colour(if part.is_nan() { 1.0 } else { part.clamp(0.0, 1.0) })
    }
}

impl fmt::Display for Ramp {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Penetration { red_penetration } => write!(f, "blue touches, red is {red_penetration:.1e} m deep"),
            Self::Residual { blue_residual, red_residual } => {
                write!(f, "blue is solved to {blue_residual:.1e} N s, red is {red_residual:.1e} N s off")
            }
        }
    }
}

/// Balls at the centres of mass of bodies, and of trees that have several, in a scene that reaches so far, m.
fn centres(model: &Model, placed: &Placed, reach: f64) -> Vec<Arrow> {
    let mut out = Vec::new();
    let mut ball = |from: Vec3, kind: usize| {
        // The ball at an arrow's tail is somewhat larger than its shaft.
        let radius = BALLS[kind] * reach / Arrow::BALL;
        out.push(Arrow { from, way: Vec3::zeros(), radius, colour: CENTRES[kind] });
    };
    for tree in &model.trees {
        let (mut mass, mut moment, mut count) = (0.0, Vec3::zeros(), 0);
        for (body, pose) in model.bodies[tree.bodies.clone()].iter().zip(&placed.poses[tree.bodies.clone()]) {
            let own = body.inertial.mass;
            if own > 0.0 {
                let at = (pose * Point3::from(body.inertial.com)).coords;
                ball(at, 0);
                mass += own;
                moment += at * own;
                count += 1;
            }
        }
        if count > 1 {
            ball(moment / mass, 1);
        }
    }
    out
}

/// Axes of joints, in a scene that reaches so far, m.
fn axes(model: &Model, placed: &Placed, reach: f64) -> Vec<Arrow> {
    let mut out = Vec::new();
    // Half before the anchor, half behind it.
    let mut axis = |anchor: Vec3, axis: Vec3, colour: [u8; 3]| {
        let way = axis * (AXIS_LENGTH * reach);
        out.push(Arrow { from: anchor - way / 2.0, way, radius: AXIS * reach, colour });
    };
    for line in joint_lines(model, &placed.q, &placed.poses) {
        let joint = &model.joints[line.joint];
        match joint.kind {
            JointKind::Free => {}
            JointKind::Hinge => axis(line.anchor, line.axis, HINGE),
            JointKind::Slide => axis(line.anchor, line.axis, SLIDE),
            JointKind::Ball => {
                let turn = placed.poses[joint.body].rotation;
                let all = [Vec3::x(), Vec3::y(), Vec3::z()].into_iter().zip(BALL);
                all.for_each(|(along, colour)| axis(line.anchor, turn * along, colour));
            }
        }
    }
    out
}

/// Rounded up to two digits, so that what is printed is what is drawn.
fn two_digits(x: f64) -> f64 {
    let unit = 10_f64.powf(x.log10().floor() - 1.0);
    (x / unit).ceil() * unit
}

/// Between [`COLOURS`].
fn colour(part: f64) -> [u8; 3] {
    let at = part * (COLOURS.len() - 1) as f64;
    let below = (at as usize).min(COLOURS.len() - 2);
    let mix = at - below as f64;
    std::array::from_fn(|channel| {
        let [a, b] = [COLOURS[below][channel], COLOURS[below + 1][channel]].map(f64::from);
        (a + mix * (b - a)).round() as u8
    })
}

#[cfg(test)]
mod tests {
    use manyworlds::model::from_mjcf_str;
    use manyworlds::{ContactImpulse, ImportOptions};

    use super::*;
    use crate::placed_at;

    fn contact(impulse: f64, distance: f64, residual: f64) -> SolvedContact {
        let contact =
            ContactImpulse { world: 0, bodies: [0, 1], point: [0.0; 3], impulse: [0.0, 0.0, impulse], distance };
        SolvedContact { contact, residual }
    }

    fn moment(model: &Model, contacts: Vec<SolvedContact>) -> Moment {
        Moment { placed: placed_at(model, model.initial_q(), &[]), contacts }
    }

    /// Two links that turn about y, the second on a slide along its x as well, and a ball joint at the end.
    fn arm() -> Model {
        let text = r#"<mujoco><worldbody><geom type="plane" size="1 1 1"/>
          <body><joint type="hinge" axis="0 1 0"/><geom type="box" size=".1 .1 .1" pos=".5 0 0" mass="3"/>
            <body pos="1 0 0"><joint type="hinge" axis="0 1 0"/><joint type="slide" axis="1 0 0"/>
              <geom type="box" size=".1 .1 .1" pos=".5 0 0" mass="1"/>
              <body pos="1 0 0"><joint type="ball"/><geom type="sphere" size=".1" mass="0.5"/></body></body></body>
          </worldbody></mujoco>"#;
        let nothing = |path: &std::path::Path| Err(std::io::Error::other(path.display().to_string()));
        from_mjcf_str("arm.xml", text, &nothing, &ImportOptions::default()).expect("a model").model
    }

    #[test]
    fn colours_run_from_end_to_end() {
        for (x, rounded) in [(0.0312, 0.032), (9.91, 10.0), (4.0, 4.0), (123.0, 130.0)] {
            assert!((two_digits(x) / rounded - 1.0).abs() < 1e-12, "{x}: {}", two_digits(x));
        }
        assert_eq!([0.0, 0.5, 1.0].map(colour), COLOURS);
        assert_eq!(colour(0.25), [0x91, 0x98, 0x89]);
    }

    #[test]
    fn contacts_are_red_where_they_are_deep_or_where_they_are_not_solved() {
        let model = arm();
        let contacts =
            vec![contact(2.0, -1e-3, 1e-9), contact(1.0, 0.0, 1e-2), contact(0.0, 1e-3, 0.0), contact(0.0, 1e-3, 1.0)];
        let moment = moment(&model, contacts);
        let of = |colour| Scale::of(colour, 1e-6, std::iter::once(&moment), 1.0);
        let depth = of(ContactColour::Penetration);
        assert_eq!(depth.ramp, Ramp::Penetration { red_penetration: 1e-3 });
        let arrows = depth.arrows(&model, &moment);
        assert_eq!(arrows.iter().map(|arrow| arrow.colour).collect::<Vec<_>>(), [COLOURS[2], COLOURS[0]]);
        // The longest is that of the largest impulse.
        assert!((0.95 * LONGEST..=LONGEST).contains(&arrows[0].way.z), "{arrows:?}");
        assert!((arrows[0].way.z / arrows[1].way.z - 2.0).abs() < 1e-12, "{arrows:?}");
        let solved = of(ContactColour::Residual);
        assert_eq!(solved.ramp, Ramp::Residual { blue_residual: 1e-6, red_residual: 1.0 });
        // The last should push and does not; the one before it is open.
        let colours: Vec<_> = solved.arrows(&model, &moment).iter().map(|arrow| arrow.colour).collect();
        assert_eq!(colours, [COLOURS[0], colour(4.0 / 6.0), COLOURS[2]]);
        let harder = Scale { impulse_per_metre: 1e3, ..solved };
        assert_eq!(solved.and(Some(&harder)).impulse_per_metre, 1e3);
        assert_eq!(harder.and(Some(&solved)), harder);
        let nan = contact(1.0, 0.0, f64::NAN);
        assert_eq!(solved.ramp.colour(&nan), COLOURS[2]);
    }

    #[test]
    fn centres_and_axes_go_with_their_bodies() {
        let model = arm();
        // The first link hangs down, the second stands off from it, to -x.
        let quarter = std::f64::consts::FRAC_PI_2;
        let placed = placed_at(&model, vec![quarter, quarter, 0.25, 1.0, 0.0, 0.0, 0.0], &[]);
        let near = |a: Vec3, b: [f64; 3]| assert!((a - Vec3::from(b)).norm() < 1e-12, "{a} {b:?}");
        let balls = centres(&model, &placed, 1.0);
        let expected = [[0.0, 0.0, -0.5], [-0.75, 0.0, -1.0], [-1.25, 0.0, -1.0]];
        balls.iter().zip(expected).for_each(|(ball, at)| near(ball.from, at));
        near(balls[3].from, [-(0.75 + 0.625) / 4.5, 0.0, -(1.5 + 1.0 + 0.5) / 4.5]);
        assert_eq!(balls.len(), 4);
        let lines = axes(&model, &placed, 1.0);
        assert_eq!(
            lines.iter().map(|a| a.colour).collect::<Vec<_>>(),
            [HINGE, HINGE, SLIDE, BALL[0], BALL[1], BALL[2]]
        );
        let middle = |number: usize| lines[number].from + lines[number].way / 2.0;
        near(middle(0), [0.0; 3]);
        near(middle(1), [0.0, 0.0, -1.0]);
        near(middle(3), [-1.25, 0.0, -1.0]);
        near(lines[0].way / AXIS_LENGTH, [0.0, 1.0, 0.0]);
        // As the hinge before it turned it.
        near(lines[2].way / AXIS_LENGTH, [-1.0, 0.0, 0.0]);
        near(lines[3].way / AXIS_LENGTH, [-1.0, 0.0, 0.0]);
    }

    #[test]
    fn names_are_read_and_others_refused() {
        for colour in ContactColour::ALL {
            assert_eq!(colour.to_string().parse(), Ok(colour));
        }
        assert!("red".parse::<ContactColour>().unwrap_err().contains("\"red\""));
    }
}
