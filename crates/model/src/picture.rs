//! Pictures from files.

use std::io::Cursor;
use std::sync::Arc;

use crate::visual::Pixels;

/// Longest side that is kept: larger pictures are halved until they fit, as nothing that is drawn shows more.
pub(crate) const MOST: usize = 1024;
/// Bytes of a picture in memory above which it is taken for a mistake.
const MOST_BYTES: usize = 400_000_000;

/// Reads a PNG of any colours; what is transparent counts as opaque.
pub(crate) fn read(bytes: &[u8]) -> Result<Pixels, String> {
    let mut decoder = png::Decoder::new(Cursor::new(bytes));
    decoder.set_transformations(png::Transformations::EXPAND | png::Transformations::STRIP_16);
    let said = |error: png::DecodingError| format!("no PNG that can be read: {error}");
    let mut reader = decoder.read_info().map_err(said)?;
    let size = reader.output_buffer_size().filter(|&size| size <= MOST_BYTES).ok_or("the picture is too large")?;
    let mut samples = vec![0; size];
    let info = reader.next_frame(&mut samples).map_err(said)?;
    let (mut width, mut height) = (info.width as usize, info.height as usize);
    let of_pixel = info.color_type.samples();
    let colour = |pixel: &[u8]| if of_pixel < 3 { [pixel[0]; 3] } else { [pixel[0], pixel[1], pixel[2]] };
    let lines = samples.chunks_exact(info.line_size.max(1)).take(height);
    let mut rgb: Vec<[u8; 3]> = lines.flat_map(|line| line.chunks_exact(of_pixel).take(width).map(colour)).collect();
    while width.max(height) > MOST {
        rgb = halved(&rgb, width, height);
        (width, height) = (width.div_ceil(2), height.div_ceil(2));
    }
    Ok(Pixels { width, height, rgb: Arc::from(rgb.as_flattened()) })
}

/// Means of two by two pixels; of the last row or column alone where their number is odd.
fn halved(rgb: &[[u8; 3]], width: usize, height: usize) -> Vec<[u8; 3]> {
    let at = |row: usize, column: usize| rgb[row.min(height - 1) * width + column.min(width - 1)];
    let mean = |row: usize, column: usize| {
        let four = [at(row, column), at(row, column + 1), at(row + 1, column), at(row + 1, column + 1)];
        std::array::from_fn(|k| (four.iter().map(|pixel| u16::from(pixel[k])).sum::<u16>() / 4) as u8)
    };
    let columns = |row: usize| (0..width).step_by(2).map(move |column| (row, column));
    (0..height).step_by(2).flat_map(columns).map(|(row, column)| mean(row, column)).collect()
}
