//! Sensors of limits: the force that each exerts in a step, its impulse over the time step; MuJoCo's `jointlimitfrc` and
//! `tendonlimitfrc`.

use crate::args::Args;
use crate::contact::tree_layout::{row as part, row_stride};
pub use crate::dynamics::sensors::SensorDims as Dims;
use crate::dynamics::sensors::{Sensors, sensor};
use crate::dynamics::tree::{Params, moving, nth, nth_mut, param, tile_params};
use crate::real::Real;

/// `row` and `status` to `reading` of one tile of lanes; those of lanes that are flagged, frozen or held stay. `stride`: numbers
/// of a row.
pub fn bound<R: Real>(
    sensors: &Sensors,
    params: Params<R>,
    row: &[R],
    stride: usize,
    status: &[u32],
    reading: &mut [R],
) {
    let moves = moving::<R>(status);
    let per_second = R::lit(1.0) / params.at(param::TIMESTEP);
    for record in sensors.records.iter().filter(|record| record.kind == sensor::BOUND) {
        let (at, first) = (record.at as usize, record.index as usize * stride);
        let acts = R::lit(0.5).lt(row[first + part::ACTIVE]);
        let force = R::select(acts, row[first + part::IMPULSE].abs() * per_second, R::lit(0.0));
        reading[at] = R::select(moves, force, reading[at]);
    }
}

/// Buffers: topology, params, row, reading, status.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let Dims { tree: dims, sensor_at } = &args.dims::<Dims>();
    let tiles = args.tiles();
    let [topology, params, row, reading, status] = args.split();
    let sensors = Sensors::new(topology.index(), *sensor_at);
    let stride = row_stride(dims.n_v as usize, dims.row_width);
    for t in 0..tiles {
        bound(
            &sensors,
            tile_params(dims, params, t),
            nth(row.tile(), t, dims.n_row * stride as u32),
            stride,
            nth(status.index(), t, R::N as u32),
            nth_mut(reading.tile_mut(), t, sensors.header.n_reading),
        );
    }
}
