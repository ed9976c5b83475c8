//! Workgroups that solve a problem together.

/// Invocations of a workgroup that owns an island or a lane.
pub const ISLAND_WIDTH: usize = 32;

/// Most rows of a problem that a device writes out, whatever the tree or island: its memory grows with the square (138 kB in
/// f32), its time with the cube.
pub const DEVICE_ROWS: usize = 128;
