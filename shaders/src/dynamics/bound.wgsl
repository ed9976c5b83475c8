// Sensors of limits: the force that each exerts in a step. See bound.rs.
#import math
#import dynamics/tree
#import dynamics/sensor_record
#import contact/tree_layout

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(3) var<storage, read> row: array<real>;
@group(0) @binding(4) var<storage, read_write> reading: array<real>;
@group(0) @binding(5) var<storage, read> status: array<u32>;

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let lane = lane_index(group, local);
    if lane >= dims.tree.lanes || (status[lane] & (STATUS_STOPPED | STATUS_HELD)) != 0u {
        return;
    }
    let header = sensor_header();
    let stride = row_stride(dims.tree.n_v, dims.tree.row_width);
    let rows = tile_base(lane, dims.tree.n_row * stride);
    let readings = tile_base(lane, header.n_reading);
    let per_second = real(1.0) / param_at(param_base(lane), PARAM_TIMESTEP);
    for (var i = 0u; i < header.n_sensor; i++) {
        let record = sensor_record(i);
        if record.kind != SENSOR_BOUND {
            continue;
        }
        let first = rows + record.index * stride * TILE;
        let acts = row[first + ROW_ACTIVE * TILE] > real(0.5);
        let force = abs(row[first + ROW_IMPULSE * TILE]) * per_second;
        reading[readings + record.at * TILE] = select(real(0.0), force, acts);
    }
}
