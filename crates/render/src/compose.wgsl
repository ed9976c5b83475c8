// Places shapes of many worlds: the pose of a body, where a batch keeps it, times that of a shape in its body's frame.

// How the poses lie: as `Lanes` in device_poses.rs.
struct Dims {
    // The first lane's world among those of the buffer, how many worlds, and the first one's tile in the picture.
    first_world: u32,
    worlds: u32,
    first_tile: u32,
    // Lanes of a world, and of a tile of lanes.
    trees: u32,
    width: u32,
    // Distances from tile to tile of lanes, from lane to lane and from number to number.
    tiles: u32,
    lanes: u32,
    numbers: u32,
    offset: u32,
    // Shapes on bodies of these lanes, and all shapes of a world.
    items: u32,
    shapes: u32,
    padding: u32,
}

struct Item {
    // Its number among all shapes.
    shape: u32,
    // Which of a world's lanes has its body, and the first of the body's seven numbers there.
    tree: u32,
    first: u32,
    padding: u32,
}

// As `Placement` in tiles.rs: rows of a matrix, scale, colour, tile and what it is.
struct Placement {
    words: array<u32, 22>,
}

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> items: array<Item>;
// In the frames of their bodies.
@group(0) @binding(2) var<storage, read> shapes: array<Placement>;
@group(0) @binding(3) var<storage, read> poses: array<f32>;
// In the world's frame, tile by tile.
@group(0) @binding(4) var<storage, read_write> placements: array<Placement>;

fn turned(q: vec4<f32>, v: vec3<f32>) -> vec3<f32> {
    let t = 2.0 * cross(q.xyz, v);
    return v + q.w * t + cross(q.xyz, t);
}

@compute @workgroup_size(64)
fn compose(@builtin(global_invocation_id) id: vec3<u32>) {
    let count = dims.worlds * dims.items;
    let number = id.y * (65535u * 64u) + id.x;
    if number >= count {
        return;
    }
    let item = items[number % dims.items];
    let world = number / dims.items;
    let lane = (dims.first_world + world) * dims.trees + item.tree;
    let at = dims.offset + lane / dims.width * dims.tiles + lane % dims.width * dims.lanes + item.first * dims.numbers;
    let n = dims.numbers;
    let origin = vec3(poses[at], poses[at + n], poses[at + 2u * n]);
    let whole = vec4(poses[at + 4u * n], poses[at + 5u * n], poses[at + 6u * n], poses[at + 3u * n]);
    // One of no length is no rotation.
    let size = length(whole);
    let turn = select(whole / size, vec4(0.0, 0.0, 0.0, 1.0), size < 1e-14);

    let tile = dims.first_tile + world;
    let to = tile * dims.shapes + item.shape;
    for (var column = 0u; column < 4u; column++) {
        var v: vec3<f32>;
        for (var row = 0u; row < 3u; row++) {
            v[row] = bitcast<f32>(shapes[item.shape].words[4u * row + column]);
        }
        v = turned(turn, v);
        if column == 3u {
            v += origin;
        }
        for (var row = 0u; row < 3u; row++) {
            placements[to].words[4u * row + column] = bitcast<u32>(v[row]);
        }
    }
    for (var word = 12u; word < 22u; word++) {
        placements[to].words[word] = shapes[item.shape].words[word];
    }
    placements[to].words[20] = tile;
}
