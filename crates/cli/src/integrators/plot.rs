//! Energy against time, error against the step.

use plotters::prelude::*;

use super::Report;
use crate::figure::{Area, Axis, COLOURS, Drawn, FONT, Figure, GRID, decades, power};

/// Pixels of a figure.
const SIZE: (u32, u32) = (1100, 480);
/// Errors below are drawn at this: log axes have no zero.
const FLOOR: f64 = 1e-17;

impl Figure for Report {
    fn size(&self) -> (u32, u32) {
        SIZE
    }

    fn draw(&self, root: &Area) -> Drawn {
        let title = format!("{}, solver {}, steps of {} s and less", self.model, self.solver, self.steps[0]);
        let root = root.titled(&title, (FONT, 18))?;
        let (left, right) = root.split_horizontally(SIZE.0 / 2);
        let energies: Vec<_> = self.rules.iter().map(|rule| (rule.integrator, rule.energies.clone())).collect();
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for y in energies.iter().flat_map(|(_, points)| points).map(|point| point.1).filter(|y| y.is_finite()) {
            (low, high) = (low.min(y), high.max(y));
        }
        let margin = (0.05 * (high - low)).max(1e-9);
        let across = Axis::linear(0.0..self.seconds);
        let up = Axis::linear(low - margin..high + margin);
        let labels: [Label; 2] = [&|t| format!("{t:.1}"), &|y| format!("{y:.3}")];
        let middle = SeriesLabelPosition::MiddleRight;
        panel(&left, ["time, s", "energy, J"], (across, up), &energies, labels, middle)?;

        let line = |errors: &[f64]| self.steps.iter().copied().zip(errors.iter().map(|e| e.max(FLOOR))).collect();
        let mut errors: Vec<(&str, Vec<(f64, f64)>)> =
            self.rules.iter().map(|rule| (rule.integrator, line(&rule.errors))).collect();
        // What a rule of each order would do from the greatest error on.
        let most = errors.iter().flat_map(|(_, points)| points).map(|point| point.1).fold(FLOOR, f64::max);
        for (name, order) in [("first order", 1), ("second order", 2)] {
            errors.push((name, self.steps.iter().map(|h| (*h, most * (h / self.steps[0]).powi(order))).collect()));
        }
        let all = || errors.iter().flat_map(|(_, points)| points);
        let ((x0, x1), (y0, y1)) = (decades(all().map(|p| p.0)), decades(all().map(|p| p.1)));
        let (across, up) = (Axis::logarithmic(x0..x1), Axis::logarithmic(y0..y1));
        panel(
            &right,
            ["step, s", "error of q"],
            (across, up),
            &errors,
            [&power, &power],
            SeriesLabelPosition::LowerRight,
        )
    }
}

/// How an axis shows a number.
type Label<'a> = &'a dyn Fn(&f64) -> String;

/// Curves with their names.
fn panel(
    area: &Area,
    [across, up]: [&str; 2],
    (x, y): (Axis, Axis),
    curves: &[(&str, Vec<(f64, f64)>)],
    [x_label, y_label]: [Label; 2],
    legend: SeriesLabelPosition,
) -> Drawn {
    let mut chart =
        ChartBuilder::on(area).margin(12).x_label_area_size(42).y_label_area_size(72).build_cartesian_2d(x, y)?;
    chart
        .configure_mesh()
        .max_light_lines(0)
        .bold_line_style(GRID)
        .x_desc(across)
        .y_desc(up)
        .x_label_formatter(&x_label)
        .y_label_formatter(&y_label)
        .label_style((FONT, 13))
        .axis_desc_style((FONT, 15))
        .draw()?;
    for ((name, points), colour) in curves.iter().zip(COLOURS) {
        let style = colour.stroke_width(2);
        let finite = points.iter().copied().filter(|point| point.1.is_finite());
        let drawn = chart.draw_series(LineSeries::new(finite, style))?;
        drawn.label(*name).legend(move |(x, y)| PathElement::new(vec![(x, y), (x + 18, y)], style));
    }
    chart
        .configure_series_labels()
        .position(legend)
        .background_style(WHITE.mix(0.8))
        .border_style(GRID)
        .label_font((FONT, 13))
        .draw()
}
