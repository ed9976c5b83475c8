//! Parameters of single trees and geoms of a chunk.

use manyworlds_shaders::Scalar;
use manyworlds_shaders::index::{tile_at, tile_len};

use super::chunk::Chunk;
use crate::geoms::GeomOverrides;
use crate::{Error, GeomParameter};

impl<T: Scalar> Chunk<T> {
    /// Uploads parameters: once where all trees share them, else a copy a lane.
    pub(super) fn write_params(&mut self, index: usize) -> Result<(), Error> {
        let set = &self.sets[index];
        let all = &self.shared.sets[index].params;
        let lanes = if set.step.dims.param_lanes == 0 { 1 } else { set.step.dims.lanes as usize };
        self.host.params[index].fill(lanes, |lane, at| T::from_f64(all[lane % set.k][at]));
        self.params_changed(index);
        let (set, b) = (&self.sets[index], self.sets[index].step.buffers);
        let params = &self.shared.sets[index].params;
        if set.step.dims.param_lanes == 0 {
            let values: Vec<T> = params[0].iter().map(|&x| T::from_f64(x)).collect();
            self.store.resize(b.params, values.len())?;
            self.store.write(b.params, 0, &values)?;
            return Ok(());
        }
        let n = set.step.dims.n_param as usize;
        let lanes = set.step.dims.lanes as usize;
        let width = self.store.tile();
        let mut values = vec![T::default(); tile_len(width, lanes, n)];
        // Lanes of padding repeat the last tree's parameters, so that they compute nothing extraordinary.
        for lane in 0..lanes.next_multiple_of(width) {
            let tree = &params[lane.min(lanes - 1) % set.k];
            for (e, &x) in tree.iter().enumerate() {
                values[tile_at(width, lane, n, e)] = T::from_f64(x);
            }
        }
        self.store.resize(b.lane_params, values.len())?;
        self.store.write(b.lane_params, 0, &values)?;
        Ok(())
    }

    /// Changes one parameter of one lane; the set goes over to parameters by lane with the first.
    pub(crate) fn set_param(&mut self, set: usize, lane: usize, at: usize, value: f64) -> Result<(), Error> {
        self.finish()?;
        self.forget_step(lane / self.sets[set].k);
        self.use_lane_params(set)?;
        let step = &self.sets[set].step;
        let index = tile_at(self.store.tile(), lane, step.dims.n_param as usize, at);
        self.store.write(step.buffers.lane_params, index, &[T::from_f64(value)])?;
        self.host.params[set].set(lane, at, T::from_f64(value));
        self.params_changed(set);
        self.stale = true;
        Ok(())
    }

    /// Changes one parameter of one geom of one world; every world has geoms of its own from then on.
    pub(crate) fn set_geom(
        &mut self,
        world: usize,
        geom: usize,
        parameter: GeomParameter,
        values: &[f64],
    ) -> Result<(), Error> {
        self.finish()?;
        self.forget_step(world);
        self.own_geoms().set(world, geom, parameter, values);
        Ok(())
    }

    /// The geoms of every world, as the model's if they were shared so far.
    pub(super) fn own_geoms(&mut self) -> &mut GeomOverrides {
        self.geoms.get_or_insert_with(|| GeomOverrides::new(&self.shared.model, self.n_world))
    }

    /// Gives every lane of a set parameters of its own.
    pub(crate) fn use_lane_params(&mut self, set: usize) -> Result<(), Error> {
        let step = &mut self.sets[set].step;
        if step.dims.param_lanes == 1 {
            return Ok(());
        }
        step.dims.param_lanes = 1;
        self.write_params(set)
    }

    /// Lets every lane of a set have the model's parameters again.
    pub(super) fn share_params(&mut self, index: usize) -> Result<(), Error> {
        if !self.shared.sets[index].uniform() {
            return Err(Error::Checkpoint("it lacks the parameters of single trees".into()));
        }
        let step = &mut self.sets[index].step;
        if step.dims.param_lanes == 0 {
            return Ok(());
        }
        step.dims.param_lanes = 0;
        self.write_params(index)
    }
}
