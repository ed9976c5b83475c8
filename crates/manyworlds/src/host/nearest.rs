//! Which geoms are nearest to each other, of those that sensors look at: collision of their pairs alone, whatever may touch.

use manyworlds_collide::{CollideError, CollisionModel, CollisionSettings, Contact, Scratch};
use manyworlds_model::{ExplicitPair, Measures, Model, OfNearest, Pose, Vec3};

/// The pairs that sensors look at.
#[derive(Debug)]
pub(crate) struct Nearest {
    collision: CollisionModel,
}

impl Nearest {
    /// `None` where there are no such sensors.
    pub(crate) fn new(model: &Model) -> Result<Option<Self>, CollideError> {
        let mut pairs: Vec<ExplicitPair> = Vec::new();
        for sensor in &model.sensors {
            let Measures::Nearest(_, [first, second]) = &sensor.measures else { continue };
            for geoms in first.iter().flat_map(|&a| second.iter().map(move |&b| [a.min(b), a.max(b)])) {
                match pairs.iter_mut().find(|pair| pair.geoms == geoms) {
                    Some(pair) => pair.margin = pair.margin.max(sensor.cutoff),
                    None => pairs.push(alone(geoms, sensor.cutoff)),
                }
            }
        }
        if pairs.is_empty() {
            return Ok(None);
        }
        let mut model = model.clone();
        model.geoms.iter_mut().for_each(|geom| (geom.contact.contype, geom.contact.conaffinity) = (0, 0));
        model.pairs = pairs;
        model.actuators.clear();
        model.soft.clear();
        let settings = CollisionSettings { speculative_distance: 0.0, ..CollisionSettings::default() };
        Ok(Some(Self { collision: CollisionModel::with_settings(&model, &settings)? }))
    }

    /// The closest points of all pairs that are nearer than a sensor's cutoff. `pose`: of a body.
    pub(crate) fn find(&self, pose: impl Fn(usize) -> Pose, scratch: &mut Scratch, out: &mut Vec<Contact>) {
        let numbers = |body: usize| {
            let pose = pose(body);
            let (place, turn) = (pose.translation.vector, pose.rotation);
            [place.x, place.y, place.z, turn.w, turn.i, turn.j, turn.k]
        };
        // What is not finite has no neighbours.
        let _ = self.collision.collide(numbers, scratch, out);
    }
}

/// A pair that is looked at and does nothing.
fn alone(geoms: [usize; 2], margin: f64) -> ExplicitPair {
    ExplicitPair { geoms, friction: 0.0, restitution: 0.0, margin, gap: 0.0, frictionless: true }
}

/// What a sensor shows of the closest points that were found.
pub(crate) fn reading(of: OfNearest, [first, second]: &[Vec<usize>; 2], cutoff: f64, found: &[Contact]) -> Vec<f64> {
    let has = |list: &[usize], geom: u32| list.contains(&(geom as usize));
    let side = |contact: &&Contact| {
        let [a, b] = contact.geoms;
        (has(first, a) && has(second, b)) || (has(first, b) && has(second, a))
    };
    let nearest = found.iter().filter(side).min_by(|a, b| a.distance.total_cmp(&b.distance));
    let Some(contact) = nearest.filter(|contact| contact.distance < cutoff) else {
        return match of {
            OfNearest::Distance => vec![cutoff],
            OfNearest::Normal => vec![0.0; 3],
            OfNearest::Segment => vec![0.0; 6],
        };
    };
    let flipped = !has(first, contact.geoms[0]) || !has(second, contact.geoms[1]);
    let [point, normal] = [contact.point, contact.normal].map(Vec3::from);
    let half = normal * (0.5 * if flipped { -contact.distance } else { contact.distance });
    match of {
        OfNearest::Distance => vec![contact.distance],
        // From surface to surface: against the way out where the geoms overlap.
        OfNearest::Normal => half.try_normalize(0.0).unwrap_or_default().as_slice().to_vec(),
        OfNearest::Segment => [point - half, point + half].iter().flat_map(|end| end.iter().copied()).collect(),
    }
}
