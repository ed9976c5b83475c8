//! Pixels.

use std::str::FromStr;

use crate::RenderError;

/// Width and height of a picture, in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
}

impl Size {
    /// Largest width and height: what every adapter draws.
    pub const MOST: u32 = 8192;

    /// Bytes of a picture of that size.
    #[must_use]
    pub fn bytes(self) -> usize {
        4 * self.width as usize * self.height as usize
    }
}

impl FromStr for Size {
    type Err = RenderError;

    fn from_str(text: &str) -> Result<Self, RenderError> {
        let allowed = |side: &str| side.parse::<u32>().ok().filter(|side| (1..=Self::MOST).contains(side));
        text.split_once('x')
            .and_then(|(width, height)| Some(Self { width: allowed(width)?, height: allowed(height)? }))
            .ok_or_else(|| RenderError::Size { found: text.to_owned(), most: Self::MOST })
    }
}

/// A picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// Its size.
    pub size: Size,
    /// Red, green, blue and opacity of each pixel, row by row from the top.
    pub pixels: Vec<u8>,
}

#[cfg(test)]
mod tests {
    use super::Size;

    #[test]
    fn sizes() {
        assert_eq!("640x480".parse::<Size>().unwrap(), Size { width: 640, height: 480 });
        for wrong in ["", "640", "640x", "0x10", "10x0", "-1x5", "640x480x3", "8193x10", "6.5x3", "640X480"] {
            let error = wrong.parse::<Size>().unwrap_err().to_string();
            assert!(error.contains(wrong) && error.contains("WIDTHxHEIGHT"), "{error}");
        }
    }
}
