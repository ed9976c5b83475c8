//! The window of `manyworlds view`, on a display without a screen (Xvfb), beside the picture that `render` draws.
//!
//! No part of `.ci/run`: the window is not built by default, and a display is one more thing to install.

use std::fs::{self, File};
use std::io::{BufReader, BufWriter};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use crate::run::{cargo, checked, program, root, run, succeeds};

/// What is shown, and how large.
const SCENE: &str = "quadruped-drop";
const SIZE: [usize; 2] = [640, 480];
/// Side of the squares of pixels whose means are compared, and their largest mean difference, of 255.
const SQUARE: usize = 8;
const ALIKE: f64 = 1.5;
/// Longest time until the window shows it.
const LIMIT: Duration = Duration::from_secs(120);

/// A program that ends with this.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Options of `view`.
#[derive(Args)]
pub(crate) struct ViewArgs {
    /// Checks and tests recordings for Rerun rather than the window: builds their packages, which takes long
    #[arg(long)]
    rerun: bool,
}

/// Checks and tests what the feature `rerun` adds.
fn recordings() -> Result<()> {
    let package = ["--release", "-p", "manyworlds-cli", "--features", "rerun"];
    run(checked().arg("clippy").args(package).args(["--all-targets", "--", "-D", "warnings"]))?;
    run(checked().arg("test").args(package).args(["--bins", "recording"]))
}

/// Opens the window and compares.
pub(crate) fn view(args: &ViewArgs) -> Result<()> {
    if args.rerun {
        return recordings();
    }
    ensure!(
        succeeds(Command::new("Xvfb").arg("-help")),
        "Xvfb, a display without a screen, was not found: apt-get install xvfb"
    );
    run(cargo().args(["build", "--release", "-p", "manyworlds-cli", "--features", "window"]))?;
    let folder = crate::run::target().join("view");
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let picture = |name: &str, steps: &str| -> Result<Image> {
        let path = folder.join(name);
        let size = format!("{}x{}", SIZE[0], SIZE[1]);
        run(Command::new(program()).args(["render", SCENE, "--steps", steps, "--size", &size, "--out"]).arg(&path))?;
        from_png(&path)
    };
    let (expected, later) = (picture("start.png", "0")?, picture("later.png", "300")?);

    // A number that no other display has, most likely.
    let display = format!(":{}", 100 + std::process::id() % 900);
    let screen = format!("{}x{}x24", SIZE[0], SIZE[1]);
    let quiet = |command: &mut Command| command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().map(Running);
    let mut xvfb = Command::new("Xvfb");
    xvfb.arg(&display).args(["-screen", "0", &screen, "-nocursor", "-fbdir"]).arg(&folder);
    let _xvfb = quiet(&mut xvfb).context("Xvfb")?;
    std::thread::sleep(Duration::from_secs(1));
    let screen = folder.join("Xvfb_screen0");

    let off = |shown: &Image| difference(shown, &expected, [0, 0]);
    let shown = wait_for(&display, &screen, &["--plain"], |shown| off(shown) < ALIKE)?;
    eprintln!("  the window differs by {:.2} of 255 from the picture of `render`", off(&shown));
    let moved = difference(&shown, &later, [0, 0]);
    ensure!(
        moved > ALIKE,
        "a picture three hundred steps later differs by {moved:.2} alone: the comparison sees nothing"
    );

    let is_written =
        |shown: &Image| overlay(shown, &expected).is_some_and(|(panel, _)| difference(shown, &expected, panel) < ALIKE);
    let written = wait_for(&display, &screen, &[], is_written)?;
    to_png(&folder.join("window.png"), &written)?;
    if let Some(([width, height], letters)) = overlay(&written, &expected) {
        eprintln!("  text covers {width} x {height} pixels; {letters} of them are of letters");
    }
    ensure!(overlay(&shown, &expected).is_none(), "a window without text passes as one with it");
    Ok(())
}

/// What a window with these options shows once it is as expected.
fn wait_for(display: &str, screen: &Path, options: &[&str], done: impl Fn(&Image) -> bool) -> Result<Image> {
    let size = format!("{}x{}", SIZE[0], SIZE[1]);
    let child = Command::new(program())
        .args(["view", SCENE, "--paused", "--size", &size])
        .args(options)
        .env("DISPLAY", display)
        .current_dir(root())
        .spawn()
        .context("manyworlds view")?;
    let mut window = Running(child);
    let start = Instant::now();
    loop {
        std::thread::sleep(Duration::from_millis(200));
        if let Some(status) = window.0.try_wait()? {
            bail!("the window closed by itself: {status}");
        }
        let shown = from_screen(screen)?;
        if done(&shown) {
            return Ok(shown);
        }
        if start.elapsed() > LIMIT {
            let path = screen.with_file_name("unexpected.png");
            to_png(&path, &shown)?;
            bail!("with options {options:?} the window shows {}, which is not {SCENE} at its start", path.display());
        }
    }
}

/// Width and height of what covers the picture from its upper left corner on: the darker rows and columns there.
fn panel(shown: &Image, expected: &Image) -> [usize; 2] {
    let light = |pixel: &[u8; 3]| pixel.iter().map(|&c| f64::from(c)).sum::<f64>();
    let darker = |x: usize, y: usize| light(&shown[y * SIZE[0] + x]) < 0.85 * light(&expected[y * SIZE[0] + x]);
    let side = |n: usize, at: &dyn Fn(usize) -> bool| (0..n).take_while(|&i| at(i)).count();
    // Along the margin, where there are no letters.
    [side(SIZE[0], &|x| darker(x, 2)), side(SIZE[1], &|y| darker(2, y))]
}

/// Size of a dark panel in the upper left corner, and its pixels that are of light letters, if it has as many as certificate and
/// times.
fn overlay(shown: &Image, expected: &Image) -> Option<([usize; 2], usize)> {
    let [width, height] = panel(shown, expected);
    let inside = (0..height).flat_map(|y| (0..width).map(move |x| y * SIZE[0] + x));
    let letters = inside.filter(|&i| shown[i].iter().all(|&c| c > 200)).count();
    let fits = (100..SIZE[0] / 2).contains(&width) && (80..SIZE[1] / 2).contains(&height);
    (fits && letters > 1000).then_some(([width, height], letters))
}

/// Red, green and blue, row by row.
type Image = Vec<[u8; 3]>;

fn from_png(path: &Path) -> Result<Image> {
    let file = BufReader::new(File::open(path).with_context(|| path.display().to_string())?);
    let mut reader = png::Decoder::new(file).read_info()?;
    let mut pixels = vec![0; reader.output_buffer_size().context("a picture too large")?];
    reader.next_frame(&mut pixels)?;
    Ok(pixels.chunks_exact(3).map(|p| [p[0], p[1], p[2]]).collect())
}

fn to_png(path: &Path, image: &Image) -> Result<()> {
    let file = BufWriter::new(File::create(path).with_context(|| path.display().to_string())?);
    let mut encoder = png::Encoder::new(file, SIZE[0] as u32, SIZE[1] as u32);
    encoder.set_color(png::ColorType::Rgb);
    Ok(encoder.write_header()?.write_image_data(image.as_flattened())?)
}

/// What a display shows, from Xvfb's file: a header of words, highest byte first, colours, pixels of four bytes (X11's
/// `XWDFile.h`).
fn from_screen(path: &Path) -> Result<Image> {
    let bytes = fs::read(path).with_context(|| path.display().to_string())?;
    let word = |number: usize| -> Result<usize> {
        let four = bytes.get(4 * number..4 * number + 4).context("a screen's file that ends early")?;
        Ok(u32::from_be_bytes([four[0], four[1], four[2], four[3]]) as usize)
    };
    let (header, pitch, colours) = (word(0)?, word(12)?, word(19)?);
    ensure!(word(11)? == 32 && word(7)? == 0, "a screen of pixels of four bytes, lowest first, is expected");
    let first = header + 12 * colours;
    let mut out = Vec::with_capacity(SIZE[0] * SIZE[1]);
    for row in 0..SIZE[1] {
        let line = bytes.get(first + row * pitch..first + row * pitch + 4 * SIZE[0]).context("a screen too small")?;
        out.extend(line.chunks_exact(4).map(|p| [p[2], p[1], p[0]]));
    }
    Ok(out)
}

/// Mean difference of two pictures looked at coarsely, of 255, but for what a panel of this size covers.
fn difference(a: &Image, b: &Image, panel: [usize; 2]) -> f64 {
    let across = SIZE[0] / SQUARE;
    let coarse = |image: &Image| {
        let mut sums = vec![0.0; 3 * across * (SIZE[1] / SQUARE)];
        let bare = |i: &usize| i % SIZE[0] >= panel[0] || i / SIZE[0] >= panel[1];
        for (i, pixel) in image.iter().enumerate().filter(|(i, _)| bare(i)) {
            let square = i / SIZE[0] / SQUARE * across + i % SIZE[0] / SQUARE;
            (0..3).for_each(|c| sums[3 * square + c] += f64::from(pixel[c]) / (SQUARE * SQUARE) as f64);
        }
        sums
    };
    let (a, b) = (coarse(a), coarse(b));
    a.iter().zip(&b).map(|(a, b)| (a - b).abs()).sum::<f64>() / a.len() as f64
}
