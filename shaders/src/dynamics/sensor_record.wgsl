// What sensors need: as sensors.rs reads it. The importing kernel imports dynamics/tree.
#import dynamics/sensors.rs
fn sensor_header() -> SensorHeader {
    let at = dims.sensor_at;
    return SensorHeader(topology[at], topology[at + 1u], topology[at + 2u], topology[at + 3u]);
}

fn sensor_record(i: u32) -> SensorRecord {
    let at = dims.sensor_at + SENSOR_HEADER_SIZE + i * SENSOR_RECORD_SIZE;
    return SensorRecord(
        topology[at], topology[at + 1u], topology[at + 2u], topology[at + 3u], topology[at + 4u], topology[at + 5u],
        topology[at + 6u], topology[at + 7u], topology[at + 8u],
    );
}
