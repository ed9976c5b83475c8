//! What pictures show of a batch: where the bodies of a world are, and its contacts.

use manyworlds::model::Vec3;
use manyworlds::{Batch, ContactReport, Model};
use manyworlds_render::{Arrow, Placed, Size};
use manyworlds_view::placed;
use serde::Serialize;

use crate::failure::Failure;

/// A world at one time.
pub(crate) struct Moment {
    pub(crate) placed: Placed,
    /// Of the last step.
    pub(crate) contacts: Vec<ContactReport>,
}

/// How a world of a batch is now.
pub(crate) fn moment(batch: &mut Batch, world: usize, model: &Model, contacts: bool) -> Result<Moment, Failure> {
    let contacts = if contacts { batch.inspect(world)?.contacts } else { Vec::new() };
    Ok(Moment { placed: placed(batch, world, model)?, contacts })
}

/// Memory that the pictures of a film may take, B.
const MOST_BYTES: u64 = 4 << 30;

/// Refuses a film that takes too much memory, by the option that makes it long.
pub(crate) fn fits(option: &str, value: &str, count: u64, size: Size) -> Result<(), Failure> {
    if count.saturating_mul(size.bytes() as u64) <= MOST_BYTES {
        return Ok(());
    }
    Err(Failure::Input(format!(
        "{option} {value}: a film of {count} pictures of this size takes too much memory; make it shorter or take a \
         smaller --size"
    )))
}

/// What the arrows of a picture stand for.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct ArrowScale {
    /// Impulse of an arrow of one metre, N s.
    pub(crate) impulse_per_metre: f64,
    /// Penetration of the red ones, m.
    pub(crate) red_penetration: f64,
    /// Radius of shafts, m.
    #[serde(skip)]
    radius: f64,
}

/// Length of the longest arrow, and radius of all shafts, as parts of the reach of what is seen.
const LONGEST: f64 = 0.6;
const SHAFT: f64 = 0.009;
/// Colours from no penetration to the deepest.
const COLOURS: [[u8; 3]; 3] = [[0x2f, 0x6f, 0xdb], [0xf2, 0xc0, 0x37], [0xd6, 0x27, 0x28]];

impl ArrowScale {
    /// One that suits all these moments, of a scene that reaches so far, m.
    pub(crate) fn of<'a>(moments: impl Iterator<Item = &'a Moment>, reach: f64) -> Self {
        let (mut impulse, mut depth): (f64, f64) = (0.0, 0.0);
        for contact in moments.flat_map(|moment| &moment.contacts) {
            impulse = impulse.max(Vec3::from(contact.impulse).norm());
            depth = depth.max(-contact.distance);
        }
        let round = |x: f64| if x > 0.0 { two_digits(x) } else { 1.0 };
        Self {
            impulse_per_metre: round(impulse / (LONGEST * reach)),
            // Below a nanometre surfaces touch, and no more.
            red_penetration: round(depth.max(1e-9)),
            radius: SHAFT * reach,
        }
    }

    /// Arrows on the bodies that move; between two of these, on the second.
    pub(crate) fn arrows(&self, model: &Model, moment: &Moment) -> Vec<Arrow> {
        let arrow = |contact: &ContactReport| {
            let impulse: Vec3 = (0..3).map(|axis| Vec3::from(contact.frame[axis]) * contact.impulse[axis]).sum();
            let still = contact.bodies[1] < model.bodies.len() && model.stands_still(contact.bodies[1]);
            let part = (-contact.distance / self.red_penetration).clamp(0.0, 1.0);
            Arrow {
                from: contact.point.into(),
                way: impulse * (if still { -1.0 } else { 1.0 } / self.impulse_per_metre),
                radius: self.radius,
                colour: colour(part),
            }
        };
        // Open contacts, within the speculative distance, do nothing.
        let acts = |contact: &&ContactReport| contact.impulse != [0.0; 3] || contact.distance <= 0.0;
        moment.contacts.iter().filter(acts).map(arrow).collect()
    }

    /// For people.
    pub(crate) fn text(&self) -> String {
        let Self { impulse_per_metre, red_penetration, .. } = self;
        format!(
            "0.1 m stands for {:.2e} N s; blue touches, red is {red_penetration:.1e} m deep",
            0.1 * impulse_per_metre
        )
    }
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
    use super::{COLOURS, colour, two_digits};

    #[test]
    fn scales_are_rounded_up_and_colours_run_from_end_to_end() {
        for (x, rounded) in [(0.0312, 0.032), (9.91, 10.0), (4.0, 4.0), (123.0, 130.0)] {
            assert!((two_digits(x) / rounded - 1.0).abs() < 1e-12, "{x}: {}", two_digits(x));
        }
        assert_eq!([0.0, 0.5, 1.0].map(colour), COLOURS);
        assert_eq!(colour(0.25), [0x91, 0x98, 0x89]);
    }
}
