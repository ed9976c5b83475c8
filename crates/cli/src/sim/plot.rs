//! A run as a figure: what it did, and how well it was solved, against time.

use plotters::prelude::*;

use super::trace::{Moment, SolverClock, Trace};
use crate::figure::{Area, Axis, COLOURS, Drawn, FONT, Figure, GRID, decades, power};

/// Pixels of a figure of two columns and three rows.
const SIZE: (u32, u32) = (1100, 900);
/// Most points of a curve: files stay small, and a panel has no more pixels.
const POINTS: usize = 300;
/// More free bodies than this are drawn by the lowest, the median and the highest of them.
const BODIES: usize = COLOURS.len();
/// What is smaller is drawn at these: log axes have no zero.
const RESIDUAL_FLOOR: f64 = 1e-17;

/// A run to draw.
pub(super) struct Run<'a> {
    pub(super) title: String,
    pub(super) trace: &'a Trace,
    pub(super) clock: Option<&'a SolverClock>,
}

/// A curve: its name, if it needs one, and its points.
struct Curve {
    name: String,
    points: Vec<(f64, f64)>,
}

impl Figure for Run<'_> {
    fn size(&self) -> (u32, u32) {
        SIZE
    }

    fn draw(&self, root: &Area) -> Drawn {
        let panels = root.titled(&self.title, (FONT, 18))?.split_evenly((3, 2));
        linear(&panels[0], self.trace.what, &self.heights())?;
        linear(&panels[1], "energy, J", &self.curve(last, |m| m.energy))?;
        linear(&panels[2], "contacts", &self.curve(last, |m| f64::from(m.contacts)))?;
        linear(&panels[3], "deepest penetration, mm", &self.curve(largest, |m| 1e3 * m.penetration))?;
        let residual = self.curve(largest, |m| m.residual.max(RESIDUAL_FLOOR));
        logarithmic(&panels[4], "residual, N s", &residual)?;
        let times = self.trace.moments.iter().zip(self.clock.iter().flat_map(|clock| &clock.milliseconds));
        let times: Vec<_> = times.map(|(moment, &ms)| (moment.time, ms)).collect();
        logarithmic(&panels[5], "contact solver, ms a step (the slowest)", &[Curve::new("", &times, largest)])
    }
}

impl Run<'_> {
    fn curve(&self, keep: Keep, y: impl Fn(&Moment) -> f64) -> [Curve; 1] {
        let points: Vec<_> = self.trace.moments.iter().map(|m| (m.time, y(m))).collect();
        [Curve::new("", &points, keep)]
    }

    /// Each body's, or the spread of many.
    fn heights(&self) -> Vec<Curve> {
        let Trace { bodies, moments, .. } = self.trace;
        let curve = |name: &str, y: &dyn Fn(&[f64]) -> f64| {
            let points: Vec<_> = moments.iter().map(|m| (m.time, y(&m.heights))).collect();
            Curve::new(name, &points, last)
        };
        if bodies.len() <= BODIES {
            return bodies.iter().enumerate().map(|(i, name)| curve(name, &|heights| heights[i])).collect();
        }
        let sorted = |heights: &[f64]| {
            let mut sorted = heights.to_vec();
            sorted.sort_by(f64::total_cmp);
            sorted
        };
        let count = bodies.len();
        vec![
            curve(&format!("highest of {count}"), &|heights| sorted(heights)[count - 1]),
            curve("median", &|heights| sorted(heights)[count / 2]),
            curve("lowest", &|heights| sorted(heights)[0]),
        ]
    }
}

/// Which of neighbouring points stands for them.
type Keep = fn(&[(f64, f64)]) -> Option<(f64, f64)>;

fn last(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    points.last().copied()
}

fn largest(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    points.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1))
}

impl Curve {
    fn new(name: &str, points: &[(f64, f64)], keep: Keep) -> Self {
        let finite: Vec<_> = points.iter().copied().filter(|p| p.1.is_finite()).collect();
        let bunch = finite.len().div_ceil(POINTS).max(1);
        Self { name: name.to_owned(), points: finite.chunks(bunch).filter_map(keep).collect() }
    }
}

fn linear(area: &Area, what: &str, curves: &[Curve]) -> Drawn {
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for (_, y) in curves.iter().flat_map(|curve| &curve.points) {
        (low, high) = (low.min(*y), high.max(*y));
    }
    if low > high {
        (low, high) = (0.0, 1.0);
    }
    // A constant gets an axis of its own size, not of its rounding.
    let margin = (0.05 * (high - low)).max(1e-3 * high.abs()).max(1e-9);
    panel(area, what, curves, Axis::linear(low - margin..high + margin), &|y| short(*y))
}

fn logarithmic(area: &Area, what: &str, curves: &[Curve]) -> Drawn {
    let (low, high) = decades(curves.iter().flat_map(|curve| &curve.points).map(|p| p.1).filter(|&y| y > 0.0));
    panel(area, what, curves, Axis::logarithmic(low..high), &power)
}

/// Curves against time.
fn panel(area: &Area, what: &str, curves: &[Curve], y: Axis, label: &dyn Fn(&f64) -> String) -> Drawn {
    let end = curves.iter().flat_map(|curve| &curve.points).map(|p| p.0).fold(0.0, f64::max);
    let mut chart = ChartBuilder::on(area)
        .margin(10)
        .x_label_area_size(38)
        .y_label_area_size(72)
        .build_cartesian_2d(Axis::linear(0.0..if end > 0.0 { end } else { 1.0 }), y)?;
    chart
        .configure_mesh()
        .max_light_lines(0)
        .bold_line_style(GRID)
        .x_labels(8)
        .y_labels(7)
        .x_desc("time, s")
        .y_desc(what)
        .y_label_formatter(&label)
        .label_style((FONT, 13))
        .axis_desc_style((FONT, 15))
        .draw()?;
    let mut named = false;
    for (curve, colour) in curves.iter().zip(COLOURS) {
        let style = colour.stroke_width(2);
        let drawn = chart.draw_series(LineSeries::new(curve.points.iter().copied(), style))?;
        if !curve.name.is_empty() {
            drawn.label(&curve.name).legend(move |(x, y)| PathElement::new(vec![(x, y), (x + 18, y)], style));
            named = true;
        }
    }
    if named {
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperRight)
            .background_style(WHITE.mix(0.8))
            .border_style(GRID)
            .label_font((FONT, 13))
            .draw()?;
    }
    Ok(())
}

/// A number as a linear axis shows it.
fn short(y: f64) -> String {
    let digits = format!("{y:.5}");
    let size = y.abs();
    match size {
        0.0 => "0".into(),
        _ if !(1e-4..1e5).contains(&size) => format!("{y:.1e}"),
        _ => digits.trim_end_matches('0').trim_end_matches('.').to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Curve, POINTS, largest, last, short};

    #[test]
    fn long_curves_keep_their_peaks() {
        let points: Vec<_> = (0..10_000).map(|i| (f64::from(i), if i == 777 { 9.0 } else { 1.0 })).collect();
        let peaks = Curve::new("", &points, largest);
        assert!(peaks.points.len() <= POINTS && peaks.points.contains(&(777.0, 9.0)));
        let ends = Curve::new("", &points, last);
        assert_eq!(ends.points.last(), Some(&(9999.0, 1.0)));
        assert_eq!(Curve::new("", &points[..5], last).points, points[..5], "short ones are drawn as they are");
    }

    #[test]
    fn axes_have_short_numbers() {
        assert_eq!([0.0, 0.05, -2.5, 300.0, 2e-7, 1.5e6].map(short), ["0", "0.05", "-2.5", "300", "2.0e-7", "1.5e6"]);
    }
}
