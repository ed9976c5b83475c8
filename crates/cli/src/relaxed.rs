//! How reports say which biases gave way in a step that asked for what no motion gives.

use serde::Serialize;

/// A constraint whose bias gave way.
#[derive(Serialize)]
pub(crate) struct Relaxed {
    /// `contact`, `row` or `equality`, and its number in that list.
    pub(crate) kind: &'static str,
    pub(crate) index: usize,
    pub(crate) by: By,
    /// Only where it was left out altogether, because nothing that moves moves it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) left_out: bool,
}

/// What was added to a bias, m/s.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum By {
    /// That of a contact's normal, or of a row.
    Row(f64),
    /// Those of three bilateral rows.
    Block([f64; 3]),
}

/// In a line.
pub(crate) fn words(all: &[Relaxed]) -> String {
    let left_out = all.iter().filter(|of| of.left_out).count();
    let largest = all.iter().filter(|of| !of.left_out).map(|of| match of.by {
        By::Row(by) => by.abs(),
        By::Block(by) => by.into_iter().fold(0.0, |most: f64, by| most.max(by.abs())),
    });
    match (all.len() - left_out, left_out) {
        (0, 0) => "nothing".into(),
        (given, left_out) => format!(
            "{given} biases by at most {:.3e} m/s, {left_out} constraints left out",
            largest.fold(0.0, f64::max)
        ),
    }
}
