//! How what the last step of a world balanced changes with its parameters.

use manyworlds_collide::Side;
use manyworlds_collide::derivatives::ContactChange;
use manyworlds_gradients::BodyChange;
use manyworlds_shaders::Scalar;
use manyworlds_shaders::dynamics::tree::param;

use super::geometry::Geometry;
use super::numbers::{Poses, StepNumbers};
use super::soft::corners_of;
use super::step::{OwnTree, WorldStep, carrier_of};
use crate::Error;
use crate::group::shared::Shared;
use crate::group::soft::step::{DIFFERENCE, SoftStep, slope};

/// Contacts of a step, each with its change.
pub(crate) type ContactChanges = Vec<(usize, ContactChange)>;

impl<T: Scalar> StepNumbers<'_, T> {
    /// How the balances of a soft body, and of the tree that carries it, change with an entry of its parameters.
    pub(in crate::group) fn by_soft_parameter(
        &self,
        shared: &Shared<T>,
        world: usize,
        index: usize,
        entry: usize,
    ) -> Result<BodyChange, Error> {
        let (step, of_body, of_tree) = self.soft_between(shared, world, index)?;
        let number = entry.saturating_sub(param::HEADER);
        let [change, carrier] = step.by_parameter(&shared.soft[index].system, number, &of_body, &of_tree);
        Ok(BodyChange { body: index, change, carrier })
    }

    /// The same of all soft bodies with the time step.
    pub(in crate::group) fn by_timestep(&self, shared: &Shared<T>, world: usize) -> Result<Vec<BodyChange>, Error> {
        let one = |index: usize| {
            let (step, of_body, of_tree) = self.soft_between(shared, world, index)?;
            let own = (&*shared.soft[index].system, &shared.host.soft[index]);
            let [change, carrier] = step.by_timestep(own, &of_body, &of_tree);
            Ok(BodyChange { body: index, change, carrier })
        };
        (0..shared.soft.len()).map(one).collect()
    }

    /// The same of the soft bodies that a tree carries with an entry of its parameters, where that moves what carries them.
    /// `scale`: size of the number.
    pub(in crate::group) fn by_carrier(
        &self,
        shared: &Shared<T>,
        world: usize,
        tree: usize,
        (entry, scale): (usize, f64),
    ) -> Result<Vec<BodyChange>, Error> {
        let carried: Vec<usize> =
            (0..shared.soft.len()).filter(|&index| carrier_of(shared, index) == Some(tree)).collect();
        if carried.is_empty() {
            return Ok(Vec::new());
        }
        let own = self.tree(shared, world, tree, true)?;
        let by = DIFFERENCE * scale;
        let ends = [by, -by].map(|by| own.moved(shared, entry, by));
        if ends.iter().all(|end| end.frames == own.frames) {
            return Ok(Vec::new());
        }
        let of_tree = self.after(shared, own.set, own.lane);
        let one = |index: usize| {
            let soft = &shared.soft[index];
            let of_body = self.after(shared, shared.host.lanes.trees[soft.tree].set, world);
            let left = |end: &OwnTree| {
                let step = self.soft_step(shared, world, index, Some(&end.carrier(shared)))?;
                Ok::<_, Error>(step.left(&soft.system, &of_body, &of_tree))
            };
            let [change, carrier] = slope(&[left(&ends[0])?, left(&ends[1])?], by);
            Ok(BodyChange { body: index, change, carrier })
        };
        carried.into_iter().map(one).collect()
    }

    /// The velocity after the step of a lane.
    fn after(&self, shared: &Shared<T>, set: usize, lane: usize) -> Vec<f64> {
        let dims = shared.sets[set].layout.dims;
        self.numbers(&self.sets[set].states, lane, dims.n_state()).some(dims.v_at(), dims.n_v as usize).collect()
    }

    /// What a soft body was before the step, and the velocities after it: its own, and that of the tree that carries it.
    fn soft_between(
        &self,
        shared: &Shared<T>,
        world: usize,
        index: usize,
    ) -> Result<(SoftStep, Vec<f64>, Vec<f64>), Error> {
        let carrier = carrier_of(shared, index).map(|tree| self.tree(shared, world, tree, true)).transpose()?;
        let of_tree = carrier.as_ref().map_or_else(Vec::new, |tree| self.after(shared, tree.set, tree.lane));
        let carrier = carrier.as_ref().map(|tree| tree.carrier(shared));
        let step = self.soft_step(shared, world, index, carrier.as_ref())?;
        let set = shared.host.lanes.trees[shared.soft[index].tree].set;
        Ok((step, self.after(shared, set, world), of_tree))
    }

    /// How the contacts of a geom that carry something move with each of its sizes, by contact: those of rigid bodies, then those of
    /// soft ones; what stands against it.
    pub(in crate::group) fn by_size(
        &self,
        shared: &Shared<T>,
        geometry: &Geometry,
        world: usize,
        geom: usize,
        step: &WorldStep,
    ) -> Result<Vec<ContactChanges>, String> {
        let own = &self.chunk.host.worlds[world];
        let poses = Poses { trees: &step.trees, mocaps: &self.chunk.mocaps, world };
        let sizes = self.chunk.sizes(world);
        let mut out = vec![Vec::new(); crate::geoms::size_count(&shared.model.geoms[geom].shape)];
        let mut exact_contacts = geometry.exact(|body| poses.of(shared, body), &sizes);
        for (index, (from, input)) in own.contacts.iter().zip(&step.contacts).enumerate() {
            let Some(side) = input.geoms.iter().position(|&own| own == geom) else { continue };
            if input.impulse == [0.0; 3] {
                continue;
            }
            let found =
                geometry.features.by_sizes(&exact_contacts.get(from)?, side, |body| poses.of(shared, body), &sizes)?;
            out.iter_mut().zip(found).for_each(|(out, change)| out.push((index, change)));
        }
        let is_its = |side: &Side| matches!(side, Side::Rigid { geom: of, .. } if *of as usize == geom);
        let touches = own.soft.iter().zip(&own.soft_impulses).enumerate();
        let mut touches =
            touches.filter(|(_, (contact, impulse))| **impulse != [0.0; 3] && is_its(&contact.sides[0])).peekable();
        if touches.peek().is_none() {
            return Ok(out);
        }
        let skins = self.skins(shared, &poses).map_err(|error| error.to_string())?;
        for (index, (contact, _)) in touches {
            let corners = |side: &Side| corners_of(shared, &skins, side);
            let found = geometry.features.soft_by_sizes(contact, corners, |body| poses.of(shared, body), &sizes)?;
            out.iter_mut().zip(found).for_each(|(out, change)| out.push((own.contacts.len() + index, change)));
        }
        Ok(out)
    }
}
