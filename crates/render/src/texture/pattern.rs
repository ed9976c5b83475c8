//! Patterns of the file as pixels, as MuJoCo draws them.

use std::f64::consts::FRAC_PI_2;
use std::sync::Arc;

use manyworlds_model::visual::{Mark, Pattern, Pixels};

/// A pattern of two colours and its mark.
pub(super) struct Tile {
    pub(super) pattern: Pattern,
    pub(super) colours: [[f32; 3]; 2],
    pub(super) mark: Option<(Mark, [f32; 3])>,
    /// Width and height, pixels.
    pub(super) size: [u32; 2],
}

/// A side of a cube that is above, below, or neither.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Around,
    Above,
    Below,
}

impl Tile {
    /// On a plane.
    pub(super) fn planar(&self) -> Pixels {
        let [first, second] = self.colours;
        self.drawn(|[x, y]| match self.pattern {
            Pattern::Flat => first,
            Pattern::Checker => checker([first, second], [x, y]),
            Pattern::Gradient => blend(second, first, 2.0 * x.hypot(y) - 1.0),
        })
    }

    /// On the sides of a cube, in the order of [`manyworlds_model::visual::Image::Sides`].
    pub(super) fn cube(&self) -> [Pixels; 6] {
        let [first, second] = self.colours;
        let sides = [Side::Around, Side::Around, Side::Above, Side::Below, Side::Around, Side::Around];
        std::array::from_fn(|number| {
            self.drawn(|[x, y]| match (self.pattern, sides[number]) {
                (Pattern::Flat, Side::Below) => second,
                (Pattern::Flat, _) => first,
                // Two of the sides have the colours the other way round.
                (Pattern::Checker, _) if number < 4 => checker([first, second], [x, y]),
                (Pattern::Checker, _) => checker([second, first], [x, y]),
                // By the angle above the horizon, in quarters of a turn.
                (Pattern::Gradient, Side::Around) => {
                    blend(first, second, (y / x.hypot(y).hypot(1.0)).asin() / FRAC_PI_2)
                }
                (Pattern::Gradient, side) => {
                    let up = 1.0 - (1.0 / x.hypot(y).hypot(1.0)).acos() / FRAC_PI_2;
                    blend(first, second, if side == Side::Above { up } else { -up })
                }
            })
        })
    }

    /// Pixels by where they are, x to the right and y upward from -1 to 1, with the mark over them.
    fn drawn(&self, colour: impl Fn([f64; 2]) -> [f32; 3]) -> Pixels {
        let [width, height] = self.size.map(|side| side as usize);
        let at = |i: usize, n: usize| if n > 1 { 2.0 * i as f64 / (n - 1) as f64 - 1.0 } else { 0.0 };
        let mut dots = Dots(42);
        let mut rgb = Vec::with_capacity(3 * width * height);
        for row in 0..height {
            for column in 0..width {
                let marked = self.mark.filter(|(mark, _)| match mark {
                    Mark::Edge => row == 0 || row + 1 == height || column == 0 || column + 1 == width,
                    Mark::Cross => row == height / 2 || column == width / 2,
                    Mark::Dots(part) => dots.next() < *part,
                });
                let shown = marked.map_or_else(|| colour([at(column, width), -at(row, height)]), |(_, colour)| colour);
                rgb.extend(shown.map(|x| (255.0 * x) as u8));
            }
        }
        Pixels { width, height, rgb: Arc::from(rgb) }
    }
}

/// Two by two squares, the first colour above on the left.
fn checker([first, second]: [[f32; 3]; 2], [x, y]: [f64; 2]) -> [f32; 3] {
    if (x < 0.0) == (y > 0.0) { first } else { second }
}

/// From the second colour at -1 to the first at 1, along a curve that is steepest between.
fn blend(first: [f32; 3], second: [f32; 3], at: f64) -> [f32; 3] {
    let part = (0.5 * (1.0 + at / at.hypot(1.0) * 2_f64.sqrt())).clamp(0.0, 1.0) as f32;
    std::array::from_fn(|k| part * first[k] + (1.0 - part) * second[k])
}

/// Numbers from 0 to 1 that look random (xorshift64*): the same in every picture.
struct Dots(u64);

impl Dots {
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tile(pattern: Pattern, mark: Option<Mark>) -> Tile {
        let mark = mark.map(|mark| (mark, [0.0, 0.0, 1.0]));
        Tile { pattern, colours: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], mark, size: [8, 8] }
    }

    fn at(pixels: &Pixels, row: usize, column: usize) -> [u8; 3] {
        std::array::from_fn(|k| pixels.rgb[3 * (row * pixels.width + column) + k])
    }

    const RED: [u8; 3] = [255, 0, 0];
    const GREEN: [u8; 3] = [0, 255, 0];
    const BLUE: [u8; 3] = [0, 0, 255];

    #[test]
    fn squares_lie_in_turn_and_marks_over_them() {
        let checker = tile(Pattern::Checker, Some(Mark::Edge)).planar();
        let four = [[2, 2], [2, 5], [5, 2], [5, 5]].map(|[row, column]| at(&checker, row, column));
        assert_eq!(four, [RED, GREEN, GREEN, RED]);
        assert_eq!([at(&checker, 0, 3), at(&checker, 7, 3), at(&checker, 3, 0), at(&checker, 3, 7)], [BLUE; 4]);
        let cube = tile(Pattern::Checker, Some(Mark::Cross)).cube();
        assert_eq!([at(&cube[0], 0, 0), at(&cube[4], 0, 0), at(&cube[4], 4, 0)], [RED, GREEN, BLUE]);
        let dots = tile(Pattern::Flat, Some(Mark::Dots(0.25))).planar();
        let marked = dots.rgb.chunks_exact(3).filter(|pixel| *pixel == BLUE).count();
        assert!((8..=24).contains(&marked), "{marked} of 64");
    }

    #[test]
    fn gradients_go_from_colour_to_colour() {
        // An odd number of pixels has one in the middle.
        let gradient = Tile { size: [9, 9], ..tile(Pattern::Gradient, None) };
        let plane = gradient.planar();
        assert_eq!((at(&plane, 4, 4), at(&plane, 4, 0)), (RED, GREEN));
        let cube = gradient.cube();
        // Above the first colour, below the second, as much of both at the horizon.
        assert_eq!((at(&cube[2], 4, 4), at(&cube[3], 4, 4)), (RED, GREEN));
        assert_eq!(at(&cube[0], 4, 4), [127, 127, 0]);
        assert!(at(&cube[0], 0, 4)[0] > 200 && at(&cube[0], 8, 4)[1] > 200);
        let flat = tile(Pattern::Flat, None).cube();
        assert_eq!(flat.each_ref().map(|side| at(side, 3, 3)), [RED, RED, RED, GREEN, RED, RED]);
    }
}
