//! Contacts of one pair by itself, at other poses than those at which a contact of it was found.

use parry3d_f64::math::Rotation;

use super::broad::Broad;
use super::pair::Pair;
use super::place::bounding_radius;
use super::{Contact, Engine, Matrix, Memory, NonFinite, Overrides, Sink, Vector};

impl Engine {
    /// Contacts of the pair that a contact is of, in place of what `out` held: as near as any are looked for at rest, or as that
    /// contact and `slack` more, m.
    pub(crate) fn collide_again(
        &self,
        of: &Contact,
        slack: f64,
        poses: impl Fn(usize) -> [f64; 7],
        sizes: &[[f64; 3]],
        memory: &mut Memory,
        out: &mut Vec<Contact>,
    ) -> Result<(), NonFinite> {
        out.clear();
        let number = (of.feature >> 32) as u32;
        let Some(pair) = self.pair(number, of.geoms) else { return Ok(()) };
        self.begin(memory);
        memory.resized |= !sizes.is_empty();
        for geom in [pair.a, pair.b] {
            self.place_one(geom as usize, &poses, sizes, memory)?;
        }
        let Memory { placed, workspace, candidates, .. } = memory;
        workspace.points.rounding.relative = self.pose_rounding;
        let mut sink = Sink::new(out, self.pose_rounding);
        let reach = pair.reach.of(0.0).max(of.distance + slack);
        let first = sink.begin(number, &pair, &self.geoms, reach, &Overrides { sizes, ..Overrides::default() });
        self.narrow(&pair, &placed[0], None, workspace, candidates, &mut sink);
        sink.end(first, self.reduce);
        Ok(())
    }

    /// The pair of two geoms, by its number.
    fn pair(&self, number: u32, geoms: [u32; 2]) -> Option<Pair> {
        let pair = match &self.broad {
            Broad::List(list) => list.pairs().get(number as usize).copied(),
            Broad::Search(search) => search.pair(geoms[0] as usize, geoms[1] as usize),
        };
        pair.filter(|pair| pair.ascending() == (geoms[0], geoms[1]))
    }

    /// Puts a geom where its body is in the first world, with its own size where there are sizes.
    fn place_one(
        &self,
        index: usize,
        poses: &impl Fn(usize) -> [f64; 7],
        sizes: &[[f64; 3]],
        memory: &mut Memory,
    ) -> Result<(), NonFinite> {
        let (geom, placed) = (&self.geoms[index], &mut memory.placed[0][index]);
        if let Some(size) = sizes.get(index).filter(|_| geom.kind.has_size()) {
            (placed.size, placed.radius) = (*size, bounding_radius(geom.kind, size, 0.0));
        }
        let Some(body) = geom.body else { return Ok(()) };
        let [x, y, z, w, i, j, k] = poses(body as usize);
        if ![x, y, z, w, i, j, k].iter().all(|x| x.is_finite()) {
            return Err(NonFinite { body: body as usize });
        }
        let turn = Rotation::from_xyzw(i, j, k, w);
        let axes = Matrix::from_quat(if self.pose_rounding > f64::EPSILON { turn.normalize() } else { turn });
        placed.centre = Vector::new(x, y, z) + axes * geom.offset;
        placed.axes = if geom.aligned { axes } else { axes * geom.axes };
        Ok(())
    }
}
