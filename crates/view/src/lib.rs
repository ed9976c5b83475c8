//! Worlds that are watched, by a window or by a page of a browser: side by side, stepped in real time, pulled by the mouse,
//! under one solver or several, with what is known of their contacts and joints.

mod lanes;
mod marks;
mod pace;
mod place;
mod push;
mod worlds;

pub use lanes::lanes;
pub use marks::{ContactColour, Marks, Moment, Ramp, Scale};
pub use pace::Pace;
pub use place::{placed, placed_at};
pub use push::Push;
pub use worlds::{Certificate, Drive, Start, Worlds};
