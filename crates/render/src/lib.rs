//! Pictures of worlds: a [`Scene`] made of a model once, a [`Renderer`] that draws it from a [`Camera`] wherever its bodies
//! are, and files of the [`Picture`]s. It needs an adapter that draws, by software as well, and no display.
mod camera;
mod device;
mod device_poses;
mod display;
mod error;
mod file;
mod instance;
mod light;
mod looks;
mod mesh;
#[cfg(feature = "text")]
mod panel;
mod picture;
mod rays;
mod renderer;
mod scene;
mod shapes;
mod surfaces;
mod targets;
mod texture;
mod tiles;
mod viewpoint;

pub use camera::Camera;
pub use device_poses::{Lanes, Seat};
pub use display::Display;
pub use error::RenderError;
pub use file::Format;
#[cfg(feature = "text")]
pub use panel::Panel;
pub use picture::{Picture, Size};
pub use renderer::Renderer;
pub use scene::{Arrow, Piece, Placed, Scene};
pub use texture::Layers;
pub use tiles::{Observations, Observer};
pub use viewpoint::Viewpoint;
