//! Textures: patterns, and pictures from files. As they change no motion, one that cannot be read is listed and not refused.

use std::path::Path;
use std::sync::Arc;

use super::Importer;
use super::visual::colour;
use crate::attributes::Attributes;
use crate::visual::{Image, Mark, Pattern, Pixels, Texture, TextureKind};
use crate::xml::Element;
use crate::{ModelError, picture};

/// Files of a cube's sides, in the order of [`Image::Sides`], and their letters in a grid.
const SIDES: [(&str, char); 6] =
    [("fileright", 'R'), ("fileleft", 'L'), ("fileup", 'U'), ("filedown", 'D'), ("filefront", 'F'), ("fileback", 'B')];

impl Importer<'_> {
    pub(super) fn texture(&mut self, element: &Element) -> Result<(), ModelError> {
        let a = Attributes::bare(element);
        let kind = match a.get("type") {
            Some("2d") => TextureKind::Planar,
            None | Some("cube") => TextureKind::Cube,
            Some("skybox") => TextureKind::Skybox,
            Some(other) => return Err(a.error(format!("unknown texture type `{other}`"))),
        };
        let pattern = match a.get("builtin") {
            None | Some("none") => None,
            Some("flat") => Some(Pattern::Flat),
            Some("checker") => Some(Pattern::Checker),
            Some("gradient") => Some(Pattern::Gradient),
            Some(other) => return Err(a.error(format!("unknown builtin texture `{other}`"))),
        };
        let image = match pattern {
            Some(pattern) => {
                let side = |name: &str| {
                    let side = a.integer(name, 0)?;
                    // As many as a pattern can show, and not more than memory holds.
                    Ok::<_, ModelError>(side.clamp(1, picture::MOST as i32) as u32)
                };
                let width = side("width")?;
                let height = if kind == TextureKind::Planar { side("height")? } else { width };
                Image::Pattern {
                    pattern,
                    colours: [colour(&a, "rgb1", [0.8; 3])?, colour(&a, "rgb2", [0.5; 3])?],
                    mark: mark(&a)?,
                    size: [width, height],
                }
            }
            None => match self.read(&a, kind)? {
                Ok(image) => image,
                Err(why) => {
                    self.report.ignore(element.location(), format!("looks only: {why}"));
                    return Ok(());
                }
            },
        };
        let stem = a.get("file").and_then(|file| Path::new(file).file_stem()?.to_str()).unwrap_or_default();
        let name = a.get("name").unwrap_or(stem).to_owned();
        let index = self.builder.visual.textures.len();
        if a.has("name") {
            Self::name(&mut self.names.textures, element, &name, index)?;
        } else {
            self.names.textures.entry(name.clone()).or_insert(index);
        }
        self.builder.visual.textures.push(Texture { name, kind, image });
        Ok(())
    }

    /// The picture of a texture's file or files; why there is none.
    fn read(&self, a: &Attributes, kind: TextureKind) -> Result<Result<Image, String>, ModelError> {
        let [hflip, vflip] = [a.flag("hflip", false)?, a.flag("vflip", false)?];
        let pixels = |file: &str| {
            let path = self.compiler.texture_path(&self.directory, file);
            let bytes =
                (self.resolver)(&path).map_err(|error| format!("cannot read texture {}: {error}", path.display()))?;
            let pixels = picture::read(&bytes).map_err(|why| format!("texture {}: {why}", path.display()))?;
            Ok::<_, String>(flipped(pixels, hflip, vflip))
        };
        let plain = colour(a, "rgb1", [0.8; 3])?.map(|x| (255.0 * x) as u8);
        let absent = || Pixels { width: 1, height: 1, rgb: Arc::from(plain) };
        let [rows, columns] = a.exactly::<2>("gridsize")?.unwrap_or([1.0; 2]).map(|n| n as usize);
        let Some(file) = a.get("file") else {
            if kind == TextureKind::Planar || !SIDES.iter().any(|(name, _)| a.has(name)) {
                return Ok(Err("a texture without a file or a pattern".into()));
            }
            let sides: Result<Vec<Pixels>, String> =
                SIDES.iter().map(|(name, _)| a.get(name).map_or_else(|| Ok(absent()), pixels)).collect();
            return Ok(sides.map(sides_of));
        };
        let whole = match pixels(file) {
            Ok(whole) => whole,
            Err(why) => return Ok(Err(why)),
        };
        if kind == TextureKind::Planar || (rows, columns) == (1, 1) {
            return Ok(Ok(Image::Pixels(whole)));
        }
        let layout: Vec<char> = a.get("gridlayout").unwrap_or("").chars().collect();
        if rows.checked_mul(columns).is_none_or(|n| n == 0 || n > 12 || layout.len() < n) {
            return Err(a.error(format!(
                "`gridsize` {rows} x {columns} needs 1 to 12 squares and as many letters of `gridlayout`, found {}",
                layout.len()
            )));
        }
        if let Some(letter) = layout.iter().find(|&&letter| letter != '.' && SIDES.iter().all(|side| side.1 != letter))
        {
            return Err(a.error(format!("`gridlayout` is made of .RLUDFB, found `{letter}`")));
        }
        let side = |letter| {
            let at = layout.iter().take(rows * columns).rposition(|&found| found == letter);
            at.map_or_else(absent, |at| part(&whole, [at / columns, at % columns], [rows, columns]))
        };
        Ok(Ok(sides_of(SIDES.iter().map(|&(_, letter)| side(letter)).collect())))
    }
}

fn sides_of(sides: Vec<Pixels>) -> Image {
    let nothing = Pixels { width: 0, height: 0, rgb: Arc::from([]) };
    let mut six = std::array::from_fn(|_| nothing.clone());
    six.iter_mut().zip(sides).for_each(|(to, side)| *to = side);
    Image::Sides(Box::new(six))
}

fn mark(a: &Attributes) -> Result<Option<(Mark, [f32; 3])>, ModelError> {
    let mark = match a.get("mark") {
        None | Some("none") => return Ok(None),
        Some("edge") => Mark::Edge,
        Some("cross") => Mark::Cross,
        Some("random") => Mark::Dots(a.number("random", 0.01)?),
        Some(other) => return Err(a.error(format!("unknown texture mark `{other}`"))),
    };
    Ok(Some((mark, colour(a, "markrgb", [0.0; 3])?)))
}

/// A picture turned about its middle column or row.
fn flipped(pixels: Pixels, hflip: bool, vflip: bool) -> Pixels {
    if !(hflip || vflip) {
        return pixels;
    }
    let (width, height) = (pixels.width, pixels.height);
    let from = |row: usize, column: usize| {
        let row = if vflip { height - 1 - row } else { row };
        let column = if hflip { width - 1 - column } else { column };
        &pixels.rgb[3 * (row * width + column)..][..3]
    };
    let rows = (0..height).flat_map(|row| (0..width).flat_map(move |column| [(row, column)]));
    let rgb = rows.flat_map(|(row, column)| from(row, column).iter().copied()).collect();
    Pixels { width, height, rgb }
}

/// One square of a grid.
fn part(whole: &Pixels, [row, column]: [usize; 2], [rows, columns]: [usize; 2]) -> Pixels {
    let (width, height) = (whole.width / columns, whole.height / rows);
    let line = |line: usize| {
        let from = (row * height + line) * whole.width + column * width;
        whole.rgb[3 * from..3 * (from + width)].iter().copied()
    };
    Pixels { width, height, rgb: (0..height).flat_map(line).collect() }
}
