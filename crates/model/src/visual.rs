//! What pictures of a model need and its motion does not: colours, materials, textures, cameras, lights.

use std::sync::Arc;

use crate::{Lens, Pose, Vec3};

/// Red, green, blue, opacity, each from 0 to 1, as the file gives them.
pub type Rgba = [f32; 4];

/// Colour of a geom that says none.
pub const GREY: Rgba = [0.5, 0.5, 0.5, 1.0];

/// What pictures of a model need.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Visual {
    /// Looks of the geoms, in the order of [`crate::Model::geoms`].
    pub geoms: Vec<Look>,
    /// Materials that [`Look::material`] refers to.
    pub materials: Vec<Material>,
    /// Textures that [`Material::texture`] refers to.
    pub textures: Vec<Texture>,
    /// Cameras of the file.
    pub cameras: Vec<Camera>,
    /// Lights of the file.
    pub lights: Vec<Light>,
    /// The light at the camera, which shines where the file has lights.
    pub headlight: Headlight,
}

impl Visual {
    /// Colour of a geom: its own, else its material's, else [`GREY`].
    #[must_use]
    pub fn colour(&self, geom: usize) -> Rgba {
        let Some(look) = self.geoms.get(geom) else { return GREY };
        let of_material = || look.material.map(|material| self.materials[material].rgba);
        look.rgba.or_else(of_material).unwrap_or(GREY)
    }

    /// The texture of a geom's material, and the material.
    #[must_use]
    pub fn texture(&self, geom: usize) -> Option<(&Texture, &Material)> {
        let material = &self.materials[self.geoms.get(geom)?.material?];
        Some((&self.textures[material.texture?], material))
    }

    /// The mean colour of a geom's texture: what its colour is multiplied by, from afar.
    #[must_use]
    pub fn tint(&self, geom: usize) -> Option<[f32; 3]> {
        Some(match &self.texture(geom)?.0.image {
            Image::Pattern { pattern: Pattern::Flat, colours, .. } => colours[0],
            Image::Pattern { colours: [first, second], .. } => std::array::from_fn(|k| 0.5 * (first[k] + second[k])),
            Image::Pixels(pixels) => pixels.mean(),
            Image::Sides(sides) => {
                let means = sides.each_ref().map(Pixels::mean);
                std::array::from_fn(|k| means.iter().map(|mean| mean[k]).sum::<f32>() / 6.0)
            }
        })
    }
}

/// How a geom looks.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Look {
    /// Its own colour, which goes before its material's.
    pub rgba: Option<Rgba>,
    /// An index into [`Visual::materials`].
    pub material: Option<usize>,
    /// Viewers show and hide geoms by group.
    pub group: i32,
    /// Half the edges of the part of a plane that is there to be seen, m; 0: without end.
    pub extent: [f64; 2],
}

/// How a surface answers light.
#[derive(Debug, Clone, PartialEq)]
pub struct Material {
    /// Name.
    pub name: String,
    /// Colour, by which a texture is multiplied.
    pub rgba: Rgba,
    /// An index into [`Visual::textures`].
    pub texture: Option<usize>,
    /// How often a planar texture repeats along x and y: across the geom, or a metre if `uniform`.
    pub repeat: [f32; 2],
    /// Whether a texture repeats by lengths in space, whatever the size of the geom.
    pub uniform: bool,
    /// Light that it sends out itself, as a multiple of its colour.
    pub emission: f32,
    /// Strength of highlights, 0 to 1.
    pub specular: f32,
    /// Sharpness of highlights, 0 to 1.
    pub shininess: f32,
    /// Part of its surroundings that it mirrors, 0 to 1.
    pub reflectance: f32,
}

/// A pattern or picture on a surface or behind everything.
#[derive(Debug, Clone, PartialEq)]
pub struct Texture {
    /// Name.
    pub name: String,
    /// How it is laid on.
    pub kind: TextureKind,
    /// What it shows.
    pub image: Image,
}

/// How a texture is laid on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextureKind {
    /// Along the x and y axes of the geom.
    Planar,
    /// From the six sides of a cube.
    Cube,
    /// Behind everything.
    Skybox,
}

/// What a texture shows.
#[derive(Debug, Clone, PartialEq)]
pub enum Image {
    /// A pattern of two colours.
    Pattern {
        /// Which.
        pattern: Pattern,
        /// Red, green and blue, 0 to 1.
        colours: [[f32; 3]; 2],
        /// Lines or dots on every tile or side of a cube, and their colour.
        mark: Option<(Mark, [f32; 3])>,
        /// Width and height, pixels; lines are a pixel wide.
        size: [u32; 2],
    },
    /// What a file shows; on a cube the same on each side.
    Pixels(Pixels),
    /// The sides of a cube, from outside: those of x, y and z, the positive one before the negative one.
    Sides(Box<[Pixels; 6]>),
}

/// A picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pixels {
    /// Pixels of a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Red, green and blue of sRGB, from the upper left corner, row by row: `[height][width][3]`.
    pub rgb: Arc<[u8]>,
}

impl Pixels {
    /// Its mean colour, 0 to 1; black if it has no pixel.
    #[must_use]
    pub fn mean(&self) -> [f32; 3] {
        let mut sums = [0_u64; 3];
        for pixel in self.rgb.chunks_exact(3) {
            sums.iter_mut().zip(pixel).for_each(|(sum, x)| *sum += u64::from(*x));
        }
        let count = (self.width * self.height).max(1) as f64;
        sums.map(|sum| (sum as f64 / (255.0 * count)) as f32)
    }
}

/// Patterns of two colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// The first colour; the second below a cube.
    Flat,
    /// Two by two squares in turn.
    Checker,
    /// From the first colour, in the middle or above, to the second.
    Gradient,
}

/// Lines or dots on a pattern.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Mark {
    /// Along the edges.
    Edge,
    /// Through the middle.
    Cross,
    /// Single pixels, so many of all, 0 to 1.
    Dots(f64),
}

/// How a camera or light follows its body.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Following {
    /// It moves and turns with the body.
    #[default]
    Fixed,
    /// It keeps its orientation in the world, and its offset from the body's origin as in the model's initial pose.
    Track,
    /// The same with the centre of mass of the body and all that hangs on it.
    TrackCentre,
    /// It moves with the body and points at the origin of another.
    Target(usize),
    /// It moves with the body and points at the centre of mass of another and all that hangs on it.
    TargetCentre(usize),
}

impl Following {
    /// The body that it points at.
    pub(crate) fn target_mut(&mut self) -> Option<&mut usize> {
        match self {
            Self::Target(body) | Self::TargetCentre(body) => Some(body),
            Self::Fixed | Self::Track | Self::TrackCentre => None,
        }
    }
}

/// A camera: it looks along -z of its frame, y upward.
#[derive(Debug, Clone, PartialEq)]
pub struct Camera {
    /// Name; empty when the file gives none.
    pub name: String,
    /// The body it is on.
    pub body: usize,
    /// Its frame in the body's.
    pub pose: Pose,
    /// How it follows the body.
    pub following: Following,
    /// Angle from the lower to the upper edge of the picture, rad.
    pub field_of_view: f64,
    /// How it draws a picture of the resolution that the file gives it.
    pub lens: Lens,
}

/// A light.
#[derive(Debug, Clone, PartialEq)]
pub struct Light {
    /// Name; empty when the file gives none.
    pub name: String,
    /// The body it is on.
    pub body: usize,
    /// Where it is, in the body's frame, m.
    pub position: Vec3,
    /// Unit vector along which it shines, in the body's frame.
    pub direction: Vec3,
    /// How it follows the body.
    pub following: Following,
    /// What it sends out.
    pub kind: LightKind,
    /// Whether it casts shadows.
    pub casts_shadows: bool,
    /// Red, green and blue of what it adds to a matt surface, to a highlight, and everywhere.
    pub diffuse: [f32; 3],
    /// To a highlight.
    pub specular: [f32; 3],
    /// Everywhere.
    pub ambient: [f32; 3],
    /// Constant, linear and quadratic part of the divisor of its strength by distance, 1, 1/m and 1/m^2.
    pub attenuation: [f32; 3],
    /// Within a cone, the power of the cosine of the angle from its axis that its strength goes by.
    pub exponent: f32,
}

/// The light at the camera.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Headlight {
    /// Red, green and blue of what it adds to a matt surface.
    pub diffuse: [f32; 3],
    /// To a highlight.
    pub specular: [f32; 3],
    /// Everywhere.
    pub ambient: [f32; 3],
    /// Whether it shines.
    pub active: bool,
}

impl Default for Headlight {
    /// As in MuJoCo.
    fn default() -> Self {
        Self { diffuse: [0.4; 3], specular: [0.5; 3], ambient: [0.1; 3], active: true }
    }
}

/// What a light sends out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LightKind {
    /// Parallel rays from far away.
    Directional,
    /// Rays in all directions.
    Point,
    /// A cone with this angle from its axis to its side, rad.
    Spot(f64),
}
