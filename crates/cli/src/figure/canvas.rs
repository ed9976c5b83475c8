//! What figures are drawn on: vectors or pixels, of one type, so that what draws is compiled once.

use std::io::Error;

use plotters::backend::{BitMapBackend, DrawingBackend, SVGBackend};
use plotters_backend::{BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingErrorKind};

/// An SVG's text or a bitmap's pixels.
pub(crate) enum Canvas<'a> {
    Vectors(SVGBackend<'a>),
    Pixels(BitMapBackend<'a>),
}

type Drawn = Result<(), DrawingErrorKind<Error>>;

/// A bitmap's error as one of those that an SVG has.
fn as_io<E: std::error::Error + Send + Sync + 'static>(drawn: Result<(), DrawingErrorKind<E>>) -> Drawn {
    drawn.map_err(|error| match error {
        DrawingErrorKind::DrawingError(error) => DrawingErrorKind::DrawingError(Error::other(error)),
        DrawingErrorKind::FontError(error) => DrawingErrorKind::FontError(error),
    })
}

/// A line's colour and width: what any style comes to.
struct Stroke {
    colour: BackendColor,
    width: u32,
}

impl Stroke {
    fn of(style: &impl BackendStyle) -> Self {
        Self { colour: style.color(), width: style.stroke_width() }
    }
}

impl BackendStyle for Stroke {
    fn color(&self) -> BackendColor {
        self.colour
    }

    fn stroke_width(&self) -> u32 {
        self.width
    }
}

impl DrawingBackend for Canvas<'_> {
    type ErrorType = Error;

    fn get_size(&self) -> (u32, u32) {
        match self {
            Self::Vectors(to) => to.get_size(),
            Self::Pixels(to) => to.get_size(),
        }
    }

    fn ensure_prepared(&mut self) -> Drawn {
        match self {
            Self::Vectors(to) => to.ensure_prepared(),
            Self::Pixels(to) => as_io(to.ensure_prepared()),
        }
    }

    fn present(&mut self) -> Drawn {
        match self {
            Self::Vectors(to) => to.present(),
            Self::Pixels(to) => as_io(to.present()),
        }
    }

    fn draw_pixel(&mut self, point: BackendCoord, colour: BackendColor) -> Drawn {
        match self {
            Self::Vectors(to) => to.draw_pixel(point, colour),
            Self::Pixels(to) => as_io(to.draw_pixel(point, colour)),
        }
    }

    fn draw_line<S: BackendStyle>(&mut self, from: BackendCoord, end: BackendCoord, style: &S) -> Drawn {
        let stroke = Stroke::of(style);
        match self {
            Self::Vectors(to) => to.draw_line(from, end, &stroke),
            Self::Pixels(to) => as_io(to.draw_line(from, end, &stroke)),
        }
    }

    fn draw_rect<S: BackendStyle>(&mut self, low: BackendCoord, high: BackendCoord, style: &S, fill: bool) -> Drawn {
        let stroke = Stroke::of(style);
        match self {
            Self::Vectors(to) => to.draw_rect(low, high, &stroke, fill),
            Self::Pixels(to) => as_io(to.draw_rect(low, high, &stroke, fill)),
        }
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(&mut self, path: I, style: &S) -> Drawn {
        let (path, stroke): (Vec<_>, _) = (path.into_iter().collect(), Stroke::of(style));
        match self {
            Self::Vectors(to) => to.draw_path(path, &stroke),
            Self::Pixels(to) => as_io(to.draw_path(path, &stroke)),
        }
    }

    fn draw_circle<S: BackendStyle>(&mut self, centre: BackendCoord, radius: u32, style: &S, fill: bool) -> Drawn {
        let stroke = Stroke::of(style);
        match self {
            Self::Vectors(to) => to.draw_circle(centre, radius, &stroke, fill),
            Self::Pixels(to) => as_io(to.draw_circle(centre, radius, &stroke, fill)),
        }
    }

    fn fill_polygon<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(&mut self, corners: I, style: &S) -> Drawn {
        let (corners, stroke): (Vec<_>, _) = (corners.into_iter().collect(), Stroke::of(style));
        match self {
            Self::Vectors(to) => to.fill_polygon(corners, &stroke),
            Self::Pixels(to) => as_io(to.fill_polygon(corners, &stroke)),
        }
    }

    fn draw_text<S: BackendTextStyle>(&mut self, text: &str, style: &S, at: BackendCoord) -> Drawn {
        match self {
            Self::Vectors(to) => to.draw_text(text, style, at),
            Self::Pixels(to) => as_io(to.draw_text(text, style, at)),
        }
    }
}
