//! The curves as figures: residual against iterations and against time, a line a solver.

use std::ffi::OsStr;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::register_font;

use super::measure::{Point, Run};
use super::report::Problem;
use crate::failure::Failure;

/// Pixels of a figure.
const SIZE: (u32, u32) = (1100, 480);
/// A line for each solver in turn; beyond the last they begin anew.
const COLOURS: [RGBColor; 6] = [
    RGBColor(0x1f, 0x77, 0xb4),
    RGBColor(0xd6, 0x27, 0x28),
    RGBColor(0x2c, 0xa0, 0x2c),
    RGBColor(0x94, 0x67, 0xbd),
    RGBColor(0xff, 0x7f, 0x0e),
    RGBColor(0x4d, 0x4d, 0x4d),
];
/// Residuals below are drawn at this, N s: log axes have no zero.
const FLOOR: f64 = 1e-17;
/// The font of bitmaps, and what an SVG measures its text by: nothing needs to be installed.
const FONT: &str = "DejaVu Sans";
static FONT_FILE: &[u8] = include_bytes!("../../assets/DejaVuSans-ascii.ttf");

/// Where figures go.
pub(super) enum Plot {
    /// One figure, `.svg` or `.png` by its name.
    File(PathBuf),
    /// Two files a problem.
    Folder(PathBuf),
}

impl Plot {
    /// By the path's ending: none means a folder, which is made.
    pub(super) fn new(path: &Path) -> Result<Self, Failure> {
        match path.extension().and_then(OsStr::to_str).map(str::to_ascii_lowercase).as_deref() {
            Some("svg" | "png") => Ok(Self::File(path.to_owned())),
            Some(other) if !path.is_dir() => {
                Err(Failure::file(path, format!("--plot: expected .svg, .png or a folder, found .{other}")))
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
            Self::File(path) if problems > 1 => {
                let what = format!("--plot: one file is one figure, and there are {problems} problems: name a folder");
                Err(Failure::file(path, what))
            }
            _ => Ok(()),
        }
    }

    /// Draws one problem.
    pub(super) fn draw(&self, problem: &Problem) -> Result<(), Failure> {
        match self {
            Self::File(path) if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("png")) => png(path, problem),
            Self::File(path) => svg(path, problem),
            Self::Folder(folder) => {
                svg(&folder.join(format!("{}.svg", problem.problem)), problem)?;
                png(&folder.join(format!("{}.png", problem.problem)), problem)
            }
        }
    }
}

fn svg(path: &Path, problem: &Problem) -> Result<(), Failure> {
    let mut text = String::new();
    figure(&SVGBackend::with_string(&mut text, SIZE).into_drawing_area(), problem)
        .map_err(|error| Failure::file(path, error))?;
    std::fs::write(path, text).map_err(|error| Failure::file(path, error))
}

fn png(path: &Path, problem: &Problem) -> Result<(), Failure> {
    let mut pixels = vec![0; 3 * (SIZE.0 * SIZE.1) as usize];
    figure(&BitMapBackend::with_buffer(&mut pixels, SIZE).into_drawing_area(), problem)
        .map_err(|error| Failure::file(path, error))?;
    let file = File::create(path).map_err(|error| Failure::file(path, error))?;
    let mut encoder = png::Encoder::new(BufWriter::new(file), SIZE.0, SIZE.1);
    encoder.set_color(png::ColorType::Rgb);
    let written = encoder.write_header().and_then(|mut writer| {
        writer.write_image_data(&pixels)?;
        writer.finish()
    });
    written.map_err(|error| Failure::file(path, error))
}

/// Both panels.
fn figure<B: DrawingBackend>(root: &DrawingArea<B, Shift>, problem: &Problem) -> Result<(), String>
where
    B::ErrorType: 'static,
{
    static KNOWN: OnceLock<bool> = OnceLock::new();
    if !KNOWN.get_or_init(|| register_font(FONT, FontStyle::Normal, FONT_FILE).is_ok()) {
        return Err("the built-in font cannot be read".into());
    }
    let said = |error: DrawingAreaErrorKind<B::ErrorType>| error.to_string();
    root.fill(&WHITE).map_err(said)?;
    let Problem { problem: name, n_v, contacts, rows, runs, .. } = problem;
    let title = format!("{name}: {n_v} degrees of freedom, {contacts} contacts, {rows} rows");
    let root = root.titled(&title, (FONT, 18)).map_err(said)?;
    let (left, right) = root.split_horizontally(SIZE.0 / 2);
    panel(&left, "iterations", runs, |p| f64::from(p.iterations)).map_err(said)?;
    panel(&right, "time, µs", runs, |p| p.microseconds).map_err(said)?;
    root.present().map_err(said)
}

/// Residual against one number of the points.
fn panel<B: DrawingBackend>(
    area: &DrawingArea<B, Shift>,
    axis: &str,
    runs: &[Run],
    x: impl Fn(&Point) -> f64,
) -> Result<(), DrawingAreaErrorKind<B::ErrorType>>
where
    B::ErrorType: 'static,
{
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
        .build_cartesian_2d((x0..x1).log_scale(), (y0..y1).log_scale())?;
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .bold_line_style(RGBColor(0xdd, 0xdd, 0xdd))
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

/// Whole powers of ten around positive numbers.
fn decades(values: impl Iterator<Item = f64>) -> (f64, f64) {
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
fn power(x: &f64) -> String {
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
