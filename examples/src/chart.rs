//! Line charts as SVG files, panels side by side in rows of three.

use std::fmt::Write as _;

/// A panel with its margins, pixels.
const PANEL: [f64; 2] = [460.0, 320.0];
/// Margins: left, right, top, bottom.
const MARGIN: [f64; 4] = [66.0, 14.0, 34.0, 44.0];
/// Panels in a row.
const ROW: usize = 3;
/// A line for each curve in turn; beyond the last they begin anew.
const COLOURS: [&str; 6] = ["#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#4d4d4d"];

/// One line.
#[derive(Debug, Clone, Default)]
pub struct Curve {
    /// For the legend.
    pub name: String,
    /// Points, x ascending. What is not finite ends a piece of the line.
    pub points: Vec<[f64; 2]>,
    /// Drawn in dashes.
    pub dashed: bool,
    /// A spread about the line: x, its lower and its upper end, cut off at the range shown. Empty: none.
    pub band: Vec<[f64; 3]>,
}

/// Axes with lines.
#[derive(Debug, Clone)]
pub struct Panel {
    /// Above it.
    pub title: String,
    /// What the axes show, with units.
    pub labels: [String; 2],
    /// Whether y is by decades.
    pub decades: bool,
    /// The range of y shown; what leaves it is cut off.
    pub range: [f64; 2],
    /// The lines.
    pub curves: Vec<Curve>,
}

impl Panel {
    /// Pixels of a point.
    fn place(&self, [x, y]: [f64; 2], most: f64) -> [f64; 2] {
        let [left, right, top, bottom] = MARGIN;
        let of = |y: f64| if self.decades { y.max(f64::MIN_POSITIVE).log10() } else { y };
        let share = (of(y) - of(self.range[0])) / (of(self.range[1]) - of(self.range[0]));
        let (wide, high) = (PANEL[0] - left - right, PANEL[1] - top - bottom);
        [left + wide * x / most, top + high * (1.0 - share)]
    }

    /// Where y has lines of the grid.
    fn ticks(&self) -> Vec<f64> {
        let [low, high] = self.range;
        if self.decades {
            let (first, last) = (low.log10().ceil() as i32, high.log10().floor() as i32);
            let every = 1 + (last - first) / 8;
            return (first..=last).filter(|k| (last - k) % every == 0).map(|k| 10f64.powi(k)).collect();
        }
        let step = round_step(high - low);
        ((low / step).ceil() as i64..=(high / step).floor() as i64).map(|k| k as f64 * step).collect()
    }

    fn draw(&self, out: &mut String) -> std::fmt::Result {
        let [left, right, top, bottom] = MARGIN;
        let all = self.curves.iter().flat_map(|curve| &curve.points);
        let most = all.fold(0.0, |most: f64, point| most.max(point[0])).max(f64::MIN_POSITIVE);
        let text = |out: &mut String, [x, y]: [f64; 2], anchor: &str, text: &str| {
            let text = text.replace('&', "&amp;").replace('<', "&lt;");
            writeln!(out, r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}">{text}</text>"#)
        };
        let line = |out: &mut String, from: [f64; 2], to: [f64; 2], colour: &str| {
            let [[a, b], [c, d]] = [from, to];
            writeln!(out, r#"<line x1="{a:.1}" y1="{b:.1}" x2="{c:.1}" y2="{d:.1}" stroke="{colour}"/>"#)
        };
        let (end_x, end_y) = (PANEL[0] - right, PANEL[1] - bottom);
        for y in self.ticks() {
            let [_, at] = self.place([0.0, y], most);
            line(out, [left, at], [end_x, at], "#dddddd")?;
            let label =
                if self.decades { format!("1e{}", y.log10().round()) } else { format!("{}", (y * 1e6).round() / 1e6) };
            text(out, [left - 6.0, at + 4.0], "end", &label)?;
        }
        let step = round_step(most);
        for k in 0..=(most / step) as i64 {
            let x = k as f64 * step;
            let [at, _] = self.place([x, self.range[0]], most);
            line(out, [at, end_y], [at, end_y + 4.0], "#000000")?;
            text(out, [at, end_y + 18.0], "middle", &format!("{}", (x * 1e6).round() / 1e6))?;
        }
        line(out, [left, top], [left, end_y], "#000000")?;
        line(out, [left, end_y], [end_x, end_y], "#000000")?;
        text(out, [0.5 * (left + end_x), 20.0], "middle", &self.title)?;
        text(out, [0.5 * (left + end_x), PANEL[1] - 8.0], "middle", &self.labels[0])?;
        let middle = 0.5 * (top + end_y);
        writeln!(out, r#"<g transform="translate(14,{middle:.1}) rotate(-90)">"#)?;
        text(out, [0.0, 0.0], "middle", &self.labels[1])?;
        writeln!(out, "</g>")?;
        for (index, curve) in self.curves.iter().enumerate().filter(|(_, curve)| !curve.band.is_empty()) {
            let end = |&[x, low, high]: &[f64; 3], upper: bool| {
                let y = if upper { high } else { low }.clamp(self.range[0], self.range[1]);
                let [x, y] = self.place([x, y], most);
                format!("{x:.1},{y:.1} ")
            };
            let there = curve.band.iter().map(|part| end(part, true));
            let points: String = there.chain(curve.band.iter().rev().map(|part| end(part, false))).collect();
            let colour = COLOURS[index % COLOURS.len()];
            writeln!(out, r#"<polygon points="{}" fill="{colour}" fill-opacity="0.2"/>"#, points.trim_end())?;
        }
        for (index, curve) in self.curves.iter().enumerate() {
            let colour = COLOURS[index % COLOURS.len()];
            let dashes = if curve.dashed { r#" stroke-dasharray="6 4""# } else { "" };
            let shown = |y: f64| y.is_finite() && (self.range[0]..=self.range[1]).contains(&y);
            for piece in curve.points.split(|point| !shown(point[1])).filter(|piece| piece.len() > 1) {
                let points: String = piece
                    .iter()
                    .map(|&point| self.place(point, most))
                    .map(|[x, y]| format!("{x:.1},{y:.1} "))
                    .collect();
                writeln!(
                    out,
                    r#"<polyline points="{}" fill="none" stroke="{colour}" stroke-width="1.6"{dashes}/>"#,
                    points.trim_end()
                )?;
            }
            let y = top + 14.0 + 16.0 * index as f64;
            let [a, b] = [end_x - 150.0, end_x - 126.0];
            let at = format!(r#"x1="{a:.1}" y1="{:.1}" x2="{b:.1}" y2="{:.1}""#, y - 4.0, y - 4.0);
            writeln!(out, r#"<line {at} stroke="{colour}" stroke-width="1.6"{dashes}/>"#)?;
            text(out, [b + 6.0, y], "start", &curve.name)?;
        }
        Ok(())
    }
}

/// A step of 1, 2 or 5 times a power of ten: some five of them make the span.
fn round_step(span: f64) -> f64 {
    let rough = span / 5.0;
    let power = 10f64.powf(rough.log10().floor());
    let times = [1.0, 2.0, 5.0].into_iter().find(|times| rough <= times * power).unwrap_or(10.0);
    times * power
}

impl Panel {
    /// Values by iteration, a line each name; by decades, or else as they are.
    #[must_use]
    pub fn of_iterations(title: &str, label: &str, decades: bool, lines: &[(&str, Vec<f64>)]) -> Self {
        let shown = || lines.iter().flat_map(|(_, values)| values).filter(|y| !decades || **y > 0.0);
        let [low, high] = shown().fold([f64::INFINITY, f64::NEG_INFINITY], |[l, h], y| [l.min(*y), h.max(*y)]);
        let range = if decades {
            // Whole decades.
            [10f64.powf(low.log10().floor()), 10f64.powf(high.log10().ceil())]
        } else {
            [low - 0.05 * (high - low), high + 0.05 * (high - low)]
        };
        let curve = |(name, values): &(&str, Vec<f64>)| Curve {
            name: (*name).into(),
            points: values.iter().enumerate().map(|(i, y)| [i as f64, *y]).collect(),
            ..Curve::default()
        };
        let labels = ["iteration".into(), label.into()];
        Self { title: title.into(), labels, decades, range, curves: lines.iter().map(curve).collect() }
    }
}

/// Writes the panels into the file that the program's first argument names; without one it does nothing.
///
/// # Errors
/// Where it cannot be written.
pub fn draw_if_asked(panels: &[Panel]) -> Result<(), Box<dyn std::error::Error>> {
    if let Some(path) = std::env::args_os().nth(1) {
        std::fs::write(path, svg(panels)?)?;
    }
    Ok(())
}

/// The panels as an SVG document, side by side in rows of three.
///
/// # Errors
/// Never: a string takes whatever is written.
pub fn svg(panels: &[Panel]) -> Result<String, std::fmt::Error> {
    let mut out = String::new();
    let [wide, high] = [PANEL[0] * panels.len().min(ROW) as f64, PANEL[1] * panels.len().div_ceil(ROW) as f64];
    writeln!(
        out,
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}" viewBox="0 0 {wide} {high}" font-family="DejaVu Sans, sans-serif" font-size="12">"#
    )?;
    writeln!(out, r##"<rect width="100%" height="100%" fill="#ffffff"/>"##)?;
    for (index, panel) in panels.iter().enumerate() {
        let [x, y] = [PANEL[0] * (index % ROW) as f64, PANEL[1] * (index / ROW) as f64];
        writeln!(out, r#"<g transform="translate({x},{y})">"#)?;
        panel.draw(&mut out)?;
        writeln!(out, "</g>")?;
    }
    writeln!(out, "</svg>")?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::{Curve, Panel, round_step, svg};

    #[test]
    fn steps_are_round() {
        for (span, step) in [(5.0, 1.0), (9.0, 2.0), (0.24, 0.05), (1000.0, 200.0)] {
            assert!((round_step(span) - step).abs() < 1e-12, "{span}: {}", round_step(span));
        }
    }

    #[test]
    fn iterations_fill_whole_decades() {
        let panel = Panel::of_iterations("t", "error", true, &[("a", vec![3.0, 0.02, 0.0]), ("b", vec![0.5])]);
        assert!((panel.range[0] - 0.01).abs() < 1e-12 && (panel.range[1] - 10.0).abs() < 1e-9, "{:?}", panel.range);
        assert_eq!(panel.curves[0].points[1], [1.0, 0.02]);
        let panel = Panel::of_iterations("t", "height", false, &[("a", vec![0.0, 1.0])]);
        assert_eq!(panel.range, [-0.05, 1.05]);
    }

    #[test]
    fn lines_end_where_they_leave_the_range() {
        let points = vec![[0.0, 1.0], [1.0, 2.0], [2.0, 1e9], [3.0, 2.0], [4.0, f64::NAN], [5.0, 1.0], [6.0, 1.0]];
        let curve = Curve { name: "a < b".into(), points, ..Curve::default() };
        let labels = ["x".into(), "y".into()];
        let panel = Panel { title: "t".into(), labels, decades: false, range: [0.0, 10.0], curves: vec![curve] };
        let text = svg(&[panel]).expect("a string");
        assert_eq!(text.matches("<polyline").count(), 2);
        assert!(text.contains("a &lt; b") && text.ends_with("</svg>\n"));
    }

    #[test]
    fn a_band_goes_there_and_back_and_a_fourth_panel_is_below() {
        let band = vec![[0.0, 1.0, 2.0], [1.0, -5.0, 20.0]];
        let curve = Curve { points: vec![[0.0, 1.5], [1.0, 3.0]], band, ..Curve::default() };
        let labels = ["x".into(), "y".into()];
        let panel = Panel { title: "t".into(), labels, decades: false, range: [0.0, 10.0], curves: vec![curve] };
        let text = svg(&vec![panel; 4]).expect("a string");
        // Cut off at the range: from its bottom to its top.
        let (bottom, top) = (super::PANEL[1] - super::MARGIN[3], super::MARGIN[2]);
        assert!(text.contains(&format!(",{top:.1} ")) && text.contains(&format!(",{bottom:.1} ")), "{text}");
        assert_eq!(text.matches("<polygon").count(), 4);
        assert!(text.contains("translate(0,320)") && text.contains(r#"height="640""#));
    }
}
