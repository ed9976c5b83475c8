//! Uneven ground: a heightfield whose heights are smooth noise.

use manyworlds::model::HeightField;
use manyworlds::random;

/// All environments have the same ground; where an episode starts on it differs.
const SEED: u64 = 20_261_124;
/// Distance of the numbers that are drawn, in samples of the field, and their share of the height.
const WAVES: [(usize, f64); 3] = [(16, 0.5), (4, 0.35), (1, 0.15)];

/// Fills a field with heights from 0 to `roughness`, m: sums of random numbers on ever finer grids, linear in between.
pub(crate) fn fill(field: &mut HeightField, roughness: f64) {
    for row in 0..field.n_rows {
        for col in 0..field.n_cols {
            let waves =
                WAVES.iter().zip(0..).map(|(&(distance, share), octave)| share * wave(octave, distance, row, col));
            field.heights[row * field.n_cols + col] = roughness * waves.sum::<f64>();
        }
    }
}

/// From 0 to 1.
fn wave(octave: u64, distance: usize, row: usize, col: usize) -> f64 {
    let at = |row: usize, col: usize| 0.5 * (1.0 + random::symmetric(SEED, octave, row as u64, col as u64));
    let ([i, j], [y, x]) =
        ([row, col].map(|k| k / distance), [row, col].map(|k| (k % distance) as f64 / distance as f64));
    let along = |row: usize| (1.0 - x) * at(row, j) + x * at(row, j + 1);
    (1.0 - y) * along(i) + y * along(i + 1)
}

/// Height of a field's surface at a place in its own frame, m; beyond its edges that of the edge.
pub(crate) fn height(field: &HeightField, x: f64, y: f64) -> f64 {
    let cell = |x: f64, half: f64, n: usize| {
        let along = ((x / half + 1.0) / 2.0 * (n - 1) as f64).clamp(0.0, (n - 1) as f64);
        let first = (along as usize).min(n - 2);
        (first, along - first as f64)
    };
    let ((row, v), (col, u)) = (cell(y, field.half[1], field.n_rows), cell(x, field.half[0], field.n_cols));
    let at = |row: usize, col: usize| field.heights[row * field.n_cols + col];
    let (first, last) = (at(row, col), at(row + 1, col + 1));
    // Two triangles, cut from the first corner to the last.
    if u >= v {
        let corner = at(row, col + 1);
        first + u * (corner - first) + v * (last - corner)
    } else {
        let corner = at(row + 1, col);
        first + v * (corner - first) + u * (last - corner)
    }
}

#[cfg(test)]
mod tests {
    use manyworlds::model::HeightField;

    use super::{fill, height};

    fn field() -> HeightField {
        let mut field = HeightField {
            name: String::new(),
            n_rows: 33,
            n_cols: 49,
            half: [3.0, 2.0],
            heights: vec![0.0; 33 * 49],
            base: 0.1,
        };
        fill(&mut field, 0.2);
        field
    }

    #[test]
    fn the_surface_goes_through_its_samples_and_lies_in_its_triangles() {
        let field = field();
        for (row, col) in [(0, 0), (7, 11), (32, 48), (31, 0)] {
            let sample = field.vertex(row, col);
            assert!((height(&field, sample.x, sample.y) - sample.z).abs() < 1e-12, "{row}, {col}");
        }
        for corners in HeightField::triangles(5, 9) {
            let corners = corners.map(|(row, col)| field.vertex(row, col));
            let inside = corners[0] * 0.2 + corners[1] * 0.5 + corners[2] * 0.3;
            assert!((height(&field, inside.x, inside.y) - inside.z).abs() < 1e-12);
        }
        assert!((height(&field, 9.0, 9.0) - field.vertex(32, 48).z).abs() < 1e-12);
    }

    #[test]
    fn heights_stay_in_their_range_and_fill_it() {
        let heights = field().heights;
        let (low, high) = heights.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), &h| (low.min(h), high.max(h)));
        assert!((0.0..0.06).contains(&low) && high <= 0.2 && high > 0.14, "{low} to {high}");
    }
}
