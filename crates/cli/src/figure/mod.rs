//! Figures as SVG or PNG files; nothing needs to be installed.

mod axis;
mod canvas;

use std::ffi::OsStr;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::sync::OnceLock;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::register_font;

use crate::failure::Failure;
pub(crate) use axis::Axis;
use canvas::Canvas;

/// A line for each curve in turn; beyond the last they begin anew.
pub(crate) const COLOURS: [RGBColor; 6] = [
    RGBColor(0x1f, 0x77, 0xb4),
    RGBColor(0xd6, 0x27, 0x28),
    RGBColor(0x2c, 0xa0, 0x2c),
    RGBColor(0x94, 0x67, 0xbd),
    RGBColor(0xff, 0x7f, 0x0e),
    RGBColor(0x4d, 0x4d, 0x4d),
];
/// Lines of a grid.
pub(crate) const GRID: RGBColor = RGBColor(0xdd, 0xdd, 0xdd);
/// The font of bitmaps, and what an SVG measures its text by.
pub(crate) const FONT: &str = "DejaVu Sans";
static FONT_FILE: &[u8] = include_bytes!("../../assets/DejaVuSans-ascii.ttf");

/// A part of a figure's ground.
pub(crate) type Area<'a> = DrawingArea<Canvas<'a>, Shift>;
/// Whether a part could be drawn.
pub(crate) type Drawn = Result<(), DrawingAreaErrorKind<std::io::Error>>;

/// What can be drawn, on bitmaps as well as in vectors.
pub(crate) trait Figure {
    /// Pixels, width and height.
    fn size(&self) -> (u32, u32);

    /// Draws on a white ground of that size.
    fn draw(&self, root: &Area) -> Drawn;
}

/// The file formats, by the endings of paths.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Svg,
    Png,
}

impl Format {
    /// By a path's ending, if it is one of these.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        match path.extension().and_then(OsStr::to_str)?.to_ascii_lowercase().as_str() {
            "svg" => Some(Self::Svg),
            "png" => Some(Self::Png),
            _ => None,
        }
    }

    /// Draws and writes a figure.
    pub(crate) fn write(self, path: &Path, figure: &dyn Figure) -> Result<(), Failure> {
        match self {
            Self::Svg => svg(path, figure),
            Self::Png => png(path, figure),
        }
    }
}

fn svg(path: &Path, figure: &dyn Figure) -> Result<(), Failure> {
    let mut text = String::new();
    on_white(Canvas::Vectors(SVGBackend::with_string(&mut text, figure.size())), figure)
        .map_err(|error| Failure::file(path, error))?;
    std::fs::write(path, text).map_err(|error| Failure::file(path, error))
}

fn png(path: &Path, figure: &dyn Figure) -> Result<(), Failure> {
    let size = figure.size();
    let mut pixels = vec![0; 3 * (size.0 * size.1) as usize];
    on_white(Canvas::Pixels(BitMapBackend::with_buffer(&mut pixels, size)), figure)
        .map_err(|error| Failure::file(path, error))?;
    let file = File::create(path).map_err(|error| Failure::file(path, error))?;
    let mut encoder = png::Encoder::new(BufWriter::new(file), size.0, size.1);
    encoder.set_color(png::ColorType::Rgb);
    let written = encoder.write_header().and_then(|mut writer| {
        writer.write_image_data(&pixels)?;
        writer.finish()
    });
    written.map_err(|error| Failure::file(path, error))
}

fn on_white(canvas: Canvas, figure: &dyn Figure) -> Result<(), String> {
    static KNOWN: OnceLock<bool> = OnceLock::new();
    if !KNOWN.get_or_init(|| register_font(FONT, FontStyle::Normal, FONT_FILE).is_ok()) {
        return Err("the built-in font cannot be read".into());
    }
    let root = canvas.into_drawing_area();
    let said = |error: DrawingAreaErrorKind<std::io::Error>| error.to_string();
    root.fill(&WHITE).map_err(said)?;
    figure.draw(&root).map_err(said)?;
    root.present().map_err(said)
}

/// Whole powers of ten around positive numbers.
pub(crate) fn decades(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (mut low, mut high) = (f64::INFINITY, 0.0f64);
    for x in values {
        (low, high) = (low.min(x), high.max(x));
    }
    if low > high {
        return (1.0, 10.0);
    }
    let (below, above) = (low.log10().floor(), high.log10().ceil());
    (10f64.powf(below), 10f64.powf(above.max(below + 1.0)))
}

/// A power of ten as axes show it.
pub(crate) fn power(x: &f64) -> String {
    let k = x.log10().round();
    if (0.0..4.0).contains(&k) { format!("{:.0}", 10f64.powf(k)) } else { format!("1e{k:.0}") }
}

#[cfg(test)]
mod tests {
    use super::{decades, power};

    #[test]
    fn axes_span_whole_decades() {
        assert_eq!(decades([3.0, 250.0].into_iter()), (1.0, 1000.0));
        assert_eq!(decades([2e-9].into_iter()), (10f64.powf(-9.0), 10f64.powf(-8.0)));
        assert_eq!(decades([1.0].into_iter()), (1.0, 10.0));
        assert_eq!(decades(std::iter::empty()), (1.0, 10.0));
        assert_eq!([1e-10, 1.0, 100.0, 1e5].map(|x| power(&x)), ["1e-10", "1", "100", "1e5"]);
    }
}
