//! Textures as layers of one picture, and how they lie on geoms: as MuJoCo lays them.

mod pattern;

use std::collections::HashMap;

use bytemuck::{Pod, Zeroable};
use manyworlds_model::visual::{Image, Material, Pixels, TextureKind};
use manyworlds_model::{Model, Shape, Vec3};

use pattern::Tile;

/// Longest side of a layer, pixels.
const LARGEST: u32 = 1024;
/// Pixels of all layers; with more of them each is smaller.
const MOST_PIXELS: u32 = 48 << 20;
/// Layers that every device has: textures beyond these are seen by their mean colour.
const MOST_LAYERS: usize = 256;

/// How an instance answers light, and how a texture lies on it.
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Paint {
    /// Factors of what is left of a place on the geom, in its frame, by axis, and one of the kinds below.
    pub(crate) factors: [f32; 4],
    /// Shift of a place on a plane, first layer, and from it to that of the next side of a cube.
    pub(crate) layer: [f32; 4],
    /// Strength of highlights, their exponent, what it sends out itself, and part of its surroundings that it mirrors.
    pub(crate) shine: [f32; 4],
}

/// No texture; one along x and y; the sides of a cube; one that lies where corners say.
const BARE: f32 = 0.0;
const PLANAR: f32 = 1.0;
const CUBE: f32 = 2.0;
const OWN: f32 = 3.0;

/// Of highlights of what has no material: their strength and exponent.
const SHINE: [f32; 2] = [0.18, 40.0];
/// Strength and exponent of highlights for a material's specular and shininess of 1: those of a material that says nothing are
/// the ones above.
const FULL: [f32; 2] = [0.36, 80.0];

impl Default for Paint {
    fn default() -> Self {
        Self { factors: [0.0, 0.0, 0.0, BARE], layer: [0.0; 4], shine: [SHINE[0], SHINE[1], 0.0, 0.0] }
    }
}

impl Paint {
    /// On a geom that is moved in its plane, without what lies on it: by m along x and y.
    pub(crate) fn shifted(mut self, [x, y]: [f64; 2]) -> Self {
        let shift =
            |by: f64, factor: f32, before: f32| (by * f64::from(factor) + f64::from(before)).rem_euclid(1.0) as f32;
        self.layer[0] = shift(x, self.factors[0], self.layer[0]);
        self.layer[1] = shift(y, self.factors[1], self.layer[1]);
        self
    }
}

/// Textures of a model, squares of one size.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Layers {
    /// Pixels along an edge.
    pub side: u32,
    /// Red, green, blue and 255 of each pixel, row by row from the top: `[layers][side][side][4]`.
    pub pixels: Vec<u8>,
    /// By texture of the model: its first layer, and from there to that of the next side of a cube.
    places: HashMap<usize, [u32; 2]>,
    /// Of the sky's cube.
    pub(crate) sky: Option<[u32; 2]>,
}

impl Layers {
    /// Textures that lie on these geoms, and the sky's if it shows.
    pub(crate) fn new(model: &Model, drawn: &[usize]) -> Self {
        let visual = &model.visual;
        let material = |geom: &usize| visual.geoms.get(*geom)?.material;
        let mut used: Vec<usize> =
            drawn.iter().filter_map(material).filter_map(|number| visual.materials[number].texture).collect();
        let sky = visual.textures.iter().position(|texture| texture.kind == TextureKind::Skybox);
        used.extend(sky);
        used.sort_unstable();
        used.dedup();
        let mut layers: Vec<Pixels> = Vec::new();
        let mut places = HashMap::new();
        for number in used {
            let texture = &visual.textures[number];
            let (own, stride) = match &texture.image {
                Image::Pattern { pattern, colours, mark, size } => {
                    let tile = Tile { pattern: *pattern, colours: *colours, mark: *mark, size: *size };
                    if texture.kind == TextureKind::Planar {
                        (vec![tile.planar()], 0)
                    } else {
                        (tile.cube().to_vec(), 1)
                    }
                }
                Image::Pixels(pixels) => (vec![pixels.clone()], 0),
                Image::Sides(sides) => (sides.to_vec(), 1),
            };
            if layers.len() + own.len() <= MOST_LAYERS {
                places.insert(number, [layers.len() as u32, stride]);
                layers.extend(own);
            }
        }
        let longest = layers.iter().map(|pixels| pixels.width.max(pixels.height)).max().unwrap_or(0) as u32;
        let mut side = longest.clamp(1, LARGEST).next_power_of_two();
        while side * side * layers.len() as u32 > MOST_PIXELS {
            side /= 2;
        }
        let sky = sky.and_then(|sky| places.get(&sky).copied());
        let pixels = layers.iter().flat_map(|layer| resampled(layer, side as usize)).collect();
        Self { side: if layers.is_empty() { 0 } else { side }, pixels, places, sky }
    }

    /// A white pixel: what a scene without textures binds.
    pub(crate) fn plain() -> Self {
        Self { side: 1, pixels: vec![255; 4], ..Self::default() }
    }

    /// Their number.
    #[must_use]
    pub fn count(&self) -> u32 {
        (self.pixels.len() / (4 * self.side as usize * self.side as usize).max(1)) as u32
    }

    /// How a geom is painted, of a shape whose mesh has the texture's places at its corners or not, in a box of these half
    /// edges, m.
    pub(crate) fn paint(&self, model: &Model, geom: usize, has_places: bool, half: Vec3) -> Paint {
        let visual = &model.visual;
        let Some(number) = visual.geoms.get(geom).and_then(|look| look.material) else { return Paint::default() };
        let material = &visual.materials[number];
        let [strength, exponent] = [FULL[0] * material.specular, (FULL[1] * material.shininess).max(1.0)];
        let mut paint =
            Paint { shine: [strength, exponent, material.emission, material.reflectance], ..Paint::default() };
        let placed = material.texture.and_then(|number| Some((number, self.places.get(&number)?)));
        let Some((texture, &[first, stride])) = placed else { return paint };
        paint.layer = [0.0, 0.0, first as f32, stride as f32];
        let shape = &model.geoms[geom].shape;
        let on_plane = visual.textures[texture].kind == TextureKind::Planar;
        if has_places || on_plane && has_corners(shape) {
            let [x, y] = repetitions(material, [half.x, half.y]);
            paint.factors = [x, y, 0.0, OWN];
        } else if on_plane {
            let [x, y] = planar(material, shape, half, visual.geoms[geom].extent);
            paint.factors = [x[0], y[0], 0.0, PLANAR];
            [paint.layer[0], paint.layer[1]] = [x[1], y[1]];
        } else {
            let [x, y, z] = cube(material, &model.geoms[geom].shape, half);
            paint.factors = [x, y, z, CUBE];
        }
        paint
    }
}

/// Whether the corners of a shape's own mesh have places in a texture.
fn has_corners(shape: &Shape) -> bool {
    !matches!(shape, Shape::Plane | Shape::Mesh(_) | Shape::Sdf(_) | Shape::HeightField(_))
}

/// How often a texture repeats across a geom of these half widths, m; where it is uniform, once over two metres.
fn repetitions(material: &Material, half: [f64; 2]) -> [f32; 2] {
    std::array::from_fn(|axis| {
        let often = if material.repeat[axis] > 0.0 { material.repeat[axis] } else { 1.0 };
        if material.uniform && half[axis] > 0.0 { often * half[axis] as f32 } else { often }
    })
}

/// Factors of x and y, 1/m, and shifts behind them.
fn planar(material: &Material, shape: &Shape, half: Vec3, extent: [f64; 2]) -> [[f32; 2]; 2] {
    let is_plane = *shape == Shape::Plane;
    let half = if is_plane { extent } else { [half.x, half.y] };
    let ends = half.iter().all(|half| *half > 0.0);
    let often = repetitions(material, half);
    let along = |axis: usize| {
        let factor = 0.5 * often[axis] / if half[axis] > 0.0 { half[axis] as f32 } else { 1.0 };
        // A plane that ends has the texture's corner in its own; elsewhere the middles meet.
        let shift = match (is_plane, half[axis] > 0.0) {
            (true, true) => 0.5 * often[axis],
            _ => 0.0,
        };
        [factor, if is_plane && ends { shift } else { shift - 0.5 }]
    };
    let ([x, right], [y, down]) = (along(0), along(1));
    // Rows of the picture run downward.
    [[x, right], [-y, down]]
}

/// Factors of a place before the side of the cube that it points at is asked for: shapes that a file does not give point are
/// drawn into their cube unless it is uniform.
fn cube(material: &Material, shape: &Shape, half: Vec3) -> [f32; 3] {
    let is_mesh = matches!(shape, Shape::Mesh(_) | Shape::Sdf(_) | Shape::HeightField(_));
    let factor = |axis: usize| match (is_mesh, material.uniform) {
        (false, false) => 1.0 / half[axis].max(1e-12),
        (true, true) => half[axis],
        _ => 1.0,
    };
    [factor(0), factor(1), factor(2)].map(|x| x as f32)
}

/// A picture stretched to a square: means of what falls into a pixel, or between the nearest where it is enlarged.
fn resampled(from: &Pixels, side: usize) -> Vec<u8> {
    // For each pixel of a line: the first that counts, and the parts of it and those behind it.
    let parts = |n: usize| -> Vec<(usize, Vec<f32>)> {
        let scale = n as f32 / side as f32;
        let reach = scale.max(1.0);
        let of = |i: usize| {
            let middle = (i as f32 + 0.5) * scale;
            let first = (middle - 0.5 - reach).floor().max(-1.0) as i64 + 1;
            let last = ((middle - 0.5 + reach).ceil() as i64).min(n as i64);
            let weight = |j: i64| (1.0 - ((j as f32 + 0.5 - middle) / reach).abs()).max(0.0);
            let weights: Vec<f32> = (first..last).map(weight).collect();
            let sum: f32 = weights.iter().sum();
            (first as usize, weights.iter().map(|w| w / sum).collect())
        };
        (0..side).map(of).collect()
    };
    if from.width == 0 || from.height == 0 {
        return [0, 0, 0, 255].repeat(side * side);
    }
    let (columns, rows) = (parts(from.width), parts(from.height));
    let mean = |values: &dyn Fn(usize) -> [f32; 3], (first, weights): &(usize, Vec<f32>)| {
        weights.iter().zip(*first..).fold([0.0; 3], |sum: [f32; 3], (weight, at)| {
            let value = values(at);
            std::array::from_fn(|k| sum[k] + weight * value[k])
        })
    };
    let pixel = |row: usize, column: usize| -> [f32; 3] {
        std::array::from_fn(|k| f32::from(from.rgb[3 * (row * from.width + column) + k]))
    };
    let lines: Vec<Vec<[f32; 3]>> =
        (0..from.height).map(|row| columns.iter().map(|column| mean(&|at| pixel(row, at), column)).collect()).collect();
    let mut out = Vec::with_capacity(4 * side * side);
    for row in &rows {
        for column in 0..side {
            let [r, g, b] = mean(&|at| lines[at][column], row).map(|x| (x + 0.5) as u8);
            out.extend([r, g, b, 255]);
        }
    }
    out
}

/// The next smaller picture of a square layer of four bytes a pixel, for what is far: means of two by two pixels.
pub(crate) fn halved(pixels: &[u8], side: usize) -> Vec<u8> {
    let at = |row: usize, column: usize, k: usize| u16::from(pixels[4 * (row * side + column) + k]);
    let mut out = Vec::with_capacity(pixels.len() / 4);
    for row in (0..side).step_by(2) {
        for column in (0..side).step_by(2) {
            for k in 0..4 {
                let four =
                    at(row, column, k) + at(row, column + 1, k) + at(row + 1, column, k) + at(row + 1, column + 1, k);
                out.push(((four + 2) / 4) as u8);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use manyworlds_model::{ImportOptions, from_mjcf_str};

    use super::*;

    /// Where MuJoCo 4.0.0 has textures, by its source: at (x, y) of planes and fields, or by corners.
    #[test]
    fn textures_lie_as_in_mujoco() {
        let text = r#"<mujoco><asset><texture name="t" type="2d" builtin="flat" width="8" height="8"/>
            <texture name="c" type="cube" builtin="flat" width="16" height="16"/>
            <material name="m" texture="t" texrepeat="3 2"/>
            <material name="u" texture="t" texrepeat="3 2" texuniform="true"/>
            <material name="c" texture="c"/><material name="d" texture="c" texuniform="true" shininess="1" reflectance=".3"/>
            <hfield name="h" nrow="2" ncol="2" size="2 4 1 1"/></asset><worldbody>
            <geom type="plane" size="2 4 1" material="m"/><geom type="plane" size="2 4 1" material="u"/>
            <geom type="plane" size="0 0 1" material="u"/><geom type="hfield" hfield="h" material="m"/>
            <geom type="hfield" hfield="h" material="u"/><geom type="box" size="2 4 8" material="m"/>
            <geom type="box" size="2 4 8" material="u"/><geom type="box" size="2 4 8" material="c"/>
            <geom type="box" size="2 4 8" material="d"/><geom size="1"/></worldbody></mujoco>"#;
        let nothing = |path: &std::path::Path| Err(std::io::Error::other(path.display().to_string()));
        let model = from_mjcf_str("t.xml", text, &nothing, &ImportOptions::default()).unwrap().model;
        let all: Vec<usize> = (0..model.geoms.len()).collect();
        let layers = Layers::new(&model, &all);
        assert_eq!((layers.count(), layers.side), (7, 16));
        let paint = |geom: usize| layers.paint(&model, geom, false, Vec3::new(2.0, 4.0, 8.0));
        for (geom, factors, shift) in [
            (0, [0.75, -0.25, 0.0, PLANAR], [1.5, 1.0]),
            (1, [1.5, -1.0, 0.0, PLANAR], [3.0, 4.0]),
            (2, [1.5, -1.0, 0.0, PLANAR], [-0.5, -0.5]),
            (3, [0.75, -0.25, 0.0, PLANAR], [-0.5, -0.5]),
            (4, [1.5, -1.0, 0.0, PLANAR], [-0.5, -0.5]),
            (5, [3.0, 2.0, 0.0, OWN], [0.0, 0.0]),
            (6, [6.0, 8.0, 0.0, OWN], [0.0, 0.0]),
            (7, [0.5, 0.25, 0.125, CUBE], [0.0, 0.0]),
            (8, [1.0, 1.0, 1.0, CUBE], [0.0, 0.0]),
        ] {
            let found = paint(geom);
            assert_eq!((found.factors, [found.layer[0], found.layer[1]]), (factors, shift), "geom {geom}");
        }
        assert_eq!([paint(0), paint(7)].map(|paint| [paint.layer[2], paint.layer[3]]), [[0.0, 0.0], [1.0, 1.0]]);
        assert_eq!((paint(8).shine, paint(9)), ([SHINE[0], FULL[1], 0.0, 0.3], Paint::default()));
        // Two metres on, the texture is where it was but for whole repetitions.
        let moved = paint(0).shifted([2.0, 8.0]);
        assert_eq!([moved.layer[0], moved.layer[1]], [0.0, 0.0]);
    }

    #[test]
    fn pictures_are_stretched() {
        let two = Pixels { width: 2, height: 1, rgb: vec![0, 0, 0, 200, 100, 50].into() };
        let four = resampled(&two, 4);
        let red: Vec<u8> = four[..16].chunks_exact(4).map(|p| p[0]).collect();
        assert_eq!(red, [0, 50, 150, 200]);
        assert_eq!(four[..16], four[48..]);
        assert_eq!(resampled(&two, 1), [100, 50, 25, 255]);
        assert_eq!(halved(&four, 4).len(), 16);
        assert_eq!(halved(&four, 4)[..4], [25, 13, 7, 255]);
    }
}
