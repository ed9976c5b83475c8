//! Files of pictures, by the endings of their names.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufWriter, ErrorKind, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use color_quant::NeuQuant;

use crate::{Picture, RenderError};

/// What a file of pictures is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// One picture.
    Png,
    /// A film of 256 colours.
    Gif,
    /// A film, by the program `ffmpeg`.
    Mp4,
    /// A film that pages of browsers show as a picture, by the program `ffmpeg`.
    WebP,
}

/// Pictures a second of a film. A GIF counts hundredths of a second.
const RATE: u16 = 25;

impl Format {
    /// By a path's ending.
    ///
    /// # Errors
    /// If it is none of these.
    pub fn of(path: &Path) -> Result<Self, RenderError> {
        match path.extension().and_then(OsStr::to_str).map(str::to_ascii_lowercase).as_deref() {
            Some("png") => Ok(Self::Png),
            Some("gif") => Ok(Self::Gif),
            Some("mp4") => Ok(Self::Mp4),
            Some("webp") => Ok(Self::WebP),
            _ => Err(RenderError::Extension(path.display().to_string())),
        }
    }

    /// The best for a film that this machine can write: MP4 where the program `ffmpeg` is found.
    #[must_use]
    pub fn of_films() -> Self {
        let mut ffmpeg = Command::new("ffmpeg");
        ffmpeg.arg("-version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if ffmpeg.status().is_ok_and(|status| status.success()) { Self::Mp4 } else { Self::Gif }
    }

    /// Ending of names of such files.
    #[must_use]
    pub fn extension(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Gif => "gif",
            Self::Mp4 => "mp4",
            Self::WebP => "webp",
        }
    }

    /// Whether it shows several pictures one after the other.
    #[must_use]
    pub fn is_film(self) -> bool {
        self != Self::Png
    }

    /// Time from one picture of a film to the next, s.
    #[must_use]
    pub fn interval(self) -> f64 {
        1.0 / f64::from(RATE)
    }

    /// Writes pictures of one size, at least one; of several a PNG holds the last.
    ///
    /// # Errors
    /// If the file cannot be written, or there is no `ffmpeg` for an MP4 or WebP.
    pub fn write(self, path: &Path, pictures: &[Picture]) -> Result<(), RenderError> {
        let failed = |reason: String| RenderError::File { path: path.display().to_string(), reason };
        let last = pictures.last().ok_or_else(|| failed("there is no picture to write".into()))?;
        let file = || File::create(path).map(BufWriter::new).map_err(|error| failed(error.to_string()));
        match self {
            Self::Png => write_png(file()?, last).map_err(|error| failed(error.to_string())),
            Self::Gif => write_gif(file()?, pictures).map_err(|error| failed(error.to_string())),
            // Players want halved colours, and so even sides.
            Self::Mp4 => by_ffmpeg(path, pictures, &["-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2", "-pix_fmt", "yuv420p"])
                .map_err(failed),
            Self::WebP => {
                by_ffmpeg(path, pictures, &["-c:v", "libwebp_anim", "-loop", "0", "-quality", "80"]).map_err(failed)
            }
        }
    }

    /// The bytes of a picture as PNG, or of several as GIF.
    ///
    /// # Errors
    /// If there is none.
    pub fn encode(pictures: &[Picture]) -> Result<Vec<u8>, RenderError> {
        let failed = |reason: String| RenderError::File { path: "a picture in memory".into(), reason };
        let mut bytes = Vec::new();
        match pictures {
            [] => return Err(failed("there is no picture to write".into())),
            [one] => write_png(&mut bytes, one).map_err(|error| failed(error.to_string()))?,
            _ => write_gif(&mut bytes, pictures).map_err(|error| failed(error.to_string()))?,
        }
        Ok(bytes)
    }
}

fn write_png(to: impl Write, picture: &Picture) -> Result<(), png::EncodingError> {
    let mut encoder = png::Encoder::new(to, picture.size.width, picture.size.height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_compression(png::Compression::High);
    encoder.set_source_srgb(png::SrgbRenderingIntent::Perceptual);
    let pixels: Vec<u8> = picture.pixels.chunks_exact(4).flat_map(|p| [p[0], p[1], p[2]]).collect();
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&pixels)?;
    writer.finish()
}

/// Colours of a GIF but for the one that means "as before".
const COLOURS: usize = 255;
const AS_BEFORE: u8 = 255;

fn write_gif(to: impl Write, pictures: &[Picture]) -> Result<(), gif::EncodingError> {
    let palette = palette(pictures);
    // By the upper six bits of each channel, once they are asked for.
    let mut known = vec![None; 1 << 18];
    let mut nearest = |p: &[u8]| {
        let key = p[..3].iter().fold(0, |key, &x| key << 6 | usize::from(x >> 2));
        *known[key]
            .get_or_insert_with(|| palette.index_of(&[p[0] & 0xfc | 2, p[1] & 0xfc | 2, p[2] & 0xfc | 2, 255]) as u8)
    };
    let size = pictures[0].size;
    let side = |pixels: u32| pixels as u16; // A size is at most 8192.
    let mut encoder = gif::Encoder::new(to, side(size.width), side(size.height), &palette.color_map_rgb())?;
    encoder.set_repeat(gif::Repeat::Infinite)?;
    let mut before: Vec<u8> = Vec::new();
    for picture in pictures {
        let now: Vec<u8> = picture.pixels.chunks_exact(4).map(&mut nearest).collect();
        // What did not change is left out: it packs well.
        let changed = if before.is_empty() {
            now.clone()
        } else {
            now.iter().zip(&before).map(|(&now, &before)| if now == before { AS_BEFORE } else { now }).collect()
        };
        let frame = gif::Frame {
            width: side(size.width),
            height: side(size.height),
            delay: 100 / RATE,
            transparent: Some(AS_BEFORE),
            dispose: gif::DisposalMethod::Keep,
            buffer: changed.into(),
            ..gif::Frame::default()
        };
        encoder.write_frame(&frame)?;
        before = now;
    }
    Ok(())
}

/// Colours that suit all pictures, by a sample of their pixels.
fn palette(pictures: &[Picture]) -> NeuQuant {
    const SAMPLE: usize = 200_000;
    let all: usize = pictures.iter().map(|picture| picture.pixels.len() / 4).sum();
    // Not a divisor of widths, so that columns take turns.
    let stride = (all / SAMPLE).max(1) | 1;
    let pixels = pictures.iter().flat_map(|picture| picture.pixels.chunks_exact(4));
    let sample: Vec<u8> = pixels.step_by(stride).flatten().copied().collect();
    NeuQuant::new(3, COLOURS, &sample)
}

/// Has the program `ffmpeg` write a film, with options for its kind.
fn by_ffmpeg(path: &Path, pictures: &[Picture], options: &[&str]) -> Result<(), String> {
    let size = pictures[0].size;
    let mut child = Command::new("ffmpeg")
        .args(["-loglevel", "error", "-y", "-f", "rawvideo", "-pix_fmt", "rgba"])
        .args(["-s", &format!("{}x{}", size.width, size.height), "-r", &RATE.to_string(), "-i", "-"])
        .args(options)
        .arg(path)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| match error.kind() {
            ErrorKind::NotFound => {
                "an .mp4 or .webp is written by the program ffmpeg, which was not found; a .gif needs no other program"
                    .to_owned()
            }
            _ => format!("ffmpeg: {error}"),
        })?;
    // Where ffmpeg ends early, what it says is told below, rather than that nobody reads.
    let sent = child.stdin.take().map(|mut to| pictures.iter().try_for_each(|picture| to.write_all(&picture.pixels)));
    let output = child.wait_with_output().map_err(|error| format!("ffmpeg: {error}"))?;
    if !output.status.success() {
        return Err(format!("ffmpeg: {}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim()));
    }
    sent.transpose().map(|_| ()).map_err(|error| format!("ffmpeg: {error}"))
}
