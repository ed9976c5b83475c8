//! The curves as figures: residual against iterations and against time, a line a solver.

use std::path::{Path, PathBuf};

use plotters::prelude::*;

use super::measure::{Point, Run};
use super::report::Problem;
use crate::failure::Failure;
use crate::figure::{Area, Axis, COLOURS, Drawn, FONT, Figure, Format, GRID, decades, power};

/// Pixels of a figure.
const SIZE: (u32, u32) = (1100, 480);
/// Residuals below are drawn at this, N s: log axes have no zero.
const FLOOR: f64 = 1e-17;

/// Where figures go.
pub(super) enum Plot {
    /// One figure, `.svg` or `.png` by its name.
    File(PathBuf, Format),
    /// Two files a problem.
    Folder(PathBuf),
}

impl Plot {
    /// By the path's ending: none means a folder, which is made.
    pub(super) fn new(path: &Path) -> Result<Self, Failure> {
        match (Format::of(path), path.extension()) {
            (Some(format), _) => Ok(Self::File(path.to_owned(), format)),
            (None, Some(other)) if !path.is_dir() => {
                let found = other.display();
                Err(Failure::file(path, format!("--plot: expected .svg, .png or a folder, found .{found}")))
            }
            _ => {
                std::fs::create_dir_all(path).map_err(|error| Failure::file(path, error))?;
                Ok(Self::Folder(path.to_owned()))
            }
        }
    }

    /// Refuses one file for several problems.
    pub(super) fn holds(&self, problems: usize) -> Result<(), Failure> {
        match self {
            Self::File(path, _) if problems > 1 => {
                let what = format!("--plot: one file is one figure, and there are {problems} problems: name a folder");
                Err(Failure::file(path, what))
            }
            _ => Ok(()),
        }
    }

    /// Draws one problem.
    pub(super) fn draw(&self, problem: &Problem) -> Result<(), Failure> {
        match self {
            Self::File(path, format) => format.write(path, problem),
            Self::Folder(folder) => {
                Format::Svg.write(&folder.join(format!("{}.svg", problem.problem)), problem)?;
                Format::Png.write(&folder.join(format!("{}.png", problem.problem)), problem)
            }
        }
    }
}

impl Figure for Problem {
    fn size(&self) -> (u32, u32) {
        SIZE
    }

    /// Both panels.
    fn draw(&self, root: &Area) -> Drawn {
        let Self { problem: name, n_v, contacts, rows, runs, .. } = self;
        let title = format!("{name}: {n_v} degrees of freedom, {contacts} contacts, {rows} rows");
        let root = root.titled(&title, (FONT, 18))?;
        let (left, right) = root.split_horizontally(SIZE.0 / 2);
        panel(&left, "iterations", runs, |p| f64::from(p.iterations))?;
        panel(&right, "time, µs", runs, |p| p.microseconds)
    }
}

/// Residual against one number of the points.
fn panel(area: &Area, axis: &str, runs: &[Run], x: fn(&Point) -> f64) -> Drawn {
    let line = |run: &Run| -> Vec<(f64, f64)> {
        let drawn = run.curve.iter().filter(|p| x(p) > 0.0 && p.residual.is_finite());
        drawn.map(|p| (x(p), p.residual.max(FLOOR))).collect()
    };
    let all: Vec<(f64, f64)> = runs.iter().flat_map(line).collect();
    let ((x0, x1), (y0, y1)) = (decades(all.iter().map(|p| p.0)), decades(all.iter().map(|p| p.1)));
    let mut chart = ChartBuilder::on(area)
        .margin(12)
        .x_label_area_size(42)
        .y_label_area_size(72)
        .build_cartesian_2d(Axis::logarithmic(x0..x1), Axis::logarithmic(y0..y1))?;
    chart
        .configure_mesh()
        .max_light_lines(0)
        .bold_line_style(GRID)
        .x_desc(axis)
        .y_desc("residual, N s")
        .x_label_formatter(&power)
        .y_label_formatter(&power)
        .y_labels(12)
        .label_style((FONT, 13))
        .axis_desc_style((FONT, 15))
        .draw()?;
    let mut solvers: Vec<&str> = Vec::new();
    for run in runs {
        let known = solvers.iter().position(|s| *s == run.solver);
        let colour = COLOURS[known.unwrap_or(solvers.len()) % COLOURS.len()];
        if known.is_none() {
            solvers.push(run.solver);
        }
        let label = format!("{} {}", run.solver, run.precision);
        let style = colour.stroke_width(2);
        if run.precision == "f32" {
            let drawn = chart.draw_series(DashedLineSeries::new(line(run), 5, 4, style))?;
            drawn.label(label).legend(move |(x, y)| {
                let dash = |from: i32| PathElement::new(vec![(from, 0), (from + 5, 0)], style);
                EmptyElement::at((x, y)) + dash(0) + dash(9) + dash(18)
            });
        } else {
            let drawn = chart.draw_series(LineSeries::new(line(run), style))?;
            drawn.label(label).legend(move |(x, y)| PathElement::new(vec![(x, y), (x + 23, y)], style));
        }
        if let Some(&end) = line(run).last() {
            chart.draw_series([Circle::new(end, 3, colour.filled())])?;
        }
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::LowerLeft)
        .legend_area_size(32)
        .background_style(WHITE.mix(0.8))
        .border_style(RGBColor(0xbb, 0xbb, 0xbb))
        .label_font((FONT, 13))
        .draw()
}
