//! Numbers of a file as short as they can be.

use std::io;

use serde_json::ser::Formatter;

/// Significant digits that tell every f64 from every other.
pub const DIGITS: usize = 17;

/// JSON without spaces, of numbers with so many significant digits at most.
pub(super) struct Short {
    pub(super) digits: usize,
}

impl Formatter for Short {
    fn write_f64<W: io::Write + ?Sized>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        writer.write_all(short(value, self.digits).as_bytes())
    }
}

/// The shortest text that is read back as `x` rounded to so many significant digits.
fn short(x: f64, digits: usize) -> String {
    let rounded = if digits < DIGITS {
        // What `{:e}` writes is a number.
        format!("{:.*e}", digits.saturating_sub(1), x).parse().unwrap_or(x)
    } else {
        x
    };
    if rounded == 0.0 {
        return "0".into();
    }
    let text = format!("{rounded:?}");
    match text.strip_suffix(".0") {
        Some(whole) => whole.to_owned(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::{DIGITS, short};

    #[test]
    fn numbers_are_short_and_come_back() {
        assert_eq!([0.0, -0.0, 1.0, -2.0, 0.1].map(|x| short(x, DIGITS)), ["0", "0", "1", "-2", "0.1"]);
        assert_eq!(short(0.123_456_789, 4), "0.1235");
        assert_eq!(short(-123_456.0, 2), "-120000");
        assert_eq!(short(1.234e-20, 3), "1.23e-20");
        for x in [std::f64::consts::PI, 1e300, -5e-324, 0.1 + 0.2, 1e16] {
            assert_eq!(short(x, DIGITS).parse::<f64>(), Ok(x));
        }
    }
}
